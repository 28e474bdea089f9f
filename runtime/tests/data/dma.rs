//! Generated DMA by index, transposing, and DMA_MEMCPY2 (chapter 06 sections 4 and 6).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Word, op};
use seqjit_runtime::machine::{Machine, MachineOptions};

use crate::support::*;

const POOL: EngineId = EngineId::Pool;
const TABLE: u64 = 0x10_0000_0000;
const OUT: u64 = 0x10_0001_0000;

/// A table whose word k is 0x100 + k, and an output of zeros; both of `n` words.
fn with_table(generation: Generation, n: u32) -> Machine {
    let table: Vec<u32> = (0..n).map(|k| 0x100 + k).collect();
    let buffers = vec![buffer("table", TABLE, &table), buffer("out", OUT, &vec![0; n as usize])];
    cluster(generation, MachineOptions::default(), &[Setup::default()], buffers)
}

fn out(machine: &Machine) -> Vec<u32> {
    buffer_words(machine, 1)
}

/// Gathers rows of two words: `n` of them, indices in two partitions from byte 0x40.
fn indirect(n: u16) -> DMA_INDIRECT1D {
    DMA_INDIRECT1D {
        semaphore: 24,
        sem_increment: 16,
        idx_num_active_channels: 2,
        flags: DmaIndirectFlags(0),
        src_start_addr: Addr8(TABLE),
        src_step_elem: 8,
        src_num_elem: n,
        src_elem_size: 8,
        dst_start_addr: Addr8(OUT),
        dst_step_elem: 8,
        dst_num_elem: n,
        dst_elem_size: 8,
        src_idx_start_addr: Addr4(0x40),
        dst_idx_start_addr: Addr4(0x60),
        in_dtype: Dtype::UINT32,
        out_dtype: Dtype::UINT32,
        src_idx_bound_reg: BoundReg(0),
        dst_idx_bound_reg: BoundReg(0),
        compute_op: DgeComputeOp::NONE,
        dma_configs: 0,
    }
}

/// Index k lies in partition k mod 2, slot k div 2 (D06-4).
fn put_indices(machine: &mut Machine, byte: usize, indices: &[u32]) {
    for (k, index) in indices.iter().enumerate() {
        put(machine, k % 2, byte + 4 * (k / 2), &[*index]);
    }
}

fn run_word<L: seqjit_runtime::isa::Layout>(machine: &mut Machine, opcode: u8, operands: L) {
    run(machine, POOL, &[word(opcode, operands)]).unwrap();
}

#[test]
fn rows_are_gathered_by_index() {
    let mut machine = with_table(Generation::Sunda, 32);
    put_indices(&mut machine, 0x40, &[5, 0, 5]);
    run_word(&mut machine, op::DMA_INDIRECT, indirect(3));
    assert_eq!(out(&machine)[..8], [0x10A, 0x10B, 0x100, 0x101, 0x10A, 0x10B, 0, 0]);
    assert_eq!(machine.cores[0].sync.semaphores[24], 16);
}

#[test]
fn rows_are_scattered_and_added_in_order() {
    let mut machine = with_table(Generation::Cayman, 32);
    put_indices(&mut machine, 0x60, &[3, 1, 3]);
    let scatter = DMA_INDIRECT1D {
        flags: DmaIndirectFlags(1 | 8),
        compute_op: DgeComputeOp::ADD,
        sem_increment: 0,
        ..indirect(3)
    };
    run_word(&mut machine, op::DMA_INDIRECT, scatter);
    // rows 0 and 2 go to place 3, row 1 to place 1
    assert_eq!(out(&machine)[..8], [0, 0, 0x102, 0x103, 0, 0, 0x204, 0x206]);
    assert_eq!(machine.cores[0].sync.semaphores[24], 0);
    assert!(machine.warnings.is_empty(), "{:?}", machine.warnings);
    run_word(&mut machine, op::DMA_INDIRECT, DMA_INDIRECT1D { flags: DmaIndirectFlags(1), ..scatter });
    assert!(machine.warnings[0].contains("scatters twice"), "{:?}", machine.warnings);
}

/// D06-6: the bound is the largest index.
#[test]
fn an_index_beyond_its_bound_moves_nothing() {
    let set_bound = {
        let mut data = [0; 8];
        data[0] = 5;
        let operands = CTRL_MV {
            num_mov: 1,
            dtype: Dtype::UINT32,
            move_source: DataSrc::IMMEDIATE,
            src_registers: Regs([0; 8]),
            dst_registers: Regs([7, 0, 0, 0, 0, 0, 0, 0]),
            immediate: data,
        };
        word(op::MOVE, operands)
    };
    for (flags, bound, warns) in [(4, 0x87, true), (4, 0xC7, false), (0, 0x87, false)] {
        let mut machine = with_table(Generation::Cayman, 32);
        put_indices(&mut machine, 0x40, &[5, 6]);
        let bounded = DMA_INDIRECT1D {
            flags: DmaIndirectFlags(flags),
            src_idx_bound_reg: BoundReg(bound),
            ..indirect(2)
        };
        run(&mut machine, POOL, &[set_bound, word(op::DMA_INDIRECT, bounded)]).unwrap();
        assert_eq!(out(&machine)[..4], [0x10A, 0x10B, 0, 0]);
        assert_eq!(machine.warnings.len(), usize::from(warns), "{:?}", machine.warnings);
    }
}

#[test]
fn an_index_outside_the_table_faults_before_any_effect() {
    let mut machine = with_table(Generation::Cayman, 32);
    put_indices(&mut machine, 0x40, &[0, 16]);
    let fault = run(&mut machine, POOL, &[word(op::DMA_INDIRECT, indirect(2))]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Memory { .. }), "{fault}");
    assert_eq!(out(&machine), [0; 32]);
}

/// D06-15: every column of a tile becomes sixteen packed elements.
#[test]
fn tiles_are_transposed() {
    let mut machine = with_table(Generation::Cayman, 256);
    // two tiles of 16 rows by 2 columns, rows 16 bytes apart, the second tile 8 bytes on
    let operands = DMA_DIRECT2D_XPOSE {
        src_bound_reg: BoundReg(0),
        dst_bound_reg: BoundReg(0),
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        src_start_addr: Addr8(TABLE),
        src_step_elem: [8, 0],
        src_num_elem: [2, 1],
        tile_src_row_step: 16,
        dst_start_addr: Addr8(OUT),
        dst_step_elem: [64, 128],
        dst_num_elem: [2, 2],
        tile_src_rows: 16,
        tile_src_cols: 2,
        semaphore: 30,
        dma_configs: 0,
    };
    run_word(&mut machine, op::DMA_TRANSPOSE, operands);
    let found = out(&machine);
    for column in 0..4 {
        let expected: Vec<u32> = (0..16).map(|row| 0x100 + 4 * row + column).collect();
        assert_eq!(found[16 * column as usize..][..16], expected, "column {column}");
    }
    assert_eq!(machine.cores[0].sync.semaphores[30], 16);
}

/// Chapter 06 section 6.5: dst[q][k] = src[idx(k)][q].
#[test]
fn gathered_rows_become_columns() {
    let mut machine = with_table(Generation::Cayman, 256);
    let indices: Vec<u32> = (0..16).map(|k| 15 - k).collect();
    put_indices(&mut machine, 0x40, &indices);
    // rows of two parts of four bytes, the parts 512 bytes apart
    let operands = DMA_GATHER_XPOSE {
        semaphore: 30,
        dma_configs: 0,
        idx_num_active_channels: 2,
        src_idx_bound_reg: BoundReg(0),
        src_start_addr: Addr8(TABLE),
        src_step_elem: [512, 4],
        src_num_elem: [2, 16],
        src_idx_start_addr: Addr4(0x40),
        dst_start_addr: Addr8(OUT),
        dst_bound_reg: BoundReg(0),
        dst_step_elem_1: 32,
        dst_num_elem: [16, 4],
        elem_size: 4,
        dtype: DtypePair::new(Dtype::BFLOAT16, Dtype::BFLOAT16),
        flags: 1,
    };
    run_word(&mut machine, op::DMA_GATHER_TRANSPOSE, operands);
    let halves: Vec<u16> = out(&machine).iter().flat_map(|w| [*w as u16, (w >> 16) as u16]).collect();
    let source = |row: usize, q: usize| {
        let word = 0x100 + (row + 128 * (q / 2)) as u32;
        if q.is_multiple_of(2) { word as u16 } else { (word >> 16) as u16 }
    };
    for q in 0..4 {
        for k in 0..16 {
            assert_eq!(halves[16 * q + k], source(15 - k, q), "row {q} column {k}");
        }
    }
    assert_eq!(machine.cores[0].sync.semaphores[30], 16);
}

fn copy2d(wait_sema_value: u32) -> DMA_COPY2D {
    DMA_COPY2D {
        wait_sema_value,
        wait_sema_idx: 9,
        wait_sema_mode: WaitMode::SEM_GE_IMM,
        dma_engines: Bits(0),
        dma_flags: Bits(0),
        addr_mode: Bits(0x10),
        sema_update_mode: Bits(0x11),
        rd_done_sema_update_idx: 20,
        src_start_addr: Addr8(TABLE + 8),
        src_step_elem: [16, 0],
        src_num_elem: [3, 1],
        src_elem_size: 4,
        wr_done_sema_update_idx: 21,
        // registers 4 and 5
        dst_start_addr: Addr8(4),
        dst_step_elem: [4, 0],
        dst_num_elem: [3, 1],
        dst_elem_size: 4,
        remote_core_id: 0,
    }
}

fn set_registers(low: u32, high: u32) -> Word {
    let operands = CTRL_MV {
        num_mov: 2,
        dtype: Dtype::UINT32,
        move_source: DataSrc::IMMEDIATE,
        src_registers: Regs([0; 8]),
        dst_registers: Regs([4, 5, 0, 0, 0, 0, 0, 0]),
        immediate: [low, high, 0, 0, 0, 0, 0, 0],
    };
    word(op::MOVE, operands)
}

#[test]
fn the_second_copy_waits_and_counts_both_ends() {
    let mut machine = with_table(Generation::Maverick, 32);
    let program = [set_registers(OUT as u32, (OUT >> 32) as u32), word(op::DMA_MEMCPY2, copy2d(0))];
    run(&mut machine, POOL, &program).unwrap();
    assert_eq!(out(&machine)[..4], [0x102, 0x106, 0x10A, 0]);
    assert_eq!(machine.cores[0].sync.semaphores[20..22], [1, 1]);

    let mut machine = with_table(Generation::Maverick, 32);
    let program = [set_registers(OUT as u32, (OUT >> 32) as u32), word(op::DMA_MEMCPY2, copy2d(1))];
    run(&mut machine, POOL, &program).unwrap();
    assert_eq!(out(&machine), [0; 32]);
    assert_eq!(unfinished(&machine), [(0, POOL)]);
}
