//! Affine index generators (chapter 04 sections 8.5 and 9).

use super::lanes::for_each_stretch;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::D4_IOTA;
use crate::isa::{Data4d, Decoded};
use crate::num;

/// Element `k` of lane `lane` of an affine generator, wrapping at 32 bits.
pub(super) fn value(generator: &Data4d, k: u64, lane: usize, channel_multiplier: i32) -> i32 {
    let mut rest = k;
    let mut value = generator.base.wrapping_add(channel_multiplier.wrapping_mul(lane as i32));
    for (num, step) in generator.num.iter().zip(generator.step) {
        let num = u64::from(*num).max(1);
        value = value.wrapping_add(((rest % num) as i32).wrapping_mul(step.into()));
        rest /= num;
    }
    value
}

/// IOTA (section 9): stores the generated numbers. Integer types take their low bits (decision 04-I1), float
/// types the number rounded to fp32 and then to the type.
pub fn iota(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<D4_IOTA>(w)?;
    let dst = resolve(x, w)?;
    let fp8 = x.core().spec.fp8;
    let (mut integers, mut floats) = (Vec::new(), Vec::new());
    let mut k = 0;
    for_each_stretch(x.core(), &[], &dst, o.num_active_channels.into(), |lane, _, out| {
        integers.clear();
        for _ in 0..out.len() / dst.size {
            integers.push(value(&o.generator, k, lane, o.channel_multiplier));
            k = (k + 1) % dst.count as u64;
        }
        if o.out_dtype.is_integer() {
            for (element, v) in out.chunks_exact_mut(dst.size).zip(&integers) {
                element.copy_from_slice(&i64::from(*v).to_le_bytes()[..dst.size]);
            }
        } else {
            floats.clear();
            floats.extend(integers.iter().map(|v| *v as f32));
            num::pack(&floats, o.out_dtype, fp8, out);
        }
    });
    Ok(Flow::Next)
}

/// The destination of [`iota`] after all checks of its address.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Walk, FaultKind> {
    let o = x.operands::<D4_IOTA>(w)?;
    x.tensor("dst", &o.dst, o.out_dtype, o.num_active_channels, Access::Write)
}
