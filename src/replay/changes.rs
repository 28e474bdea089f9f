//! Sequences of semaphore and event changes, with the losses that a recording admits.

use crate::trace::SyncRecord;

/// A change of a semaphore or event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// A semaphore, else an event.
    pub semaphore: bool,
    /// Which one.
    pub index: u8,
    /// The action field of its record (chapter 02 section 10.1).
    pub action: u8,
    /// Value after.
    pub value: u32,
}

impl From<&SyncRecord> for Change {
    fn from(record: &SyncRecord) -> Change {
        let SyncRecord { semaphore, index, action, value, .. } = *record;
        Change { semaphore, index, action, value }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = if self.semaphore { 'S' } else { 'E' };
        write!(f, "{name}[{}] := {} (action 0x{:02x})", self.index, self.value, self.action)
    }
}

/// Picoseconds between the end of a sequence and an overflow that explains why it does not go on: three times
/// the longest time from an overflow to a change whose record is missing in the recorded run. Ours [L].
const NEAR: u64 = 1_000_000;

/// Where two sequences part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parting {
    /// Position in the replayed sequence.
    pub position: usize,
    pub recorded: Option<Change>,
    pub replayed: Option<Change>,
}

/// Lays a recorded sequence of one source over the replayed one and counts the changes whose records are
/// missing.
///
/// Records may only be missing where the device says that it lost some: a record of the core carries an
/// overflow bit, and its time lies between those of the neighbours of the hole, or near the one neighbour of a
/// hole at an end. `overflows` are the times of such records, ascending.
pub(super) fn align(
    recorded: &[SyncRecord],
    replayed: &[Change],
    overflows: &[u64],
) -> Result<usize, Parting> {
    let holes = holes(recorded, overflows);
    let mut at = 0;
    let mut start = 0;
    for end in 1..=recorded.len() {
        if end < recorded.len() && !holes[end] {
            continue;
        }
        let run = &recorded[start..end];
        let is_last = end == recorded.len();
        at = match (holes[start], is_last && !holes[end]) {
            (_, true) => place(run, replayed, at, replayed.len().checked_sub(run.len()), holes[start])?,
            (false, false) => place(run, replayed, at, Some(at), false)?,
            (true, false) => find(run, replayed, at)?,
        } + run.len();
        start = end;
    }
    let tail_may_be_lost = holes[recorded.len()];
    match replayed.get(at) {
        Some(extra) if !tail_may_be_lost => {
            Err(Parting { position: at, recorded: None, replayed: Some(*extra) })
        }
        _ => Ok(replayed.len() - recorded.len()),
    }
}

/// For each position of a sequence and for its end: whether records may be missing in front of it.
fn holes(recorded: &[SyncRecord], overflows: &[u64]) -> Vec<bool> {
    let admits = |from: u64, to: u64| {
        let next = overflows.partition_point(|time| *time < from);
        overflows.get(next).is_some_and(|time| *time <= to)
    };
    let (Some(first), Some(last)) = (recorded.first(), recorded.last()) else { return vec![false] };
    let mut holes = vec![admits(first.time.saturating_sub(NEAR), first.time)];
    holes.extend(recorded.windows(2).map(|pair| admits(pair[0].time, pair[1].time)));
    holes.push(admits(last.time, last.time.saturating_add(NEAR)));
    holes
}

fn matches(run: &[SyncRecord], replayed: &[Change], at: usize) -> bool {
    let there = replayed.get(at..).and_then(|rest| rest.get(..run.len()));
    there.is_some_and(|there| run.iter().map(Change::from).eq(there.iter().copied()))
}

/// A run that must lie at `wanted`, not before `at`, or behind a hole anywhere from `at` on.
fn place(
    run: &[SyncRecord],
    replayed: &[Change],
    at: usize,
    wanted: Option<usize>,
    may_move: bool,
) -> Result<usize, Parting> {
    match wanted.filter(|w| *w == at || (may_move && *w > at)) {
        Some(wanted) if matches(run, replayed, wanted) => Ok(wanted),
        Some(wanted) if may_move => Err(parting(run, replayed, wanted)),
        _ => Err(parting(run, replayed, at)),
    }
}

/// The first place from `at` on where a run lies. Taking the first leaves the most for later runs.
fn find(run: &[SyncRecord], replayed: &[Change], at: usize) -> Result<usize, Parting> {
    let mut places = at..=replayed.len().saturating_sub(run.len());
    places.find(|place| matches(run, replayed, *place)).ok_or_else(|| parting(run, replayed, at))
}

/// The first difference of a run laid at `at`; behind its end, what follows is one.
fn parting(run: &[SyncRecord], replayed: &[Change], at: usize) -> Parting {
    let same = run.iter().zip(replayed.get(at..).unwrap_or(&[]));
    let same = same.take_while(|(r, c)| Change::from(*r) == **c).count();
    let position = at + same;
    Parting { position, recorded: run.get(same).map(Change::from), replayed: replayed.get(position).copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(value: u32) -> Change {
        Change { semaphore: true, index: 2, action: 0xF3, value }
    }

    /// Records at times 10, 20, ...
    fn recorded(values: &[u32]) -> Vec<SyncRecord> {
        let record = |(i, value): (usize, &u32)| SyncRecord {
            engine: None,
            semaphore: true,
            index: 2,
            action: 0xF3,
            value: *value,
            time: 10 * (i as u64 + 1),
            overflow: false,
        };
        values.iter().enumerate().map(record).collect()
    }

    fn aligned(theirs: &[u32], ours: &[u32], overflows: &[u64]) -> Result<usize, Parting> {
        let ours: Vec<Change> = ours.iter().copied().map(change).collect();
        align(&recorded(theirs), &ours, overflows)
    }

    fn parts(position: usize, recorded: Option<u32>, replayed: Option<u32>) -> Result<usize, Parting> {
        Err(Parting { position, recorded: recorded.map(change), replayed: replayed.map(change) })
    }

    #[test]
    fn complete_recordings_must_be_equal() {
        assert_eq!(aligned(&[1, 2, 3], &[1, 2, 3], &[]), Ok(0));
        assert_eq!(aligned(&[], &[], &[]), Ok(0));
        assert_eq!(aligned(&[1, 3], &[1, 2, 3], &[]), parts(1, Some(3), Some(2)));
        assert_eq!(aligned(&[1, 2], &[1, 2, 3], &[]), parts(2, None, Some(3)));
        assert_eq!(aligned(&[1, 2, 3], &[1, 2], &[]), parts(2, Some(3), None));
        assert_eq!(aligned(&[], &[1], &[]), parts(0, None, Some(1)));
        assert_eq!(aligned(&[1], &[], &[]), parts(0, Some(1), None));
        assert_eq!(aligned(&[2, 1], &[1, 2], &[]), parts(0, Some(2), Some(1)));
    }

    #[test]
    fn records_are_missing_only_at_an_overflow() {
        // Between the records at 10 and 20.
        assert_eq!(aligned(&[1, 3], &[1, 2, 3], &[15]), Ok(1));
        assert_eq!(aligned(&[1, 3], &[1, 2, 3], &[10]), Ok(1));
        assert_eq!(aligned(&[1, 3], &[1, 2, 3], &[20]), Ok(1));
        assert_eq!(aligned(&[1, 3], &[1, 2, 2, 2, 3], &[15]), Ok(3));
        // Elsewhere.
        assert!(aligned(&[1, 3], &[1, 2, 3], &[9]).is_err());
        assert!(aligned(&[1, 3], &[1, 2, 3], &[21]).is_err());
        // In front and behind, but not far away.
        assert_eq!(aligned(&[1, 3], &[0, 1, 3], &[5]), Ok(1));
        assert_eq!(aligned(&[1, 3], &[1, 3, 4], &[25]), Ok(1));
        assert_eq!(aligned(&[1, 3], &[1, 3, 4], &[20 + NEAR]), Ok(1));
        assert_eq!(aligned(&[1, 3], &[1, 3, 4], &[21 + NEAR]), parts(2, None, Some(4)));
        assert_eq!(aligned(&[], &[1], &[25]), parts(0, None, Some(1)));
        // A record is never ours to lose.
        assert!(aligned(&[1, 2, 3], &[1, 3], &[15]).is_err());
    }

    #[test]
    fn repeated_values_find_the_hole() {
        // The lost pair is the second one: only there an overflow was.
        assert_eq!(aligned(&[3, 7, 3, 7], &[3, 7, 3, 7, 3, 7], &[25]), Ok(2));
        assert!(aligned(&[3, 7, 3, 7], &[3, 7, 3, 7, 3, 8], &[25]).is_err());
        // Several holes.
        assert_eq!(aligned(&[1, 4, 9], &[1, 2, 4, 5, 9], &[15, 25]), Ok(2));
        assert_eq!(aligned(&[1, 4, 9], &[1, 2, 4, 5, 9], &[15]), parts(3, Some(4), Some(5)));
    }
}
