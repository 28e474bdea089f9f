//! Waits, updates and words of the sequencer (chapter 02, chapter 03 sections 2.2 and 2.3).

use std::cell::RefCell;

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Events, EventsExt, Generation, Word, op};
use seqjit_runtime::machine::Machine;

use crate::set_register;
use crate::support::*;

const SP: EngineId = EngineId::Sp;
/// The cell of these tests, and the register with the number 3.
const CELL: u8 = 50;
const REGISTER: u32 = 7;

fn event_semaphore(events: Events, events_extended: EventsExt) -> Word {
    let mut word = word(op::EVENT_SEMAPHORE, CTRL_ES { setter_signature: 0, events_extended });
    events.write(&mut word.0[4..12]);
    word
}

fn prepare(machine: &mut Machine, semaphore: u32, event: bool) {
    machine.cores[0].sync.semaphores[usize::from(CELL)] = semaphore;
    machine.cores[0].sync.events[usize::from(CELL)] = event;
}

/// Runs a word behind the one that sets the register; whether it came to its end, and the cells.
fn outcome(word: Word, semaphore: u32, event: bool) -> (bool, u32, bool) {
    thread_local! {
        /// MAVERICK has all modes.
        static MACHINE: RefCell<Machine> = RefCell::new(strict(Generation::Maverick));
    }
    MACHINE.with_borrow_mut(|machine| outcome_on(machine, word, semaphore, event))
}

fn outcome_on(machine: &mut Machine, word: Word, semaphore: u32, event: bool) -> (bool, u32, bool) {
    let core = &mut machine.cores[0];
    let mut spec = (*core.spec).clone();
    let words = [set_register(REGISTER as u8, 3), word];
    spec.streams[SP.index()].words =
        words.iter().map(|w| seqjit_runtime::interp::Instruction::new(*w, Generation::Maverick)).collect();
    core.spec = std::sync::Arc::new(spec);
    core.restart();
    prepare(machine, semaphore, event);
    run_all(machine).unwrap();
    let sync = &machine.cores[0].sync;
    let cell = usize::from(CELL);
    (unfinished(machine).is_empty(), sync.semaphores[cell], sync.events[cell])
}

/// What each wait does with a semaphore against 3, or with an event: chapter 03 section 2.2.
#[test]
fn every_wait_of_an_event_semaphore() {
    let mut seen = 0;
    for (mode, name) in WaitMode::TABLE.members {
        for semaphore in [2, 3, 4] {
            for event in [false, true] {
                let holds = match mode & 0x0F {
                    _ if *mode == 0 || *mode == 0xFE => true,
                    1 => semaphore == 3,
                    2 => semaphore < 3,
                    3 => semaphore <= 3,
                    4 => semaphore > 3,
                    5 => semaphore >= 3,
                    6 | 7 => event,
                    _ => !event,
                };
                // Behind a successful wait: 7 clears, 0F sets.
                let event_after = match mode {
                    7 if holds => false,
                    0x0F if holds => true,
                    _ => event,
                };
                // The register holds 3; an offset of 0 stands in the upper bytes.
                let value = if mode & 0x80 != 0 && *mode != 0xFE { REGISTER } else { 3 };
                seen += 1;
                let wait = Events { wait_mode: WaitMode(*mode), wait_idx: CELL, value, ..Events::default() };
                let found = outcome(event_semaphore(wait, EventsExt::default()), semaphore, event);
                assert_eq!(found, (holds, semaphore, event_after), "{name} at {semaphore}, {event}");
                let second = EventsExt {
                    wait_mode: WaitMode(*mode),
                    wait_idx: CELL,
                    wait_value: value,
                    ..EventsExt::default()
                };
                let found = outcome(event_semaphore(Events::default(), second), semaphore, event);
                assert_eq!(
                    found,
                    (holds, semaphore, event_after),
                    "{name} as second, at {semaphore}, {event}"
                );
            }
        }
    }
    assert!(seen > 50);
}

/// What each update makes of a semaphore at 10, with the operand 3, and of an event: chapter 03 section 2.3.
#[test]
fn every_update_of_an_event_semaphore() {
    for (mode, name) in UpdateMode::TABLE.members {
        for event in [false, true] {
            let (semaphore, event_after) = match mode & 0x0F {
                _ if *mode == 0 => (10, event),
                1 => (10, true),
                2 => (10, false),
                3 => (11, event),
                4 => (9, event),
                5 => (13, event),
                7 => (7, event),
                _ => (3, event),
            };
            let value = if mode & 0x80 == 0 { 3 } else { REGISTER };
            let update =
                Events { update_mode: UpdateMode(*mode), update_idx: CELL, value, ..Events::default() };
            let found = outcome(event_semaphore(update, EventsExt::default()), 10, event);
            assert_eq!(found, (true, semaphore, event_after), "{name} at {event}");
            let second = EventsExt {
                update_mode: UpdateMode(*mode),
                update_idx: CELL,
                update_value: value,
                ..EventsExt::default()
            };
            let found = outcome(event_semaphore(Events::default(), second), 10, event);
            assert_eq!(found, (true, semaphore, event_after), "{name} as second, at {event}");
        }
    }
}

/// Updates of a list of one cell, the operand in a register (chapter 02 section 8.19).
#[test]
fn every_update_of_a_test_event_sem() {
    let mut seen = 0;
    for (code, name) in UpdateMode::TABLE.members {
        let (semaphore, event) = match code & 0x0F {
            1 => (10, true),
            2 => (10, false),
            3 => (11, true),
            4 => (9, true),
            5 => (13, true),
            7 => (7, true),
            9 => (3, true),
            _ => continue,
        };
        // Operands are in registers here, not in the word.
        let immediate = matches!(code & 0x8F, 0x05 | 0x07 | 0x09);
        if immediate {
            continue;
        }
        seen += 1;
        let mode = if matches!(code & 0x0F, 1 | 2) { 3 } else { 2 };
        let mut ids = [0; 16];
        ids[0] = CELL;
        let mut registers = Regs([0; 16]);
        registers.0[0] = REGISTER as u8;
        let o = CTRL_TEST_ES {
            mode,
            update_type: UpdateMode(*code),
            repeat_count: 0,
            num_evt_sem: 1,
            evt_sem_ids: ids,
            value_registers: registers,
            threshold: 0,
            setter_signature: 0,
        };
        let found = outcome(word(op::TEST_EVENT_SEM, o), 10, code & 0x0F != 1);
        assert_eq!(found, (true, semaphore, event), "{name}");
    }
    assert!(seen > 8, "{seen}");
}

/// Words without an effect of their own still publish their update.
#[test]
fn words_of_which_only_the_events_count() {
    let mut words = vec![
        Word::new(op::PSEUDO_DMABARRIER),
        Word::new(op::PSEUDO_BRANCH_PREFETCH_HINT),
        Word::new(op::PSEUDO_TENSOR_COMPLETION),
    ];
    words.extend([0, 1].map(|drain_flag| word(op::DRAIN, CTRL_NO_A2 { drain_flag })));
    let update = Events { update_mode: UpdateMode::SEM_INC_COMPLETE, update_idx: CELL, ..Events::default() };
    for mut one in words {
        update.write(&mut one.0[4..12]);
        assert_eq!(outcome(one, 10, false), (true, 11, false), "0x{:02x}", one.opcode());
    }
    for modify_op in [1, 2] {
        let o =
            MODIFY_POOL_CONFIG { modify_op, core_mask: 0, soc_addr: 0, library_index: 0, library_size: 64 };
        let mut machine = strict(Generation::Cayman);
        let mut one = word(op::MODIFY_POOL_CONFIG, o);
        update.write(&mut one.0[4..12]);
        run(&mut machine, EngineId::Pool, &[one]).unwrap();
        assert_eq!(machine.cores[0].sync.semaphores[usize::from(CELL)], 1);
    }
    // the extension has no EVENTS, and what it says belongs to the word before
    for compute_op in 0..=4 {
        let o = PSEUDO_EXTENSION {
            compute_op: DgeComputeOp(compute_op),
            ..<PSEUDO_EXTENSION as seqjit_runtime::isa::Layout>::read(&Word([0; 64]))
        };
        let mut one = Word::new(op::PSEUDO_EXTENSION);
        seqjit_runtime::isa::Layout::write(&o, &mut one);
        assert_eq!(outcome(one, 10, false), (true, 10, false), "{compute_op}");
    }
}

/// Numbers of FP32 in registers are their bits.
#[test]
fn registers_of_fp32() {
    let operands = CTRL_MV {
        num_mov: 1,
        dtype: Dtype::FP32,
        move_source: DataSrc::IMMEDIATE,
        src_registers: Regs([0; 8]),
        dst_registers: Regs([9, 0, 0, 0, 0, 0, 0, 0]),
        immediate: [1.5f32.to_bits(), 0, 0, 0, 0, 0, 0, 0],
    };
    let mut machine = strict(Generation::Cayman);
    run(&mut machine, SP, &[word(op::MOVE, operands)]).unwrap();
    assert_eq!(machine.cores[0].engines[SP.index()].registers[9], 0x3FC0_0000);
}
