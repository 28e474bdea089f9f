//! Why a file is no trace.

use std::path::PathBuf;

use seqjit_runtime::isa::EngineId;

/// Why a file is no trace, or a damaged one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The gzip stream around the trace is damaged.
    #[error("the gzip stream is damaged: {0}")]
    Gzip(std::io::Error),
    /// The file, unpacked, is too large.
    #[error("the trace has more than {limit} bytes")]
    TooLarge {
        /// [`super::Limits::file`].
        limit: u64,
    },
    /// The file ends inside its header.
    #[error("the file has {found} bytes, fewer than the header of 128")]
    Header {
        /// Bytes found.
        found: usize,
    },
    /// The version is not 6.
    #[error("trace version {found}, expected 6")]
    Version {
        /// Byte 0.
        found: u8,
    },
    /// The message is longer than the file.
    #[error("byte 1: the message has {found} bytes, but {available} follow the header")]
    MessageLength {
        /// Length in the header.
        found: u64,
        /// Bytes behind the header.
        available: u64,
    },
    /// The message has more bytes than are accepted.
    #[error("byte 1: the message has {found} bytes, more than the limit of {limit}")]
    MessageLimit {
        /// Length in the header.
        found: u64,
        /// [`super::Limits::message`].
        limit: u64,
    },
    /// The message is no protobuf message of this type.
    #[error("the message at byte 128 cannot be decoded: {0}")]
    Message(#[from] prost::DecodeError),
    /// A run of bytes of the blob does not lie in it.
    #[error("{what}: bytes {offset} to {offset}+{bytes} do not lie in the {available} bytes of the blob")]
    Range {
        /// Whose bytes.
        what: String,
        /// Offset in the blob.
        offset: u64,
        /// Bytes.
        bytes: u64,
        /// Bytes of the blob.
        available: u64,
    },
    /// The size of an image or of a run of records is not a multiple of its unit.
    #[error("{what}: {bytes} bytes are not a multiple of {unit}")]
    Size {
        /// Whose bytes.
        what: String,
        /// Bytes.
        bytes: u64,
        /// Unit.
        unit: usize,
    },
    /// Runs of bytes overlap.
    #[error("{what}: its bytes belong to something else too")]
    Overlap {
        /// Whose bytes.
        what: String,
    },
    /// An engine number names no engine.
    #[error("graph {graph}: no engine has number {found}")]
    Engine {
        /// Graph.
        graph: String,
        /// Number found.
        found: u64,
    },
    /// Two images for one engine, or two graphs for one core.
    #[error("graph {graph}: {what} twice")]
    Twice {
        /// Graph.
        graph: String,
        /// What.
        what: String,
    },
    /// An image is not at a multiple of 64, or wraps around the address space.
    #[error("graph {graph} {engine}: no image can lie at 0x{address:x}")]
    Address {
        /// Graph.
        graph: String,
        /// Engine.
        engine: EngineId,
        /// Address.
        address: u64,
    },
    /// A patch of unknown kind, beyond the image, or out of order.
    #[error("graph {graph} {engine}: patch {number} {reason}")]
    Patch {
        /// Graph.
        graph: String,
        /// Engine.
        engine: EngineId,
        /// Position in the list.
        number: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// No graph.
    #[error("the trace holds no graph that ran on a core")]
    Empty,
}
