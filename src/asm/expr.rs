//! Expressions, evaluated while they are read.

use super::error::Result;
use super::scan::{Cursor, word_length};
use super::value::{Scope, Value};
use super::view::{Dim, View};

/// Brackets and signs inside each other, so that reading them cannot use up the stack.
const MAX_DEPTH: usize = 64;

/// Elements that a view may walk over; far more than any memory has, far less than overflows.
const MAX_ELEMENTS: i64 = 1 << 40;

/// Operators by precedence, loosest first. Of two that begin alike the longer one comes first.
const LEVELS: &[&[&str]] =
    &[&["==", "!=", "<=", ">=", "<", ">"], &["|"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

/// Any expression.
pub(super) fn expression(c: &mut Cursor, scope: &Scope) -> Result<Value> {
    Reader { c, scope, depth: 0 }.level(0)
}

/// A name with its indices, a number, or an expression in parentheses: what stands without blanks around it.
pub(super) fn operand(c: &mut Cursor, scope: &Scope) -> Result<Value> {
    Reader { c, scope, depth: 0 }.postfix()
}

/// As [`operand`], without indices: what a bracket can stand behind.
pub(super) fn atom(c: &mut Cursor, scope: &Scope) -> Result<Value> {
    Reader { c, scope, depth: 0 }.primary()
}

/// An integer; a tile counts as the address of its first element.
pub(super) fn integer(c: &mut Cursor, scope: &Scope) -> Result<i64> {
    Reader { c, scope, depth: 0 }.integer()
}

/// An integer between two bounds.
pub(super) fn integer_in(c: &mut Cursor, scope: &Scope, min: i64, max: i64) -> Result<i64> {
    Reader { c, scope, depth: 0 }.integer_in(min, max)
}

/// A tile, a variable, or a part of one.
pub(super) fn view(c: &mut Cursor, scope: &Scope, what: &str) -> Result<View> {
    c.skip_blanks();
    let start = *c;
    match operand(c, scope)? {
        Value::View(view) => Ok(view),
        other => Err(start.error(format!("{what}, not {}", other.kind()))),
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        Value::View(view) if view.on_chip() => Some(view.offset),
        _ => None,
    }
}

struct Reader<'r, 'l> {
    c: &'r mut Cursor<'l>,
    scope: &'r Scope,
    depth: usize,
}

impl Reader<'_, '_> {
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.c.error(format!("at most {MAX_DEPTH} brackets and signs in each other")));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn integer(&mut self) -> Result<i64> {
        self.c.skip_blanks();
        let start = *self.c;
        let value = self.level(0)?;
        whole(&value).ok_or_else(|| start.error(format!("an integer, not {}", value.kind())))
    }

    fn integer_in(&mut self, min: i64, max: i64) -> Result<i64> {
        self.c.skip_blanks();
        let start = *self.c;
        let value = self.integer()?;
        match (min..=max).contains(&value) {
            true => Ok(value),
            false => Err(start.error(format!("a number from {min} to {max}, not {value}"))),
        }
    }

    fn level(&mut self, level: usize) -> Result<Value> {
        let Some(operators) = LEVELS.get(level) else { return self.sign() };
        let mut left = self.level(level + 1)?;
        loop {
            self.c.skip_blanks();
            let start = *self.c;
            let Some(operator) = operators.iter().find(|o| self.c.eat(o)) else { return Ok(left) };
            let right = self.level(level + 1)?;
            left = combine(operator, &left, &right).map_err(|expected| start.error(expected))?;
        }
    }

    fn sign(&mut self) -> Result<Value> {
        self.c.skip_blanks();
        let start = *self.c;
        if !self.c.eat("-") {
            return self.postfix();
        }
        let value = self.deeper(Self::sign)?;
        match value {
            Value::Float(value) => Ok(Value::Float(-value)),
            value => combine("-", &Value::Int(0), &value).map_err(|expected| start.error(expected)),
        }
    }

    fn postfix(&mut self) -> Result<Value> {
        let mut value = self.primary()?;
        while self.c.rest().starts_with('[') {
            let start = *self.c;
            let Value::View(view) = value else {
                return Err(start.error(format!("no index: in front of it stands {}", value.kind())));
            };
            value = Value::View(self.deeper(|r| r.indexed(&view))?);
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Value> {
        self.c.skip_blanks();
        let start = *self.c;
        if self.c.eat("(") {
            let value = self.deeper(|r| r.level(0))?;
            self.c.expect(")")?;
            return Ok(value);
        }
        if start.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return number(self.c);
        }
        let name = self.c.name("a number, a name or `(`")?;
        if self.c.rest().starts_with('(') {
            return self.deeper(|r| r.call(name, &start));
        }
        self.scope.get(name).cloned().ok_or_else(|| start.error("a name that stands for something here"))
    }

    fn call(&mut self, name: &str, start: &Cursor) -> Result<Value> {
        self.c.expect("(")?;
        let mut arguments = vec![self.level(0)?];
        while self.c.eat(",") {
            arguments.push(self.level(0)?);
        }
        self.c.expect(")")?;
        call(name, &arguments).map_err(|expected| start.error(expected))
    }

    fn indexed(&mut self, view: &View) -> Result<View> {
        self.c.expect("[")?;
        let mut out = View { dims: Vec::new(), ..view.clone() };
        let mut left = view.dims.iter();
        loop {
            if self.c.eat("*") {
                let count = self.integer_in(1, 1 << 16)?;
                out.dims.push(Dim { count, step: 0 });
            } else {
                let start = *self.c;
                let dims = view.dims.len();
                let dim = left.next().ok_or_else(|| start.error(format!("at most {dims} indices")))?;
                self.index(dim, &mut out)?;
            }
            if !self.c.eat(",") {
                break;
            }
        }
        let start = *self.c;
        self.c.expect("]")?;
        out.dims.extend(left);
        let elements = out.dims.iter().try_fold(1_i64, |n, d| n.checked_mul(d.count));
        match elements.filter(|n| *n <= MAX_ELEMENTS) {
            Some(_) => Ok(out),
            None => Err(start.error(format!("at most {MAX_ELEMENTS} elements"))),
        }
    }

    /// `i`, `start:stop:step` with any part missing, or `start:+length`.
    fn index(&mut self, dim: &Dim, out: &mut View) -> Result<()> {
        self.c.skip_blanks();
        let place = *self.c;
        let count = dim.count;
        let start = if place.rest().starts_with(':') { None } else { Some(self.integer()?) };
        if !self.c.eat(":") {
            let at = start.unwrap_or(0);
            if !(0..count).contains(&at) {
                return Err(place.error(format!("an index from 0 to {}, not {at}", count - 1)));
            }
            out.offset += at * dim.step;
            return Ok(());
        }
        let stop = if self.c.eat("+") {
            Some(start.unwrap_or(0).saturating_add(self.integer_in(1, count)?))
        } else if self.at_part() {
            Some(self.integer()?)
        } else {
            None
        };
        let step = if self.c.eat(":") { self.integer_in(-count, count)? } else { 1 };
        let (start, stop) = match step > 0 {
            true => (start.unwrap_or(0), stop.unwrap_or(count)),
            false => (start.unwrap_or(count - 1), stop.unwrap_or(-1)),
        };
        let inside = (0..count).contains(&start) && (-1..=count).contains(&stop) && step != 0;
        let length = if inside { (stop - start + step - step.signum()) / step } else { 0 };
        if length < 1 {
            return Err(place.error(format!("a range that is not empty and lies inside of 0 to {count}")));
        }
        out.offset += start * dim.step;
        out.dims.push(Dim { count: length, step: dim.step * step });
        Ok(())
    }

    /// Whether a part of a range follows, and not the `:`, `,` or `]` behind a missing one.
    fn at_part(&mut self) -> bool {
        self.c.skip_blanks();
        !self.c.rest().starts_with([':', ',', ']'])
    }
}

/// Decimal or hexadecimal integers, and decimal numbers with a fraction or an exponent.
fn number(c: &mut Cursor) -> Result<Value> {
    let start = *c;
    let rest = c.rest();
    if let Some(digits) = rest.strip_prefix("0x") {
        let length = digits.find(|d: char| !d.is_ascii_hexdigit()).unwrap_or(digits.len());
        c.at += 2 + length;
        let value = i64::from_str_radix(&digits[..length], 16);
        return value.map(Value::Int).map_err(|_| start.error("hexadecimal digits that fit 63 bits"));
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(rest);
    let mut fraction = false;
    let behind = |length: usize, text: &str| rest[length..].starts_with(text);
    // `0..4` is a range, not a number with a fraction.
    if behind(length, ".") && digits(&rest[length + 1..]) > 0 {
        length += 1 + digits(&rest[length + 1..]);
        fraction = true;
    }
    if behind(length, "e") || behind(length, "E") {
        let sign = usize::from(rest[length + 1..].starts_with(['-', '+']));
        let exponent = digits(&rest[length + 1 + sign..]);
        if exponent > 0 {
            length += 1 + sign + exponent;
            fraction = true;
        }
    }
    if word_length(&rest[length..]) > 0 {
        return Err(start.error("a number"));
    }
    c.at += length;
    let text = &rest[..length];
    if fraction {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        return value.map(Value::Float).ok_or_else(|| start.error("a number that a double can hold"));
    }
    text.parse().map(Value::Int).map_err(|_| start.error("an integer that fits 63 bits"))
}

type Computed = std::result::Result<Value, String>;

fn combine(operator: &str, left: &Value, right: &Value) -> Computed {
    let text = |value: bool| Value::Int(i64::from(value));
    if let (Some(a), Some(b)) = (whole(left), whole(right)) {
        return match operator {
            "==" => Ok(text(a == b)),
            "!=" => Ok(text(a != b)),
            "<=" => Ok(text(a <= b)),
            ">=" => Ok(text(a >= b)),
            "<" => Ok(text(a < b)),
            ">" => Ok(text(a > b)),
            _ => integers(operator, a, b)
                .map(Value::Int)
                .ok_or_else(|| format!("integers for which `{a} {operator} {b}` fits 64 bits")),
        };
    }
    let (Some(a), Some(b)) = (number_of(left), number_of(right)) else {
        return Err(format!("numbers on both sides, not {} and {}", left.kind(), right.kind()));
    };
    let value = match operator {
        "==" => return Ok(text(a == b)),
        "!=" => return Ok(text(a != b)),
        "<=" => return Ok(text(a <= b)),
        ">=" => return Ok(text(a >= b)),
        "<" => return Ok(text(a < b)),
        ">" => return Ok(text(a > b)),
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        _ => return Err(format!("integers on both sides of `{operator}`")),
    };
    if value.is_finite() {
        Ok(Value::Float(value))
    } else {
        Err("a result that a double can hold".to_owned())
    }
}

/// Division rounds down, and the remainder has the sign of the divisor.
fn integers(operator: &str, a: i64, b: i64) -> Option<i64> {
    match operator {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" => Some(a.checked_div(b)? - i64::from(a.checked_rem(b)? != 0 && (a < 0) != (b < 0))),
        "%" => {
            let remainder = a.checked_rem(b)?;
            Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
        }
        "|" => Some(a | b),
        "&" => Some(a & b),
        "<<" => (0..63).contains(&b).then(|| a.checked_mul(1 << b))?,
        ">>" => (0..64).contains(&b).then(|| a >> b),
        _ => None,
    }
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        other => whole(other).map(|value| value as f64),
    }
}

/// The functions.
fn call(name: &str, arguments: &[Value]) -> Computed {
    match (name, arguments) {
        ("id", [Value::View(view)]) => match view.memory {
            super::view::Memory::Variable(id) => Ok(Value::Int(i64::from(id))),
            _ => Ok(Value::Int(i64::from(super::build::STATE_BUFFER))),
        },
        ("bytes", [Value::View(view)]) => Ok(Value::Int(view.elements() * view.element())),
        ("count", [Value::View(view)]) => Ok(Value::Int(view.elements())),
        ("bits", [value]) => {
            let value = number_of(value).ok_or("a number")?;
            Ok(Value::Int(i64::from((value as f32).to_bits())))
        }
        ("sqrt", [value]) => match number_of(value).map(f64::sqrt) {
            Some(root) if root.is_finite() => Ok(Value::Float(root)),
            _ => Err("a number that is not negative".to_owned()),
        },
        ("min" | "max", [first, rest @ ..]) => {
            let mut best = first;
            for value in rest {
                let (a, b) = if name == "min" { (value, best) } else { (best, value) };
                if combine("<", a, b)? == Value::Int(1) {
                    best = value;
                }
            }
            Ok(best.clone())
        }
        ("id" | "bytes" | "count" | "bits" | "sqrt", _) => {
            Err(format!("one argument that `{name}` can take"))
        }
        _ => Err("one of the functions bits, bytes, count, id, max, min, sqrt".to_owned()),
    }
}
