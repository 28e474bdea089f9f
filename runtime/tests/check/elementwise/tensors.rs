//! Two tensors, folds, pooling, lanes and wide integers.

use super::*;

pub(super) fn pair_cases() -> Vec<Case> {
    let add = op::TENSOR_TENSOR_ADD_BF16;
    let xor = op::TENSOR_TENSOR_BITVEC_OP;
    let pattern = "step 1, an even count, even outer steps";
    vec![
        broken(
            "bf16-pairs",
            POOL_S,
            add,
            S3S3D3_TT {
                src1: Tensor { start: Addr4(0x1000), step: [1, 33, 0], num: [32, 2, 1] },
                ..tensor_tensor_bf16()
            },
            "src1",
            "steps [1, 33, 0], counts [32, 2, 1]",
            pattern,
        ),
        broken(
            "alignment",
            POOL_S,
            add,
            S3S3D3_TT { src0: line(2, 64), ..tensor_tensor_bf16() },
            "src0",
            "0x2",
            "a multiple of 4",
        ),
        broken(
            "alu-op",
            POOL_S,
            add,
            S3S3D3_TT { op: AluOp::MULT, ..tensor_tensor_bf16() },
            "op",
            "MULTIPLY",
            "ADD",
        ),
        broken(
            "dtype",
            DVE_C,
            xor,
            S3S3D3_TT { in0_in1_dtype: DtypePair::new(Dtype::UINT16, Dtype::INT16), ..tensor_tensor_bits() },
            "in0_in1_dtype",
            "int16",
            "uint16",
        ),
        broken(
            "alu-op",
            DVE_C,
            xor,
            S3S3D3_TT { op: AluOp::LOGICAL_XOR, ..tensor_tensor_bits() },
            "op",
            "LOGICAL_XOR",
            "a bit-vector operator",
        ),
        broken(
            "engine-arm",
            DVE_C,
            xor,
            wide_shift(),
            "op",
            "LOGICAL_SHIFT_RIGHT on DVE",
            "an operator that the engine has",
        ),
        broken("dtype-64bit", POOL_S, xor, wide_shift(), "out_dtype", "int64", "at most 32 bits on sunda"),
    ]
}

pub(super) fn scan_cases() -> Vec<Case> {
    let cumulative = op::TENSOR_CUMULATIVE_ARITH_OP;
    let integers = |from, to| S4D4_TR { op: AluOp::ADD_INT, in_dtype: from, out_dtype: to, ..scan() };
    let i6 = "int8, uint8, int16, uint16, int32, uint32";
    vec![
        broken(
            "alu-op",
            DVE_C,
            cumulative,
            S4D4_TR { op: AluOp::MOD, ..scan() },
            "op",
            "MOD",
            "general arithmetic, RSQRT or an integer operator of the set",
        ),
        broken(
            "engine-arm",
            DVE_C,
            cumulative,
            S4D4_TR { op: AluOp::RSQRT, ..scan() },
            "op",
            "RSQRT on DVE",
            "an operator that the engine has",
        ),
        value(DVE_C, cumulative, S4D4_TR { negated: 1, ..scan() }, "negated", "1", "0"),
        broken("dtype", DVE_C, cumulative, integers(Dtype::FP32, Dtype::UINT32), "in_dtype", "fp32", i6),
        broken(
            "integer-dtype",
            DVE_C,
            cumulative,
            integers(Dtype::INT32, Dtype::UINT32),
            "out_dtype",
            "uint32",
            "an integer of the signedness of in_dtype",
        ),
        broken(
            "shift-dtype",
            DVE_C,
            op::TENSOR_CUMULATIVE_BITVEC_OP,
            S4D4_TR { op: AluOp::LOGICAL_SHIFT_RIGHT, ..bits(scan()) },
            "op",
            "LOGICAL_SHIFT_RIGHT of uint16",
            "int32",
        ),
        broken(
            "dtype",
            DVE_C,
            op::TENSOR_REDUCE_BITVEC_OP,
            S4D4_TR { out_dtype: Dtype::UINT32, ..bits(reduce()) },
            "out_dtype",
            "uint32",
            "uint16",
        ),
        value(
            DVE_C,
            op::TENSOR_REDUCE_BITVEC_OP,
            S4D4_TR { negated: 1, ..bits(reduce()) },
            "negated",
            "1",
            "0",
        ),
        broken(
            "transpose-tiles",
            DVE_C,
            op::TRANSPOSE_TENSOR_REDUCE_ARITH_OP,
            S4D4_TR { num_active_channels: 16, ..reduce() },
            "num_active_channels",
            "16",
            "32, 64, 96 or 128",
        ),
        broken(
            "alu-op",
            DVE_S,
            op::TENSOR_REDUCE_MAX_BF16,
            S4D4_TR { op: AluOp::ADD, ..reduce_bf16() },
            "op",
            "ADD",
            "MAX",
        ),
        value(
            DVE_C,
            op::TENSOR_TENSOR_SCAN_ARITH,
            S2S2D2_STT { accumulator_cmd: AccumCmd::ACCUMULATE, ..scalar_tensors() },
            "accumulator_cmd",
            "2",
            "IDLE",
        ),
    ]
}

pub(super) fn pool_cases() -> Vec<Case> {
    let windows = "X, XY, XYZ or XYZW";
    vec![
        value(
            DVE_C,
            op::POOL,
            S4D4_PL { pool_func: PoolType::NONE, ..pool() },
            "pool_func",
            "0",
            "MAX_POOL or AVG_POOL",
        ),
        value(DVE_C, op::POOL, S4D4_PL { pool_dim: Subdim::UNUSED, ..pool() }, "pool_dim", "0", windows),
        value(
            DVE_C,
            op::POOL,
            S4D4_PL { pool_func: PoolType::MAX_POOL, ..pool() },
            "pool_scale",
            "0.0078125",
            "1",
        ),
        broken(
            "pool-dtype",
            DVE_C,
            op::POOL,
            S4D4_PL { in_dtype: Dtype::INT16, ..pool() },
            "in_dtype",
            "int16",
            "uint8, bfloat16, fp16, int32, fp32, int64",
        ),
        count(DVE_C, op::POOL, S4D4_PL { dst: line(0x8000, 5), ..pool() }, (56, "dst"), "5", "4"),
        value(
            DVE_C,
            op::MAX_POOL_SELECT,
            S4D4_PL { pool_func: PoolType::MAX_POOL, ..pool_select() },
            "pool_func",
            "1",
            "NONE",
        ),
        broken(
            "dtype",
            DVE_C,
            op::MAX_POOL_SELECT,
            S4D4_PL { out_dtype: Dtype::INT32, ..pool_select() },
            "out_dtype",
            "int32",
            "uint8, uint16, uint32",
        ),
    ]
}

pub(super) fn cross_lane_cases() -> Vec<Case> {
    let arith = op::CROSS_LANE_REDUCE_ARITH;
    let base = cross_lane(ReduceOp::ADD, Dtype::FP32);
    vec![
        value(POOL_C, arith, cross_lane(ReduceOp::XOR, Dtype::FP32), "reduce_op", "5", "ADD, AVERAGE or MAX"),
        value(
            POOL_C,
            op::CROSS_LANE_REDUCE_BITVEC,
            cross_lane(ReduceOp::ADD, Dtype::UINT16),
            "reduce_op",
            "0",
            "OR, AND or XOR",
        ),
        value(
            POOL_C,
            arith,
            S4D4_CR { reduce_axis: 2, ..base },
            "reduce_axis",
            "2",
            "0 (all) or 1 (partitions)",
        ),
        count(POOL_C, arith, S4D4_CR { reduce_axis: 0, ..base }, (56, "dst"), "64", "1"),
        broken("memory-space", POOL_C, arith, S4D4_CR { src: line(PSUM, 64), ..base }, "src", "psum", "sbuf"),
        count(
            POOL_C,
            op::IOTA,
            D4_IOTA { generator: Data4d { base: 0, step: [1; 4], num: [8, 4, 1, 1] }, ..iota() },
            (24, "generator"),
            "32",
            "64",
        ),
    ]
}

pub(super) fn wide_cases() -> Vec<Case> {
    let wide = op::TENSOR_TENSOR_INT_WIDE;
    let signed = DtypePair::new(Dtype::INT32, Dtype::INT32);
    vec![
        broken(
            "integer-dtype",
            POOL_V,
            wide,
            S2S2D2D2_TT { dst_dtype: DtypePair::new(Dtype::UINT16, Dtype::UINT32), ..wide_tensors() },
            "dst_dtype",
            "uint16",
            "32 bits for the low half",
        ),
        broken(
            "integer-dtype",
            POOL_V,
            wide,
            S2S2D2D2_TT { src_dtype: signed, op: AluOp::ADD_INT, dst_dtype: signed, ..wide_tensors() },
            "src_dtype",
            "int32,int32",
            "unsigned integers",
        ),
        broken(
            "integer-dtype",
            POOL_V,
            wide,
            S2S2D2D2_TT { dst_dtype: signed, ..wide_tensors() },
            "dst_dtype",
            "int32",
            "the signedness of the sources for the high half",
        ),
        broken(
            "alu-op",
            POOL_V,
            wide,
            S2S2D2D2_TT { op: AluOp::BITWISE_AND, ..wide_tensors() },
            "op",
            "BITWISE_AND",
            "ADD_INT, SUBTRACT_INT, MULT_INT, MULT_UINT or a shift",
        ),
        value(
            DVE_V,
            op::TENSOR_SCALAR_INT_WIDE,
            S2D2D2_TS_WIDE { imm: Imm(32), ..wide_scalar() },
            "imm",
            "32",
            "a shift of 0..31",
        ),
        broken(
            "integer-dtype",
            DVE_V,
            op::TENSOR_SCALAR_INT_WIDE,
            S2D2D2_TS_WIDE { src_dtype: DtypePair::new(Dtype::INT32, Dtype::UINT16), ..wide_scalar() },
            "src_dtype",
            "int32",
            "the signedness of the scalar",
        ),
    ]
}
