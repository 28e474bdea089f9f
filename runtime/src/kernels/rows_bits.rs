//! Words of class BITVEC (chapter 04 sections 3.1, 4.2, 4.3 and 5.1): rows of elements at the width at which the
//! operators work.

use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

use super::rows::{Stream, chunk, stretches};
use super::rows_direct::Direct;
use crate::interp::scalar_tensor_tensor as stt;
use crate::interp::{Exec, LaneScalar, tensor_scalar, tensor_tensor};
use crate::isa::{AluOp, PARTITIONS};
use crate::machine::Core;
use crate::num::dispatch::multiversion;

/// Bytes of the lane in which the operators of tensor-scalar words work, whatever the elements have (chapter 00 A14).
const LANE: usize = 4;

/// TENSOR_TENSOR_BITVEC_OP: at the width of the result.
pub fn tensor_tensor(o: &tensor_tensor::Operation, x: &mut Exec<'_>) {
    let core = x.core();
    let [src0, src1] = &o.sources;
    let size = o.dst.size;
    if src0.size == size
        && src1.size == size
        && let Some(mut direct) = Direct::new(core, [src0, src1], &o.dst)
    {
        for lane in 0..o.lanes {
            let ([a, b], out) = direct.rows(lane);
            apply(o.op, size, Side::Row(a), Side::Row(b), out);
        }
        return o.dst.note_written(core.memory_mut(o.dst.space), o.lanes);
    }
    let (mut left, mut right, mut dst) = (Stream::new(src0), Stream::new(src1), Stream::new(&o.dst));
    let (mut a, mut b, mut out) = (Vec::new(), Vec::new(), Vec::new());
    stretches(o.lanes, o.dst.count, chunk(&[src0, src1], &o.dst), |lane, n, first| {
        if first {
            [&mut left, &mut right, &mut dst].into_iter().for_each(|stream| stream.restart());
        }
        let left = resized(left.next(core, lane, n), src0.size, size, &mut a);
        let right = resized(right.next(core, lane, n), src1.size, size, &mut b);
        out.resize(n * size, 0);
        apply(o.op, size, Side::Row(left), Side::Row(right), &mut out);
        dst.write(core, lane, n, |bytes| bytes.copy_from_slice(&out));
    });
}

/// TENSOR_SCALAR_BITVEC_OP and its pointer form: both operators work in a lane of 32 bits.
pub fn tensor_scalar(o: &tensor_scalar::Operands, x: &mut Exec<'_>) {
    let core = x.core();
    let scalars = o.scalars.map(|scalar| scalar.map(|scalar| lane_bits(&scalar, core, o.lanes)));
    let (mut src, mut dst) = (Stream::new(&o.src), Stream::new(&o.dst));
    let (mut wide, mut between, mut out) = (Vec::new(), Vec::new(), Vec::new());
    stretches(o.lanes, o.dst.count, chunk(&[&o.src], &o.dst), |lane, n, first| {
        if first {
            src.restart();
            dst.restart();
        }
        [&mut between, &mut out].into_iter().for_each(|row| row.resize(n * LANE, 0));
        let row = resized(src.next(core, lane, n), o.src.size, LANE, &mut wide);
        let [(op0, reverse0), (op1, reverse1)] = o.operators;
        let [first, second] = scalars.each_ref().map(|s| s.as_ref().map(|s| Side::All(s[lane].into())));
        let to = if second.is_some() { &mut between } else { &mut out };
        ordered(op0, LANE, row, first.unwrap_or(Side::All(0)), reverse0, to);
        if let Some(second) = second {
            ordered(op1, LANE, &between, second, reverse1, &mut out);
        }
        dst.write(core, lane, n, |bytes| resize(&out, LANE, o.dst.size, bytes));
    });
}

/// SCALAR_TENSOR_TENSOR_BITVEC: at the width of the result.
pub fn scalar_tensor_tensor(o: &ScalarTensorTensor, x: &mut Exec<'_>) {
    let core = x.core();
    let [src0, src1] = &o.operands.sources;
    let (destination, size) = (&o.operands.dst, o.operands.dst.size);
    let scalars = lane_bits(&o.operands.scalar, core, o.lanes);
    let (mut left, mut right, mut dst) = (Stream::new(src0), Stream::new(src1), Stream::new(destination));
    let (mut a, mut b, mut between, mut out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    stretches(o.lanes, destination.count, chunk(&[src0, src1], destination), |lane, n, first| {
        if first {
            [&mut left, &mut right, &mut dst].into_iter().for_each(|stream| stream.restart());
        }
        [&mut between, &mut out].into_iter().for_each(|row| row.resize(n * size, 0));
        let row = resized(left.next(core, lane, n), src0.size, size, &mut a);
        ordered(o.operators[0], size, row, Side::All(scalars[lane].into()), o.reverse[0], &mut between);
        let row = resized(right.next(core, lane, n), src1.size, size, &mut b);
        ordered(o.operators[1], size, &between, Side::Row(row), o.reverse[1], &mut out);
        dst.write(core, lane, n, |bytes| bytes.copy_from_slice(&out));
    });
}

/// The operands of a scalar and two tensors, with both operators.
#[derive(Clone, Copy, Debug)]
pub struct ScalarTensorTensor {
    /// Tensors and scalar.
    pub operands: stt::Operands,
    /// `op1(op0(src0, scalar), src1)`.
    pub operators: [AluOp; 2],
    /// Whether each exchanges its operands.
    pub reverse: [bool; 2],
    /// Lanes.
    pub lanes: usize,
}

/// The bits of a scalar in every lane, fetched before the word writes anything (chapter 04 section 2.5).
fn lane_bits(scalar: &LaneScalar, core: &Core, lanes: usize) -> [u32; PARTITIONS] {
    let mut values = [0; PARTITIONS];
    for (lane, value) in values.iter_mut().enumerate().take(lanes) {
        *value = scalar.bits(core, lane);
    }
    values
}

/// One operand of an operator.
#[derive(Clone, Copy)]
pub(super) enum Side<'r> {
    /// Packed elements.
    Row(&'r [u8]),
    /// The same bits for all.
    All(u64),
}

/// [`apply`] behind the reverse rule (chapter 03 section 7.5): unary operators act on the row either way.
pub(super) fn ordered(op: AluOp, size: usize, row: &[u8], other: Side<'_>, reverse: bool, out: &mut [u8]) {
    if reverse && !op.is_unary() {
        apply(op, size, other, Side::Row(row), out);
    } else {
        apply(op, size, Side::Row(row), other, out);
    }
}

multiversion! {
    /// An operator on elements of `size` bytes (1, 2, 4 or 8), one that `eval_bitvec` defines.
    fn apply(op: AluOp, size: usize, left: Side<'_>, right: Side<'_>, out: &mut [u8]) {
        match size {
            1 => apply_sized::<u8, 1>(op, left, right, out),
            2 => apply_sized::<u16, 2>(op, left, right, out),
            4 => apply_sized::<u32, 4>(op, left, right, out),
            _ => apply_sized::<u64, 8>(op, left, right, out),
        }
    }
}

#[inline(always)]
fn apply_sized<T: Cell<N>, const N: usize>(op: AluOp, left: Side<'_>, right: Side<'_>, out: &mut [u8]) {
    match op {
        AluOp::BITWISE_NOT => zip::<T, N>(left, right, out, |a, _| !a),
        AluOp::BITWISE_AND => zip::<T, N>(left, right, out, |a, b| a & b),
        AluOp::BITWISE_OR => zip::<T, N>(left, right, out, |a, b| a | b),
        AluOp::BITWISE_XOR => zip::<T, N>(left, right, out, |a, b| a ^ b),
        AluOp::ARITH_SHIFT_LEFT | AluOp::LOGICAL_SHIFT_LEFT => {
            zip::<T, N>(left, right, out, |a, b| if b.is_below_width() { a << b } else { T::ZERO });
        }
        AluOp::LOGICAL_SHIFT_RIGHT => {
            zip::<T, N>(left, right, out, |a, b| if b.is_below_width() { a >> b } else { T::ZERO });
        }
        AluOp::ARITH_SHIFT_RIGHT => zip::<T, N>(left, right, out, T::shift_signed),
        _ => {
            debug_assert!(op == AluOp::BYPASS, "operators were tried when the operands were resolved");
            zip::<T, N>(left, right, out, |a, _| a);
        }
    }
}

#[inline(always)]
fn zip<T: Cell<N>, const N: usize>(left: Side<'_>, right: Side<'_>, out: &mut [u8], f: impl Fn(T, T) -> T) {
    let out = out.as_chunks_mut::<N>().0;
    match (left, right) {
        (Side::Row(a), Side::Row(b)) => {
            let rows = a.as_chunks::<N>().0.iter().zip(b.as_chunks::<N>().0);
            out.iter_mut().zip(rows).for_each(|(out, (a, b))| *out = f(T::read(*a), T::read(*b)).write());
        }
        (Side::Row(a), Side::All(b)) => {
            let (a, b) = (a.as_chunks::<N>().0, T::low(b));
            out.iter_mut().zip(a).for_each(|(out, a)| *out = f(T::read(*a), b).write());
        }
        (Side::All(a), Side::Row(b)) => {
            let (a, b) = (T::low(a), b.as_chunks::<N>().0);
            out.iter_mut().zip(b).for_each(|(out, b)| *out = f(a, T::read(*b)).write());
        }
        (Side::All(a), Side::All(b)) => out.fill(f(T::low(a), T::low(b)).write()),
    }
}

/// Bits of `N` bytes.
trait Cell<const N: usize>:
    Copy
    + Not<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<Output = Self>
    + Shr<Output = Self>
{
    const ZERO: Self;
    fn read(bytes: [u8; N]) -> Self;
    fn write(self) -> [u8; N];
    fn low(bits: u64) -> Self;
    fn is_below_width(self) -> bool;
    /// The sign in every bit for counts of the width or more.
    fn shift_signed(self, count: Self) -> Self;
}

macro_rules! cells {
    ($($unsigned:ident $signed:ident $bytes:literal;)*) => { $(
        impl Cell<$bytes> for $unsigned {
            const ZERO: Self = 0;
            #[inline(always)]
            fn read(bytes: [u8; $bytes]) -> Self {
                Self::from_le_bytes(bytes)
            }
            #[inline(always)]
            fn write(self) -> [u8; $bytes] {
                self.to_le_bytes()
            }
            #[inline(always)]
            fn low(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn is_below_width(self) -> bool {
                self < 8 * $bytes
            }
            #[inline(always)]
            fn shift_signed(self, count: Self) -> Self {
                (self as $signed >> count.min(8 * $bytes - 1)) as Self
            }
        }
    )* };
}
cells! { u8 i8 1; u16 i16 2; u32 i32 4; u64 i64 8; }

/// A row of elements of `from` bytes as one of elements of `to` bytes, zero-extended or cut.
pub(super) fn resized<'r>(row: &'r [u8], from: usize, to: usize, scratch: &'r mut Vec<u8>) -> &'r [u8] {
    if from == to {
        return row;
    }
    scratch.resize(row.len() / from * to, 0);
    resize(row, from, to, scratch);
    scratch
}

multiversion! {
    /// See [`resized`].
    fn resize(row: &[u8], from: usize, to: usize, out: &mut [u8]) {
        match (from, to) {
            (1, 4) => convert(row, out, |cell| u32::from(u8::from_le_bytes(cell)).to_le_bytes()),
            (2, 4) => convert(row, out, |cell| u32::from(u16::from_le_bytes(cell)).to_le_bytes()),
            (4, 8) => convert(row, out, |cell| u64::from(u32::from_le_bytes(cell)).to_le_bytes()),
            (4, 1) => convert(row, out, |cell| (u32::from_le_bytes(cell) as u8).to_le_bytes()),
            (4, 2) => convert(row, out, |cell| (u32::from_le_bytes(cell) as u16).to_le_bytes()),
            _ if from == to => out.copy_from_slice(row),
            // Pairs of widths that only words have that break a rule.
            _ => {
                for (out, cell) in out.chunks_exact_mut(to).zip(row.chunks_exact(from)) {
                    out.fill(0);
                    let n = from.min(to);
                    out[..n].copy_from_slice(&cell[..n]);
                }
            }
        }
    }
}

#[inline(always)]
fn convert<const N: usize, const M: usize>(row: &[u8], out: &mut [u8], cell: impl Fn([u8; N]) -> [u8; M]) {
    for (out, from) in out.as_chunks_mut::<M>().0.iter_mut().zip(row.as_chunks::<N>().0) {
        *out = cell(*from);
    }
}
