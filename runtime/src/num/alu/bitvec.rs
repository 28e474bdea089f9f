//! Class BITVEC: raw bits at the width of the datatype (chapter 03 section 7.4).

use super::{AluForm, Rhs, UnsupportedOp, operands, select_op, zip_rows};
use crate::isa::AluOp;
use crate::num::dispatch::multiversion;

/// The operators for operands that are zero above `$width` bits; so are the results after `& mask`.
macro_rules! bitvec {
    ($op:expr, $width:ident, $f:ident => $body:expr) => {
        select_op! { $op, $f: u64 => $body;
            BYPASS                                 |a, _| a;
            BITWISE_NOT                            |a, _| !a;
            BITWISE_AND                            |a, b| a & b;
            BITWISE_OR                             |a, b| a | b;
            BITWISE_XOR                            |a, b| a ^ b;
            ARITH_SHIFT_LEFT LOGICAL_SHIFT_LEFT    |a, b| if b < $width { a << b } else { 0 };
            LOGICAL_SHIFT_RIGHT                    |a, b| if b < $width { a >> b } else { 0 };
            ARITH_SHIFT_RIGHT                      |a, b| shift_right_signed(a, b, $width);
        }
    };
}

/// The result of a bit-vector operator on the low `width_bits` (8, 16, 32 or 64) of its operands, `a` on
/// the left. Shift counts are unsigned; a count of `width_bits` or more gives 0, or the sign in every bit
/// for ARITH_SHIFT_RIGHT (chapter 03 section 7.4, E16). CRC32 is not defined (E20).
pub fn eval_bitvec(op: AluOp, a: u64, b: u64, width_bits: u32) -> Result<u64, UnsupportedOp> {
    let (mask, width) = (mask(width_bits), u64::from(width_bits));
    bitvec!(op, width, f => f(a & mask, b & mask) & mask).ok_or(unsupported(op))
}

/// [`eval_bitvec`] on rows: `out[k] = op(a[k], b[k])`, or `op(b[k], a[k])` if `reverse`; unary operators
/// act on `a` either way (chapter 03 section 7.5).
///
/// # Panics
/// If a row is not as long as `out`.
pub fn map2_bits(
    op: AluOp,
    a: &[u64],
    b: Rhs<'_, u64>,
    width_bits: u32,
    reverse: bool,
    out: &mut [u64],
) -> Result<(), UnsupportedOp> {
    let (left, right) = operands(op, a, b, reverse);
    map_rows(op, left, right, width_bits, out).ok_or(unsupported(op))
}

/// [`eval_bitvec`] folded over a row in its order: `acc = op(acc, row[k])`.
pub fn fold_row_bits(op: AluOp, acc: u64, row: &[u64], width_bits: u32) -> Result<u64, UnsupportedOp> {
    let (mask, width) = (mask(width_bits), u64::from(width_bits));
    let folded = bitvec!(op, width, f => row.iter().fold(acc & mask, |acc, x| f(acc, x & mask) & mask));
    folded.ok_or(unsupported(op))
}

/// [`fold_row_bits`] with every intermediate result stored.
///
/// # Panics
/// If `out` is shorter than `row`.
pub fn scan_row_bits(
    op: AluOp,
    acc: u64,
    row: &[u64],
    width_bits: u32,
    out: &mut [u64],
) -> Result<u64, UnsupportedOp> {
    let (mask, width) = (mask(width_bits), u64::from(width_bits));
    let scanned = bitvec!(op, width, f => {
        let mut acc = acc & mask;
        for (k, x) in row.iter().enumerate() {
            acc = f(acc, x & mask) & mask;
            out[k] = acc;
        }
        acc
    });
    scanned.ok_or(unsupported(op))
}

multiversion! {
    fn map_rows(op: AluOp, left: Rhs<'_, u64>, right: Rhs<'_, u64>, width_bits: u32, out: &mut [u64]) -> Option<()> {
        let (mask, width) = (mask(width_bits), u64::from(width_bits));
        bitvec!(op, width, f => zip_rows(left, right, out, |a, b| f(a & mask, b & mask) & mask))
    }
}

#[inline(always)]
fn mask(width_bits: u32) -> u64 {
    u64::MAX >> (64 - width_bits)
}

#[inline(always)]
fn shift_right_signed(a: u64, count: u64, width: u64) -> u64 {
    let unused = 64 - width;
    ((a << unused) as i64 >> unused >> count.min(63)) as u64
}

fn unsupported(op: AluOp) -> UnsupportedOp {
    UnsupportedOp { op, form: AluForm::Bitvec }
}
