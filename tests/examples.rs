//! The programs in `examples/`: the committed containers are what their sources assemble to, and they compute what
//! plain formulas in float64 say, whatever the schedule.
//!
//! `SEQJIT_BLESS=1` writes the containers instead of comparing them.

mod common;
#[path = "examples/numpy.rs"]
mod numpy;
#[path = "common/races.rs"]
mod races;
#[path = "common/reference.rs"]
mod reference;

use std::path::{Path, PathBuf};

use reference::{agreement, from_f64, matmul, normal, relative_error, to_f64, transpose};
use seqjit::asm::{Assembled, assemble};
use seqjit::neff::ReadOptions;
use seqjit::runtime::isa::Dtype;
use seqjit::{Engine, Exit, Options, Program, Schedule, Session, Tensor, Tier};

/// Random schedules that every program must not notice.
const SCHEDULES: u64 = 20;

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file)
}

fn assembled(name: &str) -> Assembled {
    let source = path(&format!("{name}.s"));
    let text = std::fs::read_to_string(&source).unwrap();
    assemble(&text, &source).unwrap_or_else(|e| panic!("{e}"))
}

/// The program of an example, after comparing its container with the source.
fn program(name: &str) -> Program {
    let built = assembled(name);
    let findings = built.check(true).unwrap();
    assert!(findings.is_empty(), "{name}: {findings:#?}");
    let bytes = built.neff.write();
    let committed = path(&format!("{name}.neff"));
    if std::env::var_os("SEQJIT_BLESS").is_some() {
        std::fs::write(&committed, &bytes).unwrap();
    }
    let found = std::fs::read(&committed).unwrap();
    assert!(
        found == bytes,
        "{} is not what its source assembles to; SEQJIT_BLESS=1 writes it",
        committed.display()
    );
    assert!(bytes.len() < 100 << 10, "{name} has {} bytes", bytes.len());
    Program::from_bytes(&found, &ReadOptions::default()).unwrap()
}

/// Runs an example in check mode, with the fixed schedule in every tier and with random ones; outputs must be equal.
fn run_all(name: &str, inputs: &[(&str, Tensor)], outputs: &[&str]) -> Vec<Tensor> {
    let program = program(name);
    if races::is_straight(&program) {
        let found = races::races(&program);
        assert!(found.is_empty(), "{name}: {} races, {:#?}", found.len(), &found[..found.len().min(5)]);
    }
    let once = |tier: Tier, schedule: Schedule| {
        let mut options = Options::default();
        options.check = true;
        options.schedule = schedule;
        options.tier = tier;
        let mut session =
            Session::new(&Engine::new(), &program, options).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (name, tensor) in inputs {
            session.set_input(name, tensor).unwrap();
        }
        let report = session.run().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(report.exit, Exit::Finished);
        assert_eq!(report.warnings, Vec::<String>::new(), "{name}");
        outputs.iter().map(|output| session.output(output).unwrap()).collect::<Vec<Tensor>>()
    };
    let first = once(Tier::Auto, Schedule::Fixed);
    for tier in Tier::ALL {
        assert!(once(tier, Schedule::Fixed) == first, "{name}: tier {tier} gives another result");
    }
    for seed in 0..SCHEDULES {
        let found = once(Tier::Auto, Schedule::Seeded(seed));
        assert!(found == first, "{name}: schedule {seed} gives another result");
    }
    first
}

/// As [`run_all`], of a program with one output.
fn run(name: &str, inputs: &[(&str, Tensor)], output: &str) -> Tensor {
    run_all(name, inputs, &[output]).remove(0)
}

fn assert_close(name: &str, found: &Tensor, exact: &[f64], limit: f64) {
    let error = relative_error(&to_f64(found), exact);
    println!("{name}: relative error {error:.2e}");
    assert!(error <= limit, "{name}: relative error {error:e}, at most {limit:e}");
}

fn assert_rounded(name: &str, found: &Tensor, exact: &[f64]) {
    let a = agreement(found, exact, 1e-6);
    println!("{name}: {:.3} % correctly rounded", 100.0 * a.equal);
    assert!(a.equal >= 0.997 && a.far == 0, "{name}: {a:?}");
}

/// `a + b` rounded once is exact.
fn vector_add(name: &str) {
    let inputs =
        [("a", normal(1, Dtype::FP32, &[128, 64], 1.0)), ("b", normal(2, Dtype::FP32, &[128, 64], 1.0))];
    let found = run(name, &inputs, "out");
    let (a, b) = (to_f64(&inputs[0].1), to_f64(&inputs[1].1));
    let sums: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert!(found == from_f64(Dtype::FP32, &[128, 64], &sums));
}

#[test]
fn adding_vectors() {
    vector_add("vector_add");
}

#[test]
fn adding_vectors_on_sunda() {
    vector_add("vector_add_sunda");
}

#[test]
fn matmul_bf16() {
    let inputs = [
        ("at", normal(3, Dtype::BFLOAT16, &[512, 256], 1.0)),
        ("b", normal(4, Dtype::BFLOAT16, &[512, 512], 1.0)),
    ];
    let found = run("matmul_bf16", &inputs, "c");
    let a = transpose(&to_f64(&inputs[0].1), 512, 256);
    assert_rounded("matmul_bf16", &found, &matmul(&a, &to_f64(&inputs[1].1), 256, 512, 512));
}

#[test]
fn matmul_fp32() {
    let inputs =
        [("at", normal(5, Dtype::FP32, &[256, 128], 1.0)), ("b", normal(6, Dtype::FP32, &[256, 256], 1.0))];
    let found = run("matmul_fp32", &inputs, "c");
    let a = transpose(&to_f64(&inputs[0].1), 256, 128);
    assert_close("matmul_fp32", &found, &matmul(&a, &to_f64(&inputs[1].1), 128, 256, 256), 3e-6);
}

/// Softmax of every row of `n` values.
fn softmax_rows(x: &mut [f64], n: usize) {
    for row in x.chunks_exact_mut(n) {
        let max = row.iter().copied().fold(f64::MIN, f64::max);
        row.iter_mut().for_each(|x| *x = (*x - max).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
}

#[test]
fn softmax() {
    let x = normal(7, Dtype::FP32, &[256, 128], 2.0);
    let mut exact = to_f64(&x);
    softmax_rows(&mut exact, 128);
    let found = run("softmax", &[("x", x)], "y");
    assert_close("softmax", &found, &exact, 3e-6);
}

#[test]
fn rmsnorm() {
    let inputs =
        [("x", normal(8, Dtype::FP32, &[128, 256], 3.0)), ("g", normal(9, Dtype::FP32, &[256], 1.0))];
    let (x, g) = (to_f64(&inputs[0].1), to_f64(&inputs[1].1));
    let row = |row: &[f64]| {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / 256.0;
        row.iter().zip(&g).map(|(x, g)| x / (mean + 1e-5).sqrt() * g).collect::<Vec<f64>>()
    };
    let exact: Vec<f64> = x.chunks_exact(256).flat_map(row).collect();
    assert_close("rmsnorm", &run("rmsnorm", &inputs, "y"), &exact, 3e-6);
}

#[test]
fn attention() {
    let inputs = ["q", "k", "v"].map(|name| {
        let seed = name.as_bytes()[0].into();
        (name, normal(seed, Dtype::FP32, &[256, 128], 1.0))
    });
    let [q, k, v] = [0, 1, 2].map(|i: usize| to_f64(&inputs[i].1));
    let mut p = matmul(&q, &transpose(&k, 256, 128), 256, 128, 256);
    p.iter_mut().for_each(|s| *s /= 128f64.sqrt());
    softmax_rows(&mut p, 256);
    let exact = matmul(&p, &v, 256, 256, 128);
    assert_close("attention", &run("attention", &inputs, "out"), &exact, 3e-6);
}

#[test]
fn conv3x3() {
    let inputs = [
        ("x", normal(10, Dtype::BFLOAT16, &[128, 16, 16], 1.0)),
        ("wt", normal(11, Dtype::BFLOAT16, &[128, 128, 3, 3], 0.1)),
        ("bias", normal(12, Dtype::FP32, &[128], 1.0)),
    ];
    let [x, w, bias] = [0, 1, 2].map(|i: usize| to_f64(&inputs[i].1));
    let mut exact = Vec::new();
    for o in 0..128 {
        for (r, c) in (0..14).flat_map(|r| (0..14).map(move |c| (r, c))) {
            let mut sum = bias[o];
            for (i, dy, dx) in (0..128).flat_map(|i| (0..9).map(move |t| (i, t / 3, t % 3))) {
                sum += w[(o * 128 + i) * 9 + dy * 3 + dx] * x[i * 256 + (r + dy) * 16 + c + dx];
            }
            exact.push(sum);
        }
    }
    assert_rounded("conv3x3", &run("conv3x3", &inputs, "y"), &exact);
}

#[test]
fn two_cores() {
    let inputs = [
        ("xt", normal(13, Dtype::BFLOAT16, &[256, 128], 1.0)),
        ("y", normal(14, Dtype::BFLOAT16, &[256, 256], 1.0)),
    ];
    let found = run("two_cores", &inputs, "z");
    let x = transpose(&to_f64(&inputs[0].1), 256, 128);
    assert_rounded("two_cores", &found, &matmul(&x, &to_f64(&inputs[1].1), 128, 256, 256));
    assert_eq!(program("two_cores").cores(), 2);
}

/// The committed references: what numpy wrote is what the same formulas give here, and what the programs give.
#[test]
fn committed_references() {
    let read = |name: &str| Tensor::open(&path(&format!("{name}.npy"))).unwrap();
    let [a, b, sum] = ["vector_add_a", "vector_add_b", "vector_add_out"].map(read);
    let sums: Vec<f64> = to_f64(&a).iter().zip(to_f64(&b)).map(|(a, b)| a + b).collect();
    assert!(sum == from_f64(Dtype::FP32, &sum.shape, &sums));
    assert!(run("vector_add", &[("a", a), ("b", b)], "out") == sum);

    let [x, y] = ["softmax_x", "softmax_y"].map(read);
    let mut exact = to_f64(&x);
    softmax_rows(&mut exact, 128);
    assert!(near(&to_f64(&y), &exact, 1e-7), "softmax_y.npy is not the softmax of softmax_x.npy");
    // The tolerance of the command in README.md.
    assert!(near(&to_f64(&run("softmax", &[("x", x)], "y")), &to_f64(&y), 1e-5));
}

/// Whether every element is as near to its exact value, relative to that.
fn near(found: &[f64], exact: &[f64], limit: f64) -> bool {
    found.len() == exact.len() && found.iter().zip(exact).all(|(a, b)| (a - b).abs() <= limit * b.abs())
}

/// The table in `examples/README.md` lists every program with its number of words.
#[test]
fn the_readme_counts_words() {
    let readme = std::fs::read_to_string(path("README.md")).unwrap();
    let rows: Vec<Vec<&str>> = readme
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells.len() > 4 && cells[1].starts_with('`'))
        .collect();
    let sources = std::fs::read_dir(path("")).unwrap().filter(|file| {
        let file = file.as_ref().unwrap().path();
        file.extension().is_some_and(|extension| extension == "s")
    });
    assert_eq!(rows.len(), sources.count());
    for cells in rows {
        let name = cells[1].trim_matches('`');
        let words: usize = assembled(name).positions.iter().flatten().map(Vec::len).sum();
        assert_eq!(cells[4], words.to_string(), "{name}");
    }
}
