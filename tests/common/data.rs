//! Finding the test data, and saying loudly when it is missing.

use std::io::Write;
use std::path::PathBuf;

/// The folder with the test data: `SEQJIT_DATA`, else `../shared/data` beside the repository.
fn data_dir() -> PathBuf {
    std::env::var_os("SEQJIT_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from)
}

/// A file of the test data; `None`, said loudly, if it is not there.
pub fn data(name: &str) -> Option<PathBuf> {
    let path = data_dir().join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("SEQJIT_REQUIRE_DATA").is_none(), "test data {} is missing", path.display());
    // Written past the capture of the test runner: a skipped test must be seen.
    let _ = writeln!(std::io::stderr(), "SKIPPED: test data {} is missing (set SEQJIT_DATA)", path.display());
    None
}
