//! Commands that set, list and delete breaks, and `set`.

use std::io::Write;

use seqjit::runtime::isa::{EngineId, OpcodeInfo, parse_opcode};

use super::breaks::{Break, Kind, WordAt};
use super::condition::Condition;
use super::error::CommandError;
use super::parse::{Line, unexpected};
use super::{Debugger, show};
use crate::cli::value;

type Result<T = ()> = std::result::Result<T, CommandError>;

/// `break`.
pub fn set_break(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    if Condition::is_next(line) {
        let condition = Condition::parse(line, debugger)?.and(Condition::parse_if(line, debugger)?);
        line.end()?;
        let holds = condition.holds(debugger.session.machine());
        debugger.add(Kind::Holds, condition)?;
        if holds {
            writeln!(debugger.out, "it holds already: a run stops when it has not held and holds again")?;
        }
        return Ok(());
    }
    let kind = if line.take("op") {
        let word = line.next("OPCODE")?;
        let info = parse_opcode(word).ok_or_else(|| unexpected("OPCODE", word, "an opcode, as in `list`"))?;
        let only = match line.peek() {
            None | Some("if") => None,
            Some(_) => Some(line.engine(debugger)?),
        };
        Kind::Opcode(info, debugger.words_of(info, only)?)
    } else {
        let (core, engine) = line.engine(debugger)?;
        Kind::Word((core, engine, line.number("WORD", u64::MAX)?))
    };
    let condition = Condition::parse_if(line, debugger)?;
    line.end()?;
    debugger.add(kind, condition)
}

/// `watch`.
pub fn watch(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let place = line.place(debugger)?;
    let wanted = line.number("BYTES", u64::MAX)?;
    let condition = Condition::parse_if(line, debugger)?;
    line.end()?;
    let area = place.area(debugger.session.machine(), wanted)?;
    let same = |b: &&Break| matches!(&b.kind, Kind::Written(other) if other.collides(&area));
    if let Some(other) = debugger.breaks.iter().find(same) {
        return Err(CommandError::Watched(other.number));
    }
    area.watch(debugger.session.machine_mut());
    debugger.add(Kind::Written(area), condition)
}

/// `breaks`.
pub fn list(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    line.end()?;
    if debugger.breaks.is_empty() {
        writeln!(debugger.out, "no breaks")?;
    }
    for b in &debugger.breaks {
        writeln!(debugger.out, "break {}: {b}; {} hits", b.number, b.hits)?;
    }
    Ok(())
}

/// `delete`.
pub fn delete(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let only = if line.take("all") { None } else { Some(line.number("NUMBER", u32::MAX.into())? as usize) };
    line.end()?;
    if let Some(number) = only.filter(|n| !debugger.breaks.iter().any(|b| b.number == *n)) {
        return Err(CommandError::NoBreak(number));
    }
    debugger.disarm();
    let (gone, kept) = std::mem::take(&mut debugger.breaks)
        .into_iter()
        .partition::<Vec<_>, _>(|b| only.is_none_or(|number| b.number == number));
    debugger.breaks = kept;
    for b in gone {
        if let Kind::Written(area) = &b.kind {
            area.unwatch(debugger.session.machine_mut());
        }
        writeln!(debugger.out, "deleted break {}: {b}", b.number)?;
    }
    debugger.arm()
}

/// `set`.
pub fn set(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let core = debugger.core;
    match line.peek() {
        Some("reg") => {
            line.next("WHAT")?;
            let (core, engine) = line.engine(debugger)?;
            let (register, value) = (line.register()?, line.number("VALUE", u32::MAX.into())? as u32);
            line.end()?;
            let engine = &mut debugger.session.machine_mut().cores[core].engines[engine.index()];
            // The parser accepts no number that is no register.
            engine.set_register(register, value);
        }
        Some("csr") => {
            line.next("WHAT")?;
            let (core, engine) = line.engine(debugger)?;
            let offset = show::csr_offset(debugger, line.next("REGISTER")?)?;
            let value = line.number("VALUE", u32::MAX.into())? as u32;
            line.end()?;
            debugger.session.machine_mut().csr_write(core, engine, offset, value);
        }
        Some("sem") => {
            line.next("WHAT")?;
            let (index, value) = (line.number("INDEX", 255)?, line.number("VALUE", u32::MAX.into())?);
            line.end()?;
            debugger.session.machine_mut().cores[core].sync.semaphores[index as usize] = value as u32;
        }
        Some("event") => {
            line.next("WHAT")?;
            let (index, value) = (line.number("INDEX", 255)?, line.number("VALUE", 1)?);
            line.end()?;
            debugger.session.machine_mut().cores[core].sync.events[index as usize] = value == 1;
        }
        Some("sbuf" | "psum" | "dram") => return set_memory(debugger, line),
        Some(other) => return Err(unexpected("WHAT", other, "reg, csr, sem, event, sbuf, psum or dram")),
        None => return Err(line.wrong("WHAT is missing".to_owned())),
    }
    Ok(())
}

fn set_memory(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let place = line.place(debugger)?;
    let dtype = line.dtype()?;
    let fp8 = debugger.session.machine().cores[debugger.core].spec.fp8;
    let mut data = Vec::new();
    loop {
        let word = line.next("VALUE")?;
        let element = value::parse(dtype, fp8, word);
        data.extend(
            element.ok_or_else(|| unexpected("VALUE", word, format!("a number of {}", dtype.text())))?,
        );
        if line.peek().is_none() {
            break;
        }
    }
    let area = place.area(debugger.session.machine(), data.len() as u64)?;
    area.write(debugger.session.machine_mut(), &data);
    Ok(())
}

impl Debugger<'_> {
    /// Adds a break with the next number.
    fn add(&mut self, kind: Kind, condition: Condition) -> Result {
        self.last_number += 1;
        let added = Break { number: self.last_number, kind, condition, hits: 0 };
        for (core, engine, slot) in added.words() {
            // Only a word that the user names can be missing, and it comes alone.
            self.session.set_breakpoint(*core, *engine, *slot).inspect_err(|_| self.last_number -= 1)?;
        }
        writeln!(self.out, "break {}: {added}", added.number)?;
        self.breaks.push(added);
        Ok(())
    }

    /// Takes all instruction breakpoints from the session.
    pub(super) fn disarm(&mut self) {
        for (core, engine, slot) in self.breaks.iter().flat_map(Break::words) {
            self.session.clear_breakpoint(*core, *engine, *slot);
        }
    }

    /// Gives the session all instruction breakpoints.
    pub(super) fn arm(&mut self) -> Result {
        for (core, engine, slot) in self.breaks.iter().flat_map(Break::words) {
            self.session.set_breakpoint(*core, *engine, *slot)?;
        }
        Ok(())
    }

    /// All words of an opcode, of one engine or of all.
    fn words_of(&self, info: &'static OpcodeInfo, only: Option<(usize, EngineId)>) -> Result<Vec<WordAt>> {
        let mut words = Vec::new();
        for (number, core) in self.session.machine().cores.iter().enumerate() {
            for engine in core.engines.iter().filter(|e| only.is_none_or(|o| o == (number, e.id))) {
                let slots = engine.code.iter().enumerate().filter(|(_, i)| i.word().opcode() == info.byte);
                words.extend(slots.map(|(slot, _)| (number, engine.id, slot as u64)));
            }
        }
        if words.is_empty() { Err(CommandError::NoWords(info.display)) } else { Ok(words) }
    }
}
