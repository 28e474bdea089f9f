//! ACTIVATE2 (chapter 05 section 3.5), in the kernel of the runtime.

use seqjit_runtime::interp::activate2 as interp;
use seqjit_runtime::kernels::act;

use super::{Kernel, Refusal};

/// ACTIVATE2. Whether its function is there shows when it runs.
pub const fn activate2() -> Kernel {
    Kernel {
        bind: |x, w| {
            let operands = interp::resolve(x, w)?;
            if operands.src.count != operands.dst.count {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| act::activate2(&operands, x)))
        },
    }
}
