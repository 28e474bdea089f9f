//! No validity rule may complain about a word that a vendor's compiler or runtime made, or about the
//! programs of the conformance set: golden words, whole containers, conformance programs.

#[path = "common/data.rs"]
mod data_file;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};

use std::path::Path;

use data_file::data;
use flate2::bufread::GzDecoder;
use seqjit_runtime::isa::check::{
    CheckContext, Finding, Severity, check_bytes, default_dve_programs, unsupported_reason,
};
use seqjit_runtime::isa::{EngineId, Generation, Word, decode};

/// Everything that stops a word in strict mode.
fn stopping(word: &Word, cx: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings = check_bytes(word, cx);
    findings.retain(|f| f.severity != Severity::Warning);
    findings
}

#[test]
fn golden_words_are_valid() {
    let Some(path) = data("golden_words.csv") else { return };
    let mut complaints = Vec::new();
    let mut words = 0;
    for row in csv::Reader::from_path(path).unwrap().deserialize() {
        let row: BTreeMap<String, String> = row.unwrap();
        let word = Word::from_hex(&row["word_hex"]).unwrap();
        let generation = Generation::parse(&row["gen"]).unwrap();
        let cx = CheckContext::new(generation, EngineId::parse(&row["engine"]).unwrap());
        complaints.extend(check_bytes(&word, &cx).iter().map(|f| format!("{} {word:?}: {f}", row["opcode"])));
        assert_eq!(unsupported_reason(&decode(&word, generation).unwrap(), &cx), None, "{word:?}");
        words += 1;
    }
    assert_eq!(words, 454);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The members of a container: a tar archive in a gzip member behind 0x400 bytes of header.
fn members(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(&bytes[0x400..]));
    let mut members = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_string_lossy().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        members.insert(name, content);
    }
    members
}

#[test]
fn words_of_containers_are_valid() {
    const STREAMS: [&str; 5] = ["PE", "Activation", "Pool", "DVE", "SP"];
    let Some(folder) = data("neffs") else { return };
    let (mut complaints, mut words, mut tables) = (Vec::new(), 0, 0);
    for file in fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".neff") {
            continue;
        }
        let generation = if name.starts_with("trn1") { Generation::Sunda } else { Generation::Cayman };
        for (member, bytes) in members(&file) {
            let Some((_, leaf)) = member.rsplit_once('/') else { continue };
            if leaf == "default_opcode_table.bin" {
                check_dve_table(&bytes, generation);
                tables += 1;
            }
            let Some(engine) =
                EngineId::ALL.into_iter().find(|e| leaf == format!("{}.bin", STREAMS[e.index()]))
            else {
                continue;
            };
            let cx = CheckContext::new(generation, engine);
            for (slot, word) in Word::split(&bytes).unwrap().iter().enumerate() {
                words += 1;
                complaints
                    .extend(check_bytes(word, &cx).iter().map(|f| format!("{name} {engine} {slot}: {f}")));
            }
        }
    }
    assert!(words > 60_000 && tables > 0, "{words} words, {tables} tables");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// A container's DVE opcode table (one entry an opcode, 0 = no program; u64 on v2, u32 on v3) against
/// the default: 4F 5F 70 71 are in older CAYMAN tables only. Entry 0 is set, but 00 is no opcode.
fn check_dve_table(bytes: &[u8], generation: Generation) {
    let retired =
        |opcode: usize| generation == Generation::Cayman && [0x4F, 0x5F, 0x70, 0x71].contains(&opcode);
    let default = default_dve_programs(generation).unwrap();
    let entry = bytes.len() / 256;
    assert_eq!(entry, if generation == Generation::Sunda { 8 } else { 4 });
    for (opcode, program) in bytes.chunks_exact(entry).enumerate().skip(1) {
        let present = program.iter().any(|b| *b != 0);
        assert!(present == default[opcode] || retired(opcode), "{generation} {opcode:02x}: {present}");
    }
}

#[test]
fn conformance_programs_are_valid() {
    let Some(path) = data("conformance.jsonl.gz") else { return };
    let file = BufReader::new(GzDecoder::new(BufReader::new(File::open(path).unwrap())));
    let (mut complaints, mut programs) = (Vec::new(), 0);
    for line in file.lines() {
        let case: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let generation = Generation::parse(case["gen"].as_str().unwrap()).unwrap();
        programs += 1;
        for (engine, words) in case["progs"].as_object().unwrap() {
            let cx = CheckContext::new(generation, EngineId::parse(engine).unwrap());
            for hex in words.as_array().unwrap() {
                let word = Word::from_hex(hex.as_str().unwrap()).unwrap();
                complaints.extend(
                    stopping(&word, &cx).iter().map(|f| format!("{} {engine} {word:?}: {f}", case["name"])),
                );
            }
        }
    }
    assert_eq!(programs, 281);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
