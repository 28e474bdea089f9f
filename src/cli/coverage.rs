//! `seqjit isa --coverage`: what is there of the instruction set, by opcode and generation.

use std::io::Write;

use seqjit::runtime::isa::coverage;
use seqjit::runtime::isa::{Execution, Generation, Lowering, OPCODES, OpcodeInfo};
use serde_json::{Value, json};

use super::failure::Failure;
use super::output::Output;

/// One opcode on one generation.
struct Row {
    info: &'static OpcodeInfo,
    generation: Generation,
    tests: Vec<String>,
}

impl Row {
    fn runs(&self) -> bool {
        self.info.execution == Execution::Run
    }

    fn translated(&self) -> Option<&'static str> {
        self.info.translated_on(self.generation).map(Lowering::text)
    }

    fn to_json(&self) -> Value {
        json!({
            "opcode": format!("0x{:02X}", self.info.byte),
            "name": self.info.name,
            "generation": self.generation.short_name(),
            "defined": self.info.is_defined_on(self.generation),
            "interpreter": self.runs(),
            "translated": self.translated(),
            "tests": self.tests,
        })
    }
}

/// Tests of an opcode, as `file: function` or `conformance: case`.
fn tests(info: &OpcodeInfo) -> Vec<String> {
    coverage::tests(info.byte).map(|row| format!("{}: {}", row.file, row.test)).collect()
}

/// Writes all opcodes, one line each, or as JSON one object for each opcode and generation that has it.
pub fn list(only: Option<Generation>, out: &mut Output) -> Result<(), Failure> {
    let wanted: Vec<Generation> =
        Generation::ALL.into_iter().filter(|g| only.is_none_or(|o| o == *g)).collect();
    let opcodes = OPCODES.iter().map(|info| {
        let tests = tests(info);
        let on = wanted.iter().filter(|g| info.exists_on(**g));
        on.map(|generation| Row { info, generation: *generation, tests: tests.clone() }).collect::<Vec<Row>>()
    });
    let opcodes: Vec<Vec<Row>> = opcodes.filter(|rows| !rows.is_empty()).collect();
    if out.json {
        return out.document(&opcodes.iter().flatten().map(Row::to_json).collect());
    }
    writeln!(out, "byte  name                                defined      interpreter  translated  tests")?;
    for rows in &opcodes {
        let Row { info, tests, .. } = &rows[0];
        let on = |has: &dyn Fn(&Row) -> bool| {
            let names = wanted.iter().map(|g| match rows.iter().any(|r| r.generation == *g && has(r)) {
                true => g.short_name(),
                false => "- ",
            });
            names.collect::<Vec<_>>().join(" ")
        };
        writeln!(
            out,
            "0x{:02X}  {:<34}  {:<11}  {:<11}  {:<10}  {:>5}",
            info.byte,
            info.name,
            on(&|row| row.info.is_defined_on(row.generation)),
            on(&Row::runs),
            rows.iter().find_map(Row::translated).unwrap_or("-"),
            tests.len(),
        )?;
    }
    Ok(())
}
