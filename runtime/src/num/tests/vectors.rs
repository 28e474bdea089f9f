//! The vector tables of chapter 03 section 6 and the small formats.

use super::*;

/// FP32 bits, then BF16, FP16, E3M4, E4M3, E4M3 OCP, E5M2 and FP32R (chapter 03 section 6.3).
#[rustfmt::skip]
const FLOATS: [(u32, [u32; 7]); 10] = [
    (0x3F80_0000, [0x3F80, 0x3C00, 0x30, 0x38, 0x38, 0x3C, 0x3F80_0000]), // 1
    (0x3E99_999A, [0x3E9A, 0x34CD, 0x13, 0x2A, 0x2A, 0x35, 0x3E99_9800]), // 0.3
    (0xC02C_CCCD, [0xC02D, 0xC166, 0xC6, 0xC3, 0xC3, 0xC1, 0xC02C_CC00]), // -2.7
    (0x4370_0000, [0x4370, 0x5B80, 0x70, 0x77, 0x77, 0x5C, 0x4370_0000]), // 240
    (0x4378_0000, [0x4378, 0x5BC0, 0x70, 0x78, 0x78, 0x5C, 0x4378_0000]), // 248
    (0x43E8_0000, [0x43E8, 0x5F40, 0x70, 0x78, 0x7E, 0x5F, 0x43E8_0000]), // 464
    (0x477F_F000, [0x4780, 0x7C00, 0x70, 0x78, 0x7F, 0x7C, 0x477F_F000]), // 65520
    (0x3A80_0000, [0x3A80, 0x1400, 0x00, 0x00, 0x00, 0x14, 0x3A80_0000]), // 2^-10
    (0x7FC0_0000, [0x7FC0, 0x7E00, 0x78, 0x7C, 0x7F, 0x7E, 0x7FC0_0000]), // NaN
    (0xFF80_0000, [0xFF80, 0xFC00, 0xF0, 0xF8, 0xFF, 0xFC, 0xFF80_0000]), // -Inf
];

const FLOAT_TARGETS: [(Dtype, Fp8); 7] = [
    (Dtype::BFLOAT16, IEEE),
    (Dtype::FP16, IEEE),
    (Dtype::FP8_EXP3, IEEE),
    (Dtype::FP8_EXP4, IEEE),
    (Dtype::FP8_EXP4, OCP),
    (Dtype::FP8_EXP5, IEEE),
    (Dtype::FP32R, IEEE),
];

#[test]
fn fp32_to_narrow_floats() {
    for (value, expected) in FLOATS {
        for ((dtype, fp8), expected) in FLOAT_TARGETS.into_iter().zip(expected) {
            let code = from_f32(f32::from_bits(value), dtype, fp8);
            assert_eq!(code, expected, "{value:08X} to {} {fp8:?}: {code:X}", dtype.text());
        }
    }
}

/// Each format's threshold of overflow and the value just below it (chapter 03 section 6.3).
#[test]
fn overflow_thresholds() {
    let bf16 = f32::from_bits(0x7F7F_8000);
    let cases = [
        (Dtype::BFLOAT16, IEEE, bf16, 0x7F7F, 0x7F80),
        (Dtype::FP16, IEEE, 65520.0, 0x7BFF, 0x7C00),
        (Dtype::FP8_EXP3, IEEE, 15.75, 0x6F, 0x70),
        (Dtype::FP8_EXP4, IEEE, 248.0, 0x77, 0x78),
        // For OCP the threshold itself still rounds to 448.
        (Dtype::FP8_EXP4, OCP, 464.0_f32.next_up(), 0x7E, 0x7F),
        (Dtype::FP8_EXP4, OCP_SAT, 464.0_f32.next_up(), 0x7E, 0x7E),
        (Dtype::FP8_EXP5, IEEE, 61440.0, 0x7B, 0x7C),
        (Dtype::FP8_EXP2, IEEE, 7.9375, 0x7F, 0x7F),
        (Dtype::FP4_EXP2, IEEE, 7.0, 0x7, 0x7),
    ];
    for (dtype, fp8, threshold, below, at) in cases {
        let name = dtype.text();
        assert_eq!(from_f32(threshold.next_down(), dtype, fp8), below, "below the threshold of {name}");
        assert_eq!(from_f32(threshold, dtype, fp8), at, "threshold of {name}");
        assert_eq!(from_f32(f32::MAX, dtype, fp8), at, "largest FP32 to {name}");
        assert_eq!(from_f32(f32::INFINITY, dtype, fp8), at, "infinity to {name}");
        let sign = 1 << (dtype.info().map_or(0, |info| info.bits) - 1);
        assert_eq!(from_f32(f32::NEG_INFINITY, dtype, fp8), at | sign, "-infinity to {name}");
    }
}

#[test]
fn largest_finite_values() {
    let cases = [
        (Dtype::FP32, IEEE, Some(f32::MAX)),
        (Dtype::FP32R, IEEE, Some(f32::from_bits(0x7F7F_FC00))),
        (Dtype::BFLOAT16, IEEE, Some(f32::from_bits(0x7F7F_0000))),
        (Dtype::FP16, IEEE, Some(65504.0)),
        (Dtype::FP8_EXP3, IEEE, Some(15.5)),
        (Dtype::FP8_EXP4, IEEE, Some(240.0)),
        (Dtype::FP8_EXP4, OCP, Some(448.0)),
        (Dtype::FP8_EXP4, OCP_SAT, Some(448.0)),
        (Dtype::FP8_EXP5, IEEE, Some(57344.0)),
        (Dtype::FP8_EXP2, IEEE, Some(7.875)),
        (Dtype::FP4_EXP2, IEEE, Some(6.0)),
        (Dtype::INT32, IEEE, None),
        (Dtype::INVALID, IEEE, None),
    ];
    for (dtype, fp8, expected) in cases {
        assert_eq!(max_finite(dtype, fp8), expected, "{}", dtype.text());
    }
}

/// FP32R against the formula of E11, on bits.
#[test]
fn fp32r_formula() {
    for value in fp32_grid().into_iter().filter(|value| !value.is_nan()) {
        let bits = value.to_bits();
        let expected = (bits + 0x1FF + ((bits >> 10) & 1)) & !0x3FF;
        assert_eq!(from_f32(value, Dtype::FP32R, IEEE), expected, "{bits:08X}");
        assert_eq!(to_f32(expected, Dtype::FP32R, IEEE).to_bits(), expected);
    }
}

/// FP32 value, then INT8, UINT8, INT16, INT32, UINT32 (chapter 03 section 6.3, E12); UINT16 by hand.
#[rustfmt::skip]
const INTS: [(f32, [i64; 6]); 18] = [
    (1.5, [2, 2, 2, 2, 2, 2]),
    (2.5, [2, 2, 2, 2, 2, 2]),
    (-1.5, [-2, 0, -2, -2, 0, 0]),
    (-0.9, [-1, 0, -1, -1, 0, 0]),
    (0.5, [0, 0, 0, 0, 0, 0]),
    (0.500_000_06, [1, 1, 1, 1, 1, 1]),
    (-0.5, [0, 0, 0, 0, 0, 0]),
    (3.5, [4, 4, 4, 4, 4, 4]),
    (127.5, [127, 128, 128, 128, 128, 128]),
    (-128.5, [-128, 0, -128, -128, 0, 0]),
    (255.5, [127, 255, 256, 256, 256, 256]),
    (300.7, [127, 255, 301, 301, 301, 301]),
    (-300.0, [-128, 0, -300, -300, 0, 0]),
    (3e9, [127, 255, 32767, 2_147_483_647, 3_000_000_000, 65535]),
    (f32::NAN, [0, 0, 0, 0, 0, 0]),
    (f32::INFINITY, [127, 255, 32767, 2_147_483_647, 4_294_967_295, 65535]),
    (f32::NEG_INFINITY, [-128, 0, -32768, -2_147_483_648, 0, 0]),
    (8_388_609.0, [127, 255, 32767, 8_388_609, 8_388_609, 65535]),
];

#[test]
fn fp32_to_integers() {
    let targets =
        [Dtype::INT8, Dtype::UINT8, Dtype::INT16, Dtype::INT32, Dtype::UINT32, Dtype::UINT16].into_iter();
    for (value, expected) in INTS {
        for (dtype, expected) in targets.clone().zip(expected) {
            let mask = u32::MAX >> (32 - 8 * dtype.bytes());
            assert_eq!(from_f32(value, dtype, IEEE), expected as u32 & mask, "{value} to {}", dtype.text());
        }
    }
}

#[test]
fn integers_to_fp32() {
    let cases = [
        (16_777_217, Dtype::INT32, 0x4B80_0000),
        (16_777_219, Dtype::INT32, 0x4B80_0002),
        (2_147_483_647, Dtype::INT32, 0x4F00_0000),
        (4_294_967_295, Dtype::UINT32, 0x4F80_0000),
        (4_294_967_295, Dtype::INT32, 0xBF80_0000),
        (0x8000_0000, Dtype::INT32, 0xCF00_0000),
        (0x80, Dtype::INT8, 0xC300_0000),
        (0x80, Dtype::UINT8, 0x4300_0000),
        (0x8000, Dtype::INT16, 0xC700_0000),
        (0x8000, Dtype::UINT16, 0x4700_0000),
        (0x8, Dtype::INT4, 0xC100_0000),
        (0x7, Dtype::INT4, 0x40E0_0000),
    ];
    for (code, dtype, expected) in cases {
        assert_eq!(to_f32(code, dtype, IEEE).to_bits(), expected, "{code} of {}", dtype.text());
    }
}

/// INT4 saturates at −8 and 7; FP4 and E2M5 have no NaN code and store +0.
#[test]
fn formats_of_mx_operands() {
    let fp4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    for (code, value) in fp4.into_iter().enumerate() {
        let code = code as u32;
        assert_eq!(to_f32(code, Dtype::FP4_EXP2, IEEE).to_bits(), f32::to_bits(value));
        assert_eq!(to_f32(code | 8, Dtype::FP4_EXP2, IEEE).to_bits(), f32::to_bits(-value));
    }
    for (value, code) in [(-9.0, 0x8), (-8.5, 0x8), (-0.5, 0x0), (1.5, 0x2), (7.5, 0x7), (f32::NAN, 0)] {
        assert_eq!(from_f32(value, Dtype::INT4, IEEE), code, "{value} to INT4");
    }
    for (value, code) in [(0.25, 0x0), (0.75, 0x2), (2.5, 0x4), (5.0, 0x6), (-5.1, 0xF), (f32::NAN, 0)] {
        assert_eq!(from_f32(value, Dtype::FP4_EXP2, IEEE), code, "{value} to FP4");
    }
    for (value, code) in [(1.0, 0x20), (0.031_25, 0x01), (7.875, 0x7F), (-7.875, 0xFF), (f32::NAN, 0)] {
        assert_eq!(from_f32(value, Dtype::FP8_EXP2, IEEE), code, "{value} to E2M5");
    }
}

/// Scale formats: E8M0 is 2^(code − 127) with one NaN, the others have subnormals and no sign
/// (chapter 03 section 6.1, E9).
#[test]
fn scales_to_fp32() {
    let cases = [
        (Dtype::SFP8_E8, 0x00, 0x0040_0000),
        (Dtype::SFP8_E8, 0x01, 0x0080_0000),
        (Dtype::SFP8_E8, 125, 0x3E80_0000),
        (Dtype::SFP8_E8, 127, 0x3F80_0000),
        (Dtype::SFP8_E8, 254, 0x7F00_0000),
        (Dtype::SFP8_E8, 255, 0x7FC0_0000),
        // 1.5 · 2^64, 1.75 · 2^32, 1.875 · 2^16: the largest values.
        (Dtype::SFP8_E7, 0xFF, 0x5FC0_0000),
        (Dtype::SFP8_E6, 0xFF, 0x4FE0_0000),
        (Dtype::SFP8_E5, 0xFF, 0x47F0_0000),
        // 2^-63, 2^-32, 2^-17: the least subnormals.
        (Dtype::SFP8_E7, 0x01, 0x2000_0000),
        (Dtype::SFP8_E6, 0x01, 0x2F80_0000),
        (Dtype::SFP8_E5, 0x01, 0x3700_0000),
        // The exponent field equal to the bias is 1.
        (Dtype::SFP8_E7, 63 << 1, 0x3F80_0000),
        (Dtype::SFP8_E6, 31 << 2, 0x3F80_0000),
        (Dtype::SFP8_E5, 15 << 3, 0x3F80_0000),
    ];
    for (dtype, code, expected) in cases {
        assert_eq!(to_f32(code, dtype, IEEE).to_bits(), expected, "{code:02X} of {}", dtype.text());
        let mut row = [0.0];
        unpack(&[code as u8], dtype, IEEE, &mut row);
        assert_eq!(row[0].to_bits(), expected, "{code:02X} of {}", dtype.text());
    }
}

/// Every NaN that a conversion reads becomes the canonical one.
#[test]
fn nan_inputs_are_canonical() {
    let nans = [
        (Dtype::FP32, 0xFFFF_FFFF),
        (Dtype::FP32, 0x7F80_0001),
        (Dtype::FP32R, 0xFFC0_0400),
        (Dtype::BFLOAT16, 0xFF81),
        (Dtype::FP16, 0xFE01),
        (Dtype::FP8_EXP3, 0xF1),
        (Dtype::FP8_EXP4, 0xF9),
        (Dtype::FP8_EXP5, 0xFD),
    ];
    for (dtype, code) in nans {
        assert_eq!(to_f32(code, dtype, IEEE).to_bits(), 0x7FC0_0000, "{code:X} of {}", dtype.text());
    }
    assert_eq!(to_f32(0xFF, Dtype::FP8_EXP4, OCP).to_bits(), 0x7FC0_0000);
    assert_eq!(to_f32(0xFE, Dtype::FP8_EXP4, OCP), -448.0);
    for value in SPECIALS.map(f32::from_bits).into_iter().filter(|value| value.is_nan()) {
        assert_eq!(from_f32(value, Dtype::FP32, IEEE), 0x7FC0_0000);
    }
}

/// The share of random numbers that round up is the discarded part of the value (E13).
#[test]
fn stochastic_rounding_is_unbiased() {
    // (value, target, discarded bits, lower code, upper codes expected over all random fields)
    let cases = [
        (0x3F80_4000, Dtype::BFLOAT16, 16, 0x3F80, 0x4000),
        (0xBF80_FFFF, Dtype::BFLOAT16, 16, 0xBF80, 0xFFFF),
        (0x3F80_0000, Dtype::BFLOAT16, 16, 0x3F80, 0),
        (0x3F80_0800, Dtype::FP16, 13, 0x3C00, 0x0800),
        (0x3F80_0001, Dtype::FP32R, 10, 0x3F80_0000, 1),
        // A half and three quarters of the least subnormal, 2^-24.
        (0x3300_0000, Dtype::FP16, 24, 0x0000, 0x80_0000),
        (0x3340_0000, Dtype::FP16, 24, 0x0000, 0xC0_0000),
    ];
    for (value, dtype, discarded, lower, expected) in cases {
        let step = if dtype == Dtype::FP32R { 0x400 } else { 1 };
        let mut ups = 0;
        for random in 0..1u32 << discarded {
            // Bits above the field have no influence.
            let code = from_f32_sr(f32::from_bits(value), dtype, IEEE, random | 0xFE00_0000);
            assert!(code == lower || code == lower + step, "{value:08X} to {}: {code:X}", dtype.text());
            ups += u32::from(code != lower);
        }
        assert_eq!(ups, expected, "{value:08X} to {}", dtype.text());
    }
}

#[test]
fn stochastic_rounding_at_the_ends() {
    let all = u32::MAX;
    let sr = |bits, dtype, fp8, random| from_f32_sr(f32::from_bits(bits), dtype, fp8, random);
    // A finite value stays finite.
    assert_eq!(sr(0x7F7F_FFFF, Dtype::BFLOAT16, IEEE, all), 0x7F7F);
    assert_eq!(sr(0xFF7F_FFFF, Dtype::FP32R, IEEE, all), 0xFF7F_FC00);
    assert_eq!(sr(0x477F_F000, Dtype::FP16, IEEE, all), 0x7BFF);
    assert_eq!(sr(0x7F7F_FFFF, Dtype::FP8_EXP4, OCP, 0), 0x7E);
    // Infinities and NaN are not rounded.
    assert_eq!(sr(0xFF80_0000, Dtype::BFLOAT16, IEEE, all), 0xFF80);
    assert_eq!(sr(0xFFFF_FFFF, Dtype::FP8_EXP5, IEEE, all), 0x7E);
    // Fields wider than 32 bits take the random number at their upper end: 2^-42 is 2^-26 of the least
    // E5M2 subnormal, so that only the 64 largest random numbers reach it.
    assert_eq!(sr(0x2A80_0000, Dtype::FP8_EXP5, IEEE, all - 63), 0x01);
    assert_eq!(sr(0x2A80_0000, Dtype::FP8_EXP5, IEEE, all - 64), 0x00);
    assert_eq!(sr(0x8000_0001, Dtype::FP8_EXP5, IEEE, all), 0x80);
    // Integers, FP4 and FP32 have no stochastic rounding.
    assert_eq!(sr(0x3FA0_0000, Dtype::INT8, IEEE, all), 1);
    assert_eq!(sr(0x3FA0_0000, Dtype::FP4_EXP2, IEEE, all), 2);
    assert_eq!(sr(0x3FA0_0001, Dtype::FP32, IEEE, all), 0x3FA0_0001);
}
