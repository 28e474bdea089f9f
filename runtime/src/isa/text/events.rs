//! The text of waits and updates, from one table for each (chapter 09 section 2.1; codes: chapter 03 sections 2.2
//! and 2.3). Modes that no vendor text shows follow the decision there.

use super::super::field::{UpdateMode, WaitMode};
use super::cursor::{AsmErrorKind, Cursor, Parsed};
use super::view::View;
use super::{Names, Shown};

/// What stands behind an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operand {
    None,
    Number,
    /// `$R[n]`.
    Register,
    /// `$R[n]+offset`: the register in byte 0 of the value, a signed offset in bytes 1 to 3.
    RegisterOffset,
}

/// A wait or update mode in text.
#[derive(Clone, Copy, Debug)]
struct Mode {
    code: u8,
    /// Indexes an event, else a semaphore.
    event: bool,
    operator: &'static str,
    operand: Operand,
    /// The profiler's text of this mode is known.
    seen: bool,
}

const fn semaphore(code: u8, operator: &'static str, operand: Operand, seen: bool) -> Mode {
    Mode { code, event: false, operator, operand, seen }
}

const fn event(code: u8, operator: &'static str, seen: bool) -> Mode {
    Mode { code, event: true, operator, operand: Operand::None, seen }
}

/// Wait modes. Of two operators that begin alike the longer one comes first.
const WAITS: &[Mode] = &[
    semaphore(WaitMode::SEM_EQ_IMM.0, "==", Operand::Number, true),
    semaphore(WaitMode::SEM_EQ_REG.0, "==", Operand::Register, false),
    semaphore(WaitMode::SEM_EQ_REG_OFFSET.0, "==", Operand::RegisterOffset, false),
    semaphore(WaitMode::SEM_LE_IMM.0, "<=", Operand::Number, false),
    semaphore(WaitMode::SEM_LE_REG.0, "<=", Operand::Register, false),
    semaphore(WaitMode::SEM_LE_REG_OFFSET.0, "<=", Operand::RegisterOffset, false),
    semaphore(WaitMode::SEM_LT_IMM.0, "<", Operand::Number, false),
    semaphore(WaitMode::SEM_LT_REG.0, "<", Operand::Register, false),
    semaphore(WaitMode::SEM_LT_REG_OFFSET.0, "<", Operand::RegisterOffset, false),
    semaphore(WaitMode::SEM_GE_IMM.0, ">=", Operand::Number, true),
    semaphore(WaitMode::SEM_GE_REG.0, ">=", Operand::Register, false),
    semaphore(WaitMode::SEM_GE_REG_OFFSET.0, ">=", Operand::RegisterOffset, false),
    semaphore(WaitMode::SEM_GT_IMM.0, ">", Operand::Number, true),
    semaphore(WaitMode::SEM_GT_REG.0, ">", Operand::Register, false),
    semaphore(WaitMode::SEM_GT_REG_OFFSET.0, ">", Operand::RegisterOffset, false),
    event(WaitMode::EVT_SET_THEN_CLEAR.0, "==1-", true),
    event(WaitMode::EVT_SET.0, "==1", false),
    event(WaitMode::EVT_CLEAR_THEN_SET.0, "==0+", false),
    event(WaitMode::EVT_CLEAR.0, "==0", false),
];

/// Update modes of the phase [`COMPLETE`]; the codes of [`READ`] lack the bit [`COMPLETE_BIT`].
const UPDATES: &[Mode] = &[
    semaphore(UpdateMode::SEM_INC_COMPLETE.0, "++", Operand::None, true),
    semaphore(UpdateMode::SEM_DEC_COMPLETE.0, "--", Operand::None, true),
    semaphore(UpdateMode::SEM_ADD_IMM_COMPLETE.0, "+=", Operand::Number, true),
    semaphore(UpdateMode::SEM_ADD_REG_COMPLETE.0, "+=", Operand::Register, false),
    semaphore(UpdateMode::SEM_SUB_IMM_COMPLETE.0, "-=", Operand::Number, false),
    semaphore(UpdateMode::SEM_SUB_REG_COMPLETE.0, "-=", Operand::Register, false),
    semaphore(UpdateMode::SEM_WR_IMM_COMPLETE.0, "=", Operand::Number, true),
    semaphore(UpdateMode::SEM_WR_REG_COMPLETE.0, "=", Operand::Register, false),
    event(UpdateMode::EVT_SET_COMPLETE.0, "+", true),
    event(UpdateMode::EVT_CLR_COMPLETE.0, "-", false),
];

const COMPLETE: &str = "@complete";
const READ: &str = "@read";
const COMPLETE_BIT: u8 = 0x10;

/// Where a wait and an update stand in the word (chapter 03 section 2.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Wait mode, wait index, update mode, update index.
    at: usize,
    wait_value: usize,
    update_value: usize,
    /// What real words hold as the value of an update that does not read it, `++` or `--`.
    unread: Option<u32>,
}

/// The ordinary block: one value serves both.
pub(super) const EVENTS: Block = Block { at: 4, wait_value: 8, update_value: 8, unread: None };
/// The second block of EVENT_SEMAPHORE. Its increments and decrements hold a 1 (chapter 10 section 16).
pub(super) const EXTENDED: Block = Block { at: 32, wait_value: 36, update_value: 40, unread: Some(1) };

fn value_at(view: &View, at: usize) -> u32 {
    let b = &view.word.0;
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

fn print_place(mode: &Mode, index: u8, names: &Names) -> String {
    if mode.event { format!("$E[{index}]") } else { names.label(index) }
}

fn print_operand(operand: Operand, value: u32) -> String {
    match operand {
        Operand::None => String::new(),
        Operand::Number => value.to_string(),
        // All 32 bits: reserved ones must survive, and the other half of the block may read them as a number.
        Operand::Register => format!("$R[{value}]"),
        Operand::RegisterOffset => format!("$R[{}]{:+}", value & 0xFF, value as i32 >> 8),
    }
}

/// The wait; `None` if the mode is NONE or has no text.
pub(super) fn print_wait(view: &View, block: Block) -> Option<Shown> {
    let (code, index) = (view.word.0[block.at], view.word.0[block.at + 1]);
    let mode = WAITS.iter().find(|m| m.code == code)?;
    let operand = print_operand(mode.operand, value_at(view, block.wait_value));
    let text = format!("{}{}{operand}", print_place(mode, index, view.names), mode.operator);
    Some(Shown { text, ours: !mode.seen })
}

/// The update; `None` if the mode is NONE or has no text.
pub(super) fn print_update(view: &View, block: Block) -> Option<Shown> {
    let (code, index) = (view.word.0[block.at + 2], view.word.0[block.at + 3]);
    let mode = UPDATES.iter().find(|m| m.code == code | COMPLETE_BIT)?;
    let phase = if code == mode.code { COMPLETE } else { READ };
    let operand = print_operand(mode.operand, value_at(view, block.update_value));
    let text = format!("{}{}{operand}{phase}", print_place(mode, index, view.names), mode.operator);
    Some(Shown { text, ours: !mode.seen || phase == READ })
}

/// What of a block text has given so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    wait: bool,
    update: bool,
    /// The value's offset and the value.
    value: Option<(usize, u32)>,
}

/// Whether a wait or an update starts here.
pub(super) fn starts(cursor: &Cursor) -> bool {
    let place = cursor.rest().strip_prefix('$').unwrap_or(cursor.rest());
    place.starts_with("S[") || place.starts_with("E[")
}

/// A wait or an update.
pub(super) fn parse(cursor: &mut Cursor, view: &mut View, block: Block, given: &mut Given) -> Parsed<()> {
    let start = cursor.clone();
    cursor.eat("$");
    let event = cursor.eat("E[");
    if !event && !cursor.eat("S[") {
        return Err(start.syntax("`S[n]` or `$E[n]`"));
    }
    let index = cursor.byte()?;
    cursor.expect_close()?;
    if !event {
        parse_semaphore_name(cursor, index, view.names)?;
    }
    cursor.skip_blanks();
    let wait = find_operator(cursor, WAITS, event);
    let modes = if wait.is_some() { WAITS } else { UPDATES };
    let Some(operator) = wait.or_else(|| find_operator(cursor, UPDATES, event)) else {
        return Err(cursor.syntax("a comparison or an update, such as `>=1` or `++@complete`"));
    };
    let (operand, value) = parse_operand(cursor, modes, event, operator)?;
    let found = modes.iter().find(|m| (m.event, m.operator, m.operand) == (event, operator, operand));
    let mode = found.ok_or_else(|| start.syntax("a number, not a register"))?;
    let (flag, at, code, value_at, unread) = if wait.is_some() {
        (&mut given.wait, block.at, mode.code, block.wait_value, None)
    } else {
        let unread = block.unread.filter(|_| !event);
        (&mut given.update, block.at + 2, parse_phase(cursor, mode.code), block.update_value, unread)
    };
    if std::mem::replace(flag, true) {
        return Err(start.error(AsmErrorKind::Duplicate, "one wait and one update"));
    }
    view.word.0[at] = code;
    view.word.0[at + 1] = index;
    match value.or(unread) {
        Some(value) => store_value(&start, view, value_at, value, given),
        None => Ok(()),
    }
}

fn find_operator(cursor: &mut Cursor, modes: &[Mode], event: bool) -> Option<&'static str> {
    modes.iter().filter(|m| m.event == event).map(|m| m.operator).find(|operator| cursor.eat(operator))
}

fn parse_phase(cursor: &mut Cursor, complete: u8) -> u8 {
    if cursor.eat(READ) {
        return complete & !COMPLETE_BIT;
    }
    cursor.eat(COMPLETE);
    complete
}

/// The optional name behind `S[n]`; it must not belong to another semaphore.
fn parse_semaphore_name(cursor: &mut Cursor, index: u8, names: &Names) -> Parsed<()> {
    let mut ahead = cursor.clone();
    ahead.skip_blanks();
    if !ahead.eat("(") {
        return Ok(());
    }
    let start = ahead.clone();
    let name = ahead.take_while(|c| c != ')');
    if !ahead.eat(")") {
        return Err(ahead.syntax("`)`"));
    }
    let known = names.get(index);
    if known.is_some_and(|known| known != name) || (known.is_none() && names.find(name).is_some()) {
        let expected = known.map_or_else(|| format!("no name: S[{index}] has none"), |n| format!("`{n})`"));
        return Err(start.error(AsmErrorKind::SemaphoreName, expected));
    }
    *cursor = ahead;
    Ok(())
}

fn parse_operand(
    cursor: &mut Cursor,
    modes: &[Mode],
    event: bool,
    operator: &str,
) -> Parsed<(Operand, Option<u32>)> {
    if modes.iter().any(|m| m.event == event && m.operator == operator && m.operand == Operand::None) {
        return Ok((Operand::None, None));
    }
    cursor.skip_blanks();
    if !cursor.at_register() {
        let value = cursor.integer(i128::from(i32::MIN), i128::from(u32::MAX))?;
        return Ok((Operand::Number, Some(value as u32)));
    }
    let start = cursor.clone();
    let register = cursor.register(u64::from(u32::MAX))? as u32;
    let signed = cursor.rest().starts_with(['+', '-']);
    if !signed {
        return Ok((Operand::Register, Some(register)));
    }
    if register > 0xFF {
        return Err(start.error(AsmErrorKind::Range, "a register from 0 to 255"));
    }
    cursor.eat("+");
    let offset = cursor.integer(-0x80_0000, 0x7F_FFFF)? as i32;
    Ok((Operand::RegisterOffset, Some((offset << 8) as u32 | register)))
}

fn store_value(start: &Cursor, view: &mut View, at: usize, value: u32, given: &mut Given) -> Parsed<()> {
    if let Some((_, other)) = given.value.filter(|(other_at, other)| *other_at == at && *other != value) {
        let expected = format!("the value {other}: the wait and the update of a word share it");
        return Err(start.error(AsmErrorKind::SharedValue, expected));
    }
    given.value = Some((at, value));
    view.word.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    Ok(())
}
