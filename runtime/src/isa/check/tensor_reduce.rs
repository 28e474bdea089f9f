//! Rules of TENSOR_REDUCE, its bit-vector, transposing and BF16 forms (chapter 04 sections 6 to 6.3).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::field::Subdim;
use crate::isa::layouts::S4D4_TR;
use crate::isa::{AluOp, AluSet, EngineId, Generation};

/// Integer operators of a reduce (chapter 04 Q1).
const INTEGER_FOLDS: &[AluOp] = &[
    AluOp::ADD_INT,
    AluOp::MULT_INT,
    AluOp::SUBTRACT_INT,
    AluOp::MAX_INT,
    AluOp::MIN_INT,
    AluOp::MAX_UINT,
    AluOp::MIN_UINT,
    AluOp::ABS_MAX_INT,
    AluOp::ABS_MIN_INT,
];

/// Position of the extreme element, as UINT32 (chapter 04 Q2).
const SIGNED_POSITIONS: &[AluOp] = &[AluOp::AMAX_INT, AluOp::AMIN_INT];
const UNSIGNED_POSITIONS: &[AluOp] = &[AluOp::AMAX_UINT, AluOp::AMIN_UINT];

pub(super) fn arith(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.reduce(o, gates::D14, gates::D15);
    let position = [SIGNED_POSITIONS, UNSIGNED_POSITIONS].concat().contains(&o.op);
    let integer = position || INTEGER_FOLDS.contains(&o.op);
    let legal = integer || c.in_set(o.op, AluSet::GA);
    c.operator("op", o.op, legal, "general arithmetic or an integer fold");
    let wide = [("in_dtype", o.in_dtype), ("out_dtype", o.out_dtype)].into_iter().find(|(_, d)| d.is_64bit());
    match wide {
        _ if position => c.position(o),
        _ if integer => c.integer_fold(o),
        Some((field, dtype)) => {
            c.report(rules::DTYPE_64BIT, field, dtype.text(), "64 bits with integer operators only")
        }
        None => {}
    }
    // chapter 00 A14: POOL of CAYMAN has no kernel for the integer forms either
    let has_hardware = match c.cx.engine {
        EngineId::Dve => !integer,
        EngineId::Pool => integer && c.cx.generation != Generation::Cayman,
        _ => true,
    };
    c.engine_arm("op", o.op, !legal || has_hardware);
}

pub(super) fn transpose_arith(c: &mut Checker<'_>) {
    arith(c);
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.tiles(o.num_active_channels, o.src.count());
}

pub(super) fn bitvec(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.reduce(o, gates::BITS, gates::BITS);
    c.folded_bits(o);
    if o.negated == 1 {
        c.report(rules::FIELD_VALUE, "negated", 1, "0");
    }
}

pub(super) fn transpose_bitvec(c: &mut Checker<'_>) {
    bitvec(c);
    let Some(o) = c.operands::<S4D4_TR>() else { return };
    c.tiles(o.num_active_channels, o.src.count());
}

pub(super) fn add_bf16(c: &mut Checker<'_>) {
    c.reduce_bf16(AluOp::ADD);
}

pub(super) fn max_bf16(c: &mut Checker<'_>) {
    c.reduce_bf16(AluOp::MAX);
}

impl Checker<'_> {
    fn reduce_bf16(&mut self, op: AluOp) {
        let Some(o) = self.operands::<S4D4_TR>() else { return };
        self.reduce(o, gates::BF16, gates::D13);
        self.operator("op", o.op, o.op == op, &op.text());
        if o.src.num[0] % 2 != 0 || o.src.step[0] != 1 {
            let found = format_args!("step {}, count {}", o.src.step[0], o.src.num[0]);
            self.report(rules::BF16_PAIRS, "src", found, "step 1, an even count");
        }
    }

    /// What both reduces obey. The BF16 form reads pairs, so its source is aligned to four bytes.
    fn reduce(&mut self, o: &S4D4_TR, inputs: DtypeSet, outputs: DtypeSet) {
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, inputs);
        self.dtype("out_dtype", o.out_dtype, outputs);
        let read = OperandUse::read(o.in_dtype, lanes);
        let read = if inputs == gates::BF16 { OperandUse { alignment: 4, ..read } } else { read };
        self.tensor("src", &o.src, read);
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.value("negated", o.negated, o.negated <= 1, "0 or 1");
        self.value("mask_enable", o.mask_enable, o.mask_enable == 0, "0");
        self.value("op_dim", o.op_dim.0, o.op_dim != Subdim::UNUSED, "X, XY, XYZ or XYZW");
        if Subdim::TABLE.name_of(o.op_dim.0).is_some() && o.op_dim != Subdim::UNUSED {
            let folded = usize::from(o.op_dim.0) - 1; // X is 2
            self.count("dst", &o.dst, o.src.num[folded..].iter().map(|n| u64::from(*n)).product());
        }
    }

    /// An integer fold: source of 32 or 64 bits, an integer result of the same signedness.
    fn integer_fold(&mut self, o: &S4D4_TR) {
        self.integer_operands(o.op, &[("in_dtype", o.in_dtype)]);
        if !o.out_dtype.is_integer() || o.out_dtype.is_signed() != o.in_dtype.is_signed() {
            let expected = "an integer of the signedness of in_dtype";
            self.report(rules::INTEGER_DTYPE, "out_dtype", o.out_dtype.text(), expected);
        }
    }

    /// An arg-max or arg-min: the operator fixes the source's signedness, the result is UINT32.
    fn position(&mut self, o: &S4D4_TR) {
        let signed = SIGNED_POSITIONS.contains(&o.op);
        if !gates::I32.and(gates::I64).contains(o.in_dtype) || o.in_dtype.is_signed() != signed {
            let expected = if signed { "int32 or int64" } else { "uint32 or uint64" };
            self.report(rules::INTEGER_DTYPE, "in_dtype", o.in_dtype.text(), expected);
        }
        self.dtype("out_dtype", o.out_dtype, gates::U32);
    }
}
