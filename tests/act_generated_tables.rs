//! The tables that we make ourselves: format, accuracy, and the same bytes everywhere.

use std::collections::BTreeMap;

use seqjit::load::load_table_sets;
use seqjit::tables::{GenerateError, STANDARD_SETS, exact, generate, members};
use seqjit_runtime::act::define::by_id;
use seqjit_runtime::act::table::TableError;
use seqjit_runtime::act::{FUNCTIONS, Function, TableFunction, TableSet};
use sha2::{Digest, Sha256};

fn sets() -> Vec<TableSet> {
    STANDARD_SETS
        .iter()
        .map(|(name, ids)| generate(name, ids).unwrap_or_else(|e| panic!("{name}: {e}")))
        .collect()
}

fn table(set: &TableSet, id: u8) -> TableFunction<'_> {
    set.function(id).expect("in the set").expect("can be evaluated")
}

/// Runs `check` on every function of every standard set.
fn for_each_table(mut check: impl FnMut(&'static Function, TableFunction<'_>)) {
    for set in &sets() {
        for profile in set.profiles() {
            check(by_id(profile.id).expect("has a definition"), table(set, profile.id));
        }
    }
}

#[test]
fn standard_sets_hold_every_function() {
    let held: Vec<u8> = STANDARD_SETS.iter().flat_map(|(_, ids)| *ids).copied().collect();
    let ids = FUNCTIONS.iter().filter_map(|f| f.id);
    assert_eq!(
        ids.filter(|id| !held.contains(id)).collect::<Vec<_>>(),
        [4],
        "only parametric_relu has no table"
    );
}

#[test]
fn members_read_back() {
    let sets = sets();
    let files = members(&sets);
    assert_eq!(files.len(), 1 + 3 * sets.len());
    let names: Vec<&str> = sets.iter().map(TableSet::name).collect();
    let read = load_table_sets(&|name| files.get(name).map(Vec::as_slice), "act_info.json", &names).unwrap();
    for (read, written) in read.iter().zip(&sets) {
        assert_eq!(read.name(), written.name());
        assert_eq!(read.controls(), written.controls());
        assert_eq!(read.profiles(), written.profiles());
        let bits = |set: &TableSet| -> Vec<[u32; 5]> {
            let words = |b: &seqjit_runtime::act::table::Bucket| [b.d[0], b.d[1], b.d[2], b.d[3], b.x0];
            set.buckets().iter().map(|b| words(b).map(f32::to_bits)).collect()
        };
        assert_eq!(bits(read), bits(written));
    }
}

/// Greatest relative error within the stated range; where the true value is below `floor / relative`, the absolute
/// error counts against `floor`. The figures of `docs/activation-functions.md`.
struct Claim {
    id: u8,
    range: (f32, f32),
    relative: f64,
    floor: f64,
}

const fn claim(id: u8, range: (f32, f32), relative: f64, floor: f64) -> Claim {
    Claim { id, range, relative, floor }
}

const PI: f32 = std::f32::consts::PI;
/// 2^-25 and a little for the rounding of the sample point's own result.
const CANCELS: f64 = 3.1e-8;

const CLAIMS: &[Claim] = &[
    claim(5, (-105.0, 1e30), 2e-6, 3e-45),
    claim(6, (1e-30, 1e30), 2e-6, 0.0),
    claim(7, (-105.0, 88.722_8), 2e-6, 3e-45),
    claim(8, (1.5e-25, 3e29), 4.5e-6, 0.0),
    claim(8, (1.3e-35, 3e35), 1.1e-3, 0.0),
    claim(9, (-105.0, 1e30), 2e-6, 3e-45),
    claim(10, (5.5e-20, 1.8e19), 2e-6, CANCELS),
    claim(19, (-PI, PI), 2e-6, CANCELS),
    claim(21, (1e-30, 1e30), 2e-6, 0.0),
    claim(22, (-1e18, 1e18), 2e-6, CANCELS),
    claim(23, (-1e18, 1e30), 2e-6, CANCELS),
    claim(24, (-1e18, 1e30), 2e-6, CANCELS),
    claim(25, (-1e6, 1e12), 2e-6, CANCELS),
    claim(26, (-1e18, 1e30), 2e-6, CANCELS),
    claim(28, (1e-30, 1e30), 2e-6, 0.0),
    claim(29, (1e-15, 2.8e17), 3.5e-6, 0.0),
    claim(29, (6.5e-27, 1.5e29), 1.1e-3, 0.0),
    claim(32, (-1e18, 1e18), 2e-6, CANCELS),
    claim(34, (1e-15, 2.8e17), 3.5e-6, 0.0),
    claim(36, (-1e18, 1e30), 2e-6, CANCELS),
    claim(37, (-1e18, 1e18), 2e-6, CANCELS),
    claim(38, (-1e18, 1e18), 2e-6, CANCELS),
    claim(129, (2.3e-13, 4.3e12), 2e-6, 0.0),
];

/// Values of the range: every `n`th fp32 value of each sign.
fn samples((low, high): (f32, f32)) -> impl Iterator<Item = f32> {
    const STRIDE: usize = 1511;
    let all = (0..=u32::MAX).step_by(STRIDE).map(f32::from_bits);
    all.filter(move |x| (low..=high).contains(x))
}

#[test]
fn accuracy() {
    let sets = sets();
    for Claim { id, range, relative, floor } in CLAIMS {
        let function = by_id(*id).expect("has a definition");
        let set = sets.iter().find(|set| set.function(*id).is_some()).expect("is in a set");
        let (table, formula) = (table(set, *id), exact(function.name).expect("has a formula"));
        for x in samples(*range) {
            let (y, exact) = (f64::from(table.eval(x)), formula(f64::from(x)));
            let allowed = (relative * exact.abs()).max(*floor);
            assert!((y - exact).abs() <= allowed, "{} of {x:e}: {y:e}, not {exact:e}", function.name);
        }
    }
    let claimed = |id: &u8| CLAIMS.iter().any(|c| c.id == *id);
    for id in STANDARD_SETS.iter().flat_map(|(_, ids)| *ids).filter(|id| !claimed(id)) {
        assert!(DIRECT.contains(id), "function {id} has neither a claim nor is it exact");
    }
}

/// Functions whose tables give the definition's bits for every input but zeros.
const DIRECT: &[u8] = &[1, 2, 3, 11, 12, 13, 30, 31, 33, 35, 128, 130];

#[test]
fn direct_functions_are_exact() {
    let mut seen = Vec::new();
    for_each_table(|function, table| {
        let Some(id) = function.id.filter(|id| DIRECT.contains(id)) else { return };
        seen.push(id);
        for x in (0..=u32::MAX).step_by(104_729).map(f32::from_bits).filter(|x| *x != 0.0) {
            let (y, expected) = (table.eval(x), function.eval(x, 0.0));
            // A product that rounds to zero loses its sign in the cubic: +0 - 0 is +0.
            let equal = y.to_bits() == expected.to_bits() || (y == 0.0 && expected == 0.0);
            assert!(equal, "{} of {x:e}: {y:e}, not {expected:e}", function.name);
        }
    });
    assert!(DIRECT.iter().all(|id| seen.contains(id)));
}

#[test]
fn results_at_zeros_infinities_and_nan_are_the_definitions() {
    for_each_table(|function, table| {
        for x in [0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let (y, expected) = (table.eval(x).to_bits(), function.eval(x, 0.0).to_bits());
            assert_eq!(y, expected, "{} of {x}: {y:08x}", function.name);
        }
    });
}

#[test]
fn negative_inputs_of_roots_and_logarithms_are_nan() {
    let sets = sets();
    for id in [8, 10, 29] {
        let set = sets.iter().find(|set| set.function(id).is_some()).expect("is in a set");
        for x in [-1e-45, -1e-30, -1.0, -1e30] {
            assert_eq!(table(set, id).eval(x).to_bits(), 0x7FC0_0000, "function {id} of {x:e}");
        }
    }
}

/// Frozen: no machine, compiler or library version may change a byte.
#[test]
fn same_bytes_everywhere() {
    let mut hash = Sha256::new();
    let files: BTreeMap<String, Vec<u8>> = members(&sets());
    for (name, bytes) in &files {
        hash.update(name);
        hash.update(bytes);
    }
    let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "c99f82defbec593f0b75a783b4d3d9fc981523b504ffce383eecaa28ebe1b357");
}

#[test]
fn what_cannot_be_generated() {
    assert_eq!(generate("x", &[4]).unwrap_err(), GenerateError::NoPlan { id: 4 });
    assert_eq!(generate("x", &[77]).unwrap_err(), GenerateError::NoPlan { id: 77 });
    assert_eq!(generate("x", &[1, 1]).unwrap_err(), GenerateError::Tables(TableError::DuplicateId { id: 1 }));
    assert_eq!(generate("x", &[8, 10]).unwrap_err(), GenerateError::TooManyControls { found: 362 });
    let many = generate("x", &[129, 7]).unwrap_err();
    assert!(matches!(many, GenerateError::Tables(TableError::TooManyBuckets { found: 2049.. })), "{many}");
}
