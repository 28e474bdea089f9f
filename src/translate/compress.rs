//! SPARSITY_COMPRESS and SPARSITY_COMPRESS_TAG (chapter 05 section 9).

use seqjit_runtime::interp::compress::{self as interp, Compress};
use seqjit_runtime::kernels::compress as kernels;

use super::{Bound, Kernel};

/// SPARSITY_COMPRESS.
pub const fn compress() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_compress(x, w)?)) }
}

/// SPARSITY_COMPRESS_TAG.
pub const fn compress_tag() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_compress_tag(x, w)?)) }
}

fn bound(word: Compress) -> Bound {
    Box::new(move |x| {
        kernels::compress(&word, x);
        true
    })
}
