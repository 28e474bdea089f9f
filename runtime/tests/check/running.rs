//! Whatever the checks let through runs or faults; nothing panics.

use std::sync::Arc;

use proptest::prelude::*;
use seqjit_runtime::interp::Instruction;
use seqjit_runtime::isa::check::{CheckContext, Severity, check_bytes};
use seqjit_runtime::isa::field::Kind;
use seqjit_runtime::isa::{EngineId, Generation, Word, decode};
use seqjit_runtime::machine::{CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit_runtime::sequencer::engine_turn;

use crate::{Place, legal_elementwise};

/// Elements of an operand beyond which a test would only take longer.
const MOST_ELEMENTS: u64 = 4096;

/// Legal words of one engine and generation, some bytes of each changed.
fn run(place: Place, words: &[Word]) {
    let Place(generation, engine) = place;
    let mut streams: [Stream; 5] = Default::default();
    let words = words.iter().map(|w| Instruction::new(*w, generation)).collect();
    streams[engine.index()] = Stream { base: 0, words, ends_gracefully: true };
    let core = CoreSpec {
        name: "test".into(),
        physical: 0,
        streams,
        queues: Vec::new(),
        variables: Vec::new(),
        table_base: 0,
        dve_programs: None,
        fp8: Default::default(),
        table_sets: Vec::new(),
        replica_groups: Vec::new(),
    };
    let options = MachineOptions { strict: false, ..MachineOptions::default() };
    let image = Image { generation, cores: vec![Arc::new(core)], buffers: Vec::new() };
    let mut machine = Machine::new(&image, options);
    machine.start_all();
    while engine_turn(&mut machine, 0, engine, 256).is_ok_and(|turn| turn.progress > 0) {}
}

/// Whether lenient mode lets the word run, and it ends soon.
fn is_worth_running(Place(generation, engine): Place, word: &Word) -> bool {
    let cx = CheckContext::new(generation, engine).lenient();
    if check_bytes(word, &cx).iter().any(|f| f.severity != Severity::Warning) {
        return false;
    }
    let Ok(decoded) = decode(word, generation) else { return false };
    decoded.operands.layout().def().fields.iter().all(|field| match field.kind {
        Kind::Tensor(dimensions) => {
            let counts = &word.0[field.offset + 4 + 2 * dimensions..][..2 * dimensions];
            let counts = counts.chunks_exact(2).map(|c| u64::from(u16::from_le_bytes([c[0], c[1]])));
            counts.product::<u64>() <= MOST_ELEMENTS
        }
        _ => true,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn words_that_pass_the_checks_do_not_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 12..64usize, any::<u8>()), 512),
    ) {
        let all = legal_elementwise::words();
        let mut runs: Vec<(Generation, EngineId, Vec<Word>)> = Vec::new();
        for (index, at, value) in changes {
            let (_, place, mut word) = all[index.index(all.len())];
            // small values are members of more sets
            word.0[at] = if value < 128 { value % 16 } else { value };
            if is_worth_running(place, &word) {
                match runs.iter_mut().find(|(g, e, _)| (*g, *e) == (place.0, place.1)) {
                    Some((.., words)) => words.push(word),
                    None => runs.push((place.0, place.1, vec![word])),
                }
            }
        }
        prop_assert!(runs.iter().map(|r| r.2.len()).sum::<usize>() > 20);
        for (generation, engine, words) in runs {
            run(Place(generation, engine), &words);
        }
    }
}
