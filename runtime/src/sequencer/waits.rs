//! Waits before a word and updates behind it (chapter 02 section 3).

use crate::interp::FaultKind;
use crate::isa::field::{UpdateMode, WaitMode};
use crate::isa::layouts::{CTRL_ES, DMA_COPY2D};
use crate::isa::{Decoded, EngineId, Generation, Layout, WORD_BYTES};
use crate::machine::{
    Action, Change, Core, Engine, Machine, Notification, NotificationKind, SyncChange, SyncUnit, Update, Wait,
};

/// The waits of a word in the order in which they are tested (decision 02-8.1a).
fn waits_of(decoded: &Decoded) -> [(WaitMode, u8, u32); 2] {
    if let Some(o) = DMA_COPY2D::of(&decoded.operands) {
        let own = (o.wait_sema_mode, o.wait_sema_idx, o.wait_sema_value);
        return [own, (WaitMode::NONE, 0, 0)];
    }
    let e = &decoded.events;
    let second = CTRL_ES::of(&decoded.operands)
        .map(|w| w.events_extended)
        .map_or((WaitMode::NONE, 0, 0), |x| (x.wait_mode, x.wait_idx, x.wait_value));
    [(e.wait_mode, e.wait_idx, e.value), second]
}

/// Whether an active engine would run its next word, or fault on it, rather than wait. Changes nothing.
pub(super) fn would_run(core: &Core, engine: EngineId) -> bool {
    let state = &core.engines[engine.index()];
    let bytes = state.next_pc().wrapping_sub(core.spec.streams[engine.index()].base);
    let word = state.code.get((bytes / WORD_BYTES as u64) as usize);
    let Some(Ok(decoded)) = word.map(|instruction| &instruction.body) else { return state.is_active() };
    // The second wait sees what the first one changes.
    let mut sync = core.sync.clone();
    let holds = |(position, (mode, index, value))| {
        if mode == WaitMode::NONE || (position == 0 && state.seq.first_wait_taken) {
            return true;
        }
        let Ok(wait) = resolve_wait(state, mode, index, value) else { return true };
        let holds = sync.holds(&wait);
        if holds {
            sync.take(&wait);
        }
        holds
    };
    state.is_active() && waits_of(decoded).into_iter().enumerate().all(holds)
}

/// Tests both waits of a word in order and does their side effects; `false`: blocked.
pub(super) fn take_waits(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    pc: u64,
    decoded: &Decoded,
) -> Result<bool, FaultKind> {
    let waits = waits_of(decoded);
    if waits.iter().all(|(mode, ..)| *mode == WaitMode::NONE) {
        return Ok(true);
    }
    for (position, (mode, index, value)) in waits.into_iter().enumerate() {
        let Core { sync, engines, .. } = &mut machine.cores[core];
        let state = &mut engines[engine.index()];
        if mode == WaitMode::NONE || (position == 0 && state.seq.first_wait_taken) {
            continue;
        }
        let wait = resolve_wait(state, mode, index, value)?;
        if !sync.holds(&wait) {
            state.blocked_on = Some(wait);
            return Ok(false);
        }
        state.seq.first_wait_taken |= position == 0;
        if let Some(races) = &mut machine.races {
            races.waited(core, engine, &wait);
        }
        if let Some(change) = sync.take(&wait) {
            note_change(machine, core, Some(engine), pc, &change);
        }
    }
    machine.cores[core].engines[engine.index()].blocked_on = None;
    Ok(true)
}

/// Resolves the operand of a wait: immediate, register, or register plus offset (decisions 02-3a, 02-3b).
pub fn resolve_wait(engine: &Engine, mode: WaitMode, index: u8, value: u32) -> Result<Wait, FaultKind> {
    let base = WaitMode(mode.0 & 0x0F);
    match mode.0 {
        0x00..=0x07 | 0x0E | 0x0F | 0xFE => Ok(Wait { mode, index, value }),
        0x81..=0x85 => Ok(Wait { mode: base, index, value: event_register(engine, value, value >> 8 == 0)? }),
        0x91..=0x95 if engine.seq.csr.generation() == Generation::Maverick => {
            let offset = (value as i32 >> 8) as u32;
            Ok(Wait { mode: base, index, value: event_register(engine, value, true)?.wrapping_add(offset) })
        }
        _ => {
            Err(FaultKind::illegal("wait_mode", format!("0x{:02x}", mode.0), "a wait mode of the generation"))
        }
    }
}

/// Reads the register that an EVENTS value names in its low byte (chapter 03 section 2.3).
fn event_register(engine: &Engine, value: u32, clean: bool) -> Result<u32, FaultKind> {
    match engine.registers.get(usize::from(value as u8)) {
        Some(register) if clean => Ok(*register),
        _ => {
            let found = format!("0x{value:x}");
            Err(FaultKind::illegal("semaphore_value", found, "register 0 to 63, other bytes zero"))
        }
    }
}

/// The updates of a word in the order in which they apply: extended block, then EVENTS.
pub(super) fn resolve_updates(engine: &Engine, decoded: &Decoded) -> Result<[Option<Update>; 2], FaultKind> {
    let e = &decoded.events;
    let extended = CTRL_ES::of(&decoded.operands).map(|w| &w.events_extended);
    if e.update_mode == UpdateMode::NONE && extended.is_none() {
        return Ok([None; 2]);
    }
    let resolve = |mode: UpdateMode, index: u8, value: u32| -> Result<Option<Update>, FaultKind> {
        if mode == UpdateMode::NONE {
            return Ok(None);
        }
        let Some(action) = Action::of(mode) else {
            return Err(FaultKind::illegal("update_mode", format!("0x{:02x}", mode.0), "an update mode"));
        };
        let value = if mode.0 & 0x80 != 0 { event_register(engine, value, value >> 8 == 0)? } else { value };
        Ok(Some(Update { action, index, value }))
    };
    let first = match extended {
        Some(x) => resolve(x.update_mode, x.update_idx, x.update_value)?,
        None => None,
    };
    Ok([first, resolve(e.update_mode, e.update_idx, e.value)?])
}

/// Applies updates in order; tells whether one ends the turn.
pub(super) fn apply_updates(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    pc: u64,
    updates: &[Option<Update>; 2],
) -> bool {
    let mut ends_turn = false;
    for update in updates.iter().flatten() {
        ends_turn |= apply_update(machine, core, engine, pc, update);
    }
    ends_turn
}

/// Applies one update; tells whether it ends the turn.
pub(super) fn apply_update(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    pc: u64,
    update: &Update,
) -> bool {
    let change = machine.cores[core].sync.apply(update);
    if let Some(races) = &mut machine.races {
        races.updates();
    }
    note_change(machine, core, Some(engine), pc, &change);
    wakes_fragile_wait(&machine.cores[core], engine, &change)
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
    if let Some(races) = &mut machine.races {
        races.changed(core, change);
    }
    if let Some(changes) = &mut machine.changes {
        changes.push(Change { core, engine, pc, change: *change });
    }
    if machine.options.trace {
        let time = engine.map_or(0, |e| machine.cores[core].engines[e.index()].retired * 1000);
        let kind = NotificationKind::Sync(*change);
        machine.cores[core].notifications.push(Notification { engine, pc, hint: 0, time, kind });
    }
}

/// Whether a change satisfies the wait of another, blocked engine in a way that can become false again
/// (design section 3 rule 8).
pub fn wakes_fragile_wait(core: &Core, engine: EngineId, change: &SyncChange) -> bool {
    wakes_fragile_wait_in(&core.engines, &core.sync, engine, change)
}

fn wakes_fragile_wait_in(engines: &[Engine], sync: &SyncUnit, engine: EngineId, change: &SyncChange) -> bool {
    engines.iter().any(|other| {
        other.id != engine
            && other.blocked_on.is_some_and(|wait| {
                !wait.is_monotone()
                    && wait.on_event() != change.semaphore
                    && wait.index == change.index
                    && sync.holds(&wait)
            })
    })
}

/// How many words of an engine, with these waits and updates, run one after the other before one is blocked, or behind one that ends
/// the turn. Changes nothing.
pub(super) fn passing(
    core: &Core,
    engine: EngineId,
    words: impl IntoIterator<Item = (Option<Wait>, Option<Update>)>,
) -> usize {
    let mut sync = core.sync.clone();
    let mut passed = 0;
    for (wait, update) in words {
        if let Some(wait) = wait {
            if !sync.holds(&wait) {
                break;
            }
            sync.take(&wait);
        }
        passed += 1;
        let change = update.map(|update| sync.apply(&update));
        if change.is_some_and(|change| wakes_fragile_wait_in(&core.engines, &sync, engine, &change)) {
            break;
        }
    }
    passed
}
