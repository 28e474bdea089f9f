//! ALU_OP on registers (chapter 02 section 9): every operator and dtype against plain formulas in wide integers,
//! and fp32 by its definition.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Word};
use seqjit_runtime::machine::Machine;

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Pool;
const UINT16: u8 = 5;
const INT64: u8 = 0xC;

/// Evaluates one ALU_OP word at a time.
struct Alu(Machine);

impl Alu {
    fn new(word: Word, strict: bool) -> Self {
        let setup = if strict { setup() } else { setup().lenient() };
        Alu(setup.program(E, &[word, halt()]).build())
    }

    /// R2:R1 op R4:R3 -> R6:R5.
    fn eval(&mut self, a: u64, b: u64) -> Result<u64, FaultKind> {
        let engine = state(&mut self.0, E);
        for (low, value) in [(1, a), (3, b), (5, 0xDEAD_0000_DEAD)] {
            engine.registers[low] = value as u32;
            engine.registers[low + 1] = (value >> 32) as u32;
        }
        // an engine that the last operation has killed starts from reset
        self.0.csr_write(0, E, RUN_STALL, 1).unwrap();
        self.0.csr_write(0, E, RUN_STALL, 0).unwrap();
        self.0.csr_write(0, E, LR3, BASE as u32).unwrap();
        start(&mut self.0, E).map_err(|f| f.kind)?;
        let high = u64::from(register(&self.0, E, 6));
        Ok(high << 32 | u64::from(register(&self.0, E, 5)))
    }

    fn eval32(&mut self, a: u32, b: u32) -> Result<u32, FaultKind> {
        let wide = self.eval(a.into(), b.into())?;
        assert_eq!(wide >> 32, 0xDEAD, "the high destination stays");
        Ok(wide as u32)
    }
}

fn register_form(op: u8, dtype: u8, dst_dtype: u8) -> Word {
    word(0xA8, &[(12, &[op, dtype, 0, dst_dtype]), (16, &[1, 2, 3, 4, 5, 6])])
}

fn bits_of(dtype: u8) -> (u32, bool) {
    match dtype {
        INT8 => (8, true),
        UINT8 => (8, false),
        INT16 => (16, true),
        UINT16 => (16, false),
        INT32 => (32, true),
        UINT32 => (32, false),
        INT64 => (64, true),
        UINT64 => (64, false),
        other => panic!("{other} is no integer"),
    }
}

/// The low bits of a pattern as a number of the dtype.
fn value(dtype: u8, pattern: u64) -> i128 {
    let (bits, signed) = bits_of(dtype);
    let low = i128::from(pattern) & ((1 << bits) - 1);
    if signed && low >> (bits - 1) & 1 == 1 { low - (1 << bits) } else { low }
}

/// Floor of a quotient.
fn floor(a: i128, b: i128) -> i128 {
    a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)
}

enum Outcome {
    Is(i128),
    DivisionByZero,
    Undefined,
}

/// The table of section 9 for numbers; shifts and bitwise operators on patterns. `signed` is the dtype's.
fn integer(op: u8, dtype: u8, a: i128, b: i128) -> Outcome {
    let (bits, _) = bits_of(dtype);
    let count = (b & (i128::from(bits) - 1)) as u32;
    let pattern = a & ((1 << bits) - 1);
    let sign_filled = if pattern >> (bits - 1) & 1 == 1 { pattern - (1 << bits) } else { pattern };
    let flag = |f: bool| Outcome::Is(f.into());
    // operators of one signedness look at the patterns as such numbers
    let unsigned = |v: i128| v & ((1i128 << bits.max(32)) - 1);
    let signed = |v: i128| value(if bits == 64 { INT64 } else { INT32 }, v as u64);
    let (ua, ub, sa, sb) = (unsigned(a), unsigned(b), signed(a), signed(b));
    match op {
        0x00 => Outcome::Is(a),
        0x01 => Outcome::Is(!a),
        0x02 | 0x10 => Outcome::Is(pattern << count),
        0x03 => Outcome::Is(sign_filled >> count),
        0x11 => Outcome::Is(pattern >> count),
        0x04 | 0xC4 => Outcome::Is(a + b),
        0x05 | 0xC6 => Outcome::Is(a - b),
        0x06 | 0xC5 | 0xDB => Outcome::Is(a.wrapping_mul(b)),
        0x07 | 0xC7 | 0x1B | 0xC8 if b == 0 => Outcome::DivisionByZero,
        0xDC | 0xDD if ub == 0 => Outcome::DivisionByZero,
        0x07 | 0xC7 => Outcome::Is(a / b),
        0x1B => Outcome::Is(a - b * floor(a, b)),
        0xC8 => Outcome::Is(a % b),
        0xDC => Outcome::Is(ua / ub),
        0xDD => Outcome::Is(ua % ub),
        0x08 => Outcome::Is(a.max(b)),
        0x09 => Outcome::Is(a.min(b)),
        0xCF => Outcome::Is(sa.max(sb)),
        0xD0 => Outcome::Is(sa.min(sb)),
        0xD5 => Outcome::Is(ua.max(ub)),
        0xD6 => Outcome::Is(ua.min(ub)),
        0x0A => Outcome::Is(a & b),
        0x0B => Outcome::Is(a | b),
        0x0C => Outcome::Is(a ^ b),
        0x0D => flag(a != 0 && b != 0),
        0x0E => flag(a != 0 || b != 0),
        0x0F => flag((a != 0) != (b != 0)),
        0x12 | 0xC9 => flag(a == b),
        0x13 => flag(a > b),
        0x14 => flag(a >= b),
        0x15 => flag(a <= b),
        0x16 => flag(a < b),
        0x18 | 0xCA => flag(a != b),
        0xD1 => flag(sa > sb),
        0xD2 => flag(sa >= sb),
        0xD3 => flag(sa <= sb),
        0xD4 => flag(sa < sb),
        0xD7 => flag(ua > ub),
        0xD8 => flag(ua >= ub),
        0xD9 => flag(ua <= ub),
        0xDA => flag(ua < ub),
        0x17 => Outcome::Is((a - b).abs()),
        0xCD => Outcome::Is((sa - sb).abs()),
        0x19 => Outcome::Is(a.abs()),
        0xCE => Outcome::Is(sa.abs()),
        0x20 => Outcome::Is(a.abs().max(b.abs())),
        0x21 => Outcome::Is(a.abs().min(b.abs())),
        0xCB => Outcome::Is(sa.abs().max(sb.abs())),
        0xCC => Outcome::Is(sa.abs().min(sb.abs())),
        0x22 => Outcome::Is(a.max(0)),
        0x23 => Outcome::Is(a.wrapping_mul(a)),
        _ => Outcome::Undefined,
    }
}

const PATTERNS: [u32; 14] = [
    0,
    1,
    2,
    7,
    33,
    0x7F,
    0x80,
    0xFFFF,
    0x8000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFF9,
    0xFFFF_FFFF,
    0x1234_5678,
];

#[test]
fn integer_operators_are_those_of_the_table() {
    for dtype in [INT32, UINT32, INT16, UINT16, INT8, UINT8] {
        for op in 0..=255u8 {
            let mut alu = Alu::new(register_form(op, dtype, 0), true);
            for a in PATTERNS {
                for b in PATTERNS {
                    let found = alu.eval32(a, b);
                    let what = format!("op 0x{op:02x} dtype {dtype} {a:x} {b:x}");
                    match integer(op, dtype, value(dtype, a.into()), value(dtype, b.into())) {
                        Outcome::Is(result) => {
                            // truncated to the dtype and extended to the register
                            let expected = value(dtype, result as u64) as u32;
                            assert_eq!(found, Ok(expected), "{what}");
                        }
                        Outcome::DivisionByZero => {
                            assert_eq!(found, Err(FaultKind::IntegerDivision), "{what}")
                        }
                        Outcome::Undefined => {
                            assert!(
                                matches!(found, Err(FaultKind::Unsupported { field: "op", .. })),
                                "{what}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Section 9: the operators that are legal on pairs; the base band is lenient mode's (decision 9e).
const WIDE: [u8; 35] = [
    0x00, 0x01, 0x02, 0x03, 0x0A, 0x0B, 0x0C, 0x10, 0x11, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB,
    0xCC, 0xCD, 0xCF, 0xD0, 0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xDB, 0xDC, 0xDD,
    0x1B,
];
const BASE_BAND: [u8; 11] = [0x04, 0x05, 0x06, 0x08, 0x09, 0x12, 0x13, 0x14, 0x15, 0x16, 0x18];

#[test]
fn pairs_compute_in_64_bits() {
    let patterns = [0, 1, 7, 65, 0x1_FFFF_FFFF, 1 << 63, u64::MAX, u64::MAX - 6, 0x1234_5678_9ABC_DEF0];
    for dtype in [INT64, UINT64] {
        for op in 0..=255u8 {
            for strict in [true, false] {
                let mut alu = Alu::new(register_form(op, dtype, 0), strict);
                let gated = WIDE.contains(&op);
                if !gated && (strict || !BASE_BAND.contains(&op)) {
                    if strict {
                        let refused = alu.eval(5, 3);
                        assert!(
                            matches!(refused, Err(FaultKind::Unsupported { field: "op", .. })),
                            "0x{op:02x}"
                        );
                    }
                    continue;
                }
                for a in patterns {
                    for b in patterns {
                        let what = format!("op 0x{op:02x} dtype {dtype} {a:x} {b:x}");
                        let found = alu.eval(a, b);
                        match integer(op, dtype, value(dtype, a), value(dtype, b)) {
                            Outcome::Is(result) => assert_eq!(found, Ok(result as u64), "{what}"),
                            Outcome::DivisionByZero => {
                                assert_eq!(found, Err(FaultKind::IntegerDivision), "{what}");
                            }
                            Outcome::Undefined => panic!("{what}"),
                        }
                    }
                }
            }
        }
    }
}

/// Decision 9b: with a 32-bit destination only the low register is written.
#[test]
fn a_pair_can_give_one_register() {
    for (dst_dtype, expected) in [(0, 0x0000_0000_0000_0001), (UINT64, 1), (UINT32, 0xDEAD_0000_0001)] {
        let mut alu = Alu::new(register_form(0xC9, INT64, dst_dtype), true);
        assert_eq!(alu.eval(9, 9), Ok(expected));
    }
    let immediate = patch(register_form(0xC4, UINT64, 0), 14, &[1]);
    let immediate = patch(immediate, 24, &0x1_0000_0001u64.to_le_bytes());
    assert_eq!(Alu::new(immediate, true).eval(0x1_FFFF_FFFF, 77), Ok(0x3_0000_0000), "all 64 bits of it");
}

/// Decision 9a.
#[test]
fn narrow_operations_do_not_convert() {
    for (dst_dtype, legal) in [(0, true), (INT32, true), (UINT32, false), (FP32, false), (INT64, false)] {
        let found = Alu::new(register_form(0x04, INT32, dst_dtype), true).eval32(1, 2);
        assert_eq!(found == Ok(3), legal, "{dst_dtype}");
    }
    for dtype in [6, 7, 0xB, 0xD, 0xE, 0xF, 0x1F] {
        let found = Alu::new(register_form(0x04, dtype, 0), true).eval32(1, 2);
        assert!(matches!(found, Err(FaultKind::Illegal { field: "dtype", .. })), "{dtype}");
    }
}

/// fp32 by its definition: numpy's maximum, minimum and mod; compares give 1.0 or 0.0 (decision 9c).
fn float(op: u8, a: f32, b: f32) -> Option<f32> {
    let truth = |f: bool| Some(if f { 1.0 } else { 0.0 });
    // zeros of two signs are ordered
    let rank = |v: f32| (v, v.is_sign_positive());
    let pick = |larger: bool| {
        if a.is_nan() || b.is_nan() {
            f32::NAN
        } else if (rank(a) > rank(b)) == larger {
            a
        } else {
            b
        }
    };
    match op {
        0x00 => Some(a),
        0x04 => Some(a + b),
        0x05 => Some(a - b),
        0x06 => Some(a * b),
        0x07 => Some(a / b),
        0x08 => Some(pick(true)),
        0x09 => Some(pick(false)),
        0x0D => truth(a != 0.0 && b != 0.0),
        0x0E => truth(a != 0.0 || b != 0.0),
        0x0F => truth((a != 0.0) != (b != 0.0)),
        0x12 => truth(a == b),
        0x13 => truth(a > b),
        0x14 => truth(a >= b),
        0x15 => truth(a <= b),
        0x16 => truth(a < b),
        0x18 => truth(a != b),
        0x17 => Some((a - b).abs()),
        0x19 => Some(a.abs()),
        0x23 => Some(a * a),
        _ => None,
    }
}

#[test]
fn fp32_operators_are_ieee() {
    let numbers = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        3.0,
        1e-40,
        -1e-45,
        f32::MIN_POSITIVE,
        f32::MAX,
        -f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        16_777_216.0,
    ];
    for op in 0..=255u8 {
        let mut alu = Alu::new(register_form(op, FP32, 0), true);
        for a in numbers {
            for b in numbers {
                let Some(expected) = float(op, a, b) else { continue };
                let expected = if expected.is_nan() { 0x7FC0_0000 } else { expected.to_bits() };
                assert_eq!(alu.eval32(a.to_bits(), b.to_bits()), Ok(expected), "op 0x{op:02x} {a} {b}");
            }
        }
    }
}

/// numpy.mod, worked out: the sign of the divisor, also on a zero; NaN for a divisor of zero.
#[test]
fn fp32_mod_is_floored() {
    let mut alu = Alu::new(register_form(0x1B, FP32, 0), true);
    let cases: [(f32, f32, f32); 7] = [
        (7.0, 3.0, 1.0),
        (-7.0, 3.0, 2.0),
        (7.0, -3.0, -2.0),
        (-6.0, 3.0, 0.0),
        (6.0, -3.0, -0.0),
        (5.5, 2.0, 1.5),
        (1.0, f32::INFINITY, 1.0),
    ];
    for (a, b, expected) in cases {
        assert_eq!(alu.eval32(a.to_bits(), b.to_bits()), Ok(expected.to_bits()), "{a} mod {b}");
    }
    assert_eq!(alu.eval32(1.0f32.to_bits(), 0), Ok(0x7FC0_0000));
}

/// Bitwise operators and shifts work on the raw bits of fp32 registers (decision 9c), and a raw copy keeps a NaN.
#[test]
fn bitwise_operators_do_not_look_at_the_dtype() {
    let bits = |op: u8, a, b| Alu::new(register_form(op, FP32, 0), true).eval32(a, b);
    assert_eq!(bits(0x0A, 0xFF80_0001, 0x7FFF_FFFF), Ok(0x7F80_0001));
    assert_eq!(bits(0x01, 0x3F80_0000, 0), Ok(0xC07F_FFFF));
    assert_eq!(bits(0x03, 0x8000_0000, 33), Ok(0xC000_0000));
    assert_eq!(bits(0x11, 0x8000_0000, 31), Ok(1));
    assert_eq!(bits(0x00, 0x7F80_0001, 0), Ok(0x7F80_0001));
}

/// Operators that registers do not have are refused on fp32 too.
#[test]
fn other_fp32_operators_are_refused() {
    let bitwise = [0x01, 0x02, 0x03, 0x0A, 0x0B, 0x0C, 0x10, 0x11];
    let more = [0x1B, 0x20, 0x21, 0x22];
    for op in 0..=255u8 {
        let found = Alu::new(register_form(op, FP32, 0), true).eval32(0x3F80_0000, 0x4000_0000);
        let legal = float(op, 1.0, 2.0).is_some() || bitwise.contains(&op) || more.contains(&op);
        assert_eq!(found.is_ok(), legal, "0x{op:02x}: {found:?}");
    }
}

/// Operands are read before the result is written.
#[test]
fn a_destination_may_be_a_source() {
    let mut machine =
        machine(E, &[move_immediate(&[(1, 6), (2, 7)]), alu_registers(0x06, INT32, [1, 2], 1), halt()]);
    start(&mut machine, E).unwrap();
    assert_eq!(register(&machine, E, 1), 42);
    // a pair that overlaps its own source
    let shifted = word(0xA8, &[(12, &[0xC4, INT64, 0, 0]), (16, &[1, 2, 1, 2, 2, 3])]);
    let mut machine = self::machine(E, &[move_immediate(&[(1, 0x8000_0001), (2, 3)]), shifted, halt()]);
    start(&mut machine, E).unwrap();
    assert_eq!((register(&machine, E, 2), register(&machine, E, 3)), (2, 7));
}
