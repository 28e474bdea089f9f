//! Where two machines differ.

use std::fmt;

use seqjit_runtime::isa::{EngineId, Generation, PSUM_PITCH, Space};
use seqjit_runtime::machine::Write;

use crate::engine::pieces::Agent;

/// The first difference between two tiers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// Number of the piece behind which they differ, from 1.
    pub piece: u64,
    /// Who ran the piece.
    pub agent: Agent,
    /// Slot of an engine's first word in the piece.
    pub slot: u64,
    /// Words or transfers of the piece.
    pub progress: u64,
    /// The word that makes the difference, where it can be told.
    pub word: Option<u64>,
    /// What differs.
    pub place: Place,
    /// Its value in the interpreter.
    pub interp: String,
    /// Its value in the other tier.
    pub native: String,
}

/// A part of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Place {
    /// A byte of SBUF or PSUM.
    OnChip { core: usize, space: Space, partition: usize, offset: usize },
    /// A byte of device memory.
    Dram { buffer: usize, name: String, offset: usize, address: u64 },
    /// A general register.
    Register { core: usize, engine: EngineId, number: usize },
    /// A control register, by its offset.
    Csr { core: usize, engine: EngineId, offset: u32 },
    /// Something else of an engine.
    Engine { core: usize, engine: EngineId, what: &'static str },
    /// A semaphore.
    Semaphore { core: usize, index: usize },
    /// An event.
    Event { core: usize, index: usize },
    /// Something else of a core.
    Core { core: usize, what: &'static str },
    /// The warnings of the machine.
    Warnings,
    /// Who ran, how far, or how the run ended.
    Course,
}

impl Place {
    /// The address as words spell it, or the SoC address in device memory; of a control register, its offset.
    pub fn address(&self, generation: Generation) -> Option<u64> {
        let geometry = generation.geometry();
        match *self {
            Place::OnChip { space: Space::Sbuf, partition, offset, .. } => {
                Some(partition as u64 * u64::from(geometry.sbuf_pitch) + offset as u64)
            }
            Place::OnChip { space: Space::Psum, partition, offset, .. } => {
                let row = partition as u64 * u64::from(PSUM_PITCH);
                Some(u64::from(geometry.psum_base) + row + offset as u64)
            }
            Place::Dram { address, offset, .. } => Some(address + offset as u64),
            Place::Csr { offset, .. } => Some(offset.into()),
            _ => None,
        }
    }

    /// Whether a write changed it.
    pub(super) fn touches(&self, write: &Write) -> bool {
        match (self, *write) {
            (
                Place::OnChip { core, space, partition, offset },
                Write::OnChip { core: c, space: s, partition: p, offset: start, len },
            ) => (*core, *space, *partition) == (c, s, p) && (start..start + len).contains(offset),
            (Place::Dram { buffer, offset, .. }, Write::Dram { buffer: b, offset: start, len }) => {
                *buffer == b && (start..start + len).contains(offset)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::OnChip { core, space, partition, offset } => {
                write!(f, "core {core} {space} partition {partition} byte {offset:#x}")
            }
            Place::Dram { name, offset, .. } => write!(f, "dram '{name}' byte {offset:#x}"),
            Place::Register { core, engine, number } => write!(f, "core {core} {engine} R{number}"),
            Place::Csr { core, engine, offset } => {
                write!(f, "core {core} {engine} control register {offset:#x}")
            }
            Place::Engine { core, engine, what } => write!(f, "core {core} {engine} {what}"),
            Place::Semaphore { core, index } => write!(f, "core {core} semaphore {index}"),
            Place::Event { core, index } => write!(f, "core {core} event {index}"),
            Place::Core { core, what } => write!(f, "core {core} {what}"),
            Place::Warnings => write!(f, "warnings"),
            Place::Course => write!(f, "course of the run"),
        }
    }
}

/// An agent in a message.
pub(super) fn name(agent: Agent) -> String {
    match agent {
        Agent::Engine(core, engine) => format!("core {core} {engine}"),
        Agent::Queue(core, queue) => format!("core {core} queue {queue}"),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { piece, agent, slot, progress, word, place, interp, native } = self;
        write!(f, "{}", name(*agent))?;
        match word {
            Some(word) => write!(f, " word {word}")?,
            None if matches!(agent, Agent::Engine(..)) => {
                write!(f, " words {slot} to {}", slot + progress.max(&1) - 1)?
            }
            None => {}
        }
        write!(f, " (piece {piece}): {place} is {interp} in the interpreter, {native} in native code")
    }
}
