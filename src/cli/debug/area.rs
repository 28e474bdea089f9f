//! Runs of bytes in the memories of a machine.

use std::fmt;
use std::ops::Range;

use seqjit::runtime::isa::Space;
use seqjit::runtime::machine::{BufferId, Machine};

use super::error::CommandError;

/// A memory, or some partitions of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Partitions of a core's SBUF or PSUM.
    OnChip { core: usize, space: Space, partitions: Range<usize> },
    /// A variable in device memory.
    Dram { name: String, buffer: BufferId, range: Range<usize> },
}

/// A byte of a memory, of each partition if it has several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub memory: Memory,
    pub offset: u64,
}

/// A run of bytes that exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Area {
    memory: Memory,
    /// Bytes of each partition, or of the buffer.
    bytes: Range<usize>,
}

impl Place {
    /// `wanted` bytes from here.
    pub fn area(&self, machine: &Machine, wanted: u64) -> Result<Area, CommandError> {
        let (base, size) = match &self.memory {
            Memory::OnChip { core, space, .. } => (0, machine.cores[*core].memory(*space).active()),
            Memory::Dram { range, .. } => (range.start, range.len()),
        };
        let size = size as u64;
        let end = self.offset.checked_add(wanted).filter(|end| wanted > 0 && *end <= size);
        let end = end.ok_or(CommandError::Range { wanted, offset: self.offset, size })?;
        Ok(Area { memory: self.memory.clone(), bytes: base + self.offset as usize..base + end as usize })
    }
}

impl Area {
    /// The bytes, partition by partition; a buffer has one part.
    pub fn parts<'m>(&self, machine: &'m Machine) -> Vec<&'m [u8]> {
        match &self.memory {
            Memory::OnChip { core, space, partitions } => {
                let memory = machine.cores[*core].memory(*space);
                partitions.clone().map(|p| &memory.partition(p)[self.bytes.clone()]).collect()
            }
            Memory::Dram { buffer, .. } => vec![&machine.dram.buffer(*buffer).bytes()[self.bytes.clone()]],
        }
    }

    /// The partition of the first part.
    pub fn first_partition(&self) -> Option<usize> {
        match &self.memory {
            Memory::OnChip { partitions, .. } => Some(partitions.start),
            Memory::Dram { .. } => None,
        }
    }

    /// Writes `data` to every part.
    pub fn write(&self, machine: &mut Machine, data: &[u8]) {
        match &self.memory {
            Memory::OnChip { core, space, partitions } => {
                let memory = machine.cores[*core].memory_mut(*space);
                for partition in partitions.clone() {
                    memory.partition_mut(partition)[self.bytes.clone()].copy_from_slice(data);
                    memory.note_written(partition, self.bytes.start, data.len());
                }
            }
            Memory::Dram { buffer, .. } => machine.dram.buffer_mut(*buffer).write(self.bytes.start, data),
        }
    }

    /// Starts to count writes.
    pub fn watch(&self, machine: &mut Machine) {
        let (start, len) = (self.bytes.start, self.bytes.len());
        match &self.memory {
            Memory::OnChip { core, space, partitions } => {
                let memory = machine.cores[*core].memory_mut(*space);
                partitions.clone().for_each(|p| memory.watch(p, start, len));
            }
            Memory::Dram { buffer, .. } => machine.dram.buffer_mut(*buffer).watch(start, len),
        }
    }

    /// Stops to count writes.
    pub fn unwatch(&self, machine: &mut Machine) {
        let (start, len) = (self.bytes.start, self.bytes.len());
        match &self.memory {
            Memory::OnChip { core, space, partitions } => {
                let memory = machine.cores[*core].memory_mut(*space);
                for partition in partitions.clone() {
                    memory.unwatch(partition, start, len);
                }
            }
            Memory::Dram { buffer, .. } => {
                machine.dram.buffer_mut(*buffer).unwatch(start, len);
            }
        }
    }

    /// Writes counted since [`Self::watch`]; those to several partitions count several times.
    pub fn writes(&self, machine: &Machine) -> u64 {
        let (start, len) = (self.bytes.start, self.bytes.len());
        match &self.memory {
            Memory::OnChip { core, space, partitions } => {
                let memory = machine.cores[*core].memory(*space);
                partitions.clone().filter_map(|p| memory.writes(p, start, len)).sum()
            }
            Memory::Dram { buffer, .. } => machine.dram.buffer(*buffer).writes(start, len).unwrap_or(0),
        }
    }

    /// Whether both have a run of bytes in common that would be watched under one name.
    pub fn collides(&self, other: &Area) -> bool {
        let same = match (&self.memory, &other.memory) {
            (
                Memory::OnChip { core, space, partitions },
                Memory::OnChip { core: c, space: s, partitions: p },
            ) => (core, space) == (c, s) && partitions.start < p.end && p.start < partitions.end,
            (Memory::Dram { buffer, .. }, Memory::Dram { buffer: other, .. }) => buffer == other,
            _ => false,
        };
        same && self.bytes == other.bytes
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.memory {
            Memory::OnChip { core, space, partitions } => {
                let (first, last) = (partitions.start, partitions.end - 1);
                let bytes = Bytes(self.bytes.clone());
                if first == last {
                    return write!(f, "core {core} {space} partition {first} {bytes}");
                }
                write!(f, "core {core} {space} partitions {first} to {last} {bytes}")
            }
            Memory::Dram { name, range, .. } => {
                let bytes = self.bytes.start - range.start..self.bytes.end - range.start;
                write!(f, "dram {name} {}", Bytes(bytes))
            }
        }
    }
}

/// A run of bytes in texts: first and last.
pub struct Bytes(pub Range<usize>);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(f, "byte 0x{:x}", self.0.start),
            _ => write!(f, "bytes 0x{:x} to 0x{:x}", self.0.start, self.0.end - 1),
        }
    }
}
