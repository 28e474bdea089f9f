//! Events and semaphores of a core (chapter 02 sections 3 and 4).

use crate::isa::field::{UpdateMode, WaitMode};
use crate::save::saved;

/// 256 semaphores and 256 events: two index spaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncUnit {
    /// 32-bit counters.
    pub semaphores: [u32; 256],
    /// One-bit cells.
    pub events: [bool; 256],
}

impl Default for SyncUnit {
    fn default() -> Self {
        SyncUnit { semaphores: [0; 256], events: [false; 256] }
    }
}

saved!(struct SyncUnit { semaphores, events });
saved!(struct Wait { mode, index, value });
saved!(struct SyncChange { semaphore, index, before, after, record });

/// A wait with its operand resolved: registers are sampled when the word issues (decision 02-3a).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Mode without the register bit.
    pub mode: WaitMode,
    /// Semaphore or event.
    pub index: u8,
    /// Operand of the compare.
    pub value: u32,
}

/// An update with its operand resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    /// What to do.
    pub action: Action,
    /// Semaphore or event.
    pub index: u8,
    /// Operand.
    pub value: u32,
}

/// The effect of an update mode, phase and register bit removed (chapter 03 section 2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Event := 1.
    SetEvent,
    /// Event := 0.
    ClearEvent,
    /// Semaphore + 1.
    Increment,
    /// Semaphore - 1.
    Decrement,
    /// Semaphore + operand.
    Add,
    /// Semaphore - operand.
    Subtract,
    /// Semaphore := operand.
    Write,
}

impl Action {
    /// The action of a mode; `None` for NONE and for bytes that are no mode.
    pub fn of(mode: UpdateMode) -> Option<Action> {
        UpdateMode::TABLE.name_of(mode.0)?;
        match mode.0 & 0x0F {
            1 => Some(Action::SetEvent),
            2 => Some(Action::ClearEvent),
            3 => Some(Action::Increment),
            4 => Some(Action::Decrement),
            5 => Some(Action::Add),
            7 => Some(Action::Subtract),
            9 => Some(Action::Write),
            _ => None,
        }
    }
}

/// What an update or a test-and-set changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyncChange {
    /// A semaphore, else an event.
    pub semaphore: bool,
    /// Which one.
    pub index: u8,
    /// Value before.
    pub before: u32,
    /// Value after.
    pub after: u32,
    /// The action field of a notification record (chapter 02 section 10.1).
    pub record: u8,
}

impl Wait {
    /// A semaphore compare whose result, once true, cannot become false by counting upward.
    pub fn is_monotone(&self) -> bool {
        matches!(self.mode, WaitMode::SEM_GT_IMM | WaitMode::SEM_GE_IMM)
    }

    /// Tests events rather than semaphores.
    pub fn on_event(&self) -> bool {
        matches!(
            self.mode,
            WaitMode::EVT_SET
                | WaitMode::EVT_SET_THEN_CLEAR
                | WaitMode::EVT_CLEAR
                | WaitMode::EVT_CLEAR_THEN_SET
        )
    }
}

impl SyncUnit {
    /// Whether a wait holds now.
    pub fn holds(&self, wait: &Wait) -> bool {
        let semaphore = self.semaphores[usize::from(wait.index)];
        let event = self.events[usize::from(wait.index)];
        match wait.mode {
            WaitMode::SEM_EQ_IMM => semaphore == wait.value,
            WaitMode::SEM_LT_IMM => semaphore < wait.value,
            WaitMode::SEM_LE_IMM => semaphore <= wait.value,
            WaitMode::SEM_GT_IMM => semaphore > wait.value,
            WaitMode::SEM_GE_IMM => semaphore >= wait.value,
            WaitMode::EVT_SET | WaitMode::EVT_SET_THEN_CLEAR => event,
            WaitMode::EVT_CLEAR | WaitMode::EVT_CLEAR_THEN_SET => !event,
            _ => true,
        }
    }

    /// The side effect of a wait that holds: test-and-clear, test-and-set (chapter 02 section 3.2).
    pub fn take(&mut self, wait: &Wait) -> Option<SyncChange> {
        let after = match wait.mode {
            WaitMode::EVT_SET_THEN_CLEAR => false,
            WaitMode::EVT_CLEAR_THEN_SET => true,
            _ => return None,
        };
        let before = std::mem::replace(&mut self.events[usize::from(wait.index)], after);
        let record = if after { 0xF1 } else { 0x07 };
        Some(SyncChange {
            semaphore: false,
            index: wait.index,
            before: before.into(),
            after: after.into(),
            record,
        })
    }

    /// Applies an update; semaphores wrap at 32 bits (decision 02-3c).
    pub fn apply(&mut self, update: &Update) -> SyncChange {
        let index = usize::from(update.index);
        let (record, after) = match update.action {
            Action::SetEvent | Action::ClearEvent => {
                let set = update.action == Action::SetEvent;
                let before = std::mem::replace(&mut self.events[index], set);
                return SyncChange {
                    semaphore: false,
                    index: update.index,
                    before: before.into(),
                    after: set.into(),
                    record: if set { 0xF1 } else { 0xF2 },
                };
            }
            Action::Increment => (0xF3, self.semaphores[index].wrapping_add(1)),
            Action::Decrement => (0xF4, self.semaphores[index].wrapping_sub(1)),
            Action::Add => (0xF3, self.semaphores[index].wrapping_add(update.value)),
            Action::Subtract => (0xF4, self.semaphores[index].wrapping_sub(update.value)),
            Action::Write => (0xF9, update.value),
        };
        let before = std::mem::replace(&mut self.semaphores[index], after);
        SyncChange { semaphore: true, index: update.index, before, after, record }
    }
}
