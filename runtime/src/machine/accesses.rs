//! A log of the reads and writes of a memory, for the race detector.

use std::sync::{Mutex, PoisonError};

/// Runs of bytes: position and length.
pub(super) type Runs = Vec<(usize, usize)>;

/// What has been read and written since the log was last taken.
#[derive(Debug, Default)]
pub(super) struct Accesses {
    /// Reading does not change a memory, but its log.
    reads: Mutex<Runs>,
    writes: Runs,
}

impl Accesses {
    pub(super) fn read(&self, start: usize, len: usize) {
        push(&mut self.reads.lock().unwrap_or_else(PoisonError::into_inner), start, len);
    }

    pub(super) fn write(&mut self, start: usize, len: usize) {
        push(&mut self.writes, start, len);
    }

    /// Reads and writes since the last call.
    pub(super) fn take(&mut self) -> [Runs; 2] {
        let reads = self.reads.get_mut().unwrap_or_else(PoisonError::into_inner);
        [std::mem::take(reads), std::mem::take(&mut self.writes)]
    }
}

impl Clone for Accesses {
    fn clone(&self) -> Self {
        let reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Accesses { reads: Mutex::new(reads), writes: self.writes.clone() }
    }
}

/// Words go row after row, element after element: mostly a run goes on where the last one ended.
fn push(runs: &mut Runs, start: usize, len: usize) {
    match runs.last_mut() {
        _ if len == 0 => {}
        Some(last) if last.0 + last.1 == start => last.1 += len,
        _ => runs.push((start, len)),
    }
}
