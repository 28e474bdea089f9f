//! Validity of words (chapter 03 section 1.3, chapter 00 A2 and table B).
//!
//! [`check`] reports everything that is wrong with one word: generic rules, which work for every
//! opcode from the tables of the instruction set, then the rules of the opcode. The rules are listed
//! in [`RULES`]; a rule's [class](RuleClass) decides what breaking it means in strict and lenient mode.
//! Rules that need registers are exported for run time: [`tensor_address_rules`] and its neighbours.

mod accumulator;
mod activate2;
mod activation;
mod address;
mod batch_norm;
mod batch_norm_grad;
mod collective;
mod compress;
mod control;
mod copy;
mod cross_lane;
mod dequantize;
mod dma;
mod dve;
mod exponential;
mod extended;
mod fill;
mod gates;
mod gather;
mod generated;
mod generator;
mod generic;
mod operands;
mod pe;
mod pe_later;
mod pool;
mod predicated;
mod pseudo;
mod random;
mod refusals;
mod register_alu;
mod rules;
mod scalar_tensor_tensor;
mod scan;
mod search;
mod select;
mod shuffle;
mod sort;
mod tensor_reduce;
mod tensor_scalar;
mod tensor_scalar_addr;
mod tensor_scalar_cache;
mod tensor_scalar_multi;
mod tensor_tensor;
mod test_event;
mod wide;

use std::borrow::Cow;
use std::fmt;

pub use address::{
    AddressFault, OperandUse, matmul_bank_rule, register_address, tensor_address_rules, two_source_rule,
    walk_extent,
};
pub use dve::default_dve_programs;
pub use refusals::refused_on;
pub use rules::{RULES, Rule, RuleClass, Severity};

use super::{DecodeError, Decoded, EngineId, Execution, Generation, Layout, Word, decode};

/// What a word is checked against.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    /// The target.
    pub generation: Generation,
    /// Whose stream holds the word.
    pub engine: EngineId,
    /// Refuse what the vendor's validators refuse; otherwise rules of some classes only warn.
    pub strict: bool,
    /// Opcodes for which the container's DVE opcode table holds a program; `None`: the generation's
    /// default table.
    pub dve_programs: Option<&'a [bool; 256]>,
    /// Entries of the container's `activation_function_sets`; `None`: not known, not checked.
    pub activation_sets: Option<usize>,
    /// Activation functions that the container's tables define, in addition to those with a definition.
    pub activation_functions: Option<&'a [bool; 256]>,
}

impl CheckContext<'_> {
    /// Strict checks without a container.
    pub fn new(generation: Generation, engine: EngineId) -> Self {
        CheckContext {
            generation,
            engine,
            strict: true,
            dve_programs: None,
            activation_sets: None,
            activation_functions: None,
        }
    }

    /// The same in lenient mode.
    pub fn lenient(self) -> Self {
        CheckContext { strict: false, ..self }
    }
}

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Stable name of the rule, see [`RULES`].
    pub rule: &'static str,
    /// What it means in the mode of the check.
    pub severity: Severity,
    /// First byte in the word.
    pub offset: usize,
    /// The manual's name of the field.
    pub field: &'static str,
    /// What the word holds.
    pub found: String,
    /// What the rule wants.
    pub expected: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { rule, severity, offset, field, found, expected } = self;
        write!(f, "{severity} {rule}: byte {offset} ({field}): found {found}, expected {expected}")
    }
}

/// Reports everything that is wrong with a decoded word.
pub fn check(decoded: &Decoded, cx: &CheckContext<'_>) -> Vec<Finding> {
    let mut checker = Checker { decoded, cx, findings: Vec::new() };
    checker.generic();
    if let Some(specific) = SPECIFIC[usize::from(decoded.info.byte)] {
        specific(&mut checker);
    }
    checker.findings
}

/// Decodes and checks a word; a decode error is the only finding.
pub fn check_bytes(word: &Word, cx: &CheckContext<'_>) -> Vec<Finding> {
    match decode(word, cx.generation) {
        Ok(decoded) => check(&decoded, cx),
        Err(error) => vec![decode_finding(error, cx)],
    }
}

fn decode_finding(error: DecodeError, cx: &CheckContext<'_>) -> Finding {
    let (rule, offset, field, found, expected) = match error {
        DecodeError::Opcode { opcode, generation } => {
            let expected = format!("an opcode of {generation}");
            (rules::OPCODE, 0, "opcode", format!("0x{opcode:02x}"), expected)
        }
        DecodeError::Length { found } => {
            (rules::WORD_LENGTH, 1, "inst_word_len", format!("0x{found:02x}"), "0x10".to_owned())
        }
    };
    let severity = rule.class.severity(cx.strict);
    Finding { rule: rule.name, severity, offset, field, found, expected }
}

/// Why a well-formed word cannot run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The field whose value has no known meaning; `None`: the opcode as a whole.
    pub field: Option<&'static str>,
    /// What is missing.
    pub reason: Cow<'static, str>,
}

/// Why a word cannot run although it is well formed: its opcode is not implemented, the manual leaves
/// it undefined (chapter 00 table B), or a field has a value without a known meaning.
pub fn unsupported_reason(decoded: &Decoded, cx: &CheckContext<'_>) -> Option<Unsupported> {
    if let Some(opcode) = not_executed(decoded) {
        return Some(opcode);
    }
    let finding = check(decoded, cx).into_iter().find(|f| f.severity == Severity::Unsupported)?;
    let reason = format!("{} is {}, expected {}", finding.field, finding.found, finding.expected);
    Some(Unsupported { field: Some(finding.field), reason: reason.into() })
}

/// The part of [`unsupported_reason`] that looks at the opcode alone: all that is left for a word in which
/// [`check`] finds nothing.
pub fn not_executed(decoded: &Decoded) -> Option<Unsupported> {
    let reason = match decoded.info.execution {
        Execution::Refuse(why) => why,
        Execution::Later => "not implemented yet",
        Execution::Run => return None,
    };
    Some(Unsupported { field: None, reason: reason.into() })
}

/// One check in progress.
struct Checker<'a> {
    decoded: &'a Decoded,
    cx: &'a CheckContext<'a>,
    findings: Vec<Finding>,
}

impl<'a> Checker<'a> {
    /// The typed operands, if they are of this struct.
    fn operands<L: Layout>(&self) -> Option<&'a L> {
        L::of(&self.decoded.operands)
    }

    /// First byte of a field of the word's operand struct.
    fn offset(&self, field: &str) -> usize {
        let def = self.decoded.operands.layout().def();
        debug_assert!(def.field(field).is_some(), "{} has no field {field}", def.name);
        def.field(field).map_or(0, |f| f.offset)
    }

    /// Reports a broken rule at the first byte of a field.
    fn report(
        &mut self,
        rule: &Rule,
        field: &'static str,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) {
        self.report_in(rule, field, 0, found, expected);
    }

    /// Reports a broken rule at a byte of a field.
    fn report_in(
        &mut self,
        rule: &Rule,
        field: &'static str,
        byte: usize,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) {
        self.report_at(rule, self.offset(field) + byte, field, found, expected);
    }

    /// Reports a broken rule at a byte of the word.
    fn report_at(
        &mut self,
        rule: &Rule,
        offset: usize,
        field: &'static str,
        found: impl fmt::Display,
        expected: impl fmt::Display,
    ) {
        self.findings.push(Finding {
            rule: rule.name,
            severity: rule.class.severity(self.cx.strict),
            offset,
            field,
            found: found.to_string(),
            expected: expected.to_string(),
        });
    }
}

/// Derives the table of opcode-specific checks: a row `run module::function` of the opcode table has
/// its rules in the function of the same name here, or it does not compile.
macro_rules! specific_checks {
    ($($byte:literal $name:ident $(as $display:ident)? [$($presence:tt)*] $engines:tt $family:ident $layouts:tt
       $kind:ident $($detail:literal)? $($module:ident :: $function:ident)? $(=> $lowering:ident)?;)*) => {
        const SPECIFIC: [Option<fn(&mut Checker<'_>)>; 256] = {
            let mut table: [Option<fn(&mut Checker<'_>)>; 256] = [None; 256];
            $($(table[$byte] = Some($module::$function);)?)*
            table
        };
    };
}
crate::for_each_opcode!(specific_checks);
