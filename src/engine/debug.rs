//! Breakpoints and single steps, on the sequencers' own surprises (chapter 01 sections 7 and 12).

use seqjit_runtime::isa::{EngineId, WORD_BYTES};
use seqjit_runtime::machine::Wait;
use seqjit_runtime::sequencer::csr::{BREAKPOINT_CTRL, BREAKPOINT_STEP};
use seqjit_runtime::sequencer::{HaltReason, Phase, engine_turn};

use super::report::RunError;
use super::run::is_debug_stop;
use super::session::Session;
use super::stops::StopError;

/// What a single step did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stepped {
    /// So many words ran, as many as asked for.
    Done(u64),
    /// The engine has come to the end of its program after so many words.
    Ended(u64),
    /// After so many words a wait does not hold, and no other engine runs to change that.
    Blocked(u64, Wait),
}

/// Bit 3 of breakpoint_ctrl: the step count is valid.
const STEP_VALID: u32 = 1 << 3;

impl Session {
    /// Makes an engine break before a word, every time it comes to it: the run ends with
    /// [`Exit::Break`](super::Exit::Break). Breakpoints stay until they are cleared, also over restarts.
    pub fn set_breakpoint(&mut self, core: usize, engine: EngineId, slot: u64) -> Result<(), StopError> {
        let address = self.stops.address(&self.machine, core, engine, slot)?;
        if !self.breakpoints.contains(&(core, engine, address)) {
            self.breakpoints.push((core, engine, address));
        }
        self.arm_breakpoints();
        let state = &mut self.machine.cores[core].engines[engine.index()];
        // One that waits at the word has come to it before there was a breakpoint.
        if state.next_pc() == address {
            state.seq.test_again();
        }
        Ok(())
    }

    /// Removes a breakpoint; `false` if there was none.
    pub fn clear_breakpoint(&mut self, core: usize, engine: EngineId, slot: u64) -> bool {
        let Ok(address) = self.stops.address(&self.machine, core, engine, slot) else { return false };
        let before = self.breakpoints.len();
        self.breakpoints.retain(|b| *b != (core, engine, address));
        self.arm_breakpoints();
        self.breakpoints.len() < before
    }

    /// Breakpoints: core, engine, slot.
    pub fn breakpoints(&self) -> Vec<(usize, EngineId, u64)> {
        let slot = |(core, engine, address): &(usize, EngineId, u64)| {
            let base = self.machine.cores[*core].spec.streams[engine.index()].base;
            (*core, *engine, (address - base) / WORD_BYTES as u64)
        };
        self.breakpoints.iter().map(slot).collect()
    }

    /// Gives every sequencer its breakpoints.
    pub(super) fn arm_breakpoints(&mut self) {
        for (number, core) in self.machine.cores.iter_mut().enumerate() {
            for engine in &mut core.engines {
                let own = self.breakpoints.iter().filter(|b| b.0 == number && b.1 == engine.id);
                engine.seq.breakpoints = own.map(|b| b.2).collect();
                engine.seq.rearm();
            }
        }
    }

    /// Runs `words` words of one engine while all others stand still: external break, step count, doorbell.
    ///
    /// # Errors
    /// [`RunError::NotStopped`] before [`Session::start`], and faults of the words.
    pub fn step(&mut self, core: usize, engine: EngineId, words: u64) -> Result<Stepped, RunError> {
        if self.stopped.is_none() {
            return Err(RunError::NotStopped);
        }
        let index = engine.index();
        let turn = |session: &mut Session| {
            let shared = session.engine.clone();
            shared.enter(|| engine_turn(&mut session.machine, core, engine, words)).map_err(Box::new)
        };
        let seq = &self.machine.cores[core].engines[index].seq;
        if seq.phase == Phase::Running {
            let halt_ctrl = seq.csr.moved().halt_ctrl;
            self.machine.csr_write(core, engine, halt_ctrl, 1);
            turn(self)?;
        }
        let state = &mut self.machine.cores[core].engines[index];
        let fresh = state.seq.phase == Phase::Waiting && state.seq.doorbell();
        if !fresh && !is_debug_stop(&state.seq) {
            return Ok(Stepped::Ended(0));
        }
        let control = state.seq.csr.peek(BREAKPOINT_CTRL);
        let steps = u32::try_from(words).unwrap_or(u32::MAX);
        self.machine.csr_write(core, engine, BREAKPOINT_STEP, steps);
        self.machine.csr_write(core, engine, BREAKPOINT_CTRL, control | STEP_VALID);
        let first = self.machine.cores[core].engines[index].retired;
        self.machine.cores[core].engines[index].start();
        let mut slots = 0;
        // A turn may end before the count is used up: behind a word that starts DMA, for instance.
        loop {
            let progress = turn(self)?.progress;
            slots += progress;
            if progress == 0 || !self.machine.cores[core].engines[index].seq.running {
                break;
            }
        }
        self.machine.csr_write(core, engine, BREAKPOINT_CTRL, control & !STEP_VALID);
        let state = &self.machine.cores[core].engines[index];
        let blocked_on = state.blocked_on.filter(|_| state.seq.running);
        if let Some(course) = &mut self.stopped {
            course.counters.retired += state.retired - first;
        }
        if state.seq.running {
            // The count must not outlive the step.
            let halt_ctrl = state.seq.csr.moved().halt_ctrl;
            self.machine.csr_write(core, engine, halt_ctrl, 1);
            turn(self)?;
        }
        Ok(match (blocked_on, self.machine.cores[core].engines[index].seq.halt_reason) {
            (Some(wait), _) => Stepped::Blocked(slots, wait),
            (None, HaltReason::Halt) => Stepped::Ended(slots),
            (None, _) => Stepped::Done(slots),
        })
    }
}
