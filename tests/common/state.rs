//! Everything that a machine holds, compared.
#![allow(dead_code)]

use seqjit::runtime::isa::{PARTITIONS, Space};
use seqjit::runtime::machine::{Core, Engine, Machine, PeState};

/// The first thing in which two machines differ, in words.
pub fn difference(a: &Machine, b: &Machine) -> Option<String> {
    let cores = a.cores.iter().zip(&b.cores).enumerate();
    let mut cores = cores.map(|(number, (a, b))| Some(format!("core {number}: {}", of_cores(a, b)?)));
    let buffers = || {
        a.dram.buffers().iter().zip(b.dram.buffers()).find_map(|(a, b)| {
            let at = position(a.bytes(), b.bytes())?;
            Some(format!("buffer {} byte {at}: {:02x} and {:02x}", a.spec.name, a.bytes()[at], b.bytes()[at]))
        })
    };
    let warnings = || unequal("warnings", &a.warnings, &b.warnings);
    cores.find_map(|found| found).or_else(buffers).or_else(warnings).or_else(|| rest(a, b))
}

fn of_cores(a: &Core, b: &Core) -> Option<String> {
    memories(a, b, usize::MAX)
        .or_else(|| synchronisation(a, b))
        .or_else(|| weights(&a.pe, &b.pe))
        .or_else(|| accumulators(a, b))
        .or_else(|| a.engines.iter().zip(&b.engines).find_map(|(a, b)| engine(a, b)))
        .or_else(|| {
            let queues = |c: &Core| -> Vec<_> { c.queues.iter().map(|q| format!("{q:?}")).collect() };
            unequal("queues", &queues(a), &queues(b))
        })
}

/// The first difference of SBUF and PSUM in so many bytes of each partition.
pub fn memories(a: &Core, b: &Core, bytes: usize) -> Option<String> {
    [Space::Sbuf, Space::Psum].into_iter().find_map(|space| {
        (0..PARTITIONS).find_map(|partition| {
            let (a, b) = (a.memory(space).partition(partition), b.memory(space).partition(partition));
            let bytes = bytes.min(a.len());
            let at = position(&a[..bytes], &b[..bytes])?;
            Some(format!("{space} partition {partition} byte {at}: {:02x} and {:02x}", a[at], b[at]))
        })
    })
}

/// Semaphores, events, notifications.
pub fn synchronisation(a: &Core, b: &Core) -> Option<String> {
    let cell = |what, a: &[u32], b: &[u32]| {
        let at = a.iter().zip(b).position(|(a, b)| a != b)?;
        Some(format!("{what} {at}: {} and {}", a[at], b[at]))
    };
    let events = |core: &Core| core.sync.events.map(u32::from);
    cell("semaphore", &a.sync.semaphores, &b.sync.semaphores)
        .or_else(|| cell("event", &events(a), &events(b)))
        .or_else(|| unequal("notifications", &a.notifications, &b.notifications))
}

/// What the PE array holds.
pub fn weights(a: &PeState, b: &PeState) -> Option<String> {
    let same = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
    let about = |p: &PeState| (p.dtype, p.lanes, p.transpose);
    unequal("weights", &about(a), &about(b))
        .or_else(|| (!same(&a.weights, &b.weights)).then(|| "values of the weights".into()))
        .or_else(|| (a.raw != b.raw || a.tags != b.tags).then(|| "bits or tags of the weights".into()))
        .or_else(|| {
            let seeds = |p: &PeState| (p.hidden.seeded, p.hidden.seeds);
            unequal("seeds", &seeds(a), &seeds(b))
        })
        .or_else(|| unequal("tables of the array", &a.hidden.lut, &b.hidden.lut))
}

/// Accumulators of ACT and DVE.
pub fn accumulators(a: &Core, b: &Core) -> Option<String> {
    let bits = |values: &[f32; PARTITIONS]| values.map(f32::to_bits);
    let table = |core: &Core| core.act.resident;
    unequal("ACT accumulator", &bits(&a.act.accumulator), &bits(&b.act.accumulator))
        .or_else(|| unequal("DVE accumulator", &bits(&a.dve.accumulator), &bits(&b.dve.accumulator)))
        .or_else(|| unequal("tables", &table(a), &table(b)))
}

/// What searches, random numbers, gathers, shuffles and batch normalisation keep from word to word.
pub fn hidden(a: &Core, b: &Core) -> Option<String> {
    let keys = |core: &Core| core.dve.search.keys.map(|keys| keys.map(f32::to_bits));
    let dve = |core: &Core| {
        let random = &core.dve.random;
        (core.dve.search.indices, random.xorwow, random.convert, core.dve.mask)
    };
    let pool = |core: &Core| (core.pool.random.xorwow, core.pool.random.convert, core.pool.arguments);
    let buffer = |core: &Core| {
        let buffer = &core.pool.buffer;
        (buffer.width, buffer.count, buffer.start_index, buffer.mask, buffer.valid)
    };
    let params =
        |core: &Core| core.dve.batch_norm.params.map(|p| [p.n, p.mean, p.a, p.b, p.c].map(f32::to_bits));
    unequal("keys of searches", &keys(a), &keys(b))
        .or_else(|| unequal("parameters of batch norm", &params(a), &params(b)))
        .or_else(|| unequal("parameter RAM", &a.dve.batch_norm.ram, &b.dve.batch_norm.ram))
        .or_else(|| unequal("findings, generators and mask of DVE", &dve(a), &dve(b)))
        .or_else(|| unequal("LFSR of DVE", &a.dve.random.lfsr, &b.dve.random.lfsr))
        .or_else(|| unequal("generators and arguments of POOL", &pool(a), &pool(b)))
        .or_else(|| unequal("gather buffer", &buffer(a), &buffer(b)))
        .or_else(|| unequal("gather buffer", &a.pool.buffer.data, &b.pool.buffer.data))
}

/// Everything else, as the text and the saved form of a machine have it.
fn rest(a: &Machine, b: &Machine) -> Option<String> {
    let text = |m: &Machine| -> Vec<_> {
        m.cores.iter().map(|c| format!("{:?} {:?} {:?}", c.act, c.dve, c.pool)).collect()
    };
    // A machine with an engine that faulted, or that runs words of its own, has none.
    let saved = |machine: &Machine| {
        let mut bytes = Vec::new();
        machine.save(&mut bytes).ok().map(|()| bytes)
    };
    let found = unequal("ACT, DVE and POOL", &text(a), &text(b));
    found.or_else(|| (saved(a) != saved(b)).then(|| "something in their saved forms".into()))
}

/// Registers and sequencer of an engine.
pub fn engine(a: &Engine, b: &Engine) -> Option<String> {
    let place = |e: &Engine| (e.pc, e.next_pc(), e.retired, e.blocked_on);
    let registers = |e: &Engine| (e.registers, e.shapes, e.table_base);
    let found = unequal("pc, next pc, retired, wait", &place(a), &place(b))
        .or_else(|| unequal("registers", &registers(a), &registers(b)))
        .or_else(|| unequal("sequencer", &format!("{:?}", a.seq), &format!("{:?}", b.seq)))?;
    Some(format!("{}: {found}", a.id))
}

fn unequal<T: PartialEq + std::fmt::Debug>(what: &str, a: &T, b: &T) -> Option<String> {
    (a != b).then(|| {
        // Long states: only where they part.
        let (a, b) = (format!("{a:?}"), format!("{b:?}"));
        let at = a.bytes().zip(b.bytes()).position(|(a, b)| a != b).unwrap_or(0);
        let near = |text: &str| text.chars().skip(at.saturating_sub(60)).take(160).collect::<String>();
        format!("{what}: ..{}.. and ..{}..", near(&a), near(&b))
    })
}

fn position(a: &[u8], b: &[u8]) -> Option<usize> {
    if a == b { None } else { a.iter().zip(b).position(|(a, b)| a != b) }
}
