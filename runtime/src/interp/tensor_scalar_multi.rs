//! Scalars that are loaded first and used by later words (chapter 04 section 4.7).

use super::lanes::for_each_stretch;
use super::tensor_tensor::unsupported;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::Decoded;
use crate::isa::field::ReverseOps;
use crate::isa::layouts::{S2_BN, S4D4_TSM};
use crate::machine::hidden::PreloadedScalars;
use crate::num::{self, Rhs};

/// TENSOR_SCALAR_IMM_LD_ARITH: keeps up to eight values a lane, converted to FP32.
pub fn load_arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let (dtype, fp8) = (x.operands::<S2_BN>(w)?.dtype, x.core().spec.fp8);
    load(x, w, |bits| num::to_f32(bits, dtype, fp8).to_bits())
}

/// TENSOR_SCALAR_IMM_LD_BITVEC: keeps their bits, zero-extended.
pub fn load_bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    load(x, w, |bits| bits)
}

/// The scalars belong to the partitions they come from (chapter 00 A14).
fn load(x: &mut Exec<'_>, w: &Decoded, convert: impl Fn(u32) -> u32) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2_BN>(w)?;
    let src = x.tensor("src", &o.src, o.dtype, o.num_active_channels, Access::Read)?;
    if src.count > PreloadedScalars::PER_LANE {
        return Err(FaultKind::illegal("src", format!("{} elements", src.count), "1 to 8"));
    }
    let mut packed = vec![0; src.count * src.size];
    let mut bits = vec![0; src.count];
    let core = x.core();
    for lane in 0..usize::from(o.num_active_channels) {
        src.gather(&mut src.start(), core.memory(src.space), lane, &mut packed);
        num::unpack_bits(&packed, src.size, &mut bits);
        let kept = &mut core.dve.scalars.0[src.partition + lane];
        for (kept, bits) in kept.iter_mut().zip(&bits) {
            *kept = convert(*bits as u32);
        }
    }
    Ok(Flow::Next)
}

/// TENSOR_SCALAR_PTR_MULTI_ARITH: slice w of the outermost dimension meets the preloaded scalar w.
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TSM>(w)?;
    num::eval_f32(o.op, 0.0, 0.0).map_err(unsupported)?;
    let (fp8, reverse) = (x.core().spec.fp8, o.reverse_operands != ReverseOps::NONE);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    each_slice(x, w, |source, scalar, out| {
        let n = out.len() / o.out_dtype.bytes();
        a.resize(n, 0.0);
        b.resize(n, 0.0);
        num::unpack(source, o.in_dtype, fp8, &mut a);
        let done = num::map2(o.op, &a, Rhs::Scalar(f32::from_bits(scalar)), reverse, &mut b);
        debug_assert!(done.is_ok(), "the operator was tried above");
        num::pack(&b, o.out_dtype, fp8, out);
    })
}

/// TENSOR_SCALAR_PTR_MULTI_BITVEC: the same on bits, zero-extended to 32.
pub fn bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    const LANE: u32 = 32;
    let o = *x.operands::<S4D4_TSM>(w)?;
    num::eval_bitvec(o.op, 0, 0, LANE).map_err(unsupported)?;
    let reverse = o.reverse_operands != ReverseOps::NONE;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    each_slice(x, w, |source, scalar, out| {
        let size = o.out_dtype.bytes();
        a.resize(out.len() / size, 0);
        b.resize(out.len() / size, 0);
        num::unpack_bits(source, o.in_dtype.bytes(), &mut a);
        let done = num::map2_bits(o.op, &a, Rhs::Scalar(scalar.into()), LANE, reverse, &mut b);
        debug_assert!(done.is_ok(), "the operator was tried above");
        num::pack_bits(&b, size, out);
    })
}

/// Source, destination and elements a slice after all checks of addresses and counts.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<(Walk, Walk, usize), FaultKind> {
    let o = *x.operands::<S4D4_TSM>(w)?;
    let src = x.tensor("src", &o.src, o.in_dtype, o.num_active_channels, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, o.num_active_channels, Access::Write)?;
    let slices = usize::from(o.src.num[3]);
    if slices > PreloadedScalars::PER_LANE {
        return Err(FaultKind::illegal("src", format!("{slices} slices"), "1 to 8"));
    }
    if src.count != dst.count {
        return Err(FaultKind::illegal("dst", format!("{} elements", dst.count), src.count.to_string()));
    }
    Ok((src, dst, src.count / slices))
}

/// Calls `body(source, scalar, results)` for stretches that lie in one slice.
fn each_slice(
    x: &mut Exec<'_>,
    w: &Decoded,
    mut body: impl FnMut(&[u8], u32, &mut [u8]),
) -> Result<Flow, FaultKind> {
    let lanes = usize::from(x.operands::<S4D4_TSM>(w)?.num_active_channels);
    let (src, dst, slice) = resolve(x, w)?;
    let scalars = x.core().dve.scalars.0;
    let mut k = 0;
    for_each_stretch(x.core(), &[src], &dst, lanes, |lane, sources, out| {
        let (mut source, mut out) = (&sources[0][..], out);
        while !out.is_empty() {
            let n = (slice - k % slice).min(out.len() / dst.size);
            let (results, rest) = out.split_at_mut(n * dst.size);
            body(&source[..n * src.size], scalars[dst.partition + lane][k / slice], results);
            (source, out) = (&source[n * src.size..], rest);
            k = (k + n) % src.count;
        }
    });
    Ok(Flow::Next)
}
