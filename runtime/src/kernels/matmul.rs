//! Products of a stationary tile with a panel of moving positions, in the PE sum order (chapter 05 section 2.1):
//! groups of 32 rows, in a group one chain of fused multiply-adds of the even and one of the odd rows.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::matmul_simd::{Avx2, Avx512};
use super::matmul_simd::{Portable, Vector};
use crate::interp::pe::sum::{self, Arithmetic::FlushTiny};
use crate::num::Level;

/// Moving positions of a panel: what the widest kernel keeps in registers.
pub(super) const PANEL: usize = 64;
/// Columns of the stationary tile that a kernel may work on together; weights must be readable so far behind
/// the last column.
pub(super) const MAX_COLUMNS: usize = 16;

/// Rows whose even and odd members are summed apart (decision 05-3).
pub(super) const GROUP: usize = 32;

/// The order in which the rows of a tile are summed: of each group the even rows, then the odd ones, and the
/// contraction lanes of a row one after the other.
pub(super) struct Order {
    lanes: usize,
    /// Contraction lane and row of each summand.
    pub summands: Vec<(usize, usize)>,
    /// For each group, the summands up to the end of its even rows, and of its odd rows.
    ends: Vec<(usize, usize)>,
}

impl Order {
    /// The order of a tile of so many rows.
    pub(super) fn new(lanes: usize, rows: usize) -> Order {
        let mut order = Order { lanes, summands: Vec::with_capacity(lanes * rows), ends: Vec::new() };
        for group in (0..rows).step_by(GROUP) {
            let end = rows.min(group + GROUP);
            let [even, odd] = [0, 1].map(|first| {
                for row in (group + first..end).step_by(2) {
                    order.summands.extend((0..lanes).map(|lane| (lane, row)));
                }
                order.summands.len()
            });
            order.ends.push((even, odd));
        }
        order
    }

    /// Contraction lanes of a row.
    pub(super) fn lanes(&self) -> usize {
        self.lanes
    }

    /// For each group, the summands up to the end of its even rows, and of its odd rows.
    pub(super) fn ends(&self) -> &[(usize, usize)] {
        &self.ends
    }
}

/// The stationary tile, in the order of the sum.
pub(super) struct Stationary<'a> {
    /// Weights of the array.
    pub values: &'a [f32],
    /// Where the first column of each summand lies.
    pub offsets: &'a [usize],
    /// The order that `offsets` follow.
    pub order: &'a Order,
    /// Columns.
    pub columns: usize,
}

/// How sums round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    /// IEEE, gradual underflow.
    Ieee,
    /// Every result that is tiny after rounding counts as zero of its sign.
    FlushTiny,
}

impl Rounding {
    /// Tiny results need no care where no sum can be tiny: all products, and so all their sums, are multiples of the
    /// product of the operands' units in the last place, and operands have eight significant bits. The lowest
    /// exponent fields of both operands; `None`: there are no weights.
    pub(super) fn of_rows(lowest_weight: Option<u32>, lowest_moving: u32) -> Rounding {
        let unit = |field: u32| field as i32 - 127 - 7;
        let lowest = lowest_weight.map_or(0, |lowest_weight| unit(lowest_weight) + unit(lowest_moving));
        if lowest >= -126 { Rounding::Ieee } else { Rounding::FlushTiny }
    }
}

/// Takes sums.
pub(super) trait Sink {
    /// The sums of some columns from `column` on, which may be more than the tile has. Inlined into the code of a
    /// CPU level.
    fn take(&mut self, column: usize, sums: &[[f32; PANEL]]);
}

/// The sums of one panel. `moving` holds [`PANEL`] positions a summand, in the order of the sum, of which the first
/// `width` count.
///
/// # Panics
/// If `moving` or `stationary.values` are too short.
pub(super) fn product(
    stationary: &Stationary<'_>,
    moving: &[f32],
    width: usize,
    rounding: Rounding,
    sink: &mut impl Sink,
) {
    let summands = stationary.order.summands.len();
    assert_eq!(stationary.offsets.len(), summands);
    assert!(moving.len() >= summands * PANEL && width <= PANEL);
    let reach = stationary.columns.next_multiple_of(MAX_COLUMNS);
    assert!(stationary.offsets.iter().all(|at| at + reach <= stationary.values.len()));
    match Level::current() {
        // SAFETY: the current level never exceeds what the host was found to have; and lengths are as asserted.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Amx => unsafe { avx512(stationary, moving, width, rounding, sink) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(stationary, moving, width, rounding, sink) },
        // SAFETY: lengths are as asserted.
        _ => unsafe { portable(stationary, moving, width, rounding, sink) },
    }
}

macro_rules! columns {
    ($vector:ty, $m:literal x $n:literal, $args:expr) => {{
        let (stationary, moving, width, rounding, sink) = $args;
        match rounding {
            // SAFETY: the caller's promise.
            Rounding::Ieee => unsafe { columns::<$vector, $m, $n, false>(stationary, moving, width, sink) },
            // SAFETY: the caller's promise.
            Rounding::FlushTiny => unsafe {
                columns::<$vector, $m, $n, true>(stationary, moving, width, sink)
            },
        }
    }};
}

/// 16 sums stay in registers, beside the moving vectors and one weight: enough to hide the latency of an FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512(
    stationary: &Stationary<'_>,
    moving: &[f32],
    width: usize,
    rounding: Rounding,
    sink: &mut impl Sink,
) {
    let args = (stationary, moving, width, rounding, sink);
    match width.div_ceil(Avx512::LANES) {
        1 => columns!(Avx512, 16 x 1, args),
        3 => columns!(Avx512, 4 x 3, args),
        _ => columns!(Avx512, 8 x 2, args),
    }
}

/// 8 sums; there are half as many registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(
    stationary: &Stationary<'_>,
    moving: &[f32],
    width: usize,
    rounding: Rounding,
    sink: &mut impl Sink,
) {
    columns!(Avx2, 4 x 2, (stationary, moving, width, rounding, sink))
}

unsafe fn portable(
    stationary: &Stationary<'_>,
    moving: &[f32],
    width: usize,
    rounding: Rounding,
    sink: &mut impl Sink,
) {
    columns!(Portable, 1 x 1, (stationary, moving, width, rounding, sink))
}

/// All columns, `M` at a time, and the panel by `N` vectors.
#[inline(always)]
unsafe fn columns<V: Vector, const M: usize, const N: usize, const FLUSH: bool>(
    stationary: &Stationary<'_>,
    moving: &[f32],
    width: usize,
    sink: &mut impl Sink,
) {
    let mut sums = [[0.0; PANEL]; M];
    for column in (0..stationary.columns).step_by(M) {
        let mut decided = true;
        for at in (0..width).step_by(N * V::LANES) {
            // SAFETY: the caller's promise.
            decided &= unsafe { block::<V, M, N, FLUSH>(stationary, column, moving, at, &mut sums) };
        }
        if FLUSH && !decided {
            by_definition(stationary, column, moving, width, &mut sums);
        }
        sink.take(column, &sums);
    }
}

/// `M` columns at `N` vectors from position `at` on; `false` if a rounding could not be decided.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "adaptors of iterators would not be inlined for sure")]
unsafe fn block<V: Vector, const M: usize, const N: usize, const FLUSH: bool>(
    stationary: &Stationary<'_>,
    column: usize,
    moving: &[f32],
    at: usize,
    sums: &mut [[f32; PANEL]; M],
) -> bool {
    // SAFETY: offsets of summands lie in both operands, as `product` asserts; `N` vectors are at most a panel.
    unsafe {
        let (weights, moving) = (stationary.values.as_ptr().add(column), moving.as_ptr().add(at));
        let mut doubtful = V::NONE;
        let mut acc = [[V::splat(0.0); N]; M];
        let mut start = 0;
        for &(middle, end) in &stationary.order.ends {
            let (offsets, x) = (&stationary.offsets[start..middle], moving.add(start * PANEL));
            let even = chain::<V, M, N, FLUSH>(weights, offsets, x, &mut doubtful);
            let (offsets, x) = (&stationary.offsets[middle..end], moving.add(middle * PANEL));
            let odd = chain::<V, M, N, FLUSH>(weights, offsets, x, &mut doubtful);
            for m in 0..M {
                for n in 0..N {
                    // A sum of two fp32 that is tiny is exact, so that 2^-126 leaves no doubt here.
                    let mut exact = V::NONE;
                    let pair = flushed::<V, FLUSH>(even[m][n].add(odd[m][n]), &mut exact);
                    acc[m][n] = flushed::<V, FLUSH>(acc[m][n].add(pair), &mut exact);
                }
            }
            start = end;
        }
        for m in 0..M {
            for n in 0..N {
                acc[m][n].store(sums[m].as_mut_ptr().add(at + n * V::LANES));
            }
        }
        !V::any(doubtful)
    }
}

/// One chain of fused multiply-adds for each sum of a block.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "adaptors of iterators would not be inlined for sure")]
unsafe fn chain<V: Vector, const M: usize, const N: usize, const FLUSH: bool>(
    weights: *const f32,
    offsets: &[usize],
    mut moving: *const f32,
    doubtful: &mut V::Mask,
) -> [[V; N]; M] {
    // SAFETY: the promise of `block`.
    unsafe {
        let mut sums = [[V::splat(0.0); N]; M];
        for offset in offsets {
            let weights = weights.add(*offset);
            let mut x = [V::splat(0.0); N];
            for n in 0..N {
                x[n] = V::load(moving.add(n * V::LANES));
            }
            for m in 0..M {
                let weight = V::splat(*weights.add(m));
                for n in 0..N {
                    sums[m][n] = flushed::<V, FLUSH>(weight.fma(x[n], sums[m][n]), doubtful);
                }
            }
            moving = moving.add(PANEL);
        }
        sums
    }
}

/// Sums in which a rounding is in doubt, one by one.
#[cold]
fn by_definition(
    stationary: &Stationary<'_>,
    column: usize,
    moving: &[f32],
    width: usize,
    sums: &mut [[f32; PANEL]],
) {
    let (fma, add) = (|a, b, c| sum::fma(a, b, c, FlushTiny), |a, b| sum::add(a, b, FlushTiny));
    for (m, sums) in sums.iter_mut().enumerate() {
        for (n, total) in sums[..width].iter_mut().enumerate() {
            let chain = |summands: Range<usize>| {
                let weight = |s: usize| stationary.values[stationary.offsets[s] + column + m];
                summands.fold(0.0, |chain, s| fma(weight(s), moving[s * PANEL + n], chain))
            };
            *total = 0.0;
            let mut start = 0;
            for &(middle, end) in &stationary.order.ends {
                *total = add(*total, add(chain(start..middle), chain(middle..end)));
                start = end;
            }
        }
    }
}

/// With `FLUSH`, a result that is tiny counts as zero. An fma of exactly 2^-126 may have been rounded up from
/// a value that is tiny (chapter 05 section 2.1), which makes it doubtful.
#[inline(always)]
pub(super) unsafe fn flushed<V: Vector, const FLUSH: bool>(value: V, doubtful: &mut V::Mask) -> V {
    // SAFETY: the caller's promise.
    if FLUSH { unsafe { value.flush(doubtful) } } else { value }
}
