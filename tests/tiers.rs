//! Whole programs leave the same machine behind in every tier, under every schedule.

mod common;
#[path = "common/state.rs"]
mod state;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use seqjit::runtime::isa::{Family, opcode_info};
use seqjit::runtime::machine::Machine;
use seqjit::runtime::num::Level;
use seqjit::{
    Engine, EngineOptions, Exit, Options, Program, Report, Schedule, Session, Tier, Translations, Until,
};

/// Words retired by a program that is run in the long test only.
const LARGE: u64 = 10_000;

fn assert_same(name: &str, a: &Machine, b: &Machine) {
    if let Some(found) = state::difference(a, b) {
        panic!("{name}: {found}");
    }
}

/// An engine for each CPU level of this host, and one that splits words among threads.
fn engines() -> impl Iterator<Item = Engine> {
    let levels = Level::ALL.into_iter().filter(|level| *level <= Level::host()).map(|level| (level, 1));
    levels.chain([(Level::host(), 2)]).map(|(level, threads)| {
        let mut options = EngineOptions::default();
        options.cpu = level;
        options.threads = NonZeroUsize::new(threads).unwrap();
        Engine::with_options(options).unwrap()
    })
}

fn session(engine: &Engine, program: &Program, tier: Tier, schedule: Schedule, check: bool) -> Session {
    let mut options = Options::default();
    options.tier = tier;
    options.schedule = schedule;
    options.check = check;
    let mut session = Session::new(engine, program, options).unwrap();
    session.set_random_inputs(1);
    session
}

fn run(engine: &Engine, program: &Program, tier: Tier, schedule: Schedule) -> (Report, Session) {
    let mut session = session(engine, program, tier, schedule, false);
    let report = session.run().unwrap();
    assert_eq!(report.exit, Exit::Finished);
    (report, session)
}

fn examples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn examples() -> Vec<PathBuf> {
    neffs(&examples_folder())
}

fn neffs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "neff")).collect();
    found.sort();
    found
}

/// Runs one program in every tier, at every level of the host, under a fixed schedule and two drawn ones; all of
/// the machine must be the same at its end, and all counts. Returns what native code made of it.
fn same_in_every_tier(name: &str, program: &Program) -> Translations {
    let mut last = Translations::default();
    let engines: Vec<Engine> = engines().collect();
    for schedule in [Schedule::Seeded(1), Schedule::Seeded(2), Schedule::Fixed] {
        let (plain, interpreted) = run(&Engine::new(), program, Tier::Interp, schedule);
        for engine in &engines {
            let EngineOptions { cpu: level, threads, .. } = engine.options();
            let tiers: &[Tier] = match (level == Level::host(), schedule) {
                (true, _) if threads.get() > 1 => &[Tier::Jit],
                (true, _) => &[Tier::Auto, Tier::Jit],
                // What a level computes does not depend on the order of turns.
                (false, Schedule::Fixed) => &[Tier::Interp, Tier::Jit],
                (false, _) => &[],
            };
            for tier in tiers {
                let (report, session) = run(engine, program, *tier, schedule);
                let name = format!("{name}: {tier}, {schedule:?}, {level:?}, {threads} threads");
                assert_eq!(report.counters, plain.counters, "{name}");
                assert_same(&name, session.machine(), interpreted.machine());
                let t = report.translations;
                let counted = t.words + t.interpreted + t.calls + t.fallbacks.values().sum::<u64>();
                let retired = report.counters.retired;
                assert!(*tier == Tier::Interp || counted >= retired, "{name}: {counted} words of {retired}");
                last = t;
            }
        }
    }
    last
}

/// What became of the words of a program under `jit`, on one line.
fn told(name: &str, t: &Translations) -> String {
    let fallbacks: Vec<_> = t.fallbacks.iter().map(|(why, n)| format!("{why}: {n}")).collect();
    format!("{name}: {} words, {} shapes, {} calls; {}", t.words, t.shapes, t.calls, fallbacks.join(", "))
}

/// Programs of a folder, by name, that run so many words.
fn programs(folder: &Path, words: impl Fn(u64) -> bool) -> Vec<(String, Program)> {
    let opened = neffs(folder).into_iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, Program::open(path).unwrap())
    });
    opened.filter(|(_, program)| words(stream_words(program))).collect()
}

/// Words of all streams, which is what programs without loops run.
fn stream_words(program: &Program) -> u64 {
    let streams = program.image().cores.iter().flat_map(|core| &core.streams);
    streams.map(|stream| stream.words.len() as u64).sum()
}

#[test]
fn examples_are_the_same_in_every_tier() {
    for (name, program) in programs(&examples_folder(), |_| true) {
        println!("{}", told(&name, &same_in_every_tier(&name, &program)));
    }
}

#[test]
fn compiled_programs_are_the_same_in_every_tier() {
    let Some(folder) = common::data("neffs") else { return };
    for (name, program) in programs(&folder, |words| words < LARGE) {
        println!("{}", told(&name, &same_in_every_tier(&name, &program)));
    }
}

#[test]
#[ignore = "takes minutes; .ci/run runs it"]
fn large_programs_are_the_same_in_every_tier() {
    let Some(folder) = common::data("neffs") else { return };
    for (name, program) in programs(&folder, |words| words >= LARGE) {
        println!("{}", told(&name, &same_in_every_tier(&name, &program)));
    }
}

/// Native code runs every word of the compiled programs but those that start transfers.
fn no_word_falls_back(words: impl Fn(u64) -> bool) {
    let Some(folder) = common::data("neffs") else { return };
    let mut left = Vec::new();
    for (name, program) in programs(&folder, words) {
        let (report, _) = run(&Engine::new(), &program, Tier::Jit, Schedule::Fixed);
        let t = report.translations;
        let transfers = transfer_words(&program);
        if !t.fallbacks.is_empty() || t.interpreted != 0 || t.calls > transfers {
            left.push(format!("{}; {transfers} words start transfers", told(&name, &t)));
        }
    }
    assert!(left.is_empty(), "\n{}", left.join("\n"));
}

#[test]
fn no_word_of_a_compiled_program_falls_back() {
    no_word_falls_back(|words| words < LARGE);
}

#[test]
#[ignore = "takes a minute; .ci/run runs it"]
fn no_word_of_a_large_program_falls_back() {
    no_word_falls_back(|words| words >= LARGE);
}

/// Words that start transfers: the only ones that may call the interpreter.
fn transfer_words(program: &Program) -> u64 {
    let streams = program.image().cores.iter().flat_map(|core| &core.streams);
    let infos = streams.flat_map(|s| s.words.iter()).filter_map(|i| opcode_info(i.word().opcode()));
    infos.filter(|info| info.family == Family::Dma).count() as u64
}

/// Check mode sees the writes of native code, and its own checks come before them.
#[test]
fn check_mode_tracks_native_writes() {
    for path in examples() {
        let program = Program::open(&path).unwrap();
        let engine = Engine::new();
        let mut plain = session(&engine, &program, Tier::Interp, Schedule::Fixed, true);
        let mut native = session(&engine, &program, Tier::Jit, Schedule::Fixed, true);
        assert_eq!(plain.run().unwrap().counters, native.run().unwrap().counters);
        assert_same(&path.display().to_string(), native.machine(), plain.machine());
    }
}

/// Stops lie between the same words in every tier, and the machine is the same at each of them.
fn stop_at_every_word(name: &str, program: &Program) {
    let engine = Engine::new();
    for schedule in [Schedule::Fixed, Schedule::Seeded(3)] {
        let mut plain = session(&engine, program, Tier::Interp, schedule, false);
        let mut native = session(&engine, program, Tier::Jit, schedule, false);
        for words in 1.. {
            let [a, b] = [&mut plain, &mut native].map(|s| s.run_until(Until::Words(words)).unwrap());
            assert_eq!((a.exit, a.counters), (b.exit, b.counters), "{name} after {words} words");
            assert_same(&format!("{name} after {words} words"), native.machine(), plain.machine());
            if a.exit == Exit::Finished {
                break;
            }
        }
    }
}

#[test]
fn stopping_at_every_word() {
    for (name, program) in programs(&examples_folder(), |words| words < 50) {
        stop_at_every_word(&name, &program);
    }
}

#[test]
fn stopping_at_every_word_of_a_compiled_program() {
    let Some(path) = common::data("neffs/fused_fp32_s512.neff") else { return };
    stop_at_every_word("fused_fp32_s512", &Program::open(path).unwrap());
}

/// One engine serves sessions on many threads.
#[test]
fn threads_share_an_engine() {
    let engine = Engine::new();
    let programs: Vec<Program> = examples().iter().map(|p| Program::open(p).unwrap()).collect();
    std::thread::scope(|scope| {
        for program in &programs {
            for tier in [Tier::Jit, Tier::Auto] {
                let engine = &engine;
                scope.spawn(move || {
                    let (_, plain) = run(engine, program, Tier::Interp, Schedule::Fixed);
                    let (_, native) = run(engine, program, tier, Schedule::Fixed);
                    assert_same("threads", native.machine(), plain.machine());
                });
            }
        }
    });
}

/// A thousand runs with two threads give the same bytes.
#[test]
#[ignore = "takes minutes; .ci/run runs it"]
fn threads_give_the_same_bytes_again_and_again() {
    let mut all: Vec<(String, Program)> = Vec::new();
    if let Some(folder) = common::data("neffs") {
        all.extend(programs(&folder, |words| words < LARGE));
    }
    all.extend(programs(&examples_folder(), |_| true));
    let mut options = EngineOptions::default();
    options.threads = NonZeroUsize::new(2).unwrap();
    let engine = Engine::with_options(options).unwrap();
    for (name, program) in &all {
        let outputs = |session: &Session| -> Vec<_> {
            program.outputs().iter().map(|io| session.output(&io.name).unwrap()).collect()
        };
        let (_, plain) = run(&Engine::new(), program, Tier::Interp, Schedule::Fixed);
        let expected = outputs(&plain);
        let mut split = session(&engine, program, Tier::Auto, Schedule::Fixed, false);
        for _ in 0..1000 {
            split.run().unwrap();
            assert!(outputs(&split) == expected, "{name}");
        }
    }
}
