//! Scalars that are loaded first and used by later words (chapter 04 section 4.7).

use seqjit_runtime::interp::{Access, Exec, tensor_scalar_multi as interp};
use seqjit_runtime::isa::Decoded;
use seqjit_runtime::isa::field::ReverseOps;
use seqjit_runtime::isa::layouts::{S2_BN, S4D4_TSM};
use seqjit_runtime::kernels::preloaded::{self, Load, Slices};
use seqjit_runtime::machine::hidden::PreloadedScalars;
use seqjit_runtime::num::{eval_bitvec, eval_f32};

use super::{Bound, Kernel, Refusal, operands};

/// TENSOR_SCALAR_IMM_LD_ARITH: keeps up to eight values a lane, converted to FP32.
pub const fn load_arith() -> Kernel {
    Kernel { bind: |x, w| bind_load(x, w, true) }
}

/// TENSOR_SCALAR_IMM_LD_BITVEC: keeps their bits, zero-extended.
pub const fn load_bitvec() -> Kernel {
    Kernel { bind: |x, w| bind_load(x, w, false) }
}

fn bind_load(x: &Exec<'_>, w: &Decoded, converts: bool) -> Result<Bound, Refusal> {
    let o = operands::<S2_BN>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.dtype, lanes, Access::Read)?;
    if src.count > PreloadedScalars::PER_LANE {
        return Err(Refusal::Checks);
    }
    let word = Load { src, dtype: o.dtype, converts, lanes: lanes.into() };
    Ok(Box::new(move |x| {
        preloaded::load(&word, x);
        true
    }))
}

/// TENSOR_SCALAR_PTR_MULTI_ARITH: slice w of the outermost dimension meets the preloaded scalar w.
pub const fn arith() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = slices(x, w)?;
            eval_f32(word.op, 0.0, 0.0).map_err(|_| Refusal::Operator(word.op))?;
            Ok(Box::new(move |x| {
                preloaded::arith(&word, x);
                true
            }))
        },
    }
}

/// TENSOR_SCALAR_PTR_MULTI_BITVEC: the same on bits, zero-extended to 32.
pub const fn bitvec() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = slices(x, w)?;
            eval_bitvec(word.op, 0, 0, 32).map_err(|_| Refusal::Operator(word.op))?;
            Ok(Box::new(move |x| {
                preloaded::bitvec(&word, x);
                true
            }))
        },
    }
}

fn slices(x: &Exec<'_>, w: &Decoded) -> Result<Slices, Refusal> {
    let o = operands::<S4D4_TSM>(w)?;
    let (src, dst, slice) = interp::resolve(x, w)?;
    Ok(Slices {
        src,
        dst,
        dtypes: [o.in_dtype, o.out_dtype],
        slice,
        op: o.op,
        reverse: o.reverse_operands != ReverseOps::NONE,
        lanes: o.num_active_channels.into(),
    })
}
