//! State of DVE that some words load and others use: preloaded scalars (chapter 04 section 4.7) and accumulators (chapter
//! 05 section 7.5).

use super::rows::{Stream, chunk, floats};
use super::rows_bits::{Side, ordered, resized};
use crate::interp::{Exec, Walk};
use crate::isa::{AluOp, Dtype, PARTITIONS};
use crate::machine::hidden::PreloadedScalars;
use crate::num::{self, Rhs};

/// Bytes of the lane in which operators of class BITVEC work.
const LANE: usize = 4;

/// Scalars to keep: up to eight elements a lane.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Where they come from.
    pub src: Walk,
    /// Their datatype.
    pub dtype: Dtype,
    /// Converted to FP32, or as bits.
    pub converts: bool,
    /// Lanes.
    pub lanes: usize,
}

/// TENSOR_SCALAR_IMM_LD_ARITH and TENSOR_SCALAR_IMM_LD_BITVEC: all lanes are read first, and converted at once.
pub fn load(o: &Load, x: &mut Exec<'_>) {
    let core = x.core();
    let (count, size) = (o.src.count, o.src.size);
    let mut packed = vec![0; o.lanes * count * size];
    for (lane, packed) in packed.chunks_exact_mut(count * size).enumerate() {
        o.src.gather(&mut o.src.start(), core.memory(o.src.space), lane, packed);
    }
    let mut bits = vec![0; o.lanes * count];
    if o.converts {
        let mut values = vec![0.0; bits.len()];
        num::unpack(&packed, o.dtype, core.spec.fp8, &mut values);
        bits.iter_mut().zip(&values).for_each(|(bits, value)| *bits = value.to_bits());
    } else {
        let mut wide = Vec::new();
        let cells = resized(&packed, size, LANE, &mut wide).as_chunks::<LANE>().0;
        bits.iter_mut().zip(cells).for_each(|(bits, cell)| *bits = u32::from_le_bytes(*cell));
    }
    let kept = &mut core.dve.scalars.0[o.src.partition..];
    for (kept, bits) in kept.iter_mut().zip(bits.chunks_exact(count)) {
        kept[..count].copy_from_slice(bits);
    }
}

/// A word whose slices of the outermost dimension meet the preloaded scalars one by one.
#[derive(Clone, Copy, Debug)]
pub struct Slices {
    /// The tensor.
    pub src: Walk,
    /// The result.
    pub dst: Walk,
    /// Of both.
    pub dtypes: [Dtype; 2],
    /// Elements a slice.
    pub slice: usize,
    /// The operator.
    pub op: AluOp,
    /// It exchanges its operands.
    pub reverse: bool,
    /// Lanes.
    pub lanes: usize,
}

/// TENSOR_SCALAR_PTR_MULTI_ARITH.
pub fn arith(o: &Slices, x: &mut Exec<'_>) {
    let fp8 = x.core().spec.fp8;
    let [from, to] = o.dtypes;
    let (mut scratch, mut values) = (Vec::new(), Vec::new());
    o.run(x, |row, scalar, out| {
        let row = floats(row, from, fp8, &mut scratch);
        values.resize(row.len(), 0.0);
        let done = num::map2(o.op, row, Rhs::Scalar(f32::from_bits(scalar)), o.reverse, &mut values);
        debug_assert!(done.is_ok(), "the operator was tried when the operands were resolved");
        num::pack(&values, to, fp8, out);
    });
}

/// TENSOR_SCALAR_PTR_MULTI_BITVEC.
pub fn bitvec(o: &Slices, x: &mut Exec<'_>) {
    let [from, to] = o.dtypes;
    let (mut wide, mut cut, mut values) = (Vec::new(), Vec::new(), Vec::new());
    o.run(x, |row, scalar, out| {
        let row = resized(row, from.bytes(), LANE, &mut wide);
        values.resize(row.len(), 0);
        ordered(o.op, LANE, row, Side::All(scalar.into()), o.reverse, &mut values);
        out.copy_from_slice(resized(&values, LANE, to.bytes(), &mut cut));
    });
}

impl Slices {
    /// Calls `body(source, scalar, results)` for stretches that lie in one slice.
    fn run(&self, x: &mut Exec<'_>, mut body: impl FnMut(&[u8], u32, &mut [u8])) {
        let core = x.core();
        let longest = chunk(&[&self.src], &self.dst);
        let (mut source, mut destination) = (Stream::new(&self.src), Stream::new(&self.dst));
        let mut out = Vec::new();
        for lane in 0..self.lanes {
            source.restart();
            destination.restart();
            let scalars: [u32; PreloadedScalars::PER_LANE] = core.dve.scalars.0[self.dst.partition + lane];
            for scalar in scalars.into_iter().take(self.src.count / self.slice) {
                let mut left = self.slice;
                while left > 0 {
                    let n = longest.min(left);
                    out.resize(n * self.dst.size, 0);
                    body(source.next(core, lane, n), scalar, &mut out);
                    destination.write(core, lane, n, |bytes| bytes.copy_from_slice(&out));
                    left -= n;
                }
            }
        }
    }
}

/// The destination of DVE_READ_ACCUMULATOR.
#[derive(Clone, Copy, Debug)]
pub struct ReadAccumulators {
    /// The result.
    pub dst: Walk,
    /// Its datatype.
    pub dtype: Dtype,
    /// Negatives are stored.
    pub negated: bool,
    /// Lanes.
    pub lanes: usize,
}

/// DVE_READ_ACCUMULATOR: all lanes are converted at once.
pub fn read_accumulators(o: &ReadAccumulators, x: &mut Exec<'_>) {
    let core = x.core();
    let sign = if o.negated { -1.0 } else { 1.0 };
    let mut values = [0.0; PARTITIONS];
    let kept = &core.dve.accumulator[o.dst.partition..][..o.lanes];
    values.iter_mut().zip(kept).for_each(|(value, kept)| *value = kept * sign);
    let mut packed = vec![0; o.lanes * o.dst.size];
    num::pack(&values[..o.lanes], o.dtype, core.spec.fp8, &mut packed);
    let space = o.dst.space;
    for (lane, cell) in packed.chunks_exact(o.dst.size).enumerate() {
        let mut at = o.dst.start();
        for _ in 0..o.dst.count {
            o.dst.scatter(&mut at, core.memory_mut(space), lane, cell);
        }
    }
}
