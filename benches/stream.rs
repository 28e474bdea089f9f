//! A stream as long and as repetitive as those of large models: what a first visit of each word costs.
//!
//! `cargo bench --bench stream`. One million words of three engines, 60 shapes, 128 lanes of 4 to 16 elements; every word posts a
//! semaphore, every eighth waits for another engine. The program is made with the library from seed 1. Sizes and tiers run in
//! processes of their own, so that the peak of memory is that of one run: container, decoded words, plans, machine.

#![allow(missing_docs)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::neff::{Neff, NeffBuilder, ReadOptions};
use seqjit::runtime::isa::field::{Field, Kind, UpdateMode, WaitMode};
use seqjit::runtime::isa::{EngineId, Events, Generation, Word, decode};
use seqjit::{Engine, Options, Program, Session, Tier, asm};

/// Sizes: the plans of the middle one show what grows with the number of words.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// Runs of a size and a tier; the middle one counts.
const RUNS: usize = 3;
/// Shapes of an engine.
const SHAPES: usize = 20;
/// Engines that compute, and the semaphore that each posts.
const ENGINES: [(EngineId, u8); 3] = [(EngineId::Act, 200), (EngineId::Dve, 201), (EngineId::Pool, 202)];

/// One word of each shape of each engine, with what a program needs around them.
fn template() -> Neff {
    let mut lines = String::new();
    for (engine, _) in ENGINES {
        for shape in 0..SHAPES {
            let n = 4 + shape * 12 / (SHAPES - 1);
            let name = engine.name();
            let line = match shape % 4 {
                0 => format!("TENSOR_SCALAR ops=MULTIPLY,ADD imm=2.0,1.0 src=a[0:{n}] dst=b[0:{n}]"),
                1 => format!("CAST src=a[0:{n}] dst=half[0:{n}]"),
                2 if engine != EngineId::Act => {
                    format!("TENSOR_TENSOR op=ADD src0=a[0:{n}] src1=c[0:{n}] dst=b[0:{n}]")
                }
                2 => format!("COPY src=a[0:{n}] dst=b[0:{n}]"),
                // ACT has few pairs of operators.
                _ => {
                    let ops = if engine == EngineId::Act { "ADD,BYPASS" } else { "SUBTRACT,MAX" };
                    format!("TENSOR_SCALAR ops={ops} imm=0.5,0.0 src=a[0:{n}] dst=b[0:{n}]")
                }
            };
            lines += &format!("{name} {line} channels=128\n");
        }
    }
    let text = format!(
        "program stream for cayman
         prologue
         output done fp32[128, 1]
         table addresses = [done]
         queue qSPDynamicHW dynamic SP
         sbuf a fp32[64]
         sbuf b fp32[64]
         sbuf c fp32[64]
         sbuf half bfloat16[64]
         sbuf zero fp32[1]
         DVE init: MEMSET value=0 dtype=FP32 dst=zero channels=128
         {lines}
         SP store: DMA zero -> done   after init
         SP NOP   after store"
    );
    let bytes = asm::assemble_program(&text, Path::new("stream.s")).expect("the template is well formed");
    Neff::read(&bytes, &ReadOptions::default()).expect("the assembler makes a container")
}

/// A program of so many words.
fn program(words: usize) -> Program {
    let template = template();
    let mut builder = NeffBuilder::from_neff(&template);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let each = words / ENGINES.len();
    for (position, (engine, semaphore)) in ENGINES.into_iter().enumerate() {
        let before = ENGINES[(position + 1) % ENGINES.len()].1;
        let known: Vec<Word> = template.graphs[0].words(engine).collect();
        // The words of the template stand together, behind what starts the program.
        let first = known.len() - SHAPES - known.iter().rev().take_while(|w| !computes(w)).count();
        let (head, rest) = known.split_at(first);
        let (shapes, tail) = rest.split_at(SHAPES);
        let mut stream: Vec<u8> = Vec::with_capacity(64 * (each + known.len()));
        stream.extend(head.iter().flat_map(|w| w.0));
        for number in 0..each {
            let mut word = shapes[rng.random_range(0..SHAPES)];
            place(&mut word, &mut rng);
            let waits = number % 8 == 7;
            let events = Events {
                wait_mode: if waits { WaitMode::SEM_GE_IMM } else { WaitMode::NONE },
                wait_idx: before,
                update_mode: UpdateMode::SEM_INC_COMPLETE,
                update_idx: semaphore,
                value: number.saturating_sub(64) as u32,
            };
            events.write(&mut word.0[4..12]);
            stream.extend(word.0);
        }
        stream.extend(tail.iter().flat_map(|w| w.0));
        builder.graphs[0].engines[engine.index()].stream = stream.into();
    }
    let neff = builder.build(&ReadOptions::default()).expect("the parts make a container");
    Program::from_neff(neff).expect("the program can be loaded")
}

fn computes(word: &Word) -> bool {
    (0x41..0x49).contains(&word.opcode())
}

/// Gives each tensor of a word a place of its own: sources and destination in different quarters of a partition.
fn place(word: &mut Word, rng: &mut ChaCha8Rng) {
    let decoded = decode(word, Generation::Cayman).expect("a word of the template");
    let fields = decoded.operands.layout().def().fields.iter();
    for (quarter, field) in (0u32..).zip(fields.filter(|f| matches!(f.kind, Kind::Tensor(_)))) {
        let address = 0x4000 * (quarter + 1) + 16 * rng.random_range(0..1000u32);
        word.0[field.offset..field.offset + 4].copy_from_slice(&address.to_le_bytes());
    }
}

/// Most bytes of memory that this process has had.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0)
}

/// One run in a fresh engine and session: its time, with theirs; shapes, time of translation, peak of memory.
fn measure(words: usize, tier: Tier) {
    let program = program(words);
    let started = Instant::now();
    let mut options = Options::default();
    options.tier = tier;
    let session = Session::new(&Engine::new(), &program, options);
    let mut session = session.unwrap_or_else(|_| panic!("the stream has illegal words"));
    let made = started.elapsed().as_nanos();
    let report = session.run().expect("the program ends");
    let nanoseconds = started.elapsed().as_nanos();
    let t = &report.translations;
    println!("{nanoseconds} {made} {} {} {}", t.shapes, t.translate_ns, peak_memory());
}

/// [`measure`] in a process of its own; the median by time.
fn measured(words: usize, tier: Tier) -> [u64; 5] {
    let this = std::env::current_exe().expect("this program has a path");
    let mut runs: Vec<[u64; 5]> = (0..RUNS)
        .map(|_| {
            let child = Command::new(&this).args(["--one", &words.to_string(), tier.name()]).output();
            let text = String::from_utf8(child.expect("this program runs").stdout).expect("numbers");
            let mut numbers = text.split_whitespace().map(|n| n.parse().expect("a number"));
            std::array::from_fn(|_| numbers.next().expect("five numbers"))
        })
        .collect();
    runs.sort_unstable();
    runs[RUNS / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, one, words, tier] = arguments.as_slice()
        && one == "--one"
    {
        return measure(words.parse().expect("a number of words"), tier.parse().expect("a tier"));
    }
    println!(
        "{:>9} {:>12} {:>12} {:>7} {:>7} {:>13} {:>12}",
        "words", "interp ms", "auto ms", "ratio", "shapes", "translate us", "peak bytes"
    );
    let mut peaks = Vec::new();
    for words in SIZES {
        let [plain, ..] = measured(words, Tier::Interp);
        let [cold, _, shapes, translate, peak] = measured(words, Tier::Auto);
        let (a, b) = (plain as f64, cold as f64);
        println!(
            "{words:>9} {:>12.1} {:>12.1} {:>7.2} {shapes:>7} {:>13} {peak:>12}",
            a / 1e6,
            b / 1e6,
            a / b,
            translate / 1000
        );
        peaks.push(peak);
    }
    let (first, last) = (SIZES[0], SIZES[SIZES.len() - 1]);
    let grown = peaks[peaks.len() - 1] - peaks[0];
    println!("{} bytes of memory a word", grown / (last - first) as u64);
}
