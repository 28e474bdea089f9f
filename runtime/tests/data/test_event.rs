//! TEST_EVENT_SEM (chapter 02 section 8.19).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::{Regs, UpdateMode};
use seqjit_runtime::isa::layouts::CTRL_TEST_ES;
use seqjit_runtime::isa::{EngineId, Generation, Word, op};
use seqjit_runtime::machine::Machine;

use crate::support::*;

const SP: EngineId = EngineId::Sp;

/// Three cells 40, 41, 42 and registers 4, 5, 6.
fn test(mode: u8, update_type: UpdateMode, repeat_count: u8, threshold: u32) -> Word {
    let (mut evt_sem_ids, mut registers) = ([0; 16], [0; 16]);
    evt_sem_ids[..3].copy_from_slice(&[40, 41, 42]);
    registers[..3].copy_from_slice(&[4, 5, 6]);
    let operands = CTRL_TEST_ES {
        mode,
        update_type,
        repeat_count,
        num_evt_sem: 3,
        evt_sem_ids,
        value_registers: Regs(registers),
        threshold,
        setter_signature: 0,
    };
    word(op::TEST_EVENT_SEM, operands)
}

/// Runs one word with semaphores 3, 1, 0 and registers 100, 1, 7.
fn ran(word: Word) -> Result<Machine, FaultKind> {
    let setup = Setup { streams: vec![(SP, vec![word])], ..Setup::default() };
    let mut machine = cluster(Generation::Mariana, Default::default(), &[setup], Vec::new());
    let core = &mut machine.cores[0];
    core.sync.semaphores[40..43].copy_from_slice(&[3, 1, 0]);
    core.sync.events[41] = true;
    core.engines[SP.index()].registers[4..7].copy_from_slice(&[100, 1, 7]);
    run_all(&mut machine).map_err(|fault| fault.kind)?;
    Ok(machine)
}

fn registers(machine: &Machine) -> [u32; 3] {
    machine.cores[0].engines[SP.index()].registers[4..7].try_into().unwrap()
}

fn semaphores(machine: &Machine) -> [u32; 3] {
    machine.cores[0].sync.semaphores[40..43].try_into().unwrap()
}

#[test]
fn cells_are_read_into_registers() {
    assert_eq!(registers(&ran(test(0, UpdateMode::NONE, 0, 0)).unwrap()), [3, 1, 0]);
    assert_eq!(registers(&ran(test(1, UpdateMode::NONE, 0, 0)).unwrap()), [0, 1, 0]);
}

#[test]
fn cells_are_updated_by_registers() {
    let added = ran(test(2, UpdateMode::SEM_ADD_REG_COMPLETE, 0, 0)).unwrap();
    assert_eq!((semaphores(&added), registers(&added)), ([103, 2, 7], [100, 1, 7]));
    let set = ran(test(3, UpdateMode::EVT_SET_COMPLETE, 0, 0)).unwrap();
    assert_eq!(set.cores[0].sync.events[40..43], [true, true, true]);
}

/// Three passes at most; each counts the semaphores that had reached the threshold.
#[test]
fn semaphores_at_the_threshold_are_updated_and_counted() {
    let once = ran(test(4, UpdateMode::SEM_DEC_COMPLETE, 0, 1)).unwrap();
    assert_eq!((semaphores(&once), registers(&once)), ([2, 0, 0], [101, 2, 7]));
    let thrice = ran(test(4, UpdateMode::SEM_DEC_COMPLETE, 3, 1)).unwrap();
    assert_eq!((semaphores(&thrice), registers(&thrice)), ([0, 0, 0], [103, 2, 7]));
    // after a pass in which nothing fired there is no other
    let none = ran(test(4, UpdateMode::SEM_INC_COMPLETE, 200, 4)).unwrap();
    assert_eq!((semaphores(&none), registers(&none)), ([3, 1, 0], [100, 1, 7]));
}

#[test]
fn immediate_updates_are_illegal() {
    let fault = ran(test(2, UpdateMode::SEM_ADD_IMM_COMPLETE, 0, 0)).unwrap_err();
    assert!(matches!(fault, FaultKind::Illegal { field: "update_type", .. }), "{fault}");
    let fault = ran(test(3, UpdateMode::SEM_INC_COMPLETE, 0, 0)).unwrap_err();
    assert!(matches!(fault, FaultKind::Illegal { field: "update_type", .. }), "{fault}");
}
