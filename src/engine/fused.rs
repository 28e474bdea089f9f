//! Running fused runs: which words of a stream they are, their code, and what surrounds it.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;
use seqjit_runtime::interp::{Exec, Flow, Instruction, Ran, Stretch};
use seqjit_runtime::sequencer;

use super::cache::{CacheCounters, CodeCache};
use super::native;
use super::plan::{Entry, How, Sync};
use super::runner::Runner;
use super::shapes::Native;
use super::tier::{Tier, fused_gain, fused_pays};
use crate::block::{self, CodeKey, FusedWord, MAX_FUSED, Member};
use crate::translate::{self, Refusal};

/// Times in a row that a run must be blocked at the same place before it is cut there.
const PATIENCE: u8 = 2;

/// A run of a stream.
pub(super) struct FusedPlan {
    /// Number of its code.
    code: u32,
    words: u8,
    /// A word behind the first one waits, or one before the last updates.
    synchronised: bool,
    /// Times in a row that the guard has failed.
    failures: u8,
    /// What its words leave open; more than that where the run has been cut.
    table: Box<[u64]>,
}

/// The code of all runs of a session: known by number, compiled or not.
#[derive(Default)]
pub(super) struct FusedCodes {
    list: Vec<FusedCode>,
    numbers: HashMap<Vec<FusedWord>, u32, FxBuildHasher>,
}

struct FusedCode {
    words: Vec<FusedWord>,
    native: Native,
    /// What it saves each time, and would have saved so far, in nanoseconds.
    gain: u64,
    heat: u64,
}

impl FusedCodes {
    /// The number of a run's code.
    fn intern(&mut self, words: Vec<FusedWord>, gain: u64, cache: &CodeCache) -> u32 {
        if let Some(number) = self.numbers.get(&words) {
            return *number;
        }
        let number = self.list.len() as u32;
        let native = match cache.find(&CodeKey::Fused(words.clone())) {
            None => Native::Cold,
            Some(Ok(code)) => Native::Code(code),
            Some(Err(why)) => Native::Refused(why),
        };
        self.numbers.insert(words.clone(), number);
        self.list.push(FusedCode { words, native, gain, heat: 0 });
        number
    }

    /// Counts a time that a run comes up, and compiles it if that pays; what that took.
    fn warm(&mut self, number: u32, cache: &CodeCache, tier: Tier) -> Option<CacheCounters> {
        let code = &mut self.list[number as usize];
        if !matches!(code.native, Native::Cold) {
            return None;
        }
        code.heat += code.gain;
        if tier != Tier::Jit && !fused_pays(code.words.len(), code.heat) {
            return None;
        }
        let (translations, work) = cache.compile(&[CodeKey::Fused(code.words.clone())]);
        code.native = match translations.into_iter().next() {
            Some(Ok(native)) => Native::Code(native),
            // It is asked for again when it has become due once more.
            Some(Err(Refusal::Pending)) | None => {
                code.heat = 0;
                Native::Cold
            }
            Some(Err(why)) => Native::Refused(why),
        };
        Some(work)
    }
}

/// The run that begins at a slot, as far as the words alone say; it may have one word or none.
pub(super) fn find(x: &Exec<'_>, code: &[Instruction], slot: usize) -> Vec<Member> {
    let legal = &x.machine.cores[x.core].engines[x.engine.index()].legal;
    let member = |(at, instruction): (usize, &Instruction)| {
        let w = block::executable(instruction).filter(|w| legal[usize::from(w.info.byte)])?;
        let events = Entry::new(w, How::Native);
        // The first word's wait is over before the run is looked at.
        let known = (at == 0 || events.waits != Sync::General) && events.updates != Sync::General;
        if known { translate::member(x, w) } else { None }
    };
    block::longest(code[slot..].iter().enumerate().map_while(member))
}

impl Runner<'_> {
    /// Runs the words from a slot on as one, where they may and the first one's wait is over. `None`: nothing has been done, and they
    /// go one by one.
    pub(super) fn run_fused(&mut self, slot: usize, left: u64) -> Option<Ran> {
        let number = self.fused_run(slot)?;
        let run = &self.plans.fused[number];
        let (code, words) = (run.code, usize::from(run.words));
        if left < words as u64 {
            return None;
        }
        if let Some(work) = self.shapes.fused.warm(code, self.cache, self.tier) {
            self.counters.add(&work);
        }
        if run.synchronised {
            let passing = self.words_that_pass(slot, words);
            if passing < words {
                self.blocked_inside(slot, number, passing);
                return None;
            }
        }
        let run = &mut self.plans.fused[number];
        run.failures = 0;
        let Native::Code(code) = &self.shapes.fused.list[code as usize].native else { return None };
        let core = &mut self.machine.cores[self.stretch.core];
        // SAFETY: the plan holds for this machine's generation, and the memories fit; the table holds the operands of the
        // words that the code is for.
        unsafe { native::call_fused(core, code, &run.table) };
        self.counters.fused_runs += 1;
        self.counters.words += words as u64;
        Some(Ran { progress: words as u64, ends_turn: self.pass_fused(slot, words) })
    }

    /// How many of the words from a slot on would run if they went one by one.
    fn words_that_pass(&self, slot: usize, words: usize) -> usize {
        let core = &self.machine.cores[self.stretch.core];
        let syncs = self.plans.entries[slot..slot + words].iter().enumerate().map(|(at, entry)| {
            let waits = at > 0 && entry.waits == Sync::One;
            (waits.then(|| entry.wait()), entry.update().filter(|_| entry.updates == Sync::One))
        });
        sequencer::words_that_pass(core, self.stretch.engine, syncs)
    }

    /// What surrounds the bodies of words that have run; tells whether the last one ends the turn. None before it does, and
    /// none is blocked.
    fn pass_fused(&mut self, slot: usize, words: usize) -> bool {
        let (core, engine, code) = (self.stretch.core, self.stretch.engine, self.stretch.code);
        let mut ends_turn = false;
        for at in slot..slot + words {
            let entry = self.plans.entries[at];
            if at > slot {
                self.engine_mut().begin_word();
                let holds = self.take_waits(&code[at], &entry);
                debug_assert_eq!(holds, Some(true), "the guard has tested it");
            }
            if let Some(update) = entry.update().filter(|_| entry.updates == Sync::One) {
                debug_assert!(!ends_turn, "the guard has tested it");
                ends_turn = sequencer::publish(self.machine, core, engine, &update);
            }
            self.engine_mut().end_word(code[at].word().opcode(), Flow::Next);
            self.counters.blocks += u64::from(entry.ends_block());
        }
        ends_turn
    }

    /// The run that begins at a slot, looked for the second time that it comes up, or the first where everything is compiled.
    fn fused_run(&mut self, slot: usize) -> Option<usize> {
        if self.plans.entries[slot].begins_run() {
            return Some(self.plans.fused_at[slot] as usize);
        }
        if !self.plans.entries[slot].is_due_for_run(self.tier == Tier::Jit) {
            return None;
        }
        let Stretch { core, engine, code, .. } = *self.stretch;
        (slot..code.len().min(slot + MAX_FUSED)).for_each(|at| self.ensure_plan(at));
        let pc = self.engine().pc;
        let x = Exec { machine: self.machine, core, engine, pc, ends_turn: false };
        let members = find(&x, code, slot);
        if members.len() < 2 {
            self.plans.entries[slot].never_begins_run();
            return None;
        }
        let generation = self.machine.generation;
        let table = members.iter().flat_map(|m| native::fused_table(&m.binding, generation)).collect();
        let gain = members.iter().map(|m| fused_gain(m.binding.lanes, m.binding.destination.count)).sum();
        let words = members.into_iter().map(|m| m.word).collect();
        Some(self.add_run(slot, words, gain, table))
    }

    /// Plans a run that begins at a slot.
    fn add_run(&mut self, slot: usize, words: Vec<FusedWord>, gain: u64, table: Box<[u64]>) -> usize {
        let entries = &mut self.plans.entries[slot..slot + words.len()];
        let (updates, waits) = (&entries[..entries.len() - 1], &entries[1..]);
        let synchronised =
            updates.iter().any(|e| e.updates != Sync::None) || waits.iter().any(|e| e.waits != Sync::None);
        entries[0].begin_run();
        entries[1..].iter_mut().for_each(Entry::lie_in_run);
        let len = words.len() as u8;
        let code = self.shapes.fused.intern(words, gain, self.cache);
        let number = self.plans.fused.len();
        self.plans.fused.push(FusedPlan { code, words: len, synchronised, failures: 0, table });
        self.plans.fused_at.resize(self.plans.entries.len(), 0);
        self.plans.fused_at[slot] = number as u32;
        number
    }

    /// A guard has failed: only the first `passing` words would run now. Where that happens again the run ends there, and another
    /// one may begin.
    #[cold]
    fn blocked_inside(&mut self, slot: usize, number: usize, passing: usize) {
        let run = &mut self.plans.fused[number];
        run.failures += 1;
        if run.failures < PATIENCE {
            return;
        }
        let all = usize::from(run.words);
        let table = std::mem::take(&mut run.table);
        let FusedCode { words, gain, .. } = &self.shapes.fused.list[run.code as usize];
        let (words, gain) = (words[..passing].to_vec(), *gain * passing as u64 / all as u64);
        self.plans.entries[slot + passing..slot + all].iter_mut().for_each(Entry::leave_run);
        if passing < 2 {
            self.plans.entries[slot].never_begins_run();
        } else {
            self.add_run(slot, words, gain, table);
        }
    }
}
