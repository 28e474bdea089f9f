//! Shared immutable bytes, so that members, streams and constants need no copy of the archive.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A view of immutable bytes that is cheap to clone and keeps its buffer alive.
#[derive(Clone, Default)]
pub struct Bytes {
    buffer: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Bytes {
    /// The part `range` of this view.
    ///
    /// # Panics
    /// If `range` reaches beyond the view, like slicing does.
    pub fn slice(&self, range: Range<usize>) -> Bytes {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} of {} bytes", self.len());
        let start = self.range.start + range.start;
        Bytes { buffer: Arc::clone(&self.buffer), range: start..start + range.len() }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Bytes { buffer: Arc::new(bytes), range }
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}
