//! Moves of DMA beside `memcpy` of as many bytes, in one run. Throughput counts the bytes written.
//!
//! The patterns are those of compiled programs: rows of a matrix to a partition each, their way back, tables of
//! constants that become FP32, and the two words that generate transposing transfers.

#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use seqjit::runtime::interp::transfer::perform;
use seqjit::runtime::isa::{Dtype, Generation};
use seqjit::runtime::machine::dma::{Move, MoveOp, Pattern};
use seqjit::runtime::machine::soc::Target;
use seqjit::runtime::machine::{
    BufferRole, BufferSpec, CoreSpec, HBM_BASE, Image, Machine, MachineOptions, Stream,
};
use seqjit::runtime::num::Fp8;

/// Bytes of each of the two buffers.
const BUFFER: usize = 32 << 20;
/// Linear bytes from a partition of SBUF to the next one.
const PARTITION: i64 = 0x4_0000;
const COPY: MoveOp = MoveOp::Copy;
const TO_BF16: MoveOp = MoveOp::Cast { from: Dtype::FP32, to: Dtype::BFLOAT16 };
const TO_FP32: MoveOp = MoveOp::Cast { from: Dtype::INT8, to: Dtype::FP32 };

fn machine() -> Machine {
    let core = CoreSpec {
        name: "dma".into(),
        streams: std::array::from_fn(|_| Stream { base: 0, words: Arc::new([]), ends_gracefully: true }),
        queues: Vec::new(),
        variables: Vec::new(),
        table_base: 0,
        physical: 0,
        dve_programs: None,
        fp8: Fp8::default(),
        table_sets: Vec::new(),
        replica_groups: Vec::new(),
    };
    let buffer = |index: u64, role| BufferSpec {
        name: format!("buffer{index}"),
        address: HBM_BASE + index * 2 * BUFFER as u64,
        size: BUFFER,
        role,
        initial: None,
    };
    let buffers = vec![buffer(0, BufferRole::Input), buffer(1, BufferRole::Output)];
    let image = Image { generation: Generation::Cayman, cores: vec![Arc::new(core)], buffers };
    let mut machine = Machine::new(&image, MachineOptions::default());
    let bytes = machine.dram.buffer_mut(0).overwrite();
    // Ordinary numbers in every datatype: bytes from 0x38 to 0x3F.
    bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = 0x38 | (at * 7 % 8) as u8);
    machine
}

fn dram(buffer: usize, dims: &[(u64, i64)]) -> Pattern {
    Pattern { start: Target::Dram { buffer, offset: 0 }, dims: dims.to_vec(), limit: None }
}

fn sbuf(dims: &[(u64, i64)]) -> Pattern {
    Pattern { start: Target::Sbuf { core: 0, offset: 0 }, dims: dims.to_vec(), limit: None }
}

/// Name, source, destination, and what happens on the way.
fn forms() -> Vec<(&'static str, Pattern, Pattern, MoveOp)> {
    let rows = |n| [(n, 1), (128, PARTITION)];
    vec![
        ("rows_4000", dram(0, &[(4000, 1), (128, 4000)]), sbuf(&rows(4000)), COPY),
        ("rows_4608_of_9216", dram(0, &[(4608, 1), (128, 9216)]), sbuf(&rows(4608)), COPY),
        ("rows_3584_of_200704", dram(0, &[(3584, 1), (128, 200_704)]), sbuf(&rows(3584)), COPY),
        ("rows_512_of_4096", dram(0, &[(512, 1), (128, 4096)]), sbuf(&rows(512)), COPY),
        ("rows_back_65536_of_197136", sbuf(&rows(65536)), dram(1, &[(65536, 1), (128, 197_136)]), COPY),
        ("dram_to_dram", dram(0, &[(1 << 20, 1)]), dram(1, &[(1 << 20, 1)]), COPY),
        ("dram_to_dram_rows_512", dram(0, &[(512, 1), (1024, 4096)]), dram(1, &[(1 << 19, 1)]), COPY),
        ("elements_4_of_8", dram(0, &[(4, 1), (1024, 8), (128, 8192)]), sbuf(&rows(4096)), COPY),
        ("cast_fp32_to_bf16", dram(0, &[(8192, 1), (128, 8192)]), sbuf(&rows(4096)), TO_BF16),
        ("cast_int8_to_fp32", dram(0, &[(128, 1), (128, 128)]), sbuf(&rows(512)), TO_FP32),
        // DMA_TRANSPOSE: tiles of 16 rows; 32 tiles beside each other.
        ("transpose_4", dram(0, &[(4, 1), (16, 4096), (1024, 4)]), dram(1, &[(64, 1), (1024, 4096)]), COPY),
        ("transpose_2", dram(0, &[(2, 1), (16, 2048), (1024, 2)]), dram(1, &[(32, 1), (1024, 2048)]), COPY),
        ("whole_matrix_4", dram(0, &[(4, 1), (512, 2048), (512, 4)]), dram(1, &[(1 << 20, 1)]), COPY),
    ]
}

fn moves(c: &mut Criterion) {
    let mut machine = machine();
    for (name, source, destination, op) in forms() {
        let bytes = destination.bytes().expect("a few bytes");
        let one = Move { source, destination, op };
        let mut group = c.benchmark_group(name);
        group.sample_size(20).throughput(Throughput::Bytes(bytes));
        group.bench_function("move", |b| b.iter(|| perform(&mut machine, 0, &one).expect("legal")));
        let from = vec![1u8; bytes as usize];
        let mut to = vec![0u8; bytes as usize];
        group.bench_function("memcpy", |b| {
            b.iter(|| black_box(&mut to[..]).copy_from_slice(black_box(&from)));
        });
    }
}

criterion_group!(benches, moves);
criterion_main!(benches);
