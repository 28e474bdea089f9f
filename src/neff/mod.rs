//! The NEFF container (chapter 07): a 1024-byte header and an archive with a program for each core.
//!
//! [`Neff::read`] checks everything that can be checked without running: header gates, digest, archive
//! rules, JSON tiers, variables, queues, DMA blocks, constants and tables. What it accepts with
//! reservations is in [`Neff::warnings`]. [`NeffBuilder`] makes a container, [`Neff::write`] writes one.
//!
//! ```no_run
//! use seqjit::neff::{Neff, ReadOptions};
//! let neff = Neff::open("model.neff".as_ref(), &ReadOptions::default())?;
//! for input in &neff.inputs {
//!     println!("{} {:?}", input.tensor.name, input.tensor.shape);
//! }
//! # Ok::<(), seqjit::neff::NeffError>(())
//! ```

mod archive;
mod bind;
mod block;
mod build;
mod bytes;
mod check;
mod definition;
mod details;
mod engine;
mod error;
mod graph;
mod header;
mod host;
pub mod json;
mod kelf;
mod locate;
mod names;
pub mod npy;
mod options;
mod payload;
mod queue;
mod tables;
mod tar;
mod ucode;
mod variable;
mod warning;

use std::ops::Range;
use std::path::Path;

use seqjit_runtime::isa::Generation;

pub use archive::{Archive, Member};
pub use bind::Binding;
pub use block::{Access, Descriptor, DescriptorOp, DmaBlock, Tile};
pub use build::{EngineSource, GraphSource, NeffBuilder};
pub use bytes::Bytes;
pub use definition::{Fp8Config, GraphDef, Reservation};
pub use details::Details;
pub use engine::{DveControl, DveTableNames, EngineDesc};
pub use error::{NeffError, Place, Result, Rule};
pub use graph::{Constant, Engine, Graph};
pub use header::{HEADER_BYTES, Header, Package, SUPPORTED_FEATURES};
pub use host::{HOST_MEMBER, HostGraph, HostTensor};
pub use kelf::{Kelf, KelfGraph};
pub use options::{Limits, ReadOptions};
pub use payload::{DigestForm, PADDING};
pub use queue::{Queue, QueueKind, ScratchRange};
pub use tables::{ActivationSet, DveTables};
pub use ucode::{UcodeFunction, UcodeLibraries, UcodeLibrary};
pub use variable::{RemoteKind, Variable, VariableKind};
pub use warning::{Warning, Warnings};

use json::Document;

/// A container that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Neff {
    /// The header.
    pub header: Header,
    /// How the digest is stored; `None` if it was not checked.
    pub digest: Option<DigestForm>,
    /// Every member, known or not, in file order.
    pub archive: Archive,
    /// Tier 1.
    pub host: HostGraph,
    /// Tier 2.
    pub kelf: Kelf,
    /// The generation that runs the program.
    pub generation: Generation,
    /// The graphs: graph k is the program of core k.
    pub graphs: Vec<Graph>,
    /// Inputs with their variables.
    pub inputs: Vec<Binding>,
    /// Outputs with their variables.
    pub outputs: Vec<Binding>,
    /// What was accepted but is unusual.
    pub warnings: Vec<Warning>,
}

impl Neff {
    /// Reads a container from a file, which is mapped into memory while it is read ([`ReadOptions::map_file`]).
    ///
    /// # Errors
    /// [`NeffError::Io`], or [`NeffError::InFile`] around an error of [`Neff::read`].
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Neff> {
        let file = Bytes::open(path, options.map_file)
            .map_err(|source| NeffError::Io { path: path.to_owned(), source })?;
        Neff::parse(&file, options, |stored| file.slice(stored))
            .map_err(|source| NeffError::InFile { path: path.to_owned(), source: Box::new(source) })
    }

    /// Reads a container from the bytes of a file.
    ///
    /// # Errors
    /// The first test that fails, in the order of chapter 07 section 15; within one graph's stage all
    /// findings together ([`NeffError::Many`]).
    pub fn read(file: &[u8], options: &ReadOptions) -> Result<Neff> {
        Neff::parse(file, options, |stored| file[stored].into())
    }

    /// [`Self::read`]; `keep` makes a part of the file outlive it.
    fn parse(file: &[u8], options: &ReadOptions, keep: impl FnOnce(Range<usize>) -> Bytes) -> Result<Neff> {
        let mut warnings = Warnings::default();
        let header = Header::read(file, &mut warnings)?;
        let end = HEADER_BYTES + header.data_size as usize;
        let stored = &file[HEADER_BYTES..end];
        let digest = options.verify_digest.then(|| payload::verify(&header, stored)).transpose()?;
        let keep = || keep(HEADER_BYTES..end);
        let tar = payload::unpack(header.package, stored, &options.limits, keep)?;
        let archive = tar::read(&tar, options, &mut warnings)?;
        Neff::assemble(header, digest, archive, options, warnings)
    }

    /// Reads the program from an archive, as if it came from a file with this header.
    ///
    /// # Errors
    /// As [`Neff::read`], archive rules excepted.
    pub fn from_archive(header: Header, archive: Archive, options: &ReadOptions) -> Result<Neff> {
        Neff::assemble(header, None, archive, options, Warnings::default())
    }

    fn assemble(
        header: Header,
        digest: Option<DigestForm>,
        archive: Archive,
        options: &ReadOptions,
        mut warnings: Warnings,
    ) -> Result<Neff> {
        let text = archive.require(HOST_MEMBER, || "every container".to_owned())?;
        let host_document = Document::parse(HOST_MEMBER, text, &options.limits, &mut warnings)?;
        let host = HostGraph::read(&host_document, &mut warnings)?;
        let text = archive.require(&host.kelf, || format!("`{HOST_MEMBER}`"))?;
        let document = Document::parse(&host.kelf, text, &options.limits, &mut warnings)?;
        let kelf = Kelf::read(&document, &options.limits)?;
        let generation = kelf.generation(&document, options, &mut warnings)?;
        let mut graphs = Vec::new();
        for entry in &kelf.graphs {
            let prefix = entry.prefix();
            let warnings = &mut warnings;
            let mut source = graph::Source { archive: &archive, prefix, generation, options, warnings };
            graphs.push(graph::read(entry, &mut source)?);
        }
        let mut binder = bind::Binder { document: &host_document, graphs: &graphs, warnings: &mut warnings };
        let inputs = binder.bind(&host.inputs, &VariableKind::Input)?;
        let outputs = binder.bind(&host.outputs, &VariableKind::Output)?;
        let warnings = warnings.into_vec();
        Ok(Neff { header, digest, archive, host, kelf, generation, graphs, inputs, outputs, warnings })
    }

    /// The container as a file: every member in order, packed again. The header keeps its fields except
    /// `data_size` and `hash`. The same container gives the same bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut header = self.header.clone();
        let stored = payload::pack(&mut header, self.archive.to_tar());
        [&header.to_bytes()[..], &stored].concat()
    }
}
