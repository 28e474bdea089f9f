//! The moving operand of a MATMUL, laid out for the kernels: panels of some positions, in each a row for every
//! summand in the order of the sum.

use std::cell::Cell;

use super::matmul::{Order, PANEL};
use super::matmul_amx::PackedMoving;
use crate::interp::Walk;
use crate::interp::pe::mx::{self, Scales};
use crate::interp::pe::{Common, Multiply, flushes};
use crate::isa::Dtype;
use crate::isa::field::Fp32Mode;
use crate::machine::{Core, Partitions};
use crate::num::dispatch::multiversion;
use crate::num::{self, Fp8};

/// What happens to an operand between its conversion to fp32 and the array (chapter 05 sections 2.1, 2.3.5, 2.4).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Adjust {
    /// Nothing.
    Keep,
    /// Subnormals become zero of their sign.
    Flush,
    /// A zero point is taken off.
    Subtract(f32),
    /// The high part of fp32 (decision 05-12).
    High,
    /// The low part.
    Low,
}

impl Adjust {
    /// What happens to the operands of a word.
    pub(super) fn of(c: &Common) -> Adjust {
        Adjust::new(c.dtype, c.fp32_mode, c.zero_point)
    }

    /// What happens to operands of a datatype.
    pub(super) fn new(dtype: Dtype, mode: Fp32Mode, zero_point: u8) -> Adjust {
        match (dtype, mode) {
            (Dtype::UINT8, _) => Adjust::Subtract(zero_point.into()),
            (Dtype::FP32, Fp32Mode::HIGH) => Adjust::High,
            (Dtype::FP32, Fp32Mode::LOW) => Adjust::Low,
            _ if flushes(dtype) => Adjust::Flush,
            _ => Adjust::Keep,
        }
    }

    /// Does it.
    pub(super) fn apply(self, values: &mut [f32]) {
        match self {
            Adjust::Keep => {}
            other => adjust(values, other),
        }
    }
}

multiversion! {
    fn adjust(values: &mut [f32], how: Adjust) {
        /// Bits that the high part has.
        const HIGH: u32 = u32::MAX << crate::interp::pe::FP32_LO_BITS;
        let high = |v: f32| f32::from_bits(v.to_bits() & if v.is_finite() { HIGH } else { u32::MAX });
        match how {
            Adjust::Keep => {}
            Adjust::Flush => {
                for v in values {
                    let subnormal = v.abs() < f32::MIN_POSITIVE;
                    *v = f32::from_bits(v.to_bits() & if subnormal { 1 << 31 } else { u32::MAX });
                }
            }
            Adjust::Subtract(zero) => values.iter_mut().for_each(|v| *v -= zero),
            Adjust::High => values.iter_mut().for_each(|v| *v = high(*v)),
            Adjust::Low => values.iter_mut().for_each(|v| *v = if v.is_finite() { *v - high(*v) } else { 0.0 }),
        }
    }
}

multiversion! {
    /// The lowest exponent field of all values but zeros and subnormals; 255 where there is none.
    pub(super) fn lowest_exponent(values: &[f32]) -> u32 {
        // Zero less one is the highest of all.
        values.iter().fold(254, |low, v| low.min((v.to_bits() >> 23 & 0xFF).wrapping_sub(1))) + 1
    }
}

multiversion! {
    /// Multiplies each four elements by their scale.
    pub(super) fn scale_quads(values: &mut [f32], scales: &[u8]) {
        for (quad, scale) in values.as_chunks_mut::<{ mx::LANES }>().0.iter_mut().zip(scales) {
            let factor = power_of_two(*scale);
            quad.iter_mut().for_each(|v| *v *= factor);
        }
    }
}

/// The value of a code of E8M0, 2^(code - 127).
#[inline(always)]
fn power_of_two(code: u8) -> f32 {
    match code {
        0 => f32::from_bits(0x0040_0000),
        0xFF => num::CANONICAL_NAN,
        code => f32::from_bits(u32::from(code) << 23),
    }
}

multiversion! {
    /// Four elements side by side go to four rows, one behind the other.
    fn part_quads(quads: &[f32], rows: &mut [f32]) {
        let n = quads.len() / mx::LANES;
        for (at, quad) in quads.as_chunks::<{ mx::LANES }>().0.iter().enumerate() {
            for (lane, value) in quad.iter().enumerate() {
                rows[lane * n + at] = *value;
            }
        }
    }
}

/// Where the moving operand of a word lies.
pub(super) struct Source<'a> {
    /// One lane a row of the tile.
    pub(super) walk: &'a Walk,
    pub(super) memory: &'a Partitions,
    pub(super) dtype: Dtype,
    pub(super) fp8: Fp8,
    /// Of an MX operand, and the memory that holds them.
    pub(super) scales: Option<(Scales, &'a Partitions)>,
}

impl<'a> Source<'a> {
    /// The operand of a MATMUL.
    pub(super) fn of(word: &'a Multiply, core: &'a Core) -> Source<'a> {
        Source {
            walk: &word.moving,
            memory: core.memory(word.moving.space),
            dtype: word.c.dtype,
            fp8: core.spec.fp8,
            scales: word.scales.map(|scales| (scales, &core.sbuf)),
        }
    }

    /// Elements of a row; those of FP4 come four a cell.
    fn elements(&self) -> usize {
        self.walk.count * if self.dtype == Dtype::FP4_EXP2 { mx::LANES } else { 1 }
    }
}

thread_local! {
    /// Buffers of the last word of this thread.
    static MOVING: Cell<Moving> = Cell::default();
}

/// Memory that a kernel works in; kept by the thread, so that words do not allocate.
#[derive(Default)]
pub(super) struct Moving {
    panels: Vec<f32>,
    row: Vec<f32>,
    /// A row of an MX operand, its contraction lanes side by side.
    scaled: Vec<f32>,
    bytes: Vec<u8>,
    /// The operand for tile registers, see [`Moving::gather_tiles`].
    pub(super) tiles: PackedMoving,
    summands: usize,
    positions: usize,
}

impl Moving {
    /// The buffers of this thread; [`Moving::keep`] gives them back.
    pub(super) fn take() -> Moving {
        MOVING.take()
    }

    /// Keeps the buffers for the next word.
    pub(super) fn keep(self) {
        MOVING.set(self);
    }

    /// Reads the operand of a word for tile registers, which flush subnormals themselves. Its datatype is one that
    /// fits bfloat16, its rows have one contraction lane.
    pub(super) fn gather_tiles(&mut self, source: &Source<'_>, order: &Order) {
        let Source { walk, memory, dtype, .. } = *source;
        let mut tiles = std::mem::take(&mut self.tiles);
        tiles.reset(order, walk.count);
        if dtype == Dtype::BFLOAT16 && walk.as_slice(memory, 0).is_some() {
            self.positions = walk.count;
            let row = |summand: usize| walk.as_slice(memory, order.summands[summand].1).unwrap_or_default();
            tiles.place_rows(order, row);
        } else {
            self.gather(source, order, Adjust::Keep);
            for (position, _, panel) in self.panels() {
                tiles.place_panel(order, position, panel);
            }
        }
        self.tiles = tiles;
    }

    /// Reads the operand of a word: one lane of the walk a row of the tile, the contraction lanes plane by plane
    /// (decisions 05-8, 05-9) or, in MX, side by side. Returns the lowest exponent field where tiny results matter,
    /// else 0.
    pub(super) fn gather(&mut self, source: &Source<'_>, order: &Order, adjust: Adjust) -> u32 {
        let Source { walk, memory, dtype, .. } = *source;
        let lanes = order.lanes();
        self.summands = order.summands.len();
        self.positions = source.elements() / lanes;
        let values = self.positions.div_ceil(PANEL) * self.summands * PANEL;
        if self.panels.len() < values {
            self.panels.resize(values, 0.0);
        }
        self.row.resize(source.elements(), 0.0);
        let plain = dtype == Dtype::FP32 && adjust == Adjust::Keep && lanes == 1;
        let mut lowest = u32::MAX;
        for first in (0..self.summands).step_by(lanes) {
            let (_, row) = order.summands[first];
            if plain && self.place_bytes(first, walk, memory, row) {
                continue;
            }
            match &source.scales {
                Some((scales, sbuf)) => self.read_scaled(source, row, scales.of_row(sbuf, row)),
                None => self.read(walk, memory, row, dtype, source.fp8),
            }
            adjust.apply(&mut self.row);
            if adjust == Adjust::Flush {
                lowest = lowest.min(lowest_exponent(&self.row));
            }
            let row = std::mem::take(&mut self.row);
            for (lane, values) in row.chunks_exact(self.positions).enumerate() {
                self.place(first + lane, 0, values, |v| v);
            }
            self.row = row;
        }
        self.clear_tail();
        if adjust == Adjust::Flush { lowest } else { 0 }
    }

    /// Converts one lane of an MX operand, and puts its contraction lanes apart.
    fn read_scaled(&mut self, source: &Source<'_>, lane: usize, scales: &[u8]) {
        let bytes = source.walk.as_slice(source.memory, lane).unwrap_or_default();
        let mut values = std::mem::take(&mut self.scaled);
        values.resize(self.row.len(), 0.0);
        num::unpack(bytes, source.dtype, mx::FLAVOUR, &mut values);
        scale_quads(&mut values, scales);
        part_quads(&values, &mut self.row);
        self.scaled = values;
    }

    /// Converts one lane of a walk to fp32.
    fn read(&mut self, walk: &Walk, memory: &Partitions, lane: usize, dtype: Dtype, fp8: Fp8) {
        let row = memory.partition(walk.partition + lane);
        let (mut cursor, mut done) = (walk.start(), 0);
        while done < walk.count {
            let mut ahead = cursor;
            let (at, step, run) = walk.next_run(&mut ahead, walk.count - done);
            let values = &mut self.row[done..done + run];
            if step == walk.size as isize {
                num::unpack(&row[at as usize..][..run * walk.size], dtype, fp8, values);
                cursor = ahead;
            } else {
                self.bytes.resize(run * walk.size, 0);
                walk.gather(&mut cursor, memory, lane, &mut self.bytes);
                num::unpack(&self.bytes, dtype, fp8, values);
            }
            done += run;
        }
    }

    /// Puts one lane of fp32 into the panels without a copy in between; `false` if it has steps.
    fn place_bytes(&mut self, summand: usize, walk: &Walk, memory: &Partitions, lane: usize) -> bool {
        let row = memory.partition(walk.partition + lane);
        let (mut cursor, mut done) = (walk.start(), 0);
        while done < walk.count {
            let (at, step, run) = walk.next_run(&mut cursor, walk.count - done);
            if step != walk.size as isize {
                return false;
            }
            let values = row[at as usize..][..run * walk.size].as_chunks().0;
            self.place(summand, done, values, f32::from_le_bytes);
            done += run;
        }
        true
    }

    /// Puts values of one summand into the panels, from a position on.
    #[inline]
    fn place<T: Copy>(
        &mut self,
        summand: usize,
        position: usize,
        mut values: &[T],
        value: impl Fn(T) -> f32,
    ) {
        let stride = self.summands * PANEL;
        let (mut panel, mut at) = (position / PANEL, position % PANEL);
        while !values.is_empty() {
            let (now, later) = values.split_at(values.len().min(PANEL - at));
            let row = &mut self.panels[panel * stride + summand * PANEL + at..][..now.len()];
            row.iter_mut().zip(now).for_each(|(to, v)| *to = value(*v));
            (panel, at, values) = (panel + 1, 0, later);
        }
    }

    /// Makes what is left of the last panel zero: kernels work on whole vectors.
    fn clear_tail(&mut self) {
        let (panel, used) = (self.positions / PANEL, self.positions % PANEL);
        if used > 0 {
            let rows = &mut self.panels[panel * self.summands * PANEL..][..self.summands * PANEL];
            rows.chunks_exact_mut(PANEL).for_each(|row| row[used..].fill(0.0));
        }
    }

    /// Panels: the first position, how many there are, and [`PANEL`] values for each summand.
    pub(super) fn panels(&self) -> impl Iterator<Item = (usize, usize, &[f32])> {
        let size = self.summands * PANEL;
        self.widths().map(move |(first, width)| (first, width, &self.panels[first / PANEL * size..][..size]))
    }

    /// Panels: the first position, and how many there are.
    pub(super) fn widths(&self) -> impl Iterator<Item = (usize, usize)> {
        let positions = self.positions;
        (0..positions).step_by(PANEL).map(move |first| (first, PANEL.min(positions - first)))
    }
}
