//! Stopping, pausing and starting again (chapter 01 sections 5, 8 and 10).

use super::csr::{Accessor, INTR_INFO, LR_DVE_PERF, LR_PC_HI, LR_PC_LO, wide};
use super::log::{LogLine, emit};
use super::state::{HaltReason, Mode, PAUSED, Phase, RUNNING, Sequencer};
use crate::interp::FaultKind;

/// enter_run of an engine that runs already.
const REENTRY: FaultKind = FaultKind::Assertion { function: "enter_run", file: "fsm.hpp", line: 39 };
/// An unknown interrupt, or a nested program that does not end in a pause.
pub(super) const INTERRUPT: FaultKind =
    FaultKind::Assertion { function: "handle_interrupt_", file: "interrupt_handler.hpp", line: 28 };

/// Setup-Halt: saves the PC, clears the running flag, records the reason. run_state is published later.
pub(super) fn setup_halt(seq: &mut Sequencer, reason: HaltReason, pc: u64) {
    emit(&LogLine::SetupHalt);
    seq.csr.set_resume_pc(Accessor::Sequencer, pc);
    seq.running = false;
    seq.halt_reason = reason;
}

/// Entering-HALT: publishes the reason (decision 01-D10) and goes back to the doorbell.
pub(super) fn entering_halt(seq: &mut Sequencer) {
    emit(&LogLine::EnteringHalt);
    let run_state = seq.csr.moved().run_state;
    seq.csr.write(Accessor::Sequencer, run_state, seq.halt_reason as u32);
    if seq.halt_reason == HaltReason::Fatal {
        seq.phase = Phase::Dead;
    } else {
        seq.phase = Phase::Waiting;
        emit(&LogLine::PendingStartCtrl);
    }
}

/// Enter-Pause: the PC registers and the halt reason stay.
pub(super) fn enter_pause(seq: &mut Sequencer) {
    emit(&LogLine::EnterPause);
    seq.running = false;
    let run_state = seq.csr.moved().run_state;
    seq.csr.write(Accessor::Sequencer, run_state, PAUSED);
    seq.phase = Phase::Paused;
}

/// enter_run from the moment when the doorbell is set (section 5); gives the PC to start at.
pub(super) fn enter_run(seq: &mut Sequencer) -> Result<u64, FaultKind> {
    if seq.running {
        return Err(REENTRY);
    }
    emit(&LogLine::EnterRunStart);
    seq.take_snapshot();
    seq.redirect = None;
    seq.dve_perf_word = seq.csr.read(Accessor::Sequencer, LR_DVE_PERF).unwrap_or(0);
    emit(&LogLine::DvePerf(seq.dve_perf_word & 1 == 1));
    let moved = seq.csr.moved();
    seq.csr.write(Accessor::Sequencer, moved.start_ctrl, 0);
    seq.running = true;
    seq.halt_reason = HaltReason::Halt;
    seq.csr.write(Accessor::Sequencer, moved.run_state, RUNNING);
    let high = seq.csr.read(Accessor::Sequencer, LR_PC_HI).unwrap_or(0);
    let pc = wide(high, seq.csr.read(Accessor::Sequencer, LR_PC_LO).unwrap_or(0));
    emit(&LogLine::Redirecting(pc));
    seq.csr.set_resume_pc(Accessor::Sequencer, pc);
    seq.iteration = 0;
    seq.checked = false;
    seq.phase = Phase::Running;
    seq.rearm();
    emit(&LogLine::EnterRunDone);
    if seq.mode == Mode::Sunda {
        emit(&LogLine::SundaLoop);
    }
    Ok(pc)
}

/// Commits a pending redirect: the new PC goes to the local registers (sections 6.1 and 6.6).
pub(super) fn commit_redirect(seq: &mut Sequencer, pc: u64) {
    match seq.mode {
        Mode::Sunda => emit(&LogLine::SundaRedirecting(pc)),
        Mode::HwDecode => emit(&LogLine::Redirecting(pc)),
    }
    seq.csr.set_resume_pc(Accessor::Sequencer, pc);
    if seq.mode == Mode::Sunda {
        emit(&LogLine::Redirect);
    }
}

/// Ends the pause service: the PC in memory is kept (decision 01-D12).
pub(super) fn resume_from_pause(seq: &mut Sequencer) {
    let moved = seq.csr.moved();
    seq.csr.write(Accessor::Sequencer, moved.start_ctrl, 0);
    seq.running = true;
    seq.csr.write(Accessor::Sequencer, moved.run_state, RUNNING);
    seq.phase = Phase::Running;
    seq.rearm();
}

/// What a paused engine found when it served an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// intr_info is 0: nothing to do.
    Idle,
    /// intr_info is 1: the engine waits for the doorbell of a nested program, which must end paused.
    Nested,
}

/// Reads intr_info, once, and starts waiting for a nested program if it asks for a run (section 10). `pc`
/// is where the paused program goes on afterwards.
pub(super) fn handle_interrupt(seq: &mut Sequencer, pc: u64) -> Result<Interrupt, FaultKind> {
    match seq.csr.read(Accessor::Sequencer, INTR_INFO) {
        Some(0) | None => Ok(Interrupt::Idle),
        Some(1) if seq.running => Err(REENTRY),
        Some(1) => {
            seq.outer_pc = Some(pc);
            seq.phase = Phase::Waiting;
            emit(&LogLine::PendingStartCtrl);
            Ok(Interrupt::Nested)
        }
        Some(_) => Err(INTERRUPT),
    }
}
