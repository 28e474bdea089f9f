//! The PE sum order (chapter 05 section 2.1, decision 05-3): the definition, and a loop that gives the same
//! bits faster.

use crate::num::dispatch::multiversion;

/// Rows whose even and odd members are summed apart.
const GROUP: usize = 32;
/// Columns of the moving operand that the fast loop keeps in registers.
const BLOCK: usize = 32;

/// The moving operand: planes of rows of `n` values, each row padded to a multiple of [`BLOCK`].
#[derive(Clone, Debug)]
pub struct Moving {
    values: Vec<f32>,
    rows: usize,
    n: usize,
    stride: usize,
}

impl Moving {
    /// `lanes` planes of `rows` rows of `n` zeros.
    pub fn new(lanes: usize, rows: usize, n: usize) -> Self {
        let stride = n.next_multiple_of(BLOCK);
        Moving { values: vec![0.0; lanes * rows * stride], rows, n, stride }
    }

    /// Row `r` of plane `j`.
    pub fn row(&self, j: usize, r: usize) -> &[f32] {
        &self.values[(j * self.rows + r) * self.stride..][..self.n]
    }

    /// Row `r` of plane `j`, for writing.
    pub fn row_mut(&mut self, j: usize, r: usize) -> &mut [f32] {
        &mut self.values[(j * self.rows + r) * self.stride..][..self.n]
    }

    /// Replaces every value.
    pub fn map(&mut self, f: impl Fn(f32) -> f32) {
        self.values.iter_mut().for_each(|v| *v = f(*v));
    }

    /// The row of column `n` that holds 1.0 while all others hold zero.
    pub fn one_hot_row(&self, n: usize) -> Option<usize> {
        let mut hot = (0..self.rows).filter(|r| self.row(0, *r)[n] != 0.0);
        let row = hot.next()?;
        (self.row(0, row)[n] == 1.0 && hot.next().is_none()).then_some(row)
    }
}

/// The stationary operand: for each column, the weights of all rows, lanes of a row side by side.
pub struct Stationary {
    /// `weights[(column * rows + row) * lanes + lane]`.
    weights: Vec<f32>,
    lanes: usize,
    rows: usize,
    cols: usize,
}

impl Stationary {
    /// Collects the weights that `weight(lane, row, column)` gives.
    pub fn new(lanes: usize, rows: usize, cols: usize, weight: impl Fn(usize, usize, usize) -> f32) -> Self {
        let mut weights = Vec::with_capacity(lanes * rows * cols);
        for column in 0..cols {
            for row in 0..rows {
                weights.extend((0..lanes).map(|lane| weight(lane, row, column)));
            }
        }
        Stationary { weights, lanes, rows, cols }
    }
}

/// All sums: result `column * n + position`. With `flush`, operands are already free of subnormals, and
/// every result that is tiny counts as zero of its sign.
pub fn product(stationary: &Stationary, moving: &Moving, flush: bool) -> Vec<f32> {
    let mut out = vec![0.0; stationary.cols * moving.n];
    if flush && !cannot_be_tiny(stationary, moving) {
        for column in 0..stationary.cols {
            for n in 0..moving.n {
                out[column * moving.n + n] = sum(stationary, moving, column, n, Arithmetic::FlushTiny);
            }
        }
    } else {
        fast(stationary, moving, &mut out);
    }
    out
}

/// How a fused multiply-add or an add rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arithmetic {
    /// IEEE, gradual underflow.
    Ieee,
    /// Results that are tiny after rounding count as zero (the flush-to-zero rule of x86).
    FlushTiny,
}

/// One sum, written to be read: groups of 32 rows; in a group the even and the odd rows are two chains of
/// fused multiply-adds from +0; acc = acc + (even + odd).
fn sum(stationary: &Stationary, moving: &Moving, column: usize, n: usize, how: Arithmetic) -> f32 {
    let mut acc = 0.0;
    for group in (0..stationary.rows).step_by(GROUP) {
        let mut chains = [0.0f32; 2];
        for row in group..(group + GROUP).min(stationary.rows) {
            for lane in 0..stationary.lanes {
                let weight = stationary.weights[(column * stationary.rows + row) * stationary.lanes + lane];
                let chain = &mut chains[row % 2];
                *chain = fma(weight, moving.row(lane, row)[n], *chain, how);
            }
        }
        acc = add(acc, add(chains[0], chains[1], how), how);
    }
    acc
}

/// Smallest normal number, 2^-126.
const MIN_NORMAL: f32 = f32::MIN_POSITIVE;

/// a * b + c, rounded once.
pub(crate) fn fma(a: f32, b: f32, c: f32, how: Arithmetic) -> f32 {
    let result = a.mul_add(b, c);
    if how == Arithmetic::Ieee || result.abs() > MIN_NORMAL || result.is_nan() {
        return result;
    }
    let tiny = result.abs() < MIN_NORMAL || rounds_below_min_normal(a, b, c);
    if tiny { 0.0f32.copysign(result) } else { result }
}

/// For a result of exactly +-2^-126: whether the exact value, rounded to 24 bits without a lower limit of
/// the exponent, is below it. The halfway point is 2^-126 (1 - 2^-25), and ties go to 2^-126.
fn rounds_below_min_normal(a: f32, b: f32, c: f32) -> bool {
    // The product is exact in f64; the sum is split into its rounded value and the exact rest.
    let (p, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = p + c;
    let back = sum - p;
    let rest = (p - (sum - back)) + (c - back);
    let (magnitude, rest) = if sum < 0.0 { (-sum, -rest) } else { (sum, rest) };
    let halfway = f64::from(MIN_NORMAL) * (1.0 - f64::from(f32::EPSILON) / 4.0);
    magnitude < halfway || (magnitude == halfway && rest < 0.0)
}

/// a + b. A sum of two f32 that is subnormal is exact, so comparing the result is enough.
pub(crate) fn add(a: f32, b: f32, how: Arithmetic) -> f32 {
    let result = a + b;
    if how == Arithmetic::FlushTiny && result.abs() < MIN_NORMAL { 0.0f32.copysign(result) } else { result }
}

/// Whether no step of any sum can be tiny and nonzero: all products, and so all sums of them, are multiples
/// of the product of the operands' units in the last place (eight significant bits each).
fn cannot_be_tiny(stationary: &Stationary, moving: &Moving) -> bool {
    let lowest = |values: &[f32]| {
        values
            .iter()
            .map(|v| (v.to_bits() >> 23 & 0xFF) as i32)
            .filter(|e| *e != 0)
            .min()
            .map_or(0, |e| e - 127 - 7)
    };
    lowest(&stationary.weights) + lowest(&moving.values) >= -126
}

/// Weights of `lanes` lanes a row; x rows of `stride`; the sums of BLOCK positions of four columns at a time
/// stay in registers.
fn fast(stationary: &Stationary, moving: &Moving, out: &mut [f32]) {
    let per_column = stationary.rows * stationary.lanes;
    for first in (0..stationary.cols).step_by(COLUMNS) {
        let cols = COLUMNS.min(stationary.cols - first);
        let weights: [&[f32]; COLUMNS] = std::array::from_fn(|k| {
            let column = first + k.min(cols - 1);
            &stationary.weights[column * per_column..][..per_column]
        });
        for at in (0..moving.n).step_by(BLOCK) {
            let mut sums = [[0.0; BLOCK]; COLUMNS];
            block(
                &weights,
                &moving.values[at..],
                moving.stride,
                stationary.rows,
                stationary.lanes,
                &mut sums,
            );
            let width = BLOCK.min(moving.n - at);
            for k in 0..cols {
                out[(first + k) * moving.n + at..][..width].copy_from_slice(&sums[k][..width]);
            }
        }
    }
}

/// Columns of the stationary operand that the fast loop works on together.
const COLUMNS: usize = 4;

multiversion! {
    /// The sums of one block. Same operations in the same order as [`sum`] for every element.
    fn block(
        weights: &[&[f32]; COLUMNS],
        x: &[f32],
        stride: usize,
        rows: usize,
        lanes: usize,
        sums: &mut [[f32; BLOCK]; COLUMNS],
    ) {
        let mut acc = [[0.0f32; BLOCK]; COLUMNS];
        let mut group = 0;
        while group < rows {
            let end = (group + GROUP).min(rows);
            let mut even = [[0.0f32; BLOCK]; COLUMNS];
            let mut odd = [[0.0f32; BLOCK]; COLUMNS];
            let mut row = group;
            while row < end {
                for lane in 0..lanes {
                    let values: &[f32; BLOCK] = x[(lane * rows + row) * stride..].first_chunk().unwrap_or(&[0.0; BLOCK]);
                    for c in 0..COLUMNS {
                        let weight = weights[c][row * lanes + lane];
                        for n in 0..BLOCK {
                            even[c][n] = weight.mul_add(values[n], even[c][n]);
                        }
                    }
                }
                if row + 1 < end {
                    for lane in 0..lanes {
                        let values: &[f32; BLOCK] =
                            x[(lane * rows + row + 1) * stride..].first_chunk().unwrap_or(&[0.0; BLOCK]);
                        for c in 0..COLUMNS {
                            let weight = weights[c][(row + 1) * lanes + lane];
                            for n in 0..BLOCK {
                                odd[c][n] = weight.mul_add(values[n], odd[c][n]);
                            }
                        }
                    }
                }
                row += 2;
            }
            for c in 0..COLUMNS {
                for n in 0..BLOCK {
                    acc[c][n] += even[c][n] + odd[c][n];
                }
            }
            group += GROUP;
        }
        *sums = acc;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lcg(state: &mut u64) -> u32 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) as u32
    }

    fn operands(
        lanes: usize,
        rows: usize,
        cols: usize,
        n: usize,
        make: impl Fn(&mut u64) -> f32,
    ) -> (Stationary, Moving) {
        let mut state = 7;
        let mut moving = Moving::new(lanes, rows, n);
        for lane in 0..lanes {
            for row in 0..rows {
                moving.row_mut(lane, row).iter_mut().for_each(|v| *v = make(&mut state));
            }
        }
        let cell = std::cell::RefCell::new(state);
        (Stationary::new(lanes, rows, cols, |_, _, _| make(&mut cell.borrow_mut())), moving)
    }

    #[test]
    fn the_fast_loop_equals_the_definition() {
        let any = |s: &mut u64| f32::from_bits(lcg(s) << 1 ^ lcg(s)) * 1e-20;
        for (lanes, rows, cols, n) in
            [(1, 1, 1, 1), (1, 31, 5, 33), (1, 32, 4, 32), (1, 33, 3, 70), (2, 128, 9, 40)]
        {
            let (stationary, moving) = operands(lanes, rows, cols, n, any);
            let out = product(&stationary, &moving, false);
            for column in 0..cols {
                for at in 0..n {
                    let expected = sum(&stationary, &moving, column, at, Arithmetic::Ieee);
                    let got = out[column * n + at];
                    assert!(got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()));
                }
            }
        }
    }

    #[test]
    fn bf16_sums_that_cannot_be_tiny_need_no_flushing() {
        let bf16 = |s: &mut u64| f32::from_bits((lcg(s) & 0x8FFF | 0x3000) << 16);
        let (stationary, moving) = operands(1, 128, 4, 32, bf16);
        assert!(cannot_be_tiny(&stationary, &moving));
        let out = product(&stationary, &moving, true);
        for (at, out) in out.iter().enumerate().take(32) {
            assert_eq!(out.to_bits(), sum(&stationary, &moving, 0, at, Arithmetic::FlushTiny).to_bits());
        }
    }

    /// The two neighbours of 2^-126 that chapter 05 section 2.1 names.
    #[test]
    fn tininess_is_judged_after_rounding_to_24_bits() {
        let min = f64::from(MIN_NORMAL);
        // 2^-126 (1 - 0.75 x 2^-24): the subtrahend is a product below the f32 range.
        let small = 2f32.powi(-100);
        let scale = (min * 0.75 * 2f64.powi(-24) / f64::from(small)) as f32;
        assert_eq!((-small).mul_add(scale, MIN_NORMAL).to_bits(), 0x0080_0000, "an ordinary fma rounds up");
        assert_eq!(fma(-small, scale, MIN_NORMAL, Arithmetic::FlushTiny), 0.0);
        let scale = (min * 0.5 * 2f64.powi(-24) / f64::from(small)) as f32;
        assert_eq!(fma(-small, scale, MIN_NORMAL, Arithmetic::FlushTiny).to_bits(), 0x0080_0000);
    }

    /// Chapter 05 section 2.5, worked example.
    #[test]
    fn worked_example() {
        let w = [[1.0, 2.0], [3.0, 4.0]];
        let stationary = Stationary::new(1, 2, 2, |_, r, c| w[r][c]);
        let mut moving = Moving::new(1, 2, 3);
        moving.row_mut(0, 0).copy_from_slice(&[5.0, 6.0, 7.0]);
        moving.row_mut(0, 1).copy_from_slice(&[8.0, 9.0, 10.0]);
        assert_eq!(product(&stationary, &moving, false), [29.0, 33.0, 37.0, 42.0, 48.0, 54.0]);
    }
}
