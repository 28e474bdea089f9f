//! `seqjit disasm`: words as text.

use std::io::Write;
use std::path::PathBuf;

use seqjit::neff::Graph;
use seqjit::runtime::isa::text::{Line, Names};
use seqjit::runtime::isa::{DecodeError, EngineId, Generation, Word};
use serde_json::{Value, json};

use super::exit::Code;
use super::failure::Failure;
use super::output::Output;
use super::source::Source;
use super::{parse_engine, text, words};

const EXAMPLES: &str = "\
Examples:
  seqjit disasm model.neff --core 0 --engine PE | less
  seqjit disasm --words words.csv > listing.csv";

/// Shows words as text.
///
/// The operand text is that of the vendor's profiler. A `*` marks lines whose form nobody has seen there, and
/// lines with a `+field=value` extension: what the profiler's text does not say. `seqjit asm` reads both.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("words or program").args(["file", "words"]).required(true)))]
pub struct Args {
    /// The NEFF file.
    #[arg(value_name = "FILE.neff")]
    file: Option<PathBuf>,
    /// Read bare words: CSV with the columns word_hex,engine,gen and optionally sem_names (`8=qIn|5=Tensor`);
    /// `-` is standard input. Adds the columns opcode, operand_text, extension, ours and error.
    #[arg(long, value_name = "FILE.csv|-", conflicts_with_all = ["core", "engine"])]
    words: Option<PathBuf>,
    /// Only this core.
    #[arg(long, value_name = "K")]
    core: Option<usize>,
    /// Only this engine: PE, ACT, POOL, DVE, SP or its public name.
    #[arg(long, value_name = "E", value_parser = parse_engine)]
    engine: Option<EngineId>,
    /// Accept with a warning what strict reading refuses.
    #[arg(long)]
    lenient: bool,
    /// Write one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    match (&args.words, &args.file) {
        (Some(path), _) => words::disassemble(path, out),
        (None, Some(file)) => program(args, Source { file: file.clone(), lenient: args.lenient }, out),
        (None, None) => Err(Failure::new(Code::Usage, "no FILE.neff and no --words")),
    }
}

fn program(args: &Args, source: Source, out: &mut Output) -> Result<(), Failure> {
    let program = source.open()?;
    let graphs = &program.neff().graphs;
    if let Some(core) = args.core.filter(|core| *core >= graphs.len()) {
        let message = format!("--core: no core {core}; the program has {}", graphs.len());
        return Err(Failure::new(Code::Usage, message).with("field", "--core").with("found", core));
    }
    let generation = program.generation();
    let cores = graphs.iter().enumerate().filter(|(core, _)| args.core.is_none_or(|c| c == *core));
    if !out.json {
        writeln!(
            out,
            "; * marks text in a form of seqjit's own; +field=value is what the profiler's text leaves out"
        )?;
        for (core, graph) in cores {
            core_text(core, graph, generation, args.engine, out)?;
        }
        return Ok(());
    }
    let cores: Vec<Value> =
        cores.map(|(core, graph)| core_json(core, graph, generation, args.engine)).collect();
    let file = source.file.display().to_string();
    out.document(&json!({ "file": file, "generation": generation.short_name(), "cores": cores }))
}

fn engines(only: Option<EngineId>) -> impl Iterator<Item = EngineId> {
    EngineId::ALL.into_iter().filter(move |engine| only.is_none_or(|only| only == *engine))
}

fn core_text(
    core: usize,
    graph: &Graph,
    generation: Generation,
    only: Option<EngineId>,
    out: &mut Output,
) -> Result<(), Failure> {
    let names = text::names_of(graph);
    for engine in engines(only) {
        let words = graph.words(engine);
        writeln!(
            out,
            "; core {core} {} {engine} ({}), {} words",
            graph.name,
            engine.public_name(),
            words.len()
        )?;
        for (slot, word) in words.enumerate() {
            match text::line(&word, generation, &names) {
                Ok(line) => {
                    let mark = if line.marked_ours { '*' } else { ' ' };
                    writeln!(out, "{slot:>7}{mark} {line}")?;
                }
                Err(error) => writeln!(out, "{slot:>7}  {} ; {error}", word.to_hex())?,
            }
        }
    }
    Ok(())
}

fn core_json(core: usize, graph: &Graph, generation: Generation, only: Option<EngineId>) -> Value {
    let names = text::names_of(graph);
    let streams = engines(only).map(|engine| {
        let words =
            graph.words(engine).enumerate().map(|(slot, word)| word_json(slot, &word, generation, &names));
        json!({ "engine": engine.name(), "words": words.collect::<Vec<_>>() })
    });
    json!({ "core": core, "name": graph.name, "engines": streams.collect::<Vec<_>>() })
}

fn word_json(slot: usize, word: &Word, generation: Generation, names: &Names) -> Value {
    let line: Result<Line, DecodeError> = text::line(word, generation, names);
    match line {
        Ok(line) => json!({
            "word": slot,
            "word_hex": word.to_hex(),
            "opcode": line.opcode,
            "operand_text": line.operands,
            "extension": line.extension,
            "ours": line.marked_ours,
        }),
        Err(error) => json!({ "word": slot, "word_hex": word.to_hex(), "error": error.to_string() }),
    }
}
