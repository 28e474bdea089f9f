//! The vendor's containers and the older sample: their facts, and that reading, writing and rebuilding
//! them loses nothing (chapter 07 sections 1 to 7, chapter 10 section 2).

mod neff_support;

use neff_support::*;
use seqjit::neff::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, op};

fn read(file: &[u8]) -> Neff {
    Neff::read(file, &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// What the data's README section 2 and chapter 10 section 2 say about a container.
struct Facts {
    name: &'static str,
    target: Generation,
    major: u64,
    features: u64,
    /// PE, ACT, POOL, DVE, SP of `sg00`, in that order as the README lists them.
    words: [usize; 5],
    inputs: &'static [(&'static str, Dtype, &'static [usize])],
    output: (&'static str, Dtype, &'static [usize]),
    /// Beyond A0 A4 B1 CC.
    opcodes: &'static [u8],
    set: Option<&'static str>,
    /// Compiler 2.23.
    fp8: bool,
}

const F32: Dtype = Dtype::FP32;
const F16: Dtype = Dtype::FP16;
const BF16: Dtype = Dtype::BFLOAT16;
const EXP: Option<&str> = Some("exp_and_others");
const LN_EXP: Option<&str> = Some("natural_log_exp_and_others");
const CONV: &[u8] = &[0x01, 0x02, 0x23, 0x41, 0x46, 0xC1];
const ATTENTION: &[u8] = &[0x01, 0x02, 0x21, 0x23, 0x42, 0x43, 0x46, 0x48, 0xD4];
const ADD: &[(&str, Dtype, &[usize])] = &[("a_vec", F32, &[256000]), ("b_vec", F32, &[256000])];
const QKV: &[(&str, Dtype, &[usize])] =
    &[("q_ref", F32, &[128, 512]), ("k_ref", F32, &[128, 512]), ("v_ref", F32, &[128, 512])];
const AUTOCOMP: &[(&str, Dtype, &[usize])] = &[
    ("input0", F32, &[2048, 2048]),
    ("input1", F32, &[2048, 128]),
    ("input2", F32, &[128, 2048]),
    ("input3", F32, &[2048, 128]),
];

#[rustfmt::skip]
const FACTS: [Facts; 12] = [
    Facts { name: "trn1_stream_add_256k_fd1k", target: Generation::Sunda, major: 1, features: 0,
        words: [1, 1, 5, 3, 5], inputs: ADD, output: ("out", F32, &[256000]),
        opcodes: &[0x41, 0xC1], set: None, fp8: false },
    Facts { name: "trn2_stream_add_256k_fd1k", target: Generation::Cayman, major: 2, features: 0xC00,
        words: [2, 2, 6, 4, 6], inputs: ADD, output: ("out", F32, &[256000]),
        opcodes: &[0x41, 0xC1], set: None, fp8: false },
    Facts { name: "trn2_transpose_1024", target: Generation::Cayman, major: 2, features: 0xC00,
        words: [187, 67, 130, 2, 67], inputs: &[("a_tensor", F32, &[1024, 1024])],
        output: ("out", F32, &[1024, 1024]), opcodes: &[0x01, 0x02, 0x23, 0x46, 0xC1], set: EXP, fp8: false },
    Facts { name: "trn2_conv2d_4_float32_smaller", target: Generation::Cayman, major: 2, features: 0xC00,
        words: [224, 29, 6, 52, 11],
        inputs: &[("X", F32, &[1, 256, 32, 16]), ("W", F32, &[256, 256, 3, 3]), ("bias", F32, &[256])],
        output: ("X_out", F32, &[1, 256, 30, 14]), opcodes: CONV, set: EXP, fp8: false },
    Facts { name: "trn2_conv2d_4_float32", target: Generation::Cayman, major: 2, features: 0xC00,
        words: [24687, 3041, 5, 5742, 1473],
        inputs: &[("X", F32, &[1, 256, 224, 224]), ("W", F32, &[256, 256, 3, 3]), ("bias", F32, &[256])],
        output: ("X_out", F32, &[1, 256, 222, 222]), opcodes: CONV, set: EXP, fp8: false },
    Facts { name: "trn2_conv2d_4_float16", target: Generation::Cayman, major: 2, features: 0xC00,
        words: [16284, 3003, 5, 5240, 862],
        inputs: &[("X", F16, &[1, 256, 224, 224]), ("W", F16, &[256, 256, 3, 3]), ("bias", F16, &[256])],
        output: ("X_out", F16, &[1, 256, 222, 222]), opcodes: CONV, set: EXP, fp8: false },
    Facts { name: "nkipy_matmul_small", target: Generation::Cayman, major: 2, features: 0x20_9C00,
        words: [12, 5, 7, 2, 3], inputs: &[("x", F16, &[128, 256]), ("y", F16, &[256, 128])],
        output: ("output0", F16, &[128, 128]), opcodes: &[0x01, 0x02, 0x23, 0x46, 0xD4], set: EXP, fp8: true },
    Facts { name: "baseline_fp32_s512", target: Generation::Cayman, major: 2, features: 0xC00,
        words: [124, 23, 8, 20, 7], inputs: QKV, output: ("kernel_out", F32, &[512, 128]),
        opcodes: ATTENTION, set: EXP, fp8: true },
    Facts { name: "fused_fp32_s512", target: Generation::Cayman, major: 2, features: 0xC00,
        words: [124, 11, 7, 19, 3], inputs: QKV, output: ("kernel_out", F32, &[512, 128]),
        opcodes: ATTENTION, set: EXP, fp8: true },
    Facts { name: "fused_bf16_s512", target: Generation::Cayman, major: 2, features: 0xC00,
        words: [117, 11, 7, 19, 4],
        inputs: &[("q_ref", BF16, &[128, 512]), ("k_ref", BF16, &[128, 512]), ("v_ref", BF16, &[128, 512])],
        output: ("kernel_out", BF16, &[512, 128]),
        opcodes: &[0x01, 0x02, 0x21, 0x23, 0x42, 0x43, 0x46, 0x47, 0x48, 0xD4], set: EXP, fp8: true },
    Facts { name: "trn1_autocomp_1", target: Generation::Sunda, major: 2, features: 0x9000,
        words: [97, 46, 68, 235, 2], inputs: AUTOCOMP, output: ("output0", BF16, &[2048, 1]),
        opcodes: &[0x01, 0x02, 0x21, 0x23, 0x41, 0x42, 0x47, 0x49, 0x92, 0xA7, 0xD4], set: EXP, fp8: true },
    Facts { name: "trn1_autocomp_2", target: Generation::Sunda, major: 2, features: 0x9000,
        words: [98, 110, 70, 322, 2], inputs: AUTOCOMP, output: ("output0", BF16, &[2048, 1]),
        opcodes: &[0x01, 0x02, 0x21, 0x23, 0x41, 0x42, 0x47, 0x49, 0x8C, 0x92, 0xA7, 0xD4],
        set: LN_EXP, fp8: true },
];

fn opcodes(graph: &Graph) -> Vec<u8> {
    let mut seen: Vec<u8> =
        EngineId::ALL.iter().flat_map(|e| graph.words(*e)).map(|word| word.opcode()).collect();
    seen.sort_unstable();
    seen.dedup();
    seen
}

#[test]
fn vendor_containers_hold_their_facts() {
    for facts in &FACTS {
        let Some(file) = vendor(facts.name) else { continue };
        let neff = read(&file);
        let name = facts.name;
        assert_eq!(file.len() as u64, 1024 + neff.header.data_size, "{name}");
        assert_eq!(neff.header.package, Package::GzipTar, "{name}");
        assert_eq!(neff.header.data_size % 10_240, 0, "{name}");
        assert_eq!(neff.digest, Some(DigestForm::WordReversed), "{name}");
        assert_eq!(neff.header.hash[16..], [0; 16], "{name}");
        assert_eq!(neff.header.build_version(), "", "{name}");
        assert_eq!(neff.header.version_major, facts.major, "{name}");
        assert_eq!(neff.header.feature_bits, facts.features, "{name}");
        assert_eq!(neff.header.requested_tpb_count, 1, "{name}");
        assert_eq!((neff.header.tpb_per_node[0], neff.header.tpb_per_node[1..].iter().max()), (1, Some(&0)));
        assert_eq!(neff.generation, facts.target, "{name}");
        let cores = if facts.target == Generation::Sunda { 1 } else { 2 };
        assert_eq!(neff.header.virtual_core_size(), cores, "{name}");
        assert_eq!(neff.graphs.len(), cores as usize, "{name}");
        assert_eq!(neff.kelf.version, "0.5");

        let tensor = |t: &HostTensor| (t.name.clone(), t.dtype, t.shape.clone());
        let fact = |f: &(&str, Dtype, &[usize])| (f.0.to_owned(), f.1, f.2.to_vec());
        let inputs: Vec<_> = neff.inputs.iter().map(|b| tensor(&b.tensor)).collect();
        assert_eq!(inputs, facts.inputs.iter().map(fact).collect::<Vec<_>>(), "{name}");
        let outputs: Vec<_> = neff.outputs.iter().map(|b| tensor(&b.tensor)).collect();
        assert_eq!(outputs, [fact(&facts.output)], "{name}");

        let graph = &neff.graphs[0];
        let words = EngineId::ALL.map(|e| graph.words(e).len());
        assert_eq!(words, facts.words, "{name}");
        let mut expected = [facts.opcodes, &[0xA4, 0xB1]].concat();
        let common = |o: &u8| [0xA0, 0xA4, 0xB1, 0xCC].contains(o);
        expected.retain(|o| !common(o));
        let beyond: Vec<u8> = opcodes(graph).into_iter().filter(|o| !common(o)).collect();
        assert_eq!(beyond, expected, "{name}");
        let sets: Vec<&str> = graph.activation_sets.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(sets, facts.set.into_iter().collect::<Vec<_>>(), "{name}");
        // Only a program that loads a set names one.
        assert_eq!(beyond.contains(&op::ACTIVATION_TABLE_LOAD), facts.set.is_some(), "{name}");
        let fp8 = Fp8Config {
            range_extension: true,
            emax_e4m3: Some(8),
            emax_e5m2: Some(15),
            ocp_saturation: true,
            sis: false,
            sns: false,
        };
        assert_eq!(graph.def.fp8, facts.fp8.then_some(fp8), "{name}");
        let warned = neff.warnings.iter().any(|w| matches!(w, Warning::FeatureBits { .. }));
        assert_eq!(warned, facts.features != 0, "{name}");
        assert_eq!(neff.warnings.len(), usize::from(warned), "{name}: {:?}", neff.warnings);
    }
}

#[test]
fn vendor_graphs_have_the_compilers_shape() {
    for facts in &FACTS {
        let Some(file) = vendor(facts.name) else { continue };
        let name = facts.name;
        let neff = read(&file);
        for graph in &neff.graphs {
            let def = &graph.def;
            let buffer = def.state_buffer().expect(name);
            assert_eq!((buffer.id, buffer.name.as_str(), buffer.size), (0, "SB", None));
            assert_eq!((def.runtime_events, def.runtime_semaphores), (Some(12), Some(3)), "{name}");
            assert_eq!(def.collective_streams, 0, "{name}");
            let reserved = (facts.target == Generation::Cayman).then(|| vec![Reservation::CAYMAN]);
            assert_eq!(def.reservations, reserved, "{name}");
            assert_eq!(graph.engine(EngineId::Act).desc.act_semaphore, Some(12), "{name}");
            // Queues are in, data or dynamic, with 16 rings and 16 semaphores from S8 up in blocks of 16.
            for queue in &def.queues {
                assert!(
                    matches!(queue.kind, QueueKind::In | QueueKind::Data | QueueKind::Dynamic),
                    "{name} {queue:?}"
                );
                assert_eq!((queue.rings, queue.semaphore), (16, None), "{name}");
                let first = queue.semaphore_set[0];
                assert_eq!(first % 16, 8, "{name}");
                assert_eq!(queue.semaphore_set, (first..first + 16).collect::<Vec<u8>>(), "{name}");
                let software = queue.kind == QueueKind::Dynamic && queue.owner == EngineId::Pool;
                let scratch = software.then_some(ScratchRange { offset: 0, size: 16384 });
                assert_eq!(queue.scratch, scratch, "{name} {}", queue.name);
            }
            // Block i of a queue takes semaphore i mod 16 of its set.
            for block in graph.blocks() {
                let queue = def.queue(&block.queue).unwrap();
                let of_set = queue.semaphore_set[block.id as usize % 16];
                assert_eq!(block.semaphore, Some(of_set), "{name} {} {}", block.queue, block.id);
                let bare = DmaBlock { semaphore: None, ..block.clone() };
                assert_eq!(bare.completion_semaphore(queue), Some(of_set));
                assert_eq!(graph.block(&block.queue, block.id), Some(block));
            }
            for constant in &graph.constants {
                let variable = def.variable_by_id(constant.var_id).unwrap();
                assert_eq!(Some(constant.payload.len() as u64), variable.size, "{name}");
            }
        }
        // An idle second graph holds two words an engine: B1, CC.
        if let Some(second) = neff.graphs.get(1).filter(|_| name != "nkipy_matmul_small") {
            assert_eq!(EngineId::ALL.map(|e| second.words(e).len()), [2; 5], "{name}");
            assert_eq!(opcodes(second), [op::SET_ORDERING_MODE, op::PSEUDO_BRANCH_LABEL], "{name}");
        }
    }
}

#[test]
fn the_larger_convolutions_have_blocks_of_two_descriptors() {
    // Chapter 07 section 5.3: 1,531 real blocks have one descriptor, 4 have two; chapter 10 section 4: the
    // four belong to the two large convolutions. Casts go from int8 to the tensor's type.
    let mut counts = [0; 3];
    for facts in FACTS.iter().filter(|f| f.opcodes.contains(&0xC1)) {
        let Some(file) = vendor(facts.name) else { return };
        for graph in &read(&file).graphs {
            for block in graph.blocks() {
                counts[block.descriptors.len()] += 1;
                if block.descriptors.len() == 2 {
                    assert!(facts.name.starts_with("trn2_conv2d_4_float"), "{}", facts.name);
                }
                for descriptor in &block.descriptors {
                    let from = descriptor.sources[0].dtype.unwrap();
                    let cast = descriptor.op == DescriptorOp::Cast;
                    assert_eq!(cast, from == Dtype::INT8, "{}", facts.name);
                }
            }
        }
    }
    assert_eq!((counts[0], counts[2]), (0, 4));
}

/// Opcodes given as the manual writes them: `41-49 4D`.
fn opcode_list(text: &str) -> Vec<usize> {
    let byte = |text: &str| usize::from_str_radix(text, 16).unwrap();
    text.split(' ')
        .flat_map(|item| match item.split_once('-') {
            Some((first, last)) => byte(first)..=byte(last),
            None => byte(item)..=byte(item),
        })
        .collect()
}

#[test]
fn dve_tables_list_the_programs_of_each_compiler() {
    // Chapter 10 section 10.
    let v3 = "41-49 4D 4E 51-54 58 5E 60-66 69-6F 72 7F 82-84 8E 93 98-9B 9D 9E BC E5 E6 E8 E9 EA F0";
    let v2 = "41-49 4D 4E 51-54 58 5E 61-66 69-6F 72 7F 82-84 8C-8E 93 94 99 9D-9F E5 E8 EA F0-F2";
    for facts in &FACTS {
        let Some(file) = vendor(facts.name) else { continue };
        let mut expected = opcode_list(if facts.target == Generation::Sunda { v2 } else { v3 });
        if facts.target == Generation::Cayman && !facts.fp8 {
            expected.extend([0x4F, 0x5F, 0x70, 0x71]);
            expected.sort_unstable();
        }
        for graph in &read(&file).graphs {
            let programs = graph.dve_programs().unwrap();
            let listed: Vec<usize> = (0..256).filter(|o| programs[*o]).collect();
            assert_eq!(listed, expected, "{}", facts.name);
            let single = matches!(graph.dve_tables[0].control, DveControl::Single(_));
            assert_eq!(single, facts.target == Generation::Sunda);
        }
    }
}

#[test]
fn activation_sets_have_their_members() {
    for facts in FACTS.iter().filter(|f| f.set.is_some()) {
        let Some(file) = vendor(facts.name) else { continue };
        let neff = read(&file);
        let set = &neff.graphs[0].activation_sets()[0];
        let profile: serde_json::Value = serde_json::from_slice(&set.profile).unwrap();
        // 32 bytes an entry (chapter 10 section 9.1).
        assert_eq!(profile["bkt_entry_cnt"].as_u64(), Some(set.buckets.len() as u64 / 32), "{}", facts.name);
        assert_eq!(profile["ctl_entry_cnt"].as_u64(), Some(set.control.len() as u64 / 32), "{}", facts.name);
        // n is the suffix of `func_name`, e.g. exp_400p.
        assert!(set.functions.contains(&("exp".to_owned(), 400)), "{:?}", set.functions);
    }
}

#[test]
fn carved_sample_reads_as_described() {
    // The data's carved-sample/README.md, chapter 07 sections 2, 4.1 and 14: GNU tar, plain MD5.
    let Some(file) = data("carved-sample/repacked.neff") else { return };
    let neff = read(&file);
    assert_eq!(neff.digest, Some(DigestForm::Plain));
    assert_eq!(neff.header.name(), "x");
    assert_eq!(neff.kelf.target, None);
    assert_eq!(neff.generation, Generation::Cayman);
    let assumed = Warning::TargetAssumed { target: "*".to_owned(), generation: Generation::Cayman };
    assert_eq!(neff.warnings, [assumed]);
    let options = ReadOptions { generation: Some(Generation::Sunda), ..ReadOptions::default() };
    assert_eq!(Neff::read(&file, &options).unwrap().generation, Generation::Sunda);

    let paths: Vec<&str> = neff.archive.members().iter().map(|m| m.path.as_str()).collect();
    assert_eq!(paths.len(), 18);
    assert_eq!(paths[..4], ["kelf-a.json", "neff.json", "sg00/pe.json", "sg00/def.json"]);
    let shape = |name: &str| HostTensor { name: name.to_owned(), shape: vec![32], dtype: F32 };
    assert_eq!(neff.host.inputs, [shape("input")]);
    assert_eq!(neff.host.outputs, [shape("output")]);
    assert_eq!((&neff.inputs[0].variables, &neff.outputs[0].variables), (&vec![0], &vec![2]));

    let graph = &neff.graphs[0];
    assert_eq!(EngineId::ALL.map(|e| graph.words(e).len()), [1, 0, 3, 0, 0]);
    assert_eq!(graph.words(EngineId::Pe).next().unwrap().opcode(), 0xC8);
    let ids =
        ["input", "SB", "output", "gradient_in", "gradient_out"].map(|n| graph.def.variable(n).unwrap().id);
    assert_eq!(ids, [0, 1, 2, 3, 4]);
    assert_eq!(graph.def.variable("gradient_in").unwrap().size, Some(128));
    let gradient_in = graph.def.queue("q_gradient_in").unwrap();
    assert_eq!((gradient_in.owner, gradient_in.kind), (EngineId::Pool, QueueKind::In));
    assert_eq!((gradient_in.semaphore, gradient_in.rings), (Some(10), 1));
    assert_eq!(graph.def.queue("q_gradient_out").unwrap().kind, QueueKind::Out);
    let block = graph.block("q_gradient_out", 0).unwrap();
    assert_eq!(block.completion_semaphore(graph.def.queue("q_gradient_out").unwrap()), Some(11));
    assert_eq!(block.descriptors[0].op, DescriptorOp::Copy);
    assert_eq!(block.descriptors[0].sources[0].variable, "gradient_out");
    assert_eq!(block.descriptors[0].destination.sizes, [128, 1]);
    assert_eq!(graph.def.replica_groups, Some(vec![vec![]]));
    assert_eq!(graph.def.reservations, Some(vec![]));
    assert_eq!(graph.engine(EngineId::Act).desc.act_semaphore, Some(9));
}

#[test]
fn original_header_of_the_sample() {
    let Some(header) = data("carved-sample/header-original.bin") else { return };
    let error = Neff::read(&header, &ReadOptions::default()).unwrap_err();
    assert_eq!(kind(&error).0, "HeaderSizeBeyondFile");
    // With a payload of the right size, but not its bytes, only the digest is wrong.
    let file = [&header[..], &[0; 0x6AD]].concat();
    let error = Neff::read(&file, &ReadOptions::default()).unwrap_err();
    let NeffError::Digest { algorithm, stored, .. } = &error else { panic!("{error}") };
    assert_eq!((*algorithm, stored.as_str()), ("MD5", "61b3cab24369b326a2b3ee40a744c746"));
    let read = Header::read(&file, &mut Warnings::default()).unwrap();
    assert_eq!(read.to_bytes(), header[..]);
    assert_eq!(read.hash[16..], [0x30; 16]);
    assert_eq!(read.name(), "x");
    assert_eq!(read.build_version(), "2.0.21884.0%kaena-tools/develop@6c66f4b");
    assert_eq!(read.uuid_text(), "561826fb-125f-4bb8-991c-29e085c8949a");
}

#[test]
fn rewritten_vendor_containers_read_the_same() {
    let carved = ("carved".to_owned(), data("carved-sample/repacked.neff"));
    let vendor = VENDOR.map(|name| (name.to_owned(), vendor(name)));
    for (name, file) in vendor.into_iter().chain([carved]) {
        let Some(file) = file else { continue };
        let neff = read(&file);
        let written = neff.write();
        let again = read(&written);
        assert_eq!(again.archive.members(), neff.archive.members(), "{name}");
        let header =
            Header { data_size: again.header.data_size, hash: again.header.hash, ..neff.header.clone() };
        assert_eq!(again.header, header, "{name}");
        assert_eq!(again.digest, Some(DigestForm::WordReversed), "{name}");
        assert_eq!(again.host, neff.host, "{name}");
        assert_eq!(again.kelf, neff.kelf, "{name}");
        assert_eq!(again.graphs, neff.graphs, "{name}");
        assert_eq!((again.inputs, again.outputs), (neff.inputs, neff.outputs), "{name}");
        assert_eq!(again.warnings, neff.warnings, "{name}");
    }
}

#[test]
fn rebuilt_vendor_programs_are_the_same() {
    for name in VENDOR {
        let Some(file) = vendor(name) else { continue };
        let neff = read(&file);
        let built = NeffBuilder::from_neff(&neff).build(&ReadOptions::default()).unwrap();
        let again = read(&built.write());
        assert_eq!(again.graphs, neff.graphs, "{name}");
        assert_eq!(again.host, neff.host, "{name}");
        assert_eq!(again.kelf, neff.kelf, "{name}");
        assert_eq!((&again.inputs, &again.outputs), (&neff.inputs, &neff.outputs), "{name}");
        assert_eq!(again.archive.members().len(), neff.archive.members().len(), "{name}");
        assert_eq!(again.header.virtual_core_size(), neff.header.virtual_core_size(), "{name}");
    }
}
