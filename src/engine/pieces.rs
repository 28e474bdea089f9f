//! Runs in pieces: the turns of a run, or smaller parts of them.

use seqjit_runtime::isa::{EngineId, WORD_BYTES};
use seqjit_runtime::machine::Machine;

use super::report::{Exit, RunError};
use super::run::Until;
use super::session::Session;
use crate::block;

/// How much a piece holds at most. The order in which words run does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// One word, or one transfer.
    Word,
    /// A block of words, or one transfer.
    Block,
    /// A turn.
    #[default]
    Turn,
}

/// Who takes turns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Agent {
    /// An engine of a core.
    Engine(usize, EngineId),
    /// A queue of a core, by its position in [`Core::queues`](seqjit_runtime::machine::Core::queues).
    Queue(usize, usize),
}

/// A part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Piece {
    /// Who ran.
    pub agent: Agent,
    /// Slot of an engine's first word, as it stood before the piece.
    pub slot: u64,
    /// Words or transfers finished.
    pub progress: u64,
    /// Words retired.
    pub retired: u64,
    /// Bytes that a transfer read and wrote.
    pub moved: (u64, u64),
    /// Why the run ended or stopped with this piece; with [`Exit::Finished`], nobody had anything left to do.
    pub exit: Option<Exit>,
}

impl Piece {
    /// Nobody did anything.
    pub(super) const NONE: Piece =
        Piece { agent: Agent::Queue(0, 0), slot: 0, progress: 0, retired: 0, moved: (0, 0), exit: None };
}

impl Pace {
    /// Words that an engine may run at once.
    pub(super) fn limit(self, machine: &Machine, core: usize, engine: EngineId, words: u64) -> u64 {
        match self {
            Pace::Turn => words,
            Pace::Word => words.min(1),
            Pace::Block => {
                let state = &machine.cores[core].engines[engine.index()];
                let slot = slot_of(machine, core, engine) as usize;
                let block = block::find(&state.code, slot.min(state.code.len()), &|_| false);
                words.min(block.len.max(1) as u64)
            }
        }
    }
}

/// The slot of an engine's next word, also where it has none.
pub(super) fn slot_of(machine: &Machine, core: usize, engine: EngineId) -> u64 {
    let state = &machine.cores[core];
    let base = state.spec.streams[engine.index()].base;
    state.engines[engine.index()].next_pc().wrapping_sub(base) / WORD_BYTES as u64
}

impl Session {
    /// Starts a run, or goes on with it, for one piece. Breakpoints, stops and limits end a piece as they end a run.
    ///
    /// # Errors
    /// As [`Session::run`]; outputs that were not written are found by [`Session::output`].
    pub fn advance(&mut self, pace: Pace) -> Result<Piece, RunError> {
        if self.stopped.is_none() {
            self.start()?;
        }
        let mut course = self.stopped.take().ok_or(RunError::NotStopped)?;
        course.scheduler.piece = Piece::NONE;
        self.piecewise = Some(pace);
        let exit = self.drive(&mut course, Until::End, &mut |_| {});
        self.piecewise = None;
        self.last_piece = course.scheduler.piece;
        let exit = exit?;
        if exit != Exit::Finished {
            self.stopped = Some(course);
        }
        Ok(Piece { exit: (exit != Exit::Reached).then_some(exit), ..self.last_piece })
    }
}
