//! Rules of TENSOR_SCALAR_AFFINE_SELECT (chapter 04 section 8.5).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::layouts::S2D2_TS_AS;
use crate::isa::{Generation, Space};

/// Byte of the counts in a generated pattern.
const GENERATOR_COUNTS: usize = 12;

pub(super) fn affine_select(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2D2_TS_AS>() else { return };
    let (in_dtype, out_dtype) = (o.in_out_dtype.low(), o.in_out_dtype.high());
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_out_dtype", in_dtype, gates::D12);
    c.dtype("in_out_dtype", out_dtype, gates::D13);
    c.value("fill_mode", o.fill_mode, o.fill_mode <= 3, "0..3");
    c.register_number("fill_reg", 0, o.fill_reg);

    let reach = |operand: OperandUse| match c.cx.generation {
        Generation::Sunda => operand,
        _ => operand.only(Space::Sbuf),
    };
    let (src, dst) = (reach(OperandUse::read(in_dtype, lanes)), reach(OperandUse::write(out_dtype, lanes)));
    c.tensor("src", &o.src, src);
    c.tensor("dst", &o.dst, dst);
    c.count("dst", &o.dst, o.src.count());

    for (d, _) in o.mask.num.iter().enumerate().filter(|(_, n)| **n == 0) {
        c.report_in(rules::COUNT_ZERO, "mask", GENERATOR_COUNTS + 2 * d, 0, "at least 1");
    }
    let mask: u64 = o.mask.num.iter().map(|n| u64::from(*n)).product();
    let count = o.src.count();
    if mask != 0 && count != 0 && mask != count {
        c.report_in(rules::ELEMENT_COUNT, "mask", GENERATOR_COUNTS, mask, count);
    }
}
