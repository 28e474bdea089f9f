//! Integer words with results of 64 bits (chapter 04 sections 3.5 and 4.8).

use seqjit_runtime::isa::field::{DtypePair, Imm, ImmSrc};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, op};

use crate::support::*;
use crate::*;

fn tensors(dtype: Dtype, op: AluOp, a: u32, b: u32) -> [u32; 2] {
    let mut machine = strict(Generation::Maverick);
    put(&mut machine, 0, A as usize, &[a]);
    put(&mut machine, 0, B as usize, &[b]);
    let o = S2S2D2D2_TT {
        src_dtype: DtypePair::new(dtype, dtype),
        dst_dtype: DtypePair::new(dtype, dtype),
        op,
        num_active_channels: 1,
        src0: line(A, 1),
        src1: line(B, 1),
        dst0: line(OUT, 1),
        dst1: line(OUT + 4, 1),
    };
    run(&mut machine, EngineId::Pool, &[word(op::TENSOR_TENSOR_INT_WIDE, o)]).unwrap();
    words(&machine, 0, OUT as usize, 2).try_into().unwrap()
}

#[test]
fn two_tensors() {
    let (i32s, u32s) = (Dtype::INT32, Dtype::UINT32);
    assert_eq!(tensors(u32s, AluOp::MULT_UINT, 0xFFFF_FFFF, 2), [0xFFFF_FFFE, 1]);
    assert_eq!(tensors(u32s, AluOp::ADD_INT, 0xFFFF_FFFF, 1), [0, 1]);
    assert_eq!(tensors(i32s, AluOp::MULT_INT, -2i32 as u32, 3), [0xFFFF_FFFA, 0xFFFF_FFFF]);
    assert_eq!(tensors(u32s, AluOp::SUBTRACT_INT, 1, 2), [0xFFFF_FFFF, 0xFFFF_FFFF]);
    // counts of 64 and more leave nothing (decision 04-W2)
    assert_eq!(tensors(u32s, AluOp::LOGICAL_SHIFT_LEFT, 1, 64), [0, 0]);
    assert_eq!(tensors(u32s, AluOp::LOGICAL_SHIFT_LEFT, 1, 63), [0, 0x8000_0000]);
}

#[test]
fn a_tensor_and_a_scalar() {
    let mut machine = strict(Generation::Maverick);
    put(&mut machine, 0, A as usize, &[0x8000_0001]);
    let o = S2D2D2_TS_WIDE {
        src_dtype: DtypePair::new(Dtype::UINT32, Dtype::UINT32),
        dst_dtype: DtypePair::new(Dtype::UINT32, Dtype::UINT32),
        op: AluOp::LOGICAL_SHIFT_LEFT,
        num_active_channels: 1,
        src: line(A, 1),
        dst0: line(OUT, 1),
        dst1: line(OUT + 4, 1),
        imm_src: ImmSrc::INSTRUCTION,
        imm: Imm(4),
    };
    dve(&mut machine, &[word(op::TENSOR_SCALAR_INT_WIDE, o)]);
    assert_eq!(words(&machine, 0, OUT as usize, 2), [0x10, 0x8]);
}
