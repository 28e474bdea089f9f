//! Words of ACT.

use super::*;

pub(super) fn activation_cases() -> Vec<Case> {
    let pair = "MULTIPLY and ADD, SUBTRACT or BYPASS, or one operator";
    vec![
        broken(
            "operator-pair",
            ACT_M,
            op::ACTIVATE2,
            S2D2_AC { op0: AluOp::ADD, op1: AluOp::MULT, ..activate2() },
            "op0",
            "ADD,MULTIPLY",
            pair,
        ),
        broken(
            "immediate-quadrant",
            ACT_M,
            op::ACTIVATE2,
            S2D2_AC { num_active_channels: 32, imm0: Imm(0x80_3000), ..activate2() },
            "imm0",
            "sbuf quadrant 1",
            "sbuf quadrant 0",
        ),
        broken(
            "alu-op",
            ACT_M,
            op::ACTIVATE2,
            S2D2_AC { reduce_op: AluOp::MULT, ..activate2() },
            "reduce_op",
            "MULTIPLY",
            "ADD, MAX, MIN, ABS_MAX or ABS_MIN",
        ),
        broken(
            "alu-op",
            ACT_M,
            op::ACTIVATE2,
            S2D2_AC { reduce_cmd: ReduceCmd::IDLE, ..activate2() },
            "reduce_op",
            "ABS_MAX",
            "BYPASS",
        ),
        value(
            ACT_M,
            op::ACTIVATE2,
            S2D2_AC { reverse_operands: 4, ..activate2() },
            "reverse_operands",
            "4",
            "0..3",
        ),
        value(
            ACT_C,
            op::ACTIVATE_QUANTIZE,
            S3D3_AQ { quant_scale: F32(0x8000_0000), ..quantize() },
            "quant_scale",
            "-0",
            "not 0",
        ),
        value(
            ACT_C,
            op::ACTIVATE_QUANTIZE,
            S3D3_AQ { activation_func: 4, ..quantize() },
            "activation_func",
            "4",
            "a function without a parameter",
        ),
        broken(
            "dtype",
            ACT_C,
            op::ACTIVATE_QUANTIZE,
            S3D3_AQ { out_dtype: Dtype::INT8, ..quantize() },
            "out_dtype",
            "int8",
            "uint8",
        ),
    ]
}
