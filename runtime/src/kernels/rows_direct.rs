//! Rows that are computed where they lie, without scratch between.

use std::marker::PhantomData;

use crate::interp::Walk;
use crate::isa::{AluOp, PARTITIONS};
use crate::machine::Core;
use crate::num::{LaneRows, Rhs, UnsupportedOp, map2_lanes};

/// Contiguous rows, of which no source shares a byte with the destination in the same lane.
pub(super) struct Direct<'c, const N: usize> {
    sources: [Place; N],
    destination: Place,
    /// No lane writes what another one reads.
    independent: bool,
    _core: PhantomData<&'c mut Core>,
}

/// The first row of an operand.
#[derive(Clone, Copy)]
struct Place {
    first: *mut u8,
    /// Bytes of a row.
    bytes: usize,
    /// Bytes to the next row.
    pitch: usize,
    /// Lanes for which there are rows.
    lanes: usize,
}

impl<'c, const N: usize> Direct<'c, N> {
    /// `None` where the operands are not like that.
    pub(super) fn new(
        core: &'c mut Core,
        sources: [&Walk; N],
        destination: &Walk,
        lanes: usize,
    ) -> Option<Direct<'c, N>> {
        let fits = |walk: &&Walk| walk.is_contiguous() && walk.is_apart_from(destination, 1);
        if !destination.is_contiguous() || !sources.iter().all(fits) {
            return None;
        }
        let independent = sources.iter().all(|walk| walk.is_apart_from(destination, lanes));
        let memories = [core.sbuf.host_bytes(), core.psum.host_bytes()].map(|m| (m.as_mut_ptr(), m.len()));
        let place = |walk: &Walk| Place::new(memories[walk.space as usize], walk);
        let destination = place(destination)?;
        let mut places = [destination; N];
        for (place_of, walk) in places.iter_mut().zip(sources) {
            *place_of = place(walk)?;
        }
        Some(Direct { sources: places, destination, independent, _core: PhantomData })
    }

    /// Whether all rows lie so that they can be rows of floats.
    pub(super) fn is_aligned(&self) -> bool {
        let aligned = |p: &Place| p.first.cast::<f32>().is_aligned() && p.pitch.is_multiple_of(4);
        cfg!(target_endian = "little") && self.sources.iter().chain([&self.destination]).all(aligned)
    }

    /// The rows of one lane.
    ///
    /// # Panics
    /// If the lane has no row in a memory.
    #[inline]
    pub(super) fn rows(&mut self, lane: usize) -> ([&[u8]; N], &mut [u8]) {
        let mut sources: [&[u8]; N] = [&[]; N];
        // SAFETY: rows are inside memories that are borrowed exclusively as long as `self` lives; no source shares a
        // byte with the destination, and `self` is borrowed while the rows are.
        unsafe {
            for (row, place) in sources.iter_mut().zip(&self.sources) {
                *row = std::slice::from_raw_parts(place.row(lane), place.bytes);
            }
            let Place { bytes, .. } = self.destination;
            (sources, std::slice::from_raw_parts_mut(self.destination.row(lane), bytes))
        }
    }
}

impl Place {
    /// `None` where the walk leaves its partition of the memory, of so many bytes.
    fn new((base, memory): (*mut u8, usize), walk: &Walk) -> Option<Place> {
        let (pitch, bytes) = (memory / PARTITIONS, walk.size * walk.count);
        if walk.partition >= PARTITIONS || walk.offset + bytes > pitch {
            return None;
        }
        // SAFETY: inside the memory.
        let first = unsafe { base.add(walk.partition * pitch + walk.offset) };
        Some(Place { first, bytes, pitch, lanes: PARTITIONS - walk.partition })
    }

    #[inline]
    fn row(&self, lane: usize) -> *mut u8 {
        assert!(lane < self.lanes, "lane {lane} is behind the last partition");
        // SAFETY: each partition has `pitch` bytes, and a row is inside its partition.
        unsafe { self.first.add(lane * self.pitch) }
    }
}

/// The rows as floats; a row that is not aligned for that is empty.
#[inline(always)]
fn floats(row: &[u8]) -> &[f32] {
    // SAFETY: any bits are a float.
    unsafe { row.align_to().1 }
}

/// See [`floats`].
#[inline(always)]
fn floats_mut(row: &mut [u8]) -> &mut [f32] {
    // SAFETY: any bits are a float.
    unsafe { row.align_to_mut().1 }
}

/// `op` of two FP32 rows in every lane. The rows are aligned.
pub(super) fn tensors(op: AluOp, direct: &mut Direct<'_, 2>, lanes: usize) -> Result<(), UnsupportedOp> {
    map2_lanes(op, &mut Tensors(direct), lanes)
}

struct Tensors<'d, 'c>(&'d mut Direct<'c, 2>);

impl LaneRows for Tensors<'_, '_> {
    fn rows(&mut self, lane: usize) -> (Rhs<'_, f32>, Rhs<'_, f32>, &mut [f32]) {
        let ([a, b], out) = self.0.rows(lane);
        (Rhs::Row(floats(a)), Rhs::Row(floats(b)), floats_mut(out))
    }
}

/// An operator, whether it exchanges its operands, and its scalar in every lane.
pub(super) type WithScalar<'s> = (AluOp, bool, &'s [f32; PARTITIONS]);

/// One or two operators with scalars on FP32 rows in every lane. The rows are aligned.
pub(super) fn scalars(
    first: WithScalar<'_>,
    second: Option<WithScalar<'_>>,
    direct: &mut Direct<'_, 1>,
    lanes: usize,
) -> Result<(), UnsupportedOp> {
    /// Floats between the operators: half of the first cache.
    const BETWEEN: usize = 4096;
    let Some(second) = second else {
        return map2_lanes(first.0, &mut Through { direct, step: first }, lanes);
    };
    let row = direct.destination.bytes / 4;
    let together = if direct.independent { (BETWEEN / row.max(1)).max(1) } else { 1 };
    let mut between = vec![0.0; together * row];
    for base in (0..lanes).step_by(together) {
        let block = together.min(lanes - base);
        map2_lanes(first.0, &mut In { direct, step: first, base, between: &mut between }, block)?;
        map2_lanes(second.0, &mut Out { direct, step: second, base, between: &between }, block)?;
    }
    Ok(())
}

/// From memory to memory.
struct Through<'d, 'c, 's> {
    direct: &'d mut Direct<'c, 1>,
    step: WithScalar<'s>,
}

/// From memory to the rows between two operators; lane 0 of a block is `base`.
struct In<'d, 'c, 's> {
    direct: &'d mut Direct<'c, 1>,
    step: WithScalar<'s>,
    base: usize,
    between: &'d mut [f32],
}

/// From the rows between two operators to memory.
struct Out<'d, 'c, 's> {
    direct: &'d mut Direct<'c, 1>,
    step: WithScalar<'s>,
    base: usize,
    between: &'d [f32],
}

/// Left and right operand.
#[inline]
fn operands<'r>((op, reverse, scalars): WithScalar<'_>, row: &'r [f32], lane: usize) -> [Rhs<'r, f32>; 2] {
    let (row, scalar) = (Rhs::Row(row), Rhs::Scalar(scalars[lane]));
    if reverse && !op.is_unary() { [scalar, row] } else { [row, scalar] }
}

impl LaneRows for Through<'_, '_, '_> {
    fn rows(&mut self, lane: usize) -> (Rhs<'_, f32>, Rhs<'_, f32>, &mut [f32]) {
        let ([from], out) = self.direct.rows(lane);
        let [left, right] = operands(self.step, floats(from), lane);
        (left, right, floats_mut(out))
    }
}

impl LaneRows for In<'_, '_, '_> {
    fn rows(&mut self, lane: usize) -> (Rhs<'_, f32>, Rhs<'_, f32>, &mut [f32]) {
        let ([from], _) = self.direct.rows(self.base + lane);
        let from = floats(from);
        let [left, right] = operands(self.step, from, self.base + lane);
        (left, right, &mut self.between[lane * from.len()..][..from.len()])
    }
}

impl LaneRows for Out<'_, '_, '_> {
    fn rows(&mut self, lane: usize) -> (Rhs<'_, f32>, Rhs<'_, f32>, &mut [f32]) {
        let (_, out) = self.direct.rows(self.base + lane);
        let out = floats_mut(out);
        let from = &self.between[lane * out.len()..][..out.len()];
        let [left, right] = operands(self.step, from, self.base + lane);
        (left, right, out)
    }
}
