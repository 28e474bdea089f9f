//! Who runs next (design section 3 rule 8).

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit_runtime::interp::Fault;
use seqjit_runtime::isa::EngineId;
use seqjit_runtime::machine::Machine;
use seqjit_runtime::save::{Damaged, Reader, Saved};
use seqjit_runtime::sequencer::{Cut, Limits, TURN_WORDS, Turn, dma_turn, engine_turn_within};

use super::pieces::{Agent, Pace, Piece, slot_of};
use super::stops::Stops;

/// The order in which engines and queues take turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// Core by core: PE, ACT, POOL, DVE, SP, then the queues by name.
    #[default]
    Fixed,
    /// Agent and turn length (1 to 256 words) drawn from a generator with this seed.
    Seeded(u64),
}

/// Gives turns until nothing can move.
pub(crate) struct Scheduler {
    agents: Vec<Agent>,
    rng: Option<ChaCha8Rng>,
    /// Position of the next agent of the fixed order.
    next: usize,
    /// Agents asked since something moved.
    idle: usize,
    /// The turn that a stop cut short. It goes on where it was, so that stopping changes no order.
    cut: Option<Allotment>,
    /// How much one call of [`Scheduler::turn`] does at most.
    pub(super) pace: Pace,
    /// What the last one did.
    pub(super) piece: Piece,
}

/// Who may run, and how far.
struct Allotment {
    /// Index into [`Scheduler::agents`].
    position: usize,
    /// Words left.
    limit: u64,
    /// What it has done of it.
    progress: u64,
}

impl Scheduler {
    pub(crate) fn new(machine: &Machine, schedule: Schedule) -> Self {
        let mut agents = Vec::new();
        for (core, state) in machine.cores.iter().enumerate() {
            agents.extend(EngineId::ALL.map(|engine| Agent::Engine(core, engine)));
            agents.extend((0..state.queues.len()).map(|queue| Agent::Queue(core, queue)));
        }
        let rng = match schedule {
            Schedule::Fixed => None,
            Schedule::Seeded(seed) => Some(ChaCha8Rng::seed_from_u64(seed)),
        };
        let (pace, piece) = (Pace::Turn, Piece::NONE);
        Scheduler { agents, rng, next: 0, idle: 0, cut: None, pace, piece }
    }

    /// Gives one turn of at most `words` words, or the part of it up to where it is cut short; `None` when no
    /// agent can move. A turn that was cut goes on with the next call.
    pub(crate) fn turn(
        &mut self,
        machine: &mut Machine,
        words: u64,
        stops: &mut Stops,
        limits: &Limits<'_>,
    ) -> Result<Option<Turn>, Fault> {
        while self.idle < self.agents.len() {
            let Allotment { position, limit, progress } = self.cut.take().unwrap_or_else(|| self.choose());
            let agent = self.agents[position];
            self.piece = Piece { agent, ..Piece::NONE };
            let turn = match agent {
                Agent::Engine(core, engine) => {
                    let words = self.pace.limit(machine, core, engine, words);
                    self.piece.slot = slot_of(machine, core, engine);
                    let limits = Limits { stops: stops.of(core, engine), ..*limits };
                    let turn = engine_turn_within(machine, core, engine, limit.min(words), &limits)?;
                    (self.piece.progress, self.piece.retired) = (turn.progress, turn.retired);
                    let left = limit - turn.retired;
                    if turn.cut.is_some() || (turn.retired == words && left > 0 && !turn.ended) {
                        let progress = progress + turn.progress;
                        self.cut = Some(Allotment { position, limit: left, progress });
                    }
                    if turn.cut == Some(Cut::BeforeWord) {
                        stops.reach(machine, core, engine);
                    }
                    if self.cut.is_some() || turn.halted {
                        self.idle = 0;
                        return Ok(Some(turn));
                    }
                    turn
                }
                Agent::Queue(core, queue) => {
                    let (read, written) = machine.cores[core].queues[queue].bytes;
                    let turn = dma_turn(machine, core, queue)?;
                    let now = machine.cores[core].queues[queue].bytes;
                    self.piece.progress = turn.progress;
                    self.piece.moved = (now.0 - read, now.1 - written);
                    turn
                }
            };
            if progress + turn.progress > 0 {
                self.idle = 0;
                return Ok(Some(turn));
            }
            self.idle += 1;
        }
        self.idle = 0;
        Ok(None)
    }

    /// Whether the last turn was cut and goes on with the next call.
    pub(super) fn in_turn(&self) -> bool {
        self.cut.is_some()
    }

    /// The next agent and how many words it may run.
    fn choose(&mut self) -> Allotment {
        // Drawn agents may repeat, so after as many idle draws everyone is asked in order.
        let position = match &mut self.rng {
            Some(rng) if self.idle == 0 => rng.random_range(0..self.agents.len()),
            _ => self.next,
        };
        self.next = (position + 1) % self.agents.len();
        let limit = match &mut self.rng {
            Some(rng) => rng.random_range(1..=TURN_WORDS),
            None => TURN_WORDS,
        };
        Allotment { position, limit, progress: 0 }
    }
}

/// Beside the agents, which are those of the machine.
impl Scheduler {
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let Scheduler { agents: _, rng, next, idle, cut, pace: _, piece: _ } = self;
        rng.as_ref().map(|rng| (rng.get_seed(), rng.get_stream(), rng.get_word_pos())).put(out);
        next.put(out);
        idle.put(out);
        cut.as_ref().map(|cut| (cut.position, cut.limit, cut.progress)).put(out);
    }

    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let generator = Option::<([u8; 32], u64, u128)>::load(from)?;
        if generator.is_some() != self.rng.is_some() {
            return Err(Damaged("another kind of schedule"));
        }
        self.rng = generator.map(|(seed, stream, position)| {
            let mut rng = ChaCha8Rng::from_seed(seed);
            rng.set_stream(stream);
            rng.set_word_pos(position);
            rng
        });
        self.next = Saved::load(from)?;
        self.idle = Saved::load(from)?;
        let cut = Option::<(usize, u64, u64)>::load(from)?;
        self.cut = cut.map(|(position, limit, progress)| Allotment { position, limit, progress });
        let known = |position: usize| position < self.agents.len();
        if known(self.next) && self.cut.as_ref().is_none_or(|cut| known(cut.position)) {
            Ok(())
        } else {
            Err(Damaged("there is no such engine or queue"))
        }
    }
}
