//! Rules of the predicated words (chapter 04 sections 8.1 and 8.2).

use super::address::OperandUse;
use super::{Checker, gates};
use crate::isa::AluOp;
use crate::isa::layouts::{S3D3_CP_PRED_SCALAR, S3S3D3_TT};

pub(super) fn copy(c: &mut Checker<'_>) {
    cast(c);
    let Some(o) = c.operands::<S3S3D3_TT>() else { return };
    c.same_dtype("out_dtype", o.out_dtype, o.in0_in1_dtype.high());
}

pub(super) fn cast(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3S3D3_TT>() else { return };
    c.tensor_tensor(o, [gates::I6, gates::D12, gates::D12]);
    c.operator("op", o.op, o.op == AluOp::BYPASS, "BYPASS");
}

pub(super) fn copy_scalar(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_CP_PRED_SCALAR>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("pred_dtype", o.pred_dtype, gates::I6);
    c.dtype("in_dtype", o.in_dtype, gates::D12);
    c.dtype("out_dtype", o.out_dtype, gates::D12);
    c.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
    c.value("reversed_pred", o.reversed_pred, o.reversed_pred <= 1, "0 or 1");
    c.tensor("predicate", &o.predicate, OperandUse::read(o.pred_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.count("dst", &o.dst, o.predicate.count());
    c.scalar("src0_imm", o.src0_imm, o.src0_imm_src, o.out_dtype, lanes);
}
