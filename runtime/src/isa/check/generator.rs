//! Rules of IOTA, and of generated patterns (chapter 04 section 9).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::Data4d;
use crate::isa::layouts::D4_IOTA;

/// Byte of the counts in a generated pattern.
const COUNTS: usize = 12;

pub(super) fn iota(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<D4_IOTA>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("out_dtype", o.out_dtype, gates::D13);
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.generator("generator", &o.generator, o.dst.count());
}

impl Checker<'_> {
    /// Counts of a generated pattern.
    pub(super) fn generator(&mut self, field: &'static str, pattern: &Data4d, expected: u64) {
        for (d, _) in pattern.num.iter().enumerate().filter(|(_, n)| **n == 0) {
            self.report_in(rules::COUNT_ZERO, field, COUNTS + 2 * d, 0, "at least 1");
        }
        let count: u64 = pattern.num.iter().map(|n| u64::from(*n)).product();
        if count != 0 && expected != 0 && count != expected {
            self.report_in(rules::ELEMENT_COUNT, field, COUNTS, count, expected);
        }
    }
}
