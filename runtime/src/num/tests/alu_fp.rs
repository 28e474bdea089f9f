//! Class FP: operators on hand-worked values, rows and folds against the scalar definitions.

use super::*;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

/// Operator, left, right, result: hand-worked (chapter 03 sections 7.1 and 7.4).
#[rustfmt::skip]
const VECTORS: [(AluOp, f32, f32, f32); 75] = [
    (AluOp::BYPASS, 3.0, 4.0, 3.0),
    (AluOp::ADD, 3.0, 4.0, 7.0),
    (AluOp::ADD, 16_777_216.0, 1.0, 16_777_216.0),
    (AluOp::ADD, INF, -INF, NAN),
    (AluOp::SUBTRACT, 3.0, 4.0, -1.0),
    (AluOp::MULT, 3.0, 4.0, 12.0),
    (AluOp::MULT, 0.0, INF, NAN),
    // Gradual underflow: 2^-75 · 2^-74 is the least subnormal.
    (AluOp::MULT, f32::from_bits(0x1A00_0000), f32::from_bits(0x1A80_0000), f32::from_bits(1)),
    (AluOp::DIVIDE, 3.0, 4.0, 0.75),
    (AluOp::MAX, 3.0, 4.0, 4.0),
    (AluOp::MAX, 4.0, 3.0, 4.0),
    (AluOp::MAX, 0.0, -0.0, 0.0),
    (AluOp::MAX, -0.0, 0.0, 0.0),
    (AluOp::MAX, -0.0, -0.0, -0.0),
    (AluOp::MAX, NAN, 1.0, NAN),
    (AluOp::MAX, 1.0, NAN, NAN),
    (AluOp::MIN, 3.0, 4.0, 3.0),
    (AluOp::MIN, 4.0, 3.0, 3.0),
    (AluOp::MIN, 0.0, -0.0, -0.0),
    (AluOp::MIN, -0.0, 0.0, -0.0),
    (AluOp::MIN, 0.0, 0.0, 0.0),
    (AluOp::MIN, NAN, 1.0, NAN),
    (AluOp::MIN, 1.0, NAN, NAN),
    (AluOp::LOGICAL_AND, 2.0, -3.0, 1.0),
    (AluOp::LOGICAL_AND, 2.0, -0.0, 0.0),
    (AluOp::LOGICAL_AND, NAN, 1.0, 1.0),
    (AluOp::LOGICAL_OR, 0.0, -0.0, 0.0),
    (AluOp::LOGICAL_OR, 0.0, NAN, 1.0),
    (AluOp::LOGICAL_XOR, 2.0, 3.0, 0.0),
    (AluOp::LOGICAL_XOR, 2.0, 0.0, 1.0),
    (AluOp::IS_EQ, 0.0, -0.0, 1.0),
    (AluOp::IS_EQ, NAN, NAN, 0.0),
    (AluOp::IS_GT, 2.0, 1.0, 1.0),
    (AluOp::IS_GT, 1.0, 1.0, 0.0),
    (AluOp::IS_GT, NAN, 1.0, 0.0),
    (AluOp::IS_GE, 1.0, 1.0, 1.0),
    (AluOp::IS_GE, 1.0, 2.0, 0.0),
    (AluOp::IS_GE, 1.0, NAN, 0.0),
    (AluOp::IS_LE, 1.0, 1.0, 1.0),
    (AluOp::IS_LE, 2.0, 1.0, 0.0),
    (AluOp::IS_LE, NAN, NAN, 0.0),
    (AluOp::IS_LT, 1.0, 2.0, 1.0),
    (AluOp::IS_LT, 1.0, 1.0, 0.0),
    (AluOp::IS_LT, NAN, 1.0, 0.0),
    (AluOp::IS_NE, 1.0, 2.0, 1.0),
    (AluOp::IS_NE, 1.0, 1.0, 0.0),
    (AluOp::IS_NE, NAN, NAN, 1.0),
    (AluOp::ABSOLUTE_DIFF, 3.0, 5.0, 2.0),
    (AluOp::ABSOLUTE_DIFF, -3.0, 5.0, 8.0),
    (AluOp::ABSOLUTE_VALUE, -3.0, 9.0, 3.0),
    (AluOp::ABSOLUTE_VALUE, -0.0, 9.0, 0.0),
    (AluOp::POW, 2.0, 10.0, 1024.0),
    (AluOp::MOD, -7.0, 3.0, 2.0),
    (AluOp::MOD, 7.0, -3.0, -2.0),
    (AluOp::MOD, 7.0, 0.0, NAN),
    (AluOp::RSQRT, 4.0, 9.0, 0.5),
    (AluOp::ABS_MAX, -3.0, 2.0, 3.0),
    (AluOp::ABS_MAX, 2.0, NAN, NAN),
    (AluOp::ABS_MAX, -0.0, -0.0, 0.0),
    (AluOp::ABS_MIN, -3.0, -2.0, 2.0),
    (AluOp::ABS_MIN, NAN, 2.0, NAN),
    (AluOp::RE_LU, 3.0, 9.0, 3.0),
    (AluOp::RE_LU, -3.0, 9.0, 0.0),
    (AluOp::RE_LU, -0.0, 9.0, 0.0),
    (AluOp::RE_LU, NAN, 9.0, NAN),
    (AluOp::RE_LU, -INF, 9.0, 0.0),
    (AluOp::SQUARE, -3.0, 9.0, 9.0),
    (AluOp::SQUARE, 1e30, 9.0, INF),
    (AluOp::SYMMETRIC_CLAMP, -3.0, 2.0, -3.0),
    (AluOp::SYMMETRIC_CLAMP, -1.0, 2.0, -2.0),
    (AluOp::SYMMETRIC_CLAMP, 1.0, -2.0, 2.0),
    (AluOp::SYMMETRIC_CLAMP, -0.0, 2.0, -2.0),
    (AluOp::SYMMETRIC_CLAMP, NAN, 2.0, NAN),
    (AluOp::SYMMETRIC_CLAMP, 2.0, NAN, NAN),
    (AluOp::SYMMETRIC_CLAMP, INF, 1.0, INF),
];

#[test]
fn operators() {
    for (op, a, b, expected) in VECTORS {
        assert_eq!(eval_f32(op, a, b).map(bits), Ok(bits(expected)), "{} {a} {b}", op.text());
    }
}

/// The operators that class FP defines are those of classes A and "A B" of chapter 03 section 7.1.
#[test]
fn operators_of_other_classes_are_refused() {
    let expected: Vec<u8> = [
        &[0x00][..],
        &[4, 5, 6, 7, 8, 9, 0xD, 0xE, 0xF],
        &[0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19],
        &[0x1A, 0x1B, 0x1D],
        &[0x20, 0x21, 0x22, 0x23, 0x24],
    ]
    .concat();
    let defined: Vec<u8> =
        all_operators().into_iter().filter(|op| eval_f32(*op, 1.0, 1.0).is_ok()).map(|op| op.0).collect();
    assert_eq!(defined, expected);
    let refused = eval_f32(AluOp::CRC32, 1.0, 1.0).map_err(|error| error.to_string());
    assert_eq!(refused, Err("ALU operator CRC32 is not defined in class Fp".into()));
}

/// The worked example of chapter 03 section 7.5: two operators with each reverse flag.
#[test]
fn reverse_exchanges_the_operands() {
    let chain = |x, op0, s0, first, op1, s1, second| {
        let (mut t, mut result) = ([0.0], [0.0]);
        map2(op0, &[x], Rhs::Scalar(s0), first, &mut t).and_then(|()| {
            map2(op1, &t, Rhs::Scalar(s1), second, &mut result)?;
            Ok(result[0])
        })
    };
    assert_eq!(chain(3.0, AluOp::SUBTRACT, 10.0, false, AluOp::MULT, 2.0, false), Ok(-14.0));
    assert_eq!(chain(3.0, AluOp::SUBTRACT, 10.0, true, AluOp::MULT, 2.0, false), Ok(14.0));
    assert_eq!(chain(3.0, AluOp::ADD, 1.0, false, AluOp::DIVIDE, 12.0, true), Ok(3.0));
    // Unary operators and BYPASS act on the data either way.
    assert_eq!(chain(-3.0, AluOp::ABSOLUTE_VALUE, 10.0, true, AluOp::BYPASS, 5.0, true), Ok(3.0));
}

/// A product and a sum round twice: fused they would give 2^-24.
#[test]
fn chains_are_not_fused() {
    let x = 1.0 + f32::EPSILON / 2.0 * 2.0;
    let product = eval_f32(AluOp::MULT, x, x);
    let sum = product.and_then(|product| eval_f32(AluOp::SUBTRACT, product, 1.0 + 2.0 * f32::EPSILON));
    assert_eq!(sum, Ok(0.0));
}

/// Integers through class FP are lossy above 2^24 (chapter 03 section 7.5, last examples).
#[test]
fn integers_through_fp32_round() {
    let (mut value, mut row) = ([0.0], [0; 4]);
    unpack(&16_777_217_i32.to_le_bytes(), Dtype::INT32, IEEE, &mut value);
    let mut sum = [0.0];
    assert_eq!(map2(AluOp::ADD, &value, Rhs::Scalar(0.0), false, &mut sum), Ok(()));
    pack(&sum, Dtype::INT32, IEEE, &mut row);
    assert_eq!(i32::from_le_bytes(row), 16_777_216);
}

#[test]
fn rows_are_the_scalar_definition() {
    let specials = specials();
    let pairs: Vec<(f32, f32)> =
        specials.iter().flat_map(|a| specials.iter().map(move |b| (*a, *b))).collect();
    let (left, right): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
    for op in all_operators() {
        let unary = op.is_unary();
        let expected: Result<Vec<u32>, _> =
            pairs.iter().map(|(a, b)| eval_f32(op, *a, *b).map(bits)).collect();
        at_every_level(|level| {
            let run = |a: &[f32], b, reverse| {
                let mut out = vec![0.0; a.len()];
                map2(op, a, b, reverse, &mut out)?;
                Ok(out.into_iter().map(bits).collect::<Vec<u32>>())
            };
            let context = format!("{} {level:?}", op.text());
            assert!(run(&left, Rhs::Row(&right), false) == expected, "{context}");
            if !unary {
                assert!(run(&right, Rhs::Row(&left), true) == expected, "{context} reversed");
            }
            for (k, a) in specials.iter().enumerate() {
                let part = |values: &Vec<u32>| values[k * specials.len()..(k + 1) * specials.len()].to_vec();
                let scalar_left = if unary {
                    run(&vec![*a; specials.len()], Rhs::Scalar(7.0), true)
                } else {
                    run(&specials, Rhs::Scalar(*a), true)
                };
                assert!(scalar_left == expected.as_ref().map(part).map_err(|e| *e), "{context} {a} left");
                let column = specials.iter().map(|x| eval_f32(op, *x, *a).map(bits)).collect();
                assert!(run(&specials, Rhs::Scalar(*a), false) == column, "{context} {a} right");
            }
        });
    }
}

/// Folds ignore NaN unless there is nothing else; an identity counts as something else (E15, chapter 00 A14).
#[test]
fn folds_ignore_nan() {
    let cases = [
        (AluOp::MAX, NAN, vec![NAN, 1.0, NAN, -2.0], 1.0),
        (AluOp::MIN, NAN, vec![NAN, 1.0, NAN, -2.0], -2.0),
        (AluOp::MAX, NAN, vec![NAN, NAN], NAN),
        (AluOp::MAX, -INF, vec![NAN, NAN], -INF),
        (AluOp::MIN, INF, vec![NAN, NAN], INF),
        (AluOp::MAX, -0.0, vec![-0.0, 0.0, -0.0], 0.0),
        (AluOp::MIN, 0.0, vec![0.0, -0.0, 0.0], -0.0),
        (AluOp::ABS_MAX, 0.0, vec![NAN, -3.0, 2.0], 3.0),
        (AluOp::ABS_MIN, INF, vec![-3.0, NAN, -2.0], 2.0),
        (AluOp::ADD, 0.0, vec![1.0, NAN], NAN),
        (AluOp::SUBTRACT, 1.0, vec![2.0, 3.0, 4.0], -8.0),
        (AluOp::MULT, 1.0, vec![2.0, 3.0, 4.0], 24.0),
        (AluOp::LOGICAL_XOR, 1.0, vec![5.0, 0.0, 7.0], 1.0),
        (AluOp::MAX, -5.0, vec![], -5.0),
        (AluOp::ABS_MAX, -5.0, vec![], -5.0),
    ];
    for (op, acc, row, expected) in cases {
        let result = fold_row(op, acc, &row).map(bits);
        assert_eq!(result, Ok(bits(expected)), "{} from {acc} over {row:?}", op.text());
    }
}

/// Serial order: 2^24 absorbs ones one by one.
#[test]
fn sums_are_serial() {
    let mut row = vec![1.0; 100];
    row.push(-16_777_216.0);
    assert_eq!(fold_row(AluOp::ADD, 16_777_216.0, &row), Ok(0.0));
}

#[test]
fn fold_rows_and_scans_are_the_scalar_definition() {
    let specials = specials();
    for op in all_operators() {
        for rotation in 0..specials.len() {
            let mut row = specials.clone();
            row.rotate_left(rotation);
            // Halves without NaN too, as most operators keep one for good.
            for row in [&row[..], &row[..15], &row[15..]] {
                for acc in [0.0, -0.0, NAN, -INF, -2.5] {
                    let mut steps = Vec::new();
                    let mut expected = fold_f32(op, acc, acc).map(|_| acc);
                    for x in row {
                        expected = expected.and_then(|acc| fold_f32(op, acc, *x));
                        steps.extend(expected.map(bits));
                    }
                    let expected = expected.map(bits);
                    at_every_level(|level| {
                        let folded = fold_row(op, acc, row).map(bits);
                        assert_eq!(folded, expected, "{} {level:?} {acc} {row:?}", op.text());
                    });
                    let mut out = vec![0.0; row.len()];
                    assert_eq!(scan_row(op, acc, row, &mut out).map(bits), expected, "{}", op.text());
                    if expected.is_ok() {
                        assert_eq!(out.into_iter().map(bits).collect::<Vec<_>>(), steps, "{}", op.text());
                    }
                }
            }
        }
    }
}

/// An identity leaves every value as it is, except that ABS_MAX and ABS_MIN take magnitudes.
#[test]
fn identities_and_seeds() {
    for info in AluOp::TABLE {
        let Some(identity) = fold_identity(info.code) else { continue };
        for x in specials().into_iter().filter(|x| !x.is_nan()) {
            let expected = match info.code {
                AluOp::ABS_MAX | AluOp::ABS_MIN => x.abs(),
                AluOp::SUBTRACT => 0.0 - x,
                AluOp::ADD => x + 0.0,
                _ => x,
            };
            assert_eq!(fold_f32(info.code, identity, x).map(bits), Ok(bits(expected)), "{} {x}", info.name);
        }
    }
    let with_identity = [4, 5, 6, 8, 9, 0x20, 0x21];
    let found: Vec<u8> =
        all_operators().into_iter().filter(|op| fold_identity(*op).is_some()).map(|op| op.0).collect();
    assert_eq!(found, with_identity);
    assert_eq!(fold_seed(AluOp::LOGICAL_AND, -3.0), 1.0);
    assert_eq!(fold_seed(AluOp::LOGICAL_OR, -0.0), 0.0);
    assert_eq!(fold_seed(AluOp::LOGICAL_XOR, NAN), 1.0);
    assert_eq!(fold_seed(AluOp::MAX, -3.0), -3.0);
}
