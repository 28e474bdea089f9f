//! Rules of the words with a scalar and two tensors (chapter 04 sections 5 and 5.1).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::field::{AccumCmd, ImmSrc};
use crate::isa::layouts::S2S2D2_STT;
use crate::isa::{AluSet, Dtype};

/// Accumulator commands of words without a seed.
pub(super) const UNSEEDED: &[AccumCmd] = &[AccumCmd::IDLE, AccumCmd::ACCUMULATE, AccumCmd::ZERO_ACCUMULATE];

pub(super) fn arith(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2S2D2_STT>() else { return };
    let lanes = c.scalar_tensors(o, [gates::D12, gates::D12, gates::D13]);
    c.float_scalar(o, lanes);
    c.operator("op0", o.op0, c.in_set(o.op0, AluSet::GA), "general arithmetic");
    c.operator("op1", o.op1, c.in_set(o.op1, AluSet::GA), "general arithmetic");
    c.command("accumulator_cmd", o.accumulator_cmd, UNSEEDED, "IDLE, ACCUMULATE or ZERO_ACCUMULATE");
}

pub(super) fn bitvec(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2S2D2_STT>() else { return };
    let lanes = c.scalar_tensors(o, [gates::I6; 3]);
    c.dtype("imm0_dtype", o.imm0_dtype, gates::I6);
    c.bit_scalar("imm0", o.imm0, o.imm0_src, o.imm0_dtype, lanes);
    c.same_dtype("src_dtype", o.src_dtype.low(), o.out_dtype);
    c.same_dtype("src_dtype", o.src_dtype.high(), o.out_dtype);
    c.same_dtype("imm0_dtype", o.imm0_dtype, o.out_dtype);
    c.operator("op0", o.op0, c.in_set(o.op0, AluSet::BV), "a bit-vector operator");
    c.operator("op1", o.op1, c.in_set(o.op1, AluSet::BV), "a bit-vector operator");
    c.command("accumulator_cmd", o.accumulator_cmd, &[AccumCmd::IDLE], "IDLE");
}

impl Checker<'_> {
    /// Lanes, dtypes (of the sources, then of the result) and tensors of a word with this struct; returns the
    /// lanes.
    pub(super) fn scalar_tensors(&mut self, o: &S2S2D2_STT, dtypes: [DtypeSet; 3]) -> u32 {
        let (a, b) = (o.src_dtype.low(), o.src_dtype.high());
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("src_dtype", a, dtypes[0]);
        self.dtype("src_dtype", b, dtypes[1]);
        self.dtype("out_dtype", o.out_dtype, dtypes[2]);
        let src0 = self.tensor("src0", &o.src0, OperandUse::read(a, lanes));
        let src1 = self.tensor("src1", &o.src1, OperandUse::read(b, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.two_sources("src1", src0, src1);
        self.count("src1", &o.src1, o.src0.count());
        self.count("dst", &o.dst, o.src0.count());
        lanes
    }

    /// The scalar of a word in class FP: an inline one is FP32.
    pub(super) fn float_scalar(&mut self, o: &S2S2D2_STT, lanes: u32) {
        self.dtype("imm0_dtype", o.imm0_dtype, gates::D12);
        if o.imm0_src == ImmSrc::INSTRUCTION
            && gates::D12.contains(o.imm0_dtype)
            && o.imm0_dtype != Dtype::FP32
        {
            self.report(rules::DTYPE, "imm0_dtype", o.imm0_dtype.text(), "fp32, as the scalar is inline");
        }
        self.scalar("imm0", o.imm0, o.imm0_src, o.imm0_dtype, lanes);
    }
}
