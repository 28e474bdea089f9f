//! A tensor and scalars (chapter 04 sections 4.2 to 4.6, chapter 05 sections 4 and 6.8).

use seqjit_runtime::isa::field::{AccumCmd, DtypePair, Imm, ImmSrc, ReverseOps};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, op};
use seqjit_runtime::machine::MachineOptions;

use crate::support::*;
use crate::*;

const NONE: AluOp = AluOp::BYPASS;

/// A bit-vector word of one lane.
fn bits(dtype: Dtype, n: u16, ops: [AluOp; 2], scalars: [u32; 2]) -> S3D3_TS {
    S3D3_TS {
        in_dtype: dtype,
        out_dtype: dtype,
        imm0: Imm(scalars[0]),
        imm1: Imm(scalars[1]),
        ..tensor_scalar(n, ops, [0.0; 2])
    }
}

#[test]
fn bit_vectors_of_the_manual() {
    let mut machine = strict(Generation::Sunda);
    put(&mut machine, 0, A as usize, &[0x1234_5678]);
    let shift = bits(Dtype::UINT32, 1, [AluOp::LOGICAL_SHIFT_RIGHT, AluOp::BITWISE_AND], [4, 0xFF]);
    dve(&mut machine, &[word(op::TENSOR_SCALAR_BITVEC_OP, shift)]);
    assert_eq!(words(&machine, 0, OUT as usize, 1), [0x67]);

    put_bytes(&mut machine, 0, A as usize, &[0x0F]);
    let not = bits(Dtype::UINT8, 1, [AluOp::BITWISE_NOT, NONE], [0; 2]);
    dve(&mut machine, &[word(op::TENSOR_SCALAR_BITVEC_OP, not)]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 1), [0xF0]);

    put_bytes(&mut machine, 0, A as usize, &[0x23, 0x01]);
    let or = bits(Dtype::INT16, 1, [AluOp::LOGICAL_SHIFT_LEFT, AluOp::BITWISE_OR], [4, 1]);
    dve(&mut machine, &[word(op::TENSOR_SCALAR_BITVEC_OP, or)]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 2), [0x31, 0x12]);
}

/// Chapter 00 A14: between the operators a byte stands in a lane of 32 bits.
#[test]
fn the_lane_between_two_operators_is_wide() {
    let mut machine = strict(Generation::Cayman);
    put_bytes(&mut machine, 0, A as usize, &[0x0F]);
    let operands = bits(Dtype::UINT8, 1, [AluOp::BITWISE_NOT, AluOp::LOGICAL_SHIFT_RIGHT], [0, 4]);
    dve(&mut machine, &[word(op::TENSOR_SCALAR_BITVEC_OP, operands)]);
    // not(0000000F) = FFFFFFF0, shifted 0FFFFFFF, its low byte
    assert_eq!(bytes(&machine, 0, OUT as usize, 1), [0xFF]);
}

#[test]
fn pointer_forms_take_their_scalars_from_memory() {
    let mut machine = with(&[1.0, 2.0]);
    put_floats(&mut machine, 1, A as usize, &[1.0, 2.0]);
    for (lane, scalar) in [10.0, 20.0].into_iter().enumerate() {
        put_floats(&mut machine, lane, COLUMN as usize, &[scalar]);
    }
    let mut add = tensor_scalar(2, [AluOp::ADD, NONE], [0.0; 2]);
    (add.num_active_channels, add.imm0, add.imm1) = (2, Imm(COLUMN), Imm(COLUMN));
    dve(&mut machine, &[word(op::TENSOR_SCALAR_PTR_ARITH_OP, add)]);
    assert_eq!(out(&machine, 2), [11.0, 12.0]);
    assert_eq!(floats(&machine, 1, OUT as usize, 2), [21.0, 22.0]);

    for (lane, mask) in [0x00FF, 0xFF00].into_iter().enumerate() {
        put(&mut machine, lane, COLUMN as usize, &[mask]);
        put(&mut machine, lane, A as usize, &[0xABCD]);
    }
    let mut and = bits(Dtype::UINT16, 1, [AluOp::BITWISE_AND, NONE], [COLUMN; 2]);
    and.num_active_channels = 2;
    dve(&mut machine, &[word(op::TENSOR_SCALAR_PTR_BITVEC_OP, and)]);
    assert_eq!(bytes(&machine, 0, OUT as usize, 2), [0xCD, 0x00]);
    assert_eq!(bytes(&machine, 1, OUT as usize, 2), [0x00, 0xAB]);
}

#[test]
fn integers_wrap_on_maverick() {
    let mut machine = strict(Generation::Maverick);
    put(&mut machine, 0, A as usize, &[0x7FFF_FFFF, 0xFFFF_FFFE]);
    let mut triple = bits(Dtype::INT32, 2, [AluOp::MULT_INT, AluOp::ADD_INT], [3, 1]);
    triple.op1 = NONE;
    dve(&mut machine, &[word(op::TENSOR_SCALAR_ARITH_OP, triple)]);
    assert_eq!(words(&machine, 0, OUT as usize, 2), [0x7FFF_FFFD, 0xFFFF_FFFA]);
    // 8 and 16 bits widen, wrap at 32 and clamp (chapter 03 E22)
    put(&mut machine, 0, A as usize, &[0x7FFF_8000]);
    let narrow = bits(Dtype::INT16, 2, [AluOp::MULT_INT, AluOp::SUBTRACT_INT], [2, 1]);
    dve(&mut machine, &[word(op::TENSOR_SCALAR_ARITH_OP, narrow)]);
    assert_eq!(words(&machine, 0, OUT as usize, 1), [0x7FFF_8000]);
}

#[test]
fn the_transposing_form_exchanges_lanes_and_elements() {
    let mut machine = strict(Generation::Cayman);
    for lane in 0..64 {
        let row: Vec<f32> = (0..64).map(|e| (100 * lane + e) as f32).collect();
        put_floats(&mut machine, lane, A as usize, &row);
        put_floats(&mut machine, lane, COLUMN as usize, &[lane as f32 * 0.5]);
    }
    let mut add = tensor_scalar(64, [AluOp::ADD, NONE], [0.0; 2]);
    (add.num_active_channels, add.imm0_src, add.imm0) = (64, ImmSrc::PTR, Imm(COLUMN));
    (add.src, add.dst) = (line(A, 64), line(A, 64));
    dve(&mut machine, &[word(op::TRANSPOSE_TENSOR_SCALAR_ARITH_OP, add)]);
    // T[32g + r][32b + j] = S[32g + j][32b + r], and the scalar of the lane that is written
    for lane in 0..64 {
        let row = floats(&machine, lane, A as usize, 64);
        for (k, value) in row.into_iter().enumerate() {
            let (from, element) = (lane / 32 * 32 + k % 32, k / 32 * 32 + lane % 32);
            assert_eq!(value, (100 * from + element) as f32 + lane as f32 * 0.5, "lane {lane} element {k}");
        }
    }
}

fn cached(n: u16, ops: [AluOp; 2], scalar: f32, command: AccumCmd, seed: f32) -> S3D3_TS {
    S3D3_TS { accumulator_cmd: command, ..tensor_scalar(n, ops, [scalar, seed]) }
}

#[test]
fn the_caching_reduce_of_the_manual() {
    let (mult, add) = (AluOp::MULT, AluOp::ADD);
    let reduce = |o| word(op::TENSOR_SCALAR_CACHE_REDUCE, o);
    let mut machine = with(&[1.0, -2.0, 3.0]);
    dve(&mut machine, &[reduce(cached(3, [mult, add], 2.0, AccumCmd::ZERO_ACCUMULATE, 0.0))]);
    assert_eq!(out(&machine, 3), [2.0, -4.0, 6.0]);
    assert_eq!(accumulator(&mut machine), 4.0);

    put_floats(&mut machine, 0, A as usize, &[10.0]);
    dve(&mut machine, &[reduce(cached(1, [mult, add], 2.0, AccumCmd::ACCUMULATE, 0.0))]);
    assert_eq!(out(&machine, 1), [20.0]);
    assert_eq!(accumulator(&mut machine), 24.0);
    dve(&mut machine, &[read_accumulator(1)]);
    assert_eq!(out(&machine, 1), [-24.0]);

    put_floats(&mut machine, 0, A as usize, &[1.0]);
    dve(&mut machine, &[reduce(cached(1, [mult, add], 2.0, AccumCmd::LOAD_ACCUMULATE, 100.0))]);
    assert_eq!(accumulator(&mut machine), 102.0);

    put_floats(&mut machine, 0, A as usize, &[-3.0, -7.0]);
    let max = cached(2, [NONE, AluOp::MAX], 0.0, AccumCmd::ZERO_ACCUMULATE, 0.0);
    dve(&mut machine, &[reduce(max)]);
    assert_eq!(accumulator(&mut machine), -3.0);
    // a fold that sees only NaN keeps its identity (chapter 00 A14)
    put_floats(&mut machine, 0, A as usize, &[f32::NAN; 2]);
    dve(&mut machine, &[reduce(max)]);
    assert_eq!(accumulator(&mut machine), f32::NEG_INFINITY);
}

#[test]
fn the_caching_scan_of_the_manual() {
    let scan = |o| word(op::TENSOR_SCALAR_CACHE_CUMULATIVE, o);
    let sum = |n, command, seed| scan(cached(n, [AluOp::ADD, AluOp::ADD], 1.0, command, seed));
    let mut machine = with(&[1.0, 2.0, 3.0]);
    dve(&mut machine, &[sum(3, AccumCmd::ZERO_ACCUMULATE, 0.0)]);
    assert_eq!(out(&machine, 3), [2.0, 5.0, 9.0]);
    put_floats(&mut machine, 0, A as usize, &[4.0]);
    dve(&mut machine, &[sum(1, AccumCmd::ACCUMULATE, 0.0)]);
    assert_eq!(out(&machine, 1), [14.0]);
    put_floats(&mut machine, 0, A as usize, &[1.0]);
    dve(&mut machine, &[sum(1, AccumCmd::LOAD_ACCUMULATE, 100.0)]);
    assert_eq!(out(&machine, 1), [102.0]);
    // the new value stands on the left (decision 04-R1)
    put_floats(&mut machine, 0, A as usize, &[1.0, 2.0, 3.0]);
    dve(&mut machine, &[scan(cached(3, [NONE, AluOp::SUBTRACT], 0.0, AccumCmd::ZERO_ACCUMULATE, 0.0))]);
    assert_eq!(out(&machine, 3), [1.0, 1.0, 2.0]);
}

/// Chapter 00 A14: the accumulator belongs to the partition that is written.
#[test]
fn accumulators_belong_to_the_destination() {
    let mut machine = strict(Generation::Cayman);
    put_floats(&mut machine, 0, A as usize, &[5.0]);
    let mut o = cached(1, [NONE, AluOp::ADD], 0.0, AccumCmd::ZERO_ACCUMULATE, 0.0);
    o.dst = line(at(32, OUT), 1);
    dve(&mut machine, &[word(op::TENSOR_SCALAR_CACHE_REDUCE, o)]);
    assert_eq!(machine.cores[0].dve.accumulator[32], 5.0);
    assert_eq!(machine.cores[0].dve.accumulator[0], 0.0);
}

/// Chapter 05 section 4 prints exp(-0.5) and exp(-1.5); the sum is their fp32 addition.
#[test]
fn the_exponential_of_the_manual() {
    let mut machine = strict(Generation::Mariana);
    put_floats(&mut machine, 0, A as usize, &[0.5, -0.5]);
    let o = cached(2, [NONE, NONE], 1.0, AccumCmd::ZERO_ACCUMULATE, 0.0);
    dve(&mut machine, &[word(op::EXPONENTIAL, o)]);
    assert_eq!(words(&machine, 0, OUT as usize, 2), [0x3F1B_4598, 0x3E64_7C3C]);
    let sum = f32::from_bits(0x3F1B_4598) + f32::from_bits(0x3E64_7C3C);
    assert_eq!(accumulator(&mut machine), sum);
}

/// The five forms of chapter 05 section 6.8.
#[test]
fn address_arithmetic() {
    let form = |ops: [AluOp; 2], imm: DtypePair, io: DtypePair, values: [u64; 2]| S2D2_ADDR {
        src: line(A, 2),
        imm0: values[0],
        imm1: values[1],
        imm_dtype: imm,
        in_out_dtype: io,
        imm0_src: ImmSrc::INSTRUCTION,
        imm1_src: ImmSrc::INSTRUCTION,
        op0: ops[0],
        op1: ops[1],
        num_active_channels: 1,
        reverse_operands: ReverseOps::NONE,
        dst: line(OUT, 2),
    };
    let pair = DtypePair::new;
    let (i32s, u32s, u64s) = (Dtype::INT32, Dtype::UINT32, Dtype::UINT64);
    let mut machine = strict(Generation::Cayman);
    let mut eval = |source: [u32; 4], o: S2D2_ADDR| {
        put(&mut machine, 0, A as usize, &source);
        put(&mut machine, 0, OUT as usize, &[0x5555_5555; 4]);
        run(&mut machine, EngineId::Pool, &[word(op::TENSOR_SCALAR_ADDR, o)]).unwrap();
        words(&machine, 0, OUT as usize, 4)
    };
    let source = [3, 0xFFFF_FFFF, 0, 0];
    let base = 0x10_0000_0000;
    // 0x1000000000 + 3 * 0x40 and - 0x40
    let a = form([AluOp::MULT, AluOp::ADD], pair(i32s, u64s), pair(i32s, u64s), [0x40, base]);
    assert_eq!(eval(source, a), [0xC0, 0x10, 0xFFFF_FFC0, 0xF]);
    let b = form([AluOp::ADD, NONE], pair(u64s, i32s), pair(i32s, u64s), [base, 0]);
    assert_eq!(eval(source, b), [3, 0x10, 0xFFFF_FFFF, 0xF]);
    // the product wraps at 32 bits
    let c = form([AluOp::MULT, NONE], pair(i32s, i32s), pair(i32s, i32s), [0x6000_0000, 0]);
    assert_eq!(eval(source, c)[..2], [0x2000_0000, 0xA000_0000]);
    let c = form([AluOp::MULT, AluOp::ADD], pair(i32s, i32s), pair(i32s, i32s), [10, 0xFFFF_FFFE]);
    assert_eq!(eval(source, c)[..2], [28, 0xFFFF_FFF4]);
    // 5 - 3 < 4, and 2 - 3 wraps to the largest number
    let d = form([AluOp::SUBTRACT, AluOp::IS_LT], pair(u64s, u64s), pair(u64s, Dtype::UINT32), [3, 4]);
    assert_eq!(eval([5, 0, 2, 0], d)[..2], [1, 0]);
    let e = form([AluOp::SUBTRACT, AluOp::IS_LT], pair(u32s, u32s), pair(u32s, Dtype::INT32), [3, 4]);
    assert_eq!(eval([6, 7, 0, 0], e)[..2], [1, 0]);
}

/// A word on a generation without its program runs in lenient mode.
#[test]
fn lenient_mode_runs_what_sunda_has_no_program_for() {
    let options = MachineOptions { strict: false, ..MachineOptions::default() };
    let mut machine = machine(Generation::Sunda, options);
    put_floats(&mut machine, 0, A as usize, &[1.0, 2.0]);
    let o = cached(2, [NONE, AluOp::MULT], 0.0, AccumCmd::ZERO_ACCUMULATE, 0.0);
    dve(&mut machine, &[word(op::TENSOR_SCALAR_CACHE_REDUCE, o)]);
    assert_eq!(accumulator(&mut machine), 2.0);
}
