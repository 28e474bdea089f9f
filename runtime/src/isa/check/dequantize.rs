//! Rules of TENSOR_DEQUANTIZE (chapter 06 section 9.1).

use super::address::OperandUse;
use super::{Checker, gates};
use crate::interp::dequantize::{CodeFormat, GROUP};
use crate::isa::Space;
use crate::isa::layouts::S3D3_TENS_DEQUANT;

pub(super) fn dequantize(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_TENS_DEQUANT>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::U32);
    c.dtype("out_dtype", o.out_dtype, gates::U32);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes).only(Space::Sbuf));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes).only(Space::Sbuf));
    let format = CodeFormat::find(o.dequant_fmt);
    c.value("dequant_fmt", o.dequant_fmt, format.is_some(), "1 to 4");
    let Some(format) = format else { return };
    let grouped = usize::from(o.group_size) == GROUP;
    let legal = o.group_size == 0 || (grouped && format.bits == 4);
    c.value("group_size", o.group_size, legal, if format.bits == 4 { "0 or 8" } else { "0" });
    let (from, to) = format.ratio(grouped);
    let (words, unit) = (o.src.count(), from as u64);
    if !words.is_multiple_of(unit) {
        c.report_count("src", &o.src, format_args!("a multiple of {from}"));
    } else {
        c.count("dst", &o.dst, words / unit * to as u64);
    }
}
