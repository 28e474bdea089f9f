//! Rules of the words with a scalar and the reduce accumulator (chapter 04 sections 4.5 and 4.6).

use super::{Checker, gates};
use crate::isa::field::{AccumCmd, Imm, ImmSrc, ReverseOps};
use crate::isa::layouts::S3D3_TS;
use crate::isa::{AluOp, AluSet, Dtype};

/// Operators that accumulate.
const FOLDS: &[AluOp] = &[AluOp::ADD, AluOp::SUBTRACT, AluOp::MULT, AluOp::MAX, AluOp::MIN];

pub(super) fn reduce(c: &mut Checker<'_>) {
    c.cached();
}

pub(super) fn cumulative(c: &mut Checker<'_>) {
    c.cached();
}

impl Checker<'_> {
    fn cached(&mut self) {
        let Some(o) = self.operands::<S3D3_TS>() else { return };
        let lanes = self.tensor_scalar(o, gates::CACHE, gates::D13);
        self.scalar("imm0", o.imm0, o.imm0_src, Dtype::FP32, lanes);
        self.operator("op0", o.op0, self.in_set(o.op0, AluSet::GA), "general arithmetic");
        let expected = "ADD, SUBTRACT, MULTIPLY, MAX or MIN";
        self.operator("op1", o.op1, FOLDS.contains(&o.op1), expected);
        let reverse = o.reverse_operands;
        let member = ReverseOps::TABLE.name_of(reverse.0).is_some(); // else reported already
        self.value("reverse_operands", reverse.0, !member || reverse == ReverseOps::NONE, "NONE");
        let commands = [AccumCmd::ACCUMULATE, AccumCmd::ZERO_ACCUMULATE, AccumCmd::LOAD_ACCUMULATE];
        self.command("accumulator_cmd", o.accumulator_cmd, &commands, "an accumulating command");
        self.seed(o, lanes);
    }

    /// The second immediate: the seed of LOAD_ACCUMULATE, else zero.
    pub(super) fn seed(&mut self, o: &S3D3_TS, lanes: u32) {
        if o.accumulator_cmd == AccumCmd::LOAD_ACCUMULATE {
            self.scalar("imm1", o.imm1, o.imm1_src, Dtype::FP32, lanes);
        } else if ImmSrc::TABLE.name_of(o.imm1_src.0).is_some() {
            self.value("imm1_src", o.imm1_src.0, o.imm1_src == ImmSrc::INSTRUCTION, "0 without a seed");
            self.value("imm1", o.imm1.0, o.imm1 == Imm(0), "0 without a seed");
        }
    }
}
