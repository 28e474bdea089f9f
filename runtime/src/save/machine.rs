//! A whole machine.

use super::{Damaged, Reader, Saved};
use crate::isa::{EngineId, Word};
use crate::machine::{Core, Machine};
use crate::sequencer::error::ErrorClass;

/// Why a machine cannot be saved: its sequencer on this engine has failed and is beyond going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("core {core} {engine} has stopped with a fatal error")]
pub struct Unsavable {
    /// Core number.
    pub core: usize,
    /// The engine.
    pub engine: EngineId,
}

impl Machine {
    /// Appends everything that a run can have changed.
    ///
    /// # Errors
    /// An engine is dead: there is nothing to go on with.
    pub fn save(&self, out: &mut Vec<u8>) -> Result<(), Unsavable> {
        let Machine { generation: _, options, cores, dram, warnings, changes: _, races: _ } = self;
        for (core, state) in cores.iter().enumerate() {
            let failed = |seq: &crate::sequencer::Sequencer| {
                let asserted =
                    |e: crate::sequencer::error::ErrorRecord| matches!(e.class, ErrorClass::Assertion { .. });
                seq.fault.is_some() || seq.last_error.is_some_and(asserted)
            };
            if let Some(dead) = state.engines.iter().find(|engine| failed(&engine.seq)) {
                return Err(Unsavable { core, engine: dead.id });
            }
        }
        cores.len().put(out);
        for core in cores {
            core.save(options.fill, out);
            EngineId::ALL.into_iter().for_each(|engine| changed_words(core, engine).put(out));
        }
        dram.save(options.fill, out);
        warnings.put(out);
        Ok(())
    }

    /// Brings a fresh machine of the same image and options to the state that [`Machine::save`] has stored.
    ///
    /// # Errors
    /// The bytes are not the state of such a machine. It must be reset or dropped then.
    pub fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        if usize::load(from)? != self.cores.len() {
            return Err(Damaged("another number of cores"));
        }
        for core in 0..self.cores.len() {
            self.cores[core].restore(from)?;
            for engine in EngineId::ALL {
                let changed = Vec::<(usize, Word)>::load(from)?;
                self.replace_words(core, engine, &changed)?;
            }
        }
        self.dram.restore(from)?;
        self.warnings = Saved::load(from)?;
        Ok(())
    }

    /// Gives an engine other words in some places, as a flush had found them in memory.
    fn replace_words(
        &mut self,
        core: usize,
        engine: EngineId,
        changed: &[(usize, Word)],
    ) -> Result<(), Damaged> {
        if changed.is_empty() {
            return Ok(());
        }
        let stream = &self.cores[core].spec.streams[engine.index()];
        let mut words: Vec<Word> = stream.words.iter().map(|instruction| *instruction.word()).collect();
        for (slot, word) in changed {
            *words.get_mut(*slot).ok_or(Damaged("a word lies behind the end of its stream"))? = *word;
        }
        self.decode_again(core, engine, &words);
        Ok(())
    }
}

/// Words that an engine has read anew since they were loaded, and their positions.
fn changed_words(core: &Core, engine: EngineId) -> Vec<(usize, Word)> {
    let loaded = core.spec.streams[engine.index()].words.iter();
    let seen = core.engines[engine.index()].code.iter().map(|instruction| *instruction.word());
    let pairs = seen.zip(loaded).enumerate().filter(|(_, (seen, loaded))| *seen != *loaded.word());
    pairs.map(|(slot, (seen, _))| (slot, seen)).collect()
}
