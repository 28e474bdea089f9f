//! Rules of EXTENDED_INST (chapter 04 section 3.3). Sub-opcodes without a known layout are refused by the
//! generic rules.

use super::address::OperandUse;
use super::{Checker, gates};
use crate::interp::extended::active_lanes;
use crate::isa::layouts::{EXTENDED_RDMA_DESC_GEN, EXTENDED_TTA};
use crate::isa::operand::Tensor;
use crate::isa::{AluOp, Dtype, Operands, Space};

pub(super) fn run(c: &mut Checker<'_>) {
    match &c.decoded.operands {
        Operands::EXTENDED_TTA(o) => c.extended_tensor_tensor(o),
        Operands::EXTENDED_RDMA_DESC_GEN(o) => c.remote_transfer(o),
        Operands::EXTENDED(o) if o.extended_opcode == 0 => {
            let set = o.inst_specific0.iter().chain(&o.inst_specific1).any(|b| *b != 0);
            c.value("inst_specific0", u8::from(set), !set, "0 in a NOP");
        }
        Operands::EXTENDED(o) => {
            // 5 and numbers above 9 are unassigned; the others are refused
            let known = matches!(o.extended_opcode, 1 | 3 | 4 | 6 | 7);
            c.value("extended_opcode", o.extended_opcode, known, "a sub-opcode 0 to 4 or 6 to 9");
        }
        _ => {}
    }
}

impl Checker<'_> {
    /// A transfer into another core (chapter 06 section 10.2).
    fn remote_transfer(&mut self, o: &EXTENDED_RDMA_DESC_GEN) {
        self.value("completion_info", o.completion_info.0, o.completion_info.0 == 0, "0");
        let mask = o.dma_engine_mask.0;
        let engines = mask <= 0xFFFF && mask.count_ones().is_power_of_two();
        self.value("dma_engine_mask", mask, engines, "1, 2, 4, 8 or 16 of 16 bits");
        self.value("is_bidirectional", o.is_bidirectional, o.is_bidirectional == 0, "0");
        for (field, start) in [("src_addr", o.src_addr), ("dst_addr", o.dst_addr)] {
            let bytes = Tensor { start, step: [1, 1], num: [1, 1] };
            self.tensor(field, &bytes, OperandUse::read(Dtype::UINT8, 128).only(Space::Sbuf));
        }
    }

    fn extended_tensor_tensor(&mut self, o: &EXTENDED_TTA) {
        let info = o.completion_info.0;
        self.value("completion_info", info, info & !0x38 == 5, "has_read and has_write, besides ports");
        let lanes = active_lanes(info).into();
        let (in0, in1) = (o.in0_in1_dtype.low(), o.in0_in1_dtype.high());
        self.dtype("in0_in1_dtype", in0, gates::D12);
        self.dtype("in0_in1_dtype", in1, gates::D12);
        self.dtype("out_dtype", o.out_dtype, gates::D13);
        let legal = matches!(o.op, AluOp::ADD | AluOp::MULT);
        self.operator("op", o.op, legal, "ADD or MULT");
        let a = self.tensor("src0", &o.src0, OperandUse::read(in0, lanes).only(Space::Sbuf));
        let b = self.tensor("src1", &o.src1, OperandUse::read(in1, lanes).only(Space::Sbuf));
        self.two_sources("src1", a, b);
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes).only(Space::Sbuf));
        self.count("src1", &o.src1, o.src0.count());
        self.count("dst", &o.dst, o.src0.count());
    }
}
