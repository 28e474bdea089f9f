//! Native code to be looked at: what a word becomes, before and behind Cranelift.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Formatter, IntelFormatter};
use seqjit_runtime::interp::Exec;
use seqjit_runtime::isa::{EngineId, WORD_BYTES};

use super::Engine;
use super::session::Session;
use super::shapes::key_of;
use super::stops::StopError;
use crate::block::{self, CodeKey};
use crate::translate::{self, CompileError, Control, Isa, Lowering, Refusal};

/// How a word runs in the tier `jit`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Lowered {
    /// In the code of a shape, or of the run of register words that starts with it; see [`Engine::listing`].
    Inline(Box<CodeKey>),
    /// In a kernel of the runtime, of this name.
    Kernel(&'static str),
    /// In the code of a shape that only shows when it runs: operands come from registers.
    Registers,
    /// It has no body.
    Nothing,
    /// In the interpreter's function of this name, in every tier.
    Call(&'static str),
    /// The sequencer does what it wants: it stops the engine, or makes it read its words again.
    Sequencer,
    /// In the interpreter.
    Interpreted(Refusal),
}

/// The code of a shape.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Listing {
    /// Cranelift's intermediate form, as the lowering made it.
    pub clif: String,
    /// Instructions, then constants; addresses outside are not filled in.
    pub native: Vec<u8>,
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NativeLine {
    /// Bytes from the start of the code.
    pub offset: usize,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// In Intel's form; targets of branches are offsets.
    pub text: String,
}

impl Listing {
    /// The instructions up to the one that returns; what follows is constants. Empty where native code is not that of x86-64.
    pub fn instructions(&self) -> Vec<NativeLine> {
        if cfg!(not(target_arch = "x86_64")) {
            return Vec::new();
        }
        let mut formatter = IntelFormatter::new();
        let mut decoder = Decoder::new(64, &self.native, DecoderOptions::NONE);
        let mut lines = Vec::new();
        while decoder.can_decode() {
            let offset = decoder.position();
            let instruction = decoder.decode();
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            lines.push(NativeLine { offset, bytes: self.native[offset..decoder.position()].to_vec(), text });
            if instruction.flow_control() == FlowControl::Return {
                break;
            }
        }
        lines
    }
}

impl Engine {
    /// The code of a key for this engine's CPU level, made anew. Nothing is added to the code cache.
    pub fn listing(&self, key: &CodeKey) -> Result<Listing, Refusal> {
        let refused = |error| match error {
            CompileError::Refused(why) => why,
            _ => Refusal::Compiler,
        };
        let isa = Isa::host(self.options().cpu).map_err(refused)?;
        let listed = translate::list(&isa, key).map_err(refused)?;
        Ok(Listing { clif: listed.clif, native: listed.native })
    }
}

impl Session {
    /// How a word of the program runs in the tier `jit`, found out without running it.
    ///
    /// # Errors
    /// There is no such word.
    pub fn lowered(&mut self, core: usize, engine: EngineId, slot: u64) -> Result<Lowered, StopError> {
        let pc = self.stops.address(&self.machine, core, engine, slot)?;
        let state = &self.machine.cores[core];
        let stream = &state.spec.streams[engine.index()];
        let (code, base) = (stream.words.clone(), stream.base);
        let instruction = &code[((pc - base) / WORD_BYTES as u64) as usize];
        let opcode = instruction.word().opcode();
        let Ok(word) = &instruction.body else { return Ok(Lowered::Interpreted(Refusal::Checks)) };
        let x = Exec { machine: &mut self.machine, core, engine, pc, ends_turn: false };
        Ok(match translate::lowering(&x, word) {
            Err(why) => Lowered::Interpreted(why),
            Ok(Lowering::Control(Control::Nothing(_))) => Lowered::Nothing,
            Ok(Lowering::Control(Control::Sequencer)) => Lowered::Sequencer,
            Ok(Lowering::Control(Control::Registers)) => {
                let (generation, strict) = (x.machine.generation, x.machine.options.strict);
                let (state, slot) = (&x.machine.cores[core].engines[engine.index()], slot as usize);
                let run = block::registers::find(&code, &state.legal, slot, base, generation, strict);
                run.map_or(Lowered::Interpreted(Refusal::Checks), |run| {
                    Lowered::Inline(Box::new(CodeKey::Registers(run.key)))
                })
            }
            Ok(Lowering::Call) => Lowered::Call(translate::name(opcode)),
            Ok(Lowering::Kernel(_)) => Lowered::Kernel(translate::name(opcode)),
            Ok(Lowering::Inline(_)) if translate::reads_registers(word) => Lowered::Registers,
            Ok(Lowering::Inline(lowering)) => match (lowering.bind)(&x, word) {
                Ok(binding) => Lowered::Inline(Box::new(CodeKey::Word(key_of(&x, word, &binding)))),
                Err(_) => Lowered::Interpreted(Refusal::Checks),
            },
        })
    }
}
