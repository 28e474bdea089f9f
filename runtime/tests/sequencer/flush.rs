//! INSTRUCTION_FLUSH (chapter 02 section 8.4, design section 3 rule 6): what an engine's words become when the
//! memory that they came from is written.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Word};
use seqjit_runtime::machine::Machine;
use seqjit_runtime::sequencer::step;

use crate::support::*;
use crate::words::*;

const PE: EngineId = EngineId::Pe;
const ACT: EngineId = EngineId::Act;
const CODE: u64 = 0x11_0000_0000;

/// Address of a byte of the program's memory.
fn at(slot: u64, byte: u64) -> u64 {
    CODE + 64 * slot + byte
}

/// R1 := 111; its immediate is at byte 32.
fn target() -> Word {
    move_immediate(&[(1, 111)])
}

fn image(engine: EngineId, words: &[Word]) -> Machine {
    let mut machine = setup().program_in_memory(CODE, engine, words).build();
    enter_at(&mut machine, engine, 0);
    machine
}

fn enter_at(machine: &mut Machine, engine: EngineId, slot: u64) {
    machine.csr_write(0, engine, LR3, at(slot, 0) as u32).unwrap();
    machine.csr_write(0, engine, LR4, (CODE >> 32) as u32).unwrap();
}

#[test]
fn a_store_shows_behind_the_flush_only() {
    for (flushing, expected) in [(false, 111), (true, 222)] {
        let third = if flushing { flush() } else { nop() };
        let mut machine = image(PE, &[write(at(3, 32), 222), nop(), third, target(), halt()]);
        start(&mut machine, PE).unwrap();
        assert_eq!(register(&machine, PE, 1), expected);
        let memory = machine.dram.buffer(1).bytes();
        assert_eq!(memory[3 * 64 + 32], 222, "memory itself is written at once");
    }
}

/// The same word by word: a caller that steps sees what a whole turn sees.
#[test]
fn single_steps_see_the_flush_too() {
    let mut machine = image(PE, &[write(at(2, 32), 222), flush(), target(), halt()]);
    ring(&mut machine, PE);
    for _ in 0..4 {
        step(&mut machine, 0, PE).unwrap();
    }
    assert_eq!((register(&machine, PE, 1), seq(&mut machine, PE).running), (222, false));
}

#[test]
fn the_next_round_of_a_loop_is_stale_until_it_flushes() {
    // R1 := n; store R2 (222) over the immediate; loop twice more
    let words = [
        move_immediate(&[(2, 222)]),
        target(),
        nop(),
        store(UINT32, at(1, 32), &[2]),
        relative(compare(3, UINT32, 5, 1), 192),
        move_immediate(&[(5, 1)]),
        relative(always(), -5 * 64),
        flush(),
        relative(compare(3, UINT32, 6, 1), 192),
        move_immediate(&[(6, 1)]),
        relative(always(), -9 * 64),
        halt(),
    ];
    let mut machine = image(PE, &words);
    let mut seen = Vec::new();
    ring(&mut machine, PE);
    while state(&mut machine, PE).is_active() {
        step(&mut machine, 0, PE).unwrap();
        if state(&mut machine, PE).next_pc() == at(2, 0) {
            seen.push(register(&machine, PE, 1));
        }
    }
    assert_eq!(seen, [111, 111, 222]);
}

#[test]
fn a_flush_is_for_its_own_engine() {
    let words = [target(), halt(), write(at(0, 32), 222), flush(), target(), halt()];
    let memory = setup().program_in_memory(CODE, PE, &words);
    let mut machine = memory.program_at(CODE, ACT, &words).build();
    for (engine, slot) in [(PE, 2), (ACT, 0)] {
        enter_at(&mut machine, engine, slot);
        start(&mut machine, engine).unwrap();
    }
    assert_eq!(register(&machine, ACT, 1), 111, "ACT has not flushed");
    enter_at(&mut machine, PE, 0);
    start(&mut machine, PE).unwrap();
    assert_eq!(register(&machine, PE, 1), 222);
    enter_at(&mut machine, ACT, 3);
    start(&mut machine, ACT).unwrap();
    enter_at(&mut machine, ACT, 0);
    start(&mut machine, ACT).unwrap();
    assert_eq!(register(&machine, ACT, 1), 222);
}

/// A host that has written instruction memory of a stopped engine says so with the same call.
#[test]
fn a_host_write_shows_when_the_host_flushes() {
    let mut machine = image(PE, &[target(), halt()]);
    machine.dram.buffer_mut(1).write(32, &222u32.to_le_bytes());
    start(&mut machine, PE).unwrap();
    assert_eq!(register(&machine, PE, 1), 111);
    machine.flush_instructions(0, PE);
    enter_at(&mut machine, PE, 0);
    start(&mut machine, PE).unwrap();
    assert_eq!(register(&machine, PE, 1), 222);
}

/// Words that were not there at load are held to the rules when they are read, and fault when they are run.
#[test]
fn new_words_are_checked() {
    // a HALT with a payload (00 table B), a NOP that waits for 0x08, an opcode that PE does not have
    let cases: [(u64, u32, &str); 3] = [
        (60, 1, "unsupported word: payload: 0x01; 0"),
        (4, 8, "illegal word: wait_mode is 0x08, expected a wait mode of the generation"),
        (0, 0x1042, "bad opcode 0x42: the PE of cayman does not run it"),
    ];
    for (byte, value, message) in cases {
        let victim = if byte == 60 { halt() } else { nop() };
        let words = [write(at(3, byte), value), flush(), nop(), victim, halt()];
        let mut machine = image(PE, &words);
        let fault = start(&mut machine, PE).unwrap_err();
        assert_eq!(fault.kind.to_string(), message);
        assert_eq!((fault.pc, state(&mut machine, PE).retired), (at(3, 0), 3));
    }
    // unchanged words keep what was decided about them at load: this one was never checked
    let words = [write(at(2, 32), 5), flush(), target(), patch(halt(), 63, &[1])];
    let mut machine = image(PE, &words);
    start(&mut machine, PE).unwrap();
    assert_eq!((register(&machine, PE, 1), stopped(&machine, PE).0), (5, 0));
}

/// The refetch goes through the redirect path: the local registers get the next PC (chapter 01 section 12.5).
#[test]
fn a_flush_redirects_to_the_next_word() {
    for container in [false, true] {
        let setup = if container { setup().container() } else { setup() };
        let mut machine = setup.program(PE, &[flush(), nop(), halt()]).build();
        watch(&mut machine, PE);
        let (_, lines) = logged(|| start(&mut machine, PE).unwrap());
        let entry = "start_ctrl=0 run_state=1 lr3=1000 lr4=0";
        assert_eq!(writes(&mut machine, PE), format!("{entry} lr3=1040 lr4=0 lr3=10c0 lr4=0 run_state=0"));
        let expected = [
            "S: Dispatch opcode=0xa3",
            "S: INS_FL",
            "S: PrefetchHelper : Invalidating all hints",
            "S: Redirecting to pc=0x1040",
            "S: Dispatch opcode=0xa4",
        ];
        assert_in_order(&lines, &expected);
    }
}

/// Where the whole stream is not in one buffer there is nothing to read again.
#[test]
fn a_stream_without_memory_stays_as_loaded() {
    let mut machine = machine(PE, &[flush(), target(), halt()]);
    start(&mut machine, PE).unwrap();
    assert_eq!(register(&machine, PE, 1), 111);
    // a buffer that holds only half of it
    let words = [flush(), target(), halt()];
    let mut machine = setup().program_in_memory(CODE, PE, &words[..1]).program_at(CODE, PE, &words).build();
    enter_at(&mut machine, PE, 0);
    start(&mut machine, PE).unwrap();
    assert_eq!(register(&machine, PE, 1), 111);
}

#[test]
fn a_fetch_still_finds_the_end_of_the_stream() {
    let mut machine = image(PE, &[write(at(1, 32), 1), flush()]);
    let fault = start(&mut machine, PE).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Fetch { pc: at(2, 0), reason: "lies in no stream of this engine" });
}
