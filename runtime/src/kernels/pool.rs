//! Pooling of many lanes at once (chapter 05 section 6.1).

use std::ops::Range;

use super::columns::{Block, COLUMNS, Column, LANES, groups};
use super::rows::Stream;
use crate::interp::pool::{Function, Pooling};
use crate::interp::{Exec, Walk};
use crate::isa::{AluOp, Dtype};
use crate::machine::Core;
use crate::num::{self, dispatch::multiversion};

/// Elements of a lane that are read at once where windows lie across each other: as columns they fill half of a
/// second cache.
const SPAN: usize = 1 << 14;

/// Elements of a window whose positions are exact as FP32.
const LONGEST: usize = 1 << 24;

/// A pooling word, and where the elements of its windows lie.
#[derive(Debug)]
pub struct Word {
    pooling: Pooling,
    /// The elements that the source spans, if they are read at once.
    span: Option<Walk>,
    /// Their positions in walk order.
    positions: Vec<u32>,
}

impl Word {
    /// Finds where the windows lie.
    pub fn new(pooling: Pooling) -> Word {
        let src = pooling.windows.src;
        let hull = src.hull();
        let dense = hull.count <= 2 * src.count && hull.count.max(src.count) <= SPAN;
        let span = (dense && !src.is_contiguous()).then_some(hull);
        let positions = if span.is_some() { src.positions() } else { Vec::new() };
        Word { pooling, span, positions }
    }

    /// POOL and MAX_POOL_SELECT.
    pub fn run(&self, x: &mut Exec<'_>) {
        let windows = &self.pooling.windows;
        let apart = windows.src.may_read_ahead_of(&windows.dst) && windows.src != windows.dst;
        if !apart || windows.length > LONGEST {
            return self.window_by_window(x.core());
        }
        let core = x.core();
        let fp8 = core.spec.fp8;
        let read = self.span.as_ref().unwrap_or(&windows.src);
        let mut src = Block::new(read, self.pooling.from, fp8);
        let mut results = Results::new(&self.pooling, core);
        let mut span = vec![[0.0; LANES]; self.span.map_or(0, |span| span.count)];
        let mut columns = vec![[0.0; LANES]; COLUMNS.min(windows.src.count)];
        for lanes in groups(&[&windows.src], &windows.dst, windows.lanes) {
            src.restart();
            results.restart();
            if self.span.is_some() {
                src.load(core, lanes.clone(), &mut span);
            }
            let mut window = Window::new(&self.pooling);
            for from in (0..windows.src.count).step_by(COLUMNS) {
                let columns = &mut columns[..COLUMNS.min(windows.src.count - from)];
                match self.span {
                    None => src.load(core, lanes.clone(), columns),
                    Some(_) => {
                        let positions = &self.positions[from..from + columns.len()];
                        columns.iter_mut().zip(positions).for_each(|(c, at)| *c = span[*at as usize]);
                    }
                }
                window.fold(columns, &mut results.finished);
                results.store(core, lanes.clone());
            }
        }
    }

    /// Where a result may be an element of a window behind it, or a window is too long.
    fn window_by_window(&self, core: &mut Core) {
        let windows = &self.pooling.windows;
        let fp8 = core.spec.fp8;
        let (mut src, mut dst) = (Stream::new(&windows.src), Stream::new(&windows.dst));
        let (mut values, mut out) = (Vec::new(), vec![0; windows.dst.size]);
        for lane in 0..windows.lanes {
            src.restart();
            dst.restart();
            for _ in 0..windows.dst.count {
                self.pooling.pool(src.next(core, lane, windows.length), fp8, &mut values, &mut out);
                dst.write(core, lane, 1, |bytes| bytes.copy_from_slice(&out));
            }
        }
    }
}

/// The window under way in some lanes.
struct Window {
    function: Function,
    length: usize,
    /// Elements folded.
    done: usize,
    /// The maximum or sum so far.
    acc: Column,
    /// Where the maximum is.
    position: Column,
}

impl Window {
    fn new(pooling: &Pooling) -> Window {
        let (function, length) = (pooling.function, pooling.windows.length);
        Window { function, length, done: 0, acc: [0.0; LANES], position: [0.0; LANES] }
    }

    /// Takes the next elements; results of windows that they finish go to `finished`.
    fn fold(&mut self, mut columns: &[Column], finished: &mut Vec<Column>) {
        while !columns.is_empty() {
            let n = columns.len().min(self.length - self.done);
            let (mine, rest) = columns.split_at(n);
            self.part(mine);
            self.done += n;
            columns = rest;
            if self.done == self.length {
                self.done = 0;
                finished.push(match self.function {
                    Function::Maximum => self.acc,
                    Function::ScaledSum(scale) => self.acc.map(|sum| sum * scale),
                    Function::Position => self.position,
                });
            }
        }
    }

    /// Takes elements of the window under way.
    fn part(&mut self, columns: &[Column]) {
        let begins = self.done == 0;
        let done = match self.function {
            Function::Maximum if begins => {
                self.acc = columns[0];
                num::fold_columns(AluOp::MAX, &mut self.acc, &columns[1..])
            }
            Function::Maximum => num::fold_columns(AluOp::MAX, &mut self.acc, columns),
            Function::ScaledSum(_) => {
                if begins {
                    self.acc = [0.0; LANES];
                }
                num::fold_columns(AluOp::ADD, &mut self.acc, columns)
            }
            Function::Position => {
                if begins {
                    (self.acc, self.position) = ([f32::NEG_INFINITY; LANES], [0.0; LANES]);
                }
                first_maximum(&mut self.acc, &mut self.position, self.done, columns);
                Some(())
            }
        };
        debug_assert!(done.is_some(), "ADD and MAX are operators of every fold");
    }
}

multiversion! {
    /// A NaN is never larger. `from` is the position of the first column.
    fn first_maximum(best: &mut Column, position: &mut Column, from: usize, columns: &[Column]) {
        for (k, column) in columns.iter().enumerate() {
            let at = (from + k) as f32;
            for lane in 0..LANES {
                let larger = column[lane] > best[lane];
                best[lane] = if larger { column[lane] } else { best[lane] };
                position[lane] = if larger { at } else { position[lane] };
            }
        }
    }
}

/// Results on their way to memory.
struct Results<'w> {
    floats: Block<'w>,
    /// Of positions.
    integers: Option<Vec<Stream<'w>>>,
    to: Dtype,
    finished: Vec<Column>,
}

impl<'w> Results<'w> {
    fn new(pooling: &'w Pooling, core: &Core) -> Results<'w> {
        let dst = &pooling.windows.dst;
        let integers =
            (pooling.function == Function::Position).then(|| (0..LANES).map(|_| Stream::new(dst)).collect());
        let floats = Block::new(dst, pooling.to, core.spec.fp8);
        Results { floats, integers, to: pooling.to, finished: Vec::new() }
    }

    fn restart(&mut self) {
        self.floats.restart();
        self.integers.iter_mut().flatten().for_each(Stream::restart);
    }

    /// Writes what is finished.
    fn store(&mut self, core: &mut Core, lanes: Range<usize>) {
        match &mut self.integers {
            None => self.floats.store(core, lanes, &self.finished),
            Some(streams) => {
                for (slot, (lane, stream)) in lanes.zip(streams).enumerate() {
                    let row: Vec<i64> = self.finished.iter().map(|column| column[slot] as i64).collect();
                    stream.write(core, lane, row.len(), |out| num::pack_int(&row, self.to, out));
                }
            }
        }
        self.finished.clear();
    }
}
