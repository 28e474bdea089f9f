//! `seqjit asm`: text to words.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use seqjit::WordFinding;
use seqjit::asm::{AsmError, Position};
use serde_json::{Value, json};

use super::errors::finding_json;
use super::exit::Code;
use super::failure::Failure;
use super::output::{Output, note};
use super::source::read_text;
use super::words;

const EXAMPLES: &str = "\
Examples:
  seqjit asm program.s -o program.neff
  seqjit disasm --words words.csv | seqjit asm --words -";

/// Makes words or whole programs from text.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("words or program").args(["file", "words"]).required(true)))]
pub struct Args {
    /// A text program.
    #[arg(requires = "output")]
    file: Option<PathBuf>,
    /// The NEFF file to make from it.
    #[arg(short, long, value_name = "FILE.neff", conflicts_with = "words")]
    output: Option<PathBuf>,
    /// Read bare words: CSV with the columns engine,gen,opcode,operand_text and optionally extension and
    /// sem_names, such as `seqjit disasm --words` writes; `-` is standard input. Adds the column word_hex.
    #[arg(long, value_name = "FILE.csv|-")]
    words: Option<PathBuf>,
    /// Write one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    match (&args.words, &args.file, &args.output) {
        (Some(path), ..) => words::assemble(path, out),
        (None, Some(file), Some(output)) => program(file, output, out),
        _ => Err(Failure::new(Code::Usage, "neither --words nor FILE with -o")),
    }
}

/// Assembles a program and writes its container. Words that cannot run are assembled, so that tests of such
/// words can be written, and warned about.
fn program(file: &Path, output: &Path, out: &mut Output) -> Result<(), Failure> {
    let text = read_text(file)?;
    let assembled = seqjit::asm::assemble(&text, file).map_err(|error| asm_failure(&error, file))?;
    let findings = assembled.check(true).map_err(|error| Failure::new(Code::Input, error).file(file))?;
    let neff = assembled.neff.write();
    fs::write(output, &neff).map_err(|error| Failure::io("write", output, &error))?;
    if out.json {
        let findings: Vec<Value> = findings.iter().map(placed_json).collect();
        let (file, output) = (file.display().to_string(), output.display().to_string());
        return out
            .document(&json!({ "file": file, "output": output, "bytes": neff.len(), "findings": findings }));
    }
    for (position, finding) in &findings {
        note(format_args!("warning: {}:{position}: {finding}", file.display()));
    }
    Ok(writeln!(out, "{} ({} bytes)", output.display(), neff.len())?)
}

fn placed_json((position, finding): &(Position, WordFinding)) -> Value {
    let mut object = finding_json(finding);
    object["line"] = position.line.into();
    object["column"] = position.column.into();
    object
}

fn asm_failure(error: &AsmError, file: &Path) -> Failure {
    let failure = Failure::new(Code::Input, error).file(file);
    match error {
        AsmError::Source { error, .. } => failure
            .with("line", error.position.line)
            .with("column", error.position.column)
            .with("found", error.seen.as_str())
            .with("expected", error.expected.as_str())
            .with("context", error.context.as_slice()),
        AsmError::Container { source, .. } => failure.details(source.details()),
        _ => failure,
    }
}
