//! The PE: LDWEIGHTS and MATMUL (chapter 05 section 2).

mod seed;
mod sparse;
mod sum;

use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::Fp32Mode;
use crate::isa::{Decoded, Dtype, Generation, Operands, Tensor};
use crate::machine::PeState;
use crate::num::{self, Fp8, canonical};

pub use seed::{load_lut, manage_seed};
pub use sparse::{ldtags, matmul_sparse};

/// Low mantissa bits that the HIGH part of an fp32 operand lacks (decision 05-12).
pub const FP32_LO_BITS: u32 = 12;

/// Contraction lanes of one array row: two in DoubleRow and DoublePixel, else one.
pub const MAX_LANES: usize = 2;

/// How a word packs two contraction elements into one row (chapter 05 section 2.3.3, decision 05-7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Packing {
    Single,
    DoubleRow,
    DoublePixel,
}

impl Packing {
    fn new(perf_opt: u8, dtype: Dtype, generation: Generation) -> Result<Self, FaultKind> {
        let packing = match perf_opt {
            0 => return Ok(Packing::Single),
            1 => Packing::DoubleRow,
            3 => Packing::DoublePixel,
            other => return Err(FaultKind::unsupported("perf_opt", format!("mode {other}"))),
        };
        let is_fp8 = matches!(dtype, Dtype::FP8_EXP3 | Dtype::FP8_EXP4 | Dtype::FP8_EXP5);
        if generation == Generation::Sunda || !is_fp8 {
            return Err(FaultKind::illegal("perf_opt", perf_opt, "0 unless operands are FP8 on v3 or later"));
        }
        Ok(packing)
    }

    fn lanes(self) -> usize {
        if self == Packing::Single { 1 } else { MAX_LANES }
    }

    /// Position in the stationary stream of lane `j` of stream column `e`.
    fn stationary(self, e: usize, j: usize, cols: usize) -> usize {
        if self == Packing::DoubleRow { 2 * e + j } else { j * cols + e }
    }
}

/// The part of the array that a word uses (chapter 05 section 2.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tile {
    first_row: usize,
    rows: usize,
    first_col: usize,
    cols: usize,
}

/// First and highest count of a row or column group code.
fn group(field: &'static str, code: u8, active: u8) -> Result<(usize, usize), FaultKind> {
    let (first, limit) = match code {
        0xF => (0, 128),
        0x3 => (0, 64),
        0xC => (64, 64),
        0x1 => (0, 32),
        0x2 => (32, 32),
        0x4 => (64, 32),
        0x8 => (96, 32),
        _ => return Err(FaultKind::illegal(field, format!("0x{code:x}"), "1, 2, 3, 4, 8, C or F")),
    };
    let count = usize::from(active);
    if count == 0 || count > limit {
        return Err(FaultKind::illegal(
            field,
            format!("{count} active"),
            format!("1 to {limit} for group 0x{code:x}"),
        ));
    }
    Ok((first, count))
}

/// What LDWEIGHTS and MATMUL have in common, whatever the generation's layout.
#[derive(Clone, Copy, Debug)]
struct Common {
    src: Tensor<3>,
    dtype: Dtype,
    fp32_mode: Fp32Mode,
    transpose: bool,
    packing: Packing,
    zero_point: u8,
    tile: Tile,
}

/// Raw fields of a PE word, named as in the struct.
struct Fields {
    src: Tensor<3>,
    in_dtype: Dtype,
    fp32_mode: Fp32Mode,
    transpose_mode: u8,
    perf_opt: u8,
    zero_point: u8,
    rows: u8,
    cols: u8,
    row_grp: u8,
    col_grp: u8,
}

impl Common {
    fn new(f: &Fields, generation: Generation) -> Result<Self, FaultKind> {
        let legal_mode = if f.in_dtype == Dtype::FP32 { 1..=3 } else { 0..=0 };
        if !legal_mode.contains(&f.fp32_mode.0) {
            return Err(FaultKind::illegal(
                "fp32_mode",
                f.fp32_mode.0,
                format!("{} to {} for {}", legal_mode.start(), legal_mode.end(), f.in_dtype.text()),
            ));
        }
        if f.transpose_mode > 1 {
            return Err(FaultKind::unsupported("transpose_mode", format!("value {}", f.transpose_mode)));
        }
        let operand = [
            Dtype::FP8_EXP3,
            Dtype::FP8_EXP4,
            Dtype::FP8_EXP5,
            Dtype::BFLOAT16,
            Dtype::FP16,
            Dtype::FP32,
            Dtype::UINT8,
        ];
        if !operand.contains(&f.in_dtype) {
            return Err(FaultKind::illegal(
                "in_dtype",
                f.in_dtype.text(),
                "FP8, bfloat16, fp16, fp32 or uint8",
            ));
        }
        let (first_row, rows) = group("row_grp", f.row_grp, f.rows)?;
        let (first_col, cols) = group("col_grp", f.col_grp, f.cols)?;
        if generation == Generation::Sunda && f.col_grp == 8 {
            return Err(FaultKind::illegal("col_grp", "0x8", "another group on v2"));
        }
        Ok(Common {
            src: f.src,
            dtype: f.in_dtype,
            fp32_mode: f.fp32_mode,
            transpose: f.transpose_mode == 1,
            packing: Packing::new(f.perf_opt, f.in_dtype, generation)?,
            zero_point: f.zero_point,
            tile: Tile { first_row, rows, first_col, cols },
        })
    }

    /// The source operand: one lane a row, starting at the partition of the row group.
    fn source(&self, x: &Exec<'_>, dtype: Dtype) -> Result<Walk, FaultKind> {
        let walk = x.tensor("src", &self.src, dtype, self.tile.rows as u8, Access::Read)?;
        if walk.partition != self.tile.first_row {
            return Err(FaultKind::illegal(
                "src",
                format!("partition {}", walk.partition),
                format!("partition {} of the row group", self.tile.first_row),
            ));
        }
        Ok(walk)
    }
}

/// The part of an fp32 operand that a mode passes (decision 05-12).
fn fp32_part(value: f32, mode: Fp32Mode) -> f32 {
    let high = if value.is_finite() {
        f32::from_bits(value.to_bits() >> FP32_LO_BITS << FP32_LO_BITS)
    } else {
        value
    };
    match mode {
        Fp32Mode::HIGH => high,
        Fp32Mode::LOW if value.is_finite() => value - high,
        Fp32Mode::LOW => 0.0,
        _ => value,
    }
}

/// Formats whose subnormals count as zero inside the sum (decision 03-E14).
fn flushes(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::FP16 | Dtype::FP32 | Dtype::UINT8)
}

/// The value of an operand element as the array multiplies it.
fn operand(bits: u32, dtype: Dtype, mode: Fp32Mode, zero_point: u8, fp8: Fp8) -> f32 {
    let value = num::to_f32(bits, dtype, fp8);
    match dtype {
        Dtype::UINT8 => value - f32::from(zero_point),
        Dtype::FP32 => fp32_part(value, mode),
        _ if flushes(dtype) && value.is_subnormal() => 0.0f32.copysign(value),
        _ => value,
    }
}

/// The fields that all layouts of both words have under the same names, and the two that differ.
macro_rules! fields {
    ($o:expr, transpose_mode: $transpose_mode:expr, zero_point: $zero_point:expr) => {
        Fields {
            src: $o.src,
            in_dtype: $o.in_dtype,
            fp32_mode: $o.fp32_mode,
            transpose_mode: $transpose_mode,
            perf_opt: $o.perf_opt,
            zero_point: $zero_point,
            rows: $o.num_active_rows,
            cols: $o.num_active_cols,
            row_grp: $o.row_grp,
            col_grp: $o.col_grp,
        }
    };
}

/// LDWEIGHTS (chapter 05 section 2.2): the first element read goes to the last column.
pub fn ldweights(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let (fields, tagged) = match &w.operands {
        Operands::S3_LW_V2(o) => (fields!(o, transpose_mode: 0, zero_point: o.quant_offset[0]), false),
        Operands::S3_LW_V3(o) => (
            fields!(o, transpose_mode: o.transpose_mode, zero_point: o.quant_offset[0]),
            o.tag_weight_mode & 1 == 1,
        ),
        _ => return Err(later_generation(x)),
    };
    let c = Common::new(&fields, x.machine.generation)?;
    if tagged
        && (c.transpose || c.packing != Packing::Single || !matches!(c.dtype, Dtype::BFLOAT16 | Dtype::FP16))
    {
        return Err(FaultKind::illegal("tag_weight_mode", 1, "16-bit floats, no transpose, perf_opt 0"));
    }
    // In tag mode the elements are {weight, tag} pairs of 16 bits.
    let walk = c.source(x, if tagged { Dtype::UINT32 } else { c.dtype })?;
    let per_row = c.tile.cols * c.packing.lanes();
    if walk.count != per_row {
        return Err(FaultKind::illegal("src", format!("{} elements", walk.count), per_row.to_string()));
    }
    let fp8 = x.core().spec.fp8;
    let core = x.core();
    let mut packed = vec![0; walk.count * walk.size];
    for r in 0..c.tile.rows {
        walk.gather(&mut walk.start(), core.memory(walk.space), r, &mut packed);
        let bits = |at: usize| {
            packed[at * walk.size..][..walk.size].iter().rev().fold(0, |v, b| v << 8 | u32::from(*b))
        };
        for e in 0..c.tile.cols {
            let column = c.tile.first_col + c.tile.cols - 1 - e;
            for j in 0..c.packing.lanes() {
                let raw = bits(c.packing.stationary(e, j, c.tile.cols));
                let element = if tagged { raw & 0xFFFF } else { raw };
                let at = PeState::cell(j, c.tile.first_row + r, column);
                core.pe.raw[at] = element;
                core.pe.weights[at] = operand(element, c.dtype, c.fp32_mode, c.zero_point, fp8);
                if tagged {
                    core.pe.tags[at] = (raw >> 16 & 0xF) as u8;
                }
            }
        }
    }
    core.pe.dtype = c.dtype;
    core.pe.lanes = c.packing.lanes();
    core.pe.transpose = c.transpose;
    Ok(Flow::Next)
}

fn later_generation(x: &Exec<'_>) -> FaultKind {
    FaultKind::unsupported(
        "opcode",
        format!("matrix words of {} are not implemented yet", x.machine.generation),
    )
}

/// MATMUL (chapter 05 section 2.3): `out[c][n]` = sum over r of `W[r][c] x X[r][n]`, one write or add per cell.
pub fn matmul(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let (fields, dst, out_dtype, flags, zero_region) = match &w.operands {
        Operands::S3D3_MM_V2(o) => (
            fields!(o, transpose_mode: 0, zero_point: o.quant_offset[0]),
            o.dst,
            Dtype::INVALID,
            o.psum_accumulate_flags.0,
            o.psum_zero_region,
        ),
        Operands::S3D3_MM_V3(o) => (
            fields!(o, transpose_mode: o.transpose_mode, zero_point: 0),
            o.dst,
            o.out_dtype,
            o.psum_accumulate_flags.0,
            o.psum_zero_region,
        ),
        _ => return Err(later_generation(x)),
    };
    let c = Common::new(&fields, x.machine.generation)?;
    if flags > 3 {
        return Err(FaultKind::illegal("psum_accumulate_flags", flags, "0 to 3"));
    }
    if zero_region != 0 {
        return Err(FaultKind::illegal("psum_zero_region", zero_region, "0"));
    }
    let begin = flags & 1 == 1;
    check_pair(x, &c, begin)?;
    let result = result_dtype(&c, out_dtype)?;
    let moving = c.source(x, c.dtype)?;
    let cells = x.tensor("dst", &dst, result.cell(), c.tile.cols as u8, Access::Write)?;
    check_cells(x, &c, &moving, &cells)?;
    let n = cells.count;
    let product = Product { c, n, moving: gather_moving(x, &c, &moving, n) };
    if !begin {
        warn_unwritten(x, &cells, c.tile.cols);
    }
    match result {
        ResultKind::Raw(dtype) => product.write_transposed(x, &cells, dtype),
        ResultKind::Uint32 => product.write_integers(x, &cells, begin),
        ResultKind::Fp32 => product.write_floats(x, &cells, begin),
    }
    Ok(Flow::Next)
}

/// What lands in PSUM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ResultKind {
    Fp32,
    Uint32,
    /// Transposing: cells of the input's dtype, FP8 in two bytes.
    Raw(Dtype),
}

impl ResultKind {
    /// A datatype with the width of the cells.
    fn cell(self) -> Dtype {
        match self {
            ResultKind::Raw(dtype) if dtype.bytes() < 4 => Dtype::UINT16,
            _ => Dtype::UINT32,
        }
    }
}

fn result_dtype(c: &Common, out_dtype: Dtype) -> Result<ResultKind, FaultKind> {
    let (kind, natural) = if c.transpose {
        (ResultKind::Raw(c.dtype), c.dtype)
    } else if c.dtype == Dtype::UINT8 {
        (ResultKind::Uint32, Dtype::UINT32)
    } else {
        (ResultKind::Fp32, Dtype::FP32)
    };
    if out_dtype != Dtype::INVALID && out_dtype != natural {
        return Err(FaultKind::illegal("out_dtype", out_dtype.text(), format!("0 or {}", natural.text())));
    }
    Ok(kind)
}

/// Rules that hold between a MATMUL and the LDWEIGHTS before it.
fn check_pair(x: &mut Exec<'_>, c: &Common, begin: bool) -> Result<(), FaultKind> {
    let pe = &x.core().pe;
    let (loaded, transposing, lanes) = (pe.dtype, pe.transpose, pe.lanes);
    if loaded != Dtype::INVALID {
        if transposing != c.transpose {
            return Err(FaultKind::unsupported(
                "transpose_mode",
                "the flag is set in only one word of the pair",
            ));
        }
        let fp8 = |d| matches!(d, Dtype::FP8_EXP3 | Dtype::FP8_EXP4 | Dtype::FP8_EXP5);
        if loaded != c.dtype && !(fp8(loaded) && fp8(c.dtype)) {
            let expected = format!("{} of the weights", loaded.text());
            return Err(FaultKind::illegal("in_dtype", c.dtype.text(), expected));
        }
        if lanes != c.packing.lanes() {
            return Err(FaultKind::illegal(
                "perf_opt",
                "another packing than the weights",
                "the same in both words",
            ));
        }
    }
    if c.transpose && !begin {
        return Err(FaultKind::unsupported(
            "psum_accumulate_flags",
            "a transposing word without the start flag",
        ));
    }
    if c.transpose && c.packing != Packing::Single {
        return Err(FaultKind::unsupported("perf_opt", "a transposing word with two lanes a row"));
    }
    Ok(())
}

fn check_cells(x: &Exec<'_>, c: &Common, moving: &Walk, cells: &Walk) -> Result<(), FaultKind> {
    if cells.space != crate::isa::Space::Psum {
        return Err(FaultKind::illegal("dst", cells.space, "psum"));
    }
    if cells.partition != c.tile.first_col {
        let expected = format!("partition {} of the column group", c.tile.first_col);
        return Err(FaultKind::illegal("dst", format!("partition {}", cells.partition), expected));
    }
    let bank = crate::isa::PSUM_BANK as usize;
    if x.machine.options.strict && cells.low / bank != (cells.high - 1) / bank {
        return Err(FaultKind::illegal("dst", "a result across two PSUM banks", "one 2 KiB bank"));
    }
    if moving.count != cells.count * c.packing.lanes() {
        let expected = (cells.count * c.packing.lanes()).to_string();
        return Err(FaultKind::illegal("src", format!("{} elements", moving.count), expected));
    }
    Ok(())
}

/// Adding to cells that nothing has written is legal; where writes are tracked it is worth a warning.
fn warn_unwritten(x: &mut Exec<'_>, cells: &Walk, cols: usize) {
    if let Some(cell) = cells.first_unwritten(x.core().memory(cells.space), cols) {
        let (core, pc) = (x.core, x.pc);
        let (partition, offset) = (cell.partition, cell.offset);
        x.machine.warn(format!(
            "core {core} PE word at 0x{pc:x} adds to psum partition {partition} byte 0x{offset:x}, never written"
        ));
    }
}

/// The moving operand as the array sees it: `lanes` planes of rows, each `n` values (padded).
fn gather_moving(x: &mut Exec<'_>, c: &Common, walk: &Walk, n: usize) -> sum::Moving {
    let fp8 = x.core().spec.fp8;
    let core = x.core();
    let mut moving = sum::Moving::new(c.packing.lanes(), c.tile.rows, n);
    let mut packed = vec![0; walk.count * walk.size];
    let mut values = vec![0.0; walk.count];
    for r in 0..c.tile.rows {
        let bytes = match walk.as_slice(core.memory(walk.space), r) {
            Some(bytes) => bytes,
            None => {
                walk.gather(&mut walk.start(), core.memory(walk.space), r, &mut packed);
                packed.as_slice()
            }
        };
        num::unpack(bytes, c.dtype, fp8, &mut values);
        for j in 0..c.packing.lanes() {
            // Both packings send the moving operand plane by plane (decisions 05-8, 05-9).
            moving.row_mut(j, r).copy_from_slice(&values[j * n..(j + 1) * n]);
        }
    }
    moving
}

/// A MATMUL whose checks have passed.
struct Product {
    c: Common,
    n: usize,
    moving: sum::Moving,
}

impl Product {
    /// The operand values after the fp32 split, the zero point and the flush of subnormals.
    fn prepared(&self) -> sum::Moving {
        let c = &self.c;
        let mut moving = self.moving.clone();
        moving.map(|v| match c.dtype {
            Dtype::UINT8 => v - f32::from(c.zero_point),
            Dtype::FP32 => fp32_part(v, c.fp32_mode),
            _ if flushes(c.dtype) && v.is_subnormal() => 0.0f32.copysign(v),
            _ => v,
        });
        moving
    }

    fn sums(&self, x: &mut Exec<'_>, weights: impl Fn(&PeState, usize, usize, usize) -> f32) -> Vec<f32> {
        let t = self.c.tile;
        let pe = &x.core().pe;
        let stationary = sum::Stationary::new(self.c.packing.lanes(), t.rows, t.cols, |j, r, col| {
            weights(pe, j, t.first_row + r, t.first_col + col)
        });
        sum::product(&stationary, &self.prepared(), flushes(self.c.dtype))
    }

    fn write_floats(&self, x: &mut Exec<'_>, cells: &Walk, begin: bool) {
        let sums = self.sums(x, |pe, j, r, c| pe.weights[PeState::cell(j, r, c)]);
        for_each_cell(x, cells, self.c.tile.cols, |column, n, old| {
            let s = sums[column * self.n + n];
            let cell = if begin { s } else { f32::from_bits(old) + s };
            canonical(cell).to_bits()
        });
    }

    /// UINT8 operands: wrapping 32-bit sums (decision 05-11).
    fn write_integers(&self, x: &mut Exec<'_>, cells: &Walk, begin: bool) {
        let t = self.c.tile;
        let moving = self.prepared();
        let weights: Vec<i32> = x.core().pe.weights.iter().map(|w| *w as i32).collect();
        for_each_cell(x, cells, self.c.tile.cols, |column, n, old| {
            let sum = (0..t.rows).fold(0i32, |sum, r| {
                let weight = weights[PeState::cell(0, t.first_row + r, t.first_col + column)];
                sum.wrapping_add(weight.wrapping_mul(moving.row(0, r)[n] as i32))
            });
            if begin { sum as u32 } else { old.wrapping_add(sum as u32) }
        });
    }

    /// A copy-transpose: a column of the identity passes the raw element of its row, any other column is
    /// an ordinary product with the whole weights, cast to the input's dtype (decision 05-10).
    fn write_transposed(&self, x: &mut Exec<'_>, cells: &Walk, dtype: Dtype) {
        let t = self.c.tile;
        let fp8 = x.core().spec.fp8;
        let one_hot: Vec<Option<usize>> = (0..self.n).map(|n| self.moving.one_hot_row(n)).collect();
        let sums = if one_hot.iter().all(Option::is_some) {
            Vec::new()
        } else {
            self.sums(x, |pe, j, r, c| num::to_f32(pe.raw[PeState::cell(j, r, c)], dtype, fp8))
        };
        let raw = x.core().pe.raw.clone();
        for_each_cell(x, cells, t.cols, |column, n, _| match one_hot[n] {
            Some(row) => raw[PeState::cell(0, t.first_row + row, t.first_col + column)],
            None => num::from_f32(sums[column * self.n + n], dtype, fp8),
        });
    }
}

/// Visits the cells of every column in walk order: `body(column, n, old bits)` gives the new bits.
fn for_each_cell(x: &mut Exec<'_>, cells: &Walk, cols: usize, body: impl Fn(usize, usize, u32) -> u32) {
    let (n, size) = (cells.count, cells.size);
    // A walk that visits a cell twice must see its own first write.
    let chunk = if cells.is_injective() { n } else { 1 };
    let mut bytes = vec![0; chunk * size];
    for column in 0..cols {
        let (mut from, mut to) = (cells.start(), cells.start());
        for first in (0..n).step_by(chunk) {
            let memory = x.core().memory_mut(cells.space);
            cells.gather(&mut from, memory, column, &mut bytes);
            for (k, cell) in bytes.chunks_exact_mut(size).enumerate() {
                let mut old = [0; 4];
                old[..size].copy_from_slice(cell);
                let new = body(column, first + k, u32::from_le_bytes(old)).to_le_bytes();
                cell.copy_from_slice(&new[..size]);
            }
            cells.scatter(&mut to, memory, column, &bytes);
        }
    }
}
