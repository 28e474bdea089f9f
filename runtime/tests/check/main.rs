//! Every validity rule has words that break it, and the checks report exactly that.

mod array;
mod array_later;
mod compute;
mod elementwise;
mod generic;
mod legal;
mod legal_elementwise;
mod mutated;
mod operands;
mod pe;
mod pool;
mod running;
mod sequencer;
mod systematic;
mod transfers;
mod vector;

use std::collections::BTreeSet;

use seqjit_runtime::isa::check::{
    CheckContext, Finding, RULES, Severity, check, check_bytes, unsupported_reason,
};
use seqjit_runtime::isa::field::BranchCmp;
use seqjit_runtime::isa::layouts::{CTRL_BR, S2D2_TS_AS, S3D3_AC, S3S3D3_TT};
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Layout, Word, decode, op};

/// Rules that lenient mode turns into warnings (chapter 00 A2 03-E2, A5 05-45 and 05-46, 02-8.10a).
const DOWNGRADED: &[&str] = &[
    "engine",
    "engine-arm",
    "reserved-byte",
    "dve-program",
    "no-kernel",
    "field-unproven",
    "start-partition",
    "memory-space",
    "psum-cell",
    "immediate-quadrant",
    "pool-dtype",
    "two-sources",
    "group-partition",
    "matmul-bank",
    "span-16mib",
];

/// Where a word stands.
#[derive(Clone, Copy)]
pub struct Place(pub Generation, pub EngineId);

/// A word that breaks one rule, and the one finding that strict mode makes.
pub struct Case {
    place: Place,
    word: Word,
    /// Limits that come from a container.
    activation_sets: Option<usize>,
    finding: Finding,
}

/// The word of an opcode with these operands.
pub fn word<L: Layout>(opcode: u8, operands: L) -> Word {
    let mut word = Word::new(opcode);
    operands.write(&mut word);
    word
}

/// The word with other bytes from `at` on.
pub fn patch(mut word: Word, at: usize, bytes: &[u8]) -> Word {
    word.0[at..at + bytes.len()].copy_from_slice(bytes);
    word
}

fn case(
    severity: Severity,
    place: Place,
    word: Word,
    rule: &'static str,
    (offset, field): (usize, &'static str),
    found: &str,
    expected: &str,
) -> Case {
    let finding =
        Finding { rule, severity, offset, field, found: found.to_owned(), expected: expected.to_owned() };
    Case { place, word, activation_sets: None, finding }
}

/// A case whose finding is an error in strict mode.
pub fn error(
    place: Place,
    word: Word,
    rule: &'static str,
    at: (usize, &'static str),
    found: &str,
    expected: &str,
) -> Case {
    case(Severity::Error, place, word, rule, at, found, expected)
}

/// A case whose finding makes the word unsupported in strict mode.
pub fn unsupported(
    place: Place,
    word: Word,
    rule: &'static str,
    at: (usize, &'static str),
    found: &str,
    expected: &str,
) -> Case {
    case(Severity::Unsupported, place, word, rule, at, found, expected)
}

/// A case whose finding is a warning in strict mode too.
pub fn warning(
    place: Place,
    word: Word,
    rule: &'static str,
    at: (usize, &'static str),
    found: &str,
    expected: &str,
) -> Case {
    case(Severity::Warning, place, word, rule, at, found, expected)
}

impl Case {
    /// The same with so many entries in the container's list of table sets.
    pub fn with_sets(self, sets: usize) -> Self {
        Case { activation_sets: Some(sets), ..self }
    }

    /// The same with the finding at another place.
    pub fn at(mut self, offset: usize, field: &'static str) -> Self {
        (self.finding.offset, self.finding.field) = (offset, field);
        self
    }

    fn context(&self) -> CheckContext<'static> {
        let Place(generation, engine) = self.place;
        CheckContext { activation_sets: self.activation_sets, ..CheckContext::new(generation, engine) }
    }
}

fn cases() -> Vec<Case> {
    let families = [
        generic::cases,
        operands::cases,
        compute::cases,
        elementwise::cases,
        pe::cases,
        sequencer::cases,
        vector::cases,
        pool::cases,
        transfers::cases,
        array::cases,
        array_later::cases,
    ];
    families.into_iter().flat_map(|cases| cases()).collect()
}

#[test]
fn legal_words_have_no_findings() {
    for (name, Place(generation, engine), word) in legal::words() {
        let cx = CheckContext::new(generation, engine);
        assert_eq!(check_bytes(&word, &cx), [], "{name} on {generation} {engine}");
        assert_eq!(unsupported_reason(&decode(&word, generation).unwrap(), &cx), None, "{name}");
    }
}

/// Runs all cases in one mode and compares each with the finding that `expected` makes of it.
fn assert_findings(lenient: bool, expected: impl Fn(&Finding) -> Finding) {
    let mut wrong = Vec::new();
    for case in cases() {
        let cx = if lenient { case.context().lenient() } else { case.context() };
        let (found, expected) = (check_bytes(&case.word, &cx), expected(&case.finding));
        if found != [expected.clone()] {
            wrong.push(format!("{:?}\n  found {found:?}\n  expected {expected:?}", case.word));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_broken_rule_is_the_one_finding() {
    assert_findings(false, Finding::clone);
}

#[test]
fn lenient_mode_downgrades_exactly_the_listed_rules() {
    assert_findings(true, |finding| {
        let downgraded = DOWNGRADED.contains(&finding.rule);
        let severity = if downgraded { Severity::Warning } else { finding.severity };
        Finding { severity, ..finding.clone() }
    });
}

#[test]
fn every_rule_has_a_word_that_breaks_it() {
    let broken: BTreeSet<_> = cases().iter().map(|c| c.finding.rule).collect();
    let rules: BTreeSet<_> = RULES.iter().map(|r| r.name).collect();
    assert_eq!(rules.len(), RULES.len(), "two rules have one name");
    assert_eq!(
        rules.difference(&broken).collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "rules without a bad word"
    );
    assert_eq!(broken.difference(&rules).collect::<Vec<_>>(), Vec::<&&str>::new(), "rules outside the list");
}

#[test]
fn rule_names_are_kebab_case_and_name_a_section() {
    for rule in RULES {
        let kebab = rule.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(
            kebab && rule.source.as_bytes()[..2].iter().all(u8::is_ascii_digit),
            "{}: {}",
            rule.name,
            rule.source
        );
    }
}

/// Names of the rules that a word breaks.
fn broken_rules(word: &Word, cx: &CheckContext<'_>) -> Vec<&'static str> {
    check_bytes(word, cx).iter().map(|f| f.rule).collect()
}

#[test]
fn all_findings_of_a_word_are_reported() {
    let strict = |Place(generation, engine): Place| CheckContext::new(generation, engine);
    let operands = S3S3D3_TT { num_active_channels: 0, ..legal::tensor_tensor() };
    let events = patch(word(op::TENSOR_TENSOR_ARITH_OP, operands), 4, &[0x08, 0, 0x06]);
    assert_eq!(broken_rules(&events, &strict(legal::DVE_C)), ["wait-mode", "update-mode", "channel-count"]);

    let compare = CTRL_BR {
        cmp_op: BranchCmp::EQ_REG,
        cmp_reg0: 99,
        cmp_reg1: 132,
        dtype: Dtype::INVALID,
        ..legal::branch()
    };
    let rules = broken_rules(&word(op::COMPARE_BRANCH, compare), &strict(legal::PE_C));
    assert_eq!(rules, ["field-unproven", "branch-dtype", "register-number", "register-number"]);

    // AFFINE_SELECT has lost PSUM with CAYMAN, whatever the engine
    let select = S2D2_TS_AS { src: legal::line(legal::PSUM, 128), ..legal::affine_select() };
    let select = word(op::TENSOR_SCALAR_AFFINE_SELECT, select);
    assert_eq!(broken_rules(&select, &strict(legal::DVE_C)), ["engine", "memory-space"]);
    assert_eq!(broken_rules(&select, &strict(legal::DVE_S)), ["engine"]);
}

#[test]
fn a_finding_reads_as_one_line() {
    let case = &sequencer::cases()[0];
    let findings = check(&decode(&case.word, case.place.0).unwrap(), &case.context());
    assert_eq!(
        findings[0].to_string(),
        "unsupported field-refused: byte 12 (wr_size0): found 0x8, expected 4"
    );
}

#[test]
fn what_cannot_run_has_a_reason() {
    let cx = CheckContext::new(Generation::Cayman, EngineId::Dve).lenient();
    let reason = |word: Word| unsupported_reason(&decode(&word, Generation::Cayman).unwrap(), &cx);
    let refused = reason(Word::new(op::PE_REG_WRITE)).unwrap();
    assert_eq!((refused.field, &*refused.reason), (None, "payload layout not recovered"));
    let field = reason(patch(Word::new(op::HALT), 63, &[1])).unwrap();
    assert_eq!((field.field, &*field.reason), (Some("payload"), "payload is 0x01, expected 0"));
    // a malformed word is no unsupported word
    assert_eq!(reason(patch(Word::new(op::SET_ORDERING_MODE), 12, &[7])), None);
}

#[test]
fn a_container_decides_which_dve_programs_and_functions_exist() {
    let Place(generation, engine) = legal::DVE_C;
    let word_41 = word(op::TENSOR_TENSOR_ARITH_OP, legal::tensor_tensor());
    let no_programs = [false; 256];
    let cx = CheckContext { dve_programs: Some(&no_programs), ..CheckContext::new(generation, engine) };
    assert_eq!(check_bytes(&word_41, &cx)[0].rule, "dve-program");

    let Place(generation, engine) = legal::ACT_C;
    let word_21 = word(op::ACTIVATE, S3D3_AC { activation_func: 200, ..legal::activate() });
    let mut functions = [false; 256];
    functions[200] = true;
    let cx = CheckContext { activation_functions: Some(&functions), ..CheckContext::new(generation, engine) };
    assert_eq!(check_bytes(&word_21, &cx), []);
}
