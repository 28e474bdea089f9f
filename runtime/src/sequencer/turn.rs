//! Turns: how long one agent runs before the next one does (design section 3 rule 8).

use super::step::{Step, step};
use super::waits::would_run;
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
    /// It was cut short before a word at which the caller wants to stop.
    pub stopped: bool,
}

/// Runs an engine until its next wait does not hold, it stops, a word ends its turn, or `limit` words have
/// retired.
pub fn engine_turn(machine: &mut Machine, core: usize, engine: EngineId, limit: u64) -> Result<Turn, Fault> {
    engine_turn_until(machine, core, engine, limit, &[])
}

/// [`engine_turn`], cut short when the engine is about to run the word at one of the addresses in `stops`:
/// when it has come there and the waits of the word hold.
pub fn engine_turn_until(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    limit: u64,
    stops: &[u64],
) -> Result<Turn, Fault> {
    let first = machine.cores[core].engines[engine.index()].retired;
    let mut turn = Turn { progress: 0, retired: 0, stopped: false };
    while turn.retired < limit {
        let next = machine.cores[core].engines[engine.index()].next_pc();
        if stops.contains(&next) && would_run(&machine.cores[core], engine) {
            turn.stopped = true;
            break;
        }
        match step(machine, core, engine)? {
            Step::Done { ends_turn } => {
                turn.progress += 1;
                turn.retired = machine.cores[core].engines[engine.index()].retired - first;
                if ends_turn {
                    break;
                }
            }
            Step::Blocked | Step::Stopped => break,
        }
    }
    Ok(turn)
}

/// Does one transfer of a queue, if one is pending.
pub fn dma_turn(machine: &mut Machine, core: usize, queue: usize) -> Result<Turn, Fault> {
    let progress = u64::from(dma::run_next(machine, core, queue)?);
    Ok(Turn { progress, retired: 0, stopped: false })
}
