//! Folds along dimensions and over lanes (chapter 04 sections 3 to 6, chapter 05 sections 3.5, 4 and 6.8).

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, Tensor, op};

use crate::support::*;
use crate::*;

const NONE: AluOp = AluOp::BYPASS;

fn folded(num: [u16; 4], op: AluOp, op_dim: Subdim, [from, to]: [Dtype; 2], results: u16) -> S4D4_TR {
    let [x, y, z, _] = num.map(|n| n as i16);
    S4D4_TR {
        src: Tensor { step: [1, x, x * y, x * y * z], num, ..line(A, 1) },
        in_dtype: from,
        out_dtype: to,
        num_active_channels: 1,
        negated: 0,
        op,
        op_dim,
        mask_enable: 0,
        dst: line(OUT, results),
    }
}

const DIMENSIONS: [Subdim; 4] = [Subdim::X, Subdim::XY, Subdim::XYZ, Subdim::XYZW];

#[test]
fn reductions() {
    let add = |opcode, engine, generation: Generation, operator, from, to| {
        let o = folded([4, 1, 1, 1], operator, Subdim::X, [from, to], 1);
        let trial = Trial::new(generation, engine, opcode, o);
        trial.put(A, from, &[1.0, 2.0, 3.0, 4.0]).gives(OUT, to, &[10.0])
    };
    sweep(|[a, b, _]| add(op::TENSOR_REDUCE_ARITH_OP, EngineId::Dve, Generation::Cayman, AluOp::ADD, a, b));
    sweep_one(|b| {
        add(op::TENSOR_REDUCE_ADD_BF16, EngineId::Dve, Generation::Sunda, AluOp::ADD, Dtype::BFLOAT16, b)
    });
    for (operator, result) in
        [(AluOp::ADD_INT, 10.0), (AluOp::AMAX_INT, 3.0), (AluOp::AMAX_UINT, 3.0), (NONE, 1.0)]
    {
        sweep_everywhere(op::TENSOR_REDUCE_ARITH_OP, |t, [a, b, _]| {
            let t = t.with(folded([4, 1, 1, 1], operator, Subdim::X, [a, b], 1));
            t.put(A, a, &[1.0, 2.0, 3.0, 4.0]).gives(OUT, b, &[result])
        });
    }
    // 1 to 4 in the innermost dimensions: 2 by 2 by 1 by 1, and so on
    for op_dim in DIMENSIONS {
        let num = match op_dim {
            Subdim::X => [4, 1, 1, 1],
            Subdim::XY => [2, 2, 1, 1],
            Subdim::XYZ => [2, 1, 2, 1],
            _ => [2, 1, 1, 2],
        };
        for negated in [0, 1] {
            let result = if negated == 1 { -10.0 } else { 10.0 };
            let bf16 = Dtype::BFLOAT16;
            let o = S4D4_TR { negated, ..folded(num, AluOp::ADD, op_dim, [bf16, F], 1) };
            let trial = Trial::dve(op::TENSOR_REDUCE_ADD_BF16, o).on(Generation::Sunda);
            trial.put(A, bf16, &[1.0, 2.0, 3.0, 4.0]).gives(OUT, F, &[result]).check();
        }
        let d = Dtype::UINT8;
        let o = folded(num, AluOp::BITWISE_OR, op_dim, [d, d], 1);
        Trial::dve(op::TENSOR_REDUCE_BITVEC_OP, o)
            .put(A, d, &[1.0, 2.0, 4.0, 8.0])
            .gives(OUT, d, &[15.0])
            .check();
        for d in [Dtype::UINT8, Dtype::INT32, Dtype::UINT32] {
            let o = folded(num, AluOp::BITWISE_OR, op_dim, [d, d], 4);
            let trial = Trial::dve(op::TENSOR_CUMULATIVE_BITVEC_OP, o).put(A, d, &[1.0, 2.0, 4.0, 8.0]);
            trial.gives(OUT, d, &[1.0, 3.0, 7.0, 15.0]).check();
        }
    }
}

/// 32 lanes of ones in each position: a lane's fold over the transposed tile sums one element of 32 lanes.
#[test]
fn transposed_reductions() {
    let tile = |opcode,
                num: [u16; 4],
                operator,
                op_dim,
                negated,
                from: Dtype,
                to: Dtype,
                value: f64,
                result: f64| {
        let mut o = folded(num, operator, op_dim, [from, to], 1);
        (o.src.start, o.num_active_channels, o.negated) = (Addr4(0x1000), 32, negated);
        let mut trial = Trial::dve(opcode, o);
        for lane in 0..32 {
            // a quarter of the lanes hold the value
            let row = [if lane % 4 == 0 { value } else { 0.0 }; 32];
            trial = trial.put_in(lane, 0x1000, from, &row).gives_in(lane, OUT, to, &[result]);
        }
        trial
    };
    let arith = op::TRANSPOSE_TENSOR_REDUCE_ARITH_OP;
    sweep(|[a, b, _]| tile(arith, [32, 1, 1, 1], AluOp::ADD, Subdim::X, 0, a, b, 1.0, 8.0));
    for (op_dim, num) in [
        (Subdim::X, [32, 1, 1, 1]),
        (Subdim::XY, [8, 4, 1, 1]),
        (Subdim::XYZ, [4, 4, 2, 1]),
        (Subdim::XYZW, [2, 4, 2, 2]),
    ] {
        for (negated, result) in [(0, 8.0), (1, -8.0)] {
            tile(arith, num, AluOp::ADD, op_dim, negated, F, F, 1.0, result).check();
        }
        // the first of the fold
        tile(arith, num, NONE, op_dim, 0, F, F, 1.0, 1.0).check();
        for d in [Dtype::UINT8, Dtype::UINT16, Dtype::UINT32] {
            for operator in [AluOp::BITWISE_OR, NONE] {
                let bitvec = op::TRANSPOSE_TENSOR_REDUCE_BITVEC_OP;
                tile(bitvec, num, operator, op_dim, 0, d, d, 5.0, 5.0).check();
            }
        }
    }
}

#[test]
fn cross_lane_folds() {
    let fold = |opcode, reduce_op, all: bool, d: [Dtype; 2], results: &[f64]| {
        let o = S4D4_CR {
            src: line(A, 2),
            in_dtype: d[0],
            out_dtype: d[1],
            num_active_channels: 4,
            reduce_op,
            reduce_axis: u8::from(!all),
            scale: F32(0),
            dst: line(OUT, results.len() as u16),
        };
        let mut trial = Trial::pool(opcode, o).gives(OUT, d[1], results);
        for lane in 0..4 {
            trial = trial.put_in(lane, A, d[0], &[f64::from(1 << lane), 3.0]);
        }
        trial
    };
    sweep(|[a, b, _]| fold(op::CROSS_LANE_REDUCE_ARITH, ReduceOp::MAX, false, [a, b], &[8.0, 3.0]));
    sweep(|[a, b, _]| fold(op::CROSS_LANE_REDUCE_ARITH, ReduceOp::ADD, false, [a, b], &[15.0, 12.0]));
    sweep(|[a, b, _]| fold(op::CROSS_LANE_REDUCE_ARITH, ReduceOp::MAX, true, [a, b], &[8.0]));
    for d in [Dtype::UINT8, Dtype::UINT16, Dtype::UINT32, Dtype::INT32] {
        for (reduce_op, results, all) in [
            (ReduceOp::OR, [15.0, 3.0], 15.0),
            (ReduceOp::AND, [0.0, 3.0], 0.0),
            (ReduceOp::XOR, [15.0, 0.0], 15.0),
        ] {
            fold(op::CROSS_LANE_REDUCE_BITVEC, reduce_op, false, [d, d], &results).check();
            fold(op::CROSS_LANE_REDUCE_BITVEC, reduce_op, true, [d, d], &[all]).check();
        }
    }
}
