//! Sparse products, seeds and tables of the PE: legal words, and words that break one rule each (chapter 05
//! sections 2.6 and 2.8, chapter 06 section 9.4).

use seqjit_runtime::isa::EngineId::Pe;
use seqjit_runtime::isa::Generation::Mariana;
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, Tensor, Word, op};

use crate::legal::{PE_C, PSUM, line};
use crate::{Case, Place, error, unsupported, word};

const PE_M: Place = Place(Mariana, Pe);

fn ldtags() -> S3_LT {
    S3_LT {
        src: line(0x1000, 32),
        in_dtype: Dtype::UINT16,
        force_tag_bits: 0,
        num_active_rows: 128,
        num_active_cols: 128,
        row_grp: 0xF,
        col_grp: 0xF,
        active_row_mode: 0,
    }
}

fn sparse() -> S4D3_MM {
    S4D3_MM {
        src: Tensor { num: [64, 1, 1, 4], step: [1, 0, 0, 64], ..line(0x1000, 64) },
        in_dtype: Dtype::BFLOAT16,
        fp32_mode: Fp32Mode::NONE,
        out_dtype: Dtype::FP32,
        perf_opt: 0,
        num_active_rows: 128,
        num_active_cols: 128,
        psum_accumulate_flags: PsumAcc(3),
        row_grp: 0xF,
        col_grp: 0xF,
        active_row_mode: 0,
        psum_zero_region: 0,
        dst: line(PSUM + 0x800, 64),
    }
}

pub fn seed() -> S2S1D2_PE_SEED {
    S2S1D2_PE_SEED {
        src_seed: line(0x1000, 128),
        identity: line(0x2000, 16),
        identity_dtype: Dtype::BFLOAT16,
        mode: 1,
        num_active_rows: 16,
        num_active_cols: 128,
        dst_seed: Tensor { num: [2, 8], step: [1, 512], ..line(PSUM, 2) },
    }
}

fn table() -> S2_CONVLUT {
    S2_CONVLUT {
        src: line(0x1000, 16),
        in_dtype: Dtype::UINT16,
        num_active_rows: 128,
        num_active_cols: 128,
        multiplicative_const: [0; 2],
        row_grp: 0xF,
        col_grp: 0xF,
        block_size: 0,
        lut_dtype: Dtype::INVALID,
    }
}

/// Legal words.
pub fn words() -> Vec<(&'static str, Place, Word)> {
    let narrow = S4D3_MM { out_dtype: Dtype::BFLOAT16, psum_accumulate_flags: PsumAcc(4), ..sparse() };
    vec![
        ("06", PE_C, word(op::LDTAGS, ldtags())),
        ("07", PE_C, word(op::MATMUL_SPARSE, sparse())),
        ("07 in BF16", PE_M, word(op::MATMUL_SPARSE, narrow)),
        ("08 load", PE_M, word(op::PE_MANAGE_SEED, seed())),
        ("E4", PE_M, word(op::CONV_LUT_LOAD, table())),
    ]
}

/// Words that break one rule each.
pub fn cases() -> Vec<Case> {
    [sparse_cases(), seed_cases(), table_cases()].into_iter().flatten().collect()
}

fn sparse_cases() -> Vec<Case> {
    let tags = |o| word(op::LDTAGS, o);
    let product = |o| word(op::MATMUL_SPARSE, o);
    vec![
        error(
            PE_C,
            tags(S3_LT { force_tag_bits: 2, ..ldtags() }),
            "field-value",
            (33, "force_tag_bits"),
            "2",
            "0, 4, 8 or 12",
        ),
        error(
            PE_C,
            tags(S3_LT { in_dtype: Dtype::FP16, ..ldtags() }),
            "dtype",
            (32, "in_dtype"),
            "fp16",
            "int16, uint16",
        ),
        error(
            PE_C,
            tags(S3_LT { src: line(0x1000, 31), ..ldtags() }),
            "element-count",
            (26, "src"),
            "31",
            "32",
        ),
        error(PE_C, tags(S3_LT { col_grp: 1, ..ldtags() }), "field-value", (45, "col_grp"), "1", "0xf"),
        unsupported(
            PE_C,
            tags(S3_LT { active_row_mode: 1, ..ldtags() }),
            "field-unproven",
            (46, "active_row_mode"),
            "0x1",
            "0",
        ),
        error(
            PE_C,
            product(S4D3_MM { src: Tensor { num: [64, 1, 1, 5], ..sparse().src }, ..sparse() }),
            "element-count",
            (30, "src"),
            "5",
            "2 to 4 maps",
        ),
        error(
            PE_C,
            product(S4D3_MM { psum_accumulate_flags: PsumAcc(4), ..sparse() }),
            "field-value",
            (43, "psum_accumulate_flags"),
            "4",
            "0..3",
        ),
        error(
            PE_C,
            product(S4D3_MM { out_dtype: Dtype::BFLOAT16, ..sparse() }),
            "dtype",
            (34, "out_dtype"),
            "bfloat16",
            "invalid, fp32",
        ),
        error(
            PE_M,
            product(S4D3_MM { psum_zero_region: 4, ..sparse() }),
            "field-value",
            (47, "psum_zero_region"),
            "4",
            "0..3",
        ),
        error(PE_C, product(S4D3_MM { col_grp: 3, ..sparse() }), "field-value", (45, "col_grp"), "3", "0xf"),
        unsupported(
            PE_C,
            product(S4D3_MM { perf_opt: 1, ..sparse() }),
            "field-refused",
            (35, "perf_opt"),
            "0x1",
            "0",
        ),
        error(
            PE_C,
            product(S4D3_MM { dst: line(PSUM + 0x780, 64), ..sparse() }),
            "matmul-bank",
            (48, "dst"),
            "bytes 1920..2176",
            "one bank of 2048 bytes",
        ),
    ]
}

fn seed_cases() -> Vec<Case> {
    let seeds = |o| word(op::PE_MANAGE_SEED, o);
    vec![
        error(PE_M, seeds(S2S1D2_PE_SEED { mode: 3, ..seed() }), "field-value", (33, "mode"), "3", "0 to 2"),
        error(
            PE_M,
            seeds(S2S1D2_PE_SEED { num_active_rows: 8, ..seed() }),
            "field-value",
            (34, "num_active_rows"),
            "8",
            "16",
        ),
        error(
            PE_M,
            seeds(S2S1D2_PE_SEED { num_active_cols: 64, ..seed() }),
            "field-value",
            (35, "num_active_cols"),
            "64",
            "128",
        ),
        error(
            PE_M,
            seeds(S2S1D2_PE_SEED { mode: 2, dst_seed: line(PSUM, 15), ..seed() }),
            "element-count",
            (44, "dst_seed"),
            "15",
            "16",
        ),
    ]
}

fn table_cases() -> Vec<Case> {
    let lut = |o| word(op::CONV_LUT_LOAD, o);
    vec![
        error(
            PE_C,
            lut(table()),
            "field-value",
            (47, "lut_dtype"),
            "the legacy form on PE of cayman",
            "a compressed form on POOL, the legacy form on PE from mariana",
        ),
        error(
            PE_M,
            lut(S2_CONVLUT { block_size: 8, ..table() }),
            "field-value",
            (46, "block_size"),
            "8",
            "0",
        ),
        error(
            PE_M,
            lut(S2_CONVLUT { multiplicative_const: [0, 3], ..table() }),
            "field-value",
            (40, "multiplicative_const"),
            "3",
            "0",
        ),
        error(
            PE_M,
            lut(S2_CONVLUT { in_dtype: Dtype::INT16, ..table() }),
            "dtype",
            (32, "in_dtype"),
            "int16",
            "uint16",
        ),
        error(
            PE_M,
            lut(S2_CONVLUT { lut_dtype: Dtype::INT8, ..table() }),
            "field-value",
            (47, "lut_dtype"),
            "2",
            "0, 0xa, or 0x19 to 0x1f",
        ),
    ]
}
