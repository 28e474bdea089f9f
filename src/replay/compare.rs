//! The recorded run against the replayed one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use seqjit_runtime::isa::EngineId;
use seqjit_runtime::machine::{Core, Machine, NotificationKind};

use super::changes::{Change, align};
use super::reach::Cell;
use crate::trace::{CoreTrace, Edge, PacketEdge, SyncRecord};
use crate::{Session, Tensor};

/// How much was compared, and how much of it differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// In the recording, or in the container's run.
    pub recorded: u64,
    /// In the replay.
    pub replayed: u64,
    /// Words, sources of changes, queues or bytes that differ.
    pub differences: u64,
}

/// A replay beside the recording.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// Words finished; differences count words of the images that ran another number of times, and engines
    /// that do not stand at the gate.
    pub words: Tally,
    /// Changes of semaphores and events; differences count sources: an engine, or one semaphore or event as
    /// the bus changes it.
    pub changes: Tally,
    /// Changes whose records the device lost.
    pub lost: u64,
    /// Bytes read by generated DMA; differences count queues.
    pub dma: Tally,
    /// Bytes of the outputs.
    pub outputs: Tally,
    /// The first difference: core by core in this order, then the outputs.
    pub first_difference: Option<Difference>,
}

impl Outcome {
    /// Every engine ran every word as often as recorded and waits at its gate.
    pub fn pcs_equal(&self) -> bool {
        self.words.differences == 0
    }

    /// Every source changed semaphores and events in the recorded order, but for lost records.
    pub fn events_equal(&self) -> bool {
        self.changes.differences == 0
    }

    /// Every queue moved as many bytes as recorded.
    pub fn dma_equal(&self) -> bool {
        self.dma.differences == 0
    }

    /// The outputs are bit for bit those of the container's run.
    pub fn outputs_equal(&self) -> bool {
        self.outputs.differences == 0
    }

    /// Nothing differs.
    pub fn is_equal(&self) -> bool {
        self.pcs_equal() && self.events_equal() && self.dma_equal() && self.outputs_equal()
    }

    fn differs(&mut self, tally: fn(&mut Outcome) -> &mut Tally, difference: Difference) {
        tally(self).differences += 1;
        self.first_difference.get_or_insert(difference);
    }
}

/// Who changed a semaphore or event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Words of an engine.
    Engine(EngineId),
    /// Writes over the bus: DMA, the host, another core. They are compared for each semaphore and event alone,
    /// as transfers overlap.
    Bus {
        /// A semaphore, else an event.
        semaphore: bool,
        /// Which one.
        index: u8,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Engine(engine) => write!(f, "{engine}"),
            Source::Bus { semaphore: true, index } => write!(f, "bus, semaphore {index}"),
            Source::Bus { semaphore: false, index } => write!(f, "bus, event {index}"),
        }
    }
}

/// Something that differs.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Difference {
    /// A word ran another number of times.
    Word {
        /// Graph.
        graph: String,
        /// Engine.
        engine: EngineId,
        /// Slot in the image.
        slot: u64,
        /// Ends recorded; starts, if those differ.
        recorded: u64,
        /// Ends in the replay.
        replayed: u64,
    },
    /// An engine does not end at the word at which it started.
    Stand {
        /// Graph.
        graph: String,
        /// Engine.
        engine: EngineId,
        /// Slot of the gate.
        gate: u64,
        /// Slot where it stands.
        slot: u64,
    },
    /// A change is another one, missing, or too much.
    Change {
        /// Graph.
        graph: String,
        /// Who does it.
        source: Source,
        /// Position among the changes of this source in the replay.
        position: usize,
        /// What was recorded; nothing behind the last one.
        recorded: Option<Change>,
        /// What the replay does.
        replayed: Option<Change>,
    },
    /// A queue moved another number of bytes.
    Queue {
        /// Graph.
        graph: String,
        /// Name of the queue.
        queue: String,
        /// Bytes recorded.
        recorded: u64,
        /// Bytes in the replay.
        replayed: u64,
    },
    /// A byte of an output differs.
    Output {
        /// Name of the output.
        output: String,
        /// Offset of the first byte that differs.
        offset: usize,
        /// Byte of the container's run; `None` behind its end.
        expected: Option<u8>,
        /// Byte of the replay.
        found: Option<u8>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |change: &Option<Change>| change.map_or("nothing".to_owned(), |c| c.to_string());
        match self {
            Difference::Word { graph, engine, slot, recorded, replayed } => {
                write!(
                    f,
                    "{graph} {engine} word {slot}: recorded {recorded} times, replayed {replayed} times"
                )
            }
            Difference::Stand { graph, engine, gate, slot } => {
                write!(f, "{graph} {engine}: stands at word {slot}, the gate is word {gate}")
            }
            Difference::Change { graph, source, position, recorded, replayed } => write!(
                f,
                "{graph} {source}, change {position}: recorded {}, replayed {}",
                show(recorded),
                show(replayed)
            ),
            Difference::Queue { graph, queue, recorded, replayed } => {
                write!(f, "{graph} queue '{queue}': recorded {recorded} bytes, replayed {replayed} bytes")
            }
            Difference::Output { output, offset, expected, found } => {
                write!(f, "output '{output}', byte {offset}: expected {expected:02x?}, found {found:02x?}")
            }
        }
    }
}

/// Slots where the engines of a core started.
pub(super) type Gates = [Option<u64>; 5];

/// Compares one core of the machine with its recording.
pub(super) fn core(outcome: &mut Outcome, trace: &CoreTrace, gates: &Gates, core: &Core) {
    for engine in EngineId::ALL {
        words(outcome, trace, engine, gates[engine.index()], core);
    }
    changes(outcome, trace, core);
    queues(outcome, trace, core);
}

/// How often each word of an image ended and started.
type Counts = BTreeMap<u64, (u64, u64)>;

fn words(outcome: &mut Outcome, trace: &CoreTrace, engine: EngineId, gate: Option<u64>, core: &Core) {
    let base = trace.image(engine).address;
    let mut recorded = Counts::new();
    for record in trace.instructions.iter().filter(|r| r.engine == engine) {
        let (ends, starts) = recorded.entry(record.slot(base)).or_default();
        *if record.edge == Edge::End { ends } else { starts } += 1;
    }
    let mut replayed = Counts::new();
    let ours = core.notifications.iter().filter(|n| n.engine == Some(engine));
    for record in ours {
        let (ends, starts) = replayed.entry(record.pc.wrapping_sub(base) / 64).or_default();
        match record.kind {
            NotificationKind::End => *ends += 1,
            NotificationKind::Start => *starts += 1,
            _ => {}
        }
    }
    // The engine already waited at the gate when the recording began: of that first word, nothing is recorded.
    if let Some((ends, starts)) = gate.and_then(|gate| replayed.get_mut(&gate)) {
        *ends -= (*ends).min(1);
        *starts -= (*starts).min(1);
    }
    outcome.words.recorded += recorded.values().map(|(ends, _)| ends).sum::<u64>();
    outcome.words.replayed += replayed.values().map(|(ends, _)| ends).sum::<u64>();
    let slots: BTreeSet<u64> = recorded.keys().chain(replayed.keys()).copied().collect();
    for slot in slots {
        let (theirs, ours) = (recorded.get(&slot).copied(), replayed.get(&slot).copied());
        let (theirs, ours) = (theirs.unwrap_or_default(), ours.unwrap_or_default());
        // A word that waits in itself (EVENT_SEMAPHORE) starts before its wait holds on the device.
        let open = u64::from(gate == Some(slot) && theirs.1 == ours.1 + 1);
        if theirs.0 != ours.0 || theirs.1 != ours.1 + open {
            let (recorded, replayed) =
                if theirs.0 == ours.0 { (theirs.1, ours.1) } else { (theirs.0, ours.0) };
            let graph = trace.graph.clone();
            let difference = Difference::Word { graph, engine, slot, recorded, replayed };
            outcome.differs(|o| &mut o.words, difference);
        }
    }
    let state = &core.engines[engine.index()];
    let slot = state.next_pc().wrapping_sub(base) / 64;
    if let Some(gate) = gate.filter(|gate| *gate != slot || state.blocked_on.is_none()) {
        let difference = Difference::Stand { graph: trace.graph.clone(), engine, gate, slot };
        outcome.differs(|o| &mut o.words, difference);
    }
}

fn changes(outcome: &mut Outcome, trace: &CoreTrace, core: &Core) {
    let mut overflows: Vec<u64> = trace.changes.iter().filter(|r| r.overflow).map(|r| r.time).collect();
    overflows.sort_unstable();
    let mut recorded: BTreeMap<SourceKey, Vec<SyncRecord>> = BTreeMap::new();
    for record in &trace.changes {
        recorded.entry(key(record.engine, (record.semaphore, record.index))).or_default().push(*record);
    }
    let mut replayed: BTreeMap<SourceKey, Vec<Change>> = BTreeMap::new();
    for notification in &core.notifications {
        if let NotificationKind::Sync(change) = notification.kind {
            let key = key(notification.engine, (change.semaphore, change.index));
            let (semaphore, index) = (change.semaphore, change.index);
            let change = Change { semaphore, index, action: change.record, value: change.after };
            replayed.entry(key).or_default().push(change);
        }
    }
    outcome.changes.recorded += trace.changes.len() as u64;
    outcome.changes.replayed += replayed.values().map(|list| list.len() as u64).sum::<u64>();
    let sources: BTreeSet<SourceKey> = recorded.keys().chain(replayed.keys()).copied().collect();
    for source in sources {
        let theirs = recorded.get(&source).map_or(&[][..], Vec::as_slice);
        let ours = replayed.get(&source).map_or(&[][..], Vec::as_slice);
        match align(theirs, ours, &overflows) {
            Ok(lost) => outcome.lost += lost as u64,
            Err(parting) => {
                let difference = Difference::Change {
                    graph: trace.graph.clone(),
                    source: source_of(source),
                    position: parting.position,
                    recorded: parting.recorded,
                    replayed: parting.replayed,
                };
                outcome.differs(|o| &mut o.changes, difference);
            }
        }
    }
}

/// A source in an order: engines, then what the bus changes.
type SourceKey = (Option<Cell>, usize);

fn key(engine: Option<EngineId>, cell: Cell) -> SourceKey {
    engine.map_or((Some(cell), 0), |engine| (None, engine.index()))
}

fn source_of((cell, engine): SourceKey) -> Source {
    match cell {
        None => Source::Engine(EngineId::ALL[engine]),
        Some((semaphore, index)) => Source::Bus { semaphore, index },
    }
}

/// DMA engines are numbered through all cores in the list of queues, modulo 32 in records.
const DMA_ENGINES: u64 = 32;
/// A ring adds one to the semaphore of a transfer by writing four bytes, which are a packet like others.
const INCREMENT_BYTES: u64 = 4;

fn queues(outcome: &mut Outcome, trace: &CoreTrace, core: &Core) {
    for queue in core.queues.iter().filter(|q| q.spec.dynamic) {
        let of_queue = |engine: u8, index: u8| {
            let names = trace.queues.iter().filter(|q| q.name == queue.spec.name);
            let mut places = names.map(|q| (q.dma_engine % DMA_ENGINES, q.index));
            places.any(|place| place == (engine.into(), index.into()))
        };
        let read = trace.packets.iter().filter(|p| p.edge == PacketEdge::Read);
        let read = read.filter(|p| of_queue(p.dma_engine, p.queue));
        let recorded = read.map(|p| u64::from(p.bytes)).sum::<u64>();
        let increments = u64::from(seqjit_runtime::machine::dma::RINGS) * queue.completed;
        let replayed = queue.bytes.0 + INCREMENT_BYTES * increments;
        outcome.dma.recorded += recorded;
        outcome.dma.replayed += replayed;
        if recorded != replayed {
            let (graph, queue) = (trace.graph.clone(), queue.spec.name.clone());
            let difference = Difference::Queue { graph, queue, recorded, replayed };
            outcome.differs(|o| &mut o.dma, difference);
        }
    }
}

/// Compares the outputs of a machine with those of a session that has run.
pub(super) fn outputs(outcome: &mut Outcome, session: &Session, machine: &Machine, expected: &[Tensor]) {
    for (io, tensor) in session.program().outputs().iter().zip(expected) {
        let spec = &session.program().image().buffers[io.buffer];
        let buffer = machine.dram.find(&spec.name, spec.role);
        let found = buffer.map_or(&[][..], |id| machine.dram.buffer(id).bytes());
        outcome.outputs.recorded += tensor.data.len() as u64;
        outcome.outputs.replayed += found.len() as u64;
        let both = tensor.data.len().max(found.len());
        for offset in (0..both).filter(|i| tensor.data.get(*i) != found.get(*i)) {
            let (expected, found) = (tensor.data.get(offset).copied(), found.get(offset).copied());
            let difference = Difference::Output { output: io.name.clone(), offset, expected, found };
            outcome.differs(|o| &mut o.outputs, difference);
        }
    }
}
