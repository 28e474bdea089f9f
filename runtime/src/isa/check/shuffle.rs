//! Rules of the lane movement of DVE (chapter 06 section 7).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::AluOp;
use crate::isa::field::Subdim;
use crate::isa::layouts::{CTRL_IM, S4D4_TR};

pub(super) fn load_mask(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_IM>() else { return };
    c.value("param_ram_offset", o.param_ram_offset, o.param_ram_offset == 0, "0");
    c.value("imm_ptr_select", o.imm_ptr_select, o.imm_ptr_select == 0, "0");
    let entries = o.immediate.iter().flat_map(|word| word.to_le_bytes());
    for (lane, entry) in entries.enumerate().filter(|(_, e)| *e > 63 && *e != 255) {
        c.report_in(rules::FIELD_VALUE, "immediate", lane, entry, "a lane below 64, or 255");
    }
}

pub(super) fn stream_shuffle(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.quadrants(o);
    c.count("dst", &o.dst, o.src.count());
    c.value("mask_enable", o.mask_enable, o.mask_enable == 0, "0");
}

pub(super) fn stream_transpose(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.quadrants(o);
    let count = o.src.count();
    if !count.is_multiple_of(32) {
        c.report_count("src", &o.src, "a multiple of 32");
    }
    if count != 0 {
        c.count_in("dst", &o.dst, 1..=count);
    }
    c.value("mask_enable", o.mask_enable, o.mask_enable <= 1, "0 or 1");
}

impl Checker<'_> {
    fn quadrants(&mut self, o: &S4D4_TR) {
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        if (1..=128).contains(&lanes) {
            self.value("num_active_channels", lanes, lanes.is_multiple_of(32), "32, 64, 96 or 128");
        }
        self.dtype("in_dtype", o.in_dtype, gates::D12);
        self.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.value("negated", o.negated, o.negated == 0, "0");
        self.operator("op", o.op, o.op == AluOp::BYPASS, "BYPASS");
        let unused =
            matches!(o.op_dim, Subdim::UNUSED | Subdim::X) || Subdim::TABLE.name_of(o.op_dim.0).is_none();
        self.value("op_dim", o.op_dim.0, unused, "UNUSED or X");
    }
}
