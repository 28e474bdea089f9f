//! Interpreter and native code side by side: random legal words on random data must leave the same bytes.

mod words;

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::interp::Translated;
use seqjit::runtime::isa::{EngineId, Generation, PARTITIONS, Space, op};
use seqjit::runtime::machine::{CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit::runtime::num::Fp8;
use seqjit::runtime::sequencer::{Limits, engine_turn_within};
use seqjit::{Engine, EngineOptions, Tier, Translator};

use words::{Case, REGISTERS, WINDOW};

/// Words of a test for each generation and opcode.
const WORDS: usize = 800;
/// Words between two fillings of the memories.
const REFILL: usize = 25;

fn machine(generation: Generation) -> Machine {
    let streams = std::array::from_fn(|_| Stream { base: 0, words: Arc::new([]), ends_gracefully: true });
    let core = CoreSpec {
        name: "diff".into(),
        streams,
        queues: Vec::new(),
        variables: Vec::new(),
        table_base: 0,
        physical: 0,
        dve_programs: None,
        fp8: Fp8::default(),
        table_sets: Vec::new(),
    };
    let image = Image { generation, cores: vec![Arc::new(core)], buffers: Vec::new() };
    Machine::new(&image, MachineOptions { strict: false, ..MachineOptions::default() })
}

/// Fills what words use of both memories of two machines with the same data.
fn fill(machines: [&mut Machine; 2], rng: &mut ChaCha8Rng) {
    let mut row = vec![0; WINDOW as usize];
    let [a, b] = machines;
    for space in [Space::Sbuf, Space::Psum] {
        for partition in 0..PARTITIONS {
            row.chunks_exact_mut(4).for_each(|e| e.copy_from_slice(&words::number(rng).to_le_bytes()));
            for machine in [&mut *a, &mut *b] {
                let to = machine.cores[0].memory_mut(space).partition_mut(partition);
                to[..WINDOW as usize].copy_from_slice(&row);
            }
        }
    }
}

/// Runs one word, on the engine of the case.
fn run(machine: &mut Machine, case: &Case, translated: Option<&dyn Translated>) {
    let engine = &mut machine.cores[0].engines[case.engine.index()];
    engine.code = Arc::new([case.instruction()]);
    engine.pc = 0;
    engine.registers[..REGISTERS].copy_from_slice(&case.registers);
    let limits = Limits { translated, ..Limits::default() };
    let turn = engine_turn_within(machine, 0, case.engine, 1, &limits).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(turn.retired, 1);
}

fn row(machine: &Machine, space: Space, partition: usize, bytes: usize) -> &[u8] {
    let row = machine.cores[0].memory(space).partition(partition);
    &row[..bytes.min(row.len())]
}

/// The first difference of two memories: where, and both bytes.
fn difference(a: &Machine, b: &Machine, bytes: usize) -> Option<String> {
    [Space::Sbuf, Space::Psum].into_iter().find_map(|space| {
        (0..PARTITIONS).find_map(|partition| {
            let (a, b) = (row(a, space, partition, bytes), row(b, space, partition, bytes));
            let at = a.iter().zip(b).position(|(a, b)| a != b)?;
            Some(format!("{space} partition {partition} byte {at}: {:02x} and {:02x}", a[at], b[at]))
        })
    })
}

/// What a comparison of many words has seen.
#[derive(Default)]
struct Outcome {
    translated: u64,
    refused: BTreeMap<String, u64>,
    /// The first word that differed, and where.
    failure: Option<(String, String)>,
}

fn compare(generation: Generation, opcode: u8, engine: &Engine, words: usize, check: bool) -> Outcome {
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(opcode) << 8 | generation as u64);
    let (mut plain, mut native) = (machine(generation), machine(generation));
    plain.start_all();
    native.start_all();
    let translator = Translator::new(engine, Tier::Jit);
    let mut outcome = Outcome::default();
    for number in 0..words {
        if number % REFILL == 0 {
            fill([&mut plain, &mut native], &mut rng);
        }
        let case = words::legal(&mut rng, generation, opcode);
        run(&mut plain, &case, None);
        run(&mut native, &case, Some(&translator));
        // Words stay in the window; that they do is looked at now and then.
        let everything = check && number % 100 == 99;
        let bytes = if everything { usize::MAX } else { 2 * WINDOW as usize };
        if let Some(where_) = difference(&plain, &native, bytes) {
            let decoded = format!("{:?}", case.instruction().body.unwrap().operands);
            outcome.failure = Some((format!("{} {decoded}", case.word.to_hex()), where_));
            break;
        }
    }
    let counters = translator.counters();
    outcome.translated = counters.words;
    outcome.refused = counters.fallbacks.iter().map(|(why, n)| (why.to_string(), *n)).collect();
    outcome
}

fn agree(generation: Generation) {
    let engine = Engine::new();
    for opcode in words::opcodes() {
        let outcome = compare(generation, opcode, &engine, WORDS, true);
        println!("{generation} 0x{opcode:02x}: {} in native code, {:?}", outcome.translated, outcome.refused);
        if let Some((word, place)) = outcome.failure {
            panic!("{generation} 0x{opcode:02x}: {place}\n{word}");
        }
        assert!(
            outcome.translated > WORDS as u64 * 8 / 10,
            "{generation} 0x{opcode:02x}: {:?}",
            outcome.refused
        );
    }
    no_trapping_instruction(&engine);
}

#[test]
fn sunda() {
    agree(Generation::Sunda);
}

#[test]
fn cayman() {
    agree(Generation::Cayman);
}

#[test]
fn maverick() {
    agree(Generation::Maverick);
}

/// A wrong lowering of any opcode is found.
#[test]
fn a_wrong_lowering_is_found() {
    for opcode in words::opcodes() {
        let outcome = compare(Generation::Cayman, opcode, &Engine::with_defect(opcode), 200, false);
        assert!(outcome.failure.is_some(), "0x{opcode:02x}");
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
    let mut other = words::legal(&mut rng, Generation::Cayman, op::MEMSET);
    other.word = case.word;
    other.registers = case.registers;
    // Another value, another engine.
    other.word.0[40] ^= rng.next_u32() as u8 | 1;
    other.engine = if case.engine == EngineId::Dve { EngineId::Pool } else { EngineId::Dve };
    for case in [&case, &other] {
        let mut machine = machine(Generation::Cayman);
        machine.start_all();
        let translator = Translator::new(&engine, Tier::Jit);
        run(&mut machine, case, Some(&translator));
        assert_eq!(translator.counters().words, 1);
    }
    assert_eq!(engine.cache_counters().shapes, 1);
}

/// A cache much too small for its words forgets code over and over, and results do not change.
#[test]
fn a_small_code_cache_changes_nothing() {
    let mut options = EngineOptions::default();
    options.code_limit = 64 << 10;
    let engine = Engine::with_options(options).unwrap();
    let outcome = compare(Generation::Cayman, op::CAST, &engine, 200, false);
    assert_eq!(outcome.failure, None);
    let counters = engine.cache_counters();
    assert!(counters.evictions > 1, "{counters:?}");
    let bytes: usize = engine.native_code().iter().map(|code| code.bytes.len()).sum();
    assert!(bytes <= 64 << 10, "{bytes} bytes");
    let generation = engine.native_code()[0].generation;
    assert_eq!(generation, counters.evictions + 1);
}
