//! Tensors with scalars, caching words, preloaded scalars and addresses.

use super::*;

pub(super) fn tensor_scalar_cases() -> Vec<Case> {
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

pub(super) fn cache_cases() -> Vec<Case> {
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

pub(super) fn preloaded_cases() -> Vec<Case> {
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

pub(super) fn address_cases() -> Vec<Case> {
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
