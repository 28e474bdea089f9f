//! Rules of SPARSITY_COMPRESS and SPARSITY_COMPRESS_TAG (chapter 05 section 9).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::interp::compress::{Extreme, WINNERS};
use crate::isa::field::Subdim;
use crate::isa::layouts::{S2D2D2_SC, S3D3_SC};
use crate::isa::operand::Tensor;
use crate::isa::{Dtype, Space};

/// Data of SPARSITY_COMPRESS.
const DATA: DtypeSet = gates::FP8.and(gates::F16);
/// Tags in a tensor of their own.
const TAGS: DtypeSet = DtypeSet::of(&[Dtype::UINT8, Dtype::UINT16, Dtype::UINT32]);
/// Largest group whose tags have four bits.
const PACKED_GROUP: u64 = 16;

pub(super) fn compress(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_SC>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::D12);
    c.dtype("out_data_dtype", o.out_data_dtype, DATA);
    let pair = if o.out_data_dtype.bytes() == 1 { Dtype::UINT16 } else { Dtype::UINT32 };
    c.same_dtype("out_struct_dtype", o.out_struct_dtype, pair);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_struct_dtype, lanes));
    let group = c.groups(o.op, (o.op_dim, 4), (o.transpose_src, lanes), &o.src);
    if let Some(group) = group {
        c.count("dst", &o.dst, o.src.count() / group * WINNERS as u64);
    }
}

pub(super) fn compress_tag(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2D2D2_SC>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::D12);
    c.dtype("out_data_dtype", o.out_data_dtype, gates::D13);
    c.value("packed_tags", o.packed_tags, o.packed_tags <= 1, "0 or 1");
    let packed = o.packed_tags == 1;
    c.dtype("out_tag_dtype", o.out_tag_dtype, if packed { DtypeSet::of(&[Dtype::UINT16]) } else { TAGS });
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
    let data = c.tensor("data_dst", &o.data_dst, OperandUse::write(o.out_data_dtype, lanes));
    let tags = OperandUse::write(o.out_tag_dtype, lanes).only(Space::Sbuf);
    let tag = c.tensor("tag_dst", &o.tag_dst, tags);
    if data.is_some_and(|d| d.space == Space::Sbuf) {
        c.two_sources("tag_dst", data, tag);
    }
    let group = c.groups(o.op, (o.op_dim, 2), (o.transpose_src, lanes), &o.src);
    if let Some(group) = group {
        let winners = o.src.count() / group * WINNERS as u64;
        c.count("data_dst", &o.data_dst, winners);
        c.count("tag_dst", &o.tag_dst, if packed { winners / WINNERS as u64 } else { winners });
        if packed && group > PACKED_GROUP {
            c.report(rules::FIELD_VALUE, "packed_tags", 1, "0 in groups of more than 16 elements");
        }
    }
}

impl Checker<'_> {
    /// What the word looks for, in which groups; returns the elements of a group.
    fn groups<const N: usize>(
        &mut self,
        op: u8,
        (op_dim, most): (Subdim, usize),
        (transpose, lanes): (u8, u32),
        src: &Tensor<N>,
    ) -> Option<u64> {
        self.value("op", op, Extreme::of(op).is_some(), "8 (MIN), 9 (MAX), 32 (ABS_MIN) or 33 (ABS_MAX)");
        self.value("transpose_src", transpose, transpose <= 1, "0 or 1");
        if transpose == 1 {
            self.value(
                "transpose_src",
                transpose,
                lanes.is_multiple_of(32),
                "0 unless on 32, 64, 96 or 128 lanes",
            );
            if !src.count().is_multiple_of(32) {
                self.report_count("src", src, "a multiple of 32");
            }
        }
        Subdim::TABLE.name_of(op_dim.0)?;
        let dims = usize::from(op_dim.0).saturating_sub(1); // X is 2
        let legal = (1..=most.min(4)).contains(&dims);
        self.value("op_dim", op_dim.0, legal, if most < 4 { "X or XY" } else { "X, XY, XYZ or XYZW" });
        let group: u64 = src.num.iter().take(dims).map(|n| u64::from(*n)).product();
        if group != 0 && group < WINNERS as u64 {
            self.report_count("src", src, "groups of at least 4 elements");
        }
        (legal && group >= WINNERS as u64).then_some(group)
    }
}
