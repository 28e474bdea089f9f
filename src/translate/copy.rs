//! COPY, CAST and RECIPROCAL (chapter 04 section 6.5, chapter 05 section 6.2).

use cranelift_codegen::ir::InstBuilder;
use seqjit_runtime::interp::{Exec, FaultKind, copy as interp};
use seqjit_runtime::isa::layouts::S4D4_TR;
use seqjit_runtime::isa::{Decoded, Dtype};
use seqjit_runtime::kernels::rows;

use super::elementwise::{Compute, Elementwise, Stream};
use super::nest::is_long_row;
use super::{Binding, Bound, Inline, Kernel, Refusal, convert, operands};

/// COPY: raw bits; variant 1 goes through fp32.
pub const fn copy() -> Inline {
    Inline {
        bind: bind_copy,
        build: |key, w| through(w, key.variant == 1, Compute::identity()),
        kernel: copy_kernel,
    }
}

/// CAST: through fp32; equal datatypes move raw bits.
pub const fn cast() -> Inline {
    Inline {
        bind: |x, w| bind(x, w, 0),
        build: |_, w| {
            let o = operands::<S4D4_TR>(w)?;
            through(w, o.in_dtype != o.out_dtype, Compute::identity())
        },
        kernel: |_, w| kernel(w, false),
    }
}

/// RECIPROCAL: 1/x, correctly rounded in fp32.
pub const fn reciprocal() -> Inline {
    Inline {
        bind: |x, w| bind(x, w, 0),
        build: |_, w| {
            let compute = Compute::Float(Box::new(|e, sources, _| {
                let one = e.float(1.0);
                e.b.ins().fdiv(one, sources[0])
            }));
            through(w, true, compute)
        },
        kernel: |_, w| kernel(w, true),
    }
}

/// Conversions that are faster in a kernel, whose vectors are as wide as the CPU has them, or that generated code
/// has no instructions for.
fn kernel(w: &Decoded, reciprocal: bool) -> Option<Kernel> {
    let o = operands::<S4D4_TR>(w).ok()?;
    if !reciprocal && o.in_dtype == o.out_dtype {
        return move_kernel(o);
    }
    Some(Kernel {
        bind: if reciprocal { |x, w| bind_kernel(x, w, true) } else { |x, w| bind_kernel(x, w, false) },
    })
}

/// COPY converts on SUNDA's ACT only.
fn copy_kernel(x: &Exec<'_>, w: &Decoded) -> Option<Kernel> {
    let o = operands::<S4D4_TR>(w).ok()?;
    let converts = interp::copy_converts(o.in_dtype, x.machine.generation, x.engine);
    if converts { None } else { move_kernel(o) }
}

/// Long rows.
fn move_kernel(o: &S4D4_TR) -> Option<Kernel> {
    let rows = is_long_row(&o.src, o.in_dtype) && is_long_row(&o.dst, o.out_dtype);
    (rows && o.in_dtype.bytes() == o.out_dtype.bytes()).then_some(Kernel {
        bind: |x, w| {
            let lanes = x.operands::<S4D4_TR>(w)?.num_active_channels.into();
            let (src, dst) = interp::resolve(x, w)?;
            if src.count != dst.count {
                return Err(Refusal::Dimensions);
            }
            Ok(Box::new(move |x| {
                rows::move_bits(&src, &dst, lanes, x);
                true
            }))
        },
    })
}

fn bind_kernel(x: &Exec<'_>, w: &Decoded, reciprocal: bool) -> Result<Bound, Refusal> {
    let conversion = interp::resolve_conversion(x, w, reciprocal)?;
    if conversion.src.count != conversion.dst.count {
        return Err(Refusal::Dimensions);
    }
    Ok(Box::new(move |x| {
        rows::convert(&conversion, x);
        true
    }))
}

fn bind_copy(x: &Exec<'_>, w: &Decoded) -> Result<Binding, FaultKind> {
    let input = x.operands::<S4D4_TR>(w)?.in_dtype;
    let converts = interp::copy_converts(input, x.machine.generation, x.engine);
    bind(x, w, converts.into())
}

fn bind(x: &Exec<'_>, w: &Decoded, variant: u8) -> Result<Binding, FaultKind> {
    let lanes = x.operands::<S4D4_TR>(w)?.num_active_channels.into();
    let (source, destination) = interp::resolve(x, w)?;
    Ok(Binding { sources: [Some(source), None], destination, scalars: [None; 2], lanes, variant })
}

fn through(w: &Decoded, convert: bool, compute: Compute) -> Result<Elementwise, Refusal> {
    let o = operands::<S4D4_TR>(w)?;
    let stream = |tensor, dtype: Dtype| Stream::new(tensor, dtype);
    let (source, destination) = (stream(&o.src, o.in_dtype), stream(&o.dst, o.out_dtype));
    let compute = if convert {
        convert::check(o.in_dtype)?;
        convert::check(o.out_dtype)?;
        compute
    } else if o.in_dtype.bytes() == o.out_dtype.bytes() {
        Compute::Raw
    } else {
        return Err(Refusal::Datatype(o.out_dtype));
    };
    Ok(Elementwise {
        lanes: o.num_active_channels,
        sources: vec![source],
        destination,
        scalars: Vec::new(),
        compute,
    })
}
