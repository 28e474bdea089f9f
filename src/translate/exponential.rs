//! EXPONENTIAL (chapter 05 section 4).

use seqjit_runtime::interp::exponential as interp;
use seqjit_runtime::kernels::exponential as kernels;

use super::{Kernel, Refusal};

/// EXPONENTIAL.
pub const fn exponential() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = interp::resolve_exponential(x, w)?;
            if word.operands.src.count != word.operands.dst.count {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| kernels::exponential(&word, x)))
        },
    }
}
