//! A machine of one core that runs a few words.

use std::sync::Arc;

use seqjit_runtime::interp::{Fault, Instruction};
use seqjit_runtime::isa::field::Addr4;
use seqjit_runtime::isa::{EngineId, Generation, Layout, Space, Tensor, Word};
use seqjit_runtime::machine::{CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit_runtime::sequencer::engine_turn;

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

/// A machine of one idle core.
pub fn machine(generation: Generation, options: MachineOptions) -> Machine {
    let core = CoreSpec {
        name: "test".into(),
        physical: 0,
        streams: Default::default(),
        queues: Vec::new(),
        variables: Vec::new(),
        table_base: 0,
        dve_programs: None,
        fp8: Default::default(),
        table_sets: Vec::new(),
    };
    let image = Image { generation, cores: vec![Arc::new(core)], buffers: Vec::new() };
    Machine::new(&image, options)
}

/// A strict machine of a generation.
pub fn strict(generation: Generation) -> Machine {
    machine(generation, MachineOptions::default())
}

/// Runs words on one engine; memories and hidden state stay as they are.
pub fn run(machine: &mut Machine, engine: EngineId, words: &[Word]) -> Result<(), Fault> {
    let words = words.iter().map(|w| Instruction::new(*w, machine.generation)).collect();
    let core = &mut machine.cores[0];
    let mut spec = (*core.spec).clone();
    spec.streams = Default::default();
    spec.streams[engine.index()] = Stream { base: 0, words, ends_gracefully: true };
    let idle = core.clone();
    core.spec = Arc::new(spec);
    core.restart();
    (core.pe, core.act, core.dve, core.pool) = (idle.pe, idle.act, idle.dve, idle.pool);
    machine.start_all();
    while engine_turn(machine, 0, engine, 256)?.progress > 0 {}
    Ok(())
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
