//! The pieces of single forms: scalars with a source, DMA addresses, register lists, branches.

use super::super::field::{Addr8, BranchCmp, BranchMode, DataSrc, ImmSrc, Kind};
use super::super::{Addr8Form, Dtype};
use super::cursor::{AsmErrorKind, Cursor, Parsed};
use super::events::{self, EXTENDED, Given};
use super::pieces::{Exact, Number, Piece, Radix};
use super::values;
use super::view::View;
use super::{OperandShape, Shown, ours, vendor};

/// A scalar whose source prints elsewhere: pointers in hexadecimal, registers as such, the rest in decimal.
pub(super) struct Scalar {
    pub(super) value: &'static str,
    pub(super) source: &'static str,
}

impl Piece for Scalar {
    fn print(&self, view: &View) -> Option<Shown> {
        let value = view.get(self.value)?;
        Some(match ImmSrc(view.get_byte(self.source)?) {
            ImmSrc::PTR => vendor(format!("0x{value:x}")),
            ImmSrc::REG_PTR => ours(format!("$R[{value}]")),
            // The only value seen is zero, which decides nothing about the text of others.
            _ => Shown { text: value.to_string(), ours: value != 0 },
        })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand(self.value, cursor)?;
        values::parse(Kind::Imm, cursor, view.bytes_mut(field))
    }
}

/// A scalar of ACTIVATE with its source. It prints under one of two keys: as a number, or as a pointer.
pub(super) struct Source {
    pub(super) value: &'static str,
    pub(super) source: &'static str,
    /// The source's code for an immediate; the code for a register pointer is the same in all enums.
    pub(super) instruction: u8,
    /// The source's code for a pointer.
    pub(super) pointer: u8,
    /// The vendor's text shows the immediate form; else it shows the pointer form.
    pub(super) immediate_seen: bool,
}

impl Source {
    fn is_pointer(&self, view: &View) -> Option<bool> {
        let source = view.get_byte(self.source)?;
        Some(source == self.pointer || source == ImmSrc::REG_PTR.0)
    }
}

/// The immediate form of a [`Source`], as `%f`.
pub(super) struct Immediate(pub(super) &'static Source);

impl Piece for Immediate {
    fn print(&self, view: &View) -> Option<Shown> {
        let bits = view.get(self.0.value)? as u32;
        let shown = Shown { text: values::print_percent_f(bits), ours: !self.0.immediate_seen };
        (!self.0.is_pointer(view)?).then_some(shown)
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand(self.0.value, cursor)?;
        view.set(self.0.source, u64::from(self.0.instruction));
        values::parse(Kind::Float, cursor, view.bytes_mut(field))
    }
}

/// The pointer form of a [`Source`]: an address or a register.
pub(super) struct Pointer(pub(super) &'static Source);

impl Piece for Pointer {
    fn print(&self, view: &View) -> Option<Shown> {
        let value = view.get(self.0.value)?;
        if !self.0.is_pointer(view)? {
            return None;
        }
        Some(if view.get_byte(self.0.source)? == ImmSrc::REG_PTR.0 {
            ours(format!("$R[{value}]"))
        } else {
            Shown { text: format!("0x{value:x}"), ours: self.0.immediate_seen }
        })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand(self.0.value, cursor)?;
        let source = if cursor.at_register() { ImmSrc::REG_PTR.0 } else { self.0.pointer };
        view.set(self.0.source, u64::from(source));
        values::parse(Kind::Imm, cursor, view.bytes_mut(field))
    }

    fn shape(&self, _: &View) -> OperandShape {
        OperandShape::Address { typed: false }
    }
}

/// A part of an ADDR8 that prints under a key of its own, by the form of the address (chapter 03 section 3.4).
pub(super) struct AddressPart(pub(super) &'static str, pub(super) Part, pub(super) Radix);

/// Which part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The whole of an immediate address.
    Immediate,
    TableOffset,
    TableIndex,
    VariableId,
    VariableOffset,
    /// The whole of an address of another form.
    Other,
}

impl Piece for AddressPart {
    fn print(&self, view: &View) -> Option<Shown> {
        let addr = Addr8(view.get(self.0)?);
        let number = match (self.1, addr.form()) {
            (Part::Immediate, Addr8Form::Immediate(value)) => value,
            (Part::TableOffset, Addr8Form::Table { offset, .. }) => u64::from(offset),
            (Part::TableIndex, Addr8Form::Table { index, .. }) => u64::from(index),
            (Part::VariableId, Addr8Form::Variable { id, .. }) => u64::from(id),
            (Part::VariableOffset, Addr8Form::Variable { offset, .. }) => u64::from(offset),
            (Part::Other, Addr8Form::Registers { .. } | Addr8Form::Unsupported(_)) => {
                return Some(ours(values::print_addr8(addr)));
            }
            _ => return None,
        };
        Some(vendor(self.2.print(number)))
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand(self.0, cursor)?;
        let bytes = view.bytes_mut(field);
        let (part, marker) = match self.1 {
            Part::Immediate | Part::Other => return values::parse_addr8(cursor, bytes),
            Part::TableOffset => (0..4, 0x20),
            Part::TableIndex => (4..6, 0x20),
            Part::VariableOffset => (0..4, 0x10),
            Part::VariableId => (4..6, 0x10),
        };
        bytes[7] = marker;
        values::parse_unsigned(cursor, &mut bytes[part])
    }
}

/// The setter of EVENT_SEMAPHORE and its second wait and update: `setter=0 $S[2]==8 $S[2]=0@complete`.
pub(super) struct Setter;

impl Piece for Setter {
    fn print(&self, view: &View) -> Option<Shown> {
        let setter = view.get("setter_signature")?;
        let nothing = || vendor(String::new());
        let wait = events::print_wait(view, EXTENDED).unwrap_or_else(nothing);
        let update = events::print_update(view, EXTENDED).unwrap_or_else(nothing);
        let text = format!("{setter} {} {}", wait.text, update.text);
        Some(Shown { text, ours: wait.ours || update.ours })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand("setter_signature", cursor)?;
        values::parse_unsigned(cursor, view.bytes_mut(field))?;
        let mut given = Given::default();
        loop {
            let mut ahead = cursor.clone();
            ahead.skip_blanks();
            if !events::starts(&ahead) {
                return Ok(());
            }
            *cursor = ahead;
            events::parse(cursor, view, EXTENDED, &mut given)?;
            cursor.expect_break()?;
        }
    }
}

/// A list of registers, or of immediates where the word takes its data from itself.
pub(super) struct List {
    pub(super) count: Count,
    /// The field that holds registers, one a byte.
    pub(super) registers: &'static str,
    /// The fields that choose the source and hold immediates; `None` if only registers are possible.
    pub(super) immediates: Option<Immediates>,
}

/// Immediates of a [`List`].
pub(super) struct Immediates {
    /// A DATA_SRC: 0 registers, 1 immediates.
    pub(super) source: &'static str,
    pub(super) data: &'static str,
    /// Bytes of one immediate; `None`: those of the word's datatype.
    pub(super) size: Option<usize>,
}

/// How many items a [`List`] has.
#[derive(Clone, Copy)]
pub(super) enum Count {
    /// A field; the first list of the word sets it.
    Field(&'static str),
    /// The product of a field's bytes, which other text sets.
    Product(&'static str),
}

impl Count {
    fn get(self, view: &View) -> Option<usize> {
        Some(match self {
            Count::Field(name) => usize::from(view.get_byte(name)?),
            Count::Product(name) => {
                let field = view.field(name)?;
                view.bytes(field).iter().map(|n| usize::from(*n)).product()
            }
        })
    }
}

impl List {
    /// Field and item size of the immediates, or of the registers.
    fn slots(&self, view: &View, immediate: bool) -> (&'static str, usize) {
        match &self.immediates {
            Some(i) if immediate => {
                let dtype = Dtype(view.get_byte("dtype").unwrap_or(0));
                (i.data, i.size.unwrap_or(dtype.bytes().max(1)))
            }
            _ => (self.registers, 1),
        }
    }
}

impl Piece for List {
    fn print(&self, view: &View) -> Option<Shown> {
        let source = self.immediates.as_ref().and_then(|i| view.get_byte(i.source));
        let immediate = source.is_some_and(|source| DataSrc(source) != DataSrc::REGISTER);
        let (name, size) = self.slots(view, immediate);
        let bytes = view.bytes(view.field(name)?);
        // A count that the list cannot show stays to the extension, or to the operand that holds it.
        let count = self.count.get(view)?.clamp(1, bytes.len() / size);
        let item = |b: &[u8]| {
            let value = values::unsigned(b);
            if immediate { format!("0x{value:x}") } else { format!("$R[{value}]") }
        };
        let items: Vec<String> = bytes.chunks_exact(size).take(count).map(item).collect();
        Some(vendor(items.join(",")))
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        cursor.skip_blanks();
        let start = cursor.clone();
        let immediate = self.immediates.is_some() && !cursor.at_register();
        if let Some(immediates) = &self.immediates {
            view.set(immediates.source, u64::from(immediate));
        }
        let (name, size) = self.slots(view, immediate);
        let field = view.demand(name, cursor)?;
        let bytes = view.bytes_mut(field);
        let capacity = bytes.len() / size;
        let mut found = 0;
        for slot in bytes.chunks_exact_mut(size) {
            if immediate {
                values::parse_unsigned(cursor, slot)?;
            } else {
                slot[0] = cursor.register(0xFF)? as u8;
            }
            found += 1;
            if !cursor.eat(",") {
                break;
            }
        }
        if let Count::Field(name) = self.count
            && view.get_byte(name) == Some(0)
        {
            view.set(name, found as u64);
        }
        let expected = self.count.get(view).unwrap_or(0).clamp(1, capacity);
        if found != expected {
            let text = format!("{expected} values, as many as in front");
            return Err(start.error(AsmErrorKind::Range, text));
        }
        Ok(())
    }
}

/// The compare code of COMPARE_BRANCH without its bit 7, which the second operand shows.
pub(super) struct Compare;

/// Takes the second operand from a register (chapter 03 section 5).
const COMPARE_REGISTER: u8 = 0x80;

impl Piece for Compare {
    fn print(&self, view: &View) -> Option<Shown> {
        let Kind::Enum(table) = view.field("cmp_op")?.kind else {
            return None;
        };
        let code = view.get_byte("cmp_op")?;
        let plain = if table.name_of(code).is_some() { code & !COMPARE_REGISTER } else { code };
        let seen = matches!(BranchCmp(code), BranchCmp::ALWAYS | BranchCmp::EQ);
        Some(Shown { text: values::print_member(table, plain), ours: !seen })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let register = view.get_byte("cmp_op").unwrap_or(0) & COMPARE_REGISTER;
        Exact("cmp_op").parse(cursor, view)?;
        view.set("cmp_op", u64::from(view.get_byte("cmp_op").unwrap_or(0) | register));
        Ok(())
    }
}

/// The second operand of COMPARE_BRANCH.
pub(super) struct CompareOperand;

impl Piece for CompareOperand {
    fn print(&self, view: &View) -> Option<Shown> {
        if view.get_byte("cmp_op")? & COMPARE_REGISTER == 0 {
            Number("cmp_immediate", Radix::Decimal).print(view)
        } else {
            Some(ours(format!("$R[{}]", view.get("cmp_reg1")?)))
        }
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        cursor.skip_blanks();
        let code = view.get_byte("cmp_op").unwrap_or(0);
        if !cursor.at_register() {
            let field = view.demand("cmp_immediate", cursor)?;
            return values::parse(Kind::Imm, cursor, view.bytes_mut(field));
        }
        let register = cursor.register(0xFF)?;
        view.set("cmp_reg1", register);
        view.set("cmp_op", u64::from(code | COMPARE_REGISTER));
        Ok(())
    }
}

/// A register number.
pub(super) struct Register(pub(super) &'static str);

impl Piece for Register {
    fn print(&self, view: &View) -> Option<Shown> {
        Some(vendor(format!("$R[{}]", view.get(self.0)?)))
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        view.demand(self.0, cursor)?;
        let register = cursor.register(0xFF)?;
        view.set(self.0, register);
        Ok(())
    }
}

/// The target of COMPARE_BRANCH as a number: the low half of its 64-bit immediate.
pub(super) struct Label;

fn target_mode(view: &View) -> Option<BranchMode> {
    Some(BranchMode(view.get_byte("target_mode")?))
}

/// The target comes from registers.
fn is_indirect(mode: BranchMode) -> bool {
    matches!(mode, BranchMode::REGISTER | BranchMode::RELATIVE_REGISTER)
}

impl Piece for Label {
    fn print(&self, view: &View) -> Option<Shown> {
        let low = view.get("br_immediate")? as u32;
        let mode = target_mode(view)?;
        let shown = Shown { text: low.to_string(), ours: mode != BranchMode::RELATIVE };
        (!is_indirect(mode)).then_some(shown)
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand("br_immediate", cursor)?;
        let displacement = cursor.integer(i128::from(i32::MIN), i128::from(u32::MAX))?;
        view.bytes_mut(field)[..4].copy_from_slice(&(displacement as u32).to_le_bytes());
        Ok(())
    }
}

/// The target of COMPARE_BRANCH from a register pair, high half first.
pub(super) struct Target;

impl Piece for Target {
    fn print(&self, view: &View) -> Option<Shown> {
        let (hi, lo) = (view.get("target_reg_hi")?, view.get("target_reg_lo")?);
        is_indirect(target_mode(view)?).then(|| ours(format!("$R[{hi}]:$R[{lo}]")))
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let hi = cursor.register(0xFF)?;
        cursor.expect(":")?;
        let lo = cursor.register(0xFF)?;
        view.set("target_reg_hi", hi);
        view.set("target_reg_lo", lo);
        view.set("target_mode", u64::from(BranchMode::REGISTER.0));
        Ok(())
    }
}
