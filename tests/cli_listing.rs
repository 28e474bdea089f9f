//! `seqjit disasm --clif` and `--native`: the code of words.

mod cli_support;

use cli_support::*;
use seqjit::runtime::isa::EngineId;
use seqjit::runtime::num::Level;

/// `Small` with a second DVE word of the same shape, and a word whose source comes from register 3.
fn example() -> Example {
    let mut small = Small::new();
    let dve = small.stream(EngineId::Dve);
    let twice = |at: &str| {
        let text = format!("src=fp32@{at}[1,1,1,1][8,1,1,1] dst=fp32@0x6000[1,1,1,1][8,1,1,1] channels=128");
        word(EngineId::Dve, "COPY", &text)
    };
    dve.extend([twice("0x4000"), twice("0x4020"), twice("0x80000003")]);
    Example::of(&small)
}

fn disasm(example: &Example, more: &[&str]) -> Ended {
    seqjit(["disasm", &example.neff].iter().chain(more))
}

#[test]
fn code_stands_below_the_first_word_of_its_shape() {
    let text = disasm(&example(), &["--engine", "DVE", "--clif", "--native"]).expect(0).stdout;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let at = |wanted: &str| {
        lines.iter().position(|l| l.starts_with(wanted)).unwrap_or_else(|| panic!("{wanted}\n{text}"))
    };
    // Shape 1 is that of the run of the first three words.
    let (add, run, copy) = (at("; shape 0"), at("; shape 1"), at("; shape 2"));
    assert_eq!(lines[run - 1], "; 3 words from here on run as one:");
    assert!(lines[add - 1].contains("TENSOR_TENSOR") && lines[copy - 1].contains("COPY"), "{text}");
    assert!(lines[add + 1].starts_with("function u0:0(i64, i64)"), "{text}");
    // What the word does: an fp32 addition, in CLIF and as one of the two instructions that add four floats.
    let code = &lines[add..run];
    assert!(code.iter().any(|l| l.contains("= fadd ")), "{text}");
    assert!(code.iter().any(|l| l.contains("addps ")), "{text}");
    assert!(code.iter().any(|l| l.ends_with("ret")), "{text}");
    assert_eq!(lines[at("; shape 2, see") - 1].split_whitespace().next(), Some("2"), "{text}");
    assert!(lines[at("; shape 2, see")].ends_with("core 0 DVE word 1"));
    assert!(lines[at("; operands come from registers") - 1].contains("COPY"), "{text}");
}

#[test]
fn slots_choose_words_and_shapes_show_each_once() {
    let example = example();
    let text = disasm(&example, &["--engine", "DVE", "--slots", "2..3", "--native"]).expect(0).stdout;
    assert!(!text.contains("TENSOR_TENSOR") && text.contains("COPY") && text.contains("; shape 0"), "{text}");
    let text = disasm(&example, &["--shapes"]).expect(0).stdout;
    let heads: Vec<&str> = text.lines().filter(|l| l.starts_with("; shape")).collect();
    let expected = [
        "; shape 0: 1 words, the first is core 0 DVE word 0",
        "; shape 1: 2 words, the first is core 0 DVE word 1",
    ];
    assert_eq!(heads, expected);
    let error = disasm(&example, &["--slots", "3..3", "--json"]).error(2, "usage");
    assert!(error["message"].as_str().unwrap().contains("A..B"), "{error}");
}

#[test]
fn the_document_has_the_code_by_shape() {
    let document = disasm(&example(), &["--engine", "DVE", "--native", "--json"]).expect(0).json();
    let words = &document["cores"][0]["engines"][0]["words"];
    let shapes: Vec<_> = (0..4).map(|i| words[i]["shape"].as_u64()).collect();
    assert_eq!(shapes, [Some(0), Some(1), Some(1), None]);
    assert!(words[3]["no_code"].as_str().unwrap().contains("registers"));
    let shape = &document["shapes"][0];
    assert_eq!(shape["words"], 1);
    assert!(shape["clif"].is_null());
    let native = shape["native"].as_array().unwrap();
    let bytes: usize = native.iter().map(|line| line["hex"].as_str().unwrap().len() / 2).sum();
    let last = native.last().unwrap();
    assert_eq!(last["text"], "ret");
    // No byte between the lines is left out.
    assert_eq!(last["offset"].as_u64().unwrap() as usize + 1, bytes);
}

/// At the lowest level no instruction is VEX or EVEX encoded: their text starts with a `v`.
#[test]
fn levels_show_in_the_code() {
    let example = example();
    let at = |cpu: &str| disasm(&example, &["--engine", "DVE", "--native", "--cpu", cpu]).expect(0).stdout;
    let has = |text: &str, wanted: &str| text.split_whitespace().any(|t| t == wanted);
    let baseline = at("baseline");
    assert!(has(&baseline, "addps") && !has(&baseline, "vaddps"), "{baseline}");
    if Level::host() >= Level::Avx2 {
        assert!(has(&at("avx2"), "vaddps"));
    } else {
        eprintln!("SKIPPED: this CPU has no AVX2");
    }
}

#[test]
fn levels_above_the_host_are_usage_errors() {
    let example = Example::new();
    if Level::host() < Level::Amx {
        let error = example.run(&["--cpu", "amx", "--json"]).error(2, "usage");
        assert_eq!((&error["field"], &error["found"]), (&"--cpu".into(), &"amx".into()));
        assert_eq!(error["expected"], format!("at most {}", Level::host()));
    } else {
        eprintln!("SKIPPED: this CPU has every level");
    }
    let error = example.run(&["--cpu", "mmx", "--json"]).error(2, "usage");
    assert!(error["message"].as_str().unwrap().contains("expected `baseline`"), "{error}");
    for tier in ["interp", "jit"] {
        example.run(&["--cpu", "baseline", "--tier", tier]).expect(0);
    }
}
