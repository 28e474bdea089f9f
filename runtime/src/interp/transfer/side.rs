//! One side of a move: where its bytes are in this machine, and whether they all exist.

use super::nest::Nest;
use super::runs::{Dim, Run, Runs, reach};
use crate::interp::FaultKind;
use crate::interp::fault::Address;
use crate::isa::{PARTITIONS, Space};
use crate::machine::dma::Pattern;
use crate::machine::region::Region;
use crate::machine::soc::Target;
use crate::machine::{Machine, Partitions};

/// Bytes that one side of a move may have.
const MAX_BYTES: u64 = 1 << 36;

/// One side of a move.
pub(super) struct Side<'m> {
    field: &'static str,
    pattern: &'m Pattern,
    runs: Runs,
    /// Bytes that the pattern names, skipped ones too.
    pub(super) bytes: u64,
}

/// A side that has been checked.
pub(super) struct Placed<'m> {
    side: Side<'m>,
    pub(super) region: Region,
    shape: Shape,
}

/// How the bytes lie in their memory.
enum Shape {
    /// From a first host byte on in even steps; bytes that lie together are a dimension with step 1.
    Even { start: usize, dims: Vec<Dim> },
    /// Run by run: some are skipped, or go over partitions in uneven steps.
    Uneven,
}

impl<'m> Side<'m> {
    pub(super) fn new(field: &'static str, pattern: &'m Pattern) -> Result<Self, FaultKind> {
        let bytes = pattern
            .bytes()
            .filter(|b| *b <= MAX_BYTES)
            .ok_or_else(|| FaultKind::illegal(field, "too many bytes", format!("at most {MAX_BYTES}")))?;
        Ok(Side { field, pattern, runs: Runs::new(pattern), bytes })
    }

    fn iter(&self) -> impl Iterator<Item = Run> + '_ {
        self.runs.iter(self.pattern.limit.map(|(limit, _)| limit))
    }

    fn space(&self) -> Space {
        if matches!(self.pattern.start, Target::Psum { .. }) { Space::Psum } else { Space::Sbuf }
    }

    /// Finds the bytes. Every run lies in its buffer or partition, and starts on an element where elements are
    /// converted.
    pub(super) fn place(self, machine: &Machine, element: u64) -> Result<Placed<'m>, FaultKind> {
        if machine.options.strict && self.space() == Space::Psum {
            let expected = "SBUF or device memory (lenient mode executes it)";
            return Err(FaultKind::illegal(self.field, "PSUM", expected));
        }
        let region = match self.pattern.start {
            Target::Dram { buffer, .. } => Region::Dram(buffer),
            Target::Sbuf { core, .. } | Target::Psum { core, .. } => Region::OnChip(core, self.space()),
            start => {
                let address = address(machine, start, 0);
                let reason = "a DMA operand must be memory".into();
                return Err(FaultKind::Memory { field: self.field, address, reason });
            }
        };
        let aligned = self.runs.len.is_multiple_of(element)
            && self.runs.outer.iter().all(|(_, step)| step.unsigned_abs().is_multiple_of(element));
        let shape = match self.even(machine) {
            Some(even) if aligned => even,
            _ => {
                self.iter()
                    .filter(|run| !run.skipped)
                    .try_for_each(|run| self.check(machine, run, element))?;
                Shape::Uneven
            }
        };
        Ok(Placed { side: self, region, shape })
    }

    /// The shape if every byte is inside, which the outermost ones show.
    fn even(&self, machine: &Machine) -> Option<Shape> {
        let (low, high) = self.runs.span();
        if self.pattern.limit.is_some_and(|(limit, _)| low < 0 || high > i128::from(limit)) {
            return None;
        }
        let (start, outer) = match self.pattern.start {
            Target::Dram { buffer, offset } => {
                let size = machine.dram.buffer(buffer).spec.size;
                let inside = offset as i128 + low >= 0 && offset as i128 + high <= size as i128;
                inside.then(|| (offset, self.runs.outer.clone()))?
            }
            Target::Sbuf { offset, .. } | Target::Psum { offset, .. } => self.host_dims(machine, offset)?,
            _ => return None,
        };
        let Runs { len, outer } = Runs { len: self.runs.len, outer }.folded();
        let dims = std::iter::once((len, 1)).chain(outer).collect();
        Some(Shape::Even { start, dims })
    }

    /// First host byte and dimensions on chip: each step is one of whole partitions and one of bytes in them.
    fn host_dims(&self, machine: &Machine, offset: u64) -> Option<(usize, Vec<Dim>)> {
        let space = self.space();
        let geometry = machine.generation.geometry();
        let (partition, byte) = machine.split_linear(space, offset);
        let pitch = machine.linear_pitch(space) as i64;
        let row = Partitions::pitch_of(space, machine.generation) as i64;
        let split = |step: i64| {
            let rows = step.checked_add(pitch / 2)?.div_euclid(pitch);
            Some((rows, step - rows * pitch))
        };
        let outer = &self.runs.outer;
        let steps: Vec<(u64, i64, i64)> = outer
            .iter()
            .map(|(count, step)| split(*step).map(|(rows, bytes)| (*count, rows, bytes)))
            .collect::<Option<_>>()?;
        let rows: Vec<Dim> = steps.iter().map(|(count, rows, _)| (*count, *rows)).collect();
        let bytes: Vec<Dim> = steps.iter().map(|(count, _, bytes)| (*count, *bytes)).collect();
        let ((top, bottom), (left, right)) = (reach(&rows), reach(&bytes));
        let inside = partition as i128 + top >= 0
            && partition as i128 + bottom < PARTITIONS as i128
            && byte as i128 + left >= 0
            && byte as i128 + right + i128::from(self.runs.len) <= i128::from(geometry.active(space));
        let host = |(count, rows, bytes): (u64, i64, i64)| (count, rows * row + bytes);
        inside.then(|| (partition * row as usize + byte, steps.into_iter().map(host).collect()))
    }

    fn check(&self, machine: &Machine, run: Run, element: u64) -> Result<(), FaultKind> {
        let address = || address(machine, self.pattern.start, run.at);
        let wrong = |reason: String| FaultKind::Memory { field: self.field, address: address(), reason };
        if run.at.rem_euclid(element as i64) != 0 || !(run.len as u64).is_multiple_of(element) {
            return Err(FaultKind::Misaligned {
                field: self.field,
                address: address(),
                size: element as usize,
            });
        }
        match self.pattern.start {
            Target::Dram { buffer, offset } => {
                let size = machine.dram.buffer(buffer).spec.size as i64;
                let at = offset as i64 + run.at;
                if at < 0 || at + run.len as i64 > size {
                    let reason = format!("a run of {} bytes leaves the {size} bytes there", run.len);
                    return Err(wrong(reason));
                }
                Ok(())
            }
            Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                let at = offset.checked_add_signed(run.at).ok_or_else(|| wrong("below the memory".into()))?;
                machine.check_on_chip(core, self.space(), at, run.len).map_err(wrong)
            }
            _ => Ok(()),
        }
    }
}

impl Placed<'_> {
    /// Bytes that the pattern names, skipped ones too.
    pub(super) fn bytes(&self) -> u64 {
        self.side.bytes
    }

    /// First host byte and dimensions in host bytes, where the steps are even.
    pub(super) fn even(&self) -> Option<(usize, &[Dim])> {
        match &self.shape {
            Shape::Even { start, dims } => Some((*start, dims)),
            Shape::Uneven => None,
        }
    }

    /// Leaves out runs.
    pub(super) fn skips(&self) -> bool {
        matches!(self.shape, Shape::Uneven) && self.side.iter().any(|run| run.skipped)
    }

    /// Everything is about to be read; in check mode, it has been written.
    pub(super) fn check_initialised(&self, machine: &Machine) -> Result<(), FaultKind> {
        if !machine.observes_reads() {
            return Ok(());
        }
        let runs = || self.side.iter().filter(|run| !run.skipped);
        runs().for_each(|run| self.note_read(machine, run));
        if !machine.options.check {
            return Ok(());
        }
        match runs().find_map(|run| self.first_unwritten(machine, run)) {
            Some(at) => Err(FaultKind::Uninitialised {
                field: self.side.field,
                address: address(machine, self.side.pattern.start, at),
            }),
            None => Ok(()),
        }
    }

    fn note_read(&self, machine: &Machine, run: Run) {
        match self.side.pattern.start {
            Target::Dram { buffer, offset } => {
                machine.dram.buffer(buffer).note_read((offset as i64 + run.at) as usize, run.len);
            }
            Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                let space = self.side.space();
                let (partition, byte) = machine.split_linear(space, (offset as i64 + run.at) as u64);
                machine.cores[core].memory(space).note_read(partition, byte, run.len);
            }
            _ => {}
        }
    }

    fn first_unwritten(&self, machine: &Machine, run: Run) -> Option<i64> {
        match self.side.pattern.start {
            Target::Dram { buffer, offset } => {
                let first = (offset as i64 + run.at) as usize;
                let gap = machine.dram.buffer(buffer).first_unwritten(first, run.len)?;
                Some(gap as i64 - offset as i64)
            }
            Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                let space = self.side.space();
                let (partition, byte) = machine.split_linear(space, (offset as i64 + run.at) as u64);
                let gap = machine.cores[core].memory(space).first_unwritten(partition, byte, run.len)?;
                Some(run.at + (gap - byte) as i64)
            }
            _ => None,
        }
    }

    /// First host byte of a run.
    fn host(&self, machine: &Machine, run: Run) -> usize {
        match self.side.pattern.start {
            Target::Dram { offset, .. } => (offset as i64 + run.at) as usize,
            Target::Sbuf { offset, .. } | Target::Psum { offset, .. } => {
                let space = self.side.space();
                let (partition, byte) = machine.split_linear(space, (offset as i64 + run.at) as u64);
                partition * Partitions::pitch_of(space, machine.generation) + byte
            }
            // Only memories are placed.
            _ => 0,
        }
    }

    /// The bytes in stream order; skipped runs read as zero.
    pub(super) fn read(&self, machine: &Machine) -> Vec<u8> {
        let memory = machine.region(self.region);
        let mut data = vec![0; self.side.bytes as usize];
        if let Some((start, dims)) = self.even()
            && let Some(nest) = Nest::new(dims, &[(self.side.bytes, 1)], (1, 1))
        {
            nest.copy(memory, &mut data, (start, 0));
            return data;
        }
        let mut done = 0;
        for run in self.side.iter() {
            if !run.skipped {
                let at = self.host(machine, run);
                data[done..done + run.len].copy_from_slice(&memory[at..at + run.len]);
            }
            done += run.len;
        }
        data
    }

    /// Writes the stream; bytes whose source run was skipped stay (00 A14, 06 section 6). Returns the bytes
    /// written.
    pub(super) fn write(&self, machine: &mut Machine, data: &[u8], source: &Placed<'_>) -> u64 {
        if !source.skips()
            && let Some((start, dims)) = self.even()
            && let Some(nest) = Nest::new(&[(self.side.bytes, 1)], dims, (1, 1))
        {
            nest.copy(data, machine.region_mut(self.region), (0, start));
            self.note(machine);
            return self.side.bytes;
        }
        let mut written = 0;
        let mut first = 0;
        for run in self.side.iter() {
            let kept = if run.skipped { Vec::new() } else { source.kept(first, run.len, self.side.bytes) };
            for (start, end) in kept {
                let at = self.host(machine, run) + start;
                let bytes = &data[first + start..first + end];
                machine.region_mut(self.region)[at..at + bytes.len()].copy_from_slice(bytes);
                machine.note_region(self.region, at, bytes.len());
                written += bytes.len() as u64;
            }
            first += run.len;
        }
        written
    }

    /// The parts of bytes `first..first + len` of a destination of `bytes` that come from source bytes which
    /// exist, relative to `first`.
    fn kept(&self, first: usize, len: usize, bytes: u64) -> Vec<(usize, usize)> {
        if !self.skips() {
            return vec![(0, len)];
        }
        let scale = |source: usize| (source as u64 * bytes / self.side.bytes) as usize;
        let mut at = 0;
        let mut kept = Vec::new();
        for run in self.side.iter() {
            let (start, end) = (scale(at).max(first), scale(at + run.len).min(first + len));
            at += run.len;
            if !run.skipped && start < end {
                kept.push((start - first, end - first));
            }
        }
        kept
    }

    /// Tells of everything written, where the steps are even.
    pub(super) fn note(&self, machine: &mut Machine) {
        if !machine.tracks_region(self.region) {
            return;
        }
        let Some((start, dims)) = self.even() else { return };
        let Some((run, outer)) = dims.split_first() else { return };
        let runs = Runs { len: run.0, outer: outer.to_vec() };
        for run in runs.iter(None) {
            machine.note_region(self.region, start.wrapping_add_signed(run.at as isize), run.len);
        }
    }
}

fn address(machine: &Machine, start: Target, at: i64) -> Address {
    match start {
        Target::Dram { buffer, offset } => Address::Buffer {
            name: machine.dram.buffer(buffer).spec.name.clone(),
            offset: offset as i64 + at,
        },
        Target::Sbuf { core, offset } => {
            Address::Linear { core, space: Space::Sbuf, offset: offset as i64 + at }
        }
        Target::Psum { core, offset } => {
            Address::Linear { core, space: Space::Psum, offset: offset as i64 + at }
        }
        Target::Sync { core, .. } | Target::Csr { core, .. } => Address::Register { core },
        Target::SyncReserved => Address::Register { core: 0 },
    }
}
