//! Searches and lane movement (chapter 05 section 7, chapter 06 section 7).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::{F32, Imm, ImmSrc, Subdim};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, Word, op};
use seqjit_runtime::machine::Machine;

use crate::support::*;

const ROW: u32 = 0x100;
const KEYS: u32 = 0x200;

fn bn(opcode: u8, out_dtype: Dtype, n: u16, dst: u32) -> Word {
    let operands = S4D2_BN {
        src: line(ROW, n),
        in_dtype: Dtype::FP32,
        out_dtype,
        num_active_channels: 1,
        even_count: F32(0),
        odd_count: F32(0),
        dst: line(dst, 8),
    };
    word(opcode, operands)
}

fn load_keys() -> Word {
    let operands = S2_BN {
        src: line(KEYS, 8),
        imm1: Imm(0),
        dtype: Dtype::FP32,
        num_active_channels: 1,
        imm0_ptr: Imm(0),
        imm0_src: ImmSrc::INSTRUCTION,
    };
    word(op::MATCH_VALUE_LOAD, operands)
}

fn replace(n: u16, value: f32, dst: u32) -> Word {
    let operands = S4D4_MR {
        src: line(ROW, n),
        in_dtype: Dtype::FP32,
        out_dtype: Dtype::FP32,
        num_active_channels: 1,
        immediate: F32(value.to_bits()),
        dst: line(dst, n),
    };
    word(op::MATCH_REPLACE8, operands)
}

fn read_indices(dtype: Dtype, dst: u32) -> Word {
    let operands = D4_MR {
        dst_element_count: 8,
        dtype,
        num_active_channels: 1,
        serialization_mode: 0,
        set_value: Imm(0),
        dst: line(dst, 8),
    };
    word(op::DVE_READ_INDICES, operands)
}

fn with_row(values: &[f32]) -> Machine {
    let mut machine = strict(Generation::Cayman);
    put_floats(&mut machine, 0, ROW as usize, values);
    machine
}

#[test]
fn max8_gives_the_example() {
    let mut machine = with_row(&[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0]);
    run(&mut machine, EngineId::Dve, &[bn(op::MAX8, Dtype::FP32, 10, 0)]).unwrap();
    assert_eq!(floats(&machine, 0, 0, 8), [2.0, 3.0, 3.0, 4.0, 5.0, 5.0, 6.0, 9.0]);
}

/// D05-38: a NaN takes a free slot, is never displaced and displaces nothing.
#[test]
fn max8_keeps_a_nan_where_it_was_placed() {
    let nan = f32::NAN;
    let mut machine = with_row(&[1.0, nan, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, nan]);
    run(&mut machine, EngineId::Dve, &[bn(op::MAX8, Dtype::FP32, 10, 0)]).unwrap();
    let found = floats(&machine, 0, 0, 8);
    assert!(found[6].is_nan(), "{found:?}");
    assert_eq!((&found[..6], found[7]), (&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0][..], 8.0));
}

/// The example of section 7.4, with keys 9 and 6.
#[test]
fn find_and_replace_give_the_example() {
    let mut machine = with_row(&[6.0, 9.0, 6.0]);
    // in ascending order, as MAX8 writes them: the last one becomes key 0
    put_floats(&mut machine, 0, KEYS as usize, &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 9.0]);
    let program = [
        load_keys(),
        bn(op::FIND_INDEX8, Dtype::UINT32, 3, 0),
        replace(3, -1.0, 0x40),
        read_indices(Dtype::UINT32, 0x60),
        read_indices(Dtype::UINT16, 0x80),
    ];
    run(&mut machine, EngineId::Dve, &program).unwrap();
    let none = u32::MAX;
    assert_eq!(words(&machine, 0, 0, 8), [1, 0, none, none, none, none, none, none]);
    assert_eq!(floats(&machine, 0, 0x40, 3), [-1.0, -1.0, 6.0]);
    assert_eq!(words(&machine, 0, 0x60, 8), words(&machine, 0, 0, 8));
    assert_eq!(words(&machine, 0, 0x80, 4), [0x0000_0001, none, none, none]);
}

#[test]
fn equal_keys_take_one_element_each() {
    let mut machine = with_row(&[5.0, -0.0, 5.0, f32::NAN, 5.0]);
    let nan = f32::NAN;
    put_floats(&mut machine, 0, KEYS as usize, &[nan, nan, nan, nan, nan, 0.0, 5.0, 5.0]);
    run(&mut machine, EngineId::Dve, &[load_keys(), bn(op::FIND_INDEX8, Dtype::UINT16, 5, 0)]).unwrap();
    assert_eq!(words(&machine, 0, 0, 4), [0x0002_0000, 0xFFFF_0001, u32::MAX, u32::MAX]);
}

#[test]
fn other_counts_fault_before_any_effect() {
    let mut machine = with_row(&[1.0; 16]);
    let long = S4D2_BN { dst: line(0, 9), ..operands(&bn(op::MAX8, Dtype::FP32, 16, 0)) };
    let fault = run(&mut machine, EngineId::Dve, &[word(op::MAX8, long)]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "dst", .. }), "{fault}");
    assert_eq!(bytes(&machine, 0, 0, 36), [0; 36]);
}

fn operands(word: &Word) -> S4D2_BN {
    use seqjit_runtime::isa::Layout;
    S4D2_BN::read(word)
}

fn moved(opcode: u8, mask_enable: u8) -> Word {
    let operands = S4D4_TR {
        src: line(0, 32),
        in_dtype: Dtype::UINT8,
        out_dtype: Dtype::UINT8,
        num_active_channels: 64,
        negated: 0,
        op: AluOp::BYPASS,
        op_dim: Subdim::UNUSED,
        mask_enable,
        dst: line(0x40, 32),
    };
    word(opcode, operands)
}

/// Partition p holds p, p + 1, ... in its first 32 bytes.
fn with_tile() -> Machine {
    let mut machine = strict(Generation::Cayman);
    for partition in 0..128 {
        let row: Vec<u8> = (0..32).map(|i| partition as u8 + 3 * i).collect();
        put_bytes(&mut machine, partition, 0, &row);
    }
    machine
}

fn mask(entry: impl Fn(u8) -> u8) -> Word {
    let mut word = Word::new(op::LOAD_MASK_SELECT);
    for lane in 0..32 {
        word.0[32 + usize::from(lane)] = entry(lane);
    }
    word
}

/// The example of section 7.3: neighbours change places.
#[test]
fn shuffles_permute_each_quadrant() {
    let mut machine = with_tile();
    run(&mut machine, EngineId::Dve, &[mask(|l| l ^ 1), moved(op::STREAM_SHUFFLE, 0)]).unwrap();
    for partition in 0..64 {
        assert_eq!(bytes(&machine, partition, 0x40, 32), bytes(&machine, partition ^ 1, 0, 32));
    }
    assert_eq!(bytes(&machine, 64, 0x40, 32), [0; 32]);
}

#[test]
fn masked_lanes_stay() {
    let mut machine = with_tile();
    let program =
        [mask(|l| if l % 3 == 0 { 255 - 223 * (l % 2) } else { 31 - l }), moved(op::STREAM_TRANSPOSE, 1)];
    run(&mut machine, EngineId::Dve, &program).unwrap();
    for lane in 0..32u8 {
        let row: Vec<u8> = match lane % 3 {
            0 => vec![0; 32],
            // element j of lane l is that of partition 32 + j at 31 - l
            _ => (0..32).map(|j| 32 + j + 3 * (31 - lane)).collect(),
        };
        assert_eq!(bytes(&machine, 32 + usize::from(lane), 0x40, 32), row, "lane {lane}");
    }
}

#[test]
fn a_transpose_ignores_the_mask_unless_enabled() {
    let mut machine = with_tile();
    run(&mut machine, EngineId::Dve, &[mask(|_| 255), moved(op::STREAM_TRANSPOSE, 0)]).unwrap();
    for lane in 0..32u8 {
        let row: Vec<u8> = (0..32).map(|j| j + 3 * lane).collect();
        assert_eq!(bytes(&machine, lane.into(), 0x40, 32), row, "lane {lane}");
    }
}
