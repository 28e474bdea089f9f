//! Rules of the searching words of DVE (chapter 05 section 7).

use super::address::OperandUse;
use super::{Checker, gates};
use crate::isa::field::{Imm, ImmSrc};
use crate::isa::layouts::{D4_MR, S2_BN, S4D2_BN, S4D4_MR};
use crate::machine::hidden::KEYS;

/// Elements of a searched row (chapter 05 sections 7.2 and 7.4).
const LONGEST_ROW: u64 = 16384;

pub(super) fn match_value_load(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2_BN>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::D12);
    c.tensor("src", &o.src, OperandUse::read(o.dtype, lanes));
    c.count("src", &o.src, KEYS as u64);
    c.zero("imm1", o.imm1);
    c.zero("imm0_ptr", o.imm0_ptr);
    c.value("imm0_src", o.imm0_src.0, o.imm0_src == ImmSrc::INSTRUCTION, "0");
}

pub(super) fn max8(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D2_BN>() else { return };
    c.dtype("out_dtype", o.out_dtype, gates::D13);
    c.count_in("src", &o.src, KEYS as u64..=LONGEST_ROW);
    c.row_and_keys(o);
}

pub(super) fn find_index8(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D2_BN>() else { return };
    c.dtype("out_dtype", o.out_dtype, gates::INDEX);
    c.count_in("src", &o.src, KEYS as u64..=LONGEST_ROW);
    c.row_and_keys(o);
}

pub(super) fn match_replace8(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_MR>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::REPLACED);
    c.dtype("out_dtype", o.out_dtype, gates::REPLACED);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.count_in("src", &o.src, 1..=LONGEST_ROW);
    c.count("dst", &o.dst, o.src.count());
}

pub(super) fn read_indices(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<D4_MR>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::INDEX);
    c.tensor("dst", &o.dst, OperandUse::write(o.dtype, lanes));
    c.count("dst", &o.dst, KEYS as u64);
    c.value("dst_element_count", o.dst_element_count, o.dst_element_count == KEYS as u32, KEYS);
    c.value("serialization_mode", o.serialization_mode, o.serialization_mode == 0, "0 (serial)");
    c.zero("set_value", o.set_value);
}

impl Checker<'_> {
    fn row_and_keys(&mut self, o: &S4D2_BN) {
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, gates::D12);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.count("dst", &o.dst, KEYS as u64);
        self.value("even_count", o.even_count.value(), o.even_count.0 == 0, "0");
        self.value("odd_count", o.odd_count.value(), o.odd_count.0 == 0, "0");
    }

    /// An immediate that the opcode does not use.
    pub(super) fn zero(&mut self, field: &'static str, value: Imm) {
        self.value(field, value.0, value.0 == 0, "0");
    }
}
