//! A tensor, a scalar and the reduce accumulator (chapter 04 sections 4.5 and 4.6).

use seqjit_runtime::kernels::rows_accumulate::Cached;

use super::Kernel;

/// TENSOR_SCALAR_CACHE_REDUCE (section 4.5).
pub const fn reduce() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = Cached::resolve(x, w)?;
            Ok(Box::new(move |x| word.reduce(x)))
        },
    }
}

/// TENSOR_SCALAR_CACHE_CUMULATIVE (section 4.6).
pub const fn cumulative() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = Cached::resolve(x, w)?;
            Ok(Box::new(move |x| word.cumulative(x)))
        },
    }
}
