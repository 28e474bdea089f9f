//! The reduce accumulators of DVE (chapter 04 section 2.6).

use super::lanes::for_each_stretch;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::AccumCmd;
use crate::isa::layouts::D1_RD;
use crate::isa::{Decoded, PARTITIONS};
use crate::num;

/// The accumulators of a word's lanes while it runs. They belong to the partitions of the destination (chapter 00
/// A14).
pub(crate) struct Accumulators {
    first: usize,
    idle: bool,
    values: Vec<f32>,
}

impl Accumulators {
    /// What each lane starts from: its accumulator, the identity of the fold, or `seed(lane)`.
    pub fn start(
        x: &mut Exec<'_>,
        command: AccumCmd,
        first: usize,
        lanes: usize,
        identity: f32,
        seed: impl Fn(usize) -> f32,
    ) -> Result<Self, FaultKind> {
        let kept = &x.core().dve.accumulator;
        let value = |lane: usize| match command {
            AccumCmd::ZERO_ACCUMULATE => identity,
            AccumCmd::LOAD_ACCUMULATE => seed(lane),
            _ => kept[first + lane],
        };
        match command {
            AccumCmd::IDLE | AccumCmd::ACCUMULATE | AccumCmd::ZERO_ACCUMULATE | AccumCmd::LOAD_ACCUMULATE => {
                Ok(Accumulators {
                    first,
                    idle: command == AccumCmd::IDLE,
                    values: (0..lanes).map(value).collect(),
                })
            }
            other => Err(FaultKind::illegal("accumulator_cmd", other.0, "0, 2, 3 or 4")),
        }
    }

    /// Replaces a lane's accumulator by `fold(accumulator)`; IDLE leaves it alone.
    pub fn fold(&mut self, lane: usize, fold: impl FnOnce(f32) -> f32) {
        if !self.idle {
            self.values[lane] = fold(self.values[lane]);
        }
    }

    /// The accumulators of all lanes, for more of them at once than [`fold`](Self::fold) does; `None` for IDLE.
    pub fn lanes(&mut self) -> Option<&mut [f32]> {
        (!self.idle).then_some(&mut self.values[..])
    }

    /// Keeps the results for the words that follow.
    pub fn store(self, x: &mut Exec<'_>) {
        let kept = &mut x.core().dve.accumulator[self.first..];
        for (kept, value) in kept.iter_mut().zip(self.values) {
            *kept = num::canonical(value);
        }
    }
}

/// DVE_READ_ACCUMULATOR (chapter 05 section 7.5): stores the accumulators of the destination's partitions, or
/// their negatives, and keeps them.
pub fn read(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<D1_RD>(w)?;
    let dst = resolve(x, w)?;
    let sign = if o.negated == 0 { 1.0 } else { -1.0 };
    let values: [f32; PARTITIONS] = x.core().dve.accumulator.map(|v| v * sign);
    let fp8 = x.core().spec.fp8;
    for_each_stretch(x.core(), &[], &dst, o.num_active_channels.into(), |lane, _, out| {
        for element in out.chunks_exact_mut(dst.size) {
            num::pack(&[values[dst.partition + lane]], o.dtype, fp8, element);
        }
    });
    Ok(Flow::Next)
}

/// The destination of [`read`] after all checks of its address.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Walk, FaultKind> {
    let o = x.operands::<D1_RD>(w)?;
    x.tensor("dst", &o.dst, o.dtype, o.num_active_channels, Access::Write)
}
