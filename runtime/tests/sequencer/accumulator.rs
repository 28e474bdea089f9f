//! ACTIVATION_READ_ACCUMULATOR (chapter 05 section 3.4).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Space, Word};
use seqjit_runtime::machine::Machine;

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Act;
const BF16: u8 = 6;
const FP16: u8 = 7;

/// Reads two lanes to a byte of partition 32.
fn read(dtype: u8, byte: u32) -> Word {
    let address = 32 << 18 | byte;
    word(
        0x24,
        &[(28, &1u32.to_le_bytes()), (32, &[dtype, 0, 2]), (44, &address.to_le_bytes()), (48, &[1, 0, 1, 0])],
    )
}

/// A machine whose accumulators of partitions 31 to 34 are not zero.
fn prepared(words: &[Word]) -> Machine {
    let mut machine = machine(E, words);
    // halfway between two BF16 numbers, of which the upper one is even; and a number of all formats
    machine.cores[0].act.accumulator[31..35].copy_from_slice(&[9.0, 1.0 + 3.0 / 256.0, -2.5, 9.0]);
    machine
}

#[test]
fn accumulators_of_the_destination_are_converted_and_kept() {
    // the destinations do not overlap; the last word repeats the first
    let words = [read(FP32, 0), read(BF16, 4), read(FP16, 6), read(FP32, 8), halt()];
    let mut machine = prepared(&words);
    start(&mut machine, E).unwrap();
    let memory = machine.cores[0].memory(Space::Sbuf);
    let lane = |partition| &memory.partition(partition)[..16];
    let upper = [0x00, 0x80, 0x81, 0x3F, 0x82, 0x3F, 0x0C, 0x3C, 0x00, 0x80, 0x81, 0x3F, 0, 0, 0, 0];
    let exact = [0x00, 0x00, 0x20, 0xC0, 0x20, 0xC0, 0x00, 0xC1, 0x00, 0x00, 0x20, 0xC0, 0, 0, 0, 0];
    assert_eq!((lane(32), lane(33)), (&upper[..], &exact[..]));
    assert_eq!((lane(31), lane(34)), (&[0; 16][..], &[0; 16][..]));
    assert_eq!(machine.cores[0].act.accumulator[32..34], [1.0 + 3.0 / 256.0, -2.5]);
}

#[test]
fn negation_belongs_to_the_dve() {
    let mut machine = prepared(&[patch(read(FP32, 0), 33, &[1]), halt()]);
    let fault = start(&mut machine, E).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "negated", .. }), "{fault}");
    assert_eq!(machine.cores[0].memory(Space::Sbuf).partition(32)[..4], [0; 4]);
}
