//! The CPU level of the subcommands that run or compile programs.

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
    /// An engine of this level.
    pub fn engine(self) -> Result<Engine, Failure> {
        let mut options = EngineOptions::default();
        options.cpu = self.cpu.unwrap_or(options.cpu);
        Engine::with_options(options).map_err(refused)
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
