//! The 16-byte records of a trace (chapter 02 section 10.1, chapter 10 section 13, chapter 09 section 6).

use seqjit_runtime::isa::EngineId;

/// Bytes of a record.
pub const RECORD_BYTES: usize = 16;

/// Instruction slots that the address field of a record can tell apart.
const PC_SLOTS: u64 = 1 << 20;
/// Record types of an engine start here, in engine order, four an engine.
const ENGINE_BASE: u32 = 0x04;
/// A semaphore or event changed by a write over the bus.
const AXI_EVT_SEM: u32 = 0x1B;

/// Whether a record shows the start or the end of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// The word enters its engine.
    Start,
    /// Its results are written.
    End,
}

/// An engine started or finished a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionRecord {
    /// Engine.
    pub engine: EngineId,
    /// Start or end.
    pub edge: Edge,
    /// Device address / 64, modulo 2^20.
    pub pc: u32,
    /// Header byte 3 of the word, low four bits.
    pub hint: u8,
    /// Word 1 of the record: of a start, cycles of waiting in the upper half; of an end, two CRCs.
    pub detail: u32,
    /// Picoseconds.
    pub time: u64,
    /// The device lost records after this one.
    pub overflow: bool,
}

impl InstructionRecord {
    /// Slot of the word in an image that starts at `base`, which is beyond the image for a foreign word.
    pub fn slot(&self, base: u64) -> u64 {
        u64::from(self.pc).wrapping_sub(base / 64) % PC_SLOTS
    }
}

/// A semaphore or event changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyncRecord {
    /// The engine whose word did it; `None`: a write over the bus, by DMA, the host or another core.
    pub engine: Option<EngineId>,
    /// A semaphore, else an event.
    pub semaphore: bool,
    /// Which one.
    pub index: u8,
    /// The action field: F0 | action, or 07 for test-and-clear.
    pub action: u8,
    /// Value after.
    pub value: u32,
    /// Picoseconds.
    pub time: u64,
    /// The device lost records after this one.
    pub overflow: bool,
}

/// What a record of a DMA packet shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketEdge {
    /// The packet starts.
    Start,
    /// Its data has been read.
    Read,
    /// Its data has been written.
    Written,
    /// Something else, with its number.
    Other(u8),
}

/// A DMA packet moved on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRecord {
    /// DMA engine, modulo 32.
    pub dma_engine: u8,
    /// Queue in that engine.
    pub queue: u8,
    /// What it shows.
    pub edge: PacketEdge,
    /// Bytes; only with [`PacketEdge::Read`].
    pub bytes: u32,
    /// Picoseconds.
    pub time: u64,
}

/// The three fields that every record has: word 0, word 1 and the time.
fn fields(raw: &[u8; RECORD_BYTES]) -> (u32, u32, u64) {
    let raw = u128::from_le_bytes(*raw);
    (raw as u32, (raw >> 32) as u32, (raw >> 64) as u64)
}

fn record_type(word: u32) -> u32 {
    word >> 24 & 0x1F
}

/// Both overflow bits: the ring was full, or an input buffer was.
fn overflow(word: u32) -> bool {
    word >> 29 & 3 != 0
}

/// The engine and the record class of a record type.
fn engine_class(kind: u32) -> Option<(EngineId, u32)> {
    let number = kind.checked_sub(ENGINE_BASE)?;
    Some((*EngineId::ALL.get(number as usize / 4)?, number % 4))
}

impl InstructionRecord {
    /// Reads a record of an instruction chunk; `None` if it is neither a start nor an end.
    pub(super) fn read(raw: &[u8; RECORD_BYTES]) -> Option<InstructionRecord> {
        let (word, detail, time) = fields(raw);
        let (engine, class) = engine_class(record_type(word))?;
        let edge = match class {
            0 => Edge::Start,
            1 => Edge::End,
            _ => return None,
        };
        let hint = (word >> 20 & 0xF) as u8;
        let pc = word & 0xF_FFFF;
        Some(InstructionRecord { engine, edge, pc, hint, detail, time, overflow: overflow(word) })
    }
}

impl SyncRecord {
    /// Reads a record of an event chunk; `None` if it reports no change of a semaphore or event.
    pub(super) fn read(raw: &[u8; RECORD_BYTES]) -> Option<SyncRecord> {
        let (word, value, time) = fields(raw);
        let engine = match record_type(word) {
            AXI_EVT_SEM => None,
            kind => match engine_class(kind)? {
                (engine, 3) => Some(engine),
                _ => return None,
            },
        };
        Some(SyncRecord {
            engine,
            semaphore: word >> 8 & 1 == 1,
            index: word as u8,
            action: (word >> 16) as u8,
            value,
            time,
            overflow: overflow(word),
        })
    }
}

impl PacketRecord {
    /// Reads a record of a DMA chunk.
    pub(super) fn read(raw: &[u8; RECORD_BYTES]) -> PacketRecord {
        let (word, detail, time) = fields(raw);
        let edge = match detail & 0xF {
            1 => PacketEdge::Start,
            5 => PacketEdge::Read,
            6 => PacketEdge::Written,
            other => PacketEdge::Other(other as u8),
        };
        PacketRecord {
            dma_engine: record_type(word) as u8,
            queue: (detail >> 4 & 0xF) as u8,
            edge,
            bytes: word & 0xFF_FFFF,
            time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(word: u32, detail: u32, time: u64) -> [u8; 16] {
        (u128::from(word) | u128::from(detail) << 32 | u128::from(time) << 64).to_le_bytes()
    }

    #[test]
    fn types_name_engines_and_classes() {
        for (number, engine) in EngineId::ALL.into_iter().enumerate() {
            let base = 4 + 4 * number as u32;
            let start = InstructionRecord::read(&raw(base << 24 | 0x2_0BCD, 7, 9)).expect("a start");
            assert_eq!((start.engine, start.edge, start.pc), (engine, Edge::Start, 0x2_0BCD));
            let end = InstructionRecord::read(&raw((base + 1) << 24, 0, 0)).expect("an end");
            assert_eq!((end.engine, end.edge), (engine, Edge::End));
            assert!(InstructionRecord::read(&raw((base + 2) << 24, 0, 0)).is_none());
            let change = SyncRecord::read(&raw((base + 3) << 24, 0, 0)).expect("a change");
            assert_eq!(change.engine, Some(engine));
        }
        assert!(InstructionRecord::read(&raw(0x1B << 24, 0, 0)).is_none());
        assert!(SyncRecord::read(&raw(0x18 << 24, 0, 0)).is_none());
        assert!(SyncRecord::read(&raw(0x03 << 24, 0, 0)).is_none());
    }

    #[test]
    fn a_change_over_the_bus() {
        let change = SyncRecord::read(&raw(0xDB_F3_01_18, 16, 5)).expect("a change");
        let expected = SyncRecord {
            engine: None,
            semaphore: true,
            index: 0x18,
            action: 0xF3,
            value: 16,
            time: 5,
            overflow: true,
        };
        assert_eq!(change, expected);
    }

    #[test]
    fn slots_wrap_at_the_width_of_the_address_field() {
        let base = 0x8005_c040_8000;
        let record = |slot: u64| InstructionRecord {
            engine: EngineId::Pe,
            edge: Edge::End,
            pc: ((base / 64 + slot) % (1 << 20)) as u32,
            hint: 0,
            detail: 0,
            time: 0,
            overflow: false,
        };
        assert_eq!(record(0).slot(base), 0);
        assert_eq!(record(200).slot(base), 200);
        assert_eq!(record((1 << 20) - 1).slot(base), (1 << 20) - 1);
    }

    #[test]
    fn packets() {
        let read = PacketRecord::read(&raw(0x85_00_10_00, 0xABCD_00E5, 3));
        let expected =
            PacketRecord { dma_engine: 5, queue: 14, edge: PacketEdge::Read, bytes: 4096, time: 3 };
        assert_eq!(read, expected);
        assert_eq!(PacketRecord::read(&raw(0, 2, 0)).edge, PacketEdge::Other(2));
    }
}
