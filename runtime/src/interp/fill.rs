//! MEMSET (chapter 05 section 6.3).

use super::lanes::{CHUNK, for_each_stretch};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::Decoded;
use crate::isa::layouts::D4_MR;

/// MEMSET: every element of the destination becomes the low bytes of `set_value`.
pub fn memset(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<D4_MR>(w)?;
    let dst = resolve(x, w)?;
    let element = u64::from(o.set_value.0).to_le_bytes();
    let stretch = element[..dst.size].repeat(CHUNK.min(dst.count));
    for_each_stretch(x.core(), &[], &dst, o.num_active_channels.into(), |_, _, out| {
        out.copy_from_slice(&stretch[..out.len()]);
    });
    Ok(Flow::Next)
}

/// The destination of [`memset`] after all checks of its address.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Walk, FaultKind> {
    let o = x.operands::<D4_MR>(w)?;
    x.tensor("dst", &o.dst, o.dtype, o.num_active_channels, Access::Write)
}
