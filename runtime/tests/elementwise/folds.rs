//! Folds and scans along the free dimensions, and pooling (chapter 04 section 6, chapter 05 section 6.1).

use seqjit_runtime::isa::field::{F32, PoolType, Subdim};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, Generation, Tensor, op};

use crate::support::*;
use crate::*;

fn folded(num: [u16; 4], op: AluOp, op_dim: Subdim, results: u16) -> S4D4_TR {
    let [x, y, z, _] = num.map(|n| n as i16);
    S4D4_TR {
        src: Tensor { step: [1, x, x * y, x * y * z], num, ..line(A, 1) },
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 1,
        negated: 0,
        op,
        op_dim,
        mask_enable: 0,
        dst: line(OUT, results),
    }
}

#[test]
fn reductions_of_raw_bits() {
    let mut machine = strict(Generation::Cayman);
    put_bytes(&mut machine, 0, A as usize, &[0x0F, 0xF0, 0xFF]);
    let o = S4D4_TR {
        in_dtype: Dtype::UINT8,
        out_dtype: Dtype::UINT8,
        ..folded([3, 1, 1, 1], AluOp::BITWISE_XOR, Subdim::X, 1)
    };
    put_bytes(&mut machine, 0, OUT as usize, &[0x55]);
    dve(&mut machine, &[word(op::TENSOR_REDUCE_BITVEC_OP, o)]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 1), [0x00]);
}

#[test]
fn transposed_reductions_fold_over_lanes() {
    let mut machine = strict(Generation::Cayman);
    for lane in 0..32 {
        put_floats(&mut machine, lane, A as usize, &[lane as f32; 32]);
        put(&mut machine, lane, B as usize, &[1 << lane; 32]);
    }
    let o = S4D4_TR { num_active_channels: 32, ..folded([32, 1, 1, 1], AluOp::ADD, Subdim::X, 1) };
    let bits = S4D4_TR {
        src: line(B, 32),
        in_dtype: Dtype::UINT32,
        out_dtype: Dtype::UINT32,
        op: AluOp::BITWISE_OR,
        dst: line(OUT + 4, 1),
        ..o
    };
    dve(
        &mut machine,
        &[word(op::TRANSPOSE_TENSOR_REDUCE_ARITH_OP, o), word(op::TRANSPOSE_TENSOR_REDUCE_BITVEC_OP, bits)],
    );
    for lane in 0..32 {
        assert_eq!(floats(&machine, lane, OUT as usize, 1), [496.0], "lane {lane}");
        assert_eq!(words(&machine, lane, OUT as usize + 4, 1), [u32::MAX], "lane {lane}");
    }
}

/// Folds of 8 and of 64 elements in tiles of 32: some end inside a tile, some span two.
#[test]
fn transposed_folds_need_not_be_tiles() {
    for (num, results) in [([8, 8, 1, 1], 8), ([64, 1, 1, 1], 1)] {
        let mut machine = strict(Generation::Cayman);
        for lane in 0..32 {
            let row: Vec<f32> = (0..64).map(|e| (64 * lane + e) as f32).collect();
            put_floats(&mut machine, lane, A as usize, &row);
        }
        let o = S4D4_TR { num_active_channels: 32, ..folded(num, AluOp::ADD, Subdim::X, results) };
        dve(&mut machine, &[word(op::TRANSPOSE_TENSOR_REDUCE_ARITH_OP, o)]);
        let length = usize::from(num[0]);
        for lane in 0..32usize {
            // element k of the transposed lane is element 32 * (k / 32) + lane of lane k % 32
            let moved = |k: usize| (64 * (k % 32) + k / 32 * 32 + lane) as f32;
            let sums: Vec<f32> =
                (0..64 / length).map(|q| (q * length..(q + 1) * length).map(moved).sum()).collect();
            assert_eq!(floats(&machine, lane, OUT as usize, results.into()), sums, "lane {lane}");
        }
    }
}

#[test]
fn bf16_maximum_of_the_manual() {
    let mut machine = strict(Generation::Sunda);
    put(&mut machine, 0, A as usize, &[0x4000_3F80, 0x4080_4040]); // 1, 2, 3, 4
    let o = S4D4_TR { in_dtype: Dtype::BFLOAT16, ..folded([4, 1, 1, 1], AluOp::MAX, Subdim::X, 1) };
    dve(&mut machine, &[word(op::TENSOR_REDUCE_MAX_BF16, o)]);
    assert_eq!(out(&machine, 1), [4.0]);
}

#[test]
fn scans_of_the_manual() {
    let scan = |o| word(op::TENSOR_CUMULATIVE_ARITH_OP, o);
    let mut machine = with(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    dve(&mut machine, &[scan(folded([3, 2, 1, 1], AluOp::ADD, Subdim::X, 6))]);
    assert_eq!(out(&machine, 6), [1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    dve(&mut machine, &[scan(folded([3, 2, 1, 1], AluOp::ADD, Subdim::XY, 6))]);
    assert_eq!(out(&machine, 6), [1.0, 3.0, 6.0, 10.0, 15.0, 21.0]);
    // a scan in place reads each element before it is replaced
    let in_place = S4D4_TR { dst: line(A, 6), ..folded([3, 2, 1, 1], AluOp::ADD, Subdim::X, 6) };
    dve(&mut machine, &[scan(in_place)]);
    assert_eq!(floats(&machine, 0, A as usize, 6), [1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);

    put_floats(&mut machine, 0, A as usize, &[2.0, 1.0, 3.0]);
    dve(&mut machine, &[scan(folded([3, 1, 1, 1], AluOp::MAX, Subdim::X, 3))]);
    assert_eq!(out(&machine, 3), [2.0, 2.0, 3.0]);

    put_bytes(&mut machine, 0, A as usize, &[1, 2, 4]);
    let or = S4D4_TR {
        in_dtype: Dtype::UINT8,
        out_dtype: Dtype::UINT8,
        ..folded([3, 1, 1, 1], AluOp::BITWISE_OR, Subdim::X, 3)
    };
    dve(&mut machine, &[word(op::TENSOR_CUMULATIVE_BITVEC_OP, or)]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 3), [1, 3, 7]);
}

/// Decision 04-Q6: narrow integers widen, wrap at 32 bits, and clamp at the store.
#[test]
fn integer_scans_compute_with_32_bits() {
    let mut machine = strict(Generation::Cayman);
    put_bytes(&mut machine, 0, A as usize, &[100, 100, 0x9C, 0x9C, 0x9C, 0x9C]);
    let o = S4D4_TR {
        in_dtype: Dtype::INT8,
        out_dtype: Dtype::INT8,
        ..folded([6, 1, 1, 1], AluOp::ADD_INT, Subdim::X, 6)
    };
    dve(&mut machine, &[word(op::TENSOR_CUMULATIVE_ARITH_OP, o)]);
    // 100, 200, 100, 0, -100, -200
    assert_eq!(bytes(&machine, 0, OUT as usize, 6), [100, 127, 100, 0, 0x9C, 0x80]);
}

fn pooled(pool_func: PoolType, scale: f32) -> S4D4_PL {
    S4D4_PL {
        src: Tensor { step: [1, 4, 2, 8], num: [2; 4], ..line(A, 1) },
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 1,
        pool_func,
        pool_dim: Subdim::XY,
        pool_scale: F32(scale.to_bits()),
        dst: line(OUT, 4),
    }
}

#[test]
fn windows_of_the_manual() {
    let map: Vec<f32> = (1..=16).map(|v| v as f32).collect();
    let mut machine = with(&map);
    dve(&mut machine, &[word(op::POOL, pooled(PoolType::MAX_POOL, 1.0))]);
    assert_eq!(out(&machine, 4), [6.0, 8.0, 14.0, 16.0]);
    dve(&mut machine, &[word(op::POOL, pooled(PoolType::AVG_POOL, 0.25))]);
    assert_eq!(out(&machine, 4), [3.5, 5.5, 11.5, 13.5]);
    let select = S4D4_PL { out_dtype: Dtype::UINT32, ..pooled(PoolType::NONE, 1.0) };
    dve(&mut machine, &[word(op::MAX_POOL_SELECT, select)]);
    assert_eq!(words(&machine, 0, OUT as usize, 4), [3; 4]);
}

/// Decision 05-34: NaN is ignored unless a window has nothing else; the first maximum is selected.
#[test]
fn windows_ignore_nan() {
    let nan = f32::NAN;
    let mut machine =
        with(&[nan, 7.0, -0.0, nan, nan, 7.0, 0.0, nan, 1.0, 2.0, nan, nan, 2.0, nan, nan, nan]);
    dve(&mut machine, &[word(op::POOL, pooled(PoolType::MAX_POOL, 1.0))]);
    let expected = [7.0, 0.0, 2.0].map(f32::to_bits);
    assert_eq!(words(&machine, 0, OUT as usize, 4), [&expected[..], &[0x7FC0_0000]].concat());
    let select = S4D4_PL { out_dtype: Dtype::UINT32, ..pooled(PoolType::NONE, 1.0) };
    dve(&mut machine, &[word(op::MAX_POOL_SELECT, select)]);
    assert_eq!(words(&machine, 0, OUT as usize, 4), [1, 0, 1, 0]);
}

/// Chapter 00 A14: an index beyond the type saturates.
#[test]
fn selected_indices_saturate() {
    let mut row = vec![0.0; 300];
    row[299] = 1.0;
    let mut machine = strict(Generation::Cayman);
    put_floats(&mut machine, 0, 0x1000, &row);
    let o = S4D4_PL {
        src: line(0x1000, 300),
        out_dtype: Dtype::UINT8,
        pool_dim: Subdim::X,
        dst: line(OUT, 1),
        ..pooled(PoolType::NONE, 1.0)
    };
    dve(&mut machine, &[word(op::MAX_POOL_SELECT, o)]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 1), [255]);
}
