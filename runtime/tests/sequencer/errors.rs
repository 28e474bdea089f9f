//! Every halt reason and every error class of chapter 01 section 13: record, latch, notification, published
//! state, saved PC, message, log.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Word};
use seqjit_runtime::machine::{Machine, NotificationKind};
use seqjit_runtime::sequencer::Phase;
use seqjit_runtime::sequencer::error::ErrorClass;

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Pe;
const DIVIDE: u8 = 7;
const MULT: u8 = 6;
const MIN: u8 = 9;

/// A program that dies at the word in slot 1, or where its first word sends it.
struct Case {
    name: &'static str,
    words: Vec<Word>,
    prepare: fn(&mut Machine),
    /// Saved PC.
    pc: u64,
    record: u32,
    message: &'static str,
    /// The handler's log line; traps have none.
    line: Option<&'static str>,
}

fn case(name: &'static str, word: Word, record: u32, message: &'static str) -> Case {
    let setting = move_immediate(&[(1, 0x10), (2, 0), (3, 0x11), (4, 99)]);
    let words = vec![setting, word, nop(), halt()];
    Case { name, words, prepare: |_| {}, pc: BASE + 64, record, message, line: None }
}

impl Case {
    fn logs(self, line: &'static str) -> Case {
        Case { line: Some(line), ..self }
    }

    fn at(self, pc: u64) -> Case {
        Case { pc, ..self }
    }

    fn with(self, prepare: fn(&mut Machine)) -> Case {
        Case { prepare, ..self }
    }
}

/// Records are code | block << 8 | extension << 12 | aux << 24; the PE's block is 2.
const TRAP_ALIGNMENT: u32 = 0x0000_2242;
const TRAP_EXTERNAL: u32 = 0x0000_3242;

const NOWHERE: u64 = 0x40_0000_0000;
/// R2:R1 = 0x10, R2:R3 = 0x11.
const PAIR: u64 = 0x8000_0000_0000_0201;
const ODD_PAIR: u64 = 0x8000_0000_0000_0203;

fn instruction_cases() -> Vec<Case> {
    vec![
        case(
            "bad opcode",
            Word::new(0x42),
            0x4200_0200,
            "core 0 PE word 1 (TENSOR_REDUCE 0x42): bad opcode 0x42: the PE of cayman does not run it",
        )
        .logs("S: ErrorHandler : Bad Opcode(0x42)"),
        case(
            "unassigned opcode",
            Word::new(0xAC),
            0xAC00_0200,
            "core 0 PE word 1 (opcode 0xAC): bad opcode 0xac: the PE of cayman does not run it",
        )
        .logs("S: ErrorHandler : Bad Opcode(0xac)"),
        case(
            "undefined opcode",
            Word::new(0x03),
            0x0300_0200,
            "core 0 PE word 1 (PE_REG_WRITE 0x03): unsupported word: opcode: payload layout not recovered",
        )
        .logs("S: ErrorHandler : Illegal Instruction(0x3)"),
        case(
            "operator that registers do not have",
            alu_registers(0x1A, INT32, [1, 1], 4),
            0xA800_0200,
            "core 0 PE word 1 (ALU_OP 0xA8): unsupported word: op: POW on int32 registers",
        )
        .logs("S: ErrorHandler : Illegal Instruction(0xa8)"),
        case(
            "register that does not exist",
            move_registers(&[(64, 4)]),
            0xA700_0200,
            "core 0 PE word 1 (MOVE 0xA7): illegal word: src_registers is register 64, expected 0 to 63 or 128 to 131",
        )
        .logs("S: ErrorHandler : Illegal Instruction(0xa7)"),
        case(
            "undefined wait mode",
            events(nop(), (0x08, 0), (0, 0), 0),
            0xA400_0200,
            "core 0 PE word 1 (NOP 0xA4): illegal word: wait_mode is 0x08, expected a wait mode of the generation",
        )
        .logs("S: ErrorHandler : Illegal Instruction(0xa4)"),
        case(
            "undefined update mode",
            events(nop(), (0, 0), (0x06, 0), 0),
            0xA400_0200,
            "core 0 PE word 1 (NOP 0xA4): illegal word: update_mode is 0x06, expected an update mode",
        )
        .logs("S: ErrorHandler : Illegal Instruction(0xa4)"),
        case(
            "integer division by zero",
            alu_registers(DIVIDE, INT32, [1, 2], 4),
            0x0000_0202,
            "core 0 PE word 1 (ALU_OP 0xA8): integer division by zero in the register ALU",
        )
        .logs("S: ErrorHandler : Int Div Zero Error"),
        case(
            "integer remainder by zero",
            alu_immediate(0x1B, UINT32, 1, 0, 4),
            0x0000_0202,
            "core 0 PE word 1 (ALU_OP 0xA8): integer division by zero in the register ALU",
        )
        .logs("S: ErrorHandler : Int Div Zero Error"),
    ]
}

fn memory_cases() -> Vec<Case> {
    vec![
        case(
            "WRITE to nowhere",
            write(NOWHERE, 1),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (WRITE 0xA5): memory fault: addr0 at SoC address 0x4000000000: nothing is mapped there",
        ),
        case(
            "WRITE to an odd address",
            write(DATA + 2, 1),
            TRAP_ALIGNMENT,
            "core 0 PE word 1 (WRITE 0xA5): misaligned access: addr0 at SoC address 0x1000000002 is not a multiple of 4",
        ),
        case(
            "WRITE where no control register is",
            write(aperture(E) + 0x24, 1),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (WRITE 0xA5): memory fault: addr0 at SoC address 0x2802660024: \
             no control register at offset 0x24",
        ),
        case(
            "second WRITE to nowhere: the first is not done either",
            patch(patch(write(DATA, 7), 13, &[4]), 24, &NOWHERE.to_le_bytes()),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (WRITE 0xA5): memory fault: addr1 at SoC address 0x4000000000: nothing is mapped there",
        ),
        case(
            "TENSOR_LOAD from nowhere",
            load(UINT32, PAIR, &[4]),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (TENSOR_LOAD 0xAA): memory fault: start_addr at SoC address 0x10: nothing is mapped there",
        ),
        case(
            "TENSOR_LOAD beyond the end of a buffer: no register changes",
            load(UINT32, DATA + DATA_BYTES as u64 - 8, &[4, 5, 6]),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (TENSOR_LOAD 0xAA): memory fault: start_addr at SoC address 0x1000001000: \
             nothing is mapped there",
        ),
        case(
            "TENSOR_LOAD from an odd address",
            load(UINT32, ODD_PAIR, &[4]),
            TRAP_ALIGNMENT,
            "core 0 PE word 1 (TENSOR_LOAD 0xAA): misaligned access: start_addr at SoC address 0x11 \
             is not a multiple of 4",
        ),
        case(
            "TENSOR_STORE to nowhere",
            store(INT16, PAIR, &[1]),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (TENSOR_STORE 0xAB): memory fault: start_addr at SoC address 0x10: nothing is mapped there",
        ),
        case(
            "TENSOR_STORE of which one element is beyond the end: nothing is stored",
            store(UINT32, DATA + DATA_BYTES as u64 - 4, &[1, 1]),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (TENSOR_STORE 0xAB): memory fault: start_addr at SoC address 0x1000001000: \
             nothing is mapped there",
        ),
        case(
            "TENSOR_STORE to an odd address",
            store(INT16, ODD_PAIR, &[1]),
            TRAP_ALIGNMENT,
            "core 0 PE word 1 (TENSOR_STORE 0xAB): misaligned access: start_addr at SoC address 0x11 \
             is not a multiple of 2",
        ),
        case(
            "TENSOR_STORE of a byte to a semaphore",
            store(INT8, SEM_SET, &[1]),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (TENSOR_STORE 0xAB): memory fault: start_addr at SoC address 0x2802701400: \
             1 bytes wide; a semaphore window takes 4",
        ),
        case(
            "POLL_SEM of nowhere",
            poll(2, 4, MIN, NOWHERE, SEM_DEC),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (POLL_SEM 0xB3): memory fault: addr at SoC address 0x4000000000: nothing is mapped there",
        ),
        case(
            "POLL_SEM at an odd address",
            poll(2, 4, MIN, SEM_READ + 1, SEM_DEC),
            TRAP_ALIGNMENT,
            "core 0 PE word 1 (POLL_SEM 0xB3): misaligned access: addr at SoC address 0x2802701001 \
             is not a multiple of 4",
        ),
        case(
            "POLL_SEM that writes back to nowhere: the result is not written either",
            poll(1, 4, MIN, SEM_READ, NOWHERE),
            TRAP_EXTERNAL,
            "core 0 PE word 1 (POLL_SEM 0xB3): memory fault: res_writeback_addr at SoC address 0x4000000000: \
             nothing is mapped there",
        )
        .with(|m| m.cores[0].sync.semaphores[0] = 3),
    ]
}

fn fetch_cases() -> Vec<Case> {
    vec![
        case(
            "running off the end of a device image",
            nop(),
            TRAP_EXTERNAL,
            "core 0 PE word 8: instruction fetch at 0x1200: lies in no stream of this engine",
        )
        .with(|m| m.csr_write(0, E, LR3, 0x1200).unwrap())
        .at(0x1200),
        case(
            "branch out of the stream",
            relative(always(), -0x1000),
            TRAP_EXTERNAL,
            "core 0 PE: instruction fetch at 0x40: lies in no stream of this engine",
        )
        .at(0x40),
        case(
            "branch above 4 GiB",
            absolute(always(), 0x12_0000_1040),
            TRAP_EXTERNAL,
            "core 0 PE word 1207959553: instruction fetch at 0x1200001040: lies in no stream of this engine",
        )
        .at(0x12_0000_1040),
        case(
            "misaligned branch target",
            relative(always(), 68),
            TRAP_ALIGNMENT,
            "core 0 PE word 2: instruction fetch at 0x1084: not a multiple of 64",
        )
        .at(0x1084),
        case(
            "misaligned start",
            nop(),
            TRAP_ALIGNMENT,
            "core 0 PE word 0: instruction fetch at 0x1001: not a multiple of 64",
        )
        .with(|m| m.csr_write(0, E, LR3, 0x1001).unwrap())
        .at(0x1001),
        case(
            "above the PC bounds",
            nop(),
            TRAP_EXTERNAL,
            "core 0 PE word 1: instruction fetch at 0x1040: outside the PC bounds",
        )
        .with(|m| seq(m, E).set_bounds(0x1000, 0x103F).unwrap())
        .logs("S: is_pc_in_bounds: pc=0x1040 bound=[0x1000, 0x103f]"),
        case(
            "below the PC bounds",
            nop(),
            TRAP_EXTERNAL,
            "core 0 PE word 0: instruction fetch at 0x1000: outside the PC bounds",
        )
        .with(|m| seq(m, E).set_bounds(0x1001, u64::MAX).unwrap())
        .logs("S: is_pc_in_bounds: pc=0x1000 bound=[0x1001, 0xffffffffffffffff]")
        .at(0x1000),
    ]
}

/// Memory, registers and semaphores: what a faulting word must leave alone.
fn footprint(machine: &Machine) -> (Vec<u8>, Vec<u32>, [u32; 256]) {
    let registers = machine.cores[0].engines[E.index()].registers.to_vec();
    (machine.dram.buffer(0).bytes().to_vec(), registers, machine.cores[0].sync.semaphores)
}

#[test]
fn every_error_class_ends_in_the_documented_state() {
    let cases = [instruction_cases(), memory_cases(), fetch_cases()];
    for case in cases.into_iter().flatten() {
        let mut machine = machine(E, &case.words);
        (case.prepare)(&mut machine);
        let untouched = footprint(&machine);
        let (result, lines) = logged(|| start(&mut machine, E));
        let fault = result.expect_err(case.name);

        assert_eq!(fault.to_string(), case.message, "{}", case.name);
        assert_eq!((fault.engine, fault.pc), (E, case.pc), "{}", case.name);
        assert_eq!(stopped(&machine, E), (16, 16, case.pc), "{}", case.name);
        let seq = seq(&mut machine, E);
        assert_eq!((seq.phase, seq.error_record), (Phase::Dead, case.record), "{}", case.name);
        assert_eq!(seq.last_error.unwrap().record, case.record, "{}", case.name);
        assert_eq!(seq.fault.as_deref(), Some(&fault), "{}", case.name);
        let kind = NotificationKind::Error { record: case.record, fatal: true };
        assert_eq!(notifications(&machine), [(Some(E), case.pc, kind)], "{}", case.name);

        let tail = ["S: NOTIFY", "S: sending notification", "S: Setup Halt", "S: Entering HALT"];
        assert_in_order(&lines, &case.line.into_iter().chain(tail).collect::<Vec<_>>());
        let handler = lines.iter().any(|l| l.contains("ErrorHandler"));
        assert_eq!(handler, case.line.is_some_and(|l| l.contains("ErrorHandler")), "{}", case.name);

        let mut expected = untouched;
        if state(&mut machine, E).retired > 0 {
            expected.1[1] = 0x10;
            expected.1[3] = 0x11;
            expected.1[4] = 99;
        }
        assert!(footprint(&machine) == expected, "{} has an effect", case.name);
    }
}

#[test]
fn every_assertion_has_a_record_of_zero_and_two_log_lines() {
    type Cause = fn(&mut Machine);
    let causes: [(Cause, &str); 5] = [
        (|m| drop(m.inject_surprise(0, E, 1 << 3)), "sunda_handle_surprises(surprises.hpp:426)"),
        (|m| drop(m.inject_surprise(0, E, 1 << 4)), "sunda_handle_surprises(surprises.hpp:441)"),
        (
            |m| {
                m.csr_write(0, E, INTR_INFO, 1).unwrap();
                drop(m.service_interrupt(0, E));
            },
            "enter_run(fsm.hpp:39)",
        ),
        (
            |m| {
                m.csr_write(0, E, INTR_INFO, 7).unwrap();
                drop(m.service_interrupt(0, E));
            },
            "handle_interrupt_(interrupt_handler.hpp:28)",
        ),
        (
            |m| {
                // engine id 3 has no block: whatever the error, reporting it fails
                seq(m, E).engine_id = 3;
                drop(run(m));
            },
            "get_block_id(error_notifications.cpp:38)",
        ),
    ];
    for (cause, text) in causes {
        let mut machine = machine(E, &[nop(), Word::new(0x42)]);
        seq(&mut machine, E).fetch_gate = 0;
        start(&mut machine, E).unwrap();
        seq(&mut machine, E).fetch_gate = 1;
        let ((), lines) = logged(|| cause(&mut machine));
        let both = [format!("S: Assertion failure! {text}"), format!("Assertion failure! {text}")];
        assert_in_order(&lines, &both.each_ref().map(String::as_str));
        let seq = seq(&mut machine, E);
        assert_eq!((seq.phase, seq.error_record), (Phase::Dead, 0), "{text}");
        let fault = seq.fault.clone().unwrap();
        assert!(matches!(fault.kind, FaultKind::Assertion { .. }), "{fault}");
        assert_eq!(fault.pc, if text.starts_with("get_block") { BASE + 64 } else { BASE }, "{text}");
        assert_eq!((seq.run_state(), seq.csr.resume_pc()), (16, fault.pc), "{text}");
        let kind = NotificationKind::Error { record: 0, fatal: true };
        assert_eq!(notifications(&machine), [(Some(E), fault.pc, kind)], "{text}");
    }
}

/// 1.0, the largest and the smallest normal number, NaN patterns.
const ONE: u32 = 0x3F80_0000;
const LARGEST: u32 = 0x7F7F_FFFF;
const SMALLEST: u32 = 0x0080_0000;
const THIRD: u32 = 0x3EAA_AAAB;

/// Runs `a op b` on fp32 registers; gives the result and the codes reported, in order.
fn fp(op: u8, a: u32, b: u32, everything: bool) -> (u32, Vec<u32>, Vec<String>) {
    let words = [move_immediate(&[(1, a), (2, b)]), alu_registers(op, FP32, [1, 2], 3), nop(), halt()];
    let mut machine = machine(E, &words);
    seq(&mut machine, E).report_inexact = everything;
    let (result, lines) = logged(|| start(&mut machine, E));
    result.unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, BASE + 256), "execution continues");
    let records: Vec<u32> = notifications(&machine)
        .into_iter()
        .map(|(engine, pc, kind)| match kind {
            NotificationKind::Error { record, fatal: false } if (engine, pc) == (Some(E), BASE + 64) => {
                record
            }
            other => panic!("{other:?} at {pc:x}"),
        })
        .collect();
    assert_eq!(seq(&mut machine, E).error_record, records.last().copied().unwrap_or(0));
    assert!(records.iter().all(|r| r & !0xFF == 0x200), "block 2, nothing else beside the code");
    let logs = lines.into_iter().filter(|l| l.contains("FP Error")).collect();
    (register(&machine, E, 3), records.into_iter().map(|r| r & 0xFF).collect(), logs)
}

/// Section 13.4 and decision D23: codes are the reversed flags, reported in ascending order of the flags.
#[test]
fn fp_errors_have_every_code_and_go_on() {
    let log =
        |codes: &[u32]| codes.iter().map(|c| format!("S: ErrorHandler : FP Error({c})")).collect::<Vec<_>>();
    let check = |op, a, b, everything, result, codes: &[u32]| {
        assert_eq!(fp(op, a, b, everything), (result, codes.to_vec(), log(codes)), "{op} {a:x} {b:x}");
    };
    // invalid 1, divide by zero 2, overflow 4: always
    check(DIVIDE, 0, 0, false, 0x7FC0_0000, &[1]);
    check(DIVIDE, ONE, 0, false, 0x7F80_0000, &[2]);
    check(DIVIDE, ONE, 0x8000_0000, false, 0xFF80_0000, &[2]);
    check(MULT, LARGEST, LARGEST, false, 0x7F80_0000, &[4]);
    // underflow 8 and inexact 16: by the switch; the flags ascend, the codes descend
    check(MULT, SMALLEST, THIRD, false, 0x002A_AAAB, &[]);
    check(MULT, SMALLEST, THIRD, true, 0x002A_AAAB, &[16, 8]);
    check(DIVIDE, ONE, 0x4040_0000, true, THIRD, &[16]);
    check(MULT, LARGEST, LARGEST, true, 0x7F80_0000, &[16, 4]);
    // exact operations report nothing, not even the exact division that meets infinity
    check(MULT, ONE, THIRD, true, THIRD, &[]);
    check(DIVIDE, 0x7F80_0000, 0, true, 0x7F80_0000, &[]);
    check(MULT, SMALLEST, 0x3F00_0000, true, 0x0040_0000, &[]);
}

/// The map of section 13.4 for every argument.
#[test]
fn fp_status_words_that_are_no_single_flag_are_an_assertion() {
    for flag in 0..=255 {
        let expected = match flag {
            1 => ErrorClass::FpError(16),
            2 => ErrorClass::FpError(8),
            4 => ErrorClass::FpError(4),
            8 => ErrorClass::FpError(2),
            16 => ErrorClass::FpError(1),
            _ => ErrorClass::Assertion { function: "fp_error", file: "error_handler.cpp", line: 40 },
        };
        assert_eq!(ErrorClass::fp_flag(flag), expected);
    }
}

/// A recoverable error that cannot be reported is not recoverable.
#[test]
fn an_fp_error_without_block_is_fatal() {
    for engine_id in [3, 6, u32::MAX] {
        let words = [move_immediate(&[(1, ONE), (3, 77)]), alu_registers(DIVIDE, FP32, [1, 0], 3), halt()];
        let mut machine = machine(E, &words);
        seq(&mut machine, E).engine_id = engine_id;
        let fault = start(&mut machine, E).unwrap_err();
        assert_eq!(fault.kind.to_string(), "assertion failure: get_block_id (error_notifications.cpp:38)");
        assert_eq!((register(&machine, E, 3), stopped(&machine, E)), (77, (16, 16, BASE + 64)));
        assert_eq!(seq(&mut machine, E).error_record, 0);
    }
}

/// Section 8.3: every reason, none of which but 16 reports anything.
#[test]
fn every_halt_reason_is_published() {
    type Arm = fn(&mut Machine);
    let reasons: [(u32, u64, Arm); 5] = [
        (0, 4, |_| {}),
        (4, 2, |m| {
            m.csr_write(0, E, BP_ADDR1, BASE as u32 + 128).unwrap();
            m.csr_write(0, E, BP_CTRL, 0x27).unwrap();
        }),
        (8, 0, |m| m.csr_write(0, E, HALT_CTRL, 1).unwrap()),
        (16, 1, |m| seq(m, E).set_bounds(BASE, BASE + 1).unwrap()),
        (64, 3, |m| {
            m.csr_write(0, E, BP_STEP, 3).unwrap();
            m.csr_write(0, E, BP_CTRL, 0xF).unwrap();
        }),
    ];
    for (reason, slot, arm) in reasons {
        let mut machine = machine(E, &[nop(), nop(), nop(), halt()]);
        arm(&mut machine);
        let result = start(&mut machine, E);
        assert_eq!(result.is_err(), reason == 16);
        assert_eq!(stopped(&machine, E), (reason, reason, BASE + 64 * slot));
        assert_eq!(state(&mut machine, E).retired, slot);
        let (reported, record) = (notifications(&machine).len(), seq(&mut machine, E).error_record);
        assert_eq!((reported, record), if reason == 16 { (1, TRAP_EXTERNAL) } else { (0, 0) });
    }
}

/// The device form of the records (chapter 02 section 10.1): type 1F, error_id 0A fatal or 09 not, then the
/// record across both payload words.
#[test]
fn error_notifications_have_the_device_form() {
    let words = [move_immediate(&[(1, ONE)]), alu_registers(DIVIDE, FP32, [1, 0], 3), Word::new(0x42)];
    let mut machine = machine(EngineId::Pool, &words);
    start(&mut machine, EngineId::Pool).unwrap_err();
    let bytes: Vec<[u8; 16]> = machine.cores[0].notifications.iter().map(|n| n.to_bytes()).collect();
    // 0x0000_0302 and 0x4200_0300; the phase bit is set; 1000 ps a retired word
    let nonfatal = [0x09, 0x02, 0x03, 0x9F, 0, 0, 0, 0, 0xE8, 0x03, 0, 0, 0, 0, 0, 0];
    let fatal = [0x0A, 0x00, 0x03, 0x9F, 0x00, 0x42, 0, 0, 0xD0, 0x07, 0, 0, 0, 0, 0, 0];
    assert_eq!(bytes, [nonfatal, fatal]);
}

/// One engine's death stops no other.
#[test]
fn other_engines_outlive_a_dead_one() {
    let setup = setup().program(E, &[Word::new(0x42)]).program(EngineId::Act, &[nop(), halt()]);
    let mut machine = setup.build();
    start(&mut machine, E).unwrap_err();
    ring(&mut machine, EngineId::Act);
    while state(&mut machine, EngineId::Act).is_active() {
        seqjit_runtime::sequencer::step(&mut machine, 0, EngineId::Act).unwrap();
    }
    assert_eq!(stopped(&machine, EngineId::Act), (0, 0, BASE + 128));
}

#[test]
fn pc_bounds_are_inclusive_and_can_be_switched_off() {
    let mut machine = machine(E, &[nop(), nop(), halt()]);
    assert_eq!(seq(&mut machine, E).bounds, (0, u64::MAX), "off after reset");
    for (low, high) in [(5, 5), (6, 5)] {
        assert_eq!(seq(&mut machine, E).set_bounds(low, high), Err((low, high)));
    }
    seq(&mut machine, E).set_bounds(BASE, BASE + 128).unwrap();
    start(&mut machine, E).unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, BASE + 192));
    // every fetch is checked, the first one too
    seq(&mut machine, E).set_bounds(0, BASE - 1).unwrap();
    machine.csr_write(0, E, LR3, BASE as u32).unwrap();
    seq(&mut machine, E).clear_bounds();
    start(&mut machine, E).unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, BASE + 192));
}
