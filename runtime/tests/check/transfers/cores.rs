//! Words between cores, and functions.

use super::*;

pub(super) fn exchange() -> S3D3_COLLECTIVE {
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

pub(super) fn remote() -> EXTENDED_RDMA_DESC_GEN {
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

pub(super) fn function_name(text: &[u8]) -> Name<36> {
    let mut padded = [0; 36];
    padded[..text.len()].copy_from_slice(text);
    Name(padded)
}

pub(super) fn begin() -> PSEUDO_FUNCTION_BEGIN {
    PSEUDO_FUNCTION_BEGIN {
        function_name: function_name(b"main.body"),
        return_reset_semaphores: 1,
        return_addr_reg_lo: 10,
        return_addr_reg_hi: 131,
    }
}

pub(super) fn call(name: &[u8]) -> Word {
    let operands = PSEUDO_FUNCTION_CALL { function_name: function_name(name), args_table_var_id: 3 };
    word(op::PSEUDO_FUNCTION_CALL, operands)
}

pub(super) fn core_cases() -> Vec<Case> {
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
