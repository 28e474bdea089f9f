//! Words that break a generic rule, of opcodes with and without rules of their own.

use seqjit_runtime::isa::EngineId::{Act, Dve, Pe, Pool};
use seqjit_runtime::isa::Generation::{Cayman, Mariana, Maverick, Sunda};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, Word, op};

use crate::array::seed;
use crate::array_later::{mx_weights, tile_product};
use crate::legal::*;
use crate::legal_elementwise::{grad_accumulate2, scan, tensor_scalar_bits};
use crate::pool::{dequantize, indirect};
use crate::transfers::{collective, triggered};
use crate::vector::{get_state, set_state};
use crate::{Case, Place, error, patch, unsupported, warning, word};

pub fn cases() -> Vec<Case> {
    [header(), opcodes(), fields(), addresses()].into_iter().flatten().collect()
}

fn header() -> Vec<Case> {
    let nop = Word::new(op::NOP);
    let register = "a register 0..63, other bytes zero";
    vec![
        error(SP_C, Word::new(0x97), "opcode", (0, "opcode"), "0x97", "an opcode of cayman"),
        error(SP_C, Word::new(op::TEST_EVENT_SEM), "opcode", (0, "opcode"), "0xb4", "an opcode of cayman"),
        error(SP_C, patch(nop, 1, &[0x20]), "word-length", (1, "inst_word_len"), "0x20", "0x10"),
        warning(SP_C, patch(nop, 2, &[2]), "debug-command", (2, "debug_cmd"), "2", "0, 1, 3, 5, 7 or 9"),
        error(
            SP_C,
            patch(nop, 4, &[8]),
            "wait-mode",
            (4, "wait_mode"),
            "0x08",
            "a wait mode of the generation",
        ),
        // the forms with an offset exist on MAVERICK only
        error(
            SP_C,
            patch(nop, 4, &[0x91]),
            "wait-mode",
            (4, "wait_mode"),
            "0x91",
            "a wait mode of the generation",
        ),
        warning(
            SP_C,
            patch(nop, 4, &[0xFE]),
            "wait-unordered",
            (4, "wait_mode"),
            "0xfe",
            "NONE, as which it runs",
        ),
        error(SP_C, patch(nop, 6, &[6]), "update-mode", (6, "update_mode"), "0x06", "an update mode"),
        error(SP_C, patch(nop, 6, &[0xFF]), "update-mode", (6, "update_mode"), "0xff", "an update mode"),
        error(
            SP_C,
            patch(nop, 4, &[0x85, 3, 0, 0, 64]),
            "register-operand",
            (8, "semaphore_value"),
            "0x40",
            register,
        ),
        // one value serves wait and update, so it is one finding
        error(
            SP_C,
            patch(nop, 4, &[0x81, 3, 0x95, 4, 1, 1]),
            "register-operand",
            (8, "semaphore_value"),
            "0x101",
            register,
        ),
        error(
            Place(Maverick, Act),
            patch(nop, 4, &[0x92, 3, 0, 0, 64, 0xFF, 0xFF, 0xFF]),
            "register-operand",
            (8, "semaphore_value"),
            "0xffffff40",
            register,
        ),
        error(
            SP_C,
            patch(Word::new(op::EVENT_SEMAPHORE), 34, &[0x89, 0, 0, 0, 0, 0, 0, 1]),
            "register-operand",
            (40, "events_extended.update_value"),
            "0x100",
            register,
        ),
        error(
            SP_C,
            patch(Word::new(op::EVENT_SEMAPHORE), 32, &[0x0D]),
            "wait-mode",
            (32, "events_extended.wait_mode"),
            "0x0d",
            "a wait mode of the generation",
        ),
        error(
            SP_C,
            patch(Word::new(op::EVENT_SEMAPHORE), 34, &[0x10]),
            "update-mode",
            (34, "events_extended.update_mode"),
            "0x10",
            "an update mode",
        ),
    ]
}

fn opcodes() -> Vec<Case> {
    let opcode = (0, "opcode");
    vec![
        error(
            POOL_C,
            word(op::LDWEIGHTS, ldweights()),
            "engine",
            opcode,
            "LDWEIGHTS in the POOL stream",
            "PE",
        ),
        error(
            Place(Sunda, Act),
            word(
                op::TENSOR_SCALAR_ARITH_OP,
                S3D3_TS { op0: AluOp::MULT, op1: AluOp::ADD, ..tensor_scalar() },
            ),
            "engine",
            opcode,
            "TENSOR_SCALAR_ARITH_OP in the ACT stream",
            "POOL, DVE",
        ),
        error(
            DVE_S,
            word(op::DVE_READ_ACCUMULATOR, read_accumulator()),
            "dve-program",
            opcode,
            "DVE_READ_ACCUMULATOR",
            "an opcode with a DVE program",
        ),
        error(
            DVE_C,
            word(op::BATCH_NORM_GRAD_ACCUMULATE2, grad_accumulate2()),
            "dve-program",
            opcode,
            "BATCH_NORM_GRAD_ACCUMULATE2",
            "an opcode with a DVE program",
        ),
        error(
            POOL_S,
            word(op::TENSOR_DEQUANTIZE, dequantize()),
            "no-kernel",
            opcode,
            "TENSOR_DEQUANTIZE on sunda",
            "a generation with a kernel",
        ),
        error(
            POOL_S,
            Word::new(op::EXTENDED_INST),
            "no-kernel",
            opcode,
            "EXTENDED_INST on sunda",
            "a generation with a bridge",
        ),
        unsupported(
            PE_C,
            Word::new(op::PE_REG_WRITE),
            "opcode-refused",
            opcode,
            "PE_REG_WRITE",
            "a known opcode: payload layout not recovered",
        ),
        unsupported(
            POOL_S,
            word(op::RAND_GET_STATE, get_state()),
            "opcode-refused",
            opcode,
            "RAND_GET_STATE on sunda",
            "a generation with a known body",
        ),
        unsupported(
            POOL_S,
            word(op::RAND_SET_STATE, set_state()),
            "opcode-refused",
            opcode,
            "RAND_SET_STATE on sunda",
            "a generation with a known body",
        ),
        unsupported(
            Place(Maverick, Pe),
            word(op::PE_MANAGE_SEED, seed()),
            "opcode-refused",
            opcode,
            "PE_MANAGE_SEED on maverick",
            "a generation with a known body",
        ),
        error(
            DVE_C,
            word(op::RAND_SET_STATE, set_state()),
            "engine",
            opcode,
            "RAND_SET_STATE in the DVE stream",
            "POOL",
        ),
    ]
}

fn fields() -> Vec<Case> {
    let refused = "field-refused";
    let mut cases = vec![
        error(
            DVE_C,
            patch(word(op::TENSOR_CUMULATIVE_ARITH_OP, scan()), 37, &[1]),
            "enum-member",
            (37, "op_dim"),
            "0x01",
            "a member of Subdim",
        ),
        error(
            SP_C,
            word(op::COMPARE_BRANCH, CTRL_BR { target_mode: BranchMode(5), ..branch() }),
            "enum-member",
            (14, "target_mode"),
            "0x05",
            "a member of BranchMode",
        ),
        error(
            DVE_C,
            patch(word(op::COPY, copy()), 33, &[0x10]),
            "dtype-exists",
            (33, "out_dtype"),
            "0x10",
            "a dtype of cayman",
        ),
        error(
            Place(Mariana, Dve),
            patch(word(op::COPY, copy()), 33, &[0x17]),
            "dtype-exists",
            (33, "out_dtype"),
            "0x17",
            "a dtype of mariana",
        ),
        error(
            DVE_C,
            word(op::TENSOR_TENSOR_ARITH_OP, S3S3D3_TT { op: AluOp::ABS_MAX, ..tensor_tensor() }),
            "alu-exists",
            (14, "op"),
            "0x20",
            "an ALU operator of cayman",
        ),
        unsupported(
            DVE_C,
            patch(word(op::TENSOR_SCALAR_BITVEC_OP, tensor_scalar_bits()), 36, &[0x1C]),
            "alu-refused",
            (36, "op0"),
            "CRC32",
            "an operator with a known polynomial",
        ),
        error(ACT_C, patch(word(op::COPY, copy()), 41, &[5]), "reserved-byte", (41, "reserved"), "0x05", "0"),
        error(
            SP_C,
            patch(patch(Word::new(op::ALU_OP), 13, &[8]), 63, &[1]),
            "reserved-byte",
            (63, "reserved"),
            "0x01",
            "0",
        ),
        unsupported(
            SP_C,
            patch(Word::new(op::DRAIN), 40, &[2]),
            refused,
            (40, "drain_flag"),
            "0x2",
            "0 or 1",
        ),
        unsupported(
            DVE_C,
            patch(Word::new(op::LOAD_PARAMETER_RAM), 12, &[2]),
            refused,
            (12, "param_ram_offset"),
            "0x2",
            "a multiple of 4 up to 0x3e0",
        ),
        unsupported(
            Place(Cayman, Pool),
            patch(Word::new(op::EXTENDED_INST), 12, &[7]),
            refused,
            (12, "extended_opcode"),
            "0x7",
            "0, 2, 8 or 9",
        ),
        unsupported(
            Place(Maverick, Pe),
            patch(word(op::MATMUL, tile_product()), 39, &[0x04]),
            refused,
            (39, "flags"),
            "0x4",
            "seed_mode 0",
        ),
        unsupported(
            Place(Maverick, Pool),
            patch(Word::new(op::DMA_MEMCPY2), 12, &[0x20]),
            refused,
            (12, "addr_mode"),
            "0x20",
            "destination mode 0 or 1",
        ),
        unsupported(
            SP_C,
            patch(Word::new(op::MOVE_SHAPE), 13, &[1, 1]),
            refused,
            (14, "shape_reg_type"),
            "0x1",
            "0",
        ),
        unsupported(
            SP_C,
            patch(Word::new(op::PSEUDO_INST), 12, &[2]),
            refused,
            (12, "pseudo_opcode"),
            "0x2",
            "1 (EXIT_EXECUTION)",
        ),
        unsupported(
            SP_C,
            patch(triggered(collective()), 32, &[8]),
            refused,
            (32, "ctype"),
            "0x8",
            "0, 1, 4 or 7",
        ),
    ];
    let payload = [
        (ACT_C, op::ACTIVATION_TABLE_LOAD, 36),
        (SP_C, op::HALT, 12),
        (SP_C, op::DRAIN, 41),
        (SP_C, op::INSTRUCTION_FLUSH, 63),
        (SP_C, op::NOP, 16),
        (SP_C, op::NOTIFY, 38),
        (SP_C, op::WRITE, 48),
    ];
    cases.extend(payload.map(|(place, opcode, at)| {
        let base = match opcode {
            op::NOTIFY => patch(Word::new(opcode), 39, &[1]),
            op::WRITE => word(opcode, write()),
            _ => Word::new(opcode),
        };
        unsupported(place, patch(base, at, &[1]), "payload-unknown", (at, "payload"), "0x01", "0")
    }));
    cases
}

fn addresses() -> Vec<Case> {
    let at = |marker: u32| {
        word(
            op::TENSOR_TENSOR_ARITH_OP,
            S3S3D3_TT {
                src1: seqjit_runtime::isa::Tensor { start: Addr4(marker), ..line(0, 64) },
                ..tensor_tensor()
            },
        )
    };
    let start = (32, "src1");
    let register = "a register 0..63, other bytes zero";
    let dma = |src: u64| word(op::DMAMEMCPY, DMA_DIRECT2D { src_start_addr: Addr8(src), ..direct2d() });
    let dma_start = (16, "src_start_addr");
    vec![
        error(DVE_C, at(0x6000_0000), "address-form", start, "0x60000000", "a form of an on-chip address"),
        error(DVE_C, at(0x8000_0040), "address-form", start, "0x80000040", register),
        error(DVE_C, at(0x8000_0100), "address-form", start, "0x80000100", register),
        unsupported(
            DVE_C,
            at(0x4000_0000),
            "address-refused",
            start,
            "0x40000000",
            "a form without a shape register",
        ),
        unsupported(
            DVE_C,
            at(0xC000_0001),
            "address-refused",
            start,
            "0xc0000001",
            "a form without a shape register",
        ),
        unsupported(
            DVE_C,
            at(0x2000_0000),
            "address-refused",
            start,
            "0x20000000",
            "a form without an index list",
        ),
        unsupported(
            DVE_C,
            at(0xA000_0001),
            "address-refused",
            start,
            "0xa0000001",
            "a form without an index list",
        ),
        // INDIRECT_COPY is the one word with an index list
        error(
            POOL_C,
            patch(word(op::INDIRECT_COPY, indirect()), 12, &[0, 0, 0, 0]),
            "address-form",
            (12, "src"),
            "0x00000000",
            "the address of an index list",
        ),
        unsupported(
            POOL_C,
            patch(word(op::INDIRECT_COPY, indirect()), 12, &[0, 0, 0, 0x20, 0, 0, 0, 0x40]),
            "address-refused",
            (16, "src"),
            "0x40000000",
            "a form without a shape register",
        ),
        // data and scales of an MX operand
        error(
            Place(Mariana, Pe),
            patch(word(op::LDWEIGHTS_MX, mx_weights()), 19, &[0xE0]),
            "address-form",
            (16, "src"),
            "0xe0001000",
            "a form of an on-chip address",
        ),
        unsupported(
            Place(Mariana, Pe),
            patch(word(op::LDWEIGHTS_MX, mx_weights()), 23, &[0x20]),
            "address-refused",
            (20, "src"),
            "0x20002000",
            "a form without an index list",
        ),
        error(
            POOL_C,
            dma(0x1001_0000_0000_0000),
            "address-form",
            dma_start,
            "0x1001000000000000",
            "reserved bytes of the address form zero",
        ),
        unsupported(
            POOL_C,
            dma(0x4000_0000_0000_0000),
            "address-refused",
            dma_start,
            "0x4000000000000000",
            "a known form: shape register",
        ),
        unsupported(
            POOL_C,
            dma(0x2800_0000_0000_0000),
            "address-refused",
            dma_start,
            "0x2800000000000000",
            "a known form: unknown address form",
        ),
        error(POOL_C, dma(0x8000_0000_0000_0040), "register-number", dma_start, "64", "0..63 or 128..131"),
        error(
            POOL_C,
            dma(0x8000_0000_0000_4000),
            "register-number",
            (17, "src_start_addr"),
            "64",
            "0..63 or 128..131",
        ),
        // a pointer immediate has no marker
        error(
            DVE_C,
            word(op::TENSOR_SCALAR_ARITH_OP, S3D3_TS { imm1: Imm(0x8000_0000), ..tensor_scalar() }),
            "address-form",
            (44, "imm1"),
            "0x80000000",
            "a pointer of 29 bits",
        ),
        error(
            DVE_C,
            word(
                op::TENSOR_SCALAR_ARITH_OP,
                S3D3_TS { imm1_src: ImmSrc::REG_PTR, imm1: Imm(0x41), ..tensor_scalar() },
            ),
            "register-operand",
            (44, "imm1"),
            "0x41",
            register,
        ),
        error(
            DVE_C,
            word(op::TENSOR_TENSOR_ARITH_OP, S3S3D3_TT { out_dtype: Dtype::INVALID, ..tensor_tensor() }),
            "dtype",
            (13, "out_dtype"),
            "invalid",
            "uint64, int8, uint8, int16, uint16, bfloat16, fp16, int32, uint32, fp32, fp32r, int64, fp8_e3m4, fp8_e4m3, fp8_e5m2",
        ),
    ]
}
