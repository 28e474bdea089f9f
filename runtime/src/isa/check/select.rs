//! Rules of the selecting words (chapter 04 sections 5.3 and 8.3 to 8.5).

use super::address::OperandUse;
use super::scalar_tensor_tensor::UNSEEDED;
use super::{Checker, gates, rules};
use crate::isa::field::{ImmSrc, ReverseOps};
use crate::isa::layouts::{S2D2_RS, S2D2_TS_AS, S2S2D2_STT, S3D3_TS_SELECT};
use crate::isa::{AluOp, Dtype, Generation, Space};

/// Compares of RANGE_SELECT.
const COMPARES: &[AluOp] = &[AluOp::IS_EQ, AluOp::IS_GT, AluOp::IS_GE, AluOp::IS_LE, AluOp::IS_LT];
/// Indices of RANGE_SELECT stay exact in FP32.
const INDEX_LIMIT: u64 = 1 << 24;

pub(super) fn affine_select(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2D2_TS_AS>() else { return };
    let (in_dtype, out_dtype) = (o.in_out_dtype.low(), o.in_out_dtype.high());
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_out_dtype", in_dtype, gates::D12);
    c.dtype("in_out_dtype", out_dtype, gates::D13);
    c.value("fill_mode", o.fill_mode, o.fill_mode <= 3, "0..3");
    c.register_number("fill_reg", 0, o.fill_reg);

    let reach = |operand: OperandUse| match c.cx.generation {
        Generation::Sunda => operand,
        _ => operand.only(Space::Sbuf),
    };
    let (src, dst) = (reach(OperandUse::read(in_dtype, lanes)), reach(OperandUse::write(out_dtype, lanes)));
    c.tensor("src", &o.src, src);
    c.tensor("dst", &o.dst, dst);
    c.count("dst", &o.dst, o.src.count());

    c.generator("mask", &o.mask, o.src.count());
}

pub(super) fn tensor_scalar_select(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_TS_SELECT>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::D12);
    c.dtype("pred_imm_dtype", o.pred_imm_dtype, gates::I6);
    if gates::D12.contains(o.dtype) && gates::I6.contains(o.pred_imm_dtype) {
        let same = o.pred_imm_dtype.bytes() == o.dtype.bytes();
        if !same {
            let expected = format_args!("an integer as wide as {}", o.dtype.text());
            c.report(rules::DTYPE, "pred_imm_dtype", o.pred_imm_dtype.text(), expected);
        }
    }
    c.value("reversed_pred", o.reversed_pred, o.reversed_pred <= 1, "0 or 1");
    c.tensor("src0", &o.src0, OperandUse::read(o.dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.dtype, lanes));
    c.count("dst", &o.dst, o.src0.count());
    c.scalar("src1_imm", o.src1_imm, o.src1_imm_src, o.dtype, lanes);
    c.scalar("pred_imm", o.pred_imm, o.pred_imm_src, o.pred_imm_dtype, lanes);
    if o.pred_imm_src == ImmSrc::INSTRUCTION {
        c.value("pred_imm", o.pred_imm.0, o.pred_imm.0 <= 1, "0 or 1");
    }
}

pub(super) fn range_select(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2D2_RS>() else { return };
    let (from, to) = (o.in_out_dtype.low(), o.in_out_dtype.high());
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_out_dtype", from, gates::F6);
    c.dtype("in_out_dtype", to, gates::F7);
    c.tensor("src", &o.src, OperandUse::read(from, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(to, lanes));
    c.count("dst", &o.dst, o.src.count());
    c.command("reduce_cmd", o.reduce_cmd, UNSEEDED, "IDLE, ACCUMULATE or ZERO_ACCUMULATE");
    c.operator("reduce_op", o.reduce_op, o.reduce_op == AluOp::MAX, "MAX");
    c.value("fill_val", o.fill_val.value(), o.fill_val.value() == -f32::MAX, "-FLT_MAX");
    let base = o.base.value();
    // the header truncates the base before it compares (decision 04-G1); NaN fails both compares
    let in_range = base >= 0.0 && (base.trunc() as u64).saturating_add(o.src.count()) <= INDEX_LIMIT;
    c.value("base", base, in_range, "0 or more, with the count at most 2^24");
    for (field, op) in [("comp_op0", o.comp_op0), ("comp_op1", o.comp_op1)] {
        c.operator(field, op, COMPARES.contains(&op), "IS_EQ, IS_GT, IS_GE, IS_LE or IS_LT");
    }
    c.scalar("bound0", o.bound0, o.bound0_src, Dtype::FP32, lanes);
    c.scalar("bound1", o.bound1, o.bound1_src, Dtype::FP32, lanes);
}

pub(super) fn select_reduce(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2S2D2_STT>() else { return };
    let lanes = c.scalar_tensors(o, [gates::I6, gates::CACHE, gates::D13]);
    c.float_scalar(o, lanes);
    c.operator("op0", o.op0, o.op0 == AluOp::BYPASS, "BYPASS");
    c.operator("op1", o.op1, o.op1 == AluOp::MAX, "MAX");
    let first_or_none = !matches!(o.reverse_operands, ReverseOps::SECOND | ReverseOps::BOTH);
    c.value("reverse_operands", o.reverse_operands.0, first_or_none, "NONE or FIRST");
    c.command("accumulator_cmd", o.accumulator_cmd, UNSEEDED, "IDLE, ACCUMULATE or ZERO_ACCUMULATE");
}
