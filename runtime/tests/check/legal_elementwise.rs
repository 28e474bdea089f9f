//! Legal words of the DVE, POOL and ACT opcodes beyond the basic ones.

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Data4d, Dtype, Generation, Tensor, Word, op};

use crate::legal::*;
use crate::{Place, word};

pub const ACT_M: Place = Place(Generation::Mariana, seqjit_runtime::isa::EngineId::Act);
pub const DVE_M: Place = Place(Generation::Mariana, seqjit_runtime::isa::EngineId::Dve);

/// 16-bit operands of one dtype.
fn pair(dtype: Dtype) -> DtypePair {
    DtypePair::new(dtype, dtype)
}

pub fn tensor_tensor_bits() -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: pair(Dtype::UINT16),
        out_dtype: Dtype::UINT16,
        op: AluOp::BITWISE_XOR,
        src0: line(0, 64),
        ..tensor_tensor()
    }
}

/// A 64-bit shift whose counts are UINT32.
pub fn wide_shift() -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(Dtype::INT64, Dtype::UINT32),
        out_dtype: Dtype::INT64,
        op: AluOp::LOGICAL_SHIFT_RIGHT,
        ..tensor_tensor_bits()
    }
}

pub fn tensor_tensor_bf16() -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: pair(Dtype::BFLOAT16),
        out_dtype: Dtype::FP32,
        src0: line(0, 64),
        ..tensor_tensor()
    }
}

pub fn tensor_scalar_bits() -> S3D3_TS {
    S3D3_TS {
        in_dtype: Dtype::UINT16,
        out_dtype: Dtype::UINT16,
        op0: AluOp::LOGICAL_SHIFT_RIGHT,
        op1: AluOp::BITWISE_AND,
        imm0: Imm(4),
        ..tensor_scalar()
    }
}

/// Pointers, although the sources say otherwise.
pub fn pointers(o: S3D3_TS) -> S3D3_TS {
    S3D3_TS {
        imm0_src: ImmSrc::INSTRUCTION,
        imm1_src: ImmSrc::INSTRUCTION,
        imm0: Imm(0x2000),
        imm1: Imm(0x2010),
        ..o
    }
}

pub fn cache() -> S3D3_TS {
    S3D3_TS {
        accumulator_cmd: AccumCmd::LOAD_ACCUMULATE,
        op0: AluOp::MULT,
        op1: AluOp::ADD,
        reverse_operands: ReverseOps::NONE,
        ..tensor_scalar()
    }
}

pub fn exponential() -> S3D3_TS {
    S3D3_TS { op0: AluOp::BYPASS, op1: AluOp::BYPASS, ..cache() }
}

/// Loads eight values (70, 71), or three parameters (64).
pub fn preload() -> S2_BN {
    S2_BN {
        src: line(0, 8),
        imm1: Imm(0),
        dtype: Dtype::UINT16,
        num_active_channels: 128,
        imm0_ptr: Imm(0),
        imm0_src: ImmSrc::INSTRUCTION,
    }
}

pub fn preloaded() -> S4D4_TSM {
    S4D4_TSM {
        src: Tensor { start: Addr4(0), step: [1, 16, 0, 32], num: [16, 2, 1, 8] },
        in_dtype: Dtype::UINT16,
        out_dtype: Dtype::UINT16,
        num_active_channels: 128,
        op: AluOp::BYPASS,
        op_dim: Subdim::XYZ,
        reverse_operands: ReverseOps::BOTH,
        dst: line(0x1000, 256),
    }
}

/// `imm1 + src * imm0`, the form with 64-bit results.
pub fn addr() -> S2D2_ADDR {
    S2D2_ADDR {
        src: line(0, 16),
        imm0: 64,
        imm1: 0x10_0000_0000,
        imm_dtype: DtypePair::new(Dtype::INT32, Dtype::UINT64),
        in_out_dtype: DtypePair::new(Dtype::INT32, Dtype::UINT64),
        imm0_src: ImmSrc::INSTRUCTION,
        imm1_src: ImmSrc::INSTRUCTION,
        op0: AluOp::MULT,
        op1: AluOp::ADD,
        num_active_channels: 128,
        reverse_operands: ReverseOps::NONE,
        dst: line(0x1000, 16),
    }
}

pub fn scan() -> S4D4_TR {
    S4D4_TR { negated: 0, op: AluOp::ADD, dst: line(0x8000, 512), ..reduce() }
}

/// Raw bits of 16-bit elements.
pub fn bits(o: S4D4_TR) -> S4D4_TR {
    S4D4_TR { in_dtype: Dtype::UINT16, out_dtype: Dtype::UINT16, negated: 0, op: AluOp::BITWISE_OR, ..o }
}

pub fn pool() -> S4D4_PL {
    S4D4_PL {
        src: reduce().src,
        in_dtype: Dtype::FP16,
        out_dtype: Dtype::FP32,
        num_active_channels: 128,
        pool_func: PoolType::AVG_POOL,
        pool_dim: Subdim::X,
        pool_scale: F32(0x3C00_0000),
        dst: line(0x8000, 4),
    }
}

pub fn pool_select() -> S4D4_PL {
    S4D4_PL { out_dtype: Dtype::UINT16, pool_func: PoolType::NONE, pool_scale: F32(0x3F80_0000), ..pool() }
}

/// Statistics of as many elements as a word takes.
pub fn stats(elements: u16, results: u16) -> S4D2_BN {
    S4D2_BN {
        src: line(0, elements),
        in_dtype: Dtype::BFLOAT16,
        out_dtype: Dtype::FP32,
        num_active_channels: 128,
        even_count: F32(0x4380_0000),
        odd_count: F32(0x4380_0000),
        dst: line(0x4000, results),
    }
}

pub fn aggregate() -> S4D2_BN {
    S4D2_BN { even_count: F32(0), odd_count: F32(0), ..stats(6, 2) }
}

pub fn grad_accumulate() -> S3S3D1_BN {
    S3S3D1_BN {
        imm0: Ptr(0x3000),
        src0: line(PSUM, 64),
        src1: line(0x1000, 64),
        dst: line(0x2000, 3),
        imm1: Ptr(0x3004),
        in0_in1_dtype: DtypePair::new(Dtype::FP32, Dtype::BFLOAT16),
        immediate_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 128,
    }
}

pub fn grad_accumulate2() -> S3S3D1_BN2 {
    let o = grad_accumulate();
    S3S3D1_BN2 {
        imm0: Imm(0x3000),
        src0: o.src0,
        src1: o.src1,
        dst: o.dst,
        imm1: Imm(7),
        in0_in1_dtype: o.in0_in1_dtype,
        imm_out_dtype: DtypePair::new(Dtype::FP16, Dtype::FP32),
        imm_src: ImmSrcPair(0x21),
        num_active_channels: 128,
    }
}

pub fn param_load() -> S2_BN {
    S2_BN {
        src: line(0, 3),
        imm1: Imm(0x4080_0000),
        dtype: Dtype::FP32,
        imm0_ptr: Imm(0x3000),
        imm0_src: ImmSrc::PTR,
        ..preload()
    }
}

pub fn param_load2() -> S2_BNPL2 {
    S2_BNPL2 {
        src: line(0, 2),
        element_count: 0x4080_0000,
        src_dtype: Dtype::BFLOAT16,
        imm_dtype: Dtype::FP32,
        num_active_channels: 128,
        imm0_ptr: Imm(0x3000),
        imm1_ptr: Imm(0x3004),
        imm0_src: ImmSrc::INSTRUCTION,
        imm1_src: ImmSrc::PTR,
    }
}

pub fn back_prop() -> S3S3D3_TT {
    S3S3D3_TT { op: AluOp::BYPASS, ..tensor_tensor() }
}

pub fn parameter_ram() -> CTRL_IM {
    CTRL_IM { param_ram_offset: 0x3E0, imm_ptr_select: 0, immediate: [0x3F80_0000; 8] }
}

/// BF16 elements where a 16-bit predicate holds.
pub fn predicated() -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(Dtype::UINT16, Dtype::BFLOAT16),
        out_dtype: Dtype::BFLOAT16,
        op: AluOp::BYPASS,
        src0: line(0, 64),
        ..tensor_tensor()
    }
}

pub fn predicated_scalar() -> S3D3_CP_PRED_SCALAR {
    S3D3_CP_PRED_SCALAR {
        predicate: line(0, 64),
        pred_dtype: Dtype::UINT16,
        reversed_pred: 1,
        num_active_channels: 128,
        in_dtype: Dtype::FP16,
        out_dtype: Dtype::FP16,
        src0_imm_src: ImmSrc::PTR,
        src0_imm: Imm(0x3000),
        dst: line(0x1000, 64),
    }
}

pub fn select() -> S3D3_TS_SELECT {
    S3D3_TS_SELECT {
        src0: line(0, 64),
        reversed_pred: 0,
        num_active_channels: 128,
        dtype: Dtype::FP16,
        pred_imm_dtype: Dtype::INT16,
        src1_imm_src: ImmSrc::INSTRUCTION,
        pred_imm_src: ImmSrc::INSTRUCTION,
        src1_imm: Imm(0xFC00),
        pred_imm: Imm(1),
        dst: line(0x1000, 64),
    }
}

pub fn range_select() -> S2D2_RS {
    S2D2_RS {
        num_active_channels: 128,
        in_out_dtype: DtypePair::new(Dtype::FP32, Dtype::BFLOAT16),
        reduce_cmd: AccumCmd::ZERO_ACCUMULATE,
        reduce_op: AluOp::MAX,
        base: F32(0x4B7F_FFC0),
        fill_val: F32(0xFF7F_FFFF),
        src: line(0, 64),
        comp_op0: AluOp::IS_GE,
        comp_op1: AluOp::IS_LT,
        bound0_src: ImmSrc::PTR,
        bound1_src: ImmSrc::REG_PTR,
        bound0: Imm(0x3000),
        bound1: Imm(12),
        dst: line(0x1000, 64),
    }
}

pub fn scalar_tensors() -> S2S2D2_STT {
    S2S2D2_STT {
        src0: line(0, 64),
        src1: line(PSUM, 64),
        op0: AluOp::MULT,
        op1: AluOp::ADD,
        reverse_operands: ReverseOps::SECOND,
        imm0_src: ImmSrc::PTR,
        src_dtype: DtypePair::new(Dtype::BFLOAT16, Dtype::FP32),
        out_dtype: Dtype::BFLOAT16,
        num_active_channels: 128,
        imm0_dtype: Dtype::BFLOAT16,
        accumulator_cmd: AccumCmd::IDLE,
        dst: line(0x1000, 64),
        imm0: Imm(0x3002),
    }
}

pub fn scalar_tensors_bits() -> S2S2D2_STT {
    S2S2D2_STT {
        op0: AluOp::BITWISE_AND,
        op1: AluOp::BITWISE_OR,
        src1: line(0x800, 64),
        src_dtype: pair(Dtype::UINT16),
        out_dtype: Dtype::UINT16,
        imm0_src: ImmSrc::INSTRUCTION,
        imm0_dtype: Dtype::UINT16,
        imm0: Imm(0xFF),
        ..scalar_tensors()
    }
}

pub fn select_reduce() -> S2S2D2_STT {
    S2S2D2_STT {
        op0: AluOp::BYPASS,
        op1: AluOp::MAX,
        src1: line(0x800, 64),
        src_dtype: DtypePair::new(Dtype::INT16, Dtype::FP16),
        reverse_operands: ReverseOps::FIRST,
        imm0_src: ImmSrc::INSTRUCTION,
        imm0_dtype: Dtype::FP32,
        imm0: Imm(0xFF7F_FFFF),
        accumulator_cmd: AccumCmd::ACCUMULATE,
        ..scalar_tensors()
    }
}

/// Folds lanes, element by element.
pub fn cross_lane(reduce_op: ReduceOp, dtype: Dtype) -> S4D4_CR {
    S4D4_CR {
        src: line(0, 64),
        in_dtype: dtype,
        out_dtype: dtype,
        num_active_channels: 128,
        reduce_op,
        reduce_axis: 1,
        scale: F32(0),
        dst: line(0x1000, 64),
    }
}

pub fn iota() -> D4_IOTA {
    D4_IOTA {
        generator: Data4d { base: 100, step: [1, 10, 0, 0], num: [8, 8, 1, 1] },
        out_dtype: Dtype::FP16,
        num_active_channels: 128,
        channel_multiplier: 1000,
        dst: line(0, 64),
    }
}

pub fn quantize() -> S3D3_AQ {
    S3D3_AQ {
        quant_scale: F32(0x4000_0000),
        src: line(PSUM, 64),
        in_bias_dtype: DtypePair::new(Dtype::FP32, Dtype::BFLOAT16),
        out_dtype: Dtype::UINT8,
        num_active_channels: 128,
        activation_func: 7,
        dequant_scale: F32(0x3F00_0000),
        bias_addr: Ptr(0x3002),
        quant_zero: F32(0),
        dst: line(0x1000, 64),
    }
}

pub fn activate2() -> S2D2_AC {
    S2D2_AC {
        src: line(0, 64),
        relu_param_src: ImmSrc::INSTRUCTION,
        imm0_src: ImmSrc::PTR,
        reduce_cmd: ReduceCmd::RESET_REDUCE,
        imm1_src: ImmSrc::INSTRUCTION,
        imm_dtype: Dtype::FP32,
        op0: AluOp::MULT,
        op1: AluOp::SUBTRACT,
        reduce_op: AluOp::ABS_MAX,
        in_dtype: Dtype::BFLOAT16,
        out_dtype: Dtype::BFLOAT16,
        num_active_channels: 128,
        activation_func: 7,
        imm0: Imm(0x3000),
        imm1: Imm(0x3F80_0000),
        relu_param: Imm(0),
        dst: line(0x1000, 64),
        reverse_operands: 3,
    }
}

pub fn wide_tensors() -> S2S2D2D2_TT {
    S2S2D2D2_TT {
        src_dtype: pair(Dtype::UINT16),
        dst_dtype: pair(Dtype::UINT32),
        op: AluOp::MULT_UINT,
        num_active_channels: 128,
        src0: line(0, 64),
        src1: line(0x800, 64),
        dst0: line(0x1000, 64),
        dst1: line(0x1800, 64),
    }
}

pub fn wide_scalar() -> S2D2D2_TS_WIDE {
    S2D2D2_TS_WIDE {
        src_dtype: DtypePair::new(Dtype::UINT32, Dtype::UINT16),
        dst_dtype: pair(Dtype::UINT16),
        op: AluOp::ARITH_SHIFT_LEFT,
        num_active_channels: 128,
        src: line(0, 64),
        dst0: line(0x1000, 64),
        dst1: line(0x1800, 64),
        imm_src: ImmSrc::INSTRUCTION,
        imm: Imm(31),
    }
}

pub fn words() -> Vec<(&'static str, Place, Word)> {
    let mut words = arithmetic();
    words.extend(tensors());
    words
}

fn arithmetic() -> Vec<(&'static str, Place, Word)> {
    vec![
        ("30", DVE_M, word(op::EXPONENTIAL, exponential())),
        ("43 integer", DVE_V, word(op::TENSOR_SCALAR_ARITH_OP, vector_integer())),
        ("44", DVE_C, word(op::TENSOR_SCALAR_PTR_ARITH_OP, pointers(tensor_scalar()))),
        ("4E", DVE_S, word(op::TENSOR_CUMULATIVE_ARITH_OP, scan())),
        (
            "4E of narrow integers",
            DVE_C,
            word(
                op::TENSOR_CUMULATIVE_ARITH_OP,
                S4D4_TR { op: AluOp::ADD_INT, in_dtype: Dtype::INT16, out_dtype: Dtype::INT32, ..scan() },
            ),
        ),
        ("4F", DVE_C, word(op::TENSOR_SCALAR_PTR_MULTI_ARITH, preloaded())),
        ("51", DVE_C, word(op::TENSOR_TENSOR_BITVEC_OP, tensor_tensor_bits())),
        ("51 of 64 bits", POOL_C, word(op::TENSOR_TENSOR_BITVEC_OP, wide_shift())),
        ("52", POOL_C, word(op::TENSOR_REDUCE_BITVEC_OP, bits(reduce()))),
        ("53", DVE_S, word(op::TENSOR_SCALAR_BITVEC_OP, tensor_scalar_bits())),
        ("54", DVE_C, word(op::TENSOR_SCALAR_PTR_BITVEC_OP, pointers(tensor_scalar_bits()))),
        ("5E", DVE_C, word(op::TENSOR_CUMULATIVE_BITVEC_OP, bits(scan()))),
        ("5F", DVE_C, word(op::TENSOR_SCALAR_PTR_MULTI_BITVEC, preloaded())),
        ("70", DVE_C, word(op::TENSOR_SCALAR_IMM_LD_ARITH, preload())),
        ("71", DVE_C, word(op::TENSOR_SCALAR_IMM_LD_BITVEC, preload())),
        ("74", POOL_S, word(op::TENSOR_SCALAR_ADDR, addr())),
        ("83", DVE_C, word(op::TRANSPOSE_TENSOR_REDUCE_ARITH_OP, reduce())),
        ("84", DVE_C, word(op::TRANSPOSE_TENSOR_REDUCE_BITVEC_OP, bits(reduce()))),
        ("8A", POOL_S, word(op::TENSOR_TENSOR_ADD_BF16, tensor_tensor_bf16())),
        (
            "8B",
            POOL_S,
            word(op::TENSOR_TENSOR_MULT_BF16, S3S3D3_TT { op: AluOp::MULT, ..tensor_tensor_bf16() }),
        ),
        ("8D", DVE_S, word(op::TENSOR_REDUCE_MAX_BF16, S4D4_TR { op: AluOp::MAX, ..reduce_bf16() })),
        (
            "8F",
            POOL_S,
            word(op::TENSOR_TENSOR_SUB_BF16, S3S3D3_TT { op: AluOp::SUBTRACT, ..tensor_tensor_bf16() }),
        ),
        ("93", DVE_C, word(op::TRANSPOSE_TENSOR_SCALAR_ARITH_OP, tensor_scalar())),
        ("9A", DVE_C, word(op::TENSOR_SCALAR_CACHE_REDUCE, cache())),
        ("9D", DVE_C, word(op::SCALAR_TENSOR_TENSOR_ARITH, scalar_tensors())),
        ("9E", DVE_S, word(op::SCALAR_TENSOR_TENSOR_BITVEC, scalar_tensors_bits())),
        ("E5", DVE_C, word(op::TENSOR_TENSOR_SCAN_ARITH, scalar_tensors())),
        ("E6", DVE_C, word(op::TENSOR_SCALAR_CACHE_CUMULATIVE, cache())),
        ("F3", POOL_V, word(op::TENSOR_TENSOR_INT_WIDE, wide_tensors())),
        ("F4", DVE_V, word(op::TENSOR_SCALAR_INT_WIDE, wide_scalar())),
    ]
}

/// The integer form of MAVERICK.
fn vector_integer() -> S3D3_TS {
    S3D3_TS {
        in_dtype: Dtype::INT16,
        out_dtype: Dtype::INT16,
        op0: AluOp::MULT_INT,
        op1: AluOp::BYPASS,
        ..tensor_scalar()
    }
}

fn tensors() -> Vec<(&'static str, Place, Word)> {
    vec![
        ("22", ACT_C, word(op::ACTIVATE_QUANTIZE, quantize())),
        ("25", ACT_M, word(op::ACTIVATE2, activate2())),
        ("45", DVE_C, word(op::POOL, pool())),
        ("58", DVE_S, word(op::MAX_POOL_SELECT, pool_select())),
        ("60", DVE_C, word(op::BATCH_NORM_STATS, stats(256, 3))),
        ("61", DVE_S, word(op::BATCH_NORM_STATS2, stats(512, 6))),
        ("62", DVE_C, word(op::BATCH_NORM_AGGREGATE, aggregate())),
        ("63", DVE_S, word(op::BATCH_NORM_GRAD_ACCUMULATE, grad_accumulate())),
        ("64", DVE_C, word(op::BATCH_NORM_PARAM_LOAD, param_load())),
        ("65", DVE_C, word(op::BATCH_NORM_BACK_PROP, back_prop())),
        ("66", DVE_C, word(op::LOAD_PARAMETER_RAM, parameter_ram())),
        ("72", DVE_C, word(op::COPY_PREDICATED, predicated())),
        ("7C", POOL_C, word(op::CROSS_LANE_REDUCE_ARITH, cross_lane(ReduceOp::AVERAGE, Dtype::FP16))),
        ("7D", POOL_C, word(op::CROSS_LANE_REDUCE_BITVEC, cross_lane(ReduceOp::XOR, Dtype::INT16))),
        ("7E", POOL_S, word(op::IOTA, iota())),
        ("82", DVE_C, word(op::TRANSPOSE_BATCH_NORM_STATS2, stats(512, 6))),
        ("8E", DVE_S, word(op::BATCH_NORM_PARAM_LOAD2, param_load2())),
        ("94", DVE_S, word(op::BATCH_NORM_GRAD_ACCUMULATE2, grad_accumulate2())),
        ("98", DVE_C, word(op::TENSOR_SCALAR_SELECT, select())),
        ("99", DVE_C, word(op::CAST_PREDICATED, S3S3D3_TT { out_dtype: Dtype::FP32, ..predicated() })),
        (
            "9B",
            DVE_C,
            word(
                op::DVE_READ_ACCUMULATOR,
                D1_RD { negated: 1, dtype: Dtype::BFLOAT16, ..read_accumulator() },
            ),
        ),
        ("BC", DVE_C, word(op::RANGE_SELECT, range_select())),
        ("E8", DVE_C, word(op::COPY_PREDICATED_SCALAR, predicated_scalar())),
        ("EA", DVE_C, word(op::SELECT_REDUCE, select_reduce())),
    ]
}
