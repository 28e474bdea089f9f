//! The ALU operator table (chapter 03 section 7). Evaluation is in [`crate::num`].

use super::Generation;

/// An ALU operator code: one numbering for every word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct AluOp(pub u8);

/// The class of an operator (chapter 03 section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AluClass {
    /// Arithmetic and bit-vector words.
    Both,
    /// Arithmetic words.
    Arith,
    /// Bit-vector words.
    Bitvec,
    /// The integer band.
    Int,
    /// Arg-max and arg-min: reductions only.
    ArgReduce,
}

/// A predicate set of chapter 03 section 7.3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AluSet {
    /// general_arith.
    GA = 1,
    /// arith.
    AR = 2,
    /// general_bitvec.
    BV = 4,
    /// int_set.
    IS = 8,
    /// Legal for signed operands of the integer set.
    SG = 16,
    /// Legal for unsigned operands of the integer set.
    UN = 32,
    /// dve_int of V.
    DI = 64,
}

/// One row of the operator table.
#[derive(Debug)]
pub struct AluInfo {
    /// The code.
    pub code: AluOp,
    /// The manual's name.
    pub name: &'static str,
    /// The name in operand text.
    pub text: &'static str,
    /// The class.
    pub class: AluClass,
    /// Operands read: 1 or 2.
    pub arity: u8,
    /// Present on SUNDA, CAYMAN, MARIANA, MAVERICK.
    pub present: [bool; 4],
    /// Bits of [`AluSet`].
    pub sets: u8,
}

macro_rules! alu_table {
    (@flag Y) => { true };
    (@flag -) => { false };
    ($($code:literal $name:ident $text:literal $class:ident $arity:literal $s:tt $c:tt $m:tt $v:tt
       [$($set:ident)*];)*) => {
        #[allow(missing_docs)]
        impl AluOp {
            $(pub const $name: AluOp = AluOp($code);)*
            /// Every operator, ascending by code.
            pub const TABLE: &[AluInfo] = &[$(AluInfo {
                code: AluOp($code),
                name: stringify!($name),
                text: $text,
                class: AluClass::$class,
                arity: $arity,
                present: [alu_table!(@flag $s), alu_table!(@flag $c), alu_table!(@flag $m), alu_table!(@flag $v)],
                sets: 0 $(| AluSet::$set as u8)*,
            }),*];
        }
    };
}

alu_table! {
    0x00 BYPASS             "BYPASS"           Both      1  Y Y Y Y  [GA AR BV DI];
    0x01 BITWISE_NOT        "BITWISE_NOT"      Bitvec    1  Y Y Y Y  [BV];
    0x02 ARITH_SHIFT_LEFT   "ARITH_SHIFT_LEFT" Bitvec    2  Y Y Y Y  [BV];
    0x03 ARITH_SHIFT_RIGHT  "ARITH_SHIFT_RIGHT" Bitvec    2  Y Y Y Y  [BV];
    0x04 ADD                "ADD"              Arith     2  Y Y Y Y  [GA AR];
    0x05 SUBTRACT           "SUBTRACT"         Arith     2  Y Y Y Y  [GA AR];
    0x06 MULT               "MULTIPLY"         Arith     2  Y Y Y Y  [GA AR];
    0x07 DIVIDE             "DIVIDE"           Arith     2  Y Y Y Y  [AR];
    0x08 MAX                "MAX"              Arith     2  Y Y Y Y  [GA AR];
    0x09 MIN                "MIN"              Arith     2  Y Y Y Y  [GA AR];
    0x0A BITWISE_AND        "BITWISE_AND"      Bitvec    2  Y Y Y Y  [BV];
    0x0B BITWISE_OR         "BITWISE_OR"       Bitvec    2  Y Y Y Y  [BV];
    0x0C BITWISE_XOR        "BITWISE_XOR"      Bitvec    2  Y Y Y Y  [BV];
    0x0D LOGICAL_AND        "LOGICAL_AND"      Arith     2  Y Y Y Y  [GA AR];
    0x0E LOGICAL_OR         "LOGICAL_OR"       Arith     2  Y Y Y Y  [GA AR];
    0x0F LOGICAL_XOR        "LOGICAL_XOR"      Arith     2  Y Y Y Y  [GA AR];
    0x10 LOGICAL_SHIFT_LEFT "LOGICAL_SHIFT_LEFT" Bitvec    2  Y Y Y Y  [BV];
    0x11 LOGICAL_SHIFT_RIGHT "LOGICAL_SHIFT_RIGHT" Bitvec    2  Y Y Y Y  [BV];
    0x12 IS_EQ              "IS_EQ"            Arith     2  Y Y Y Y  [GA AR];
    0x13 IS_GT              "IS_GT"            Arith     2  Y Y Y Y  [GA AR];
    0x14 IS_GE              "IS_GE"            Arith     2  Y Y Y Y  [GA AR];
    0x15 IS_LE              "IS_LE"            Arith     2  Y Y Y Y  [GA AR];
    0x16 IS_LT              "IS_LT"            Arith     2  Y Y Y Y  [GA AR];
    0x17 ABSOLUTE_DIFF      "ABSOLUTE_DIFF"    Arith     2  Y Y Y Y  [GA AR];
    0x18 IS_NE              "IS_NE"            Arith     2  Y Y Y Y  [GA AR];
    0x19 ABSOLUTE_VALUE     "ABSOLUTE_VALUE"   Arith     1  Y Y Y Y  [GA AR];
    0x1A POW                "POW"              Arith     2  Y Y Y Y  [AR];
    0x1B MOD                "MOD"              Arith     2  Y Y Y Y  [AR IS SG UN];
    0x1C CRC32              "CRC32"            Bitvec    2  Y Y Y Y  [];
    0x1D RSQRT              "RSQRT"            Arith     1  Y Y Y Y  [AR];
    0x20 ABS_MAX            "ABS_MAX"          Arith     2  - - Y Y  [GA AR];
    0x21 ABS_MIN            "ABS_MIN"          Arith     2  - - Y Y  [GA AR];
    0x22 RE_LU              "RE_LU"            Arith     1  - - Y Y  [GA AR];
    0x23 SQUARE             "SQUARE"           Arith     1  - - Y Y  [GA AR];
    0x24 SYMMETRIC_CLAMP    "SYMMETRIC_CLAMP"  Arith     2  - - - Y  [];
    0xC4 ADD_INT            "ADD_INT"          Int       2  Y Y Y Y  [AR IS SG UN DI];
    0xC5 MULT_INT           "MULT_INT"         Int       2  Y Y Y Y  [AR IS SG UN DI];
    0xC6 SUBTRACT_INT       "SUBTRACT_INT"     Int       2  Y Y Y Y  [AR IS SG UN DI];
    0xC7 DIVIDE_INT         "DIVIDE_INT"       Int       2  - Y Y Y  [AR IS SG UN];
    0xC8 MOD_INT            "MOD_INT"          Int       2  - Y Y Y  [AR IS SG UN];
    0xC9 IS_EQUAL_INT       "IS_EQUAL_INT"     Int       2  - Y Y Y  [IS SG UN DI];
    0xCA IS_NE_INT          "IS_NE_INT"        Int       2  - Y Y Y  [IS SG UN DI];
    0xCB ABS_MAX_INT        "ABS_MAX_INT"      Int       2  - Y Y Y  [IS SG DI];
    0xCC ABS_MIN_INT        "ABS_MIN_INT"      Int       2  - Y Y Y  [IS SG DI];
    0xCD ABS_DIFF_INT       "ABS_DIFF_INT"     Int       2  - Y Y Y  [IS SG DI];
    0xCE ABS_VALUE_INT      "ABS_VALUE_INT"    Int       1  - Y Y Y  [];
    0xCF MAX_INT            "MAX_INT"          Int       2  - Y Y Y  [IS SG DI];
    0xD0 MIN_INT            "MIN_INT"          Int       2  - Y Y Y  [IS SG DI];
    0xD1 IS_GT_INT          "IS_GT_INT"        Int       2  - Y Y Y  [IS SG DI];
    0xD2 IS_GE_INT          "IS_GE_INT"        Int       2  - Y Y Y  [IS SG DI];
    0xD3 IS_LE_INT          "IS_LE_INT"        Int       2  - Y Y Y  [IS SG DI];
    0xD4 IS_LT_INT          "IS_LT_INT"        Int       2  - Y Y Y  [IS SG DI];
    0xD5 MAX_UINT           "MAX_UINT"         Int       2  - Y Y Y  [IS UN];
    0xD6 MIN_UINT           "MIN_UINT"         Int       2  - Y Y Y  [IS UN];
    0xD7 IS_GT_UINT         "IS_GT_UINT"       Int       2  - Y Y Y  [IS UN];
    0xD8 IS_GE_UINT         "IS_GE_UINT"       Int       2  - Y Y Y  [IS UN];
    0xD9 IS_LE_UINT         "IS_LE_UINT"       Int       2  - Y Y Y  [IS UN];
    0xDA IS_LT_UINT         "IS_LT_UINT"       Int       2  - Y Y Y  [IS UN];
    0xDB MULT_UINT          "MULT_UINT"        Int       2  - Y Y Y  [IS UN];
    0xDC DIVIDE_UINT        "DIVIDE_UINT"      Int       2  - Y Y Y  [IS UN];
    0xDD MOD_UINT           "MOD_UINT"         Int       2  - Y Y Y  [IS UN];
    0xDE AMAX_INT           "AMAX_INT"         ArgReduce 1  - Y Y Y  [];
    0xDF AMIN_INT           "AMIN_INT"         ArgReduce 1  - Y Y Y  [];
    0xE0 AMAX_UINT          "AMAX_UINT"        ArgReduce 1  - Y Y Y  [];
    0xE1 AMIN_UINT          "AMIN_UINT"        ArgReduce 1  - Y Y Y  [];
}

/// Codes to table positions, 0xFF where no operator has the code.
const INDEX: [u8; 256] = {
    let mut index = [0xFF; 256];
    let mut i = 0;
    while i < AluOp::TABLE.len() {
        index[AluOp::TABLE[i].code.0 as usize] = i as u8;
        i += 1;
    }
    index
};

impl AluOp {
    /// The table row; `None` if no operator has this code.
    pub fn info(self) -> Option<&'static AluInfo> {
        Self::TABLE.get(usize::from(INDEX[usize::from(self.0)]))
    }

    /// Present on this generation.
    pub fn exists_on(self, generation: Generation) -> bool {
        self.info().is_some_and(|i| i.present[generation.index()])
    }

    /// Member of a predicate set on this generation.
    pub fn in_set(self, set: AluSet, generation: Generation) -> bool {
        self.info().is_some_and(|i| i.sets & set as u8 != 0 && i.present[generation.index()])
    }

    /// Reads one operand only: ignores the reverse flag.
    pub fn is_unary(self) -> bool {
        self.info().is_some_and(|i| i.arity == 1)
    }

    /// The name in operand text, or the code in hexadecimal.
    pub fn text(self) -> String {
        self.info().map_or_else(|| format!("0x{:02x}", self.0), |i| i.text.to_owned())
    }

    /// Accepts the text name, the manual's name and a hexadecimal code.
    pub fn parse(text: &str) -> Option<AluOp> {
        let named = Self::TABLE
            .iter()
            .find(|i| text.eq_ignore_ascii_case(i.text) || text.eq_ignore_ascii_case(i.name))
            .map(|i| i.code);
        named.or_else(|| u8::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(AluOp))
    }
}
