//! The file: header, message, blob.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use prost::Message;
use seqjit_runtime::isa::{EngineId, WORD_BYTES, Word};

use super::error::TraceError;
use super::message::{Chunk, Graph, Image, Root};
use super::patch::origins;
use super::record::{InstructionRecord, PacketRecord, RECORD_BYTES, SyncRecord};
use super::{CoreTrace, EngineImage, QueueUse, Trace};

/// Bytes before the message.
const HEADER_BYTES: usize = 128;
/// Version of the format.
const VERSION: u8 = 6;
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];

/// The kind of a chunk and the block that wrote it.
const INSTRUCTIONS: (u64, u64) = (0, 0);
const EVENTS: (u64, u64) = (1, 0);
const PACKETS: (u64, u64) = (4, 1);

/// What a reader accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of the file, unpacked.
    pub file: u64,
    /// Bytes of its message. Decoding may take a hundred times as many bytes of memory.
    pub message: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { file: 256 << 20, message: 4 << 20 }
    }
}

impl Trace {
    /// Reads a trace from a file, gzipped or not.
    ///
    /// # Errors
    /// [`TraceError::Io`], or those of [`Trace::read`].
    pub fn open(path: &Path) -> Result<Trace, TraceError> {
        let failed = |source| TraceError::Io { path: path.to_owned(), source };
        let mut file = std::fs::File::open(path).map_err(failed)?;
        let limits = Limits::default();
        Trace::read(&bounded(&mut file, limits.file, failed)?, &limits)
    }

    /// Reads a trace from the bytes of a file, gzipped or not.
    ///
    /// # Errors
    /// The first thing that is wrong, in the order of the file.
    pub fn read(file: &[u8], limits: &Limits) -> Result<Trace, TraceError> {
        if file.starts_with(&GZIP_MAGIC) {
            let mut unpacked = MultiGzDecoder::new(file);
            return read_plain(&bounded(&mut unpacked, limits.file, TraceError::Gzip)?, limits);
        }
        read_plain(file, limits)
    }
}

/// Reads everything, which must not be more than `limit` bytes.
fn bounded(
    reader: &mut impl Read,
    limit: u64,
    failed: impl FnOnce(std::io::Error) -> TraceError,
) -> Result<Vec<u8>, TraceError> {
    let mut bytes = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(TraceError::TooLarge { limit });
    }
    Ok(bytes)
}

fn read_plain(file: &[u8], limits: &Limits) -> Result<Trace, TraceError> {
    if file.len() as u64 > limits.file {
        return Err(TraceError::TooLarge { limit: limits.file });
    }
    let Some((header, body)) = file.split_at_checked(HEADER_BYTES) else {
        return Err(TraceError::Header { found: file.len() });
    };
    if header[0] != VERSION {
        return Err(TraceError::Version { found: header[0] });
    }
    let length = header[1..8].iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    if length > limits.message {
        return Err(TraceError::MessageLimit { found: length, limit: limits.message });
    }
    let available = body.len() as u64;
    let (message, blob) = usize::try_from(length)
        .ok()
        .and_then(|length| body.split_at_checked(length))
        .ok_or(TraceError::MessageLength { found: length, available })?;
    assemble(Root::decode(message)?, Blob { bytes: blob, left: blob.len() as u64 })
}

fn assemble(root: Root, mut blob: Blob<'_>) -> Result<Trace, TraceError> {
    let mut cores: Vec<CoreTrace> = Vec::new();
    for graph in root.nodes.into_iter().filter_map(|node| node.device).flat_map(|device| device.graphs) {
        if cores.iter().any(|c| c.number == graph.core) {
            let what = format!("core {}", graph.core);
            return Err(TraceError::Twice { graph: graph.name, what });
        }
        cores.push(core(graph, &mut blob)?);
    }
    for chunk in &root.chunks {
        records(chunk, &mut cores, &mut blob)?;
    }
    if cores.is_empty() {
        return Err(TraceError::Empty);
    }
    let span = root.span.map(|span| (span.start, span.end));
    Ok(Trace { name: root.name, instance_type: root.instance_type, span, cores })
}

/// The bytes behind the message. Runs of them are handed out once: as the real ones do not overlap, this
/// bounds what a message can make of a blob.
struct Blob<'b> {
    bytes: &'b [u8],
    left: u64,
}

impl<'b> Blob<'b> {
    fn run(
        &mut self,
        what: &dyn Fn() -> String,
        (offset, bytes): (u64, u64),
        unit: usize,
    ) -> Result<&'b [u8], TraceError> {
        let outside =
            || TraceError::Range { what: what(), offset, bytes, available: self.bytes.len() as u64 };
        let end = offset.checked_add(bytes).ok_or_else(outside)?;
        let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
        let run = range.and_then(|(start, end)| self.bytes.get(start..end)).ok_or_else(outside)?;
        if !run.len().is_multiple_of(unit) {
            return Err(TraceError::Size { what: what(), bytes, unit });
        }
        self.left = self.left.checked_sub(bytes).ok_or_else(|| TraceError::Overlap { what: what() })?;
        Ok(run)
    }
}

fn core(graph: Graph, blob: &mut Blob<'_>) -> Result<CoreTrace, TraceError> {
    let mut images: [EngineImage; 5] = Default::default();
    let mut seen = [false; 5];
    for image in &graph.images {
        let engine = engine(&graph, image.engine)?;
        if std::mem::replace(&mut seen[engine.index()], true) {
            return Err(TraceError::Twice { graph: graph.name, what: format!("an image for {engine}") });
        }
        images[engine.index()] = engine_image(&graph, engine, image, blob)?;
    }
    let queues = graph.queues.into_iter();
    let queues = queues.map(|q| QueueUse { dma_engine: q.engine, index: q.index, name: q.name }).collect();
    Ok(CoreTrace {
        graph: graph.name,
        number: graph.core,
        images,
        queues,
        instructions: Vec::new(),
        changes: Vec::new(),
        packets: Vec::new(),
        unknown_records: 0,
    })
}

fn engine(graph: &Graph, number: u64) -> Result<EngineId, TraceError> {
    let engine = usize::try_from(number).ok().and_then(|n| EngineId::ALL.get(n));
    engine.copied().ok_or_else(|| TraceError::Engine { graph: graph.name.clone(), found: number })
}

fn engine_image(
    graph: &Graph,
    engine: EngineId,
    image: &Image,
    blob: &mut Blob<'_>,
) -> Result<EngineImage, TraceError> {
    let what = || format!("image of graph {} {engine}", graph.name);
    let bytes = blob.run(&what, (image.offset, image.bytes), WORD_BYTES)?;
    let address = image.address;
    if !address.is_multiple_of(WORD_BYTES as u64) || address.checked_add(image.bytes).is_none() {
        return Err(TraceError::Address { graph: graph.name.clone(), engine, address });
    }
    let (words, _) = bytes.as_chunks::<WORD_BYTES>();
    let patches = graph.patches.iter().find(|p| p.engine == image.engine);
    let patches = patches.map_or(&[][..], |p| &p.patches);
    let origin = origins(patches, words.len()).map_err(|(number, reason)| TraceError::Patch {
        graph: graph.name.clone(),
        engine,
        number,
        reason,
    })?;
    Ok(EngineImage { address, words: words.iter().map(|w| Word(*w)).collect(), origin })
}

/// Sorts the records of a chunk into their core.
fn records(chunk: &Chunk, cores: &mut [CoreTrace], blob: &mut Blob<'_>) -> Result<(), TraceError> {
    let what = || format!("records of type {} of core {}", chunk.kind, chunk.core);
    let bytes = blob.run(&what, (chunk.offset, chunk.bytes), RECORD_BYTES)?;
    let Some(core) = cores.iter_mut().find(|c| c.number == chunk.core) else { return Ok(()) };
    let (raw, _) = bytes.as_chunks::<RECORD_BYTES>();
    let known = match (chunk.kind, chunk.block) {
        INSTRUCTIONS => add(&mut core.instructions, raw.iter().filter_map(InstructionRecord::read)),
        EVENTS => add(&mut core.changes, raw.iter().filter_map(SyncRecord::read)),
        PACKETS => add(&mut core.packets, raw.iter().map(PacketRecord::read)),
        _ => return Ok(()),
    };
    core.unknown_records += raw.len() - known;
    Ok(())
}

/// Appends; tells how many.
fn add<T>(list: &mut Vec<T>, records: impl Iterator<Item = T>) -> usize {
    let before = list.len();
    list.extend(records);
    list.len() - before
}
