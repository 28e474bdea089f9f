//! Operators of class BITVEC in CLIF (chapter 03 section 7.4), bit for bit those of `runtime::num`.
//!
//! They work on vectors and on single integers of any width: that of the operands is the width of the operation.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use seqjit_runtime::isa::AluOp;
use seqjit_runtime::num::eval_bitvec;

use super::Refusal;
use super::emit::Emit;

/// The right operand of an operator.
#[derive(Clone, Copy)]
pub enum Other {
    /// Elements.
    Tensor(Value),
    /// A scalar operand of the word.
    Scalar(Value),
}

/// Whether an operator has a lowering. Vectors are shifted by one count, which must be a scalar.
pub fn check(op: AluOp, count_is_scalar: bool) -> Result<(), Refusal> {
    let defined = eval_bitvec(op, 0, 0, 32).is_ok();
    if defined && (count_is_scalar || !is_shift(op)) { Ok(()) } else { Err(Refusal::Operator(op)) }
}

/// Whether the right operand is a count.
fn is_shift(op: AluOp) -> bool {
    matches!(
        op,
        AluOp::ARITH_SHIFT_LEFT
            | AluOp::LOGICAL_SHIFT_LEFT
            | AluOp::LOGICAL_SHIFT_RIGHT
            | AluOp::ARITH_SHIFT_RIGHT
    )
}

impl Emit<'_> {
    /// `op(a, b)` at the width of `a`, for an operator that [`check`] accepts. All but shifts may exchange their operands.
    pub fn bits_op(&mut self, op: AluOp, a: Value, b: Other) -> Value {
        match (op, b) {
            (AluOp::BITWISE_NOT, _) => self.b.ins().bnot(a),
            (_, Other::Scalar(scalar)) if is_shift(op) => self.shift(op, a, scalar),
            (AluOp::BITWISE_AND | AluOp::BITWISE_OR | AluOp::BITWISE_XOR, _) => {
                let b = match b {
                    Other::Tensor(b) => b,
                    Other::Scalar(scalar) => self.scalar_like(a, scalar),
                };
                match op {
                    AluOp::BITWISE_AND => self.b.ins().band(a, b),
                    AluOp::BITWISE_OR => self.b.ins().bor(a, b),
                    _ => self.b.ins().bxor(a, b),
                }
            }
            // BYPASS.
            _ => a,
        }
    }

    /// A count of the width or more gives 0, or the sign in every bit (decision E16).
    fn shift(&mut self, op: AluOp, a: Value, scalar: Value) -> Value {
        let lane = self.b.func.dfg.value_type(a).lane_type();
        let width = lane.bits();
        let count = self.scalar_bits(scalar);
        let count = if width < 32 { self.b.ins().band_imm_u(count, (1 << width) - 1) } else { count };
        if op == AluOp::ARITH_SHIFT_RIGHT {
            let most = self.b.ins().iconst(I32, i64::from(width) - 1);
            let count = self.b.ins().umin(count, most);
            return self.b.ins().sshr(a, count);
        }
        let shifted = match op {
            AluOp::LOGICAL_SHIFT_RIGHT => self.b.ins().ushr(a, count),
            _ => self.b.ins().ishl(a, count),
        };
        let within = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, count, i64::from(width));
        let kept = self.b.ins().bmask(lane, within);
        let kept = self.splat_like(a, kept);
        self.b.ins().band(shifted, kept)
    }

    /// The bits of a scalar operand.
    fn scalar_bits(&mut self, scalar: Value) -> Value {
        let bits = self.as_int(scalar);
        self.b.ins().extractlane(bits, 0)
    }

    /// A scalar operand at the width of `like`, in all lanes.
    pub fn scalar_like(&mut self, like: Value, scalar: Value) -> Value {
        let bits = self.scalar_bits(scalar);
        let lane = match self.b.func.dfg.value_type(like).lane_type() {
            I32 => bits,
            I64 => self.b.ins().uextend(I64, bits),
            narrow => self.b.ins().ireduce(narrow, bits),
        };
        self.splat_like(like, lane)
    }

    /// All bits of the width of `like` where a scalar operand compares with zero as wanted, else none.
    pub fn where_scalar(&mut self, like: Value, scalar: Value, wanted: IntCC) -> Value {
        let lane = self.b.func.dfg.value_type(like).lane_type();
        let bits = self.scalar_bits(scalar);
        let holds = self.b.ins().icmp_imm_u(wanted, bits, 0);
        let mask = self.b.ins().bmask(lane, holds);
        self.splat_like(like, mask)
    }

    fn splat_like(&mut self, like: Value, lane: Value) -> Value {
        let kind = self.b.func.dfg.value_type(like);
        if kind.is_vector() { self.b.ins().splat(kind, lane) } else { lane }
    }
}
