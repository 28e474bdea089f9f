//! Class FP: every operation rounds once to FP32 (chapter 03 section 7.4).

use super::{AluForm, Rhs, UnsupportedOp, operands, select_op, zip_rows};
use crate::isa::AluOp;
use crate::num::convert::{CANONICAL_NAN, canonical};
use crate::num::dispatch::multiversion;
use crate::num::pow::pow;

/// The elementwise operators.
macro_rules! elementwise {
    ($op:expr, $f:ident => $body:expr) => {
        select_op! { $op, $f: f32 => $body;
            BYPASS          |a, _| a;
            ADD             |a, b| a + b;
            SUBTRACT        |a, b| a - b;
            MULT            |a, b| a * b;
            DIVIDE          |a, b| a / b;
            MAX             |a, b| max(a, b);
            MIN             |a, b| min(a, b);
            LOGICAL_AND     |a, b| truth(a != 0.0 && b != 0.0);
            LOGICAL_OR      |a, b| truth(a != 0.0 || b != 0.0);
            LOGICAL_XOR     |a, b| truth((a != 0.0) != (b != 0.0));
            IS_EQ           |a, b| truth(a == b);
            IS_GT           |a, b| truth(a > b);
            IS_GE           |a, b| truth(a >= b);
            IS_LE           |a, b| truth(a <= b);
            IS_LT           |a, b| truth(a < b);
            IS_NE           |a, b| truth(a != b);
            ABSOLUTE_DIFF   |a, b| (a - b).abs();
            ABSOLUTE_VALUE  |a, _| a.abs();
            POW             |a, b| pow(a, b);
            MOD             |a, b| modulo(a, b);
            RSQRT           |a, _| rsqrt(a);
            ABS_MAX         |a, b| max(a.abs(), b.abs());
            ABS_MIN         |a, b| min(a.abs(), b.abs());
            RE_LU           |a, _| max(a, 0.0);
            SQUARE          |a, _| a * a;
            SYMMETRIC_CLAMP |a, b| max(a.abs(), b.abs()).copysign(a);
        }
    };
}

/// The operators of folds, scans and accumulators: the extrema ignore NaN unless both operands are NaN
/// (chapter 03 section 7.4, E15).
macro_rules! folding {
    ($op:expr, $f:ident => $body:expr) => {{
        let extremum = select_op! { $op, $f: f32 => $body;
            MAX     |a, b| ignore_nan(a, b, max);
            MIN     |a, b| ignore_nan(a, b, min);
            ABS_MAX |a, b| ignore_nan(a.abs(), b.abs(), max);
            ABS_MIN |a, b| ignore_nan(a.abs(), b.abs(), min);
        };
        match extremum {
            Some(done) => Some(done),
            None => elementwise!($op, $f => $body),
        }
    }};
}

/// The result of an elementwise operator in class FP, `a` on the left. Compares and logical operators
/// give 1 or 0, MAX and MIN propagate NaN (chapter 03 section 7.4, E15 to E21).
pub fn eval_f32(op: AluOp, a: f32, b: f32) -> Result<f32, UnsupportedOp> {
    elementwise!(op, f => f(a, b)).ok_or(unsupported(op))
}

/// One step of a fold, scan or accumulator: `op(acc, x)`, where MAX, MIN, ABS_MAX and ABS_MIN ignore a NaN
/// unless both are NaN (E15). The words that compute `op(x, acc)` pass the operands exchanged.
pub fn fold_f32(op: AluOp, acc: f32, x: f32) -> Result<f32, UnsupportedOp> {
    folding!(op, f => f(acc, x)).ok_or(unsupported(op))
}

/// What a reset accumulator holds (chapter 04 section 2.6, chapter 00 A7); `None` for other operators.
pub fn fold_identity(op: AluOp) -> Option<f32> {
    match op {
        AluOp::ADD | AluOp::SUBTRACT | AluOp::ABS_MAX => Some(0.0),
        AluOp::MULT => Some(1.0),
        AluOp::MAX => Some(f32::NEG_INFINITY),
        AluOp::MIN | AluOp::ABS_MIN => Some(f32::INFINITY),
        _ => None,
    }
}

/// What a reduction without identity starts from: its first element, or the truth of it for logical
/// operators (chapter 04 section 6.1).
pub fn fold_seed(op: AluOp, first: f32) -> f32 {
    match op {
        AluOp::LOGICAL_AND | AluOp::LOGICAL_OR | AluOp::LOGICAL_XOR => truth(first != 0.0),
        _ => first,
    }
}

/// [`eval_f32`] on rows: `out[k] = op(a[k], b[k])`, or `op(b[k], a[k])` if `reverse`; unary operators act
/// on `a` either way (chapter 03 section 7.5). Every NaN is canonical.
///
/// # Panics
/// If a row is not as long as `out`.
pub fn map2(
    op: AluOp,
    a: &[f32],
    b: Rhs<'_, f32>,
    reverse: bool,
    out: &mut [f32],
) -> Result<(), UnsupportedOp> {
    let (left, right) = operands(op, a, b, reverse);
    map2_lanes(op, &mut OneLane(left, right, out), 1)
}

/// [`fold_f32`] over a row, serially in its order; `acc` if the row is empty.
pub fn fold_row(op: AluOp, acc: f32, row: &[f32]) -> Result<f32, UnsupportedOp> {
    if let Some(extremum) = fold_extremum(op, acc, row) {
        return Ok(extremum);
    }
    folding!(op, f => row.iter().fold(acc, |acc, x| f(acc, *x))).ok_or(unsupported(op))
}

/// [`fold_f32`] over a row with every intermediate result stored; returns the last one, or `acc` if the
/// row is empty.
///
/// # Panics
/// If `out` is not as long as `row`.
pub fn scan_row(op: AluOp, acc: f32, row: &[f32], out: &mut [f32]) -> Result<f32, UnsupportedOp> {
    assert_eq!(row.len(), out.len(), "operand and result of a scan");
    let last = folding!(op, f => {
        let mut acc = acc;
        for (out, x) in out.iter_mut().zip(row) {
            acc = f(acc, *x);
            *out = acc;
        }
        acc
    });
    last.ok_or(unsupported(op))
}

/// Left operand, right operand and results of the rows of several lanes.
pub(crate) trait LaneRows {
    /// Those of one lane.
    fn rows(&mut self, lane: usize) -> (Rhs<'_, f32>, Rhs<'_, f32>, &mut [f32]);
}

/// [`map2`] in every lane; reversal is the caller's.
///
/// # Panics
/// If a row is not as long as the results of its lane.
pub(crate) fn map2_lanes(op: AluOp, rows: &mut dyn LaneRows, lanes: usize) -> Result<(), UnsupportedOp> {
    map_lanes(op, rows, lanes).ok_or(unsupported(op))
}

/// The accumulating fold of the words that put the new value on the left: `acc = op(x, acc)`, by the rules of
/// [`fold_f32`]; `acc` if the row is empty (chapter 04, R1).
pub fn accumulate_row(op: AluOp, acc: f32, row: &[f32]) -> Result<f32, UnsupportedOp> {
    match op {
        AluOp::SUBTRACT => Ok(row.iter().fold(acc, |acc, x| x - acc)),
        // The operands of all others may be exchanged.
        AluOp::ADD | AluOp::MULT | AluOp::MAX | AluOp::MIN => fold_row(op, acc, row),
        _ => Err(unsupported(op)),
    }
}

/// [`accumulate_row`] with every intermediate result stored; returns the last one.
///
/// # Panics
/// If `out` is not as long as `row`.
pub fn accumulate_scan(op: AluOp, acc: f32, row: &[f32], out: &mut [f32]) -> Result<f32, UnsupportedOp> {
    assert_eq!(row.len(), out.len(), "operand and result of a scan");
    match op {
        AluOp::SUBTRACT => Ok(row.iter().zip(out).fold(acc, |acc, (x, out)| {
            *out = x - acc;
            *out
        })),
        AluOp::ADD | AluOp::MULT | AluOp::MAX | AluOp::MIN => scan_row(op, acc, row, out),
        _ => Err(unsupported(op)),
    }
}

/// The recurrence of two operators (chapter 04 section 5.2), both elementwise: `t = op0(a[k], acc)`,
/// `acc = op1(t, b[k])`, `out[k] = acc`, where `reverse` exchanges the operands of each operator unless it is
/// unary. Returns the last `acc`.
///
/// # Panics
/// If `b` or `out` is shorter than `a`.
pub fn recurrence_row(
    ops: [AluOp; 2],
    reverse: [bool; 2],
    acc: f32,
    a: &[f32],
    b: &[f32],
    out: &mut [f32],
) -> Result<f32, UnsupportedOp> {
    let function = |op| elementwise!(op, f => f as fn(f32, f32) -> f32).ok_or(unsupported(op));
    let (f0, f1) = (function(ops[0])?, function(ops[1])?);
    let [swap0, swap1] = [0, 1].map(|i| reverse[i] && !ops[i].is_unary());
    let mut acc = acc;
    for (k, a) in a.iter().enumerate() {
        let t = if swap0 { f0(acc, *a) } else { f0(*a, acc) };
        acc = if swap1 { f1(b[k], t) } else { f1(t, b[k]) };
        out[k] = acc;
    }
    Ok(acc)
}

/// Lanes whose elements make a column.
pub(crate) const LANES: usize = 16;

/// The same element of several lanes, which know nothing of each other.
pub(crate) type Column = [f32; LANES];

multiversion! {
    /// [`fold_f32`] over the columns, in every lane; `None` for other operators.
    pub(crate) fn fold_columns(op: AluOp, acc: &mut Column, columns: &[Column]) -> Option<()> {
        folding!(op, f => {
            let mut now = *acc;
            for column in columns {
                now = std::array::from_fn(|lane| f(now[lane], column[lane]));
            }
            *acc = now;
        })
    }
}

multiversion! {
    /// [`fold_f32`] of every element into the accumulator beside it; `None` for other operators.
    pub(crate) fn fold_rows(op: AluOp, accumulators: &mut [f32], row: &[f32]) -> Option<()> {
        folding!(op, f => accumulators.iter_mut().zip(row).for_each(|(acc, x)| *acc = f(*acc, *x)))
    }
}

multiversion! {
    /// [`scan_row`] in every lane; returns the last results, `acc` for other operators.
    pub(crate) fn scan_columns(op: AluOp, acc: Column, columns: &[Column], out: &mut [Column]) -> Column {
        let last = folding!(op, f => {
            let mut now = acc;
            for (out, column) in out.iter_mut().zip(columns) {
                now = std::array::from_fn(|lane| f(now[lane], column[lane]));
                *out = now;
            }
            now
        });
        last.unwrap_or(acc)
    }
}

/// Evaluates `$body` with `$f` bound to the function of an operator that recurrences are mostly made of, on operands
/// that are exchanged if `$swap`; `None` for others.
macro_rules! common {
    ($op:expr, $swap:expr, $f:ident => $body:expr) => {
        match ($op, $swap) {
            (AluOp::ADD, _) => Some({
                let $f = |a: f32, b: f32| a + b;
                $body
            }),
            (AluOp::MULT, _) => Some({
                let $f = |a: f32, b: f32| a * b;
                $body
            }),
            (AluOp::SUBTRACT, false) => Some({
                let $f = |a: f32, b: f32| a - b;
                $body
            }),
            (AluOp::SUBTRACT, true) => Some({
                let $f = |a: f32, b: f32| b - a;
                $body
            }),
            (AluOp::MAX, _) => Some({
                let $f = |a: f32, b: f32| max(a, b);
                $body
            }),
            (AluOp::MIN, _) => Some({
                let $f = |a: f32, b: f32| min(a, b);
                $body
            }),
            _ => None,
        }
    };
}

multiversion! {
    /// [`recurrence_row`] in every lane; the results replace `a`. `None` for other operators.
    pub(crate) fn recurrence_columns(
        ops: [AluOp; 2],
        reverse: [bool; 2],
        acc: &mut Column,
        a: &mut [Column],
        b: &[Column],
    ) -> Option<()> {
        let [swap0, swap1] = [0, 1].map(|i| reverse[i] && !ops[i].is_unary());
        let mut now = *acc;
        let common = common!(ops[0], swap0, f0 => common!(ops[1], swap1, f1 => {
            for (a, b) in a.iter_mut().zip(b) {
                now = std::array::from_fn(|lane| f1(f0(a[lane], now[lane]), b[lane]));
                *a = now;
            }
        }));
        if common.flatten().is_none() {
            for (a, b) in a.iter_mut().zip(b) {
                let t = if swap0 { columnwise(ops[0], &now, a)? } else { columnwise(ops[0], a, &now)? };
                now = if swap1 { columnwise(ops[1], b, &t)? } else { columnwise(ops[1], &t, b)? };
                *a = now;
            }
        }
        *acc = now;
        Some(())
    }
}

/// An elementwise operator in every lane.
#[inline(always)]
fn columnwise(op: AluOp, a: &Column, b: &Column) -> Option<Column> {
    elementwise!(op, f => std::array::from_fn(|lane| f(a[lane], b[lane])))
}

multiversion! {
    fn map_lanes(op: AluOp, rows: &mut dyn LaneRows, lanes: usize) -> Option<()> {
        elementwise!(op, f => for lane in 0..lanes {
            let (left, right, out) = rows.rows(lane);
            zip_rows(left, right, out, |a, b| canonical(f(a, b)));
        })
    }
}

/// The rows of one lane.
struct OneLane<'a>(Rhs<'a, f32>, Rhs<'a, f32>, &'a mut [f32]);

impl LaneRows for OneLane<'_> {
    fn rows(&mut self, _: usize) -> (Rhs<'_, f32>, Rhs<'_, f32>, &mut [f32]) {
        (self.0, self.1, self.2)
    }
}

multiversion! {
    /// The folds whose result does not depend on the order; `None` for other operators and empty rows.
    fn fold_extremum(op: AluOp, acc: f32, row: &[f32]) -> Option<f32> {
        match op {
            _ if row.is_empty() => None,
            AluOp::MAX => Some(largest(acc, row, |x| x)),
            AluOp::MIN => Some(-largest(acc, row, |x| -x)),
            AluOp::ABS_MAX => Some(largest(acc, row, f32::abs)),
            AluOp::ABS_MIN => Some(-largest(acc, row, |x| -x.abs())),
            _ => None,
        }
    }
}

/// The largest `f(x)` by rank.
#[inline(always)]
fn largest(acc: f32, row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut best = rank(f(acc));
    for x in row {
        // A comparison, not `Ord::max`, whose simplification with the NaN test hides the reduction from
        // the vectoriser.
        let next = rank(f(*x));
        if next > best {
            best = next;
        }
    }
    if best == rank(CANONICAL_NAN) { CANONICAL_NAN } else { f32::from_bits(flip_negative(best) as u32) }
}

/// Integers in the order of the values: a NaN below everything, −0 below +0.
#[inline(always)]
fn rank(value: f32) -> i32 {
    if value.is_nan() { i32::MIN } else { flip_negative(value.to_bits() as i32) }
}

/// Exchanges sign and magnitude with two's complement order; its own inverse.
#[inline(always)]
fn flip_negative(bits: i32) -> i32 {
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

fn unsupported(op: AluOp) -> UnsupportedOp {
    UnsupportedOp { op, form: AluForm::Fp }
}

#[inline(always)]
fn truth(condition: bool) -> f32 {
    if condition { 1.0 } else { 0.0 }
}

/// The larger operand; NaN if either is, +0 above −0 (E15).
#[inline(always)]
fn max(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() & b.to_bits());
    extremum(a, b, equal, a > b)
}

/// The smaller operand; NaN if either is, −0 below +0 (E15).
#[inline(always)]
fn min(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() | b.to_bits());
    extremum(a, b, equal, a < b)
}

/// `equal` merges the signs of operands that compare equal; for others it is not used. Every case is evaluated, so
/// that the choice needs no branch.
#[inline(always)]
fn extremum(a: f32, b: f32, equal: f32, a_wins: bool) -> f32 {
    let winner = if a_wins { a } else { b };
    let ordered = if a == b { equal } else { winner };
    if a.is_nan() { a } else { ordered }
}

#[inline(always)]
fn ignore_nan(a: f32, b: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    let both = f(a, b);
    let with_a = if b.is_nan() { a } else { both };
    if a.is_nan() { b } else { with_a }
}

/// Floored modulo as `numpy.mod`: the sign of `b`, also on a zero; NaN for b = 0 (E17, chapter 00 A14).
/// The remainder is exact, so that no library decides its bits.
#[inline]
fn modulo(a: f32, b: f32) -> f32 {
    let rest = a % b;
    if rest == 0.0 {
        rest.copysign(b)
    } else if (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

/// 1/√a; +Inf for both zeros, NaN below (E19, chapter 00 A14). Through f64 the result is correctly rounded,
/// which a test shows for every mantissa.
#[inline(always)]
fn rsqrt(a: f32) -> f32 {
    if a == 0.0 {
        f32::INFINITY
    } else if a < 0.0 {
        CANONICAL_NAN
    } else {
        (1.0 / f64::from(a).sqrt()) as f32
    }
}
