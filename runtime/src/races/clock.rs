//! Vector clocks.

use crate::isa::EngineId;

/// Lanes of an engine; those of its queues follow.
const LANES: usize = 3;

/// What finishes in order: parts of the work of an engine, or the transfers of a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Lane(u16);

/// What of an engine's work a lane counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Words that the sequencer runs by itself.
    Sequencer,
    /// Reading by the words of the data path.
    Reads,
    /// All that they do.
    Writes,
}

/// Who works in a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    Engine(usize, EngineId),
    Queue(usize, usize),
}

/// All lanes of a machine.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    /// First lane of each core.
    first: Vec<u16>,
}

impl Lanes {
    /// For cores with so many queues.
    pub(super) fn new(queues: impl Iterator<Item = usize>) -> Self {
        let mut next = 0;
        let first = queues.map(|queues| {
            let first = next;
            next += (LANES * EngineId::ALL.len() + queues) as u16;
            first
        });
        Lanes { first: first.collect() }
    }

    pub(super) fn engine(&self, core: usize, engine: EngineId, part: Part) -> Lane {
        Lane(self.first[core] + (LANES * engine.index()) as u16 + part as u16)
    }

    pub(super) fn queue(&self, core: usize, queue: usize) -> Lane {
        Lane(self.first[core] + (LANES * EngineId::ALL.len() + queue) as u16)
    }

    pub(super) fn owner(&self, lane: Lane) -> Owner {
        let core = self.first.partition_point(|first| *first <= lane.0) - 1;
        let at = usize::from(lane.0 - self.first[core]);
        match EngineId::ALL.get(at / LANES) {
            Some(engine) => Owner::Engine(core, *engine),
            None => Owner::Queue(core, at - LANES * EngineId::ALL.len()),
        }
    }
}

/// How many of each lane are known to be finished.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Vec<u64>);

impl Clock {
    /// Learns what the other knows.
    pub(super) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    pub(super) fn set(&mut self, lane: Lane, at: u64) {
        let lane = usize::from(lane.0);
        if self.0.len() <= lane {
            self.0.resize(lane + 1, 0);
        }
        self.0[lane] = at;
    }

    /// Whether what stands at this position of a lane is known to be finished.
    pub(super) fn covers(&self, lane: Lane, at: u64) -> bool {
        self.0.get(usize::from(lane.0)).is_some_and(|known| *known >= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_know_their_owners() {
        let lanes = Lanes::new([2, 1].into_iter());
        for core in [0, 1] {
            for engine in EngineId::ALL {
                for part in [Part::Sequencer, Part::Reads, Part::Writes] {
                    assert_eq!(lanes.owner(lanes.engine(core, engine, part)), Owner::Engine(core, engine));
                }
            }
        }
        assert_eq!(lanes.owner(lanes.queue(0, 1)), Owner::Queue(0, 1));
        assert_eq!(lanes.owner(lanes.queue(1, 0)), Owner::Queue(1, 0));
    }

    #[test]
    fn clocks_join_by_lane() {
        let lanes = Lanes::new([1].into_iter());
        let (a, b) = (lanes.engine(0, EngineId::Pe, Part::Writes), lanes.queue(0, 0));
        let (mut one, mut other) = (Clock::default(), Clock::default());
        one.set(a, 5);
        other.set(a, 3);
        other.set(b, 2);
        one.join(&other);
        assert!(one.covers(a, 5) && one.covers(b, 2) && !one.covers(a, 6) && !one.covers(b, 3));
    }
}
