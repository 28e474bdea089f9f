//! Observers see every word, change and transfer, and change nothing.

use std::path::Path;
use std::sync::{Arc, Mutex};

use seqjit::runtime::isa::EngineId;
use seqjit::runtime::machine::{Change, Machine, NotificationKind};
use seqjit::{
    BlockRun, BlockTranslated, Engine, Exit, Observer, Options, Program, RunError, Schedule, Session, Tier,
    Transferred,
};

#[derive(Default)]
struct Seen {
    blocks: Vec<BlockRun>,
    changes: Vec<Change>,
    transfers: Vec<Transferred>,
    shapes: u64,
    exits: Vec<Result<Exit, RunError>>,
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Seen>>);

impl Observer for Recorder {
    fn translated(&mut self, _: &Machine, event: &BlockTranslated) {
        self.0.lock().unwrap().shapes += event.shapes;
    }

    fn block_run(&mut self, _: &Machine, event: &BlockRun) {
        self.0.lock().unwrap().blocks.push(*event);
    }

    fn sync_changed(&mut self, _: &Machine, event: &Change) {
        self.0.lock().unwrap().changes.push(*event);
    }

    fn transferred(&mut self, _: &Machine, event: &Transferred) {
        self.0.lock().unwrap().transfers.push(*event);
    }

    fn exited(&mut self, _: &Machine, why: &Result<Exit, RunError>) {
        self.0.lock().unwrap().exits.push(why.clone());
    }
}

fn program(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.neff"));
    Program::open(path).unwrap()
}

fn session(program: &Program, tier: Tier, schedule: Schedule, trace: bool) -> Session {
    let mut options = Options::default();
    options.tier = tier;
    options.schedule = schedule;
    options.trace = trace;
    let mut session = Session::new(&Engine::new(), program, options).unwrap();
    session.set_random_inputs(2);
    session
}

fn state(machine: &Machine) -> Vec<u8> {
    let mut out = Vec::new();
    machine.save(&mut out).unwrap();
    out
}

#[test]
fn observers_see_everything_and_change_nothing() {
    for name in ["rmsnorm", "softmax", "two_cores"] {
        let program = program(name);
        for schedule in [Schedule::Fixed, Schedule::Seeded(4)] {
            let mut seen_before = None;
            for tier in [Tier::Interp, Tier::Jit] {
                let mut plain = session(&program, tier, schedule, false);
                let expected = plain.run().unwrap();
                let mut watched = session(&program, tier, schedule, false);
                let recorder = Recorder::default();
                watched.set_observer(Box::new(recorder.clone()));
                let report = watched.run().unwrap();
                assert_eq!(report.counters, expected.counters, "{name} {tier}");
                assert!(state(watched.machine()) == state(plain.machine()), "{name} {tier}");
                assert!(watched.take_observer().is_some() && watched.machine().changes.is_none());
                let seen = recorder.0.lock().unwrap();
                assert_eq!(seen.blocks.iter().map(|b| b.words).sum::<u64>(), expected.counters.retired);
                let moved = seen.transfers.iter().fold((0, 0), |sum, t| (sum.0 + t.read, sum.1 + t.written));
                assert_eq!(moved, (expected.counters.dma_read, expected.counters.dma_written));
                assert_eq!(seen.transfers.len() as u64, expected.counters.transfers);
                assert_eq!(seen.exits, [Ok(Exit::Finished)]);
                assert_eq!(seen.shapes, report.translations.shapes);
                // The other examples run in kernels.
                assert_eq!(seen.shapes > 0, tier == Tier::Jit && name == "rmsnorm", "{name} {tier}");
                // The tiers show the same.
                let now = (seen.blocks.clone(), seen.changes.clone());
                assert_eq!(*seen_before.get_or_insert_with(|| now.clone()), now, "{name} {tier}");
            }
        }
    }
}

/// Changes are those that the device's notifications would report, in the same order.
#[test]
fn changes_are_those_of_the_notifications() {
    let program = program("softmax");
    let mut traced = session(&program, Tier::Interp, Schedule::Fixed, true);
    traced.run().unwrap();
    let notified: Vec<_> = traced.machine().cores[0]
        .notifications
        .iter()
        .filter_map(|n| match n.kind {
            NotificationKind::Sync(change) => Some((n.engine, n.pc, change)),
            _ => None,
        })
        .collect();
    assert!(!notified.is_empty());
    let mut watched = session(&program, Tier::Jit, Schedule::Fixed, false);
    let recorder = Recorder::default();
    watched.set_observer(Box::new(recorder.clone()));
    watched.run().unwrap();
    let seen = recorder.0.lock().unwrap();
    let changes: Vec<_> = seen.changes.iter().map(|c| (c.engine, c.pc, c.change)).collect();
    assert_eq!(changes, notified);
}

/// Pieces of every size add up to the same run.
#[test]
fn pieces_of_every_size_make_the_same_run() {
    use seqjit::{Agent, Pace};
    let program = program("softmax");
    let mut plain = session(&program, Tier::Jit, Schedule::Seeded(9), false);
    let expected = plain.run().unwrap();
    for pace in [Pace::Word, Pace::Block, Pace::Turn] {
        let mut session = session(&program, Tier::Jit, Schedule::Seeded(9), false);
        session.start().unwrap();
        let (mut words, mut pieces) = (0, 0);
        loop {
            let piece = session.advance(pace).unwrap();
            words += piece.retired;
            pieces += 1;
            if pace == Pace::Word {
                assert!(piece.retired <= 1);
            }
            if let Agent::Engine(_, EngineId::Pe) = piece.agent {
                assert!(piece.retired <= 256);
            }
            if let Some(exit) = piece.exit {
                assert_eq!(exit, Exit::Finished);
                break;
            }
        }
        assert_eq!(words, expected.counters.retired, "{pace:?}");
        assert!(state(session.machine()) == state(plain.machine()), "{pace:?}");
        // A turn of words that wait for each other is one block each.
        assert_eq!(pieces > expected.counters.turns + 1, pace != Pace::Turn, "{pace:?}: {pieces}");
    }
}
