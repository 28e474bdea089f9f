//! From text to words.

use super::cursor::{AsmErrorKind, Cursor, Parsed};
use super::events::{self, EVENTS, Given};
use super::forms::{Form, Item};
use super::values;
use super::view::{View, named_fields};

/// What text has given so far.
#[derive(Default)]
struct Progress {
    events: Given,
    operands: Vec<&'static str>,
    /// A field may follow an operand of the same name, whose text does not always say all of it.
    fields: Vec<&'static str>,
}

/// Notes that an operand or a field was given.
fn claim(claimed: &mut Vec<&'static str>, key: &'static str, start: &Cursor) -> Parsed<()> {
    if claimed.contains(&key) {
        return Err(start.error(AsmErrorKind::Duplicate, "every operand only once"));
    }
    claimed.push(key);
    Ok(())
}

/// Fills in a word from its text.
pub(super) fn parse(cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
    let form = Form::of(view.info.byte);
    let mut progress = Progress::default();
    loop {
        cursor.skip_blanks();
        if cursor.at_end() {
            break;
        }
        parse_operand(cursor, view, form, &mut progress)?;
        cursor.expect_break()?;
    }
    if let Some((count, tensor)) = form.and_then(|form| form.counted)
        && !progress.fields.contains(&count)
    {
        let elements = view.field(tensor).map_or(0, |field| elements(view.bytes(field)));
        view.set(count, elements);
    }
    Ok(())
}

/// Elements of a tensor operand: the product of its counts, which follow as many steps.
fn elements(tensor: &[u8]) -> u64 {
    let walk = &tensor[4..];
    let counts = walk[walk.len() / 2..].chunks_exact(2);
    counts.map(|n| u64::from(u16::from_le_bytes([n[0], n[1]]))).product()
}

fn parse_operand(
    cursor: &mut Cursor,
    view: &mut View,
    form: Option<&'static Form>,
    progress: &mut Progress,
) -> Parsed<()> {
    let start = cursor.clone();
    if cursor.eat("+raw") {
        return parse_raw(cursor, view);
    }
    if view.layout().events && events::starts(cursor) {
        return events::parse(cursor, view, EVENTS, &mut progress.events);
    }
    let extension = cursor.eat("+");
    let Some(key) = cursor.key() else {
        return parse_place(cursor, view, form, progress);
    };
    let item = form.into_iter().flat_map(Form::items).find(|item| !extension && item.key == key);
    if let Some(item) = item {
        claim(&mut progress.operands, item.key, &start)?;
        return item.piece.parse(cursor, view);
    }
    let Some(field) = named_fields(view.layout()).find(|field| field.name == key) else {
        return Err(start.error(AsmErrorKind::Key, format!("one of: {}", keys(form, view))));
    };
    claim(&mut progress.fields, field.name, &start)?;
    values::parse(field.kind, cursor, view.bytes_mut(field))
}

/// An operand that is known by its place.
fn parse_place(
    cursor: &mut Cursor,
    view: &mut View,
    form: Option<&'static Form>,
    progress: &mut Progress,
) -> Parsed<()> {
    let mut places = form.into_iter().flat_map(Form::items).filter(|item| item.key.is_empty());
    let Some(item) = places.next() else {
        return Err(cursor.error(AsmErrorKind::Key, format!("one of: {}", keys(form, view))));
    };
    claim(&mut progress.operands, item.key, cursor)?;
    item.piece.parse(cursor, view)
}

/// `[n]=0x..`: bytes from `n`.
fn parse_raw(cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
    cursor.expect("[")?;
    let mut at = cursor.unsigned(63)? as usize;
    for token in ["]", "=", "0x"] {
        cursor.expect(token)?;
    }
    loop {
        let start = cursor.clone();
        let value = cursor.hex_byte()?;
        // Byte 0 is the opcode, given already.
        let slot = view.word.0.get_mut(at).filter(|_| at > 0);
        *slot.ok_or_else(|| start.error(AsmErrorKind::Range, "bytes 1 to 63"))? = value;
        at += 1;
        if cursor.expect_break().is_ok() {
            return Ok(());
        }
    }
}

/// What could stand in front of `=`.
fn keys(form: Option<&'static Form>, view: &View) -> String {
    let items = form.into_iter().flat_map(Form::items).map(|item: &Item| item.key);
    let mut keys: Vec<&str> = items.filter(|key| !key.is_empty()).collect();
    for field in named_fields(view.layout()) {
        if !keys.contains(&field.name) {
            keys.push(field.name);
        }
    }
    keys.join(", ")
}
