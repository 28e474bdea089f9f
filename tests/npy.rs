//! Numpy files: reading, writing, and refusing what is damaged or not supported (chapter 07 section 6).

mod neff_support;

use neff_support::*;
use seqjit::Tensor;
use seqjit::neff::npy::NpyError;
use seqjit::neff::{Neff, NeffError, ReadOptions};
use seqjit_runtime::isa::Dtype;

#[test]
fn numpy_files_are_written_as_numpy_does() {
    // Output of numpy 2.4 for np.save(np.arange(6, dtype='<u2').reshape(2, 3)) and for np.int8(5).
    let tensor =
        Tensor::new(Dtype::UINT16, vec![2, 3], (0..6_u16).flat_map(u16::to_le_bytes).collect()).unwrap();
    let mut expected =
        b"\x93NUMPY\x01\x00v\x00{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }".to_vec();
    expected.resize(127, b' ');
    expected.push(b'\n');
    expected.extend([0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
    assert_eq!(tensor.to_npy().unwrap(), expected);
    let scalar = Tensor::new(Dtype::INT8, vec![], vec![5]).unwrap();
    let mut expected =
        b"\x93NUMPY\x01\x00v\x00{'descr': '|i1', 'fortran_order': False, 'shape': (), }".to_vec();
    expected.resize(127, b' ');
    expected.extend(b"\n\x05");
    assert_eq!(scalar.to_npy().unwrap(), expected);
    let vector = Tensor::new(Dtype::BFLOAT16, vec![1], vec![0x80, 0x3F]).unwrap();
    assert!(
        vector.to_npy().unwrap()[10..]
            .starts_with(b"{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }")
    );
}

#[test]
fn numpy_files_of_every_type_and_format_are_read() {
    let types = [
        ("<f4", Dtype::FP32),
        ("<f2", Dtype::FP16),
        ("<V2", Dtype::BFLOAT16),
        ("|V2", Dtype::BFLOAT16),
        ("|i1", Dtype::INT8),
        ("|u1", Dtype::UINT8),
        ("<i2", Dtype::INT16),
        ("<u2", Dtype::UINT16),
        ("<i4", Dtype::INT32),
        ("<u4", Dtype::UINT32),
        ("<i8", Dtype::INT64),
        ("<u8", Dtype::UINT64),
    ];
    for (format, (descr, dtype)) in (1..=3).cycle().zip(types) {
        let payload: Vec<u8> = (0..6 * dtype.bytes() as u8).collect();
        let tensor = Tensor::from_npy(&npy(format, descr, "(3, 1, 2)", &payload)).unwrap();
        let expected = Tensor { dtype, shape: vec![3, 1, 2], data: payload };
        assert_eq!(tensor, expected, "{descr}");
        assert_eq!(tensor.elements(), 6);
        assert_eq!(Tensor::from_npy(&tensor.to_npy().unwrap()).unwrap(), tensor, "{descr}");
    }
    let odd = "{\"shape\":(0,5) ,'fortran_order' :False,\"descr\": \"<f4\"}   \n";
    assert_eq!(Tensor::from_npy(&npy_with_header(2, odd, &[])).unwrap().shape, [0, 5]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.npy");
    let tensor = Tensor::new(Dtype::FP32, vec![2], vec![0; 8]).unwrap();
    tensor.save(&path).unwrap();
    assert_eq!(Tensor::open(&path).unwrap(), tensor);
}

#[test]
fn damaged_numpy_files_are_refused() {
    let header = |text: &str| npy_with_header(1, text, &[0; 16]);
    let mut long = npy(1, "<V2", "(2, 4)", &[0; 16]);
    long[8..10].copy_from_slice(&[0xFF, 0xFF]);
    let mut longest = npy(2, "<V2", "(2, 4)", &[0; 16]);
    longest[8..12].fill(0xFF);
    let deep = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {}", "(".repeat(60_000));
    let many = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}) }}", "1, ".repeat(65));
    let shape = |text: &str| npy(1, "<V2", text, &[0; 16]);
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "Magic"),
        (b"\x93NUMPZ\x01\x00".to_vec(), "Magic"),
        (b"\x93NUMPY".to_vec(), "Truncated"),
        (b"\x93NUMPY\x01\x00\x10".to_vec(), "Truncated"),
        (b"\x93NUMPY\x02\x00\x10\x00\x00".to_vec(), "Truncated"),
        (long, "Truncated"),
        (longest, "Truncated"),
        (b"\x93NUMPY\x04\x00\x00\x00\x00\x00".to_vec(), "Version"),
        (b"\x93NUMPY\x01\x01\x00\x00\x00\x00".to_vec(), "Version"),
        (b"\x93NUMPY\x00\x00\x00\x00\x00\x00".to_vec(), "Version"),
        (header(""), "Header"),
        (header("{}"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': False}"), "Header"),
        (header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'x': 1}"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} junk"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': 4}"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (4.0,)}"), "Header"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), "Header"),
        (header("{'descr': '<f4"), "Header"),
        (header("{descr: '<f4'}"), "Header"),
        (header(&deep), "Header"),
        (header(&many), "Header"),
        (header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}"), "Descr"),
        (npy(1, ">f4", "(4,)", &[0; 16]), "Descr"),
        (npy(1, "<f8", "(2,)", &[0; 16]), "Descr"),
        (npy(1, "|b1", "(16,)", &[0; 16]), "Descr"),
        (npy(1, "<V3", "(4,)", &[0; 16]), "Descr"),
        (npy(1, "", "(4,)", &[0; 16]), "Descr"),
        (header("{'descr': '<f4', 'fortran_order': True, 'shape': (4,)}"), "FortranOrder"),
        (shape("(2, 3)"), "Size"),
        (shape("(2, 5)"), "Size"),
        (shape("()"), "Size"),
        (shape("(0,)"), "Size"),
        (shape("(18446744073709551615, 18446744073709551615, 18446744073709551615)"), "Size"),
    ];
    for (i, (file, variant)) in cases.iter().enumerate() {
        let error = Tensor::from_npy(file).unwrap_err();
        assert!(format!("{error:?}").starts_with(variant), "case {i}: {error:?}");
        let container = with_member("sg00/w.npy", file);
        let error = Neff::read(&container, &ReadOptions::default()).unwrap_err();
        let NeffError::Npy { member, source } = &error else { panic!("case {i}: {error}") };
        assert_eq!(member, "sg00/w.npy");
        assert!(format!("{source:?}").starts_with(variant), "case {i}: {error}");
    }
    assert!(matches!(Tensor::new(Dtype::FP32, vec![2], vec![0; 7]), Err(NpyError::Size { expected: 8, .. })));
    let fp8 = Tensor::new(Dtype::FP8_EXP4, vec![2], vec![0; 2]).unwrap();
    assert!(matches!(fp8.to_npy(), Err(NpyError::Dtype { dtype: Dtype::FP8_EXP4 })));
}
