//! Affine index generators (chapter 04 section 9).

use seqjit_runtime::interp::generator as interp;
use seqjit_runtime::isa::layouts::D4_IOTA;
use seqjit_runtime::kernels::rows_integer::{self, Iota};

use super::{Kernel, operands};

/// IOTA: stores the generated numbers.
pub const fn iota() -> Kernel {
    Kernel {
        bind: |x, w| {
            let o = operands::<D4_IOTA>(w)?;
            let word = Iota {
                dst: interp::resolve(x, w)?,
                dtype: o.out_dtype,
                generator: o.generator,
                channel_multiplier: o.channel_multiplier,
                lanes: o.num_active_channels.into(),
            };
            Ok(Box::new(move |x| {
                rows_integer::iota(&word, x);
                true
            }))
        },
    }
}
