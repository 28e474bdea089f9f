//! Lane movement on DVE (chapter 06 section 7). The mask is read each time.

use seqjit_runtime::interp::shuffle as interp;
use seqjit_runtime::kernels::shuffle as kernels;

use super::Kernel;

/// LOAD_MASK_SELECT (section 7.1).
pub const fn load_mask() -> Kernel {
    Kernel {
        bind: |x, w| {
            let mask = interp::resolve_mask(x, w)?;
            Ok(Box::new(move |x| {
                x.core().dve.mask = mask;
                true
            }))
        },
    }
}

/// STREAM_SHUFFLE (section 7.3).
pub const fn stream_shuffle() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = interp::resolve_shuffle(x, w)?;
            Ok(Box::new(move |x| {
                kernels::stream_shuffle(&word, x);
                true
            }))
        },
    }
}

/// STREAM_TRANSPOSE (section 7.4).
pub const fn stream_transpose() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = interp::resolve_transpose(x, w)?;
            Ok(Box::new(move |x| {
                kernels::stream_transpose(&word, x);
                true
            }))
        },
    }
}
