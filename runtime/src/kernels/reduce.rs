//! Folds along the rows of many lanes at once (chapter 04 section 6).
//!
//! A fold is serial by definition, so that one lane keeps one adder busy a quarter of the time at best. Sixteen lanes
//! are sixteen folds that know nothing of each other: their rows are transposed in registers, and each step of
//! all of them is one instruction.

use super::rows::{CHUNK, Stream, floats};
use crate::interp::Exec;
use crate::interp::tensor_reduce::{Fold, Reduction};
use crate::interp::tensor_tensor::warn_division;
use crate::isa::AluOp;
use crate::machine::Core;
use crate::num;

/// Lanes that are folded together.
pub(super) const LANES: usize = 16;

/// An operator whose result depends on the order of the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Serial {
    Add,
    Subtract,
    Multiply,
}

impl Serial {
    fn of(op: AluOp) -> Option<Serial> {
        match op {
            AluOp::ADD => Some(Serial::Add),
            AluOp::SUBTRACT => Some(Serial::Subtract),
            AluOp::MULT => Some(Serial::Multiply),
            _ => None,
        }
    }

    #[inline(always)]
    fn step(self, a: f32, b: f32) -> f32 {
        match self {
            Serial::Add => a + b,
            Serial::Subtract => a - b,
            Serial::Multiply => a * b,
        }
    }
}

/// TENSOR_REDUCE of any operator.
pub fn run(r: &Reduction, x: &mut Exec<'_>) {
    let apart = r.src.is_apart_from(&r.dst, r.lanes);
    let divided_by_zero = match (r.fold, Serial::of(r.op)) {
        (Fold::Float, Some(op)) if apart => {
            many_lanes(r, op, x.core());
            false
        }
        _ => lane_by_lane(r, x.core()),
    };
    if divided_by_zero {
        warn_division(x);
    }
}

/// Serial FP32 folds of lanes that do not see each other's results.
fn many_lanes(r: &Reduction, op: Serial, core: &mut Core) {
    let fp8 = core.spec.fp8;
    let mut rows: [Stream<'_>; LANES] = std::array::from_fn(|_| Stream::new(&r.src));
    let mut values: [Vec<f32>; LANES] = Default::default();
    let mut results: [Stream<'_>; LANES] = std::array::from_fn(|_| Stream::new(&r.dst));
    for first in (0..r.lanes).step_by(LANES) {
        let together = LANES.min(r.lanes - first);
        rows.iter_mut().chain(&mut results).for_each(Stream::restart);
        for _ in 0..r.dst.count {
            let mut acc = [0.0; LANES];
            let mut left = r.length;
            while left > 0 {
                let n = left.min(CHUNK);
                let mut cells: [&[f32]; LANES] = [&[]; LANES];
                let streams = rows.iter_mut().zip(&mut values).take(together).enumerate();
                for (i, (row, values)) in streams {
                    cells[i] = floats(row.next(core, first + i, n), r.from, fp8, values);
                }
                // Lanes that the word does not have compute something that nobody reads.
                let other = cells[0];
                cells[together..].fill(other);
                if left == r.length {
                    acc = cells.map(|row| row[0]);
                    cells = cells.map(|row| &row[1..]);
                }
                fold_lanes(op, &mut acc, &cells);
                left -= n;
            }
            for (i, stream) in results.iter_mut().enumerate().take(together) {
                let result = if r.negated { -acc[i] } else { acc[i] };
                stream.write(core, first + i, 1, |out| num::pack(&[result], r.to, fp8, out));
            }
        }
    }
}

/// Any fold. A destination that the rest of the source still reads is written after every fold.
fn lane_by_lane(r: &Reduction, core: &mut Core) -> bool {
    let fp8 = core.spec.fp8;
    let ahead = r.src.may_read_ahead_of(&r.dst) && r.src != r.dst;
    let group = if ahead { (CHUNK / r.length).clamp(1, r.dst.count) } else { 1 };
    let (mut src, mut dst) = (Stream::new(&r.src), Stream::new(&r.dst));
    let (mut values, mut integers) = (Vec::new(), Vec::new());
    let mut out = vec![0; group * r.dst.size];
    let mut divided_by_zero = false;
    for lane in 0..r.lanes {
        src.restart();
        dst.restart();
        let mut left = r.dst.count;
        while left > 0 {
            let folds = group.min(left);
            let out = &mut out[..folds * r.dst.size];
            let packed = src.next(core, lane, folds * r.length);
            match (r.fold, r.op) {
                (Fold::Float, AluOp::MAX | AluOp::MIN) => {
                    let rows = floats(packed, r.from, fp8, &mut values);
                    let results: Vec<f32> = rows.chunks_exact(r.length).map(|row| extremum(r, row)).collect();
                    num::pack(&results, r.to, fp8, out);
                }
                (Fold::Float, _) => r.fold_floats(packed, fp8, &mut values, out),
                (Fold::Integer, _) => divided_by_zero |= r.fold_integers(packed, &mut integers, out),
                (Fold::Position, _) => r.find_positions(packed, &mut integers, out),
                (Fold::Bits, _) => r.fold_bits(packed, out),
            }
            dst.write(core, lane, folds, |bytes| bytes.copy_from_slice(out));
            left -= folds;
        }
    }
    divided_by_zero
}

/// The largest or smallest element of a fold.
fn extremum(r: &Reduction, row: &[f32]) -> f32 {
    let largest = r.op == AluOp::MAX;
    let folded = quick_extremum(largest, row).unwrap_or_else(|| {
        let seed = num::canonical(row[0]);
        num::fold_row(r.op, seed, &row[1..]).unwrap_or(seed)
    });
    if r.negated { -folded } else { folded }
}

/// The largest or smallest number of a row by the CPU's own instruction, which skips NaN; `None` where it does not
/// decide: among zeros of both signs, and among infinities of the wrong sign or NaN alone.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub(super) fn quick_extremum(largest: bool, row: &[f32]) -> Option<f32> {
    #[cfg(target_arch = "x86_64")]
    if num::Level::current() >= num::Level::Avx512 {
        // SAFETY: the current level never exceeds what the host was found to have.
        let found = unsafe { x86::extremum(largest, row) };
        let open = [0.0, if largest { f32::NEG_INFINITY } else { f32::INFINITY }];
        return (!open.contains(&found)).then_some(found);
    }
    None
}

/// One fold a lane: `acc[i] = op(acc[i], row)` for every element of `rows[i]` in its order.
///
/// # Panics
/// If the rows differ in length.
pub(super) fn fold_lanes(op: Serial, acc: &mut [f32; LANES], rows: &[&[f32]; LANES]) {
    let n = rows[0].len();
    assert!(rows.iter().all(|row| row.len() == n), "rows that are folded together differ in length");
    #[cfg(target_arch = "x86_64")]
    if num::Level::current() >= num::Level::Avx512 {
        // SAFETY: the current level never exceeds what the host was found to have; all rows have `n` elements.
        return unsafe { x86::fold_lanes(op, acc, rows, n) };
    }
    fold_tail(op, acc, rows, 0, n);
}

/// The elements from `from` on, up to `n`.
fn fold_tail(op: Serial, acc: &mut [f32; LANES], rows: &[&[f32]; LANES], from: usize, n: usize) {
    for k in from..n {
        for (acc, row) in acc.iter_mut().zip(rows) {
            *acc = op.step(*acc, row[k]);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, Serial, fold_tail};
    use crate::kernels::transpose4::transpose4;

    /// # Safety
    /// Each row has `n` elements.
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) unsafe fn fold_lanes(op: Serial, acc: &mut [f32; LANES], rows: &[&[f32]; LANES], n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match op {
                Serial::Add => fold_columns(acc, rows, n, |a, b| _mm512_add_ps(a, b)),
                Serial::Subtract => fold_columns(acc, rows, n, |a, b| _mm512_sub_ps(a, b)),
                Serial::Multiply => fold_columns(acc, rows, n, |a, b| _mm512_mul_ps(a, b)),
            }
        }
        fold_tail(op, acc, rows, n / 4 * 4, n);
    }

    /// # Safety
    /// Each row has `n` elements.
    #[inline]
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn fold_columns(
        acc: &mut [f32; LANES],
        rows: &[&[f32]; LANES],
        n: usize,
        step: impl Fn(__m512, __m512) -> __m512,
    ) {
        // SAFETY: 16 elements of an array of 16.
        let mut sums = unsafe { _mm512_loadu_ps(acc.as_ptr()) };
        for k in (0..n / 4 * 4).step_by(4) {
            // SAFETY: elements k to k + 3 are below n.
            let quad = |row: usize| unsafe { _mm_loadu_ps(rows[row].as_ptr().add(k)) };
            let mut columns = [_mm512_setzero_ps(); 4];
            for (i, column) in columns.iter_mut().enumerate() {
                let a = _mm512_castps128_ps512(quad(i));
                let b = _mm512_insertf32x4::<1>(a, quad(i + 4));
                let c = _mm512_insertf32x4::<2>(b, quad(i + 8));
                *column = _mm512_insertf32x4::<3>(c, quad(i + 12));
            }
            // SAFETY: this function has the feature.
            for column in unsafe { transpose4(columns) } {
                sums = step(sums, column);
            }
        }
        // SAFETY: as above.
        unsafe { _mm512_storeu_ps(acc.as_mut_ptr(), sums) };
    }

    /// The largest or smallest of the row's numbers; NaN are skipped, and which of two zeros counts is open.
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn extremum(largest: bool, row: &[f32]) -> f32 {
        if largest {
            let best = scan(row, f32::NEG_INFINITY, |x, best| _mm512_max_ps(x, best));
            _mm512_reduce_max_ps(best)
        } else {
            let best = scan(row, f32::INFINITY, |x, best| _mm512_min_ps(x, best));
            _mm512_reduce_min_ps(best)
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    fn scan(row: &[f32], start: f32, step: impl Fn(__m512, __m512) -> __m512) -> __m512 {
        let mut best = [_mm512_set1_ps(start); 4];
        let (rounds, rest) = row.as_chunks::<64>();
        for round in rounds {
            for (best, block) in best.iter_mut().zip(round.as_chunks::<16>().0) {
                // SAFETY: 16 elements of an array of 16.
                *best = step(unsafe { _mm512_loadu_ps(block.as_ptr()) }, *best);
            }
        }
        for block in rest.chunks(16) {
            let mask = ((1u32 << block.len()) - 1) as __mmask16;
            // SAFETY: only the elements of the mask are read, and they are in the block.
            let values = unsafe { _mm512_mask_loadu_ps(best[0], mask, block.as_ptr()) };
            best[0] = step(values, best[0]);
        }
        let [a, b, c, d] = best;
        step(step(a, b), step(c, d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{CANONICAL_NAN, Level, with_level};

    /// Ordinary numbers with zeros of both signs, infinities and NaN among them.
    fn numbers(seed: u32, n: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        let special = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE / 8.0];
        (0..n)
            .map(|_| match next() % 24 {
                k if (k as usize) < special.len() && seed.is_multiple_of(2) => special[k as usize],
                _ => (next() as i32 as f32) * 1e-6,
            })
            .collect()
    }

    fn at_every_level(check: impl Fn()) {
        Level::ALL.into_iter().filter(|level| *level <= Level::host()).for_each(|l| with_level(l, &check));
    }

    fn bits(value: f32) -> u32 {
        num::canonical(value).to_bits()
    }

    #[test]
    fn lanes_fold_serially() {
        for n in [0, 1, 3, 4, 5, 16, 63, 128] {
            let rows: Vec<Vec<f32>> =
                (0..LANES as u32).map(|lane| numbers(lane * 31 + n as u32, n)).collect();
            let rows: [&[f32]; LANES] = std::array::from_fn(|i| rows[i].as_slice());
            for (op, step) in [
                (Serial::Add, (|a, b| a + b) as fn(f32, f32) -> f32),
                (Serial::Subtract, |a, b| a - b),
                (Serial::Multiply, |a, b| a * b),
            ] {
                let start: [f32; LANES] = std::array::from_fn(|lane| lane as f32 - 3.0);
                let expected: Vec<u32> =
                    (0..LANES).map(|i| bits(rows[i].iter().fold(start[i], |a, b| step(a, *b)))).collect();
                at_every_level(|| {
                    let mut acc = start;
                    fold_lanes(op, &mut acc, &rows);
                    assert_eq!(acc.map(bits).to_vec(), expected, "{op:?} of {n}");
                });
            }
        }
    }

    /// Where the quick search decides, it finds what the operator's fold defines.
    #[test]
    fn quick_extrema_are_those_of_the_fold() {
        let rows = (0..200).map(|seed| numbers(seed, 1 + seed as usize));
        let rows = rows.chain([vec![f32::NAN; 20], vec![-0.0, 0.0], vec![f32::NEG_INFINITY, f32::NAN]]);
        for row in rows {
            for (op, largest) in [(AluOp::MAX, true), (AluOp::MIN, false)] {
                let expected = num::fold_row(op, num::canonical(row[0]), &row[1..]).unwrap();
                at_every_level(|| {
                    if let Some(found) = quick_extremum(largest, &row) {
                        assert_eq!(bits(found), bits(expected), "{op:?} {row:?}");
                    }
                });
            }
        }
        assert_eq!(num::fold_row(AluOp::MAX, CANONICAL_NAN, &[1.0]), Ok(1.0));
    }
}
