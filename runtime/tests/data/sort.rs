//! SORT, NONZERO_WITH_COUNT, GET_SEQUENCE_BOUNDS (chapter 06 section 5).

use seqjit_runtime::isa::field::{DtypePair, Imm, ImmSrc};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, Word, op};
use seqjit_runtime::machine::Machine;

use crate::support::*;

const POOL: EngineId = EngineId::Pool;

fn sort(dtype: Dtype, comparison: AluOp, n: u16, ranks: u16) -> Word {
    let mut dst = line(0x200, 2);
    (dst.step[1], dst.num[1]) = (2, ranks);
    let operands = S1D2_SORT {
        num_active_channels: 1,
        index_offset_src: ImmSrc::INSTRUCTION,
        in_out_dtype: DtypePair::new(dtype, dtype),
        comparison,
        src: line(0, n),
        dst,
        index_offset: 100,
        stable: 0,
    };
    word(op::SORT, operands)
}

/// Sorted values and positions of a row of 32-bit elements.
fn sorted(machine: &mut Machine, word: Word, ranks: usize) -> (Vec<u32>, Vec<u32>) {
    run(machine, POOL, &[word]).unwrap();
    let pairs = words(machine, 0, 0x200, 2 * ranks);
    pairs.chunks_exact(2).map(|p| (p[0], p[1])).unzip()
}

#[test]
fn sort_gives_the_examples() {
    let mut machine = strict(Generation::Sunda);
    put(&mut machine, 0, 0, &[9, 3, 5, 1, 0, 0]);
    let ascending = sorted(&mut machine, sort(Dtype::UINT32, AluOp::IS_LT, 6, 6), 6);
    assert_eq!(ascending, (vec![0, 0, 1, 3, 5, 9], vec![104, 105, 103, 101, 102, 100]));
    let top = sorted(&mut machine, sort(Dtype::INT32, AluOp::IS_GT, 6, 2), 2);
    assert_eq!(top, (vec![9, 5], vec![100, 102]));
}

/// D06-9, D06-10: zeros tie in their order, NaN comes last both ways.
#[test]
fn special_numbers_have_their_place() {
    let mut machine = strict(Generation::Cayman);
    let row = [f32::NAN, 0.0, f32::INFINITY, -0.0, -1.0, f32::NEG_INFINITY, 1e-40];
    put_floats(&mut machine, 0, 0, &row);
    let (_, order) = sorted(&mut machine, sort(Dtype::FP32, AluOp::IS_LT, 7, 7), 7);
    assert_eq!(order, [105, 104, 101, 103, 106, 102, 100]);
    let (values, order) = sorted(&mut machine, sort(Dtype::FP32, AluOp::IS_GT, 7, 7), 7);
    assert_eq!(order, [102, 106, 101, 103, 104, 105, 100]);
    assert_eq!(values[3], (-0.0f32).to_bits());
}

#[test]
fn signedness_and_width_follow_the_dtype() {
    let mut machine = strict(Generation::Cayman);
    put(&mut machine, 0, 0, &[0x0001_FFFF, 0x8000_7FFF]);
    run(&mut machine, POOL, &[sort(Dtype::INT16, AluOp::IS_LT, 4, 4)]).unwrap();
    assert_eq!(words(&machine, 0, 0x200, 4), [0x0067_8000, 0x0064_FFFF, 0x0065_0001, 0x0066_7FFF]);
    run(&mut machine, POOL, &[sort(Dtype::UINT16, AluOp::IS_LT, 4, 4)]).unwrap();
    assert_eq!(words(&machine, 0, 0x200, 4), [0x0065_0001, 0x0066_7FFF, 0x0067_8000, 0x0064_FFFF]);
    // FP16: FFFF and 7FFF are NaN, 8000 is -0
    run(&mut machine, POOL, &[sort(Dtype::FP16, AluOp::IS_LT, 4, 4)]).unwrap();
    assert_eq!(words(&machine, 0, 0x200, 4), [0x0067_8000, 0x0065_0001, 0x0064_FFFF, 0x0066_7FFF]);
}

fn nonzero(dtype: Dtype, lanes: u8, n: u16) -> Word {
    let operands = S3D3_NONZERO_WITH_COUNT {
        num_active_channels: lanes,
        in_dtype: dtype,
        out_dtype: Dtype::INT32,
        index_offset_src: ImmSrc::INSTRUCTION,
        src: line(0, n),
        index_offset: Imm(10),
        padding_val_src: ImmSrc::INSTRUCTION,
        padding_val: Imm(u32::MAX),
        dst: line(0x200, n + 1),
    };
    word(op::NONZERO_WITH_COUNT, operands)
}

#[test]
fn nonzero_gives_the_example_on_every_sixteenth_partition() {
    let mut machine = strict(Generation::Cayman);
    for partition in 0..40 {
        put(&mut machine, partition, 0, &[0, 1, 1, 0, 0, 1, 0, 0]);
    }
    run(&mut machine, POOL, &[nonzero(Dtype::INT32, 32, 8)]).unwrap();
    let none = u32::MAX;
    for partition in 0..40 {
        let expected = match partition {
            0 | 16 => [11, 12, 15, none, none, none, none, none, 3],
            _ => [0; 9],
        };
        assert_eq!(words(&machine, partition, 0x200, 9), expected, "partition {partition}");
    }
}

/// D06-11.
#[test]
fn nan_is_not_zero_and_minus_zero_is() {
    let mut machine = strict(Generation::Cayman);
    put_floats(&mut machine, 0, 0, &[-0.0, f32::NAN, 0.0, 1e-40]);
    run(&mut machine, POOL, &[nonzero(Dtype::FP32, 1, 4)]).unwrap();
    assert_eq!(words(&machine, 0, 0x200, 5), [11, 13, u32::MAX, u32::MAX, 2]);
    // as an integer, -0.0 is a bit pattern like any other
    run(&mut machine, POOL, &[nonzero(Dtype::INT32, 1, 1)]).unwrap();
    assert_eq!(words(&machine, 0, 0x200, 2), [10, 1]);
}

/// The table of section 5.3.
#[test]
fn sequence_bounds_are_those_of_the_table() {
    let rows: [(&[i32], &[i32], &[i32]); 4] = [
        (&[0, 1, 1, 2, 2, 2, 0, 3, 3], &[9, 1, 1, 3, 3, 3, 9, 7, 7], &[-1, 3, 3, 6, 6, 6, -1, 9, 9]),
        (&[2, 2, 0, 2, 2, 7], &[0, 0, 6, 3, 3, 5], &[2, 2, -1, 5, 5, 6]),
        (&[5], &[0], &[1]),
        (&[0, 0], &[2, 2], &[-1, -1]),
    ];
    for (ids, starts, ends) in rows {
        for (in_dtype, out_dtype) in [(Dtype::INT32, Dtype::FP32), (Dtype::FP32, Dtype::INT32)] {
            let mut machine = strict(Generation::Cayman);
            let n = ids.len() as u16;
            let bits = |dtype, v: &i32| if dtype == Dtype::FP32 { (*v as f32).to_bits() } else { *v as u32 };
            put(&mut machine, 0, 0, &ids.iter().map(|v| bits(in_dtype, v)).collect::<Vec<_>>());
            let mut dst = line(0x200, n);
            (dst.step[2], dst.num[2]) = (n as i16, 2);
            let operands =
                S3D3_SEQ_BOUNDS { num_active_channels: 1, in_dtype, out_dtype, src: line(0, n), dst };
            run(&mut machine, POOL, &[word(op::GET_SEQUENCE_BOUNDS, operands)]).unwrap();
            let expected: Vec<u32> = starts.iter().chain(ends).map(|v| bits(out_dtype, v)).collect();
            assert_eq!(words(&machine, 0, 0x200, 2 * ids.len()), expected, "{ids:?}");
        }
    }
}
