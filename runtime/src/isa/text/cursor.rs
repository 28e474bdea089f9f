//! Reading operand text: a position in the text, the smallest pieces of the grammar, and the error that says
//! what was seen where.

use std::fmt::Display;

use super::super::{EngineId, Generation};

/// The class of an [`AsmError`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AsmErrorKind {
    /// No opcode has this name.
    Opcode,
    /// The opcode is not in the enum of this generation (chapter 03 section 8.1).
    Generation(Generation),
    /// The opcode's words may not stand in a stream of this engine (chapter 03 section 8.3).
    Engine(EngineId),
    /// The text does not follow the grammar.
    Syntax,
    /// A number does not fit its field, or a list has the wrong length.
    Range,
    /// The word has no such operand.
    Key,
    /// An operand is given twice.
    Duplicate,
    /// The wait and the update of one EVENTS block need different values, but share one (chapter 03 section 2.1).
    SharedValue,
    /// A semaphore's index and its name do not belong together.
    SemaphoreName,
}

/// Why operand text cannot be assembled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {at} of the operand text: found `{seen}`, expected {expected}")]
pub struct AsmError {
    /// What kind of mistake.
    pub kind: AsmErrorKind,
    /// Position in the operand text, in bytes. Zero when the opcode itself is refused.
    pub at: usize,
    /// The text there, up to the next blank; the opcode when the opcode itself is refused.
    pub seen: String,
    /// What could have stood there.
    pub expected: String,
}

pub(super) type Parsed<T> = Result<T, AsmError>;

/// A position in operand text.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Cursor { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Nothing is left, or only a semicolon and what follows it.
    pub(super) fn at_end(&self) -> bool {
        self.rest().is_empty() || self.rest().starts_with(';')
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// A fixed token; blanks around it are allowed.
    pub(super) fn expect(&mut self, token: &str) -> Parsed<()> {
        self.skip_blanks();
        if !self.eat(token) {
            return Err(self.syntax(format!("`{token}`")));
        }
        self.skip_blanks();
        Ok(())
    }

    /// The end of an operand: a blank, a semicolon or the end of the text.
    pub(super) fn expect_break(&self) -> Parsed<()> {
        if self.at_end() || self.rest().starts_with(char::is_whitespace) {
            return Ok(());
        }
        Err(self.syntax("a blank"))
    }

    /// The key in front of `=`, if one starts here; moves behind the `=`.
    pub(super) fn key(&mut self) -> Option<&'t str> {
        let mut ahead = self.clone();
        let key = ahead.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        ahead.skip_blanks();
        if key.is_empty() || !ahead.eat("=") {
            return None;
        }
        // Values never start with a blank, except empty ones, which have to stay in front of it.
        self.at = ahead.at;
        Some(key)
    }

    /// Letters, digits, `_`, `-` and `.`; may be empty.
    pub(super) fn name(&mut self) -> &'t str {
        self.take_while(is_name_char)
    }

    pub(super) fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// A value given by a name or number that `parse` understands.
    pub(super) fn named<T>(
        &mut self,
        what: impl Display,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Parsed<T> {
        self.skip_blanks();
        let start = self.clone();
        parse(self.name()).ok_or_else(|| start.syntax(what))
    }

    /// An integer in decimal or hexadecimal between two bounds.
    pub(super) fn integer(&mut self, min: i128, max: i128) -> Parsed<i128> {
        self.skip_blanks();
        let start = self.clone();
        let negative = self.eat("-");
        let value = if self.eat("0x") {
            i128::from_str_radix(self.take_while(|c| c.is_ascii_hexdigit()), 16)
        } else {
            self.take_while(|c| c.is_ascii_digit()).parse()
        };
        let Ok(value) = value else {
            return Err(start.syntax("a number"));
        };
        let value = if negative { -value } else { value };
        if !(min..=max).contains(&value) {
            return Err(start.error(AsmErrorKind::Range, format!("a number from {min} to {max}")));
        }
        Ok(value)
    }

    pub(super) fn unsigned(&mut self, max: u64) -> Parsed<u64> {
        Ok(self.integer(0, i128::from(max))? as u64)
    }

    pub(super) fn byte(&mut self) -> Parsed<u8> {
        Ok(self.unsigned(0xFF)? as u8)
    }

    /// Exactly two hexadecimal digits.
    pub(super) fn hex_byte(&mut self) -> Parsed<u8> {
        let digits = self.rest().get(..2).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let value = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
        let value = value.ok_or_else(|| self.syntax("two hexadecimal digits"))?;
        self.at += 2;
        Ok(value)
    }

    /// `$R[n]`.
    pub(super) fn register(&mut self, max: u64) -> Parsed<u64> {
        self.skip_blanks();
        self.eat("$");
        if !self.eat("R[") {
            return Err(self.syntax("a register, `$R[n]`"));
        }
        let number = self.unsigned(max)?;
        self.expect_close()?;
        Ok(number)
    }

    /// A closing bracket; unlike [`Cursor::expect`] it leaves the blanks behind it.
    pub(super) fn expect_close(&mut self) -> Parsed<()> {
        self.skip_blanks();
        if self.eat("]") { Ok(()) } else { Err(self.syntax("`]`")) }
    }

    pub(super) fn at_register(&self) -> bool {
        self.rest().starts_with("$R[") || self.rest().starts_with("R[")
    }

    pub(super) fn syntax(&self, expected: impl Display) -> AsmError {
        self.error(AsmErrorKind::Syntax, expected)
    }

    pub(super) fn error(&self, kind: AsmErrorKind, expected: impl Display) -> AsmError {
        let seen = self.rest().split_whitespace().next().unwrap_or_default();
        AsmError { kind, at: self.at, seen: seen.to_owned(), expected: expected.to_string() }
    }
}
