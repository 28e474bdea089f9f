//! Elements of tensors as numbers: to print and to compare.

use std::fmt;

use seqjit::runtime::isa::Dtype;
use seqjit::runtime::num::{Fp8, converts_from_f32, converts_to_f32, from_f32, to_f32};
use serde_json::Value as Json;

/// One element. Floats of every width are exact as fp32.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// An integer.
    Int(i128),
    /// A number of a float format.
    Float(f32),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(v) => write!(f, "{v}"),
            // The shortest digits that lead back to the same fp32.
            Value::Float(v) => write!(f, "{v:?}"),
        }
    }
}

impl Value {
    /// A JSON number; infinities and NaN, which JSON lacks, are the strings `inf`, `-inf` and `NaN`.
    pub fn to_json(self) -> Json {
        match self {
            Value::Int(v) => match i64::try_from(v) {
                Ok(v) => v.into(),
                // Elements have at most 64 bits.
                Err(_) => (v as u64).into(),
            },
            Value::Float(v) if v.is_finite() => f64::from(v).into(),
            Value::Float(v) => v.to_string().into(),
        }
    }

    /// The nearest fp64.
    pub fn to_f64(self) -> f64 {
        match self {
            Value::Int(v) => v as f64,
            Value::Float(v) => v.into(),
        }
    }
}

/// Bytes of an element as it is shown: data of an unknown datatype is shown byte by byte.
pub fn element_bytes(dtype: Dtype) -> usize {
    dtype.bytes().max(1)
}

/// Whether elements of a datatype can be shown.
pub fn can_show(dtype: Dtype) -> bool {
    dtype.bytes() > 0 && (dtype.is_integer() || converts_to_f32(dtype))
}

/// Reads one element, little-endian, from exactly [`element_bytes`] bytes.
pub fn read(dtype: Dtype, fp8: Fp8, bytes: &[u8]) -> Value {
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(raw);
    if converts_to_f32(dtype) && !dtype.is_integer() {
        return Value::Float(to_f32(bits as u32, dtype, fp8));
    }
    let unused = 64 - 8 * bytes.len() as u32;
    Value::Int(if dtype.is_signed() { ((bits << unused) as i64 >> unused).into() } else { bits.into() })
}

/// The bytes of an element given as text: a decimal or `0x` number, of integers within their range. Floats
/// round to the nearest value of their format.
pub fn parse(dtype: Dtype, fp8: Fp8, text: &str) -> Option<Vec<u8>> {
    let size = element_bytes(dtype);
    if dtype.is_float() {
        let value = text.parse().ok().filter(|_| converts_from_f32(dtype))?;
        return Some(from_f32(value, dtype, fp8).to_le_bytes()[..size].to_vec());
    }
    let value = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    let bits = 8 * size as u32 - u32::from(dtype.is_signed());
    let least = if dtype.is_signed() { -1 << bits } else { 0 };
    (least..1 << bits).contains(&value).then(|| value.to_le_bytes()[..size].to_vec())
}

/// All elements of a run of bytes.
pub fn read_all(dtype: Dtype, fp8: Fp8, data: &[u8]) -> impl Iterator<Item = Value> {
    data.chunks_exact(element_bytes(dtype)).map(move |bytes| read(dtype, fp8, bytes))
}

/// Whether `found` is as good as `expected`: `|found - expected| <= atol + rtol * |expected|`. NaN equals NaN,
/// an infinity equals only itself, and integers are compared exactly.
pub fn close(found: Value, expected: Value, rtol: f64, atol: f64) -> bool {
    let distance = difference(found, expected);
    // The distance of an infinity or a NaN from anything else is no number to compare.
    distance == 0.0 || (expected.to_f64().is_finite() && distance <= atol + rtol * expected.to_f64().abs())
}

/// The distance of two elements; 0 for two NaN and for equal infinities, NaN if only one is NaN.
pub fn difference(found: Value, expected: Value) -> f64 {
    if let (Value::Int(f), Value::Int(e)) = (found, expected) {
        return (f - e).unsigned_abs() as f64;
    }
    let (f, e) = (found.to_f64(), expected.to_f64());
    if f == e || (f.is_nan() && e.is_nan()) { 0.0 } else { (f - e).abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_with_their_sign_and_width() {
        let fp8 = Fp8::default();
        assert_eq!(read(Dtype::INT8, fp8, &[0x80]), Value::Int(-128));
        assert_eq!(read(Dtype::UINT8, fp8, &[0x80]), Value::Int(128));
        assert_eq!(read(Dtype::INT16, fp8, &[0xFE, 0xFF]), Value::Int(-2));
        assert_eq!(read(Dtype::UINT64, fp8, &[0xFF; 8]), Value::Int(u64::MAX.into()));
        assert_eq!(read(Dtype::INT64, fp8, &[0xFF; 8]), Value::Int(-1));
        assert_eq!(read(Dtype::FP32, fp8, &1.5f32.to_le_bytes()), Value::Float(1.5));
        assert_eq!(read(Dtype::BFLOAT16, fp8, &[0x80, 0xBF]), Value::Float(-1.0));
        assert_eq!(read(Dtype::FP16, fp8, &[0x00, 0x3C]), Value::Float(1.0));
        assert_eq!(read(Dtype::INVALID, fp8, &[0xFF]), Value::Int(255));
    }

    #[test]
    fn elements_are_written_within_their_range() {
        let write = |dtype, text| parse(dtype, Fp8::default(), text);
        assert_eq!(write(Dtype::FP32, "1.5"), Some(1.5f32.to_le_bytes().to_vec()));
        assert_eq!(write(Dtype::BFLOAT16, "-1"), Some(vec![0x80, 0xBF]));
        assert_eq!(write(Dtype::INT8, "-128"), Some(vec![0x80]));
        assert_eq!(write(Dtype::UINT8, "0xff"), Some(vec![0xFF]));
        assert_eq!(write(Dtype::UINT64, "18446744073709551615"), Some(vec![0xFF; 8]));
        for (dtype, text) in [(Dtype::INT8, "128"), (Dtype::UINT8, "-1"), (Dtype::UINT16, "0x10000")] {
            assert_eq!(write(dtype, text), None, "{text}");
        }
    }

    #[test]
    fn tolerance_is_numpys_and_nan_equals_nan() {
        let float = Value::Float;
        assert!(close(float(f32::NAN), float(f32::NAN), 0.0, 0.0));
        assert!(!close(float(f32::NAN), float(1.0), 1.0, 1.0));
        assert!(!close(float(1.0), float(f32::NAN), 1.0, 1.0));
        assert!(close(float(f32::INFINITY), float(f32::INFINITY), 0.0, 0.0));
        assert!(!close(float(f32::INFINITY), float(f32::NEG_INFINITY), 1.0, 1.0));
        assert!(!close(float(1.0), float(f32::INFINITY), 1.0, 1.0));
        assert!(!close(float(f32::INFINITY), float(1.0), 1.0, 1.0));
        assert!(close(float(-0.0), float(0.0), 0.0, 0.0));
        assert!(close(float(1.25), float(1.0), 0.0, 0.25));
        assert!(close(float(2.5), float(2.0), 0.25, 0.0));
        assert!(!close(float(2.5), float(2.0), 0.125, 0.125));
        assert!(!close(Value::Int(i128::from(u64::MAX)), Value::Int(i128::from(u64::MAX) - 1), 0.0, 0.0));
        assert!(close(Value::Int(3), Value::Int(2), 0.0, 1.0));
    }

    #[test]
    fn json_has_no_infinities() {
        assert_eq!(Value::Float(f32::NEG_INFINITY).to_json(), "-inf");
        assert_eq!(Value::Float(f32::NAN).to_json(), "NaN");
        assert_eq!(Value::Float(0.5).to_json(), 0.5);
        assert_eq!(Value::Int(u64::MAX.into()).to_json(), u64::MAX);
        assert_eq!(Value::Int(-1).to_json(), -1);
    }
}
