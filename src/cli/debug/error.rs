//! Why a command of the debugger was refused. Nothing of this ends an interactive session.

use std::io;

use seqjit::{RunError, StopError};

/// Why a command was refused.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// No such command.
    #[error("no command `{0}`; `help` lists them")]
    Unknown(String),
    /// Words are missing, or there are too many.
    #[error("{problem}; the form is: {syntax}")]
    Syntax {
        /// What is wrong.
        problem: String,
        /// Form of the command.
        syntax: &'static str,
    },
    /// A word of the command is not what it should be, or out of range.
    #[error("{what} is `{found}`, expected {expected}")]
    Value {
        /// Which word.
        what: &'static str,
        /// As given.
        found: String,
        /// What is accepted.
        expected: String,
    },
    /// There is no such word to stop at.
    #[error(transparent)]
    Word(#[from] StopError),
    /// No variable of this name.
    #[error("{0}")]
    Variable(String),
    /// No word of this opcode.
    #[error("no stream of the engines asked for has a word {0}")]
    NoWords(&'static str),
    /// Bytes outside a memory.
    #[error("{wanted} bytes from byte {offset} are not inside the {size} bytes that there are")]
    Range {
        /// Bytes asked for.
        wanted: u64,
        /// First byte asked for.
        offset: u64,
        /// Bytes of the memory.
        size: u64,
    },
    /// Something with this number watches the same bytes.
    #[error("break {0} watches these bytes already")]
    Watched(usize),
    /// No such break.
    #[error("no break {0}; `breaks` lists them")]
    NoBreak(usize),
    /// No such saved state.
    #[error("no state `{name}` is saved; saved: {known}")]
    NoState {
        /// Name given.
        name: String,
        /// Names saved.
        known: String,
    },
    /// The run is over.
    #[error("the run is over; `restart` starts it again, everything can still be looked at")]
    Ended,
    /// The session refuses.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The text cannot be shown: the only error that ends an interactive session.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}
