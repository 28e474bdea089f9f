//! Rules of SORT, NONZERO_WITH_COUNT and GET_SEQUENCE_BOUNDS (chapter 06 section 5).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::field::Imm;
use crate::isa::layouts::{S1D2_SORT, S3D3_NONZERO_WITH_COUNT, S3D3_SEQ_BOUNDS};
use crate::isa::{AluOp, Dtype, Space};

/// Elements that a SORT takes over all lanes, of 16 and of 32 bits.
const SORT_16: u64 = 4096;
const SORT_32: u64 = 2048;

/// Dtypes of SORT.
const SORTED: DtypeSet =
    DtypeSet::of(&[Dtype::INT16, Dtype::UINT16]).and(gates::F16).and(gates::I32).and(gates::F32);

/// FP32 and INT32.
const WHOLE: DtypeSet = DtypeSet::of(&[Dtype::INT32, Dtype::FP32]);

/// Byte of the second count of a two-dimensional operand.
const RANKS: usize = 10;

pub(super) fn sort(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S1D2_SORT>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    let dtype = o.in_out_dtype.low();
    c.dtype("in_out_dtype", dtype, SORTED);
    c.same_dtype("in_out_dtype", o.in_out_dtype.high(), dtype);
    c.tensor("src", &o.src, OperandUse::read(dtype, lanes).only(Space::Sbuf));
    c.tensor("dst", &o.dst, OperandUse::write(dtype, lanes).only(Space::Sbuf));
    let legal = matches!(o.comparison, AluOp::IS_LT | AluOp::IS_GT);
    c.operator("comparison", o.comparison, legal, "IS_LT or IS_GT");
    c.value("stable", o.stable, o.stable <= 1, "0 or 1");
    c.scalar("index_offset", Imm(o.index_offset), o.index_offset_src, Dtype::UINT32, lanes);
    let limit = if dtype.bytes() == 2 { SORT_16 } else { SORT_32 };
    let n = o.src.count();
    if SORTED.contains(dtype) && n * u64::from(lanes) > limit {
        c.report_count("src", &o.src, format_args!("{limit} elements over all lanes"));
    }
    let [pair, ranks] = o.dst.num;
    if pair != 0 && pair != 2 {
        c.report_in(rules::ELEMENT_COUNT, "dst", RANKS - 2, pair, 2);
    }
    if n != 0 && u64::from(ranks) > n {
        c.report_in(rules::ELEMENT_COUNT, "dst", RANKS, ranks, format_args!("1 to {n}"));
    }
}

pub(super) fn nonzero(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_NONZERO_WITH_COUNT>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, WHOLE);
    c.dtype("out_dtype", o.out_dtype, DtypeSet::of(&[Dtype::INT32]));
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes).only(Space::Sbuf));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes).only(Space::Sbuf));
    c.scalar("index_offset", o.index_offset, o.index_offset_src, Dtype::INT32, lanes);
    c.scalar("padding_val", o.padding_val, o.padding_val_src, Dtype::INT32, lanes);
    if o.src.count() != 0 {
        c.count("dst", &o.dst, o.src.count() + 1);
    }
}

pub(super) fn sequence_bounds(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_SEQ_BOUNDS>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    if (1..=128).contains(&lanes) {
        c.value("num_active_channels", lanes, lanes == 1, "1");
    }
    c.dtype("in_dtype", o.in_dtype, WHOLE);
    c.dtype("out_dtype", o.out_dtype, WHOLE);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes).only(Space::Sbuf));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes).only(Space::Sbuf));
    c.count("dst", &o.dst, 2 * o.src.count());
    let halves = o.dst.num[2];
    if halves != 0 && halves != 2 {
        c.report_in(rules::ELEMENT_COUNT, "dst", 14, halves, 2);
    }
}
