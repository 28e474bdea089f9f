//! Words that change while they run in native code, and stops that are armed then: every tier sees them at the same word.

use std::cell::Cell;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::interp::{Instruction, Translated};
use seqjit::runtime::isa::field::{Addr4, BranchCmp, BranchMode, DataSrc, Field, Imm};
use seqjit::runtime::isa::layouts::{CTRL_AL, CTRL_BR, CTRL_WR, D4_MR, S4D4_TR};
use seqjit::runtime::isa::{
    AluOp, Dtype, EngineId, Events, Generation, Layout, Space, Tensor, WORD_LEN_CODE, Word, op,
};
use seqjit::runtime::machine::{
    BufferRole, BufferSpec, CoreSpec, HBM_BASE, Image, Machine, MachineOptions, Stream,
};
use seqjit::runtime::num::Fp8;
use seqjit::runtime::sequencer::csr::{BREAKPOINT_CTRL, LR_PC_HI, LR_PC_LO};
use seqjit::runtime::sequencer::{HaltReason, Limits, engine_turn_within};
use seqjit::{Engine, Tier, Translator};

const ENGINE: EngineId = EngineId::Pool;
/// Where the words lie.
const CODE: u64 = HBM_BASE;
/// CSR aperture of the engine (chapter 01 section 2).
const CSR: u64 = 0x28_0306_0000;
/// Offset of the constant of a MEMSET, and of the target of a branch, in a word.
const CONSTANT: u64 = 40;
const ROUNDS: u32 = 60;

fn word<L: Layout>(opcode: u8, operands: &L) -> Word {
    let mut word = Word::new(opcode);
    word.0[1] = WORD_LEN_CODE;
    operands.write(&mut word);
    if L::DEF.events {
        Events::default().write(&mut word.0[4..12]);
    }
    word
}

/// Fills 32 columns of 64 partitions.
fn memset(start: u32, value: u32) -> Word {
    let dst = Tensor { start: Addr4(start), step: [1, 0, 0, 0], num: [32, 1, 1, 1] };
    let operands = D4_MR {
        dst_element_count: 32,
        dtype: Dtype::UINT32,
        num_active_channels: 64,
        serialization_mode: 0,
        set_value: Imm(value),
        dst,
    };
    word(op::MEMSET, &operands)
}

fn write(addr0: u64, data0: u32) -> Word {
    let operands = CTRL_WR { wr_size0: 4, wr_size1: 0, addr0, addr1: 0, data0: data0.into(), data1: 0 };
    word(op::WRITE, &operands)
}

/// R0 += 1
fn count() -> Word {
    let operands = CTRL_AL {
        op: AluOp::ADD,
        dtype: Dtype::UINT32,
        src1_datasrc: DataSrc::IMMEDIATE,
        dst_dtype: Dtype::INVALID,
        src0_lo: 0,
        src0_hi: 0,
        src1_lo: 0,
        src1_hi: 0,
        dst_lo: 0,
        dst_hi: 0,
        immediate: 1,
    };
    word(op::ALU_OP, &operands)
}

/// Goes to a slot while R0 is less than [`ROUNDS`].
fn again(slot: u64) -> Word {
    let operands = CTRL_BR {
        cmp_op: BranchCmp::LT,
        dtype: Dtype::UINT32,
        target_mode: BranchMode::ABSOLUTE,
        cmp_immediate: ROUNDS,
        cmp_reg0: 0,
        cmp_reg1: 0,
        target_reg_lo: 0,
        target_reg_hi: 0,
        br_immediate: CODE + 64 * slot,
    };
    word(op::COMPARE_BRANCH, &operands)
}

fn machine(words: &[Word]) -> Machine {
    let mut streams: [Stream; 5] = Default::default();
    streams[ENGINE.index()] = Stream {
        base: CODE,
        words: words.iter().map(|w| Instruction::new(*w, Generation::Cayman)).collect(),
        ends_gracefully: false,
    };
    let core = CoreSpec {
        name: "core".into(),
        streams,
        queues: Vec::new(),
        variables: Vec::new(),
        table_base: 0,
        physical: 0,
        dve_programs: None,
        fp8: Fp8::default(),
        replica_groups: Vec::new(),
        table_sets: Vec::new(),
    };
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.0).collect();
    let buffer = BufferSpec {
        name: "code".into(),
        address: CODE,
        size: bytes.len(),
        role: BufferRole::Scratch,
        initial: Some(bytes.into()),
    };
    let image = Image { generation: Generation::Cayman, cores: vec![Arc::new(core)], buffers: vec![buffer] };
    let options = MachineOptions { strict: false, ..MachineOptions::default() };
    let mut machine = Machine::new(&image, options);
    machine.csr_write(0, ENGINE, LR_PC_LO, CODE as u32).unwrap();
    machine.csr_write(0, ENGINE, LR_PC_HI, (CODE >> 32) as u32).unwrap();
    machine.start_all();
    machine
}

fn state(machine: &Machine) -> impl PartialEq + std::fmt::Debug + use<> {
    let e = &machine.cores[0].engines[ENGINE.index()];
    let seq = (e.seq.phase, e.seq.halt_reason, e.seq.run_state(), e.seq.csr.resume_pc(), e.seq.redirect);
    let rows = machine.cores[0].memory(Space::Sbuf);
    let filled: Vec<Vec<u8>> = (0..64).map(|p| rows.partition(p)[..256].to_vec()).collect();
    (e.registers, e.pc, e.retired, seq, filled, machine.dram.buffers()[0].bytes().to_vec())
}

/// Runs a program in both ways, in the same turns of random lengths, `between` before each; what native code ran.
fn agree(words: &[Word], seed: u64, between: impl Fn(&mut Machine, u64)) -> u64 {
    let (mut plain, mut native) = (machine(words), machine(words));
    let translator = Translator::new(&Engine::new(), Tier::Jit);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for number in 0..120 {
        let limit = rng.random_range(1..24);
        let [a, b] = [(&mut plain, None), (&mut native, Some(&translator as &dyn Translated))].map(
            |(machine, translated)| {
                between(machine, number);
                let limits = Limits { translated, ..Limits::default() };
                engine_turn_within(machine, 0, ENGINE, limit, &limits).map_err(|f| (f.pc, f.kind))
            },
        );
        assert_eq!(a, b, "seed {seed} turn {number}");
        assert!(state(&plain) == state(&native), "seed {seed} turn {number}: {:?}", state(&native));
    }
    let engine = &plain.cores[0].engines[ENGINE.index()];
    assert!(!engine.seq.running && engine.registers[0] >= ROUNDS, "the program has come to its end");
    translator.counters().words
}

/// The first cell that the first MEMSET fills.
fn first_cell(words: &[Word]) -> u32 {
    let mut machine = machine(words);
    let translator = Translator::new(&Engine::new(), Tier::Jit);
    let limits = Limits { translated: Some(&translator), ..Limits::default() };
    while engine_turn_within(&mut machine, 0, ENGINE, 1000, &limits).unwrap().progress > 0 {}
    let row = machine.cores[0].memory(Space::Sbuf).partition(63);
    u32::from_le_bytes(row[..4].try_into().unwrap())
}

/// A loop that fills with one number, and writes another into its own MEMSET.
fn patching(flushes: bool) -> Vec<Word> {
    let behind = if flushes { Word::new(op::INSTRUCTION_FLUSH) } else { Word::new(op::NOP) };
    vec![
        memset(0, 111),
        write(CODE + CONSTANT, 222),
        behind,
        memset(128, 5),
        count(),
        again(0),
        Word::new(op::HALT),
    ]
}

#[test]
fn changed_words_run_behind_a_flush_only() {
    for flushes in [false, true] {
        let words = patching(flushes);
        // Worked out by hand: the second round fills with what the first has written, if it has flushed.
        assert_eq!(first_cell(&words), if flushes { 222 } else { 111 });
        for seed in 0..20 {
            let native = agree(&words, seed, |_, _| {});
            assert!(native > 2 * u64::from(ROUNDS));
        }
    }
}

/// Another opcode in place of a word that has been compiled.
#[test]
fn another_opcode_replaces_compiled_code() {
    let columns = |start| Tensor { start: Addr4(start), step: [1, 0, 0, 0], num: [32, 1, 1, 1] };
    let operands = S4D4_TR {
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 64,
        src: columns(128),
        dst: columns(0),
        ..S4D4_TR::read(&Word::new(op::COPY))
    };
    let [copy, reciprocal] = [op::COPY, op::RECIPROCAL].map(|opcode| word(opcode, &operands));
    let opcode = u32::from_le_bytes(*reciprocal.0.first_chunk().unwrap());
    let words = [
        memset(128, 4f32.to_bits()),
        copy,
        write(CODE + 64, opcode),
        Word::new(op::INSTRUCTION_FLUSH),
        count(),
        again(0),
        Word::new(op::HALT),
    ];
    assert_eq!(first_cell(&words), 0.25f32.to_bits());
    for seed in 0..20 {
        agree(&words, seed, |_, _| {});
    }
}

/// The host sets a breakpoint in the middle of a run, resumes behind it, and takes it away.
#[test]
fn breakpoints_armed_in_a_run_stop_native_code() {
    let words = [memset(0, 1), memset(64, 2), memset(128, 3), count(), again(0), Word::new(op::HALT)];
    let slots = words.len() as u64;
    let stops = Cell::new(0);
    for seed in 0..40 {
        agree(&words, seed, |machine, number| {
            let seq = &mut machine.cores[0].engines[ENGINE.index()].seq;
            stops.set(stops.get() + u32::from(seq.halt_reason == HaltReason::InsBreak && !seq.running));
            // Of four turns one sets it, and the next ones go on.
            seq.breakpoints =
                if number % 4 == 1 { vec![CODE + 64 * (number / 4 % slots)] } else { Vec::new() };
            seq.rearm();
            if seq.halt_reason == HaltReason::InsBreak {
                machine.start_all();
            }
        });
    }
    assert!(stops.get() > 100);
}

/// A program that asks for its own pause, which is taken between two words of native code.
#[test]
fn programs_that_pause_themselves_stop_behind_their_word() {
    let words = [
        memset(0, 1),
        memset(64, 2),
        write(CSR + u64::from(BREAKPOINT_CTRL), 1 << 8),
        memset(128, 3),
        count(),
        again(0),
        Word::new(op::HALT),
    ];
    let mut native = machine(&words);
    let translator = Translator::new(&Engine::new(), Tier::Jit);
    let limits = Limits { translated: Some(&translator), ..Limits::default() };
    for round in 0..2 {
        while engine_turn_within(&mut native, 0, ENGINE, 100, &limits).unwrap().progress > 0 {}
        let engine = &native.cores[0].engines[ENGINE.index()];
        let at = (engine.retired, engine.seq.running, engine.seq.csr.resume_pc());
        assert_eq!(at, (3 + 6 * round, false, CODE + 64 * 3));
        native.csr_write(0, ENGINE, BREAKPOINT_CTRL, 0).unwrap();
        native.start_all();
    }
    for seed in 0..20 {
        agree(&words, seed, |machine, _| {
            machine.csr_write(0, ENGINE, BREAKPOINT_CTRL, 0).unwrap();
            machine.start_all();
        });
    }
}
