//! Kernels beside the interpreter functions that define them: the same words on the same data leave the same bytes, at
//! every CPU level of this host.

use std::sync::Arc;

use seqjit_runtime::interp::{Exec, HANDLERS};
use seqjit_runtime::isa::field::{Addr4, Fp32Mode, PsumAcc};
use seqjit_runtime::isa::layouts::{S3_LW_V2, S3_LW_V3, S3D3_MM_V2, S3D3_MM_V3};
use seqjit_runtime::isa::{
    Decoded, Dtype, EngineId, Generation, Layout, PSUM_PITCH, Space, Tensor, Word, decode, op,
};
use seqjit_runtime::kernels::pe::{LoadWeights, MatMul};
use seqjit_runtime::machine::{CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit_runtime::num::{Fp8, Level, with_level};

/// Bytes of a partition that words use: weights in the first half, moving data in the second.
const WINDOW: usize = 8192;
const HALF: u32 = WINDOW as u32 / 2;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    /// Four bytes: ordinary fp32, or pieces that are special in some format, or anything.
    fn data(&mut self, kind: Kind) -> u32 {
        const SPECIAL: [u32; 16] = [
            0,
            0x8000_0000,
            0x0080_0000,
            0x007F_FFFF,
            0x8080_0001,
            0x0000_0001,
            0x7F80_0000,
            0xFF80_0000,
            0x7FC0_1234,
            0x7F80_0001,
            0x3F80_0000,
            0x3F80_3F80,
            0x0001_8001,
            0x7C00_7BFF,
            0x7E01_FC00,
            0x2000_A001,
        ];
        match kind {
            Kind::Ordinary => ((self.next() as f32 / u32::MAX as f32 - 0.5) * 4.0).to_bits(),
            Kind::Special => SPECIAL[self.below(16) as usize],
            // Products near 2^-126 in all the formats that get there.
            Kind::Tiny => {
                (0x1F80_1F80 + (self.below(3) << 23 | self.below(3) << 7)) ^ self.next() & 0x807F_807F
            }
            Kind::Any => self.next(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Ordinary,
    Special,
    Tiny,
    Any,
}

const KINDS: [Kind; 4] = [Kind::Ordinary, Kind::Special, Kind::Tiny, Kind::Any];

fn machine(generation: Generation) -> Machine {
    let core = CoreSpec {
        name: "kernels".into(),
        streams: std::array::from_fn(|_| Stream { base: 0, words: Arc::new([]), ends_gracefully: true }),
        queues: Vec::new(),
        variables: Vec::new(),
        table_base: 0,
        physical: 0,
        dve_programs: None,
        fp8: Fp8::default(),
        table_sets: Vec::new(),
        replica_groups: Vec::new(),
    };
    let image = Image { generation, cores: vec![Arc::new(core)], buffers: Vec::new() };
    Machine::new(&image, MachineOptions { strict: false, ..MachineOptions::default() })
}

/// Fills the windows of SBUF and PSUM.
fn fill(machine: &mut Machine, random: &mut Random, kind: Kind) {
    for space in [Space::Sbuf, Space::Psum] {
        for partition in 0..128 {
            let row = machine.cores[0].memory_mut(space).partition_mut(partition);
            for element in row[..WINDOW].as_chunks_mut().0 {
                *element = random.data(kind).to_le_bytes();
            }
        }
    }
}

/// A pair of words that belong together.
#[derive(Clone, Copy, Debug)]
struct Product {
    generation: Generation,
    dtype: Dtype,
    modes: [Fp32Mode; 2],
    transpose: bool,
    packing: u8,
    /// Code and first line of each group.
    row_group: (u8, u32),
    col_group: (u8, u32),
    rows: u8,
    cols: u8,
    /// Dimensions of the moving operand: elements and steps.
    moving: ([u16; 3], [i16; 3]),
    /// Steps of the weights and of the cells.
    steps: (i16, i16),
    accumulate: bool,
}

impl Product {
    fn plain(dtype: Dtype, rows: u8, cols: u8, n: u16) -> Product {
        let mode = if dtype == Dtype::FP32 { Fp32Mode::LOW_HIGH } else { Fp32Mode::NONE };
        Product {
            generation: Generation::Cayman,
            dtype,
            modes: [mode; 2],
            transpose: false,
            packing: 0,
            row_group: (0xF, 0),
            col_group: (0xF, 0),
            rows,
            cols,
            moving: ([n, 1, 1], [1, 0, 0]),
            steps: (-1, 1),
            accumulate: false,
        }
    }

    fn words(&self) -> [Word; 2] {
        let geometry = self.generation.geometry();
        let size = self.dtype.bytes() as u32;
        let lanes: u16 = if self.packing == 0 { 1 } else { 2 };
        let weights = u16::from(self.cols) * lanes;
        let base = self.row_group.1 * geometry.sbuf_pitch;
        // Descending walks start at their highest element.
        let span = |step: i16, count: u16| {
            if step < 0 { u32::from(count - 1) * u32::from(step.unsigned_abs()) } else { 0 }
        };
        let src = Tensor {
            start: Addr4(base + span(self.steps.0, weights) * size),
            step: [self.steps.0, 0, 0],
            num: [weights, 1, 1],
        };
        let mut moving = Tensor { start: Addr4(base + HALF), step: self.moving.1, num: self.moving.0 };
        moving.num[2] *= lanes;
        let n: u16 = self.moving.0.iter().product();
        let cell = if self.transpose { size.max(2) } else { 4 };
        let psum = geometry.psum_base + self.col_group.1 * PSUM_PITCH;
        let dst = Tensor {
            start: Addr4(psum + span(self.steps.1, n) * cell),
            step: [self.steps.1, 0, 0],
            num: [n, 1, 1],
        };
        let flags = PsumAcc(if self.accumulate { 0 } else { 3 });
        let (mut load, mut multiply) = (Word::new(op::LDWEIGHTS), Word::new(op::MATMUL));
        macro_rules! common {
            ($layout:ident, $word:ident, $src:expr, $mode:expr, { $($more:tt)* }) => {
                $layout {
                    src: $src,
                    in_dtype: self.dtype,
                    fp32_mode: $mode,
                    num_active_rows: self.rows,
                    num_active_cols: self.cols,
                    row_grp: self.row_group.0,
                    col_grp: self.col_group.0,
                    $($more)*
                    ..$layout::read(&$word)
                }
                .write(&mut $word)
            };
        }
        if self.generation == Generation::Sunda {
            common!(S3_LW_V2, load, src, self.modes[0], { quant_offset: [3, 3], });
            common!(S3D3_MM_V2, multiply, moving, self.modes[1], { quant_offset: [200, 200], dst, psum_accumulate_flags: flags, });
        } else {
            let transpose_mode = self.transpose.into();
            common!(S3_LW_V3, load, src, self.modes[0], { transpose_mode, perf_opt: self.packing, });
            common!(S3D3_MM_V3, multiply, moving, self.modes[1], { transpose_mode, perf_opt: self.packing, dst, psum_accumulate_flags: flags, });
        }
        [load, multiply]
    }

    fn decoded(&self) -> [Decoded; 2] {
        self.words().map(|w| decode(&w, self.generation).unwrap())
    }
}

fn exec(machine: &mut Machine) -> Exec<'_> {
    Exec { machine, core: 0, engine: EngineId::Pe, pc: 0, ends_turn: false }
}

/// Runs a pair in the interpreter, and from the same PSUM and array in kernels at each level.
fn compare(product: &Product, machine: &mut Machine) {
    let [load, multiply] = product.decoded();
    let (psum, pe) = (machine.cores[0].psum.clone(), machine.cores[0].pe.clone());
    for word in [&load, &multiply] {
        let handler = HANDLERS[usize::from(word.info.byte)].unwrap();
        handler(&mut exec(machine), word).unwrap_or_else(|f| panic!("{product:?}: {f:?}"));
    }
    let plain = (machine.cores[0].psum.clone(), machine.cores[0].pe.clone());
    for level in Level::ALL.into_iter().filter(|level| *level <= Level::host()) {
        (machine.cores[0].psum, machine.cores[0].pe) = (psum.clone(), pe.clone());
        with_level(level, || {
            let mut x = exec(machine);
            LoadWeights::bind(&x, &load).unwrap().run(&mut x);
            let ran = MatMul::bind(&x, &multiply).unwrap().run(&mut x);
            assert!(ran, "{product:?}");
        });
        let (a, b) = (&plain.1, &machine.cores[0].pe);
        assert!(
            a.raw == b.raw && a.tags == b.tags && a.dtype == b.dtype && a.lanes == b.lanes,
            "{product:?}"
        );
        let same = a.weights.iter().map(|w| w.to_bits()).eq(b.weights.iter().map(|w| w.to_bits()));
        assert!(same, "{level}: weights of {product:?}");
        for partition in 0..128 {
            let [a, b] = [&plain.0, &machine.cores[0].psum].map(|psum| psum.partition(partition));
            if a != b {
                let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap();
                let cell = |row: &[u8]| u32::from_le_bytes(row[at / 4 * 4..][..4].try_into().unwrap());
                let (a, b) = (cell(a), cell(b));
                panic!("{level}: partition {partition} byte {at}: {a:08x} and {b:08x} of {product:?}");
            }
        }
    }
}

const DTYPES: [Dtype; 7] = [
    Dtype::FP8_EXP3,
    Dtype::FP8_EXP4,
    Dtype::FP8_EXP5,
    Dtype::BFLOAT16,
    Dtype::FP16,
    Dtype::FP32,
    Dtype::UINT8,
];

/// Every datatype on data of every kind, tiles and widths that fill vectors and that do not.
#[test]
fn products_of_every_datatype() {
    let mut random = Random(1);
    for kind in KINDS {
        let mut machine = machine(Generation::Cayman);
        fill(&mut machine, &mut random, kind);
        for dtype in DTYPES {
            for (rows, cols, n) in [(128, 128, 70), (33, 5, 16), (1, 1, 1), (64, 17, 48), (31, 128, 33)] {
                for accumulate in [false, true] {
                    compare(&Product { accumulate, ..Product::plain(dtype, rows, cols, n) }, &mut machine);
                }
            }
        }
    }
}

/// The parts of fp32 in every combination (decision 05-12).
#[test]
fn parts_of_fp32() {
    let mut random = Random(2);
    let parts = [Fp32Mode::LOW, Fp32Mode::HIGH, Fp32Mode::LOW_HIGH];
    for kind in KINDS {
        let mut machine = machine(Generation::Cayman);
        fill(&mut machine, &mut random, kind);
        for modes in parts.into_iter().flat_map(|a| parts.map(|b| [a, b])) {
            compare(&Product { modes, ..Product::plain(Dtype::FP32, 40, 20, 20) }, &mut machine);
        }
    }
}

/// Tiles of every group, two contraction lanes a row, zero points, and walks that are not contiguous.
#[test]
fn tiles_packings_and_walks() {
    let groups = [(0x3, 0, 64), (0xC, 64, 64), (0x1, 0, 32), (0x2, 32, 32), (0x4, 64, 32)];
    let mut random = Random(3);
    for round in 0..60 {
        let generation = if round % 3 == 0 { Generation::Sunda } else { Generation::Cayman };
        let mut machine = machine(generation);
        fill(&mut machine, &mut random, KINDS[round % 4]);
        let dtype = DTYPES[random.below(7) as usize];
        let [row, col] = [0, 0].map(|_: u8| groups[random.below(5) as usize]);
        let fp8 = matches!(dtype, Dtype::FP8_EXP3 | Dtype::FP8_EXP4 | Dtype::FP8_EXP5);
        let inner = 1 + random.below(12) as u16;
        compare(
            &Product {
                generation,
                packing: if fp8 && generation != Generation::Sunda {
                    [0, 1, 3][random.below(3) as usize]
                } else {
                    0
                },
                row_group: (row.0, row.1),
                col_group: (col.0, col.1),
                moving: (
                    [inner, 3, 2],
                    [[1, inner as i16 + 2, 3], [0, 1, -1], [2, -1, 5]][random.below(3) as usize],
                ),
                steps: ([-1, 1, -9, 0][random.below(4) as usize], [1, -1, 2, 0][random.below(4) as usize]),
                accumulate: random.below(2) == 0,
                ..Product::plain(dtype, 1 + random.below(row.2) as u8, 1 + random.below(col.2) as u8, 1)
            },
            &mut machine,
        );
    }
}

/// Transposing words: an identity, a permutation, and moving data that are neither (decision 05-10).
#[test]
fn transposes() {
    let one = |dtype| match dtype {
        Dtype::FP32 => 0x3F80_0000u32,
        Dtype::BFLOAT16 => 0x3F80,
        Dtype::FP16 => 0x3C00,
        Dtype::FP8_EXP3 => 0x30,
        Dtype::FP8_EXP4 => 0x38,
        Dtype::FP8_EXP5 => 0x3C,
        _ => 1,
    };
    let mut random = Random(4);
    for dtype in DTYPES {
        for (rows, cols, step) in [(128, 128, 1), (70, 33, 9), (5, 3, 2), (128, 100, 0)] {
            let mut machine = machine(Generation::Cayman);
            let kind = KINDS[random.below(4) as usize];
            fill(&mut machine, &mut random, kind);
            let size = dtype.bytes();
            for partition in 0..128 {
                let row = &mut machine.cores[0].sbuf.partition_mut(partition)[HALF as usize..];
                row[..128 * size].fill(0);
                if step == 0 {
                    // Neither: some columns hold two numbers, one holds none.
                    row[..size].copy_from_slice(&one(dtype).to_le_bytes()[..size]);
                }
                let column = if step == 0 { partition } else { partition * step % rows as usize };
                let cell = &mut row[column * size..][..size];
                cell.copy_from_slice(&one(dtype).to_le_bytes()[..size]);
            }
            let product = Product { transpose: true, ..Product::plain(dtype, rows, cols, u16::from(rows)) };
            compare(&product, &mut machine);
        }
    }
}

/// A MATMUL that was bound for other weights than are loaded when it runs leaves everything to the interpreter.
#[test]
fn weights_of_another_datatype_are_left_alone() {
    let mut random = Random(5);
    let mut machine = machine(Generation::Cayman);
    fill(&mut machine, &mut random, Kind::Ordinary);
    let [load, multiply] = Product::plain(Dtype::BFLOAT16, 32, 32, 16).decoded();
    let [other, _] = Product::plain(Dtype::FP32, 32, 32, 16).decoded();
    let mut x = exec(&mut machine);
    LoadWeights::bind(&x, &load).unwrap().run(&mut x);
    let word = MatMul::bind(&x, &multiply).unwrap();
    LoadWeights::bind(&x, &other).unwrap().run(&mut x);
    let before = machine.cores[0].psum.clone();
    assert!(!word.run(&mut exec(&mut machine)));
    for partition in 0..128 {
        assert_eq!(before.partition(partition), machine.cores[0].psum.partition(partition));
    }
}
