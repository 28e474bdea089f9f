//! LDWEIGHTS and MATMUL with their operands resolved and every check made: what runs them, the interpreter or a
//! kernel, cannot fault (chapter 05 sections 2.2 to 2.5).

use crate::interp::{Access, Exec, FaultKind, Walk};
use crate::isa::field::Fp32Mode;
use crate::isa::{Decoded, Dtype, Generation, Operands, PSUM_BANK, Space, Tensor};
use crate::machine::PeState;
use crate::num::{self, Fp8};

use super::{FP32_LO_BITS, MAX_LANES};

/// How a word packs two contraction elements into one row (chapter 05 section 2.3.3, decision 05-7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
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

    /// Contraction lanes of a row.
    pub(crate) fn lanes(self) -> usize {
        if self == Packing::Single { 1 } else { MAX_LANES }
    }

    /// Position in the stationary stream of lane `j` of stream column `e`.
    pub(crate) fn stationary(self, e: usize, j: usize, cols: usize) -> usize {
        if self == Packing::DoubleRow { 2 * e + j } else { j * cols + e }
    }
}

/// The part of the array that a word uses (chapter 05 section 2.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tile {
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
    pub(crate) first_col: usize,
    pub(crate) cols: usize,
}

/// First and highest count of a row or column group code.
pub(super) fn group(field: &'static str, code: u8, active: u8) -> Result<(usize, usize), FaultKind> {
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
pub(crate) struct Common {
    src: Tensor<3>,
    pub(crate) dtype: Dtype,
    pub(crate) fp32_mode: Fp32Mode,
    pub(crate) transpose: bool,
    pub(crate) packing: Packing,
    pub(crate) zero_point: u8,
    pub(crate) tile: Tile,
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
pub(crate) fn fp32_part(value: f32, mode: Fp32Mode) -> f32 {
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
pub(crate) fn flushes(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::FP16 | Dtype::FP32 | Dtype::UINT8)
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

/// The value of an operand element as the array multiplies it.
pub(crate) fn operand(bits: u32, dtype: Dtype, mode: Fp32Mode, zero_point: u8, fp8: Fp8) -> f32 {
    let value = num::to_f32(bits, dtype, fp8);
    match dtype {
        Dtype::UINT8 => value - f32::from(zero_point),
        Dtype::FP32 => fp32_part(value, mode),
        _ if flushes(dtype) && value.is_subnormal() => 0.0f32.copysign(value),
        _ => value,
    }
}

/// LDWEIGHTS with its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightLoad {
    pub(crate) c: Common,
    /// Elements are {weight, tag} pairs of 16 bits.
    pub(crate) tagged: bool,
    /// One lane a row of the tile.
    pub(crate) walk: Walk,
}

impl WeightLoad {
    /// Resolves a word and checks it.
    pub(crate) fn new(x: &Exec<'_>, w: &Decoded) -> Result<WeightLoad, FaultKind> {
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
            && (c.transpose
                || c.packing != Packing::Single
                || !matches!(c.dtype, Dtype::BFLOAT16 | Dtype::FP16))
        {
            return Err(FaultKind::illegal("tag_weight_mode", 1, "16-bit floats, no transpose, perf_opt 0"));
        }
        let walk = c.source(x, if tagged { Dtype::UINT32 } else { c.dtype })?;
        let per_row = c.tile.cols * c.packing.lanes();
        if walk.count != per_row {
            return Err(FaultKind::illegal("src", format!("{} elements", walk.count), per_row.to_string()));
        }
        Ok(WeightLoad { c, tagged, walk })
    }

    /// Records what was loaded, for the words that use it.
    pub(crate) fn note_loaded(&self, pe: &mut PeState) {
        pe.dtype = self.c.dtype;
        pe.lanes = self.c.packing.lanes();
        pe.transpose = self.c.transpose;
        pe.packed = None;
    }
}

/// MATMUL with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiply {
    pub(crate) c: Common,
    /// The result replaces what the cells hold.
    pub(crate) begin: bool,
    pub(crate) result: ResultKind,
    /// The moving operand: one lane a row of the tile.
    pub(crate) moving: Walk,
    /// PSUM cells: one lane a column.
    pub(crate) cells: Walk,
}

impl Multiply {
    /// Resolves a word and checks it, also against the weights that are loaded now.
    pub(crate) fn new(x: &Exec<'_>, w: &Decoded) -> Result<Multiply, FaultKind> {
        Multiply::resolve(x, w, true)
    }

    /// [`Multiply::new`] for a word that runs later, perhaps with other weights; see [`Multiply::fits`].
    pub(crate) fn for_later(x: &Exec<'_>, w: &Decoded) -> Result<Multiply, FaultKind> {
        Multiply::resolve(x, w, false)
    }

    fn resolve(x: &Exec<'_>, w: &Decoded, check_weights: bool) -> Result<Multiply, FaultKind> {
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
        if check_weights {
            check_pair(&x.machine.cores[x.core].pe, &c, begin)?;
        }
        let result = result_dtype(&c, out_dtype)?;
        let moving = c.source(x, c.dtype)?;
        let cells = x.tensor("dst", &dst, result.cell(), c.tile.cols as u8, Access::Write)?;
        check_cells(x, &c, &moving, &cells)?;
        Ok(Multiply { c, begin, result, moving, cells })
    }

    /// Whether the weights that are loaded now are for this word.
    pub(crate) fn fits(&self, pe: &PeState) -> bool {
        check_pair(pe, &self.c, self.begin).is_ok()
    }

    /// Adding reads the cells. To add to cells that nothing has written is legal; where writes are tracked it is worth a
    /// warning.
    pub(crate) fn warn_unwritten(&self, x: &mut Exec<'_>) {
        if self.begin {
            return;
        }
        let unwritten = self.cells.note_read(x.core().memory(self.cells.space), self.c.tile.cols);
        if let Some(cell) = unwritten {
            let (core, pc) = (x.core, x.pc);
            let (partition, offset) = (cell.partition, cell.offset);
            x.machine.warn(format!(
                "core {core} PE word at 0x{pc:x} adds to psum partition {partition} byte 0x{offset:x}, never written"
            ));
        }
    }
}

fn later_generation(x: &Exec<'_>) -> FaultKind {
    FaultKind::unsupported(
        "opcode",
        format!("matrix words of {} are not implemented yet", x.machine.generation),
    )
}

/// What lands in PSUM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ResultKind {
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
fn check_pair(pe: &PeState, c: &Common, begin: bool) -> Result<(), FaultKind> {
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
    if cells.space != Space::Psum {
        return Err(FaultKind::illegal("dst", cells.space, "psum"));
    }
    if cells.partition != c.tile.first_col {
        let expected = format!("partition {} of the column group", c.tile.first_col);
        return Err(FaultKind::illegal("dst", format!("partition {}", cells.partition), expected));
    }
    let bank = PSUM_BANK as usize;
    if x.machine.options.strict && cells.low / bank != (cells.high - 1) / bank {
        return Err(FaultKind::illegal("dst", "a result across two PSUM banks", "one 2 KiB bank"));
    }
    if moving.count != cells.count * c.packing.lanes() {
        let expected = (cells.count * c.packing.lanes()).to_string();
        return Err(FaultKind::illegal("src", format!("{} elements", moving.count), expected));
    }
    Ok(())
}
