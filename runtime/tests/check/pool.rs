//! Data kernels of POOL: legal words, and words that break one rule each (chapter 06 sections 2, 3, 5 and
//! 9.1, chapter 04 section 3.3, chapter 05 section 6.5).

use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, Indirect20, Tensor, Word, op};

use crate::legal::{POOL_C, POOL_S, PSUM, line};
use crate::{Case, Place, error, patch, unsupported, word};

fn buffer() -> S4_PB {
    S4_PB {
        src: line(0x1000, 512),
        in_dtype: Dtype::FP16,
        num_active_channels: 128,
        start_index: 0xAB400,
        mask: 0x1FF,
    }
}

fn gather() -> S4D4_GT {
    S4D4_GT {
        src: line(0x1000, 64),
        in_dtype: Dtype::UINT32,
        out_dtype: Dtype::FP16,
        num_active_channels: 128,
        index_miss_behavior: 1,
        free_pool_buffer: 1,
        immediate: Imm(0),
        dst: line(0x2000, 64),
    }
}

pub fn indirect() -> S4D4_IC {
    S4D4_IC {
        src: Indirect20 { index: Addr4(0x2000_0400), data: Addr4(0x1000), num_elem: 64, reserved: [0; 10] },
        in_dtype: Dtype::FP16,
        out_dtype: Dtype::FP16,
        num_active_channels: 128,
        src_num_elem_per_idx: 4,
        dst_num_elem_per_idx: 0,
        src_buffer_size: 100,
        dst_buffer_size: 0,
        dst: line(0x2000, 64),
    }
}

fn arguments() -> CTRL_IM {
    CTRL_IM { param_ram_offset: 0, imm_ptr_select: 0b10, immediate: [5, 0x1000, 3, 3, 3, 3, 3, 3] }
}

fn sort() -> S1D2_SORT {
    S1D2_SORT {
        num_active_channels: 128,
        index_offset_src: ImmSrc::PTR,
        in_out_dtype: DtypePair::new(Dtype::FP16, Dtype::FP16),
        comparison: AluOp::IS_GT,
        src: line(0x1000, 32),
        dst: Tensor { num: [2, 32], step: [1, 2], ..line(0x2000, 2) },
        index_offset: 0x3000,
        stable: 1,
    }
}

fn nonzero() -> S3D3_NONZERO_WITH_COUNT {
    S3D3_NONZERO_WITH_COUNT {
        num_active_channels: 128,
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::INT32,
        index_offset_src: ImmSrc::INSTRUCTION,
        src: line(0x1000, 8),
        index_offset: Imm(10),
        padding_val_src: ImmSrc::PTR,
        padding_val: Imm(0x3000),
        dst: line(0x2000, 9),
    }
}

fn bounds() -> S3D3_SEQ_BOUNDS {
    S3D3_SEQ_BOUNDS {
        num_active_channels: 1,
        in_dtype: Dtype::INT32,
        out_dtype: Dtype::FP32,
        src: line(0x1000, 8),
        dst: Tensor { num: [8, 1, 2], step: [1, 0, 8], ..line(0x2000, 8) },
    }
}

pub fn dequantize() -> S3D3_TENS_DEQUANT {
    S3D3_TENS_DEQUANT {
        src: line(0x1000, 10),
        in_dtype: Dtype::UINT32,
        out_dtype: Dtype::UINT32,
        num_active_channels: 128,
        dequant_fmt: 1,
        group_size: 8,
        dst: line(0x2000, 16),
    }
}

fn six_bits() -> S3D3_TENS_DEQUANT {
    S3D3_TENS_DEQUANT { src: line(0x1000, 12), dequant_fmt: 4, group_size: 0, ..dequantize() }
}

fn extended() -> EXTENDED_TTA {
    EXTENDED_TTA {
        extended_opcode: 2,
        completion_info: Bits(0x05),
        in0_in1_dtype: DtypePair::new(Dtype::FP16, Dtype::FP32),
        out_dtype: Dtype::FP32R,
        op: AluOp::ADD,
        src0: line(0x1000, 8),
        src1: line(0x2000, 8),
        dst: line(0x3000, 8),
    }
}

/// Legal words.
pub fn words() -> Vec<(&'static str, Place, Word)> {
    let top = S1D2_SORT { dst: Tensor { num: [2, 7], step: [1, 2], ..line(0x2000, 2) }, ..sort() };
    vec![
        ("67", POOL_S, word(op::POOL_BUFFER_LOAD, buffer())),
        ("68", POOL_S, word(op::GATHER, gather())),
        ("E7", POOL_C, word(op::INDIRECT_COPY, indirect())),
        ("7A", POOL_S, word(op::LOAD_POOL_ARGUMENT, arguments())),
        ("96 top 7", POOL_S, word(op::SORT, top)),
        ("F2", POOL_C, word(op::NONZERO_WITH_COUNT, nonzero())),
        ("BE", POOL_C, word(op::GET_SEQUENCE_BOUNDS, bounds())),
        ("7B", POOL_C, word(op::TENSOR_DEQUANTIZE, dequantize())),
        ("7B of six bits", POOL_C, word(op::TENSOR_DEQUANTIZE, six_bits())),
        ("F0 2", POOL_C, word(op::EXTENDED_INST, extended())),
        ("F0 0", POOL_C, Word::new(op::EXTENDED_INST)),
    ]
}

/// Words that break one rule each.
pub fn cases() -> Vec<Case> {
    [table_cases(), indirect_cases(), sort_cases(), list_cases(), code_cases(), extended_cases()]
        .into_iter()
        .flatten()
        .collect()
}

fn table_cases() -> Vec<Case> {
    let load = |o| word(op::POOL_BUFFER_LOAD, o);
    let get = |o| word(op::GATHER, o);
    let argument = |o| word(op::LOAD_POOL_ARGUMENT, o);
    vec![
        error(
            POOL_C,
            load(S4_PB { src: line(0x1000, 513), ..buffer() }),
            "element-count",
            (24, "src"),
            "513",
            "1 to 512",
        ),
        error(
            POOL_C,
            load(S4_PB { src: line(PSUM, 8), ..buffer() }),
            "memory-space",
            (12, "src"),
            "psum",
            "sbuf",
        ),
        error(
            POOL_C,
            get(S4D4_GT { in_dtype: Dtype::INT32, ..gather() }),
            "dtype",
            (32, "in_dtype"),
            "int32",
            "uint8, uint16, uint32",
        ),
        error(
            POOL_C,
            get(S4D4_GT { dst: line(0x2000, 63), ..gather() }),
            "element-count",
            (56, "dst"),
            "63",
            "64",
        ),
        error(
            POOL_C,
            get(S4D4_GT { index_miss_behavior: 2, ..gather() }),
            "field-value",
            (36, "index_miss_behavior"),
            "2",
            "0 or 1",
        ),
        error(
            POOL_C,
            get(S4D4_GT { free_pool_buffer: 2, ..gather() }),
            "field-value",
            (37, "free_pool_buffer"),
            "2",
            "0 or 1",
        ),
        error(
            POOL_C,
            argument(CTRL_IM { param_ram_offset: 4, ..arguments() }),
            "field-value",
            (12, "param_ram_offset"),
            "4",
            "0",
        ),
        error(
            POOL_C,
            argument(CTRL_IM { imm_ptr_select: 1, ..arguments() }),
            "alignment",
            (32, "immediate"),
            "0x5",
            "a multiple of 4",
        ),
        error(
            POOL_C,
            argument(CTRL_IM { immediate: [0, 0x8000_0001, 0, 0, 0, 0, 0, 0], ..arguments() }),
            "address-form",
            (36, "immediate"),
            "0x80000001",
            "a pointer of 29 bits",
        ),
    ]
}

fn indirect_cases() -> Vec<Case> {
    let copy = |o| word(op::INDIRECT_COPY, o);
    let source = |change: fn(&mut Indirect20)| {
        let mut o = indirect();
        change(&mut o.src);
        copy(o)
    };
    vec![
        error(
            POOL_C,
            copy(S4D4_IC { num_active_channels: 24, ..indirect() }),
            "field-value",
            (34, "num_active_channels"),
            "24",
            "a multiple of 16",
        ),
        error(
            POOL_C,
            copy(S4D4_IC { out_dtype: Dtype::UINT16, ..indirect() }),
            "dtype",
            (33, "out_dtype"),
            "uint16",
            "fp16",
        ),
        error(
            POOL_C,
            copy(S4D4_IC { src_num_elem_per_idx: 64, ..indirect() }),
            "field-value",
            (35, "src_num_elem_per_idx"),
            "64",
            "1, 2, 4, 8, 16 or 32",
        ),
        error(
            POOL_C,
            copy(S4D4_IC { dst_num_elem_per_idx: 1, ..indirect() }),
            "field-value",
            (36, "dst_num_elem_per_idx"),
            "1",
            "0 (no scatter form)",
        ),
        error(
            POOL_C,
            copy(S4D4_IC { dst_buffer_size: 9, ..indirect() }),
            "field-value",
            (40, "dst_buffer_size"),
            "9",
            "0 (no scatter form)",
        ),
        error(
            POOL_C,
            copy(S4D4_IC { src_buffer_size: 1, ..indirect() }),
            "field-value",
            (38, "src_buffer_size"),
            "1",
            "more than 1",
        ),
        error(
            POOL_C,
            copy(S4D4_IC {
                src: Indirect20 { num_elem: 62, ..indirect().src },
                dst: line(0x2000, 62),
                ..indirect()
            }),
            "element-count",
            (20, "src"),
            "62",
            "up to 4096 runs of 4",
        ),
        error(
            POOL_C,
            copy(S4D4_IC { dst: line(0x2000, 60), ..indirect() }),
            "element-count",
            (56, "dst"),
            "60",
            "64",
        ),
        error(POOL_C, source(|s| s.reserved[9] = 1), "reserved-byte", (22, "src"), "set bytes", "0"),
        error(
            POOL_C,
            source(|s| s.index = Addr4(0x2000_0401)),
            "alignment",
            (12, "src"),
            "0x401",
            "a multiple of 2",
        ),
        error(
            POOL_C,
            source(|s| s.data = Addr4(0x3_7FFE)),
            "bounds",
            (12, "src"),
            "bytes 229374..229574",
            "bytes 0..229376",
        ),
    ]
}

fn sort_cases() -> Vec<Case> {
    let sorted = |o| word(op::SORT, o);
    let ranks = |pair, ranks| Tensor { num: [pair, ranks], step: [1, 2], ..line(0x2000, 2) };
    vec![
        error(
            POOL_C,
            sorted(S1D2_SORT { in_out_dtype: DtypePair::new(Dtype::INT8, Dtype::INT8), ..sort() }),
            "dtype",
            (14, "in_out_dtype"),
            "int8",
            "int16, uint16, bfloat16, fp16, int32, uint32, fp32",
        ),
        error(
            POOL_C,
            sorted(S1D2_SORT { in_out_dtype: DtypePair::new(Dtype::FP16, Dtype::UINT16), ..sort() }),
            "dtype",
            (14, "in_out_dtype"),
            "uint16",
            "fp16",
        ),
        error(
            POOL_C,
            sorted(S1D2_SORT { comparison: AluOp::IS_GE, ..sort() }),
            "alu-op",
            (15, "comparison"),
            "IS_GE",
            "IS_LT or IS_GT",
        ),
        error(
            POOL_C,
            sorted(S1D2_SORT { stable: 2, ..sort() }),
            "field-value",
            (40, "stable"),
            "2",
            "0 or 1",
        ),
        error(
            POOL_C,
            sorted(S1D2_SORT { src: line(0x1000, 33), ..sort() }),
            "element-count",
            (22, "src"),
            "33",
            "4096 elements over all lanes",
        ),
        error(
            POOL_C,
            sorted(S1D2_SORT { dst: ranks(3, 32), ..sort() }),
            "element-count",
            (32, "dst"),
            "3",
            "2",
        ),
        error(
            POOL_C,
            sorted(S1D2_SORT { dst: ranks(2, 33), ..sort() }),
            "element-count",
            (34, "dst"),
            "33",
            "1 to 32",
        ),
        error(
            POOL_C,
            sorted(S1D2_SORT { index_offset: 0x3002, ..sort() }),
            "alignment",
            (36, "index_offset"),
            "0x3002",
            "a multiple of 4",
        ),
    ]
}

fn list_cases() -> Vec<Case> {
    let list = |o| word(op::NONZERO_WITH_COUNT, o);
    let bound = |o| word(op::GET_SEQUENCE_BOUNDS, o);
    vec![
        error(
            POOL_C,
            list(S3D3_NONZERO_WITH_COUNT { in_dtype: Dtype::UINT32, ..nonzero() }),
            "dtype",
            (13, "in_dtype"),
            "uint32",
            "int32, fp32",
        ),
        error(
            POOL_C,
            list(S3D3_NONZERO_WITH_COUNT { out_dtype: Dtype::UINT32, ..nonzero() }),
            "dtype",
            (14, "out_dtype"),
            "uint32",
            "int32",
        ),
        error(
            POOL_C,
            list(S3D3_NONZERO_WITH_COUNT { dst: line(0x2000, 8), ..nonzero() }),
            "element-count",
            (54, "dst"),
            "8",
            "9",
        ),
        error(
            POOL_C,
            list(S3D3_NONZERO_WITH_COUNT { padding_val: Imm(0x3002), ..nonzero() }),
            "alignment",
            (40, "padding_val"),
            "0x3002",
            "a multiple of 4",
        ),
        error(
            POOL_C,
            bound(S3D3_SEQ_BOUNDS { num_active_channels: 2, ..bounds() }),
            "field-value",
            (12, "num_active_channels"),
            "2",
            "1",
        ),
        error(
            POOL_C,
            bound(S3D3_SEQ_BOUNDS { out_dtype: Dtype::FP16, ..bounds() }),
            "dtype",
            (15, "out_dtype"),
            "fp16",
            "int32, fp32",
        ),
        error(
            POOL_C,
            bound(S3D3_SEQ_BOUNDS { src: line(0x1000, 7), ..bounds() }),
            "element-count",
            (42, "dst"),
            "16",
            "14",
        ),
        error(
            POOL_C,
            bound(S3D3_SEQ_BOUNDS { dst: line(0x2000, 16), ..bounds() }),
            "element-count",
            (46, "dst"),
            "1",
            "2",
        ),
    ]
}

fn code_cases() -> Vec<Case> {
    let codes = |o| word(op::TENSOR_DEQUANTIZE, o);
    vec![
        error(
            POOL_C,
            codes(S3D3_TENS_DEQUANT { dequant_fmt: 5, ..dequantize() }),
            "field-value",
            (35, "dequant_fmt"),
            "5",
            "1 to 4",
        ),
        error(
            POOL_C,
            codes(S3D3_TENS_DEQUANT { group_size: 4, dst: line(0x2000, 20), ..dequantize() }),
            "field-value",
            (36, "group_size"),
            "4",
            "0 or 8",
        ),
        error(
            POOL_C,
            codes(S3D3_TENS_DEQUANT { group_size: 8, ..six_bits() }),
            "field-value",
            (36, "group_size"),
            "8",
            "0",
        ),
        error(
            POOL_C,
            codes(S3D3_TENS_DEQUANT { src: line(0x1000, 9), ..dequantize() }),
            "element-count",
            (22, "src"),
            "9",
            "a multiple of 5",
        ),
        error(
            POOL_C,
            codes(S3D3_TENS_DEQUANT { dst: line(0x2000, 17), ..dequantize() }),
            "element-count",
            (54, "dst"),
            "17",
            "16",
        ),
    ]
}

fn extended_cases() -> Vec<Case> {
    let inst = |o| word(op::EXTENDED_INST, o);
    let sub = |number| patch(Word::new(op::EXTENDED_INST), 12, &[number]);
    vec![
        unsupported(POOL_C, sub(7), "field-refused", (12, "extended_opcode"), "0x7", "0, 2, 8 or 9"),
        error(POOL_C, sub(5), "field-value", (12, "extended_opcode"), "5", "a sub-opcode 0 to 4 or 6 to 9"),
        error(
            POOL_C,
            patch(Word::new(op::EXTENDED_INST), 40, &[1]),
            "field-value",
            (14, "inst_specific0"),
            "1",
            "0 in a NOP",
        ),
        error(
            POOL_C,
            inst(EXTENDED_TTA { completion_info: Bits(1), ..extended() }),
            "field-value",
            (13, "completion_info"),
            "1",
            "has_read and has_write, besides ports",
        ),
        error(
            POOL_C,
            inst(EXTENDED_TTA { op: AluOp::SUBTRACT, ..extended() }),
            "alu-op",
            (16, "op"),
            "SUBTRACT",
            "ADD or MULT",
        ),
        error(
            POOL_C,
            inst(EXTENDED_TTA { src1: line(0x2000, 7), ..extended() }),
            "element-count",
            (40, "src1"),
            "7",
            "8",
        ),
    ]
}
