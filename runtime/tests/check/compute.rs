//! Words that break a rule of an ACT, DVE or POOL opcode.

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Data4d, Dtype, EngineId, Generation, Tensor, Word, op};

use crate::legal::*;
use crate::{Case, Place, error, patch, unsupported, word};

pub fn cases() -> Vec<Case> {
    let families =
        [tensor_tensor_cases, reduce_cases, tensor_scalar_cases, move_cases, act_cases, accumulator_cases];
    families.into_iter().flat_map(|cases| cases()).collect()
}

fn tt(o: S3S3D3_TT) -> Word {
    word(op::TENSOR_TENSOR_ARITH_OP, o)
}

fn tensor_tensor_cases() -> Vec<Case> {
    let pair = |o: S3S3D3_TT, a, b| S3S3D3_TT { in0_in1_dtype: DtypePair::new(a, b), ..o };
    let integer = "operands of ADD_INT with one legal signedness";
    let wide = "64 bits with integer operators, not on sunda";
    let arm = "an operator that the engine has";
    let i64s = pair(S3S3D3_TT { out_dtype: Dtype::INT64, ..tensor_tensor_int() }, Dtype::INT64, Dtype::INT64);
    vec![
        error(
            DVE_C,
            tt(S3S3D3_TT { op: AluOp::DIVIDE, ..tensor_tensor() }),
            "alu-op",
            (14, "op"),
            "DIVIDE",
            "general arithmetic, POW or the integer set",
        ),
        error(
            DVE_C,
            tt(pair(tensor_tensor(), Dtype::FP32, Dtype::FP32R)),
            "dtype",
            (12, "in0_in1_dtype"),
            "fp32r",
            "uint64, int8, uint8, int16, uint16, bfloat16, fp16, int32, uint32, fp32, int64, fp8_e3m4, fp8_e4m3, fp8_e5m2",
        ),
        error(
            DVE_C,
            tt(S3S3D3_TT { out_dtype: Dtype::INT64, ..tensor_tensor() }),
            "dtype-64bit",
            (13, "out_dtype"),
            "int64",
            wide,
        ),
        error(POOL_S, tt(i64s), "dtype-64bit", (12, "in0_in1_dtype"), "int64", wide),
        error(
            POOL_C,
            tt(S3S3D3_TT { out_dtype: Dtype::UINT32, ..tensor_tensor_int() }),
            "integer-dtype",
            (13, "out_dtype"),
            "uint32",
            integer,
        ),
        error(
            POOL_C,
            tt(pair(tensor_tensor_int(), Dtype::INT32, Dtype::INT16)),
            "integer-dtype",
            (12, "in0_in1_dtype"),
            "int16",
            integer,
        ),
        error(
            DVE_C,
            tt(S3S3D3_TT { op: AluOp::POW, ..tensor_tensor() }),
            "engine-arm",
            (14, "op"),
            "POW on DVE",
            arm,
        ),
        error(DVE_C, tt(tensor_tensor_int()), "engine-arm", (14, "op"), "ADD_INT on DVE", arm),
        error(
            POOL_C,
            tt(S3S3D3_TT { op: AluOp::MAX, ..tensor_tensor_int() }),
            "engine-arm",
            (14, "op"),
            "MAX on POOL",
            arm,
        ),
    ]
}

fn reduce_cases() -> Vec<Case> {
    let tr = |o: S4D4_TR| word(op::TENSOR_REDUCE_ARITH_OP, o);
    let bf16 = |o: S4D4_TR| word(op::TENSOR_REDUCE_ADD_BF16, o);
    let arm = "an operator that the engine has";
    let arg_max = |in_dtype, out_dtype| S4D4_TR { op: AluOp::AMAX_INT, in_dtype, out_dtype, ..reduce_int() };
    let only_lenient =
        |o: S4D4_TR, found: &'static str| error(POOL_C, tr(o), "engine-arm", (36, "op"), found, arm);
    vec![
        error(
            DVE_C,
            tr(S4D4_TR { op: AluOp::RSQRT, ..reduce() }),
            "alu-op",
            (36, "op"),
            "RSQRT",
            "general arithmetic or an integer fold",
        ),
        error(
            DVE_C,
            tr(S4D4_TR { op_dim: Subdim::UNUSED, ..reduce() }),
            "field-value",
            (37, "op_dim"),
            "0",
            "X, XY, XYZ or XYZW",
        ),
        error(DVE_C, tr(S4D4_TR { negated: 2, ..reduce() }), "field-value", (35, "negated"), "2", "0 or 1"),
        error(
            DVE_C,
            tr(S4D4_TR { mask_enable: 1, ..reduce() }),
            "field-value",
            (38, "mask_enable"),
            "1",
            "0",
        ),
        error(DVE_C, tr(S4D4_TR { op_dim: Subdim::XY, ..reduce() }), "element-count", (56, "dst"), "4", "1"),
        error(
            DVE_C,
            tr(S4D4_TR { out_dtype: Dtype::INT64, ..reduce() }),
            "dtype-64bit",
            (33, "out_dtype"),
            "int64",
            "64 bits with integer operators only",
        ),
        error(DVE_C, tr(reduce_int()), "engine-arm", (36, "op"), "ADD_INT on DVE", arm),
        error(POOL_C, tr(reduce()), "engine-arm", (36, "op"), "MAX on POOL", arm),
        only_lenient(reduce_int(), "ADD_INT on POOL"),
        only_lenient(arg_max(Dtype::INT32, Dtype::UINT32), "AMAX_INT on POOL"),
        error(
            POOL_S,
            tr(S4D4_TR { in_dtype: Dtype::INT16, ..reduce_int() }),
            "integer-dtype",
            (32, "in_dtype"),
            "int16",
            "operands of ADD_INT with one legal signedness",
        ),
        error(
            POOL_S,
            tr(S4D4_TR { out_dtype: Dtype::FP32, ..reduce_int() }),
            "integer-dtype",
            (33, "out_dtype"),
            "fp32",
            "an integer of the signedness of in_dtype",
        ),
        error(
            POOL_S,
            tr(S4D4_TR { in_dtype: Dtype::UINT32, ..reduce_int() }),
            "integer-dtype",
            (33, "out_dtype"),
            "int32",
            "an integer of the signedness of in_dtype",
        ),
        error(
            POOL_M,
            tr(S4D4_TR { op: AluOp::MAX_UINT, ..reduce_int() }),
            "integer-dtype",
            (32, "in_dtype"),
            "int32",
            "operands of MAX_UINT with one legal signedness",
        ),
        error(
            POOL_M,
            tr(arg_max(Dtype::UINT32, Dtype::UINT32)),
            "integer-dtype",
            (32, "in_dtype"),
            "uint32",
            "int32 or int64",
        ),
        error(POOL_M, tr(arg_max(Dtype::INT32, Dtype::INT32)), "dtype", (33, "out_dtype"), "int32", "uint32"),
        error(
            DVE_S,
            bf16(S4D4_TR { in_dtype: Dtype::FP16, ..reduce_bf16() }),
            "dtype",
            (32, "in_dtype"),
            "fp16",
            "bfloat16",
        ),
        error(DVE_S, bf16(S4D4_TR { op: AluOp::MAX, ..reduce_bf16() }), "alu-op", (36, "op"), "MAX", "ADD"),
        error(
            DVE_S,
            bf16(S4D4_TR { src: line(2, 512), dst: line(0x8000, 1), ..reduce_bf16() }),
            "alignment",
            (12, "src"),
            "0x2",
            "a multiple of 4",
        ),
        error(
            DVE_S,
            bf16(S4D4_TR {
                src: Tensor { start: Addr4(0), step: [2, 128, 0, 0], num: [64, 4, 1, 1] },
                ..reduce_bf16()
            }),
            "bf16-pairs",
            (12, "src"),
            "step 2, count 64",
            "step 1, an even count",
        ),
        error(
            DVE_S,
            bf16(S4D4_TR { src: line(0, 511), dst: line(0x8000, 1), ..reduce_bf16() }),
            "bf16-pairs",
            (12, "src"),
            "step 1, count 511",
            "step 1, an even count",
        ),
    ]
}

fn tensor_scalar_cases() -> Vec<Case> {
    let ts = |o: S3D3_TS| word(op::TENSOR_SCALAR_ARITH_OP, o);
    let ga = "general arithmetic";
    let i6 = "int8, uint8, int16, uint16, int32, uint32";
    vec![
        error(DVE_C, ts(S3D3_TS { op1: AluOp::MOD, ..tensor_scalar() }), "alu-op", (37, "op1"), "MOD", ga),
        error(
            DVE_C,
            ts(S3D3_TS { op0: AluOp::DIVIDE, ..tensor_scalar() }),
            "alu-op",
            (36, "op0"),
            "DIVIDE",
            "general arithmetic or RSQRT",
        ),
        error(
            DVE_C,
            ts(S3D3_TS { op0: AluOp::BYPASS, ..tensor_scalar() }),
            "operator-order",
            (37, "op1"),
            "MULTIPLY",
            "BYPASS, as op0 is BYPASS",
        ),
        error(
            POOL_C,
            ts(S3D3_TS { imm0: Imm(1), ..rsqrt() }),
            "rsqrt-form",
            (36, "op0"),
            "op1 BYPASS, sources 0 0, values 0x1 0x0",
            "op1 BYPASS, sources 0, values 0",
        ),
        error(
            DVE_C,
            ts(rsqrt()),
            "engine-arm",
            (36, "op0"),
            "RSQRT on DVE",
            "an operator that the engine has",
        ),
        error(
            ACT_C,
            ts(tensor_scalar()),
            "engine-arm",
            (36, "op0"),
            "SUBTRACT,MULTIPLY on ACT",
            "MULTIPLY,ADD or MULTIPLY,BYPASS or ADD,BYPASS",
        ),
        error(
            DVE_C,
            ts(S3D3_TS { accumulator_cmd: AccumCmd::ZERO, ..tensor_scalar() }),
            "field-value",
            (12, "accumulator_cmd"),
            "1",
            "IDLE",
        ),
        error(
            DVE_C,
            ts(S3D3_TS { in_dtype: Dtype::FP32R, ..tensor_scalar() }),
            "dtype",
            (32, "in_dtype"),
            "fp32r",
            "int8, uint8, int16, uint16, bfloat16, fp16, int32, uint32, fp32, fp8_e3m4, fp8_e4m3, fp8_e5m2",
        ),
        error(
            DVE_C,
            ts(S3D3_TS { imm1: Imm(0x2002), ..tensor_scalar() }),
            "alignment",
            (44, "imm1"),
            "0x2002",
            "a multiple of 4",
        ),
        error(
            DVE_C,
            ts(S3D3_TS { imm0_src: ImmSrc::PTR, imm0: Imm(0x2001), ..tensor_scalar() }),
            "alignment",
            (40, "imm0"),
            "0x2001",
            "a multiple of 4",
        ),
        // a pointer covers the lanes of the word
        error(
            DVE_C,
            ts(S3D3_TS { imm1: Imm(0x100_2000), num_active_channels: 96, ..tensor_scalar() }),
            "partition-extent",
            (44, "imm1"),
            "96 lanes from partition 64",
            "partition 127 at most",
        ),
        // integer operators are MAVERICK's, and then both dtypes are integers
        error(
            DVE_C,
            ts(S3D3_TS { op0: AluOp::ADD_INT, op1: AluOp::BYPASS, ..tensor_scalar() }),
            "alu-op",
            (36, "op0"),
            "ADD_INT",
            "general arithmetic or RSQRT",
        ),
        error(
            DVE_V,
            ts(S3D3_TS {
                op0: AluOp::ADD_INT,
                op1: AluOp::BYPASS,
                out_dtype: Dtype::INT32,
                ..tensor_scalar()
            }),
            "dtype",
            (32, "in_dtype"),
            "fp32",
            i6,
        ),
        error(
            DVE_V,
            ts(S3D3_TS {
                op0: AluOp::ADD_INT,
                op1: AluOp::BYPASS,
                in_dtype: Dtype::INT16,
                ..tensor_scalar()
            }),
            "dtype",
            (33, "out_dtype"),
            "bfloat16",
            i6,
        ),
    ]
}

/// COPY, CAST, RECIPROCAL, MEMSET, AFFINE_SELECT.
fn move_cases() -> Vec<Case> {
    let affine = |o: S2D2_TS_AS| word(op::TENSOR_SCALAR_AFFINE_SELECT, o);
    let d13 = "int8, uint8, int16, uint16, bfloat16, fp16, int32, uint32, fp32, fp32r, fp8_e3m4, fp8_e4m3, fp8_e5m2";
    vec![
        error(ACT_C, word(op::COPY, cast()), "dtype", (33, "out_dtype"), "bfloat16", "fp32, as in_dtype"),
        error(
            ACT_C,
            word(op::CAST, S4D4_TR { out_dtype: Dtype::UINT64, ..cast() }),
            "dtype",
            (33, "out_dtype"),
            "uint64",
            d13,
        ),
        error(
            DVE_C,
            word(op::RECIPROCAL, S4D4_TR { op: AluOp::ADD, ..copy() }),
            "alu-op",
            (36, "op"),
            "ADD",
            "BYPASS",
        ),
        error(
            DVE_C,
            word(op::RECIPROCAL, S4D4_TR { negated: 1, ..copy() }),
            "field-value",
            (35, "negated"),
            "1",
            "0",
        ),
        error(
            ACT_C,
            word(op::CAST, S4D4_TR { op_dim: Subdim::XY, ..cast() }),
            "field-value",
            (37, "op_dim"),
            "3",
            "UNUSED or X",
        ),
        error(
            ACT_C,
            word(op::COPY, S4D4_TR { mask_enable: 1, ..copy() }),
            "field-value",
            (38, "mask_enable"),
            "1",
            "0",
        ),
        error(
            ACT_C,
            word(op::COPY, S4D4_TR { dst: line(0x8000, 511), ..copy() }),
            "element-count",
            (56, "dst"),
            "511",
            "512",
        ),
        error(
            DVE_S,
            word(op::MEMSET, D4_MR { dst_element_count: 63, ..memset() }),
            "element-count",
            (28, "dst_element_count"),
            "63",
            "64",
        ),
        error(
            DVE_S,
            word(op::MEMSET, D4_MR { serialization_mode: 1, ..memset() }),
            "field-value",
            (36, "serialization_mode"),
            "1",
            "0 (serial)",
        ),
        error(
            DVE_S,
            word(op::MEMSET, D4_MR { set_value: Imm(0x1_3C00), ..memset() }),
            "fill-value",
            (40, "set_value"),
            "0x13c00",
            "16 bits of fp16",
        ),
        error(
            POOL_S,
            affine(S2D2_TS_AS { fill_mode: 4, ..affine_select() }),
            "field-value",
            (14, "fill_mode"),
            "4",
            "0..3",
        ),
        error(
            POOL_S,
            affine(S2D2_TS_AS { fill_reg: 64, ..affine_select() }),
            "register-number",
            (15, "fill_reg"),
            "64",
            "0..63 or 128..131",
        ),
        error(
            POOL_S,
            affine(S2D2_TS_AS {
                mask: Data4d { base: 0, step: [1, 0, 0, 0], num: [64, 1, 1, 1] },
                ..affine_select()
            }),
            "element-count",
            (28, "mask"),
            "64",
            "128",
        ),
        error(
            POOL_S,
            affine(S2D2_TS_AS {
                mask: Data4d { base: 0, step: [1, 0, 0, 0], num: [128, 1, 0, 1] },
                ..affine_select()
            }),
            "count-zero",
            (32, "mask"),
            "0",
            "at least 1",
        ),
        error(
            POOL_C,
            affine(S2D2_TS_AS { src: line(PSUM, 128), ..affine_select() }),
            "memory-space",
            (36, "src"),
            "psum",
            "sbuf",
        ),
    ]
}

fn act_cases() -> Vec<Case> {
    let ac = |o: S3D3_AC| word(op::ACTIVATE, o);
    vec![
        error(
            ACT_C,
            ac(S3D3_AC { in_bias_dtype: DtypePair::new(Dtype::FP32, Dtype::INT32), ..activate() }),
            "dtype",
            (32, "in_bias_dtype"),
            "int32",
            "bfloat16, fp16, fp32",
        ),
        error(
            ACT_C,
            ac(S3D3_AC { dst: line(0x5000, 511), ..activate() }),
            "element-count",
            (58, "dst"),
            "511",
            "512",
        ),
        error(
            ACT_C,
            ac(S3D3_AC { bias: Imm(0x4812), ..activate() }),
            "alignment",
            (40, "bias"),
            "0x4812",
            "a multiple of 4",
        ),
        error(
            ACT_C,
            ac(S3D3_AC { scale_src: ImmSrc::PTR, scale_value: Imm(0x240_0000), ..activate() }),
            "address-unmapped",
            (36, "scale_value"),
            "0x2400000",
            "an address in SBUF or PSUM",
        ),
        error(
            ACT_C,
            ac(S3D3_AC { bias_src_n: ImmSrcN::REG_PTR, bias: Imm(0x140), ..activate() }),
            "register-operand",
            (40, "bias"),
            "0x140",
            "a register 0..63, other bytes zero",
        ),
        // `imm` is an operand of parametric ReLU and of the accumulator's seed only
        error(
            ACT_C,
            ac(S3D3_AC { activation_func: 4, imm_src: ImmSrc::PTR, imm: Imm(2), ..activate() }),
            "alignment",
            (44, "imm"),
            "0x2",
            "a multiple of 4",
        ),
        error(
            ACT_C,
            ac(S3D3_AC {
                accumulator_cmd: AccumCmd::LOAD_ACCUMULATE,
                imm_src: ImmSrc::PTR,
                imm: Imm(2),
                ..activate()
            }),
            "alignment",
            (44, "imm"),
            "0x2",
            "a multiple of 4",
        ),
        unsupported(
            ACT_C,
            ac(S3D3_AC { activation_func: 27, ..activate() }),
            "activation-function",
            (35, "activation_func"),
            "27",
            "a function with a definition or a table",
        ),
        unsupported(
            ACT_C,
            patch(Word::new(op::ACTIVATION_TABLE_LOAD), 35, &[1]),
            "activation-set",
            (35, "act_tbl_sel"),
            "1",
            "one of the container's 1 table sets",
        )
        .with_sets(1),
    ]
}

fn accumulator_cases() -> Vec<Case> {
    let read = |o: D1_RD| word(op::ACTIVATION_READ_ACCUMULATOR, o);
    vec![
        error(
            ACT_C,
            read(D1_RD { dtype: Dtype::FP8_EXP4, ..read_accumulator() }),
            "dtype",
            (32, "dtype"),
            "fp8_e4m3",
            "bfloat16, fp16, fp32, fp32r",
        ),
        error(
            ACT_C,
            read(D1_RD { negated: 1, ..read_accumulator() }),
            "field-value",
            (33, "negated"),
            "1",
            "0",
        ),
        error(
            ACT_C,
            read(D1_RD { dst_element_count: 2, ..read_accumulator() }),
            "element-count",
            (28, "dst_element_count"),
            "2",
            "1",
        ),
        error(
            Place(Generation::Maverick, EngineId::Act),
            read(read_accumulator()),
            "no-kernel",
            (0, "opcode"),
            "ACTIVATION_READ_ACCUMULATOR on maverick",
            "a generation with a handler",
        ),
    ]
}
