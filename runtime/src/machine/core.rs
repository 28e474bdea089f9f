//! One NeuronCore: five engines, their memories and hidden state.

use std::collections::VecDeque;
use std::sync::Arc;

use super::dma::{Queue, QueueSpec};
use super::engine::Engine;
use super::hidden::{
    BatchNormState, CONVERTER_SEED, DveRandom, LaneMask, PeHidden, PoolState, PreloadedScalars, SearchState,
};
use super::meeting::Meetings;
use super::memory::Partitions;
use super::notify::Notification;
use super::sync::SyncUnit;
use crate::interp::Instruction;
use crate::interp::pe::{MAX_COLUMNS, MAX_LANES};
use crate::isa::{Dtype, EngineId, Generation, PARTITIONS, Space};
use crate::kernels::pe::PackedTile;
use crate::save::{Damaged, Fresh, Reader, Saved, put_pieces, saved, take_pieces};
use crate::sequencer::legal_opcodes;

/// The words of one engine, decoded once.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Address of word 0: 0 for a container, the device address for a device image.
    pub base: u64,
    /// Words in order.
    pub words: Arc<[Instruction]>,
    /// Running off the end is the graceful end of a container stream, else a fetch fault
    /// (chapter 01 section 6.5).
    pub ends_gracefully: bool,
}

/// A core before a machine exists.
#[derive(Clone, Debug)]
pub struct CoreSpec {
    /// Name of the graph.
    pub name: String,
    /// Physical core whose SoC addresses this one answers to: its own number for a container, the recorded
    /// core for a device image (chapter 07 section 10).
    pub physical: usize,
    /// Streams in engine order.
    pub streams: [Stream; 5],
    /// Queues in the order of their names, which is the order of their turns.
    pub queues: Vec<Arc<QueueSpec>>,
    /// SoC address of each variable, by variable id; `None` for kinds that have none.
    pub variables: Vec<Option<u64>>,
    /// SoC address of the DGE address table, whose entries are 64-bit SoC addresses; initial value of
    /// R131:R130 of every engine (chapter 07 section 12.1).
    pub table_base: u64,
    /// Opcodes for which the container's DVE opcode table holds a program; `None`: the default table.
    pub dve_programs: Option<[bool; 256]>,
    /// FP8_EXP4 flavour (decision 03-E10).
    pub fp8: crate::num::Fp8,
    /// Groups of ranks, which are core numbers, that collectives name (chapter 07 section 9.2).
    pub replica_groups: Vec<Vec<u32>>,
    /// Activation table sets, in the order that ACTIVATION_TABLE_LOAD counts.
    pub table_sets: Vec<Arc<crate::act::TableSet>>,
}

impl CoreSpec {
    /// Activation function ids that the core's tables define.
    pub fn activation_functions(&self) -> [bool; 256] {
        std::array::from_fn(|id| self.table_sets.iter().any(|set| set.function(id as u8).is_some()))
    }
}

/// The PE's stationary operand (chapter 05 section 1.1).
#[derive(Clone, Debug)]
pub struct PeState {
    /// Values as the array multiplies them, at [`PeState::cell`].
    pub weights: Vec<f32>,
    /// The elements as loaded, zero-extended; transpose mode passes these bits.
    pub raw: Vec<u32>,
    /// Sparsity tags, four bits each.
    pub tags: Vec<u8>,
    /// Input dtype of the last LDWEIGHTS; INVALID before the first.
    pub dtype: Dtype,
    /// Contraction elements per row of the last LDWEIGHTS.
    pub lanes: usize,
    /// The last LDWEIGHTS carried the transpose flag.
    pub transpose: bool,
    /// Seeds and tables.
    pub hidden: PeHidden,
    /// The weights as a kernel wants them, of the columns up to 128 and of those above; forgotten at every
    /// LDWEIGHTS.
    pub(crate) packed: [Option<PackedTile>; 2],
}

/// Cells from a row of the array to the next one: more than there are columns, so that one column of all rows does
/// not fall into a few cache sets, and vectors of a kernel may reach beyond the last column.
const PE_PITCH: usize = MAX_COLUMNS + 16;

impl Default for PeState {
    fn default() -> Self {
        let cells = MAX_LANES * PARTITIONS * PE_PITCH;
        PeState {
            weights: vec![0.0; cells],
            raw: vec![0; cells],
            tags: vec![0; cells],
            dtype: Dtype::INVALID,
            lanes: 1,
            transpose: false,
            hidden: PeHidden::default(),
            packed: Default::default(),
        }
    }
}

impl PeState {
    /// Index of contraction lane `j` of a row and a column.
    pub fn cell(j: usize, row: usize, column: usize) -> usize {
        (j * PARTITIONS + row) * PE_PITCH + column
    }
}

fn new_engines(spec: &CoreSpec, generation: Generation, strict: bool) -> [Engine; 5] {
    EngineId::ALL.map(|id| {
        let stream = &spec.streams[id.index()];
        let container = stream.ends_gracefully;
        let legal = legal_opcodes(id, generation, strict, spec.dve_programs.as_ref(), container);
        Engine::new(id, generation, stream, Arc::new(legal), spec.table_base)
    })
}

fn new_queues(spec: &CoreSpec) -> Vec<Queue> {
    spec.queues
        .iter()
        .map(|spec| Queue {
            spec: spec.clone(),
            pending: VecDeque::new(),
            next_in_ring: 0,
            completed: 0,
            bytes: (0, 0),
        })
        .collect()
}

/// ACT state (chapter 05 section 1.1).
#[derive(Clone, Debug)]
pub struct ActState {
    /// One accumulator a partition.
    pub accumulator: [f32; PARTITIONS],
    /// Index into [`CoreSpec::table_sets`] of the resident set.
    pub resident: Option<usize>,
    /// Stochastic rounding of the output converter (chapter 06 section 8.1).
    pub convert: [[u32; 2]; PARTITIONS],
}

impl Default for ActState {
    fn default() -> Self {
        ActState {
            accumulator: [0.0; PARTITIONS],
            resident: None,
            convert: [[CONVERTER_SEED; 2]; PARTITIONS],
        }
    }
}

/// DVE state (chapter 05 section 1.1).
#[derive(Clone, Debug)]
pub struct DveState {
    /// One reduce accumulator a partition.
    pub accumulator: [f32; PARTITIONS],
    /// Keys and findings of searches.
    pub search: SearchState,
    /// Permutation of the shuffling words.
    pub mask: LaneMask,
    /// Random numbers.
    pub random: DveRandom,
    /// What the words TENSOR_SCALAR_IMM_LD preloaded.
    pub scalars: PreloadedScalars,
    /// Parameters of batch normalisation.
    pub batch_norm: BatchNormState,
}

impl Default for DveState {
    fn default() -> Self {
        DveState {
            accumulator: [0.0; PARTITIONS],
            search: SearchState::default(),
            mask: LaneMask::default(),
            random: DveRandom::default(),
            scalars: PreloadedScalars::default(),
            batch_norm: BatchNormState::default(),
        }
    }
}

/// One core.
#[derive(Clone, Debug)]
pub struct Core {
    /// What it was made from.
    pub spec: Arc<CoreSpec>,
    /// State buffer.
    pub sbuf: Partitions,
    /// Matmul results.
    pub psum: Partitions,
    /// Events and semaphores.
    pub sync: SyncUnit,
    /// Engines in index order.
    pub engines: [Engine; 5],
    /// DMA queues, ascending by name.
    pub queues: Vec<Queue>,
    /// PE array.
    pub pe: PeState,
    /// ACT.
    pub act: ActState,
    /// DVE.
    pub dve: DveState,
    /// POOL.
    pub pool: PoolState,
    /// Where engines and cores wait for each other.
    pub meetings: Meetings,
    /// Ordered log of notification records.
    pub notifications: Vec<Notification>,
    generation: Generation,
    strict: bool,
}

impl Core {
    /// A core in its reset state. With `track`, memories remember what was written.
    pub fn new(spec: Arc<CoreSpec>, generation: Generation, strict: bool, track: bool) -> Self {
        Core {
            sbuf: Partitions::new(Space::Sbuf, generation, track),
            psum: Partitions::new(Space::Psum, generation, track),
            sync: SyncUnit::default(),
            engines: new_engines(&spec, generation, strict),
            generation,
            strict,
            queues: new_queues(&spec),
            pe: PeState::default(),
            act: ActState::default(),
            dve: DveState::default(),
            pool: PoolState::default(),
            meetings: Meetings::default(),
            notifications: Vec::new(),
            spec,
        }
    }

    /// Everything but the memories as at the start of a run: engines at their first word, semaphores and
    /// registers zero, queues empty, hidden state at its reset values (chapter 07 section 12.1).
    pub fn restart(&mut self) {
        let spec = self.spec.clone();
        self.engines = new_engines(&spec, self.generation, self.strict);
        self.queues = new_queues(&spec);
        self.sync = SyncUnit::default();
        self.pe = PeState::default();
        self.act = ActState::default();
        self.dve = DveState::default();
        self.pool = PoolState::default();
        self.meetings = Meetings::default();
        self.notifications.clear();
    }

    /// The accumulators that words of ACT use: on MAVERICK those of DVE (decision 05-40).
    pub fn act_accumulator(&mut self) -> &mut [f32; PARTITIONS] {
        match self.generation {
            Generation::Maverick => &mut self.dve.accumulator,
            _ => &mut self.act.accumulator,
        }
    }

    /// SBUF or PSUM.
    pub fn memory(&self, space: Space) -> &Partitions {
        match space {
            Space::Sbuf => &self.sbuf,
            Space::Psum => &self.psum,
        }
    }

    /// SBUF or PSUM, for writing.
    pub fn memory_mut(&mut self, space: Space) -> &mut Partitions {
        match space {
            Space::Sbuf => &mut self.sbuf,
            Space::Psum => &mut self.psum,
        }
    }

    pub(crate) fn save(&self, fill: u8, out: &mut Vec<u8>) {
        // All fields: those of the parts are in `save_control` and `save_hidden`.
        let Core {
            spec: _,
            generation: _,
            strict: _,
            sbuf,
            psum,
            sync: _,
            engines: _,
            queues: _,
            pe: _,
            act: _,
            dve: _,
            pool: _,
            meetings: _,
            notifications: _,
        } = self;
        sbuf.save(fill, out);
        psum.save(fill, out);
        self.save_control(out);
        EngineId::ALL.into_iter().for_each(|engine| self.save_hidden(engine, out));
    }

    /// Appends semaphores, events, engines, queues and notifications.
    pub fn save_control(&self, out: &mut Vec<u8>) {
        self.sync.put(out);
        self.engines.iter().for_each(|engine| engine.save(out));
        self.queues.len().put(out);
        self.queues.iter().for_each(|queue| queue.save(out));
        self.meetings.put(out);
        self.notifications.put(out);
    }

    /// Appends the state of an engine's data path that no memory holds.
    pub fn save_hidden(&self, engine: EngineId, out: &mut Vec<u8>) {
        match engine {
            EngineId::Pe => self.pe.save(out),
            EngineId::Act => self.act.put(out),
            EngineId::Pool => self.pool.put(out),
            EngineId::Dve => self.dve.put(out),
            EngineId::Sp => {}
        }
    }

    /// Brings a fresh core with the same spec to a stored state.
    pub(crate) fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let Core {
            spec,
            generation: _,
            strict: _,
            sbuf,
            psum,
            sync,
            engines,
            queues,
            pe,
            act,
            dve,
            pool,
            meetings,
            notifications,
        } = self;
        sbuf.restore(from)?;
        psum.restore(from)?;
        *sync = Saved::load(from)?;
        engines.iter_mut().try_for_each(|engine| engine.restore(from))?;
        if usize::load(from)? != queues.len() {
            return Err(Damaged("another number of queues"));
        }
        queues.iter_mut().try_for_each(|queue| queue.restore(from))?;
        *meetings = Saved::load(from)?;
        *notifications = Saved::load(from)?;
        pe.restore(from)?;
        *act = Saved::load(from)?;
        *pool = Saved::load(from)?;
        *dve = Saved::load(from)?;
        if act.resident.is_some_and(|set| set >= spec.table_sets.len()) {
            return Err(Damaged("there is no such activation table"));
        }
        if pool.buffer.is_sound() { Ok(()) } else { Err(Damaged("gather buffer")) }
    }
}

saved!(struct ActState { accumulator, resident, convert });
saved!(struct DveState { accumulator, search, mask, random, scalars, batch_norm });

impl PeState {
    fn save(&self, out: &mut Vec<u8>) {
        // What is packed can be made again.
        let PeState { weights, raw, tags, dtype, lanes, transpose, hidden, packed: _ } = self;
        let fresh = Fresh { start: &[], fill: 0 };
        let words =
            |words: &mut dyn Iterator<Item = u32>| words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        put_pieces(&words(&mut weights.iter().map(|weight| weight.to_bits())), fresh, out);
        put_pieces(&words(&mut raw.iter().copied()), fresh, out);
        put_pieces(tags, fresh, out);
        dtype.put(out);
        lanes.put(out);
        transpose.put(out);
        hidden.put(out);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let PeState { weights, raw, tags, dtype, lanes, transpose, hidden, packed } = self;
        *packed = Default::default();
        let mut bytes = vec![0; 4 * weights.len()];
        take_pieces(&mut bytes, from)?;
        let values = bytes.as_chunks().0.iter().map(|bytes| f32::from_bits(u32::from_le_bytes(*bytes)));
        weights.iter_mut().zip(values).for_each(|(weight, value)| *weight = value);
        let mut bytes = vec![0; 4 * raw.len()];
        take_pieces(&mut bytes, from)?;
        let values = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        raw.iter_mut().zip(values).for_each(|(raw, value)| *raw = value);
        take_pieces(tags, from)?;
        *dtype = Saved::load(from)?;
        *lanes = Saved::load(from)?;
        *transpose = Saved::load(from)?;
        *hidden = Saved::load(from)?;
        if (1..=MAX_LANES).contains(lanes) { Ok(()) } else { Err(Damaged("contraction lanes of the array")) }
    }
}
