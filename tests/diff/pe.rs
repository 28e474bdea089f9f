//! Random words of the PE array (chapter 05 section 2). A MATMUL mostly follows a LDWEIGHTS of its own, which
//! the two have to agree on.

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::isa::field::{Addr4, Fp32Mode, LdWeightFlags, MatmulFlags, PsumAcc, TileSel, TileSize};
use seqjit::runtime::isa::layouts::{
    S2_CONVLUT, S2S1D2_PE_SEED, S3_LT, S3_LW_V2, S3_LW_V3, S3_LW_V4, S3_LW_V5, S3D3_MM_V2, S3D3_MM_V3,
    S3D3_MM_V4, S3D3_MM_V5, S4D3_MM, SMX1_LW, SMX1D3_MM,
};
use seqjit::runtime::isa::{Dtype, Generation, Layout, MxPattern1, PSUM_BANK, PSUM_PITCH, Tensor, Word, op};

use crate::words::{Maker, WINDOW};

/// Code, first line, lines of each group (chapter 05 section 2.3.2), and byte 46 of a SUNDA MATMUL.
const GROUPS: [(u8, u32, u8, u8); 7] = [
    (0xF, 0, 128, 0x10),
    (0x3, 0, 64, 0x01),
    (0xC, 64, 64, 0x04),
    (0x1, 0, 32, 0x01),
    (0x2, 32, 32, 0x02),
    (0x4, 64, 32, 0x04),
    (0x8, 96, 32, 0x00),
];

/// What both words of a product share.
#[derive(Clone, Copy)]
struct Product {
    dtype: Dtype,
    mode: Fp32Mode,
    transpose: bool,
    packing: u8,
    zero_point: [u8; 2],
    /// Indices into [`GROUPS`].
    row_group: usize,
    col_group: usize,
    rows: u8,
    cols: u8,
}

impl Product {
    /// Elements of the source for each column or position.
    fn elements(self) -> u16 {
        if matches!(self.packing, 1 | 3) { 2 } else { 1 }
    }
}

impl<R: RngCore> Maker<'_, R> {
    /// LDWEIGHTS, or MATMUL with the weights before it.
    pub fn pe(&mut self, opcode: u8) {
        let mut product = self.product();
        let weights = self.ldweights(product);
        if opcode == op::LDWEIGHTS {
            self.case.word = weights;
            return;
        }
        // Of fp32 weights any part goes with any part of the moving data.
        if product.dtype == Dtype::FP32 {
            product.mode = self.mode();
        }
        if self.rng.random_bool(0.9) {
            self.case.before = vec![weights];
        }
        self.case.word = self.matmul(product);
    }

    fn product(&mut self) -> Product {
        let v2 = self.case.generation == Generation::Sunda;
        let dtypes = [
            Dtype::FP8_EXP3,
            Dtype::FP8_EXP4,
            Dtype::FP8_EXP5,
            Dtype::BFLOAT16,
            Dtype::BFLOAT16,
            Dtype::FP16,
            Dtype::FP32,
            Dtype::FP32,
            Dtype::UINT8,
        ];
        let v5 = self.case.generation == Generation::Maverick;
        let dtype = match *dtypes.choose(self.rng).unwrap() {
            Dtype::UINT8 if v5 => Dtype::FP8_EXP2,
            Dtype::UINT8 if self.case.generation == Generation::Mariana => Dtype::FP16,
            dtype => dtype,
        };
        let mut group = || if self.rng.random_bool(0.4) { 0 } else { self.rng.random_range(0..GROUPS.len()) };
        let (row_group, col_group) = (group(), group());
        let mut active = |group: usize| match self.rng.random_range(0..3) {
            0 => GROUPS[group].2,
            _ => self.rng.random_range(1..=GROUPS[group].2),
        };
        let (rows, cols) = (active(row_group), active(col_group));
        Product {
            dtype,
            mode: if dtype == Dtype::FP32 { self.mode() } else { Fp32Mode::NONE },
            transpose: !v2 && self.rng.random_bool(0.25),
            packing: if v2 || v5 { 0 } else { *[0, 0, 1, 3].choose(self.rng).unwrap() },
            zero_point: if v2 && dtype == Dtype::UINT8 { self.rng.random() } else { [0; 2] },
            row_group,
            col_group,
            rows,
            cols,
        }
    }

    fn mode(&mut self) -> Fp32Mode {
        *[Fp32Mode::LOW, Fp32Mode::HIGH, Fp32Mode::LOW_HIGH].choose(self.rng).unwrap()
    }

    /// A source in SBUF of so many elements a partition, of so many bytes each.
    fn moving(&mut self, elements: u16, bytes: u32, partition: u32) -> Tensor<3> {
        self.total = elements;
        let start = partition * self.case.generation.geometry().sbuf_pitch;
        self.pattern(start, bytes, WINDOW)
    }

    /// A pattern of `total` elements in a window of bytes from a start.
    fn pattern<const N: usize>(&mut self, start: u32, bytes: u32, window: u32) -> Tensor<N> {
        let num = self.counts();
        self.pattern_of(num, start, bytes, window)
    }

    /// A pattern of so many elements.
    fn pattern_of<const N: usize>(
        &mut self,
        num: [u16; N],
        start: u32,
        bytes: u32,
        window: u32,
    ) -> Tensor<N> {
        let mut contiguous = 1;
        let step = num.map(|n| {
            let step = match self.rng.random_range(0..10) {
                0 => 0,
                1 => -contiguous,
                2 => self.rng.random_range(-5..6),
                _ => contiguous,
            };
            contiguous *= n as i16;
            step
        });
        let reach = |up: bool| -> i32 {
            let ends = step.iter().zip(num).map(|(s, n)| i32::from(*s) * (i32::from(n) - 1));
            ends.filter(|end| (*end > 0) == up).sum::<i32>() * bytes as i32
        };
        let (low, high) = (-reach(false), window as i32 - bytes as i32 - reach(true));
        let offset = if low < high { self.rng.random_range(low..=high) } else { low };
        let offset = offset as u32 / bytes * bytes;
        Tensor { start: Addr4(start + offset), step, num }
    }

    fn ldweights(&mut self, p: Product) -> Word {
        if self.case.generation == Generation::Maverick {
            return self.ldweights_of_tile(p);
        }
        let (rows, cols) = (GROUPS[p.row_group], GROUPS[p.col_group]);
        let tagged = matches!(p.dtype, Dtype::BFLOAT16 | Dtype::FP16)
            && !p.transpose
            && p.packing == 0
            && self.case.generation >= Generation::Cayman
            && self.rng.random_bool(0.1);
        let bytes = if tagged { 4 } else { p.dtype.bytes() as u32 };
        let src = self.moving(u16::from(p.cols) * p.elements(), bytes, rows.1);
        let mut word = Word::new(op::LDWEIGHTS);
        if self.case.generation == Generation::Sunda {
            let operands = S3_LW_V2 {
                src,
                in_dtype: p.dtype,
                fp32_mode: p.mode,
                quant_offset: p.zero_point,
                num_active_rows: p.rows,
                num_active_cols: p.cols,
                row_grp: rows.0,
                col_grp: cols.0,
                ..S3_LW_V2::read(&word)
            };
            operands.write(&mut word);
        } else if self.case.generation == Generation::Mariana {
            let operands = S3_LW_V4 {
                src,
                in_dtype: p.dtype,
                fp32_mode: p.mode,
                transpose_mode: p.transpose.into(),
                perf_opt: p.packing,
                num_active_rows: p.rows,
                num_active_cols: p.cols,
                row_grp: rows.0,
                col_grp: cols.0,
                flags: LdWeightFlags(u8::from(tagged) | u8::from(self.rng.random_bool(0.3)) << 5),
                ..S3_LW_V4::read(&word)
            };
            operands.write(&mut word);
        } else {
            let operands = S3_LW_V3 {
                src,
                in_dtype: p.dtype,
                fp32_mode: p.mode,
                transpose_mode: p.transpose.into(),
                perf_opt: p.packing,
                num_active_rows: p.rows,
                num_active_cols: p.cols,
                row_grp: rows.0,
                col_grp: cols.0,
                tag_weight_mode: tagged.into(),
                ..S3_LW_V3::read(&word)
            };
            operands.write(&mut word);
        }
        word
    }

    fn matmul(&mut self, p: Product) -> Word {
        if self.case.generation == Generation::Maverick {
            return self.matmul_of_tile(p);
        }
        let mariana = self.case.generation == Generation::Mariana;
        let bf16 = mariana && !p.transpose && self.rng.random_bool(0.3);
        let (rows, cols) = (GROUPS[p.row_group], GROUPS[p.col_group]);
        let positions = *[1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 48, 64, 100].choose(self.rng).unwrap();
        let src = self.moving(positions * p.elements(), p.dtype.bytes() as u32, rows.1);
        // A result stays in one bank of PSUM.
        self.total = positions;
        let cell = match p.transpose {
            true => p.dtype.bytes().max(2) as u32,
            false if bf16 => 2,
            false => 4,
        };
        let bank = self.case.generation.geometry().psum_base
            + cols.1 * PSUM_PITCH
            + PSUM_BANK * self.rng.random_range(0..WINDOW / PSUM_BANK);
        let dst = self.pattern(bank, cell, PSUM_BANK);
        let accumulate = PsumAcc(self.rng.random_range(0..4) | u8::from(p.transpose));
        let mut word = Word::new(op::MATMUL);
        if self.case.generation == Generation::Sunda {
            let operands = S3D3_MM_V2 {
                src,
                in_dtype: p.dtype,
                fp32_mode: p.mode,
                quant_offset: p.zero_point,
                num_active_rows: p.rows,
                num_active_cols: p.cols,
                psum_accumulate_flags: accumulate,
                row_grp: rows.0,
                col_grp: cols.0,
                xbus_sel: cols.3,
                dst,
                ..S3D3_MM_V2::read(&word)
            };
            operands.write(&mut word);
        } else if mariana {
            let accumulate =
                if p.transpose { accumulate } else { PsumAcc(*[0, 1, 2, 3, 4, 6].choose(self.rng).unwrap()) };
            let operands = S3D3_MM_V4 {
                src,
                in_dtype: p.dtype,
                fp32_mode: p.mode,
                transpose_mode: p.transpose.into(),
                perf_opt: p.packing,
                num_active_rows: p.rows,
                num_active_cols: p.cols,
                out_dtype: match bf16 {
                    true => Dtype::BFLOAT16,
                    false if p.transpose => Dtype::INVALID,
                    false => *[Dtype::FP32, Dtype::INVALID].choose(self.rng).unwrap(),
                },
                psum_accumulate_flags: accumulate,
                row_grp: rows.0,
                col_grp: cols.0,
                dst,
                ..S3D3_MM_V4::read(&word)
            };
            operands.write(&mut word);
        } else {
            let operands = S3D3_MM_V3 {
                src,
                in_dtype: p.dtype,
                fp32_mode: p.mode,
                transpose_mode: p.transpose.into(),
                perf_opt: p.packing,
                num_active_rows: p.rows,
                num_active_cols: p.cols,
                out_dtype: if self.rng.random() { Dtype::FP32 } else { Dtype::INVALID },
                psum_accumulate_flags: accumulate,
                row_grp: rows.0,
                col_grp: cols.0,
                dst,
                ..S3D3_MM_V3::read(&word)
            };
            operands.write(&mut word);
        }
        word
    }

    /// Words of the array beside LDWEIGHTS and MATMUL; `false`: it is none of them.
    pub fn array(&mut self, opcode: u8) -> bool {
        match opcode {
            op::LDTAGS => self.case.word = self.ldtags(),
            op::MATMUL_SPARSE => self.matmul_sparse(),
            op::PE_MANAGE_SEED => self.manage_seed(),
            op::CONV_LUT_LOAD => self.load_lut(),
            op::LDWEIGHTS_MX | op::MATMUL_MX => self.mx(opcode),
            _ => return false,
        }
        true
    }

    /// A source in SBUF of so many elements a partition.
    fn source<const N: usize>(&mut self, elements: u16, bytes: u32, partition: u32) -> Tensor<N> {
        self.total = elements;
        self.pattern(partition * self.case.generation.geometry().sbuf_pitch, bytes, WINDOW)
    }

    fn ldtags(&mut self) -> Word {
        let (row_grp, base, size, _) = *GROUPS.choose(self.rng).unwrap();
        let mut word = Word::new(op::LDTAGS);
        let operands = S3_LT {
            src: self.source(32, 2, base),
            in_dtype: *[Dtype::UINT16, Dtype::INT16].choose(self.rng).unwrap(),
            force_tag_bits: *[0, 0, 4, 8, 12].choose(self.rng).unwrap(),
            num_active_rows: if self.rng.random() { size } else { self.rng.random_range(1..=size) },
            row_grp,
            col_grp: 0xF,
            ..S3_LT::read(&word)
        };
        operands.write(&mut word);
        word
    }

    fn matmul_sparse(&mut self) {
        let later = self.case.generation > Generation::Cayman;
        let mut p = self.product();
        (p.packing, p.transpose, p.col_group) = (0, false, 0);
        if p.dtype == Dtype::UINT8 {
            p.dtype = Dtype::BFLOAT16;
        }
        p.cols = self.rng.random_range(1..=128);
        if self.rng.random_bool(0.9) {
            let weights = self.ldweights(p);
            self.case.before.push(weights);
        }
        if self.rng.random_bool(0.7) {
            let tags = self.ldtags();
            self.case.before.push(tags);
        }
        let (row_grp, base, ..) = GROUPS[p.row_group];
        self.total = *[1, 2, 3, 7, 8, 16, 17, 31, 32, 64, 65, 100].choose(self.rng).unwrap();
        let [a, b, c] = self.counts();
        let maps = self.rng.random_range(2..=4);
        let start = base * self.case.generation.geometry().sbuf_pitch;
        let src = self.pattern_of([a, b, c, maps], start, p.dtype.bytes() as u32, WINDOW);
        let bf16 = later && self.rng.random_bool(0.4);
        let bank = self.case.generation.geometry().psum_base
            + PSUM_BANK * self.rng.random_range(0..WINDOW / PSUM_BANK);
        let dst = self.pattern(bank, if bf16 { 2 } else { 4 }, PSUM_BANK);
        let flags: &[u8] = if later { &[0, 1, 2, 3, 4, 6] } else { &[0, 1, 2, 3] };
        let mut word = Word::new(op::MATMUL_SPARSE);
        let operands = S4D3_MM {
            src,
            in_dtype: p.dtype,
            fp32_mode: if p.dtype == Dtype::FP32 { self.mode() } else { Fp32Mode::NONE },
            out_dtype: match bf16 {
                true => Dtype::BFLOAT16,
                false => *[Dtype::FP32, Dtype::INVALID].choose(self.rng).unwrap(),
            },
            num_active_rows: p.rows,
            num_active_cols: p.cols,
            psum_accumulate_flags: PsumAcc(*flags.choose(self.rng).unwrap()),
            row_grp,
            col_grp: 0xF,
            dst,
            ..S4D3_MM::read(&word)
        };
        operands.write(&mut word);
        self.case.word = word;
    }

    fn manage_seed(&mut self) {
        let quadrant = 32 * self.rng.random_range(0..4);
        let psum = self.case.generation.geometry().psum_base;
        let src_seed = self.source(128, 4, quadrant);
        let identity = self.source(16, 2, quadrant);
        self.total = 16;
        let operands = S2S1D2_PE_SEED {
            src_seed,
            identity,
            identity_dtype: *[Dtype::BFLOAT16, Dtype::FP16].choose(self.rng).unwrap(),
            mode: self.rng.random_range(0..3),
            num_active_rows: 16,
            num_active_cols: 128,
            dst_seed: self.pattern(psum, 4, WINDOW),
        };
        operands.write(&mut self.case.word);
    }

    fn load_lut(&mut self) {
        let operands = S2_CONVLUT {
            src: self.source(16, 2, 0),
            in_dtype: Dtype::UINT16,
            num_active_rows: 128,
            num_active_cols: 128,
            multiplicative_const: [0; 2],
            row_grp: 0xF,
            col_grp: 0xF,
            block_size: 0,
            lut_dtype: *[Dtype::INVALID, Dtype::FP32].choose(self.rng).unwrap(),
        };
        operands.write(&mut self.case.word);
    }

    /// The tile of a MAVERICK product, and its active columns: 0 stands for 256. Both follow from the groups, so that
    /// two words agree.
    fn tile(p: Product) -> (TileSize, TileSel, u8, u8) {
        // Columns: 128 of either half, or up to 256.
        let (col_log, col_sel, cols) = match p.col_group % 3 {
            0 => (7, 0, p.cols),
            1 => (7, 1, p.cols),
            _ => (8, 0, p.cols.wrapping_mul(2)),
        };
        let (row_log, row_sel, rows) = match p.row_group % 3 {
            0 => (7, 0, p.rows),
            half => (6, half as u8 - 1, p.rows.min(64)),
        };
        (TileSize(row_log | col_log << 4), TileSel(row_sel | col_sel << 4), rows, cols)
    }

    fn ldweights_of_tile(&mut self, p: Product) -> Word {
        let (tile_size, tile_sel, num_active_rows, num_active_cols) = Self::tile(p);
        let columns = if num_active_cols == 0 { 256 } else { num_active_cols.into() };
        let mut word = Word::new(op::LDWEIGHTS);
        let operands = S3_LW_V5 {
            src: self.moving(columns, p.dtype.bytes() as u32, 0),
            in_dtype: p.dtype,
            fp32_mode: p.mode,
            num_active_rows,
            num_active_cols,
            tile_size,
            tile_sel,
            flags: LdWeightFlags(u8::from(p.transpose) | u8::from(self.rng.random_bool(0.3)) << 5),
            ..S3_LW_V5::read(&word)
        };
        operands.write(&mut word);
        word
    }

    fn matmul_of_tile(&mut self, p: Product) -> Word {
        let (tile_size, tile_sel, num_active_rows, num_active_cols) = Self::tile(p);
        let positions = *[1, 2, 3, 7, 16, 17, 32, 64, 100].choose(self.rng).unwrap();
        let bf16 = !p.transpose && self.rng.random_bool(0.3);
        let cell = match p.transpose {
            true => p.dtype.bytes().max(2) as u32,
            false if bf16 => 2,
            false => 4,
        };
        let psum = self.case.generation.geometry().psum_base;
        self.total = positions;
        let dst = if tile_size.0 >> 4 == 8 {
            let [a, b] = self.counts();
            self.pattern_of([a, b, 2], psum, cell, WINDOW)
        } else {
            self.pattern(psum, cell, WINDOW)
        };
        let overwrites = p.transpose || self.rng.random();
        let mut word = Word::new(op::MATMUL);
        let operands = S3D3_MM_V5 {
            src: self.moving(positions, p.dtype.bytes() as u32, 0),
            in_dtype: p.dtype,
            fp32_mode: p.mode,
            out_dtype: if bf16 { Dtype::BFLOAT16 } else { Dtype::INVALID },
            num_active_rows,
            num_active_cols,
            tile_size,
            tile_sel,
            flags: MatmulFlags(u8::from(!overwrites) << 4 | u8::from(p.transpose) << 5),
            dst,
            ..S3D3_MM_V5::read(&word)
        };
        operands.write(&mut word);
        word
    }

    /// LDWEIGHTS_MX, or MATMUL_MX with the weights before it.
    fn mx(&mut self, opcode: u8) {
        let mut p = self.product();
        let fp8 = [Dtype::FP8_EXP3, Dtype::FP8_EXP4, Dtype::FP8_EXP5];
        p.dtype = if self.rng.random_bool(0.3) { Dtype::FP4_EXP2 } else { *fp8.choose(self.rng).unwrap() };
        let (rows, cols) = (GROUPS[p.row_group], GROUPS[p.col_group]);
        let mut weights = Word::new(op::LDWEIGHTS_MX);
        let operands = SMX1_LW {
            src: self.mx_operand(p, u16::from(p.cols)),
            in_dtype: p.dtype,
            num_active_rows: p.rows,
            num_active_cols: p.cols,
            row_grp: rows.0,
            col_grp: cols.0,
        };
        operands.write(&mut weights);
        if opcode == op::LDWEIGHTS_MX {
            self.case.word = weights;
            return;
        }
        if self.rng.random_bool(0.9) {
            self.case.before = vec![weights];
        }
        if p.dtype != Dtype::FP4_EXP2 {
            p.dtype = *fp8.choose(self.rng).unwrap();
        }
        let positions = *[1, 2, 3, 7, 16, 17, 32, 64, 100].choose(self.rng).unwrap();
        let bf16 = self.rng.random_bool(0.3);
        let bank = self.case.generation.geometry().psum_base + cols.1 * PSUM_PITCH;
        self.total = positions;
        let dst = self.pattern(bank, if bf16 { 2 } else { 4 }, WINDOW);
        let operands = SMX1D3_MM {
            src: self.mx_operand(p, positions),
            in_dtype: p.dtype,
            num_active_rows: p.rows,
            num_active_cols: p.cols,
            out_dtype: if bf16 { Dtype::BFLOAT16 } else { Dtype::FP32 },
            psum_accumulate_flags: PsumAcc(*[0, 1, 2, 3, 4, 6].choose(self.rng).unwrap()),
            row_grp: rows.0,
            col_grp: cols.0,
            psum_zero_region: self.rng.random_range(0..4),
            dst,
        };
        operands.write(&mut self.case.word);
    }

    /// An operand of so many columns or positions, its scales in the same quadrant.
    fn mx_operand(&mut self, p: Product, columns: u16) -> MxPattern1 {
        let start = GROUPS[p.row_group].1 * self.case.generation.geometry().sbuf_pitch;
        let data = self.rng.random_range(0..(WINDOW - 4 * u32::from(columns)) / 4) * 4;
        let scale = self.rng.random_range(0..WINDOW - u32::from(columns));
        MxPattern1 {
            data: Addr4(start + data),
            scale: Addr4(start + scale),
            num_elem: 4 * columns,
            step: 1,
            scale_partition: *[0, 4, 8, 12].choose(self.rng).unwrap(),
            reserved: [0; 4],
        }
    }
}
