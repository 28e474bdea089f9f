//! The host's part: what reaches a core from outside its words and those of the other cores.
//!
//! The host starts a run by incrementing a semaphore of each core. The PE then rings doorbells of a DMA ring
//! of the runtime (it reloads the control block at the gate, and the address-table cell during set-up); the
//! ring's last packet sets an event for which the PE waits (chapter 10 section 7). The descriptors of these
//! rings are not in a trace, but what they did to the cores is: changes over the bus that no word explains.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit_runtime::machine::{Action, Machine, Update};
use seqjit_runtime::sequencer::note_change;

use crate::Schedule;

/// What happens to one core from outside.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Script {
    /// Semaphores that the host increments, and by how much, in this order, whenever it likes.
    pub increments: VecDeque<(u8, u32)>,
    /// Doorbells: the tail registers that a word writes together.
    pub bells: Vec<Vec<u64>>,
    /// Events that the runtime's rings set, one each time a doorbell has been rung.
    pub events: VecDeque<u8>,
}

/// Plays the scripts of all cores.
pub(super) struct Host {
    scripts: Vec<Script>,
    rng: Option<ChaCha8Rng>,
}

/// One thing that can be done now.
#[derive(Clone, Copy)]
enum Act {
    Increment { core: usize },
    Ring { core: usize, bell: usize },
}

impl Host {
    pub(super) fn new(scripts: &[Script], schedule: Schedule) -> Self {
        let rng = match schedule {
            Schedule::Seeded(seed) => {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                // Not the numbers that choose the turns.
                rng.set_stream(1);
                Some(rng)
            }
            Schedule::Fixed => None,
        };
        Host { scripts: scripts.to_vec(), rng }
    }

    /// Whether it acts now although something else can move. The fixed schedule lets it wait.
    pub(super) fn is_eager(&mut self) -> bool {
        self.rng.as_mut().is_some_and(|rng| rng.random_bool(0.5))
    }

    /// Does one of the things that can be done; `false` if there is none.
    pub(super) fn act(&mut self, machine: &mut Machine) -> bool {
        let acts = self.possible(machine);
        let chosen = match &mut self.rng {
            Some(rng) if !acts.is_empty() => rng.random_range(0..acts.len()),
            _ => 0,
        };
        let Some(act) = acts.get(chosen) else { return false };
        let (core, update) = match *act {
            Act::Increment { core } => {
                let next = self.scripts[core].increments.pop_front();
                (core, next.map(|(index, value)| Update { action: Action::Add, index, value }))
            }
            Act::Ring { core, bell } => {
                for tail in &self.scripts[core].bells[bell] {
                    store(machine, *tail, 0);
                }
                let next = self.scripts[core].events.pop_front();
                (core, next.map(|index| Update { action: Action::SetEvent, index, value: 0 }))
            }
        };
        if let Some(update) = update {
            let change = machine.cores[core].sync.apply(&update);
            note_change(machine, core, None, 0, &change);
        }
        true
    }

    fn possible(&self, machine: &Machine) -> Vec<Act> {
        let mut acts = Vec::new();
        for (core, script) in self.scripts.iter().enumerate() {
            if !script.increments.is_empty() {
                acts.push(Act::Increment { core });
            }
            if !script.events.is_empty() {
                let rung = |tails: &&Vec<u64>| tails.iter().all(|tail| load(machine, *tail) != 0);
                let bells = script.bells.iter().enumerate().filter(|(_, tails)| rung(tails));
                acts.extend(bells.map(|(bell, _)| Act::Ring { core, bell }));
            }
        }
        acts
    }
}

fn load(machine: &Machine, address: u64) -> u64 {
    machine.bus_access("tail", address, 4).map_or(0, |access| machine.bus_read(&access))
}

fn store(machine: &mut Machine, address: u64, value: u64) {
    if let Ok(access) = machine.bus_access("tail", address, 4) {
        machine.bus_write(&access, value);
    }
}
