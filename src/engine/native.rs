//! Operands of native code: what a shape leaves open, packed, and the call.

use seqjit_runtime::interp::{LaneScalar, Walk};
use seqjit_runtime::isa::{Generation, PARTITIONS, Space};
use seqjit_runtime::machine::{Core, Partitions};

use crate::block;
use crate::translate::{Binding, Code, Context, MAX_SCALARS};

/// Tensor operands of a word.
const MAX_TENSORS: usize = block::MAX_SOURCES + 1;
/// Numbers that one word's operands take at most.
pub(super) const MAX_PACKED: usize = MAX_TENSORS + MAX_SCALARS;
/// Set in a packed scalar that lies in PSUM.
const IN_PSUM: u32 = 1 << 31;

/// A place for the scalars that native code reads, one row each.
pub(super) type ScalarRows = [u32; MAX_SCALARS * PARTITIONS];

/// How the operands of a shape's words are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packing {
    tensors: u8,
    scalars: [Option<ScalarKind>; MAX_SCALARS],
    lanes: u8,
}

/// Where a scalar comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ScalarKind {
    /// The word.
    Value,
    /// A cell of so many bytes in each lane.
    Cell(u8),
}

impl Packing {
    /// Of the shape that a word has.
    pub(super) fn of(binding: &Binding) -> Packing {
        let kind = |scalar: &LaneScalar| match scalar {
            LaneScalar::Value(_) => ScalarKind::Value,
            LaneScalar::PerLane(walk) => ScalarKind::Cell(walk.size as u8),
        };
        Packing {
            tensors: binding.sources.iter().flatten().count() as u8 + 1,
            scalars: binding.scalars.each_ref().map(|scalar| scalar.as_ref().map(kind)),
            lanes: binding.lanes as u8,
        }
    }

    /// Numbers of a word.
    pub(super) fn len(&self) -> usize {
        usize::from(self.tensors) + self.scalars.iter().flatten().count()
    }
}

/// The operands of a word as numbers: host offsets of its tensors, sources first, then its scalars.
pub(super) struct Packed {
    numbers: [u32; MAX_PACKED],
    len: usize,
}

impl Packed {
    /// Of the operands of one word.
    pub(super) fn of(binding: &Binding, generation: Generation) -> Packed {
        let mut packed = Packed { numbers: [0; MAX_PACKED], len: 0 };
        let offset = |walk: &Walk| {
            let pitch = Partitions::pitch_of(walk.space, generation);
            (walk.partition * pitch + walk.offset) as u32
        };
        for walk in binding.sources.iter().flatten().chain([&binding.destination]) {
            packed.push(offset(walk));
        }
        for scalar in binding.scalars.iter().flatten() {
            packed.push(match scalar {
                LaneScalar::Value(bits) => *bits,
                LaneScalar::PerLane(cell) if cell.space == Space::Psum => offset(cell) | IN_PSUM,
                LaneScalar::PerLane(cell) => offset(cell),
            });
        }
        packed
    }

    fn push(&mut self, number: u32) {
        self.numbers[self.len] = number;
        self.len += 1;
    }

    /// The numbers.
    pub(super) fn as_slice(&self) -> &[u32] {
        &self.numbers[..self.len]
    }
}

/// Whether the memories of a core have the sizes that packed operands are for. The fields of a machine can be
/// changed at will: code must not run on other memories.
pub(super) fn fits(core: &mut Core, generation: Generation) -> bool {
    let whole = |memory: &mut Partitions, space| {
        memory.host_bytes().len() == PARTITIONS * Partitions::pitch_of(space, generation)
    };
    whole(&mut core.sbuf, Space::Sbuf) && whole(&mut core.psum, Space::Psum)
}

/// Runs the body of a word in native code.
///
/// # Safety
/// `numbers` are the [`Packed`] operands of a word of the code's shape, which has this packing, bound on a machine of the
/// generation for which the core [`fits`].
pub(super) unsafe fn call(
    core: &mut Core,
    generation: Generation,
    code: &Code,
    packing: &Packing,
    numbers: &[u32],
    rows: &mut ScalarRows,
) {
    let mut table = [0; MAX_TENSORS];
    let (tensors, scalars) = numbers.split_at(usize::from(packing.tensors));
    table.iter_mut().zip(tensors).for_each(|(entry, offset)| *entry = u64::from(*offset));
    if !scalars.is_empty() {
        fetch_scalars(core, generation, packing, scalars, rows);
    }
    let context = Context {
        sbuf: core.sbuf.host_bytes().as_mut_ptr(),
        psum: core.psum.host_bytes().as_mut_ptr(),
        scalars: rows.as_ptr(),
    };
    // SAFETY: the operands were bound by the lowering of this code's shape, whose checks keep every element in
    // the active part of its partition, for memories of this size; the rows hold what the shape reads; and the
    // memories are borrowed exclusively for the time of the call.
    unsafe { code.call(&context, &table) };
}

/// What a word of a fused run leaves open, in the order in which its code reads it.
pub(super) fn fused_table(binding: &Binding, generation: Generation) -> Vec<u64> {
    let packed = Packed::of(binding, generation);
    let (tensors, scalars) = packed.as_slice().split_at(binding.sources.iter().flatten().count() + 1);
    let kinds = binding.scalars.iter().flatten();
    let scalars = scalars.iter().zip(kinds).map(|(number, kind)| match kind {
        LaneScalar::Value(bits) => *bits,
        // The memory is in the key.
        LaneScalar::PerLane(_) => number & !IN_PSUM,
    });
    tensors.iter().copied().chain(scalars).map(u64::from).collect()
}

/// Runs the bodies of the words of a fused run.
///
/// # Safety
/// `table` are the [`fused_table`]s of words for which the code is, bound on a machine of the generation for which the core
/// [`fits`]; there may be more behind them.
pub(super) unsafe fn call_fused(core: &mut Core, code: &Code, table: &[u64]) {
    let context = Context {
        sbuf: core.sbuf.host_bytes().as_mut_ptr(),
        psum: core.psum.host_bytes().as_mut_ptr(),
        scalars: std::ptr::null(),
    };
    // SAFETY: as in `call`; the code of runs reads no scalars from rows.
    unsafe { code.call(&context, table) };
}

/// All scalars are fetched before the word writes anything (chapter 04 section 2.5).
fn fetch_scalars(
    core: &mut Core,
    generation: Generation,
    packing: &Packing,
    scalars: &[u32],
    rows: &mut ScalarRows,
) {
    let kinds = packing.scalars.iter().zip(rows.chunks_exact_mut(PARTITIONS));
    let present = kinds.filter_map(|(kind, row)| Some(((*kind)?, row)));
    for ((kind, row), number) in present.zip(scalars) {
        let ScalarKind::Cell(size) = kind else {
            row[0] = *number;
            continue;
        };
        let (memory, space) =
            if number & IN_PSUM == 0 { (&mut core.sbuf, Space::Sbuf) } else { (&mut core.psum, Space::Psum) };
        let cells = &memory.host_bytes()[(number & !IN_PSUM) as usize..];
        let cells = cells.chunks(Partitions::pitch_of(space, generation)).take(packing.lanes.into());
        for (bits, cell) in row.iter_mut().zip(cells) {
            let mut bytes = [0; 4];
            bytes[..usize::from(size)].copy_from_slice(&cell[..usize::from(size)]);
            *bits = u32::from_le_bytes(bytes);
        }
    }
}
