//! Conversions of packed rows.
//!
//! A row is a run of elements without gaps, little-endian. Each datatype has its own loop, free of
//! branches so that it can be vectorised; the results are those of [`to_f32`](super::to_f32) and
//! [`from_f32`](super::from_f32).

use super::convert::{CANONICAL_NAN, canonical, converts_from_f32, converts_to_f32, e8m0_to_f32};
use super::dispatch::multiversion;
use super::format::{Fp8, Minifloat, with_format};
use crate::isa::Dtype;
use crate::kernels::fp16;

multiversion! {
    /// Converts a packed row to FP32, element by element as [`to_f32`](super::to_f32); 64-bit integers
    /// round to nearest even. Four-bit elements come two a byte, the low nibble first (chapter 05,
    /// D05-17).
    ///
    /// A datatype that does not satisfy [`converts_to_f32`] is the caller's error; `dst` becomes NaN.
    ///
    /// # Panics
    /// If `src` does not hold exactly `dst.len()` elements.
    pub fn unpack(src: &[u8], dtype: Dtype, fp8: Fp8, dst: &mut [f32]) {
        match dtype {
            Dtype::INT4 => load_nibbles(src, dst, |code| ((code << 28) as i32 >> 28) as f32),
            Dtype::INT8 => load(src, dst, |b| f32::from(i8::from_le_bytes(b))),
            Dtype::UINT8 => load(src, dst, |b| f32::from(u8::from_le_bytes(b))),
            Dtype::INT16 => load(src, dst, |b| f32::from(i16::from_le_bytes(b))),
            Dtype::UINT16 => load(src, dst, |b| f32::from(u16::from_le_bytes(b))),
            Dtype::INT32 => load(src, dst, |b| i32::from_le_bytes(b) as f32),
            Dtype::UINT32 => load(src, dst, |b| u32::from_le_bytes(b) as f32),
            Dtype::INT64 => load(src, dst, |b| i64::from_le_bytes(b) as f32),
            Dtype::UINT64 => load(src, dst, |b| u64::from_le_bytes(b) as f32),
            Dtype::FP32 | Dtype::FP32R => load(src, dst, |b| canonical(f32::from_le_bytes(b))),
            Dtype::SFP8_E8 => load(src, dst, |[b]| e8m0_to_f32(b.into())),
            Dtype::FP16 if fp16::unpack(src, dst) => {}
            _ => {
                let known = with_format!(dtype, fp8, F => match F::FORMAT.bits {
                    16 => load(src, dst, |b| decode::<F>(u16::from_le_bytes(b).into())),
                    8 => load(src, dst, |[b]| decode::<F>(b.into())),
                    _ => load_nibbles(src, dst, decode::<F>),
                });
                if known.is_none() {
                    debug_assert!(converts_to_f32(dtype), "{} has no FP32 value", dtype.text());
                    dst.fill(CANONICAL_NAN);
                }
            }
        }
    }
}

multiversion! {
    /// Converts FP32 to a packed row, element by element as [`from_f32`](super::from_f32); 64-bit
    /// integers round to nearest even and saturate. Nibbles are ordered as in [`unpack`]; a last odd
    /// nibble has zeros above it.
    ///
    /// A datatype that does not satisfy [`converts_from_f32`] is the caller's error; `dst` becomes zero.
    ///
    /// # Panics
    /// If `dst` does not hold exactly `src.len()` elements.
    pub fn pack(src: &[f32], dtype: Dtype, fp8: Fp8, dst: &mut [u8]) {
        match dtype {
            Dtype::INT4 => store_nibbles(src, dst, |v| to_small_int(v, -8.0, 7.0) as u32),
            Dtype::INT8 => store(src, dst, |v| (to_small_int(v, -128.0, 127.0) as i8).to_le_bytes()),
            Dtype::UINT8 => store(src, dst, |v| (to_small_int(v, 0.0, 255.0) as u8).to_le_bytes()),
            Dtype::INT16 => store(src, dst, |v| (to_small_int(v, -32768.0, 32767.0) as i16).to_le_bytes()),
            Dtype::UINT16 => store(src, dst, |v| (to_small_int(v, 0.0, 65535.0) as u16).to_le_bytes()),
            Dtype::INT32 => store(src, dst, |v| to_i32(v).to_le_bytes()),
            Dtype::UINT32 => store(src, dst, |v| to_u32(v).to_le_bytes()),
            // Casts from float saturate and turn NaN into 0.
            Dtype::INT64 => store(src, dst, |v| (v.round_ties_even() as i64).to_le_bytes()),
            Dtype::UINT64 => store(src, dst, |v| (v.round_ties_even() as u64).to_le_bytes()),
            Dtype::FP32 => store(src, dst, |v| canonical(v).to_le_bytes()),
            Dtype::FP32R => store(src, dst, |v| to_fp32r(v).to_le_bytes()),
            Dtype::FP16 if fp16::pack(src, dst) => {}
            _ if !converts_from_f32(dtype) => {
                debug_assert!(false, "{} is not a target of conversions", dtype.text());
                dst.fill(0);
            }
            _ => {
                with_format!(dtype, fp8, F => match F::FORMAT.bits {
                    16 => store(src, dst, |v| (encode::<F>(v) as u16).to_le_bytes()),
                    8 => store(src, dst, |v| [encode::<F>(v) as u8]),
                    _ => store_nibbles(src, dst, encode::<F>),
                });
            }
        }
    }
}

multiversion! {
    /// The elements of a packed row of integers, sign- or zero-extended by the datatype; UINT64 keeps its
    /// bits. Another datatype is the caller's error; `dst` becomes zero.
    ///
    /// # Panics
    /// If `src` does not hold exactly `dst.len()` elements.
    pub fn unpack_int(src: &[u8], dtype: Dtype, dst: &mut [i64]) {
        match dtype {
            Dtype::INT8 => load(src, dst, |b| i8::from_le_bytes(b).into()),
            Dtype::UINT8 => load(src, dst, |b| u8::from_le_bytes(b).into()),
            Dtype::INT16 => load(src, dst, |b| i16::from_le_bytes(b).into()),
            Dtype::UINT16 => load(src, dst, |b| u16::from_le_bytes(b).into()),
            Dtype::INT32 => load(src, dst, |b| i32::from_le_bytes(b).into()),
            Dtype::UINT32 => load(src, dst, |b| u32::from_le_bytes(b).into()),
            Dtype::INT64 | Dtype::UINT64 => load(src, dst, i64::from_le_bytes),
            _ => {
                debug_assert!(false, "{} is not an integer", dtype.text());
                dst.fill(0);
            }
        }
    }
}

multiversion! {
    /// Stores results of the INT class (chapter 03 section 7.4, E22): for datatypes of up to 32 bits the
    /// value wraps at 32 bits with the datatype's signedness, then the 8- and 16-bit ones clamp; 64-bit
    /// datatypes take the bits. Another datatype is the caller's error; `dst` becomes zero.
    ///
    /// # Panics
    /// If `dst` does not hold exactly `src.len()` elements.
    pub fn pack_int(src: &[i64], dtype: Dtype, dst: &mut [u8]) {
        match dtype {
            Dtype::INT8 => store(src, dst, |v| ((v as i32).clamp(-128, 127) as i8).to_le_bytes()),
            Dtype::UINT8 => store(src, dst, |v| ((v as u32).min(255) as u8).to_le_bytes()),
            Dtype::INT16 => store(src, dst, |v| ((v as i32).clamp(-32768, 32767) as i16).to_le_bytes()),
            Dtype::UINT16 => store(src, dst, |v| ((v as u32).min(65535) as u16).to_le_bytes()),
            Dtype::INT32 | Dtype::UINT32 => store(src, dst, |v| (v as i32).to_le_bytes()),
            Dtype::INT64 | Dtype::UINT64 => store(src, dst, i64::to_le_bytes),
            _ => {
                debug_assert!(false, "{} is not an integer", dtype.text());
                dst.fill(0);
            }
        }
    }
}

multiversion! {
    /// The raw bits of packed elements of 1, 2, 4 or 8 bytes, zero-extended. Another width is the caller's
    /// error; `dst` becomes zero.
    ///
    /// # Panics
    /// If `src` does not hold exactly `dst.len()` elements.
    pub fn unpack_bits(src: &[u8], width_bytes: usize, dst: &mut [u64]) {
        match width_bytes {
            1 => load(src, dst, |b| u8::from_le_bytes(b).into()),
            2 => load(src, dst, |b| u16::from_le_bytes(b).into()),
            4 => load(src, dst, |b| u32::from_le_bytes(b).into()),
            8 => load(src, dst, u64::from_le_bytes),
            _ => {
                debug_assert!(false, "no element has {width_bytes} bytes");
                dst.fill(0);
            }
        }
    }
}

multiversion! {
    /// Stores the low bits of each value as packed elements of 1, 2, 4 or 8 bytes. Another width is the
    /// caller's error; `dst` becomes zero.
    ///
    /// # Panics
    /// If `dst` does not hold exactly `src.len()` elements.
    pub fn pack_bits(src: &[u64], width_bytes: usize, dst: &mut [u8]) {
        match width_bytes {
            1 => store(src, dst, |v| (v as u8).to_le_bytes()),
            2 => store(src, dst, |v| (v as u16).to_le_bytes()),
            4 => store(src, dst, |v| (v as u32).to_le_bytes()),
            8 => store(src, dst, u64::to_le_bytes),
            _ => {
                debug_assert!(false, "no element has {width_bytes} bytes");
                dst.fill(0);
            }
        }
    }
}

#[inline(always)]
fn load<const N: usize, T>(src: &[u8], dst: &mut [T], convert: impl Fn([u8; N]) -> T) {
    assert_eq!(src.len(), N * dst.len(), "bytes of a row of {} elements", dst.len());
    for (to, from) in dst.iter_mut().zip(src.as_chunks::<N>().0) {
        *to = convert(*from);
    }
}

#[inline(always)]
fn store<const N: usize, T: Copy>(src: &[T], dst: &mut [u8], convert: impl Fn(T) -> [u8; N]) {
    assert_eq!(dst.len(), N * src.len(), "bytes of a row of {} elements", src.len());
    for (to, from) in dst.as_chunks_mut::<N>().0.iter_mut().zip(src) {
        *to = convert(*from);
    }
}

#[inline(always)]
fn load_nibbles(src: &[u8], dst: &mut [f32], convert: impl Fn(u32) -> f32) {
    assert_eq!(src.len(), dst.len().div_ceil(2), "bytes of a row of {} nibbles", dst.len());
    for (to, byte) in dst.chunks_mut(2).zip(src) {
        to[0] = convert(u32::from(byte & 0xF));
        if let Some(high) = to.get_mut(1) {
            *high = convert(u32::from(byte >> 4));
        }
    }
}

#[inline(always)]
fn store_nibbles(src: &[f32], dst: &mut [u8], convert: impl Fn(f32) -> u32) {
    assert_eq!(dst.len(), src.len().div_ceil(2), "bytes of a row of {} nibbles", src.len());
    for (byte, from) in dst.iter_mut().zip(src.chunks(2)) {
        let high = from.get(1).map_or(0, |v| convert(*v));
        *byte = (convert(from[0]) & 0xF | high << 4) as u8;
    }
}

/// The branch-free form of [`to_f32`](super::to_f32) for the narrow formats.
#[inline(always)]
fn decode<F: Minifloat>(code: u32) -> f32 {
    let format = F::FORMAT;
    let magnitude = code & ((1 << (format.bits - u32::from(format.sign != 0))) - 1);
    let sign = if format.sign == 0 { 0 } else { (code & format.sign) << (32 - format.bits) };

    let wide = magnitude << (23 - format.man);
    let normal = wide + ((127 - format.bias) << 23);
    let finite = if format.bias == 127 || magnitude >= 1 << format.man {
        normal
    } else {
        // With an exponent field of 1 forced, the hidden bit is one too many: take it off again.
        let hidden = (128 - format.bias) << 23;
        (f32::from_bits(wide + hidden) - f32::from_bits(hidden)).to_bits()
    };
    if magnitude <= format.max {
        f32::from_bits(finite | sign)
    } else if Some(magnitude) == format.inf {
        f32::from_bits(f32::INFINITY.to_bits() | sign)
    } else {
        CANONICAL_NAN
    }
}

/// The branch-free form of [`from_f32`](super::from_f32) for the narrow formats.
#[inline(always)]
fn encode<F: Minifloat>(value: f32) -> u32 {
    let format = F::FORMAT;
    let sign = if value.is_sign_negative() { format.sign } else { 0 };
    let magnitude = value.to_bits() & 0x7FFF_FFFF;

    let shift = 23 - format.man;
    let to_even = (1 << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    let normal = ((magnitude + to_even) >> shift).wrapping_sub((127 - format.bias) << format.man);
    let rounded = if format.bias == 127 || magnitude >= (128 - format.bias) << 23 {
        normal
    } else {
        // The last place of this power of two is the format's smallest subnormal: the addition rounds.
        let grid = f32::from_bits((128 - format.bias + 23 - format.man) << 23);
        (f32::from_bits(magnitude) + grid).to_bits().wrapping_sub(grid.to_bits())
    };
    let code = if rounded > format.max { format.overflow } else { rounded };
    if magnitude > f32::INFINITY.to_bits() { format.nan } else { code | sign }
}

/// Rounds to 13 explicit mantissa bits; the carry may reach infinity (E11).
#[inline(always)]
fn to_fp32r(value: f32) -> u32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x1FF + ((bits >> 10) & 1)) & !0x3FF;
    if value.is_nan() { CANONICAL_NAN.to_bits() } else { rounded }
}

/// 1.5 · 2^23: the last place of its neighbourhood is 1, so that adding it rounds to an integer, which then
/// stands in the low bits.
const INTEGER_GRID: f32 = 12_582_912.0;

/// Rounds to nearest even within limits of at most ±2^22; NaN gives 0.
#[inline(always)]
fn to_small_int(value: f32, min: f32, max: f32) -> i32 {
    // Limits are integers, so that clamping first makes no difference.
    let value = if value.is_nan() { 0.0 } else { value };
    round_small(value.clamp(min, max))
}

#[inline(always)]
fn round_small(value: f32) -> i32 {
    (value + INTEGER_GRID).to_bits().wrapping_sub(INTEGER_GRID.to_bits()) as i32
}

/// Rounds to nearest even modulo 2^32, for values below 2^32 in magnitude.
#[inline(always)]
fn round_wrapping(value: f32) -> u32 {
    // The upper half is a multiple of 2^16 and the rest is exact, so that the rest decides the rounding.
    let upper = (value * (1.0 / 65536.0) + INTEGER_GRID) - INTEGER_GRID;
    let rest = value - upper * 65536.0;
    ((round_small(upper) << 16).wrapping_add(round_small(rest))) as u32
}

#[inline(always)]
fn to_i32(value: f32) -> i32 {
    const END: f32 = 2_147_483_648.0;
    let within = (-END..END).contains(&value);
    let rounded = round_wrapping(if within { value } else { 0.0 }) as i32;
    let beyond = if value < 0.0 { i32::MIN } else { i32::MAX };
    if within || value.is_nan() { rounded } else { beyond }
}

#[inline(always)]
fn to_u32(value: f32) -> u32 {
    const END: f32 = 4_294_967_296.0;
    let within = (0.0..END).contains(&value);
    let rounded = round_wrapping(if within { value } else { 0.0 });
    if value >= END { u32::MAX } else { rounded }
}
