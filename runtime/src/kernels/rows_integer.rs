//! Rows of integers: generated numbers, address arithmetic, and results of 64 bits in two tensors.

use super::rows::{Stream, chunk, stretches};
use super::rows_select::masks;
use crate::interp::tensor_scalar_addr::{Form, Operands};
use crate::interp::wide::{Right, Wide, integer};
use crate::interp::{Exec, Walk};
use crate::isa::{AluOp, Data4d, Dtype, PARTITIONS};
use crate::num::{self, dispatch::multiversion};

/// The operands of IOTA.
#[derive(Clone, Copy, Debug)]
pub struct Iota {
    /// The result.
    pub dst: Walk,
    /// Its datatype.
    pub dtype: Dtype,
    /// The numbers of lane 0.
    pub generator: Data4d,
    /// Added in each further lane.
    pub channel_multiplier: i32,
    /// Lanes.
    pub lanes: usize,
}

/// IOTA (chapter 04 section 9): integer types take the low bits (decision 04-I1), float types the number rounded to fp32
/// and then to the type.
pub fn iota(o: &Iota, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let numbers = masks(&o.generator, o.dst.count);
    let mut dst = Stream::new(&o.dst);
    let mut values = Vec::new();
    for lane in 0..o.lanes {
        dst.restart();
        let of_lane = o.channel_multiplier.wrapping_mul(lane as i32);
        for numbers in numbers.chunks(chunk(&[], &o.dst)) {
            if !o.dtype.is_integer() {
                values.resize(numbers.len(), 0.0);
                to_floats(numbers, of_lane, &mut values);
            }
            dst.write(core, lane, numbers.len(), |bytes| {
                if o.dtype.is_integer() {
                    store_low(numbers, of_lane, o.dst.size, bytes);
                } else {
                    num::pack(&values, o.dtype, fp8, bytes);
                }
            });
        }
    }
}

multiversion! {
    fn to_floats(numbers: &[i32], plus: i32, out: &mut [f32]) {
        for (out, number) in out.iter_mut().zip(numbers) {
            *out = number.wrapping_add(plus) as f32;
        }
    }
}

multiversion! {
    /// The low bytes of sums, sign-extended where there are more.
    fn store_low(numbers: &[i32], plus: i32, size: usize, out: &mut [u8]) {
        match size {
            1 => store_cells(numbers, plus, out, |n| (n as i8).to_le_bytes()),
            2 => store_cells(numbers, plus, out, |n| (n as i16).to_le_bytes()),
            4 => store_cells(numbers, plus, out, i32::to_le_bytes),
            _ => store_cells(numbers, plus, out, |n| i64::from(n).to_le_bytes()),
        }
    }
}

#[inline(always)]
fn store_cells<const N: usize>(numbers: &[i32], plus: i32, out: &mut [u8], cell: impl Fn(i32) -> [u8; N]) {
    for (out, number) in out.as_chunks_mut::<N>().0.iter_mut().zip(numbers) {
        *out = cell(number.wrapping_add(plus));
    }
}

/// The operands of TENSOR_SCALAR_ADDR.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Form, tensors and immediates.
    pub operands: Operands,
    /// Of the source and the result.
    pub dtypes: [Dtype; 2],
    /// Of the immediates.
    pub imm_dtypes: [Dtype; 2],
    /// Lanes.
    pub lanes: usize,
}

/// TENSOR_SCALAR_ADDR (chapter 05 section 6.8).
pub fn addresses(o: &Addresses, x: &mut Exec<'_>) {
    let core = x.core();
    let Operands { form, src, dst, immediates } = &o.operands;
    let [from, to] = o.dtypes;
    let mut scalars = [[0; 2]; PARTITIONS];
    for (lane, scalars) in scalars.iter_mut().enumerate().take(o.lanes) {
        for (i, scalar) in scalars.iter_mut().enumerate() {
            *scalar = immediates[i].map_or(0, |imm| imm.fetch(core, lane, o.imm_dtypes[i]));
        }
    }
    let (mut source, mut out) = (Stream::new(src), Stream::new(dst));
    let mut values = Vec::new();
    stretches(o.lanes, dst.count, chunk(&[src], dst), |lane, n, first| {
        if first {
            source.restart();
            out.restart();
        }
        values.resize(n, 0);
        num::unpack_int(source.next(core, lane, n), from, &mut values);
        evaluate(*form, &mut values, scalars[lane], from);
        out.write(core, lane, n, |bytes| num::pack_int(&values, to, bytes));
    });
}

multiversion! {
    fn evaluate(form: Form, values: &mut [i64], scalars: [i64; 2], from: Dtype) {
        /// A loop for a form that is known when it is compiled.
        macro_rules! each {
            ($($form:ident)*) => {
                match form {
                    $(Form::$form => for v in values { *v = Form::$form.eval(*v, scalars, from) },)*
                }
            };
        }
        each!(MultiplyAdd Add Multiply32 MultiplyAdd32 InRange);
    }
}

/// TENSOR_TENSOR_INT_WIDE and TENSOR_SCALAR_INT_WIDE (chapter 04 sections 3.5 and 4.8). The operator and the datatypes
/// have been tried.
pub fn wide(o: &Wide, x: &mut Exec<'_>) {
    let core = x.core();
    let [from0, from1, ..] = o.dtypes;
    let mut scalars = [0; PARTITIONS];
    let (right, tensor) = match &o.right {
        Right::Tensor(walk) => (walk, true),
        Right::Scalar(scalar) => {
            for (lane, value) in scalars.iter_mut().enumerate().take(o.lanes) {
                *value = integer(&scalar.bits(core, lane).to_le_bytes(), from1);
            }
            (&o.src, false)
        }
    };
    // Two destinations: else element by element, which is the definition of overlap (decision 04-A1).
    let sources = [&o.src, right];
    let apart = o.low.is_apart_from(&o.high, 1);
    let length = if apart { chunk(&sources, &o.low).min(chunk(&sources, &o.high)) } else { 1 };
    let (mut left, mut second) = (Stream::new(&o.src), Stream::new(right));
    let (mut low, mut high) = (Stream::new(&o.low), Stream::new(&o.high));
    let (mut a, mut b) = (Vec::new(), Vec::new());
    stretches(o.lanes, o.src.count, length, |lane, n, first| {
        if first {
            [&mut left, &mut second, &mut low, &mut high].into_iter().for_each(|stream| stream.restart());
        }
        a.resize(n, 0);
        b.resize(n, 0);
        num::unpack_int(left.next(core, lane, n), from0, &mut a);
        if tensor {
            num::unpack_int(second.next(core, lane, n), from1, &mut b);
        } else {
            b.fill(scalars[lane]);
        }
        widen(o.op, from0, &mut a, &b);
        low.write(core, lane, n, |bytes| store_half(&a, 0, o.low.size, bytes));
        high.write(core, lane, n, |bytes| store_half(&a, 32, o.high.size, bytes));
    });
}

multiversion! {
    /// The operator on operands widened to 64 bits (decisions 04-W1 and W2); shift counts are unsigned.
    fn widen(op: AluOp, from: Dtype, a: &mut [i64], b: &[i64]) {
        let unsigned = u64::MAX >> (64 - 8 * from.bytes());
        match op {
            AluOp::ADD_INT => pairs(a, b, i64::wrapping_add),
            AluOp::SUBTRACT_INT => pairs(a, b, i64::wrapping_sub),
            AluOp::MULT_INT | AluOp::MULT_UINT => pairs(a, b, i64::wrapping_mul),
            AluOp::ARITH_SHIFT_RIGHT => pairs(a, b, |a, b| a >> (b as u64).min(63)),
            AluOp::LOGICAL_SHIFT_RIGHT => {
                pairs(a, b, |a, b| if (b as u64) < 64 { ((a as u64 & unsigned) >> b) as i64 } else { 0 });
            }
            // The shifts left.
            _ => pairs(a, b, |a, b| if (b as u64) < 64 { a << b } else { 0 }),
        }
    }
}

#[inline(always)]
fn pairs(a: &mut [i64], b: &[i64], op: impl Fn(i64, i64) -> i64) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = op(*a, *b);
    }
}

multiversion! {
    /// Bytes from bit `shift` on.
    fn store_half(values: &[i64], shift: u32, size: usize, out: &mut [u8]) {
        match size {
            1 => halves(values, out, |v| [(v >> shift) as u8]),
            2 => halves(values, out, |v| ((v >> shift) as u16).to_le_bytes()),
            _ => halves(values, out, |v| ((v >> shift) as u32).to_le_bytes()),
        }
    }
}

#[inline(always)]
fn halves<const N: usize>(values: &[i64], out: &mut [u8], cell: impl Fn(i64) -> [u8; N]) {
    for (out, value) in out.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *out = cell(*value);
    }
}
