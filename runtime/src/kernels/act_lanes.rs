//! What words of the ACT have in common: the elements of each lane go through FP32, and some words fold the results
//! into the accumulators of the destination's partitions before they are converted (chapter 05 section 3).

use super::reduce::{LANES, Serial, fold_lanes, quick_extremum};
use super::rows::{Stream, chunk};
use crate::interp::Walk;
use crate::isa::{AluOp, Dtype};
use crate::machine::Core;
use crate::num;

/// Elements of a lane at a time where [`LANES`] lanes wait for their turn to be folded.
const BLOCK: usize = 512;

/// The tensors of a word.
#[derive(Clone, Copy)]
pub(super) struct Tensors<'w> {
    pub(super) src: &'w Walk,
    pub(super) in_dtype: Dtype,
    pub(super) dst: &'w Walk,
    pub(super) out_dtype: Dtype,
    pub(super) lanes: usize,
}

/// Runs a word. `body(lane, inputs, results)` gives the results of some elements of a lane, and may change the inputs;
/// all results are folded with the operator `fold`, if there is one.
pub(super) fn run(
    tensors: Tensors<'_>,
    core: &mut Core,
    fold: Option<AluOp>,
    mut body: impl FnMut(usize, &mut [f32], &mut [f32]),
) {
    let Tensors { src, dst, lanes, .. } = tensors;
    // Lanes side by side only where no lane writes what another one has yet to read.
    let together = if fold.is_some() && src.is_apart_from(dst, lanes) { LANES } else { 1 };
    let length = if together > 1 { BLOCK } else { chunk(&[src], dst) };
    let mut rows = Rows::new(tensors, together);
    for first in (0..lanes).step_by(together) {
        let group = first..(first + together).min(lanes);
        rows.streams.iter_mut().flatten().for_each(Stream::restart);
        let mut left = dst.count;
        while left > 0 {
            let n = length.min(left);
            for lane in group.clone() {
                rows.next(core, lane, lane - first, n, &mut body);
            }
            if let Some(op) = fold {
                let accumulators = &mut core.act_accumulator()[dst.partition + first..][..group.len()];
                fold_results(op, accumulators, &rows.results);
            }
            left -= n;
        }
    }
}

/// Lanes side by side.
struct Rows<'w> {
    tensors: Tensors<'w>,
    /// Source and destination of each lane.
    streams: Vec<[Stream<'w>; 2]>,
    inputs: Vec<f32>,
    /// Results of each lane.
    results: Vec<Vec<f32>>,
}

impl<'w> Rows<'w> {
    fn new(tensors: Tensors<'w>, together: usize) -> Rows<'w> {
        let streams = || [Stream::new(tensors.src), Stream::new(tensors.dst)];
        Rows {
            tensors,
            streams: (0..together).map(|_| streams()).collect(),
            inputs: Vec::new(),
            results: vec![Vec::new(); together],
        }
    }

    /// The next `n` elements of a lane, which is number `slot` of those side by side.
    fn next(
        &mut self,
        core: &mut Core,
        lane: usize,
        slot: usize,
        n: usize,
        body: &mut impl FnMut(usize, &mut [f32], &mut [f32]),
    ) {
        let fp8 = core.spec.fp8;
        let ([src, dst], results) = (&mut self.streams[slot], &mut self.results[slot]);
        self.inputs.resize(n, 0.0);
        results.resize(n, 0.0);
        num::unpack(src.next(core, lane, n), self.tensors.in_dtype, fp8, &mut self.inputs);
        body(lane, &mut self.inputs, results);
        dst.write(core, lane, n, |out| num::pack(results, self.tensors.out_dtype, fp8, out));
    }
}

/// Folds results in walk order, those of each lane into its accumulator.
fn fold_results(op: AluOp, accumulators: &mut [f32], results: &[Vec<f32>]) {
    if op != AluOp::ADD || accumulators.len() == 1 {
        for (acc, row) in accumulators.iter_mut().zip(results) {
            *acc = num::canonical(fold_row(op, *acc, row));
        }
        return;
    }
    let mut sums = [0.0; LANES];
    sums[..accumulators.len()].copy_from_slice(accumulators);
    // Lanes that the word does not have add up something that nobody reads.
    let row = |lane: usize| if lane < accumulators.len() { lane } else { 0 };
    let rows: [&[f32]; LANES] = std::array::from_fn(|lane| results[row(lane)].as_slice());
    fold_lanes(Serial::Add, &mut sums, &rows);
    accumulators.iter_mut().zip(sums).for_each(|(acc, sum)| *acc = num::canonical(sum));
}

/// One fold. The order of MAX and MIN does not matter.
fn fold_row(op: AluOp, acc: f32, row: &[f32]) -> f32 {
    let found = match op {
        AluOp::MAX | AluOp::MIN => quick_extremum(op == AluOp::MAX, row),
        _ => None,
    };
    let folded = match found {
        Some(extremum) => num::fold_f32(op, acc, extremum),
        None => num::fold_row(op, acc, row),
    };
    debug_assert!(folded.is_ok(), "only operators that fold are accepted");
    folded.unwrap_or(acc)
}
