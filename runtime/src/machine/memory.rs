//! On-chip memory: 128 partitions of so many bytes (chapter 03 section 3).

use super::accesses::Accesses;
use super::watch::Watches;
use super::written::Written;
use crate::isa::{Generation, PARTITIONS, Space};
use crate::save::{Damaged, Fresh, Reader, Saved, put_pieces, take_pieces};

/// Bytes added to each row, so that one column of all partitions does not fall into one cache set.
const ROW_PADDING: usize = 192;

/// SBUF or PSUM of a core. Rows are padded on the host; device addresses never see that.
#[derive(Clone, Debug)]
pub struct Partitions {
    space: Space,
    bytes: Vec<u8>,
    active: usize,
    row: usize,
    written: Option<Written>,
    watches: Watches,
    accesses: Option<Box<Accesses>>,
}

/// Some partitions of a memory, for writing: those of different parts can be written at the same time.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    bytes: &'a mut [u8],
    active: usize,
    row: usize,
}

impl<'a> Rows<'a> {
    /// The bytes of one of them. Panics if there are not as many.
    pub(crate) fn row_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[index * self.row..][..self.active]
    }

    /// So many of them at a time, the last time what is left.
    pub(crate) fn parts(self, count: usize) -> impl Iterator<Item = Rows<'a>> {
        let Rows { bytes, active, row } = self;
        bytes.chunks_mut(count * row).map(move |bytes| Rows { bytes, active, row })
    }
}

impl Partitions {
    /// Zeroed memory of a generation's size. With `track`, the bytes written are remembered.
    pub fn new(space: Space, generation: Generation, track: bool) -> Self {
        let active = generation.geometry().active(space) as usize;
        let row = Self::pitch_of(space, generation);
        let written = track.then(|| Written::new(active * PARTITIONS));
        Partitions {
            space,
            bytes: vec![0; row * PARTITIONS],
            active,
            row,
            written,
            watches: Watches::default(),
            accesses: None,
        }
    }

    /// Which memory this is.
    pub fn space(&self) -> Space {
        self.space
    }

    /// Bytes of one partition.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Sets every byte; forgets what was written.
    pub fn fill(&mut self, byte: u8) {
        self.bytes.fill(byte);
        if let Some(written) = &mut self.written {
            written.clear();
        }
    }

    /// The bytes of one partition. Panics if `partition` is not below 128.
    pub fn partition(&self, partition: usize) -> &[u8] {
        &self.bytes[partition * self.row..][..self.active]
    }

    /// The bytes of one partition, for writing. Callers that track writes use [`Self::note_written`].
    pub fn partition_mut(&mut self, partition: usize) -> &mut [u8] {
        &mut self.bytes[partition * self.row..][..self.active]
    }

    /// Some partitions, for writing. Panics if there are not as many.
    pub(crate) fn rows_mut(&mut self, first: usize, count: usize) -> Rows<'_> {
        Rows {
            bytes: &mut self.bytes[first * self.row..][..count * self.row],
            active: self.active,
            row: self.row,
        }
    }

    /// Host bytes from a partition to the next one.
    pub fn pitch_of(space: Space, generation: Generation) -> usize {
        generation.geometry().active(space) as usize + ROW_PADDING
    }

    /// All partitions, [`Self::pitch_of`] bytes apart.
    pub(crate) fn host(&self) -> &[u8] {
        &self.bytes
    }

    /// All partitions, [`Self::pitch_of`] bytes apart, for code that keeps to the bounds of each itself.
    pub fn host_bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Copies bytes from a partition and offset to another one; the two may overlap. Panics if they leave their
    /// partitions.
    pub fn copy_within(&mut self, from: (usize, usize), to: (usize, usize), len: usize) {
        assert!(
            from.1 + len <= self.active && to.1 + len <= self.active,
            "{len} bytes leave their partition"
        );
        let at = from.0 * self.row + from.1;
        self.bytes.copy_within(at..at + len, to.0 * self.row + to.1);
        self.note_written(to.0, to.1, len);
    }

    /// Records that a run of bytes of one partition now holds data.
    pub fn note_written(&mut self, partition: usize, offset: usize, len: usize) {
        if let Some(written) = &mut self.written {
            written.mark(partition * self.active + offset, len);
        }
        if !self.watches.is_empty() {
            self.watches.note(partition * self.active + offset, len);
        }
        if let Some(accesses) = &mut self.accesses {
            accesses.write(partition * self.active + offset, len);
        }
    }

    /// Records that a run of bytes of one partition is read.
    pub fn note_read(&self, partition: usize, offset: usize, len: usize) {
        if let Some(accesses) = &self.accesses {
            accesses.read(partition * self.active + offset, len);
        }
    }

    /// The first byte of a run that was never written; `None` also where writes are not tracked.
    pub fn first_unwritten(&self, partition: usize, offset: usize, len: usize) -> Option<usize> {
        let first = self.written.as_ref()?.first_gap(partition * self.active + offset, len)?;
        Some(first - partition * self.active)
    }

    /// Whether somebody wants to know of writes, and perhaps of reads.
    pub fn tracks_writes(&self) -> bool {
        self.written.is_some() || !self.watches.is_empty() || self.accesses.is_some()
    }

    /// Keeps a log of all writes, or none.
    pub(super) fn log_writes(&mut self, on: bool) {
        self.watches.set_log(on);
    }

    /// The writes since the last call: partition, offset and length of each.
    pub(super) fn take_writes(&mut self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let active = self.active;
        self.watches.take_log().into_iter().flat_map(move |run| rows(active, run))
    }

    /// Keeps a log of all reads and writes, or none.
    pub(crate) fn log_accesses(&mut self, on: bool) {
        self.accesses = on.then(Box::default);
    }

    /// The reads and the writes since the last call: partition, offset and length of each.
    pub(crate) fn take_accesses(&mut self) -> [Vec<(usize, usize, usize)>; 2] {
        let logs = self.accesses.as_mut().map(|log| log.take()).unwrap_or_default();
        logs.map(|log| log.into_iter().flat_map(|run| rows(self.active, run)).collect())
    }

    /// Starts to count the writes to a run of bytes of one partition, of words and of transfers.
    pub fn watch(&mut self, partition: usize, offset: usize, len: usize) {
        self.watches.insert(partition * self.active + offset, len);
    }

    /// Forgets a watched run; `false` if there is none.
    pub fn unwatch(&mut self, partition: usize, offset: usize, len: usize) -> bool {
        self.watches.remove(partition * self.active + offset, len)
    }

    /// Writes that touched a watched run since [`Self::watch`]; `None` if it is not watched.
    pub fn writes(&self, partition: usize, offset: usize, len: usize) -> Option<u64> {
        self.watches.writes(partition * self.active + offset, len)
    }

    /// Appends what differs from memory that holds `fill` everywhere.
    pub(super) fn save(&self, fill: u8, out: &mut Vec<u8>) {
        let Partitions { space: _, bytes: _, active: _, row: _, written, watches, accesses: _ } = self;
        for partition in 0..PARTITIONS {
            put_pieces(self.partition(partition), Fresh { start: &[], fill }, out);
        }
        written.iter().for_each(|written| written.save(out));
        watches.put(out);
    }

    /// Overwrites fresh memory of the same size.
    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        for partition in 0..PARTITIONS {
            take_pieces(self.partition_mut(partition), from)?;
        }
        if let Some(written) = &mut self.written {
            written.restore(from)?;
        }
        self.watches = Saved::load(from)?;
        Ok(())
    }
}

/// The parts of a run of positions in each partition: one that was logged as one may go over several.
fn rows(active: usize, (start, len): (usize, usize)) -> impl Iterator<Item = (usize, usize, usize)> {
    let end = start + len;
    (start / active..end.div_ceil(active)).map(move |row| {
        let (first, last) = (start.max(row * active), end.min((row + 1) * active));
        (row, first - row * active, last - first)
    })
}
