//! MEMSET (chapter 05 section 6.3).

use seqjit_runtime::interp::{Exec, FaultKind, LaneScalar, fill as interp};
use seqjit_runtime::isa::Decoded;
use seqjit_runtime::isa::layouts::D4_MR;

use super::elementwise::{Compute, Elementwise, Stream};
use super::{Binding, Inline, always_inline, operands};

/// MEMSET: every element of the destination becomes the low bytes of `set_value`.
pub const fn memset() -> Inline {
    Inline {
        bind,
        build: |_, w| {
            let o = operands::<D4_MR>(w)?;
            let destination = Stream::new(&o.dst, o.dtype);
            let lanes = o.num_active_channels;
            let (sources, scalars) = (Vec::new(), vec![false]);
            Ok(Elementwise { lanes, sources, destination, scalars, compute: Compute::Fill })
        },
        kernel: always_inline,
    }
}

fn bind(x: &Exec<'_>, w: &Decoded) -> Result<Binding, FaultKind> {
    let o = *x.operands::<D4_MR>(w)?;
    let destination = interp::resolve(x, w)?;
    let scalars = [Some(LaneScalar::Value(o.set_value.0)), None];
    let lanes = o.num_active_channels.into();
    Ok(Binding { sources: [None; 2], destination, scalars, lanes, variant: 0 })
}
