//! What the words of device images reach outside the program's variables.

use std::collections::{BTreeMap, BTreeSet};

use seqjit_runtime::interp::control::element_addresses;
use seqjit_runtime::isa::field::{Addr8, WaitMode};
use seqjit_runtime::isa::layouts::{CTRL_ES, CTRL_WR, MEM_2D};
use seqjit_runtime::isa::{Addr8Form, Decoded, Family, Layout, op};
use seqjit_runtime::machine::soc::{SyncWindow, Target};
use seqjit_runtime::machine::{REG_TABLE_HI, REG_TABLE_LO};

use super::error::ReplayError;

/// Unit in which places of unknown size get memory.
pub(super) const PAGE: u64 = 0x1000;
/// Pages that words may name: a hundred times what the runtime's code names.
const MAX_PAGES: usize = 4096;
/// Elements of a MEM_2D word (chapter 02 section 8.11).
const MAX_ELEMENTS: u32 = 32;

/// Where the tail register of a DMA queue lies in the queue's block of registers, and how large that is
/// (chapter 07 section 11.3).
const TAIL: u64 = 0x38;
const QUEUE_BYTES: u64 = 0x1000;

/// A semaphore (`true`) or event of a core.
pub(super) type Cell = (bool, u8);

/// What the words of all cores reach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reach {
    /// Pages outside the cores and the container's variables: control blocks and cells of the runtime, and
    /// registers of DMA engines.
    pub pages: BTreeSet<u64>,
    /// 32-bit cells from which words load the base of the address table.
    pub cells: BTreeMap<u64, u32>,
    /// What concerns one core.
    pub cores: Vec<CoreReach>,
}

/// What concerns one core.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CoreReach {
    /// Semaphores that transfers started by its words increment.
    pub posted: BTreeSet<u8>,
    /// Semaphores and events that words of any core change over the bus.
    pub stored: BTreeSet<Cell>,
    /// Tail registers of DMA queues: those that one of its words writes together.
    pub bells: BTreeSet<Vec<u64>>,
}

impl Reach {
    pub(super) fn new(cores: usize) -> Reach {
        let cores = vec![CoreReach::default(); cores];
        Reach { pages: BTreeSet::new(), cells: BTreeMap::new(), cores }
    }

    /// Adds what a word of a core reaches. `known` tells what lies at an address: something of a core, or
    /// (`Err`) whether a variable does. `table` is where the core's address table lies.
    pub(super) fn add(
        &mut self,
        core: usize,
        word: &Decoded,
        known: &dyn Fn(u64) -> Result<Target, bool>,
        table: u64,
    ) -> Result<(), ReplayError> {
        let stores: Vec<u64> = CTRL_WR::of(&word.operands).map(writes).unwrap_or_default();
        let elements = MEM_2D::of(&word.operands).map(elements).unwrap_or_default();
        for address in stores.iter().chain(&elements) {
            match known(*address) {
                Ok(Target::Sync { core, window, index }) => {
                    let semaphore = window != SyncWindow::Event;
                    self.cores[core].stored.insert((semaphore, index));
                }
                Ok(_) | Err(true) => {}
                Err(false) => {
                    self.pages.insert(address / PAGE * PAGE);
                    if self.pages.len() > MAX_PAGES {
                        return Err(ReplayError::Pages { limit: MAX_PAGES });
                    }
                }
            }
        }
        let tails = stores.into_iter().filter(|a| a % QUEUE_BYTES == TAIL && known(*a) == Err(false));
        let tails: Vec<u64> = tails.collect();
        if !tails.is_empty() {
            self.cores[core].bells.insert(tails);
        }
        if let Some(o) = MEM_2D::of(&word.operands).filter(|_| word.info.byte == op::TENSOR_LOAD) {
            for (register, address) in o.data.iter().zip(elements) {
                match *register {
                    REG_TABLE_LO => self.cells.insert(address, table as u32),
                    REG_TABLE_HI => self.cells.insert(address, (table >> 32) as u32),
                    _ => None,
                };
            }
        }
        self.cores[core].posted.extend(posts(word));
        Ok(())
    }
}

fn writes(o: &CTRL_WR) -> Vec<u64> {
    let second = (o.wr_size1 != 0).then_some(o.addr1);
    [Some(o.addr0), second].into_iter().flatten().filter_map(immediate).collect()
}

fn elements(o: &MEM_2D) -> Vec<u64> {
    // A word with more elements faults when it is reached.
    let legal = u32::from(o.num_elem[0]) * u32::from(o.num_elem[1]) <= MAX_ELEMENTS;
    let start = immediate(o.start_addr.0).filter(|_| legal);
    start.map_or_else(Vec::new, |start| element_addresses(o, start).collect())
}

fn immediate(address: u64) -> Option<u64> {
    match Addr8(address).form() {
        Addr8Form::Immediate(address) => Some(address),
        _ => None,
    }
}

/// The semaphore that a word's transfer increments.
fn posts(word: &Decoded) -> Option<u8> {
    let field = word.operands.layout().def().field("semaphore")?;
    (word.info.family == Family::Dma).then_some(word.word.0[field.offset])
}

/// Whether a word waits before it does anything.
pub(super) fn waits(word: &Decoded) -> bool {
    let extended = CTRL_ES::of(&word.operands).map(|w| w.events_extended.wait_mode);
    word.events.wait_mode != WaitMode::NONE || extended.is_some_and(|mode| mode != WaitMode::NONE)
}
