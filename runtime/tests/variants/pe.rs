//! Row groups, parts of FP32, PSUM flags and tags of the PE (chapter 05 sections 2.2 to 2.6 and 2.8).

use seqjit_runtime::isa::check::{CheckContext, check};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Layout, Space, Tensor, Word, decode, op};
use seqjit_runtime::machine::{Machine, PeState};

use crate::support::*;
use crate::*;

const PE: EngineId = EngineId::Pe;
const PSUM: u32 = 0x200_0000;
const WEIGHTS: u32 = 0;
const TAGS: u32 = 0x100;
const MAPS: u32 = 0x200;

/// Row groups: code, first row, rows, and the tag bits that the compiler forces for them (section 2.6).
const GROUPS: [(u8, u32, u8, u8); 7] = [
    (1, 0, 32, 0),
    (2, 32, 32, 4),
    (4, 64, 32, 8),
    (8, 96, 32, 12),
    (3, 0, 64, 0),
    (12, 64, 64, 8),
    (15, 0, 128, 0),
];

fn put_values(machine: &mut Machine, partition: u32, byte: u32, dtype: Dtype, values: &[f64]) {
    let bytes: Vec<u8> = values.iter().flat_map(|v| encode(*v, dtype).unwrap()).collect();
    put_bytes(machine, partition as usize, byte as usize, &bytes);
}

/// A word that breaks no rule of its generation.
fn legal<L: Layout>(generation: Generation, opcode: u8, operands: L) -> Word {
    let one = word(opcode, operands);
    let findings = check(&decode(&one, generation).unwrap(), &CheckContext::new(generation, PE));
    assert!(findings.is_empty(), "{findings:?}");
    one
}

fn ldweights(row_grp: u8, first: u32, rows: u8, dtype: Dtype, fp32_mode: Fp32Mode) -> Word {
    let operands = S3_LW_V3 {
        src: line(at(first, WEIGHTS), 2),
        in_dtype: dtype,
        fp32_mode,
        transpose_mode: 0,
        perf_opt: 0,
        quant_offset: [0; 2],
        num_active_rows: rows,
        num_active_cols: 2,
        row_grp,
        col_grp: 0xF,
        active_row_mode: 0,
        tag_weight_mode: 0,
    };
    legal(Generation::Cayman, op::LDWEIGHTS, operands)
}

/// The FP32 results of a column.
fn column(machine: &Machine, column: usize) -> Vec<f32> {
    let row = &machine.cores[0].memory(Space::Psum).partition(column)[..12];
    row.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Row `first` alone has weights: 2 in column 0, 5 in column 1.
#[test]
fn dense_products_of_every_group() {
    for (row_grp, first, rows, _) in GROUPS {
        for out_dtype in [Dtype::INVALID, F] {
            let mut machine = strict(Generation::Cayman);
            for row in first..first + u32::from(rows) {
                put_values(&mut machine, row, WEIGHTS, Dtype::BFLOAT16, &[0.0, 0.0]);
                put_values(&mut machine, row, MAPS, Dtype::BFLOAT16, &[7.0, 7.0, 7.0]);
            }
            // the first element is for the last column
            put_values(&mut machine, first, WEIGHTS, Dtype::BFLOAT16, &[5.0, 2.0]);
            put_values(&mut machine, first, MAPS, Dtype::BFLOAT16, &[1.0, 2.0, 3.0]);
            let matmul = S3D3_MM_V3 {
                src: line(at(first, MAPS), 3),
                in_dtype: Dtype::BFLOAT16,
                fp32_mode: Fp32Mode::NONE,
                transpose_mode: 0,
                perf_opt: 0,
                num_active_rows: rows,
                num_active_cols: 2,
                out_dtype,
                psum_accumulate_flags: PsumAcc(3),
                row_grp,
                col_grp: 0xF,
                psum_zero_region: 0,
                dst: line(PSUM, 3),
            };
            let load = ldweights(row_grp, first, rows, Dtype::BFLOAT16, Fp32Mode::NONE);
            run(&mut machine, PE, &[load, legal(Generation::Cayman, op::MATMUL, matmul)]).unwrap();
            assert_eq!(column(&machine, 0), [2.0, 4.0, 6.0], "{row_grp}");
            assert_eq!(column(&machine, 1), [5.0, 10.0, 15.0], "{row_grp}");
        }
    }
}

/// Two maps of three positions, from the row group's first partition.
fn sparse(row_grp: u8, first: u32, rows: u8, dtype: Dtype) -> S4D3_MM {
    S4D3_MM {
        src: Tensor { num: [3, 1, 1, 2], step: [1, 0, 0, 3], ..line(at(first, MAPS), 3) },
        in_dtype: dtype,
        fp32_mode: Fp32Mode::NONE,
        out_dtype: Dtype::INVALID,
        perf_opt: 0,
        num_active_rows: rows,
        num_active_cols: 2,
        psum_accumulate_flags: PsumAcc(3),
        row_grp,
        col_grp: 0xF,
        active_row_mode: 0,
        psum_zero_region: 0,
        dst: line(PSUM, 3),
    }
}

/// Maps 1, 2, 3 and 4, 5, 6 in the first partition of a group, sevens in the others; weights as above.
fn prepared(generation: Generation, first: u32, rows: u8, dtype: Dtype) -> Machine {
    let mut machine = strict(generation);
    for row in first..first + u32::from(rows) {
        put_values(&mut machine, row, WEIGHTS, dtype, &[0.0, 0.0]);
        put_values(&mut machine, row, MAPS, dtype, &[7.0; 6]);
        put_bytes(&mut machine, row as usize, TAGS as usize, &[0; 64]);
    }
    put_values(&mut machine, first, WEIGHTS, dtype, &[5.0, 2.0]);
    put_values(&mut machine, first, MAPS, dtype, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    machine
}

/// Forced bits make tag 0 choose the group's own first partition; tag 1 in column 1 chooses the second map.
#[test]
fn sparse_products_of_every_group() {
    for (row_grp, first, rows, force_tag_bits) in GROUPS {
        let dtype = Dtype::FP16;
        let mut machine = prepared(Generation::Cayman, first, rows, dtype);
        // element 31 holds columns 3 to 0 from low to high: column 1 is the third
        put_bytes(&mut machine, first as usize, TAGS as usize + 62, &[0x00, 0x01]);
        let tags = S3_LT {
            src: line(at(first, TAGS), 32),
            in_dtype: Dtype::UINT16,
            force_tag_bits,
            num_active_rows: rows,
            num_active_cols: 128,
            row_grp,
            col_grp: 0xF,
            active_row_mode: 0,
        };
        let program = [
            ldweights(row_grp, first, rows, dtype, Fp32Mode::NONE),
            legal(Generation::Cayman, op::LDTAGS, tags),
            legal(Generation::Cayman, op::MATMUL_SPARSE, sparse(row_grp, first, rows, dtype)),
        ];
        run(&mut machine, PE, &program).unwrap();
        assert_eq!(column(&machine, 0), [2.0, 4.0, 6.0], "{row_grp}");
        assert_eq!(column(&machine, 1), [20.0, 25.0, 30.0], "{row_grp}");
    }
}

/// Numbers with few bits lie in the high part of FP32 alone (decision D05-12).
#[test]
fn sparse_products_of_every_datatype() {
    let all = [Dtype::BFLOAT16, Dtype::FP16, Dtype::FP8_EXP3, Dtype::FP8_EXP4, Dtype::FP8_EXP5];
    let parts = [(Fp32Mode::LOW, 0.0), (Fp32Mode::HIGH, 1.0), (Fp32Mode::LOW_HIGH, 1.0)];
    let cases = all.map(|d| (d, Fp32Mode::NONE, Fp32Mode::NONE, 1.0)).into_iter();
    for (dtype, load, mode, factor) in
        cases.chain(parts.map(|(mode, factor)| (F, Fp32Mode::HIGH, mode, factor)))
    {
        for out_dtype in [Dtype::INVALID, F] {
            let mut machine = prepared(Generation::Cayman, 0, 128, dtype);
            let o = S4D3_MM { fp32_mode: mode, out_dtype, ..sparse(15, 0, 128, dtype) };
            let program =
                [ldweights(15, 0, 128, dtype, load), legal(Generation::Cayman, op::MATMUL_SPARSE, o)];
            run(&mut machine, PE, &program).unwrap();
            assert_eq!(column(&machine, 0), [2.0, 4.0, 6.0].map(|v| v * factor), "{} {mode:?}", dtype.text());
        }
    }
}

/// Flags with bit 0 overwrite, others add; MARIANA has more of them, regions, and results in BF16.
#[test]
fn sparse_products_into_psum() {
    let mariana = Generation::Mariana;
    for flags in [0, 1, 2, 3, 4, 6] {
        for psum_zero_region in 0..4 {
            let mut machine = prepared(mariana, 0, 128, Dtype::BFLOAT16);
            let pe = &mut machine.cores[0].pe;
            (pe.dtype, pe.weights[PeState::cell(0, 0, 0)]) = (Dtype::BFLOAT16, 2.0);
            let cells: Vec<u8> = [10f32; 3].iter().flat_map(|v| v.to_le_bytes()).collect();
            let psum = machine.cores[0].memory_mut(Space::Psum);
            psum.partition_mut(0)[..12].copy_from_slice(&cells);
            psum.note_written(0, 0, 12);
            let o = S4D3_MM {
                psum_accumulate_flags: PsumAcc(flags),
                psum_zero_region,
                ..sparse(15, 0, 128, Dtype::BFLOAT16)
            };
            run(&mut machine, PE, &[legal(mariana, op::MATMUL_SPARSE, o)]).unwrap();
            let there = if flags & 1 == 1 { 0.0 } else { 10.0 };
            assert_eq!(column(&machine, 0), [2.0, 4.0, 6.0].map(|v| v + there), "{flags}");
        }
    }
    let mut machine = prepared(mariana, 0, 128, Dtype::BFLOAT16);
    let pe = &mut machine.cores[0].pe;
    (pe.dtype, pe.weights[PeState::cell(0, 0, 0)]) = (Dtype::BFLOAT16, 2.0);
    let o = S4D3_MM { out_dtype: Dtype::BFLOAT16, ..sparse(15, 0, 128, Dtype::BFLOAT16) };
    run(&mut machine, PE, &[legal(mariana, op::MATMUL_SPARSE, o)]).unwrap();
    let expected: Vec<u8> =
        [2.0, 4.0, 6.0].iter().flat_map(|v| encode(*v, Dtype::BFLOAT16).unwrap()).collect();
    assert_eq!(machine.cores[0].memory(Space::Psum).partition(0)[..6], expected);
}

/// The datatype of the identity is that of a float; its contents are the hardware's.
#[test]
fn seeds_with_every_identity() {
    for identity_dtype in [Dtype::BFLOAT16, Dtype::FP16, Dtype::FP32R, Dtype::FP8_EXP4] {
        let mut dst_seed = line(PSUM, 2);
        (dst_seed.step[1], dst_seed.num[1]) = (512, 8);
        let o = S2S1D2_PE_SEED {
            src_seed: line(0, 128),
            identity: line(0x400, 16),
            identity_dtype,
            mode: 1,
            num_active_rows: 16,
            num_active_cols: 128,
            dst_seed,
        };
        let mut machine = strict(Generation::Mariana);
        for s in 0..16u32 {
            put(&mut machine, s as usize, 0, &(0..128).map(|p| 1000 * s + p).collect::<Vec<u32>>());
        }
        run(&mut machine, PE, &[legal(Generation::Mariana, op::PE_MANAGE_SEED, o)]).unwrap();
        assert_eq!(machine.cores[0].pe.hidden.seeds[100][3], 3100);
    }
}
