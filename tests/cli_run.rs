//! `seqjit run`: results, files, comparison, dumps, limits.

mod cli_support;

use cli_support::*;
use seqjit::Tensor;
use seqjit::runtime::isa::{Dtype, EngineId};

#[test]
fn outputs_are_written_and_shown() {
    let example = Example::new();
    let ended = example.run(&["-o", &example.path("out")]).expect(0);
    assert_eq!(ended.stderr, "");
    assert_eq!(ended.stdout, format!("y fp32 [128, 8] -> {}\n", example.path("out/y.npy")));
    let y = Tensor::open(example.path("out/y.npy").as_ref()).unwrap();
    assert!(y == floats(&[128, COLUMNS], |i| 2.0 * i as f32));
    let files: Vec<_> = std::fs::read_dir(example.path("out")).unwrap().collect();
    assert_eq!(files.len(), 1, "nothing but the output: {files:?}");
    let shown = example.run(&[]).expect(0);
    assert_eq!(shown.stdout, "y fp32 [128, 8] = 0.0 2.0 4.0 6.0 8.0 10.0 ...\n");
}

#[test]
fn the_json_document_of_a_run() {
    let example = Example::new();
    let document = example.run(&["-o", &example.path("out"), "--json"]).expect(0).json();
    assert_eq!(document["exit"], "finished");
    let output = &document["outputs"][0];
    assert_eq!((&output["name"], &output["dtype"]), (&"y".into(), &"fp32".into()));
    assert_eq!(output["shape"], serde_json::json!([128, 8]));
    assert_eq!(output["file"], example.path("out/y.npy"));
    // Three words of SP and one of DVE; two transfers of 128 rows of 32 bytes.
    let counters = &document["counters"];
    assert_eq!(counters["retired"], 4);
    assert_eq!(counters["transfers"], 2);
    assert_eq!(counters["dma_read"], 2 * 4096);
    assert_eq!(counters["dma_written"], 2 * 4096);
    assert_eq!(document["warnings"], serde_json::json!([]));
}

#[test]
fn verbose_shows_counters() {
    let ended = Example::new().run(&["-v"]).expect(0);
    assert!(ended.stdout.contains("4 words retired"), "{}", ended.stdout);
    assert!(ended.stdout.contains("2 transfers, 8192 bytes read and 8192 written"), "{}", ended.stdout);
}

#[test]
fn every_schedule_gives_the_same_output() {
    let example = Example::new();
    floats(&[128, COLUMNS], |i| 2.0 * i as f32).save(example.path("ref.npy").as_ref()).unwrap();
    let reference = format!("y={}", example.path("ref.npy"));
    for schedule in ["fixed", "0", "1", "12345678901234567890"] {
        example.run(&["--schedule", schedule, "--expect", &reference, "--check"]).expect(0);
    }
    example.run(&["--schedule", "fast"]).expect(2);
}

#[test]
fn every_tier_gives_the_same_output() {
    let example = Example::new();
    floats(&[128, COLUMNS], |i| 2.0 * i as f32).save(example.path("ref.npy").as_ref()).unwrap();
    let reference = format!("y={}", example.path("ref.npy"));
    for tier in ["interp", "jit", "auto"] {
        example.run(&["--tier", tier, "--expect", &reference, "--check"]).expect(0);
    }
    example.run(&["--tier", "fast"]).expect(2);
    // All words run without the interpreter, but for those of SP that start transfers.
    let document = example.run(&["--tier", "jit", "--json"]).expect(0).json();
    let translations = &document["translations"];
    let number = |of: &serde_json::Value| of.as_u64().unwrap();
    assert_eq!((number(&translations["shapes"]), number(&translations["calls"])), (1, 2));
    let done = number(&translations["words"]) + number(&translations["calls"]);
    assert_eq!(done, number(&document["counters"]["retired"]), "{document}");
    assert_eq!(translations["fallbacks"], serde_json::json!({}));
    let text = example.run(&["--tier", "jit", "-v"]).expect(0).stdout;
    assert!(text.contains("words in native code"), "{text}");
    assert!(example.run(&["--tier", "interp", "--json"]).expect(0).json().get("translations").is_none());
}

#[test]
fn missing_inputs_are_an_error_unless_a_seed_is_given() {
    let example = Example::new();
    let error = seqjit(["run", &example.neff, "--json"]).error(2, "usage");
    assert_eq!(error["expected"], serde_json::json!(["x"]));
    assert!(error["hint"].as_str().unwrap().contains("--seed"));
    let ended = seqjit(["run", &example.neff]).expect(2);
    assert!(ended.stderr.contains("x: fp32 [128, 8]"), "{}", ended.stderr);
    let first = seqjit(["run", &example.neff, "--seed", "7", "-o", &example.path("a")]);
    first.expect(0);
    seqjit(["run", &example.neff, "--seed", "7", "-o", &example.path("b")]).expect(0);
    seqjit(["run", &example.neff, "--seed", "8", "-o", &example.path("c")]).expect(0);
    let read = |name: &str| std::fs::read(example.path(name)).unwrap();
    assert!(read("a/y.npy") == read("b/y.npy"));
    assert!(read("a/y.npy") != read("c/y.npy"));
}

#[test]
fn names_must_be_the_programs() {
    let example = Example::new();
    let z = example.x.replacen('x', "z", 1);
    let error = seqjit(["run", &example.neff, "-i", &z, "--json"]).error(2, "usage");
    assert_eq!((&error["found"], &error["expected"]), (&"z".into(), &serde_json::json!(["x"])));
    let error = example.run(&["--expect", &example.x, "--json"]).error(2, "usage");
    assert_eq!((&error["found"], &error["expected"]), (&"x".into(), &serde_json::json!(["y"])));
    example.run(&["-i", &example.x, "--json"]).error(2, "usage");
    example.run(&["-i", "x", "--json"]).error(2, "usage");
}

#[test]
fn inputs_of_the_wrong_form_are_refused() {
    let example = Example::new();
    let cases: [(&str, Tensor, &str, &str); 2] = [
        ("shape.npy", floats(&[8, 128], |_| 0.0), "fp32 [8, 128]", "fp32 [128, 8]"),
        (
            "dtype.npy",
            Tensor::new(Dtype::INT32, vec![128, 8], vec![0; 4096]).unwrap(),
            "int32 [128, 8]",
            "fp32 [128, 8]",
        ),
    ];
    for (name, tensor, found, expected) in cases {
        tensor.save(example.path(name).as_ref()).unwrap();
        let given = format!("x={}", example.path(name));
        let error = seqjit(["run", &example.neff, "-i", &given, "--json"]).error(3, "bad_input");
        assert_eq!(error["file"], example.path(name));
        assert_eq!((&error["found"], &error["expected"]), (&found.into(), &expected.into()));
    }
    let good = std::fs::read(example.path("x.npy")).unwrap();
    let fortran = String::from_utf8_lossy(&good[..128]).replace("False, ", "True,  ").into_bytes();
    let f8 = String::from_utf8_lossy(&good[..128]).replace("<f4", "<f8").into_bytes();
    // The first byte of the magic is no UTF-8.
    let with_header = |header: Vec<u8>| [&good[..10], &header[header.len() - 118..], &good[128..]].concat();
    let cases =
        [("fortran.npy", with_header(fortran), "fortran_order"), ("double.npy", with_header(f8), "descr")];
    for (name, file, field) in cases {
        std::fs::write(example.path(name), file).unwrap();
        let given = format!("x={}", example.path(name));
        let error = seqjit(["run", &example.neff, "-i", &given, "--json"]).error(3, "bad_input");
        assert_eq!(error["field"], field, "{error}");
        assert!(error["hint"].is_string());
    }
    std::fs::write(example.path("short.npy"), &good[..200]).unwrap();
    let given = format!("x={}", example.path("short.npy"));
    let error = seqjit(["run", &example.neff, "-i", &given, "--json"]).error(3, "bad_input");
    assert_eq!((&error["byte_offset"], &error["found"]), (&128.into(), &"72".into()));
    let error = seqjit(["run", &example.neff, "-i", "x=/does/not/exist.npy", "--json"]).error(10, "io");
    assert_eq!(error["file"], "/does/not/exist.npy");
}

#[test]
fn the_first_mismatch_is_reported() {
    let example = Example::new();
    // Element [3, 5] is 29, doubled 58; element [100, 0] is 800, doubled 1600.
    let reference = floats(&[128, COLUMNS], |i| match i {
        29 => 57.5,
        800 => 1601.0,
        _ => 2.0 * i as f32,
    });
    reference.save(example.path("ref.npy").as_ref()).unwrap();
    let given = format!("y={}", example.path("ref.npy"));
    let ended = example.run(&["--expect", &given, "-o", &example.path("out"), "--json"]);
    let outputs = ended.json()["outputs"].clone();
    let error = ended.error(7, "mismatch");
    assert_eq!(error["output"], "y");
    assert_eq!(error["index"], serde_json::json!([3, 5]));
    assert_eq!((&error["found"], &error["expected"]), (&58.0.into(), &57.5.into()));
    assert_eq!((&error["differing"], &error["elements"]), (&2.into(), &1024.into()));
    assert_eq!(outputs[0]["expect"]["largest_difference"], 1.0);
    assert!(std::path::Path::new(&example.path("out/y.npy")).exists(), "whole outputs are written");

    let text = example.run(&["--expect", &given]).expect(7);
    assert!(text.stderr.contains("first at [3, 5]: found 58.0, expected 57.5; 2 of 1024"), "{}", text.stderr);
    let error = example.run(&["--expect", &given, "--atol", "0.5", "--json"]).error(7, "mismatch");
    assert_eq!(error["index"], serde_json::json!([100, 0]));
    example.run(&["--expect", &given, "--atol", "1"]).expect(0);
    example.run(&["--expect", &given, "--rtol", "0.01"]).expect(0);
    example.run(&["--expect", &given, "--rtol", "-1"]).expect(2);
    for tolerance in ["NaN", "inf", "1e400", "-1e400", "-0.5"] {
        for option in ["--rtol", "--atol"] {
            let option = format!("{option}={tolerance}");
            let ended = example.run(&["--expect", &given, &option]).expect(2);
            assert!(ended.stderr.contains("expected a finite number"), "{}", ended.stderr);
        }
    }
}

#[test]
#[cfg(unix)]
fn arguments_that_are_not_utf8_are_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let example = Example::new();
    let bad = OsStr::from_bytes(b"x=x\xFF.npy");
    let args = ["run", &example.neff, "-i"].map(OsStr::new);
    let ended = seqjit(args.into_iter().chain([bad])).expect(2);
    assert!(ended.stderr.contains(r#"argument 4 ("x=x\xFF.npy")"#), "{}", ended.stderr);
    let json = OsStr::new("--json");
    let error = seqjit(args.into_iter().chain([bad, json])).error(2, "usage");
    assert_eq!(error["found"], r#"4 ("x=x\xFF.npy")"#);
}

#[test]
fn references_may_have_another_datatype_but_no_other_shape() {
    let example = Example::new();
    let data: Vec<u8> = (0..1024i32).flat_map(|i| (2 * i).to_le_bytes()).collect();
    let reference = Tensor::new(Dtype::INT32, vec![128, 8], data).unwrap();
    reference.save(example.path("int.npy").as_ref()).unwrap();
    example.run(&["--expect", &format!("y={}", example.path("int.npy"))]).expect(0);
    floats(&[1024], |i| 2.0 * i as f32).save(example.path("flat.npy").as_ref()).unwrap();
    let given = format!("y={}", example.path("flat.npy"));
    let error = example.run(&["--expect", &given, "--json"]).error(3, "bad_input");
    assert_eq!((&error["found"], &error["expected"]), (&"[1024]".into(), &"[128, 8]".into()));
}

#[test]
fn nan_is_as_expected_where_nan_is_expected() {
    let example = Example::new();
    let special = |i: usize| [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0][i % 4];
    floats(&[128, COLUMNS], special).save(example.path("x.npy").as_ref()).unwrap();
    floats(&[128, COLUMNS], |i| 2.0 * special(i)).save(example.path("ref.npy").as_ref()).unwrap();
    let given = format!("y={}", example.path("ref.npy"));
    example.run(&["--expect", &given]).expect(0);
    floats(&[128, COLUMNS], |_| 2.0).save(example.path("two.npy").as_ref()).unwrap();
    let given = format!("y={}", example.path("two.npy"));
    let error = example.run(&["--expect", &given, "--atol", "1e30", "--json"]).error(7, "mismatch");
    assert_eq!((&error["found"], &error["differing"]), (&"NaN".into(), &768.into()));
}

#[test]
fn dumps_show_memory_before_a_word() {
    let example = Example::new();
    // Before the addition x is there and the sum is not; before the store the sum is; y is still empty.
    let args = [
        "--dump",
        "sbuf:2:0x4000:3:fp32@DVE:0",
        "--dump",
        "sbuf:2:20480:3:fp32@vector:0",
        "--dump",
        "sbuf:127:0x5000:8:fp32@SP:1",
        "--dump",
        "dram:y:0:2:uint32@0.SP:1",
        "--dump",
        "dram:x:4:2:fp32@SP:0",
        "--dump",
        "psum:0:0:1:int8@SP:2",
        "--dump",
        "dram:y:4088:2:fp32@SP:2",
    ];
    let plain = example.run(&["--json"]).expect(0).json();
    let document = example.run(&[&args[..], &["--json"]].concat()).expect(0).json();
    let dump = |text: &str| {
        let dumps = document["dumps"].as_array().unwrap();
        dumps.iter().find(|d| d["dump"] == text).unwrap_or_else(|| panic!("{text}"))["values"].clone()
    };
    assert_eq!(document["dumps"].as_array().unwrap().len(), 7);
    assert_eq!(dump(args[1]), serde_json::json!([16.0, 17.0, 18.0]));
    assert_eq!(dump(args[3]), serde_json::json!([0.0, 0.0, 0.0]));
    let last: Vec<f64> = (0..8).map(|i| 2.0 * f64::from(127 * 8 + i)).collect();
    assert_eq!(dump(args[5]), serde_json::json!(last));
    assert_eq!(dump(args[7]), serde_json::json!([0, 0]));
    assert_eq!(dump(args[9]), serde_json::json!([1.0, 2.0]));
    assert_eq!(dump(args[11]), serde_json::json!([0]));
    assert_eq!(dump(args[13]), serde_json::json!([2044.0, 2046.0]));
    assert_eq!(document["counters"], plain["counters"], "stopping changes nothing, turns included");

    let text = example.run(&["--dump", "sbuf:2:0x4000:10:fp32@DVE:0"]).expect(0).stdout;
    let expected = "sbuf partition 2 byte 0x4000, 10 fp32, before core 0 DVE word 0 (TENSOR_TENSOR):\n       \
                    0: 16.0 17.0 18.0 19.0 20.0 21.0 22.0 23.0\n       8: 0.0 0.0\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn dumps_that_cannot_be_are_refused_before_the_run() {
    let example = Example::new();
    for (dump, what) in [
        ("sbuf:128:0:1:fp32@SP:0", "PARTITION is 128"),
        ("sbuf:0:229376:1:fp32@SP:0", "229376"),
        ("psum:0:16380:2:fp32@SP:0", "16384"),
        ("sbuf:0:0:18446744073709551615:fp32@SP:0", "COUNT"),
        ("dram:nothing:0:1:fp32@SP:0", "`nothing`"),
        ("dram:y:4095:1:fp32@SP:0", "4096"),
        ("dram:SB:0:1:fp32@SP:0", "`SB`"),
        ("sbuf:0:0:1:fp32@SP:3", "no word 3"),
        ("sbuf:0:0:1:fp32@1.SP:0", "no core 1"),
        ("sbuf:0:0:1:fp32@SP", "expected"),
    ] {
        let error = example.run(&["--dump", dump, "--json"]).error(2, "usage");
        assert!(error["message"].as_str().unwrap().contains(what), "{dump}: {error}");
    }
}

#[test]
fn a_dump_that_is_never_reached_is_an_error_after_everything_else() {
    let mut small = Small::new();
    // A HALT before the last word of a further engine.
    small.stream(EngineId::Act).extend([word(EngineId::Act, "HALT", ""), word(EngineId::Act, "NOP", "")]);
    let example = Example::of(&small);
    let dump = ["--dump", "sbuf:0:0:1:fp32@ACT:1", "-o", &example.path("out"), "--json"];
    let error = example.run(&dump).error(11, "dump_not_reached");
    assert_eq!((&error["engine"], &error["word"]), (&"ACT".into(), &1.into()));
    assert!(std::path::Path::new(&example.path("out/y.npy")).exists());
}

#[test]
fn limits_stop_a_run() {
    let example = Example::new();
    let ended = example.run(&["--max-words", "2", "-o", &example.path("out"), "--json"]);
    assert_eq!(ended.json()["counters"]["retired"], 2);
    ended.error(9, "limit");
    assert_eq!(std::fs::read_dir(example.path("out")).unwrap().count(), 0, "no output of half a run");
    example.run(&["--max-words", "4"]).expect(9);
    example.run(&["--max-words", "5"]).expect(0);
    let error = example.run(&["--max-memory", "1000000", "--json"]).error(9, "limit");
    assert_eq!(error["field"], "--max-memory");
    example.run(&["--max-memory", "100000000"]).expect(0);
}

#[test]
fn an_output_directory_that_cannot_be_made() {
    let example = Example::new();
    let error = example.run(&["-o", &example.path("x.npy"), "--json"]).error(10, "io");
    assert_eq!(error["file"], example.path("x.npy"));
}

/// Datatypes of host tensors (chapter 07 section 4.1); bytes go through unchanged.
#[test]
fn every_datatype_passes_through() {
    let types = [
        Dtype::FP32,
        Dtype::FP16,
        Dtype::BFLOAT16,
        Dtype::INT8,
        Dtype::UINT8,
        Dtype::INT16,
        Dtype::UINT16,
        Dtype::INT32,
        Dtype::UINT32,
        Dtype::INT64,
        Dtype::UINT64,
    ];
    for dtype in types {
        let mut small = Small::new();
        small.builder = builder(dtype);
        // The store takes what the load brought.
        small.builder.graphs[0].def.blocks[1].descriptors[0].sources[0].offset = 0x4000;
        let example = Example::of(&small);
        let data = (0..128 * COLUMNS * dtype.bytes()).map(|i| (i % 251) as u8).collect();
        let x = Tensor::new(dtype, vec![128, COLUMNS], data).unwrap();
        x.save(example.path("x.npy").as_ref()).unwrap();
        let reference = format!("y={}", example.path("x.npy"));
        example.run(&["-o", &example.path("out"), "--expect", &reference]).expect(0);
        let y = std::fs::read(example.path("out/y.npy")).unwrap();
        assert!(y == std::fs::read(example.path("x.npy")).unwrap(), "{}", dtype.text());
        if dtype == Dtype::BFLOAT16 {
            assert!(String::from_utf8_lossy(&y[..128]).contains("'descr': '<V2'"));
        }
    }
}

#[test]
fn vendor_programs_run() {
    // Words of core 0 by the table of the test data's README section 2, less one CC an engine; core 1 adds
    // its B1 words.
    let cases = [
        ("fused_fp32_s512", 164, 5, "kernel_out fp32 [512, 128]"),
        ("trn2_stream_add_256k_fd1k", 20, 0, "out fp32 [256000]"),
        ("nkipy_matmul_small", 48, 0, "output0 fp16 [128, 128]"),
    ];
    for (name, retired, transfers, shown) in cases {
        let Some(neff) = vendor(name) else { return };
        let ended = seqjit(["run", &neff, "--seed", "1", "--check"]).expect(0);
        assert!(ended.stdout.starts_with(shown), "{}", ended.stdout);
        assert_eq!(ended.stderr, "", "warnings about the container need -v");
        let verbose = seqjit(["run", &neff, "--seed", "1", "-v"]).expect(0);
        assert!(verbose.stderr.contains("warning: "), "{}", verbose.stderr);
        let document = seqjit(["run", &neff, "--seed", "1", "--json"]).expect(0).json();
        assert_eq!(document["counters"]["retired"], retired, "{name}");
        if transfers > 0 {
            // Test data README, section 3.
            assert_eq!(document["counters"]["transfers"], transfers);
            assert_eq!(document["counters"]["dma_written"], 1_114_112);
        }
    }
}

#[test]
fn a_vendor_program_computes_what_numpy_computes() {
    let Some(neff) = vendor("trn2_stream_add_256k_fd1k") else { return };
    let example = Example::new();
    let save = |name: &str, value: fn(usize) -> f32| {
        floats(&[256_000], value).save(example.path(&format!("{name}.npy")).as_ref()).unwrap();
        format!("{name}={}", example.path(&format!("{name}.npy")))
    };
    let a = save("a_vec", |i| (i as f32).sqrt());
    let b = save("b_vec", |i| 1.0 / (i as f32 + 1.0));
    let out = save("out", |i| (i as f32).sqrt() + 1.0 / (i as f32 + 1.0));
    let ended = seqjit(["run", &neff, "-i", &a, "-i", &b, "--expect", &out]).expect(0);
    assert!(ended.stdout.contains("as expected (largest difference 0.0)"), "{}", ended.stdout);
}
