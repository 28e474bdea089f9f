//! Folds across lanes (chapter 04 section 7).

use seqjit_runtime::interp::cross_lane as interp;
use seqjit_runtime::kernels::cross_lane as kernels;

use super::Kernel;

/// CROSS_LANE_REDUCE_ARITH.
pub const fn arith() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = interp::resolve_arith(x, w)?;
            Ok(Box::new(move |x| {
                kernels::arith(&word, x);
                true
            }))
        },
    }
}

/// CROSS_LANE_REDUCE_BITVEC.
pub const fn bitvec() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = interp::resolve_bitvec(x, w)?;
            Ok(Box::new(move |x| {
                kernels::bitvec(&word, x);
                true
            }))
        },
    }
}
