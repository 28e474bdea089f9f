//! Preloaded scalars (chapter 04 section 4.7).

use seqjit_runtime::isa::field::{Imm, ImmSrc, ReverseOps, Subdim};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, Generation, Tensor, Word, op};

use crate::support::*;
use crate::*;

fn load(opcode: u8, dtype: Dtype, n: u16) -> Word {
    let operands = S2_BN {
        src: line(COLUMN, n),
        imm1: Imm(0),
        dtype,
        num_active_channels: 1,
        imm0_ptr: Imm(0),
        imm0_src: ImmSrc::INSTRUCTION,
    };
    word(opcode, operands)
}

fn slices(dtype: Dtype, length: u16, count: u16, op: AluOp, reverse: ReverseOps) -> S4D4_TSM {
    let step = length as i16;
    S4D4_TSM {
        src: Tensor { step: [1, 0, 0, step], num: [length, 1, 1, count], ..line(A, 1) },
        in_dtype: dtype,
        out_dtype: dtype,
        num_active_channels: 1,
        op,
        op_dim: Subdim::XYZ,
        reverse_operands: reverse,
        dst: line(OUT, length * count),
    }
}

#[test]
fn each_slice_meets_its_scalar() {
    let mut machine = with(&[1.0, 2.0, 3.0, 4.0]);
    put_floats(&mut machine, 0, COLUMN as usize, &[10.0, 20.0]);
    let arith = |op, reverse| word(op::TENSOR_SCALAR_PTR_MULTI_ARITH, slices(Dtype::FP32, 2, 2, op, reverse));
    let load = load(op::TENSOR_SCALAR_IMM_LD_ARITH, Dtype::FP32, 2);
    dve(&mut machine, &[load, arith(AluOp::ADD, ReverseOps::NONE)]);
    assert_eq!(out(&machine, 4), [11.0, 12.0, 23.0, 24.0]);
    dve(&mut machine, &[arith(AluOp::SUBTRACT, ReverseOps::BOTH)]);
    assert_eq!(out(&machine, 4), [9.0, 8.0, 17.0, 16.0]);
}

#[test]
fn loads_convert_or_extend() {
    let mut machine = strict(Generation::Cayman);
    put_bytes(&mut machine, 0, COLUMN as usize, &[0xFD, 0xFF]);
    dve(&mut machine, &[load(op::TENSOR_SCALAR_IMM_LD_ARITH, Dtype::INT16, 1)]);
    assert_eq!(machine.cores[0].dve.scalars.0[0][0], 0xC040_0000);

    put_bytes(&mut machine, 0, COLUMN as usize, &[0x0F, 0xF0]);
    put_bytes(&mut machine, 0, A as usize, &[0xFF, 0xFF]);
    let xor = slices(Dtype::UINT8, 1, 2, AluOp::BITWISE_XOR, ReverseOps::NONE);
    dve(
        &mut machine,
        &[
            load(op::TENSOR_SCALAR_IMM_LD_BITVEC, Dtype::UINT8, 2),
            word(op::TENSOR_SCALAR_PTR_MULTI_BITVEC, xor),
        ],
    );
    assert_eq!(machine.cores[0].dve.scalars.0[0][..2], [0x0000_000F, 0x0000_00F0]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 2), [0xF0, 0x0F]);
}
