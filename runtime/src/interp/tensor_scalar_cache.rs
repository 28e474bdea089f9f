//! A tensor, a scalar and the reduce accumulator (chapter 04 sections 4.5 and 4.6).

use super::accumulator::Accumulators;
use super::lanes::for_each_stretch;
use super::tensor_tensor::unsupported;
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::field::AccumCmd;
use crate::isa::layouts::S3D3_TS;
use crate::isa::{Decoded, Dtype};
use crate::num::{self, Rhs};

/// TENSOR_SCALAR_CACHE_REDUCE (section 4.5): stores `op0(x, s0)` and folds the same values, before the cast, into
/// the accumulator: `acc = op1(value, acc)` (decision 04-R1).
pub fn reduce(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    cached(x, w, false)
}

/// TENSOR_SCALAR_CACHE_CUMULATIVE (section 4.6): the same fold; stores the accumulator after every element.
pub fn cumulative(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    cached(x, w, true)
}

fn cached(x: &mut Exec<'_>, w: &Decoded, cumulative: bool) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    let Operands { src, dst, scalar, seed } = resolve(x, w)?;
    num::eval_f32(o.op0, 0.0, 0.0).map_err(unsupported)?;
    num::accumulate_row(o.op1, 0.0, &[]).map_err(unsupported)?;
    if o.accumulator_cmd == AccumCmd::IDLE {
        return Err(FaultKind::illegal("accumulator_cmd", "IDLE", "an accumulating command"));
    }
    let lanes = usize::from(o.num_active_channels);
    let core = x.core();
    let float = |s: &LaneScalar, lane| f32::from_bits(s.bits(core, lane));
    let scalars: Vec<f32> = (0..lanes).map(|lane| float(&scalar, lane)).collect();
    let seeds: Vec<f32> = (0..lanes).map(|lane| seed.as_ref().map_or(0.0, |s| float(s, lane))).collect();
    let identity = num::fold_identity(o.op1).unwrap_or(0.0);
    let first = dst.partition;
    let mut accumulators =
        Accumulators::start(x, o.accumulator_cmd, first, lanes, identity, |lane| seeds[lane])?;
    let fp8 = x.core().spec.fp8;
    let (mut a, mut values) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &[src], &dst, lanes, |lane, sources, out| {
        let n = out.len() / dst.size;
        a.resize(n, 0.0);
        values.resize(n, 0.0);
        num::unpack(&sources[0], o.in_dtype, fp8, &mut a);
        let done = num::map2(o.op0, &a, Rhs::Scalar(scalars[lane]), false, &mut values);
        debug_assert!(done.is_ok(), "the operator was tried above");
        if cumulative {
            accumulators.fold(lane, |acc| num::accumulate_scan(o.op1, acc, &values, &mut a).unwrap_or(acc));
            num::pack(&a, o.out_dtype, fp8, out);
        } else {
            accumulators.fold(lane, |acc| num::accumulate_row(o.op1, acc, &values).unwrap_or(acc));
            num::pack(&values, o.out_dtype, fp8, out);
        }
    });
    accumulators.store(x);
    Ok(Flow::Next)
}

/// The operands of a caching word.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// The tensor.
    pub src: Walk,
    /// The result.
    pub dst: Walk,
    /// Of the first operator.
    pub scalar: LaneScalar,
    /// What LOAD_ACCUMULATE starts from.
    pub seed: Option<LaneScalar>,
}

/// The operands after all checks of their addresses.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let scalar = x.scalar("imm0", o.imm0_src, o.imm0, Dtype::FP32, lanes)?;
    let seed = match o.accumulator_cmd {
        AccumCmd::LOAD_ACCUMULATE => Some(x.scalar("imm1", o.imm1_src, o.imm1, Dtype::FP32, lanes)?),
        _ => None,
    };
    Ok(Operands { src, dst, scalar, seed })
}
