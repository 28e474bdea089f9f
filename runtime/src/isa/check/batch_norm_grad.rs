//! Rules of the backward batch-norm words (chapter 05 sections 5.4 to 5.6).

use super::address::OperandUse;
use super::{Checker, gates};
use crate::isa::field::{Imm, ImmSrc};
use crate::isa::layouts::{S2_BN, S2_BNPL2, S3S3D1_BN, S3S3D1_BN2, S3S3D3_TT};
use crate::isa::{AluOp, Dtype, Tensor};

pub(super) fn accumulate(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3S3D1_BN>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    let dtypes = [o.in0_in1_dtype.low(), o.in0_in1_dtype.high()];
    dtypes.iter().for_each(|d| c.dtype("in0_in1_dtype", *d, gates::GRADIENT));
    c.dtype("out_dtype", o.out_dtype, gates::BIAS);
    let immediate = match o.immediate_dtype {
        Dtype::INVALID => Dtype::FP32,
        dtype => dtype,
    };
    c.dtype("immediate_dtype", immediate, gates::GRADIENT);
    c.gradients([&o.src0, &o.src1], dtypes, lanes);
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.count("dst", &o.dst, 3);
    c.scalar("imm0", Imm(o.imm0.0), ImmSrc::PTR, immediate, lanes);
    c.scalar("imm1", Imm(o.imm1.0), ImmSrc::PTR, immediate, lanes);
}

pub(super) fn accumulate2(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3S3D1_BN2>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    let dtypes = [o.in0_in1_dtype.low(), o.in0_in1_dtype.high()];
    let (immediate, out) = (o.imm_out_dtype.low(), o.imm_out_dtype.high());
    dtypes.iter().for_each(|d| c.dtype("in0_in1_dtype", *d, gates::GRADIENT));
    c.dtype("imm_out_dtype", immediate, gates::GRADIENT);
    c.dtype("imm_out_dtype", out, gates::BIAS);
    c.gradients([&o.src0, &o.src1], dtypes, lanes);
    c.tensor("dst", &o.dst, OperandUse::write(out, lanes));
    c.count("dst", &o.dst, 3);
    let sources = o.imm_src.sources();
    let legal = sources.iter().all(|s| matches!(*s, ImmSrc::PTR | ImmSrc::REG_PTR));
    c.value("imm_src", o.imm_src.0, legal, "1 or 2 in each nibble");
    c.scalar("imm0", o.imm0, sources[0], immediate, lanes);
    c.scalar("imm1", o.imm1, sources[1], immediate, lanes);
}

pub(super) fn param_load(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2_BN>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::BIAS);
    c.tensor("src", &o.src, OperandUse::read(o.dtype, lanes));
    c.count("src", &o.src, 3);
    c.parameter("imm0_ptr", o.imm0_ptr, o.imm0_src, o.dtype, lanes);
}

pub(super) fn param_load2(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2_BNPL2>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("src_dtype", o.src_dtype, gates::BIAS);
    c.dtype("imm_dtype", o.imm_dtype, gates::BIAS);
    c.tensor("src", &o.src, OperandUse::read(o.src_dtype, lanes));
    c.count("src", &o.src, 2);
    c.parameter("imm0_ptr", o.imm0_ptr, o.imm0_src, o.imm_dtype, lanes);
    c.parameter("imm1_ptr", o.imm1_ptr, o.imm1_src, o.imm_dtype, lanes);
}

pub(super) fn back_prop(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3S3D3_TT>() else { return };
    c.tensor_tensor(o, [gates::BIAS, gates::BIAS, gates::ACCUMULATOR]);
    c.operator("op", o.op, o.op == AluOp::BYPASS, "BYPASS");
}

impl Checker<'_> {
    fn gradients(&mut self, [src0, src1]: [&Tensor<3>; 2], dtypes: [Dtype; 2], lanes: u32) {
        let at0 = self.tensor("src0", src0, OperandUse::read(dtypes[0], lanes));
        let at1 = self.tensor("src1", src1, OperandUse::read(dtypes[1], lanes));
        self.two_sources("src1", at0, at1);
        self.count("src1", src1, src0.count());
    }

    /// A parameter behind a pointer; source 0 is a pointer too.
    fn parameter(&mut self, field: &'static str, value: Imm, source: ImmSrc, dtype: Dtype, lanes: u32) {
        let source = if source == ImmSrc::INSTRUCTION { ImmSrc::PTR } else { source };
        self.scalar(field, value, source, dtype, lanes);
    }
}
