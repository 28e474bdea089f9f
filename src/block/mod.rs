//! Blocks of words and the shapes of their code.

mod find;
mod shape;

pub use find::{Block, BlockEnd, Breakpoints, MAX_WORDS, find};
pub use shape::{MAX_SOURCES, Overlap, Place, ShapeKey, mask};
