//! Two tensors, one result (chapter 04 section 3).

use seqjit_runtime::interp::tensor_tensor::{self as interp, Operation};
use seqjit_runtime::interp::{Exec, FaultKind};
use seqjit_runtime::isa::layouts::S3S3D3_TT;
use seqjit_runtime::isa::{AluOp, Decoded};
use seqjit_runtime::kernels::{rows, rows_bits};
use seqjit_runtime::num::eval_bitvec;

use super::bits::{self, Other};
use super::elementwise::{Compute, Elementwise, Stream};
use super::nest::is_long_row;
use super::{Binding, Bound, Inline, Kernel, Refusal, alu, convert, operands};
use crate::block::ShapeKey;

/// TENSOR_TENSOR_ARITH_OP: dst[k] = cast(op(src0[k], src1[k])). The variant is the operator of class INT, or 0
/// (which is BYPASS, never of that class).
pub const fn arith() -> Inline {
    Inline { bind, build, kernel }
}

fn bind(x: &Exec<'_>, w: &Decoded) -> Result<Binding, FaultKind> {
    let operation = interp::resolve(x, w)?;
    Ok(Binding {
        sources: operation.sources.map(Some),
        destination: operation.dst,
        scalars: [None; 2],
        lanes: operation.lanes,
        variant: operation.integer_operator.map_or(0, |op| op.0),
    })
}

/// TENSOR_TENSOR_BITVEC_OP (section 3.1): raw bits at the width of the result. Shifts, whose counts differ from element to
/// element, and long rows have a kernel.
pub const fn bitvec() -> Inline {
    Inline { bind: bind_bits, build: build_bits, kernel: bits_kernel }
}

fn bind_bits(x: &Exec<'_>, w: &Decoded) -> Result<Binding, FaultKind> {
    Ok(Binding { variant: 0, ..bind(x, w)? })
}

fn bits_kernel(_: &Exec<'_>, w: &Decoded) -> Option<Kernel> {
    let o = operands::<S3S3D3_TT>(w).ok()?;
    let dtypes = [o.in0_in1_dtype.low(), o.in0_in1_dtype.high(), o.out_dtype];
    let inline =
        dtypes.iter().all(|dtype| dtype.bytes() == o.out_dtype.bytes()) && bits::check(o.op, false).is_ok();
    let [a, b, to] = dtypes;
    let rows = is_long_row(&o.src0, a) && is_long_row(&o.src1, b) && is_long_row(&o.dst, to);
    (!inline || rows).then_some(Kernel {
        bind: |x, w| {
            let operation = interp::resolve(x, w)?;
            eval_bitvec(operation.op, 0, 0, 32).map_err(|_| Refusal::Operator(operation.op))?;
            if operation.sources.iter().any(|source| source.count != operation.dst.count) {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| {
                rows_bits::tensor_tensor(&operation, x);
                true
            }))
        },
    })
}

fn build_bits(_: &ShapeKey, w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S3S3D3_TT>(w)?;
    let op = o.op;
    bits::check(op, false)?;
    let compute = Compute::Whole(Box::new(move |e, s, _| e.bits_op(op, s[0], Other::Tensor(s[1]))));
    let dtypes = [o.in0_in1_dtype.low(), o.in0_in1_dtype.high()];
    if let Some(other) = dtypes.into_iter().find(|dtype| dtype.bytes() != o.out_dtype.bytes()) {
        return Err(Refusal::Datatype(other));
    }
    let sources = vec![Stream::new(&o.src0, dtypes[0]), Stream::new(&o.src1, dtypes[1])];
    let destination = Stream::new(&o.dst, o.out_dtype);
    Ok(Elementwise { lanes: o.num_active_channels, sources, destination, scalars: Vec::new(), compute })
}

/// TENSOR_TENSOR_ADD_BF16 (section 3.4).
pub const fn add_bf16() -> Kernel {
    Kernel { bind: |x, w| bind_as(x, w, AluOp::ADD) }
}

/// TENSOR_TENSOR_MULT_BF16.
pub const fn mult_bf16() -> Kernel {
    Kernel { bind: |x, w| bind_as(x, w, AluOp::MULT) }
}

/// TENSOR_TENSOR_SUB_BF16.
pub const fn sub_bf16() -> Kernel {
    Kernel { bind: |x, w| bind_as(x, w, AluOp::SUBTRACT) }
}

/// The operator of the opcode in class FP.
fn bind_as(x: &Exec<'_>, w: &Decoded, op: AluOp) -> Result<Bound, Refusal> {
    bound(Operation { op, integer_operator: None, ..interp::resolve(x, w)? })
}

fn bound(operation: Operation) -> Result<Bound, Refusal> {
    operation.check()?;
    if operation.sources.iter().any(|source| source.count != operation.dst.count) {
        return Err(Refusal::Dimensions);
    }
    Ok(Box::new(move |x| {
        rows::tensor_tensor(&operation, x);
        true
    }))
}

/// Operators and datatypes that generated code has no instructions for, and long rows in class FP.
fn kernel(_: &Exec<'_>, w: &Decoded) -> Option<Kernel> {
    let o = operands::<S3S3D3_TT>(w).ok()?;
    let dtypes = [o.in0_in1_dtype.low(), o.in0_in1_dtype.high(), o.out_dtype];
    let inline = dtypes.iter().all(|dtype| convert::check(*dtype).is_ok()) && alu::check(o.op).is_ok();
    let [a, b, to] = dtypes;
    let rows = is_long_row(&o.src0, a) && is_long_row(&o.src1, b) && is_long_row(&o.dst, to);
    let float = alu::check_float(o.op).is_ok() && dtypes.iter().any(|dtype| !dtype.is_integer());
    (!inline || rows && float).then_some(Kernel { bind: |x, w| bound(interp::resolve(x, w)?) })
}

fn build(key: &ShapeKey, w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S3S3D3_TT>(w)?;
    let dtypes = [o.in0_in1_dtype.low(), o.in0_in1_dtype.high(), o.out_dtype];
    dtypes.iter().try_for_each(|dtype| convert::check(*dtype))?;
    let sources = vec![Stream::new(&o.src0, dtypes[0]), Stream::new(&o.src1, dtypes[1])];
    let compute = if key.variant == 0 {
        alu::check_float(o.op)?;
        let op = o.op;
        Compute::Float(Box::new(move |e, s, _| e.float_op(op, s[0], s[1])))
    } else {
        let op = AluOp(key.variant);
        alu::check_int(op)?;
        if let Some(float) = dtypes.iter().find(|dtype| !dtype.is_integer()) {
            return Err(Refusal::Datatype(*float));
        }
        Compute::Int(Box::new(move |e, s, _| e.int_op(op, dtypes[0], s[0], s[1])))
    };
    let destination = Stream::new(&o.dst, o.out_dtype);
    Ok(Elementwise { lanes: o.num_active_channels, sources, destination, scalars: Vec::new(), compute })
}
