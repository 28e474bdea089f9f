//! Gathering words of POOL (chapter 06 sections 2 and 3, chapter 05 section 6.5).

use super::lanes::read_lane;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::Addr4;
use crate::isa::layouts::{CTRL_IM, S4_PB, S4D4_GT, S4D4_IC};
use crate::isa::{Addr4Form, Decoded, Dtype, PARTITIONS, Space, Tensor};
use crate::machine::hidden::{BUFFER_ELEMENTS, GatherBuffer};

/// Partitions that share the indices of an INDIRECT_COPY.
pub const GROUP: usize = 16;

/// POOL_BUFFER_LOAD (section 2.1): raw elements into the gather buffer.
pub fn pool_buffer_load(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4_PB>(w)?;
    let src = x.tensor("src", &o.src, o.in_dtype, o.num_active_channels, Access::Read)?;
    if src.count > BUFFER_ELEMENTS || src.size > 4 {
        let found = format!("{} elements of {} bytes", src.count, src.size);
        return Err(FaultKind::illegal("src", found, "at most 512 elements of at most 4 bytes"));
    }
    let mut data = std::mem::take(&mut x.core().pool.buffer.data);
    data.resize(PARTITIONS * BUFFER_ELEMENTS, 0);
    for lane in 0..usize::from(o.num_active_channels) {
        let slots = &mut data[(src.partition + lane) * BUFFER_ELEMENTS..];
        for (slot, element) in slots.iter_mut().zip(read_lane(x.core(), &src, lane).chunks_exact(src.size)) {
            *slot = zero_extended(element);
        }
    }
    let (width, count, start_index, mask) = (src.size, src.count, o.start_index, o.mask);
    x.core().pool.buffer = GatherBuffer { data, width, count, start_index, mask, valid: true };
    Ok(Flow::Next)
}

/// GATHER (section 2.2): table elements by index, one after the other in walk order.
pub fn gather(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_GT>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    if dst.count != src.count {
        return Err(FaultKind::illegal("dst", format!("{} elements", dst.count), src.count.to_string()));
    }
    let buffer = &x.core().pool.buffer;
    if buffer.valid && buffer.width != dst.size {
        let expected = format!("a dtype of the {} bytes that were loaded", buffer.width);
        return Err(FaultKind::illegal("out_dtype", o.out_dtype.text(), expected));
    }
    let on_miss = (o.index_miss_behavior == 0).then_some(o.immediate.0);
    let buffer = std::mem::take(&mut x.core().pool.buffer);
    let mut stale = false;
    for lane in 0..usize::from(lanes) {
        stale |= gather_lane(x, &buffer, (&src, &dst), lane, on_miss);
    }
    let valid = buffer.valid && o.free_pool_buffer == 0;
    x.core().pool.buffer = GatherBuffer { valid, ..buffer };
    if stale {
        x.machine.warn(format!("core {}: a GATHER reads beyond the elements loaded, as zero", x.core));
    }
    Ok(Flow::Next)
}

/// Gathers one lane; whether an index hit the part of the buffer that the last load left alone.
fn gather_lane(
    x: &mut Exec<'_>,
    buffer: &GatherBuffer,
    (src, dst): (&Walk, &Walk),
    lane: usize,
    on_miss: Option<u32>,
) -> bool {
    let (mut from, mut to) = (src.start(), dst.start());
    let mut index = [0; 4];
    let index = &mut index[..src.size];
    let mut stale = false;
    for _ in 0..src.count {
        src.gather(&mut from, x.core().memory(src.space), lane, index);
        let value = match buffer.slot(zero_extended(index)) {
            Some(slot) if slot < buffer.count => {
                Some(buffer.data[(dst.partition + lane) * BUFFER_ELEMENTS + slot])
            }
            Some(_) => {
                stale = true;
                Some(0)
            }
            None => on_miss,
        };
        match value {
            Some(bits) => {
                let bytes = &bits.to_le_bytes()[..dst.size];
                dst.scatter(&mut to, x.core().memory_mut(dst.space), lane, bytes);
            }
            None => dst.skip(&mut to),
        }
    }
    stale
}

impl GatherBuffer {
    /// The element that a table index selects; `None` if the load does not answer it (00 A14).
    fn slot(&self, index: u32) -> Option<usize> {
        let hit = self.valid && index & !self.mask == self.start_index & !self.mask;
        hit.then_some((index & self.mask) as usize)
    }
}

fn zero_extended(element: &[u8]) -> u32 {
    let mut bytes = [0; 4];
    bytes[..element.len()].copy_from_slice(element);
    u32::from_le_bytes(bytes)
}

/// INDIRECT_COPY (section 3): runs of elements at offsets that each group of 16 partitions shares. The
/// indices of all groups are read first, then each lane copies in walk order.
pub fn indirect_copy(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_IC>(w)?;
    let lanes = o.num_active_channels;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let run = usize::from(o.src_num_elem_per_idx);
    let length = usize::from(o.src.num_elem);
    let whole_groups = usize::from(lanes).is_multiple_of(GROUP);
    if o.in_dtype != o.out_dtype {
        return Err(FaultKind::illegal("out_dtype", o.out_dtype.text(), o.in_dtype.text()));
    }
    if run == 0 || !length.is_multiple_of(run) || length != dst.count || !whole_groups {
        let found = format!("{length} elements in runs of {run} for {} on {lanes} lanes", dst.count);
        return Err(FaultKind::illegal("src", found, "whole runs, as many as dst, on groups of 16 lanes"));
    }
    let size = usize::from(o.src_buffer_size);
    let data = flat(x, o.src.data, o.src_buffer_size, o.in_dtype, lanes)?;
    let per_lane = (length / run).div_ceil(GROUP) as u16;
    let index = flat(x, index_address(x, o.src.index)?, per_lane, Dtype::UINT16, lanes)?;
    let mut groups = Vec::new();
    for first in (0..usize::from(lanes)).step_by(GROUP) {
        groups.push(group_indices(x, &index, first, length / run)?);
    }
    if let Some(far) = groups.iter().flatten().find(|at| **at + run > size)
        && x.machine.options.strict
    {
        return Err(FaultKind::illegal(
            "src",
            format!("index {far}"),
            format!("runs of {run} inside {size}"),
        ));
    }
    for (lane, at) in
        (0..usize::from(lanes)).flat_map(|lane| groups[lane / GROUP].iter().map(move |at| (lane, *at)))
    {
        let (start, end) = (at.min(size), (at + run).min(size));
        x.expect_written("src", &data, lane, start..end)?;
    }
    for lane in 0..usize::from(lanes) {
        let mut to = dst.start();
        for offset in groups[lane / GROUP].iter().flat_map(|at| *at..at + run) {
            let mut element = [0; 8];
            let element = &mut element[..dst.size];
            if offset < size {
                let at = data.offset + offset * dst.size;
                let row = x.core().memory(data.space).partition(data.partition + lane);
                element.copy_from_slice(&row[at..at + dst.size]);
            }
            dst.scatter(&mut to, x.core().memory_mut(dst.space), lane, element);
        }
    }
    Ok(Flow::Next)
}

/// `n` consecutive elements a lane from an address. Only some are read, so that they are not all expected to
/// have been written.
fn flat(x: &Exec<'_>, start: Addr4, n: u16, dtype: Dtype, lanes: u8) -> Result<Walk, FaultKind> {
    x.tensor("src", &Tensor { start, step: [1], num: [n] }, dtype, lanes, Access::Write)
}

/// The address of the index list as an ordinary start address.
fn index_address(x: &Exec<'_>, index: Addr4) -> Result<Addr4, FaultKind> {
    match index.form() {
        Addr4Form::Indirect(address) => Ok(Addr4(address)),
        Addr4Form::IndirectRegister(number) => x.start_address("src", Addr4::register(number)).map(Addr4),
        _ => Err(FaultKind::illegal("src", format!("0x{:08x}", index.0), "the address of an index list")),
    }
}

/// Index k of a group: partition k mod 16, slot k div 16.
fn group_indices(x: &mut Exec<'_>, index: &Walk, first: usize, n: usize) -> Result<Vec<usize>, FaultKind> {
    let lists: Vec<Vec<u8>> = (0..GROUP).map(|lane| read_lane(x.core(), index, first + lane)).collect();
    let mut indices = Vec::with_capacity(n);
    for (lane, slot) in (0..n).map(|k| (k % GROUP, k / GROUP)) {
        x.expect_written("src", index, first + lane, slot..slot + 1)?;
        indices.push(zero_extended(&lists[lane][2 * slot..][..2]) as usize);
    }
    Ok(indices)
}

/// LOAD_POOL_ARGUMENT (chapter 05 section 6.5): values, or words of SBUF, for the kernels of POOL.
pub fn pool_argument(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<CTRL_IM>(w)?;
    let mut arguments = o.immediate;
    for (i, argument) in arguments.iter_mut().enumerate().filter(|(i, _)| o.imm_ptr_select >> i & 1 == 1) {
        let cell = Tensor { start: Addr4(o.immediate[i]), step: [1], num: [1] };
        let walk = x.tensor("immediate", &cell, Dtype::UINT32, 1, Access::Read)?;
        if walk.space != Space::Sbuf {
            return Err(FaultKind::illegal("immediate", "PSUM", "an address in SBUF"));
        }
        *argument = zero_extended(&read_lane(x.core(), &walk, 0));
    }
    x.core().pool.arguments = arguments;
    Ok(Flow::Next)
}
