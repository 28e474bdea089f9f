//! Replaying the recorded run of `fused_fp32_s512`, and recordings that were changed: every kind of difference is
//! found, and only that.

mod cli_support;
mod common;

use std::io::Read;
use std::path::Path;

use cli_support::{Ended, seqjit};
use flate2::read::GzDecoder;
use seqjit::neff::VariableKind;
use seqjit::replay::{Change, Difference, Outcome, Replay, ReplayError, Source};
use seqjit::runtime::isa::{EngineId, Word};
use seqjit::trace::{Edge, PacketEdge, SyncRecord, Trace};
use seqjit::{Engine, Options, Program, Schedule, Session};

const TRACE: &str = "neffs/fused_fp32_s512.ntff.gz";
const NEFF: &str = "neffs/fused_fp32_s512.neff";
const SCHEDULES: u64 = 20;

/// The recorded run and its container.
struct Recorded {
    trace: Trace,
    program: Program,
}

impl Recorded {
    fn open() -> Option<Recorded> {
        let trace = Trace::open(&common::data(TRACE)?).unwrap();
        Some(Recorded { trace, program: Program::open(common::data(NEFF)?).unwrap() })
    }

    /// The container's own run.
    fn session(&self) -> Session {
        let mut session = Session::new(&Engine::new(), &self.program, Options::default()).unwrap();
        session.set_random_inputs(5);
        session.run().unwrap();
        session
    }

    fn replay(&self) -> Outcome {
        let replay = Replay::new(self.trace.clone(), &self.program).unwrap();
        replay.run(&self.session(), Schedule::Seeded(3)).unwrap()
    }

    /// The outcome of a recording that was changed.
    fn changed(change: impl FnOnce(&mut Trace)) -> Option<Outcome> {
        let mut recorded = Recorded::open()?;
        change(&mut recorded.trace);
        Some(recorded.replay())
    }

    fn refused(change: impl FnOnce(&mut Trace)) -> Option<ReplayError> {
        let mut recorded = Recorded::open()?;
        change(&mut recorded.trace);
        Some(Replay::new(recorded.trace, &recorded.program).unwrap_err())
    }
}

/// Which of the four checks hold.
fn equal(outcome: &Outcome) -> [bool; 4] {
    [outcome.pcs_equal(), outcome.events_equal(), outcome.dma_equal(), outcome.outputs_equal()]
}

#[test]
fn the_recorded_run_is_reproduced_under_every_schedule() {
    let Some(recorded) = Recorded::open() else { return };
    let replay = Replay::new(recorded.trace.clone(), &recorded.program).unwrap();
    let session = recorded.session();
    let schedules = (0..SCHEDULES).map(Schedule::Seeded).chain([Schedule::Fixed]);
    for schedule in schedules {
        let outcome = replay.run(&session, schedule).unwrap();
        assert!(outcome.is_equal(), "{schedule:?}: {}", outcome.first_difference.unwrap());
        // Chapter 09 section 6: 442 rows of the export, 27 pairs outside its time axis.
        assert_eq!((outcome.words.recorded, outcome.words.replayed), (442 + 27, 442 + 27));
        // 456 records of core 0, 305 of core 1; losses below.
        assert_eq!((outcome.changes.recorded, outcome.lost, outcome.changes.replayed), (761, 11, 772));
        // Chapter 10 section 1: 1,114,112 bytes; each of five transfers adds sixteen increments of 4 bytes.
        assert_eq!(outcome.dma.recorded, 1_114_112 + 5 * 16 * 4);
        assert_eq!(outcome.outputs.recorded, 512 * 128 * 4);
    }
}

/// Not one byte is read that neither a word, the host nor the container has written.
#[test]
fn the_image_reads_nothing_that_was_not_written() {
    let Some(recorded) = Recorded::open() else { return };
    let mut options = Options::default();
    options.check = true;
    options.fill = 0xA5;
    let mut session = Session::new(&Engine::new(), &recorded.program, options).unwrap();
    session.set_random_inputs(2);
    session.run().unwrap();
    let replay = Replay::new(recorded.trace.clone(), &recorded.program).unwrap();
    assert!(replay.run(&session, Schedule::Seeded(11)).unwrap().is_equal());
}

/// Where the recorded run had things (chapter 10 sections 3, 7 and 16).
#[test]
fn things_lie_where_the_words_have_them() {
    let Some(recorded) = Recorded::open() else { return };
    let replay = Replay::new(recorded.trace.clone(), &recorded.program).unwrap();
    let image = replay.image();
    assert_eq!(image.cores.iter().map(|c| c.physical).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(image.cores[0].streams[EngineId::Pe.index()].base, 0x8005_C040_8000);
    let at = |address: u64| {
        image.buffers.iter().find(|b| (b.address..b.address + b.size as u64).contains(&address))
    };
    // The identity matrix that the SP loads from an address in its word.
    let identity = at(0x8005_C03B_0000).unwrap();
    assert_eq!((identity.address, identity.size), (0x8005_C03B_0000, 128 * 128 * 4));
    let cell = identity.initial.as_ref().unwrap()[4 * 129..][..4].to_vec();
    assert_eq!(cell, 1f32.to_le_bytes());
    // The cell from which the set-up code loads the base of the address table.
    let cells = at(0x8005_C036_5000).unwrap();
    let offset = (0x8005_C036_5000 - cells.address) as usize;
    let base = u64::from_le_bytes(cells.initial.as_ref().unwrap()[offset..][..8].try_into().unwrap());
    let table = at(base).unwrap();
    let entries = table.initial.as_ref().unwrap().as_chunks::<8>().0;
    let names: Vec<&str> =
        entries.iter().map(|entry| at(u64::from_le_bytes(*entry)).unwrap().name.as_str()).collect();
    let variables = &recorded.program.neff().graphs[0].def.variables;
    let list = variables.iter().find_map(|v| match &v.kind {
        VariableKind::DgeTable { list } => Some(list),
        _ => None,
    });
    let name = |id: &u32| variables.iter().find(|v| v.id == *id).unwrap().name.as_str();
    assert_eq!(names, list.unwrap().iter().map(name).collect::<Vec<_>>());
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["k_ref", "kernel_out", "q_ref", "v_ref"]);
}

#[test]
fn a_word_that_was_not_executed() {
    let change = |trace: &mut Trace| {
        let core = &mut trace.cores[0];
        let base = core.image(EngineId::Act).address;
        core.instructions
            .retain(|r| !(r.engine == EngineId::Act && r.edge == Edge::End && r.slot(base) == 70));
    };
    let Some(outcome) = Recorded::changed(change) else { return };
    assert_eq!(equal(&outcome), [false, true, true, true]);
    assert_eq!((outcome.words.recorded, outcome.words.replayed, outcome.words.differences), (468, 469, 1));
    let (graph, engine) = ("sg00".to_owned(), EngineId::Act);
    let expected = Difference::Word { graph, engine, slot: 70, recorded: 0, replayed: 1 };
    assert_eq!(outcome.first_difference, Some(expected));
}

#[test]
fn a_word_that_was_executed_twice_or_elsewhere() {
    let twice = |trace: &mut Trace| {
        let core = &mut trace.cores[1];
        let found = core.instructions.iter().find(|r| r.engine == EngineId::Sp && r.edge == Edge::Start);
        let record = *found.unwrap();
        core.instructions.push(record);
    };
    let Some(outcome) = Recorded::changed(twice) else { return };
    assert_eq!(equal(&outcome), [false, true, true, true]);
    let (graph, engine) = ("sg01".to_owned(), EngineId::Sp);
    let expected = Difference::Word { graph, engine, slot: 24, recorded: 2, replayed: 1 };
    assert_eq!(outcome.first_difference, Some(expected));

    let elsewhere = |trace: &mut Trace| {
        let core = &mut trace.cores[0];
        let last = core.instructions.iter_mut().rfind(|r| r.edge == Edge::End && r.engine == EngineId::Dve);
        last.unwrap().pc ^= 1 << 19;
    };
    let outcome = Recorded::changed(elsewhere).unwrap();
    assert_eq!(equal(&outcome), [false, true, true, true]);
    assert_eq!(outcome.words.differences, 2);
}

/// The changes of an engine of core 0.
fn changes_of(trace: &mut Trace, engine: EngineId) -> Vec<&mut SyncRecord> {
    trace.cores[0].changes.iter_mut().filter(|c| c.engine == Some(engine)).collect()
}

fn semaphore(index: u8, value: u32) -> Option<Change> {
    Some(Change { semaphore: true, index, action: 0xF3, value })
}

#[test]
fn changes_in_another_order() {
    // The third and the fourth completion of DVE.
    let change = |trace: &mut Trace| {
        let mut counts: Vec<_> =
            changes_of(trace, EngineId::Dve).into_iter().filter(|c| c.index == 6).collect();
        (counts[2].value, counts[3].value) = (4, 3);
    };
    let Some(outcome) = Recorded::changed(change) else { return };
    assert_eq!(equal(&outcome), [true, false, true, true]);
    assert_eq!(outcome.changes.differences, 1);
    // In front of them: the event, three barriers of two steps, two completions.
    let expected = Difference::Change {
        graph: "sg00".to_owned(),
        source: Source::Engine(EngineId::Dve),
        position: 1 + 3 * 2 + 2,
        recorded: semaphore(6, 4),
        replayed: semaphore(6, 3),
    };
    assert_eq!(outcome.first_difference, Some(expected));
}

#[test]
fn a_change_may_only_be_missing_where_records_were_lost() {
    let missing = |trace: &mut Trace| {
        let changes = &mut trace.cores[0].changes;
        changes.retain(|c| !(c.engine == Some(EngineId::Act) && c.index == 4 && c.value == 5));
    };
    let Some(outcome) = Recorded::changed(missing) else { return };
    assert_eq!(equal(&outcome), [true, false, true, true]);
    let Some(Difference::Change { recorded, replayed, .. }) = outcome.first_difference else { panic!() };
    assert_eq!((recorded, replayed), (semaphore(4, 6), semaphore(4, 5)));

    // Without the device's marks the eleven lost records are differences, of six engines of both cores.
    let unmarked = |trace: &mut Trace| {
        trace.cores.iter_mut().flat_map(|c| &mut c.changes).for_each(|c| c.overflow = false);
    };
    let outcome = Recorded::changed(unmarked).unwrap();
    assert_eq!(equal(&outcome), [true, false, true, true]);
    assert_eq!((outcome.changes.differences, outcome.lost), (7, 0));
}

#[test]
fn a_transfer_that_posts_another_number() {
    let change = |trace: &mut Trace| {
        let changes = &mut trace.cores[0].changes;
        let last = changes.iter().rposition(|c| c.engine.is_none() && c.index == 24).unwrap();
        changes.remove(last);
    };
    let Some(outcome) = Recorded::changed(change) else { return };
    assert_eq!(equal(&outcome), [true, false, true, true]);
    let expected = Difference::Change {
        graph: "sg00".to_owned(),
        source: Source::Bus { semaphore: true, index: 24 },
        position: 15,
        recorded: None,
        replayed: semaphore(24, 16),
    };
    assert_eq!(outcome.first_difference, Some(expected));
}

#[test]
fn a_queue_that_moves_another_number_of_bytes() {
    let change = |trace: &mut Trace| {
        let packets = &mut trace.cores[0].packets;
        let packet =
            packets.iter_mut().find(|p| p.edge == PacketEdge::Read && p.queue == 1 && p.bytes == 512);
        packet.unwrap().bytes = 500;
    };
    let Some(outcome) = Recorded::changed(change) else { return };
    assert_eq!(equal(&outcome), [true, true, false, true]);
    let Some(Difference::Queue { queue, recorded, replayed, .. }) = outcome.first_difference else {
        panic!()
    };
    assert_eq!((queue.as_str(), replayed - recorded), ("qSPDynamicHW", 12));
}

#[test]
fn outputs_of_other_inputs() {
    let Some(recorded) = Recorded::open() else { return };
    let mut session = recorded.session();
    let mut q = session.input("q_ref").unwrap();
    q.data[..4].copy_from_slice(&100f32.to_le_bytes());
    session.set_input("q_ref", &q).unwrap();
    let replay = Replay::new(recorded.trace.clone(), &recorded.program).unwrap();
    let outcome = replay.run(&session, Schedule::Fixed).unwrap();
    assert_eq!(equal(&outcome), [true, true, true, false]);
    assert!(
        matches!(outcome.first_difference, Some(Difference::Output { output, .. }) if output == "kernel_out")
    );
}

/// What the host did is taken from the recording: without it, nobody passes the gate.
#[test]
fn a_run_that_the_host_did_not_start() {
    let change = |trace: &mut Trace| {
        for core in &mut trace.cores {
            core.changes.retain(|c| c.engine.is_some() || !c.semaphore || c.index != 0);
        }
    };
    let Some(outcome) = Recorded::changed(change) else { return };
    assert_eq!(equal(&outcome), [false, false, false, false]);
    assert_eq!((outcome.words.replayed, outcome.changes.replayed), (0, 0));

    // One core alone waits for the other in the core barrier.
    let change = |trace: &mut Trace| {
        trace.cores[1].changes.retain(|c| c.engine.is_some() || !c.semaphore || c.index != 0);
    };
    let outcome = Recorded::changed(change).unwrap();
    assert_eq!(equal(&outcome), [false, false, false, false]);
    assert!(outcome.words.replayed > 0);
}

/// Changes a word of an engine of core 0.
fn edit(trace: &mut Trace, engine: EngineId, slot: usize, change: impl FnOnce(&mut Word)) {
    change(&mut trace.cores[0].images[engine.index()].words[slot]);
}

#[test]
fn recordings_of_other_programs_are_refused() {
    // The scale of an ACTIVATE.
    let Some(error) = Recorded::refused(|t| edit(t, EngineId::Act, 71, |w| w.0[40] ^= 1)) else { return };
    let expected =
        ReplayError::Foreign { graph: "sg00".to_owned(), engine: EngineId::Act, slot: 71, origin: 5 };
    assert_eq!(error, expected);
    // An element size of a generated DMA word: lowering does not change it.
    let error = Recorded::refused(|t| edit(t, EngineId::Pool, 63, |w| w.0[36] ^= 4)).unwrap();
    assert!(matches!(error, ReplayError::Foreign { engine: EngineId::Pool, slot: 63, .. }));
    // A table operand in the place of the variable that the container has.
    let error = Recorded::refused(|t| edit(t, EngineId::Sp, 51, |w| w.0[23] = 0x20)).unwrap();
    assert!(matches!(error, ReplayError::Foreign { engine: EngineId::Sp, slot: 51, .. }));
    // The State Buffer of another core.
    let error = Recorded::refused(|t| edit(t, EngineId::Sp, 51, |w| w.0[45] = 0)).unwrap();
    assert!(matches!(error, ReplayError::Variable { id: 0, .. }));
    let missing = |trace: &mut Trace| {
        let image = &mut trace.cores[0].images[EngineId::Dve.index()];
        image.words.remove(70);
        image.origin.remove(70);
    };
    let error = Recorded::refused(missing).unwrap();
    assert!(matches!(error, ReplayError::Missing { engine: EngineId::Dve, found: 17, expected: 18, .. }));

    let other = |name: &str| Program::open(common::data(name).unwrap()).unwrap();
    let trace = || Recorded::open().unwrap().trace;
    let error = Replay::new(trace(), &other("neffs/baseline_fp32_s512.neff")).unwrap_err();
    assert!(matches!(error, ReplayError::Foreign { .. } | ReplayError::Missing { .. }));
    let error = Replay::new(trace(), &other("neffs/trn1_stream_add_256k_fd1k.neff")).unwrap_err();
    assert!(matches!(error, ReplayError::Graphs { .. }));
    let error = Replay::new(trace(), &other("neffs/trn2_stream_add_256k_fd1k.neff")).unwrap_err();
    assert!(matches!(
        error,
        ReplayError::Foreign { .. } | ReplayError::Missing { .. } | ReplayError::Lowered { .. }
    ));
}

#[test]
fn places_that_cannot_be_are_refused() {
    let Some(error) = Recorded::refused(|t| t.cores[1].number = 8) else { return };
    assert!(matches!(error, ReplayError::Core { core: 8, .. }));
    assert!(matches!(Recorded::refused(|t| t.cores[1].graph.clear()).unwrap(), ReplayError::Graphs { .. }));
    // The last word no longer branches back.
    let error = Recorded::refused(|t| edit(t, EngineId::Pe, 200, |w| w.0[14] = 1)).unwrap();
    assert_eq!(error, ReplayError::Gate { graph: "sg00".to_owned(), engine: EngineId::Pe });
    let error = Recorded::refused(|t| edit(t, EngineId::Pe, 200, |w| w.0[48..52].fill(0x7F))).unwrap();
    assert!(matches!(error, ReplayError::Gate { .. }));
    // The constant would lie in the State Buffer of core 4.
    let at = 0x8020_0000_0000u64.to_le_bytes();
    let error =
        Recorded::refused(|t| edit(t, EngineId::Sp, 51, |w| w.0[16..24].copy_from_slice(&at))).unwrap();
    assert!(matches!(error, ReplayError::Overlap { address: 0x8020_0000_0000, .. }));
    // Words that name ten thousand pages.
    let pages = |trace: &mut Trace| {
        let image = &mut trace.cores[0].images[0];
        let write = image.words[4];
        for page in 0..10_000u64 {
            let mut word = write;
            word.0[16..24].copy_from_slice(&(0x9000_0000_0000 + page * 0x1000).to_le_bytes());
            image.words.insert(0, word);
            image.origin.insert(0, None);
        }
    };
    assert!(matches!(Recorded::refused(pages).unwrap(), ReplayError::Pages { .. }));
}

/// A runtime word that loops: the replay gives up.
#[test]
fn a_replay_that_does_not_end() {
    let Some(mut recorded) = Recorded::open() else { return };
    // PE branches from its last word to itself, as long as the gate is found.
    let branch = recorded.trace.cores[0].images[0].words[200];
    let mut stay = branch;
    stay.0[48..52].fill(0);
    edit(&mut recorded.trace, EngineId::Pe, 199, |w| *w = stay);
    let replay = Replay::new(recorded.trace.clone(), &recorded.program).unwrap();
    let error = replay.run(&recorded.session(), Schedule::Seeded(1)).unwrap_err();
    assert!(error.to_string().contains("still do not wait at the gate"), "{error}");
}

/// Bytes that mean something in most words of the runtime.
const TELLING: [usize; 16] = [0, 4, 5, 6, 7, 8, 12, 13, 14, 16, 32, 33, 34, 35, 36, 48];

/// One flipped bit in any word of any image: refused, a fault, a difference, or no matter at all, but no panic.
#[test]
fn damaged_images_do_no_harm() {
    let Some(recorded) = Recorded::open() else { return };
    let session = recorded.session();
    let (mut refused, mut faults, mut different) = (0, 0, 0);
    let places = recorded.trace.cores.iter().enumerate().flat_map(|(core, trace)| {
        let images = trace.images.iter().enumerate();
        images.flat_map(move |(engine, image)| (0..image.words.len()).map(move |slot| (core, engine, slot)))
    });
    // All words are looked at when the replay is made; every seventh damaged image is also run.
    for (number, (core, engine, slot)) in places.enumerate() {
        let mut trace = recorded.trace.clone();
        let byte = TELLING[number % TELLING.len()];
        trace.cores[core].images[engine].words[slot].0[byte] ^= 1 << (number / TELLING.len() % 8);
        match Replay::new(trace, &recorded.program) {
            Err(_) => refused += 1,
            Ok(_) if number % 7 != 0 => {}
            Ok(replay) => match replay.run(&session, Schedule::Seeded(number as u64)) {
                Err(_) => faults += 1,
                Ok(outcome) => different += usize::from(!outcome.is_equal()),
            },
        }
    }
    // The program's own words are compared byte by byte: 123 + 10 + 6 + 18 + 2 of core 0, one of each engine of
    // core 1. The runtime's do not all run.
    assert!(refused >= 164 && faults > 0 && different > 0, "{refused} {faults} {different}");
}

// The command.

fn arguments(trace: &Path, more: &[&str]) -> Vec<String> {
    let fixed = ["replay", trace.to_str().unwrap()];
    fixed.iter().chain(more).map(ToString::to_string).collect()
}

#[test]
fn the_command_reproduces_the_run() {
    let Some(trace) = common::data(TRACE) else { return };
    let Ended { stdout, .. } = seqjit(arguments(&trace, &[])).expect(0);
    assert!(stdout.starts_with("20 schedules, seeds 1 to 20\n"), "{stdout}");
    assert_eq!(stdout.matches(": equal").count(), 4, "{stdout}");
    let document = seqjit(arguments(&trace, &["--schedules", "2", "--seed", "9", "--json"])).expect(0).json();
    for key in ["pcs_equal", "events_equal", "dma_equal", "outputs_equal"] {
        assert_eq!(document[key], true);
    }
    assert_eq!(document["first_difference"], serde_json::Value::Null);
    assert_eq!(document["counts"]["pcs"]["recorded"], 469);
    assert_eq!(document["counts"]["events"]["lost"], 11);
}

#[test]
fn the_command_tells_the_first_difference() {
    let Some(path) = common::data(TRACE) else { return };
    let neff = common::data(NEFF).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
    let trace = Trace::open(&path).unwrap();
    // The value of one record, found by its time.
    let record =
        trace.cores[0].changes.iter().find(|c| c.engine == Some(EngineId::Pe) && c.index == 5).unwrap();
    let time = bytes.windows(8).position(|w| w == record.time.to_le_bytes()).unwrap();
    bytes[time - 4] = 77;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("changed.ntff");
    std::fs::write(&file, &bytes).unwrap();
    let more = ["--neff", neff.to_str().unwrap(), "--schedules", "2", "--json"];
    let document = seqjit(arguments(&file, &more)).expect(1).json();
    assert_eq!((&document["pcs_equal"], &document["events_equal"]), (&true.into(), &false.into()));
    let first = &document["first_difference"];
    assert_eq!(
        (&first["check"], &first["engine"], &first["schedule"]),
        (&"events".into(), &"PE".into(), &1.into())
    );
    assert_eq!(first["recorded"]["value"], 77);
    assert_eq!(first["replayed"]["value"], 1);
    assert_eq!(first["replayed"]["semaphore"], 5);
    let Ended { stdout, .. } = seqjit(arguments(&file, &more[..4])).expect(1);
    assert!(stdout.contains("first difference, schedule 1: sg00 PE, change"), "{stdout}");

    // Cut short; not there; no container beside it; a container of another program.
    let cut = directory.path().join("cut.ntff");
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    seqjit(arguments(&cut, &more)).error(3, "bad_input");
    seqjit(arguments(&directory.path().join("none.ntff"), &["--json"])).error(10, "io");
    seqjit(arguments(&file, &["--json"])).error(10, "io");
    let other = common::data("neffs/baseline_fp32_s512.neff").unwrap();
    seqjit(arguments(&file, &["--neff", other.to_str().unwrap(), "--json"])).error(3, "bad_input");
    seqjit(arguments(&file, &["--neff", neff.to_str().unwrap(), "-i", "x=y.npy", "--json"]))
        .error(2, "usage");
}
