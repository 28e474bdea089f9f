//! How an engine makes native code.

use std::num::NonZeroUsize;

use seqjit_runtime::num::Level;

/// Bytes of native code in one generation of the code cache, if nothing else is asked for.
const CODE_BYTES: usize = 16 << 20;

/// What the sessions of an [`Engine`](super::Engine) have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The vector instructions that native code, kernels and the interpreter may use. Results are the same on every
    /// level.
    pub cpu: Level,
    /// Bytes of native code, rounded up to pages, behind which the code cache forgets its code. Code that sessions
    /// use stays for them.
    pub code_limit: usize,
    /// Compile on a thread of the engine while sessions go on in the interpreter. What a program computes and its
    /// architectural counters stay the same; how many words run in native code then depends on the clock.
    pub background: bool,
    /// Threads among which the work of one word is split, where that pays: columns of the PE array. Results do not
    /// depend on it. All but one, that of the session, are the engine's, and help any of its sessions.
    pub threads: NonZeroUsize,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            cpu: Level::host(),
            code_limit: CODE_BYTES,
            background: false,
            threads: NonZeroUsize::MIN,
        }
    }
}

/// Why an engine cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// This CPU has less than what was asked for.
    #[error("this CPU has no {asked}; its level is {host}")]
    Cpu {
        /// [`EngineOptions::cpu`].
        asked: Level,
        /// The highest level of this CPU.
        host: Level,
    },
    /// The thread that compiles, or one that shares the work of words, cannot be started.
    #[error("no thread: {0}")]
    Thread(std::io::ErrorKind),
}
