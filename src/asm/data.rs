//! Contents of constants: generated, listed, or from a numpy file.

use std::path::Path;

use seqjit_runtime::isa::Dtype;
use seqjit_runtime::num::{self, Fp8};

use super::error::Result;
use super::expr::expression;
use super::scan::Cursor;
use super::value::{Scope, Value};
use crate::Tensor;

/// What can stand behind `=`.
const FORMS: &str = "zeros, ones, fill(x), identity, iota, iota(start, step), npy \"FILE\" or [x, y, ...]";

/// Reads the contents of an array of this type and shape: its bytes, row-major, little-endian.
/// Files are looked for in `directory`.
pub(super) fn contents(
    c: &mut Cursor,
    scope: &Scope,
    dtype: Dtype,
    shape: &[usize],
    directory: &Path,
) -> Result<Vec<u8>> {
    c.skip_blanks();
    let start = *c;
    let elements: usize = shape.iter().product();
    if c.eat_word("npy") {
        return from_file(c, dtype, shape, directory);
    }
    let generate = generator(c, scope, shape)?;
    let mut bytes = Vec::with_capacity(elements * dtype.bytes());
    let encode = Encoder::new(dtype).ok_or_else(|| start.error("a datatype that numbers convert to"))?;
    for element in 0..elements {
        let value = generate(element);
        if !encode.append(&value, &mut bytes) {
            let value = as_f64(&value).unwrap_or(f64::NAN);
            let expected = format!("numbers that {} can hold, not {value}", dtype.text());
            return Err(start.error(expected));
        }
    }
    Ok(bytes)
}

type Generator = Box<dyn Fn(usize) -> Value>;

fn generator(c: &mut Cursor, scope: &Scope, shape: &[usize]) -> Result<Generator> {
    let start = *c;
    if c.eat("[") {
        return listed(c, scope, shape);
    }
    let name = c.name(FORMS)?;
    let arguments = arguments(c, scope)?;
    match (name, &arguments[..]) {
        ("zeros", []) => Ok(Box::new(|_| Value::Int(0))),
        ("ones", []) => Ok(Box::new(|_| Value::Int(1))),
        ("fill", [value]) => {
            let value = value.clone();
            Ok(Box::new(move |_| value.clone()))
        }
        ("identity", []) => match *shape {
            [_, columns] => Ok(Box::new(move |i| Value::Int(i64::from(i / columns == i % columns)))),
            _ => Err(start.error(format!("contents for {} dimensions: an identity has two", shape.len()))),
        },
        ("iota", []) => Ok(Box::new(|i| Value::Int(i as i64))),
        ("iota", [Value::Int(first), Value::Int(step)]) => {
            let (first, step) = (*first, *step);
            let value = move |i| step.checked_mul(i as i64)?.checked_add(first);
            Ok(Box::new(move |i| value(i).map_or(Value::Float(f64::INFINITY), Value::Int)))
        }
        ("iota", [first, step]) => match (as_f64(first), as_f64(step)) {
            (Some(first), Some(step)) => Ok(Box::new(move |i| Value::Float(first + step * i as f64))),
            _ => Err(start.error("two numbers in iota(start, step)")),
        },
        _ => Err(start.error(FORMS)),
    }
}

fn arguments(c: &mut Cursor, scope: &Scope) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    if c.eat("(") {
        values.push(expression(c, scope)?);
        while c.eat(",") {
            values.push(expression(c, scope)?);
        }
        c.expect(")")?;
    }
    Ok(values)
}

fn listed(c: &mut Cursor, scope: &Scope, shape: &[usize]) -> Result<Generator> {
    let elements: usize = shape.iter().product();
    let mut values = Vec::new();
    loop {
        values.push(expression(c, scope)?);
        if !c.eat(",") {
            break;
        }
    }
    if values.len() != elements {
        return Err(c.error(format!("{elements} numbers, not {}", values.len())));
    }
    c.expect("]")?;
    Ok(Box::new(move |i| values[i].clone()))
}

fn from_file(c: &mut Cursor, dtype: Dtype, shape: &[usize], directory: &Path) -> Result<Vec<u8>> {
    c.skip_blanks();
    let start = *c;
    let name = c.string()?;
    let tensor = Tensor::open(&directory.join(name))
        .map_err(|error| start.error(format!("a numpy file that can be read: {error}")))?;
    let elements: usize = shape.iter().product();
    if tensor.dtype != dtype || tensor.elements() != elements {
        let expected = format!("{elements} elements of {}", dtype.text());
        let found = format!("{} of {}", tensor.elements(), tensor.dtype.text());
        return Err(start.error(format!("a file with {expected}, not {found}")));
    }
    Ok(tensor.data)
}

fn as_f64(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        Value::View(_) => None,
    }
}

/// Converts numbers to a datatype: floats through fp32, as the machine does.
enum Encoder {
    Float(Dtype),
    Int { bytes: usize, min: i128, max: i128 },
}

impl Encoder {
    fn new(dtype: Dtype) -> Option<Encoder> {
        if dtype.is_integer() {
            let bits = 8 * dtype.bytes() as u32;
            let (min, max) = match dtype.is_signed() {
                true => (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1),
                false => (0, (1 << bits) - 1),
            };
            return Some(Encoder::Int { bytes: dtype.bytes(), min, max });
        }
        (dtype.is_float() && dtype.bytes() > 0 && num::converts_from_f32(dtype))
            .then_some(Encoder::Float(dtype))
    }

    /// `false` if the value does not fit.
    fn append(&self, value: &Value, out: &mut Vec<u8>) -> bool {
        match self {
            Encoder::Float(dtype) => {
                let Some(value) = as_f64(value).filter(|v| v.is_finite()) else { return false };
                let bits = num::from_f32(value as f32, *dtype, Fp8::default());
                out.extend_from_slice(&bits.to_le_bytes()[..dtype.bytes()]);
                true
            }
            Encoder::Int { bytes, min, max } => {
                let Value::Int(value) = value else { return false };
                out.extend_from_slice(&value.to_le_bytes()[..*bytes]);
                (*min..=*max).contains(&i128::from(*value))
            }
        }
    }
}
