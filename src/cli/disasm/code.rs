//! The code that words become: CLIF and native.

use std::collections::HashMap;
use std::io::Write;

use seqjit::block::CodeKey;
use seqjit::runtime::isa::EngineId;
use seqjit::{Engine, Listing, Lowered, Options, Program, Session};
use serde_json::{Value, json};

use super::super::errors;
use super::super::exit::Code;
use super::super::failure::Failure;
use super::super::output::Output;
use super::super::source::Source;

/// Blanks in front of a line of code.
const INDENT: &str = "          ";

/// Which forms are shown.
#[derive(Clone, Copy, Debug)]
pub struct Forms {
    pub clif: bool,
    pub native: bool,
}

/// Finds the code of words. Shapes are numbered in the order in which they come up.
pub struct Coder {
    engine: Engine,
    session: Session,
    forms: Forms,
    known: HashMap<CodeKey, usize>,
    shapes: Vec<Shape>,
}

/// A shape that has come up.
struct Shape {
    first: String,
    words: u64,
    code: Result<Listing, String>,
}

/// What is shown at a word.
pub enum Note {
    /// The code of a shape: its number, and whether this is the first word that has it.
    Shape(usize, bool),
    /// A kernel's name.
    Kernel(&'static str),
    /// Why there is no code to show.
    None(String),
}

impl Coder {
    /// For the words of a program. It is not run, and may hold words that cannot run.
    pub fn new(engine: Engine, program: &Program, source: &Source, forms: Forms) -> Result<Coder, Failure> {
        let mut options = Options::default();
        options.strict = !source.lenient;
        options.validate = false;
        options.max_memory = errors::memory_of_this_machine();
        let session = Session::new(&engine, program, options)
            .map_err(|error| errors::session(error, program, source))?;
        Ok(Coder { engine, session, forms, known: HashMap::new(), shapes: Vec::new() })
    }

    /// What a word becomes.
    pub fn note(&mut self, core: usize, engine: EngineId, slot: usize) -> Result<Note, Failure> {
        let lowered = self.session.lowered(core, engine, slot as u64);
        Ok(match lowered.map_err(|error| Failure::new(Code::Internal, error))? {
            Lowered::Inline(shape) => self.shape(*shape, format!("core {core} {engine} word {slot}")),
            Lowered::Kernel(name) => Note::Kernel(name),
            Lowered::Call(name) => Note::None(format!("{name}, the interpreter's function")),
            Lowered::Registers => Note::None("operands come from registers: known when it runs".to_owned()),
            Lowered::Nothing => Note::None("no body".to_owned()),
            Lowered::Sequencer => Note::None("done by the sequencer".to_owned()),
            Lowered::Interpreted(why) => Note::None(format!("interpreted: {why}")),
            other => Note::None(format!("{other:?}")),
        })
    }

    fn shape(&mut self, key: CodeKey, word: String) -> Note {
        if let Some(number) = self.known.get(&key) {
            self.shapes[*number].words += 1;
            return Note::Shape(*number, false);
        }
        let code = self.engine.listing(&key).map_err(|why| why.to_string());
        self.known.insert(key, self.shapes.len());
        self.shapes.push(Shape { first: word, words: 1, code });
        Note::Shape(self.shapes.len() - 1, true)
    }

    /// The lines below a word.
    pub fn show(&self, note: &Note, out: &mut Output) -> Result<(), Failure> {
        match note {
            Note::Shape(number, true) => {
                writeln!(out, "{INDENT}; shape {number}")?;
                self.show_code(&self.shapes[*number], out)
            }
            Note::Shape(number, false) => {
                Ok(writeln!(out, "{INDENT}; shape {number}, see {}", self.shapes[*number].first)?)
            }
            Note::Kernel(name) => Ok(writeln!(out, "{INDENT}; kernel {name}")?),
            Note::None(why) => Ok(writeln!(out, "{INDENT}; {why}")?),
        }
    }

    fn show_code(&self, shape: &Shape, out: &mut Output) -> Result<(), Failure> {
        let code = match &shape.code {
            Ok(code) => code,
            Err(why) => return Ok(writeln!(out, "{INDENT}; interpreted: {why}")?),
        };
        if self.forms.clif {
            for line in code.clif.lines() {
                writeln!(out, "{INDENT}{line}")?;
            }
        }
        if self.forms.native {
            for line in code.instructions() {
                writeln!(out, "{INDENT}{:>5x}  {}", line.offset, line.text)?;
            }
            writeln!(out, "{INDENT}; {} bytes with constants", code.native.len())?;
        }
        Ok(())
    }

    /// One section for each shape that has come up, with the line of its first word.
    pub fn show_shapes(&self, lines: &HashMap<usize, String>, out: &mut Output) -> Result<(), Failure> {
        for (number, shape) in self.shapes.iter().enumerate() {
            let Shape { first, words, .. } = shape;
            writeln!(out, "; shape {number}: {words} words, the first is {first}")?;
            writeln!(out, "{}", lines.get(&number).map_or("", String::as_str))?;
            self.show_code(shape, out)?;
        }
        Ok(())
    }

    /// All shapes that have come up.
    pub fn shapes_json(&self) -> Value {
        let shape = |(number, shape): (usize, &Shape)| {
            let mut object = json!({ "shape": number, "first": shape.first, "words": shape.words });
            match &shape.code {
                Err(why) => object["interpreted"] = why.as_str().into(),
                Ok(code) => {
                    object["code_bytes"] = code.native.len().into();
                    if self.forms.clif {
                        object["clif"] = code.clif.as_str().into();
                    }
                    if self.forms.native {
                        object["native"] = native_json(code);
                    }
                }
            }
            object
        };
        self.shapes.iter().enumerate().map(shape).collect()
    }
}

fn native_json(code: &Listing) -> Value {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let line = |line: seqjit::NativeLine| json!({ "offset": line.offset, "hex": hex(&line.bytes), "text": line.text });
    code.instructions().into_iter().map(line).collect()
}

impl Note {
    /// Adds what the note says to the object of a word.
    pub fn add_to(&self, word: &mut Value) {
        match self {
            Note::Shape(number, _) => word["shape"] = (*number).into(),
            Note::Kernel(name) => word["kernel"] = (*name).into(),
            Note::None(why) => word["no_code"] = why.as_str().into(),
        }
    }
}
