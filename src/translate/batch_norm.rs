//! Batch normalisation, forward (chapter 05 sections 5.1 to 5.3).

use seqjit_runtime::interp::Exec;
use seqjit_runtime::interp::batch_norm::{self as interp, Statistics};
use seqjit_runtime::kernels::batch_norm as kernels;

use super::{Bound, Kernel};

/// LOAD_PARAMETER_RAM (section 5.1).
pub const fn load_parameter_ram() -> Kernel {
    Kernel {
        bind: |x, w| {
            let load = interp::resolve_parameter_ram(x, w)?;
            Ok(Box::new(move |x| {
                load.run(x);
                true
            }))
        },
    }
}

/// BATCH_NORM_STATS (section 5.2).
pub const fn stats() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_stats(x, w)?, kernels::stats)) }
}

/// BATCH_NORM_STATS2 (section 5.2).
pub const fn stats2() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_stats2(x, w)?, kernels::stats2)) }
}

/// TRANSPOSE_BATCH_NORM_STATS2 (section 5.2).
pub const fn transpose_stats2() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_transpose_stats2(x, w)?, kernels::transpose_stats2)) }
}

/// BATCH_NORM_AGGREGATE (section 5.3).
pub const fn aggregate() -> Kernel {
    Kernel { bind: |x, w| Ok(bound(interp::resolve_aggregate(x, w)?, kernels::aggregate)) }
}

fn bound(word: Statistics, kernel: fn(&Statistics, &mut Exec<'_>)) -> Bound {
    Box::new(move |x| {
        kernel(&word, x);
        true
    })
}
