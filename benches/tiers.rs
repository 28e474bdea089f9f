//! Interpreter and native code on the same words, alternating in one run: medians, and their ratio.
//!
//! `cargo bench --bench tiers`. The words are one program of 12 equal words on a [128 x COLUMNS] tile; what is
//! left when the time of the same program with one word is taken off includes sequencer and waits.

#![allow(missing_docs)]

use std::path::Path;
use std::time::Instant;

use seqjit::{Engine, Options, Program, Session, Tier, asm};

/// Pairs of runs.
const PAIRS: usize = 15;
/// Words of a family's program: few, so that a run is over before the scheduler takes the processor away.
const WORDS: usize = 12;

const FAMILIES: [(&str, &str); 17] = [
    ("tensor_tensor add", "DVE TENSOR_TENSOR op=ADD src0=a src1=b dst=out channels=128"),
    ("tensor_tensor pow", "POOL TENSOR_TENSOR op=POW src0=a src1=b dst=out channels=128"),
    ("tensor_scalar mult add", "DVE TENSOR_SCALAR ops=MULTIPLY,ADD imm=2.0,1.0 src=a dst=out channels=128"),
    ("copy", "DVE COPY src=a dst=out channels=128"),
    ("cast fp32 to bf16", "DVE CAST src=a dst=half channels=128"),
    ("cast bf16 to fp32", "DVE CAST src=half dst=out channels=128"),
    ("cast fp32 to fp16", "DVE CAST src=a dst=half16 channels=128"),
    ("cast fp16 to fp32", "DVE CAST src=half16 dst=out channels=128"),
    ("cast fp32 to fp8", "DVE CAST src=a dst=quarter channels=128"),
    ("cast fp8 to fp32", "DVE CAST src=quarter dst=out channels=128"),
    ("reciprocal", "DVE RECIPROCAL src=a dst=out channels=128"),
    ("memset", "DVE MEMSET value=1.5 dtype=FP32 dst=out channels=128"),
    ("sum along the row", "DVE TENSOR_REDUCE op=ADD dim=X src=a dst=column channels=128"),
    ("max along the row", "DVE TENSOR_REDUCE op=MAX dim=X src=a dst=column channels=128"),
    (
        "exp from a table",
        "ACT ACTIVATE EXP bias_ptr=zero src=a dst=out channels=128 scale=1.0 accumulator_cmd=IDLE",
    ),
    (
        "exp with sums",
        "ACT ACTIVATE EXP bias_ptr=zero src=a dst=out channels=128 scale=1.0 accumulator_cmd=ZERO_ACCUMULATE",
    ),
    (
        "tanh by definition",
        "ACT ACTIVATE TANH bias_ptr=zero src=a dst=out channels=128 scale=1.0 accumulator_cmd=IDLE",
    ),
];

fn program(columns: usize, word: &str, words: usize) -> Program {
    // Equal words would run as one: a NOP keeps each by itself.
    let engine = word.split(' ').next().unwrap_or_default();
    let text = format!(
        "program bench for cayman
         prologue
         input x fp32[128, {columns}]
         output done fp32[128, 1]
         table addresses = [x, done]
         activation exponential(exp)
         queue qSPDynamicHW dynamic SP
         sbuf a fp32[{columns}]
         sbuf b fp32[{columns}]
         sbuf out fp32[{columns}]
         sbuf half bfloat16[{columns}]
         sbuf half16 fp16[{columns}]
         sbuf quarter fp8_e4m3[{columns}]
         sbuf column fp32[1]
         sbuf zero fp32[1]
         DVE init: MEMSET value=0 dtype=FP32 dst=zero channels=128
         ACT ACT_TABLE_LOAD table_sel=0
         SP first: DMA x -> a
         SP second: DMA x -> b   after first
         repeat i in 0..{words} {{
             {word} after second
             {engine} NOP
         }}
         SP store: DMA zero -> done   after init
         SP NOP   after store"
    );
    let bytes = asm::assemble_program(&text, Path::new("bench.s")).expect("the bench program is well formed");
    Program::from_bytes(&bytes, &Default::default()).expect("the assembler makes a container")
}

fn session(engine: &Engine, program: &Program, tier: Tier) -> Session {
    let mut options = Options::default();
    options.tier = tier;
    let mut session = Session::new(engine, program, options).expect("the bench program is legal");
    session.set_random_inputs(1);
    session.run().expect("the bench program runs");
    session
}

fn nanoseconds(session: &mut Session) -> f64 {
    let started = Instant::now();
    session.run().expect("the bench program runs");
    started.elapsed().as_nanos() as f64
}

/// Microseconds of a word: what all words take more than one of them.
fn per_word([all, one]: &mut [Session; 2]) -> f64 {
    (nanoseconds(all) - nanoseconds(one)) / (WORDS - 1) as f64 / 1000.0
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    println!("{:<24} {:>7} {:>12} {:>12} {:>7}", "family", "columns", "interp us", "native us", "ratio");
    // `-- TEXT` runs only families with this text in their names.
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    for (name, word) in FAMILIES.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        for columns in [512, 2048] {
            let engine = Engine::new();
            let programs = [WORDS, 1].map(|words| program(columns, word, words));
            let sessions = |tier| programs.each_ref().map(|program| session(&engine, program, tier));
            let (mut plain, mut native) = (sessions(Tier::Interp), sessions(Tier::Jit));
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for _ in 0..PAIRS {
                a.push(per_word(&mut plain));
                b.push(per_word(&mut native));
            }
            let (a, b) = (median(a), median(b));
            println!("{name:<24} {columns:>7} {a:>12.2} {b:>12.2} {:>7.2}", a / b);
        }
    }
}
