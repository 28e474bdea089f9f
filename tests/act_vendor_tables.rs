//! The table sets of real containers: vectors of chapter 10 section 9.1, the conformance data, our writer.
//!
//! Needs the test data folder (`SEQJIT_DATA`, else `../shared/data` beside the repository).

#[path = "common/data.rs"]
mod data_file;

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine as _;
use flate2::read::{GzDecoder, ZlibDecoder};
use seqjit::load::load_table_sets;
use seqjit::tables::members;
use seqjit_runtime::act::{Refusal, TableFunction, TableSet, define};
use seqjit_runtime::isa::Word;
use seqjit_runtime::num::{Level, with_level};

const CAYMAN: (&str, &str) = ("fused_fp32_s512.neff", "exp_and_others");
const SUNDA: (&str, &str) = ("trn1_autocomp_2.neff", "natural_log_exp_and_others");

fn data(name: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(data_file::data(name)?).unwrap())
}

/// Members of the first graph by their names there.
fn graph_members(container: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    let file = data(&format!("neffs/{container}"))?;
    let mut archive = tar::Archive::new(GzDecoder::new(&file[1024..]));
    let mut out = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        if let Some(name) = name.strip_prefix("sg00/") {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            out.insert(name.to_owned(), bytes);
        }
    }
    Some(out)
}

fn load(members: &BTreeMap<String, Vec<u8>>, set: &str) -> TableSet {
    let find = |name: &str| members.get(name).map(Vec::as_slice);
    load_table_sets(&find, "act_info.json", &[set]).unwrap_or_else(|e| panic!("{e}")).remove(0)
}

fn set((container, set): (&str, &str)) -> Option<TableSet> {
    Some(load(&graph_members(container)?, set))
}

fn function(set: &TableSet, id: u8) -> TableFunction<'_> {
    set.function(id).expect("in the set").expect("can be evaluated")
}

#[test]
fn vectors_of_the_exp_table() {
    let Some(set) = set(CAYMAN) else { return };
    assert_eq!((set.buckets().len(), set.controls().len(), set.profiles().len()), (941, 89, 15));
    let exp = function(&set, 7);
    for (x, bits, bucket) in [
        (-1.0, 0x3EBC_5A40, 20),
        (0.5, 0x3FD3_08B1, 424),
        (-10.0, 0x383E_6B5B, 56),
        (2.0_f32.powi(-20), 0x3F80_0008, 777),
        (-88.5, 0x0027_FCCA, 370),
        (-98.0, 0, 780),
    ] {
        let (y, found) = (exp.eval(x).to_bits(), exp.bucket(x));
        assert_eq!((y, found), (bits, Some(bucket)), "exp {x}: {y:08x}");
    }
    assert_eq!(exp.eval(88.73), f32::INFINITY);
    assert!(exp.eval(88.7) < f32::INFINITY);
    let tanh = function(&set, 6);
    assert_eq!((tanh.eval(-2.5).to_bits(), tanh.bucket(-2.5)), (0xBF7C_92C2, Some(877)));
    assert_eq!((tanh.eval(7.92), tanh.eval(-7.92)), (1.0, -1.0));
}

#[test]
fn vectors_of_the_ln_table() {
    let Some(set) = set(SUNDA) else { return };
    assert_eq!((set.buckets().len(), set.controls().len()), (1350, 200));
    let ln = function(&set, 10);
    assert_eq!((ln.eval(2.0).to_bits(), ln.bucket(2.0)), (0x3F31_724C, Some(308)));
    assert!(ln.eval(-1.0).is_nan());
    assert_eq!((ln.eval(0.0), ln.eval(-0.0)), (f32::NEG_INFINITY, f32::NEG_INFINITY));
    // One exp table in both containers.
    let Some(other) = self::set(CAYMAN) else { return };
    for x in [-1.0, 0.5, -10.0, -88.5, 88.5] {
        assert_eq!(function(&set, 7).eval(x).to_bits(), function(&other, 7).eval(x).to_bits());
    }
}

/// Chapter 10 section 9.1, "Further table facts", and the figures of its accuracy table.
#[test]
fn table_facts() {
    let Some(set) = set(CAYMAN) else { return };
    let at = |id, x: f32| function(&set, id).eval(x).to_bits();
    assert_eq!(at(2, f32::INFINITY), 0x7F7F_0000, "relu(+Inf)");
    assert_eq!([at(12, 0.0), at(12, -0.0)], [1.0_f32.to_bits(); 2], "derivative_relu(0)");
    assert_eq!(
        [at(130, f32::NAN), at(35, f32::NAN), at(35, f32::INFINITY), at(35, 5.0)],
        [0, 0, 0, 0x3F80_0000]
    );
    assert_eq!([at(1, f32::NAN), at(128, f32::NAN), at(2, f32::NAN)], [0x7FC0_0000; 3]);
    assert_eq!([at(33, -3.5), at(2, -3.5), at(30, -3.0)], [3.5_f32, 0.0, 9.0].map(f32::to_bits));
    assert_eq!(at(3, -2.0), (0.01_f32 * -2.0).to_bits());
    assert_eq!([at(31, -1e-40), at(31, 7.0)], [-1.0_f32, 1.0].map(f32::to_bits));
    assert_eq!(set.function(4).unwrap().unwrap_err(), Refusal::Indirection);
    assert!(set.function(5).is_none());
    let imm_bias: Vec<u8> = set.profiles().iter().filter(|p| p.imm_bias).map(|p| p.id).collect();
    assert_eq!(imm_bias, [128, 130, 35]);

    let worst = |id: u8, low: f32, high: f32, exact: fn(f64) -> f64| {
        let steps = 200_000;
        let error = |i: i32| {
            let x = low + (high - low) * (i as f32 / steps as f32);
            let e = exact(f64::from(x));
            ((f64::from(function(&set, id).eval(x)) - e) / e).abs()
        };
        (0..=steps).map(error).fold(0.0, f64::max)
    };
    let exp = worst(7, -87.3, 88.72, libm::exp);
    assert!((1.12e-5..1.14e-5).contains(&exp), "{exp:e}");
    let tanh = worst(6, 0.001, 9.0, libm::tanh);
    assert!((2.6e-7..2.8e-7).contains(&tanh), "{tanh:e}");
}

#[test]
fn rows_equal_scalars_on_every_level() {
    for which in [CAYMAN, SUNDA] {
        let Some(set) = set(which) else { return };
        let special = [0, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_0001, 1, 0x8000_0001];
        let spread = (0..100_000_u32).map(|i| i.wrapping_mul(42_949).wrapping_mul(3));
        let near = (-60_000..60_000).map(|i| (i as f32 / 600.0).to_bits());
        let xs: Vec<f32> = special.into_iter().chain(spread).chain(near).map(f32::from_bits).collect();
        let mut row = vec![0.0; xs.len()];
        for profile in set.profiles() {
            let Some(Ok(function)) = set.function(profile.id) else { continue };
            for level in Level::ALL {
                with_level(level, || function.eval_row(&xs, &mut row));
                let differs = |(x, y): &(&f32, &f32)| y.to_bits() != function.eval(**x).to_bits();
                let found = xs.iter().zip(&row).find(differs);
                assert_eq!(found, None, "{} on {}", profile.name, format_args!("{level:?}"));
            }
        }
    }
}

/// One ACTIVATE of the conformance data with scale 1 and an immediate bias 0.
struct Case {
    name: String,
    id: u8,
    ulp: u64,
    xs: Vec<f32>,
    ys: Vec<f32>,
}

/// The cases whose name starts with `prefix`.
fn cases(prefix: &str) -> Option<Vec<Case>> {
    let mut text = String::new();
    GzDecoder::new(&data("conformance.jsonl.gz")?[..]).read_to_string(&mut text).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let cases = all.filter(|case| case["name"].as_str().unwrap().starts_with(prefix)).map(|case| {
        let values = |key: &str| -> Vec<f32> {
            let packed =
                base64::engine::general_purpose::STANDARD.decode(case[key].as_str().unwrap()).unwrap();
            let mut bytes = Vec::new();
            ZlibDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
            bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
        };
        let words = case["progs"]["act"].as_array().unwrap();
        let word = Word::from_hex(words.last().unwrap().as_str().unwrap()).unwrap();
        // Bias source, input and bias dtype, output dtype; scale and bias: all as the structure's comment says.
        assert_eq!(
            (word.0[15], &word.0[32..34], &word.0[36..44]),
            (1, &[0xAA, 0x0A][..], &[0, 0, 128, 63, 0, 0, 0, 0][..])
        );
        Case {
            name: case["name"].as_str().unwrap().to_owned(),
            id: word.0[35],
            ulp: case["ulp"].as_u64().unwrap(),
            xs: values("x"),
            ys: values("y"),
        }
    });
    Some(cases.collect())
}

impl Case {
    /// Holds every result of `f` to the expected one.
    fn check(&self, f: impl Fn(f32) -> f32) {
        assert!(!self.xs.is_empty() && self.xs.len() == self.ys.len());
        for (x, y) in self.xs.iter().zip(&self.ys) {
            let found = f(*x * 1.0 + 0.0);
            let distance = u64::from(found.to_bits().abs_diff(y.to_bits()));
            assert!(distance <= self.ulp, "{}: f({x:e}) = {found:e}, not {y:e}", self.name);
        }
    }
}

#[test]
fn conformance_cases() {
    let (Some(set), Some(tables)) = (set(CAYMAN), cases("21_table_exp_range")) else { return };
    assert_eq!(tables.len(), 1);
    tables[0].check(|x| function(&set, tables[0].id).eval(x));
    let Some(definitions) = cases("21_def_") else { return };
    let mut ids: Vec<u8> = definitions.iter().map(|case| case.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [3, 9, 12, 24, 28, 37]);
    for case in &definitions {
        case.check(|x| define(case.id).unwrap()(x, 0.0));
    }
}

/// What we write for a set that we read is what the vendor wrote.
#[test]
fn written_again() {
    for (container, name) in [CAYMAN, SUNDA] {
        let Some(original) = graph_members(container) else { return };
        let written = members(&[load(&original, name)]);
        for suffix in ["_bkt.bin", "_ctrl.bin"] {
            let member = format!("{name}{suffix}");
            assert!(written[&member] == original[&member], "{member} differs");
        }
        let parsed = |files: &BTreeMap<String, Vec<u8>>, member: &str| -> serde_json::Value {
            serde_json::from_slice(&files[member]).unwrap()
        };
        let member = format!("{name}.json");
        let (ours, theirs) = (parsed(&written, &member), parsed(&original, &member));
        for (key, value) in theirs.as_object().unwrap() {
            if key.starts_with("func_exp_to_") {
                // The vendor also lists an octave of functions that never look one up.
                for (function, octaves) in
                    ours[key].as_object().unwrap().iter().filter(|(_, o)| o.as_object().unwrap().len() > 1)
                {
                    assert_eq!(octaves, &value[function], "{member}: {key}, {function}");
                }
            } else {
                assert_eq!(&ours[key], value, "{member}: {key}");
            }
        }
        let theirs = parsed(&original, "act_info.json");
        let entry = theirs["act_func_sets"].as_array().unwrap().iter().find(|s| s["name"] == name).unwrap();
        assert_eq!(&parsed(&written, "act_info.json")["act_func_sets"][0], entry);
    }
}
