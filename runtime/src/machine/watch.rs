//! Counting the writes to runs of bytes that a debugger watches.

use crate::save::saved;

/// A run of bytes and the writes to it.
#[derive(Clone, Debug)]
struct Watch {
    start: usize,
    len: usize,
    writes: u64,
}

/// Watched runs of one memory, by position, and a log of all writes where somebody wants one.
#[derive(Clone, Debug, Default)]
pub(super) struct Watches {
    runs: Vec<Watch>,
    log: Option<Vec<(usize, usize)>>,
}

impl Watches {
    /// Nothing is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.log.is_none()
    }

    /// Keeps a log of all writes, or none.
    pub(super) fn set_log(&mut self, on: bool) {
        self.log = on.then(Vec::new);
    }

    /// Position and length of the writes since the last call.
    pub(super) fn take_log(&mut self) -> Vec<(usize, usize)> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Starts to count the writes to a run, unless it is watched already.
    pub(super) fn insert(&mut self, start: usize, len: usize) {
        if self.find(start, len).is_none() {
            self.runs.push(Watch { start, len, writes: 0 });
        }
    }

    /// Forgets a run; `false` if it was not watched.
    pub(super) fn remove(&mut self, start: usize, len: usize) -> bool {
        let before = self.runs.len();
        self.runs.retain(|w| (w.start, w.len) != (start, len));
        self.runs.len() < before
    }

    /// Writes to a run since it is watched; `None` if it is not.
    pub(super) fn writes(&self, start: usize, len: usize) -> Option<u64> {
        Some(self.find(start, len)?.writes)
    }

    /// Counts a write for every run that it touches.
    pub(super) fn note(&mut self, start: usize, len: usize) {
        for watch in &mut self.runs {
            let touches = len > 0 && start < watch.start + watch.len && watch.start < start + len;
            watch.writes += u64::from(touches);
        }
        if let Some(log) = self.log.as_mut().filter(|_| len > 0) {
            match log.last_mut() {
                // Words write row after row, element after element.
                Some(last) if last.0 + last.1 == start => last.1 += len,
                _ => log.push((start, len)),
            }
        }
    }

    fn find(&self, start: usize, len: usize) -> Option<&Watch> {
        self.runs.iter().find(|w| (w.start, w.len) == (start, len))
    }
}

saved!(struct Watch { start, len, writes });
saved!(struct Watches { runs } new { log });

#[cfg(test)]
mod tests {
    use super::Watches;

    #[test]
    fn only_writes_that_touch_a_run_count() {
        let mut watches = Watches::default();
        watches.insert(10, 4);
        for (start, len) in [(0, 10), (14, 5), (12, 0)] {
            watches.note(start, len);
        }
        watches.insert(10, 4);
        assert_eq!(watches.writes(10, 4), Some(0));
        for (start, len) in [(0, 11), (13, 1), (0, 100)] {
            watches.note(start, len);
        }
        assert_eq!((watches.writes(10, 4), watches.writes(10, 5)), (Some(3), None));
        assert!(watches.remove(10, 4) && !watches.remove(10, 4));
    }
}
