//! TENSOR_DEQUANTIZE against the vectors of chapter 06 section 9.1, and EXTENDED_INST (chapter 04 section 3.3).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::{Bits, DtypePair};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, EngineId, Generation, op};

use crate::support::*;

const POOL: EngineId = EngineId::Pool;

/// Converts source words and compares with the destination words.
fn check(dequant_fmt: u8, group_size: u8, source: &str, expected: &str) {
    let (source, expected) = (hex(source), hex(expected));
    let mut machine = strict(Generation::Cayman);
    put(&mut machine, 1, 0, &source);
    let operands = S3D3_TENS_DEQUANT {
        src: line(0, source.len() as u16),
        in_dtype: Dtype::UINT32,
        out_dtype: Dtype::UINT32,
        num_active_channels: 2,
        dequant_fmt,
        group_size,
        dst: line(0x100, expected.len() as u16),
    };
    run(&mut machine, POOL, &[word(op::TENSOR_DEQUANTIZE, operands)]).unwrap();
    assert_eq!(words(&machine, 1, 0x100, expected.len()), expected, "format {dequant_fmt}: {source:08X?}");
}

#[test]
fn codes_of_four_bits_are_those_of_the_vectors() {
    let rows = [
        ("76543210", "3E3C3800 46444240", "42403C00 47464544", "ADB0B3B8 009CA4A9"),
        ("FEDCBA98", "BEBCB880 C6C4C2C0", "C5C6C7C8 BCC0C2C4", "2B28221A 3834312E"),
        ("00000001", "00000038 00000000", "0000003C 00000000", "B8B8B8B3 B8B8B8B8"),
        ("8F700C35", "00C03E42 80C64600", "00C44245 C8BC4700", "B82EADA4 1A3800B8"),
        ("12345678", "42444680 383C3E40", "454647C8 3C404244", "A49C001A B3B0ADA9"),
    ];
    for (source, fp4, int4, nf4) in rows {
        check(1, 0, source, fp4);
        check(2, 0, source, int4);
        check(3, 0, source, nf4);
    }
}

#[test]
fn codes_of_six_bits_are_those_of_the_vectors() {
    check(4, 0, "440C2040 A2481C61 3CE34C2C", "2C282000 36343230 3B3A3938 3F3E3D3C");
    check(4, 0, "544D2450 A6585D65 7DE75C6D", "43424140 47464544 4B4A4948 4F4E4D4C");
    check(4, 0, "648E2860 AA689E69 BEEB6CAE", "ACA8A080 B6B4B2B0 BBBAB9B8 BFBEBDBC");
    check(4, 0, "4181F03F 89C7A088 C10BCFE1", "804F00CF B838A020 C848B636 C040BF3F");
    check(4, 0, "00000000 00000000 FC000000", "00000000 00000000 00000000 CF000000");
}

#[test]
fn groups_are_scaled_as_in_the_vectors() {
    let rows = [
        (
            1,
            "76543210 FEDCBA98 11111111 77777777 7F7F7F7F",
            "3E3C3800 46444240 BEBCB880 C6C4C2C0 38383838 38383838 46464646 46464646",
        ),
        (
            1,
            "76543210 FEDCBA98 11111111 77777777 8080807E",
            "3A383400 42403E3C C2C0BC80 CAC8C6C4 3C3C3C3C 3C3C3C3C 4A4A4A4A 4A4A4A4A",
        ),
        (
            2,
            "76543210 FEDCBA98 12345678 87654321 7C7D7E80",
            "46444000 4B4A4948 C1C2C3C4 B8BCBEC0 3D3E3FC0 34383A3C 38363430 BC3B3A39",
        ),
        (
            3,
            "76543210 FEDCBA98 0F0F0F0F 80808080 7F807E81",
            "BDC0C3C8 00ACB4B9 23201A12 302C2926 C040C040 C040C040 1AB81AB8 1AB81AB8",
        ),
        (
            1,
            "77777777 77777777 77777777 11111111 6A8F8E8D",
            "7B7B7B7B 7B7B7B7B 7B7B7B7B 7B7B7B7B 7B7B7B7B 7B7B7B7B 00000000 00000000",
        ),
    ];
    for (format, source, expected) in rows {
        check(format, 8, source, expected);
    }
}

#[test]
fn a_sub_opcode_adds_without_a_channel_field() {
    let operands = EXTENDED_TTA {
        extended_opcode: 2,
        completion_info: Bits(0x05),
        in0_in1_dtype: DtypePair::new(Dtype::FP16, Dtype::FP16),
        out_dtype: Dtype::FP32,
        op: AluOp::MULT,
        src0: line(0, 1),
        src1: line(0x10, 1),
        dst: line(0x20, 1),
    };
    let mut machine = strict(Generation::Cayman);
    for partition in 0..128 {
        put_bytes(&mut machine, partition, 0, &0x3E00u16.to_le_bytes());
        put_bytes(&mut machine, partition, 0x10, &0x4000u16.to_le_bytes());
    }
    run(&mut machine, POOL, &[word(op::EXTENDED_INST, operands)]).unwrap();
    for partition in 0..128 {
        assert_eq!(floats(&machine, partition, 0x20, 1), [3.0], "partition {partition}");
    }
    // two ports are 32 lanes
    let two_ports = EXTENDED_TTA { completion_info: Bits(0x15), dst: line(0x30, 1), ..operands };
    run(&mut machine, POOL, &[word(op::EXTENDED_INST, two_ports)]).unwrap();
    assert_eq!((floats(&machine, 31, 0x30, 1), floats(&machine, 32, 0x30, 1)), (vec![3.0], vec![0.0]));
}

#[test]
fn a_sub_opcode_without_a_layout_is_unsupported() {
    let mut machine = strict(Generation::Cayman);
    let mut copy =
        word(op::EXTENDED_INST, EXTENDED_RDMA_DESC_START { extended_opcode: 1, completion_info: Bits(0) });
    let fault = run(&mut machine, POOL, &[copy]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Unsupported { field: "extended_opcode", .. }), "{fault}");
    copy.0[12] = 0;
    run(&mut machine, POOL, &[copy]).unwrap();
}
