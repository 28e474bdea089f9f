//! Who touched which bytes last.

use std::collections::BTreeMap;
use std::ops::Range;

use super::clock::{Clock, Lane};
use crate::isa::EngineId;

/// An access, as memory remembers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag {
    /// Position in its lane.
    pub(super) at: u64,
    /// The word, or the one that started the transfer.
    pub(super) slot: u32,
    pub(super) engine: EngineId,
    pub(super) lane: Lane,
    /// A product of the PE.
    pub(super) product: bool,
}

/// Two accesses to the same bytes, at least one of them a write, of which neither is known to be finished when the other
/// begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Conflict {
    pub(super) earlier: Tag,
    pub(super) earlier_writes: bool,
    pub(super) later_writes: bool,
    pub(super) rows: Range<usize>,
    pub(super) bytes: Range<usize>,
}

impl Conflict {
    fn is_of_pair(&self, other: &Conflict) -> bool {
        (self.earlier, self.earlier_writes, self.later_writes)
            == (other.earlier, other.earlier_writes, other.later_writes)
    }

    /// Takes the bytes or rows that follow.
    fn absorb(&mut self, next: &Conflict) {
        if self.rows == next.rows && self.bytes.end == next.bytes.start {
            self.bytes.end = next.bytes.end;
        } else if self.bytes == next.bytes && self.rows.end == next.rows.start {
            self.rows.end = next.rows.end;
        }
    }
}

/// Adds a conflict to those of one access. Of each pair the first bytes are kept, with what follows on them.
fn add(found: &mut Vec<Conflict>, conflict: Conflict) {
    match found.iter_mut().find(|one| one.is_of_pair(&conflict)) {
        Some(one) => one.absorb(&conflict),
        None => found.push(conflict),
    }
}

/// The same bytes of some rows: partitions, or row 0 of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Area {
    pub(super) rows: Range<usize>,
    /// Ascending, apart from each other.
    pub(super) runs: Vec<Range<usize>>,
}

/// Runs of bytes, as (row, offset, length) in any order, as areas.
pub(super) fn areas(mut runs: Vec<(usize, usize, usize)>) -> Vec<Area> {
    runs.sort_unstable();
    let mut areas: Vec<Area> = Vec::new();
    for rest in runs.chunk_by(|a, b| a.0 == b.0) {
        let row = rest[0].0;
        let mut merged: Vec<Range<usize>> = Vec::new();
        for (_, start, len) in rest {
            let end = start + len;
            match merged.last_mut() {
                Some(last) if *start <= last.end => last.end = last.end.max(end),
                _ => merged.push(*start..end),
            }
        }
        match areas.last_mut() {
            Some(last) if last.rows.end == row && last.runs == merged => last.rows.end += 1,
            _ => areas.push(Area { rows: row..row + 1, runs: merged }),
        }
    }
    areas
}

/// The accesses to one memory. Rows that have been treated alike are one band, so that a word on all partitions costs as
/// much as one on a single partition.
#[derive(Clone, Debug)]
pub(super) struct Shadow {
    bands: Vec<Band>,
}

#[derive(Clone, Debug)]
struct Band {
    rows: Range<usize>,
    segments: Segments,
}

/// One access, to be held against those before it.
pub(super) struct Access<'a> {
    pub(super) tag: Tag,
    pub(super) writes: bool,
    /// What was known to be finished when it was issued.
    pub(super) issued: &'a Clock,
    /// Whether another access is of the same word.
    pub(super) is_own: &'a dyn Fn(&Tag) -> bool,
}

impl Access<'_> {
    fn is_behind(&self, earlier: &Tag) -> bool {
        self.issued.covers(earlier.lane, earlier.at) || (self.is_own)(earlier)
    }
}

impl Shadow {
    pub(super) fn new(rows: usize) -> Self {
        Shadow { bands: vec![Band { rows: 0..rows, segments: Segments::default() }] }
    }

    /// Records an access; adds the conflicts that it has.
    pub(super) fn access(&mut self, area: &Area, access: &Access<'_>, found: &mut Vec<Conflict>) {
        let first = self.split(area.rows.start);
        let last = self.split(area.rows.end);
        for band in &mut self.bands[first..last] {
            let mut conflicts = Vec::new();
            for run in &area.runs {
                band.segments.access(run, access, |earlier, earlier_writes, bytes| {
                    let (rows, later_writes) = (band.rows.clone(), access.writes);
                    add(&mut conflicts, Conflict { earlier, earlier_writes, later_writes, rows, bytes });
                });
            }
            conflicts.into_iter().for_each(|conflict| add(found, conflict));
        }
    }

    /// Makes a band start at a row; its position.
    fn split(&mut self, row: usize) -> usize {
        let at = self.bands.partition_point(|band| band.rows.end <= row);
        match self.bands.get_mut(at) {
            Some(band) if band.rows.start < row => {
                let mut upper = band.clone();
                (band.rows.end, upper.rows.start) = (row, row);
                self.bands.insert(at + 1, upper);
                at + 1
            }
            _ => at,
        }
    }
}

/// Bytes of one row by their first one, apart from each other. Bytes that nobody has touched lie in none.
#[derive(Clone, Debug, Default)]
struct Segments(BTreeMap<usize, Segment>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Segment {
    end: usize,
    /// The last write.
    write: Option<Tag>,
    /// The reads since, but for those that are known to whoever knows of the others.
    reads: Vec<Tag>,
}

impl Segments {
    fn access(
        &mut self,
        run: &Range<usize>,
        access: &Access<'_>,
        mut conflict: impl FnMut(Tag, bool, Range<usize>),
    ) {
        self.split(run.start);
        self.split(run.end);
        let mut free = run.start;
        let mut gaps = Vec::new();
        for (start, segment) in self.0.range_mut(run.clone()) {
            if free < *start {
                gaps.push(free..*start);
            }
            free = segment.end;
            if let Some(write) = segment.write.filter(|write| !access.is_behind(write)) {
                conflict(write, true, *start..segment.end);
            }
            if access.writes {
                for read in segment.reads.iter().filter(|read| !access.is_behind(read)) {
                    conflict(*read, false, *start..segment.end);
                }
            } else {
                segment.reads.retain(|read| read.lane != access.tag.lane && !access.is_behind(read));
                segment.reads.push(access.tag);
            }
        }
        if access.writes {
            let covered: Vec<usize> = self.0.range(run.clone()).map(|(start, _)| *start).collect();
            covered.iter().for_each(|start| drop(self.0.remove(start)));
            self.0.insert(run.start, Segment { end: run.end, write: Some(access.tag), reads: Vec::new() });
            return;
        }
        if free < run.end {
            gaps.push(free..run.end);
        }
        for gap in gaps {
            self.0.insert(gap.start, Segment { end: gap.end, write: None, reads: vec![access.tag] });
        }
        self.unite(run);
    }

    /// Makes a segment end at a byte.
    fn split(&mut self, byte: usize) {
        let Some((_, segment)) = self.0.range_mut(..byte).next_back() else { return };
        if segment.end > byte {
            let upper = segment.clone();
            segment.end = byte;
            self.0.insert(byte, upper);
        }
    }

    /// Unites neighbours that are alike, so that reading in pieces leaves none behind.
    fn unite(&mut self, run: &Range<usize>) {
        let starts: Vec<usize> = self.0.range(run.clone()).map(|(start, _)| *start).collect();
        for start in starts {
            let Some((before, left)) = self.0.range(..start).next_back() else { continue };
            let Some(right) = self.0.get(&start) else { continue };
            if left.end == start && (left.write, &left.reads) == (right.write, &right.reads) {
                let (before, end) = (*before, right.end);
                self.0.remove(&start);
                if let Some(left) = self.0.get_mut(&before) {
                    left.end = end;
                }
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "areas of one run are meant")]
mod tests {
    use super::super::clock::{Lanes, Part};
    use super::*;

    fn tag(engine: EngineId, at: u64) -> Tag {
        let lane = Lanes::new([0].into_iter()).engine(0, engine, Part::Writes);
        Tag { at, slot: at as u32, engine, lane, product: false }
    }

    fn area(rows: Range<usize>, runs: &[Range<usize>]) -> Area {
        Area { rows, runs: runs.to_vec() }
    }

    fn conflicts(shadow: &mut Shadow, area: &Area, tag: Tag, writes: bool, issued: &Clock) -> Vec<Conflict> {
        let mut found = Vec::new();
        shadow.access(area, &Access { tag, writes, issued, is_own: &|_| false }, &mut found);
        found
    }

    #[test]
    fn runs_become_areas() {
        let mut runs: Vec<_> = (0..4).flat_map(|row| [(row, 8, 4), (row, 0, 8), (row, 20, 2)]).collect();
        runs.push((5, 0, 1));
        assert_eq!(areas(runs), [area(0..4, &[0..12, 20..22]), area(5..6, &[0..1])]);
    }

    #[test]
    fn overlaps_are_reported_once_with_their_bytes_and_rows() {
        let mut shadow = Shadow::new(128);
        let (pe, act) = (tag(EngineId::Pe, 1), tag(EngineId::Act, 1));
        let nothing = Clock::default();
        assert!(conflicts(&mut shadow, &area(0..64, &[0..100]), pe, true, &nothing).is_empty());
        assert!(conflicts(&mut shadow, &area(64..128, &[0..100]), pe, true, &nothing).is_empty());
        let found = conflicts(&mut shadow, &area(32..96, &[50..150]), act, false, &nothing);
        let expected =
            Conflict { earlier: pe, earlier_writes: true, later_writes: false, rows: 32..96, bytes: 50..100 };
        assert_eq!(found, [expected]);
        // Reads do not conflict with reads, but with what is written next.
        let dve = tag(EngineId::Dve, 1);
        let mut known = Clock::default();
        known.set(pe.lane, 1);
        assert!(conflicts(&mut shadow, &area(0..128, &[0..200]), dve, false, &known).is_empty());
        known.set(dve.lane, 1);
        let found = conflicts(&mut shadow, &area(0..128, &[0..200]), tag(EngineId::Pool, 1), true, &known);
        let found: Vec<_> =
            found.into_iter().map(|c| (c.earlier, c.earlier_writes, c.rows, c.bytes)).collect();
        assert_eq!(found, [(act, false, 32..96, 50..150)]);
    }

    #[test]
    fn memory_stays_small() {
        let mut shadow = Shadow::new(1);
        let reader = tag(EngineId::Act, 1);
        for start in 0..1000 {
            let run = area(0..1, &[4 * start..4 * start + 4]);
            conflicts(&mut shadow, &run, reader, false, &Clock::default());
        }
        assert_eq!(shadow.bands[0].segments.0.len(), 1);
        conflicts(&mut shadow, &area(0..1, &[0..4000]), tag(EngineId::Pe, 1), true, &Clock::default());
        assert_eq!((shadow.bands.len(), shadow.bands[0].segments.0.len()), (1, 1));
    }
}
