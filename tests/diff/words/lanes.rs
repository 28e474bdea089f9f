//! Random words of the lane-local families that have kernels.

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::act::FUNCTIONS;
use seqjit::runtime::isa::field::{AccumCmd, DtypePair, Imm, ImmSrc, ImmSrcN, Subdim};
use seqjit::runtime::isa::layouts::{CTRL_NO_23, D1_RD, S2D2_TS_AS, S3D3_AC, S3D3_TS, S3S3D3_TT, S4D4_TR};
use seqjit::runtime::isa::{AluClass, AluOp, AluSet, Data4d, Dtype, Layout, Tensor, op};

use super::{Maker, number};

impl<R: RngCore> Maker<'_, R> {
    pub fn activate(&mut self) {
        let (from, to) = (self.dtype(), self.dtype());
        let bias_dtype = *[Dtype::FP32, Dtype::BFLOAT16, Dtype::FP16].choose(self.rng).unwrap();
        let ids: Vec<u8> = FUNCTIONS.iter().filter_map(|function| function.id).collect();
        let ((scale_src, scale_value), (imm_src, imm), (bias_src, bias)) =
            (self.scalar(), self.scalar(), self.scalar());
        let operands = S3D3_AC {
            imm_src,
            scale_src,
            accumulator_cmd: AccumCmd(self.rng.random_range(0..5)),
            bias_src_n: if bias_src == ImmSrc::PTR { ImmSrcN::PTR } else { ImmSrcN::INSTRUCTION },
            src: self.tensor(from),
            in_bias_dtype: DtypePair::new(from, bias_dtype),
            out_dtype: to,
            num_active_channels: self.lanes,
            activation_func: *ids.choose(self.rng).unwrap(),
            // Often 1, so that inputs stay where functions are interesting.
            scale_value: if scale_src == ImmSrc::INSTRUCTION && self.rng.random_bool(0.5) {
                Imm(1.0f32.to_bits())
            } else {
                scale_value
            },
            bias: if bias_src == ImmSrc::INSTRUCTION && self.rng.random_bool(0.5) { Imm(0) } else { bias },
            imm,
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    pub fn table_load(&mut self) {
        let mut operands = CTRL_NO_23::read(&self.case.word);
        operands.act_tbl_sel = self.rng.random_range(0..2);
        operands.write(&mut self.case.word);
    }

    pub fn read_accumulator(&mut self) {
        let dtype = self.dtype();
        self.total = 1;
        let mut operands = D1_RD::read(&self.case.word);
        operands = D1_RD {
            dst_element_count: 1,
            dtype,
            num_active_channels: self.lanes,
            dst: self.tensor(dtype),
            ..operands
        };
        operands.write(&mut self.case.word);
    }

    pub fn tensor_reduce(&mut self, opcode: u8) {
        let (op, from, to) = match opcode {
            op::TENSOR_REDUCE_ADD_BF16 => (AluOp::ADD, Dtype::BFLOAT16, self.dtype()),
            op::TENSOR_REDUCE_MAX_BF16 => (AluOp::MAX, Dtype::BFLOAT16, self.dtype()),
            op::TENSOR_REDUCE_BITVEC_OP => self.bit_fold(),
            _ => self.fold(),
        };
        let src: Tensor<4> = self.tensor(from);
        let dims = self.rng.random_range(1..=4);
        let all = std::mem::replace(&mut self.total, src.num[dims..].iter().product());
        let dst =
            if self.total == all && self.rng.random_bool(0.5) { self.tensor(to) } else { self.fresh(to) };
        let mut operands = S4D4_TR::read(&self.case.word);
        operands = S4D4_TR {
            src,
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            negated: if opcode == op::TENSOR_REDUCE_BITVEC_OP { 0 } else { self.rng.random_range(0..2) },
            op,
            op_dim: Subdim(dims as u8 + 1),
            dst,
            ..operands
        };
        operands.write(&mut self.case.word);
    }

    /// An operator of a fold with datatypes that may go with it.
    fn fold(&mut self) -> (AluOp, Dtype, Dtype) {
        const WIDE: [Dtype; 4] = [Dtype::INT32, Dtype::UINT32, Dtype::INT64, Dtype::UINT64];
        let generation = self.case.generation;
        let ops = AluOp::TABLE.iter().map(|row| row.code).filter(|op| op.exists_on(generation));
        let integer = self.rng.random_bool(0.4);
        let position = |op: &AluOp| op.info().is_some_and(|info| info.class == AluClass::ArgReduce);
        let wanted = |op: &AluOp| position(op) || op.in_set(AluSet::IS, generation);
        let ops: Vec<AluOp> = ops.filter(|op| wanted(op) == integer).collect();
        let op = *ops.choose(self.rng).unwrap();
        if !integer {
            return (op, self.dtype(), self.dtype());
        }
        let from = *WIDE.choose(self.rng).unwrap();
        let to = if position(&op) { Dtype::UINT32 } else { self.integer() };
        (op, from, to)
    }

    /// An operator of class BITVEC with a datatype.
    pub fn bit_fold(&mut self) -> (AluOp, Dtype, Dtype) {
        let generation = self.case.generation;
        let ops = AluOp::TABLE.iter().filter(|row| row.class == AluClass::Bitvec).map(|row| row.code);
        let ops: Vec<AluOp> = ops.filter(|op| op.exists_on(generation)).collect();
        let dtype = self.integer();
        (*ops.choose(self.rng).unwrap(), dtype, dtype)
    }

    pub fn tensor_scalar_pointers(&mut self) {
        self.tensor_scalar();
        let mut operands = S3D3_TS::read(&self.case.word);
        for (source, imm) in
            [(&mut operands.imm0_src, &mut operands.imm0), (&mut operands.imm1_src, &mut operands.imm1)]
        {
            (*source, *imm) = (ImmSrc::INSTRUCTION, Imm(4 * self.rng.random_range(0..super::WINDOW / 4)));
        }
        operands.write(&mut self.case.word);
    }

    /// The BF16 forms read pairs.
    pub fn tensor_tensor_bf16(&mut self, op: AluOp) {
        let to = self.dtype();
        let operands = S3S3D3_TT {
            in0_in1_dtype: DtypePair::new(Dtype::BFLOAT16, Dtype::BFLOAT16),
            out_dtype: to,
            op,
            num_active_channels: self.lanes,
            src0: self.tensor(Dtype::BFLOAT16),
            src1: self.tensor(Dtype::BFLOAT16),
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    pub fn integer(&mut self) -> Dtype {
        let known = (1..=0x12).map(Dtype).filter(|d| d.exists_on(self.case.generation) && d.is_integer());
        *known.collect::<Vec<_>>().choose(self.rng).unwrap()
    }

    /// A tensor that is not made like the one before it.
    pub fn fresh<const N: usize>(&mut self, dtype: Dtype) -> Tensor<N> {
        self.last = None;
        self.tensor(dtype)
    }

    pub fn affine_select(&mut self) {
        let from = self.dtype();
        let to = if self.rng.random_bool(0.5) { from } else { self.dtype() };
        let mut step = || match self.rng.random_range(0..4) {
            0 => 0,
            1 => self.rng.random_range(i16::MIN..=i16::MAX),
            _ => self.rng.random_range(-3..=3),
        };
        let (step, base) = ([step(), step(), step(), step()], self.rng.random_range(-100..=100));
        let operands = S2D2_TS_AS {
            num_active_channels: self.lanes,
            in_out_dtype: DtypePair::new(from, to),
            fill_mode: self.rng.random_range(0..4),
            fill_reg: self.rng.random_range(0..super::REGISTERS as u8),
            mask: Data4d {
                base: if self.rng.random_bool(0.1) { number(self.rng) as i32 } else { base },
                step,
                num: self.counts(),
            },
            src: self.tensor(from),
            dst: self.tensor(to),
            channel_multiplier: self.rng.random_range(-2..=2),
        };
        operands.write(&mut self.case.word);
        // What the operands' addresses leave of the registers.
        self.case.registers = std::array::from_fn(|_| number(self.rng));
    }
}
