//! Running programs: the engine handle, sessions, the scheduler.

mod cache;
mod counters;
mod deadlock;
mod debug;
mod defect;
mod native;
mod plan;
mod random;
mod report;
mod run;
mod runner;
mod schedule;
mod session;
mod shapes;
mod stops;
mod tier;
mod translated;

use std::sync::Arc;

pub use cache::CacheCounters;
pub use counters::{ExitReason, Translations};
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
pub use tier::Tier;
pub use translated::Translator;

use crate::block::ShapeKey;
use cache::CodeCache;

/// Bytes of native code in one generation of the code cache, if nothing else is asked for.
const CODE_BYTES: usize = 16 << 20;

/// Native code of a shape.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NativeCode {
    /// The shape.
    pub shape: ShapeKey,
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
    cache: CodeCache,
}

impl Engine {
    /// A new engine.
    pub fn new() -> Engine {
        Engine::with_code_limit(CODE_BYTES)
    }

    /// A new engine whose code cache forgets its code when it has so many bytes, rounded up to pages. Code that
    /// sessions use stays for them.
    pub fn with_code_limit(bytes: usize) -> Engine {
        Engine { shared: Arc::new(Shared { cache: CodeCache::new(bytes, None) }) }
    }

    /// An engine whose code for one opcode is wrong: the lowest bit of each result that a vector store writes is
    /// flipped; of a kernel, the lowest bit of the first element. Proves that tests can find such a thing.
    #[doc(hidden)]
    pub fn with_defect(opcode: u8) -> Engine {
        Engine { shared: Arc::new(Shared { cache: CodeCache::new(CODE_BYTES, Some(opcode)) }) }
    }

    /// What the code cache has done so far, for all sessions.
    pub fn cache_counters(&self) -> CacheCounters {
        self.shared.cache.counters()
    }

    /// The shapes that have code now, in no order.
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
