//! Turns: how long one agent runs before the next one does (design section 3 rule 8).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::state::HaltReason;
use super::step::{Step, step_in};
use super::stretch::may_stretch;
use super::waits::would_run;
use crate::interp::{Fault, Stretch, Translated, dma};
use crate::isa::EngineId;
use crate::machine::Machine;

/// Words after which an engine's turn ends in the default schedule.
pub const TURN_WORDS: u64 = 256;

/// What a turn did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Turn {
    /// Words finished, or transfers of a queue.
    pub progress: u64,
    /// Words retired.
    pub retired: u64,
    /// The caller's wish cut it short; it can go on as if it had not been.
    pub cut: Option<Cut>,
    /// Its last word ends turns, even where the caller wanted no more words either.
    pub ended: bool,
    /// The engine stopped in this turn: halted, paused, or at the end of its stream.
    pub halted: bool,
}

/// Why a turn was cut short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// The engine is about to run a word of [`Limits::stops`].
    BeforeWord,
    /// [`Limits::until`] holds.
    Condition,
    /// [`Limits::pause`] was set.
    Paused,
}

/// What cuts a turn short beside the rules of turns, looked at between words, and how words are run.
#[derive(Clone, Copy, Default)]
pub struct Limits<'a> {
    /// Words before which to stop, by address: when the engine has come to one and its waits hold.
    pub stops: &'a [u64],
    /// Asked after every word.
    pub until: Option<&'a dyn Fn(&Machine) -> bool>,
    /// Set by another thread.
    pub pause: Option<&'a AtomicBool>,
    /// Native code for words; it changes nothing but the time that they take.
    pub translated: Option<&'a dyn Translated>,
}

/// Runs an engine until its next wait does not hold, it stops, a word ends its turn, or `limit` words have
/// retired.
pub fn engine_turn(machine: &mut Machine, core: usize, engine: EngineId, limit: u64) -> Result<Turn, Fault> {
    engine_turn_within(machine, core, engine, limit, &Limits::default())
}

/// [`engine_turn`], cut short by what the caller wants.
pub fn engine_turn_within(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    limit: u64,
    limits: &Limits<'_>,
) -> Result<Turn, Fault> {
    let first = machine.cores[core].engines[engine.index()].retired;
    let mut code = machine.cores[core].engines[engine.index()].code.clone();
    let mut turn = Turn::default();
    while turn.retired < limit {
        if limits.pause.is_some_and(|p| p.load(Ordering::Relaxed)) {
            turn.cut = Some(Cut::Paused);
            break;
        }
        if let Some(translated) = limits.translated
            && limits.until.is_none()
            && may_stretch(machine, core, engine)
        {
            let room = limit - turn.retired;
            let (stops, pause) = (limits.stops, limits.pause);
            let stretch = Stretch { core, engine, code: &code, room, stops, pause };
            let ran = translated.run(machine, &stretch);
            turn.progress += ran.progress;
            let state = &machine.cores[core].engines[engine.index()];
            turn.retired = state.retired - first;
            // A word that waits ends the turn too, but it has not run.
            turn.ended = ran.ends_turn && state.blocked_on.is_none();
            if ran.ends_turn {
                break;
            }
            if ran.progress > 0 {
                continue;
            }
        }
        if !limits.stops.is_empty() {
            let next = machine.cores[core].engines[engine.index()].next_pc();
            if limits.stops.contains(&next) && would_run(&machine.cores[core], engine) {
                turn.cut = Some(Cut::BeforeWord);
                break;
            }
        }
        let state = &machine.cores[core].engines[engine.index()];
        let (active, running) = (state.is_active(), state.seq.running);
        let Step::Done { ends_turn } = step_in(machine, core, engine, &code, limits.translated)? else {
            let seq = &machine.cores[core].engines[engine.index()].seq;
            // One that was just started may break at once; if it finds no word at all, nothing has happened.
            turn.halted = !seq.running && (running || (active && seq.halt_reason != HaltReason::Halt));
            break;
        };
        let state = &machine.cores[core].engines[engine.index()];
        turn.progress += 1;
        turn.retired = state.retired - first;
        turn.ended = ends_turn;
        // INSTRUCTION_FLUSH gives the engine new code.
        if !Arc::ptr_eq(&code, &state.code) {
            code = state.code.clone();
        }
        if limits.until.is_some_and(|holds| holds(machine)) {
            turn.cut = (!ends_turn && turn.retired < limit).then_some(Cut::Condition);
            break;
        }
        if ends_turn {
            break;
        }
    }
    Ok(turn)
}

/// Does one transfer of a queue, if one is pending.
pub fn dma_turn(machine: &mut Machine, core: usize, queue: usize) -> Result<Turn, Fault> {
    let progress = u64::from(dma::run_next(machine, core, queue)?);
    Ok(Turn { progress, ..Turn::default() })
}
