//! Stopping a session before words: nothing that a run does depends on it.

mod cli_support;

use cli_support::*;
use seqjit::runtime::isa::EngineId;
use seqjit::{Engine, Exit, Options, Program, Report, RunError, Schedule, Session, StopError};

fn session(program: &Program, schedule: Schedule) -> Session {
    let mut options = Options::default();
    options.schedule = schedule;
    let mut session = Session::new(&Engine::new(), program, options).unwrap();
    session.set_random_inputs(3);
    session
}

/// Resumes until the end; the stops on the way.
fn finish(session: &mut Session, mut report: Report) -> (Report, Vec<(usize, EngineId, u64)>) {
    let mut stops = Vec::new();
    while let Exit::Stopped { core, engine, slot } = report.exit {
        stops.push((core, engine, slot));
        let state = &session.machine().cores[core].engines[engine.index()];
        assert_eq!(state.next_pc(), slot * 64);
        report = session.resume().unwrap();
    }
    (report, stops)
}

#[test]
fn stopping_everywhere_changes_neither_results_nor_turns() {
    let Some(neff) = vendor("trn2_transpose_1024") else { return };
    let program = Program::open(neff).unwrap();
    for schedule in [Schedule::Fixed, Schedule::Seeded(1), Schedule::Seeded(2)] {
        let mut plain = session(&program, schedule);
        let expected = plain.run().unwrap();
        let mut stopped = session(&program, schedule);
        let mut count = 0;
        for core in 0..program.cores() {
            for engine in EngineId::ALL {
                for slot in 0..program.image().cores[core].streams[engine.index()].words.len() as u64 {
                    stopped.stop_at(core, engine, slot).unwrap();
                    count += 1;
                }
            }
        }
        let first = stopped.run().unwrap();
        let (report, stops) = finish(&mut stopped, first);
        assert_eq!(stops.len(), count, "straight-line programs run every word");
        // Stops leave native code, which is the only thing that may differ.
        assert_eq!((report.exit, report.counters), (expected.exit, expected.counters), "{schedule:?}");
        assert_eq!(report.translations.words, expected.translations.words, "{schedule:?}");
        assert_eq!(report.warnings, expected.warnings, "{schedule:?}");
        assert!(stopped.output("out").unwrap() == plain.output("out").unwrap());
        // Stops are used up.
        assert_eq!(stopped.run().unwrap().exit, Exit::Finished);
    }
}

#[test]
fn a_stop_is_where_the_waits_hold() {
    let example = Example::new();
    let program = Program::open(&example.neff).unwrap();
    let mut session = session(&program, Schedule::Fixed);
    session.stop_at(0, EngineId::Dve, 0).unwrap();
    let report = session.run().unwrap();
    assert_eq!(report.exit, Exit::Stopped { core: 0, engine: EngineId::Dve, slot: 0 });
    let core = &session.machine().cores[0];
    assert_eq!(core.sync.semaphores[20], 16, "x is loaded");
    assert_eq!(core.sync.semaphores[21], 0, "nothing is added");
    // Word 0 of SP.
    assert_eq!(report.counters.retired, 1);
    assert_eq!(session.resume().unwrap().exit, Exit::Finished);
}

#[test]
fn words_that_do_not_exist_are_refused() {
    let example = Example::new();
    let program = Program::open(&example.neff).unwrap();
    let mut session = session(&program, Schedule::Fixed);
    assert_eq!(session.stop_at(1, EngineId::Pe, 0), Err(StopError::Core { core: 1, cores: 1 }));
    let word = StopError::Word { core: 0, engine: EngineId::Sp, slot: 3, words: 3 };
    assert_eq!(session.stop_at(0, EngineId::Sp, 3), Err(word));
}

#[test]
fn only_a_stopped_run_can_be_resumed() {
    let example = Example::new();
    let program = Program::open(&example.neff).unwrap();
    let mut session = session(&program, Schedule::Fixed);
    assert_eq!(session.resume(), Err(RunError::NotStopped));
    session.run().unwrap();
    assert_eq!(session.resume(), Err(RunError::NotStopped));
    session.stop_at(0, EngineId::Sp, 2).unwrap();
    session.run().unwrap();
    session.reset();
    assert_eq!(session.resume(), Err(RunError::NotStopped));
}

#[test]
fn observers_see_progress() {
    let Some(neff) = vendor("trn2_transpose_1024") else { return };
    let program = Program::open(neff).unwrap();
    let mut session = session(&program, Schedule::Fixed);
    let mut seen = Vec::new();
    let report = session.run_with(&mut |progress| seen.push(*progress)).unwrap();
    assert!(!seen.is_empty());
    assert!(seen.windows(2).all(|w| w[0].retired <= w[1].retired && w[0].turns < w[1].turns));
    assert!(seen.last().unwrap().retired <= report.counters.retired);
}
