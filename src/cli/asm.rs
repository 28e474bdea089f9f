//! `seqjit asm`: text to words.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::exit::Code;
use super::failure::Failure;
use super::output::Output;
use super::words;

/// Makes words or whole programs from text.
#[derive(clap::Args, Debug)]
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

/// Assembles a program and writes its container.
fn program(file: &Path, output: &Path, out: &mut Output) -> Result<(), Failure> {
    let text = fs::read_to_string(file).map_err(|error| Failure::io("read", file, &error))?;
    let neff = assemble(&text, file)?;
    fs::write(output, &neff).map_err(|error| Failure::io("write", output, &error))?;
    if out.json {
        let (file, output) = (file.display().to_string(), output.display().to_string());
        return out.document(&json!({ "file": file, "output": output, "bytes": neff.len() }));
    }
    Ok(writeln!(out, "{} ({} bytes)", output.display(), neff.len())?)
}

/// The one place that knows the assembler for programs.
fn assemble(_text: &str, file: &Path) -> Result<Vec<u8>, Failure> {
    Err(Failure::new(Code::Internal, "text programs cannot be assembled yet").file(file))
}
