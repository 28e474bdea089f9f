//! LDWEIGHTS and MATMUL (chapter 05 section 2), MX included, in vector code.
//!
//! Both are bound once, which makes every check that does not depend on the state of the array, and then run as often
//! as the word comes up. They leave the array and the memories as the interpreter does.

use super::matmul::{self, Order, PANEL, Rounding, Sink, Stationary};
use super::matmul_amx::{self, Amx, PackedWeights};
use super::pe_moving::{Adjust, Moving, Source, lowest_exponent, scale_quads};
use super::transpose::{self, SQUARE};
use crate::interp::pe::{MAX_LANES, Multiply, ResultKind, Tile, WeightLoad, flushes, mx, operand};
use crate::interp::{Cursor, Exec, FaultKind, Walk};
use crate::isa::field::Fp32Mode;
use crate::isa::{Decoded, Dtype, PARTITIONS, Space};
use crate::machine::{Core, Partitions, PeState, Rows};
use crate::num::dispatch::multiversion;
use crate::num::{self, Fp8, canonical};
use crate::parallel;

/// The weights of a tile of the array, packed for tile registers.
#[derive(Clone, Debug)]
pub(crate) struct PackedTile {
    tile: Tile,
    weights: PackedWeights,
}

/// LDWEIGHTS with its operands.
#[derive(Clone, Copy, Debug)]
pub struct LoadWeights(WeightLoad);

impl LoadWeights {
    /// Resolves the operands of a word.
    ///
    /// # Errors
    /// The fault that the interpreter would raise.
    pub fn bind(x: &Exec<'_>, w: &Decoded) -> Result<LoadWeights, FaultKind> {
        WeightLoad::new(x, w).map(LoadWeights)
    }

    /// Loads the weights.
    pub fn run(&self, x: &mut Exec<'_>) {
        let WeightLoad { c, tagged, forward, walk, scales } = &self.0;
        let Core { sbuf, psum, pe, spec, .. } = x.core();
        let memory = if walk.space == Space::Sbuf { &*sbuf } else { &*psum };
        let mut row = WeightRow::default();
        for r in 0..c.tile.rows {
            if let Some(scales) = scales {
                row.read_scaled(walk, memory, r, c.dtype, scales.of_row(sbuf, r));
            } else {
                row.read(walk, memory, r);
                if *tagged {
                    row.split_tags(pe, &self.0, r);
                }
                row.convert(walk.count, c.dtype, spec.fp8, Adjust::of(c));
            }
            for j in 0..c.packing.lanes() {
                let at = PeState::cell(j, c.tile.first_row + r, c.tile.first_col);
                let cells = at..at + c.tile.cols;
                let position = |e| c.packing.stationary(e, j, c.tile.cols);
                let (first, step) = (position(0), position(1) - position(0));
                place(
                    &row.raw[first..],
                    &row.values[first..],
                    (step, *forward),
                    &mut pe.raw[cells.clone()],
                    &mut pe.weights[cells],
                );
            }
        }
        self.0.note_loaded(pe);
    }
}

/// The elements of one row of weights, in the order of the walk.
struct WeightRow {
    bytes: [u8; Self::ELEMENTS * 4],
    raw: [u32; Self::ELEMENTS],
    values: [f32; Self::ELEMENTS],
}

impl Default for WeightRow {
    fn default() -> Self {
        WeightRow { bytes: [0; _], raw: [0; _], values: [0.0; _] }
    }
}

impl WeightRow {
    const ELEMENTS: usize = MAX_LANES * PARTITIONS;

    /// Reads one lane.
    fn read(&mut self, walk: &Walk, memory: &Partitions, lane: usize) {
        let bytes = &mut self.bytes[..walk.count * walk.size];
        walk.gather(&mut walk.start(), memory, lane, bytes);
        widen(bytes, walk.size, &mut self.raw[..walk.count]);
    }

    /// Takes the tags off {weight, tag} pairs (chapter 05 section 2.2).
    fn split_tags(&mut self, pe: &mut PeState, load: &WeightLoad, row: usize) {
        for (e, pair) in self.raw[..load.walk.count].iter_mut().enumerate() {
            let at = PeState::cell(0, load.c.tile.first_row + row, load.column(e));
            pe.tags[at] = (*pair >> 16 & 0xF) as u8;
            *pair &= 0xFFFF;
            self.bytes[2 * e..2 * e + 2].copy_from_slice(&(*pair as u16).to_le_bytes());
        }
    }

    /// The values of the elements as the array multiplies them.
    fn convert(&mut self, count: usize, dtype: Dtype, fp8: Fp8, adjust: Adjust) {
        let values = &mut self.values[..count];
        num::unpack(&self.bytes[..count * dtype.bytes()], dtype, fp8, values);
        adjust.apply(values);
    }
}

impl WeightRow {
    /// Reads one lane of an MX operand: elements and their values.
    fn read_scaled(&mut self, walk: &Walk, memory: &Partitions, lane: usize, dtype: Dtype, scales: &[u8]) {
        let bytes = walk.as_slice(memory, lane).unwrap_or_default();
        let count = mx::LANES * scales.len();
        if dtype == Dtype::FP4_EXP2 {
            for (two, byte) in self.raw[..count].as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
                *two = [u32::from(byte & 0xF), u32::from(byte >> 4)];
            }
        } else {
            widen(bytes, walk.size, &mut self.raw[..count]);
        }
        let values = &mut self.values[..count];
        num::unpack(bytes, dtype, mx::FLAVOUR, values);
        scale_quads(values, scales);
        Adjust::new(dtype, Fp32Mode::NONE, 0).apply(values);
    }
}

multiversion! {
    /// Packed elements of 1, 2 or 4 bytes, zero-extended.
    fn widen(bytes: &[u8], size: usize, raw: &mut [u32]) {
        match size {
            1 => raw.iter_mut().zip(bytes).for_each(|(to, b)| *to = u32::from(*b)),
            2 => raw.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, b)| *to = u16::from_le_bytes(*b).into()),
            _ => raw.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, b)| *to = u32::from_le_bytes(*b)),
        }
    }
}

multiversion! {
    /// Every `step`th element of a row goes to the cells of a row of the array, the first to the last column or,
    /// `forward`, to the first one.
    fn place(from_raw: &[u32], from: &[f32], how: (usize, bool), raw: &mut [u32], weights: &mut [f32]) {
        let ((step, forward), columns) = (how, raw.len());
        if step == 1 && !forward {
            raw.iter_mut().zip(from_raw[..columns].iter().rev()).for_each(|(to, v)| *to = *v);
            weights.iter_mut().zip(from[..columns].iter().rev()).for_each(|(to, v)| *to = *v);
        } else {
            for e in 0..columns {
                let column = if forward { e } else { columns - 1 - e };
                raw[column] = from_raw[step * e];
                weights[column] = from[step * e];
            }
        }
    }
}

/// MATMUL with its operands: a product, or one for the columns up to 128 and one for those above.
#[derive(Clone, Debug)]
pub struct MatMul(Vec<Pass>);

impl MatMul {
    /// Resolves the operands of a word.
    ///
    /// # Errors
    /// The fault that the interpreter would raise whatever weights are loaded.
    pub fn bind(x: &Exec<'_>, w: &Decoded) -> Result<MatMul, FaultKind> {
        Ok(MatMul(Multiply::for_later(x, w)?.passes().map(Pass).collect()))
    }

    /// Multiplies. `false`: the weights are not for this word; nothing has been done.
    pub fn run(&self, x: &mut Exec<'_>) -> bool {
        let pe = &x.core().pe;
        if !self.0.iter().all(|pass| pass.0.fits(pe)) {
            return false;
        }
        self.0.iter().for_each(|pass| pass.run(x));
        true
    }
}

/// A product whose columns have a lane of PSUM each.
#[derive(Clone, Copy, Debug)]
struct Pass(Multiply);

impl Pass {
    fn run(&self, x: &mut Exec<'_>) {
        self.0.warn_unwritten(x);
        let Multiply { c, result, cells, .. } = &self.0;
        let mut moving = Moving::take();
        let core = x.core();
        let order = Order::new(c.packing.lanes(), c.tile.rows);
        if self.uses_tiles(&mut core.pe, &order) {
            moving.gather_tiles(&Source::of(&self.0, core), &order);
            self.floats_in_tiles(core, &order, &moving);
        } else {
            // A transposing word looks at the moving operand before it is adjusted.
            let transposing = matches!(result, ResultKind::Raw(_));
            let adjust = if transposing { Adjust::Keep } else { Adjust::of(c) };
            let lowest = moving.gather(&Source::of(&self.0, core), &order, adjust);
            match result {
                ResultKind::Fp32 | ResultKind::Bf16 => self.floats(core, &order, &moving, lowest),
                ResultKind::Uint32 => self.integers(core, &order, &moving),
                ResultKind::Raw(dtype) => match one_hot_rows(&order, &moving) {
                    Some(rows) => self.copy(core, &moving, &rows),
                    None => self.cast(core, &order, &mut moving, *dtype),
                },
            }
        }
        note_written(cells, &mut core.psum, c.tile.cols);
        moving.keep();
    }

    /// Where the first column of each summand lies in the array.
    fn offsets(&self, order: &Order) -> Vec<usize> {
        let tile = self.0.c.tile;
        order.summands.iter().map(|(j, r)| PeState::cell(*j, tile.first_row + r, tile.first_col)).collect()
    }

    /// How the sums of these weights round.
    fn rounding(&self, weights: &[f32], offsets: &[usize], lowest_moving: u32) -> Rounding {
        if !flushes(self.0.c.dtype) {
            return Rounding::Ieee;
        }
        let columns = self.0.c.tile.cols;
        let rows = offsets.iter().map(|at| lowest_exponent(&weights[*at..][..columns]));
        Rounding::of_rows(rows.min(), lowest_moving)
    }

    /// Whether tile registers can do this word; the weights are packed for them then.
    fn uses_tiles(&self, pe: &mut PeState, order: &Order) -> bool {
        let c = &self.0.c;
        let floats = matches!(self.0.result, ResultKind::Fp32 | ResultKind::Bf16);
        if !floats || !flushes(c.dtype) || Amx::new().is_none() {
            return false;
        }
        if !pe.packed[self.slot()].as_ref().is_some_and(|packed| packed.tile == c.tile) {
            let weights = PackedWeights::new(&pe.weights, &self.offsets(order), order, c.tile.cols);
            let Some(weights) = weights else { return false };
            pe.packed[self.slot()] = Some(PackedTile { tile: c.tile, weights });
        }
        true
    }

    /// Which packed weights the columns use.
    fn slot(&self) -> usize {
        self.0.c.tile.first_col / PARTITIONS
    }

    fn floats_in_tiles(&self, core: &mut Core, order: &Order, moving: &Moving) {
        let Core { psum, pe, .. } = core;
        let Some(packed) = &pe.packed[self.slot()] else { return };
        self.parts(psum, order.summands.len(), matmul_amx::COLUMNS, |first_column, columns, mut rows| {
            let Some(mut tiles) = Amx::new() else { return };
            let mut cursor = self.0.cells.start();
            for (first, width) in moving.widths() {
                let mut sums = self.sink(&mut rows, &mut cursor, width, columns);
                let weights = packed.weights.columns(first_column, columns);
                matmul_amx::product(&mut tiles, weights, &moving.tiles, first, width, &mut sums);
            }
        });
    }

    fn floats(&self, core: &mut Core, order: &Order, moving: &Moving, lowest: u32) {
        let Core { psum, pe, .. } = core;
        let offsets = self.offsets(order);
        let rounding = self.rounding(&pe.weights, &offsets, lowest);
        self.parts(psum, offsets.len(), matmul::MAX_COLUMNS, |first_column, columns, mut rows| {
            let mut cursor = self.0.cells.start();
            let offsets: Vec<usize> = offsets.iter().map(|at| at + first_column).collect();
            let stationary = Stationary { values: &pe.weights, offsets: &offsets, order, columns };
            for (_, width, panel) in moving.panels() {
                let mut sums = self.sink(&mut rows, &mut cursor, width, columns);
                matmul::product(&stationary, panel, width, rounding, &mut sums);
            }
        });
    }

    /// Splits the columns of the tile among threads, in multiples of `step`: `body(first column, columns, their
    /// partitions of PSUM)`.
    fn parts(
        &self,
        psum: &mut Partitions,
        summands: usize,
        step: usize,
        body: impl Fn(usize, usize, Rows<'_>) + Sync,
    ) {
        let Multiply { c, cells, .. } = &self.0;
        parts(psum, cells, c.tile.cols, summands, step, body);
    }

    /// The next `width` cells of some columns.
    fn sink<'a, 'r>(
        &self,
        rows: &'a mut Rows<'r>,
        cursor: &mut Cursor,
        width: usize,
        columns: usize,
    ) -> Cells<'a, 'r> {
        let Multiply { begin, result, cells, .. } = &self.0;
        Cells::next(rows, cells, cursor, width, columns, (*result, *begin))
    }

    /// UINT8 operands: wrapping 32-bit sums (decision 05-11).
    fn integers(&self, core: &mut Core, order: &Order, moving: &Moving) {
        let Multiply { c, begin, cells, .. } = &self.0;
        let Core { psum, pe, .. } = core;
        let offsets = self.offsets(order);
        let mut cursor = cells.start();
        for (_, width, panel) in moving.panels() {
            let segments = segments(cells, &mut cursor, width);
            for column in 0..c.tile.cols {
                let weights = offsets.iter().map(|at| pe.weights[at + column] as i32);
                let sums = integer_sums(&weights.collect::<Vec<_>>(), panel);
                let row = psum.partition_mut(cells.partition + column);
                each_cell(row, &segments, |n, old: [u8; 4]| {
                    let old = if *begin { 0 } else { i32::from_le_bytes(old) };
                    old.wrapping_add(sums[n]).to_le_bytes()
                });
            }
        }
    }

    /// A copy-transpose: position `n` passes the raw elements of row `rows[n]` (chapter 05 section 2.3.4).
    fn copy(&self, core: &mut Core, moving: &Moving, rows: &[usize]) {
        let Multiply { c, cells, .. } = &self.0;
        let tile = c.tile;
        let Core { psum, pe, .. } = core;
        let mut cursor = cells.start();
        for (first, width, _) in moving.panels() {
            let segments = segments(cells, &mut cursor, width);
            for column in (0..tile.cols).step_by(SQUARE) {
                let raw = |n: usize| {
                    let row = tile.first_row + rows[(first + n).min(rows.len() - 1)];
                    let at = PeState::cell(0, row, tile.first_col + column);
                    // Rows of the array are wider than there are columns.
                    pe.raw[at..].first_chunk().unwrap_or(&[0; SQUARE])
                };
                let mut out = [[0; PANEL]; SQUARE];
                for n in (0..width).step_by(SQUARE) {
                    let square = transpose::square(&std::array::from_fn(|k| raw(n + k)));
                    for (out, row) in out.iter_mut().zip(&square) {
                        out[n..n + SQUARE].copy_from_slice(row);
                    }
                }
                for (k, out) in out.iter().enumerate().take(tile.cols - column) {
                    store_bits(psum.partition_mut(cells.partition + column + k), &segments, cells.size, out);
                }
            }
        }
    }

    /// A transposing word whose moving operand is no permutation: columns that are not one-hot are products with
    /// the whole weights, cast to the input's dtype (decision 05-10).
    fn cast(&self, core: &mut Core, order: &Order, moving: &mut Moving, dtype: Dtype) {
        let Multiply { c, cells, .. } = &self.0;
        let tile = c.tile;
        let hot = one_hot(order, moving);
        let lowest = moving.gather(&Source::of(&self.0, core), order, Adjust::of(c));
        let Core { psum, pe, spec, .. } = core;
        let offsets = self.offsets(order);
        let whole = |raw: &u32| operand(*raw, dtype, Fp32Mode(0), 0, spec.fp8);
        let mut weights = vec![0.0; pe.raw.len()];
        for row in &offsets {
            let raw = &pe.raw[*row..][..tile.cols];
            weights[*row..].iter_mut().zip(raw).for_each(|(to, raw)| *to = whole(raw));
        }
        let rounding = self.rounding(&weights, &offsets, lowest);
        let stationary = Stationary { values: &weights, offsets: &offsets, order, columns: tile.cols };
        let mut cursor = cells.start();
        for (first, width, panel) in moving.panels() {
            let segments = segments(cells, &mut cursor, width);
            let mut sums = Sums(vec![[0.0; PANEL]; tile.cols]);
            matmul::product(&stationary, panel, width, rounding, &mut sums);
            for (column, sums) in sums.0.iter().enumerate() {
                let mut bits = [0; PANEL];
                for (n, bits) in bits.iter_mut().enumerate().take(width) {
                    *bits = match hot[first + n] {
                        Some(row) => pe.raw[PeState::cell(0, tile.first_row + row, tile.first_col + column)],
                        None => num::from_f32(sums[n], dtype, spec.fp8),
                    };
                }
                store_bits(psum.partition_mut(cells.partition + column), &segments, cells.size, &bits);
            }
        }
    }
}

/// For each position, the row that is 1.0 while all others are zero.
fn one_hot(order: &Order, moving: &Moving) -> Vec<Option<usize>> {
    let mut rows = Vec::new();
    for (_, width, panel) in moving.panels() {
        let mut hot = Hot { nonzero: [0; PANEL], summand: [0; PANEL], ones: [0; PANEL] };
        find_hot(panel, &mut hot);
        rows.extend((0..width).map(|n| {
            let only = hot.nonzero[n] == 1 && hot.ones[n] == 1;
            only.then(|| order.summands[hot.summand[n] as usize].1)
        }));
    }
    rows
}

/// The rows of [`one_hot`], if every position has one.
fn one_hot_rows(order: &Order, moving: &Moving) -> Option<Vec<usize>> {
    one_hot(order, moving).into_iter().collect()
}

/// For each position of a panel: values that are not zero, the last of them, and those that are 1.0.
struct Hot {
    nonzero: [u32; PANEL],
    summand: [u32; PANEL],
    ones: [u32; PANEL],
}

multiversion! {
    fn find_hot(panel: &[f32], hot: &mut Hot) {
        for (summand, values) in panel.as_chunks::<PANEL>().0.iter().enumerate() {
            for (n, value) in values.iter().enumerate() {
                let nonzero = *value != 0.0;
                hot.nonzero[n] += u32::from(nonzero);
                hot.ones[n] += u32::from(*value == 1.0);
                hot.summand[n] = if nonzero { summand as u32 } else { hot.summand[n] };
            }
        }
    }
}

multiversion! {
    /// Wrapping sums of a column of weights with a panel.
    fn integer_sums(weights: &[i32], panel: &[f32]) -> [i32; PANEL] {
        let mut sums = [0i32; PANEL];
        for (weight, values) in weights.iter().zip(panel.as_chunks::<PANEL>().0) {
            for n in 0..PANEL {
                sums[n] = sums[n].wrapping_add(weight.wrapping_mul(values[n] as i32));
            }
        }
        sums
    }
}

/// Elements of a walk that follow each other at one step: first byte, step in bytes, elements.
#[derive(Clone, Copy, Debug)]
struct Segment {
    at: usize,
    step: isize,
    count: usize,
}

/// The next `width` elements of a walk.
fn segments(walk: &Walk, cursor: &mut Cursor, width: usize) -> Vec<Segment> {
    let (mut segments, mut left) = (Vec::new(), width);
    while left > 0 {
        let (at, step, count) = walk.next_run(cursor, left);
        segments.push(Segment { at: at as usize, step, count });
        left -= count;
    }
    segments
}

/// Replaces cells of `N` bytes of one partition in walk order: `body(n, old)` gives the new bytes of element `n` of
/// the segments. A cell that comes up twice sees its own first value.
#[inline(always)]
fn each_cell<const N: usize>(row: &mut [u8], segments: &[Segment], body: impl Fn(usize, [u8; N]) -> [u8; N]) {
    let mut first = 0;
    for segment in segments {
        if segment.step == N as isize {
            let cells = row[segment.at..][..segment.count * N].as_chunks_mut::<N>().0;
            for (n, cell) in cells.iter_mut().enumerate() {
                *cell = body(first + n, *cell);
            }
        } else {
            for n in 0..segment.count {
                let at = segment.at.wrapping_add_signed(n as isize * segment.step);
                if let Some(cell) = row[at..].first_chunk_mut() {
                    *cell = body(first + n, *cell);
                }
            }
        }
        first += segment.count;
    }
}

multiversion! {
    /// Writes the low bits of values to cells of 2 or 4 bytes.
    fn store_bits(row: &mut [u8], segments: &[Segment], size: usize, bits: &[u32; PANEL]) {
        if size == 2 {
            each_cell(row, segments, |n, _: [u8; 2]| (bits[n] as u16).to_le_bytes());
        } else {
            each_cell(row, segments, |n, _: [u8; 4]| bits[n].to_le_bytes());
        }
    }
}

/// Splits columns of a word among threads, in multiples of `step`: `body(first column, columns, their partitions of
/// PSUM)`. `cells` are those of one column, each of which is a sum of so many summands.
pub(super) fn parts(
    psum: &mut Partitions,
    cells: &Walk,
    columns: usize,
    summands: usize,
    step: usize,
    body: impl Fn(usize, usize, Rows<'_>) + Sync,
) {
    let part = parallel::part(columns, step, columns * summands * cells.count);
    let rows = psum.rows_mut(cells.partition, columns);
    parallel::for_each(rows.parts(part).enumerate(), |(number, rows)| {
        let first = number * part;
        body(first, part.min(columns - first), rows);
    });
}

/// Sums go to PSUM.
pub(super) struct Cells<'a, 'r> {
    rows: &'a mut Rows<'r>,
    segments: Vec<Segment>,
    columns: usize,
    result: ResultKind,
    begin: bool,
}

impl<'a, 'r> Cells<'a, 'r> {
    /// The next `width` cells of some columns; what they hold, and whether sums replace it.
    pub(super) fn next(
        rows: &'a mut Rows<'r>,
        cells: &Walk,
        cursor: &mut Cursor,
        width: usize,
        columns: usize,
        (result, begin): (ResultKind, bool),
    ) -> Cells<'a, 'r> {
        let segments = segments(cells, cursor, width);
        Cells { rows, segments, columns, result, begin }
    }
}

impl Sink for Cells<'_, '_> {
    #[inline(always)]
    fn take(&mut self, column: usize, sums: &[[f32; PANEL]]) {
        for (k, sums) in sums.iter().enumerate().take(self.columns - column) {
            let row = self.rows.row_mut(column + k);
            let (result, begin) = (self.result, self.begin);
            match (result, begin) {
                (ResultKind::Bf16, _) => each_cell(row, &self.segments, |n, old: [u8; 2]| {
                    let new = result.updated(u16::from_le_bytes(old).into(), sums[n], begin);
                    (new as u16).to_le_bytes()
                }),
                (_, true) => each_cell(row, &self.segments, |n, _: [u8; 4]| canonical(sums[n]).to_le_bytes()),
                (_, false) => each_cell(row, &self.segments, |n, old| {
                    canonical(f32::from_le_bytes(old) + sums[n]).to_le_bytes()
                }),
            }
        }
    }
}

/// Sums are kept, column by column.
struct Sums(Vec<[f32; PANEL]>);

impl Sink for Sums {
    fn take(&mut self, column: usize, sums: &[[f32; PANEL]]) {
        for (to, sums) in self.0[column..].iter_mut().zip(sums) {
            *to = *sums;
        }
    }
}

/// Records the cells as the interpreter does: a run at a time, or cell by cell where one may come up twice.
pub(super) fn note_written(cells: &Walk, memory: &mut Partitions, columns: usize) {
    if !memory.tracks_writes() {
        return;
    }
    if !cells.is_injective() {
        return cells.note_written(memory, columns);
    }
    let runs = segments(cells, &mut cells.start(), cells.count);
    for column in 0..columns {
        for run in &runs {
            if run.step == cells.size as isize {
                memory.note_written(cells.partition + column, run.at, run.count * cells.size);
                continue;
            }
            for n in 0..run.count {
                let at = run.at.wrapping_add_signed(n as isize * run.step);
                memory.note_written(cells.partition + column, at, cells.size);
            }
        }
    }
}
