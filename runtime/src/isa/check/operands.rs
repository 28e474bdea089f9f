//! Rules that opcodes share: lanes, tensor operands, scalars, element counts, datatypes, operators.

use std::fmt;
use std::ops::RangeInclusive;

use super::address::{AddressFault, OperandUse, each_fault, two_source_rule};
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::field::{Addr4, Imm, ImmSrc};
use crate::isa::operand::{Addr4Form, Tensor};
use crate::isa::{AluOp, AluSet, Dtype, Location, PARTITIONS};

/// Byte of the counts in a tensor operand of `N` dimensions.
const fn counts_at(dimensions: usize) -> usize {
    4 + 2 * dimensions
}

impl Checker<'_> {
    /// The number of active lanes.
    pub(super) fn lanes(&mut self, field: &'static str, lanes: u8) -> u32 {
        if !(1..=PARTITIONS).contains(&usize::from(lanes)) {
            self.report(rules::CHANNEL_COUNT, field, lanes, "1..128");
        }
        u32::from(lanes)
    }

    /// Counts and, unless a register holds the address, the address rules of a tensor operand. Returns
    /// where it starts, if that is known.
    pub(super) fn tensor<const N: usize>(
        &mut self,
        field: &'static str,
        tensor: &Tensor<N>,
        operand: OperandUse,
    ) -> Option<Location> {
        let address = match tensor.start.form() {
            Addr4Form::Immediate(address) => Some(address),
            Addr4Form::Register(..) => None,
            _ => return None, // refused by the generic rules
        };
        for (d, _) in tensor.num.iter().enumerate().filter(|(_, n)| **n == 0) {
            self.report_in(rules::COUNT_ZERO, field, counts_at(N) + 2 * d, 0, "at least 1");
        }
        self.addresses(field, address?, &tensor.step, &tensor.num, operand)
    }

    fn addresses(
        &mut self,
        field: &'static str,
        address: u32,
        step: &[i16],
        num: &[u16],
        operand: OperandUse,
    ) -> Option<Location> {
        let geometry = self.cx.generation.geometry();
        let operand = operand.on(self.cx.engine);
        each_fault(&geometry, address, step, num, &operand, |fault| self.fault(field, fault))
    }

    /// Reports a broken address rule.
    pub(super) fn fault(&mut self, field: &'static str, fault: AddressFault) {
        let (found, expected) = fault.parts();
        self.report(fault.rule(), field, found, expected);
    }

    /// The rule for the two sources of a word; a register-held address waives it.
    pub(super) fn two_sources(&mut self, field: &'static str, a: Option<Location>, b: Option<Location>) {
        if let (Some(a), Some(b)) = (a, b)
            && let Err(fault) = two_source_rule(a, b)
        {
            self.fault(field, fault);
        }
    }

    /// A scalar operand: a pointer obeys the address rules of one element a lane.
    pub(super) fn scalar(
        &mut self,
        field: &'static str,
        value: Imm,
        source: ImmSrc,
        dtype: Dtype,
        lanes: u32,
    ) {
        match source {
            ImmSrc::PTR => match Addr4(value.0).form() {
                Addr4Form::Immediate(address) => {
                    self.addresses(field, address, &[0], &[1], OperandUse::read(dtype, lanes));
                }
                _ => {
                    let found = format_args!("{:#x}", value.0);
                    self.report(rules::ADDRESS_FORM, field, found, "a pointer of 29 bits");
                }
            },
            ImmSrc::REG_PTR => {
                self.register_operand((self.offset(field), field, value.0), true);
            }
            _ => {}
        }
    }

    /// The element count of an operand; zero counts are reported by [`Checker::tensor`].
    pub(super) fn count<const N: usize>(&mut self, field: &'static str, tensor: &Tensor<N>, expected: u64) {
        let found = tensor.count();
        if found != 0 && expected != 0 && found != expected {
            self.report_in(rules::ELEMENT_COUNT, field, counts_at(N), found, expected);
        }
    }

    /// An element count with limits; zero counts are reported by [`Checker::tensor`].
    pub(super) fn count_in<const N: usize>(
        &mut self,
        field: &'static str,
        tensor: &Tensor<N>,
        limits: RangeInclusive<u64>,
    ) {
        if !limits.contains(&tensor.count()) {
            let (least, most) = limits.into_inner();
            self.report_count(field, tensor, format_args!("{least} to {most}"));
        }
    }

    /// Reports an element count; zero counts are reported by [`Checker::tensor`].
    pub(super) fn report_count<const N: usize>(
        &mut self,
        field: &'static str,
        tensor: &Tensor<N>,
        expected: impl fmt::Display,
    ) {
        let found = tensor.count();
        if found != 0 {
            self.report_in(rules::ELEMENT_COUNT, field, counts_at(N), found, expected);
        }
    }

    /// A datatype that must be another operand's. What that one's gate refuses is reported there.
    pub(super) fn same_dtype(&mut self, field: &'static str, dtype: Dtype, other: Dtype) {
        if dtype != other {
            self.report(rules::DTYPE, field, dtype.text(), other.text());
        }
    }

    /// A datatype gate.
    pub(super) fn dtype(&mut self, field: &'static str, dtype: Dtype, gate: DtypeSet) {
        let exists = dtype == Dtype::INVALID || dtype.exists_on(self.cx.generation); // else reported already
        if exists && !gate.contains(dtype) {
            self.report(rules::DTYPE, field, dtype.text(), gate);
        }
    }

    /// A field with few legal values.
    pub(super) fn value<T: PartialEq + fmt::Display + Copy>(
        &mut self,
        field: &'static str,
        found: T,
        legal: bool,
        expected: impl fmt::Display,
    ) {
        if !legal {
            self.report(rules::FIELD_VALUE, field, found, expected);
        }
    }

    /// Membership of an operator in what the opcode accepts; operators that do not exist or are refused
    /// have been reported.
    pub(super) fn operator(&mut self, field: &'static str, op: AluOp, legal: bool, expected: &str) {
        if !legal && op.exists_on(self.cx.generation) && op != AluOp::CRC32 {
            self.report(rules::ALU_OP, field, op.text(), expected);
        }
    }

    /// Membership in a predicate set on the target.
    pub(super) fn in_set(&self, op: AluOp, set: AluSet) -> bool {
        op.in_set(set, self.cx.generation)
    }

    /// Dtypes of an operator of the integer set: all of one signedness that the operator has, all of 32
    /// or all of 64 bits; narrower ones fit no engine (chapter 04 T1).
    pub(super) fn integer_operands(&mut self, op: AluOp, dtypes: &[(&'static str, Dtype)]) {
        let Some((_, first)) = dtypes.first() else { return };
        let gate = if first.is_64bit() { gates::I64 } else { gates::I32 };
        let signed_ok = !first.is_signed() || self.in_set(op, AluSet::SG);
        let unsigned_ok = first.is_signed() || self.in_set(op, AluSet::UN);
        for (field, dtype) in dtypes {
            let one_sign = dtype.is_signed() == first.is_signed() && signed_ok && unsigned_ok;
            if !gate.contains(*dtype) || !one_sign {
                let expected = format_args!("operands of {} with one legal signedness", op.text());
                self.report(rules::INTEGER_DTYPE, field, dtype.text(), expected);
            }
        }
    }

    /// An operator that the engine of this stream has no hardware for.
    pub(super) fn engine_arm(&mut self, field: &'static str, op: AluOp, legal: bool) {
        if !legal {
            let found = format_args!("{} on {}", op.text(), self.cx.engine);
            self.report(rules::ENGINE_ARM, field, found, "an operator that the engine has");
        }
    }
}
