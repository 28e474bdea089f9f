//! Rules of the MX words, and of LDWEIGHTS and MATMUL on MAVERICK (chapter 05 sections 2.2, 2.3 and 2.7).

use super::address::OperandUse;
use super::gates::{self, DtypeSet};
use super::pe::LATER_RESULT;
use super::{Checker, rules};
use crate::isa::field::{Fp32Mode, TileSel, TileSize};
use crate::isa::layouts::{S3_LW_V5, S3D3_MM_V5, SMX1_LW, SMX1D3_MM};
use crate::isa::operand::{MxPattern1, Tensor};
use crate::isa::{Dtype, PARTITIONS, Space};

/// Elements that the array takes for each column or position.
const LANES: u16 = 4;
/// Partitions that share a scale; and scales of a quadrant of partitions.
const SCALE_ROWS: u32 = 8;
const QUADRANT_SCALES: u32 = 4;
const QUADRANT: u32 = 32;

/// Datatypes of MX elements whose packing is known.
const ELEMENTS: DtypeSet = gates::FP8.and(DtypeSet::of(&[Dtype::FP8_EXP2, Dtype::FP4_EXP2]));

/// Offsets in an MX operand.
const COUNT_AT: usize = 8;
const STEP_AT: usize = 10;
const SCALE_PARTITION_AT: usize = 11;

/// LDWEIGHTS_MX, and LDWEIGHTS of MAVERICK.
pub(super) fn ldweights(c: &mut Checker<'_>) {
    if let Some(o) = c.operands::<S3_LW_V5>() {
        let pass = Pass {
            src: o.src,
            in_dtype: o.in_dtype,
            fp32_mode: o.fp32_mode,
            size: o.tile_size,
            select: o.tile_sel,
            rows: o.num_active_rows,
            cols: o.num_active_cols,
        };
        c.tile_pass(&pass, o.perf_mode.0);
        c.count("src", &o.src, u64::from(pass.columns()));
    } else if let Some(o) = c.operands::<SMX1_LW>() {
        let rows = ["row_grp", "num_active_rows", "src"];
        c.mx(&o.src, o.in_dtype, (rows, o.row_grp, o.num_active_rows));
        c.group(["col_grp", "num_active_cols", "src"], o.col_grp, o.num_active_cols, None);
        c.mx_count(&o.src, u64::from(o.num_active_cols));
    }
}

/// MATMUL_MX, and MATMUL of MAVERICK.
pub(super) fn matmul(c: &mut Checker<'_>) {
    if let Some(o) = c.operands::<S3D3_MM_V5>() {
        let pass = Pass {
            src: o.src,
            in_dtype: o.in_dtype,
            fp32_mode: o.fp32_mode,
            size: o.tile_size,
            select: o.tile_sel,
            rows: o.num_active_rows,
            cols: o.num_active_cols,
        };
        c.tile_pass(&pass, o.perf_mode.0);
        let transpose = o.flags.0 >> 5 & 1 == 1;
        if transpose && o.flags.0 >> 4 & 1 == 1 {
            let expected = "OVERWRITE (bit 4 clear) in transpose mode";
            c.report(rules::TRANSPOSE_BEGIN, "flags", o.flags.0, expected);
        }
        c.dtype(
            "out_dtype",
            o.out_dtype,
            LATER_RESULT.and(if transpose { gates::PE_FLOATS } else { LATER_RESULT }),
        );
        let cell = match (transpose, o.in_dtype.bytes()) {
            (true, bytes) => bytes.max(2) as u32,
            (false, _) if o.out_dtype == Dtype::BFLOAT16 => 2,
            _ => 4,
        };
        c.cells(&o.dst, cell, pass.columns().min(PARTITIONS as u32));
        let halves = if pass.is_wide() { u64::from(o.dst.num[2]) } else { 1 };
        if pass.is_wide() && halves != 2 {
            c.report(rules::ELEMENT_COUNT, "dst", halves, "2 in the outermost dimension, for 256 columns");
        } else {
            c.count("src", &o.src, o.dst.count() / halves);
        }
    } else if let Some(o) = c.operands::<SMX1D3_MM>() {
        c.mx(&o.src, o.in_dtype, (["row_grp", "num_active_rows", "src"], o.row_grp, o.num_active_rows));
        c.dtype("out_dtype", o.out_dtype, LATER_RESULT);
        c.psum_flags(o.psum_accumulate_flags, false);
        c.zero_region(o.psum_zero_region);
        let cell = if o.out_dtype == Dtype::BFLOAT16 { 2 } else { 4 };
        let start = c.cells(&o.dst, cell, u32::from(o.num_active_cols));
        c.group(["col_grp", "num_active_cols", "dst"], o.col_grp, o.num_active_cols, start);
        c.mx_count(&o.src, o.dst.count());
    }
}

/// What both words of MAVERICK have.
struct Pass {
    src: Tensor<3>,
    in_dtype: Dtype,
    fp32_mode: Fp32Mode,
    size: TileSize,
    select: TileSel,
    rows: u8,
    cols: u8,
}

impl Pass {
    /// Active columns: 0 means all 256.
    fn columns(&self) -> u32 {
        if self.cols == 0 { 256 } else { self.cols.into() }
    }

    /// The tile has 256 columns.
    fn is_wide(&self) -> bool {
        self.size.0 >> 4 == 8
    }
}

impl Checker<'_> {
    /// A tile and the operand that goes with its rows.
    fn tile_pass(&mut self, pass: &Pass, perf_mode: u8) {
        self.dtype("in_dtype", pass.in_dtype, gates::PE_FLOATS);
        self.fp32_mode(pass.in_dtype, pass.fp32_mode);
        let (row_log, col_log) = (pass.size.0 & 0xF, pass.size.0 >> 4);
        let known = matches!(row_log, 6 | 7) && matches!(col_log, 7 | 8);
        self.value("tile_size", pass.size.0, known, "6 or 7 for rows, 7 or 8 for columns");
        if known {
            let (rows, columns) = (1u32 << row_log, 1u32 << col_log);
            let (row_sel, col_sel) = (u32::from(pass.select.0 & 0xF), u32::from(pass.select.0 >> 4));
            let inside = 64 * row_sel + rows <= 128 && 128 * col_sel + columns <= 256;
            self.value("tile_sel", pass.select.0, inside, "a tile of the array");
            if !(1..=rows).contains(&u32::from(pass.rows)) {
                self.report(rules::GROUP_SIZE, "num_active_rows", pass.rows, format_args!("1..{rows}"));
            }
            if pass.columns() > columns {
                self.report(
                    rules::GROUP_SIZE,
                    "num_active_cols",
                    pass.columns(),
                    format_args!("1..{columns}"),
                );
            }
        }
        if pass.src.start.0 >> 24 & 0xE1 == 1 {
            let expected = "an operand without MX blocks, whose lanes and scales are not known";
            self.report(rules::FIELD_REFUSED, "src", "MXTENSOR_V2", expected);
            return;
        }
        if perf_mode == 1 {
            self.report(
                rules::FIELD_REFUSED,
                "perf_mode",
                "QUAD_ROW",
                "NONE for an operand without MX blocks",
            );
        }
        self.tensor("src", &pass.src, OperandUse::read(pass.in_dtype, pass.rows.into()).only(Space::Sbuf));
    }

    /// The cells of a result.
    fn cells(&mut self, dst: &Tensor<3>, cell: u32, lanes: u32) -> Option<crate::isa::Location> {
        let operand = OperandUse {
            narrow_cells: cell == 2,
            ..OperandUse::write(Dtype::FP32, lanes).only(Space::Psum).cells(cell)
        };
        self.tensor("dst", dst, operand)
    }

    /// An MX operand and the row group that it goes with.
    fn mx(&mut self, src: &MxPattern1, dtype: Dtype, (names, code, rows): ([&'static str; 3], u8, u8)) {
        if dtype == Dtype::INT4 {
            self.report(rules::FIELD_REFUSED, "in_dtype", "int4", "a datatype with a known packing");
        } else {
            self.dtype("in_dtype", dtype, ELEMENTS);
        }
        match src.step as i8 {
            1 => {}
            -1 => {
                let expected = "1: the order of lanes and scales is not known otherwise";
                self.report_in(rules::FIELD_REFUSED, "src", STEP_AT, -1, expected);
            }
            step => self.report_in(rules::FIELD_VALUE, "src", STEP_AT, step, "1 or -1"),
        }
        let offset = src.scale_partition;
        if offset > 12 || !offset.is_multiple_of(4) {
            self.report_in(rules::FIELD_VALUE, "src", SCALE_PARTITION_AT, offset, "0, 4, 8 or 12");
        }
        if src.num_elem == 0 || !src.num_elem.is_multiple_of(LANES) {
            self.report_in(rules::ELEMENT_COUNT, "src", COUNT_AT, src.num_elem, "a multiple of 4, not 0");
            return;
        }
        let columns = src.num_elem / LANES;
        let (cell, cells) =
            if dtype == Dtype::FP4_EXP2 { (Dtype::UINT16, columns) } else { (Dtype::UINT8, src.num_elem) };
        let data = Tensor { start: src.data, step: [1], num: [cells] };
        let start = self.tensor("src", &data, OperandUse::read(cell, rows.into()));
        self.group(names, code, rows, start);
        let last = u32::from(rows.max(1) - 1) / SCALE_ROWS;
        let lanes = u32::from(offset) + QUADRANT * (last / QUADRANT_SCALES) + last % QUADRANT_SCALES + 1;
        let scales = Tensor { start: src.scale, step: [1], num: [columns] };
        self.tensor("src", &scales, OperandUse::read(Dtype::UINT8, lanes).only(Space::Sbuf));
    }

    /// The elements of an MX operand of so many columns or positions.
    fn mx_count(&mut self, src: &MxPattern1, columns: u64) {
        let (found, expected) = (u64::from(src.num_elem), columns * u64::from(LANES));
        if found != 0 && found.is_multiple_of(LANES.into()) && columns != 0 && found != expected {
            self.report_in(rules::ELEMENT_COUNT, "src", COUNT_AT, found, expected);
        }
    }
}
