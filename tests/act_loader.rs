//! What the loader of activation tables says about members that are wrong.

use std::collections::BTreeMap;

use seqjit::load::load_table_sets;
use seqjit::tables::{generate, members};
use serde_json::{Value, json};

type Files = BTreeMap<String, Vec<u8>>;

fn files() -> Files {
    members(&[generate("a", &[7, 128]).unwrap(), generate("b", &[1]).unwrap()])
}

fn load(files: &Files, sets: &[&str]) -> Result<Vec<String>, String> {
    let sets = load_table_sets(&|name| files.get(name).map(Vec::as_slice), "act_info.json", sets);
    sets.map(|sets| sets.iter().map(|s| s.name().to_owned()).collect()).map_err(|e| e.to_string())
}

/// The message for set `a` after a change of one member's bytes.
fn after_bytes(member: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut files = files();
    change(files.get_mut(member).unwrap());
    load(&files, &["a"]).unwrap_err()
}

/// The message for set `a` after a change of one member's JSON.
fn after_json(member: &str, change: impl FnOnce(&mut Value)) -> String {
    after_bytes(member, |bytes| {
        let mut value = serde_json::from_slice(bytes).unwrap();
        change(&mut value);
        *bytes = serde_json::to_vec(&value).unwrap();
    })
}

/// The message for set `a` after a change of its first profile.
fn after_profile(change: impl FnOnce(&mut Value)) -> String {
    after_json("a.json", |json| change(&mut json["profile_meta_data"][0]))
}

#[test]
fn sets_in_the_order_asked_for() {
    assert_eq!(load(&files(), &["b", "a"]).unwrap(), ["b", "a"]);
    assert_eq!(load(&Files::new(), &[]).unwrap(), [""; 0], "no set: no member is needed");
}

#[test]
fn missing_members() {
    for (member, set) in [("act_info.json", "a"), ("a.json", "a"), ("a_bkt.bin", "a"), ("a_ctrl.bin", "a")] {
        let mut files = files();
        files.remove(member);
        let expected = format!("{member}: no such member, needed by activation table set {set:?}");
        assert_eq!(load(&files, &["a"]).unwrap_err(), expected);
    }
    // Only what is asked for has to be there.
    let mut files = files();
    files.remove("b.json");
    assert!(load(&files, &["a"]).is_ok());
}

#[test]
fn unknown_set() {
    assert_eq!(
        load(&files(), &["c"]).unwrap_err(),
        "act_info.json: act_func_sets is a, b, expected a set called \"c\""
    );
}

#[test]
fn not_json() {
    let message = after_bytes("a.json", |bytes| bytes.truncate(40));
    assert!(message.starts_with("a.json: EOF while parsing"), "{message}");
    assert_eq!(
        after_bytes("a.json", |bytes| *bytes = b"[]".to_vec()),
        "a.json: the top level is an array of 0, expected an object"
    );
}

#[test]
fn sizes() {
    let count = files()["a_bkt.bin"].len() / 32;
    let expected = |found: usize, bytes: usize| {
        format!("a_bkt.bin: size is {found}, expected {bytes} ({} entries of 32 bytes)", bytes / 32)
    };
    let whole = 32 * count;
    assert_eq!(after_bytes("a_bkt.bin", |b| b.truncate(whole - 1)), expected(whole - 1, whole));
    assert_eq!(after_bytes("a_bkt.bin", |b| b.truncate(whole - 32)), expected(whole - 32, whole));
    assert_eq!(after_bytes("a_bkt.bin", |b| b.extend([0; 32])), expected(whole + 32, whole));
    let message = after_json("a.json", |json| json["ctl_entry_cnt"] = json!(3));
    assert!(message.ends_with("expected 96 (3 entries of 32 bytes)"), "{message}");
}

#[test]
fn reserved_bytes_and_bits() {
    assert_eq!(
        after_bytes("a_bkt.bin", |bytes| bytes[64 + 31] = 9),
        "a_bkt.bin: bytes 20..32 of entry 2 is [00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 09], expected zeros"
    );
    let message = after_bytes("a_ctrl.bin", |bytes| bytes[32 + 4] = 1);
    assert!(message.starts_with("a_ctrl.bin: bytes 4..32 of entry 1 is [01, 00,"), "{message}");
    let message = after_bytes("a_ctrl.bin", |bytes| bytes[2] |= 0x10);
    assert!(message.starts_with("a_ctrl.bin: word of entry 0 is ["), "{message}");
    assert!(message.ends_with("expected bits 31..20 zero"), "{message}");
}

#[test]
fn fields() {
    let field = "a.json: profile_meta_data[0].";
    for (key, value, found, expected) in [
        ("func_id", json!(256), "256", "an integer from 0 to 255"),
        ("func_id", json!("7"), "\"7\"", "an integer from 0 to 255"),
        ("func_name", json!(7), "7", "a string"),
        ("exp_offset", json!(-128), "-128", "an integer from -127 to 128"),
        ("symmetry_opt_en", json!(2), "2", "0, 1 or a boolean"),
        ("use_multipass", json!([1]), "an array of 1", "0, 1 or a boolean"),
        ("pwl_control_base_neg", json!(-1), "-1", "an integer from 0 to 2047"),
        ("pos_small_signal_pwl_control", json!(2048), "2048", "an integer from 0 to 2047"),
        ("small_neg_signal_exp_threshold", json!(256), "256", "an integer from 0 to 255"),
        ("large_pos_signal_mantissa_threshold", json!(1 << 23), "8388608", "an integer from 0 to 8388607"),
        ("fnan_result", json!(1_u64 << 32), "4294967296", "an integer from 0 to 4294967295"),
        ("fzero_result", json!(1.5), "1.5", "an integer from 0 to 4294967295"),
        ("upper_bound", json!({}), "an object", "an integer from 0 to 4294967295"),
    ] {
        let message = after_profile(|profile| profile[key] = value);
        assert_eq!(message, format!("{field}{key} is {found}, expected {expected}"));
    }
}

#[test]
fn every_profile_field_is_needed() {
    let profile: Value = serde_json::from_slice(&files()["a.json"]).unwrap();
    let keys: Vec<String> = profile["profile_meta_data"][0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys.len(), 30);
    for key in keys {
        let message = after_profile(|profile| _ = profile.as_object_mut().unwrap().remove(&key));
        assert!(
            message.starts_with(&format!("a.json: profile_meta_data[0].{key} is missing, expected ")),
            "{message}"
        );
    }
}

#[test]
fn the_rest_of_the_json() {
    assert_eq!(
        after_json("a.json", |json| json["bkt_bin"] = json!("other.bin")),
        "a.json: bkt_bin is \"other.bin\", expected \"a_bkt.bin\""
    );
    assert_eq!(
        after_json("a.json", |json| json["profile_meta_data"] = json!({})),
        "a.json: profile_meta_data is an object, expected an array"
    );
    assert_eq!(
        after_json("a.json", |json| json["profile_meta_data"][1] = json!(true)),
        "a.json: profile_meta_data[1] is true, expected an object"
    );
    assert_eq!(
        after_json("act_info.json", |json| json["act_func_sets"][0]["ctrl_bin"] = json!(null)),
        "act_info.json: act_func_sets[0].ctrl_bin is null, expected a string"
    );
    assert_eq!(
        after_json("act_info.json", |json| json["act_func_sets"][0]["ctrl_bin"] = json!("gone.bin")),
        "a.json: ctl_bin is \"a_ctrl.bin\", expected \"gone.bin\""
    );
}

#[test]
fn parts_that_do_not_fit() {
    let message = after_profile(|profile| profile["pwl_control_base_pos"] = json!(2000));
    assert!(message.starts_with("a.json: function exp_"), "{message}");
    assert!(message.contains("pos inputs of exponent") && message.contains("control entry"), "{message}");
    let message = after_json("a.json", |json| json["profile_meta_data"][1]["func_id"] = json!(7));
    assert_eq!(message, "a.json: function id 7 has two profiles");
}
