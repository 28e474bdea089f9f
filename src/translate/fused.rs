//! Fused runs: one loop over lanes around the loops of several words.

use cranelift_codegen::ir::types::{I32, I32X4, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use seqjit_runtime::interp::Exec;
use seqjit_runtime::isa::{Decoded, Dtype, Space};
use seqjit_runtime::machine::Partitions;
use seqjit_runtime::num::Fp8;

use super::compile::{CONTEXT_PSUM, CONTEXT_SBUF};
use super::elementwise::{Elementwise, Function, Lane, in_vectors, repeat};
use super::emit::{Emit, LANES, memory};
use super::{Lowering, Refusal, build, reads_registers, table};
use crate::block::{Cell, FusedWord, Member, key_of};

/// A word as a member of a run, where it can be compiled and its operands are always the same.
pub fn member(x: &Exec<'_>, w: &Decoded) -> Option<Member> {
    let Some(Lowering::Inline(inline)) = table(w.info.byte) else { return None };
    if reads_registers(w) {
        return None;
    }
    let binding = (inline.bind)(x, w).ok()?;
    let shape = key_of(x, w, &binding);
    let built = build(&shape).ok()?;
    let in_rows = built.lane(&shape).ok()?.float_rows().is_some();
    let in_kernel = (inline.kernel)(x, w).is_some();
    if in_kernel && !built.is_light() {
        return None;
    }
    let word = FusedWord { shape, cells: Cell::of(&binding.scalars), rows: None };
    Some(Member { word, binding, in_kernel, in_rows })
}

/// Where lane by lane the operands are found.
struct Bases {
    table: Value,
    /// Address of the lane's partition, if the operand started in partition 0, by memory.
    memories: [Value; 2],
}

/// Emits the whole function: parameters are a [`Context`](super::Context) and a table of what the words leave open: for each word
/// the offsets of its tensors, sources first, then of each scalar its offset or its value. Code of the opcode `defect` is made wrong.
///
/// # Errors
/// Where a word has no generated code.
pub fn emit(
    words: &[FusedWord],
    e: &mut Emit<'_>,
    context: Value,
    table: Value,
    defect: Option<u8>,
) -> Result<(), Refusal> {
    let built: Vec<Elementwise> = words.iter().map(|word| build(&word.shape)).collect::<Result<_, _>>()?;
    let steps = words.iter().zip(&built).map(|(word, built)| {
        Ok(Step {
            word,
            built,
            lane: built.lane(&word.shape)?,
            spoilt: defect == Some(word.shape.word.opcode()),
        })
    });
    let steps: Vec<Step<'_>> = steps.collect::<Result<_, Refusal>>()?;
    let Some(first) = steps.first() else { return Ok(()) };
    let generation = first.word.shape.generation;
    let pitches = [Space::Sbuf, Space::Psum].map(|space| Partitions::pitch_of(space, generation) as i64);
    let memories = [CONTEXT_SBUF, CONTEXT_PSUM].map(|base| e.b.ins().load(I64, memory(), context, base));
    let rows: Option<Vec<Row<'_>>> = steps.iter().map(Row::of).collect();
    let count = first.lane.float_rows();
    repeat(e, usize::from(first.built.lanes), &memories, &pitches, &mut |e, memories| {
        let bases = Bases { table, memories: [memories[0], memories[1]] };
        match (&rows, count) {
            (Some(rows), Some(count)) => emit_rows(rows, e, count, &bases),
            _ => emit_words(&steps, e, &bases),
        }
    });
    Ok(())
}

/// One word of a run.
struct Step<'r> {
    word: &'r FusedWord,
    built: &'r Elementwise,
    lane: Lane<'r>,
    spoilt: bool,
}

/// The words of one lane, one after the other.
fn emit_words(steps: &[Step<'_>], e: &mut Emit<'_>, bases: &Bases) {
    let mut at = 0;
    for step in steps {
        e.defect = step.spoilt;
        let spaces = step.lane.spaces.iter();
        let pointers: Vec<Value> = spaces.map(|space| bases.operand(e, &mut at, *space)).collect();
        let scalars = bases.scalars(e, &mut at, step);
        step.lane.emit(e, &pointers, scalars);
    }
}

/// A word of a run whose words go element by element.
struct Row<'r> {
    step: &'r Step<'r>,
    function: &'r Function,
    sources: &'r [u8],
    destination: u8,
}

impl<'r> Row<'r> {
    fn of(step: &'r Step<'r>) -> Option<Row<'r>> {
        let rows = &step.word.rows.as_ref()?[..step.lane.spaces.len()];
        let (destination, sources) = rows.split_last()?;
        Some(Row { step, function: step.built.function()?, sources, destination: *destination })
    }
}

/// The words of one lane element by element: what one word writes and the next one reads stays in registers, and what is written
/// over is not written at all. NaN is made canonical at the end only: operators do not look at its payload.
fn emit_rows(rows: &[Row<'_>], e: &mut Emit<'_>, count: usize, bases: &Bases) {
    let mut at = 0;
    let (mut pointers, mut scalars) = (Vec::new(), Vec::new());
    for row in rows {
        for (number, space) in row.sources.iter().chain([&row.destination]).zip(&row.step.lane.spaces) {
            if usize::from(*number) < pointers.len() {
                at += 1;
            } else {
                pointers.push(bases.operand(e, &mut at, *space));
            }
        }
        scalars.push(bases.scalars(e, &mut at, row.step));
    }
    let fp8 = Fp8::default();
    let steps = vec![4; pointers.len()];
    in_vectors(e, (count, LANES), &pointers, &steps, &mut |e, pointers, done, vector| {
        let offset = 4 * done as i32;
        let mut values: Vec<Option<Value>> = vec![None; pointers.len()];
        let mut written = vec![false; pointers.len()];
        for (row, scalars) in rows.iter().zip(&scalars) {
            let mut source = |number: &u8| {
                let number = usize::from(*number);
                let load = || e.load_float(Dtype::FP32, fp8, pointers[number], offset, vector);
                *values[number].get_or_insert_with(load)
            };
            let sources: Vec<Value> = row.sources.iter().map(&mut source).collect();
            let result = (row.function)(e, &sources, scalars);
            e.defect = row.step.spoilt && vector;
            let result = e.spoil(result);
            e.defect = false;
            let destination = usize::from(row.destination);
            (values[destination], written[destination]) = (Some(result), true);
        }
        for ((value, pointer), _) in
            values.iter().zip(pointers).zip(&written).filter(|(_, written)| **written)
        {
            if let Some(value) = value {
                e.store_float(*value, Dtype::FP32, fp8, *pointer, offset, vector);
            }
        }
    });
}

impl Bases {
    /// Host address of an operand's element 0 in this lane; `at` is its place in the table.
    fn operand(&self, e: &mut Emit<'_>, at: &mut i32, space: Space) -> Value {
        let base = match space {
            Space::Sbuf => self.memories[0],
            Space::Psum => self.memories[1],
        };
        let offset = e.b.ins().load(I64, memory(), self.table, 8 * *at);
        *at += 1;
        e.b.ins().iadd(base, offset)
    }

    /// The scalars of a word in this lane.
    fn scalars(&self, e: &mut Emit<'_>, at: &mut i32, step: &Step<'_>) -> Vec<Value> {
        let cells = step.word.cells.iter().take(step.built.scalars.len());
        cells.map(|cell| self.scalar(e, at, *cell)).collect()
    }

    /// A scalar in four lanes.
    fn scalar(&self, e: &mut Emit<'_>, at: &mut i32, cell: Option<Cell>) -> Value {
        let bits = match cell {
            Some(cell) => {
                let address = self.operand(e, at, cell.space);
                match cell.size {
                    1 => e.b.ins().uload8(I32, memory(), address, 0),
                    2 => e.b.ins().uload16(I32, memory(), address, 0),
                    _ => e.b.ins().load(I32, memory(), address, 0),
                }
            }
            None => {
                let bits = e.b.ins().load(I32, memory(), self.table, 8 * *at);
                *at += 1;
                bits
            }
        };
        let bits = e.b.ins().splat(I32X4, bits);
        e.as_float(bits)
    }
}
