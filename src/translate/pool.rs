//! Pooling (chapter 05 section 6.1).

use seqjit_runtime::interp::pool::{self as interp, Pooling};
use seqjit_runtime::kernels::pool::Word;

use super::{Bound, Kernel};

/// POOL.
pub const fn pool() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_pool(x, w)?)) }
}

/// MAX_POOL_SELECT.
pub const fn max_pool_select() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_max_pool_select(x, w)?)) }
}

fn bound(pooling: Pooling) -> Bound {
    let word = Word::new(pooling);
    Box::new(move |x| {
        word.run(x);
        true
    })
}
