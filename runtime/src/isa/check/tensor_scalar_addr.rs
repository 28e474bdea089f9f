//! Rules of TENSOR_SCALAR_ADDR (chapter 05 section 6.8).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::interp::tensor_scalar_addr::Form;
use crate::isa::field::{Imm, ImmSrc, ReverseOps};
use crate::isa::layouts::S2D2_ADDR;
use crate::isa::{AluOp, Dtype, Space};

/// What the words compute with.
const INPUTS: DtypeSet = gates::I32.and(DtypeSet::of(&[Dtype::UINT64]));
/// What they store.
const OUTPUTS: DtypeSet = gates::I6.and(DtypeSet::of(&[Dtype::UINT64]));

pub(super) fn addr(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2D2_ADDR>() else { return };
    let (from, to) = (o.in_out_dtype.low(), o.in_out_dtype.high());
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_out_dtype", from, INPUTS);
    c.dtype("in_out_dtype", to, OUTPUTS);
    c.dtype("imm_dtype", o.imm_dtype.low(), INPUTS);
    if o.op1 != AluOp::BYPASS {
        c.dtype("imm_dtype", o.imm_dtype.high(), INPUTS);
    }
    c.tensor("src", &o.src, OperandUse::read(from, lanes).only(Space::Sbuf));
    c.tensor("dst", &o.dst, OperandUse::write(to, lanes).only(Space::Sbuf));
    c.count("dst", &o.dst, o.src.count());
    c.wide_scalar("imm0", o.imm0, o.imm0_src, o.imm_dtype.low(), lanes);
    if o.op1 != AluOp::BYPASS {
        c.wide_scalar("imm1", o.imm1, o.imm1_src, o.imm_dtype.high(), lanes);
    }
    let reverse = o.reverse_operands;
    let member = ReverseOps::TABLE.name_of(reverse.0).is_some(); // else reported already
    c.value("reverse_operands", reverse.0, !member || reverse == ReverseOps::NONE, "NONE");
    let gated = INPUTS.contains(from) && OUTPUTS.contains(to) && INPUTS.contains(o.imm_dtype.low());
    let gated = gated && (o.op1 == AluOp::BYPASS || INPUTS.contains(o.imm_dtype.high()));
    let operators = [o.op0, o.op1].iter().all(|op| op.exists_on(c.cx.generation));
    if gated && operators && Form::of(o).is_none() {
        let found = format_args!("{},{} of {} to {}", o.op0.text(), o.op1.text(), from.text(), to.text());
        c.report(rules::ADDRESS_ARITHMETIC, "op0", found, "one of the five forms");
    }
}

impl Checker<'_> {
    /// A scalar in a field of eight bytes, of which a pointer takes four.
    fn wide_scalar(&mut self, field: &'static str, bits: u64, source: ImmSrc, dtype: Dtype, lanes: u32) {
        if source != ImmSrc::INSTRUCTION && bits >> 32 != 0 {
            self.report(rules::ADDRESS_FORM, field, format_args!("{bits:#x}"), "a pointer of 29 bits");
        } else {
            self.scalar(field, Imm(bits as u32), source, dtype, lanes);
        }
    }
}
