//! The software state of one sequencer (chapter 01 section 3).

use super::csr::{Accessor, BREAKPOINT_CTRL, BREAKPOINT_STEP, CsrFile, HW_CONTROL};
use super::error::ErrorRecord;
use crate::isa::{EngineId, Generation};

/// Interrupt-control words of the external register array (chapter 01 section 2.7).
pub const EXTERNAL_WORDS: usize = 39;
/// The pending bit of an interrupt-control word.
pub const PENDING: u32 = 1 << 2;

/// Which of the two front ends fetches (chapter 01 section 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The sequencer fetches in software and tests surprises itself.
    Sunda,
    /// Hardware decodes; it counts iterations and tests surprises at its sync stage.
    HwDecode,
}

/// Why an engine stopped (chapter 01 section 8.3); the codes are published in run_state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub enum HaltReason {
    /// A HALT word, or the end of a container's stream.
    #[default]
    Halt = 0,
    /// An instruction breakpoint.
    InsBreak = 4,
    /// An external stop.
    ExtBreak = 8,
    /// A fatal error.
    Fatal = 16,
    /// The step count ran out.
    Step = 64,
}

/// run_state while an engine runs.
pub const RUNNING: u32 = 1;
/// run_state while an engine is paused.
pub const PAUSED: u32 = 2;

/// Where a sequencer is (chapter 01 section 9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Held by release_run_stall.
    Reset,
    /// In enter_run, watching the doorbell.
    Waiting,
    /// In the inner loop.
    Running,
    /// In the pause service, watching the doorbell.
    Paused,
    /// After a fatal error: only a reset helps.
    Dead,
}

/// What an engine is armed for at run entry (chapter 01 section 12.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Step armed with a nonzero count.
    pub step: bool,
    /// Address breakpoints.
    pub addresses: [Option<u64>; 2],
    /// Mask and opcode of the opcode counters.
    pub counters: [Option<(u8, u8)>; 2],
}

/// The state of one sequencer beside the architectural registers.
#[derive(Clone, Debug)]
pub struct Sequencer {
    /// Where it is.
    pub phase: Phase,
    /// Bit 0 of the running byte: the only thing that the loop's poll reads.
    pub running: bool,
    /// Last reason given to Setup-Halt.
    pub halt_reason: HaltReason,
    /// Front end.
    pub mode: Mode,
    /// Words left before a step stop.
    pub step_count: u32,
    /// Strong ordering.
    pub strong_order: bool,
    /// Target of a taken branch that the loop has not committed yet.
    pub redirect: Option<u64>,
    /// Control registers.
    pub csr: CsrFile,
    /// Interrupt-control words; bit 2 of word n: interrupt n pending.
    pub external: [u32; EXTERNAL_WORDS],
    /// Debug registers as latched at run entry.
    pub snapshot: Snapshot,
    /// Matches counted by the two opcode counters since run entry.
    pub counters: [u32; 2],
    /// A counter reached its threshold with the word that retired last.
    pub counter_fired: bool,
    /// Further instruction breakpoints of the host, as if there were more comparators.
    pub breakpoints: Vec<u64>,
    /// Words started by the HW-decode loop since run entry.
    pub iteration: u32,
    /// The HW-decode fetch gate: 0 keeps the loop in its PC fix-up path (chapter 01 section 6.2).
    pub fetch_gate: u32,
    /// Inclusive bounds of the PC (chapter 02 section 6.2).
    pub bounds: (u64, u64),
    /// Copy of lr[38], taken at run entry.
    pub dve_perf_word: u32,
    /// Engine identity for error records (decision 01-D22).
    pub engine_id: u32,
    /// The internal break-control word, which only the log shows.
    pub break_control: u32,
    /// User register 0x15: the last error record.
    pub error_record: u32,
    /// The last error with its class.
    pub last_error: Option<ErrorRecord>,
    /// Report inexact and underflow of the register ALU too (decision 01-D23).
    pub report_inexact: bool,
    /// Breakpoints at this PC do not fire for the first word of the run (decision 01-D8).
    pub(super) suppressed_at: Option<u64>,
    /// Saved PC of the last breakpoint stop.
    pub(super) broke_at: Option<u64>,
    /// The next word has passed its surprise check and waits to start.
    pub(super) checked: bool,
    /// Something may surprise: without it the check is skipped.
    pub(super) alert: bool,
}

impl Sequencer {
    /// At reset, released from the stall: watching the doorbell.
    pub fn new(engine: EngineId, generation: Generation) -> Self {
        // Decision 01-D1: software fetch for SP and for SUNDA, which knows no other.
        let software = engine == EngineId::Sp || generation == Generation::Sunda;
        Sequencer {
            phase: Phase::Waiting,
            running: false,
            halt_reason: HaltReason::Halt,
            mode: if software { Mode::Sunda } else { Mode::HwDecode },
            step_count: 0,
            strong_order: false,
            redirect: None,
            csr: CsrFile::new(generation),
            external: [0; EXTERNAL_WORDS],
            snapshot: Snapshot::default(),
            counters: [0; 2],
            counter_fired: false,
            breakpoints: Vec::new(),
            iteration: 0,
            fetch_gate: 1,
            bounds: (0, u64::MAX),
            dve_perf_word: 0,
            // PE, ACT, POOL and SP by their index; DVE takes an id that the block map knows.
            engine_id: [0, 1, 2, 4, 5][engine.index()],
            break_control: 0,
            error_record: 0,
            last_error: None,
            report_inexact: false,
            suppressed_at: None,
            broke_at: None,
            checked: false,
            alert: false,
        }
    }

    /// Whether an interrupt is pending; one beyond the array is not (decision 01-D9).
    pub fn interrupt_pending(&self, interrupt: usize) -> bool {
        self.external.get(interrupt).is_some_and(|word| word & PENDING != 0)
    }

    /// Sets or clears the pending bit of an interrupt; one beyond the array is ignored.
    pub fn set_interrupt(&mut self, interrupt: usize, pending: bool) {
        if let Some(word) = self.external.get_mut(interrupt) {
            *word = if pending { *word | PENDING } else { *word & !PENDING };
        }
    }

    /// The published status.
    pub fn run_state(&self) -> u32 {
        self.csr.peek(self.csr.moved().run_state)
    }

    /// The doorbell is set.
    pub fn doorbell(&self) -> bool {
        self.csr.peek(self.csr.moved().start_ctrl) != 0
    }

    /// Enables bounds of the PC, inclusive at both ends.
    ///
    /// # Errors
    /// The bounds themselves if `low` is not below `high` (chapter 02 section 6.2).
    pub fn set_bounds(&mut self, low: u64, high: u64) -> Result<(), (u64, u64)> {
        if low >= high {
            return Err((low, high));
        }
        self.bounds = (low, high);
        Ok(())
    }

    /// Switches the bounds of the PC off.
    pub fn clear_bounds(&mut self) {
        self.bounds = (0, u64::MAX);
    }

    /// Recomputes whether anything may surprise, after a control register or a breakpoint changed.
    pub fn rearm(&mut self) {
        let immediate_pause = self.csr.peek(BREAKPOINT_CTRL) >> 8 & 1 == 1;
        self.alert = self.strong_order
            || self.snapshot != Snapshot::default()
            || !self.breakpoints.is_empty()
            || self.csr.peek(self.csr.moved().halt_ctrl) != 0
            || immediate_pause;
    }

    /// Writes a control register. `None`: there is none at this offset.
    pub fn write_csr(&mut self, by: Accessor, offset: u32, value: u32) -> Option<()> {
        self.csr.write(by, offset, value)?;
        self.rearm();
        Some(())
    }

    /// Latches the debug registers at run entry (chapter 01 section 12.2).
    pub(super) fn take_snapshot(&mut self) {
        let control = self.csr.peek(BREAKPOINT_CTRL);
        let armed = |bit: u32| control >> bit & 1 == 1;
        let wide =
            |offset: u32, csr: &CsrFile| u64::from(csr.peek(offset + 4)) << 32 | u64::from(csr.peek(offset));
        let matches = self.csr.peek(super::csr::BREAKPOINT_MATCH);
        let steps = self.csr.peek(BREAKPOINT_STEP);
        let sunda = self.csr.moved().start_ctrl == 0x10;
        self.step_count = if sunda { steps & 0xFFFF } else { steps };
        self.strong_order = self.csr.peek(HW_CONTROL) >> 1 & 1 == 1;
        self.snapshot = Snapshot {
            step: armed(3) && self.step_count != 0,
            addresses: [0, 1]
                .map(|i| armed(4 + i).then(|| wide(super::csr::BREAKPOINT_ADDR0 + 8 * i, &self.csr))),
            counters: [0, 1].map(|i| {
                let half = matches >> (16 * i);
                armed(6 + i).then_some((half as u8, (half >> 8) as u8))
            }),
        };
        self.counters = [0; 2];
        self.counter_fired = false;
    }
}
