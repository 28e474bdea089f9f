//! One word on several threads: what it computes is split into parts that write no byte in common, so that the number
//! of threads changes no result.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::fpenv;
use crate::num::{Level, with_level};

thread_local! {
    /// Who helps this thread.
    static HELP: RefCell<Option<Workers>> = const { RefCell::new(None) };
}

/// Operations, each as much as an addition, below which a part is not worth another thread: handing it over takes some
/// microseconds.
const WORTH: usize = 1 << 18;

/// Threads that share the work of words with the threads of sessions.
#[derive(Clone)]
pub struct Workers {
    pool: Arc<rayon::ThreadPool>,
    worth: usize,
}

impl Workers {
    /// Starts what is missing to so many threads beside one that has the words.
    ///
    /// # Errors
    /// The system starts no more threads.
    pub fn new(threads: NonZeroUsize) -> io::Result<Workers> {
        let name = |number| format!("seqjit worker {number}");
        let helpers = threads.get().saturating_sub(1).max(1);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(helpers).thread_name(name).build();
        pool.map(|pool| Workers { pool: Arc::new(pool), worth: WORTH }).map_err(io::Error::other)
    }

    /// The same threads for words of any size: for tests, whose words are small.
    #[doc(hidden)]
    pub fn eager(self) -> Workers {
        Workers { worth: 1, ..self }
    }

    /// Runs `f`, with parts of its words on these threads.
    pub fn help<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore(Option<Workers>);
        impl Drop for Restore {
            fn drop(&mut self) {
                HELP.set(self.0.take());
            }
        }
        let _restore = Restore(HELP.replace(Some(self.clone())));
        f()
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workers({})", self.pool.current_num_threads())
    }
}

/// How many of `units`, which together take so many `operations`, make one part: a multiple of `step`, or all of them.
pub(crate) fn part(units: usize, step: usize, operations: usize) -> usize {
    HELP.with_borrow(|help| {
        let Some(workers) = help else { return units };
        let parts = (workers.pool.current_num_threads() + 1).min(operations / workers.worth).max(1);
        units.div_ceil(parts).next_multiple_of(step)
    })
}

/// Calls `f` for each part, at the CPU level of this thread.
pub(crate) fn for_each<T: Send>(mut parts: impl Iterator<Item = T>, f: impl Fn(T) + Sync) {
    let Some(first) = parts.next() else { return };
    let (mut rest, f) = (parts.peekable(), &f);
    let workers = HELP.with_borrow(|help| help.clone());
    let Some(workers) = workers.filter(|_| rest.peek().is_some()) else {
        f(first);
        return rest.for_each(f);
    };
    let level = Level::current();
    workers.pool.in_place_scope(|scope| {
        for part in rest {
            // A thread may have been started with another floating-point environment than words run in.
            scope.spawn(move |_| with_level(level, || fpenv::with_default(|| f(part))));
        }
        f(first);
    });
}
