//! Surprises: what may stop an engine between two words (chapter 01 section 7).

use super::csr::{Accessor, BREAKPOINT_IC0, HW_CONTROL};
use super::halt::setup_halt;
use super::log::{LogLine, emit};
use super::state::{HaltReason, Mode, Sequencer};
use crate::interp::FaultKind;

/// Instruction breakpoint.
pub const INS_BREAK: u16 = 1 << 2;
/// External stop.
pub const EXT_BREAK: u16 = 1 << 3;
/// Step count armed.
pub const STEP_CNT: u16 = 1 << 8;
/// Strong ordering.
pub const STRONG_ORDER: u16 = 1 << 9;

/// An external stop without a request.
const UNARMED: FaultKind = surprise_assertion(426);
/// A word with no known bit.
const UNHANDLED: FaultKind = surprise_assertion(441);

const fn surprise_assertion(line: u32) -> FaultKind {
    FaultKind::Assertion { function: "sunda_handle_surprises", file: "surprises.hpp", line }
}

impl Sequencer {
    /// The surprise word for the word about to run at `pc` (decision 01-D6). Qualifier bits are never set.
    pub(super) fn surprise_word(&self, pc: u64) -> u16 {
        let hit = self.snapshot.addresses.contains(&Some(pc)) || self.breakpoints.contains(&pc);
        let address = hit && self.suppressed_at != Some(pc);
        let bit = |on: bool, bit: u16| if on { bit } else { 0 };
        bit(self.strong_order, STRONG_ORDER)
            | bit(self.snapshot.step, STEP_CNT)
            | bit(self.stop_requested, EXT_BREAK)
            | bit(self.snapshot.ins_break && (address || self.counter_fired), INS_BREAK)
    }

    /// Tests the surprise word: zero skips the handler (decision 01-D7). `true`: go on; `false`: Setup-Halt
    /// has run.
    pub(super) fn check_surprises(&mut self, word: u16, next_pc: u64) -> Result<bool, FaultKind> {
        if self.mode == Mode::Sunda {
            emit(&LogLine::CheckSurprises(word != 0, word));
        }
        if word == 0 { Ok(true) } else { self.handle_surprises(word, next_pc) }
    }

    /// The handler's fixed order; the first terminal arm wins (section 7.4).
    fn handle_surprises(&mut self, word: u16, next_pc: u64) -> Result<bool, FaultKind> {
        if word & STRONG_ORDER != 0 {
            // The barrier and the drain: an in-order engine has nothing in flight.
            emit(&LogLine::StrongOrder);
        }
        if word & INS_BREAK != 0 {
            emit(&LogLine::InsBreak);
            self.suppressed_at = Some(next_pc);
            setup_halt(self, HaltReason::InsBreak, next_pc);
            Ok(false)
        } else if word & EXT_BREAK != 0 {
            self.external_break(next_pc)
        } else if word & STEP_CNT != 0 {
            Ok(self.count_step(next_pc))
        } else if word & STRONG_ORDER != 0 {
            Ok(true)
        } else {
            emit(&LogLine::UnhandledSurprise(word));
            Err(UNHANDLED)
        }
    }

    /// Acknowledges a request in instr_halt_ctrl; one by immediate_pause stays (decision 01-D15).
    fn external_break(&mut self, next_pc: u64) -> Result<bool, FaultKind> {
        emit(&LogLine::ExtBreak);
        let halt_ctrl = self.csr.moved().halt_ctrl;
        if self.csr.read(Accessor::Sequencer, halt_ctrl) != Some(0) {
            self.csr.write(Accessor::Sequencer, halt_ctrl, 0);
            self.rearm();
        } else if !self.immediate_pause() {
            return Err(UNARMED);
        }
        setup_halt(self, HaltReason::ExtBreak, next_pc);
        Ok(false)
    }

    fn count_step(&mut self, next_pc: u64) -> bool {
        let Some(left) = self.step_count.checked_sub(1) else {
            emit(&LogLine::StepCountZero);
            setup_halt(self, HaltReason::Step, next_pc);
            return false;
        };
        emit(&LogLine::StepCount(self.step_count));
        self.step_count = left;
        true
    }

    /// Counts a retired word in the opcode counters; one that reaches its threshold breaks before the next
    /// word (decision 01-D17).
    pub(super) fn count_opcode(&mut self, opcode: u8) {
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

    /// SET_ORDERING_MODE (section 12.5): takes effect with the next word.
    pub fn set_ordering_mode(&mut self, strong: bool) {
        let bit = match self.mode {
            Mode::Sunda => 1 << 20,
            Mode::HwDecode => 1 << 21,
        };
        let old = self.break_control;
        self.break_control = if strong { old | bit } else { old & !bit };
        emit(&LogLine::BreakCtrl(old, self.break_control));
        let control = self.csr.read(Accessor::Sequencer, HW_CONTROL).unwrap_or(0) & !2;
        self.csr.write(Accessor::Sequencer, HW_CONTROL, control | if strong { 2 } else { 0 });
        self.strong_order = strong;
        self.rearm();
    }
}
