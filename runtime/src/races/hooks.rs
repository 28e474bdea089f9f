//! Where the machine tells its race detector what happens. Without a detector each of these is one test.

use super::{Meeting, Memory, RaceReport, Races, slot_of};
use crate::isa::{Decoded, EngineId, Space};
use crate::machine::Machine;

impl Machine {
    /// Looks for races from now on, with everything done so far finished; or no longer.
    pub fn watch_races(&mut self, on: bool) {
        for core in &mut self.cores {
            core.sbuf.log_accesses(on);
            core.psum.log_accesses(on);
        }
        (0..self.dram.buffers().len()).for_each(|buffer| self.dram.buffer_mut(buffer).log_accesses(on));
        self.races = on.then(|| Box::new(Races::new(self)));
    }

    /// The races found since [`Machine::watch_races`].
    pub fn races(&self) -> Option<&RaceReport> {
        self.races.as_deref().map(Races::report)
    }

    /// Whether somebody wants to know of reads.
    pub(crate) fn observes_reads(&self) -> bool {
        self.options.check || self.races.is_some()
    }

    /// A word whose waits hold begins.
    pub(crate) fn races_begin(&mut self, core: usize, engine: EngineId, decoded: &Decoded) {
        let Some(races) = &mut self.races else { return };
        let state = &self.cores[core].engines[engine.index()];
        let slot = slot_of(&self.cores[core], (engine, state.pc));
        races.begin(core, engine, slot, decoded, state.seq.strong_order);
    }

    /// The word that runs has ended, or stays where it is and is tried again.
    pub(crate) fn races_end(&mut self, done: bool) {
        let Some(mut races) = self.races.take() else { return };
        let touched = self.take_accesses();
        races.end(if done { touched } else { Vec::new() });
        self.races = Some(races);
    }

    /// The word that runs has put a transfer into a queue of its core.
    pub(crate) fn races_queued(&mut self, queue: usize) {
        if let Some(races) = &mut self.races {
            races.queued(queue);
        }
    }

    /// The oldest transfer of a queue begins.
    pub(crate) fn races_begin_transfer(&mut self, core: usize, queue: usize) {
        if let Some(races) = &mut self.races {
            races.begin_transfer(core, queue);
        }
    }

    /// The word that runs leaves what is finished for those who meet it.
    pub(crate) fn races_leave(&mut self, place: Meeting) {
        if let Some(races) = &mut self.races {
            races.leave(place);
        }
    }

    /// The word that runs has met those who have been there.
    pub(crate) fn races_take_up(&mut self, place: Meeting) {
        if let Some(races) = &mut self.races {
            races.take_up(place);
        }
    }

    /// Everything read and written since the last call, by memory.
    fn take_accesses(&mut self) -> Vec<(Memory, super::Runs, super::Runs)> {
        let mut touched = Vec::new();
        for (core, state) in self.cores.iter_mut().enumerate() {
            for (space, memory) in [(Space::Sbuf, Memory::Sbuf(core)), (Space::Psum, Memory::Psum(core))] {
                let [reads, writes] = state.memory_mut(space).take_accesses();
                if !(reads.is_empty() && writes.is_empty()) {
                    touched.push((memory, reads, writes));
                }
            }
        }
        for buffer in 0..self.dram.buffers().len() {
            let [reads, writes] = self.dram.buffer_mut(buffer).take_accesses();
            if !(reads.is_empty() && writes.is_empty()) {
                touched.push((Memory::Dram(buffer), reads, writes));
            }
        }
        touched
    }
}
