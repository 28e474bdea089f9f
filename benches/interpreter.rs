//! The interpreter: words of each family at every CPU level beside a plain Rust loop over the same data,
//! whole example programs, and opening containers.
//!
//! One criterion run measures all sides of a ratio; `benches/README.md` says how to read them.

#![allow(missing_docs)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use seqjit::runtime::num::{Level, with_level};
use seqjit::{Engine, Options, Program, Session, asm};

/// Lanes and columns of the tiles that the families work on.
const LANES: usize = 128;
const COLUMNS: usize = 512;

/// A family: its name, the words that one run executes, the work of a run in elements (multiply-adds for
/// the matrix product), and the same computation as a loop over rows in plain Rust.
struct Family {
    name: &'static str,
    body: &'static str,
    words: usize,
    work: usize,
    plain: fn(&Tile, &mut [f32]),
}

/// Operands of the plain loops, row-major `[LANES][COLUMNS]`.
struct Tile {
    a: Vec<f32>,
    b: Vec<f32>,
}

const FAMILIES: [Family; 5] = [
    Family {
        name: "tensor_tensor",
        body: "repeat i in 0..64 {
                   DVE TENSOR_TENSOR op=ADD src0=a src1=b dst=out channels=128
               }",
        words: 64,
        work: LANES * COLUMNS,
        plain: |t, out| t.a.iter().zip(&t.b).zip(out).for_each(|((a, b), out)| *out = a + b),
    },
    Family {
        name: "tensor_scalar",
        body: "repeat i in 0..64 {
                   DVE TENSOR_SCALAR ops=MULTIPLY,ADD imm=2.0,1.0 src=a dst=out channels=128
               }",
        words: 64,
        work: LANES * COLUMNS,
        plain: |t, out| t.a.iter().zip(out).for_each(|(a, out)| *out = a * 2.0 + 1.0),
    },
    Family {
        name: "tensor_reduce",
        body: "repeat i in 0..64 {
                   DVE TENSOR_REDUCE op=ADD dim=X src=a dst=sum channels=128
               }",
        words: 64,
        work: LANES * COLUMNS,
        plain: |t, out| {
            t.a.chunks(COLUMNS).zip(out).for_each(|(row, out)| *out = row.iter().fold(0.0, |s, v| s + v));
        },
    },
    Family {
        name: "activation_exp",
        body: "repeat i in 0..16 {
                   ACT ACTIVATE EXP bias_ptr=zero src=a dst=out channels=128 scale=1.0 accumulator_cmd=IDLE after init
               }",
        words: 16,
        work: LANES * COLUMNS,
        plain: |t, out| t.a.iter().zip(out).for_each(|(a, out)| *out = a.exp()),
    },
    Family {
        name: "matmul_bf16",
        body: "PE LDWEIGHTS transpose_mode=DISABLED src=m[0:128] 128*128
               repeat i in 0..8 {
                   PE MATMUL acc_flags=3 src=m dst=acc 128*128
               }",
        words: 8,
        work: LANES * LANES * COLUMNS,
        plain: |t, out| {
            out.fill(0.0);
            for (r, moving) in t.a.chunks(COLUMNS).enumerate() {
                for (c, line) in out.chunks_mut(COLUMNS).enumerate() {
                    let weight = t.b[r * COLUMNS + c];
                    line.iter_mut().zip(moving).for_each(|(out, x)| *out += weight * x);
                }
            }
        },
    },
];

fn family_program(body: &str) -> Program {
    let text = format!(
        "program bench for cayman
         prologue
         output done fp32[128, 1]
         table addresses = [done]
         queue qSPDynamicHW dynamic SP
         activation exponential(exp)
         sbuf a fp32[{COLUMNS}]
         sbuf b fp32[{COLUMNS}]
         sbuf m bfloat16[{COLUMNS}]
         sbuf out fp32[{COLUMNS}]
         sbuf sum fp32[1]
         sbuf zero fp32[1]
         psum acc fp32[{COLUMNS}]
         DVE init: MEMSET value=0 dtype=FP32 dst=zero channels=128
         ACT ACT_TABLE_LOAD table_sel=0
         {body}
         SP store: DMA zero -> done   after init
         SP NOP   after store"
    );
    let bytes = asm::assemble_program(&text, Path::new("bench.s")).expect("the bench program is well formed");
    Program::from_bytes(&bytes, &Default::default()).expect("the assembler makes a container")
}

fn session(program: &Program) -> Session {
    let mut session = Session::new(&Engine::new(), program, Options::default()).expect("legal words");
    session.set_random_inputs(1);
    session
}

/// The time of `runs` runs without making sessions.
fn time_runs(program: &Program, runs: u64) -> Duration {
    let mut session = session(program);
    let mut total = Duration::ZERO;
    for _ in 0..runs {
        let start = Instant::now();
        session.run().expect("the program ends");
        total += start.elapsed();
    }
    total
}

fn families(c: &mut Criterion) {
    let tile = Tile {
        a: (0..LANES * COLUMNS).map(|i| (i % 251) as f32 / 64.0 - 2.0).collect(),
        b: (0..LANES * COLUMNS).map(|i| (i % 127) as f32 / 32.0 - 2.0).collect(),
    };
    for family in &FAMILIES {
        let mut group = c.benchmark_group(family.name);
        group.throughput(Throughput::Elements((family.words * family.work) as u64));
        let program = family_program(family.body);
        for level in Level::ALL.into_iter().filter(|level| *level <= Level::host()) {
            group.bench_function(format!("interpreter/{level:?}"), |bench| {
                bench.iter_custom(|runs| with_level(level, || time_runs(&program, runs)));
            });
        }
        let mut out = vec![0.0; LANES * COLUMNS];
        group.bench_function("plain", |bench| {
            bench.iter(|| {
                for _ in 0..family.words {
                    (family.plain)(black_box(&tile), black_box(&mut out));
                }
            });
        });
        group.finish();
    }
}

/// Containers of the repository, then those of the test data that are present.
fn programs() -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = std::env::var_os("SEQJIT_DATA").map_or_else(|| root.join("../shared/data"), Into::into);
    let mut found = Vec::new();
    for (folder, names) in [
        (root.join("examples"), ["softmax", "attention", "matmul_bf16"]),
        (data.join("neffs"), ["trn2_transpose_1024", "fused_fp32_s512", "trn2_conv2d_4_float32_smaller"]),
    ] {
        for name in names {
            match std::fs::read(folder.join(name).with_extension("neff")) {
                Ok(bytes) => found.push((name.to_owned(), bytes)),
                Err(error) => eprintln!("SKIPPED: {name}: {error}"),
            }
        }
    }
    found
}

fn whole_programs(c: &mut Criterion) {
    let mut group = c.benchmark_group("run");
    group.sample_size(10);
    for (name, bytes) in programs() {
        let program = Program::from_bytes(&bytes, &Default::default()).expect("a program that runs");
        let words = session(&program).run().expect("the program ends").counters.retired;
        group.throughput(Throughput::Elements(words));
        group.bench_function(&name, |bench| bench.iter_custom(|runs| time_runs(&program, runs)));
    }
    group.finish();
    let mut group = c.benchmark_group("open");
    for (name, bytes) in programs() {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(&name, |bench| {
            bench.iter(|| Program::from_bytes(black_box(&bytes), &Default::default()).map(|p| p.cores()));
        });
    }
    group.finish();
}

criterion_group!(benches, families, whole_programs);
criterion_main!(benches);
