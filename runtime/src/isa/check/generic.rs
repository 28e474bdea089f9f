//! Rules that every word obeys, worked out from the tables (chapter 03 sections 1.1, 2, 3.3, 3.4, 5).

use std::sync::LazyLock;

use super::refusals::{ANY_PAYLOAD, REFUSALS, REFUSED_ON, Refusal, UNKNOWN_PAYLOAD};
use super::{Checker, default_dve_programs, rules};
use crate::isa::field::{Addr4, Addr8, Field, Kind, UpdateMode, WaitMode};
use crate::isa::layouts::FieldDef;
use crate::isa::operand::{Addr4Form, Addr8Form, Events, EventsExt};
use crate::isa::{AluOp, Dtype, EngineId, Execution, Generation, LayoutId, op};

/// Engines that an opcode reaches on some generations only: first and last generation (chapter 03
/// section 8.3, chapter 06 section 0).
const ENGINE_GENERATIONS: &[(u8, EngineId, Generation, Generation)] = &[
    (op::TENSOR_SCALAR_ARITH_OP, EngineId::Act, Generation::Cayman, Generation::Maverick),
    (op::RNG, EngineId::Pool, Generation::Cayman, Generation::Maverick),
    (op::RAND_GET_STATE, EngineId::Dve, Generation::Mariana, Generation::Maverick),
    (op::RAND_SET_STATE, EngineId::Dve, Generation::Mariana, Generation::Maverick),
    (op::RAND_GET_STATE, EngineId::Act, Generation::Mariana, Generation::Mariana),
    (op::RAND_SET_STATE, EngineId::Act, Generation::Mariana, Generation::Mariana),
];

/// What the tables say about an operand struct, worked out once: streams have many words and few structs.
struct LayoutFacts {
    /// Bit n: byte n must be zero.
    reserved: u64,
    refusals: Vec<&'static Refusal>,
}

static LAYOUT_FACTS: LazyLock<Vec<LayoutFacts>> = LazyLock::new(|| {
    let facts = |layout: &LayoutId| LayoutFacts {
        reserved: layout.def().reserved().fold(0, |mask, at| mask | 1 << at),
        refusals: REFUSALS.iter().filter(|r| r.layout == *layout).collect(),
    };
    LayoutId::ALL.iter().map(facts).collect()
});

/// One wait and update block: field names, offsets, modes and operands.
struct WaitUpdate {
    offset: usize,
    names: [&'static str; 2],
    wait_mode: WaitMode,
    update_mode: UpdateMode,
    /// Offset, name and value of the wait's and of the update's operand.
    operands: [(usize, &'static str, u32); 2],
}

impl Checker<'_> {
    /// All generic rules.
    pub(super) fn generic(&mut self) {
        self.header();
        self.opcode();
        if self.decoded.operands.layout().def().events {
            self.wait_update(&events(&self.decoded.events));
        }
        if !ANY_PAYLOAD.contains(&self.decoded.info.byte) {
            self.fields();
            self.reserved();
        }
    }

    fn header(&mut self) {
        let level = self.decoded.word.0[2];
        let opaque =
            self.cx.generation == Generation::Maverick || self.decoded.info.byte == op::PSEUDO_EXTENSION;
        if !opaque && !matches!(level, 0 | 1 | 3 | 5 | 7 | 9) {
            self.report_at(rules::DEBUG_COMMAND, 2, "debug_cmd", level, "0, 1, 3, 5, 7 or 9");
        }
    }

    /// Engine legality, microprograms, refused opcodes.
    fn opcode(&mut self) {
        let (info, cx) = (self.decoded.info, self.cx);
        if let Execution::Refuse(why) = info.execution {
            self.report_at(
                rules::OPCODE_REFUSED,
                0,
                "opcode",
                info.name,
                format_args!("a known opcode: {why}"),
            );
        }
        for (_, _, rule, expected) in
            REFUSED_ON.iter().filter(|(byte, on, ..)| *byte == info.byte && *on == cx.generation)
        {
            let found = format_args!("{} on {}", info.name, cx.generation);
            self.report_at(rule, 0, "opcode", found, expected);
        }
        let reached = |engine: EngineId| {
            let limited =
                ENGINE_GENERATIONS.iter().find(|(byte, on, ..)| *byte == info.byte && *on == engine);
            info.legal_on(engine)
                && limited.is_none_or(|(.., first, last)| (*first..=*last).contains(&cx.generation))
        };
        if !reached(cx.engine) {
            let names: Vec<_> =
                EngineId::ALL.into_iter().filter(|e| reached(*e)).map(EngineId::name).collect();
            let found = format_args!("{} in the {} stream", info.name, cx.engine);
            self.report_at(rules::ENGINE, 0, "opcode", found, names.join(", "));
        } else if cx.engine == EngineId::Dve && !info.legal_on(EngineId::Sp) {
            // words that even SP runs are the sequencer's, not a microprogram's
            let programs = cx.dve_programs.or_else(|| default_dve_programs(cx.generation));
            if programs.is_some_and(|p| !p[usize::from(info.byte)]) {
                self.report_at(rules::DVE_PROGRAM, 0, "opcode", info.name, "an opcode with a DVE program");
            }
        }
    }

    fn wait_update(&mut self, block: &WaitUpdate) {
        let [wait_name, update_name] = block.names;
        let (wait, update) = (block.wait_mode.0, block.update_mode.0);
        let generation = self.cx.generation;
        let offset_form = matches!(wait, 0x91..=0x95);
        if WaitMode::TABLE.name_of(wait).is_none() || (offset_form && generation != Generation::Maverick) {
            let found = format_args!("0x{wait:02x}");
            self.report_at(rules::WAIT_MODE, block.offset, wait_name, found, "a wait mode of the generation");
        } else if block.wait_mode == WaitMode::UNORDERED && generation < Generation::Mariana {
            self.report_at(rules::WAIT_UNORDERED, block.offset, wait_name, "0xfe", "NONE, as which it runs");
        }
        let known_update = UpdateMode::TABLE.name_of(update).is_some();
        if !known_update {
            let found = format_args!("0x{update:02x}");
            self.report_at(rules::UPDATE_MODE, block.offset + 2, update_name, found, "an update mode");
        }
        let [wait_operand, update_operand] = block.operands;
        if matches!(wait, 0x81..=0x85) || offset_form {
            // the offset form keeps a signed offset in bytes 1 to 3
            self.register_operand(wait_operand, !offset_form);
        }
        let shared = matches!(wait, 0x81..=0x85) && wait_operand.0 == update_operand.0;
        if known_update && update & 0x80 != 0 && !shared {
            self.register_operand(update_operand, true);
        }
    }

    /// A register number in a four-byte immediate; `rest_zero` wants the other three bytes zero.
    pub(super) fn register_operand(
        &mut self,
        (offset, name, value): (usize, &'static str, u32),
        rest_zero: bool,
    ) {
        if value & 0xFF > 63 || (rest_zero && value > 0xFF) {
            let found = format_args!("{value:#x}");
            self.report_at(
                rules::REGISTER_OPERAND,
                offset,
                name,
                found,
                "a register 0..63, other bytes zero",
            );
        }
    }

    fn fields(&mut self) {
        let layout = self.decoded.operands.layout();
        let refusals = &LAYOUT_FACTS[layout as usize].refusals;
        for field in layout.def().fields {
            if refusals.is_empty() || !self.refused(field, refusals) {
                self.field(field);
            }
        }
    }

    /// Reports values of a field that table B refuses.
    fn refused(&mut self, field: &FieldDef, refusals: &[&Refusal]) -> bool {
        let opcode = self.decoded.info.byte;
        let mut refused = false;
        for r in refusals.iter().filter(|r| r.field == field.name) {
            let value = self.field_value(field) & r.mask;
            if r.opcode.is_none_or(|o| o == opcode) && !(r.known)(value) {
                self.report(r.rule, field.name, format_args!("{value:#x}"), r.expected);
                refused = true;
            }
        }
        refused
    }

    /// The value of a field of at most eight bytes.
    fn field_value(&self, field: &FieldDef) -> u64 {
        let mut raw = [0; 8];
        let size = field.size.min(8);
        raw[..size].copy_from_slice(&self.decoded.word.0[field.offset..field.offset + size]);
        u64::from_le_bytes(raw)
    }

    /// Membership of the field's value in the set that its kind names.
    fn field(&mut self, field: &FieldDef) {
        let bytes = &self.decoded.word.0[field.offset..field.offset + field.size];
        let (code, generation) = (bytes[0], self.cx.generation);
        let hex = format_args!("0x{code:02x}");
        match field.kind {
            Kind::Enum(table) if table.name_of(code).is_none() => {
                self.report(rules::ENUM_MEMBER, field.name, hex, format_args!("a member of {}", table.name));
            }
            Kind::Dtype if Dtype(code) != Dtype::INVALID && !Dtype(code).exists_on(generation) => {
                self.report(rules::DTYPE_EXISTS, field.name, hex, format_args!("a dtype of {generation}"));
            }
            Kind::Alu if !AluOp(code).exists_on(generation) => {
                let expected = format_args!("an ALU operator of {generation}");
                self.report(rules::ALU_EXISTS, field.name, hex, expected);
            }
            Kind::Alu if AluOp(code) == AluOp::CRC32 => {
                self.report(rules::ALU_REFUSED, field.name, "CRC32", "an operator with a known polynomial");
            }
            Kind::WaitMode if WaitMode::TABLE.name_of(code).is_none() => {
                self.report(rules::WAIT_MODE, field.name, hex, "a wait mode of the generation");
            }
            Kind::UpdateMode if UpdateMode::TABLE.name_of(code).is_none() => {
                self.report(rules::UPDATE_MODE, field.name, hex, "an update mode");
            }
            Kind::Addr4 | Kind::Tensor(_) => self.addr4(field.name, 0, Addr4::read(&bytes[..4]), false),
            Kind::MxPattern => {
                self.addr4(field.name, 0, Addr4::read(&bytes[..4]), false);
                self.addr4(field.name, 4, Addr4::read(&bytes[4..8]), false);
            }
            Kind::Indirect => {
                self.addr4(field.name, 0, Addr4::read(&bytes[..4]), true);
                self.addr4(field.name, 4, Addr4::read(&bytes[4..8]), false);
            }
            Kind::Addr8 => self.addr8(field.name, Addr8::read(bytes)),
            Kind::EventsExt => self.wait_update(&events_ext(field.offset, &EventsExt::read(bytes))),
            _ => {}
        }
    }

    /// The form of a start address; `indirect`: it must be the address of an index list.
    fn addr4(&mut self, field: &'static str, byte: usize, address: Addr4, indirect: bool) {
        let form = address.form();
        let found = format_args!("{:#010x}", address.0);
        match form {
            Addr4Form::ShapeRegister => {
                self.report_in(rules::ADDRESS_REFUSED, field, byte, found, "a form without a shape register");
            }
            Addr4Form::Indirect(_) | Addr4Form::IndirectRegister(_) if !indirect => {
                self.report_in(rules::ADDRESS_REFUSED, field, byte, found, "a form without an index list");
            }
            Addr4Form::Immediate(_) | Addr4Form::Register(..) if indirect => {
                self.report_in(rules::ADDRESS_FORM, field, byte, found, "the address of an index list");
            }
            Addr4Form::Invalid => {
                self.report_in(rules::ADDRESS_FORM, field, byte, found, "a form of an on-chip address");
            }
            Addr4Form::Register(number, clean) if number > 63 || !clean => {
                self.report_in(rules::ADDRESS_FORM, field, byte, found, "a register 0..63, other bytes zero");
            }
            _ => {}
        }
    }

    fn addr8(&mut self, field: &'static str, address: Addr8) {
        let found = format_args!("{:#018x}", address.0);
        match address.form() {
            Addr8Form::Unsupported(_) if matches!(address.0 >> 56 & 0xFC, 0x10 | 0x20 | 0x80) => {
                self.report(rules::ADDRESS_FORM, field, found, "reserved bytes of the address form zero");
            }
            Addr8Form::Unsupported(why) => {
                self.report(rules::ADDRESS_REFUSED, field, found, format_args!("a known form: {why}"));
            }
            Addr8Form::Registers { lo, hi } => {
                self.register_number(field, 0, lo);
                self.register_number(field, 1, hi);
            }
            _ => {}
        }
    }

    /// A register number at a byte of a field.
    pub(super) fn register_number(&mut self, field: &'static str, byte: usize, number: u8) {
        if !matches!(number, 0..=63 | 128..=131) {
            self.report_in(rules::REGISTER_NUMBER, field, byte, number, "0..63 or 128..131");
        }
    }

    /// Bytes outside all fields.
    fn reserved(&mut self) {
        let (word, layout) = (self.decoded.word, self.decoded.operands.layout());
        let def = layout.def();
        if UNKNOWN_PAYLOAD.contains(&layout) {
            let named = |at: usize| def.fields.iter().any(|f| (f.offset..f.offset + f.size).contains(&at));
            for at in (12..64).filter(|at| !named(*at) && word.0[*at] != 0) {
                let found = format_args!("0x{:02x}", word.0[at]);
                self.report_at(rules::PAYLOAD_UNKNOWN, at, "payload", found, "0");
            }
        } else {
            let reserved = LAYOUT_FACTS[layout as usize].reserved;
            for at in (0..64).filter(|at| word.0[*at] != 0 && reserved >> at & 1 == 1) {
                let found = format_args!("0x{:02x}", word.0[at]);
                self.report_at(rules::RESERVED_BYTE, at, "reserved", found, "0");
            }
        }
    }
}

/// The ordinary block: one value serves the wait and the update.
fn events(e: &Events) -> WaitUpdate {
    WaitUpdate {
        offset: 4,
        names: ["wait_mode", "update_mode"],
        wait_mode: e.wait_mode,
        update_mode: e.update_mode,
        operands: [(8, "semaphore_value", e.value); 2],
    }
}

/// The second block of EVENT_SEMAPHORE.
fn events_ext(offset: usize, e: &EventsExt) -> WaitUpdate {
    WaitUpdate {
        offset,
        names: ["events_extended.wait_mode", "events_extended.update_mode"],
        wait_mode: e.wait_mode,
        update_mode: e.update_mode,
        operands: [
            (offset + 4, "events_extended.wait_value", e.wait_value),
            (offset + 8, "events_extended.update_value", e.update_value),
        ],
    }
}
