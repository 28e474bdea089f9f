//! Rules of the integer words with results of 64 bits (chapter 04 sections 3.5 and 4.8).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::field::{DtypePair, ImmSrc};
use crate::isa::layouts::{S2D2D2_TS_WIDE, S2S2D2D2_TT};
use crate::isa::{AluOp, Dtype, Space, Tensor};

/// What the operators want of their operands.
fn shifts(op: AluOp) -> bool {
    matches!(
        op,
        AluOp::ARITH_SHIFT_LEFT
            | AluOp::ARITH_SHIFT_RIGHT
            | AluOp::LOGICAL_SHIFT_LEFT
            | AluOp::LOGICAL_SHIFT_RIGHT
    )
}

pub(super) fn tensor_tensor(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2S2D2D2_TT>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.wide_dtypes(o.op, o.src_dtype, o.dst_dtype);
    c.wide_tensor("src0", &o.src0, OperandUse::read(o.src_dtype.low(), lanes), o.src0.count());
    c.wide_tensor("src1", &o.src1, OperandUse::read(o.src_dtype.high(), lanes), o.src0.count());
    c.wide_tensor("dst0", &o.dst0, OperandUse::write(o.dst_dtype.low(), lanes), o.src0.count());
    c.wide_tensor("dst1", &o.dst1, OperandUse::write(o.dst_dtype.high(), lanes), o.src0.count());
}

pub(super) fn tensor_scalar(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2D2D2_TS_WIDE>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    let (from, scalar) = (o.src_dtype.low(), o.src_dtype.high());
    c.wide_dtypes(o.op, o.src_dtype, o.dst_dtype);
    if shifts(o.op) && gates::I6.contains(from) && from.is_signed() != scalar.is_signed() {
        c.report(rules::INTEGER_DTYPE, "src_dtype", from.text(), "the signedness of the scalar");
    }
    c.wide_tensor("src", &o.src, OperandUse::read(from, lanes), o.src.count());
    c.wide_tensor("dst0", &o.dst0, OperandUse::write(o.dst_dtype.low(), lanes), o.src.count());
    c.wide_tensor("dst1", &o.dst1, OperandUse::write(o.dst_dtype.high(), lanes), o.src.count());
    c.scalar("imm", o.imm, o.imm_src, scalar, lanes);
    if shifts(o.op) && o.imm_src == ImmSrc::INSTRUCTION {
        c.value("imm", o.imm.0, o.imm.0 < 32, "a shift of 0..31");
    }
}

impl Checker<'_> {
    fn wide_tensor(&mut self, field: &'static str, tensor: &Tensor<2>, operand: OperandUse, count: u64) {
        self.tensor(field, tensor, operand.only(Space::Sbuf));
        self.count(field, tensor, count);
    }

    fn wide_dtypes(&mut self, op: AluOp, sources: DtypePair, results: DtypePair) {
        let (a, b, low, high) = (sources.low(), sources.high(), results.low(), results.high());
        for (field, dtype) in [("src_dtype", a), ("src_dtype", b), ("dst_dtype", low), ("dst_dtype", high)] {
            self.dtype(field, dtype, gates::I6);
        }
        let signed = [a, b].map(Dtype::is_signed);
        let (legal, expected) = match op {
            AluOp::ADD_INT | AluOp::SUBTRACT_INT | AluOp::MULT_UINT => {
                (signed == [false; 2], "unsigned integers")
            }
            AluOp::MULT_INT => (signed == [true; 2], "signed integers"),
            _ if shifts(op) => (!signed[1], "an unsigned count"),
            _ => {
                self.operator("op", op, false, "ADD_INT, SUBTRACT_INT, MULT_INT, MULT_UINT or a shift");
                return;
            }
        };
        if !legal && [a, b].iter().all(|d| gates::I6.contains(*d)) {
            self.report(
                rules::INTEGER_DTYPE,
                "src_dtype",
                format_args!("{},{}", a.text(), b.text()),
                expected,
            );
        }
        if !shifts(op) {
            if gates::I6.contains(low) && !gates::I32.contains(low) {
                self.report(rules::INTEGER_DTYPE, "dst_dtype", low.text(), "32 bits for the low half");
            }
            if gates::I6.contains(high) && high.is_signed() != signed[0] {
                let expected = "the signedness of the sources for the high half";
                self.report(rules::INTEGER_DTYPE, "dst_dtype", high.text(), expected);
            }
        }
    }
}
