//! Which tests cover which variants of which opcodes, and what of the instruction set is there.
//!
//! The files beside this one are the one table of variants and tests. A line with an opcode's byte and name starts its
//! part. Below it stand lines `FILE TEST: FIELD=CLASS,CLASS FIELD=CLASS`: a test, and the variants of the opcode that it covers with
//! expected values of its own. A test is a function in a file of the repository or, behind `conformance`, a case of the
//! conformance data. `tests/coverage` holds the table to the operand structs, the checks and the sources.

use super::check::{default_dve_programs, refused_on};
use super::{EngineId, Execution, Generation, Lowering, OpcodeInfo};

/// The files, in the order of their opcodes.
const FILES: [&str; 4] = [
    include_str!("arithmetic.txt"),
    include_str!("kernels.txt"),
    include_str!("control.txt"),
    include_str!("data.txt"),
];

/// A test that covers variants of an opcode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// The opcode.
    pub opcode: u8,
    /// The test's file, as a path in the repository, or `conformance`.
    pub file: &'static str,
    /// The test function, or the conformance case.
    pub test: &'static str,
    /// The variants, as the field of the operand struct and the class of its values.
    pub variants: Vec<(&'static str, &'static str)>,
}

/// A line of the table that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line `{0}` of the table of tests cannot be read")]
pub struct BadLine(pub &'static str);

/// The whole table, by opcode.
///
/// # Errors
/// Lines that cannot be read, in their places.
pub fn table() -> impl Iterator<Item = Result<Coverage, BadLine>> {
    let mut opcode = None;
    let lines =
        FILES.iter().flat_map(|file| file.lines()).filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    lines.filter_map(move |line| match line.strip_prefix("  ") {
        None => {
            opcode = heading(line);
            opcode.is_none().then_some(Err(BadLine(line)))
        }
        Some(test) => Some(opcode.and_then(|opcode| entry(opcode, test)).ok_or(BadLine(line))),
    })
}

fn heading(line: &str) -> Option<u8> {
    let (byte, name) = line.split_once(' ')?;
    let byte = u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok()?;
    super::opcode_info(byte).filter(|info| info.name == name).map(|info| info.byte)
}

fn entry(opcode: u8, line: &'static str) -> Option<Coverage> {
    let (test, variants) = line.split_once(':')?;
    let (file, test) = test.split_once(' ')?;
    let mut found = Vec::new();
    for field in variants.split_whitespace() {
        let (field, classes) = field.split_once('=')?;
        found.extend(classes.split(',').map(|class| (field, class)));
    }
    Some(Coverage { opcode, file, test, variants: found })
}

/// The tests of an opcode.
pub fn tests(opcode: u8) -> impl Iterator<Item = Coverage> {
    table().filter_map(Result::ok).filter(move |row| row.opcode == opcode)
}

impl OpcodeInfo {
    /// The manual says what it does on a generation, and something there runs it: it is in the enum, table B of
    /// chapter 00 does not refuse it and, where only DVE may run it, the default microprogram table has a program.
    pub fn is_defined_on(&self, generation: Generation) -> bool {
        let programs = default_dve_programs(generation).filter(|_| self.engines == [EngineId::Dve]);
        self.exists_on(generation)
            && !matches!(self.execution, Execution::Refuse(_))
            && refused_on(self.byte, generation).is_none()
            && programs.is_none_or(|programs| programs[usize::from(self.byte)])
    }

    /// Who runs it in native tiers, if anything does beside the interpreter for want of better.
    pub fn translated_on(&self, generation: Generation) -> Option<Lowering> {
        let runs = self.exists_on(generation) && self.execution == Execution::Run;
        Some(self.lowering).filter(|lowering| runs && *lowering != Lowering::NotYet)
    }
}
