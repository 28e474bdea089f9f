//! A word seen through its operand struct: fields by name, for printing as well as for filling in.

use super::super::field::{Kind, UpdateMode, WaitMode};
use super::super::layouts::{FieldDef, LayoutDef};
use super::super::{Generation, OpcodeInfo, Word};
use super::Names;
use super::cursor::{AsmErrorKind, Cursor, Parsed};

const fn field(name: &'static str, offset: usize, size: usize, kind: Kind) -> FieldDef {
    FieldDef { name, offset, size, kind }
}

/// The debug bytes of the header (chapter 03 section 1.1).
const HEADER: &[FieldDef] = &[field("debug_cmd", 2, 1, Kind::Uint), field("debug_hint", 3, 1, Kind::Uint)];

/// The members of the ordinary EVENTS block (chapter 03 section 2.1).
const EVENTS: &[FieldDef] = &[
    field("wait_mode", 4, 1, Kind::Enum(&WaitMode::TABLE)),
    field("wait_idx", 5, 1, Kind::Uint),
    field("update_mode", 6, 1, Kind::Enum(&UpdateMode::TABLE)),
    field("update_idx", 7, 1, Kind::Uint),
    field("value", 8, 4, Kind::Uint),
];

/// The members of the second block of EVENT_SEMAPHORE (chapter 03 section 2.1).
const EVENTS_EXT: &[FieldDef] = &[
    field("ext_wait_mode", 32, 1, Kind::Enum(&WaitMode::TABLE)),
    field("ext_wait_idx", 33, 1, Kind::Uint),
    field("ext_update_mode", 34, 1, Kind::Enum(&UpdateMode::TABLE)),
    field("ext_update_idx", 35, 1, Kind::Uint),
    field("ext_wait_value", 36, 4, Kind::Uint),
    field("ext_update_value", 40, 4, Kind::Uint),
];

/// Every field that text can name, in ascending order: header, EVENTS, operands.
pub(super) fn named_fields(layout: &'static LayoutDef) -> impl Iterator<Item = &'static FieldDef> {
    let own_header = layout.fields.first().is_some_and(|f| f.offset < 4);
    let header = if own_header { &[] } else { HEADER };
    let events = if layout.events { EVENTS } else { &[] };
    let operands = layout.fields.iter().flat_map(|f| match f.kind {
        Kind::EventsExt => EVENTS_EXT.iter(),
        _ => std::slice::from_ref(f).iter(),
    });
    header.iter().chain(events).chain(operands)
}

/// A word with what is needed to print it or to fill it in.
#[derive(Clone, Debug)]
pub(super) struct View<'n> {
    pub(super) word: Word,
    pub(super) info: &'static OpcodeInfo,
    pub(super) generation: Generation,
    pub(super) names: &'n Names,
}

impl View<'_> {
    /// The operand struct. EXTENDED_INST chooses it by a byte of the word, so it can change while a word is filled in.
    pub(super) fn layout(&self) -> &'static LayoutDef {
        self.info.layout(&self.word, self.generation).def()
    }

    pub(super) fn field(&self, name: &str) -> Option<&'static FieldDef> {
        named_fields(self.layout()).find(|f| f.name == name)
    }

    pub(super) fn bytes(&self, field: &FieldDef) -> &[u8] {
        &self.word.0[field.offset..field.offset + field.size]
    }

    pub(super) fn bytes_mut(&mut self, field: &FieldDef) -> &mut [u8] {
        &mut self.word.0[field.offset..field.offset + field.size]
    }

    /// A field of at most eight bytes as an unsigned number; `None` if this operand struct has no such field.
    pub(super) fn get(&self, name: &str) -> Option<u64> {
        let field = self.field(name)?;
        let number = |all: u64, byte: &u8| all << 8 | u64::from(*byte);
        Some(self.bytes(field).iter().rev().fold(0, number))
    }

    /// A one-byte field.
    pub(super) fn get_byte(&self, name: &str) -> Option<u8> {
        Some(self.word.0[self.field(name)?.offset])
    }

    /// Sets a field of at most eight bytes. `false`, and no effect, if this operand struct has no such field.
    pub(super) fn set(&mut self, name: &str, value: u64) -> bool {
        let Some(field) = self.field(name) else {
            return false;
        };
        let size = field.size;
        self.bytes_mut(field).copy_from_slice(&value.to_le_bytes()[..size]);
        true
    }

    /// The field that the text at the cursor fills in.
    pub(super) fn demand(&self, name: &str, cursor: &Cursor) -> Parsed<&'static FieldDef> {
        let missing = || format!("no `{name}`: {} has none on {}", self.info.name, self.generation);
        self.field(name).ok_or_else(|| cursor.error(AsmErrorKind::Key, missing()))
    }
}
