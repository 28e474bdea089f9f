//! The race detector of the examples, held against the vendor's programs, in which every dependence is ordered
//! (chapter 10 section 6), and against programs that lack a wait.

mod common;
#[path = "common/races.rs"]
mod races;

use std::sync::Arc;

use seqjit::Program;
use seqjit::runtime::interp::Instruction;
use seqjit::runtime::isa::field::WaitMode;
use seqjit::runtime::isa::{EngineId, Generation, op};

const PROGRAMS: [&str; 10] = [
    "baseline_fp32_s512",
    "fused_fp32_s512",
    "fused_bf16_s512",
    "nkipy_matmul_small",
    "trn1_autocomp_1",
    "trn1_autocomp_2",
    "trn1_stream_add_256k_fd1k",
    "trn2_stream_add_256k_fd1k",
    "trn2_transpose_1024",
    "trn2_conv2d_4_float32_smaller",
];

#[test]
fn compiled_programs_have_no_races() {
    for name in PROGRAMS {
        let Some(path) = common::data(&format!("neffs/{name}.neff")) else { return };
        let found = races::races(&Program::open(path).unwrap());
        assert!(found.is_empty(), "{name}: {} races, {:#?}", found.len(), &found[..found.len().min(5)]);
    }
}

/// Takes the wait out of each word of an example in turn. Every one of them is needed.
#[test]
fn a_missing_wait_is_a_race() {
    for name in ["vector_add", "vector_add_sunda", "softmax"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.neff"));
        let program = Program::open(path).unwrap();
        let idle = |i: &Instruction| matches!(i.word().opcode(), op::EVENT_SEMAPHORE | op::NOP);
        let mut tried = 0;
        for engine in EngineId::ALL {
            let words = &program.image().cores[0].streams[engine.index()].words;
            for (slot, instruction) in words.iter().enumerate() {
                let waits = instruction.body.as_ref().unwrap().events.wait_mode != WaitMode::NONE;
                // The last waits keep the program from ending early, which is no race.
                if !waits || words[slot..].iter().all(idle) {
                    continue;
                }
                let mut image = program.image().clone();
                remove_wait(&mut image, engine, slot);
                assert!(!races::races_of(&image).is_empty(), "{name}: {engine} word {slot} need not wait");
                tried += 1;
            }
        }
        assert!(tried >= 2, "{name} has {tried} waits");
    }
}

fn remove_wait(image: &mut seqjit::runtime::machine::Image, engine: EngineId, slot: usize) {
    let generation: Generation = image.generation;
    let core = Arc::make_mut(&mut image.cores[0]);
    let words = Arc::make_mut(&mut core.streams[engine.index()].words);
    let mut word = *words[slot].word();
    word.0[4] = 0;
    words[slot] = Instruction::new(word, generation);
}
