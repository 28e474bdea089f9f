//! ALU_OP: arithmetic on the register file (chapter 02 sections 8.9 and 9).

use super::{Exec, FaultKind, Flow};
use crate::isa::field::DataSrc;
use crate::isa::layouts::CTRL_AL;
use crate::isa::{AluOp, AluSet, Decoded, Dtype, Generation};
use crate::machine::Engine;
use crate::num::{canonical, eval_bitvec, eval_f32, eval_int};
use crate::sequencer::error::{ErrorClass, report};

/// ALU_OP: dst := op(src0, src1), 32 or 64 bits. Integer division by zero is fatal; floating-point flags
/// are reported and execution goes on.
pub fn alu_op(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<CTRL_AL>(w)?;
    if o.dtype.is_64bit() {
        wide(x, &o)?
    } else {
        narrow(x, &o, w)?
    }
    Ok(Flow::Next)
}

/// Operators that treat their operands as bits, whatever the dtype.
fn is_bitwise(op: AluOp) -> bool {
    op != AluOp::BYPASS && op.in_set(AluSet::BV, Generation::Maverick)
}

/// The shift count of a register is masked with the width (decision 02-9d).
fn masked_count(op: AluOp, b: u64, width: u32) -> u64 {
    let shift = matches!(
        op,
        AluOp::ARITH_SHIFT_LEFT
            | AluOp::ARITH_SHIFT_RIGHT
            | AluOp::LOGICAL_SHIFT_LEFT
            | AluOp::LOGICAL_SHIFT_RIGHT
    );
    if shift { b & u64::from(width - 1) } else { b }
}

fn unsupported(op: AluOp, dtype: Dtype) -> FaultKind {
    FaultKind::unsupported("op", format!("{} on {} registers", op.text(), dtype.text()))
}

/// 32-bit forms, and the narrower integers that compute in their own width.
fn narrow(x: &mut Exec<'_>, o: &CTRL_AL, w: &Decoded) -> Result<(), FaultKind> {
    if o.dst_dtype != Dtype::INVALID && o.dst_dtype != o.dtype {
        let expected = format!("0 or {}", o.dtype.text());
        return Err(FaultKind::illegal("dst_dtype", o.dst_dtype.text(), expected));
    }
    let a = x.register("src0_lo", o.src0_lo)?;
    let b = match o.src1_datasrc {
        DataSrc::IMMEDIATE => o.immediate as u32,
        _ => x.register("src1_lo", o.src1_lo)?,
    };
    x.register("dst_lo", o.dst_lo)?;
    let (result, flags) = narrow_value(o.op, o.dtype, a, b)?;
    report_flags(x, w, flags)?;
    set(x, o.dst_lo, result);
    Ok(())
}

/// An operation of 32 bits or less, and the flags that it raises.
fn narrow_value(op: AluOp, dtype: Dtype, a: u32, b: u32) -> Result<(u32, u32), FaultKind> {
    match dtype {
        Dtype::FP32 if !is_bitwise(op) => float(op, f32::from_bits(a), f32::from_bits(b)),
        Dtype::FP32 | Dtype::INT32 | Dtype::UINT32 if is_bitwise(op) => {
            Ok((bits(op, a.into(), b.into(), 32, dtype)? as u32, 0))
        }
        Dtype::INT8 | Dtype::UINT8 | Dtype::INT16 | Dtype::UINT16 | Dtype::INT32 | Dtype::UINT32 => {
            Ok((integer(op, a, b, dtype)?, 0))
        }
        other => Err(FaultKind::illegal("dtype", other.text(), "an integer or fp32")),
    }
}

/// The result of an operation on register values, without the registers: 32 bits, or 64 for the datatypes of 64 bits;
/// and the flags that it raises, of which [`reported_flags`] make a record.
///
/// # Errors
/// The operation is not supported, or divides integers by zero.
pub fn evaluate(op: AluOp, dtype: Dtype, a: u64, b: u64, strict: bool) -> Result<(u64, u32), FaultKind> {
    if dtype.is_64bit() {
        return Ok((wide_value(op, dtype, a, b, strict)?, 0));
    }
    let (value, flags) = narrow_value(op, dtype, a as u32, b as u32)?;
    Ok((value.into(), flags))
}

/// The flags of which an engine makes error records: inexact and underflow only where asked for.
pub fn reported_flags(engine: &Engine) -> u32 {
    let all = INEXACT | UNDERFLOW | OVERFLOW | DIVIDE_BY_ZERO | INVALID;
    if engine.seq.report_inexact { all } else { all & !(INEXACT | UNDERFLOW) }
}

fn bits(op: AluOp, a: u64, b: u64, width: u32, dtype: Dtype) -> Result<u64, FaultKind> {
    eval_bitvec(op, a, masked_count(op, b, width), width).map_err(|_| unsupported(op, dtype))
}

/// An integer of up to 32 bits: the low bits of each source, extended; the result truncated and extended.
fn integer(op: AluOp, a: u32, b: u32, dtype: Dtype) -> Result<u32, FaultKind> {
    let extend = |v: u32| match dtype {
        Dtype::INT8 => i32::from(v as i8) as u32,
        Dtype::UINT8 => u32::from(v as u8),
        Dtype::INT16 => i32::from(v as i16) as u32,
        Dtype::UINT16 => u32::from(v as u16),
        _ => v,
    };
    let (a, b) = (extend(a), extend(b));
    let width = 8 * dtype.bytes() as u32;
    if is_bitwise(op) {
        return Ok(extend(bits(op, a.into(), b.into(), width, dtype)? as u32));
    }
    // ABS_VALUE_INT is signed (section 9, chapter 03 section 7), although no predicate set holds it.
    let signed = dtype.is_signed() || op == AluOp::ABS_VALUE_INT;
    let value = |v: u32| if signed { i64::from(v as i32) } else { i64::from(v) };
    let wide = if signed { Dtype::INT32 } else { Dtype::UINT32 };
    let (result, by_zero) = eval_int(op, value(a), value(b), wide).map_err(|_| unsupported(op, dtype))?;
    if by_zero { Err(FaultKind::IntegerDivision) } else { Ok(extend(result as u32)) }
}

/// 64-bit forms: pairs of registers, only operators of the bit-vector and integer sets; the base band is
/// lenient only (decisions 02-9b, 02-9e).
fn wide(x: &mut Exec<'_>, o: &CTRL_AL) -> Result<(), FaultKind> {
    let pair = |x: &Exec<'_>, field, lo, hi| -> Result<u64, FaultKind> {
        Ok(u64::from(x.register(field, hi)?) << 32 | u64::from(x.register(field, lo)?))
    };
    let a = pair(x, "src0_lo", o.src0_lo, o.src0_hi)?;
    let b = match o.src1_datasrc {
        DataSrc::IMMEDIATE => o.immediate,
        _ => pair(x, "src1_lo", o.src1_lo, o.src1_hi)?,
    };
    let result = wide_value(o.op, o.dtype, a, b, x.machine.options.strict)?;
    x.register("dst_lo", o.dst_lo)?;
    if o.dst_dtype != Dtype::INVALID && !o.dst_dtype.is_64bit() {
        set(x, o.dst_lo, result as u32);
        return Ok(());
    }
    x.register("dst_hi", o.dst_hi)?;
    set(x, o.dst_lo, result as u32);
    set(x, o.dst_hi, (result >> 32) as u32);
    Ok(())
}

fn wide_value(op: AluOp, dtype: Dtype, a: u64, b: u64, strict: bool) -> Result<u64, FaultKind> {
    if is_bitwise(op) || op == AluOp::BYPASS {
        return bits(op, a, b, 64, dtype);
    }
    if strict && !op.in_set(AluSet::IS, Generation::Maverick) {
        return Err(unsupported(op, dtype));
    }
    let (value, by_zero) = eval_int(op, a as i64, b as i64, dtype).map_err(|_| unsupported(op, dtype))?;
    if by_zero { Err(FaultKind::IntegerDivision) } else { Ok(value as u64) }
}

/// Flags of one operation in C `fenv` order.
const INEXACT: u32 = 1;
const UNDERFLOW: u32 = 2;
const OVERFLOW: u32 = 4;
const DIVIDE_BY_ZERO: u32 = 8;
const INVALID: u32 = 16;

/// An fp32 operation and the flags that IEEE 754 raises for it (decisions 02-9c, 01-D23).
fn float(op: AluOp, a: f32, b: f32) -> Result<(u32, u32), FaultKind> {
    let legal = matches!(
        op,
        AluOp::BYPASS
            | AluOp::ADD
            | AluOp::SUBTRACT
            | AluOp::MULT
            | AluOp::DIVIDE
            | AluOp::MAX
            | AluOp::MIN
            | AluOp::MOD
            | AluOp::ABSOLUTE_DIFF
            | AluOp::ABSOLUTE_VALUE
            | AluOp::ABS_MAX
            | AluOp::ABS_MIN
            | AluOp::RE_LU
            | AluOp::SQUARE
    ) || matches!(op.0, 0x0D..=0x0F | 0x12..=0x16 | 0x18);
    if !legal {
        return Err(unsupported(op, Dtype::FP32));
    }
    if op == AluOp::BYPASS {
        return Ok((a.to_bits(), 0));
    }
    let result = eval_f32(op, a, b).map_err(|_| unsupported(op, Dtype::FP32))?;
    Ok((canonical(result).to_bits(), flags(op, a, b, result)))
}

fn flags(op: AluOp, a: f32, b: f32, result: f32) -> u32 {
    let signaling = |v: f32| v.is_nan() && v.to_bits() & 0x0040_0000 == 0;
    let reads_signaling = signaling(a) || (!op.is_unary() && signaling(b));
    let produced_nan = result.is_nan() && !a.is_nan() && (op.is_unary() || !b.is_nan());
    let mut raised = 0;
    // Taking the absolute value only touches the sign: it never signals.
    if (reads_signaling && op != AluOp::ABSOLUTE_VALUE) || produced_nan {
        raised |= INVALID;
    }
    if op == AluOp::DIVIDE && b == 0.0 && a != 0.0 && a.is_finite() {
        raised |= DIVIDE_BY_ZERO;
    }
    let finite = a.is_finite() && (op.is_unary() || b.is_finite());
    if finite && result.is_infinite() && raised & DIVIDE_BY_ZERO == 0 {
        raised |= OVERFLOW | INEXACT;
    }
    if finite && result.is_finite() && !is_exact(op, a, b, result) {
        raised |= INEXACT | if is_tiny(op, a, b) { UNDERFLOW } else { 0 };
    }
    raised
}

/// Whether the fp32 result is the exact one. f64 holds sums of nearby numbers and all products; a division
/// is exact if multiplying back is.
fn is_exact(op: AluOp, a: f32, b: f32, result: f32) -> bool {
    let (a, b, r) = (f64::from(a), f64::from(b), f64::from(result));
    match op {
        AluOp::ADD => exact_sum(a, b, r),
        AluOp::SUBTRACT => exact_sum(a, -b, r),
        AluOp::ABSOLUTE_DIFF => exact_sum(a.max(b), -a.min(b), r),
        AluOp::MULT => a * b == r,
        AluOp::SQUARE => a * a == r,
        AluOp::DIVIDE => r * b == a,
        // The remainder is exact; moving it to the sign of b is an addition.
        AluOp::MOD => a % b == r || exact_sum(a % b, b, r),
        _ => true,
    }
}

/// Whether an inexact result is tiny after rounding: with exponents unbounded, what lies half a unit in the
/// last place below the smallest normal number would still be rounded up to it. Inexact sums are never tiny.
fn is_tiny(op: AluOp, a: f32, b: f32) -> bool {
    let (a, b) = (f64::from(a), f64::from(b));
    let limit = f64::from(f32::MIN_POSITIVE) * (1.0 - 1.0 / f64::from(1 << 25));
    match op {
        AluOp::MULT => (a * b).abs() < limit,
        AluOp::SQUARE => a * a < limit,
        // The f64 quotient of two fp32 numbers is on the right side of the limit: they cannot come closer.
        AluOp::DIVIDE => (a / b).abs() < limit,
        _ => false,
    }
}

/// Two-sum: the rounding error of a + b in f64 must be zero too.
fn exact_sum(a: f64, b: f64, r: f64) -> bool {
    let sum = a + b;
    let back = sum - a;
    let error = (a - (sum - back)) + (b - back);
    sum == r && error == 0.0
}

/// One record a flag, in ascending order. That an error cannot
/// be reported is fatal (chapter 01 section 13.2).
fn report_flags(x: &mut Exec<'_>, w: &Decoded, flags: u32) -> Result<(), FaultKind> {
    let (engine, pc, hint) = (x.engine, x.pc, w.word.0[3] & 0xF);
    let wanted = flags & reported_flags(x.engine_state());
    if wanted != 0
        && let Some(assertion) = x.engine_state().seq.block_assertion()
    {
        return Err(assertion);
    }
    for flag in [INEXACT, UNDERFLOW, OVERFLOW, DIVIDE_BY_ZERO, INVALID] {
        if wanted & flag != 0 {
            report(x.core(), engine, pc, hint, ErrorClass::fp_flag(flag));
        }
    }
    Ok(())
}

fn set(x: &mut Exec<'_>, number: u8, value: u32) {
    let written = x.engine_state().set_register(number, value);
    debug_assert!(written.is_some(), "the caller checked the register number");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chapter 02 section 9, worked examples.
    #[test]
    fn worked_examples() {
        let int = |op, a: i32, b: i32, dtype| integer(op, a as u32, b as u32, dtype).unwrap();
        assert_eq!(int(AluOp::MULT, 0x10000, 0x10000, Dtype::INT32), 0);
        assert_eq!(int(AluOp::DIVIDE_INT, -7, 2, Dtype::INT32), -3i32 as u32);
        assert_eq!(int(AluOp::MOD, -7, 2, Dtype::INT32), 1);
        assert_eq!(int(AluOp::MOD_INT, -7, 2, Dtype::INT32), -1i32 as u32);
        assert_eq!(int(AluOp::ARITH_SHIFT_RIGHT, i32::MIN, 33, Dtype::INT32), 0xC000_0000);
        assert_eq!(int(AluOp::IS_LT, 1, -1, Dtype::UINT32), 1);
        assert_eq!(int(AluOp::IS_LT, 1, -1, Dtype::INT32), 0);
        assert_eq!(int(AluOp::ADD, i32::MAX, 1, Dtype::INT32), 0x8000_0000);
        assert_eq!(integer(AluOp::DIVIDE, 1, 0, Dtype::INT32), Err(FaultKind::IntegerDivision));
        assert_eq!(eval_int(AluOp::ADD_INT, 0x1_FFFF_FFFF, 1, Dtype::INT64).unwrap().0, 0x2_0000_0000);
    }

    #[test]
    fn flags_are_those_of_ieee_754() {
        let raised = |op, a, b| float(op, a, b).unwrap().1;
        assert_eq!(raised(AluOp::ADD, 1.0, 2.0), 0);
        assert_eq!(raised(AluOp::ADD, 1.0, 1e-10), INEXACT);
        assert_eq!(raised(AluOp::MULT, f32::MAX, 2.0), OVERFLOW | INEXACT);
        assert_eq!(raised(AluOp::DIVIDE, 1.0, 0.0), DIVIDE_BY_ZERO);
        assert_eq!(raised(AluOp::DIVIDE, 0.0, 0.0), INVALID);
        assert_eq!(raised(AluOp::SUBTRACT, f32::INFINITY, f32::INFINITY), INVALID);
        assert_eq!(raised(AluOp::MULT, 1e-30, 1e-30), UNDERFLOW | INEXACT);
        assert_eq!(raised(AluOp::MULT, f32::MIN_POSITIVE, 0.5), 0, "exact subnormals are not underflow");
        assert_eq!(raised(AluOp::ADD, f32::NAN, 1.0), 0, "quiet NaN");
        let signaling = f32::from_bits(0x7F80_0001);
        assert_eq!(raised(AluOp::ADD, 1.0, signaling), INVALID);
        assert_eq!(raised(AluOp::ABSOLUTE_VALUE, signaling, 0.0), 0);
        assert_eq!(raised(AluOp::MOD, -1e-10, 1.0), INEXACT, "1 - 1e-10 has no fp32 form");
        assert_eq!(raised(AluOp::MOD, 5.5, -2.0), 0);
        assert_eq!(raised(AluOp::MOD, 1.0, 0.0), INVALID);
        // 2^-126 (1 - 2^-24) has 24 bits, but not as a subnormal: tiny, although the result is 2^-126;
        // 2^-126 (1 - 2^-46) would round to 2^-126 with any range of exponents
        let e = f32::EPSILON;
        assert_eq!(raised(AluOp::MULT, f32::MIN_POSITIVE, 1.0 - e / 2.0), UNDERFLOW | INEXACT);
        assert_eq!(raised(AluOp::MULT, f32::MIN_POSITIVE * (1.0 + e), 1.0 - e), INEXACT);
    }
}
