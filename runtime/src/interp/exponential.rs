//! EXPONENTIAL (chapter 05 section 4).

use super::accumulator::Accumulators;
use super::lanes::for_each_stretch;
use super::tensor_scalar_cache::{Operands, resolve};
use super::{Exec, FaultKind, Flow};
use crate::act;
use crate::isa::field::AccumCmd;
use crate::isa::layouts::S3D3_TS;
use crate::isa::{Decoded, Dtype};
use crate::machine::Core;
use crate::num;

/// The activation function that computes e^x.
const EXP: u8 = 7;

/// EXPONENTIAL: `exp(x - imm0)` by the definition of chapter 05 section 3.7, since the tables are those of ACT; the
/// results before the cast are added to the accumulator.
pub fn exponential(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let word = resolve_exponential(x, w)?;
    let Exponential { operands: Operands { src, dst, .. }, from, to, lanes, exp, .. } = word;
    let shifts = word.shifts(x.core());
    let mut accumulators = word.accumulators(x)?;
    let fp8 = x.core().spec.fp8;
    let (mut inputs, mut results) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &[src], &dst, lanes, |lane, sources, out| {
        let n = out.len() / dst.size;
        inputs.resize(n, 0.0);
        results.resize(n, 0.0);
        num::unpack(&sources[0], from, fp8, &mut inputs);
        inputs.iter_mut().for_each(|v| *v -= shifts[lane]);
        exp.eval_row(&inputs, &mut results, 0.0);
        accumulators.fold(lane, |acc| results.iter().fold(acc, |sum, v| sum + v));
        num::pack(&results, to, fp8, out);
    });
    accumulators.store(x);
    Ok(Flow::Next)
}

/// The operands after all checks.
pub fn resolve_exponential(x: &Exec<'_>, w: &Decoded) -> Result<Exponential, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    let operands = resolve(x, w)?;
    let exp = act::by_id(EXP).ok_or_else(|| FaultKind::Internal("no definition of exp".into()))?;
    let lanes = o.num_active_channels.into();
    let word =
        Exponential { operands, from: o.in_dtype, to: o.out_dtype, command: o.accumulator_cmd, lanes, exp };
    match o.accumulator_cmd {
        AccumCmd::IDLE | AccumCmd::ACCUMULATE | AccumCmd::ZERO_ACCUMULATE | AccumCmd::LOAD_ACCUMULATE => {
            Ok(word)
        }
        other => Err(FaultKind::illegal("accumulator_cmd", other.0, "0, 2, 3 or 4")),
    }
}

/// A word whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    /// Tensors and scalars.
    pub operands: Operands,
    /// Datatype of the source.
    pub from: Dtype,
    /// Datatype of the result.
    pub to: Dtype,
    /// What becomes of the accumulators.
    pub command: AccumCmd,
    /// Lanes.
    pub lanes: usize,
    /// The function.
    pub exp: &'static act::Function,
}

impl Exponential {
    /// What is subtracted in every lane.
    pub fn shifts(&self, core: &Core) -> Vec<f32> {
        (0..self.lanes).map(|lane| f32::from_bits(self.operands.scalar.bits(core, lane))).collect()
    }

    /// What the accumulators start from.
    pub(crate) fn accumulators(&self, x: &mut Exec<'_>) -> Result<Accumulators, FaultKind> {
        let Operands { dst, seed, .. } = &self.operands;
        let core = x.core();
        let seed = |lane| seed.as_ref().map_or(0.0, |s| f32::from_bits(s.bits(core, lane)));
        let seeds: Vec<f32> = (0..self.lanes).map(seed).collect();
        Accumulators::start(x, self.command, dst.partition, self.lanes, 0.0, |lane| seeds[lane])
    }
}
