//! The interpreter: it defines what every word does (design section 3 rule 1). One file an opcode
//! family; [`HANDLERS`] is derived from the opcode table.

pub mod accumulator;
pub mod activate2;
pub mod activation;
pub mod batch_norm;
pub mod batch_norm_grad;
pub mod collective;
pub mod compress;
pub mod control;
pub mod copy;
pub mod cross_lane;
pub mod dequantize;
pub mod dma;
mod exec;
pub mod exponential;
pub mod extended;
mod fault;
pub mod fill;
pub mod gather;
pub mod generated;
pub mod generator;
pub mod lanes;
pub mod pe;
pub mod pool;
pub mod predicated;
pub mod pseudo;
pub mod random;
pub mod register_alu;
pub mod remote;
pub mod scalar_tensor_tensor;
pub mod scan;
pub mod search;
pub mod select;
pub mod shuffle;
pub mod sort;
pub mod tensor_reduce;
pub mod tensor_scalar;
pub mod tensor_scalar_addr;
pub mod tensor_scalar_cache;
pub mod tensor_scalar_multi;
pub mod tensor_tensor;
pub mod test_event;
pub mod transfer;
mod translated;
mod walk;
pub mod wide;

pub use exec::{Access, Exec, LaneScalar};
pub use fault::{Address, Fault, FaultKind};
pub use translated::{At, Ran, Stretch, Translated};
pub use walk::{Cursor, MAX_ELEMENTS, Walk};

use std::sync::Arc;

use crate::isa::check::{Finding, Severity};
use crate::isa::{Decoded, Generation, Word, decode};

/// What the sequencer does after a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Go on behind it.
    Next,
    /// Go on behind it; the word is not counted as retired (container CC).
    Skip,
    /// Go on at an address.
    Jump(u64),
    /// Stop the engine.
    Halt,
    /// Stay: the word waits for another engine or core and is tried again. What it has done so far must not
    /// happen twice; [`Engine::ticket`](crate::machine::Engine::ticket) tells.
    Block,
    /// Go on behind it; whoever finishes what it began publishes its updates.
    Deferred,
}

/// An interpreter function: executes the body of a word whose waits are satisfied. It checks everything
/// that can fail before its first effect.
pub type Handler = fn(&mut Exec<'_>, &Decoded) -> Result<Flow, FaultKind>;

macro_rules! handler_table {
    (@entry $table:ident $byte:literal run $module:ident $function:ident) => {
        $table[$byte] = Some($module::$function as Handler);
    };
    (@entry $table:ident $byte:literal $kind:ident) => {};
    ($($byte:literal $name:ident $(as $display:ident)? [$s:tt $c:tt $m:tt $v:tt] $engines:tt $family:ident
       $layouts:tt $kind:ident $($detail:literal)? $($module:ident :: $function:ident)? $(=> $lowering:ident)?;)*) => {
        /// The interpreter function of every opcode byte that has one.
        pub static HANDLERS: [Option<Handler>; 256] = {
            let mut table: [Option<Handler>; 256] = [None; 256];
            $(handler_table!(@entry table $byte $kind $($module $function)?);)*
            table
        };
    };
}
crate::for_each_opcode!(handler_table);

/// A word of a stream, decoded once.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The word with its operands, or why it cannot run: a stream may hold such a word as long as nothing runs it.
    pub body: Result<Decoded, Unrunnable>,
}

/// A word that cannot be decoded, or that violates a rule and whose program was loaded without validation.
#[derive(Clone, Debug)]
pub struct Unrunnable {
    /// The bytes.
    pub word: Word,
    /// Running it faults with this.
    pub why: Arc<FaultKind>,
}

impl Instruction {
    /// Decodes a word for a generation.
    pub fn new(word: Word, generation: Generation) -> Self {
        let body = decode(&word, generation);
        Instruction { body: body.map_err(|error| Unrunnable { word, why: Arc::new(error.into()) }) }
    }

    /// The bytes.
    pub fn word(&self) -> &Word {
        match &self.body {
            Ok(decoded) => &decoded.word,
            Err(unrunnable) => &unrunnable.word,
        }
    }

    /// The interpreter function of its opcode.
    pub fn handler(&self) -> Option<Handler> {
        HANDLERS[usize::from(self.word().opcode())]
    }

    /// Makes running the word fault with what a check found; the first finding counts.
    pub fn refuse(&mut self, finding: &Finding) {
        let Ok(Decoded { word, .. }) = self.body else { return };
        let Finding { field, found, expected, .. } = finding;
        let why = match finding.severity {
            Severity::Unsupported => FaultKind::unsupported(field, format!("{found}; {expected}")),
            _ => FaultKind::illegal(field, found, expected.clone()),
        };
        self.body = Err(Unrunnable { word, why: Arc::new(why) });
    }
}
