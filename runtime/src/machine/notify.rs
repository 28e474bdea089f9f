//! Notification records (chapter 02 section 10.1).

use super::sync::SyncChange;
use crate::isa::EngineId;
use crate::save::saved;

/// What a notification record reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotificationKind {
    /// A word starts.
    Start,
    /// A word has retired.
    End,
    /// A NOTIFY word; the value is its 16-bit hint.
    Explicit(u16),
    /// A semaphore or event changed.
    Sync(SyncChange),
    /// An error record of the sequencer.
    Error {
        /// The 32-bit record (chapter 01 section 13.3).
        record: u32,
        /// Fatal, else execution continues.
        fatal: bool,
    },
}

/// One entry of a core's ordered log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notification {
    /// The engine; `None` for changes made over the bus by DMA, the host or another core.
    pub engine: Option<EngineId>,
    /// Address of the word.
    pub pc: u64,
    /// Header byte 3 of the word, low four bits.
    pub hint: u8,
    /// Picoseconds: 1000 a retired word of the engine (decision 02-10b).
    pub time: u64,
    /// What happened.
    pub kind: NotificationKind,
}

saved!(enum NotificationKind { 0 Start, 1 End, 2 Explicit(hint), 3 Sync(change), 4 Error { record, fatal } });
saved!(struct Notification { engine, pc, hint, time, kind });

/// Record types of an engine: base, base + 1 and so on (chapter 02 section 10.1).
const ENGINE_BASE: [u8; 5] = [0x04, 0x08, 0x0C, 0x10, 0x14];
const AXI_EVT_SEM: u8 = 0x1B;
const TPB_ERROR: u8 = 0x1F;
/// error_id of a fatal and of a recoverable sequencer error.
const SEQUENCER_FATAL: u32 = 0x0A;
const SEQUENCER_NONFATAL: u32 = 0x09;

impl Notification {
    /// The 16-byte device form, phase bit 1 (a ring's first pass).
    pub fn to_bytes(&self) -> [u8; 16] {
        let base = self.engine.map(|e| ENGINE_BASE[e.index()]);
        let pc = (self.pc >> 6) as u32 & 0xF_FFFF | u32::from(self.hint & 0xF) << 20;
        let (kind, a, b) = match self.kind {
            NotificationKind::Start => (base.unwrap_or(0), pc, 0),
            NotificationKind::End => (base.unwrap_or(0) + 1, pc, 0),
            NotificationKind::Explicit(hint) => (base.unwrap_or(0) + 2, pc, u32::from(hint) << 16),
            NotificationKind::Sync(change) => {
                let double = u32::from(!change.semaphore && change.before == change.after) << 9;
                let a = u32::from(change.index)
                    | u32::from(change.semaphore) << 8
                    | double
                    | u32::from(change.record) << 16;
                (base.map_or(AXI_EVT_SEM, |b| b + 3), a, change.after)
            }
            NotificationKind::Error { record, fatal } => {
                let id = if fatal { SEQUENCER_FATAL } else { SEQUENCER_NONFATAL };
                (TPB_ERROR, id | (record & 0xFFFF) << 8, record >> 16)
            }
        };
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&(a | u32::from(kind) << 24 | 1 << 31).to_le_bytes());
        bytes[4..8].copy_from_slice(&b.to_le_bytes());
        bytes[8..].copy_from_slice(&self.time.to_le_bytes());
        bytes
    }
}
