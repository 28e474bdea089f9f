//! One core while its statements are read.

use std::collections::HashMap;
use std::rc::Rc;

use seqjit_runtime::act::TableSet;
use seqjit_runtime::isa::text::Names;
use seqjit_runtime::isa::{EngineId, Generation, Word};

use super::error::Position;
use crate::neff::{Bytes, DmaBlock, Queue, Reservation, Variable, VariableKind};

/// The id of the variable `SB`, which every core has (chapter 10 section 2.2).
pub(super) const STATE_BUFFER: u32 = 0;

/// Tiles without an address start behind the bytes that software queues use (chapter 10 section 3).
const FIRST_TILE_BYTE: i64 = 0x4000;

/// Semaphores below belong to the runtime and to the engines (chapter 10 section 6).
const FIRST_QUEUE_SEMAPHORE: usize = 8;

/// The name of a word: `load`, or `load[i, j]` in a loop.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Label {
    pub name: String,
    pub indices: Vec<i64>,
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let indices: Vec<String> = self.indices.iter().map(i64::to_string).collect();
        match indices.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{}[{}]", self.name, indices.join(", ")),
        }
    }
}

/// Words that a label names: all whose indices start with those given.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub label: Label,
    /// There need not be any.
    pub optional: bool,
    pub position: Position,
}

/// One word of a stream, before waits are filled in.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub word: Word,
    pub position: Position,
    pub context: Rc<[String]>,
    pub after: Vec<Reference>,
    /// What its branch goes to.
    pub branch: Option<Reference>,
    /// The assembler chose its completion semaphore, so it has to see to it that the semaphore is free.
    pub chosen_semaphore: bool,
}

/// A queue with its blocks.
#[derive(Clone, Debug)]
pub(super) struct QueueBuild {
    pub queue: Queue,
    pub blocks: Vec<DmaBlock>,
    /// Generated transfers so far.
    pub generated: usize,
}

/// One core.
#[derive(Debug)]
pub(super) struct CoreBuild {
    pub name: String,
    pub variables: Vec<Variable>,
    /// Members in the core's directory.
    pub files: Vec<(String, Bytes)>,
    pub queues: Vec<QueueBuild>,
    pub sets: Vec<TableSet>,
    pub streams: [Vec<Slot>; 5],
    /// Engine and position in its stream.
    pub labels: HashMap<Label, (EngineId, usize)>,
    pub names: Names,
    sbuf_next: i64,
    psum_next: i64,
    semaphore_next: usize,
}

impl CoreBuild {
    /// A core with nothing but its state buffer.
    pub fn new(number: usize) -> CoreBuild {
        CoreBuild {
            name: format!("sg{number:02}"),
            variables: vec![Variable::new("SB", STATE_BUFFER, VariableKind::StateBuffer, None)],
            files: Vec::new(),
            queues: Vec::new(),
            sets: Vec::new(),
            streams: Default::default(),
            labels: HashMap::new(),
            names: Names::engines(),
            sbuf_next: FIRST_TILE_BYTE,
            psum_next: 0,
            semaphore_next: FIRST_QUEUE_SEMAPHORE,
        }
    }

    /// The bytes of an SBUF partition that a program may use.
    pub fn usable(generation: Generation) -> i64 {
        match generation {
            Generation::Cayman => Reservation::CAYMAN.offset as i64,
            other => i64::from(other.geometry().sbuf_active),
        }
    }

    /// The next free `bytes` of every SBUF partition, or PSUM bank; `None` if there are no more.
    pub fn allocate(&mut self, in_psum: bool, bytes: i64, generation: Generation) -> Option<i64> {
        /// Where tiles start, so that rows do not share cache lines.
        const ALIGNMENT: i64 = 64;
        let bank = i64::from(seqjit_runtime::isa::PSUM_BANK);
        let (next, alignment, end) = match in_psum {
            true => (&mut self.psum_next, bank, i64::from(seqjit_runtime::isa::PSUM_ACTIVE)),
            false => (&mut self.sbuf_next, ALIGNMENT, CoreBuild::usable(generation)),
        };
        let start = *next;
        let behind = start.checked_add(bytes)?;
        *next =
            behind.div_euclid(alignment) * alignment + if behind % alignment == 0 { 0 } else { alignment };
        (behind <= end).then_some(start)
    }

    /// The next sixteen semaphores that no queue has; `None` if there are no more.
    pub fn allocate_semaphores(&mut self) -> Option<Vec<u8>> {
        /// One for every ring (chapter 10 section 4).
        const COUNT: usize = 16;
        let first = self.semaphore_next;
        self.semaphore_next += COUNT;
        (first..first + COUNT).map(|s| u8::try_from(s).ok()).collect()
    }

    /// Notes that semaphores up to `last` are taken.
    pub fn claim_semaphores(&mut self, last: u8) {
        self.semaphore_next = self.semaphore_next.max(usize::from(last) + 1);
    }

    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.name == name)
    }
}
