//! The run-state machine: one row for each line of chapter 01 section 9.3, with the control register writes
//! in order.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::EngineId;
use seqjit_runtime::machine::{Machine, NotificationKind};
use seqjit_runtime::sequencer::{Interrupt, Phase, Step, step};

use crate::support::*;
use crate::words::*;

pub const E: EngineId = EngineId::Pe;

/// A state, an event, what follows.
struct Row {
    name: &'static str,
    from: fn() -> Machine,
    event: fn(&mut Machine),
    /// Writes of the sequencer to control registers, in order.
    writes: &'static str,
    /// Some of the log lines, in order.
    lines: &'static [&'static str],
    to: Phase,
    run_state: u32,
    /// Where it would go on.
    next: u64,
}

/// One attempt at the next word, whose outcome the row's other columns tell.
fn attempt(machine: &mut Machine) {
    let _ = step(machine, 0, E);
}

pub fn in_reset() -> Machine {
    let mut machine = waiting();
    machine.csr_write(0, E, RUN_STALL, 1).unwrap();
    machine
}

pub fn waiting() -> Machine {
    machine(E, &[nop(), nop(), halt(), nop(), halt()])
}

/// Has run a NOP of the given words.
fn running_words(words: &[seqjit_runtime::isa::Word]) -> Machine {
    let mut machine = machine(E, words);
    ring(&mut machine, E);
    assert_eq!(step(&mut machine, 0, E).unwrap(), Step::Done { ends_turn: false });
    machine
}

pub fn running() -> Machine {
    running_words(&[nop(), nop(), halt()])
}

/// Has run HALT at [`BASE`] with interrupt 0 pending; a NOP and a HALT are left, and another such pair.
pub fn paused() -> Machine {
    let mut machine = machine(E, &[halt(), nop(), halt(), nop(), halt()]);
    seq(&mut machine, E).set_interrupt(0, true);
    ring(&mut machine, E);
    assert_eq!(step(&mut machine, 0, E).unwrap(), Step::Done { ends_turn: true });
    machine
}

fn dead() -> Machine {
    let mut machine = machine(E, &[seqjit_runtime::isa::Word::new(0x42)]);
    ring(&mut machine, E);
    step(&mut machine, 0, E).unwrap_err();
    machine
}

const ROWS: &[Row] = &[
    Row {
        name: "RESET, host clears run stall",
        from: in_reset,
        event: |m| m.csr_write(0, E, RUN_STALL, 0).unwrap(),
        writes: "control=7ffc",
        lines: &["S: BEGIN on cayman", "S: NX in HW Decode mode", "S: Pending StartCtrl"],
        to: Phase::Waiting,
        run_state: 0,
        next: BASE,
    },
    Row {
        name: "RESET, host clears run stall, strong ordering left over",
        from: || {
            let mut machine = in_reset();
            machine.csr_write(0, E, CONTROL, 0x7FFE).unwrap();
            machine
        },
        event: |m| m.csr_write(0, E, RUN_STALL, 0).unwrap(),
        writes: "control=7ffc",
        lines: &[],
        to: Phase::Waiting,
        run_state: 0,
        next: BASE,
    },
    Row {
        name: "RESET, doorbell",
        from: in_reset,
        event: |m| {
            ring(m, E);
            attempt(m);
        },
        writes: "",
        lines: &[],
        to: Phase::Reset,
        run_state: 0,
        next: BASE,
    },
    Row {
        name: "WAIT, start_ctrl 0",
        from: waiting,
        event: attempt,
        writes: "",
        lines: &[],
        to: Phase::Waiting,
        run_state: 0,
        next: BASE,
    },
    Row {
        name: "WAIT, start_ctrl not 0: ENTERING, RUNNING",
        from: || {
            let mut machine = waiting();
            seq(&mut machine, E).fetch_gate = 0;
            machine
        },
        event: |m| {
            m.csr_write(0, E, START_CTRL, 0x80).unwrap();
            m.csr_write(0, E, LR38, 5).unwrap();
            attempt(m);
            assert_eq!(seq(m, E).dve_perf_word, 5);
        },
        writes: "start_ctrl=0 run_state=1 lr3=1000 lr4=0",
        lines: &[
            "S: enter_run: start",
            "S: DVE perf mode support = 1",
            "S: Redirecting to pc=0x1000",
            "S: enter_run: done",
        ],
        to: Phase::Running,
        run_state: 1,
        next: BASE,
    },
    Row {
        name: "running, enter_run again",
        from: || {
            let mut machine = running();
            machine.csr_write(0, E, INTR_INFO, 1).unwrap();
            machine
        },
        event: |m| {
            let fault = m.service_interrupt(0, E).unwrap_err();
            let reentry = FaultKind::Assertion { function: "enter_run", file: "fsm.hpp", line: 39 };
            assert_eq!(fault.kind, reentry);
        },
        writes: "lr3=1040 lr4=0 run_state=10",
        lines: &[
            "S: Assertion failure! enter_run(fsm.hpp:39)",
            "Assertion failure! enter_run(fsm.hpp:39)",
            "S: Setup Halt",
            "S: Entering HALT",
        ],
        to: Phase::Dead,
        run_state: 16,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, a word with a handler",
        from: running,
        event: attempt,
        writes: "",
        lines: &["S: Dispatch opcode=0xa4", "S: NOP"],
        to: Phase::Running,
        run_state: 1,
        next: BASE + 128,
    },
    Row {
        name: "RUNNING, pending redirect",
        from: || running_words(&[relative(always(), 0x80), nop(), nop(), halt()]),
        event: attempt,
        writes: "lr3=1080 lr4=0",
        lines: &["S: Redirecting to pc=0x1080", "S: Dispatch opcode=0xa4"],
        to: Phase::Running,
        run_state: 1,
        next: BASE + 192,
    },
    Row {
        name: "RUNNING, STRONG_ORDER",
        from: || running_words(&[ordering(1), nop()]),
        event: attempt,
        writes: "",
        lines: &["S: STRONG_ORDER", "S: Dispatch opcode=0xa4"],
        to: Phase::Running,
        run_state: 1,
        next: BASE + 128,
    },
    Row {
        name: "RUNNING, INS_BREAK",
        from: || {
            let mut machine = running();
            seq(&mut machine, E).snapshot.addresses[0] = Some(BASE + 64);
            seq(&mut machine, E).rearm();
            machine
        },
        event: attempt,
        writes: "lr3=1040 lr4=0 run_state=4",
        lines: &["S: INS_BREAK", "S: Setup Halt", "S: Entering HALT", "S: Pending StartCtrl"],
        to: Phase::Waiting,
        run_state: 4,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, EXT_BREAK requested",
        from: || {
            let mut machine = running();
            machine.csr_write(0, E, HALT_CTRL, 1).unwrap();
            machine
        },
        event: attempt,
        writes: "instr_halt_ctrl=0 lr3=1040 lr4=0 run_state=8",
        lines: &["S: EXT_BREAK", "S: Setup Halt", "S: Entering HALT"],
        to: Phase::Waiting,
        run_state: 8,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, EXT_BREAK that nobody requested",
        from: running,
        event: |m| assert!(m.inject_surprise(0, E, 1 << 3).is_err()),
        writes: "lr3=1040 lr4=0 run_state=10",
        lines: &["S: EXT_BREAK", "S: Assertion failure! sunda_handle_surprises(surprises.hpp:426)"],
        to: Phase::Dead,
        run_state: 16,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, STEP_CNT with steps left",
        from: || {
            let mut machine = running();
            seq(&mut machine, E).snapshot.step = true;
            seq(&mut machine, E).step_count = 3;
            seq(&mut machine, E).rearm();
            machine
        },
        event: |m| {
            attempt(m);
            assert_eq!(seq(m, E).step_count, 2);
        },
        writes: "",
        lines: &["S: STEP_CNT=>3", "S: Dispatch opcode=0xa4"],
        to: Phase::Running,
        run_state: 1,
        next: BASE + 128,
    },
    Row {
        name: "RUNNING, STEP_CNT exhausted",
        from: || {
            let mut machine = running();
            seq(&mut machine, E).snapshot.step = true;
            seq(&mut machine, E).step_count = 0;
            seq(&mut machine, E).rearm();
            machine
        },
        event: attempt,
        writes: "lr3=1040 lr4=0 run_state=40",
        lines: &["S: STEP_CNT=0", "S: Setup Halt", "S: Entering HALT"],
        to: Phase::Waiting,
        run_state: 64,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, unknown surprise",
        from: running,
        event: |m| assert!(m.inject_surprise(0, E, 0x10).is_err()),
        writes: "lr3=1040 lr4=0 run_state=10",
        lines: &[
            "S: Unhandled surprise: surprises=0x10",
            "S: Assertion failure! sunda_handle_surprises(surprises.hpp:441)",
        ],
        to: Phase::Dead,
        run_state: 16,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, HALT, interrupt 0 not pending",
        from: || running_words(&[nop(), halt()]),
        event: attempt,
        writes: "lr3=1080 lr4=0 run_state=0",
        lines: &[
            "S: Dispatch opcode=0xa1",
            "S: Halt",
            "S: PrefetchHelper : Invalidating all hints",
            "S: Setup Halt",
            "S: Entering HALT",
            "S: Pending StartCtrl",
        ],
        to: Phase::Waiting,
        run_state: 0,
        next: BASE + 128,
    },
    Row {
        name: "RUNNING, HALT, interrupt 0 pending",
        from: || {
            let mut machine = running_words(&[nop(), halt()]);
            seq(&mut machine, E).set_interrupt(0, true);
            machine
        },
        event: attempt,
        writes: "run_state=2",
        lines: &["S: Halt", "S: PrefetchHelper : Invalidating all hints", "S: Enter Pause"],
        to: Phase::Paused,
        run_state: 2,
        next: BASE + 128,
    },
    Row {
        name: "RUNNING, end of a container stream",
        from: || {
            let mut machine = setup().container().program(E, &[nop()]).build();
            ring(&mut machine, E);
            step(&mut machine, 0, E).unwrap();
            machine
        },
        event: attempt,
        writes: "lr3=1040 lr4=0 run_state=0",
        lines: &["S: Setup Halt", "S: Entering HALT"],
        to: Phase::Waiting,
        run_state: 0,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, bad opcode",
        from: || running_words(&[nop(), seqjit_runtime::isa::Word::new(0x42)]),
        event: |m| {
            attempt(m);
            let kind = NotificationKind::Error { record: 0x4200_0200, fatal: true };
            assert_eq!(notifications(m), [(Some(E), BASE + 64, kind)]);
        },
        writes: "lr3=1040 lr4=0 run_state=10",
        lines: &[
            "S: Dispatch opcode=0x42",
            "S: ErrorHandler : Bad Opcode(0x42)",
            "S: NOTIFY",
            "S: sending notification",
            "S: Setup Halt",
            "S: Entering HALT",
        ],
        to: Phase::Dead,
        run_state: 16,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, FP exception flag",
        // 1.0 / R0, and R0 is 0
        from: || {
            running_words(&[move_immediate(&[(1, 0x3F80_0000)]), alu_registers(7, FP32, [1, 0], 2), nop()])
        },
        event: |m| {
            attempt(m);
            let kind = NotificationKind::Error { record: 0x0000_0202, fatal: false };
            assert_eq!(notifications(m), [(Some(E), BASE + 64, kind)]);
            assert_eq!((seq(m, E).error_record, register(m, E, 2)), (0x202, 0x7F80_0000));
        },
        writes: "",
        lines: &["S: ErrorHandler : FP Error(2)", "S: NOTIFY", "S: sending notification"],
        to: Phase::Running,
        run_state: 1,
        next: BASE + 128,
    },
    Row {
        name: "RUNNING, running found 0 at the poll",
        from: || {
            let mut machine = running();
            seq(&mut machine, E).running = false;
            machine
        },
        event: attempt,
        writes: "run_state=0",
        lines: &["S: Entering HALT"],
        to: Phase::Waiting,
        run_state: 0,
        next: BASE + 64,
    },
    Row {
        name: "PAUSED, start_ctrl 0",
        from: paused,
        event: attempt,
        writes: "",
        lines: &[],
        to: Phase::Paused,
        run_state: 2,
        next: BASE + 64,
    },
    Row {
        name: "PAUSED, handle_interrupt, intr_info 0",
        from: paused,
        event: |m| assert_eq!(m.service_interrupt(0, E).unwrap(), Interrupt::Idle),
        writes: "",
        lines: &[],
        to: Phase::Paused,
        run_state: 2,
        next: BASE + 64,
    },
    Row {
        name: "PAUSED, handle_interrupt, intr_info 1: a nested program",
        from: || {
            let mut machine = paused();
            machine.csr_write(0, E, INTR_INFO, 1).unwrap();
            machine
        },
        event: |m| {
            assert_eq!(m.service_interrupt(0, E).unwrap(), Interrupt::Nested);
            m.csr_write(0, E, LR3, BASE as u32 + 3 * 64).unwrap();
            start(m, E).unwrap();
            assert_eq!(state(m, E).retired, 3);
        },
        writes: "start_ctrl=0 run_state=1 lr3=10c0 lr4=0 run_state=2",
        lines: &["S: Pending StartCtrl", "S: enter_run: start", "S: enter_run: done", "S: Enter Pause"],
        to: Phase::Paused,
        run_state: 2,
        next: BASE + 64,
    },
    Row {
        name: "PAUSED, start_ctrl not 0",
        from: || {
            let mut machine = paused();
            seq(&mut machine, E).fetch_gate = 0;
            // the PC in memory counts, not the registers
            machine.csr_write(0, E, LR3, 0xBAD).unwrap();
            machine
        },
        event: |m| {
            ring(m, E);
            attempt(m);
        },
        writes: "start_ctrl=0 run_state=1",
        lines: &[],
        to: Phase::Running,
        run_state: 1,
        next: BASE + 64,
    },
    Row {
        name: "PAUSED, intr_info 2",
        from: || {
            let mut machine = paused();
            machine.csr_write(0, E, INTR_INFO, 2).unwrap();
            machine
        },
        event: |m| assert!(m.service_interrupt(0, E).is_err()),
        writes: "lr3=1040 lr4=0 run_state=10",
        lines: &[
            "S: Assertion failure! handle_interrupt_(interrupt_handler.hpp:28)",
            "Assertion failure! handle_interrupt_(interrupt_handler.hpp:28)",
        ],
        to: Phase::Dead,
        run_state: 16,
        next: BASE + 64,
    },
    Row {
        name: "RUNNING, intr_info 0xffffffff",
        from: || {
            let mut machine = running();
            machine.csr_write(0, E, INTR_INFO, u32::MAX).unwrap();
            machine
        },
        event: |m| assert!(m.service_interrupt(0, E).is_err()),
        writes: "lr3=1040 lr4=0 run_state=10",
        lines: &["S: Assertion failure! handle_interrupt_(interrupt_handler.hpp:28)"],
        to: Phase::Dead,
        run_state: 16,
        next: BASE + 64,
    },
    Row {
        name: "DEAD, doorbell, stop request, interrupt",
        from: dead,
        event: |m| {
            let fault = seq(m, E).fault.clone().unwrap();
            ring(m, E);
            m.csr_write(0, E, HALT_CTRL, 1).unwrap();
            m.csr_write(0, E, INTR_INFO, 1).unwrap();
            assert_eq!(step(m, 0, E).unwrap_err(), *fault);
            assert_eq!(m.service_interrupt(0, E).unwrap_err(), fault);
            assert!(!m.inject_surprise(0, E, 1 << 9).unwrap());
            assert_eq!(m.csr_read(0, E, START_CTRL), Some(1));
            assert_eq!(m.csr_read(0, E, HALT_CTRL), Some(1));
        },
        writes: "",
        lines: &[],
        to: Phase::Dead,
        run_state: 16,
        next: BASE,
    },
    Row {
        name: "DEAD, reset",
        from: dead,
        event: |m| {
            m.csr_write(0, E, RUN_STALL, 1).unwrap();
            m.csr_write(0, E, RUN_STALL, 0).unwrap();
        },
        writes: "control=7ffc",
        lines: &["S: BEGIN on cayman"],
        to: Phase::Waiting,
        run_state: 16,
        next: BASE,
    },
];

#[test]
fn every_transition_has_its_side_effects_in_order() {
    for row in ROWS {
        let mut machine = (row.from)();
        watch(&mut machine, E);
        let ((), lines) = logged(|| (row.event)(&mut machine));
        assert_eq!(writes(&mut machine, E), row.writes, "{}", row.name);
        assert_in_order(&lines, row.lines);
        let engine = state(&mut machine, E);
        let found = (engine.seq.phase, engine.seq.run_state(), engine.next_pc());
        assert_eq!(found, (row.to, row.run_state, row.next), "{}", row.name);
        assert_eq!(engine.seq.running, row.to == Phase::Running, "{}", row.name);
    }
}
