//! A position in a line, and the smallest pieces of the grammar.

use std::fmt::Display;

use super::error::{Position, Result, at};
use super::source::Line;

/// A position in a line, or in a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'l> {
    line: &'l Line,
    text: &'l str,
    pub at: usize,
}

/// The bytes of an identifier at the start of a text.
pub(super) fn word_length(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_digit()) { 0 } else { end }
}

impl<'l> Cursor<'l> {
    pub fn new(line: &'l Line) -> Self {
        Cursor { line, text: &line.text, at: 0 }
    }

    /// The same position, with the line ending at byte `end`.
    pub fn until(self, end: usize) -> Self {
        Cursor { text: &self.text[..end], ..self }
    }

    pub fn rest(&self) -> &'l str {
        &self.text[self.at..]
    }

    pub fn position(&self) -> Position {
        self.line.position(self.at)
    }

    /// The place of another byte of the line.
    pub fn position_of(&self, byte: usize) -> Position {
        self.line.position(byte)
    }

    pub fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Nothing but blanks is left.
    pub fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    /// Moves over a token, if it comes next.
    pub fn eat(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    /// Moves over a whole word, if it comes next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        word_length(self.rest()) == word.len() && self.eat(word)
    }

    pub fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { Err(self.error(format!("`{token}`"))) }
    }

    pub fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.error(format!("`{word}`"))) }
    }

    /// An identifier, if one comes next.
    pub fn word(&mut self) -> Option<&'l str> {
        self.skip_blanks();
        let word = &self.rest()[..word_length(self.rest())];
        self.at += word.len();
        Some(word).filter(|w| !w.is_empty())
    }

    pub fn name(&mut self, what: impl Display) -> Result<&'l str> {
        self.word().ok_or_else(|| self.error(what))
    }

    /// Text in double quotes, without escapes.
    pub fn string(&mut self) -> Result<&'l str> {
        let error = self.error("text in double quotes");
        if !self.eat("\"") {
            return Err(error);
        }
        let length = self.rest().find('"').ok_or(error)?;
        let text = &self.rest()[..length];
        self.at += length + 1;
        Ok(text)
    }

    pub fn end(&mut self) -> Result<()> {
        if self.at_end() { Ok(()) } else { Err(self.error("the end of the line")) }
    }

    /// An error about what comes next.
    pub fn error(&self, expected: impl Display) -> Box<super::SourceError> {
        let mut ahead = *self;
        ahead.skip_blanks();
        let rest = ahead.rest();
        let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let length = match rest.find(|c| !in_word(c)).unwrap_or(rest.len()) {
            0 => rest.chars().next().map_or(0, char::len_utf8),
            length => length,
        };
        let seen =
            if rest.is_empty() { "the end of the line".to_owned() } else { format!("`{}`", &rest[..length]) };
        at(ahead.position(), seen, expected)
    }
}
