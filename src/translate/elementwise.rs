//! Lane-local words: the loop nest over their elements, and what happens to each of them.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F32X4, I8, I16, I32, I32X4, I64};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Type, Value};
use seqjit_runtime::isa::{Dtype, Space, Tensor};
use seqjit_runtime::machine::Partitions;

use super::compile::{CONTEXT_PSUM, CONTEXT_SBUF, CONTEXT_SCALARS, SCALAR_ROW};
use super::emit::{Emit, LANES, memory};
use super::nest::{Dims, Loop, common};
use super::{Refusal, odometer};
use crate::block::ShapeKey;

/// Vectors in one round of an inner loop.
const UNROLL: usize = 4;

/// One tensor operand: how it walks, and its elements.
#[derive(Clone, Debug)]
pub struct Stream {
    dims: Dims,
    dtype: Dtype,
    /// Whatever the word computes with, elements are zero-extended bits.
    bits: bool,
}

impl Stream {
    /// Of a tensor operand; its address does not matter.
    pub fn new<const N: usize>(tensor: &Tensor<N>, dtype: Dtype) -> Stream {
        Stream { dims: Dims::of(tensor, dtype.bytes()), dtype, bits: false }
    }

    /// The same with elements that are not converted: predicates.
    pub fn into_bits(self) -> Stream {
        Stream { bits: true, ..self }
    }
}

/// Computes four results from four elements of each source and from the scalars.
pub type Function = Box<dyn Fn(&mut Emit<'_>, &[Value], &[Value]) -> Value>;

/// What happens to the elements.
pub enum Compute {
    /// The bits of the source.
    Raw,
    /// The low bytes of the first scalar.
    Fill,
    /// A function of FP32 values; the result is converted.
    Float(Function),
    /// A function of 32-bit integers; the result is clamped to the datatype.
    Int(Function),
    /// A function of bits, zero-extended to 32; the low bits of the result are stored.
    Bits(Function),
    /// A function of raw bits at the width of the elements, all of which have one width: of 16 bytes of them, or of one.
    Whole(Function),
    /// Elements of the destination are replaced where the first source, a predicate, is not zero, or where it is.
    Where {
        /// Replace where it is not zero.
        nonzero: bool,
        /// By what.
        replace: Replace,
    },
}

/// What replaces elements of the destination.
pub enum Replace {
    /// A function of bits; the low bits of the result are stored.
    Bits(Function),
    /// A function of FP32 values; the result is converted.
    Float(Function),
}

impl Compute {
    /// Conversion only.
    pub fn identity() -> Compute {
        Compute::Float(Box::new(|_, sources, _| sources[0]))
    }
}

/// A lane-local word without its addresses and immediates.
pub struct Elementwise {
    /// Lanes.
    pub lanes: u8,
    /// Tensors read.
    pub sources: Vec<Stream>,
    /// Tensor written.
    pub destination: Stream,
    /// Scalars: one a lane, or the same in all lanes.
    pub scalars: Vec<PerLane>,
    /// What happens to the elements.
    pub compute: Compute,
}

/// Whether a scalar has one value a lane.
pub type PerLane = bool;

/// What is known while the loops are made.
struct Body<'k> {
    word: &'k Elementwise,
    key: &'k ShapeKey,
    /// Steps of the inner loop, sources first.
    steps: Vec<i64>,
    scalars: Vec<Value>,
}

/// Loads one element of a datatype, or four, from an address and an offset.
type Load<B> = fn(&B, &mut Emit<'_>, Dtype, Value, i32, bool) -> Value;

impl Elementwise {
    /// Emits the whole function: parameters are a [`Context`](super::Context) and a table of offsets, one an
    /// operand, sources first.
    ///
    /// # Errors
    /// Where the operands cannot be walked together.
    pub fn emit(
        &self,
        key: &ShapeKey,
        e: &mut Emit<'_>,
        context: Value,
        table: Value,
    ) -> Result<(), Refusal> {
        let word = self;
        let streams: Vec<&Stream> = word.sources.iter().chain([&word.destination]).collect();
        let dims: Vec<Dims> = streams.iter().map(|stream| stream.dims.clone()).collect();
        let mut loops = common(&dims)?;
        let inner = match &mut loops {
            Some(loops) if !loops.is_empty() => loops.remove(0),
            _ => Loop { count: 1, steps: vec![0; dims.len()] },
        };

        let spaces = key.sources.iter().flatten().chain([&key.destination]).map(|place| place.space);
        let spaces: Vec<Space> = spaces.collect();
        if spaces.len() != streams.len() {
            return Err(Refusal::Opcode(key.word.opcode()));
        }
        let mut pointers: Vec<Value> =
            spaces.iter().enumerate().map(|(i, space)| operand(e, context, table, i, *space)).collect();
        let mut steps: Vec<i64> =
            spaces.iter().map(|space| Partitions::pitch_of(*space, key.generation) as i64).collect();
        let values = e.b.ins().load(I64, memory(), context, CONTEXT_SCALARS);
        for (i, per_lane) in self.scalars.iter().enumerate() {
            let first = e.b.ins().iadd_imm_s(values, (i * SCALAR_ROW) as i64);
            pointers.push(first);
            steps.push(if *per_lane { 4 } else { 0 });
        }
        let operands = streams.len();
        repeat(e, usize::from(word.lanes), &pointers, &steps, &mut |e, pointers| {
            let scalars = pointers[operands..].iter().map(|at| scalar(e, *at)).collect();
            let body = Body { word, key, steps: inner.steps.clone(), scalars };
            let mut inner_loop = |e: &mut Emit<'_>, p: &[Value]| body.inner_loop(e, inner.count, p);
            match &loops {
                Some(loops) => outer_loops(e, loops, &pointers[..operands], &mut inner_loop),
                None => odometer::walk(e, &dims, &pointers[..operands], &mut inner_loop),
            }
        });
        Ok(())
    }
}

/// Host address of element 0 in lane 0.
fn operand(e: &mut Emit<'_>, context: Value, table: Value, index: usize, space: Space) -> Value {
    let base = match space {
        Space::Sbuf => CONTEXT_SBUF,
        Space::Psum => CONTEXT_PSUM,
    };
    let base = e.b.ins().load(I64, memory(), context, base);
    let offset = e.b.ins().load(I64, memory(), table, 8 * index as i32);
    e.b.ins().iadd(base, offset)
}

/// A scalar operand in four lanes.
fn scalar(e: &mut Emit<'_>, at: Value) -> Value {
    let bits = e.b.ins().load(I32, memory(), at, 0);
    let bits = e.b.ins().splat(I32X4, bits);
    e.as_float(bits)
}

/// A loop of at least one round; `body` takes the pointers of its round.
fn repeat(
    e: &mut Emit<'_>,
    count: usize,
    pointers: &[Value],
    steps: &[i64],
    body: &mut dyn FnMut(&mut Emit<'_>, &[Value]),
) {
    if count <= 1 {
        return body(e, pointers);
    }
    let (head, exit) = (e.b.create_block(), e.b.create_block());
    let moving: Vec<usize> = (0..pointers.len()).filter(|i| steps[*i] != 0).collect();
    let left = e.b.ins().iconst(I64, count as i64);
    let first: Vec<BlockArg> =
        [left].into_iter().chain(moving.iter().map(|i| pointers[*i])).map(BlockArg::from).collect();
    e.b.ins().jump(head, &first);
    e.b.switch_to_block(head);
    let left = e.b.append_block_param(head, I64);
    let mut here = pointers.to_vec();
    for i in &moving {
        here[*i] = e.b.append_block_param(head, I64);
    }
    body(e, &here);
    let left = e.b.ins().iadd_imm_s(left, -1);
    let mut next = vec![BlockArg::from(left)];
    for i in &moving {
        next.push(e.b.ins().iadd_imm_s(here[*i], steps[*i]).into());
    }
    e.b.ins().brif(left, head, &next, exit, &[]);
    e.b.seal_block(head);
    e.b.switch_to_block(exit);
    e.b.seal_block(exit);
}

/// Loops around the inner one, given innermost first.
fn outer_loops(
    e: &mut Emit<'_>,
    loops: &[Loop],
    pointers: &[Value],
    body: &mut dyn FnMut(&mut Emit<'_>, &[Value]),
) {
    match loops.split_last() {
        None => body(e, pointers),
        Some((outermost, rest)) => {
            repeat(e, outermost.count, pointers, &outermost.steps, &mut |e, pointers| {
                outer_loops(e, rest, pointers, body);
            });
        }
    }
}

impl Body<'_> {
    fn inner_loop(&self, e: &mut Emit<'_>, count: usize, pointers: &[Value]) {
        let width = self.vector_width().filter(|width| count >= *width);
        let Some(width) = width else {
            return repeat(e, count, pointers, &self.steps, &mut |e, pointers| {
                self.elements(e, pointers, 0, false);
            });
        };
        let round = width * UNROLL;
        let rounds = count / round;
        if rounds > 0 {
            let steps: Vec<i64> = self.steps.iter().map(|step| step * round as i64).collect();
            repeat(e, rounds, pointers, &steps, &mut |e, pointers| {
                for vector in 0..UNROLL {
                    self.elements(e, pointers, vector * width, true);
                }
            });
        }
        let mut done = rounds * round;
        while done < count {
            let vector = count - done >= width;
            self.elements(e, pointers, done, vector);
            done += if vector { width } else { 1 };
        }
    }

    /// Elements done at once, if the walks allow more than one.
    fn vector_width(&self) -> Option<usize> {
        let (to, from) = self.steps.split_last()?;
        let size = self.word.destination.dtype.bytes();
        let overlaps = self.key.overlaps.iter().take(from.len());
        if *to != size as i64 || !overlaps.into_iter().all(|overlap| overlap.may_read_ahead()) {
            return None;
        }
        match self.word.compute {
            Compute::Raw => (from[0] == *to).then_some(16 / size),
            Compute::Fill => Some(16 / size),
            Compute::Whole(_) => from.iter().all(|step| step == to).then_some(16 / size),
            Compute::Float(_) | Compute::Int(_) | Compute::Bits(_) | Compute::Where { .. } => Some(LANES),
        }
    }

    /// One element, or as many as a vector holds, `done` elements behind the pointers.
    fn elements(&self, e: &mut Emit<'_>, pointers: &[Value], done: usize, vector: bool) {
        let offset = |i: usize| (self.steps[i] * done as i64) as i32;
        let last = pointers.len() - 1;
        let (to, to_offset) = (pointers[last], offset(last));
        let dtype = self.word.destination.dtype;
        match &self.word.compute {
            Compute::Raw => {
                let kind = element_type(dtype.bytes(), vector);
                let bits = e.b.ins().load(kind, memory(), pointers[0], offset(0));
                let bits = if vector { e.spoil(bits) } else { bits };
                e.b.ins().store(memory(), bits, to, to_offset);
            }
            Compute::Fill => self.fill(e, to, to_offset, vector),
            Compute::Float(function) => {
                let values = self.sources(e, pointers, &offset, vector, Body::load_float);
                let result = function(e, &values, &self.scalars);
                e.store_float(result, dtype, self.key.fp8, to, to_offset, vector);
            }
            Compute::Int(function) => {
                let values = self.sources(e, pointers, &offset, vector, Body::load_int);
                let result = function(e, &values, &self.scalars);
                let code = e.clamp(dtype, result);
                e.store(code, to, to_offset, dtype.bytes(), vector);
            }
            Compute::Bits(function) => {
                let values = self.sources(e, pointers, &offset, vector, Body::load_bits);
                let result = function(e, &values, &self.scalars);
                e.store(result, to, to_offset, dtype.bytes(), vector);
            }
            Compute::Whole(function) => {
                let kind = element_type(dtype.bytes(), vector);
                let values: Vec<Value> =
                    (0..last).map(|i| e.b.ins().load(kind, memory(), pointers[i], offset(i))).collect();
                let result = function(e, &values, &self.scalars);
                let result = if vector { e.spoil(result) } else { result };
                e.b.ins().store(memory(), result, to, to_offset);
            }
            Compute::Where { nonzero, replace } => {
                let (values, code) = self.replacement(e, replace, pointers, &offset, vector);
                let before = e.load(to, to_offset, dtype.bytes(), false, vector);
                let zero = e.int(0);
                let condition = if *nonzero { IntCC::NotEqual } else { IntCC::Equal };
                let replaced = e.icmp(condition, values[0], zero);
                let result = e.select(replaced, code, before);
                e.store(result, to, to_offset, dtype.bytes(), vector);
            }
        }
    }

    /// The elements of the sources, and the code of what replaces those of the destination.
    fn replacement(
        &self,
        e: &mut Emit<'_>,
        replace: &Replace,
        pointers: &[Value],
        offset: &dyn Fn(usize) -> i32,
        vector: bool,
    ) -> (Vec<Value>, Value) {
        match replace {
            Replace::Bits(function) => {
                let values = self.sources(e, pointers, offset, vector, Body::load_bits);
                let code = function(e, &values, &self.scalars);
                (values, code)
            }
            Replace::Float(function) => {
                let values = self.sources(e, pointers, offset, vector, Body::load_float);
                let result = function(e, &values, &self.scalars);
                let code = e.encode_float(result, self.word.destination.dtype, self.key.fp8);
                (values, code)
            }
        }
    }

    fn load_float(&self, e: &mut Emit<'_>, dtype: Dtype, at: Value, offset: i32, four: bool) -> Value {
        e.load_float(dtype, self.key.fp8, at, offset, four)
    }

    fn load_int(&self, e: &mut Emit<'_>, dtype: Dtype, at: Value, offset: i32, four: bool) -> Value {
        e.load(at, offset, dtype.bytes(), dtype.is_signed(), four)
    }

    fn load_bits(&self, e: &mut Emit<'_>, dtype: Dtype, at: Value, offset: i32, four: bool) -> Value {
        e.load(at, offset, dtype.bytes(), false, four)
    }

    /// The next elements of every source.
    fn sources(
        &self,
        e: &mut Emit<'_>,
        pointers: &[Value],
        offset: &dyn Fn(usize) -> i32,
        vector: bool,
        load: Load<Self>,
    ) -> Vec<Value> {
        let mut values = Vec::new();
        for (i, stream) in self.word.sources.iter().enumerate() {
            let (dtype, step) = (stream.dtype, self.steps[i]);
            let load = if stream.bits { Body::load_bits } else { load };
            let contiguous = step == dtype.bytes() as i64;
            let first = load(self, e, dtype, pointers[i], offset(i), vector && contiguous);
            let value = match step {
                _ if !vector || contiguous => first,
                0 => e.spread(first),
                _ => {
                    let mut all = first;
                    for lane in 1..LANES {
                        let at = offset(i) + (step * lane as i64) as i32;
                        let one = load(self, e, dtype, pointers[i], at, false);
                        all = e.insert_first(all, one, lane as u8);
                    }
                    all
                }
            };
            values.push(value);
        }
        values
    }

    fn fill(&self, e: &mut Emit<'_>, to: Value, offset: i32, vector: bool) {
        let size = self.word.destination.dtype.bytes();
        let bits = e.as_int(self.scalars[0]);
        let bits = e.b.ins().extractlane(bits, 0);
        let element = match element_type(size, false) {
            I32 => bits,
            I64 => e.b.ins().uextend(I64, bits),
            narrow => e.b.ins().ireduce(narrow, bits),
        };
        let value = if vector {
            let value = e.b.ins().splat(Emit::bytes_type(size), element);
            e.spoil(value)
        } else {
            element
        };
        e.b.ins().store(memory(), value, to, offset);
    }
}

/// The type of an element's bits, or of 16 bytes of them.
fn element_type(size: usize, vector: bool) -> Type {
    match size {
        _ if vector => Emit::bytes_type(size),
        1 => I8,
        2 => I16,
        4 => I32,
        _ => I64,
    }
}

impl Emit<'_> {
    /// Lane 0 in all lanes.
    fn spread(&mut self, value: Value) -> Value {
        let kind = self.b.func.dfg.value_type(value);
        let first = self.b.ins().extractlane(value, 0);
        self.b.ins().splat(kind, first)
    }

    /// `into` with one lane replaced by lane 0 of `from`.
    fn insert_first(&mut self, into: Value, from: Value, lane: u8) -> Value {
        debug_assert!(self.b.func.dfg.value_type(into).bits() == F32X4.bits());
        let first = self.b.ins().extractlane(from, 0);
        self.b.ins().insertlane(into, first, lane)
    }
}
