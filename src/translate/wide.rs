//! The integer words of MAVERICK with results of 64 bits, in two tensors (chapter 04 sections 3.5 and 4.8).

use seqjit_runtime::interp::wide::{Right, Wide, resolve_scalar, resolve_tensor};
use seqjit_runtime::kernels::rows_integer;

use super::{Bound, Kernel, Refusal};

/// TENSOR_TENSOR_INT_WIDE.
pub const fn tensor_tensor() -> Kernel {
    Kernel { bind: |x, w| bound(resolve_tensor(x, w)?) }
}

/// TENSOR_SCALAR_INT_WIDE.
pub const fn tensor_scalar() -> Kernel {
    Kernel { bind: |x, w| bound(resolve_scalar(x, w)?) }
}

fn bound(word: Wide) -> Result<Bound, Refusal> {
    word.check()?;
    let right = match &word.right {
        Right::Tensor(walk) => walk.count,
        Right::Scalar(_) => word.src.count,
    };
    if [right, word.low.count, word.high.count].iter().any(|count| *count != word.src.count) {
        return Err(Refusal::Dimensions);
    }
    Ok(Box::new(move |x| {
        rows_integer::wide(&word, x);
        true
    }))
}
