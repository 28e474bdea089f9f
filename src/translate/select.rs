//! Selecting words (chapter 04 section 8).

use seqjit_runtime::interp::select as interp;
use seqjit_runtime::kernels::rows_select;

use super::{Kernel, Refusal};

/// TENSOR_SCALAR_AFFINE_SELECT (section 8.5). The fill register is read each time.
pub const fn affine_select() -> Kernel {
    Kernel {
        bind: |x, w| {
            let operands = interp::resolve(x, w)?;
            if operands.src.count != operands.dst.count {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| rows_select::affine_select(&operands, x)))
        },
    }
}
