//! Examples against what numpy computed: inputs and expected outputs in `examples/data/`, which
//! `examples/make_references.py` writes.

use std::collections::BTreeSet;

use super::{assert_close, path, run_all};
use crate::reference::to_f64;
use seqjit::Tensor;

/// How near an output is to what numpy says.
#[derive(Clone, Copy)]
enum Limit {
    /// The same bits.
    Exact,
    /// Largest difference, relative to the largest value.
    Relative(f64),
}
use Limit::{Exact, Relative};

/// A program, its inputs, its outputs, and how near they come.
type Case = (&'static str, &'static [&'static str], &'static [&'static str], Limit);

const LAYERNORM: Case = ("layernorm", &["x", "g", "b"], &["y"], Relative(3e-6));
const TOPK: Case = ("topk", &["x"], &["values", "indices"], Exact);
const EMBEDDING: Case = ("embedding", &["t", "i"], &["y"], Exact);
const DROPOUT: Case = ("dropout", &["x", "seed"], &["y"], Exact);
const MAMBA_SCAN: Case = ("mamba_scan", &["u", "delta", "a", "b", "c"], &["y"], Relative(3e-6));
const MATMUL_FP8: Case = ("matmul_fp8", &["at", "b"], &["c"], Exact);
const MATMUL_MX: Case = ("matmul_mx", &["at", "sat", "b", "sb"], &["c"], Exact);
const COUNTED_LOOP: Case = ("counted_loop", &["x"], &["y"], Exact);
const ALL_REDUCE: Case = ("all_reduce", &["xt", "y"], &["z"], Exact);

const CASES: &[Case] =
    &[LAYERNORM, TOPK, EMBEDDING, DROPOUT, MAMBA_SCAN, MATMUL_FP8, MATMUL_MX, COUNTED_LOOP, ALL_REDUCE];

fn file(program: &str, tensor: &str) -> String {
    format!("{program}.{tensor}.npy")
}

fn read(program: &str, tensor: &str) -> Tensor {
    Tensor::open(&path("data").join(file(program, tensor))).unwrap()
}

fn hold((program, inputs, outputs, limit): Case) {
    let inputs: Vec<(&str, Tensor)> = inputs.iter().map(|name| (*name, read(program, name))).collect();
    for (name, found) in outputs.iter().zip(run_all(program, &inputs, outputs)) {
        let expected = read(program, name);
        assert_eq!((found.dtype, &found.shape), (expected.dtype, &expected.shape), "{program} {name}");
        match limit {
            Exact => assert!(found == expected, "{program}: {name} is not what numpy computed"),
            Relative(limit) => assert_close(program, &found, &to_f64(&expected), limit),
        }
    }
}

#[test]
fn layernorm() {
    hold(LAYERNORM);
}

#[test]
fn topk() {
    hold(TOPK);
}

#[test]
fn embedding() {
    hold(EMBEDDING);
}

#[test]
fn dropout() {
    hold(DROPOUT);
}

/// Another seed drops other elements. Seeds that differ in low bits only would not: the bits that are compared first
/// are above them, and a generator shifts by one place a draw.
#[test]
fn seeds_choose_what_is_dropped() {
    let mut inputs = vec![("x", read("dropout", "x")), ("seed", read("dropout", "seed"))];
    inputs[1].1.data = 0xDEAD_BEEF_u32.to_le_bytes().to_vec();
    let other = run_all("dropout", &inputs, &["y"]).remove(0);
    let (other, first) = (to_f64(&other), to_f64(&read("dropout", "y")));
    let dropped = |values: &[f64]| values.iter().filter(|v| **v == 0.0).count();
    // A quarter of 8192, give or take five standard deviations.
    assert!(dropped(&first).abs_diff(2048) < 200 && dropped(&other).abs_diff(2048) < 200);
    let both = other.iter().zip(&first).filter(|(a, b)| **a == 0.0 && **b == 0.0).count();
    assert!(both < 1024, "{both} of 2048 are dropped whatever the seed");
}

#[test]
fn mamba_scan() {
    hold(MAMBA_SCAN);
}

#[test]
fn matmul_fp8() {
    hold(MATMUL_FP8);
}

#[test]
fn matmul_mx() {
    hold(MATMUL_MX);
}

#[test]
fn counted_loop() {
    hold(COUNTED_LOOP);
}

#[test]
fn all_reduce() {
    hold(ALL_REDUCE);
}

/// No file of `examples/data/` is there for nothing.
#[test]
fn every_file_belongs_to_a_case() {
    let named = |&(program, inputs, outputs, _): &Case| -> Vec<String> {
        inputs.iter().chain(outputs).map(|tensor| file(program, tensor)).collect()
    };
    let expected: BTreeSet<String> = CASES.iter().flat_map(named).collect();
    let entries = std::fs::read_dir(path("data")).unwrap();
    let found: BTreeSet<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, expected);
}
