//! `seqjit disasm`, `seqjit asm`, `seqjit isa`, `seqjit info`.

mod cli_support;

use cli_support::*;
use seqjit::runtime::isa::{EngineId, OPCODES, Word};
use serde_json::{Value, json};

/// The rows of CSV text, as objects.
fn rows(text: &str) -> Vec<Value> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader
        .deserialize::<std::collections::BTreeMap<String, String>>()
        .map(|row| json!(row.unwrap()))
        .collect()
}

#[test]
fn golden_words_become_the_profilers_text_and_words_again() {
    let Some(golden) = data("golden_words.csv") else { return };
    let text = std::fs::read_to_string(&golden).unwrap();
    let expected = rows(&text);
    let disassembled = seqjit(["disasm", "--words", &golden.display().to_string()]).expect(0);
    let found = rows(&disassembled.stdout);
    assert_eq!(found.len(), 454);
    for (found, expected) in found.iter().zip(&expected) {
        for column in ["word_hex", "engine", "gen", "opcode", "sem_names", "origin"] {
            assert_eq!(found[column], expected[column]);
        }
        // Rows of containers have no vendor text.
        if ["device", "listing", "lowered"].iter().any(|origin| expected["origin"] == *origin) {
            assert_eq!(found["operand_text"], expected["operand_text"], "{expected}");
        }
    }
    let assembled = seqjit_with(["asm", "--words", "-"], &disassembled.stdout).expect(0);
    for (found, expected) in rows(&assembled.stdout).iter().zip(&expected) {
        assert_eq!(found["word_hex"], expected["word_hex"], "{expected}");
    }
    // The same through JSON.
    let document = seqjit_with(["disasm", "--words", "-", "--json"], &text).expect(0).json();
    assert_eq!(document["words"].as_array().unwrap().len(), 454);
    assert_eq!(document["words"][1]["operand_text"], "$E[4]==1- cycle=1");
}

#[test]
fn bad_rows_are_located() {
    let word = Word::new(0xA4).to_hex();
    let fail = |subcommand: &str, text: &str, code, kind: &str| {
        seqjit_with([subcommand, "--words", "-", "--json"], text).error(code, kind)
    };
    let error = fail("disasm", "word_hex,engine\n", 3, "bad_input");
    assert_eq!(error["line"], 1);
    for (row, column) in [
        (format!("{},PE,v3", &word[1..]), "word_hex"),
        (format!("{word},CPU,v3"), "engine"),
        (format!("{word},PE,v9"), "gen"),
    ] {
        let text = format!("word_hex,engine,gen\n{word},PE,v3\n{row}\n");
        let error = fail("disasm", &text, 3, "bad_input");
        assert_eq!((&error["line"], &error["field"]), (&3.into(), &column.into()));
    }
    let unknown = Word::new(0xEE).to_hex();
    let error = fail("disasm", &format!("word_hex,engine,gen\n{unknown},PE,v3\n"), 4, "illegal_program");
    assert_eq!((&error["line"], &error["expected"]), (&2.into(), &"an opcode of cayman".into()));
    fail("disasm", "word_hex,engine,gen\n1,2\n", 3, "bad_input");
    let head = "engine,gen,opcode,operand_text\n";
    let error = fail("asm", &format!("{head}PE,v3,NOP,cycle=x\n"), 3, "bad_input");
    assert_eq!((&error["field"], &error["byte_offset"]), (&"operand_text".into(), &6.into()));
    let error = fail("asm", &format!("{head}PE,v3,NOSUCH,\n"), 3, "bad_input");
    assert_eq!((&error["field"], &error["found"]), (&"opcode".into(), &"NOSUCH".into()));
    let text = seqjit_with(["asm", "--words", "-"], &format!("{head}PE,v3,NOP,cycle=x\n")).expect(3);
    assert!(text.stderr.contains("`-` line 2: operand_text is `x`"), "{}", text.stderr);
}

/// As in listings of programs: the other rows are there, and the row says why it has no text.
#[test]
fn rows_that_do_not_decode_are_listed() {
    let (good, unknown) = (Word::new(0xA4), Word::new(0xEE));
    let mut short = good;
    short.0[1] = 4;
    let [good, unknown, short] = [good, unknown, short].map(|w| w.to_hex());
    let input = format!("word_hex,engine,gen\n{unknown},PE,v3\n{good},PE,v3\n{short},PE,v3\n");
    let ended = seqjit_with(["disasm", "--words", "-"], &input).expect(4);
    let check = |rows: &[Value]| {
        let column = |name: &str| rows.iter().map(|r| r[name].as_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(column("word_hex"), [&unknown, &good, &short]);
        assert_eq!(column("opcode"), ["", "NOP", ""]);
        assert_eq!(column("operand_text"), ["", "cycle=0", ""]);
        let errors = column("error");
        assert!(errors[0].contains("opcode 0xee (byte 0) does not exist on cayman"), "{errors:?}");
        assert!(errors[1].is_empty() && errors[2].contains("byte 1"), "{errors:?}");
    };
    check(&rows(&ended.stdout));
    for text in ["`-`: 2 of 3 words do not decode", "line 2: opcode 0xee", "line 4: "] {
        assert!(ended.stderr.contains(text), "{}", ended.stderr);
    }
    let ended = seqjit_with(["disasm", "--words", "-", "--json"], &input).expect(4);
    check(ended.json()["words"].as_array().unwrap());
    let error = ended.error(4, "illegal_program");
    assert_eq!((&error["line"], &error["field"]), (&2.into(), &"word_hex".into()));
}

/// What is listed can be assembled, whichever engine holds it.
#[test]
fn words_on_engines_that_may_not_run_them_are_warned_about() {
    let (word, allowed) = (Word::new(0x02).to_hex(), Word::new(0xA4).to_hex());
    let input = format!("word_hex,engine,gen\n{allowed},SP,v3\n{word},SP,v3\n");
    let listed = seqjit_with(["disasm", "--words", "-"], &input).expect(0).stdout;
    assert_eq!(rows(&listed)[1]["opcode"], "MATMUL");
    let ended = seqjit_with(["asm", "--words", "-"], &listed).expect(0);
    assert_eq!(rows(&ended.stdout)[1]["word_hex"], word);
    let warning = "`-` line 3: opcode is `MATMUL`, expected an opcode that SP may run";
    assert_eq!(ended.stderr, format!("warning: {warning}\n"));
    let document = seqjit_with(["asm", "--words", "-", "--json"], &listed).expect(0).json();
    assert_eq!((&document["words"][1]["word_hex"], &document["warnings"]), (&word.into(), &json!([warning])));
    let broken = "engine,gen,opcode,operand_text\nSP,v3,MATMUL,blub\n";
    let error = seqjit_with(["asm", "--words", "-", "--json"], broken).error(3, "bad_input");
    assert_eq!((&error["line"], &error["field"]), (&2.into(), &"operand_text".into()));
}

#[test]
fn tables_of_other_systems_are_read() {
    let word = Word::new(0xA4).to_hex();
    for (mark, end) in [("\u{feff}", "\r\n"), ("", "\r\n"), ("\u{feff}", "\n"), ("", "\r")] {
        let text = format!("{mark}word_hex,engine,gen{end}{word},PE,v3{end}{end}{word},SP,v3{end}");
        let listed = seqjit_with(["disasm", "--words", "-"], &text).expect(0).stdout;
        let words: Vec<Value> = rows(&listed).iter().map(|row| row["word_hex"].clone()).collect();
        assert_eq!(words, [word.as_str(), &word]);
        // The blank line counts too.
        for (bad, line) in [(text.replacen("PE", "CPU", 1), 2), (text.replace("SP", "CPU"), 4)] {
            let error = seqjit_with(["disasm", "--words", "-", "--json"], &bad).error(3, "bad_input");
            assert_eq!((&error["line"], &error["field"]), (&line.into(), &"engine".into()), "{bad:?}");
        }
        for (bad, line) in [(text.replacen(",PE", "", 1), 2), (text.replace(",SP", ""), 4)] {
            let error = seqjit_with(["disasm", "--words", "-", "--json"], &bad).error(3, "bad_input");
            assert_eq!(error["line"], line, "{bad:?}");
            assert!(error["message"].as_str().unwrap().contains("2 fields, expected 3"), "{error}");
        }
    }
}

#[test]
fn words_without_names_take_their_columns_only() {
    let input = "engine,gen,opcode,operand_text\nSP,v3,NOP,$S[9]>=2 cycle=3\n";
    let assembled = seqjit_with(["asm", "--words", "-"], input).expect(0);
    let row = &rows(&assembled.stdout)[0];
    let mut word = Word::new(0xA4);
    // Chapter 03 section 2: wait mode 5 (>=), semaphore, value; byte 12 the cycle count.
    word.0[4..12].copy_from_slice(&[5, 9, 0, 0, 2, 0, 0, 0]);
    word.0[12] = 3;
    assert_eq!(row["word_hex"], word.to_hex());
    let back = seqjit_with(["disasm", "--words", "-"], &assembled.stdout).expect(0);
    assert_eq!(rows(&back.stdout)[0]["operand_text"], "$S[9]>=2 cycle=3");
    assert_eq!(seqjit_with(["asm", "--words", "-"], "engine,gen,opcode,operand_text\n").expect(0).stdout, "");
}

#[test]
fn disassembly_of_a_program() {
    let mut small = Small::new();
    small.stream(EngineId::Act).push(Word::new(0xEE));
    let example = Example::of(&small);
    let text = seqjit(["disasm", &example.neff]).expect(0).stdout;
    assert!(text.contains("; core 0 sg00 DVE (Vector), 1 words\n"), "{text}");
    assert!(text.contains("      1  PSEUDO_DMA_TRIGGER $S[21]>=1 q_out block_id=0\n"), "{text}");
    assert!(text.contains("opcode 0xee (byte 0) does not exist on cayman"), "{text}");
    let only = seqjit(["disasm", &example.neff, "--engine", "sync", "--core", "0"]).expect(0).stdout;
    assert!(only.contains(" SP ") && !only.contains(" DVE "), "{only}");
    seqjit(["disasm", &example.neff, "--core", "1", "--json"]).error(2, "usage");
    seqjit(["disasm", &example.neff, "--engine", "CPU", "--json"]).error(2, "usage");

    let document = seqjit(["disasm", &example.neff, "--json"]).expect(0).json();
    let engines = document["cores"][0]["engines"].as_array().unwrap();
    let sp = engines.iter().find(|e| e["engine"] == "SP").unwrap();
    assert_eq!(sp["words"].as_array().unwrap().len(), 3);
    assert_eq!(sp["words"][1]["operand_text"], "$S[21]>=1 q_out block_id=0");
    assert_eq!(sp["words"][1]["word_hex"], small.streams[EngineId::Sp.index()][1].to_hex());
    let act = engines.iter().find(|e| e["engine"] == "ACT").unwrap();
    assert!(act["words"][0]["error"].is_string());
}

/// Listings of vendor programs name semaphores by the rule of chapter 09 section 2.1.
#[test]
fn disassembly_of_a_vendor_program_is_the_profilers() {
    let (Some(neff), Some(golden)) = (vendor("fused_fp32_s512"), data("golden_words.csv")) else { return };
    let document = seqjit(["disasm", &neff, "--core", "0", "--json"]).expect(0).json();
    let golden = rows(&std::fs::read_to_string(golden).unwrap());
    let mut compared = 0;
    for stream in document["cores"][0]["engines"].as_array().unwrap() {
        for word in stream["words"].as_array().unwrap() {
            let known = golden.iter().find(|g| {
                // The recorded run is of this program, so that the names are its names.
                g["origin"] == "device"
                    && g["word_hex"] == word["word_hex"]
                    && g["engine"] == stream["engine"]
            });
            if let Some(known) = known {
                assert_eq!(word["operand_text"], known["operand_text"]);
                compared += 1;
            }
        }
    }
    assert!(compared >= 20, "only {compared} recorded words are in this program");
}

/// The program of the assembler's documentation: y = 2x.
const DOUBLE: &str = "
    program double for cayman
    prologue
    input  x fp32[128, 64]
    output y fp32[128, 64]
    sbuf t fp32[64]
    queue qSPDynamicHW dynamic SP

    SP  load:  DMA x -> t
    DVE twice: TENSOR_TENSOR op=ADD src0=t src1=t dst=t channels=128 after load
    SP  store: DMA t -> y after twice
    SP         NOP after store
";

#[test]
fn text_programs_become_containers() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("double.s"), DOUBLE).unwrap();
    let ended = seqjit(["asm", &path("double.s"), "-o", &path("double.neff")]).expect(0);
    assert!(ended.stdout.starts_with(&path("double.neff")), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
    floats(&[128, 64], |i| i as f32).save(path("x.npy").as_ref()).unwrap();
    floats(&[128, 64], |i| 2.0 * i as f32).save(path("y.npy").as_ref()).unwrap();
    let (x, y) = (format!("x={}", path("x.npy")), format!("y={}", path("y.npy")));
    seqjit(["run", &path("double.neff"), "-i", &x, "--expect", &y, "--check"]).expect(0);
    let document = seqjit(["asm", &path("double.s"), "-o", &path("again.neff"), "--json"]).expect(0).json();
    let neff = std::fs::read(path("again.neff")).unwrap();
    assert_eq!((&document["bytes"], &document["findings"]), (&neff.len().into(), &json!([])));
    assert!(neff == std::fs::read(path("double.neff")).unwrap());
}

#[test]
fn mistakes_in_text_programs_are_located() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("bad.s"), DOUBLE.replace("op=ADD", "op=ADDD")).unwrap();
    let error = seqjit(["asm", &path("bad.s"), "-o", &path("bad.neff"), "--json"]).error(3, "bad_input");
    // Line 1 of the text is empty.
    assert_eq!((&error["line"], &error["found"]), (&10.into(), &"`ADDD`".into()));
    assert!(!directory.path().join("bad.neff").exists());
    std::fs::write(path("odd.s"), DOUBLE.replace("channels=128", "channels=200")).unwrap();
    let ended = seqjit(["asm", &path("odd.s"), "-o", &path("odd.neff")]).expect(0);
    assert!(ended.stderr.contains("odd.s:10:") && ended.stderr.contains("channel-count"), "{}", ended.stderr);
    seqjit(["run", &path("odd.neff"), "--seed", "1"]).expect(4);
    seqjit(["asm", &path("none.s"), "-o", &path("none.neff"), "--json"]).error(10, "io");
    std::fs::write(path("latin.s"), b"program a for cayman\n; na\xEFve\n").unwrap();
    let error = seqjit(["asm", &path("latin.s"), "-o", &path("latin.neff"), "--json"]).error(3, "bad_input");
    assert_eq!((&error["line"], &error["byte_offset"]), (&2.into(), &25.into()));
    assert_eq!((&error["found"], &error["expected"]), (&"0xEF".into(), &"UTF-8 text".into()));
}

#[test]
fn info_counts_what_a_program_holds() {
    let example = Example::new();
    let document = seqjit(["info", &example.neff, "--json"]).expect(0).json();
    assert_eq!((&document["generation"], &document["target"]), (&"v3".into(), &"cayman".into()));
    assert_eq!(document["inputs"][0]["name"], "x");
    assert_eq!(
        (&document["outputs"][0]["bytes"], &document["outputs"][0]["shape"]),
        (&4096.into(), &json!([128, 8]))
    );
    let core = &document["cores"][0];
    assert_eq!(core["words"], 4);
    let stream =
        |engine: &str| core["streams"].as_array().unwrap().iter().find(|s| s["engine"] == engine).unwrap();
    assert_eq!(stream("SP")["opcodes"], json!({ "PSEUDO_DMA_TRIGGER": 2, "EVENT_SEMAPHORE": 1 }));
    assert_eq!((&stream("SP")["waiting"], &stream("DVE")["waiting"]), (&2.into(), &1.into()));
    let queue = core["queues"].as_array().unwrap().iter().find(|q| q["name"] == "q_in").unwrap();
    assert_eq!((&queue["owner"], &queue["type"], &queue["blocks"]), (&"SP".into(), &"in".into(), &1.into()));
    assert_eq!(queue["dma_bytes"], json!({ "read": 4096, "written": 4096 }));
    let spare = core["variables"].as_array().unwrap().iter().find(|v| v["name"] == "spare").unwrap();
    assert_eq!((&spare["id"], &spare["type"], &spare["size"]), (&3.into(), &"tmp-buf".into(), &64.into()));
    assert_eq!(document["findings"], json!([]));
    let text = seqjit(["info", &example.neff]).expect(0).stdout;
    assert!(text.ends_with("\nevery word can run\n"), "{text}");
}

#[test]
fn info_lists_words_that_cannot_run() {
    let mut small = Small::new();
    small.stream(EngineId::Act).push(Word::new(0xEE));
    let example = Example::of(&small);
    let document = seqjit(["info", &example.neff, "--json"]).expect(0).json();
    let finding = &document["findings"][0];
    assert_eq!(
        (&finding["engine"], &finding["word"], &finding["rule"]),
        (&"ACT".into(), &0.into(), &"opcode".into())
    );
    let text = seqjit(["info", &example.neff]).expect(0).stdout;
    assert!(text.contains("words that cannot run (1)\n  core 0 ACT word 0 (opcode 0xEE)"), "{text}");
}

/// Counts of the test data's README, section 2 and 3.
#[test]
fn info_of_vendor_programs() {
    let cases = [
        ("trn1_stream_add_256k_fd1k", "v2", [1, 1, 5, 3, 5], 1),
        ("trn2_transpose_1024", "v3", [187, 67, 130, 2, 67], 2),
        ("fused_fp32_s512", "v3", [124, 11, 7, 19, 3], 2),
        ("trn1_autocomp_2", "v2", [98, 110, 70, 322, 2], 1),
    ];
    for (name, generation, words, cores) in cases {
        let Some(neff) = vendor(name) else { return };
        let document = seqjit(["info", &neff, "--json"]).expect(0).json();
        assert_eq!(document["generation"], generation);
        assert_eq!(document["cores"].as_array().unwrap().len(), cores);
        let streams = document["cores"][0]["streams"].as_array().unwrap();
        let found: Vec<i64> = streams.iter().map(|s| s["words"].as_i64().unwrap()).collect();
        assert_eq!(found, words, "{name}");
        assert_eq!(document["findings"], json!([]), "{name}");
        if name == "fused_fp32_s512" {
            assert_eq!(streams[0]["opcodes"]["MATMUL"], 60);
            let bytes: i64 = streams.iter().map(|s| s["dma_bytes"]["read"].as_i64().unwrap()).sum();
            assert_eq!(bytes, 1_114_112);
            assert_eq!(document["cores"][0]["activation_sets"], json!(["exp_and_others"]));
        }
    }
}

#[test]
fn the_instruction_set() {
    let all = seqjit(["isa", "--json"]).expect(0).json();
    // Chapter 03 section 8: 172 opcodes, of which 145 exist on SUNDA.
    assert_eq!(all["opcodes"].as_array().unwrap().len(), 172);
    let sunda = seqjit(["isa", "--generation", "sunda", "--json"]).expect(0).json();
    assert_eq!(sunda["opcodes"].as_array().unwrap().len(), 145);
    let text = seqjit(["isa"]).expect(0).stdout;
    for info in OPCODES {
        assert!(text.contains(&format!("0x{:02X}  {} ", info.byte, info.name)), "{}", info.name);
        let document = seqjit(["isa", info.name, "--json"]).expect(0).json();
        assert_eq!(document["byte"], info.byte);
    }
}

#[test]
fn one_opcode_of_the_instruction_set() {
    for name in ["TENSOR_REDUCE_ARITH_OP", "tensor_reduce", "0x42", "42"] {
        let document = seqjit(["isa", name, "--generation", "v3", "--json"]).expect(0).json();
        assert_eq!(
            (&document["name"], &document["display"]),
            (&"TENSOR_REDUCE_ARITH_OP".into(), &"TENSOR_REDUCE".into())
        );
        assert_eq!(document["engines"], json!(["POOL", "DVE"]));
        let form = &document["forms"][0];
        assert_eq!(form["struct"], "S4D4_TR");
        let field = |name: &str| {
            form["fields"].as_array().unwrap().iter().find(|f| f["name"] == name).unwrap().clone()
        };
        // Chapter 09 section 2.2: byte 36 the operator, byte 37 the dimensions.
        assert_eq!(field("op")["offset"], 36);
        assert_eq!(field("op_dim")["offset"], 37);
        assert_eq!(field("op_dim")["members"]["X"], 2);
        assert!(form["text_form"].as_str().unwrap().starts_with("op="), "{form}");
    }
    let four = seqjit(["isa", "MATMUL", "--json"]).expect(0).json();
    assert_eq!(four["forms"].as_array().unwrap().len(), 4);
    let extended = seqjit(["isa", "EXTENDED_INST", "--json"]).expect(0).json();
    assert_eq!(extended["forms"][1]["byte_12"], 2);
    let refused = seqjit(["isa", "RAND", "--json"]).expect(0).json();
    assert_eq!((&refused["runs"], refused["reason"].is_string()), (&"no".into(), true));
    let text = seqjit(["isa", "MATMUL", "--generation", "v3"]).expect(0).stdout;
    assert!(text.contains("struct S3D3_MM_V3 (v3)") && !text.contains("S3D3_MM_V2"), "{text}");
    seqjit(["isa", "NOSUCH", "--json"]).error(2, "usage");
    seqjit(["isa", "LDTAGS", "--generation", "v2", "--json"]).error(2, "usage");
}

#[test]
fn help_names_every_exit_code() {
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let help = seqjit(args).expect(0).stdout;
        assert!(
            help.contains("Exit codes:")
                && help.contains("11  the program ended before a --dump or --until point")
        );
    }
    for subcommand in ["run", "info", "disasm", "asm", "isa"] {
        let help = seqjit([subcommand, "--help"]).expect(0).stdout;
        assert!(help.contains("--json"), "{help}");
    }
    assert!(seqjit(["--version"]).expect(0).stdout.starts_with("seqjit "));
}
