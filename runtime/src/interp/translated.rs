//! Where translated code takes the place of an interpreter function.

use std::sync::Arc;

use super::{Exec, Flow, Instruction};

/// Where the sequencer stands.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The words as the engine sees them; a flush replaces the whole slice.
    pub code: &'a Arc<[Instruction]>,
    /// The word in it.
    pub slot: usize,
}

/// Runs the bodies of words in native code. Waits, updates, surprises, turns and counting stay with the
/// sequencer, so that they are the same in every tier (design section 3 rules 4, 5 and 8).
pub trait Translated {
    /// Executes the body of a word whose waits are satisfied, as its interpreter function would without a
    /// fault. `None`: it has done nothing, and the interpreter runs the word; everything that could fault
    /// is checked before the first effect.
    fn execute(&self, x: &mut Exec<'_>, at: At<'_>) -> Option<Flow>;
}
