//! Arithmetic on tensors (chapter 04 sections 3 to 6, chapter 05 sections 3.5, 4 and 6.8).

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, Tensor, op};

use crate::support::*;
use crate::*;

const NONE: AluOp = AluOp::BYPASS;

fn tensor_tensor(op: AluOp, [a, b, out]: [Dtype; 3]) -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(a, b),
        out_dtype: out,
        op,
        num_active_channels: 1,
        src0: line(A, 4),
        src1: line(B, 4),
        dst: line(OUT, 4),
    }
}

fn two(trial: Trial, [a, b, out]: [Dtype; 3], results: &[f64]) -> Trial {
    trial.put(A, a, &[1.0, 2.0, 3.0, 4.0]).put(B, b, &[2.0, 2.0, 1.0, 4.0]).gives(OUT, out, results)
}

#[test]
fn tensor_tensor_words() {
    let sums = [3.0, 4.0, 4.0, 8.0];
    sweep(|d| two(Trial::pool(op::TENSOR_TENSOR_ARITH_OP, tensor_tensor(AluOp::ADD, d)), d, &sums));
    sweep_everywhere(op::TENSOR_TENSOR_ARITH_OP, |t, d| {
        two(t.with(tensor_tensor(AluOp::ADD_INT, d)), d, &sums)
    });
    sweep(|d| two(Trial::dve(op::TENSOR_TENSOR_ARITH_OP, tensor_tensor(AluOp::ADD, d)), d, &sums));
    // the first operand as it is
    sweep(|d| two(Trial::dve(op::TENSOR_TENSOR_ARITH_OP, tensor_tensor(NONE, d)), d, &[1.0, 2.0, 3.0, 4.0]));
    let and = [0.0, 2.0, 1.0, 4.0];
    sweep_everywhere(op::TENSOR_TENSOR_BITVEC_OP, |t, d| {
        two(t.with(tensor_tensor(AluOp::BITWISE_AND, d)), d, &and)
    });
    sweep(|d| two(Trial::dve(op::TENSOR_TENSOR_BITVEC_OP, tensor_tensor(AluOp::BITWISE_AND, d)), d, &and));
    sweep(|d| two(Trial::dve(op::TENSOR_TENSOR_BITVEC_OP, tensor_tensor(NONE, d)), d, &[1.0, 2.0, 3.0, 4.0]));
    sweep_one(|d| {
        let d = [Dtype::BFLOAT16, Dtype::BFLOAT16, d];
        let add = tensor_tensor(AluOp::ADD, d);
        let pool = Trial::pool(op::TENSOR_TENSOR_ADD_BF16, add).on(Generation::Sunda);
        two(pool, d, &[3.0, 4.0, 4.0, 8.0])
    });
}

fn tensor_scalar(ops: [AluOp; 2], [from, to]: [Dtype; 2]) -> S3D3_TS {
    S3D3_TS {
        accumulator_cmd: AccumCmd::IDLE,
        src: line(A, 4),
        in_dtype: from,
        out_dtype: to,
        num_active_channels: 1,
        imm0_src: ImmSrc::INSTRUCTION,
        op0: ops[0],
        op1: ops[1],
        reverse_operands: ReverseOps::NONE,
        imm1_src: ImmSrc::INSTRUCTION,
        imm0: Imm(2f32.to_bits()),
        imm1: Imm(1f32.to_bits()),
        dst: line(OUT, 4),
    }
}

/// One to four go in; the columns hold 2 and 1 as the operators take them.
fn one(trial: Trial, from: Dtype, to: Dtype, scalars: Dtype, results: &[f64]) -> Trial {
    let trial = trial.put(A, from, &[1.0, 2.0, 3.0, 4.0]);
    trial.put(COLUMN, scalars, &[2.0]).put(COLUMN2, scalars, &[1.0]).gives(OUT, to, results)
}

#[test]
fn tensor_scalar_words() {
    let double = [2.0, 4.0, 6.0, 8.0];
    let arith = |o, generation, engine| Trial::new(generation, engine, op::TENSOR_SCALAR_ARITH_OP, o);
    for engine in [EngineId::Dve, EngineId::Pool] {
        sweep(|[a, b, _]| {
            one(
                arith(tensor_scalar([AluOp::MULT, NONE], [a, b]), Generation::Cayman, engine),
                a,
                b,
                F,
                &double,
            )
        });
    }
    let same = [1.0, 2.0, 3.0, 4.0];
    sweep(|[a, b, _]| {
        one(arith(tensor_scalar([NONE, NONE], [a, b]), Generation::Cayman, EngineId::Dve), a, b, F, &same)
    });
    // 2x - 1, 1 - 2x, 2 - x
    for (reverse, results) in [
        (ReverseOps::NONE, [1.0, 3.0, 5.0, 7.0]),
        (ReverseOps::SECOND, [-1.0, -3.0, -5.0, -7.0]),
        (ReverseOps::FIRST, [1.0, 3.0, 5.0, 7.0]),
        (ReverseOps::BOTH, [-1.0, -3.0, -5.0, -7.0]),
    ] {
        for (imm0_src, imm0) in sources(0, 2f32.to_bits()) {
            for (imm1_src, imm1) in sources(1, 1f32.to_bits()) {
                let base = tensor_scalar([AluOp::MULT, AluOp::SUBTRACT], [F, F]);
                let o = S3D3_TS { imm0_src, imm0, imm1_src, imm1, reverse_operands: reverse, ..base };
                one(arith(o, Generation::Cayman, EngineId::Dve), F, F, F, &results).check();
            }
        }
    }
}

#[test]
fn tensor_scalar_words_with_pointers() {
    let pointers = |ops, d| S3D3_TS { imm0: Imm(COLUMN), imm1: Imm(COLUMN2), ..tensor_scalar(ops, d) };
    for engine in [EngineId::Dve, EngineId::Pool] {
        for generation in [Generation::Cayman, Generation::Maverick] {
            let arith = |o| Trial::new(generation, engine, op::TENSOR_SCALAR_PTR_ARITH_OP, o);
            sweep(|[a, b, _]| {
                one(arith(pointers([AluOp::MULT, NONE], [a, b])), a, b, F, &[2.0, 4.0, 6.0, 8.0])
            });
            sweep(|[a, b, _]| one(arith(pointers([NONE, NONE], [a, b])), a, b, F, &[1.0, 2.0, 3.0, 4.0]));
            // integers take integer scalars
            for d in [Dtype::INT32, Dtype::UINT32] {
                let trial =
                    one(arith(pointers([AluOp::ADD_INT, NONE], [d, d])), d, d, d, &[3.0, 4.0, 5.0, 6.0]);
                if trial.is_legal() {
                    trial.check();
                }
            }
        }
    }
}

#[test]
fn tensor_scalar_words_of_bits() {
    // (x | 2) ^ 1 is its own reversal; x << 2 reversed is 2 << x
    for (reverse, results) in
        [(ReverseOps::NONE, [4.0, 8.0, 12.0, 16.0]), (ReverseOps::FIRST, [4.0, 8.0, 16.0, 32.0])]
    {
        for d in [Dtype::UINT8, Dtype::UINT16, Dtype::UINT32, Dtype::INT32] {
            let base = S3D3_TS {
                reverse_operands: reverse,
                imm0: Imm(2),
                imm1: Imm(0),
                ..tensor_scalar([AluOp::LOGICAL_SHIFT_LEFT, NONE], [d, d])
            };
            one(Trial::dve(op::TENSOR_SCALAR_BITVEC_OP, base), d, d, d, &results).check();
            let pointer = S3D3_TS { imm0: Imm(COLUMN), imm1: Imm(COLUMN2), ..base };
            one(Trial::dve(op::TENSOR_SCALAR_PTR_BITVEC_OP, pointer), d, d, d, &results).check();
        }
    }
    // (x | 2) << 1, and 1 << (x | 2)
    for (reverse, results) in [
        (ReverseOps::SECOND, [8.0, 4.0, 8.0, 64.0]),
        (ReverseOps::BOTH, [8.0, 4.0, 8.0, 64.0]),
        (ReverseOps::NONE, [6.0, 4.0, 6.0, 12.0]),
    ] {
        let d = Dtype::UINT32;
        let base = S3D3_TS {
            reverse_operands: reverse,
            ..tensor_scalar([AluOp::BITWISE_OR, AluOp::LOGICAL_SHIFT_LEFT], [d, d])
        };
        for (imm0_src, imm0) in sources(0, 2) {
            for (imm1_src, imm1) in sources(1, 1) {
                let o = S3D3_TS { imm0_src, imm0, imm1_src, imm1, ..base };
                one(Trial::dve(op::TENSOR_SCALAR_BITVEC_OP, o), d, d, d, &results).check();
            }
        }
        let pointer = S3D3_TS { imm0: Imm(COLUMN), imm1: Imm(COLUMN2), ..base };
        one(Trial::dve(op::TENSOR_SCALAR_PTR_BITVEC_OP, pointer), d, d, d, &results).check();
    }
    let d = Dtype::UINT32;
    let pointer = S3D3_TS { imm0: Imm(COLUMN), imm1: Imm(COLUMN2), ..tensor_scalar([NONE, NONE], [d, d]) };
    one(Trial::dve(op::TENSOR_SCALAR_PTR_BITVEC_OP, pointer), d, d, d, &[1.0, 2.0, 3.0, 4.0]).check();
}

/// All rows of 32 lanes hold the same: the transposed tile has in each lane its own element 32 times.
#[test]
fn transposed_tensor_scalar_words() {
    let row: Vec<f64> = (0..32).map(|e| f64::from(e % 4 + 1)).collect();
    let tile = |mut o: S3D3_TS, from: Dtype, to: Dtype, scalars: Dtype, result: &dyn Fn(f64) -> f64| {
        (o.src, o.dst, o.num_active_channels) = (line(0x1000, 32), line(0x2000, 32), 32);
        let mut trial = Trial::dve(op::TRANSPOSE_TENSOR_SCALAR_ARITH_OP, o);
        for lane in 0..32 {
            trial = trial.put_in(lane, 0x1000, from, &row);
            trial = trial.put_in(lane, COLUMN, scalars, &[2.0]).put_in(lane, COLUMN2, scalars, &[1.0]);
            trial = trial.gives_in(lane, 0x2000, to, &[result(row[lane]); 32]);
        }
        trial
    };
    sweep(|[a, b, _]| tile(tensor_scalar([AluOp::MULT, NONE], [a, b]), a, b, F, &|x| 2.0 * x));
    sweep(|[a, b, _]| tile(tensor_scalar([NONE, NONE], [a, b]), a, b, F, &|x| x));
    for d in [Dtype::INT32, Dtype::UINT32] {
        let o = S3D3_TS { imm0: Imm(2), imm1: Imm(1), ..tensor_scalar([AluOp::ADD_INT, NONE], [d, d]) };
        for generation in [Generation::Cayman, Generation::Maverick] {
            let trial = tile(o, d, d, d, &|x| x + 2.0).on(generation);
            if trial.is_legal() {
                trial.check();
            }
        }
    }
    for (reverse_operands, result) in [
        (ReverseOps::NONE, (|x| 2.0 * x - 1.0) as fn(f64) -> f64),
        (ReverseOps::FIRST, |x| 2.0 * x - 1.0),
        (ReverseOps::SECOND, |x| 1.0 - 2.0 * x),
        (ReverseOps::BOTH, |x| 1.0 - 2.0 * x),
    ] {
        for (imm0_src, imm0) in sources(0, 2f32.to_bits()) {
            for (imm1_src, imm1) in sources(1, 1f32.to_bits()) {
                let base = tensor_scalar([AluOp::MULT, AluOp::SUBTRACT], [F, F]);
                tile(S3D3_TS { reverse_operands, imm0_src, imm0, imm1_src, imm1, ..base }, F, F, F, &result)
                    .check();
            }
        }
    }
}

#[test]
fn caching_words() {
    for (imm0_src, imm0) in sources(0, 2f32.to_bits()) {
        sweep(|[a, b, _]| {
            let base = tensor_scalar([AluOp::MULT, AluOp::ADD], [a, b]);
            let o =
                S3D3_TS { accumulator_cmd: AccumCmd::ZERO_ACCUMULATE, imm0_src, imm0, imm1: Imm(0), ..base };
            one(Trial::dve(op::TENSOR_SCALAR_CACHE_REDUCE, o), a, b, F, &[2.0, 4.0, 6.0, 8.0])
        });
        // 1, 3, 6, 10
        sweep(|[a, b, _]| {
            let base = tensor_scalar([AluOp::SUBTRACT, AluOp::ADD], [a, b]);
            let o =
                S3D3_TS { accumulator_cmd: AccumCmd::ZERO_ACCUMULATE, imm0_src, imm0, imm1: Imm(0), ..base };
            let trial = Trial::dve(op::TENSOR_SCALAR_CACHE_CUMULATIVE, o);
            let trial = trial.put(A, a, &[3.0, 4.0, 5.0, 6.0]).put(COLUMN, F, &[2.0]);
            trial.gives(OUT, b, &[1.0, 3.0, 6.0, 10.0])
        });
    }
}

/// exp(0) is 1, of which every datatype is an example; the bias is subtracted.
#[test]
fn exponentials() {
    for generation in [Generation::Mariana, Generation::Maverick] {
        for (imm0_src, imm0) in sources(0, 2f32.to_bits()) {
            for accumulator_cmd in
                [AccumCmd::IDLE, AccumCmd::ZERO_ACCUMULATE, AccumCmd::ACCUMULATE, AccumCmd::LOAD_ACCUMULATE]
            {
                sweep(|[a, b, _]| {
                    let seed = if accumulator_cmd == AccumCmd::LOAD_ACCUMULATE { 5f32.to_bits() } else { 0 };
                    let base = tensor_scalar([NONE, NONE], [a, b]);
                    let o = S3D3_TS { accumulator_cmd, imm0_src, imm0, imm1: Imm(seed), ..base };
                    let trial = Trial::dve(op::EXPONENTIAL, o).on(generation);
                    let trial = trial.put(A, a, &[2.0; 4]).put(COLUMN, F, &[2.0]);
                    trial.gives(OUT, b, &[1.0; 4])
                });
            }
        }
    }
}

fn scalar_tensor_tensor(ops: [AluOp; 2], [a, b, out]: [Dtype; 3]) -> S2S2D2_STT {
    S2S2D2_STT {
        src0: line(A, 4),
        src1: line(B, 4),
        op0: ops[0],
        op1: ops[1],
        reverse_operands: ReverseOps::NONE,
        imm0_src: ImmSrc::INSTRUCTION,
        src_dtype: DtypePair::new(a, b),
        out_dtype: out,
        num_active_channels: 1,
        imm0_dtype: F,
        accumulator_cmd: AccumCmd::IDLE,
        dst: line(OUT, 4),
        imm0: Imm(2f32.to_bits()),
    }
}

#[test]
fn scalar_tensor_tensor_words() {
    for (imm0_src, imm0) in sources(0, 2f32.to_bits()) {
        let from = |o| S2S2D2_STT { imm0_src, imm0, ..o };
        let column = |t: Trial| t.put(COLUMN, F, &[2.0]);
        // 2a + b
        sweep(|d| {
            let o = from(scalar_tensor_tensor([AluOp::MULT, AluOp::ADD], d));
            column(two(Trial::dve(op::SCALAR_TENSOR_TENSOR_ARITH, o), d, &[4.0, 6.0, 7.0, 12.0]))
        });
        // state = 2 a, then a * state + b: 1*2+2, 2*4+2, 3*10+1 ...
        sweep(|d| {
            let o = from(scalar_tensor_tensor([AluOp::MULT, NONE], d));
            column(two(Trial::dve(op::TENSOR_TENSOR_SCAN_ARITH, o), d, &[2.0, 4.0, 12.0, 48.0]))
        });
        let add = from(scalar_tensor_tensor([AluOp::ADD, AluOp::MAX], [F; 3]));
        // 2 + 1 = 3, 3 + 2 = 5, 5 + 3 = 8, 8 + 4 = 12
        column(two(Trial::dve(op::TENSOR_TENSOR_SCAN_ARITH, add), [F; 3], &[3.0, 5.0, 8.0, 12.0])).check();
    }
    // a + b, then b, in all datatypes
    sweep(|d| {
        let o = scalar_tensor_tensor([AluOp::ADD, AluOp::MIN], d);
        // 3 -> 2, 4 -> 2, 5 -> 1, 5 -> 4
        two(Trial::dve(op::TENSOR_TENSOR_SCAN_ARITH, o), d, &[2.0, 2.0, 1.0, 4.0])
    });
    for (imm0_src, imm0) in sources(0, 2) {
        for d in [Dtype::UINT8, Dtype::UINT16, Dtype::UINT32, Dtype::INT32] {
            // (a | 2) & b
            let base = scalar_tensor_tensor([AluOp::BITWISE_OR, AluOp::BITWISE_AND], [d; 3]);
            let o = S2S2D2_STT { imm0_src, imm0, imm0_dtype: d, ..base };
            let trial = two(Trial::dve(op::SCALAR_TENSOR_TENSOR_BITVEC, o), [d; 3], &[2.0, 2.0, 1.0, 4.0]);
            trial.put(COLUMN, d, &[2.0]).check();
        }
    }
    for accumulator_cmd in [AccumCmd::ZERO_ACCUMULATE, AccumCmd::ACCUMULATE, AccumCmd::IDLE] {
        let o = S2S2D2_STT { accumulator_cmd, ..scalar_tensor_tensor([AluOp::MULT, AluOp::ADD], [F; 3]) };
        let trial = Trial::dve(op::SCALAR_TENSOR_TENSOR_ARITH, o);
        if trial.is_legal() {
            two(trial, [F; 3], &[4.0, 6.0, 7.0, 12.0]).check();
        }
    }
    // a predicate takes b, else the scalar
    for (imm0_src, imm0) in sources(0, 2f32.to_bits()) {
        let base = scalar_tensor_tensor([NONE, AluOp::MAX], [Dtype::UINT8, F, F]);
        let o = S2S2D2_STT { accumulator_cmd: AccumCmd::ZERO_ACCUMULATE, imm0_src, imm0, ..base };
        let trial = Trial::dve(op::SELECT_REDUCE, o).put(A, Dtype::UINT8, &[1.0, 0.0, 1.0, 0.0]);
        trial
            .put(B, F, &[5.0, 6.0, 7.0, 8.0])
            .put(COLUMN, F, &[2.0])
            .gives(OUT, F, &[5.0, 2.0, 7.0, 2.0])
            .check();
    }
}

#[test]
fn preloaded_scalars() {
    let load = |dtype| S2_BN {
        src: line(COLUMN, 2),
        imm1: Imm(0),
        dtype,
        num_active_channels: 1,
        imm0_ptr: Imm(0),
        imm0_src: ImmSrc::INSTRUCTION,
    };
    let slices = |op, [from, to]: [Dtype; 2], reverse_operands| S4D4_TSM {
        src: Tensor { step: [1, 0, 0, 2], num: [2, 1, 1, 2], ..line(A, 1) },
        in_dtype: from,
        out_dtype: to,
        num_active_channels: 1,
        op,
        op_dim: Subdim::XYZ,
        reverse_operands,
        dst: line(OUT, 4),
    };
    let none = ReverseOps::NONE;
    // 1, 2 with 2 and 3, 4 with 3
    let arith = |scalars: Dtype, operator, d: [Dtype; 2], results: &[f64]| {
        let trial = Trial::dve(op::TENSOR_SCALAR_PTR_MULTI_ARITH, slices(operator, d, none));
        let trial = trial.after(&[word(op::TENSOR_SCALAR_IMM_LD_ARITH, load(scalars))]);
        trial.put(COLUMN, scalars, &[2.0, 3.0]).put(A, d[0], &[1.0, 2.0, 3.0, 4.0]).gives(OUT, d[1], results)
    };
    sweep(|[a, b, _]| arith(F, AluOp::ADD, [a, b], &[3.0, 4.0, 6.0, 7.0]));
    sweep(|[a, b, _]| arith(F, NONE, [a, b], &[1.0, 2.0, 3.0, 4.0]));
    for scalars in [F, Dtype::BFLOAT16, Dtype::FP16, Dtype::FP8_EXP4, Dtype::INT32, Dtype::UINT8] {
        arith(scalars, AluOp::ADD, [F, F], &[3.0, 4.0, 6.0, 7.0]).check();
        Trial::dve(op::TENSOR_SCALAR_IMM_LD_ARITH, load(scalars)).put(COLUMN, scalars, &[2.0, 3.0]).check();
    }
    for d in [Dtype::UINT8, Dtype::UINT16, Dtype::UINT32, Dtype::INT32] {
        let shift = [4.0, 8.0, 24.0, 32.0];
        let reversed = [4.0, 8.0, 24.0, 48.0];
        for (reverse, operator, results) in [
            (none, AluOp::LOGICAL_SHIFT_LEFT, shift),
            (ReverseOps::BOTH, AluOp::LOGICAL_SHIFT_LEFT, reversed),
            (none, NONE, [1.0, 2.0, 3.0, 4.0]),
        ] {
            let trial = Trial::dve(op::TENSOR_SCALAR_PTR_MULTI_BITVEC, slices(operator, [d, d], reverse));
            let trial = trial.after(&[word(op::TENSOR_SCALAR_IMM_LD_BITVEC, load(d))]);
            trial
                .put(COLUMN, d, &[2.0, 3.0])
                .put(A, d, &[1.0, 2.0, 3.0, 4.0])
                .gives(OUT, d, &results)
                .check();
            Trial::dve(op::TENSOR_SCALAR_IMM_LD_BITVEC, load(d)).put(COLUMN, d, &[2.0, 3.0]).check();
        }
    }
}

#[test]
fn wide_integers() {
    let maverick = Generation::Maverick;
    for d in [Dtype::INT16, Dtype::UINT16, Dtype::UINT8, Dtype::INT32, Dtype::UINT32] {
        for out in [Dtype::INT32, Dtype::UINT32] {
            let o = S2S2D2D2_TT {
                src_dtype: DtypePair::new(d, d),
                dst_dtype: DtypePair::new(out, out),
                op: AluOp::ADD_INT,
                num_active_channels: 1,
                src0: line(A, 2),
                src1: line(B, 2),
                dst0: line(OUT, 2),
                dst1: line(OUT2, 2),
            };
            let trial = Trial::pool(op::TENSOR_TENSOR_INT_WIDE, o).on(maverick);
            let trial = trial.put(A, d, &[100.0, 7.0]).put(B, d, &[27.0, 1.0]);
            let trial = trial.gives(OUT, out, &[127.0, 8.0]).gives(OUT2, out, &[0.0, 0.0]);
            if trial.is_legal() {
                trial.check();
            }
            for (imm_src, imm) in sources(0, 3) {
                let o = S2D2D2_TS_WIDE {
                    src_dtype: DtypePair::new(d, d),
                    dst_dtype: DtypePair::new(out, out),
                    op: AluOp::MULT_INT,
                    num_active_channels: 1,
                    src: line(A, 2),
                    dst0: line(OUT, 2),
                    dst1: line(OUT2, 2),
                    imm_src,
                    imm,
                };
                let trial = Trial::dve(op::TENSOR_SCALAR_INT_WIDE, o).on(maverick);
                let trial = trial.put(A, d, &[100.0, 7.0]).put(COLUMN, d, &[3.0]);
                let trial = trial.gives(OUT, out, &[300.0, 21.0]).gives(OUT2, out, &[0.0, 0.0]);
                if trial.is_legal() {
                    trial.check();
                }
            }
        }
    }
}

/// 5 * 2 + 1 as an address.
#[test]
fn address_arithmetic() {
    for (imm0_src, imm0) in sources(0, 2) {
        for (imm1_src, imm1) in sources(1, 1) {
            let o = S2D2_ADDR {
                src: line(A, 2),
                imm0: imm0.0.into(),
                imm1: imm1.0.into(),
                imm_dtype: DtypePair::new(Dtype::INT32, Dtype::INT32),
                in_out_dtype: DtypePair::new(Dtype::INT32, Dtype::INT32),
                imm0_src,
                imm1_src,
                op0: AluOp::MULT,
                op1: AluOp::ADD,
                num_active_channels: 1,
                reverse_operands: ReverseOps::NONE,
                dst: line(OUT, 2),
            };
            let trial = Trial::pool(op::TENSOR_SCALAR_ADDR, o).put(A, Dtype::INT32, &[5.0, 6.0]);
            let trial = trial.put(COLUMN, Dtype::INT32, &[2.0]).put(COLUMN2, Dtype::INT32, &[1.0]);
            trial.gives(OUT, Dtype::INT32, &[11.0, 13.0]).check();
        }
    }
}

/// relu(2x - 1) and its reversals, with scalars from everywhere.
#[test]
fn activations_with_two_operators() {
    const RELU: u8 = 2;
    let base = |[from, to]: [Dtype; 2]| S2D2_AC {
        src: line(A, 4),
        relu_param_src: ImmSrc::INSTRUCTION,
        imm0_src: ImmSrc::INSTRUCTION,
        reduce_cmd: ReduceCmd::IDLE,
        imm1_src: ImmSrc::INSTRUCTION,
        imm_dtype: F,
        op0: AluOp::MULT,
        op1: AluOp::SUBTRACT,
        reduce_op: NONE,
        in_dtype: from,
        out_dtype: to,
        num_active_channels: 1,
        activation_func: RELU,
        imm0: Imm(2f32.to_bits()),
        imm1: Imm(1f32.to_bits()),
        relu_param: Imm(0),
        dst: line(OUT, 4),
        reverse_operands: 0,
    };
    let trial = |o: S2D2_AC, scalars: Dtype, results: &[f64]| {
        let trial = Trial::new(Generation::Mariana, EngineId::Act, op::ACTIVATE2, o);
        let trial = trial.put(A, o.in_dtype, &[1.0, 2.0, 3.0, 4.0]);
        trial.put(COLUMN, scalars, &[2.0]).put(COLUMN2, scalars, &[1.0]).gives(OUT, o.out_dtype, results)
    };
    let results = [1.0, 3.0, 5.0, 7.0];
    sweep(|[a, b, _]| trial(base([a, b]), F, &results));
    sweep(|[a, b, _]| trial(S2D2_AC { op0: NONE, op1: NONE, ..base([a, b]) }, F, &[1.0, 2.0, 3.0, 4.0]));
    sweep_one(|d| {
        let o = S2D2_AC {
            imm_dtype: d,
            imm0_src: ImmSrc::PTR,
            imm0: Imm(COLUMN),
            imm1_src: ImmSrc::PTR,
            imm1: Imm(COLUMN2),
            ..base([F, F])
        };
        trial(o, d, &results)
    });
    for reverse_operands in [0, 1, 2, 3] {
        for (imm0_src, imm0) in sources(0, 2f32.to_bits()) {
            for (imm1_src, imm1) in sources(1, 1f32.to_bits()) {
                for (relu_param_src, relu_param) in sources(1, 0) {
                    let o = S2D2_AC {
                        imm0_src,
                        imm0,
                        imm1_src,
                        imm1,
                        relu_param_src,
                        relu_param,
                        reverse_operands,
                        ..base([F, F])
                    };
                    let results = if reverse_operands & 2 == 0 { results } else { [0.0; 4] };
                    trial(o, F, &results).check();
                }
            }
        }
    }
}
