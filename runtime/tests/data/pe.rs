//! Sparse products, seeds and tables of the PE (chapter 05 sections 2.6 and 2.8, chapter 06 section 9.4).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Space, Tensor, Word, op};
use seqjit_runtime::machine::{Machine, PeState};

use crate::support::*;

const PE: EngineId = EngineId::Pe;
const PSUM: u32 = 0x200_0000;
const WEIGHTS: u32 = 0;
const TAGS: u32 = 0x100;
const MAPS: u32 = 0x200;

/// LDWEIGHTS of two columns of all rows; the first element goes to column 1.
fn ldweights() -> Word {
    let operands = S3_LW_V3 {
        src: line(WEIGHTS, 2),
        in_dtype: Dtype::FP16,
        fp32_mode: Fp32Mode::NONE,
        transpose_mode: 0,
        perf_opt: 0,
        quant_offset: [0; 2],
        num_active_rows: 128,
        num_active_cols: 2,
        row_grp: 0xF,
        col_grp: 0xF,
        active_row_mode: 0,
        tag_weight_mode: 0,
    };
    word(op::LDWEIGHTS, operands)
}

fn ldtags(row_grp: u8, rows: u8, partition: u32, force_tag_bits: u8) -> Word {
    let operands = S3_LT {
        src: line(at(partition, TAGS), 32),
        in_dtype: Dtype::UINT16,
        force_tag_bits,
        num_active_rows: rows,
        num_active_cols: 128,
        row_grp,
        col_grp: 0xF,
        active_row_mode: 0,
    };
    word(op::LDTAGS, operands)
}

/// Two maps of three positions.
fn sparse(flags: u8) -> S4D3_MM {
    S4D3_MM {
        src: Tensor { num: [3, 1, 1, 2], step: [1, 0, 0, 3], ..line(MAPS, 3) },
        in_dtype: Dtype::FP16,
        fp32_mode: Fp32Mode::NONE,
        out_dtype: Dtype::INVALID,
        perf_opt: 0,
        num_active_rows: 128,
        num_active_cols: 2,
        psum_accumulate_flags: PsumAcc(flags),
        row_grp: 0xF,
        col_grp: 0xF,
        active_row_mode: 0,
        psum_zero_region: 0,
        dst: line(PSUM, 3),
    }
}

fn halves(values: impl IntoIterator<Item = u16>) -> Vec<u8> {
    values.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// FP16 bits of small whole numbers.
fn fp16(value: u16) -> u16 {
    half::f16::from_f32(value.into()).to_bits()
}

/// Position n of map w of partition p.
fn map_value(p: u16, w: u16, n: u16) -> u16 {
    p + 200 * w + 400 * n
}

/// Weights 2 and 5 in row 0, 3 in row 33 of column 0; tags as given for (row, column).
fn prepared(tags: &[(usize, usize, u16)]) -> Machine {
    let mut machine = strict(Generation::Cayman);
    for p in 0..128u16 {
        let values = (0..2).flat_map(|w| (0..3).map(move |n| fp16(map_value(p, w, n))));
        put_bytes(&mut machine, p.into(), MAPS as usize, &halves(values));
    }
    put_bytes(&mut machine, 0, WEIGHTS as usize, &halves([fp16(5), fp16(2)]));
    put_bytes(&mut machine, 33, WEIGHTS as usize, &halves([0, fp16(3)]));
    for (row, column, tag) in tags {
        // element e covers columns 127 - 4e to 124 - 4e, the highest in the low bits
        let element = (127 - column) / 4;
        let shift = 4 * ((127 - column) % 4);
        let byte = TAGS as usize + 2 * element;
        let old = bytes(&machine, *row, byte, 2);
        let new = u16::from_le_bytes([old[0], old[1]]) | tag << shift;
        put_bytes(&mut machine, *row, byte, &new.to_le_bytes());
    }
    machine
}

fn result(machine: &Machine, column: usize) -> [f32; 3] {
    let row = &machine.cores[0].memory(Space::Psum).partition(column)[..12];
    std::array::from_fn(|n| f32::from_le_bytes(row[4 * n..][..4].try_into().unwrap()))
}

#[test]
fn tags_choose_quadrant_and_map() {
    // row 0: column 0 takes partition 32, map 1; column 1 partition 96, map 1; row 33: partition 1, map 0
    let mut machine = prepared(&[(0, 0, 0b0101), (0, 1, 0b1101), (33, 0, 0b0000)]);
    let program = [ldweights(), ldtags(0xF, 128, 0, 0), word(op::MATMUL_SPARSE, sparse(1))];
    run(&mut machine, PE, &program).unwrap();
    let expected = |n| f32::from(2 * map_value(32, 1, n) + 3 * map_value(1, 0, n));
    assert_eq!(result(&machine, 0), [0, 1, 2].map(expected));
    assert_eq!(result(&machine, 1), [0, 1, 2].map(|n| f32::from(5 * map_value(96, 1, n))));
    run(&mut machine, PE, &[word(op::MATMUL_SPARSE, sparse(2))]).unwrap();
    assert_eq!(result(&machine, 1), [0, 1, 2].map(|n| f32::from(10 * map_value(96, 1, n))));
}

/// D05-15.
#[test]
fn a_map_that_was_not_sent_counts_as_zero() {
    let mut machine = prepared(&[(0, 0, 0b0010), (33, 0, 0b0100)]);
    run(&mut machine, PE, &[ldweights(), ldtags(0xF, 128, 0, 0), word(op::MATMUL_SPARSE, sparse(3))])
        .unwrap();
    assert_eq!(result(&machine, 0), [0, 1, 2].map(|n| f32::from(3 * map_value(33, 0, n))));
    assert!(machine.warnings.iter().any(|w| w.contains("map that was not sent")), "{:?}", machine.warnings);
}

#[test]
fn forced_bits_are_added_to_every_tag() {
    let mut machine = prepared(&[(32, 127, 0b0011), (33, 0, 0b0001)]);
    run(&mut machine, PE, &[ldtags(2, 32, 32, 4)]).unwrap();
    let tag = |row, column| machine.cores[0].pe.tags[PeState::cell(0, row, column)];
    assert_eq!((tag(32, 127), tag(33, 0), tag(63, 5), tag(31, 0)), (7, 5, 4, 0));
}

#[test]
fn sparse_operands_have_the_form_of_their_weights() {
    let mut machine = prepared(&[]);
    let other = S4D3_MM { in_dtype: Dtype::BFLOAT16, ..sparse(3) };
    let fault = run(&mut machine, PE, &[ldweights(), word(op::MATMUL_SPARSE, other)]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "in_dtype", .. }), "{fault}");
    let short = S4D3_MM { dst: line(PSUM, 2), ..sparse(3) };
    let fault = run(&mut machine, PE, &[word(op::MATMUL_SPARSE, short)]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "src", .. }), "{fault}");
}

fn seeds(mode: u8) -> Word {
    let mut dst_seed = line(PSUM, 2);
    (dst_seed.step[1], dst_seed.num[1]) = (512, 8);
    let operands = S2S1D2_PE_SEED {
        src_seed: line(0, 128),
        identity: line(0x400, 16),
        identity_dtype: Dtype::BFLOAT16,
        mode,
        num_active_rows: 16,
        num_active_cols: 128,
        dst_seed,
    };
    word(op::PE_MANAGE_SEED, operands)
}

#[test]
fn seeds_are_loaded_across_and_stored_along_partitions() {
    let mut machine = strict(Generation::Mariana);
    for s in 0..16 {
        let row: Vec<u32> = (0..128).map(|p| 1000 * s + p).collect();
        put(&mut machine, s as usize, 0, &row);
    }
    run(&mut machine, PE, &[seeds(0)]).unwrap();
    assert!(!machine.cores[0].pe.hidden.seeded);
    run(&mut machine, PE, &[seeds(1), seeds(2)]).unwrap();
    for p in [0usize, 100, 127] {
        let row = machine.cores[0].memory(Space::Psum).partition(p);
        for s in 0..16 {
            // seed 2 b + k of partition p lies at byte 2048 b + 4 k
            let byte = 2048 * (s / 2) + 4 * (s % 2);
            let found = u32::from_le_bytes(row[byte..byte + 4].try_into().unwrap());
            assert_eq!(found, 1000 * s as u32 + p as u32, "partition {p} seed {s}");
        }
    }
}

#[test]
fn tables_are_kept_by_row() {
    let mut machine = strict(Generation::Mariana);
    put_bytes(&mut machine, 77, 0, &halves((0..16).map(|k| 0x7700 + k)));
    let operands = S2_CONVLUT {
        src: line(0, 16),
        in_dtype: Dtype::UINT16,
        num_active_rows: 128,
        num_active_cols: 128,
        multiplicative_const: [0; 2],
        row_grp: 0xF,
        col_grp: 0xF,
        block_size: 0,
        lut_dtype: Dtype::FP32,
    };
    run(&mut machine, PE, &[word(op::CONV_LUT_LOAD, operands)]).unwrap();
    assert_eq!(machine.cores[0].pe.hidden.lut[77][15], 0x770F);
    assert_eq!(machine.cores[0].pe.hidden.lut[76], [0; 16]);
}
