//! The debugger as its users meet it: scripts and conversations with the command. Expected values are
//! calculated by hand from the programs below.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use seqjit::neff::{EngineSource, GraphSource, HostTensor, NeffBuilder, ReadOptions, Variable, VariableKind};
use seqjit::runtime::isa::text::{Names, assemble};
use seqjit::runtime::isa::{Dtype, EngineId, Generation};
use seqjit::runtime::machine::HBM_BASE;
use tempfile::TempDir;

/// Words of an engine: opcode and text.
type Stream<'a> = (EngineId, &'a [(&'a str, &'a str)]);

/// POOL writes 1.0 to bytes 0x100 to 0x13f of partitions 0 and 1; DVE waits for that and overwrites bytes 0x120
/// to 0x12f of partition 0 with zero; SP counts R1 down from 5. With the word of [`write`] 1 + 4 + 3 + 12 words run.
const PROGRAM: [Stream<'static>; 3] = [
    (
        EngineId::Pool,
        &[
            ("MOVE", "S[3]++@complete data=7 dst=$R[1] dtype=int32"),
            ("MOVE", "data=9 dst=$R[2] dtype=uint32"),
            ("MEMSET", "S[3]++@complete value=0x3f800000 dst=fp32@0x100[1,1,1,1][16,1,1,1] channels=2"),
            ("NOP", ""),
        ],
    ),
    (
        EngineId::Dve,
        &[
            ("NOP", "S[3]>=2"),
            ("MEMSET", "S[5]++@complete value=0x0 dst=fp32@0x120[1,1,1,1][4,1,1,1] channels=1"),
            ("NOP", ""),
        ],
    ),
    (
        EngineId::Sp,
        &[
            ("MOVE", "data=5 dst=$R[1] dtype=int32"),
            (
                "ALU_OP",
                "op=SUBTRACT dtype=int32 src1_datasrc=IMMEDIATE dst_dtype=int32 src0_lo=1 dst_lo=1 immediate=0x1",
            ),
            (
                "COMPARE_BRANCH",
                "cmp_op=GT dtype=int32 cmp0=$R[1] cmp1=0 target_mode=RELATIVE br_immediate=0xffffffc0",
            ),
            ("NOP", ""),
        ],
    ),
];

/// Writes a program for CAYMAN. Its PE sets the output `y`, one uint32, to 42: a program has an output.
fn write(directory: &Path, streams: &[Stream<'_>]) -> std::path::PathBuf {
    let mut graph = GraphSource::default();
    graph.def.variables.push(Variable::new("SB", 0, VariableKind::StateBuffer, None));
    graph.def.variables.push(Variable::new("y", 1, VariableKind::Output, Some(4)));
    graph.def.reservations = Some(Vec::new());
    let set_output = format!("data=0x2a size=4 dst={HBM_BASE:#x}");
    let own = [("WRITE", set_output.as_str())];
    for (engine, words) in streams.iter().chain(&[(EngineId::Pe, own.as_slice())]) {
        let word = |(opcode, text): &(&str, &str)| {
            let word = assemble(opcode, text, *engine, Generation::Cayman, &Names::new());
            word.unwrap_or_else(|e| panic!("{opcode} {text}: {e}")).0
        };
        let bytes: Vec<u8> = words.iter().flat_map(word).collect();
        graph.engines[engine.index()] = EngineSource { stream: bytes.into(), ..EngineSource::default() };
    }
    let mut builder = NeffBuilder::new("debugged", Some(Generation::Cayman));
    builder.outputs.push(HostTensor { name: "y".to_owned(), shape: vec![1], dtype: Dtype::UINT32 });
    builder.graphs.push(graph);
    let path = directory.join("program.neff");
    std::fs::write(&path, builder.build(&ReadOptions::default()).unwrap().write()).unwrap();
    path
}

/// Runs a script on a program.
fn script(neff: &Path, options: &[&str], text: &str) -> Output {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_seqjit"));
    command.arg("debug").arg(neff).args(options).arg("--script").arg(file.path());
    command.output().unwrap()
}

/// What a script that succeeds prints behind each of its commands, in order.
fn answers(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    let answer =
        |part: &str| part.split_once('\n').map_or(String::new(), |(_, rest)| rest.trim_end().to_owned());
    text.split("(seqjit) ").skip(1).map(answer).collect()
}

#[track_caller]
fn has(answer: &str, parts: &[&str]) {
    for part in parts {
        assert!(answer.contains(part), "`{part}` is not in:\n{answer}");
    }
}

#[test]
fn a_script_watches_breaks_steps_compares_and_resumes() {
    let directory = TempDir::new().unwrap();
    let neff = write(directory.path(), &PROGRAM);
    let output = script(
        &neff,
        &[],
        "break dve 1\nwatch sbuf 0 0x120 16\ncontinue\nprint sbuf 0-1 0x13c 2 fp32\nsave before\ncontinue\n\
         step\ncompare before\nprint sbuf 0 0x11c 6 fp32\nbreaks\nfinish # to the end\ncompare before before\n",
    );
    let answers = answers(&output);
    let [_, _, watched, ones, _, broke, stepped, compared, after, breaks, finished, same] = &answers[..]
    else {
        panic!("{answers:#?}")
    };
    has(
        watched,
        &[
            "break 2: core 0 sbuf partition 0 bytes 0x120 to 0x12f written by core 0 POOL word 2 (MEMSET)",
            "after 4 words",
        ],
    );
    // The MEMSET ends at byte 0x13f.
    has(ones, &["  0 [0] 1.0 0.0", "  1 [0] 1.0 0.0"]);
    has(
        broke,
        &[
            "break 1: core 0 DVE word 1",
            "DVE stopped before word 1 (MEMSET): instruction breakpoint",
            "run state 4",
        ],
    );
    has(
        stepped,
        &[
            "break 2: core 0 sbuf partition 0 bytes 0x120 to 0x12f written by core 0 DVE word 1 (MEMSET)",
            "DVE ran 1 of 1 words",
            "stopped before word 2 (NOP): step count used up",
            "run state 64",
        ],
    );
    // 1.0 is 00 00 80 3f: of the four elements, the upper halves differ.
    has(
        compared,
        &[
            "core 0 DVE next word: 0 -> 2",
            "core 0 DVE words ran: 0 -> 2",
            "core 0 POOL words ran: 3 -> 4",
            "core 0 semaphore 5: 0 -> 1",
            "core 0 sbuf partition 0 bytes 0x122 to 0x12f: 8 differ",
            "core 0 DVE nx.run_state: 0x0 -> 0x40",
        ],
    );
    for unchanged in ["partition 1", "psum", "semaphore 3", "POOL R", "SP"] {
        assert!(!compared.contains(unchanged), "{unchanged}: {compared}");
    }
    has(after, &["[0] 1.0 0.0 0.0 0.0 0.0 1.0"]);
    has(breaks, &["break 1: core 0 DVE word 1; 1 hits", "partition 0 bytes 0x120 to 0x12f; 2 hits"]);
    has(finished, &["finished: all streams have ended", "; 20 words,"]);
    has(same, &["nothing differs"]);
}

/// Every second element is written; those between are not.
#[test]
fn a_watch_sees_the_bytes_that_a_strided_word_writes_and_no_others() {
    let directory = TempDir::new().unwrap();
    let words = [("MEMSET", "value=0x0 dst=fp32@0x0[2,1,1,1][8,1,1,1] channels=3"), ("NOP", "")];
    let neff = write(directory.path(), &[(EngineId::Dve, &words)]);
    let text = "watch sbuf 0-2 4 4\nwatch sbuf 3 8 4\nwatch sbuf 1 8 2 if sem 3 == 1\nwatch sbuf 2 56 8\nc\nc\nbreaks\n";
    let answers = answers(&script(&neff, &[], text));
    // The last of 8 elements is bytes 56 to 59; the memory was zero before.
    let expected =
        "break 4: core 0 sbuf partition 2 bytes 0x38 to 0x3f written by core 0 DVE word 0 (MEMSET)";
    has(&answers[4], &[expected]);
    has(&answers[5], &["finished"]);
    has(
        &answers[6],
        &[
            "partitions 0 to 2 bytes 0x4 to 0x7; 0 hits",
            "partition 3 bytes 0x8 to 0xb; 0 hits",
            "== 1; 0 hits",
            "0x3f; 1 hits",
        ],
    );
}

#[test]
fn conditions_of_registers_semaphores_and_opcodes_stop_runs() {
    let directory = TempDir::new().unwrap();
    let neff = write(directory.path(), &PROGRAM);
    let output = script(
        &neff,
        &[],
        "b sem 3 >= 2\nc\nsems\nb op COMPARE_BRANCH if reg sp R1 == 2\nb sp 1 if reg sp 1 == 1 and sem 5 == 1\n\
         b sp 0 if sem 5 >= 2\nc\nregs sp R1\nlist sp 1 2\nc\nregs sp R1\ndelete 2\ndelete 3\nc\nregs\nengines\n",
    );
    let answers = answers(&output);
    has(
        &answers[1],
        &["break 1: core 0 semaphore 3 is 2 after core 0 POOL word 2 (MEMSET)", "after 4 words"],
    );
    has(&answers[2], &["core 0 semaphore 3 (GpSimd) = 2", "255 semaphores are zero"]);
    has(&answers[3], &["break 2: opcode COMPARE_BRANCH, 1 words if core 0 SP R1 == 2"]);
    // R1 is 4, 3, 2 when SP comes to the branch; then 1 when it comes to the subtraction again.
    has(&answers[6], &["break 2:", "SP stopped before word 2 (COMPARE_BRANCH)"]);
    has(&answers[7], &["SP R1 = 0x00000002 2 "]);
    has(&answers[8], &["   ", "1 ALU_OP", "=>b     2 COMPARE_BRANCH"]);
    assert!(answers[8].lines().next().unwrap().starts_with("  b     1"), "{}", answers[8]);
    has(&answers[9], &["break 3:", "SP stopped before word 1 (ALU_OP)"]);
    has(&answers[10], &["SP R1 = 0x00000001 1 "]);
    has(&answers[13], &["finished", "; 20 words,"]);
    has(&answers[14], &["66 registers are zero"]);
    has(
        &answers[15],
        &[
            "core 0 SP       12 words ran",
            "core 0 POOL      4 words ran",
            "halted: a HALT word, or the end of its stream; run state 0",
        ],
    );
}

#[test]
fn a_break_at_the_word_at_which_an_engine_waits_stops_it_there() {
    let directory = TempDir::new().unwrap();
    let neff = write(
        directory.path(),
        &[(EngineId::Act, &[("NOP", "S[9]>=1")]), (EngineId::Sp, &[("NOP", "S[9]++@complete")])],
    );
    // ACT takes its turns before SP: it waits when the run stops behind the word of PE.
    let text = "watch dram y 0 4\nc\nprint dram y 0 1 uint32\nb sp 0\nc\nb act 0\nengines\nc\nc\nc\n";
    let output = script(&neff, &[], text);
    assert_eq!(output.status.code(), Some(3), "the run is over at the last line");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = stdout.split("(seqjit) ").skip(1).collect();
    has(
        answers[1],
        &["break 1: dram y bytes 0x0 to 0x3 written by core 0 PE word 0 (WRITE)", "after 1 words"],
    );
    has(answers[2], &["[0] 42"]);
    has(answers[4], &["break 2:", "SP stopped before word 0 (NOP)"]);
    has(
        answers[6],
        &[
            "ACT       0 words ran, next word 0 (NOP): running, waits for semaphore 9 >= 1, which is 0; run state 1",
        ],
    );
    // SP goes on first; its word wakes ACT.
    has(answers[7], &["break 3:", "ACT stopped before word 0 (NOP): instruction breakpoint"]);
    has(answers[8], &["finished", "; 3 words,"]);
}

/// Breaks and steps do not change what a program does.
#[test]
fn steps_stop_at_breaks_and_loops_are_followed() {
    let directory = TempDir::new().unwrap();
    let neff = write(directory.path(), &PROGRAM);
    let text = "step sp 4\nregs sp R1\nbreak sp 1 if reg sp R1 == 2\nstep sp 100\nregs sp R1\nstep\nregs R1\n\
                restart\nregs sp R1\nfinish\nengines\ncontinue\n";
    let output = script(&neff, &[], text);
    assert_eq!(output.status.code(), Some(3), "there is nothing to continue");
    has(&String::from_utf8_lossy(&output.stderr), &["line 12: the run is over; `restart` starts it again"]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = stdout.split("(seqjit) ").skip(1).collect();
    // MOVE, SUBTRACT, branch, SUBTRACT.
    has(answers[0], &["SP ran 4 of 4 words", "before word 2"]);
    has(answers[1], &["R1 = 0x00000003"]);
    // Branch, SUBTRACT, branch; R1 is 2.
    has(answers[3], &["break 1:", "SP ran 3 of 100 words", "before word 1"]);
    has(answers[4], &["R1 = 0x00000002"]);
    has(answers[5], &["SP ran 1 of 1 words"]);
    has(answers[6], &["R1 = 0x00000001"]);
    has(answers[8], &["R1 = 0x00000000"]);
    has(answers[9], &["finished", "; 20 words,"]);
}

#[test]
fn the_machine_can_be_changed() {
    let directory = TempDir::new().unwrap();
    let neff = write(
        directory.path(),
        &[(EngineId::Act, &[("NOP", "S[9]>=1"), ("MOVE", "data=$R[4] dst=$R[5] dtype=int32")])],
    );
    let output = script(
        &neff,
        &[],
        "step act\nset sem 9 1\nset reg act R4 0x11\nset sbuf 3 8 bfloat16 1.5 -2\nset csr act lr[7] 5\n\
         set event 8 1\nstep act 2\nregs act\nprint sbuf 3 6 4 bfloat16\nprint sbuf 3 8 4 uint8\ncsr act lr[7]\nsems\nfinish\n",
    );
    let answers = answers(&output);
    has(&answers[0], &["ACT: 0 words ran; word 0 (NOP) waits for semaphore 9 >= 1, which is 0"]);
    has(&answers[6], &["ACT ran 2 of 2 words"]);
    has(&answers[7], &["R4 = 0x00000011 17", "R5 = 0x00000011 17", "64 registers are zero"]);
    has(&answers[8], &["[0] 0.0 1.5 -2.0 0.0"]);
    // 1.5 is 0x3fc0, -2 is 0xc000.
    has(&answers[9], &["[0] 192 63 0 192"]);
    has(&answers[10], &["lr[7].value (0x10e0) = 0x5, at reset 0x0"]);
    has(&answers[11], &["semaphore 9 = 1", "event 8 is set"]);
    has(&answers[12], &["finished", "; 3 words,"]);
}

#[test]
fn deadlocks_and_faults_are_explained() {
    let directory = TempDir::new().unwrap();
    let neff = write(directory.path(), &[(EngineId::Act, &[("NOP", "S[9]>=1")])]);
    let answers_of = |text| answers(&script(&neff, &[], text));
    has(
        &answers_of("continue\nengines\n")[0],
        &["deadlock", "core 0 ACT word 0 (NOP) waits for semaphore[9] >= 1, which is 0"],
    );
    // The branch leaves the stream of two words: only reached, it shows.
    let jump = "cmp_op=ALWAYS target_mode=REGISTER target_reg_lo=1 target_reg_hi=2";
    let words = [("MOVE", "data=0x4000 dst=$R[1] dtype=int32"), ("COMPARE_BRANCH", jump)];
    let neff = write(directory.path(), &[(EngineId::Sp, &words)]);
    let all = answers(&script(&neff, &[], "continue\nengines\nregs R1\n"));
    has(
        &all[0],
        &[
            "fault at core 0 SP word 256: instruction fetch at 0x4000: lies in no stream of this engine",
            "sent to an address where none of its words is",
            "run state 16",
        ],
    );
    has(
        &all[1],
        &["* core 0 SP        2 words ran", "dead after a fatal error, until a restart; run state 16"],
    );
    has(&all[2], &["R1 = 0x00004000"]);
}

/// Commands that are refused, and part of what is said.
const REFUSED: [(&str, &str); 20] = [
    ("jump 3", "no command `jump`"),
    ("break", "ENGINE is missing; the form is: break"),
    ("break cpu 3", "ENGINE is `cpu`, expected PE, ACT, POOL, DVE or SP"),
    ("break 1.pe 3", "CORE is `1`, expected a number from 0 to 0"),
    ("break dve 3", "core 0 DVE has no word 3; its stream has 3 words, counted from 0"),
    ("break dve 1 if sem 256 > 0", "INDEX is `256`, expected a number from 0 to 255"),
    ("break dve 1 if sem 3 => 0", "RELATION is `=>`"),
    ("break dve 1 when", "`when` is too much"),
    ("break op JUMP", "OPCODE is `JUMP`"),
    ("break op MATMUL", "no stream of the engines asked for has a word MATMUL"),
    ("watch sbuf 128 0 4", "PARTITION is `128`, expected a number from 0 to 127"),
    ("watch psum 0 16384 4", "4 bytes from byte 16384 are not inside the 16384 bytes that there are"),
    ("watch dram nothing 0 4", "no variable `nothing`"),
    ("delete 7", "no break 7"),
    ("regs pe R64", "REGISTER is `R64`"),
    ("csr pe nothing", "REGISTER is `nothing`"),
    ("print sbuf 0 0 1 float", "DTYPE is `float`"),
    ("set sbuf 0 0 int8 128", "VALUE is `128`, expected a number of int8"),
    ("set sem 3 0x100000000", "VALUE is `0x100000000`"),
    ("compare nothing", "no state `nothing` is saved"),
];

#[test]
fn a_refused_command_ends_a_script_and_names_its_line() {
    let directory = TempDir::new().unwrap();
    let neff = write(directory.path(), &PROGRAM);
    for (command, message) in REFUSED {
        let output = script(&neff, &[], &format!("# refused\n\nengines\n{command}\nfinish\n"));
        assert_eq!(output.status.code(), Some(3), "{command}");
        has(&String::from_utf8_lossy(&output.stderr), &[" line 4: ", message]);
        assert!(!String::from_utf8_lossy(&output.stdout).contains("finished"), "{command}");
    }
}

#[test]
fn a_refused_command_does_not_end_a_conversation() {
    let directory = TempDir::new().unwrap();
    let neff = write(directory.path(), &PROGRAM);
    let mut command = Command::new(env!("CARGO_BIN_EXE_seqjit"));
    command.arg("debug").arg(&neff).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for (command, _) in REFUSED {
        writeln!(input, "{command}").unwrap();
    }
    writeln!(input, "breaks\nfinish\nhelp watch\nquit\nrestart").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for ((command, message), line) in REFUSED.iter().zip(&lines) {
        assert!(line.starts_with("error: ") && line.contains(message), "{command}: {line}");
    }
    let rest = &lines[REFUSED.len()..];
    assert_eq!(rest[0], "no breaks", "what is refused leaves nothing behind");
    has(rest[1], &["; 20 words,"]);
    has(rest[2], &["watch MEMORY BYTES"]);
    assert!(!text.contains("at the start"), "quit leaves");
}

/// Two cores: words, memories and states of the second one.
#[test]
fn cores_are_named() {
    let Some(neff) = common::data("neffs/nkipy_matmul_small.neff") else { return };
    let text =
        "break 1.act 3\ncontinue\nlist 3 1\ncore 1\nprint sbuf 5 0 1 uint8\ndelete 1\nbreaks\nfinish\n";
    let answers = answers(&script(&neff, &["--seed", "3"], text));
    has(&answers[1], &["break 1: core 1 ACT word 3", "core 1 ACT stopped before word 3"]);
    assert!(answers[2].starts_with("=>b     3 "), "{}", answers[2]);
    assert_eq!(answers[3], "core 1 of 0 to 1");
    has(&answers[4], &["core 1 sbuf partition 5 byte 0x0 as uint8"]);
    assert_eq!(answers[6], "no breaks");
    has(&answers[7], &["finished"]);
}

/// A real program with transfers: stops of every kind, and its final state (test data README, section 3).
#[test]
fn a_vendors_program_can_be_debugged() {
    let Some(neff) = common::data("neffs/fused_fp32_s512.neff") else { return };
    let text = "break sem 5 >= 17\ncontinue\nsems 5\nbreak dve 9\ncontinue\nlist 9 1\nwatch dram kernel_out 0 16\n\
                save here\ncontinue\ncompare here\nfinish\nsems\n";
    let answers = answers(&script(&neff, &["--seed", "3"], text));
    has(&answers[1], &["break 1: core 0 semaphore 5 is 17 after core 0 "]);
    has(&answers[2], &["= 17"]);
    has(&answers[4], &["break 2: core 0 DVE word 9", "DVE stopped before word 9"]);
    assert!(answers[5].starts_with("=>b     9 "), "{}", answers[5]);
    has(&answers[8], &["break 3: dram kernel_out bytes 0x0 to 0xf written by a transfer of core 0 queue "]);
    has(&answers[9], &["dram kernel_out byte"]);
    has(&answers[10], &["finished"]);
    for (index, value) in [(4, 8), (5, 40), (6, 16), (8, 16), (24, 16), (25, 16), (26, 16), (27, 16)] {
        let found = answers[11].lines().any(|line| {
            line.starts_with(&format!("core 0 semaphore {index}")) && line.ends_with(&format!("= {value}"))
        });
        assert!(found, "semaphore {index}: {}", answers[11]);
    }
    has(&answers[11], &["248 semaphores are zero"]);
}
