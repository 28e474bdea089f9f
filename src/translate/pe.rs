//! LDWEIGHTS and MATMUL (chapter 05 section 2), in the kernels of the runtime.

use seqjit_runtime::kernels::pe::{LoadWeights, MatMul};

use super::Kernel;

/// LDWEIGHTS.
pub const fn ldweights() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = LoadWeights::bind(x, w)?;
            Ok(Box::new(move |x| {
                word.run(x);
                true
            }))
        },
    }
}

/// MATMUL. Whether it fits the weights in the array shows when it runs.
pub const fn matmul() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = MatMul::bind(x, w)?;
            Ok(Box::new(move |x| word.run(x)))
        },
    }
}
