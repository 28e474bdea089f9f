//! All codes of all 8- and 16-bit formats against an independent formulation: the values of a format are
//! listed in f64 and a conversion searches the list for the nearest one.

use super::*;
use proptest::prelude::*;

/// A format as chapter 03 section 6.1 prints it.
struct Printed {
    dtype: Dtype,
    fp8: Fp8,
    exp: u32,
    man: u32,
    bias: i32,
    /// Largest finite value.
    max: f64,
    infinite: bool,
}

#[rustfmt::skip]
const PRINTED: [Printed; 9] = [
    Printed { dtype: Dtype::BFLOAT16, fp8: IEEE, exp: 8, man: 7, bias: 127, max: 3.3895313892515355e38, infinite: true },
    Printed { dtype: Dtype::FP16, fp8: IEEE, exp: 5, man: 10, bias: 15, max: 65504.0, infinite: true },
    Printed { dtype: Dtype::FP8_EXP3, fp8: IEEE, exp: 3, man: 4, bias: 3, max: 15.5, infinite: true },
    Printed { dtype: Dtype::FP8_EXP4, fp8: IEEE, exp: 4, man: 3, bias: 7, max: 240.0, infinite: true },
    Printed { dtype: Dtype::FP8_EXP4, fp8: OCP, exp: 4, man: 3, bias: 7, max: 448.0, infinite: false },
    Printed { dtype: Dtype::FP8_EXP4, fp8: OCP_SAT, exp: 4, man: 3, bias: 7, max: 448.0, infinite: false },
    Printed { dtype: Dtype::FP8_EXP5, fp8: IEEE, exp: 5, man: 2, bias: 15, max: 57344.0, infinite: true },
    Printed { dtype: Dtype::FP8_EXP2, fp8: IEEE, exp: 2, man: 5, bias: 1, max: 7.875, infinite: false },
    Printed { dtype: Dtype::FP4_EXP2, fp8: IEEE, exp: 2, man: 1, bias: 1, max: 6.0, infinite: false },
];

impl Printed {
    fn magnitudes(&self) -> u32 {
        1 << (self.exp + self.man)
    }

    /// The value of a magnitude as if every code were finite.
    fn value(&self, magnitude: u32) -> f64 {
        let (exponent, mantissa) = (magnitude >> self.man, magnitude % (1 << self.man));
        let fraction = f64::from(mantissa) / f64::from(1 << self.man);
        if exponent == 0 {
            fraction * 2f64.powi(1 - self.bias)
        } else {
            (1.0 + fraction) * 2f64.powi(exponent as i32 - self.bias)
        }
    }

    fn decode(&self, code: u32) -> f64 {
        let sign = if code < self.magnitudes() { 1.0 } else { -1.0 };
        let magnitude = code % self.magnitudes();
        let value = self.value(magnitude);
        if value <= self.max {
            sign * value
        } else if self.infinite && magnitude.is_multiple_of(1 << self.man) {
            sign * f64::INFINITY
        } else {
            f64::NAN
        }
    }

    /// The nearest finite value; `None` if that is the one that would follow the largest.
    fn nearest(&self, value: f64) -> Option<u32> {
        let (mut below, mut above) = (0, self.magnitudes());
        while above - below > 1 {
            let middle = (below + above) / 2;
            if self.value(middle) <= value { below = middle } else { above = middle }
        }
        let (down, up) = (value - self.value(below), self.value(above) - value);
        let nearest = if down < up || down == up && below.is_multiple_of(2) { below } else { above };
        (nearest < self.magnitudes() && self.value(nearest) <= self.max).then_some(nearest)
    }

    fn encode(&self, value: f32) -> u32 {
        let name = (self.dtype, self.fp8.ocp, self.fp8.saturate);
        if value.is_nan() {
            return match name {
                (Dtype::BFLOAT16, ..) => 0x7FC0,
                (Dtype::FP16, ..) => 0x7E00,
                (Dtype::FP8_EXP3, ..) => 0x78,
                (Dtype::FP8_EXP4, false, _) => 0x7C,
                (Dtype::FP8_EXP4, true, _) => 0x7F,
                (Dtype::FP8_EXP5, ..) => 0x7E,
                _ => 0,
            };
        }
        let overflow = match name {
            (Dtype::BFLOAT16, ..) => 0x7F80,
            (Dtype::FP16, ..) => 0x7C00,
            (Dtype::FP8_EXP3, ..) => 0x70,
            (Dtype::FP8_EXP4, false, _) => 0x78,
            (Dtype::FP8_EXP4, true, false) => 0x7F,
            (Dtype::FP8_EXP4, true, true) => 0x7E,
            (Dtype::FP8_EXP5, ..) => 0x7C,
            (Dtype::FP8_EXP2, ..) => 0x7F,
            _ => 0x7,
        };
        // Where everything above is nearer to the virtual next value, the search need not run.
        let size = f64::from(value.abs());
        let magnitude = if size > 2.0 * self.max { None } else { self.nearest(size) };
        magnitude.unwrap_or(overflow) | if value.is_sign_negative() { self.magnitudes() } else { 0 }
    }

    fn pack(&self, values: &[f32]) -> Vec<u32> {
        let mut row = vec![
            0;
            if self.dtype.bytes() == 0 {
                values.len().div_ceil(2)
            } else {
                values.len() * self.dtype.bytes()
            }
        ];
        pack(values, self.dtype, self.fp8, &mut row);
        match self.dtype.bytes() {
            2 => row.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b).into()).collect(),
            1 => row.iter().map(|b| u32::from(*b)).collect(),
            _ => row.iter().flat_map(|b| [u32::from(b & 15), u32::from(b >> 4)]).take(values.len()).collect(),
        }
    }
}

#[test]
fn every_code_has_the_printed_value() {
    for format in &PRINTED {
        for code in 0..2 * format.magnitudes() {
            let (value, expected) = (to_f32(code, format.dtype, format.fp8), format.decode(code));
            if expected.is_nan() {
                assert_eq!(value.to_bits(), 0x7FC0_0000);
                continue;
            }
            assert_eq!(f64::from(value).to_bits(), expected.to_bits(), "{code:X} of {}", format.dtype.text());
            assert_eq!(from_f32(value, format.dtype, format.fp8), code, "{value} to {}", format.dtype.text());
        }
    }
}

/// Every value between two codes that decides the rounding: the codes' values, their midpoints and the
/// neighbours of each, of either sign.
#[test]
fn conversions_find_the_nearest_code() {
    for format in &PRINTED {
        let mut values = Vec::new();
        for magnitude in 0..format.magnitudes() {
            let (value, next) = (format.value(magnitude), format.value(magnitude + 1));
            for center in [value as f32, ((value + next) / 2.0) as f32] {
                values.extend([center.next_down(), center, center.next_up()]);
            }
        }
        values.retain(|value| value.is_finite());
        values.extend(values.clone().iter().map(|value| -value));
        values.extend(specials());

        let expected: Vec<u32> = values.iter().map(|value| format.encode(*value)).collect();
        let scalar: Vec<u32> =
            values.iter().map(|value| from_f32(*value, format.dtype, format.fp8)).collect();
        for ((value, expected), code) in values.iter().zip(&expected).zip(&scalar) {
            assert_eq!(code, expected, "{value:e} to {}", format.dtype.text());
        }
        at_every_level(|level| {
            assert!(format.pack(&values) == expected, "{} {level:?}", format.dtype.text())
        });
    }
}

/// The crate `half` as a second opinion.
#[test]
fn half_agrees() {
    for code in 0..=u16::MAX {
        let (bf16, fp16) = (half::bf16::from_bits(code), half::f16::from_bits(code));
        assert_eq!(to_f32(code.into(), Dtype::BFLOAT16, IEEE).to_bits(), bits(bf16.to_f32()));
        assert_eq!(to_f32(code.into(), Dtype::FP16, IEEE).to_bits(), bits(fp16.to_f32()));
    }
    for value in fp32_grid().into_iter().filter(|value| !value.is_nan()) {
        let (bf16, fp16) = (half::bf16::from_f32(value), half::f16::from_f32(value));
        assert_eq!(from_f32(value, Dtype::BFLOAT16, IEEE), bf16.to_bits().into(), "{value:e}");
        assert_eq!(from_f32(value, Dtype::FP16, IEEE), fp16.to_bits().into(), "{value:e}");
    }
}

/// Integers of up to 16 bits: every value, every half and their neighbours; the grid for all.
#[test]
fn integer_conversions_round_and_clamp() {
    let limits = [
        (Dtype::INT8, -128.0, 127.0),
        (Dtype::UINT8, 0.0, 255.0),
        (Dtype::INT16, -32768.0, 32767.0),
        (Dtype::UINT16, 0.0, 65535.0),
        (Dtype::INT32, -2_147_483_648.0, 2_147_483_647.0),
        (Dtype::UINT32, 0.0, 4_294_967_295.0),
    ];
    let halves = (-140_000..140_000).map(|twice| twice as f32 / 2.0);
    let mut values: Vec<f32> = halves.flat_map(|v| [v.next_down(), v, v.next_up()]).collect();
    values.extend(fp32_grid());
    for value in values {
        let exact = f64::from(value);
        let floor = exact.floor();
        let tie_up = exact - floor == 0.5 && floor.rem_euclid(2.0) == 1.0;
        let nearest = if exact - floor > 0.5 || tie_up { floor + 1.0 } else { floor };
        for (dtype, min, max) in limits {
            let expected = if value.is_nan() { 0.0 } else { nearest.max(min).min(max) };
            let mask = u32::MAX >> (32 - 8 * dtype.bytes());
            let code = from_f32(value, dtype, IEEE);
            assert_eq!(code, expected as i64 as u32 & mask, "{value:e} to {}", dtype.text());
        }
    }
}

proptest! {
    #[test]
    fn random_values_find_the_nearest_code(value: u32) {
        let value = f32::from_bits(value);
        for format in PRINTED.iter().filter(|format| format.dtype.bytes() < 2) {
            prop_assert_eq!(from_f32(value, format.dtype, format.fp8), format.encode(value));
        }
    }
}
