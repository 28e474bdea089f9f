//! The runs of a pattern: how many bytes lie together, and where the next ones are.

use crate::machine::dma::Pattern;
use crate::machine::soc::Target;

/// (count, step in bytes) of a dimension.
pub(super) type Dim = (u64, i64);

/// A pattern as runs of `len` bytes, `outer` dimension 0 innermost.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// Bytes of each run.
    pub(super) len: u64,
    /// Where the runs are.
    pub(super) outer: Vec<Dim>,
}

/// One run, relative to the start of its pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Offset of the first byte.
    pub(super) at: i64,
    /// Bytes.
    pub(super) len: usize,
    /// A bound register leaves it out.
    pub(super) skipped: bool,
}

impl Runs {
    /// The runs as the pattern names them. Bytes that follow each other are one run where that changes
    /// nothing: on chip, none may continue from one partition into the next; and a bound register counts
    /// one by one.
    pub(super) fn new(pattern: &Pattern) -> Runs {
        let runs = Runs::plain(pattern);
        let folds = matches!(pattern.start, Target::Dram { .. }) && pattern.limit.is_none();
        if folds { runs.folded() } else { runs }
    }

    fn plain(pattern: &Pattern) -> Runs {
        let (len, outer) = match pattern.dims.split_first() {
            Some(((count, 1), outer)) => (*count, outer),
            _ => (1, pattern.dims.as_slice()),
        };
        Runs { len, outer: outer.iter().copied().filter(|(count, _)| *count != 1).collect() }
    }

    /// The same bytes in the same order with as few dimensions as possible.
    pub(super) fn folded(mut self) -> Runs {
        let mut outer: Vec<Dim> = Vec::with_capacity(self.outer.len());
        for (count, step) in self.outer {
            match outer.last_mut() {
                None if i64::try_from(self.len) == Ok(step) => self.len *= count,
                Some((inner, unit)) if unit.checked_mul(*inner as i64) == Some(step) => *inner *= count,
                _ => outer.push((count, step)),
            }
        }
        Runs { len: self.len, outer }
    }

    /// Offset of the lowest byte and of the one behind the highest, relative to the start.
    pub(super) fn span(&self) -> (i128, i128) {
        let (low, high) = reach(&self.outer);
        (low, high + i128::from(self.len))
    }

    /// The runs in stream order; a pattern without bytes has none.
    pub(super) fn iter(&self, limit: Option<u64>) -> impl Iterator<Item = Run> + '_ {
        let total = if self.len == 0 { 0 } else { self.outer.iter().map(|(count, _)| count).product() };
        let mut index = vec![0u64; self.outer.len()];
        let mut next = 0i64;
        (0..total).map(move |_| {
            let at = next;
            for ((count, step), index) in self.outer.iter().zip(&mut index) {
                *index += 1;
                next += step;
                if *index < *count {
                    break;
                }
                next -= step * *count as i64;
                *index = 0;
            }
            let skipped = limit.is_some_and(|limit| at < 0 || at as u64 + self.len > limit);
            Run { at, len: self.len as usize, skipped }
        })
    }
}

/// How far dimensions go below and above their start.
pub(super) fn reach(dims: &[Dim]) -> (i128, i128) {
    dims.iter().fold((0, 0), |(low, high), (count, step)| {
        let far = i128::from(count.saturating_sub(1)) * i128::from(*step);
        (low + far.min(0), high + far.max(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(start: Target, dims: &[Dim]) -> Runs {
        Runs::new(&Pattern { start, dims: dims.to_vec(), limit: None })
    }

    const DRAM: Target = Target::Dram { buffer: 0, offset: 0 };
    const SBUF: Target = Target::Sbuf { core: 0, offset: 0 };

    #[test]
    fn bytes_that_follow_each_other_are_one_run_in_device_memory_only() {
        let rows = [(4, 1), (8, 4), (3, 32), (2, 200), (5, 400)];
        let folded = runs(DRAM, &rows);
        assert_eq!((folded.len, &folded.outer[..]), (96, &[(10, 200)][..]));
        let apart = runs(SBUF, &rows);
        assert_eq!((apart.len, apart.outer.len()), (4, 4));
        assert_eq!(folded.span(), (0, 9 * 200 + 96));
        assert_eq!(runs(DRAM, &[(2, 1), (3, -10), (2, 7)]).span(), (-20, 9));
    }

    #[test]
    fn runs_come_in_stream_order() {
        let at = |dims: &[Dim]| runs(SBUF, dims).iter(None).map(|run| run.at).collect::<Vec<_>>();
        assert_eq!(at(&[(2, 1), (3, -10), (2, 7)]), [0, -10, -20, 7, -3, -13]);
        assert_eq!(at(&[(3, 2), (2, 1)]), [0, 2, 4, 1, 3, 5]);
        assert_eq!(at(&[(2, 1), (0, 5)]), []);
        assert_eq!(at(&[(0, 1), (4, 5)]), []);
    }
}
