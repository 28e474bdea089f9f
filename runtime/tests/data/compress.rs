//! SPARSITY_COMPRESS and its tagging form (chapter 05 section 9).

use seqjit_runtime::isa::field::Subdim;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Tensor, op};

use crate::support::*;

const DVE: EngineId = EngineId::Dve;

fn tagging(operation: u8, packed: u8) -> S2D2D2_SC {
    S2D2D2_SC {
        in_dtype: Dtype::FP32,
        transpose_src: 0,
        packed_tags: packed,
        src: line(0, 6),
        out_data_dtype: Dtype::FP32,
        out_tag_dtype: Dtype::UINT16,
        num_active_channels: 1,
        op: operation,
        op_dim: Subdim::X,
        data_dst: line(0x100, 4),
        tag_dst: line(0x140, if packed == 1 { 1 } else { 4 }),
    }
}

/// Values and tags that a word gives for one group.
fn winners(operation: u8, group: &[f32]) -> (Vec<f32>, Vec<u16>) {
    let mut machine = strict(Generation::Mariana);
    put_floats(&mut machine, 0, 0, group);
    let operands = S2D2D2_SC { src: line(0, group.len() as u16), ..tagging(operation, 0) };
    run(&mut machine, DVE, &[word(op::SPARSITY_COMPRESS_TAG, operands)]).unwrap();
    let tags =
        bytes(&machine, 0, 0x140, 8).chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
    (floats(&machine, 0, 0x100, 4), tags)
}

/// The examples of the section.
#[test]
fn winners_are_those_of_the_examples() {
    let group = [3.0, -7.0, 5.0, 1.0, 4.0, 2.0];
    assert_eq!(winners(0x09, &group), (vec![2.0, 3.0, 4.0, 5.0], vec![5, 0, 4, 2]));
    assert_eq!(winners(0x08, &group), (vec![3.0, 2.0, 1.0, -7.0], vec![0, 5, 3, 1]));
    assert_eq!(winners(0x21, &group), (vec![3.0, 4.0, 5.0, -7.0], vec![0, 4, 2, 1]));
    assert_eq!(winners(0x20, &group), (vec![4.0, 3.0, 2.0, 1.0], vec![4, 0, 5, 3]));
}

/// D05-43: the lower index wins and is written later; NaN is the last choice.
#[test]
fn ties_prefer_the_lower_index() {
    let (_, tags) = winners(0x09, &[1.0, 1.0, f32::NAN, 1.0, 1.0, 1.0]);
    assert_eq!(tags, [4, 3, 1, 0]);
    let (values, tags) = winners(0x08, &[f32::NAN, 2.0, -0.0, 0.0]);
    assert_eq!(tags, [0, 1, 3, 2]);
    assert!(values[0].is_nan());
}

#[test]
fn four_tags_are_packed_with_the_first_in_the_low_bits() {
    let mut machine = strict(Generation::Mariana);
    put_floats(&mut machine, 0, 0, &[3.0, -7.0, 5.0, 1.0, 4.0, 2.0]);
    run(&mut machine, DVE, &[word(op::SPARSITY_COMPRESS_TAG, tagging(0x09, 1))]).unwrap();
    assert_eq!(bytes(&machine, 0, 0x140, 2), 0x2405u16.to_le_bytes());
}

#[test]
fn data_and_tag_share_an_element() {
    let compress = |out_data_dtype, out_struct_dtype| S3D3_SC {
        in_dtype: Dtype::FP32,
        transpose_src: 0,
        src: Tensor { num: [3, 2, 1], step: [1, 3, 0], ..line(0, 6) },
        out_data_dtype,
        out_struct_dtype,
        num_active_channels: 1,
        op: 0x21,
        op_dim: Subdim::XY,
        dst: line(0x100, 4),
    };
    let mut machine = strict(Generation::Mariana);
    put_floats(&mut machine, 0, 0, &[3.0, -7.0, 5.0, 1.0, 4.0, 2.0]);
    // 3 4 5 -7 in E5M2 are 42 44 45 C7
    let fp8 = compress(Dtype::FP8_EXP5, Dtype::UINT16);
    run(&mut machine, DVE, &[word(op::SPARSITY_COMPRESS, fp8)]).unwrap();
    assert_eq!(bytes(&machine, 0, 0x100, 8), [0x42, 0, 0x44, 4, 0x45, 2, 0xC7, 1]);
    // in BF16 4040 4080 40A0 C0E0
    let bf16 = compress(Dtype::BFLOAT16, Dtype::UINT32);
    run(&mut machine, DVE, &[word(op::SPARSITY_COMPRESS, bf16)]).unwrap();
    assert_eq!(words(&machine, 0, 0x100, 4), [0x0000_4040, 0x0004_4080, 0x0002_40A0, 0x0001_C0E0]);
}

#[test]
fn a_transposed_source_gives_groups_along_partitions() {
    let mut machine = strict(Generation::Mariana);
    for partition in 0..32 {
        let row: Vec<f32> = (0..32).map(|i| ((partition * 7 + i * 3) % 32) as f32).collect();
        put_floats(&mut machine, partition, 0, &row);
    }
    let operands =
        S2D2D2_SC { transpose_src: 1, num_active_channels: 32, src: line(0, 32), ..tagging(0x09, 0) };
    run(&mut machine, DVE, &[word(op::SPARSITY_COMPRESS_TAG, operands)]).unwrap();
    // lane i sees 7 p + 3 i mod 32 over all p: each number once, 28 at p = 4 - 5 i and so on
    for lane in 0..32 {
        assert_eq!(floats(&machine, lane, 0x100, 4), [28.0, 29.0, 30.0, 31.0]);
        let tags = bytes(&machine, lane, 0x140, 8);
        for (k, tag) in tags.chunks_exact(2).enumerate() {
            let partition = usize::from(u16::from_le_bytes([tag[0], tag[1]]));
            assert_eq!((partition * 7 + lane * 3) % 32, 28 + k, "lane {lane}");
        }
    }
}
