//! Machine state: cores, on-chip memory, device memory, queues, semaphores, notifications.

mod accesses;
pub mod bus;
mod core;
pub mod dma;
mod dram;
mod engine;
pub mod hidden;
pub mod meeting;
mod memory;
mod notify;
pub mod random;
pub(crate) mod region;
pub mod soc;
mod sync;
mod watch;
mod written;

use std::sync::Arc;

pub use self::core::{ActState, Core, CoreSpec, DveState, PeState, Stream};
pub use dram::{Buffer, BufferId, BufferRole, BufferSpec, Dram, HBM_ALIGN, HBM_BASE, HBM_GAP};
pub use engine::{Engine, REG_PC_HI, REG_PC_LO, REG_TABLE_HI, REG_TABLE_LO, REGISTERS};
pub use memory::Partitions;
pub(crate) use memory::Rows;
pub use notify::{Notification, NotificationKind};
pub use sync::{Action, SyncChange, SyncUnit, Update, Wait};

use crate::isa::{EngineId, Generation, PARTITIONS, Space};
use crate::races::Races;
use soc::Target;

/// A program ready to run, independent of any container.
#[derive(Clone, Debug)]
pub struct Image {
    /// Target generation.
    pub generation: Generation,
    /// Cores in order.
    pub cores: Vec<Arc<CoreSpec>>,
    /// Device memory, ascending by address.
    pub buffers: Vec<BufferSpec>,
}

/// How a machine behaves where the manual leaves a choice to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineOptions {
    /// Refuse what the vendor's validators refuse; else warn (reference README section 3).
    pub strict: bool,
    /// Track written bytes and fault on the first read of a byte that was never written.
    pub check: bool,
    /// Initial value of every memory byte that is not a constant.
    pub fill: u8,
    /// Record starts and ends of words and semaphore changes, not only NOTIFY words.
    pub trace: bool,
    /// How activation functions are evaluated.
    pub activation: crate::act::ActMode,
}

impl Default for MachineOptions {
    fn default() -> Self {
        MachineOptions {
            strict: true,
            check: false,
            fill: 0,
            trace: false,
            activation: crate::act::ActMode::default(),
        }
    }
}

/// All cores of a program and its device memory.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Target generation.
    pub generation: Generation,
    /// Choices.
    pub options: MachineOptions,
    /// Cores in order.
    pub cores: Vec<Core>,
    /// Device memory.
    pub dram: Dram,
    /// Things worth telling that did not stop the run, each once.
    pub warnings: Vec<String>,
    /// Changes of semaphores and events, where somebody has asked for them by putting a list here.
    pub changes: Option<Vec<Change>>,
    /// The race detector, where there is one ([`Machine::watch_races`]).
    pub(crate) races: Option<Box<Races>>,
}

/// A change of a semaphore or an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Core number.
    pub core: usize,
    /// The engine whose word did it; `None` for changes over the bus by DMA, the host or another core.
    pub engine: Option<EngineId>,
    /// Address of the word.
    pub pc: u64,
    /// What changed.
    pub change: SyncChange,
}

/// A run of bytes that was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Write {
    /// In SBUF or PSUM.
    OnChip { core: usize, space: Space, partition: usize, offset: usize, len: usize },
    /// In device memory.
    Dram { buffer: BufferId, offset: usize, len: usize },
}

impl Machine {
    /// A machine in its reset state.
    pub fn new(image: &Image, options: MachineOptions) -> Self {
        let cores = image
            .cores
            .iter()
            .map(|c| Core::new(c.clone(), image.generation, options.strict, options.check))
            .collect();
        let mut machine = Machine {
            generation: image.generation,
            options,
            cores,
            dram: Dram::new(&image.buffers, options.check),
            warnings: Vec::new(),
            changes: None,
            races: None,
        };
        if options.fill != 0 {
            machine.fill(options.fill);
        }
        machine
    }

    /// Back to the state at creation; inputs keep nothing.
    pub fn reset(&mut self) {
        for core in &mut self.cores {
            let Core { sbuf, psum, .. } = core;
            sbuf.fill(self.options.fill);
            psum.fill(self.options.fill);
            core.restart();
        }
        self.dram.reset(self.options.fill);
        self.warnings.clear();
    }

    fn fill(&mut self, byte: u8) {
        for core in &mut self.cores {
            core.sbuf.fill(byte);
            core.psum.fill(byte);
        }
        self.dram.reset(byte);
    }

    /// Keeps a log of all writes to memories, or none.
    pub fn log_writes(&mut self, on: bool) {
        for core in &mut self.cores {
            core.sbuf.log_writes(on);
            core.psum.log_writes(on);
        }
        (0..self.dram.buffers().len()).for_each(|buffer| self.dram.buffer_mut(buffer).log_writes(on));
    }

    /// The writes since the last call, by memory; those of one memory in order.
    pub fn take_writes(&mut self) -> Vec<Write> {
        let mut writes = Vec::new();
        for (core, state) in self.cores.iter_mut().enumerate() {
            for space in [Space::Sbuf, Space::Psum] {
                let runs = state.memory_mut(space).take_writes();
                writes.extend(runs.map(|(partition, offset, len)| Write::OnChip {
                    core,
                    space,
                    partition,
                    offset,
                    len,
                }));
            }
        }
        for buffer in 0..self.dram.buffers().len() {
            let runs = self.dram.buffer_mut(buffer).take_writes().into_iter();
            writes.extend(runs.map(|(offset, len)| Write::Dram { buffer, offset, len }));
        }
        writes
    }

    /// Adds a warning unless the same one was given before.
    pub fn warn(&mut self, text: String) {
        if !self.warnings.contains(&text) {
            tracing::warn!("{text}");
            self.warnings.push(text);
        }
    }

    /// The other core of a pair: physical numbers differ in bit 0 (chapter 06 section 10.1). `None`: this
    /// machine has no such core.
    pub fn partner(&self, core: usize) -> Option<usize> {
        let physical = self.cores[core].spec.physical ^ 1;
        self.cores.iter().position(|other| other.spec.physical == physical)
    }

    /// What a SoC address names; `None` if nothing is there.
    pub fn route(&self, address: u64) -> Option<Target> {
        if let Some((buffer, offset)) = self.dram.locate(address) {
            return Some(Target::Dram { buffer, offset });
        }
        let window = u64::from(self.generation.geometry().sbuf_pitch) * PARTITIONS as u64;
        soc::route_on_chip(address, self.cores.iter().map(|core| core.spec.physical), window)
    }
}
