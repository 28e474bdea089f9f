//! Programs that break a rule of the JSON tiers: each is refused by the rule it breaks, with the member, the
//! JSON path and the byte of the offending value (chapter 07 sections 4 to 7 and 15, items 3 to 7, 9, 10).

mod neff_support;

use neff_support::*;
use seqjit::neff::*;
use seqjit_runtime::isa::Generation;

/// What an edit is refused for.
#[derive(Clone, Copy)]
enum Why {
    /// A rule.
    Broken(Rule),
    /// The wrong JSON type.
    Type,
    /// This key is missing.
    Missing(&'static str),
    /// Table B of chapter 00.
    Unsupported,
}
use Why::*;

/// An edit of one member: old text, new text, why it is refused, path and first text of the place.
type Edit = (&'static str, &'static str, Why, &'static str, &'static str);

fn refuse(file: &[u8], options: &ReadOptions) -> NeffError {
    match Neff::read(file, options) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

/// Holds an error to an edit's expectation.
fn check(error: &NeffError, member: &str, text: &str, (from, to, why, path, seen): Edit) {
    let case = format!("{from} -> {to}: {error}");
    let at = match (why, error) {
        (Broken(expected), NeffError::Rule { rule, at, .. }) => {
            assert_eq!(*rule, expected, "{case}");
            at
        }
        (Type, NeffError::JsonType { at, .. }) => at,
        (Unsupported, NeffError::Unsupported { at, .. }) => at,
        (Missing(expected), NeffError::JsonMissing { at, key, .. }) => {
            assert_eq!(key, expected, "{case}");
            at
        }
        _ => panic!("{case}"),
    };
    assert_eq!((at.member.as_str(), at.path.as_str()), (member, path), "{case}");
    assert!(text[at.offset..].starts_with(seen), "{case}: there stands {}", &text[at.offset..]);
    assert!(error.to_string().contains("expected ") || matches!(why, Unsupported), "{case}");
}

fn check_all(member: &str, edits: &[Edit]) {
    let all = members();
    let (_, old) = all.iter().find(|(path, _)| path == member).unwrap();
    let old = String::from_utf8(old.clone()).unwrap();
    for edit in edits {
        let file = with_text(member, edit.0, edit.1);
        let text = old.replacen(edit.0, edit.1, 1);
        check(&refuse(&file, &ReadOptions::default()), member, &text, *edit);
    }
}

#[test]
#[rustfmt::skip]
fn host_graph_rules() {
    check_all("neff.json", &[
        (r#""nodes""#, r#""n0des""#, Missing("nodes"), "", "{"),
        (r#""arg_nodes""#, r#""args""#, Missing("arg_nodes"), "", "{"),
        (r#""heads""#, r#""head""#, Missing("heads"), "", "{"),
        (r#""node_row_ptr""#, r#""row_ptr""#, Missing("node_row_ptr"), "", "{"),
        ("\"attrs\": {\n", "\"attr\": {\n", Missing("attrs"), "", "{"),
        (r#""shape""#, r#""shapes""#, Missing("shape"), "attrs", "{\n"),
        (r#""dltype""#, r#""dtype""#, Missing("dltype"), "attrs", "{\n"),
        (r#"["list_shape", [[128, 128], [4], [128, 128]]]"#, r#"["list_shape"]"#, Type, "attrs.shape", r#"["list_shape"]"#),
        ("[4]", "[-4]", Type, "attrs.shape[1][1][0]", "-4"),
        ("[4]", "[4.0]", Type, "attrs.shape[1][1][0]", "4.0"),
        ("[4]", "[\"4\"]", Type, "attrs.shape[1][1][0]", "\"4\""),
        ("[4]", "4", Type, "attrs.shape[1][1]", "4,"),
        ("[4]", "[4294967296, 4294967296]", Broken(Rule::TensorShape), "arg_nodes[1]", "1]"),
        ("[4]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]", Broken(Rule::TensorShape), "arg_nodes[1]", "1]"),
        (r#""bfloat16""#, "7", Type, "attrs.dltype[1][1]", "7"),
        (r#""__kelf""#, r#""__other""#, Broken(Rule::KernelNode), "nodes", "["),
        (r#""kelf": "kelf-0.json""#, r#""kelf": 5"#, Type, "nodes[2].attrs.kelf", "5"),
        (r#", "kelf": "kelf-0.json""#, "", Missing("kelf"), "nodes[2].attrs", "{"),
        (r#""inputs": []}"#, r#""inputs": [], "attrs": {"func_name": "__kelf", "kelf": "k"}}"#, Broken(Rule::KernelNode), "nodes[2]", "{"),
        (r#""arg_nodes": [0, 1]"#, r#""arg_nodes": [0, 3]"#, Broken(Rule::EntryId), "arg_nodes[1]", "3"),
        (r#""arg_nodes": [0, 1]"#, r#""arg_nodes": [0, 0]"#, Broken(Rule::TensorName), "nodes[0]", "{"),
        (r#""arg_nodes": [0, 1]"#, r#""arg_nodes": {}"#, Type, "arg_nodes", "{}"),
        ("[[2, 0, 0]]", "[[3, 0, 0]]", Broken(Rule::EntryId), "heads[0][0]", "3"),
        ("[[2, 0, 0]]", "[[2, 1, 0]]", Broken(Rule::EntryId), "heads[0]", "[2"),
        ("[[2, 0, 0]]", "[[2]]", Type, "heads[0]", "[2]"),
        ("[[2, 0, 0]]", "[2]", Type, "heads[0]", "2"),
        ("[0, 1, 2, 3]", "[0, 1, 3, 3]", Broken(Rule::EntryId), "heads[0]", "[2"),
        ("[0, 1, 2, 3]", "[0, 1]", Broken(Rule::EntryId), "heads[0]", "[2"),
        ("[0, 1, 2, 3]", "[0, 18446744073709551615]", Broken(Rule::EntryId), "arg_nodes[1]", "1]"),
    ]);
    // Two heads of one name and different shape.
    let file = with_text("neff.json", "[[2, 0, 0]]", "[[2, 0, 0], [1, 0, 0]]");
    let error = refuse(&file, &ReadOptions::default());
    assert_eq!(kind(&error).1, Some(Rule::HostBinding), "{error}");
    let text = HOST.replacen(r#"["y"]}"#, r#"["y", "y"]}"#, 1).replacen("[[2, 0, 0]]", "[[2, 0, 0], [2, 1, 0]]", 1);
    let text = text.replacen("[128, 128]]]", "[128, 128], [7]]]", 1).replacen("\"float32\"]]", "\"float32\", \"float32\"]]", 1);
    let error = refuse(&with_member("neff.json", text.as_bytes()), &ReadOptions::default());
    check(&error, "neff.json", &text, ("two heads", "one name", Broken(Rule::TensorName), "heads[1]", "[2, 1"));
}

#[test]
#[rustfmt::skip]
fn kelf_rules() {
    check_all("kelf-0.json", &[
        (r#""0.5""#, r#""05""#, Broken(Rule::KelfVersion), "version", "\"05\""),
        (r#""0.5""#, "0.5", Type, "version", "0.5"),
        (r#""version""#, r#""v""#, Missing("version"), "", "{"),
        (r#""graphs""#, r#""g""#, Missing("graphs"), "", "{"),
        (r#"[{"definition": "sg00/def.json", "name": "sg00"}]"#, "[]", Broken(Rule::GraphName), "graphs", "[]"),
        (r#", "name": "sg00""#, "", Missing("name"), "graphs[0]", "{"),
        (r#""definition""#, r#""def""#, Missing("definition"), "graphs[0]", "{"),
        (r#"{"definition""#, r#"{"definition": "sg00/def.json", "name": "other"}, {"definition""#, Broken(Rule::GraphName), "graphs[1]", "{"),
        (r#"{"definition""#, r#"{"definition": "x/def.json", "name": "sg00"}, {"definition""#, Broken(Rule::GraphName), "graphs[1]", "{"),
        (r#""cayman""#, r#""tonga""#, Broken(Rule::Target), "target", "\"tonga\""),
        (r#""cayman""#, r#""Cayman""#, Broken(Rule::Target), "target", "\"Cayman\""),
        (r#""cayman""#, "3", Type, "target", "3"),
    ]);
    let options = ReadOptions { generation: Some(Generation::Mariana), ..ReadOptions::default() };
    let error = refuse(&pack(&tar(&members())), &options);
    let NeffError::WrongGeneration { at, target, expected } = &error else { panic!("{error}") };
    assert_eq!((at.path.as_str(), target.as_str(), *expected), ("target", "cayman", Generation::Mariana));
    let mut options = ReadOptions::default();
    options.limits.graphs = 0;
    assert_eq!(kind(&refuse(&pack(&tar(&members())), &options)).1, Some(Rule::GraphName));
    // No target, or an empty one, is the oldest generation, which has other DVE tables.
    for text in [r#", "target": """#, ""] {
        let error = refuse(&with_text("kelf-0.json", r#", "target": "cayman""#, text), &ReadOptions::default());
        assert!(error.to_string().contains("sunda"), "{error}");
    }
}

#[test]
#[rustfmt::skip]
fn variable_rules() {
    check_all("sg00/def.json", &[
        (r#""var": {"#, r#""vars": {"#, Missing("var"), "", "{"),
        (r#""type": "state-buffer", "#, "", Missing("type"), "var.SB", "{"),
        (r#""type": "state-buffer""#, r#""type": "state""#, Broken(Rule::VariableType), "var.SB.type", "\"state\""),
        (r#""type": "state-buffer""#, r#""type": 1"#, Type, "var.SB.type", "1"),
        (r#""var_id": 15"#, r#""var_id": 16"#, Broken(Rule::VariableId), "var.host.var_id", "16"),
        (r#""var_id": 15"#, r#""var_id": 0"#, Broken(Rule::VariableId), "var.host.var_id", "0"),
        (r#""type": "input", "var_id": 1"#, r#""type": "input", "var_id": -1"#, Type, "var.x.var_id", "-1"),
        (r#""type": "input", "var_id": 1"#, r#""type": "input", "var_id": 4294967296"#, Type, "var.x.var_id", "4294967296"),
        (r#""type": "input", "var_id": 1"#, r#""type": "input""#, Missing("var_id"), "var.x", "{"),
        (r#""var_id": 1, "size": 65536"#, r#""var_id": 1, "size": 0"#, Broken(Rule::VariableSize), "var.x.size", "0"),
        (r#""var_id": 1, "size": 65536"#, r#""var_id": 1, "size": -5"#, Type, "var.x.size", "-5"),
        (r#""var_id": 1, "size": 65536"#, r#""var_id": 1, "size": "65536""#, Type, "var.x.size", "\"65536\""),
        (r#""var_id": 1, "size": 65536"#, r#""var_id": 1"#, Missing("size"), "var.x", "{"),
        (r#""var_id": 8, "size": 1000"#, r#""var_id": 8"#, Missing("size"), "var.scratch", "{"),
        (r#""var_id": 7, "size": 8"#, r#""var_id": 7, "size": 4"#, Broken(Rule::VariableSize), "var.ptr.size", "4"),
        (r#""type": "output""#, r#""type": "tmp-buf""#, Broken(Rule::NoOutput), "var", "{"),
        (r#""alignment": 64"#, r#""alignment": 48"#, Broken(Rule::Alignment), "var.tmp.alignment", "48"),
        (r#""alignment": 64"#, r#""alignment": 0"#, Broken(Rule::Alignment), "var.tmp.alignment", "0"),
        (r#""dtype": "float32""#, r#""dtype": "float64""#, Broken(Rule::DtypeName), "var.tmp.dtype", "\"float64\""),
        (r#""shape": [64, 64]"#, r#""shape": [1, 1, 1, 1, 1, 1, 1, 1, 4096]"#, Broken(Rule::Dimensions), "var.tmp.shape", "[1"),
        (r#""shape": [64, 64]"#, r#""shape": 4096"#, Type, "var.tmp.shape", "4096"),
        (r#""file_name": "w.npy", "#, "", Missing("file_name"), "var.w", "{"),
        (r#""file_name": "w.npy""#, r#""file_name": null"#, Type, "var.w.file_name", "null"),
        (r#""referenced_var_id": 4"#, r#""referenced_var_id": 16"#, Broken(Rule::VariableReference), "var.ptr.referenced_var_id", "16"),
        (r#""list": [1, 2]"#, r#""list": [1, 99]"#, Broken(Rule::VariableReference), "var.table.list", "[1, 99]"),
        (r#""list": [4]"#, r#""list": [16]"#, Broken(Rule::VariableReference), "var.ptrs.list", "[16]"),
        (r#", "list": [4]"#, "", Missing("list"), "var.ptrs", "{"),
        (r#""list": [4]"#, r#""list": ["tmp"]"#, Type, "var.ptrs.list[0]", "\"tmp\""),
        (r#""backing_buf": "tmp""#, r#""backing_buf": "nothing""#, Broken(Rule::BackingBuffer), "var.alias.backing_buf", "\"nothing\""),
        (r#""backing_variable_off": 16368"#, r#""backing_variable_off": 16369"#, Broken(Rule::BackingBuffer), "var.alias.backing_variable_off", "16369"),
        (r#""backing_variable_off": 16368"#, r#""backing_variable_off": 18446744073709551615"#, Broken(Rule::BackingBuffer), "var.alias.backing_variable_off", "18446744073709551615"),
        (r#""size": 16, "backing_buf": "tmp""#, r#""size": 33538065, "backing_buf": "SB""#, Broken(Rule::BackingBuffer), "var.alias.backing_variable_off", "16368"),
        (r#""backing_variable_off": 24"#, r#""backing_variable_off": 68719476736"#, Broken(Rule::DeviceMemory), "var", "{"),
        (r#""backing_variable_off": 24"#, r#""backing_variable_off": 18446744073709551615"#, Broken(Rule::DeviceMemory), "var", "{"),
        (r#""size": 16384"#, r#""size": 18446744073709551615"#, Broken(Rule::DeviceMemory), "var", "{"),
        (r#""var_id": 13, "size": 4"#, r#""var_id": 13, "size": 68719476736"#, Broken(Rule::DeviceMemory), "var", "{"),
    ]);
}

#[test]
fn aliases_that_come_back_are_refused() {
    // alias -> scratch -> alias, both large enough to hold each other.
    let text = DEF
        .replacen(r#""backing_variable_off": 24"#, r#""backing_variable_off": 0, "backing_buf": "alias""#, 1)
        .replacen(r#""size": 16, "backing_buf": "tmp""#, r#""size": 1000, "backing_buf": "scratch""#, 1)
        .replacen(r#""backing_variable_off": 16368"#, r#""backing_variable_off": 0"#, 1);
    let error = refuse(&with_member("sg00/def.json", text.as_bytes()), &ReadOptions::default());
    let edit = ("alias", "circle", Broken(Rule::BackingBuffer), "var.scratch.backing_buf", "\"alias\"");
    check(&error, "sg00/def.json", &text, edit);
    assert!(error.to_string().contains("comes back"), "{error}");
}

#[test]
fn a_long_chain_of_aliases_takes_no_time() {
    let variables: Vec<String> = (0..20_000)
        .map(|i| {
            format!(
                r#""v{i}": {{"type": "virtual", "var_id": {}, "size": 1, "backing_buf": "v{}"}}"#,
                i + 16,
                i + 1
            )
        })
        .chain([r#""v20000": {"type": "tmp-buf", "var_id": 20016, "size": 1}"#.to_owned()])
        .collect();
    let host = r#""host": {"type": "main", "var_id": 15}"#;
    let text = DEF.replacen(host, &format!("{host}, {}", variables.join(", ")), 1);
    let neff = Neff::read(&with_member("sg00/def.json", text.as_bytes()), &ReadOptions::default()).unwrap();
    assert_eq!(neff.graphs[0].def.variables.len(), 16 + 20_001);
}

#[test]
#[rustfmt::skip]
fn queue_rules() {
    check_all("sg00/def.json", &[
        (r#""type": "in", "owner": "sp""#, r#""type": "in""#, Missing("owner"), "dma_queue.q_in", "{"),
        (r#""owner": "sp""#, r#""owner": "SP""#, Broken(Rule::QueueOwner), "dma_queue.q_in.owner", "\"SP\""),
        (r#""owner": "sp""#, r#""owner": "gpsimd""#, Broken(Rule::QueueOwner), "dma_queue.q_in.owner", "\"gpsimd\""),
        (r#""type": "in", "#, "", Missing("type"), "dma_queue.q_in", "{"),
        (r#""type": "in", "#, r#""type": "ring", "#, Broken(Rule::QueueType), "dma_queue.q_in.type", "\"ring\""),
        (r#""num_queues": 16, "semaphore_set""#, r#""num_queues": 0, "semaphore_set""#, Broken(Rule::QueueRings), "dma_queue.q_in.num_queues", "0"),
        (r#""num_queues": 1}"#, r#""num_queues": 2}"#, Broken(Rule::QueueRings), "dma_queue.q_act.num_queues", "2"),
        ("[8, 9, 10]", "[8, 256]", Broken(Rule::Semaphore), "dma_queue.q_in.semaphore_set[1]", "256"),
        ("[8, 9, 10]", "[8, -1]", Type, "dma_queue.q_in.semaphore_set[1]", "-1"),
        ("[8, 9, 10]", "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32]", Broken(Rule::SemaphoreSet), "dma_queue.q_in.semaphore_set", "[0"),
        (r#""semaphore": 30"#, r#""semaphore": 300"#, Broken(Rule::Semaphore), "dma_queue.q_out.semaphore", "300"),
        (r#""semaphore": 30"#, r#""semaphore": 30, "queue_instances": ["i"]"#, Broken(Rule::QueueInstances), "dma_queue.q_out.queue_instances", "[\"i\"]"),
        (r#""pinned": 1"#, r#""pinned": 2"#, Type, "dma_queue.q_data.pinned", "2"),
        (r#""indirect_memcpy": true"#, r#""indirect_memcpy": "yes""#, Type, "dma_queue.q_ind.indirect_memcpy", "\"yes\""),
        (r#", "SB_scratch_partition_size": 16384"#, "", Missing("SB_scratch_partition_size"), "dma_queue.q_dyn.dynamic_dma", "{"),
        (r#", "embedding_update_sync_semaphore": 40"#, "", Missing("embedding_update_sync_semaphore"), "dma_queue.q_emb", "{"),
        (r#""embedding_update_sync_semaphore": 40"#, r#""embedding_update_sync_semaphore": 256"#, Broken(Rule::Semaphore), "dma_queue.q_emb.embedding_update_sync_semaphore", "256"),
        (r#""type": "embedding_update""#, r#""type": "act_load""#, Broken(Rule::QueueType), "dma_queue.q_emb.type", "\"act_load\""),
        // The DVE's stream has a D4 word: one dynamic queue, not none and not two.
        (r#""type": "dynamic", "owner": "dve""#, r#""type": "dynamic", "owner": "pe""#, Broken(Rule::DynamicQueue), "dma_queue", "{"),
        (r#""q_act":"#, r#""q_dyn2": {"type": "dynamic", "owner": "dve"}, "q_act":"#, Broken(Rule::DynamicQueue), "dma_queue", "{"),
        (r#""q_act":"#, r#""d1": {"type": "data", "owner": "pe", "dge": 1}, "d2": {"type": "data", "owner": "pe", "dge": 1}, "q_act":"#, Broken(Rule::DgeQueues), "dma_queue", "{"),
        (r#""dma_queue": {"#, r#""dma_queue": [], "old": {"#, Type, "dma_queue", "[]"),
    ]);
    let name = "q".repeat(256);
    let error = refuse(&with_text("sg00/def.json", "q_act", &name), &ReadOptions::default());
    assert_eq!(kind(&error).1, Some(Rule::NameLength), "{error}");
}

#[test]
#[rustfmt::skip]
fn block_rules() {
    check_all("sg00/SP.json", &[
        (r#""queue": "q_in", "#, "", Missing("queue"), "dma[0]", "{"),
        (r#""id": 0, "#, "", Missing("id"), "dma[0]", "{"),
        (r#""queue": "q_in""#, r#""queue": "q_none""#, Broken(Rule::BlockQueue), "dma[0].queue", "\"q_none\""),
        (r#""id": 1"#, r#""id": 0"#, Broken(Rule::BlockId), "dma[1].id", "0"),
        (r#""id": 1"#, r#""id": 4294967296"#, Type, "dma[1].id", "4294967296"),
        (r#""id": 1"#, r#""id": 1, "semaphore": 256"#, Broken(Rule::Semaphore), "dma[1].semaphore", "256"),
        (r#""id": 1"#, r#""id": 1, "priority_class": 5"#, Broken(Rule::PriorityClass), "dma[1].priority_class", "5"),
        (r#""id": 1"#, r#""id": 1, "function_start": 2"#, Type, "dma[1].function_start", "2"),
        (r#""id": 1"#, r#""id": 1, "remote_semaphores": [{}]"#, Type, "dma[1].remote_semaphores[0]", "{}"),
        (r#""from": "SB", "#, "", Missing("from"), "dma[0].desc[0]", "{"),
        (r#""from": "SB""#, r#""from": "nowhere""#, Broken(Rule::VariableReference), "dma[0].desc[0].from", "\"nowhere\""),
        (r#""from": "SB""#, r#""from": []"#, Broken(Rule::SourceCount), "dma[0].desc[0].from", "[]"),
        (r#""from": "SB""#, r#""from": ["SB", "SB"]"#, Broken(Rule::SourceCount), "dma[0].desc[0].from", "[\"SB\""),
        (r#""to": "y", "#, "", Missing("to"), "dma[0].desc[0]", "{"),
        (r#""to": "y""#, r#""to": "nowhere""#, Broken(Rule::VariableReference), "dma[0].desc[0].to", "\"nowhere\""),
        (r#""to": "y""#, r#""to": ["y", "y"]"#, Type, "dma[0].desc[0].to", "[\"y\""),
        (r#""from_sizes": [512, 128], "#, "", Missing("from_sizes"), "dma[0].desc[0]", "{"),
        (r#""from_sizes": [512, 128]"#, r#""from_sizes": []"#, Broken(Rule::Pattern), "dma[0].desc[0].from_sizes", "[]"),
        (r#""from_sizes": [512, 128]"#, r#""from_sizes": [512, 0]"#, Broken(Rule::Pattern), "dma[0].desc[0].from_sizes", "[512, 0]"),
        (r#""from_sizes": [512, 128]"#, r#""from_sizes": [1,1,1,1,1,1,1,1,1]"#, Broken(Rule::Pattern), "dma[0].desc[0].from_sizes", "[1"),
        (r#""from_sizes": [512, 128]"#, r#""from_sizes": [512]"#, Broken(Rule::Pattern), "dma[0].desc[0].from_steps", "[1, 262144]"),
        (r#""from_sizes": [512, 128]"#, r#""from_sizes": [18446744073709551615, 2]"#, Broken(Rule::Pattern), "dma[0].desc[0].from_sizes", "[18446744073709551615"),
        (r#""from_sizes": [512, 128]"#, r#""from_sizes": [512, 129]"#, Broken(Rule::OutsideVariable), "dma[0].desc[0].from_sizes", "[512, 129]"),
        (r#""from_steps": [1, 262144]"#, r#""from_steps": [1, -262144]"#, Broken(Rule::OutsideVariable), "dma[0].desc[0].from_sizes", "[512, 128]"),
        (r#""from_steps": [1, 262144]"#, r#""from_steps": [1, 0.5]"#, Type, "dma[0].desc[0].from_steps[1]", "0.5"),
        (r#""from_off": 16384"#, r#""from_off": 262144"#, Broken(Rule::OutsideVariable), "dma[0].desc[0].from_sizes", "[512, 128]"),
        (r#""from_off": 16384"#, r#""from_off": 18446744073709551615"#, Broken(Rule::OutsideVariable), "dma[0].desc[0].from_sizes", "[512, 128]"),
        (r#""from_off": 16384"#, r#""from_off": -1"#, Type, "dma[0].desc[0].from_off", "-1"),
        (r#""to_off": 0"#, r#""to_off": 1"#, Broken(Rule::OutsideVariable), "dma[0].desc[0].to_sizes", "[512, 128]"),
        (r#""to_sizes": [512, 128], "to_steps": [1, 512]"#, r#""to_sizes": [512, 127], "to_steps": [1, 512]"#, Broken(Rule::TransferSize), "dma[0].desc[0].from_sizes", "[512, 128]"),
        // A cast counts elements of each side's dtype.
        (r#""from_dtype": "int8""#, r#""from_dtype": "int16""#, Broken(Rule::TransferSize), "dma[0].desc[1].from_sizes", "[128, 128]"),
        (r#""from_dtype": "int8""#, r#""from_dtype": "int9""#, Broken(Rule::DtypeName), "dma[0].desc[1].from_dtype", "\"int9\""),
        (r#", "from_dtype": "int8""#, "", Broken(Rule::DescriptorDtype), "dma[0].desc[1].from_sizes", "[128, 128]"),
        (r#", "to_dtype": "float32",
         "num_tiling_dimensions": 1"#, "", Broken(Rule::DescriptorDtype), "dma[0].desc[1].from_sizes", "[128, 128]"),
        (r#""op": "cast""#, r#""op": "copy""#, Broken(Rule::TransferSize), "dma[0].desc[1].from_sizes", "[128, 128]"),
        (r#""op": "cast""#, r#""op": "scatter""#, Unsupported, "dma[0].desc[1].op", "\"scatter\""),
        (r#""op": "cast""#, r#""op": "transpose""#, Unsupported, "dma[0].desc[1].op", "\"transpose\""),
        (r#""op": "cast""#, r#""op": 0"#, Type, "dma[0].desc[1].op", "0"),
        (r#""scale": [0.5, 2]"#, r#""scale": [0.5]"#, Broken(Rule::Scale), "dma[0].desc[2].scale", "[0.5]"),
        (r#""scale": [0.5, 2]"#, r#""scale": [0.5, 1e39]"#, Broken(Rule::Scale), "dma[0].desc[2].scale[1]", "1e39"),
        (r#""scale": [0.5, 2]"#, r#""scale": [0.5, "2"]"#, Type, "dma[0].desc[2].scale[1]", "\"2\""),
        (r#""scale": [0.5, 2], "#, "", Missing("scale"), "dma[0].desc[2]", "{"),
        (r#""scale_dtype": "float32""#, r#""scale_dtype": "float16""#, Unsupported, "dma[0].desc[2].scale_dtype", "\"float16\""),
        (r#""from_off": [0, 64]"#, r#""from_off": [0]"#, Broken(Rule::SourceCount), "dma[0].desc[2].from_off", "[0]"),
        (r#""from_off": [0, 64]"#, r#""from_off": [0, 65473]"#, Broken(Rule::OutsideVariable), "dma[0].desc[2].from_sizes", "[64]"),
        (r#""constant_dtype": "float32""#, r#""constant_dtype": "int8""#, Unsupported, "dma[0].desc[4].constant_dtype", "\"int8\""),
        (r#""to_off": 16380"#, r#""to_off": 16381"#, Broken(Rule::OutsideVariable), "dma[0].desc[5].to_sizes", "[4]"),
        (r#""WZXY""#, r#""ZXYW""#, Unsupported, "dma[0].desc[6].transpose_op", "\"ZXYW\""),
        (r#""transpose_shape": [1, 1, 128, 64], "#, "", Missing("transpose_shape"), "dma[0].desc[6]", "{"),
        ("[1, 1, 128, 64]", "[1, 2, 128, 64]", Broken(Rule::Transpose), "dma[0].desc[6].transpose_shape", "[1, 2"),
        ("[1, 1, 128, 64]", "[1, 1, 0, 64]", Broken(Rule::Transpose), "dma[0].desc[6].transpose_shape", "[1, 1, 0"),
        ("[1, 1, 128, 64]", "[128, 64]", Broken(Rule::Transpose), "dma[0].desc[6].transpose_shape", "[128"),
        ("[1, 1, 128, 64]", "[1, 1, 64, 64]", Broken(Rule::Transpose), "dma[0].desc[6].from_sizes", "[256"),
        ("[1, 1, 128, 64]", "[1, 1, 18446744073709551615, 64]", Broken(Rule::Transpose), "dma[0].desc[6].from_sizes", "[256"),
        (r#""transpose_element_size": 4"#, r#""transpose_element_size": 8"#, Broken(Rule::Transpose), "dma[0].desc[6].transpose_element_size", "8"),
        (r#""transpose_element_size": 4"#, r#""transpose_element_size": 2"#, Broken(Rule::Transpose), "dma[0].desc[6].from_sizes", "[256"),
        (r#""num_tiling_dimensions": 2"#, r#""num_tiling_dimensions": 0"#, Broken(Rule::Transpose), "dma[0].desc[6].num_tiling_dimensions", "0"),
        (r#""num_tiling_dimensions": 2"#, r#""num_tiling_dimensions": 7"#, Broken(Rule::Transpose), "dma[0].desc[6].from_sizes", "[256"),
        (r#""from_steps": [-1]"#, r#""from_steps": [-2]"#, Broken(Rule::OutsideVariable), "dma[1].desc[0].from_sizes", "[8]"),
        (r#""desc": [
        {"#, r#""d": [
        {"#, Missing("desc"), "dma[0]", "{"),
        (r#""dma": ["#, r#""dma": {}, "old": ["#, Type, "dma", "{}"),
        (r#""instr": "SP.bin""#, r#""instr": 7"#, Type, "instr", "7"),
    ]);
    let instance = format!(r#""id": 1, "instance_name": "{}""#, "i".repeat(256));
    let error = refuse(&with_text("sg00/SP.json", r#""id": 1"#, &instance), &ReadOptions::default());
    assert_eq!(kind(&error).1, Some(Rule::NameLength), "{error}");
}

#[test]
fn source_counts_depend_on_operation_and_generation() {
    // Chapter 07 section 5.3: 32 sources, for FMA 16 on v2 and v3 and 32 on v4.
    let names = |n: usize| format!("[{}]", vec![r#""x""#; n].join(", "));
    let fma = |n: usize| {
        let text = SP.replacen(r#"["x", "y"], "from_off": [0, 64]"#, &names(n), 1);
        text.replacen("[0.5, 2]", &format!("[{}]", vec!["1"; n].join(", ")), 1)
    };
    let add = |n: usize| SP.replacen(r#""from_arr": ["x", "y"]"#, &format!(r#""from_arr": {}"#, names(n)), 1);
    let read = |text: String, target: &str| {
        let mut all = members();
        for (path, contents) in &mut all {
            match path.as_str() {
                "sg00/SP.json" => *contents = text.clone().into_bytes(),
                "kelf-0.json" => *contents = KELF.replacen("cayman", target, 1).into_bytes(),
                _ => {}
            }
        }
        Neff::read(&pack(&tar(&all)), &ReadOptions::default())
    };
    for (text, target, fits) in [
        (fma(16), "v3", true),
        (fma(17), "v3", false),
        (fma(32), "v4", true),
        (fma(33), "v4", false),
        (add(32), "v3", true),
        (add(33), "v3", false),
    ] {
        match read(text, target) {
            Ok(_) => assert!(fits),
            Err(error) => {
                assert!(!fits, "{error}");
                assert_eq!(kind(&error).1, Some(Rule::SourceCount), "{error}");
            }
        }
    }
}

#[test]
#[rustfmt::skip]
fn configuration_rules() {
    const AT: &str = "runtime_statebuffer_reservation[0]";
    check_all("sg00/def.json", &[
        (r#""runtime_statebuffer_reservation""#, r#""other""#, Missing("runtime_statebuffer_reservation"), "", "{"),
        (r#""type": "evtaccel", "#, "", Missing("type"), AT, "{"),
        (r#""type": "evtaccel""#, r#""type": "scratch""#, Broken(Rule::Reservation), "runtime_statebuffer_reservation[0].type", "\"scratch\""),
        (r#""base_partition": 0"#, r#""base_partition": 1"#, Broken(Rule::Reservation), AT, "{"),
        (r#""partitions": 128"#, r#""partitions": 64"#, Broken(Rule::Reservation), AT, "{"),
        (r#""offset": 229368"#, r#""offset": 229360"#, Broken(Rule::Reservation), AT, "{"),
        (r#""offset": 229368, "size": 8"#, r#""offset": 229368, "size": 16"#, Broken(Rule::Reservation), AT, "{"),
        (r#""fp8_range_extension": true"#, r#""fp8_range_extension": 2"#, Type, "fp8_conversion_config.fp8_range_extension", "2"),
        (r#""emax_fp8_e4m3": 8"#, r#""emax_fp8_e4m3": "8""#, Type, "fp8_conversion_config.emax_fp8_e4m3", "\"8\""),
        (r#""fp8_conversion_config": {"#, r#""fp8_conversion_config": [], "old": {"#, Type, "fp8_conversion_config", "[]"),
        (r#"[[], [0, 1]]"#, "[0]", Type, "replica_groups[0]", "0"),
        (r#"[[[0, 1]]]"#, "7", Type, "src_target_pairs", "7"),
        (r#"{"num_streams": 0}"#, r#"{"num_streams": -1}"#, Type, "cc_streams.num_streams", "-1"),
        (r#""pe": "PE.json""#, r#""pe": 0"#, Type, "pe", "0"),
        (r#""ulib_to_ucode_version": "1.2""#, r#""ulib_to_ucode_version": "2.0""#, Broken(Rule::CustomLibrary), "ucode_lib[0].ulib_to_ucode_version", "\"2.0\""),
        (r#""ulib_to_ucode_version": "1.2", "#, "", Missing("ulib_to_ucode_version"), "ucode_lib[0]", "{"),
        (r#""cpu_id": 0"#, r#""cpu_id": 1"#, Broken(Rule::CustomLibrary), "ucode_lib[0].cpu_id", "1"),
        (r#""total_cpus": 8"#, r#""total_cpus": 4"#, Broken(Rule::CustomLibrary), "ucode_lib[0].total_cpus", "4"),
        (r#""ucode_lib": ["#, r#""ucode_lib": [{"library": "ops.so", "ulib_to_ucode_version": 1, "opcode": 240}, "#, Broken(Rule::CustomLibrary), "ucode_lib[1]", "{"),
        (r#""name": "f""#, r#""name": "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff""#, Broken(Rule::CustomLibrary), "ucode_lib[0].functions[0].name", "\"ff"),
        (r#""ucode_lib""#, r#""ext_isa_ucode_lib_def": {"functions": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]}, "ucode_lib""#, Broken(Rule::CustomLibrary), "ext_isa_ucode_lib_def.functions", "[1"),
    ]);
    check_all("sg00/Activation.json", &[
        (r#"["exp"]"#, r#"["tanh"]"#, Broken(Rule::ActivationSet), "activation_function_sets[0]", "\"tanh\""),
        (r#"["exp"]"#, r#"["exp", "exp"]"#, Broken(Rule::ActivationSet), "activation_function_sets[1]", "\"exp\""),
        (r#""act_info": "act_info.json", "#, "", Missing("act_info"), "", "{"),
        (r#""act_semaphore": 12"#, r#""act_semaphore": "12""#, Type, "act_semaphore", "\"12\""),
    ]);
    check_all("sg00/act_info.json", &[
        (r#""act_func_sets""#, r#""sets""#, Missing("act_func_sets"), "", "{"),
        (r#""bkt_bin": "exp_bkt.bin", "#, "", Missing("bkt_bin"), "act_func_sets[1]", "{"),
        (r#""exp": 400"#, r#""exp": "400""#, Type, "act_func_sets[1].act.exp", "\"400\""),
    ]);
    check_all("sg00/DVE.json", &[
        (r#""opcode_table": "opcode.bin", "#, "", Missing("opcode_table"), "dve_tables[0]", "{"),
        (r#", "control_slow_table": "slow.bin""#, "", Missing("control_slow_table"), "dve_tables[0]", "{"),
        (r#""dve_tables": ["#, r#""dve_tables": [7, "#, Type, "dve_tables[0]", "7"),
    ]);
}

#[test]
fn a_library_list_may_be_a_member() {
    let list = r#"[{"library": "a.so", "ulib_to_ucode_version": 1, "opcode": -123}]"#;
    let def =
        |member: &str| DEF.replacen(r#""ucode_lib": ["#, &format!(r#""ucode_lib": "{member}", "old": ["#), 1);
    let mut all = members();
    all.push(("sg00/ucode_lib.json".to_owned(), list.as_bytes().to_vec()));
    let position = all.iter().position(|(path, _)| path == "sg00/def.json").unwrap();
    all[position].1 = def("ucode_lib.json").into_bytes();
    let neff = Neff::read(&pack(&tar(&all)), &ReadOptions::default()).unwrap();
    let libraries = &neff.graphs[0].def.libraries;
    assert_eq!(libraries.member.as_deref(), Some("ucode_lib.json"));
    assert_eq!((libraries.libraries[0].library.as_str(), libraries.libraries[0].opcode), ("a.so", -123));
    all[position].1 = def("none.json").into_bytes();
    assert_eq!(kind(&refuse(&pack(&tar(&all)), &ReadOptions::default())).0, "MissingMember");
}

#[test]
fn tensors_without_variable_are_refused() {
    // Another count than variables: nothing to pair.
    let two = HOST.replacen(r#""arg_nodes": [0, 1]"#, r#""arg_nodes": [1]"#, 1).replacen(
        r#""name": "b""#,
        r#""name": "c""#,
        1,
    );
    let error = refuse(&with_member("neff.json", two.as_bytes()), &ReadOptions::default());
    check(
        &error,
        "neff.json",
        &two,
        ("c", "", Broken(Rule::HostBinding), "nodes[1]", r#"{"op": "null", "name": "c""#),
    );
    check_all(
        "neff.json",
        &[
            ("[[128, 128], [4]", "[[128, 127], [4]", Broken(Rule::HostBinding), "nodes[0]", "{"),
            ("[4], [128, 128]", "[4], [128]", Broken(Rule::HostBinding), "nodes[2]", "{"),
            (r#""bfloat16""#, r#""float64""#, Broken(Rule::HostBinding), "nodes[1]", "{"),
        ],
    );
    // An unknown dtype counts one byte an element, with a warning.
    let text = HOST.replacen(r#""bfloat16""#, r#""float64""#, 1).replacen("[4]", "[8]", 1);
    let neff = Neff::read(&with_member("neff.json", text.as_bytes()), &ReadOptions::default()).unwrap();
    let unknown = Warning::UnknownDtype { tensor: "b".to_owned(), dtype: "float64".to_owned() };
    assert_eq!(neff.warnings, [unknown]);
}

#[test]
fn all_findings_of_a_stage_are_reported() {
    let text = DEF
        .replacen(r#""alignment": 64"#, r#""alignment": 3"#, 1)
        .replacen(r#""owner": "sp""#, r#""owner": "x""#, 1)
        .replacen(r#""var_id": 7, "size": 8"#, r#""var_id": 7, "size": 9"#, 1);
    let error = refuse(&with_member("sg00/def.json", text.as_bytes()), &ReadOptions::default());
    let NeffError::Many { findings } = &error else { panic!("{error}") };
    let rules: Vec<_> = findings.iter().map(|f| kind(f).1.unwrap()).collect();
    assert_eq!(rules, [Rule::Alignment, Rule::VariableSize, Rule::QueueOwner]);
    assert!(error.to_string().starts_with("3 findings:\n"), "{error}");

    // A hostile file does not make an endless list.
    let bad = vec![r#"{"id": 0, "queue": "none", "desc": [7]}"#; 10_000].join(", ");
    let error = refuse(
        &with_text("sg00/SP.json", r#""dma": ["#, &format!(r#""dma": [{bad}, "#)),
        &ReadOptions::default(),
    );
    let NeffError::Many { findings } = &error else { panic!("{error}") };
    assert_eq!(findings.len(), 32);
}
