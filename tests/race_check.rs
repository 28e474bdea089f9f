//! `Options::races`, held against the vendor's programs, in which every dependence is ordered but for the one exception
//! of chapter 10 section 6, against the examples, and against programs that lack an order.

mod common;

#[path = "common/races.rs"]
mod races;

use std::path::Path;

use seqjit::asm::assemble_program;
use seqjit::neff::ReadOptions;
use seqjit::runtime::isa::EngineId;
use seqjit::runtime::races::{Memory, Party, RaceKind};
use seqjit::{Engine, Exit, Options, Program, Race, RaceReport, Schedule, Session, Until};

const PROGRAMS: [&str; 10] = [
    "baseline_fp32_s512",
    "fused_bf16_s512",
    "fused_fp32_s512",
    "nkipy_matmul_small",
    "trn1_autocomp_1",
    "trn1_autocomp_2",
    "trn1_stream_add_256k_fd1k",
    "trn2_conv2d_4_float32_smaller",
    "trn2_stream_add_256k_fd1k",
    "trn2_transpose_1024",
];

fn check(program: &Program, schedule: Schedule) -> RaceReport {
    let mut options = Options::default();
    (options.races, options.schedule) = (true, schedule);
    let mut session = Session::new(&Engine::new(), program, options).unwrap();
    session.set_random_inputs(1);
    // A program that does not wait for its own output is incomplete too.
    let _ = session.run();
    session.races().expect("the check is on").clone()
}

/// The order of the words in an accumulation group is the PE's business, and nothing else is reported.
fn assert_clean(name: &str, program: &Program, schedule: Schedule) {
    let report = check(program, schedule);
    assert_eq!(report.races, [], "{name}");
    let mut found: Vec<(usize, u64, u64)> = Vec::new();
    for race in &report.accumulations {
        let Race { kind, earlier, later, memory, .. } = race;
        assert_eq!((*kind, *memory), (RaceKind::WriteRead, Memory::Psum(later.core)), "{name}: {race:?}");
        let of_pe = |p: &Party| (p.core, p.engine, p.queue) == (later.core, EngineId::Pe, None);
        assert!(of_pe(earlier) && of_pe(later), "{name}: {race:?}");
        found.push((later.core, earlier.slot, later.slot));
    }
    found.sort_unstable();
    let mut expected = races::accumulations(program);
    expected.sort_unstable();
    assert_eq!(found, expected, "{name}");
}

#[test]
fn compiled_programs_have_the_one_exception_and_nothing_else() {
    let mut exceptions = 0;
    for name in PROGRAMS {
        let Some(path) = common::data(&format!("neffs/{name}.neff")) else { return };
        let program = Program::open(path).unwrap();
        assert_clean(name, &program, Schedule::Fixed);
        assert_clean(name, &program, Schedule::Seeded(5));
        exceptions += races::accumulations(&program).len();
    }
    assert!(exceptions > 100, "{exceptions} pairs");
}

#[test]
fn examples_have_no_races() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let programs: Vec<_> = files.filter(|p| p.extension().is_some_and(|e| e == "neff")).collect();
    assert!(programs.len() >= 8);
    for path in programs {
        assert_clean(&path.display().to_string(), &Program::open(&path).unwrap(), Schedule::Fixed);
    }
}

/// `out = (a + b) + a` on DVE, in two words; what stands for the gaps says what waits for what.
fn program(add: &str, again: &str, store: &str) -> Program {
    let text = format!(
        "program sums for cayman
         prologue
         input  a   fp32[128, 64]
         input  b   fp32[128, 64]
         output out fp32[128, 64]
         queue qSPDynamicHW dynamic SP
         sbuf ta  fp32[64]
         sbuf tb  fp32[64]
         sbuf sum fp32[64]
         SP  load_a: DMA a -> ta
         SP  load_b: DMA b -> tb
         DVE add:    TENSOR_TENSOR op=ADD src0=ta src1=tb dst=sum channels=128 {add}
         DVE again:  TENSOR_TENSOR op=ADD src0=sum src1=ta dst=sum channels=128 {again}
         SP  store:  DMA sum -> out {store}
         SP          NOP after store
         "
    );
    let bytes = assemble_program(&text, "sums.s").unwrap_or_else(|e| panic!("{e}"));
    Program::from_bytes(&bytes, &ReadOptions::default()).unwrap()
}

/// The pairs of a report: engine, slot behind the prologue, and whether it is the transfer that counts.
fn pairs(report: &RaceReport) -> Vec<[(EngineId, u64, bool); 2]> {
    let party = |p: Party| (p.engine, p.slot, p.queue.is_some());
    let pair = |race: &Race| {
        let mut pair = [party(race.earlier), party(race.later)];
        pair.sort_unstable();
        pair
    };
    let mut pairs: Vec<_> = report.races.iter().map(pair).collect();
    pairs.sort_unstable();
    pairs
}

/// The slot of the n-th word of an engine that is neither prologue nor a wait of its own.
fn slot(program: &Program, engine: EngineId, n: usize) -> u64 {
    use seqjit::runtime::isa::op::{EVENT_SEMAPHORE, PSEUDO_BRANCH_LABEL, SET_ORDERING_MODE};
    let words = program.image().cores[0].streams[engine.index()].words.iter().enumerate();
    let skipped = [EVENT_SEMAPHORE, PSEUDO_BRANCH_LABEL, SET_ORDERING_MODE];
    let mut counted = words.filter(|(_, i)| !skipped.contains(&i.word().opcode()));
    counted.nth(n).unwrap().0 as u64
}

#[test]
fn what_is_not_waited_for_is_a_race_under_every_schedule() {
    /// Two words that race: engine, slot, whether it writes.
    type Pair = [(EngineId, usize, bool); 2];
    let cases: [(&str, &str, &str, &[Pair]); 5] = [
        ("after load_a, load_b", "after add", "after again", &[]),
        // The transfer of b (word 1 of SP) and the first addition.
        ("after load_a", "after add", "after again", &[[(EngineId::Dve, 0, false), (EngineId::Sp, 1, true)]]),
        // The sum on the same engine: engines are pipelines.
        (
            "after load_a, load_b",
            "",
            "after again",
            &[[(EngineId::Dve, 0, false), (EngineId::Dve, 1, false)]],
        ),
        // Waits for the word before the last one.
        (
            "after load_a, load_b",
            "after add",
            "after add",
            &[[(EngineId::Dve, 1, false), (EngineId::Sp, 2, true)]],
        ),
        // Waits for nothing: both words write what the transfer reads.
        (
            "after load_a, load_b",
            "after add",
            "",
            &[
                [(EngineId::Dve, 0, false), (EngineId::Sp, 2, true)],
                [(EngineId::Dve, 1, false), (EngineId::Sp, 2, true)],
            ],
        ),
    ];
    for (add, again, store, expected) in cases {
        let program = program(add, again, store);
        let expected: Vec<_> =
            expected.iter().map(|pair| pair.map(|(e, n, queue)| (e, slot(&program, e, n), queue))).collect();
        for schedule in [Schedule::Fixed, Schedule::Seeded(1), Schedule::Seeded(2), Schedule::Seeded(3)] {
            let found = pairs(&check(&program, schedule));
            assert!(found.iter().all(|pair| expected.contains(pair)), "{add}; {again}; {store}: {found:?}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{add}; {again}; {store}");
        }
    }
}

#[test]
fn a_restored_run_counts_what_was_done_before_as_finished() {
    let program = program("after load_a, load_b", "", "after again");
    let mut options = Options::default();
    options.races = true;
    let mut session = Session::new(&Engine::new(), &program, options.clone()).unwrap();
    session.set_random_inputs(1);
    let until = Until::Word { core: 0, engine: EngineId::Dve, slot: slot(&program, EngineId::Dve, 1) };
    assert_eq!(session.run_until(until).unwrap().exit, Exit::Reached);
    let mut saved = Vec::new();
    session.save(&mut saved).unwrap();
    assert_eq!(session.resume().unwrap().races.unwrap().count(), 1);
    let mut restored = Session::restore(&Engine::new(), &program, options, &mut saved.as_slice()).unwrap();
    assert_eq!(restored.resume().unwrap().races.unwrap().count(), 0);
}

#[test]
fn without_the_option_there_is_no_report() {
    let program = program("after load_a, load_b", "", "after again");
    let mut session = Session::new(&Engine::new(), &program, Options::default()).unwrap();
    session.set_random_inputs(1);
    assert_eq!(session.run().unwrap().races, None);
}
