//! What the manual leaves undefined, as data (chapter 00 table B). Refused opcodes are in the opcode
//! table; refused address forms are in the generic checks.

use super::rules::{FIELD_REFUSED, FIELD_UNPROVEN, NO_KERNEL, OPCODE_REFUSED, Rule};
use crate::isa::LayoutId::{self, *};
use crate::isa::{Generation, op};

/// Values of a field (or of some of its bits) whose meaning is unknown.
pub(super) struct Refusal {
    /// The operand struct.
    pub layout: LayoutId,
    /// The one opcode it applies to; `None`: every opcode with the struct.
    pub opcode: Option<u8>,
    /// The field.
    pub field: &'static str,
    /// Bits of the field that count.
    pub mask: u64,
    /// Whether the masked value has a known meaning.
    pub known: fn(u64) -> bool,
    /// In both modes or in strict mode.
    pub rule: &'static Rule,
    /// The values with a known meaning, as text.
    pub expected: &'static str,
}

const fn refuse(
    layout: LayoutId,
    field: &'static str,
    known: fn(u64) -> bool,
    expected: &'static str,
) -> Refusal {
    Refusal { layout, opcode: None, field, mask: u64::MAX, known, rule: FIELD_REFUSED, expected }
}

impl Refusal {
    const fn masked(self, mask: u64) -> Self {
        Refusal { mask, ..self }
    }

    const fn strict_only(self) -> Self {
        Refusal { rule: FIELD_UNPROVEN, ..self }
    }

    const fn of(self, opcode: u8) -> Self {
        Refusal { opcode: Some(opcode), ..self }
    }
}

fn zero(value: u64) -> bool {
    value == 0
}

fn one(value: u64) -> bool {
    value == 1
}

fn zero_or_one(value: u64) -> bool {
    value <= 1
}

/// Every refused field value. Values outside an enum are the enum's business, not listed here.
pub(super) const REFUSALS: &[Refusal] = &[
    // PE (chapter 05 sections 2.2, 2.3).
    refuse(S3_LW_V2, "perf_opt", |v| v != 2, "other than DoubleColumn"),
    refuse(S3_LW_V3, "perf_opt", |v| v != 2, "other than DoubleColumn"),
    refuse(S3_LW_V4, "perf_opt", |v| v != 2, "other than DoubleColumn"),
    refuse(S3D3_MM_V2, "perf_opt", |v| v != 2, "other than DoubleColumn"),
    refuse(S3D3_MM_V3, "perf_opt", |v| v != 2, "other than DoubleColumn"),
    refuse(S3D3_MM_V4, "perf_opt", |v| v != 2, "other than DoubleColumn"),
    refuse(S3_LW_V3, "transpose_mode", zero_or_one, "0 or 1"),
    refuse(S3_LW_V4, "transpose_mode", zero_or_one, "0 or 1"),
    refuse(S3D3_MM_V3, "transpose_mode", zero_or_one, "0 or 1"),
    refuse(S3D3_MM_V4, "transpose_mode", zero_or_one, "0 or 1"),
    refuse(S3_LW_V3, "active_row_mode", zero, "0").strict_only(),
    refuse(S3_LW_V4, "active_row_mode", zero, "0").strict_only(),
    refuse(S3_LT, "active_row_mode", zero, "0").strict_only(),
    refuse(S4D3_MM, "active_row_mode", zero, "0").strict_only(),
    refuse(S4D3_MM, "perf_opt", zero, "0"),
    refuse(S3_LW_V4, "flags", zero, "scalar_mode 0").masked(0x06),
    refuse(S3_LW_V5, "flags", zero, "scalar_mode 0").masked(0x06),
    refuse(S3_LW_V5, "flags", zero, "seed_mode 0").masked(0x18),
    refuse(S3_LW_V4, "flags", zero, "seed_mode 0").masked(0x18),
    refuse(S3D3_MM_V4, "flags", zero, "scalar_mode 0").masked(0x03),
    refuse(S3D3_MM_V4, "flags", zero, "seed_mode 0").masked(0x0C),
    refuse(S3D3_MM_V4, "flags", zero, "xpose_mode 0").masked(0x20),
    refuse(S3D3_MM_V5, "flags", zero, "scalar_mode 0").masked(0x03),
    refuse(S3D3_MM_V5, "flags", zero, "seed_mode 0").masked(0x0C),
    refuse(S3_LW_V5, "perf_mode", |v| !(2..=6).contains(&v), "NONE or QUAD_ROW"),
    refuse(S3D3_MM_V5, "perf_mode", |v| !(2..=6).contains(&v), "NONE or QUAD_ROW"),
    refuse(S2_CONVLUT, "lut_dtype", |v| !(0x19..=0x1F).contains(&v), "the legacy form"),
    // DVE, POOL (chapter 05 section 5.1, chapter 06 section 8).
    refuse(CTRL_IM, "param_ram_offset", |v| v % 4 == 0 && v <= 0x3E0, "a multiple of 4 up to 0x3e0")
        .of(op::LOAD_PARAMETER_RAM),
    refuse(D3_RAND, "rand_algorithm", |v| v != 1 && v != 2, "LFSR or XORWOW"),
    refuse(D3_RAND, "post_process", |v| v != 2, "other than NORMAL"),
    refuse(D4_RAND, "rand_algorithm", |v| v != 1 && v != 2, "LFSR or XORWOW"),
    refuse(S1_RAND, "rand_algorithm", |v| v != 1 && v != 2, "LFSR or XORWOW"),
    refuse(S1_RAND, "update_state", |v| v != 1 && v != 2, "SRC_TENSOR"),
    refuse(EXTENDED, "extended_opcode", |v| ![1, 3, 4, 6, 7].contains(&v), "0, 2, 8 or 9"),
    // Sequencer (chapter 02 section 8).
    refuse(CTRL_NO_A2, "drain_flag", zero_or_one, "0 or 1"),
    refuse(CTRL_NO_A6, "kind", one, "1 (EXPLICIT)"),
    refuse(CTRL_WR, "wr_size0", |v| v == 4, "4"),
    refuse(CTRL_WR, "wr_size1", |v| v == 0 || v == 4, "0 or 4"),
    refuse(CTRL_ER, "mode", one, "1 (SEMAPHORE_ZERO)"),
    refuse(CTRL_MS, "shape_reg_type", zero, "0"),
    refuse(CTRL_BR, "target_mode", |v| v != 2, "0, 1, 3 or 4"),
    refuse(CTRL_BR, "target_mode", |v| v != 4, "0, 1 or 3").strict_only(),
    refuse(CTRL_BR, "cmp_op", |v| !matches!(v, 1 | 2 | 4 | 5 | 0x81..=0x86), "ALWAYS, EQ or GT")
        .strict_only(),
    // DMA and pseudo-words (chapter 06 section 6.2, chapter 07 section 9).
    refuse(DMA_COPY2D, "addr_mode", zero_or_one, "source mode 0 or 1").masked(0x0F),
    refuse(DMA_COPY2D, "addr_mode", |v| v <= 0x10, "destination mode 0 or 1").masked(0xF0),
    refuse(DMA_COPY2D, "sema_update_mode", zero_or_one, "read update 0 or 1").masked(0x0F),
    refuse(DMA_COPY2D, "sema_update_mode", |v| v <= 0x10, "write update 0 or 1").masked(0xF0),
    refuse(PSEUDO_DMA_DIRECT2D, "dge_op", |v| !(1..=3).contains(&v), "DIRECT2D"),
    refuse(PSEUDO_INST, "pseudo_opcode", one, "1 (EXIT_EXECUTION)"),
    refuse(PSEUDO_TRIGGER_COLLECTIVE, "ctype", |v| matches!(v, 0 | 1 | 4 | 7), "0, 1, 4 or 7"),
];

/// Opcodes of a generation's enum that nothing on it is known to run.
pub(super) const REFUSED_ON: &[(u8, Generation, &Rule, &str)] = &[
    (op::PE_MANAGE_SEED, Generation::Maverick, OPCODE_REFUSED, "a generation with a known body"),
    (op::RAND_GET_STATE, Generation::Sunda, OPCODE_REFUSED, "a generation with a known body"),
    (op::RAND_SET_STATE, Generation::Sunda, OPCODE_REFUSED, "a generation with a known body"),
    // its accumulator is read by DVE_READ_ACCUMULATOR (chapter 05 section 7.5)
    (op::ACTIVATION_READ_ACCUMULATOR, Generation::Maverick, NO_KERNEL, "a generation with a handler"),
    (op::TENSOR_DEQUANTIZE, Generation::Sunda, NO_KERNEL, "a generation with a kernel"),
    (op::EXTENDED_INST, Generation::Sunda, NO_KERNEL, "a generation with a bridge"),
    // only CAYMAN's tables ever held programs for the preloaded scalars (chapter 04 P2)
    (op::TENSOR_SCALAR_PTR_MULTI_ARITH, Generation::Mariana, NO_KERNEL, "a generation with a program"),
    (op::TENSOR_SCALAR_PTR_MULTI_ARITH, Generation::Maverick, NO_KERNEL, "a generation with a program"),
    (op::TENSOR_SCALAR_PTR_MULTI_BITVEC, Generation::Mariana, NO_KERNEL, "a generation with a program"),
    (op::TENSOR_SCALAR_PTR_MULTI_BITVEC, Generation::Maverick, NO_KERNEL, "a generation with a program"),
    (op::TENSOR_SCALAR_IMM_LD_ARITH, Generation::Mariana, NO_KERNEL, "a generation with a program"),
    (op::TENSOR_SCALAR_IMM_LD_ARITH, Generation::Maverick, NO_KERNEL, "a generation with a program"),
    (op::TENSOR_SCALAR_IMM_LD_BITVEC, Generation::Mariana, NO_KERNEL, "a generation with a program"),
    (op::TENSOR_SCALAR_IMM_LD_BITVEC, Generation::Maverick, NO_KERNEL, "a generation with a program"),
];

/// The rule by which nothing runs an opcode on a generation that has it, if so.
pub fn refused_on(opcode: u8, generation: Generation) -> Option<&'static Rule> {
    let row = REFUSED_ON.iter().find(|(byte, on, ..)| *byte == opcode && *on == generation);
    row.map(|(_, _, rule, _)| *rule)
}

/// Operand structs in which a set byte outside all fields has an unknown meaning, instead of being
/// reserved (chapter 02 sections 8.2 to 8.7, chapter 05 section 3.6).
pub(super) const UNKNOWN_PAYLOAD: &[LayoutId] =
    &[CTRL_NO_23, CTRL_NO_A1, CTRL_NO_A2, CTRL_NO_A3, CTRL_NO_A4, CTRL_NO_A6, CTRL_WR];

/// Opcodes that are accepted whatever their payload, because it has no effect.
pub(super) const ANY_PAYLOAD: &[u8] = &[op::BRANCH_PREFETCH_HINT, op::PSEUDO_BRANCH_LABEL, op::ENGINE_NOP];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_fields_of_their_struct() {
        for refusal in REFUSALS {
            let def = refusal.layout.def();
            assert!(def.field(refusal.field).is_some(), "{} has no field {}", def.name, refusal.field);
        }
    }
}
