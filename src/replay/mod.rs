//! Replaying a device recording: the recorded image on a machine, the host's part, the comparison (chapter 10
//! sections 7 and 13).
//!
//! A trace holds every word as the device ran it, the runtime's own code included, but no memory. A replay
//! therefore takes the variables, constants and tables from the container and puts them
//!
//! * where a word of the image has them, for operands that the loader made absolute: word by word, the image is
//!   the container's stream, and the difference of the two addresses is where the variable was;
//! * anywhere, for operands of the table form: the device resolves them at run time, through the table whose
//!   base the set-up code loads from a cell that the image names. The table here is the one that the
//!   container's `dge-table` describes, and the cell holds its address.
//!
//! Everything else that words name and no core answers (control blocks, cells, registers of DMA engines) is
//! plain memory, zero at the start: a zero control block means "run", and a doorbell is a store that the host's
//! part looks at. The engines start at the gate, where they wait between two runs, as the recording does, and
//! the replay ends when all of them wait there again.
//!
//! ```no_run
//! use seqjit::replay::Replay;
//! use seqjit::trace::Trace;
//! use seqjit::{Engine, Options, Program, Schedule, Session};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let program = Program::open("run.neff")?;
//! let replay = Replay::new(Trace::open("run.ntff.gz".as_ref())?, &program)?;
//! let mut session = Session::new(&Engine::new(), &program, Options::default())?;
//! session.set_random_inputs(1);
//! session.run()?;
//! let outcome = replay.run(&session, Schedule::Seeded(7))?;
//! assert!(outcome.is_equal(), "{:?}", outcome.first_difference);
//! # Ok(())
//! # }
//! ```

mod changes;
mod compare;
mod error;
mod host;
mod memory;
mod reach;
mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use seqjit_runtime::fpenv;
use seqjit_runtime::interp::Instruction;
use seqjit_runtime::isa::field::{BranchCmp, BranchMode};
use seqjit_runtime::isa::layouts::{CTRL_BR, CTRL_OM};
use seqjit_runtime::isa::{EngineId, Generation, Layout, WORD_BYTES};
use seqjit_runtime::machine::{CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit_runtime::sequencer::Limits;
use seqjit_runtime::sequencer::csr::Accessor;

pub use changes::Change;
pub use compare::{Difference, Outcome, Source, Tally};
pub use error::{ReplayError, ReplayRunError};
use host::{Host, Script};
use memory::{Memory, locate};
use reach::Reach;

use crate::engine::{Scheduler, Stops};
use crate::trace::{CoreTrace, Trace};
use crate::{OutputError, Program, Schedule, Session, Tensor};

/// Physical cores whose addresses are known.
const KNOWN_CORES: u64 = 8;

/// A recording and the machine that can repeat it.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Recordings in the order of the program's cores.
    cores: Vec<CoreTrace>,
    image: Image,
    gates: Vec<compare::Gates>,
    scripts: Vec<Script>,
}

impl Replay {
    /// Lays out the memory of a recorded run of a program.
    ///
    /// # Errors
    /// The trace does not record this program, its images have no gate, or they name places that cannot be.
    pub fn new(trace: Trace, program: &Program) -> Result<Replay, ReplayError> {
        let cores = in_order(trace, program)?;
        let generation = program.generation();
        let physical: Vec<usize> = cores.iter().map(|c| c.number as usize).collect();
        let streams: Vec<[Stream; 5]> = cores.iter().map(|c| streams(c, generation)).collect();
        let mut memory = Memory::new(program, &physical);
        for (number, core) in cores.iter().enumerate() {
            for engine in EngineId::ALL {
                let stream = &program.image().cores[number].streams[engine.index()];
                for placed in words::pair(&core.graph, engine, core.image(engine), &stream.words)? {
                    memory.place(number, placed)?;
                }
            }
        }
        let variables = memory.variables();
        let known = |address| memory.on_chip(address).ok_or(locate(&variables, address).is_some());
        let mut reach = Reach::new(cores.len());
        for (number, streams) in streams.iter().enumerate() {
            let table = program.image().cores[number].table_base;
            let words = streams.iter().flat_map(|s| s.words.iter()).filter_map(|i| i.body.as_ref().ok());
            for word in words {
                reach.add(number, word, &known, table)?;
            }
        }
        let gates = cores.iter().zip(&streams).map(|(core, streams)| gates(core, streams));
        let gates = gates.collect::<Result<_, _>>()?;
        let scripts = cores.iter().zip(&reach.cores).map(|(core, reach)| script(core, reach)).collect();
        let buffers = memory.with_runtime(variables.clone(), &reach)?;
        let specs = streams.into_iter().enumerate().map(|(number, streams)| {
            let spec = CoreSpec::clone(&program.image().cores[number]);
            // The set-up code loads the table's base; the image has no variables.
            let (variables, table_base) = (Vec::new(), 0);
            Arc::new(CoreSpec { physical: physical[number], streams, variables, table_base, ..spec })
        });
        let image = Image { generation, cores: specs.collect(), buffers };
        Ok(Replay { cores, image, gates, scripts })
    }

    /// The machine's cores, streams and memory.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Runs the recorded image on the inputs of a session whose program has run, and compares what it does
    /// with the recording and its outputs with the session's.
    ///
    /// # Errors
    /// The session has no outputs, a word faults, or the engines do not come back to the gate.
    pub fn run(&self, session: &Session, schedule: Schedule) -> Result<Outcome, ReplayRunError> {
        let outputs = session.program().outputs().iter().map(|o| session.output(&o.name));
        let outputs = outputs.collect::<Result<Vec<Tensor>, OutputError>>()?;
        let options = MachineOptions { trace: true, ..session.machine().options };
        let mut machine = Machine::new(&self.image, options);
        self.set_inputs(session, &mut machine);
        self.start(&mut machine);
        fpenv::with_default(|| self.give_turns(&mut machine, schedule))?;
        let mut outcome = Outcome::default();
        for ((trace, gates), core) in self.cores.iter().zip(&self.gates).zip(&machine.cores) {
            compare::core(&mut outcome, trace, gates, core);
        }
        compare::outputs(&mut outcome, session, &machine, &outputs);
        Ok(outcome)
    }

    fn set_inputs(&self, session: &Session, machine: &mut Machine) {
        for io in session.program().inputs() {
            let source = session.machine().dram.buffer(io.buffer);
            if let Some(buffer) = machine.dram.find(&source.spec.name, source.spec.role) {
                machine.dram.buffer_mut(buffer).overwrite().copy_from_slice(source.bytes());
            }
        }
    }

    /// Starts every engine at its gate, in the ordering mode that the words before the gate set.
    fn start(&self, machine: &mut Machine) {
        for (core, gates) in machine.cores.iter_mut().zip(&self.gates) {
            for (engine, gate) in core.engines.iter_mut().zip(gates) {
                let Some(gate) = *gate else { continue };
                let stream = &core.spec.streams[engine.id.index()];
                let before = stream.words[..gate as usize].iter().rev();
                let mode = before.filter_map(|i| CTRL_OM::of(&i.body.as_ref().ok()?.operands)).next();
                engine.seq.set_ordering_mode(mode.is_some_and(|o| o.mode == 1));
                engine.seq.csr.set_resume_pc(Accessor::Host, stream.base + gate * WORD_BYTES as u64);
                engine.start();
            }
        }
    }

    /// Turns of engines, queues and the host, until nothing can move.
    fn give_turns(&self, machine: &mut Machine, schedule: Schedule) -> Result<(), ReplayRunError> {
        let recorded: usize = self.cores.iter().map(|c| c.instructions.len()).sum();
        // A replay that is right runs half as many words.
        let limit = recorded as u64 + 1024;
        let mut scheduler = Scheduler::new(machine, schedule);
        let mut host = Host::new(&self.scripts, schedule);
        let mut stops = Stops::default();
        let mut retired = 0;
        loop {
            if host.is_eager() {
                host.act(machine);
            }
            match scheduler.turn(machine, u64::MAX, &mut stops, &Limits::default()).map_err(Box::new)? {
                Some(turn) => retired += turn.retired,
                None if host.act(machine) => {}
                None => return Ok(()),
            }
            if retired > limit {
                return Err(ReplayRunError::Endless { retired, recorded });
            }
        }
    }
}

/// The recordings in the order of the program's graphs.
fn in_order(trace: Trace, program: &Program) -> Result<Vec<CoreTrace>, ReplayError> {
    let names = |list: &mut dyn Iterator<Item = &str>| list.collect::<Vec<_>>().join(", ");
    let mut expected = program.neff().graphs.iter().map(|g| g.name.as_str());
    let mut found = trace.cores.iter().map(|c| c.graph.as_str());
    let mismatch = ReplayError::Graphs { found: names(&mut found), expected: names(&mut expected) };
    if trace.cores.len() != program.cores() {
        return Err(mismatch);
    }
    let mut left: Vec<CoreTrace> = trace.cores;
    let mut cores = Vec::new();
    for graph in &program.neff().graphs {
        let Some(position) = left.iter().position(|c| c.graph == graph.name) else { return Err(mismatch) };
        let core = left.remove(position);
        if core.number >= KNOWN_CORES {
            return Err(ReplayError::Core { graph: core.graph, core: core.number });
        }
        cores.push(core);
    }
    Ok(cores)
}

fn streams(core: &CoreTrace, generation: Generation) -> [Stream; 5] {
    EngineId::ALL.map(|engine| {
        let image = core.image(engine);
        let words = image.words.iter().map(|word| Instruction::new(*word, generation)).collect();
        Stream { base: image.address, words, ends_gracefully: false }
    })
}

/// The gates of a core: where its engines wait between two runs.
fn gates(core: &CoreTrace, streams: &[Stream; 5]) -> Result<compare::Gates, ReplayError> {
    let mut gates = [None; 5];
    for engine in EngineId::ALL.into_iter().filter(|engine| !core.image(*engine).words.is_empty()) {
        let gate = gate(&streams[engine.index()].words);
        let missing = || ReplayError::Gate { graph: core.graph.clone(), engine };
        gates[engine.index()] = Some(gate.ok_or_else(missing)? as u64);
    }
    Ok(gates)
}

/// An image ends with a branch back; the first word from its target on that waits is the gate (chapter 10
/// section 7).
fn gate(words: &[Instruction]) -> Option<usize> {
    let last = words.last()?.body.as_ref().ok()?;
    let branch = CTRL_BR::of(&last.operands)?;
    let back = branch.cmp_op == BranchCmp::ALWAYS && branch.target_mode == BranchMode::RELATIVE;
    let displacement = i64::from(branch.br_immediate as u32 as i32);
    let target = (words.len() as i64 - 1).checked_add(displacement / WORD_BYTES as i64)?;
    let target = usize::try_from(target).ok().filter(|_| back)?;
    let body = words.iter().enumerate().skip(target);
    body.filter_map(|(slot, word)| Some((slot, word.body.as_ref().ok()?)))
        .find(|(_, word)| reach::waits(word))
        .map(|(slot, _)| slot)
}

/// The host's part of a core: the changes over the bus that no word of any core explains.
fn script(core: &CoreTrace, reach: &reach::CoreReach) -> Script {
    let mut script = Script { bells: reach.bells.iter().cloned().collect(), ..Script::default() };
    let mut values: BTreeMap<u8, u32> = BTreeMap::new();
    for record in core.changes.iter().filter(|r| r.engine.is_none()) {
        let cell = (record.semaphore, record.index);
        let posted = record.semaphore && reach.posted.contains(&record.index);
        match record.semaphore {
            _ if posted || reach.stored.contains(&cell) => {}
            true => {
                let before = values.insert(record.index, record.value).unwrap_or(0);
                script.increments.push_back((record.index, record.value.wrapping_sub(before)));
            }
            false => script.events.push_back(record.index),
        }
    }
    script
}
