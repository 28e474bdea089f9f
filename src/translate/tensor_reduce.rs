//! Folds along the free dimensions (chapter 04 section 6).

use seqjit_runtime::interp::Exec;
use seqjit_runtime::interp::tensor_reduce::{self as interp, Reduction};
use seqjit_runtime::kernels::{reduce, tiles};

use super::{Bound, Kernel};

/// TENSOR_REDUCE_ARITH_OP (section 6.1).
pub const fn arith() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve(x, w)?, reduce::run)) }
}

/// TENSOR_REDUCE_ADD_BF16 (section 6.3).
pub const fn add_bf16() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_add_bf16(x, w)?, reduce::run)) }
}

/// TENSOR_REDUCE_MAX_BF16 (section 6.3).
pub const fn max_bf16() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_max_bf16(x, w)?, reduce::run)) }
}

/// TENSOR_REDUCE_BITVEC_OP (section 6.1).
pub const fn bitvec() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_bitvec(x, w)?, reduce::run)) }
}

/// TRANSPOSE_TENSOR_REDUCE_ARITH_OP (section 6.2).
pub const fn transpose_arith() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_transposed(x, w)?, tiles::tensor_reduce)) }
}

/// TRANSPOSE_TENSOR_REDUCE_BITVEC_OP (section 6.2).
pub const fn transpose_bitvec() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_transposed_bitvec(x, w)?, tiles::tensor_reduce)) }
}

fn bound(reduction: Reduction, kernel: fn(&Reduction, &mut Exec<'_>)) -> Bound {
    Box::new(move |x| {
        kernel(&reduction, x);
        true
    })
}
