//! Selecting words (chapter 04 section 8).

use super::accumulator::Accumulators;
use super::generator;
use super::lanes::for_each_stretch;
use super::scalar_tensor_tensor as stt;
use super::tensor_tensor::unsupported;
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::field::{AccumCmd, ReverseOps};
use crate::isa::layouts::{S2D2_RS, S2D2_TS_AS, S2S2D2_STT, S3D3_TS_SELECT};
use crate::isa::{AluOp, Data4d, Decoded, Dtype};
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
            if !o.passes.test(generator::value(&o.mask, k, lane, o.channel_multiplier)) {
                element.copy_from_slice(&fill[..size]);
            }
            k += 1;
        }
    });
    Ok(Flow::Next)
}

/// TENSOR_SCALAR_SELECT (section 8.4): raw bits of the tensor where the lane's predicate holds, of the scalar
/// elsewhere.
pub fn tensor_scalar_select(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_TS_SELECT>(w)?;
    let lanes = usize::from(o.num_active_channels);
    let TensorScalar { src, dst, scalar, predicate } = resolve_tensor_scalar(x, w)?;
    let core = x.core();
    let choices: Vec<(bool, [u8; 4])> = (0..lanes)
        .map(|lane| {
            let holds = (predicate.bits(core, lane) != 0) != (o.reversed_pred != 0);
            (holds, scalar.bits(core, lane).to_le_bytes())
        })
        .collect();
    for_each_stretch(x.core(), &[src], &dst, lanes, |lane, sources, out| {
        let (holds, scalar) = choices[lane];
        if holds {
            out.copy_from_slice(&sources[0]);
        } else {
            out.chunks_exact_mut(dst.size).for_each(|e| e.copy_from_slice(&scalar[..dst.size]));
        }
    });
    Ok(Flow::Next)
}

/// The operands of [`tensor_scalar_select`].
#[derive(Clone, Copy, Debug)]
pub struct TensorScalar {
    /// Taken where the predicate holds.
    pub src: Walk,
    /// The result.
    pub dst: Walk,
    /// Taken where it does not.
    pub scalar: LaneScalar,
    /// One integer a lane.
    pub predicate: LaneScalar,
}

/// The operands of [`tensor_scalar_select`] after all checks of their addresses.
pub fn resolve_tensor_scalar(x: &Exec<'_>, w: &Decoded) -> Result<TensorScalar, FaultKind> {
    let o = *x.operands::<S3D3_TS_SELECT>(w)?;
    let lanes = o.num_active_channels;
    Ok(TensorScalar {
        src: x.tensor("src0", &o.src0, o.dtype, lanes, Access::Read)?,
        dst: x.tensor("dst", &o.dst, o.dtype, lanes, Access::Write)?,
        scalar: x.scalar("src1_imm", o.src1_imm_src, o.src1_imm, o.dtype, lanes)?,
        predicate: x.scalar("pred_imm", o.pred_imm_src, o.pred_imm, o.pred_imm_dtype, lanes)?,
    })
}

/// RANGE_SELECT (section 8.3): keeps elements whose index satisfies two compares, the rest becomes the fill
/// value; the maximum of the results before the cast goes to the accumulator.
pub fn range_select(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2D2_RS>(w)?;
    let (from, to) = (o.in_out_dtype.low(), o.in_out_dtype.high());
    let lanes = usize::from(o.num_active_channels);
    let Range { src, dst, bounds } = resolve_range(x, w)?;
    for op in [o.comp_op0, o.comp_op1] {
        num::eval_f32(op, 0.0, 0.0).map_err(unsupported)?;
    }
    let core = x.core();
    let bounds: Vec<[f32; 2]> =
        (0..lanes).map(|lane| bounds.map(|b| f32::from_bits(b.bits(core, lane)))).collect();
    let mut accumulators =
        Accumulators::start(x, o.reduce_cmd, dst.partition, lanes, f32::NEG_INFINITY, |_| 0.0)?;
    let fp8 = x.core().spec.fp8;
    let holds = |op, index, bound| num::eval_f32(op, index, bound).is_ok_and(|v| v != 0.0);
    let mut values = Vec::new();
    let mut k = 0;
    for_each_stretch(x.core(), &[src], &dst, lanes, |lane, sources, out| {
        values.resize(out.len() / dst.size, 0.0);
        num::unpack(&sources[0], from, fp8, &mut values);
        for value in &mut values {
            // Whole numbers up to 2^24: exact, unless the base has a fraction (decision 04-G1).
            let index = o.base.value() + k as f32;
            let [bound0, bound1] = bounds[lane];
            if !(holds(o.comp_op0, index, bound0) && holds(o.comp_op1, index, bound1)) {
                *value = o.fill_val.value();
            }
            k = (k + 1) % src.count;
        }
        accumulators.fold(lane, |acc| num::fold_row(AluOp::MAX, acc, &values).unwrap_or(acc));
        num::pack(&values, to, fp8, out);
    });
    accumulators.store(x);
    Ok(Flow::Next)
}

/// The operands of [`range_select`].
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The tensor.
    pub src: Walk,
    /// The result.
    pub dst: Walk,
    /// What the index is compared with.
    pub bounds: [LaneScalar; 2],
}

/// The operands of [`range_select`] after all checks of their addresses.
pub fn resolve_range(x: &Exec<'_>, w: &Decoded) -> Result<Range, FaultKind> {
    let o = *x.operands::<S2D2_RS>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_out_dtype.low(), lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.in_out_dtype.high(), lanes, Access::Write)?;
    let bound0 = x.scalar("bound0", o.bound0_src, o.bound0, Dtype::FP32, lanes)?;
    let bound1 = x.scalar("bound1", o.bound1_src, o.bound1, Dtype::FP32, lanes)?;
    not_seeded("reduce_cmd", o.reduce_cmd)?;
    Ok(Range { src, dst, bounds: [bound0, bound1] })
}

/// SELECT_REDUCE (section 5.3): `src1` where the predicate `src0` holds, else the scalar; the maximum of the results
/// before the cast goes to the accumulator.
pub fn select_reduce(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2S2D2_STT>(w)?;
    let stt::Operands { sources, dst, scalar } = stt::resolve(x, w, stt::Class::Float)?;
    not_seeded("accumulator_cmd", o.accumulator_cmd)?;
    let (fp8, lanes) = (x.core().spec.fp8, usize::from(o.num_active_channels));
    // The flag of the first operator reverses the predicate (decision 04-X2).
    let wanted = o.reverse_operands != ReverseOps::FIRST;
    let otherwise = stt::float_scalars(x, &o, &scalar);
    let mut accumulators =
        Accumulators::start(x, o.accumulator_cmd, dst.partition, lanes, f32::NEG_INFINITY, |_| 0.0)?;
    let (mut predicate, mut values) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &sources, &dst, lanes, |lane, packed, out| {
        let n = out.len() / dst.size;
        predicate.resize(n, 0);
        values.resize(n, 0.0);
        num::unpack_bits(&packed[0], sources[0].size, &mut predicate);
        num::unpack(&packed[1], o.src_dtype.high(), fp8, &mut values);
        for (value, predicate) in values.iter_mut().zip(&predicate) {
            if (*predicate != 0) != wanted {
                *value = otherwise[lane];
            }
        }
        accumulators.fold(lane, |acc| num::fold_row(AluOp::MAX, acc, &values).unwrap_or(acc));
        num::pack(&values, o.out_dtype, fp8, out);
    });
    accumulators.store(x);
    Ok(Flow::Next)
}

/// Selecting words have no seed for LOAD_ACCUMULATE.
fn not_seeded(field: &'static str, command: AccumCmd) -> Result<(), FaultKind> {
    match command {
        AccumCmd::IDLE | AccumCmd::ACCUMULATE | AccumCmd::ZERO_ACCUMULATE => Ok(()),
        other => Err(FaultKind::illegal(field, other.0, "0, 2 or 3")),
    }
}
