//! Running programs: the engine handle, sessions, the scheduler.

mod background;
mod cache;
mod counters;
mod deadlock;
mod debug;
mod defect;
mod listing;
mod lockstep;
mod native;
mod observer;
mod options;
mod pieces;
mod plan;
mod random;
mod registers;
mod report;
mod run;
mod runner;
mod save;
mod schedule;
mod session;
mod shapes;
mod stops;
mod tier;
mod translated;

use std::sync::Arc;

pub use cache::CacheCounters;
pub use counters::{ExitReason, Translations};
pub use deadlock::{Changer, Deadlock, Meeting, Waiting};
pub use debug::Stepped;
pub use listing::{Listing, Lowered, NativeLine};
pub use lockstep::{Comparison, Difference, Lockstep, LockstepError, Place};
pub use observer::{BlockRun, BlockTranslated, Observer, Transferred};
pub use options::{EngineError, EngineOptions};
pub use pieces::{Agent, Pace, Piece};
pub use report::{
    Counters, Exit, InputError, Options, OutputError, Progress, Report, RunError, SessionError,
};
pub use run::{Pauser, Until};
pub use save::{RestoreError, SaveError};
pub use schedule::Schedule;
pub(crate) use schedule::Scheduler;
pub use session::Session;
pub use stops::StopError;
pub(crate) use stops::Stops;
pub use tier::Tier;
pub use translated::Translator;

use seqjit_runtime::fpenv;
use seqjit_runtime::num::{Level, with_level};
use seqjit_runtime::parallel::Workers;

use crate::block::CodeKey;
use cache::CodeCache;

/// A piece of native code.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NativeCode {
    /// What it is for.
    pub shape: CodeKey,
    /// Generation of code memory, counted from 1.
    pub generation: u64,
    /// Instructions and constants, before relocation.
    pub bytes: Vec<u8>,
}

/// What sessions share: the code cache of the translator. Engines do not share anything with each other.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    options: EngineOptions,
    cache: CodeCache,
    /// `None`: words run on the thread of their session alone.
    workers: Option<Workers>,
}

impl Engine {
    /// A new engine.
    pub fn new() -> Engine {
        Engine::of(EngineOptions::default(), None)
    }

    /// A new engine that makes its code in another way than usual.
    ///
    /// # Errors
    /// [`EngineError::Cpu`] where the options ask for more than this CPU has; [`EngineError::Thread`].
    pub fn with_options(options: EngineOptions) -> Result<Engine, EngineError> {
        Engine::build(options, None)
    }

    /// An engine whose code for one opcode is wrong: the lowest bit of each result that a vector store writes is
    /// flipped; of a kernel, the lowest bit of the first element. Proves that tests can find such a thing.
    #[doc(hidden)]
    pub fn with_defect(opcode: u8) -> Engine {
        Engine::of(EngineOptions::default(), Some(opcode))
    }

    /// [`Engine::with_defect`] with other options.
    #[doc(hidden)]
    pub fn build(options: EngineOptions, defect: Option<u8>) -> Result<Engine, EngineError> {
        let host = Level::host();
        if options.cpu > host {
            return Err(EngineError::Cpu { asked: options.cpu, host });
        }
        let mut cache = CodeCache::new(&options, defect);
        let no_thread = |error: std::io::Error| EngineError::Thread(error.kind());
        if options.background {
            cache.compile_in_background().map_err(no_thread)?;
        }
        let split = options.threads.get() > 1;
        let workers = split.then(|| Workers::new(options.threads)).transpose().map_err(no_thread)?;
        Ok(Engine { shared: Arc::new(Shared { options, cache, workers }) })
    }

    /// With options that start no thread.
    fn of(options: EngineOptions, defect: Option<u8>) -> Engine {
        let cache = CodeCache::new(&options, defect);
        Engine { shared: Arc::new(Shared { options, cache, workers: None }) }
    }

    /// Its options.
    pub fn options(&self) -> EngineOptions {
        self.shared.options
    }

    /// Runs what works on machines: at the engine's CPU level, in the default floating-point environment, with the
    /// engine's threads to help.
    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        let f = || with_level(self.shared.options.cpu, || fpenv::with_default(f));
        match &self.shared.workers {
            Some(workers) => workers.help(f),
            None => f(),
        }
    }

    /// What the code cache has done so far, for all sessions.
    pub fn cache_counters(&self) -> CacheCounters {
        self.shared.cache.counters()
    }

    /// What has code now, in no order.
    pub fn native_code(&self) -> Vec<NativeCode> {
        let listing = self.shared.cache.listing().into_iter();
        let native = listing.map(|(shape, code)| {
            let (generation, bytes) = (code.generation(), code.native().to_vec());
            NativeCode { shape, generation, bytes }
        });
        native.collect()
    }
}

impl Default for Engine {
    fn default() -> Engine {
        Engine::new()
    }
}
