//! Words that move, fill, select and search (chapter 04 sections 5 and 8 to 10, chapter 05 sections 6 and 7, chapter 06
//! sections 2, 3, 5 and 8).

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Addr4Form, AluOp, Data4d, Dtype, EngineId, Generation, Indirect20, Tensor, op};

use crate::support::*;
use crate::*;

const VALUES: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

fn copied(from: Dtype, to: Dtype, op_dim: Subdim) -> S4D4_TR {
    S4D4_TR {
        src: line(A, 4),
        in_dtype: from,
        out_dtype: to,
        num_active_channels: 1,
        negated: 0,
        op: AluOp::BYPASS,
        op_dim,
        mask_enable: 0,
        dst: line(OUT, 4),
    }
}

#[test]
fn copies_casts_and_reciprocals() {
    for op_dim in [Subdim::UNUSED, Subdim::X] {
        for opcode in [op::COPY, op::CAST] {
            sweep_everywhere(opcode, |t, [a, b, _]| {
                t.with(copied(a, b, op_dim)).put(A, a, &VALUES).gives(OUT, b, &VALUES)
            });
        }
        // 1, 1, 1, 1: the only number of which every datatype holds the reciprocal
        sweep(|[a, b, _]| {
            let o = copied(a, b, op_dim);
            Trial::dve(op::RECIPROCAL, o).put(A, a, &[1.0; 4]).gives(OUT, b, &[1.0; 4])
        });
    }
}

#[test]
fn fills() {
    sweep_one(|d| {
        let o = D4_MR {
            dst_element_count: 4,
            dtype: d,
            num_active_channels: 1,
            serialization_mode: 0,
            set_value: Imm(encode(3.0, d).filter(|b| b.len() <= 4).map_or(0, |_| bits_of(3.0, d))),
            dst: line(OUT, 4),
        };
        let result = if d.bytes() > 4 { 0.0 } else { 3.0 };
        Trial::dve(op::MEMSET, o).gives(OUT, d, &[result; 4])
    });
    sweep_one(|d| {
        let o = D4_IOTA {
            generator: Data4d { base: 1, step: [1, 0, 0, 0], num: [4, 1, 1, 1] },
            out_dtype: d,
            num_active_channels: 1,
            channel_multiplier: 0,
            dst: line(OUT, 4),
        };
        Trial::pool(op::IOTA, o).gives(OUT, d, &VALUES)
    });
    // from 3 to 3 there is only 3
    for d in dtypes() {
        for (min_src, min) in sources(0, 3f32.to_bits()) {
            for (max_src, max) in sources(1, 3f32.to_bits()) {
                let o = D3_RAND {
                    rand_algorithm: 3,
                    post_process: 1,
                    dtype: d,
                    num_active_channels: 1,
                    min_src,
                    max_src,
                    min,
                    max,
                    dst: line(OUT, 4),
                };
                let trial = Trial::dve(op::RAND2, o).on(Generation::Mariana).put(COLUMN, F, &[3.0]).put(
                    COLUMN2,
                    F,
                    &[3.0],
                );
                let trial = trial.gives(OUT, d, &[3.0; 4]);
                if trial.is_legal() {
                    trial.check();
                }
            }
        }
    }
}

#[test]
fn predicated_words() {
    let o = |[p, from, to]: [Dtype; 3]| S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(p, from),
        out_dtype: to,
        op: AluOp::BYPASS,
        num_active_channels: 1,
        src0: line(A, 4),
        src1: line(B, 4),
        dst: line(OUT, 4),
    };
    let mut run = 0;
    for p in dtypes() {
        for from in dtypes() {
            for to in dtypes() {
                for opcode in [op::COPY_PREDICATED, op::CAST_PREDICATED] {
                    let trial = Trial::dve(opcode, o([p, from, to])).put(A, p, &[1.0, 0.0, 0.0, 1.0]);
                    let trial = trial.put(B, from, &VALUES).put(OUT, to, &[6.0; 4]).gives(
                        OUT,
                        to,
                        &[1.0, 6.0, 6.0, 4.0],
                    );
                    if trial.is_legal() && (p == Dtype::UINT8 || from == to) {
                        trial.check();
                        run += 1;
                    }
                }
            }
        }
    }
    assert!(run > 20, "{run}");
    // the scalar where the predicate is false
    let mut run = 0;
    for p in dtypes() {
        for d in dtypes() {
            for to in dtypes() {
                let Some(bits) = encode(5.0, d).filter(|b| b.len() <= 4).map(|_| bits_of(5.0, d)) else {
                    continue;
                };
                for (src0_imm_src, src0_imm) in sources(0, bits) {
                    let o = S3D3_CP_PRED_SCALAR {
                        predicate: line(A, 4),
                        pred_dtype: p,
                        reversed_pred: 0,
                        num_active_channels: 1,
                        in_dtype: d,
                        out_dtype: to,
                        src0_imm_src,
                        src0_imm,
                        dst: line(OUT, 4),
                    };
                    let trial = Trial::dve(op::COPY_PREDICATED_SCALAR, o).put(A, p, &[1.0, 0.0, 0.0, 1.0]);
                    let trial = trial.put(OUT, to, &VALUES).put(COLUMN, d, &[5.0]).gives(
                        OUT,
                        to,
                        &[1.0, 5.0, 5.0, 4.0],
                    );
                    if trial.is_legal() {
                        trial.check();
                        run += 1;
                    }
                }
            }
        }
    }
    assert!(run > 10, "{run}");
}

#[test]
fn selects() {
    let mut run = 0;
    for d in dtypes() {
        let Some(bits) = encode(5.0, d).filter(|b| b.len() <= 4).map(|_| bits_of(5.0, d)) else { continue };
        for p in dtypes() {
            for (pred_imm_src, pred_imm) in sources(0, 1) {
                for (src1_imm_src, src1_imm) in sources(1, bits) {
                    for (reversed_pred, results) in [(0, VALUES), (1, [5.0; 4])] {
                        let o = S3D3_TS_SELECT {
                            src0: line(A, 4),
                            reversed_pred,
                            num_active_channels: 1,
                            dtype: d,
                            pred_imm_dtype: p,
                            src1_imm_src,
                            pred_imm_src,
                            src1_imm,
                            pred_imm,
                            dst: line(OUT, 4),
                        };
                        let trial =
                            Trial::dve(op::TENSOR_SCALAR_SELECT, o).put(A, d, &VALUES).put(COLUMN, p, &[1.0]);
                        let trial = trial.put(COLUMN2, d, &[5.0]).gives(OUT, d, &results);
                        if trial.is_legal() {
                            trial.check();
                            run += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(run > 20, "{run}");
    // between 3 and 5: positions 1 and 2 behind the base of 2
    for (bound0_src, bound0) in sources(0, 3f32.to_bits()) {
        for (bound1_src, bound1) in sources(1, 5f32.to_bits()) {
            for reduce_cmd in [AccumCmd::IDLE, AccumCmd::ZERO_ACCUMULATE, AccumCmd::ACCUMULATE] {
                let o = S2D2_RS {
                    num_active_channels: 1,
                    in_out_dtype: DtypePair::new(F, F),
                    reduce_cmd,
                    reduce_op: AluOp::MAX,
                    base: F32(2f32.to_bits()),
                    fill_val: F32((-f32::MAX).to_bits()),
                    src: line(A, 4),
                    comp_op0: AluOp::IS_GE,
                    comp_op1: AluOp::IS_LT,
                    bound0_src,
                    bound1_src,
                    bound0,
                    bound1,
                    dst: line(OUT, 4),
                };
                let low = f64::from(-f32::MAX);
                let trial = Trial::dve(op::RANGE_SELECT, o).put(A, F, &VALUES).put(COLUMN, F, &[3.0]).put(
                    COLUMN2,
                    F,
                    &[5.0],
                );
                let trial = trial.gives(OUT, F, &[low, 2.0, 3.0, low]);
                if trial.is_legal() {
                    trial.check();
                }
            }
        }
    }
}

#[test]
fn searches() {
    let row = [3.0, 1.0, 4.0, 2.0, 6.0, 5.0, 8.0, 7.0, 0.0, 0.0];
    let keys = |dtype| S2_BN {
        src: line(B, 8),
        imm1: Imm(0),
        dtype,
        num_active_channels: 1,
        imm0_ptr: Imm(0),
        imm0_src: ImmSrc::INSTRUCTION,
    };
    let search = |from, to| S4D2_BN {
        src: line(A, 10),
        in_dtype: from,
        out_dtype: to,
        num_active_channels: 1,
        even_count: F32(0),
        odd_count: F32(0),
        dst: line(OUT, 8),
    };
    let ascending = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    sweep(|[a, b, _]| Trial::dve(op::MAX8, search(a, b)).put(A, a, &row).gives(OUT, b, &ascending));
    for from in dtypes() {
        for to in [Dtype::UINT16, Dtype::UINT32] {
            let load = word(op::MATCH_VALUE_LOAD, keys(from));
            let trial = Trial::dve(op::FIND_INDEX8, search(from, to)).after(&[load]);
            // keys are loaded in reverse: 8 first
            let trial = trial.put(A, from, &row).put(B, from, &ascending);
            let trial = trial.gives(OUT, to, &[6.0, 7.0, 4.0, 5.0, 2.0, 0.0, 3.0, 1.0]);
            if trial.is_legal() {
                trial.check();
            }
        }
        let trial = Trial::dve(op::MATCH_VALUE_LOAD, keys(from)).put(B, from, &ascending);
        if trial.is_legal() {
            trial.check();
        }
    }
}

#[test]
fn gathers() {
    let index = [2.0, 0.0, 3.0, 1.0];
    sweep_one(|d| {
        let load =
            S4_PB { src: line(B, 4), in_dtype: d, num_active_channels: 1, start_index: 0, mask: 0x1FF };
        let o = S4D4_GT {
            src: line(A, 4),
            in_dtype: Dtype::UINT8,
            out_dtype: d,
            num_active_channels: 1,
            index_miss_behavior: 0,
            free_pool_buffer: 0,
            immediate: Imm(0),
            dst: line(OUT, 4),
        };
        let trial = Trial::pool(op::GATHER, o).after(&[word(op::POOL_BUFFER_LOAD, load)]);
        trial.put(A, Dtype::UINT8, &index).put(B, d, &VALUES).gives(OUT, d, &[3.0, 1.0, 4.0, 2.0])
    });
    sweep_one(|d| {
        let src =
            Indirect20 { index: Addr4(0x2000_0000 | A), data: Addr4(B), num_elem: 16, reserved: [0; 10] };
        assert_eq!(src.index.form(), Addr4Form::Indirect(A));
        let o = S4D4_IC {
            src,
            in_dtype: d,
            out_dtype: d,
            num_active_channels: 16,
            src_num_elem_per_idx: 1,
            dst_num_elem_per_idx: 0,
            src_buffer_size: 4,
            dst_buffer_size: 0,
            dst: line(OUT, 16),
        };
        // index k lies in partition k of the group
        let mut trial = Trial::pool(op::INDIRECT_COPY, o).put(B, d, &VALUES);
        for k in 0..16 {
            trial = trial.put_in(k, A, Dtype::UINT16, &[index[k % 4]]);
        }
        let results: Vec<f64> = (0..16).map(|k| VALUES[index[k % 4] as usize]).collect();
        trial.gives(OUT, d, &results)
    });
}

#[test]
fn shuffles() {
    for (opcode, is_transpose) in [(op::STREAM_SHUFFLE, false), (op::STREAM_TRANSPOSE, true)] {
        for op_dim in [Subdim::UNUSED, Subdim::X] {
            sweep_one(|d| {
                let mut o = copied(d, d, op_dim);
                (o.src, o.dst, o.num_active_channels) = (line(0x1000, 32), line(0x2000, 32), 32);
                let mut trial = Trial::dve(opcode, o);
                for lane in 0..32 {
                    // the identity permutation is the one at reset
                    let row: Vec<f64> = (0..32).map(|e| f64::from((e + lane as u32) % 3)).collect();
                    let turned: Vec<f64> = (0..32).map(|e| f64::from((lane as u32 + e) % 3)).collect();
                    trial = trial.put_in(lane, 0x1000, d, &row);
                    trial = trial.gives_in(lane, 0x2000, d, if is_transpose { &turned } else { &row });
                }
                trial
            });
        }
    }
}

#[test]
fn scalars_of_sorting_words() {
    for (index_offset_src, offset) in sources(0, 7) {
        let o = S1D2_SORT {
            num_active_channels: 1,
            index_offset_src,
            in_out_dtype: DtypePair::new(Dtype::INT32, Dtype::INT32),
            comparison: AluOp::IS_GT,
            src: line(A, 4),
            dst: Tensor { start: Addr4(OUT), step: [1, 2], num: [2, 4] },
            index_offset: offset.0,
            stable: 0,
        };
        let trial = Trial::pool(op::SORT, o).put(A, Dtype::INT32, &[2.0, 9.0, -3.0, 5.0]).put(
            COLUMN,
            Dtype::UINT32,
            &[7.0],
        );
        trial.gives(OUT, Dtype::INT32, &[9.0, 8.0, 5.0, 10.0, 2.0, 7.0, -3.0, 9.0]).check();
        for (padding_val_src, padding_val) in sources(1, -1i32 as u32) {
            let d = Dtype::INT32;
            let o = S3D3_NONZERO_WITH_COUNT {
                num_active_channels: 1,
                in_dtype: d,
                out_dtype: d,
                index_offset_src,
                src: line(A, 4),
                index_offset: offset,
                padding_val_src,
                padding_val,
                dst: line(OUT, 5),
            };
            let trial = Trial::pool(op::NONZERO_WITH_COUNT, o).put(A, d, &[0.0, 5.0, 0.0, 6.0]);
            let trial = trial.put(COLUMN, d, &[7.0]).put(COLUMN2, d, &[-1.0]);
            trial.gives(OUT, d, &[8.0, 10.0, -1.0, -1.0, 2.0]).check();
        }
    }
    // nothing is dropped below a threshold of 0, everything below 1
    for (threshold, results) in [(0.0, VALUES), (1.0, [0.0; 4])] {
        for (threshold_src, threshold_value) in sources(0, (threshold as f32).to_bits()) {
            let o = S3D3_DROPOUT {
                src: line(A, 4),
                in_dtype: F,
                out_dtype: F,
                num_active_channels: 1,
                threshold_src,
                threshold_dtype: F,
                threshold_type: 0,
                threshold: threshold_value,
                dst: line(OUT, 4),
            };
            let trial = Trial::dve(op::DROPOUT, o).put(A, F, &VALUES).put(COLUMN, F, &[threshold]);
            trial.gives(OUT, F, &results).check();
        }
    }
    for (seed_src, seed) in sources(0, 5) {
        let o = PSEUDO_SET_RNG_SEED { seed_src, seed };
        Trial::new(Generation::Cayman, EngineId::Dve, op::PSEUDO_SET_RNG_SEED, o)
            .put(COLUMN, Dtype::UINT32, &[5.0])
            .check();
    }
}

#[test]
fn extended_sums() {
    sweep(|[a, b, c]| {
        let o = EXTENDED_TTA {
            extended_opcode: 2,
            completion_info: Bits(5 | 1 << 3),
            in0_in1_dtype: DtypePair::new(a, b),
            out_dtype: c,
            op: AluOp::ADD,
            src0: line(A, 4),
            src1: line(B, 4),
            dst: line(OUT, 4),
        };
        let mut trial = Trial::pool(op::EXTENDED_INST, o);
        for lane in 0..16 {
            trial = trial.put_in(lane, A, a, &VALUES).put_in(lane, B, b, &[2.0, 2.0, 1.0, 4.0]);
            trial = trial.gives_in(lane, OUT, c, &[3.0, 4.0, 4.0, 8.0]);
        }
        trial
    });
}
