//! Row conversions against the scalar definitions, on every CPU level.

use super::*;

/// What converts to FP32 and fills whole bytes, up to 32 bits.
const WHOLE_BYTES: [Dtype; 18] = [
    Dtype::INT8,
    Dtype::UINT8,
    Dtype::INT16,
    Dtype::UINT16,
    Dtype::BFLOAT16,
    Dtype::FP16,
    Dtype::INT32,
    Dtype::UINT32,
    Dtype::FP32,
    Dtype::FP32R,
    Dtype::FP8_EXP3,
    Dtype::FP8_EXP4,
    Dtype::FP8_EXP5,
    Dtype::FP8_EXP2,
    Dtype::SFP8_E8,
    Dtype::SFP8_E7,
    Dtype::SFP8_E6,
    Dtype::SFP8_E5,
];

/// All codes of 8 and 16 bits, and a grid of 32-bit ones.
fn codes(dtype: Dtype) -> Vec<u32> {
    match dtype.bytes() {
        1 => (0..=0xFF).collect(),
        2 => (0..=0xFFFF).collect(),
        _ => fp32_grid().into_iter().map(f32::to_bits).collect(),
    }
}

fn bytes_of(codes: &[u32], width: usize) -> Vec<u8> {
    codes.iter().flat_map(|code| code.to_le_bytes().into_iter().take(width)).collect()
}

#[test]
fn unpack_is_to_f32() {
    for dtype in WHOLE_BYTES.into_iter() {
        let codes = codes(dtype);
        let row = bytes_of(&codes, dtype.bytes());
        for fp8 in FLAVOURS {
            let expected: Vec<u32> = codes.iter().map(|code| to_f32(*code, dtype, fp8).to_bits()).collect();
            at_every_level(|level| {
                let mut values = vec![0.0; codes.len()];
                unpack(&row, dtype, fp8, &mut values);
                let bits: Vec<u32> = values.into_iter().map(f32::to_bits).collect();
                assert!(bits == expected, "{} {fp8:?} {level:?}", dtype.text());
            });
        }
    }
}

#[test]
fn pack_is_from_f32() {
    let values = fp32_grid();
    for dtype in WHOLE_BYTES.into_iter().filter(|dtype| converts_from_f32(*dtype)) {
        for fp8 in FLAVOURS {
            let codes: Vec<u32> = values.iter().map(|value| from_f32(*value, dtype, fp8)).collect();
            let expected = bytes_of(&codes, dtype.bytes());
            at_every_level(|level| {
                let mut row = vec![0xEE; expected.len()];
                pack(&values, dtype, fp8, &mut row);
                assert!(row == expected, "{} {fp8:?} {level:?}", dtype.text());
            });
        }
    }
}

/// Rows of every short length: tails of vector loops.
#[test]
fn short_rows() {
    let values: Vec<f32> = (0..70).map(|k| k as f32 * 1.37 - 40.0).collect();
    for length in 0..values.len() {
        let mut row = vec![0; 2 * length];
        pack(&values[..length], Dtype::FP16, IEEE, &mut row);
        let mut back = vec![0.0; length];
        unpack(&row, Dtype::FP16, IEEE, &mut back);
        for (value, back) in values.iter().zip(back) {
            assert_eq!(back, to_f32(from_f32(*value, Dtype::FP16, IEEE), Dtype::FP16, IEEE));
        }
    }
}

/// Four-bit elements come two a byte, the low one first.
#[test]
fn nibbles() {
    let mut values = [0.0; 5];
    unpack(&[0x21, 0x9F, 0x07], Dtype::FP4_EXP2, IEEE, &mut values);
    assert_eq!(values, [0.5, 1.0, -6.0, -0.5, 6.0]);
    let mut row = [0xEE; 3];
    pack(&values, Dtype::FP4_EXP2, IEEE, &mut row);
    assert_eq!(row, [0x21, 0x9F, 0x07]);

    unpack(&[0x21, 0x8F, 0x07], Dtype::INT4, IEEE, &mut values);
    assert_eq!(values, [1.0, 2.0, -1.0, -8.0, 7.0]);
    pack(&values, Dtype::INT4, IEEE, &mut row);
    assert_eq!(row, [0x21, 0x8F, 0x07]);
}

/// 64-bit integers through FP32: nearest even in, nearest even and saturation out.
#[test]
fn wide_integers_through_fp32() {
    let mut values = [0.0; 2];
    let row: Vec<u8> = [i64::MIN, (1 << 40) + (1 << 16)].iter().flat_map(|v| v.to_le_bytes()).collect();
    unpack(&row, Dtype::INT64, IEEE, &mut values);
    assert_eq!(values.map(f32::to_bits), [0xDF00_0000, 0x5380_0000]);
    unpack(&[0xFF; 16], Dtype::UINT64, IEEE, &mut values);
    assert_eq!(values.map(f32::to_bits), [0x5F80_0000; 2]);

    let source = [2.5, -3.5, f32::NAN, 1e30, -1e30, 4_294_967_296.0];
    let mut row = [0; 48];
    pack(&source, Dtype::INT64, IEEE, &mut row);
    let signed: Vec<i64> = row.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect();
    assert_eq!(signed, [2, -4, 0, i64::MAX, i64::MIN, 1 << 32]);
    pack(&source, Dtype::UINT64, IEEE, &mut row);
    let unsigned: Vec<u64> = row.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
    assert_eq!(unsigned, [2, 0, 0, u64::MAX, 0, 1 << 32]);
}

/// Results of the INT class wrap at 32 bits, then the narrow datatypes clamp (E22).
#[test]
fn integer_stores() {
    let values = [0, -1, 300, -300, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0005, i64::MIN, 70_000];
    #[rustfmt::skip]
    let expected: [(Dtype, [i64; 9]); 8] = [
        (Dtype::INT8, [0, -1, 127, -128, -128, -1, 5, 0, 127]),
        (Dtype::UINT8, [0, 255, 255, 255, 255, 255, 5, 0, 255]),
        (Dtype::INT16, [0, -1, 300, -300, -32768, -1, 5, 0, 32767]),
        (Dtype::UINT16, [0, 65535, 300, 65535, 65535, 65535, 5, 0, 65535]),
        (Dtype::INT32, [0, -1, 300, -300, -0x8000_0000, -1, 5, 0, 70_000]),
        (Dtype::UINT32, [0, 0xFFFF_FFFF, 300, 0xFFFF_FED4, 0x8000_0000, 0xFFFF_FFFF, 5, 0, 70_000]),
        (Dtype::INT64, values),
        (Dtype::UINT64, values),
    ];
    for (dtype, expected) in expected {
        at_every_level(|level| {
            let mut row = vec![0xEE; values.len() * dtype.bytes()];
            pack_int(&values, dtype, &mut row);
            let mut back = [0; 9];
            unpack_int(&row, dtype, &mut back);
            assert_eq!(back, expected, "{} {level:?}", dtype.text());
        });
    }
}

#[test]
fn integer_loads_extend() {
    let mut values = [0];
    for dtype in INTEGERS {
        let mut row = vec![0; dtype.bytes()];
        row[dtype.bytes() - 1] = 0x80;
        unpack_int(&row, dtype, &mut values);
        let top = 1_i64 << (8 * dtype.bytes() - 1);
        // UINT64 keeps its bits, which read as negative.
        assert_eq!(values[0], if dtype.is_signed() { top.wrapping_neg() } else { top }, "{}", dtype.text());
    }
}

#[test]
fn raw_bits() {
    let row: Vec<u8> = (0x81..0x91).collect();
    for (width, first, last) in [
        (1, 0x81, 0x90),
        (2, 0x8281, 0x908F),
        (4, 0x8483_8281, 0x908F_8E8D),
        (8, 0x8887_8685_8483_8281, 0x908F_8E8D_8C8B_8A89),
    ] {
        at_every_level(|_| {
            let mut values = vec![0; row.len() / width];
            unpack_bits(&row, width, &mut values);
            assert_eq!((values[0], values[values.len() - 1]), (first, last));
            // Bits above the element are cut off.
            if width < 8 {
                values.iter_mut().for_each(|value| *value |= 1 << (8 * width));
            }
            let mut back = vec![0; row.len()];
            pack_bits(&values, width, &mut back);
            assert_eq!(back, row);
        });
    }
}

#[test]
#[should_panic(expected = "bytes of a row of 2 elements")]
fn rows_of_different_length_are_refused() {
    unpack(&[0; 3], Dtype::BFLOAT16, IEEE, &mut [0.0; 2]);
}

#[test]
fn levels_are_scoped_and_never_above_the_host() {
    let before = Level::current();
    with_level(Level::Avx512, || assert!(Level::current() <= Level::host()));
    with_level(Level::Baseline, || assert_eq!(Level::current(), Level::Baseline));
    assert_eq!(Level::current(), before);
}
