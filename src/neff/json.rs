//! Strict JSON members (chapter 07 sections 3.3 and 4): RFC 8259, valid UTF-8, bounded depth, the first
//! of repeated keys wins; and accessors whose errors name the member, the path and the byte.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::bytes::Bytes;
use super::error::{NeffError, Place, Result, Rule};
use super::locate::locate;
use super::options::Limits;
use super::warning::{Warning, Warnings};

/// A parsed JSON member.
pub struct Document {
    member: String,
    text: Bytes,
    value: Value,
}

/// One step of a path in a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// The value of a key.
    Key(&'a str),
    /// An element.
    Index(usize),
}

impl Document {
    /// Parses the member `member`.
    ///
    /// # Errors
    /// [`NeffError::JsonUtf8`], [`NeffError::JsonSyntax`] or [`NeffError::JsonLimit`].
    pub fn parse(member: &str, text: &Bytes, limits: &Limits, warnings: &mut Warnings) -> Result<Document> {
        let limit_error =
            |what, limit, offset| NeffError::JsonLimit { member: member.to_owned(), offset, what, limit };
        if text.len() > limits.json_bytes {
            return Err(limit_error("bytes", limits.json_bytes, limits.json_bytes));
        }
        if let Err(error) = std::str::from_utf8(text) {
            return Err(NeffError::JsonUtf8 { member: member.to_owned(), offset: error.valid_up_to() });
        }
        let mut parser = Parser {
            limits,
            depth: 0,
            values: 0,
            path: Vec::new(),
            duplicates: warnings,
            member,
            over: None,
        };
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let parsed = parser.deserialize(&mut deserializer).and_then(|value| {
            deserializer.end()?;
            Ok(value)
        });
        match parsed {
            Ok(value) => Ok(Document { member: member.to_owned(), text: text.clone(), value }),
            Err(error) => {
                let offset = offset_of(text, error.line(), error.column());
                Err(match parser.over {
                    Some((what, limit)) => limit_error(what, limit, offset),
                    None => NeffError::JsonSyntax {
                        member: member.to_owned(),
                        offset,
                        message: error.to_string(),
                    },
                })
            }
        }
    }

    /// The outermost value.
    pub fn root(&self) -> Node<'_, '_> {
        Node { document: self, parent: None, value: &self.value }
    }

    /// The member's path in the archive.
    pub fn member(&self) -> &str {
        &self.member
    }

    /// The place of the value at `steps`, or of its nearest existing parent.
    pub fn place(&self, steps: &[Step<'_>]) -> Box<Place> {
        let path = join(steps.iter().copied());
        Box::new(Place { member: self.member.clone(), path, offset: locate(&self.text, steps) })
    }

    /// A broken rule about the value at `steps`.
    pub fn broken(
        &self,
        rule: Rule,
        steps: &[Step<'_>],
        value: impl ToString,
        expected: impl ToString,
    ) -> NeffError {
        NeffError::Rule {
            rule,
            at: self.place(steps),
            value: shorten(value.to_string()),
            expected: expected.to_string(),
        }
    }
}

/// The byte offset of a one-based line and column.
fn offset_of(text: &[u8], line: usize, column: usize) -> usize {
    let start = match line {
        0 | 1 => 0,
        _ => {
            let ends = text.iter().enumerate().filter(|(_, b)| **b == b'\n');
            ends.map(|(i, _)| i + 1).nth(line - 2).unwrap_or(text.len())
        }
    };
    (start + column.saturating_sub(1)).min(text.len())
}

/// The path in text, cut where it gets long: keys of a hostile file may be megabytes.
fn join<'a>(steps: impl Iterator<Item = Step<'a>>) -> String {
    const MAX: usize = 1000;
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) => {
                let dot = if path.is_empty() { "" } else { "." };
                path.extend([dot, &key[..key.floor_char_boundary(MAX)]]);
            }
            Step::Index(i) => path.push_str(&format!("[{i}]")),
        }
        if path.len() > MAX {
            path.push_str("...");
            break;
        }
    }
    path
}

/// Keeps an error message readable when a value is huge.
fn shorten(mut text: String) -> String {
    const MAX: usize = 120;
    if text.len() > MAX {
        text.truncate(text.floor_char_boundary(MAX));
        text.push_str("...");
    }
    text
}

/// Builds a [`Value`], counting depth and values and reporting repeated keys.
struct Parser<'a> {
    member: &'a str,
    limits: &'a Limits,
    depth: usize,
    values: usize,
    path: Vec<OwnedStep>,
    duplicates: &'a mut Warnings,
    /// The limit that was exceeded.
    over: Option<(&'static str, usize)>,
}

enum OwnedStep {
    Key(String),
    Index(usize),
}

impl Parser<'_> {
    /// Counts a value.
    fn count<E: serde::de::Error>(&mut self) -> std::result::Result<(), E> {
        self.values += 1;
        if self.values > self.limits.json_values {
            self.over = Some(("values", self.limits.json_values));
            return Err(E::custom("too many values"));
        }
        Ok(())
    }

    /// Enters an array or object.
    fn enter<E: serde::de::Error>(&mut self) -> std::result::Result<(), E> {
        self.depth += 1;
        if self.depth > self.limits.json_depth {
            self.over = Some(("levels", self.limits.json_depth));
            return Err(E::custom("too deep"));
        }
        Ok(())
    }

    fn report_duplicate(&mut self, key: &str) {
        let steps = self.path.iter().map(|step| match step {
            OwnedStep::Key(key) => Step::Key(key),
            OwnedStep::Index(i) => Step::Index(*i),
        });
        let path = join(steps.chain([Step::Key(key)]));
        self.duplicates.push(Warning::DuplicateKey { member: self.member.to_owned(), path });
    }
}

impl<'de> DeserializeSeed<'de> for &mut Parser<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Value, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Parser<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> std::result::Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> std::result::Result<Value, A::Error> {
        self.enter()?;
        let mut array = Vec::new();
        loop {
            self.path.push(OwnedStep::Index(array.len()));
            let element = elements.next_element_seed(&mut *self)?;
            self.path.pop();
            match element {
                Some(value) => array.push(value),
                None => break,
            }
        }
        self.depth -= 1;
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Value, A::Error> {
        self.enter()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.path.push(OwnedStep::Key(key));
            let value = entries.next_value_seed(&mut *self)?;
            let Some(OwnedStep::Key(key)) = self.path.pop() else {
                return Err(A::Error::custom("unbalanced path"));
            };
            if map.contains_key(&key) {
                self.report_duplicate(&key);
            } else {
                map.insert(key, value);
            }
        }
        self.depth -= 1;
        Ok(Value::Object(map))
    }
}

/// A value of a document with the way to it.
#[derive(Clone, Copy)]
pub struct Node<'v, 'p> {
    document: &'v Document,
    parent: Option<(&'p Node<'v, 'p>, Step<'p>)>,
    value: &'v Value,
}

impl<'v> Node<'v, '_> {
    /// The raw value.
    pub fn value(self) -> &'v Value {
        self.value
    }

    /// The document it belongs to.
    pub fn document(self) -> &'v Document {
        self.document
    }

    fn child<'s>(&'s self, step: Step<'s>, value: &'v Value) -> Node<'v, 's> {
        Node { document: self.document, parent: Some((self, step)), value }
    }

    /// The steps from the root.
    fn steps(&self) -> Vec<Step<'_>> {
        let mut steps = Vec::new();
        let mut node = self;
        while let Some((parent, step)) = node.parent {
            steps.push(step);
            node = parent;
        }
        steps.reverse();
        steps
    }

    /// Where the value stands.
    pub fn place(&self) -> Box<Place> {
        self.document.place(&self.steps())
    }

    /// An error: the value has the wrong JSON type.
    pub fn wrong_type(&self, expected: impl ToString) -> NeffError {
        NeffError::JsonType {
            at: self.place(),
            value: shorten(self.value.to_string()),
            expected: expected.to_string(),
        }
    }

    /// An error: the value breaks a rule.
    pub fn broken(&self, rule: Rule, expected: impl ToString) -> NeffError {
        self.document.broken(rule, &self.steps(), self.value, expected)
    }

    /// An error: the value's meaning is not known.
    pub fn unsupported(&self, what: &'static str) -> NeffError {
        NeffError::Unsupported { at: self.place(), value: shorten(self.value.to_string()), what }
    }

    /// The value of a key, if this is an object that has it.
    pub fn get<'s>(&'s self, key: &'s str) -> Option<Node<'v, 's>> {
        self.value.get(key).map(|value| self.child(Step::Key(key), value))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`NeffError::JsonMissing`], or [`NeffError::JsonType`] if this is no object.
    pub fn require<'s>(&'s self, key: &'s str, expected: &str) -> Result<Node<'v, 's>> {
        self.object()?;
        self.get(key).ok_or_else(|| NeffError::JsonMissing {
            at: self.place(),
            key: key.to_owned(),
            expected: expected.to_owned(),
        })
    }

    /// The object's map.
    ///
    /// # Errors
    /// [`NeffError::JsonType`], as for all typed accessors.
    pub fn object(self) -> Result<&'v Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wrong_type("an object"))
    }

    /// The object's entries in order.
    pub fn entries<'s>(&'s self) -> Result<impl Iterator<Item = (&'v str, Node<'v, 's>)>> {
        let map = self.object()?;
        Ok(map.iter().map(|(key, value)| (key.as_str(), self.child(Step::Key(key), value))))
    }

    /// The array's elements.
    pub fn elements<'s>(&'s self) -> Result<impl ExactSizeIterator<Item = Node<'v, 's>>> {
        let array = self.value.as_array().ok_or_else(|| self.wrong_type("an array"))?;
        Ok(array.iter().enumerate().map(|(i, value)| self.child(Step::Index(i), value)))
    }

    /// An element, if this is an array that has it.
    pub fn at<'s>(&'s self, index: usize) -> Option<Node<'v, 's>> {
        self.value.get(index).map(|value| self.child(Step::Index(index), value))
    }

    /// A string.
    pub fn string(self) -> Result<&'v str> {
        self.value.as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    /// An integer that is not negative. A number in quotes or with a fraction is none.
    pub fn uint(self) -> Result<u64> {
        self.value.as_u64().ok_or_else(|| self.wrong_type("an unsigned integer"))
    }

    /// An integer that is not negative and fits 32 bits.
    pub fn uint32(self) -> Result<u32> {
        u32::try_from(self.uint()?).map_err(|_| self.wrong_type("an unsigned integer below 2^32"))
    }

    /// An index or count that fits the host.
    pub fn index(self) -> Result<usize> {
        usize::try_from(self.uint()?).map_err(|_| self.wrong_type("an index"))
    }

    /// A signed integer.
    pub fn int(self) -> Result<i64> {
        self.value.as_i64().ok_or_else(|| self.wrong_type("an integer"))
    }

    /// Any number.
    pub fn float(self) -> Result<f64> {
        self.value.as_f64().ok_or_else(|| self.wrong_type("a number"))
    }

    /// A bool, or 0 or 1.
    pub fn flag(self) -> Result<bool> {
        match (self.value.as_bool(), self.value.as_u64()) {
            (Some(flag), _) => Ok(flag),
            (None, Some(0)) => Ok(false),
            (None, Some(1)) => Ok(true),
            _ => Err(self.wrong_type("true, false, 0 or 1")),
        }
    }

    /// Every element of an array through `read`.
    pub fn list<'s, T>(&'s self, read: impl Fn(Node<'v, 's>) -> Result<T>) -> Result<Vec<T>> {
        self.elements()?.map(read).collect()
    }

    /// The value of an optional key through `read`.
    pub fn optional<'s, T>(
        &'s self,
        key: &'s str,
        read: impl FnOnce(Node<'v, 's>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.get(key).map(read).transpose()
    }

    /// The list at an optional key; empty if absent.
    pub fn optional_list<T>(&self, key: &str, read: impl Fn(Node<'v, '_>) -> Result<T>) -> Result<Vec<T>> {
        let Some(node) = self.get(key) else { return Ok(Vec::new()) };
        node.elements()?.map(read).collect()
    }
}
