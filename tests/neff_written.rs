//! A container written by hand: every form of chapter 07 that the vendor's files do not show, tolerated
//! oddities, and writing.

mod neff_support;

use neff_support::*;
use seqjit::neff::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation};

const F32: Dtype = Dtype::FP32;
const BF16: Dtype = Dtype::BFLOAT16;

fn read(file: &[u8]) -> Neff {
    Neff::read(file, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn access(variable: &str, offset: u64, sizes: &[u64], steps: &[i64], dtype: Option<Dtype>) -> Access {
    Access { variable: variable.to_owned(), offset, sizes: sizes.to_vec(), steps: steps.to_vec(), dtype }
}

#[test]
fn every_variable_type_is_read() {
    let neff = read(&pack(&tar(&members())));
    assert_eq!(neff.warnings, []);
    let def = &neff.graphs[0].def;
    use VariableKind::*;
    let plain = |name: &str, id, kind, size| Variable::new(name, id, kind, size);
    let expected = [
        plain("SB", 0, StateBuffer, None),
        plain("x", 1, Input, Some(65536)),
        plain("y", 2, Output, Some(65536)),
        Variable { element_size: Some(2), internal_shape: vec![1, 1, 1, 4], ..plain("b", 3, Input, Some(8)) },
        Variable {
            alignment: Some(64),
            dtype: Some(F32),
            shape: vec![64, 64],
            framework_shape: vec![4096],
            ..plain("tmp", 4, TmpBuf, Some(16384))
        },
        plain("w", 5, File { file_name: "w.npy".to_owned() }, Some(16)),
        plain("raw", 6, File { file_name: "raw.bin".to_owned() }, Some(8)),
        plain("ptr", 7, Pointer { referenced: 4 }, Some(8)),
        plain("scratch", 8, Virtual { backing: None, offset: 24 }, Some(1000)),
        plain("alias", 9, Virtual { backing: Some("tmp".to_owned()), offset: 16368 }, Some(16)),
        plain("table", 10, DgeTable { list: vec![1, 2] }, None),
        plain("ptrs", 11, List { list: vec![4] }, None),
        plain("peer", 12, Remote(RemoteKind::Remote), None),
        plain("both", 13, Remote(RemoteKind::Shared), Some(4)),
        plain("part", 14, Remote(RemoteKind::Sharded), None),
        plain("host", 15, Remote(RemoteKind::Main), None),
    ];
    assert_eq!(def.variables, expected);
    // 128 partitions at a pitch of 256 KiB; on v5 of 1 MiB (chapter 03 section 3.1).
    assert_eq!(expected[0].extent(Generation::Cayman), Some(32 << 20));
    assert_eq!(expected[0].extent(Generation::Maverick), Some(128 << 20));
    assert_eq!(expected[10].extent(Generation::Cayman), Some(16));
}

#[test]
fn every_queue_type_is_read() {
    let neff = read(&pack(&tar(&members())));
    let queue = |name: &str, owner, kind| Queue::new(name, owner, kind);
    use EngineId::*;
    let expected = [
        Queue { rings: 16, semaphore_set: vec![8, 9, 10], ..queue("q_in", Sp, QueueKind::In) },
        Queue { semaphore: Some(30), ..queue("q_out", Pool, QueueKind::Out) },
        Queue {
            semaphore: Some(31),
            instances: vec!["a".to_owned(), "b".to_owned()],
            pinned: true,
            dge: true,
            ..queue("q_data", Act, QueueKind::Data)
        },
        queue("q_ind", Pe, QueueKind::IndirectMemcpy),
        Queue {
            rings: 16,
            scratch: Some(ScratchRange { offset: 0, size: 16384 }),
            ..queue("q_dyn", Dve, QueueKind::Dynamic)
        },
        queue("q_act", Act, QueueKind::ActLoad),
        Queue { embedding_update_semaphore: Some(40), ..queue("q_emb", Pool, QueueKind::EmbeddingUpdate) },
    ];
    let queues = &neff.graphs[0].def.queues;
    assert_eq!(queues[..], expected);
    let rings: Vec<_> = queues.iter().map(|q| q.kind.ring_type()).collect();
    assert_eq!(rings, [Some(7), Some(8), Some(6), Some(9), None, Some(11), Some(15)]);
    assert_eq!(neff.graphs[0].def.dynamic_queue(Dve).unwrap().name, "q_dyn");
}

#[test]
fn every_descriptor_operation_is_read() {
    let neff = read(&pack(&tar(&members())));
    let graph = &neff.graphs[0];
    let (f32, bf16) = (Some(F32), Some(BF16));
    let one = |op, from, to| Descriptor { op, sources: vec![from], destination: to };
    let expected = [
        one(
            DescriptorOp::Copy,
            access("SB", 16384, &[512, 128], &[1, 262144], None),
            access("y", 0, &[512, 128], &[1, 512], None),
        ),
        one(
            DescriptorOp::Cast,
            access("tmp", 0, &[128, 128], &[1, 128], Some(Dtype::INT8)),
            access("SB", 0, &[512, 128], &[1, 262144], f32),
        ),
        Descriptor {
            op: DescriptorOp::Fma { scale: vec![0.5, 2.0] },
            sources: vec![access("x", 0, &[64], &[1], f32), access("y", 64, &[64], &[1], f32)],
            destination: access("tmp", 0, &[32], &[1], bf16),
        },
        Descriptor {
            op: DescriptorOp::Add,
            sources: vec![access("x", 8, &[64], &[1], f32), access("y", 8, &[64], &[1], f32)],
            destination: access("tmp", 0, &[64], &[1], f32),
        },
        one(
            DescriptorOp::Min { constant: Some(1.5) },
            access("x", 0, &[4], &[1], f32),
            access("tmp", 0, &[4], &[1], f32),
        ),
        one(
            DescriptorOp::Max { constant: None },
            access("x", 0, &[4], &[1], f32),
            access("tmp", 16380, &[4], &[1], f32),
        ),
        one(
            DescriptorOp::Transpose(Tile { rows: 128, columns: 64, element_size: 4, tiling_dimensions: 2 }),
            access("x", 0, &[256, 128, 2, 1], &[1, 512, 256, 65536], None),
            access("SB", 0, &[512, 64, 2, 1], &[1, 0x4_0000, 64 * 0x4_0000, 512], None),
        ),
    ];
    let block = graph.block("q_in", 0).unwrap();
    assert_eq!(block.descriptors, expected);
    assert_eq!(block.descriptors[0].sources[0].bytes(), Some(65536));
    // 16384 to 16384 + 127 * 262144 + 511.
    assert_eq!(block.descriptors[0].sources[0].span(), Some((16384, 16384 + 127 * 262144 + 512)));
    assert_eq!(graph.block("q_in", 1).unwrap().descriptors[0].sources[0].span(), Some((0, 8)));
    let all_keys = DmaBlock {
        queue: "q_out".to_owned(),
        id: 7,
        semaphore: Some(33),
        instance: Some("a".to_owned()),
        priority_class: Some(4),
        remote_semaphores: vec![50, 51],
        function_start: true,
        section_start: true,
        comment: "all keys".to_owned(),
        descriptors: vec![],
    };
    assert_eq!(graph.block("q_out", 7), Some(&all_keys));
}

#[test]
fn everything_else_of_a_graph_is_read() {
    let neff = read(&pack(&tar(&members())));
    let graph = &neff.graphs[0];
    assert_eq!(neff.digest, Some(DigestForm::Plain));
    let tensor = |name: &str, dtype, shape: &[usize]| HostTensor {
        name: name.to_owned(),
        shape: shape.to_vec(),
        dtype,
    };
    assert_eq!(neff.host.inputs, [tensor("x", F32, &[128, 128]), tensor("b", BF16, &[4])]);
    assert_eq!(neff.host.outputs, [tensor("y", F32, &[128, 128])]);
    assert_eq!(neff.inputs.iter().map(|b| b.variables[0]).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(graph.def.features, ["neff_feature_vnc"]);
    assert_eq!(graph.def.replica_groups, Some(vec![vec![], vec![0, 1]]));
    assert_eq!(graph.def.collective_streams, 0);
    let function = UcodeFunction { name: "f".to_owned(), opcode: 240, sub_opcode: 3 };
    let library = UcodeLibrary {
        library: "ops.so".to_owned(),
        version: "1.2".to_owned(),
        opcode: 240,
        cpu_id: 0,
        total_cpus: 8,
        functions: vec![function],
    };
    assert_eq!(graph.def.libraries, UcodeLibraries { member: None, libraries: vec![library] });
    let w = graph.constant(5).unwrap();
    assert_eq!((w.dtype, &w.shape[..], &w.payload[..]), (Some(BF16), &[2, 4][..], &[7; 16][..]));
    let raw = graph.constant(6).unwrap();
    assert_eq!((raw.dtype, raw.member.as_str(), &raw.payload[..]), (None, "sg00/raw.bin", &[9; 8][..]));
    let set = &graph.activation_sets()[0];
    assert_eq!((set.name.as_str(), &set.buckets[..], &set.control[..]), ("exp", &[1; 32][..], &[2; 64][..]));
    assert_eq!(set.functions, [("exp".to_owned(), 400), ("copy".to_owned(), 1)]);
    let programs = graph.dve_programs().unwrap();
    assert_eq!((0..256).filter(|o| programs[*o]).collect::<Vec<_>>(), [0x41, 0x46]);
    assert_eq!(graph.words(EngineId::Pe).map(|w| w.opcode()).collect::<Vec<_>>(), [0xB1, 0xA4]);
    assert_eq!(graph.words(EngineId::Pool).len(), 0);
    assert_eq!(neff.archive.get("notes/unknown.txt").map(|b| b.to_vec()), Some(b"kept".to_vec()));
}

#[test]
fn a_written_program_reads_the_same() {
    let neff = read(&pack(&tar(&members())));
    let builder = NeffBuilder::from_neff(&neff);
    let built = builder.build(&ReadOptions::default()).unwrap();
    assert_eq!(built.graphs, neff.graphs);
    let file = built.write();
    let again = read(&file);
    assert_eq!(again.graphs, neff.graphs);
    assert_eq!(again.host, neff.host);
    assert_eq!(again.kelf, neff.kelf);
    assert_eq!(again.header.uuid, neff.header.uuid);
    assert_eq!(again.archive.get("notes/unknown.txt").map(|b| b.to_vec()), Some(b"kept".to_vec()));
    assert_eq!(builder.build(&ReadOptions::default()).unwrap().write(), file);
}

#[test]
fn writing_keeps_to_the_compilers_form() {
    // Chapter 07 section 2.2 and chapter 10 section 2.
    let read_back = read(&pack(&tar(&members())));
    let mut builder = NeffBuilder::from_neff(&read_back);
    builder.name = "model.neff".to_owned();
    builder.uuid = None;
    builder.graphs.push(builder.graphs[0].clone());
    let built = builder.build(&ReadOptions::default()).unwrap();
    let file = built.write();
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let stored = &file[1024..];
    assert_eq!((word(0), word(8), word(16), word(24), word(32)), (2, 1024, stored.len() as u64, 2, 0));
    assert_eq!(stored.len() % 10_240, 0);
    assert_eq!(file[0xA8..0xAC], [1, 0, 0, 0]);
    let digest = <md5::Md5 as md5::Digest>::digest(stored);
    let reversed: Vec<u8> = digest.chunks(4).flat_map(|w| [w[3], w[2], w[1], w[0]]).collect();
    assert_eq!(file[0xAC..0xBC], reversed);
    assert_eq!(file[0xBC..0xCC], [0; 16]);
    assert_eq!((file[0xCC + 6] >> 4, file[0xCC + 8] >> 6), (4, 2), "a version 4 uuid");
    assert_eq!(&file[0xDC..0xDC + 11], b"model.neff\0");
    assert_eq!((file[0x1DC], file[0x1E0], file[0x228]), (1, 1, 2));
    assert_eq!(word(0x220), 0);
    assert_eq!(file[0x22C..0x400], [0; 468]);
    // One gzip member without time, made on Unix.
    assert_eq!((&stored[..4], &stored[4..8], stored[9]), (&[0x1F, 0x8B, 8, 0][..], &[0; 4][..], 3));
    let mut tar = Vec::new();
    let mut decoder = flate2::bufread::GzDecoder::new(stored);
    std::io::Read::read_to_end(&mut decoder, &mut tar).unwrap();
    assert!(decoder.into_inner().iter().all(|b| *b == 0));
    assert_eq!(&tar[257..265], b"ustar\x0000");
    assert_eq!(tar[tar.len() - 1024..], [0; 1024]);

    let again = read(&file);
    let paths: Vec<&str> = again.archive.members().iter().map(|m| m.path.as_str()).collect();
    assert_eq!(paths.last(), Some(&"neff.json"));
    assert!(paths[..paths.len() - 1].is_sorted(), "{paths:?}");
    assert!(paths.contains(&"sg01/Activation.bin"));
    assert_eq!(again.header.virtual_core_size(), 2);
    // With two graphs the kernel node lists each output twice (chapter 07 section 4.1).
    let host: serde_json::Value = serde_json::from_slice(again.archive.get("neff.json").unwrap()).unwrap();
    assert_eq!(host["nodes"][2]["output_names"], serde_json::json!(["y", "y"]));
    assert_eq!(host["heads"], serde_json::json!([[2, 0, 0], [2, 1, 0]]));
    assert_eq!(host["node_row_ptr"], serde_json::json!([0, 1, 2, 4]));
    assert_eq!(again.host.outputs.len(), 1);
    assert_eq!(again.outputs[0].variables, [2, 2]);
}

#[test]
fn a_raw_package_is_read_and_written() {
    let neff = read(&pack(&tar(&members())));
    let raw = Neff { header: Header { package: Package::RawTar, ..neff.header.clone() }, ..neff.clone() };
    let file = raw.write();
    assert_eq!(file[0], 1);
    assert_eq!(file[0xAC..0xCC], *<sha2::Sha256 as sha2::Digest>::digest(&file[1024..]));
    assert_eq!(&file[1024..1035], b"kelf-0.json");
    let again = read(&file);
    assert_eq!(again.digest, Some(DigestForm::Sha256));
    assert_eq!(again.archive, neff.archive);
    assert_eq!(again.graphs, neff.graphs);
}

#[test]
fn both_digest_forms_are_accepted() {
    let mut file = pack(&tar(&members()));
    assert_eq!(read(&file).digest, Some(DigestForm::Plain));
    for word in file[0xAC..0xBC].chunks_mut(4) {
        word.reverse();
    }
    file[0xBC..0xCC].fill(0x30);
    assert_eq!(read(&file).digest, Some(DigestForm::WordReversed));
    file[0xAC] ^= 1;
    let unchecked = ReadOptions { verify_digest: false, ..ReadOptions::default() };
    assert_eq!(Neff::read(&file, &unchecked).unwrap().digest, None);
}

#[test]
fn every_tar_dialect_is_read() {
    let expected = read(&pack(&tar(&members()))).archive;
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    let record = |key: &str, value: &str| {
        let body = format!(" {key}={value}\n");
        let digits = if body.len() + 2 < 100 { 2 } else { 3 };
        format!("{}{body}", body.len() + digits).into_bytes()
    };
    let file = |name: &[u8]| tar_entry(name, b'0', b"abc");
    let mut base256 = tar_header(b"n", b'0', 3);
    base256[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
    set_checksum(&mut base256);
    let base256 = [&base256[..], b"abc", &[0; 509]].concat();
    let mut signed = tar_header("\u{e4}".as_bytes(), b'0', 0);
    signed[148..156].copy_from_slice(b"        ");
    let sum: i32 = signed.iter().map(|b| i32::from(*b as i8)).sum();
    signed[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut prefixed = tar_header(b"name", b'0', 0);
    prefixed[345..351].copy_from_slice(b"prefix");
    set_checksum(&mut prefixed);
    let mut gnu = tar_header(b"g", b'0', 0);
    gnu[257..265].copy_from_slice(b"ustar  \0");
    set_checksum(&mut gnu);
    let mut old = tar_header(b"o", 0, 0);
    old[257..265].fill(0);
    set_checksum(&mut old);
    let pax = [record("mtime", "1.5"), record("path", &long)].concat();
    let cases: Vec<(Vec<u8>, &str, &[u8])> = vec![
        (file(b"./dotted"), "dotted", b"abc"),
        ([tar_entry(b"./@LongLink", b'L', long.as_bytes()), file(b"short")].concat(), &long, b"abc"),
        ([tar_entry(b"k", b'K', b"target"), file(b"after-k")].concat(), "after-k", b"abc"),
        ([tar_entry(b"pax", b'x', &pax), file(b"short")].concat(), &long, b"abc"),
        ([tar_entry(b"glob", b'g', &record("comment", "hi")), file(b"after-g")].concat(), "after-g", b"abc"),
        // The pax size counts, not the header's.
        (
            [tar_entry(b"pax", b'x', &record("size", "3")), tar_header(b"sized", b'0', 0).to_vec(), {
                let mut block = b"abc".to_vec();
                block.resize(512, 0);
                block
            }]
            .concat(),
            "sized",
            b"abc",
        ),
        (base256, "n", b"abc"),
        (signed.to_vec(), "\u{e4}", b""),
        (prefixed.to_vec(), "prefix/name", b""),
        (gnu.to_vec(), "g", b""),
        (old.to_vec(), "o", b""),
        (tar_entry(b"seven", b'7', b"abc"), "seven", b"abc"),
        (
            [tar_entry(b"./", b'5', b""), tar_entry(b"sub/", b'5', b""), file(b"sub/f")].concat(),
            "sub/f",
            b"abc",
        ),
    ];
    for (entries, path, contents) in cases {
        let neff = read(&pack(&[&entries[..], &tar(&members())].concat()));
        assert_eq!(neff.archive.members()[0].path, path);
        assert_eq!(neff.archive.members()[0].bytes[..], *contents, "{path}");
        assert_eq!(neff.archive.members()[1..], *expected.members(), "{path}");
        assert_eq!(neff.warnings, [], "{path}");
    }
}

#[test]
fn long_paths_are_written() {
    let mut neff = read(&pack(&tar(&members())));
    let paths = ["p".repeat(100), format!("{}/{}", "q".repeat(150), "r".repeat(99)), "s/".repeat(300) + "t"];
    for path in &paths {
        assert!(!neff.archive.insert(path, path.as_bytes()).unwrap());
    }
    let again = read(&neff.write());
    assert_eq!(again.archive, neff.archive);
}

#[test]
fn harmless_oddities_are_warnings() {
    let base = pack(&tar(&members()));
    let cases: Vec<(Vec<u8>, Warning)> = vec![
        ([&base[..], &[1, 2, 3]].concat(), Warning::TrailingBytes { offset: base.len() as u64, count: 3 }),
        (
            {
                let mut file = base.clone();
                file[0x220..0x223].copy_from_slice(&[1, 0, 4]);
                file
            },
            Warning::FeatureBits { value: 0x4_0001, bits: vec![0, 18] },
        ),
        (
            {
                let all = tar(&members());
                pack(&all[..all.len() - 1024])
            },
            Warning::TarEnd { offset: tar(&members()).len() - 1024 },
        ),
        (
            with_text("sg00/def.json", r#""name": "definition""#, r#""name": "definition", "name": 5"#),
            Warning::DuplicateKey { member: "sg00/def.json".to_owned(), path: "name".to_owned() },
        ),
        (
            with_text("sg00/SP.json", r#""to_off": 0"#, r#""to_off": 0, "to_off": "x""#),
            Warning::DuplicateKey {
                member: "sg00/SP.json".to_owned(),
                path: "dma[0].desc[0].to_off".to_owned(),
            },
        ),
        (
            with_text("sg00/def.json", r#""pe": "PE.json", "#, ""),
            Warning::MissingEngine { graph: "sg00".to_owned(), engine: EngineId::Pe, member: String::new() },
        ),
        (
            without_member("sg00/PE.json"),
            Warning::MissingEngine {
                graph: "sg00".to_owned(),
                engine: EngineId::Pe,
                member: "sg00/PE.json".to_owned(),
            },
        ),
        (
            with_text("neff.json", r#""name": "b""#, r#""name": "renamed""#),
            Warning::BoundByOrder { graph: "sg00".to_owned(), kind: "input" },
        ),
        (
            with_text(
                "sg00/def.json",
                r#""host": {"type": "main", "var_id": 15}"#,
                r#""spare": {"type": "output", "size": 4, "var_id": 15}"#,
            ),
            Warning::UnboundVariable { graph: "sg00".to_owned(), variable: "spare".to_owned() },
        ),
        (
            with_text("kelf-0.json", r#""cayman""#, r#""*""#),
            Warning::TargetAssumed { target: "*".to_owned(), generation: Generation::Cayman },
        ),
    ];
    for (file, warning) in cases {
        let neff = read(&file);
        assert!(!warning.to_string().is_empty());
        assert_eq!(neff.warnings, [warning]);
    }
}

#[test]
fn padding_and_data_behind_the_tar_are_no_concern() {
    let stored = [gzip(&tar(&members())), vec![0; 10_049]].concat();
    assert_eq!(read(&file(&stored)).warnings, []);
    let tar = [tar(&members()), vec![0xFF; 5000]].concat();
    assert_eq!(read(&pack(&tar)).warnings, []);
}

#[test]
fn lenient_mode_and_legacy_turn_rules_into_warnings() {
    let lenient = ReadOptions { strict: false, ..ReadOptions::default() };
    let legacy =
        ReadOptions { allow_legacy: true, generation: Some(Generation::Mariana), ..ReadOptions::default() };
    let mut twice = members();
    twice.insert(0, ("notes/unknown.txt".to_owned(), b"first".to_vec()));
    // The second one stands before neff.json and the end, in a header and one block.
    let offset = tar(&twice).len() - 1024 - tar_entry(b"neff.json", b'0', HOST.as_bytes()).len() - 1024;
    let reservation = r#""runtime_statebuffer_reservation":
        [{"type": "evtaccel", "base_partition": 0, "partitions": 128, "offset": 229368, "size": 8}],"#;
    let cayman = ReadOptions { allow_legacy: true, ..ReadOptions::default() };
    let cases: Vec<(Vec<u8>, &ReadOptions, Warning)> = vec![
        (
            pack(&tar(&twice)),
            &lenient,
            Warning::DuplicateMember { path: "notes/unknown.txt".to_owned(), offset },
        ),
        (
            with_member("sg00/Pool.bin", &[0xA4; 70]),
            &lenient,
            Warning::StreamTail { member: "sg00/Pool.bin".to_owned(), tail: 6 },
        ),
        (
            with_member("sg00/raw.bin", &[1, 2, 3]),
            &lenient,
            Warning::ShortConstant { member: "sg00/raw.bin".to_owned(), bytes: 3, size: 8 },
        ),
        (
            pack(&tar(&members())),
            &legacy,
            Warning::TargetMismatch { target: Generation::Cayman, generation: Generation::Mariana },
        ),
        (
            with_text("sg00/def.json", reservation, ""),
            &cayman,
            Warning::NoReservation { graph: "sg00".to_owned() },
        ),
    ];
    for (file, options, warning) in cases {
        assert!(
            Neff::read(&file, &ReadOptions { strict: true, allow_legacy: false, ..options.clone() }).is_err()
        );
        let neff = Neff::read(&file, options).unwrap();
        assert_eq!(neff.warnings, [warning]);
    }
    let neff = Neff::read(&with_member("sg00/Pool.bin", &[0xA4; 70]), &lenient).unwrap();
    assert_eq!(neff.graphs[0].words(EngineId::Pool).len(), 1);
    let neff = Neff::read(&pack(&tar(&twice)), &lenient).unwrap();
    assert_eq!(neff.archive.get("notes/unknown.txt").map(|b| b.to_vec()), Some(b"kept".to_vec()));
}

#[test]
fn targets_are_spelled_in_many_ways() {
    // Chapter 07 section 4.2 and C7-1.
    let options = |generation| ReadOptions { generation, ..ReadOptions::default() };
    // The hand-written program has v3 tables and a queue with a hardware descriptor generator.
    for (text, generation) in [
        ("cayman", Generation::Cayman),
        ("v3", Generation::Cayman),
        ("mariana", Generation::Mariana),
        ("v4", Generation::Mariana),
        ("maverick", Generation::Maverick),
        ("v5", Generation::Maverick),
    ] {
        let file = with_text("kelf-0.json", "cayman", text);
        assert_eq!(Neff::read(&file, &options(None)).unwrap().generation, generation, "{text}");
        assert!(Neff::read(&file, &options(Some(Generation::Sunda))).is_err(), "{text}");
    }
    let file = with_text("kelf-0.json", "cayman", "*");
    assert_eq!(
        Neff::read(&file, &options(Some(Generation::Mariana))).unwrap().generation,
        Generation::Mariana
    );
}

#[test]
fn files_are_opened_by_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.neff");
    let error = Neff::open(&path, &ReadOptions::default()).unwrap_err();
    assert!(matches!(&error, NeffError::Io { path: p, .. } if *p == path), "{error}");
    std::fs::write(&path, pack(&tar(&members()))).unwrap();
    assert_eq!(Neff::open(&path, &ReadOptions::default()).unwrap().graphs.len(), 1);
    std::fs::write(&path, b"short").unwrap();
    let error = Neff::open(&path, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("model.neff") && error.to_string().contains("5 bytes"), "{error}");
    assert_eq!(error.status(), 2);
}

#[test]
fn a_long_name_is_cut_at_a_character() {
    let mut header = Header::default();
    header.set_name(&format!("{}\u{e9}", "n".repeat(255)));
    assert_eq!(header.name(), "n".repeat(255));
    header.set_name("short");
    assert_eq!(header.name(), "short");
}
