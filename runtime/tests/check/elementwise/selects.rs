//! Predicates, selections and scalars with two tensors.

use super::*;

pub(super) fn predicated_cases() -> Vec<Case> {
    let integers = "int8, uint8, int16, uint16, int32, uint32";
    vec![
        broken(
            "dtype",
            DVE_C,
            op::COPY_PREDICATED,
            S3S3D3_TT { out_dtype: Dtype::FP16, ..predicated() },
            "out_dtype",
            "fp16",
            "bfloat16",
        ),
        broken(
            "dtype",
            DVE_C,
            op::CAST_PREDICATED,
            S3S3D3_TT { in0_in1_dtype: DtypePair::new(Dtype::FP16, Dtype::BFLOAT16), ..predicated() },
            "in0_in1_dtype",
            "fp16",
            integers,
        ),
        broken(
            "alu-op",
            DVE_C,
            op::COPY_PREDICATED,
            S3S3D3_TT { op: AluOp::MULT, ..predicated() },
            "op",
            "MULTIPLY",
            "BYPASS",
        ),
        value(
            DVE_C,
            op::COPY_PREDICATED_SCALAR,
            S3D3_CP_PRED_SCALAR { reversed_pred: 2, ..predicated_scalar() },
            "reversed_pred",
            "2",
            "0 or 1",
        ),
        broken(
            "dtype",
            DVE_C,
            op::COPY_PREDICATED_SCALAR,
            S3D3_CP_PRED_SCALAR { out_dtype: Dtype::BFLOAT16, ..predicated_scalar() },
            "out_dtype",
            "bfloat16",
            "fp16",
        ),
        broken(
            "alignment",
            DVE_C,
            op::COPY_PREDICATED_SCALAR,
            S3D3_CP_PRED_SCALAR { src0_imm: Imm(0x3001), ..predicated_scalar() },
            "src0_imm",
            "0x3001",
            "a multiple of 2",
        ),
    ]
}

pub(super) fn select_cases() -> Vec<Case> {
    let range = op::RANGE_SELECT;
    let base = "0 or more, with the count at most 2^24";
    let commands = "IDLE, ACCUMULATE or ZERO_ACCUMULATE";
    vec![
        broken(
            "dtype",
            DVE_C,
            op::TENSOR_SCALAR_SELECT,
            S3D3_TS_SELECT { pred_imm_dtype: Dtype::INT32, ..select() },
            "pred_imm_dtype",
            "int32",
            "an integer as wide as fp16",
        ),
        value(
            DVE_C,
            op::TENSOR_SCALAR_SELECT,
            S3D3_TS_SELECT { pred_imm: Imm(2), ..select() },
            "pred_imm",
            "2",
            "0 or 1",
        ),
        value(DVE_C, range, S2D2_RS { base: F32(0x4B80_0000), ..range_select() }, "base", "16777216", base),
        value(DVE_C, range, S2D2_RS { base: F32(0xBF80_0000), ..range_select() }, "base", "-1", base),
        value(DVE_C, range, S2D2_RS { base: F32(0x7FC0_0000), ..range_select() }, "base", "NaN", base),
        value(DVE_C, range, S2D2_RS { fill_val: F32(0), ..range_select() }, "fill_val", "0", "-FLT_MAX"),
        value(
            DVE_C,
            range,
            S2D2_RS { reduce_cmd: AccumCmd::LOAD_ACCUMULATE, ..range_select() },
            "reduce_cmd",
            "4",
            commands,
        ),
        broken(
            "alu-op",
            DVE_C,
            range,
            S2D2_RS { reduce_op: AluOp::MIN, ..range_select() },
            "reduce_op",
            "MIN",
            "MAX",
        ),
        broken(
            "alu-op",
            DVE_C,
            range,
            S2D2_RS { comp_op1: AluOp::IS_NE, ..range_select() },
            "comp_op1",
            "IS_NE",
            "IS_EQ, IS_GT, IS_GE, IS_LE or IS_LT",
        ),
        value(
            DVE_C,
            op::SELECT_REDUCE,
            S2S2D2_STT { reverse_operands: ReverseOps::BOTH, ..select_reduce() },
            "reverse_operands",
            "3",
            "NONE or FIRST",
        ),
        broken(
            "alu-op",
            DVE_C,
            op::SELECT_REDUCE,
            S2S2D2_STT { op1: AluOp::ADD, ..select_reduce() },
            "op1",
            "ADD",
            "MAX",
        ),
    ]
}

pub(super) fn scalar_tensor_cases() -> Vec<Case> {
    let arith = op::SCALAR_TENSOR_TENSOR_ARITH;
    vec![
        broken(
            "dtype",
            DVE_C,
            arith,
            S2S2D2_STT { imm0_src: ImmSrc::INSTRUCTION, ..scalar_tensors() },
            "imm0_dtype",
            "bfloat16",
            "fp32, as the scalar is inline",
        ),
        broken(
            "alu-op",
            DVE_C,
            arith,
            S2S2D2_STT { op1: AluOp::RSQRT, ..scalar_tensors() },
            "op1",
            "RSQRT",
            "general arithmetic",
        ),
        value(
            DVE_C,
            arith,
            S2S2D2_STT { accumulator_cmd: AccumCmd::LOAD_ACCUMULATE, ..scalar_tensors() },
            "accumulator_cmd",
            "4",
            "IDLE, ACCUMULATE or ZERO_ACCUMULATE",
        ),
        broken(
            "two-sources",
            DVE_C,
            arith,
            S2S2D2_STT { src0: line(PSUM + 0x800, 64), ..scalar_tensors() },
            "src1",
            "both in psum",
            "at most one source in psum",
        ),
        broken(
            "immediate-width",
            DVE_C,
            op::SCALAR_TENSOR_TENSOR_BITVEC,
            S2S2D2_STT { imm0: Imm(0x1_0000), ..scalar_tensors_bits() },
            "imm0",
            "0x10000",
            "16 bits of uint16",
        ),
        value(
            DVE_C,
            op::DVE_READ_ACCUMULATOR,
            D1_RD { negated: 2, ..read_accumulator() },
            "negated",
            "2",
            "0 or 1",
        ),
    ]
}
