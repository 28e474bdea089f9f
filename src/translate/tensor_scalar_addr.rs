//! Address arithmetic of POOL (chapter 05 section 6.8).

use seqjit_runtime::interp::tensor_scalar_addr as interp;
use seqjit_runtime::isa::layouts::S2D2_ADDR;
use seqjit_runtime::kernels::rows_integer::{self, Addresses};

use super::{Kernel, Refusal, operands};

/// TENSOR_SCALAR_ADDR: wrapping integer arithmetic on addresses and indices.
pub const fn addr() -> Kernel {
    Kernel {
        bind: |x, w| {
            let o = operands::<S2D2_ADDR>(w)?;
            let resolved = interp::resolve(x, w)?;
            if resolved.src.count != resolved.dst.count {
                return Err(Refusal::Dimensions);
            }
            let word = Addresses {
                operands: resolved,
                dtypes: [o.in_out_dtype.low(), o.in_out_dtype.high()],
                imm_dtypes: [o.imm_dtype.low(), o.imm_dtype.high()],
                lanes: o.num_active_channels.into(),
            };
            Ok(Box::new(move |x| {
                rows_integer::addresses(&word, x);
                true
            }))
        },
    }
}
