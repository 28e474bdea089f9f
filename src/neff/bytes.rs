//! Shared immutable bytes, so that members, streams and constants need no copy of the archive.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

/// A view of immutable bytes that is cheap to clone and keeps its buffer alive.
#[derive(Clone, Default)]
pub struct Bytes {
    buffer: Arc<Buffer>,
    range: Range<usize>,
}

/// Where bytes are.
enum Buffer {
    Memory(Vec<u8>),
    File(Mmap),
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer::Memory(Vec::new())
    }
}

impl Bytes {
    /// The contents of a file, mapped into memory if `map` and the system can; otherwise read.
    pub(super) fn open(path: &Path, map: bool) -> io::Result<Bytes> {
        let Some(mapped) = map.then(|| map_file(path)).transpose()?.flatten() else {
            return std::fs::read(path).map(Bytes::from);
        };
        let range = 0..mapped.len();
        Ok(Bytes { buffer: Arc::new(Buffer::File(mapped)), range })
    }

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
        let all = match &*self.buffer {
            Buffer::Memory(bytes) => &bytes[..],
            Buffer::File(bytes) => bytes,
        };
        &all[self.range.clone()]
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Bytes { buffer: Arc::new(Buffer::Memory(bytes)), range }
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

/// `None` where the system cannot map the file: it is empty, no regular file, or on a file system without maps.
fn map_file(path: &Path) -> io::Result<Option<Mmap>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    // SAFETY: a map is a problem only if the file changes under it: bytes would change that Rust takes for
    // constant, and a file cut short would end the process with a signal. Nothing here writes to a mapped file;
    // that nobody else does is what `ReadOptions::map_file` says, and how a loader of programs treats its files.
    Ok(unsafe { Mmap::map(&file) }.ok())
}
