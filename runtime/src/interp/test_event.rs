//! TEST_EVENT_SEM: reads or updates a list of semaphores or events (chapter 02 section 8.19).

use super::{Exec, FaultKind, Flow};
use crate::isa::Decoded;
use crate::isa::layouts::CTRL_TEST_ES;
use crate::machine::{Action, SyncUnit, Update};
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
    check(x, w)?.run(x);
    Ok(Flow::Next)
}

/// A TEST_EVENT_SEM that has been checked.
#[derive(Clone, Debug)]
pub struct Test {
    what: What,
    /// Each semaphore or event with its register.
    cells: Vec<(u8, u8)>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The registers take the semaphores.
    ReadSemaphores,
    /// The registers take the events.
    ReadEvents,
    /// All cells are updated once.
    Update(Action),
    /// Semaphores that have reached the threshold, in at most so many passes.
    UpdateIfReached { action: Action, threshold: u32, passes: u8 },
}

/// Makes all checks of a TEST_EVENT_SEM.
pub fn check(x: &Exec<'_>, w: &Decoded) -> Result<Test, FaultKind> {
    let o = *x.operands::<CTRL_TEST_ES>(w)?;
    let n = usize::from(o.num_evt_sem);
    if !(1..=16).contains(&n) {
        return Err(FaultKind::illegal("num_evt_sem", n, "1 to 16"));
    }
    for number in &o.value_registers.0[..n] {
        x.register("value_registers", *number)?;
    }
    let what = match o.mode {
        READ_SEMAPHORES => What::ReadSemaphores,
        READ_EVENTS => What::ReadEvents,
        UPDATE_SEMAPHORES | UPDATE_EVENTS => What::Update(action(&o)?),
        UPDATE_IF_REACHED => {
            let (threshold, passes) = (o.threshold, o.repeat_count.max(1));
            What::UpdateIfReached { action: action(&o)?, threshold, passes }
        }
        other => return Err(FaultKind::illegal("mode", other, "0 to 4")),
    };
    Ok(Test { what, cells: o.evt_sem_ids.into_iter().zip(o.value_registers.0).take(n).collect() })
}

impl Test {
    /// Does what the word wants.
    pub fn run(&self, x: &mut Exec<'_>) {
        match self.what {
            What::ReadSemaphores => {
                self.read(x, |sync, id| sync.semaphores[id]);
                for (id, _) in &self.cells {
                    let (core, value) = (x.core, x.core().sync.semaphores[usize::from(*id)]);
                    if let Some(races) = &mut x.machine.races {
                        races.observed(core, *id, value);
                    }
                }
            }
            What::ReadEvents => {
                self.read(x, |sync, id| sync.events[id].into());
            }
            What::Update(action) => {
                self.cells.iter().for_each(|(id, number)| update(x, action, *id, register(x, *number)));
            }
            What::UpdateIfReached { action, threshold, passes } => {
                for _ in 0..passes {
                    if !self.pass(x, action, threshold) {
                        break;
                    }
                }
            }
        }
    }

    fn read(&self, x: &mut Exec<'_>, cell: fn(&SyncUnit, usize) -> u32) {
        for (id, number) in &self.cells {
            let value = cell(&x.core().sync, usize::from(*id));
            set_register(x, *number, value);
        }
    }

    /// One pass over the semaphores; whether one had reached the threshold (decision 02-8.19).
    fn pass(&self, x: &mut Exec<'_>, action: Action, threshold: u32) -> bool {
        let mut fired = false;
        for (id, number) in &self.cells {
            if x.core().sync.semaphores[usize::from(*id)] < threshold {
                continue;
            }
            fired = true;
            update(x, action, *id, register(x, *number));
            let count = register(x, *number).wrapping_add(1);
            set_register(x, *number, count);
        }
        fired
    }
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

fn update(x: &mut Exec<'_>, action: Action, index: u8, value: u32) {
    let change = x.core().sync.apply(&Update { action, index, value });
    let (core, engine, pc) = (x.core, x.engine, x.pc);
    note_change(x.machine, core, Some(engine), pc, &change);
    x.ends_turn |= wakes_fragile_wait(&x.machine.cores[core], engine, &change);
}

/// Reads a register whose number has been checked.
fn register(x: &Exec<'_>, number: u8) -> u32 {
    let value = x.register("value_registers", number);
    debug_assert!(value.is_ok(), "the register number has been checked");
    value.unwrap_or_default()
}

/// Writes a register whose number has been checked.
fn set_register(x: &mut Exec<'_>, number: u8, value: u32) {
    let written = x.engine_state().set_register(number, value);
    debug_assert!(written.is_some(), "the register number has been checked");
}
