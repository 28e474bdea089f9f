//! Watching a run from within the process.

use seqjit_runtime::isa::EngineId;
use seqjit_runtime::machine::{Change, Machine};

use super::pieces::{Agent, Piece};
use super::report::{Exit, RunError};
use super::session::Session;

/// Is told what happens in a run. All methods do nothing unless they are written.
///
/// A session with an observer runs block by block, which changes neither results nor the order of words, nor the tier; one
/// without pays one test a turn.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::collections::BTreeMap;
/// use std::sync::{Arc, Mutex};
///
/// use seqjit::runtime::machine::Machine;
/// use seqjit::{BlockRun, Engine, Observer, Options, Program, Session};
///
/// /// Basic block vectors: how often each block ran.
/// #[derive(Clone, Default)]
/// struct Blocks(Arc<Mutex<BTreeMap<(usize, &'static str, u64), u64>>>);
///
/// impl Observer for Blocks {
///     fn block_run(&mut self, _: &Machine, block: &BlockRun) {
///         let key = (block.core, block.engine.name(), block.slot);
///         *self.0.lock().unwrap().entry(key).or_default() += block.words;
///     }
/// }
///
/// let program = Program::open("examples/vector_add.neff")?;
/// let mut session = Session::new(&Engine::new(), &program, Options::default())?;
/// session.set_random_inputs(1);
/// let blocks = Blocks::default();
/// session.set_observer(Box::new(blocks.clone()));
/// let report = session.run()?;
/// assert_eq!(blocks.0.lock().unwrap().values().sum::<u64>(), report.counters.retired);
/// # Ok(())
/// # }
/// ```
pub trait Observer: Send {
    /// Shapes were compiled for the words of a block.
    fn translated(&mut self, _machine: &Machine, _event: &BlockTranslated) {}

    /// Words of a block have run: all of them unless a wait, a stop, a fault or the end of a turn came between.
    fn block_run(&mut self, _machine: &Machine, _event: &BlockRun) {}

    /// A semaphore or an event changed, or was written with the value it had.
    fn sync_changed(&mut self, _machine: &Machine, _event: &Change) {}

    /// A transfer is done.
    fn transferred(&mut self, _machine: &Machine, _event: &Transferred) {}

    /// The run has ended or stopped.
    fn exited(&mut self, _machine: &Machine, _why: &Result<Exit, RunError>) {}
}

/// What was compiled while a block ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BlockTranslated {
    /// Core number.
    pub core: usize,
    /// The engine.
    pub engine: EngineId,
    /// Slot of the first word.
    pub slot: u64,
    /// Shapes compiled. Their code is in [`Engine::native_code`](super::Engine::native_code).
    pub shapes: u64,
    /// Bytes of their code.
    pub code_bytes: u64,
    /// Time that it took.
    pub nanoseconds: u64,
}

/// Words that ran one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BlockRun {
    /// Core number.
    pub core: usize,
    /// The engine.
    pub engine: EngineId,
    /// Slot of the first word.
    pub slot: u64,
    /// Words retired.
    pub words: u64,
}

/// A transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Transferred {
    /// Core number.
    pub core: usize,
    /// Position of its queue in [`Core::queues`](seqjit_runtime::machine::Core::queues).
    pub queue: usize,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

/// An observer, and what it has been told of.
pub(super) struct Watched {
    observer: Box<dyn Observer>,
    /// Shapes, bytes and nanoseconds of [`Translations`](super::Translations).
    compiled: [u64; 3],
}

impl Watched {
    /// Tells of one piece of a run.
    pub(super) fn piece(&mut self, machine: &mut Machine, piece: &Piece, compiled: [u64; 3]) {
        let changes = machine.changes.as_mut().map(std::mem::take).unwrap_or_default();
        match piece.agent {
            Agent::Engine(core, engine) => {
                let [shapes, code_bytes, nanoseconds] =
                    std::array::from_fn(|i| compiled[i].saturating_sub(self.compiled[i]));
                if shapes > 0 {
                    let event =
                        BlockTranslated { core, engine, slot: piece.slot, shapes, code_bytes, nanoseconds };
                    self.observer.translated(machine, &event);
                }
                if piece.retired > 0 {
                    let event = BlockRun { core, engine, slot: piece.slot, words: piece.retired };
                    self.observer.block_run(machine, &event);
                }
            }
            Agent::Queue(core, queue) if piece.progress > 0 => {
                let (read, written) = piece.moved;
                self.observer.transferred(machine, &Transferred { core, queue, read, written });
            }
            Agent::Queue(..) => {}
        }
        self.compiled = compiled;
        changes.iter().for_each(|change| self.observer.sync_changed(machine, change));
    }

    /// Tells of the end.
    pub(super) fn exit(&mut self, machine: &Machine, why: &Result<Exit, RunError>) {
        self.observer.exited(machine, why);
    }
}

impl Session {
    /// Tells an observer what happens in the runs of this session from now on, in place of one that was set before.
    pub fn set_observer(&mut self, observer: Box<dyn Observer>) {
        self.machine.changes = Some(Vec::new());
        self.watched = Some(Watched { observer, compiled: [0; 3] });
    }

    /// Takes the observer away.
    pub fn take_observer(&mut self) -> Option<Box<dyn Observer>> {
        self.machine.changes = None;
        self.watched.take().map(|watched| watched.observer)
    }
}
