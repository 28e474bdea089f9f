//! The 64-byte microcode word and the registers of names that every other table uses
//! (chapter 03 sections 1 and 3.1).

use std::fmt;

use crate::save::saved;

/// Bytes of one word, on every engine and generation (chapter 03 section 1).
pub const WORD_BYTES: usize = 64;

/// The value of header byte 1: the length of a word in four-byte units (chapter 03 section 1.1).
pub const WORD_LEN_CODE: u8 = 0x10;

/// One microcode word as it stands in a stream: 64 little-endian bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Word(pub [u8; WORD_BYTES]);

impl Word {
    /// The word with every byte zero except the header of `opcode`.
    pub fn new(opcode: u8) -> Self {
        let mut bytes = [0; WORD_BYTES];
        bytes[0] = opcode;
        bytes[1] = WORD_LEN_CODE;
        Word(bytes)
    }

    /// The opcode byte.
    pub fn opcode(&self) -> u8 {
        self.0[0]
    }

    /// Splits a stream of bytes into words; `Err` holds the length of the incomplete tail.
    pub fn split(bytes: &[u8]) -> Result<Vec<Word>, usize> {
        let (words, tail) = bytes.as_chunks::<WORD_BYTES>();
        if tail.is_empty() { Ok(words.iter().map(|w| Word(*w)).collect()) } else { Err(tail.len()) }
    }

    /// Parses 128 hexadecimal digits, byte 0 first.
    pub fn from_hex(text: &str) -> Option<Word> {
        let digits = text.trim().as_bytes();
        if digits.len() != 2 * WORD_BYTES {
            return None;
        }
        let mut bytes = [0; WORD_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = (high * 16 + low) as u8;
        }
        Some(Word(bytes))
    }

    /// The word as 128 lower-case hexadecimal digits, byte 0 first.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|b| format!("{b:02x}")).collect()
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({})", self.to_hex())
    }
}

/// A device generation (chapter 03, head).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Generation {
    /// v2: trn1, inf2.
    Sunda = 2,
    /// v3: trn2.
    Cayman = 3,
    /// v4, MARIANA_PLUS included.
    Mariana = 4,
    /// v5.
    Maverick = 5,
}

impl Generation {
    /// All generations, oldest first.
    pub const ALL: [Generation; 4] =
        [Generation::Sunda, Generation::Cayman, Generation::Mariana, Generation::Maverick];

    /// Position in per-generation table columns, 0 for SUNDA.
    pub const fn index(self) -> usize {
        self as usize - 2
    }

    /// `v2` to `v5`.
    pub const fn short_name(self) -> &'static str {
        ["v2", "v3", "v4", "v5"][self.index()]
    }

    /// The vendor's code name, lower case, as the container's `target` spells it.
    pub const fn name(self) -> &'static str {
        ["sunda", "cayman", "mariana", "maverick"][self.index()]
    }

    /// Accepts `v3`, `3` or `cayman`, in any case.
    pub fn parse(text: &str) -> Option<Generation> {
        let text = text.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|g| text == g.name() || text == g.short_name() || text == g.short_name()[1..])
    }

    /// On-chip memory geometry (chapter 03 section 3.1).
    pub const fn geometry(self) -> Geometry {
        let (sbuf_pitch, sbuf_active, psum_base) = match self {
            Generation::Sunda => (0x4_0000, 0x3_0000, 0x200_0000),
            Generation::Cayman => (0x4_0000, 0x3_8000, 0x200_0000),
            Generation::Mariana => (0x4_0000, 0x4_0000, 0x200_0000),
            Generation::Maverick => (0x10_0000, 0x8_0000, 0x800_0000),
        };
        Geometry { sbuf_pitch, sbuf_active, psum_base }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Partitions of SBUF and of PSUM (chapter 03 section 3.1).
pub const PARTITIONS: usize = 128;
/// Address stride between PSUM partitions.
pub const PSUM_PITCH: u32 = 0x8000;
/// Bytes of one PSUM partition.
pub const PSUM_ACTIVE: u32 = 0x4000;
/// Bytes of one PSUM bank.
pub const PSUM_BANK: u32 = 0x800;

/// On-chip memory geometry of a generation; all values in bytes (chapter 03 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Address stride between SBUF partitions.
    pub sbuf_pitch: u32,
    /// Bytes of an SBUF partition that exist.
    pub sbuf_active: u32,
    /// Address of PSUM partition 0.
    pub psum_base: u32,
}

impl Geometry {
    /// Splits a 29-bit on-chip address (chapter 03 section 3.2); `None` lies in neither memory.
    /// The offset may lie in the hole behind the active bytes: callers check bounds.
    pub const fn locate(&self, address: u32) -> Option<Location> {
        let a = address & 0x1FFF_FFFF;
        if a < self.sbuf_pitch * PARTITIONS as u32 {
            Some(Location {
                space: Space::Sbuf,
                partition: (a / self.sbuf_pitch) as u8,
                offset: a % self.sbuf_pitch,
            })
        } else if a >= self.psum_base && a < self.psum_base + PSUM_PITCH * PARTITIONS as u32 {
            let p = a - self.psum_base;
            Some(Location { space: Space::Psum, partition: (p / PSUM_PITCH) as u8, offset: p % PSUM_PITCH })
        } else {
            None
        }
    }

    /// Bytes of a partition of `space` that exist.
    pub const fn active(&self, space: Space) -> u32 {
        match space {
            Space::Sbuf => self.sbuf_active,
            Space::Psum => PSUM_ACTIVE,
        }
    }
}

/// An on-chip memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// The state buffer.
    Sbuf,
    /// The matmul result memory.
    Psum,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Sbuf => "sbuf",
            Space::Psum => "psum",
        })
    }
}

/// A byte of on-chip memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    /// Which memory.
    pub space: Space,
    /// Partition 0..=127.
    pub partition: u8,
    /// Byte offset in the partition.
    pub offset: u32,
}

/// One of a core's five engines, in queue-owner order (chapter 07 section 1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum EngineId {
    /// Tensor engine.
    Pe = 0,
    /// Scalar engine.
    Act = 1,
    /// GpSimd engine.
    Pool = 2,
    /// Vector engine.
    Dve = 3,
    /// Sync engine.
    Sp = 4,
}

impl EngineId {
    /// All engines in index order, which is also the order of turns (design section 3 rule 8).
    pub const ALL: [EngineId; 5] = [EngineId::Pe, EngineId::Act, EngineId::Pool, EngineId::Dve, EngineId::Sp];

    /// 0..=4.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The stream's name: PE, ACT, POOL, DVE or SP.
    pub const fn name(self) -> &'static str {
        ["PE", "ACT", "POOL", "DVE", "SP"][self as usize]
    }

    /// The public name: Tensor, Scalar, GpSimd, Vector or Sync.
    pub const fn public_name(self) -> &'static str {
        ["Tensor", "Scalar", "GpSimd", "Vector", "Sync"][self as usize]
    }

    /// Accepts either name, in any case, and `activation`.
    pub fn parse(text: &str) -> Option<EngineId> {
        Self::ALL
            .into_iter()
            .find(|e| text.eq_ignore_ascii_case(e.name()) || text.eq_ignore_ascii_case(e.public_name()))
            .or_else(|| text.eq_ignore_ascii_case("activation").then_some(EngineId::Act))
    }
}

saved!(enum EngineId { 0 Pe, 1 Act, 2 Pool, 3 Dve, 4 Sp });
saved!(enum Generation { 2 Sunda, 3 Cayman, 4 Mariana, 5 Maverick });
saved!(wrapper Word);

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
