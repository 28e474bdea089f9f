//! Plans: how each word of a stream runs, decided once for each decoding of the stream.

use std::sync::Arc;

use seqjit_runtime::interp::{Exec, Flow, Instruction};
use seqjit_runtime::isa::field::{UpdateMode, WaitMode};
use seqjit_runtime::isa::{Decoded, EngineId};
use seqjit_runtime::machine::{Action, Machine, Update, Wait};

use super::cache::CodeCache;
use super::counters::Translations;
use super::native::Packed;
use super::registers::RunPlan;
use super::shapes::{Shapes, key_of};
use super::tier::Tier;
use crate::block;
use crate::translate::{self, Binding, Bound, Control, Lowering, Refusal};

/// Words that are planned at once, so that their shapes are compiled in one batch.
const WINDOW: usize = 512;

/// No number.
pub(super) const NONE: u32 = u32::MAX;

/// How the body of a word runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum How {
    /// It has not been planned.
    #[default]
    Open,
    /// Left to the sequencer: it stops the engine, starts transfers, makes it read its words again, or faults.
    Sequencer,
    /// In the code of a shape; its operands are always the same.
    Native,
    /// As its operands say, which come from registers.
    Moving,
    /// In a kernel; its operands are always the same.
    Kernel,
    /// It has none.
    Nothing,
    /// In the code of a run of words on the register file.
    Registers,
    /// In its interpreter function, as the opcode table wants it.
    Call,
    /// In its interpreter function, for want of anything better.
    Interpreter,
}

/// How a word waits or updates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Sync {
    /// Not at all.
    #[default]
    None,
    /// With the one immediate operand in the entry.
    One,
    /// In another way: with registers, or twice.
    General,
}

/// The plan of one word.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) how: How,
    pub(super) waits: Sync,
    pub(super) updates: Sync,
    flags: u8,
    wait_mode: WaitMode,
    wait_index: u8,
    update_index: u8,
    update: Option<Action>,
    value: u32,
    /// Number of its shape, kernel, run, or reason; [`NONE`] where there is none.
    pub(super) number: u32,
    /// First of its operands.
    pub(super) operands: u32,
}

impl Entry {
    const ENDS_BLOCK: u8 = 1;
    const COUNTED: u8 = 2;

    /// A block ends behind the word.
    pub(super) fn ends_block(&self) -> bool {
        self.flags & Entry::ENDS_BLOCK != 0
    }

    /// It has run, or was counted as if it had; where it has no body, it counts as retired.
    pub(super) fn is_counted(&self) -> bool {
        self.flags & Entry::COUNTED != 0
    }

    /// From now on it is.
    pub(super) fn count(&mut self) {
        self.flags |= Entry::COUNTED;
    }

    /// The word neither waits nor updates.
    pub(super) fn is_plain(&self) -> bool {
        self.waits == Sync::None && self.updates == Sync::None
    }

    /// The wait, where [`Sync::One`].
    pub(super) fn wait(&self) -> Wait {
        Wait { mode: self.wait_mode, index: self.wait_index, value: self.value }
    }

    /// The update, where [`Sync::One`].
    pub(super) fn update(&self) -> Option<Update> {
        Some(Update { action: self.update?, index: self.update_index, value: self.value })
    }

    /// Of a word whose body runs in this way.
    fn new(w: &Decoded, how: How) -> Entry {
        let e = &w.events;
        let extended = block::extended_events(w);
        // The modes that `resolve_wait` takes as they are.
        let plain_wait = |mode: WaitMode| matches!(mode.0, 0x01..=0x07 | 0x0E | 0x0F | 0xFE);
        let waits = match (e.wait_mode, extended.0) {
            (WaitMode::NONE, WaitMode::NONE) => Sync::None,
            (mode, WaitMode::NONE) if plain_wait(mode) => Sync::One,
            _ => Sync::General,
        };
        let action = Action::of(e.update_mode).filter(|_| e.update_mode.0 & 0x80 == 0);
        let updates = match (e.update_mode, extended.1) {
            (UpdateMode::NONE, UpdateMode::NONE) => Sync::None,
            (_, UpdateMode::NONE) if action.is_some() => Sync::One,
            _ => Sync::General,
        };
        Entry {
            how,
            waits,
            updates,
            wait_mode: e.wait_mode,
            wait_index: e.wait_idx,
            update_index: e.update_idx,
            update: action,
            value: e.value,
            ..Entry::default()
        }
    }
}

/// Plans for the words of one engine, valid for one decoding of them.
#[derive(Default)]
pub(super) struct StreamPlans {
    code: Option<Arc<[Instruction]>>,
    /// Opcodes that the sequencer dispatches; a plan holds for these only.
    legal: Option<Arc<[bool; 256]>>,
    pub(super) entries: Vec<Entry>,
    /// Packed operands of all words.
    pub(super) operands: Vec<u32>,
    /// Words that a kernel has run twice, with their operands.
    pub(super) kernels: Vec<Bound>,
    pub(super) runs: Vec<RunPlan>,
    /// Why words run in the interpreter, and how many have.
    pub(super) reasons: Vec<(Refusal, u64)>,
}

impl StreamPlans {
    /// Forgets everything where the engine has read its words again.
    pub(super) fn enter(&mut self, code: &Arc<[Instruction]>, legal: &Arc<[bool; 256]>) {
        let same_code = self.code.as_ref().is_some_and(|known| Arc::ptr_eq(known, code));
        let same_legal =
            |known: &Arc<[bool; 256]>| Arc::ptr_eq(known, legal) || known.as_slice() == legal.as_slice();
        if !same_code || !self.legal.as_ref().is_some_and(same_legal) {
            self.forget();
            self.entries.resize_with(code.len(), Entry::default);
            self.code = Some(code.clone());
        }
        if !self.legal.as_ref().is_some_and(|known| Arc::ptr_eq(known, legal)) {
            self.legal = Some(legal.clone());
        }
    }

    /// Forgets all plans.
    pub(super) fn forget(&mut self) {
        self.code = None;
        self.entries.clear();
        self.operands.clear();
        self.kernels.clear();
        self.runs.clear();
    }

    pub(super) fn reason(&mut self, why: Refusal) -> u32 {
        let known = self.reasons.iter().position(|(reason, _)| *reason == why);
        let number = known.unwrap_or_else(|| {
            self.reasons.push((why, 0));
            self.reasons.len() - 1
        });
        number as u32
    }
}

/// What planning needs beside the words.
pub(super) struct Planner<'a> {
    pub(super) plans: &'a mut StreamPlans,
    pub(super) shapes: &'a mut Shapes,
    pub(super) counters: &'a mut Translations,
    pub(super) cache: &'a CodeCache,
    pub(super) tier: Tier,
}

impl Planner<'_> {
    /// Plans the words from a slot on that have no plan, and compiles what pays.
    pub(super) fn plan_from(
        &mut self,
        machine: &mut Machine,
        core: usize,
        engine: EngineId,
        code: &[Instruction],
        slot: usize,
    ) {
        let mut block_end = slot;
        let last = code.len().min(slot + WINDOW);
        for slot in slot..last {
            if slot == block_end {
                let block = block::find(code, slot, &|_| false);
                block_end = slot + block.len.max(1);
            }
            if self.plans.entries[slot].how == How::Open {
                let x = Exec { machine, core, engine, pc: 0, ends_turn: false };
                let mut entry = self.plan(&x, &code[slot]);
                entry.flags |= if slot + 1 == block_end { Entry::ENDS_BLOCK } else { 0 };
                self.plans.entries[slot] = entry;
            }
        }
        if let Some(work) = self.shapes.compile_due(self.cache) {
            self.counters.add(&work);
        }
    }

    fn plan(&mut self, x: &Exec<'_>, instruction: &Instruction) -> Entry {
        let legal = self.plans.legal.as_ref().is_some_and(|l| l[usize::from(instruction.word().opcode())]);
        let Some(w) = block::executable(instruction).filter(|w| legal && !block::is_for_sequencer(w)) else {
            return Entry { how: How::Sequencer, ..Entry::default() };
        };
        let moving = translate::reads_registers(w);
        let planned = match translate::lowering(x, w) {
            Err(why) => Err(why),
            Ok(Lowering::Control(Control::Nothing(flow))) => {
                // The flow says whether it counts.
                let flags = if flow == Flow::Skip { 0 } else { Entry::COUNTED };
                Ok(Entry { flags, ..Entry::new(w, How::Nothing) })
            }
            Ok(Lowering::Control(_)) => Ok(Entry { number: NONE, ..Entry::new(w, How::Registers) }),
            Ok(Lowering::Call) => Ok(Entry { number: NONE, ..Entry::new(w, How::Call) }),
            Ok(_) if moving => Ok(Entry { number: NONE, ..Entry::new(w, How::Moving) }),
            Ok(Lowering::Inline(lowering)) => {
                (lowering.bind)(x, w).map_err(Refusal::from).map(|binding| self.native(x, w, &binding))
            }
            Ok(Lowering::Kernel(_)) => Ok(Entry { number: NONE, ..Entry::new(w, How::Kernel) }),
        };
        planned
            .unwrap_or_else(|why| Entry { number: self.plans.reason(why), ..Entry::new(w, How::Interpreter) })
    }

    fn native(&mut self, x: &Exec<'_>, w: &Decoded, binding: &Binding) -> Entry {
        let (number, known) = self.shapes.intern(key_of(x, w, binding), binding, self.cache);
        self.counters.hits += u64::from(known);
        self.shapes.warm(number, self.tier);
        let operands = self.plans.operands.len() as u32;
        let packed = Packed::of(binding, x.machine.generation);
        self.plans.operands.extend_from_slice(packed.as_slice());
        Entry { number, operands, ..Entry::new(w, How::Native) }
    }
}

#[cfg(test)]
mod tests {
    use super::Entry;

    /// Streams have a million words: their plans are meant to stay small beside them.
    #[test]
    fn plans_are_small() {
        assert!(size_of::<Entry>() <= 20);
    }
}
