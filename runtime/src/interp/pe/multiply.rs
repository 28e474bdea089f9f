//! MATMUL and MATMUL_MX with their operands resolved and every check made (chapter 05 sections 2.3 to 2.5).

use super::mx::{self, MxOperand, Scales};
use super::operands::{
    Common, Fields, Packing, Tile, fields, groups, is_fp8, known_flags, plain_source, tile, tile_fields,
};
use crate::interp::{Access, Exec, FaultKind, Walk};
use crate::isa::field::Addr4;
use crate::isa::layouts::{S3D3_MM_V5, SMX1D3_MM};
use crate::isa::{Decoded, Dtype, Generation, Operands, PARTITIONS, PSUM_BANK, Space, Tensor};
use crate::machine::PeState;
use crate::num::{self, Fp8, canonical};

/// The accumulate flag of MATMUL on MAVERICK.
const ACCUMULATE: u8 = 1 << 4;
/// The transpose flag of MATMUL on MAVERICK.
const TRANSPOSE: u8 = 1 << 5;

/// MATMUL or MATMUL_MX with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiply {
    pub(crate) c: Common,
    /// The result replaces what the cells hold.
    pub(crate) begin: bool,
    pub(crate) result: ResultKind,
    /// The moving operand: one lane a row of the tile.
    pub(crate) moving: Walk,
    /// Of an MX operand.
    pub(crate) scales: Option<Scales>,
    /// PSUM cells of the columns up to 128: one lane a column.
    pub(crate) cells: Walk,
    /// Those of the columns above.
    upper: Option<Walk>,
}

/// What a word says of its result.
struct Target {
    dst: Tensor<3>,
    out_dtype: Dtype,
    begin: bool,
    /// The outermost dimension chooses between the columns up to 128 and those above.
    wide: bool,
}

impl Multiply {
    /// Resolves a word and checks it, also against the weights that are loaded now.
    pub(crate) fn new(x: &Exec<'_>, w: &Decoded) -> Result<Multiply, FaultKind> {
        let word = Multiply::for_later(x, w)?;
        let pe = &x.machine.cores[x.core].pe;
        check_pair(pe, &word.c)?;
        word.result.check_seeds(pe)?;
        Ok(word)
    }

    /// [`Multiply::new`] for a word that runs later, perhaps with other weights; see [`Multiply::fits`].
    pub(crate) fn for_later(x: &Exec<'_>, w: &Decoded) -> Result<Multiply, FaultKind> {
        let generation = x.machine.generation;
        let (fields, src, target) = match &w.operands {
            Operands::S3D3_MM_V2(o) => {
                let begin = begins(o.psum_accumulate_flags.0, o.psum_zero_region, generation)?;
                let fields = fields!(x, o, transpose_mode: 0, zero_point: o.quant_offset[0]);
                (fields, o.src, Target { dst: o.dst, out_dtype: Dtype::INVALID, begin, wide: false })
            }
            Operands::S3D3_MM_V3(o) => {
                let begin = begins(o.psum_accumulate_flags.0, o.psum_zero_region, generation)?;
                let fields = fields!(x, o, transpose_mode: o.transpose_mode, zero_point: 0);
                (fields, o.src, Target { dst: o.dst, out_dtype: o.out_dtype, begin, wide: false })
            }
            // Byte 43 decides, not the accumulate flag (decision 05-6).
            Operands::S3D3_MM_V4(o) => {
                known_flags(o.flags.0 & 3, o.flags.0 >> 2 & 3)?;
                if o.flags.0 & TRANSPOSE != 0 {
                    return Err(FaultKind::unsupported("flags", "the transpose flag beside transpose_mode"));
                }
                let begin = begins(o.psum_accumulate_flags.0, o.psum_zero_region, generation)?;
                let fields = fields!(x, o, transpose_mode: o.transpose_mode, zero_point: 0);
                (fields, o.src, Target { dst: o.dst, out_dtype: o.out_dtype, begin, wide: false })
            }
            Operands::S3D3_MM_V5(o) => {
                let S3D3_MM_V5 { flags, .. } = o;
                known_flags(flags.0 & 3, flags.0 >> 2 & 3)?;
                let fields = tile_fields!(o, transpose_mode: u8::from(flags.0 & TRANSPOSE != 0));
                let (begin, wide) = (flags.0 & ACCUMULATE == 0, o.tile_size.0 >> 4 == 8);
                (fields, o.src, Target { dst: o.dst, out_dtype: o.out_dtype, begin, wide })
            }
            Operands::SMX1D3_MM(o) => return Multiply::mx(x, o),
            _ => return Err(FaultKind::Internal(format!("{} multiplies nothing", w.info.name))),
        };
        let c = Common::new(&fields, generation)?;
        check_transpose(&c, target.begin)?;
        let moving = c.source(x, &src, c.dtype)?;
        Multiply::with_cells(x, c, &target, (moving, None, moving.count))
    }

    fn mx(x: &Exec<'_>, o: &SMX1D3_MM) -> Result<Multiply, FaultKind> {
        let (rows, cols) = ((o.row_grp, o.num_active_rows), (o.col_grp, o.num_active_cols));
        let begin = begins(o.psum_accumulate_flags.0, o.psum_zero_region, x.machine.generation)?;
        let c = Common::mx(o.in_dtype, groups(rows, cols, x.machine.generation)?);
        let MxOperand { walk, scales, columns } = MxOperand::new(x, &o.src, c.dtype, &c.tile)?;
        c.at_row_group(&walk)?;
        let target = Target { dst: o.dst, out_dtype: o.out_dtype, begin, wide: false };
        Multiply::with_cells(x, c, &target, (walk, Some(scales), columns * mx::LANES))
    }

    /// The cells of a word, which go with so many elements of the moving operand.
    fn with_cells(
        x: &Exec<'_>,
        c: Common,
        target: &Target,
        (moving, scales, elements): (Walk, Option<Scales>, usize),
    ) -> Result<Multiply, FaultKind> {
        let result = result_dtype(&c, target.out_dtype, x.machine.generation)?;
        let lower = if target.wide { half(x, target, result, 0)? } else { target.dst };
        let lanes = c.tile.cols.min(PARTITIONS);
        let cells = x.tensor("dst", &lower, result.cell(), lanes as u8, Access::Write)?;
        check_cells(x, &c, &cells)?;
        let upper = if c.tile.cols > PARTITIONS {
            let lanes = c.tile.cols - PARTITIONS;
            let dst = half(x, target, result, 1)?;
            let cells = x.tensor("dst", &dst, result.cell(), lanes as u8, Access::Write)?;
            check_cells(x, &c, &cells)?;
            Some(cells)
        } else {
            None
        };
        if elements != cells.count * c.packing.lanes() {
            let expected = (cells.count * c.packing.lanes()).to_string();
            return Err(FaultKind::illegal("src", format!("{elements} elements"), expected));
        }
        Ok(Multiply { c, begin: target.begin, result, moving, scales, cells, upper })
    }

    /// The word as products whose columns each have a lane of PSUM of their own.
    pub(crate) fn passes(self) -> impl Iterator<Item = Multiply> {
        let part = |first: usize, cells: Walk| {
            let tile = self.c.tile;
            let cols = (tile.cols - first).min(PARTITIONS);
            let tile = Tile { first_col: tile.first_col + first, cols, ..tile };
            Multiply { c: Common { tile, ..self.c }, cells, upper: None, ..self }
        };
        std::iter::once(part(0, self.cells)).chain(self.upper.map(|cells| part(PARTITIONS, cells)))
    }

    /// Whether the weights that are loaded now are for this word.
    pub(crate) fn fits(&self, pe: &PeState) -> bool {
        check_pair(pe, &self.c).is_ok() && self.result.check_seeds(pe).is_ok()
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

/// Whether a word overwrites its cells (chapter 05 section 2.5).
fn begins(flags: u8, zero_region: u8, generation: Generation) -> Result<bool, FaultKind> {
    let later = generation > Generation::Cayman;
    if !(flags <= 3 || later && matches!(flags, 4 | 6)) {
        let legal = if later { "0 to 4, or 6" } else { "0 to 3" };
        return Err(FaultKind::illegal("psum_accumulate_flags", flags, legal));
    }
    if zero_region > if later { 3 } else { 0 } {
        return Err(FaultKind::illegal("psum_zero_region", zero_region, if later { "0 to 3" } else { "0" }));
    }
    Ok(flags & 1 == 1)
}

/// The cells of one half of 256 columns.
fn half(x: &Exec<'_>, target: &Target, result: ResultKind, half: i64) -> Result<Tensor<3>, FaultKind> {
    let Tensor { start, step, num } = target.dst;
    if num[2] != 2 {
        return Err(FaultKind::illegal("dst", format!("{} halves of 256 columns", num[2]), "2"));
    }
    let address = i64::from(x.start_address("dst", start)?);
    let address = address + half * i64::from(step[2]) * result.cell().bytes() as i64;
    // What is no address of 29 bits lies in neither memory.
    let start = Addr4(u32::try_from(address).unwrap_or(u32::MAX).min(0x1FFF_FFFF));
    Ok(Tensor { start, step, num: [num[0], num[1], 1] })
}

/// What lands in PSUM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ResultKind {
    Fp32,
    /// Rounded at every write (decision 05-14).
    Bf16,
    Uint32,
    /// Transposing: cells of the input's dtype, FP8 in two bytes.
    Raw(Dtype),
}

impl ResultKind {
    /// A datatype with the width of the cells.
    pub(super) fn cell(self) -> Dtype {
        match self {
            ResultKind::Bf16 => Dtype::BFLOAT16,
            ResultKind::Raw(dtype) if dtype.bytes() < 4 => Dtype::UINT16,
            _ => Dtype::UINT32,
        }
    }

    /// The bits of a floating-point cell after a sum has gone into it.
    pub(crate) fn updated(self, old: u32, sum: f32, begin: bool) -> u32 {
        let bf16 = self == ResultKind::Bf16;
        let old = f32::from_bits(if bf16 { old << 16 } else { old });
        let value = canonical(if begin { sum } else { old + sum });
        if bf16 { num::from_f32(value, Dtype::BFLOAT16, Fp8::default()) } else { value.to_bits() }
    }

    /// After PE_MANAGE_SEED has loaded seeds BF16 cells are rounded stochastically, and there are two seeds for
    /// each cell, of which the manual does not say which one counts (chapter 05 sections 2.5 and 2.8).
    pub(super) fn check_seeds(self, pe: &PeState) -> Result<(), FaultKind> {
        if self == ResultKind::Bf16 && pe.hidden.seeded {
            let reason = "which seed rounds a BF16 cell after PE_MANAGE_SEED";
            return Err(FaultKind::unsupported("out_dtype", reason));
        }
        Ok(())
    }
}

fn result_dtype(c: &Common, out_dtype: Dtype, generation: Generation) -> Result<ResultKind, FaultKind> {
    let (kind, natural) = if c.transpose {
        (ResultKind::Raw(c.dtype), c.dtype)
    } else if c.dtype == Dtype::UINT8 {
        (ResultKind::Uint32, Dtype::UINT32)
    } else {
        (ResultKind::Fp32, Dtype::FP32)
    };
    match out_dtype {
        Dtype::BFLOAT16 if kind == ResultKind::Fp32 && generation > Generation::Cayman => {
            Ok(ResultKind::Bf16)
        }
        dtype if dtype == Dtype::INVALID || dtype == natural => Ok(kind),
        other => Err(FaultKind::illegal("out_dtype", other.text(), format!("0 or {}", natural.text()))),
    }
}

/// Rules that hold between a MATMUL and the LDWEIGHTS before it.
fn check_pair(pe: &PeState, c: &Common) -> Result<(), FaultKind> {
    let (loaded, transposing, lanes) = (pe.dtype, pe.transpose, pe.lanes);
    if loaded == Dtype::INVALID {
        return Ok(());
    }
    if transposing != c.transpose {
        return Err(FaultKind::unsupported("transpose_mode", "the flag is set in only one word of the pair"));
    }
    if loaded != c.dtype && !(is_fp8(loaded) && is_fp8(c.dtype)) {
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
    Ok(())
}

/// What a transposing word must not be.
fn check_transpose(c: &Common, begin: bool) -> Result<(), FaultKind> {
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

fn check_cells(x: &Exec<'_>, c: &Common, cells: &Walk) -> Result<(), FaultKind> {
    if cells.space != Space::Psum {
        return Err(FaultKind::illegal("dst", cells.space, "psum"));
    }
    if c.grouped && cells.partition != c.tile.first_col {
        let expected = format!("partition {} of the column group", c.tile.first_col);
        return Err(FaultKind::illegal("dst", format!("partition {}", cells.partition), expected));
    }
    let bank = PSUM_BANK as usize;
    let one_bank = cells.low / bank == (cells.high - 1) / bank;
    if x.machine.options.strict && x.machine.generation <= Generation::Cayman && !one_bank {
        return Err(FaultKind::illegal("dst", "a result across two PSUM banks", "one 2 KiB bank"));
    }
    Ok(())
}
