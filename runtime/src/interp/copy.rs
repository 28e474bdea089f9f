//! COPY, CAST and RECIPROCAL (chapter 04 section 6.5, chapter 05 section 6.2).

use super::lanes::for_each_stretch;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::S4D4_TR;
use crate::isa::{Decoded, Dtype, EngineId, Generation};
use crate::num;

/// COPY: raw bits. On SUNDA's ACT 32-bit integers go through fp32 (decision 04-Q7).
pub fn copy(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    if copy_converts(o.in_dtype, x.machine.generation, x.engine) {
        return convert(x, w, false);
    }
    move_bits(x, &o)
}

/// Whether a COPY of this input goes through fp32.
pub fn copy_converts(input: Dtype, generation: Generation, engine: EngineId) -> bool {
    let integer = matches!(input, Dtype::INT32 | Dtype::UINT32);
    generation == Generation::Sunda && engine == EngineId::Act && integer
}

/// CAST: through fp32; equal datatypes move raw bits.
pub fn cast(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    if o.in_dtype == o.out_dtype { move_bits(x, &o) } else { convert(x, w, false) }
}

/// RECIPROCAL: 1/x, correctly rounded in fp32.
pub fn reciprocal(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    convert(x, w, true)
}

/// Source and destination after all checks of their addresses.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<(Walk, Walk), FaultKind> {
    operands(x, x.operands::<S4D4_TR>(w)?)
}

fn operands(x: &Exec<'_>, o: &S4D4_TR) -> Result<(Walk, Walk), FaultKind> {
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    Ok((src, dst))
}

fn move_bits(x: &mut Exec<'_>, o: &S4D4_TR) -> Result<Flow, FaultKind> {
    let (src, dst) = operands(x, o)?;
    for_each_stretch(x.core(), &[src], &dst, o.num_active_channels.into(), |_, sources, out| {
        out.copy_from_slice(&sources[0]);
    });
    Ok(Flow::Next)
}

/// A word that moves its elements through fp32.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    /// The tensor.
    pub src: Walk,
    /// Its datatype.
    pub from: Dtype,
    /// The result.
    pub dst: Walk,
    /// Its datatype.
    pub to: Dtype,
    /// Lanes.
    pub lanes: usize,
    /// 1/x, not x.
    pub reciprocal: bool,
}

/// The operands of a word that converts, after all checks of their addresses.
pub fn resolve_conversion(x: &Exec<'_>, w: &Decoded, reciprocal: bool) -> Result<Conversion, FaultKind> {
    let o = x.operands::<S4D4_TR>(w)?;
    let (src, dst) = operands(x, o)?;
    let (from, to, lanes) = (o.in_dtype, o.out_dtype, o.num_active_channels.into());
    Ok(Conversion { src, from, dst, to, lanes, reciprocal })
}

fn convert(x: &mut Exec<'_>, w: &Decoded, reciprocal: bool) -> Result<Flow, FaultKind> {
    let o = resolve_conversion(x, w, reciprocal)?;
    let fp8 = x.core().spec.fp8;
    let mut values = Vec::new();
    for_each_stretch(x.core(), &[o.src], &o.dst, o.lanes, |_, sources, out| {
        values.resize(out.len() / o.dst.size, 0.0);
        num::unpack(&sources[0], o.from, fp8, &mut values);
        if reciprocal {
            values.iter_mut().for_each(|v| *v = 1.0 / *v);
        }
        num::pack(&values, o.to, fp8, out);
    });
    Ok(Flow::Next)
}
