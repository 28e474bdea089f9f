//! What a session takes and gives: options, reports, errors.

use seqjit_runtime::act::ActMode;
use seqjit_runtime::interp::Fault;
use seqjit_runtime::isa::EngineId;
use seqjit_runtime::races::RaceReport;
use seqjit_runtime::sequencer::HaltReason;

use super::counters::Translations;
use super::deadlock::Deadlock;
use super::schedule::Schedule;
use super::stops::StopError;
use super::tier::Tier;
use crate::load::WordFinding;

/// How a session behaves.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Refuse what the vendor's validators refuse; else the rules that the manual names become warnings.
    pub strict: bool,
    /// Check all streams when the session is made. Without it an illegal word faults when it is reached.
    pub validate: bool,
    /// Fault on the first read of a byte that nothing has written.
    pub check: bool,
    /// Look for races: words and transfers that touch the same bytes without order. Every word then runs in the
    /// interpreter, whatever the tier.
    pub races: bool,
    /// Initial value of memory that is neither input nor constant.
    pub fill: u8,
    /// Order of turns.
    pub schedule: Schedule,
    /// Stop after so many words of all engines.
    pub max_words: Option<u64>,
    /// Refuse programs whose memory takes more bytes than this.
    pub max_memory: Option<u64>,
    /// Log starts, ends and semaphore changes of all words as notifications.
    pub trace: bool,
    /// How activation functions are evaluated.
    pub activation: ActMode,
    /// How words run.
    pub tier: Tier,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strict: true,
            validate: true,
            check: false,
            races: false,
            fill: 0,
            schedule: Schedule::Fixed,
            max_words: None,
            max_memory: None,
            trace: false,
            activation: ActMode::default(),
            tier: Tier::default(),
        }
    }
}

/// Why a session cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Words are illegal or unsupported.
    #[error("{} words cannot run; the first: {}", .0.len(), .0[0])]
    Illegal(Vec<WordFinding>),
    /// The program needs too much memory.
    #[error("the program needs {needed} bytes of memory, more than the limit of {limit}")]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// [`Options::max_memory`].
        limit: u64,
    },
}

/// Why an input is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InputError {
    /// No such input.
    #[error("no input '{name}'; the program has: {known}")]
    Unknown {
        /// Name given.
        name: String,
        /// Names of the program.
        known: String,
    },
    /// Datatype or shape differ.
    #[error("input '{name}' is {found}, expected {expected}")]
    Mismatch {
        /// Name.
        name: String,
        /// Datatype and shape given.
        found: String,
        /// Datatype and shape of the program.
        expected: String,
    },
}

/// Why an output cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OutputError {
    /// No such output.
    #[error("no output '{name}'; the program has: {known}")]
    Unknown {
        /// Name given.
        name: String,
        /// Names of the program.
        known: String,
    },
    /// The program has not written all of it.
    #[error("output '{name}': byte {offset} of {size} was never written")]
    NotWritten {
        /// Name.
        name: String,
        /// First byte that was not written.
        offset: usize,
        /// Bytes of the output.
        size: usize,
    },
}

/// Why a run ended in the normal way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Exit {
    /// All streams ended and all transfers are done.
    Finished,
    /// [`Options::max_words`] words have retired.
    Budget,
    /// An engine is about to run a word of [`Session::stop_at`](super::Session::stop_at): its waits hold, it has done nothing yet.
    /// [`Session::resume`](super::Session::resume) goes on.
    Stopped {
        /// Core number.
        core: usize,
        /// Engine.
        engine: EngineId,
        /// Slot of the word in the stream.
        slot: u64,
    },
    /// What [`Session::run_until`](super::Session::run_until) waits for has come.
    Reached,
    /// [`Pauser::pause`](super::Pauser::pause) was called.
    Paused,
    /// A debug stop of one engine: a breakpoint, an external break or a step count (chapter 01 section 7).
    /// The other engines stand between two words. [`Session::resume`](super::Session::resume) goes on.
    Break {
        /// Core number.
        core: usize,
        /// Engine that stopped.
        engine: EngineId,
        /// Slot of the word about to run.
        slot: u64,
        /// Why.
        reason: HaltReason,
    },
}

/// Why a run failed. The machine stays as it was at that point, for inspection.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Inputs have not been set.
    #[error("inputs not set: {}", .0.join(", "))]
    MissingInputs(Vec<String>),
    /// There is no such word to stop at.
    #[error(transparent)]
    NoSuchWord(#[from] StopError),
    /// There is no stopped run to resume.
    #[error("no run has stopped that could go on")]
    NotStopped,
    /// A word faulted.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// Nothing can go on.
    #[error(transparent)]
    Deadlock(#[from] Deadlock),
    /// The program ended without writing all of an output.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Counts of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Words retired by all engines.
    pub retired: u64,
    /// Turns given.
    pub turns: u64,
    /// DMA transfers done.
    pub transfers: u64,
    /// Bytes that they read.
    pub dma_read: u64,
    /// Bytes that they wrote.
    pub dma_written: u64,
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Words retired by all engines.
    pub retired: u64,
    /// Turns given.
    pub turns: u64,
}

/// What a run did.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Why it ended.
    pub exit: Exit,
    /// Counts.
    pub counters: Counters,
    /// What became of its words in native code.
    pub translations: Translations,
    /// Races found since its start, or since it was restored; `None` without [`Options::races`].
    pub races: Option<RaceReport>,
    /// Things worth telling that did not stop it.
    pub warnings: Vec<String>,
}
