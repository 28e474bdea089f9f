//! What a wait on a semaphore or an event tells about those who changed it.

use std::collections::VecDeque;

use super::clock::{Clock, Lane};
use crate::isa::field::WaitMode;
use crate::machine::{SyncChange, Wait};

/// Changes of one direction that a semaphore remembers. What older ones tell counts as known to every waiter.
const REMEMBERED: usize = 4096;

/// The `record` of a semaphore that is written (chapter 02 section 10.1).
const WRITTEN: u8 = 0xF9;
/// The `record` of a semaphore that counts down.
const DOWN: u8 = 0xF4;

/// Who changes a semaphore, and what is finished then.
#[derive(Clone, Debug)]
pub(super) struct Release {
    pub(super) lane: Lane,
    pub(super) at: u64,
    /// Known to be finished by whoever sees the change.
    pub(super) finished: Clock,
    /// Known when the work began.
    pub(super) issued: Clock,
    /// It comes as single increments, and only the last one means that all is done: the rings of a queue.
    pub(super) in_parts: bool,
}

/// A semaphore.
#[derive(Clone, Debug, Default)]
pub(super) struct Semaphore {
    ups: Counter,
    downs: Counter,
    /// Known to whoever sees any value since it was last written.
    base: Clock,
}

/// Changes of one direction since the semaphore was written.
#[derive(Clone, Debug, Default)]
struct Counter {
    total: u64,
    changes: VecDeque<Change>,
    /// Changes of more than one lane are remembered.
    mixed: bool,
}

#[derive(Clone, Debug)]
struct Change {
    /// The least total that tells of it.
    needs: u64,
    release: Release,
}

impl Semaphore {
    /// A semaphore that nobody has changed.
    pub(super) fn new(value: u32) -> Self {
        let ups = Counter { total: value.into(), ..Counter::default() };
        Semaphore { ups, ..Semaphore::default() }
    }

    pub(super) fn change(&mut self, change: &SyncChange, by: Option<Release>) {
        match change.record {
            WRITTEN => {
                for counter in [&mut self.ups, &mut self.downs] {
                    counter.changes.iter().for_each(|c| self.base.join(&c.release.finished));
                    *counter = Counter::default();
                }
                by.iter().for_each(|by| self.base.join(&by.finished));
                self.ups.total = change.after.into();
            }
            DOWN => self.downs.count(change.before.wrapping_sub(change.after), by, &mut self.base),
            _ => self.ups.count(change.after.wrapping_sub(change.before), by, &mut self.base),
        }
    }

    /// Teaches a clock what a wait that holds tells.
    pub(super) fn tell(&self, mode: WaitMode, value: u32, clock: &mut Clock) {
        let value = u64::from(value);
        let (up, down) = match mode {
            WaitMode::SEM_GE_IMM => (value + self.downs.total, 0),
            WaitMode::SEM_GT_IMM => (value + 1 + self.downs.total, 0),
            WaitMode::SEM_LE_IMM => (0, self.ups.total.saturating_sub(value)),
            WaitMode::SEM_LT_IMM => (0, (self.ups.total + 1).saturating_sub(value)),
            WaitMode::SEM_EQ_IMM => (self.ups.total, self.downs.total),
            _ => return,
        };
        if up > self.downs.total || down > 0 || mode == WaitMode::SEM_EQ_IMM {
            clock.join(&self.base);
        }
        self.ups.tell(up, clock);
        self.downs.tell(down, clock);
    }
}

impl Counter {
    fn count(&mut self, by: u32, release: Option<Release>, base: &mut Clock) {
        self.total += u64::from(by);
        let Some(release) = release else { return };
        if let Some(last) = self.changes.back_mut()
            && release.in_parts
            && (last.release.lane, last.release.at) == (release.lane, release.at)
        {
            last.needs = self.total;
        } else {
            let needs = if release.in_parts { self.total } else { self.total + 1 - u64::from(by) };
            let joins_another = self.changes.back().is_some_and(|c| c.release.lane != release.lane);
            self.mixed |= release.in_parts || joins_another;
            self.changes.push_back(Change { needs, release });
        }
        self.blur();
        if self.changes.len() > REMEMBERED
            && let Some(oldest) = self.changes.pop_front()
        {
            base.join(&oldest.release.finished);
        }
    }

    /// Changes that may as well come behind the last one are told by no total that the last one is not told by. Those of
    /// one engine come in order; the sixteen rings of a queue go on to the next transfer each for itself.
    fn blur(&mut self) {
        if !self.mixed {
            return;
        }
        let Some(Change { needs, release }) = self.changes.back().cloned() else { return };
        for earlier in self.changes.iter_mut().rev().skip(1) {
            let Release { lane, at, .. } = earlier.release;
            if release.issued.covers(lane, at) {
                break;
            }
            if lane != release.lane || release.in_parts {
                earlier.needs = earlier.needs.max(needs);
            }
        }
    }

    fn tell(&self, total: u64, clock: &mut Clock) {
        if self.mixed {
            let told = self.changes.iter().filter(|c| c.needs <= total);
            told.for_each(|c| clock.join(&c.release.finished));
        } else {
            // In order, and each knows what those before it know.
            let told = self.changes.partition_point(|c| c.needs <= total);
            told.checked_sub(1).iter().for_each(|last| clock.join(&self.changes[*last].release.finished));
        }
    }
}

/// An event.
#[derive(Clone, Debug, Default)]
pub(super) struct Event {
    set: Clock,
    clear: Clock,
}

impl Event {
    pub(super) fn change(&mut self, change: &SyncChange, by: Option<Release>) {
        let side = if change.after == 0 { &mut self.clear } else { &mut self.set };
        *side = by.map(|by| by.finished).unwrap_or_default();
    }

    /// Teaches a clock what a wait that holds tells.
    pub(super) fn tell(&self, wait: &Wait, clock: &mut Clock) {
        let set = matches!(wait.mode, WaitMode::EVT_SET | WaitMode::EVT_SET_THEN_CLEAR);
        clock.join(if set { &self.set } else { &self.clear });
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::{Lanes, Part};
    use super::*;
    use crate::isa::EngineId;

    struct Bench {
        lanes: Lanes,
        semaphore: Semaphore,
        value: u32,
    }

    impl Bench {
        fn new() -> Bench {
            Bench { lanes: Lanes::new([1].into_iter()), semaphore: Semaphore::new(0), value: 0 }
        }

        fn engine(&self, engine: EngineId) -> Lane {
            self.lanes.engine(0, engine, Part::Writes)
        }

        fn change(&mut self, after: u32, record: u8, lane: Lane, at: u64, issued: &Clock, in_parts: bool) {
            let change = SyncChange { semaphore: true, index: 0, before: self.value, after, record };
            self.value = after;
            let mut finished = issued.clone();
            finished.set(lane, at);
            let release = Release { lane, at, finished, issued: issued.clone(), in_parts };
            self.semaphore.change(&change, Some(release));
        }

        /// Whether a wait for at least so much tells of a position.
        fn tells(&self, value: u32, lane: Lane, at: u64) -> bool {
            let mut clock = Clock::default();
            self.semaphore.tell(WaitMode::SEM_GE_IMM, value, &mut clock);
            clock.covers(lane, at)
        }
    }

    #[test]
    fn a_wait_knows_as_many_as_it_counts() {
        let mut bench = Bench::new();
        let pe = bench.engine(EngineId::Pe);
        for at in 1..=3 {
            bench.change(at as u32, 0xF3, pe, at, &Clock::default(), false);
        }
        assert!(!bench.tells(0, pe, 1) && bench.tells(2, pe, 2) && !bench.tells(2, pe, 3));
        // One is taken away: the same value now tells of one more.
        bench.change(2, 0xF4, bench.engine(EngineId::Act), 1, &Clock::default(), false);
        assert!(bench.tells(2, pe, 3) && !bench.tells(1, pe, 3) && bench.tells(1, pe, 2));
    }

    #[test]
    fn only_the_last_ring_means_that_a_transfer_is_done() {
        let mut bench = Bench::new();
        let queue = bench.lanes.queue(0, 0);
        for value in 1..=16 {
            bench.change(value, 0xF3, queue, 1, &Clock::default(), true);
        }
        assert!(bench.tells(16, queue, 1) && !bench.tells(15, queue, 1));
        // A second one that did not wait for the first: sixteen may be eight of each.
        for value in 17..=32 {
            bench.change(value, 0xF3, queue, 2, &Clock::default(), true);
        }
        assert!(!bench.tells(16, queue, 1) && bench.tells(32, queue, 1) && bench.tells(32, queue, 2));
    }

    #[test]
    fn a_transfer_that_waited_for_the_one_before_leaves_it_alone() {
        let mut bench = Bench::new();
        let queue = bench.lanes.queue(0, 0);
        (1..=16).for_each(|value| bench.change(value, 0xF3, queue, 1, &Clock::default(), true));
        let mut issued = Clock::default();
        issued.set(queue, 1);
        (17..=32).for_each(|value| bench.change(value, 0xF3, queue, 2, &issued, true));
        assert!(bench.tells(16, queue, 1) && !bench.tells(16, queue, 2) && bench.tells(32, queue, 2));
    }

    #[test]
    fn a_counted_barrier_needs_everyone() {
        let mut bench = Bench::new();
        let (pe, act) = (bench.engine(EngineId::Pe), bench.engine(EngineId::Act));
        bench.change(1, 0xF3, pe, 7, &Clock::default(), false);
        bench.change(2, 0xF3, act, 9, &Clock::default(), false);
        assert!(!bench.tells(1, pe, 7) && bench.tells(2, pe, 7) && bench.tells(2, act, 9));
    }

    #[test]
    fn writing_starts_anew() {
        let mut bench = Bench::new();
        let (pe, act) = (bench.engine(EngineId::Pe), bench.engine(EngineId::Act));
        bench.change(1, 0xF3, pe, 1, &Clock::default(), false);
        bench.change(0, 0xF9, act, 4, &Clock::default(), false);
        bench.change(1, 0xF3, pe, 2, &Clock::default(), false);
        assert!(bench.tells(1, pe, 2) && bench.tells(1, act, 4) && !bench.tells(0, act, 4));
    }
}
