//! Blocks of words and the shapes of their code.

mod find;
pub(crate) mod registers;
mod shape;

pub use find::{Block, BlockEnd, Breakpoints, MAX_WORDS, find};
pub(crate) use find::{end_behind, executable, extended_events, is_for_sequencer};
pub(crate) use registers::compares_immediate;
pub use registers::{RegisterKey, RegisterOp, RegisterRun};
pub use shape::{MAX_SOURCES, Overlap, Place, ShapeKey, mask};

/// What native code is made for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CodeKey {
    /// Words of a shape.
    Word(ShapeKey),
    /// Runs of words on the register file.
    Registers(RegisterKey),
}
