//! What stops a run: words, conditions, writes.
//!
//! Words are instruction breakpoints of the sequencers (chapter 01 sections 7 and 12). Conditions and writes
//! are looked at behind every word and transfer, through `Until::Condition`, which changes no order.

use std::cell::RefCell;
use std::fmt;

use seqjit::runtime::isa::{EngineId, OpcodeInfo};
use seqjit::runtime::machine::Machine;

use super::area::Area;
use super::condition::Condition;
use super::explain;

/// A word: core, engine, slot.
pub type WordAt = (usize, EngineId, u64);

/// Something that stops a run.
#[derive(Debug)]
pub struct Break {
    /// Its number, from 1; never used again.
    pub number: usize,
    /// What it looks at.
    pub kind: Kind,
    /// What must hold besides.
    pub condition: Condition,
    /// Stops so far.
    pub hits: u64,
}

/// What a break looks at.
#[derive(Debug)]
pub enum Kind {
    /// An engine comes to the word.
    Word(WordAt),
    /// An engine comes to a word of this opcode.
    Opcode(&'static OpcodeInfo, Vec<WordAt>),
    /// The condition comes to hold.
    Holds,
    /// A word or transfer writes bytes.
    Written(Area),
}

impl Break {
    /// Words with an instruction breakpoint.
    pub fn words(&self) -> &[WordAt] {
        match &self.kind {
            Kind::Word(word) => std::slice::from_ref(word),
            Kind::Opcode(_, words) => words,
            Kind::Holds | Kind::Written(_) => &[],
        }
    }

    fn is_watched_for(&self) -> bool {
        matches!(self.kind, Kind::Holds | Kind::Written(_))
    }

    /// A number that grows with writes, or 1 while the condition holds.
    fn level(&self, machine: &Machine) -> u64 {
        match &self.kind {
            Kind::Written(area) => area.writes(machine),
            _ => self.condition.holds(machine).into(),
        }
    }
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Word((core, engine, slot)) => write!(f, "core {core} {engine} word {slot}")?,
            Kind::Opcode(info, words) => write!(f, "opcode {}, {} words", info.display, words.len())?,
            Kind::Holds => return write!(f, "{}", self.condition),
            Kind::Written(area) => write!(f, "writes to {area}")?,
        }
        match self.condition.is_empty() {
            true => Ok(()),
            false => write!(f, " if {}", self.condition),
        }
    }
}

/// A break that stopped a run.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its number.
    pub number: usize,
    /// What happened.
    pub text: String,
}

/// Looks at conditions and writes while a run goes on.
pub struct Monitor<'b> {
    breaks: Vec<&'b Break>,
    seen: RefCell<Seen>,
}

struct Seen {
    /// [`Break::level`] of each break when it was last looked at.
    levels: Vec<u64>,
    marks: Marks,
    /// Kept for its allocation.
    now: Marks,
    hits: Vec<Hit>,
}

/// How far every engine and queue is: what differs tells who did something.
#[derive(Default)]
struct Marks {
    /// Words ran and address of the next one, core by core.
    engines: Vec<(u64, u64)>,
    /// Transfers done, core by core.
    queues: Vec<u64>,
}

impl Marks {
    fn take(&mut self, machine: &Machine) {
        self.engines.clear();
        self.queues.clear();
        for core in &machine.cores {
            self.engines.extend(core.engines.iter().map(|e| (e.retired, e.next_pc())));
            self.queues.extend(core.queues.iter().map(|q| q.completed));
        }
    }

    /// Who has done something between `self` and `later`.
    fn actor(&self, later: &Marks, machine: &Machine) -> String {
        let mut engines = self.engines.iter().zip(&later.engines);
        let mut queues = self.queues.iter().zip(&later.queues);
        for (number, core) in machine.cores.iter().enumerate() {
            for (engine, (before, after)) in core.engines.iter().zip(&mut engines) {
                if before != after {
                    let word = explain::word(core, engine.id, explain::slot_of(core, engine.id, before.1));
                    return format!("core {number} {} {word}", engine.id);
                }
            }
            for (queue, (before, after)) in core.queues.iter().zip(&mut queues) {
                if before != after {
                    return format!("a transfer of core {number} queue {}", queue.spec.name);
                }
            }
        }
        "something else".to_owned()
    }
}

impl<'b> Monitor<'b> {
    /// Takes what is now as already seen.
    pub fn new(breaks: &'b [Break], machine: &Machine) -> Monitor<'b> {
        let breaks: Vec<&Break> = breaks.iter().filter(|b| b.is_watched_for()).collect();
        let levels = breaks.iter().map(|b| b.level(machine)).collect();
        let mut marks = Marks::default();
        marks.take(machine);
        let seen = Seen { levels, marks, now: Marks::default(), hits: Vec::new() };
        Monitor { breaks, seen: RefCell::new(seen) }
    }

    /// There is nothing to look at.
    pub fn is_idle(&self) -> bool {
        self.breaks.is_empty()
    }

    /// Whether something has happened that stops the run. Stays so once it is.
    pub fn look(&self, machine: &Machine) -> bool {
        let Seen { levels, marks, now, hits } = &mut *self.seen.borrow_mut();
        if !hits.is_empty() || self.is_idle() {
            return !hits.is_empty();
        }
        now.take(machine);
        for (watched, level) in self.breaks.iter().zip(levels) {
            let before = std::mem::replace(level, watched.level(machine));
            let text = match &watched.kind {
                Kind::Written(area) if *level > before && watched.condition.holds(machine) => {
                    format!("{area} written by {}", marks.actor(now, machine))
                }
                Kind::Holds if *level > before => {
                    format!("{} after {}", watched.condition.found(machine), marks.actor(now, machine))
                }
                _ => continue,
            };
            hits.push(Hit { number: watched.number, text });
        }
        std::mem::swap(marks, now);
        !hits.is_empty()
    }

    /// What has happened.
    pub fn into_hits(self) -> Vec<Hit> {
        self.seen.into_inner().hits
    }
}

/// Breaks at a word at which an engine has made a breakpoint stop: `None` if none is there, else those whose
/// conditions hold.
pub fn at_word(breaks: &[Break], word: WordAt, machine: &Machine) -> Option<Vec<Hit>> {
    let mut here = breaks.iter().filter(|b| b.words().contains(&word)).peekable();
    here.peek()?;
    let hit = |b: &Break| Hit { number: b.number, text: b.to_string() };
    Some(here.filter(|b| b.condition.holds(machine)).map(hit).collect())
}
