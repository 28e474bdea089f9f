//! What the translator counts.

use std::collections::BTreeMap;
use std::fmt;

use seqjit_runtime::interp::Instruction;

use super::cache::CacheCounters;
use crate::block::{self, BlockEnd};
use crate::translate::Refusal;

/// What became of the words of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Translations {
    /// Words whose bodies ran in native code.
    pub words: u64,
    /// Blocks run to their ends.
    pub blocks: u64,
    /// Times that running block after block came to an end, by reason.
    pub exits: BTreeMap<ExitReason, u64>,
    /// Words whose shape had to be looked up, and had code already or was due for it.
    pub hits: u64,
    /// Shapes that were compiled for this run.
    pub shapes: u64,
    /// Bytes of their code.
    pub code_bytes: u64,
    /// Time that compiling them took.
    pub translate_ns: u64,
    /// Words that the interpreter's functions run in every tier, as the opcode table says: transfers, searching, sorting,
    /// gathering, random numbers, collectives and extended instructions.
    pub calls: u64,
    /// Words that the interpreter ran although their tier is native code, by reason.
    pub fallbacks: BTreeMap<Refusal, u64>,
    /// Words that the tier left to the interpreter because native code does not pay yet.
    pub interpreted: u64,
}

impl Translations {
    /// Adds what compiling took.
    pub(super) fn add(&mut self, work: &CacheCounters) {
        self.shapes += work.shapes;
        self.code_bytes += work.code_bytes;
        self.translate_ns += work.translate_ns;
    }
}

/// Why words no longer ran one block after the other, without the sequencer's care for every word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ExitReason {
    /// The next word's wait does not hold.
    Blocked,
    /// The last word ends the engine's turn.
    Turn,
    /// The turn's words, or those of the run, are used up.
    Budget,
    /// The next word starts transfers.
    Dma,
    /// The next word may wait for another engine or core, or end the program.
    Meeting,
    /// The next word stops the engine.
    Halt,
    /// The next word makes the engine read its words again.
    Flush,
    /// The last word armed something, or the engine no longer runs.
    Surprise,
    /// A check of the next word failed: the interpreter raises the fault.
    Fault,
    /// A stop lies before the next word.
    Stop,
    /// Another thread asked for a pause.
    Pause,
    /// The stream ends.
    End,
}

impl ExitReason {
    /// Of a word that only the sequencer runs.
    pub(super) fn of(instruction: &Instruction) -> ExitReason {
        match block::executable(instruction).and_then(block::end_behind) {
            Some(BlockEnd::Halt) => ExitReason::Halt,
            Some(BlockEnd::Flush) => ExitReason::Flush,
            Some(BlockEnd::Dma) => ExitReason::Dma,
            Some(BlockEnd::Meeting) => ExitReason::Meeting,
            _ => ExitReason::Fault,
        }
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExitReason::Blocked => "blocked",
            ExitReason::Turn => "turn",
            ExitReason::Budget => "budget",
            ExitReason::Dma => "dma",
            ExitReason::Meeting => "meeting",
            ExitReason::Halt => "halt",
            ExitReason::Flush => "flush",
            ExitReason::Surprise => "surprise",
            ExitReason::Fault => "fault",
            ExitReason::Stop => "stop",
            ExitReason::Pause => "pause",
            ExitReason::End => "end",
        })
    }
}
