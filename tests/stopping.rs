//! Stopping a run, looking, going on: nothing that a program computes may depend on it.

mod common;

use std::time::Duration;

use seqjit::runtime::isa::EngineId;
use seqjit::runtime::sequencer::HaltReason;
use seqjit::{Engine, Exit, Options, Program, Schedule, Session, Stepped, Until};

fn session(name: &str, schedule: Schedule) -> Option<Session> {
    let program = Program::open(common::data(&format!("neffs/{name}.neff"))?).unwrap();
    let mut options = Options::default();
    options.schedule = schedule;
    let mut session = Session::new(&Engine::new(), &program, options).unwrap();
    session.set_random_inputs(3);
    Some(session)
}

/// Everything that a program can see at its end: memories, semaphores, events, registers, counts.
fn state(session: &Session) -> Vec<Vec<u8>> {
    let machine = session.machine();
    let mut all: Vec<Vec<u8>> = machine.dram.buffers().iter().map(|b| b.bytes().to_vec()).collect();
    for core in &machine.cores {
        for memory in [&core.sbuf, &core.psum] {
            all.extend((0..128).map(|p| memory.partition(p).to_vec()));
        }
        all.push(core.sync.semaphores.iter().flat_map(|s| s.to_le_bytes()).collect());
        all.push(core.sync.events.iter().map(|e| u8::from(*e)).collect());
        for engine in &core.engines {
            all.push(engine.registers.iter().flat_map(|r| r.to_le_bytes()).collect());
            all.push(engine.retired.to_le_bytes().to_vec());
            all.push(engine.seq.csr.resume_pc().to_le_bytes().to_vec());
            all.push(engine.seq.run_state().to_le_bytes().to_vec());
        }
    }
    all
}

#[test]
fn stopping_at_every_word_count_changes_nothing() {
    for schedule in [Schedule::Fixed, Schedule::Seeded(7)] {
        let Some(mut whole) = session("fused_fp32_s512", schedule) else { return };
        let total = whole.run().unwrap().counters.retired;
        let expected = state(&whole);
        let Some(mut stopped) = session("fused_fp32_s512", schedule) else { return };
        for count in 1..total {
            let report = stopped.run_until(Until::Words(count)).unwrap();
            assert_eq!((report.exit, report.counters.retired), (Exit::Reached, count));
        }
        let report = stopped.resume().unwrap();
        assert_eq!((report.exit, report.counters.retired), (Exit::Finished, total));
        assert!(state(&stopped) == expected);
    }
}

#[test]
fn breakpoints_stop_before_their_word_and_step_runs_one() {
    let Some(mut whole) = session("nkipy_matmul_small", Schedule::Fixed) else { return };
    whole.run().unwrap();
    let Some(mut s) = session("nkipy_matmul_small", Schedule::Fixed) else { return };
    s.set_breakpoint(0, EngineId::Pe, 2).unwrap();
    s.set_breakpoint(1, EngineId::Act, 3).unwrap();
    let exit = s.run().unwrap().exit;
    let reason = HaltReason::InsBreak;
    assert_eq!(exit, Exit::Break { core: 0, engine: EngineId::Pe, slot: 2, reason });
    let pe = &s.machine().cores[0].engines[EngineId::Pe.index()];
    assert_eq!((pe.seq.run_state(), pe.retired, pe.seq.csr.resume_pc()), (4, 1, 128));
    let before = pe.retired;
    assert!(matches!(s.step(0, EngineId::Pe, 1).unwrap(), Stepped::Done(1) | Stepped::Blocked(0, _)));
    let pe = &s.machine().cores[0].engines[EngineId::Pe.index()];
    assert!(pe.retired - before <= 1 && !pe.seq.running);
    let exit = s.resume().unwrap().exit;
    assert_eq!(exit, Exit::Break { core: 1, engine: EngineId::Act, slot: 3, reason });
    assert!(s.clear_breakpoint(1, EngineId::Act, 3));
    assert_eq!(s.resume().unwrap().exit, Exit::Finished);
    assert!(state(&s) == state(&whole));
    assert_eq!(s.breakpoints(), [(0, EngineId::Pe, 2)]);
}

#[test]
fn a_run_stops_when_a_semaphore_has_come_far_enough() {
    let Some(mut s) = session("fused_fp32_s512", Schedule::Fixed) else { return };
    let report = s.run_until(Until::Semaphore { core: 0, index: 5, value: 17 }).unwrap();
    assert_eq!(report.exit, Exit::Reached);
    assert_eq!(s.machine().cores[0].sync.semaphores[5], 17);
    let report = s.run_until(Until::Word { core: 0, engine: EngineId::Dve, slot: 9 }).unwrap();
    assert_eq!(report.exit, Exit::Reached);
    assert_eq!(s.machine().cores[0].engines[EngineId::Dve.index()].pc, 9 * 64);
    assert_eq!(s.resume().unwrap().exit, Exit::Finished);
    // The final semaphores of the recorded device run (test data README, section 3).
    let semaphores = &s.machine().cores[0].sync.semaphores;
    let expected = [(4, 8), (5, 40), (6, 16), (8, 16), (24, 16), (25, 16), (26, 16), (27, 16)];
    for (index, value) in expected {
        assert_eq!(semaphores[index], value, "S{index}");
    }
    assert_eq!(semaphores.iter().filter(|v| **v != 0).count(), expected.len());
}

#[test]
fn another_thread_pauses_between_two_words() {
    let Some(mut whole) = session("baseline_fp32_s512", Schedule::Fixed) else { return };
    let total = whole.run().unwrap().counters.retired;
    let expected = state(&whole);
    let Some(mut s) = session("baseline_fp32_s512", Schedule::Fixed) else { return };
    let pauser = s.pauser();
    let done = std::sync::atomic::AtomicBool::new(false);
    let mut pauses = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                pauser.pause();
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let mut report = s.run().unwrap();
        while report.exit == Exit::Paused {
            pauses += 1;
            let retired: u64 = s.machine().cores.iter().flat_map(|c| &c.engines).map(|e| e.retired).sum();
            assert_eq!(retired, report.counters.retired, "a pause falls between two words");
            report = s.resume().unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!((report.exit, report.counters.retired), (Exit::Finished, total));
    });
    assert!(pauses > 0, "the run was never paused");
    assert!(state(&s) == expected);
}
