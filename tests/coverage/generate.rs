use std::collections::*;
use seqjit::runtime::isa::*;
use crate::variants;

#[test]
#[ignore]
fn generate() {
    let mut seen: BTreeMap<u8, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    let mut events: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    {
    let mut note = |test: String, generation: usize, hex: &str| {
        let Some(word) = Word::from_hex(hex) else { return };
        let Ok(w) = decode(&word, Generation::ALL[generation]) else { return };
        seen.entry(w.info.byte).or_default().entry(test.clone()).or_default().extend(variants::of_word(&w));
        if w.operands.layout().def().events {
            let e = events.entry(test).or_default();
            if let Some(n) = field::WaitMode::TABLE.name_of(w.events.wait_mode.0) { e.insert(format!("wait_mode={n}")); }
            if let Some(n) = field::UpdateMode::TABLE.name_of(w.events.update_mode.0) { e.insert(format!("update_mode={n}")); }
        }
    };
    for e in std::fs::read_dir("/tmp/d_rec").unwrap() {
        let p = e.unwrap().path();
        let stem = p.file_name().unwrap().to_string_lossy().split('-').next().unwrap().to_owned();
        if stem == "control" { continue }
        for l in std::fs::read_to_string(&p).unwrap().lines() {
            let f: Vec<_> = l.split(' ').collect();
            let test = match f[0].rsplit_once("::") {
                Some((m, t)) => format!("runtime/tests/{stem}/{}.rs {t}", m.replace("::", "/")),
                None if f[0] == "?" || f[0].starts_with('<') => continue,
                None => format!("tests/{stem}.rs {}", f[0]),
            };
            note(test, f[1].parse().unwrap(), f[3]);
        }
    }
    let text = crate::common::read_gz("conformance.jsonl.gz").unwrap();
    for l in text.lines() {
        let j: serde_json::Value = serde_json::from_str(l).unwrap();
        let g = if j["gen"] == "v2" { 0 } else { 1 };
        for ws in j["progs"].as_object().unwrap().values() { for w in ws.as_array().unwrap() { note(format!("conformance {}", j["name"].as_str().unwrap()), g, w.as_str().unwrap()); } }
    }
    }
    for (test, e) in events { if test.contains("/sequencer/control_words") || test.starts_with("conformance a0") { seen.entry(0xA0).or_default().entry(test).or_default().extend(e); } }
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let (mut total, mut open) = (0, 0);
    for info in crate::defined() {
        let file = match info.family {
            Family::TensorTensor | Family::TensorReduce | Family::TensorScalar | Family::Copy | Family::Fill | Family::Scan | Family::ScalarTensorTensor | Family::Select => "arithmetic",
            Family::Pe | Family::Activation | Family::Pool | Family::BatchNorm | Family::Quantize | Family::Shuffle | Family::State => "kernels",
            Family::Control | Family::Pseudo | Family::Custom => "control",
            _ => "data",
        };
        let text = files.entry(file).or_default();
        *text += &format!("0x{:02X} {}\n", info.byte, info.name);
        let mut left = variants::of_opcode(info);
        total += left.len();
        let all = left.clone();
        let Some(tests) = seen.get(&info.byte) else { *text += &format!("  - untested: {}\n", packed(&left)); open += left.len().max(1); continue };
        let own = format!("conformance {:02x}_", info.byte);
        let rank = |t: &str| if t.starts_with(&own) { 3 } else if t.starts_with("runtime/tests/elem") || t.starts_with("runtime/tests/data") || t.starts_with("runtime/tests/variants") { 2 } else if t.starts_with("runtime") { 1 } else { 0 };
        let mut chosen = Vec::new();
        loop {
            let best = tests.iter().map(|(t, v)| (v.intersection(&left).count() * 4 + rank(t), t, v)).filter(|(_, _, v)| chosen.is_empty() || v.intersection(&left).count() > 0).max_by_key(|(n, t, _)| (*n, std::cmp::Reverse((*t).clone())));
            let Some((_, t, v)) = best else { break };
            let gain: BTreeSet<String> = v.intersection(&left).cloned().collect();
            if gain.is_empty() && !chosen.is_empty() { break }
            if chosen.iter().any(|(c, _)| c == t) { break }
            left = left.difference(&gain).cloned().collect();
            chosen.push((t.clone(), gain));
            if left.is_empty() { break }
        }
        let _ = all;
        for (t, g) in chosen { *text += &format!("  {t}: {}\n", packed(&g)); }
        if !left.is_empty() { *text += &format!("  - untested: {}\n", packed(&left)); open += left.len(); }
    }
    for (f, t) in files { std::fs::write(format!("runtime/src/isa/coverage/{f}.txt"), t.replace(": \n", ":\n")).unwrap(); }
    println!("{total} variants, {open} open");
}

fn packed(v: &BTreeSet<String>) -> String {
    let mut by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for x in v { let (f, c) = x.split_once('=').unwrap(); by.entry(f).or_default().push(c); }
    by.into_iter().map(|(f, c)| format!("{f}={}", c.join(","))).collect::<Vec<_>>().join(" ")
}
