//! Running words on the register file: their plans, and the call.

use std::sync::atomic::AtomicBool;

use seqjit_runtime::interp::{Flow, Stretch, register_alu};
use seqjit_runtime::isa::WORD_BYTES;
use seqjit_runtime::machine::Engine as EngineState;
use seqjit_runtime::sequencer::Passed;

use super::cache::{CacheCounters, CodeCache};
use super::tier::{Tier, pays};
use crate::block::{CodeKey, RegisterRun};
use crate::translate::{Code, FAULT, NOWHERE, RegisterContext, evaluate_for_code};

/// What a word on registers costs more in the interpreter, in nanoseconds.
const WORD_COST: u64 = 40;

/// A run of register words of a stream.
pub(super) struct RunPlan {
    run: RegisterRun,
    code: Option<Code>,
    /// It never gets code.
    refused: bool,
    heat: u64,
}

impl RunPlan {
    pub(super) fn new(run: RegisterRun) -> RunPlan {
        RunPlan { run, code: None, refused: false, heat: 0 }
    }

    /// Counts a time that the run comes up, and compiles it if that pays; what that took.
    pub(super) fn warm(&mut self, cache: &CodeCache, tier: Tier) -> Option<CacheCounters> {
        if self.code.is_some() || self.refused {
            return None;
        }
        self.heat += self.run.key.words.len() as u64 * WORD_COST;
        if tier != Tier::Jit && !pays(self.heat) {
            return None;
        }
        let (translations, work) = cache.compile(&[CodeKey::Registers(self.run.key.clone())]);
        self.code = translations.into_iter().next().and_then(Result::ok);
        self.refused = self.code.is_none();
        Some(work)
    }

    /// Runs the words as far as `left` reaches; `None`: it has no code, or the first word is for the interpreter.
    pub(super) fn call(&self, engine: &mut EngineState, stretch: &Stretch<'_>, left: u64) -> Option<Passed> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        let code = self.code.as_ref()?;
        let mut context = RegisterContext {
            registers: engine.registers.as_mut_ptr(),
            pause: stretch.pause.unwrap_or(&NEVER).as_ptr().cast_const().cast(),
            evaluate: evaluate_for_code,
            table_base: engine.table_base,
            left,
            done: 0,
            reported: reported(engine),
            result: 0,
            next: 0,
            branch: 0,
            committed: NOWHERE,
        };
        // SAFETY: code and table belong to the same run; the registers are borrowed exclusively for the time of the
        // call, and the flag lives as long as the stretch.
        unsafe { code.call_registers(&mut context, &self.run.table) };
        engine.table_base = context.table_base;
        let address = |index: u64| self.run.table[0] + (index - 1) * WORD_BYTES as u64;
        (context.done > 0).then(|| Passed {
            done: context.done,
            retired: left - context.left,
            committed: (context.committed != NOWHERE).then_some(context.committed),
            branch: (context.branch != 0).then(|| address(context.branch)),
            next: context.next,
        })
    }

    /// Runs a word that is a run of its own; `None`: it is for the interpreter.
    pub(super) fn call_one(&self, engine: &mut EngineState, stretch: &Stretch<'_>) -> Option<Flow> {
        let passed = self.call(engine, stretch, 1)?;
        Some(match (passed.branch, passed.retired) {
            (Some(_), _) => Flow::Jump(passed.next),
            (None, 0) => Flow::Skip,
            _ => Flow::Next,
        })
    }
}

/// Flags that the interpreter must see, with that of a fault.
fn reported(engine: &EngineState) -> u64 {
    u64::from(register_alu::reported_flags(engine)) | FAULT
}
