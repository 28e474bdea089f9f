//! Scans along the free dimensions (chapter 04 sections 5.2 and 6.4).

use super::lanes::for_each_stretch;
use super::scalar_tensor_tensor as stt;
use super::tensor_reduce::fold_length;
use super::tensor_tensor::{compute_dtype, unsupported, warn_division};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::{S2S2D2_STT, S4D4_TR};
use crate::isa::{AluClass, AluOp, Decoded};
use crate::num;

/// TENSOR_CUMULATIVE_ARITH_OP (section 6.4): `dst[k]` is the fold of the elements up to k, beginning anew with
/// every index of the dimensions that are not scanned.
pub fn cumulative_arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    let scan = resolve(x, w)?;
    match o.op.info().map(|i| i.class) {
        Some(AluClass::Int) => scan.integer(x, &o)?,
        _ => scan.float(x, &o)?,
    }
    Ok(Flow::Next)
}

/// TENSOR_CUMULATIVE_BITVEC_OP (section 6.4): the same on raw bits.
pub fn cumulative_bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    resolve(x, w)?.bits(x, o.op)?;
    Ok(Flow::Next)
}

/// The operands of a cumulative word after all checks of their addresses and counts.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Cumulative, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let length = fold_length(o.op_dim, &o.src.num)?;
    Ok(Cumulative { src, dst, length, lanes: lanes.into() })
}

/// A cumulative word: the scan restarts every `length` elements.
#[derive(Clone, Copy, Debug)]
pub struct Cumulative {
    /// The tensor.
    pub src: Walk,
    /// The result, one element for each of the source.
    pub dst: Walk,
    /// Elements of one scan.
    pub length: usize,
    /// Lanes.
    pub lanes: usize,
}

impl Cumulative {
    fn float(&self, x: &mut Exec<'_>, o: &S4D4_TR) -> Result<(), FaultKind> {
        num::fold_f32(o.op, 0.0, 0.0).map_err(unsupported)?;
        let fp8 = x.core().spec.fp8;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        let mut restart = Restart::new(self.length);
        for_each_stretch(x.core(), &[self.src], &self.dst, self.lanes, |_, sources, out| {
            let n = out.len() / self.dst.size;
            values.resize(n, 0.0);
            results.resize(n, 0.0);
            num::unpack(&sources[0], o.in_dtype, fp8, &mut values);
            restart.scan(&values, &mut results, |acc, row, out| {
                num::scan_row(o.op, acc, row, out).unwrap_or(acc)
            });
            num::pack(&results, o.out_dtype, fp8, out);
        });
        Ok(())
    }

    fn integer(&self, x: &mut Exec<'_>, o: &S4D4_TR) -> Result<(), FaultKind> {
        let compute = compute_dtype(o.in_dtype);
        num::eval_int(o.op, 0, 1, compute).map_err(unsupported)?;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        let mut restart = Restart::new(self.length);
        let mut divided_by_zero = false;
        for_each_stretch(x.core(), &[self.src], &self.dst, self.lanes, |_, sources, out| {
            let n = out.len() / self.dst.size;
            values.resize(n, 0);
            results.resize(n, 0);
            num::unpack_int(&sources[0], o.in_dtype, &mut values);
            restart.scan(&values, &mut results, |acc, row, out| {
                let (last, zero) = num::scan_row_int(o.op, acc, row, compute, out).unwrap_or((acc, false));
                divided_by_zero |= zero;
                last
            });
            num::pack_int(&results, o.out_dtype, out);
        });
        if divided_by_zero {
            warn_division(x);
        }
        Ok(())
    }

    fn bits(&self, x: &mut Exec<'_>, op: AluOp) -> Result<(), FaultKind> {
        num::eval_bitvec(op, 0, 0, 8).map_err(unsupported)?;
        let width = 8 * self.src.size as u32;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        let mut restart = Restart::new(self.length);
        for_each_stretch(x.core(), &[self.src], &self.dst, self.lanes, |_, sources, out| {
            let n = out.len() / self.dst.size;
            values.resize(n, 0);
            results.resize(n, 0);
            num::unpack_bits(&sources[0], self.src.size, &mut values);
            restart.scan(&values, &mut results, |acc, row, out| {
                num::scan_row_bits(op, acc, row, width, out).unwrap_or(acc)
            });
            num::pack_bits(&results, self.dst.size, out);
        });
        Ok(())
    }
}

/// Where a scan stands between the stretches of a lane. Every lane is a whole number of scans.
struct Restart<T> {
    length: usize,
    done: usize,
    acc: T,
}

impl<T: Copy + Default> Restart<T> {
    fn new(length: usize) -> Self {
        Restart { length, done: 0, acc: T::default() }
    }

    /// Scans a stretch: the first element of every scan is its own result, `step(acc, row, results)` does the
    /// rest and returns the last result.
    fn scan(&mut self, row: &[T], out: &mut [T], mut step: impl FnMut(T, &[T], &mut [T]) -> T) {
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
    let o = *x.operands::<S2S2D2_STT>(w)?;
    let stt::Operands { sources, dst, scalar } = stt::resolve(x, w, stt::Class::Float)?;
    let (ops, reverse) = ([o.op0, o.op1], stt::reversed(&o));
    num::recurrence_row(ops, reverse, 0.0, &[], &[], &mut []).map_err(unsupported)?;
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
