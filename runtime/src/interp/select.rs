//! Selecting words (chapter 04 section 8).

use super::lanes::for_each_stretch;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::S2D2_TS_AS;
use crate::isa::{Data4d, Decoded, Dtype};
use crate::num;

/// The operands of TENSOR_SCALAR_AFFINE_SELECT.
#[derive(Clone, Copy, Debug)]
pub struct AffineSelect {
    /// The tensor.
    pub src: Walk,
    /// Its datatype.
    pub from: Dtype,
    /// The result.
    pub dst: Walk,
    /// Its datatype.
    pub to: Dtype,
    /// Lanes.
    pub lanes: usize,
    /// The mask of lane 0.
    pub mask: Data4d,
    /// Added to the mask in each further lane.
    pub channel_multiplier: i32,
    /// Which masks pass.
    pub passes: Passes,
    /// The fill register.
    pub fill_reg: u8,
}

impl AffineSelect {
    /// The fill register's value in the datatype of the result. Between FP32 cells its bits are written as they are
    /// (00 A14, 03-E19).
    pub fn fill(&self, x: &Exec<'_>) -> Result<u32, FaultKind> {
        let register = x.register("fill_reg", self.fill_reg)?;
        let raw = self.from == Dtype::FP32 && self.to == Dtype::FP32;
        let fp8 = x.machine.cores[x.core].spec.fp8;
        Ok(if raw { register } else { num::from_f32(f32::from_bits(register), self.to, fp8) })
    }
}

/// Which masks pass (section 8.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passes {
    /// Those above zero.
    Positive,
    /// Those not below zero.
    NotNegative,
    /// Zero.
    Zero,
    /// All but zero.
    NotZero,
}

impl Passes {
    /// Whether a mask passes.
    #[inline(always)]
    pub fn test(self, mask: i32) -> bool {
        match self {
            Passes::Positive => mask > 0,
            Passes::NotNegative => mask >= 0,
            Passes::Zero => mask == 0,
            Passes::NotZero => mask != 0,
        }
    }
}

/// The operands of [`affine_select`] after all checks.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<AffineSelect, FaultKind> {
    let o = *x.operands::<S2D2_TS_AS>(w)?;
    let (from, to) = (o.in_out_dtype.low(), o.in_out_dtype.high());
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, from, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, to, lanes, Access::Write)?;
    let passes = match o.fill_mode {
        0 => Passes::Positive,
        1 => Passes::NotNegative,
        2 => Passes::Zero,
        3 => Passes::NotZero,
        other => return Err(FaultKind::illegal("fill_mode", other, "0 to 3")),
    };
    x.register("fill_reg", o.fill_reg)?;
    let (mask, channel_multiplier) = (o.mask, o.channel_multiplier);
    let (lanes, fill_reg) = (lanes.into(), o.fill_reg);
    Ok(AffineSelect { src, from, dst, to, lanes, mask, channel_multiplier, passes, fill_reg })
}

/// TENSOR_SCALAR_AFFINE_SELECT (section 8.5): keeps an element where the generated mask passes, else
/// writes the fill register.
pub fn affine_select(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = resolve(x, w)?;
    let fp8 = x.core().spec.fp8;
    let (fill, size) = (o.fill(x)?.to_le_bytes(), o.dst.size);
    let mut values = Vec::new();
    let (mut lane_now, mut k) = (usize::MAX, 0u64);
    for_each_stretch(x.core(), &[o.src], &o.dst, o.lanes, |lane, sources, out| {
        if lane != lane_now {
            (lane_now, k) = (lane, 0);
        }
        if o.from == o.to {
            out.copy_from_slice(&sources[0]);
        } else {
            values.resize(out.len() / size, 0.0);
            num::unpack(&sources[0], o.from, fp8, &mut values);
            num::pack(&values, o.to, fp8, out);
        }
        for element in out.chunks_exact_mut(size) {
            if !o.passes.test(mask(&o.mask, k, lane, o.channel_multiplier)) {
                element.copy_from_slice(&fill[..size]);
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
