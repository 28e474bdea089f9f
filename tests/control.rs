//! Random programs of control words leave the same engine behind in every tier, turn by turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::interp::{Fault, Instruction, Translated};
use seqjit::runtime::isa::field::{Addr8, BranchCmp, BranchMode, DataSrc, Field, Regs, UpdateMode, WaitMode};
use seqjit::runtime::isa::layouts::{
    CTRL_AL, CTRL_BR, CTRL_ER, CTRL_ES, CTRL_MS, CTRL_MV, CTRL_NO_A6, CTRL_POLL_SEM, MEM_2D,
    PSEUDO_BRANCH_LABEL,
};
use seqjit::runtime::isa::{
    AluOp, Dtype, EngineId, Events, EventsExt, Generation, Layout, WORD_LEN_CODE, Word, op,
};
use seqjit::runtime::machine::{
    BufferRole, BufferSpec, CoreSpec, HBM_BASE, Image, Machine, MachineOptions, Stream,
};
use seqjit::runtime::num::Fp8;
use seqjit::runtime::sequencer::{Cut, Limits, Turn, engine_turn_within};
use seqjit::{Engine, ExitReason, Tier, Translator};

/// Registers that programs use.
const REGISTERS: u8 = 6;
/// Semaphores and events that they use.
const SEMAPHORES: u8 = 3;

fn machine(words: [&[Instruction]; 2], strict: bool) -> Machine {
    let stream = |words: &[Instruction]| Stream { base: 0, words: words.into(), ends_gracefully: true };
    let [first, second] = words;
    let streams = [stream(&[]), stream(&[]), stream(first), stream(&[]), stream(second)];
    let core = CoreSpec {
        name: "control".into(),
        streams,
        queues: Vec::new(),
        variables: Vec::new(),
        table_base: 0x1234_5678_9ABC,
        physical: 0,
        dve_programs: None,
        fp8: Fp8::default(),
        replica_groups: Vec::new(),
        table_sets: Vec::new(),
    };
    let buffer = BufferSpec {
        name: "cells".into(),
        address: HBM_BASE,
        size: 256,
        role: BufferRole::Scratch,
        initial: None,
    };
    let image = Image { generation: Generation::Cayman, cores: vec![Arc::new(core)], buffers: vec![buffer] };
    let mut machine = Machine::new(&image, MachineOptions { strict, ..MachineOptions::default() });
    machine.start_all();
    machine
}

/// A word with operands.
fn word<L: Layout>(opcode: u8, operands: &L, events: Events) -> Word {
    let mut word = Word::new(opcode);
    word.0[1] = WORD_LEN_CODE;
    operands.write(&mut word);
    if L::DEF.events {
        events.write(&mut word.0[4..12]);
    }
    word
}

/// Draws words of a program of `len` words.
struct Maker<'r> {
    rng: &'r mut ChaCha8Rng,
    len: usize,
    strict: bool,
}

impl Maker<'_> {
    fn register(&mut self) -> u8 {
        match self.rng.random_range(0..20) {
            0 => self.rng.random_range(128..132),
            _ => self.rng.random_range(0..REGISTERS),
        }
    }

    fn number(&mut self) -> u32 {
        match self.rng.random_range(0..5) {
            0 => self.rng.random(),
            1 => self.rng.random_range(-2.0f32..2.0).to_bits(),
            2 => [0, 1, u32::MAX, 0x8000_0000, 0x7F80_0000, 0x7FC0_0001].choose(self.rng).copied().unwrap(),
            _ => self.rng.random_range(0..4),
        }
    }

    fn source(&mut self) -> DataSrc {
        if self.rng.random() { DataSrc::IMMEDIATE } else { DataSrc::REGISTER }
    }

    /// Mostly none, and such that programs do not stop at once.
    fn events(&mut self) -> Events {
        let mut events = Events { wait_idx: self.rng.random_range(0..SEMAPHORES), ..Events::default() };
        events.update_idx = self.rng.random_range(0..SEMAPHORES);
        if self.rng.random_ratio(1, 10) {
            let modes = [
                WaitMode::SEM_GE_IMM,
                WaitMode::SEM_LE_IMM,
                WaitMode::SEM_EQ_IMM,
                WaitMode::EVT_CLEAR_THEN_SET,
            ];
            events.wait_mode = *modes.choose(self.rng).unwrap();
        }
        if self.rng.random_ratio(1, 6) {
            let modes = [
                UpdateMode::SEM_INC_COMPLETE,
                UpdateMode::SEM_DEC_COMPLETE,
                UpdateMode::EVT_CLR_COMPLETE,
                UpdateMode::SEM_ADD_REG_COMPLETE,
            ];
            events.update_mode = *modes.choose(self.rng).unwrap();
        }
        events.value = u32::from(self.rng.random_range(0..REGISTERS));
        events
    }

    fn word(&mut self, slot: usize) -> Word {
        let events = self.events();
        match self.rng.random_range(0..20) {
            0..5 => self.moves(events),
            5..11 => self.alu(events),
            11..14 => self.branch(slot, events),
            14 => word(op::PSEUDO_BRANCH_LABEL, &PSEUDO_BRANCH_LABEL {}, Events::default()),
            15 => {
                let extended =
                    EventsExt { update_mode: UpdateMode::SEM_INC_COMPLETE, ..EventsExt::default() };
                word(op::EVENT_SEMAPHORE, &CTRL_ES { setter_signature: 0, events_extended: extended }, events)
            }
            16 => word(op::NOTIFY, &CTRL_NO_A6 { hint: self.rng.random(), kind: 1 }, events),
            17 => self.transfer(events),
            18 => self.poll_or_clear(events),
            _ => self.shape(events),
        }
    }

    fn moves(&mut self, events: Events) -> Word {
        let operands = CTRL_MV {
            num_mov: self.rng.random_range(1..=8),
            dtype: Dtype::UINT32,
            move_source: self.source(),
            src_registers: Regs(std::array::from_fn(|_| self.register())),
            dst_registers: Regs(std::array::from_fn(|_| self.register())),
            immediate: std::array::from_fn(|_| self.number()),
        };
        word(op::MOVE, &operands, events)
    }

    fn alu(&mut self, events: Events) -> Word {
        let dtypes = [Dtype::INT32, Dtype::UINT32, Dtype::FP32, Dtype::INT8, Dtype::UINT16, Dtype::INT64];
        let operands = CTRL_AL {
            op: AluOp::TABLE.choose(self.rng).unwrap().code,
            dtype: *dtypes.choose(self.rng).unwrap(),
            src1_datasrc: self.source(),
            dst_dtype: Dtype::INVALID,
            src0_lo: self.register(),
            src0_hi: self.register(),
            src1_lo: self.register(),
            src1_hi: self.register(),
            dst_lo: self.register(),
            dst_hi: self.register(),
            immediate: u64::from(self.number()) | u64::from(self.number()) << 32,
        };
        // What faults whatever the registers hold would end most programs.
        let faults =
            seqjit::runtime::interp::register_alu::evaluate(operands.op, operands.dtype, 1, 1, self.strict);
        if faults.is_err() && !self.rng.random_ratio(1, 50) {
            self.alu(events)
        } else {
            word(op::ALU_OP, &operands, events)
        }
    }

    fn branch(&mut self, slot: usize, events: Events) -> Word {
        let (modes, compares) = if self.strict {
            (
                &[BranchMode::ABSOLUTE, BranchMode::RELATIVE][..],
                &[BranchCmp::ALWAYS, BranchCmp::EQ, BranchCmp::GT][..],
            )
        } else {
            use BranchCmp as C;
            (
                &[BranchMode::ABSOLUTE, BranchMode::RELATIVE, BranchMode::REGISTER][..],
                &[C::ALWAYS, C::EQ, C::GT, C::LT, C::NE, C::GE_REG, C::LE, C::NE_REG, C::GT_REG][..],
            )
        };
        let target = self.rng.random_range(0..=self.len);
        let mode = *modes.choose(self.rng).unwrap();
        let absolute = 64 * target as u64;
        let operands = CTRL_BR {
            cmp_op: *compares.choose(self.rng).unwrap(),
            dtype: *[Dtype::INT32, Dtype::UINT32, Dtype::FP32].choose(self.rng).unwrap(),
            target_mode: mode,
            cmp_immediate: self.number(),
            cmp_reg0: self.register(),
            cmp_reg1: self.register(),
            target_reg_lo: self.rng.random_range(0..REGISTERS),
            target_reg_hi: self.rng.random_range(0..REGISTERS),
            br_immediate: if mode == BranchMode::RELATIVE {
                u64::from((absolute as u32).wrapping_sub(64 * slot as u32))
            } else {
                absolute
            },
        };
        word(op::COMPARE_BRANCH, &operands, events)
    }

    fn transfer(&mut self, events: Events) -> Word {
        let operands = MEM_2D {
            dtype: *[Dtype::UINT8, Dtype::INT16, Dtype::UINT32].choose(self.rng).unwrap(),
            src_datasrc: self.source(),
            num_elem: [2, 1],
            start_addr: Addr8(HBM_BASE + 4 * self.rng.random_range(0..65)),
            step_elem: [2, 0],
            data: std::array::from_fn(|_| self.rng.random_range(0..REGISTERS)),
        };
        word(*[op::TENSOR_LOAD, op::TENSOR_STORE].choose(self.rng).unwrap(), &operands, events)
    }

    fn poll_or_clear(&mut self, events: Events) -> Word {
        if self.rng.random() {
            return word(op::EVENT_SEMAPHORE_RANGE_CLEAR, &CTRL_ER { mode: 1, first: 0, last: 1 }, events);
        }
        let operands = CTRL_POLL_SEM {
            op: AluOp::BITWISE_OR,
            n_read: 2,
            result: self.rng.random_range(0..REGISTERS),
            addr: HBM_BASE + 8,
            res_writeback_addr: HBM_BASE + 4 * self.rng.random_range(0..64),
        };
        word(op::POLL_SEM, &operands, events)
    }

    fn shape(&mut self, events: Events) -> Word {
        let operands = CTRL_MS {
            num_move: 2,
            move_type: self.rng.random_range(0..3),
            shape_reg_type: 0,
            shape_registers: [0, 3, 0, 0],
            data: std::array::from_fn(|_| self.rng.random_range(0..REGISTERS)),
        };
        word(op::MOVE_SHAPE, &operands, events)
    }
}

fn program(rng: &mut ChaCha8Rng, strict: bool) -> Vec<Instruction> {
    let len = rng.random_range(4..40);
    let mut maker = Maker { rng, len, strict };
    (0..len).map(|slot| Instruction::new(maker.word(slot), Generation::Cayman)).collect()
}

/// All that control words can change.
fn state(machine: &Machine) -> impl PartialEq + std::fmt::Debug {
    let core = &machine.cores[0];
    let engines = core.engines.each_ref().map(|e| {
        let seq = (e.seq.phase, e.seq.halt_reason, e.seq.run_state(), e.seq.csr.resume_pc(), e.seq.iteration);
        let more = (e.seq.redirect, e.seq.error_record, e.table_base, e.shapes);
        (e.registers, e.pc, e.retired, e.blocked_on, seq, more)
    });
    let cells = machine.dram.buffers()[0].bytes().to_vec();
    let notifications = core.notifications.clone();
    (engines, core.sync.clone(), cells, notifications, machine.warnings.clone())
}

fn turn(
    machine: &mut Machine,
    engine: EngineId,
    limit: u64,
    translated: Option<&dyn Translated>,
) -> Result<Turn, Fault> {
    engine_turn_within(machine, 0, engine, limit, &Limits { translated, ..Limits::default() })
}

/// Random programs on two engines that share semaphores, in turns of random length.
fn programs_agree(tier: Tier, strict: bool, seeds: std::ops::Range<u64>) -> u64 {
    let shared = Engine::new();
    let mut native_words = 0;
    for seed in seeds {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let words = [program(&mut rng, strict), program(&mut rng, strict)];
        let words = [&words[0][..], &words[1][..]];
        let (mut plain, mut native) = (machine(words, strict), machine(words, strict));
        let translator = Translator::new(&shared, tier);
        for number in 0..60 {
            let engine = if rng.random() { EngineId::Pool } else { EngineId::Sp };
            let limit = if rng.random_ratio(1, 4) { 1 } else { rng.random_range(1..80) };
            let a = turn(&mut plain, engine, limit, None);
            let b = turn(&mut native, engine, limit, Some(&translator));
            let parts = |t: Result<Turn, Fault>| t.map_err(|f| (f.pc, f.kind.clone()));
            assert_eq!(parts(a), parts(b), "seed {seed} turn {number}: {engine} {limit} words, {words:?}");
            let same = state(&plain) == state(&native);
            assert!(
                same,
                "seed {seed} turn {number}: {engine} {limit} words\n{:#?}\n{:#?}",
                state(&plain),
                state(&native)
            );
        }
        native_words += translator.counters().words;
    }
    native_words
}

#[test]
fn strict_programs_agree() {
    assert!(programs_agree(Tier::Jit, true, 0..150) > 10_000);
}

#[test]
fn lenient_programs_agree() {
    assert!(programs_agree(Tier::Jit, false, 1000..1150) > 10_000);
}

#[test]
fn programs_agree_while_they_are_cold() {
    programs_agree(Tier::Auto, false, 2000..2050);
}

/// R0 := 0; do R0 += 1 while R0 is not R1, which never holds after 2^32 - 1 rounds if R1 is 0.
fn counting_loop() -> Vec<Instruction> {
    let immediate = CTRL_AL {
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
    let back = CTRL_BR {
        cmp_op: BranchCmp::ALWAYS,
        dtype: Dtype::UINT32,
        target_mode: BranchMode::RELATIVE,
        cmp_immediate: 0,
        cmp_reg0: 0,
        cmp_reg1: 0,
        target_reg_lo: 0,
        target_reg_hi: 0,
        br_immediate: u64::from(-64i32 as u32),
    };
    [word(op::ALU_OP, &immediate, Events::default()), word(op::COMPARE_BRANCH, &back, Events::default())]
        .map(|word| Instruction::new(word, Generation::Cayman))
        .to_vec()
}

/// A budget is used to the last word: of a loop of two words, by the word.
#[test]
fn budgets_are_exact() {
    let words = counting_loop();
    for limit in [1, 2, 3, 255, 256, 100_001] {
        let mut machine = machine([&words, &[]], true);
        let translator = Translator::new(&Engine::new(), Tier::Jit);
        let ran = turn(&mut machine, EngineId::Pool, limit, Some(&translator)).unwrap();
        assert_eq!(ran.retired, limit);
        let engine = &machine.cores[0].engines[EngineId::Pool.index()];
        assert_eq!(u64::from(engine.registers[0]), limit.div_ceil(2));
        assert_eq!(engine.seq.redirect, (limit % 2 == 0).then_some(0));
        assert_eq!(u64::from(engine.seq.iteration), limit);
    }
}

/// Another thread's pause ends a loop that has no end.
#[test]
fn endless_loops_can_be_paused() {
    let words = counting_loop();
    let mut machine = machine([&words, &[]], true);
    let translator = Translator::new(&Engine::new(), Tier::Jit);
    let pause = AtomicBool::new(false);
    let turn = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            pause.store(true, Ordering::Relaxed);
        });
        let limits = Limits { pause: Some(&pause), translated: Some(&translator), ..Limits::default() };
        engine_turn_within(&mut machine, 0, EngineId::Pool, u64::MAX, &limits).unwrap()
    });
    assert_eq!(turn.cut, Some(Cut::Paused));
    let engine = &machine.cores[0].engines[EngineId::Pool.index()];
    assert_eq!(engine.retired.div_ceil(2), u64::from(engine.registers[0]));
    assert!(engine.retired > 1000);
    assert_eq!(translator.counters().exits.get(&ExitReason::Pause), Some(&1));
}

/// Wrong code for an opcode is found.
#[test]
fn a_wrong_lowering_is_found() {
    for opcode in [op::MOVE, op::ALU_OP] {
        let shared = Engine::with_defect(opcode);
        let different = (0..20).any(|seed| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let words = program(&mut rng, true);
            let words = [&words[..], &[]];
            let (mut plain, mut native) = (machine(words, true), machine(words, true));
            let translator = Translator::new(&shared, Tier::Jit);
            let _ = turn(&mut plain, EngineId::Pool, 100, None);
            let _ = turn(&mut native, EngineId::Pool, 100, Some(&translator));
            state(&plain) != state(&native)
        });
        assert!(different, "0x{opcode:02x}");
    }
}
