//! Rules of the gathering words of POOL (chapter 06 sections 2 and 3).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::interp::gather::GROUP;
use crate::isa::field::Addr4;
use crate::isa::layouts::{CTRL_IM, S4_PB, S4D4_GT, S4D4_IC};
use crate::isa::operand::{Addr4Form, Tensor};
use crate::isa::{Dtype, Space};
use crate::machine::hidden::BUFFER_ELEMENTS;

/// Indices of a GATHER.
const GATHER_INDEX: DtypeSet = DtypeSet::of(&[Dtype::UINT8, Dtype::UINT16, Dtype::UINT32]);

/// Runs of an INDIRECT_COPY in one word (chapter 06 section 3).
const MOST_RUNS: u64 = 4096;

pub(super) fn pool_buffer_load(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4_PB>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, gates::D12);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes).only(Space::Sbuf));
    c.count_in("src", &o.src, 1..=BUFFER_ELEMENTS as u64);
}

pub(super) fn gather(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_GT>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    c.dtype("in_dtype", o.in_dtype, GATHER_INDEX);
    c.dtype("out_dtype", o.out_dtype, gates::D12);
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, lanes));
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes));
    c.count("dst", &o.dst, o.src.count());
    c.value("index_miss_behavior", o.index_miss_behavior, o.index_miss_behavior <= 1, "0 or 1");
    c.value("free_pool_buffer", o.free_pool_buffer, o.free_pool_buffer <= 1, "0 or 1");
}

pub(super) fn indirect_copy(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D4_IC>() else { return };
    let lanes = c.lanes("num_active_channels", o.num_active_channels);
    if (1..=128).contains(&lanes) {
        let groups = lanes.is_multiple_of(GROUP as u32);
        c.value("num_active_channels", lanes, groups, "a multiple of 16");
    }
    c.dtype("in_dtype", o.in_dtype, gates::D12);
    c.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
    let run = o.src_num_elem_per_idx;
    c.value("src_num_elem_per_idx", run, [1, 2, 4, 8, 16, 32].contains(&run), "1, 2, 4, 8, 16 or 32");
    let scatter = o.dst_num_elem_per_idx;
    c.value("dst_num_elem_per_idx", scatter, scatter == 0, "0 (no scatter form)");
    c.value("dst_buffer_size", o.dst_buffer_size, o.dst_buffer_size == 0, "0 (no scatter form)");
    c.value("src_buffer_size", o.src_buffer_size, o.src_buffer_size > 1, "more than 1");
    c.indexed_source(o, lanes);
    c.tensor("dst", &o.dst, OperandUse::write(o.out_dtype, lanes).only(Space::Sbuf));
    c.count("dst", &o.dst, o.src.num_elem.into());
}

pub(super) fn pool_argument(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_IM>() else { return };
    c.value("param_ram_offset", o.param_ram_offset, o.param_ram_offset == 0, "0");
    for (i, pointer) in o.immediate.iter().enumerate().filter(|(i, _)| o.imm_ptr_select >> i & 1 == 1) {
        match Addr4(*pointer).form() {
            Addr4Form::Immediate(_) => {
                let cell: Tensor<1> = Tensor { start: Addr4(*pointer), step: [1], num: [1] };
                c.tensor("immediate", &cell, OperandUse::read(Dtype::UINT32, 1).only(Space::Sbuf));
            }
            _ => {
                let found = format_args!("{pointer:#x}");
                c.report_in(rules::ADDRESS_FORM, "immediate", 4 * i, found, "a pointer of 29 bits");
            }
        }
    }
}

impl Checker<'_> {
    /// The index list and the elements that it selects, each a contiguous run in every lane.
    fn indexed_source(&mut self, o: &S4D4_IC, lanes: u32) {
        let run = u64::from(o.src_num_elem_per_idx);
        let length = u64::from(o.src.num_elem);
        let whole = run != 0 && length != 0 && length.is_multiple_of(run) && length / run <= MOST_RUNS;
        if run != 0 && !whole {
            let expected = format_args!("up to {MOST_RUNS} runs of {run}");
            self.report_in(rules::ELEMENT_COUNT, "src", 8, length, expected);
        }
        if o.src.reserved != [0; 10] {
            self.report_in(rules::RESERVED_BYTE, "src", 10, "set bytes", "0");
        }
        let slots = length.checked_div(run).unwrap_or(1).div_ceil(GROUP as u64).max(1) as u16;
        let sbuf = |dtype| OperandUse::read(dtype, lanes).only(Space::Sbuf);
        if let Addr4Form::Indirect(index) = o.src.index.form() {
            self.tensor("src", &flat(Addr4(index), slots), sbuf(Dtype::UINT16));
        }
        self.tensor("src", &flat(o.src.data, o.src_buffer_size.max(1)), sbuf(o.in_dtype));
    }
}

fn flat(start: Addr4, n: u16) -> Tensor<1> {
    Tensor { start, step: [1], num: [n] }
}
