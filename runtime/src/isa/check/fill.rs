//! Rules of MEMSET (chapter 05 section 6.3).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::layouts::D4_MR;

pub(super) fn memset(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<D4_MR>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::D13);
    c.tensor("dst", &o.dst, OperandUse::write(o.dtype, lanes));
    c.value("serialization_mode", o.serialization_mode, o.serialization_mode == 0, "0 (serial)");
    let count = o.dst.count();
    if count != 0 && u64::from(o.dst_element_count) != count {
        c.report(rules::ELEMENT_COUNT, "dst_element_count", o.dst_element_count, count);
    }
    let bits = 8 * o.dtype.bytes() as u32;
    if (1..32).contains(&bits) && o.set_value.0 >> bits != 0 {
        let expected = format_args!("{bits} bits of {}", o.dtype.text());
        c.report(rules::FILL_VALUE, "set_value", format_args!("{:#x}", o.set_value.0), expected);
    }
}
