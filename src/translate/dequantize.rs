//! TENSOR_DEQUANTIZE (chapter 06 section 9.1).

use seqjit_runtime::interp::dequantize as interp;
use seqjit_runtime::kernels::dequantize as kernels;

use super::Kernel;

/// TENSOR_DEQUANTIZE.
pub const fn dequantize() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = interp::resolve(x, w)?;
            Ok(Box::new(move |x| {
                kernels::dequantize(&word, x);
                true
            }))
        },
    }
}
