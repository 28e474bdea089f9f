//! Rules of the forward batch-norm words (chapter 05 sections 5.1 to 5.3).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::field::F32;
use crate::isa::layouts::{CTRL_IM, S4D2_BN};

pub(super) fn load_parameter_ram(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_IM>() else { return };
    c.value("imm_ptr_select", o.imm_ptr_select, o.imm_ptr_select == 0, "0");
}

pub(super) fn stats(c: &mut Checker<'_>) {
    c.statistics(256, 3);
}

pub(super) fn stats2(c: &mut Checker<'_>) {
    c.statistics(512, 6);
}

pub(super) fn transpose_stats2(c: &mut Checker<'_>) {
    c.statistics(512, 6);
    let Some(o) = c.operands::<S4D2_BN>() else { return };
    c.tiles(o.num_active_channels, o.src.count());
}

pub(super) fn aggregate(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D2_BN>() else { return };
    c.moments(o, 2);
    if !o.src.count().is_multiple_of(3) {
        c.report(rules::ELEMENT_COUNT, "src", o.src.count(), "triples");
    }
    for (field, count) in [("even_count", o.even_count), ("odd_count", o.odd_count)] {
        c.value(field, count.value(), count == F32(0), "0");
    }
}

impl Checker<'_> {
    /// Lanes, dtypes and tensors of a word with this struct.
    fn moments(&mut self, o: &S4D2_BN, results: u64) {
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, gates::D12);
        self.dtype("out_dtype", o.out_dtype, gates::BIAS);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.count("dst", &o.dst, results);
    }

    fn statistics(&mut self, most: u64, results: u64) {
        let Some(o) = self.operands::<S4D2_BN>() else { return };
        self.moments(o, results);
        if o.src.count() > most {
            self.report(rules::ELEMENT_COUNT, "src", o.src.count(), format_args!("1..{most}"));
        }
        for (field, count) in [("even_count", o.even_count), ("odd_count", o.odd_count)] {
            self.value(field, count.value(), count.value().is_finite(), "a finite count");
        }
    }
}
