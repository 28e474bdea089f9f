//! The assembler: a readable text program in, a container out.
//!
//! A text declares tensors, tiles, queues and tables, and gives the words of the engines in the profiler's operand
//! text ([`seqjit_runtime::isa::text`]). `docs/assembler.md` describes all of it.
//!
//! ```
//! let text = "
//!     program double for cayman
//!     prologue
//!     input  x fp32[128, 64]
//!     output y fp32[128, 64]
//!     sbuf t fp32[64]
//!     queue qSPDynamicHW dynamic SP
//!
//!     SP  load:  DMA x -> t
//!     DVE twice: TENSOR_TENSOR op=ADD src0=t src1=t dst=t channels=128 after load
//!     SP  store: DMA t -> y after twice
//!     SP         NOP after store
//! ";
//! let neff = seqjit::asm::assemble_program(text, "double.s")?;
//! let program = seqjit::Program::from_bytes(&neff, &seqjit::neff::ReadOptions::default())?;
//! assert_eq!(program.inputs()[0].shape, [128, 64]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod container;
mod data;
mod declare;
mod error;
mod expr;
mod link;
mod program;
mod scan;
mod source;
mod transfer;
mod value;
mod view;
mod word;

use std::path::Path;

use seqjit_runtime::isa::EngineId;

pub use error::{AsmError, Position, SourceError};

use crate::load::{LoadError, WordFinding};
use crate::neff::Neff;
use crate::program::Program;

/// A program made from text.
#[derive(Debug)]
pub struct Assembled {
    /// The container.
    pub neff: Neff,
    /// Where each word comes from: by core, by [`EngineId::index`], by slot. Waits that the assembler adds have
    /// the place of the word that they are for.
    pub positions: Vec<[Vec<Position>; 5]>,
}

impl Assembled {
    /// The place of a word in the text.
    pub fn position(&self, core: usize, engine: EngineId, slot: usize) -> Option<Position> {
        self.positions.get(core)?[engine.index()].get(slot).copied()
    }

    /// What is illegal, unsupported or unusual about the words, with their places in the text.
    ///
    /// # Errors
    /// As [`Program::from_neff`].
    pub fn check(&self, strict: bool) -> Result<Vec<(Position, WordFinding)>, Box<LoadError>> {
        let findings = Program::from_neff(self.neff.clone())?.check(strict);
        let place = |f: &WordFinding| self.position(f.core, f.engine, f.slot).unwrap_or_default();
        Ok(findings.into_iter().map(|f| (place(&f), f)).collect())
    }
}

/// Makes a container from a text program. The same text and files give the same container.
///
/// Words are not checked beyond what their text says, so that illegal ones can be written:
/// [`Assembled::check`] finds those. `file` is for messages; files that the text names are looked for beside it.
///
/// # Errors
/// [`AsmError`]: the first mistake, with its place.
pub fn assemble(text: &str, file: &Path) -> Result<Assembled, AsmError> {
    let directory = file.parent().unwrap_or(Path::new(""));
    let name = file.display().to_string();
    let parts =
        container::parts(text, directory).map_err(|error| AsmError::Source { file: name.clone(), error })?;
    let neff = parts
        .builder
        .build(&crate::neff::ReadOptions::default())
        .map_err(|source| AsmError::Container { file: name, source: Box::new(source) })?;
    Ok(Assembled { neff, positions: parts.positions })
}

/// As [`assemble`]: the bytes of a NEFF file.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_program(text: &str, file: impl AsRef<Path>) -> Result<Vec<u8>, AsmError> {
    Ok(assemble(text, file.as_ref())?.neff.write())
}
