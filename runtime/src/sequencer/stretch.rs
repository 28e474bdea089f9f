//! Stretches: words that run without being asked before each of them whether something stops the engine.
//!
//! While nothing is armed and nobody looks on, all that [`step`](super::step()) does between two words follows
//! from the words. These are its pieces for a runner that has planned the words before; it calls them in the
//! order of [`step`](super::step()), so that it may leave any word to it at any of these points.

use super::halt::commit_redirect;
use super::log::is_heard;
use super::state::{Mode, Phase};
use super::step::retire;
use super::waits::{apply_update, note_change, passing, resolve_updates, take_waits};
use crate::interp::{FaultKind, Flow};
use crate::isa::{Decoded, EngineId, WORD_BYTES};
use crate::machine::{Core, Engine, Machine, Update, Wait};

/// Whether an engine may run words as a stretch: it runs, no surprise is armed, no word is half done, and
/// nobody listens, traces or checks what each word does.
pub(super) fn may_stretch(machine: &Machine, core: usize, engine: EngineId) -> bool {
    let options = &machine.options;
    let Core { sbuf, psum, engines, .. } = &machine.cores[core];
    let watched = options.check || options.trace || sbuf.tracks_writes() || psum.tracks_writes();
    !watched && !is_heard() && engines[engine.index()].runs_freely()
}

impl Engine {
    /// Nothing but its next word itself can keep the engine from running it.
    pub fn runs_freely(&self) -> bool {
        let seq = &self.seq;
        let fetches = seq.mode == Mode::Sunda || seq.fetch_gate != 0;
        seq.running && seq.phase == Phase::Running && !seq.alert && !seq.first_wait_taken && fetches
    }

    /// The slot of the next word in the engine's code, if it lies there and inside the bounds of the PC.
    pub fn next_slot(&self, base: u64, words: usize) -> Option<usize> {
        let pc = self.next_pc();
        let (low, high) = self.seq.bounds;
        let bytes = pc.wrapping_sub(base);
        let slot = (bytes / WORD_BYTES as u64) as usize;
        let there = bytes.is_multiple_of(WORD_BYTES as u64) && slot < words;
        (there && (low..=high).contains(&pc)).then_some(slot)
    }

    /// What comes before the waits of a word when nothing is armed: a trip round the loop, and the redirect of the
    /// word before.
    pub fn begin_word(&mut self) {
        let seq = &mut self.seq;
        if !seq.checked {
            if seq.mode == Mode::HwDecode {
                seq.iteration = seq.iteration.wrapping_add(1);
            }
            seq.checked = true;
        }
        if let Some(target) = seq.redirect.take() {
            commit_redirect(seq, target);
            self.pc = target;
        }
    }

    /// Moves past a word whose updates are published.
    pub fn end_word(&mut self, opcode: u8, flow: Flow) {
        retire(self, opcode, flow);
    }
}

/// Words that have run on an engine's registers alone, without waits and updates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// How many, at least one; [`Engine::begin_word`] has been called for the first.
    pub done: u64,
    /// How many of them count as retired.
    pub retired: u64,
    /// Target of the last branch whose target is among them.
    pub committed: Option<u64>,
    /// Address of the last word, if it was a branch that was taken.
    pub branch: Option<u64>,
    /// Address of the next word.
    pub next: u64,
}

impl Engine {
    /// Moves past words.
    pub fn pass_words(&mut self, passed: &Passed) {
        let seq = &mut self.seq;
        if seq.mode == Mode::HwDecode {
            seq.iteration = seq.iteration.wrapping_add((passed.done - 1) as u32);
        }
        if let Some(target) = passed.committed {
            commit_redirect(seq, target);
        }
        seq.first_wait_taken = false;
        seq.checked = false;
        seq.suppressed_at = None;
        seq.redirect = passed.branch.map(|_| passed.next);
        self.pc = passed.branch.unwrap_or(passed.next);
        self.retired += passed.retired;
    }
}

/// The wait of a word that has only one, resolved before: tests it and does its side effect; `false`: blocked.
pub fn take_wait(machine: &mut Machine, core: usize, engine: EngineId, wait: &Wait) -> bool {
    let Core { sync, engines, .. } = &mut machine.cores[core];
    let state = &mut engines[engine.index()];
    if !sync.holds(wait) {
        state.blocked_on = Some(*wait);
        return false;
    }
    state.blocked_on = None;
    state.seq.first_wait_taken = true;
    let pc = state.pc;
    if let Some(change) = sync.take(wait) {
        note_change(machine, core, Some(engine), pc, &change);
    }
    true
}

/// All waits of a word, as [`take_wait`].
///
/// # Errors
/// A wait cannot be resolved; [`step`](super::step()) raises the fault.
pub fn take_all_waits(
    machine: &mut Machine,
    core: usize,
    engine: EngineId,
    word: &Decoded,
) -> Result<bool, FaultKind> {
    let pc = machine.cores[core].engines[engine.index()].pc;
    take_waits(machine, core, engine, pc, word)
}

/// The updates of a word, resolved before its body runs.
///
/// # Errors
/// One cannot be resolved; [`step`](super::step()) raises the fault.
pub fn updates_of(engine: &Engine, word: &Decoded) -> Result<[Option<Update>; 2], FaultKind> {
    resolve_updates(engine, word)
}

/// How many words, with these waits and updates, an engine runs one after the other, if nothing but waits can stop it, before one of
/// them is blocked or behind one that ends the turn. Nothing is taken or published.
pub fn words_that_pass(
    core: &Core,
    engine: EngineId,
    words: impl IntoIterator<Item = (Option<Wait>, Option<Update>)>,
) -> usize {
    passing(core, engine, words)
}

/// Publishes one update; tells whether it ends the turn.
pub fn publish(machine: &mut Machine, core: usize, engine: EngineId, update: &Update) -> bool {
    let pc = machine.cores[core].engines[engine.index()].pc;
    apply_update(machine, core, engine, pc, update)
}
