//! Rules of TENSOR_TENSOR (chapter 04 sections 3.1 and 3.2, chapter 03 sections 7.3 and 7.4).

use super::address::OperandUse;
use super::{Checker, gates, rules};
use crate::isa::layouts::S3S3D3_TT;
use crate::isa::{AluOp, AluSet, EngineId, Generation};

pub(super) fn arith(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3S3D3_TT>() else { return };
    let (a, b) = (o.in0_in1_dtype.low(), o.in0_in1_dtype.high());
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in0_in1_dtype", a, gates::D14);
    c.dtype("in0_in1_dtype", b, gates::D14);
    c.dtype("out_dtype", o.out_dtype, gates::D15);

    let src0 = c.tensor("src0", &o.src0, OperandUse::read(a, lanes));
    let src1 = c.tensor("src1", &o.src1, OperandUse::read(b, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.two_sources("src1", src0, src1);
    c.count("src1", &o.src1, o.src0.count());
    c.count("dst", &o.dst, o.src0.count());

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
