//! A scalar and two tensors (chapter 04 sections 5 and 5.1).

use super::accumulator::Accumulators;
use super::lanes::for_each_stretch;
use super::tensor_tensor::unsupported;
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::field::ImmSrc;
use crate::isa::layouts::S2S2D2_STT;
use crate::isa::{Decoded, Dtype};
use crate::num::{self, Rhs};

/// SCALAR_TENSOR_TENSOR_ARITH (section 5.1): `dst = cast(op1(op0(src0, s), src1))`, each operator rounding to
/// fp32. An accumulating word adds up the results before the cast (decision 04-X1).
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2S2D2_STT>(w)?;
    let Operands { sources, dst, scalar } = resolve(x, w, Class::Float)?;
    for op in [o.op0, o.op1] {
        num::eval_f32(op, 0.0, 0.0).map_err(unsupported)?;
    }
    let [reverse0, reverse1] = reversed(&o);
    let (fp8, lanes) = (x.core().spec.fp8, usize::from(o.num_active_channels));
    let scalars = float_scalars(x, &o, &scalar);
    let mut accumulators =
        Accumulators::start(x, o.accumulator_cmd, dst.partition, lanes, 0.0, |lane| scalars[lane])?;
    let (mut a, mut b, mut t) = (Vec::new(), Vec::new(), Vec::new());
    for_each_stretch(x.core(), &sources, &dst, lanes, |lane, packed, out| {
        let n = out.len() / dst.size;
        for row in [&mut a, &mut b, &mut t] {
            row.resize(n, 0.0);
        }
        num::unpack(&packed[0], o.src_dtype.low(), fp8, &mut a);
        num::unpack(&packed[1], o.src_dtype.high(), fp8, &mut b);
        let done = num::map2(o.op0, &a, Rhs::Scalar(scalars[lane]), reverse0, &mut t).and(num::map2(
            o.op1,
            &t,
            Rhs::Row(&b),
            reverse1,
            &mut a,
        ));
        debug_assert!(done.is_ok(), "the operators were tried above");
        accumulators.fold(lane, |acc| a.iter().fold(acc, |sum, v| sum + v));
        num::pack(&a, o.out_dtype, fp8, out);
    });
    accumulators.store(x);
    Ok(Flow::Next)
}

/// SCALAR_TENSOR_TENSOR_BITVEC (section 5.1): the same on raw bits of one integer type.
pub fn bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2S2D2_STT>(w)?;
    let Operands { sources, dst, scalar } = resolve(x, w, Class::Bits)?;
    let width = 8 * dst.size as u32;
    for op in [o.op0, o.op1] {
        num::eval_bitvec(op, 0, 0, width).map_err(unsupported)?;
    }
    let [reverse0, reverse1] = reversed(&o);
    let lanes = usize::from(o.num_active_channels);
    let core = x.core();
    let scalars: Vec<u64> = (0..lanes).map(|lane| scalar.bits(core, lane).into()).collect();
    let (mut a, mut b, mut t) = (Vec::new(), Vec::new(), Vec::new());
    for_each_stretch(x.core(), &sources, &dst, lanes, |lane, packed, out| {
        let n = out.len() / dst.size;
        for row in [&mut a, &mut b, &mut t] {
            row.resize(n, 0);
        }
        num::unpack_bits(&packed[0], sources[0].size, &mut a);
        num::unpack_bits(&packed[1], sources[1].size, &mut b);
        let done = num::map2_bits(o.op0, &a, Rhs::Scalar(scalars[lane]), width, reverse0, &mut t)
            .and(num::map2_bits(o.op1, &t, Rhs::Row(&b), width, reverse1, &mut a));
        debug_assert!(done.is_ok(), "the operators were tried above");
        num::pack_bits(&a, dst.size, out);
    });
    Ok(Flow::Next)
}

/// What a word of this struct computes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// FP32; an inline scalar is FP32.
    Float,
    /// Raw bits; an inline scalar is too.
    Bits,
}

/// The operands of a word of this struct.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// The two tensors.
    pub sources: [Walk; 2],
    /// The result.
    pub dst: Walk,
    /// The scalar.
    pub scalar: LaneScalar,
}

/// The operands after all checks of their addresses.
pub fn resolve(x: &Exec<'_>, w: &Decoded, class: Class) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S2S2D2_STT>(w)?;
    let lanes = o.num_active_channels;
    let src0 = x.tensor("src0", &o.src0, o.src_dtype.low(), lanes, Access::Read)?;
    let src1 = x.tensor("src1", &o.src1, o.src_dtype.high(), lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let inline = class == Class::Float && o.imm0_src == ImmSrc::INSTRUCTION;
    let dtype = if inline { Dtype::FP32 } else { o.imm0_dtype };
    let scalar = x.scalar("imm0", o.imm0_src, o.imm0, dtype, lanes)?;
    Ok(Operands { sources: [src0, src1], dst, scalar })
}

/// Whether each operator takes its operands exchanged.
pub fn reversed(o: &S2S2D2_STT) -> [bool; 2] {
    [o.reverse_operands.0 & 1 == 1, o.reverse_operands.0 & 2 == 2]
}

/// The scalar of each lane in class FP, read before the stream starts (section 2.5).
pub(crate) fn float_scalars(x: &mut Exec<'_>, o: &S2S2D2_STT, scalar: &LaneScalar) -> Vec<f32> {
    let fp8 = x.core().spec.fp8;
    let dtype = if o.imm0_src == ImmSrc::INSTRUCTION { Dtype::FP32 } else { o.imm0_dtype };
    let core = x.core();
    (0..usize::from(o.num_active_channels))
        .map(|lane| num::to_f32(scalar.bits(core, lane), dtype, fp8))
        .collect()
}
