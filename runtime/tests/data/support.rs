//! A machine of one core that runs a few words.

use std::sync::Arc;

use seqjit_runtime::interp::{Fault, Instruction};
use seqjit_runtime::isa::field::Addr4;
use seqjit_runtime::isa::{EngineId, Generation, Layout, Space, Tensor, Word};
use seqjit_runtime::machine::dma::QueueSpec;
use seqjit_runtime::machine::{BufferRole, BufferSpec, CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit_runtime::sequencer::{dma_turn, engine_turn};

/// The word of an opcode with these operands.
pub fn word<L: Layout>(opcode: u8, operands: L) -> Word {
    let mut word = Word::new(opcode);
    operands.write(&mut word);
    word
}

/// A contiguous operand of `n` elements from a byte of SBUF partition 0.
pub fn line<const N: usize>(start: u32, n: u16) -> Tensor<N> {
    let mut tensor = Tensor { start: Addr4(start), step: [0; N], num: [1; N] };
    (tensor.step[0], tensor.num[0]) = (1, n);
    tensor
}

/// The address of a byte of an SBUF partition, on generations before MAVERICK.
pub fn at(partition: u32, byte: u32) -> u32 {
    partition << 18 | byte
}

/// What a core of a test machine is made from.
#[derive(Clone, Default)]
pub struct Setup {
    pub streams: Vec<(EngineId, Vec<Word>)>,
    pub variables: Vec<Option<u64>>,
    pub replica_groups: Vec<Vec<u32>>,
}

impl Setup {
    fn core(&self, physical: usize, generation: Generation) -> CoreSpec {
        let mut streams: [Stream; 5] = Default::default();
        for stream in &mut streams {
            stream.ends_gracefully = true;
        }
        for (engine, words) in &self.streams {
            streams[engine.index()].words = words.iter().map(|w| Instruction::new(*w, generation)).collect();
        }
        let queue =
            QueueSpec { name: "generated".into(), owner: EngineId::Pool, dynamic: true, blocks: Vec::new() };
        CoreSpec {
            name: "test".into(),
            physical,
            streams,
            queues: vec![Arc::new(queue)],
            variables: self.variables.clone(),
            table_base: 0,
            dve_programs: None,
            fp8: Default::default(),
            replica_groups: self.replica_groups.clone(),
            table_sets: Vec::new(),
        }
    }
}

/// A machine of several cores and buffers of device memory.
pub fn cluster(
    generation: Generation,
    options: MachineOptions,
    cores: &[Setup],
    buffers: Vec<BufferSpec>,
) -> Machine {
    let cores = cores.iter().enumerate().map(|(k, setup)| Arc::new(setup.core(k, generation))).collect();
    Machine::new(&Image { generation, cores, buffers }, options)
}

/// A buffer that holds words at a SoC address.
pub fn buffer(name: &str, address: u64, words: &[u32]) -> BufferSpec {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let (name, size, role) = (name.to_owned(), bytes.len(), BufferRole::Scratch);
    BufferSpec { name, address, size, role, initial: Some(bytes.into()) }
}

/// The words of a buffer, by its position.
pub fn buffer_words(machine: &Machine, index: usize) -> Vec<u32> {
    let bytes = machine.dram.buffer(index).bytes();
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// A machine of one idle core.
pub fn machine(generation: Generation, options: MachineOptions) -> Machine {
    cluster(generation, options, &[Setup::default()], Vec::new())
}

/// A strict machine of a generation.
pub fn strict(generation: Generation) -> Machine {
    machine(generation, MachineOptions::default())
}

/// Runs words on one engine of the first core; memories and hidden state stay as they are.
pub fn run(machine: &mut Machine, engine: EngineId, words: &[Word]) -> Result<(), Fault> {
    let words = words.iter().map(|w| Instruction::new(*w, machine.generation)).collect();
    let core = &mut machine.cores[0];
    let mut spec = (*core.spec).clone();
    for stream in &mut spec.streams {
        *stream = Stream { ends_gracefully: true, ..Stream::default() };
    }
    spec.streams[engine.index()].words = words;
    let idle = core.clone();
    core.spec = Arc::new(spec);
    core.restart();
    (core.pe, core.act, core.dve, core.pool) = (idle.pe, idle.act, idle.dve, idle.pool);
    run_all(machine)
}

/// Starts all engines and gives turns to them and to the queues until nothing moves.
pub fn run_all(machine: &mut Machine) -> Result<(), Fault> {
    machine.start_all();
    loop {
        let mut progress = 0;
        for core in 0..machine.cores.len() {
            for engine in EngineId::ALL {
                progress += engine_turn(machine, core, engine, 256)?.progress;
            }
            for queue in 0..machine.cores[core].queues.len() {
                progress += dma_turn(machine, core, queue)?.progress;
            }
        }
        if progress == 0 {
            return Ok(());
        }
    }
}

/// The engines that have not come to their end: core and engine.
pub fn unfinished(machine: &Machine) -> Vec<(usize, EngineId)> {
    let engines =
        machine.cores.iter().enumerate().flat_map(|(k, core)| core.engines.iter().map(move |e| (k, e)));
    engines.filter(|(_, e)| e.is_active()).map(|(k, e)| (k, e.id)).collect()
}

/// Writes little-endian words to an SBUF partition.
pub fn put(machine: &mut Machine, partition: usize, byte: usize, words: &[u32]) {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    put_bytes(machine, partition, byte, &bytes);
}

/// Writes FP32 numbers to an SBUF partition.
pub fn put_floats(machine: &mut Machine, partition: usize, byte: usize, values: &[f32]) {
    let words: Vec<u32> = values.iter().map(|v| v.to_bits()).collect();
    put(machine, partition, byte, &words);
}

/// Writes bytes to an SBUF partition.
pub fn put_bytes(machine: &mut Machine, partition: usize, byte: usize, bytes: &[u8]) {
    let memory = machine.cores[0].memory_mut(Space::Sbuf);
    memory.partition_mut(partition)[byte..byte + bytes.len()].copy_from_slice(bytes);
    memory.note_written(partition, byte, bytes.len());
}

/// Bytes of an SBUF partition.
pub fn bytes(machine: &Machine, partition: usize, byte: usize, n: usize) -> &[u8] {
    &machine.cores[0].memory(Space::Sbuf).partition(partition)[byte..byte + n]
}

/// Little-endian words of an SBUF partition.
pub fn words(machine: &Machine, partition: usize, byte: usize, n: usize) -> Vec<u32> {
    let bytes = bytes(machine, partition, byte, 4 * n);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// FP32 numbers of an SBUF partition.
pub fn floats(machine: &Machine, partition: usize, byte: usize, n: usize) -> Vec<f32> {
    words(machine, partition, byte, n).into_iter().map(f32::from_bits).collect()
}

/// Hexadecimal words, as the manual prints them.
pub fn hex(text: &str) -> Vec<u32> {
    text.split_whitespace().map(|w| u32::from_str_radix(w, 16).unwrap()).collect()
}
