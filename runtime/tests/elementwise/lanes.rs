//! Folds across lanes, and index generators (chapter 04 sections 7 and 9).

use seqjit_runtime::isa::field::{F32, ReduceOp};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Data4d, Dtype, EngineId, Generation, Word, op};
use seqjit_runtime::machine::Machine;

use crate::support::*;
use crate::*;

fn cross_lane(reduce_op: ReduceOp, all: bool, scale: f32) -> S4D4_CR {
    S4D4_CR {
        src: line(A, 2),
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 4,
        reduce_op,
        reduce_axis: u8::from(!all),
        scale: F32(scale.to_bits()),
        dst: line(OUT, if all { 1 } else { 2 }),
    }
}

fn pool(machine: &mut Machine, word: Word) {
    run(machine, EngineId::Pool, &[word]).unwrap();
}

#[test]
fn cross_lane_folds_of_the_manual() {
    let mut machine = strict(Generation::Cayman);
    for lane in 0..4 {
        put_floats(&mut machine, lane, A as usize, &[(2 * lane + 1) as f32, (2 * lane + 2) as f32]);
        put_bytes(&mut machine, lane, B as usize, &[2 * lane as u8 + 1, 2 * lane as u8 + 2]);
    }
    let mut eval = |o: S4D4_CR| {
        pool(&mut machine, word(op::CROSS_LANE_REDUCE_ARITH, o));
        out(&machine, if o.reduce_axis == 0 { 1 } else { 2 })
    };
    assert_eq!(eval(cross_lane(ReduceOp::ADD, false, 0.0)), [16.0, 20.0]);
    assert_eq!(eval(cross_lane(ReduceOp::ADD, true, 0.0)), [36.0]);
    assert_eq!(eval(cross_lane(ReduceOp::AVERAGE, false, 0.25)), [4.0, 5.0]);
    assert_eq!(eval(cross_lane(ReduceOp::MAX, true, 0.0)), [8.0]);

    let bits = S4D4_CR {
        src: line(B, 2),
        in_dtype: Dtype::UINT8,
        out_dtype: Dtype::UINT8,
        ..cross_lane(ReduceOp::XOR, false, 0.0)
    };
    pool(&mut machine, word(op::CROSS_LANE_REDUCE_BITVEC, bits));
    assert_eq!(bytes(&machine, 0, OUT as usize, 2), [0, 8]);
}

/// Decision 04-A1: everything is read before anything is written. Decision 04-L1: lanes ascend, so that the small
/// number is lost beside the large one before that is taken away.
#[test]
fn cross_lane_folds_are_serial_and_read_first() {
    let mut machine = strict(Generation::Cayman);
    for (lane, value) in [1e8, 1.0, -1e8, 0.5].into_iter().enumerate() {
        put_floats(&mut machine, lane, A as usize, &[value, value]);
    }
    let o = S4D4_CR { dst: line(A, 2), ..cross_lane(ReduceOp::ADD, false, 0.0) };
    pool(&mut machine, word(op::CROSS_LANE_REDUCE_ARITH, o));
    assert_eq!(floats(&machine, 0, A as usize, 2), [0.5, 0.5]);
}

fn iota(base: i32, step: [i16; 4], num: [u16; 4], multiplier: i32, out_dtype: Dtype) -> Word {
    let operands = D4_IOTA {
        generator: Data4d { base, step, num },
        out_dtype,
        num_active_channels: 2,
        channel_multiplier: multiplier,
        dst: line(OUT, num.iter().product()),
    };
    word(op::IOTA, operands)
}

#[test]
fn generated_indices_of_the_manual() {
    let mut machine = strict(Generation::Cayman);
    pool(&mut machine, iota(100, [1, 10, 0, 0], [3, 2, 1, 1], 1000, Dtype::INT32));
    assert_eq!(words(&machine, 0, OUT as usize, 6), [100, 101, 102, 110, 111, 112]);
    assert_eq!(words(&machine, 1, OUT as usize, 6), [1100, 1101, 1102, 1110, 1111, 1112]);
    // narrow integers keep the low bits, floats round (decision 04-I1)
    pool(&mut machine, iota(300, [0; 4], [1; 4], 0, Dtype::UINT8));
    assert_eq!(bytes(&machine, 0, OUT as usize, 1), [44]);
    pool(&mut machine, iota(2049, [0; 4], [1; 4], 0, Dtype::FP16));
    assert_eq!(bytes(&machine, 0, OUT as usize, 2), [0x00, 0x68]);
    pool(&mut machine, iota(-1, [0; 4], [1; 4], 0, Dtype::UINT32));
    assert_eq!(words(&machine, 0, OUT as usize, 1), [u32::MAX]);
    // sums wrap at 32 bits
    pool(&mut machine, iota(i32::MAX, [1, 0, 0, 0], [2, 1, 1, 1], 0, Dtype::INT32));
    assert_eq!(words(&machine, 0, OUT as usize, 2), [0x7FFF_FFFF, 0x8000_0000]);
}
