//! Structured sparsity: LDTAGS and MATMUL_SPARSE (chapter 05 section 2.6).

use super::{flushes, for_each_cell, fp32_part, group, sum};
use crate::interp::lanes::expect_row;
use crate::interp::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::Fp32Mode;
use crate::isa::layouts::{S3_LT, S4D3_MM};
use crate::isa::{Decoded, Dtype, Generation, PARTITIONS, PSUM_BANK, Space};
use crate::machine::PeState;
use crate::num::{self, canonical};

/// Tags in one element of LDTAGS.
const TAGS: usize = 4;

/// Rows that share the four quadrants that a tag chooses from.
const QUADRANT: usize = 32;

/// LDTAGS: four tags an element, the lowest one for the highest column.
pub fn ldtags(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3_LT>(w)?;
    let (first_row, rows) = group("row_grp", o.row_grp, o.num_active_rows)?;
    whole_columns(o.col_grp)?;
    if o.in_dtype.bytes() != 2 || o.force_tag_bits & !0xC != 0 {
        let found = format!("{} with bits 0x{:x}", o.in_dtype.text(), o.force_tag_bits);
        return Err(FaultKind::illegal("force_tag_bits", found, "16-bit tags with bits 0, 4, 8 or 0xC"));
    }
    let src = x.tensor("src", &o.src, o.in_dtype, rows as u8, Access::Read)?;
    at_group("src", &src, first_row)?;
    if src.count != PARTITIONS / TAGS {
        return Err(FaultKind::illegal(
            "src",
            format!("{} elements", src.count),
            (PARTITIONS / TAGS).to_string(),
        ));
    }
    let core = x.core();
    let mut packed = vec![0; src.count * src.size];
    for row in 0..rows {
        src.gather(&mut src.start(), core.memory(src.space), row, &mut packed);
        for (element, bytes) in packed.chunks_exact(2).enumerate() {
            let tags = u16::from_le_bytes([bytes[0], bytes[1]]);
            for k in 0..TAGS {
                let column = PARTITIONS - 1 - TAGS * element - k;
                let tag = (tags >> (4 * k) & 0xF) as u8;
                core.pe.tags[PeState::cell(0, first_row + row, column)] = tag | o.force_tag_bits;
            }
        }
    }
    Ok(Flow::Next)
}

/// MATMUL_SPARSE: the tag of a cell chooses which partition of its column of quadrants and which of the maps sent
/// it multiplies with.
pub fn matmul_sparse(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D3_MM>(w)?;
    let (first_row, rows) = group("row_grp", o.row_grp, o.num_active_rows)?;
    whole_columns(o.col_grp)?;
    let cols = usize::from(o.num_active_cols);
    check(x, &o)?;
    let moving = x.tensor("src", &o.src, o.in_dtype, rows as u8, Access::Read)?;
    at_group("src", &moving, first_row)?;
    let bf16 = o.out_dtype == Dtype::BFLOAT16;
    let cell = if bf16 { Dtype::BFLOAT16 } else { Dtype::FP32 };
    let cells = x.tensor("dst", &o.dst, cell, o.num_active_cols, Access::Write)?;
    at_group("dst", &cells, 0)?;
    check_cells(x, &cells)?;
    expect_row("src", &moving)?;
    let maps = usize::from(o.src.num[3]);
    if moving.count != maps * cells.count {
        let expected = (maps * cells.count).to_string();
        return Err(FaultKind::illegal("src", format!("{} elements", moving.count), expected));
    }
    let operands = Operands { first_row, rows, maps, dtype: o.in_dtype, mode: o.fp32_mode, n: cells.count };
    let (sums, absent) = operands.sums(x, &moving, cols);
    let begin = o.psum_accumulate_flags.0 & 1 == 1;
    if !begin {
        // Adding reads the cells; it may add to cells that nothing has written.
        let _ = cells.note_read(x.core().memory(cells.space), cols);
    }
    for_each_cell(x, &cells, cols, |column, n, old| {
        let s = sums[column * operands.n + n];
        let old = if bf16 { f32::from_bits(old << 16) } else { f32::from_bits(old) };
        let value = canonical(if begin { s } else { old + s });
        if bf16 { num::from_f32(value, Dtype::BFLOAT16, num::Fp8::default()) } else { value.to_bits() }
    });
    if absent {
        x.machine.warn(format!("core {}: a sparsity tag chooses a map that was not sent", x.core));
    }
    Ok(Flow::Next)
}

/// Both words use all columns.
fn whole_columns(col_grp: u8) -> Result<(), FaultKind> {
    if col_grp == 0xF {
        return Ok(());
    }
    Err(FaultKind::illegal("col_grp", format!("0x{col_grp:x}"), "0xf"))
}

fn at_group(field: &'static str, walk: &Walk, first: usize) -> Result<(), FaultKind> {
    if walk.partition == first {
        return Ok(());
    }
    Err(FaultKind::illegal(
        field,
        format!("partition {}", walk.partition),
        format!("partition {first} of the group"),
    ))
}

/// Fields, and the weights that the word goes with.
fn check(x: &Exec<'_>, o: &S4D3_MM) -> Result<(), FaultKind> {
    let later = x.machine.generation > Generation::Cayman;
    if o.perf_opt != 0 {
        return Err(FaultKind::unsupported("perf_opt", format!("mode {} of sparse operands", o.perf_opt)));
    }
    if (o.fp32_mode != Fp32Mode::NONE) != (o.in_dtype == Dtype::FP32) || o.fp32_mode.0 > 3 {
        return Err(FaultKind::illegal("fp32_mode", o.fp32_mode.0, "1 to 3 for fp32, else 0"));
    }
    let legal = if later { &[0, 1, 2, 3, 4, 6][..] } else { &[0, 1, 2, 3] };
    if !legal.contains(&o.psum_accumulate_flags.0) {
        return Err(FaultKind::illegal(
            "psum_accumulate_flags",
            o.psum_accumulate_flags.0,
            format!("{legal:?}"),
        ));
    }
    if !(2..=4).contains(&o.src.num[3])
        || o.num_active_cols == 0
        || usize::from(o.num_active_cols) > PARTITIONS
    {
        let found = format!("{} maps for {} columns", o.src.num[3], o.num_active_cols);
        return Err(FaultKind::illegal("src", found, "2 to 4 maps for 1 to 128 columns"));
    }
    if o.out_dtype == Dtype::BFLOAT16 && x.machine.cores[x.core].pe.hidden.seeded {
        return Err(FaultKind::unsupported(
            "out_dtype",
            "which seed rounds a BF16 cell after PE_MANAGE_SEED",
        ));
    }
    let bf16 = later && o.out_dtype == Dtype::BFLOAT16;
    if !bf16 && !matches!(o.out_dtype, Dtype::INVALID | Dtype::FP32) {
        return Err(FaultKind::illegal(
            "out_dtype",
            o.out_dtype.text(),
            "0 or fp32; bfloat16 on later generations",
        ));
    }
    let pe = &x.machine.cores[x.core].pe;
    let fp8 = |d| matches!(d, Dtype::FP8_EXP3 | Dtype::FP8_EXP4 | Dtype::FP8_EXP5);
    let agree = pe.dtype == o.in_dtype || (fp8(pe.dtype) && fp8(o.in_dtype));
    if pe.dtype != Dtype::INVALID && (!agree || pe.transpose || pe.lanes != 1) {
        let expected = format!("{} of the weights, in the plain form", pe.dtype.text());
        return Err(FaultKind::illegal("in_dtype", o.in_dtype.text(), expected));
    }
    Ok(())
}

fn check_cells(x: &Exec<'_>, cells: &Walk) -> Result<(), FaultKind> {
    if cells.space != Space::Psum {
        return Err(FaultKind::illegal("dst", cells.space, "psum"));
    }
    let bank = PSUM_BANK as usize;
    let one_bank = cells.low / bank == (cells.high - 1) / bank;
    if x.machine.options.strict && x.machine.generation <= Generation::Cayman && !one_bank {
        return Err(FaultKind::illegal("dst", "a result across two PSUM banks", "one 2 KiB bank"));
    }
    Ok(())
}

/// The operands of a product whose checks have passed.
struct Operands {
    first_row: usize,
    rows: usize,
    maps: usize,
    dtype: Dtype,
    mode: Fp32Mode,
    /// Positions of the result.
    n: usize,
}

impl Operands {
    /// All sums, and whether a tag chose what was not sent: that counts as +0 (D05-15).
    fn sums(&self, x: &mut Exec<'_>, moving: &Walk, cols: usize) -> (Vec<f32>, bool) {
        let sent = self.prepared(x, moving);
        let pe = &x.core().pe;
        let mut sums = Vec::with_capacity(cols * self.n);
        let mut absent = false;
        for column in 0..cols {
            let mut chosen = sum::Moving::new(1, self.rows, self.n);
            for row in 0..self.rows {
                let tag = usize::from(pe.tags[PeState::cell(0, self.first_row + row, column)]);
                let partition = (self.first_row + row) % QUADRANT + QUADRANT * (tag >> 2);
                let map = tag & 3;
                match partition.checked_sub(self.first_row).filter(|r| *r < self.rows && map < self.maps) {
                    Some(r) => {
                        let values = &sent[(r * self.maps + map) * self.n..][..self.n];
                        chosen.row_mut(0, row).copy_from_slice(values);
                    }
                    None => absent = true,
                }
            }
            let weights = sum::Stationary::new(1, self.rows, 1, |_, row, _| {
                pe.weights[PeState::cell(0, self.first_row + row, column)]
            });
            sums.extend(sum::product(&weights, &chosen, flushes(self.dtype)));
        }
        (sums, absent)
    }

    /// The values of all maps as the array multiplies them, partition by partition.
    fn prepared(&self, x: &mut Exec<'_>, moving: &Walk) -> Vec<f32> {
        let fp8 = x.core().spec.fp8;
        let core = x.core();
        let mut packed = vec![0; moving.count * moving.size];
        let mut values = vec![0.0; self.rows * moving.count];
        for (row, values) in values.chunks_exact_mut(moving.count).enumerate() {
            moving.gather(&mut moving.start(), core.memory(moving.space), row, &mut packed);
            num::unpack(&packed, self.dtype, fp8, values);
        }
        for value in &mut values {
            *value = match self.dtype {
                Dtype::FP32 => fp32_part(*value, self.mode),
                _ if flushes(self.dtype) && value.is_subnormal() => 0.0f32.copysign(*value),
                _ => *value,
            };
        }
        values
    }
}
