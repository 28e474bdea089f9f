//! Normalising, pooling, selecting and compressing words (chapter 04 section 8.5, chapter 05 sections 3.1, 5, 6.1 and 9).

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Data4d, Dtype, EngineId, Generation, Tensor, Word, op};

use crate::support::*;
use crate::*;

fn moments(n: u16, counts: [f32; 2], results: u16, [from, to]: [Dtype; 2]) -> S4D2_BN {
    S4D2_BN {
        src: line(A, n),
        in_dtype: from,
        out_dtype: to,
        num_active_channels: 1,
        even_count: F32(counts[0].to_bits()),
        odd_count: F32(counts[1].to_bits()),
        dst: line(OUT, results),
    }
}

/// Count, mean and sum of squared deviations of the even elements 1, 3 and of the odd ones 2, 4.
#[test]
fn statistics() {
    let row = [1.0, 2.0, 3.0, 4.0];
    sweep(|[a, b, _]| {
        let o = moments(4, [2.0, 2.0], 6, [a, b]);
        Trial::dve(op::BATCH_NORM_STATS2, o).put(A, a, &row).gives(OUT, b, &[2.0, 2.0, 2.0, 2.0, 3.0, 2.0])
    });
    sweep(|[a, b, _]| {
        let o = moments(2, [2.0, 0.0], 3, [a, b]);
        Trial::dve(op::BATCH_NORM_STATS, o).put(A, a, &[2.0, 4.0]).gives(OUT, b, &[2.0, 3.0, 2.0])
    });
    // one triple alone: mean 3, variance 4 / 2
    sweep(|[a, b, _]| {
        let o = moments(3, [0.0; 2], 2, [a, b]);
        Trial::dve(op::BATCH_NORM_AGGREGATE, o).put(A, a, &[2.0, 3.0, 4.0]).gives(OUT, b, &[3.0, 2.0])
    });
    // every lane of the transposed tile holds sixteen ones and sixteen zeros, in turn
    sweep(|[a, b, _]| {
        let mut o = moments(32, [16.0, 16.0], 6, [a, b]);
        (o.src, o.num_active_channels) = (line(0x1000, 32), 32);
        let mut trial = Trial::dve(op::TRANSPOSE_BATCH_NORM_STATS2, o);
        for lane in 0..32 {
            let value = if lane % 2 == 0 { 1.0 } else { 0.0 };
            trial = trial.put_in(lane, 0x1000, a, &[value; 32]);
            trial = trial.gives_in(lane, OUT, b, &[16.0, 1.0, 0.0, 16.0, 0.0, 0.0]);
        }
        trial
    });
}

/// x = 1 to 4, dy = 1, 2, 1, 4, mean 2, inverse deviation 1: the sums are 8, and -1 + 0 + 1 + 8 = 8 twice.
#[test]
fn gradients() {
    let pointed = |imm: Dtype, [a, b, out]: [Dtype; 3]| {
        let o = S3S3D1_BN {
            imm0: Ptr(COLUMN),
            src0: line(A, 4),
            src1: line(B, 4),
            dst: line(OUT, 3),
            imm1: Ptr(COLUMN2),
            in0_in1_dtype: DtypePair::new(a, b),
            immediate_dtype: imm,
            out_dtype: out,
            num_active_channels: 1,
        };
        gradient(Trial::dve(op::BATCH_NORM_GRAD_ACCUMULATE, o), [a, b, out], imm)
    };
    sweep(|d| pointed(F, d));
    for imm in [Dtype::INT32, Dtype::BFLOAT16, Dtype::FP16] {
        pointed(imm, [F; 3]).check();
    }
    let pointers =
        |k: usize, source: u8| if source == 1 { Imm([COLUMN, COLUMN2][k]) } else { Imm([5, 6][k]) };
    let both = |imm_src: u8, imm: Dtype, [a, b, out]: [Dtype; 3]| {
        let o = S3S3D1_BN2 {
            imm0: pointers(0, imm_src & 0xF),
            src0: line(A, 4),
            src1: line(B, 4),
            dst: line(OUT, 3),
            imm1: pointers(1, imm_src >> 4),
            in0_in1_dtype: DtypePair::new(a, b),
            imm_out_dtype: DtypePair::new(imm, out),
            imm_src: ImmSrcPair(imm_src),
            num_active_channels: 1,
        };
        gradient(Trial::dve(op::BATCH_NORM_GRAD_ACCUMULATE2, o).on(Generation::Sunda), [a, b, out], imm)
    };
    sweep(|d| both(0x11, F, d));
    for imm_src in [0x11, 0x12, 0x21, 0x22] {
        both(imm_src, F, [F; 3]).check();
    }
    for imm in [Dtype::INT32, Dtype::BFLOAT16, Dtype::FP16] {
        both(0x11, imm, [F; 3]).check();
    }
}

fn gradient(trial: Trial, [a, b, out]: [Dtype; 3], imm: Dtype) -> Trial {
    let trial = trial.put(A, a, &[1.0, 2.0, 3.0, 4.0]).put(B, b, &[1.0, 2.0, 1.0, 4.0]);
    trial.put(COLUMN, imm, &[2.0]).put(COLUMN2, imm, &[1.0]).gives(OUT, out, &[8.0, 8.0, 8.0])
}

/// MAX_POOL_SELECT over windows of four in the innermost dimensions: the third is the largest.
#[test]
fn pools() {
    let windows = [
        (Subdim::X, [4, 1, 1, 1]),
        (Subdim::XY, [2, 2, 1, 1]),
        (Subdim::XYZ, [1, 2, 2, 1]),
        (Subdim::XYZW, [1, 1, 2, 2]),
    ];
    let window = |num: [u16; 4], pool_dim, pool_func, [from, to]: [Dtype; 2]| S4D4_PL {
        src: Tensor {
            start: Addr4(A),
            step: [1, num[0] as i16, (num[0] * num[1]) as i16, (num[0] * num[1] * num[2]) as i16],
            num,
        },
        in_dtype: from,
        out_dtype: to,
        num_active_channels: 1,
        pool_func,
        pool_dim,
        pool_scale: F32(1f32.to_bits()),
        dst: line(OUT, 1),
    };
    let row = [1.0, 2.0, 8.0, 4.0];
    for (pool_dim, num) in windows {
        for to in [Dtype::UINT8, Dtype::UINT16, Dtype::UINT32] {
            for from in dtypes() {
                let o = window(num, pool_dim, PoolType::NONE, [from, to]);
                let trial = Trial::dve(op::MAX_POOL_SELECT, o).put(A, from, &row).gives(OUT, to, &[2.0]);
                if trial.is_legal() {
                    trial.check();
                }
            }
        }
        let o = window(num, pool_dim, PoolType::MAX_POOL, [F, F]);
        Trial::dve(op::POOL, o).put(A, F, &row).gives(OUT, F, &[8.0]).check();
    }
}

/// The mask is -1, 0, 1, 2 for the four elements.
#[test]
fn affine_selects() {
    let kept: [fn(i32) -> bool; 4] = [|m| m > 0, |m| m >= 0, |m| m == 0, |m| m != 0];
    for (fill_mode, keeps) in (0u8..).zip(kept) {
        sweep(|[a, b, _]| {
            let o = S2D2_TS_AS {
                num_active_channels: 1,
                in_out_dtype: DtypePair::new(a, b),
                fill_mode,
                // holds nothing
                fill_reg: 9,
                mask: Data4d { base: -1, step: [1, 0, 0, 0], num: [4, 1, 1, 1] },
                src: line(A, 4),
                dst: line(OUT, 4),
                channel_multiplier: 0,
            };
            let results: [f64; 4] =
                std::array::from_fn(|k| if keeps(k as i32 - 1) { k as f64 + 1.0 } else { 0.0 });
            let trial = Trial::pool(op::TENSOR_SCALAR_AFFINE_SELECT, o);
            trial.put(A, a, &[1.0, 2.0, 3.0, 4.0]).gives(OUT, b, &results)
        });
    }
}

/// Four winners of the whole group are its four elements: ascending, descending, and by magnitude.
#[test]
fn compressed_groups() {
    let row = [3.0, 1.0, 4.0, 2.0];
    let ascending = [1.0, 2.0, 3.0, 4.0];
    let descending = [4.0, 3.0, 2.0, 1.0];
    for (operation, data, tags) in [
        (0x09, ascending, [1.0, 3.0, 0.0, 2.0]),
        (0x21, ascending, [1.0, 3.0, 0.0, 2.0]),
        (0x08, descending, [2.0, 0.0, 3.0, 1.0]),
        (0x20, descending, [2.0, 0.0, 3.0, 1.0]),
    ] {
        for tag in [Dtype::UINT8, Dtype::UINT16, Dtype::UINT32] {
            for (op_dim, num) in [(Subdim::X, [4, 1]), (Subdim::XY, [2, 2])] {
                sweep(|[a, b, _]| {
                    let o = S2D2D2_SC {
                        in_dtype: a,
                        transpose_src: 0,
                        packed_tags: 0,
                        src: Tensor { start: Addr4(A), step: [1, 2], num },
                        out_data_dtype: b,
                        out_tag_dtype: tag,
                        num_active_channels: 1,
                        op: operation,
                        op_dim,
                        data_dst: line(OUT, 4),
                        tag_dst: line(OUT2, 4),
                    };
                    let trial =
                        Trial::dve(op::SPARSITY_COMPRESS_TAG, o).on(Generation::Mariana).put(A, a, &row);
                    trial.gives(OUT, b, &data).gives(OUT2, tag, &tags)
                });
            }
        }
        for (op_dim, num) in [(Subdim::X, [4, 1, 1]), (Subdim::XY, [2, 2, 1]), (Subdim::XYZ, [2, 1, 2])] {
            for from in dtypes() {
                let o = S3D3_SC {
                    in_dtype: from,
                    transpose_src: 0,
                    src: Tensor { start: Addr4(A), step: [1, 2, 2], num },
                    out_data_dtype: Dtype::BFLOAT16,
                    out_struct_dtype: Dtype::UINT32,
                    num_active_channels: 1,
                    op: operation,
                    op_dim,
                    dst: line(OUT, 4),
                };
                // data in the low half, tag in the high one: each pair as two elements
                let pairs: Vec<f64> = (0..4)
                    .map(|k| f64::from(bits_of(data[k], Dtype::BFLOAT16)) + 65536.0 * tags[k])
                    .collect();
                let trial = Trial::dve(op::SPARSITY_COMPRESS, o).on(Generation::Mariana).put(A, from, &row);
                let trial = trial.gives(OUT, Dtype::UINT32, &pairs);
                if trial.is_legal() {
                    trial.check();
                }
            }
        }
    }
    // XYZW: four dimensions of which the operand has three
    let fourth = S3D3_SC {
        in_dtype: F,
        transpose_src: 0,
        src: line(A, 4),
        out_data_dtype: Dtype::BFLOAT16,
        out_struct_dtype: Dtype::UINT32,
        num_active_channels: 1,
        op: 9,
        op_dim: Subdim::XYZW,
        dst: line(OUT, 4),
    };
    let pairs: Vec<f64> = (0..4)
        .map(|k| f64::from(bits_of(ascending[k], Dtype::BFLOAT16)) + 65536.0 * [1.0, 3.0, 0.0, 2.0][k])
        .collect();
    let trial = Trial::dve(op::SPARSITY_COMPRESS, fourth).on(Generation::Mariana).put(A, F, &row);
    trial.gives(OUT, Dtype::UINT32, &pairs).check();
    // a transposed tile of 32 lanes: lane l holds l in all places, so that every lane sees 0 to 31
    let o = S3D3_SC {
        transpose_src: 1,
        src: line(0x1000, 32),
        num_active_channels: 32,
        op_dim: Subdim::X,
        ..fourth
    };
    let mut trial = Trial::dve(op::SPARSITY_COMPRESS, o).on(Generation::Mariana);
    for lane in 0..32 {
        trial = trial.put_in(lane, 0x1000, F, &[lane as f64; 32]);
        let pairs: Vec<f64> = (28..32)
            .map(|v| f64::from(bits_of(v.into(), Dtype::BFLOAT16)) + 65536.0 * f64::from(v))
            .collect();
        trial = trial.gives_in(lane, OUT, Dtype::UINT32, &pairs);
    }
    trial.check();
}

/// The identity in all datatypes, with biases and parameters from everywhere.
#[test]
fn activations() {
    const IDENTITY: u8 = 1;
    let row = [1.0, 2.0, 3.0, 4.0];
    for (imm_src, imm) in sources(1, 0) {
        for (scale_src, scale_value) in sources(0, 2f32.to_bits()) {
            sweep(|[a, b, bias]| {
                let o = S3D3_AC {
                    imm_src,
                    scale_src,
                    accumulator_cmd: AccumCmd::IDLE,
                    bias_src_n: ImmSrcN::PTR,
                    src: line(A, 4),
                    in_bias_dtype: DtypePair::new(a, bias),
                    out_dtype: b,
                    num_active_channels: 1,
                    activation_func: IDENTITY,
                    scale_value,
                    bias: Imm(B),
                    imm,
                    dst: line(OUT, 4),
                };
                // 2x + 1
                let trial = Trial::new(Generation::Cayman, EngineId::Act, op::ACTIVATE, o);
                let trial =
                    trial.put(A, a, &row).put(B, bias, &[1.0]).put(COLUMN, F, &[2.0]).put(COLUMN2, F, &[0.0]);
                trial.gives(OUT, b, &[3.0, 5.0, 7.0, 9.0])
            });
        }
    }
    sweep(|[a, b, _]| {
        let o = S3D3_AC {
            imm_src: ImmSrc::INSTRUCTION,
            scale_src: ImmSrc::INSTRUCTION,
            accumulator_cmd: AccumCmd::IDLE,
            bias_src_n: ImmSrcN::INSTRUCTION,
            src: line(A, 4),
            in_bias_dtype: DtypePair::new(a, F),
            out_dtype: b,
            num_active_channels: 1,
            activation_func: IDENTITY,
            scale_value: Imm(1f32.to_bits()),
            bias: Imm(0),
            imm: Imm(0),
            dst: line(OUT, 4),
        };
        Trial::new(Generation::Cayman, EngineId::Act, op::ACTIVATE, o).put(A, a, &row).gives(OUT, b, &row)
    });
}

/// x = 1 to 4, dy = 1, 2, 2, 4; with N = 2, mean 1 and A = B = C = 1 the result is 2 dy - x.
#[test]
fn back_propagation() {
    let back = |[a, b, out]: [Dtype; 3]| S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(a, b),
        out_dtype: out,
        op: AluOp::BYPASS,
        num_active_channels: 1,
        src0: line(A, 4),
        src1: line(B, 4),
        dst: line(OUT, 4),
    };
    let passed = |load: Word, d: [Dtype; 3]| {
        let trial = Trial::dve(op::BATCH_NORM_BACK_PROP, back(d)).after(&[load]);
        let trial = trial.put(A, d[0], &[1.0, 2.0, 3.0, 4.0]).put(B, d[1], &[1.0, 2.0, 2.0, 4.0]);
        trial.gives(OUT, d[2], &[1.0, 2.0, 1.0, 4.0])
    };
    for dtype in [F, Dtype::BFLOAT16, Dtype::FP16] {
        for (imm0_src, imm0_ptr) in pointers(0) {
            let three = S2_BN {
                src: line(OUT2, 3),
                imm1: Imm(2f32.to_bits()),
                dtype,
                num_active_channels: 1,
                imm0_ptr,
                imm0_src,
            };
            let given = |t: Trial| t.put(OUT2, dtype, &[1.0; 3]).put(COLUMN, dtype, &[1.0]);
            given(Trial::dve(op::BATCH_NORM_PARAM_LOAD, three)).check();
            sweep(|d| given(passed(word(op::BATCH_NORM_PARAM_LOAD, three), d)));
            for (imm1_src, imm1_ptr) in pointers(1) {
                for src_dtype in [F, Dtype::BFLOAT16, Dtype::FP16] {
                    let two = S2_BNPL2 {
                        src: line(OUT2, 2),
                        element_count: 2f32.to_bits(),
                        src_dtype,
                        imm_dtype: dtype,
                        num_active_channels: 1,
                        imm0_ptr,
                        imm1_ptr,
                        imm0_src,
                        imm1_src,
                    };
                    let given = |t: Trial| {
                        let t = t.put(OUT2, src_dtype, &[1.0; 2]);
                        t.put(COLUMN, dtype, &[1.0]).put(COLUMN2, dtype, &[1.0])
                    };
                    given(Trial::dve(op::BATCH_NORM_PARAM_LOAD2, two)).check();
                    given(passed(word(op::BATCH_NORM_PARAM_LOAD2, two), [F; 3])).check();
                }
            }
        }
    }
}

/// Pointers of these words: source 0 is one too.
fn pointers(column: usize) -> [(ImmSrc, Imm); 3] {
    let address = Imm([COLUMN, COLUMN2][column]);
    [(ImmSrc::INSTRUCTION, address), (ImmSrc::PTR, address), sources(column, 0)[2]]
}
