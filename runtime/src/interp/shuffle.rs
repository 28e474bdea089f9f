//! Lane movement on DVE (chapter 06 section 7).

use super::lanes::{expect_row, read_lane, write_lane};
use super::{Access, Cursor, Exec, FaultKind, Flow, Walk};
use crate::isa::Decoded;
use crate::isa::layouts::{CTRL_IM, S4D4_TR};
use crate::machine::Core;
use crate::machine::hidden::LaneMask;

/// Lanes that move among each other, and elements of a transposed tile.
pub const QUADRANT: usize = 32;

/// LOAD_MASK_SELECT (section 7.1).
pub fn load_mask(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    x.core().dve.mask = resolve_mask(x, w)?;
    Ok(Flow::Next)
}

/// The mask of [`load_mask`].
pub fn resolve_mask(x: &Exec<'_>, w: &Decoded) -> Result<LaneMask, FaultKind> {
    let o = x.operands::<CTRL_IM>(w)?;
    let mut mask = LaneMask::default();
    for (slot, byte) in mask.0.iter_mut().zip(o.immediate.iter().flat_map(|word| word.to_le_bytes())) {
        *slot = byte;
    }
    Ok(mask)
}

/// STREAM_SHUFFLE (section 7.3): permutes the lanes of each quadrant. A quadrant is read before any of it is
/// written.
pub fn stream_shuffle(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let Movement { src, dst, lanes, .. } = resolve_shuffle(x, w)?;
    let mask = x.core().dve.mask;
    for first in (0..lanes).step_by(QUADRANT) {
        let rows: Vec<Vec<u8>> = (0..QUADRANT).map(|lane| read_lane(x.core(), &src, first + lane)).collect();
        for (lane, from) in mask.0.iter().enumerate() {
            if let Some(row) = rows.get(usize::from(*from)) {
                write_lane(x.core(), &dst, first + lane, row);
            }
        }
    }
    Ok(Flow::Next)
}

/// The operands of [`stream_shuffle`] after all checks.
pub fn resolve_shuffle(x: &Exec<'_>, w: &Decoded) -> Result<Movement, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    let (src, dst) = operands(x, &o)?;
    if dst.count != src.count {
        return Err(FaultKind::illegal("dst", format!("{} elements", dst.count), src.count.to_string()));
    }
    expect_row("src", &src)?;
    Ok(Movement { src, dst, lanes: o.num_active_channels.into(), masked: true })
}

/// STREAM_TRANSPOSE (section 7.4): transposes tiles of 32 lanes by 32 elements, each read before it is
/// written. A destination may be shorter than the source.
pub fn stream_transpose(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let word = resolve_transpose(x, w)?;
    let mask = word.mask(x.core());
    for first in (0..word.lanes).step_by(QUADRANT) {
        transpose_quadrant(x, &word.src, &word.dst, first, &mask);
    }
    Ok(Flow::Next)
}

/// The operands of [`stream_transpose`] after all checks.
pub fn resolve_transpose(x: &Exec<'_>, w: &Decoded) -> Result<Movement, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    let (src, dst) = operands(x, &o)?;
    if !src.count.is_multiple_of(QUADRANT) || dst.count > src.count {
        let found = format!("{} elements for {} of destination", src.count, dst.count);
        return Err(FaultKind::illegal(
            "src",
            found,
            "a multiple of 32 that the destination does not exceed",
        ));
    }
    Ok(Movement { src, dst, lanes: o.num_active_channels.into(), masked: o.mask_enable == 1 })
}

/// A word that moves lanes, whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct Movement {
    /// The tensor.
    pub src: Walk,
    /// The result.
    pub dst: Walk,
    /// Lanes, whole quadrants.
    pub lanes: usize,
    masked: bool,
}

impl Movement {
    /// Which lane of its quadrant each destination lane takes.
    pub fn mask(&self, core: &Core) -> LaneMask {
        if self.masked { core.dve.mask } else { LaneMask::default() }
    }
}

fn transpose_quadrant(x: &mut Exec<'_>, src: &Walk, dst: &Walk, first: usize, mask: &LaneMask) {
    let size = src.size;
    let mut from: [Cursor; QUADRANT] = [src.start(); QUADRANT];
    let mut to: [Cursor; QUADRANT] = [dst.start(); QUADRANT];
    let mut tile = vec![0; QUADRANT * QUADRANT * size];
    let mut row = vec![0; QUADRANT * size];
    for done in (0..dst.count).step_by(QUADRANT) {
        for (lane, cursor) in from.iter_mut().enumerate() {
            src.gather(cursor, x.core().memory(src.space), first + lane, &mut row);
            for (element, bytes) in row.chunks_exact(size).enumerate() {
                tile[(element * QUADRANT + lane) * size..][..size].copy_from_slice(bytes);
            }
        }
        let bytes = QUADRANT.min(dst.count - done) * size;
        for ((lane, cursor), row) in to.iter_mut().enumerate().zip(mask.0) {
            if usize::from(row) < QUADRANT {
                let row = &tile[usize::from(row) * QUADRANT * size..][..bytes];
                dst.scatter(cursor, x.core().memory_mut(dst.space), first + lane, row);
            }
        }
    }
}

/// Source and destination of equal element size, over whole quadrants.
fn operands(x: &Exec<'_>, o: &S4D4_TR) -> Result<(Walk, Walk), FaultKind> {
    let lanes = o.num_active_channels;
    if !usize::from(lanes).is_multiple_of(QUADRANT) {
        return Err(FaultKind::illegal("num_active_channels", lanes, "32, 64, 96 or 128"));
    }
    if o.out_dtype != o.in_dtype {
        return Err(FaultKind::illegal("out_dtype", o.out_dtype.text(), o.in_dtype.text()));
    }
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    Ok((src, dst))
}

/// The rows of one quadrant after its tiles of 32 lanes by 32 elements have been transposed: what reads a
/// transposed source. The count is a multiple of 32.
pub fn transposed_rows(core: &Core, src: &Walk, first: usize) -> Vec<Vec<u8>> {
    let rows: Vec<Vec<u8>> = (0..QUADRANT).map(|lane| read_lane(core, src, first + lane)).collect();
    let element = |lane: usize, k: usize| {
        let (tile, column) = (k / QUADRANT, k % QUADRANT);
        &rows[column][(tile * QUADRANT + lane) * src.size..][..src.size]
    };
    (0..QUADRANT).map(|lane| (0..src.count).flat_map(|k| element(lane, k)).copied().collect()).collect()
}
