//! COMPARE_BRANCH (chapter 02 section 8.10), prefetch hints (section 8.13), and the PC (section 6).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Word};
use seqjit_runtime::machine::Machine;
use seqjit_runtime::sequencer::step;

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Act;
/// A base above 4 GiB, so that both halves of addresses matter.
const HIGH: u64 = 0x12_0000_1000;

/// Compare codes of decision 8.10a: LT LE EQ NE GE GT with an immediate; bit 7: with a register.
const CODES: [(u8, &str); 6] = [(1, "<"), (2, "<="), (3, "=="), (4, "!="), (5, ">="), (6, ">")];
/// The codes that strict mode takes.
const PINNED: [u8; 3] = [0, 3, 6];

/// Whether `a relation b` holds, from what the manual says about the dtype.
fn holds(relation: &str, dtype: u8, a: u32, b: u32) -> bool {
    let (a, b) = match dtype {
        INT32 => (f64::from(a as i32), f64::from(b as i32)),
        UINT32 => (f64::from(a), f64::from(b)),
        _ => (f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b))),
    };
    match relation {
        "<" => a < b,
        "<=" => a <= b,
        "==" => a == b,
        "!=" => a != b,
        ">=" => a >= b,
        _ => a > b,
    }
}

/// A machine whose branch at slot 0 skips a MOVE of 1 to R9.
fn skipping(branch: Word, lenient: bool) -> Machine {
    let setup = if lenient { setup().lenient() } else { setup() };
    setup.program(E, &[relative(branch, 128), move_immediate(&[(9, 1)]), halt()]).build()
}

/// Runs it with R1 = a and R2 = b: was the branch taken?
fn taken(machine: &mut Machine, a: u32, b: u32) -> bool {
    let engine = state(machine, E);
    engine.registers[1] = a;
    engine.registers[2] = b;
    engine.registers[9] = 0;
    machine.csr_write(0, E, LR3, BASE as u32).unwrap();
    start(machine, E).unwrap();
    assert_eq!(stopped(machine, E), (0, 0, BASE + 192));
    register(machine, E, 9) == 0
}

const VALUES: [u32; 14] = [
    0,
    1,
    100,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x3F80_0000,
    0xBF80_0000,
    0x7F80_0000,
    0xFF80_0000,
    0x7FC0_0000,
    0xFFC0_0001,
    0x0000_0002,
    0x8000_0001,
];

#[test]
fn every_compare_is_that_of_its_dtype() {
    for (code, relation) in CODES {
        for dtype in [INT32, UINT32, FP32] {
            let with_register = patch(compare(code | 0x80, dtype, 1, 0xAAAA_AAAA), 33, &[2]);
            let mut by_register = skipping(with_register, true);
            for b in VALUES {
                let mut by_immediate = skipping(compare(code, dtype, 1, b), true);
                for a in VALUES {
                    let expected = holds(relation, dtype, a, b);
                    let what = format!("{a:x} {relation} {b:x} as {dtype}");
                    assert_eq!(taken(&mut by_immediate, a, b), expected, "{what}");
                    assert_eq!(taken(&mut by_register, a, b), expected, "{what}, register");
                }
            }
        }
    }
}

#[test]
fn strict_mode_takes_the_established_codes_only() {
    for code in 0..=255u8 {
        for lenient in [false, true] {
            let word = patch(compare(code, UINT32, 1, 0), 33, &[2]);
            let mut machine = skipping(word, lenient);
            let known = code == 0 || CODES.iter().any(|(c, _)| *c == code & 0x7F);
            let accepted = if lenient { known } else { PINNED.contains(&code) };
            match start(&mut machine, E) {
                Ok(()) => assert!(accepted, "0x{code:02x}"),
                Err(fault) => {
                    assert!(!accepted, "0x{code:02x}");
                    let expected =
                        format!("unsupported word: cmp_op: compare code 0x{code:02x} is not pinned");
                    assert_eq!(fault.kind.to_string(), expected);
                }
            }
        }
    }
}

#[test]
fn other_dtypes_do_not_compare() {
    for dtype in 0..=255u8 {
        let mut machine = skipping(compare(3, dtype, 1, 0), false);
        let legal = [INT32, UINT32, FP32].contains(&dtype);
        assert_eq!(start(&mut machine, E).is_ok(), legal, "{dtype}");
        // without a compare nobody looks at it
        assert!(taken(&mut skipping(compare(0, dtype, 1, 0), false), 5, 6));
    }
}

/// Where a branch from slot 1 goes: R9 holds the sum of the powers of two that the words behind it add.
fn goes(branch: Word, lenient: bool) -> Result<u32, FaultKind> {
    let target = |slot: u64| (HIGH + 64 * slot) as u32;
    let registers =
        move_immediate(&[(1, target(4)), (2, (HIGH >> 32) as u32), (3, (-128i32) as u32), (4, !0)]);
    let add = |n: u32| alu_immediate(4, UINT32, 9, n, 9);
    let words = [registers, branch, add(1), add(2), add(4), halt()];
    let setup = if lenient { setup().lenient() } else { setup() };
    let mut machine = setup.program_at(HIGH, E, &words).build();
    start(&mut machine, E).map_err(|f| f.kind)?;
    assert_eq!(stopped(&machine, E).2, HIGH + 6 * 64);
    Ok(register(&machine, E, 9))
}

#[test]
fn targets_are_absolute_or_relative_to_the_branch() {
    assert_eq!(goes(nop(), false), Ok(7));
    assert_eq!(goes(absolute(always(), HIGH + 4 * 64), false), Ok(4));
    assert_eq!(goes(in_registers(always(), 1, 1, 2), false), Ok(4));
    assert_eq!(goes(relative(always(), 64), false), Ok(7));
    assert_eq!(goes(relative(always(), 128), false), Ok(6), "no delay slot");
    assert_eq!(goes(relative(always(), 256), false), Ok(0));
    // PC registers make absolute targets too: those of the branch itself, an endless loop
    let own = in_registers(compare(3, UINT32, 9, 1), 1, 128, 129);
    assert_eq!(goes(own, false), Ok(7), "not taken");
}

#[test]
fn displacements_are_sign_extended_from_bit_31() {
    for displacement in [0x0000_0000_FFFF_FF80u64, 0xFFFF_FFFF_FFFF_FF80, 0x1234_5678_FFFF_FF80] {
        let back = patch(relative(always(), 0), 48, &displacement.to_le_bytes());
        let words = [halt(), nop(), back];
        let mut machine = setup().program_at(HIGH, E, &words).build();
        machine.csr_write(0, E, LR3, 0x1080).unwrap();
        start(&mut machine, E).unwrap();
        assert_eq!(stopped(&machine, E), (0, 0, HIGH + 64));
    }
}

#[test]
fn mode_4_adds_a_register_pair_in_lenient_mode() {
    let words = [halt(), nop(), in_registers(always(), 4, 3, 4)];
    for (lenient, low, high, end) in [(true, -128, !0, 64), (true, 64, 0, 256)] {
        let mut all = words.to_vec();
        all.push(halt());
        let setup = if lenient { setup().lenient() } else { setup() };
        let mut machine = setup.program_at(HIGH, E, &all).build();
        state(&mut machine, E).registers[3] = low as u32;
        state(&mut machine, E).registers[4] = high;
        machine.csr_write(0, E, LR3, 0x1080).unwrap();
        start(&mut machine, E).unwrap();
        assert_eq!(stopped(&machine, E), (0, 0, HIGH + end));
    }
    let refused = goes(in_registers(always(), 4, 3, 4), false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "unsupported word: target_mode: mode 4 is not proved; lenient mode executes it"
    );
}

/// The manual refuses the word, so it is refused whether the branch would be taken or not.
#[test]
fn unknown_modes_are_refused_even_if_not_taken() {
    for mode in [2, 5, 0x80, 0xFF] {
        for condition in [always(), compare(3, UINT32, 1, 5)] {
            for lenient in [false, true] {
                let refused = goes(in_registers(condition, mode, 1, 2), lenient).unwrap_err();
                assert_eq!(refused.to_string(), format!("unsupported word: target_mode: mode {mode}"));
            }
        }
    }
    let bad_register = in_registers(compare(3, UINT32, 1, 5), 1, 64, 2);
    assert!(matches!(goes(bad_register, false), Err(FaultKind::Illegal { field: "target_reg_lo", .. })));
}

/// Decision of chapter 00 A14: the update belongs to the word, not to the branch.
#[test]
fn the_update_applies_taken_or_not() {
    for r1 in [0, 1] {
        let branch = events(compare(3, UINT32, 1, 0), (0, 0), (SEM_INC, 7), 0);
        let mut machine = skipping(branch, false);
        assert_eq!(taken(&mut machine, r1, 0), r1 == 0);
        assert_eq!(machine.cores[0].sync.semaphores[7], 1);
    }
}

/// Decision D5: a taken branch counts as retired with its target pending.
#[test]
fn a_stop_behind_a_taken_branch_saves_its_target() {
    let mut machine = machine(E, &[relative(always(), 192), nop(), nop(), nop(), halt()]);
    machine.csr_write(0, E, BP_STEP, 1).unwrap();
    machine.csr_write(0, E, BP_CTRL, 0xF).unwrap();
    watch(&mut machine, E);
    start(&mut machine, E).unwrap();
    assert_eq!((stopped(&machine, E), state(&mut machine, E).retired), ((64, 64, BASE + 192), 1));
    // the redirect was not committed: its target is saved once, by Setup-Halt
    let entry = "start_ctrl=0 run_state=1 lr3=1000 lr4=0";
    assert_eq!(writes(&mut machine, E), format!("{entry} lr3=10c0 lr4=0 run_state=40"));
    start(&mut machine, E).unwrap();
    assert_eq!((stopped(&machine, E).2, state(&mut machine, E).retired), (BASE + 192 + 64, 2));
}

/// lr[3] and lr[4] hold the last committed PC: they change at redirects, not at every word (section 6.6).
#[test]
fn redirects_are_committed_to_the_local_registers() {
    let mut machine = machine(E, &[nop(), relative(always(), 128), nop(), nop(), halt()]);
    ring(&mut machine, E);
    let mut saved = Vec::new();
    for _ in 0..4 {
        step(&mut machine, 0, E).unwrap();
        saved.push(seq(&mut machine, E).csr.resume_pc());
    }
    assert_eq!(saved, [BASE, BASE, BASE + 192, BASE + 320]);
}

#[test]
fn a_branch_to_the_end_of_a_container_stream_ends_it() {
    let words = [relative(always(), 128), nop()];
    let mut container = setup().container().program(E, &words).build();
    start(&mut container, E).unwrap();
    assert_eq!((stopped(&container, E), state(&mut container, E).retired), ((0, 0, BASE + 128), 1));
    let mut device = machine(E, &words);
    let fault = start(&mut device, E).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Fetch { pc: 0x1080, .. }));
    // one word further there is no end
    let mut beyond = setup().container().program(E, &[relative(always(), 192), nop()]).build();
    assert!(matches!(start(&mut beyond, E).unwrap_err().kind, FaultKind::Fetch { pc: 0x10C0, .. }));
}

#[test]
fn an_empty_container_stream_ends_at_once() {
    let mut machine = setup().container().program(E, &[]).build();
    start(&mut machine, E).unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, BASE));
}

/// The worked example of section 8.8: capture the PC, add an offset, branch; return through registers.
#[test]
fn calls_capture_the_pc_and_return_through_registers() {
    const ADD: u8 = 4;
    let words = [
        move_registers(&[(128, 1), (129, 2)]),
        alu_immediate(ADD, UINT32, 1, 3 * 64, 1),
        relative(always(), 4 * 64),
        move_immediate(&[(5, 55)]),
        halt(),
        nop(),
        move_immediate(&[(6, 66)]),
        in_registers(always(), 1, 1, 2),
    ];
    let mut machine = setup().program_at(HIGH, E, &words).build();
    start(&mut machine, E).unwrap();
    assert_eq!((register(&machine, E, 5), register(&machine, E, 6)), (55, 66));
    assert_eq!(stopped(&machine, E), (0, 0, HIGH + 5 * 64));
}

/// A counted loop of the manual's form: `if R3 > 0 goto PC - 128`.
#[test]
fn a_loop_runs_as_often_as_it_counts() {
    let words = [
        move_immediate(&[(3, 10)]),
        alu_immediate(4, INT32, 4, 3, 4),
        alu_immediate(5, INT32, 3, 1, 3),
        relative(compare(6, INT32, 3, 0), -128),
        halt(),
    ];
    let mut machine = machine(E, &words);
    start(&mut machine, E).unwrap();
    assert_eq!((register(&machine, E, 4), state(&mut machine, E).retired), (30, 32));
}

/// Whatever the payload: a hint changes nothing but what its EVENTS say (sections 8.13 and 8.14).
#[test]
fn hints_and_engine_nops_have_no_effect() {
    for opcode in [0xB5, 0x9F] {
        let noise = word(opcode, &[(12, &[0xA5; 52])]);
        let noise = events(noise, (WAIT_GE, 3), (SEM_INC, 4), 1);
        let mut machine = machine(E, &[noise, halt()]);
        start(&mut machine, E).unwrap();
        assert!(state(&mut machine, E).blocked_on.is_some());
        machine.cores[0].sync.semaphores[3] = 1;
        let before = state(&mut machine, E).registers;
        run(&mut machine).unwrap();
        assert_eq!((state(&mut machine, E).registers, machine.cores[0].sync.semaphores[4]), (before, 1));
        assert_eq!(stopped(&machine, E), (0, 0, BASE + 128));
    }
}
