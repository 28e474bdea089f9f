//! Interpreter and native code side by side: random legal words on random data must leave the same machine.
//!
//! `SEQJIT_DIFF_WORDS=N` sets how many words are run in all. A word that differs is shrunk to a minimal
//! sequence, which the failure prints as text and in hexadecimal.

mod control;
mod pair;
mod pe;
mod programs;
mod shrink;
#[path = "../common/state.rs"]
mod state;
mod words;

use std::collections::BTreeMap;
use std::sync::Mutex;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::isa::{EngineId, Generation, op, opcode_info};
use seqjit::{Engine, EngineOptions, Refusal};

use pair::Pair;
use words::Case;

/// Words in all, if nothing else is asked for.
const WORDS: u64 = 100_000;
/// Words of a batch: between two fillings of the memories.
const BATCH: usize = 256;
/// Words of one shape: same operators, datatypes and patterns, other addresses and immediates.
const VARIANTS: usize = 8;
/// Generations under test.
const GENERATIONS: [Generation; 4] =
    [Generation::Cayman, Generation::Mariana, Generation::Maverick, Generation::Sunda];

/// The words of a batch.
fn batch(generation: Generation, opcode: u8, seed: u64) -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut cases = Vec::with_capacity(BATCH);
    while cases.len() < BATCH {
        let shape = words::legal(&mut rng, generation, opcode);
        cases.extend((0..VARIANTS).map(|_| words::variant(&mut rng, &shape)));
    }
    cases
}

/// Runs words from a fresh start; the first difference: behind which word, and what.
fn run(pair: &mut Pair, cases: &[Case]) -> Option<(usize, String)> {
    cases.iter().enumerate().find_map(|(at, case)| Some((at, pair.run(case)?)))
}

/// What a comparison of many words has seen.
#[derive(Default)]
struct Outcome {
    translated: u64,
    called: u64,
    fallbacks: BTreeMap<Refusal, u64>,
    /// What differed.
    failure: Option<String>,
    /// The least words that show it.
    minimal: Vec<Case>,
}

impl Outcome {
    fn explain(&self) -> Option<String> {
        let words: Vec<String> = self.minimal.iter().map(shrink::describe).collect();
        Some(format!("{}\nshrinks to\n{}", self.failure.as_ref()?, words.join("\n")))
    }
}

/// Compares so many words of one opcode.
fn compare(engines: &[Engine], generation: Generation, opcode: u8, words: u64) -> Outcome {
    let mut seeds = ChaCha8Rng::seed_from_u64(u64::from(opcode) << 8 | generation as u64);
    let mut outcome = Outcome::default();
    for _ in 0..words.div_ceil(BATCH as u64) {
        if outcome.failure.is_some() {
            break;
        }
        let seed = seeds.next_u64();
        let cases = batch(generation, opcode, seed);
        let cores = words::cores(opcode);
        let mut pair = Pair::new(generation, engines, cores, seed);
        if let Some((at, difference)) = run(&mut pair, &cases) {
            outcome.failure = Some(difference);
            let fails =
                |cases: &[Case]| run(&mut Pair::new(generation, engines, cores, seed), cases).is_some();
            outcome.minimal = shrink::cases(cases[..=at].to_vec(), &fails);
            break;
        }
        // Words stay within bounds: nothing has changed elsewhere either.
        outcome.failure = pair.difference();
        outcome.translated += pair.translated();
        outcome.called += pair.called();
        pair.fallbacks(opcode)
            .into_iter()
            .for_each(|(why, n)| *outcome.fallbacks.entry(why).or_default() += n);
    }
    outcome
}

/// How many words to compare in all.
fn wanted() -> u64 {
    match std::env::var("SEQJIT_DIFF_WORDS") {
        Ok(text) => text.parse().expect("SEQJIT_DIFF_WORDS is a number of words"),
        Err(_) => WORDS,
    }
}

/// Every opcode that has native code on a generation, in that code and in the interpreter; opcodes are shared
/// out to as many threads as there are processors.
#[test]
fn every_opcode_agrees() {
    let engines = pair::engines(None);
    let all = GENERATIONS.into_iter().flat_map(|g| words::opcodes(g).into_iter().map(move |o| (g, o)));
    let tasks: Vec<(Generation, u8)> = all.collect();
    let each = wanted().div_ceil(tasks.len() as u64);
    println!("{} opcodes and generations, {each} words of each", tasks.len());
    let queue = Mutex::new(tasks.into_iter());
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some((generation, opcode)) = { queue.lock().unwrap().next() } {
            let name = format!("{generation} {}", opcode_info(opcode).unwrap().name);
            let outcome = compare(&engines, generation, opcode, each);
            let Outcome { translated, called, fallbacks, .. } = &outcome;
            println!("{name}: {translated} words in native code, {called} calls, {fallbacks:?}");
            let native = outcome.failure.is_none() && words::is_native(opcode);
            let left = if native { outcome.fallbacks.values().sum() } else { 0 };
            // Some wait for what does not come, and words of the sequencer are traced or checked one by one.
            let idle = native && outcome.translated < each / 5;
            let idle = idle.then(|| format!("{} words in native code", outcome.translated));
            let fallen = (left > each / 5).then(|| format!("{left} fallbacks: {:?}", outcome.fallbacks));
            let uncalled = outcome.failure.is_none() && words::is_called(opcode) && outcome.called < each / 5;
            let uncalled = uncalled.then(|| format!("{} calls", outcome.called));
            let found = outcome.explain().or(idle).or(fallen).or(uncalled);
            failures.lock().unwrap().extend(found.map(|what| format!("{name}: {what}")));
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    engines.iter().for_each(no_trapping_instruction);
}

/// A wrong lowering of any opcode is found, and shrinks to one word.
#[test]
fn a_wrong_lowering_is_found() {
    let mut opcodes = BTreeMap::new();
    for generation in GENERATIONS {
        let native = words::opcodes(generation).into_iter().filter(|o| words::can_be_spoilt(*o));
        for opcode in native {
            opcodes.entry(opcode).or_insert(generation);
        }
    }
    for (opcode, generation) in opcodes {
        let outcome = compare(&pair::engines(Some(opcode)), generation, opcode, 1000);
        let failure = outcome.explain().unwrap_or_else(|| panic!("nothing found in 0x{opcode:02x}"));
        assert_eq!(outcome.minimal.len(), 1, "0x{opcode:02x}: {failure}");
        println!("{failure}\n");
    }
}

/// Nothing in generated code can trap: no `ud2`, no integer division (design section 3 rule 3). Constants lie
/// behind the code, so that only what can be reached from its start is looked at.
fn no_trapping_instruction(engine: &Engine) {
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};
    let native = engine.native_code();
    assert!(!native.is_empty());
    for code in native {
        let mut returns = 0;
        for instruction in &mut Decoder::new(64, &code.bytes, DecoderOptions::NONE) {
            let mnemonic = instruction.mnemonic();
            let traps = matches!(mnemonic, Mnemonic::Ud2 | Mnemonic::Div | Mnemonic::Idiv);
            assert!(!traps, "{mnemonic:?} in the code of {:?}", code.shape);
            returns += usize::from(mnemonic == Mnemonic::Ret);
            if returns > 0 {
                break;
            }
        }
        assert_eq!(returns, 1, "{:?}", code.shape);
    }
}

/// Code is shared between words, engines and translators, and comes from one batch.
#[test]
fn equal_shapes_share_code() {
    let engine = Engine::new();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let case = words::legal(&mut rng, Generation::Cayman, op::MEMSET);
    let mut other = case.clone();
    // Another value, another engine.
    other.word.0[40] ^= rng.next_u32() as u8 | 1;
    other.engine = if case.engine == EngineId::Dve { EngineId::Pool } else { EngineId::Dve };
    for case in [&case, &other] {
        let mut pair = Pair::new(Generation::Cayman, std::slice::from_ref(&engine), 1, 0);
        assert_eq!(pair.run(case), None);
        assert_eq!(pair.translated(), 1);
    }
    assert_eq!(engine.cache_counters().shapes, 1);
}

/// A cache much too small for its words forgets code over and over, and results do not change.
#[test]
fn a_small_code_cache_changes_nothing() {
    let mut options = EngineOptions::default();
    options.code_limit = 64 << 10;
    let engine = Engine::with_options(options).unwrap();
    let outcome =
        compare(std::slice::from_ref(&engine), Generation::Cayman, op::TENSOR_SCALAR_ARITH_OP, 2000);
    assert_eq!(outcome.failure, None);
    let counters = engine.cache_counters();
    assert!(counters.evictions > 1, "{counters:?}");
    let bytes: usize = engine.native_code().iter().map(|code| code.bytes.len()).sum();
    assert!(bytes <= 64 << 10, "{bytes} bytes");
    let generation = engine.native_code()[0].generation;
    assert_eq!(generation, counters.evictions + 1);
}
