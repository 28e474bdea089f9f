//! Predicated and selecting words (chapter 04 sections 5.3 and 8).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::{AccumCmd, DtypePair, F32, Imm, ImmSrc, ReverseOps, Subdim};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, op};
use seqjit_runtime::machine::MachineOptions;

use crate::support::*;
use crate::tensors::scalar_tensors;
use crate::*;

fn predicated(data: Dtype, out_dtype: Dtype, n: u16) -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(Dtype::UINT8, data),
        out_dtype,
        op: AluOp::BYPASS,
        num_active_channels: 1,
        src0: line(A, n),
        src1: line(B, n),
        dst: line(OUT, n),
    }
}

#[test]
fn predicated_words_of_the_manual() {
    let mut machine = strict(Generation::Cayman);
    put_bytes(&mut machine, 0, A as usize, &[1, 0, 3]);
    put_floats(&mut machine, 0, B as usize, &[1.5, 2.5, 3.5]);
    put_bytes(&mut machine, 0, OUT as usize, &[0x10, 0x41, 0x10, 0x41, 0x10, 0x41]);
    dve(&mut machine, &[word(op::CAST_PREDICATED, predicated(Dtype::FP32, Dtype::BFLOAT16, 3))]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 6), [0xC0, 0x3F, 0x10, 0x41, 0x60, 0x40]);

    // a copy keeps every bit of a NaN
    put(&mut machine, 0, B as usize, &[0xFFC0_1234, 1, 0x7F80_0001]);
    put(&mut machine, 0, OUT as usize, &[9, 9, 9]);
    dve(&mut machine, &[word(op::COPY_PREDICATED, predicated(Dtype::FP32, Dtype::FP32, 3))]);
    assert_eq!(words(&machine, 0, OUT as usize, 3), [0xFFC0_1234, 9, 0x7F80_0001]);
}

#[test]
fn elements_that_are_left_alone_stay_unwritten() {
    let mut machine =
        machine(Generation::Cayman, MachineOptions { check: true, ..MachineOptions::default() });
    put_bytes(&mut machine, 0, A as usize, &[1, 0]);
    put_floats(&mut machine, 0, B as usize, &[1.5, 2.5]);
    dve(&mut machine, &[word(op::COPY_PREDICATED, predicated(Dtype::FP32, Dtype::FP32, 2))]);
    let copy = |n| {
        let operands = S4D4_TR {
            src: line(OUT, n),
            in_dtype: Dtype::FP32,
            out_dtype: Dtype::FP32,
            num_active_channels: 1,
            negated: 0,
            op: AluOp::BYPASS,
            op_dim: Subdim::UNUSED,
            mask_enable: 0,
            dst: line(COLUMN, n),
        };
        word(op::COPY, operands)
    };
    dve(&mut machine, &[copy(1)]);
    let fault = run(&mut machine, EngineId::Dve, &[copy(2)]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Uninitialised { .. }), "{fault}");
}

#[test]
fn predicated_scalars_of_the_manual() {
    let mut machine = strict(Generation::Cayman);
    put_bytes(&mut machine, 0, A as usize, &[1, 0, 1]);
    let mut eval = |reversed_pred| {
        put_floats(&mut machine, 0, OUT as usize, &[1.0, 2.0, 3.0]);
        let operands = S3D3_CP_PRED_SCALAR {
            predicate: line(A, 3),
            pred_dtype: Dtype::UINT8,
            reversed_pred,
            num_active_channels: 1,
            in_dtype: Dtype::FP32,
            out_dtype: Dtype::FP32,
            src0_imm_src: ImmSrc::INSTRUCTION,
            src0_imm: Imm(0xFF80_0000),
            dst: line(OUT, 3),
        };
        dve(&mut machine, &[word(op::COPY_PREDICATED_SCALAR, operands)]);
        out(&machine, 3)
    };
    assert_eq!(eval(0), [1.0, f32::NEG_INFINITY, 3.0]);
    assert_eq!(eval(1), [f32::NEG_INFINITY, 2.0, f32::NEG_INFINITY]);
}

#[test]
fn a_lane_takes_the_tensor_or_the_scalar() {
    let mut machine = strict(Generation::Cayman);
    // FP16 {1, 2} and {3, 4}; predicates {1, 0}
    for (lane, (pair, predicate)) in [(0x4000_3C00, 1), (0x4400_4200, 0)].into_iter().enumerate() {
        put(&mut machine, lane, A as usize, &[pair]);
        put_bytes(&mut machine, lane, COLUMN as usize, &[predicate, 0]);
    }
    let mut eval = |reversed_pred| {
        let operands = S3D3_TS_SELECT {
            src0: line(A, 2),
            reversed_pred,
            num_active_channels: 2,
            dtype: Dtype::FP16,
            pred_imm_dtype: Dtype::UINT16,
            src1_imm_src: ImmSrc::INSTRUCTION,
            pred_imm_src: ImmSrc::PTR,
            src1_imm: Imm(0xFC00),
            pred_imm: Imm(COLUMN),
            dst: line(OUT, 2),
        };
        dve(&mut machine, &[word(op::TENSOR_SCALAR_SELECT, operands)]);
        [0, 1].map(|lane| words(&machine, lane, OUT as usize, 1)[0])
    };
    assert_eq!(eval(0), [0x4000_3C00, 0xFC00_FC00]);
    assert_eq!(eval(1), [0xFC00_FC00, 0x4400_4200]);
}

#[test]
fn the_range_of_the_manual() {
    let mut machine = with(&[10.0, 11.0, 12.0, 13.0]);
    let range = |out_dtype| S2D2_RS {
        num_active_channels: 1,
        in_out_dtype: DtypePair::new(Dtype::FP32, out_dtype),
        reduce_cmd: AccumCmd::ZERO_ACCUMULATE,
        reduce_op: AluOp::MAX,
        base: F32(2f32.to_bits()),
        fill_val: F32((-f32::MAX).to_bits()),
        src: line(A, 4),
        comp_op0: AluOp::IS_GE,
        comp_op1: AluOp::IS_LT,
        bound0_src: ImmSrc::INSTRUCTION,
        bound1_src: ImmSrc::INSTRUCTION,
        bound0: Imm(3f32.to_bits()),
        bound1: Imm(5f32.to_bits()),
        dst: line(OUT, 4),
    };
    dve(&mut machine, &[word(op::RANGE_SELECT, range(Dtype::FP32))]);
    assert_eq!(out(&machine, 4), [-f32::MAX, 11.0, 12.0, -f32::MAX]);
    assert_eq!(accumulator(&mut machine), 12.0);
    // narrowed, the fill value is infinite
    dve(&mut machine, &[word(op::RANGE_SELECT, range(Dtype::BFLOAT16))]);
    assert_eq!(words(&machine, 0, OUT as usize, 2), [0x4130_FF80, 0xFF80_4140]);
}

#[test]
fn the_selecting_reduce_of_the_manual() {
    let mut machine = strict(Generation::Cayman);
    put_bytes(&mut machine, 0, A as usize, &[1, 0, 2]);
    put_floats(&mut machine, 0, B as usize, &[5.0, 9.0, -1.0]);
    let select = S2S2D2_STT {
        src_dtype: DtypePair::new(Dtype::UINT8, Dtype::FP32),
        accumulator_cmd: AccumCmd::ZERO_ACCUMULATE,
        ..scalar_tensors(3, [AluOp::BYPASS, AluOp::MAX], -f32::MAX)
    };
    dve(&mut machine, &[word(op::SELECT_REDUCE, select)]);
    assert_eq!(out(&machine, 3), [5.0, -f32::MAX, -1.0]);
    assert_eq!(accumulator(&mut machine), 5.0);

    // the accumulator takes the values before the cast
    let narrow = S2S2D2_STT { out_dtype: Dtype::BFLOAT16, ..select };
    dve(&mut machine, &[word(op::SELECT_REDUCE, narrow)]);
    assert_eq!(words(&machine, 0, OUT as usize, 1), [0xFF80_40A0]);
    assert_eq!(accumulator(&mut machine), 5.0);

    // FIRST reverses the predicate (decision 04-X2); ACCUMULATE goes on from 5
    let reversed =
        S2S2D2_STT { reverse_operands: ReverseOps::FIRST, accumulator_cmd: AccumCmd::ACCUMULATE, ..select };
    dve(&mut machine, &[word(op::SELECT_REDUCE, reversed)]);
    assert_eq!(out(&machine, 3), [-f32::MAX, 9.0, -f32::MAX]);
    assert_eq!(accumulator(&mut machine), 9.0);
}
