//! The exact text of a field, by its [`Kind`]: what generic operands and extensions are made of.
//!
//! Printing and parsing stand side by side. Reading back what was printed gives the same bytes, except for the
//! reserved bytes inside INDIRECT and MX operands, which print as `+raw`.

use super::super::field::{Addr4, Addr8, EnumTable, Field, Kind, UpdateMode, WaitMode};
use super::super::{Addr8Form, AluOp, Dtype};
use super::cursor::{AsmErrorKind, Cursor, Parsed};

/// Longer arrays print without their trailing zeros.
const FULL_ARRAY: usize = 4;

/// The text of a field.
pub(super) fn print(kind: Kind, bytes: &[u8]) -> String {
    match kind {
        Kind::Uint if bytes.len() == 8 => format!("0x{:x}", unsigned(bytes)),
        Kind::Uint => unsigned(bytes).to_string(),
        Kind::Int => signed(bytes).to_string(),
        Kind::Float => print_float(u32::read(bytes)),
        Kind::UintArray(element) => print_array(bytes, element, unsigned),
        Kind::EventsExt => print_array(bytes, 1, unsigned),
        Kind::IntArray(element) => print_array(bytes, element, signed),
        Kind::Enum(table) => print_member(table, bytes[0]),
        Kind::WaitMode => print_member(&WaitMode::TABLE, bytes[0]),
        Kind::UpdateMode => print_member(&UpdateMode::TABLE, bytes[0]),
        Kind::Bits => format!("0x{:02x}", bytes[0]),
        Kind::Dtype => Dtype(bytes[0]).text(),
        Kind::DtypePair => format!("{},{}", Dtype(bytes[0] & 0xF).text(), Dtype(bytes[0] >> 4).text()),
        Kind::Alu => AluOp(bytes[0]).text(),
        Kind::Imm | Kind::Ptr => format!("0x{:x}", unsigned(bytes)),
        Kind::Addr4 => print_addr4(Addr4::read(bytes)),
        Kind::Addr8 => print_addr8(Addr8::read(bytes)),
        Kind::Tensor(dims) => {
            let (start, walk) = bytes.split_at(4);
            print_addr4(Addr4::read(start)) + &print_walk(walk, dims)
        }
        Kind::Generator => {
            let (base, walk) = bytes.split_at(4);
            signed(base).to_string() + &print_walk(walk, 4)
        }
        Kind::Indirect => format!("{}[{}]", print_addr4_pair(bytes), unsigned(&bytes[8..10])),
        Kind::MxPattern => {
            let (count, step, partition) = (unsigned(&bytes[8..10]), bytes[10] as i8, bytes[11]);
            format!("{}[{count},{step},{partition}]", print_addr4_pair(bytes))
        }
        Kind::Regs => print_registers(bytes),
        Kind::Name => print_name(bytes),
    }
}

/// Fills a field from its text.
pub(super) fn parse(kind: Kind, cursor: &mut Cursor, bytes: &mut [u8]) -> Parsed<()> {
    match kind {
        Kind::Uint | Kind::Bits | Kind::Ptr => parse_unsigned(cursor, bytes),
        Kind::Int => parse_signed(cursor, bytes),
        Kind::Float => parse_scalar(cursor, bytes, false),
        Kind::Imm => parse_scalar(cursor, bytes, true),
        Kind::UintArray(element) => parse_array(cursor, bytes, element, parse_unsigned),
        Kind::EventsExt => parse_array(cursor, bytes, 1, parse_unsigned),
        Kind::IntArray(element) => parse_array(cursor, bytes, element, parse_signed),
        Kind::Enum(table) => parse_member(cursor, table, bytes),
        Kind::WaitMode => parse_member(cursor, &WaitMode::TABLE, bytes),
        Kind::UpdateMode => parse_member(cursor, &UpdateMode::TABLE, bytes),
        Kind::Dtype => parse_dtype(cursor).map(|dtype| bytes[0] = dtype.0),
        Kind::DtypePair => {
            let low = parse_nibble_dtype(cursor)?;
            cursor.expect(",")?;
            bytes[0] = low.0 | parse_nibble_dtype(cursor)?.0 << 4;
            Ok(())
        }
        Kind::Alu => cursor.named("an ALU operator", AluOp::parse).map(|op| bytes[0] = op.0),
        Kind::Addr4 => parse_addr4(cursor, bytes),
        Kind::Addr8 => parse_addr8(cursor, bytes),
        Kind::Tensor(dims) => {
            let (start, walk) = bytes.split_at_mut(4);
            parse_addr4(cursor, start)?;
            parse_walk(cursor, walk, dims)
        }
        Kind::Generator => {
            let (base, walk) = bytes.split_at_mut(4);
            parse_signed(cursor, base)?;
            parse_walk(cursor, walk, 4)
        }
        Kind::Indirect => {
            parse_addr4_pair(cursor, bytes)?;
            parse_array(cursor, &mut bytes[8..10], 2, parse_unsigned)
        }
        Kind::MxPattern => {
            parse_addr4_pair(cursor, bytes)?;
            cursor.expect("[")?;
            parse_unsigned(cursor, &mut bytes[8..10])?;
            cursor.expect(",")?;
            parse_signed(cursor, &mut bytes[10..11])?;
            cursor.expect(",")?;
            parse_unsigned(cursor, &mut bytes[11..12])?;
            cursor.expect_close()
        }
        Kind::Regs => parse_registers(cursor, bytes),
        Kind::Name => parse_name(cursor, bytes),
    }
}

/// Little-endian bytes, at most eight, as a number.
pub(super) fn unsigned(bytes: &[u8]) -> i128 {
    bytes.iter().rev().fold(0, |all, byte| all << 8 | i128::from(*byte))
}

/// Two's complement.
pub(super) fn signed(bytes: &[u8]) -> i128 {
    let unused = 128 - 8 * bytes.len();
    unsigned(bytes) << unused >> unused
}

fn store(bytes: &mut [u8], value: i128) {
    let size = bytes.len();
    bytes.copy_from_slice(&value.to_le_bytes()[..size]);
}

pub(super) fn parse_unsigned(cursor: &mut Cursor, bytes: &mut [u8]) -> Parsed<()> {
    let value = cursor.integer(0, (1 << (8 * bytes.len())) - 1)?;
    store(bytes, value);
    Ok(())
}

pub(super) fn parse_signed(cursor: &mut Cursor, bytes: &mut [u8]) -> Parsed<()> {
    let half = 1 << (8 * bytes.len() - 1);
    let value = cursor.integer(-half, half - 1)?;
    store(bytes, value);
    Ok(())
}

/// C's `%f`.
pub(super) fn print_percent_f(bits: u32) -> String {
    let value = f32::from_bits(bits);
    match (value.is_nan(), value.is_sign_negative()) {
        (true, true) => "-nan".to_owned(),
        (true, false) => "nan".to_owned(),
        _ => format!("{value:.6}"),
    }
}

/// `%f` if that says it all, else the bits.
fn print_float(bits: u32) -> String {
    let text = print_percent_f(bits);
    match parse_float(&text) {
        Some(read) if read == bits => text,
        _ => format!("0f{bits:08X}"),
    }
}

/// The bits of an FP32 number written as `1.5`, `-2e-3`, `inf`, `nan` or `0f3FC00000`.
fn parse_float(text: &str) -> Option<u32> {
    match text {
        "nan" => Some(0x7FC0_0000),
        "-nan" => Some(0xFFC0_0000),
        _ => match text.strip_prefix("0f") {
            Some(bits) if bits.len() == 8 => u32::from_str_radix(bits, 16).ok(),
            Some(_) => None,
            None => text.parse::<f32>().ok().map(f32::to_bits),
        },
    }
}

/// The 32 bits of a scalar: an FP32 number, a register number, or bits in hexadecimal. A decimal number without
/// point and exponent means bits where `bits` says so, else FP32 as well.
fn parse_scalar(cursor: &mut Cursor, bytes: &mut [u8], bits: bool) -> Parsed<()> {
    cursor.skip_blanks();
    if cursor.at_register() {
        store(bytes, i128::from(cursor.register(u64::from(u32::MAX))?));
        return Ok(());
    }
    let mut ahead = cursor.clone();
    let token = ahead.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
    let decimal = token.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    if token.starts_with("0x") || (decimal && bits) {
        let value = cursor.integer(i128::from(i32::MIN), i128::from(u32::MAX))?;
        store(bytes, value);
        return Ok(());
    }
    let float = parse_float(token).ok_or_else(|| cursor.syntax("a number"))?;
    *cursor = ahead;
    store(bytes, i128::from(float));
    Ok(())
}

fn print_array(bytes: &[u8], element: usize, number: fn(&[u8]) -> i128) -> String {
    let mut items: Vec<String> = bytes.chunks_exact(element).map(|b| number(b).to_string()).collect();
    if items.len() > FULL_ARRAY {
        let used = items.iter().rposition(|item| item != "0").map_or(0, |last| last + 1);
        items.truncate(used);
    }
    format!("[{}]", items.join(","))
}

type ParseElement = fn(&mut Cursor, &mut [u8]) -> Parsed<()>;

fn parse_array(
    cursor: &mut Cursor,
    bytes: &mut [u8],
    element: usize,
    parse_element: ParseElement,
) -> Parsed<()> {
    let length = bytes.len() / element;
    let start = cursor.clone();
    cursor.expect("[")?;
    bytes.fill(0);
    let mut found = 0;
    if !cursor.rest().starts_with(']') {
        for slot in bytes.chunks_exact_mut(element) {
            parse_element(cursor, slot)?;
            found += 1;
            cursor.skip_blanks();
            if found == length || !cursor.eat(",") {
                break;
            }
        }
    }
    if found < length && length <= FULL_ARRAY {
        return Err(start.error(AsmErrorKind::Range, format!("{length} numbers in brackets")));
    }
    cursor.expect_close()
}

/// Steps and counts: `[1,16][128,4]`.
fn print_walk(bytes: &[u8], dims: usize) -> String {
    let (steps, counts) = bytes.split_at(2 * dims);
    print_array(steps, 2, signed) + &print_array(counts, 2, unsigned)
}

fn parse_walk(cursor: &mut Cursor, bytes: &mut [u8], dims: usize) -> Parsed<()> {
    let (steps, counts) = bytes.split_at_mut(2 * dims);
    parse_array(cursor, steps, 2, parse_signed)?;
    parse_array(cursor, counts, 2, parse_unsigned)
}

/// A member's name, or the byte in hexadecimal.
pub(super) fn print_member(table: &EnumTable, value: u8) -> String {
    table.name_of(value).map_or_else(|| format!("0x{value:02x}"), str::to_owned)
}

pub(super) fn parse_member(cursor: &mut Cursor, table: &EnumTable, bytes: &mut [u8]) -> Parsed<()> {
    let names = || table.members.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
    cursor.skip_blanks();
    if cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
        return parse_unsigned(cursor, bytes);
    }
    bytes[0] = cursor.named(format!("one of {}", names()), |name| table.parse(name))?;
    Ok(())
}

pub(super) fn parse_dtype(cursor: &mut Cursor) -> Parsed<Dtype> {
    cursor.named("a datatype", Dtype::parse)
}

/// A datatype that a pair can carry (chapter 03 section 6.1).
pub(super) fn parse_nibble_dtype(cursor: &mut Cursor) -> Parsed<Dtype> {
    let start = cursor.clone();
    let dtype = parse_dtype(cursor)?;
    if dtype.0 <= 0xF {
        return Ok(dtype);
    }
    Err(start.error(AsmErrorKind::Range, "a datatype with a code up to 0xf: this byte holds two"))
}

/// Prefix of an on-chip address, marker of its immediate form, marker of its register form (chapter 03
/// section 3.3).
const ADDR4_FORMS: [(&str, u32, u32); 3] =
    [("", 0x00, 0x80), ("indirect:", 0x20, 0xA0), ("shape:", 0x40, 0xC0)];
const ADDR4_BITS: u32 = 0x1FFF_FFFF;

/// `0x4800`, `$R[5]`, either with a prefix, or all 32 bits where none of these is exact.
pub(super) fn print_addr4(addr: Addr4) -> String {
    let exact = ADDR4_FORMS.iter().find_map(|(prefix, immediate, register)| {
        if addr.0 & !ADDR4_BITS == immediate << 24 {
            Some(format!("{prefix}0x{:x}", addr.0 & ADDR4_BITS))
        } else if addr.0 & !0xFF == register << 24 {
            Some(format!("{prefix}$R[{}]", addr.0 & 0xFF))
        } else {
            None
        }
    });
    exact.unwrap_or_else(|| format!("0x{:x}", addr.0))
}

pub(super) fn parse_addr4(cursor: &mut Cursor, bytes: &mut [u8]) -> Parsed<()> {
    cursor.skip_blanks();
    let named = ADDR4_FORMS[1..].iter().find(|(prefix, _, _)| cursor.eat(prefix));
    let (prefix, immediate, register) = named.unwrap_or(&ADDR4_FORMS[0]);
    let value = if cursor.at_register() {
        register << 24 | cursor.register(0xFF)? as u32
    } else {
        // Without a prefix the number may bring its own marker.
        let max = if prefix.is_empty() { u32::MAX } else { ADDR4_BITS };
        immediate << 24 | cursor.unsigned(u64::from(max))? as u32
    };
    Addr4(value).write(bytes);
    Ok(())
}

fn print_addr4_pair(bytes: &[u8]) -> String {
    format!("{},{}", print_addr4(Addr4::read(&bytes[..4])), print_addr4(Addr4::read(&bytes[4..8])))
}

fn parse_addr4_pair(cursor: &mut Cursor, bytes: &mut [u8]) -> Parsed<()> {
    parse_addr4(cursor, &mut bytes[..4])?;
    cursor.expect(",")?;
    parse_addr4(cursor, &mut bytes[4..8])
}

/// `0x802000000000`, `var[5]+64`, `table[3]+64`, `$R[hi]:$R[lo]`, or all 64 bits (chapter 03 section 3.4).
pub(super) fn print_addr8(addr: Addr8) -> String {
    let exact = match addr.form() {
        Addr8Form::Variable { id, offset } => (Addr8::variable(id, offset), format!("var[{id}]+{offset}")),
        Addr8Form::Table { index, offset } => {
            (Addr8::table(index, offset), format!("table[{index}]+{offset}"))
        }
        Addr8Form::Registers { lo, hi } => (Addr8::registers(lo, hi), format!("$R[{hi}]:$R[{lo}]")),
        Addr8Form::Immediate(_) | Addr8Form::Unsupported(_) => (addr, format!("0x{:x}", addr.0)),
    };
    if exact.0 == addr { exact.1 } else { format!("0x{:x}", addr.0) }
}

pub(super) fn parse_addr8(cursor: &mut Cursor, bytes: &mut [u8]) -> Parsed<()> {
    cursor.skip_blanks();
    let addr = if cursor.at_register() {
        let hi = cursor.register(0xFF)? as u8;
        cursor.expect(":")?;
        Addr8::registers(cursor.register(0xFF)? as u8, hi)
    } else if cursor.eat("var[") {
        let (id, offset) = parse_indexed(cursor)?;
        Addr8::variable(id, offset)
    } else if cursor.eat("table[") {
        let (index, offset) = parse_indexed(cursor)?;
        Addr8::table(index, offset)
    } else {
        Addr8(cursor.unsigned(u64::MAX)?)
    };
    addr.write(bytes);
    Ok(())
}

/// The rest of `name[index]+offset`.
fn parse_indexed(cursor: &mut Cursor) -> Parsed<(u16, u32)> {
    let index = cursor.unsigned(u64::from(u16::MAX))? as u16;
    cursor.expect_close()?;
    cursor.expect("+")?;
    Ok((index, cursor.unsigned(u64::from(u32::MAX))? as u32))
}

fn print_registers(bytes: &[u8]) -> String {
    let used = match bytes.len() {
        length if length > FULL_ARRAY => bytes.iter().rposition(|b| *b != 0).map_or(1, |last| last + 1),
        length => length,
    };
    let items: Vec<String> = bytes[..used].iter().map(|number| format!("$R[{number}]")).collect();
    items.join(",")
}

fn parse_registers(cursor: &mut Cursor, bytes: &mut [u8]) -> Parsed<()> {
    bytes.fill(0);
    for slot in bytes {
        *slot = cursor.register(0xFF)? as u8;
        if !cursor.eat(",") {
            break;
        }
    }
    Ok(())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The name as it stands, or in quotes with `\xNN` for every byte that is not plain.
fn print_name(bytes: &[u8]) -> String {
    let used = bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    let name = &bytes[..used];
    let escape = |byte: &u8| {
        if is_plain(*byte) { char::from(*byte).to_string() } else { format!("\\x{byte:02x}") }
    };
    let text: String = name.iter().map(escape).collect();
    if !name.is_empty() && name.iter().copied().all(is_plain) { text } else { format!("\"{text}\"") }
}

fn parse_name(cursor: &mut Cursor, bytes: &mut [u8]) -> Parsed<()> {
    cursor.skip_blanks();
    let start = cursor.clone();
    let quoted = cursor.eat("\"");
    let mut name = Vec::new();
    while let Some(byte) = cursor.rest().bytes().next() {
        if quoted && cursor.eat("\\x") {
            name.push(cursor.hex_byte()?);
        } else if is_plain(byte) {
            name.push(byte);
            cursor.eat(&char::from(byte).to_string());
        } else {
            break;
        }
    }
    if quoted && !cursor.eat("\"") {
        return Err(cursor.syntax("a closing quote"));
    }
    if name.len() > bytes.len() || (name.is_empty() && !quoted) {
        return Err(start.error(AsmErrorKind::Range, format!("a name of at most {} bytes", bytes.len())));
    }
    bytes.fill(0);
    bytes[..name.len()].copy_from_slice(&name);
    Ok(())
}
