//! Words behind the transposing reader (chapter 04 section 4.4).

use super::columns::{Block, Column, LANES, Tiles};
use super::rows::Stream;
use super::transpose::{self, TILE};
use crate::interp::tensor_reduce::{Fold, Reduction, Scratch};
use crate::interp::tensor_scalar::{Chain, Operands, fetch};
use crate::interp::tensor_tensor::warn_division;
use crate::interp::{Exec, Walk};
use crate::machine::Core;
use crate::num;

/// Tiles that are transposed at a time: their rows fit into the first cache.
pub(super) const BATCH: usize = 4;

/// The lanes of a tensor in which lane and element have changed places, 32 lanes and some tiles at a time.
pub(super) struct Transposed<'w> {
    streams: [Stream<'w>; TILE],
    rows: [Vec<u8>; TILE],
    size: usize,
}

impl<'w> Transposed<'w> {
    pub(super) fn new(walk: &'w Walk) -> Transposed<'w> {
        let streams = std::array::from_fn(|_| Stream::new(walk));
        Transposed { streams, rows: std::array::from_fn(|_| Vec::new()), size: walk.size }
    }

    /// Back to element 0, for the next lanes.
    pub(super) fn restart(&mut self) {
        self.streams.iter_mut().for_each(Stream::restart);
    }

    /// The next `n` elements, whole tiles, of the 32 lanes from `first` on, packed.
    pub(super) fn next(&mut self, core: &Core, first: usize, n: usize) -> &[Vec<u8>; TILE] {
        let mut rows: [&[u8]; TILE] = [&[]; TILE];
        for (lane, (row, stream)) in rows.iter_mut().zip(&mut self.streams).enumerate() {
            *row = stream.next(core, first + lane, n);
        }
        transpose::tiles(self.size, &rows, &mut self.rows);
        &self.rows
    }
}

/// TRANSPOSE_TENSOR_SCALAR_ARITH_OP (section 4.4); `false`: an operator has no meaning, which binding has excluded.
pub fn tensor_scalar(o: &Operands, x: &mut Exec<'_>) -> bool {
    let Ok(mut chain) = Chain::arith(o) else { return false };
    let scalars = fetch(x, &o.scalars, o.lanes);
    let core = x.core();
    let fp8 = core.spec.fp8;
    let batch = if o.src.is_apart_from(&o.dst, o.lanes) { BATCH } else { 1 };
    let mut src = Transposed::new(&o.src);
    let mut dst: Vec<Stream<'_>> = (0..TILE).map(|_| Stream::new(&o.dst)).collect();
    for first in (0..o.lanes).step_by(TILE) {
        src.restart();
        dst.iter_mut().for_each(Stream::restart);
        let mut left = o.src.count;
        while left > 0 {
            let n = left.min(batch * TILE);
            let rows = src.next(core, first, n);
            for ((lane, stream), row) in dst.iter_mut().enumerate().zip(rows) {
                let lane = first + lane;
                stream.write(core, lane, n, |out| chain.run(row, out, scalars[lane], fp8));
            }
            left -= n;
        }
    }
    true
}

/// TRANSPOSE_TENSOR_REDUCE_ARITH_OP and TRANSPOSE_TENSOR_REDUCE_BITVEC_OP (section 6.2).
pub fn tensor_reduce(r: &Reduction, x: &mut Exec<'_>) {
    if r.fold == Fold::Float {
        fold_columns(r, x.core());
    } else if fold_rows(r, x.core()) {
        warn_division(x);
    }
}

/// FP32 folds: an element of 32 lanes is a piece of a row as it lies in memory.
fn fold_columns(r: &Reduction, core: &mut Core) {
    let fp8 = core.spec.fp8;
    let mut src = Tiles::new(&r.src, r.from, fp8);
    let mut halves = [(); 2].map(|()| Block::new(&r.dst, r.to, fp8));
    let mut tile = [[[0.0; LANES]; TILE]; 2];
    let mut results: Vec<Column> = Vec::new();
    for first in (0..r.lanes).step_by(TILE) {
        src.restart();
        halves.iter_mut().for_each(Block::restart);
        let mut acc = [[0.0; LANES]; 2];
        for done in (0..r.src.count).step_by(TILE) {
            src.load(core, first, &mut tile);
            for (half, dst) in halves.iter_mut().enumerate() {
                fold_tile(r, done % r.length, &mut acc[half], &tile[half], &mut results);
                let first = first + half * LANES;
                dst.store(core, first..first + LANES, &results);
                results.clear();
            }
        }
    }
}

/// Folds the columns of a tile, of which `done` elements of the fold under way came before.
fn fold_tile(r: &Reduction, mut done: usize, acc: &mut Column, tile: &[Column], results: &mut Vec<Column>) {
    let mut columns = tile;
    while !columns.is_empty() {
        if done == 0 {
            *acc = columns[0].map(|first| num::fold_seed(r.op, first));
            (done, columns) = (1, &columns[1..]);
        }
        let (mine, rest) = columns.split_at(columns.len().min(r.length - done));
        let folded = num::fold_columns(r.op, acc, mine);
        debug_assert!(folded.is_some(), "operators were tried when the operands were resolved");
        (done, columns) = (done + mine.len(), rest);
        if done == r.length {
            results.push(if r.negated { acc.map(|value| -value) } else { *acc });
            done = 0;
        }
    }
}

/// All other folds, a lane at a time. Whether any divided by zero.
fn fold_rows(r: &Reduction, core: &mut Core) -> bool {
    let fp8 = core.spec.fp8;
    let fold = r.length * r.src.size;
    let mut src = Transposed::new(&r.src);
    let mut dst: Vec<Stream<'_>> = (0..TILE).map(|_| Stream::new(&r.dst)).collect();
    let mut begun: [Vec<u8>; TILE] = std::array::from_fn(|_| Vec::new());
    let mut scratch = Scratch::default();
    for first in (0..r.lanes).step_by(TILE) {
        src.restart();
        dst.iter_mut().for_each(Stream::restart);
        for _ in 0..r.src.count / TILE {
            let rows = src.next(core, first, TILE);
            for ((lane, stream), (begun, row)) in dst.iter_mut().enumerate().zip(begun.iter_mut().zip(rows)) {
                begun.extend_from_slice(row);
                let whole = begun.len() / fold * fold;
                let folds = &begun[..whole];
                stream.write(core, first + lane, whole / fold, |out| r.fold(folds, fp8, &mut scratch, out));
                begun.drain(..whole);
            }
        }
    }
    scratch.divided_by_zero
}
