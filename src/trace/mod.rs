//! Traces of device runs: NTFF files, version 6 (chapter 10 section 13, chapter 09 section 6).
//!
//! A trace holds, for each core, the words of every engine as the device ran them and 16-byte records of
//! what happened. [`Trace::read`] checks every length and offset before it is used.
//!
//! ```no_run
//! use seqjit::trace::Trace;
//! let trace = Trace::open("run.ntff.gz".as_ref())?;
//! for core in &trace.cores {
//!     println!("core {}: {} records of words", core.number, core.instructions.len());
//! }
//! # Ok::<(), seqjit::trace::TraceError>(())
//! ```

mod error;
mod message;
mod ntff;
mod patch;
mod record;

use seqjit_runtime::isa::{EngineId, Word};

pub use error::TraceError;
pub use ntff::Limits;
pub use record::{Edge, InstructionRecord, PacketEdge, PacketRecord, RECORD_BYTES, SyncRecord};

/// A trace that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    /// Name of the program.
    pub name: String,
    /// Type of the machine.
    pub instance_type: String,
    /// First and last moment of the recording, picoseconds.
    pub span: Option<(u64, u64)>,
    /// Cores in the order of the file.
    pub cores: Vec<CoreTrace>,
}

/// What one core ran.
#[derive(Clone, PartialEq, Debug)]
pub struct CoreTrace {
    /// Name of the graph, `sg00`.
    pub graph: String,
    /// Physical core.
    pub number: u64,
    /// Instruction images in engine order; empty for an engine that has none.
    pub images: [EngineImage; 5],
    /// DMA queues, once for each DMA engine that serves them.
    pub queues: Vec<QueueUse>,
    /// Starts and ends of words, in the order of the file.
    pub instructions: Vec<InstructionRecord>,
    /// Changes of semaphores and events, in the order of the file.
    pub changes: Vec<SyncRecord>,
    /// DMA packets, in the order of the file.
    pub packets: Vec<PacketRecord>,
    /// Records of these three kinds whose type is not known.
    pub unknown_records: usize,
}

impl CoreTrace {
    /// The image of an engine.
    pub fn image(&self, engine: EngineId) -> &EngineImage {
        &self.images[engine.index()]
    }
}

/// The words of one engine as the device ran them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EngineImage {
    /// Device address of word 0.
    pub address: u64,
    /// Words in order.
    pub words: Vec<Word>,
    /// Slot of each word in the container's stream; `None` for words that the runtime added.
    pub origin: Vec<Option<usize>>,
}

/// A DMA queue as one DMA engine serves it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueUse {
    /// DMA engine.
    pub dma_engine: u64,
    /// Number of the queue in that engine.
    pub index: u64,
    /// Name.
    pub name: String,
}
