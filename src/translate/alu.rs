//! ALU operators in CLIF (chapter 03 section 7.4), bit for bit those of `runtime::num`.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::F64X2;
use cranelift_codegen::ir::{InstBuilder, Value};
use seqjit_runtime::isa::{AluOp, AluSet, Dtype};

use super::Refusal;
use super::emit::Emit;

/// Whether an operator of class FP has a lowering; POW and MOD belong to kernels.
pub fn check_float(op: AluOp) -> Result<(), Refusal> {
    let defined = seqjit_runtime::num::eval_f32(op, 0.0, 0.0).is_ok();
    if defined && !matches!(op, AluOp::POW | AluOp::MOD) { Ok(()) } else { Err(Refusal::Operator(op)) }
}

/// Whether an operator of class INT has a lowering at 32 bits: not those that divide, which would need an
/// instruction that traps.
pub fn check_int(op: AluOp) -> Result<(), Refusal> {
    if int_operator(op).is_some() { Ok(()) } else { Err(Refusal::Operator(op)) }
}

/// Whether an operator has a lowering in the class that it belongs to at 32 bits. MOD, which may be of either, has none.
pub fn check(op: AluOp) -> Result<(), Refusal> {
    check_float(op).or(check_int(op))
}

impl Emit<'_> {
    /// `op(a, b)` in FP32, rounded once. For an operator that [`check_float`] accepts.
    pub fn float_op(&mut self, op: AluOp, a: Value, b: Value) -> Value {
        match op {
            AluOp::ADD => self.b.ins().fadd(a, b),
            AluOp::SUBTRACT => self.b.ins().fsub(a, b),
            AluOp::MULT => self.b.ins().fmul(a, b),
            AluOp::DIVIDE => self.b.ins().fdiv(a, b),
            AluOp::SQUARE => self.b.ins().fmul(a, a),
            AluOp::MAX => self.b.ins().fmax(a, b),
            AluOp::MIN => self.b.ins().fmin(a, b),
            AluOp::ABSOLUTE_VALUE => self.abs(a),
            AluOp::ABSOLUTE_DIFF => {
                let difference = self.b.ins().fsub(a, b);
                self.abs(difference)
            }
            AluOp::RE_LU => {
                let zero = self.float(0.0);
                self.b.ins().fmax(a, zero)
            }
            AluOp::ABS_MAX | AluOp::SYMMETRIC_CLAMP => {
                let (left, right) = (self.abs(a), self.abs(b));
                let largest = self.b.ins().fmax(left, right);
                if op == AluOp::ABS_MAX { largest } else { self.b.ins().fcopysign(largest, a) }
            }
            AluOp::ABS_MIN => {
                let (left, right) = (self.abs(a), self.abs(b));
                self.b.ins().fmin(left, right)
            }
            AluOp::RSQRT => self.rsqrt(a),
            AluOp::LOGICAL_AND | AluOp::LOGICAL_OR | AluOp::LOGICAL_XOR => {
                let zero = self.float(0.0);
                // True for NaN, as `!=` is.
                let (left, right) =
                    (self.fcmp(FloatCC::NotEqual, a, zero), self.fcmp(FloatCC::NotEqual, b, zero));
                let mask = match op {
                    AluOp::LOGICAL_AND => self.b.ins().band(left, right),
                    AluOp::LOGICAL_OR => self.b.ins().bor(left, right),
                    _ => self.b.ins().bxor(left, right),
                };
                self.truth(mask)
            }
            _ => match float_condition(op) {
                Some(condition) => {
                    let mask = self.fcmp(condition, a, b);
                    self.truth(mask)
                }
                // BYPASS.
                None => a,
            },
        }
    }

    /// 1/sqrt through double, +Inf for both zeros (decision E19).
    fn rsqrt(&mut self, a: Value) -> Value {
        let root = self.in_double(a, |e, wide| {
            let root = e.b.ins().sqrt(wide);
            let one = e.b.ins().f64const(1.0);
            let ones = e.b.ins().splat(F64X2, one);
            e.b.ins().fdiv(ones, root)
        });
        let (zero, infinity) = (self.float(0.0), self.float(f32::INFINITY));
        let is_zero = self.fcmp(FloatCC::Equal, a, zero);
        self.select_float(is_zero, infinity, root)
    }

    /// `op(a, b)` on 32-bit integers, wrapping. For an operator that [`check_int`] accepts.
    pub fn int_op(&mut self, op: AluOp, dtype: Dtype, a: Value, b: Value) -> Value {
        let signed = is_signed(op, dtype);
        let Some(kind) = int_operator(op) else { return a };
        match (kind, signed) {
            (IntOp::Add, _) => self.b.ins().iadd(a, b),
            (IntOp::Subtract, _) => self.b.ins().isub(a, b),
            (IntOp::Multiply, _) => self.b.ins().imul(a, b),
            (IntOp::Max, true) => self.b.ins().smax(a, b),
            (IntOp::Max, false) => self.b.ins().umax(a, b),
            (IntOp::Min, true) => self.b.ins().smin(a, b),
            (IntOp::Min, false) => self.b.ins().umin(a, b),
            (IntOp::Difference, _) => {
                let (high, low) = (self.b.ins().smax(a, b), self.b.ins().smin(a, b));
                self.b.ins().isub(high, low)
            }
            // The magnitude of the lowest value is the largest one and reads back as the lowest.
            (IntOp::LargerMagnitude, _) => {
                let (left, right) = (self.b.ins().iabs(a), self.b.ins().iabs(b));
                self.b.ins().umax(left, right)
            }
            (IntOp::SmallerMagnitude, _) => {
                let (left, right) = (self.b.ins().iabs(a), self.b.ins().iabs(b));
                self.b.ins().umin(left, right)
            }
            (IntOp::Compare(signed_condition), signed) => {
                let condition = if signed { signed_condition } else { signed_condition.unsigned() };
                let mask = self.icmp(condition, a, b);
                self.and(mask, 1)
            }
        }
    }
}

fn float_condition(op: AluOp) -> Option<FloatCC> {
    Some(match op {
        AluOp::IS_EQ => FloatCC::Equal,
        AluOp::IS_NE => FloatCC::NotEqual,
        AluOp::IS_GT => FloatCC::GreaterThan,
        AluOp::IS_GE => FloatCC::GreaterThanOrEqual,
        AluOp::IS_LE => FloatCC::LessThanOrEqual,
        AluOp::IS_LT => FloatCC::LessThan,
        _ => return None,
    })
}

/// What integer operators come down to; conditions as for signed operands.
enum IntOp {
    Add,
    Subtract,
    Multiply,
    Max,
    Min,
    /// Of signed operands, as the next two.
    Difference,
    LargerMagnitude,
    SmallerMagnitude,
    Compare(IntCC),
}

fn int_operator(op: AluOp) -> Option<IntOp> {
    Some(match op {
        AluOp::ADD_INT => IntOp::Add,
        AluOp::SUBTRACT_INT => IntOp::Subtract,
        AluOp::MULT_INT | AluOp::MULT_UINT => IntOp::Multiply,
        AluOp::MAX_INT | AluOp::MAX_UINT => IntOp::Max,
        AluOp::MIN_INT | AluOp::MIN_UINT => IntOp::Min,
        AluOp::ABS_DIFF_INT => IntOp::Difference,
        AluOp::ABS_MAX_INT => IntOp::LargerMagnitude,
        AluOp::ABS_MIN_INT => IntOp::SmallerMagnitude,
        AluOp::IS_EQUAL_INT => IntOp::Compare(IntCC::Equal),
        AluOp::IS_NE_INT => IntOp::Compare(IntCC::NotEqual),
        AluOp::IS_GT_INT | AluOp::IS_GT_UINT => IntOp::Compare(IntCC::SignedGreaterThan),
        AluOp::IS_GE_INT | AluOp::IS_GE_UINT => IntOp::Compare(IntCC::SignedGreaterThanOrEqual),
        AluOp::IS_LE_INT | AluOp::IS_LE_UINT => IntOp::Compare(IntCC::SignedLessThanOrEqual),
        AluOp::IS_LT_INT | AluOp::IS_LT_UINT => IntOp::Compare(IntCC::SignedLessThan),
        _ => return None,
    })
}

/// The signedness of the computation, as in `runtime::num`: the operator's, or the datatype's.
fn is_signed(op: AluOp, dtype: Dtype) -> bool {
    let has = |set: AluSet| op.info().is_some_and(|info| info.sets & set as u8 != 0);
    match (has(AluSet::SG), has(AluSet::UN)) {
        (true, false) => true,
        (false, true) => false,
        _ => dtype.is_signed(),
    }
}
