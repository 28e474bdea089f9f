//! The software state of one sequencer (chapter 01 section 3).

use super::csr::{
    Accessor, BREAKPOINT_ADDR0, BREAKPOINT_CTRL, BREAKPOINT_MATCH, BREAKPOINT_STEP, CsrFile, HW_CONTROL,
    RELEASE_RUN_STALL, wide,
};
use super::error::ErrorRecord;
use super::log::{LogLine, emit};
use crate::interp::Fault;
use crate::isa::{EngineId, Generation};
use crate::save::saved;

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
    /// Instruction breakpoints enabled.
    pub ins_break: bool,
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
    /// Front end; a boot argument.
    pub mode: Mode,
    /// Words left before a step stop.
    pub step_count: u32,
    /// Strong ordering.
    pub strong_order: bool,
    /// Target of a taken branch that the loop has not committed yet.
    pub redirect: Option<u64>,
    /// Control registers. Others than the sequencer write them through [`Sequencer::write_csr`].
    pub csr: CsrFile,
    /// Interrupt-control words; bit 2 of word n: interrupt n pending.
    pub external: [u32; EXTERNAL_WORDS],
    /// Debug registers as latched at run entry.
    pub snapshot: Snapshot,
    /// Matches counted by the two opcode counters since run entry.
    pub counters: [u32; 2],
    /// A counter reached its threshold with the word that retired last.
    pub counter_fired: bool,
    /// Further instruction breakpoints of the host, as if there were more comparators; call
    /// [`Sequencer::rearm`] after a change during a run.
    pub breakpoints: Vec<u64>,
    /// Trips round the HW-decode loop since run entry.
    pub iteration: u32,
    /// The HW-decode fetch gate: 0 keeps the loop in its PC fix-up path (chapter 01 section 6.2).
    pub fetch_gate: u32,
    /// Inclusive bounds of the PC (chapter 02 section 6.2).
    pub bounds: (u64, u64),
    /// Copy of `lr[38]`, taken at run entry.
    pub dve_perf_word: u32,
    /// Engine identity for error records (decision 01-D22).
    pub engine_id: u32,
    /// The internal break-control word, which only the log shows.
    pub break_control: u32,
    /// User register 0x15: the last error record.
    pub error_record: u32,
    /// The last error with its class.
    pub last_error: Option<ErrorRecord>,
    /// What a dead sequencer answers to every attempt to run it (chapter 01 section 8.6).
    pub fault: Option<Box<Fault>>,
    /// Report inexact and underflow of the register ALU too (decision 01-D23).
    pub report_inexact: bool,
    /// The first of the two waits of the next word has been satisfied and its side effect done.
    pub(super) first_wait_taken: bool,
    /// PC of the last breakpoint stop until a word retires: breakpoints there do not fire again
    /// (decision 01-D8).
    pub(super) suppressed_at: Option<u64>,
    /// PC of the paused program while a nested one runs (chapter 01 section 10).
    pub(super) outer_pc: Option<u64>,
    /// The next word has passed its surprise check and waits to start.
    pub(super) checked: bool,
    /// The host wants a stop: instr_halt_ctrl or immediate_pause.
    pub(super) stop_requested: bool,
    /// Something may surprise: without it a word's check looks at nothing.
    pub(super) alert: bool,
}

saved!(enum Mode { 0 Sunda, 1 HwDecode });
saved!(enum HaltReason { 0 Halt, 4 InsBreak, 8 ExtBreak, 16 Fatal, 64 Step });
saved!(enum Phase { 0 Reset, 1 Waiting, 2 Running, 3 Paused, 4 Dead });
saved!(struct Snapshot { ins_break, step, addresses, counters });
// A machine with a fault is not saved.
saved!(struct Sequencer {
    phase, running, halt_reason, mode, step_count, strong_order, redirect, csr, external, snapshot, counters,
    counter_fired, breakpoints, iteration, fetch_gate, bounds, dve_perf_word, engine_id, break_control, error_record,
    last_error, report_inexact, first_wait_taken, suppressed_at, outer_pc, checked, stop_requested, alert,
} new { fault });

impl Sequencer {
    /// Held at reset, until somebody clears release_run_stall.
    pub fn new(engine: EngineId, generation: Generation) -> Self {
        // Decision 01-D1: software fetch for SP and for SUNDA, which knows no other.
        let software = engine == EngineId::Sp || generation == Generation::Sunda;
        Sequencer {
            phase: Phase::Reset,
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
            fault: None,
            report_inexact: false,
            first_wait_taken: false,
            suppressed_at: None,
            outer_pc: None,
            checked: false,
            stop_requested: false,
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

    /// Tests the surprises of the next word again, also if it has passed them and waits.
    pub fn test_again(&mut self) {
        self.checked = false;
    }

    /// Writes a control register. `None`: there is none at this offset.
    pub fn write_csr(&mut self, by: Accessor, offset: u32, value: u32) -> Option<()> {
        self.csr.write(by, offset, value)?;
        match (offset, value & 1) {
            (RELEASE_RUN_STALL, 0) if self.phase == Phase::Reset => self.boot(),
            (RELEASE_RUN_STALL, 1) => self.hold(),
            _ => {}
        }
        self.rearm();
        Some(())
    }

    /// From reset to the doorbell, as far as it shows (chapter 01 section 4): run_state stays 0.
    fn boot(&mut self) {
        emit(&LogLine::Begin(self.csr.generation().name()));
        match self.mode {
            Mode::Sunda => emit(&LogLine::SundaMode),
            Mode::HwDecode => {
                emit(&LogLine::HwDecodeMode);
                let relaxed = self.csr.peek(HW_CONTROL) & !2;
                self.csr.write(Accessor::Sequencer, HW_CONTROL, relaxed);
            }
        }
        self.phase = Phase::Waiting;
        emit(&LogLine::PendingStartCtrl);
    }

    /// Back to reset. Control registers, what the host has set up, and the latched error record stay.
    fn hold(&mut self) {
        self.phase = Phase::Reset;
        self.running = false;
        self.halt_reason = HaltReason::Halt;
        self.redirect = None;
        self.fault = None;
        self.first_wait_taken = false;
        self.suppressed_at = None;
        self.outer_pc = None;
        self.checked = false;
    }

    /// Recomputes whether anything may surprise, after a control register or a breakpoint changed, so that
    /// the check of a word need not look at control registers.
    pub fn rearm(&mut self) {
        let Snapshot { step, addresses, counters, .. } = self.snapshot;
        let immediate_pause = self.immediate_pause();
        self.stop_requested = immediate_pause || self.csr.peek(self.csr.moved().halt_ctrl) != 0;
        self.alert = self.stop_requested
            || self.strong_order
            || step
            || addresses != [None; 2]
            || counters != [None; 2]
            || !self.breakpoints.is_empty();
    }

    /// The host's request to pause, which hardware watches all the time.
    pub(super) fn immediate_pause(&self) -> bool {
        self.csr.peek(BREAKPOINT_CTRL) >> 8 & 1 == 1
    }

    /// Latches the debug registers at run entry (chapter 01 section 12.2) and restarts the counters.
    pub(super) fn take_snapshot(&mut self) {
        let sunda = self.csr.generation() == Generation::Sunda;
        let csr = &mut self.csr;
        // All of these exist on every generation.
        let mut read = |offset| csr.read(Accessor::Sequencer, offset).unwrap_or(0);
        let steps = read(BREAKPOINT_STEP);
        // SUNDA's counter has 16 bits (section 17).
        self.step_count = if sunda { steps & 0xFFFF } else { steps };
        self.strong_order = read(HW_CONTROL) >> 1 & 1 == 1;
        let control = read(BREAKPOINT_CTRL);
        let armed = |bit: u32| control >> bit & 1 == 1;
        let addresses = [0, 1].map(|i| {
            let low = BREAKPOINT_ADDR0 + 8 * i;
            armed(4 + i).then(|| {
                let low_half = read(low);
                wide(read(low + 4), low_half)
            })
        });
        let counters = [0, 1].map(|i| {
            armed(6 + i).then(|| {
                let [mask, opcode] = ((read(BREAKPOINT_MATCH) >> (16 * i)) as u16).to_le_bytes();
                (mask, opcode)
            })
        });
        let step = armed(3) && self.step_count != 0;
        self.snapshot = Snapshot { ins_break: armed(0), step, addresses, counters };
        self.counters = [0; 2];
        self.counter_fired = false;
    }
}
