//! POW against correctly rounded values (mpmath) and IEEE 754's special cases.

use super::*;

#[rustfmt::skip]
const SPECIAL_OPERANDS: [u32; 12] = [
    0x0000_0000, 0x8000_0000, 0x3F80_0000, 0xBF80_0000, 0x4040_0000, 0xC040_0000,
    0x3F00_0000, 0xBF00_0000, 0x4000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000,
];

/// Base down, exponent across, both as `SPECIAL_OPERANDS`: `numpy.power` of float32.
#[rustfmt::skip]
const SPECIAL_POWERS: [[u32; 12]; 12] = [
    [
        0x3F80_0000, 0x3F80_0000, 0x0000_0000, 0x7F80_0000, 0x0000_0000, 0x7F80_0000,
        0x0000_0000, 0x7F80_0000, 0x0000_0000, 0x0000_0000, 0x7F80_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0x8000_0000, 0xFF80_0000, 0x8000_0000, 0xFF80_0000,
        0x0000_0000, 0x7F80_0000, 0x0000_0000, 0x0000_0000, 0x7F80_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0x3F80_0000, 0x3F80_0000, 0x3F80_0000, 0x3F80_0000,
        0x3F80_0000, 0x3F80_0000, 0x3F80_0000, 0x3F80_0000, 0x3F80_0000, 0x3F80_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0xBF80_0000, 0xBF80_0000, 0xBF80_0000, 0xBF80_0000,
        0x7FC0_0000, 0x7FC0_0000, 0x3F80_0000, 0x3F80_0000, 0x3F80_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0x4040_0000, 0x3EAA_AAAB, 0x41D8_0000, 0x3D17_B426,
        0x3FDD_B3D7, 0x3F13_CD3A, 0x4110_0000, 0x7F80_0000, 0x0000_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0xC040_0000, 0xBEAA_AAAB, 0xC1D8_0000, 0xBD17_B426,
        0x7FC0_0000, 0x7FC0_0000, 0x4110_0000, 0x7F80_0000, 0x0000_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0x3F00_0000, 0x4000_0000, 0x3E00_0000, 0x4100_0000,
        0x3F35_04F3, 0x3FB5_04F3, 0x3E80_0000, 0x0000_0000, 0x7F80_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0xBF00_0000, 0xC000_0000, 0xBE00_0000, 0xC100_0000,
        0x7FC0_0000, 0x7FC0_0000, 0x3E80_0000, 0x0000_0000, 0x7F80_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0x4000_0000, 0x3F00_0000, 0x4100_0000, 0x3E00_0000,
        0x3FB5_04F3, 0x3F35_04F3, 0x4080_0000, 0x7F80_0000, 0x0000_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0x7F80_0000, 0x0000_0000, 0x7F80_0000, 0x0000_0000,
        0x7F80_0000, 0x0000_0000, 0x7F80_0000, 0x7F80_0000, 0x0000_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0xFF80_0000, 0x8000_0000, 0xFF80_0000, 0x8000_0000,
        0x7F80_0000, 0x0000_0000, 0x7F80_0000, 0x7F80_0000, 0x0000_0000, 0x7FC0_0000,
    ],
    [
        0x3F80_0000, 0x3F80_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000,
        0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000,
    ],
];

/// Base, exponent, power: correctly rounded. The first of them hold exact powers, powers that lie half-way
/// between two FP32 values, and the ends of the range.
#[rustfmt::skip]
const POWERS: [(u32, u32, u32); 51] = [
    (0x4000_0000, 0x3F00_0000, 0x3FB5_04F3),
    (0x4000_0000, 0xBF80_0000, 0x3F00_0000),
    (0x4120_0000, 0x4120_0000, 0x5015_02F9),
    (0x4120_0000, 0xC120_0000, 0x2EDB_E6FF),
    (0x4120_0000, 0x4218_0000, 0x7E96_7699),
    (0x4120_0000, 0xC234_0000, 0x0000_0001),
    (0x4040_0000, 0x4220_0000, 0x5F28_B8B4),
    (0x3F80_0001, 0x4B18_9680, 0x4052_D05E),
    (0x3F7F_FFFE, 0x4B18_9680, 0x3E9B_6F85),
    (0x3FC0_0000, 0x4348_0000, 0x79FE_AC32),
    (0x4580_0800, 0x4000_0000, 0x4B80_1000),
    (0x4580_1800, 0x4000_0000, 0x4B80_3004),
    (0x45FF_F800, 0x4000_0000, 0x4C7F_F000),
    (0x45B5_0800, 0x4000_0000, 0x4C00_0450),
    (0x4380_8000, 0x4040_0000, 0x4B81_8180),
    (0x4110_0000, 0x3FC0_0000, 0x41D8_0000),
    (0x4000_0000, 0xC315_0000, 0x0000_0001),
    (0x4000_0000, 0xC316_0000, 0x0000_0000),
    (0x3F80_0002, 0xCE6E_6B28, 0x0000_0000),
    (0x0000_0001, 0x3F00_0000, 0x1A35_04F3),
    (0x0000_0001, 0xBF00_0000, 0x64B5_04F3),
    (0x7F7F_C99E, 0x3F80_0000, 0x7F7F_C99E),
    (0x0001_16C2, 0x3F66_6666, 0x03AA_2407),
    (0x3DCC_CCCD, 0x3DCC_CCCD, 0x3F4B_5918),
    (0x40E0_0000, 0x3EAA_AAAB, 0x3FF4_DAEE),
    (0x4000_0000, 0x42FF_FFFF, 0x7F7F_FFA7),
    (0x4000_0000, 0x4300_0000, 0x7F80_0000),
    (0x3FFF_FFFF, 0x42FE_0000, 0x7EFF_FF81),
    (0x3F00_0000, 0x4315_0000, 0x0000_0001),
    (0x3F00_0000, 0x4316_0000, 0x0000_0000),
    (0x40C0_0000, 0x41C8_0000, 0x5FC5_4656),
    (0x41F9_30DB, 0x411A_BE61, 0x577C_B193),
    (0x421F_0C02, 0x418D_9587, 0x6E83_248B),
    (0x4213_FD78, 0x4187_24DD, 0x6B80_25DA),
    (0x3FBA_E057, 0xBFB0_0313, 0x3F18_2488),
    (0x423C_AC72, 0x40BE_AFFB, 0x500C_1CD7),
    (0x4234_2F1F, 0xC177_8C56, 0x1500_C2A2),
    (0x41BB_AB8B, 0xC122_3182, 0x2867_96D2),
    (0x41D9_8A75, 0x403D_4A19, 0x4688_94B7),
    (0x3F2A_6358, 0xC135_4AFD, 0x42C9_860A),
    (0x415F_B380, 0x4185_3B03, 0x5F25_FC21),
    (0x4219_278B, 0xC159_DA72, 0x1BA8_7C09),
    (0x421F_7001, 0xC167_3059, 0x1910_888A),
    (0x41F7_02F9, 0xC16E_E999, 0x1A8A_1FA4),
    (0x3DCA_3086, 0x416D_B2F4, 0x26A5_DD35),
    (0x4127_B10C, 0xC136_1791, 0x2C2B_9DB7),
    (0x4244_7C24, 0x416E_574A, 0x694E_B98E),
    (0x4167_8ECF, 0x4193_AC47, 0x630F_6C3E),
    (0x41D7_B9EB, 0x40E3_9F7E, 0x5060_5708),
    (0x4123_F36B, 0x418D_1CC1, 0x5D14_B5FE),
    (0x420A_2409, 0x4195_4CF3, 0x6F24_EC98),
];

#[test]
fn special_cases() {
    for (base, row) in SPECIAL_OPERANDS.into_iter().zip(SPECIAL_POWERS) {
        for (exponent, expected) in SPECIAL_OPERANDS.into_iter().zip(row) {
            let result = eval_f32(AluOp::POW, f32::from_bits(base), f32::from_bits(exponent)).map(bits);
            assert_eq!(result, Ok(expected), "{base:08X} ^ {exponent:08X}");
        }
    }
}

#[test]
fn powers_are_correctly_rounded() {
    for (base, exponent, expected) in POWERS {
        let (base, exponent) = (f32::from_bits(base), f32::from_bits(exponent));
        let result = eval_f32(AluOp::POW, base, exponent).map(bits);
        assert_eq!(result, Ok(expected), "{base} ^ {exponent}");
    }
}

/// Squares and cubes that FP32 cannot hold are exact in f64, so that rounding them once is the definition.
#[test]
fn small_integer_powers_are_exact() {
    for base in (1..=65535).map(|base| base as f32) {
        let exact = f64::from(base);
        assert_eq!(eval_f32(AluOp::POW, base, 2.0), Ok((exact * exact) as f32), "{base}²");
        assert_eq!(eval_f32(AluOp::POW, -base, 3.0), Ok((-exact * exact * exact) as f32), "−{base}³");
        assert_eq!(eval_f32(AluOp::POW, base * base, 0.5), Ok(base * base.min(1.0)), "√{base}²");
    }
}

/// The platform's function is good to one place of f64, so that FP32 results differ by at most one place.
#[test]
fn the_platform_is_near() {
    let mut state = 12345_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state
    };
    let mut different = 0;
    for _ in 0..200_000 {
        let base = f32::from_bits(random() & 0x7FFF_FFFF);
        let exponent = f32::from_bits(random() & 0x81FF_FFFF | 0x3C00_0000);
        let platform = f64::from(base).powf(f64::from(exponent)) as f32;
        let ours = eval_f32(AluOp::POW, base, exponent).map_or(0, bits);
        let distance = ours.abs_diff(bits(platform));
        assert!(distance <= 1, "{base:e} ^ {exponent:e}");
        different += distance;
    }
    assert!(different <= 2, "{different} of 200000 differ");
}
