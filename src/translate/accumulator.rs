//! The reduce accumulators of DVE (chapter 04 section 2.6).

use seqjit_runtime::interp::accumulator as interp;
use seqjit_runtime::isa::layouts::D1_RD;
use seqjit_runtime::kernels::preloaded;

use super::{Kernel, operands};

/// DVE_READ_ACCUMULATOR (chapter 05 section 7.5).
pub const fn read() -> Kernel {
    Kernel {
        bind: |x, w| {
            let o = operands::<D1_RD>(w)?;
            let word = preloaded::ReadAccumulators {
                dst: interp::resolve(x, w)?,
                dtype: o.dtype,
                negated: o.negated != 0,
                lanes: o.num_active_channels.into(),
            };
            Ok(Box::new(move |x| {
                preloaded::read_accumulators(&word, x);
                true
            }))
        },
    }
}
