//! Two machines with the same contents: one interprets, the other runs native code.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::act::{FUNCTIONS, TableSet};
use seqjit::runtime::interp::{Instruction, Translated, dma};
use seqjit::runtime::isa::field::Imm;
use seqjit::runtime::isa::layouts::EXTENDED_RDMA_DESC_GEN;
use seqjit::runtime::isa::{
    EngineId, Family, Generation, Layout, Operands, PARTITIONS, Space, Word, decode, opcode_info,
};
use seqjit::runtime::machine::dma::{Block, Move, MoveOp, Pattern, QueueSpec};
use seqjit::runtime::machine::soc::{SBUF_BASE, Target};
use seqjit::runtime::machine::{
    self, BufferRole, BufferSpec, CoreSpec, HBM_BASE, Image, Machine, MachineOptions, Stream,
};
use seqjit::runtime::num::{Fp8, Level, with_level};
use seqjit::runtime::parallel::Workers;
use seqjit::runtime::sequencer::{Limits, engine_turn_within};
use seqjit::{Engine, EngineOptions, Refusal, Tier, Translator};

use crate::state;
use crate::words::{Case, REGISTERS, WINDOW, number};

/// Bytes of the one buffer in device memory.
pub const BUFFER: usize = 4096;
/// The queue with static blocks.
pub const QUEUE: &str = "static";
/// Its blocks, by id from 0 on.
pub const QUEUE_BLOCKS: u32 = 3;

/// The CPU levels of this host.
fn levels() -> Vec<Level> {
    Level::ALL.into_iter().filter(|level| *level <= Level::host()).collect()
}

/// An engine for each CPU level of this host.
pub fn engines(defect: Option<u8>) -> Vec<Engine> {
    let engine = |cpu| {
        let mut options = EngineOptions::default();
        options.cpu = cpu;
        Engine::build(options, defect).expect("a level of the host")
    };
    levels().into_iter().map(engine).collect()
}

/// Two machines, and what they have seen.
pub struct Pair {
    plain: Side,
    native: Side,
    translator: Translator,
}

struct Side {
    machine: Machine,
    level: Level,
    /// Threads that help.
    workers: Option<&'static Workers>,
}

/// Two threads that help with words of any size.
fn workers() -> &'static Workers {
    static WORKERS: OnceLock<Workers> = OnceLock::new();
    WORKERS.get_or_init(|| Workers::new(NonZeroUsize::new(3).expect("not zero")).expect("threads").eager())
}

impl Pair {
    /// Machines filled with random data. The one runs at a random CPU level of the host, the other at that of one of
    /// the engines, sometimes on several threads. Everything depends on the seed alone.
    pub fn new(generation: Generation, engines: &[Engine], cores: usize, seed: u64) -> Pair {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let options = MachineOptions {
            strict: false,
            trace: rng.random_bool(0.1),
            check: rng.random_bool(0.1),
            ..MachineOptions::default()
        };
        let mut machines = [(); 2].map(|()| machine(generation, cores, options));
        fill(&mut machines, &mut rng);
        let engine = engines.choose(&mut rng).expect("an engine");
        let level = *levels().choose(&mut rng).expect("a level");
        let workers = rng.random_bool(0.2).then(workers);
        let [plain, native] = machines;
        Pair {
            plain: Side { machine: plain, level, workers: None },
            native: Side { machine: native, level: engine.options().cpu, workers },
            translator: Translator::new(engine, Tier::Jit),
        }
    }

    /// Runs a word on both; what differs then.
    pub fn run(&mut self, case: &Case) -> Option<String> {
        let plain = self.plain.run(case, None);
        let native = self.native.run(case, Some(&self.translator));
        if plain != native {
            return Some(format!("turns: {plain:?} and {native:?}"));
        }
        let pe = opcode_info(case.word.opcode()).is_some_and(|i| i.family == Family::Pe);
        let buffer = |side: &Side| side.machine.dram.buffer(0).bytes().to_vec();
        let cores = || {
            case.crew().into_iter().find_map(|(core, engine)| {
                let (a, b) = (&self.plain.machine.cores[core], &self.native.machine.cores[core]);
                let index = engine.index();
                state::memories(a, b, WINDOW as usize)
                    .or_else(|| state::synchronisation(a, b))
                    .or_else(|| state::engine(&a.engines[index], &b.engines[index]))
                    .or_else(|| state::accumulators(a, b))
                    .or_else(|| state::hidden(a, b))
                    .or_else(|| if pe { state::weights(&a.pe, &b.pe) } else { None })
            })
        };
        cores().or_else(|| (buffer(&self.plain) != buffer(&self.native)).then(|| "device memory".into()))
    }

    /// What differs anywhere in the two machines.
    pub fn difference(&self) -> Option<String> {
        state::difference(&self.plain.machine, &self.native.machine)
    }

    /// Words of an opcode that the interpreter ran in the native machine although their checks pass, by reason.
    pub fn fallbacks(&self, opcode: u8) -> Vec<(Refusal, u64)> {
        let fallbacks = self.translator.counters().fallbacks.into_iter();
        let other = |why: &Refusal| matches!(why, Refusal::Opcode(byte) if *byte != opcode);
        fallbacks.filter(|(why, _)| *why != Refusal::Checks && !other(why)).collect()
    }

    /// Words that ran in native code.
    pub fn translated(&self) -> u64 {
        self.translator.counters().words
    }

    /// Words that the interpreter's functions ran because the opcode table says so.
    pub fn called(&self) -> u64 {
        self.translator.counters().calls
    }
}

impl Side {
    /// Runs the words of a case on engines that have just started, then what they have put into queues; what the turns
    /// did.
    fn run(&mut self, case: &Case, translated: Option<&dyn Translated>) -> Vec<String> {
        const TURNS: usize = 4;
        let crew = case.crew();
        crew.iter().for_each(|(core, engine)| self.load(case, *core, *engine));
        let limits = Limits { translated, ..Limits::default() };
        let mut told = Vec::new();
        let run = || {
            'turns: for (core, engine) in std::iter::repeat_n(crew, TURNS).flatten() {
                match engine_turn_within(&mut self.machine, core, engine, case.limit, &limits) {
                    Ok(turn) => told.push(format!("{turn:?}")),
                    Err(fault) => {
                        told.push(format!("{fault:?}"));
                        break 'turns;
                    }
                }
            }
            told.extend(transfer(&mut self.machine));
        };
        with_level(self.level, || match self.workers {
            Some(workers) => workers.help(run),
            None => run(),
        });
        told
    }

    fn load(&mut self, case: &Case, core: usize, engine: EngineId) {
        let words =
            case.words().map(|word| Instruction::new(seen_by(core, word, case.generation), case.generation));
        let stream = Stream { base: 0, words: words.collect(), ends_gracefully: true };
        let state = &mut self.machine.cores[core].engines[engine.index()];
        *state =
            machine::Engine::new(engine, case.generation, &stream, state.legal.clone(), state.table_base);
        state.registers[..REGISTERS].copy_from_slice(&case.registers);
        state.start();
        self.machine.cores[core].meetings = Default::default();
    }
}

/// The word as it stands in the stream of a core: transfers to the other core name that one.
fn seen_by(core: usize, mut word: Word, generation: Generation) -> Word {
    let decoded = decode(&word, generation);
    if core == 1
        && let Ok(Operands::EXTENDED_RDMA_DESC_GEN(o)) = decoded.map(|d| d.operands)
    {
        EXTENDED_RDMA_DESC_GEN { remote_core_id: Imm(1 ^ o.remote_core_id.0), ..o }.write(&mut word);
    }
    word
}

/// Empties all queues; what failed.
fn transfer(machine: &mut Machine) -> Vec<String> {
    let queues =
        (0..machine.cores.len()).flat_map(|c| (0..machine.cores[c].queues.len()).map(move |q| (c, q)));
    let queues: Vec<(usize, usize)> = queues.collect();
    let mut failed = Vec::new();
    for (core, queue) in queues {
        loop {
            match dma::run_next(machine, core, queue) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) => failed.push(format!("{fault:?}")),
            }
        }
        machine.cores[core].queues[queue].next_in_ring = 0;
    }
    failed
}

fn machine(generation: Generation, cores: usize, options: MachineOptions) -> Machine {
    let core = |physical: usize| CoreSpec {
        name: "diff".into(),
        streams: std::array::from_fn(|_| Stream { base: 0, words: Arc::new([]), ends_gracefully: true }),
        queues: queues(physical),
        variables: vec![Some(SBUF_BASE), Some(HBM_BASE)],
        table_base: 0,
        physical,
        dve_programs: None,
        fp8: Fp8::default(),
        replica_groups: vec![(0..cores as u32).collect()],
        table_sets: tables(),
    };
    let buffer = BufferSpec {
        name: "buffer".into(),
        address: HBM_BASE,
        size: BUFFER,
        role: BufferRole::Scratch,
        initial: None,
    };
    let image =
        Image { generation, cores: (0..cores).map(|n| Arc::new(core(n))).collect(), buffers: vec![buffer] };
    Machine::new(&image, options)
}

/// A queue for generated DMA of each engine, and one with static blocks, which swap bytes of both memories.
fn queues(core: usize) -> Vec<Arc<QueueSpec>> {
    let dynamic = EngineId::ALL.map(|owner| {
        let name = format!("dynamic {owner}");
        QueueSpec { name, owner, dynamic: true, blocks: Vec::new() }
    });
    let pattern = |start| Pattern { start, dims: vec![(64, 1), (2, 128)], limit: None };
    let block = |id: u32| {
        let there = pattern(Target::Dram { buffer: 0, offset: 256 * id as usize });
        let here = pattern(Target::Sbuf { core, offset: 100 * u64::from(id) });
        let moves = [
            Move { source: there.clone(), destination: here.clone(), op: MoveOp::Copy },
            Move { source: here, destination: there, op: MoveOp::Copy },
        ];
        Block { id, semaphore: Some(id as u8), moves: moves[id as usize % 2..].into(), refused: None }
    };
    let blocks = (0..QUEUE_BLOCKS).map(block).collect();
    let fixed = QueueSpec { name: QUEUE.into(), owner: EngineId::Sp, dynamic: false, blocks };
    dynamic.into_iter().chain([fixed]).map(Arc::new).collect()
}

/// Functions with a table, each in a set of its own.
const TABLED: [&str; 3] = ["exp", "tanh", "sqrt"];

fn tables() -> Vec<Arc<TableSet>> {
    static TABLES: OnceLock<Vec<Arc<TableSet>>> = OnceLock::new();
    let generate = |name: &&str| {
        let function = FUNCTIONS.iter().find(|f| f.name == *name).expect("a function of this name");
        Arc::new(seqjit::tables::generate(name, &[function.id.expect("a number")]).unwrap())
    };
    TABLES.get_or_init(|| TABLED.iter().map(generate).collect()).clone()
}

/// Random contents, the same in both machines, for what words use of the memories and for what they find
/// elsewhere.
fn fill([a, b]: &mut [Machine; 2], rng: &mut ChaCha8Rng) {
    let mut machines = [a, b];
    fill_memories(&mut machines, rng);
    let mut buffer = vec![0; BUFFER];
    rng.fill_bytes(&mut buffer);
    let semaphores = std::array::from_fn(|_| rng.random_range(0..6));
    let events = std::array::from_fn(|_| rng.random());
    let accumulators = [(); 2].map(|()| std::array::from_fn(|_| canonical(number(rng))));
    let resident = rng.random_bool(0.8).then(|| rng.random_range(0..TABLED.len()));
    for machine in machines {
        machine.dram.buffer_mut(0).overwrite().copy_from_slice(&buffer);
        for core in &mut machine.cores {
            (core.sync.semaphores, core.sync.events) = (semaphores, events);
            [core.act.accumulator, core.dve.accumulator] = accumulators;
            core.act.resident = resident;
        }
        machine.start_all();
    }
}

/// Random contents, the same in all machines, for what words use of SBUF and PSUM.
pub fn fill_memories(machines: &mut [&mut Machine], rng: &mut ChaCha8Rng) {
    let mut row = vec![0; WINDOW as usize];
    let cores = machines.first().map_or(0, |machine| machine.cores.len());
    for (core, space) in (0..cores).flat_map(|core| [(core, Space::Sbuf), (core, Space::Psum)]) {
        for partition in 0..PARTITIONS {
            row.chunks_exact_mut(4).for_each(|e| e.copy_from_slice(&number(rng).to_le_bytes()));
            for machine in &mut *machines {
                let memory = machine.cores[core].memory_mut(space);
                memory.partition_mut(partition)[..row.len()].copy_from_slice(&row);
                memory.note_written(partition, 0, row.len());
            }
        }
    }
}

/// A number as a word could have produced it: every NaN is the same one.
fn canonical(bits: u32) -> f32 {
    let value = f32::from_bits(bits);
    if value.is_nan() { f32::from_bits(0x7FC0_0000) } else { value }
}
