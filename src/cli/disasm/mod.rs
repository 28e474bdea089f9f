//! `seqjit disasm`: words as text, and the code that they become.

mod code;

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use seqjit::neff::Graph;
use seqjit::runtime::isa::text::{Line, Names};
use seqjit::runtime::isa::{DecodeError, EngineId, Generation, Word};
use serde_json::{Value, json};

use self::code::{Coder, Forms};
use super::cpu::Cpu;
use super::exit::Code;
use super::failure::Failure;
use super::output::Output;
use super::source::Source;
use super::{parse_engine, text, words};

const EXAMPLES: &str = "\
Examples:
  seqjit disasm model.neff --core 0 --engine PE | less
  seqjit disasm model.neff --engine DVE --slots 10..14 --native
  seqjit disasm model.neff --shapes --clif
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
    #[arg(long, value_name = "FILE.csv|-", conflicts_with_all = ["core", "engine", "slots", "clif", "native", "cpu"])]
    words: Option<PathBuf>,
    /// Only this core.
    #[arg(long, value_name = "K")]
    core: Option<usize>,
    /// Only this engine: PE, ACT, POOL, DVE, SP or its public name.
    #[arg(long, value_name = "E", value_parser = parse_engine)]
    engine: Option<EngineId>,
    /// Only these words of each stream, counted from 0: one, or from A to before B.
    #[arg(long, value_name = "A..B|A", value_parser = parse_slots)]
    slots: Option<Range<usize>>,
    /// Show below each word the Cranelift code of its shape, or which kernel runs it.
    #[arg(long)]
    clif: bool,
    /// Show below each word the native code of its shape, or which kernel runs it.
    #[arg(long)]
    native: bool,
    /// Show each shape once, with its number of words, instead of the words.
    #[arg(long)]
    shapes: bool,
    #[command(flatten)]
    cpu: Cpu,
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

/// `A..B` or one number.
fn parse_slots(text: &str) -> Result<Range<usize>, &'static str> {
    let number = |text: &str| text.parse::<usize>().ok();
    let range = match text.split_once("..") {
        Some((first, end)) => number(first).zip(number(end)).map(|(first, end)| first..end),
        None => number(text).and_then(|first| Some(first..first.checked_add(1)?)),
    };
    range.filter(|range| !range.is_empty()).ok_or("expected A..B with A below B, or one number")
}

fn program(args: &Args, source: Source, out: &mut Output) -> Result<(), Failure> {
    let program = source.open()?;
    let graphs = &program.neff().graphs;
    if let Some(core) = args.core.filter(|core| *core >= graphs.len()) {
        let message = format!("--core: no core {core}; the program has {}", graphs.len());
        return Err(Failure::new(Code::Usage, message).with("field", "--core").with("found", core));
    }
    let forms = Forms { clif: args.clif, native: args.native };
    let coder = if args.clif || args.native || args.shapes {
        Some(Coder::new(args.cpu.engine()?, &program, &source, forms)?)
    } else {
        None
    };
    let generation = program.generation();
    let cores = graphs.iter().enumerate().filter(|(core, _)| args.core.is_none_or(|c| c == *core));
    let mut listing = Lister { args, generation, coder };
    if out.json {
        let cores =
            cores.map(|(core, graph)| listing.core_json(core, graph)).collect::<Result<Vec<_>, _>>()?;
        let file = source.file.display().to_string();
        let mut document = json!({ "file": file, "generation": generation.short_name(), "cores": cores });
        if let Some(coder) = &listing.coder {
            document["shapes"] = coder.shapes_json();
        }
        return out.document(&document);
    }
    if args.shapes {
        return listing.shapes(cores, out);
    }
    writeln!(
        out,
        "; * marks text in a form of seqjit's own; +field=value is what the profiler's text leaves out"
    )?;
    for (core, graph) in cores {
        listing.core_text(core, graph, out)?;
    }
    Ok(())
}

/// Lists the words of a program.
struct Lister<'a> {
    args: &'a Args,
    generation: Generation,
    coder: Option<Coder>,
}

impl Lister<'_> {
    fn engines(&self) -> impl Iterator<Item = EngineId> + use<> {
        let only = self.args.engine;
        EngineId::ALL.into_iter().filter(move |engine| only.is_none_or(|only| only == *engine))
    }

    /// The words of a stream that are asked for, with their positions.
    fn words<'g>(&self, graph: &'g Graph, engine: EngineId) -> impl Iterator<Item = (usize, Word)> + use<'g> {
        let slots = self.args.slots.clone().unwrap_or(0..usize::MAX);
        graph.words(engine).enumerate().skip(slots.start).take(slots.len())
    }

    fn core_text(&mut self, core: usize, graph: &Graph, out: &mut Output) -> Result<(), Failure> {
        let names = text::names_of(graph);
        for engine in self.engines() {
            let (name, all) = (engine.public_name(), graph.words(engine).len());
            writeln!(out, "; core {core} {} {engine} ({name}), {all} words", graph.name)?;
            for (slot, word) in self.words(graph, engine) {
                writeln!(out, "{}", word_text(slot, &word, self.generation, &names))?;
                if let Some(coder) = &mut self.coder {
                    let note = coder.note(core, engine, slot)?;
                    coder.show(&note, out)?;
                    if let Some((run, words)) = coder.run(core, engine, slot)? {
                        writeln!(out, "          ; {words} words from here on run as one:")?;
                        coder.show(&run, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Every shape of the words, once.
    fn shapes<'g>(
        &mut self,
        cores: impl Iterator<Item = (usize, &'g Graph)>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        let Some(mut coder) = self.coder.take() else { return Ok(()) };
        let mut lines = HashMap::new();
        for (core, graph) in cores {
            let names = text::names_of(graph);
            for engine in self.engines() {
                for (slot, word) in self.words(graph, engine) {
                    if let code::Note::Shape(number, true) = coder.note(core, engine, slot)? {
                        lines.insert(number, word_text(slot, &word, self.generation, &names));
                    }
                }
            }
        }
        coder.show_shapes(&lines, out)
    }

    fn core_json(&mut self, core: usize, graph: &Graph) -> Result<Value, Failure> {
        let names = text::names_of(graph);
        let mut streams = Vec::new();
        for engine in self.engines() {
            let mut words = Vec::new();
            for (slot, word) in self.words(graph, engine) {
                let mut object = word_json(slot, &word, self.generation, &names);
                if let Some(coder) = &mut self.coder {
                    coder.note(core, engine, slot)?.add_to(&mut object);
                }
                words.push(object);
            }
            streams.push(json!({ "engine": engine.name(), "words": words }));
        }
        Ok(json!({ "core": core, "name": graph.name, "engines": streams }))
    }
}

fn word_text(slot: usize, word: &Word, generation: Generation, names: &Names) -> String {
    match text::line(word, generation, names) {
        Ok(line) => format!("{slot:>7}{} {line}", if line.marked_ours { '*' } else { ' ' }),
        Err(error) => format!("{slot:>7}  {} ; {error}", word.to_hex()),
    }
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
