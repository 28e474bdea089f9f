//! Class INT: two's complement at 32 or 64 bits, never saturating (chapter 03 section 7.4).
//!
//! Values travel as i64: sign- or zero-extended by the datatype, UINT64 by its bits. Datatypes of 8 and 16
//! bits compute at 32 (E22); [`pack_int`](crate::num::pack_int) clamps.

use super::{AluForm, Rhs, UnsupportedOp, operands, select_op, zip_rows};
use crate::isa::{AluOp, AluSet, Dtype};

/// The operators. The base band is here for the words that compute with it in this class: MOD, and ADD,
/// SUBTRACT and MULT of 32-bit integers on POOL (chapter 04, C3), and for the register ALU (chapter 02
/// section 9).
macro_rules! integer {
    ($op:expr, $T:ident, $f:ident => $body:expr) => {
        select_op! { $op, $f: $T => $body;
            BYPASS                         |a, _| a;
            ADD ADD_INT                    |a, b| a.wrapping_add(b);
            SUBTRACT SUBTRACT_INT          |a, b| a.wrapping_sub(b);
            MULT MULT_INT MULT_UINT        |a, b| a.wrapping_mul(b);
            SQUARE                         |a, _| a.wrapping_mul(a);
            DIVIDE DIVIDE_INT DIVIDE_UINT  |a, b| if b == 0 { 0 } else { a.wrapping_div(b) };
            MOD_INT MOD_UINT               |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) };
            MOD                            |a, b| if b == 0 { 0 } else { a.floored_mod(b) };
            MAX MAX_INT MAX_UINT           |a, b| a.max(b);
            MIN MIN_INT MIN_UINT           |a, b| a.min(b);
            RE_LU                          |a, _| a.max(0);
            LOGICAL_AND                    |a, b| $T::from(a != 0 && b != 0);
            LOGICAL_OR                     |a, b| $T::from(a != 0 || b != 0);
            LOGICAL_XOR                    |a, b| $T::from((a != 0) != (b != 0));
            IS_EQ IS_EQUAL_INT             |a, b| $T::from(a == b);
            IS_NE IS_NE_INT                |a, b| $T::from(a != b);
            IS_GT IS_GT_INT IS_GT_UINT     |a, b| $T::from(a > b);
            IS_GE IS_GE_INT IS_GE_UINT     |a, b| $T::from(a >= b);
            IS_LE IS_LE_INT IS_LE_UINT     |a, b| $T::from(a <= b);
            IS_LT IS_LT_INT IS_LT_UINT     |a, b| $T::from(a < b);
            // The exact difference or magnitude, then its low bits: the magnitude of the lowest value
            // is the largest one and reads back as the lowest (chapter 00 A14).
            ABSOLUTE_DIFF ABS_DIFF_INT     |a, b| a.abs_diff(b) as $T;
            ABSOLUTE_VALUE ABS_VALUE_INT   |a, _| a.magnitude() as $T;
            ABS_MAX ABS_MAX_INT            |a, b| a.magnitude().max(b.magnitude()) as $T;
            ABS_MIN ABS_MIN_INT            |a, b| a.magnitude().min(b.magnitude()) as $T;
        }
    };
}

/// Evaluates `$body` with `$T` standing for the type that an operator computes in.
macro_rules! at_width {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        match (is_signed($op, $dtype), $dtype.is_64bit()) {
            (true, false) => {
                type $T = i32;
                $body
            }
            (false, false) => {
                type $T = u32;
                $body
            }
            (true, true) => {
                type $T = i64;
                $body
            }
            (false, true) => {
                type $T = u64;
                $body
            }
        }
    };
}

/// The result of an integer operator on values of `dtype`, `a` on the left, and whether it divided by
/// zero, which gives 0 (chapter 03 section 7.4, E18). Compares and logical operators give 1 or 0. MOD is
/// floored, the other divisions truncate (E17). Operators of one signedness compute in it, all others in
/// the datatype's; the result is extended by the same.
pub fn eval_int(op: AluOp, a: i64, b: i64, dtype: Dtype) -> Result<(i64, bool), UnsupportedOp> {
    let value = at_width!(op, dtype, T => integer!(op, T, f => f(T::narrow(a), T::narrow(b)).widen()));
    let by_zero = divides(op) && is_zero(b, dtype);
    value.map(|value| (value, by_zero)).ok_or(unsupported(op))
}

/// [`eval_int`] on rows: `out[k] = op(a[k], b[k])`, or `op(b[k], a[k])` if `reverse`; unary operators act
/// on `a` either way (chapter 03 section 7.5). Returns whether any element divided by zero.
///
/// # Panics
/// If a row is not as long as `out`.
pub fn map2_int(
    op: AluOp,
    a: &[i64],
    b: Rhs<'_, i64>,
    dtype: Dtype,
    reverse: bool,
    out: &mut [i64],
) -> Result<bool, UnsupportedOp> {
    let (left, right) = operands(op, a, b, reverse);
    map_rows(op, left, right, dtype, out).ok_or(unsupported(op))?;
    Ok(divides(op)
        && !out.is_empty()
        && match right {
            Rhs::Row(row) => row.iter().any(|b| is_zero(*b, dtype)),
            Rhs::Scalar(b) => is_zero(b, dtype),
        })
}

/// [`eval_int`] folded over a row in its order: `acc = op(acc, row[k])`, and whether any step divided by
/// zero.
pub fn fold_row_int(op: AluOp, acc: i64, row: &[i64], dtype: Dtype) -> Result<(i64, bool), UnsupportedOp> {
    let folded = at_width!(op, dtype, T => {
        integer!(op, T, f => row.iter().fold(T::narrow(acc), |acc, x| f(acc, T::narrow(*x))).widen())
    });
    let by_zero = divides(op) && row.iter().any(|b| is_zero(*b, dtype));
    folded.map(|value| (value, by_zero)).ok_or(unsupported(op))
}

/// [`fold_row_int`] with every intermediate result stored.
///
/// # Panics
/// If `out` is shorter than `row`.
pub fn scan_row_int(
    op: AluOp,
    acc: i64,
    row: &[i64],
    dtype: Dtype,
    out: &mut [i64],
) -> Result<(i64, bool), UnsupportedOp> {
    let scanned = at_width!(op, dtype, T => integer!(op, T, f => {
        let mut acc = T::narrow(acc);
        for (k, x) in row.iter().enumerate() {
            acc = f(acc, T::narrow(*x));
            out[k] = acc.widen();
        }
        acc.widen()
    }));
    let by_zero = divides(op) && row.iter().any(|b| is_zero(*b, dtype));
    scanned.map(|value| (value, by_zero)).ok_or(unsupported(op))
}

/// Not compiled per CPU level as the other classes are: with four types to every operator that costs ten
/// times the compile time of the whole crate.
fn map_rows(op: AluOp, left: Rhs<'_, i64>, right: Rhs<'_, i64>, dtype: Dtype, out: &mut [i64]) -> Option<()> {
    at_width!(op, dtype, T => {
        integer!(op, T, f => zip_rows(left, right, out, |a, b| f(T::narrow(a), T::narrow(b)).widen()))
    })
}

/// The position of the largest or smallest element among all that were pushed, the first one if there are
/// several (chapter 03 section 7.4, E23).
#[derive(Clone, Debug)]
pub struct ArgFold {
    largest: bool,
    signed: bool,
    best: i64,
    index: u32,
    seen: u32,
}

impl ArgFold {
    /// Starts a search for AMAX_INT, AMIN_INT, AMAX_UINT or AMIN_UINT.
    pub fn new(op: AluOp) -> Result<Self, UnsupportedOp> {
        let (largest, signed) = match op {
            AluOp::AMAX_INT => (true, true),
            AluOp::AMIN_INT => (false, true),
            AluOp::AMAX_UINT => (true, false),
            AluOp::AMIN_UINT => (false, false),
            _ => return Err(UnsupportedOp { op, form: AluForm::ArgReduce }),
        };
        Ok(ArgFold { largest, signed, best: 0, index: 0, seen: 0 })
    }

    /// Takes the next elements in walk order.
    pub fn push(&mut self, row: &[i64]) {
        for &value in row {
            let (value_key, best_key) = (self.key(value), self.key(self.best));
            let better = if self.largest { value_key > best_key } else { value_key < best_key };
            if better || self.seen == 0 {
                self.best = value;
                self.index = self.seen;
            }
            self.seen += 1;
        }
    }

    /// The position, counted from 0 over all rows; 0 before the first element.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Maps values to unsigned numbers of the same order.
    fn key(&self, value: i64) -> u64 {
        if self.signed { value as u64 ^ 1 << 63 } else { value as u64 }
    }
}

/// What signed and unsigned integers do differently.
trait Integer {
    type Magnitude;
    /// The low bits of `value`.
    fn narrow(value: i64) -> Self;
    /// Sign- or zero-extends; u64 keeps its bits.
    fn widen(self) -> i64;
    /// The remainder with the sign of `b`, which is not zero.
    fn floored_mod(self, b: Self) -> Self;
    /// The absolute value, without overflow.
    fn magnitude(self) -> Self::Magnitude;
}

macro_rules! integers {
    ($($signed:ident $unsigned:ident)*) => {$(
        impl Integer for $signed {
            type Magnitude = $unsigned;
            #[inline(always)]
            fn narrow(value: i64) -> Self {
                value as _
            }
            #[inline(always)]
            fn widen(self) -> i64 {
                self as _
            }
            #[inline(always)]
            fn floored_mod(self, b: Self) -> Self {
                let rest = self.wrapping_rem(b);
                if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
            }
            #[inline(always)]
            fn magnitude(self) -> $unsigned {
                self.unsigned_abs()
            }
        }
        impl Integer for $unsigned {
            type Magnitude = $unsigned;
            #[inline(always)]
            fn narrow(value: i64) -> Self {
                value as _
            }
            #[inline(always)]
            fn widen(self) -> i64 {
                self as _
            }
            #[inline(always)]
            fn floored_mod(self, b: Self) -> Self {
                self % b
            }
            #[inline(always)]
            fn magnitude(self) -> $unsigned {
                self
            }
        }
    )*};
}
integers! { i32 u32 i64 u64 }

/// The signedness of the computation: that of the operator's predicate set (chapter 03 section 7.3), or of
/// the datatype if the operator is legal for both or is of the base band.
fn is_signed(op: AluOp, dtype: Dtype) -> bool {
    let sets = op.info().map_or(0, |info| info.sets);
    match (sets & AluSet::SG as u8 != 0, sets & AluSet::UN as u8 != 0) {
        (true, false) => true,
        (false, true) => false,
        _ => dtype.is_signed(),
    }
}

fn divides(op: AluOp) -> bool {
    matches!(
        op,
        AluOp::DIVIDE
            | AluOp::DIVIDE_INT
            | AluOp::DIVIDE_UINT
            | AluOp::MOD
            | AluOp::MOD_INT
            | AluOp::MOD_UINT
    )
}

#[inline(always)]
fn is_zero(value: i64, dtype: Dtype) -> bool {
    if dtype.is_64bit() { value == 0 } else { value as u32 == 0 }
}

fn unsupported(op: AluOp) -> UnsupportedOp {
    UnsupportedOp { op, form: AluForm::Int }
}
