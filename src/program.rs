//! A program: a container that has been read and laid out, ready for sessions.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use seqjit_runtime::isa::Generation;
use seqjit_runtime::machine::Image;
use sha2::{Digest, Sha256};

use crate::load::{self, IoTensor, LoadError, WordFinding, check_streams};
use crate::neff::{Neff, NeffError, ReadOptions};

/// Why a file is no program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be read, is damaged or of an unknown form.
    #[error(transparent)]
    Container(#[from] NeffError),
    /// The container reads well but describes no program that can be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// A program. Cheap to clone; sessions share it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let program = seqjit::Program::open("examples/vector_add.neff")?;
/// assert_eq!(program.inputs().len(), 2);
/// println!("{} cores of {}", program.cores(), program.generation());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Program {
    inner: Arc<Inner>,
}

struct Inner {
    neff: Neff,
    image: Image,
    inputs: Vec<IoTensor>,
    outputs: Vec<IoTensor>,
    warnings: Vec<String>,
    digest: OnceLock<[u8; 32]>,
    /// Of lenient and of strict checks.
    findings: [OnceLock<Vec<WordFinding>>; 2],
}

impl Program {
    /// Opens a NEFF file strictly.
    pub fn open(path: impl AsRef<Path>) -> Result<Program, OpenError> {
        Self::open_with(path, &ReadOptions::default())
    }

    /// Opens a NEFF file.
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Program, OpenError> {
        Ok(Self::from_neff(Neff::open(path.as_ref(), options)?)?)
    }

    /// Reads a NEFF from memory.
    pub fn from_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Program, OpenError> {
        Ok(Self::from_neff(Neff::read(bytes, options)?)?)
    }

    /// Lays out a container that has been read.
    pub fn from_neff(neff: Neff) -> Result<Program, LoadError> {
        let load::Loaded { image, inputs, outputs } = load::load(&neff)?;
        let warnings = neff.warnings.iter().map(ToString::to_string).collect();
        Ok(Program {
            inner: Arc::new(Inner {
                neff,
                image,
                inputs,
                outputs,
                warnings,
                digest: OnceLock::new(),
                findings: Default::default(),
            }),
        })
    }

    /// The container.
    pub fn neff(&self) -> &Neff {
        &self.inner.neff
    }

    /// SHA-256 of the container's members, their paths and lengths: the same however they are packed.
    pub fn digest(&self) -> [u8; 32] {
        *self.inner.digest.get_or_init(|| {
            let mut hash = Sha256::new();
            for member in self.neff().archive.members() {
                for part in [member.path.as_bytes(), &member.bytes[..]] {
                    hash.update((part.len() as u64).to_le_bytes());
                    hash.update(part);
                }
            }
            hash.finalize().into()
        })
    }

    /// Cores, streams, queues and memory as a machine takes them.
    pub fn image(&self) -> &Image {
        &self.inner.image
    }

    /// Tensors that a run needs.
    pub fn inputs(&self) -> &[IoTensor] {
        &self.inner.inputs
    }

    /// Tensors that a run produces.
    pub fn outputs(&self) -> &[IoTensor] {
        &self.inner.outputs
    }

    /// Target generation.
    pub fn generation(&self) -> Generation {
        self.inner.image.generation
    }

    /// Number of cores, one per graph.
    pub fn cores(&self) -> usize {
        self.inner.image.cores.len()
    }

    /// What was unusual about the container.
    pub fn warnings(&self) -> &[String] {
        &self.inner.warnings
    }

    /// Checks every word of every stream and reports everything that is illegal, unsupported or unusual. The
    /// work is done once for a program.
    pub fn check(&self, strict: bool) -> Vec<WordFinding> {
        let findings = &self.inner.findings[usize::from(strict)];
        findings.get_or_init(|| check_streams(self.neff(), self.image(), strict)).clone()
    }
}
