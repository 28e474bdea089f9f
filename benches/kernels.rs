//! Kernels of the PE at every CPU level, in one run with the peak of the arithmetic units they use: words of 128 x 128
//! weights and 512 moving positions, from SBUF to PSUM. Throughput counts a multiply-add as two operations
//! (`Gelem/s` is GFLOP/s), for transposes and loads elements.

#![allow(missing_docs)]

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use seqjit::runtime::interp::Exec;
use seqjit::runtime::isa::field::{Addr4, Fp32Mode, PsumAcc};
use seqjit::runtime::isa::layouts::{S3_LW_V3, S3D3_MM_V3};
use seqjit::runtime::isa::{Decoded, Dtype, EngineId, Generation, Layout, Tensor, Word, decode, op};
use seqjit::runtime::kernels::pe::{LoadWeights, MatMul};
use seqjit::runtime::machine::{CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit::runtime::num::{Fp8, Level, with_level};

/// Rows and columns of the array, and moving positions.
const ARRAY: u16 = 128;
const POSITIONS: u16 = 512;

fn machine() -> Machine {
    let core = CoreSpec {
        name: "kernels".into(),
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
    let image = Image { generation: Generation::Cayman, cores: vec![Arc::new(core)], buffers: Vec::new() };
    let mut machine = Machine::new(&image, MachineOptions { strict: false, ..MachineOptions::default() });
    for partition in 0..usize::from(ARRAY) {
        let row = machine.cores[0].sbuf.partition_mut(partition);
        // Ordinary numbers in every datatype: bytes from 0x38 to 0x3F.
        row.iter_mut().enumerate().for_each(|(at, byte)| *byte = 0x38 | ((at * 7 + partition) % 8) as u8);
    }
    machine
}

/// A LDWEIGHTS and the MATMUL behind it.
fn words(dtype: Dtype, transpose: bool) -> [Decoded; 2] {
    let fp32_mode = if dtype == Dtype::FP32 { Fp32Mode::LOW_HIGH } else { Fp32Mode::NONE };
    let size = dtype.bytes() as u32;
    let geometry = Generation::Cayman.geometry();
    let row = |start, step, n| Tensor { start: Addr4(start), step: [step, 0, 0], num: [n, 1, 1] };
    let n = if transpose { ARRAY } else { POSITIONS };
    let (mut load, mut multiply) = (Word::new(op::LDWEIGHTS), Word::new(op::MATMUL));
    let weights = S3_LW_V3 {
        src: row(u32::from(ARRAY - 1) * size, -1, ARRAY),
        in_dtype: dtype,
        fp32_mode,
        transpose_mode: transpose.into(),
        num_active_rows: ARRAY as u8,
        num_active_cols: ARRAY as u8,
        row_grp: 0xF,
        col_grp: 0xF,
        ..S3_LW_V3::read(&load)
    };
    weights.write(&mut load);
    let moving = S3D3_MM_V3 {
        src: row(4096, 1, n),
        in_dtype: dtype,
        fp32_mode,
        transpose_mode: transpose.into(),
        num_active_rows: ARRAY as u8,
        num_active_cols: ARRAY as u8,
        psum_accumulate_flags: PsumAcc(3),
        row_grp: 0xF,
        col_grp: 0xF,
        dst: row(geometry.psum_base, 1, n),
        ..S3D3_MM_V3::read(&multiply)
    };
    moving.write(&mut multiply);
    [load, multiply].map(|word| decode(&word, Generation::Cayman).expect("both are legal"))
}

fn exec(machine: &mut Machine) -> Exec<'_> {
    Exec { machine, core: 0, engine: EngineId::Pe, pc: 0, ends_turn: false }
}

fn products(c: &mut Criterion) {
    const FLOPS: u64 = 2 * ARRAY as u64 * ARRAY as u64 * POSITIONS as u64;
    let mut machine = machine();
    let dtypes = [
        ("fp32", Dtype::FP32),
        ("bf16", Dtype::BFLOAT16),
        ("fp16", Dtype::FP16),
        ("fp8", Dtype::FP8_EXP4),
        ("uint8", Dtype::UINT8),
    ];
    for level in Level::ALL.into_iter().filter(|level| *level <= Level::host()) {
        let mut group = c.benchmark_group(format!("matmul_{level}"));
        group.sample_size(10).throughput(Throughput::Elements(FLOPS));
        peak::measure(&mut group, level);
        for (name, dtype) in dtypes {
            let [load, multiply] = words(dtype, false);
            with_level(level, || {
                let mut x = exec(&mut machine);
                LoadWeights::bind(&x, &load).expect("legal").run(&mut x);
                let word = MatMul::bind(&x, &multiply).expect("legal");
                group.bench_function(name, |b| b.iter(|| assert!(word.run(&mut x))));
            });
        }
    }
}

fn copies(c: &mut Criterion) {
    let mut machine = machine();
    for partition in 0..usize::from(ARRAY) {
        let identity = &mut machine.cores[0].sbuf.partition_mut(partition)[4096..][..usize::from(ARRAY) * 4];
        identity.fill(0);
        identity[partition * 4..][..4].copy_from_slice(&1f32.to_le_bytes());
    }
    let mut group = c.benchmark_group("array");
    group.throughput(Throughput::Elements(u64::from(ARRAY) * u64::from(ARRAY)));
    let [load, multiply] = words(Dtype::FP32, true);
    let mut x = exec(&mut machine);
    let weights = LoadWeights::bind(&x, &load).expect("legal");
    group.bench_function("ldweights_fp32", |b| b.iter(|| weights.run(&mut x)));
    let word = MatMul::bind(&x, &multiply).expect("legal");
    group.bench_function("transpose_fp32", |b| b.iter(|| assert!(word.run(&mut x))));
}

/// As many operations as a product has, in registers.
mod peak {
    use criterion::BenchmarkGroup;
    use criterion::measurement::WallTime;
    use seqjit::runtime::num::Level;

    #[cfg(not(target_arch = "x86_64"))]
    pub fn measure(_: &mut BenchmarkGroup<'_, WallTime>, _: Level) {}

    #[cfg(target_arch = "x86_64")]
    pub fn measure(group: &mut BenchmarkGroup<'_, WallTime>, level: Level) {
        let flops: usize = 2 * 128 * 128 * 512;
        let rounds = |lanes: usize, chains: usize| flops / (2 * lanes * chains);
        match level {
            Level::Avx512 => {
                // SAFETY: the bench runs levels of this host only.
                group.bench_function("peak", |b| b.iter(|| unsafe { avx512(rounds(16, 16)) }));
            }
            Level::Avx2 => {
                // SAFETY: as above.
                group.bench_function("peak", |b| b.iter(|| unsafe { avx2(rounds(8, 8)) }));
            }
            _ => {}
        }
    }

    /// Rounds of 16 chains of 16 lanes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn avx512(rounds: usize) -> f32 {
        use std::arch::x86_64::*;
        let (a, b) = (_mm512_set1_ps(std::hint::black_box(0.5)), _mm512_set1_ps(std::hint::black_box(0.25)));
        let mut chains = [a; 16];
        for _ in 0..rounds {
            for chain in &mut chains {
                *chain = _mm512_fmadd_ps(*chain, a, b);
            }
        }
        chains.into_iter().map(|chain| _mm512_reduce_add_ps(chain)).sum()
    }

    /// Rounds of 8 chains of 8 lanes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2(rounds: usize) -> f32 {
        use std::arch::x86_64::*;
        let (a, b) = (_mm256_set1_ps(std::hint::black_box(0.5)), _mm256_set1_ps(std::hint::black_box(0.25)));
        let mut chains = [a; 8];
        for _ in 0..rounds {
            for chain in &mut chains {
                *chain = _mm256_fmadd_ps(*chain, a, b);
            }
        }
        chains.into_iter().map(|chain| _mm256_cvtss_f32(chain)).sum()
    }
}

criterion_group!(benches, products, copies);
criterion_main!(benches);
