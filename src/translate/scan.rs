//! Scans along the free dimensions (chapter 04 sections 5.2 and 6.4).

use seqjit_runtime::interp::scan::{self as interp, Cumulative};
use seqjit_runtime::kernels::scan;

use super::{Bound, Kernel, Refusal};

/// TENSOR_CUMULATIVE_ARITH_OP (section 6.4).
pub const fn cumulative_arith() -> Kernel {
    Kernel { bind: |x, w| cumulative(interp::resolve(x, w)?) }
}

/// TENSOR_CUMULATIVE_BITVEC_OP (section 6.4).
pub const fn cumulative_bitvec() -> Kernel {
    Kernel { bind: |x, w| cumulative(interp::resolve_bitvec(x, w)?) }
}

fn cumulative(word: Cumulative) -> Result<Bound, Refusal> {
    if word.src.count != word.dst.count {
        return Err(Refusal::Dimensions);
    }
    Ok(Box::new(move |x| {
        scan::cumulative(&word, x);
        true
    }))
}

/// TENSOR_TENSOR_SCAN_ARITH (section 5.2).
pub const fn tensor_tensor() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = interp::resolve_tensor_tensor(x, w)?;
            if word.operands.sources.iter().any(|source| source.count != word.operands.dst.count) {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| {
                scan::tensor_tensor(&word, x);
                true
            }))
        },
    }
}
