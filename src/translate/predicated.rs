//! Words that write where a predicate holds and leave the rest alone (chapter 04 sections 8.1 and 8.2).

use seqjit_runtime::interp::predicated as interp;
use seqjit_runtime::interp::{Exec, FaultKind, Walk};
use seqjit_runtime::isa::field::{Addr4, ImmSrc};
use seqjit_runtime::isa::layouts::{S3D3_CP_PRED_SCALAR, S3S3D3_TT};
use seqjit_runtime::isa::{Decoded, Dtype};

use super::elementwise::{Compute, Elementwise, Replace, Stream};
use super::{Binding, Inline, Kernel, Refusal, convert, operands};

/// COPY_PREDICATED (section 8.1): raw bits of `src1` where `src0` is not zero.
pub const fn copy() -> Inline {
    tensors()
}

/// CAST_PREDICATED (section 8.1): the same through fp32; equal datatypes move raw bits.
pub const fn cast() -> Inline {
    tensors()
}

const fn tensors() -> Inline {
    Inline {
        bind: |x, w| {
            let lanes = x.operands::<S3S3D3_TT>(w)?.num_active_channels.into();
            let interp::Tensors { predicate, src, dst } = interp::resolve(x, w)?;
            Ok(Binding {
                sources: [Some(predicate), Some(src)],
                destination: dst,
                scalars: [None; 2],
                lanes,
                variant: 0,
            })
        },
        build: |_, w| build(w),
        kernel: |x, w| {
            let o = operands::<S3S3D3_TT>(w).ok()?;
            left_to_interpreter(x, o.dst.start)
        },
    }
}

fn build(w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S3S3D3_TT>(w)?;
    let (predicate, from) = (o.in0_in1_dtype.low(), o.in0_in1_dtype.high());
    check_width(predicate)?;
    let replace = if from == o.out_dtype {
        check_width(from)?;
        Replace::Bits(Box::new(|_, sources, _| sources[1]))
    } else {
        convert::check(from)?;
        convert::check(o.out_dtype)?;
        Replace::Float(Box::new(|_, sources, _| sources[1]))
    };
    Ok(Elementwise {
        lanes: o.num_active_channels,
        sources: vec![Stream::new(&o.src0, predicate).into_bits(), Stream::new(&o.src1, from)],
        destination: Stream::new(&o.dst, o.out_dtype),
        scalars: Vec::new(),
        compute: Compute::Where { nonzero: true, replace },
    })
}

/// COPY_PREDICATED_SCALAR (section 8.2): raw bits of the scalar where the predicate is zero, or with
/// `reversed_pred` where it is not.
pub const fn copy_scalar() -> Inline {
    Inline {
        bind: bind_scalar,
        build: |_, w| build_scalar(w),
        kernel: |x, w| {
            let o = operands::<S3D3_CP_PRED_SCALAR>(w).ok()?;
            left_to_interpreter(x, o.dst.start)
        },
    }
}

fn bind_scalar(x: &Exec<'_>, w: &Decoded) -> Result<Binding, FaultKind> {
    let lanes = x.operands::<S3D3_CP_PRED_SCALAR>(w)?.num_active_channels.into();
    let (predicate, destination, scalar): (Walk, Walk, _) = interp::resolve_scalar(x, w)?;
    Ok(Binding {
        sources: [Some(predicate), None],
        destination,
        scalars: [Some(scalar), None],
        lanes,
        variant: 0,
    })
}

fn build_scalar(w: &Decoded) -> Result<Elementwise, Refusal> {
    let o = operands::<S3D3_CP_PRED_SCALAR>(w)?;
    check_width(o.pred_dtype)?;
    check_width(o.out_dtype)?;
    let replace = Replace::Bits(Box::new(|e, _, scalars| e.as_int(scalars[0])));
    Ok(Elementwise {
        lanes: o.num_active_channels,
        sources: vec![Stream::new(&o.predicate, o.pred_dtype)],
        destination: Stream::new(&o.dst, o.out_dtype),
        scalars: vec![o.src0_imm_src != ImmSrc::INSTRUCTION],
        compute: Compute::Where { nonzero: o.reversed_pred != 0, replace },
    })
}

/// Elements that fit into 32 bits.
fn check_width(dtype: Dtype) -> Result<(), Refusal> {
    if matches!(dtype.bytes(), 1 | 2 | 4) { Ok(()) } else { Err(Refusal::Datatype(dtype)) }
}

/// Where a memory records what has been written, which elements a predicate leaves alone counts: the interpreter knows.
fn left_to_interpreter(x: &Exec<'_>, start: Addr4) -> Option<Kernel> {
    let address = x.start_address("dst", start).ok()?;
    let place = x.machine.generation.geometry().locate(address)?;
    let watched = x.machine.cores[x.core].memory(place.space).tracks_writes();
    watched.then_some(Kernel { bind: |_, _| Err(Refusal::Checks) })
}
