//! Field types of the operand structs: how many bytes, how they are read and written, and which
//! values are members (chapter 03 sections 2, 3 and 5).
//!
//! Every type is a plain container of its bits, so that reading and writing a word is lossless also
//! for values that validation refuses.

use super::{AluOp, Dtype};
use crate::save::saved;

/// A field of an operand struct: a fixed number of little-endian bytes.
pub trait Field: Copy {
    /// Bytes that the field occupies.
    const SIZE: usize;
    /// What the bytes mean.
    const KIND: Kind;
    /// Reads the field from exactly [`Field::SIZE`] bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Writes the field to exactly [`Field::SIZE`] bytes.
    fn write(&self, bytes: &mut [u8]);
}

/// The meaning of a field's bytes: decides membership checks and text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Unsigned integer of the field's size.
    Uint,
    /// Signed integer of the field's size.
    Int,
    /// FP32.
    Float,
    /// Array of unsigned integers of so many bytes each.
    UintArray(usize),
    /// Array of signed integers of so many bytes each.
    IntArray(usize),
    /// A closed set of byte values.
    Enum(&'static EnumTable),
    /// Packed bits whose members a check of the opcode decides.
    Bits,
    /// A datatype code.
    Dtype,
    /// Two datatype codes, low nibble first.
    DtypePair,
    /// An ALU operator.
    Alu,
    /// A wait mode.
    WaitMode,
    /// An update mode.
    UpdateMode,
    /// A scalar immediate: FP32, integer, pointer or register, by its source field.
    Imm,
    /// An on-chip address of one scalar a lane.
    Ptr,
    /// An on-chip address with its form marker.
    Addr4,
    /// A DMA or sequencer address with its form marker.
    Addr8,
    /// A tensor operand of so many dimensions.
    Tensor(usize),
    /// A generated pattern: base, four steps, four counts.
    Generator,
    /// A gather operand: index and data address, count.
    Indirect,
    /// An MX operand: data and scale addresses, count, step, partition offset.
    MxPattern,
    /// The second wait and update of an EVENT_SEMAPHORE word.
    EventsExt,
    /// Register numbers, one a byte.
    Regs,
    /// Zero-padded ASCII.
    Name,
}

/// A closed set of one-byte values and their names.
#[derive(PartialEq, Eq, Debug)]
pub struct EnumTable {
    /// The manual's name of the set.
    pub name: &'static str,
    /// Members in ascending order.
    pub members: &'static [(u8, &'static str)],
}

impl EnumTable {
    /// The name of a member.
    pub fn name_of(&self, value: u8) -> Option<&'static str> {
        self.members.iter().find(|(v, _)| *v == value).map(|(_, n)| *n)
    }

    /// The member with this name.
    pub fn parse(&self, name: &str) -> Option<u8> {
        self.members.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)).map(|(v, _)| *v)
    }
}

macro_rules! integer_fields {
    ($($type:ty: $kind:expr),*) => {$(
        impl Field for $type {
            const SIZE: usize = size_of::<$type>();
            const KIND: Kind = $kind;
            fn read(bytes: &[u8]) -> Self {
                let mut raw = [0; size_of::<$type>()];
                raw.copy_from_slice(bytes);
                <$type>::from_le_bytes(raw)
            }
            fn write(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
integer_fields!(u8: Kind::Uint, u16: Kind::Uint, u32: Kind::Uint, u64: Kind::Uint, i32: Kind::Int);

macro_rules! array_fields {
    ($($element:ty: $kind:ident),*) => {$(
        impl<const N: usize> Field for [$element; N] {
            const SIZE: usize = N * size_of::<$element>();
            const KIND: Kind = Kind::$kind(size_of::<$element>());
            fn read(bytes: &[u8]) -> Self {
                std::array::from_fn(|i| <$element>::read(&bytes[i * size_of::<$element>()..][..size_of::<$element>()]))
            }
            fn write(&self, bytes: &mut [u8]) {
                for (value, slot) in self.iter().zip(bytes.chunks_exact_mut(size_of::<$element>())) {
                    value.write(slot);
                }
            }
        }
    )*};
}
array_fields!(u8: UintArray, u16: UintArray, u32: UintArray, i32: IntArray);

/// Declares field types that wrap one integer or byte array.
macro_rules! wrapper_fields {
    ($($(#[$doc:meta])* $name:ident($inner:ty): $kind:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name(pub $inner);

        impl Field for $name {
            const SIZE: usize = <$inner as Field>::SIZE;
            const KIND: Kind = $kind;
            fn read(bytes: &[u8]) -> Self {
                $name(<$inner>::read(bytes))
            }
            fn write(&self, bytes: &mut [u8]) {
                self.0.write(bytes);
            }
        }
    )*};
}

/// Declares one-byte enums: a newtype, its members as constants, and the table of names. The modes of
/// EVENTS name a [`Kind`] of their own, because their text is syntax.
macro_rules! byte_enums {
    (@kind $name:ident) => { Kind::Enum(&$name::TABLE) };
    (@kind $name:ident $kind:ident) => { Kind::$kind };
    ($($(#[$doc:meta])* $name:ident $(: $kind:ident)? { $($value:literal $member:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name(pub u8);

        #[allow(missing_docs)]
        impl $name {
            $(pub const $member: $name = $name($value);)*
            /// Members and names.
            pub const TABLE: EnumTable =
                EnumTable { name: stringify!($name), members: &[$(($value, stringify!($member))),*] };
        }

        impl Field for $name {
            const SIZE: usize = 1;
            const KIND: Kind = byte_enums!(@kind $name $($kind)?);
            fn read(bytes: &[u8]) -> Self {
                $name(bytes[0])
            }
            fn write(&self, bytes: &mut [u8]) {
                bytes[0] = self.0;
            }
        }
    )*};
}

saved!(wrapper WaitMode, DgeComputeOp);

byte_enums! {
    /// Where a scalar comes from.
    ImmSrc { 0 INSTRUCTION, 1 PTR, 2 REG_PTR }
    /// Where the bias of ACTIVATE comes from; numbered differently from [`ImmSrc`].
    ImmSrcN { 0 PTR, 1 INSTRUCTION, 2 REG_PTR }
    /// Source of a sequencer operand.
    DataSrc { 0 REGISTER, 1 IMMEDIATE }
    /// Which operators of a tensor-scalar word take their operands exchanged.
    ReverseOps { 0 NONE, 1 FIRST, 2 SECOND, 3 BOTH }
    /// Accumulator command.
    AccumCmd { 0 IDLE, 1 ZERO, 2 ACCUMULATE, 3 ZERO_ACCUMULATE, 4 LOAD_ACCUMULATE }
    /// Reduce command of ACTIVATE2.
    ReduceCmd { 0 IDLE, 1 RESET, 2 REDUCE, 3 RESET_REDUCE }
    /// Innermost dimensions that a word folds; 1 is not a member.
    Subdim { 0 UNUSED, 2 X, 3 XY, 4 XYZ, 5 XYZW }
    /// Operator of a cross-lane reduce.
    ReduceOp { 0 ADD, 1 AVERAGE, 2 MAX, 3 OR, 4 AND, 5 XOR }
    /// Pooling function.
    PoolType { 0 NONE, 1 MAX_POOL, 2 AVG_POOL }
    /// Operator of an embedding update.
    CceOp { 0 ADD, 2 MAX, 3 MIN }
    /// Operator that a generated DMA applies at its destination.
    DgeComputeOp { 0 NONE, 1 ADD, 2 MULTIPLY, 3 MAX, 4 MIN }
    /// Kind of a D4 word.
    DgeOpcode { 0 DIRECT2D, 1 INDIRECT1D, 2 TRANSPOSE, 3 GATHER_TRANSPOSE }
    /// Cores that a collective joins.
    LncSize { 0 LNC1, 1 LNC2, 2 LNC4, 3 LNC8 }
    /// Which part of an fp32 operand a PE pass uses.
    Fp32Mode { 0 NONE, 1 LOW, 2 HIGH, 3 LOW_HIGH }
    /// MX layout of a V matmul.
    MxPerfMode {
        0 NONE, 1 QUAD_ROW, 2 QUAD_ROW_INTERLEAVE, 3 QUAD_ROW_TILED, 4 OCT_ROW, 5 OCT_ROW_INTERLEAVE,
        6 OCT_ROW_TILED,
    }
    /// Compare code of COMPARE_BRANCH; bit 7 takes the second operand from a register.
    BranchCmp {
        0 ALWAYS, 1 LT, 2 LE, 3 EQ, 4 NE, 5 GE, 6 GT, 0x81 LT_REG, 0x82 LE_REG, 0x83 EQ_REG, 0x84 NE_REG,
        0x85 GE_REG, 0x86 GT_REG,
    }
    /// How a branch names its target.
    BranchMode { 0 ABSOLUTE, 1 REGISTER, 3 RELATIVE, 4 RELATIVE_REGISTER }
}

byte_enums! {
    /// What a word waits for before it runs (chapter 03 section 2.2).
    WaitMode: WaitMode {
        0x00 NONE, 0x01 SEM_EQ_IMM, 0x02 SEM_LT_IMM, 0x03 SEM_LE_IMM, 0x04 SEM_GT_IMM, 0x05 SEM_GE_IMM,
        0x06 EVT_SET, 0x07 EVT_SET_THEN_CLEAR, 0x0E EVT_CLEAR, 0x0F EVT_CLEAR_THEN_SET,
        0x81 SEM_EQ_REG, 0x82 SEM_LT_REG, 0x83 SEM_LE_REG, 0x84 SEM_GT_REG, 0x85 SEM_GE_REG,
        0x91 SEM_EQ_REG_OFFSET, 0x92 SEM_LT_REG_OFFSET, 0x93 SEM_LE_REG_OFFSET, 0x94 SEM_GT_REG_OFFSET,
        0x95 SEM_GE_REG_OFFSET, 0xFE UNORDERED,
    }
    /// What a word does to a semaphore or event (chapter 03 section 2.3).
    UpdateMode: UpdateMode {
        0x00 NONE, 0x01 EVT_SET_READ, 0x02 EVT_CLR_READ, 0x03 SEM_INC_READ, 0x04 SEM_DEC_READ,
        0x05 SEM_ADD_IMM_READ, 0x07 SEM_SUB_IMM_READ, 0x09 SEM_WR_IMM_READ,
        0x11 EVT_SET_COMPLETE, 0x12 EVT_CLR_COMPLETE, 0x13 SEM_INC_COMPLETE, 0x14 SEM_DEC_COMPLETE,
        0x15 SEM_ADD_IMM_COMPLETE, 0x17 SEM_SUB_IMM_COMPLETE, 0x19 SEM_WR_IMM_COMPLETE,
        0x85 SEM_ADD_REG_READ, 0x87 SEM_SUB_REG_READ, 0x89 SEM_WR_REG_READ,
        0x95 SEM_ADD_REG_COMPLETE, 0x97 SEM_SUB_REG_COMPLETE, 0x99 SEM_WR_REG_COMPLETE,
    }
}

wrapper_fields! {
    /// FP32 as raw bits.
    F32(u32): Kind::Float;
    /// Packed bits.
    Bits(u8): Kind::Bits;
    /// Low nibble: source of immediate 0; high nibble: of immediate 1 ([`ImmSrc`] codes).
    ImmSrcPair(u8): Kind::Bits;
    /// Low nibble first operand, high nibble second; only codes up to 0xF.
    DtypePair(u8): Kind::DtypePair;
    /// A scalar immediate as raw bits.
    Imm(u32): Kind::Imm;
    /// An on-chip address of one scalar a lane.
    Ptr(u32): Kind::Ptr;
    /// Bound check register: bits 5:0 register, 6 quiet, 7 enabled.
    BoundReg(u8): Kind::Bits;
    /// Bit 0 begin, bit 1 end, bit 2 begin-accumulate (M+).
    PsumAcc(u8): Kind::Bits;
    /// 1:0 scalar mode, 3:2 seed mode, 4 accumulate, 5 transpose.
    MatmulFlags(u8): Kind::Bits;
    /// 0 transpose, 2:1 scalar mode, 4:3 seed mode, 5 load order (V).
    LdWeightFlags(u8): Kind::Bits;
    /// Row then column nibble, log2 codes (V).
    TileSize(u8): Kind::Bits;
    /// Row then column nibble, 0 or 1 (V).
    TileSel(u8): Kind::Bits;
    /// 1:0 mode, 2 out-of-bounds error, 3 duplicates allowed, 5:4 gather dim, 7:6 scatter dim.
    DmaIndirectFlags(u8): Kind::Bits;
    /// A start address of a tensor operand with its form marker (chapter 03 section 3.3).
    Addr4(u32): Kind::Addr4;
    /// A DMA or sequencer address with its form marker (chapter 03 section 3.4).
    Addr8(u64): Kind::Addr8;
}

/// Register numbers, one a byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Regs<const N: usize>(pub [u8; N]);

impl<const N: usize> Field for Regs<N> {
    const SIZE: usize = N;
    const KIND: Kind = Kind::Regs;
    fn read(bytes: &[u8]) -> Self {
        Regs(<[u8; N]>::read(bytes))
    }
    fn write(&self, bytes: &mut [u8]) {
        self.0.write(bytes);
    }
}

/// Zero-padded ASCII.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Name<const N: usize>(pub [u8; N]);

impl<const N: usize> Name<N> {
    /// The text before the padding; `None` if it is not printable ASCII followed by zeros only.
    pub fn as_str(&self) -> Option<&str> {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(N);
        let (text, padding) = self.0.split_at(end);
        let clean = text.iter().all(u8::is_ascii_graphic) && padding.iter().all(|b| *b == 0);
        if clean { std::str::from_utf8(text).ok() } else { None }
    }
}

impl<const N: usize> Field for Name<N> {
    const SIZE: usize = N;
    const KIND: Kind = Kind::Name;
    fn read(bytes: &[u8]) -> Self {
        Name(<[u8; N]>::read(bytes))
    }
    fn write(&self, bytes: &mut [u8]) {
        self.0.write(bytes);
    }
}

impl DtypePair {
    /// The pair of two codes; codes above 0xF cannot be carried (chapter 03 section 6.1).
    pub fn new(low: Dtype, high: Dtype) -> Self {
        DtypePair((low.0 & 0xF) | (high.0 << 4))
    }
    /// The first operand's dtype.
    pub fn low(self) -> Dtype {
        Dtype(self.0 & 0xF)
    }
    /// The second operand's dtype.
    pub fn high(self) -> Dtype {
        Dtype(self.0 >> 4)
    }
}

impl ImmSrcPair {
    /// The sources of both immediates.
    pub fn sources(self) -> [ImmSrc; 2] {
        [ImmSrc(self.0 & 0xF), ImmSrc(self.0 >> 4)]
    }
}

impl F32 {
    /// The number.
    pub fn value(self) -> f32 {
        f32::from_bits(self.0)
    }
}

impl Field for Dtype {
    const SIZE: usize = 1;
    const KIND: Kind = Kind::Dtype;
    fn read(bytes: &[u8]) -> Self {
        Dtype(bytes[0])
    }
    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = self.0;
    }
}

impl Field for AluOp {
    const SIZE: usize = 1;
    const KIND: Kind = Kind::Alu;
    fn read(bytes: &[u8]) -> Self {
        AluOp(bytes[0])
    }
    fn write(&self, bytes: &mut [u8]) {
        bytes[0] = self.0;
    }
}
