//! The two front ends, SUNDA's registers, ordering modes, interrupt words, and the log of the loops (chapter 01
//! sections 2.7, 6, 12.5 and 17).

use seqjit_runtime::isa::{EngineId, Generation};
use seqjit_runtime::sequencer::{EXTERNAL_WORDS, Mode, PENDING, Phase, Step, step};

use crate::support::*;
use crate::words::*;

const E: EngineId = EngineId::Pe;

/// SUNDA's places of the doorbell, the status and the stop request (section 17).
const SUNDA_START: u32 = 0x10;
const SUNDA_STATE: u32 = 0x14;
const SUNDA_HALT: u32 = 0x808;

#[test]
fn sunda_has_its_own_offsets() {
    let mut machine =
        setup().generation(Generation::Sunda).program(E, &[nop(), halt(), nop(), halt()]).build();
    for (offset, exists) in
        [(SUNDA_START, true), (SUNDA_STATE, true), (SUNDA_HALT, true), (0x04, false), (0x08, false)]
    {
        assert_eq!(machine.csr_read(0, E, offset).is_some(), exists, "0x{offset:x}");
    }
    watch(&mut machine, E);
    machine.csr_write(0, E, SUNDA_START, 1).unwrap();
    run(&mut machine).unwrap();
    assert_eq!(writes(&mut machine, E), "start_ctrl=0 run_state=1 lr3=1000 lr4=0 lr3=1080 lr4=0 run_state=0");
    machine.csr_write(0, E, SUNDA_HALT, 1).unwrap();
    machine.csr_write(0, E, SUNDA_START, 1).unwrap();
    run(&mut machine).unwrap();
    let stop = "start_ctrl=0 run_state=1 lr3=1080 lr4=0 instr_halt_ctrl=0 lr3=1080 lr4=0 run_state=8";
    assert_eq!(writes(&mut machine, E), stop);
    assert_eq!(machine.csr_read(0, E, SUNDA_STATE), Some(8));
    // the calls of the machine know the places too
    machine.start_all();
    machine.request_stop();
    assert_eq!(machine.csr_read(0, E, SUNDA_HALT), Some(1));
}

/// A word reaches the doorbell through the aperture at the generation's offset.
#[test]
fn self_restart_works_on_sunda() {
    let own = aperture(E) + u64::from(SUNDA_START);
    let words = [write(own, 1), halt(), nop(), halt()];
    let mut machine = setup().generation(Generation::Sunda).program(E, &words).build();
    machine.csr_write(0, E, SUNDA_START, 1).unwrap();
    run(&mut machine).unwrap();
    assert_eq!((stopped(&machine, E), state(&mut machine, E).retired), ((0, 0, BASE + 256), 4));
}

#[test]
fn sundas_step_counter_has_16_bits() {
    for (generation, steps, left) in [
        (Generation::Sunda, 0x0001_0002, Some(2)),
        (Generation::Sunda, 0x0001_0000, None),
        (Generation::Sunda, 0xFFFF_0003, Some(3)),
        (Generation::Cayman, 0x0001_0002, Some(0x0001_0002)),
        (Generation::Mariana, 0x0001_0000, Some(0x0001_0000)),
        (Generation::Maverick, 1, Some(1)),
    ] {
        let mut machine = setup().generation(generation).program(E, &[nop(); 8]).build();
        machine.csr_write(0, E, BP_STEP, steps).unwrap();
        machine.csr_write(0, E, BP_CTRL, 0xF).unwrap();
        state(&mut machine, E).start();
        step(&mut machine, 0, E).unwrap();
        let seq = seq(&mut machine, E);
        assert_eq!(seq.snapshot.step, left.is_some(), "{generation} {steps:x}");
        // one word has run
        assert_eq!(seq.step_count, left.map_or(0, |n| n - 1), "{generation} {steps:x}");
    }
}

/// Decision D1.
#[test]
fn engines_have_the_front_end_of_their_generation() {
    for generation in Generation::ALL {
        let mut machine = setup().generation(generation).build();
        for engine in EngineId::ALL {
            let software = engine == EngineId::Sp || generation == Generation::Sunda;
            let expected = if software { Mode::Sunda } else { Mode::HwDecode };
            assert_eq!(seq(&mut machine, engine).mode, expected, "{engine} {generation}");
        }
    }
}

#[test]
fn a_shut_gate_holds_the_hardware_front_end() {
    let mut machine = machine(E, &[nop(), nop(), halt()]);
    seq(&mut machine, E).fetch_gate = 0;
    start(&mut machine, E).unwrap();
    assert_eq!((seq(&mut machine, E).phase, state(&mut machine, E).retired), (Phase::Running, 0));
    assert_eq!(step(&mut machine, 0, E).unwrap(), Step::Blocked);
    assert!(state(&mut machine, E).is_active() && state(&mut machine, E).blocked_on.is_none());
    // every trip round the loop counts, whether the gate lets it through or not
    let before = seq(&mut machine, E).iteration;
    let (_, lines) = logged(|| step(&mut machine, 0, E).unwrap());
    assert_eq!(lines, [format!("S: Seq Loop, iter=0x{before:x}")]);
    seq(&mut machine, E).fetch_gate = 0x8000_0000;
    assert_eq!(step(&mut machine, 0, E).unwrap(), Step::Done { ends_turn: false });
    assert_eq!(seq(&mut machine, E).iteration, before + 2);
    seq(&mut machine, E).fetch_gate = 0;
    assert_eq!(step(&mut machine, 0, E).unwrap(), Step::Blocked);
    seq(&mut machine, E).fetch_gate = 1;
    run(&mut machine).unwrap();
    assert_eq!(stopped(&machine, E), (0, 0, BASE + 192));
    // the software front end has no such gate
    let mut machine = self::machine(EngineId::Sp, &[nop(), halt()]);
    seq(&mut machine, EngineId::Sp).fetch_gate = 0;
    start(&mut machine, EngineId::Sp).unwrap();
    assert_eq!((stopped(&machine, EngineId::Sp).0, seq(&mut machine, EngineId::Sp).iteration), (0, 0));
}

/// The lines of one iteration of each loop (sections 6.1 and 6.2), sequential and behind a branch.
#[test]
fn loops_log_their_steps() {
    let words = [nop(), relative(always(), 64), nop(), halt()];
    let in_loop = |mode: Mode| {
        let mut machine = machine(E, &words);
        seq(&mut machine, E).mode = mode;
        let (_, lines) = logged(|| start(&mut machine, E).unwrap());
        let from = lines.iter().position(|l| l == "S: enter_run: done").unwrap();
        lines[from + 1..].iter().map(|l| l.trim_start_matches("S: ").to_owned()).collect::<Vec<_>>()
    };
    let stop = [
        "Halt",
        "PrefetchHelper : Invalidating all hints",
        "Setup Halt",
        "Entering HALT",
        "Pending StartCtrl",
    ];
    let quiet = "sunda_check_surprises: any=0, surprises=0x0";
    let sequential = "sunda_fetch pending_redirect=0";
    let software = [
        "Sunda seq Loop",
        quiet,
        sequential,
        "Dispatch opcode=0xa4",
        "NOP",
        quiet,
        sequential,
        "Dispatch opcode=0xa9",
        "BRANCH",
        quiet,
        "sunda_fetch: redirecting to pc=0x1080",
        "Redirect",
        "Dispatch opcode=0xa4",
        "NOP",
        quiet,
        sequential,
        "Dispatch opcode=0xa1",
    ];
    assert_eq!(in_loop(Mode::Sunda), [software.as_slice(), &stop].concat());
    let delta = |pc| format!("RTL_PC_check_delta: curr_dma_idx_vld=0x1, tgt_cache_idx=0x0, curr_pc=0x{pc:x}");
    let hardware = [
        "Seq Loop, iter=0x0",
        &delta(0x1000),
        "Dispatch opcode=0xa4",
        "NOP",
        "Seq Loop, iter=0x1",
        &delta(0x1040),
        "Dispatch opcode=0xa9",
        "BRANCH",
        "Seq Loop, iter=0x2",
        &delta(0x1080),
        "Redirecting to pc=0x1080",
        "Dispatch opcode=0xa4",
        "NOP",
        "Seq Loop, iter=0x3",
        &delta(0x10C0),
        "Dispatch opcode=0xa1",
    ];
    assert_eq!(in_loop(Mode::HwDecode), [hardware.as_slice(), &stop].concat());
}

/// A word that waits is dispatched once, however often it is tried (section 6.1).
#[test]
fn a_blocked_word_is_logged_once() {
    for mode in [Mode::Sunda, Mode::HwDecode] {
        let mut machine = machine(E, &[events(nop(), (WAIT_GE, 3), (0, 0), 1), halt()]);
        seq(&mut machine, E).mode = mode;
        ring(&mut machine, E);
        let (_, lines) = logged(|| {
            for _ in 0..5 {
                assert_eq!(step(&mut machine, 0, E).unwrap(), Step::Blocked);
            }
            machine.cores[0].sync.semaphores[3] = 1;
            step(&mut machine, 0, E).unwrap();
        });
        for line in ["S: Dispatch opcode=0xa4", "S: NOP"] {
            assert_eq!(lines.iter().filter(|l| *l == line).count(), 1, "{mode:?} {line}");
        }
    }
}

/// The labels of section 11.3 for words that every engine runs.
#[test]
fn handlers_log_their_labels() {
    let labelled = [
        (nop(), Some("NOP")),
        (event_semaphore((0, 0), 0, (0, 0), 0), Some("Event_Semaphore")),
        (word(0x9F, &[]), Some("EngineNop")),
        (word(0xA2, &[]), None),
        (write(DATA, 1), Some("WRITE")),
        (notify(1), Some("NOTIFY")),
        (move_immediate(&[(1, 1)]), Some("MOVE")),
        (alu_immediate(4, INT32, 1, 1, 1), None),
        (relative(always(), 64), Some("BRANCH")),
        (load(UINT32, DATA, &[1]), Some("TensorLoad")),
        (store(UINT32, DATA, &[1]), Some("TensorStore")),
        (range_clear(7, 9), Some("Event_Semaphore Rng Clr")),
        (ordering(0), Some("SET_OM")),
        (word(0xB2, &[(12, &[1, 1])]), Some("MoveShape(RegToShape)")),
        (word(0xB2, &[(12, &[2, 1])]), Some("MoveShape(ShapeToReg)")),
        (poll(1, 1, 9, SEM_READ, SEM_DEC), Some("POLL_SEM")),
        (word(0xB5, &[]), Some("BranchPrefetchHint")),
        (flush(), Some("INS_FL")),
    ];
    for (word, label) in labelled {
        let mut machine = machine(E, &[word, nop(), halt()]);
        ring(&mut machine, E);
        let (_, lines) = logged(|| step(&mut machine, 0, E).unwrap());
        let dispatched = format!("S: Dispatch opcode=0x{:x}", word.opcode());
        let behind = lines.iter().skip_while(|l| **l != dispatched).nth(1).map(String::as_str);
        assert_eq!(behind, label.map(|l| format!("S: {l}")).as_deref(), "{word:?}");
    }
}

/// Interrupt-control word n: bit 2 is the pending bit; what is beyond the array is not pending (decision D9).
#[test]
fn interrupt_words_beyond_the_array_are_not_pending() {
    let mut machine = machine(E, &[halt(), halt()]);
    let seq = seq(&mut machine, E);
    assert_eq!((EXTERNAL_WORDS, PENDING), (39, 4));
    for interrupt in [0, 1, 38] {
        assert!(!seq.interrupt_pending(interrupt));
        seq.set_interrupt(interrupt, true);
        assert!(seq.interrupt_pending(interrupt));
        assert_eq!(seq.external[interrupt], 4);
        seq.set_interrupt(interrupt, false);
        assert!(!seq.interrupt_pending(interrupt));
    }
    seq.external = [u32::MAX; EXTERNAL_WORDS];
    for interrupt in [39, 40, 1 << 20, usize::MAX] {
        seq.set_interrupt(interrupt, true);
        assert!(!seq.interrupt_pending(interrupt));
    }
    seq.external = [!PENDING; EXTERNAL_WORDS];
    assert!((0..EXTERNAL_WORDS).all(|n| !seq.interrupt_pending(n)), "bit 2 only");
}

/// HALT asks for interrupt 0 and no other (section 8.1).
#[test]
fn only_interrupt_0_makes_halt_pause() {
    for (word, paused) in [(0, true), (1, false), (38, false)] {
        let mut machine = machine(E, &[halt(), halt()]);
        seq(&mut machine, E).set_interrupt(word, true);
        start(&mut machine, E).unwrap();
        assert_eq!(stopped(&machine, E).0, if paused { 2 } else { 0 });
    }
}

/// Section 12.5: what the word does to control, to the break-control word of the log, and when it counts.
#[test]
fn ordering_takes_effect_with_the_next_word() {
    for (mode, bit) in [(Mode::Sunda, 20), (Mode::HwDecode, 21)] {
        let words = [ordering(1), nop(), ordering(0), nop(), ordering(1), ordering(2), nop(), halt()];
        let mut machine = machine(E, &words);
        seq(&mut machine, E).mode = mode;
        watch(&mut machine, E);
        let (_, lines) = logged(|| start(&mut machine, E).unwrap());
        let about = |l: &&String| ["SET_OM", "BREAK_CTRL", "STRONG", "NOP"].iter().any(|w| l.contains(w));
        let lines: Vec<&str> = lines.iter().filter(about).map(|l| l.trim_start_matches("S: ")).collect();
        let (on, off) =
            (format!("BREAK_CTRL=0x0 -> 0x{:x}", 1 << bit), format!("BREAK_CTRL=0x{:x} -> 0x0", 1 << bit));
        let strong = ["SET_OM", &on, "STRONG_ORDER"];
        let relaxed = ["SET_OM", &off, "NOP"];
        let expected = [strong.as_slice(), &["NOP", "STRONG_ORDER"], &relaxed, &strong, &relaxed].concat();
        assert_eq!(lines, expected, "values other than 1 are relaxed");
        let control = "control=7ffe control=7ffc control=7ffe control=7ffc";
        let (entry, exit) = ("start_ctrl=0 run_state=1 lr3=1000 lr4=0", "lr3=1200 lr4=0 run_state=0");
        assert_eq!(writes(&mut machine, E), format!("{entry} {control} {exit}"));
    }
}

#[test]
fn ordering_is_taken_from_control_at_run_entry() {
    let mut machine = machine(E, &[ordering(1), halt(), nop(), halt(), nop(), halt()]);
    start(&mut machine, E).unwrap();
    assert!(seq(&mut machine, E).strong_order);
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    assert_eq!(lines.iter().filter(|l| *l == "S: STRONG_ORDER").count(), 2, "it outlasts a halt");
    machine.csr_write(0, E, CONTROL, 0).unwrap();
    let (_, lines) = logged(|| start(&mut machine, E).unwrap());
    assert!(!lines.iter().any(|l| l == "S: STRONG_ORDER"));
    assert!(!seq(&mut machine, E).strong_order);
}

/// Other bits of control survive SET_ORDERING_MODE.
#[test]
fn ordering_changes_one_bit_of_control() {
    let mut machine = machine(E, &[ordering(1), halt()]);
    machine.csr_write(0, E, CONTROL, 0x0010_0001).unwrap();
    start(&mut machine, E).unwrap();
    assert_eq!(machine.csr_read(0, E, CONTROL), Some(0x0010_0003));
}

/// Strong ordering changes nothing that an in-order engine computes (section 7.4).
#[test]
fn strong_ordering_gives_the_same_results() {
    let program = |mode| {
        let words = [
            ordering(mode),
            move_immediate(&[(1, 6), (2, 7)]),
            alu_registers(6, INT32, [1, 2], 3),
            store(UINT32, DATA, &[3]),
            load(UINT32, DATA, &[4]),
            events(nop(), (0, 0), (SEM_INC, 5), 0),
            halt(),
        ];
        let mut machine = machine(E, &words);
        start(&mut machine, E).unwrap();
        let memory = machine.dram.buffer(0).bytes().to_vec();
        (state(&mut machine, E).registers, memory, machine.cores[0].sync.semaphores, stopped(&machine, E))
    };
    assert!(program(1) == program(0));
}

/// Control registers are one file, whoever asks: host, words of any engine, the sequencer (section 2).
#[test]
fn words_reach_the_control_registers_of_any_engine() {
    let stop_act = write(aperture(EngineId::Act) + u64::from(HALT_CTRL), 1);
    let seed = write(aperture(EngineId::Act) + u64::from(LR38), 5);
    let look = load(UINT32, aperture(EngineId::Act) + u64::from(LR38), &[7]);
    let setup = setup().program(E, &[seed, look, stop_act, halt()]);
    let mut machine = setup.program(EngineId::Act, &[nop(), relative(always(), -64)]).build();
    ring(&mut machine, EngineId::Act);
    step(&mut machine, 0, EngineId::Act).unwrap();
    ring(&mut machine, E);
    while state(&mut machine, E).is_active() {
        step(&mut machine, 0, E).unwrap();
    }
    assert_eq!((register(&machine, E, 7), machine.csr_read(0, EngineId::Act, LR38)), (5, Some(5)));
    step(&mut machine, 0, EngineId::Act).unwrap();
    assert_eq!(stopped(&machine, EngineId::Act), (8, 8, BASE + 64), "the very next check sees it");
}
