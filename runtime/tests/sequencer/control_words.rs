//! Waits and updates (chapter 02 section 3) and the words that the sequencer runs by itself (section 8), with
//! the manual's examples.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Generation, Word};
use seqjit_runtime::machine::{Machine, NotificationKind};
use seqjit_runtime::sequencer::{Step, step};

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Sp;

/// Wait modes of section 3.2 on semaphores: code, the values 4 5 6 against the operand 5.
const SEMAPHORE_WAITS: [(u8, [bool; 3]); 5] = [
    (0x01, [false, true, false]),
    (0x02, [true, false, false]),
    (0x03, [true, true, false]),
    (0x04, [false, false, true]),
    (0x05, [false, true, true]),
];

/// Wait modes on events: code, which value holds, which value is left.
const EVENT_WAITS: [(u8, bool, bool); 4] =
    [(0x06, true, true), (0x07, true, false), (0x0E, false, false), (0x0F, false, true)];

/// Runs one word with a wait on index 9, which has this value; was it run?
fn passes(
    word: Word,
    generation: Generation,
    semaphore: u32,
    event: bool,
) -> Result<(bool, Machine), FaultKind> {
    let mut machine = setup().generation(generation).program(E, &[word, nop()]).build();
    machine.cores[0].sync.semaphores[9] = semaphore;
    machine.cores[0].sync.events[9] = event;
    state(&mut machine, E).registers[12] = 5;
    state(&mut machine, E).start();
    let step = step(&mut machine, 0, E).map_err(|f| f.kind)?;
    assert_eq!(state(&mut machine, E).blocked_on.is_some(), step == Step::Blocked);
    Ok((step != Step::Blocked, machine))
}

#[test]
fn semaphore_waits_compare_without_sign() {
    for (code, results) in SEMAPHORE_WAITS {
        for (value, expected) in [4, 5, 6].into_iter().zip(results) {
            let check = |mode: u8, operand: u32, generation| {
                let word = events(nop(), (mode, 9), (0, 0), operand);
                let (passed, machine) = passes(word, generation, value, false).unwrap();
                assert_eq!(passed, expected, "mode 0x{mode:02x}, {value} against 5");
                assert_eq!(machine.cores[0].sync.semaphores[9], value, "waits change no semaphore");
            };
            check(code, 5, Generation::Cayman);
            check(code | 0x80, 12, Generation::Cayman);
            // register 12, which holds 5, and a signed offset of zero
            check(code | 0x90, 12, Generation::Maverick);
        }
    }
    let above = |mode: u8, operand: u32| {
        let word = events(nop(), (mode, 9), (0, 0), operand);
        passes(word, Generation::Maverick, 0xFFFF_FFFF, false).unwrap().0
    };
    assert!(above(0x04, 1), "-1 is above 1");
    assert!(!above(0x02, 0x8000_0000));
    // 5 + 2^32 - 6 = 0xffff_ffff: offset -6 in the upper three bytes
    assert!(above(0x91, 12 | 0xFF_FFFA << 8));
    assert!(above(0x94, 12 | 0x7F_FFFF << 8));
}

#[test]
fn register_offset_waits_are_mavericks() {
    for generation in [Generation::Sunda, Generation::Cayman, Generation::Mariana] {
        let word = events(nop(), (0x95, 9), (0, 0), 12);
        assert!(matches!(
            passes(word, generation, 9, false),
            Err(FaultKind::Illegal { field: "wait_mode", .. })
        ));
    }
}

#[test]
fn event_waits_test_and_change_in_one_step() {
    for (code, wanted, left) in EVENT_WAITS {
        for event in [false, true] {
            let word = events(nop(), (code, 9), (0, 0), 0);
            let (passed, machine) = passes(word, Generation::Cayman, 7, event).unwrap();
            assert_eq!(passed, event == wanted, "0x{code:02x}");
            assert_eq!(machine.cores[0].sync.events[9], if passed { left } else { event }, "0x{code:02x}");
            assert_eq!(machine.cores[0].sync.semaphores[9], 7, "events and semaphores are two spaces");
        }
    }
}

/// Every byte that is no mode is a decode error; UNORDERED is NONE (sections 3.2 and 3.3).
#[test]
fn other_modes_are_illegal() {
    let waits: Vec<u8> = SEMAPHORE_WAITS.iter().map(|w| w.0).chain(EVENT_WAITS.iter().map(|w| w.0)).collect();
    let updates =
        [1, 2, 3, 4, 5, 7, 9, 0x11, 0x12, 0x13, 0x14, 0x15, 0x17, 0x19, 0x85, 0x87, 0x89, 0x95, 0x97, 0x99];
    for mode in 1..=255u8 {
        let word = events(nop(), (mode, 9), (0, 0), 12);
        let semaphore_form = mode & 0x80 != 0 && mode & 0x60 == 0 && (1..=5).contains(&(mode & 0x0F));
        let legal = waits.contains(&mode) || semaphore_form || mode == 0xFE;
        let result = passes(word, Generation::Maverick, 5, false);
        assert_eq!(result.is_ok(), legal, "wait 0x{mode:02x}");
        if mode == 0xFE {
            assert!(result.unwrap().0);
        }
        let word = events(nop(), (0, 0), (mode, 9), 12);
        assert_eq!(
            passes(word, Generation::Maverick, 5, false).is_ok(),
            updates.contains(&mode),
            "update {mode:x}"
        );
    }
}

/// Section 3.3: what each action does to a semaphore of 10 or to an event, in both phases and with registers.
#[test]
fn updates_act_on_semaphores_and_events() {
    let semaphore = |mode: u8, operand: u32| {
        let word = events(nop(), (0, 0), (mode, 9), operand);
        passes(word, Generation::Cayman, 10, true).unwrap().1.cores[0].sync.semaphores[9]
    };
    for phase in [0x00, 0x10] {
        for (action, expected) in [(3, 11), (4, 9), (5, 15), (7, 5), (9, 5)] {
            assert_eq!(semaphore(phase | action, 5), expected, "0x{:02x}", phase | action);
            if action >= 5 {
                assert_eq!(semaphore(0x80 | phase | action, 12), expected, "register 12 holds 5");
            }
        }
        for (action, expected) in [(1, true), (2, false)] {
            for before in [false, true] {
                let word = events(nop(), (0, 0), (phase | action, 9), 0);
                let machine = passes(word, Generation::Cayman, 10, before).unwrap().1;
                assert_eq!(
                    (machine.cores[0].sync.events[9], machine.cores[0].sync.semaphores[9]),
                    (expected, 10)
                );
            }
        }
    }
    assert_eq!(semaphore(0x17, 11), u32::MAX, "modulo 2^32");
    assert_eq!(semaphore(0x15, u32::MAX), 9);
}

/// Decision 3c: going below zero is almost always a defect of the program.
#[test]
fn semaphores_below_zero_are_worth_a_warning() {
    for (mode, operand, warns) in [(0x14, 0, true), (0x17, 1, true), (0x17, 0, false), (0x13, 0, false)] {
        let words = [events(nop(), (0, 0), (mode, 9), operand), halt()];
        let mut strict = machine(E, &words);
        start(&mut strict, E).unwrap();
        assert_eq!(!strict.warnings.is_empty(), warns, "0x{mode:02x}");
        let mut lenient = setup().lenient().program(E, &words).build();
        start(&mut lenient, E).unwrap();
        assert!(lenient.warnings.is_empty());
    }
}

/// Decision 8.1a: EVENTS.wait, EXT.wait, EXT.update, EVENTS.update.
#[test]
fn event_semaphore_has_an_order() {
    // EXT writes 100 to semaphore 9, EVENTS adds one: the other order would leave 100
    let word = events(event_semaphore((0, 0), 0, (SEM_WRITE, 9), 100), (0, 0), (SEM_INC, 9), 0);
    let mut machine = machine(E, &[word, halt()]);
    start(&mut machine, E).unwrap();
    assert_eq!(machine.cores[0].sync.semaphores[9], 101);

    // the first wait sets the event that the second one clears: the other order would block
    let first = (WAIT_CLEAR_THEN_SET, 4);
    let second = event_semaphore((WAIT_SET_THEN_CLEAR, 4), 0, (SEM_INC, 9), 0);
    let mut machine = self::machine(E, &[events(second, first, (0, 0), 0), halt()]);
    start(&mut machine, E).unwrap();
    assert_eq!((stopped(&machine, E).0, machine.cores[0].sync.semaphores[9]), (0, 1));
    assert!(!machine.cores[0].sync.events[4]);

    // a first wait that does not hold leaves the second one untouched
    let both = events(event_semaphore((WAIT_SET_THEN_CLEAR, 5), 0, (0, 0), 0), (WAIT_GE, 3), (0, 0), 1);
    let mut machine = self::machine(E, &[both, halt()]);
    machine.cores[0].sync.events[5] = true;
    start(&mut machine, E).unwrap();
    assert!(machine.cores[0].sync.events[5]);
    // once it has fired it is not looked at again
    machine.cores[0].sync.events[5] = false;
    machine.cores[0].sync.semaphores[3] = 1;
    run(&mut machine).unwrap();
    machine.cores[0].sync.semaphores[3] = 0;
    machine.cores[0].sync.events[5] = true;
    run(&mut machine).unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, BASE + 128));
}

/// The canonical encodings of section 8.1.
#[test]
fn event_semaphore_idioms_of_the_runtime() {
    let run_with = |word: Word, value: u32| {
        let mut machine = machine(E, &[word, halt()]);
        machine.cores[0].sync.semaphores[2] = value;
        start(&mut machine, E).unwrap();
        (!seq(&mut machine, E).running, machine.cores[0].sync.semaphores[2])
    };
    assert_eq!(run_with(event_semaphore((0, 0), 0, (0x15, 2), 1), 7), (true, 8));
    assert_eq!(run_with(event_semaphore((0, 0), 0, (0x15, 2), 30), 7), (true, 37));
    assert_eq!(run_with(event_semaphore((0x05, 2), 8, (0x14, 2), 0), 9), (true, 8), "decrements by one");
    assert_eq!(run_with(event_semaphore((0x05, 2), 8, (0x17, 2), 8), 9), (true, 1));
    assert_eq!(run_with(event_semaphore((0x05, 2), 8, (0x17, 2), 8), 7), (false, 7));
    assert_eq!(run_with(event_semaphore((0x01, 2), 8, (0x19, 2), 0), 8), (true, 0));
}

/// Section 10.1: what changes are recorded as.
#[test]
fn changes_are_recorded_where_tracing_is_on() {
    let program = [
        events(nop(), (0, 0), (SEM_INC, 9), 0),
        events(nop(), (WAIT_CLEAR_THEN_SET, 4), (0x12, 4), 0),
        range_clear(9, 9),
        write(SEM_SET + 4 * 9, 6),
        halt(),
    ];
    let mut machine = setup().traced().program(E, &program).build();
    start(&mut machine, E).unwrap();
    let changes: Vec<_> = notifications(&machine)
        .into_iter()
        .filter_map(|(engine, pc, kind)| match kind {
            NotificationKind::Sync(c) => {
                Some((engine, pc - BASE, c.semaphore, c.index, c.before, c.after, c.record))
            }
            _ => None,
        })
        .collect();
    let own = Some(E);
    let expected = [
        (own, 0, true, 9, 0, 1, 0xF3),
        (own, 64, false, 4, 0, 1, 0xF1),
        (own, 64, false, 4, 1, 0, 0xF2),
        (own, 128, true, 9, 1, 0, 0xF9),
        // through the window: a change that no engine's word made
        (None, 192, true, 9, 0, 6, 0xF9),
    ];
    assert_eq!(changes, expected);
    let starts = notifications(&machine).iter().filter(|n| n.2 == NotificationKind::Start).count();
    let ends = notifications(&machine).iter().filter(|n| n.2 == NotificationKind::End).count();
    assert_eq!((starts, ends), (5, 5), "once a word");
}

/// Section 8.8 with its example, parallel moves included.
#[test]
fn moves_copy_32_bits() {
    let words = [
        move_immediate(&[(5, 7), (6, 0xDEAD_BEEF)]),
        move_registers(&[(5, 1), (6, 2)]),
        // the operands are read before anything is written
        move_registers(&[(1, 2), (2, 1)]),
        halt(),
    ];
    let mut machine = machine(E, &words);
    start(&mut machine, E).unwrap();
    let registers = state(&mut machine, E).registers;
    assert_eq!((registers[5], registers[6], registers[1], registers[2]), (7, 0xDEAD_BEEF, 0xDEAD_BEEF, 7));
}

#[test]
fn a_move_with_a_bad_register_moves_nothing() {
    for word in [move_registers(&[(1, 2), (3, 64)]), move_registers(&[(1, 2), (64, 3)])] {
        let mut machine = machine(E, &[move_immediate(&[(1, 1)]), word]);
        assert!(start(&mut machine, E).is_err());
        assert_eq!(register(&machine, E, 2), 0);
    }
    for count in [0, 9] {
        let mut machine = machine(E, &[patch(move_immediate(&[(1, 1)]), 12, &[count])]);
        assert!(matches!(
            start(&mut machine, E).unwrap_err().kind,
            FaultKind::Illegal { field: "num_mov", .. }
        ));
    }
}

/// The examples of section 8.11, and every dtype.
#[test]
fn loads_extend_by_their_dtype() {
    let loaded = |word: Word, registers: std::ops::Range<usize>| {
        let mut machine = machine(E, &[word, halt()]);
        let memory: Vec<u8> = [0xFF, 0x01, 0x80, 0x7F].into_iter().chain(0x10..=0x4B).collect();
        machine.dram.buffer_mut(0).write(0, &memory);
        start(&mut machine, E).unwrap();
        registers.map(|n| register(&machine, E, n)).collect::<Vec<_>>()
    };
    assert_eq!(loaded(load(INT8, DATA, &[4, 5, 6]), 4..7), [0xFFFF_FFFF, 1, 0xFFFF_FF80]);
    assert_eq!(loaded(load(UINT8, DATA, &[4, 5, 6]), 4..7), [0xFF, 1, 0x80]);
    assert_eq!(loaded(load(INT16, DATA, &[4, 5]), 4..6), [0x01FF, 0x7F80]);
    assert_eq!(loaded(load(5, DATA + 2, &[4]), 4..5), [0x7F80]);
    assert_eq!(loaded(load(FP32, DATA, &[4]), 4..5), [0x7F80_01FF]);
    assert_eq!(loaded(load(UINT64, DATA, &[4]), 4..6), [0x7F80_01FF, 0x1312_1110]);
    // 2 x 2 with steps of 1 and 8 elements: words at 0, 4, 32, 36
    let words = |at: u32| 0x0302_0100 + (at - 4) * 0x0101_0101 + 0x1010_1010;
    let grid = transfer(0xAA, UINT32, [2, 2], [1, 8], DATA, &[4, 5, 6, 7]);
    assert_eq!(loaded(grid, 4..8), [0x7F80_01FF, words(4), words(32), words(36)]);
    let backward = transfer(0xAA, UINT8, [4, 1], [-1, 0], DATA + 3, &[4, 5, 6, 7]);
    assert_eq!(loaded(backward, 4..8), [0x7F, 0x80, 0x01, 0xFF]);
    // a later element that names the same register wins
    assert_eq!(loaded(load(UINT8, DATA, &[4, 4, 4]), 4..5), [0x80]);
}

/// The examples of section 8.12.
#[test]
fn stores_truncate_and_pack() {
    let stored = |word: Word| {
        let mut machine =
            machine(E, &[move_immediate(&[(7, 0x1234_5678), (8, 0x9ABC_DEF0), (9, 1)]), word, halt()]);
        start(&mut machine, E).unwrap();
        machine.dram.buffer(0).bytes()[..8].to_vec()
    };
    assert_eq!(stored(store(INT8, DATA, &[7])), [0x78, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(stored(store(INT16, DATA, &[7, 8])), [0x78, 0x56, 0xF0, 0xDE, 0, 0, 0, 0]);
    assert_eq!(stored(store(UINT64, DATA, &[8])), [0xF0, 0xDE, 0xBC, 0x9A, 1, 0, 0, 0]);
    let immediate =
        |dtype, count, data: &[u8]| patch(transfer(0xAB, dtype, [count, 1], [1, 0], DATA, data), 13, &[1]);
    assert_eq!(stored(immediate(5, 2, &[0x34, 0x12, 0x78, 0x56])), [0x34, 0x12, 0x78, 0x56, 0, 0, 0, 0]);
    assert_eq!(stored(immediate(UINT64, 1, &[1, 2, 3, 4, 5, 6, 7, 8])), [1, 2, 3, 4, 5, 6, 7, 8]);
    // the last of several stores to one address wins
    assert_eq!(stored(transfer(0xAB, UINT8, [3, 1], [0, 0], DATA, &[7, 8, 9])), [1, 0, 0, 0, 0, 0, 0, 0]);
    // more than the 32 bytes of data hold
    let mut machine = machine(E, &[immediate(UINT32, 9, &[0; 32])]);
    assert!(matches!(start(&mut machine, E).unwrap_err().kind, FaultKind::Illegal { field: "num_elem", .. }));
}

/// Decision 8.11b.
#[test]
fn transfers_stay_in_16_mib_in_strict_mode() {
    let edge = 0x10_0100_0000 - 4;
    for lenient in [false, true] {
        let setup = if lenient { setup().lenient() } else { setup() };
        let memory = vec![buffer("edge", edge - 0x100, vec![7; 0x200])];
        let mut machine = setup.buffers(memory).program(E, &[load(UINT32, edge, &[1, 2]), halt()]).build();
        match start(&mut machine, E) {
            Ok(()) => assert_eq!((lenient, register(&machine, E, 2)), (true, 0x0707_0707)),
            Err(fault) => assert!(!lenient && matches!(fault.kind, FaultKind::Illegal { .. }), "{fault}"),
        }
    }
}

/// Section 8.18 with its example: the minimum of six semaphores is taken from all of them.
#[test]
fn poll_takes_the_common_minimum() {
    let values = [8, 3, 5, 4, 4, 10];
    let mut machine = machine(E, &[poll(6, 5, 9, SEM_READ, SEM_DEC), halt()]);
    machine.cores[0].sync.semaphores[..6].copy_from_slice(&values);
    start(&mut machine, E).unwrap();
    assert_eq!(
        (register(&machine, E, 5), &machine.cores[0].sync.semaphores[..6]),
        (3, &[5, 0, 2, 1, 1, 7][..])
    );
    // a result of zero is not written back
    let mut machine = self::machine(E, &[poll(2, 5, 9, SEM_READ, DATA), halt()]);
    machine.cores[0].sync.semaphores[1] = 9;
    machine.dram.buffer_mut(0).write(0, &[0xEE; 8]);
    state(&mut machine, E).registers[5] = 1;
    start(&mut machine, E).unwrap();
    assert_eq!((register(&machine, E, 5), machine.dram.buffer(0).bytes()[0]), (0, 0xEE));
}

#[test]
fn poll_folds_without_sign() {
    let folded = |op: u8, values: [u32; 3]| {
        let mut machine = machine(E, &[poll(3, 5, op, SEM_READ, DATA), halt()]);
        machine.cores[0].sync.semaphores[..3].copy_from_slice(&values);
        start(&mut machine, E).map_err(|f| f.kind)?;
        Ok(register(&machine, E, 5))
    };
    let values = [0x8000_0001, 3, 0xFFFF_FFFF];
    assert_eq!(folded(4, values), Ok(0x8000_0003));
    assert_eq!(folded(8, values), Ok(0xFFFF_FFFF));
    assert_eq!(folded(9, values), Ok(3));
    assert_eq!(folded(0xA, values), Ok(1));
    assert_eq!(folded(0xB, values), Ok(0xFFFF_FFFF));
    assert_eq!(folded(0xC, values), Ok(0x7FFF_FFFD));
    for op in (0..=255u8).filter(|op| ![4, 8, 9, 0xA, 0xB, 0xC].contains(op)) {
        assert!(matches!(folded(op, values), Err(FaultKind::Illegal { field: "op", .. })), "0x{op:02x}");
    }
}

/// Section 8.7: the record of a NOTIFY stands between the word's wait and its update.
#[test]
fn notify_writes_one_explicit_record() {
    let tagged = patch(notify(0xBEEF), 3, &[0x37]);
    let mut machine = machine(EngineId::Dve, &[nop(), events(tagged, (0, 0), (SEM_INC, 3), 0), halt()]);
    start(&mut machine, EngineId::Dve).unwrap();
    let found = &machine.cores[0].notifications;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].pc, found[0].hint, found[0].time), (BASE + 64, 7, 1000));
    assert_eq!(found[0].kind, NotificationKind::Explicit(0xBEEF));
    // type DVE base + 2, PC in words of 64 bytes, hint at 23:20, extended hint in the upper half
    let pc = ((BASE + 64) / 64) as u32;
    let head = (pc | 7 << 20 | 0x12 << 24 | 1 << 31).to_le_bytes();
    assert_eq!(found[0].to_bytes()[..8], [head, [0, 0, 0xEF, 0xBE]].concat());
    let mut unknown = self::machine(E, &[patch(notify(1), 39, &[2])]);
    assert!(matches!(start(&mut unknown, E).unwrap_err().kind, FaultKind::Unsupported { field: "kind", .. }));
}

/// Section 8.15 with its example.
#[test]
fn range_clear_clears_both_ends() {
    let mut machine = machine(E, &[range_clear(54, 104), halt()]);
    machine.cores[0].sync.semaphores = [9; 256];
    start(&mut machine, E).unwrap();
    let cleared: Vec<usize> = (0..256).filter(|n| machine.cores[0].sync.semaphores[*n] == 0).collect();
    assert_eq!(cleared, (54..=104).collect::<Vec<_>>());
    let mut all = self::machine(E, &[range_clear(0, 255), halt()]);
    all.cores[0].sync.semaphores = [9; 256];
    start(&mut all, E).unwrap();
    assert_eq!(all.cores[0].sync.semaphores, [0; 256]);
    for (word, field) in [(range_clear(5, 4), "first"), (patch(range_clear(4, 5), 12, &[2]), "mode")] {
        let mut machine = self::machine(E, &[word]);
        let message = start(&mut machine, E).unwrap_err().to_string();
        assert!(message.contains(field), "{message}");
    }
}

/// Section 8.6: both addresses are good before the first write, and the first write comes first.
#[test]
fn writes_are_in_order() {
    let twice = |first: u64, second: u64| {
        let both = patch(write(first, 5), 13, &[4]);
        patch(patch(both, 24, &second.to_le_bytes()), 40, &6u32.to_le_bytes())
    };
    let mut machine = machine(E, &[twice(DATA, DATA), twice(SEM_SET, SEM_SET + 0x400), halt()]);
    start(&mut machine, E).unwrap();
    assert_eq!(machine.dram.buffer(0).bytes()[..4], [6, 0, 0, 0]);
    assert_eq!(machine.cores[0].sync.semaphores[0], 11, "set to 5, then 6 more");
    for size in [0, 1, 2, 8] {
        let mut machine = self::machine(E, &[patch(write(DATA, 1), 12, &[size])]);
        assert!(matches!(start(&mut machine, E).unwrap_err().kind, FaultKind::Unsupported { .. }), "{size}");
    }
}

/// Windows of the semaphore unit (section 4) through transfers.
#[test]
fn semaphore_windows_do_what_they_are_named_for() {
    let mut machine = machine(
        E,
        &[
            move_immediate(&[(1, 10), (2, 1)]),
            store(UINT32, SEM_SET + 4, &[1]),
            store(UINT32, SEM_SET + 0x404, &[2]),
            store(UINT32, SEM_DEC + 4, &[2]),
            store(UINT32, SEM_DEC + 4, &[2]),
            load(UINT32, SEM_READ + 4, &[3]),
            load(UINT32, SEM_SET + 4, &[4]),
            store(UINT32, SEM_READ + 4, &[2]),
            store(UINT32, EVENT_WINDOW + 8, &[2]),
            load(UINT32, EVENT_WINDOW + 8, &[5]),
            load(UINT32, EVENT_WINDOW + 0x800, &[6]),
            halt(),
        ],
    );
    start(&mut machine, E).unwrap();
    let registers = state(&mut machine, E).registers;
    assert_eq!(registers[3..7], [9, 0, 1, 0]);
    assert_eq!((machine.cores[0].sync.semaphores[1], machine.cores[0].sync.events[2]), (9, true));
    assert_eq!(machine.warnings.len(), 1, "the write to the read window: {:?}", machine.warnings);
}

/// Section 8.17: immediates, and both ways between registers and shapes.
#[test]
fn shapes_move_in_and_out() {
    let shape = |kind, shapes: &[u8], data: &[u8]| {
        word(0xB2, &[(12, &[kind, shapes.len() as u8]), (16, shapes), (32, data)])
    };
    let words = [
        shape(0, &[3, 1], &[1, 0, 2, 0, 3, 0, 4, 1, 5, 0, 6, 0, 7, 0, 0xFF, 0xFF]),
        move_immediate(&[(10, 0xABCD_1234)]),
        shape(1, &[0], &[10, 11, 11, 10]),
        shape(2, &[3, 1, 0], &[20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]),
        halt(),
    ];
    let mut machine = machine(E, &words);
    start(&mut machine, E).unwrap();
    let registers = state(&mut machine, E).registers;
    assert_eq!(registers[20..32], [1, 2, 3, 0x104, 5, 6, 7, 0xFFFF, 0x1234, 0, 0, 0x1234]);

    // nothing is moved if one of the registers does not exist
    let bad = shape(1, &[0, 1], &[10, 10, 10, 10, 10, 10, 10, 64]);
    let mut machine = self::machine(E, &[move_immediate(&[(10, 7)]), bad]);
    assert!(start(&mut machine, E).is_err());
    assert_eq!(state(&mut machine, E).shapes, [[0; 4]; 4]);
    for word in
        [shape(3, &[0], &[]), shape(0, &[4], &[]), shape(0, &[], &[]), patch(shape(0, &[0], &[]), 14, &[1])]
    {
        assert!(start(&mut self::machine(E, &[word]), E).is_err(), "{word:?}");
    }
}

/// Section 8.2: HALT applies its own update before it stops.
#[test]
fn halt_waits_and_updates_like_any_word() {
    let mut machine = machine(E, &[events(halt(), (WAIT_EQ, 3), (SEM_INC, 4), 2), nop(), halt()]);
    start(&mut machine, E).unwrap();
    assert!(seq(&mut machine, E).running);
    machine.cores[0].sync.semaphores[3] = 2;
    run(&mut machine).unwrap();
    assert_eq!((stopped(&machine, E), machine.cores[0].sync.semaphores[4]), ((0, 0, BASE + 64), 1));
    assert_eq!(state(&mut machine, E).retired, 1);
}

/// A container's branch labels keep their slot and are not counted (00 A12).
#[test]
fn branch_labels_are_slots_that_do_not_count() {
    let label = Word::new(0xCC);
    let mut machine =
        setup().container().program(E, &[label, move_registers(&[(128, 1)]), label, nop()]).build();
    start(&mut machine, E).unwrap();
    assert_eq!((register(&machine, E, 1), state(&mut machine, E).retired), (BASE as u32 + 64, 2));
    assert_eq!(stopped(&machine, E), (0, 0, BASE + 256));
}
