//! What several tests share: finding the test data and saying loudly when it is missing.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use seqjit::runtime::act::TableSet;
use seqjit::runtime::isa::Generation;

/// The folder with the test data: `SEQJIT_DATA`, else `../shared/data` beside the repository.
pub fn data_dir() -> PathBuf {
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

/// The text of a gzip file of the test data.
pub fn read_gz(name: &str) -> Option<String> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(data(name)?).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    Some(text)
}

/// The activation tables that the conformance cases mean (test data README, section 6).
pub fn vendor_table_sets(generation: Generation) -> Vec<Arc<TableSet>> {
    let name = match generation {
        Generation::Sunda => "neffs/trn1_autocomp_2.neff",
        _ => "neffs/fused_fp32_s512.neff",
    };
    let program = seqjit::Program::open(data(name).expect("the containers lie beside the cases")).unwrap();
    program.image().cores[0].table_sets.clone()
}
