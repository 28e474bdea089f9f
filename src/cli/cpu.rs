//! What subcommands that run or compile programs may use of the host: its CPU level, and threads.

use std::num::NonZeroUsize;

use seqjit::runtime::num::Level;
use seqjit::{Engine, EngineError, EngineOptions};

use super::exit::Code;
use super::failure::Failure;

/// Which CPU features may be used.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Cpu {
    /// Use only vector instructions up to this level, in native code, kernels and the interpreter: `baseline` (SSE2, what every
    /// x86-64 has), `avx2` (with FMA), `avx512` or `amx`. Without it everything that this CPU has. Results are
    /// the same.
    #[arg(long, value_name = "baseline|avx2|avx512|amx")]
    pub cpu: Option<Level>,
}

impl Cpu {
    /// Options of an engine of this level.
    pub fn options(self) -> EngineOptions {
        let mut options = EngineOptions::default();
        options.cpu = self.cpu.unwrap_or(options.cpu);
        options
    }

    /// An engine of this level.
    pub fn engine(self) -> Result<Engine, Failure> {
        Engine::with_options(self.options()).map_err(refused)
    }
}

/// What running may use of the host.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Host {
    #[command(flatten)]
    pub cpu: Cpu,

    /// Threads among which a word is split where that pays, 1 to 256. Results are the same.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
}

impl Host {
    /// Options of an engine that keeps to this.
    pub fn options(self) -> EngineOptions {
        let mut options = self.cpu.options();
        options.threads = NonZeroUsize::new(self.threads.into()).unwrap_or(NonZeroUsize::MIN);
        options
    }

    /// An engine that keeps to this.
    pub fn engine(self) -> Result<Engine, Failure> {
        Engine::with_options(self.options()).map_err(refused)
    }
}

/// Why there is no such engine.
pub fn refused(error: EngineError) -> Failure {
    match error {
        EngineError::Cpu { asked, host } => Failure::new(Code::Usage, format!("--cpu: {error}"))
            .with("field", "--cpu")
            .with("found", asked.name())
            .with("expected", format!("at most {host}")),
        other => Failure::new(Code::Internal, other),
    }
}
