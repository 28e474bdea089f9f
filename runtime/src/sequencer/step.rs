//! One word of one engine: the body of both loops (chapter 01 sections 6.1, 6.2 and 6.4).

use std::sync::Arc;

use super::error::{ErrorClass, report};
use super::halt::{
    INTERRUPT, commit_redirect, enter_pause, enter_run, entering_halt, resume_from_pause, setup_halt,
};
use super::log::{LogLine, emit, emit_label};
use super::state::{HaltReason, Mode, Phase};
use super::surprise::EXT_BREAK;
use super::waits::{apply_updates, resolve_updates, take_waits};
use crate::interp::{At, Exec, Fault, FaultKind, Flow, Handler, Instruction, Translated};
use crate::isa::{Decoded, EngineId, Execution, Generation, Word};
use crate::machine::{Core, Engine, Machine, Notification, NotificationKind, Stream};

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

/// Runs the next word of an engine, or finds that it cannot.
///
/// # Errors
/// What stopped the engine; the word has had no effect, the machine can be inspected. An engine that such a
/// fault has stopped gives the same one again until it is reset (chapter 01 section 8.6).
pub fn step(machine: &mut Machine, core: usize, engine: EngineId) -> Result<Step, Fault> {
    let code = machine.cores[core].engines[engine.index()].code.clone();
    step_in(machine, core, engine, &code, None)
}

/// [`step`] for callers that hold the engine's code already, and may have native code for it.
pub(super) fn step_in(
    machine: &mut Machine,
    core: usize,
    id: EngineId,
    code: &Arc<[Instruction]>,
    translated: Option<&dyn Translated>,
) -> Result<Step, Fault> {
    let strict = machine.options.strict;
    let Core { engines, spec, .. } = &mut machine.cores[core];
    let state = &mut engines[id.index()];
    let admitted = next_word(state, &spec.streams[id.index()], code, strict);
    let outcome = match admitted {
        Ok(Next::Word(slot, fresh)) => execute(machine, core, id, At { code, slot }, fresh, translated),
        Ok(Next::Blocked) => return Ok(Step::Blocked),
        Ok(Next::Stopped) => return Ok(Step::Stopped),
        Ok(Next::Dead(fault)) => return Err(*fault),
        Err(kind) => Err((None, kind)),
    };
    outcome.map_err(|(word, kind)| fatal(machine, core, id, word, kind))
}

/// What comes before a word runs.
enum Next {
    /// The one in this slot may; the flag tells that this is the first attempt.
    Word(usize, bool),
    /// The fetch gate is shut.
    Blocked,
    /// The engine does not run, or no longer.
    Stopped,
    /// It never will.
    Dead(Box<Fault>),
}

/// Answers the doorbell, tests surprises, commits a redirect and fetches (section 6.4).
fn next_word(
    state: &mut Engine,
    stream: &Stream,
    code: &[Instruction],
    strict: bool,
) -> Result<Next, FaultKind> {
    if !state.seq.running && !answer_doorbell(state, strict)? {
        return Ok(state.seq.fault.clone().map_or(Next::Stopped, Next::Dead));
    }
    let fresh = !state.seq.checked;
    if fresh && !fetch_gate(state) {
        return Ok(Next::Blocked);
    }
    if !check(state, fresh)? {
        leave_loop(state, strict)?;
        return Ok(Next::Stopped);
    }
    if let Some(target) = state.seq.redirect {
        commit_redirect(&mut state.seq, target);
        state.seq.redirect = None;
        state.pc = target;
    } else if fresh && state.seq.mode == Mode::Sunda {
        emit(&LogLine::SundaPendingRedirect(false));
    }
    match fetch(stream, code, state.pc, state.seq.bounds)? {
        Some(slot) => Ok(Next::Word(slot, fresh)),
        None => {
            setup_halt(&mut state.seq, HaltReason::Halt, state.pc);
            leave_loop(state, strict)?;
            Ok(Next::Stopped)
        }
    }
}

/// enter_run or the end of the pause service, if the doorbell is set.
fn answer_doorbell(state: &mut Engine, strict: bool) -> Result<bool, FaultKind> {
    match state.seq.phase {
        // The loop's poll has found the running flag cleared.
        Phase::Running => return leave_loop(state, strict).map(|()| false),
        Phase::Paused if state.seq.doorbell() => {
            resume_from_pause(&mut state.seq);
            return Ok(true);
        }
        Phase::Waiting if state.seq.doorbell() => {}
        _ => return Ok(false),
    }
    let pc = enter_run(&mut state.seq)?;
    // A word that was stopped between its two waits goes on behind the first, if the host lets it.
    state.seq.first_wait_taken &= pc == state.pc;
    if pc != state.pc {
        state.ticket = None;
    }
    state.blocked_on = None;
    state.pc = pc;
    Ok(true)
}

/// A trip round the HW-decode loop: does hardware have a word (section 6.2, steps 2 to 5)?
fn fetch_gate(state: &mut Engine) -> bool {
    let next = state.next_pc();
    let seq = &mut state.seq;
    if seq.mode == Mode::Sunda {
        return true;
    }
    emit(&LogLine::Loop(seq.iteration));
    seq.iteration = seq.iteration.wrapping_add(1);
    if seq.fetch_gate != 0 {
        emit(&LogLine::PcCheckDelta(next));
    }
    seq.fetch_gate != 0
}

/// Tests surprises, once a word; `false`: Setup-Halt has run. A word that is blocked in its wait has been
/// tested before. It has done nothing that a stop would tear apart, so that the host's wish to stop still
/// reaches it: otherwise an engine that waits for a stopped one could not be stopped.
fn check(state: &mut Engine, fresh: bool) -> Result<bool, FaultKind> {
    let next = state.next_pc();
    let seq = &mut state.seq;
    let mut word = if seq.alert { seq.surprise_word(next) } else { 0 };
    if !fresh {
        word &= EXT_BREAK;
        if word == 0 {
            return Ok(true);
        }
    }
    seq.checked = seq.check_surprises(word, next)?;
    Ok(seq.checked)
}

/// The slot of the instruction at `pc`; `None` at the graceful end of a stream (decisions 01-D24, 02-6a, 02-6b).
fn fetch(
    stream: &Stream,
    code: &[Instruction],
    pc: u64,
    (low, high): (u64, u64),
) -> Result<Option<usize>, FaultKind> {
    if !pc.is_multiple_of(64) {
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
    let nowhere = || FaultKind::Fetch { pc, reason: "lies in no stream of this engine" };
    slot.map(Some).ok_or_else(nowhere)
}

/// The word, where one was fetched, and what is wrong.
type Failed = (Option<Word>, FaultKind);

/// The envelope of every word: waits, body, updates (section 11.2, decision 01-D14).
fn execute(
    machine: &mut Machine,
    core: usize,
    id: EngineId,
    at: At<'_>,
    fresh: bool,
    translated: Option<&dyn Translated>,
) -> Result<Step, Failed> {
    let instruction = &at.code[at.slot];
    let failed = |kind| (Some(*instruction.word()), kind);
    let opcode = instruction.word().opcode();
    if fresh {
        emit(&LogLine::Dispatch(opcode));
    }
    let state = &mut machine.cores[core].engines[id.index()];
    let pc = state.pc;
    let (decoded, handler) = dispatch(state, instruction, machine.generation).map_err(failed)?;
    if !take_waits(machine, core, id, pc, decoded).map_err(failed)? {
        return Ok(Step::Blocked);
    }
    let updates = resolve_updates(&machine.cores[core].engines[id.index()], decoded).map_err(failed)?;
    machine.races_begin(core, id, decoded);
    let traced = machine.options.trace;
    if traced && machine.cores[core].engines[id.index()].ticket.is_none() {
        trace(machine, core, id, pc, decoded, NotificationKind::Start);
    }
    emit_label(opcode);
    let mut exec = Exec { machine, core, engine: id, pc, ends_turn: false };
    let flow = match translated.and_then(|t| t.execute(&mut exec, at)) {
        Some(flow) => flow,
        None => handler(&mut exec, decoded).map_err(failed)?,
    };
    if flow == Flow::Block {
        machine.races_end(false);
        return Ok(Step::Blocked);
    }
    let mut ends_turn = exec.ends_turn;
    if flow != Flow::Deferred {
        ends_turn |= apply_updates(machine, core, id, pc, &updates);
    }
    machine.races_end(true);
    if traced {
        trace(machine, core, id, pc, decoded, NotificationKind::End);
    }
    let strict = machine.options.strict;
    let state = &mut machine.cores[core].engines[id.index()];
    retire(state, opcode, flow);
    if flow == Flow::Halt {
        halt(state, strict).map_err(|kind| (None, kind))?;
        ends_turn = true;
    }
    Ok(Step::Done { ends_turn })
}

/// The operands and the handler of a word, or why this engine does not run it.
fn dispatch<'c>(
    state: &Engine,
    instruction: &'c Instruction,
    generation: Generation,
) -> Result<(&'c Decoded, Handler), FaultKind> {
    let opcode = instruction.word().opcode();
    if !state.legal[usize::from(opcode)] {
        return Err(FaultKind::BadOpcode { opcode, engine: state.id, generation });
    }
    let decoded = instruction.body.as_ref().map_err(|unrunnable| FaultKind::clone(&unrunnable.why))?;
    let handler = instruction.handler().ok_or_else(|| {
        FaultKind::unsupported(
            "opcode",
            match decoded.info.execution {
                Execution::Refuse(why) => why,
                _ => "not implemented yet",
            },
        )
    })?;
    Ok((decoded, handler))
}

/// Moves past a word whose updates are published.
pub(super) fn retire(state: &mut Engine, opcode: u8, flow: Flow) {
    state.retired += u64::from(flow != Flow::Skip);
    state.ticket = None;
    let seq = &mut state.seq;
    seq.first_wait_taken = false;
    seq.checked = false;
    seq.suppressed_at = None;
    if seq.alert {
        seq.count_opcode(opcode);
    }
    match flow {
        Flow::Jump(target) => seq.redirect = Some(target),
        _ => state.pc = state.pc.wrapping_add(64),
    }
}

/// The end of HALT: it pauses while interrupt 0 is pending, else it halts (section 8.1).
fn halt(state: &mut Engine, strict: bool) -> Result<(), FaultKind> {
    if state.seq.interrupt_pending(0) {
        enter_pause(&mut state.seq);
    } else {
        setup_halt(&mut state.seq, HaltReason::Halt, state.pc);
    }
    leave_loop(state, strict)
}

/// What follows the inner loop. The outer loop publishes why it was left, unless by a pause (decision
/// 01-D11). A nested loop returns to the paused program; not to have paused is an assertion, which lenient
/// mode turns into a published reason (section 10, decision 01-D13).
pub(super) fn leave_loop(state: &mut Engine, strict: bool) -> Result<(), FaultKind> {
    state.blocked_on = None;
    state.seq.checked = false;
    let paused = state.seq.phase == Phase::Paused;
    if state.seq.outer_pc.is_some() && !paused && strict {
        return Err(INTERRUPT);
    }
    if !paused {
        entering_halt(&mut state.seq);
    }
    if let Some(outer) = state.seq.outer_pc.take() {
        state.seq.phase = Phase::Paused;
        state.seq.redirect = None;
        state.pc = outer;
    }
    Ok(())
}

/// The fatal path (sections 8.6 and 13.2): record, notification, Setup-Halt(16), dead until reset.
pub(super) fn fatal(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    word: Option<Word>,
    kind: FaultKind,
) -> Fault {
    let class = ErrorClass::of(&kind, word.map_or(0, |w| w.opcode()));
    let pc = machine.cores[core].engines[engine.index()].next_pc();
    let hint = word.map_or(0, |w| w.0[3] & 0xF);
    let error = report(&mut machine.cores[core], engine, pc, hint, class);
    // A failed assertion while reporting replaces the error.
    let kind = if error.class == class { kind } else { error.class.assertion().unwrap_or(kind) };
    let Core { engines, spec, .. } = &mut machine.cores[core];
    let slot = pc.wrapping_sub(spec.streams[engine.index()].base) / 64;
    let fault = Fault { core, engine, pc, slot, word: word.map(Box::new), kind };
    let state = &mut engines[engine.index()];
    state.blocked_on = None;
    setup_halt(&mut state.seq, HaltReason::Fatal, pc);
    entering_halt(&mut state.seq);
    state.seq.fault = Some(Box::new(fault.clone()));
    fault
}

/// Records the start or the end of a word.
fn trace(
    machine: &mut Machine,
    core: usize,
    id: EngineId,
    pc: u64,
    decoded: &Decoded,
    kind: NotificationKind,
) {
    let core = &mut machine.cores[core];
    let time = core.engines[id.index()].retired * 1000;
    let hint = decoded.word.0[3] & 0xF;
    core.notifications.push(Notification { engine: Some(id), pc, hint, time, kind });
}
