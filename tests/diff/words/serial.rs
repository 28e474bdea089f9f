//! Random words of the families that fold, scan, move lanes or keep state per lane.

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::isa::field::{
    AccumCmd, DtypePair, F32, Imm, ImmSrc, ImmSrcPair, PoolType, Ptr, ReduceOp, ReverseOps, Subdim,
};
use seqjit::runtime::isa::layouts::{
    CTRL_IM, S2_BN, S2_BNPL2, S2D2D2_SC, S2S2D2_STT, S3D3_SC, S3D3_TENS_DEQUANT, S3D3_TS, S3S3D1_BN,
    S3S3D1_BN2, S3S3D3_TT, S4D2_BN, S4D4_CR, S4D4_PL, S4D4_TR,
};
use seqjit::runtime::isa::{AluOp, AluSet, Dtype, Layout, Tensor, Word, op};

use super::{Maker, REGISTERS, number};

impl<R: RngCore> Maker<'_, R> {
    /// Makes a word of one of these families; `false`: the opcode is of none of them.
    pub fn serial(&mut self, opcode: u8) -> bool {
        match opcode {
            op::TENSOR_CUMULATIVE_ARITH_OP | op::TENSOR_CUMULATIVE_BITVEC_OP => self.cumulative(opcode),
            op::TENSOR_TENSOR_SCAN_ARITH => self.recurrence(),
            op::BATCH_NORM_STATS
            | op::BATCH_NORM_STATS2
            | op::BATCH_NORM_AGGREGATE
            | op::TRANSPOSE_BATCH_NORM_STATS2 => self.statistics(opcode),
            op::BATCH_NORM_GRAD_ACCUMULATE => self.gradients(),
            op::BATCH_NORM_GRAD_ACCUMULATE2 => self.gradients2(),
            op::BATCH_NORM_PARAM_LOAD => self.param_load(),
            op::BATCH_NORM_PARAM_LOAD2 => self.param_load2(),
            op::BATCH_NORM_BACK_PROP => self.back_prop(),
            op::LOAD_PARAMETER_RAM => self.parameter_ram(),
            op::EXPONENTIAL => self.exponential(),
            op::TENSOR_DEQUANTIZE => self.dequantize(),
            op::SPARSITY_COMPRESS => self.compress(),
            op::SPARSITY_COMPRESS_TAG => self.compress_tag(),
            op::POOL | op::MAX_POOL_SELECT => self.pool(opcode),
            op::LOAD_MASK_SELECT => self.mask(),
            op::STREAM_SHUFFLE | op::STREAM_TRANSPOSE => self.movement(opcode),
            op::CROSS_LANE_REDUCE_ARITH | op::CROSS_LANE_REDUCE_BITVEC => self.cross_lane(opcode),
            op::TRANSPOSE_TENSOR_REDUCE_ARITH_OP => {
                self.whole_tiles();
                self.tensor_reduce(op::TENSOR_REDUCE_ARITH_OP);
            }
            op::TRANSPOSE_TENSOR_REDUCE_BITVEC_OP => {
                self.whole_tiles();
                self.tensor_reduce(op::TENSOR_REDUCE_BITVEC_OP);
            }
            op::TRANSPOSE_TENSOR_SCALAR_ARITH_OP => {
                self.whole_tiles();
                self.tensor_scalar();
            }
            _ => return false,
        }
        true
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
        let (op0, op1) = if linear {
            (AluOp::MULT, AluOp::ADD)
        } else {
            (self.of_set(AluSet::GA), self.of_set(AluSet::GA))
        };
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

    /// FP32 or a floating-point type of 16 bits.
    fn float(&mut self) -> Dtype {
        *[Dtype::FP32, Dtype::FP32, Dtype::BFLOAT16, Dtype::FP16].choose(self.rng).unwrap()
    }

    /// A tensor of so many elements a lane, which need not be those of the one before it.
    fn of_count<const N: usize>(&mut self, count: u16, dtype: Dtype) -> Tensor<N> {
        if self.total == count && self.rng.random_bool(0.5) {
            return self.tensor(dtype);
        }
        let total = std::mem::replace(&mut self.total, count);
        let tensor = self.fresh(dtype);
        self.total = total;
        tensor
    }

    /// Lanes and elements of the transposing reader.
    fn whole_tiles(&mut self) {
        self.lanes = *[32, 64, 96, 128].choose(self.rng).unwrap();
        self.total = *[32, 64, 96, 192, 320].choose(self.rng).unwrap();
    }

    fn statistics(&mut self, opcode: u8) {
        let results = match opcode {
            op::BATCH_NORM_AGGREGATE => {
                self.total = *[3, 6, 9, 48, 192, 195, 600].choose(self.rng).unwrap();
                2
            }
            op::BATCH_NORM_STATS => 3,
            _ => 6,
        };
        if opcode == op::TRANSPOSE_BATCH_NORM_STATS2 {
            self.whole_tiles();
        }
        let (from, to) = (self.dtype(), self.float());
        let counts = opcode != op::BATCH_NORM_AGGREGATE;
        let mut count = || F32(if counts { self.rng.random_range(0.0f32..512.0).to_bits() } else { 0 });
        let (even_count, odd_count) = (count(), count());
        let operands = S4D2_BN {
            src: self.tensor(from),
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            even_count,
            odd_count,
            dst: self.of_count(results, to),
        };
        operands.write(&mut self.case.word);
    }

    /// A pointer, sometimes in a register that the addresses of tensors mostly leave alone.
    fn pointer_source(&mut self) -> (ImmSrc, Imm) {
        let pointer = self.pointer(0);
        if self.rng.random_bool(0.8) {
            return (ImmSrc::PTR, Imm(pointer));
        }
        let register = self.rng.random_range(REGISTERS - 2..REGISTERS);
        self.case.registers[register] = pointer;
        (ImmSrc::REG_PTR, Imm(register as u32))
    }

    fn gradients(&mut self) {
        let (a, b, to) = (self.float(), self.float(), self.float());
        let operands = S3S3D1_BN {
            imm0: Ptr(self.pointer(0)),
            src0: self.tensor(a),
            src1: self.tensor(b),
            dst: self.of_count(3, to),
            imm1: Ptr(self.pointer(0)),
            in0_in1_dtype: DtypePair::new(a, b),
            immediate_dtype: *[Dtype::INVALID, Dtype::FP32, Dtype::BFLOAT16].choose(self.rng).unwrap(),
            out_dtype: to,
            num_active_channels: self.lanes,
        };
        operands.write(&mut self.case.word);
    }

    fn gradients2(&mut self) {
        let (a, b, to, scalar) = (self.float(), self.float(), self.float(), self.float());
        let ((source0, imm0), (source1, imm1)) = (self.pointer_source(), self.pointer_source());
        let operands = S3S3D1_BN2 {
            imm0,
            src0: self.tensor(a),
            src1: self.tensor(b),
            dst: self.of_count(3, to),
            imm1,
            in0_in1_dtype: DtypePair::new(a, b),
            imm_out_dtype: DtypePair::new(scalar, to),
            imm_src: ImmSrcPair(source0.0 | source1.0 << 4),
            num_active_channels: self.lanes,
        };
        operands.write(&mut self.case.word);
    }

    fn param_load(&mut self) {
        let dtype = self.float();
        let (imm0_src, imm0_ptr) = self.pointer_source();
        let operands = S2_BN {
            src: self.of_count(3, dtype),
            imm1: Imm(number(self.rng)),
            dtype,
            num_active_channels: self.lanes,
            imm0_ptr,
            imm0_src,
        };
        operands.write(&mut self.case.word);
    }

    fn param_load2(&mut self) {
        let (src_dtype, imm_dtype) = (self.float(), self.float());
        let ((imm0_src, imm0_ptr), (imm1_src, imm1_ptr)) = (self.pointer_source(), self.pointer_source());
        let operands = S2_BNPL2 {
            src: self.of_count(2, src_dtype),
            element_count: number(self.rng),
            src_dtype,
            imm_dtype,
            num_active_channels: self.lanes,
            imm0_ptr,
            imm1_ptr,
            imm0_src,
            imm1_src,
        };
        operands.write(&mut self.case.word);
    }

    /// Mostly behind a word that loads parameters.
    fn back_prop(&mut self) {
        if self.rng.random_bool(0.8) {
            let word = std::mem::replace(&mut self.case.word, Word::new(op::BATCH_NORM_PARAM_LOAD2));
            self.param_load2();
            self.case.before.push(std::mem::replace(&mut self.case.word, word));
            self.last = None;
        }
        let (a, b, to) = (self.float(), self.float(), self.dtype());
        let operands = S3S3D3_TT {
            in0_in1_dtype: DtypePair::new(a, b),
            out_dtype: to,
            op: AluOp::BYPASS,
            num_active_channels: self.lanes,
            src0: self.tensor(a),
            src1: self.tensor(b),
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    fn parameter_ram(&mut self) {
        let mut operands = CTRL_IM::read(&self.case.word);
        operands.param_ram_offset = 4 * self.rng.random_range(0..=248);
        operands.immediate = std::array::from_fn(|_| number(self.rng));
        operands.write(&mut self.case.word);
    }

    /// Windows lie across each other in half of the words.
    fn pool(&mut self, opcode: u8) {
        let loaded = [Dtype::FP32, Dtype::BFLOAT16, Dtype::FP16, Dtype::UINT8, Dtype::INT32, Dtype::INT64];
        let from = *loaded.choose(self.rng).unwrap();
        let functions = [PoolType::MAX_POOL, PoolType::AVG_POOL];
        let (pool_func, to) = if opcode == op::MAX_POOL_SELECT {
            (PoolType::NONE, *[Dtype::UINT8, Dtype::UINT16, Dtype::UINT32].choose(self.rng).unwrap())
        } else {
            (*functions.choose(self.rng).unwrap(), *loaded[..5].choose(self.rng).unwrap())
        };
        let mut src: Tensor<4> = self.tensor(from);
        let mut dims = self.rng.random_range(1..=4);
        if self.rng.random_bool(0.5) {
            let mut up_to = |most: u16| self.rng.random_range(1..=most);
            let (window, stride, counts) = ([up_to(3), up_to(3)], up_to(3), [up_to(9), up_to(6)]);
            let row = (counts[0] * stride + window[0]) as i16;
            src.step = [1, row, stride as i16, row * stride as i16];
            src.num = [window[0], window[1], counts[0], counts[1]];
            dims = 2;
        }
        let pool_scale = if pool_func == PoolType::AVG_POOL { number(self.rng) } else { 1.0f32.to_bits() };
        let operands = S4D4_PL {
            src,
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            pool_func,
            pool_dim: Subdim(dims as u8 + 1),
            pool_scale: F32(pool_scale),
            dst: self.of_count(src.num[dims..].iter().product(), to),
        };
        operands.write(&mut self.case.word);
    }

    fn mask(&mut self) {
        let mut operands = CTRL_IM::read(&self.case.word);
        let mut lane = || match self.rng.random_range(0..8) {
            0 => 255,
            1 => self.rng.random_range(32..64),
            _ => self.rng.random_range(0..32),
        };
        operands.immediate = std::array::from_fn(|_| u32::from_le_bytes([lane(), lane(), lane(), lane()]));
        operands.write(&mut self.case.word);
    }

    /// Mostly behind a word that loads a mask.
    fn movement(&mut self, opcode: u8) {
        if self.rng.random_bool(0.7) {
            let word = std::mem::replace(&mut self.case.word, Word::new(op::LOAD_MASK_SELECT));
            self.mask();
            self.case.before.push(std::mem::replace(&mut self.case.word, word));
        }
        self.lanes = *[32, 64, 96, 128].choose(self.rng).unwrap();
        let transposes = opcode == op::STREAM_TRANSPOSE;
        if transposes {
            self.whole_tiles();
        }
        let dtype = self.dtype();
        let src = self.tensor(dtype);
        let shorter = transposes && self.rng.random_bool(0.3);
        let count = if shorter { self.rng.random_range(1..=self.total) } else { self.total };
        let mut operands = S4D4_TR::read(&self.case.word);
        operands = S4D4_TR {
            src,
            in_dtype: dtype,
            out_dtype: dtype,
            num_active_channels: self.lanes,
            op: AluOp::BYPASS,
            mask_enable: if transposes { self.rng.random_range(0..2) } else { 0 },
            dst: self.of_count(count, dtype),
            ..operands
        };
        operands.write(&mut self.case.word);
    }

    fn cross_lane(&mut self, opcode: u8) {
        let bits = opcode == op::CROSS_LANE_REDUCE_BITVEC;
        let (from, to) = if bits {
            let dtype = self.integer();
            (dtype, dtype)
        } else {
            (self.dtype(), self.dtype())
        };
        let reduce_axis = self.rng.random_range(0..2);
        let operands = S4D4_CR {
            src: self.tensor(from),
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            reduce_op: ReduceOp(self.rng.random_range(0..3) + if bits { 3 } else { 0 }),
            reduce_axis,
            scale: F32(number(self.rng)),
            dst: self.of_count(if reduce_axis == 0 { 1 } else { self.total }, to),
        };
        operands.write(&mut self.case.word);
    }

    fn exponential(&mut self) {
        self.tensor_scalar();
        let mut operands = S3D3_TS::read(&self.case.word);
        (operands.op0, operands.op1) = (AluOp::BYPASS, AluOp::BYPASS);
        operands.reverse_operands = ReverseOps::NONE;
        operands.accumulator_cmd = AccumCmd(*[0, 2, 3, 4].choose(self.rng).unwrap());
        if operands.accumulator_cmd != AccumCmd::LOAD_ACCUMULATE {
            (operands.imm1_src, operands.imm1) = (ImmSrc::INSTRUCTION, Imm(0));
        }
        operands.write(&mut self.case.word);
    }

    fn dequantize(&mut self) {
        let dequant_fmt = self.rng.random_range(1..=4);
        let group_size = if dequant_fmt < 4 { *[0, 8].choose(self.rng).unwrap() } else { 0 };
        let (from, to) = match (dequant_fmt, group_size) {
            (4, _) => (3, 4),
            (_, 0) => (1, 2),
            _ => (5, 8),
        };
        let units = self.rng.random_range(1..=40);
        self.total = units * from;
        let operands = S3D3_TENS_DEQUANT {
            src: self.tensor(Dtype::UINT32),
            in_dtype: Dtype::UINT32,
            out_dtype: Dtype::UINT32,
            num_active_channels: self.lanes,
            dequant_fmt,
            group_size,
            dst: self.of_count(units * to, Dtype::UINT32),
        };
        operands.write(&mut self.case.word);
    }

    /// What is looked for in groups of the innermost dimensions: operator, whether the source is transposed, the
    /// dimensions, the source, and the groups of a lane.
    fn groups<const N: usize>(&mut self, from: Dtype) -> (u8, u8, Subdim, Tensor<N>, u16) {
        let transpose = self.rng.random_bool(0.3);
        if transpose {
            self.whole_tiles();
        } else {
            self.total = *[4, 5, 8, 12, 16, 48, 64, 96, 128, 320].choose(self.rng).unwrap();
        }
        let op = *[0x08, 0x09, 0x20, 0x21].choose(self.rng).unwrap();
        let dims = self.rng.random_range(1..=N.min(4));
        let src = self.tensor(from);
        let groups = src.num[dims..].iter().product();
        (op, transpose.into(), Subdim(dims as u8 + 1), src, groups)
    }

    fn compress(&mut self) {
        let from = self.dtype();
        let (op, transpose_src, op_dim, src, groups) = self.groups(from);
        let data = [Dtype::FP8_EXP3, Dtype::FP8_EXP4, Dtype::FP8_EXP5, Dtype::FP16, Dtype::BFLOAT16];
        let data = *data.choose(self.rng).unwrap();
        let pair = if data.bytes() == 1 { Dtype::UINT16 } else { Dtype::UINT32 };
        let operands = S3D3_SC {
            in_dtype: from,
            transpose_src,
            src,
            out_data_dtype: data,
            out_struct_dtype: pair,
            num_active_channels: self.lanes,
            op,
            op_dim,
            dst: self.of_count(4 * groups, pair),
        };
        operands.write(&mut self.case.word);
    }

    fn compress_tag(&mut self) {
        let (from, to) = (self.dtype(), self.dtype());
        let (op, transpose_src, op_dim, src, groups) = self.groups(from);
        let packed_tags = self.rng.random_range(0..2);
        let tags = [Dtype::UINT8, Dtype::UINT16, Dtype::UINT32];
        let (tag, count) = match packed_tags {
            1 => (Dtype::UINT16, groups),
            _ => (*tags.choose(self.rng).unwrap(), 4 * groups),
        };
        let operands = S2D2D2_SC {
            in_dtype: from,
            transpose_src,
            packed_tags,
            src,
            out_data_dtype: to,
            out_tag_dtype: tag,
            num_active_channels: self.lanes,
            op,
            op_dim,
            data_dst: self.of_count(4 * groups, to),
            tag_dst: self.of_count(count, tag),
        };
        operands.write(&mut self.case.word);
    }
}
