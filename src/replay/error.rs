//! Why a trace cannot be replayed.

use seqjit_runtime::interp::Fault;
use seqjit_runtime::isa::EngineId;

use crate::OutputError;

/// Why a trace and a container give no machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The trace lacks a graph of the container, or has others.
    #[error("the trace has the graphs {found}, the container {expected}")]
    Graphs {
        /// Names in the trace.
        found: String,
        /// Names in the container.
        expected: String,
    },
    /// The core number is not one whose addresses are known.
    #[error("graph {graph} ran on core {core}; the addresses of cores 0 to 7 are known")]
    Core {
        /// Graph.
        graph: String,
        /// Core number in the trace.
        core: u64,
    },
    /// A word of the image is not the container's.
    #[error(
        "graph {graph} {engine}: word {slot} of the image is not word {origin} of the container; \
         another program was recorded"
    )]
    Foreign {
        /// Graph.
        graph: String,
        /// Engine.
        engine: EngineId,
        /// Slot in the image.
        slot: usize,
        /// Slot in the container's stream.
        origin: usize,
    },
    /// The image lacks words of the container.
    #[error(
        "graph {graph} {engine}: {found} words of the image come from the container, which has {expected}; \
         another program was recorded"
    )]
    Missing {
        /// Graph.
        graph: String,
        /// Engine.
        engine: EngineId,
        /// Words of the image that come from the container.
        found: usize,
        /// Words of the stream that the loader keeps.
        expected: usize,
    },
    /// The loader replaced a word by something whose other half is not in the trace.
    #[error(
        "graph {graph} {engine}: word {origin} of the container is a {opcode}, which the loader replaces by \
         work on DMA rings that the trace does not hold"
    )]
    Lowered {
        /// Graph.
        graph: String,
        /// Engine.
        engine: EngineId,
        /// Slot in the container's stream.
        origin: usize,
        /// Its opcode.
        opcode: &'static str,
    },
    /// Words of the image disagree about where a variable was, or name a variable that has no memory.
    #[error("graph {graph}: variable {id} cannot lie at 0x{address:x}: {reason}")]
    Variable {
        /// Graph.
        graph: String,
        /// Variable id.
        id: u16,
        /// Where a word of the image has it.
        address: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// Two things share an address.
    #[error("'{first}' and '{second}' share the address 0x{address:x}")]
    Overlap {
        /// The lower one.
        first: String,
        /// The upper one.
        second: String,
        /// First shared address.
        address: u64,
    },
    /// The words name more places outside all known memory than the runtime's own data can be.
    #[error("the words name more than {limit} pages of memory and registers that are not known")]
    Pages {
        /// Most pages accepted.
        limit: usize,
    },
    /// An image does not end with a branch back to a word that waits.
    #[error(
        "graph {graph} {engine}: the image has no gate: it does not end with a branch back to a word that waits"
    )]
    Gate {
        /// Graph.
        graph: String,
        /// Engine.
        engine: EngineId,
    },
}

/// Why a replay did not come to its end.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayRunError {
    /// The session's program has not run to its end.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A word faulted.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// The engines run on although the recorded run had ended.
    #[error(
        "{retired} words have run, {recorded} were recorded, and the engines still do not wait at the gate"
    )]
    Endless {
        /// Words retired.
        retired: u64,
        /// Words recorded.
        recorded: usize,
    },
}
