//! EXPONENTIAL in one pass over the elements of a chunk (chapter 05 section 4).

use super::columns::{LANES, groups};
use super::reduce::{Serial, fold_lanes};
use super::rows::{Stream, chunk};
use crate::interp::Exec;
use crate::interp::accumulator::Accumulators;
use crate::interp::exponential::Exponential;
use crate::interp::tensor_scalar_cache::Operands;
use crate::isa::field::AccumCmd;
use crate::num;

/// Elements of a lane at a time where [`LANES`] lanes wait for their turn to be accumulated.
const BLOCK: usize = 512;

/// Runs EXPONENTIAL; `false`, with nothing done, if the accumulators refuse the command, which binding has excluded.
pub fn exponential(e: &Exponential, x: &mut Exec<'_>) -> bool {
    let Operands { src, dst, .. } = &e.operands;
    let shifts = e.shifts(x.core());
    let Ok(mut accumulators) = e.accumulators(x) else { return false };
    let core = x.core();
    let fp8 = core.spec.fp8;
    let length = chunk(&[src], dst).min(BLOCK);
    let mut streams: Vec<_> = (0..LANES).map(|_| [Stream::new(src), Stream::new(dst)]).collect();
    let mut inputs = Vec::new();
    let mut results: [Vec<f32>; LANES] = Default::default();
    for lanes in groups(&[src], dst, e.lanes) {
        streams.iter_mut().flatten().for_each(Stream::restart);
        let mut left = dst.count;
        while left > 0 {
            let n = length.min(left);
            inputs.resize(n, 0.0);
            for ((lane, [src, dst]), results) in lanes.clone().zip(&mut streams).zip(&mut results) {
                results.resize(n, 0.0);
                num::unpack(src.next(core, lane, n), e.from, fp8, &mut inputs);
                inputs.iter_mut().for_each(|v| *v -= shifts[lane]);
                e.exp.eval_row(&inputs, results, 0.0);
                dst.write(core, lane, n, |out| num::pack(results, e.to, fp8, out));
            }
            if e.command != AccumCmd::IDLE {
                accumulate(&mut accumulators, lanes.clone(), &results);
            }
            left -= n;
        }
    }
    accumulators.store(x);
    true
}

/// Serial FP32 additions in walk order, of each lane to its accumulator.
fn accumulate(accumulators: &mut Accumulators, lanes: std::ops::Range<usize>, results: &[Vec<f32>; LANES]) {
    if lanes.len() == 1 {
        return accumulators.fold(lanes.start, |acc| results[0].iter().fold(acc, |sum, v| sum + v));
    }
    let mut sums = [0.0; LANES];
    for (sum, lane) in sums.iter_mut().zip(lanes.clone()) {
        accumulators.fold(lane, |acc| {
            *sum = acc;
            acc
        });
    }
    // Lanes that the word does not have add up something that nobody reads.
    let row = |lane: usize| results[if lane < lanes.len() { lane } else { 0 }].as_slice();
    fold_lanes(Serial::Add, &mut sums, &std::array::from_fn(row));
    lanes.zip(sums).for_each(|(lane, sum)| accumulators.fold(lane, |_| sum));
}
