//! The runner: words of one engine in native code, one after the other, by their plans.
//!
//! What surrounds a body is [`sequencer::step`]'s, in the same order; what can be decided for a word once is in its plan. A word may
//! be left to the sequencer at any point before its body has run.

use seqjit_runtime::interp::{Exec, Flow, Instruction, Ran, Stretch};
use seqjit_runtime::isa::Decoded;
use seqjit_runtime::machine::{Engine as EngineState, Machine, Update};
use seqjit_runtime::sequencer;

use super::cache::CodeCache;
use super::counters::{ExitReason, Translations};
use super::defect;
use super::native::{self, Packed, ScalarRows};
use super::plan::{Entry, How, NONE, Planner, StreamPlans, Sync};
use super::registers::RunPlan;
use super::shapes::{Native, Shapes, key_of};
use super::tier::Tier;
use super::translated::run_kernel;
use crate::block;
use crate::translate::{self, Inline, Lowering, Refusal};

/// One stretch under way.
pub(super) struct Runner<'a> {
    pub(super) machine: &'a mut Machine,
    pub(super) stretch: &'a Stretch<'a>,
    pub(super) plans: &'a mut StreamPlans,
    pub(super) shapes: &'a mut Shapes,
    pub(super) counters: &'a mut Translations,
    pub(super) rows: &'a mut ScalarRows,
    pub(super) cache: &'a CodeCache,
    pub(super) tier: Tier,
}

/// What the body of a word did.
struct Done {
    flow: Flow,
    ends_turn: bool,
    /// It ran in the interpreter or in a kernel, which may have armed something.
    may_disturb: bool,
}

impl Done {
    const PLAIN: Done = Done { flow: Flow::Next, ends_turn: false, may_disturb: false };
}

impl Runner<'_> {
    /// Runs words until the next one is not for it.
    pub(super) fn run(&mut self) -> (Ran, ExitReason) {
        let Stretch { core, engine, code, room, stops, .. } = *self.stretch;
        let base = self.machine.cores[core].spec.streams[engine.index()].base;
        let first = self.engine().retired;
        let mut ran = Ran::default();
        let mut block_starts = true;
        let leave = loop {
            if self.engine().retired - first >= room {
                break ExitReason::Budget;
            }
            let Some(slot) = self.engine().next_slot(base, code.len()) else { break ExitReason::End };
            if self.plans.entries[slot].how == How::Open {
                self.plan(slot);
            }
            let entry = self.plans.entries[slot];
            if block_starts && self.stretch.is_paused() {
                break ExitReason::Pause;
            }
            if entry.how == How::Sequencer {
                break ExitReason::of(&code[slot]);
            }
            if !stops.is_empty() && stops.contains(&self.engine().next_pc()) {
                break ExitReason::Stop;
            }
            self.engine_mut().begin_word();
            match self.take_waits(&code[slot], &entry) {
                Some(true) => {}
                Some(false) => {
                    ran.ends_turn = true;
                    break ExitReason::Blocked;
                }
                None => break ExitReason::Fault,
            }
            if entry.how == How::Registers && entry.is_plain() && stops.is_empty() {
                let left = room - (self.engine().retired - first);
                if let Some(words) = self.run_registers(slot, left) {
                    ran.progress += words;
                    self.counters.blocks += 1;
                    block_starts = true;
                    continue;
                }
            }
            let Some(done) = self.word(slot, &code[slot], entry) else { break ExitReason::Fault };
            ran.progress += 1;
            self.counters.blocks += u64::from(entry.ends_block());
            block_starts = entry.ends_block();
            if done.ends_turn {
                ran.ends_turn = true;
                break ExitReason::Turn;
            }
            if done.may_disturb && !self.engine().runs_freely() {
                break ExitReason::Surprise;
            }
        };
        (ran, leave)
    }

    fn engine(&self) -> &EngineState {
        &self.machine.cores[self.stretch.core].engines[self.stretch.engine.index()]
    }

    fn engine_mut(&mut self) -> &mut EngineState {
        &mut self.machine.cores[self.stretch.core].engines[self.stretch.engine.index()]
    }

    #[cold]
    fn plan(&mut self, slot: usize) {
        let Stretch { core, engine, code, .. } = *self.stretch;
        let Runner { plans, shapes, counters, cache, tier, .. } = self;
        let mut planner = Planner { plans, shapes, counters, cache, tier: *tier };
        planner.plan_from(self.machine, core, engine, code, slot);
    }

    /// Tests the waits of a word; `None`: the sequencer must see it.
    fn take_waits(&mut self, instruction: &Instruction, entry: &Entry) -> Option<bool> {
        let Stretch { core, engine, .. } = *self.stretch;
        match entry.waits {
            Sync::None => Some(true),
            Sync::One => Some(sequencer::take_wait(self.machine, core, engine, &entry.wait())),
            Sync::General => {
                let w = instruction.body.as_ref().ok()?;
                sequencer::take_all_waits(self.machine, core, engine, w).ok()
            }
        }
    }

    /// The updates of a word; `None`: the sequencer must see it.
    fn updates(&self, instruction: &Instruction, entry: &Entry) -> Option<[Option<Update>; 2]> {
        match entry.updates {
            Sync::None => Some([None; 2]),
            Sync::One => Some([entry.update(), None]),
            Sync::General => sequencer::updates_of(self.engine(), instruction.body.as_ref().ok()?).ok(),
        }
    }

    /// Body and updates of a word whose waits hold; `None`: nothing has been done, it is for the sequencer.
    fn word(&mut self, slot: usize, instruction: &Instruction, entry: Entry) -> Option<Done> {
        let updates = self.updates(instruction, &entry)?;
        let mut done = self.body(slot, instruction, entry)?;
        let Stretch { core, engine, .. } = *self.stretch;
        for update in updates.iter().flatten() {
            done.ends_turn |= sequencer::publish(self.machine, core, engine, update);
        }
        self.engine_mut().end_word(instruction.word().opcode(), done.flow);
        Some(done)
    }

    fn body(&mut self, slot: usize, instruction: &Instruction, entry: Entry) -> Option<Done> {
        match entry.how {
            How::Native => {
                let shape = self.shapes.get(entry.number);
                let numbers = &self.plans.operands[entry.operands as usize..][..shape.packing.len()];
                match &shape.native {
                    Native::Code(code) => {
                        let core = &mut self.machine.cores[self.stretch.core];
                        let generation = self.machine.generation;
                        // SAFETY: the plan holds for this machine's generation, and the memories fit; the numbers
                        // are those of a word of this shape.
                        unsafe { native::call(core, generation, code, &shape.packing, numbers, self.rows) };
                        self.counters.words += 1;
                        Some(Done::PLAIN)
                    }
                    Native::Cold => self.cold(slot, instruction, entry),
                    Native::Refused(why) => {
                        let why = *why;
                        self.fall_back(instruction, why)
                    }
                }
            }
            How::Kernel if entry.number == NONE => self.unkept_kernel(slot, instruction),
            How::Kernel => {
                let w = instruction.body.as_ref().ok()?;
                let Stretch { core, engine, .. } = *self.stretch;
                let pc = self.engine().pc;
                let mut x = Exec { machine: self.machine, core, engine, pc, ends_turn: false };
                let bound = &self.plans.kernels[entry.number as usize];
                if run_kernel(&mut x, w, bound, self.cache.defect()) {
                    self.counters.words += 1;
                    return Some(Done { flow: Flow::Next, ends_turn: x.ends_turn, may_disturb: true });
                }
                self.fall_back(instruction, Refusal::Checks)
            }
            How::Moving => self.moving(slot, instruction),
            How::Nothing => {
                self.counters.words += 1;
                let flow = if entry.is_counted() { Flow::Next } else { Flow::Skip };
                Some(Done { flow, ..Done::PLAIN })
            }
            How::Registers if !entry.is_plain() => self.one_on_registers(slot, instruction),
            How::Registers => {
                // Cold, or the budget ends inside the run, or the interpreter must see the result.
                let done = self.interpret(instruction)?;
                self.counters.interpreted += 1;
                Some(done)
            }
            How::Call => self.call(instruction),
            How::Interpreter => {
                let done = self.interpret(instruction)?;
                self.plans.reasons[entry.number as usize].1 += 1;
                Some(done)
            }
            How::Open | How::Sequencer => None,
        }
    }

    /// A word for a kernel whose operands are not kept. Most words of a long stream run once: operands are kept from the
    /// second time on, so that memory does not grow with the stream.
    fn unkept_kernel(&mut self, slot: usize, instruction: &Instruction) -> Option<Done> {
        let w = instruction.body.as_ref().ok()?;
        let Stretch { core, engine, .. } = *self.stretch;
        let pc = self.engine().pc;
        let mut x = Exec { machine: self.machine, core, engine, pc, ends_turn: false };
        let bound = translate::lowering(&x, w).and_then(|lowering| match lowering {
            Lowering::Kernel(kernel) => (kernel.bind)(&x, w),
            Lowering::Inline(_) | Lowering::Control(_) | Lowering::Call => Err(Refusal::Checks),
        });
        let bound = match bound {
            Ok(bound) => bound,
            Err(why) => {
                let number = self.plans.reason(why);
                let entry = &mut self.plans.entries[slot];
                (entry.how, entry.number) = (How::Interpreter, number);
                let entry = *entry;
                return self.body(slot, instruction, entry);
            }
        };
        if !run_kernel(&mut x, w, &bound, self.cache.defect()) {
            return self.fall_back(instruction, Refusal::Checks);
        }
        let ends_turn = x.ends_turn;
        self.counters.words += 1;
        let entry = &mut self.plans.entries[slot];
        if entry.is_counted() {
            entry.number = self.plans.kernels.len() as u32;
            self.plans.kernels.push(bound);
        }
        entry.count();
        Some(Done { flow: Flow::Next, ends_turn, may_disturb: true })
    }

    /// Runs words on the register file from a slot on; how many, `None`: the first one must be run in another way.
    fn run_registers(&mut self, slot: usize, left: u64) -> Option<u64> {
        let number = self.register_run(slot)?;
        let engine = &mut self.machine.cores[self.stretch.core].engines[self.stretch.engine.index()];
        let passed = self.plans.runs[number as usize].call(engine, self.stretch, left)?;
        engine.pass_words(&passed);
        self.counters.words += passed.done;
        Some(passed.done)
    }

    /// A word on the register file that waits or updates.
    fn one_on_registers(&mut self, slot: usize, instruction: &Instruction) -> Option<Done> {
        let flow = self.register_run(slot).and_then(|number| {
            let engine = &mut self.machine.cores[self.stretch.core].engines[self.stretch.engine.index()];
            self.plans.runs[number as usize].call_one(engine, self.stretch)
        });
        let Some(flow) = flow else {
            let done = self.interpret(instruction)?;
            self.counters.interpreted += 1;
            return Some(done);
        };
        self.counters.words += 1;
        Some(Done { flow, ..Done::PLAIN })
    }

    /// The run that starts at a slot, planned the second time that it comes up, or the first where everything is compiled.
    fn register_run(&mut self, slot: usize) -> Option<u32> {
        let Stretch { core, engine, code, .. } = *self.stretch;
        let entry = &mut self.plans.entries[slot];
        if entry.number == NONE {
            let counted = entry.is_counted();
            entry.count();
            if !counted && self.tier != Tier::Jit {
                return None;
            }
            let core = &self.machine.cores[core];
            let legal = &core.engines[engine.index()].legal;
            let base = core.spec.streams[engine.index()].base;
            let (generation, strict) = (self.machine.generation, self.machine.options.strict);
            let run = block::registers::find(code, legal, slot, base, generation, strict)?;
            entry.number = self.plans.runs.len() as u32;
            self.plans.runs.push(RunPlan::new(run));
        }
        let number = entry.number;
        if let Some(work) = self.plans.runs[number as usize].warm(self.cache, self.tier) {
            self.counters.add(&work);
        }
        Some(number)
    }

    /// A word whose shape has no code yet.
    fn cold(&mut self, slot: usize, instruction: &Instruction, entry: Entry) -> Option<Done> {
        // What a plan expects has been counted when it was made.
        if self.plans.entries[slot].is_counted() {
            self.shapes.warm(entry.number, self.tier);
            if let Some(work) = self.shapes.compile_due(self.cache) {
                self.counters.add(&work);
            }
            // Another thread may still be compiling it: then this time is the interpreter's.
            if !matches!(self.shapes.get(entry.number).native, Native::Cold) {
                return self.body(slot, instruction, entry);
            }
        }
        self.plans.entries[slot].count();
        let done = self.interpret(instruction)?;
        self.counters.interpreted += 1;
        Some(done)
    }

    fn fall_back(&mut self, instruction: &Instruction, why: Refusal) -> Option<Done> {
        let done = self.interpret(instruction)?;
        *self.counters.fallbacks.entry(why).or_default() += 1;
        Some(done)
    }

    /// A word whose lowering is the interpreter's function.
    fn call(&mut self, instruction: &Instruction) -> Option<Done> {
        let done = self.interpret(instruction)?;
        self.counters.calls += 1;
        let w = instruction.body.as_ref().ok()?;
        if self.cache.defect() == Some(w.info.byte) {
            let Stretch { core, engine, .. } = *self.stretch;
            let pc = self.engine().pc;
            defect::spoil(&mut Exec { machine: self.machine, core, engine, pc, ends_turn: false }, w);
        }
        Some(done)
    }

    /// The interpreter's function; where it finds a fault it has done nothing, and the sequencer raises it.
    fn interpret(&mut self, instruction: &Instruction) -> Option<Done> {
        let Stretch { core, engine, .. } = *self.stretch;
        let (Ok(w), Some(handler)) = (&instruction.body, instruction.handler()) else { return None };
        let pc = self.engine().pc;
        let mut x = Exec { machine: self.machine, core, engine, pc, ends_turn: false };
        let flow = handler(&mut x, w).ok()?;
        Some(Done { flow, ends_turn: x.ends_turn, may_disturb: true })
    }

    /// A word whose operands come from registers.
    fn moving(&mut self, slot: usize, instruction: &Instruction) -> Option<Done> {
        let w = instruction.body.as_ref().ok()?;
        let Stretch { core, engine, .. } = *self.stretch;
        let pc = self.engine().pc;
        let mut x = Exec { machine: self.machine, core, engine, pc, ends_turn: false };
        let why = match translate::lowering(&x, w) {
            Ok(Lowering::Inline(lowering)) => return self.moving_inline(slot, instruction, w, &lowering),
            Ok(Lowering::Kernel(kernel)) => match (kernel.bind)(&x, w) {
                Ok(bound) if run_kernel(&mut x, w, &bound, self.cache.defect()) => {
                    self.counters.words += 1;
                    return Some(Done { flow: Flow::Next, ends_turn: x.ends_turn, may_disturb: true });
                }
                Ok(_) => Refusal::Checks,
                Err(why) => why,
            },
            // Its plan would not say that it reads registers.
            Ok(Lowering::Control(_) | Lowering::Call) => Refusal::Checks,
            Err(why) => why,
        };
        self.fall_back(instruction, why)
    }

    fn moving_inline(
        &mut self,
        slot: usize,
        instruction: &Instruction,
        w: &Decoded,
        lowering: &Inline,
    ) -> Option<Done> {
        let Stretch { core, engine, .. } = *self.stretch;
        let pc = self.engine().pc;
        let x = Exec { machine: self.machine, core, engine, pc, ends_turn: false };
        let binding = match (lowering.bind)(&x, w) {
            Ok(binding) => binding,
            Err(why) => return self.fall_back(instruction, why.into()),
        };
        let last = self.plans.entries[slot].number;
        let number = if last != NONE && self.shapes.get(last).is_of(&binding) {
            last
        } else {
            let (number, known) = self.shapes.intern(key_of(&x, w, &binding), &binding, self.cache);
            self.counters.hits += u64::from(known);
            number
        };
        let generation = self.machine.generation;
        self.plans.entries[slot].number = number;
        self.shapes.warm(number, self.tier);
        if let Some(work) = self.shapes.compile_due(self.cache) {
            self.counters.add(&work);
        }
        let shape = self.shapes.get(number);
        match &shape.native {
            Native::Code(code) => {
                let packed = Packed::of(&binding, generation);
                let core = &mut self.machine.cores[core];
                // SAFETY: the operands have just been bound on this machine, whose memories fit.
                unsafe { native::call(core, generation, code, &shape.packing, packed.as_slice(), self.rows) };
                self.counters.words += 1;
                Some(Done::PLAIN)
            }
            Native::Cold => {
                let done = self.interpret(instruction)?;
                self.counters.interpreted += 1;
                Some(done)
            }
            Native::Refused(why) => {
                let why = *why;
                self.fall_back(instruction, why)
            }
        }
    }
}
