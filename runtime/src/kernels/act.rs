//! ACTIVATE in one pass over the elements of a chunk: load, scale, bias, function, accumulate, convert, store
//! (chapter 05 section 3).

use super::reduce::{LANES, Serial, fold_lanes};
use super::rows::{Stream, chunk};
use crate::act::Evaluator;
use crate::interp::activation::Operands;
use crate::interp::{Exec, Walk};
use crate::isa::field::AccumCmd;
use crate::isa::{Dtype, PARTITIONS};
use crate::machine::Core;
use crate::num::{self, Fp8, dispatch::multiversion};

/// Elements of a lane at a time where [`LANES`] lanes wait for their turn to be accumulated.
const BLOCK: usize = 512;

/// Runs ACTIVATE; `false`, with nothing done, if the tables that are resident do not allow the function.
pub fn activate(o: &Operands, x: &mut Exec<'_>) -> bool {
    let spec = x.core().spec.clone();
    let Ok(evaluator) = o.evaluator(x, &spec) else { return false };
    let core = x.core();
    let scalars = o.scalars(core);
    let accumulates =
        matches!(o.command, AccumCmd::ACCUMULATE | AccumCmd::ZERO_ACCUMULATE | AccumCmd::LOAD_ACCUMULATE);
    let accumulator = &mut core.act_accumulator()[o.dst.partition..];
    for (acc, [.., imm]) in accumulator.iter_mut().zip(&scalars) {
        match o.command {
            AccumCmd::ZERO | AccumCmd::ZERO_ACCUMULATE => *acc = 0.0,
            AccumCmd::LOAD_ACCUMULATE => *acc = *imm,
            _ => {}
        }
    }
    // Lanes side by side only where no lane writes what another one has yet to read.
    let together = if accumulates && o.src.is_apart_from(&o.dst, o.lanes) { LANES } else { 1 };
    let length = if together > 1 { BLOCK } else { chunk(&[&o.src], &o.dst) };
    let mut word = Word::new(o, evaluator, spec.fp8, together);
    for first in (0..o.lanes).step_by(together) {
        let lanes = first..(first + together).min(o.lanes);
        word.streams.iter_mut().flatten().for_each(Stream::restart);
        let mut left = o.dst.count;
        while left > 0 {
            let n = length.min(left);
            for lane in lanes.clone() {
                word.row(core, lane, lane - first, n, scalars[lane]);
            }
            if accumulates {
                let partition = o.dst.partition + first;
                word.accumulate(&mut core.act_accumulator()[partition..][..lanes.len()]);
            }
            left -= n;
        }
    }
    true
}

/// An ACTIVATE while it runs: some lanes side by side.
struct Word<'w> {
    operands: &'w Operands,
    evaluator: Evaluator<'w>,
    fp8: Fp8,
    /// Source and destination of each lane.
    streams: Vec<[Stream<'w>; 2]>,
    inputs: Vec<f32>,
    /// Results of each lane.
    results: Vec<Vec<f32>>,
}

impl<'w> Word<'w> {
    fn new(operands: &'w Operands, evaluator: Evaluator<'w>, fp8: Fp8, together: usize) -> Word<'w> {
        let streams = || [Stream::new(&operands.src), Stream::new(&operands.dst)];
        Word {
            operands,
            evaluator,
            fp8,
            streams: (0..together).map(|_| streams()).collect(),
            inputs: Vec::new(),
            results: vec![Vec::new(); together],
        }
    }

    /// The next `n` elements of a lane, which is number `slot` of those side by side.
    fn row(&mut self, core: &mut Core, lane: usize, slot: usize, n: usize, [scale, bias, param]: [f32; 3]) {
        let Operands { in_dtype, out_dtype, .. } = *self.operands;
        let ([src, dst], results) = (&mut self.streams[slot], &mut self.results[slot]);
        self.inputs.resize(n, 0.0);
        results.resize(n, 0.0);
        num::unpack(src.next(core, lane, n), in_dtype, self.fp8, &mut self.inputs);
        scale_and_bias(&mut self.inputs, scale, bias);
        self.evaluator.eval_row(&self.inputs, results, param);
        dst.write(core, lane, n, |out| num::pack(results, out_dtype, self.fp8, out));
    }

    /// Serial FP32 additions in walk order, of each lane to its accumulator.
    fn accumulate(&self, accumulators: &mut [f32]) {
        if let [acc] = accumulators {
            return *acc = num::canonical(self.results[0].iter().fold(*acc, |sum, y| sum + y));
        }
        let mut sums = [0.0; LANES];
        sums[..accumulators.len()].copy_from_slice(accumulators);
        // Lanes that the word does not have add up something that nobody reads.
        let row = |lane: usize| if lane < accumulators.len() { lane } else { 0 };
        let rows: [&[f32]; LANES] = std::array::from_fn(|lane| self.results[row(lane)].as_slice());
        fold_lanes(Serial::Add, &mut sums, &rows);
        accumulators.iter_mut().zip(sums).for_each(|(acc, sum)| *acc = num::canonical(sum));
    }
}

multiversion! {
    /// Two roundings, never one (decision 05-20).
    fn scale_and_bias(values: &mut [f32], scale: f32, bias: f32) {
        values.iter_mut().for_each(|v| *v = *v * scale + bias);
    }
}

/// ACTIVATION_READ_ACCUMULATOR (section 3.4): the accumulators of the destination's partitions.
pub fn read_accumulator(dst: &Walk, dtype: Dtype, lanes: usize, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let accumulator: [f32; PARTITIONS] = *core.act_accumulator();
    let mut stream = Stream::new(dst);
    for lane in 0..lanes {
        stream.restart();
        for _ in 0..dst.count {
            let value = accumulator[dst.partition + lane];
            stream.write(core, lane, 1, |out| num::pack(&[value], dtype, fp8, out));
        }
    }
}
