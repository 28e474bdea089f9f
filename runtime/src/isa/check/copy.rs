//! Rules of COPY, CAST and RECIPROCAL (chapter 04 section 6, chapter 05 section 6.2).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::AluOp;
use crate::isa::field::Subdim;
use crate::isa::layouts::S4D4_TR;

pub(super) fn copy(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.one_to_one(o, gates::D12);
    if gates::D12.contains(o.out_dtype) && o.out_dtype != o.in_dtype {
        let expected = format_args!("{}, as in_dtype", o.in_dtype.text());
        c.report(rules::DTYPE, "out_dtype", o.out_dtype.text(), expected);
    }
}

pub(super) fn cast(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.one_to_one(o, gates::D13);
}

pub(super) fn reciprocal(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.one_to_one(o, gates::D13);
}

impl Checker<'_> {
    fn one_to_one(&mut self, o: &S4D4_TR, outputs: DtypeSet) {
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, gates::D12);
        self.dtype("out_dtype", o.out_dtype, outputs);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.count("dst", &o.dst, o.src.count());
        self.operator("op", o.op, o.op == AluOp::BYPASS, "BYPASS");
        self.value("negated", o.negated, o.negated == 0, "0");
        self.value("mask_enable", o.mask_enable, o.mask_enable == 0, "0");
        let unused =
            matches!(o.op_dim, Subdim::UNUSED | Subdim::X) || Subdim::TABLE.name_of(o.op_dim.0).is_none();
        self.value("op_dim", o.op_dim.0, unused, "UNUSED or X");
    }
}
