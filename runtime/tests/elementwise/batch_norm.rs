//! Batch normalisation (chapter 05 section 5).

use seqjit_runtime::isa::field::{DtypePair, F32, Imm, ImmSrc, ImmSrcPair, Ptr};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, Generation, Word, op};

use crate::support::*;
use crate::*;

/// Inverse deviation of the examples.
const VF: u32 = 0x3F64_F92E;

fn moments(n: u16, counts: [f32; 2], results: u16) -> S4D2_BN {
    S4D2_BN {
        src: line(A, n),
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 1,
        even_count: F32(counts[0].to_bits()),
        odd_count: F32(counts[1].to_bits()),
        dst: line(OUT, results),
    }
}

#[test]
fn statistics_of_the_manual() {
    let mut machine = with(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    dve(&mut machine, &[word(op::BATCH_NORM_STATS2, moments(5, [3.0, 2.0], 6))]);
    assert_eq!(out(&machine, 6), [3.0, 3.0, 8.0, 2.0, 3.0, 2.0]);

    let mut machine = with(&[0.5, -1.25, 2.0, 3.5, -0.75, 1.0, 4.25, 0.1]);
    dve(&mut machine, &[word(op::BATCH_NORM_STATS2, moments(8, [4.0, 4.0], 6))]);
    let exact = [4.0, 1.5, 13.875, 4.0].map(f32::to_bits);
    assert_eq!(words(&machine, 0, OUT as usize, 6), [&exact[..], &[0x3F56_6665, 0x4140_451F]].concat());

    // one element has no odd ones; their count is the word's all the same
    let mut machine = with(&[7.0]);
    dve(&mut machine, &[word(op::BATCH_NORM_STATS2, moments(1, [1.0, 9.0], 6))]);
    assert_eq!(out(&machine, 6), [1.0, 7.0, 0.0, 9.0, 0.0, 0.0]);
}

/// Means 2 and 3, deviation (4 - 3)(4 - 2), all exact.
#[test]
fn statistics_of_one_set() {
    let mut machine = with(&[2.0, 4.0]);
    dve(&mut machine, &[word(op::BATCH_NORM_STATS, moments(2, [2.0, 0.0], 3))]);
    assert_eq!(out(&machine, 3), [2.0, 3.0, 2.0]);
}

/// Only the last lane is not zero, so that element 31 of lane p is the only one that counts: the odd mean is a
/// sixteenth of it, the deviation 15/16 of its square.
#[test]
fn statistics_across_lanes() {
    let mut machine = strict(Generation::Cayman);
    let row: Vec<f32> = (0..32).map(|e| 16.0 * (e + 1) as f32).collect();
    put_floats(&mut machine, 31, A as usize, &row);
    let o = S4D2_BN { num_active_channels: 32, ..moments(32, [16.0, 16.0], 6) };
    dve(&mut machine, &[word(op::TRANSPOSE_BATCH_NORM_STATS2, o)]);
    for lane in 0..32 {
        let p = (lane + 1) as f32;
        assert_eq!(floats(&machine, lane, OUT as usize, 6), [16.0, 0.0, 0.0, 16.0, p, 240.0 * p * p]);
    }
}

#[test]
fn aggregates_of_the_manual() {
    let aggregate = |n| word(op::BATCH_NORM_AGGREGATE, moments(n, [0.0; 2], 2));
    let mut machine = with(&[3.0, 3.0, 8.0, 2.0, 3.0, 2.0]);
    dve(&mut machine, &[aggregate(6)]);
    assert_eq!(out(&machine, 2), [3.0, 2.0]);

    let exact = [4.0, 1.5, 13.875, 4.0].map(f32::to_bits);
    put(&mut machine, 0, A as usize, &[&exact[..], &[0x3F56_6665, 0x4140_451F]].concat());
    dve(&mut machine, &[aggregate(6)]);
    assert_eq!(words(&machine, 0, OUT as usize, 2), [0x3F95_9999, 0x4056_2853]);

    // empty triples in front are skipped, and nothing but empty ones gives zeros (decision 05-32)
    put_floats(&mut machine, 0, A as usize, &[0.0, 5.0, 5.0, 2.0, 3.0, 2.0]);
    dve(&mut machine, &[aggregate(6)]);
    assert_eq!(out(&machine, 2), [3.0, 1.0]);
    put_floats(&mut machine, 0, A as usize, &[0.0; 6]);
    dve(&mut machine, &[aggregate(6)]);
    assert_eq!(out(&machine, 2), [0.0, 0.0]);
}

const X: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
const DY: [f32; 4] = [0.5, -1.0, 0.25, 2.0];
const SUMS: [u32; 3] = [0x3FE0_0000, 0x4013_3333, 0x4024_9319];

/// The example's tensors, mean and inverse deviation.
fn prepared(generation: Generation) -> Machine {
    let mut machine = strict(generation);
    put_floats(&mut machine, 0, A as usize, &X);
    put_floats(&mut machine, 0, B as usize, &DY);
    put(&mut machine, 0, COLUMN as usize, &[2.5f32.to_bits(), VF]);
    machine
}

#[test]
fn gradients_of_the_manual() {
    let mut machine = prepared(Generation::Cayman);
    let pointers = S3S3D1_BN {
        imm0: Ptr(COLUMN),
        src0: line(A, 4),
        src1: line(B, 4),
        dst: line(OUT, 3),
        imm1: Ptr(COLUMN + 4),
        in0_in1_dtype: DtypePair::new(Dtype::FP32, Dtype::FP32),
        immediate_dtype: Dtype::INVALID,
        out_dtype: Dtype::FP32,
        num_active_channels: 1,
    };
    dve(&mut machine, &[word(op::BATCH_NORM_GRAD_ACCUMULATE, pointers)]);
    assert_eq!(words(&machine, 0, OUT as usize, 3), SUMS);

    let mut machine = prepared(Generation::Sunda);
    let both = S3S3D1_BN2 {
        imm0: Imm(COLUMN),
        src0: line(A, 4),
        src1: line(B, 4),
        dst: line(OUT, 3),
        imm1: Imm(COLUMN + 4),
        in0_in1_dtype: DtypePair::new(Dtype::FP32, Dtype::FP32),
        imm_out_dtype: DtypePair::new(Dtype::FP32, Dtype::FP32),
        imm_src: ImmSrcPair(0x11),
        num_active_channels: 1,
    };
    dve(&mut machine, &[word(op::BATCH_NORM_GRAD_ACCUMULATE2, both)]);
    assert_eq!(words(&machine, 0, OUT as usize, 3), SUMS);
}

fn back_prop() -> Word {
    let operands = S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(Dtype::FP32, Dtype::FP32),
        out_dtype: Dtype::FP32,
        op: AluOp::BYPASS,
        num_active_channels: 1,
        src0: line(A, 4),
        src1: line(B, 4),
        dst: line(OUT, 4),
    };
    word(op::BATCH_NORM_BACK_PROP, operands)
}

/// A is vf / 4, B and C the first two sums.
#[test]
fn the_back_propagation_of_the_manual() {
    const PARAMETERS: u32 = 0x700;
    let expected = [0x3F53_CCE3, 0xBF83_A8E1, 0xBED9_8653, 0x3F20_4807];
    let a = f32::from_bits(VF) / 4.0;
    let mut machine = prepared(Generation::Cayman);
    put(&mut machine, 0, PARAMETERS as usize, &[a.to_bits(), SUMS[0], SUMS[1]]);
    let three = S2_BN {
        src: line(PARAMETERS, 3),
        imm1: Imm(4f32.to_bits()),
        dtype: Dtype::FP32,
        num_active_channels: 1,
        imm0_ptr: Imm(COLUMN),
        imm0_src: ImmSrc::PTR,
    };
    dve(&mut machine, &[word(op::BATCH_NORM_PARAM_LOAD, three), back_prop()]);
    assert_eq!(words(&machine, 0, OUT as usize, 4), expected);

    let mut machine = prepared(Generation::Cayman);
    put(&mut machine, 0, PARAMETERS as usize, &[a.to_bits(), SUMS[0], SUMS[1]]);
    let two = S2_BNPL2 {
        src: line(PARAMETERS + 4, 2),
        element_count: 4f32.to_bits(),
        src_dtype: Dtype::FP32,
        imm_dtype: Dtype::FP32,
        num_active_channels: 1,
        imm0_ptr: Imm(COLUMN),
        imm1_ptr: Imm(PARAMETERS),
        imm0_src: ImmSrc::INSTRUCTION,
        imm1_src: ImmSrc::PTR,
    };
    dve(&mut machine, &[word(op::BATCH_NORM_PARAM_LOAD2, two), back_prop()]);
    assert_eq!(words(&machine, 0, OUT as usize, 4), expected);
}

/// Decision 05-30: a byte offset; entry i holds 1/(i + 1) at reset.
#[test]
fn the_parameter_ram_is_kept() {
    let mut machine = strict(Generation::Cayman);
    let load = CTRL_IM { param_ram_offset: 0x3E0, imm_ptr_select: 0, immediate: [7; 8] };
    dve(&mut machine, &[word(op::LOAD_PARAMETER_RAM, load)]);
    let ram = &machine.cores[0].dve.batch_norm.ram;
    assert_eq!((ram[0], ram[1], ram[247]), (1f32.to_bits(), 0.5f32.to_bits(), (1.0 / 248f32).to_bits()));
    assert_eq!(ram[248..], [7; 8]);
}
