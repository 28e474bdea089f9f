//! Rules of TENSOR_SCALAR (chapter 04 sections 4.1 and 4.2).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::field::{AccumCmd, ImmSrc};
use crate::isa::layouts::S3D3_TS;
use crate::isa::{AluOp, AluSet, Dtype, EngineId, Generation};

/// Operator pairs of ACT (chapter 04 section 4.2).
const ACT_PAIRS: &[(AluOp, AluOp)] =
    &[(AluOp::MULT, AluOp::ADD), (AluOp::MULT, AluOp::BYPASS), (AluOp::ADD, AluOp::BYPASS)];

pub(super) fn arith(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_TS>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::D12);
    c.dtype("out_dtype", o.out_dtype, gates::D13);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.count("dst", &o.dst, o.src.count());
    c.scalar("imm0", o.imm0, o.imm0_src, Dtype::FP32, lanes);
    c.scalar("imm1", o.imm1, o.imm1_src, Dtype::FP32, lanes);
    let idle = o.accumulator_cmd == AccumCmd::IDLE || AccumCmd::TABLE.name_of(o.accumulator_cmd.0).is_none();
    c.value("accumulator_cmd", o.accumulator_cmd.0, idle, "IDLE");
    c.operators(o);
}

impl Checker<'_> {
    fn operators(&mut self, o: &S3D3_TS) {
        let rsqrt = o.op0 == AluOp::RSQRT;
        if rsqrt {
            self.rsqrt(o);
        } else if self.vector_integer(o) {
            self.dtype("in_dtype", o.in_dtype, gates::I6);
            self.dtype("out_dtype", o.out_dtype, gates::I6);
        } else {
            self.operator("op0", o.op0, self.in_set(o.op0, AluSet::GA), "general arithmetic or RSQRT");
            self.operator("op1", o.op1, self.in_set(o.op1, AluSet::GA), "general arithmetic");
        }
        if o.op0 == AluOp::BYPASS && o.op1 != AluOp::BYPASS {
            self.report(rules::OPERATOR_ORDER, "op1", o.op1.text(), "BYPASS, as op0 is BYPASS");
        }
        match self.cx.engine {
            EngineId::Act => {
                let pair = format!("{},{}", o.op0.text(), o.op1.text());
                if !ACT_PAIRS.contains(&(o.op0, o.op1)) {
                    let expected = "MULTIPLY,ADD or MULTIPLY,BYPASS or ADD,BYPASS";
                    self.report(rules::ENGINE_ARM, "op0", format_args!("{pair} on ACT"), expected);
                }
            }
            EngineId::Dve => self.engine_arm("op0", o.op0, !rsqrt),
            _ => {}
        }
    }

    /// The integer form of MAVERICK: both operators in its set, one at least not general arithmetic.
    fn vector_integer(&self, o: &S3D3_TS) -> bool {
        let ops = [o.op0, o.op1];
        self.cx.generation == Generation::Maverick
            && ops.iter().all(|op| self.in_set(*op, AluSet::DI))
            && !ops.iter().all(|op| self.in_set(*op, AluSet::GA))
    }

    fn rsqrt(&mut self, o: &S3D3_TS) {
        let immediates = o.imm0_src == ImmSrc::INSTRUCTION && o.imm1_src == ImmSrc::INSTRUCTION;
        if o.op1 != AluOp::BYPASS || !immediates || o.imm0.0 != 0 || o.imm1.0 != 0 {
            let found = format_args!(
                "op1 {}, sources {} {}, values {:#x} {:#x}",
                o.op1.text(),
                o.imm0_src.0,
                o.imm1_src.0,
                o.imm0.0,
                o.imm1.0
            );
            self.report(rules::RSQRT_FORM, "op0", found, "op1 BYPASS, sources 0, values 0");
        }
    }
}
