//! Entering and leaving the run state: boot, doorbell, reason, published state (chapter 01 sections 5 and 8).

use seqjit_runtime::isa::EngineId;
use seqjit_runtime::sequencer::{HaltReason, Phase, step};

use crate::run_states::{E, in_reset, running, waiting};
use crate::support::*;
use crate::words::*;

#[test]
fn the_software_front_end_boots_without_a_write() {
    let mut machine = machine(EngineId::Sp, &[nop()]);
    machine.csr_write(0, EngineId::Sp, RUN_STALL, 1).unwrap();
    watch(&mut machine, EngineId::Sp);
    let (_, lines) = logged(|| machine.csr_write(0, EngineId::Sp, RUN_STALL, 0).unwrap());
    assert_eq!(writes(&mut machine, EngineId::Sp), "");
    let expected = ["S: BEGIN on cayman", "S: NX in Sunda mode: HW decode disabled", "S: Pending StartCtrl"];
    assert_eq!(lines, expected);
}

/// Section 5: what enter_run reads, and that it does so before it acknowledges.
#[test]
fn run_entry_reads_the_debug_registers_then_acknowledges() {
    let mut machine = waiting();
    machine.csr_write(0, E, BP_CTRL, 0x77).unwrap();
    ring(&mut machine, E);
    watch(&mut machine, E);
    step(&mut machine, 0, E).unwrap();
    let log = accesses(&mut machine, E);
    let acknowledged = log.iter().position(|a| a.write).unwrap();
    let mut before: Vec<u32> = log[..acknowledged].iter().map(|a| a.offset).collect();
    before.dedup();
    let addresses = [BP_ADDR0, BP_ADDR0 + 4, BP_ADDR1, BP_ADDR1 + 4];
    let expected = [vec![BP_STEP, CONTROL, BP_CTRL], addresses.to_vec(), vec![BP_MATCH, LR38]].concat();
    assert_eq!(before, expected);
    assert_eq!(log[acknowledged].offset, START_CTRL);
    // the start address is read behind the acknowledgement
    let later: Vec<u32> = log[acknowledged..].iter().filter(|a| !a.write).map(|a| a.offset).collect();
    assert_eq!(later, [LR4, LR3]);
}

/// The doorbell is a level: set early, it is answered as soon as somebody watches it.
#[test]
fn a_doorbell_set_early_is_kept() {
    // while running: after HALT the engine goes on behind it
    let mut machine = machine(E, &[nop(), halt(), nop(), halt()]);
    ring(&mut machine, E);
    step(&mut machine, 0, E).unwrap();
    ring(&mut machine, E);
    watch(&mut machine, E);
    run(&mut machine).unwrap();
    let first = "lr3=1080 lr4=0 run_state=0";
    let second = "start_ctrl=0 run_state=1 lr3=1080 lr4=0 lr3=1100 lr4=0 run_state=0";
    assert_eq!(writes(&mut machine, E), format!("{first} {second}"));

    // before a pause: it is resumed at once
    let mut machine = self::machine(E, &[nop(), halt(), nop(), halt()]);
    seq(&mut machine, E).set_interrupt(0, true);
    ring(&mut machine, E);
    step(&mut machine, 0, E).unwrap();
    ring(&mut machine, E);
    watch(&mut machine, E);
    run(&mut machine).unwrap();
    assert_eq!(writes(&mut machine, E), "run_state=2 start_ctrl=0 run_state=1 run_state=2");

    // before reset is left
    let mut machine = in_reset();
    ring(&mut machine, E);
    machine.csr_write(0, E, RUN_STALL, 0).unwrap();
    run(&mut machine).unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, BASE + 192));
}

/// Section 5, D3: a stale reason is not published again by a graceful exit.
#[test]
fn the_reason_is_cleared_at_entry() {
    let mut machine = waiting();
    machine.csr_write(0, E, HALT_CTRL, 1).unwrap();
    start(&mut machine, E).unwrap();
    assert_eq!(stopped(&machine, E), (8, 8, BASE));
    start(&mut machine, E).unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, BASE + 192));
    // a pause leaves the reason of its own run alone, and that of the run before is gone
    machine.csr_write(0, E, HALT_CTRL, 1).unwrap();
    start(&mut machine, E).unwrap();
    assert_eq!(seq(&mut machine, E).halt_reason, HaltReason::ExtBreak);
    seq(&mut machine, E).set_interrupt(0, true);
    start(&mut machine, E).unwrap();
    assert_eq!((seq(&mut machine, E).run_state(), seq(&mut machine, E).halt_reason), (2, HaltReason::Halt));
}

/// A value that others write to run_state does not confuse the sequencer (decision D11).
#[test]
fn run_state_is_published_not_read() {
    let mut machine = running();
    machine.csr_write(0, E, 0x08, 2).unwrap();
    run(&mut machine).unwrap();
    assert_eq!((stopped(&machine, E), seq(&mut machine, E).phase), ((0, 0, BASE + 192), Phase::Waiting));
}
