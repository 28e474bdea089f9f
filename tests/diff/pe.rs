//! Random words of the PE array (chapter 05 section 2). A MATMUL mostly follows a LDWEIGHTS of its own, which
//! the two have to agree on.

use rand::seq::IndexedRandom;
use rand::{Rng, RngCore};
use seqjit::runtime::isa::field::{Addr4, Fp32Mode, PsumAcc};
use seqjit::runtime::isa::layouts::{
    S2_CONVLUT, S2S1D2_PE_SEED, S3_LT, S3_LW_V2, S3_LW_V3, S3D3_MM_V2, S3D3_MM_V3, S4D3_MM,
};
use seqjit::runtime::isa::{Dtype, Generation, Layout, PSUM_BANK, PSUM_PITCH, Tensor, Word, op};

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
        let dtype = *dtypes.choose(self.rng).unwrap();
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
            packing: if v2 { 0 } else { *[0, 0, 1, 3].choose(self.rng).unwrap() },
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
        let (rows, cols) = (GROUPS[p.row_group], GROUPS[p.col_group]);
        let positions = *[1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 48, 64, 100].choose(self.rng).unwrap();
        let src = self.moving(positions * p.elements(), p.dtype.bytes() as u32, rows.1);
        // A result stays in one bank of PSUM.
        self.total = positions;
        let cell = if p.transpose { p.dtype.bytes().max(2) as u32 } else { 4 };
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
        // No weights of later generations yet.
        if !later && self.rng.random_bool(0.9) {
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
}
