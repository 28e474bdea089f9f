//! What has been found.

use std::collections::HashSet;
use std::ops::Range;

use crate::isa::EngineId;
use crate::machine::BufferId;

/// Pairs that are listed; the rest is counted.
pub const LISTED: usize = 1000;

/// Pairs that are told apart. Beyond, one that comes up again is counted again.
const TOLD_APART: usize = 1 << 20;

/// A word, or the transfer that it started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Party {
    /// Core number.
    pub core: usize,
    /// The engine of the word.
    pub engine: EngineId,
    /// Slot of the word in the stream of the engine.
    pub slot: u64,
    /// The transfer: position of its queue in [`Core::queues`](crate::machine::Core::queues). `None`: the word itself.
    pub queue: Option<usize>,
}

/// A memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Memory {
    /// State buffer of a core.
    Sbuf(usize),
    /// PSUM of a core.
    Psum(usize),
    /// A buffer of device memory.
    Dram(BufferId),
}

/// What two parties do to the same bytes, in the order in which the run did it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RaceKind {
    /// Both write.
    WriteWrite,
    /// The later one reads what the earlier one writes.
    WriteRead,
    /// The later one writes what the earlier one reads.
    ReadWrite,
}

impl RaceKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            RaceKind::WriteWrite => "write, then write",
            RaceKind::WriteRead => "write, then read",
            RaceKind::ReadWrite => "read, then write",
        }
    }
}

/// Two parties that touch the same bytes, at least one writing, although nothing makes one of them wait for the other.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Race {
    /// What they do.
    pub kind: RaceKind,
    /// The one that came first in this run.
    pub earlier: Party,
    /// The other.
    pub later: Party,
    /// Where.
    pub memory: Memory,
    /// Partitions; 0 of device memory.
    pub partitions: Range<usize>,
    /// The first run of bytes of each partition, or of the buffer, that both touch.
    pub bytes: Range<usize>,
}

/// The races of a run, in the order in which they were found. Each pair of parties is there once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RaceReport {
    /// The first [`LISTED`] ones.
    pub races: Vec<Race>,
    /// How many more.
    pub more: u64,
    /// Products of a PE that add to PSUM cells which a product before them has written, without waiting for it: the one
    /// pair that needs no wait (chapter 10 section 6). The first [`LISTED`] ones.
    pub accumulations: Vec<Race>,
    /// How many more.
    pub more_accumulations: u64,
}

impl RaceReport {
    /// All races, listed or not.
    pub fn count(&self) -> u64 {
        self.races.len() as u64 + self.more
    }
}

/// Collects races.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) report: RaceReport,
    known: HashSet<[Party; 2]>,
}

impl Found {
    /// Adds a race unless its pair is known.
    pub(super) fn add(&mut self, race: Race, accumulates: bool) {
        let mut pair = [race.earlier, race.later];
        pair.sort_unstable();
        if self.known.contains(&pair) {
            return;
        }
        if self.known.len() < TOLD_APART {
            self.known.insert(pair);
        }
        let RaceReport { races, more, accumulations, more_accumulations } = &mut self.report;
        let (list, more) = if accumulates { (accumulations, more_accumulations) } else { (races, more) };
        if list.len() < LISTED {
            list.push(race);
        } else {
            *more += 1;
        }
    }
}
