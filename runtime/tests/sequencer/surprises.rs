//! Surprises: the truth table of chapter 01 section 7.5 for every word of the ten bits that it names, and
//! how armed conditions become such words.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::EngineId;
use seqjit_runtime::machine::{Engine, Machine};
use seqjit_runtime::sequencer::csr::Access;
use seqjit_runtime::sequencer::{Phase, Step, step};

use crate::support::*;
use crate::words::*;

/// What a row of the table asks beside the four bits.
#[derive(Clone, Copy, PartialEq, Debug)]
enum When {
    Always,
    WordIsZero,
    OtherBitsSet,
    CountLeft,
    CountIsZero,
    /// instr_halt_ctrl or immediate_pause (decision D15).
    Armed,
    Unarmed,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Then {
    Continue,
    /// Continue with one step less.
    Count,
    Halt(u32),
    /// Halt and clear instr_halt_ctrl if it is set.
    Acknowledge(u32),
    /// The assertion in this line of surprises.hpp.
    Fatal(u32),
}

/// Bits 9, 2, 3 and 8; `None` where the table has an x.
type Row = ([Option<bool>; 4], When, Then);

const O: Option<bool> = Some(false);
const I: Option<bool> = Some(true);
const X: Option<bool> = None;

/// Chapter 01 section 7.5, line by line.
const TABLE: [Row; 13] = [
    ([O, O, O, O], When::WordIsZero, Then::Continue),
    ([O, O, O, O], When::OtherBitsSet, Then::Fatal(441)),
    ([O, O, O, I], When::CountLeft, Then::Count),
    ([O, O, O, I], When::CountIsZero, Then::Halt(64)),
    ([O, O, I, X], When::Armed, Then::Acknowledge(8)),
    ([O, O, I, X], When::Unarmed, Then::Fatal(426)),
    ([O, I, X, X], When::Always, Then::Halt(4)),
    ([I, O, O, O], When::Always, Then::Continue),
    ([I, O, O, I], When::CountLeft, Then::Count),
    ([I, O, O, I], When::CountIsZero, Then::Halt(64)),
    ([I, O, I, X], When::Armed, Then::Acknowledge(8)),
    ([I, O, I, X], When::Unarmed, Then::Fatal(426)),
    ([I, I, X, X], When::Always, Then::Halt(4)),
];

#[derive(Clone, Copy, Debug)]
struct Case {
    word: u16,
    halt_ctrl: u32,
    immediate_pause: bool,
    count: u32,
}

/// The one row that applies.
fn expected(case: Case) -> Then {
    let bits = [9, 2, 3, 8].map(|bit| case.word >> bit & 1 == 1);
    let applies = |(pattern, when, _): &&Row| {
        let matches = pattern.iter().zip(bits).all(|(want, bit)| want.is_none_or(|w| w == bit));
        let armed = case.halt_ctrl != 0 || case.immediate_pause;
        matches
            && match when {
                When::Always => true,
                When::WordIsZero => case.word == 0,
                When::OtherBitsSet => case.word != 0,
                When::CountLeft => case.count > 0,
                When::CountIsZero => case.count == 0,
                When::Armed => armed,
                When::Unarmed => !armed,
            }
    };
    let rows: Vec<&Row> = TABLE.iter().filter(applies).collect();
    assert_eq!(rows.len(), 1, "{case:?} has one row");
    rows[0].2
}

/// A machine whose engine has entered a run and done one word.
fn running(engine: EngineId) -> Machine {
    let mut machine = machine(engine, &[nop(), nop(), halt()]);
    ring(&mut machine, engine);
    assert_eq!(step(&mut machine, 0, engine).unwrap(), Step::Done { ends_turn: false });
    machine
}

fn access(write: bool, offset: u32, value: u32) -> Access {
    Access { by: seqjit_runtime::sequencer::csr::Accessor::Sequencer, write, offset, value }
}

/// Setup-Halt and what the outer loop publishes.
fn halting(reason: u32) -> Vec<Access> {
    const RUN_STATE: u32 = 0x08;
    let next = BASE as u32 + 64;
    vec![access(true, LR3, next), access(true, LR4, 0), access(true, RUN_STATE, reason)]
}

/// Every access of the sequencer to a control register, in order.
fn expected_accesses(case: Case, then: Then) -> Vec<Access> {
    let read = access(false, HALT_CTRL, case.halt_ctrl);
    let mut all = Vec::new();
    match then {
        Then::Continue | Then::Count => {}
        Then::Halt(reason) => all.extend(halting(reason)),
        Then::Acknowledge(reason) => {
            all.push(read);
            if case.halt_ctrl != 0 {
                all.push(access(true, HALT_CTRL, 0));
            }
            all.extend(halting(reason));
        }
        Then::Fatal(line) => {
            if line == 426 {
                all.push(read);
            }
            all.extend(halting(16));
        }
    }
    all
}

fn check(machine: &mut Machine, engine: EngineId, fresh: &Engine, case: Case) {
    *state(machine, engine) = fresh.clone();
    machine.cores[0].notifications.clear();
    let pause = if case.immediate_pause { 0x107 } else { 0x007 };
    machine.csr_write(0, engine, BP_CTRL, pause).unwrap();
    machine.csr_write(0, engine, HALT_CTRL, case.halt_ctrl).unwrap();
    seq(machine, engine).step_count = case.count;
    watch(machine, engine);

    let result = machine.inject_surprise(0, engine, case.word);

    let then = expected(case);
    assert_eq!(accesses(machine, engine), expected_accesses(case, then), "{case:x?}");
    let acknowledged = matches!(then, Then::Acknowledge(_));
    let halt_ctrl = if acknowledged { 0 } else { case.halt_ctrl };
    assert_eq!(machine.csr_read(0, engine, HALT_CTRL), Some(halt_ctrl), "{case:x?}");
    assert_eq!(machine.csr_read(0, engine, BP_CTRL), Some(pause), "{case:x?}");
    let seq = seq(machine, engine);
    let count = if then == Then::Count { case.count - 1 } else { case.count };
    assert_eq!(seq.step_count, count, "{case:x?}");
    match then {
        Then::Continue | Then::Count => {
            assert_eq!((result.unwrap(), seq.running, seq.run_state()), (true, true, 1), "{case:x?}");
            assert_eq!((seq.phase, seq.csr.resume_pc()), (Phase::Running, BASE));
        }
        Then::Halt(reason) | Then::Acknowledge(reason) => {
            assert_eq!((result.unwrap(), seq.phase), (false, Phase::Waiting), "{case:x?}");
            assert_eq!(stopped(machine, engine), (reason, reason, BASE + 64), "{case:x?}");
        }
        Then::Fatal(line) => {
            let assertion =
                FaultKind::Assertion { function: "sunda_handle_surprises", file: "surprises.hpp", line };
            assert_eq!(result.unwrap_err().kind, assertion, "{case:x?}");
            assert_eq!((seq.phase, seq.error_record), (Phase::Dead, 0), "{case:x?}");
            assert_eq!(stopped(machine, engine), (16, 16, BASE + 64), "{case:x?}");
        }
    }
}

#[test]
fn every_word_of_ten_bits_follows_the_truth_table() {
    for engine in [EngineId::Pe, EngineId::Sp] {
        let mut machine = running(engine);
        let fresh = state(&mut machine, engine).clone();
        for word in 0..1 << 10 {
            for (halt_ctrl, immediate_pause) in [(0, false), (0, true), (1, false), (0x8000_0000, true)] {
                for count in [0, 1, 2, u32::MAX] {
                    check(&mut machine, engine, &fresh, Case { word, halt_ctrl, immediate_pause, count });
                }
            }
        }
    }
}

/// Bits above the ten have no meaning either; they matter only where nothing else is set.
#[test]
fn upper_bits_alone_are_unhandled() {
    let mut machine = running(EngineId::Pe);
    let fresh = state(&mut machine, EngineId::Pe).clone();
    for bit in 10..16 {
        for known in [0, 1 << 9, 1 << 2, 1 << 3, 1 << 8] {
            let case = Case { word: 1 << bit | known, halt_ctrl: 1, immediate_pause: false, count: 3 };
            check(&mut machine, EngineId::Pe, &fresh, case);
        }
    }
}

/// The words that conditions armed at run entry give (section 7.2), seen in the software front end's log.
#[test]
fn armed_conditions_make_the_surprise_word() {
    let word_of = |control: u32, steps: u32, address: u64, halt_ctrl: u32, strong: bool| {
        let mut machine = machine(EngineId::Sp, &[nop(), halt()]);
        let mut set = |offset, value| machine.csr_write(0, EngineId::Sp, offset, value).unwrap();
        set(BP_CTRL, control);
        set(BP_STEP, steps);
        set(BP_ADDR0, address as u32);
        set(BP_ADDR0 + 4, (address >> 32) as u32);
        set(HALT_CTRL, halt_ctrl);
        set(CONTROL, if strong { 0x7FFE } else { 0x7FFC });
        let (_, lines) = logged(|| start(&mut machine, EngineId::Sp).unwrap());
        let first = lines.iter().find_map(|l| l.strip_prefix("S: sunda_check_surprises: ")).unwrap();
        first.to_owned()
    };
    assert_eq!(word_of(7, 9, BASE, 0, false), "any=0, surprises=0x0");
    assert_eq!(word_of(7, 0, 0, 0, true), "any=1, surprises=0x200");
    assert_eq!(word_of(0xF, 9, 0, 0, false), "any=1, surprises=0x100");
    assert_eq!(word_of(0xF, 0, 0, 0, false), "any=0, surprises=0x0", "a count of zero does not arm");
    assert_eq!(word_of(7, 0, 0, 1, false), "any=1, surprises=0x8");
    assert_eq!(word_of(0x107, 0, 0, 0, false), "any=1, surprises=0x8", "immediate pause");
    assert_eq!(word_of(0x17, 0, BASE, 0, false), "any=1, surprises=0x4");
    assert_eq!(word_of(0x17, 0, BASE | 1 << 32, 0, false), "any=0, surprises=0x0", "all 64 bits count");
    assert_eq!(word_of(0x16, 0, BASE, 0, false), "any=0, surprises=0x0", "breakpoints disabled");
    assert_eq!(word_of(0x1F, 1, BASE, 1, true), "any=1, surprises=0x30c");
}

/// Everything but the external stop is read at run entry only (section 12.1).
#[test]
fn debug_registers_are_latched_at_run_entry() {
    let engine = EngineId::Pe;
    let mut machine = machine(engine, &[nop(), nop(), nop(), halt()]);
    machine.csr_write(0, engine, BP_ADDR0, BASE as u32 + 128).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0x17).unwrap();
    ring(&mut machine, engine);
    step(&mut machine, 0, engine).unwrap();
    // disabling now comes too late, arming more does too
    machine.csr_write(0, engine, BP_CTRL, 0x08).unwrap();
    machine.csr_write(0, engine, BP_STEP, 1).unwrap();
    machine.csr_write(0, engine, BP_ADDR0, BASE as u32 + 64).unwrap();
    run(&mut machine).unwrap();
    assert_eq!(stopped(&machine, engine), (4, 4, BASE + 128));
    // the next run finds what the registers hold now: a step count of one
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine), (64, 64, BASE + 192));
}

#[test]
fn the_second_address_breakpoint_works_like_the_first() {
    let engine = EngineId::Act;
    let mut machine = machine(engine, &[nop(), nop(), nop(), halt()]);
    machine.csr_write(0, engine, BP_ADDR1, BASE as u32 + 64).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0x21).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!((stopped(&machine, engine), state(&mut machine, engine).retired), ((4, 4, BASE + 64), 1));
}

/// Decision D8: a breakpoint does not fire again before its word has run, and does fire on the way back.
#[test]
fn a_breakpoint_fires_once_each_time_round_a_loop() {
    let engine = EngineId::Pe;
    let words = [nop(), alu_immediate(4, INT32, 1, 1, 1), relative(always(), -128)];
    let mut machine = machine(engine, &words);
    machine.csr_write(0, engine, BP_ADDR0, BASE as u32 + 64).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0x17).unwrap();
    for round in 0..4 {
        start(&mut machine, engine).unwrap();
        assert_eq!(stopped(&machine, engine), (4, 4, BASE + 64));
        assert_eq!(register(&machine, engine, 1), round);
        // an external stop before the word has run does not make it fire again
        machine.csr_write(0, engine, HALT_CTRL, 1).unwrap();
        start(&mut machine, engine).unwrap();
        assert_eq!(stopped(&machine, engine), (8, 8, BASE + 64));
    }
    // entered from elsewhere, it fires
    machine.csr_write(0, engine, LR3, BASE as u32).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine), (4, 4, BASE + 64));
    // disarmed: the word retires; armed again: it fires at the next entry there
    machine.csr_write(0, engine, BP_CTRL, 0xF).unwrap();
    machine.csr_write(0, engine, BP_STEP, 2).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine), (64, 64, BASE));
    machine.csr_write(0, engine, LR3, BASE as u32 + 64).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0x17).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine), (4, 4, BASE + 64));
}

/// Section 12.6, "run to the third MOVE", and decision D17.
#[test]
fn opcode_counters_stop_behind_the_threshold_th_match() {
    let engine = EngineId::Pe;
    let mv = move_immediate(&[(1, 5)]);
    let mut words = vec![nop(), mv, mv, nop(), mv, mv, nop(), halt()];
    words.extend([nop(); 4]);
    let mut machine = machine(engine, &words);
    machine.csr_write(0, engine, BP_MATCH, 0xA7FF).unwrap();
    machine.csr_write(0, engine, BP_IC0, 3).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0x47).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine), (4, 4, BASE + 5 * 64), "behind the third MOVE");
    assert_eq!(seq(&mut machine, engine).counters, [3, 0]);
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine).0, 0, "counting starts anew: one MOVE is left");

    let mut machine = self::machine(engine, &[mv, mv, nop(), mv, mv, nop(), halt()]);
    machine.csr_write(0, engine, BP_MATCH, 0xA7FF).unwrap();
    machine.csr_write(0, engine, BP_IC0, 2).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0x47).unwrap();
    for slot in [2, 5] {
        start(&mut machine, engine).unwrap();
        assert_eq!(stopped(&machine, engine), (4, 4, BASE + 64 * slot), "two in each run");
    }

    // mask 0 with opcode 0 matches everything, with another opcode nothing
    let mut machine = self::machine(engine, &[nop(), nop(), mv, halt()]);
    machine.csr_write(0, engine, BP_MATCH, 0x0000_A400).unwrap();
    machine.csr_write(0, engine, BP_IC0, 1).unwrap();
    machine.csr_write(0, engine, BP_IC0 + 4, 2).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0xC7).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine), (4, 4, BASE + 128));
    assert_eq!(seq(&mut machine, engine).counters, [0, 2]);

    // threshold 0 never fires; the upper half of the match register is counter 1
    let mut machine = self::machine(engine, &[nop(), nop(), mv, halt()]);
    machine.csr_write(0, engine, BP_MATCH, 0xA7FF_A4FF).unwrap();
    machine.csr_write(0, engine, BP_IC0 + 4, 1).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0xC7).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine), (4, 4, BASE + 192));
    assert_eq!(seq(&mut machine, engine).counters, [2, 1]);
}

/// Decision D15: reason 8, and the bit stays, so that the next run stops at once.
#[test]
fn immediate_pause_stops_a_running_engine_and_stays() {
    let engine = EngineId::Dve;
    let mut machine = machine(engine, &[nop(), nop(), nop(), halt()]);
    ring(&mut machine, engine);
    step(&mut machine, 0, engine).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0x107).unwrap();
    run(&mut machine).unwrap();
    assert_eq!(stopped(&machine, engine), (8, 8, BASE + 64));
    start(&mut machine, engine).unwrap();
    assert_eq!((stopped(&machine, engine), state(&mut machine, engine).retired), ((8, 8, BASE + 64), 1));
    machine.csr_write(0, engine, BP_CTRL, 7).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!(stopped(&machine, engine), (0, 0, BASE + 256));
}

/// A word that waits has done nothing yet: the host's stop reaches it, a step is not counted twice.
#[test]
fn an_external_stop_reaches_a_blocked_word() {
    let engine = EngineId::Pe;
    let both = event_semaphore((WAIT_GE, 9), 1, (SEM_INC, 7), 0);
    let both = events(both, (WAIT_SET_THEN_CLEAR, 4), (0, 0), 0);
    let mut machine = machine(engine, &[both, halt()]);
    machine.cores[0].sync.events[4] = true;
    machine.csr_write(0, engine, BP_STEP, 2).unwrap();
    machine.csr_write(0, engine, BP_CTRL, 0xF).unwrap();
    start(&mut machine, engine).unwrap();
    assert!(state(&mut machine, engine).blocked_on.is_some() && !machine.cores[0].sync.events[4]);
    run(&mut machine).unwrap();
    assert_eq!(seq(&mut machine, engine).step_count, 1, "one check for all attempts");
    machine.request_stop();
    run(&mut machine).unwrap();
    assert_eq!(stopped(&machine, engine), (8, 8, BASE));
    assert_eq!(state(&mut machine, engine).blocked_on, None);
    // going on, the first wait has fired already and is not taken again
    machine.cores[0].sync.semaphores[9] = 1;
    machine.cores[0].sync.events[4] = true;
    start(&mut machine, engine).unwrap();
    assert_eq!(machine.cores[0].sync.semaphores[7], 1);
    assert!(machine.cores[0].sync.events[4], "the event was not consumed twice");
}

#[test]
fn a_first_wait_that_has_fired_belongs_to_its_word_only() {
    let engine = EngineId::Pe;
    let both = events(event_semaphore((WAIT_GE, 9), 1, (0, 0), 0), (WAIT_SET_THEN_CLEAR, 4), (0, 0), 0);
    let other = events(nop(), (WAIT_SET_THEN_CLEAR, 5), (0, 0), 0);
    let mut machine = machine(engine, &[both, other, halt()]);
    machine.cores[0].sync.events[4] = true;
    start(&mut machine, engine).unwrap();
    machine.request_stop();
    run(&mut machine).unwrap();
    // the host goes on at another word: its own first wait counts
    machine.csr_write(0, engine, LR3, BASE as u32 + 64).unwrap();
    start(&mut machine, engine).unwrap();
    assert_eq!(state(&mut machine, engine).blocked_on.unwrap().index, 5);
}
