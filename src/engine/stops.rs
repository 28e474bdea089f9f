//! Words before which a run stops.

use std::collections::BTreeMap;

use seqjit_runtime::isa::{EngineId, WORD_BYTES};
use seqjit_runtime::machine::Machine;
use seqjit_runtime::save::{Damaged, Reader, Saved};

/// Why a run cannot be stopped before a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// The program has fewer cores.
    #[error("no core {core}; the program has {cores}")]
    Core {
        /// Core asked for.
        core: usize,
        /// Cores of the program.
        cores: usize,
    },
    /// The stream has fewer words.
    #[error("core {core} {engine} has no word {slot}; its stream has {words} words, counted from 0")]
    Word {
        /// Core.
        core: usize,
        /// Engine.
        engine: EngineId,
        /// Slot asked for.
        slot: u64,
        /// Words of the stream.
        words: usize,
    },
}

/// Addresses of words before which to stop, each once.
#[derive(Clone, Default, Debug)]
pub(crate) struct Stops {
    addresses: BTreeMap<(usize, EngineId), Vec<u64>>,
    /// Where the last stop was.
    reached: Option<(usize, EngineId, u64)>,
}

impl Stops {
    /// The address of a word.
    pub(super) fn address(
        &self,
        machine: &Machine,
        core: usize,
        engine: EngineId,
        slot: u64,
    ) -> Result<u64, StopError> {
        let cores = machine.cores.len();
        let state = machine.cores.get(core).ok_or(StopError::Core { core, cores })?;
        let stream = &state.spec.streams[engine.index()];
        let words = stream.words.len();
        if slot >= words as u64 {
            return Err(StopError::Word { core, engine, slot, words });
        }
        Ok(stream.base + slot * WORD_BYTES as u64)
    }

    pub(super) fn insert(
        &mut self,
        machine: &Machine,
        core: usize,
        engine: EngineId,
        slot: u64,
    ) -> Result<(), StopError> {
        let address = self.address(machine, core, engine, slot)?;
        let addresses = self.addresses.entry((core, engine)).or_default();
        if !addresses.contains(&address) {
            addresses.push(address);
        }
        Ok(())
    }

    /// Addresses in one stream.
    pub(super) fn of(&self, core: usize, engine: EngineId) -> &[u64] {
        self.addresses.get(&(core, engine)).map_or(&[], Vec::as_slice)
    }

    /// The engine stands at one of its addresses, which is used up.
    pub(super) fn reach(&mut self, machine: &Machine, core: usize, engine: EngineId) {
        let state = &machine.cores[core];
        let pc = state.engines[engine.index()].next_pc();
        if let Some(addresses) = self.addresses.get_mut(&(core, engine)) {
            addresses.retain(|address| *address != pc);
        }
        let slot = (pc - state.spec.streams[engine.index()].base) / WORD_BYTES as u64;
        self.reached = Some((core, engine, slot));
    }

    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let Stops { addresses, reached } = self;
        addresses
            .iter()
            .map(|((core, engine), stops)| (*core, *engine, stops.clone()))
            .collect::<Vec<_>>()
            .put(out);
        reached.put(out);
    }

    pub(super) fn restore(from: &mut Reader<'_>) -> Result<Stops, Damaged> {
        let addresses = Vec::<(usize, EngineId, Vec<u64>)>::load(from)?;
        let addresses = addresses.into_iter().map(|(core, engine, stops)| ((core, engine), stops)).collect();
        Ok(Stops { addresses, reached: Saved::load(from)? })
    }

    /// The word at which the last turn stopped, once.
    pub(super) fn take_reached(&mut self) -> Option<(usize, EngineId, u64)> {
        self.reached.take()
    }
}
