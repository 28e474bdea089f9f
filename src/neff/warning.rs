//! What a reader accepts but reports.

use std::fmt;

use seqjit_runtime::isa::{EngineId, Generation};

/// Something unusual that did not stop the reader (chapter 07 sections 2.1, 3.3, 4 and 7).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// Bytes follow the payload and are ignored.
    TrailingBytes {
        /// File offset of the first.
        offset: u64,
        /// How many.
        count: u64,
    },
    /// Feature bits are set; their meaning is not public.
    FeatureBits {
        /// The whole field.
        value: u64,
        /// Numbers of the set bits.
        bits: Vec<u8>,
    },
    /// The tar does not end with two zero blocks.
    TarEnd {
        /// Offset in the tar where the end was taken.
        offset: usize,
    },
    /// A later member replaced an earlier one of the same path (lenient mode).
    DuplicateMember {
        /// The path.
        path: String,
        /// Offset in the tar of the member that replaced.
        offset: usize,
    },
    /// An object repeats a key; the first value counts.
    DuplicateKey {
        /// The JSON member.
        member: String,
        /// Path of the repeated key.
        path: String,
    },
    /// A host tensor's dtype is unknown: code 0, one byte an element.
    UnknownDtype {
        /// The tensor.
        tensor: String,
        /// The dtype string.
        dtype: String,
    },
    /// `target` leaves the generation open.
    TargetAssumed {
        /// The target as written.
        target: String,
        /// The generation taken instead.
        generation: Generation,
    },
    /// The container is for another generation and legacy containers are allowed.
    TargetMismatch {
        /// Generation of the container.
        target: Generation,
        /// Generation that runs it.
        generation: Generation,
    },
    /// An engine has no description; it has no work.
    MissingEngine {
        /// The graph.
        graph: String,
        /// The engine.
        engine: EngineId,
        /// The member that is not there; empty if `def.json` names none.
        member: String,
    },
    /// The end of a stream is not a whole word and was dropped (lenient mode).
    StreamTail {
        /// The stream's member.
        member: String,
        /// Bytes dropped.
        tail: usize,
    },
    /// A constant is shorter than its variable; the rest is zero (lenient mode).
    ShortConstant {
        /// The constant's member.
        member: String,
        /// Bytes of payload.
        bytes: u64,
        /// Bytes of the variable.
        size: u64,
    },
    /// A CAYMAN graph lacks `runtime_statebuffer_reservation` and legacy containers are allowed.
    NoReservation {
        /// The graph.
        graph: String,
    },
    /// Names of host tensors and variables differ; they were paired in `var_id` order.
    BoundByOrder {
        /// The graph.
        graph: String,
        /// `input` or `output`.
        kind: &'static str,
    },
    /// An input or output variable has no host tensor.
    UnboundVariable {
        /// The graph.
        graph: String,
        /// The variable.
        variable: String,
    },
    /// Further warnings were not recorded.
    Suppressed {
        /// How many.
        count: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::TrailingBytes { offset, count } => {
                write!(f, "{count} bytes after the payload, from file offset {offset:#x}, are ignored")
            }
            Warning::FeatureBits { value, bits } => {
                write!(
                    f,
                    "header field `feature_bits` is {value:#x}: bits {bits:?} are set, their meaning is unknown"
                )
            }
            Warning::TarEnd { offset } => {
                write!(f, "the tar ends at offset {offset:#x} without two zero blocks")
            }
            Warning::DuplicateMember { path, offset } => {
                write!(f, "member `{path}` at tar offset {offset:#x} replaces an earlier one")
            }
            Warning::DuplicateKey { member, path } => {
                write!(f, "`{member}`: key `{path}` is repeated, the first value counts")
            }
            Warning::UnknownDtype { tensor, dtype } => {
                write!(f, "tensor `{tensor}` has the unknown dtype `{dtype}`: taken as one byte an element")
            }
            Warning::TargetAssumed { target, generation } => {
                write!(f, "target `{target}` names no generation: taken as {generation}")
            }
            Warning::TargetMismatch { target, generation } => {
                write!(f, "the container is for {target} but runs as {generation}")
            }
            Warning::MissingEngine { graph, engine, member } if member.is_empty() => {
                write!(f, "graph `{graph}` names no description for engine {engine}: it has no work")
            }
            Warning::MissingEngine { graph, engine, member } => {
                write!(f, "graph `{graph}`: member `{member}` of engine {engine} is missing: it has no work")
            }
            Warning::StreamTail { member, tail } => {
                write!(f, "`{member}`: the last {tail} bytes are no whole word and are dropped")
            }
            Warning::ShortConstant { member, bytes, size } => {
                write!(f, "`{member}` holds {bytes} bytes, its variable {size}: the rest is zero")
            }
            Warning::NoReservation { graph } => {
                write!(f, "graph `{graph}` has no `runtime_statebuffer_reservation`")
            }
            Warning::BoundByOrder { graph, kind } => {
                write!(f, "graph `{graph}`: {kind} names differ from neff.json: paired in var_id order")
            }
            Warning::UnboundVariable { graph, variable } => {
                write!(f, "graph `{graph}`: variable `{variable}` has no tensor in neff.json")
            }
            Warning::Suppressed { count } => write!(f, "{count} further warnings not shown"),
        }
    }
}

/// Collects warnings; a hostile file must not fill memory with them.
#[derive(Default, Debug)]
pub struct Warnings {
    list: Vec<Warning>,
    suppressed: usize,
}

impl Warnings {
    /// Warnings kept; more are only counted.
    pub const MAX: usize = 1000;

    /// Adds one.
    pub fn push(&mut self, warning: Warning) {
        if self.list.len() < Self::MAX {
            self.list.push(warning);
        } else {
            self.suppressed += 1;
        }
    }

    /// The warnings in order, with [`Warning::Suppressed`] at the end if some were not kept.
    pub fn into_vec(mut self) -> Vec<Warning> {
        if self.suppressed > 0 {
            self.list.push(Warning::Suppressed { count: self.suppressed });
        }
        self.list
    }
}
