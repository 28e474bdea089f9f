//! Checking whole streams before they run (chapter 03 section 1.3, chapter 07 section 15).

use std::fmt;

use seqjit_runtime::interp::Instruction;
use seqjit_runtime::isa::check::{
    CheckContext, Finding, Severity, Unsupported, check, check_bytes, not_executed,
};
use seqjit_runtime::isa::field::BranchMode;
use seqjit_runtime::isa::layouts::{CTRL_BR, PSEUDO_DMA_DIRECT2D, PSEUDO_DMA_TRIGGER};
use seqjit_runtime::isa::{Addr8Form, EngineId, Layout, op};
use seqjit_runtime::machine::{CoreSpec, Image, Stream};
use seqjit_runtime::sequencer::legal_opcodes;

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
            let handled = legal_opcodes(engine, image.generation, strict, programs.as_ref(), true);
            let stream = &core.streams[engine.index()];
            for (slot, instruction) in stream.words.iter().enumerate() {
                let opcode = instruction.word().opcode();
                let mut found = match &instruction.body {
                    Ok(decoded) => check(decoded, &cx),
                    Err(unrunnable) => check_bytes(&unrunnable.word, &cx),
                };
                found.extend(check_in_program(core, stream, slot));
                if found.iter().all(|f| f.severity == Severity::Warning) {
                    found.extend(check_executable(instruction, &handled, &cx));
                }
                findings.extend(found.into_iter().map(|finding| WordFinding {
                    core: number,
                    engine,
                    slot,
                    opcode,
                    finding,
                }));
            }
        }
    }
    findings
}

/// Whether the engine's sequencer has a handler for a word without errors (decision 01-D16), and this program
/// a function.
fn check_executable(instruction: &Instruction, handled: &[bool; 256], cx: &CheckContext) -> Option<Finding> {
    let decoded = instruction.body.as_ref().ok()?;
    let found = format!("{} on {} of {}", decoded.info.name, cx.engine, cx.generation);
    let finding = |rule, severity, expected: String| {
        Some(Finding { rule, severity, offset: 0, field: "opcode", found, expected })
    };
    if !handled[usize::from(decoded.info.byte)] {
        let expected = "an opcode that the engine's sequencer has a handler for".into();
        return finding("handler", Severity::Error, expected);
    }
    let Unsupported { reason, .. } = not_executed(decoded)?;
    finding("not-supported", Severity::Unsupported, format!("an opcode that can run: {reason}"))
}

/// Rules that need the program around the word: queue and block names, variables, branch targets, pairs of
/// pseudo-words (chapter 07 section 15, item 8).
fn check_in_program(core: &CoreSpec, stream: &Stream, slot: usize) -> Option<Finding> {
    let words = &stream.words;
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
    if let Some(o) = PSEUDO_DMA_DIRECT2D::of(&decoded.operands) {
        let sides = [("src_start_addr", 16, o.src_start_addr), ("dst_start_addr", 40, o.dst_start_addr)];
        for (field, offset, address) in sides {
            if let Addr8Form::Variable { id, .. } = address.form()
                && core.variables.get(usize::from(id)).copied().flatten().is_none()
            {
                let expected = "a variable of this graph that has an address".into();
                return error("variable-exists", field, offset, format!("variable {id}"), expected);
            }
        }
    }
    if let Some(o) = CTRL_BR::of(&decoded.operands)
        && decoded.info.byte == op::COMPARE_BRANCH
    {
        let here = stream.base + 64 * slot as u64;
        let target = match o.target_mode {
            BranchMode::ABSOLUTE => o.br_immediate,
            BranchMode::RELATIVE => here.wrapping_add_signed(i64::from(o.br_immediate as u32 as i32)),
            _ => return None,
        };
        let offset = target.wrapping_sub(stream.base);
        // Behind the last word the stream ends.
        if !offset.is_multiple_of(64) || offset / 64 > words.len() as u64 {
            let expected = format!("the start of one of the {} words of the stream, or its end", words.len());
            return error("branch-target", "br_immediate", 48, format!("0x{target:x}"), expected);
        }
    }
    let previous = slot.checked_sub(1).map(|s| words[s].word().opcode());
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
