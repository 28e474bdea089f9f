//! Stopping, pausing and starting again (chapter 01 sections 5, 8 and 10).

use super::csr::{Accessor, INTR_INFO, LR_DVE_PERF, LR_PC_HI, LR_PC_LO};
use super::error::ErrorClass;
use super::log::{LogLine, emit};
use super::state::{HaltReason, PAUSED, Phase, RUNNING, Sequencer};

/// Setup-Halt: saves the PC, clears the running flag, records the reason. run_state is published later.
pub fn setup_halt(seq: &mut Sequencer, reason: HaltReason, pc: u64) {
    emit(&LogLine::SetupHalt);
    seq.csr.set_resume_pc(Accessor::Sequencer, pc);
    seq.running = false;
    seq.halt_reason = reason;
}

/// Entering-HALT: publishes the reason, unless the loop was left by a pause (decisions 01-D10, 01-D11).
pub fn entering_halt(seq: &mut Sequencer) {
    if seq.run_state() == PAUSED {
        seq.phase = Phase::Paused;
        return;
    }
    emit(&LogLine::EnteringHalt);
    let run_state = seq.csr.moved().run_state;
    seq.csr.write(Accessor::Sequencer, run_state, seq.halt_reason as u32);
    seq.phase = if seq.halt_reason == HaltReason::Fatal { Phase::Dead } else { Phase::Waiting };
    if seq.phase == Phase::Waiting {
        emit(&LogLine::PendingStartCtrl);
    }
}

/// Enter-Pause: the PC registers and the halt reason stay.
pub fn enter_pause(seq: &mut Sequencer) {
    emit(&LogLine::EnterPause);
    seq.running = false;
    let run_state = seq.csr.moved().run_state;
    seq.csr.write(Accessor::Sequencer, run_state, PAUSED);
    seq.phase = Phase::Paused;
}

/// enter_run from the moment when the doorbell is set (section 5); gives the PC to start at.
///
/// # Errors
/// The assertion of an engine that already runs.
pub fn enter_run(seq: &mut Sequencer) -> Result<u64, ErrorClass> {
    if seq.running {
        return Err(ErrorClass::Assertion { function: "enter_run", file: "fsm.hpp", line: 39 });
    }
    emit(&LogLine::EnterRunStart);
    seq.take_snapshot();
    seq.redirect = None;
    seq.dve_perf_word = seq.csr.peek(LR_DVE_PERF);
    emit(&LogLine::DvePerf(seq.dve_perf_word & 1 == 1));
    let moved = seq.csr.moved();
    seq.csr.write(Accessor::Sequencer, moved.start_ctrl, 0);
    seq.running = true;
    seq.halt_reason = HaltReason::Halt;
    seq.csr.write(Accessor::Sequencer, moved.run_state, RUNNING);
    let pc = u64::from(seq.csr.peek(LR_PC_HI)) << 32 | u64::from(seq.csr.peek(LR_PC_LO));
    commit_redirect(seq, pc);
    seq.suppressed_at = seq.broke_at.take().filter(|at| *at == pc);
    seq.iteration = 0;
    seq.phase = Phase::Running;
    seq.rearm();
    emit(&LogLine::EnterRunDone);
    if seq.mode == super::state::Mode::Sunda {
        emit(&LogLine::SundaLoop);
    }
    Ok(pc)
}

/// A redirect writes the new PC to the local registers (section 6.6).
pub fn commit_redirect(seq: &mut Sequencer, pc: u64) {
    emit(&LogLine::Redirecting(pc));
    seq.csr.set_resume_pc(Accessor::Sequencer, pc);
}

/// Ends the pause service: the PC in memory is kept (decision 01-D12).
pub fn resume_from_pause(seq: &mut Sequencer) {
    let moved = seq.csr.moved();
    seq.csr.write(Accessor::Sequencer, moved.start_ctrl, 0);
    seq.running = true;
    seq.csr.write(Accessor::Sequencer, moved.run_state, RUNNING);
    seq.phase = Phase::Running;
    seq.rearm();
}

/// What the interrupt dispatcher of a paused engine has to do (section 10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// Nothing.
    Idle,
    /// Run a nested program, which must end in a pause.
    Run,
    /// The assertion of an unknown value.
    Fault(ErrorClass),
}

/// Reads intr_info, once, and decides.
pub fn handle_interrupt(seq: &mut Sequencer) -> Interrupt {
    match seq.csr.read(Accessor::Sequencer, INTR_INFO) {
        Some(0) | None => Interrupt::Idle,
        Some(1) => Interrupt::Run,
        Some(_) => Interrupt::Fault(NESTED),
    }
}

/// An unknown interrupt, or a nested program that does not end in a pause.
pub const NESTED: ErrorClass =
    ErrorClass::Assertion { function: "handle_interrupt_", file: "interrupt_handler.hpp", line: 28 };
