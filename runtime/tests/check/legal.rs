//! Legal words of every opcode with rules of its own; the cases break one field of them each.

use seqjit_runtime::isa::EngineId::{Act, Dve, Pe, Pool, Sp};
use seqjit_runtime::isa::Generation::{Cayman, Mariana, Maverick, Sunda};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Data4d, Dtype, Tensor, Word, op};

use crate::{Place, patch, word};

pub const PE_S: Place = Place(Sunda, Pe);
pub const PE_C: Place = Place(Cayman, Pe);
pub const ACT_C: Place = Place(Cayman, Act);
pub const DVE_S: Place = Place(Sunda, Dve);
pub const DVE_C: Place = Place(Cayman, Dve);
pub const DVE_V: Place = Place(Maverick, Dve);
pub const POOL_S: Place = Place(Sunda, Pool);
pub const POOL_C: Place = Place(Cayman, Pool);
pub const POOL_M: Place = Place(Mariana, Pool);
pub const POOL_V: Place = Place(Maverick, Pool);
pub const SP_C: Place = Place(Cayman, Sp);

/// PSUM partition 0.
pub const PSUM: u32 = 0x200_0000;

/// A contiguous operand of `n` elements.
pub fn line<const N: usize>(start: u32, n: u16) -> Tensor<N> {
    let mut tensor = Tensor { start: Addr4(start), step: [0; N], num: [1; N] };
    tensor.step[0] = 1;
    tensor.num[0] = n;
    tensor
}

pub fn tensor_tensor() -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(Dtype::FP32, Dtype::FP16),
        out_dtype: Dtype::FP16,
        op: AluOp::ADD,
        num_active_channels: 128,
        src0: line(PSUM, 64),
        src1: line(0x1000, 64),
        dst: line(0x2000, 64),
    }
}

/// An integer operator on POOL.
pub fn tensor_tensor_int() -> S3S3D3_TT {
    S3S3D3_TT {
        in0_in1_dtype: DtypePair::new(Dtype::INT32, Dtype::INT32),
        out_dtype: Dtype::INT32,
        op: AluOp::ADD_INT,
        src0: line(0, 64),
        ..tensor_tensor()
    }
}

/// The maximum over X of 4 rows of 128.
pub fn reduce() -> S4D4_TR {
    S4D4_TR {
        src: Tensor { start: Addr4(0), step: [1, 128, 0, 0], num: [128, 4, 1, 1] },
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 128,
        negated: 1,
        op: AluOp::MAX,
        op_dim: Subdim::X,
        mask_enable: 0,
        dst: line(0x8000, 4),
    }
}

/// An integer fold of POOL on SUNDA.
pub fn reduce_int() -> S4D4_TR {
    S4D4_TR { in_dtype: Dtype::INT32, out_dtype: Dtype::INT32, negated: 0, op: AluOp::ADD_INT, ..reduce() }
}

pub fn reduce_bf16() -> S4D4_TR {
    S4D4_TR { in_dtype: Dtype::BFLOAT16, op: AluOp::ADD, negated: 0, ..reduce() }
}

pub fn tensor_scalar() -> S3D3_TS {
    S3D3_TS {
        accumulator_cmd: AccumCmd::IDLE,
        src: line(0, 256),
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::BFLOAT16,
        num_active_channels: 128,
        imm0_src: ImmSrc::INSTRUCTION,
        op0: AluOp::SUBTRACT,
        op1: AluOp::MULT,
        reverse_operands: ReverseOps::FIRST,
        imm1_src: ImmSrc::PTR,
        imm0: Imm(0x4120_0000),
        imm1: Imm(0x2000),
        dst: line(0x1000, 256),
    }
}

/// The form that POOL evaluates.
pub fn rsqrt() -> S3D3_TS {
    S3D3_TS {
        op0: AluOp::RSQRT,
        op1: AluOp::BYPASS,
        imm1_src: ImmSrc::INSTRUCTION,
        imm0: Imm(0),
        imm1: Imm(0),
        reverse_operands: ReverseOps::NONE,
        ..tensor_scalar()
    }
}

pub fn copy() -> S4D4_TR {
    S4D4_TR {
        out_dtype: Dtype::FP32,
        negated: 0,
        op: AluOp::BYPASS,
        op_dim: Subdim::UNUSED,
        dst: line(0x8000, 512),
        ..reduce()
    }
}

pub fn cast() -> S4D4_TR {
    S4D4_TR { out_dtype: Dtype::BFLOAT16, ..copy() }
}

pub fn memset() -> D4_MR {
    D4_MR {
        dst_element_count: 64,
        dtype: Dtype::FP16,
        num_active_channels: 128,
        serialization_mode: 0,
        set_value: Imm(0x3C00),
        dst: line(0, 64),
    }
}

/// The identity matrix of chapter 04 section 8.5.
pub fn affine_select() -> S2D2_TS_AS {
    S2D2_TS_AS {
        num_active_channels: 128,
        in_out_dtype: DtypePair::new(Dtype::BFLOAT16, Dtype::BFLOAT16),
        fill_mode: 3,
        fill_reg: 61,
        mask: Data4d { base: 0, step: [1, 0, 0, 0], num: [128, 1, 1, 1] },
        src: line(0, 128),
        dst: line(0, 128),
        channel_multiplier: -1,
    }
}

pub fn activate() -> S3D3_AC {
    S3D3_AC {
        imm_src: ImmSrc::INSTRUCTION,
        scale_src: ImmSrc::INSTRUCTION,
        accumulator_cmd: AccumCmd::IDLE,
        bias_src_n: ImmSrcN::PTR,
        src: line(PSUM, 512),
        in_bias_dtype: DtypePair::new(Dtype::FP32, Dtype::FP32),
        out_dtype: Dtype::BFLOAT16,
        num_active_channels: 128,
        activation_func: 7,
        scale_value: Imm(0x3F80_0000),
        bias: Imm(0x4810),
        imm: Imm(0),
        dst: line(0x5000, 512),
    }
}

pub fn read_accumulator() -> D1_RD {
    D1_RD {
        dst_element_count: 1,
        dtype: Dtype::FP32,
        negated: 0,
        num_active_channels: 128,
        dst: line(0x5000, 1),
    }
}

pub fn ldweights_v2() -> S3_LW_V2 {
    S3_LW_V2 {
        src: Tensor { start: Addr4(0xFE), step: [-1, 0, 0], num: [128, 1, 1] },
        in_dtype: Dtype::BFLOAT16,
        fp32_mode: Fp32Mode::NONE,
        perf_opt: 0,
        quant_offset: [0; 2],
        num_active_rows: 128,
        num_active_cols: 128,
        row_grp: 0xF,
        col_grp: 0xF,
        xbus_sel: 0xF,
    }
}

pub fn ldweights() -> S3_LW_V3 {
    let v2 = ldweights_v2();
    S3_LW_V3 {
        src: v2.src,
        in_dtype: v2.in_dtype,
        fp32_mode: v2.fp32_mode,
        transpose_mode: 0,
        perf_opt: v2.perf_opt,
        quant_offset: v2.quant_offset,
        num_active_rows: v2.num_active_rows,
        num_active_cols: v2.num_active_cols,
        row_grp: v2.row_grp,
        col_grp: v2.col_grp,
        active_row_mode: 0,
        tag_weight_mode: 0,
    }
}

pub fn matmul_v2() -> S3D3_MM_V2 {
    S3D3_MM_V2 {
        src: line(0x4000, 512),
        in_dtype: Dtype::BFLOAT16,
        fp32_mode: Fp32Mode::NONE,
        perf_opt: 0,
        quant_offset: [0; 2],
        num_active_rows: 128,
        num_active_cols: 128,
        psum_accumulate_flags: PsumAcc(3),
        row_grp: 0xF,
        col_grp: 0xF,
        xbus_sel: 0x10,
        psum_zero_region: 0,
        dst: line(PSUM + 0x800, 512),
    }
}

pub fn matmul() -> S3D3_MM_V3 {
    let v2 = matmul_v2();
    S3D3_MM_V3 {
        src: v2.src,
        in_dtype: v2.in_dtype,
        fp32_mode: v2.fp32_mode,
        transpose_mode: 0,
        perf_opt: v2.perf_opt,
        num_active_rows: v2.num_active_rows,
        num_active_cols: v2.num_active_cols,
        out_dtype: Dtype::INVALID,
        psum_accumulate_flags: v2.psum_accumulate_flags,
        row_grp: v2.row_grp,
        col_grp: v2.col_grp,
        psum_zero_region: v2.psum_zero_region,
        dst: v2.dst,
    }
}

/// The MATMUL of a transposing pair: cells of two bytes.
pub fn matmul_transposing() -> S3D3_MM_V3 {
    S3D3_MM_V3 { transpose_mode: 1, src: line(0x4000, 128), dst: line(PSUM + 2, 128), ..matmul() }
}

pub fn write() -> CTRL_WR {
    CTRL_WR { wr_size0: 4, wr_size1: 4, addr0: 0x8010_0252_F038, addr1: 0x8010_0250_F038, data0: 2, data1: 2 }
}

pub fn mov() -> CTRL_MV {
    CTRL_MV {
        num_mov: 2,
        dtype: Dtype::UINT32,
        move_source: DataSrc::REGISTER,
        src_registers: Regs([128, 129, 0, 0, 0, 0, 0, 0]),
        dst_registers: Regs([4, 5, 0, 0, 0, 0, 0, 0]),
        immediate: [0; 8],
    }
}

pub fn branch() -> CTRL_BR {
    CTRL_BR {
        cmp_op: BranchCmp::EQ,
        dtype: Dtype::INT32,
        target_mode: BranchMode::RELATIVE,
        cmp_immediate: 0,
        cmp_reg0: 0,
        cmp_reg1: 0,
        target_reg_lo: 0,
        target_reg_hi: 0,
        br_immediate: 896,
    }
}

/// Loads the address-table base, as the pre-amble does.
pub fn load() -> MEM_2D {
    let mut data = [0; 32];
    data[..2].copy_from_slice(&[130, 131]);
    MEM_2D {
        dtype: Dtype::UINT32,
        src_datasrc: DataSrc::REGISTER,
        num_elem: [2, 1],
        start_addr: Addr8(0x8005_C036_5000),
        step_elem: [1, 0],
        data,
    }
}

pub fn store() -> MEM_2D {
    MEM_2D { src_datasrc: DataSrc::IMMEDIATE, step_elem: [32768, 0], data: [7; 32], ..load() }
}

/// The same of a variable.
pub fn pseudo_load() -> PSEUDO_MEM_2D {
    let MEM_2D { dtype, src_datasrc, num_elem, step_elem, data, .. } = load();
    PSEUDO_MEM_2D { dtype, src_datasrc, num_elem, var_id: 9, var_offset: 0x100, step_elem, data }
}

pub fn pseudo_store() -> PSEUDO_MEM_2D {
    PSEUDO_MEM_2D { src_datasrc: DataSrc::IMMEDIATE, data: [7; 32], ..pseudo_load() }
}

pub fn direct2d() -> DMA_DIRECT2D {
    DMA_DIRECT2D {
        dma_configs: 0,
        semaphore: 24,
        sem_increment: 16,
        compute_op: DgeComputeOp::NONE,
        src_start_addr: Addr8::table(0, 0),
        src_step_elem: [2048, 1],
        src_num_elem: [128, 1],
        src_elem_size: 2048,
        src_bound_reg: BoundReg(0),
        dst_bound_reg: BoundReg(0),
        dst_start_addr: Addr8(0x8020_0003_67F8),
        dst_step_elem: [0x4_0000, 1],
        dst_num_elem: [128, 1],
        dst_elem_size: 2048,
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
    }
}

/// A generated DMA that converts: each end counts its own bytes.
pub fn pseudo_direct2d() -> PSEUDO_DMA_DIRECT2D {
    let real = direct2d();
    PSEUDO_DMA_DIRECT2D {
        dma_configs: real.dma_configs,
        semaphore: real.semaphore,
        sem_increment: real.sem_increment,
        dge_op: DgeOpcode::DIRECT2D,
        src_start_addr: Addr8::variable(3, 512),
        src_step_elem: real.src_step_elem,
        src_num_elem: real.src_num_elem,
        src_elem_size: real.src_elem_size,
        src_bound_reg: real.src_bound_reg,
        dst_bound_reg: real.dst_bound_reg,
        dst_start_addr: Addr8::variable(0, 34896),
        dst_step_elem: real.dst_step_elem,
        dst_num_elem: real.dst_num_elem,
        dst_elem_size: 1024,
        in_dtype: real.in_dtype,
        out_dtype: Dtype::BFLOAT16,
    }
}

pub fn trigger(name: &str) -> PSEUDO_DMA_TRIGGER {
    let mut padded = [0; 32];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    PSEUDO_DMA_TRIGGER { dma_queue_name: Name(padded), use_raw_count: 0, block_id_or_count: 0 }
}

pub fn pool_config() -> MODIFY_POOL_CONFIG {
    MODIFY_POOL_CONFIG { modify_op: 1, core_mask: 0xFF, soc_addr: 0, library_index: 0, library_size: 65536 }
}

/// Legal words of all opcodes.
pub fn words() -> Vec<(&'static str, Place, Word)> {
    [
        basic_words(),
        crate::legal_elementwise::words(),
        crate::vector::words(),
        crate::pool::words(),
        crate::transfers::words(),
        crate::array::words(),
        crate::array_later::words(),
    ]
    .concat()
}

/// The ones above, and border cases of single rules.
fn basic_words() -> Vec<(&'static str, Place, Word)> {
    let register = Tensor { start: Addr4::register(7), ..line(0, 64) };
    let quadrant_3 = |n| line::<3>(0x180_0000, n);
    vec![
        ("41", DVE_C, word(op::TENSOR_TENSOR_ARITH_OP, tensor_tensor())),
        (
            "41 with a register address",
            DVE_C,
            word(
                op::TENSOR_TENSOR_ARITH_OP,
                S3S3D3_TT { src0: register, src1: line(PSUM, 64), ..tensor_tensor() },
            ),
        ),
        (
            "41 in the last quadrant",
            DVE_C,
            word(
                op::TENSOR_TENSOR_ARITH_OP,
                S3S3D3_TT {
                    num_active_channels: 32,
                    src0: quadrant_3(64),
                    src1: quadrant_3(64),
                    dst: quadrant_3(64),
                    ..tensor_tensor()
                },
            ),
        ),
        ("41 integer", POOL_C, word(op::TENSOR_TENSOR_ARITH_OP, tensor_tensor_int())),
        (
            "41 of 64 bits",
            POOL_C,
            word(
                op::TENSOR_TENSOR_ARITH_OP,
                S3S3D3_TT {
                    in0_in1_dtype: DtypePair::new(Dtype::INT64, Dtype::INT64),
                    out_dtype: Dtype::INT64,
                    ..tensor_tensor_int()
                },
            ),
        ),
        ("42", DVE_C, word(op::TENSOR_REDUCE_ARITH_OP, reduce())),
        (
            "42 over all dimensions",
            DVE_C,
            word(
                op::TENSOR_REDUCE_ARITH_OP,
                S4D4_TR { op_dim: Subdim::XYZW, dst: line(0x8000, 1), ..reduce() },
            ),
        ),
        ("42 integer", POOL_S, word(op::TENSOR_REDUCE_ARITH_OP, reduce_int())),
        ("43", DVE_C, word(op::TENSOR_SCALAR_ARITH_OP, tensor_scalar())),
        ("43 rsqrt", POOL_C, word(op::TENSOR_SCALAR_ARITH_OP, rsqrt())),
        (
            "43 on ACT",
            ACT_C,
            word(
                op::TENSOR_SCALAR_ARITH_OP,
                S3D3_TS { op0: AluOp::MULT, op1: AluOp::ADD, ..tensor_scalar() },
            ),
        ),
        ("46", ACT_C, word(op::COPY, copy())),
        ("47", POOL_C, word(op::CAST, cast())),
        ("48", DVE_S, word(op::RECIPROCAL, copy())),
        ("49", DVE_S, word(op::MEMSET, memset())),
        ("8C", DVE_S, word(op::TENSOR_REDUCE_ADD_BF16, reduce_bf16())),
        ("92", POOL_S, word(op::TENSOR_SCALAR_AFFINE_SELECT, affine_select())),
        ("21", ACT_C, word(op::ACTIVATE, activate())),
        ("24", ACT_C, word(op::ACTIVATION_READ_ACCUMULATOR, read_accumulator())),
        (
            "21 with an unused dummy pointer",
            ACT_C,
            word(op::ACTIVATE, S3D3_AC { imm_src: ImmSrc::PTR, imm: Imm(0xFFFF_FFFF), ..activate() }),
        ),
        ("01 of SUNDA", PE_S, word(op::LDWEIGHTS, ldweights_v2())),
        ("01", PE_C, word(op::LDWEIGHTS, ldweights())),
        (
            "01 with tags",
            PE_C,
            word(op::LDWEIGHTS, S3_LW_V3 { tag_weight_mode: 1, src: line(0, 128), ..ldweights() }),
        ),
        ("02 of SUNDA", PE_S, word(op::MATMUL, matmul_v2())),
        ("02", PE_C, word(op::MATMUL, matmul())),
        ("02 transposing", PE_C, word(op::MATMUL, matmul_transposing())),
        (
            "02 DoubleRow",
            PE_C,
            word(
                op::MATMUL,
                S3D3_MM_V3 { in_dtype: Dtype::FP8_EXP4, perf_opt: 1, src: line(0, 1024), ..matmul() },
            ),
        ),
        (
            "02 in the last row group",
            PE_C,
            word(
                op::MATMUL,
                S3D3_MM_V3 { row_grp: 8, num_active_rows: 32, src: quadrant_3(512), ..matmul() },
            ),
        ),
        ("A0", SP_C, patch(Word::new(op::EVENT_SEMAPHORE), 32, &[0x81, 3, 0x15, 4, 63])),
        ("A2", SP_C, patch(Word::new(op::DRAIN), 40, &[1])),
        ("A5", PE_C, word(op::WRITE, write())),
        ("A6", SP_C, patch(patch(Word::new(op::NOTIFY), 36, &[2, 0, 0, 1]), 2, &[9])),
        ("A7", POOL_S, word(op::MOVE, mov())),
        (
            "A7 immediate, destination in the source slots",
            POOL_S,
            word(
                op::MOVE,
                CTRL_MV {
                    move_source: DataSrc::IMMEDIATE,
                    src_registers: Regs([4, 5, 0, 0, 0, 0, 0, 0]),
                    ..mov()
                },
            ),
        ),
        ("A9", PE_C, word(op::COMPARE_BRANCH, branch())),
        (
            "A9 ALWAYS",
            PE_C,
            word(
                op::COMPARE_BRANCH,
                CTRL_BR { cmp_op: BranchCmp::ALWAYS, dtype: Dtype::INVALID, cmp_reg0: 64, ..branch() },
            ),
        ),
        ("AA", SP_C, word(op::TENSOR_LOAD, load())),
        (
            "AA from a variable",
            SP_C,
            word(op::TENSOR_LOAD, MEM_2D { start_addr: Addr8::variable(9, 1), ..load() }),
        ),
        ("AB", DVE_C, word(op::TENSOR_STORE, store())),
        ("B0", SP_C, patch(Word::new(op::EVENT_SEMAPHORE_RANGE_CLEAR), 12, &[1, 54, 54])),
        ("B1", SP_C, patch(Word::new(op::SET_ORDERING_MODE), 12, &[1])),
        ("B8", POOL_C, word(op::DMAMEMCPY, direct2d())),
        (
            "B8 with a bound register",
            POOL_C,
            word(op::DMAMEMCPY, DMA_DIRECT2D { dst_bound_reg: BoundReg(0xC5), ..direct2d() }),
        ),
        (
            "B8 that moves nothing",
            POOL_C,
            word(op::DMAMEMCPY, DMA_DIRECT2D { src_num_elem: [0, 1], dst_num_elem: [128, 0], ..direct2d() }),
        ),
        ("D4", SP_C, word(op::PSEUDO_DMA_DIRECT2D, pseudo_direct2d())),
        ("C1", SP_C, word(op::PSEUDO_DMATRIGGER, trigger("qSPIO0"))),
        ("95", POOL_C, word(op::MODIFY_POOL_CONFIG, pool_config())),
        ("CD", DVE_C, word(op::PSEUDO_TENSOR_STORE, pseudo_store())),
        ("CE", SP_C, word(op::PSEUDO_TENSOR_LOAD, pseudo_load())),
        ("CC whatever its payload", SP_C, patch(Word::new(op::PSEUDO_BRANCH_LABEL), 12, &[0xFF; 52])),
    ]
}
