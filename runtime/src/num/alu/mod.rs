//! Evaluation of the ALU operators (chapter 03 section 7): one table of operators per compute class
//! of section 7.4, each used for single values and for rows.

pub(super) mod bitvec;
pub(super) mod fp;
pub(super) mod int;

use crate::isa::AluOp;

/// A way to compute with an operator (chapter 03 section 7.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AluForm {
    /// FP32 arithmetic.
    Fp,
    /// Two's complement at 32 or 64 bits.
    Int,
    /// Raw bits.
    Bitvec,
    /// The position of an extreme value.
    ArgReduce,
}

/// An operator that has no meaning in the form asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("ALU operator {} is not defined in class {form:?}", .op.text())]
pub struct UnsupportedOp {
    /// The operator.
    pub op: AluOp,
    /// The form.
    pub form: AluForm,
}

/// The second operand of a row operation.
#[derive(Clone, Copy, Debug)]
pub enum Rhs<'a, T> {
    /// One value per element.
    Row(&'a [T]),
    /// The same value for all.
    Scalar(T),
}

/// Left and right operand of a row operation after the reverse rule (chapter 03 section 7.5): unary
/// operators and BYPASS always act on `row`.
#[inline(always)]
fn operands<'a, T: Copy>(
    op: AluOp,
    row: &'a [T],
    rhs: Rhs<'a, T>,
    reverse: bool,
) -> (Rhs<'a, T>, Rhs<'a, T>) {
    if reverse && !op.is_unary() { (rhs, Rhs::Row(row)) } else { (Rhs::Row(row), rhs) }
}

/// `out[k] = f(left[k], right[k])`.
///
/// # Panics
/// If a row is not as long as `out`.
#[inline(always)]
fn zip_rows<T: Copy>(left: Rhs<T>, right: Rhs<T>, out: &mut [T], f: impl Fn(T, T) -> T) {
    for row in [left, right] {
        if let Rhs::Row(row) = row {
            assert_eq!(row.len(), out.len(), "operand and result of a row operation");
        }
    }
    match (left, right) {
        (Rhs::Row(left), Rhs::Row(right)) => {
            for ((out, a), b) in out.iter_mut().zip(left).zip(right) {
                *out = f(*a, *b);
            }
        }
        (Rhs::Row(left), Rhs::Scalar(b)) => {
            for (out, a) in out.iter_mut().zip(left) {
                *out = f(*a, b);
            }
        }
        (Rhs::Scalar(a), Rhs::Row(right)) => {
            for (out, b) in out.iter_mut().zip(right) {
                *out = f(a, *b);
            }
        }
        (Rhs::Scalar(a), Rhs::Scalar(b)) => out.fill(f(a, b)),
    }
}

/// Evaluates `$body` with `$f` bound to the function of an operator, from a table
/// `NAME NAME ... |a, b| result;` of all operators that a form defines; `None` for others.
macro_rules! select_op {
    ($op:expr, $f:ident: $T:ty => $body:expr;
     $($($name:ident)+ |$a:tt, $b:tt| $result:expr;)*) => {
        match $op {
            $($(AluOp::$name)|+ => {
                let $f = |$a: $T, $b: $T| -> $T { $result };
                Some($body)
            })*
            _ => None,
        }
    };
}
use select_op;
