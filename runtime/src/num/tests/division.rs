//! MOD against numpy, DIVIDE by hand, RSQRT against exact integer arithmetic.

use super::*;

#[rustfmt::skip]
const MOD_OPERANDS: [u32; 14] = [
    0x0000_0000, 0x8000_0000, 0x3F80_0000, 0xBF80_0000, 0x4040_0000, 0xC040_0000, 0x40F0_0000,
    0xC0F0_0000, 0x3DCC_CCCD, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x0000_0001, 0x7F7F_FFFF,
];

/// `numpy.mod` of float32, dividend down, divisor across, both as `MOD_OPERANDS`.
#[rustfmt::skip]
const NUMPY_MOD: [[u32; 14]; 14] = [
    [
        0x7FC0_0000, 0x7FC0_0000, 0x0000_0000, 0x8000_0000, 0x0000_0000, 0x8000_0000, 0x0000_0000,
        0x8000_0000, 0x0000_0000, 0x0000_0000, 0x8000_0000, 0x7FC0_0000, 0x0000_0000, 0x0000_0000,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x0000_0000, 0x8000_0000, 0x0000_0000, 0x8000_0000, 0x0000_0000,
        0x8000_0000, 0x0000_0000, 0x0000_0000, 0x8000_0000, 0x7FC0_0000, 0x0000_0000, 0x0000_0000,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x0000_0000, 0x8000_0000, 0x3F80_0000, 0xC000_0000, 0x3F80_0000,
        0xC0D0_0000, 0x3DCC_CCCB, 0x3F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x0000_0000, 0x3F80_0000,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x0000_0000, 0x8000_0000, 0x4000_0000, 0xBF80_0000, 0x40D0_0000,
        0xBF80_0000, 0x3280_0000, 0x7F80_0000, 0xBF80_0000, 0x7FC0_0000, 0x0000_0000, 0x7F7F_FFFF,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x0000_0000, 0x8000_0000, 0x0000_0000, 0x8000_0000, 0x4040_0000,
        0xC090_0000, 0x3DCC_CCC7, 0x4040_0000, 0xFF80_0000, 0x7FC0_0000, 0x0000_0000, 0x4040_0000,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x0000_0000, 0x8000_0000, 0x0000_0000, 0x8000_0000, 0x4090_0000,
        0xC040_0000, 0x3340_0000, 0x7F80_0000, 0xC040_0000, 0x7FC0_0000, 0x0000_0000, 0x7F7F_FFFF,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x3F00_0000, 0xBF00_0000, 0x3FC0_0000, 0xBFC0_0000, 0x0000_0000,
        0x8000_0000, 0x3DCC_CCBE, 0x40F0_0000, 0xFF80_0000, 0x7FC0_0000, 0x0000_0000, 0x40F0_0000,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x3F00_0000, 0xBF00_0000, 0x3FC0_0000, 0xBFC0_0000, 0x0000_0000,
        0x8000_0000, 0x33F0_0000, 0x7F80_0000, 0xC0F0_0000, 0x7FC0_0000, 0x0000_0000, 0x7F7F_FFFF,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x3DCC_CCCD, 0xBF66_6666, 0x3DCC_CCCD, 0xC039_999A, 0x3DCC_CCCD,
        0xC0EC_CCCD, 0x0000_0000, 0x3DCC_CCCD, 0xFF80_0000, 0x7FC0_0000, 0x0000_0000, 0x3DCC_CCCD,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000,
        0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000,
        0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000,
        0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000, 0x7FC0_0000,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x0000_0001, 0xBF80_0000, 0x0000_0001, 0xC040_0000, 0x0000_0001,
        0xC0F0_0000, 0x0000_0001, 0x0000_0001, 0xFF80_0000, 0x7FC0_0000, 0x0000_0000, 0x0000_0001,
    ],
    [
        0x7FC0_0000, 0x7FC0_0000, 0x0000_0000, 0x8000_0000, 0x0000_0000, 0x8000_0000, 0x0000_0000,
        0x8000_0000, 0x3D4C_CCD2, 0x7F7F_FFFF, 0xFF80_0000, 0x7FC0_0000, 0x0000_0000, 0x0000_0000,
    ],
];

#[test]
fn mod_is_numpy_mod() {
    for (a, row) in MOD_OPERANDS.into_iter().zip(NUMPY_MOD) {
        for (b, expected) in MOD_OPERANDS.into_iter().zip(row) {
            let result = eval_f32(AluOp::MOD, f32::from_bits(a), f32::from_bits(b)).map(bits);
            assert_eq!(result, Ok(expected), "{a:08X} mod {b:08X}");
        }
    }
}

#[test]
fn divide_follows_ieee() {
    let inf = f32::INFINITY;
    for (a, b, expected) in
        [(1.0, 3.0, 0x3EAA_AAAB), (1.0, 0.0, 0x7F80_0000), (1.0, -0.0, 0xFF80_0000), (-1.0, inf, 0x8000_0000)]
    {
        assert_eq!(eval_f32(AluOp::DIVIDE, a, b).map(bits), Ok(expected), "{a} / {b}");
    }
    for (a, b) in [(0.0, 0.0), (inf, inf), (f32::NAN, 1.0)] {
        assert_eq!(eval_f32(AluOp::DIVIDE, a, b).map(bits), Ok(0x7FC0_0000), "{a} / {b}");
    }
}

#[test]
fn rsqrt_special_cases() {
    let cases = [
        (0x0000_0000, 0x7F80_0000), // both zeros give +Inf (chapter 00 A14)
        (0x8000_0000, 0x7F80_0000),
        (0x7F80_0000, 0x0000_0000),
        (0xFF80_0000, 0x7FC0_0000),
        (0xBF80_0000, 0x7FC0_0000),
        (0x8000_0001, 0x7FC0_0000),
        (0x7FC0_0001, 0x7FC0_0000),
        (0x4080_0000, 0x3F00_0000),
        (0x0000_0001, 0x64B5_04F3), // 2^74.5
        (0x7F7F_FFFF, 0x1F80_0000), // 2^-64
    ];
    for (a, expected) in cases {
        assert_eq!(eval_f32(AluOp::RSQRT, f32::from_bits(a), 9.0).map(bits), Ok(expected), "{a:08X}");
    }
}

/// Correct rounding for every mantissa and both parities of the exponent: with x in [1, 4) and the result y,
/// 1/√x lies within half a last place of y, that is (y ± 2^-25)² · x encloses 1.
#[test]
fn rsqrt_is_correctly_rounded() {
    const CHUNK: u32 = 1 << 12;
    for start in (0x3F80_0000..0x4080_0000).step_by(CHUNK as usize) {
        let source: Vec<f32> = (start..start + CHUNK).map(f32::from_bits).collect();
        let mut results = vec![0.0; source.len()];
        assert_eq!(map2(AluOp::RSQRT, &source, Rhs::Scalar(0.0), false, &mut results), Ok(()));
        for (x, y) in source.into_iter().zip(results) {
            // x · 2^23 and y · 2^25 are integers.
            let (scaled_x, scaled_y) = ((x * 8_388_608.0) as u128, (y * 33_554_432.0) as u128);
            let one = 1 << 73;
            assert!((scaled_y - 1).pow(2) * scaled_x <= one, "{x:e}");
            assert!((scaled_y + 1).pow(2) * scaled_x >= one, "{x:e}");
        }
    }
}
