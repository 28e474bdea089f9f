//! The words of a command line.

use seqjit::runtime::isa::{Dtype, EngineId, PARTITIONS, Space};

use super::Debugger;
use super::area::{Memory, Place};
use super::error::CommandError;
use crate::cli::{value, variable};

/// The words behind the name of a command, from left to right.
pub struct Line<'a> {
    words: std::iter::Peekable<std::str::SplitWhitespace<'a>>,
    syntax: &'static str,
}

impl<'a> Line<'a> {
    /// The words of `text`, for a command of this form.
    pub fn new(text: &'a str, syntax: &'static str) -> Line<'a> {
        Line { words: text.split_whitespace().peekable(), syntax }
    }

    /// The next word.
    pub fn next(&mut self, what: &'static str) -> Result<&'a str, CommandError> {
        self.optional().ok_or_else(|| self.wrong(format!("{what} is missing")))
    }

    /// The next word, if there is one.
    pub fn optional(&mut self) -> Option<&'a str> {
        self.words.next()
    }

    /// The next word, which stays.
    pub fn peek(&mut self) -> Option<&'a str> {
        self.words.peek().copied()
    }

    /// Takes the next word if it is this one.
    pub fn take(&mut self, word: &str) -> bool {
        self.words.next_if(|next| next.eq_ignore_ascii_case(word)).is_some()
    }

    /// Nothing may be left.
    pub fn end(&mut self) -> Result<(), CommandError> {
        match self.optional() {
            None => Ok(()),
            Some(word) => Err(self.wrong(format!("`{word}` is too much"))),
        }
    }

    /// The form of the command is not kept.
    pub fn wrong(&self, problem: String) -> CommandError {
        CommandError::Syntax { problem, syntax: self.syntax }
    }

    /// The next word as a decimal or `0x` number of at most `most`.
    pub fn number(&mut self, what: &'static str, most: u64) -> Result<u64, CommandError> {
        number(what, self.next(what)?, most)
    }

    /// A number, if one stands next.
    pub fn optional_number(&mut self, what: &'static str, most: u64) -> Result<Option<u64>, CommandError> {
        self.peek().is_some().then(|| self.number(what, most)).transpose()
    }

    /// The next word as `ENGINE` of the current core, or `CORE.ENGINE`.
    pub fn engine(&mut self, debugger: &Debugger) -> Result<(usize, EngineId), CommandError> {
        let word = self.next("ENGINE")?;
        let (core, name) = match word.split_once('.') {
            Some((core, name)) => (core_number(core, debugger)?, name),
            None => (debugger.core, word),
        };
        let engine =
            EngineId::parse(name).ok_or_else(|| unexpected("ENGINE", word, "PE, ACT, POOL, DVE or SP"))?;
        Ok((core, engine))
    }

    /// An engine, or the current one if nothing or a number stands next.
    pub fn engine_or_current(&mut self, debugger: &Debugger) -> Result<(usize, EngineId), CommandError> {
        match self.peek() {
            Some(word) if !word.starts_with(|c: char| c.is_ascii_digit()) || word.contains('.') => {
                self.engine(debugger)
            }
            _ => Ok((debugger.core, debugger.engine)),
        }
    }

    /// An engine, or the current one if a name stands next that is no engine's.
    pub fn engine_before_names(&mut self, debugger: &Debugger) -> Result<(usize, EngineId), CommandError> {
        let named = self.peek().and_then(|word| word.rsplit('.').next()).and_then(EngineId::parse);
        if named.is_some() { self.engine(debugger) } else { Ok((debugger.core, debugger.engine)) }
    }

    /// A core number.
    pub fn core(&mut self, debugger: &Debugger) -> Result<usize, CommandError> {
        core_number(self.next("CORE")?, debugger)
    }

    /// A general register: its number, with or without `R`.
    pub fn register(&mut self) -> Result<u8, CommandError> {
        let word = self.next("REGISTER")?;
        let digits = word.strip_prefix(['R', 'r']).unwrap_or(word);
        match digits.parse() {
            Ok(number @ (0..=63 | 130 | 131)) => Ok(number),
            _ => Err(unexpected("REGISTER", word, "R0 to R63, or R130 and R131 for the table base")),
        }
    }

    /// A datatype whose elements can be shown.
    pub fn dtype(&mut self) -> Result<Dtype, CommandError> {
        let word = self.next("DTYPE")?;
        let dtype = Dtype::parse(word).filter(|d| value::can_show(*d));
        dtype.ok_or_else(|| unexpected("DTYPE", word, "fp32, bfloat16, fp16, int8, uint8, int16, ..."))
    }

    /// `sbuf PARTITION[-LAST] OFFSET`, `psum PARTITION[-LAST] OFFSET` or `dram NAME OFFSET`.
    pub fn place(&mut self, debugger: &Debugger) -> Result<Place, CommandError> {
        let memory = match self.next("MEMORY")? {
            "sbuf" => self.partitions(debugger, Space::Sbuf)?,
            "psum" => self.partitions(debugger, Space::Psum)?,
            "dram" => {
                let name = self.next("NAME")?;
                let found = variable::find(&debugger.session, debugger.core, name);
                let unknown = || CommandError::Variable(variable::unknown(debugger.core, name));
                let (buffer, range) = found.ok_or_else(unknown)?;
                Memory::Dram { name: name.to_owned(), buffer, range }
            }
            other => return Err(unexpected("MEMORY", other, "sbuf, psum or dram")),
        };
        Ok(Place { memory, offset: self.number("OFFSET", u64::MAX)? })
    }

    fn partitions(&mut self, debugger: &Debugger, space: Space) -> Result<Memory, CommandError> {
        let word = self.next("PARTITION")?;
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let most = PARTITIONS as u64 - 1;
        let (first, last) = (number("PARTITION", first, most)?, number("PARTITION", last, most)?);
        if last < first {
            return Err(unexpected("PARTITION", word, "the lower number first"));
        }
        Ok(Memory::OnChip { core: debugger.core, space, partitions: first as usize..last as usize + 1 })
    }
}

/// A word is not what it should be.
pub fn unexpected(what: &'static str, found: &str, expected: impl Into<String>) -> CommandError {
    CommandError::Value { what, found: found.to_owned(), expected: expected.into() }
}

/// A decimal or `0x` number of at most `most`.
pub fn number(what: &'static str, text: &str, most: u64) -> Result<u64, CommandError> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let expected = || match most {
        u64::MAX => "a decimal or 0x number".to_owned(),
        _ => format!("a number from 0 to {most}"),
    };
    value.ok().filter(|v| *v <= most).ok_or_else(|| unexpected(what, text, expected()))
}

fn core_number(text: &str, debugger: &Debugger) -> Result<usize, CommandError> {
    Ok(number("CORE", text, debugger.session.program().cores() as u64 - 1)? as usize)
}
