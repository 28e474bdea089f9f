//! The datatype table (chapter 03 section 6.1). Conversions are in [`crate::num`].

use super::Generation;
use crate::save::saved;

/// A datatype code: one numbering for compute, DMA and collectives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Dtype(pub u8);

saved!(wrapper Dtype);

/// What kind of number a datatype holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DtypeKind {
    /// The sentinel.
    None,
    /// Signed integer.
    Int,
    /// Unsigned integer.
    Uint,
    /// Floating point.
    Float,
    /// MX block scale.
    Scale,
    /// Compressed stream.
    Trellis,
}

/// One row of the datatype table.
#[derive(Debug)]
pub struct DtypeInfo {
    /// The code.
    pub code: Dtype,
    /// The manual's name.
    pub name: &'static str,
    /// The name in operand text.
    pub text: &'static str,
    /// Kind of number.
    pub kind: DtypeKind,
    /// Bits of an element.
    pub bits: u8,
    /// Present on SUNDA, CAYMAN, MARIANA, MAVERICK.
    pub present: [bool; 4],
    /// Exponent bits, explicit mantissa bits and bias of float formats, else zeros.
    pub float: (u8, u8, i16),
}

macro_rules! dtype_table {
    (@flag Y) => { true };
    (@flag -) => { false };
    ($($code:literal $name:ident $text:literal $kind:ident $bits:literal $s:tt $c:tt $m:tt $v:tt
       ($exp:literal $man:literal $bias:literal);)*) => {
        #[allow(missing_docs)]
        impl Dtype {
            $(pub const $name: Dtype = Dtype($code);)*
            /// Every datatype, ascending by code.
            pub const TABLE: &[DtypeInfo] = &[$(DtypeInfo {
                code: Dtype($code),
                name: stringify!($name),
                text: $text,
                kind: DtypeKind::$kind,
                bits: $bits,
                present: [dtype_table!(@flag $s), dtype_table!(@flag $c), dtype_table!(@flag $m), dtype_table!(@flag $v)],
                float: ($exp, $man, $bias),
            }),*];
        }
    };
}

dtype_table! {
    0x00 INVALID   "invalid" None 0 Y Y Y Y (0 0 0);
    0x01 UINT64    "uint64" Uint 64 Y Y Y Y (0 0 0);
    0x02 INT8      "int8" Int 8 Y Y Y Y (0 0 0);
    0x03 UINT8     "uint8" Uint 8 Y Y Y Y (0 0 0);
    0x04 INT16     "int16" Int 16 Y Y Y Y (0 0 0);
    0x05 UINT16    "uint16" Uint 16 Y Y Y Y (0 0 0);
    0x06 BFLOAT16  "bfloat16" Float 16 Y Y Y Y (8 7 127);
    0x07 FP16      "fp16" Float 16 Y Y Y Y (5 10 15);
    0x08 INT32     "int32" Int 32 Y Y Y Y (0 0 0);
    0x09 UINT32    "uint32" Uint 32 Y Y Y Y (0 0 0);
    0x0A FP32      "fp32" Float 32 Y Y Y Y (8 23 127);
    0x0B FP32R     "fp32r" Float 32 Y Y Y Y (8 13 127);
    0x0C INT64     "int64" Int 64 Y Y Y Y (0 0 0);
    0x0D FP8_EXP3  "fp8_e3m4" Float 8 Y Y Y Y (3 4 3);
    0x0E FP8_EXP4  "fp8_e4m3" Float 8 Y Y Y Y (4 3 7);
    0x0F FP8_EXP5  "fp8_e5m2" Float 8 Y Y Y Y (5 2 15);
    0x10 FP4_EXP2  "fp4_exp2" Float 4 - - Y Y (2 1 1);
    0x11 FP8_EXP2  "fp8_exp2" Float 8 - - - Y (2 5 1);
    0x12 INT4      "int4" Int 4 - - - Y (0 0 0);
    0x13 SFP8_E8   "sfp8_e8" Scale 8 - - - Y (8 0 127);
    0x14 SFP8_E7   "sfp8_e7" Scale 8 - - - Y (7 1 63);
    0x15 SFP8_E6   "sfp8_e6" Scale 8 - - - Y (6 2 31);
    0x16 SFP8_E5   "sfp8_e5" Scale 8 - - - Y (5 3 15);
    0x19 CPTC1     "cptc1" Trellis 1 - - Y Y (0 0 0);
    0x1A CPTC2     "cptc2" Trellis 2 - - Y Y (0 0 0);
    0x1B CPTC3     "cptc3" Trellis 3 - - Y Y (0 0 0);
    0x1C CPTC4     "cptc4" Trellis 4 - - Y Y (0 0 0);
    0x1D CPTC5     "cptc5" Trellis 5 - - Y Y (0 0 0);
    0x1E CPTC6     "cptc6" Trellis 6 - - Y Y (0 0 0);
    0x1F CPTC7     "cptc7" Trellis 7 - - Y Y (0 0 0);
}

/// Codes to table positions, 0xFF where no datatype has the code.
const INDEX: [u8; 256] = {
    let mut index = [0xFF; 256];
    let mut i = 0;
    while i < Dtype::TABLE.len() {
        index[Dtype::TABLE[i].code.0 as usize] = i as u8;
        i += 1;
    }
    index
};

impl Dtype {
    /// The table row; `None` if no datatype has this code.
    pub fn info(self) -> Option<&'static DtypeInfo> {
        Self::TABLE.get(usize::from(INDEX[usize::from(self.0)]))
    }

    /// Bytes of one element in memory; 0 for sub-byte, sentinel and unknown codes.
    pub fn bytes(self) -> usize {
        self.info().map_or(0, |i| usize::from(i.bits) / 8)
    }

    /// Present on this generation; the sentinel is not.
    pub fn exists_on(self, generation: Generation) -> bool {
        self != Dtype::INVALID && self.info().is_some_and(|i| i.present[generation.index()])
    }

    /// The name in operand text, or the code in hexadecimal.
    pub fn text(self) -> String {
        self.info().map_or_else(|| format!("0x{:02x}", self.0), |i| i.text.to_owned())
    }

    /// Accepts the text name, the manual's name and a hexadecimal code.
    pub fn parse(text: &str) -> Option<Dtype> {
        let named = Self::TABLE
            .iter()
            .find(|i| text.eq_ignore_ascii_case(i.text) || text.eq_ignore_ascii_case(i.name))
            .map(|i| i.code);
        named.or_else(|| u8::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(Dtype))
    }

    /// Signed or unsigned integer of at least eight bits.
    pub fn is_integer(self) -> bool {
        matches!(self.0, 1..=5 | 8 | 9 | 0xC)
    }

    /// Signed integer of at least eight bits.
    pub fn is_signed(self) -> bool {
        matches!(self.0, 2 | 4 | 8 | 0xC)
    }

    /// Floating point, FP32R included.
    pub fn is_float(self) -> bool {
        self.info().is_some_and(|i| i.kind == DtypeKind::Float)
    }

    /// INT64 or UINT64.
    pub fn is_64bit(self) -> bool {
        matches!(self, Dtype::UINT64 | Dtype::INT64)
    }
}
