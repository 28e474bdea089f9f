//! A scalar and two tensors (chapter 04 sections 5 and 5.1).

use seqjit_runtime::interp::scalar_tensor_tensor::{self as interp, Class, reversed};
use seqjit_runtime::interp::{Exec, FaultKind};
use seqjit_runtime::isa::field::{AccumCmd, ImmSrc};
use seqjit_runtime::isa::layouts::S2S2D2_STT;
use seqjit_runtime::isa::{Decoded, Dtype};
use seqjit_runtime::kernels::rows_accumulate::ScalarTensors;
use seqjit_runtime::kernels::rows_bits;
use seqjit_runtime::num::eval_bitvec;

use super::bits::{self, Other};
use super::elementwise::{Compute, Elementwise, Stream};
use super::nest::is_long_row;
use super::{Binding, Bound, Inline, Kernel, Refusal, alu, convert, operands};
use crate::block::ShapeKey;

/// SCALAR_TENSOR_TENSOR_ARITH (section 5.1): `dst = cast(op1(op0(src0, s), src1))`, each operator rounding to fp32.
/// Accumulating words, and long rows, have a kernel.
pub const fn arith() -> Inline {
    Inline { bind: |x, w| bind(x, w, Class::Float), build, kernel }
}

fn kernel(_: &Exec<'_>, w: &Decoded) -> Option<Kernel> {
    let o = operands::<S2S2D2_STT>(w).ok()?;
    (has_long_rows(o) || check(o).is_err()).then_some(Kernel {
        bind: |x, w| {
            let word = ScalarTensors::resolve(x, w)?;
            Ok(Box::new(move |x| word.run(x)))
        },
    })
}

/// Whether a word can be compiled.
fn check(o: &S2S2D2_STT) -> Result<(), Refusal> {
    alu::check_float(o.op0)?;
    alu::check_float(o.op1)?;
    let dtypes = [o.src_dtype.low(), o.src_dtype.high(), o.out_dtype, scalar_dtype(o)];
    dtypes.into_iter().try_for_each(convert::check)?;
    if o.accumulator_cmd == AccumCmd::IDLE { Ok(()) } else { Err(Refusal::Checks) }
}

/// An inline scalar is FP32.
fn scalar_dtype(o: &S2S2D2_STT) -> Dtype {
    if o.imm0_src == ImmSrc::INSTRUCTION { Dtype::FP32 } else { o.imm0_dtype }
}

fn build(key: &ShapeKey, w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S2S2D2_STT>(w)?;
    check(o)?;
    let (dtype, fp8) = (scalar_dtype(o), key.fp8);
    let (op0, op1, [reverse0, reverse1]) = (o.op0, o.op1, reversed(o));
    let compute = Compute::Float(Box::new(move |e, sources, scalars| {
        let scalar = e.scalar_float(dtype, fp8, scalars[0]);
        let [a, b] = if reverse0 && !op0.is_unary() { [scalar, sources[0]] } else { [sources[0], scalar] };
        let t = e.float_op(op0, a, b);
        let [a, b] = if reverse1 && !op1.is_unary() { [sources[1], t] } else { [t, sources[1]] };
        e.float_op(op1, a, b)
    }));
    Ok(elementwise(o, compute))
}

/// SCALAR_TENSOR_TENSOR_BITVEC (section 5.1): raw bits at the width of the result. Shifts by elements, and long rows,
/// have a kernel.
pub const fn bitvec() -> Inline {
    Inline { bind: |x, w| bind(x, w, Class::Bits), build: |_, w| build_bits(w), kernel: bits_kernel }
}

fn bind(x: &Exec<'_>, w: &Decoded, class: Class) -> Result<Binding, FaultKind> {
    let lanes = x.operands::<S2S2D2_STT>(w)?.num_active_channels.into();
    let interp::Operands { sources, dst, scalar } = interp::resolve(x, w, class)?;
    Ok(Binding {
        sources: sources.map(Some),
        destination: dst,
        scalars: [Some(scalar), None],
        lanes,
        variant: 0,
    })
}

/// Whether the elements of a lane make long rows in all operands.
fn has_long_rows(o: &S2S2D2_STT) -> bool {
    is_long_row(&o.src0, o.src_dtype.low())
        && is_long_row(&o.src1, o.src_dtype.high())
        && is_long_row(&o.dst, o.out_dtype)
}

fn bits_kernel(_: &Exec<'_>, w: &Decoded) -> Option<Kernel> {
    let o = operands::<S2S2D2_STT>(w).ok()?;
    (has_long_rows(o) || build_bits(w).is_err()).then_some(Kernel { bind: bind_bits_kernel })
}

fn bind_bits_kernel(x: &Exec<'_>, w: &Decoded) -> Result<Bound, Refusal> {
    let o = operands::<S2S2D2_STT>(w)?;
    let resolved = interp::resolve(x, w, Class::Bits)?;
    let operators = [o.op0, o.op1];
    if let Some(op) = operators.into_iter().find(|op| eval_bitvec(*op, 0, 0, 32).is_err()) {
        return Err(Refusal::Operator(op));
    }
    if resolved.sources.iter().any(|source| source.count != resolved.dst.count) {
        return Err(Refusal::Dimensions);
    }
    let word = rows_bits::ScalarTensorTensor {
        operands: resolved,
        operators,
        reverse: reversed(o),
        lanes: o.num_active_channels.into(),
    };
    Ok(Box::new(move |x| {
        rows_bits::scalar_tensor_tensor(&word, x);
        true
    }))
}

fn build_bits(w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S2S2D2_STT>(w)?;
    let (op0, op1) = (o.op0, o.op1);
    let (a, b) = (o.src_dtype.low(), o.src_dtype.high());
    bits::check(op0, !reversed(o)[0] || op0.is_unary())?;
    // A shift would take its count, or what it shifts, from the second tensor.
    bits::check(op1, false)?;
    if let Some(other) = [a, b].into_iter().find(|dtype| dtype.bytes() != o.out_dtype.bytes()) {
        return Err(Refusal::Datatype(other));
    }
    let compute = Compute::Whole(Box::new(move |e, sources, scalars| {
        let t = e.bits_op(op0, sources[0], Other::Scalar(scalars[0]));
        // Exchanging operands makes no difference to what is left.
        e.bits_op(op1, t, Other::Tensor(sources[1]))
    }));
    Ok(elementwise(o, compute))
}

fn elementwise(o: &S2S2D2_STT, compute: Compute) -> Elementwise {
    let (a, b) = (o.src_dtype.low(), o.src_dtype.high());
    Elementwise {
        lanes: o.num_active_channels,
        sources: vec![Stream::new(&o.src0, a), Stream::new(&o.src1, b)],
        destination: Stream::new(&o.dst, o.out_dtype),
        scalars: vec![o.imm0_src != ImmSrc::INSTRUCTION],
        compute,
    }
}
