//! Explaining why nothing can move.

use std::fmt;

use seqjit_runtime::isa::field::WaitMode;
use seqjit_runtime::isa::layouts::{
    CTRL_ES, DMA_COPY2D, DMA_DIRECT2D, DMA_DIRECT2D_XPOSE, DMA_GATHER_XPOSE, DMA_INDIRECT1D,
    PSEUDO_DMA_DIRECT2D, PSEUDO_DMA_TRIGGER,
};
use seqjit_runtime::isa::{Decoded, EngineId, Layout};
use seqjit_runtime::machine::{Action, Core, Machine, Wait};

/// No engine can make progress and no transfer is pending, but some engine has words left.
#[derive(Clone, PartialEq, Debug)]
pub struct Deadlock {
    /// Every engine that waits for a semaphore or an event.
    pub waiting: Vec<Waiting>,
    /// Every engine that waits at a word for another engine or core to come to one like it.
    pub meeting: Vec<Meeting>,
}

/// An engine at a barrier or collective to which the others do not come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// Core number.
    pub core: usize,
    /// Engine.
    pub engine: EngineId,
    /// Slot of the word in the stream.
    pub slot: u64,
    /// Its opcode, as operand text names it.
    pub opcode: &'static str,
}

/// An engine that waits for something that will not happen.
#[derive(Clone, PartialEq, Debug)]
pub struct Waiting {
    /// Core number.
    pub core: usize,
    /// Engine.
    pub engine: EngineId,
    /// Slot of the word in the stream.
    pub slot: u64,
    /// Its opcode, as operand text names it.
    pub opcode: &'static str,
    /// What it waits for.
    pub wait: Wait,
    /// The semaphore's or event's value.
    pub value: u32,
    /// Words not yet run that would change it.
    pub could_change: Vec<Changer>,
}

/// A word that would change what somebody waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changer {
    /// Engine.
    pub engine: EngineId,
    /// Slot of the first such word.
    pub slot: u64,
    /// It does so when the transfer that it starts is done.
    pub by_dma: bool,
}

impl std::error::Error for Deadlock {}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deadlock: no engine can go on and no transfer is pending")?;
        for w in &self.waiting {
            let (name, relation) = describe(&w.wait);
            write!(
                f,
                "\n  core {} {} word {} ({}) waits for {name}[{}] {relation}, which is {}; ",
                w.core, w.engine, w.slot, w.opcode, w.wait.index, w.value
            )?;
            match w.could_change.as_slice() {
                [] => write!(f, "no word left in any stream of the core changes it")?,
                changers => {
                    write!(f, "it would be changed by")?;
                    for c in changers {
                        let dma = if c.by_dma { " (when its transfer ends)" } else { "" };
                        write!(f, " {} word {}{dma}", c.engine, c.slot)?;
                    }
                }
            }
        }
        for Meeting { core, engine, slot, opcode } in &self.meeting {
            write!(f, "\n  core {core} {engine} word {slot} ({opcode}) waits for other engines or cores")?;
        }
        Ok(())
    }
}

fn describe(wait: &Wait) -> (&'static str, String) {
    let compare = match wait.mode {
        WaitMode::SEM_EQ_IMM => "==",
        WaitMode::SEM_LT_IMM => "<",
        WaitMode::SEM_LE_IMM => "<=",
        WaitMode::SEM_GT_IMM => ">",
        WaitMode::SEM_GE_IMM => ">=",
        WaitMode::EVT_SET | WaitMode::EVT_SET_THEN_CLEAR => return ("event", "to be set".into()),
        _ => return ("event", "to be clear".into()),
    };
    ("semaphore", format!("{compare} {}", wait.value))
}

impl Deadlock {
    /// Looks at every engine that has not stopped.
    pub(super) fn diagnose(machine: &Machine) -> Deadlock {
        let (mut waiting, mut meeting) = (Vec::new(), Vec::new());
        for (number, core) in machine.cores.iter().enumerate() {
            for engine in core.engines.iter().filter(|e| e.is_active()) {
                let stream = &core.spec.streams[engine.id.index()];
                let slot = engine.pc.wrapping_sub(stream.base) / 64;
                let opcode = stream
                    .words
                    .get(slot as usize)
                    .and_then(|i| i.body.as_ref().ok())
                    .map_or("?", |d| d.info.display);
                let Some(wait) = engine.blocked_on else {
                    if engine.ticket.is_some() {
                        meeting.push(Meeting { core: number, engine: engine.id, slot, opcode });
                    }
                    continue;
                };
                let value = if wait.on_event() {
                    core.sync.events[usize::from(wait.index)].into()
                } else {
                    core.sync.semaphores[usize::from(wait.index)]
                };
                let could_change = changers(core, &wait);
                waiting.push(Waiting {
                    core: number,
                    engine: engine.id,
                    slot,
                    opcode,
                    wait,
                    value,
                    could_change,
                });
            }
        }
        Deadlock { waiting, meeting }
    }
}

/// The first word of each engine, from where it stands, that changes what a wait looks at.
fn changers(core: &Core, wait: &Wait) -> Vec<Changer> {
    let of_engine = |engine: &seqjit_runtime::machine::Engine| {
        let stream = &core.spec.streams[engine.id.index()];
        let first = (engine.pc.wrapping_sub(stream.base) / 64) as usize;
        let words = stream.words.get(first..)?.iter().enumerate();
        words.filter_map(|(i, w)| Some((i, w.body.as_ref().ok()?))).find_map(|(i, decoded)| {
            let by_dma = starts_transfer_posting(core, decoded, wait);
            let changes = by_dma || updates(decoded, wait);
            changes.then_some(Changer { engine: engine.id, slot: (first + i) as u64, by_dma })
        })
    };
    core.engines.iter().filter(|e| e.is_active()).filter_map(of_engine).collect()
}

fn updates(decoded: &Decoded, wait: &Wait) -> bool {
    let e = &decoded.events;
    let extended = CTRL_ES::of(&decoded.operands).map(|w| w.events_extended).unwrap_or_default();
    [(e.update_mode, e.update_idx), (extended.update_mode, extended.update_idx)].into_iter().any(
        |(mode, index)| {
            Action::of(mode).is_some_and(|action| {
                let event = matches!(action, Action::SetEvent | Action::ClearEvent);
                event == wait.on_event() && index == wait.index
            })
        },
    )
}

fn starts_transfer_posting(core: &Core, decoded: &Decoded, wait: &Wait) -> bool {
    if wait.on_event() {
        return false;
    }
    let o = &decoded.operands;
    let generated = [
        DMA_DIRECT2D::of(o).map(|o| o.semaphore),
        PSEUDO_DMA_DIRECT2D::of(o).map(|o| o.semaphore),
        DMA_INDIRECT1D::of(o).map(|o| o.semaphore),
        DMA_DIRECT2D_XPOSE::of(o).map(|o| o.semaphore),
        DMA_GATHER_XPOSE::of(o).map(|o| o.semaphore),
    ];
    let counted = DMA_COPY2D::of(o).is_some_and(|o| {
        let modes = o.sema_update_mode.0;
        let (read, written) = (o.rd_done_sema_update_idx, o.wr_done_sema_update_idx);
        [(modes & 0xF, read), (modes >> 4, written)].contains(&(1, wait.index.into()))
    });
    let block = PSEUDO_DMA_TRIGGER::of(&decoded.operands).and_then(|o| {
        let queue = core.queues.iter().find(|q| Some(q.spec.name.as_str()) == o.dma_queue_name.as_str())?;
        queue.spec.blocks.iter().find(|b| b.id == o.block_id_or_count)?.semaphore
    });
    counted || generated.into_iter().chain([block]).flatten().any(|s| s == wait.index)
}
