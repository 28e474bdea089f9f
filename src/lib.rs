//! Runs NEFF programs on an ordinary CPU.

pub mod asm;
mod engine;
pub mod load;
pub mod neff;
mod program;
pub mod replay;
pub mod tables;
pub mod trace;

pub use engine::{
    Changer, Counters, Deadlock, Engine, Exit, InputError, Options, OutputError, Pauser, Progress, Report,
    RunError, Schedule, Session, SessionError, Stepped, StopError, Until, Waiting,
};
pub use load::{IoTensor, LoadError, WordFinding};
pub use neff::npy::{self, Tensor};
pub use program::{OpenError, Program};
pub use seqjit_runtime as runtime;
