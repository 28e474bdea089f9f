//! Register transfers to and from variables of a container: the pseudo-words of chapter 02 section 8.12
//! and the variable form of TENSOR_LOAD and TENSOR_STORE (chapter 00 A14).

use std::sync::Arc;

use seqjit_runtime::interp::{Fault, FaultKind};
use seqjit_runtime::isa::{EngineId, Word};
use seqjit_runtime::machine::Machine;

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Sp;
const STORE: u8 = 0xCD;
const LOAD: u8 = 0xCE;
/// Variable 2 lies in the data buffer; variables 0 and 1 have no address.
const VARIABLE: u32 = 2;
const VARIABLE_AT: usize = 0x100;

/// A pseudo-word: id at byte 16, byte offset at byte 20, the rest as in TENSOR_LOAD.
fn pseudo(opcode: u8, dtype: u8, count: [u8; 2], step: [i32; 2], variable: (u32, u32), data: &[u8]) -> Word {
    transfer(opcode, dtype, count, step, u64::from(variable.1) << 32 | u64::from(variable.0), data)
}

/// Runs a word of a container with R7 and R8 set and 0xFF 0x01 0x80 0x7F at byte 4 of the variable.
fn run_word(word: Word) -> (Machine, Result<(), Fault>) {
    let words = [move_immediate(&[(7, 0x1234_5678), (8, 0x9ABC_DEF0)]), word, halt()];
    let mut machine = setup().container().program(E, &words).build();
    Arc::make_mut(&mut machine.cores[0].spec).variables = vec![None, None, Some(DATA + VARIABLE_AT as u64)];
    machine.dram.buffer_mut(0).write(VARIABLE_AT + 4, &[0xFF, 0x01, 0x80, 0x7F]);
    let result = start(&mut machine, E);
    (machine, result)
}

fn loaded(word: Word, registers: std::ops::Range<usize>) -> Vec<u32> {
    let (machine, result) = run_word(word);
    result.unwrap();
    registers.map(|n| register(&machine, E, n)).collect()
}

fn stored(word: Word) -> Vec<u8> {
    let (machine, result) = run_word(word);
    result.unwrap();
    machine.dram.buffer(0).bytes()[VARIABLE_AT..VARIABLE_AT + 8].to_vec()
}

#[test]
fn pseudo_words_transfer_at_an_offset_of_their_variable() {
    let load =
        |dtype, count, step, offset, data: &[u8]| pseudo(LOAD, dtype, count, step, (VARIABLE, offset), data);
    // the example of section 8.11
    let bytes = load(INT8, [3, 1], [1, 0], 4, &[4, 5, 6]);
    assert_eq!(loaded(bytes, 4..7), [0xFFFF_FFFF, 1, 0xFFFF_FF80]);
    assert_eq!(loaded(load(UINT32, [1, 1], [0, 0], 4, &[4]), 4..5), [0x7F80_01FF]);
    assert_eq!(loaded(load(UINT8, [2, 2], [1, -2], 6, &[4, 5, 6, 10]), 4..7), [0x80, 0x7F, 0xFF]);

    let store = |dtype, count, offset, data: &[u8]| {
        pseudo(STORE, dtype, [count, 1], [1, 0], (VARIABLE, offset), data)
    };
    // the examples of section 8.12
    assert_eq!(stored(store(INT8, 1, 2, &[7])), [0, 0, 0x78, 0, 0xFF, 0x01, 0x80, 0x7F]);
    assert_eq!(stored(store(INT16, 2, 0, &[7, 8])), [0x78, 0x56, 0xF0, 0xDE, 0xFF, 0x01, 0x80, 0x7F]);
    let immediate = patch(store(5, 2, 4, &[0x34, 0x12, 0x78, 0x56]), 13, &[1]);
    assert_eq!(stored(immediate), [0, 0, 0, 0, 0x34, 0x12, 0x78, 0x56]);
}

#[test]
fn variable_addresses_serve_ordinary_transfers() {
    let address = |offset: u64| 0x10 << 56 | u64::from(VARIABLE) << 32 | offset;
    assert_eq!(loaded(load(UINT32, address(4), &[4]), 4..5), [0x7F80_01FF]);
    assert_eq!(stored(store(UINT32, address(0), &[7]))[..4], [0x78, 0x56, 0x34, 0x12]);
}

#[test]
fn pseudo_words_fail_before_any_effect() {
    let failure = |opcode, dtype, variable, data: &[u8]| {
        let (machine, result) = run_word(pseudo(opcode, dtype, [2, 1], [1, 0], variable, data));
        let memory = machine.dram.buffer(0).bytes();
        assert!(memory.iter().filter(|b| **b != 0).eq(&[0xFF, 0x01, 0x80, 0x7F]), "a store was done");
        assert_eq!((register(&machine, E, 4), register(&machine, E, 5)), (0, 0));
        result.unwrap_err().kind
    };
    for (opcode, data) in [(LOAD, [4, 5]), (STORE, [7, 8])] {
        let illegal = |dtype, variable| match failure(opcode, dtype, variable, &data) {
            FaultKind::Illegal { field, .. } => field,
            other => panic!("{other:?}"),
        };
        // no pseudo-word moves 64-bit elements; variables without an address, and none
        assert_eq!(illegal(UINT64, (VARIABLE, 0)), "dtype");
        assert_eq!(illegal(UINT32, (0, 0)), "var_id");
        assert_eq!(illegal(UINT32, (3, 0)), "var_id");
        // an id that 16 bits do not hold is not cut
        assert_eq!(illegal(UINT32, (0x1_0000 + VARIABLE, 0)), "var_id");
        let end = (DATA_BYTES - VARIABLE_AT) as u32;
        let beyond = failure(opcode, UINT32, (VARIABLE, end - 4), &data);
        assert!(matches!(beyond, FaultKind::Memory { field: "var_offset", .. }), "{beyond:?}");
        let odd = failure(opcode, UINT32, (VARIABLE, 2), &data);
        assert!(matches!(odd, FaultKind::Misaligned { field: "var_offset", .. }), "{odd:?}");
    }
}
