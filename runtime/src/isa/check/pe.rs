//! Rules of the PE's words (chapter 05 sections 2.1 to 2.8, chapter 06 section 9.4, chapter 09 section 1). Those of MX
//! and of MAVERICK's tiles are in `pe_later`.
//!
//! That both words of a transposing pair carry the flag, and that their dtypes go together, depends on
//! the weights in the array: the interpreter checks it.

use super::address::{OperandUse, matmul_bank_rule};
use super::gates::{self, DtypeSet};
use super::{Checker, pe_later, rules};
use crate::isa::field::{Fp32Mode, PsumAcc};
use crate::isa::layouts::{
    S2_CONVLUT, S2S1D2_PE_SEED, S3_LT, S3_LW_V2, S3_LW_V3, S3_LW_V4, S3D3_MM_V2, S3D3_MM_V3, S3D3_MM_V4,
    S4D3_MM,
};
use crate::isa::operand::Tensor;
use crate::isa::{Dtype, EngineId, Generation, Location, Space};

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

/// Elements of LDTAGS for each row: four tags each.
const TAG_ELEMENTS: u64 = 32;
/// Byte of the outermost count in a four-dimensional operand.
const MAPS_AT: usize = 18;

/// Datatypes of a result: FP32, also if none is named; BF16 from MARIANA on.
const RESULT: DtypeSet = gates::F32.and(DtypeSet::of(&[Dtype::INVALID]));
pub(super) const LATER_RESULT: DtypeSet = RESULT.and(gates::BF16);

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
    /// The result is BF16.
    narrow: bool,
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
            narrow: false,
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
    let (pass, tagged) = if let Some(o) = c.operands::<S3_LW_V2>() {
        (pass!(o, false), 0)
    } else if let Some(o) = c.operands::<S3_LW_V3>() {
        (pass!(o, o.transpose_mode != 0), o.tag_weight_mode)
    } else if let Some(o) = c.operands::<S3_LW_V4>() {
        (pass!(o, o.transpose_mode != 0), o.flags.0 & 1)
    } else {
        return pe_later::ldweights(c);
    };
    if c.operands::<S3_LW_V3>().is_some() {
        c.value("tag_weight_mode", tagged, tagged <= 1, "0 or 1");
    }
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
    let (pass, flags, zero_region, dst) = if let Some(o) = c.operands::<S3D3_MM_V2>() {
        let group = GROUPS.iter().find(|g| g.code == o.col_grp);
        if let Some(xbus) = group.and_then(|g| g.xbus) {
            let expected = format_args!("{xbus:#x} for col_grp {:#x}", o.col_grp);
            c.value("xbus_sel", o.xbus_sel, o.xbus_sel == xbus, expected);
        }
        (pass!(o, false), o.psum_accumulate_flags, o.psum_zero_region, o.dst)
    } else if let Some(o) = c.operands::<S3D3_MM_V3>() {
        c.dtype("out_dtype", o.out_dtype, RESULT);
        (pass!(o, o.transpose_mode != 0), o.psum_accumulate_flags, o.psum_zero_region, o.dst)
    } else if let Some(o) = c.operands::<S3D3_MM_V4>() {
        c.dtype("out_dtype", o.out_dtype, LATER_RESULT);
        let mut pass = pass!(o, o.transpose_mode != 0);
        pass.narrow = o.out_dtype == Dtype::BFLOAT16;
        (pass, o.psum_accumulate_flags, o.psum_zero_region, o.dst)
    } else {
        return pe_later::matmul(c);
    };
    c.psum_flags(flags, pass.transpose);
    c.zero_region(zero_region);
    c.pass(&pass, OperandUse::read(pass.in_dtype, u32::from(pass.rows)));
    c.result(&pass, &dst);
    c.count("src", &pass.src, dst.count() * pass.elements());
}

/// LDTAGS (section 2.6).
pub(super) fn ldtags(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S3_LT>() else { return };
    let tags = DtypeSet::of(&[Dtype::INT16, Dtype::UINT16]);
    c.dtype("in_dtype", o.in_dtype, tags);
    let bits = o.force_tag_bits;
    c.value("force_tag_bits", bits, bits & !0xC == 0, "0, 4, 8 or 12");
    let src = OperandUse::read(o.in_dtype, u32::from(o.num_active_rows)).only(Space::Sbuf);
    let start = c.tensor("src", &o.src, src);
    c.group(["row_grp", "num_active_rows", "src"], o.row_grp, o.num_active_rows, start);
    c.value("col_grp", o.col_grp, o.col_grp == ALL_LINES, "0xf");
    c.count("src", &o.src, TAG_ELEMENTS);
}

/// MATMUL_SPARSE (section 2.6).
pub(super) fn matmul_sparse(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S4D3_MM>() else { return };
    let later = c.cx.generation > Generation::Cayman;
    c.dtype("in_dtype", o.in_dtype, gates::FP8.and(gates::F16).and(gates::F32));
    c.fp32_mode(o.in_dtype, o.fp32_mode);
    c.dtype("out_dtype", o.out_dtype, if later { LATER_RESULT } else { RESULT });
    c.psum_flags(o.psum_accumulate_flags, false);
    c.zero_region(o.psum_zero_region);
    let src = OperandUse::read(o.in_dtype, u32::from(o.num_active_rows)).only(Space::Sbuf);
    let start = c.tensor("src", &o.src, src);
    c.group(["row_grp", "num_active_rows", "src"], o.row_grp, o.num_active_rows, start);
    let cell = if o.out_dtype == Dtype::BFLOAT16 { 2 } else { 4 };
    let dst = OperandUse {
        narrow_cells: cell == 2,
        ..OperandUse::write(Dtype::FP32, u32::from(o.num_active_cols)).only(Space::Psum).cells(cell)
    };
    let start = c.tensor("dst", &o.dst, dst);
    c.value("col_grp", o.col_grp, o.col_grp == ALL_LINES, "0xf");
    if o.col_grp == ALL_LINES {
        c.group(["col_grp", "num_active_cols", "dst"], o.col_grp, o.num_active_cols, start);
    }
    let maps = o.src.num[3];
    if maps != 0 && !(2..=4).contains(&maps) {
        c.report_in(rules::ELEMENT_COUNT, "src", MAPS_AT, maps, "2 to 4 maps");
    } else {
        c.count("src", &o.src, o.dst.count() * u64::from(maps));
    }
    if let Some(start) = start.filter(|_| !later)
        && let Err(fault) = matmul_bank_rule(start, &o.dst.step, &o.dst.num, cell)
    {
        c.fault("dst", fault);
    }
}

/// PE_MANAGE_SEED (section 2.8).
pub(super) fn manage_seed(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2S1D2_PE_SEED>() else { return };
    c.value("mode", o.mode, o.mode <= 2, "0 to 2");
    if o.mode == 0 {
        return;
    }
    c.value("num_active_rows", o.num_active_rows, o.num_active_rows == 16, "16");
    c.value("num_active_cols", o.num_active_cols, o.num_active_cols == 128, "128");
    if o.mode == 1 {
        let seeds = OperandUse::read(Dtype::INT32, 16).only(Space::Sbuf);
        c.tensor("src_seed", &o.src_seed, seeds);
        c.count("src_seed", &o.src_seed, 128);
        let floats = gates::FP8.and(gates::BF16).and(DtypeSet::of(&[Dtype::FP16, Dtype::FP32R]));
        c.dtype("identity_dtype", o.identity_dtype, floats);
        c.tensor("identity", &o.identity, OperandUse::read(o.identity_dtype, 16).only(Space::Sbuf));
        c.count("identity", &o.identity, 16);
    } else {
        let seeds = OperandUse::write(Dtype::UINT32, 128).only(Space::Psum);
        c.tensor("dst_seed", &o.dst_seed, seeds);
        c.count("dst_seed", &o.dst_seed, 16);
    }
}

/// The legacy form of CONV_LUT_LOAD (chapter 06 section 9.4); the other one is refused by the generic rules.
pub(super) fn load_lut(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<S2_CONVLUT>() else { return };
    let legacy = matches!(o.lut_dtype, Dtype::INVALID | Dtype::FP32);
    if !legacy {
        let compressed = matches!(o.lut_dtype.0, 0x19..=0x1F);
        c.value("lut_dtype", o.lut_dtype.0, compressed, "0, 0xa, or 0x19 to 0x1f");
        return;
    }
    let found = format_args!("the legacy form on {} of {}", c.cx.engine, c.cx.generation);
    if c.cx.engine != EngineId::Pe || c.cx.generation <= Generation::Cayman {
        c.report(
            rules::FIELD_VALUE,
            "lut_dtype",
            found,
            "a compressed form on POOL, the legacy form on PE from mariana",
        );
    }
    c.dtype("in_dtype", o.in_dtype, DtypeSet::of(&[Dtype::UINT16]));
    c.tensor("src", &o.src, OperandUse::read(o.in_dtype, 128).only(Space::Sbuf));
    c.count("src", &o.src, 16);
    let fixed = [
        ("num_active_rows", o.num_active_rows, 128),
        ("num_active_cols", o.num_active_cols, 128),
        ("row_grp", o.row_grp, ALL_LINES),
        ("col_grp", o.col_grp, ALL_LINES),
        ("block_size", o.block_size, 0),
    ];
    for (field, found, expected) in fixed {
        c.value(field, found, found == expected, expected);
    }
    let constant = o.multiplicative_const;
    c.value("multiplicative_const", constant[0] | constant[1], constant == [0, 0], "0");
}

impl Checker<'_> {
    /// FP32 operands have a mode, others none.
    pub(super) fn fp32_mode(&mut self, dtype: Dtype, mode: Fp32Mode) {
        let has_mode = mode != Fp32Mode::NONE;
        if has_mode != (dtype == Dtype::FP32) {
            let expected =
                if has_mode { "0, as in_dtype is not fp32" } else { "1, 2 or 3, as in_dtype is fp32" };
            self.report(rules::FP32_MODE, "fp32_mode", mode.0, expected);
        }
    }

    /// What both words obey.
    fn pass(&mut self, pass: &Pass, src: OperandUse) {
        let later = self.cx.generation > Generation::Cayman;
        self.dtype("in_dtype", pass.in_dtype, if later { gates::PE_FLOATS } else { gates::PE });
        self.fp32_mode(pass.in_dtype, pass.fp32_mode);
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
            _ if pass.narrow => 2,
            _ => 4,
        };
        let operand = OperandUse {
            narrow_cells: pass.transpose || pass.narrow,
            ..OperandUse::write(Dtype::FP32, u32::from(pass.cols)).only(Space::Psum).cells(cell)
        };
        let start = self.tensor("dst", dst, operand);
        self.group(["col_grp", "num_active_cols", "dst"], pass.col_grp, pass.cols, start);
        if let Some(start) = start.filter(|_| self.cx.generation <= Generation::Cayman)
            && let Err(fault) = matmul_bank_rule(start, &dst.step, &dst.num, cell)
        {
            self.fault("dst", fault);
        }
    }

    /// A group code, the number of active lines in it, and the start partition of its operand.
    pub(super) fn group(&mut self, names: [&'static str; 3], code: u8, active: u8, start: Option<Location>) {
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

    pub(super) fn psum_flags(&mut self, flags: PsumAcc, transpose: bool) {
        const BEGIN: u8 = 1;
        let later = self.cx.generation > Generation::Cayman;
        let legal = flags.0 <= 3 || (later && matches!(flags.0, 4 | 6));
        self.value("psum_accumulate_flags", flags.0, legal, if later { "0..4 or 6" } else { "0..3" });
        if transpose && flags.0 & BEGIN == 0 {
            let expected = "BEGIN (bit 0) in transpose mode";
            self.report(rules::TRANSPOSE_BEGIN, "psum_accumulate_flags", flags.0, expected);
        }
    }

    pub(super) fn zero_region(&mut self, region: u8) {
        let later = self.cx.generation > Generation::Cayman;
        let legal = region == 0 || (later && region <= 3);
        self.value("psum_zero_region", region, legal, if later { "0..3" } else { "0" });
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
            let field = if self.cx.generation == Generation::Cayman { "tag_weight_mode" } else { "flags" };
            self.report(rules::TAG_WEIGHTS, field, found, "bfloat16 or fp16, 0, 0");
        }
    }
}
