//! Words that break a rule of LDWEIGHTS or MATMUL.

use seqjit_runtime::isa::check::{CheckContext, check_bytes};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, op};

use crate::legal::*;
use crate::{Case, error, unsupported, word};

pub fn cases() -> Vec<Case> {
    [weights(), moving(), result()].into_iter().flatten().collect()
}

fn weights() -> Vec<Case> {
    let lw = |o: S3_LW_V3| word(op::LDWEIGHTS, o);
    let unproven = "field-unproven";
    vec![
        error(
            PE_C,
            lw(S3_LW_V3 { in_dtype: Dtype::INT16, ..ldweights() }),
            "dtype",
            (32, "in_dtype"),
            "int16",
            "uint8, bfloat16, fp16, fp32, fp8_e3m4, fp8_e4m3, fp8_e5m2",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { fp32_mode: Fp32Mode::HIGH, ..ldweights() }),
            "fp32-mode",
            (33, "fp32_mode"),
            "2",
            "0, as in_dtype is not fp32",
        ),
        unsupported(
            PE_C,
            lw(S3_LW_V3 { transpose_mode: 2, ..ldweights() }),
            "field-refused",
            (34, "transpose_mode"),
            "0x2",
            "0 or 1",
        ),
        unsupported(
            PE_C,
            lw(S3_LW_V3 { perf_opt: 2, ..ldweights() }),
            "field-refused",
            (35, "perf_opt"),
            "0x2",
            "other than DoubleColumn",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { perf_opt: 4, ..ldweights() }),
            "field-value",
            (35, "perf_opt"),
            "4",
            "0..3",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { num_active_rows: 0, ..ldweights() }),
            "group-size",
            (38, "num_active_rows"),
            "0",
            "1..128",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { row_grp: 5, ..ldweights() }),
            "field-value",
            (44, "row_grp"),
            "5",
            "0xf, 3, 0xc, 1, 2, 4 or 8",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { row_grp: 2, num_active_rows: 32, ..ldweights() }),
            "group-partition",
            (16, "src"),
            "partition 0",
            "partition 32 of row_grp 0x2",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { num_active_cols: 64, ..ldweights() }),
            "element-count",
            (26, "src"),
            "128",
            "64",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { src: line(PSUM, 128), ..ldweights() }),
            "memory-space",
            (16, "src"),
            "psum",
            "sbuf",
        ),
        unsupported(
            PE_C,
            lw(S3_LW_V3 { active_row_mode: 1, ..ldweights() }),
            unproven,
            (46, "active_row_mode"),
            "0x1",
            "0",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { tag_weight_mode: 2, ..ldweights() }),
            "field-value",
            (47, "tag_weight_mode"),
            "2",
            "0 or 1",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 { tag_weight_mode: 1, transpose_mode: 1, src: line(0, 128), ..ldweights() }),
            "tag-weights",
            (47, "tag_weight_mode"),
            "bfloat16, transpose 1, perf_opt 0",
            "bfloat16 or fp16, 0, 0",
        ),
        error(
            PE_C,
            lw(S3_LW_V3 {
                tag_weight_mode: 1,
                in_dtype: Dtype::FP32,
                fp32_mode: Fp32Mode::LOW_HIGH,
                src: line(0, 128),
                ..ldweights()
            }),
            "tag-weights",
            (47, "tag_weight_mode"),
            "fp32, transpose 0, perf_opt 0",
            "bfloat16 or fp16, 0, 0",
        ),
        // a weight with its tag is four bytes
        error(
            PE_C,
            lw(S3_LW_V3 { tag_weight_mode: 1, src: line(2, 128), ..ldweights() }),
            "alignment",
            (16, "src"),
            "0x2",
            "a multiple of 4",
        ),
        error(
            PE_S,
            word(
                op::LDWEIGHTS,
                S3_LW_V2 { col_grp: 8, num_active_cols: 32, src: line(0, 32), ..ldweights_v2() },
            ),
            "field-value",
            (45, "col_grp"),
            "8",
            "0xf, 3, 0xc, 1, 2, 4, or 8 for rows",
        ),
    ]
    .into_iter()
    .chain(group_of_columns())
    .collect()
}

/// LDWEIGHTS has no operand for its columns, but they fit their group all the same.
fn group_of_columns() -> Vec<Case> {
    vec![error(
        PE_C,
        word(op::LDWEIGHTS, S3_LW_V3 { col_grp: 3, ..ldweights() }),
        "group-size",
        (39, "num_active_cols"),
        "128",
        "1..64",
    )]
}

fn moving() -> Vec<Case> {
    let mm = |o: S3D3_MM_V3| word(op::MATMUL, o);
    let double_row = S3D3_MM_V3 { in_dtype: Dtype::FP8_EXP4, perf_opt: 1, src: line(0, 1024), ..matmul() };
    vec![
        error(
            PE_C,
            mm(S3D3_MM_V3 { in_dtype: Dtype::FP32, ..matmul() }),
            "fp32-mode",
            (33, "fp32_mode"),
            "0",
            "1, 2 or 3, as in_dtype is fp32",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { perf_opt: 1, src: line(0, 1024), ..matmul() }),
            "double-row",
            (35, "perf_opt"),
            "DoubleRow, bfloat16, col_grp 0xf",
            "FP8, col_grp 0xf, cayman or later",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { perf_opt: 3, src: line(0, 1024), ..matmul() }),
            "double-row",
            (35, "perf_opt"),
            "DoublePixel, bfloat16",
            "FP8, cayman or later",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { col_grp: 3, num_active_cols: 64, ..double_row }),
            "double-row",
            (35, "perf_opt"),
            "DoubleRow, fp8_e4m3, col_grp 0x3",
            "FP8, col_grp 0xf, cayman or later",
        ),
        error(
            PE_S,
            word(
                op::MATMUL,
                S3D3_MM_V2 { in_dtype: Dtype::FP8_EXP4, perf_opt: 1, src: line(0, 1024), ..matmul_v2() },
            ),
            "double-row",
            (35, "perf_opt"),
            "DoubleRow, fp8_e4m3, col_grp 0xf",
            "FP8, col_grp 0xf, cayman or later",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { src: line(0, 512), ..double_row }),
            "element-count",
            (26, "src"),
            "512",
            "1024",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { out_dtype: Dtype::BFLOAT16, ..matmul() }),
            "dtype",
            (40, "out_dtype"),
            "bfloat16",
            "invalid, fp32",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { src: line(0x4000, 511), ..matmul() }),
            "element-count",
            (26, "src"),
            "511",
            "512",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { num_active_cols: 129, col_grp: 0xF, ..matmul() }),
            "group-size",
            (39, "num_active_cols"),
            "129",
            "1..128",
        ),
        error(
            PE_S,
            word(op::MATMUL, S3D3_MM_V2 { xbus_sel: 1, ..matmul_v2() }),
            "field-value",
            (46, "xbus_sel"),
            "1",
            "0x10 for col_grp 0xf",
        ),
    ]
}

fn result() -> Vec<Case> {
    let mm = |o: S3D3_MM_V3| word(op::MATMUL, o);
    let transposing = |o: S3D3_MM_V3| mm(S3D3_MM_V3 { psum_accumulate_flags: PsumAcc(2), ..o });
    vec![
        error(
            PE_C,
            mm(S3D3_MM_V3 { psum_accumulate_flags: PsumAcc(4), ..matmul() }),
            "field-value",
            (43, "psum_accumulate_flags"),
            "4",
            "0..3",
        ),
        unsupported(
            PE_C,
            transposing(matmul_transposing()),
            "transpose-begin",
            (43, "psum_accumulate_flags"),
            "2",
            "BEGIN (bit 0) in transpose mode",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { psum_zero_region: 1, ..matmul() }),
            "field-value",
            (47, "psum_zero_region"),
            "1",
            "0",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { dst: line(0x8000, 512), ..matmul() }),
            "memory-space",
            (48, "dst"),
            "sbuf",
            "psum",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { dst: line(PSUM + 0x804, 512), ..matmul() }),
            "matmul-bank",
            (48, "dst"),
            "bytes 2052..4100",
            "one bank of 2048 bytes",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { num_active_cols: 32, col_grp: 4, ..matmul() }),
            "group-partition",
            (48, "dst"),
            "partition 0",
            "partition 64 of col_grp 0x4",
        ),
        // a plain result has cells of four bytes, a transposed one those of its dtype
        error(
            PE_C,
            mm(S3D3_MM_V3 { dst: line(PSUM + 2, 128), src: line(0, 128), ..matmul() }),
            "alignment",
            (48, "dst"),
            "0x2000002",
            "a multiple of 4",
        ),
        error(
            PE_C,
            mm(S3D3_MM_V3 { in_dtype: Dtype::FP8_EXP4, dst: line(PSUM + 1, 128), ..matmul_transposing() }),
            "alignment",
            (48, "dst"),
            "0x2000001",
            "a multiple of 2",
        ),
    ]
}

/// The table of chapter 05 section 2.3.2: code, lines, first partition, byte 46 on SUNDA.
const GROUPS: [(u8, u8, u32, u8); 7] = [
    (0xF, 128, 0, 0x10),
    (0x3, 64, 0, 0x01),
    (0xC, 64, 64, 0x04),
    (0x1, 32, 0, 0x01),
    (0x2, 32, 32, 0x02),
    (0x4, 32, 64, 0x04),
    (0x8, 32, 96, 0),
];

/// Rules that the words break in strict mode on SUNDA.
fn rules_on_sunda(o: S3D3_MM_V2) -> Vec<&'static str> {
    let cx = CheckContext::new(PE_S.0, PE_S.1);
    check_bytes(&word(op::MATMUL, o), &cx).iter().map(|f| f.rule).collect()
}

#[test]
fn groups_of_rows_are_those_of_the_manual() {
    for (row_grp, lines, partition, _) in GROUPS {
        let rows =
            |n, at: u32| S3D3_MM_V2 { row_grp, num_active_rows: n, src: line(at << 18, 512), ..matmul_v2() };
        assert_eq!(rules_on_sunda(rows(lines, partition)), [""; 0], "row_grp {row_grp}");
        assert!(rules_on_sunda(rows(lines + 1, partition)).contains(&"group-size"), "row_grp {row_grp}");
        let elsewhere = if partition == 0 { 96 } else { 0 };
        assert!(rules_on_sunda(rows(1, elsewhere)).contains(&"group-partition"), "row_grp {row_grp}");
    }
}

#[test]
fn groups_of_columns_have_their_bus() {
    for (col_grp, lines, partition, bus) in GROUPS {
        let columns = |xbus_sel| S3D3_MM_V2 {
            col_grp,
            num_active_cols: lines,
            xbus_sel,
            dst: line(PSUM + (partition << 15), 512),
            ..matmul_v2()
        };
        // no bus serves the last group of columns
        let legal = [].as_slice();
        let expected = if col_grp == 8 { ["field-value"].as_slice() } else { legal };
        assert_eq!(rules_on_sunda(columns(bus)), expected, "col_grp {col_grp}");
        assert_eq!(rules_on_sunda(columns(0x20)), ["field-value"], "col_grp {col_grp}");
    }
}
