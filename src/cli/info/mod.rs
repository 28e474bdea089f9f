//! `seqjit info`: what a container holds, and what in it cannot run.

mod facts;
mod json;
mod text;

use seqjit::WordFinding;

use self::facts::CoreFacts;
use super::failure::Failure;
use super::output::Output;
use super::source::Source;

const EXAMPLES: &str = "\
Examples:
  seqjit info model.neff
  seqjit info model.neff --json | jq '.cores[0].streams[0].opcodes'";

/// Shows what a program consists of, without running it.
///
/// Header, inputs and outputs, and of each core: streams with opcode counts, variables, DMA queues; then
/// everything unusual about the container, and every word that is illegal, unsupported or worth a warning.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: Source,
    /// Write one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let program = args.source.open()?;
    let cores: Vec<CoreFacts> = (0..program.cores()).map(|core| CoreFacts::new(&program, core)).collect();
    let findings: Vec<WordFinding> = program.check(!args.source.lenient);
    if out.json {
        out.document(&json::document(&args.source.file, &program, &cores, &findings))
    } else {
        text::write(&args.source.file, &program, &cores, &findings, out)
    }
}
