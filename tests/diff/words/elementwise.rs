//! Random words of the lane-local families: raw bits, a scalar and two tensors, predicates, accumulators, preloaded
//! scalars, generated and wide integers.

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::isa::field::{AccumCmd, DtypePair, F32, Imm, ImmSrc, ReverseOps, Subdim};
use seqjit::runtime::isa::layouts::{
    D1_RD, D4_IOTA, D4_MR, S2_BN, S2D2_ADDR, S2D2_RS, S2D2D2_TS_WIDE, S2S2D2_STT, S2S2D2D2_TT,
    S3D3_CP_PRED_SCALAR, S3D3_TS, S3D3_TS_SELECT, S3S3D3_TT, S4D4_TSM,
};
use seqjit::runtime::isa::{AluOp, AluSet, Data4d, Dtype, Layout, PARTITIONS, Tensor, Word, op};

use super::{INTEGERS, Maker, WINDOW, number};

/// Integers of at most 32 bits.
const NARROW: &[Dtype] = INTEGERS.split_at(6).0;
/// Datatypes of bits that are preloaded.
const BITS: [Dtype; 4] = [Dtype::UINT8, Dtype::UINT16, Dtype::INT32, Dtype::UINT32];
const COMMANDS: [AccumCmd; 4] =
    [AccumCmd::IDLE, AccumCmd::ACCUMULATE, AccumCmd::ZERO_ACCUMULATE, AccumCmd::LOAD_ACCUMULATE];

impl<R: RngCore> Maker<'_, R> {
    /// `false`: there is no generator for the opcode.
    pub fn elementwise(&mut self, opcode: u8) -> bool {
        match opcode {
            op::TENSOR_TENSOR_BITVEC_OP => self.tensor_tensor_bits(),
            op::TENSOR_SCALAR_BITVEC_OP => self.tensor_scalar_bits(false),
            op::TENSOR_SCALAR_PTR_BITVEC_OP => self.tensor_scalar_bits(true),
            op::SCALAR_TENSOR_TENSOR_BITVEC => self.scalar_tensor_tensor_bits(),
            op::SCALAR_TENSOR_TENSOR_ARITH => self.scalar_tensor_tensor(),
            op::SELECT_REDUCE => self.select_reduce(),
            op::COPY_PREDICATED | op::CAST_PREDICATED => self.predicated(opcode),
            op::COPY_PREDICATED_SCALAR => self.predicated_scalar(),
            op::TENSOR_SCALAR_SELECT => self.tensor_scalar_select(),
            op::TENSOR_SCALAR_CACHE_REDUCE | op::TENSOR_SCALAR_CACHE_CUMULATIVE => self.cached(),
            op::DVE_READ_ACCUMULATOR => self.read_reduced(),
            op::RANGE_SELECT => self.range_select(),
            op::TENSOR_SCALAR_IMM_LD_ARITH | op::TENSOR_SCALAR_IMM_LD_BITVEC => self.preload(opcode),
            op::TENSOR_SCALAR_PTR_MULTI_ARITH | op::TENSOR_SCALAR_PTR_MULTI_BITVEC => self.slices(opcode),
            op::TENSOR_SCALAR_ADDR => self.addresses(),
            op::IOTA => self.iota(),
            op::TENSOR_TENSOR_INT_WIDE => self.wide_tensors(),
            op::TENSOR_SCALAR_INT_WIDE => self.wide_scalar(),
            _ => return false,
        }
        true
    }

    fn one(&mut self, dtypes: &[Dtype]) -> Dtype {
        *dtypes.choose(self.rng).unwrap()
    }

    /// An operator of a set.
    pub(super) fn of_set(&mut self, set: AluSet) -> AluOp {
        let generation = self.case.generation;
        let ops = AluOp::TABLE.iter().map(|row| row.code);
        let ops: Vec<AluOp> =
            ops.filter(|op| op.exists_on(generation) && op.in_set(set, generation)).collect();
        *ops.choose(self.rng).unwrap()
    }

    /// A scalar of raw bits, often a small count.
    fn bit_scalar(&mut self, dtype: Dtype) -> (ImmSrc, Imm) {
        let (source, value) = self.scalar();
        let bits = match self.rng.random_range(0..3) {
            0 => self.rng.next_u32() >> (32 - 8 * dtype.bytes().min(4)),
            _ => self.rng.random_range(0..40),
        };
        (source, if source == ImmSrc::INSTRUCTION { Imm(bits) } else { value })
    }

    /// Fills a tensor with one small count, before the word.
    fn small_counts(&mut self, counts: &Tensor<4>, dtype: Dtype) {
        let mut word = Word::new(op::MEMSET);
        let operands = D4_MR {
            dst_element_count: self.total.into(),
            dtype,
            num_active_channels: self.lanes,
            set_value: Imm(self.rng.random_range(0..40)),
            dst: *counts,
            ..D4_MR::read(&word)
        };
        operands.write(&mut word);
        self.case.before.push(word);
    }

    fn tensor_tensor_bits(&mut self) {
        let dtype = self.one(&INTEGERS);
        let op = self.of_set(AluSet::BV);
        let counts = if dtype.is_64bit() && self.rng.random_bool(0.5) { Dtype::UINT32 } else { dtype };
        let (src0, src1): (Tensor<3>, Tensor<3>) = (self.tensor(dtype), self.tensor(counts));
        if self.rng.random_bool(0.5) {
            self.small_counts(&deeper(&src1), counts);
        }
        let operands = S3S3D3_TT {
            in0_in1_dtype: DtypePair::new(dtype, counts),
            out_dtype: dtype,
            op,
            num_active_channels: self.lanes,
            src0,
            src1,
            dst: self.tensor(dtype),
        };
        operands.write(&mut self.case.word);
    }

    fn tensor_scalar_bits(&mut self, pointers: bool) {
        let dtype = self.one(NARROW);
        let (mut first, mut second) = (self.bit_scalar(dtype), self.bit_scalar(dtype));
        if pointers {
            let mut at = || (ImmSrc::INSTRUCTION, Imm(4 * self.rng.random_range(0..WINDOW / 4)));
            (first, second) = (at(), at());
        }
        let mut operands = S3D3_TS::read(&self.case.word);
        operands = S3D3_TS {
            src: self.tensor(dtype),
            in_dtype: dtype,
            out_dtype: dtype,
            num_active_channels: self.lanes,
            imm0_src: first.0,
            op0: self.of_set(AluSet::BV),
            op1: if self.rng.random_bool(0.3) { AluOp::BYPASS } else { self.of_set(AluSet::BV) },
            reverse_operands: ReverseOps(if self.rng.random_bool(0.5) {
                0
            } else {
                self.rng.random_range(0..4)
            }),
            imm1_src: second.0,
            imm0: first.1,
            imm1: second.1,
            dst: self.tensor(dtype),
            ..operands
        };
        operands.write(&mut self.case.word);
    }

    fn scalar_tensor_tensor_bits(&mut self) {
        let dtype = self.one(NARROW);
        let (imm0_src, imm0) = self.bit_scalar(dtype);
        let (src0, src1): (Tensor<2>, Tensor<2>) = (self.tensor(dtype), self.tensor(dtype));
        if self.rng.random_bool(0.3) {
            self.small_counts(&deeper(&src1), dtype);
        }
        let operands = S2S2D2_STT {
            src0,
            src1,
            op0: self.of_set(AluSet::BV),
            op1: self.of_set(AluSet::BV),
            reverse_operands: ReverseOps(self.rng.random_range(0..4)),
            imm0_src,
            src_dtype: DtypePair::new(dtype, dtype),
            out_dtype: dtype,
            num_active_channels: self.lanes,
            imm0_dtype: dtype,
            accumulator_cmd: AccumCmd::IDLE,
            dst: self.tensor(dtype),
            imm0,
        };
        operands.write(&mut self.case.word);
    }

    fn scalar_tensor_tensor(&mut self) {
        let (a, b, to) = (self.dtype(), self.dtype(), self.dtype());
        let (imm0_src, imm0) = self.scalar();
        let operands = S2S2D2_STT {
            src0: self.tensor(a),
            src1: self.tensor(b),
            op0: self.of_set(AluSet::GA),
            op1: self.of_set(AluSet::GA),
            reverse_operands: ReverseOps(self.rng.random_range(0..4)),
            imm0_src,
            src_dtype: DtypePair::new(a, b),
            out_dtype: to,
            num_active_channels: self.lanes,
            imm0_dtype: if imm0_src == ImmSrc::INSTRUCTION { Dtype::FP32 } else { self.dtype() },
            accumulator_cmd: COMMANDS[self.rng.random_range(0..3)],
            dst: self.tensor(to),
            imm0,
        };
        operands.write(&mut self.case.word);
    }

    fn select_reduce(&mut self) {
        let (predicate, from, to) = (self.one(NARROW), self.dtype(), self.dtype());
        let (imm0_src, imm0) = self.scalar();
        let src0: Tensor<2> = self.tensor(predicate);
        self.some_zeros(&src0, predicate);
        let operands = S2S2D2_STT {
            src0,
            src1: self.tensor(from),
            op0: AluOp::BYPASS,
            op1: AluOp::MAX,
            reverse_operands: ReverseOps(self.rng.random_range(0..2)),
            imm0_src,
            src_dtype: DtypePair::new(predicate, from),
            out_dtype: to,
            num_active_channels: self.lanes,
            imm0_dtype: if imm0_src == ImmSrc::INSTRUCTION { Dtype::FP32 } else { self.dtype() },
            accumulator_cmd: COMMANDS[self.rng.random_range(0..3)],
            dst: self.tensor(to),
            imm0,
        };
        operands.write(&mut self.case.word);
    }

    /// Makes some elements of a predicate zero, before the word.
    fn some_zeros<const N: usize>(&mut self, predicate: &Tensor<N>, dtype: Dtype) {
        let mut zeros = deeper(predicate);
        // Every other one, if it comes out even.
        let halved = zeros.num[0].is_multiple_of(2);
        if halved {
            zeros.num[0] /= 2;
            zeros.step[0] *= 2;
        }
        let total = std::mem::replace(&mut self.total, zeros.num.iter().product());
        self.small_counts(&zeros, dtype);
        self.total = total;
        if let Some(word) = self.case.before.last_mut() {
            D4_MR { set_value: Imm(0), ..D4_MR::read(word) }.write(word);
        }
    }

    fn predicated(&mut self, opcode: u8) {
        let (predicate, from) = (self.one(NARROW), self.dtype());
        let same = opcode == op::COPY_PREDICATED || self.rng.random_bool(0.2);
        let to = if same { from } else { self.dtype() };
        let src0: Tensor<3> = self.tensor(predicate);
        self.some_zeros(&src0, predicate);
        let operands = S3S3D3_TT {
            in0_in1_dtype: DtypePair::new(predicate, from),
            out_dtype: to,
            op: AluOp::BYPASS,
            num_active_channels: self.lanes,
            src0,
            src1: self.tensor(from),
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    fn predicated_scalar(&mut self) {
        let (pred_dtype, dtype) = (self.one(NARROW), self.dtype());
        let (src0_imm_src, src0_imm) = self.scalar();
        let predicate: Tensor<3> = self.tensor(pred_dtype);
        self.some_zeros(&predicate, pred_dtype);
        let operands = S3D3_CP_PRED_SCALAR {
            predicate,
            pred_dtype,
            reversed_pred: self.rng.random_range(0..2),
            num_active_channels: self.lanes,
            in_dtype: dtype,
            out_dtype: dtype,
            src0_imm_src,
            src0_imm,
            dst: self.tensor(dtype),
        };
        operands.write(&mut self.case.word);
    }

    fn tensor_scalar_select(&mut self) {
        let dtype = self.dtype();
        let of_width: Vec<Dtype> = NARROW.iter().copied().filter(|d| d.bytes() == dtype.bytes()).collect();
        let Some(pred_imm_dtype) = of_width.choose(self.rng).copied() else { return };
        let ((src1_imm_src, src1_imm), (pred_imm_src, pointer)) = (self.scalar(), self.scalar());
        let inline = pred_imm_src == ImmSrc::INSTRUCTION;
        let operands = S3D3_TS_SELECT {
            src0: self.tensor(dtype),
            reversed_pred: self.rng.random_range(0..2),
            num_active_channels: self.lanes,
            dtype,
            pred_imm_dtype,
            src1_imm_src,
            pred_imm_src,
            src1_imm,
            pred_imm: if inline { Imm(self.rng.random_range(0..2)) } else { pointer },
            dst: self.tensor(dtype),
        };
        operands.write(&mut self.case.word);
    }

    fn cached(&mut self) {
        const FOLDS: [AluOp; 5] = [AluOp::ADD, AluOp::SUBTRACT, AluOp::MULT, AluOp::MAX, AluOp::MIN];
        let (from, to) = (self.dtype(), self.dtype());
        let ((imm0_src, imm0), seed) = (self.scalar(), self.scalar());
        let accumulator_cmd = COMMANDS[self.rng.random_range(1..4)];
        let seeded = accumulator_cmd == AccumCmd::LOAD_ACCUMULATE;
        let (imm1_src, imm1) = if seeded { seed } else { (ImmSrc::INSTRUCTION, Imm(0)) };
        let operands = S3D3_TS {
            accumulator_cmd,
            src: self.tensor(from),
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            imm0_src,
            op0: self.of_set(AluSet::GA),
            op1: *FOLDS.choose(self.rng).unwrap(),
            reverse_operands: ReverseOps::NONE,
            imm1_src,
            imm0,
            imm1,
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    fn read_reduced(&mut self) {
        let dtype = self.dtype();
        // Something to read.
        self.cached();
        let mut reduce = Word::new(op::TENSOR_SCALAR_CACHE_REDUCE);
        reduce.0[12..].copy_from_slice(&self.case.word.0[12..]);
        self.case.before.push(reduce);
        self.case.word = Word::new(op::DVE_READ_ACCUMULATOR);
        self.total = 1;
        let operands = D1_RD {
            dst_element_count: 1,
            dtype,
            num_active_channels: self.lanes,
            negated: self.rng.random_range(0..2),
            dst: self.fresh(dtype),
        };
        operands.write(&mut self.case.word);
    }

    fn range_select(&mut self) {
        const COMPARES: [AluOp; 5] = [AluOp::IS_EQ, AluOp::IS_GT, AluOp::IS_GE, AluOp::IS_LE, AluOp::IS_LT];
        let (from, to) = (self.dtype(), self.dtype());
        let mut bound = || match self.scalar() {
            (ImmSrc::INSTRUCTION, value) if self.rng.random_bool(0.3) => (ImmSrc::INSTRUCTION, value),
            (ImmSrc::INSTRUCTION, _) => {
                (ImmSrc::INSTRUCTION, Imm((self.rng.random_range(-4..700) as f32).to_bits()))
            }
            pointer => pointer,
        };
        let ((bound0_src, bound0), (bound1_src, bound1)) = (bound(), bound());
        let base = *[0.0f32, 0.0, 7.0, 0.5, 100.25, 16_776_000.0].choose(self.rng).unwrap();
        let operands = S2D2_RS {
            num_active_channels: self.lanes,
            in_out_dtype: DtypePair::new(from, to),
            reduce_cmd: COMMANDS[self.rng.random_range(0..3)],
            reduce_op: AluOp::MAX,
            base: F32(base.to_bits()),
            fill_val: F32((-f32::MAX).to_bits()),
            src: self.tensor(from),
            comp_op0: *COMPARES.choose(self.rng).unwrap(),
            comp_op1: *COMPARES.choose(self.rng).unwrap(),
            bound0_src,
            bound1_src,
            bound0,
            bound1,
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    fn preload_word(&mut self, opcode: u8, lanes: u8) -> Word {
        let dtype = if opcode == op::TENSOR_SCALAR_IMM_LD_BITVEC { self.one(&BITS) } else { self.dtype() };
        let total = std::mem::replace(&mut self.total, self.rng.random_range(1..=8));
        let operands = S2_BN {
            src: self.fresh(dtype),
            imm1: Imm(0),
            dtype,
            num_active_channels: lanes,
            imm0_ptr: Imm(0),
            imm0_src: ImmSrc::INSTRUCTION,
        };
        self.total = total;
        let mut word = Word::new(opcode);
        operands.write(&mut word);
        word
    }

    /// A load of scalars, and a word that uses them, so that what was loaded shows.
    fn preload(&mut self, opcode: u8) {
        let lanes = self.lanes;
        let load = self.preload_word(opcode, lanes);
        let multi = match opcode {
            op::TENSOR_SCALAR_IMM_LD_ARITH => op::TENSOR_SCALAR_PTR_MULTI_ARITH,
            _ => op::TENSOR_SCALAR_PTR_MULTI_BITVEC,
        };
        self.slices_word(multi);
        let user = std::mem::replace(&mut self.case.word, load);
        self.case.after.push(user);
    }

    fn slices(&mut self, opcode: u8) {
        let load = match opcode {
            op::TENSOR_SCALAR_PTR_MULTI_ARITH => op::TENSOR_SCALAR_IMM_LD_ARITH,
            _ => op::TENSOR_SCALAR_IMM_LD_BITVEC,
        };
        let load = self.preload_word(load, PARTITIONS as u8);
        self.case.before.push(load);
        self.slices_word(opcode);
    }

    fn slices_word(&mut self, opcode: u8) {
        let bits = opcode == op::TENSOR_SCALAR_PTR_MULTI_BITVEC;
        let from = if bits { self.one(&BITS) } else { self.dtype() };
        let to = if bits { from } else { self.dtype() };
        let operands = S4D4_TSM {
            src: self.fresh(from),
            in_dtype: from,
            out_dtype: to,
            num_active_channels: self.lanes,
            op: self.of_set(if bits { AluSet::BV } else { AluSet::GA }),
            op_dim: Subdim::XYZ,
            reverse_operands: if self.rng.random_bool(0.5) { ReverseOps::NONE } else { ReverseOps::BOTH },
            dst: self.tensor(to),
        };
        self.case.word = Word::new(opcode);
        operands.write(&mut self.case.word);
    }

    fn addresses(&mut self) {
        const I32: Dtype = Dtype::INT32;
        const U64: Dtype = Dtype::UINT64;
        let unsigned = self.one(&[Dtype::UINT32, U64]);
        let (op0, op1, from, to, imm0, imm1) = *[
            (AluOp::MULT, AluOp::ADD, I32, U64, I32, U64),
            (AluOp::ADD, AluOp::BYPASS, I32, U64, U64, U64),
            (AluOp::MULT, AluOp::BYPASS, I32, I32, I32, I32),
            (AluOp::MULT, AluOp::ADD, I32, I32, I32, I32),
            (AluOp::SUBTRACT, AluOp::IS_LT, unsigned, *NARROW.choose(self.rng).unwrap(), unsigned, unsigned),
        ]
        .choose(self.rng)
        .unwrap();
        let mut immediate = |dtype: Dtype| match self.scalar() {
            (ImmSrc::INSTRUCTION, _) if dtype == U64 => (ImmSrc::INSTRUCTION, self.rng.next_u64()),
            (ImmSrc::INSTRUCTION, _) => (ImmSrc::INSTRUCTION, u64::from(self.rng.next_u32())),
            (source, pointer) => (source, u64::from(pointer.0 & !7)),
        };
        let ((imm0_src, value0), (imm1_src, value1)) = (immediate(imm0), immediate(imm1));
        let operands = S2D2_ADDR {
            src: self.tensor(from),
            imm0: value0,
            imm1: value1,
            imm_dtype: DtypePair::new(imm0, imm1),
            in_out_dtype: DtypePair::new(from, to),
            imm0_src,
            imm1_src,
            op0,
            op1,
            num_active_channels: self.lanes,
            reverse_operands: ReverseOps::NONE,
            dst: self.tensor(to),
        };
        operands.write(&mut self.case.word);
    }

    fn iota(&mut self) {
        let dtype = self.dtype();
        let mut step = || match self.rng.random_range(0..4) {
            0 => self.rng.random_range(i16::MIN..=i16::MAX),
            _ => self.rng.random_range(-3..=3),
        };
        let step = [step(), step(), step(), step()];
        let far = self.rng.random_bool(0.3);
        let operands = D4_IOTA {
            generator: Data4d {
                base: if far { number(self.rng) as i32 } else { self.rng.random_range(-100..=100) },
                step,
                num: self.counts(),
            },
            out_dtype: dtype,
            num_active_channels: self.lanes,
            channel_multiplier: if far { number(self.rng) as i32 } else { self.rng.random_range(-9..=9) },
            dst: self.tensor(dtype),
        };
        operands.write(&mut self.case.word);
    }

    /// Operator, datatypes of the sources, and of the halves of the result.
    fn wide_parts(&mut self) -> (AluOp, DtypePair, DtypePair) {
        const OPS: [AluOp; 8] = [
            AluOp::ADD_INT,
            AluOp::SUBTRACT_INT,
            AluOp::MULT_INT,
            AluOp::MULT_UINT,
            AluOp::ARITH_SHIFT_LEFT,
            AluOp::ARITH_SHIFT_RIGHT,
            AluOp::LOGICAL_SHIFT_LEFT,
            AluOp::LOGICAL_SHIFT_RIGHT,
        ];
        let op = *OPS.choose(self.rng).unwrap();
        let sources = DtypePair::new(self.one(NARROW), self.one(NARROW));
        (op, sources, DtypePair::new(self.one(NARROW), self.one(NARROW)))
    }

    fn wide_tensors(&mut self) {
        let (op, src_dtype, dst_dtype) = self.wide_parts();
        let (src0, src1): (Tensor<2>, Tensor<2>) =
            (self.tensor(src_dtype.low()), self.tensor(src_dtype.high()));
        if self.rng.random_bool(0.5) {
            self.small_counts(&deeper(&src1), src_dtype.high());
        }
        let operands = S2S2D2D2_TT {
            src_dtype,
            dst_dtype,
            op,
            num_active_channels: self.lanes,
            src0,
            src1,
            dst0: self.tensor(dst_dtype.low()),
            dst1: self.tensor(dst_dtype.high()),
        };
        operands.write(&mut self.case.word);
    }

    fn wide_scalar(&mut self) {
        let (op, src_dtype, dst_dtype) = self.wide_parts();
        let (imm_src, imm) = self.bit_scalar(src_dtype.high());
        let operands = S2D2D2_TS_WIDE {
            src_dtype,
            dst_dtype,
            op,
            num_active_channels: self.lanes,
            src: self.tensor(src_dtype.low()),
            dst0: self.tensor(dst_dtype.low()),
            dst1: self.tensor(dst_dtype.high()),
            imm_src,
            imm,
        };
        operands.write(&mut self.case.word);
    }
}

/// The same pattern with dimensions of one element behind its own.
fn deeper<const N: usize>(tensor: &Tensor<N>) -> Tensor<4> {
    let (mut step, mut num) = ([1; 4], [1; 4]);
    step[..N].copy_from_slice(&tensor.step);
    num[..N].copy_from_slice(&tensor.num);
    Tensor { start: tensor.start, step, num }
}
