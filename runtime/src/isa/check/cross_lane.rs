//! Rules of CROSS_LANE_REDUCE (chapter 04 section 7).

use super::Checker;
use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use crate::isa::Space;
use crate::isa::field::ReduceOp;
use crate::isa::layouts::S4D4_CR;

pub(super) fn arith(c: &mut Checker<'_>) {
    let ops = [ReduceOp::ADD, ReduceOp::AVERAGE, ReduceOp::MAX];
    c.cross_lane(gates::D12, gates::D13, &ops, "ADD, AVERAGE or MAX");
}

pub(super) fn bitvec(c: &mut Checker<'_>) {
    let ops = [ReduceOp::OR, ReduceOp::AND, ReduceOp::XOR];
    c.cross_lane(gates::I6, gates::I6, &ops, "OR, AND or XOR");
    let Some(o) = c.operands::<S4D4_CR>() else { return };
    c.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
}

impl Checker<'_> {
    fn cross_lane(&mut self, inputs: DtypeSet, outputs: DtypeSet, ops: &[ReduceOp], expected: &str) {
        let Some(o) = self.operands::<S4D4_CR>() else { return };
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, inputs);
        self.dtype("out_dtype", o.out_dtype, outputs);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes).only(Space::Sbuf));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, 1).only(Space::Sbuf));
        let member = ReduceOp::TABLE.name_of(o.reduce_op.0).is_some(); // else reported already
        self.value("reduce_op", o.reduce_op.0, !member || ops.contains(&o.reduce_op), expected);
        self.value("reduce_axis", o.reduce_axis, o.reduce_axis <= 1, "0 (all) or 1 (partitions)");
        match o.reduce_axis {
            0 => self.count("dst", &o.dst, 1),
            1 => self.count("dst", &o.dst, o.src.count()),
            _ => {}
        }
    }
}
