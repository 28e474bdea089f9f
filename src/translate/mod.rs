//! From shapes to native code: one file an opcode family, of the names of the interpreter's files.
//!
//! A family gives two functions for each opcode that is compiled. `bind` resolves the operands of a word with the
//! interpreter's own functions, which makes all checks that can fault before native code is entered; `build`
//! describes the loops of a shape, from its key alone. An opcode whose arithmetic dominates has a kernel of the
//! runtime instead: nothing is compiled for it, and `bind` gives what runs it.

pub mod accumulator;
pub mod activate2;
pub mod activation;
mod alu;
pub mod batch_norm;
pub mod batch_norm_grad;
mod bits;
mod compile;
pub mod compress;
pub mod control;
mod convert;
pub mod copy;
pub mod cross_lane;
pub mod dequantize;
mod elementwise;
mod emit;
pub mod exponential;
pub mod fill;
mod fused;
pub mod generator;
mod nest;
mod odometer;
pub mod pe;
pub mod pool;
pub mod predicated;
pub mod pseudo;
pub mod register_alu;
mod registers;
pub mod scalar_tensor_tensor;
pub mod scan;
pub mod select;
pub mod shuffle;
pub mod tensor_reduce;
pub mod tensor_scalar;
pub mod tensor_scalar_addr;
pub mod tensor_scalar_cache;
pub mod tensor_scalar_multi;
pub mod tensor_tensor;
pub mod test_event;
pub mod wide;

pub use compile::{Code, CodeMemory, CompileError, Context, Isa, list};
pub use control::{Control, of as control};
use elementwise::Elementwise;
pub use fused::member;
pub use register_alu::{FAULT, evaluate_for_code};
pub use registers::{NOWHERE, RegisterContext};

use std::fmt;

use seqjit_runtime::interp::{Exec, FaultKind, LaneScalar, Walk};
use seqjit_runtime::isa::field::{Addr8, Field, ImmSrc, ImmSrcN, ImmSrcPair, Kind};
use seqjit_runtime::isa::{Addr8Form, AluOp, Decoded, Dtype, decode, opcode_info};

use crate::block::{MAX_SOURCES, ShapeKey};

/// Scalars that a lane-local word may have.
pub const MAX_SCALARS: usize = 2;

/// Why a word is left to the interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The opcode table names no lowering.
    Opcode(u8),
    /// An ALU operator has none.
    Operator(AluOp),
    /// A datatype has none.
    Datatype(Dtype),
    /// The operands do not have the same number of elements.
    Dimensions,
    /// A check failed: the interpreter raises the fault.
    Checks,
    /// Another thread is compiling the shape.
    Pending,
    /// The code cache is too small for the shape.
    CacheFull,
    /// Cranelift refused the shape, which is a defect.
    Compiler,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Opcode(byte) => match opcode_info(*byte) {
                Some(info) => write!(f, "opcode {}", info.display),
                None => write!(f, "opcode 0x{byte:02x}"),
            },
            Refusal::Operator(op) => write!(f, "operator {}", op.text()),
            Refusal::Datatype(dtype) => write!(f, "datatype {}", dtype.text()),
            Refusal::Dimensions => write!(f, "operands of different sizes"),
            Refusal::Checks => write!(f, "failed check"),
            Refusal::Pending => write!(f, "being compiled"),
            Refusal::CacheFull => write!(f, "code cache too small"),
            Refusal::Compiler => write!(f, "compiler error"),
        }
    }
}

/// The operands of one word: what its shape leaves open.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Sources in the order of the word.
    pub sources: [Option<Walk>; MAX_SOURCES],
    /// The result.
    pub destination: Walk,
    /// Scalars in the order of the word.
    pub scalars: [Option<LaneScalar>; MAX_SCALARS],
    /// Lanes.
    pub lanes: usize,
    /// See [`ShapeKey::variant`].
    pub variant: u8,
}

impl From<FaultKind> for Refusal {
    /// Whatever fails while operands are bound is a check: the interpreter finds it again, and raises it.
    fn from(_: FaultKind) -> Refusal {
        Refusal::Checks
    }
}

/// How a word runs without the interpreter.
#[derive(Clone, Copy)]
pub enum Lowering {
    /// In code that is compiled for the shape of a word.
    Inline(Inline),
    /// In a kernel of the runtime, which does the whole word.
    Kernel(Kernel),
    /// It computes nothing on tensors.
    Control(Control),
    /// In the interpreter's function, in every tier.
    Call,
}

/// The lowering of an opcode that is compiled.
#[derive(Clone, Copy)]
pub struct Inline {
    /// Resolves the operands of a word and makes all checks.
    pub bind: fn(&Exec<'_>, &Decoded) -> Result<Binding, FaultKind>,
    /// The loops of a shape.
    pub build: fn(&ShapeKey, &Decoded) -> Result<Elementwise, Refusal>,
    /// The kernel for words that cannot be compiled, or run faster in one; `None` for others.
    pub kernel: fn(&Exec<'_>, &Decoded) -> Option<Kernel>,
}

/// For [`Inline::kernel`]: all words are compiled.
pub fn always_inline(_: &Exec<'_>, _: &Decoded) -> Option<Kernel> {
    None
}

/// The lowering of an opcode that has a kernel.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Resolves the operands of a word and makes all checks that can fault.
    pub bind: fn(&Exec<'_>, &Decoded) -> Result<Bound, Refusal>,
}

/// A word with its operands, run by a kernel as often as it comes up. It cannot fault, and it may look at
/// machine state that other words change (the weights in the array, the tables of activation functions), but at no
/// address of its own beside those that were checked. `false`: that state does not allow it; nothing has been
/// done, and the interpreter runs the word.
pub type Bound = Box<dyn Fn(&mut Exec<'_>) -> bool + Send>;

macro_rules! lowering_table {
    (@entry $table:ident $byte:literal inline control $function:ident) => {
        $table[$byte] = Some(Lowering::Control(control::$function()));
    };
    (@entry $table:ident $byte:literal sequencer $module:ident $function:ident) => {
        $table[$byte] = Some(Lowering::Control(Control::Sequencer));
    };
    (@entry $table:ident $byte:literal inline register_alu $function:ident) => {
        $table[$byte] = Some(Lowering::Control(register_alu::$function()));
    };
    (@entry $table:ident $byte:literal inline pseudo $function:ident) => {
        $table[$byte] = Some(Lowering::Control(pseudo::$function()));
    };
    (@entry $table:ident $byte:literal call $module:ident $function:ident) => {
        $table[$byte] = Some(Lowering::Call);
    };
    (@name $table:ident $byte:literal $module:ident $function:ident) => {
        $table[$byte] = concat!(stringify!($module), "::", stringify!($function));
    };
    (@name $table:ident $byte:literal) => {};
    (@entry $table:ident $byte:literal inline $module:ident $function:ident) => {
        $table[$byte] = Some(Lowering::Inline($module::$function()));
    };
    (@entry $table:ident $byte:literal kernel $module:ident $function:ident) => {
        $table[$byte] = Some(Lowering::Kernel($module::$function()));
    };
    (@entry $table:ident $byte:literal $($rest:tt)*) => {};
    ($($byte:literal $name:ident $(as $display:ident)? [$($presence:tt)*] $engines:tt $family:ident $layouts:tt
       $kind:ident $($detail:literal)? $($module:ident :: $function:ident)? $(=> $lowering:ident)?;)*) => {
        /// The lowering of every opcode byte that has one in the opcode table.
        static LOWERINGS: [Option<Lowering>; 256] = {
            let mut table: [Option<Lowering>; 256] = [None; 256];
            $(lowering_table!(@entry table $byte $($lowering)? $($module $function)?);)*
            table
        };

        /// The function that each opcode byte has under the same name in the interpreter and here.
        static NAMES: [&str; 256] = {
            let mut table = [""; 256];
            $(lowering_table!(@name table $byte $($module $function)?);)*
            table
        };
    };
}
seqjit_runtime::for_each_opcode!(lowering_table);

/// The lowering of an opcode.
fn table(opcode: u8) -> Option<Lowering> {
    LOWERINGS[usize::from(opcode)]
}

/// The lowering of a word.
pub fn lowering(x: &Exec<'_>, w: &Decoded) -> Result<Lowering, Refusal> {
    match table(w.info.byte) {
        None => Err(Refusal::Opcode(w.info.byte)),
        Some(Lowering::Inline(inline)) => {
            Ok((inline.kernel)(x, w).map_or(Lowering::Inline(inline), Lowering::Kernel))
        }
        Some(other) => Ok(other),
    }
}

/// The name in the opcode table of what runs an opcode; empty if nothing does.
pub fn name(opcode: u8) -> &'static str {
    NAMES[usize::from(opcode)]
}

/// Whether an operand of a word comes from a register, so that it may differ from one time to the next.
pub fn reads_registers(w: &Decoded) -> bool {
    w.operands.layout().def().fields.iter().any(|field| match field.kind {
        Kind::Tensor(_) | Kind::Addr4 => w.word.0[field.offset + 3] & 0xE0 != 0,
        Kind::MxPattern => [3, 7].iter().any(|at| w.word.0[field.offset + at] & 0xE0 != 0),
        Kind::Addr8 => {
            let address = <Addr8 as Field>::read(&w.word.0[field.offset..field.offset + field.size]);
            matches!(address.form(), Addr8Form::Registers { .. })
        }
        // Sources of two immediates in one byte.
        Kind::Bits if field.name == "imm_src" => {
            ImmSrcPair(w.word.0[field.offset]).sources().contains(&ImmSrc::REG_PTR)
        }
        Kind::Enum(table) => match w.word.0[field.offset] {
            code if table.name == ImmSrc::TABLE.name => code == ImmSrc::REG_PTR.0,
            code if table.name == ImmSrcN::TABLE.name => code == ImmSrcN::REG_PTR.0,
            _ => false,
        },
        _ => false,
    })
}

/// The loops of a shape.
pub fn build(key: &ShapeKey) -> Result<Elementwise, Refusal> {
    let opcode = key.word.opcode();
    let Some(Lowering::Inline(lowering)) = &LOWERINGS[usize::from(opcode)] else {
        return Err(Refusal::Opcode(opcode));
    };
    let decoded = decode(&key.word, key.generation).map_err(|_| Refusal::Opcode(opcode))?;
    (lowering.build)(key, &decoded)
}

/// The struct of the operands; the table of layouts and the lowering agree, or the shape is refused.
fn operands<L: seqjit_runtime::isa::Layout>(word: &Decoded) -> Result<&L, Refusal> {
    L::of(&word.operands).ok_or(Refusal::Opcode(word.info.byte))
}
