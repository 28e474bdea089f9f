//! Conditions of breaks: comparisons of semaphores, events and registers.

use std::fmt;

use seqjit::runtime::isa::EngineId;
use seqjit::runtime::machine::Machine;

use super::Debugger;
use super::error::CommandError;
use super::parse::{Line, unexpected};

/// Comparisons that must all hold; none always hold.
#[derive(Clone, Debug, Default)]
pub struct Condition(Vec<Comparison>);

#[derive(Clone, Copy, Debug)]
struct Comparison {
    core: usize,
    what: Operand,
    relation: Relation,
    value: u32,
}

#[derive(Clone, Copy, Debug)]
enum Operand {
    Semaphore(u8),
    Event(u8),
    Register(EngineId, u8),
}

type Compare = fn(&u32, &u32) -> bool;
type Relation = &'static (&'static str, Compare);

/// Relations of unsigned 32-bit numbers.
const RELATIONS: [(&str, Compare); 6] =
    [("==", u32::eq), ("!=", u32::ne), ("<", u32::lt), ("<=", u32::le), (">", u32::gt), (">=", u32::ge)];

impl Condition {
    /// Whether a comparison stands next on a line.
    pub fn is_next(line: &mut Line<'_>) -> bool {
        line.peek().is_some_and(|word| ["sem", "event", "reg"].contains(&word))
    }

    /// Reads comparisons joined by `and`.
    pub fn parse(line: &mut Line<'_>, debugger: &Debugger) -> Result<Condition, CommandError> {
        let mut all = vec![Comparison::parse(line, debugger)?];
        while line.take("and") {
            all.push(Comparison::parse(line, debugger)?);
        }
        Ok(Condition(all))
    }

    /// Reads `if` and what follows it, if it stands next.
    pub fn parse_if(line: &mut Line<'_>, debugger: &Debugger) -> Result<Condition, CommandError> {
        if line.take("if") { Condition::parse(line, debugger) } else { Ok(Condition::default()) }
    }

    /// Both.
    pub fn and(mut self, other: Condition) -> Condition {
        self.0.extend(other.0);
        self
    }

    /// Whether it holds now.
    pub fn holds(&self, machine: &Machine) -> bool {
        self.0.iter().all(|c| (c.relation.1)(&c.found(machine), &c.value))
    }

    /// It has no comparison.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What its operands are now.
    pub fn found(&self, machine: &Machine) -> String {
        let each = self.0.iter().map(|c| format!("{} is {}", c.operand(), c.found(machine)));
        each.collect::<Vec<_>>().join(", ")
    }
}

impl Comparison {
    fn parse(line: &mut Line<'_>, debugger: &Debugger) -> Result<Comparison, CommandError> {
        let (core, what) = match line.next("OPERAND")? {
            "sem" => (debugger.core, Operand::Semaphore(line.number("INDEX", 255)? as u8)),
            "event" => (debugger.core, Operand::Event(line.number("INDEX", 255)? as u8)),
            "reg" => {
                let (core, engine) = line.engine(debugger)?;
                (core, Operand::Register(engine, line.register()?))
            }
            other => return Err(unexpected("OPERAND", other, "sem, event or reg")),
        };
        let sign = line.next("RELATION")?;
        let relation = RELATIONS.iter().find(|r| r.0 == sign);
        let relation = relation.ok_or_else(|| unexpected("RELATION", sign, "==, !=, <, <=, > or >="))?;
        Ok(Comparison { core, what, relation, value: line.number("VALUE", u32::MAX.into())? as u32 })
    }

    fn found(&self, machine: &Machine) -> u32 {
        let core = &machine.cores[self.core];
        match self.what {
            Operand::Semaphore(index) => core.sync.semaphores[usize::from(index)],
            Operand::Event(index) => core.sync.events[usize::from(index)].into(),
            Operand::Register(engine, number) => {
                let engine = &core.engines[engine.index()];
                // The parser accepts no number that is no register.
                engine.register(number, engine.next_pc()).unwrap_or(0)
            }
        }
    }

    fn operand(&self) -> String {
        let core = self.core;
        match self.what {
            Operand::Semaphore(index) => format!("core {core} semaphore {index}"),
            Operand::Event(index) => format!("core {core} event {index}"),
            Operand::Register(engine, number) => format!("core {core} {engine} R{number}"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, c) in self.0.iter().enumerate() {
            let and = if position > 0 { " and " } else { "" };
            write!(f, "{and}{} {} {}", c.operand(), c.relation.0, c.value)?;
        }
        Ok(())
    }
}
