//! Rows of lane-local words: read where they lie, computed in scratch that stays in the first cache, written
//! where they belong.
//!
//! The loops over elements are the row functions of [`crate::num`], or of the other kernels; they hold for
//! every datatype and operator. Nothing here can trap: the integer divisions of `num` give 0 for a zero divisor.

use super::rows_direct::{self, Direct};
use crate::interp::{Cursor, Exec, LaneScalar, Walk};
use crate::interp::{copy, tensor_scalar, tensor_tensor};
use crate::isa::{Dtype, PARTITIONS};
use crate::machine::{Core, Partitions};
use crate::num::{self, Fp8, Rhs};

/// Elements worked on at a time: two operands and a result of FP32 fit into the first cache.
pub(super) const CHUNK: usize = 1024;

/// One operand of a lane, stretch after stretch.
pub(super) struct Stream<'w> {
    walk: &'w Walk,
    contiguous: bool,
    cursor: Cursor,
    /// Elements already passed.
    done: usize,
    packed: Vec<u8>,
}

impl<'w> Stream<'w> {
    pub(super) fn new(walk: &'w Walk) -> Stream<'w> {
        let contiguous = walk.is_contiguous();
        Stream { walk, contiguous, cursor: walk.start(), done: 0, packed: Vec::new() }
    }

    /// Back to element 0, for the next lane.
    pub(super) fn restart(&mut self) {
        (self.cursor, self.done) = (self.walk.start(), 0);
    }

    /// The packed bytes of the next `n` elements.
    pub(super) fn next<'s>(&'s mut self, core: &'s Core, lane: usize, n: usize) -> &'s [u8] {
        let memory = core.memory(self.walk.space);
        let bytes = n * self.walk.size;
        if self.contiguous {
            let at = self.walk.offset + self.done * self.walk.size;
            self.done += n;
            return &memory.partition(self.walk.partition + lane)[at..at + bytes];
        }
        self.packed.resize(bytes, 0);
        self.walk.gather(&mut self.cursor, memory, lane, &mut self.packed);
        &self.packed
    }

    /// Lets `fill` write the packed bytes of the next `n` elements.
    pub(super) fn write(&mut self, core: &mut Core, lane: usize, n: usize, fill: impl FnOnce(&mut [u8])) {
        let memory: &mut Partitions = core.memory_mut(self.walk.space);
        let bytes = n * self.walk.size;
        if self.contiguous {
            let (partition, at) = (self.walk.partition + lane, self.walk.offset + self.done * self.walk.size);
            self.done += n;
            fill(&mut memory.partition_mut(partition)[at..at + bytes]);
            memory.note_written(partition, at, bytes);
        } else {
            self.packed.resize(bytes, 0);
            fill(&mut self.packed);
            self.walk.scatter(&mut self.cursor, memory, lane, &self.packed);
        }
    }
}

/// Elements that may be read before the first of them is written.
pub(super) fn chunk(sources: &[&Walk], destination: &Walk) -> usize {
    let ahead = sources.iter().all(|source| source.may_read_ahead_of(destination));
    if ahead { CHUNK.min(destination.count) } else { 1 }
}

/// Runs `body(core, lane, n)` for every stretch of every lane, lanes ascending; `restart` before each lane.
pub(super) fn stretches(lanes: usize, count: usize, chunk: usize, mut body: impl FnMut(usize, usize, bool)) {
    for lane in 0..lanes {
        let mut left = count;
        while left > 0 {
            let n = chunk.min(left);
            body(lane, n, left == count);
            left -= n;
        }
    }
}

/// The FP32 values of packed elements: in place where they are FP32 and lie so that they can be, else
/// converted. In place a NaN may be any; what is computed from it becomes canonical where it is stored.
pub(super) fn floats<'b>(packed: &'b [u8], dtype: Dtype, fp8: Fp8, scratch: &'b mut Vec<f32>) -> &'b [f32] {
    if dtype == Dtype::FP32 {
        // SAFETY: any bits are a float.
        let (before, floats, after) = unsafe { packed.align_to::<f32>() };
        if cfg!(target_endian = "little") && before.is_empty() && after.is_empty() {
            return floats;
        }
    }
    scratch.resize(packed.len() / dtype.bytes(), 0.0);
    num::unpack(packed, dtype, fp8, scratch);
    scratch
}

/// Packed FP32 elements for writing, where they lie so that they can be.
fn floats_mut(packed: &mut [u8]) -> Option<&mut [f32]> {
    // SAFETY: any bits are a float.
    let (before, floats, after) = unsafe { packed.align_to_mut::<f32>() };
    (cfg!(target_endian = "little") && before.is_empty() && after.is_empty()).then_some(floats)
}

/// COPY, CAST and RECIPROCAL through FP32 (chapter 04 section 6.5).
pub fn convert(o: &copy::Conversion, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let mut values = Vec::new();
    if !o.reciprocal
        && let Some(mut direct) = Direct::new(core, [&o.src], &o.dst, o.lanes)
    {
        for lane in 0..o.lanes {
            let ([from], to) = direct.rows(lane);
            if o.to == Dtype::FP32
                && let Some(to) = floats_mut(to)
            {
                num::unpack(from, o.from, fp8, to);
            } else {
                num::pack(floats(from, o.from, fp8, &mut values), o.to, fp8, to);
            }
        }
        return o.dst.note_written(core.memory_mut(o.dst.space), o.lanes);
    }
    let (mut src, mut dst) = (Stream::new(&o.src), Stream::new(&o.dst));
    stretches(o.lanes, o.dst.count, chunk(&[&o.src], &o.dst), |lane, n, first| {
        if first {
            src.restart();
            dst.restart();
        }
        values.resize(n, 0.0);
        num::unpack(src.next(core, lane, n), o.from, fp8, &mut values);
        if o.reciprocal {
            values.iter_mut().for_each(|v| *v = 1.0 / *v);
        }
        dst.write(core, lane, n, |out| num::pack(&values, o.to, fp8, out));
    });
}

/// COPY, and CAST that changes no datatype: the bits of contiguous rows.
pub fn move_bits(src: &Walk, dst: &Walk, lanes: usize, x: &mut Exec<'_>) {
    let core = x.core();
    let (mut from, mut to) = (Stream::new(src), Stream::new(dst));
    if src.space == dst.space && src.is_contiguous() && dst.is_contiguous() && src.may_read_ahead_of(dst) {
        let memory = core.memory_mut(src.space);
        let bytes = src.count * src.size;
        for lane in 0..lanes {
            memory.copy_within((src.partition + lane, src.offset), (dst.partition + lane, dst.offset), bytes);
        }
        return;
    }
    let mut scratch = Vec::new();
    stretches(lanes, dst.count, chunk(&[src], dst), |lane, n, first| {
        if first {
            from.restart();
            to.restart();
        }
        scratch.clear();
        scratch.extend_from_slice(from.next(core, lane, n));
        to.write(core, lane, n, |out| out.copy_from_slice(&scratch));
    });
}

/// TENSOR_TENSOR (chapter 04 section 3.1) in class FP or INT.
pub fn tensor_tensor(o: &tensor_tensor::Operation, x: &mut Exec<'_>) {
    match o.integer_operator {
        None => tensor_tensor_float(o, x.core()),
        Some(op) => {
            if tensor_tensor_integer(o, op, x.core()) {
                tensor_tensor::warn_division(x);
            }
        }
    }
}

fn tensor_tensor_float(o: &tensor_tensor::Operation, core: &mut Core) {
    let fp8 = core.spec.fp8;
    let [from0, from1, to] = o.dtypes;
    let [src0, src1] = &o.sources;
    if o.dtypes == [Dtype::FP32; 3]
        && let Some(mut direct) = Direct::new(core, [src0, src1], &o.dst, o.lanes)
        && direct.is_aligned()
    {
        let done = rows_direct::tensors(o.op, &mut direct, o.lanes);
        debug_assert!(done.is_ok(), "{TRIED}");
        return o.dst.note_written(core.memory_mut(o.dst.space), o.lanes);
    }
    let (mut left, mut right, mut dst) = (Stream::new(src0), Stream::new(src1), Stream::new(&o.dst));
    let (mut a, mut b, mut out) = (Vec::new(), Vec::new(), Vec::new());
    stretches(o.lanes, o.dst.count, chunk(&[src0, src1], &o.dst), |lane, n, first| {
        if first {
            [&mut left, &mut right, &mut dst].into_iter().for_each(|stream| stream.restart());
        }
        out.resize(n, 0.0);
        let a = floats(left.next(core, lane, n), from0, fp8, &mut a);
        let b = floats(right.next(core, lane, n), from1, fp8, &mut b);
        let done = num::map2(o.op, a, Rhs::Row(b), false, &mut out);
        debug_assert!(done.is_ok(), "{TRIED}");
        dst.write(core, lane, n, |bytes| num::pack(&out, to, fp8, bytes));
    });
}

/// Why a row function cannot refuse an operator.
const TRIED: &str = "operators were tried when the operands were resolved";

/// Whether any element was divided by zero.
fn tensor_tensor_integer(o: &tensor_tensor::Operation, op: crate::isa::AluOp, core: &mut Core) -> bool {
    let [from0, from1, to] = o.dtypes;
    let compute = tensor_tensor::compute_dtype(from0);
    let [src0, src1] = &o.sources;
    let (mut left, mut right, mut dst) = (Stream::new(src0), Stream::new(src1), Stream::new(&o.dst));
    let (mut a, mut b, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let mut divided_by_zero = false;
    stretches(o.lanes, o.dst.count, chunk(&[src0, src1], &o.dst), |lane, n, first| {
        if first {
            [&mut left, &mut right, &mut dst].into_iter().for_each(|stream| stream.restart());
        }
        [&mut a, &mut b, &mut out].into_iter().for_each(|row| row.resize(n, 0));
        num::unpack_int(left.next(core, lane, n), from0, &mut a);
        num::unpack_int(right.next(core, lane, n), from1, &mut b);
        divided_by_zero |= num::map2_int(op, &a, Rhs::Row(&b), compute, false, &mut out).unwrap_or(false);
        dst.write(core, lane, n, |bytes| num::pack_int(&out, to, bytes));
    });
    divided_by_zero
}

/// TENSOR_SCALAR (chapter 04 section 4.2).
pub fn tensor_scalar(o: &tensor_scalar::Operands, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let [first, second] = o.scalars.map(|scalar| scalar.map(|scalar| lane_values(&scalar, core, o.lanes)));
    let Some(first) = first else { return };
    let [(op0, reverse0), (op1, reverse1)] = o.operators;
    if [o.in_dtype, o.out_dtype] == [Dtype::FP32; 2]
        && let Some(mut direct) = Direct::new(core, [&o.src], &o.dst, o.lanes)
        && direct.is_aligned()
    {
        let second = second.as_ref().map(|scalars| (op1, reverse1, scalars));
        let done = rows_direct::scalars((op0, reverse0, &first), second, &mut direct, o.lanes);
        debug_assert!(done.is_ok(), "{TRIED}");
        return o.dst.note_written(core.memory_mut(o.dst.space), o.lanes);
    }
    let (mut src, mut dst) = (Stream::new(&o.src), Stream::new(&o.dst));
    let (mut scratch, mut values, mut results) = (Vec::new(), Vec::new(), Vec::new());
    stretches(o.lanes, o.dst.count, chunk(&[&o.src], &o.dst), |lane, n, begins| {
        if begins {
            src.restart();
            dst.restart();
        }
        values.resize(n, 0.0);
        results.resize(n, 0.0);
        let from = floats(src.next(core, lane, n), o.in_dtype, fp8, &mut scratch);
        let mut done = num::map2(op0, from, Rhs::Scalar(first[lane]), reverse0, &mut values);
        dst.write(core, lane, n, |bytes| match &second {
            None => num::pack(&values, o.out_dtype, fp8, bytes),
            Some(second) => {
                let scalar = Rhs::Scalar(second[lane]);
                if o.out_dtype == Dtype::FP32
                    && let Some(out) = floats_mut(bytes)
                {
                    done = done.and(num::map2(op1, &values, scalar, reverse1, out));
                } else {
                    done = done.and(num::map2(op1, &values, scalar, reverse1, &mut results));
                    num::pack(&results, o.out_dtype, fp8, bytes);
                }
            }
        });
        debug_assert!(done.is_ok(), "{TRIED}");
    });
}

/// An FP32 scalar in every lane, fetched before the word writes anything (section 2.5).
fn lane_values(scalar: &LaneScalar, core: &Core, lanes: usize) -> [f32; PARTITIONS] {
    let mut values = [0.0; PARTITIONS];
    for (lane, value) in values.iter_mut().enumerate().take(lanes) {
        *value = f32::from_bits(scalar.bits(core, lane));
    }
    values
}
