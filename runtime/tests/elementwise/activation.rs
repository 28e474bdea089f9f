//! ACTIVATE_QUANTIZE and ACTIVATE2 by definition (chapter 05 sections 3.3 and 3.5).

use seqjit_runtime::isa::field::{DtypePair, F32, Imm, ImmSrc, Ptr, ReduceCmd};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, op};

use crate::support::*;
use crate::*;

const IDENTITY: u8 = 1;
const RELU: u8 = 2;

#[test]
fn quantised_results_round_and_clamp() {
    let mut machine = with(&[1.5, -2.0, 100.0, f32::NAN, 1.25]);
    put_bytes(&mut machine, 0, COLUMN as usize, &[0x00, 0x3F]); // 0.5 in BF16
    let quantize = |in_dtype, n| S3D3_AQ {
        quant_scale: F32(0.5f32.to_bits()),
        src: line(A, n),
        in_bias_dtype: DtypePair::new(in_dtype, Dtype::BFLOAT16),
        out_dtype: Dtype::UINT8,
        num_active_channels: 1,
        activation_func: IDENTITY,
        dequant_scale: F32(2f32.to_bits()),
        bias_addr: Ptr(COLUMN),
        quant_zero: F32(1f32.to_bits()),
        dst: line(OUT, n),
    };
    run(&mut machine, EngineId::Act, &[word(op::ACTIVATE_QUANTIZE, quantize(Dtype::FP32, 5))]).unwrap();
    // 2.75, -0.75, 101.25, NaN, 2.5
    assert_eq!(bytes(&machine, 0, OUT as usize, 5), [3, 0, 101, 0, 2]);
    put(&mut machine, 0, A as usize, &[1000, -1i32 as u32]);
    run(&mut machine, EngineId::Act, &[word(op::ACTIVATE_QUANTIZE, quantize(Dtype::INT32, 2))]).unwrap();
    // 1001.25, 0.25
    assert_eq!(bytes(&machine, 0, OUT as usize, 2), [255, 0]);
}

fn activate(reduce_cmd: ReduceCmd, reduce_op: AluOp, reverse_operands: u8) -> S2D2_AC {
    S2D2_AC {
        src: line(A, 3),
        relu_param_src: ImmSrc::INSTRUCTION,
        imm0_src: ImmSrc::PTR,
        reduce_cmd,
        imm1_src: ImmSrc::INSTRUCTION,
        imm_dtype: Dtype::BFLOAT16,
        op0: AluOp::MULT,
        op1: AluOp::SUBTRACT,
        reduce_op,
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 1,
        activation_func: RELU,
        imm0: Imm(COLUMN),
        imm1: Imm(1f32.to_bits()),
        relu_param: Imm(0),
        dst: line(OUT, 3),
        reverse_operands,
    }
}

#[test]
fn two_operators_a_function_and_a_reduction() {
    let mut machine = strict(Generation::Mariana);
    put_floats(&mut machine, 0, A as usize, &[1.0, -2.0, 3.0]);
    put_bytes(&mut machine, 0, COLUMN as usize, &[0x00, 0x40]); // 2 in BF16
    let mut eval = |o: S2D2_AC| {
        run(&mut machine, EngineId::Act, &[word(op::ACTIVATE2, o)]).unwrap();
        (out(&machine, 3), machine.cores[0].act.accumulator[0])
    };
    // 2x - 1 = 1, -5, 5
    let largest = activate(ReduceCmd::RESET_REDUCE, AluOp::ABS_MAX, 0);
    assert_eq!(eval(largest), (vec![1.0, 0.0, 5.0], 5.0));
    // 1 - 2x = -1, 5, -5; the sum goes on from 5
    let sum = activate(ReduceCmd::REDUCE, AluOp::ADD, 2);
    assert_eq!(eval(sum), (vec![0.0, 5.0, 0.0], 10.0));
    assert_eq!(eval(activate(ReduceCmd::IDLE, AluOp::BYPASS, 0)).1, 10.0);
    // a reset folds nothing
    assert_eq!(eval(activate(ReduceCmd::RESET, AluOp::MIN, 0)).1, f32::INFINITY);
}

/// Decision 05-40.
#[test]
fn maverick_has_one_array_of_accumulators() {
    let mut machine = strict(Generation::Maverick);
    put_floats(&mut machine, 0, A as usize, &[1.0, 0.0, 3.0]);
    put_bytes(&mut machine, 0, COLUMN as usize, &[0x00, 0x40]);
    let o = activate(ReduceCmd::RESET_REDUCE, AluOp::ADD, 0);
    run(&mut machine, EngineId::Act, &[word(op::ACTIVATE2, o)]).unwrap();
    assert_eq!(accumulator(&mut machine), 6.0);
}
