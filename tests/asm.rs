//! The assembler for text programs: every word can be written, sugar gives the words of the manual, mistakes are
//! found where they are.

mod common;

use std::path::Path;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::asm::{AsmError, Assembled, Position, assemble, assemble_program};
use seqjit::neff::{Graph, VariableKind};
use seqjit::runtime::isa::text::{Line, Names};
use seqjit::runtime::isa::{EngineId, Generation, OPCODES, Word, decode};

/// Assembles a program with these statements behind its head.
fn program(generation: Generation, statements: &str) -> Result<Assembled, AsmError> {
    let text = format!("program test for {generation}\noutput o uint8[1]\n{statements}");
    assemble(&text, Path::new("test.s"))
}

fn cayman(statements: &str) -> Assembled {
    program(Generation::Cayman, statements).unwrap_or_else(|e| panic!("{e}\n{statements}"))
}

fn words(assembled: &Assembled, engine: EngineId) -> Vec<Word> {
    assembled.neff.graphs[0].words(engine).collect()
}

fn hex(words: &[Word]) -> Vec<String> {
    words.iter().map(Word::to_hex).collect()
}

/// A word from its bytes: `(offset, bytes)`.
fn word(parts: &[(usize, &[u8])]) -> Word {
    let mut word = Word([0; 64]);
    for (at, bytes) in parts {
        word.0[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    word
}

#[test]
fn every_golden_word_can_be_written() {
    let Some(path) = common::data("golden_words.csv") else { return };
    let mut rows = 0;
    let mut programs: Vec<(Generation, EngineId, String, Vec<Word>)> = Vec::new();
    for row in csv::Reader::from_path(path).unwrap().records() {
        let row = row.unwrap();
        let word = Word::from_hex(&row[0]).unwrap();
        let (engine, generation) = (EngineId::parse(&row[1]).unwrap(), Generation::parse(&row[2]).unwrap());
        let names: Names = row[5].parse().unwrap();
        let line = Line::new(&decode(&word, generation).unwrap(), generation, &names);
        let at = programs.iter().position(|p| (p.0, p.1) == (generation, engine)).unwrap_or_else(|| {
            // Generated DMA needs the engine's queue.
            let queue = format!("queue generated dynamic {engine} semaphores 200..216\n{engine} {{\n");
            programs.push((generation, engine, queue, Vec::new()));
            programs.len() - 1
        });
        programs[at].2 += &format!("  {line}\n");
        programs[at].3.push(word);
        rows += 1;
    }
    assert_eq!(rows, 454);
    for (generation, engine, text, expected) in programs {
        let built = program(generation, &format!("{text}}}\n")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(hex(&words(&built, engine)), hex(&expected), "{generation} {engine}");
    }
}

/// Words of every opcode, all fields filled with bytes that mean nothing in particular.
#[test]
fn words_of_every_opcode_can_be_written() {
    for generation in Generation::ALL {
        let mut text = String::from("queue generated dynamic POOL semaphores 200..216\nPOOL {\n");
        let mut expected = Vec::new();
        for info in OPCODES.iter().filter(|info| info.exists_on(generation)) {
            let mut word = Word::new(info.byte);
            for (i, byte) in word.0.iter_mut().enumerate().skip(2) {
                *byte = (i as u8).wrapping_mul(37) ^ info.byte;
            }
            let line = Line::new(&decode(&word, generation).unwrap(), generation, &Names::new());
            text += &format!("  0x{:02X} {}\n", info.byte, line.text());
            expected.push(word);
        }
        let built = program(generation, &format!("{text}}}\n")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(hex(&words(&built, EngineId::Pool)), hex(&expected), "{generation}");
    }
}

/// Random words of every opcode on every generation, written by name for an engine that may run them: bytes that mean
/// nothing, few bytes that are not zero, and words of the vendor's compiler with some bytes changed.
#[test]
fn random_words_survive_their_text() {
    let golden = golden_words();
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for generation in Generation::ALL {
        for engine in EngineId::ALL {
            let mut text = format!("queue generated dynamic {engine} semaphores 200..216\n{engine} {{\n");
            let (mut expected, mut lines) = (Vec::new(), Vec::new());
            for info in OPCODES.iter().filter(|o| o.exists_on(generation) && o.legal_on(engine)) {
                for n in 0..12 {
                    let word = random_word(&mut rng, info.byte, n % 3, &golden);
                    let decoded = decode(&word, generation).unwrap();
                    let line = Line::new(&decoded, generation, &Names::new()).to_string();
                    assert!(line.starts_with(info.display), "{line}");
                    text += &format!("  {line}\n");
                    expected.push(word);
                    lines.push(line);
                }
            }
            let built = program(generation, &format!("{text}}}\n")).unwrap_or_else(|e| panic!("{e}"));
            let found = words(&built, engine);
            assert_eq!(found.len(), expected.len());
            for ((found, expected), line) in found.iter().zip(&expected).zip(&lines) {
                assert_eq!(found.to_hex(), expected.to_hex(), "{generation} {engine} {line}");
                let again = Line::new(&decode(found, generation).unwrap(), generation, &Names::new());
                assert_eq!(again.to_string(), *line, "{generation} {engine}");
            }
        }
    }
}

/// Words of the vendor's compiler; none without the data.
fn golden_words() -> Vec<Word> {
    let Some(path) = common::data("golden_words.csv") else { return Vec::new() };
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.records().map(|row| Word::from_hex(&row.unwrap()[0]).unwrap()).collect()
}

fn random_word(rng: &mut ChaCha8Rng, opcode: u8, kind: usize, golden: &[Word]) -> Word {
    let templates: Vec<&Word> = golden.iter().filter(|w| w.opcode() == opcode).collect();
    let mut word = Word::new(opcode);
    let body = 2..word.0.len();
    let changed = match kind {
        0 => body.len(),
        1 => rng.random_range(0..8),
        _ => {
            if !templates.is_empty() {
                word = *templates[rng.random_range(0..templates.len())];
            }
            rng.random_range(0..4)
        }
    };
    if changed == body.len() {
        word.0[body].iter_mut().for_each(|byte| *byte = rng.random());
        return word;
    }
    for _ in 0..changed {
        let value = *[1, 2, 5, 0x10, 0x7F, 0x80, 0xFF].choose(rng).unwrap_or(&0);
        word.0[rng.random_range(body.clone())] = if rng.random() { value } else { rng.random() };
    }
    word
}

/// The generated DMA of chapter 10 section 16, in the form that containers have (chapter 10 section 5): the table
/// form stays, the State Buffer is variable 0.
#[test]
fn a_transfer_is_the_vendors_word() {
    let built = cayman(
        "input q fp32[128, 512]
         table t = [q]
         queue qSyncDynamicHW dynamic SP semaphores 24..40
         sbuf tile fp32[512] at 0x367F8
         SP DMA q -> tile",
    );
    let expected = word(&[
        (0, &[0xD4, 0x10]),
        (12, &[0, 0x18, 0x10, 0]),
        (16, &[0, 0, 0, 0, 0, 0, 0, 0x20]),
        (24, &[0x00, 0x08, 0, 0, 1, 0, 0, 0]),
        (32, &[0x80, 0, 1, 0, 0, 8]),
        (40, &[0xF8, 0x67, 3, 0, 0, 0, 0, 0x10]),
        (48, &[0, 0, 4, 0, 1, 0, 0, 0]),
        (56, &[0x80, 0, 1, 0, 0, 8, 0x0A, 0x0A]),
    ]);
    assert_eq!(hex(&words(&built, EngineId::Sp)), hex(&[expected]));
}

/// Casts count the bytes of each side; a step of 0 repeats a row for every partition; runs are as long as both
/// sides allow.
#[test]
fn transfers_take_their_shape_from_both_sides() {
    let built = cayman(
        "input x fp32[128, 64]
         input g fp32[32]
         output y bfloat16[64, 128]
         queue q dynamic SP
         sbuf a bfloat16[64]
         sbuf b fp32[32]
         sbuf c fp32[2, 64]
         SP DMA x -> a
         SP DMA g[*128, :] -> b
         SP DMA x[:+64, ::2] -> c[0, :+32]
         SP DMA a -> y[:, 64:]",
    );
    let field = |n: usize, at: usize, size: usize| {
        let w = words(&built, EngineId::Sp)[n];
        w.0[at..at + size].iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b))
    };
    // Source: element bytes, step and count of the two dimensions; the same of the destination.
    let shape = |n: usize| {
        let side = |at: usize| {
            [
                field(n, at + 20, 2),
                field(n, at + 8, 4),
                field(n, at + 16, 2),
                field(n, at + 12, 4),
                field(n, at + 18, 2),
            ]
        };
        (side(16), side(40), field(n, 62, 2))
    };
    let (fp32, bf16) = (0x0A, 0x06);
    assert_eq!(shape(0), ([256, 256, 128, 1, 1], [128, 0x4_0000, 128, 1, 1], fp32 | bf16 << 8));
    assert_eq!(shape(1), ([128, 0, 128, 1, 1], [128, 0x4_0000, 128, 1, 1], fp32 | fp32 << 8));
    // Every second element of whole rows is one walk over the rows.
    assert_eq!(shape(2), ([4, 8, 2048, 1, 1], [4, 4, 32, 0x4_0000, 64], fp32 | fp32 << 8));
    assert_eq!(shape(3), ([128, 0x4_0000, 64, 1, 1], [128, 256, 64, 1, 1], bf16 | bf16 << 8));
    // Semaphores of the set in turn.
    assert_eq!([0, 1, 2, 3].map(|n| field(n, 13, 1)), [8, 9, 10, 11]);
}

/// Blocks as compilers write them (chapter 10 section 4).
#[test]
fn static_transfers_make_blocks() {
    let built = cayman(
        "input a fp32[128, 1000]
         input i int8[128, 128]
         sbuf t fp32[1000]
         sbuf u fp32[128]
         queue qSPIO0 in SP semaphores 8..24 {
             block 7 semaphore 40 {
                 copy a -> t
                 cast i -> u
             }
             block 1 {
                 copy fp32@a+400[1, 4000][4, 128] -> fp32@SB+(t)[1, 0x40000][4, 128]
             }
         }
         SP PSEUDO_DMA_TRIGGER qSPIO0 block_id=7
         SP DMA a -> t queue=qSPIO0",
    );
    let graph = &built.neff.graphs[0];
    let blocks: Vec<_> = graph.blocks().collect();
    let sides = |block: usize, descriptor: usize| {
        let d = &blocks[block].descriptors[descriptor];
        let side =
            |a: &seqjit::neff::Access| (a.variable.clone(), a.offset, a.sizes.clone(), a.steps.clone());
        (d.op.name(), side(&d.sources[0]), side(&d.destination))
    };
    let rows =
        |variable: &str, offset, run, step| (variable.to_owned(), offset, vec![run, 128], vec![1, step]);
    let t = 0x4000;
    assert_eq!(
        blocks.iter().map(|b| (b.id, b.semaphore)).collect::<Vec<_>>(),
        [(7, Some(40)), (1, Some(9)), (8, Some(10))]
    );
    // The input is one run; the tile is one run a partition.
    assert_eq!(sides(0, 0).1, ("a".to_owned(), 0, vec![512_000], vec![1]));
    assert_eq!(sides(0, 0).2, rows("SB", t, 4000, 262_144));
    assert_eq!(
        sides(0, 1),
        ("cast", ("i".to_owned(), 0, vec![16_384], vec![1]), rows("SB", t + 4032, 512, 262_144))
    );
    assert_eq!(sides(1, 0), ("copy", rows("a", 400, 4, 4000), rows("SB", t, 4, 262_144)));
    assert_eq!(sides(2, 0), ("copy", rows("a", 0, 4000, 4000), rows("SB", t, 4000, 262_144)));
    // The trigger names the block that the statement made.
    let trigger = words(&built, EngineId::Sp)[1];
    assert_eq!((&trigger.0[12..19], trigger.0[48]), (&b"qSPIO0\0"[..], 8));
    let queue = graph.def.queue("qSPIO0").unwrap();
    assert_eq!((queue.rings, &queue.semaphore_set[..]), (16, &(8..24).collect::<Vec<u8>>()[..]));
}

#[test]
fn waits_for_labels_are_counted_and_spread_over_words() {
    let built = cayman(
        "input x fp32[128, 8]
         queue q dynamic SP semaphores 8..10
         sbuf t fp32[4, 8]
         SP   load[0]: DMA x -> t[0]
         SP   load[1]: DMA x -> t[1]
         SP   load[2]: DMA x -> t[2]
         DVE  COPY src=t[0] dst=t[0] channels=128
         DVE  a: COPY src=t[0] dst=t[0] channels=128
         DVE  b: COPY src=t[0] dst=t[0] channels=128
         ACT  c: COPY src=t[0] dst=t[0] channels=128
         POOL NOP after load, a, c, b
         POOL NOP after a, missing?
         POOL NOP S[20]>=3 after c, load[1]
         DVE  NOP after b
         SP   NOP after c",
    );
    let waits = |engine: EngineId| -> Vec<(u8, Vec<(u8, u32)>)> {
        let list = words(&built, engine).into_iter().map(|w| {
            let value = |at: usize| u32::from_le_bytes(w.0[at..at + 4].try_into().unwrap());
            let pairs = [(w.0[4], w.0[5], value(8)), (w.0[32], w.0[33], value(36))];
            let ext = if w.opcode() == 0xA0 { 2 } else { 1 };
            let list = pairs[..ext].iter().filter(|p| p.0 != 0).map(|p| {
                assert_eq!(p.0, 5, ">=");
                (p.1, p.2)
            });
            (w.opcode(), list.collect())
        });
        list.collect()
    };
    // Engines count on S4 (ACT) and S6 (DVE); the DVE's first word is not counted, as nothing waits for it. Transfers
    // take S8 and S9 in turn: the third takes S8 again, so it waits for the first, and is done at 32.
    assert_eq!(
        waits(EngineId::Pool),
        [
            (0xA0, vec![(4, 1), (6, 2)]),
            (0xA0, vec![(8, 32)]),
            (0xA4, vec![(9, 16)]),
            // Both were waited for.
            (0xA4, vec![]),
            (0xA4, vec![(20, 3)]),
        ]
    );
    assert_eq!(waits(EngineId::Sp)[..3], [(0xD4, vec![]), (0xD4, vec![]), (0xD4, vec![(8, 16)])]);
    assert_eq!(waits(EngineId::Dve)[3], (0xA4, vec![(6, 2)]));
    let updates: Vec<(u8, u8)> = words(&built, EngineId::Dve).iter().map(|w| (w.0[6], w.0[7])).collect();
    assert_eq!(updates, [(0, 0), (0x13, 6), (0x13, 6), (0, 0)]);
    assert_eq!(hex(&words(&built, EngineId::Act)[..1])[0][8..16], *"00001304");
}

/// Branches of the device image (chapter 10 section 16), their displacements counted by the assembler.
#[test]
fn branches_reach_their_labels() {
    let text = "
        repeat i in 0..176 {
            PE at[i]: NOP
        }
        PE COMPARE_BRANCH cmp_op=ALWAYS label_id=at[0] debugHint=2
        ACT COMPARE_BRANCH cmp_op=EQ dtype=int32 cmp0=$R[0] cmp1=0 label_id=skip
        repeat i in 0..13 {
            ACT NOP
        }
        ACT skip: NOP";
    let built = cayman(text);
    let back = word(&[(0, &[0xA9, 0x10, 0, 2]), (14, &[3]), (48, &[0, 0xD4, 0xFF, 0xFF])]);
    assert_eq!(words(&built, EngineId::Pe)[176].to_hex(), back.to_hex());
    let forward = word(&[(0, &[0xA9, 0x10]), (12, &[3, 8, 3]), (48, &[0x80, 3])]);
    assert_eq!(words(&built, EngineId::Act)[0].to_hex(), forward.to_hex());
}

/// Loops, conditions, macros and names against the same words written out.
#[test]
fn programs_are_written_out() {
    let short = cayman(
        "let N = 8
         sbuf t fp32[3, N]
         psum acc fp32[2, 4]
         macro twice(from, to, n) {
             repeat i in 0..n {
                 DVE COPY src=from dst=to[i, 2:] channels={100 + 14*i}
             }
         }
         twice(acc[0, ::-1], t[:, 2:], 2)
         repeat i in 5..0 by -2 {
             if i == 3 {
                 DVE NOP cycle=i
             } else {
                 DVE NOP cycle={i << 4 | 1}
             }
         }
         DVE {
             TENSOR_TENSOR op=ADD src0=t[0, *2, ::4] src1=acc[1] dst=t[1, :+4] channels={N*N}
             TENSOR_SCALAR ops=MULTIPLY,ADD imm={0.5},{bits(1.5)} imm_src=INSTRUCTION,PTR src=t dst=t channels=1
         }
         ACT ACTIVATE EXP bias_ptr=t[2, 1] src=t[0] dst=t[1] channels=128 scale={1/4.0} accumulator_cmd=IDLE",
    );
    let long = cayman(
        "DVE COPY src=fp32@0x200000c[-1,0,0,0][4,1,1,1] dst=fp32@0x4010[1,0,0,0][4,1,1,1] channels=100
         DVE COPY src=fp32@0x200000c[-1,0,0,0][4,1,1,1] dst=fp32@0x4030[1,0,0,0][4,1,1,1] channels=114
         DVE NOP cycle=81
         DVE NOP cycle=3
         DVE NOP cycle=17
         DVE TENSOR_TENSOR op=ADD src0=fp32@0x4000[4,0,0][2,2,1] src1=fp32@0x2000010[1,0,0][4,1,1] \
             dst=fp32@0x4020[1,0,0][4,1,1] channels=64
         DVE TENSOR_SCALAR ops=MULTIPLY,ADD imm=0x3f000000,0x3fc00000 imm_src=INSTRUCTION,PTR \
             src=fp32@0x4000[1,8,0][8,3,1] dst=fp32@0x4000[1,8,0][8,3,1] channels=1
         ACT ACTIVATE EXP bias_ptr=fp32@0x4044 src=fp32@0x4000[1,0,0][8,1,1] dst=fp32@0x4020[1,0,0][8,1,1] \
             channels=128 scale=0.25 accumulator_cmd=IDLE",
    );
    for engine in EngineId::ALL {
        assert_eq!(hex(&words(&short, engine)), hex(&words(&long, engine)), "{engine}");
    }
}

fn constant<'g>(graph: &'g Graph, name: &str) -> &'g [u8] {
    &graph.constant(graph.def.variable(name).unwrap().id).unwrap().payload
}

#[test]
fn constants_hold_what_their_text_says() {
    let directory = tempfile::tempdir().unwrap();
    let values = [1.0f32, -2.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    let tensor = seqjit::Tensor::new(seqjit::runtime::isa::Dtype::FP32, vec![2, 1], values).unwrap();
    tensor.save(&directory.path().join("given.npy")).unwrap();
    let text = "program test for cayman
        output o uint8[1]
        const eye bfloat16[2, 3] = identity
        const up  int16[3]       = iota
        const odd uint8[2, 2]    = iota(1, 2)
        const third fp16[1]      = fill(1.0/3)
        const list fp32[2]       = [-1, 1e-2 * 50]
        const file fp32[2]       = npy \"given.npy\"
        const small fp8_e4m3[2]  = ones";
    let built = assemble(text, &directory.path().join("test.s")).unwrap();
    let graph = &built.neff.graphs[0];
    assert_eq!(constant(graph, "eye"), [0x80, 0x3F, 0, 0, 0, 0, 0, 0, 0x80, 0x3F, 0, 0]);
    assert_eq!(constant(graph, "up"), [0, 0, 1, 0, 2, 0]);
    assert_eq!(constant(graph, "odd"), [1, 3, 5, 7]);
    // 0.33325195 = 0x3555.
    assert_eq!(constant(graph, "third"), [0x55, 0x35]);
    assert_eq!(constant(graph, "list"), [0, 0, 0x80, 0xBF, 0, 0, 0, 0x3F]);
    assert_eq!(constant(graph, "file"), [0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0]);
    assert_eq!(constant(graph, "small"), [0x38, 0x38]);
}

#[test]
fn variables_become_those_of_the_container() {
    let built = cayman(
        "input x fp32[2, 3]
         scratch s fp16[16]
         virtual v int8[4] at 64
         virtual w int8[4] at 8 in s
         table t = [x, w]
         activation some(exp, square)
         prologue",
    );
    let graph = &built.neff.graphs[0];
    let kinds: Vec<(&str, u32, Option<u64>)> =
        graph.def.variables.iter().map(|v| (v.kind.name(), v.id, v.size)).collect();
    let expected = [
        ("state-buffer", 0, None),
        ("output", 1, Some(1)),
        ("input", 2, Some(24)),
        ("tmp-buf", 3, Some(32)),
        ("virtual", 4, Some(4)),
        ("virtual", 5, Some(4)),
        ("dge-table", 6, None),
    ];
    assert_eq!(kinds, expected);
    let alias = VariableKind::Virtual { backing: Some("s".to_owned()), offset: 8 };
    assert_eq!(graph.def.variable("w").unwrap().kind, alias);
    assert_eq!(graph.def.variable("t").unwrap().kind, VariableKind::DgeTable { list: vec![2, 5] });
    assert_eq!(graph.activation_sets()[0].name, "some");
    for engine in EngineId::ALL {
        let start = [Word::new(0xB1), Word::new(0xCC)];
        assert_eq!(hex(&words(&built, engine)), hex(&start));
    }
}

#[test]
fn the_same_text_gives_the_same_bytes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/softmax.s");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(assemble_program(&text, &path).unwrap() == assemble_program(&text, &path).unwrap());
}

#[test]
fn findings_tell_the_line() {
    // 0x46 needs equal datatypes.
    let text = "program test for cayman\noutput o uint8[1]\nprologue\nsbuf t fp32[4]\nsbuf u fp16[4]\n\n";
    let text = format!("{text}DVE   COPY src=t dst=u channels=128");
    let built = assemble(&text, Path::new("test.s")).unwrap();
    let findings = built.check(true).unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].0, Position { line: 7, column: 7 });
    assert_eq!(findings[0].1.slot, 2);
}

/// Statements, and the message that they lead to. The head of the program takes two lines.
const MISTAKES: &[(&str, &str)] = &[
    ("blub", "3:1: found `blub`, expected a statement"),
    ("let = 3", "3:5: found `=`, expected a name"),
    ("let n = 3 +", "3:12: found the end of the line, expected a number, a name or `(`"),
    ("let n = m", "3:9: found `m`, expected a name that stands for something here"),
    ("let n = 1 \\\n  / 0", "4:3: found `/`, expected integers for which `1 / 0` fits 64 bits"),
    ("let n = 1 let", "3:11: found `let`, expected the end of the line"),
    ("sbuf t fp33[4]", "3:8: found `fp33`, expected a datatype of cayman in whole bytes"),
    ("sbuf t fp32[0]", "3:13: found `0`, expected a number from 1 to 229376, not 0"),
    ("sbuf t fp32[60000]", "3:13: found `60000`, expected an array of at most 229376 bytes"),
    ("sbuf t fp32[4]\nlet x = t[4]", "4:11: found `4`, expected an index from 0 to 3, not 4"),
    (
        "sbuf t fp32[4]\nlet x = t[3:5]",
        "4:11: found `3`, expected a range that is not empty and lies inside of 0 to 4",
    ),
    ("sbuf t fp32[4]\nlet x = t[0, 0]", "4:14: found `0`, expected at most 1 indices"),
    (
        "sbuf t fp32[4]\nsbuf t fp32[4]",
        "4:6: found `t`, expected a name that this block has not given before",
    ),
    ("PE LDWIGHTS", "3:4: found `LDWIGHTS`, expected the name of an opcode or its byte"),
    ("PE COPY", "3:4: found `COPY`, expected an opcode that PE may run"),
    ("DVE COPY src=fp32@0x0[1,1,1,1][1,1,1,1] dst=fp33@0", "3:45: found `fp33@0`, expected a datatype"),
    ("sbuf t fp32[4]\nDVE COPY channels={3 src=t", "4:22: found `src`, expected `}`"),
    ("sbuf t fp32[4]\nDVE NOP cycle={t[0]} after x", "4:28: found `x`, expected a label of this core"),
    (
        "sbuf t fp32[3, 3, 3, 3, 3]\nDVE COPY src=t[::-1, ::2, ::-1, ::2, ::-1] dst=t channels=1",
        "4:14: found `t`, expected a tile that 4 dimensions can walk over",
    ),
    (
        "input x fp32[4]\nDVE COPY src=x",
        "4:14: found `x`, expected a tile, not a variable: engines reach SBUF and PSUM only",
    ),
    ("DVE a: NOP after a", "3:18: found `a`, expected a word that stands in front of this one in its stream"),
    ("DVE a: NOP\nDVE a: NOP", "4:5: found a label, expected a label that no other word of this core has"),
    (
        "DVE a: NOP S[3]+=2@complete\nACT NOP after a",
        "3:8: found a word that `after` names, expected a word without update, or one that adds 1 on completion",
    ),
    (
        "DVE a: NOP S[3]++\nACT NOP S[3]++\nSP NOP after a",
        "5:14: found `a`, expected a word whose semaphore 3 is counted by one engine or queue alone",
    ),
    (
        "repeat i in 0..3 {",
        "3:1: found the end of the text inside `repeat i in 0..3`, expected a `}` that closes this block",
    ),
    ("}", "3:1: found `}`, expected no `}`: no block is open"),
    (
        "repeat i in 0..2 {\n  DVE NOP cycle=q\n}",
        "4:17: found `q`, expected a number\n  in repeat i = 0 (line 3)",
    ),
    (
        "macro m(a) {\n  repeat i in 1..2 {\n    DVE NOP cycle={a}\n  }\n}\nm(-1)",
        "5:19: found `-1`, expected a number from 0 to 4294967295\n  in repeat i = 1 (line 4)\n  \
         in macro m, used in line 8",
    ),
    ("macro m(a) {\n}\nm(1, 2)", "5:2: found `(`, expected 1 arguments, not 2"),
    ("input x fp32[4, 4]\nSP DMA x -> x", "4:8: found `x`, expected a queue of SP for this transfer"),
    (
        "input x fp32[4, 4]\nqueue q dynamic SP\nsbuf t fp32[3]\nSP DMA x -> t",
        "6:13: found `t`, expected elements for 1 to 128 partitions, 3 for each, not 16",
    ),
    (
        "input x fp32[4]\nqueue q dynamic SP\npsum t fp32[4]\nSP DMA x -> t",
        "6:13: found `t`, expected a tile in SBUF: DMA does not reach PSUM",
    ),
    (
        "queue q in SP {\n  block 0 {\n    copy fp32@o[1][4] -> fp32@o[1][4]\n  }\n}",
        "5:10: found `fp32`, expected bytes of `o`, which has 1",
    ),
    ("DVE COMPARE_BRANCH label_id=away", "3:29: found `away`, expected a label in the stream of DVE"),
    ("const c int8[2] = [1, 200]", "3:19: found `[`, expected numbers that int8 can hold, not 200"),
    (
        "core {\n  input x fp32[1]\n}",
        "4:9: found `x`, expected inputs and outputs outside of `core`: all cores share them",
    ),
    ("core {\n}\ncore {\n}\ncore {\n}", "1:1: found 3 cores, expected at most 2 cores"),
];

#[test]
fn mistakes_are_found_where_they_are() {
    let mut wrong = Vec::new();
    for (statements, expected) in MISTAKES {
        let found = match program(Generation::Cayman, statements) {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        };
        if found != format!("test.s:{expected}") {
            wrong.push(format!("{statements}\n  gives    {found}\n  expected test.s:{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_program_needs_a_head_and_an_output() {
    let message = |text: &str| assemble(text, Path::new("t.s")).unwrap_err().to_string();
    assert_eq!(message(""), "t.s:1:1: found no program statement, expected `program NAME for GENERATION`");
    assert_eq!(
        message("\nlet a = 1"),
        "t.s:2:1: found `let`, expected `program NAME for GENERATION` as the first statement"
    );
    assert_eq!(
        message("program a for cayman"),
        "t.s:1:9: found a program without `output`, expected at least one"
    );
    assert_eq!(
        message("program a for tonga"),
        "t.s:1:15: found `tonga`, expected sunda, cayman, mariana or maverick"
    );
}

const HEAD: &str = "program a for cayman\noutput x fp32[2]\n";

/// Whatever the text, the answer is a container or an error.
#[test]
fn damaged_texts_do_no_harm() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let sources = ["vector_add_sunda", "matmul_bf16", "conv3x3", "two_cores"]
        .map(|name| std::fs::read_to_string(directory.join(format!("{name}.s"))).unwrap());
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ":",
        "..",
        "-",
        "*",
        "9",
        "0",
        "S[",
        "@",
        "\\",
        "\"",
        "\n",
        " ",
        "é",
        "after ",
        "repeat i in 0..9 {\n",
        "1e999",
        "0x",
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..1500 {
        let mut text: Vec<char> = sources[rng.random_range(0..sources.len())].chars().collect();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..text.len());
            match rng.random_range(0..3) {
                0 => drop(text.remove(at)),
                1 => drop(text.drain(at..(at + rng.random_range(1..30)).min(text.len()))),
                _ => drop(text.splice(at..at, pieces[rng.random_range(0..pieces.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        let _ = assemble(&text, &directory.join("damaged.s"));
    }
    for deep in ["(", "-", "x[", "min("] {
        let text = format!("{HEAD}let a = {}", deep.repeat(10_000));
        assert!(assemble(&text, Path::new("deep.s")).is_err());
    }
    assert!(assemble(&format!("{HEAD}macro m() {{\n  m()\n}}\nm()"), Path::new("endless.s")).is_err());
}

/// Loops take their time even where they hold no statement.
#[test]
fn endless_loops_are_refused_at_the_limit() {
    for (endless, place) in [
        ("repeat i in 0..1 << 40 {\n  let a = i\n}", "4:3"),
        ("repeat i in 0..100000000000 {\n}", "3:1"),
        ("repeat i in 0..1000000 {\n  repeat j in 0..-1000000 by -1 {\n  }\n}", "4:3"),
        ("repeat i in 0..1 << 40 {\n  if i < 0 {\n  }\n}", "4:3"),
        ("DVE {\n  repeat i in 0..1 << 40 {\n    NOP\n  }\n}", "5:5"),
    ] {
        let error = assemble(&format!("{HEAD}{endless}"), Path::new("endless.s")).unwrap_err();
        let AsmError::Source { error, .. } = &error else { panic!("{error}") };
        assert!(error.expected.starts_with("at most "), "{endless}: {error}");
        assert_eq!(error.position.to_string(), place, "{endless}: {error}");
    }
}
