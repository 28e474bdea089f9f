//! Random words of the families that fold, scan, move lanes or keep state per lane.

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::isa::field::{DtypePair, ReverseOps, Subdim};
use seqjit::runtime::isa::layouts::{S2S2D2_STT, S4D4_TR};
use seqjit::runtime::isa::{AluOp, AluSet, Dtype, Layout, op};

use super::Maker;

impl<R: RngCore> Maker<'_, R> {
    /// Makes a word of one of these families; `false`: the opcode is of none of them.
    pub fn serial(&mut self, opcode: u8) -> bool {
        match opcode {
            op::TENSOR_CUMULATIVE_ARITH_OP | op::TENSOR_CUMULATIVE_BITVEC_OP => self.cumulative(opcode),
            op::TENSOR_TENSOR_SCAN_ARITH => self.recurrence(),
            _ => return false,
        }
        true
    }

    /// An operator of a set.
    fn of_set(&mut self, set: AluSet) -> AluOp {
        let generation = self.case.generation;
        let ops = AluOp::TABLE.iter().map(|row| row.code).filter(|op| op.exists_on(generation));
        *ops.filter(|op| op.in_set(set, generation)).collect::<Vec<_>>().choose(self.rng).unwrap()
    }

    fn cumulative(&mut self, opcode: u8) {
        let (op, from, to) = if opcode == op::TENSOR_CUMULATIVE_BITVEC_OP {
            self.bit_fold()
        } else {
            let op = self.of_set(AluSet::AR);
            // Integer operators want integers.
            if self.rng.random_bool(0.3) {
                (op, self.integer(), self.integer())
            } else {
                (op, self.dtype(), self.dtype())
            }
        };
        let mut operands = S4D4_TR::read(&self.case.word);
        operands = S4D4_TR {
            src: self.tensor(from),
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            op,
            op_dim: Subdim(self.rng.random_range(2..=5)),
            dst: self.tensor(to),
            ..operands
        };
        operands.write(&mut self.case.word);
    }

    fn recurrence(&mut self) {
        let (a, b, to) = (self.dtype(), self.dtype(), self.dtype());
        let (imm0_src, imm0) = self.scalar();
        let linear = self.rng.random_bool(0.3);
        let (op0, op1) =
            if linear { (AluOp::MULT, AluOp::ADD) } else { (self.of_set(AluSet::GA), self.of_set(AluSet::GA)) };
        let mut operands = S2S2D2_STT::read(&self.case.word);
        operands = S2S2D2_STT {
            src0: self.tensor(a),
            src1: self.tensor(b),
            op0,
            op1,
            reverse_operands: ReverseOps(self.rng.random_range(0..4)),
            imm0_src,
            src_dtype: DtypePair::new(a, b),
            out_dtype: to,
            num_active_channels: self.lanes,
            imm0_dtype: *[Dtype::FP32, Dtype::BFLOAT16].choose(self.rng).unwrap(),
            dst: self.tensor(to),
            imm0,
            ..operands
        };
        operands.write(&mut self.case.word);
    }
}
