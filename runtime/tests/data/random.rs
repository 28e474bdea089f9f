//! Random numbers (chapter 06 section 8, chapter 05 section 8).

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::field::{Imm, ImmSrc};
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Tensor, Word, op};

use crate::support::*;

/// Draws of row A of chapter 06 section 8.2.
const ROW_A: &str = "0E52143E DB8C19D7 4AFB08C4 E876BD38 6ED6D3DE 938A3B9A 9280D0C1 5F36C6EE";

fn rng(dtype: Dtype, lanes: u8, dst: Tensor<4>) -> Word {
    let set_value = Imm(0);
    let word_operands = D4_MR {
        dst_element_count: 0,
        dtype,
        num_active_channels: lanes,
        serialization_mode: 0,
        set_value,
        dst,
    };
    word(op::RNG, word_operands)
}

/// RAND_GET_STATE and RAND_SET_STATE of two lanes from partition 32.
fn get(generator: u8, algorithm: u8, byte: u32, words: u16) -> Word {
    let operands = D4_RAND {
        rand_algorithm: algorithm,
        rand_num_steps: 0,
        post_process: 0,
        rand_generator: generator,
        params: [0; 4],
        dtype: Dtype::UINT32,
        num_active_channels: 2,
        dst: line(at(32, byte), words),
    };
    word(op::RAND_GET_STATE, operands)
}

fn set(generator: u8, algorithm: u8, byte: u32, words: u16) -> Word {
    let operands = S1_RAND {
        rand_algorithm: algorithm,
        num_active_channels: 2,
        update_state: 0,
        in_dtype: Dtype::UINT32,
        src: line(at(32, byte), words),
        rand_generator: generator,
        imm_state: [0; 8],
    };
    word(op::RAND_SET_STATE, operands)
}

#[test]
fn pool_draws_are_stored_by_their_low_bits() {
    let mut machine = strict(Generation::Cayman);
    let draws: Vec<u32> = hex(ROW_A);
    run(
        &mut machine,
        EngineId::Pool,
        &[rng(Dtype::UINT32, 128, line(0, 3)), rng(Dtype::INT16, 128, line(16, 3))],
    )
    .unwrap();
    for partition in [0, 77, 127] {
        assert_eq!(words(&machine, partition, 0, 3), draws[..3]);
        assert_eq!(bytes(&machine, partition, 16, 6), [0x38, 0xBD, 0xDE, 0xD3, 0x9A, 0x3B]);
    }
}

/// The patterns of chapter 06 section 8.3.
#[test]
fn pool_floats_are_patterns() {
    let mut machine = strict(Generation::Cayman);
    run(&mut machine, EngineId::Pool, &[rng(Dtype::FP32, 1, line(0, 6))]).unwrap();
    assert_eq!(words(&machine, 0, 0, 6), hex("3FD2143E 3F8C19D7 3FFB08C4 3FF6BD38 3FD6D3DE 3F8A3B9A"));
    assert!(machine.warnings.iter().any(|w| w.contains("fp32 in [1, 2)")), "{:?}", machine.warnings);

    let mut machine = strict(Generation::Cayman);
    run(&mut machine, EngineId::Pool, &[rng(Dtype::BFLOAT16, 1, line(0, 6))]).unwrap();
    assert_eq!(words(&machine, 0, 0, 3), hex("3FD73FBE 3FB83FC4 3F9A3FDE"));

    let fault = run(&mut machine, EngineId::Pool, &[rng(Dtype::FP16, 1, line(0, 6))]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Unsupported { field: "dtype", .. }), "{fault}");
}

#[test]
fn a_seeded_vector_engine_draws_what_the_manual_lists() {
    let seed = PSEUDO_SET_RNG_SEED { seed_src: ImmSrc::INSTRUCTION, seed: Imm(0x2A) };
    let mut machine = strict(Generation::Sunda);
    let program = [word(op::PSEUDO_SET_RNG_SEED, seed), rng(Dtype::UINT32, 128, line(0, 8))];
    run(&mut machine, EngineId::Dve, &program).unwrap();
    let expected = hex("3C6EF326 78DDE6B1 B54CDA03 F1BBCD9D 78DDE64C F1BBCD63 6A99B407 E3779B3B");
    assert_eq!(words(&machine, 0, 0, 8), expected);
}

/// The example of chapter 05 section 8: eight elements, drop rate 0.5.
#[test]
fn dropout_keeps_as_the_example_says() {
    let dropout = |threshold_type, threshold: f32, byte| {
        let operands = S3D3_DROPOUT {
            src: line(0, 8),
            in_dtype: Dtype::FP32,
            out_dtype: Dtype::FP32,
            num_active_channels: 1,
            threshold_src: ImmSrc::INSTRUCTION,
            threshold_dtype: Dtype::INVALID,
            threshold_type,
            threshold: Imm(threshold.to_bits()),
            dst: line(byte, 8),
        };
        word(op::DROPOUT, operands)
    };
    let seed = PSEUDO_SET_RNG_SEED { seed_src: ImmSrc::PTR, seed: Imm(0x400) };
    let seed = word(op::PSEUDO_SET_RNG_SEED, seed);
    let mut machine = strict(Generation::Cayman);
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    put_floats(&mut machine, 0, 0, &values);
    put(&mut machine, 0, 0x400, &[0x2A]);
    let program = [
        seed,
        dropout(0, 0.5, 0x100),
        seed,
        dropout(1, 0.5, 0x200),
        dropout(0, 0.0, 0x300),
        dropout(0, 1.0, 0x340),
    ];
    run(&mut machine, EngineId::Dve, &program).unwrap();
    assert_eq!(floats(&machine, 0, 0x100, 8), [1.0, 2.0, 3.0, 0.0, 5.0, 0.0, 0.0, 8.0]);
    assert_eq!(floats(&machine, 0, 0x200, 8), [0.0, 0.0, 0.0, 4.0, 0.0, 6.0, 7.0, 0.0]);
    assert_eq!(floats(&machine, 0, 0x300, 8), values);
    assert_eq!(floats(&machine, 0, 0x340, 8), [0.0; 8]);
}

/// Rows of the table of chapter 06 section 8.8, by states that draw them.
#[test]
fn rand2_maps_draws_into_the_range() {
    let mut machine = strict(Generation::Mariana);
    let rand2 = |dtype, lanes, max: f32, dst| {
        let operands = D3_RAND {
            rand_algorithm: 3,
            post_process: 1,
            dtype,
            num_active_channels: lanes,
            min_src: ImmSrc::INSTRUCTION,
            max_src: ImmSrc::INSTRUCTION,
            min: Imm((-1.0f32).to_bits()),
            max: Imm(max.to_bits()),
            dst,
        };
        word(op::RAND2, operands)
    };
    run(&mut machine, EngineId::Dve, &[rand2(Dtype::FP32, 2, 3.0, line(0, 20))]).unwrap();
    // the four sub-streams of a lane start equal, so each draw comes four times
    let rows = hex("3FC850F8 BF1F3148 40361188 402D7A70 3FDB4F78");
    for partition in 0..2 {
        let expected: Vec<u32> = rows.iter().flat_map(|bits| [*bits; 4]).collect();
        assert_eq!(words(&machine, partition, 0, 20), expected);
    }
    // draw six, 938A3B9A, is 0.0799...: -1 + 4 * 0.0799 = -0.68 rounds to -1
    run(&mut machine, EngineId::Dve, &[rand2(Dtype::INT8, 1, 3.0, line(0x100, 4))]).unwrap();
    assert_eq!(bytes(&machine, 0, 0x100, 4), [0xFF; 4]);
}

#[test]
fn states_are_loaded_and_stored_whole() {
    let cases = [
        (Generation::Cayman, EngineId::Pool, 1, 3, 6),
        (Generation::Mariana, EngineId::Pool, 3, 0, 1),
        (Generation::Mariana, EngineId::Dve, 1, 3, 24),
        (Generation::Mariana, EngineId::Dve, 0, 0, 4),
        (Generation::Mariana, EngineId::Dve, 3, 0, 4),
        (Generation::Mariana, EngineId::Act, 3, 0, 2),
    ];
    for (generation, engine, generator, algorithm, count) in cases {
        let mut machine = strict(generation);
        let state = |lane: u32| (0..count).map(|i| 0x1000 * (lane + 1) + i + 1).collect::<Vec<_>>();
        put(&mut machine, 32, 0, &state(0));
        put(&mut machine, 33, 0, &state(1));
        let words_a_lane = count as u16;
        let program =
            [set(generator, algorithm, 0, words_a_lane), get(generator, algorithm, 0x100, words_a_lane)];
        run(&mut machine, engine, &program).unwrap();
        for lane in 0..2 {
            let found = words(&machine, 32 + lane, 0x100, count as usize);
            assert_eq!(found, state(lane as u32), "{engine} {generator}");
        }
    }
}

/// States of rows C and F of chapter 06 section 8.2 after one draw.
#[test]
fn a_draw_advances_the_stored_state() {
    let mut machine = strict(Generation::Cayman);
    put(&mut machine, 32, 0, &[1, 2, 3, 4, 5, 6]);
    put(&mut machine, 33, 0, &hex("DEADBEEF 12345678 9ABCDEF0 0F1E2D3C CAFEBABE 00C0FFEE"));
    let program = [set(1, 3, 0, 6), rng(Dtype::UINT32, 2, line(at(32, 0x40), 1)), get(1, 3, 0x100, 6)];
    run(&mut machine, EngineId::Pool, &program).unwrap();
    assert_eq!(
        (words(&machine, 32, 0x40, 1), words(&machine, 33, 0x40, 1)),
        (hex("00058821"), hex("5EE4EA55"))
    );
    assert_eq!(words(&machine, 32, 0x100, 6), [2, 3, 4, 5, 0x56, 0x000587CB]);
    assert_eq!(words(&machine, 33, 0x100, 6), hex("12345678 9ABCDEF0 0F1E2D3C CAFEBABE 5E1E62A2 00C687B3"));
    // lanes that were not active keep the reset state
    assert_eq!(machine.cores[0].pool.random.xorwow[34], Default::default());
}

#[test]
fn a_state_of_another_length_is_refused() {
    let mut machine = strict(Generation::Cayman);
    let fault = run(&mut machine, EngineId::Pool, &[get(1, 3, 0, 7)]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "dst", .. }), "{fault}");
    let fault = run(&mut machine, EngineId::Pool, &[get(0, 0, 0, 4)]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Illegal { field: "rand_generator", .. }), "{fault}");
}
