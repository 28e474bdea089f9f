//! Whole programs leave the same machine behind in every tier, under every schedule.

mod common;

use std::path::{Path, PathBuf};

use seqjit::runtime::isa::PARTITIONS;
use seqjit::runtime::machine::Machine;
use seqjit::{Engine, Exit, Options, Program, Report, Schedule, Session, Tier, Until};

/// Everything that a program can have changed, as far as it can be seen.
fn assert_same(name: &str, a: &Machine, b: &Machine) {
    for (core, (a, b)) in a.cores.iter().zip(&b.cores).enumerate() {
        for (a, b) in [(&a.sbuf, &b.sbuf), (&a.psum, &b.psum)] {
            for partition in 0..PARTITIONS {
                let at =
                    || a.partition(partition).iter().zip(b.partition(partition)).position(|(a, b)| a != b);
                let same = a.partition(partition) == b.partition(partition);
                assert!(same, "{name}: core {core} {} partition {partition} byte {:?}", a.space(), at());
            }
        }
        assert_eq!(a.sync.semaphores, b.sync.semaphores, "{name}: core {core}");
        assert_eq!(a.sync.events, b.sync.events, "{name}: core {core}");
        assert_eq!(a.notifications, b.notifications, "{name}: core {core}");
        let bits = |values: &[f32; PARTITIONS]| values.map(f32::to_bits);
        assert_eq!(bits(&a.act.accumulator), bits(&b.act.accumulator), "{name}: core {core}");
        assert_eq!(bits(&a.dve.accumulator), bits(&b.dve.accumulator), "{name}: core {core}");
        for (a, b) in a.engines.iter().zip(&b.engines) {
            let state = |e: &seqjit::runtime::machine::Engine| {
                let seq = (e.seq.phase, e.seq.halt_reason, e.seq.run_state(), e.seq.csr.resume_pc());
                (e.registers, e.shapes, e.pc, e.retired, e.blocked_on, seq)
            };
            assert_eq!(state(a), state(b), "{name}: core {core} {}", a.id);
        }
    }
    for (a, b) in a.dram.buffers().iter().zip(b.dram.buffers()) {
        assert!(a.bytes() == b.bytes(), "{name}: buffer {}", a.spec.name);
    }
    assert_eq!(a.warnings, b.warnings, "{name}");
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

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    neffs(&folder)
}

fn neffs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "neff")).collect();
    found.sort();
    found
}

/// Runs one program in every tier; the share of its words that ran in native code.
fn same_in_every_tier(path: &Path, schedules: &[Schedule]) {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let program = Program::open(path).unwrap();
    let engine = Engine::new();
    for schedule in schedules {
        let seeded = *schedule != Schedule::Fixed;
        let (plain, interpreted) = run(&engine, &program, Tier::Interp, *schedule);
        // Programs of tens of thousands of words: once.
        let large = plain.counters.retired > 10_000;
        for tier in if large { vec![Tier::Jit] } else { vec![Tier::Jit, Tier::Auto] } {
            let (report, session) = run(&engine, &program, tier, *schedule);
            assert_eq!(report.counters, plain.counters, "{name}: {tier}, {schedule:?}");
            assert_same(&format!("{name}: {tier}, {schedule:?}"), session.machine(), interpreted.machine());
            if tier == Tier::Jit && !seeded {
                let t = &report.translations;
                let fallbacks: Vec<_> = t.fallbacks.iter().map(|(why, n)| format!("{why}: {n}")).collect();
                let all = report.counters.retired;
                println!("{name}: {} of {all} words, {} shapes; {}", t.words, t.shapes, fallbacks.join(", "));
                let counted = t.words + t.interpreted + t.calls + t.fallbacks.values().sum::<u64>();
                assert!(counted >= all, "{name}: every word is counted: {counted} of {all}");
            }
        }
        if large {
            break;
        }
    }
}

#[test]
fn examples_are_the_same_in_every_tier() {
    for path in examples() {
        same_in_every_tier(&path, &[Schedule::Fixed, Schedule::Seeded(1), Schedule::Seeded(2)]);
    }
}

#[test]
fn compiled_programs_are_the_same_in_every_tier() {
    let Some(folder) = common::data("neffs") else { return };
    for path in neffs(&folder) {
        same_in_every_tier(&path, &[Schedule::Fixed, Schedule::Seeded(1)]);
    }
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
#[test]
fn stopping_at_every_word() {
    for name in ["vector_add", "softmax"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.neff"));
        let program = Program::open(path).unwrap();
        let engine = Engine::new();
        let mut plain = session(&engine, &program, Tier::Interp, Schedule::Fixed, false);
        let mut native = session(&engine, &program, Tier::Jit, Schedule::Fixed, false);
        for words in 1.. {
            let reports = [&mut plain, &mut native].map(|s| s.run_until(Until::Words(words)).unwrap());
            assert_eq!(reports[0].exit, reports[1].exit);
            assert_same(&format!("{name} after {words} words"), native.machine(), plain.machine());
            if reports[0].exit == Exit::Finished {
                break;
            }
        }
    }
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
