//! Errors of the command: kinds, exit codes, locations; nothing panics.

mod cli_support;

use std::process::{Command, Stdio};

use cli_support::*;
use seqjit::runtime::isa::layouts::CTRL_WR;
use seqjit::runtime::isa::{EngineId, Layout, Word, op};

#[test]
fn a_damaged_container_names_member_and_offset() {
    let example = Example::new();
    let good = std::fs::read(&example.neff).unwrap();
    let damage = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = good.clone();
        change(&mut file);
        std::fs::write(example.path("bad.neff"), file).unwrap();
        let error = seqjit(["info", &example.path("bad.neff"), "--json"]).error(3, "bad_input");
        assert_eq!(error["file"], example.path("bad.neff"));
        error
    };
    let error = damage(&|file| file[0x18] = 9);
    assert_eq!((&error["field"], &error["byte_offset"]), (&"neff_version_major".into(), &0x18.into()));
    assert_eq!((&error["found"], &error["expected"]), (&"9".into(), &"0, 1 or 2".into()));
    assert_eq!(error["loader_status"], 10);
    let error = damage(&|file| *file.last_mut().unwrap() ^= 1);
    assert_eq!((&error["field"], &error["byte_offset"]), (&"hash".into(), &0xAC.into()));
    assert!(error["hint"].as_str().unwrap().contains("copy it again"));
    damage(&|file| file.truncate(2000));
    damage(&|file| file.truncate(3));
    damage(&|file| file.clear());
}

#[test]
fn a_missing_file_is_an_io_error() {
    for subcommand in ["run", "info", "disasm"] {
        let error = seqjit([subcommand, "/does/not/exist.neff", "--json"]).error(10, "io");
        assert_eq!(error["file"], "/does/not/exist.neff");
    }
    seqjit(["disasm", "--words", "/does/not/exist.csv", "--json"]).error(10, "io");
    seqjit(["asm", "--words", "/does/not/exist.csv", "--json"]).error(10, "io");
    let ended = seqjit(["info", "/does/not/exist.neff"]).expect(10);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.starts_with("error: cannot read `/does/not/exist.neff`"), "{}", ended.stderr);
}

#[test]
fn the_command_line_is_checked() {
    for args in [
        &["--json"][..],
        &["run", "--json"],
        &["walk", "--json"],
        &["disasm", "--json"],
        &["disasm", "a.neff", "--words", "b.csv", "--json"],
        &["asm", "--json"],
        &["asm", "a.txt", "--json"],
        &["isa", "--generation", "v9", "--json"],
        &["run", "a.neff", "--max-words", "many", "--json"],
    ] {
        seqjit(args).error(2, "usage");
    }
    let ended = seqjit(["run"]).expect(2);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("Usage: seqjit run"), "{}", ended.stderr);
}

#[test]
fn illegal_words_are_listed_before_anything_runs() {
    let mut small = Small::new();
    // No opcode has this byte.
    small.stream(EngineId::Act).push(Word::new(0xEE));
    // Not implemented, and unknown to the manual.
    small.stream(EngineId::Pe).push(Word::new(0x03));
    let example = Example::of(&small);
    let ended = example.run(&["-o", &example.path("out"), "--json"]);
    assert!(!std::path::Path::new(&example.path("out")).exists());
    let error = ended.error(4, "illegal_program");
    // PE comes first in engine order.
    assert_eq!(error["member"], "sg00/PE.bin");
    assert_eq!((&error["core"], &error["engine"], &error["word"]), (&0.into(), &"PE".into(), &0.into()));
    let findings = error["findings"].as_array().unwrap();
    let of = |engine: &str, severity: &str| {
        findings.iter().any(|f| f["engine"] == engine && f["severity"] == severity && f["word"] == 0)
    };
    assert!(of("PE", "unsupported") && of("ACT", "error"), "{findings:#?}");
    let opcode = findings.iter().find(|f| f["engine"] == "ACT").unwrap();
    assert_eq!((&opcode["rule"], &opcode["opcode"]), (&"opcode".into(), &"0xEE".into()));
    let text = example.run(&[]).expect(4);
    assert!(text.stderr.contains("core 0 ACT word 0 (opcode 0xEE)"), "{}", text.stderr);
}

#[test]
fn lenient_turns_some_rules_into_warnings() {
    let mut small = Small::new();
    // Chapter 03 section 9: byte 43 of S4D4_TR is reserved.
    let text = "src=fp32@0x0[1,1,1,1][8,1,1,1] dst=fp32@0x100[1,1,1,1][8,1,1,1] channels=128";
    let mut copy = word(EngineId::Act, "COPY", text);
    copy.0[43] = 1;
    small.stream(EngineId::Act).push(copy);
    let example = Example::of(&small);
    let error = example.run(&["--json"]).error(4, "illegal_program");
    assert_eq!((&error["rule"], &error["word_byte"]), (&"reserved-byte".into(), &43.into()));
    assert_eq!(error["hint"], "--lenient runs it with warnings");
    let ended = example.run(&["--lenient"]).expect(0);
    assert!(ended.stderr.contains("warning: core 0 ACT word 0"), "{}", ended.stderr);
    let document = example.run(&["--lenient", "--json"]).expect(0).json();
    assert!(document["warnings"][0].as_str().unwrap().contains("reserved-byte"));
}

#[test]
fn a_fault_names_the_word_and_the_field() {
    let mut small = Small::new();
    // Nothing is mapped at address 16.
    let load = word(EngineId::Pool, "TENSOR_LOAD", "addr=uint32@0x10[0,0][1,1] data=$R[0]");
    small.stream(EngineId::Pool).extend([word(EngineId::Pool, "NOP", "cycle=0"), load]);
    let example = Example::of(&small);
    let error = example.run(&["-o", &example.path("out"), "--json"]).error(5, "fault");
    assert_eq!(error["cause"], "memory");
    assert_eq!(
        (&error["engine"], &error["word"], &error["member"]),
        (&"POOL".into(), &1.into(), &"sg00/Pool.bin".into())
    );
    assert_eq!((&error["opcode"], &error["byte_offset"]), (&"TENSOR_LOAD".into(), &64.into()));
    assert!(error["operand_text"].as_str().unwrap().contains("uint32@0x10"));
    assert_eq!(std::fs::read_dir(example.path("out")).unwrap().count(), 0);
    let text = example.run(&[]).expect(5);
    assert!(text.stderr.contains("word: TENSOR_LOAD addr=uint32@0x10"), "{}", text.stderr);
}

/// Debug stops end a run and say why (chapter 01 sections 8.3 and 12). PE runs first and sets up DVE, which has
/// not started yet, with two stores of one word. How the other reasons end a run: HALT and the end of a stream
/// as every program does, a fatal error as above.
#[test]
fn every_debug_stop_is_explained() {
    const DVE: u64 = 0x28_02B6_0000;
    const BREAKPOINTS: u64 = DVE + 0x4004;
    // Bit 0 enables breakpoints and bit 4 the first address, which is 0; bit 3 enables the step count.
    let cases = [
        ([(BREAKPOINTS, 1 << 4 | 1), (DVE + 0x4018, 0)], 0, "instruction breakpoint"),
        ([(DVE + 0x14, 1), (DVE + 0x401C, 0)], 0, "external stop"),
        ([(BREAKPOINTS, 1 << 3), (DVE + 0x4008, 1)], 1, "step count used up"),
    ];
    for ([first, second], slot, why) in cases {
        let mut small = Small::new();
        let mut write = Word::new(op::WRITE);
        let (wr_size0, wr_size1) = (4, 4);
        let ((addr0, data0), (addr1, data1)) = (first, second);
        CTRL_WR { wr_size0, wr_size1, addr0, addr1, data0, data1 }.write(&mut write);
        small.stream(EngineId::Pe).push(write);
        small.stream(EngineId::Dve).push(word(EngineId::Dve, "NOP", "cycle=0"));
        let example = Example::of(&small);
        let text = example.run(&[]).expect(5).stderr;
        assert!(text.contains(&format!("core 0 DVE stopped before word {slot}: {why}")), "{why}: {text}");
        let error = example.run(&["--json"]).error(5, "fault");
        assert_eq!(error["word"], slot, "{why}");
    }
}

#[test]
fn check_mode_faults_on_bytes_that_nothing_wrote() {
    let mut small = Small::new();
    let read = "src=fp32@0x8000[1,1,1,1][8,1,1,1] dst=fp32@0x9000[1,1,1,1][8,1,1,1] channels=128";
    small.stream(EngineId::Act).push(word(EngineId::Act, "COPY", read));
    let example = Example::of(&small);
    example.run(&[]).expect(0);
    let error = example.run(&["--check", "--json"]).error(5, "fault");
    assert_eq!((&error["cause"], &error["engine"]), (&"uninitialised".into(), &"ACT".into()));
    assert!(error["found"].as_str().unwrap().contains("0x8000"), "{error}");
}

#[test]
fn a_deadlock_says_who_waits_for_what() {
    let mut small = Small::new();
    small.stream(EngineId::Act).push(word(EngineId::Act, "EVENT_SEMAPHORE", "$S[99]>=3 setter=0"));
    let example = Example::of(&small);
    let error = example.run(&["--json"]).error(6, "deadlock");
    let waiting = error["waiting"].as_array().unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!((&waiting[0]["engine"], &waiting[0]["word"]), (&"ACT".into(), &0.into()));
    assert_eq!(
        (&waiting[0]["index"], &waiting[0]["expected"], &waiting[0]["found"]),
        (&99.into(), &3.into(), &0.into())
    );
    let text = example.run(&[]).expect(6);
    assert!(
        text.stderr.contains("ACT word 0 (EVENT_SEMAPHORE) waits for semaphore[99] >= 3"),
        "{}",
        text.stderr
    );
}

#[test]
fn an_incomplete_output_is_not_written() {
    let mut small = Small::new();
    // Half of the rows.
    let store = &mut small.builder.graphs[0].def.blocks[1].descriptors[0];
    store.sources[0].sizes[1] = 64;
    store.destination.sizes[1] = 64;
    let example = Example::of(&small);
    let error = example.run(&["-o", &example.path("out"), "--json"]).error(8, "incomplete_output");
    assert_eq!((&error["output"], &error["byte_offset"]), (&"y".into(), &2048.into()));
    assert_eq!(std::fs::read_dir(example.path("out")).unwrap().count(), 0);
}

/// 60 GiB of scratch memory: refused where the machine has less, untouched where it has more.
#[test]
fn a_huge_program_is_refused_rather_than_killed() {
    let mut small = Small::new();
    small.builder.graphs[0].def.variables[3].size = Some(60 << 30);
    let ended = Example::of(&small).run(&["--json"]);
    if ended.code != 0 {
        assert_eq!(ended.error(9, "limit")["field"], "--max-memory");
    }
}

/// Readers that go away must not make the command fail or panic.
#[test]
fn a_closed_pipe_is_no_error() {
    let Some(neff) = vendor("trn2_transpose_1024") else { return };
    for args in [
        &["disasm", &neff][..],
        &["disasm", &neff, "--json"],
        &["info", &neff, "--json"],
        &["isa"],
        &["--help"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seqjit"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_io_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_seqjit")).arg("isa").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(10));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
}

/// Words made from noise: every subcommand ends with a documented exit code and one JSON document.
#[test]
fn any_words_end_in_a_result_or_an_error() {
    let mut noise = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        // xorshift64
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise
    };
    for _ in 0..40 {
        let mut small = Small::new();
        for engine in EngineId::ALL {
            for _ in 0..next() % 3 {
                // Half of the words are legal ones with one byte changed.
                let mut word = if next() % 2 == 0 {
                    word(engine, "EVENT_SEMAPHORE", "$S[20]>=1 $S[30]++@complete setter=0")
                } else {
                    Word::new(next() as u8)
                };
                word.0[4 + next() as usize % 60] = next() as u8;
                small.stream(engine).push(word);
            }
        }
        let example = Example::of(&small);
        for args in [&["info"][..], &["disasm"], &["run", "--seed", "1", "--lenient", "--max-words", "1000"]]
        {
            let ended = seqjit(args.iter().copied().chain([example.neff.as_str(), "--json"]));
            assert!((0..=11).contains(&ended.code) && ended.code != 1, "{args:?}: {}", ended.stderr);
            ended.json();
            assert_eq!(ended.stderr, "");
        }
    }
}
