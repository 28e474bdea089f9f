//! Batch normalisation of many lanes at once (chapter 05 section 5).

use std::ops::Range;

use super::columns::{Block, COLUMNS, Column, LANES, Tiles, groups};
use super::rows::{Stream, chunk, floats};
use crate::interp::batch_norm::Statistics;
use crate::interp::batch_norm_grad::Gradients;
use crate::interp::lanes::TILE;
use crate::interp::{Exec, tensor_tensor};
use crate::isa::PARTITIONS;
use crate::machine::Core;
use crate::machine::hidden::BatchNormParams;
use crate::num::{self, dispatch::multiversion};

// Chunks end between triples, and between elements at even and odd positions.
const _: () = assert!(COLUMNS.is_multiple_of(6));

/// BATCH_NORM_STATS (section 5.2).
pub fn stats(s: &Statistics, x: &mut Exec<'_>) {
    each_group(s, x.core(), Stats::add_all, |group| {
        vec![[s.counts[0]; LANES], group.sets[0].mean, group.sets[0].squares]
    });
}

/// BATCH_NORM_STATS2 (section 5.2).
pub fn stats2(s: &Statistics, x: &mut Exec<'_>) {
    each_group(s, x.core(), Stats::add_split, |group| group.split_result(s.counts));
}

/// BATCH_NORM_AGGREGATE (section 5.3).
pub fn aggregate(s: &Statistics, x: &mut Exec<'_>) {
    each_group(s, x.core(), Merged::add, |group| vec![group.mean, group.variance]);
}

/// Folds the columns of each group of lanes into results.
fn each_group<G: Default>(
    s: &Statistics,
    core: &mut Core,
    add: impl Fn(&mut G, &[Column]),
    results: impl Fn(G) -> Vec<Column>,
) {
    let fp8 = core.spec.fp8;
    let mut src = Block::new(&s.src, s.from, fp8);
    let mut dst = Block::new(&s.dst, s.to, fp8);
    let mut columns = vec![[0.0; LANES]; COLUMNS.min(s.src.count)];
    for lanes in groups(&[&s.src], &s.dst, s.lanes) {
        src.restart();
        dst.restart();
        let mut group = G::default();
        let mut left = s.src.count;
        while left > 0 {
            let columns = &mut columns[..COLUMNS.min(left)];
            src.load(core, lanes.clone(), columns);
            add(&mut group, columns);
            left -= columns.len();
        }
        dst.store(core, lanes, &results(group));
    }
}

/// TRANSPOSE_BATCH_NORM_STATS2 (section 5.2).
pub fn transpose_stats2(s: &Statistics, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let mut tiles = Tiles::new(&s.src, s.from, fp8);
    let mut dst = Block::new(&s.dst, s.to, fp8);
    let mut tile = [[[0.0; LANES]; TILE]; 2];
    for first in (0..s.lanes).step_by(TILE) {
        tiles.restart();
        let mut groups = [Stats::default(); 2];
        for _ in 0..s.src.count / TILE {
            tiles.load(core, first, &mut tile);
            groups.iter_mut().zip(&tile).for_each(|(group, columns)| group.add_split(columns));
        }
        for (half, group) in groups.into_iter().enumerate() {
            dst.restart();
            let first = first + half * LANES;
            dst.store(core, first..first + LANES, &group.split_result(s.counts));
        }
    }
}

/// Mean and sum of squared deviations of a set of elements in every lane.
#[derive(Clone, Copy, Default)]
struct Moments {
    mean: Column,
    squares: Column,
}

impl Moments {
    /// The next element, the `n`-th of the set.
    #[inline(always)]
    fn add(&mut self, column: &Column, n: f32) {
        let r = 1.0 / n;
        let keep = 1.0 - r;
        for ((x, mean), squares) in column.iter().zip(&mut self.mean).zip(&mut self.squares) {
            let old = *mean;
            *mean = keep * old + r * x;
            *squares += (x - *mean) * (x - old);
        }
    }
}

/// The statistics of some lanes while their elements arrive.
#[derive(Clone, Copy, Default)]
struct Stats {
    /// Of each set; lanes share it.
    n: f32,
    /// Of the elements at even and at odd positions.
    sets: [Moments; 2],
}

impl Stats {
    fn add_all(&mut self, columns: &[Column]) {
        (self.n, self.sets[0]) = moments(self.n, self.sets[0], columns);
    }

    /// Columns from an even position on.
    fn add_split(&mut self, columns: &[Column]) {
        (self.n, self.sets) = split_moments(self.n, self.sets, columns);
    }

    fn split_result(&self, [even_count, odd_count]: [f32; 2]) -> Vec<Column> {
        let [even, odd] = self.sets;
        vec![[even_count; LANES], even.mean, even.squares, [odd_count; LANES], odd.mean, odd.squares]
    }
}

multiversion! {
    fn moments(n: f32, set: Moments, columns: &[Column]) -> (f32, Moments) {
        let (mut n, mut set) = (n, set);
        for column in columns {
            n += 1.0;
            set.add(column, n);
        }
        (n, set)
    }
}

multiversion! {
    /// Two sets; the count that they share grows with every even element.
    fn split_moments(n: f32, sets: [Moments; 2], columns: &[Column]) -> (f32, [Moments; 2]) {
        let (mut n, [mut even, mut odd]) = (n, sets);
        let (pairs, last) = columns.as_chunks::<2>();
        for pair in pairs {
            n += 1.0;
            even.add(&pair[0], n);
            odd.add(&pair[1], n);
        }
        for column in last {
            n += 1.0;
            even.add(column, n);
        }
        (n, [even, odd])
    }
}

/// Triples of count, mean and variance times count, merged in every lane.
#[derive(Clone, Copy, Default)]
struct Merged {
    n: Column,
    mean: Column,
    variance: Column,
}

impl Merged {
    fn add(&mut self, triples: &[Column]) {
        *self = merge(*self, triples);
    }
}

multiversion! {
    fn merge(merged: Merged, triples: &[Column]) -> Merged {
        let Merged { mut n, mut mean, mut variance } = merged;
        for [counts, means, squares] in triples.as_chunks().0 {
            for lane in 0..LANES {
                let (count, other_mean, squares) = (counts[lane], means[lane], squares[lane]);
                let (n0, mean0, variance0) = (n[lane], mean[lane], variance[lane]);
                let r = 1.0 / (count + n0);
                let d = mean0 - other_mean;
                let merged_variance = (variance0 * n0 + squares) * r + count * n0 * d * d * r * r;
                let merged_mean = (mean0 * n0 + count * other_mean) * r;
                // Both counts zero: the triple is skipped.
                let skipped = n0 == 0.0 && count == 0.0;
                variance[lane] = if skipped { variance0 } else { merged_variance };
                mean[lane] = if skipped { mean0 } else { merged_mean };
                n[lane] = if skipped { n0 } else { n0 + count };
            }
        }
        Merged { n, mean, variance }
    }
}

/// BATCH_NORM_GRAD_ACCUMULATE and BATCH_NORM_GRAD_ACCUMULATE2 (section 5.4).
pub fn accumulate(g: &Gradients, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let scalars = g.scalars(core);
    let [data, gradient] = &g.sources;
    let [mut xs, mut dys] =
        [(data, g.dtypes[0]), (gradient, g.dtypes[1])].map(|(w, d)| Block::new(w, d, fp8));
    let mut dst = Block::new(&g.dst, g.dtypes[2], fp8);
    let mut columns = vec![[0.0; LANES]; COLUMNS.min(data.count)];
    let mut gradients = columns.clone();
    for lanes in groups(&[data, gradient], &g.dst, g.lanes) {
        [&mut xs, &mut dys, &mut dst].into_iter().for_each(Block::restart);
        let [mean, inverse] = [0, 1].map(|i| of_lanes(&scalars, &lanes, |pair| pair[i]));
        let mut sums = [[0.0; LANES]; 3];
        let mut left = data.count;
        while left > 0 {
            let n = COLUMNS.min(left);
            let (columns, gradients) = (&mut columns[..n], &mut gradients[..n]);
            xs.load(core, lanes.clone(), columns);
            dys.load(core, lanes.clone(), gradients);
            sums = gradient_sums(sums, columns, gradients, &mean, &inverse);
            left -= n;
        }
        dst.store(core, lanes, &sums);
    }
}

/// A number of each of some lanes.
fn of_lanes<T>(all: &[T], lanes: &Range<usize>, number: impl Fn(&T) -> f32) -> Column {
    let mut column = [0.0; LANES];
    column.iter_mut().zip(&all[lanes.clone()]).for_each(|(cell, lane)| *cell = number(lane));
    column
}

multiversion! {
    fn gradient_sums(sums: [Column; 3], xs: &[Column], dys: &[Column], mean: &Column, v: &Column) -> [Column; 3] {
        let [mut s0, mut s1, mut s2] = sums;
        for (x, dy) in xs.iter().zip(dys) {
            for lane in 0..LANES {
                let t = (x[lane] - mean[lane]) * dy[lane] * v[lane];
                s0[lane] += dy[lane];
                s1[lane] += t * v[lane];
                s2[lane] += t;
            }
        }
        [s0, s1, s2]
    }
}

/// BATCH_NORM_BACK_PROP (section 5.6).
pub fn back_prop(o: &tensor_tensor::Operation, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let [from0, from1, to] = o.dtypes;
    let [src0, src1] = &o.sources;
    let params: [BatchNormParams; PARTITIONS] = core.dve.batch_norm.params;
    let length = chunk(&[src0, src1], &o.dst);
    let mut streams = [src0, src1, &o.dst].map(Stream::new);
    let (mut a, mut b, mut out) = (Vec::new(), Vec::new(), vec![0.0; length]);
    for lane in 0..o.lanes {
        streams.iter_mut().for_each(Stream::restart);
        let [xs, dys, dst] = &mut streams;
        let mut left = o.dst.count;
        while left > 0 {
            let n = length.min(left);
            let out = &mut out[..n];
            let xs = floats(xs.next(core, lane, n), from0, fp8, &mut a);
            let dys = floats(dys.next(core, lane, n), from1, fp8, &mut b);
            propagate(xs, dys, params[o.dst.partition + lane], out);
            dst.write(core, lane, n, |bytes| num::pack(out, to, fp8, bytes));
            left -= n;
        }
    }
}

multiversion! {
    fn propagate(xs: &[f32], dys: &[f32], params: BatchNormParams, out: &mut [f32]) {
        let BatchNormParams { n, mean, a, b, c } = params;
        for ((out, x), dy) in out.iter_mut().zip(xs).zip(dys) {
            *out = (dy * n - ((x - mean) * c + b)) * a;
        }
    }
}
