//! Checking whole streams before they run (chapter 03 section 1.3, chapter 07 section 15).

use std::fmt;

use seqjit_runtime::interp::Instruction;
use seqjit_runtime::isa::check::{CheckContext, Finding, Severity, check_bytes};
use seqjit_runtime::isa::layouts::PSEUDO_DMA_TRIGGER;
use seqjit_runtime::isa::{EngineId, Layout, op};
use seqjit_runtime::machine::{CoreSpec, Image};

use crate::neff::Neff;

/// What is wrong, or worth a warning, with one word of a stream.
#[derive(Clone, PartialEq, Debug)]
pub struct WordFinding {
    /// Core number.
    pub core: usize,
    /// Engine whose stream holds the word.
    pub engine: EngineId,
    /// Slot in the stream.
    pub slot: usize,
    /// Opcode byte.
    pub opcode: u8,
    /// Rule, field, values.
    pub finding: Finding,
}

impl fmt::Display for WordFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WordFinding { core, engine, slot, opcode, finding } = self;
        write!(f, "core {core} {engine} word {slot} (opcode 0x{opcode:02X}) {finding}")
    }
}

impl WordFinding {
    /// The word may not run.
    pub fn is_fatal(&self) -> bool {
        self.finding.severity != Severity::Warning
    }
}

/// Checks every word of every stream; reports all findings.
pub(crate) fn check_streams(neff: &Neff, image: &Image, strict: bool) -> Vec<WordFinding> {
    let mut findings = Vec::new();
    for (number, (graph, core)) in neff.graphs.iter().zip(&image.cores).enumerate() {
        let programs = graph.dve_programs();
        let functions = core.activation_functions();
        for engine in EngineId::ALL {
            let mut cx = CheckContext::new(image.generation, engine);
            cx.strict = strict;
            cx.dve_programs = programs.as_ref();
            cx.activation_sets = Some(core.table_sets.len());
            cx.activation_functions = Some(&functions);
            let stream = &core.streams[engine.index()];
            for (slot, instruction) in stream.words.iter().enumerate() {
                let mut add = |finding| {
                    let opcode = instruction.word.opcode();
                    findings.push(WordFinding { core: number, engine, slot, opcode, finding });
                };
                check_bytes(&instruction.word, &cx).into_iter().for_each(&mut add);
                if let Some(finding) = check_in_program(core, &stream.words, slot) {
                    add(finding);
                }
            }
        }
    }
    findings
}

/// Rules that need the program around the word: queue and block names, pairs of pseudo-words.
fn check_in_program(core: &CoreSpec, words: &[Instruction], slot: usize) -> Option<Finding> {
    let decoded = words[slot].body.as_ref().ok()?;
    let error = |rule, field, offset, found: String, expected: String| {
        Some(Finding { rule, severity: Severity::Error, offset, field, found, expected })
    };
    if let Some(o) = PSEUDO_DMA_TRIGGER::of(&decoded.operands) {
        let name = o.dma_queue_name.as_str()?;
        let Some(queue) = core.queues.iter().find(|q| q.name == name) else {
            return error("queue-exists", "dma_queue_name", 12, name.into(), "a queue of the graph".into());
        };
        if o.use_raw_count == 0 && !queue.blocks.iter().any(|b| b.id == o.block_id_or_count) {
            let expected = format!("a block of queue {name}");
            return error("block-exists", "block_id_or_count", 48, o.block_id_or_count.to_string(), expected);
        }
    }
    let previous = slot.checked_sub(1).map(|s| words[s].word.opcode());
    let owner = [op::PSEUDO_DMA_DIRECT2D, op::PSEUDO_TRIGGER_COLLECTIVE2];
    if decoded.info.byte == op::PSEUDO_EXTENSION && !previous.is_some_and(|p| owner.contains(&p)) {
        let found = previous.map_or("no word".into(), |p| format!("opcode 0x{p:02x}"));
        return error("extension-follows", "opcode", 0, found, "0xD4 or 0xD9 right before".into());
    }
    None
}

/// Marks words that may not run, so that executing one is a precise fault; for sessions without
/// validation at load.
pub(crate) fn refuse(image: &mut Image, findings: &[WordFinding]) {
    for w in findings.iter().filter(|w| w.is_fatal()) {
        let core = std::sync::Arc::make_mut(&mut image.cores[w.core]);
        let stream = &mut core.streams[w.engine.index()];
        let words = std::sync::Arc::make_mut(&mut stream.words);
        words[w.slot].refuse(&w.finding);
    }
}
