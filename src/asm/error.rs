//! What is wrong with a source text: where, what stands there, what could have stood there.

use std::fmt;

use crate::neff::NeffError;

/// A place in a source text, both numbers from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Character in the line.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a source text cannot be assembled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AsmError {
    /// The text is wrong.
    #[error("{file}:{error}")]
    Source {
        /// Name of the text, as given.
        file: String,
        /// What is wrong.
        error: Box<SourceError>,
    },
    /// The parts that the text describes do not make a container.
    #[error("{file}: {source}")]
    Container {
        /// Name of the text, as given.
        file: String,
        /// What is wrong.
        source: Box<NeffError>,
    },
}

/// A mistake in a source text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct SourceError {
    /// Where.
    pub position: Position,
    /// What stands there; `end of line` if nothing does.
    pub seen: String,
    /// What could have stood there.
    pub expected: String,
    /// The loops and macros around it, innermost first: `in repeat i = 3 (line 12)`.
    pub context: Vec<String>,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceError { position, seen, expected, context } = self;
        write!(f, "{position}: found {seen}, expected {expected}")?;
        context.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

pub(super) type Result<T> = std::result::Result<T, Box<SourceError>>;

/// An error at a place that is known already.
pub(super) fn at(
    position: Position,
    seen: impl fmt::Display,
    expected: impl fmt::Display,
) -> Box<SourceError> {
    let (seen, expected) = (seen.to_string(), expected.to_string());
    Box::new(SourceError { position, seen, expected, context: Vec::new() })
}
