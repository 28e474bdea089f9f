//! Counting the writes to runs of bytes that a debugger watches.

use crate::save::saved;

/// A run of bytes and the writes to it.
#[derive(Clone, Debug)]
struct Watch {
    start: usize,
    len: usize,
    writes: u64,
}

/// Watched runs of one memory, by position.
#[derive(Clone, Debug, Default)]
pub(super) struct Watches(Vec<Watch>);

impl Watches {
    /// Nothing is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Starts to count the writes to a run, unless it is watched already.
    pub(super) fn insert(&mut self, start: usize, len: usize) {
        if self.find(start, len).is_none() {
            self.0.push(Watch { start, len, writes: 0 });
        }
    }

    /// Forgets a run; `false` if it was not watched.
    pub(super) fn remove(&mut self, start: usize, len: usize) -> bool {
        let before = self.0.len();
        self.0.retain(|w| (w.start, w.len) != (start, len));
        self.0.len() < before
    }

    /// Writes to a run since it is watched; `None` if it is not.
    pub(super) fn writes(&self, start: usize, len: usize) -> Option<u64> {
        Some(self.find(start, len)?.writes)
    }

    /// Counts a write for every run that it touches.
    pub(super) fn note(&mut self, start: usize, len: usize) {
        for watch in &mut self.0 {
            let touches = len > 0 && start < watch.start + watch.len && watch.start < start + len;
            watch.writes += u64::from(touches);
        }
    }

    fn find(&self, start: usize, len: usize) -> Option<&Watch> {
        self.0.iter().find(|w| (w.start, w.len) == (start, len))
    }
}

saved!(struct Watch { start, len, writes });
saved!(wrapper Watches);

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
