//! Commands that show the machine.

use std::io::Write;

use seqjit::runtime::isa::EngineId;
use seqjit::runtime::sequencer::csr;

use super::error::CommandError;
use super::parse::{Line, unexpected};
use super::{Debugger, explain};
use crate::cli::{text, value};

type Result = std::result::Result<(), CommandError>;

/// Values in a row.
const COLUMNS: usize = 8;
/// Words before the next one in a listing.
const LEAD: u64 = 4;
/// Words of a listing.
const LISTED: u64 = 12;

/// `engines`.
pub fn engines(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    line.end()?;
    let machine = debugger.session.machine();
    for (number, core) in machine.cores.iter().enumerate() {
        for engine in &core.engines {
            let mark = if (number, engine.id) == (debugger.core, debugger.engine) { '*' } else { ' ' };
            let at = explain::word(core, engine.id, explain::next_slot(core, engine.id));
            let (id, retired, what) = (engine.id.name(), engine.retired, explain::activity(core, engine));
            writeln!(debugger.out, "{mark} core {number} {id:<4} {retired:>6} words ran, next {at}: {what}")?;
        }
        for queue in core.queues.iter().filter(|q| q.completed > 0 || !q.pending.is_empty()) {
            let (name, done, open) = (&queue.spec.name, queue.completed, queue.pending.len());
            writeln!(debugger.out, "  core {number} queue {name}: {done} transfers done, {open} open")?;
        }
    }
    Ok(())
}

/// `core`.
pub fn core(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    if line.peek().is_some() {
        debugger.core = line.core(debugger)?;
    }
    line.end()?;
    let cores = debugger.session.program().cores();
    Ok(writeln!(debugger.out, "core {} of 0 to {}", debugger.core, cores - 1)?)
}

/// `regs`.
pub fn registers(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let (core, id) = line.engine_before_names(debugger)?;
    let mut wanted = Vec::new();
    while line.peek().is_some() {
        wanted.push(line.register()?);
    }
    let all = wanted.is_empty();
    let machine = debugger.session.machine();
    let engine = &machine.cores[core].engines[id.index()];
    let numbers = if all { (0..64).chain([130, 131]).collect() } else { wanted };
    // The parser accepts no number that is no register.
    let value = |number| engine.register(number, engine.next_pc()).unwrap_or(0);
    let shown: Vec<u8> = numbers.into_iter().filter(|n| !all || value(*n) != 0).collect();
    for number in &shown {
        let v = value(*number);
        writeln!(debugger.out, "core {core} {id} R{number} = 0x{v:08x} {v} {:?}", f32::from_bits(v))?;
    }
    if all {
        writeln!(debugger.out, "core {core} {id}: {} registers are zero", 66 - shown.len())?;
        for (number, shape) in engine.shapes.iter().enumerate().filter(|(_, s)| **s != [0; 4]) {
            writeln!(debugger.out, "core {core} {id} shape {number} = {shape:?}")?;
        }
    }
    Ok(())
}

/// `csr`.
pub fn csr(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let (core, id) = line.engine_before_names(debugger)?;
    let name = line.optional();
    line.end()?;
    let generation = debugger.session.program().generation();
    let only = name.map(|name| csr_offset(debugger, name)).transpose()?;
    let file = &debugger.session.machine().cores[core].engines[id.index()].seq.csr;
    let offsets = only.map_or(0..csr::APERTURE, |offset| offset..offset + 1);
    for register in offsets.filter_map(|offset| csr::register(offset, generation)) {
        let v = file.peek(register.offset);
        if only.is_some() || v != register.reset {
            let (name, offset, reset) = (register.name, register.offset, register.reset);
            writeln!(
                debugger.out,
                "core {core} {id} {name} (0x{offset:04x}) = 0x{v:x}, at reset 0x{reset:x}"
            )?;
        }
    }
    Ok(())
}

/// The offset of a control register by name or by number.
pub fn csr_offset(debugger: &Debugger, name: &str) -> std::result::Result<u32, CommandError> {
    let generation = debugger.session.program().generation();
    let number = name.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let offset = match number {
        Some(offset) => csr::register(offset, generation).map(|r| r.offset),
        None => csr::find(name, generation),
    };
    let expected = "a control register's name, as run_state or lr[3], or its 0x offset";
    offset.ok_or_else(|| unexpected("REGISTER", name, expected))
}

/// `sems`.
pub fn semaphores(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let mut wanted = Vec::new();
    while line.peek().is_some() {
        wanted.push(line.number("INDEX", 255)? as usize);
    }
    let (core, names) = (debugger.core, &debugger.names[debugger.core]);
    let sync = &debugger.session.machine().cores[core].sync;
    let all = wanted.is_empty();
    let shown: Vec<usize> =
        if all { (0..256).filter(|i| sync.semaphores[*i] != 0).collect() } else { wanted };
    for index in &shown {
        let name = names.get(*index as u8).map(|name| format!(" ({name})")).unwrap_or_default();
        writeln!(debugger.out, "core {core} semaphore {index}{name} = {}", sync.semaphores[*index])?;
    }
    if all {
        writeln!(debugger.out, "core {core}: {} semaphores are zero", 256 - shown.len())?;
        for index in (0..256).filter(|i| sync.events[*i]) {
            writeln!(debugger.out, "core {core} event {index} is set")?;
        }
    }
    Ok(())
}

/// `print`.
pub fn print(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let place = line.place(debugger)?;
    let count = line.number("COUNT", u64::MAX)?;
    let dtype = line.dtype()?;
    line.end()?;
    let wanted = count.saturating_mul(value::element_bytes(dtype) as u64);
    let machine = debugger.session.machine();
    let area = place.area(machine, wanted)?;
    let fp8 = machine.cores[debugger.core].spec.fp8;
    writeln!(debugger.out, "{area} as {}:", dtype.text())?;
    for (part, bytes) in area.parts(machine).into_iter().enumerate() {
        let values: Vec<String> = value::read_all(dtype, fp8, bytes).map(|v| v.to_string()).collect();
        for (row, values) in values.chunks(COLUMNS).enumerate() {
            let partition = area.first_partition().map(|p| format!("{:>3} ", p + part)).unwrap_or_default();
            writeln!(debugger.out, "  {partition}[{}] {}", row * COLUMNS, values.join(" "))?;
        }
    }
    Ok(())
}

/// `list`.
pub fn list(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let (core, engine) = line.engine_or_current(debugger)?;
    let next = explain::next_slot(&debugger.session.machine().cores[core], engine);
    let first = line.optional_number("WORD", u64::MAX)?.unwrap_or(next.saturating_sub(LEAD));
    let count = line.optional_number("COUNT", u64::MAX)?.unwrap_or(LISTED);
    line.end()?;
    let words = debugger.session.machine().cores[core].engines[engine.index()].code.len() as u64;
    for slot in first..first.saturating_add(count).min(words) {
        debugger.show_listed(core, engine, slot)?;
    }
    if first >= words {
        writeln!(debugger.out, "core {core} {engine} has {words} words, counted from 0")?;
    }
    Ok(())
}

impl Debugger<'_> {
    /// The word before which the current engine stands.
    pub(super) fn show_word(&mut self, slot: u64) -> Result {
        self.show_listed(self.core, self.engine, slot)
    }

    /// One word of a listing: `=>` is the next one, `b` has a break.
    fn show_listed(&mut self, core: usize, engine: EngineId, slot: u64) -> Result {
        let state = &self.session.machine().cores[core];
        let Some(instruction) = state.engines[engine.index()].code.get(slot as usize) else { return Ok(()) };
        let generation = self.session.program().generation();
        let text = match text::line(instruction.word(), generation, &self.names[core]) {
            Ok(line) => line.to_string(),
            Err(error) => format!("{} ; {error}", instruction.word().to_hex()),
        };
        let next = if explain::next_slot(state, engine) == slot { "=>" } else { "  " };
        let stop =
            if self.breaks.iter().any(|b| b.words().contains(&(core, engine, slot))) { 'b' } else { ' ' };
        Ok(writeln!(self.out, "{next}{stop}{slot:>6} {text}")?)
    }
}
