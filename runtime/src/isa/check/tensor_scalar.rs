//! Rules of TENSOR_SCALAR, its pointer and bit-vector forms and its transposing form (chapter 04 sections 4.1 to
//! 4.4).

use super::address::OperandUse;
use super::gates::DtypeSet;
use super::{Checker, gates, rules};
use crate::isa::field::{AccumCmd, Imm, ImmSrc};
use crate::isa::layouts::S3D3_TS;
use crate::isa::{AluOp, AluSet, Dtype, EngineId, Generation};

/// Operator pairs of ACT (chapter 04 section 4.2).
const ACT_PAIRS: &[(AluOp, AluOp)] =
    &[(AluOp::MULT, AluOp::ADD), (AluOp::MULT, AluOp::BYPASS), (AluOp::ADD, AluOp::BYPASS)];

/// Lanes and elements of the tiles that transposing words read.
const TILE: u64 = 32;

pub(super) fn arith(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_TS>() else { return };
    let lanes = c.tensor_scalar(o, gates::D12, gates::D13);
    c.scalar("imm0", o.imm0, o.imm0_src, Dtype::FP32, lanes);
    c.scalar("imm1", o.imm1, o.imm1_src, Dtype::FP32, lanes);
    c.command("accumulator_cmd", o.accumulator_cmd, &[AccumCmd::IDLE], "IDLE");
    c.operators(o);
}

pub(super) fn transpose_arith(c: &mut Checker<'_>) {
    arith(c);
    let Some(o) = c.operands::<S3D3_TS>() else { return };
    c.tiles(o.num_active_channels, o.src.count());
}

pub(super) fn ptr_arith(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_TS>() else { return };
    c.tensor_scalar(o, gates::D12, gates::D13);
    c.pointers(o, Dtype::FP32);
    c.operators(o);
}

pub(super) fn bitvec(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_TS>() else { return };
    let lanes = c.tensor_scalar(o, gates::I6, gates::I6);
    c.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
    c.bit_scalar("imm0", o.imm0, o.imm0_src, o.in_dtype, lanes);
    c.bit_scalar("imm1", o.imm1, o.imm1_src, o.in_dtype, lanes);
    c.command("accumulator_cmd", o.accumulator_cmd, &[AccumCmd::IDLE], "IDLE");
    c.bit_operators(o);
}

pub(super) fn ptr_bitvec(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_TS>() else { return };
    c.tensor_scalar(o, gates::I6, gates::I6);
    c.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
    c.pointers(o, o.in_dtype);
    c.bit_operators(o);
}

impl Checker<'_> {
    /// Lanes, dtypes and tensors of a word with this struct; returns the lanes.
    pub(super) fn tensor_scalar(&mut self, o: &S3D3_TS, inputs: DtypeSet, outputs: DtypeSet) -> u32 {
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, inputs);
        self.dtype("out_dtype", o.out_dtype, outputs);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.count("dst", &o.dst, o.src.count());
        lanes
    }

    /// Immediates of the pointer forms: sources are 0, both values are pointers.
    fn pointers(&mut self, o: &S3D3_TS, dtype: Dtype) {
        let lanes = u32::from(o.num_active_channels);
        for (field, source) in [("imm0_src", o.imm0_src), ("imm1_src", o.imm1_src)] {
            let member = ImmSrc::TABLE.name_of(source.0).is_some(); // else reported already
            self.value(field, source.0, !member || source == ImmSrc::INSTRUCTION, "0, though a pointer");
        }
        self.scalar("imm0", o.imm0, ImmSrc::PTR, dtype, lanes);
        self.scalar("imm1", o.imm1, ImmSrc::PTR, dtype, lanes);
        self.command("accumulator_cmd", o.accumulator_cmd, &[AccumCmd::IDLE], "IDLE");
    }

    /// A scalar of raw bits: inline ones have no bits above the dtype.
    pub(super) fn bit_scalar(
        &mut self,
        field: &'static str,
        value: Imm,
        source: ImmSrc,
        dtype: Dtype,
        lanes: u32,
    ) {
        self.scalar(field, value, source, dtype, lanes);
        let bits = 8 * dtype.bytes() as u32;
        if source == ImmSrc::INSTRUCTION && (1..32).contains(&bits) && value.0 >> bits != 0 {
            let expected = format_args!("{bits} bits of {}", dtype.text());
            self.report(rules::IMMEDIATE_WIDTH, field, format_args!("{:#x}", value.0), expected);
        }
    }

    /// Lanes and elements of a transposing word.
    pub(super) fn tiles(&mut self, lanes: u8, elements: u64) {
        if !u64::from(lanes).is_multiple_of(TILE) {
            self.report(rules::TRANSPOSE_TILES, "num_active_channels", lanes, "32, 64, 96 or 128");
        }
        if !elements.is_multiple_of(TILE) {
            self.report(rules::TRANSPOSE_TILES, "src", elements, "a multiple of 32 elements");
        }
    }

    fn operators(&mut self, o: &S3D3_TS) {
        let rsqrt = o.op0 == AluOp::RSQRT;
        if rsqrt {
            self.rsqrt(o);
        } else if self.vector_integer(o) {
            self.dtype("in_dtype", o.in_dtype, gates::I6);
            self.dtype("out_dtype", o.out_dtype, gates::I6);
        } else {
            self.operator("op0", o.op0, self.in_set(o.op0, AluSet::GA), "general arithmetic or RSQRT");
            self.operator("op1", o.op1, self.in_set(o.op1, AluSet::GA), "general arithmetic");
        }
        self.operator_order(o);
        match self.cx.engine {
            EngineId::Act => {
                let pair = format!("{},{}", o.op0.text(), o.op1.text());
                if !ACT_PAIRS.contains(&(o.op0, o.op1)) {
                    let expected = "MULTIPLY,ADD or MULTIPLY,BYPASS or ADD,BYPASS";
                    self.report(rules::ENGINE_ARM, "op0", format_args!("{pair} on ACT"), expected);
                }
            }
            EngineId::Dve => self.engine_arm("op0", o.op0, !rsqrt),
            _ => {}
        }
    }

    fn operator_order(&mut self, o: &S3D3_TS) {
        if o.op0 == AluOp::BYPASS && o.op1 != AluOp::BYPASS {
            self.report(rules::OPERATOR_ORDER, "op1", o.op1.text(), "BYPASS, as op0 is BYPASS");
        }
    }

    /// Bit-vector operators: narrow elements are not cut off between the two, so that bits shifted out to the
    /// left, and signs, need elements as wide as the lane.
    fn bit_operators(&mut self, o: &S3D3_TS) {
        self.operator("op0", o.op0, self.in_set(o.op0, AluSet::BV), "a bit-vector operator");
        self.operator("op1", o.op1, self.in_set(o.op1, AluSet::BV), "a bit-vector operator");
        self.operator_order(o);
        let left = matches!(o.op0, AluOp::ARITH_SHIFT_LEFT | AluOp::LOGICAL_SHIFT_LEFT);
        let right = matches!(o.op1, AluOp::ARITH_SHIFT_RIGHT | AluOp::LOGICAL_SHIFT_RIGHT);
        let signed = [o.op0, o.op1].contains(&AluOp::ARITH_SHIFT_RIGHT);
        if (signed || left && right) && matches!(o.in_dtype.bytes(), 1 | 2) {
            let found = format_args!("{},{} of {}", o.op0.text(), o.op1.text(), o.in_dtype.text());
            self.report(rules::SHIFT_DTYPE, "op0", found, "elements of four bytes");
        }
    }

    /// The integer form of MAVERICK: both operators in its set, one at least not general arithmetic.
    fn vector_integer(&self, o: &S3D3_TS) -> bool {
        let ops = [o.op0, o.op1];
        self.cx.generation == Generation::Maverick
            && ops.iter().all(|op| self.in_set(*op, AluSet::DI))
            && !ops.iter().all(|op| self.in_set(*op, AluSet::GA))
    }

    fn rsqrt(&mut self, o: &S3D3_TS) {
        let immediates = o.imm0_src == ImmSrc::INSTRUCTION && o.imm1_src == ImmSrc::INSTRUCTION;
        if o.op1 != AluOp::BYPASS || !immediates || o.imm0.0 != 0 || o.imm1.0 != 0 {
            let found = format_args!(
                "op1 {}, sources {} {}, values {:#x} {:#x}",
                o.op1.text(),
                o.imm0_src.0,
                o.imm1_src.0,
                o.imm0.0,
                o.imm1.0
            );
            self.report(rules::RSQRT_FORM, "op0", found, "op1 BYPASS, sources 0, values 0");
        }
    }
}
