//! What several tests share.
#![allow(dead_code)]

mod data;

use std::io::Read;
use std::sync::Arc;

use seqjit::runtime::act::TableSet;
use seqjit::runtime::isa::Generation;

pub use self::data::data;

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
