//! Waits and branches: what `after` means in semaphores, and how far branches go.
//!
//! An engine's words are counted on the engine's own semaphore (chapter 10 section 6): a word that something
//! waits for adds 1 when it completes, and waiting for it is waiting for as many as there are up to it. A
//! transfer adds 16 to its own semaphore, so that its completion is the next multiple.

use std::collections::{BTreeMap, HashMap};

use seqjit_runtime::isa::field::{UpdateMode, WaitMode};
use seqjit_runtime::isa::layouts::{
    CTRL_ES, DMA_DIRECT2D, DMA_DIRECT2D_XPOSE, DMA_GATHER_XPOSE, DMA_INDIRECT1D, PSEUDO_DMA_DIRECT2D,
    PSEUDO_DMA_TRIGGER,
};
use seqjit_runtime::isa::{Decoded, EngineId, Events, EventsExt, Generation, Layout, Word, decode, op};

use super::build::{CoreBuild, Label, Reference, Slot};
use super::error::{Position, Result, at};
use super::transfer::RINGS;

/// Each engine counts its completed words here, by [`EngineId::index`] (chapter 10 section 6).
const ENGINE_SEMAPHORES: [u8; 5] = [5, 4, 3, 6, 7];

/// A finished stream, and where each of its words comes from.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub words: Vec<Word>,
    pub positions: Vec<Position>,
}

/// A word of a core: engine and position in its stream.
type Place = (EngineId, usize);

/// How the completion of a word shows.
#[derive(Clone, Copy, Debug)]
struct Completion {
    semaphore: u8,
    /// The semaphore's value from then on.
    value: u32,
}

/// What posts to a semaphore.
#[derive(Default)]
struct Semaphore {
    value: u32,
    /// The engines whose words, or transfers, do.
    sources: Vec<(EngineId, bool)>,
    /// It is also changed in a way other than adding.
    irregular: bool,
}

struct Linker<'a> {
    core: &'a CoreBuild,
    generation: Generation,
    streams: [Vec<Slot>; 5],
    /// Words that labels of `after` name.
    targets: HashMap<Label, Vec<Place>>,
    completions: HashMap<Place, Completion>,
    semaphores: BTreeMap<u8, Semaphore>,
}

/// Fills in waits, updates and branches of a core's streams.
pub(super) fn link(core: &CoreBuild, generation: Generation) -> Result<[Stream; 5]> {
    let mut linker = Linker {
        core,
        generation,
        streams: core.streams.clone(),
        targets: HashMap::new(),
        completions: HashMap::new(),
        semaphores: BTreeMap::new(),
    };
    linker.find_targets()?;
    linker.count()?;
    let mut out: [Stream; 5] = Default::default();
    for engine in EngineId::ALL {
        out[engine.index()] = linker.emit(engine)?;
    }
    Ok(out)
}

/// An error about a slot, with the loops and macros around it.
fn in_slot<T>(slot: &Slot, result: Result<T>) -> Result<T> {
    result.map_err(|mut error| {
        error.context = slot.context.to_vec();
        error
    })
}

impl Linker<'_> {
    /// Looks up what every `after` names, and makes those words report their completion.
    fn find_targets(&mut self) -> Result<()> {
        let mut sorted: Vec<(&Label, &Place)> = self.core.labels.iter().collect();
        sorted.sort();
        for slot in self.core.streams.iter().flatten() {
            for reference in &slot.after {
                if self.targets.contains_key(&reference.label) {
                    continue;
                }
                let found = in_slot(slot, matching(&sorted, reference))?;
                for (engine, at) in &found {
                    self.report(*engine, *at)?;
                }
                self.targets.insert(reference.label.clone(), found);
            }
        }
        Ok(())
    }

    /// Gives a word an update that shows its completion, unless it has one.
    fn report(&mut self, engine: EngineId, index: usize) -> Result<()> {
        let slot = &mut self.streams[engine.index()][index];
        let Ok(decoded) = decode(&slot.word, self.generation) else { return Ok(()) };
        if transfer(self.core, &decoded).is_some() {
            return Ok(());
        }
        let expected = match decoded.events.update_mode {
            _ if !decoded.operands.layout().def().events => "a word that has EVENTS",
            UpdateMode::NONE => {
                let update_idx = ENGINE_SEMAPHORES[engine.index()];
                set_events(&mut slot.word, &Events { update_mode: COUNT, update_idx, ..decoded.events });
                return Ok(());
            }
            COUNT => return Ok(()),
            _ => "a word without update, or one that adds 1 on completion",
        };
        in_slot(slot, Err(at(slot.position, "a word that `after` names", expected)))
    }

    /// What every word and transfer adds to which semaphore.
    fn count(&mut self) -> Result<()> {
        for engine in EngineId::ALL {
            for (index, slot) in self.streams[engine.index()].iter().enumerate() {
                let Ok(decoded) = decode(&slot.word, self.generation) else { continue };
                if let Some((semaphore, amount)) = transfer(self.core, &decoded) {
                    let value = post(&mut self.semaphores, semaphore, (engine, true), amount);
                    self.completions.insert((engine, index), Completion { semaphore, value });
                }
                let extended = CTRL_ES::of(&decoded.operands).map(|w| w.events_extended).unwrap_or_default();
                let events = &decoded.events;
                for (mode, semaphore) in
                    [(events.update_mode, events.update_idx), (extended.update_mode, extended.update_idx)]
                {
                    if mode == COUNT {
                        let value = post(&mut self.semaphores, semaphore, (engine, false), 1);
                        self.completions.entry((engine, index)).or_insert(Completion { semaphore, value });
                    } else if !matches!(mode.0 & 0x0F, 0..=2) {
                        self.semaphores.entry(semaphore).or_default().irregular = true;
                    }
                }
            }
        }
        Ok(())
    }

    /// The words of a stream, with words in front that hold waits for which there is no room.
    fn emit(&self, engine: EngineId) -> Result<Stream> {
        let slots = &self.streams[engine.index()];
        let branches = slots.iter().any(|s| s.word.opcode() == op::COMPARE_BRANCH);
        let mut known: HashMap<u8, u32> = HashMap::new();
        let mut stream = Stream::default();
        let mut starts = Vec::with_capacity(slots.len() + 1);
        for (index, slot) in slots.iter().enumerate() {
            starts.push(stream.words.len());
            let mut waits = in_slot(slot, self.waits(slot, (engine, index)))?;
            // What a word in front has waited for still holds, unless a branch went around it.
            waits.retain(|semaphore, value| branches || known.get(semaphore).is_none_or(|k| k < value));
            for (semaphore, value) in &waits {
                known.insert(*semaphore, *value);
            }
            stream.push(slot, waits.into_iter().collect(), self.generation);
            note_own_waits(&slot.word, self.generation, &mut known);
        }
        starts.push(stream.words.len());
        for (index, slot) in slots.iter().enumerate() {
            if let Some(branch) = &slot.branch {
                let target = in_slot(slot, self.branch_target(branch, engine))?;
                // The branch is the last of the words that its slot became.
                let from = starts[index + 1] - 1;
                let displacement = (starts[target] as i64 - from as i64) * 64;
                stream.words[from].0[48..52].copy_from_slice(&(displacement as i32).to_le_bytes());
            }
        }
        Ok(stream)
    }

    /// Semaphores and least values that a word has to wait for.
    fn waits(&self, slot: &Slot, place: Place) -> Result<BTreeMap<u8, u32>> {
        let mut waits: BTreeMap<u8, u32> = BTreeMap::new();
        let mut add = |c: Completion| {
            let value = waits.entry(c.semaphore).or_default();
            *value = c.value.max(*value);
        };
        for reference in &slot.after {
            let label = &reference.label;
            for target in self.targets.get(label).into_iter().flatten() {
                let problem = |expected: String| Err(at(reference.position, format!("`{label}`"), expected));
                if target.0 == place.0 && target.1 >= place.1 {
                    return problem("a word that stands in front of this one in its stream".to_owned());
                }
                let Some(completion) = self.completions.get(target) else { continue };
                let s = completion.semaphore;
                match self.semaphores.get(&s) {
                    Some(semaphore) if semaphore.irregular || semaphore.sources.len() > 1 => {
                        return problem(format!(
                            "a word whose semaphore {s} is counted by one engine or queue alone"
                        ));
                    }
                    _ => add(*completion),
                }
            }
        }
        // A transfer takes its semaphore again only when the one before has finished (chapter 10 section 5).
        if let Some(own) = self.completions.get(&place).filter(|_| slot.chosen_semaphore)
            && own.value > u32::from(RINGS)
        {
            add(Completion { semaphore: own.semaphore, value: own.value - u32::from(RINGS) });
        }
        Ok(waits)
    }

    fn branch_target(&self, branch: &Reference, engine: EngineId) -> Result<usize> {
        match self.core.labels.get(&branch.label) {
            Some((of, index)) if *of == engine => Ok(*index),
            _ => {
                let expected = format!("a label in the stream of {engine}");
                Err(at(branch.position, format!("`{}`", branch.label), expected))
            }
        }
    }
}

/// The update that counts completed words.
const COUNT: UpdateMode = UpdateMode::SEM_INC_COMPLETE;

/// The labels that a reference names: those of its name whose indices start with its own.
fn matching(sorted: &[(&Label, &Place)], reference: &Reference) -> Result<Vec<Place>> {
    let Label { name, indices } = &reference.label;
    let from = sorted.partition_point(|(label, _)| *label < &reference.label);
    let found: Vec<Place> = sorted[from..]
        .iter()
        .take_while(|(label, _)| label.name == *name && label.indices.starts_with(indices))
        .map(|(_, place)| **place)
        .collect();
    if found.is_empty() && !reference.optional {
        return Err(at(reference.position, format!("`{}`", reference.label), "a label of this core"));
    }
    Ok(found)
}

/// The semaphore that a word's transfer adds to when it is done, and how much.
fn transfer(core: &CoreBuild, decoded: &Decoded) -> Option<(u8, u8)> {
    let o = &decoded.operands;
    if let Some(o) = PSEUDO_DMA_TRIGGER::of(o) {
        let name = o.dma_queue_name.as_str()?;
        let queue = core.queues.iter().find(|q| q.queue.name == name)?;
        let block = queue.blocks.iter().find(|b| b.id == o.block_id_or_count)?;
        return Some((block.completion_semaphore(&queue.queue)?, RINGS));
    }
    None.or_else(|| PSEUDO_DMA_DIRECT2D::of(o).map(|o| (o.semaphore, o.sem_increment)))
        .or_else(|| DMA_DIRECT2D::of(o).map(|o| (o.semaphore, o.sem_increment)))
        .or_else(|| DMA_INDIRECT1D::of(o).map(|o| (o.semaphore, o.sem_increment)))
        .or_else(|| DMA_DIRECT2D_XPOSE::of(o).map(|o| (o.semaphore, RINGS)))
        .or_else(|| DMA_GATHER_XPOSE::of(o).map(|o| (o.semaphore, RINGS)))
}

fn post(semaphores: &mut BTreeMap<u8, Semaphore>, index: u8, source: (EngineId, bool), amount: u8) -> u32 {
    let semaphore = semaphores.entry(index).or_default();
    if !semaphore.sources.contains(&source) {
        semaphore.sources.push(source);
    }
    semaphore.value += u32::from(amount);
    semaphore.value
}

fn set_events(word: &mut Word, events: &Events) {
    use seqjit_runtime::isa::field::Field;
    events.write(&mut word.0[4..12]);
}

/// Notes what a word's own text waits for.
fn note_own_waits(word: &Word, generation: Generation, known: &mut HashMap<u8, u32>) {
    let Ok(decoded) = decode(word, generation) else { return };
    let extended = CTRL_ES::of(&decoded.operands).map(|w| w.events_extended).unwrap_or_default();
    let e = &decoded.events;
    for (mode, semaphore, value) in
        [(e.wait_mode, e.wait_idx, e.value), (extended.wait_mode, extended.wait_idx, extended.wait_value)]
    {
        if mode == WaitMode::SEM_GE_IMM {
            let known = known.entry(semaphore).or_default();
            *known = value.max(*known);
        }
    }
}

impl Stream {
    /// Adds a word with its waits: one in the word if it has room, two in each EVENT_SEMAPHORE in front.
    fn push(&mut self, slot: &Slot, mut waits: Vec<(u8, u32)>, generation: Generation) {
        let mut word = slot.word;
        let events =
            decode(&word, generation).ok().filter(|d| d.operands.layout().def().events).map(|d| d.events);
        // The value belongs to the wait and to the update; an update that only counts leaves it free.
        let free = |e: &Events| {
            e.wait_mode == WaitMode::NONE && matches!(e.update_mode, UpdateMode::NONE | COUNT) && e.value == 0
        };
        if let Some(events) = events.filter(free)
            && let Some((wait_idx, value)) = waits.pop()
        {
            set_events(&mut word, &Events { wait_mode: WaitMode::SEM_GE_IMM, wait_idx, value, ..events });
        }
        for pair in waits.chunks(2) {
            self.words.push(wait_word(pair));
            self.positions.push(slot.position);
        }
        self.words.push(word);
        self.positions.push(slot.position);
    }
}

/// An EVENT_SEMAPHORE with one or two waits.
fn wait_word(waits: &[(u8, u32)]) -> Word {
    let mut word = Word::new(op::EVENT_SEMAPHORE);
    let wait_mode = WaitMode::SEM_GE_IMM;
    if let Some((wait_idx, value)) = waits.first() {
        let events = Events { wait_mode, wait_idx: *wait_idx, value: *value, ..Events::default() };
        set_events(&mut word, &events);
    }
    let mut operands = CTRL_ES { setter_signature: 0, events_extended: EventsExt::default() };
    if let Some((wait_idx, wait_value)) = waits.get(1) {
        let (wait_idx, wait_value) = (*wait_idx, *wait_value);
        operands.events_extended = EventsExt { wait_mode, wait_idx, wait_value, ..EventsExt::default() };
    }
    operands.write(&mut word);
    word
}
