//! MX words, and LDWEIGHTS and MATMUL of MARIANA and MAVERICK: legal words, and words that break one rule each
//! (chapter 05 sections 2.2, 2.3, 2.5 and 2.7).

use seqjit_runtime::isa::EngineId::Pe;
use seqjit_runtime::isa::Generation::{Mariana, Maverick};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, MxPattern1, Tensor, Word, op};

use crate::legal::{PSUM, line};
use crate::{Case, Place, error, unsupported, word};

const PE_M: Place = Place(Mariana, Pe);
const PE_V: Place = Place(Maverick, Pe);

fn operand() -> MxPattern1 {
    MxPattern1 {
        data: Addr4(0x1000),
        scale: Addr4(0x2000),
        num_elem: 256,
        step: 1,
        scale_partition: 4,
        reserved: [0; 4],
    }
}

pub fn mx_weights() -> SMX1_LW {
    SMX1_LW {
        src: MxPattern1 { num_elem: 512, ..operand() },
        in_dtype: Dtype::FP8_EXP4,
        num_active_rows: 128,
        num_active_cols: 128,
        row_grp: 0xF,
        col_grp: 0xF,
    }
}

fn mx_product() -> SMX1D3_MM {
    SMX1D3_MM {
        src: operand(),
        in_dtype: Dtype::FP8_EXP4,
        num_active_rows: 128,
        num_active_cols: 128,
        out_dtype: Dtype::FP32,
        psum_accumulate_flags: PsumAcc(6),
        row_grp: 0xF,
        col_grp: 0xF,
        psum_zero_region: 3,
        dst: line(PSUM, 64),
    }
}

fn weights() -> S3_LW_V4 {
    S3_LW_V4 {
        bg_xpose_mode: 0,
        src: line(0x1000, 128),
        in_dtype: Dtype::BFLOAT16,
        fp32_mode: Fp32Mode::NONE,
        transpose_mode: 0,
        perf_opt: 0,
        num_active_rows: 128,
        num_active_cols: 128,
        row_grp: 0xF,
        col_grp: 0xF,
        active_row_mode: 0,
        flags: LdWeightFlags(1 << 5),
    }
}

fn product() -> S3D3_MM_V4 {
    S3D3_MM_V4 {
        // More than a bank.
        src: line(0x1000, 1024),
        in_dtype: Dtype::BFLOAT16,
        fp32_mode: Fp32Mode::NONE,
        transpose_mode: 0,
        perf_opt: 0,
        num_active_rows: 128,
        num_active_cols: 128,
        out_dtype: Dtype::FP32,
        flags: MatmulFlags(0),
        psum_accumulate_flags: PsumAcc(4),
        row_grp: 0xF,
        col_grp: 0xF,
        psum_zero_region: 1,
        dst: line(PSUM, 1024),
    }
}

fn tile_weights() -> S3_LW_V5 {
    S3_LW_V5 {
        src: line(0x1000, 256),
        in_dtype: Dtype::BFLOAT16,
        fp32_mode: Fp32Mode::NONE,
        num_active_rows: 128,
        num_active_cols: 0,
        tile_size: TileSize(0x87),
        tile_sel: TileSel(0),
        flags: LdWeightFlags(1 << 5),
        perf_mode: MxPerfMode::NONE,
    }
}

pub fn tile_product() -> S3D3_MM_V5 {
    S3D3_MM_V5 {
        src: line(0x1000, 64),
        in_dtype: Dtype::BFLOAT16,
        fp32_mode: Fp32Mode::NONE,
        out_dtype: Dtype::INVALID,
        num_active_rows: 128,
        num_active_cols: 0,
        tile_size: TileSize(0x87),
        tile_sel: TileSel(0),
        flags: MatmulFlags(1 << 4),
        perf_mode: MxPerfMode::NONE,
        dst: Tensor { start: Addr4(Maverick.geometry().psum_base), step: [1, 0, 64], num: [64, 1, 2] },
    }
}

/// Legal words.
pub fn words() -> Vec<(&'static str, Place, Word)> {
    let fp4 = SMX1_LW { in_dtype: Dtype::FP4_EXP2, ..mx_weights() };
    let narrow = S3D3_MM_V4 { out_dtype: Dtype::BFLOAT16, ..product() };
    vec![
        ("01 on M", PE_M, word(op::LDWEIGHTS, weights())),
        ("02 on M", PE_M, word(op::MATMUL, product())),
        ("02 in BF16", PE_M, word(op::MATMUL, narrow)),
        ("01 on V", PE_V, word(op::LDWEIGHTS, tile_weights())),
        ("02 on V", PE_V, word(op::MATMUL, tile_product())),
        ("09", PE_M, word(op::LDWEIGHTS_MX, mx_weights())),
        ("09 FP4", PE_M, word(op::LDWEIGHTS_MX, fp4)),
        ("0A", PE_M, word(op::MATMUL_MX, mx_product())),
    ]
}

/// Words that break one rule each.
pub fn cases() -> Vec<Case> {
    [mx_cases(), group_cases(), tile_cases()].into_iter().flatten().collect()
}

fn mx_cases() -> Vec<Case> {
    let src = |src| word(op::LDWEIGHTS_MX, SMX1_LW { src, ..mx_weights() });
    let operand = || mx_weights().src;
    let product = |o| word(op::MATMUL_MX, o);
    let open = "1: the order of lanes and scales is not known otherwise";
    vec![
        error(PE_M, src(MxPattern1 { step: 2, ..operand() }), "field-value", (26, "src"), "2", "1 or -1"),
        unsupported(
            PE_M,
            src(MxPattern1 { step: 0xFF, ..operand() }),
            "field-refused",
            (26, "src"),
            "-1",
            open,
        ),
        error(
            PE_M,
            src(MxPattern1 { scale_partition: 6, ..operand() }),
            "field-value",
            (27, "src"),
            "6",
            "0, 4, 8 or 12",
        ),
        error(
            PE_M,
            src(MxPattern1 { num_elem: 254, ..operand() }),
            "element-count",
            (24, "src"),
            "254",
            "a multiple of 4, not 0",
        ),
        error(
            PE_M,
            src(MxPattern1 { num_elem: 252, ..operand() }),
            "element-count",
            (24, "src"),
            "252",
            "512",
        ),
        error(
            PE_M,
            product(SMX1D3_MM { dst: line(PSUM, 63), ..mx_product() }),
            "element-count",
            (24, "src"),
            "256",
            "252",
        ),
        error(
            PE_M,
            product(SMX1D3_MM { psum_accumulate_flags: PsumAcc(5), ..mx_product() }),
            "field-value",
            (43, "psum_accumulate_flags"),
            "5",
            "0..4 or 6",
        ),
    ]
}

fn group_cases() -> Vec<Case> {
    let weights = |o| word(op::LDWEIGHTS, o);
    let seeds = S3_LW_V4 { flags: LdWeightFlags(1 << 3), ..self::weights() };
    vec![
        unsupported(PE_M, weights(seeds), "field-refused", (47, "flags"), "0x8", "seed_mode 0"),
        error(
            PE_M,
            word(op::MATMUL, S3D3_MM_V4 { psum_zero_region: 4, ..product() }),
            "field-value",
            (47, "psum_zero_region"),
            "4",
            "0..3",
        ),
        error(
            PE_M,
            weights(S3_LW_V4 { src: line(0x1000, 127), ..self::weights() }),
            "element-count",
            (26, "src"),
            "127",
            "128",
        ),
    ]
}

fn tile_cases() -> Vec<Case> {
    let weights = |o| word(op::LDWEIGHTS, o);
    let marked = Tensor { start: Addr4(0x100_1000), ..tile_weights().src };
    let expected = "an operand without MX blocks, whose lanes and scales are not known";
    vec![
        error(
            PE_V,
            weights(S3_LW_V5 { tile_size: TileSize(0x85), ..tile_weights() }),
            "field-value",
            (36, "tile_size"),
            "133",
            "6 or 7 for rows, 7 or 8 for columns",
        ),
        error(
            PE_V,
            weights(S3_LW_V5 { tile_sel: TileSel(0x11), ..tile_weights() }),
            "field-value",
            (37, "tile_sel"),
            "17",
            "a tile of the array",
        ),
        error(
            PE_V,
            weights(S3_LW_V5 { num_active_rows: 65, tile_size: TileSize(0x86), ..tile_weights() }),
            "group-size",
            (34, "num_active_rows"),
            "65",
            "1..64",
        ),
        unsupported(
            PE_V,
            weights(S3_LW_V5 { src: marked, ..tile_weights() }),
            "field-refused",
            (16, "src"),
            "MXTENSOR_V2",
            expected,
        ),
        unsupported(
            PE_V,
            weights(S3_LW_V5 { perf_mode: MxPerfMode::QUAD_ROW, ..tile_weights() }),
            "field-refused",
            (39, "perf_mode"),
            "QUAD_ROW",
            "NONE for an operand without MX blocks",
        ),
        error(
            PE_V,
            word(op::MATMUL, S3D3_MM_V5 { src: line(0x1000, 63), ..tile_product() }),
            "element-count",
            (26, "src"),
            "63",
            "64",
        ),
    ]
}
