//! Errors of sessions and runs as failures of the command.

use seqjit::runtime::interp::{Fault, FaultKind};
use seqjit::runtime::isa::{EngineId, WORD_BYTES, decode};
use seqjit::{
    Deadlock, IoTensor, Meeting, OutputError, Program, RunError, SessionError, Waiting, WordFinding,
};
use serde_json::{Value, json};

use super::exit::Code;
use super::failure::Failure;
use super::source::Source;
use super::text;

/// Refused words listed below the message of the text form.
const SHOWN_FINDINGS: usize = 20;

/// Bytes of memory of this machine; the limit if the user gives none, because the operating system would end
/// a program that needs more without saying why. `None` where it cannot be found out.
pub fn memory_of_this_machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Why a session cannot be made.
pub fn session(error: SessionError, program: &Program, source: &Source) -> Failure {
    match error {
        SessionError::Illegal(findings) => illegal(&findings, program, source),
        SessionError::Memory { needed, limit } => Failure::new(Code::Limit, &error)
            .file(&source.file)
            .with("field", "--max-memory")
            .with("found", needed)
            .with("expected", format!("at most {limit}")),
        other => Failure::new(Code::Internal, other),
    }
}

/// A finding about a word, as an object.
pub fn finding_json(found: &WordFinding) -> Value {
    let WordFinding { core, engine, slot, opcode, finding } = found;
    json!({
        "core": core,
        "engine": engine.name(),
        "word": slot,
        "opcode": text::opcode_name(*opcode),
        "severity": finding.severity.to_string(),
        "rule": finding.rule,
        "word_byte": finding.offset,
        "field": finding.field,
        "found": finding.found,
        "expected": finding.expected,
    })
}

fn illegal(findings: &[WordFinding], program: &Program, source: &Source) -> Failure {
    let number = findings.len();
    let words = if number == 1 { "1 word".to_owned() } else { format!("{number} findings in words") };
    let mut failure =
        Failure::new(Code::Illegal, format!("{words} that cannot run in `{}`", source.file.display()));
    if let Some(first) = findings.first() {
        failure = at_word(failure, program, source, first.core, first.engine, first.slot as u64)
            .with("opcode", text::opcode_name(first.opcode))
            .with("rule", first.finding.rule)
            .with("word_byte", first.finding.offset)
            .with("field", first.finding.field)
            .with("found", first.finding.found.as_str())
            .with("expected", first.finding.expected.as_str());
    }
    for finding in findings.iter().take(SHOWN_FINDINGS) {
        failure = failure.line(finding.to_string());
    }
    if number > SHOWN_FINDINGS {
        failure = failure.line(format!("and {} more", number - SHOWN_FINDINGS));
    }
    let all: Vec<Value> = findings.iter().map(finding_json).collect();
    let lenient_runs = !source.lenient && !program.check(false).iter().any(WordFinding::is_fatal);
    failure.with("findings", all).hint(if lenient_runs {
        "--lenient runs it with warnings"
    } else {
        "`seqjit info` lists them with everything else that is unusual"
    })
}

/// Names a word: its core, engine, slot, and the bytes of its member where it stands.
fn at_word(
    failure: Failure,
    program: &Program,
    source: &Source,
    core: usize,
    engine: EngineId,
    slot: u64,
) -> Failure {
    let graph = program.neff().graphs.get(core);
    let entry = program.neff().kelf.graphs.get(core);
    let member = graph.zip(entry).and_then(|(graph, entry)| {
        let name = graph.engine(engine).desc.instr.as_ref()?;
        Some(if entry.prefix().is_empty() { name.clone() } else { format!("{}/{name}", entry.prefix()) })
    });
    let failure = failure.file(&source.file);
    let failure = match member {
        Some(member) => failure.with("member", member),
        None => failure,
    };
    failure
        .with("core", core)
        .with("engine", engine.name())
        .with("word", slot)
        .with("byte_offset", slot.saturating_mul(WORD_BYTES as u64))
}

/// Why a run failed.
pub fn run(error: RunError, program: &Program, source: &Source) -> Failure {
    match &error {
        RunError::Fault(fault) => self::fault(fault, program, source),
        RunError::Deadlock(deadlock) => self::deadlock(deadlock, source),
        RunError::Output(error) => output(error, source),
        _ => Failure::new(Code::Internal, error),
    }
}

fn fault(fault: &Fault, program: &Program, source: &Source) -> Failure {
    let code = if matches!(fault.kind, FaultKind::Internal(_)) { Code::Internal } else { Code::Fault };
    let failure = Failure::new(code, fault);
    let mut failure = at_word(failure, program, source, fault.core, fault.engine, fault.slot);
    if let Some(word) = &fault.word {
        failure = failure.with("opcode", text::opcode_name(word.opcode())).with("word_hex", word.to_hex());
        let names = program.neff().graphs.get(fault.core).map(text::names_of).unwrap_or_default();
        if let Ok(line) = text::line(word, program.generation(), &names) {
            failure = failure.line(format!("word: {line}")).with("operand_text", line.operands);
        }
    }
    let field = |failure: Failure, field: &'static str| {
        let decoded = fault.word.as_deref().and_then(|word| decode(word, program.generation()).ok());
        let byte = decoded.and_then(|d| d.operands.layout().def().field(field).map(|f| f.offset));
        let failure = failure.with("field", field);
        match byte {
            Some(byte) => failure.with("word_byte", byte),
            None => failure,
        }
    };
    match &fault.kind {
        FaultKind::Unsupported { field: name, reason } => {
            field(failure, name).with("cause", "unsupported").with("found", reason.as_str())
        }
        FaultKind::Illegal { field: name, found, expected } => field(failure, name)
            .with("cause", "illegal")
            .with("found", found.as_str())
            .with("expected", expected.as_str()),
        FaultKind::Memory { field: name, address, reason } => field(failure, name)
            .with("cause", "memory")
            .with("found", address.to_string())
            .with("reason", reason.as_str()),
        FaultKind::Uninitialised { field: name, address } => field(failure, name)
            .with("cause", "uninitialised")
            .with("found", address.to_string())
            .hint("without --check the program reads the initial value of memory there"),
        FaultKind::Decode(_) => failure.with("cause", "decode"),
        FaultKind::Fetch { .. } => failure.with("cause", "fetch"),
        _ => failure,
    }
}

fn deadlock(deadlock: &Deadlock, source: &Source) -> Failure {
    let meeting = deadlock.meeting.iter().map(meeting_json);
    let waiting: Vec<Value> = deadlock.waiting.iter().map(waiting_json).chain(meeting).collect();
    let failure = Failure::new(Code::Deadlock, deadlock).file(&source.file);
    let failure = match deadlock.waiting.first() {
        Some(first) => failure
            .with("core", first.core)
            .with("engine", first.engine.name())
            .with("word", first.slot)
            .with("opcode", first.opcode),
        None => failure,
    };
    failure.with("waiting", waiting)
}

fn waiting_json(waiting: &Waiting) -> Value {
    let Waiting { core, engine, slot, opcode, wait, value, could_change } = waiting;
    let changers =
        could_change.iter().map(|c| json!({ "engine": c.engine.name(), "word": c.slot, "by_dma": c.by_dma }));
    json!({
        "core": core,
        "engine": engine.name(),
        "word": slot,
        "opcode": opcode,
        "waits_for": if wait.on_event() { "event" } else { "semaphore" },
        "index": wait.index,
        "condition": seqjit::runtime::isa::field::WaitMode::TABLE.name_of(wait.mode.0),
        "expected": wait.value,
        "found": value,
        "could_change": changers.collect::<Vec<_>>(),
    })
}

fn meeting_json(meeting: &Meeting) -> Value {
    let Meeting { core, engine, slot, opcode } = meeting;
    json!({
        "core": core,
        "engine": engine.name(),
        "word": slot,
        "opcode": opcode,
        "waits_for": "meeting",
    })
}

/// An output that cannot be read.
pub fn output(error: &OutputError, source: &Source) -> Failure {
    let failure = Failure::new(Code::Incomplete, error).file(&source.file);
    match error {
        OutputError::NotWritten { name, offset, size } => {
            failure.with("output", name.as_str()).with("byte_offset", *offset).with("expected", *size)
        }
        OutputError::Unknown { name, .. } => failure.with("output", name.as_str()),
    }
}

/// Inputs that were not given.
pub fn missing_inputs(missing: &[&IoTensor]) -> Failure {
    let names: Vec<&str> = missing.iter().map(|input| input.name.as_str()).collect();
    let failure = Failure::new(Code::Usage, format!("inputs not given: {}", names.join(", ")));
    let failure = missing.iter().fold(failure, |failure, input| {
        failure.line(format!("{}: {} {:?}", input.name, input.dtype.text(), input.shape))
    });
    failure
        .with("field", "--input")
        .with("expected", names)
        .hint("give each with -i NAME=FILE.npy, or fill them with random numbers: --seed N")
}
