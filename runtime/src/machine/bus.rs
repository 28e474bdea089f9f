//! Accesses by SoC address from the sequencer: WRITE, TENSOR_LOAD, TENSOR_STORE (chapter 02 sections 4
//! and 8).

use super::soc::{SyncWindow, Target};
use super::{Action, Machine, SyncChange, Update};
use crate::interp::{Address, FaultKind};
use crate::isa::{PSUM_PITCH, Space};
use crate::sequencer::csr::{Accessor, register};

/// An access that has been checked and can no longer fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusAccess {
    target: Target,
    bytes: usize,
}

impl BusAccess {
    /// Whether it reaches a memory-mapped register rather than memory.
    pub fn is_register(&self) -> bool {
        !matches!(self.target, Target::Dram { .. } | Target::Sbuf { .. } | Target::Psum { .. })
    }
}

impl Machine {
    /// Checks an access of `bytes` bytes, at most 8, aligned to its own size.
    pub fn bus_access(
        &self,
        field: &'static str,
        address: u64,
        bytes: usize,
    ) -> Result<BusAccess, FaultKind> {
        let fault = |reason: String| FaultKind::Memory { field, address: Address::Soc(address), reason };
        if !address.is_multiple_of(bytes as u64) {
            return Err(FaultKind::Misaligned { field, address: Address::Soc(address), size: bytes });
        }
        let target = self.route(address).ok_or_else(|| fault("nothing is mapped there".into()))?;
        match target {
            Target::Dram { buffer, offset } => {
                let size = self.dram.buffer(buffer).spec.size;
                if offset + bytes > size {
                    return Err(fault(format!("passes the end of '{}'", self.dram.buffer(buffer).spec.name)));
                }
            }
            Target::Sbuf { core, offset } => {
                self.check_on_chip(core, Space::Sbuf, offset, bytes).map_err(fault)?
            }
            Target::Psum { core, offset } => {
                self.check_on_chip(core, Space::Psum, offset, bytes).map_err(fault)?
            }
            Target::Sync { .. } | Target::SyncReserved if bytes != 4 => {
                return Err(fault(format!("{bytes} bytes wide; a semaphore window takes 4")));
            }
            Target::Csr { .. } if bytes != 4 => {
                return Err(fault(format!("{bytes} bytes wide; a control register takes 4")));
            }
            Target::Csr { offset, .. } if register(offset, self.generation).is_none() => {
                return Err(fault(format!("no control register at offset 0x{offset:x}")));
            }
            _ => {}
        }
        Ok(BusAccess { target, bytes })
    }

    /// Splits a linear on-chip offset as DMA sees it into partition and byte.
    pub fn split_linear(&self, space: Space, offset: u64) -> (usize, usize) {
        let pitch = self.linear_pitch(space);
        ((offset / pitch) as usize, (offset % pitch) as usize)
    }

    /// Linear bytes from a partition to the next one.
    pub(crate) fn linear_pitch(&self, space: Space) -> u64 {
        match space {
            Space::Sbuf => self.generation.geometry().sbuf_pitch.into(),
            Space::Psum => PSUM_PITCH.into(),
        }
    }

    /// Whether a run of bytes at a linear offset lies in the active bytes of one partition.
    pub fn check_on_chip(&self, core: usize, space: Space, offset: u64, bytes: usize) -> Result<(), String> {
        let (partition, byte) = self.split_linear(space, offset);
        let memory = self.cores[core].memory(space);
        if partition >= crate::isa::PARTITIONS || byte + bytes > memory.active() {
            return Err(format!(
                "bytes 0x{byte:x} to 0x{:x} of partition {partition} pass the {} active bytes of {space}",
                byte + bytes - 1,
                memory.active()
            ));
        }
        Ok(())
    }

    /// Reads; little-endian, zero-extended. Semaphore windows other than READ give 0 (00 A14).
    pub fn bus_read(&self, access: &BusAccess) -> u64 {
        let mut raw = [0; 8];
        let bytes = access.bytes;
        match access.target {
            Target::Dram { buffer, offset } => {
                raw[..bytes].copy_from_slice(&self.dram.buffer(buffer).bytes()[offset..offset + bytes]);
            }
            Target::Sbuf { core, offset } => {
                raw[..bytes].copy_from_slice(self.linear(core, Space::Sbuf, offset, bytes))
            }
            Target::Psum { core, offset } => {
                raw[..bytes].copy_from_slice(self.linear(core, Space::Psum, offset, bytes))
            }
            Target::Sync { core, window, index } => {
                let sync = &self.cores[core].sync;
                let value = match window {
                    SyncWindow::Event => sync.events[usize::from(index)].into(),
                    SyncWindow::Read => sync.semaphores[usize::from(index)],
                    _ => 0,
                };
                raw[..4].copy_from_slice(&value.to_le_bytes());
            }
            Target::Csr { core, engine, offset } => {
                let value = self.cores[core].engines[engine.index()].seq.csr.peek(offset);
                raw[..4].copy_from_slice(&value.to_le_bytes());
            }
            Target::SyncReserved => {}
        }
        u64::from_le_bytes(raw)
    }

    fn linear(&self, core: usize, space: Space, offset: u64, bytes: usize) -> &[u8] {
        let (partition, byte) = self.split_linear(space, offset);
        &self.cores[core].memory(space).partition(partition)[byte..byte + bytes]
    }

    /// A checked read is about to happen; in check mode, whether nothing has written some of it.
    pub fn bus_unwritten(&self, access: &BusAccess) -> bool {
        match access.target {
            Target::Dram { buffer, offset } => {
                let buffer = self.dram.buffer(buffer);
                buffer.note_read(offset, access.bytes);
                buffer.first_unwritten(offset, access.bytes).is_some()
            }
            Target::Sbuf { core, offset } => self.linear_unwritten(core, Space::Sbuf, offset, access.bytes),
            Target::Psum { core, offset } => self.linear_unwritten(core, Space::Psum, offset, access.bytes),
            _ => false,
        }
    }

    fn linear_unwritten(&self, core: usize, space: Space, offset: u64, bytes: usize) -> bool {
        let (partition, byte) = self.split_linear(space, offset);
        self.cores[core].memory(space).note_read(partition, byte, bytes);
        self.cores[core].memory(space).first_unwritten(partition, byte, bytes).is_some()
    }

    /// What a word learns by reading a semaphore is known to the race detector.
    pub fn note_bus_read(&mut self, access: &BusAccess, value: u64) {
        if let (Some(races), Target::Sync { core, window: SyncWindow::Read, index }) =
            (&mut self.races, access.target)
        {
            races.observed(core, index, value as u32);
        }
    }

    /// Writes the low bytes of `value`. Returns the core whose semaphore or event changed, and how.
    pub fn bus_write(&mut self, access: &BusAccess, value: u64) -> Option<(usize, SyncChange)> {
        let raw = value.to_le_bytes();
        let data = &raw[..access.bytes];
        match access.target {
            Target::Dram { buffer, offset } => self.dram.buffer_mut(buffer).write(offset, data),
            Target::Sbuf { core, offset } => self.write_linear(core, Space::Sbuf, offset, data),
            Target::Psum { core, offset } => self.write_linear(core, Space::Psum, offset, data),
            Target::Sync { core, window, index } => {
                return self.write_sync(core, window, index, value as u32);
            }
            Target::Csr { core, engine, offset } => {
                let seq = &mut self.cores[core].engines[engine.index()].seq;
                seq.write_csr(Accessor::Word, offset, value as u32);
                if let Some(races) = &mut self.races {
                    races.rang(core, engine);
                }
            }
            Target::SyncReserved => {}
        }
        None
    }

    /// Writes a run of bytes at a linear on-chip offset that has been checked.
    pub fn write_linear(&mut self, core: usize, space: Space, offset: u64, data: &[u8]) {
        let (partition, byte) = self.split_linear(space, offset);
        let memory = self.cores[core].memory_mut(space);
        memory.partition_mut(partition)[byte..byte + data.len()].copy_from_slice(data);
        memory.note_written(partition, byte, data.len());
    }

    fn write_sync(
        &mut self,
        core: usize,
        window: SyncWindow,
        index: u8,
        value: u32,
    ) -> Option<(usize, SyncChange)> {
        let action = match window {
            SyncWindow::Event if value & 1 == 1 => Action::SetEvent,
            SyncWindow::Event => Action::ClearEvent,
            SyncWindow::Set => Action::Write,
            SyncWindow::Increment => Action::Add,
            SyncWindow::Decrement => Action::Subtract,
            SyncWindow::Read => {
                self.warn(format!(
                    "core {core}: a write to the read window of semaphore {index} does nothing"
                ));
                return None;
            }
        };
        Some((core, self.cores[core].sync.apply(&Update { action, index, value })))
    }
}
