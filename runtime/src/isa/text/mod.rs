//! The operand text of words, both ways (chapter 09 section 2).
//!
//! [`operand_text`] is the vendor profiler's text, character for character. It does not say everything: a
//! transposing MATMUL and a plain one look alike. A [`Line`] adds the rest as an *extension*, and
//! [`assemble`] makes the word from the two:
//!
//! ```text
//! S[5] (Tensor)++@complete acc_flags=3 src=fp32@0x36500[1,0,0][128,1,1] dst=0x2000000[1,0,0][128,1,1] 128*128 +transpose_mode=1
//! '------ EVENTS --------' '------------------------------ operands -----------------------------------------' '-- extension --'
//! ```
//!
//! * EVENTS: a wait, an update. `S[n]` or `$S[n]` is a semaphore, `$E[n]` an event; the name in parentheses may
//!   be missing.
//! * Operands: `key=value` in any order; a few, such as `128*128`, have no key. Opcodes whose text nobody has
//!   seen print every field in struct order. An operand that is missing keeps its default: zero, or what
//!   compilers emit.
//! * Extension: ` +field=value` for every field, and ` +raw[n]=0x..` for bytes from `n` that belong to no field,
//!   that the text before does not give. Any field of the operand struct, of EVENTS (`wait_mode`, `wait_idx`,
//!   `update_mode`, `update_idx`, `value`) and of the header (`debug_cmd`, `debug_hint`) can be given, with or
//!   without the plus sign.
//! * Numbers are decimal or `0x` hexadecimal. FP32 is `%f`, or `0f3F800001` where that would not be exact.
//!   Values outside an enum print in hexadecimal.
//! * A semicolon ends the text.
//!
//! ```
//! use seqjit_runtime::isa::text::{Line, Names, assemble};
//! use seqjit_runtime::isa::{EngineId, Generation, decode};
//!
//! let names: Names = "6=Vector".parse()?;
//! let text = "S[6]>=16 src=fp32@0x0[1,1,1,1][512,1,1,1] dst=fp32@0x4000[1,1,1,1][512,1,1,1] channels=128";
//! let word = assemble("COPY", text, EngineId::Dve, Generation::Cayman, &names)?;
//! let line = Line::new(&decode(&word, Generation::Cayman)?, Generation::Cayman, &names);
//! assert_eq!(line.text(), text.replace("S[6]", "S[6] (Vector)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cursor;
mod events;
mod forms;
mod names;
mod parse;
mod pieces;
mod print;
#[cfg(test)]
mod properties;
mod special;
#[cfg(test)]
mod tests;
mod values;
mod view;

pub use cursor::{AsmError, AsmErrorKind};
pub use names::{Names, NamesError};

use std::fmt;

use super::decode::has_length;
use super::field::Kind;
use super::{Decoded, EngineId, Generation, OpcodeInfo, Word, parse_opcode};
use cursor::Cursor;
use forms::Form;
use parse::parse;
use print::{print, print_extension};
use view::{View, named_fields};

/// A printed operand.
#[derive(Clone, Debug)]
struct Shown {
    text: String,
    /// No vendor text is known that shows this.
    ours: bool,
}

fn vendor(text: String) -> Shown {
    Shown { text, ours: false }
}

fn ours(text: String) -> Shown {
    Shown { text, ours: true }
}

/// A word as a line of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The opcode's name as the profiler shows it.
    pub opcode: &'static str,
    /// The profiler's operand text; see [`operand_text`].
    pub operands: String,
    /// What the operands do not say: ` +field=value` items without the leading blank. Mostly empty.
    pub extension: String,
    /// The text of this form was chosen by analogy, as nobody has seen the vendor's (chapter 09 section 2.1);
    /// listings should mark the line. Lines with an extension are always of this kind.
    pub marked_ours: bool,
}

impl Line {
    /// The line of a word.
    pub fn new(decoded: &Decoded, generation: Generation, names: &Names) -> Line {
        let view = view_of(decoded, generation, names);
        let Shown { text: operands, ours } = print(&view);
        // The profiler's text says what assembling it leads to; the extension is the difference.
        let mut read = blank(decoded.info, generation, names);
        let parsed = parse(&mut Cursor::new(&operands), &mut read);
        debug_assert!(parsed.is_ok(), "{}: `{operands}` does not assemble: {parsed:?}", decoded.info.name);
        let extension = print_extension(&view, read);
        let marked_ours = ours || !extension.is_empty();
        Line { opcode: decoded.info.display, operands, extension, marked_ours }
    }

    /// Operands and extension: the text that [`assemble`] turns into the same word.
    pub fn text(&self) -> String {
        format!("{} {}", self.operands, self.extension).trim().to_owned()
    }
}

/// Opcode, operands and extension, without the marker.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(format!("{} {}", self.opcode, self.text()).trim_end())
    }
}

/// The profiler's operand text of a word, blanks at both ends removed (chapter 09 section 2.1).
///
/// The text can stand for several words; [`Line::text`] is the one that loses nothing.
pub fn operand_text(word: &Decoded, generation: Generation, names: &Names) -> String {
    print(&view_of(word, generation, names)).text
}

/// Makes a word from the name of its opcode and its text.
///
/// The opcode is given by either of its names or by its byte in hexadecimal. By name it has to be one that
/// `engine` may run; by byte every engine may hold it, as words for tests of such rules are needed.
/// Errors tell the position in `text`.
pub fn assemble(
    opcode: &str,
    text: &str,
    engine: EngineId,
    generation: Generation,
    names: &Names,
) -> Result<Word, AsmError> {
    let refuse = |kind, expected: String| AsmError { kind, at: 0, seen: opcode.to_owned(), expected };
    let info = parse_opcode(opcode)
        .ok_or_else(|| refuse(AsmErrorKind::Opcode, "the name of an opcode or its byte".to_owned()))?;
    if !info.exists_on(generation) {
        let expected = format!("an opcode of {generation}");
        return Err(refuse(AsmErrorKind::Generation(generation), expected));
    }
    let by_name = [info.name, info.display].iter().any(|name| name.eq_ignore_ascii_case(opcode));
    // The sentinel belongs to no engine, so that there is none to prefer.
    if by_name && !info.engines.is_empty() && !info.legal_on(engine) {
        let expected = format!("an opcode that {engine} may run");
        return Err(refuse(AsmErrorKind::Engine(engine), expected));
    }
    let mut view = blank(info, generation, names);
    parse(&mut Cursor::new(text), &mut view)?;
    Ok(view.word)
}

/// What the text of an operand is about, for tools that fill operands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandShape {
    /// A walk over memory: an address, steps and counts.
    Tensor {
        /// Steps, and counts.
        dims: usize,
        /// The datatype stands in front: `fp32@0x0[1,1,1,1][512,1,1,1]`.
        typed: bool,
    },
    /// The address of one value in a partition.
    Address {
        /// The datatype stands in front: `fp32@0x4810`.
        typed: bool,
    },
    /// Anything else.
    Other,
}

impl OperandShape {
    fn of(kind: Kind) -> OperandShape {
        match kind {
            Kind::Tensor(dims) => OperandShape::Tensor { dims, typed: false },
            Kind::Ptr | Kind::Imm | Kind::Addr4 => OperandShape::Address { typed: false },
            _ => OperandShape::Other,
        }
    }

    fn typed(self) -> OperandShape {
        match self {
            OperandShape::Tensor { dims, .. } => OperandShape::Tensor { dims, typed: true },
            OperandShape::Address { .. } => OperandShape::Address { typed: true },
            OperandShape::Other => OperandShape::Other,
        }
    }
}

/// What the operand `key` of an opcode is about; `None` if its text has no such operand.
pub fn operand_shape(info: &'static OpcodeInfo, generation: Generation, key: &str) -> Option<OperandShape> {
    let names = Names::new();
    let view = blank(info, generation, &names);
    let form = Form::of(info.byte);
    let item = form.into_iter().flat_map(Form::items).find(|item| item.key == key);
    let field = || named_fields(view.layout()).find(|field| field.name == key);
    item.map(|item| item.piece.shape(&view)).or_else(|| field().map(|field| OperandShape::of(field.kind)))
}

fn view_of<'n>(decoded: &Decoded, generation: Generation, names: &'n Names) -> View<'n> {
    View { word: decoded.encode(), info: decoded.info, generation, names }
}

/// The word that empty text stands for.
fn blank<'n>(info: &'static OpcodeInfo, generation: Generation, names: &'n Names) -> View<'n> {
    let mut view = View { word: Word::new(info.byte), info, generation, names };
    if !has_length(info.byte) {
        view.word.0[1] = 0;
    }
    for (name, value) in Form::of(info.byte).map_or(&[][..], |form| form.defaults) {
        // Not every generation has every field.
        view.set(name, u64::from(*value));
    }
    view
}
