//! Rules of preloaded scalars (chapter 04 section 4.7).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::AluSet;
use crate::isa::field::{Imm, ImmSrc, ReverseOps, Subdim};
use crate::isa::layouts::{S2_BN, S4D4_TSM};
use crate::machine::hidden::PreloadedScalars;

pub(super) fn load_arith(c: &mut Checker<'_>) {
    c.preload(gates::D12);
}

pub(super) fn load_bitvec(c: &mut Checker<'_>) {
    c.preload(gates::BITS);
}

pub(super) fn arith(c: &mut Checker<'_>) {
    c.preloaded(gates::D12, gates::D13, AluSet::GA, "general arithmetic");
}

pub(super) fn bitvec(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_TSM>() else { return };
    c.preloaded(gates::BITS, gates::BITS, AluSet::BV, "a bit-vector operator");
    c.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
}

impl Checker<'_> {
    fn preload(&mut self, gate: DtypeSet) {
        let Some(o) = self.operands::<S2_BN>() else { return };
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("dtype", o.dtype, gate);
        self.tensor("src", &o.src, OperandUse::read(o.dtype, lanes));
        if o.src.count() > PreloadedScalars::PER_LANE as u64 {
            self.report(rules::ELEMENT_COUNT, "src", o.src.count(), "1..8");
        }
        self.no_immediates(o);
    }

    /// Immediates of a word with this struct that has none.
    fn no_immediates(&mut self, o: &S2_BN) {
        self.value("imm1", o.imm1.0, o.imm1 == Imm(0), "0");
        self.value("imm0_ptr", o.imm0_ptr.0, o.imm0_ptr == Imm(0), "0");
        let member = ImmSrc::TABLE.name_of(o.imm0_src.0).is_some(); // else reported already
        self.value("imm0_src", o.imm0_src.0, !member || o.imm0_src == ImmSrc::INSTRUCTION, "0");
    }

    fn preloaded(&mut self, inputs: DtypeSet, outputs: DtypeSet, set: AluSet, expected: &str) {
        let Some(o) = self.operands::<S4D4_TSM>() else { return };
        let lanes = self.lanes("num_active_channels", o.num_active_channels);
        self.dtype("in_dtype", o.in_dtype, inputs);
        self.dtype("out_dtype", o.out_dtype, outputs);
        self.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
        self.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
        self.count("dst", &o.dst, o.src.count());
        self.operator("op", o.op, self.in_set(o.op, set), expected);
        let slices = o.src.num[3];
        if usize::from(slices) > PreloadedScalars::PER_LANE {
            self.report(rules::ELEMENT_COUNT, "src", format_args!("{slices} slices"), "1..8");
        }
        let dims = Subdim::TABLE.name_of(o.op_dim.0).is_none() || o.op_dim == Subdim::XYZ;
        self.value("op_dim", o.op_dim.0, dims, "XYZ");
        let both_or_none = !matches!(o.reverse_operands, ReverseOps::FIRST | ReverseOps::SECOND);
        self.value("reverse_operands", o.reverse_operands.0, both_or_none, "NONE or BOTH");
    }
}
