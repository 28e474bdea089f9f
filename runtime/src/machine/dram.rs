//! Device memory: one buffer a variable, each at its own SoC address (chapter 07 section 10, C7-21).

use std::sync::Arc;

use super::accesses::Accesses;
use super::watch::Watches;
use super::written::Written;
use crate::save::{Damaged, Fresh, Reader, Saved, put_pieces, take_pieces};

/// First address of the emulated HBM.
pub const HBM_BASE: u64 = 0x10_0000_0000;
/// Unmapped bytes between two buffers.
pub const HBM_GAP: u64 = 0x1_0000;
/// Alignment of a buffer unless its variable asks for more.
pub const HBM_ALIGN: u64 = 0x1000;

/// What a buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferRole {
    /// Set by the host before a run.
    Input,
    /// Read by the host after a run.
    Output,
    /// Constant from the container.
    Constant,
    /// Scratch of the program.
    Scratch,
    /// Table of addresses.
    Table,
}

/// A buffer of device memory before a machine exists.
#[derive(Clone, Debug)]
pub struct BufferSpec {
    /// Name shown in errors: the variable, with its graph where it is private to one.
    pub name: String,
    /// SoC address of byte 0.
    pub address: u64,
    /// Bytes.
    pub size: usize,
    /// Role.
    pub role: BufferRole,
    /// Contents at creation; zero where `None`.
    pub initial: Option<Arc<[u8]>>,
}

/// A buffer of device memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// What it was made from.
    pub spec: BufferSpec,
    bytes: Vec<u8>,
    written: Option<Written>,
    watches: Watches,
    accesses: Option<Box<Accesses>>,
}

impl Buffer {
    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All bytes, for writing; every one counts as written.
    pub fn overwrite(&mut self) -> &mut [u8] {
        self.note_written(0, self.bytes.len());
        &mut self.bytes
    }

    /// All bytes, for writing; [`Self::note_written`] tells of it.
    pub(super) fn host_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Writes a run. Panics if it does not lie in the buffer.
    pub fn write(&mut self, offset: usize, data: &[u8]) {
        self.bytes[offset..offset + data.len()].copy_from_slice(data);
        self.note_written(offset, data.len());
    }

    /// Treats every byte as not written by the program.
    pub fn forget_written(&mut self) {
        if let Some(written) = &mut self.written {
            written.clear();
        }
    }

    /// Whether somebody wants to know of writes.
    pub(super) fn tracks_writes(&self) -> bool {
        self.written.is_some() || !self.watches.is_empty()
    }

    /// Records that a run of bytes now holds data.
    pub(super) fn note_written(&mut self, offset: usize, len: usize) {
        if let Some(written) = &mut self.written {
            written.mark(offset, len);
        }
        if !self.watches.is_empty() {
            self.watches.note(offset, len);
        }
        if let Some(accesses) = &mut self.accesses {
            accesses.write(offset, len);
        }
    }

    /// Records that a run is read.
    pub fn note_read(&self, offset: usize, len: usize) {
        if let Some(accesses) = &self.accesses {
            accesses.read(offset, len);
        }
    }

    /// Keeps a log of all reads and writes, or none.
    pub(crate) fn log_accesses(&mut self, on: bool) {
        self.accesses = on.then(Box::default);
    }

    /// The reads and the writes since the last call: 0, offset and length of each.
    pub(crate) fn take_accesses(&mut self) -> [Vec<(usize, usize, usize)>; 2] {
        let logs = self.accesses.as_mut().map(|log| log.take()).unwrap_or_default();
        logs.map(|log| log.into_iter().map(|(offset, len)| (0, offset, len)).collect())
    }

    /// Keeps a log of all writes, or none.
    pub(super) fn log_writes(&mut self, on: bool) {
        self.watches.set_log(on);
    }

    /// Offset and length of the writes since the last call.
    pub(super) fn take_writes(&mut self) -> Vec<(usize, usize)> {
        self.watches.take_log()
    }

    /// Starts to count the writes to a run of bytes.
    pub fn watch(&mut self, offset: usize, len: usize) {
        self.watches.insert(offset, len);
    }

    /// Forgets a watched run; `false` if there is none.
    pub fn unwatch(&mut self, offset: usize, len: usize) -> bool {
        self.watches.remove(offset, len)
    }

    /// Writes that touched a watched run since [`Self::watch`]; `None` if it is not watched.
    pub fn writes(&self, offset: usize, len: usize) -> Option<u64> {
        self.watches.writes(offset, len)
    }

    /// The first byte of a run that was never written; `None` also where writes are not tracked.
    pub fn first_unwritten(&self, offset: usize, len: usize) -> Option<usize> {
        self.written.as_ref()?.first_gap(offset, len)
    }
}

impl Buffer {
    fn save(&self, fill: u8, out: &mut Vec<u8>) {
        let Buffer { spec, bytes, written, watches, accesses: _ } = self;
        put_pieces(bytes, spec.fresh(fill), out);
        written.iter().for_each(|written| written.save(out));
        watches.put(out);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let Buffer { spec: _, bytes, written, watches, accesses: _ } = self;
        take_pieces(bytes, from)?;
        if let Some(written) = written {
            written.restore(from)?;
        }
        *watches = Saved::load(from)?;
        Ok(())
    }
}

impl BufferSpec {
    /// What the buffer holds at creation: zeros behind a constant.
    fn fresh(&self, fill: u8) -> Fresh<'_> {
        match &self.initial {
            Some(data) => Fresh { start: data, fill: 0 },
            None => Fresh { start: &[], fill },
        }
    }
}

/// All buffers, ascending by address.
#[derive(Clone, Debug)]
pub struct Dram {
    buffers: Vec<Buffer>,
}

/// Number of a buffer in [`Dram`].
pub type BufferId = usize;

impl Dram {
    /// Memory for these buffers, which must not overlap and must ascend by address. Outputs always track
    /// what was written; with `track` every buffer does.
    pub fn new(specs: &[BufferSpec], track: bool) -> Self {
        let mut dram = Dram {
            buffers: specs
                .iter()
                .map(|spec| Buffer {
                    bytes: Vec::new(),
                    written: (track || spec.role == BufferRole::Output).then(|| Written::new(spec.size)),
                    watches: Watches::default(),
                    accesses: None,
                    spec: spec.clone(),
                })
                .collect(),
        };
        dram.reset(0);
        dram
    }

    /// Contents as at creation: constants, and `fill` everywhere else.
    pub fn reset(&mut self, fill: u8) {
        for buffer in &mut self.buffers {
            if let Some(written) = &mut buffer.written {
                written.clear();
            }
            let size = buffer.spec.size;
            match buffer.spec.initial.clone() {
                Some(data) => {
                    buffer.bytes = data.to_vec();
                    buffer.bytes.resize(size, 0);
                    buffer.note_written(0, data.len());
                }
                // Fresh zeroed memory costs nothing until it is touched.
                None if fill == 0 => buffer.bytes = vec![0; size],
                None => {
                    buffer.bytes.clear();
                    buffer.bytes.resize(size, fill);
                }
            }
        }
    }

    /// Appends what differs from fresh memory.
    pub(crate) fn save(&self, fill: u8, out: &mut Vec<u8>) {
        self.buffers.len().put(out);
        self.buffers.iter().for_each(|buffer| buffer.save(fill, out));
    }

    /// Overwrites fresh memory with the same buffers.
    pub(crate) fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        if usize::load(from)? != self.buffers.len() {
            return Err(Damaged("another number of buffers"));
        }
        self.buffers.iter_mut().try_for_each(|buffer| buffer.restore(from))
    }

    /// All buffers.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    pub(super) fn buffers_mut(&mut self) -> &mut [Buffer] {
        &mut self.buffers
    }

    /// One buffer. Panics if there is none with this number.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id]
    }

    /// One buffer, for writing. Panics if there is none with this number.
    pub fn buffer_mut(&mut self, id: BufferId) -> &mut Buffer {
        &mut self.buffers[id]
    }

    /// The buffer that holds an address, and the offset in it.
    pub fn locate(&self, address: u64) -> Option<(BufferId, usize)> {
        let id = self.buffers.partition_point(|b| b.spec.address <= address).checked_sub(1)?;
        let spec = &self.buffers[id].spec;
        let offset = usize::try_from(address - spec.address).ok()?;
        (offset < spec.size).then_some((id, offset))
    }

    /// The buffer with this name and role.
    pub fn find(&self, name: &str, role: BufferRole) -> Option<BufferId> {
        self.buffers.iter().position(|b| b.spec.role == role && b.spec.name == name)
    }
}
