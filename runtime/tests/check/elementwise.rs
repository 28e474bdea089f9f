//! Words that break a rule of a DVE, POOL or ACT opcode beyond the basic ones.

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Data4d, Dtype, Layout, Tensor, op};

use crate::legal::*;
use crate::legal_elementwise::*;
use crate::{Case, Place, error, unsupported, word};

pub fn cases() -> Vec<Case> {
    let families = [
        tensor_scalar_cases,
        cache_cases,
        preloaded_cases,
        address_cases,
        pair_cases,
        scan_cases,
        pool_cases,
        batch_norm_cases,
        gradient_cases,
        predicated_cases,
        select_cases,
        scalar_tensor_cases,
        cross_lane_cases,
        activation_cases,
        wide_cases,
    ];
    families.into_iter().flat_map(|cases| cases()).collect()
}

/// A case of a field whose value the opcode does not allow.
fn value<L: Layout>(
    place: Place,
    opcode: u8,
    operands: L,
    field: &'static str,
    found: &str,
    expected: &str,
) -> Case {
    broken("field-value", place, opcode, operands, field, found, expected)
}

/// A case of a rule that is reported at the first byte of a field.
fn broken<L: Layout>(
    rule: &'static str,
    place: Place,
    opcode: u8,
    operands: L,
    field: &'static str,
    found: &str,
    expected: &str,
) -> Case {
    let at = L::DEF.field(field).expect("a field of the struct").offset;
    error(place, word(opcode, operands), rule, (at, field), found, expected)
}

/// A wrong count, which is reported at the counts of the tensor.
fn count<L: Layout>(
    place: Place,
    opcode: u8,
    operands: L,
    (at, field): (usize, &'static str),
    found: &str,
    expected: &str,
) -> Case {
    error(place, word(opcode, operands), "element-count", (at, field), found, expected)
}

fn tensor_scalar_cases() -> Vec<Case> {
    let bits = |o| (op::TENSOR_SCALAR_BITVEC_OP, o);
    let narrow = |op0, op1| S3D3_TS { op0, op1, ..tensor_scalar_bits() };
    let (opcode, and) = bits(narrow(AluOp::BITWISE_AND, AluOp::ADD));
    vec![
        broken("alu-op", DVE_C, opcode, and, "op1", "ADD", "a bit-vector operator"),
        broken(
            "shift-dtype",
            DVE_C,
            opcode,
            narrow(AluOp::LOGICAL_SHIFT_LEFT, AluOp::LOGICAL_SHIFT_RIGHT),
            "op0",
            "LOGICAL_SHIFT_LEFT,LOGICAL_SHIFT_RIGHT of uint16",
            "elements of four bytes",
        ),
        broken(
            "shift-dtype",
            DVE_C,
            opcode,
            narrow(AluOp::BITWISE_AND, AluOp::ARITH_SHIFT_RIGHT),
            "op0",
            "BITWISE_AND,ARITH_SHIFT_RIGHT of uint16",
            "elements of four bytes",
        ),
        broken(
            "immediate-width",
            DVE_C,
            opcode,
            S3D3_TS { imm0: Imm(0x1_0000), ..tensor_scalar_bits() },
            "imm0",
            "0x10000",
            "16 bits of uint16",
        ),
        broken(
            "dtype",
            DVE_C,
            opcode,
            S3D3_TS { out_dtype: Dtype::INT16, ..tensor_scalar_bits() },
            "out_dtype",
            "int16",
            "uint16",
        ),
        broken(
            "operator-order",
            DVE_C,
            opcode,
            narrow(AluOp::BYPASS, AluOp::BITWISE_AND),
            "op1",
            "BITWISE_AND",
            "BYPASS, as op0 is BYPASS",
        ),
        value(
            DVE_C,
            op::TENSOR_SCALAR_PTR_ARITH_OP,
            S3D3_TS { imm0_src: ImmSrc::PTR, ..pointers(tensor_scalar()) },
            "imm0_src",
            "1",
            "0, though a pointer",
        ),
        // the second pointer must be good even if nothing reads it
        broken(
            "alignment",
            DVE_C,
            op::TENSOR_SCALAR_PTR_ARITH_OP,
            S3D3_TS { op1: AluOp::BYPASS, imm1: Imm(2), ..pointers(tensor_scalar()) },
            "imm1",
            "0x2",
            "a multiple of 4",
        ),
        broken(
            "alignment",
            DVE_C,
            op::TENSOR_SCALAR_PTR_BITVEC_OP,
            S3D3_TS { imm1: Imm(1), ..pointers(tensor_scalar_bits()) },
            "imm1",
            "0x1",
            "a multiple of 2",
        ),
        broken(
            "transpose-tiles",
            DVE_C,
            op::TRANSPOSE_TENSOR_SCALAR_ARITH_OP,
            S3D3_TS { num_active_channels: 48, ..tensor_scalar() },
            "num_active_channels",
            "48",
            "32, 64, 96 or 128",
        ),
        broken(
            "transpose-tiles",
            DVE_C,
            op::TRANSPOSE_TENSOR_SCALAR_ARITH_OP,
            S3D3_TS { src: line(0, 48), dst: line(0x1000, 48), ..tensor_scalar() },
            "src",
            "48",
            "a multiple of 32 elements",
        ),
    ]
}

fn cache_cases() -> Vec<Case> {
    let reduce = |o| (op::TENSOR_SCALAR_CACHE_REDUCE, o);
    let (opcode, base) = reduce(cache());
    let folds = "ADD, SUBTRACT, MULTIPLY, MAX or MIN";
    let zero = S3D3_TS {
        accumulator_cmd: AccumCmd::ZERO_ACCUMULATE,
        imm1_src: ImmSrc::INSTRUCTION,
        imm1: Imm(0),
        ..base
    };
    vec![
        broken("alu-op", DVE_C, opcode, S3D3_TS { op1: AluOp::BYPASS, ..base }, "op1", "BYPASS", folds),
        broken(
            "alu-op",
            DVE_C,
            op::TENSOR_SCALAR_CACHE_CUMULATIVE,
            S3D3_TS { op0: AluOp::POW, ..base },
            "op0",
            "POW",
            "general arithmetic",
        ),
        value(
            DVE_C,
            opcode,
            S3D3_TS { reverse_operands: ReverseOps::FIRST, ..base },
            "reverse_operands",
            "1",
            "NONE",
        ),
        value(
            DVE_C,
            opcode,
            S3D3_TS { accumulator_cmd: AccumCmd::IDLE, ..zero },
            "accumulator_cmd",
            "0",
            "an accumulating command",
        ),
        value(DVE_C, opcode, S3D3_TS { imm1: Imm(1), ..zero }, "imm1", "1", "0 without a seed"),
        value(DVE_C, opcode, S3D3_TS { imm1_src: ImmSrc::PTR, ..zero }, "imm1_src", "1", "0 without a seed"),
        broken(
            "dtype",
            DVE_C,
            opcode,
            S3D3_TS { in_dtype: Dtype::INT32, ..base },
            "in_dtype",
            "int32",
            "int8, uint8, int16, uint16, bfloat16, fp16, fp32, fp8_e3m4, fp8_e4m3, fp8_e5m2",
        ),
        value(
            DVE_M,
            op::EXPONENTIAL,
            S3D3_TS {
                accumulator_cmd: AccumCmd::ZERO,
                imm1_src: ImmSrc::INSTRUCTION,
                imm1: Imm(0),
                ..exponential()
            },
            "accumulator_cmd",
            "1",
            "0, 2, 3 or 4",
        ),
        broken(
            "alu-op",
            DVE_M,
            op::EXPONENTIAL,
            S3D3_TS { op0: AluOp::ADD, ..exponential() },
            "op0",
            "ADD",
            "BYPASS",
        ),
        broken(
            "even-counts",
            DVE_M,
            op::EXPONENTIAL,
            S3D3_TS { src: line(0, 255), dst: line(0x1000, 255), ..exponential() },
            "src",
            "[255, 1, 1]",
            "even counts",
        ),
        broken(
            "dve-program",
            DVE_C,
            op::EXPONENTIAL,
            exponential(),
            "accumulator_cmd",
            "EXPONENTIAL",
            "an opcode with a DVE program",
        )
        .at(0, "opcode"),
    ]
}

fn preloaded_cases() -> Vec<Case> {
    let multi = op::TENSOR_SCALAR_PTR_MULTI_ARITH;
    let load = op::TENSOR_SCALAR_IMM_LD_ARITH;
    vec![
        value(DVE_C, multi, S4D4_TSM { op_dim: Subdim::XYZW, ..preloaded() }, "op_dim", "5", "XYZ"),
        value(
            DVE_C,
            multi,
            S4D4_TSM { reverse_operands: ReverseOps::FIRST, ..preloaded() },
            "reverse_operands",
            "1",
            "NONE or BOTH",
        ),
        broken(
            "element-count",
            DVE_C,
            multi,
            S4D4_TSM {
                src: Tensor { start: Addr4(0), step: [1, 0, 0, 16], num: [16, 1, 1, 9] },
                dst: line(0x1000, 144),
                ..preloaded()
            },
            "src",
            "9 slices",
            "1..8",
        ),
        broken(
            "alu-op",
            DVE_C,
            multi,
            S4D4_TSM { op: AluOp::DIVIDE, ..preloaded() },
            "op",
            "DIVIDE",
            "general arithmetic",
        ),
        broken(
            "dtype",
            DVE_C,
            op::TENSOR_SCALAR_PTR_MULTI_BITVEC,
            S4D4_TSM { out_dtype: Dtype::UINT32, ..preloaded() },
            "out_dtype",
            "uint32",
            "uint16",
        ),
        broken("element-count", DVE_C, load, S2_BN { src: line(0, 9), ..preload() }, "src", "9", "1..8"),
        value(DVE_C, load, S2_BN { imm1: Imm(1), ..preload() }, "imm1", "1", "0"),
        value(DVE_C, load, S2_BN { imm0_ptr: Imm(4), ..preload() }, "imm0_ptr", "4", "0"),
        value(DVE_C, load, S2_BN { imm0_src: ImmSrc::PTR, ..preload() }, "imm0_src", "1", "0"),
        broken(
            "dtype",
            DVE_C,
            op::TENSOR_SCALAR_IMM_LD_BITVEC,
            S2_BN { dtype: Dtype::FP16, ..preload() },
            "dtype",
            "fp16",
            "uint8, uint16, int32, uint32",
        ),
        broken(
            "no-kernel",
            DVE_M,
            load,
            preload(),
            "src",
            "TENSOR_SCALAR_IMM_LD_ARITH on mariana",
            "a generation with a program",
        )
        .at(0, "opcode"),
    ]
}

fn address_cases() -> Vec<Case> {
    let opcode = op::TENSOR_SCALAR_ADDR;
    let form = "one of the five forms";
    vec![
        broken(
            "address-arithmetic",
            POOL_C,
            opcode,
            S2D2_ADDR { op1: AluOp::IS_LT, ..addr() },
            "op0",
            "MULTIPLY,IS_LT of int32 to uint64",
            form,
        ),
        broken(
            "address-arithmetic",
            POOL_C,
            opcode,
            S2D2_ADDR { imm_dtype: DtypePair::new(Dtype::UINT64, Dtype::UINT64), ..addr() },
            "op0",
            "MULTIPLY,ADD of int32 to uint64",
            form,
        ),
        value(
            POOL_C,
            opcode,
            S2D2_ADDR { reverse_operands: ReverseOps::SECOND, ..addr() },
            "reverse_operands",
            "2",
            "NONE",
        ),
        broken(
            "address-form",
            POOL_C,
            opcode,
            S2D2_ADDR { imm1_src: ImmSrc::PTR, imm1: 1 << 40, ..addr() },
            "imm1",
            "0x10000000000",
            "a pointer of 29 bits",
        ),
        broken(
            "alignment",
            POOL_C,
            opcode,
            S2D2_ADDR { imm1_src: ImmSrc::PTR, imm1: 4, ..addr() },
            "imm1",
            "0x4",
            "a multiple of 8",
        ),
    ]
}

fn pair_cases() -> Vec<Case> {
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

fn scan_cases() -> Vec<Case> {
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

fn pool_cases() -> Vec<Case> {
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

fn batch_norm_cases() -> Vec<Case> {
    let infinite = F32(0x7F80_0000);
    vec![
        broken("element-count", DVE_C, op::BATCH_NORM_STATS2, stats(513, 6), "src", "513", "1..512"),
        broken("element-count", DVE_C, op::BATCH_NORM_STATS, stats(257, 3), "src", "257", "1..256"),
        count(DVE_C, op::BATCH_NORM_STATS2, stats(512, 5), (56, "dst"), "5", "6"),
        value(
            DVE_C,
            op::BATCH_NORM_STATS2,
            S4D2_BN { odd_count: infinite, ..stats(512, 6) },
            "odd_count",
            "inf",
            "a finite count",
        ),
        broken(
            "dtype",
            DVE_C,
            op::BATCH_NORM_STATS2,
            S4D2_BN { out_dtype: Dtype::INT32, ..stats(512, 6) },
            "out_dtype",
            "int32",
            "bfloat16, fp16, fp32",
        ),
        broken(
            "transpose-tiles",
            DVE_C,
            op::TRANSPOSE_BATCH_NORM_STATS2,
            stats(500, 6),
            "src",
            "500",
            "a multiple of 32 elements",
        ),
        broken(
            "element-count",
            DVE_C,
            op::BATCH_NORM_AGGREGATE,
            S4D2_BN { src: line(0, 7), ..aggregate() },
            "src",
            "7",
            "triples",
        ),
        value(
            DVE_C,
            op::BATCH_NORM_AGGREGATE,
            S4D2_BN { even_count: F32(0x3F80_0000), ..aggregate() },
            "even_count",
            "1",
            "0",
        ),
        unsupported(
            DVE_C,
            word(op::LOAD_PARAMETER_RAM, CTRL_IM { param_ram_offset: 0x3E4, ..parameter_ram() }),
            "field-refused",
            (12, "param_ram_offset"),
            "0x3e4",
            "a multiple of 4 up to 0x3e0",
        ),
        value(
            DVE_C,
            op::LOAD_PARAMETER_RAM,
            CTRL_IM { imm_ptr_select: 1, ..parameter_ram() },
            "imm_ptr_select",
            "1",
            "0",
        ),
    ]
}

fn gradient_cases() -> Vec<Case> {
    vec![
        count(
            DVE_C,
            op::BATCH_NORM_GRAD_ACCUMULATE,
            S3S3D1_BN { dst: line(0x2000, 4), ..grad_accumulate() },
            (54, "dst"),
            "4",
            "3",
        ),
        broken(
            "alignment",
            DVE_C,
            op::BATCH_NORM_GRAD_ACCUMULATE,
            S3S3D1_BN { immediate_dtype: Dtype::INVALID, imm1: Ptr(2), ..grad_accumulate() },
            "imm1",
            "0x2",
            "a multiple of 4",
        ),
        value(
            DVE_S,
            op::BATCH_NORM_GRAD_ACCUMULATE2,
            S3S3D1_BN2 { imm_src: ImmSrcPair(0x20), ..grad_accumulate2() },
            "imm_src",
            "32",
            "1 or 2 in each nibble",
        ),
        count(
            DVE_C,
            op::BATCH_NORM_PARAM_LOAD,
            S2_BN { src: line(0, 2), ..param_load() },
            (24, "src"),
            "2",
            "3",
        ),
        // source 0 means a pointer
        broken(
            "alignment",
            DVE_C,
            op::BATCH_NORM_PARAM_LOAD2,
            S2_BNPL2 { imm0_ptr: Imm(2), ..param_load2() },
            "imm0_ptr",
            "0x2",
            "a multiple of 4",
        ),
        broken(
            "alu-op",
            DVE_C,
            op::BATCH_NORM_BACK_PROP,
            S3S3D3_TT { op: AluOp::ADD, ..back_prop() },
            "op",
            "ADD",
            "BYPASS",
        ),
        broken(
            "dtype",
            DVE_C,
            op::BATCH_NORM_BACK_PROP,
            S3S3D3_TT { in0_in1_dtype: DtypePair::new(Dtype::FP32, Dtype::INT16), ..back_prop() },
            "in0_in1_dtype",
            "int16",
            "bfloat16, fp16, fp32",
        ),
    ]
}

fn predicated_cases() -> Vec<Case> {
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

fn select_cases() -> Vec<Case> {
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

fn scalar_tensor_cases() -> Vec<Case> {
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

fn cross_lane_cases() -> Vec<Case> {
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

fn activation_cases() -> Vec<Case> {
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

fn wide_cases() -> Vec<Case> {
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
