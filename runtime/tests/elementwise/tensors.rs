//! Two tensors, with and without a scalar (chapter 04 sections 3 and 5).

use seqjit_runtime::isa::field::{AccumCmd, DtypePair, Imm, ImmSrc, ReverseOps};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, op};

use crate::support::*;
use crate::*;

fn tensors(dtype: Dtype, out_dtype: Dtype, op: AluOp, n: u16) -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(dtype, dtype),
        out_dtype,
        op,
        num_active_channels: 1,
        src0: line(A, n),
        src1: line(B, n),
        dst: line(OUT, n),
    }
}

#[test]
fn bit_vectors_of_the_manual() {
    let mut machine = strict(Generation::Cayman);
    let mut eval = |dtype, op, a: &[u8], b: &[u8]| {
        put_bytes(&mut machine, 0, A as usize, a);
        put_bytes(&mut machine, 0, B as usize, b);
        dve(&mut machine, &[word(op::TENSOR_TENSOR_BITVEC_OP, tensors(dtype, dtype, op, 1))]);
        bytes(&machine, 0, OUT as usize, a.len()).to_vec()
    };
    assert_eq!(eval(Dtype::UINT16, AluOp::BITWISE_XOR, &[0xF0, 0xF0], &[0xF0, 0x0F]), [0x00, 0xFF]);
    let shifted = eval(Dtype::INT32, AluOp::ARITH_SHIFT_RIGHT, &[0x10, 0, 0, 0x80], &[4, 0, 0, 0]);
    assert_eq!(shifted, [0x01, 0, 0, 0xF8]);
    // the sign is that of the element (decision 04-T3)
    assert_eq!(eval(Dtype::INT8, AluOp::ARITH_SHIFT_RIGHT, &[0x80], &[1]), [0xC0]);
    // counts beyond the width leave nothing, or the sign (chapter 03 E16)
    assert_eq!(eval(Dtype::UINT8, AluOp::LOGICAL_SHIFT_LEFT, &[0xFF], &[8]), [0]);
    assert_eq!(eval(Dtype::INT8, AluOp::ARITH_SHIFT_RIGHT, &[0x80], &[200]), [0xFF]);
}

#[test]
fn shifts_of_64_bits_cross_the_halves() {
    let mut machine = strict(Generation::Cayman);
    put(&mut machine, 0, A as usize, &[0, 0x8000_0001, 0x89AB_CDEF, 0x0123_4567]);
    put(&mut machine, 0, B as usize, &[33, 4]);
    let o = S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(Dtype::INT64, Dtype::UINT32),
        ..tensors(Dtype::INT64, Dtype::INT64, AluOp::ARITH_SHIFT_RIGHT, 2)
    };
    run(&mut machine, EngineId::Pool, &[word(op::TENSOR_TENSOR_BITVEC_OP, o)]).unwrap();
    assert_eq!(words(&machine, 0, OUT as usize, 4), [0xC000_0000, 0xFFFF_FFFF, 0x789A_BCDE, 0x0012_3456]);
}

#[test]
fn bf16_pairs_of_the_manual() {
    let mut machine = strict(Generation::Sunda);
    // {3, 1} and {1, 4} in BF16
    put(&mut machine, 0, A as usize, &[0x3F80_4040]);
    put(&mut machine, 0, B as usize, &[0x4080_3F80]);
    let mut eval = |opcode, op| {
        let words = [word(opcode, tensors(Dtype::BFLOAT16, Dtype::FP32, op, 2))];
        run(&mut machine, EngineId::Pool, &words).unwrap();
        out(&machine, 2)
    };
    assert_eq!(eval(op::TENSOR_TENSOR_SUB_BF16, AluOp::SUBTRACT), [2.0, -3.0]);
    assert_eq!(eval(op::TENSOR_TENSOR_ADD_BF16, AluOp::ADD), [4.0, 5.0]);
    assert_eq!(eval(op::TENSOR_TENSOR_MULT_BF16, AluOp::MULT), [3.0, 4.0]);
}

pub fn scalar_tensors(n: u16, ops: [AluOp; 2], scalar: f32) -> S2S2D2_STT {
    S2S2D2_STT {
        src0: line(A, n),
        src1: line(B, n),
        op0: ops[0],
        op1: ops[1],
        reverse_operands: ReverseOps::NONE,
        imm0_src: ImmSrc::INSTRUCTION,
        src_dtype: DtypePair::new(Dtype::FP32, Dtype::FP32),
        out_dtype: Dtype::FP32,
        num_active_channels: 1,
        imm0_dtype: Dtype::FP32,
        accumulator_cmd: AccumCmd::IDLE,
        dst: line(OUT, n),
        imm0: Imm(scalar.to_bits()),
    }
}

#[test]
fn a_scalar_and_two_tensors() {
    let mut machine = with(&[1.0, 2.0]);
    put_floats(&mut machine, 0, B as usize, &[10.0, 20.0]);
    let arith = |o| word(op::SCALAR_TENSOR_TENSOR_ARITH, o);
    let product = scalar_tensors(2, [AluOp::MULT, AluOp::ADD], 3.0);
    let summed = S2S2D2_STT { accumulator_cmd: AccumCmd::ZERO_ACCUMULATE, ..product };
    dve(&mut machine, &[arith(summed)]);
    assert_eq!(out(&machine, 2), [13.0, 26.0]);
    // the accumulator adds up the results (decision 04-X1)
    assert_eq!(accumulator(&mut machine), 39.0);
    let difference = S2S2D2_STT {
        reverse_operands: ReverseOps::BOTH,
        ..scalar_tensors(2, [AluOp::SUBTRACT, AluOp::SUBTRACT], 3.0)
    };
    dve(&mut machine, &[arith(difference)]);
    assert_eq!(out(&machine, 2), [8.0, 19.0]);
    // IDLE leaves the accumulator alone
    assert_eq!(accumulator(&mut machine), 39.0);

    put_bytes(&mut machine, 0, A as usize, &[0x3C]);
    put_bytes(&mut machine, 0, B as usize, &[0x80]);
    let bits = S2S2D2_STT {
        src_dtype: DtypePair::new(Dtype::UINT8, Dtype::UINT8),
        out_dtype: Dtype::UINT8,
        imm0_dtype: Dtype::UINT8,
        imm0: Imm(0x0F),
        ..scalar_tensors(1, [AluOp::BITWISE_AND, AluOp::BITWISE_OR], 0.0)
    };
    dve(&mut machine, &[word(op::SCALAR_TENSOR_TENSOR_BITVEC, bits)]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 1), [0x8C]);
}

/// A pointer's scalar has a datatype of its own.
#[test]
fn the_scalar_behind_a_pointer_is_converted() {
    let mut machine = with(&[1.0, 2.0]);
    put_floats(&mut machine, 0, B as usize, &[0.5, 0.25]);
    put_bytes(&mut machine, 0, COLUMN as usize, &[0x40, 0xC0]); // -3 in BF16
    let o = S2S2D2_STT {
        imm0_src: ImmSrc::PTR,
        imm0_dtype: Dtype::BFLOAT16,
        imm0: Imm(COLUMN),
        ..scalar_tensors(2, [AluOp::MULT, AluOp::ADD], 0.0)
    };
    dve(&mut machine, &[word(op::SCALAR_TENSOR_TENSOR_ARITH, o)]);
    assert_eq!(out(&machine, 2), [-2.5, -5.75]);
}

#[test]
fn the_recurrence_of_the_manual() {
    let scan = |o| word(op::TENSOR_TENSOR_SCAN_ARITH, o);
    let mut machine = with(&[2.0, 3.0, 4.0]);
    put_floats(&mut machine, 0, B as usize, &[1.0; 3]);
    let linear = |start| scalar_tensors(3, [AluOp::MULT, AluOp::ADD], start);
    dve(&mut machine, &[scan(linear(5.0))]);
    assert_eq!(out(&machine, 3), [11.0, 34.0, 137.0]);
    dve(&mut machine, &[scan(linear(0.0))]);
    assert_eq!(out(&machine, 3), [1.0, 4.0, 17.0]);
    // the state goes on through a pointer to the last result
    let from = S2S2D2_STT { imm0_src: ImmSrc::PTR, imm0: Imm(OUT + 8), ..linear(0.0) };
    dve(&mut machine, &[scan(from)]);
    assert_eq!(out(&machine, 3), [35.0, 106.0, 425.0]);

    put_floats(&mut machine, 0, A as usize, &[1.0, 1.0]);
    put_floats(&mut machine, 0, B as usize, &[0.0, 0.0]);
    let reversed = S2S2D2_STT {
        reverse_operands: ReverseOps::FIRST,
        ..scalar_tensors(2, [AluOp::SUBTRACT, AluOp::ADD], 10.0)
    };
    dve(&mut machine, &[scan(reversed)]);
    assert_eq!(out(&machine, 2), [9.0, 8.0]);
}
