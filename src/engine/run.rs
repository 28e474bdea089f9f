//! Running a session: from the start, to a point, further; pausing from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use seqjit_runtime::interp::Translated;
use seqjit_runtime::isa::{EngineId, WORD_BYTES};
use seqjit_runtime::machine::{BufferRole, Machine};
use seqjit_runtime::sequencer::{Cut, HaltReason, Limits, Phase, Sequencer, Turn};

use super::deadlock::Deadlock;
use super::pieces::Pace;
use super::report::{Counters, Exit, Progress, Report, RunError};
use super::schedule::Scheduler;
use super::session::Session;
use super::translated::Translator;

/// Turns between two calls of an observer: often enough for the eye, too seldom to slow a run.
const OBSERVED_TURNS: u64 = 32;

/// A run under way.
pub(super) struct Course {
    pub(super) scheduler: Scheduler,
    pub(super) counters: Counters,
}

/// Where a run stops by itself. Stopping does not change what the run does.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Until<'a> {
    /// At its end.
    End,
    /// When so many words of all engines have retired since the start of the run.
    Words(u64),
    /// When an engine is about to run a word: it has come to it and its waits hold.
    Word {
        /// Core number.
        core: usize,
        /// Engine.
        engine: EngineId,
        /// Slot in the stream.
        slot: u64,
    },
    /// When a semaphore has reached a value.
    Semaphore {
        /// Core number.
        core: usize,
        /// Semaphore.
        index: u8,
        /// The least value to stop at.
        value: u32,
    },
    /// When a condition holds behind a word or a transfer.
    Condition(&'a dyn Fn(&Machine) -> bool),
}

/// Pauses a session from another thread.
#[derive(Clone, Debug)]
pub struct Pauser(Arc<AtomicBool>);

impl Pauser {
    /// The run stops with [`Exit::Paused`] between two words; [`Session::resume`] goes on. A session that
    /// does not run pauses at the start of its next run.
    pub fn pause(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Session {
    /// Runs the program from its first words to its end.
    pub fn run(&mut self) -> Result<Report, RunError> {
        self.run_with(&mut |_| {})
    }

    /// [`Session::run`], telling `observe` now and then how far it is.
    pub fn run_with(&mut self, observe: &mut dyn FnMut(&Progress)) -> Result<Report, RunError> {
        self.start()?;
        self.go_on(Until::End, observe)
    }

    /// Starts a run, or goes on with one that has stopped, up to a point.
    pub fn run_until(&mut self, until: Until<'_>) -> Result<Report, RunError> {
        self.run_until_with(until, &mut |_| {})
    }

    /// [`Session::run_until`], telling `observe` now and then how far it is.
    pub fn run_until_with(
        &mut self,
        until: Until<'_>,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Report, RunError> {
        if self.stopped.is_none() {
            self.start()?;
        }
        self.go_on(until, observe)
    }

    /// Goes on after a stop. Counters are those of the whole run.
    pub fn resume(&mut self) -> Result<Report, RunError> {
        self.resume_with(&mut |_| {})
    }

    /// [`Session::resume`], telling `observe` now and then how far it is.
    pub fn resume_with(&mut self, observe: &mut dyn FnMut(&Progress)) -> Result<Report, RunError> {
        self.go_on(Until::End, observe)
    }

    /// Something that pauses this session from another thread.
    pub fn pauser(&self) -> Pauser {
        Pauser(self.pause.clone())
    }

    /// Prepares a run: engines at their first words with the doorbell rung, nothing executed. Stops at once
    /// in the sense of [`Session::resume`].
    pub fn start(&mut self) -> Result<(), RunError> {
        let inputs = self.program.inputs().iter().zip(&self.inputs_set);
        let missing: Vec<String> = inputs.filter(|(_, set)| !**set).map(|(io, _)| io.name.clone()).collect();
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
        self.arm_breakpoints();
        if let Some(translator) = &self.translator {
            translator.restart();
        }
        self.machine.watch_races(self.options.races);
        self.machine.start_all();
        let scheduler = Scheduler::new(&self.machine, self.options.schedule);
        self.stopped = Some(Course { scheduler, counters: Counters::default() });
        Ok(())
    }

    fn go_on(&mut self, until: Until<'_>, observe: &mut dyn FnMut(&Progress)) -> Result<Report, RunError> {
        if let Until::Word { core, engine, slot } = until {
            self.stops.insert(&self.machine, core, engine, slot)?;
        }
        let mut course = self.stopped.take().ok_or(RunError::NotStopped)?;
        let exit = self.drive(&mut course, until, observe)?;
        let mut counters = course.counters;
        for queue in self.machine.cores.iter().flat_map(|c| &c.queues) {
            counters.transfers += queue.completed;
            counters.dma_read += queue.bytes.0;
            counters.dma_written += queue.bytes.1;
        }
        if exit == Exit::Finished {
            self.program.outputs().iter().try_for_each(|io| self.check_written(io))?;
        } else {
            self.stopped = Some(course);
        }
        let translations = self.translator.as_ref().map(Translator::counters).unwrap_or_default();
        let races = self.machine.races().cloned();
        Ok(Report { exit, counters, translations, races, warnings: self.machine.warnings.clone() })
    }

    /// Gives turns until something ends the run or stops it.
    pub(super) fn drive(
        &mut self,
        course: &mut Course,
        until: Until<'_>,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Exit, RunError> {
        self.leave_debug_stops();
        let watched = self.watched.is_some();
        course.scheduler.pace = self.piecewise.unwrap_or(if watched { Pace::Block } else { Pace::Turn });
        // Lent to the turns, which also change the session.
        let translator = self.translator.take();
        let exit = self.engine.clone().enter(|| self.give_turns(course, until, translator.as_ref(), observe));
        self.translator = translator;
        if let Some(watched) = &mut self.watched {
            watched.exit(&self.machine, &exit);
        }
        exit
    }

    fn give_turns(
        &mut self,
        course: &mut Course,
        until: Until<'_>,
        translator: Option<&Translator>,
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Exit, RunError> {
        let Course { scheduler, counters } = course;
        let semaphore = |machine: &Machine| match until {
            Until::Semaphore { core, index, value } => {
                machine.cores.get(core).is_some_and(|c| c.sync.semaphores[usize::from(index)] >= value)
            }
            _ => false,
        };
        let condition: Option<&dyn Fn(&Machine) -> bool> = match until {
            Until::Semaphore { .. } => Some(&semaphore),
            Until::Condition(condition) => Some(condition),
            _ => None,
        };
        let pause = self.pause.clone();
        let translated = translator.map(|t| t as &dyn Translated);
        let limits = Limits { stops: &[], until: condition, pause: Some(&pause), translated };
        let wanted = if let Until::Words(n) = until { n } else { u64::MAX };
        let budget = self.options.max_words.unwrap_or(u64::MAX);
        loop {
            let left = wanted.min(budget).saturating_sub(counters.retired);
            if left == 0 {
                return Ok(if counters.retired >= budget { Exit::Budget } else { Exit::Reached });
            }
            let ended = self.engines_ended();
            match scheduler.turn(&mut self.machine, left, &mut self.stops, &limits).map_err(Box::new)? {
                Some(turn) => {
                    counters.retired += turn.retired;
                    counters.turns += u64::from(!scheduler.in_turn());
                    if let Some(watched) = &mut self.watched {
                        let compiled = translator.map(Translator::compiled).unwrap_or_default();
                        watched.piece(&mut self.machine, &scheduler.piece, compiled);
                    }
                    if let Some(exit) = self.exit_of(&turn, until, condition) {
                        return Ok(exit);
                    }
                    if self.piecewise.is_some() {
                        return Ok(Exit::Reached);
                    }
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

    /// Whether a turn ended in something that the caller wants to know.
    fn exit_of(
        &mut self,
        turn: &Turn,
        until: Until<'_>,
        condition: Option<&dyn Fn(&Machine) -> bool>,
    ) -> Option<Exit> {
        if let Some((core, engine, slot)) = self.stops.take_reached() {
            let wanted = matches!(until, Until::Word { core: c, engine: e, slot: s } if (c, e, s) == (core, engine, slot));
            return Some(if wanted { Exit::Reached } else { Exit::Stopped { core, engine, slot } });
        }
        if turn.cut == Some(Cut::Paused) {
            self.pause.store(false, Ordering::Relaxed);
            return Some(Exit::Paused);
        }
        if turn.halted
            && let Some(stop) = self.debug_stop()
        {
            return Some(stop);
        }
        condition.is_some_and(|holds| holds(&self.machine)).then_some(Exit::Reached)
    }

    /// The engine that has made a debug stop.
    fn debug_stop(&self) -> Option<Exit> {
        self.machine.cores.iter().enumerate().find_map(|(core, state)| {
            let stopped = state.engines.iter().find(|e| is_debug_stop(&e.seq))?;
            let base = state.spec.streams[stopped.id.index()].base;
            let slot = stopped.seq.csr.resume_pc().wrapping_sub(base) / WORD_BYTES as u64;
            Some(Exit::Break { core, engine: stopped.id, slot, reason: stopped.seq.halt_reason })
        })
    }

    /// Rings the doorbell of every engine in a debug stop.
    fn leave_debug_stops(&mut self) {
        for engine in self.machine.cores.iter_mut().flat_map(|c| &mut c.engines) {
            if is_debug_stop(&engine.seq) {
                engine.start();
            }
        }
    }

    fn engines_ended(&self) -> bool {
        !self.machine.cores.iter().flat_map(|c| &c.engines).any(|e| e.is_active())
    }
}

/// Stopped by a surprise, not by the program, and not yet told to go on.
pub(super) fn is_debug_stop(seq: &Sequencer) -> bool {
    let surprised = matches!(seq.halt_reason, HaltReason::InsBreak | HaltReason::ExtBreak | HaltReason::Step);
    seq.phase == Phase::Waiting && surprised && !seq.doorbell()
}
