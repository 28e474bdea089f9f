//! One word of one engine: the body of both loops (chapter 01 sections 6.1, 6.2 and 6.4).

use super::error::ErrorClass;
use super::halt::{commit_redirect, enter_pause, enter_run, entering_halt, resume_from_pause, setup_halt};
use super::log::{LogLine, emit};
use super::state::{HaltReason, Mode, Phase};
use super::surprise::{EXT_BREAK, Verdict};
use super::waits::{apply_updates, resolve_updates, take_waits};
use crate::interp::{At, Exec, Fault, FaultKind, Flow, Instruction, Translated};
use crate::isa::{Decoded, EngineId, Execution, Word};
use crate::machine::{Engine, Machine, Notification, NotificationKind, Stream};

/// What one attempt to run the next word did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The word is done.
    Done {
        /// The engine's turn ends behind it.
        ends_turn: bool,
    },
    /// Its wait does not hold, or the fetch gate is shut.
    Blocked,
    /// The engine does not run.
    Stopped,
}

/// Runs the next word of an engine, or finds that it cannot. A fault has no effect of the word; the engine
/// is dead afterwards and the machine can be inspected.
pub fn step(machine: &mut Machine, core: usize, engine: EngineId) -> Result<Step, Fault> {
    step_in(machine, core, engine, None)
}

/// [`step`] with native code for the bodies of words.
pub fn step_in(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    translated: Option<&dyn Translated>,
) -> Result<Step, Fault> {
    match iterate(machine, core, engine, translated) {
        Ok(step) => Ok(step),
        Err((pc, word, kind)) => Err(fatal(machine, core, engine, pc, word, kind)),
    }
}

/// Where, which word, why.
type Failed = (u64, Option<Word>, FaultKind);

fn iterate(
    machine: &mut Machine,
    core: usize,
    id: EngineId,
    translated: Option<&dyn Translated>,
) -> Result<Step, Failed> {
    let state = &mut machine.cores[core].engines[id.index()];
    if !state.seq.running && !answer_doorbell(state) {
        return Ok(Step::Stopped);
    }
    let next = state.next_pc();
    let failed = |kind| (next, None, kind);
    if !between_words(state, next).map_err(|class| failed(assertion(class)))? {
        return Ok(if state.seq.running { Step::Blocked } else { Step::Stopped });
    }
    if let Some(target) = state.seq.redirect.take() {
        if state.seq.mode == Mode::Sunda {
            emit(&LogLine::SundaRedirecting(target));
        }
        state.pc = target;
        commit_redirect(&mut state.seq, target);
    }
    let pc = state.pc;
    let code = state.code.clone();
    let stream = &machine.cores[core].spec.streams[id.index()];
    match fetch(stream, &code, pc, state_bounds(machine, core, id)) {
        Ok(Some(slot)) => execute(machine, core, id, pc, At { code: &code, slot }, translated),
        Ok(None) => {
            let seq = &mut machine.cores[core].engines[id.index()].seq;
            setup_halt(seq, HaltReason::Halt, pc);
            leave_loop(machine, core, id);
            Ok(Step::Stopped)
        }
        Err(kind) => Err((pc, None, kind)),
    }
}

fn state_bounds(machine: &Machine, core: usize, id: EngineId) -> (u64, u64) {
    machine.cores[core].engines[id.index()].seq.bounds
}

/// enter_run or the end of the pause service, if the doorbell is set.
fn answer_doorbell(state: &mut Engine) -> bool {
    if !state.seq.doorbell() {
        return false;
    }
    match state.seq.phase {
        Phase::Waiting => match enter_run(&mut state.seq) {
            Ok(pc) => state.pc = pc,
            Err(_) => return false,
        },
        Phase::Paused => resume_from_pause(&mut state.seq),
        Phase::Reset | Phase::Dead | Phase::Running => return false,
    }
    true
}

/// What both loops do before a word: the HW-decode loop counts and looks at its gate, then surprises are
/// tested. `false`: the word may not start. A word that is blocked in its wait has passed already; only an
/// external stop still reaches it.
fn between_words(state: &mut Engine, next: u64) -> Result<bool, ErrorClass> {
    let seq = &mut state.seq;
    let word = if !seq.checked {
        if seq.mode == Mode::HwDecode {
            emit(&LogLine::Loop(seq.iteration));
            if seq.fetch_gate == 0 {
                return Ok(false);
            }
            seq.iteration = seq.iteration.wrapping_add(1);
            emit(&LogLine::PcCheckDelta(next));
        }
        if seq.alert { seq.surprise_word(next) } else { 0 }
    } else if seq.alert {
        seq.surprise_word(next) & EXT_BREAK
    } else {
        return Ok(true);
    };
    let verdict = if seq.alert { seq.check_surprises(word, next) } else { Verdict::Continue };
    match verdict {
        Verdict::Continue => {
            seq.checked = true;
            Ok(true)
        }
        Verdict::Halt => {
            seq.checked = false;
            state.blocked_on = None;
            entering_halt(&mut state.seq);
            Ok(false)
        }
        Verdict::Fatal(class) => Err(class),
    }
}

fn assertion(class: ErrorClass) -> FaultKind {
    match class {
        ErrorClass::Assertion { function, file, line } => FaultKind::Assertion { function, file, line },
        other => FaultKind::Internal(format!("{other:?} is no assertion")),
    }
}

/// The slot of the instruction at `pc`; `None` at the graceful end of a stream (decisions 01-D24, 02-6a, 02-6b).
fn fetch(
    stream: &Stream,
    code: &[Instruction],
    pc: u64,
    (low, high): (u64, u64),
) -> Result<Option<usize>, FaultKind> {
    if pc % 64 != 0 {
        return Err(FaultKind::Fetch { pc, reason: "not a multiple of 64" });
    }
    let slot = pc.checked_sub(stream.base).and_then(|bytes| usize::try_from(bytes / 64).ok());
    if stream.ends_gracefully && slot == Some(code.len()) {
        return Ok(None);
    }
    if pc < low || pc > high {
        emit(&LogLine::PcInBounds(pc, low, high));
        return Err(FaultKind::Fetch { pc, reason: "outside the PC bounds" });
    }
    let slot = slot.filter(|slot| *slot < code.len());
    slot.map(Some).ok_or(FaultKind::Fetch { pc, reason: "lies in no stream of this engine" })
}

fn execute(
    machine: &mut Machine,
    core: usize,
    id: EngineId,
    pc: u64,
    at: At<'_>,
    translated: Option<&dyn Translated>,
) -> Result<Step, Failed> {
    let instruction = &at.code[at.slot];
    let failed = |kind| (pc, Some(instruction.word), kind);
    let decoded = instruction.body.as_ref().map_err(|e| failed((*e).into()))?;
    let opcode = decoded.info.byte;
    emit(&LogLine::Dispatch(opcode));
    if !machine.cores[core].engines[id.index()].legal[usize::from(opcode)] {
        return Err(failed(FaultKind::BadOpcode { opcode, engine: id, generation: machine.generation }));
    }
    if let Some(refused) = &instruction.refused {
        return Err(failed(FaultKind::clone(refused)));
    }
    let handler = instruction.handler.ok_or_else(|| failed(no_handler(decoded)))?;
    if !take_waits(machine, core, id, pc, decoded).map_err(failed)? {
        return Ok(Step::Blocked);
    }
    let updates = resolve_updates(&machine.cores[core].engines[id.index()], decoded).map_err(failed)?;
    trace(machine, core, id, pc, decoded, NotificationKind::Start);
    let mut exec = Exec { machine, core, engine: id, pc, ends_turn: false };
    let flow = match translated.and_then(|t| t.execute(&mut exec, at)) {
        Some(flow) => flow,
        None => handler(&mut exec, decoded).map_err(failed)?,
    };
    let mut ends_turn = exec.ends_turn;
    ends_turn |= apply_updates(machine, core, id, pc, &updates);
    trace(machine, core, id, pc, decoded, NotificationKind::End);
    retire(&mut machine.cores[core].engines[id.index()], opcode, flow);
    if flow == Flow::Halt {
        stop_at_halt(machine, core, id);
        ends_turn = true;
    }
    Ok(Step::Done { ends_turn })
}

fn no_handler(decoded: &Decoded) -> FaultKind {
    let reason = match decoded.info.execution {
        Execution::Refuse(why) => why,
        _ => "not implemented yet",
    };
    FaultKind::unsupported("opcode", reason)
}

/// Moves past a word whose updates are published.
fn retire(state: &mut Engine, opcode: u8, flow: Flow) {
    state.retired += u64::from(flow != Flow::Skip);
    state.first_wait_taken = false;
    state.seq.checked = false;
    state.seq.suppressed_at = None;
    if state.seq.alert {
        state.seq.count_opcode(opcode);
    }
    match flow {
        Flow::Jump(target) => state.seq.redirect = Some(target),
        _ => state.pc = state.pc.wrapping_add(64),
    }
}

/// HALT pauses while interrupt 0 is pending, else it halts (section 8.1).
fn stop_at_halt(machine: &mut Machine, core: usize, id: EngineId) {
    let state = &mut machine.cores[core].engines[id.index()];
    emit(&LogLine::Halt);
    emit(&LogLine::InvalidateHints);
    if state.seq.interrupt_pending(0) {
        enter_pause(&mut state.seq);
    } else {
        let next = state.next_pc();
        setup_halt(&mut state.seq, HaltReason::Halt, next);
    }
    leave_loop(machine, core, id);
}

/// What follows the inner loop: publishing why it was left.
fn leave_loop(machine: &mut Machine, core: usize, id: EngineId) {
    entering_halt(&mut machine.cores[core].engines[id.index()].seq);
}

/// The fatal path (sections 8.6 and 13.2): record, notification, Setup-Halt(16), dead until reset.
fn fatal(
    machine: &mut Machine,
    core: usize,
    id: EngineId,
    pc: u64,
    word: Option<Word>,
    kind: FaultKind,
) -> Fault {
    let class = ErrorClass::of(&kind, word.map_or(0, |w| w.opcode()));
    let stream_base = machine.cores[core].spec.streams[id.index()].base;
    let state = &mut machine.cores[core].engines[id.index()];
    let record = state.seq.raise(class).record;
    setup_halt(&mut state.seq, HaltReason::Fatal, pc);
    entering_halt(&mut state.seq);
    let (time, hint) = (state.retired * 1000, word.map_or(0, |w| w.0[3] & 0xF));
    let kind_of_record = NotificationKind::Error { record, fatal: true };
    let notification = Notification { engine: Some(id), pc, hint, time, kind: kind_of_record };
    machine.cores[core].notifications.push(notification);
    Fault { core, engine: id, pc, slot: pc.wrapping_sub(stream_base) / 64, word, kind }
}

fn trace(
    machine: &mut Machine,
    core: usize,
    id: EngineId,
    pc: u64,
    decoded: &Decoded,
    kind: NotificationKind,
) {
    if machine.options.trace {
        let time = machine.cores[core].engines[id.index()].retired * 1000;
        let hint = decoded.word.0[3] & 0xF;
        machine.cores[core].notifications.push(Notification { engine: Some(id), pc, hint, time, kind });
    }
}
