//! Precise faults: what stopped an engine, raised before any effect of the word.

use std::fmt;

use crate::isa::{DecodeError, EngineId, Location, Word, opcode_info};

/// A fault and where it happened.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// Core number.
    pub core: usize,
    /// Engine whose word it is.
    pub engine: EngineId,
    /// Address of the word.
    pub pc: u64,
    /// Slot of the word in its stream: (pc - base) / 64.
    pub slot: u64,
    /// The word, where one could be fetched.
    pub word: Option<Box<Word>>,
    /// What was wrong.
    pub kind: FaultKind,
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "core {} {}", self.core, self.engine)?;
        // An address below the stream has no slot.
        if self.slot <= self.pc / 64 {
            write!(f, " word {}", self.slot)?;
        }
        if let Some(word) = &self.word {
            match opcode_info(word.opcode()) {
                Some(info) => write!(f, " ({} 0x{:02X})", info.display, info.byte)?,
                None => write!(f, " (opcode 0x{:02X})", word.opcode())?,
            }
        }
        write!(f, ": {}", self.kind)
    }
}

/// What was wrong.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FaultKind {
    /// The word cannot be decoded.
    #[error("{0}")]
    Decode(#[from] DecodeError),
    /// The manual leaves the word or a field undefined, or nothing here implements it.
    #[error("unsupported word: {field}: {reason}")]
    Unsupported {
        /// The field, or `opcode`.
        field: &'static str,
        /// What is missing.
        reason: String,
    },
    /// A rule of the instruction set is violated and only showed at run time.
    #[error("illegal word: {field} is {found}, expected {expected}")]
    Illegal {
        /// The field.
        field: &'static str,
        /// Value seen.
        found: String,
        /// What is legal.
        expected: String,
    },
    /// The sequencer of this engine has no handler for the opcode (decision 01-D16).
    #[error("bad opcode 0x{opcode:02x}: the {engine} of {generation} does not run it")]
    BadOpcode {
        /// Byte 0.
        opcode: u8,
        /// Engine.
        engine: EngineId,
        /// Generation.
        generation: crate::isa::Generation,
    },
    /// The register ALU divided an integer by zero (chapter 01 section 13.1).
    #[error("integer division by zero in the register ALU")]
    IntegerDivision,
    /// An internal check of the sequencer failed (chapter 01 section 13.1).
    #[error("assertion failure: {function} ({file}:{line})")]
    Assertion {
        /// Function.
        function: &'static str,
        /// Source file.
        file: &'static str,
        /// Line.
        line: u32,
    },
    /// An address is not a multiple of its access size.
    #[error("misaligned access: {field} at {address} is not a multiple of {size}")]
    Misaligned {
        /// The field.
        field: &'static str,
        /// The address.
        address: Address,
        /// Bytes.
        size: usize,
    },
    /// An operand's address is outside every memory, misaligned or reaches too far.
    #[error("memory fault: {field} at {address}: {reason}")]
    Memory {
        /// The field.
        field: &'static str,
        /// The address as the word gives it.
        address: Address,
        /// What is wrong with it.
        reason: String,
    },
    /// Check mode: a byte is read that nothing has written.
    #[error("uninitialised read: {field} reads {address}, which nothing has written")]
    Uninitialised {
        /// The field.
        field: &'static str,
        /// The first such byte.
        address: Address,
    },
    /// Fetch outside the stream or at a misaligned address (decision 01-D24).
    #[error("instruction fetch at 0x{pc:x}: {reason}")]
    Fetch {
        /// The address.
        pc: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A defect of this program, not of the microcode.
    #[error("internal error: {0}")]
    Internal(String),
}

/// An address in a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// As a word spells it.
    OnChip(u32),
    /// A byte of on-chip memory.
    Byte(Location),
    /// A SoC address.
    Soc(u64),
    /// A byte of a named buffer of device memory.
    Buffer {
        /// Its name.
        name: String,
        /// Byte offset.
        offset: i64,
    },
    /// A memory-mapped register of a core.
    Register {
        /// Which core.
        core: usize,
    },
    /// A byte of a core's linear on-chip window, as DMA sees it.
    Linear {
        /// Which core.
        core: usize,
        /// Which memory.
        space: crate::isa::Space,
        /// Linear offset.
        offset: i64,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::OnChip(a) => write!(f, "0x{a:x}"),
            Address::Byte(l) => write!(f, "{} partition {} byte 0x{:x}", l.space, l.partition, l.offset),
            Address::Soc(a) => write!(f, "SoC address 0x{a:x}"),
            Address::Buffer { name, offset } => write!(f, "byte {offset} of '{name}'"),
            Address::Register { core } => write!(f, "a register of core {core}"),
            Address::Linear { core, space, offset } => write!(f, "core {core} {space} offset 0x{offset:x}"),
        }
    }
}

impl FaultKind {
    /// An unsupported field.
    pub fn unsupported(field: &'static str, reason: impl Into<String>) -> Self {
        FaultKind::Unsupported { field, reason: reason.into() }
    }

    /// An illegal value.
    pub fn illegal(field: &'static str, found: impl fmt::Display, expected: impl Into<String>) -> Self {
        FaultKind::Illegal { field, found: found.to_string(), expected: expected.into() }
    }
}
