//! Rules of the activation opcodes (chapter 05 sections 3.2, 3.4, 3.6, 3.7).

use super::address::OperandUse;
use super::gates;
use super::{Checker, rules};
use crate::act;
use crate::isa::Dtype;
use crate::isa::field::{AccumCmd, Imm, ImmSrc, ImmSrcN};
use crate::isa::layouts::{CTRL_NO_23, D1_RD, S3D3_AC, S3D3_AQ};

pub(super) fn activate(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_AC>() else { return };
    let (in_dtype, bias_dtype) = (o.in_bias_dtype.low(), o.in_bias_dtype.high());
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_bias_dtype", in_dtype, gates::D12);
    c.dtype("in_bias_dtype", bias_dtype, gates::BIAS);
    c.dtype("out_dtype", o.out_dtype, gates::D13);
    c.tensor("src", &o.src, OperandUse::read(in_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.count("dst", &o.dst, o.src.count());

    let bias_source = match o.bias_src_n {
        ImmSrcN::PTR => ImmSrc::PTR,
        ImmSrcN::REG_PTR => ImmSrc::REG_PTR,
        _ => ImmSrc::INSTRUCTION,
    };
    c.scalar("scale_value", o.scale_value, o.scale_src, Dtype::FP32, lanes);
    c.scalar("bias", o.bias, bias_source, bias_dtype, lanes);
    // real words hold a dummy pointer in an `imm` that nothing reads
    if o.activation_func == act::PARAMETRIC_RELU || o.accumulator_cmd == AccumCmd::LOAD_ACCUMULATE {
        c.scalar("imm", o.imm, o.imm_src, Dtype::FP32, lanes);
    }

    c.function(o.activation_func);
}

pub(super) fn quantize(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_AQ>() else { return };
    let (in_dtype, bias_dtype) = (o.in_bias_dtype.low(), o.in_bias_dtype.high());
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_bias_dtype", in_dtype, gates::QUANTIZE);
    c.dtype("in_bias_dtype", bias_dtype, gates::BIAS);
    c.dtype("out_dtype", o.out_dtype, gates::U8);
    c.tensor("src", &o.src, OperandUse::read(in_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.count("dst", &o.dst, o.src.count());
    c.scalar("bias_addr", Imm(o.bias_addr.0), ImmSrc::PTR, bias_dtype, lanes);
    for (field, scale) in [("quant_scale", o.quant_scale), ("dequant_scale", o.dequant_scale)] {
        c.value(field, scale.value(), scale.value() != 0.0, "not 0");
    }
    let parametric = o.activation_func == act::PARAMETRIC_RELU;
    c.value("activation_func", o.activation_func, !parametric, "a function without a parameter");
    c.function(o.activation_func);
}

impl Checker<'_> {
    /// The function has a definition or one of the container's tables.
    pub(super) fn function(&mut self, id: u8) {
        let in_tables = self.cx.activation_functions.is_some_and(|f| f[usize::from(id)]);
        if !in_tables && act::by_id(id).is_none() {
            let expected = "a function with a definition or a table";
            self.report(rules::ACTIVATION_FUNCTION, "activation_func", id, expected);
        }
    }
}

pub(super) fn read_accumulator(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<D1_RD>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("dtype", o.dtype, gates::ACCUMULATOR);
    c.value("negated", o.negated, o.negated == 0, "0");
    if o.dst_element_count != 1 {
        c.report(rules::ELEMENT_COUNT, "dst_element_count", o.dst_element_count, 1);
    }
    c.tensor("dst", &o.dst, OperandUse::write(o.dtype, lanes));
    c.count("dst", &o.dst, 1);
}

pub(super) fn table_load(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_NO_23>() else { return };
    let sets = c.cx.activation_sets;
    if let Some(sets) = sets.filter(|sets| usize::from(o.act_tbl_sel) >= *sets) {
        let expected = format_args!("one of the container's {sets} table sets");
        c.report(rules::ACTIVATION_SET, "act_tbl_sel", o.act_tbl_sel, expected);
    }
}
