//! Moves of DMA against a plain model, byte by byte: every byte of the source is read before the first one is
//! written, in the order of the pattern (chapter 06 section 6, chapter 07 sections 5.3 and 11, C7-7).

use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::runtime::interp::FaultKind;
use seqjit::runtime::interp::transfer::{check, perform};
use seqjit::runtime::isa::{Dtype, Generation, Space};
use seqjit::runtime::machine::dma::{Move, MoveOp, Pattern};
use seqjit::runtime::machine::soc::Target;
use seqjit::runtime::machine::{
    BufferRole, BufferSpec, CoreSpec, HBM_BASE, Image, Machine, MachineOptions, Stream,
};
use seqjit::runtime::num::{Fp8, from_f32, to_f32};

const BUFFER: usize = 0x1_0000;
const GENERATION: Generation = Generation::Cayman;

fn machine() -> Machine {
    let core = |physical| CoreSpec {
        name: "moves".into(),
        streams: std::array::from_fn(|_| Stream { base: 0, words: Arc::new([]), ends_gracefully: true }),
        queues: Vec::new(),
        variables: Vec::new(),
        table_base: 0,
        physical,
        dve_programs: None,
        fp8: Fp8::default(),
        table_sets: Vec::new(),
        replica_groups: Vec::new(),
    };
    let buffer = |index: u64, role| BufferSpec {
        name: format!("buffer{index}"),
        address: HBM_BASE + index * 0x10_0000,
        size: BUFFER,
        role,
        initial: None,
    };
    let buffers = vec![buffer(0, BufferRole::Scratch), buffer(1, BufferRole::Output)];
    let cores = vec![Arc::new(core(0)), Arc::new(core(1))];
    let image = Image { generation: GENERATION, cores, buffers };
    Machine::new(&image, MachineOptions { strict: false, ..MachineOptions::default() })
}

/// A byte of a memory: which one, and where. On chip the place is the partition and the byte in it.
type Place = (usize, usize, usize);

/// Where a linear offset from a pattern's start is; `None` outside the memory.
fn place(start: Target, at: i64) -> Option<Place> {
    let on_chip = |core: usize, space, pitch: i64, offset: u64| {
        let linear = offset as i64 + at;
        let (partition, byte) = (linear.div_euclid(pitch), linear.rem_euclid(pitch));
        let active = i64::from(GENERATION.geometry().active(space));
        let inside = (0..128).contains(&partition) && byte < active;
        let memory = 2 + 2 * core + usize::from(space == Space::Psum);
        inside.then_some((memory, partition as usize, byte as usize))
    };
    match start {
        Target::Dram { buffer, offset } => {
            let at = offset as i64 + at;
            (0..BUFFER as i64).contains(&at).then_some((buffer, 0, at as usize))
        }
        Target::Sbuf { core, offset } => on_chip(core, Space::Sbuf, 0x4_0000, offset),
        Target::Psum { core, offset } => on_chip(core, Space::Psum, 0x8000, offset),
        _ => None,
    }
}

/// Offsets of all bytes in stream order.
fn offsets(pattern: &Pattern) -> Vec<i64> {
    pattern.dims.iter().fold(vec![0], |inner, (count, step)| {
        (0..*count as i64).flat_map(|k| inner.iter().map(move |at| at + k * step)).collect()
    })
}

fn places(pattern: &Pattern) -> Option<Vec<Place>> {
    offsets(pattern).into_iter().map(|at| place(pattern.start, at)).collect()
}

fn memory(machine: &mut Machine, (memory, partition, _): Place) -> &mut [u8] {
    match memory {
        0 | 1 => machine.dram.buffer_mut(memory).overwrite(),
        chip => {
            let core = &mut machine.cores[(chip - 2) / 2];
            let memory = if chip % 2 == 0 { &mut core.sbuf } else { &mut core.psum };
            memory.partition_mut(partition)
        }
    }
}

/// What the move should do, on a machine of its own.
fn model(machine: &mut Machine, one: &Move) {
    let (from, to) = (places(&one.source).unwrap(), places(&one.destination).unwrap());
    let read: Vec<u8> = from.iter().map(|at| memory(machine, *at)[at.2]).collect();
    let data = match one.op {
        MoveOp::Cast { from, to } => read
            .chunks(from.bytes())
            .flat_map(|element| {
                let mut bits = [0; 4];
                bits[..element.len()].copy_from_slice(element);
                let value = to_f32(u32::from_le_bytes(bits), from, Fp8::default());
                from_f32(value, to, Fp8::default()).to_le_bytes()[..to.bytes()].to_vec()
            })
            .collect(),
        _ => read,
    };
    for (at, byte) in to.iter().zip(data) {
        memory(machine, *at)[at.2] = byte;
    }
}

/// Every byte of what a move might reach.
fn snapshot(machine: &mut Machine, one: &Move) -> Vec<u8> {
    let to = places(&one.destination).unwrap();
    let mut rows: Vec<Place> = to.iter().map(|at| (at.0, at.1, 0)).collect();
    rows.sort_unstable();
    rows.dedup();
    rows.into_iter().flat_map(|row| memory(machine, row).to_vec()).collect()
}

fn start(rng: &mut ChaCha8Rng, element: u64) -> Target {
    let core = rng.random_range(0..2);
    let byte = element * rng.random_range(0..0x400);
    let partition = rng.random_range(0..100);
    match rng.random_range(0..6) {
        0..3 => Target::Dram {
            buffer: rng.random_range(0..2),
            offset: (0x4000 + element * rng.random_range(0..0x400)) as usize,
        },
        3 | 4 => Target::Sbuf { core, offset: partition * 0x4_0000 + 0x4000 + byte },
        _ => Target::Psum { core, offset: partition * 0x8000 + 0x1000 + byte },
    }
}

/// A pattern of so many elements in counts that are factors of it.
fn pattern(rng: &mut ChaCha8Rng, mut elements: u64, element: u64) -> Pattern {
    let start = start(rng, element);
    let pitch = match start {
        Target::Dram { .. } => 64,
        Target::Sbuf { .. } => 0x4_0000,
        _ => 0x8000,
    };
    let mut take = || {
        let factors: Vec<u64> = (1..=elements).filter(|n| elements.is_multiple_of(*n)).collect();
        let count = factors[rng.random_range(0..factors.len())];
        elements /= count;
        count
    };
    let [run, a, b] = [take(), take(), take()];
    let c = elements;
    let mut dims = vec![(run * element, 1)];
    for count in [a, b, c] {
        let near = element as i64 * rng.random_range(-3..40);
        let dense = (run * element) as i64;
        let step = [near, dense, pitch, -pitch, element as i64][rng.random_range(0..5)];
        dims.push((count, step));
    }
    Pattern { start, dims, limit: None }
}

fn case(rng: &mut ChaCha8Rng) -> Move {
    let casts = [
        (Dtype::FP32, Dtype::BFLOAT16),
        (Dtype::INT8, Dtype::FP32),
        (Dtype::BFLOAT16, Dtype::FP32),
        (Dtype::FP16, Dtype::UINT8),
    ];
    let op = match rng.random_range(0..8) {
        at @ 0..4 => MoveOp::Cast { from: casts[at].0, to: casts[at].1 },
        _ => MoveOp::Copy,
    };
    let sizes = match &op {
        MoveOp::Cast { from, to } => (from.bytes() as u64, to.bytes() as u64),
        // Elements of a copy are only a way to get steps that meet.
        _ => [(1, 1), (2, 2), (4, 4), (8, 8)][rng.random_range(0..4)],
    };
    let elements = [1, 6, 16, 48, 64, 256, 1024, 768][rng.random_range(0..8)];
    Move { source: pattern(rng, elements, sizes.0), destination: pattern(rng, elements, sizes.1), op }
}

#[test]
fn random_moves_are_those_of_the_model() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut ours, mut plain) = (machine(), machine());
    for memory in 0..6 {
        for partition in 0..if memory < 2 { 1 } else { 128 } {
            let row = self::memory(&mut ours, (memory, partition, 0));
            rng.fill(row);
            let copy = row.to_vec();
            self::memory(&mut plain, (memory, partition, 0)).copy_from_slice(&copy);
        }
    }
    let (mut legal, mut same_memory) = (0, 0);
    for number in 0..3_000 {
        let one = case(&mut rng);
        let inside = places(&one.source).is_some() && places(&one.destination).is_some();
        if !inside {
            let refused = check(&ours, &one);
            assert!(matches!(refused, Err(FaultKind::Memory { .. })), "{number}: {one:?} gives {refused:?}");
            continue;
        }
        if check(&ours, &one).is_err() {
            // On chip, a run may end in another partition than it began in.
            continue;
        }
        legal += 1;
        same_memory += u32::from(places(&one.source).unwrap()[0].0 == places(&one.destination).unwrap()[0].0);
        let bytes = (one.source.bytes().unwrap(), one.destination.bytes().unwrap());
        assert_eq!(perform(&mut ours, 0, &one).unwrap(), bytes, "{number}: {one:?}");
        model(&mut plain, &one);
        let (found, expected) = (snapshot(&mut ours, &one), snapshot(&mut plain, &one));
        assert!(found == expected, "{number}: {one:?}");
    }
    assert!(legal > 1_200 && same_memory > 75, "{legal} moves, {same_memory} inside one memory");
}

#[test]
fn what_a_move_writes_counts_as_written() {
    let mut machine = machine();
    // Rows of 70 bytes in an output, 100 apart: exactly these are written.
    let source = Pattern {
        start: Target::Sbuf { core: 0, offset: 0 },
        dims: vec![(70, 1), (3, 0x4_0000)],
        limit: None,
    };
    let start = Target::Dram { buffer: 1, offset: 30 };
    let destination = Pattern { start, dims: vec![(70, 1), (3, 100)], limit: None };
    perform(&mut machine, 0, &Move { source, destination, op: MoveOp::Copy }).unwrap();
    let buffer = machine.dram.buffer(1);
    for at in 0..400 {
        let written = (30..330).contains(&at) && (at - 30) % 100 < 70;
        assert_eq!(buffer.first_unwritten(at, 1).is_none(), written, "byte {at}");
    }
}
