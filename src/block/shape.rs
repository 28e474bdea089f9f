//! Shapes: what of a word decides its native code (design section 4, "share code by shape").

use seqjit_runtime::interp::{Exec, Walk};
use seqjit_runtime::isa::field::Kind;
use seqjit_runtime::isa::{Decoded, Generation, LayoutDef, Space, WORD_BYTES, Word};
use seqjit_runtime::num::Fp8;

use crate::translate::Binding;

/// Sources that a lane-local word may have.
pub const MAX_SOURCES: usize = 2;

/// The key of native code: words with equal keys share it, whichever engine, core, program or session they
/// belong to. Code is made from the key alone, so that nothing masked out can leak into it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ShapeKey {
    /// The word without header flags, EVENTS, start addresses and immediates.
    pub word: Word,
    /// Generation: geometry of the memories, and what some words mean.
    pub generation: Generation,
    /// What the word's bytes leave to the engine that runs it; its lowering says how it is coded.
    pub variant: u8,
    /// FP8_EXP4 flavour of the core.
    pub fp8: Fp8,
    /// Where the sources lie, in the order of the word.
    pub sources: [Option<Place>; MAX_SOURCES],
    /// Where the result goes.
    pub destination: Place,
    /// How each source overlaps the destination.
    pub overlaps: [Overlap; MAX_SOURCES],
}

/// Memory and first partition of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Which memory.
    pub space: Space,
    /// Partition of lane 0.
    pub partition: u8,
}

impl Place {
    /// Of a resolved operand.
    pub fn of(walk: &Walk) -> Place {
        Place { space: walk.space, partition: walk.partition as u8 }
    }
}

/// How a written operand overlaps a read one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Overlap {
    /// They share no byte.
    #[default]
    Disjoint,
    /// Element k of one is element k of the other, and no other element.
    SameWalk,
    /// They share bytes only across lanes: lanes must run in ascending order.
    OtherLanes,
    /// Anything else: elements must be read and written one by one in walk order.
    Other,
}

impl Overlap {
    /// Of a source and the destination of a word with so many lanes.
    pub fn of(source: &Walk, destination: &Walk, lanes: usize) -> Overlap {
        let other_bytes = source.high <= destination.low || destination.high <= source.low;
        let other_partitions = source.partition.abs_diff(destination.partition) >= lanes;
        if source.space != destination.space || other_bytes || other_partitions {
            Overlap::Disjoint
        } else if source.partition != destination.partition {
            Overlap::OtherLanes
        } else if source.may_read_ahead_of(destination) {
            Overlap::SameWalk
        } else {
            Overlap::Other
        }
    }

    /// Whether several elements of a lane may be read before the first is written.
    pub fn may_read_ahead(self) -> bool {
        self != Overlap::Other
    }
}

/// The key of a word with these operands.
pub(crate) fn key_of(x: &Exec<'_>, w: &Decoded, binding: &Binding) -> ShapeKey {
    ShapeKey {
        word: mask(w),
        generation: x.machine.generation,
        variant: binding.variant,
        fp8: x.machine.cores[x.core].spec.fp8,
        sources: sources_of(binding),
        destination: Place::of(&binding.destination),
        overlaps: overlaps_of(binding),
    }
}

/// Where the sources of a word lie.
pub(crate) fn sources_of(binding: &Binding) -> [Option<Place>; MAX_SOURCES] {
    binding.sources.each_ref().map(|source| source.as_ref().map(Place::of))
}

/// How they overlap its destination.
pub(crate) fn overlaps_of(binding: &Binding) -> [Overlap; MAX_SOURCES] {
    binding.sources.each_ref().map(|source| {
        source.as_ref().map_or(Overlap::Disjoint, |s| Overlap::of(s, &binding.destination, binding.lanes))
    })
}

/// The bytes of a word that its shape keeps.
pub fn mask(decoded: &Decoded) -> Word {
    let mut word = decoded.word;
    let def = decoded.operands.layout().def();
    word.0[2..4].fill(0);
    if def.events {
        word.0[4..12].fill(0);
    }
    for (at, len) in masked_fields(def) {
        word.0[at..(at + len).min(WORD_BYTES)].fill(0);
    }
    word
}

/// First byte and length of every start address and immediate.
fn masked_fields(def: &LayoutDef) -> impl Iterator<Item = (usize, usize)> + '_ {
    def.fields.iter().filter_map(|field| match field.kind {
        Kind::Imm | Kind::Ptr | Kind::Addr4 | Kind::Addr8 | Kind::Float | Kind::EventsExt => {
            Some((field.offset, field.size))
        }
        // A pattern starts with its address; steps and counts are part of the shape.
        Kind::Tensor(_) => Some((field.offset, 4)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqjit_runtime::isa::field::Addr4;
    use seqjit_runtime::isa::{Dtype, Tensor, WORD_LEN_CODE, decode, op};

    fn walk(address: u32, step: [i16; 2], num: [u16; 2], lanes: usize) -> Walk {
        let tensor = Tensor { start: Addr4(address), step, num };
        Walk::new(&Generation::Cayman.geometry(), "src", address, &tensor, Dtype::FP32, lanes).unwrap()
    }

    #[test]
    fn overlap_classes() {
        let at = |address| walk(address, [1, 4], [4, 2], 32);
        let pitch = Generation::Cayman.geometry().sbuf_pitch;
        assert_eq!(Overlap::of(&at(0), &at(32), 32), Overlap::Disjoint);
        assert_eq!(Overlap::of(&at(0), &at(0), 32), Overlap::SameWalk);
        assert_eq!(Overlap::of(&at(0), &at(4), 32), Overlap::Other);
        assert_eq!(Overlap::of(&at(0), &at(32 * pitch), 32), Overlap::Disjoint);
        assert_eq!(Overlap::of(&at(0), &at(32 * pitch), 33), Overlap::OtherLanes);
        // Equal, but elements repeat: an accumulation in walk order.
        let repeated = walk(0, [0, 1], [4, 2], 32);
        assert_eq!(Overlap::of(&repeated, &repeated, 32), Overlap::Other);
    }

    #[test]
    fn masking_keeps_patterns_and_operators_only() {
        let mut word = Word::new(op::TENSOR_TENSOR_ARITH_OP);
        word.0.iter_mut().enumerate().skip(1).for_each(|(at, byte)| *byte = at as u8);
        word.0[1] = WORD_LEN_CODE;
        let decoded = decode(&word, Generation::Cayman).unwrap();
        let masked = mask(&decoded);
        let zero = |at: usize| matches!(at, 2..12 | 16..20 | 32..36 | 48..52);
        for at in 2..WORD_BYTES {
            assert_eq!(masked.0[at], if zero(at) { 0 } else { at as u8 }, "byte {at}");
        }
    }
}
