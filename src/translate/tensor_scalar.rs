//! A tensor and up to two scalars (chapter 04 section 4).

use seqjit_runtime::interp::tensor_scalar::{self as interp, Operands};
use seqjit_runtime::interp::{Exec, FaultKind};
use seqjit_runtime::isa::field::ImmSrc;
use seqjit_runtime::isa::layouts::S3D3_TS;
use seqjit_runtime::isa::{AluOp, Decoded, Dtype};
use seqjit_runtime::kernels::{rows, rows_bits, tiles};
use seqjit_runtime::num::{eval_bitvec, eval_f32};

use super::bits::{self, Other};
use super::elementwise::{Compute, Elementwise, Stream};
use super::nest::is_long_row;
use super::{Binding, Bound, Inline, Kernel, Refusal, alu, convert, operands};
use crate::block::ShapeKey;

/// TENSOR_SCALAR_ARITH_OP (section 4.2): dst = cast(op1(op0(x, s0), s1)), each operator rounding to fp32.
pub const fn arith() -> Inline {
    Inline { bind, build, kernel }
}

/// TENSOR_SCALAR_BITVEC_OP (section 4.2): both operators work in a lane of 32 bits, and the result is cut. Shifts of a
/// scalar by the elements, and long rows, have a kernel.
pub const fn bitvec() -> Inline {
    Inline {
        bind: |x, w| Ok(binding(interp::resolve_bitvec(x, w)?)),
        build: |_, w| build_bits(w),
        kernel: bits_kernel,
    }
}

/// TENSOR_SCALAR_PTR_BITVEC_OP (section 4.3).
pub const fn ptr_bitvec() -> Kernel {
    Kernel {
        bind: |x, w| {
            let dtype = operands::<S3D3_TS>(w)?.in_dtype;
            bound_bits(interp::resolve_pointers(x, w, dtype)?)
        },
    }
}

fn bits_kernel(_: &Exec<'_>, w: &Decoded) -> Option<Kernel> {
    let o = operands::<S3D3_TS>(w).ok()?;
    let rows = is_long_row(&o.src, o.in_dtype) && is_long_row(&o.dst, o.out_dtype);
    (rows || build_bits(w).is_err())
        .then_some(Kernel { bind: |x, w| bound_bits(interp::resolve_bitvec(x, w)?) })
}

fn bound_bits(operands: Operands) -> Result<Bound, Refusal> {
    if let Some((op, _)) = operands.operators.iter().find(|(op, _)| eval_bitvec(*op, 0, 0, 32).is_err()) {
        return Err(Refusal::Operator(*op));
    }
    if operands.src.count != operands.dst.count {
        return Err(Refusal::Dimensions);
    }
    Ok(Box::new(move |x| {
        rows_bits::tensor_scalar(&operands, x);
        true
    }))
}

fn build_bits(w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S3D3_TS>(w)?;
    let chain = chain(o);
    chain.iter().try_for_each(|(op, reverse, _)| bits::check(*op, !reverse || op.is_unary()))?;
    if let Some(wide) = [o.in_dtype, o.out_dtype].into_iter().find(|d| !matches!(d.bytes(), 1 | 2 | 4)) {
        return Err(Refusal::Datatype(wide));
    }
    let scalars = chain.iter().map(|(.., source)| *source != ImmSrc::INSTRUCTION).collect();
    let compute = Compute::Bits(Box::new(move |e, sources, scalars| {
        chain
            .iter()
            .zip(scalars)
            .fold(sources[0], |value, ((op, ..), scalar)| e.bits_op(*op, value, Other::Scalar(*scalar)))
    }));
    let destination = Stream::new(&o.dst, o.out_dtype);
    let sources = vec![Stream::new(&o.src, o.in_dtype)];
    Ok(Elementwise { lanes: o.num_active_channels, sources, destination, scalars, compute })
}

fn bind(x: &Exec<'_>, w: &Decoded) -> Result<Binding, FaultKind> {
    Ok(binding(interp::resolve(x, w)?))
}

fn binding(operands: Operands) -> Binding {
    Binding {
        sources: [Some(operands.src), None],
        destination: operands.dst,
        scalars: operands.scalars,
        lanes: operands.lanes,
        variant: 0,
    }
}

/// TENSOR_SCALAR_PTR_ARITH_OP (section 4.3).
pub const fn ptr_arith() -> Kernel {
    Kernel { bind: |x, w| bound(interp::resolve_pointers(x, w, Dtype::FP32)?) }
}

/// TRANSPOSE_TENSOR_SCALAR_ARITH_OP (section 4.4).
pub const fn transpose_arith() -> Kernel {
    Kernel {
        bind: |x, w| {
            let operands = interp::resolve_transposed(x, w)?;
            if operands.src.count != operands.dst.count {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| tiles::tensor_scalar(&operands, x)))
        },
    }
}

/// In class FP.
fn bound(operands: Operands) -> Result<Bound, Refusal> {
    if let Some((op, _)) = operands.operators.iter().find(|(op, _)| eval_f32(*op, 0.0, 0.0).is_err()) {
        return Err(Refusal::Operator(*op));
    }
    if operands.src.count != operands.dst.count {
        return Err(Refusal::Dimensions);
    }
    Ok(Box::new(move |x| {
        rows::tensor_scalar(&operands, x);
        true
    }))
}

/// Operators and datatypes that generated code has no instructions for, and long rows.
fn kernel(_: &Exec<'_>, w: &Decoded) -> Option<Kernel> {
    let o = operands::<S3D3_TS>(w).ok()?;
    let inline = [o.in_dtype, o.out_dtype].iter().all(|dtype| convert::check(*dtype).is_ok())
        && [o.op0, o.op1].iter().all(|op| alu::check_float(*op).is_ok());
    let rows = is_long_row(&o.src, o.in_dtype) && is_long_row(&o.dst, o.out_dtype);
    (!inline || rows).then_some(Kernel { bind: |x, w| bound(interp::resolve(x, w)?) })
}

fn build(_: &ShapeKey, w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S3D3_TS>(w)?;
    convert::check(o.in_dtype)?;
    convert::check(o.out_dtype)?;
    let chain = chain(o);
    chain.iter().try_for_each(|(op, ..)| alu::check_float(*op))?;
    let per_lane = chain.iter().map(|(.., source)| *source != ImmSrc::INSTRUCTION).collect();
    let compute = Compute::Float(Box::new(move |e, sources, scalars| {
        chain.iter().zip(scalars).fold(sources[0], |value, ((op, reverse, _), scalar)| {
            let (a, b) = if *reverse && !op.is_unary() { (*scalar, value) } else { (value, *scalar) };
            e.float_op(*op, a, b)
        })
    }));
    let destination = Stream::new(&o.dst, o.out_dtype);
    let sources = vec![Stream::new(&o.src, o.in_dtype)];
    Ok(Elementwise { lanes: o.num_active_channels, sources, destination, scalars: per_lane, compute })
}

/// The operators, whether each exchanges its operands, and where its scalar comes from. A second operator BYPASS has none.
fn chain(o: &S3D3_TS) -> Vec<(AluOp, bool, ImmSrc)> {
    let second = o.op1 != AluOp::BYPASS;
    let reverse = [o.reverse_operands.0 & 1 == 1, o.reverse_operands.0 & 2 == 2];
    let mut chain = vec![(o.op0, reverse[0], o.imm0_src)];
    if second {
        chain.push((o.op1, reverse[1], o.imm1_src));
    }
    chain
}
