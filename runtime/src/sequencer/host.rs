//! The host's side of the sequencers: control registers, start, stop, interrupt service.

use super::csr::{Accessor, HW_CONTROL};
use super::halt::{Interrupt, NESTED, handle_interrupt};
use super::log::{LogLine, emit};
use super::state::{Mode, PAUSED, Phase, Sequencer};
use crate::interp::{FaultKind, Instruction};
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
        emit(&LogLine::InstructionFlush);
        emit(&LogLine::InvalidateHints);
        let stream = &self.cores[core].spec.streams[engine.index()];
        let (base, count) = (stream.base, stream.words.len());
        let Some(Target::Dram { buffer, offset }) = self.route(base) else { return };
        if stream.ends_gracefully {
            return;
        }
        let Some(bytes) = self.dram.buffer(buffer).bytes().get(offset..offset + 64 * count) else { return };
        let Ok(words) = Word::split(bytes) else { return };
        let generation = self.generation;
        let code = words.into_iter().map(|word| Instruction::new(word, generation)).collect();
        self.cores[core].engines[engine.index()].code = code;
    }

    /// Serves an interrupt of a paused engine (chapter 01 section 10): reads intr_info once and, for a run,
    /// lets `run` run the nested program, which starts at the engine's own doorbell and must end paused.
    ///
    /// # Errors
    /// The assertion of an unknown intr_info, or of a nested run that does not end paused in strict mode.
    pub fn service_interrupt(
        &mut self,
        core: usize,
        engine: EngineId,
        run: impl FnOnce(&mut Machine),
    ) -> Result<(), FaultKind> {
        let seq = &mut self.cores[core].engines[engine.index()].seq;
        let fault = |class| match class {
            super::error::ErrorClass::Assertion { function, file, line } => {
                FaultKind::Assertion { function, file, line }
            }
            other => FaultKind::Internal(format!("{other:?}")),
        };
        match handle_interrupt(seq) {
            Interrupt::Idle => Ok(()),
            Interrupt::Fault(class) => Err(fault(class)),
            Interrupt::Run => {
                let outer = self.cores[core].engines[engine.index()].pc;
                self.cores[core].engines[engine.index()].seq.phase = Phase::Waiting;
                run(self);
                let strict = self.options.strict;
                let state = &mut self.cores[core].engines[engine.index()];
                // The paused outer program goes on where it was.
                state.pc = outer;
                if state.seq.run_state() != PAUSED && strict {
                    return Err(fault(NESTED));
                }
                Ok(())
            }
        }
    }
}

impl Sequencer {
    /// SET_ORDERING_MODE (chapter 01 section 12.5): takes effect with the next word.
    pub fn set_ordering_mode(&mut self, strong: bool) {
        emit(&LogLine::SetOrderingMode);
        let bit = match self.mode {
            Mode::Sunda => 1 << 20,
            Mode::HwDecode => 1 << 21,
        };
        let old = self.break_control;
        self.break_control = if strong { old | bit } else { old & !bit };
        emit(&LogLine::BreakCtrl(old, self.break_control));
        let control = self.csr.peek(HW_CONTROL) & !2 | if strong { 2 } else { 0 };
        self.csr.write(Accessor::Sequencer, HW_CONTROL, control);
        self.strong_order = strong;
        self.rearm();
    }
}
