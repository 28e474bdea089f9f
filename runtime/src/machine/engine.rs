//! The sequencer-visible state of one engine: registers, PC, progress (chapter 02 sections 5 and 6).

use super::sync::Wait;
use crate::isa::EngineId;

/// General registers of an engine.
pub const REGISTERS: usize = 64;
/// Specifier of the low half of the current word's address.
pub const REG_PC_LO: u8 = 128;
/// Specifier of the high half of the current word's address.
pub const REG_PC_HI: u8 = 129;
/// Specifier of the low half of the address-table base.
pub const REG_TABLE_LO: u8 = 130;
/// Specifier of the high half of the address-table base.
pub const REG_TABLE_HI: u8 = 131;

/// Whether an engine will run its next word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RunState {
    /// It has not started or has words left.
    #[default]
    Running,
    /// It ran off the end of its stream, or halted; nothing is left to do.
    Halted,
    /// It met a fault and stays where it is.
    Faulted,
}

/// One engine of a core.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Which engine.
    pub id: EngineId,
    /// R0 to R63.
    pub registers: [u32; REGISTERS],
    /// R131:R130, base of the DGE address table.
    pub table_base: u64,
    /// Byte address of the next word.
    pub pc: u64,
    /// Strong ordering was requested (chapter 02 section 8.16).
    pub strong_order: bool,
    /// Whether it runs.
    pub state: RunState,
    /// Words whose updates are published (design section 3 rule 4).
    pub retired: u64,
    /// The wait on which the last attempt to run the next word stopped.
    pub blocked_on: Option<Wait>,
    /// The first of the two waits of the next word has been satisfied and its side effect done.
    pub first_wait_taken: bool,
}

impl Engine {
    /// An engine about to run the word at `pc`.
    pub fn new(id: EngineId, pc: u64, table_base: u64) -> Self {
        Engine {
            id,
            registers: [0; REGISTERS],
            table_base,
            pc,
            strong_order: false,
            state: RunState::Running,
            retired: 0,
            blocked_on: None,
            first_wait_taken: false,
        }
    }

    /// Reads a register specifier; `pc` is the address of the word that reads. `None`: no such register.
    pub fn register(&self, number: u8, pc: u64) -> Option<u32> {
        match number {
            REG_PC_LO => Some(pc as u32),
            REG_PC_HI => Some((pc >> 32) as u32),
            REG_TABLE_LO => Some(self.table_base as u32),
            REG_TABLE_HI => Some((self.table_base >> 32) as u32),
            _ => self.registers.get(usize::from(number)).copied(),
        }
    }

    /// Writes a register specifier; 128 and 129 ignore it. `None`: no such register.
    pub fn set_register(&mut self, number: u8, value: u32) -> Option<()> {
        match number {
            REG_PC_LO | REG_PC_HI => {}
            REG_TABLE_LO => self.table_base = self.table_base >> 32 << 32 | u64::from(value),
            REG_TABLE_HI => self.table_base = self.table_base & 0xFFFF_FFFF | u64::from(value) << 32,
            _ => *self.registers.get_mut(usize::from(number))? = value,
        }
        Some(())
    }
}
