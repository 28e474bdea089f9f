//! From a file to the first word: opening, checking, machine and first word, each with its share.
//!
//! `cargo bench --bench startup`. One stream of 262,983 words, of which 64 differ, and the largest programs of the
//! test data. Each figure is the median of several rounds; a round opens the file anew.

#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use seqjit::neff::{Neff, NeffBuilder, ReadOptions};
use seqjit::runtime::interp::Instruction;
use seqjit::runtime::isa::{EngineId, Generation, Word};
use seqjit::{Engine, Options, Program, Session, Until, asm};

/// Words of the longest program known (chapter 08 section 5.4).
const WORDS: usize = 262_983;
const ROUNDS: usize = 7;
const STAGES: [&str; 6] = ["read", "lay out", "check", "session", "first word", "total"];

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// A container with one long stream.
fn long() -> Vec<u8> {
    let text = "program long for cayman
         prologue
         output done fp32[128, 1]
         table addresses = [done]
         queue qSPDynamicHW dynamic SP
         sbuf a fp32[64]
         sbuf b fp32[64]
         sbuf zero fp32[1]
         DVE init: MEMSET value=0 dtype=FP32 dst=zero channels=128
         repeat i in 0..64 {
             DVE TENSOR_SCALAR ops=MULTIPLY,ADD imm=2.0,1.0 src=a[0:i + 1] dst=b[0:i + 1] channels=128
         }
         SP store: DMA zero -> done   after init
         SP NOP   after store";
    let bytes = asm::assemble_program(text, Path::new("long.s")).expect("the text is well formed");
    let template = Neff::read(&bytes, &ReadOptions::default()).expect("the assembler makes a container");
    let known: Vec<Word> = template.graphs[0].words(EngineId::Dve).collect();
    let tail = known.iter().rev().take_while(|w| w.opcode() != 0x43).count();
    let (head, tail) = known.split_at(known.len() - tail);
    let repeated = &head[head.len() - 64..];
    let more = repeated.iter().cycle().take(WORDS - known.len());
    let stream: Vec<u8> = head.iter().chain(more).chain(tail).flat_map(|w| w.0).collect();
    let mut builder = NeffBuilder::from_neff(&template);
    builder.graphs[0].engines[EngineId::Dve.index()].stream = stream.into();
    builder.build(&ReadOptions::default()).expect("the parts make a container").write()
}

/// Times of the stages of one round, the file in the cache of the system.
fn round(file: &Path) -> [Duration; 6] {
    let mut times = [Duration::ZERO; 6];
    let began = Instant::now();
    let mut last = began;
    let mut stage = |at: usize| {
        times[at] = last.elapsed();
        last = Instant::now();
    };
    let neff = Neff::open(file, &ReadOptions::default()).expect("a container");
    stage(0);
    let program = Program::from_neff(neff).expect("a program");
    stage(1);
    assert!(program.check(true).iter().all(|f| !f.is_fatal()), "the words are legal");
    stage(2);
    let mut session = Session::new(&Engine::new(), &program, Options::default()).expect("legal words");
    stage(3);
    let inputs = Instant::now();
    session.set_random_inputs(1);
    let inputs = inputs.elapsed();
    session.run_until(Until::Words(1)).unwrap_or_else(|error| panic!("{error}"));
    stage(4);
    times[4] -= inputs;
    times[5] = began.elapsed() - inputs;
    times
}

fn measure(name: &str, file: &Path) {
    let rounds: Vec<_> = (0..ROUNDS).map(|_| round(file)).collect();
    let of = |at: usize| median(rounds.iter().map(|times| times[at]).collect());
    let figures: Vec<String> = (0..STAGES.len()).map(|at| format!("{:>11.2}", of(at))).collect();
    println!("{name:<32}{}", figures.concat());
}

/// Decoding alone.
fn decoding(file: &Path) {
    let neff = Neff::open(file, &ReadOptions::default()).expect("a container");
    let words: Vec<Word> = neff.graphs[0].words(EngineId::Dve).collect();
    let times = (0..ROUNDS).map(|_| {
        let started = Instant::now();
        let decoded: Vec<_> = words.iter().map(|w| Instruction::new(*w, Generation::Cayman)).collect();
        assert!(decoded.iter().all(|w| w.body.is_ok()));
        started.elapsed()
    });
    println!("decoding {} words: {:.2} ms", words.len(), median(times.collect()));
}

fn main() {
    let folder = tempfile::tempdir().expect("a place for the long program");
    let file = folder.path().join("long.neff");
    std::fs::write(&file, long()).expect("the long program can be written");
    decoding(&file);
    println!("{:<32}{}", "ms", STAGES.map(|stage| format!("{stage:>11}")).concat());
    measure("long", &file);
    let data = std::env::var_os("SEQJIT_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    for name in ["trn2_conv2d_4_float32", "trn2_conv2d_4_float16", "trn1_autocomp_2", "fused_fp32_s512"] {
        let file = data.join(format!("neffs/{name}.neff"));
        if file.is_file() {
            measure(name, &file);
        } else {
            println!("SKIPPED: {name}: no such file in the test data");
        }
    }
}
