//! Rules of TENSOR_TENSOR, its bit-vector form and its BF16 forms (chapter 04 sections 3.1, 3.2 and 3.4, chapter 03
//! sections 7.3 and 7.4).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::layouts::S3S3D3_TT;
use crate::isa::{AluOp, AluSet, Dtype, EngineId, Generation, Tensor};

pub(super) fn arith(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3S3D3_TT>() else { return };
    let (a, b) = (o.in0_in1_dtype.low(), o.in0_in1_dtype.high());
    c.tensor_tensor(o, [gates::D14, gates::D14, gates::D15]);
    let integer = c.in_set(o.op, AluSet::IS);
    let legal = integer || o.op == AluOp::POW || c.in_set(o.op, AluSet::GA);
    c.operator("op", o.op, legal, "general arithmetic, POW or the integer set");
    let dtypes = [("in0_in1_dtype", a), ("in0_in1_dtype", b), ("out_dtype", o.out_dtype)];
    let wide = dtypes.iter().find(|(_, d)| d.is_64bit());
    match wide {
        Some((field, dtype)) if !integer || c.cx.generation == Generation::Sunda => {
            c.report(rules::DTYPE_64BIT, field, dtype.text(), "64 bits with integer operators, not on sunda");
        }
        _ if integer => c.integer_operands(o.op, &dtypes),
        _ => {}
    }
    let has_hardware = match c.cx.engine {
        EngineId::Dve => o.op != AluOp::POW && !integer,
        EngineId::Pool => integer || matches!(o.op, AluOp::POW | AluOp::ADD | AluOp::SUBTRACT | AluOp::MULT),
        _ => true,
    };
    c.engine_arm("op", o.op, !legal || has_hardware);
}

pub(super) fn bitvec(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3S3D3_TT>() else { return };
    let integers = gates::I6.and(gates::I64);
    let (a, b, to) = (o.in0_in1_dtype.low(), o.in0_in1_dtype.high(), o.out_dtype);
    c.tensor_tensor(o, [integers; 3]);
    let legal = c.in_set(o.op, AluSet::BV);
    c.operator("op", o.op, legal, "a bit-vector operator");
    c.same_dtype("in0_in1_dtype", a, to);
    let shift = matches!(
        o.op,
        AluOp::ARITH_SHIFT_LEFT
            | AluOp::ARITH_SHIFT_RIGHT
            | AluOp::LOGICAL_SHIFT_LEFT
            | AluOp::LOGICAL_SHIFT_RIGHT
    );
    if !(shift && a.is_64bit() && b == Dtype::UINT32) {
        c.same_dtype("in0_in1_dtype", b, to);
    }
    if to.is_64bit() {
        if c.cx.generation == Generation::Sunda {
            c.report(rules::DTYPE_64BIT, "out_dtype", to.text(), "at most 32 bits on sunda");
        }
        c.engine_arm("op", o.op, !legal || c.cx.engine != EngineId::Dve);
    }
}

pub(super) fn add_bf16(c: &mut Checker<'_>) {
    c.pairs(AluOp::ADD);
}

pub(super) fn mult_bf16(c: &mut Checker<'_>) {
    c.pairs(AluOp::MULT);
}

pub(super) fn sub_bf16(c: &mut Checker<'_>) {
    c.pairs(AluOp::SUBTRACT);
}

impl Checker<'_> {
    /// Lanes, dtypes (of the sources, then of the result) and tensors of a word with this struct.
    pub(super) fn tensor_tensor(&mut self, o: &S3S3D3_TT, dtypes: [DtypeSet; 3]) {
        self.tensor_tensor_aligned(o, dtypes, 1);
    }

    fn tensor_tensor_aligned(&mut self, o: &S3S3D3_TT, dtypes: [DtypeSet; 3], alignment: u32) {
        let (a, b) = (o.in0_in1_dtype.low(), o.in0_in1_dtype.high());
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in0_in1_dtype", a, dtypes[0]);
        self.dtype("in0_in1_dtype", b, dtypes[1]);
        self.dtype("out_dtype", o.out_dtype, dtypes[2]);
        let read = |dtype| {
            let operand = OperandUse::read(dtype, lanes);
            OperandUse { alignment: operand.alignment.max(alignment), ..operand }
        };
        let src0 = self.tensor("src0", &o.src0, read(a));
        let src1 = self.tensor("src1", &o.src1, read(b));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.two_sources("src1", src0, src1);
        self.count("src1", &o.src1, o.src0.count());
        self.count("dst", &o.dst, o.src0.count());
    }

    /// A BF16 form: elements are fetched in pairs of four bytes.
    fn pairs(&mut self, op: AluOp) {
        let Some(o) = self.operands::<S3S3D3_TT>() else { return };
        self.tensor_tensor_aligned(o, [gates::BF16, gates::BF16, gates::D13], 4);
        self.operator("op", o.op, o.op == op, &op.text());
        self.pair_pattern("src0", &o.src0);
        self.pair_pattern("src1", &o.src1);
    }

    fn pair_pattern(&mut self, field: &'static str, tensor: &Tensor<3>) {
        let outer_odd = (1..3).any(|d| tensor.num[d] > 1 && tensor.step[d] % 2 != 0);
        if !tensor.num[0].is_multiple_of(2) || tensor.step[0] != 1 || outer_odd {
            let found = format_args!("steps {:?}, counts {:?}", tensor.step, tensor.num);
            self.report(rules::BF16_PAIRS, field, found, "step 1, an even count, even outer steps");
        }
    }
}
