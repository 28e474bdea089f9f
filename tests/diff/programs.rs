//! Random programs: up to 200 words of five engines with branches, loops, semaphores, registers and transfers,
//! which leave the same machine in every tier, under every schedule, wherever they are stopped on the way.
//!
//! `SEQJIT_DIFF_PROGRAMS=N` sets how many are run. One that differs is shrunk by leaving out lines; the failure
//! prints the text of what is left, which `seqjit asm` takes.

mod fused;

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::isa::field::{DataSrc, Field, Regs, UpdateMode, WaitMode};
use seqjit::runtime::isa::layouts::CTRL_MV;
use seqjit::runtime::isa::text::{Line, Names};
use seqjit::runtime::isa::{
    Dtype, EngineId, Events, Family, Generation, Layout, Lowering, Word, decode, op, opcode_info,
};
use seqjit::runtime::num::Level;
use seqjit::{Engine, Options, Program, Schedule, Session, Tier, Until, asm};

use crate::words::{self, Case};
use crate::{pair, shrink, state};

/// Programs, if nothing else is asked for.
const PROGRAMS: u64 = 60;
/// Words that a program may run: an endless loop is stopped there.
const BUDGET: u64 = 3000;
/// Semaphores that words use; transfers use S8 and up.
const SEMAPHORES: usize = 6;

/// A program as text: what every program has, then the lines of its streams.
struct Text {
    head: String,
    lines: Vec<String>,
}

impl Text {
    fn source(&self, lines: &[String]) -> String {
        format!("{}{}", self.head, lines.concat())
    }
}

/// Makes the text of a program.
struct Writer<'a> {
    rng: &'a mut ChaCha8Rng,
    generation: Generation,
    opcodes: Vec<u8>,
    lines: Vec<String>,
    /// How far each semaphore has been counted by the lines so far.
    counted: [u32; SEMAPHORES],
}

fn write(seed: u64) -> Text {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let generation = *[Generation::Sunda, Generation::Cayman].choose(rng).unwrap();
    let dynamic = generation == Generation::Cayman;
    let queue = if dynamic { "table addresses = [x, y]\nqueue q dynamic SP" } else { "queue q in SP" };
    let head = format!(
        "program random for {generation}\n{}input x uint8[128, 256]\noutput y uint8[128, 256]\n{queue}\n\
         sbuf tile uint8[256] at 1024\n",
        if rng.random() { "prologue\n" } else { "" },
    );
    // These end a stream, wait for what may never come, or need a program around them.
    let excluded = |opcode: &u8| {
        let info = opcode_info(*opcode).unwrap();
        info.lowering == Lowering::Sequencer
            || matches!(info.family, Family::Dma | Family::Collective)
            || matches!(*opcode, op::COMPARE_BRANCH | op::POLL_SEM | op::EXTENDED_INST)
    };
    let opcodes = words::opcodes(generation).into_iter().filter(|o| !excluded(o)).collect();
    let wanted = rng.random_range(1..=160);
    let mut writer = Writer { rng, generation, opcodes, lines: Vec::new(), counted: [0; SEMAPHORES] };
    while writer.lines.len() < wanted {
        writer.step();
    }
    Text { head, lines: writer.lines }
}

impl Writer<'_> {
    fn step(&mut self) {
        let engine = *EngineId::ALL.choose(self.rng).unwrap();
        match self.rng.random_range(0..20) {
            0 => self.transfer(engine),
            1 | 2 => self.repeat(engine),
            3 => self.skip(engine),
            4 if self.rng.random_bool(0.1) => self.push(engine, Word::new(op::HALT)),
            _ => self.word(engine),
        }
    }

    /// A transfer in one of the two directions; some words wait for its end.
    fn transfer(&mut self, engine: EngineId) {
        let label = self.lines.len();
        let way = if self.rng.random() { "x -> tile" } else { "tile -> y" };
        let queue = if self.generation == Generation::Sunda { " queue=q" } else { "" };
        self.lines.push(format!("SP t{label}: DMA {way}{queue}\n"));
        if self.rng.random() {
            self.lines.push(format!("{engine} NOP after t{label}\n"));
        }
    }

    /// A word with the registers that it needs, a wait that will hold, an update.
    fn word(&mut self, engine: EngineId) {
        let Some(case) = self.draw(engine) else { return };
        self.registers(&case);
        case.before.iter().for_each(|word| self.push(engine, *word));
        let mut word = case.word;
        let decoded = decode(&word, self.generation).unwrap();
        if decoded.operands.layout().def().events {
            self.events().write(&mut word.0[4..12]);
        }
        self.push(engine, word);
    }

    fn draw(&mut self, engine: EngineId) -> Option<Case> {
        let opcode = *self.opcodes.choose(self.rng).unwrap();
        if !opcode_info(opcode).unwrap().legal_on(engine) {
            return None;
        }
        let mut case = words::legal(self.rng, self.generation, opcode);
        case.engine = engine;
        let case = words::variant(self.rng, &case);
        case.is_legal().then_some(case)
    }

    /// Waits only for what lines before this one count; the lines are an order in which all can run.
    fn events(&mut self) -> Events {
        let mut events = Events::default();
        let at = self.rng.random_range(0..SEMAPHORES);
        if self.rng.random_bool(0.3) {
            let value = self.rng.random_range(0..=self.counted[at]);
            events = Events { wait_mode: WaitMode::SEM_GE_IMM, wait_idx: at as u8, value, ..events };
        }
        if self.rng.random_bool(0.4) {
            let at = self.rng.random_range(0..SEMAPHORES);
            self.counted[at] += 1;
            events.update_mode = UpdateMode::SEM_INC_COMPLETE;
            events.update_idx = at as u8;
        }
        events
    }

    /// Sets the registers of a case.
    fn registers(&mut self, case: &Case) {
        if case.registers.iter().all(|value| *value == 0) {
            return;
        }
        self.set(case.engine, 0, &case.registers);
    }

    fn set(&mut self, engine: EngineId, first: u8, values: &[u32]) {
        let mut word = Word::new(op::MOVE);
        let operands = CTRL_MV {
            num_mov: values.len() as u8,
            dtype: Dtype::UINT32,
            move_source: DataSrc::IMMEDIATE,
            src_registers: Regs([0; 8]),
            dst_registers: Regs(std::array::from_fn(|k| if k < values.len() { first + k as u8 } else { 0 })),
            immediate: std::array::from_fn(|k| values.get(k).copied().unwrap_or(0)),
        };
        operands.write(&mut word);
        self.push(engine, word);
    }

    /// A loop of a few words: R40 counts down.
    fn repeat(&mut self, engine: EngineId) {
        let counter = 40 + self.rng.random_range(0..3);
        let times = self.rng.random_range(1..6);
        self.set(engine, counter, &[times]);
        let first = self.lines.len();
        for _ in 0..self.rng.random_range(0..5) {
            self.word(engine);
        }
        let words = self.lines.len() - first;
        self.count_down(engine, counter, words);
    }

    /// The end of a loop of so many words.
    fn count_down(&mut self, engine: EngineId, counter: u8, words: usize) {
        self.lines.push(format!(
            "{engine} ALU_OP op=SUBTRACT dtype=int32 src1_datasrc=IMMEDIATE src0_lo={counter} dst_lo={counter} \
             immediate=1\n"
        ));
        let back = (-64 * (words as i32 + 1)) as u32;
        self.branch(engine, &format!("cmp_op=GT dtype=int32 cmp0=$R[{counter}] cmp1=0"), back);
    }

    /// A branch over some words, taken or not.
    fn skip(&mut self, engine: EngineId) {
        let compare = ["LT", "LE", "EQ", "NE", "GE", "GT"].choose(self.rng).unwrap();
        let dtype = ["int32", "uint32", "fp32"].choose(self.rng).unwrap();
        let (register, value) = (self.rng.random_range(0..8), self.rng.random_range(0..4));
        let words = self.rng.random_range(1..4);
        self.branch(
            engine,
            &format!("cmp_op={compare} dtype={dtype} cmp0=$R[{register}] cmp1={value}"),
            64 * words,
        );
        for _ in 0..3 {
            self.push(engine, Word::new(op::NOP));
        }
    }

    fn branch(&mut self, engine: EngineId, compare: &str, distance: u32) {
        self.lines.push(format!(
            "{engine} COMPARE_BRANCH {compare} target_mode=RELATIVE br_immediate={distance:#x}\n"
        ));
    }

    fn push(&mut self, engine: EngineId, word: Word) {
        let decoded = decode(&word, self.generation).unwrap();
        let line = Line::new(&decoded, self.generation, &Names::default());
        self.lines.push(format!("{engine} {} {}\n", line.opcode, line.text()));
    }
}

/// What a program is run with beside its text.
struct Setting {
    schedule: Schedule,
    check: bool,
    trace: bool,
    /// Words retired at which both stop to be compared.
    stops: [u64; 2],
    level: Level,
}

impl Setting {
    fn new(seed: u64) -> Setting {
        let rng = &mut ChaCha8Rng::seed_from_u64(!seed);
        let mut stops = [rng.random_range(1..200), rng.random_range(1..200)];
        stops.sort_unstable();
        Setting {
            schedule: if rng.random() { Schedule::Fixed } else { Schedule::Seeded(rng.next_u64()) },
            check: rng.random_bool(0.1),
            trace: rng.random_bool(0.1),
            stops,
            level: *Level::ALL.choose(rng).unwrap(),
        }
    }

    fn session(&self, engine: &Engine, program: &Program, tier: Tier) -> Session {
        let mut options = Options::default();
        (options.strict, options.validate) = (false, false);
        (options.schedule, options.check, options.trace) = (self.schedule, self.check, self.trace);
        options.tier = tier;
        options.max_words = Some(BUDGET);
        let mut session = Session::new(engine, program, options).unwrap();
        session.set_random_inputs(1);
        pair::fill_memories(&mut [session.machine_mut()], &mut ChaCha8Rng::seed_from_u64(self.stops[1]));
        session
    }
}

/// Where a tier differs from the interpreter, if it does.
fn difference(engines: &[Engine], program: &Program, tier: Tier, setting: &Setting) -> Option<String> {
    // The highest of the engines that the level allows.
    let allowed = engines.iter().rfind(|engine| engine.options().cpu <= setting.level);
    let mut plain = setting.session(&engines[0], program, Tier::Interp);
    let mut native = setting.session(allowed.unwrap_or(&engines[0]), program, tier);
    for until in [Until::Words(setting.stops[0]), Until::Words(setting.stops[1]), Until::End] {
        let (a, b) = (plain.run_until(until), native.run_until(until));
        let told = |r: &Result<seqjit::Report, seqjit::RunError>| match r {
            Ok(report) => format!("{:?} {:?} {:?}", report.exit, report.counters, report.warnings),
            Err(error) => format!("{error:?}"),
        };
        if told(&a) != told(&b) {
            return Some(format!("{tier}: {} and {}", told(&a), told(&b)));
        }
        if let Some(found) = state::difference(plain.machine(), native.machine()) {
            return Some(format!("{tier}, {}: {found}", told(&a)));
        }
        if !matches!(&a, Ok(report) if report.exit == seqjit::Exit::Reached) {
            break;
        }
    }
    None
}

/// Where the tiers differ on a text; `None` also if it does not assemble.
fn fails(engines: &[Engine], source: &str, setting: &Setting) -> Option<String> {
    let bytes = asm::assemble_program(source, "random.s").ok()?;
    let program = Program::from_bytes(&bytes, &Default::default()).ok()?;
    [Tier::Jit, Tier::Auto].into_iter().find_map(|tier| difference(engines, &program, tier, setting))
}

fn wanted() -> u64 {
    match std::env::var("SEQJIT_DIFF_PROGRAMS") {
        Ok(text) => text.parse().expect("SEQJIT_DIFF_PROGRAMS is a number of programs"),
        Err(_) => PROGRAMS,
    }
}

/// The least lines that make the tiers differ, if these do.
fn minimal(engines: &[Engine], seed: u64) -> Option<(String, String)> {
    minimal_of(engines, &write(seed), &Setting::new(seed))
}

fn minimal_of(engines: &[Engine], text: &Text, setting: &Setting) -> Option<(String, String)> {
    let found = fails(engines, &text.source(&text.lines), setting)?;
    let still = |lines: &[String]| fails(engines, &text.source(lines), setting).is_some();
    let lines = shrink::fewer(text.lines.clone(), &still);
    Some((found, text.source(&lines)))
}

#[test]
fn random_programs_agree() {
    let engines = pair::engines(None);
    for seed in 0..wanted() {
        if let Some((found, source)) = minimal(&engines, seed) {
            panic!("program {seed}: {found}\n{source}");
        }
    }
}

/// The texts are programs: they assemble, and a good part of them runs to its end.
#[test]
fn random_programs_run() {
    let engine = Engine::new();
    let mut ended = 0;
    for seed in 0..40 {
        let text = write(seed);
        let source = text.source(&text.lines);
        let bytes = asm::assemble_program(&source, "random.s").unwrap_or_else(|e| panic!("{e}\n{source}"));
        let program = Program::from_bytes(&bytes, &Default::default()).unwrap();
        let mut session = Setting::new(seed).session(&engine, &program, Tier::Interp);
        match session.run() {
            Ok(_) | Err(seqjit::RunError::Output(_)) => ended += 1,
            Err(error) => println!("program {seed}: {error}"),
        }
    }
    assert!(ended >= 13, "{ended} of 40 programs end");
}

/// A wrong lowering shows in a program too, and shrinks to a line or two.
#[test]
fn a_wrong_lowering_is_found_in_programs() {
    let engines = pair::engines(Some(op::TENSOR_TENSOR_ARITH_OP));
    let lines = |source: &str| {
        source.lines().filter(|line| EngineId::ALL.iter().any(|e| line.starts_with(e.name()))).count()
    };
    // Where the run stops can need lines that have nothing to do with the difference: the best of some programs.
    let found = (0..200).filter_map(|seed| minimal(&engines, seed)).take(4);
    let (found, source) = found.min_by_key(|(_, source)| lines(source)).expect("a difference");
    println!("{found}\n{source}");
    let lines = lines(&source);
    assert!(lines <= 3, "{source}");
}
