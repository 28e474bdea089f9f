//! Structured sparsity: LDTAGS and MATMUL_SPARSE (chapter 05 section 2.6).

use super::operands::is_fp8;
use super::{ResultKind, flushes, for_each_cell, fp32_part, group, sum};
use crate::interp::lanes::expect_row;
use crate::interp::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::Fp32Mode;
use crate::isa::layouts::{S3_LT, S4D3_MM};
use crate::isa::{Decoded, Dtype, Generation, PARTITIONS, PSUM_BANK, Space};
use crate::machine::PeState;
use crate::num;

/// Tags in one element of LDTAGS.
const TAGS: usize = 4;

/// Rows that share the four quadrants that a tag chooses from.
const QUADRANT: usize = 32;

/// LDTAGS with its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadTags {
    /// First row of the array.
    pub(crate) first_row: usize,
    /// Rows.
    pub(crate) rows: usize,
    /// Bits that every tag gets.
    pub(crate) force: u8,
    /// One lane a row.
    pub(crate) src: Walk,
}

impl LoadTags {
    /// Resolves a word and checks it.
    pub(crate) fn new(x: &Exec<'_>, w: &Decoded) -> Result<LoadTags, FaultKind> {
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
        Ok(LoadTags { first_row, rows, force: o.force_tag_bits, src })
    }
}

/// LDTAGS: four tags an element, the lowest one for the highest column.
pub fn ldtags(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let LoadTags { first_row, rows, force, src } = LoadTags::new(x, w)?;
    let core = x.core();
    let mut packed = vec![0; src.count * src.size];
    for row in 0..rows {
        src.gather(&mut src.start(), core.memory(src.space), row, &mut packed);
        for (element, bytes) in packed.chunks_exact(2).enumerate() {
            let tags = u16::from_le_bytes([bytes[0], bytes[1]]);
            for k in 0..TAGS {
                let column = PARTITIONS - 1 - TAGS * element - k;
                let tag = (tags >> (4 * k) & 0xF) as u8;
                core.pe.tags[PeState::cell(0, first_row + row, column)] = tag | force;
            }
        }
    }
    Ok(Flow::Next)
}

/// MATMUL_SPARSE with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sparse {
    /// First row of the array.
    pub(crate) first_row: usize,
    /// Rows.
    pub(crate) rows: usize,
    /// Columns.
    pub(crate) cols: usize,
    /// Maps sent for every position.
    pub(crate) maps: usize,
    /// Datatype of the operands.
    pub(crate) dtype: Dtype,
    /// Part of an fp32 operand that counts.
    pub(crate) mode: Fp32Mode,
    /// The result replaces what the cells hold.
    pub(crate) begin: bool,
    pub(crate) result: ResultKind,
    /// The moving operand, map after map: one lane a row.
    pub(crate) moving: Walk,
    /// PSUM cells: one lane a column.
    pub(crate) cells: Walk,
}

impl Sparse {
    /// Resolves a word and checks it, also against the state of the array now.
    pub(crate) fn new(x: &Exec<'_>, w: &Decoded) -> Result<Sparse, FaultKind> {
        Sparse::resolve(x, w, true)
    }

    /// [`Sparse::new`] for a word that runs later, perhaps with other weights; see [`Sparse::fits`].
    pub(crate) fn for_later(x: &Exec<'_>, w: &Decoded) -> Result<Sparse, FaultKind> {
        Sparse::resolve(x, w, false)
    }

    fn resolve(x: &Exec<'_>, w: &Decoded, check_weights: bool) -> Result<Sparse, FaultKind> {
        let o = *x.operands::<S4D3_MM>(w)?;
        let (first_row, rows) = group("row_grp", o.row_grp, o.num_active_rows)?;
        whole_columns(o.col_grp)?;
        check(x, &o)?;
        let result = if o.out_dtype == Dtype::BFLOAT16 { ResultKind::Bf16 } else { ResultKind::Fp32 };
        if check_weights {
            check_pair(&x.machine.cores[x.core].pe, o.in_dtype, result)?;
        }
        let moving = x.tensor("src", &o.src, o.in_dtype, rows as u8, Access::Read)?;
        at_group("src", &moving, first_row)?;
        let cells = x.tensor("dst", &o.dst, result.cell(), o.num_active_cols, Access::Write)?;
        at_group("dst", &cells, 0)?;
        check_cells(x, &cells)?;
        expect_row("src", &moving)?;
        let maps = usize::from(o.src.num[3]);
        if moving.count != maps * cells.count {
            let expected = (maps * cells.count).to_string();
            return Err(FaultKind::illegal("src", format!("{} elements", moving.count), expected));
        }
        let begin = o.psum_accumulate_flags.0 & 1 == 1;
        let (cols, dtype, mode) = (o.num_active_cols.into(), o.in_dtype, o.fp32_mode);
        Ok(Sparse { first_row, rows, cols, maps, dtype, mode, begin, result, moving, cells })
    }

    /// Whether the weights that are loaded now are for this word, and its results are defined.
    pub(crate) fn fits(&self, pe: &PeState) -> bool {
        check_pair(pe, self.dtype, self.result).is_ok()
    }

    /// Row of the tile and map that the tag of a cell chooses; `None`: one that was not sent, which counts as +0
    /// (D05-15).
    pub(crate) fn choice(&self, pe: &PeState, row: usize, column: usize) -> Option<(usize, usize)> {
        let tag = usize::from(pe.tags[PeState::cell(0, self.first_row + row, column)]);
        let partition = (self.first_row + row) % QUADRANT + QUADRANT * (tag >> 2);
        let row = partition.checked_sub(self.first_row).filter(|row| *row < self.rows)?;
        (tag & 3 < self.maps).then_some((row, tag & 3))
    }
}

/// Counts what D05-15 makes of a tag.
pub(crate) fn warn_absent(x: &mut Exec<'_>) {
    x.machine.warn(format!("core {}: a sparsity tag chooses a map that was not sent", x.core));
}

/// MATMUL_SPARSE: the tag of a cell chooses which partition of its column of quadrants and which of the maps sent
/// it multiplies with.
pub fn matmul_sparse(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let word = Sparse::new(x, w)?;
    let (sums, absent) = word.sums(x);
    if !word.begin {
        // Adding reads the cells; it may add to cells that nothing has written.
        let _ = word.cells.note_read(x.core().memory(word.cells.space), word.cols);
    }
    for_each_cell(x, &word.cells, word.cols, |column, n, old| {
        word.result.updated(old, sums[column * word.cells.count + n], word.begin)
    });
    if absent {
        warn_absent(x);
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
    let bf16 = later && o.out_dtype == Dtype::BFLOAT16;
    if !bf16 && !matches!(o.out_dtype, Dtype::INVALID | Dtype::FP32) {
        return Err(FaultKind::illegal(
            "out_dtype",
            o.out_dtype.text(),
            "0 or fp32; bfloat16 on later generations",
        ));
    }
    Ok(())
}

/// Rules that hold between the word and the state of the array.
fn check_pair(pe: &PeState, dtype: Dtype, result: ResultKind) -> Result<(), FaultKind> {
    result.check_seeds(pe)?;
    let agree = pe.dtype == dtype || (is_fp8(pe.dtype) && is_fp8(dtype));
    if pe.dtype != Dtype::INVALID && (!agree || pe.transpose || pe.lanes != 1) {
        let expected = format!("{} of the weights, in the plain form", pe.dtype.text());
        return Err(FaultKind::illegal("in_dtype", dtype.text(), expected));
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

impl Sparse {
    /// All sums, column by column, and whether a tag chose what was not sent.
    fn sums(&self, x: &mut Exec<'_>) -> (Vec<f32>, bool) {
        let n = self.cells.count;
        let sent = self.prepared(x);
        let pe = &x.core().pe;
        let mut sums = Vec::with_capacity(self.cols * n);
        let mut absent = false;
        for column in 0..self.cols {
            let mut chosen = sum::Moving::new(1, self.rows, n);
            for row in 0..self.rows {
                match self.choice(pe, row, column) {
                    Some((from, map)) => {
                        let values = &sent[(from * self.maps + map) * n..][..n];
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
    fn prepared(&self, x: &mut Exec<'_>) -> Vec<f32> {
        let moving = &self.moving;
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
