//! The protobuf messages of a trace file, as far as they are known (chapter 10 section 13, chapter 09
//! section 6, chapter 07 section 13). Fields that are not listed here are skipped.

use prost::Message;

/// The root.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Root {
    /// Name of the program.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Programs that were recorded.
    #[prost(message, repeated, tag = "4")]
    pub nodes: Vec<Node>,
    /// Type of the machine.
    #[prost(string, tag = "9")]
    pub instance_type: String,
    /// First and last moment of the recording.
    #[prost(message, optional, tag = "15")]
    pub span: Option<Span>,
    /// Runs of records in the blob.
    #[prost(message, repeated, tag = "16")]
    pub chunks: Vec<Chunk>,
}

/// A node of the program.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    /// A node that ran on NeuronCores.
    #[prost(message, optional, tag = "4")]
    pub device: Option<DeviceNode>,
}

/// The part of a node that ran on NeuronCores.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DeviceNode {
    /// One graph a core.
    #[prost(message, repeated, tag = "1")]
    pub graphs: Vec<Graph>,
}

/// What one core ran.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    /// Name, `sg00`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Physical core.
    #[prost(uint64, tag = "3")]
    pub core: u64,
    /// Instruction images.
    #[prost(message, repeated, tag = "4")]
    pub images: Vec<Image>,
    /// How the images differ from the container's streams.
    #[prost(message, repeated, tag = "5")]
    pub patches: Vec<EnginePatches>,
    /// DMA queues, once for each DMA engine that serves them.
    #[prost(message, repeated, tag = "7")]
    pub queues: Vec<QueueUse>,
}

/// The instructions of one engine.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Image {
    /// Engine: PE 0, ACT 1, POOL 2, DVE 3, SP 4.
    #[prost(uint64, tag = "1")]
    pub engine: u64,
    /// Device address of the first word.
    #[prost(uint64, tag = "2")]
    pub address: u64,
    /// Offset in the blob.
    #[prost(uint64, tag = "7")]
    pub offset: u64,
    /// Bytes.
    #[prost(uint64, tag = "8")]
    pub bytes: u64,
}

/// The patches of one engine.
#[derive(Clone, PartialEq, Message)]
pub(super) struct EnginePatches {
    /// Engine.
    #[prost(uint64, tag = "1")]
    pub engine: u64,
    /// Patches, ascending by offset.
    #[prost(message, repeated, tag = "2")]
    pub patches: Vec<Patch>,
}

/// A patch (chapter 07 section 8.4).
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Patch {
    /// Byte offset in the image.
    #[prost(uint64, tag = "1")]
    pub offset: u64,
    /// Slots.
    #[prost(uint64, tag = "2")]
    pub count: u64,
    /// INSERT 0, MODIFY 1, DELETE 2.
    #[prost(uint64, tag = "3")]
    pub kind: u64,
}

/// A queue as one DMA engine serves it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct QueueUse {
    /// DMA engine.
    #[prost(uint64, tag = "1")]
    pub engine: u64,
    /// Number of the queue in the engine.
    #[prost(uint64, tag = "2")]
    pub index: u64,
    /// Name.
    #[prost(string, tag = "4")]
    pub name: String,
}

/// First and last moment of the recording.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Span {
    /// Picoseconds.
    #[prost(uint64, tag = "2")]
    pub start: u64,
    /// Picoseconds.
    #[prost(uint64, tag = "3")]
    pub end: u64,
}

/// A run of records.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Chunk {
    /// Instruction 0, event 1, error 2, explicit 3, DMA 4, throttle 5.
    #[prost(uint64, tag = "1")]
    pub kind: u64,
    /// Core 0, DMA 1, sync processor 2.
    #[prost(uint64, tag = "3")]
    pub block: u64,
    /// Offset in the blob.
    #[prost(uint64, tag = "5")]
    pub offset: u64,
    /// Bytes.
    #[prost(uint64, tag = "6")]
    pub bytes: u64,
    /// Physical core.
    #[prost(uint64, tag = "7")]
    pub core: u64,
}
