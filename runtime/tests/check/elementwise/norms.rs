//! Batch normalisation and its gradients.

use super::*;

pub(super) fn batch_norm_cases() -> Vec<Case> {
    let infinite = F32(0x7F80_0000);
    vec![
        broken("element-count", DVE_C, op::BATCH_NORM_STATS2, stats(513, 6), "src", "513", "1..512"),
        broken("element-count", DVE_C, op::BATCH_NORM_STATS, stats(257, 3), "src", "257", "1..256"),
        count(DVE_C, op::BATCH_NORM_STATS2, stats(512, 5), (56, "dst"), "5", "6"),
        value(
            DVE_C,
            op::BATCH_NORM_STATS2,
            S4D2_BN { odd_count: infinite, ..stats(512, 6) },
            "odd_count",
            "inf",
            "a finite count",
        ),
        broken(
            "dtype",
            DVE_C,
            op::BATCH_NORM_STATS2,
            S4D2_BN { out_dtype: Dtype::INT32, ..stats(512, 6) },
            "out_dtype",
            "int32",
            "bfloat16, fp16, fp32",
        ),
        broken(
            "transpose-tiles",
            DVE_C,
            op::TRANSPOSE_BATCH_NORM_STATS2,
            stats(500, 6),
            "src",
            "500",
            "a multiple of 32 elements",
        ),
        broken(
            "element-count",
            DVE_C,
            op::BATCH_NORM_AGGREGATE,
            S4D2_BN { src: line(0, 7), ..aggregate() },
            "src",
            "7",
            "triples",
        ),
        value(
            DVE_C,
            op::BATCH_NORM_AGGREGATE,
            S4D2_BN { even_count: F32(0x3F80_0000), ..aggregate() },
            "even_count",
            "1",
            "0",
        ),
        unsupported(
            DVE_C,
            word(op::LOAD_PARAMETER_RAM, CTRL_IM { param_ram_offset: 0x3E4, ..parameter_ram() }),
            "field-refused",
            (12, "param_ram_offset"),
            "0x3e4",
            "a multiple of 4 up to 0x3e0",
        ),
        value(
            DVE_C,
            op::LOAD_PARAMETER_RAM,
            CTRL_IM { imm_ptr_select: 1, ..parameter_ram() },
            "imm_ptr_select",
            "1",
            "0",
        ),
    ]
}

pub(super) fn gradient_cases() -> Vec<Case> {
    vec![
        count(
            DVE_C,
            op::BATCH_NORM_GRAD_ACCUMULATE,
            S3S3D1_BN { dst: line(0x2000, 4), ..grad_accumulate() },
            (54, "dst"),
            "4",
            "3",
        ),
        broken(
            "alignment",
            DVE_C,
            op::BATCH_NORM_GRAD_ACCUMULATE,
            S3S3D1_BN { immediate_dtype: Dtype::INVALID, imm1: Ptr(2), ..grad_accumulate() },
            "imm1",
            "0x2",
            "a multiple of 4",
        ),
        value(
            DVE_S,
            op::BATCH_NORM_GRAD_ACCUMULATE2,
            S3S3D1_BN2 { imm_src: ImmSrcPair(0x20), ..grad_accumulate2() },
            "imm_src",
            "32",
            "1 or 2 in each nibble",
        ),
        count(
            DVE_C,
            op::BATCH_NORM_PARAM_LOAD,
            S2_BN { src: line(0, 2), ..param_load() },
            (24, "src"),
            "2",
            "3",
        ),
        // source 0 means a pointer
        broken(
            "alignment",
            DVE_C,
            op::BATCH_NORM_PARAM_LOAD2,
            S2_BNPL2 { imm0_ptr: Imm(2), ..param_load2() },
            "imm0_ptr",
            "0x2",
            "a multiple of 4",
        ),
        broken(
            "alu-op",
            DVE_C,
            op::BATCH_NORM_BACK_PROP,
            S3S3D3_TT { op: AluOp::ADD, ..back_prop() },
            "op",
            "ADD",
            "BYPASS",
        ),
        broken(
            "dtype",
            DVE_C,
            op::BATCH_NORM_BACK_PROP,
            S3S3D3_TT { in0_in1_dtype: DtypePair::new(Dtype::FP32, Dtype::INT16), ..back_prop() },
            "in0_in1_dtype",
            "int16",
            "bfloat16, fp16, fp32",
        ),
    ]
}
