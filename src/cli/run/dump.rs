//! `--dump`: memory at the moment when an engine is about to run a word.

use std::str::FromStr;

use seqjit::runtime::isa::{Dtype, EngineId, PARTITIONS, Space};
use seqjit::{Session, StopError};
use serde_json::{Value as Json, json};

use crate::cli::exit::Code;
use crate::cli::failure::Failure;
use crate::cli::value::{self, Value};
use crate::cli::variable;

/// What to show, and when.
#[derive(Clone, Debug)]
pub struct Dump {
    /// As given.
    text: String,
    what: What,
    count: u64,
    dtype: Dtype,
    /// Core and engine that come to the word; on-chip memory is that core's.
    pub core: usize,
    /// The engine.
    pub engine: EngineId,
    /// Slot of the word.
    pub slot: u64,
}

#[derive(Clone, Debug)]
enum What {
    OnChip { space: Space, partition: u64, offset: u64 },
    Dram { name: String, offset: u64 },
}

const FORM: &str =
    "sbuf:PARTITION:OFFSET:COUNT:DTYPE@ENGINE:WORD, psum:... or dram:NAME:OFFSET:COUNT:DTYPE@ENGINE:WORD";

impl FromStr for Dump {
    type Err = String;

    fn from_str(text: &str) -> Result<Dump, String> {
        let form = || format!("expected {FORM}");
        // Names of variables may hold anything; so everything but the name is split off from the ends.
        let (place, moment) = text.rsplit_once('@').ok_or_else(form)?;
        let (engine, slot) = moment.rsplit_once(':').ok_or_else(form)?;
        let (core, engine) = engine.split_once('.').unwrap_or(("0", engine));
        let (memory, rest) = place.split_once(':').ok_or_else(form)?;
        let parts: Vec<&str> = rest.rsplitn(4, ':').collect();
        let [dtype, count, offset, owner] = parts[..] else { return Err(form()) };
        let offset = number("OFFSET", offset)?;
        let on_chip = |space| Ok(What::OnChip { space, partition: number("PARTITION", owner)?, offset });
        let what = match memory {
            "sbuf" => on_chip(Space::Sbuf),
            "psum" => on_chip(Space::Psum),
            "dram" => Ok(What::Dram { name: owner.to_owned(), offset }),
            _ => Err(form()),
        }?;
        let dtype = Dtype::parse(dtype).filter(|d| value::can_show(*d));
        Ok(Dump {
            text: text.to_owned(),
            what,
            count: number("COUNT", count)?,
            dtype: dtype.ok_or("DTYPE is none of fp32, bfloat16, fp16, int8, uint8, int16, ...")?,
            core: number("CORE", core)? as usize,
            engine: EngineId::parse(engine).ok_or("ENGINE is none of PE, ACT, POOL, DVE, SP")?,
            slot: number("WORD", slot)?,
        })
    }
}

/// A decimal or hexadecimal number.
fn number(what: &str, text: &str) -> Result<u64, String> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.map_err(|_| format!("{what} is `{text}`, expected a decimal or 0x number"))
}

/// A dump that was taken.
pub struct Taken {
    spec: String,
    heading: String,
    core: usize,
    engine: EngineId,
    slot: u64,
    dtype: Dtype,
    values: Vec<Value>,
}

impl Dump {
    /// Checks that the memory and the word exist, and makes the session stop there.
    pub fn arm(&self, session: &mut Session) -> Result<(), Failure> {
        let refused = |error: &dyn std::fmt::Display| {
            Failure::new(Code::Usage, format!("--dump {}: {error}", self.text)).with("field", "--dump")
        };
        session.stop_at(self.core, self.engine, self.slot).map_err(|error| match error {
            StopError::Word { core, engine, .. } => {
                refused(&error).with("core", core).with("engine", engine.name()).with("word", self.slot)
            }
            _ => refused(&error),
        })?;
        self.bytes(session).map(|_| ()).map_err(|error| refused(&error))
    }

    /// Whether it is to be taken where a run stopped.
    pub fn is_at(&self, core: usize, engine: EngineId, slot: u64) -> bool {
        (self.core, self.engine, self.slot) == (core, engine, slot)
    }

    /// As it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads the memory; `Err` says why that is impossible, which [`Self::arm`] has excluded.
    pub fn take(&self, session: &Session) -> Result<Taken, String> {
        let core = &session.machine().cores[self.core];
        let values = value::read_all(self.dtype, core.spec.fp8, self.bytes(session)?).collect();
        let place = match &self.what {
            What::OnChip { space, partition, offset } => {
                format!("{space} partition {partition} byte {offset:#x}")
            }
            What::Dram { name, offset } => format!("dram {name} byte {offset:#x}"),
        };
        let word = core.spec.streams[self.engine.index()].words.get(self.slot as usize);
        let opcode = word.map(|w| crate::cli::text::opcode_name(w.word().opcode())).unwrap_or_default();
        let (count, dtype) = (self.count, self.dtype.text());
        Ok(Taken {
            spec: self.text.clone(),
            heading: format!(
                "{place}, {count} {dtype}, before core {} {} word {} ({opcode}):",
                self.core, self.engine, self.slot
            ),
            core: self.core,
            engine: self.engine,
            slot: self.slot,
            dtype: self.dtype,
            values,
        })
    }

    fn bytes<'s>(&self, session: &'s Session) -> Result<&'s [u8], String> {
        let wanted = self.count.checked_mul(self.dtype.bytes() as u64).ok_or("COUNT is too large")?;
        let (memory, offset) = match &self.what {
            What::OnChip { space, partition, offset } => {
                if *partition >= PARTITIONS as u64 {
                    return Err(format!("PARTITION is {partition}, expected 0 to {}", PARTITIONS - 1));
                }
                let memory = session.machine().cores[self.core].memory(*space);
                (memory.partition(*partition as usize), *offset)
            }
            What::Dram { name, offset } => (variable(session, self.core, name)?, *offset),
        };
        let end = offset.checked_add(wanted).filter(|end| *end <= memory.len() as u64);
        let Some(end) = end else {
            return Err(format!(
                "{wanted} bytes from byte {offset} are not inside the {} bytes that there are",
                memory.len()
            ));
        };
        Ok(&memory[offset as usize..end as usize])
    }
}

/// The bytes of a variable.
fn variable<'s>(session: &'s Session, core: usize, name: &str) -> Result<&'s [u8], String> {
    let (buffer, range) = variable::find(session, core, name).ok_or_else(|| variable::unknown(core, name))?;
    Ok(&session.machine().dram.buffer(buffer).bytes()[range])
}

impl Taken {
    /// Heading and rows of values, each row with the index of its first.
    pub fn to_text(&self) -> String {
        const COLUMNS: usize = 8;
        let rows = self.values.chunks(COLUMNS).enumerate().map(|(row, values)| {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            format!("\n  {:>6}: {}", row * COLUMNS, values.join(" "))
        });
        format!("{}{}", self.heading, rows.collect::<String>())
    }

    /// The dump as an object.
    pub fn to_json(&self) -> Json {
        json!({
            "dump": self.spec,
            "core": self.core,
            "engine": self.engine.name(),
            "word": self.slot,
            "dtype": self.dtype.text(),
            "values": self.values.iter().map(|v| v.to_json()).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_the_separators() {
        let dump: Dump = "dram:a:b@c:0x10:4:bfloat16@1.dve:7".parse().unwrap();
        let What::Dram { name, offset } = &dump.what else { panic!("{dump:?}") };
        assert_eq!((name.as_str(), *offset), ("a:b@c", 16));
        assert_eq!((dump.count, dump.dtype), (4, Dtype::BFLOAT16));
        assert_eq!((dump.core, dump.engine, dump.slot), (1, EngineId::Dve, 7));
    }

    #[test]
    fn on_chip_places() {
        let dump: Dump = "psum:127:0x20:3:fp32@PE:0".parse().unwrap();
        let What::OnChip { space: Space::Psum, partition: 127, offset: 0x20 } = dump.what else {
            panic!("{dump:?}")
        };
        assert_eq!((dump.core, dump.engine, dump.slot), (0, EngineId::Pe, 0));
    }

    #[test]
    fn malformed_dumps_are_refused() {
        for text in [
            "",
            "sbuf",
            "sbuf:0:0:1:fp32",
            "sbuf:0:0:1:fp32@PE",
            "sbuf:0:0:1@PE:0",
            "sbuf:x:0:1:fp32@PE:0",
            "ram:0:0:1:fp32@PE:0",
            "sbuf:0:0:1:fp4_exp2@PE:0",
            "sbuf:0:0:1:float@PE:0",
            "sbuf:0:0:-1:fp32@PE:0",
            "sbuf:0:0:1:fp32@CPU:0",
            "sbuf:0:0:1:fp32@x.PE:0",
            "sbuf:0:0:1:fp32@PE:0x",
        ] {
            assert!(text.parse::<Dump>().is_err(), "{text}");
        }
    }
}
