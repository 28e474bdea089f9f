//! Finding races while a program runs (chapter 10 section 6, chapter 02 section 12, chapter 07 section 12.2).
//!
//! Engines are pipelines: what a word of the data path does counts as finished only when a change of a semaphore or an
//! event says so and a wait has seen it, for words of the same engine too. Vector clocks say what is known to be finished
//! when a word or a transfer begins; memory remembers who touched which bytes last. `docs/races.md` describes the model.

mod clock;
mod hooks;
mod report;
mod shadow;
mod signal;

use std::collections::{BTreeMap, HashMap, VecDeque};

pub use report::{LISTED, Memory, Party, Race, RaceKind, RaceReport};

use crate::isa::field::UpdateMode;
use crate::isa::{Decoded, EngineId, Family, PARTITIONS, WORD_BYTES, op};
use crate::machine::dma::Queue;
use crate::machine::{Core, Machine, SyncChange, Wait};
use clock::{Clock, Lanes, Owner, Part};
use report::Found;
use shadow::{Access, Conflict, Shadow, Tag, areas};
use signal::{Event, Release, Semaphore};

/// Words of a queue, engine and memory are told apart by the memory that they touch: (row, offset, length).
type Runs = Vec<(usize, usize, usize)>;

/// Where engines or cores meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Meeting {
    /// The barrier of all engines of a core, the so-manieth time.
    Engines(usize, u64),
    /// A barrier of a pair of cores, by the lower core and its id, the so-manieth time.
    Cores(usize, u32, u64),
    /// What one core has sent to another.
    Parcel(usize),
    /// A core that is ready for remote transfers with another.
    Start(usize, usize),
    /// A core that has joined a collective of a group.
    Collective(usize, u16),
}

/// What is known of the work of an engine.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Words so far.
    at: u64,
    /// Finished when the next word begins.
    issued: Clock,
    /// Finished when all words of the data path so far have read.
    reads: Clock,
    /// Finished when they have done all.
    writes: Clock,
}

/// What is known of the work of a queue.
#[derive(Clone, Debug, Default)]
struct QueueProgress {
    at: u64,
    pending: VecDeque<Queued>,
    finished: Clock,
}

/// A transfer in its queue.
#[derive(Clone, Debug)]
struct Queued {
    engine: EngineId,
    slot: u32,
    issued: Clock,
}

/// Who acts now.
#[derive(Clone, Debug)]
enum Now {
    Host,
    /// An engine takes the waits of its next word.
    Waits(usize, EngineId),
    Word(Word),
    Transfer {
        core: usize,
        queue: usize,
        transfer: Queued,
    },
}

/// The word that runs.
#[derive(Clone, Copy, Debug)]
struct Word {
    core: usize,
    engine: EngineId,
    slot: u32,
    /// The sequencer runs it by itself.
    is_control: bool,
    product: bool,
    /// Its update fires when it has read.
    updates_after_reading: bool,
    /// Its body is done; what follows are its updates.
    is_done: bool,
}

/// The race detector of a machine.
#[derive(Clone, Debug)]
pub struct Races {
    lanes: Lanes,
    engines: Vec<[Progress; 5]>,
    queues: Vec<Vec<QueueProgress>>,
    semaphores: HashMap<(usize, u8), Semaphore>,
    events: HashMap<(usize, u8), Event>,
    meetings: BTreeMap<Meeting, Clock>,
    now: Now,
    shadows: BTreeMap<(u8, usize), Shadow>,
    found: Found,
}

impl Races {
    /// A detector for a machine whose work so far is finished.
    fn new(machine: &Machine) -> Self {
        let queue = |core: &Core, queue: &Queue| {
            let pending = queue.pending.iter().map(|transfer| Queued {
                engine: transfer.issued_by.0,
                slot: slot_of(core, transfer.issued_by),
                issued: Clock::default(),
            });
            QueueProgress { pending: pending.collect(), ..QueueProgress::default() }
        };
        let queues = |core: &Core| core.queues.iter().map(|q| queue(core, q)).collect();
        Races {
            lanes: Lanes::new(machine.cores.iter().map(|core| core.queues.len())),
            engines: machine.cores.iter().map(|_| Default::default()).collect(),
            queues: machine.cores.iter().map(queues).collect(),
            semaphores: HashMap::new(),
            events: HashMap::new(),
            meetings: BTreeMap::new(),
            now: Now::Host,
            shadows: BTreeMap::new(),
            found: Found::default(),
        }
    }

    /// What has been found so far.
    pub fn report(&self) -> &RaceReport {
        &self.found.report
    }

    fn progress(&mut self, core: usize, engine: EngineId) -> &mut Progress {
        &mut self.engines[core][engine.index()]
    }

    /// A wait of an engine's next word holds.
    pub(crate) fn waited(&mut self, core: usize, engine: EngineId, wait: &Wait) {
        self.now = Now::Waits(core, engine);
        let issued = &mut self.engines[core][engine.index()].issued;
        if wait.on_event() {
            self.events.entry((core, wait.index)).or_default().tell(wait, issued);
        } else if let Some(semaphore) = self.semaphores.get(&(core, wait.index)) {
            semaphore.tell(wait.mode, wait.value, issued);
        }
    }

    /// The word that runs has read a semaphore of a core.
    pub(crate) fn observed(&mut self, core: usize, index: u8, value: u32) {
        if let (Some(semaphore), Now::Word(word)) = (self.semaphores.get(&(core, index)), &self.now) {
            let issued = &mut self.engines[word.core][word.engine.index()].issued;
            semaphore.tell(crate::isa::field::WaitMode::SEM_GE_IMM, value, issued);
        }
    }

    /// A word whose waits hold begins. `fenced`: everything before it on its engine has finished.
    fn begin(&mut self, core: usize, engine: EngineId, slot: u32, decoded: &Decoded, fenced: bool) {
        let info = decoded.info;
        let word = Word {
            core,
            engine,
            slot,
            is_control: matches!(
                info.family,
                Family::Control | Family::Dma | Family::Pseudo | Family::Invalid
            ),
            product: info.byte == op::MATMUL,
            updates_after_reading: is_read_phase(decoded.events.update_mode),
            is_done: false,
        };
        // What waits for the whole engine first (chapter 02 sections 8.2 and 8.3, chapter 07 section 9.2).
        let drains = matches!(info.byte, op::DRAIN | op::HALT | op::PSEUDO_FUNCTION_RETURN);
        let progress = self.progress(core, engine);
        progress.at += 1;
        if fenced || drains {
            progress.issued.join(&progress.writes);
        }
        self.now = Now::Word(word);
        self.work();
    }

    /// The word that runs joins the pipeline, with all that it knows when it starts.
    fn work(&mut self) {
        let Now::Word(Word { core, engine, is_control: false, .. }) = self.now else { return };
        let reads = self.lanes.engine(core, engine, Part::Reads);
        let writes = self.lanes.engine(core, engine, Part::Writes);
        let Progress { at, issued, reads: read, writes: written } = self.progress(core, engine);
        read.join(issued);
        read.set(reads, *at);
        written.join(read);
        written.set(writes, *at);
    }

    /// What whoever sees a change that is made now knows to be finished.
    fn release(&self) -> Option<Release> {
        let (lane, at, finished, issued) = match &self.now {
            Now::Host => return None,
            Now::Waits(core, engine) => {
                let progress = &self.engines[*core][engine.index()];
                let lane = self.lanes.engine(*core, *engine, Part::Sequencer);
                (lane, progress.at, progress.issued.clone(), &progress.issued)
            }
            Now::Word(word) => {
                let progress = &self.engines[word.core][word.engine.index()];
                let part = match word {
                    Word { is_control: true, .. } => Part::Sequencer,
                    Word { updates_after_reading: true, is_done: true, .. } => Part::Reads,
                    _ => Part::Writes,
                };
                let lane = self.lanes.engine(word.core, word.engine, part);
                let finished = match part {
                    Part::Sequencer => {
                        let mut finished = progress.issued.clone();
                        finished.set(lane, progress.at);
                        finished
                    }
                    Part::Reads => progress.reads.clone(),
                    Part::Writes => progress.writes.clone(),
                };
                (lane, progress.at, finished, &progress.issued)
            }
            Now::Transfer { core, queue, transfer } => {
                let progress = &self.queues[*core][*queue];
                let lane = self.lanes.queue(*core, *queue);
                (lane, progress.at, progress.finished.clone(), &transfer.issued)
            }
        };
        let in_parts = matches!(self.now, Now::Transfer { .. });
        Some(Release { lane, at, finished, issued: issued.clone(), in_parts })
    }

    /// The changes that follow are the updates of the word that runs.
    pub(crate) fn updates(&mut self) {
        if let Now::Word(word) = &mut self.now {
            word.is_done = true;
        }
    }

    /// A semaphore or an event of a core has changed.
    pub(crate) fn changed(&mut self, core: usize, change: &SyncChange) {
        let by = self.release();
        if change.semaphore {
            let semaphore = self.semaphores.entry((core, change.index));
            semaphore.or_insert_with(|| Semaphore::new(change.before)).change(change, by);
        } else {
            self.events.entry((core, change.index)).or_default().change(change, by);
        }
    }

    /// Leaves what is known to be finished for those who come to the same place.
    pub(crate) fn leave(&mut self, place: Meeting) {
        // A place that is numbered is left for good when all have come to the next one.
        match place {
            Meeting::Engines(core, n) => {
                drop(self.meetings.remove(&Meeting::Engines(core, n.wrapping_sub(2))))
            }
            Meeting::Cores(core, id, n) => {
                drop(self.meetings.remove(&Meeting::Cores(core, id, n.wrapping_sub(2))))
            }
            _ => {}
        }
        let Now::Word(Word { is_control, .. }) = self.now else { return };
        if let Some(release) = self.release() {
            // Words of the data path come here when they begin, not when they are done.
            let known = if is_control { &release.finished } else { &release.issued };
            self.meetings.entry(place).or_default().join(known);
        }
    }

    /// Takes up what has been left in a place.
    pub(crate) fn take_up(&mut self, place: Meeting) {
        if let (Some(left), Now::Word(word)) = (self.meetings.get(&place), &self.now) {
            self.engines[word.core][word.engine.index()].issued.join(left);
            self.work();
        }
    }

    /// The word that runs starts another engine.
    pub(crate) fn rang(&mut self, core: usize, engine: EngineId) {
        if let Some(release) = self.release() {
            self.progress(core, engine).issued.join(&release.finished);
        }
    }

    /// The word that runs puts a transfer into a queue of its core.
    pub(crate) fn queued(&mut self, queue: usize) {
        if let (Some(release), Now::Word(word)) = (self.release(), &self.now) {
            let queued = Queued { engine: word.engine, slot: word.slot, issued: release.finished };
            self.queues[word.core][queue].pending.push_back(queued);
        }
    }

    /// The oldest transfer of a queue begins.
    pub(crate) fn begin_transfer(&mut self, core: usize, queue: usize) {
        let lane = self.lanes.queue(core, queue);
        let progress = &mut self.queues[core][queue];
        let Some(transfer) = progress.pending.pop_front() else { return };
        progress.at += 1;
        progress.finished.join(&transfer.issued);
        progress.finished.set(lane, progress.at);
        self.now = Now::Transfer { core, queue, transfer };
    }

    /// What runs now has ended; it has read and written these bytes.
    fn end(&mut self, touched: Vec<(Memory, Runs, Runs)>) {
        for (memory, reads, writes) in touched {
            self.touch(memory, reads, false);
            self.touch(memory, writes, true);
        }
        if let Now::Word(Word { core, engine, is_control: true, .. }) = self.now {
            let lane = self.lanes.engine(core, engine, Part::Sequencer);
            let progress = self.progress(core, engine);
            progress.issued.set(lane, progress.at);
        }
        self.now = Now::Host;
    }

    /// Holds accesses of what runs now against those before.
    fn touch(&mut self, memory: Memory, runs: Runs, writes: bool) {
        if runs.is_empty() {
            return;
        }
        let (tag, issued) = match &self.now {
            Now::Word(word) => {
                let Word { core, engine, slot, product, .. } = *word;
                let part = match (word.is_control, writes) {
                    (true, _) => Part::Sequencer,
                    (false, false) => Part::Reads,
                    (false, true) => Part::Writes,
                };
                let progress = &self.engines[core][engine.index()];
                let lane = self.lanes.engine(core, engine, part);
                (Tag { at: progress.at, slot, engine, lane, product }, &progress.issued)
            }
            Now::Transfer { core, queue, transfer } => {
                let Queued { engine, slot, ref issued } = *transfer;
                let (at, lane) = (self.queues[*core][*queue].at, self.lanes.queue(*core, *queue));
                (Tag { at, slot, engine, lane, product: false }, issued)
            }
            Now::Host | Now::Waits(..) => return,
        };
        let owner = self.lanes.owner(tag.lane);
        let is_own = |other: &Tag| other.at == tag.at && self.lanes.owner(other.lane) == owner;
        let access = Access { tag, writes, issued, is_own: &is_own };
        let (key, rows) = match memory {
            Memory::Sbuf(core) => ((0, core), PARTITIONS),
            Memory::Psum(core) => ((1, core), PARTITIONS),
            Memory::Dram(buffer) => ((2, buffer), 1),
        };
        let shadow = self.shadows.entry(key).or_insert_with(|| Shadow::new(rows));
        let mut conflicts = Vec::new();
        areas(runs).iter().for_each(|area| shadow.access(area, &access, &mut conflicts));
        conflicts.into_iter().for_each(|conflict| self.report_conflict(memory, &tag, conflict));
    }

    fn report_conflict(&mut self, memory: Memory, later: &Tag, conflict: Conflict) {
        let Conflict { earlier, earlier_writes, later_writes, rows, bytes } = conflict;
        let kind = match (earlier_writes, later_writes) {
            (true, true) => RaceKind::WriteWrite,
            (true, false) => RaceKind::WriteRead,
            (false, _) => RaceKind::ReadWrite,
        };
        let (earlier_party, later_party) = (self.party(&earlier), self.party(later));
        // A product that adds reads its cells first, so that the pair is met here before its writes are.
        let one_pe = (earlier_party.core, earlier_party.engine) == (later_party.core, later_party.engine);
        let adds = kind == RaceKind::WriteRead && matches!(memory, Memory::Psum(_));
        let accumulates = earlier.product && later.product && one_pe && adds;
        let race = Race { kind, earlier: earlier_party, later: later_party, memory, partitions: rows, bytes };
        self.found.add(race, accumulates);
    }

    fn party(&self, tag: &Tag) -> Party {
        let (core, queue) = match self.lanes.owner(tag.lane) {
            Owner::Engine(core, _) => (core, None),
            Owner::Queue(core, queue) => (core, Some(queue)),
        };
        Party { core, engine: tag.engine, slot: tag.slot.into(), queue }
    }
}

/// The slot of the word at an address of an engine's stream.
fn slot_of(core: &Core, (engine, pc): (EngineId, u64)) -> u32 {
    (pc.wrapping_sub(core.spec.streams[engine.index()].base) / WORD_BYTES as u64) as u32
}

/// An update that fires when the word has read its sources (chapter 02 section 3.3).
fn is_read_phase(mode: UpdateMode) -> bool {
    mode != UpdateMode::NONE && mode.0 & 0x10 == 0
}
