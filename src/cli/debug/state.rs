//! `save` and `compare`: what differs between two states of the machine.

use std::io::Write;
use std::ops::Range;

use seqjit::runtime::isa::{Generation, PARTITIONS, Space};
use seqjit::runtime::machine::{Core, Engine, Machine};
use seqjit::runtime::sequencer::csr;

use super::area::Bytes;
use super::error::CommandError;
use super::parse::Line;
use super::{Debugger, explain};

type Result<T = ()> = std::result::Result<T, CommandError>;

/// Ranges of bytes shown of each memory.
const SHOWN_RANGES: usize = 16;
/// Equal bytes between two different ones that do not start a new range: the rest of an element.
const BRIDGED: usize = 7;

/// `save`.
pub fn save(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let name = line.next("NAME")?;
    line.end()?;
    debugger.saved.insert(name.to_owned(), debugger.session.machine().clone());
    Ok(writeln!(debugger.out, "saved {name}")?)
}

/// `compare`.
pub fn compare(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let (first, second) = (line.next("NAME")?, line.optional());
    line.end()?;
    let saved = |name: &str| {
        let known = || debugger.saved.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let state = debugger.saved.get(name);
        state.ok_or_else(|| CommandError::NoState { name: name.to_owned(), known: known() })
    };
    let before = saved(first)?;
    let after = second.map_or(Ok(debugger.session.machine()), saved)?;
    let found = differences(before, after);
    let second = second.unwrap_or("now");
    let heading = match found.len() {
        0 => "nothing differs".to_owned(),
        n => format!("{n} differences"),
    };
    writeln!(debugger.out, "{first} -> {second}: {heading}")?;
    found.iter().try_for_each(|difference| writeln!(debugger.out, "  {difference}"))?;
    Ok(())
}

/// What differs, a line each.
fn differences(before: &Machine, after: &Machine) -> Vec<String> {
    let mut found = Vec::new();
    for (number, (a, b)) in before.cores.iter().zip(&after.cores).enumerate() {
        let mut of_core = Vec::new();
        for (x, y) in a.engines.iter().zip(&b.engines) {
            let engine = engine(before.generation, (a, x), (b, y)).into_iter();
            of_core.extend(engine.map(|text| format!("{} {text}", x.id)));
        }
        of_core.extend(synchronisation(a, b));
        of_core.extend([Space::Sbuf, Space::Psum].into_iter().flat_map(|space| on_chip(a, b, space)));
        of_core.extend(hidden(a, b));
        found.extend(of_core.into_iter().map(|text| format!("core {number} {text}")));
    }
    for (a, b) in before.dram.buffers().iter().zip(after.dram.buffers()) {
        let runs = runs(a.bytes(), b.bytes());
        let name = &a.spec.name;
        found.extend(limited(runs.into_iter().map(|run| describe(&format!("dram {name}"), &run)).collect()));
    }
    found
}

fn changed<T: PartialEq>(name: &str, a: T, b: T, show: impl Fn(&T) -> String) -> Option<String> {
    (a != b).then(|| format!("{name}: {} -> {}", show(&a), show(&b)))
}

fn engine(
    generation: Generation,
    (before, a): (&Core, &Engine),
    (after, b): (&Core, &Engine),
) -> Vec<String> {
    let hex = |v: &u32| format!("0x{v:x}");
    let decimal = |v: &u64| v.to_string();
    let mut found = Vec::new();
    for (number, (x, y)) in a.registers.iter().zip(&b.registers).enumerate() {
        found.extend(changed(&format!("R{number}"), *x, *y, hex));
    }
    for (number, (x, y)) in a.shapes.iter().zip(&b.shapes).enumerate() {
        found.extend(changed(&format!("shape {number}"), *x, *y, |s| format!("{s:?}")));
    }
    found.extend(changed("table base", a.table_base, b.table_base, |v| format!("0x{v:x}")));
    let slots = [explain::next_slot(before, a.id), explain::next_slot(after, b.id)];
    found.extend(changed("next word", slots[0], slots[1], decimal));
    found.extend(changed("words ran", a.retired, b.retired, decimal));
    let wait = |core, e: &Engine| e.blocked_on.map_or("no".to_owned(), |w| explain::wait(core, &w));
    found.extend(changed("wait", wait(before, a), wait(after, b), String::clone));
    let registers = (0..csr::APERTURE).step_by(4).filter_map(|at| csr::register(at, generation));
    for register in registers {
        let (x, y) = (a.seq.csr.peek(register.offset), b.seq.csr.peek(register.offset));
        found.extend(changed(&register.name, x, y, hex));
    }
    found
}

fn synchronisation(a: &Core, b: &Core) -> Vec<String> {
    let mut found = Vec::new();
    for (index, (x, y)) in a.sync.semaphores.iter().zip(&b.sync.semaphores).enumerate() {
        found.extend(changed(&format!("semaphore {index}"), *x, *y, u32::to_string));
    }
    for (index, (x, y)) in a.sync.events.iter().zip(&b.sync.events).enumerate() {
        found.extend(changed(&format!("event {index}"), u8::from(*x), u8::from(*y), u8::to_string));
    }
    for (x, y) in a.queues.iter().zip(&b.queues) {
        let name = &x.spec.name;
        found.extend(changed(
            &format!("queue {name} transfers done"),
            x.completed,
            y.completed,
            u64::to_string,
        ));
        let open = (x.pending.len(), y.pending.len());
        found.extend(changed(&format!("queue {name} transfers open"), open.0, open.1, usize::to_string));
    }
    found
}

/// State that no word reads directly; only that it differs is told.
fn hidden(a: &Core, b: &Core) -> Vec<String> {
    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let differs = [
        ("PE weights", a.pe.raw != b.pe.raw || a.pe.tags != b.pe.tags || a.pe.dtype != b.pe.dtype),
        ("ACT accumulators", bits(&a.act.accumulator) != bits(&b.act.accumulator)),
        ("ACT resident table set", a.act.resident != b.act.resident),
        ("DVE accumulators", bits(&a.dve.accumulator) != bits(&b.dve.accumulator)),
        ("DVE preloaded scalars", a.dve.scalars != b.dve.scalars),
        ("DVE batch normalisation", a.dve.batch_norm != b.dve.batch_norm),
    ];
    differs.into_iter().filter(|d| d.1).map(|(name, _)| format!("{name} differ")).collect()
}

/// A range that holds bytes which differ.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Run {
    bytes: Range<usize>,
    differ: usize,
}

/// The ranges in which two runs of bytes differ.
fn runs(a: &[u8], b: &[u8]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    if a == b {
        return runs;
    }
    for at in (0..a.len().min(b.len())).filter(|i| a[*i] != b[*i]) {
        match runs.last_mut() {
            Some(last) if at - last.bytes.end <= BRIDGED => {
                last.bytes.end = at + 1;
                last.differ += 1;
            }
            _ => runs.push(Run { bytes: at..at + 1, differ: 1 }),
        }
    }
    runs
}

fn describe(memory: &str, run: &Run) -> String {
    format!("{memory} {}: {} differ", Bytes(run.bytes.clone()), run.differ)
}

fn limited(mut all: Vec<String>) -> Vec<String> {
    if all.len() > SHOWN_RANGES {
        let more = all.split_off(SHOWN_RANGES).len();
        all.push(format!("and {more} more ranges like the last one"));
    }
    all
}

/// Ranges of on-chip memory; neighbouring partitions with the same ranges share a line.
fn on_chip(a: &Core, b: &Core, space: Space) -> Vec<String> {
    let (a, b) = (a.memory(space), b.memory(space));
    let mut found = Vec::new();
    let mut same: Option<(Range<usize>, Vec<Run>)> = None;
    let mut flush = |same: Option<(Range<usize>, Vec<Run>)>| {
        let Some((partitions, runs)) = same else { return };
        let memory = match partitions.len() {
            1 => format!("{space} partition {}", partitions.start),
            _ => format!("{space} partitions {} to {}, each", partitions.start, partitions.end - 1),
        };
        found.extend(runs.iter().map(|run| describe(&memory, run)));
    };
    for partition in 0..PARTITIONS {
        let runs = runs(a.partition(partition), b.partition(partition));
        match &mut same {
            Some((partitions, of_last)) if *of_last == runs => partitions.end = partition + 1,
            _ => flush(same.replace((partition..partition + 1, runs))),
        }
    }
    flush(same);
    limited(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_differences_share_a_range() {
        let a = [0u8; 40];
        let mut b = a;
        for at in [3, 4, 12, 30] {
            b[at] = 1;
        }
        let expected = [Run { bytes: 3..13, differ: 3 }, Run { bytes: 30..31, differ: 1 }];
        assert_eq!(runs(&a, &b), expected);
        assert_eq!(runs(&a, &a), []);
    }
}
