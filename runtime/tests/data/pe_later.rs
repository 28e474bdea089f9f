//! MX words, and LDWEIGHTS and MATMUL of MARIANA and MAVERICK (chapter 05 sections 2.2, 2.3, 2.5 and 2.7). Values are
//! worked out by hand.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, MxPattern1, Space, Tensor, Word, op};
use seqjit_runtime::machine::Machine;

use crate::support::*;

const PE: EngineId = EngineId::Pe;
const WEIGHTS: u32 = 0;
const WEIGHT_SCALES: u32 = 0x100;
const MOVING: u32 = 0x200;
const MOVING_SCALES: u32 = 0x300;

fn psum(machine: &Machine) -> u32 {
    machine.generation.geometry().psum_base
}

fn pattern(data: u32, scale: u32, columns: u16, scale_partition: u8) -> MxPattern1 {
    MxPattern1 {
        data: Addr4(data),
        scale: Addr4(scale),
        num_elem: 4 * columns,
        step: 1,
        scale_partition,
        reserved: [0; 4],
    }
}

fn ldweights_mx(dtype: Dtype, rows: u8, columns: u8, scale_partition: u8) -> SMX1_LW {
    SMX1_LW {
        src: pattern(WEIGHTS, WEIGHT_SCALES, columns.into(), scale_partition),
        in_dtype: dtype,
        num_active_rows: rows,
        num_active_cols: columns,
        row_grp: 0xF,
        col_grp: 0xF,
    }
}

fn matmul_mx(machine: &Machine, dtype: Dtype, (rows, columns): (u8, u8), positions: u16) -> SMX1D3_MM {
    SMX1D3_MM {
        src: pattern(MOVING, MOVING_SCALES, positions, 0),
        in_dtype: dtype,
        num_active_rows: rows,
        num_active_cols: columns,
        out_dtype: Dtype::FP32,
        psum_accumulate_flags: PsumAcc(3),
        row_grp: 0xF,
        col_grp: 0xF,
        psum_zero_region: 0,
        dst: line(psum(machine), positions),
    }
}

/// Cells of a partition of PSUM.
fn cells(machine: &Machine, partition: usize, n: usize) -> Vec<u32> {
    let row = &machine.cores[0].memory(Space::Psum).partition(partition)[..4 * n];
    row.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn results(machine: &Machine, partition: usize, n: usize) -> Vec<f32> {
    cells(machine, partition, n).into_iter().map(f32::from_bits).collect()
}

// E4M3: 38 is 1, 3C is 1.5, 40 is 2, 48 is 4; E8M0: 127 is 1.
#[test]
fn four_lanes_of_a_row_and_a_scale_for_eight_rows() {
    let mut machine = strict(Generation::Mariana);
    for row in 0..16 {
        put_bytes(&mut machine, row, WEIGHTS as usize, &[0; 8]);
        put_bytes(&mut machine, row, MOVING as usize, &[0; 8]);
    }
    // Row 0: column 0 is 1.5 x 2^-2, the example of section 2.7; column 1 is 2, 4. Row 8: column 0 is 1.
    put_bytes(&mut machine, 0, WEIGHTS as usize, &[0x3C, 0, 0, 0, 0x38, 0x40, 0, 0]);
    put_bytes(&mut machine, 8, WEIGHTS as usize, &[0x38]);
    put_bytes(&mut machine, 4, WEIGHT_SCALES as usize, &[125, 128]);
    put_bytes(&mut machine, 5, WEIGHT_SCALES as usize, &[127, 127]);
    // Row 0: position 0 is 2, 1; position 1 is 0, 4. Row 8: position 0 is 4 x 2^-1.
    put_bytes(&mut machine, 0, MOVING as usize, &[0x40, 0x38, 0, 0, 0, 0x38, 0, 0]);
    put_bytes(&mut machine, 8, MOVING as usize, &[0x48]);
    put_bytes(&mut machine, 0, MOVING_SCALES as usize, &[127, 129]);
    put_bytes(&mut machine, 1, MOVING_SCALES as usize, &[126, 127]);
    let weights = word(op::LDWEIGHTS_MX, ldweights_mx(Dtype::FP8_EXP4, 16, 2, 4));
    let product = matmul_mx(&machine, Dtype::FP8_EXP4, (16, 2), 2);
    run(&mut machine, PE, &[weights, word(op::MATMUL_MX, product)]).unwrap();
    assert_eq!(results(&machine, 0, 2), [0.375 * 2.0 + 1.0 * 2.0, 0.0]);
    assert_eq!(results(&machine, 1, 2), [2.0 * 2.0 + 4.0 * 1.0, 4.0 * 4.0]);
    // The same once more on top.
    let more = SMX1D3_MM { psum_accumulate_flags: PsumAcc(4), ..product };
    run(&mut machine, PE, &[word(op::MATMUL_MX, more)]).unwrap();
    assert_eq!(results(&machine, 1, 2), [16.0, 32.0]);
}

/// Row 40 has scale 5, the second one of the second quadrant.
#[test]
fn scales_lie_in_the_quadrant_of_their_rows() {
    let mut machine = strict(Generation::Mariana);
    for row in 0..64 {
        put_bytes(&mut machine, row, WEIGHTS as usize, &[0; 4]);
        put_bytes(&mut machine, row, MOVING as usize, &[0x38, 0, 0, 0]);
        put_bytes(&mut machine, row, WEIGHT_SCALES as usize, &[0]);
        put_bytes(&mut machine, row, MOVING_SCALES as usize, &[127]);
    }
    put_bytes(&mut machine, 40, WEIGHTS as usize, &[0x38]);
    put_bytes(&mut machine, 32 + 8 + 1, WEIGHT_SCALES as usize, &[130]);
    let weights = word(op::LDWEIGHTS_MX, ldweights_mx(Dtype::FP8_EXP4, 64, 1, 8));
    let product = word(op::MATMUL_MX, matmul_mx(&machine, Dtype::FP8_EXP4, (64, 1), 1));
    run(&mut machine, PE, &[weights, product]).unwrap();
    assert_eq!(results(&machine, 0, 1), [8.0]);
}

/// Decision 05-17: lane j is bits 4j+3..4j of a container.
#[test]
fn four_elements_of_fp4_are_two_bytes() {
    let mut machine = strict(Generation::Mariana);
    // 0.5, 3, -1, 6
    put_bytes(&mut machine, 0, WEIGHTS as usize, &0x7A51u16.to_le_bytes());
    // 1, 2, 4, 0.5
    put_bytes(&mut machine, 0, MOVING as usize, &0x1642u16.to_le_bytes());
    put_bytes(&mut machine, 0, WEIGHT_SCALES as usize, &[127]);
    put_bytes(&mut machine, 0, MOVING_SCALES as usize, &[128]);
    let weights = word(op::LDWEIGHTS_MX, ldweights_mx(Dtype::FP4_EXP2, 1, 1, 0));
    let product = word(op::MATMUL_MX, matmul_mx(&machine, Dtype::FP4_EXP2, (1, 1), 1));
    run(&mut machine, PE, &[weights, product]).unwrap();
    assert_eq!(results(&machine, 0, 1), [2.0 * (0.5 + 3.0 * 2.0 - 4.0 + 6.0 * 0.5)]);
}

/// Decision 03-E10, and the NaN of E8M0.
#[test]
fn elements_are_ocp_and_a_scale_may_be_nan() {
    let mut machine = strict(Generation::Mariana);
    // 448, which the IEEE flavour has not
    put_bytes(&mut machine, 0, WEIGHTS as usize, &[0x7E, 0, 0, 0, 0x38, 0, 0, 0]);
    put_bytes(&mut machine, 0, MOVING as usize, &[0x38, 0, 0, 0]);
    put_bytes(&mut machine, 0, WEIGHT_SCALES as usize, &[127, 255]);
    put_bytes(&mut machine, 0, MOVING_SCALES as usize, &[127]);
    let weights = word(op::LDWEIGHTS_MX, ldweights_mx(Dtype::FP8_EXP4, 1, 2, 0));
    let product = word(op::MATMUL_MX, matmul_mx(&machine, Dtype::FP8_EXP4, (1, 2), 1));
    run(&mut machine, PE, &[weights, product]).unwrap();
    assert_eq!(results(&machine, 0, 1), [448.0]);
    assert_eq!(cells(&machine, 1, 1), [0x7FC0_0000]);
}

#[test]
fn what_the_manual_leaves_open_in_mx_is_refused() {
    let mut machine = strict(Generation::Mariana);
    put_bytes(&mut machine, 0, 0, &[0; 0x400]);
    let legal = ldweights_mx(Dtype::FP8_EXP4, 1, 1, 0);
    let backward = SMX1_LW { src: MxPattern1 { step: 0xFF, ..legal.src }, ..legal };
    let fault = run(&mut machine, PE, &[word(op::LDWEIGHTS_MX, backward)]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Unsupported { .. }), "{fault}");
    // Weights of one form, data of another.
    let plain = word(op::MATMUL, matmul(&machine, Dtype::FP8_EXP4));
    let fault = run(&mut machine, PE, &[word(op::LDWEIGHTS_MX, legal), plain]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "perf_opt", .. }), "{fault}");
}

/// One row, two columns.
fn ldweights(flags: u8) -> S3_LW_V4 {
    S3_LW_V4 {
        bg_xpose_mode: 0,
        src: line(WEIGHTS, 2),
        in_dtype: Dtype::FP16,
        fp32_mode: Fp32Mode::NONE,
        transpose_mode: 0,
        perf_opt: 0,
        num_active_rows: 1,
        num_active_cols: 2,
        row_grp: 0xF,
        col_grp: 0xF,
        active_row_mode: 0,
        flags: LdWeightFlags(flags),
    }
}

fn matmul(machine: &Machine, dtype: Dtype) -> S3D3_MM_V4 {
    S3D3_MM_V4 {
        src: line(MOVING, 1),
        in_dtype: dtype,
        fp32_mode: Fp32Mode::NONE,
        transpose_mode: 0,
        perf_opt: 0,
        num_active_rows: 1,
        num_active_cols: 2,
        out_dtype: Dtype::INVALID,
        flags: MatmulFlags(0),
        psum_accumulate_flags: PsumAcc(3),
        row_grp: 0xF,
        col_grp: 0xF,
        psum_zero_region: 0,
        dst: line(psum(machine), 1),
    }
}

fn halves(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| half::f16::from_f32(*v).to_le_bytes()).collect()
}

/// Decision 05-4: bit 5 of the flags is the load order.
#[test]
fn weights_may_be_loaded_from_the_first_column_on() {
    for (flags, expected) in [(0, [20.0, 10.0]), (1 << 5, [10.0, 20.0])] {
        let mut machine = strict(Generation::Mariana);
        put_bytes(&mut machine, 0, WEIGHTS as usize, &halves(&[1.0, 2.0]));
        put_bytes(&mut machine, 0, MOVING as usize, &halves(&[10.0]));
        let product = matmul(&machine, Dtype::FP16);
        let words = [word(op::LDWEIGHTS, ldweights(flags)), word(op::MATMUL, product)];
        run(&mut machine, PE, &words).unwrap();
        assert_eq!([0, 1].map(|column| results(&machine, column, 1)[0]), expected);
    }
}

/// Decision 05-14: 1 + 2^-8 is half-way between two BF16 numbers, and goes to the even 1.
#[test]
fn bf16_cells_round_at_every_write() {
    let mut machine = strict(Generation::Mariana);
    put_bytes(&mut machine, 0, WEIGHTS as usize, &halves(&[1.0, 3.0]));
    let product = |machine: &Machine, flags| S3D3_MM_V4 {
        out_dtype: Dtype::BFLOAT16,
        psum_accumulate_flags: PsumAcc(flags),
        ..matmul(machine, Dtype::FP16)
    };
    let mut accumulate = |value: f32, flags| {
        put_bytes(&mut machine, 0, MOVING as usize, &halves(&[value]));
        let words = [word(op::LDWEIGHTS, ldweights(1 << 5)), word(op::MATMUL, product(&machine, flags))];
        run(&mut machine, PE, &words).unwrap();
        [0, 1].map(|column| cells(&machine, column, 1)[0])
    };
    assert_eq!(accumulate(1.0, 1), [0x3F80, 0x4040]);
    // A last place of the other cell is 2^-6: 3/4 of it go up.
    assert_eq!(accumulate(2f32.powi(-8), 0), [0x3F80, 0x4041]);
    // 1 + 1.5 of its last places above 3 go to the even 2.
    assert_eq!(accumulate(2f32.powi(-7), 6), [0x3F81, 0x4042]);
}

#[test]
fn modes_of_unknown_meaning_are_refused() {
    let mut machine = strict(Generation::Mariana);
    put_bytes(&mut machine, 0, 0, &[0; 0x400]);
    for flags in [1 << 1, 1 << 3] {
        let fault = run(&mut machine, PE, &[word(op::LDWEIGHTS, ldweights(flags))]).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Unsupported { .. }), "{fault}");
    }
    for flags in [1, 1 << 2, 1 << 5] {
        let product = S3D3_MM_V4 { flags: MatmulFlags(flags), ..matmul(&machine, Dtype::FP16) };
        let fault = run(&mut machine, PE, &[word(op::MATMUL, product)]).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Unsupported { .. }), "{fault}");
    }
}

/// 64 rows from row 64 of the array and 256 columns; the tile of the word before it stays.
fn wide_weights() -> S3_LW_V5 {
    S3_LW_V5 {
        src: line(WEIGHTS, 256),
        in_dtype: Dtype::FP16,
        fp32_mode: Fp32Mode::NONE,
        num_active_rows: 1,
        num_active_cols: 0,
        tile_size: TileSize(0x86),
        tile_sel: TileSel(0x01),
        flags: LdWeightFlags(1 << 5),
        perf_mode: MxPerfMode(0),
    }
}

fn wide_product(machine: &Machine, flags: u8) -> S3D3_MM_V5 {
    S3D3_MM_V5 {
        src: line(MOVING, 2),
        in_dtype: Dtype::FP16,
        fp32_mode: Fp32Mode::NONE,
        out_dtype: Dtype::INVALID,
        num_active_rows: 1,
        num_active_cols: 0,
        tile_size: TileSize(0x86),
        tile_sel: TileSel(0x01),
        flags: MatmulFlags(flags),
        perf_mode: MxPerfMode(0),
        dst: Tensor { start: Addr4(psum(machine)), step: [1, 1, 2], num: [2, 1, 2] },
    }
}

/// Section 2.3.1: the outermost dimension of the result tells the halves of 256 columns apart.
#[test]
fn maverick_has_256_columns() {
    let mut machine = strict(Generation::Maverick);
    let weights: Vec<f32> = (0..256).map(|e| e as f32).collect();
    put_bytes(&mut machine, 0, WEIGHTS as usize, &halves(&weights));
    put_bytes(&mut machine, 0, MOVING as usize, &halves(&[1.0, 2.0]));
    let words = |flags| [word(op::LDWEIGHTS, wide_weights()), word(op::MATMUL, flags)];
    let product = wide_product(&machine, 0);
    run(&mut machine, PE, &words(product)).unwrap();
    for c in [0u16, 1, 127] {
        let (low, high) = (f32::from(c), f32::from(c + 128));
        assert_eq!(results(&machine, c.into(), 4), [low, 2.0 * low, high, 2.0 * high]);
    }
    let accumulate = wide_product(&machine, 1 << 4);
    run(&mut machine, PE, &words(accumulate)).unwrap();
    assert_eq!(results(&machine, 1, 4), [2.0, 4.0, 258.0, 516.0]);
}

#[test]
fn mx_tensors_and_seeds_of_maverick_are_refused() {
    let mut machine = strict(Generation::Maverick);
    put_bytes(&mut machine, 0, 0, &[0; 0x400]);
    let marked = Tensor { start: Addr4(1 << 24), ..wide_weights().src };
    let refused: [Word; 4] = [
        word(op::LDWEIGHTS, S3_LW_V5 { src: marked, ..wide_weights() }),
        word(op::LDWEIGHTS, S3_LW_V5 { flags: LdWeightFlags(1 << 3), ..wide_weights() }),
        word(op::LDWEIGHTS, S3_LW_V5 { perf_mode: MxPerfMode(1), ..wide_weights() }),
        word(op::MATMUL, S3D3_MM_V5 { perf_mode: MxPerfMode(4), ..wide_product(&machine, 0) }),
    ];
    for word in refused {
        let fault = run(&mut machine, PE, &[word]).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Unsupported { .. }), "{fault}");
    }
}
