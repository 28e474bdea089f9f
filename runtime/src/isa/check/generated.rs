//! Rules of generated DMA by index and transposing (chapter 06 sections 4 and 6.2 to 6.5).

use super::address::OperandUse;
use super::gates;
use super::{Checker, rules};
use crate::interp::generated::{IndexFlags, MOST_INDICES, TILE_ROWS};
use crate::isa::field::{Addr4, BoundReg, WaitMode};
use crate::isa::layouts::{DMA_COPY2D, DMA_DIRECT2D_XPOSE, DMA_GATHER_XPOSE, DMA_INDIRECT1D};
use crate::isa::operand::Tensor;
use crate::isa::{Dtype, PARTITIONS, Space};

/// Destinations of transposing words and their steps are multiples of this.
const LINE: i64 = 32;

pub(super) fn indirect(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<DMA_INDIRECT1D>() else { return };
    c.value("dma_configs", o.dma_configs, o.dma_configs <= 4, "a priority class 0..4");
    c.dtype("in_dtype", o.in_dtype, gates::DMA);
    c.dtype("out_dtype", o.out_dtype, gates::DMA);
    c.bound("src_idx_bound_reg", o.src_idx_bound_reg);
    c.bound("dst_idx_bound_reg", o.dst_idx_bound_reg);
    let flags = o.flags.0;
    let sides = IndexFlags(flags).sides();
    c.value("flags", flags, sides.is_ok() && flags & 0xF0 == 0, "mode 0 to 2, dimensions X");
    let Ok((gather, scatter)) = sides else { return };
    let n = if gather { o.src_num_elem } else { o.dst_num_elem };
    if gather {
        c.index_list("src_idx_start_addr", o.src_idx_start_addr, o.idx_num_active_channels, n);
    }
    if scatter {
        c.index_list("dst_idx_start_addr", o.dst_idx_start_addr, o.idx_num_active_channels, n);
    }
}

pub(super) fn transpose(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<DMA_DIRECT2D_XPOSE>() else { return };
    c.value("dma_configs", o.dma_configs, o.dma_configs <= 4, "a priority class 0..4");
    c.dtype("in_dtype", o.in_dtype, gates::TRANSPOSED);
    c.same_dtype("out_dtype", o.out_dtype, o.in_dtype);
    c.bound("src_bound_reg", o.src_bound_reg);
    c.bound("dst_bound_reg", o.dst_bound_reg);
    c.value("tile_src_rows", o.tile_src_rows, o.tile_src_rows == TILE_ROWS, TILE_ROWS);
    let most = if o.in_dtype.bytes() == 4 { 64 } else { 128 };
    let columns = o.tile_src_cols;
    c.value("tile_src_cols", columns, (1..=most).contains(&columns), format_args!("1 to {most}"));
    for d in 0..2 {
        c.line_step("dst_step_elem", d, o.dst_step_elem[d], o.dst_num_elem[d]);
    }
    let product = |counts: [u16; 2]| u64::from(counts[0]) * u64::from(counts[1]);
    let (found, expected) = (product(o.dst_num_elem), product(o.src_num_elem) * u64::from(columns));
    if found != expected {
        c.report(rules::ELEMENT_COUNT, "dst_num_elem", found, expected);
    }
}

pub(super) fn gather_transpose(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<DMA_GATHER_XPOSE>() else { return };
    c.value("dma_configs", o.dma_configs, o.dma_configs <= 4, "a priority class 0..4");
    c.dtype("dtype", o.dtype.low(), gates::HALVES);
    c.same_dtype("dtype", o.dtype.high(), o.dtype.low());
    c.bound("src_idx_bound_reg", o.src_idx_bound_reg);
    c.bound("dst_bound_reg", o.dst_bound_reg);
    c.value("flags", o.flags, o.flags & 0xFB == 1, "dimension Y (1)");
    let size = o.elem_size;
    let even = size.is_multiple_of(2) && (2..=256).contains(&size);
    c.value("elem_size", size, even, "an even number 2 to 256");
    let [parts, n] = o.src_num_elem;
    c.value("src_num_elem", n, n.is_multiple_of(16), "a multiple of 16 indices");
    let elements = u64::from(parts) * u64::from(size / 2);
    let found = o.dst_num_elem.map(u64::from);
    if found != [u64::from(n), elements] {
        let [columns, rows] = found;
        let found = format_args!("{columns} by {rows}");
        c.report(rules::ELEMENT_COUNT, "dst_num_elem", found, format_args!("{n} by {elements}"));
    }
    c.line_step("dst_step_elem_1", 0, o.dst_step_elem_1, o.dst_num_elem[1]);
    c.index_list("src_idx_start_addr", o.src_idx_start_addr, o.idx_num_active_channels, n);
}

pub(super) fn copy2d(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<DMA_COPY2D>() else { return };
    let bytes = |counts: [u16; 2], size: u16| {
        let run = if size == 0 { 65536 } else { u64::from(size) };
        u64::from(counts[0]) * u64::from(counts[1]) * run
    };
    let read = bytes(o.src_num_elem, o.src_elem_size);
    let written = bytes(o.dst_num_elem, o.dst_elem_size);
    if read != written {
        c.report(
            rules::ELEMENT_COUNT,
            "dst_num_elem",
            format_args!("{written} bytes"),
            format_args!("{read} bytes"),
        );
    }
    for (field, index) in [
        ("rd_done_sema_update_idx", o.rd_done_sema_update_idx),
        ("wr_done_sema_update_idx", o.wr_done_sema_update_idx),
    ] {
        c.value(field, index, index <= 255, "a semaphore 0 to 255");
    }
    let events =
        [WaitMode::EVT_SET, WaitMode::EVT_SET_THEN_CLEAR, WaitMode::EVT_CLEAR, WaitMode::EVT_CLEAR_THEN_SET];
    let mode = o.wait_sema_mode;
    c.value("wait_sema_mode", mode.0, !events.contains(&mode), "a wait for a semaphore");
}

impl Checker<'_> {
    fn bound(&mut self, field: &'static str, bound: BoundReg) {
        let bits = bound.0;
        if bits != 0 && bits & 0x80 == 0 {
            self.report(
                rules::BOUND_REGISTER,
                field,
                format_args!("{bits:#x}"),
                "0, or bit 7 and a register",
            );
        }
    }

    /// A step that is taken lands on a line.
    fn line_step(&mut self, field: &'static str, d: usize, step: i32, count: u16) {
        if count > 1 && i64::from(step) % LINE != 0 {
            self.report_in(rules::ALIGNMENT, field, 4 * d, step, format_args!("a multiple of {LINE}"));
        }
    }

    /// Indices in SBUF, from partition 0.
    fn index_list(&mut self, field: &'static str, start: Addr4, lanes: u8, n: u16) {
        let most = MOST_INDICES as u16;
        if n > most {
            self.report(rules::ELEMENT_COUNT, field, n, format_args!("at most {most} indices"));
        }
        let lanes = u16::from(lanes).clamp(1, PARTITIONS as u16);
        let slots: Tensor<1> = Tensor { start, step: [1], num: [n.min(most).div_ceil(lanes).max(1)] };
        let list = OperandUse::read(Dtype::UINT32, lanes.into()).only(Space::Sbuf);
        if let Some(location) = self.tensor(field, &slots, list).filter(|l| l.partition != 0) {
            let found = format_args!("partition {}", location.partition);
            self.report(rules::START_PARTITION, field, found, "partition 0");
        }
    }
}
