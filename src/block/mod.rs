//! Blocks of words and the shapes of their code.

mod find;
mod shape;

pub use find::{Block, BlockEnd, Breakpoints, MAX_WORDS, find};
pub(crate) use find::{executable, extended_events, is_for_sequencer, starts_transfers};
pub use shape::{MAX_SOURCES, Overlap, Place, ShapeKey, mask};
