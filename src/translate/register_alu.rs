//! ALU_OP: arithmetic on the register file (chapter 02 sections 8.9 and 9).

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use seqjit_runtime::interp::register_alu::evaluate;
use seqjit_runtime::isa::field::DataSrc;
use seqjit_runtime::isa::layouts::CTRL_AL;
use seqjit_runtime::isa::{AluOp, Dtype};

use super::Control;
use super::registers::{At, RegisterContext, Registers, is_wide};

/// ALU_OP stands in runs of register words.
pub const fn alu_op() -> Control {
    Control::Registers
}

/// Evaluates an operation, see [`evaluate_for_code`].
pub type Evaluate = extern "C" fn(what: u64, a: u64, b: u64, result: &mut u64) -> u64;

/// In what [`evaluate_for_code`] returns: the operation divides by zero.
pub const FAULT: u64 = 1 << 63;

/// Runs an operation that has no code: divisions, floating point, 64 bits. `what` has the operator in its low byte and the datatype in the
/// next. Gives the floating-point flags, or [`FAULT`].
pub extern "C" fn evaluate_for_code(what: u64, a: u64, b: u64, result: &mut u64) -> u64 {
    let [op, dtype, ..] = what.to_le_bytes();
    // What strict mode refuses does not get into a run of words.
    match evaluate(AluOp(op), Dtype(dtype), a, b, false) {
        Ok((value, flags)) => {
            *result = value;
            flags.into()
        }
        Err(_) => FAULT,
    }
}

/// The register specifiers of a word.
pub(super) fn registers(o: &CTRL_AL) -> [u8; 6] {
    [o.src0_lo, o.src0_hi, o.src1_lo, o.src1_hi, o.dst_lo, o.dst_hi]
}

/// dst := op(src0, src1).
pub(super) fn emit(run: &mut Registers<'_>, at: At, o: &CTRL_AL) {
    let immediate = o.src1_datasrc == DataSrc::IMMEDIATE;
    if is_wide(o) {
        let a = run.pair(at, o.src0_lo, o.src0_hi);
        let b = if immediate { run.immediate(I64) } else { run.pair(at, o.src1_lo, o.src1_hi) };
        let value = call(run, at, o, a, b);
        let low = run.b.ins().ireduce(I32, value);
        run.set_register(o.dst_lo, low);
        if o.dst_dtype == Dtype::INVALID || o.dst_dtype.is_64bit() {
            let high = run.b.ins().ushr_imm_u(value, 32);
            let high = run.b.ins().ireduce(I32, high);
            run.set_register(o.dst_hi, high);
        }
        return;
    }
    let a = run.register(at, o.src0_lo);
    let b = if immediate { run.immediate(I32) } else { run.register(at, o.src1_lo) };
    let value = inline(run, o, a, b).unwrap_or_else(|| {
        let (a, b) = (run.b.ins().uextend(I64, a), run.b.ins().uextend(I64, b));
        let value = call(run, at, o, a, b);
        run.b.ins().ireduce(I32, value)
    });
    run.set_register(o.dst_lo, value);
}

/// Integers of 32 bits, and bits of any 32.
fn inline(run: &mut Registers<'_>, o: &CTRL_AL, a: Value, b: Value) -> Option<Value> {
    let ins = &mut run.b;
    let bits = match o.op {
        AluOp::BITWISE_NOT => Some(ins.ins().bnot(a)),
        AluOp::BITWISE_AND => Some(ins.ins().band(a, b)),
        AluOp::BITWISE_OR => Some(ins.ins().bor(a, b)),
        AluOp::BITWISE_XOR => Some(ins.ins().bxor(a, b)),
        // The count is taken modulo the width (decision 02-9d), as CLIF does.
        AluOp::ARITH_SHIFT_LEFT | AluOp::LOGICAL_SHIFT_LEFT => Some(ins.ins().ishl(a, b)),
        AluOp::LOGICAL_SHIFT_RIGHT => Some(ins.ins().ushr(a, b)),
        AluOp::ARITH_SHIFT_RIGHT => Some(ins.ins().sshr(a, b)),
        AluOp::BYPASS => Some(a),
        _ => None,
    };
    if matches!(o.dtype, Dtype::INT32 | Dtype::UINT32 | Dtype::FP32) && bits.is_some() {
        return bits;
    }
    let signed = o.dtype == Dtype::INT32;
    if !signed && o.dtype != Dtype::UINT32 {
        return None;
    }
    let code = match o.op {
        AluOp::ADD | AluOp::ADD_INT => return Some(ins.ins().iadd(a, b)),
        AluOp::SUBTRACT | AluOp::SUBTRACT_INT => return Some(ins.ins().isub(a, b)),
        AluOp::MULT | AluOp::MULT_INT => return Some(ins.ins().imul(a, b)),
        AluOp::MAX if signed => return Some(ins.ins().smax(a, b)),
        AluOp::MAX => return Some(ins.ins().umax(a, b)),
        AluOp::MIN if signed => return Some(ins.ins().smin(a, b)),
        AluOp::MIN => return Some(ins.ins().umin(a, b)),
        AluOp::IS_EQ => IntCC::Equal,
        AluOp::IS_NE => IntCC::NotEqual,
        AluOp::IS_GT => IntCC::SignedGreaterThan,
        AluOp::IS_GE => IntCC::SignedGreaterThanOrEqual,
        AluOp::IS_LE => IntCC::SignedLessThanOrEqual,
        AluOp::IS_LT => IntCC::SignedLessThan,
        _ => return None,
    };
    let holds = ins.ins().icmp(if signed { code } else { code.unsigned() }, a, b);
    Some(ins.ins().uextend(I32, holds))
}

/// Calls [`evaluate_for_code`]; where it finds something to report, the interpreter runs the word.
fn call(run: &mut Registers<'_>, at: At, o: &CTRL_AL, a: Value, b: Value) -> Value {
    let offset = offset_of!(RegisterContext, result);
    let function = run.field(offset_of!(RegisterContext, evaluate));
    let what = run.b.ins().iconst(I64, i64::from(o.op.0) | i64::from(o.dtype.0) << 8);
    let result = run.b.ins().iadd_imm_s(run.context, offset as i64);
    let call = run.b.ins().call_indirect(run.evaluate, function, &[what, a, b, result]);
    let flags = run.b.inst_results(call)[0];
    let reported = run.field(offset_of!(RegisterContext, reported));
    let bad = run.b.ins().band(flags, reported);
    run.leave_if(bad, at);
    run.field(offset)
}
