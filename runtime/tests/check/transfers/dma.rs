//! Copies, transposes and transfers by index.

use super::*;

pub(super) fn indirect() -> DMA_INDIRECT1D {
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

pub(super) fn transpose() -> DMA_DIRECT2D_XPOSE {
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

pub(super) fn gather_transpose() -> DMA_GATHER_XPOSE {
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

pub(super) fn copy2d() -> DMA_COPY2D {
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

pub(super) fn indirect_cases() -> Vec<Case> {
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

pub(super) fn tile_cases() -> Vec<Case> {
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

pub(super) fn copy_cases() -> Vec<Case> {
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
