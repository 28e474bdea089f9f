//! The host's side of the sequencers: control registers, start, stop, interrupts, instruction memory.

use super::csr::Accessor;
use super::halt::{Interrupt, handle_interrupt};
use super::state::Phase;
use super::step::{fatal, leave_loop};
use crate::interp::{Fault, Instruction};
use crate::isa::check::{CheckContext, Severity, check};
use crate::isa::{EngineId, Word};
use crate::machine::Machine;
use crate::machine::soc::Target;

impl Machine {
    /// The host reads a control register; `None`: there is none at this offset.
    pub fn csr_read(&mut self, core: usize, engine: EngineId, offset: u32) -> Option<u32> {
        self.cores[core].engines[engine.index()].seq.csr.read(Accessor::Host, offset)
    }

    /// The host writes a control register; `None`: there is none at this offset.
    pub fn csr_write(&mut self, core: usize, engine: EngineId, offset: u32, value: u32) -> Option<()> {
        self.cores[core].engines[engine.index()].seq.write_csr(Accessor::Host, offset, value)
    }

    /// Rings the doorbell of every engine of every core.
    pub fn start_all(&mut self) {
        for engine in self.cores.iter_mut().flat_map(|c| &mut c.engines) {
            engine.start();
        }
    }

    /// Requests an external stop of every running engine: each stops before its next word.
    pub fn request_stop(&mut self) {
        for engine in self.cores.iter_mut().flat_map(|c| &mut c.engines) {
            if engine.is_active() {
                let halt_ctrl = engine.seq.csr.moved().halt_ctrl;
                engine.seq.write_csr(Accessor::Host, halt_ctrl, 1);
            }
        }
    }

    /// Reads an engine's words again from the memory that its stream was loaded from, as INSTRUCTION_FLUSH
    /// and the host after a write do (design section 3 rule 6). Streams of a container have no such memory.
    pub fn flush_instructions(&mut self, core: usize, engine: EngineId) {
        if let Some(words) = self.instruction_memory(core, engine) {
            self.decode_again(core, engine, &words);
        }
    }

    /// Gives an engine the words of its stream, of which some may be new.
    pub(crate) fn decode_again(&mut self, core: usize, engine: EngineId, words: &[Word]) {
        let old = self.cores[core].engines[engine.index()].code.clone();
        if words.iter().eq(old.iter().map(|i| i.word())) {
            return;
        }
        let spec = self.cores[core].spec.clone();
        let functions = spec.activation_functions();
        let cx = CheckContext {
            generation: self.generation,
            engine,
            strict: self.options.strict,
            dve_programs: spec.dve_programs.as_ref(),
            activation_sets: Some(spec.table_sets.len()),
            activation_functions: Some(&functions),
        };
        let renew = |(old, word): (&Instruction, &Word)| {
            if old.word() == word { old.clone() } else { checked(*word, &cx) }
        };
        self.cores[core].engines[engine.index()].code = old.iter().zip(words).map(renew).collect();
    }

    /// The words that memory holds where a device image's stream lies.
    fn instruction_memory(&self, core: usize, engine: EngineId) -> Option<Vec<Word>> {
        let stream = &self.cores[core].spec.streams[engine.index()];
        if stream.ends_gracefully {
            return None;
        }
        let Target::Dram { buffer, offset } = self.route(stream.base)? else { return None };
        let size = 64 * stream.words.len();
        Word::split(self.dram.buffer(buffer).bytes().get(offset..offset + size)?).ok()
    }

    /// Serves an interrupt of a paused engine (chapter 01 section 10): reads intr_info, once. If it asks for
    /// a run, the engine now waits for the doorbell of a nested program, which must end in a pause; the
    /// paused program then waits for its own doorbell again. In lenient mode any other end publishes its
    /// reason in run_state instead of being fatal. Engines that are neither paused nor running do not ask.
    ///
    /// # Errors
    /// The assertion of an unknown intr_info, or of a run while the engine runs. The engine is dead then.
    pub fn service_interrupt(&mut self, core: usize, engine: EngineId) -> Result<Interrupt, Box<Fault>> {
        let state = &mut self.cores[core].engines[engine.index()];
        match state.seq.phase {
            Phase::Paused | Phase::Running => {}
            Phase::Dead => return state.seq.fault.clone().map_or(Ok(Interrupt::Idle), Err),
            Phase::Reset | Phase::Waiting => return Ok(Interrupt::Idle),
        }
        let next = state.next_pc();
        handle_interrupt(&mut state.seq, next).map_err(|kind| Box::new(fatal(self, core, engine, None, kind)))
    }

    /// Gives a running engine a surprise word as if its check had found it, and does what follows; `true`: the
    /// engine goes on. No armed condition gives a word without a known bit or an
    /// external stop that nobody requested: those assertions are reached this way only (decision 01-D6).
    ///
    /// # Errors
    /// The assertion that failed. The engine is dead then.
    pub fn inject_surprise(&mut self, core: usize, engine: EngineId, word: u16) -> Result<bool, Box<Fault>> {
        let strict = self.options.strict;
        let state = &mut self.cores[core].engines[engine.index()];
        if !state.seq.running {
            return Ok(false);
        }
        let next = state.next_pc();
        let handled = state.seq.check_surprises(word, next).and_then(|go_on| {
            if !go_on {
                leave_loop(state, strict)?;
            }
            Ok(go_on)
        });
        handled.map_err(|kind| Box::new(fatal(self, core, engine, None, kind)))
    }
}

/// A word that was not there at load: it is held to the rules now, and faults if it breaks one.
fn checked(word: Word, cx: &CheckContext<'_>) -> Instruction {
    let mut instruction = Instruction::new(word, cx.generation);
    let findings = instruction.body.as_ref().map_or_else(|_| Vec::new(), |decoded| check(decoded, cx));
    if let Some(finding) = findings.iter().find(|f| f.severity != Severity::Warning) {
        instruction.refuse(finding);
    }
    instruction
}
