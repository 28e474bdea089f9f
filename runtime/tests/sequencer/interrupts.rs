//! The interrupt dispatcher of a paused engine (chapter 01 section 10).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::machine::Machine;
use seqjit_runtime::sequencer::{HaltReason, Interrupt, Phase};

use crate::run_states::{E, paused, waiting};
use crate::support::*;
use crate::words::*;

/// Section 10: read once a call, never cleared, and the only interrupt register that the sequencer touches.
#[test]
fn intr_info_is_read_once_a_call() {
    const Q7_INTERRUPTS: std::ops::Range<u32> = 0x3028..0x304C;
    for info in [0, 1, 2] {
        let mut machine = paused();
        for offset in [INTR_CTRL, 0x3028, 0x302C] {
            machine.csr_write(0, E, offset, 0xF).unwrap();
        }
        machine.csr_write(0, E, INTR_INFO, info).unwrap();
        watch(&mut machine, E);
        let _ = machine.service_interrupt(0, E);
        let log = accesses(&mut machine, E);
        let interrupt = log
            .iter()
            .filter(|a| [INTR_CTRL, INTR_INFO].contains(&a.offset) || Q7_INTERRUPTS.contains(&a.offset));
        let found: Vec<_> = interrupt.map(|a| (a.write, a.offset, a.value)).collect();
        assert_eq!(found, [(false, INTR_INFO, info)]);
        assert_eq!(machine.csr_read(0, E, INTR_INFO), Some(info));
    }
    // an engine that is in its loop or at its doorbell does not ask
    let mut machine = waiting();
    watch(&mut machine, E);
    assert_eq!(machine.service_interrupt(0, E).unwrap(), Interrupt::Idle);
    start(&mut machine, E).unwrap();
    assert!(accesses(&mut machine, E).iter().all(|a| a.offset != INTR_INFO));
}

/// The paused machine, waiting for the doorbell of a nested program at the fourth word.
fn nested(lenient: bool) -> Machine {
    let setup = if lenient { setup().lenient() } else { setup() };
    let words = [halt(), move_immediate(&[(1, 1)]), halt(), move_immediate(&[(2, 2)]), halt()];
    let mut machine = setup.program(E, &words).build();
    seq(&mut machine, E).set_interrupt(0, true);
    start(&mut machine, E).unwrap();
    machine.csr_write(0, E, INTR_INFO, 1).unwrap();
    assert_eq!(machine.service_interrupt(0, E).unwrap(), Interrupt::Nested);
    machine.csr_write(0, E, LR3, BASE as u32 + 3 * 64).unwrap();
    machine
}

#[test]
fn a_paused_program_goes_on_behind_a_nested_one() {
    let mut machine = nested(false);
    assert!(!state(&mut machine, E).is_active(), "the nested program waits for its own doorbell");
    start(&mut machine, E).unwrap();
    assert_eq!((register(&machine, E, 2), register(&machine, E, 1)), (2, 0));
    assert_eq!((seq(&mut machine, E).phase, seq(&mut machine, E).run_state()), (Phase::Paused, 2));
    seq(&mut machine, E).set_interrupt(0, false);
    start(&mut machine, E).unwrap();
    assert_eq!((register(&machine, E, 1), stopped(&machine, E)), (1, (0, 0, BASE + 192)));
}

#[test]
fn a_nested_program_that_halts_is_an_assertion() {
    let mut machine = nested(false);
    seq(&mut machine, E).set_interrupt(0, false);
    watch(&mut machine, E);
    let fault = start(&mut machine, E).unwrap_err();
    let assertion =
        FaultKind::Assertion { function: "handle_interrupt_", file: "interrupt_handler.hpp", line: 28 };
    assert_eq!((fault.kind, fault.pc), (assertion, BASE + 5 * 64));
    // run_state is still 1 when it is looked at: only the outer loop publishes
    let entry = "start_ctrl=0 run_state=1 lr3=10c0 lr4=0";
    let halts = "lr3=1140 lr4=0 lr3=1140 lr4=0 run_state=10";
    assert_eq!(writes(&mut machine, E), format!("{entry} {halts}"));
    assert_eq!((seq(&mut machine, E).phase, seq(&mut machine, E).error_record), (Phase::Dead, 0));
}

#[test]
fn lenient_mode_publishes_how_a_nested_program_ended() {
    let mut machine = nested(true);
    seq(&mut machine, E).set_interrupt(0, false);
    machine.csr_write(0, E, BP_ADDR0, BASE as u32 + 4 * 64).unwrap();
    machine.csr_write(0, E, BP_CTRL, 0x17).unwrap();
    start(&mut machine, E).unwrap();
    let seq_state = seq(&mut machine, E);
    assert_eq!((seq_state.phase, seq_state.run_state()), (Phase::Paused, 4));
    assert_eq!(seq_state.halt_reason, HaltReason::InsBreak);
    machine.csr_write(0, E, BP_CTRL, 7).unwrap();
    start(&mut machine, E).unwrap();
    assert_eq!((register(&machine, E, 1), stopped(&machine, E)), (1, (0, 0, BASE + 192)));
}

#[test]
fn a_fault_in_a_nested_program_is_fatal() {
    let mut machine = nested(true);
    machine.csr_write(0, E, LR3, 0x40).unwrap();
    let fault = start(&mut machine, E).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Fetch { pc: 0x40, .. }));
    assert_eq!((seq(&mut machine, E).phase, stopped(&machine, E)), (Phase::Dead, (16, 16, 0x40)));
}
