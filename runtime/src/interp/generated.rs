//! Generated DMA beside DMAMEMCPY: by index, transposing, and the second form of the copy (chapter 06
//! sections 4 and 6.2 to 6.5). Registers and indices are read when the word issues.

use super::dma::{limit, mapped, move_op, run_bytes, submit, target};
use super::fault::Address;
use super::{Exec, FaultKind, Flow};
use crate::isa::field::{Addr4, Addr8, BoundReg, DgeComputeOp};
use crate::isa::layouts::{DMA_COPY2D, DMA_DIRECT2D_XPOSE, DMA_GATHER_XPOSE, DMA_INDIRECT1D};
use crate::isa::{Decoded, PARTITIONS, Space};
use crate::machine::dma::{Move, MoveOp, Pattern, RINGS};
use crate::machine::soc::Target;

/// Indices of one word (chapter 06 section 4).
pub const MOST_INDICES: usize = 4096;

/// Rows of a tile that DMA_TRANSPOSE turns (chapter 06 section 6.4).
pub const TILE_ROWS: u8 = 16;

/// DMA_INDIRECT (chapter 06 section 4): runs at addresses that indices select, in ascending order.
pub fn indirect(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<DMA_INDIRECT1D>(w)?;
    let flags = IndexFlags(o.flags.0);
    let (gather, scatter) = flags.sides()?;
    let n = usize::from(if gather { o.src_num_elem } else { o.dst_num_elem });
    let lanes = o.idx_num_active_channels;
    let sources = if gather {
        indices(x, "src_idx_start_addr", (o.src_idx_start_addr, lanes), n, (o.src_idx_bound_reg, flags))?
    } else {
        (0..n as u32).map(Some).collect()
    };
    let destinations = if scatter {
        indices(x, "dst_idx_start_addr", (o.dst_idx_start_addr, lanes), n, (o.dst_idx_bound_reg, flags))?
    } else {
        (0..n as u32).map(Some).collect()
    };
    if scatter && !flags.allows_duplicates() && x.machine.options.strict {
        warn_duplicates(x, &destinations);
    }
    let source = target(x, "src_start_addr", o.src_start_addr)?;
    let destination = target(x, "dst_start_addr", o.dst_start_addr)?;
    let op = move_op(o.compute_op, o.in_dtype, o.out_dtype);
    let mut moves = Vec::with_capacity(n);
    for (from, to) in sources.into_iter().zip(destinations) {
        let (Some(from), Some(to)) = (from, to) else { continue };
        let from = shifted("src_start_addr", source, i64::from(from) * i64::from(o.src_step_elem))?;
        let to = shifted("dst_start_addr", destination, i64::from(to) * i64::from(o.dst_step_elem))?;
        moves.push(Move {
            source: run(from, run_bytes(o.src_elem_size)),
            destination: run(to, run_bytes(o.dst_elem_size)),
            op: op.clone(),
        });
    }
    submit(x, moves, (o.semaphore, o.sem_increment))
}

/// The flags byte of a word with indices.
#[derive(Clone, Copy)]
pub struct IndexFlags(pub u8);

impl IndexFlags {
    /// Whether source and destination are selected by indices.
    pub fn sides(self) -> Result<(bool, bool), FaultKind> {
        match self.0 & 3 {
            0 => Ok((true, false)),
            1 => Ok((false, true)),
            2 => Ok((true, true)),
            other => Err(FaultKind::illegal("flags", format!("mode {other}"), "mode 0 to 2")),
        }
    }

    /// An index beyond the bound is an error rather than a way to leave an element out.
    fn reports_excess(self) -> bool {
        self.0 & 4 != 0
    }

    fn allows_duplicates(self) -> bool {
        self.0 & 8 != 0
    }
}

/// Index k: partition k mod C, slot k div C, for C lanes (D06-4); `None` where it passes its bound (D06-6).
fn indices(
    x: &mut Exec<'_>,
    field: &'static str,
    (start, lanes): (Addr4, u8),
    n: usize,
    (bound, flags): (BoundReg, IndexFlags),
) -> Result<Vec<Option<u32>>, FaultKind> {
    if n > MOST_INDICES {
        return Err(FaultKind::illegal(field, format!("{n} indices"), format!("at most {MOST_INDICES}")));
    }
    let lanes = usize::from(lanes).clamp(1, PARTITIONS);
    let address = x.start_address(field, start)?;
    let geometry = x.machine.generation.geometry();
    let location = geometry
        .locate(address)
        .filter(|l| l.space == Space::Sbuf && l.partition == 0 && l.offset.is_multiple_of(4));
    let slots = n.div_ceil(lanes);
    let first = location
        .map(|l| l.offset as usize)
        .filter(|first| first + 4 * slots <= geometry.active(Space::Sbuf) as usize);
    let first = first.ok_or_else(|| FaultKind::Memory {
        field,
        address: Address::OnChip(address),
        reason: format!("{slots} aligned words in each partition of SBUF from partition 0"),
    })?;
    let limit = limit(x, field, bound)?;
    let sbuf = &x.machine.cores[x.core].sbuf;
    let mut indices = Vec::with_capacity(n);
    let mut beyond = false;
    for (partition, slot) in (0..n).map(|k| (k % lanes, k / lanes)) {
        let at = first + 4 * slot;
        sbuf.note_read(partition, at, 4);
        if let Some(offset) = sbuf.first_unwritten(partition, at, 4) {
            let byte = crate::isa::Location {
                space: Space::Sbuf,
                partition: partition as u8,
                offset: offset as u32,
            };
            return Err(FaultKind::Uninitialised { field, address: Address::Byte(byte) });
        }
        let b = &sbuf.partition(partition)[at..at + 4];
        let index = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let inside = limit.is_none_or(|(most, _)| u64::from(index) <= most);
        beyond |= !inside;
        indices.push(inside.then_some(index));
    }
    if beyond && flags.reports_excess() && limit.is_some_and(|(_, quiet)| !quiet) {
        x.machine.warn(format!("core {}: an index of a DMA word passes its bound register", x.core));
    }
    Ok(indices)
}

fn warn_duplicates(x: &mut Exec<'_>, destinations: &[Option<u32>]) {
    let mut seen: Vec<u32> = destinations.iter().flatten().copied().collect();
    seen.sort_unstable();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        x.machine.warn(format!("core {}: a DMA word scatters twice to one place without saying so", x.core));
    }
}

/// An address in the same memory, so many bytes on.
fn shifted(field: &'static str, start: Target, by: i64) -> Result<Target, FaultKind> {
    let below = || {
        FaultKind::illegal(
            field,
            format!("an element {} bytes before the start", -by),
            "one inside the memory",
        )
    };
    match start {
        Target::Dram { buffer, offset } => {
            let offset = offset.checked_add_signed(by as isize).ok_or_else(below)?;
            Ok(Target::Dram { buffer, offset })
        }
        Target::Sbuf { core, offset } => {
            Ok(Target::Sbuf { core, offset: offset.checked_add_signed(by).ok_or_else(below)? })
        }
        Target::Psum { core, offset } => {
            Ok(Target::Psum { core, offset: offset.checked_add_signed(by).ok_or_else(below)? })
        }
        other => Ok(other),
    }
}

fn run(start: Target, bytes: u64) -> Pattern {
    Pattern { start, dims: vec![(bytes, 1)], limit: None }
}

/// DMA_TRANSPOSE (chapter 06 section 6.4): tiles of sixteen rows; each column of a tile becomes one packed run
/// (D06-15).
pub fn transpose(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<DMA_DIRECT2D_XPOSE>(w)?;
    let size = o.in_dtype.bytes() as u64;
    if o.tile_src_rows != TILE_ROWS || !matches!(size, 2 | 4) || o.in_dtype != o.out_dtype {
        let found = format!("{} rows of {}", o.tile_src_rows, o.in_dtype.text());
        return Err(FaultKind::illegal("tile_src_rows", found, "16 rows of 2 or 4 bytes, not converted"));
    }
    let rows = u64::from(TILE_ROWS);
    let source = Pattern {
        start: target(x, "src_start_addr", o.src_start_addr)?,
        dims: vec![
            (size, 1),
            (rows, o.tile_src_row_step.into()),
            (o.tile_src_cols.into(), size as i64),
            (o.src_num_elem[0].into(), o.src_step_elem[0].into()),
            (o.src_num_elem[1].into(), o.src_step_elem[1].into()),
        ],
        limit: limit(x, "src_bound_reg", o.src_bound_reg)?,
    };
    let destination = Pattern {
        start: target(x, "dst_start_addr", o.dst_start_addr)?,
        dims: vec![
            (rows * size, 1),
            (o.dst_num_elem[0].into(), o.dst_step_elem[0].into()),
            (o.dst_num_elem[1].into(), o.dst_step_elem[1].into()),
        ],
        limit: limit(x, "dst_bound_reg", o.dst_bound_reg)?,
    };
    submit(x, vec![Move { source, destination, op: MoveOp::Copy }], (o.semaphore, RINGS))
}

/// DMA_GATHER_TRANSPOSE (chapter 06 section 6.5): row idx(k) of 16-bit elements becomes column k.
pub fn gather_transpose(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<DMA_GATHER_XPOSE>(w)?;
    if o.elem_size == 0 || !o.elem_size.is_multiple_of(2) || o.dtype.low().bytes() != 2 {
        let found = format!("{} bytes of {}", o.elem_size, o.dtype.low().text());
        return Err(FaultKind::illegal("elem_size", found, "an even number of bytes of a 16-bit dtype"));
    }
    let n = usize::from(o.src_num_elem[1]);
    let flags = IndexFlags(o.flags & !3);
    let lanes = o.idx_num_active_channels;
    let rows =
        indices(x, "src_idx_start_addr", (o.src_idx_start_addr, lanes), n, (o.src_idx_bound_reg, flags))?;
    let source = target(x, "src_start_addr", o.src_start_addr)?;
    let destination = target(x, "dst_start_addr", o.dst_start_addr)?;
    let limit = limit(x, "dst_bound_reg", o.dst_bound_reg)?;
    let mut moves = Vec::with_capacity(n);
    for (k, row) in rows.into_iter().enumerate() {
        let Some(row) = row else { continue };
        let from = shifted("src_start_addr", source, i64::from(row) * i64::from(o.src_step_elem[1]))?;
        let to = shifted("dst_start_addr", destination, 2 * k as i64)?;
        moves.push(Move {
            source: Pattern {
                start: from,
                dims: vec![(o.elem_size.into(), 1), (o.src_num_elem[0].into(), o.src_step_elem[0].into())],
                limit: None,
            },
            destination: Pattern {
                start: to,
                dims: vec![(2, 1), (o.dst_num_elem[1].into(), o.dst_step_elem_1.into())],
                limit,
            },
            op: MoveOp::Copy,
        });
    }
    submit(x, moves, (o.semaphore, RINGS))
}

/// DMA_MEMCPY2 (chapter 06 section 6.2): a copy without conversion that counts the end of its reads and of its
/// writes.
pub fn copy2d(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<DMA_COPY2D>(w)?;
    let side =
        |field, mode: u8, start, size, counts: [u16; 2], steps: [i32; 2]| -> Result<Pattern, FaultKind> {
            Ok(Pattern {
                start: mapped(x, field, plain_address(x, field, mode, start)?)?,
                dims: vec![
                    (run_bytes(size), 1),
                    (counts[0].into(), steps[0].into()),
                    (counts[1].into(), steps[1].into()),
                ],
                limit: None,
            })
        };
    let modes = o.addr_mode.0;
    let source = side(
        "src_start_addr",
        modes & 0xF,
        o.src_start_addr,
        o.src_elem_size,
        o.src_num_elem,
        o.src_step_elem,
    )?;
    let destination = side(
        "dst_start_addr",
        modes >> 4,
        o.dst_start_addr,
        o.dst_elem_size,
        o.dst_num_elem,
        o.dst_step_elem,
    )?;
    let updates = o.sema_update_mode.0;
    let read = counted("rd_done_sema_update_idx", updates & 0xF, o.rd_done_sema_update_idx)?;
    let written = counted("wr_done_sema_update_idx", updates >> 4, o.wr_done_sema_update_idx)?;
    let one =
        Move { source, destination, op: move_op(DgeComputeOp::NONE, Default::default(), Default::default()) };
    submit(x, vec![one], read)?;
    submit(x, Vec::new(), written)
}

/// The address of a mode: 0 immediate, 1 a register number in byte 0 and the next register (D06-13).
fn plain_address(x: &Exec<'_>, field: &'static str, mode: u8, start: Addr8) -> Result<u64, FaultKind> {
    match mode {
        0 => Ok(start.0),
        1 => {
            let number = start.0 as u8;
            let low = x.register(field, number)?;
            let high = x.register(field, number.wrapping_add(1))?;
            Ok(u64::from(high) << 32 | u64::from(low))
        }
        other => Err(FaultKind::unsupported("addr_mode", format!("mode {other}"))),
    }
}

/// Semaphore and increment of an update mode: 0 none, 1 one more (D06-13).
fn counted(field: &'static str, mode: u8, index: u16) -> Result<(u8, u8), FaultKind> {
    let semaphore =
        u8::try_from(index).map_err(|_| FaultKind::illegal(field, index, "a semaphore 0 to 255"))?;
    match mode {
        0 => Ok((semaphore, 0)),
        1 => Ok((semaphore, 1)),
        other => Err(FaultKind::unsupported("sema_update_mode", format!("mode {other}"))),
    }
}
