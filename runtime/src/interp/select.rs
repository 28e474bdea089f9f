//! Selecting words (chapter 04 section 8).

use super::lanes::for_each_stretch;
use super::{Access, Exec, FaultKind, Flow};
use crate::isa::layouts::S2D2_TS_AS;
use crate::isa::{Data4d, Decoded, Dtype};
use crate::num;

/// TENSOR_SCALAR_AFFINE_SELECT (section 8.5): keeps an element where the generated mask passes, else
/// writes the fill register.
pub fn affine_select(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2D2_TS_AS>(w)?;
    let (from, to) = (o.in_out_dtype.low(), o.in_out_dtype.high());
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, from, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, to, lanes, Access::Write)?;
    let passes: fn(i32) -> bool = match o.fill_mode {
        0 => |m| m > 0,
        1 => |m| m >= 0,
        2 => |m| m == 0,
        3 => |m| m != 0,
        other => return Err(FaultKind::illegal("fill_mode", other, "0 to 3")),
    };
    let fp8 = x.core().spec.fp8;
    let register = x.register("fill_reg", o.fill_reg)?;
    // Between FP32 cells the register's bits are written as they are (00 A14, 03-E19).
    let raw_fill = from == Dtype::FP32 && to == Dtype::FP32;
    let fill = if raw_fill { register } else { num::from_f32(f32::from_bits(register), to, fp8) };
    let fill = fill.to_le_bytes();
    let mut values = Vec::new();
    let (mut lane_now, mut k) = (usize::MAX, 0u64);
    for_each_stretch(x.core(), &[src], &dst, lanes.into(), |lane, sources, out| {
        if lane != lane_now {
            (lane_now, k) = (lane, 0);
        }
        if from == to {
            out.copy_from_slice(&sources[0]);
        } else {
            values.resize(out.len() / to.bytes(), 0.0);
            num::unpack(&sources[0], from, fp8, &mut values);
            num::pack(&values, to, fp8, out);
        }
        for element in out.chunks_exact_mut(to.bytes()) {
            if !passes(mask(&o.mask, k, lane, o.channel_multiplier)) {
                element.copy_from_slice(&fill[..to.bytes()]);
            }
            k += 1;
        }
    });
    Ok(Flow::Next)
}

/// Element `k` of lane `lane` of an affine generator, wrapping at 32 bits.
fn mask(generator: &Data4d, k: u64, lane: usize, channel_multiplier: i32) -> i32 {
    let mut rest = k;
    let mut value = generator.base.wrapping_add(channel_multiplier.wrapping_mul(lane as i32));
    for (num, step) in generator.num.iter().zip(generator.step) {
        let num = u64::from(*num).max(1);
        value = value.wrapping_add(((rest % num) as i32).wrapping_mul(step.into()));
        rest /= num;
    }
    value
}
