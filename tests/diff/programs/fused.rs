//! Programs of lane-local words over few rows of few partitions, which meet each other in every way: what may run as one does, and
//! leaves the same as word by word, also where waits, updates and the ends of turns lie inside.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::isa::field::{Addr4, DtypePair, Field, Imm, ImmSrc, ReverseOps, UpdateMode, WaitMode};
use seqjit::runtime::isa::layouts::{D4_MR, S3D3_TS, S3S3D3_TT, S4D4_TR};
use seqjit::runtime::isa::{
    AluOp, Dtype, EngineId, Events, Generation, Layout, PSUM_PITCH, Tensor, Word, op, opcode_info,
};
use seqjit::runtime::num::Level;
use seqjit::{Engine, Program, Schedule, Tier, asm};

use super::{SEMAPHORES, Setting, Text, Writer, difference, minimal_of, wanted};
use crate::pair;
use crate::words::number;

const ENGINES: [EngineId; 3] = [EngineId::Dve, EngineId::Act, EngineId::Pool];

/// What the words of a stretch have in common.
struct Rows {
    lanes: u8,
    elements: u16,
}

fn write(seed: u64) -> Text {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let generation = *[Generation::Sunda, Generation::Cayman].choose(rng).unwrap();
    let wanted = rng.random_range(2..=60);
    let mut writer =
        Writer { rng, generation, opcodes: Vec::new(), lines: Vec::new(), counted: [0; SEMAPHORES] };
    while writer.lines.len() < wanted {
        let engine = *ENGINES.choose(writer.rng).unwrap();
        writer.stretch_in_loop(engine);
    }
    let Writer { lines, .. } = writer;
    Text { head: head(generation), lines }
}

/// Declarations, and what writes the output.
fn head(generation: Generation) -> String {
    let (queue, of) = match generation {
        Generation::Sunda => ("queue q in SP", " queue=q"),
        _ => ("table addresses = [y]\nqueue q dynamic SP", ""),
    };
    format!(
        "program fused for {generation}\noutput y uint8[128, 4]\n{queue}\nsbuf tile uint8[4] at 8192\n\
         SP store: DMA tile -> y{of}\nSP NOP after store\n"
    )
}

impl Writer<'_> {
    /// Words that may run as one, as often as a loop says: R40 counts down.
    fn stretch_in_loop(&mut self, engine: EngineId) {
        let times = if self.rng.random_bool(0.7) { 1 } else { self.rng.random_range(2..5) };
        self.set(engine, 40, &[times]);
        let first = self.lines.len();
        self.stretch(engine);
        let words = self.lines.len() - first;
        if times > 1 {
            self.count_down(engine, 40, words);
        }
    }

    fn stretch(&mut self, engine: EngineId) {
        let lanes = *[1, 3, 32, 40, 64].choose(self.rng).unwrap();
        let elements = *[1, 3, 4, 9, 24, 36, 136].choose(self.rng).unwrap();
        let rows = Rows { lanes, elements };
        let sync = self.rng.random_bool(0.5);
        for _ in 0..self.rng.random_range(2..=10) {
            let mut word = self.lane_local(&rows);
            if !opcode_info(word.opcode()).unwrap().legal_on(engine) {
                continue;
            }
            if sync {
                self.events_of_any_kind().write(&mut word.0[4..12]);
            }
            self.push(engine, word);
        }
    }

    /// As of other programs, but some waits may not hold, or no longer.
    fn events_of_any_kind(&mut self) -> Events {
        let mut events = self.events();
        if events.wait_mode != WaitMode::NONE && self.rng.random_bool(0.05) {
            let modes = [
                WaitMode::SEM_EQ_IMM,
                WaitMode::SEM_LE_IMM,
                WaitMode::EVT_CLEAR,
                WaitMode::EVT_CLEAR_THEN_SET,
                WaitMode::EVT_SET_THEN_CLEAR,
            ];
            events.wait_mode = *modes.choose(self.rng).unwrap();
        }
        if events.update_mode == UpdateMode::NONE && self.rng.random_bool(0.1) {
            let modes =
                [UpdateMode::EVT_SET_COMPLETE, UpdateMode::EVT_CLR_COMPLETE, UpdateMode::SEM_DEC_COMPLETE];
            events.update_mode = *modes.choose(self.rng).unwrap();
            events.update_idx = self.rng.random_range(0..SEMAPHORES as u8);
        }
        events
    }

    fn lane_local(&mut self, rows: &Rows) -> Word {
        const FLOATS: [Dtype; 4] = [Dtype::FP32, Dtype::FP32, Dtype::BFLOAT16, Dtype::FP16];
        const OPERATORS: [AluOp; 5] =
            [AluOp::ADD, AluOp::SUBTRACT, AluOp::MULT, AluOp::MAX, AluOp::LOGICAL_XOR];
        let dtype = *FLOATS.choose(self.rng).unwrap();
        let to = *FLOATS.choose(self.rng).unwrap();
        let operator = *OPERATORS.choose(self.rng).unwrap();
        let opcode = *[
            op::TENSOR_TENSOR_ARITH_OP,
            op::TENSOR_TENSOR_ARITH_OP,
            op::TENSOR_SCALAR_ARITH_OP,
            op::TENSOR_SCALAR_ARITH_OP,
            op::COPY,
            op::CAST,
            op::RECIPROCAL,
            op::MEMSET,
        ]
        .choose(self.rng)
        .unwrap();
        let mut word = Word::new(opcode);
        match opcode {
            op::TENSOR_TENSOR_ARITH_OP => S3S3D3_TT {
                in0_in1_dtype: DtypePair::new(dtype, dtype),
                out_dtype: to,
                op: operator,
                num_active_channels: rows.lanes,
                src0: self.row(rows, dtype),
                src1: self.row(rows, dtype),
                dst: self.row(rows, to),
            }
            .write(&mut word),
            op::TENSOR_SCALAR_ARITH_OP => {
                let ((imm0_src, imm0), (imm1_src, imm1)) = (self.scalar(), self.scalar());
                S3D3_TS {
                    src: self.row(rows, dtype),
                    in_dtype: dtype,
                    out_dtype: to,
                    num_active_channels: rows.lanes,
                    imm0_src,
                    op0: operator,
                    op1: *[AluOp::BYPASS, AluOp::ADD].choose(self.rng).unwrap(),
                    reverse_operands: ReverseOps(self.rng.random_range(0..4)),
                    imm1_src,
                    imm0,
                    imm1,
                    dst: self.row(rows, to),
                    ..S3D3_TS::read(&word)
                }
                .write(&mut word);
            }
            op::MEMSET => D4_MR {
                dst_element_count: rows.elements.into(),
                dtype,
                num_active_channels: rows.lanes,
                set_value: Imm(number(self.rng)),
                dst: self.row(rows, dtype),
                ..D4_MR::read(&word)
            }
            .write(&mut word),
            _ => S4D4_TR {
                src: self.row(rows, dtype),
                in_dtype: dtype,
                out_dtype: if opcode == op::COPY { dtype } else { to },
                num_active_channels: rows.lanes,
                dst: self.row(rows, if opcode == op::COPY { dtype } else { to }),
                ..S4D4_TR::read(&word)
            }
            .write(&mut word),
        }
        word
    }

    /// One of few rows, some of which share bytes, walked in one of few ways.
    fn row<const N: usize>(&mut self, rows: &Rows, dtype: Dtype) -> Tensor<N> {
        let size = dtype.bytes() as u32;
        let step: i16 = *[1, 1, 1, 1, 1, 2, -1].choose(self.rng).unwrap();
        let mut start = self.place();
        if step < 0 {
            start += size * u32::from(rows.elements - 1);
        }
        let mut tensor = Tensor { start: Addr4(start), step: [1; N], num: [1; N] };
        (tensor.step[0], tensor.num[0]) = (step, rows.elements);
        tensor
    }

    /// An address: partitions that are the same, near or far, bytes that are the same or near.
    fn place(&mut self) -> u32 {
        let geometry = self.generation.geometry();
        let psum = self.rng.random_bool(0.15);
        let (base, pitch) = if psum { (geometry.psum_base, PSUM_PITCH) } else { (0, geometry.sbuf_pitch) };
        let partition = *[0, 0, 0, 0, 0, 0, 1, 2, 32].choose(self.rng).unwrap();
        let row = 600 * self.rng.random_range(0..3);
        let near = *[0, 0, 0, 0, 8].choose(self.rng).unwrap();
        base + partition * pitch + row + near
    }

    /// A scalar in the word, or one a lane in a row.
    fn scalar(&mut self) -> (ImmSrc, Imm) {
        if self.rng.random() {
            (ImmSrc::PTR, Imm(self.place()))
        } else {
            (ImmSrc::INSTRUCTION, Imm(number(self.rng)))
        }
    }
}

#[test]
fn fused_programs_agree() {
    let engines = pair::engines(None);
    for seed in 0..2 * wanted() {
        if let Some((found, source)) = minimal_of(&engines, &write(seed), &Setting::new(seed)) {
            panic!("program {seed}: {found}\n{source}");
        }
    }
}

/// Fused runs of programs, words in them, and programs in which a run is not the whole of it.
fn runs(engine: &Engine, seed: u64) -> (u64, u64) {
    let text = write(seed);
    let bytes = asm::assemble_program(&text.source(&text.lines), "fused.s").unwrap();
    let program = Program::from_bytes(&bytes, &Default::default()).unwrap();
    let mut session = Setting::new(seed).session(engine, &program, Tier::Jit);
    match session.run() {
        Ok(report) => (report.translations.fused_runs, report.translations.words),
        Err(_) => (0, 0),
    }
}

/// The programs do what they are for.
#[test]
fn fused_programs_have_runs() {
    let engine = Engine::new();
    let all: Vec<(u64, u64)> = (0..100).map(|seed| runs(&engine, seed)).collect();
    let (runs, words) = all.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{runs} runs in {words} words");
    assert!(runs > 200, "{runs} runs");
    assert!(all.iter().filter(|(runs, _)| *runs > 0).count() > 20);
}

/// A row that two words have added to and multiplied, as one.
const CHAIN: &str = "sbuf a fp32[32]
DVE NOP
DVE TENSOR_TENSOR op=ADD src0=a src1=a dst=a channels=128
DVE TENSOR_SCALAR ops=MULTIPLY,BYPASS imm=2.0,0 src=a dst=a channels=128
";

/// A wrong lowering shows where its word only runs in a run.
#[test]
fn a_wrong_lowering_is_found_in_runs() {
    let source = format!("{}{CHAIN}", head(Generation::Cayman));
    let bytes = asm::assemble_program(&source, "chain.s").unwrap();
    let program = Program::from_bytes(&bytes, &Default::default()).unwrap();
    let schedule = Schedule::Fixed;
    let setting = Setting { schedule, check: false, trace: false, stops: [100, 101], level: Level::host() };
    let mut session = setting.session(&Engine::new(), &program, Tier::Jit);
    let translations = session.run().unwrap().translations;
    // The others are two NOP.
    assert_eq!((translations.fused_runs, translations.words, translations.shapes), (1, 4, 3));
    for opcode in [op::TENSOR_TENSOR_ARITH_OP, op::TENSOR_SCALAR_ARITH_OP] {
        let found = difference(&pair::engines(Some(opcode)), &program, Tier::Jit, &setting);
        println!("{}", found.expect("a difference"));
    }
    assert_eq!(difference(&pair::engines(None), &program, Tier::Jit, &setting), None);
}

/// Words of long rows whose lanes read what the lane before has written: rows of several lanes may not be read first.
#[test]
fn lanes_may_depend_on_each_other() {
    let words = [
        "TENSOR_SCALAR ops=MULTIPLY,ADD imm=0.5,3.0 src=fp32@{}[1,1,1][136,1,1] dst=fp32@{}[1,1,1][136,1,1]",
        "TENSOR_SCALAR ops=ADD,BYPASS imm=0.5,0 src=fp32@{}[1,1,1][136,1,1] dst=fp32@{}[1,1,1][136,1,1]",
        "TENSOR_TENSOR op=ADD src0=fp32@{}[1,1,1][136,1,1] src1=fp32@0x2000[1,1,1][136,1,1] dst=fp32@{}[1,1,1][136,1,1]",
        "COPY src=fp32@{}[1,1,1,1][136,1,1,1] dst=fp32@{}[1,1,1,1][136,1,1,1]",
        "CAST src=bfloat16@{}[1,1,1,1][136,1,1,1] dst=fp32@{}[1,1,1,1][136,1,1,1]",
    ];
    // Row 0, and the same bytes of row 1.
    let (here, next) = ("0x0", "0x40000");
    for word in words {
        for (from, to) in [(here, next), (next, here), (here, here)] {
            let word = word.replacen("{}", from, 1).replacen("{}", to, 1);
            let source = format!("{}DVE {word} channels=100\n", head(Generation::Cayman));
            let bytes = asm::assemble_program(&source, "lanes.s").unwrap_or_else(|e| panic!("{e}"));
            let program = Program::from_bytes(&bytes, &Default::default()).unwrap();
            for engine in pair::engines(None) {
                let level = engine.options().cpu;
                let setting = Setting {
                    schedule: Schedule::Fixed,
                    check: false,
                    trace: false,
                    stops: [100, 101],
                    level,
                };
                assert_eq!(difference(&[engine], &program, Tier::Jit, &setting), None, "{word} {level}");
            }
        }
    }
}
