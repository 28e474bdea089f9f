//! CPU levels and background translation: neither changes what a program computes.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iced_x86::{CpuidFeature, Decoder, DecoderOptions, Mnemonic};
use seqjit::runtime::num::Level;
use seqjit::{Engine, EngineError, EngineOptions, Options, Program, Report, Session, Tensor, Tier};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|p| p.extension().is_some_and(|e| e == "neff")).collect()
}

fn session(engine: &Engine, program: &Program, tier: Tier) -> Session {
    let mut options = Options::default();
    options.tier = tier;
    let mut session = Session::new(engine, program, options).unwrap();
    session.set_random_inputs(7);
    session
}

fn outputs(session: &Session) -> Vec<Tensor> {
    session.program().outputs().iter().map(|io| session.output(&io.name).unwrap()).collect()
}

fn run(engine: &Engine, program: &Program, tier: Tier) -> (Report, Vec<Tensor>) {
    let mut session = session(engine, program, tier);
    (session.run().unwrap(), outputs(&session))
}

fn engine_of(cpu: Level) -> Engine {
    let mut options = EngineOptions::default();
    options.cpu = cpu;
    Engine::with_options(options).unwrap()
}

fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| *level <= Level::host())
}

#[test]
fn every_level_gives_the_same_bytes() {
    for path in examples() {
        let program = Program::open(&path).unwrap();
        let (report, expected) = run(&Engine::new(), &program, Tier::Interp);
        for level in levels() {
            for tier in [Tier::Interp, Tier::Jit] {
                let (at_level, found) = run(&engine_of(level), &program, tier);
                assert_eq!(at_level.counters, report.counters, "{} {level} {tier}", path.display());
                assert!(found == expected, "{} {level} {tier}", path.display());
            }
        }
    }
}

/// Words on several threads.
#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for path in examples() {
        let program = Program::open(&path).unwrap();
        let (report, expected) = run(&Engine::new(), &program, Tier::Interp);
        for threads in [2, 3, 7] {
            let mut options = EngineOptions::default();
            options.threads = NonZeroUsize::new(threads).unwrap();
            let engine = Engine::with_options(options).unwrap();
            let (split, found) = run(&engine, &program, Tier::Jit);
            assert_eq!(split.counters, report.counters, "{} {threads}", path.display());
            assert!(found == expected, "{} {threads}", path.display());
        }
    }
}

/// The first level that has everything an instruction needs; scalar instructions that every x86-64 has are `Baseline`.
fn needs(features: &[CpuidFeature]) -> Level {
    use CpuidFeature::*;
    let of = |feature: &CpuidFeature| match feature {
        INTEL8086 | INTEL186 | INTEL286 | INTEL386 | INTEL486 | X64 | CMOV | SSE | SSE2 | FPU => {
            Level::Baseline
        }
        SSE3 | SSSE3 | SSE4_1 | SSE4_2 | POPCNT | LZCNT | BMI1 | BMI2 | AVX | AVX2 | FMA => Level::Avx2,
        _ => Level::Avx512,
    };
    features.iter().map(of).max().unwrap_or(Level::Baseline)
}

/// Native code keeps to its level.
#[test]
fn native_code_has_no_instruction_above_its_level() {
    for level in levels() {
        let engine = engine_of(level);
        for path in examples() {
            run(&engine, &Program::open(&path).unwrap(), Tier::Jit);
        }
        let native = engine.native_code();
        assert!(!native.is_empty());
        let mut highest = Level::Baseline;
        for code in &native {
            for instruction in &mut Decoder::new(64, &code.bytes, DecoderOptions::NONE) {
                let needed = needs(instruction.code().cpuid_features());
                assert!(needed <= level, "{level}: {:?} {:?}", instruction.code(), code.shape);
                highest = highest.max(needed);
                // Constants lie behind the code.
                if instruction.mnemonic() == Mnemonic::Ret {
                    break;
                }
            }
        }
        assert_eq!(highest >= Level::Avx2, level >= Level::Avx2, "{level} makes a difference");
    }
}

#[test]
fn a_level_that_the_host_lacks_is_refused() {
    let host = Level::host();
    let Some(above) = Level::ALL.into_iter().find(|level| *level > host) else {
        eprintln!("SKIPPED: this CPU has every level");
        return;
    };
    let mut options = EngineOptions::default();
    options.cpu = above;
    assert_eq!(Engine::with_options(options).err(), Some(EngineError::Cpu { asked: above, host }));
}

/// Sessions go on in the interpreter until code is there, and then use it; a word that waited for its code in any other
/// way would go deeper than this stack.
#[test]
fn background_translation_changes_no_result() {
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(background_translation);
    thread.unwrap().join().unwrap();
}

fn background_translation() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/rmsnorm.neff");
    let program = Program::open(&path).unwrap();
    let (plain, expected) = run(&Engine::new(), &program, Tier::Interp);
    let mut options = EngineOptions::default();
    options.background = true;
    let engine = Engine::with_options(options).unwrap();
    // The compiling thread has much to do before it comes to the session's code.
    for path in examples().into_iter().filter(|other| *other != path) {
        run(&engine, &Program::open(path).unwrap(), Tier::Jit);
    }
    let mut session = session(&engine, &program, Tier::Jit);
    let foreground = run(&Engine::new(), &program, Tier::Jit).0.translations.words;
    let started = Instant::now();
    loop {
        let report = session.run().unwrap();
        assert_eq!(report.counters, plain.counters);
        assert!(outputs(&session) == expected);
        if report.translations.words == foreground {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", report.translations);
    }
    assert!(engine.cache_counters().shapes > 0);
}
