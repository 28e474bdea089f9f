//! Scans along the free dimensions (chapter 04 sections 5.2 and 6.4).

use super::lanes::for_each_stretch;
use super::scalar_tensor_tensor as stt;
use super::tensor_reduce::fold_length;
use super::tensor_tensor::{compute_dtype, unsupported, warn_division};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::{S2S2D2_STT, S4D4_TR};
use crate::isa::{AluClass, AluOp, Decoded, Dtype};
use crate::num::{self, Fp8};

/// TENSOR_CUMULATIVE_ARITH_OP (section 6.4): `dst[k]` is the fold of the elements up to k, beginning anew with
/// every index of the dimensions that are not scanned.
pub fn cumulative_arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve(x, w)?.run(x);
    Ok(Flow::Next)
}

/// TENSOR_CUMULATIVE_BITVEC_OP (section 6.4): the same on raw bits.
pub fn cumulative_bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_bitvec(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The scan of [`cumulative_arith`] after all checks.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Cumulative, FaultKind> {
    let class = match x.operands::<S4D4_TR>(w)?.op.info().map(|i| i.class) {
        Some(AluClass::Int) => Class::Integer,
        _ => Class::Float,
    };
    cumulative(x, w, class)
}

/// The scan of [`cumulative_bitvec`] after all checks.
pub fn resolve_bitvec(x: &Exec<'_>, w: &Decoded) -> Result<Cumulative, FaultKind> {
    cumulative(x, w, Class::Bits)
}

fn cumulative(x: &Exec<'_>, w: &Decoded, class: Class) -> Result<Cumulative, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let length = fold_length(o.op_dim, &o.src.num)?;
    match class {
        Class::Float => num::fold_f32(o.op, 0.0, 0.0).map(drop),
        Class::Integer => num::eval_int(o.op, 0, 1, compute_dtype(o.in_dtype)).map(drop),
        Class::Bits => num::eval_bitvec(o.op, 0, 0, 8).map(drop),
    }
    .map_err(unsupported)?;
    let lanes = lanes.into();
    Ok(Cumulative { src, dst, from: o.in_dtype, to: o.out_dtype, op: o.op, class, length, lanes })
}

/// What a scan computes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// FP32.
    Float,
    /// Wrapping integers.
    Integer,
    /// Raw bits.
    Bits,
}

/// A cumulative word whose checks have passed: the scan restarts every `length` elements.
#[derive(Clone, Copy, Debug)]
pub struct Cumulative {
    /// The tensor.
    pub src: Walk,
    /// The result, one element for each of the source.
    pub dst: Walk,
    /// Datatype of the source.
    pub from: Dtype,
    /// Datatype of the result.
    pub to: Dtype,
    /// The operator, which the class defines.
    pub op: AluOp,
    /// What the scan computes with.
    pub class: Class,
    /// Elements of one scan.
    pub length: usize,
    /// Lanes.
    pub lanes: usize,
}

impl Cumulative {
    fn run(&self, x: &mut Exec<'_>) {
        let fp8 = x.core().spec.fp8;
        let mut rows = self.rows(fp8);
        for_each_stretch(x.core(), &[self.src], &self.dst, self.lanes, |_, sources, out| {
            rows.scan(&sources[0]);
            rows.store(out);
        });
        if rows.divided_by_zero {
            warn_division(x);
        }
    }

    /// What scans the stretches of the lanes, one after the other.
    pub(crate) fn rows(&self, fp8: Fp8) -> Rows<'_> {
        let values = match self.class {
            Class::Float => Values::Float(Restart::new(self.length), Default::default()),
            Class::Integer => Values::Integer(Restart::new(self.length), Default::default()),
            Class::Bits => Values::Bits(Restart::new(self.length), Default::default()),
        };
        Rows { word: self, fp8, values, divided_by_zero: false }
    }
}

/// A cumulative word while it runs, a lane at a time.
pub(crate) struct Rows<'w> {
    word: &'w Cumulative,
    fp8: Fp8,
    values: Values,
    /// Whether any step divided by zero.
    pub divided_by_zero: bool,
}

/// Where the scan stands, and scratch rows of elements and results.
enum Values {
    Float(Restart<f32>, [Vec<f32>; 2]),
    Integer(Restart<i64>, [Vec<i64>; 2]),
    Bits(Restart<u64>, [Vec<u64>; 2]),
}

impl Rows<'_> {
    /// Scans the next packed elements of a lane.
    pub fn scan(&mut self, packed: &[u8]) {
        let Cumulative { op, from, src, .. } = *self.word;
        let n = packed.len() / src.size;
        match &mut self.values {
            Values::Float(restart, [values, results]) => {
                values.resize(n, 0.0);
                results.resize(n, 0.0);
                num::unpack(packed, from, self.fp8, values);
                restart
                    .scan(values, results, |acc, row, out| num::scan_row(op, acc, row, out).unwrap_or(acc));
            }
            Values::Integer(restart, [values, results]) => {
                values.resize(n, 0);
                results.resize(n, 0);
                num::unpack_int(packed, from, values);
                let compute = compute_dtype(from);
                let divided_by_zero = &mut self.divided_by_zero;
                restart.scan(values, results, |acc, row, out| {
                    let (last, zero) = num::scan_row_int(op, acc, row, compute, out).unwrap_or((acc, false));
                    *divided_by_zero |= zero;
                    last
                });
            }
            Values::Bits(restart, [values, results]) => {
                values.resize(n, 0);
                results.resize(n, 0);
                num::unpack_bits(packed, src.size, values);
                let width = 8 * src.size as u32;
                restart.scan(values, results, |acc, row, out| {
                    num::scan_row_bits(op, acc, row, width, out).unwrap_or(acc)
                });
            }
        }
    }

    /// The packed results of the elements scanned last.
    pub fn store(&self, out: &mut [u8]) {
        let Cumulative { to, dst, .. } = *self.word;
        match &self.values {
            Values::Float(_, [_, results]) => num::pack(results, to, self.fp8, out),
            Values::Integer(_, [_, results]) => num::pack_int(results, to, out),
            Values::Bits(_, [_, results]) => num::pack_bits(results, dst.size, out),
        }
    }
}

/// Where a scan stands between the stretches of a lane. Every lane is a whole number of scans.
pub(crate) struct Restart<T> {
    length: usize,
    done: usize,
    acc: T,
}

impl<T: Copy + Default> Restart<T> {
    /// Before the first of scans of so many elements.
    pub fn new(length: usize) -> Self {
        Restart { length, done: 0, acc: T::default() }
    }

    /// Scans a stretch: the first element of every scan is its own result, `step(acc, row, results)` does the
    /// rest and returns the last result.
    pub fn scan(&mut self, row: &[T], out: &mut [T], mut step: impl FnMut(T, &[T], &mut [T]) -> T) {
        let mut k = 0;
        while k < row.len() {
            if self.done == 0 {
                (self.acc, out[k], self.done) = (row[k], row[k], 1);
                k += 1;
            }
            let end = row.len().min(k + self.length - self.done);
            self.acc = step(self.acc, &row[k..end], &mut out[k..end]);
            self.done = (self.done + end - k) % self.length;
            k = end;
        }
    }
}

/// TENSOR_TENSOR_SCAN_ARITH (section 5.2): per lane the recurrence `acc = op1(op0(src0[k], acc), src1[k])` from
/// the scalar, every result stored. Both operators are elementwise ones (chapter 00 A14).
pub fn tensor_tensor(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let Recurrence { word: o, operands, ops, reverse } = resolve_tensor_tensor(x, w)?;
    let stt::Operands { sources, dst, scalar } = operands;
    let fp8 = x.core().spec.fp8;
    let mut acc = stt::float_scalars(x, &o, &scalar);
    let (mut a, mut b, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for_each_stretch(x.core(), &sources, &dst, o.num_active_channels.into(), |lane, packed, out| {
        let n = out.len() / dst.size;
        for row in [&mut a, &mut b, &mut results] {
            row.resize(n, 0.0);
        }
        num::unpack(&packed[0], o.src_dtype.low(), fp8, &mut a);
        num::unpack(&packed[1], o.src_dtype.high(), fp8, &mut b);
        acc[lane] = num::recurrence_row(ops, reverse, acc[lane], &a, &b, &mut results).unwrap_or(acc[lane]);
        num::pack(&results, o.out_dtype, fp8, out);
    });
    Ok(Flow::Next)
}

/// The recurrence of [`tensor_tensor`] after all checks.
pub fn resolve_tensor_tensor(x: &Exec<'_>, w: &Decoded) -> Result<Recurrence, FaultKind> {
    let word = *x.operands::<S2S2D2_STT>(w)?;
    let operands = stt::resolve(x, w, stt::Class::Float)?;
    let (ops, reverse) = ([word.op0, word.op1], stt::reversed(&word));
    num::recurrence_row(ops, reverse, 0.0, &[], &[], &mut []).map_err(unsupported)?;
    Ok(Recurrence { word, operands, ops, reverse })
}

/// A recurrence of two tensors whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct Recurrence {
    /// The word.
    pub word: S2S2D2_STT,
    /// Its operands.
    pub operands: stt::Operands,
    /// Both operators.
    pub ops: [AluOp; 2],
    /// Whether each takes its operands exchanged.
    pub reverse: [bool; 2],
}
