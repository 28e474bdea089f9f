//! Compound fields: EVENTS, tensor patterns, address forms (chapter 03 sections 2 to 4).

use super::field::{Addr4, Addr8, Field, Kind, UpdateMode, WaitMode};
use super::layouts::{MEM_2D, PSEUDO_MEM_2D};

/// The eight bytes at offset 4 of every ordinary word (chapter 03 section 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Events {
    /// What to wait for.
    pub wait_mode: WaitMode,
    /// Semaphore or event index of the wait.
    pub wait_idx: u8,
    /// What to do when the word is done.
    pub update_mode: UpdateMode,
    /// Semaphore or event index of the update.
    pub update_idx: u8,
    /// Serves the wait's compare and the update's operand.
    pub value: u32,
}

/// The second wait and update of EVENT_SEMAPHORE, at offset 32 (chapter 03 section 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EventsExt {
    /// What to wait for, together with the first wait.
    pub wait_mode: WaitMode,
    /// Semaphore or event index of the wait.
    pub wait_idx: u8,
    /// What to do when the word is done.
    pub update_mode: UpdateMode,
    /// Semaphore or event index of the update.
    pub update_idx: u8,
    /// The wait's operand.
    pub wait_value: u32,
    /// The update's operand.
    pub update_value: u32,
}

/// A tensor operand of `N` in-partition dimensions, index 0 innermost (chapter 03 section 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tensor<const N: usize> {
    /// Start address with its form marker.
    pub start: Addr4,
    /// Signed steps in elements of the operand's dtype.
    pub step: [i16; N],
    /// Element counts.
    pub num: [u16; N],
}

impl<const N: usize> Tensor<N> {
    /// Elements that one lane walks; zero if any count is zero.
    pub fn count(&self) -> u64 {
        self.num.iter().map(|n| u64::from(*n)).product()
    }
}

/// A generated pattern: no memory, only values (chapter 03 section 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Data4d {
    /// Value of element (0,0,0,0).
    pub base: i32,
    /// Added per index.
    pub step: [i16; 4],
    /// Counts.
    pub num: [u16; 4],
}

/// The gather form of a 20-byte operand (chapter 03 section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Indirect20 {
    /// Address of the indices; its marker carries bit 5.
    pub index: Addr4,
    /// Address of the data.
    pub data: Addr4,
    /// Elements per partition.
    pub num_elem: u16,
    /// Must be zero.
    pub reserved: [u8; 10],
}

/// An MX operand of M+ (chapter 03 section 4.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MxPattern1 {
    /// Address of the packed elements.
    pub data: Addr4,
    /// Address of the scales, SBUF only.
    pub scale: Addr4,
    /// Unpacked elements per partition.
    pub num_elem: u16,
    /// +1 or -1.
    pub step: u8,
    /// Partition offset of the scales: 0, 4, 8 or 12.
    pub scale_partition: u8,
    /// Must be zero.
    pub reserved: [u8; 4],
}

/// Implements [`Field`] for a struct by reading its members one after the other.
macro_rules! compound_fields {
    ($(($($generic:tt)*) $name:ty: $kind:expr, $($member:ident: $type:ty),*;)*) => {$(
        impl<$($generic)*> Field for $name {
            const SIZE: usize = 0 $(+ <$type as Field>::SIZE)*;
            const KIND: Kind = $kind;
            fn read(bytes: &[u8]) -> Self {
                let mut at = 0;
                $(
                    let $member = <$type>::read(&bytes[at..at + <$type as Field>::SIZE]);
                    at += <$type as Field>::SIZE;
                )*
                debug_assert_eq!(at, Self::SIZE);
                Self { $($member),* }
            }
            fn write(&self, bytes: &mut [u8]) {
                let mut at = 0;
                $(
                    self.$member.write(&mut bytes[at..at + <$type as Field>::SIZE]);
                    at += <$type as Field>::SIZE;
                )*
                debug_assert_eq!(at, Self::SIZE);
            }
        }
    )*};
}

impl<const N: usize> Field for [i16; N] {
    const SIZE: usize = 2 * N;
    const KIND: Kind = Kind::IntArray(2);
    fn read(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| i16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]))
    }
    fn write(&self, bytes: &mut [u8]) {
        for (value, slot) in self.iter().zip(bytes.chunks_exact_mut(2)) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
    }
}

compound_fields! {
    () Events: Kind::EventsExt, wait_mode: WaitMode, wait_idx: u8, update_mode: UpdateMode, update_idx: u8,
        value: u32;
    () EventsExt: Kind::EventsExt, wait_mode: WaitMode, wait_idx: u8, update_mode: UpdateMode, update_idx: u8,
        wait_value: u32, update_value: u32;
    (const N: usize) Tensor<N>: Kind::Tensor(N), start: Addr4, step: [i16; N], num: [u16; N];
    () Data4d: Kind::Generator, base: i32, step: [i16; 4], num: [u16; 4];
    () Indirect20: Kind::Indirect, index: Addr4, data: Addr4, num_elem: u16, reserved: [u8; 10];
    () MxPattern1: Kind::MxPattern, data: Addr4, scale: Addr4, num_elem: u16, step: u8, scale_partition: u8,
        reserved: [u8; 4];
}

/// The forms of [`Addr4`] (chapter 03 section 3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addr4Form {
    /// A 29-bit on-chip address.
    Immediate(u32),
    /// The address is in a register; the flag tells that reserved bytes 1 and 2 are zero.
    Register(u8, bool),
    /// The shape comes from a shape register (unsupported, decision E7).
    ShapeRegister,
    /// The pattern is an index list, address immediate; only INDIRECT_COPY uses it on S and C.
    Indirect(u32),
    /// The pattern is an index list, address in a register.
    IndirectRegister(u8),
    /// No such form.
    Invalid,
}

impl Addr4 {
    /// Decodes the marker in bits 31:29.
    pub fn form(self) -> Addr4Form {
        match (self.0 >> 24) & 0xE0 {
            0x00 => Addr4Form::Immediate(self.0 & 0x1FFF_FFFF),
            0x80 => Addr4Form::Register(self.0 as u8, self.0 & 0x1FFF_FF00 == 0),
            0x40 | 0xC0 => Addr4Form::ShapeRegister,
            0x20 => Addr4Form::Indirect(self.0 & 0x1FFF_FFFF),
            0xA0 => Addr4Form::IndirectRegister(self.0 as u8),
            _ => Addr4Form::Invalid,
        }
    }

    /// The register form.
    pub fn register(number: u8) -> Addr4 {
        Addr4(0x8000_0000 | u32::from(number))
    }
}

/// The forms of [`Addr8`] (chapter 03 section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addr8Form {
    /// A SoC address.
    Immediate(u64),
    /// A variable of the container: id and byte offset.
    Variable {
        /// `var_id` of the graph.
        id: u16,
        /// Bytes.
        offset: u32,
    },
    /// Entry of the address table: index and byte offset.
    Table {
        /// Table entry.
        index: u16,
        /// Bytes.
        offset: u32,
    },
    /// `R[hi]:R[lo]`.
    Registers {
        /// Low half.
        lo: u8,
        /// High half.
        hi: u8,
    },
    /// A form whose sub-fields are unknown (decision E7), or bytes that its form reserves are set.
    Unsupported(&'static str),
}

impl Addr8 {
    /// Decodes the marker in byte 7.
    pub fn form(self) -> Addr8Form {
        let b = self.0.to_le_bytes();
        let offset = self.0 as u32;
        let id = u16::from_le_bytes([b[4], b[5]]);
        match b[7] & 0xFC {
            0x00 => Addr8Form::Immediate(self.0 & 0x03FF_FFFF_FFFF_FFFF),
            0x10 if b[6] == 0 => Addr8Form::Variable { id, offset },
            0x20 if b[6] == 0 => Addr8Form::Table { index: id, offset },
            0x80 if b[2..7].iter().all(|x| *x == 0) => Addr8Form::Registers { lo: b[0], hi: b[1] },
            0x10 | 0x20 | 0x80 => Addr8Form::Unsupported("reserved bytes of the address form are set"),
            0x40 | 0xC0 => Addr8Form::Unsupported("shape register"),
            0x60 => Addr8Form::Unsupported("address table with shape register"),
            _ => Addr8Form::Unsupported("unknown address form"),
        }
    }

    /// The variable form.
    pub fn variable(id: u16, offset: u32) -> Addr8 {
        Addr8(u64::from(offset) | u64::from(id) << 32 | 0x10 << 56)
    }

    /// The table form.
    pub fn table(index: u16, offset: u32) -> Addr8 {
        Addr8(u64::from(offset) | u64::from(index) << 32 | 0x20 << 56)
    }

    /// The register pair form.
    pub fn registers(lo: u8, hi: u8) -> Addr8 {
        Addr8(u64::from(lo) | u64::from(hi) << 8 | 0x80 << 56)
    }
}

impl PSEUDO_MEM_2D {
    /// The operands of the TENSOR_LOAD or TENSOR_STORE that the pseudo-word stands for, its variable being
    /// resolved so that the transfer starts at SoC address `start` (chapter 02 section 8.12).
    pub fn at(&self, start: u64) -> MEM_2D {
        let PSEUDO_MEM_2D { dtype, src_datasrc, num_elem, step_elem, data, .. } = *self;
        MEM_2D { dtype, src_datasrc, num_elem, start_addr: Addr8(start), step_elem, data }
    }
}
