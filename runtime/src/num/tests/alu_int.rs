//! Class INT: an independent formulation in exact arithmetic, and the manual's examples.

use super::*;
use crate::isa::AluSet;

/// The exact result in i128 before it wraps, from the operator's name; `None` for other classes.
fn exact(op: AluOp, a: i128, b: i128) -> Option<i128> {
    let name = op.info()?.name;
    let name = name.strip_suffix("_INT").or_else(|| name.strip_suffix("_UINT")).unwrap_or(name);
    let integer_band = op.0 >= 0xC0;
    Some(match name {
        "BYPASS" => a,
        "ADD" => a + b,
        "SUBTRACT" => a - b,
        "MULT" => a.wrapping_mul(b),
        "SQUARE" => a.wrapping_mul(a),
        "DIVIDE" | "MOD" if b == 0 => 0,
        "DIVIDE" => a / b,
        "MOD" if integer_band => a % b,
        "MOD" => a - b * (a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)),
        "MAX" => a.max(b),
        "MIN" => a.min(b),
        "RE_LU" => a.max(0),
        "LOGICAL_AND" => (a != 0 && b != 0).into(),
        "LOGICAL_OR" => (a != 0 || b != 0).into(),
        "LOGICAL_XOR" => ((a != 0) ^ (b != 0)).into(),
        "IS_EQ" | "IS_EQUAL" => (a == b).into(),
        "IS_NE" => (a != b).into(),
        "IS_GT" => (a > b).into(),
        "IS_GE" => (a >= b).into(),
        "IS_LE" => (a <= b).into(),
        "IS_LT" => (a < b).into(),
        "ABSOLUTE_DIFF" | "ABS_DIFF" => (a - b).abs(),
        "ABSOLUTE_VALUE" | "ABS_VALUE" => a.abs(),
        "ABS_MAX" => a.abs().max(b.abs()),
        "ABS_MIN" => a.abs().min(b.abs()),
        _ => return None,
    })
}

/// A value as the datatype's 32- or 64-bit class holds it, extended by its signedness.
fn wrap(value: i128, dtype: Dtype) -> i128 {
    match (dtype.is_64bit(), dtype.is_signed()) {
        (false, true) => (value as i32).into(),
        (false, false) => (value as u32).into(),
        (true, true) => (value as i64).into(),
        (true, false) => (value as u64).into(),
    }
}

/// Datatypes that an operator is legal for: those of its signedness.
fn legal_dtypes(op: AluOp) -> impl Iterator<Item = Dtype> {
    let sets = op.info().map_or(0, |info| info.sets);
    let (signed, unsigned) = (sets & AluSet::SG as u8 != 0, sets & AluSet::UN as u8 != 0);
    INTEGERS.into_iter().filter(move |dtype| match (signed, unsigned) {
        (true, false) => dtype.is_signed(),
        (false, true) => !dtype.is_signed(),
        _ => op != AluOp::ABS_VALUE_INT || dtype.is_signed(),
    })
}

fn operands_of(dtype: Dtype) -> Vec<i64> {
    let width = 8 * dtype.bytes() as u32;
    let top = 1_u64 << (width - 1);
    let patterns =
        [0, 1, 2, 3, 7, 100, top - 1, top, top + 1, top.wrapping_neg() - 1, u64::MAX - 1, u64::MAX, 0x5555];
    let unused = 64 - width;
    let extend = |bits: u64| {
        if dtype.is_signed() { (bits << unused) as i64 >> unused } else { (bits << unused >> unused) as i64 }
    };
    let mut values: Vec<i64> = patterns.into_iter().map(extend).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// An i64 carrier as the number it stands for.
fn number(value: i64, dtype: Dtype) -> i128 {
    if dtype == Dtype::UINT64 { (value as u64).into() } else { value.into() }
}

fn divides(op: AluOp) -> bool {
    op.info().is_some_and(|info| info.name.starts_with("DIV") || info.name.starts_with("MOD"))
}

#[test]
fn scalar_and_rows_are_the_reference() {
    for op in all_operators() {
        for dtype in legal_dtypes(op) {
            let operands = operands_of(dtype);
            let pairs: Vec<(i64, i64)> =
                operands.iter().flat_map(|a| operands.iter().map(move |b| (*a, *b))).collect();
            let expected: Option<Vec<i64>> = pairs
                .iter()
                .map(|(a, b)| exact(op, number(*a, dtype), number(*b, dtype)).map(|v| wrap(v, dtype) as i64))
                .collect();
            let context = format!("{} {}", op.text(), dtype.text());
            let Some(expected) = expected else {
                assert!(eval_int(op, 1, 1, dtype).is_err(), "{context}");
                assert!(map2_int(op, &[1], Rhs::Scalar(1), dtype, false, &mut [0]).is_err(), "{context}");
                assert!(fold_row_int(op, 1, &[1], dtype).is_err(), "{context}");
                continue;
            };
            for ((a, b), expected) in pairs.iter().zip(&expected) {
                let by_zero = divides(op) && *b == 0;
                assert_eq!(eval_int(op, *a, *b, dtype), Ok((*expected, by_zero)), "{context} {a} {b}");
            }
            check_rows(op, dtype, &pairs, &expected);
        }
    }
}

fn check_rows(op: AluOp, dtype: Dtype, pairs: &[(i64, i64)], expected: &[i64]) {
    let (left, right): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
    at_every_level(|level| {
        let context = format!("{} {} {level:?}", op.text(), dtype.text());
        let mut out = vec![0; left.len()];
        let by_zero = map2_int(op, &left, Rhs::Row(&right), dtype, false, &mut out);
        assert_eq!((by_zero, &out[..]), (Ok(divides(op)), expected), "{context}");
        if !op.is_unary() {
            let by_zero = map2_int(op, &right, Rhs::Row(&left), dtype, true, &mut out);
            assert_eq!((by_zero, &out[..]), (Ok(divides(op)), expected), "{context} reversed");
        }
        for b in operands_of(dtype) {
            let column: Vec<i64> =
                pairs.iter().zip(expected).filter(|(p, _)| p.1 == b).map(|(_, e)| *e).collect();
            let data = operands_of(dtype);
            let mut out = vec![0; data.len()];
            let by_zero = map2_int(op, &data, Rhs::Scalar(b), dtype, false, &mut out);
            assert_eq!((by_zero, out), (Ok(divides(op) && b == 0), column), "{context} scalar {b}");
        }
    });
    let row: Vec<i64> = operands_of(dtype).into_iter().filter(|x| *x != 0).collect();
    let folded = row.iter().try_fold(row[0], |acc, x| eval_int(op, acc, *x, dtype).map(|(value, _)| value));
    assert_eq!(fold_row_int(op, row[0], &row, dtype), folded.map(|value| (value, false)), "{}", op.text());
    let (_, by_zero) = fold_row_int(op, 1, &[1, 0, 1], dtype).unwrap_or_default();
    assert_eq!(by_zero, divides(op), "{}", op.text());
}

/// Chapter 03 sections 7.4, 7.5, chapter 04 sections 2.4, 3.2 and chapter 02 section 9.
#[test]
fn worked_examples() {
    let (i32_min, i64_min) = (i64::from(i32::MIN), i64::MIN);
    for (op, dtype, a, b, expected) in [
        (AluOp::MULT_INT, Dtype::INT32, 0x10000, 0x10000, 0),
        (AluOp::MULT, Dtype::INT32, 0x10000, 0x10000, 0),
        (AluOp::MULT_INT, Dtype::INT32, 0x7FFF_FFFF, 3, 0x7FFF_FFFD),
        (AluOp::ADD_INT, Dtype::INT32, 16_777_217, 0, 16_777_217),
        (AluOp::DIVIDE_INT, Dtype::INT32, -7, 2, -3),
        (AluOp::DIVIDE_INT, Dtype::INT32, i32_min, -1, i32_min),
        (AluOp::DIVIDE_INT, Dtype::INT64, i64_min, -1, i64_min),
        (AluOp::MOD, Dtype::INT32, -7, 3, 2),
        (AluOp::MOD, Dtype::INT32, -7, 2, 1),
        (AluOp::MOD, Dtype::INT32, 7, -3, -2),
        (AluOp::MOD, Dtype::INT32, i32_min, -1, 0),
        (AluOp::MOD_INT, Dtype::INT32, -7, 3, -1),
        (AluOp::MOD_INT, Dtype::INT32, -7, 2, -1),
        // Signedness of the datatype: 2^32 − 7 divided by 2.
        (AluOp::DIVIDE_INT, Dtype::UINT32, 0xFFFF_FFF9, 2, 0x7FFF_FFFC),
        (AluOp::ABS_MAX_INT, Dtype::INT32, i32_min, i32::MAX.into(), i32_min),
        (AluOp::ABS_MIN_INT, Dtype::INT32, i32_min, -5, 5),
        (AluOp::ABS_DIFF_INT, Dtype::INT32, i32_min, i32::MAX.into(), -1),
        (AluOp::ABS_DIFF_INT, Dtype::INT64, i64_min, i64::MAX, -1),
        (AluOp::ABS_VALUE_INT, Dtype::INT32, i32_min, 0, i32_min),
        (AluOp::IS_LT, Dtype::UINT32, 1, 0xFFFF_FFFF, 1),
        (AluOp::IS_LT, Dtype::INT32, 1, -1, 0),
        (AluOp::ADD_INT, Dtype::INT64, 0x1_FFFF_FFFF, 1, 0x2_0000_0000),
        (AluOp::MULT_INT, Dtype::INT64, 0x1_0000_0001, 3, 0x3_0000_0003),
        (AluOp::MAX_UINT, Dtype::UINT64, -1, 1, -1),
        (AluOp::MAX_INT, Dtype::INT64, -1, 1, 1),
        // Eight bits compute at 32: the store clamps, not the operation (E22).
        (AluOp::ADD_INT, Dtype::INT8, 100, 100, 200),
        (AluOp::SUBTRACT_INT, Dtype::UINT8, 5, 7, 0xFFFF_FFFE),
    ] {
        assert_eq!(
            eval_int(op, a, b, dtype),
            Ok((expected, false)),
            "{} {} {a} {b}",
            op.text(),
            dtype.text()
        );
    }
    for op in [AluOp::DIVIDE_INT, AluOp::MOD_INT, AluOp::MOD, AluOp::DIVIDE] {
        assert_eq!(eval_int(op, -7, 0, Dtype::INT32), Ok((0, true)), "{}", op.text());
    }
}

/// No row element, no division.
#[test]
fn empty_rows_do_not_divide() {
    assert_eq!(map2_int(AluOp::MOD_INT, &[], Rhs::Scalar(0), Dtype::INT32, false, &mut []), Ok(false));
}

/// The divisor is what stands on the right after the reverse rule.
#[test]
fn reverse_exchanges_the_divisor() {
    let mut out = [0; 2];
    let by_zero = map2_int(AluOp::DIVIDE_INT, &[2, 3], Rhs::Scalar(0), Dtype::INT32, true, &mut out);
    assert_eq!((by_zero, out), (Ok(false), [0, 0]));
    let by_zero = map2_int(AluOp::DIVIDE_INT, &[2, 0], Rhs::Scalar(9), Dtype::INT32, true, &mut out);
    assert_eq!((by_zero, out), (Ok(true), [4, 0]));
}

/// First occurrence in walk order, over rows (E23).
#[test]
fn arg_reductions_take_the_first() {
    let rows: [&[i64]; 3] = [&[3, -1, 7], &[], &[7, -1, 2, -1]];
    for (op, expected) in [(AluOp::AMAX_INT, 2), (AluOp::AMIN_INT, 1)] {
        let index = ArgFold::new(op).map(|mut fold| {
            rows.iter().for_each(|row| fold.push(row));
            fold.index()
        });
        assert_eq!(index, Ok(expected), "{}", op.text());
    }
    let large = [5, 0xFFFF_FFFF, 0, 0xFFFF_FFFF, 0];
    for (op, expected) in [(AluOp::AMAX_UINT, 1), (AluOp::AMIN_UINT, 2)] {
        let index = ArgFold::new(op).map(|mut fold| {
            fold.push(&large);
            fold.index()
        });
        assert_eq!(index, Ok(expected), "{}", op.text());
    }
    for op in all_operators().into_iter().filter(|op| !(0xDE..=0xE1).contains(&op.0)) {
        assert!(ArgFold::new(op).is_err(), "{}", op.text());
    }
}
