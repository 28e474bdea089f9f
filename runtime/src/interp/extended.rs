//! EXTENDED_INST: opcodes behind byte 12 (chapter 03 section 8.2, chapter 04 section 3.3).

use super::tensor_tensor::{Operation, integer_operator};
use super::{Access, Exec, FaultKind, Flow, remote};
use crate::isa::layouts::EXTENDED_TTA;
use crate::isa::{Decoded, Operands, PARTITIONS};

/// Lanes of one port.
const PORT: u8 = 16;

/// EXTENDED_INST: what its sub-opcode says.
pub fn run(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    match &w.operands {
        Operands::EXTENDED_TTA(o) => tensor_tensor(x, o),
        Operands::EXTENDED_RDMA_DESC_GEN(o) => remote::describe(x, o),
        Operands::EXTENDED_RDMA_DESC_START(_) => remote::start(x),
        Operands::EXTENDED(o) if o.extended_opcode == 0 => Ok(Flow::Next),
        _ => Err(FaultKind::unsupported("extended_opcode", format!("sub-opcode {}", w.word.0[12]))),
    }
}

/// Lanes of a completion_info byte, from lane 0 of each operand: bits 5:3 count ports, 0 stands for all.
pub fn active_lanes(completion_info: u8) -> u8 {
    match completion_info >> 3 & 7 {
        0 => PARTITIONS as u8,
        ports => PORT * ports,
    }
}

/// Sub-opcode 2: TENSOR_TENSOR_ARITH without a channel field.
fn tensor_tensor(x: &mut Exec<'_>, o: &EXTENDED_TTA) -> Result<Flow, FaultKind> {
    let lanes = active_lanes(o.completion_info.0);
    let dtypes = [o.in0_in1_dtype.low(), o.in0_in1_dtype.high(), o.out_dtype];
    let src0 = x.tensor("src0", &o.src0, dtypes[0], lanes, Access::Read)?;
    let src1 = x.tensor("src1", &o.src1, dtypes[1], lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, dtypes[2], lanes, Access::Write)?;
    let integer_operator = integer_operator(o.op, dtypes, x.engine);
    Operation { op: o.op, integer_operator, dtypes, sources: [src0, src1], dst, lanes: lanes.into() }
        .execute(x)
}
