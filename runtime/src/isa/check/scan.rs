//! Rules of scans (chapter 04 sections 5.2 and 6.4).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::field::{AccumCmd, Subdim};
use crate::isa::layouts::{S2S2D2_STT, S4D4_TR};
use crate::isa::{AluClass, AluOp, AluSet, Dtype};

pub(super) fn cumulative_arith(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.cumulative(o, gates::D12, gates::D13);
    let refused = matches!(o.op, AluOp::DIVIDE | AluOp::POW | AluOp::MOD);
    let legal = c.in_set(o.op, AluSet::AR) && !refused;
    c.operator("op", o.op, legal, "general arithmetic, RSQRT or an integer operator of the set");
    if legal && o.op.info().is_some_and(|i| i.class == AluClass::Int) {
        // narrow ones are legal here, unlike in tensor-tensor words (decision 04-Q6)
        c.dtype("in_dtype", o.in_dtype, gates::I6);
        c.dtype("out_dtype", o.out_dtype, gates::I6);
        if gates::I6.contains(o.in_dtype)
            && gates::I6.contains(o.out_dtype)
            && o.in_dtype.is_signed() != o.out_dtype.is_signed()
        {
            let expected = "an integer of the signedness of in_dtype";
            c.report(rules::INTEGER_DTYPE, "out_dtype", o.out_dtype.text(), expected);
        }
    }
    // chapter 00 A14
    c.engine_arm("op", o.op, o.op != AluOp::RSQRT);
}

pub(super) fn cumulative_bitvec(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.cumulative(o, gates::BITS, gates::BITS);
    c.folded_bits(o);
}

pub(super) fn tensor_tensor(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2S2D2_STT>() else { return };
    let lanes = c.scalar_tensors(o, [gates::D12, gates::D12, gates::D13]);
    c.float_scalar(o, lanes);
    c.operator("op0", o.op0, c.in_set(o.op0, AluSet::GA), "general arithmetic");
    c.operator("op1", o.op1, c.in_set(o.op1, AluSet::GA), "general arithmetic");
    c.command("accumulator_cmd", o.accumulator_cmd, &[AccumCmd::IDLE], "IDLE");
}

impl Checker<'_> {
    fn cumulative(&mut self, o: &S4D4_TR, inputs: DtypeSet, outputs: DtypeSet) {
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, inputs);
        self.dtype("out_dtype", o.out_dtype, outputs);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.count("dst", &o.dst, o.src.count());
        self.value("negated", o.negated, o.negated == 0, "0");
        self.value("mask_enable", o.mask_enable, o.mask_enable == 0, "0");
        self.value("op_dim", o.op_dim.0, o.op_dim != Subdim::UNUSED, "X, XY, XYZ or XYZW");
    }

    /// Operator and dtypes of a fold or scan of raw bits.
    pub(super) fn folded_bits(&mut self, o: &S4D4_TR) {
        self.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
        self.operator("op", o.op, self.in_set(o.op, AluSet::BV), "a bit-vector operator");
        if o.op == AluOp::LOGICAL_SHIFT_RIGHT
            && gates::BITS.contains(o.in_dtype)
            && o.in_dtype != Dtype::INT32
        {
            let found = format_args!("{} of {}", o.op.text(), o.in_dtype.text());
            self.report(rules::SHIFT_DTYPE, "op", found, "int32");
        }
    }
}
