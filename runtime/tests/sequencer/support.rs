//! A machine of one core for test programs, and what tests look at.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use seqjit_runtime::interp::{Fault, Instruction};
use seqjit_runtime::isa::{EngineId, Generation, Word};
use seqjit_runtime::machine::{
    BufferRole, BufferSpec, CoreSpec, Engine, Image, Machine, MachineOptions, NotificationKind, Stream,
};
use seqjit_runtime::sequencer::csr::{Access, Accessor};
use seqjit_runtime::sequencer::{Sequencer, engine_turn};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Where test programs start.
pub const BASE: u64 = 0x1000;
/// A buffer of device memory for test programs.
pub const DATA: u64 = 0x10_0000_0000;
pub const DATA_BYTES: usize = 0x1000;
/// Windows of the semaphore unit of core 0 (chapter 02 section 4).
pub const EVENT_WINDOW: u64 = 0x28_0270_0000;
pub const SEM_READ: u64 = EVENT_WINDOW + 0x1000;
pub const SEM_SET: u64 = EVENT_WINDOW + 0x1400;
pub const SEM_DEC: u64 = EVENT_WINDOW + 0x1C00;

/// System address of an engine's control registers (chapter 01 section 2).
pub fn aperture(engine: EngineId) -> u64 {
    match engine {
        EngineId::Pe => 0x28_0266_0000,
        EngineId::Act => 0x28_0246_0000,
        EngineId::Sp => 0x28_0286_0000,
        EngineId::Dve => 0x28_02B6_0000,
        EngineId::Pool => 0x28_0306_0000,
    }
}

/// Offsets of control registers (chapter 01 sections 2.1, 2.2 and 2.5).
pub const RUN_STALL: u32 = 0x00;
pub const START_CTRL: u32 = 0x04;
pub const HALT_CTRL: u32 = 0x14;
pub const INTR_CTRL: u32 = 0x18;
pub const INTR_INFO: u32 = 0x1C;
pub const LR3: u32 = 0x1060;
pub const LR4: u32 = 0x1080;
pub const LR38: u32 = 0x14C0;
pub const CONTROL: u32 = 0x4000;
pub const BP_CTRL: u32 = 0x4004;
pub const BP_STEP: u32 = 0x4008;
pub const BP_MATCH: u32 = 0x400C;
pub const BP_IC0: u32 = 0x4010;
pub const BP_ADDR0: u32 = 0x4018;
pub const BP_ADDR1: u32 = 0x4020;

/// What a test machine is made from.
#[derive(Clone)]
pub struct Setup {
    generation: Generation,
    options: MachineOptions,
    container: bool,
    programs: Vec<(EngineId, u64, Vec<Word>)>,
    buffers: Vec<BufferSpec>,
}

/// A device image on CAYMAN, strict, with a data buffer.
pub fn setup() -> Setup {
    Setup {
        generation: Generation::Cayman,
        options: MachineOptions::default(),
        container: false,
        programs: Vec::new(),
        buffers: vec![buffer("data", DATA, vec![0; DATA_BYTES])],
    }
}

/// A buffer that holds `bytes` at a SoC address.
pub fn buffer(name: &str, address: u64, bytes: Vec<u8>) -> BufferSpec {
    let (name, size, role) = (name.to_owned(), bytes.len(), BufferRole::Scratch);
    BufferSpec { name, address, size, role, initial: Some(bytes.into()) }
}

/// The machine of [`setup`] with one program at [`BASE`].
pub fn machine(engine: EngineId, words: &[Word]) -> Machine {
    setup().program(engine, words).build()
}

impl Setup {
    pub fn generation(self, generation: Generation) -> Self {
        Setup { generation, ..self }
    }

    pub fn lenient(self) -> Self {
        Setup { options: MachineOptions { strict: false, ..self.options }, ..self }
    }

    pub fn traced(self) -> Self {
        Setup { options: MachineOptions { trace: true, ..self.options }, ..self }
    }

    /// More buffers of device memory.
    pub fn buffers(mut self, buffers: Vec<BufferSpec>) -> Self {
        self.buffers.extend(buffers);
        self
    }

    /// Streams end gracefully, as those of a container do.
    pub fn container(self) -> Self {
        Setup { container: true, ..self }
    }

    pub fn program(self, engine: EngineId, words: &[Word]) -> Self {
        self.program_at(BASE, engine, words)
    }

    pub fn program_at(mut self, base: u64, engine: EngineId, words: &[Word]) -> Self {
        self.programs.push((engine, base, words.to_vec()));
        self
    }

    /// A program whose words lie in a buffer of device memory.
    pub fn program_in_memory(mut self, base: u64, engine: EngineId, words: &[Word]) -> Self {
        let bytes = words.iter().flat_map(|w| w.0).collect();
        self.buffers.push(buffer("program", base, bytes));
        self.program_at(base, engine, words)
    }

    pub fn build(&self) -> Machine {
        let mut buffers = self.buffers.clone();
        buffers.sort_by_key(|b| b.address);
        let image = Image { generation: self.generation, cores: vec![Arc::new(self.core())], buffers };
        Machine::new(&image, self.options)
    }

    /// Loads the programs into a machine of the same generation, options and buffers: quicker than another
    /// machine. What its programs cannot have written is not cleared: on-chip memory.
    pub fn load(&self, machine: &mut Machine) {
        machine.cores[0].spec = Arc::new(self.core());
        machine.cores[0].restart();
        machine.dram.reset(0);
        machine.warnings.clear();
    }

    fn core(&self) -> CoreSpec {
        let mut streams: [Stream; 5] = Default::default();
        for (engine, base, words) in &self.programs {
            let words = words.iter().map(|w| Instruction::new(*w, self.generation)).collect();
            streams[engine.index()] = Stream { base: *base, words, ends_gracefully: self.container };
        }
        CoreSpec {
            name: "test".into(),
            physical: 0,
            streams,
            queues: Vec::new(),
            variables: Vec::new(),
            table_base: 0,
            dve_programs: None,
            fp8: Default::default(),
            replica_groups: Vec::new(),
            table_sets: Vec::new(),
        }
    }
}

pub fn state(machine: &mut Machine, engine: EngineId) -> &mut Engine {
    &mut machine.cores[0].engines[engine.index()]
}

pub fn seq(machine: &mut Machine, engine: EngineId) -> &mut Sequencer {
    &mut state(machine, engine).seq
}

pub fn register(machine: &Machine, engine: EngineId, number: usize) -> u32 {
    machine.cores[0].engines[engine.index()].registers[number]
}

/// Rings the doorbell as the host does.
pub fn ring(machine: &mut Machine, engine: EngineId) {
    machine.csr_write(0, engine, START_CTRL, 1).unwrap();
}

/// Gives turns to all engines until nothing moves.
pub fn run(machine: &mut Machine) -> Result<(), Fault> {
    for _ in 0..10_000 {
        let mut moved = false;
        for engine in EngineId::ALL {
            moved |= engine_turn(machine, 0, engine, 256)?.progress > 0;
        }
        if !moved {
            return Ok(());
        }
    }
    panic!("the program does not end");
}

/// Rings one doorbell and runs.
pub fn start(machine: &mut Machine, engine: EngineId) -> Result<(), Fault> {
    ring(machine, engine);
    run(machine)
}

/// Stop state of an engine: run_state, halt reason, saved PC.
pub fn stopped(machine: &Machine, engine: EngineId) -> (u32, u32, u64) {
    let seq = &machine.cores[0].engines[engine.index()].seq;
    assert!(!seq.running, "{engine} still runs");
    (seq.run_state(), seq.halt_reason as u32, seq.csr.resume_pc())
}

/// Starts a log of control register accesses.
pub fn watch(machine: &mut Machine, engine: EngineId) {
    seq(machine, engine).csr.log = Some(Vec::new());
}

/// The accesses of the sequencer since [`watch`] or the last call.
pub fn accesses(machine: &mut Machine, engine: EngineId) -> Vec<Access> {
    let log = seq(machine, engine).csr.log.as_mut().expect("watched");
    std::mem::take(log).into_iter().filter(|a| a.by == Accessor::Sequencer).collect()
}

/// The writes among them, in order: `start_ctrl=0 run_state=1 lr3=1000`; values in hexadecimal.
pub fn writes(machine: &mut Machine, engine: EngineId) -> String {
    let sunda = machine.generation == Generation::Sunda;
    let mut text = String::new();
    for access in accesses(machine, engine).iter().filter(|a| a.write) {
        let separator = if text.is_empty() { "" } else { " " };
        write!(text, "{separator}{}={:x}", csr_name(access.offset, sunda), access.value).unwrap();
    }
    text
}

fn csr_name(offset: u32, sunda: bool) -> String {
    let name = match (offset, sunda) {
        (0x04, false) | (0x10, true) => "start_ctrl",
        (0x08, false) | (0x14, true) => "run_state",
        (0x14, false) | (0x808, true) => "instr_halt_ctrl",
        (INTR_INFO, _) => "intr_info",
        (LR3, _) => "lr3",
        (LR4, _) => "lr4",
        (CONTROL, _) => "control",
        _ => return format!("csr[{offset:x}]"),
    };
    name.to_owned()
}

/// The core's notifications: engine, PC, kind.
pub fn notifications(machine: &Machine) -> Vec<(Option<EngineId>, u64, NotificationKind)> {
    machine.cores[0].notifications.iter().map(|n| (n.engine, n.pc, n.kind)).collect()
}

/// Runs `f` and returns the lines that the sequencer logged meanwhile.
pub fn logged<R>(f: impl FnOnce() -> R) -> (R, Vec<String>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let result = tracing::subscriber::with_default(Lines(lines.clone()), f);
    let lines = std::mem::take(&mut *lines.lock().unwrap());
    (result, lines)
}

/// Keeps the messages of the sequencer's events.
struct Lines(Arc<Mutex<Vec<String>>>);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "seqjit::sequencer"
    }

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push(message.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Asserts that the lines occur in this order, other lines between them or not.
pub fn assert_in_order(lines: &[String], wanted: &[&str]) {
    let mut rest = lines.iter();
    for line in wanted {
        assert!(rest.any(|l| l == line), "'{line}' is missing or out of order in {lines:#?}");
    }
}
