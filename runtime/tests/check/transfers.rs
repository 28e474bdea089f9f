//! Generated DMA, words between cores, functions, lists of semaphores, and compression: legal words, and words
//! that break one rule each (chapter 02 section 8.19, chapter 05 section 9, chapter 06 sections 4, 6 and 10, chapter
//! 07 section 9.1).

use seqjit_runtime::isa::EngineId::{Dve, Pool, Sp};
use seqjit_runtime::isa::Generation::{Mariana, Maverick};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, Tensor, Word, op};

use crate::legal::{POOL_C, PSUM, SP_C, line};
use crate::{Case, Place, error, patch, word};

const SP_M: Place = Place(Mariana, Sp);
const DVE_M: Place = Place(Mariana, Dve);
const POOL_V: Place = Place(Maverick, Pool);

fn indirect() -> DMA_INDIRECT1D {
    DMA_INDIRECT1D {
        semaphore: 24,
        sem_increment: 16,
        idx_num_active_channels: 128,
        flags: DmaIndirectFlags(2 | 4 | 8),
        src_start_addr: Addr8::table(0, 0),
        src_step_elem: 512,
        src_num_elem: 256,
        src_elem_size: 512,
        dst_start_addr: Addr8::table(1, 0),
        dst_step_elem: 512,
        dst_num_elem: 256,
        dst_elem_size: 512,
        src_idx_start_addr: Addr4(0x100),
        dst_idx_start_addr: Addr4(0x200),
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        src_idx_bound_reg: BoundReg(0x85),
        dst_idx_bound_reg: BoundReg(0),
        compute_op: DgeComputeOp::NONE,
        dma_configs: 0,
    }
}

fn transpose() -> DMA_DIRECT2D_XPOSE {
    DMA_DIRECT2D_XPOSE {
        src_bound_reg: BoundReg(0),
        dst_bound_reg: BoundReg(0),
        in_dtype: Dtype::BFLOAT16,
        out_dtype: Dtype::BFLOAT16,
        src_start_addr: Addr8::table(0, 0),
        src_step_elem: [256, 0],
        src_num_elem: [4, 1],
        tile_src_row_step: 1024,
        dst_start_addr: Addr8(0x20_0000_0000),
        dst_step_elem: [0x4_0000, 32],
        dst_num_elem: [128, 4],
        tile_src_rows: 16,
        tile_src_cols: 128,
        semaphore: 24,
        dma_configs: 0,
    }
}

fn gather_transpose() -> DMA_GATHER_XPOSE {
    DMA_GATHER_XPOSE {
        semaphore: 24,
        dma_configs: 0,
        idx_num_active_channels: 128,
        src_idx_bound_reg: BoundReg(0),
        src_start_addr: Addr8::table(0, 0),
        src_step_elem: [256, 512],
        src_num_elem: [1, 32],
        src_idx_start_addr: Addr4(0x100),
        dst_start_addr: Addr8(0x20_0000_0000),
        dst_bound_reg: BoundReg(0),
        dst_step_elem_1: 0x4_0000,
        dst_num_elem: [32, 128],
        elem_size: 256,
        dtype: DtypePair::new(Dtype::FP16, Dtype::FP16),
        flags: 1,
    }
}

fn copy2d() -> DMA_COPY2D {
    DMA_COPY2D {
        wait_sema_value: 5,
        wait_sema_idx: 9,
        wait_sema_mode: WaitMode::SEM_GE_IMM,
        dma_engines: Bits(0),
        dma_flags: Bits(0),
        addr_mode: Bits(0x10),
        sema_update_mode: Bits(0x11),
        rd_done_sema_update_idx: 20,
        src_start_addr: Addr8(0x10_0000_0000),
        src_step_elem: [512, 0],
        src_num_elem: [16, 1],
        src_elem_size: 512,
        wr_done_sema_update_idx: 21,
        dst_start_addr: Addr8(4),
        dst_step_elem: [512, 0],
        dst_num_elem: [16, 1],
        dst_elem_size: 512,
        remote_core_id: 0,
    }
}

fn exchange() -> S3D3_COLLECTIVE {
    S3D3_COLLECTIVE {
        in_dtype: Dtype::FP16,
        out_dtype: Dtype::FP16,
        src: line(0, 256),
        lnc_size_fmt: LncSize::LNC2,
        num_active_channels: 128,
        dst: line(0x1000, 256),
    }
}

pub fn collective() -> PSEUDO_TRIGGER_COLLECTIVE {
    PSEUDO_TRIGGER_COLLECTIVE {
        op: AluOp::ADD,
        dtype: Dtype::BFLOAT16,
        group_id: 0,
        input_tensor_id: 1,
        output_tensor_id: 2,
        num_elements: 1024,
        ctype: 1,
        src_offset_elems: 0,
        dst_offset_elems: 0,
    }
}

/// The word with the update that collectives want.
pub fn triggered(o: PSEUDO_TRIGGER_COLLECTIVE) -> Word {
    patch(word(op::PSEUDO_TRIGGER_COLLECTIVE, o), 6, &[0x13, 60])
}

fn remote() -> EXTENDED_RDMA_DESC_GEN {
    EXTENDED_RDMA_DESC_GEN {
        extended_opcode: 8,
        completion_info: Bits(0),
        local_sem: 30,
        remote_sem: 31,
        remote_core_id: Imm(1),
        remote_routing_id: Imm(0),
        dma_engine_mask: Imm(0xFF00),
        src_addr: Addr4(0x20),
        dst_addr: Addr4(0x41),
        free_dim_bytes: 100,
        is_bidirectional: 0,
        remote_sem_prev: 0,
    }
}

fn function_name(text: &[u8]) -> Name<36> {
    let mut padded = [0; 36];
    padded[..text.len()].copy_from_slice(text);
    Name(padded)
}

fn begin() -> PSEUDO_FUNCTION_BEGIN {
    PSEUDO_FUNCTION_BEGIN {
        function_name: function_name(b"main.body"),
        return_reset_semaphores: 1,
        return_addr_reg_lo: 10,
        return_addr_reg_hi: 131,
    }
}

fn call(name: &[u8]) -> Word {
    let operands = PSEUDO_FUNCTION_CALL { function_name: function_name(name), args_table_var_id: 3 };
    word(op::PSEUDO_FUNCTION_CALL, operands)
}

fn test_events() -> CTRL_TEST_ES {
    let mut evt_sem_ids = [0; 16];
    evt_sem_ids[..2].copy_from_slice(&[40, 41]);
    CTRL_TEST_ES {
        mode: 2,
        update_type: UpdateMode::SEM_ADD_REG_COMPLETE,
        repeat_count: 0,
        num_evt_sem: 2,
        evt_sem_ids,
        value_registers: Regs([5; 16]),
        threshold: 0,
        setter_signature: 7,
    }
}

fn compress() -> S3D3_SC {
    S3D3_SC {
        in_dtype: Dtype::FP32,
        transpose_src: 1,
        src: Tensor { num: [16, 4, 1], step: [1, 16, 0], ..line(0, 1) },
        out_data_dtype: Dtype::FP16,
        out_struct_dtype: Dtype::UINT32,
        num_active_channels: 128,
        op: 0x21,
        op_dim: Subdim::X,
        dst: line(0x1000, 16),
    }
}

fn compress_tag() -> S2D2D2_SC {
    S2D2D2_SC {
        in_dtype: Dtype::BFLOAT16,
        transpose_src: 0,
        packed_tags: 1,
        src: line(0, 16),
        out_data_dtype: Dtype::FP32R,
        out_tag_dtype: Dtype::UINT16,
        num_active_channels: 128,
        op: 0x08,
        op_dim: Subdim::X,
        data_dst: line(0x1000, 4),
        tag_dst: line(0x2000, 1),
    }
}

/// Legal words.
pub fn words() -> Vec<(&'static str, Place, Word)> {
    vec![
        ("BB", POOL_C, word(op::DMA_INDIRECT, indirect())),
        ("BD", SP_C, word(op::DMA_TRANSPOSE, transpose())),
        ("F1", POOL_C, word(op::DMA_GATHER_TRANSPOSE, gather_transpose())),
        ("B9", POOL_V, word(op::DMA_MEMCPY2, copy2d())),
        ("BF", POOL_C, word(op::SB2SB_COLLECTIVE, exchange())),
        ("C8", SP_C, triggered(collective())),
        ("F0 8", POOL_C, word(op::EXTENDED_INST, remote())),
        ("F0 9", POOL_C, patch(Word::new(op::EXTENDED_INST), 12, &[9])),
        ("D1", SP_C, word(op::PSEUDO_FUNCTION_BEGIN, begin())),
        ("D2", SP_C, Word::new(op::PSEUDO_FUNCTION_RETURN)),
        ("D3", SP_C, call(b"main.body")),
        ("D5", SP_C, Word::new(op::PSEUDO_SYNC_BARRIER)),
        ("D8", SP_C, word(op::PSEUDO_CORE_BARRIER, PSEUDO_CORE_BARRIER { id: 1, semaphore: 2 })),
        ("C3", SP_C, patch(Word::new(op::PSEUDO_DMABARRIER), 12, &[1])),
        ("DD", SP_C, Word::new(op::PSEUDO_BRANCH_PREFETCH_HINT)),
        ("DE", SP_C, Word::new(op::PSEUDO_TENSOR_COMPLETION)),
        ("DF", SP_C, patch(Word::new(op::PSEUDO_INST), 12, &[1])),
        ("B4", SP_M, word(op::TEST_EVENT_SEM, test_events())),
        ("E0", DVE_M, word(op::SPARSITY_COMPRESS, compress())),
        ("E1", DVE_M, word(op::SPARSITY_COMPRESS_TAG, compress_tag())),
    ]
}

/// Words that break one rule each.
pub fn cases() -> Vec<Case> {
    [indirect_cases(), tile_cases(), copy_cases(), core_cases(), list_cases(), compress_cases()]
        .into_iter()
        .flatten()
        .collect()
}

fn indirect_cases() -> Vec<Case> {
    let dma = |o| word(op::DMA_INDIRECT, o);
    vec![
        error(
            POOL_C,
            dma(DMA_INDIRECT1D { flags: DmaIndirectFlags(3), ..indirect() }),
            "field-value",
            (15, "flags"),
            "3",
            "mode 0 to 2, dimensions X",
        ),
        error(
            POOL_C,
            dma(DMA_INDIRECT1D { flags: DmaIndirectFlags(0x10), ..indirect() }),
            "field-value",
            (15, "flags"),
            "16",
            "mode 0 to 2, dimensions X",
        ),
        error(
            POOL_C,
            dma(DMA_INDIRECT1D { dma_configs: 5, ..indirect() }),
            "field-value",
            (61, "dma_configs"),
            "5",
            "a priority class 0..4",
        ),
        error(
            POOL_C,
            dma(DMA_INDIRECT1D { dst_idx_bound_reg: BoundReg(0x45), ..indirect() }),
            "bound-register",
            (59, "dst_idx_bound_reg"),
            "0x45",
            "0, or bit 7 and a register",
        ),
        error(
            POOL_C,
            dma(DMA_INDIRECT1D { flags: DmaIndirectFlags(1), dst_num_elem: 4097, ..indirect() }),
            "element-count",
            (52, "dst_idx_start_addr"),
            "4097",
            "at most 4096 indices",
        ),
        error(
            POOL_C,
            dma(DMA_INDIRECT1D { src_idx_start_addr: Addr4(0x102), ..indirect() }),
            "alignment",
            (48, "src_idx_start_addr"),
            "0x102",
            "a multiple of 4",
        ),
        error(
            POOL_C,
            dma(DMA_INDIRECT1D {
                idx_num_active_channels: 32,
                src_idx_start_addr: Addr4(32 << 18),
                ..indirect()
            }),
            "start-partition",
            (48, "src_idx_start_addr"),
            "partition 32",
            "partition 0",
        ),
    ]
}

fn tile_cases() -> Vec<Case> {
    let tiles = |o| word(op::DMA_TRANSPOSE, o);
    let gather = |o| word(op::DMA_GATHER_TRANSPOSE, o);
    vec![
        error(
            POOL_C,
            tiles(DMA_DIRECT2D_XPOSE { tile_src_rows: 8, ..transpose() }),
            "field-value",
            (60, "tile_src_rows"),
            "8",
            "16",
        ),
        error(
            POOL_C,
            tiles(DMA_DIRECT2D_XPOSE { in_dtype: Dtype::FP32, out_dtype: Dtype::FP32, ..transpose() }),
            "field-value",
            (61, "tile_src_cols"),
            "128",
            "1 to 64",
        ),
        error(
            POOL_C,
            tiles(DMA_DIRECT2D_XPOSE { out_dtype: Dtype::FP16, ..transpose() }),
            "dtype",
            (15, "out_dtype"),
            "fp16",
            "bfloat16",
        ),
        error(
            POOL_C,
            tiles(DMA_DIRECT2D_XPOSE { in_dtype: Dtype::INT8, out_dtype: Dtype::INT8, ..transpose() }),
            "dtype",
            (14, "in_dtype"),
            "int8",
            "int16, uint16, bfloat16, fp16, int32, uint32, fp32, fp32r",
        ),
        error(
            POOL_C,
            tiles(DMA_DIRECT2D_XPOSE { dst_step_elem: [0x4_0000, 48], ..transpose() }),
            "alignment",
            (52, "dst_step_elem"),
            "48",
            "a multiple of 32",
        ),
        error(
            POOL_C,
            tiles(DMA_DIRECT2D_XPOSE { dst_num_elem: [128, 3], ..transpose() }),
            "element-count",
            (56, "dst_num_elem"),
            "384",
            "512",
        ),
        error(
            POOL_C,
            gather(DMA_GATHER_XPOSE { elem_size: 258, dst_num_elem: [32, 129], ..gather_transpose() }),
            "field-value",
            (60, "elem_size"),
            "258",
            "an even number 2 to 256",
        ),
        error(
            POOL_C,
            gather(DMA_GATHER_XPOSE { src_num_elem: [1, 24], dst_num_elem: [24, 128], ..gather_transpose() }),
            "field-value",
            (32, "src_num_elem"),
            "24",
            "a multiple of 16 indices",
        ),
        error(
            POOL_C,
            gather(DMA_GATHER_XPOSE { flags: 0, ..gather_transpose() }),
            "field-value",
            (63, "flags"),
            "0",
            "dimension Y (1)",
        ),
        error(
            POOL_C,
            gather(DMA_GATHER_XPOSE { dst_num_elem: [32, 64], ..gather_transpose() }),
            "element-count",
            (56, "dst_num_elem"),
            "32 by 64",
            "32 by 128",
        ),
        error(
            POOL_C,
            gather(DMA_GATHER_XPOSE { dst_step_elem_1: 16, ..gather_transpose() }),
            "alignment",
            (52, "dst_step_elem_1"),
            "16",
            "a multiple of 32",
        ),
        error(
            POOL_C,
            gather(DMA_GATHER_XPOSE {
                dtype: DtypePair::new(Dtype::FP16, Dtype::UINT16),
                ..gather_transpose()
            }),
            "dtype",
            (62, "dtype"),
            "uint16",
            "fp16",
        ),
    ]
}

fn copy_cases() -> Vec<Case> {
    let copy = |o| word(op::DMA_MEMCPY2, o);
    vec![
        error(
            POOL_V,
            copy(DMA_COPY2D { dst_num_elem: [15, 1], ..copy2d() }),
            "element-count",
            (56, "dst_num_elem"),
            "7680 bytes",
            "8192 bytes",
        ),
        error(
            POOL_V,
            copy(DMA_COPY2D { wr_done_sema_update_idx: 256, ..copy2d() }),
            "field-value",
            (38, "wr_done_sema_update_idx"),
            "256",
            "a semaphore 0 to 255",
        ),
        error(
            POOL_V,
            copy(DMA_COPY2D { wait_sema_mode: WaitMode::EVT_SET, ..copy2d() }),
            "field-value",
            (9, "wait_sema_mode"),
            "6",
            "a wait for a semaphore",
        ),
    ]
}

fn core_cases() -> Vec<Case> {
    let swap = |o| word(op::SB2SB_COLLECTIVE, o);
    let rdma = |o| word(op::EXTENDED_INST, o);
    vec![
        error(
            POOL_C,
            swap(S3D3_COLLECTIVE { src: line(0, 257), dst: line(0x1000, 257), ..exchange() }),
            "element-count",
            (26, "src"),
            "257",
            "1 to 256",
        ),
        error(
            POOL_C,
            swap(S3D3_COLLECTIVE { lnc_size_fmt: LncSize::LNC4, ..exchange() }),
            "field-value",
            (32, "lnc_size_fmt"),
            "2",
            "0 or 1",
        ),
        error(
            POOL_C,
            swap(S3D3_COLLECTIVE { out_dtype: Dtype::BFLOAT16, ..exchange() }),
            "dtype",
            (13, "out_dtype"),
            "bfloat16",
            "fp16",
        ),
        error(
            SP_C,
            triggered(PSEUDO_TRIGGER_COLLECTIVE { op: AluOp::SUBTRACT, ..collective() }),
            "alu-op",
            (12, "op"),
            "SUBTRACT",
            "ADD, MULT, MAX or MIN",
        ),
        error(
            SP_C,
            triggered(PSEUDO_TRIGGER_COLLECTIVE { dtype: Dtype::UINT32, ..collective() }),
            "dtype",
            (13, "dtype"),
            "uint32",
            "bfloat16, fp16, int32, fp32",
        ),
        error(
            SP_C,
            word(op::PSEUDO_TRIGGER_COLLECTIVE, collective()),
            "field-value",
            (6, "update_mode"),
            "0x00",
            "0x13 (SEM_INC_COMPLETE)",
        ),
        error(
            POOL_C,
            rdma(EXTENDED_RDMA_DESC_GEN { dma_engine_mask: Imm(7), ..remote() }),
            "field-value",
            (24, "dma_engine_mask"),
            "7",
            "1, 2, 4, 8 or 16 of 16 bits",
        ),
        error(
            POOL_C,
            rdma(EXTENDED_RDMA_DESC_GEN { is_bidirectional: 1, ..remote() }),
            "field-value",
            (40, "is_bidirectional"),
            "1",
            "0",
        ),
        error(
            POOL_C,
            rdma(EXTENDED_RDMA_DESC_GEN { completion_info: Bits(1), ..remote() }),
            "field-value",
            (13, "completion_info"),
            "1",
            "0",
        ),
        error(
            POOL_C,
            rdma(EXTENDED_RDMA_DESC_GEN { dst_addr: Addr4(PSUM), ..remote() }),
            "memory-space",
            (32, "dst_addr"),
            "psum",
            "sbuf",
        ),
        error(
            SP_C,
            call(b""),
            "function-name",
            (12, "function_name"),
            "Some(\"\")",
            "1 to 32 printable characters, padded with zeros",
        ),
        error(
            SP_C,
            call(&[b'x'; 33]),
            "function-name",
            (12, "function_name"),
            &format!("Some(\"{}\")", "x".repeat(33)),
            "1 to 32 printable characters, padded with zeros",
        ),
        error(
            SP_C,
            word(op::PSEUDO_FUNCTION_BEGIN, PSEUDO_FUNCTION_BEGIN { return_addr_reg_lo: 64, ..begin() }),
            "register-number",
            (49, "return_addr_reg_lo"),
            "64",
            "0..63 or 128..131",
        ),
        error(
            SP_C,
            word(op::PSEUDO_FUNCTION_BEGIN, PSEUDO_FUNCTION_BEGIN { return_reset_semaphores: 2, ..begin() }),
            "field-value",
            (48, "return_reset_semaphores"),
            "2",
            "0 or 1",
        ),
    ]
}

fn list_cases() -> Vec<Case> {
    let list = |o| word(op::TEST_EVENT_SEM, o);
    let ids = |first: [u8; 3]| {
        let mut ids = [0; 16];
        ids[..3].copy_from_slice(&first);
        ids
    };
    let update = "an update of the mode's cells without an immediate";
    vec![
        error(
            SP_M,
            list(CTRL_TEST_ES { mode: 5, ..test_events() }),
            "field-value",
            (12, "mode"),
            "5",
            "0 to 4",
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { num_evt_sem: 0, evt_sem_ids: [0; 16], ..test_events() }),
            "field-value",
            (15, "num_evt_sem"),
            "0",
            "1 to 16",
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { evt_sem_ids: ids([40, 40, 0]), ..test_events() }),
            "field-value",
            (17, "evt_sem_ids"),
            "40",
            "an id that is not in the list yet",
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { evt_sem_ids: ids([40, 41, 42]), ..test_events() }),
            "field-value",
            (18, "evt_sem_ids"),
            "42",
            "0 behind the last id",
        ),
        error(
            SP_M,
            patch(list(test_events()), 33, &[70]),
            "register-number",
            (33, "value_registers"),
            "70",
            "0..63 or 128..131",
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { update_type: UpdateMode::SEM_WR_IMM_COMPLETE, ..test_events() }),
            "field-value",
            (13, "update_type"),
            "0x19",
            update,
        ),
        error(
            SP_M,
            list(CTRL_TEST_ES { mode: 3, ..test_events() }),
            "field-value",
            (13, "update_type"),
            "0x95",
            update,
        ),
    ]
}

fn compress_cases() -> Vec<Case> {
    let pair = |o| word(op::SPARSITY_COMPRESS, o);
    let tag = |o| word(op::SPARSITY_COMPRESS_TAG, o);
    vec![
        error(
            DVE_M,
            pair(S3D3_SC { op: 4, ..compress() }),
            "field-value",
            (36, "op"),
            "4",
            "8 (MIN), 9 (MAX), 32 (ABS_MIN) or 33 (ABS_MAX)",
        ),
        error(
            DVE_M,
            pair(S3D3_SC { out_struct_dtype: Dtype::UINT16, ..compress() }),
            "dtype",
            (33, "out_struct_dtype"),
            "uint16",
            "uint32",
        ),
        error(
            DVE_M,
            pair(S3D3_SC { num_active_channels: 100, ..compress() }),
            "field-value",
            (13, "transpose_src"),
            "1",
            "0 unless on 32, 64, 96 or 128 lanes",
        ),
        error(
            DVE_M,
            pair(S3D3_SC { transpose_src: 2, ..compress() }),
            "field-value",
            (13, "transpose_src"),
            "2",
            "0 or 1",
        ),
        error(
            DVE_M,
            pair(S3D3_SC {
                src: Tensor { num: [3, 32, 1], step: [1, 3, 0], ..line(0, 1) },
                dst: line(0x1000, 128),
                ..compress()
            }),
            "element-count",
            (26, "src"),
            "96",
            "groups of at least 4 elements",
        ),
        error(
            DVE_M,
            pair(S3D3_SC { dst: line(0x1000, 15), ..compress() }),
            "element-count",
            (58, "dst"),
            "15",
            "16",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { op_dim: Subdim::XYZ, ..compress_tag() }),
            "field-value",
            (37, "op_dim"),
            "4",
            "X or XY",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { out_tag_dtype: Dtype::UINT8, ..compress_tag() }),
            "dtype",
            (33, "out_tag_dtype"),
            "uint8",
            "uint16",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { src: line(0, 20), ..compress_tag() }),
            "field-value",
            (14, "packed_tags"),
            "1",
            "0 in groups of more than 16 elements",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { packed_tags: 2, tag_dst: line(0x2000, 4), ..compress_tag() }),
            "field-value",
            (14, "packed_tags"),
            "2",
            "0 or 1",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC {
                packed_tags: 0,
                out_tag_dtype: Dtype::UINT32,
                tag_dst: line(PSUM, 4),
                ..compress_tag()
            }),
            "memory-space",
            (52, "tag_dst"),
            "psum",
            "sbuf",
        ),
        error(
            DVE_M,
            tag(S2D2D2_SC { num_active_channels: 32, tag_dst: line(32 << 18, 1), ..compress_tag() }),
            "two-sources",
            (52, "tag_dst"),
            "quadrants 0 and 1",
            "one quadrant of sbuf",
        ),
    ]
}
