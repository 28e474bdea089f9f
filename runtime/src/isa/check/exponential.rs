//! Rules of EXPONENTIAL (chapter 05 section 4).

use super::{Checker, gates, rules};
use crate::isa::field::{AccumCmd, ReverseOps};
use crate::isa::layouts::S3D3_TS;
use crate::isa::{AluOp, Dtype};

pub(super) fn exponential(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_TS>() else { return };
    let lanes = c.tensor_scalar(o, gates::D12, gates::D13);
    c.scalar("imm0", o.imm0, o.imm0_src, Dtype::FP32, lanes);
    c.operator("op0", o.op0, o.op0 == AluOp::BYPASS, "BYPASS");
    c.operator("op1", o.op1, o.op1 == AluOp::BYPASS, "BYPASS");
    let reverse = o.reverse_operands;
    let member = ReverseOps::TABLE.name_of(reverse.0).is_some(); // else reported already
    c.value("reverse_operands", reverse.0, !member || reverse == ReverseOps::NONE, "NONE");
    let commands =
        [AccumCmd::IDLE, AccumCmd::ACCUMULATE, AccumCmd::ZERO_ACCUMULATE, AccumCmd::LOAD_ACCUMULATE];
    c.command("accumulator_cmd", o.accumulator_cmd, &commands, "0, 2, 3 or 4");
    c.seed(o, lanes);
    let narrow = o.in_dtype.bytes() == 2 || o.out_dtype.bytes() == 2;
    let odd = o.src.num.iter().any(|n| *n > 1 && n % 2 != 0) || o.src.num[0] % 2 != 0;
    if o.accumulator_cmd != AccumCmd::IDLE && narrow && o.src.step[0] == 1 && odd {
        c.report(rules::EVEN_COUNTS, "src", format_args!("{:?}", o.src.num), "even counts");
    }
}
