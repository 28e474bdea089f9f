//! The worked traces of chapter 01 section 18.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Word};
use seqjit_runtime::machine::NotificationKind;
use seqjit_runtime::sequencer::{Mode, Phase, step};

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Pe;
const POOL: EngineId = EngineId::Pool;

#[test]
fn t1_plain_run() {
    let (mut machine, lines) = logged(|| {
        let mut machine = machine(E, &[nop(), halt()]);
        watch(&mut machine, E);
        start(&mut machine, E).unwrap();
        machine
    });
    assert_eq!(writes(&mut machine, E), "start_ctrl=0 run_state=1 lr3=1000 lr4=0 lr3=1080 lr4=0 run_state=0");
    let core = [
        "S: Pending StartCtrl",
        "S: enter_run: start",
        "S: enter_run: done",
        "S: Dispatch opcode=0xa4",
        "S: NOP",
        "S: Dispatch opcode=0xa1",
        "S: Halt",
        "S: Setup Halt",
        "S: Entering HALT",
        "S: Pending StartCtrl",
    ];
    assert_in_order(&lines, &core);
    assert_eq!(lines.iter().filter(|l| l.starts_with("S: Dispatch")).count(), 2);
    assert_eq!((stopped(&machine, E), machine.csr_read(0, E, START_CTRL)), ((0, 0, 0x1080), Some(0)));
}

#[test]
fn t2_single_step() {
    let mut machine = machine(E, &[nop(), nop(), nop(), halt()]);
    machine.csr_write(0, E, BP_STEP, 2).unwrap();
    machine.csr_write(0, E, BP_CTRL, 0xF).unwrap();
    watch(&mut machine, E);
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    let steps = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|l| l.contains("STEP_CNT") || l.contains("Dispatch")).cloned().collect()
    };
    let two = ["S: STEP_CNT=>2", "S: Dispatch opcode=0xa4", "S: STEP_CNT=>1", "S: Dispatch opcode=0xa4"];
    assert_eq!(steps(&lines), [two.as_slice(), &["S: STEP_CNT=0"]].concat());
    let entry = "start_ctrl=0 run_state=1 lr3=1000 lr4=0";
    assert_eq!(writes(&mut machine, E), format!("{entry} lr3=1080 lr4=0 run_state=40"));
    assert_eq!(stopped(&machine, E), (64, 64, 0x1080));
    // the count is read again at every doorbell: NOP and HALT
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    let both = ["S: STEP_CNT=>2", "S: Dispatch opcode=0xa4", "S: STEP_CNT=>1", "S: Dispatch opcode=0xa1"];
    assert_eq!(steps(&lines), both);
    assert_eq!(stopped(&machine, E), (0, 0, 0x1100));
}

#[test]
fn t3_external_stop() {
    let mut machine = machine(E, &[nop(), halt()]);
    machine.csr_write(0, E, HALT_CTRL, 1).unwrap();
    watch(&mut machine, E);
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    let stop = "instr_halt_ctrl=0 lr3=1000 lr4=0 run_state=8";
    assert_eq!(writes(&mut machine, E), format!("start_ctrl=0 run_state=1 lr3=1000 lr4=0 {stop}"));
    assert_in_order(&lines, &["S: enter_run: done", "S: EXT_BREAK", "S: Setup Halt", "S: Entering HALT"]);
    assert!(!lines.iter().any(|l| l.contains("Dispatch")));
    assert_eq!((stopped(&machine, E), state(&mut machine, E).retired), ((8, 8, 0x1000), 0));
}

#[test]
fn t4_breakpoint_and_external_stop() {
    let mut machine = machine(E, &[nop(), halt()]);
    machine.csr_write(0, E, BP_ADDR0, 0x1000).unwrap();
    machine.csr_write(0, E, BP_CTRL, 0x17).unwrap();
    machine.csr_write(0, E, HALT_CTRL, 1).unwrap();
    start(&mut machine, E).unwrap();
    assert_eq!((stopped(&machine, E), machine.csr_read(0, E, HALT_CTRL)), ((4, 4, 0x1000), Some(1)));
    start(&mut machine, E).unwrap();
    assert_eq!((stopped(&machine, E), machine.csr_read(0, E, HALT_CTRL)), ((8, 8, 0x1000), Some(0)));
    start(&mut machine, E).unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, 0x1080));
}

#[test]
fn t5_bad_opcode() {
    let mut machine = machine(POOL, &[Word::new(0x42)]);
    assert_eq!(seq(&mut machine, POOL).engine_id, 2);
    watch(&mut machine, POOL);
    let (fault, lines) = logged(|| start(&mut machine, POOL).unwrap_err());
    assert_eq!(seq(&mut machine, POOL).error_record, 0x4200_0300);
    let stop = "lr3=1000 lr4=0 run_state=10";
    assert_eq!(writes(&mut machine, POOL), format!("start_ctrl=0 run_state=1 lr3=1000 lr4=0 {stop}"));
    assert_in_order(&lines, &["S: Dispatch opcode=0x42", "S: ErrorHandler : Bad Opcode(0x42)"]);
    assert_eq!(stopped(&machine, POOL), (16, 16, 0x1000));
    let record = NotificationKind::Error { record: 0x4200_0300, fatal: true };
    assert_eq!(notifications(&machine), [(Some(POOL), 0x1000, record)]);
    // dead: the doorbell stays set for ever, and every attempt gives the same fault
    for _ in 0..3 {
        ring(&mut machine, POOL);
        assert_eq!(run(&mut machine).unwrap_err(), fault);
        assert_eq!(machine.csr_read(0, POOL, START_CTRL), Some(1));
    }
    assert_eq!(notifications(&machine).len(), 1);
}

#[test]
fn t6_boundaries_of_decode() {
    for (opcode, has_slot) in [(0x40, false), (0x41, true), (0xF2, true), (0xF3, false), (0xFF, false)] {
        let mut machine = machine(POOL, &[Word::new(opcode)]);
        let fault = start(&mut machine, POOL).unwrap_err();
        let bad = matches!(fault.kind, FaultKind::BadOpcode { .. });
        assert_eq!(bad, !has_slot, "0x{opcode:02x}: {fault}");
    }
}

#[test]
fn t7_pause() {
    let mut machine = machine(E, &[nop(), halt(), nop(), halt()]);
    seq(&mut machine, E).set_interrupt(0, true);
    watch(&mut machine, E);
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    assert_eq!(writes(&mut machine, E), "start_ctrl=0 run_state=1 lr3=1000 lr4=0 run_state=2");
    assert_in_order(&lines, &["S: Halt", "S: Enter Pause"]);
    assert!(!lines.iter().any(|l| l == "S: Setup Halt" || l == "S: Entering HALT"));
    assert_eq!(stopped(&machine, E), (2, 0, 0x1000));
    seq(&mut machine, E).set_interrupt(0, false);
    start(&mut machine, E).unwrap();
    assert_eq!(writes(&mut machine, E), "start_ctrl=0 run_state=1 lr3=1100 lr4=0 run_state=0");
    assert_eq!((stopped(&machine, E), state(&mut machine, E).retired), ((0, 0, 0x1100), 4));
}

#[test]
fn t8_strong_order_and_step() {
    let mut machine = machine(E, &[nop(), nop(), halt()]);
    machine.csr_write(0, E, CONTROL, 0x7FFE).unwrap();
    machine.csr_write(0, E, BP_STEP, 1).unwrap();
    machine.csr_write(0, E, BP_CTRL, 0xF).unwrap();
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    let arms: Vec<&String> = lines.iter().filter(|l| l.contains("STEP") || l.contains("STRONG")).collect();
    assert_eq!(arms, ["S: STRONG_ORDER", "S: STEP_CNT=>1", "S: STRONG_ORDER", "S: STEP_CNT=0"]);
    assert_eq!((stopped(&machine, E), state(&mut machine, E).retired), ((64, 64, 0x1040), 1));
}

#[test]
fn t9_integer_division_by_zero() {
    let words = [move_immediate(&[(1, 7), (3, 99)]), alu_registers(7, INT32, [1, 2], 3), nop()];
    let mut machine = machine(POOL, &words);
    let (fault, lines) = logged(|| start(&mut machine, POOL).unwrap_err());
    assert_eq!(fault.kind, FaultKind::IntegerDivision);
    assert_in_order(&lines, &["S: ErrorHandler : Int Div Zero Error", "S: Setup Halt", "S: Entering HALT"]);
    assert_eq!(seq(&mut machine, POOL).error_record, 0x0000_0302);
    assert_eq!((register(&machine, POOL, 3), stopped(&machine, POOL)), (99, (16, 16, 0x1040)));
}

#[test]
fn t10_fp_overflow() {
    const MULT: u8 = 6;
    let words = [move_immediate(&[(1, 0x7F7F_FFFF)]), alu_registers(MULT, FP32, [1, 1], 2), nop(), halt()];
    let mut machine = machine(E, &words);
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    assert!(lines.contains(&"S: ErrorHandler : FP Error(4)".to_owned()));
    assert_eq!((register(&machine, E, 2), stopped(&machine, E)), (0x7F80_0000, (0, 0, 0x1100)));
    let record = NotificationKind::Error { record: 0x0000_0204, fatal: false };
    assert_eq!(notifications(&machine), [(Some(E), 0x1040, record)]);
}

#[test]
fn t11_surprise_injection() {
    for (word, goes_on) in [(0x0010, false), (0x0210, true), (0x0003, false)] {
        let mut machine = machine(E, &[nop(), nop(), halt()]);
        ring(&mut machine, E);
        step(&mut machine, 0, E).unwrap();
        match machine.inject_surprise(0, E, word) {
            Ok(true) => assert!(goes_on, "0x{word:x}"),
            Ok(false) => panic!("0x{word:x} halts"),
            Err(fault) => {
                assert!(!goes_on, "0x{word:x}");
                assert!(matches!(fault.kind, FaultKind::Assertion { line: 441, .. }));
                assert_eq!(stopped(&machine, E), (16, 16, 0x1040));
            }
        }
    }
}

#[test]
fn t12_reentry() {
    let mut machine = machine(E, &[nop(), halt()]);
    ring(&mut machine, E);
    step(&mut machine, 0, E).unwrap();
    machine.csr_write(0, E, INTR_INFO, 1).unwrap();
    let fault = machine.service_interrupt(0, E).unwrap_err();
    assert_eq!(fault.kind.to_string(), "assertion failure: enter_run (fsm.hpp:39)");
    let seq = seq(&mut machine, E);
    assert_eq!((seq.error_record, seq.phase, seq.run_state()), (0, Phase::Dead, 16));
}

#[test]
fn t13_self_restart() {
    let own_start = aperture(E) + u64::from(START_CTRL);
    let mut machine = machine(E, &[write(own_start, 1), halt(), nop(), halt()]);
    watch(&mut machine, E);
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    let first = "start_ctrl=0 run_state=1 lr3=1000 lr4=0 lr3=1080 lr4=0 run_state=0";
    let second = "start_ctrl=0 run_state=1 lr3=1080 lr4=0 lr3=1100 lr4=0 run_state=0";
    assert_eq!(writes(&mut machine, E), format!("{first} {second}"));
    assert_in_order(&lines, &["S: WRITE", "S: Halt", "S: enter_run: done", "S: NOP", "S: Halt"]);
    assert_eq!((stopped(&machine, E), machine.csr_read(0, E, START_CTRL)), ((0, 0, 0x1100), Some(0)));
    assert_eq!(state(&mut machine, E).retired, 4);
}

#[test]
fn t14_end_of_a_container_stream() {
    for mode in [Mode::Sunda, Mode::HwDecode] {
        let mut machine = setup().container().program(E, &[ordering(0), nop()]).build();
        seq(&mut machine, E).mode = mode;
        watch(&mut machine, E);
        let (_, lines) = logged(|| start(&mut machine, E).unwrap());
        assert_eq!(
            writes(&mut machine, E),
            "start_ctrl=0 run_state=1 lr3=1000 lr4=0 control=7ffc lr3=1080 lr4=0 run_state=0"
        );
        assert_in_order(&lines, &["S: SET_OM", "S: NOP", "S: Setup Halt", "S: Entering HALT"]);
        assert!(!lines.iter().any(|l| l.contains("Error")));
        assert_eq!((stopped(&machine, E), seq(&mut machine, E).error_record), ((0, 0, 0x1080), 0));
    }
}
