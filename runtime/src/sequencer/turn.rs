//! Turns: how long one agent runs before the next one does (design section 3 rule 8).

use std::sync::Arc;

use super::step::{Step, step_in};
use crate::interp::{Fault, dma};
use crate::isa::EngineId;
use crate::machine::Machine;

/// Words after which an engine's turn ends in the default schedule.
pub const TURN_WORDS: u64 = 256;

/// What a turn did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Words finished, or transfers of a queue.
    pub progress: u64,
    /// Words retired.
    pub retired: u64,
}

/// Runs an engine until its next wait does not hold, it stops, a word ends its turn, or `limit` words have
/// retired.
pub fn engine_turn(machine: &mut Machine, core: usize, engine: EngineId, limit: u64) -> Result<Turn, Fault> {
    let first = machine.cores[core].engines[engine.index()].retired;
    let mut code = machine.cores[core].engines[engine.index()].code.clone();
    let mut turn = Turn { progress: 0, retired: 0 };
    while turn.retired < limit {
        let Step::Done { ends_turn } = step_in(machine, core, engine, &code)? else { break };
        let state = &machine.cores[core].engines[engine.index()];
        turn.progress += 1;
        turn.retired = state.retired - first;
        if ends_turn {
            break;
        }
        // INSTRUCTION_FLUSH gives the engine new code.
        if !Arc::ptr_eq(&code, &state.code) {
            code = state.code.clone();
        }
    }
    Ok(turn)
}

/// Does one transfer of a queue, if one is pending.
pub fn dma_turn(machine: &mut Machine, core: usize, queue: usize) -> Result<Turn, Fault> {
    let progress = u64::from(dma::run_next(machine, core, queue)?);
    Ok(Turn { progress, retired: 0 })
}
