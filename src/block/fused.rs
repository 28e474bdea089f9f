//! Fused runs: lane-local words of which each lane goes through all before the next lane does, so that its rows stay in
//! the first cache (design section 4, "partition-major runs").

use seqjit_runtime::interp::{LaneScalar, Walk};
use seqjit_runtime::isa::Space;

use super::{MAX_SOURCES, ShapeKey};
use crate::translate::{Binding, MAX_SCALARS};

/// Words of the longest run.
pub const MAX_FUSED: usize = 8;

/// What the code of a run is made for, of each of its words. Nothing else is in its key: whether lanes may go outermost depends
/// on the addresses, but the code is the same for all addresses for which they may.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FusedWord {
    /// The word's shape.
    pub shape: ShapeKey,
    /// Its scalars that lie in memory, one cell a lane. The code of a word alone finds them in a table, that of a run where
    /// they lie, since a word of the run may have written them.
    pub cells: [Option<Cell>; MAX_SCALARS],
    /// Which row of the run each of its tensors is, sources first, where all words of the run can go element by element:
    /// all have rows of the same length, and two rows are the same or share nothing in a lane.
    pub rows: Option<[u8; MAX_SOURCES + 1]>,
}

/// Where a scalar of each lane lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cell {
    /// Which memory.
    pub space: Space,
    /// Bytes: 1, 2 or 4.
    pub size: u8,
}

impl Cell {
    /// Of the scalars of a word.
    pub fn of(scalars: &[Option<LaneScalar>; MAX_SCALARS]) -> [Option<Cell>; MAX_SCALARS] {
        scalars.each_ref().map(|scalar| match scalar {
            Some(LaneScalar::PerLane(walk)) => Some(Cell { space: walk.space, size: walk.size as u8 }),
            _ => None,
        })
    }
}

/// A word that may stand in a run, as far as it alone is concerned.
pub struct Member {
    /// What its code is made for.
    pub word: FusedWord,
    /// Its operands.
    pub binding: Binding,
    /// Alone it runs in a kernel, which is faster than its generated code unless its rows are in the first cache.
    pub in_kernel: bool,
    /// It computes with FP32 from contiguous rows to a contiguous row.
    pub in_rows: bool,
}

/// The longest run that some words, in the order of the stream, begin with; it may have one word or none.
pub fn longest(words: impl Iterator<Item = Member>) -> Vec<Member> {
    let mut run: Vec<Member> = Vec::new();
    for next in words.take(MAX_FUSED) {
        let lanes = next.binding.lanes;
        let same_lanes = run.first().is_none_or(|first| first.binding.lanes == lanes);
        if !same_lanes || !scalars_come_first(&next.binding) || !may_follow(&run, &next) {
            break;
        }
        run.push(next);
    }
    if let Some(rows) = rows_of(&run) {
        run.iter_mut().zip(rows).for_each(|(member, rows)| member.word.rows = Some(rows));
    }
    run
}

/// See [`FusedWord::rows`].
fn rows_of(run: &[Member]) -> Option<Vec<[u8; MAX_SOURCES + 1]>> {
    let mut known: Vec<&Walk> = Vec::new();
    let mut number = |walk| {
        let same = known.iter().position(|row| *row == walk);
        // Lanes of different partitions meet in other lanes only, which run before or behind.
        let apart = known.iter().all(|row| row.is_apart_from(walk, 1) && row.count == walk.count);
        if same.is_none() && apart {
            known.push(walk);
            return Some(known.len() as u8 - 1);
        }
        same.map(|same| same as u8)
    };
    let mut all = Vec::new();
    for member in run {
        let Binding { sources, destination, .. } = &member.binding;
        let mut rows = [0; MAX_SOURCES + 1];
        for (row, walk) in rows.iter_mut().zip(sources.iter().flatten().chain([destination])) {
            *row = number(walk)?;
        }
        all.push(rows);
    }
    let mut cells = run.iter().flat_map(|member| cells(&member.binding));
    let fits = run.iter().all(|member| member.in_rows)
        && cells.all(|cell| known.iter().all(|row| row.is_apart_from(cell, 1)));
    fits.then_some(all)
}

fn may_follow(run: &[Member], next: &Member) -> bool {
    let legal = run.iter().all(|earlier| in_order(&earlier.binding, &next.binding));
    let pays = run.is_empty() || !next.in_kernel && !run[0].in_kernel || shares_rows(run, &next.binding);
    legal && pays
}

/// Whether a word touches rows that words of the run have touched.
fn shares_rows(run: &[Member], next: &Binding) -> bool {
    let mut touched = run.iter().flat_map(|m| reads(&m.binding).chain([&m.binding.destination]));
    touched.any(|walk| reads(next).chain([&next.destination]).any(|own| !own.is_apart_from(walk, next.lanes)))
}

/// Whether the scalars of a word, which are fetched before it writes anything (chapter 04 section 2.5), may be fetched lane by lane.
fn scalars_come_first(word: &Binding) -> bool {
    cells(word).all(|cell| keeps_order(cell, &word.destination, word.lanes))
}

/// Whether two words of a stream give the same with lanes outermost: of what they touch, only the order of reads does not matter.
fn in_order(earlier: &Binding, later: &Binding) -> bool {
    let lanes = earlier.lanes;
    reads(later).all(|read| keeps_order(&earlier.destination, read, lanes))
        && reads(earlier).all(|read| keeps_order(read, &later.destination, lanes))
        && keeps_order(&earlier.destination, &later.destination, lanes)
}

/// Whether each byte that both operands touch is touched by the earlier one first. Lane `a` of the earlier one and lane `b` of the
/// later one meet where `a - b` is how many partitions the later one starts further up; a lane with a smaller number runs
/// first, and in a lane words run in order.
fn keeps_order(earlier: &Walk, later: &Walk, lanes: usize) -> bool {
    earlier.is_apart_from(later, lanes) || later.partition <= earlier.partition
}

fn reads(word: &Binding) -> impl Iterator<Item = &Walk> {
    word.sources.iter().flatten().chain(cells(word))
}

fn cells(word: &Binding) -> impl Iterator<Item = &Walk> {
    word.scalars.iter().flatten().filter_map(|scalar| match scalar {
        LaneScalar::PerLane(walk) => Some(walk),
        LaneScalar::Value(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqjit_runtime::isa::field::Addr4;
    use seqjit_runtime::isa::{Dtype, Generation, Tensor};

    const LANES: usize = 32;

    /// 8 floats from a byte of a partition on.
    fn row(partition: u32, offset: u32) -> Walk {
        let address = partition * Generation::Cayman.geometry().sbuf_pitch + offset;
        let tensor = Tensor { start: Addr4(address), step: [1], num: [8] };
        Walk::new(&Generation::Cayman.geometry(), "src", address, &tensor, Dtype::FP32, LANES).unwrap()
    }

    fn word(source: Walk, destination: Walk) -> Binding {
        Binding { sources: [Some(source), None], destination, scalars: [None; 2], lanes: LANES, variant: 0 }
    }

    #[test]
    fn rows_of_the_same_partitions_stay_in_order() {
        let (a, b, c) = (row(0, 0), row(0, 64), row(0, 128));
        assert!(in_order(&word(a, b), &word(b, c)));
        assert!(in_order(&word(a, b), &word(c, a)));
        assert!(in_order(&word(a, b), &word(c, b)));
    }

    #[test]
    fn a_row_of_partitions_above_is_written_too_early_or_too_late() {
        let (a, b, up) = (row(0, 0), row(0, 64), row(1, 64));
        // Lane 0 of the second word would read what lane 1 of the first has not written yet.
        assert!(!in_order(&word(a, b), &word(up, a)));
        // Lane 0 of the second word would write what lane 1 of the first still reads.
        assert!(!in_order(&word(b, a), &word(a, up)));
        assert!(!in_order(&word(a, b), &word(a, up)));
        // The other way round, lanes with smaller numbers come first anyway.
        assert!(in_order(&word(a, up), &word(b, a)));
        assert!(in_order(&word(a, up), &word(a, b)));
        // Beyond the last lane, and beside each other, nothing meets.
        assert!(in_order(&word(a, b), &word(row(LANES as u32, 64), a)));
        assert!(in_order(&word(a, b), &word(row(1, 96), a)));
    }

    #[test]
    fn reads_need_no_order() {
        let (a, up) = (row(0, 0), row(1, 0));
        assert!(in_order(&word(a, row(0, 64)), &word(up, row(0, 128))));
    }

    #[test]
    fn scalars_are_fetched_before_their_own_word_writes() {
        let with_scalar = |cell, destination| Binding {
            scalars: [Some(LaneScalar::PerLane(cell)), None],
            ..word(row(0, 256), destination)
        };
        assert!(scalars_come_first(&with_scalar(row(0, 0), row(0, 0))));
        // Lane 0 would write the scalar of lane 1 before it is fetched.
        assert!(!scalars_come_first(&with_scalar(row(0, 0), row(1, 0))));
        assert!(scalars_come_first(&with_scalar(row(1, 0), row(0, 0))));
        // A scalar that an earlier word writes is a source like others.
        assert!(in_order(&word(row(0, 0), row(0, 64)), &with_scalar(row(0, 64), row(0, 128))));
        assert!(!in_order(&word(row(0, 0), row(0, 64)), &with_scalar(row(1, 64), row(0, 128))));
    }
}
