//! TEST_EVENT_SEM: reads or updates a list of semaphores or events (chapter 02 section 8.19).

use super::{Exec, FaultKind, Flow};
use crate::isa::Decoded;
use crate::isa::layouts::CTRL_TEST_ES;
use crate::machine::{Action, Update};
use crate::sequencer::{note_change, wakes_fragile_wait};

/// Modes.
pub const READ_SEMAPHORES: u8 = 0;
/// Events into registers.
pub const READ_EVENTS: u8 = 1;
/// Semaphores by registers.
pub const UPDATE_SEMAPHORES: u8 = 2;
/// Events.
pub const UPDATE_EVENTS: u8 = 3;
/// Semaphores that have reached the threshold, counting in the registers.
pub const UPDATE_IF_REACHED: u8 = 4;

/// TEST_EVENT_SEM.
pub fn test_event_sem(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<CTRL_TEST_ES>(w)?;
    let n = usize::from(o.num_evt_sem);
    if !(1..=16).contains(&n) {
        return Err(FaultKind::illegal("num_evt_sem", n, "1 to 16"));
    }
    for number in &o.value_registers.0[..n] {
        x.register("value_registers", *number)?;
    }
    let cells: Vec<(u8, u8)> = o.evt_sem_ids.into_iter().zip(o.value_registers.0).take(n).collect();
    match o.mode {
        READ_SEMAPHORES | READ_EVENTS => {
            for (id, register) in cells {
                let sync = &x.core().sync;
                let event = sync.events[usize::from(id)].into();
                let value = if o.mode == READ_EVENTS { event } else { sync.semaphores[usize::from(id)] };
                set_register(x, register, value);
            }
        }
        UPDATE_SEMAPHORES | UPDATE_EVENTS => {
            let action = action(&o)?;
            for (id, register) in cells {
                update(x, action, id, register)?;
            }
        }
        UPDATE_IF_REACHED => {
            let action = action(&o)?;
            for _ in 0..o.repeat_count.max(1) {
                if !pass(x, action, &cells, o.threshold)? {
                    break;
                }
            }
        }
        other => return Err(FaultKind::illegal("mode", other, "0 to 4")),
    }
    Ok(Flow::Next)
}

/// One pass over the semaphores; whether one had reached the threshold (decision 02-8.19).
fn pass(x: &mut Exec<'_>, action: Action, cells: &[(u8, u8)], threshold: u32) -> Result<bool, FaultKind> {
    let mut fired = false;
    for (id, register) in cells {
        if x.core().sync.semaphores[usize::from(*id)] < threshold {
            continue;
        }
        fired = true;
        update(x, action, *id, *register)?;
        let count = x.register("value_registers", *register)?.wrapping_add(1);
        set_register(x, *register, count);
    }
    Ok(fired)
}

/// The update's action, of the kind that the mode wants.
pub fn action(o: &CTRL_TEST_ES) -> Result<Action, FaultKind> {
    let immediate = matches!(o.update_type.0 & 0x8F, 0x05 | 0x07 | 0x09);
    let of_events = |a: &Action| matches!(a, Action::SetEvent | Action::ClearEvent);
    Action::of(o.update_type).filter(|a| !immediate && of_events(a) == (o.mode == UPDATE_EVENTS)).ok_or_else(
        || {
            let found = format!("0x{:02x}", o.update_type.0);
            FaultKind::illegal("update_type", found, "an update of the mode's cells without an immediate")
        },
    )
}

fn update(x: &mut Exec<'_>, action: Action, index: u8, register: u8) -> Result<(), FaultKind> {
    let value = x.register("value_registers", register)?;
    let change = x.core().sync.apply(&Update { action, index, value });
    let (core, engine, pc) = (x.core, x.engine, x.pc);
    note_change(x.machine, core, Some(engine), pc, &change);
    x.ends_turn |= wakes_fragile_wait(&x.machine.cores[core], engine, &change);
    Ok(())
}

/// Writes a register whose number has been checked.
fn set_register(x: &mut Exec<'_>, number: u8, value: u32) {
    let written = x.engine_state().set_register(number, value);
    debug_assert!(written.is_some(), "the caller checked the register number");
}
