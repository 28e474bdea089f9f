//! A session: one machine that runs one program.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use seqjit_runtime::isa::{Dtype, EngineId};
use seqjit_runtime::machine::{Machine, MachineOptions};
use seqjit_runtime::races::RaceReport;

use super::observer::Watched;
use super::pieces::{Pace, Piece};
use super::report::{InputError, Options, OutputError, SessionError};
use super::run::Course;
use super::stops::{StopError, Stops};
use super::tier::Tier;
use super::translated::Translator;
use super::{Engine, random};
use crate::load::{IoTensor, WordFinding, refuse};
use crate::{Program, Tensor};

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
    pub(super) engine: Engine,
    pub(super) program: Program,
    pub(super) options: Options,
    pub(super) machine: Machine,
    pub(super) inputs_set: Vec<bool>,
    pub(super) stops: Stops,
    pub(super) stopped: Option<Course>,
    /// Core, engine, address.
    pub(super) breakpoints: Vec<(usize, EngineId, u64)>,
    pub(super) pause: Arc<AtomicBool>,
    pub(super) translator: Option<Translator>,
    /// Runs end behind one piece of this size.
    pub(super) piecewise: Option<Pace>,
    pub(super) last_piece: Piece,
    pub(super) watched: Option<Watched>,
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
        let native = options.tier != Tier::Interp && !options.races;
        let translator = native.then(|| Translator::new(engine, options.tier));
        let inputs_set = vec![false; program.inputs().len()];
        Ok(Session {
            engine: engine.clone(),
            program: program.clone(),
            options,
            machine,
            inputs_set,
            stops: Stops::default(),
            stopped: None,
            breakpoints: Vec::new(),
            pause: Arc::default(),
            translator,
            piecewise: None,
            last_piece: Piece::NONE,
            watched: None,
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

    /// The races that the run has found so far; `None` without [`Options::races`], or before the first run.
    pub fn races(&self) -> Option<&RaceReport> {
        self.machine.races()
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

    pub(super) fn check_written(&self, io: &IoTensor) -> Result<(), OutputError> {
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
