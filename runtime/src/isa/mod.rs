//! The instruction set: words, operands, opcodes, datatypes, ALU operators; decode, encode, check,
//! print and parse. Everything derives from four tables: [`opcodes`], [`layouts`], [`Dtype::TABLE`]
//! and [`AluOp::TABLE`].

mod alu;
pub mod check;
pub mod coverage;
mod decode;
mod dtype;
pub mod field;
pub mod layouts;
pub mod opcodes;
mod operand;
pub mod text;
mod word;

pub use alu::{AluClass, AluInfo, AluOp, AluSet};
pub use decode::{DecodeError, Decoded, decode};
pub use dtype::{Dtype, DtypeInfo, DtypeKind};
pub use layouts::{FieldDef, Layout, LayoutDef, LayoutId, Operands};
pub use opcodes::{
    Execution, Family, Lowering, OPCODES, OpcodeInfo, Presence, op, opcode_info, parse_opcode,
};
pub use operand::{Addr4Form, Addr8Form, Data4d, Events, EventsExt, Indirect20, MxPattern1, Tensor};
pub use word::{
    EngineId, Generation, Geometry, Location, PARTITIONS, PSUM_ACTIVE, PSUM_BANK, PSUM_PITCH, Space,
    WORD_BYTES, WORD_LEN_CODE, Word,
};
