//! From words to text.

use super::super::{FieldDef, Generation};
use super::cursor::Cursor;
use super::events::{self, EVENTS};
use super::forms::Form;
use super::view::{View, named_fields};
use super::{Shown, ours, values};

/// The profiler's text: EVENTS and operands, joined by one blank each, without blanks at the ends.
pub(super) fn print(view: &View) -> Shown {
    let events = view.layout().events;
    let wait = events.then(|| events::print_wait(view, EVENTS)).flatten();
    let update = events.then(|| events::print_update(view, EVENTS)).flatten();
    let block: Vec<Shown> = wait.into_iter().chain(update).collect();
    let body = match Form::of(view.info.byte) {
        Some(form) => print_form(form, view),
        None => print_generic(view),
    };
    let ours = body.ours || block.iter().any(|shown| shown.ours);
    let block: Vec<String> = block.into_iter().map(|shown| shown.text).collect();
    Shown { text: format!("{} {}", block.join(" "), body.text).trim().to_owned(), ours }
}

fn print_form(form: &Form, view: &View) -> Shown {
    // Known text is text of CAYMAN words; where another generation has another operand struct it is a guess.
    let layouts = &view.info.layouts;
    let same = layouts[view.generation.index()] == layouts[Generation::Cayman.index()];
    let mut out = Shown { text: String::new(), ours: !(form.seen && same) };
    let mut separator = "";
    for item in form.items().filter(|item| item.when.holds(view)) {
        let Some(shown) = item.piece.print(view) else {
            continue;
        };
        let gap = if item.gap { " " } else { "" };
        let equals = if item.key.is_empty() { "" } else { "=" };
        out.text += &[separator, gap, item.key, equals, &shown.text].concat();
        out.ours |= shown.ours;
        separator = " ";
    }
    out
}

/// Every field of the operand struct.
fn print_generic(view: &View) -> Shown {
    let text = |field: &FieldDef| format!("{}={}", field.name, values::print(field.kind, view.bytes(field)));
    ours(view.layout().fields.iter().map(text).collect::<Vec<_>>().join(" "))
}

/// The difference between a word and what its operand text leads to.
pub(super) fn print_extension(word: &View, mut read: View) -> String {
    let mut items = Vec::new();
    for field in named_fields(word.layout()) {
        if word.bytes(field) == read.bytes(field) {
            continue;
        }
        let text = values::print(field.kind, word.bytes(field));
        let mut bytes = read.bytes(field).to_vec();
        // Text that changes nothing cannot help: the raw bytes below will.
        if values::parse(field.kind, &mut Cursor::new(&text), &mut bytes).is_ok()
            && bytes != read.bytes(field)
        {
            read.bytes_mut(field).copy_from_slice(&bytes);
            items.push(format!("+{}={text}", field.name));
        }
    }
    let (wanted, found) = (&word.word.0, &read.word.0);
    let mut at = 0;
    while at < wanted.len() {
        let run = wanted[at..].iter().zip(&found[at..]).take_while(|(a, b)| a != b).count();
        if run > 0 {
            let digits: String = wanted[at..at + run].iter().map(|b| format!("{b:02x}")).collect();
            items.push(format!("+raw[{at}]=0x{digits}"));
        }
        at += run.max(1);
    }
    items.join(" ")
}
