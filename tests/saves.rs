//! Saved runs go on in any tier exactly where they were, and what does not fit is refused.

mod cli_support;

use std::path::Path;

use cli_support::{Small, word};
use seqjit::runtime::isa::EngineId;
use seqjit::runtime::machine::Machine;
use seqjit::runtime::save::Reader;
use seqjit::{
    Engine, Exit, Options, Program, Report, RestoreError, SaveError, Schedule, Session, Tier, Until,
};
use sha2::{Digest, Sha256};

fn example(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.neff"));
    Program::open(path).unwrap()
}

fn options(tier: Tier) -> Options {
    let mut options = Options::default();
    options.tier = tier;
    options
}

fn session(engine: &Engine, program: &Program, options: &Options) -> Session {
    let mut session = Session::new(engine, program, options.clone()).unwrap();
    session.set_random_inputs(5);
    session
}

/// Everything that a machine holds.
fn state(machine: &Machine) -> Vec<u8> {
    let mut out = Vec::new();
    machine.save(&mut out).unwrap();
    out
}

fn saved(session: &Session) -> Vec<u8> {
    let mut out = Vec::new();
    session.save(&mut out).unwrap();
    out
}

fn restore(
    engine: &Engine,
    program: &Program,
    options: &Options,
    bytes: &[u8],
) -> Result<Session, RestoreError> {
    Session::restore(engine, program, options.clone(), &mut &bytes[..])
}

/// Runs a program in one tier, saves it at every word, and goes on from there in another tier.
fn at_every_word(name: &str, program: &Program, base: &Options, from: Tier, to: Tier) -> u64 {
    let engine = Engine::new();
    let of = |tier| {
        let mut options = base.clone();
        options.tier = tier;
        options
    };
    let mut whole = session(&engine, program, &of(Tier::Interp));
    let expected = whole.run().unwrap();
    let end = state(whole.machine());
    let mut running = session(&engine, program, &of(from));
    running.start().unwrap();
    for words in 0.. {
        let bytes = saved(&running);
        let mut resumed = restore(&engine, program, &of(to), &bytes).unwrap();
        assert!(state(resumed.machine()) == state(running.machine()), "{name}: word {words}");
        assert!(saved(&resumed) == bytes, "{name}: word {words}");
        let report = resumed.resume().unwrap();
        assert_eq!(report.exit, Exit::Finished);
        assert_eq!(report.counters, expected.counters, "{name}: word {words}");
        assert!(state(resumed.machine()) == end, "{name}: word {words}");
        for io in program.outputs() {
            assert!(resumed.output(&io.name).unwrap() == whole.output(&io.name).unwrap());
        }
        if running.run_until(Until::Words(words + 1)).unwrap().exit == Exit::Finished {
            return words;
        }
    }
    unreachable!()
}

#[test]
fn saved_at_every_word_of_three_programs() {
    for name in ["vector_add", "softmax", "two_cores"] {
        let program = example(name);
        let words = at_every_word(name, &program, &Options::default(), Tier::Jit, Tier::Interp);
        println!("{name}: {words} words");
        at_every_word(name, &program, &Options::default(), Tier::Interp, Tier::Jit);
    }
}

/// Turns of a seeded schedule are cut in the middle, and its generator goes on.
#[test]
fn seeded_schedules_go_on() {
    let mut base = Options::default();
    base.schedule = Schedule::Seeded(3);
    at_every_word("softmax", &example("softmax"), &base, Tier::Jit, Tier::Auto);
}

/// Written bits, notifications and another fill are part of the state.
#[test]
fn check_mode_trace_and_fill_go_on() {
    let mut base = Options::default();
    base.check = true;
    base.trace = true;
    base.fill = 0xA5;
    at_every_word("vector_add", &example("vector_add"), &base, Tier::Jit, Tier::Interp);
}

/// Registers, a pending redirect, and an engine that waits, in a program with a loop.
#[test]
fn loops_go_on() {
    let mut small = Small::new();
    let pool = small.stream(EngineId::Pool);
    pool.extend([
        word(EngineId::Pool, "MOVE", "data=3 dst=$R[1] dtype=int32"),
        word(
            EngineId::Pool,
            "ALU_OP",
            "op=SUBTRACT dtype=int32 src1_datasrc=IMMEDIATE dst_dtype=int32 src0_lo=1 dst_lo=1 immediate=0x1",
        ),
        word(
            EngineId::Pool,
            "COMPARE_BRANCH",
            "cmp_op=GT dtype=int32 cmp0=$R[1] cmp1=0 target_mode=RELATIVE br_immediate=0xffffffc0",
        ),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let program = Program::open(small.write(directory.path())).unwrap();
    let words = at_every_word("loop", &program, &Options::default(), Tier::Jit, Tier::Interp);
    // Four of the example, one before the loop, three rounds of two words.
    assert_eq!(words, 4 + 1 + 6);
}

/// Breakpoints and stops that have not been reached are saved too.
#[test]
fn breakpoints_and_stops_stay() {
    let (engine, program, options) = (Engine::new(), example("vector_add"), options(Tier::Interp));
    let mut first = session(&engine, &program, &options);
    first.set_breakpoint(0, EngineId::Dve, 0).unwrap();
    first.stop_at(0, EngineId::Sp, 2).unwrap();
    first.run_until(Until::Words(1)).unwrap();
    let mut second = restore(&engine, &program, &options, &saved(&first)).unwrap();
    assert_eq!(second.breakpoints(), first.breakpoints());
    let rest = |session: &mut Session| -> Vec<Report> {
        let reports = std::iter::repeat_with(|| session.resume().unwrap());
        reports.take_while(|report| report.exit != Exit::Finished).collect()
    };
    let (a, b) = (rest(&mut first), rest(&mut second));
    assert_eq!(a, b);
    assert!(a.iter().any(|r| matches!(r.exit, Exit::Break { .. })), "{a:?}");
    assert!(a.iter().any(|r| matches!(r.exit, Exit::Stopped { .. })), "{a:?}");
}

#[test]
fn only_stopped_runs_are_saved() {
    let (engine, program) = (Engine::new(), example("vector_add"));
    let mut session = session(&engine, &program, &options(Tier::Interp));
    assert!(matches!(session.save(&mut Vec::new()), Err(SaveError::NotStopped)));
    session.run().unwrap();
    assert!(matches!(session.save(&mut Vec::new()), Err(SaveError::NotStopped)));
}

/// A file of a run of `vector_add`.
fn file() -> (Engine, Program, Vec<u8>) {
    let (engine, program) = (Engine::new(), example("vector_add"));
    let mut session = session(&engine, &program, &options(Tier::Interp));
    session.run_until(Until::Words(2)).unwrap();
    let bytes = saved(&session);
    (engine, program, bytes)
}

fn refusal(bytes: &[u8]) -> RestoreError {
    let (engine, program, _) = file();
    restore(&engine, &program, &options(Tier::Interp), bytes).err().expect("refused")
}

#[test]
fn damaged_files_are_refused() {
    let (_, _, bytes) = file();
    assert!(matches!(refusal(&[]), RestoreError::NotASave));
    assert!(matches!(refusal(b"\x93NUMPY"), RestoreError::NotASave));
    let step = bytes.len() / 61;
    for len in (12..bytes.len()).step_by(step.max(1)).chain([bytes.len() - 1]) {
        assert!(matches!(refusal(&bytes[..len]), RestoreError::CheckSum), "{len}");
    }
    for at in (12..bytes.len()).step_by(step.max(1)).chain([bytes.len() - 1]) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        assert!(matches!(refusal(&flipped), RestoreError::CheckSum), "{at}");
    }
}

/// With a sum that fits: what the sections say is looked at as well.
#[test]
fn contents_are_checked_behind_the_sum() {
    let (_, _, bytes) = file();
    let content = &bytes[..bytes.len() - 32];
    let summed = |content: &[u8]| [content, &Sha256::digest(content)[..]].concat();
    assert!(summed(content) == bytes);
    // Every prefix, every added byte.
    for len in (12..content.len()).step_by(content.len() / 97 + 1) {
        assert!(matches!(refusal(&summed(&content[..len])), RestoreError::Damaged(_)), "{len}");
    }
    assert!(matches!(refusal(&summed(&[content, &[0]].concat())), RestoreError::Damaged(_)));
    // Versions: of the file behind the magic bytes, of the first section behind its tag.
    let with_byte = |at: usize, value: u8| {
        let mut changed = content.to_vec();
        changed[at] = value;
        refusal(&summed(&changed))
    };
    assert!(matches!(with_byte(8, 9), RestoreError::Version { part: "file", found: 9, expected: 2 }));
    assert_eq!(&content[12..16], b"PROG");
    assert!(matches!(with_byte(16, 2), RestoreError::Version { part: "PROG", found: 2, expected: 1 }));
    assert!(matches!(with_byte(12, b'X'), RestoreError::Damaged(_)));
    // A huge length.
    assert!(matches!(with_byte(27, 0x7F), RestoreError::Damaged(_)));
}

#[test]
fn runs_of_other_programs_or_options_are_refused() {
    let (engine, program, bytes) = file();
    let other = restore(&engine, &example("softmax"), &options(Tier::Interp), &bytes);
    assert!(matches!(other, Err(RestoreError::Program { .. })));
    type Change = fn(&mut Options);
    let changes: [(&str, Change); 7] = [
        ("strict", |o| o.strict = false),
        ("validate", |o| o.validate = false),
        ("check", |o| o.check = true),
        ("fill", |o| o.fill = 1),
        ("schedule", |o| o.schedule = Schedule::Seeded(0)),
        ("trace", |o| o.trace = true),
        ("activation", |o| o.activation = seqjit::runtime::act::ActMode::Definition),
    ];
    for (wanted, change) in changes {
        let mut options = options(Tier::Interp);
        change(&mut options);
        match restore(&engine, &program, &options, &bytes) {
            Err(RestoreError::Options { name, .. }) => assert_eq!(name, wanted),
            other => panic!("{wanted}: {:?}", other.err()),
        }
    }
    let mut limited = options(Tier::Jit);
    limited.max_words = Some(1_000_000);
    assert!(restore(&engine, &program, &limited, &bytes).is_ok(), "limits are free");
}

/// Nothing that random bytes say makes restoring a machine panic.
#[test]
fn random_machines_do_not_panic() {
    use rand::{RngCore, SeedableRng};
    let program = example("vector_add");
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(11);
    let machine = Machine::new(program.image(), Default::default());
    let bytes = state(&machine);
    let mut fresh = machine.clone();
    for _ in 0..300 {
        let mut changed = bytes.clone();
        for _ in 0..3 {
            let at = rng.next_u64() as usize % changed.len();
            changed[at] = rng.next_u32() as u8;
        }
        let _ = fresh.restore(&mut Reader::new(&changed));
    }
}
