//! Stopping between any two words and going on changes nothing: random programs of three engines that
//! signal each other, stopped by the host, by step counts, by breakpoints and by opcode counters.

use std::cell::{Cell, RefCell};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use seqjit_runtime::isa::{EngineId, Word};
use seqjit_runtime::machine::{Machine, Notification};
use seqjit_runtime::sequencer::{Phase, engine_turn};

use crate::support::*;
use crate::words::*;

const ENGINES: [EngineId; 3] = [EngineId::Pe, EngineId::Pool, EngineId::Sp];
/// Counter of loops, and of no other use.
const COUNTER: u8 = 20;
/// Bytes of the data buffer that belong to one engine.
const SHARE: u64 = 0x100;

/// A word without influence on the control flow.
#[derive(Clone, Copy, Debug)]
enum Plain {
    Nop,
    Move(u8, u32),
    Copy(u8, u8),
    Integer(u8, u8, u8, u32),
    Float(u8, u8, u8),
    Store(u8, u8),
    Load(u8, u8),
    Poke(u8, u32),
    Notify(u16),
    Ordering(bool),
    Pc(u8),
    Flush,
}

/// A part of a program. Parts stand in an order in which they could run one after the other, so that
/// programs end.
#[derive(Clone, Debug)]
enum Part {
    Straight(usize, Vec<Plain>),
    /// So many rounds; each adds 1 to the engine's semaphore.
    Loop(usize, u32, Vec<Plain>),
    /// Skipped if the register is greater than the number.
    Skip(usize, u8, u32, Vec<Plain>),
    /// The second engine waits until the first one has come here.
    Signal(usize, usize),
    /// The same with an event, which the wait clears.
    Event(usize, usize),
    /// Both at once, in one EVENT_SEMAPHORE word.
    Join(usize, usize),
}

/// What stops an engine once, some words after it has last been started.
#[derive(Clone, Copy, Debug)]
struct Stop {
    after: u64,
    kind: Kind,
}

/// All but the first two begin with an external stop, at which the host arms something.
#[derive(Clone, Copy, Debug)]
enum Kind {
    External,
    ImmediatePause,
    Step(u32),
    Break(usize),
    Count(u8, u32),
}

fn plain() -> impl Strategy<Value = Plain> {
    let r = || 0u8..8;
    prop_oneof![
        Just(Plain::Nop),
        (r(), any::<u32>()).prop_map(|(d, v)| Plain::Move(d, v)),
        (r(), 8u8..12).prop_map(|(s, d)| Plain::Copy(s, d)),
        (prop_oneof![Just(4u8), Just(5), Just(6), Just(0xC), Just(0x10), Just(9)], r(), r(), any::<u32>())
            .prop_map(|(op, s, d, v)| Plain::Integer(op, s, d, v)),
        (r(), r(), r()).prop_map(|(a, b, d)| Plain::Float(a, b, d)),
        (r(), 0u8..16).prop_map(|(s, at)| Plain::Store(s, at)),
        (r(), 0u8..16).prop_map(|(d, at)| Plain::Load(d, at)),
        (0u8..16, any::<u32>()).prop_map(|(at, v)| Plain::Poke(at, v)),
        any::<u16>().prop_map(Plain::Notify),
        any::<bool>().prop_map(Plain::Ordering),
        r().prop_map(Plain::Pc),
        Just(Plain::Flush),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let e = || 0..ENGINES.len();
    let body = || vec(plain(), 0..6);
    prop_oneof![
        3 => (e(), body()).prop_map(|(e, b)| Part::Straight(e, b)),
        3 => (e(), 1u32..5, body()).prop_map(|(e, n, b)| Part::Loop(e, n, b)),
        2 => (e(), 0u8..8, any::<u32>(), body()).prop_map(|(e, r, v, b)| Part::Skip(e, r, v, b)),
        2 => (e(), e()).prop_map(|(a, b)| Part::Signal(a, b)),
        1 => (e(), e()).prop_map(|(a, b)| Part::Event(a, b)),
        1 => (e(), e()).prop_map(|(a, b)| Part::Join(a, b)),
    ]
}

fn stop() -> impl Strategy<Value = Stop> {
    let kind = prop_oneof![
        Just(Kind::External),
        Just(Kind::ImmediatePause),
        (1u32..6).prop_map(Kind::Step),
        (0usize..40).prop_map(Kind::Break),
        (prop_oneof![Just(0xA4), Just(0xA8), Just(0xA9)], 1u32..4).prop_map(|(o, n)| Kind::Count(o, n)),
    ];
    (0u64..8, kind).prop_map(|(after, kind)| Stop { after, kind })
}

/// Programs under construction.
#[derive(Default)]
struct Builder {
    words: [Vec<Word>; 3],
    /// What each engine will have added to its semaphore.
    signals: [u32; 3],
    events: u8,
}

impl Builder {
    fn plain(&mut self, engine: usize, p: Plain) {
        const DIVIDE: u8 = 7;
        let share = DATA + SHARE * engine as u64;
        self.words[engine].push(match p {
            Plain::Nop => nop(),
            Plain::Move(d, v) => move_immediate(&[(d, v)]),
            Plain::Copy(s, d) => move_registers(&[(s, d)]),
            Plain::Integer(op, s, d, v) => alu_immediate(op, INT32, s, v, d),
            Plain::Float(a, b, d) => alu_registers(DIVIDE, FP32, [a, b], d),
            Plain::Store(s, at) => store(UINT32, share + 4 * u64::from(at), &[s]),
            Plain::Load(d, at) => load(UINT32, share + 4 * u64::from(at), &[d]),
            Plain::Poke(at, v) => write(share + 4 * u64::from(at), v),
            Plain::Notify(hint) => notify(hint),
            Plain::Ordering(strong) => ordering(strong.into()),
            Plain::Pc(d) => move_registers(&[(128, d)]),
            Plain::Flush => flush(),
        });
    }

    fn body(&mut self, engine: usize, body: &[Plain]) -> i32 {
        body.iter().for_each(|p| self.plain(engine, *p));
        body.len() as i32
    }

    fn part(&mut self, part: &Part) {
        const GREATER: u8 = 6;
        const SUBTRACT: u8 = 5;
        match part {
            Part::Straight(e, body) => {
                self.body(*e, body);
            }
            Part::Loop(e, rounds, body) => {
                self.words[*e].push(move_immediate(&[(COUNTER, *rounds)]));
                let length = self.body(*e, body) + 1;
                self.words[*e].push(alu_immediate(SUBTRACT, INT32, COUNTER, 1, COUNTER));
                let back = relative(compare(GREATER, INT32, COUNTER, 0), -64 * length);
                self.words[*e].push(events(back, (0, 0), (SEM_INC, *e as u8), 0));
                self.signals[*e] += rounds;
            }
            Part::Skip(e, register, limit, body) => {
                let words = body.len() as i32 + 1;
                self.words[*e].push(relative(compare(GREATER, UINT32, *register, *limit), 64 * words));
                self.body(*e, body);
            }
            Part::Signal(from, to) => {
                self.signals[*from] += 1;
                self.words[*from].push(events(nop(), (0, 0), (SEM_INC, *from as u8), 0));
                let wait = (WAIT_GE, *from as u8);
                self.words[*to].push(events(move_immediate(&[(3, 1)]), wait, (0, 0), self.signals[*from]));
            }
            Part::Event(from, to) => {
                self.events += 1;
                self.words[*from].push(events(nop(), (0, 0), (EVENT_SET, self.events), 0));
                self.words[*to].push(events(nop(), (WAIT_SET_THEN_CLEAR, self.events), (0, 0), 0));
            }
            Part::Join(from, to) => {
                self.events += 1;
                self.signals[*from] += 1;
                self.words[*from].push(events(nop(), (0, 0), (EVENT_SET, self.events), 0));
                self.words[*from].push(events(nop(), (0, 0), (SEM_INC, *from as u8), 0));
                let second = (WAIT_GE, *from as u8);
                let both = event_semaphore(second, self.signals[*from], (0, 0), 0);
                self.words[*to].push(events(both, (WAIT_SET_THEN_CLEAR, self.events), (0, 0), 0));
            }
        }
    }
}

fn program(parts: &[Part], container: bool) -> Setup {
    let mut builder = Builder::default();
    parts.iter().for_each(|p| builder.part(p));
    let mut setup = setup().traced();
    for (engine, mut words) in ENGINES.into_iter().zip(builder.words) {
        if !container {
            words.push(halt());
        }
        setup = setup.program(engine, &words);
    }
    if container { setup.container() } else { setup }
}

fn run_whole(machine: &mut Machine) {
    ENGINES.into_iter().for_each(|engine| ring(machine, engine));
    run(machine).unwrap();
}

/// Everything that a program leaves behind on an engine.
type Left = (Vec<u32>, u64, (u32, u32, u64), Vec<Notification>);

fn left_by(machine: &Machine, engine: EngineId) -> Left {
    let state = &machine.cores[0].engines[engine.index()];
    let own = machine.cores[0].notifications.iter().filter(|n| n.engine == Some(engine));
    (state.registers.to_vec(), state.retired, stopped(machine, engine), own.copied().collect())
}

/// The host of one engine: where it is in its list of stops.
struct Host<'a> {
    engine: EngineId,
    stops: &'a [Stop],
    /// Words retired when it was last started.
    mark: u64,
    /// Armed at the last start, with the external stop behind it.
    armed: Option<Kind>,
}

impl Host<'_> {
    fn start(&mut self, machine: &mut Machine) {
        self.mark = state(machine, self.engine).retired;
        ring(machine, self.engine);
    }

    /// Asks for a stop when it is due.
    fn before_turn(&mut self, machine: &mut Machine) {
        let Some(stop) = self.stops.first().filter(|_| self.armed.is_none()) else { return };
        let state = state(machine, self.engine);
        if state.seq.running && state.retired >= self.mark + stop.after {
            let (offset, value) = match stop.kind {
                Kind::ImmediatePause => (BP_CTRL, 0x107),
                _ => (HALT_CTRL, 1),
            };
            machine.csr_write(0, self.engine, offset, value).unwrap();
        }
    }

    /// Whether the engine had stopped; if so, it has been started again.
    fn after_turn(&mut self, machine: &mut Machine) -> bool {
        let engine = self.engine;
        let state = state(machine, engine);
        let reason = state.seq.run_state();
        if state.seq.phase != Phase::Waiting || ![4, 8, 64].contains(&reason) || state.seq.doorbell() {
            return false;
        }
        let (retired, pc) = (state.retired - self.mark, state.seq.csr.resume_pc());
        machine.csr_write(0, engine, BP_CTRL, 7).unwrap();
        match self.armed.take() {
            Some(Kind::Step(count)) => assert_eq!((reason, retired), (64, count.into())),
            Some(Kind::Break(slot)) => assert_eq!((reason, pc), (4, BASE + 64 * slot as u64)),
            Some(Kind::Count(..)) => assert_eq!(reason, 4),
            _ => assert_eq!((reason, machine.csr_read(0, engine, HALT_CTRL)), (8, Some(0))),
        }
        if reason == 8 {
            self.arm(machine);
        }
        self.start(machine);
        true
    }

    fn arm(&mut self, machine: &mut Machine) {
        let Some((stop, rest)) = self.stops.split_first() else { return };
        self.stops = rest;
        let settings: Vec<(u32, u32)> = match stop.kind {
            Kind::External | Kind::ImmediatePause => return,
            Kind::Step(count) => vec![(BP_STEP, count), (BP_CTRL, 0xF)],
            Kind::Break(slot) => vec![(BP_ADDR0, BASE as u32 + 64 * slot as u32), (BP_CTRL, 0x17)],
            Kind::Count(opcode, threshold) => {
                vec![(BP_MATCH, 0xFF | u32::from(opcode) << 8), (BP_IC0, threshold), (BP_CTRL, 0x47)]
            }
        };
        for (offset, value) in settings {
            machine.csr_write(0, self.engine, offset, value).unwrap();
        }
        self.armed = Some(stop.kind);
    }
}

/// Runs with stops, in turns of at most `turn` words, until all engines have ended. Returns how often one was
/// stopped.
fn run_stopping(machine: &mut Machine, stops: &[Vec<Stop>; 3], turn: u64) -> usize {
    let mut hosts: Vec<Host<'_>> = ENGINES
        .into_iter()
        .zip(stops)
        .map(|(engine, stops)| Host { engine, stops, mark: 0, armed: None })
        .collect();
    hosts.iter_mut().for_each(|h| h.start(machine));
    let mut stopped = 0;
    for _ in 0..100_000 {
        let mut moved = false;
        for host in &mut hosts {
            host.before_turn(machine);
            moved |= engine_turn(machine, 0, host.engine, turn).unwrap().progress > 0;
            if host.after_turn(machine) {
                moved = true;
                stopped += 1;
            }
        }
        if !moved {
            return stopped;
        }
    }
    panic!("the programs do not end");
}

#[test]
fn stopping_and_going_on_changes_nothing() {
    let stops = || vec(stop(), 0..5);
    let cases = (vec(part(), 1..14), [stops(), stops(), stops()], 1u64..5, any::<bool>());
    let machines = RefCell::new((setup().traced().build(), setup().traced().build()));
    let stopped = Cell::new(0);
    let config = ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&cases, |(parts, stops, turn, container)| {
        let (whole, parted) = &mut *machines.borrow_mut();
        let program = program(&parts, container);
        program.load(whole);
        run_whole(whole);
        program.load(parted);
        stopped.set(stopped.get() + run_stopping(parted, &stops, turn));
        for engine in ENGINES {
            prop_assert_eq!(left_by(whole, engine), left_by(parted, engine), "{}", engine);
        }
        let (a, b) = (&whole.cores[0].sync, &parted.cores[0].sync);
        prop_assert_eq!((a.semaphores, a.events), (b.semaphores, b.events));
        let bytes = |m: &Machine| m.dram.buffer(0).bytes().to_vec();
        prop_assert!(bytes(whole) == bytes(parted));
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(stopped.get() > 2000, "engines were stopped {} times only", stopped.get());
}

/// A program of every kind of part, stopped before every single word, by each means.
#[test]
fn every_word_can_be_the_one_before_which_an_engine_stops() {
    let body =
        vec![Plain::Move(1, 7), Plain::Float(1, 0, 2), Plain::Store(1, 3), Plain::Notify(9), Plain::Flush];
    let parts = [
        Part::Straight(0, body.clone()),
        Part::Loop(1, 3, body.clone()),
        Part::Signal(1, 0),
        Part::Join(0, 2),
        Part::Skip(0, 1, 5, body.clone()),
        Part::Event(2, 1),
        Part::Loop(0, 2, vec![Plain::Pc(4), Plain::Ordering(true), Plain::Load(5, 3)]),
    ];
    let program = program(&parts, false);
    let mut whole = program.build();
    run_whole(&mut whole);
    let expected = ENGINES.map(|e| left_by(&whole, e));
    let mut parted = program.build();
    for (at, engine) in ENGINES.into_iter().enumerate() {
        let total = state(&mut whole, engine).retired;
        for after in 0..total {
            for kind in [Kind::External, Kind::ImmediatePause, Kind::Step(1), Kind::Count(0xA9, 1)] {
                let mut stops: [Vec<Stop>; 3] = Default::default();
                stops[at].push(Stop { after, kind });
                program.load(&mut parted);
                let count = run_stopping(&mut parted, &stops, 1);
                assert!(count >= 1, "{engine} is stopped after {after} words by {kind:?}");
                assert_eq!(ENGINES.map(|e| left_by(&parted, e)), expected, "{engine} {after} {kind:?}");
            }
        }
    }
}
