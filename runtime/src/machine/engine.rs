//! The sequencer-visible state of one engine: registers, PC, progress (chapter 02 sections 5 and 6).

use std::sync::Arc;

use super::core::Stream;
use super::meeting::Call;
use super::sync::Wait;
use crate::interp::Instruction;
use crate::isa::{EngineId, Generation};
use crate::save::{Damaged, Reader, Saved};
use crate::sequencer::csr::{Accessor, RELEASE_RUN_STALL};
use crate::sequencer::{Phase, Sequencer};

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

/// One engine of a core.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Which engine.
    pub id: EngineId,
    /// R0 to R63.
    pub registers: [u32; REGISTERS],
    /// Shape registers: element counts of four dimensions each (decision 02-8.17).
    pub shapes: [[u16; 4]; 4],
    /// R131:R130, base of the DGE address table.
    pub table_base: u64,
    /// Byte address of the next word, unless a redirect is pending.
    pub pc: u64,
    /// The sequencer: run state, control registers, debug state.
    pub seq: Sequencer,
    /// Opcodes that the sequencer dispatches.
    pub legal: Arc<[bool; 256]>,
    /// The words as the engine sees them: what was decoded at load or at its last INSTRUCTION_FLUSH.
    pub code: Arc<[Instruction]>,
    /// Words whose updates are published (design section 3 rule 4).
    pub retired: u64,
    /// Calls that have not returned, outermost first.
    pub calls: Vec<Call>,
    /// The next word has come to a meeting; the number that the word gave itself there.
    pub ticket: Option<u64>,
    /// The wait on which the last attempt to run the next word stopped.
    pub blocked_on: Option<Wait>,
}

impl Engine {
    /// An engine that the host has released from reset, with the first word of its stream as resume PC.
    pub fn new(
        id: EngineId,
        generation: Generation,
        stream: &Stream,
        legal: Arc<[bool; 256]>,
        table_base: u64,
    ) -> Self {
        let mut seq = Sequencer::new(id, generation);
        seq.csr.set_resume_pc(Accessor::Host, stream.base);
        seq.write_csr(Accessor::Host, RELEASE_RUN_STALL, 0);
        Engine {
            id,
            registers: [0; REGISTERS],
            shapes: [[0; 4]; 4],
            table_base,
            pc: stream.base,
            seq,
            legal,
            code: stream.words.clone(),
            retired: 0,
            calls: Vec::new(),
            ticket: None,
            blocked_on: None,
        }
    }

    /// Rings the doorbell, as the host does: the engine starts at its resume PC.
    pub fn start(&mut self) {
        let start_ctrl = self.seq.csr.moved().start_ctrl;
        self.seq.write_csr(Accessor::Host, start_ctrl, 1);
    }

    /// It runs words, or will as soon as it gets a turn.
    pub fn is_active(&self) -> bool {
        match self.seq.phase {
            Phase::Running => true,
            Phase::Waiting | Phase::Paused => self.seq.doorbell(),
            Phase::Reset | Phase::Dead => false,
        }
    }

    /// Address of the next word not yet retired (decision 01-D5).
    pub fn next_pc(&self) -> u64 {
        self.seq.redirect.unwrap_or(self.pc)
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

    /// Appends everything but the words, which the machine stores.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let Engine {
            id: _,
            registers,
            shapes,
            table_base,
            pc,
            seq,
            legal: _,
            code: _,
            retired,
            calls,
            ticket,
            blocked_on,
        } = self;
        registers.put(out);
        shapes.put(out);
        table_base.put(out);
        pc.put(out);
        seq.put(out);
        retired.put(out);
        calls.put(out);
        ticket.put(out);
        blocked_on.put(out);
    }

    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let Engine {
            id: _,
            registers,
            shapes,
            table_base,
            pc,
            seq,
            legal: _,
            code: _,
            retired,
            calls,
            ticket,
            blocked_on,
        } = self;
        *registers = Saved::load(from)?;
        *shapes = Saved::load(from)?;
        *table_base = Saved::load(from)?;
        *pc = Saved::load(from)?;
        *seq = Saved::load(from)?;
        *retired = Saved::load(from)?;
        *calls = Saved::load(from)?;
        *ticket = Saved::load(from)?;
        *blocked_on = Saved::load(from)?;
        Ok(())
    }
}
