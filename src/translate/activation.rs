//! The ACT: activation functions and their tables (chapter 05 section 3).

use seqjit_runtime::interp::activation as interp;
use seqjit_runtime::kernels::act;

use super::{Kernel, Refusal};

/// ACTIVATE (section 3.2).
pub const fn activate() -> Kernel {
    Kernel {
        bind: |x, w| {
            let operands = interp::resolve_activate(x, w)?;
            if operands.src.count != operands.dst.count {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| act::activate(&operands, x)))
        },
    }
}

/// ACTIVATE_QUANTIZE (section 3.3).
pub const fn quantize() -> Kernel {
    Kernel {
        bind: |x, w| {
            let operands = interp::resolve_quantize(x, w)?;
            if operands.src.count != operands.dst.count {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| act::quantize(&operands, x)))
        },
    }
}

/// ACTIVATION_READ_ACCUMULATOR (section 3.4).
pub const fn read_accumulator() -> Kernel {
    Kernel {
        bind: |x, w| {
            let (dst, dtype, lanes) = interp::resolve_read(x, w)?;
            Ok(Box::new(move |x| {
                act::read_accumulator(&dst, dtype, lanes, x);
                true
            }))
        },
    }
}

/// ACTIVATION_TABLE_LOAD (section 3.6).
pub const fn table_load() -> Kernel {
    Kernel {
        bind: |x, w| {
            let resident = interp::resolve_table_load(x, w)?;
            Ok(Box::new(move |x| {
                x.core().act.resident = resident;
                true
            }))
        },
    }
}
