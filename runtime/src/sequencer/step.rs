//! One word of one engine.

use crate::interp::{Exec, Fault, FaultKind, Flow, Instruction};
use crate::isa::field::{UpdateMode, WaitMode};
use crate::isa::layouts::CTRL_ES;
use crate::isa::{Decoded, EngineId, Execution, Layout, Word};
use crate::machine::{
    Action, Core, Engine, Machine, Notification, NotificationKind, RunState, SyncChange, Update, Wait,
};

/// What one attempt to run the next word did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The word is done.
    Done {
        /// The engine's turn ends behind it.
        ends_turn: bool,
    },
    /// Its wait does not hold.
    Blocked,
    /// The engine has nothing left to run.
    Stopped,
}

/// Runs the next word of an engine, or finds that it cannot. A fault leaves the machine as it was before
/// the word, except that the engine is marked faulted.
pub fn step(machine: &mut Machine, core: usize, engine: EngineId) -> Result<Step, Fault> {
    let state = &mut machine.cores[core].engines[engine.index()];
    if state.state != RunState::Running {
        return Ok(Step::Stopped);
    }
    let pc = state.pc;
    let spec = machine.cores[core].spec.clone();
    let stream = &spec.streams[engine.index()];
    let slot = pc.wrapping_sub(stream.base) / 64;
    let result = match fetch(stream, pc) {
        Ok(Some(instruction)) => execute(machine, core, engine, pc, instruction),
        Ok(None) => {
            machine.cores[core].engines[engine.index()].state = RunState::Halted;
            return Ok(Step::Stopped);
        }
        Err(kind) => Err((None, kind)),
    };
    result.map_err(|(word, kind)| {
        machine.cores[core].engines[engine.index()].state = RunState::Faulted;
        Fault { core, engine, pc, slot, word, kind }
    })
}

/// The instruction at `pc`; `None` at the graceful end of a stream (decisions 01-D24, 02-6b).
fn fetch(stream: &crate::machine::Stream, pc: u64) -> Result<Option<&Instruction>, FaultKind> {
    if pc % 64 != 0 {
        return Err(FaultKind::Fetch { pc, reason: "not a multiple of 64" });
    }
    let slot = pc.checked_sub(stream.base).map(|bytes| bytes / 64);
    match slot.and_then(|s| usize::try_from(s).ok()) {
        Some(slot) if slot < stream.words.len() => Ok(Some(&stream.words[slot])),
        Some(slot) if slot == stream.words.len() && stream.ends_gracefully => Ok(None),
        _ => Err(FaultKind::Fetch { pc, reason: "lies in no stream of this engine" }),
    }
}

type Failed = (Option<Word>, FaultKind);

fn execute(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    pc: u64,
    instruction: &Instruction,
) -> Result<Step, Failed> {
    let failed = |kind| (Some(instruction.word), kind);
    let decoded = instruction.body.as_ref().map_err(|e| failed((*e).into()))?;
    if let Some(refused) = &instruction.refused {
        return Err(failed(FaultKind::clone(refused)));
    }
    let handler = instruction.handler.ok_or_else(|| failed(no_handler(decoded)))?;
    if !take_waits(machine, core, engine, pc, decoded).map_err(failed)? {
        return Ok(Step::Blocked);
    }
    let updates = resolve_updates(&machine.cores[core].engines[engine.index()], decoded).map_err(failed)?;
    log(machine, core, engine, pc, decoded, NotificationKind::Start);
    let mut exec = Exec { machine, core, engine, pc, ends_turn: false };
    let flow = handler(&mut exec, decoded).map_err(failed)?;
    let mut ends_turn = exec.ends_turn;
    for update in updates.iter().flatten() {
        let change = machine.cores[core].sync.apply(update);
        note_change(machine, core, Some(engine), pc, &change);
        ends_turn |= wakes_fragile_wait(&machine.cores[core], engine, &change);
    }
    log(machine, core, engine, pc, decoded, NotificationKind::End);
    let state = &mut machine.cores[core].engines[engine.index()];
    state.retired += u64::from(flow != Flow::Skip);
    state.first_wait_taken = false;
    state.pc = if let Flow::Jump(target) = flow { target } else { pc.wrapping_add(64) };
    if flow == Flow::Halt {
        state.state = RunState::Halted;
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

/// The waits of a word in the order in which they are tested: EVENTS, extended block (decision 02-8.1a).
fn waits_of(decoded: &Decoded) -> [(WaitMode, u8, u32); 2] {
    let e = &decoded.events;
    let second = CTRL_ES::of(&decoded.operands)
        .map(|w| w.events_extended)
        .map_or((WaitMode::NONE, 0, 0), |x| (x.wait_mode, x.wait_idx, x.wait_value));
    [(e.wait_mode, e.wait_idx, e.value), second]
}

/// Tests both waits of a word and does their side effects; `false`: blocked.
fn take_waits(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    pc: u64,
    decoded: &Decoded,
) -> Result<bool, FaultKind> {
    for (position, (mode, index, value)) in waits_of(decoded).into_iter().enumerate() {
        let Core { sync, engines, .. } = &mut machine.cores[core];
        let state = &mut engines[engine.index()];
        if mode == WaitMode::NONE || (position == 0 && state.first_wait_taken) {
            continue;
        }
        let wait = resolve_wait(state, mode, index, value)?;
        if !sync.holds(&wait) {
            state.blocked_on = Some(wait);
            return Ok(false);
        }
        state.first_wait_taken = position == 0;
        if let Some(change) = sync.take(&wait) {
            note_change(machine, core, Some(engine), pc, &change);
        }
    }
    machine.cores[core].engines[engine.index()].blocked_on = None;
    Ok(true)
}

/// Whether [`step`] would run the next word of an engine, or fault on it, rather than wait or find nothing
/// left. Changes nothing.
pub fn would_run(machine: &Machine, core: usize, engine: EngineId) -> bool {
    let Core { sync, engines, spec, .. } = &machine.cores[core];
    let state = &engines[engine.index()];
    let word = match fetch(&spec.streams[engine.index()], state.pc) {
        _ if state.state != RunState::Running => return false,
        Ok(None) => return false,
        Ok(Some(instruction)) => instruction.body.as_ref(),
        Err(_) => return true,
    };
    let Ok(decoded) = word else { return true };
    // The second wait sees what the first one changes.
    let mut sync = sync.clone();
    waits_of(decoded).into_iter().enumerate().all(|(position, (mode, index, value))| {
        if mode == WaitMode::NONE || (position == 0 && state.first_wait_taken) {
            return true;
        }
        let Ok(wait) = resolve_wait(state, mode, index, value) else { return true };
        let holds = sync.holds(&wait);
        if holds {
            sync.take(&wait);
        }
        holds
    })
}

/// Resolves the operand of a wait: immediate, register, or register plus offset (decisions 02-3a, 02-3b).
pub fn resolve_wait(engine: &Engine, mode: WaitMode, index: u8, value: u32) -> Result<Wait, FaultKind> {
    let base = WaitMode(mode.0 & 0x0F);
    Ok(match mode.0 & 0xF0 {
        0x80 => Wait { mode: base, index, value: event_register(engine, value, value >> 8 == 0)? },
        0x90 => {
            let offset = (value as i32 >> 8) as u32;
            Wait { mode: base, index, value: event_register(engine, value, true)?.wrapping_add(offset) }
        }
        _ => Wait { mode, index, value },
    })
}

/// Reads the register that an EVENTS value names in its low byte (chapter 03 section 2.3).
fn event_register(engine: &Engine, value: u32, clean: bool) -> Result<u32, FaultKind> {
    let number = value as u8;
    match engine.registers.get(usize::from(number)) {
        Some(register) if clean => Ok(*register),
        _ => Err(FaultKind::illegal("semaphore_value", format!("0x{value:x}"), "register 0 to 63, other bytes zero")),
    }
}

/// The updates of a word in the order in which they apply: extended block, then EVENTS.
fn resolve_updates(engine: &Engine, decoded: &Decoded) -> Result<[Option<Update>; 2], FaultKind> {
    let resolve = |mode: UpdateMode, index: u8, value: u32| -> Result<Option<Update>, FaultKind> {
        let Some(action) = Action::of(mode) else { return Ok(None) };
        let value = if mode.0 & 0x80 != 0 { event_register(engine, value, value >> 8 == 0)? } else { value };
        Ok(Some(Update { action, index, value }))
    };
    let e = &decoded.events;
    let extended = CTRL_ES::of(&decoded.operands).map(|w| w.events_extended).unwrap_or_default();
    Ok([
        resolve(extended.update_mode, extended.update_idx, extended.update_value)?,
        resolve(e.update_mode, e.update_idx, e.value)?,
    ])
}

/// Records a semaphore or event change where tracing is on, and the warning for an underflow.
pub fn note_change(
    machine: &mut Machine,
    core: usize,
    engine: Option<EngineId>,
    pc: u64,
    change: &SyncChange,
) {
    if change.semaphore && change.record == 0xF4 && change.after > change.before && machine.options.strict {
        machine.warn(format!("core {core}: semaphore {} went below zero", change.index));
    }
    if machine.options.trace {
        let time = engine.map_or(0, |e| machine.cores[core].engines[e.index()].retired * 1000);
        let kind = NotificationKind::Sync(*change);
        machine.cores[core].notifications.push(Notification { engine, pc, hint: 0, time, kind });
    }
}

/// Whether a change satisfies the wait of another, blocked engine in a way that can become false again.
pub fn wakes_fragile_wait(core: &Core, engine: EngineId, change: &SyncChange) -> bool {
    core.engines.iter().any(|other| {
        other.id != engine
            && other.blocked_on.is_some_and(|wait| {
                !wait.is_monotone()
                    && wait.on_event() != change.semaphore
                    && wait.index == change.index
                    && core.sync.holds(&wait)
            })
    })
}

fn log(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    pc: u64,
    decoded: &Decoded,
    kind: NotificationKind,
) {
    if machine.options.trace {
        let time = machine.cores[core].engines[engine.index()].retired * 1000;
        let hint = decoded.word.0[3] & 0xF;
        machine.cores[core].notifications.push(Notification { engine: Some(engine), pc, hint, time, kind });
    }
}
