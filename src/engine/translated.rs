//! Native code in place of interpreter functions: which words of a session have some, and running it.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use seqjit_runtime::interp::{At, Exec, Flow, Instruction, LaneScalar, Translated, Walk};
use seqjit_runtime::isa::{Decoded, EngineId, Generation, PARTITIONS, Space};
use seqjit_runtime::machine::{Core, Partitions};

use super::Engine;
use super::cache::Translation;
use super::defect;
use super::tier::{Tier, pays};
use crate::block::{self, Overlap, Place, ShapeKey};
use crate::translate::{self, Binding, Bound, Code, Context, Inline, Lowering, MAX_SCALARS, Refusal};

/// Words that are looked at for further shapes when one has to be compiled.
const AHEAD: usize = 256;

/// What became of the words of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Translations {
    /// Words whose bodies ran in native code.
    pub words: u64,
    /// Words whose shape had to be looked up, and had code already.
    pub hits: u64,
    /// Shapes that were compiled for this run.
    pub shapes: u64,
    /// Bytes of their code.
    pub code_bytes: u64,
    /// Time that compiling them took.
    pub translate_ns: u64,
    /// Words that the interpreter ran although their tier is native code, by reason.
    pub fallbacks: BTreeMap<Refusal, u64>,
    /// Words that the tier left to the interpreter because native code does not pay yet.
    pub interpreted: u64,
}

/// Native code for the words of one machine, for [`Session`](crate::Session)s and for those who drive a
/// [`Machine`](seqjit_runtime::machine::Machine) themselves, with
/// [`Limits::translated`](seqjit_runtime::sequencer::Limits::translated). A translator belongs to one machine.
pub struct Translator {
    engine: Engine,
    tier: Tier,
    state: RefCell<State>,
}

struct State {
    streams: Vec<StreamPlans>,
    counters: Translations,
    /// Elements that shapes without code have worked on.
    heat: HashMap<ShapeKey, u64>,
    scalars: Box<[u32; MAX_SCALARS * PARTITIONS]>,
}

/// Plans for the words of one engine, valid for one decoding of them.
#[derive(Default)]
struct StreamPlans {
    code: Option<Arc<[Instruction]>>,
    plans: Vec<Plan>,
}

/// How a word runs.
#[derive(Default)]
enum Plan {
    /// It has not come up, or does not pay yet.
    #[default]
    Open,
    /// In the interpreter.
    Interpret(Refusal),
    /// Its operands are always the same.
    Fixed(Box<Ready>),
    /// Its operands come from registers; the shape that it had last.
    Moving(Box<(ShapeKey, Code)>),
    /// In a kernel; its operands are always the same.
    Kernel(Bound),
}

/// A word that can run.
struct Ready {
    code: Code,
    operands: Operands,
}

/// What native code of a shape takes for one word.
struct Operands {
    table: [u64; block::MAX_SOURCES + 1],
    scalars: [Option<LaneScalar>; MAX_SCALARS],
    destination: Walk,
    lanes: usize,
    /// Decides the size of the memories that the table is for.
    generation: Generation,
}

impl Operands {
    fn of(binding: &Binding, key: &ShapeKey) -> Operands {
        let operands = binding.sources.iter().flatten().chain([&binding.destination]);
        let mut table = [0; block::MAX_SOURCES + 1];
        for (entry, walk) in table.iter_mut().zip(operands) {
            let pitch = Partitions::pitch_of(walk.space, key.generation);
            *entry = (walk.partition * pitch + walk.offset) as u64;
        }
        let Binding { scalars, destination, lanes, .. } = *binding;
        Operands { table, scalars, destination, lanes, generation: key.generation }
    }
}

/// The shape of a word with these operands.
pub(super) fn shape(x: &Exec<'_>, w: &Decoded, binding: &Binding) -> ShapeKey {
    let overlap = |source: &Option<Walk>| {
        source.as_ref().map_or(Overlap::Disjoint, |s| Overlap::of(s, &binding.destination, binding.lanes))
    };
    ShapeKey {
        word: block::mask(w),
        generation: x.machine.generation,
        variant: binding.variant,
        fp8: x.machine.cores[x.core].spec.fp8,
        sources: binding.sources.each_ref().map(|source| source.as_ref().map(Place::of)),
        destination: Place::of(&binding.destination),
        overlaps: binding.sources.each_ref().map(overlap),
    }
}

impl Translator {
    /// A translator that shares the code of `engine`. With [`Tier::Interp`] it leaves everything to the interpreter.
    pub fn new(engine: &Engine, tier: Tier) -> Translator {
        let state = State {
            streams: Vec::new(),
            counters: Translations::default(),
            heat: HashMap::new(),
            scalars: Box::new([0; MAX_SCALARS * PARTITIONS]),
        };
        Translator { engine: engine.clone(), tier, state: RefCell::new(state) }
    }

    /// What it has done since the start of the run.
    pub fn counters(&self) -> Translations {
        self.state.borrow().counters.clone()
    }

    /// Sets the counters to zero; plans stay.
    pub(super) fn restart(&self) {
        self.state.borrow_mut().counters = Translations::default();
    }
}

impl Translated for Translator {
    fn execute(&self, x: &mut Exec<'_>, at: At<'_>) -> Option<Flow> {
        if self.tier == Tier::Interp {
            return None;
        }
        let state = &mut *self.state.borrow_mut();
        state.enter(x, at);
        let decoded = at.code[at.slot].body.as_ref().ok()?;
        match self.run(state, x, at, decoded) {
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
}

impl Translator {
    /// `false`: not in native code yet.
    fn run(&self, state: &mut State, x: &mut Exec<'_>, at: At<'_>, w: &Decoded) -> Result<bool, Refusal> {
        let number = stream_number(x);
        let State { streams, scalars, .. } = state;
        match &streams[number].plans[at.slot] {
            Plan::Interpret(why) => return Err(*why),
            Plan::Fixed(ready) if !x.machine.options.check => {
                return run_native(x, &ready.code, &ready.operands, scalars);
            }
            Plan::Kernel(bound) if !x.machine.options.check => return self.run_kernel(x, w, bound),
            _ => {}
        }
        match translate::lowering(x, w)? {
            Lowering::Inline(lowering) => self.run_inline(state, x, at, w, &lowering),
            Lowering::Kernel(kernel) => {
                let bound = (kernel.bind)(x, w)?;
                let ran = self.run_kernel(x, w, &bound);
                if !translate::reads_registers(w) {
                    streams[number].plans[at.slot] = Plan::Kernel(bound);
                }
                ran
            }
        }
    }

    /// Runs a word in its kernel.
    fn run_kernel(&self, x: &mut Exec<'_>, w: &Decoded, bound: &Bound) -> Result<bool, Refusal> {
        if !bound(x) {
            return Err(Refusal::Checks);
        }
        if self.engine.shared.cache.defect() == Some(w.info.byte) {
            defect::spoil(x, w);
        }
        Ok(true)
    }

    /// Runs a word in compiled code; `false`: it has none yet.
    fn run_inline(
        &self,
        state: &mut State,
        x: &mut Exec<'_>,
        at: At<'_>,
        w: &Decoded,
        lowering: &Inline,
    ) -> Result<bool, Refusal> {
        let number = stream_number(x);
        let State { streams, scalars, .. } = state;
        let binding = (lowering.bind)(x, w)?;
        let key = shape(x, w, &binding);
        let operands = Operands::of(&binding, &key);
        if let Plan::Moving(last) = &streams[number].plans[at.slot]
            && last.0 == key
        {
            return run_native(x, &last.1, &operands, scalars);
        }
        let Some(translation) = self.translation(state, x, at, &key, &binding) else { return Ok(false) };
        let plan = &mut state.streams[number].plans[at.slot];
        let moving = translate::reads_registers(w);
        match translation {
            Err(Refusal::Pending) => Ok(false),
            Err(why) => {
                if !moving && why != Refusal::CacheFull {
                    *plan = Plan::Interpret(why);
                }
                Err(why)
            }
            Ok(code) => {
                let ran = run_native(x, &code, &operands, &mut state.scalars);
                *plan = if moving {
                    Plan::Moving(Box::new((key, code)))
                } else {
                    Plan::Fixed(Box::new(Ready { code, operands }))
                };
                ran
            }
        }
    }

    /// Code of a shape, from the cache or new; `None`: it does not pay yet.
    fn translation(
        &self,
        state: &mut State,
        x: &Exec<'_>,
        at: At<'_>,
        key: &ShapeKey,
        binding: &Binding,
    ) -> Option<Translation> {
        let cache = &self.engine.shared.cache;
        if self.tier == Tier::Auto && !cache.contains(key) {
            let heat = state.heat.entry(key.clone()).or_default();
            *heat += (binding.lanes * binding.destination.count) as u64;
            if !pays(*heat) {
                return None;
            }
            state.heat.remove(key);
        }
        let plans = &state.streams[stream_number(x)].plans;
        // Under `auto` only what pays is compiled.
        let ahead = if self.tier == Tier::Jit { AHEAD } else { 0 };
        let (translation, work) = cache.get(key, &mut || shapes_ahead(x, at, plans, ahead));
        match work {
            None => state.counters.hits += 1,
            Some(work) => {
                state.counters.shapes += work.shapes;
                state.counters.code_bytes += work.code_bytes;
                state.counters.translate_ns += work.translate_ns;
            }
        }
        Some(translation)
    }
}

/// The shapes of the next words of the stream whose operands are known before they run.
fn shapes_ahead(x: &Exec<'_>, at: At<'_>, plans: &[Plan], ahead: usize) -> Vec<ShapeKey> {
    let words = at.code.iter().zip(plans).skip(at.slot + 1).take(ahead);
    let open = words.filter(|(_, plan)| matches!(plan, Plan::Open));
    open.filter_map(|(instruction, _)| {
        let decoded = instruction.body.as_ref().ok()?;
        let Ok(Lowering::Inline(lowering)) = translate::lowering(x, decoded) else { return None };
        if translate::reads_registers(decoded) {
            return None;
        }
        Some(shape(x, decoded, &(lowering.bind)(x, decoded).ok()?))
    })
    .collect()
}

impl State {
    /// Makes room for the plans of a stream, and forgets them where the engine has read its words again.
    fn enter(&mut self, x: &Exec<'_>, at: At<'_>) {
        let number = stream_number(x);
        if self.streams.len() <= number {
            self.streams.resize_with(number + 1, StreamPlans::default);
        }
        let stream = &mut self.streams[number];
        if !stream.code.as_ref().is_some_and(|code| Arc::ptr_eq(code, at.code)) {
            stream.code = Some(at.code.clone());
            stream.plans.clear();
            stream.plans.resize_with(at.code.len(), Plan::default);
        }
    }
}

fn stream_number(x: &Exec<'_>) -> usize {
    x.core * EngineId::ALL.len() + x.engine.index()
}

/// Runs a word whose operands have been checked; always `true`.
fn run_native(
    x: &mut Exec<'_>,
    code: &Code,
    operands: &Operands,
    values: &mut [u32; MAX_SCALARS * PARTITIONS],
) -> Result<bool, Refusal> {
    let core = x.core();
    // The fields of a machine can be changed at will: code must not run on memories of another size.
    let Core { sbuf, psum, .. } = core;
    let whole = |memory: &mut Partitions, space| {
        memory.host_bytes().len() == PARTITIONS * Partitions::pitch_of(space, operands.generation)
    };
    if !whole(sbuf, Space::Sbuf) || !whole(psum, Space::Psum) {
        return Err(Refusal::Checks);
    }
    // All scalars are fetched before the word writes anything (chapter 04 section 2.5).
    for (scalar, row) in operands.scalars.iter().zip(values.chunks_exact_mut(PARTITIONS)) {
        match scalar {
            None => {}
            Some(LaneScalar::Value(bits)) => row[0] = *bits,
            Some(lanes) => {
                let row = row.iter_mut().take(operands.lanes).enumerate();
                row.for_each(|(lane, bits)| *bits = lanes.bits(core, lane));
            }
        }
    }
    let context = Context {
        sbuf: core.sbuf.host_bytes().as_mut_ptr(),
        psum: core.psum.host_bytes().as_mut_ptr(),
        scalars: values.as_ptr(),
    };
    // SAFETY: the operands were bound by the lowering of this code's shape, whose checks keep every element in
    // the active part of its partition, for memories of this size; the rows of `values` hold what the shape
    // reads; and the memories are borrowed exclusively for the time of the call.
    unsafe { code.call(&context, &operands.table) };
    operands.destination.note_written(core.memory_mut(operands.destination.space), operands.lanes);
    Ok(true)
}
