//! Where translated code takes the place of an interpreter function.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Exec, Flow, Instruction};
use crate::isa::EngineId;
use crate::machine::Machine;

/// Where the sequencer stands.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The words as the engine sees them; a flush replaces the whole slice.
    pub code: &'a Arc<[Instruction]>,
    /// The word in it.
    pub slot: usize,
}

/// Words of one engine that may run without a look at what stops it before each of them: nothing is armed, and
/// nobody listens.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// Which core.
    pub core: usize,
    /// Which engine.
    pub engine: EngineId,
    /// The words as the engine sees them.
    pub code: &'a Arc<[Instruction]>,
    /// Words that may retire.
    pub room: u64,
    /// Addresses of words before which to stop.
    pub stops: &'a [u64],
    /// Stop between two words soon after another thread has set this.
    pub pause: Option<&'a AtomicBool>,
}

impl Stretch<'_> {
    /// Another thread wants the run to pause.
    pub fn is_paused(&self) -> bool {
        self.pause.is_some_and(|pause| pause.load(Ordering::Relaxed))
    }
}

/// What became of a [`Stretch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ran {
    /// Words done, those that do not count as retired included.
    pub progress: u64,
    /// The engine's turn ends: the last word says so, or the next one is blocked in its wait.
    pub ends_turn: bool,
}

/// Native code for the words of a machine. What a program leaves behind does not depend on it (design section 3
/// rules 4, 5 and 8).
pub trait Translated {
    /// Executes the body of a word whose waits are satisfied, as its interpreter function would without a
    /// fault. `None`: it has done nothing, and the interpreter runs the word; everything that could fault
    /// is checked before the first effect.
    fn execute(&self, x: &mut Exec<'_>, at: At<'_>) -> Option<Flow>;

    /// Runs words as [`step`](crate::sequencer::step()) does, waits and updates included, until the next one is
    /// blocked or it leaves it to the caller; any word may be.
    fn run(&self, machine: &mut Machine, stretch: &Stretch<'_>) -> Ran;
}
