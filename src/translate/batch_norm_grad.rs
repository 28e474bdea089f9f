//! Batch normalisation, backward (chapter 05 sections 5.4 to 5.6).

use seqjit_runtime::interp::batch_norm_grad::{self as interp, Gradients, ParamLoad};
use seqjit_runtime::interp::tensor_tensor;
use seqjit_runtime::kernels::batch_norm as kernels;

use super::{Bound, Kernel, Refusal};

/// BATCH_NORM_GRAD_ACCUMULATE (section 5.4).
pub const fn accumulate() -> Kernel {
    Kernel { bind: |x, w| Ok(sums(interp::resolve_accumulate(x, w)?)) }
}

/// BATCH_NORM_GRAD_ACCUMULATE2 (section 5.4).
pub const fn accumulate2() -> Kernel {
    Kernel { bind: |x, w| Ok(sums(interp::resolve_accumulate2(x, w)?)) }
}

fn sums(word: Gradients) -> Bound {
    Box::new(move |x| {
        kernels::accumulate(&word, x);
        true
    })
}

/// BATCH_NORM_PARAM_LOAD (section 5.5).
pub const fn param_load() -> Kernel {
    Kernel { bind: |x, w| Ok(load(interp::resolve_param_load(x, w)?)) }
}

/// BATCH_NORM_PARAM_LOAD2 (section 5.5).
pub const fn param_load2() -> Kernel {
    Kernel { bind: |x, w| Ok(load(interp::resolve_param_load2(x, w)?)) }
}

/// Two or three elements a lane: with the operands resolved there is nothing to gain from vectors.
fn load(word: ParamLoad) -> Bound {
    Box::new(move |x| {
        word.run(x);
        true
    })
}

/// BATCH_NORM_BACK_PROP (section 5.6).
pub const fn back_prop() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = tensor_tensor::resolve(x, w)?;
            if word.sources.iter().any(|source| source.count != word.dst.count) {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| {
                kernels::back_prop(&word, x);
                true
            }))
        },
    }
}
