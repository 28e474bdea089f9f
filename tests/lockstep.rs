//! Interpreter and native code in lockstep, and `seqjit diff`: a wrong lowering is found at its word.

mod cli_support;

use std::path::Path;

use cli_support::*;
use seqjit::runtime::isa::{EngineId, Generation, Space, op};
use seqjit::{
    Agent, Comparison, Engine, EngineOptions, Exit, Lockstep, Options, Pace, Place, Program, Session, Tier,
};

fn compare(program: &Program, engine: &Engine, tier: Tier, pace: Pace) -> Comparison {
    let mut session = Session::new(engine, program, Options::default()).unwrap();
    session.set_random_inputs(1);
    Lockstep::new(engine, session, tier, pace).unwrap().run(&mut |_| {}).unwrap()
}

fn example(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.neff"));
    Program::open(path).unwrap()
}

#[test]
fn correct_code_is_equal() {
    for name in ["vector_add", "softmax", "two_cores", "rmsnorm"] {
        let program = example(name);
        for (tier, pace) in [(Tier::Jit, Pace::Block), (Tier::Jit, Pace::Turn), (Tier::Auto, Pace::Word)] {
            let found = compare(&program, &Engine::new(), tier, pace);
            assert_eq!(found.difference, None, "{name} {tier} {pace:?}");
            assert!(matches!(found.ended, Some(Ok(Exit::Finished))));
            assert!(found.complete >= 1 && found.words > 0);
            if tier == Tier::Jit {
                assert!(found.translations.words > 0, "{name}");
            }
        }
    }
}

/// `Small`'s only word for DVE adds `x` to itself; its lowest result bits are flipped.
#[test]
fn a_defect_is_found_at_its_word() {
    let mut small = Small::new();
    small.stream(EngineId::Dve).push(word(
        EngineId::Dve,
        "COPY",
        "src=fp32@0x5000[1,1,1,1][8,1,1,1] dst=fp32@0x6000[1,1,1,1][8,1,1,1] channels=128",
    ));
    let example = Example::of(&small);
    let program = Program::open(&example.neff).unwrap();
    let dve = Agent::Engine(0, EngineId::Dve);
    for (opcode, slot, offset) in [(op::TENSOR_TENSOR_ARITH_OP, 0, 0x5000), (op::COPY, 1, 0x6000)] {
        for pace in [Pace::Block, Pace::Turn] {
            let engine = Engine::build(EngineOptions::default(), Some(opcode)).unwrap();
            let found = compare(&program, &engine, Tier::Jit, pace).difference.expect("found");
            assert_eq!((found.agent, found.word), (dve, Some(slot)), "{found}");
            assert_eq!(found.place, Place::OnChip { core: 0, space: Space::Sbuf, partition: 0, offset });
            assert_eq!(found.place.address(Generation::Cayman), Some(offset as u64));
            assert_ne!(found.interp, found.native);
        }
    }
}

/// The command shows it: word, address, both values, exit code 12.
#[test]
fn the_command_reports_the_first_difference() {
    let example = Example::new();
    let equal = seqjit(["diff", &example.neff, "-i", &example.x, "--json"]).expect(0).json();
    assert_eq!(
        (&equal["equal"], &equal["ended"], &equal["words"]),
        (&true.into(), &"finished".into(), &4.into())
    );
    assert!(equal["difference"].is_null() && equal["tier"] == "jit");
    seqjit(["diff", &example.neff, "--tier", "interp", "--json"]).error(2, "usage");
    // The first element of the first lane is 0 + 0.
    let wrong =
        seqjit(["diff", &example.neff, "-i", &example.x, "--defect", "65", "--tier", "jit", "--json"])
            .expect(12)
            .json();
    assert_eq!(op::TENSOR_TENSOR_ARITH_OP, 65);
    let d = &wrong["difference"];
    assert_eq!((&d["core"], &d["engine"], &d["word"]), (&0.into(), &"DVE".into(), &0.into()));
    assert_eq!(d["address"], 0x5000);
    assert_eq!((&d["interp"], &d["native"]), (&"00 00 00 00".into(), &"01 00 00 00".into()));
    let text =
        seqjit(["diff", &example.neff, "-i", &example.x, "--defect", "65", "--tier", "jit", "--by", "turn"])
            .expect(12)
            .stdout;
    assert!(text.starts_with("different: core 0 DVE word 0"), "{text}");
    let text = seqjit(["diff", &example.neff]).expect(0).stdout;
    assert!(text.starts_with("equal: 4 words in "), "{text}");
}

/// Runs that fail do so alike; the failure is the result.
#[test]
fn failures_are_those_of_run() {
    let mut small = Small::new();
    small.stream(EngineId::Sp)[2] = word(EngineId::Sp, "EVENT_SEMAPHORE", "$S[22]>=99 setter=0");
    let example = Example::of(&small);
    let error = seqjit(["diff", &example.neff, "--json"]).error(6, "deadlock");
    assert_eq!(error["engine"], "SP");
}

/// `bench` measures; its numbers fit each other.
#[test]
fn bench_counts_what_runs() {
    let example = Example::new();
    let list = seqjit(["bench", &example.neff, &example.neff, "--runs", "3", "--json"]).expect(0).json();
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 2);
    let one = &list[0];
    let number = |key: &str| one[key].as_u64().unwrap_or_else(|| panic!("{key}: {one}"));
    assert_eq!((one["file"].as_str(), number("words"), number("runs")), (Some(&*example.neff), 4, 3));
    let times = ["interp_ns", "cold_ns", "interp_warm_ns", "warm_ns", "open_ns", "first_word_ns"];
    times.iter().for_each(|key| assert!(number(key) > 0, "{key}"));
    assert!(number("open_ns") < number("first_word_ns"));
    assert_eq!((number("fallbacks"), number("calls")), (0, 2));
    for key in ["shapes", "translate_ns", "code_bytes"] {
        number(key);
    }
    let words =
        |key: &str| one[key].as_array().unwrap().iter().map(|g| g["words"].as_u64().unwrap()).sum::<u64>();
    // Four words and two transfers.
    assert_eq!((words("engines"), words("families")), (6, 6));
    let text = seqjit(["bench", &example.neff, "--runs", "1"]).expect(0).stdout;
    assert!(text.contains("cold") && text.contains("warm") && text.contains("DVE"), "{text}");
    seqjit(["bench", &example.neff, "--runs", "0", "--json"]).error(2, "usage");
}
