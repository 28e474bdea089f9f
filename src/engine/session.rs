//! A session: one machine that runs one program.

use seqjit_runtime::act::ActMode;
use seqjit_runtime::fpenv;
use seqjit_runtime::interp::Fault;
use seqjit_runtime::isa::{Dtype, EngineId};
use seqjit_runtime::machine::{BufferRole, Machine, MachineOptions};

use super::deadlock::Deadlock;
use super::schedule::{Schedule, Scheduler};
use super::stops::{StopError, Stops};
use super::{Engine, random};
use crate::load::{IoTensor, WordFinding, refuse};
use crate::{Program, Tensor};

/// How a session behaves.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Refuse what the vendor's validators refuse; else the rules that the manual names become warnings.
    pub strict: bool,
    /// Check all streams when the session is made. Without it an illegal word faults when it is reached.
    pub validate: bool,
    /// Fault on the first read of a byte that nothing has written.
    pub check: bool,
    /// Initial value of memory that is neither input nor constant.
    pub fill: u8,
    /// Order of turns.
    pub schedule: Schedule,
    /// Stop after so many words of all engines.
    pub max_words: Option<u64>,
    /// Refuse programs whose memory takes more bytes than this.
    pub max_memory: Option<u64>,
    /// Log starts, ends and semaphore changes of all words as notifications.
    pub trace: bool,
    /// How activation functions are evaluated.
    pub activation: ActMode,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strict: true,
            validate: true,
            check: false,
            fill: 0,
            schedule: Schedule::Fixed,
            max_words: None,
            max_memory: None,
            trace: false,
            activation: ActMode::default(),
        }
    }
}

/// Why a session cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Words are illegal or unsupported.
    #[error("{} words cannot run; the first: {}", .0.len(), .0[0])]
    Illegal(Vec<WordFinding>),
    /// The program needs too much memory.
    #[error("the program needs {needed} bytes of memory, more than the limit of {limit}")]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// [`Options::max_memory`].
        limit: u64,
    },
}

/// Why an input is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InputError {
    /// No such input.
    #[error("no input '{name}'; the program has: {known}")]
    Unknown {
        /// Name given.
        name: String,
        /// Names of the program.
        known: String,
    },
    /// Datatype or shape differ.
    #[error("input '{name}' is {found}, expected {expected}")]
    Mismatch {
        /// Name.
        name: String,
        /// Datatype and shape given.
        found: String,
        /// Datatype and shape of the program.
        expected: String,
    },
}

/// Why an output cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OutputError {
    /// No such output.
    #[error("no output '{name}'; the program has: {known}")]
    Unknown {
        /// Name given.
        name: String,
        /// Names of the program.
        known: String,
    },
    /// The program has not written all of it.
    #[error("output '{name}': byte {offset} of {size} was never written")]
    NotWritten {
        /// Name.
        name: String,
        /// First byte that was not written.
        offset: usize,
        /// Bytes of the output.
        size: usize,
    },
}

/// Why a run ended in the normal way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Exit {
    /// All streams ended and all transfers are done.
    Finished,
    /// [`Options::max_words`] words have retired.
    Budget,
    /// An engine is about to run a word of [`Session::stop_at`]: its waits hold, it has done nothing yet.
    /// [`Session::resume`] goes on.
    Stopped {
        /// Core number.
        core: usize,
        /// Engine.
        engine: EngineId,
        /// Slot of the word in the stream.
        slot: u64,
    },
}

/// Why a run failed. The machine stays as it was at that point, for inspection.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Inputs have not been set.
    #[error("inputs not set: {}", .0.join(", "))]
    MissingInputs(Vec<String>),
    /// There is no stopped run to resume.
    #[error("no run has stopped that could go on")]
    NotStopped,
    /// A word faulted.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// Nothing can go on.
    #[error(transparent)]
    Deadlock(#[from] Deadlock),
    /// The program ended without writing all of an output.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Counts of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Words retired by all engines.
    pub retired: u64,
    /// Turns given.
    pub turns: u64,
    /// DMA transfers done.
    pub transfers: u64,
    /// Bytes that they read.
    pub dma_read: u64,
    /// Bytes that they wrote.
    pub dma_written: u64,
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Words retired by all engines.
    pub retired: u64,
    /// Turns given.
    pub turns: u64,
}

/// Turns between two calls of an observer: often enough for the eye, too seldom to slow a run.
const OBSERVED_TURNS: u64 = 32;

/// A run under way.
struct Course {
    scheduler: Scheduler,
    counters: Counters,
}

/// What a run did.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Why it ended.
    pub exit: Exit,
    /// Counts.
    pub counters: Counters,
    /// Things worth telling that did not stop it.
    pub warnings: Vec<String>,
}

/// One machine that runs one program, as often as wanted.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seqjit::{Engine, Options, Program, Session};
///
/// let program = Program::open("examples/vector_add.neff")?;
/// let mut session = Session::new(&Engine::new(), &program, Options::default())?;
/// session.set_random_inputs(1);
/// let report = session.run()?;
/// let sum = session.output("out")?;
/// println!("{} words, first bytes {:?}", report.counters.retired, &sum.data[..4]);
/// # Ok(())
/// # }
/// ```
pub struct Session {
    program: Program,
    options: Options,
    machine: Machine,
    inputs_set: Vec<bool>,
    stops: Stops,
    stopped: Option<Course>,
    _engine: Engine,
}

impl Session {
    /// Makes a machine for a program. Memory is zero, or [`Options::fill`], at creation and at
    /// [`Session::reset`], not before every run.
    pub fn new(engine: &Engine, program: &Program, options: Options) -> Result<Session, SessionError> {
        let needed = memory_needed(program, options.check);
        if let Some(limit) = options.max_memory.filter(|limit| needed > *limit) {
            return Err(SessionError::Memory { needed, limit });
        }
        let findings = program.check(options.strict);
        let fatal: Vec<WordFinding> = findings.iter().filter(|f| f.is_fatal()).cloned().collect();
        let machine_options = MachineOptions {
            strict: options.strict,
            check: options.check,
            fill: options.fill,
            trace: options.trace,
            activation: options.activation,
        };
        let mut machine = if fatal.is_empty() {
            Machine::new(program.image(), machine_options)
        } else if options.validate {
            return Err(SessionError::Illegal(fatal));
        } else {
            let mut image = program.image().clone();
            refuse(&mut image, &fatal);
            Machine::new(&image, machine_options)
        };
        for warning in findings.iter().filter(|f| !f.is_fatal()) {
            machine.warn(warning.to_string());
        }
        let inputs_set = vec![false; program.inputs().len()];
        Ok(Session {
            program: program.clone(),
            options,
            machine,
            inputs_set,
            stops: Stops::default(),
            stopped: None,
            _engine: engine.clone(),
        })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The machine: memories, registers, semaphores, notifications.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The machine, to be changed between runs.
    pub fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// Sets an input. Datatype and shape must be the program's; an unknown datatype of the program takes
    /// any tensor with the right number of bytes.
    pub fn set_input(&mut self, name: &str, tensor: &Tensor) -> Result<(), InputError> {
        let inputs = self.program.inputs();
        let at = inputs
            .iter()
            .position(|i| i.name == name)
            .ok_or_else(|| InputError::Unknown { name: name.into(), known: names(inputs) })?;
        let io = &inputs[at];
        let buffer = self.machine.dram.buffer_mut(io.buffer);
        let same = io.dtype == Dtype::INVALID || (tensor.dtype == io.dtype && tensor.shape == io.shape);
        if !same || tensor.data.len() != buffer.spec.size {
            return Err(InputError::Mismatch {
                name: name.into(),
                found: describe(tensor.dtype, &tensor.shape),
                expected: describe(io.dtype, &io.shape),
            });
        }
        buffer.overwrite().copy_from_slice(&tensor.data);
        self.inputs_set[at] = true;
        Ok(())
    }

    /// Fills every input that has not been set with uniform random numbers that depend on nothing but the
    /// seed, the input's name, datatype and size: floats in [-1, 1), integers over their whole range.
    pub fn set_random_inputs(&mut self, seed: u64) {
        for (io, set) in self.program.inputs().iter().zip(&mut self.inputs_set) {
            if !*set {
                random::fill(seed, &io.name, io.dtype, self.machine.dram.buffer_mut(io.buffer).overwrite());
                *set = true;
            }
        }
    }

    /// The current contents of an input.
    pub fn input(&self, name: &str) -> Option<Tensor> {
        self.program.inputs().iter().find(|i| i.name == name).map(|io| self.tensor(io))
    }

    /// Reads an output, all of which the last run must have written.
    pub fn output(&self, name: &str) -> Result<Tensor, OutputError> {
        let outputs = self.program.outputs();
        let io = outputs
            .iter()
            .find(|o| o.name == name)
            .ok_or_else(|| OutputError::Unknown { name: name.into(), known: names(outputs) })?;
        self.check_written(io)?;
        Ok(self.tensor(io))
    }

    fn tensor(&self, io: &IoTensor) -> Tensor {
        let data = self.machine.dram.buffer(io.buffer).bytes().to_vec();
        Tensor { dtype: io.dtype, shape: io.shape.clone(), data }
    }

    fn check_written(&self, io: &IoTensor) -> Result<(), OutputError> {
        let buffer = self.machine.dram.buffer(io.buffer);
        let size = buffer.spec.size;
        match buffer.first_unwritten(0, size) {
            Some(offset) => Err(OutputError::NotWritten { name: io.name.clone(), offset, size }),
            None => Ok(()),
        }
    }

    /// Makes a run stop when an engine is about to run a word, the first time only. The word counts as about
    /// to run once the engine has come to it and its waits hold. Stopping does not change what the run does.
    pub fn stop_at(&mut self, core: usize, engine: EngineId, slot: u64) -> Result<(), StopError> {
        self.stops.insert(&self.machine, core, engine, slot)
    }

    /// Runs the program from its first words to its end.
    pub fn run(&mut self) -> Result<Report, RunError> {
        self.run_with(&mut |_| {})
    }

    /// [`Session::run`], telling `observe` now and then how far it is.
    pub fn run_with(&mut self, observe: &mut dyn FnMut(&Progress)) -> Result<Report, RunError> {
        let missing: Vec<String> = self
            .program
            .inputs()
            .iter()
            .zip(&self.inputs_set)
            .filter(|(_, set)| !**set)
            .map(|(io, _)| io.name.clone())
            .collect();
        if !missing.is_empty() {
            return Err(RunError::MissingInputs(missing));
        }
        for core in &mut self.machine.cores {
            core.restart();
        }
        for id in 0..self.machine.dram.buffers().len() {
            if self.machine.dram.buffer(id).spec.role == BufferRole::Output {
                self.machine.dram.buffer_mut(id).forget_written();
            }
        }
        self.machine.start_all();
        let scheduler = Scheduler::new(&self.machine, self.options.schedule);
        self.go_on(Course { scheduler, counters: Counters::default() }, observe)
    }

    /// Goes on after [`Exit::Stopped`]. Counters are those of the whole run.
    pub fn resume(&mut self) -> Result<Report, RunError> {
        self.resume_with(&mut |_| {})
    }

    /// [`Session::resume`], telling `observe` now and then how far it is.
    pub fn resume_with(&mut self, observe: &mut dyn FnMut(&Progress)) -> Result<Report, RunError> {
        let course = self.stopped.take().ok_or(RunError::NotStopped)?;
        self.go_on(course, observe)
    }

    fn go_on(&mut self, mut course: Course, observe: &mut dyn FnMut(&Progress)) -> Result<Report, RunError> {
        self.stopped = None;
        let exit = fpenv::with_default(|| self.give_turns(&mut course, observe))?;
        let mut counters = course.counters;
        for queue in self.machine.cores.iter().flat_map(|c| &c.queues) {
            counters.transfers += queue.completed;
            counters.dma_read += queue.bytes.0;
            counters.dma_written += queue.bytes.1;
        }
        match exit {
            Exit::Finished => self.program.outputs().iter().try_for_each(|io| self.check_written(io))?,
            Exit::Stopped { .. } => self.stopped = Some(course),
            Exit::Budget => {}
        }
        Ok(Report { exit, counters, warnings: self.machine.warnings.clone() })
    }

    fn give_turns(
        &mut self,
        course: &mut Course,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Exit, RunError> {
        let Course { scheduler, counters } = course;
        loop {
            let left = self.options.max_words.map_or(u64::MAX, |max| max.saturating_sub(counters.retired));
            if left == 0 {
                return Ok(Exit::Budget);
            }
            let ended = self.engines_ended();
            match scheduler.turn(&mut self.machine, left, &mut self.stops).map_err(Box::new)? {
                Some(turn) => {
                    counters.retired += turn.retired;
                    if let Some((core, engine, slot)) = self.stops.take_reached() {
                        return Ok(Exit::Stopped { core, engine, slot });
                    }
                    counters.turns += 1;
                    if counters.turns % OBSERVED_TURNS == 0 {
                        observe(&Progress { retired: counters.retired, turns: counters.turns });
                    }
                    if ended {
                        self.machine.warn("a DMA transfer was still open when all streams had ended".into());
                    }
                }
                None if self.engines_ended() => return Ok(Exit::Finished),
                None => return Err(Deadlock::diagnose(&self.machine).into()),
            }
        }
    }

    fn engines_ended(&self) -> bool {
        !self.machine.cores.iter().flat_map(|c| &c.engines).any(|e| e.is_active())
    }

    /// Back to the state at creation: memory, inputs, stops and warnings are forgotten.
    pub fn reset(&mut self) {
        self.machine.reset();
        self.stops = Stops::default();
        self.stopped = None;
        self.inputs_set.fill(false);
    }
}

/// Host bytes of a machine for this program, decoded words aside.
fn memory_needed(program: &Program, check: bool) -> u64 {
    let geometry = program.generation().geometry();
    let rows = u64::from(geometry.sbuf_active) + u64::from(seqjit_runtime::isa::PSUM_ACTIVE);
    let on_chip = rows * seqjit_runtime::isa::PARTITIONS as u64 * program.cores() as u64;
    let dram: u64 = program.image().buffers.iter().map(|b| b.size as u64).sum();
    (on_chip + dram) * if check { 9 } else { 8 } / 8
}

fn names(tensors: &[IoTensor]) -> String {
    tensors.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn describe(dtype: Dtype, shape: &[usize]) -> String {
    format!("{} {shape:?}", dtype.text())
}
