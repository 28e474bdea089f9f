//! The table of tests (`runtime/src/isa/coverage/`) against the operand structs, the checks, the sources and the data.

#[path = "../common/mod.rs"]
mod common;
mod manual;
mod variants;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use seqjit::runtime::isa::coverage::{self, Coverage};
use seqjit::runtime::isa::{Generation, OPCODES, OpcodeInfo, Word, decode, opcode_info};
use serde_json::Value;

use variants::Variant;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn table() -> Vec<Coverage> {
    let mut rows = Vec::new();
    let bad: Vec<String> = coverage::table()
        .filter_map(|line| line.map(|row| rows.push(row)).err())
        .map(|e| e.to_string())
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    rows
}

/// Opcodes of which a word can run somewhere.
fn defined() -> impl Iterator<Item = &'static OpcodeInfo> {
    OPCODES.iter().filter(|info| variants::generations(info).next().is_some())
}

fn named(row: &Coverage) -> BTreeSet<Variant> {
    row.variants.iter().map(|(field, class)| format!("{field}={class}")).collect()
}

/// Every variant of every opcode that the manual defines has a test, and the table names no other variants.
#[test]
fn every_variant_has_a_test() {
    let table = table();
    let mut wrong = Vec::new();
    for info in defined() {
        let rows = || table.iter().filter(|row| row.opcode == info.byte);
        if rows().next().is_none() {
            wrong.push(format!("{} (0x{:02X}) has no test", info.name, info.byte));
        }
        let covered: BTreeSet<Variant> = rows().flat_map(named).collect();
        // The generations that are supported fully; words of later ones need a test, but not one of each variant.
        let wanted = variants::of_opcode(info, |g| g <= Generation::Cayman);
        let possible = variants::of_opcode(info, |_| true);
        let list = |of: Vec<&Variant>| of.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let missing = list(wanted.difference(&covered).collect());
        if !missing.is_empty() {
            wrong.push(format!("{} (0x{:02X}): no test of {missing}", info.name, info.byte));
        }
        let unknown = list(covered.difference(&possible).collect());
        if !unknown.is_empty() {
            wrong.push(format!("{} (0x{:02X}): there is no {unknown}", info.name, info.byte));
        }
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every opcode that the table names exists, and so does every test in its file.
#[test]
fn every_test_exists() {
    let mut sources: BTreeMap<&str, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in table().into_iter().filter(|row| row.file != "conformance") {
        let source = sources
            .entry(row.file)
            .or_insert_with(|| std::fs::read_to_string(root().join(row.file)).unwrap_or_default());
        if !has_test(source, row.test) {
            wrong.push(format!("0x{:02X}: {} has no test {}", row.opcode, row.file, row.test));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A function behind `#[test]`, other attributes between them.
fn has_test(source: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    source.split("#[test]").skip(1).any(|behind| {
        let mut lines = behind
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with("#[") && !l.starts_with("//"));
        lines.next().is_some_and(|line| line.starts_with(&head))
    })
}

/// Conformance cases have words with the variants that the table says.
#[test]
fn conformance_cases_show_their_variants() {
    let Some(text) = common::read_gz("conformance.jsonl.gz") else { return };
    let cases: BTreeMap<String, Value> = text
        .lines()
        .map(|line| {
            let case: Value = serde_json::from_str(line).unwrap();
            (case["name"].as_str().unwrap().to_owned(), case)
        })
        .collect();
    let mut wrong = Vec::new();
    for row in table().into_iter().filter(|row| row.file == "conformance") {
        let Some(case) = cases.get(row.test) else {
            wrong.push(format!("no case {}", row.test));
            continue;
        };
        let shown = shown(case, row.opcode);
        let absent: Vec<Variant> = named(&row).into_iter().filter(|v| !shown.contains(v)).collect();
        if !absent.is_empty() {
            wrong.push(format!("{} has no word 0x{:02X} with {}", row.test, row.opcode, absent.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Variants of the words of one opcode in a case.
fn shown(case: &Value, opcode: u8) -> BTreeSet<Variant> {
    let generation = Generation::parse(case["gen"].as_str().unwrap()).unwrap();
    let streams = case["progs"].as_object().unwrap().values();
    let words = streams
        .flat_map(|words| words.as_array().unwrap())
        .map(|w| Word::from_hex(w.as_str().unwrap()).unwrap());
    let decoded = words.filter(|w| w.opcode() == opcode).filter_map(|w| decode(&w, generation).ok());
    decoded.flat_map(|w| variants::of_word(&w)).collect()
}

/// What the command says of each opcode is what the manual says: it is in `opcodes.csv`, and table B does not refuse it.
#[test]
fn defined_means_what_the_manual_says() {
    let Some(manual) = manual::Manual::read(
        common::data("../reference/opcodes.csv"),
        common::data("../reference/00-decisions.md"),
    ) else {
        return;
    };
    let mut wrong = Vec::new();
    for byte in 0..=u8::MAX {
        for generation in Generation::ALL {
            let found = opcode_info(byte).is_some_and(|info| info.is_defined_on(generation));
            let expected = manual.defines(byte, generation);
            if found != expected {
                wrong.push(format!("0x{byte:02X} on {generation}: {found}, the manual: {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn command(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_seqjit")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the manual defines for SUNDA and CAYMAN runs in the interpreter, and has tests.
#[test]
fn the_command_lists_what_is_there() {
    let rows: Vec<Value> = serde_json::from_str(&command(&["isa", "--coverage", "--json"])).unwrap();
    let mut untranslated = BTreeSet::new();
    for row in &rows {
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        let (opcode, generation) = (text("opcode"), text("generation"));
        let defined = row["defined"].as_bool().unwrap();
        if defined && matches!(&*generation, "v2" | "v3") {
            assert_eq!(row["interpreter"], true, "{opcode} on {generation}");
            assert!(!row["tests"].as_array().unwrap().is_empty(), "{opcode} on {generation}");
            untranslated.extend(row["translated"].is_null().then(|| format!("{opcode} {}", text("name"))));
        }
    }
    println!("{} without native code: {untranslated:?}", untranslated.len());
    let exists = OPCODES.iter().flat_map(|info| Generation::ALL.map(|g| info.exists_on(g)));
    assert_eq!(rows.len(), exists.filter(|exists| *exists).count());
}

/// `docs/coverage.md` is what the command prints; `SEQJIT_BLESS=1` writes it anew.
#[test]
fn the_page_is_what_the_command_prints() {
    let page = root().join("docs/coverage.md");
    let intro = "# Coverage\n\nThe output of `seqjit isa --coverage`: on which generations each opcode is defined and runs in the interpreter, how it is\n\
                 translated, and how many tests with expected values of their own cover its variants (`--json` names them).\n\n";
    let expected = format!("{intro}```text\n{}```\n", command(&["isa", "--coverage"]));
    if std::env::var_os("SEQJIT_BLESS").is_some() {
        std::fs::write(&page, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert_eq!(found, expected, "SEQJIT_BLESS=1 cargo test --test coverage accepts what is meant");
}
