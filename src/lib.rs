//! Runs NEFF programs on an ordinary CPU.

pub mod asm;
pub mod block;
mod engine;
pub mod load;
pub mod neff;
mod program;
pub mod replay;
pub mod tables;
pub mod trace;
mod translate;

pub use engine::{
    Agent, BlockRun, BlockTranslated, CacheCounters, Changer, Comparison, Counters, Deadlock, Difference,
    Engine, EngineError, EngineOptions, Exit, ExitReason, InputError, Listing, Lockstep, LockstepError,
    Lowered, Meeting, NativeCode, NativeLine, Observer, Options, OutputError, Pace, Pauser, Piece, Place,
    Progress, Report, RestoreError, RunError, SaveError, Schedule, Session, SessionError, Stepped, StopError,
    Tier, Transferred, Translations, Translator, Until, Waiting,
};
pub use load::{IoTensor, LoadError, WordFinding};
pub use neff::npy::{self, Tensor};
pub use program::{OpenError, Program};
pub use seqjit_runtime as runtime;
pub use seqjit_runtime::races::{Race, RaceReport};
pub use translate::Refusal;
