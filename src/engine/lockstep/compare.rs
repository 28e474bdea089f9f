//! Comparing two machines.

use std::fmt::Debug;

use seqjit_runtime::isa::{EngineId, PARTITIONS, Space};
use seqjit_runtime::machine::{Core, Engine, Machine, Write};
use seqjit_runtime::save::Saved;
use seqjit_runtime::sequencer::csr;

use super::difference::Place;
use crate::engine::pieces::Agent;

/// How much is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// The bytes that have been written, control state, and the hidden state of the engine that ran.
    Written,
    /// Everything.
    Everything,
}

/// A part of an engine as text.
type Shown = fn(&Engine) -> String;

/// What differs, and its values.
type Found = (Place, String, String);

/// The first difference of two machines.
pub(super) fn compare(
    a: &Machine,
    b: &Machine,
    scope: Scope,
    ran: Agent,
    written: &[Write],
) -> Option<Found> {
    let memory = match scope {
        Scope::Written => written.iter().find_map(|write| at(a, b, write)),
        Scope::Everything => everywhere(a, b),
    };
    let hidden =
        |core: usize, engine: EngineId| scope == Scope::Everything || ran == Agent::Engine(core, engine);
    let cores = || a.cores.iter().zip(&b.cores).enumerate();
    memory
        .or_else(|| cores().find_map(|(core, (a, b))| control(core, a, b)))
        .or_else(|| {
            cores().find_map(|(core, (a, b))| {
                EngineId::ALL
                    .into_iter()
                    .filter(|e| hidden(core, *e))
                    .find_map(|e| hidden_state(core, a, b, e))
            })
        })
        .or_else(|| (a.warnings != b.warnings).then(|| found(Place::Warnings, &a.warnings, &b.warnings)))
}

fn found<T: Debug + ?Sized>(place: Place, a: &T, b: &T) -> Found {
    (place, format!("{a:?}"), format!("{b:?}"))
}

/// The bytes from the first difference on, in hexadecimal; up to four.
fn bytes(place: impl FnOnce(usize) -> Place, a: &[u8], b: &[u8]) -> Option<Found> {
    // Equal runs are the rule, and comparing them as slices is quick.
    if a == b {
        return None;
    }
    let first = a.iter().zip(b).position(|(a, b)| a != b)?;
    let hex = |bytes: &[u8]| {
        let shown = bytes[first..].iter().take(4);
        shown.map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
    };
    Some((place(first), hex(a), hex(b)))
}

fn at(a: &Machine, b: &Machine, write: &Write) -> Option<Found> {
    match *write {
        Write::OnChip { core, space, partition, offset, len } => {
            let run = |machine: &'_ Machine| {
                machine.cores[core].memory(space).partition(partition)[offset..offset + len].to_vec()
            };
            let place = |at| Place::OnChip { core, space, partition, offset: offset + at };
            bytes(place, &run(a), &run(b))
        }
        Write::Dram { buffer, offset, len } => {
            let run =
                |machine: &'_ Machine| machine.dram.buffer(buffer).bytes()[offset..offset + len].to_vec();
            bytes(|at| in_buffer(a, buffer, offset + at), &run(a), &run(b))
        }
    }
}

fn in_buffer(machine: &Machine, buffer: usize, offset: usize) -> Place {
    let spec = &machine.dram.buffer(buffer).spec;
    Place::Dram { buffer, name: spec.name.clone(), offset, address: spec.address }
}

fn everywhere(a: &Machine, b: &Machine) -> Option<Found> {
    let on_chip = |(core, (a, b)): (usize, (&Core, &Core))| {
        [Space::Sbuf, Space::Psum].into_iter().find_map(|space| {
            (0..PARTITIONS).find_map(|partition| {
                let place = |offset| Place::OnChip { core, space, partition, offset };
                bytes(place, a.memory(space).partition(partition), b.memory(space).partition(partition))
            })
        })
    };
    let dram =
        |(buffer, (x, y)): (usize, (&seqjit_runtime::machine::Buffer, &seqjit_runtime::machine::Buffer))| {
            bytes(|at| in_buffer(a, buffer, at), x.bytes(), y.bytes())
        };
    let buffers = || a.dram.buffers().iter().zip(b.dram.buffers()).enumerate();
    a.cores.iter().zip(&b.cores).enumerate().find_map(on_chip).or_else(|| buffers().find_map(dram))
}

/// Engines, semaphores, events, queues, notifications.
fn control(core: usize, a: &Core, b: &Core) -> Option<Found> {
    let stored = |core: &Core| {
        let mut out = Vec::new();
        core.save_control(&mut out);
        out
    };
    if stored(a) == stored(b) {
        return None;
    }
    let engines = a.engines.iter().zip(&b.engines).find_map(|(a, b)| engine(core, a, b));
    let position = |place: fn(usize, usize) -> Place, a: &[u32], b: &[u32]| {
        let index = a.iter().zip(b).position(|(a, b)| a != b)?;
        Some(found(place(core, index), &a[index], &b[index]))
    };
    let events = |core: &Core| core.sync.events.map(u32::from);
    let rest = Place::Core { core, what: "queues or notifications" };
    position(|core, index| Place::Semaphore { core, index }, &a.sync.semaphores, &b.sync.semaphores)
        .or_else(|| position(|core, index| Place::Event { core, index }, &events(a), &events(b)))
        .or(engines)
        .or_else(|| Some((rest, summary(a), summary(b))))
}

fn summary(core: &Core) -> String {
    let queues: Vec<_> = core.queues.iter().map(|q| (q.pending.len(), q.completed, q.bytes)).collect();
    format!("{queues:?}, {} notifications", core.notifications.len())
}

fn engine(core: usize, a: &Engine, b: &Engine) -> Option<Found> {
    let engine = a.id;
    if let Some(number) = a.registers.iter().zip(&b.registers).position(|(a, b)| a != b) {
        let hex = |engine: &Engine| format!("{:#x}", engine.registers[number]);
        return Some((Place::Register { core, engine, number }, hex(a), hex(b)));
    }
    let place = |what| Place::Engine { core, engine, what };
    let named: [(&'static str, Shown); 8] = [
        ("PC", |e| format!("{:#x}", e.next_pc())),
        ("words retired", |e| e.retired.to_string()),
        ("wait", |e| format!("{:?}", e.blocked_on)),
        ("phase", |e| format!("{:?}", e.seq.phase)),
        ("shape registers", |e| format!("{:?}", e.shapes)),
        ("table base", |e| format!("{:#x}", e.table_base)),
        ("loop iterations", |e| e.seq.iteration.to_string()),
        ("step count", |e| e.seq.step_count.to_string()),
    ];
    if let Some((what, text)) = named.iter().find(|(_, text)| text(a) != text(b)) {
        return Some((place(what), text(a), text(b)));
    }
    let offsets = (0..csr::APERTURE).step_by(4);
    if let Some(offset) = offsets.into_iter().find(|at| a.seq.csr.peek(*at) != b.seq.csr.peek(*at)) {
        let hex = |engine: &Engine| format!("{:#x}", engine.seq.csr.peek(offset));
        return Some((Place::Csr { core, engine, offset }, hex(a), hex(b)));
    }
    let stored = |engine: &Engine| {
        let mut out = Vec::new();
        engine.seq.put(&mut out);
        out
    };
    (stored(a) != stored(b)).then(|| found(place("sequencer"), &a.seq, &b.seq))
}

/// Weights, accumulators, tables, random numbers and the like.
fn hidden_state(core: usize, a: &Core, b: &Core, engine: EngineId) -> Option<Found> {
    let stored = |core: &Core| {
        let mut out = Vec::new();
        core.save_hidden(engine, &mut out);
        out
    };
    let place = |what| Place::Engine { core, engine, what };
    bytes(|_| place("hidden state"), &stored(a), &stored(b))
}
