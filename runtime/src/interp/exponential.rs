//! EXPONENTIAL (chapter 05 section 4).

use super::accumulator::Accumulators;
use super::lanes::for_each_stretch;
use super::tensor_scalar_cache::{Operands, resolve};
use super::{Exec, FaultKind, Flow};
use crate::act;
use crate::isa::Decoded;
use crate::isa::layouts::S3D3_TS;
use crate::num;

/// The activation function that computes e^x.
const EXP: u8 = 7;

/// EXPONENTIAL: `exp(x - imm0)` by the definition of chapter 05 section 3.7, since the tables are those of ACT; the
/// results before the cast are added to the accumulator.
pub fn exponential(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    let Operands { src, dst, scalar, seed } = resolve(x, w)?;
    let Some(exp) = act::by_id(EXP) else {
        return Err(FaultKind::Internal("no definition of exp".into()));
    };
    let lanes = usize::from(o.num_active_channels);
    let core = x.core();
    let values = |lane: usize| {
        let float = |bits| f32::from_bits(bits);
        (float(scalar.bits(core, lane)), seed.as_ref().map_or(0.0, |s| float(s.bits(core, lane))))
    };
    let scalars: Vec<(f32, f32)> = (0..lanes).map(values).collect();
    let mut accumulators =
        Accumulators::start(x, o.accumulator_cmd, dst.partition, lanes, 0.0, |lane| scalars[lane].1)?;
    let fp8 = x.core().spec.fp8;
    let (mut inputs, mut results) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &[src], &dst, lanes, |lane, sources, out| {
        let n = out.len() / dst.size;
        inputs.resize(n, 0.0);
        results.resize(n, 0.0);
        num::unpack(&sources[0], o.in_dtype, fp8, &mut inputs);
        inputs.iter_mut().for_each(|v| *v -= scalars[lane].0);
        exp.eval_row(&inputs, &mut results, 0.0);
        accumulators.fold(lane, |acc| results.iter().fold(acc, |sum, v| sum + v));
        num::pack(&results, o.out_dtype, fp8, out);
    });
    accumulators.store(x);
    Ok(Flow::Next)
}
