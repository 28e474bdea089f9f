//! Surprises: what may stop an engine between two words (chapter 01 section 7).

use super::csr::{Accessor, BREAKPOINT_CTRL, BREAKPOINT_IC0};
use super::error::ErrorClass;
use super::halt::setup_halt;
use super::log::{LogLine, emit};
use super::state::{HaltReason, Sequencer};

/// Instruction breakpoint.
pub const INS_BREAK: u16 = 1 << 2;
/// External stop.
pub const EXT_BREAK: u16 = 1 << 3;
/// Step count armed.
pub const STEP_CNT: u16 = 1 << 8;
/// Strong ordering.
pub const STRONG_ORDER: u16 = 1 << 9;

/// What the check decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Run the next word.
    Continue,
    /// Setup-Halt has run.
    Halt,
    /// An assertion failed.
    Fatal(ErrorClass),
}

/// An external stop without a request.
const UNARMED: ErrorClass =
    ErrorClass::Assertion { function: "sunda_handle_surprises", file: "surprises.hpp", line: 426 };
/// A word with no known bit.
const UNHANDLED: ErrorClass =
    ErrorClass::Assertion { function: "sunda_handle_surprises", file: "surprises.hpp", line: 441 };

impl Sequencer {
    /// The surprise word for the word about to run at `pc` (decision 01-D6). Qualifier bits are never set.
    pub fn surprise_word(&self, pc: u64) -> u16 {
        let control = self.csr.peek(BREAKPOINT_CTRL);
        let mut word = 0;
        if self.strong_order {
            word |= STRONG_ORDER;
        }
        if self.snapshot.step {
            word |= STEP_CNT;
        }
        if self.csr.peek(self.csr.moved().halt_ctrl) != 0 || self.immediate_pause() {
            word |= EXT_BREAK;
        }
        let hit = self.snapshot.addresses.contains(&Some(pc)) || self.breakpoints.contains(&pc);
        let address = hit && self.suppressed_at != Some(pc);
        if control & 1 == 1 && (address || self.counter_fired) {
            word |= INS_BREAK;
        }
        word
    }

    fn immediate_pause(&self) -> bool {
        self.csr.peek(BREAKPOINT_CTRL) >> 8 & 1 == 1
    }

    /// Tests the surprise word: zero skips the handler (decision 01-D7).
    pub fn check_surprises(&mut self, word: u16, next_pc: u64) -> Verdict {
        emit(&LogLine::CheckSurprises(word != 0, word));
        if word == 0 { Verdict::Continue } else { self.handle_surprises(word, next_pc) }
    }

    /// The handler's fixed order; the first terminal arm wins (section 7.4).
    pub fn handle_surprises(&mut self, word: u16, next_pc: u64) -> Verdict {
        if word & STRONG_ORDER != 0 {
            // The barrier and the drain: an in-order engine has nothing in flight.
            emit(&LogLine::StrongOrder);
        }
        if word & INS_BREAK != 0 {
            emit(&LogLine::InsBreak);
            self.broke_at = Some(next_pc);
            setup_halt(self, HaltReason::InsBreak, next_pc);
            return Verdict::Halt;
        }
        if word & EXT_BREAK != 0 {
            return self.external_break(next_pc);
        }
        if word & STEP_CNT != 0 {
            if self.step_count == 0 {
                emit(&LogLine::StepCountZero);
                setup_halt(self, HaltReason::Step, next_pc);
                return Verdict::Halt;
            }
            emit(&LogLine::StepCount(self.step_count));
            self.step_count -= 1;
            return Verdict::Continue;
        }
        if word & STRONG_ORDER == 0 {
            emit(&LogLine::UnhandledSurprise(word));
            return Verdict::Fatal(UNHANDLED);
        }
        Verdict::Continue
    }

    fn external_break(&mut self, next_pc: u64) -> Verdict {
        emit(&LogLine::ExtBreak);
        let halt_ctrl = self.csr.moved().halt_ctrl;
        let requested = self.csr.read(Accessor::Sequencer, halt_ctrl).unwrap_or(0) != 0;
        if requested {
            self.csr.write(Accessor::Sequencer, halt_ctrl, 0);
        } else if !self.immediate_pause() {
            return Verdict::Fatal(UNARMED);
        }
        // A word at which a breakpoint has stopped, and that has still not run, does not break again.
        self.broke_at = self.suppressed_at.filter(|at| *at == next_pc);
        setup_halt(self, HaltReason::ExtBreak, next_pc);
        self.rearm();
        Verdict::Halt
    }

    /// Counts a retired word in the opcode counters; one that reaches its threshold breaks before the next
    /// word (decision 01-D17).
    pub fn count_opcode(&mut self, opcode: u8) {
        self.counter_fired = false;
        for i in 0..2 {
            let Some((mask, wanted)) = self.snapshot.counters[i] else { continue };
            if opcode & mask == wanted {
                self.counters[i] = self.counters[i].wrapping_add(1);
                let threshold = self.csr.peek(BREAKPOINT_IC0 + 4 * i as u32);
                self.counter_fired |= threshold != 0 && self.counters[i] == threshold;
            }
        }
    }
}
