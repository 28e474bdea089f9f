//! Rules of the collectives (chapter 06 section 10.1, chapter 07 section 9.1).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::interp::collective::reduces;
use crate::isa::field::{LncSize, UpdateMode};
use crate::isa::layouts::{PSEUDO_TRIGGER_COLLECTIVE, S3D3_COLLECTIVE};
use crate::isa::{AluOp, Dtype, Space};

/// Elements a lane that SB2SB_COLLECTIVE moves at most.
const LONGEST: u64 = 256;

/// Dtypes of collectives.
const REDUCED: DtypeSet = gates::F16.and(gates::F32).and(DtypeSet::of(&[Dtype::INT32]));

pub(super) fn sb2sb(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3D3_COLLECTIVE>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::D12);
    c.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes).only(Space::Sbuf));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes).only(Space::Sbuf));
    c.count_in("src", &o.src, 1..=LONGEST);
    c.count("dst", &o.dst, o.src.count());
    let size = o.lnc_size_fmt;
    if LncSize::TABLE.name_of(size.0).is_some() {
        c.value("lnc_size_fmt", size.0, matches!(size, LncSize::LNC1 | LncSize::LNC2), "0 or 1");
    }
}

pub(super) fn trigger(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<PSEUDO_TRIGGER_COLLECTIVE>() else { return };
    c.dtype("dtype", o.dtype, REDUCED);
    if reduces(o.ctype) {
        let legal = matches!(o.op, AluOp::ADD | AluOp::MULT | AluOp::MAX | AluOp::MIN);
        c.operator("op", o.op, legal, "ADD, MULT, MAX or MIN");
    }
    let update = c.decoded.events.update_mode;
    if update != UpdateMode::SEM_INC_COMPLETE && UpdateMode::TABLE.name_of(update.0).is_some() {
        let found = format_args!("0x{:02x}", update.0);
        c.report_at(rules::FIELD_VALUE, 6, "update_mode", found, "0x13 (SEM_INC_COMPLETE)");
    }
}
