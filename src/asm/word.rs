//! Lines that make a word: label, opcode, operand text with the program's names filled in, `after`.

use seqjit_runtime::isa::text::{AsmErrorKind, OperandShape, assemble, operand_shape};
use seqjit_runtime::isa::{EngineId, OpcodeInfo, Word, op, parse_opcode};

use super::build::{Label, Reference, Slot};
use super::error::{Result, at};
use super::expr::{expression, integer, operand};
use super::program::Assembler;
use super::scan::{Cursor, word_length};
use super::value::Value;
use super::view::View;

/// Words of one stream, so that a text cannot take all memory.
const MAX_WORDS: usize = 1 << 20;

/// The statement that starts a transfer; not an opcode.
const TRANSFER: &str = "DMA";

/// The word that separates operands from labels to wait for.
const AFTER: &str = "after";

/// Operand text with names filled in, and where its parts stand in the line.
#[derive(Default)]
struct Filled {
    text: String,
    /// First byte in the text and in the line.
    places: Vec<(usize, usize)>,
    branch: Option<Reference>,
}

impl Filled {
    fn copy(&mut self, c: &mut Cursor, bytes: usize) {
        self.places.push((self.text.len(), c.at));
        self.text.push_str(&c.rest()[..bytes]);
        c.at += bytes;
    }

    /// Puts in text that stands for what starts at byte `source` of the line.
    fn put(&mut self, text: &str, source: usize) {
        self.places.push((self.text.len(), source));
        self.text.push_str(text);
    }

    /// The byte of the line that a byte of the text comes from.
    fn source(&self, byte: usize) -> usize {
        let place = self.places.iter().rev().find(|(text, _)| *text <= byte);
        place.map_or(0, |(text, source)| source + (byte - text))
    }
}

impl<'s> Assembler<'s> {
    /// `[LABEL:] OPCODE OPERANDS [after LABEL, ...]`
    pub(super) fn instruction(&mut self, mut c: Cursor<'s>, engine: EngineId) -> Result<()> {
        c.skip_blanks();
        self.generation(&c)?;
        let label = self.label(&mut c)?;
        c.skip_blanks();
        let start = c;
        let opcode = &c.rest()[..c.rest().find(char::is_whitespace).unwrap_or(c.rest().len())];
        if opcode.is_empty() {
            return Err(c.error("an opcode"));
        }
        c.at += opcode.len();
        let end = c.at + find_after(c.rest());
        let after = self.after_clause(&start, end)?;
        let mut branch = None;
        let (word, chosen_semaphore) = if opcode == TRANSFER {
            self.transfer(&mut c.until(end), engine)?
        } else {
            let filled = self.fill(c.until(end), parse_opcode(opcode))?;
            branch.clone_from(&filled.branch);
            (self.assemble(opcode, &filled, &start, engine)?, false)
        };
        let position = start.position();
        let context = self.shared_context();
        let stream = &mut self.core.streams[engine.index()];
        if stream.len() >= MAX_WORDS {
            return Err(start.error(format!("at most {MAX_WORDS} words in a stream")));
        }
        if let Some((label, place)) = label {
            let target = (engine, stream.len());
            if self.core.labels.insert(label, target).is_some() {
                return Err(at(place, "a label", "a label that no other word of this core has"));
            }
        }
        stream.push(Slot { word, position, context, after, branch, chosen_semaphore });
        Ok(())
    }

    fn assemble(&self, opcode: &str, filled: &Filled, start: &Cursor, engine: EngineId) -> Result<Word> {
        let generation = self.generation(start)?;
        assemble(opcode, &filled.text, engine, generation, &self.core.names).map_err(|error| {
            let of_opcode = matches!(
                error.kind,
                AsmErrorKind::Opcode | AsmErrorKind::Generation(_) | AsmErrorKind::Engine(_)
            );
            let place = if of_opcode { start.at } else { filled.source(error.at) };
            let seen = match error.seen.is_empty() {
                true => "the end of the operands".to_owned(),
                false => format!("`{}`", error.seen),
            };
            at(start.position_of(place), seen, error.expected)
        })
    }

    /// `NAME:` or `NAME[INDEX, ...]:`, if one comes next.
    fn label(&self, c: &mut Cursor<'s>) -> Result<Option<(Label, super::Position)>> {
        let start = *c;
        let rest = c.rest();
        let length = word_length(rest);
        let behind = &rest[length..];
        let is_label = match behind.strip_prefix('[') {
            Some(indices) => indices.find(']').is_some_and(|end| indices[end + 1..].starts_with(':')),
            None => behind.starts_with(':'),
        };
        if length == 0 || !is_label {
            return Ok(None);
        }
        let label = self.label_name(c)?;
        c.expect(":")?;
        Ok(Some((label, start.position())))
    }

    fn label_name(&self, c: &mut Cursor<'s>) -> Result<Label> {
        let name = c.name("a label")?.to_owned();
        let mut indices = Vec::new();
        if c.rest().starts_with('[') {
            c.expect("[")?;
            loop {
                indices.push(integer(c, &self.scope)?);
                if !c.eat(",") {
                    break;
                }
            }
            c.expect("]")?;
        }
        Ok(Label { name, indices })
    }

    fn reference(&self, c: &mut Cursor<'s>) -> Result<Reference> {
        c.skip_blanks();
        let position = c.position();
        let label = self.label_name(c)?;
        let optional = c.rest().starts_with('?');
        c.at += usize::from(optional);
        Ok(Reference { label, optional, position })
    }

    /// The labels behind `after`, which starts at byte `end` of the line if there is one.
    fn after_clause(&self, line: &Cursor<'s>, end: usize) -> Result<Vec<Reference>> {
        let mut c = *line;
        c.at = end;
        let mut references = Vec::new();
        if c.at_end() {
            return Ok(references);
        }
        c.expect_word(AFTER)?;
        loop {
            references.push(self.reference(&mut c)?);
            if !c.eat(",") {
                break;
            }
        }
        c.end()?;
        Ok(references)
    }

    /// Fills in names and expressions of operand text:
    ///
    /// * `{EXPRESSION}` anywhere;
    /// * an expression as the index of `S[..]`, `E[..]` and `R[..]`;
    /// * a name behind `=`, with its indices.
    fn fill(&self, mut c: Cursor<'s>, info: Option<&'static OpcodeInfo>) -> Result<Filled> {
        let mut filled = Filled::default();
        while let Some(next) = c.rest().chars().next() {
            let word = word_length(c.rest());
            let behind = &c.rest()[word..];
            if next == '{' {
                self.fill_braces(&mut c, &mut filled)?;
            } else if next == '"' {
                let quoted = c.rest()[1..].find('"').map_or(c.rest().len(), |length| length + 2);
                filled.copy(&mut c, quoted);
            } else if is_indexed(&c.rest()[..word]) && behind.starts_with('[') {
                filled.copy(&mut c, 2);
                let source = c.at;
                let index = integer(&mut c, &self.scope)?;
                filled.put(&index.to_string(), source);
            } else if word > 0 && behind.starts_with('=') && !behind.starts_with("==") {
                let key = &c.rest()[..word];
                filled.copy(&mut c, word + 1);
                self.fill_value(key, &mut c, &mut filled, info)?;
            } else {
                filled.copy(&mut c, word.max(next.len_utf8()));
            }
        }
        Ok(filled)
    }

    fn fill_braces(&self, c: &mut Cursor<'s>, filled: &mut Filled) -> Result<()> {
        let source = c.at;
        c.expect("{")?;
        let value = expression(c, &self.scope)?;
        let error = c.error("`}`");
        if !c.eat("}") {
            return Err(error);
        }
        let text = plain(&value).ok_or_else(|| c.error("a number or a tile in braces, not a variable"))?;
        filled.put(&text, source);
        Ok(())
    }

    /// What stands behind `KEY=`: a label of a branch, a name of the program, or text of the operand itself.
    fn fill_value(
        &self,
        key: &str,
        c: &mut Cursor<'s>,
        filled: &mut Filled,
        info: Option<&'static OpcodeInfo>,
    ) -> Result<()> {
        let length = word_length(c.rest());
        let name = &c.rest()[..length];
        let indexed = is_indexed(name) && c.rest()[length..].starts_with('[');
        if name.is_empty() || (indexed && self.scope.get(name).is_none()) {
            return Ok(());
        }
        let source = c.at;
        if key == "label_id" && info.is_some_and(|info| info.byte == op::COMPARE_BRANCH) {
            filled.branch = Some(self.reference(c)?);
            filled.put("0", source);
        } else if self.scope.get(name).is_some() && !c.rest()[length..].starts_with('@') {
            let start = *c;
            let value = operand(c, &self.scope)?;
            let text = match (&value, info) {
                (Value::View(view), Some(info)) => self.fill_view(view, info, key, &start)?,
                _ => plain(&value).ok_or_else(|| start.error("a number or a tile"))?,
            };
            filled.put(&text, source);
        } else {
            filled.copy(c, length);
        }
        Ok(())
    }

    /// The text of a tile as an operand: with its walk, or as an address.
    fn fill_view(&self, view: &View, info: &'static OpcodeInfo, key: &str, start: &Cursor) -> Result<String> {
        if !view.on_chip() {
            return Err(start.error("a tile, not a variable: engines reach SBUF and PSUM only"));
        }
        let generation = self.generation(start)?;
        let typed = |typed: bool| if typed { format!("{}@", view.dtype.text()) } else { String::new() };
        match operand_shape(info, generation, key) {
            Some(OperandShape::Tensor { dims, typed: t }) => {
                let walk = walk(view, dims);
                let walk =
                    walk.ok_or_else(|| start.error(format!("a tile that {dims} dimensions can walk over")))?;
                Ok(format!("{}0x{:x}{walk}", typed(t), view.offset))
            }
            Some(OperandShape::Address { typed: t }) => Ok(format!("{}0x{:x}", typed(t), view.offset)),
            _ => Ok(format!("0x{:x}", view.offset)),
        }
    }
}

/// `[STEP, ...][COUNT, ...]` in elements, innermost first.
fn walk(view: &View, dims: usize) -> Option<String> {
    let (mut steps, mut counts) = (Vec::new(), Vec::new());
    for dim in view.squeezed(dims)?.iter().rev() {
        steps.push((dim.step / view.element()).to_string());
        counts.push(dim.count.to_string());
    }
    if steps.is_empty() {
        steps.push("1".to_owned());
        counts.push("1".to_owned());
    }
    // Dimensions that are not there have one element.
    steps.resize(dims.max(steps.len()), "0".to_owned());
    counts.resize(dims.max(counts.len()), "1".to_owned());
    Some(format!("[{}][{}]", steps.join(","), counts.join(",")))
}

/// What operand text indexes: semaphores, events, registers.
fn is_indexed(name: &str) -> bool {
    matches!(name, "S" | "E" | "R")
}

/// A value where any number can stand.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Int(value) => Some(value.to_string()),
        // The exact bits, so that operands never take the digits for something else.
        Value::Float(value) => Some(format!("0f{:08X}", (*value as f32).to_bits())),
        Value::View(view) if view.on_chip() => Some(format!("0x{:x}", view.offset)),
        Value::View(_) => None,
    }
}

/// Where `after` begins in operand text, or the text's length.
fn find_after(text: &str) -> usize {
    let mut quoted = false;
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        quoted ^= c == '"';
        let starts = previous.is_whitespace() && !quoted && text[at..].starts_with(AFTER);
        if starts && text[at + AFTER.len()..].starts_with(char::is_whitespace) {
            return at;
        }
        previous = c;
    }
    text.len()
}
