//! Rules of LDWEIGHTS and MATMUL (chapter 05 sections 2.1 to 2.5, chapter 09 section 1). The layouts of
//! MARIANA and MAVERICK have the generic rules only.
//!
//! That both words of a transposing pair carry the flag, and that their dtypes go together, depends on
//! the weights in the array: the interpreter checks it.

use super::address::{OperandUse, matmul_bank_rule};
use super::gates::{self, DtypeSet};
use super::{Checker, rules};
use crate::isa::field::{Fp32Mode, PsumAcc};
use crate::isa::layouts::{S3_LW_V2, S3_LW_V3, S3D3_MM_V2, S3D3_MM_V3};
use crate::isa::operand::Tensor;
use crate::isa::{Dtype, Generation, Location, Space};

/// A row or column group of the array (chapter 05 section 2.3.2).
struct Group {
    code: u8,
    base: u8,
    size: u8,
    /// Byte 46 of a SUNDA MATMUL whose columns are this group; `None`: no legal value.
    xbus: Option<u8>,
}

const ALL_LINES: u8 = 0xF;
const GROUPS: &[Group] = &[
    Group { code: ALL_LINES, base: 0, size: 128, xbus: Some(0x10) },
    Group { code: 0x3, base: 0, size: 64, xbus: Some(0x01) },
    Group { code: 0xC, base: 64, size: 64, xbus: Some(0x04) },
    Group { code: 0x1, base: 0, size: 32, xbus: Some(0x01) },
    Group { code: 0x2, base: 32, size: 32, xbus: Some(0x02) },
    Group { code: 0x4, base: 64, size: 32, xbus: Some(0x04) },
    Group { code: 0x8, base: 96, size: 32, xbus: None },
];

const DOUBLE_ROW: u8 = 1;
const DOUBLE_PIXEL: u8 = 3;

/// What LDWEIGHTS and MATMUL share.
struct Pass {
    src: Tensor<3>,
    in_dtype: Dtype,
    fp32_mode: Fp32Mode,
    transpose: bool,
    perf_opt: u8,
    rows: u8,
    cols: u8,
    row_grp: u8,
    col_grp: u8,
}

/// Builds a [`Pass`] from a layout; SUNDA has no transpose mode.
macro_rules! pass {
    ($o:ident, $transpose:expr) => {
        Pass {
            src: $o.src,
            in_dtype: $o.in_dtype,
            fp32_mode: $o.fp32_mode,
            transpose: $transpose,
            perf_opt: $o.perf_opt,
            rows: $o.num_active_rows,
            cols: $o.num_active_cols,
            row_grp: $o.row_grp,
            col_grp: $o.col_grp,
        }
    };
}

impl Pass {
    /// Elements of the pattern for each column or moving position.
    fn elements(&self) -> u64 {
        if matches!(self.perf_opt, DOUBLE_ROW | DOUBLE_PIXEL) { 2 } else { 1 }
    }
}

pub(super) fn ldweights(c: &mut Checker<'_>) {
    let (pass, tagged) = match (c.operands::<S3_LW_V2>(), c.operands::<S3_LW_V3>()) {
        (Some(o), _) => (pass!(o, false), 0),
        (_, Some(o)) => (pass!(o, o.transpose_mode != 0), o.tag_weight_mode),
        _ => return,
    };
    c.value("tag_weight_mode", tagged, tagged <= 1, "0 or 1");
    let weights = OperandUse::read(pass.in_dtype, u32::from(pass.rows));
    let weights = if tagged == 1 {
        c.tagged(&pass);
        weights.cells(4) // weight and tag side by side
    } else {
        weights
    };
    c.pass(&pass, weights);
    c.group(["col_grp", "num_active_cols", "src"], pass.col_grp, pass.cols, None); // columns have no operand here
    c.count("src", &pass.src, u64::from(pass.cols) * pass.elements());
}

pub(super) fn matmul(c: &mut Checker<'_>) {
    let (pass, flags, zero_region, dst) = match (c.operands::<S3D3_MM_V2>(), c.operands::<S3D3_MM_V3>()) {
        (Some(o), _) => {
            let group = GROUPS.iter().find(|g| g.code == o.col_grp);
            if let Some(xbus) = group.and_then(|g| g.xbus) {
                let expected = format_args!("{xbus:#x} for col_grp {:#x}", o.col_grp);
                c.value("xbus_sel", o.xbus_sel, o.xbus_sel == xbus, expected);
            }
            (pass!(o, false), o.psum_accumulate_flags, o.psum_zero_region, o.dst)
        }
        (_, Some(o)) => {
            c.dtype("out_dtype", o.out_dtype, gates::F32.and(DtypeSet::of(&[Dtype::INVALID])));
            (pass!(o, o.transpose_mode != 0), o.psum_accumulate_flags, o.psum_zero_region, o.dst)
        }
        _ => return,
    };
    c.psum_flags(flags, pass.transpose);
    c.value("psum_zero_region", zero_region, zero_region == 0, "0");
    c.pass(&pass, OperandUse::read(pass.in_dtype, u32::from(pass.rows)));
    c.result(&pass, &dst);
    c.count("src", &pass.src, dst.count() * pass.elements());
}

impl Checker<'_> {
    /// What both words obey.
    fn pass(&mut self, pass: &Pass, src: OperandUse) {
        self.dtype("in_dtype", pass.in_dtype, gates::PE);
        let has_mode = pass.fp32_mode != Fp32Mode::NONE;
        if has_mode != (pass.in_dtype == Dtype::FP32) {
            let expected =
                if has_mode { "0, as in_dtype is not fp32" } else { "1, 2 or 3, as in_dtype is fp32" };
            self.report(rules::FP32_MODE, "fp32_mode", pass.fp32_mode.0, expected);
        }
        self.value("perf_opt", pass.perf_opt, pass.perf_opt <= DOUBLE_PIXEL, "0..3");
        let fp8 = gates::FP8.contains(pass.in_dtype) && self.cx.generation >= Generation::Cayman;
        if pass.perf_opt == DOUBLE_PIXEL && !fp8 {
            let found = format_args!("DoublePixel, {}", pass.in_dtype.text());
            self.report(rules::DOUBLE_ROW, "perf_opt", found, "FP8, cayman or later");
        }
        if pass.perf_opt == DOUBLE_ROW && !(fp8 && pass.col_grp == ALL_LINES) {
            let found = format_args!("DoubleRow, {}, col_grp {:#x}", pass.in_dtype.text(), pass.col_grp);
            self.report(rules::DOUBLE_ROW, "perf_opt", found, "FP8, col_grp 0xf, cayman or later");
        }
        let start = self.tensor("src", &pass.src, src.only(Space::Sbuf));
        self.group(["row_grp", "num_active_rows", "src"], pass.row_grp, pass.rows, start);
    }

    /// The result operand: cells of four bytes, or of the input's width when transposing (FP8 in two).
    fn result(&mut self, pass: &Pass, dst: &Tensor<3>) {
        let cell = match (pass.transpose, pass.in_dtype.bytes()) {
            (true, 1) => 2,
            (true, bytes @ 2..) => bytes as u32,
            _ => 4,
        };
        let operand = OperandUse {
            narrow_cells: pass.transpose,
            ..OperandUse::write(Dtype::FP32, u32::from(pass.cols)).only(Space::Psum).cells(cell)
        };
        let start = self.tensor("dst", dst, operand);
        self.group(["col_grp", "num_active_cols", "dst"], pass.col_grp, pass.cols, start);
        if let Some(start) = start
            && let Err(fault) = matmul_bank_rule(start, &dst.step, &dst.num, cell)
        {
            self.fault("dst", fault);
        }
    }

    /// A group code, the number of active lines in it, and the start partition of its operand.
    fn group(&mut self, names: [&'static str; 3], code: u8, active: u8, start: Option<Location>) {
        let [code_name, active_name, operand_name] = names;
        let group = GROUPS.iter().find(|g| g.code == code);
        let sunda = self.cx.generation == Generation::Sunda;
        let no_bus = sunda && code_name == "col_grp" && group.is_some_and(|g| g.xbus.is_none());
        let expected =
            if sunda { "0xf, 3, 0xc, 1, 2, 4, or 8 for rows" } else { "0xf, 3, 0xc, 1, 2, 4 or 8" };
        self.value(code_name, code, group.is_some() && !no_bus, expected);
        let Some(group) = group else { return };
        if !(1..=group.size).contains(&active) {
            self.report(rules::GROUP_SIZE, active_name, active, format_args!("1..{}", group.size));
        }
        if let Some(start) = start.filter(|s| s.partition != group.base) {
            let found = format_args!("partition {}", start.partition);
            let expected = format_args!("partition {} of {code_name} {code:#x}", group.base);
            self.report(rules::GROUP_PARTITION, operand_name, found, expected);
        }
    }

    fn psum_flags(&mut self, flags: PsumAcc, transpose: bool) {
        const BEGIN: u8 = 1;
        self.value("psum_accumulate_flags", flags.0, flags.0 <= 3, "0..3");
        if transpose && flags.0 & BEGIN == 0 {
            let expected = "BEGIN (bit 0) in transpose mode";
            self.report(rules::TRANSPOSE_BEGIN, "psum_accumulate_flags", flags.0, expected);
        }
    }

    /// Weights that carry tags in their upper half.
    fn tagged(&mut self, pass: &Pass) {
        if !gates::F16.contains(pass.in_dtype) || pass.transpose || pass.perf_opt != 0 {
            let found = format_args!(
                "{}, transpose {}, perf_opt {}",
                pass.in_dtype.text(),
                u8::from(pass.transpose),
                pass.perf_opt
            );
            self.report(rules::TAG_WEIGHTS, "tag_weight_mode", found, "bfloat16 or fp16, 0, 0");
        }
    }
}
