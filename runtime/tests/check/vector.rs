//! Searches, lane movement and random numbers: legal words, and words that break one rule each
//! (chapter 05 sections 7 and 8, chapter 06 sections 7 and 8).

mod random;

use crate::legal::{ACT_C, DVE_C, DVE_S, POOL_C, PSUM, line};
use crate::{Case, Place, error, patch, unsupported, word};
use seqjit_runtime::isa::EngineId::{Act, Dve, Pool};
use seqjit_runtime::isa::Generation::Mariana;
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, Word, op};

use random::*;
pub use random::{get_state, set_state};

const DVE_M: Place = Place(Mariana, Dve);

const POOL_M: Place = Place(Mariana, Pool);

const ACT_M: Place = Place(Mariana, Act);

fn keys() -> S2_BN {
    S2_BN {
        src: line(0x1000, 8),
        imm1: Imm(0),
        dtype: Dtype::BFLOAT16,
        num_active_channels: 128,
        imm0_ptr: Imm(0),
        imm0_src: ImmSrc::INSTRUCTION,
    }
}

fn max8() -> S4D2_BN {
    S4D2_BN {
        src: line(PSUM, 100),
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32R,
        num_active_channels: 128,
        even_count: F32(0),
        odd_count: F32(0),
        dst: line(0x1000, 8),
    }
}

fn find_index8() -> S4D2_BN {
    S4D2_BN { out_dtype: Dtype::UINT16, ..max8() }
}

fn replace() -> S4D4_MR {
    S4D4_MR {
        src: line(0x1000, 64),
        in_dtype: Dtype::FP16,
        out_dtype: Dtype::INT32,
        num_active_channels: 128,
        immediate: F32(0xFF80_0000),
        dst: line(0x2000, 64),
    }
}

fn read_indices() -> D4_MR {
    D4_MR {
        dst_element_count: 8,
        dtype: Dtype::UINT32,
        num_active_channels: 128,
        serialization_mode: 0,
        set_value: Imm(0),
        dst: line(0x1000, 8),
    }
}

fn mask() -> CTRL_IM {
    CTRL_IM { param_ram_offset: 0, imm_ptr_select: 0, immediate: [0x203F_FF1F; 8] }
}

fn shuffle() -> S4D4_TR {
    S4D4_TR {
        src: line(0, 64),
        in_dtype: Dtype::INT16,
        out_dtype: Dtype::INT16,
        num_active_channels: 128,
        negated: 0,
        op: AluOp::BYPASS,
        op_dim: Subdim::X,
        mask_enable: 0,
        dst: line(0x1000, 64),
    }
}

fn transpose() -> S4D4_TR {
    S4D4_TR { mask_enable: 1, dst: line(0x1000, 64), ..shuffle() }
}

/// Legal words.
pub fn words() -> Vec<(&'static str, Place, Word)> {
    let short = S4D4_TR { dst: line(0x1000, 33), ..transpose() };
    let immediate = S3D3_DROPOUT {
        in_dtype: Dtype::INVALID,
        out_dtype: Dtype::INVALID,
        threshold_src: ImmSrc::INSTRUCTION,
        threshold_dtype: Dtype::INVALID,
        threshold: Imm(0x3F00_0000),
        ..dropout()
    };
    let mut words = vec![
        ("6D", DVE_S, word(op::MATCH_VALUE_LOAD, keys())),
        ("6C", DVE_C, word(op::MAX8, max8())),
        ("6E", DVE_C, word(op::FIND_INDEX8, find_index8())),
        ("6F", DVE_S, word(op::MATCH_REPLACE8, replace())),
        ("E9", DVE_C, word(op::DVE_READ_INDICES, read_indices())),
        ("69", DVE_S, word(op::LOAD_MASK_SELECT, mask())),
        ("6A", DVE_C, word(op::STREAM_SHUFFLE, shuffle())),
        ("6B", DVE_C, word(op::STREAM_TRANSPOSE, transpose())),
        ("6B short", DVE_S, word(op::STREAM_TRANSPOSE, short)),
        ("4D", DVE_S, word(op::RNG, rng())),
        ("4D floats", POOL_C, word(op::RNG, D4_MR { dtype: Dtype::BFLOAT16, ..rng() })),
        ("7F", DVE_C, word(op::DROPOUT, dropout())),
        ("7F defaults", DVE_S, word(op::DROPOUT, immediate)),
        ("D0", ACT_C, word(op::PSEUDO_SET_RNG_SEED, seed())),
        ("E2", DVE_M, word(op::RAND2, rand2())),
        ("77", POOL_C, word(op::RAND_GET_STATE, get_state())),
        ("78", POOL_C, word(op::RAND_SET_STATE, set_state())),
    ];
    let banks =
        [(POOL_M, bank(3, 0, 1)), (DVE_M, bank(1, 3, 24)), (DVE_M, bank(0, 0, 4)), (ACT_M, bank(3, 0, 2))];
    for (place, (set, get)) in banks {
        words.push(("77 bank", place, word(op::RAND_GET_STATE, get)));
        words.push(("78 bank", place, word(op::RAND_SET_STATE, set)));
    }
    words
}

/// Words that break one rule each.
pub fn cases() -> Vec<Case> {
    [search_cases(), movement_cases(), draw_cases(), state_cases()].into_iter().flatten().collect()
}

fn search_cases() -> Vec<Case> {
    let key = |o| word(op::MATCH_VALUE_LOAD, o);
    let max = |o| word(op::MAX8, o);
    let find = |o| word(op::FIND_INDEX8, o);
    let replaced = "uint8, uint16, bfloat16, fp16, int32, uint32, fp32";
    vec![
        error(DVE_C, key(S2_BN { src: line(0x1000, 9), ..keys() }), "element-count", (24, "src"), "9", "8"),
        error(DVE_C, key(S2_BN { imm1: Imm(1), ..keys() }), "field-value", (28, "imm1"), "1", "0"),
        error(DVE_C, key(S2_BN { imm0_ptr: Imm(64), ..keys() }), "field-value", (44, "imm0_ptr"), "64", "0"),
        error(
            DVE_C,
            key(S2_BN { imm0_src: ImmSrc::PTR, ..keys() }),
            "field-value",
            (48, "imm0_src"),
            "1",
            "0",
        ),
        error(
            DVE_C,
            max(S4D2_BN { src: line(PSUM, 7), ..max8() }),
            "element-count",
            (24, "src"),
            "7",
            "8 to 16384",
        ),
        error(
            DVE_C,
            find(S4D2_BN { src: line(0x1000, 16385), dst: line(0, 8), ..find_index8() }),
            "element-count",
            (24, "src"),
            "16385",
            "8 to 16384",
        ),
        error(
            DVE_C,
            max(S4D2_BN { even_count: F32(0x3F80_0000), ..max8() }),
            "field-value",
            (40, "even_count"),
            "1",
            "0",
        ),
        error(
            DVE_C,
            max(S4D2_BN { odd_count: F32(0x4000_0000), ..max8() }),
            "field-value",
            (44, "odd_count"),
            "2",
            "0",
        ),
        error(DVE_C, max(S4D2_BN { dst: line(0x1000, 7), ..max8() }), "element-count", (56, "dst"), "7", "8"),
        error(
            DVE_C,
            find(S4D2_BN { out_dtype: Dtype::INT32, ..find_index8() }),
            "dtype",
            (33, "out_dtype"),
            "int32",
            "uint16, uint32",
        ),
        error(
            DVE_C,
            word(op::MATCH_REPLACE8, S4D4_MR { in_dtype: Dtype::INT8, ..replace() }),
            "dtype",
            (32, "in_dtype"),
            "int8",
            replaced,
        ),
        error(
            DVE_C,
            word(op::MATCH_REPLACE8, S4D4_MR { src: line(0, 16385), dst: line(0x9000, 16385), ..replace() }),
            "element-count",
            (24, "src"),
            "16385",
            "1 to 16384",
        ),
        error(
            DVE_C,
            word(op::DVE_READ_INDICES, D4_MR { dst_element_count: 7, ..read_indices() }),
            "field-value",
            (28, "dst_element_count"),
            "7",
            "8",
        ),
        error(
            DVE_C,
            word(op::DVE_READ_INDICES, D4_MR { set_value: Imm(3), ..read_indices() }),
            "field-value",
            (40, "set_value"),
            "3",
            "0",
        ),
        error(
            DVE_C,
            word(op::DVE_READ_INDICES, D4_MR { serialization_mode: 1, ..read_indices() }),
            "field-value",
            (36, "serialization_mode"),
            "1",
            "0 (serial)",
        ),
    ]
}

fn movement_cases() -> Vec<Case> {
    let shuffled = |o| word(op::STREAM_SHUFFLE, o);
    let transposed = |o| word(op::STREAM_TRANSPOSE, o);
    let lanes = "32, 64, 96 or 128";
    vec![
        error(
            DVE_C,
            patch(word(op::LOAD_MASK_SELECT, mask()), 35, &[64]),
            "field-value",
            (35, "immediate"),
            "64",
            "a lane below 64, or 255",
        ),
        error(
            DVE_C,
            word(op::LOAD_MASK_SELECT, CTRL_IM { param_ram_offset: 4, ..mask() }),
            "field-value",
            (12, "param_ram_offset"),
            "4",
            "0",
        ),
        error(
            DVE_C,
            word(op::LOAD_MASK_SELECT, CTRL_IM { imm_ptr_select: 1, ..mask() }),
            "field-value",
            (14, "imm_ptr_select"),
            "1",
            "0",
        ),
        error(
            DVE_C,
            shuffled(S4D4_TR { num_active_channels: 31, ..shuffle() }),
            "field-value",
            (34, "num_active_channels"),
            "31",
            lanes,
        ),
        error(
            DVE_C,
            shuffled(S4D4_TR { out_dtype: Dtype::FP16, ..shuffle() }),
            "dtype",
            (33, "out_dtype"),
            "fp16",
            "int16",
        ),
        error(
            DVE_C,
            shuffled(S4D4_TR { op: AluOp::ADD, ..shuffle() }),
            "alu-op",
            (36, "op"),
            "ADD",
            "BYPASS",
        ),
        error(DVE_C, shuffled(S4D4_TR { negated: 1, ..shuffle() }), "field-value", (35, "negated"), "1", "0"),
        error(
            DVE_C,
            shuffled(S4D4_TR { op_dim: Subdim::XY, ..shuffle() }),
            "field-value",
            (37, "op_dim"),
            "3",
            "UNUSED or X",
        ),
        error(
            DVE_C,
            shuffled(S4D4_TR { mask_enable: 1, ..shuffle() }),
            "field-value",
            (38, "mask_enable"),
            "1",
            "0",
        ),
        error(
            DVE_C,
            transposed(S4D4_TR { mask_enable: 2, ..transpose() }),
            "field-value",
            (38, "mask_enable"),
            "2",
            "0 or 1",
        ),
        error(
            DVE_C,
            transposed(S4D4_TR { src: line(0, 63), dst: line(0x1000, 32), ..transpose() }),
            "element-count",
            (24, "src"),
            "63",
            "a multiple of 32",
        ),
        error(
            DVE_C,
            transposed(S4D4_TR { dst: line(0x1000, 65), ..transpose() }),
            "element-count",
            (56, "dst"),
            "65",
            "1 to 64",
        ),
    ]
}
