//! Rules of the register ALU (chapter 02 sections 8.9 and 9).

use super::{Checker, rules};
use crate::isa::field::DataSrc;
use crate::isa::layouts::CTRL_AL;
use crate::isa::{AluOp, AluSet, Dtype, Generation};

pub(super) fn alu_op(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_AL>() else { return };
    let wide = o.dtype.is_64bit();
    c.register_number("src0_lo", 0, o.src0_lo);
    c.register_number("dst_lo", 0, o.dst_lo);
    if o.src1_datasrc == DataSrc::REGISTER {
        c.register_number("src1_lo", 0, o.src1_lo);
    }
    if wide {
        c.register_number("src0_hi", 0, o.src0_hi);
        if o.src1_datasrc == DataSrc::REGISTER {
            c.register_number("src1_hi", 0, o.src1_hi);
        }
        c.register_number("dst_hi", 0, o.dst_hi);
    }
    let narrow =
        [Dtype::INT8, Dtype::UINT8, Dtype::INT16, Dtype::UINT16, Dtype::INT32, Dtype::UINT32, Dtype::FP32];
    if !wide && !narrow.contains(&o.dtype) {
        c.report(rules::DTYPE, "dtype", o.dtype.text(), "an integer or fp32");
    }
    if o.dst_dtype != Dtype::INVALID && o.dst_dtype != o.dtype {
        c.report(rules::DTYPE, "dst_dtype", o.dst_dtype.text(), "0 or the dtype of the sources");
    }
    // Operators that only the tensor engines have (section 9).
    let class = [AluOp::POW, AluOp::CRC32, AluOp::RSQRT, AluOp::SYMMETRIC_CLAMP].contains(&o.op);
    let argument = (AluOp::AMAX_INT.0..=AluOp::AMIN_UINT.0).contains(&o.op.0);
    if class || argument {
        c.report(rules::ALU_OP, "op", o.op.text(), "an operator of the register ALU");
    }
    let integer_band = o.op.in_set(AluSet::IS, Generation::Maverick) && o.op != AluOp::MOD;
    if o.dtype == Dtype::FP32 && integer_band {
        c.report(rules::ALU_OP, "op", o.op.text(), "an operator on fp32");
    }
}
