//! What the container tests share: the test data, a container written by hand, and packing that does not
//! use the library's writer.

#![allow(dead_code)]

#[path = "../common/data.rs"]
mod data_file;

use std::io::Write;

use md5::{Digest, Md5};
use seqjit::neff::{NeffError, Rule};

/// Names of the vendor's containers in the test data.
pub const VENDOR: [&str; 12] = [
    "baseline_fp32_s512",
    "fused_bf16_s512",
    "fused_fp32_s512",
    "nkipy_matmul_small",
    "trn1_autocomp_1",
    "trn1_autocomp_2",
    "trn1_stream_add_256k_fd1k",
    "trn2_conv2d_4_float16",
    "trn2_conv2d_4_float32",
    "trn2_conv2d_4_float32_smaller",
    "trn2_stream_add_256k_fd1k",
    "trn2_transpose_1024",
];

/// A file of the test data.
pub fn data(path: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(data_file::data(path)?).unwrap())
}

/// A vendor container.
pub fn vendor(name: &str) -> Option<Vec<u8>> {
    data(&format!("neffs/{name}.neff"))
}

/// The members of a small valid container for CAYMAN that holds every variable type, queue type and
/// descriptor operation of chapter 07 section 5.
pub fn members() -> Vec<(String, Vec<u8>)> {
    let text = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
    let word = |opcode: u8| {
        let mut word = vec![0; 64];
        word[0] = opcode;
        word[1] = 0x10;
        word
    };
    let mut programs = vec![0_u8; 1024];
    programs[0x41 * 4] = 1;
    programs[0x46 * 4 + 3] = 0x80;
    vec![
        text("kelf-0.json", KELF),
        text("sg00/def.json", DEF),
        text("sg00/PE.json", r#"{"name": "PE.json", "instr": "PE.bin", "dma": []}"#),
        ("sg00/PE.bin".to_owned(), [word(0xB1), word(0xA4)].concat()),
        text("sg00/Activation.json", ACT),
        ("sg00/Activation.bin".to_owned(), word(0xA4)),
        text("sg00/Pool.json", POOL),
        ("sg00/Pool.bin".to_owned(), Vec::new()),
        text("sg00/DVE.json", DVE),
        ("sg00/DVE.bin".to_owned(), word(0xD4)),
        text("sg00/SP.json", SP),
        ("sg00/SP.bin".to_owned(), word(0xC1)),
        text("sg00/act_info.json", ACT_INFO),
        text("sg00/exp.json", "{}"),
        ("sg00/exp_bkt.bin".to_owned(), vec![1; 32]),
        ("sg00/exp_ctrl.bin".to_owned(), vec![2; 64]),
        ("sg00/opcode.bin".to_owned(), programs),
        ("sg00/datapath.bin".to_owned(), vec![3; 16]),
        ("sg00/fast.bin".to_owned(), vec![4; 8]),
        ("sg00/slow.bin".to_owned(), vec![5; 8]),
        ("sg00/w.npy".to_owned(), npy(1, "<V2", "(2, 4)", &[7; 16])),
        ("sg00/raw.bin".to_owned(), vec![9; 8]),
        text("notes/unknown.txt", "kept"),
        text("neff.json", HOST),
    ]
}

/// Tier 1: two inputs, one output.
pub const HOST: &str = r#"{
    "nodes": [
        {"op": "null", "name": "x", "inputs": [], "output_names": ["x"], "is_param": "0"},
        {"op": "null", "name": "b", "inputs": []},
        {"op": "tvm_op", "name": "kernel", "attrs": {"func_name": "__kelf", "kelf": "kelf-0.json"},
         "inputs": [[0, 0, 0], [1, 0, 0]], "output_names": ["y"]}
    ],
    "arg_nodes": [0, 1],
    "heads": [[2, 0, 0]],
    "attrs": {
        "shape": ["list_shape", [[128, 128], [4], [128, 128]]],
        "storage_id": ["list_int", [0, 1, 2]],
        "dltype": ["list_str", ["float32", "bfloat16", "float32"]]
    },
    "node_row_ptr": [0, 1, 2, 3]
}"#;

/// Tier 2.
pub const KELF: &str = r#"{"graphs": [{"definition": "sg00/def.json", "name": "sg00"}],
    "version": "0.5", "target": "cayman"}"#;

/// Tier 3.
pub const DEF: &str = r##"{
    "version": "0.6", "name": "definition",
    "pe": "PE.json", "act": "Activation.json", "pool": "Pool.json", "dve": "DVE.json", "sp": "SP.json",
    "pe_instr": "PE.bin", "debug_info": {}, "#rank_world_size": 0, "unknown_key": [1, {"a": null}],
    "cc_streams": {"num_streams": 0},
    "neff_features": ["neff_feature_vnc"],
    "runtime_event_count": 12, "runtime_semaphore_count": 3,
    "replica_groups": [[], [0, 1]],
    "src_target_pairs": [[[0, 1]]],
    "runtime_statebuffer_reservation":
        [{"type": "evtaccel", "base_partition": 0, "partitions": 128, "offset": 229368, "size": 8}],
    "fp8_conversion_config": {"emax_fp8_e4m3": 8, "emax_fp8_e5m2": 15, "fp8_range_extension": true,
        "fp8_sis": false, "fp8_sns": false, "ocp_sat": true},
    "ucode_lib": [{"library": "ops.so", "ulib_to_ucode_version": "1.2", "opcode": 240, "cpu_id": 0,
        "total_cpus": 8, "functions": [{"name": "f", "opcode": 240, "sub_opcode": 3}]}],
    "var": {
        "SB": {"type": "state-buffer", "var_id": 0},
        "x": {"type": "input", "var_id": 1, "size": 65536, "ops": [], "#transfer-type": "input"},
        "y": {"type": "output", "var_id": 2, "size": 65536, "#file-name": "value_y.npy"},
        "b": {"type": "input", "var_id": 3, "size": 8, "element_size": 2, "internal_shape": [1, 1, 1, 4]},
        "tmp": {"type": "tmp-buf", "var_id": 4, "size": 16384, "alignment": 64, "dtype": "float32",
            "shape": [64, 64], "framework_shape": [4096]},
        "w": {"type": "file", "var_id": 5, "size": 16, "file_name": "w.npy", "fabric_path": "main"},
        "raw": {"type": "file", "var_id": 6, "size": 8, "file_name": "raw.bin"},
        "ptr": {"type": "pointer", "var_id": 7, "size": 8, "referenced_var_id": 4},
        "scratch": {"type": "virtual", "var_id": 8, "size": 1000, "backing_variable_off": 24},
        "alias": {"type": "virtual", "var_id": 9, "size": 16, "backing_buf": "tmp",
            "backing_variable_off": 16368},
        "table": {"type": "dge-table", "var_id": 10, "list": [1, 2]},
        "ptrs": {"type": "list", "var_id": 11, "list": [4]},
        "peer": {"type": "remote", "var_id": 12},
        "both": {"type": "shared", "var_id": 13, "size": 4},
        "part": {"type": "sharded", "var_id": 14},
        "host": {"type": "main", "var_id": 15}
    },
    "dma_queue": {
        "q_in": {"type": "in", "owner": "sp", "num_queues": 16, "semaphore_set": [8, 9, 10]},
        "q_out": {"type": "out", "owner": "pool", "semaphore": 30},
        "q_data": {"type": "data", "owner": "act", "semaphore": 31, "queue_instances": ["a", "b"],
            "pinned": 1, "dge": true},
        "q_ind": {"type": "data", "owner": "pe", "indirect_memcpy": true},
        "q_dyn": {"type": "dynamic", "owner": "dve", "num_queues": 16,
            "dynamic_dma": {"SB_scratch_partition_offset": 0, "SB_scratch_partition_size": 16384}},
        "q_act": {"type": "act_load", "owner": "act", "num_queues": 1},
        "q_emb": {"type": "embedding_update", "owner": "pool", "embedding_update_sync_semaphore": 40}
    }
}"##;

/// The ACT description.
pub const ACT: &str = r#"{"name": "Activation.json", "instr": "Activation.bin", "dma": [],
    "act_info": "act_info.json", "act_semaphore": 12, "activation_function_sets": ["exp"]}"#;

/// The list of table sets.
pub const ACT_INFO: &str = r#"{"act_func_sets": [
    {"name": "other", "bkt_bin": "none_bkt.bin", "ctrl_bin": "none_ctrl.bin", "profile_json": "none.json"},
    {"name": "exp", "bkt_bin": "exp_bkt.bin", "ctrl_bin": "exp_ctrl.bin", "profile_json": "exp.json",
     "act": {"exp": 400, "copy": 1}}]}"#;

/// The DVE description.
pub const DVE: &str = r#"{"name": "DVE.json", "instr": "DVE.bin", "dma": [],
    "dve_tables": [{"opcode_table": "opcode.bin", "datapath_table": "datapath.bin",
        "control_fast_table": "fast.bin", "control_slow_table": "slow.bin"}]}"#;

/// The POOL description: one block with every key.
pub const POOL: &str = r##"{"name": "Pool.json", "instr": "Pool.bin", "dma": [
    {"#comment": "all keys", "id": 7, "queue": "q_out", "semaphore": 33, "instance_name": "a",
     "priority_class": 4, "remote_semaphores": [50, 51], "function_start": true, "section_start_desc": 1,
     "desc": []}]}"##;

/// The SP description: one block with every operation. The transpose is the example of chapter 07 section
/// 5.3.
pub const SP: &str = r#"{"name": "SP.json", "instr": "SP.bin", "dma": [
    {"id": 0, "queue": "q_in", "desc": [
        {"from": "SB", "from_off": 16384, "from_sizes": [512, 128], "from_steps": [1, 262144],
         "to": "y", "to_off": 0, "to_sizes": [512, 128], "to_steps": [1, 512]},
        {"op": "cast", "from": "tmp", "from_sizes": [128, 128], "from_steps": [1, 128], "from_dtype": "int8",
         "to": ["SB"], "to_sizes": [512, 128], "to_steps": [1, 262144], "to_dtype": "float32",
         "num_tiling_dimensions": 1},
        {"op": "fma", "from": ["x", "y"], "from_off": [0, 64], "from_sizes": [64], "from_steps": [1],
         "from_dtype": "float32", "scale": [0.5, 2], "scale_dtype": "float32",
         "to": "tmp", "to_sizes": [32], "to_steps": [1], "to_dtype": "bfloat16"},
        {"op": "add", "from_arr": ["x", "y"], "from_off": 8, "from_sizes": [64], "from_steps": [1],
         "from_dtype": "float32", "to": "tmp", "to_sizes": [64], "to_steps": [1], "to_dtype": "float32"},
        {"op": "min", "from": ["x"], "from_sizes": [4], "from_steps": [1], "from_dtype": "float32",
         "constant": 1.5, "constant_dtype": "float32",
         "to": "tmp", "to_sizes": [4], "to_steps": [1], "to_dtype": "float32"},
        {"op": "max", "from": "x", "from_sizes": [4], "from_steps": [1], "from_dtype": "float32",
         "to": "tmp", "to_off": 16380, "to_sizes": [4], "to_steps": [1], "to_dtype": "float32"},
        {"transpose_op": "WZXY", "transpose_shape": [1, 1, 128, 64], "transpose_element_size": 4,
         "num_tiling_dimensions": 2,
         "from": "x", "from_sizes": [256, 128, 2, 1], "from_steps": [1, 512, 256, 65536],
         "to": "SB", "to_sizes": [512, 64, 2, 1], "to_steps": [1, 262144, 16777216, 512]}
    ]},
    {"id": 1, "queue": "q_in", "desc": [
        {"op": "copy", "from": "b", "from_off": 7, "from_sizes": [8], "from_steps": [-1],
         "to": "b", "to_sizes": [8], "to_steps": [1]}]}]}"#;

/// A numpy file of the given format.
pub fn npy(format: u8, descr: &str, shape: &str, payload: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    npy_with_header(format, &header, payload)
}

/// A numpy file with this header text.
pub fn npy_with_header(format: u8, header: &str, payload: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([format, 0]);
    match format {
        1 => file.extend((header.len() as u16).to_le_bytes()),
        _ => file.extend((header.len() as u32).to_le_bytes()),
    }
    file.extend(header.as_bytes());
    file.extend(payload);
    file
}

/// A ustar header with its checksum.
pub fn tar_header(path: &[u8], kind: u8, size: u64) -> [u8; 512] {
    let mut header = [0; 512];
    header[..path.len()].copy_from_slice(path);
    header[100..108].copy_from_slice(b"0000644\0");
    header[108..116].copy_from_slice(b"0000000\0");
    header[116..124].copy_from_slice(b"0000000\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    set_checksum(&mut header);
    header
}

/// Makes the checksum of a changed header right again.
pub fn set_checksum(header: &mut [u8]) {
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header[..512].iter().map(|b| u32::from(*b)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// A tar entry: header, data, padding.
pub fn tar_entry(path: &[u8], kind: u8, contents: &[u8]) -> Vec<u8> {
    let mut entry = tar_header(path, kind, contents.len() as u64).to_vec();
    entry.extend(contents);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// A tar of regular files with its end.
pub fn tar(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar: Vec<u8> =
        members.iter().flat_map(|(path, contents)| tar_entry(path.as_bytes(), b'0', contents)).collect();
    tar.extend([0; 1024]);
    tar
}

/// One gzip member.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A package-2 file around a stored payload, with its plain MD5.
pub fn file(stored: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 1024];
    file[0] = 2;
    file[9] = 4;
    file[16..24].copy_from_slice(&(stored.len() as u64).to_le_bytes());
    file[24] = 2;
    file[0xAC..0xBC].copy_from_slice(&Md5::digest(stored));
    file[0x228] = 1;
    file.extend(stored);
    file
}

/// A package-2 file around a tar.
pub fn pack(tar: &[u8]) -> Vec<u8> {
    file(&gzip(tar))
}

/// The hand-written container with one member replaced, or added.
pub fn with_member(path: &str, contents: &[u8]) -> Vec<u8> {
    let mut all = members();
    match all.iter_mut().find(|(p, _)| p == path) {
        Some((_, old)) => *old = contents.to_vec(),
        None => all.push((path.to_owned(), contents.to_vec())),
    }
    pack(&tar(&all))
}

/// The hand-written container without a member.
pub fn without_member(path: &str) -> Vec<u8> {
    let mut all = members();
    let before = all.len();
    all.retain(|(p, _)| p != path);
    assert_eq!(all.len(), before - 1, "{path}");
    pack(&tar(&all))
}

/// The hand-written container with the first `from` in a text member replaced.
pub fn with_text(path: &str, from: &str, to: &str) -> Vec<u8> {
    let all = members();
    let (_, old) = all.iter().find(|(p, _)| p == path).unwrap();
    let old = String::from_utf8(old.clone()).unwrap();
    assert!(old.contains(from), "{path} has no {from}");
    with_member(path, old.replacen(from, to, 1).as_bytes())
}

/// The name of an error's variant, and its rule.
pub fn kind(error: &NeffError) -> (String, Option<Rule>) {
    let rule = match error {
        NeffError::Rule { rule, .. } => Some(*rule),
        _ => None,
    };
    let debug = format!("{error:?}");
    (debug.split([' ', '{']).next().unwrap().to_owned(), rule)
}
