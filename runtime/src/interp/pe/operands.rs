//! LDWEIGHTS, and what MATMUL shares with it, with operands resolved and every check made: what runs them, the
//! interpreter or a kernel, cannot fault (chapter 05 sections 2.1 to 2.4).

use crate::interp::{Access, Exec, FaultKind, Walk};
use crate::isa::field::{Fp32Mode, TileSel, TileSize};
use crate::isa::layouts::{S3_LW_V5, SMX1_LW};
use crate::isa::{Decoded, Dtype, Generation, Operands, PARTITIONS, Tensor};
use crate::machine::PeState;
use crate::num::{self, Fp8};

use super::mx::{self, MxOperand, Scales};
use super::{FP32_LO_BITS, MAX_COLUMNS};

/// How a word packs contraction elements into one row (chapter 05 sections 2.3.3 and 2.7, decision 05-7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    Single,
    DoubleRow,
    DoublePixel,
    /// MX.
    Quad,
}

impl Packing {
    fn new(perf_opt: u8, dtype: Dtype, generation: Generation) -> Result<Self, FaultKind> {
        let packing = match perf_opt {
            0 => return Ok(Packing::Single),
            1 => Packing::DoubleRow,
            3 => Packing::DoublePixel,
            other => return Err(FaultKind::unsupported("perf_opt", format!("mode {other}"))),
        };
        if generation == Generation::Sunda || !is_fp8(dtype) {
            return Err(FaultKind::illegal("perf_opt", perf_opt, "0 unless operands are FP8 on v3 or later"));
        }
        Ok(packing)
    }

    /// Contraction lanes of a row.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Packing::Single => 1,
            Packing::DoubleRow | Packing::DoublePixel => 2,
            Packing::Quad => mx::LANES,
        }
    }

    /// Position in the stationary stream of lane `j` of stream column `e`.
    pub(crate) fn stationary(self, e: usize, j: usize, cols: usize) -> usize {
        match self {
            Packing::Single | Packing::DoublePixel => j * cols + e,
            Packing::DoubleRow | Packing::Quad => self.lanes() * e + j,
        }
    }

    /// Position in the moving stream of lane `j` of position `n`: plane by plane (decisions 05-8, 05-9) but for MX.
    pub(crate) fn moving(self, n: usize, j: usize, positions: usize) -> usize {
        if self == Packing::Quad { mx::LANES * n + j } else { j * positions + n }
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

/// The tile of a MAVERICK word (chapter 05 section 2.3.2): log2 of its size and its number, rows in the low nibbles.
pub(super) fn tile(size: TileSize, select: TileSel, rows: u8, cols: u8) -> Result<Tile, FaultKind> {
    let nibbles = |byte: u8| (usize::from(byte & 0xF), usize::from(byte >> 4));
    let ((row_log, col_log), (row_sel, col_sel)) = (nibbles(size.0), nibbles(select.0));
    if !(6..=7).contains(&row_log) || !(7..=8).contains(&col_log) {
        let found = format!("0x{:x}", size.0);
        return Err(FaultKind::illegal("tile_size", found, "6 or 7 for rows, 7 or 8 for columns"));
    }
    let (first_row, first_col) = (64 * row_sel, 128 * col_sel);
    if first_row + (1 << row_log) > PARTITIONS || first_col + (1 << col_log) > MAX_COLUMNS {
        return Err(FaultKind::illegal("tile_sel", format!("0x{:x}", select.0), "a tile of the array"));
    }
    let cols = if cols == 0 { MAX_COLUMNS } else { cols.into() };
    if !(1..=1 << row_log).contains(&usize::from(rows)) {
        return Err(FaultKind::illegal("num_active_rows", rows, format!("1 to {}", 1 << row_log)));
    }
    if cols > 1 << col_log {
        return Err(FaultKind::illegal("num_active_cols", cols, format!("1 to {}", 1 << col_log)));
    }
    Ok(Tile { first_row, rows: rows.into(), first_col, cols })
}

/// What LDWEIGHTS and MATMUL have in common, whatever the generation's layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    pub(crate) dtype: Dtype,
    pub(crate) fp32_mode: Fp32Mode,
    pub(crate) transpose: bool,
    pub(crate) packing: Packing,
    pub(crate) zero_point: u8,
    pub(crate) tile: Tile,
    /// Operands start at the partitions of the row and column group.
    pub(super) grouped: bool,
}

/// Raw fields of a PE word, named as in the struct.
pub(super) struct Fields {
    pub(super) in_dtype: Dtype,
    pub(super) fp32_mode: Fp32Mode,
    pub(super) transpose_mode: u8,
    pub(super) perf_opt: u8,
    pub(super) zero_point: u8,
    pub(super) tile: Tile,
    pub(super) grouped: bool,
}

impl Common {
    pub(super) fn new(f: &Fields, generation: Generation) -> Result<Self, FaultKind> {
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
        let integers = generation <= Generation::Cayman && f.in_dtype == Dtype::UINT8;
        let floats = matches!(f.in_dtype, Dtype::BFLOAT16 | Dtype::FP16 | Dtype::FP32) || is_fp8(f.in_dtype);
        if !(integers || floats && f.in_dtype.exists_on(generation)) {
            return Err(FaultKind::illegal(
                "in_dtype",
                f.in_dtype.text(),
                "FP8, bfloat16, fp16, fp32, or uint8 up to cayman",
            ));
        }
        Ok(Common {
            dtype: f.in_dtype,
            fp32_mode: f.fp32_mode,
            transpose: f.transpose_mode == 1,
            packing: Packing::new(f.perf_opt, f.in_dtype, generation)?,
            zero_point: f.zero_point,
            tile: f.tile,
            grouped: f.grouped,
        })
    }

    /// What the two MX words have in common.
    pub(super) fn mx(in_dtype: Dtype, tile: Tile) -> Self {
        Common {
            dtype: in_dtype,
            fp32_mode: Fp32Mode::NONE,
            transpose: false,
            packing: Packing::Quad,
            zero_point: 0,
            tile,
            grouped: true,
        }
    }

    /// The source operand: one lane a row.
    pub(super) fn source(&self, x: &Exec<'_>, src: &Tensor<3>, dtype: Dtype) -> Result<Walk, FaultKind> {
        let walk = x.tensor("src", src, dtype, self.tile.rows as u8, Access::Read)?;
        self.at_row_group(&walk)?;
        Ok(walk)
    }

    /// The source starts at the partition of the row group.
    pub(super) fn at_row_group(&self, walk: &Walk) -> Result<(), FaultKind> {
        if self.grouped && walk.partition != self.tile.first_row {
            return Err(FaultKind::illegal(
                "src",
                format!("partition {}", walk.partition),
                format!("partition {} of the row group", self.tile.first_row),
            ));
        }
        Ok(())
    }

    /// The flavour of FP8 operands.
    pub(crate) fn flavour(&self, program: Fp8) -> Fp8 {
        if self.packing == Packing::Quad { mx::FLAVOUR } else { program }
    }
}

/// The tile of row and column groups.
pub(super) fn groups(
    (row_grp, rows): (u8, u8),
    (col_grp, cols): (u8, u8),
    generation: Generation,
) -> Result<Tile, FaultKind> {
    let (first_row, rows) = group("row_grp", row_grp, rows)?;
    let (first_col, cols) = group("col_grp", col_grp, cols)?;
    if generation == Generation::Sunda && col_grp == 8 {
        return Err(FaultKind::illegal("col_grp", "0x8", "another group on v2"));
    }
    Ok(Tile { first_row, rows, first_col, cols })
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

/// The fields that all layouts with row and column groups have under the same names, and the two that differ.
macro_rules! fields {
    ($x:expr, $o:expr, transpose_mode: $transpose_mode:expr, zero_point: $zero_point:expr) => {{
        let (rows, cols) = (($o.row_grp, $o.num_active_rows), ($o.col_grp, $o.num_active_cols));
        Fields {
            in_dtype: $o.in_dtype,
            fp32_mode: $o.fp32_mode,
            transpose_mode: $transpose_mode,
            perf_opt: $o.perf_opt,
            zero_point: $zero_point,
            tile: groups(rows, cols, $x.machine.generation)?,
            grouped: true,
        }
    }};
}

/// The fields of MAVERICK's layouts.
macro_rules! tile_fields {
    ($o:expr, transpose_mode: $transpose_mode:expr) => {{
        plain_source(&$o.src, $o.perf_mode.0)?;
        Fields {
            in_dtype: $o.in_dtype,
            fp32_mode: $o.fp32_mode,
            transpose_mode: $transpose_mode,
            perf_opt: 0,
            zero_point: 0,
            tile: tile($o.tile_size, $o.tile_sel, $o.num_active_rows, $o.num_active_cols)?,
            grouped: false,
        }
    }};
}

pub(super) use {fields, tile_fields};

/// MXTENSOR_V2 operands (marker bit 0, decision 03-E8b) name blocks of 16 partitions, and nothing says how those become
/// contraction lanes and scales; the MX modes belong to them.
pub(super) fn plain_source(src: &Tensor<3>, perf_mode: u8) -> Result<(), FaultKind> {
    if src.start.0 >> 24 & 0xE1 == 1 {
        return Err(FaultKind::unsupported("src", "an MXTENSOR_V2 operand: its lanes and scales"));
    }
    if perf_mode != 0 {
        return Err(FaultKind::unsupported("perf_mode", format!("mode {perf_mode} of a plain operand")));
    }
    Ok(())
}

/// Scalar and seed modes (decisions 05-5, 05-18).
pub(super) fn known_flags(scalar_mode: u8, seed_mode: u8) -> Result<(), FaultKind> {
    match (scalar_mode, seed_mode) {
        (0, 0) => Ok(()),
        (0, mode) => Err(FaultKind::unsupported("flags", format!("seed mode {mode}"))),
        (mode, _) => Err(FaultKind::unsupported("flags", format!("scalar mode {mode}"))),
    }
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

/// LDWEIGHTS or LDWEIGHTS_MX with its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightLoad {
    pub(crate) c: Common,
    /// Elements are {weight, tag} pairs of 16 bits.
    pub(crate) tagged: bool,
    /// The first element goes to the first column, not to the last one.
    pub(crate) forward: bool,
    /// One lane a row of the tile.
    pub(crate) walk: Walk,
    /// Of an MX operand.
    pub(crate) scales: Option<Scales>,
}

impl WeightLoad {
    /// Resolves a word and checks it.
    pub(crate) fn new(x: &Exec<'_>, w: &Decoded) -> Result<WeightLoad, FaultKind> {
        let (fields, src, tagged, forward) = match &w.operands {
            Operands::S3_LW_V2(o) => {
                (fields!(x, o, transpose_mode: 0, zero_point: o.quant_offset[0]), o.src, false, false)
            }
            Operands::S3_LW_V3(o) => {
                let fields = fields!(x, o, transpose_mode: o.transpose_mode, zero_point: o.quant_offset[0]);
                (fields, o.src, o.tag_weight_mode & 1 == 1, false)
            }
            // Flags as in the next generation, but for the lowest one (decision 05-4).
            Operands::S3_LW_V4(o) => {
                known_flags(o.flags.0 >> 1 & 3, o.flags.0 >> 3 & 3)?;
                let fields = fields!(x, o, transpose_mode: o.transpose_mode, zero_point: 0);
                (fields, o.src, o.flags.0 & 1 == 1, o.flags.0 & FORWARD != 0)
            }
            Operands::S3_LW_V5(o) => {
                let S3_LW_V5 { flags, .. } = o;
                known_flags(flags.0 >> 1 & 3, flags.0 >> 3 & 3)?;
                (tile_fields!(o, transpose_mode: flags.0 & 1), o.src, false, flags.0 & FORWARD != 0)
            }
            Operands::SMX1_LW(o) => return WeightLoad::mx(x, o),
            _ => return Err(FaultKind::Internal(format!("{} has no weights", w.info.name))),
        };
        let c = Common::new(&fields, x.machine.generation)?;
        if tagged
            && (c.transpose
                || c.packing != Packing::Single
                || !matches!(c.dtype, Dtype::BFLOAT16 | Dtype::FP16))
        {
            return Err(FaultKind::illegal("tag_weight_mode", 1, "16-bit floats, no transpose, perf_opt 0"));
        }
        let walk = c.source(x, &src, if tagged { Dtype::UINT32 } else { c.dtype })?;
        c.check_columns(walk.count)?;
        Ok(WeightLoad { c, tagged, forward, walk, scales: None })
    }

    /// Section 2.7 numbers the columns in the order of the elements, whatever LDWEIGHTS does.
    fn mx(x: &Exec<'_>, o: &SMX1_LW) -> Result<WeightLoad, FaultKind> {
        let (rows, cols) = ((o.row_grp, o.num_active_rows), (o.col_grp, o.num_active_cols));
        let c = Common::mx(o.in_dtype, groups(rows, cols, x.machine.generation)?);
        let MxOperand { walk, scales, columns } = MxOperand::new(x, &o.src, c.dtype, &c.tile)?;
        c.at_row_group(&walk)?;
        c.check_columns(columns * mx::LANES)?;
        Ok(WeightLoad { c, tagged: false, forward: true, walk, scales: Some(scales) })
    }

    /// The column of the array that column `e` of the stream goes to.
    pub(crate) fn column(&self, e: usize) -> usize {
        let tile = &self.c.tile;
        tile.first_col + if self.forward { e } else { tile.cols - 1 - e }
    }

    /// Records what was loaded, for the words that use it.
    pub(crate) fn note_loaded(&self, pe: &mut PeState) {
        pe.dtype = self.c.dtype;
        pe.lanes = self.c.packing.lanes();
        pe.transpose = self.c.transpose;
        pe.packed = Default::default();
    }
}

impl Common {
    /// A row of weights has so many elements.
    fn check_columns(&self, elements: usize) -> Result<(), FaultKind> {
        let expected = self.tile.cols * self.packing.lanes();
        if elements != expected {
            return Err(FaultKind::illegal("src", format!("{elements} elements"), expected.to_string()));
        }
        Ok(())
    }
}

/// The load order in the flags of LDWEIGHTS.
const FORWARD: u8 = 1 << 5;

/// Datatypes of which one may multiply another.
pub(super) fn is_fp8(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::FP8_EXP2 | Dtype::FP8_EXP3 | Dtype::FP8_EXP4 | Dtype::FP8_EXP5)
}
