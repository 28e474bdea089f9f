//! Folds along the free dimensions (chapter 04 section 6).

use seqjit_runtime::interp::tensor_reduce::{self as interp, Reduction};
use seqjit_runtime::kernels::reduce;

use super::{Bound, Kernel};

/// TENSOR_REDUCE_ARITH_OP (section 6.1).
pub const fn arith() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve(x, w)?)) }
}

/// TENSOR_REDUCE_ADD_BF16 (section 6.3).
pub const fn add_bf16() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_add_bf16(x, w)?)) }
}

/// TENSOR_REDUCE_MAX_BF16 (section 6.3).
pub const fn max_bf16() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_max_bf16(x, w)?)) }
}

/// TENSOR_REDUCE_BITVEC_OP (section 6.1).
pub const fn bitvec() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_bitvec(x, w)?)) }
}

fn bound(reduction: Reduction) -> Bound {
    Box::new(move |x| {
        reduce::run(&reduction, x);
        true
    })
}
