//! A tensor and up to two scalars (chapter 04 section 4).

use super::lanes::for_each_stretch;
use super::tensor_tensor::unsupported;
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::layouts::S3D3_TS;
use crate::isa::{AluOp, Decoded, Dtype, PARTITIONS};
use crate::num::{self, Rhs};

/// TENSOR_SCALAR_ARITH_OP (section 4.2): dst = cast(op1(op0(x, s0), s1)), each operator rounding to fp32,
/// operands exchanged as `reverse_operands` says.
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = resolve(x, w)?;
    let [(op0, reverse0), (op1, reverse1)] = o.operators;
    let [imm0, imm1] = o.scalars;
    let fp8 = x.core().spec.fp8;
    let core = x.core();
    // All scalars are fetched before the stream starts (section 2.5).
    let fetch = |lane: usize| {
        let value = |s: &LaneScalar| f32::from_bits(s.bits(core, lane));
        (imm0.as_ref().map_or(0.0, value), imm1.as_ref().map(value))
    };
    let scalars: Vec<(f32, Option<f32>)> = (0..o.lanes.min(PARTITIONS)).map(fetch).collect();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &[o.src], &o.dst, o.lanes, |lane, sources, result| {
        let n = result.len() / o.dst.size;
        a.resize(n, 0.0);
        b.resize(n, 0.0);
        num::unpack(&sources[0], o.in_dtype, fp8, &mut a);
        let (s0, s1) = scalars[lane];
        let mut done = num::map2(op0, &a, Rhs::Scalar(s0), reverse0, &mut b);
        if let Some(s1) = s1 {
            done = done.and(num::map2(op1, &b, Rhs::Scalar(s1), reverse1, &mut a));
        }
        debug_assert!(done.is_ok(), "the operators were tried when the operands were resolved");
        num::pack(if s1.is_some() { &a } else { &b }, o.out_dtype, fp8, result);
    });
    Ok(Flow::Next)
}

/// The operands of a tensor-scalar word.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// The tensor.
    pub src: Walk,
    /// Its datatype.
    pub in_dtype: Dtype,
    /// The result.
    pub dst: Walk,
    /// Its datatype.
    pub out_dtype: Dtype,
    /// Lanes.
    pub lanes: usize,
    /// The operators, and whether each exchanges its operands.
    pub operators: [(AluOp, bool); 2],
    /// The scalars of the two operators; a second operator BYPASS reads none.
    pub scalars: [Option<LaneScalar>; 2],
}

/// The operands of [`arith`] after all checks.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let imm0 = x.scalar("imm0", o.imm0_src, o.imm0, Dtype::FP32, lanes)?;
    let second = o.op1 != AluOp::BYPASS;
    let imm1 = if second { Some(x.scalar("imm1", o.imm1_src, o.imm1, Dtype::FP32, lanes)?) } else { None };
    for op in [o.op0, o.op1] {
        num::eval_f32(op, 0.0, 0.0).map_err(unsupported)?;
    }
    let (reverse0, reverse1) = (o.reverse_operands.0 & 1 == 1, o.reverse_operands.0 & 2 == 2);
    Ok(Operands {
        src,
        in_dtype: o.in_dtype,
        dst,
        out_dtype: o.out_dtype,
        lanes: lanes.into(),
        operators: [(o.op0, reverse0), (o.op1, reverse1)],
        scalars: [Some(imm0), imm1],
    })
}
