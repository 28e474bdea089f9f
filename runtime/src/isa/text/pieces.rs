//! The general pieces that vendor forms are made of. Each piece prints one operand and reads it back; what its text does
//! not say it leaves as it is, and the extension makes up for it.

use super::super::field::{Addr8, EnumTable, Field, Kind};
use super::super::{Addr8Form, Dtype};
use super::cursor::{Cursor, Parsed};
use super::values;
use super::view::View;
use super::{OperandShape, Shown, vendor};

/// One operand of a form.
pub(super) trait Piece: Sync {
    /// The text behind `key=`; `None` if this word does not show the operand.
    fn print(&self, view: &View) -> Option<Shown>;
    /// Fills in what the text says.
    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()>;
    /// What its text is about.
    fn shape(&self, _: &View) -> OperandShape {
        OperandShape::Other
    }
}

/// Datatypes whose text the profiler is known to print (chapter 09 section 2.1).
const SEEN_DTYPES: [Dtype; 4] = [Dtype::FP32, Dtype::BFLOAT16, Dtype::UINT32, Dtype::INT32];

/// Whether the profiler's text of a value is known.
fn is_seen(kind: Kind, bytes: &[u8]) -> bool {
    match kind {
        Kind::Dtype => SEEN_DTYPES.contains(&Dtype(bytes[0])),
        Kind::Enum(table) => table.name_of(bytes[0]).is_some(),
        // Only immediate addresses.
        Kind::Tensor(_) => bytes[3] & 0xE0 == 0,
        Kind::Addr8 => matches!(Addr8::read(bytes).form(), Addr8Form::Immediate(_)),
        _ => true,
    }
}

/// A field in the exact text of its kind.
pub(super) struct Exact(pub(super) &'static str);

impl Piece for Exact {
    fn print(&self, view: &View) -> Option<Shown> {
        let field = view.field(self.0)?;
        let bytes = view.bytes(field);
        Some(Shown { text: values::print(field.kind, bytes), ours: !is_seen(field.kind, bytes) })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand(self.0, cursor)?;
        values::parse(field.kind, cursor, view.bytes_mut(field))
    }

    fn shape(&self, view: &View) -> OperandShape {
        view.field(self.0).map_or(OperandShape::Other, |field| OperandShape::of(field.kind))
    }
}

/// A field as an unsigned number, in decimal or hexadecimal, whatever its kind.
pub(super) struct Number(pub(super) &'static str, pub(super) Radix);

/// How numbers print.
#[derive(Clone, Copy)]
pub(super) enum Radix {
    Decimal,
    Hex,
}

impl Radix {
    pub(super) fn print(self, value: u64) -> String {
        match self {
            Radix::Decimal => value.to_string(),
            Radix::Hex => format!("0x{value:x}"),
        }
    }
}

impl Piece for Number {
    fn print(&self, view: &View) -> Option<Shown> {
        Some(vendor(self.1.print(view.get(self.0)?)))
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand(self.0, cursor)?;
        values::parse_unsigned(cursor, view.bytes_mut(field))
    }
}

/// A one-byte field whose members have names in text only.
pub(super) struct Named(pub(super) &'static str, pub(super) &'static EnumTable);

impl Piece for Named {
    fn print(&self, view: &View) -> Option<Shown> {
        let value = view.get_byte(self.0)?;
        Some(Shown { text: values::print_member(self.1, value), ours: self.1.name_of(value).is_none() })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let field = view.demand(self.0, cursor)?;
        values::parse_member(cursor, self.1, view.bytes_mut(field))
    }
}

/// Another piece of which the vendor's text is known for one value only.
pub(super) struct SeenOnly<P>(pub(super) P, pub(super) &'static str);

impl<P: Piece> Piece for SeenOnly<P> {
    fn print(&self, view: &View) -> Option<Shown> {
        let shown = self.0.print(view)?;
        Some(Shown { ours: shown.ours || shown.text != self.1, ..shown })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        self.0.parse(cursor, view)
    }
}

/// Fixed text, without a field behind it.
pub(super) struct Literal(pub(super) &'static str);

impl Piece for Literal {
    fn print(&self, _: &View) -> Option<Shown> {
        Some(vendor(self.0.to_owned()))
    }

    fn parse(&self, cursor: &mut Cursor, _: &mut View) -> Parsed<()> {
        if cursor.eat(self.0) { Ok(()) } else { Err(cursor.syntax(format!("`{}`", self.0))) }
    }
}

/// Where the datatype of an operand stands.
#[derive(Clone, Copy)]
pub(super) enum DtypeAt {
    /// In a field of its own.
    Field(&'static str),
    /// In the low nibble of a pair.
    Low(&'static str),
    /// In the high nibble of a pair.
    High(&'static str),
}

impl DtypeAt {
    fn get(self, view: &View) -> Option<Dtype> {
        Some(Dtype(match self {
            DtypeAt::Field(name) => view.get_byte(name)?,
            DtypeAt::Low(name) => view.get_byte(name)? & 0xF,
            DtypeAt::High(name) => view.get_byte(name)? >> 4,
        }))
    }

    fn parse(self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        let (DtypeAt::Field(name) | DtypeAt::Low(name) | DtypeAt::High(name)) = self;
        let field = view.demand(name, cursor)?;
        let dtype = match self {
            DtypeAt::Field(_) => values::parse_dtype(cursor)?,
            DtypeAt::Low(_) | DtypeAt::High(_) => values::parse_nibble_dtype(cursor)?,
        };
        let byte = &mut view.bytes_mut(field)[0];
        *byte = match self {
            DtypeAt::Field(_) => dtype.0,
            DtypeAt::Low(_) => *byte & 0xF0 | dtype.0,
            DtypeAt::High(_) => *byte & 0x0F | dtype.0 << 4,
        };
        cursor.expect("@")
    }
}

/// `dtype@` in front of another piece: `fp32@0x4800[1,1,1,1][1,4,1,1]`.
pub(super) struct Typed(pub(super) DtypeAt, pub(super) &'static dyn Piece);

impl Piece for Typed {
    fn print(&self, view: &View) -> Option<Shown> {
        let dtype = self.0.get(view)?;
        let shown = self.1.print(view)?;
        let ours = shown.ours || !SEEN_DTYPES.contains(&dtype);
        Some(Shown { text: format!("{}@{}", dtype.text(), shown.text), ours })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        self.0.parse(cursor, view)?;
        self.1.parse(cursor, view)
    }

    fn shape(&self, view: &View) -> OperandShape {
        self.1.shape(view).typed()
    }
}

/// Two pieces with a separator.
pub(super) struct Both(pub(super) &'static dyn Piece, pub(super) &'static str, pub(super) &'static dyn Piece);

impl Piece for Both {
    fn print(&self, view: &View) -> Option<Shown> {
        let (first, second) = (self.0.print(view)?, self.2.print(view)?);
        let text = format!("{}{}{}", first.text, self.1, second.text);
        Some(Shown { text, ours: first.ours || second.ours })
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        self.0.parse(cursor, view)?;
        cursor.expect(self.1)?;
        self.2.parse(cursor, view)
    }
}

/// One or two numbers: the second where the field `when` is not zero.
pub(super) struct OneOrTwo {
    pub(super) first: Number,
    pub(super) second: Number,
    pub(super) when: &'static str,
}

impl Piece for OneOrTwo {
    fn print(&self, view: &View) -> Option<Shown> {
        let first = self.first.print(view)?.text;
        if view.get(self.when)? == 0 {
            return Some(vendor(first));
        }
        Some(vendor(format!("{first},{}", self.second.print(view)?.text)))
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        self.first.parse(cursor, view)?;
        if cursor.eat(",") { self.second.parse(cursor, view) } else { Ok(()) }
    }
}

/// A pattern without a start: `[2048,1][128,1]`, steps and counts.
pub(super) struct Walk(pub(super) &'static str, pub(super) &'static str);

impl Piece for Walk {
    fn print(&self, view: &View) -> Option<Shown> {
        Some(vendor(Exact(self.0).print(view)?.text + &Exact(self.1).print(view)?.text))
    }

    fn parse(&self, cursor: &mut Cursor, view: &mut View) -> Parsed<()> {
        Exact(self.0).parse(cursor, view)?;
        Exact(self.1).parse(cursor, view)
    }
}
