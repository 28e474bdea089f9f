//! Rules of ACTIVATE2 (chapter 05 section 3.5).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::act::PARAMETRIC_RELU;
use crate::isa::field::{Addr4, Imm, ImmSrc, ReduceCmd};
use crate::isa::layouts::S2D2_AC;
use crate::isa::operand::Addr4Form;
use crate::isa::{AluOp, Location, Space};

/// Legal pairs of operators.
const PAIRS: &[(AluOp, AluOp)] = &[
    (AluOp::MULT, AluOp::ADD),
    (AluOp::MULT, AluOp::SUBTRACT),
    (AluOp::MULT, AluOp::BYPASS),
    (AluOp::ADD, AluOp::BYPASS),
    (AluOp::SUBTRACT, AluOp::BYPASS),
    (AluOp::BYPASS, AluOp::BYPASS),
];

/// Operators that reduce.
const REDUCTIONS: &[AluOp] = &[AluOp::ADD, AluOp::MAX, AluOp::MIN, AluOp::ABS_MAX, AluOp::ABS_MIN];

pub(super) fn activate2(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2D2_AC>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::D12);
    c.dtype("out_dtype", o.out_dtype, gates::D13);
    c.dtype("imm_dtype", o.imm_dtype, gates::D12);
    let src = c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.count("dst", &o.dst, o.src.count());
    if !PAIRS.contains(&(o.op0, o.op1)) && [o.op0, o.op1].iter().all(|op| op.exists_on(c.cx.generation)) {
        let found = format_args!("{},{}", o.op0.text(), o.op1.text());
        c.report(rules::OPERATOR_PAIR, "op0", found, "MULTIPLY and ADD, SUBTRACT or BYPASS, or one operator");
    }
    c.value("reverse_operands", o.reverse_operands, o.reverse_operands <= 3, "0..3");
    match o.reduce_cmd {
        ReduceCmd::IDLE => c.operator("reduce_op", o.reduce_op, o.reduce_op == AluOp::BYPASS, "BYPASS"),
        _ => {
            let legal = REDUCTIONS.contains(&o.reduce_op);
            c.operator("reduce_op", o.reduce_op, legal, "ADD, MAX, MIN, ABS_MAX or ABS_MIN");
        }
    }
    c.function(o.activation_func);
    // an immediate that nothing reads may be anything
    let immediates = [
        (o.op0 != AluOp::BYPASS, "imm0", o.imm0, o.imm0_src),
        (o.op1 != AluOp::BYPASS, "imm1", o.imm1, o.imm1_src),
        (o.activation_func == PARAMETRIC_RELU, "relu_param", o.relu_param, o.relu_param_src),
    ];
    for (_, field, value, source) in immediates.into_iter().filter(|(read, ..)| *read) {
        c.scalar(field, value, source, o.imm_dtype, lanes);
        c.same_quadrant(field, src, value, source);
    }
}

impl Checker<'_> {
    /// Erratum 3071: pointers lie in the quadrant of a source in SBUF.
    fn same_quadrant(&mut self, field: &'static str, src: Option<Location>, value: Imm, source: ImmSrc) {
        let Addr4Form::Immediate(address) = Addr4(value.0).form() else { return };
        let at = self.cx.generation.geometry().locate(address);
        let (Some(src), Some(at), ImmSrc::PTR) = (src, at, source) else { return };
        let quadrant = |l: Location| l.partition / 32;
        if src.space == Space::Sbuf && (at.space != Space::Sbuf || quadrant(at) != quadrant(src)) {
            let found = format_args!("{} quadrant {}", at.space, quadrant(at));
            self.report(
                rules::IMMEDIATE_QUADRANT,
                field,
                found,
                format_args!("sbuf quadrant {}", quadrant(src)),
            );
        }
    }
}
