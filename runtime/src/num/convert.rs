//! Conversions of one element to and from FP32: the definitions (chapter 03 section 6.3).

use super::format::{Format, Fp8};
use crate::isa::Dtype;

/// The NaN that every arithmetic or converting operation stores (chapter 03 section 6.3, E14).
pub const CANONICAL_NAN: f32 = f32::from_bits(0x7FC0_0000);

/// `value`, with every NaN replaced by [`CANONICAL_NAN`].
///
/// On bits: a float select between a NaN and another NaN is one that an optimiser may drop.
#[inline]
pub fn canonical(value: f32) -> f32 {
    let bits = value.to_bits();
    let is_nan = bits & 0x7FFF_FFFF > 0x7F80_0000;
    f32::from_bits(if is_nan { CANONICAL_NAN.to_bits() } else { bits })
}

/// Whether [`to_f32`] and [`unpack`](super::unpack) take `dtype`: every datatype but the sentinel, the
/// compressed streams and unassigned codes ([`to_f32`] also not the 64-bit integers).
pub fn converts_to_f32(dtype: Dtype) -> bool {
    converts_from_f32(dtype) || matches!(dtype.0, 0x13..=0x16)
}

/// Whether [`from_f32`] and [`pack`](super::pack) take `dtype`: as [`converts_to_f32`] without the MX
/// scales, which no conversion produces.
pub fn converts_from_f32(dtype: Dtype) -> bool {
    matches!(dtype.0, 0x01..=0x12)
}

/// The value of a code of `dtype`, in its low bits; higher bits are ignored (chapter 03 section 6.3).
///
/// Exact, except INT32 and UINT32, which round to nearest even. Every NaN becomes [`CANONICAL_NAN`].
/// A datatype that does not satisfy [`converts_to_f32`] or has 64 bits is the caller's error: the result
/// is a NaN.
pub fn to_f32(bits: u32, dtype: Dtype, fp8: Fp8) -> f32 {
    match dtype {
        Dtype::INT4 => ((bits << 28) as i32 >> 28) as f32,
        Dtype::INT8 => bits as i8 as f32,
        Dtype::UINT8 => bits as u8 as f32,
        Dtype::INT16 => bits as i16 as f32,
        Dtype::UINT16 => bits as u16 as f32,
        Dtype::INT32 => bits as i32 as f32,
        Dtype::UINT32 => bits as f32,
        // A stored FP32R cell reads back as FP32 (E11).
        Dtype::FP32 | Dtype::FP32R => canonical(f32::from_bits(bits)),
        Dtype::SFP8_E8 => e8m0_to_f32(bits),
        _ => match Format::of(dtype, fp8) {
            Some(format) => format.decode(bits),
            None => {
                debug_assert!(false, "{} has no FP32 value", dtype.text());
                CANONICAL_NAN
            }
        },
    }
}

/// The code of `dtype` for `value`, in the low bits (chapter 03 section 6.3).
///
/// Floating-point targets round to nearest even with gradual underflow; what exceeds the range after
/// rounding becomes infinite, or as the format says. Integer targets round to nearest even and
/// saturate, NaN gives 0 (E12). A datatype that does not satisfy [`converts_from_f32`] or has 64 bits is
/// the caller's error: the result is 0.
pub fn from_f32(value: f32, dtype: Dtype, fp8: Fp8) -> u32 {
    convert(value, dtype, fp8, Rounding::NearestEven)
}

/// As [`from_f32`] with stochastic rounding, for the targets that have it: BF16, FP16, FP8 and FP32R
/// (chapter 03 section 6.3, E13). Other targets ignore `random`.
///
/// As many low bits of `random` as the target discards at this magnitude are added to the discarded
/// field before it is cut off. A finite value stays finite.
pub fn from_f32_sr(value: f32, dtype: Dtype, fp8: Fp8, random: u32) -> u32 {
    let rounding = match dtype {
        Dtype::FP4_EXP2 => Rounding::NearestEven,
        _ => Rounding::Stochastic(random),
    };
    convert(value, dtype, fp8, rounding)
}

/// The largest finite value of a floating-point datatype or scale; `None` for others and for E8M0.
pub fn max_finite(dtype: Dtype, fp8: Fp8) -> Option<f32> {
    match dtype {
        Dtype::FP32 => Some(f32::MAX),
        _ => Format::of(dtype, fp8).map(|format| format.decode(format.max)),
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    NearestEven,
    Stochastic(u32),
}

fn convert(value: f32, dtype: Dtype, fp8: Fp8, rounding: Rounding) -> u32 {
    match dtype {
        Dtype::INT4 => to_int(value, -8, 7) as u32 & 0xF,
        Dtype::INT8 => to_int(value, i8::MIN.into(), i8::MAX.into()) as u32 & 0xFF,
        Dtype::UINT8 => to_int(value, 0, u8::MAX.into()) as u32,
        Dtype::INT16 => to_int(value, i16::MIN.into(), i16::MAX.into()) as u32 & 0xFFFF,
        Dtype::UINT16 => to_int(value, 0, u16::MAX.into()) as u32,
        Dtype::INT32 => to_int(value, i32::MIN.into(), i32::MAX.into()) as u32,
        Dtype::UINT32 => to_int(value, 0, u32::MAX.into()) as u32,
        Dtype::FP32 => canonical(value).to_bits(),
        _ => match Format::of(dtype, fp8) {
            Some(format) if dtype == Dtype::FP32R => format.encode(value, rounding) << 10,
            Some(format) if format.sign != 0 => format.encode(value, rounding),
            _ => {
                debug_assert!(false, "{} is not a target of conversions", dtype.text());
                0
            }
        },
    }
}

/// Rounds to nearest even, then clamps; NaN gives 0 (E12). The limits are exact in f64.
fn to_int(value: f32, min: i64, max: i64) -> i64 {
    if value.is_nan() {
        return 0;
    }
    f64::from(value).round_ties_even().clamp(min as f64, max as f64) as i64
}

/// 2^(code − 127); code FF is NaN (chapter 03 section 6.1).
pub(super) fn e8m0_to_f32(code: u32) -> f32 {
    match code & 0xFF {
        0xFF => CANONICAL_NAN,
        code => pow2(code as i32 - 127) as f32,
    }
}

/// 2^`exponent`, exactly; `exponent` in the range of normal f64.
fn pow2(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

impl Format {
    /// The value of a code; bits above the format's are ignored.
    fn decode(&self, code: u32) -> f32 {
        let sign = if code & self.sign != 0 { -1.0 } else { 1.0 };
        let magnitude = code & ((1 << (self.bits - u32::from(self.sign != 0))) - 1);
        if Some(magnitude) == self.inf {
            return sign * f32::INFINITY;
        }
        if magnitude > self.max {
            return CANONICAL_NAN;
        }
        let exponent = (magnitude >> self.man) as i32;
        let fraction = magnitude & ((1 << self.man) - 1);
        let significand = if exponent == 0 { fraction } else { fraction | 1 << self.man };
        let scale = exponent.max(1) - self.bias as i32 - self.man as i32;
        sign * (f64::from(significand) * pow2(scale)) as f32
    }

    /// The code of a value, rounded to the format's grid.
    fn encode(&self, value: f32, rounding: Rounding) -> u32 {
        if value.is_nan() {
            return self.nan;
        }
        let sign = if value.is_sign_negative() { self.sign } else { 0 };
        if value.is_infinite() {
            return sign | self.overflow;
        }
        // |value| = significand · 2^(exponent − 23)
        let bits = value.to_bits() & 0x7FFF_FFFF;
        let fraction = bits & 0x7F_FFFF;
        let significand = if bits >> 23 == 0 { fraction } else { fraction | 1 << 23 };
        let exponent = (bits >> 23).max(1) as i32 - 127;

        let min_exponent = 1 - self.bias as i32;
        let discarded = 23 - self.man + (min_exponent - exponent).max(0) as u32;
        let kept = round(significand, discarded, rounding);
        // The hidden bit of a normal number adds one to the exponent field, as does a carry out of the
        // rounded mantissa.
        let code = kept + (((exponent.max(min_exponent) - min_exponent) as u32) << self.man);
        let limit = match rounding {
            Rounding::NearestEven => self.overflow,
            Rounding::Stochastic(_) => self.max,
        };
        sign | if code > self.max { limit } else { code }
    }
}

/// `significand` (below 2^24) without its low `discarded` bits, of which there is at least one.
fn round(significand: u32, discarded: u32, rounding: Rounding) -> u32 {
    let significand = u64::from(significand);
    match rounding {
        Rounding::NearestEven => {
            // From 26 discarded bits on the value is below half of the last place.
            let discarded = discarded.min(26);
            let kept = significand >> discarded;
            let rest = significand - (kept << discarded);
            let half = 1 << (discarded - 1);
            (kept + u64::from(rest > half || rest == half && kept & 1 == 1)) as u32
        }
        Rounding::Stochastic(random) => {
            // A field wider than the random number takes it at its upper end. From 57 discarded bits
            // on the sum cannot reach the place that is kept.
            let random = u64::from(random);
            match discarded {
                0..=32 => ((significand + (random & ((1 << discarded) - 1))) >> discarded) as u32,
                33..=56 => ((significand + (random << (discarded - 32))) >> discarded) as u32,
                _ => 0,
            }
        }
    }
}
