//! The races of a run as text and JSON.

use seqjit::runtime::isa::Word;
use seqjit::runtime::machine::Machine;
use seqjit::runtime::races::{Memory, Party};
use seqjit::{Program, Race, RaceReport};
use serde_json::{Value, json};

use crate::cli::exit::Code;
use crate::cli::failure::Failure;
use crate::cli::text;

/// Races listed below the message of the text form.
const SHOWN: usize = 20;

/// What the races of a run are shown with.
pub struct Shown<'a> {
    pub program: &'a Program,
    pub machine: &'a Machine,
    pub report: &'a RaceReport,
}

impl Shown<'_> {
    /// The failure of a run with races; `None`: it has none.
    pub fn failure(&self) -> Option<Failure> {
        let first = self.report.races.first()?;
        let count = self.report.count();
        let pairs = if count == 1 { "1 race".to_owned() } else { format!("{count} races") };
        let mut failure = Failure::new(Code::Race, format!("{pairs}; the first: {}", self.line(first)));
        for race in self.report.races.iter().take(SHOWN) {
            failure = failure.line(self.line(race));
            for party in [race.earlier, race.later] {
                failure = failure.line(format!(
                    "  {}: {}",
                    self.place(party),
                    self.text(party).unwrap_or_default()
                ));
            }
        }
        if count > SHOWN as u64 {
            failure = failure.line(format!("and {} more", count - SHOWN as u64));
        }
        let hint = "let the later one wait for the earlier one: docs/races.md tells what counts as order";
        Some(failure.hint(hint))
    }

    /// The object of the JSON document.
    pub fn to_json(&self) -> Value {
        let list = |races: &[Race]| races.iter().map(|race| self.race(race)).collect::<Vec<_>>();
        let RaceReport { races, more, accumulations, more_accumulations, .. } = self.report;
        json!({
            "count": self.report.count(),
            "list": list(races),
            "more": more,
            "accumulations": {
                "count": accumulations.len() as u64 + more_accumulations,
                "list": list(accumulations),
                "more": more_accumulations,
            },
        })
    }

    fn race(&self, race: &Race) -> Value {
        json!({
            "kind": race.kind.name(),
            "earlier": self.party(race.earlier),
            "later": self.party(race.later),
            "memory": self.memory(race.memory),
            "core": match race.memory {
                Memory::Sbuf(core) | Memory::Psum(core) => Some(core),
                Memory::Dram(_) => None,
            },
            "partitions": match race.memory {
                Memory::Dram(_) => None,
                _ => Some([race.partitions.start, race.partitions.end - 1]),
            },
            "first_byte": race.bytes.start,
            "bytes": race.bytes.len(),
        })
    }

    fn party(&self, party: Party) -> Value {
        let opcode = self.word(party).map(|word| text::opcode_name(word.opcode()));
        json!({
            "core": party.core,
            "engine": party.engine.name(),
            "word": party.slot,
            "opcode": opcode,
            "operand_text": self.text(party),
            "queue": self.queue(party),
        })
    }

    fn line(&self, race: &Race) -> String {
        let (first, end) = (race.bytes.start, race.bytes.end);
        let place = match race.memory {
            Memory::Dram(_) => format!("bytes 0x{first:x} to 0x{:x}", end - 1),
            _ => {
                let (low, high) = (race.partitions.start, race.partitions.end - 1);
                format!("bytes 0x{first:x} to 0x{:x} of partitions {low} to {high}", end - 1)
            }
        };
        let (earlier, later) = (self.place(race.earlier), self.place(race.later));
        format!("{earlier} and {later}: {} of {}, {place}", race.kind.name(), self.memory(race.memory))
    }

    /// `0:DVE:12`, or the transfer that this word started.
    fn place(&self, party: Party) -> String {
        let word = format!("{}:{}:{}", party.core, party.engine, party.slot);
        match self.queue(party) {
            Some(queue) => format!("transfer of {word} in {queue}"),
            None => word,
        }
    }

    fn queue(&self, party: Party) -> Option<&str> {
        Some(&self.machine.cores[party.core].queues.get(party.queue?)?.spec.name)
    }

    fn memory(&self, memory: Memory) -> String {
        match memory {
            Memory::Sbuf(_) => "sbuf".into(),
            Memory::Psum(_) => "psum".into(),
            Memory::Dram(buffer) => format!("dram:{}", self.machine.dram.buffer(buffer).spec.name),
        }
    }

    fn word(&self, party: Party) -> Option<&Word> {
        let code = &self.machine.cores[party.core].engines[party.engine.index()].code;
        Some(code.get(party.slot as usize)?.word())
    }

    fn text(&self, party: Party) -> Option<String> {
        let names = self.program.neff().graphs.get(party.core).map(text::names_of).unwrap_or_default();
        let line = text::line(self.word(party)?, self.program.generation(), &names).ok()?;
        Some(line.to_string())
    }
}
