//! What every opcode with tensor operands must check, tried on every operand of every legal word; and
//! what holds for any bytes at all.

use proptest::prelude::*;
use seqjit_runtime::isa::check::{CheckContext, check_bytes};
use seqjit_runtime::isa::field::{Addr4, Field, Kind};
use seqjit_runtime::isa::layouts::FieldDef;
use seqjit_runtime::isa::{Addr4Form, EngineId, Family, Generation, OPCODES, OpcodeInfo, Word, decode, op};

use crate::{Place, legal, patch};

/// Calls `try_field` with every field of every legal word that is executed by an engine.
fn each_field(mut try_field: impl FnMut(&str, Place, &Word, &'static OpcodeInfo, &'static FieldDef)) {
    for (name, place, word) in legal::words() {
        let decoded = decode(&word, place.0).unwrap();
        for field in decoded.operands.layout().def().fields {
            try_field(name, place, &word, decoded.info, field);
        }
    }
}

/// Whether strict checks report this rule at this byte.
fn reports(Place(generation, engine): Place, word: &Word, rule: &str, offset: usize) -> bool {
    let findings = check_bytes(word, &CheckContext::new(generation, engine));
    findings.iter().any(|f| f.rule == rule && f.offset == offset)
}

#[test]
fn every_tensor_operand_obeys_the_address_rules() {
    let mut operands = 0;
    each_field(|name, place, word, info, field| {
        let Kind::Tensor(dimensions) = field.kind else { return };
        if (info.byte, field.name) == (op::PE_MANAGE_SEED, "dst_seed") {
            return; // only the other direction uses it
        }
        let start = Addr4::read(&word.0[field.offset..field.offset + 4]);
        let Addr4Form::Immediate(address) = start.form() else { return };
        let at = |address: u32| patch(*word, field.offset, &address.to_le_bytes());
        let counts = field.offset + 4 + 2 * dimensions;
        let name = format!("{name} {}", field.name);
        // bit 24 marks MX tensors of MAVERICK
        assert!(reports(place, &at(0x1EFF_0000), "address-unmapped", field.offset), "{name}");
        if !["02 DoubleRow src", "22 dst"].contains(&&*name) {
            // their elements are bytes
            assert!(reports(place, &at(address | 1), "alignment", field.offset), "{name}");
        }
        let pitch = place.0.geometry().sbuf_pitch;
        let beyond = patch(at(address | (pitch - 16)), counts, &[16]);
        assert!(reports(place, &beyond, "bounds", field.offset), "{name}");
        // few lanes fit everywhere
        let partition = match (info.byte, field.name) {
            (op::GET_SEQUENCE_BOUNDS | op::PE_MANAGE_SEED, _) => "start-partition",
            (op::CROSS_LANE_REDUCE_ARITH | op::CROSS_LANE_REDUCE_BITVEC, "dst") => "start-partition",
            _ => "partition-extent",
        };
        assert!(reports(place, &at(address | pitch), partition, field.offset), "{name}");
        assert!(reports(place, &patch(*word, counts, &[0, 0]), "count-zero", counts), "{name}");
        operands += 1;
    });
    assert!(operands > 50, "{operands} operands");
}

/// Operands that may have one element more: those that are folded or searched, and single ones.
fn has_free_count(name: &str, info: &OpcodeInfo, field: &str) -> bool {
    match (info.byte, field) {
        (op::MAX8 | op::FIND_INDEX8, "src") | (op::RNG | op::RAND2, "dst") => true,
        (op::SPARSITY_COMPRESS_TAG, "src") | (op::PE_MANAGE_SEED, "dst_seed") => true,
        (op::STREAM_TRANSPOSE, "dst") => name == "6B short",
        (op::CROSS_LANE_REDUCE_ARITH | op::CROSS_LANE_REDUCE_BITVEC, _) => false,
        _ => matches!(info.family, Family::TensorReduce | Family::Pool) && field == "src",
    }
}

#[test]
fn element_counts_of_operands_agree() {
    each_field(|name, place, word, info, field| {
        let Kind::Tensor(dimensions) = field.kind else { return };
        if has_free_count(name, info, field.name) {
            return;
        }
        let counts = field.offset + 4 + 2 * dimensions;
        let Place(generation, engine) = place;
        let longer = patch(*word, counts, &[word.0[counts] + 1]);
        let findings = check_bytes(&longer, &CheckContext::new(generation, engine));
        assert!(findings.iter().any(|f| f.rule == "element-count"), "{name} {}", field.name);
    });
}

#[test]
fn every_lane_count_is_checked() {
    each_field(|name, place, word, _, field| {
        if field.name == "num_active_channels" {
            for lanes in [0, 129] {
                let word = patch(*word, field.offset, &[lanes]);
                assert!(reports(place, &word, "channel-count", field.offset), "{name}: {lanes} lanes");
            }
        }
    });
}

#[test]
fn every_dtype_passes_a_gate() {
    each_field(|name, place, word, info, field| {
        let rule = match (info.byte, field.name) {
            (op::MATMUL | op::MATMUL_MX, "out_dtype") => return, // 0 stands for FP32
            (op::DMAMEMCPY, _) => return,                        // equal dtypes are not looked at
            (op::BATCH_NORM_GRAD_ACCUMULATE, "immediate_dtype") => return, // 0 stands for FP32
            (op::DROPOUT, _) => return,                          // 0 stands for FP32
            (op::DMA_INDIRECT, _) => return,
            (op::MATMUL_SPARSE, "out_dtype") | (op::CONV_LUT_LOAD, "lut_dtype") => return,
            (op::COMPARE_BRANCH, _) if name == "A9 ALWAYS" => return,
            (op::COMPARE_BRANCH, _) => "branch-dtype",
            _ => "dtype",
        };
        let code = word.0[field.offset];
        let invalid = match field.kind {
            Kind::Dtype => vec![0],
            Kind::DtypePair => vec![code & 0xF0, code & 0x0F],
            _ => return,
        };
        for code in invalid {
            let word = patch(*word, field.offset, &[code]);
            assert!(reports(place, &word, rule, field.offset), "{name} {}: {code:#04x}", field.name);
        }
    });
}

#[test]
fn functions_with_a_definition_are_those_of_the_manual() {
    // chapter 05 section 3.7
    const DEFINED: [u8; 34] = [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 19, 21, 22, 23, 24, 25, 26, 28, 29, 30, 31, 32, 33, 34,
        35, 36, 37, 38, 128, 129, 130,
    ];
    let Place(generation, engine) = legal::ACT_C;
    let base = crate::word(op::ACTIVATE, legal::activate());
    for function in 0..=255 {
        let findings = check_bytes(&patch(base, 35, &[function]), &CheckContext::new(generation, engine));
        assert_eq!(findings.is_empty(), DEFINED.contains(&function), "function {function}");
    }
}

proptest! {
    /// Lenient mode makes the same findings as strict mode, none of them worse.
    #[test]
    fn lenient_mode_hides_nothing(
        bytes in prop::array::uniform32(any::<u16>()),
        opcode in 0..OPCODES.len(),
        generation in prop::sample::select(&Generation::ALL[..]),
        engine in prop::sample::select(&EngineId::ALL[..]),
    ) {
        let mut word = Word::new(OPCODES[opcode].byte);
        for (pair, value) in word.0[2..].chunks_exact_mut(2).zip(bytes) {
            pair.copy_from_slice(&value.to_le_bytes());
        }
        let cx = CheckContext::new(generation, engine);
        let (strict, lenient) = (check_bytes(&word, &cx), check_bytes(&word, &cx.lenient()));
        prop_assert_eq!(strict.len(), lenient.len());
        for (s, l) in strict.iter().zip(&lenient) {
            prop_assert_eq!((s.rule, s.offset, &s.found), (l.rule, l.offset, &l.found));
            prop_assert!(l.severity <= s.severity);
        }
    }
}
