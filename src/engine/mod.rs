//! Running programs: the engine handle, sessions, the scheduler.

mod deadlock;
mod debug;
mod random;
mod report;
mod run;
mod schedule;
mod session;
mod stops;

use std::sync::Arc;

pub use deadlock::{Changer, Deadlock, Waiting};
pub use debug::Stepped;
pub use report::{
    Counters, Exit, InputError, Options, OutputError, Progress, Report, RunError, SessionError,
};
pub use run::{Pauser, Until};
pub use schedule::Schedule;
pub(crate) use schedule::Scheduler;
pub use session::Session;
pub use stops::StopError;
pub(crate) use stops::Stops;

/// What sessions share: today nothing but the handle itself; the code cache and worker threads of the
/// translator belong here. Engines do not share anything with each other.
#[derive(Clone, Default)]
pub struct Engine {
    _shared: Arc<()>,
}

impl Engine {
    /// A new engine.
    pub fn new() -> Engine {
        Engine::default()
    }
}
