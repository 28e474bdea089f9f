//! Memories as the host holds them: plain slices, two of which can be used at a time.

use super::dram::BufferId;
use super::memory::Partitions;
use super::{Core, Machine};
use crate::isa::Space;

/// One memory of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Region {
    /// A buffer of device memory.
    Dram(BufferId),
    /// SBUF or PSUM of a core; from one partition to the next it is [`Partitions::pitch_of`] bytes.
    OnChip(usize, Space),
}

impl Machine {
    /// The bytes of a memory.
    pub(crate) fn region(&self, region: Region) -> &[u8] {
        match region {
            Region::Dram(buffer) => self.dram.buffer(buffer).bytes(),
            Region::OnChip(core, space) => self.cores[core].memory(space).host(),
        }
    }

    /// The bytes of a memory, for writing; [`Self::note_region`] tells of it.
    pub(crate) fn region_mut(&mut self, region: Region) -> &mut [u8] {
        match region {
            Region::Dram(buffer) => self.dram.buffer_mut(buffer).host_mut(),
            Region::OnChip(core, space) => self.cores[core].memory_mut(space).host_bytes(),
        }
    }

    /// Two memories, the second for writing; `None` if they are the same one.
    pub(crate) fn regions(&mut self, from: Region, to: Region) -> Option<(&[u8], &mut [u8])> {
        let Machine { dram, cores, .. } = self;
        match (from, to) {
            (Region::Dram(from), Region::Dram(to)) => {
                let [from, to] = dram.buffers_mut().get_disjoint_mut([from, to]).ok()?;
                Some((from.bytes(), to.host_mut()))
            }
            (Region::Dram(from), Region::OnChip(core, space)) => {
                Some((dram.buffer(from).bytes(), cores[core].memory_mut(space).host_bytes()))
            }
            (Region::OnChip(core, space), Region::Dram(to)) => {
                Some((cores[core].memory(space).host(), dram.buffer_mut(to).host_mut()))
            }
            (Region::OnChip(from, a), Region::OnChip(to, b)) if from == to => {
                let Core { sbuf, psum, .. } = &mut cores[from];
                match (a, b) {
                    (Space::Sbuf, Space::Psum) => Some((sbuf.host(), psum.host_bytes())),
                    (Space::Psum, Space::Sbuf) => Some((psum.host(), sbuf.host_bytes())),
                    _ => None,
                }
            }
            (Region::OnChip(from, a), Region::OnChip(to, b)) => {
                let [from, to] = cores.get_disjoint_mut([from, to]).ok()?;
                Some((from.memory(a).host(), to.memory_mut(b).host_bytes()))
            }
        }
    }

    /// Whether somebody wants to know of writes to a memory.
    pub(crate) fn tracks_region(&self, region: Region) -> bool {
        match region {
            Region::Dram(buffer) => self.dram.buffer(buffer).tracks_writes(),
            Region::OnChip(core, space) => self.cores[core].memory(space).tracks_writes(),
        }
    }

    /// Records that a run of host bytes of a memory, which lies in one partition, now holds data.
    pub(crate) fn note_region(&mut self, region: Region, at: usize, len: usize) {
        match region {
            Region::Dram(buffer) => self.dram.buffer_mut(buffer).note_written(at, len),
            Region::OnChip(core, space) => {
                let pitch = Partitions::pitch_of(space, self.generation);
                self.cores[core].memory_mut(space).note_written(at / pitch, at % pitch, len);
            }
        }
    }
}
