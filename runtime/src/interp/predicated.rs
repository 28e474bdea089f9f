//! Words that write where a predicate holds and leave the rest alone (chapter 04 sections 8.1 and 8.2).

use super::lanes::for_each_stretch_where;
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::Decoded;
use crate::isa::layouts::{S3D3_CP_PRED_SCALAR, S3S3D3_TT};
use crate::num;

/// COPY_PREDICATED (section 8.1): raw bits of `src1` where `src0` is not zero.
pub fn copy(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    tensors(x, w)
}

/// CAST_PREDICATED (section 8.1): the same through fp32; equal datatypes move raw bits.
pub fn cast(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    tensors(x, w)
}

fn tensors(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3S3D3_TT>(w)?;
    let Tensors { predicate, src, dst } = resolve(x, w)?;
    let (from, to, fp8) = (o.in0_in1_dtype.high(), o.out_dtype, x.core().spec.fp8);
    let mut values = Vec::new();
    let lanes = o.num_active_channels.into();
    for_each_stretch_where(x.core(), &[predicate, src], &dst, lanes, |_, packed, out, wanted| {
        flags(&packed[0], predicate.size, true, wanted);
        if from == to {
            out.copy_from_slice(&packed[1]);
        } else {
            values.resize(out.len() / dst.size, 0.0);
            num::unpack(&packed[1], from, fp8, &mut values);
            num::pack(&values, to, fp8, out);
        }
    });
    Ok(Flow::Next)
}

/// The operands of [`copy`] and [`cast`].
#[derive(Clone, Copy, Debug)]
pub struct Tensors {
    /// Integers.
    pub predicate: Walk,
    /// What is written.
    pub src: Walk,
    /// Where.
    pub dst: Walk,
}

/// The operands of [`copy`] and [`cast`] after all checks of their addresses.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Tensors, FaultKind> {
    let o = *x.operands::<S3S3D3_TT>(w)?;
    let lanes = o.num_active_channels;
    let predicate = x.tensor("src0", &o.src0, o.in0_in1_dtype.low(), lanes, Access::Read)?;
    let src = x.tensor("src1", &o.src1, o.in0_in1_dtype.high(), lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    Ok(Tensors { predicate, src, dst })
}

/// COPY_PREDICATED_SCALAR (section 8.2): raw bits of the scalar where the predicate is zero, or with
/// `reversed_pred` where it is not.
pub fn copy_scalar(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_CP_PRED_SCALAR>(w)?;
    let (predicate, dst, scalar) = resolve_scalar(x, w)?;
    let lanes = usize::from(o.num_active_channels);
    let core = x.core();
    let scalars: Vec<[u8; 4]> = (0..lanes).map(|lane| scalar.bits(core, lane).to_le_bytes()).collect();
    for_each_stretch_where(x.core(), &[predicate], &dst, lanes, |lane, packed, out, wanted| {
        flags(&packed[0], predicate.size, o.reversed_pred != 0, wanted);
        out.chunks_exact_mut(dst.size).for_each(|e| e.copy_from_slice(&scalars[lane][..dst.size]));
    });
    Ok(Flow::Next)
}

/// Predicate, destination and scalar of [`copy_scalar`] after all checks of their addresses.
pub fn resolve_scalar(x: &Exec<'_>, w: &Decoded) -> Result<(Walk, Walk, LaneScalar), FaultKind> {
    let o = *x.operands::<S3D3_CP_PRED_SCALAR>(w)?;
    let lanes = o.num_active_channels;
    let predicate = x.tensor("predicate", &o.predicate, o.pred_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let scalar = x.scalar("src0_imm", o.src0_imm_src, o.src0_imm, o.out_dtype, lanes)?;
    Ok((predicate, dst, scalar))
}

/// Sets the flags of elements that are not zero, or with `set` false of those that are.
fn flags(predicate: &[u8], size: usize, set: bool, wanted: &mut [bool]) {
    for (wanted, element) in wanted.iter_mut().zip(predicate.chunks_exact(size)) {
        *wanted = element.iter().any(|b| *b != 0) == set;
    }
}
