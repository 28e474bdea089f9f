//! Native code in place of interpreter functions: the translator of a machine.

use std::cell::RefCell;

use seqjit_runtime::interp::{At, Exec, Flow, Ran, Stretch, Translated};
use seqjit_runtime::isa::{self, Decoded, EngineId, Generation, PARTITIONS};
use seqjit_runtime::machine::Machine;

use super::Engine;
use super::counters::Translations;
use super::defect;
use super::native::{self, Packed, ScalarRows};
use super::plan::StreamPlans;
use super::runner::Runner;
use super::shapes::{Native, Shapes, key_of};
use super::tier::Tier;
use crate::block;
use crate::translate::{self, Bound, Control, Inline, Lowering, MAX_SCALARS, Refusal};

/// Shapes that a translator remembers; with more it starts anew, so that a program that changes its own words
/// for ever does not keep all code that it ever had.
const MAX_SHAPES: usize = 1 << 14;

/// Native code for the words of one machine, for [`Session`](crate::Session)s and for those who drive a
/// [`Machine`] themselves, with
/// [`Limits::translated`](seqjit_runtime::sequencer::Limits::translated). A translator belongs to one machine.
pub struct Translator {
    engine: Engine,
    tier: Tier,
    state: RefCell<State>,
}

struct State {
    streams: Vec<StreamPlans>,
    shapes: Shapes,
    counters: Translations,
    rows: Box<ScalarRows>,
    /// Plans are for a machine of this generation.
    generation: Option<Generation>,
}

impl Translator {
    /// A translator that shares the code of `engine`. With [`Tier::Interp`] it leaves everything to the interpreter.
    pub fn new(engine: &Engine, tier: Tier) -> Translator {
        let state = State {
            streams: Vec::new(),
            shapes: Shapes::default(),
            counters: Translations::default(),
            rows: Box::new([0; MAX_SCALARS * PARTITIONS]),
            generation: None,
        };
        Translator { engine: engine.clone(), tier, state: RefCell::new(state) }
    }

    /// What it has done since the start of the run.
    pub fn counters(&self) -> Translations {
        let state = self.state.borrow();
        let mut counters = state.counters.clone();
        for (why, words) in state.streams.iter().flat_map(|s| &s.reasons).filter(|(_, words)| *words > 0) {
            *counters.fallbacks.entry(*why).or_default() += words;
        }
        counters
    }

    /// Shapes compiled for this run, bytes of their code, and nanoseconds that it took.
    pub(super) fn compiled(&self) -> [u64; 3] {
        let Translations { shapes, code_bytes, translate_ns, .. } = self.state.borrow().counters;
        [shapes, code_bytes, translate_ns]
    }

    /// Sets the counters to zero; plans stay.
    pub(super) fn restart(&self) {
        let state = &mut *self.state.borrow_mut();
        state.counters = Translations::default();
        state.streams.iter_mut().flat_map(|s| &mut s.reasons).for_each(|(_, words)| *words = 0);
    }
}

impl Translated for Translator {
    fn execute(&self, x: &mut Exec<'_>, at: At<'_>) -> Option<Flow> {
        if self.tier == Tier::Interp {
            return None;
        }
        let w = at.code[at.slot].body.as_ref().ok()?;
        let state = &mut *self.state.borrow_mut();
        if w.info.lowering == isa::Lowering::Call {
            // A word that waits for its peers comes here again.
            state.counters.calls += u64::from(x.engine_state().ticket.is_none());
            return None;
        }
        if block::is_for_sequencer(w) {
            return None;
        }
        if let Some(Control::Nothing(flow)) = translate::control(w) {
            state.counters.words += 1;
            return Some(flow);
        }
        state.enter(x.machine.generation);
        match self.run_one(state, x, w) {
            Ok(true) => {
                state.counters.words += 1;
                Some(Flow::Next)
            }
            Ok(false) => {
                state.counters.interpreted += 1;
                None
            }
            Err(why) => {
                *state.counters.fallbacks.entry(why).or_default() += 1;
                None
            }
        }
    }

    fn run(&self, machine: &mut Machine, stretch: &Stretch<'_>) -> Ran {
        let state = &mut *self.state.borrow_mut();
        let generation = machine.generation;
        if self.tier == Tier::Interp || !native::fits(&mut machine.cores[stretch.core], generation) {
            return Ran::default();
        }
        state.enter(generation);
        let number = stretch.core * EngineId::ALL.len() + stretch.engine.index();
        if state.streams.len() <= number {
            state.streams.resize_with(number + 1, StreamPlans::default);
        }
        let State { streams, shapes, counters, rows, .. } = state;
        let plans = &mut streams[number];
        plans.enter(stretch.code, &machine.cores[stretch.core].engines[stretch.engine.index()].legal);
        let (cache, tier) = (&self.engine.shared.cache, self.tier);
        let mut runner = Runner { machine, stretch, plans, shapes, counters, rows, cache, tier };
        let (ran, reason) = runner.run();
        if ran.progress > 0 {
            *counters.exits.entry(reason).or_default() += 1;
        }
        ran
    }
}

impl Translator {
    /// Runs the body of one word without a plan; `false`: not in native code yet.
    fn run_one(&self, state: &mut State, x: &mut Exec<'_>, w: &Decoded) -> Result<bool, Refusal> {
        match translate::lowering(x, w)? {
            Lowering::Inline(lowering) => self.run_inline(state, x, w, &lowering),
            // One word at a time is not worth code: its function in the interpreter does what code would.
            Lowering::Control(_) | Lowering::Call => Ok(false),
            Lowering::Kernel(kernel) => {
                let bound = (kernel.bind)(x, w)?;
                let ran = run_kernel(x, w, &bound, self.engine.shared.cache.defect());
                ran.then_some(true).ok_or(Refusal::Checks)
            }
        }
    }

    fn run_inline(
        &self,
        state: &mut State,
        x: &mut Exec<'_>,
        w: &Decoded,
        lowering: &Inline,
    ) -> Result<bool, Refusal> {
        let State { shapes, counters, rows, .. } = state;
        let binding = (lowering.bind)(x, w)?;
        let generation = x.machine.generation;
        if !native::fits(x.core(), generation) {
            return Err(Refusal::Checks);
        }
        let cache = &self.engine.shared.cache;
        let (number, known) = shapes.intern(key_of(x, w, &binding), &binding, cache);
        counters.hits += u64::from(known);
        shapes.warm(number, self.tier);
        if let Some(work) = shapes.compile_due(cache) {
            counters.add(&work);
        }
        let shape = shapes.get(number);
        let code = match &shape.native {
            Native::Cold => return Ok(false),
            Native::Refused(why) => return Err(*why),
            Native::Code(code) => code,
        };
        let packed = Packed::of(&binding, generation);
        let core = x.core();
        // SAFETY: the operands have just been bound on this machine, whose memories fit.
        unsafe { native::call(core, generation, code, &shape.packing, packed.as_slice(), rows) };
        binding.destination.note_written(core.memory_mut(binding.destination.space), binding.lanes);
        Ok(true)
    }
}

impl State {
    /// Forgets plans that are for another machine, and everything where it has become too much.
    fn enter(&mut self, generation: Generation) {
        if self.generation != Some(generation) || self.shapes.len() > MAX_SHAPES {
            self.generation = Some(generation);
            self.shapes.clear();
            self.streams.iter_mut().for_each(StreamPlans::forget);
        }
    }
}

/// Runs a word in its kernel; `false`: it has done nothing. See [`Engine::with_defect`] for `defect`.
pub(super) fn run_kernel(x: &mut Exec<'_>, w: &Decoded, bound: &Bound, defect: Option<u8>) -> bool {
    let ran = bound(x);
    if ran && defect == Some(w.info.byte) {
        defect::spoil(x, w);
    }
    ran
}
