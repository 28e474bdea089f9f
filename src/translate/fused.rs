//! Fused runs: one loop over lanes around the loops of several words.

use cranelift_codegen::ir::types::{I32, I32X4, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use seqjit_runtime::interp::Exec;
use seqjit_runtime::isa::{Decoded, Space};
use seqjit_runtime::machine::Partitions;

use super::compile::{CONTEXT_PSUM, CONTEXT_SBUF};
use super::elementwise::{Elementwise, Lane, repeat};
use super::emit::{Emit, memory};
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
    built.lane(&shape).ok()?;
    let in_kernel = (inline.kernel)(x, w).is_some();
    if in_kernel && !built.is_light() {
        return None;
    }
    let word = FusedWord { shape, cells: Cell::of(&binding.scalars) };
    Some(Member { word, binding, in_kernel })
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
    let lanes = built.iter().zip(words).map(|(built, word)| built.lane(&word.shape));
    let lanes: Vec<Lane<'_>> = lanes.collect::<Result<_, _>>()?;
    let Some((first, word)) = built.first().zip(words.first()) else { return Ok(()) };
    let pitch = |space| Partitions::pitch_of(space, word.shape.generation) as i64;
    let memories = [CONTEXT_SBUF, CONTEXT_PSUM].map(|base| e.b.ins().load(I64, memory(), context, base));
    let steps = [Space::Sbuf, Space::Psum].map(pitch);
    repeat(e, usize::from(first.lanes), &memories, &steps, &mut |e, memories| {
        let bases = Bases { table, memories: [memories[0], memories[1]] };
        let mut at = 0;
        for ((word, built), lane) in words.iter().zip(&built).zip(&lanes) {
            e.defect = defect == Some(word.shape.word.opcode());
            let pointers: Vec<Value> =
                lane.spaces.iter().map(|space| bases.operand(e, &mut at, *space)).collect();
            let cells = word.cells.iter().take(built.scalars.len());
            let scalars = cells.map(|cell| bases.scalar(e, &mut at, *cell)).collect();
            lane.emit(e, &pointers, scalars);
        }
    });
    Ok(())
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
