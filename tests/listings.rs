//! Listings of native code, word for word: what goes into Cranelift and what comes out for one shape of each
//! compiled family, and for the ways in which operands can lie.
//!
//! `SEQJIT_BLESS=1 cargo test --test listings` writes the files of `tests/golden` anew, for changes that are
//! meant. Code is that of the baseline level, so that every host of the architecture makes the same.
#![cfg(target_arch = "x86_64")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use seqjit::runtime::isa::{EngineId, Family, Lowering, OPCODES, opcode_info};
use seqjit::runtime::num::Level;
use seqjit::{Engine, EngineOptions, Lowered, Options, Program, Session, asm};

/// Name of the file, and the word on DVE.
const WORDS: [(&str, &str); 15] = [
    (
        "add_contiguous",
        "TENSOR_TENSOR op=ADD src0=fp32@0x4000[1,1,1][120,1,1] src1=fp32@0x8000[1,1,1][120,1,1] \
         dst=fp32@0xc000[1,1,1][120,1,1] channels=128",
    ),
    (
        "add_in_place_shifted",
        "TENSOR_TENSOR op=ADD src0=fp32@0x4000[1,1,1][64,1,1] src1=fp32@0x8000[1,1,1][64,1,1] \
         dst=fp32@0x4004[1,1,1][64,1,1] channels=32",
    ),
    (
        "add_integers_strided",
        "TENSOR_TENSOR op=ADD_INT src0=int32@0x4000[2,64,1][8,4,1] src1=int32@0x8000[-1,8,1][8,4,1] \
         dst=int32@0xc000[1,8,1][8,4,1] channels=64",
    ),
    (
        "multiply_add_scalars",
        "TENSOR_SCALAR ops=MULTIPLY,ADD imm=2.0,1.0 imm_src=INSTRUCTION,INSTRUCTION \
         src=fp32@0x4000[1,1,1][120,1,1] dst=fp32@0x8000[1,1,1][120,1,1] channels=128",
    ),
    (
        "compare_scalar_of_each_lane",
        "TENSOR_SCALAR ops=IS_GT,BYPASS imm=0x10000,0 imm_src=PTR,INSTRUCTION \
         src=bfloat16@0x4000[1,1,1][120,1,1] dst=fp32@0x8000[1,1,1][120,1,1] channels=128",
    ),
    (
        "copy_contiguous",
        "COPY src=fp32@0x4000[1,1,1,1][120,1,1,1] dst=fp32@0x8000[1,1,1,1][120,1,1,1] channels=128",
    ),
    (
        "copy_four_dimensions",
        "COPY src=int16@0x4000[3,-5,7,0][2,3,4,5] dst=int16@0x8000[1,2,6,24][2,3,4,5] channels=128",
    ),
    (
        "subtract_to_integers",
        "TENSOR_SCALAR ops=SUBTRACT,ABSOLUTE_VALUE imm=3.0,0 imm_src=INSTRUCTION,INSTRUCTION \
         src=fp32@0x4000[1,1,1][120,1,1] dst=int8@0x8000[1,1,1][120,1,1] channels=128",
    ),
    (
        "broadcast_row",
        "TENSOR_TENSOR op=MAX src0=fp32@0x4000[1,100,1][100,2,1] src1=fp32@0x8000[1,0,1][100,2,1] \
         dst=fp32@0xc000[1,100,1][100,2,1] channels=128",
    ),
    (
        "subtract_registers",
        "ALU_OP op=SUBTRACT dtype=int32 src1_datasrc=IMMEDIATE dst_dtype=int32 src0_lo=1 dst_lo=1 immediate=1",
    ),
    (
        "shift_bytes_by_scalar",
        "TENSOR_SCALAR_BITVEC_OP accumulator_cmd=IDLE src=0x4000[1,1,1][120,1,1] in_dtype=uint8 out_dtype=uint8 \
         num_active_channels=128 imm0_src=INSTRUCTION op0=LOGICAL_SHIFT_LEFT op1=BITWISE_NOT reverse_operands=NONE \
         imm1_src=INSTRUCTION imm0=0x3 imm1=0x0 dst=0x8000[1,1,1][120,1,1]",
    ),
    (
        "and_or_bytes",
        "SCALAR_TENSOR_TENSOR_BITVEC src0=0x4000[1,1][120,1] src1=0x8000[1,1][120,1] op0=BITWISE_AND \
         op1=BITWISE_OR reverse_operands=NONE imm0_src=PTR src_dtype=uint8,uint8 out_dtype=uint8 \
         num_active_channels=128 imm0_dtype=uint8 accumulator_cmd=IDLE dst=0xc000[1,1][120,1] imm0=0x10000",
    ),
    (
        "scalar_of_int16_and_two_tensors",
        "SCALAR_TENSOR_TENSOR_ARITH src0=0x4000[1,1][120,1] src1=0x8000[1,1][120,1] op0=SUBTRACT op1=MULTIPLY \
         reverse_operands=FIRST imm0_src=PTR src_dtype=fp32,bfloat16 out_dtype=fp32 num_active_channels=128 \
         imm0_dtype=int16 accumulator_cmd=IDLE dst=0xc000[1,1][120,1] imm0=0x10000",
    ),
    (
        "cast_predicated",
        "CAST_PREDICATED in0_in1_dtype=uint8,fp32 out_dtype=bfloat16 op=BYPASS num_active_channels=128 \
         src0=0x4000[1,1,1][120,1,1] src1=0x8000[1,1,1][120,1,1] dst=0xc000[1,1,1][120,1,1]",
    ),
    ("memset", "MEMSET value=1.5 dst=fp32@0x4000[1,1,1,1][120,1,1,1] channels=128"),
];

fn program() -> Program {
    let lines: String = WORDS.iter().map(|(_, word)| format!("DVE {word}\n")).collect();
    let text = format!("program listings for cayman\noutput y fp32[1]\n{lines}");
    let bytes = asm::assemble_program(&text, Path::new("listings.s")).unwrap_or_else(|e| panic!("{e}"));
    Program::from_bytes(&bytes, &Default::default()).unwrap()
}

fn engine() -> Engine {
    let mut options = EngineOptions::default();
    options.cpu = Level::Baseline;
    Engine::with_options(options).unwrap()
}

/// What a word becomes, as text.
fn listing(engine: &Engine, session: &mut Session, slot: usize) -> String {
    let lowered = session.lowered(0, EngineId::Dve, slot as u64).unwrap();
    let Lowered::Inline(shape) = lowered else { panic!("{}: {lowered:?}", WORDS[slot].0) };
    let listing = engine.listing(&shape).unwrap();
    let mut text = format!("; DVE {}\n\n{}\n", WORDS[slot].1, listing.clif.trim_end());
    for line in listing.instructions() {
        let _ = writeln!(text, "{:04x}  {}", line.offset, line.text);
    }
    text
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"))
}

#[test]
fn listings_are_the_golden_ones() {
    let bless = std::env::var_os("SEQJIT_BLESS").is_some();
    let (engine, program) = (engine(), program());
    let mut options = Options::default();
    options.strict = false;
    let mut session = Session::new(&engine, &program, options).unwrap();
    let mut changed = Vec::new();
    for (slot, (name, _)) in WORDS.iter().enumerate() {
        let found = listing(&engine, &mut session, slot);
        if bless {
            std::fs::write(golden(name), found).unwrap();
            continue;
        }
        let expected = std::fs::read_to_string(golden(name)).unwrap_or_default();
        if found != expected {
            let at = found.lines().zip(expected.lines()).position(|(a, b)| a != b);
            changed.push(format!("{name}, line {at:?}:\n{found}"));
        }
    }
    let advice = "SEQJIT_BLESS=1 accepts what is meant";
    assert!(changed.is_empty(), "{advice}\n{}", changed.join("\n"));
}

/// The list above has a word of every family that the opcode table says is compiled.
#[test]
fn every_compiled_family_is_listed() {
    let compiled = OPCODES.iter().filter(|info| info.lowering == Lowering::Inline);
    // These have no effect, so that there is nothing to see.
    let compiled = compiled.filter(|info| info.family != Family::Custom && !info.is_pseudo());
    let families: BTreeSet<String> = compiled.map(|info| format!("{:?}", info.family)).collect();
    let listed: BTreeSet<String> = program().image().cores[0].streams[EngineId::Dve.index()]
        .words
        .iter()
        .map(|i| format!("{:?}", opcode_info(i.word().opcode()).unwrap().family))
        .collect();
    assert!(families.is_subset(&listed), "{families:?}, listed: {listed:?}");
}
