//! Class BITVEC: an independent formulation bit by bit, and the manual's examples.

use super::*;

/// The operators of chapter 03 section 7.3, set BV9.
const BV9: [AluOp; 9] = [
    AluOp::BYPASS,
    AluOp::BITWISE_NOT,
    AluOp::ARITH_SHIFT_LEFT,
    AluOp::ARITH_SHIFT_RIGHT,
    AluOp::BITWISE_AND,
    AluOp::BITWISE_OR,
    AluOp::BITWISE_XOR,
    AluOp::LOGICAL_SHIFT_LEFT,
    AluOp::LOGICAL_SHIFT_RIGHT,
];

const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// The result one bit after the other.
fn reference(op: AluOp, a: u64, b: u64, width: u32) -> u64 {
    let bit =
        |value: u64, position: i128| (0..i128::from(width)).contains(&position) && value >> position & 1 == 1;
    let count = i128::from(if width == 64 { b } else { b % (1 << width) });
    let top = i128::from(width) - 1;
    (0..width).map(i128::from).fold(0, |result, k| {
        let set = match op {
            AluOp::BYPASS => bit(a, k),
            AluOp::BITWISE_NOT => !bit(a, k),
            AluOp::BITWISE_AND => bit(a, k) && bit(b, k),
            AluOp::BITWISE_OR => bit(a, k) || bit(b, k),
            AluOp::BITWISE_XOR => bit(a, k) != bit(b, k),
            AluOp::ARITH_SHIFT_LEFT | AluOp::LOGICAL_SHIFT_LEFT => bit(a, k - count),
            AluOp::LOGICAL_SHIFT_RIGHT => bit(a, k + count),
            AluOp::ARITH_SHIFT_RIGHT => bit(a, (k + count).min(top)),
            _ => unreachable!("not of BV9"),
        };
        result | u64::from(set) << k
    })
}

const OPERANDS: [u64; 16] = [
    0,
    1,
    3,
    7,
    8,
    31,
    32,
    63,
    64,
    0x80,
    0x8001,
    0x8000_0010,
    0xFFFF_FFFF,
    0x1234_5678_9ABC_DEF0,
    0x8000_0000_0000_0001,
    u64::MAX,
];

/// Operator, width, operands, result (chapter 03 section 7.5, chapter 04 sections 3.1 and 4.2).
#[test]
fn worked_examples() {
    for (op, width, a, b, expected) in [
        (AluOp::ARITH_SHIFT_RIGHT, 8, 0x80, 1, 0xC0),
        (AluOp::BITWISE_XOR, 16, 0xF0F0, 0x0FF0, 0xFF00),
        (AluOp::ARITH_SHIFT_RIGHT, 32, 0x8000_0010, 4, 0xF800_0001),
        (AluOp::BITWISE_NOT, 8, 0x0F, 0, 0xF0),
        (AluOp::LOGICAL_SHIFT_RIGHT, 32, 0x1234_5678, 4, 0x0123_4567),
        (AluOp::LOGICAL_SHIFT_LEFT, 16, 0x0123, 4, 0x1230),
        // A count of the width or more, also with the sign bit set, is large: 0 or all sign bits (E16).
        (AluOp::LOGICAL_SHIFT_LEFT, 8, 0xFF, 8, 0),
        (AluOp::ARITH_SHIFT_LEFT, 8, 0xFF, 0xFF, 0),
        (AluOp::LOGICAL_SHIFT_RIGHT, 32, 0xFFFF_FFFF, 32, 0),
        (AluOp::ARITH_SHIFT_RIGHT, 16, 0x8000, 16, 0xFFFF),
        (AluOp::ARITH_SHIFT_RIGHT, 16, 0x7FFF, 0xFFFF, 0),
        (AluOp::ARITH_SHIFT_RIGHT, 64, 1 << 63, u64::MAX, u64::MAX),
    ] {
        assert_eq!(eval_bitvec(op, a, b, width), Ok(expected), "{} {width} {a:X} {b:X}", op.text());
    }
}

#[test]
fn scalar_and_rows_are_the_reference() {
    let pairs: Vec<(u64, u64)> = OPERANDS.iter().flat_map(|a| OPERANDS.map(|b| (*a, b))).collect();
    let (left, right): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
    for op in BV9 {
        for width in WIDTHS {
            let expected: Vec<u64> = pairs.iter().map(|(a, b)| reference(op, *a, *b, width)).collect();
            for ((a, b), expected) in pairs.iter().zip(&expected) {
                assert_eq!(
                    eval_bitvec(op, *a, *b, width),
                    Ok(*expected),
                    "{} {width} {a:X} {b:X}",
                    op.text()
                );
            }
            at_every_level(|level| {
                let context = format!("{} {width} {level:?}", op.text());
                let mut out = vec![0; pairs.len()];
                assert_eq!(map2_bits(op, &left, Rhs::Row(&right), width, false, &mut out), Ok(()));
                assert_eq!(out, expected, "{context}");
                if !op.is_unary() {
                    assert_eq!(map2_bits(op, &right, Rhs::Row(&left), width, true, &mut out), Ok(()));
                    assert_eq!(out, expected, "{context} reversed");
                }
                for b in OPERANDS {
                    assert_eq!(map2_bits(op, &left, Rhs::Scalar(b), width, false, &mut out), Ok(()));
                    let column: Vec<u64> = left.iter().map(|a| reference(op, *a, b, width)).collect();
                    assert_eq!(out, column, "{context} scalar {b:X}");
                }
            });
            let folded = OPERANDS[1..].iter().fold(OPERANDS[0], |acc, x| reference(op, acc, *x, width));
            assert_eq!(fold_row_bits(op, OPERANDS[0], &OPERANDS[1..], width), Ok(folded), "{}", op.text());
        }
    }
}

#[test]
fn operators_of_other_classes_are_refused() {
    for op in all_operators() {
        let defined = BV9.contains(&op);
        assert_eq!(eval_bitvec(op, 1, 1, 32).is_ok(), defined, "{}", op.text());
        assert_eq!(fold_row_bits(op, 1, &[1], 32).is_ok(), defined, "{}", op.text());
        let refused = map2_bits(op, &[1], Rhs::Scalar(1), 32, false, &mut [0]);
        assert_eq!(refused.is_ok(), defined, "{}", op.text());
    }
}
