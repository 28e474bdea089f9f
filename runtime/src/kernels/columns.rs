//! Sixteen lanes side by side, for words that are serial along a lane: element `k` of all of them is column `k`, one
//! or a few vectors, and each step of all lanes is one instruction.

use std::ops::Range;

use super::rows::{Stream, floats};
use super::transpose;
use crate::interp::Walk;
use crate::interp::lanes::TILE;
use crate::isa::Dtype;
use crate::machine::Core;
use crate::num::{self, Fp8};
pub(super) use crate::num::{Column, LANES};

/// Columns worked on at a time: two operands and a result of them fit into the first cache.
pub(super) const COLUMNS: usize = 192;

/// One operand of the lanes of a group.
pub(super) struct Block<'w> {
    streams: [Stream<'w>; LANES],
    rows: [Vec<f32>; LANES],
    dtype: Dtype,
    fp8: Fp8,
}

impl<'w> Block<'w> {
    pub(super) fn new(walk: &'w Walk, dtype: Dtype, fp8: Fp8) -> Block<'w> {
        let streams = std::array::from_fn(|_| Stream::new(walk));
        Block { streams, rows: Default::default(), dtype, fp8 }
    }

    /// Back to element 0, for the next lanes.
    pub(super) fn restart(&mut self) {
        self.streams.iter_mut().for_each(Stream::restart);
    }

    /// The next elements of some lanes. Lanes that are not among them hold anything.
    pub(super) fn load(&mut self, core: &Core, lanes: Range<usize>, columns: &mut [Column]) {
        let (dtype, fp8) = (self.dtype, self.fp8);
        let mut rows: [&[f32]; LANES] = [&[]; LANES];
        let streams = self.streams.iter_mut().zip(&mut self.rows);
        for ((row, lane), (stream, scratch)) in rows.iter_mut().zip(lanes.clone()).zip(streams) {
            *row = floats(stream.next(core, lane, columns.len()), dtype, fp8, scratch);
        }
        if lanes.len() == 1 {
            return columns.iter_mut().zip(rows[0]).for_each(|(column, value)| column[0] = *value);
        }
        let some = rows[0];
        rows[lanes.len()..].fill(some);
        transpose::columns(&rows, columns);
    }

    /// Writes the next elements of some lanes.
    pub(super) fn store(&mut self, core: &mut Core, lanes: Range<usize>, columns: &[Column]) {
        if columns.is_empty() {
            return;
        }
        let (dtype, fp8) = (self.dtype, self.fp8);
        self.rows.iter_mut().for_each(|row| row.resize(columns.len(), 0.0));
        if lanes.len() == 1 {
            self.rows[0].iter_mut().zip(columns).for_each(|(value, column)| *value = column[0]);
        } else {
            transpose::rows(columns, &mut self.rows);
        }
        for ((stream, row), lane) in self.streams.iter_mut().zip(&self.rows).zip(lanes) {
            stream.write(core, lane, row.len(), |out| num::pack(row, dtype, fp8, out));
        }
    }
}

/// How many lanes of a word may run side by side: [`LANES`] where no lane reads what another one writes.
pub(super) fn side_by_side(sources: &[&Walk], destination: &Walk, lanes: usize) -> usize {
    let own = |s: &Walk| s.space == destination.space && s.partition == destination.partition;
    let independent = sources.iter().all(|s| own(s) || s.is_apart_from(destination, lanes));
    if independent { LANES } else { 1 }
}

/// The lanes of a word in groups that run [`side_by_side`], ascending.
pub(super) fn groups(
    sources: &[&Walk],
    destination: &Walk,
    lanes: usize,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let together = side_by_side(sources, destination, lanes);
    (0..lanes).step_by(together).map(move |first| first..lanes.min(first + together))
}

/// The transposing reader (chapter 04 section 4.4): 32 lanes by 32 elements at a time, in which lane and element have
/// changed places, so that an element of all lanes is a piece of a row as it lies in memory.
pub(super) struct Tiles<'w> {
    streams: Vec<Stream<'w>>,
    scratch: Vec<f32>,
    dtype: Dtype,
    fp8: Fp8,
}

/// The columns of 32 lanes: of the lower and the upper half.
pub(super) type Tile = [[Column; TILE]; 2];

impl<'w> Tiles<'w> {
    pub(super) fn new(walk: &'w Walk, dtype: Dtype, fp8: Fp8) -> Tiles<'w> {
        let streams = (0..TILE).map(|_| Stream::new(walk)).collect();
        Tiles { streams, scratch: Vec::new(), dtype, fp8 }
    }

    /// Back to element 0, for the next lanes.
    pub(super) fn restart(&mut self) {
        self.streams.iter_mut().for_each(Stream::restart);
    }

    /// The next tile of the lanes from `first` on.
    pub(super) fn load(&mut self, core: &Core, first: usize, [low, high]: &mut Tile) {
        for (element, stream) in self.streams.iter_mut().enumerate() {
            let packed = stream.next(core, first + element, TILE);
            let row = floats(packed, self.dtype, self.fp8, &mut self.scratch);
            low[element].copy_from_slice(&row[..LANES]);
            high[element].copy_from_slice(&row[LANES..]);
        }
    }
}
