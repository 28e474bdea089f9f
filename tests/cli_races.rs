//! `seqjit run --check races`: programs with hand-written orders, right and wrong.

mod cli_support;

use cli_support::*;
use seqjit::runtime::isa::EngineId::{Dve, Sp};
use serde_json::{Value, json};

/// Runs [`Small`] with other words of SP and DVE.
fn run(change: impl FnOnce(&mut Small)) -> (Ended, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let mut small = Small::new();
    change(&mut small);
    let path = small.write(directory.path());
    (seqjit(["run", &path, "--seed", "1", "--check", "races", "--json"]), directory)
}

const ADD: &str = "op=ADD src0=fp32@0x4000[1,1,1][8,1,1] src1=fp32@0x4000[1,1,1][8,1,1] \
                   dst=fp32@0x5000[1,1,1][8,1,1] channels=128";
/// Reads what [`ADD`] writes.
const AGAIN: &str = "op=ADD src0=fp32@0x5000[1,1,1][8,1,1] src1=fp32@0x4000[1,1,1][8,1,1] \
                     dst=fp32@0x6000[1,1,1][8,1,1] channels=128";

fn add(events: &str) -> seqjit::runtime::isa::Word {
    word(Dve, "TENSOR_TENSOR", &format!("{events} {ADD}"))
}

/// The pairs as `engine:word`, with a `t` for a transfer, in no order.
fn pairs(races: &Value) -> Vec<[String; 2]> {
    let party = |p: &Value| {
        let transfer = if p["queue"].is_null() { "" } else { "t" };
        format!("{}:{}{transfer}", p["engine"].as_str().unwrap(), p["word"])
    };
    let pair = |race: &Value| {
        let mut pair = [party(&race["earlier"]), party(&race["later"])];
        pair.sort();
        pair
    };
    races["list"].as_array().unwrap().iter().map(pair).collect()
}

#[track_caller]
fn assert_race(change: impl FnOnce(&mut Small), pair: [&str; 2], first_byte: u64) {
    let (ended, _directory) = run(change);
    let races = ended.json()["races"].clone();
    ended.error(13, "race");
    assert_eq!(pairs(&races), [pair.map(str::to_owned)], "{races:#}");
    let race = &races["list"][0];
    assert_eq!(race["memory"], "sbuf");
    assert_eq!((&race["first_byte"], &race["bytes"]), (&json!(first_byte), &json!(32)));
    assert_eq!((&race["core"], &race["partitions"]), (&json!(0), &json!([0, 127])));
}

#[test]
fn a_program_in_order_has_none() {
    let (ended, _directory) = run(|_| {});
    let document = ended.expect(0).json();
    assert_eq!(document["races"]["count"], 0);
    assert_eq!(document["races"]["accumulations"]["count"], 0);
}

#[test]
fn a_missing_wait_for_a_transfer() {
    assert_race(|p| p.stream(Dve)[0] = add("$S[21]++@complete"), ["DVE:0", "SP:0t"], 0x4000);
}

/// Fifteen rings may be done while the sixteenth still writes.
#[test]
fn a_wait_for_too_few_rings() {
    assert_race(|p| p.stream(Dve)[0] = add("$S[20]>=15 $S[21]++@complete"), ["DVE:0", "SP:0t"], 0x4000);
}

#[test]
fn a_store_that_waits_for_the_load() {
    let trigger = || word(Sp, "PSEUDO_DMA_TRIGGER", "$S[20]>=16 q_out block_id=0");
    assert_race(|p| p.stream(Sp)[1] = trigger(), ["DVE:0", "SP:1t"], 0x5000);
}

/// Starts the store before the load, and waits for the sum behind it.
#[test]
fn transfers_in_the_wrong_order() {
    let change = |p: &mut Small| {
        let words = p.stream(Sp);
        words[0] = word(Sp, "PSEUDO_DMA_TRIGGER", "q_out block_id=0");
        words[1] = word(Sp, "PSEUDO_DMA_TRIGGER", "q_in block_id=0");
    };
    assert_race(change, ["DVE:0", "SP:0t"], 0x5000);
}

#[test]
fn words_of_one_engine_overlap() {
    let again = |wait: &str| word(Dve, "TENSOR_TENSOR", &format!("{wait} {AGAIN}"));
    assert_race(|p| p.stream(Dve).push(again("")), ["DVE:0", "DVE:1"], 0x5000);
    let (ended, _directory) = run(|p| p.stream(Dve).push(again("$S[21]>=1")));
    ended.expect(0);
}

/// The sequencer runs ahead of the data path: what it signals covers nothing, unless the engine is drained.
#[test]
fn a_signal_of_the_sequencer_covers_no_words_of_the_data_path() {
    let change = |opcode: &'static str| {
        move |p: &mut Small| {
            p.stream(Dve)[0] = add("$S[20]>=16");
            p.stream(Dve).push(word(Dve, opcode, "$S[21]++@complete"));
        }
    };
    assert_race(change("NOP"), ["DVE:0", "SP:1t"], 0x5000);
    let (ended, _directory) = run(change("DRAIN"));
    ended.expect(0);
}

/// The sources are read, the sum may not be written yet.
#[test]
fn an_update_after_reading_orders_what_overwrites_the_sources_only() {
    assert_race(|p| p.stream(Dve)[0] = add("$S[20]>=16 $S[21]++@read"), ["DVE:0", "SP:1t"], 0x5000);
}

#[test]
fn the_text_names_both_words() {
    let directory = tempfile::tempdir().unwrap();
    let mut small = Small::new();
    small.stream(Dve)[0] = add("$S[21]++@complete");
    let path = small.write(directory.path());
    let ended = seqjit(["run", &path, "--seed", "1", "--check", "races"]).expect(13);
    for part in
        ["1 race", "transfer of 0:SP:0 in q_in", "0:DVE:0", "bytes 0x4000 to 0x401f of partitions 0 to 127"]
    {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(ended.stderr.contains("TENSOR_TENSOR") && ended.stderr.contains("PSEUDO_DMA_TRIGGER"));
}

#[test]
fn both_checks_at_once_and_where_they_are_not_known() {
    let directory = tempfile::tempdir().unwrap();
    let path = Small::new().write(directory.path());
    seqjit(["run", &path, "--seed", "1", "--check", "uninit,races"]).expect(0);
    // The value may be left out, also in front of the file.
    seqjit(["run", "--seed", "1", "--check", &path]).expect(0);
    seqjit(["run", "--seed", "1", "--check", "races", &path]).expect(0);
    seqjit(["run", &path, "--seed", "1", "--check", "everything"]).expect(2);
    seqjit(["diff", &path, "--check", "races"]).expect(2);
    seqjit(["debug", &path, "--seed", "1", "--check", "races"]).expect(2);
}
