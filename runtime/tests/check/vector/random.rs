//! Random numbers and the states of their generators.

use super::*;

pub(super) fn rng() -> D4_MR {
    D4_MR {
        dst_element_count: 0,
        dtype: Dtype::UINT16,
        set_value: Imm(1),
        dst: line(0x1000, 100),
        ..read_indices()
    }
}

pub(super) fn dropout() -> S3D3_DROPOUT {
    S3D3_DROPOUT {
        src: line(0x1000, 32),
        in_dtype: Dtype::BFLOAT16,
        out_dtype: Dtype::BFLOAT16,
        num_active_channels: 128,
        threshold_src: ImmSrc::PTR,
        threshold_dtype: Dtype::FP16,
        threshold_type: 1,
        threshold: Imm(0x3002),
        dst: line(0x2000, 32),
    }
}

pub(super) fn seed() -> PSEUDO_SET_RNG_SEED {
    PSEUDO_SET_RNG_SEED { seed_src: ImmSrc::PTR, seed: Imm(PSUM + 4) }
}

pub(super) fn rand2() -> D3_RAND {
    D3_RAND {
        rand_algorithm: 3,
        post_process: 1,
        dtype: Dtype::INT16,
        num_active_channels: 128,
        min_src: ImmSrc::INSTRUCTION,
        max_src: ImmSrc::PTR,
        min: Imm(0xBF80_0000),
        max: Imm(0x1000),
        dst: line(0x2000, 32),
    }
}

pub fn set_state() -> S1_RAND {
    S1_RAND {
        rand_algorithm: 3,
        num_active_channels: 128,
        update_state: 0,
        in_dtype: Dtype::UINT32,
        src: line(0x1000, 6),
        rand_generator: 1,
        imm_state: [0; 8],
    }
}

pub fn get_state() -> D4_RAND {
    D4_RAND {
        rand_algorithm: 3,
        rand_num_steps: 0,
        post_process: 0,
        rand_generator: 1,
        params: [0; 4],
        dtype: Dtype::UINT32,
        num_active_channels: 128,
        dst: line(0x1000, 6),
    }
}

/// A generator of another engine or kind, with so many words.
pub(super) fn bank(generator: u8, algorithm: u8, words: u16) -> (S1_RAND, D4_RAND) {
    (
        S1_RAND {
            rand_generator: generator,
            rand_algorithm: algorithm,
            src: line(0x1000, words),
            ..set_state()
        },
        D4_RAND {
            rand_generator: generator,
            rand_algorithm: algorithm,
            dst: line(0x1000, words),
            ..get_state()
        },
    )
}

pub(super) fn draw_cases() -> Vec<Case> {
    let drop = |o| word(op::DROPOUT, o);
    let rand = |o| word(op::RAND2, o);
    let integer = "an integer dtype";
    vec![
        unsupported(
            DVE_C,
            word(op::RNG, D4_MR { dtype: Dtype::BFLOAT16, ..rng() }),
            "float-draw",
            (32, "dtype"),
            "bfloat16",
            integer,
        ),
        unsupported(
            POOL_C,
            word(op::RNG, D4_MR { dtype: Dtype::FP16, ..rng() }),
            "float-draw",
            (32, "dtype"),
            "fp16",
            integer,
        ),
        error(
            DVE_C,
            word(op::RNG, D4_MR { serialization_mode: 1, ..rng() }),
            "field-value",
            (36, "serialization_mode"),
            "1",
            "0 (serial)",
        ),
        error(
            DVE_C,
            drop(S3D3_DROPOUT { out_dtype: Dtype::FP16, ..dropout() }),
            "dtype",
            (33, "out_dtype"),
            "fp16",
            "bfloat16",
        ),
        error(
            DVE_C,
            drop(S3D3_DROPOUT { threshold_src: ImmSrc::INSTRUCTION, ..dropout() }),
            "dtype",
            (36, "threshold_dtype"),
            "fp16",
            "fp32",
        ),
        error(
            DVE_C,
            drop(S3D3_DROPOUT { in_dtype: Dtype::INT16, out_dtype: Dtype::INT16, ..dropout() }),
            "dtype",
            (36, "threshold_dtype"),
            "fp16",
            "fp32",
        ),
        error(
            DVE_C,
            drop(S3D3_DROPOUT { threshold_type: 2, ..dropout() }),
            "field-value",
            (43, "threshold_type"),
            "2",
            "0 or 1",
        ),
        error(
            DVE_C,
            drop(S3D3_DROPOUT { threshold: Imm(0x3001), ..dropout() }),
            "alignment",
            (44, "threshold"),
            "0x3001",
            "a multiple of 2",
        ),
        error(
            ACT_C,
            word(op::PSEUDO_SET_RNG_SEED, PSEUDO_SET_RNG_SEED { seed: Imm(2), ..seed() }),
            "alignment",
            (16, "seed"),
            "0x2",
            "a multiple of 4",
        ),
        error(
            DVE_M,
            rand(D3_RAND { rand_algorithm: 0, ..rand2() }),
            "field-value",
            (12, "rand_algorithm"),
            "0",
            "3 (XORWOW)",
        ),
        unsupported(
            DVE_M,
            rand(D3_RAND { rand_algorithm: 2, ..rand2() }),
            "field-refused",
            (12, "rand_algorithm"),
            "0x2",
            "LFSR or XORWOW",
        ),
        error(
            DVE_M,
            rand(D3_RAND { post_process: 0, ..rand2() }),
            "field-value",
            (14, "post_process"),
            "0",
            "1 (UNIFORM_IN_RANGE)",
        ),
        error(
            DVE_M,
            rand(D3_RAND { max: Imm(0x1002), ..rand2() }),
            "alignment",
            (44, "max"),
            "0x1002",
            "a multiple of 4",
        ),
    ]
}

pub(super) fn state_cases() -> Vec<Case> {
    let get = |o| word(op::RAND_GET_STATE, o);
    let set = |o| word(op::RAND_SET_STATE, o);
    let of_pool = |algorithm| format!("a generator of POOL with algorithm {algorithm}");
    vec![
        error(
            POOL_C,
            get(D4_RAND { rand_num_steps: 1, ..get_state() }),
            "field-value",
            (13, "rand_num_steps"),
            "1",
            "0",
        ),
        error(
            POOL_C,
            get(D4_RAND { post_process: 1, ..get_state() }),
            "field-value",
            (14, "post_process"),
            "1",
            "0 (RAW_U32)",
        ),
        error(
            POOL_C,
            get(D4_RAND { params: [0, 0, 5, 0], ..get_state() }),
            "field-value",
            (16, "params"),
            "5",
            "0",
        ),
        error(
            POOL_C,
            get(D4_RAND { dst: line(0, 7), ..get_state() }),
            "element-count",
            (56, "dst"),
            "7",
            "6",
        ),
        error(
            POOL_C,
            get(D4_RAND { rand_generator: 0, ..get_state() }),
            "field-value",
            (15, "rand_generator"),
            "0",
            &of_pool(3),
        ),
        error(POOL_C, set(bank(3, 0, 1).0), "field-value", (24, "rand_generator"), "3", &of_pool(0)),
        unsupported(
            POOL_C,
            set(S1_RAND { rand_algorithm: 2, ..set_state() }),
            "field-refused",
            (12, "rand_algorithm"),
            "0x2",
            "LFSR or XORWOW",
        ),
        unsupported(
            POOL_C,
            set(S1_RAND { update_state: 1, ..set_state() }),
            "field-refused",
            (14, "update_state"),
            "0x1",
            "SRC_TENSOR",
        ),
        error(
            POOL_C,
            set(S1_RAND { update_state: 3, ..set_state() }),
            "field-value",
            (14, "update_state"),
            "3",
            "0 (SRC_TENSOR)",
        ),
        error(
            POOL_C,
            set(S1_RAND { imm_state: [0, 0, 0, 9, 0, 0, 0, 0], ..set_state() }),
            "field-value",
            (32, "imm_state"),
            "9",
            "0",
        ),
        error(
            POOL_C,
            set(S1_RAND { src: line(PSUM, 6), ..set_state() }),
            "memory-space",
            (16, "src"),
            "psum",
            "sbuf",
        ),
    ]
}
