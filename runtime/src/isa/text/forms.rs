//! The forms of operand text, one entry for each that the vendor prints or that the manual decides by analogy
//! (chapter 09 section 2.1). Opcodes without an entry print every field in struct order.

use super::super::Dtype;
use super::super::field::{BranchMode, EnumTable, ImmSrc, ImmSrcN};
use super::super::op;
use super::pieces::{
    Both, DtypeAt, Exact, Literal, Named, Number, OneOrTwo, Piece, Radix, SeenOnly, Typed, Walk,
};
use super::special::{
    AddressPart, Compare, CompareOperand, Count, Immediate, Immediates, Label, List, Part, Pointer, Register,
    Scalar, Setter, Source, Target,
};
use super::view::View;

/// The operand text of some opcodes.
pub(super) struct Form {
    pub(super) opcodes: &'static [u8],
    /// Vendor text of this form is known.
    pub(super) seen: bool,
    pub(super) items: &'static [&'static [Item]],
    /// What compilers emit in one-byte fields that the text does not show, where it is not zero.
    pub(super) defaults: &'static [(&'static str, u8)],
    /// A redundant count and the tensor whose element count it holds.
    pub(super) counted: Option<(&'static str, &'static str)>,
}

/// One operand of a form.
pub(super) struct Item {
    /// What stands in front of `=`; empty for operands that are known by their place.
    pub(super) key: &'static str,
    pub(super) piece: &'static dyn Piece,
    pub(super) when: When,
    /// One more blank stands in front.
    pub(super) gap: bool,
}

/// When an operand prints.
#[derive(Clone, Copy)]
pub(super) enum When {
    Always,
    /// This field is not zero.
    NonZero(&'static str),
    /// These fields differ.
    Differ(&'static str, &'static str),
}

impl When {
    pub(super) fn holds(self, view: &View) -> bool {
        match self {
            When::Always => true,
            When::NonZero(name) => view.get(name).is_some_and(|value| value != 0),
            When::Differ(a, b) => view.get(a) != view.get(b),
        }
    }
}

impl Form {
    pub(super) fn items(&self) -> impl Iterator<Item = &'static Item> {
        self.items.iter().flat_map(|group| group.iter())
    }

    /// The form of an opcode.
    pub(super) fn of(opcode: u8) -> Option<&'static Form> {
        FORMS.iter().find(|form| form.opcodes.contains(&opcode))
    }
}

const fn item(key: &'static str, piece: &'static dyn Piece) -> Item {
    Item { key, piece, when: When::Always, gap: false }
}

const fn when(condition: When, key: &'static str, piece: &'static dyn Piece) -> Item {
    Item { key, piece, when: condition, gap: false }
}

const fn after_gap(key: &'static str, piece: &'static dyn Piece) -> Item {
    Item { key, piece, when: When::Always, gap: true }
}

const IN: DtypeAt = DtypeAt::Field("in_dtype");
const OUT: DtypeAt = DtypeAt::Field("out_dtype");
const SRC: Item = item("src", &Typed(IN, &Exact("src")));
const DST: Item = item("dst", &Typed(OUT, &Exact("dst")));
const CHANNELS: Item = item("channels", &Exact("num_active_channels"));
const FP32_MODE: Item = when(When::NonZero("fp32_mode"), "fp32_mode", &Exact("fp32_mode"));
const ROWS_COLS: Item = item("", &Both(&Exact("num_active_rows"), "*", &Exact("num_active_cols")));

const BIAS: Source = Source {
    value: "bias",
    source: "bias_src_n",
    instruction: ImmSrcN::INSTRUCTION.0,
    pointer: ImmSrcN::PTR.0,
    immediate_seen: false,
};
const SCALE: Source = Source {
    value: "scale_value",
    source: "scale_src",
    instruction: ImmSrc::INSTRUCTION.0,
    pointer: ImmSrc::PTR.0,
    immediate_seen: true,
};
const IMM: Source = Source { value: "imm", source: "imm_src", ..SCALE };

/// One side of a DMA word: its address by form, its shape register.
macro_rules! address {
    ($field:literal, $side:literal, $offsets:ident) => {
        [
            item(concat!($side, "_addr_imm"), &AddressPart($field, Part::Immediate, Radix::Hex)),
            item(
                concat!($side, "_table_offset_imm"),
                &AddressPart($field, Part::TableOffset, Radix::$offsets),
            ),
            item(concat!($side, "_table_index"), &AddressPart($field, Part::TableIndex, Radix::Decimal)),
            item(concat!($side, "_var_id"), &AddressPart($field, Part::VariableId, Radix::Decimal)),
            item(concat!($side, "_var_offset"), &AddressPart($field, Part::VariableOffset, Radix::$offsets)),
            item(concat!($side, "_addr"), &AddressPart($field, Part::Other, Radix::Hex)),
            item(concat!($side, "_shape_reg"), &Literal("0")),
        ]
    };
}

/// What DMA_DIRECT2D and PSEUDO_DMA_DIRECT2D share.
const DMA_SHAPE: [Item; 6] = [
    item("semaphore", &Exact("semaphore")),
    item("sem_increment", &Exact("sem_increment")),
    after_gap("src_elem_size", &Exact("src_elem_size")),
    item("dst_elem_size", &Exact("dst_elem_size")),
    item("src_pattern", &Walk("src_step_elem", "src_num_elem")),
    item("dst_pattern", &Walk("dst_step_elem", "dst_num_elem")),
];
const DMA_DTYPES: [Item; 2] = [
    when(When::Differ("in_dtype", "out_dtype"), "in_dtype", &Exact("in_dtype")),
    when(When::Differ("in_dtype", "out_dtype"), "out_dtype", &Exact("out_dtype")),
];
const DMA_DEFAULTS: &[(&str, u8)] = &[("in_dtype", Dtype::FP32.0), ("out_dtype", Dtype::FP32.0)];

/// `addr=uint32@0x8005c0365000[1,0][2,1]` of TENSOR_LOAD and TENSOR_STORE.
const MEMORY: Item = item(
    "addr",
    &Typed(DtypeAt::Field("dtype"), &Both(&Exact("start_addr"), "", &Walk("step_elem", "num_elem"))),
);
const MEMORY_DATA: Item = item(
    "data",
    &List {
        count: Count::Product("num_elem"),
        registers: "data",
        immediates: Some(Immediates { source: "src_datasrc", data: "data", size: None }),
    },
);

const SEEN: Form = Form { opcodes: &[], seen: true, items: &[], defaults: &[], counted: None };
const OURS: Form = Form { seen: false, ..SEEN };

/// Every form.
pub(super) const FORMS: &[Form] = &[
    Form {
        opcodes: &[op::LDWEIGHTS],
        items: &[&[FP32_MODE, item("transpose_mode", &Named("transpose_mode", &SWITCH)), SRC, ROWS_COLS]],
        defaults: &[("row_grp", 0x0F), ("col_grp", 0x0F), ("xbus_sel", 0x0F)],
        ..SEEN
    },
    Form {
        opcodes: &[op::MATMUL],
        items: &[&[
            item("acc_flags", &Number("psum_accumulate_flags", Radix::Decimal)),
            FP32_MODE,
            SRC,
            item("dst", &Exact("dst")),
            ROWS_COLS,
        ]],
        defaults: &[("row_grp", 0x0F), ("col_grp", 0x0F), ("xbus_sel", 0x10)],
        ..SEEN
    },
    Form {
        opcodes: &[op::ACTIVATE],
        items: &[&[
            item("", &SeenOnly(Named("activation_func", &FUNCTIONS), "EXP")),
            item("bias_ptr", &Typed(DtypeAt::High("in_bias_dtype"), &Pointer(&BIAS))),
            item("bias", &Immediate(&BIAS)),
            item("src", &Typed(DtypeAt::Low("in_bias_dtype"), &Exact("src"))),
            DST,
            CHANNELS,
            item("scale", &Immediate(&SCALE)),
            item("scale_ptr", &Pointer(&SCALE)),
            item("imm", &Immediate(&IMM)),
            item("imm_ptr", &Pointer(&IMM)),
            item("accumulator_cmd", &Exact("accumulator_cmd")),
        ]],
        // The datatype of an immediate bias, in the high nibble.
        defaults: &[("in_bias_dtype", Dtype::FP32.0 << 4)],
        ..SEEN
    },
    Form {
        opcodes: &[op::ACTIVATION_TABLE_LOAD],
        items: &[&[item("table_sel", &Exact("act_tbl_sel"))]],
        ..SEEN
    },
    Form {
        opcodes: &[op::TENSOR_REDUCE_ARITH_OP],
        items: &[&[
            item("op", &Exact("op")),
            item("dim", &Exact("op_dim")),
            when(When::NonZero("negated"), "negated", &Exact("negated")),
            SRC,
            DST,
            CHANNELS,
        ]],
        ..SEEN
    },
    Form {
        opcodes: &[op::TENSOR_SCALAR_ARITH_OP],
        items: &[&[
            item("ops", &Both(&Exact("op0"), ",", &Exact("op1"))),
            item("imm", &Both(&IMM0, ",", &IMM1)),
            item("imm_src", &Both(&Exact("imm0_src"), ",", &Exact("imm1_src"))),
            SRC,
            DST,
            CHANNELS,
        ]],
        ..SEEN
    },
    Form { opcodes: &[op::COPY, op::CAST, op::RECIPROCAL], items: &[&[SRC, DST, CHANNELS]], ..SEEN },
    Form {
        opcodes: &[op::TENSOR_TENSOR_ARITH_OP],
        items: &[&[
            item("op", &Exact("op")),
            item("src0", &Typed(DtypeAt::Low("in0_in1_dtype"), &Exact("src0"))),
            item("src1", &Typed(DtypeAt::High("in0_in1_dtype"), &Exact("src1"))),
            DST,
            CHANNELS,
        ]],
        ..OURS
    },
    Form {
        opcodes: &[op::MEMSET],
        items: &[&[
            item("value", &Exact("set_value")),
            item("dst", &Typed(DtypeAt::Field("dtype"), &Exact("dst"))),
            CHANNELS,
        ]],
        counted: Some(("dst_element_count", "dst")),
        ..OURS
    },
    Form {
        opcodes: &[op::DMAMEMCPY],
        items: &[
            &DMA_SHAPE,
            &address!("src_start_addr", "src", Hex),
            &address!("dst_start_addr", "dst", Hex),
            &DMA_DTYPES,
            &[item("compute_op", &Exact("compute_op"))],
        ],
        defaults: DMA_DEFAULTS,
        ..SEEN
    },
    Form {
        opcodes: &[op::PSEUDO_DMA_DIRECT2D],
        items: &[
            &[item("dge_op", &SeenOnly(Exact("dge_op"), "DIRECT2D"))],
            &DMA_SHAPE,
            &address!("src_start_addr", "src", Decimal),
            &address!("dst_start_addr", "dst", Decimal),
            &DMA_DTYPES,
        ],
        defaults: DMA_DEFAULTS,
        ..SEEN
    },
    Form { opcodes: &[op::NOP], items: &[&[item("cycle", &Exact("cycle_count"))]], ..SEEN },
    Form { opcodes: &[op::DRAIN], ..SEEN },
    Form {
        opcodes: &[op::PSEUDO_DMATRIGGER],
        items: &[&[item("", &Exact("dma_queue_name")), item("block_id", &Exact("block_id_or_count"))]],
        ..SEEN
    },
    Form {
        opcodes: &[op::PSEUDO_TRIGGER_COLLECTIVE],
        items: &[&[
            item("ctype", &Named("ctype", &COLLECTIVES)),
            item("input_tensor_id", &Exact("input_tensor_id")),
            item("output_tensor_id", &Exact("output_tensor_id")),
            item("num_elements", &Number("num_elements", Radix::Decimal)),
            item("dtype", &Exact("dtype")),
            item("op", &Exact("op")),
            item("group_id", &Exact("group_id")),
        ]],
        ..SEEN
    },
    Form {
        opcodes: &[op::WRITE],
        items: &[&[
            item("data", &two("data0", "data1", Radix::Hex)),
            item("size", &two("wr_size0", "wr_size1", Radix::Decimal)),
            item("dst", &two("addr0", "addr1", Radix::Hex)),
        ]],
        ..SEEN
    },
    Form {
        opcodes: &[op::NOTIFY],
        items: &[&[
            after_gap("hint", &Exact("hint")),
            item("notification", &Named("kind", &NOTIFICATIONS)),
            after_gap("trace", &Literal("START")),
        ]],
        // INS_FIELD (chapter 03 section 1.1).
        defaults: &[("debug_cmd", 9)],
        ..SEEN
    },
    Form {
        opcodes: &[op::COMPARE_BRANCH],
        items: &[&[
            item("cmp_op", &Compare),
            when(When::NonZero("cmp_op"), "dtype", &Exact("dtype")),
            when(When::NonZero("cmp_op"), "cmp0", &Register("cmp_reg0")),
            when(When::NonZero("cmp_op"), "cmp1", &CompareOperand),
            item("label_id", &Label),
            item("target", &Target),
            when(When::NonZero("debug_hint"), "debugHint", &Exact("debug_hint")),
        ]],
        defaults: &[("target_mode", BranchMode::RELATIVE.0)],
        ..SEEN
    },
    Form { opcodes: &[op::TENSOR_LOAD], items: &[&[MEMORY, MEMORY_DATA]], ..SEEN },
    Form { opcodes: &[op::TENSOR_STORE], items: &[&[MEMORY, MEMORY_DATA]], ..OURS },
    Form {
        opcodes: &[op::MOVE],
        items: &[&[
            item(
                "data",
                &List {
                    count: Count::Field("num_mov"),
                    registers: "src_registers",
                    immediates: Some(Immediates { source: "move_source", data: "immediate", size: Some(4) }),
                },
            ),
            item(
                "dst",
                &List { count: Count::Field("num_mov"), registers: "dst_registers", immediates: None },
            ),
            item("dtype", &Exact("dtype")),
        ]],
        ..OURS
    },
    Form { opcodes: &[op::EVENT_SEMAPHORE], items: &[&[item("setter", &Setter)]], ..SEEN },
    Form {
        opcodes: &[op::EVENT_SEMAPHORE_RANGE_CLEAR],
        items: &[&[
            item("mode", &Named("mode", &RANGE_CLEAR_MODES)),
            item("first", &Exact("first")),
            item("last", &Exact("last")),
        ]],
        ..SEEN
    },
    Form {
        opcodes: &[op::SET_ORDERING_MODE],
        items: &[&[item("ordering_mode", &Named("mode", &ORDERING_MODES))]],
        ..SEEN
    },
];

const IMM0: Scalar = Scalar { value: "imm0", source: "imm0_src" };
const IMM1: Scalar = Scalar { value: "imm1", source: "imm1_src" };

const fn two(first: &'static str, second: &'static str, radix: Radix) -> OneOrTwo {
    OneOrTwo { first: Number(first, radix), second: Number(second, radix), when: "wr_size1" }
}

/// LDWEIGHTS byte 34 (chapter 09 section 2.1).
const SWITCH: EnumTable = EnumTable { name: "switch", members: &[(0, "DISABLED"), (1, "ENABLED")] };
/// Chapter 03 section 5.
const ORDERING_MODES: EnumTable =
    EnumTable { name: "ordering mode", members: &[(0, "relaxed"), (1, "strict")] };
const RANGE_CLEAR_MODES: EnumTable =
    EnumTable { name: "range clear mode", members: &[(1, "SEMAPHORE_ZERO")] };
const NOTIFICATIONS: EnumTable = EnumTable { name: "notification", members: &[(1, "EXPLICIT")] };
/// Chapter 09 section 2.1, chapter 07 section 14.
const COLLECTIVES: EnumTable = EnumTable { name: "collective", members: &[(1, "ALL_REDUCE")] };

/// Activation functions in the spelling of the one that is known, EXP (chapter 05 section 3.7).
pub(super) const FUNCTIONS: EnumTable = EnumTable {
    name: "activation function",
    members: &[
        (1, "IDENTITY"),
        (2, "RELU"),
        (3, "LEAKY_RELU"),
        (4, "PARAMETRIC_RELU"),
        (5, "SIGMOID"),
        (6, "TANH"),
        (7, "EXP"),
        (8, "SQRT"),
        (9, "SOFTPLUS"),
        (10, "LN"),
        (11, "DERIVATIVE_IDENTITY"),
        (12, "DERIVATIVE_RELU"),
        (13, "DERIVATIVE_LEAKY_RELU"),
        (19, "SIN"),
        (21, "ERF"),
        (22, "DERIVATIVE_ERF"),
        (23, "GELU"),
        (24, "MISH"),
        (25, "GELU_APPRX_TANH"),
        (26, "GELU_APPRX_SIGMOID"),
        (28, "ARCTAN"),
        (29, "RECIPROCAL_SQRT"),
        (30, "SQUARE"),
        (31, "SIGN"),
        (32, "DERIVATIVE_GELU"),
        (33, "ABS"),
        (34, "ABS_RECIPROCAL_SQRT"),
        (35, "IS_FINITE"),
        (36, "SILU"),
        (37, "DERIVATIVE_SILU"),
        (38, "DERIVATIVE_GELU_APPRX_SIGMOID"),
        (128, "COPY"),
        (129, "RECIPROCAL"),
        (130, "MEMSET_ZERO"),
    ],
};
