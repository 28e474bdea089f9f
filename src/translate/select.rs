//! Selecting words (chapter 04 section 8).

use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use seqjit_runtime::interp::select as interp;
use seqjit_runtime::interp::{Exec, FaultKind};
use seqjit_runtime::isa::Decoded;
use seqjit_runtime::isa::field::ImmSrc;
use seqjit_runtime::isa::layouts::S3D3_TS_SELECT;
use seqjit_runtime::kernels::rows_accumulate::{RangeSelect, ScalarTensors};
use seqjit_runtime::kernels::rows_select;

use super::elementwise::{Compute, Elementwise, Stream};
use super::{Binding, Inline, Kernel, Refusal, always_inline, operands};

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

/// TENSOR_SCALAR_SELECT (section 8.4): raw bits of the tensor where the lane's predicate holds, of the scalar
/// elsewhere.
pub const fn tensor_scalar_select() -> Inline {
    Inline { bind, build: |_, w| build(w), kernel: always_inline }
}

fn bind(x: &Exec<'_>, w: &Decoded) -> Result<Binding, FaultKind> {
    let lanes = x.operands::<S3D3_TS_SELECT>(w)?.num_active_channels.into();
    let interp::TensorScalar { src, dst, scalar, predicate } = interp::resolve_tensor_scalar(x, w)?;
    Ok(Binding {
        sources: [Some(src), None],
        destination: dst,
        scalars: [Some(scalar), Some(predicate)],
        lanes,
        variant: 0,
    })
}

fn build(w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S3D3_TS_SELECT>(w)?;
    let wanted = if o.reversed_pred == 0 { IntCC::NotEqual } else { IntCC::Equal };
    let compute = Compute::Whole(Box::new(move |e, sources, scalars| {
        let scalar = e.scalar_like(sources[0], scalars[0]);
        let holds = e.where_scalar(sources[0], scalars[1], wanted);
        let kept = e.b.ins().band(sources[0], holds);
        let other = e.b.ins().band_not(scalar, holds);
        e.b.ins().bor(kept, other)
    }));
    let source = |imm| imm != ImmSrc::INSTRUCTION;
    Ok(Elementwise {
        lanes: o.num_active_channels,
        sources: vec![Stream::new(&o.src0, o.dtype)],
        destination: Stream::new(&o.dst, o.dtype),
        scalars: vec![source(o.src1_imm_src), source(o.pred_imm_src)],
        compute,
    })
}

/// RANGE_SELECT (section 8.3).
pub const fn range_select() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = RangeSelect::resolve(x, w)?;
            Ok(Box::new(move |x| word.run(x)))
        },
    }
}

/// SELECT_REDUCE (section 5.3).
pub const fn select_reduce() -> Kernel {
    Kernel {
        bind: |x, w| {
            let word = ScalarTensors::resolve_select(x, w)?;
            Ok(Box::new(move |x| word.run_select(x)))
        },
    }
}
