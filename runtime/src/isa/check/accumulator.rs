//! Rules of DVE_READ_ACCUMULATOR (chapter 05 section 7.5), and of accumulator commands (chapter 04 section 2.6).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::field::AccumCmd;
use crate::isa::layouts::D1_RD;

pub(super) fn read(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<D1_RD>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::F7);
    c.value("negated", o.negated, o.negated <= 1, "0 or 1");
    if o.dst_element_count != 1 {
        c.report(rules::ELEMENT_COUNT, "dst_element_count", o.dst_element_count, 1);
    }
    c.tensor("dst", &o.dst, OperandUse::write(o.dtype, lanes));
    c.count("dst", &o.dst, 1);
}

impl Checker<'_> {
    /// The accumulator command is one of `legal`, which `expected` names.
    pub(super) fn command(
        &mut self,
        field: &'static str,
        command: AccumCmd,
        legal: &[AccumCmd],
        expected: &str,
    ) {
        let member = AccumCmd::TABLE.name_of(command.0).is_some(); // else reported already
        self.value(field, command.0, !member || legal.contains(&command), expected);
    }
}
