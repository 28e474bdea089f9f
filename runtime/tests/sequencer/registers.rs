//! Register specifiers in every role (chapter 02 section 5): 0 to 63, the PC in 128 and 129, the address-table
//! base in 130 and 131, nothing else.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Word};
use seqjit_runtime::machine::Machine;

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Dve;
/// A base above 4 GiB, so that 129 is not zero.
const HIGH: u64 = 0x12_0000_1000;
const TABLE: u64 = 0x0000_0034_0000_0056;
const ADD: u8 = 4;

/// A role in which a word reads a register: the word behind one NOP, and what R40 holds when it is done.
type Role = (&'static str, fn(u8) -> Vec<Word>);

/// Words that leave the value of register `n`, read by the word at slot 1, in R40.
const READERS: &[Role] = &[
    ("MOVE source", |n| vec![move_registers(&[(n, 40)])]),
    ("ALU_OP first source", |n| vec![alu_immediate(ADD, UINT32, n, 0, 40)]),
    ("ALU_OP second source", |n| vec![alu_registers(ADD, UINT32, [0, n], 40)]),
    ("TENSOR_STORE data", |n| vec![store(UINT32, DATA, &[n]), load(UINT32, DATA, &[40])]),
    // 1 if equal to R41, which holds what is expected
    ("COMPARE_BRANCH first", |n| {
        let equal = patch(compare(0x83, UINT32, n, 0), 33, &[41]);
        vec![relative(equal, 128), halt(), move_registers(&[(41, 40)])]
    }),
    ("COMPARE_BRANCH second", |n| {
        let equal = patch(compare(0x83, UINT32, 41, 0), 33, &[n]);
        vec![relative(equal, 128), halt(), move_registers(&[(41, 40)])]
    }),
    ("MOVE_SHAPE source", |n| {
        let to_shape = word(0xB2, &[(12, &[1, 1]), (16, &[2]), (32, &[n, 0, 0, n])]);
        let back = word(0xB2, &[(12, &[2, 1]), (16, &[2]), (32, &[42, 43, 44, 45])]);
        // 16 bits are left of it
        vec![to_shape, back, move_registers(&[(45, 40)])]
    }),
];

/// Words that write `R41` to register `n`.
const WRITERS: &[Role] = &[
    ("MOVE destination", |n| vec![move_registers(&[(41, n)])]),
    ("ALU_OP destination", |n| vec![alu_immediate(ADD, UINT32, 41, 0, n)]),
    ("TENSOR_LOAD data", |n| vec![store(UINT32, DATA, &[41]), load(UINT32, DATA, &[n])]),
    ("POLL_SEM result", |n| vec![store(UINT32, SEM_SET, &[41]), poll(1, n, 9, SEM_READ, DATA)]),
];

fn machine_with(words: Vec<Word>) -> Machine {
    let words: Vec<Word> = [nop()].into_iter().chain(words).chain([halt()]).collect();
    let mut machine = setup().lenient().program_at(HIGH, E, &words).build();
    let engine = state(&mut machine, E);
    engine.table_base = TABLE;
    engine.registers = std::array::from_fn(|n| if n == 0 { 0 } else { 0x1000_0000 + n as u32 });
    machine
}

#[test]
fn every_reader_takes_every_register() {
    let pc = HIGH + 64;
    let values = [
        (1, 0x1000_0001),
        (39, 0x1000_0027),
        (63, 0x1000_003F),
        (128, pc as u32),
        (129, (pc >> 32) as u32),
        (130, TABLE as u32),
        (131, (TABLE >> 32) as u32),
    ];
    for (role, words) in READERS {
        for (number, value) in values {
            let mut machine = machine_with(words(number));
            state(&mut machine, E).registers[41] = value;
            start(&mut machine, E).unwrap();
            let expected = if role.starts_with("MOVE_SHAPE") { value & 0xFFFF } else { value };
            assert_eq!(register(&machine, E, 40), expected, "{role} {number}");
        }
        for number in (64..128).chain(132..=255) {
            let fault = start(&mut machine_with(words(number)), E).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::Illegal { .. }), "{role} {number}: {fault}");
            assert_eq!(fault.pc, pc, "{role} {number}");
        }
    }
}

#[test]
fn every_writer_reaches_every_register() {
    let value = 0x1000_0029;
    for (role, words) in WRITERS {
        for number in (1..64).filter(|n| *n != 41) {
            let mut machine = machine_with(words(number));
            start(&mut machine, E).unwrap();
            assert_eq!(register(&machine, E, number.into()), value, "{role} {number}");
        }
        // the PC is read only, silently
        for number in [128, 129] {
            let mut machine = machine_with(words(number));
            let before = state(&mut machine, E).registers;
            start(&mut machine, E).unwrap();
            assert_eq!(
                (state(&mut machine, E).registers, state(&mut machine, E).table_base),
                (before, TABLE)
            );
            let slots = words(number).len() as u64 + 2;
            assert_eq!(stopped(&machine, E), (0, 0, HIGH + 64 * slots));
        }
        for (number, base) in [(130, 0x0000_0034_1000_0029), (131, 0x1000_0029_0000_0056)] {
            let mut machine = machine_with(words(number));
            start(&mut machine, E).unwrap();
            assert_eq!(state(&mut machine, E).table_base, base, "{role} {number}");
        }
        for number in (64..128).chain(132..=255) {
            let fault = start(&mut machine_with(words(number)), E).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::Illegal { .. }), "{role} {number}: {fault}");
        }
    }
}

/// The set-up code of the runtime (section 8.11): one word loads both halves of the table base.
#[test]
fn one_load_sets_the_table_base() {
    for load_base in [load(UINT32, DATA + 8, &[130, 131]), load(UINT64, DATA + 8, &[130])] {
        let mut machine = machine(E, &[load_base, halt()]);
        machine.dram.buffer_mut(0).write(8, &0x0123_4567_89AB_CDEFu64.to_le_bytes());
        start(&mut machine, E).unwrap();
        assert_eq!(state(&mut machine, E).table_base, 0x0123_4567_89AB_CDEF);
        assert_eq!(state(&mut machine, E).registers, [0; 64]);
    }
    // and one word stores it again
    for store_base in [store(UINT32, DATA, &[130, 131]), store(UINT64, DATA, &[130])] {
        let mut machine = machine(E, &[store_base, halt()]);
        state(&mut machine, E).table_base = TABLE;
        start(&mut machine, E).unwrap();
        assert_eq!(machine.dram.buffer(0).bytes()[..8], TABLE.to_le_bytes());
    }
}

/// Pairs of 64-bit transfers start at an even register, and there is no R64.
#[test]
fn register_pairs_are_even() {
    for (number, legal) in
        [(0, true), (62, true), (128, true), (130, true), (1, false), (63, false), (129, false)]
    {
        for word in [load(UINT64, DATA, &[number]), store(UINT64, DATA, &[number])] {
            let mut machine = machine(E, &[word, halt()]);
            let result = start(&mut machine, E);
            assert_eq!(result.is_ok(), legal, "{number}");
        }
    }
}

/// Address registers of a transfer, the PC included: a program can read its own words.
#[test]
fn transfers_take_their_address_from_a_pair() {
    let pair = |low: u64, high: u64| 0x80 << 56 | high << 8 | low;
    let mut machine = machine(E, &[load(UINT32, pair(1, 2), &[5]), halt()]);
    state(&mut machine, E).registers[1] = DATA as u32 + 4;
    state(&mut machine, E).registers[2] = (DATA >> 32) as u32;
    machine.dram.buffer_mut(0).write(4, &77u32.to_le_bytes());
    start(&mut machine, E).unwrap();
    assert_eq!(register(&machine, E, 5), 77);

    let words = [nop(), load(UINT32, pair(128, 129), &[5]), halt()];
    let mut machine = setup().program_in_memory(HIGH, E, &words).build();
    start(&mut machine, E).unwrap();
    assert_eq!(register(&machine, E, 5), u32::from_le_bytes([0xAA, 0x10, 0, 0]));
}

/// Waits and updates take their operand from R0 to R63 only.
#[test]
fn event_operands_are_general_registers() {
    const WAIT_EQ_REGISTER: u8 = 0x81;
    const ADD_REGISTER: u8 = 0x95;
    for number in 0..=255u32 {
        let waits = events(nop(), (WAIT_EQ_REGISTER, 3), (0, 0), number);
        let updates = events(nop(), (0, 0), (ADD_REGISTER, 3), number);
        for word in [waits, updates] {
            let mut machine = machine(E, &[word, halt()]);
            let result = start(&mut machine, E);
            assert_eq!(result.is_ok(), number < 64, "{number}");
        }
    }
    // the other three bytes are zero
    let mut machine = machine(E, &[events(nop(), (WAIT_EQ_REGISTER, 3), (0, 0), 0x100), halt()]);
    assert!(start(&mut machine, E).is_err());
}

/// One register file an engine.
#[test]
fn engines_do_not_share_registers() {
    let setup = setup().program(E, &[move_immediate(&[(1, 5)]), halt()]);
    let mut machine = setup.program(EngineId::Pool, &[move_registers(&[(1, 2)]), halt()]).build();
    for engine in [E, EngineId::Pool] {
        start(&mut machine, engine).unwrap();
    }
    assert_eq!((register(&machine, E, 1), register(&machine, EngineId::Pool, 2)), (5, 0));
}
