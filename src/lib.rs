//! Runs NEFF programs on an ordinary CPU.

mod engine;
pub mod load;
pub mod neff;
mod program;
pub mod replay;
pub mod tables;
pub mod trace;

pub use engine::{
    Changer, Counters, Deadlock, Engine, Exit, InputError, Options, OutputError, Progress, Report, RunError,
    Schedule, Session, SessionError, StopError, Waiting,
};
pub use load::{IoTensor, LoadError, WordFinding};
pub use neff::npy::{self, Tensor};
pub use program::{OpenError, Program};
pub use seqjit_runtime as runtime;
