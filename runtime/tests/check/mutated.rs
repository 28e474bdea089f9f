//! Legal words with changed bytes: those that lenient checks let pass give a result or a fault, never a panic.

use std::sync::Arc;

use proptest::prelude::*;
use seqjit_runtime::interp::{Exec, HANDLERS};
use seqjit_runtime::isa::check::{CheckContext, Severity, check};
use seqjit_runtime::isa::field::Kind;
use seqjit_runtime::isa::{Generation, Word, decode};
use seqjit_runtime::machine::dma::QueueSpec;
use seqjit_runtime::machine::{CoreSpec, Image, Machine, MachineOptions};
use seqjit_runtime::sequencer::dma_turn;

use crate::{Place, legal};

/// Two cores, each with a queue for generated DMA of the engine.
fn machine(Place(generation, engine): Place, strict: bool) -> Machine {
    let queue = QueueSpec { name: "q".into(), owner: engine, dynamic: true, blocks: Vec::new() };
    let core = |physical| CoreSpec {
        name: "test".into(),
        physical,
        streams: Default::default(),
        queues: vec![Arc::new(queue.clone())],
        variables: Vec::new(),
        table_base: 0,
        dve_programs: None,
        fp8: Default::default(),
        replica_groups: vec![vec![0, 1]],
        table_sets: Vec::new(),
    };
    let cores = vec![Arc::new(core(0)), Arc::new(core(1))];
    let image = Image { generation, cores, buffers: Vec::new() };
    Machine::new(&image, MachineOptions { strict, fill: 0x5A, ..MachineOptions::default() })
}

/// Counts of tensor operands stay small, so that a word does not run for minutes.
fn with_small_counts(mut word: Word, generation: Generation) -> Word {
    let Ok(decoded) = decode(&word, generation) else { return word };
    for field in decoded.operands.layout().def().fields {
        if let Kind::Tensor(dimensions) = field.kind {
            for pair in word.0[field.offset + 4 + 2 * dimensions..].chunks_exact_mut(2).take(dimensions) {
                pair[1] = 0;
                pair[0] &= 0x3F;
            }
        }
    }
    word
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn words_that_pass_do_not_panic(
        changes in prop::collection::vec((12usize..64, any::<u8>()), 1..4),
        strict in any::<bool>(),
    ) {
        for (_, place, word) in legal::words() {
            let mut word = with_small_counts(word, place.0);
            changes.iter().for_each(|(at, byte)| word.0[*at] = *byte);
            let word = with_small_counts(word, place.0);
            let Ok(decoded) = decode(&word, place.0) else { continue };
            let cx = CheckContext::new(place.0, place.1).lenient();
            if check(&decoded, &cx).iter().any(|finding| finding.severity != Severity::Warning) {
                continue;
            }
            let Some(handler) = HANDLERS[usize::from(word.opcode())] else { continue };
            MACHINES.with_borrow_mut(|machines| {
                let key = (place.0.index(), place.1.index(), strict);
                let machine = machines.entry(key).or_insert_with(|| machine(place, strict));
                let mut x = Exec { machine, core: 0, engine: place.1, pc: 0, ends_turn: false };
                let _ = handler(&mut x, &decoded);
                let _ = dma_turn(machine, 0, 0);
                machine.cores[0].engines[place.1.index()].ticket = None;
            });
        }
    }
}

thread_local! {
    static MACHINES: std::cell::RefCell<std::collections::HashMap<(usize, usize, bool), Machine>> =
        Default::default();
}
