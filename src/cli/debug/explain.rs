//! States, stops and faults in words.

use seqjit::runtime::interp::{Fault, FaultKind};
use seqjit::runtime::isa::field::WaitMode;
use seqjit::runtime::isa::{EngineId, WORD_BYTES};
use seqjit::runtime::machine::{Core, Engine, Wait};
use seqjit::runtime::sequencer::{HaltReason, Phase};
use seqjit::{Counters, RunError};

use crate::cli::text;

/// The slot of an address in an engine's stream.
pub fn slot_of(core: &Core, engine: EngineId, address: u64) -> u64 {
    address.wrapping_sub(core.spec.streams[engine.index()].base) / WORD_BYTES as u64
}

/// The slot of the word that an engine runs next: of the resume PC where it stands still.
pub fn next_slot(core: &Core, engine: EngineId) -> u64 {
    let state = &core.engines[engine.index()];
    let stands = matches!(state.seq.phase, Phase::Waiting | Phase::Dead);
    slot_of(core, engine, if stands { state.seq.csr.resume_pc() } else { state.next_pc() })
}

/// A word by slot and opcode.
pub fn word(core: &Core, engine: EngineId, slot: u64) -> String {
    match core.engines[engine.index()].code.get(slot as usize) {
        Some(instruction) => format!("word {slot} ({})", text::opcode_name(instruction.word().opcode())),
        None => format!("word {slot} (behind the last word)"),
    }
}

/// Why a sequencer stopped (chapter 01 section 8.3).
pub fn halt_reason(reason: HaltReason) -> &'static str {
    match reason {
        HaltReason::Halt => "halted: a HALT word, or the end of its stream",
        HaltReason::InsBreak => {
            "instruction breakpoint: it has come to the word, which has not waited nor run yet"
        }
        HaltReason::ExtBreak => "external stop: the host asked it to stop before its next word",
        HaltReason::Fatal => "fatal error: the word had no effect, and only a restart brings the engine back",
        HaltReason::Step => "step count used up: the words asked for have run",
    }
}

/// What an engine does now, with the run state that it publishes (chapter 01 sections 8.3 and 9.2).
pub fn activity(core: &Core, engine: &Engine) -> String {
    let run_state = engine.seq.run_state();
    let what = match engine.seq.phase {
        Phase::Reset => "held in reset by release_run_stall".to_owned(),
        Phase::Dead => "dead after a fatal error, until a restart".to_owned(),
        Phase::Paused => "paused: a HALT word while interrupt 0 was pending".to_owned(),
        Phase::Running => match &engine.blocked_on {
            Some(waits_for) => format!("running, {}", wait(core, waits_for)),
            None => "running".to_owned(),
        },
        Phase::Waiting if engine.seq.doorbell() => "about to start: its doorbell has been rung".to_owned(),
        Phase::Waiting => halt_reason(engine.seq.halt_reason).to_owned(),
    };
    format!("{what}; run state {run_state}")
}

/// What a wait needs and what is there.
pub fn wait(core: &Core, wait: &Wait) -> String {
    let index = usize::from(wait.index);
    if wait.on_event() {
        let wanted = matches!(wait.mode, WaitMode::EVT_SET | WaitMode::EVT_SET_THEN_CLEAR);
        let is = |set| if set { "set" } else { "clear" };
        return format!(
            "waits for event {index} to be {}, which is {}",
            is(wanted),
            is(core.sync.events[index])
        );
    }
    let relation = match wait.mode {
        WaitMode::SEM_EQ_IMM => "==",
        WaitMode::SEM_LT_IMM => "<",
        WaitMode::SEM_LE_IMM => "<=",
        WaitMode::SEM_GT_IMM => ">",
        _ => ">=",
    };
    format!("waits for semaphore {index} {relation} {}, which is {}", wait.value, core.sync.semaphores[index])
}

/// What a kind of fault means.
fn meaning(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::Decode(_) => "the bytes of the word are no instruction of this generation",
        FaultKind::Unsupported { .. } => {
            "the word is legal, but what it asks for is not defined or not implemented"
        }
        FaultKind::Illegal { .. } => "the word breaks a rule of the instruction set",
        FaultKind::BadOpcode { .. } => "this engine's sequencer has no handler for the opcode",
        FaultKind::IntegerDivision => "the register ALU was asked to divide by zero",
        FaultKind::Assertion { .. } => {
            "a check in the sequencer itself failed: it was used in a way it excludes"
        }
        FaultKind::Misaligned { .. } => "an address does not suit the size of the access",
        FaultKind::Memory { .. } => "an operand lies outside the memory that there is",
        FaultKind::Uninitialised { .. } => "the word reads bytes that nothing has written (--check)",
        FaultKind::Fetch { .. } => "the engine was sent to an address where none of its words is",
        FaultKind::Internal(_) => "this is a defect of seqjit, please report it",
    }
}

/// A fault, what it means and what became of the engine.
pub fn fault(fault: &Fault, engine: &Engine) -> String {
    let record = engine.seq.error_record;
    format!(
        "fault at {fault}\n  {}\n  {}; error record 0x{record:x}, run state {}",
        meaning(&fault.kind),
        halt_reason(HaltReason::Fatal),
        engine.seq.run_state()
    )
}

/// An error that ended a run; faults are explained by [`fault`].
pub fn ended(error: &RunError) -> String {
    match error {
        RunError::Output(_) => format!("the program ended, but is not complete: {error}"),
        _ => error.to_string(),
    }
}

/// The end of a run.
pub fn finished(c: &Counters) -> String {
    format!(
        "finished: all streams have ended and all transfers are done; {} words, {} turns, {} transfers",
        c.retired, c.turns, c.transfers
    )
}
