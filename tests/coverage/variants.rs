//! The variants of an opcode, from its operand struct and its checks.
//!
//! A variant is one class of values of one field that changes what a word computes: the class of a datatype, the class of
//! an ALU operator, a mode, the form of an address. Which values are legal is asked of the checks, so that neither a field nor a
//! value can be forgotten.

use std::collections::BTreeSet;

use seqjit::runtime::isa::check::{CheckContext, Severity, check};
use seqjit::runtime::isa::field::{Addr8, Field, Kind, UpdateMode, WaitMode};
use seqjit::runtime::isa::{
    Addr8Form, AluClass, AluOp, Decoded, Dtype, DtypeKind, EngineId, Execution, FieldDef, Generation,
    OpcodeInfo, WORD_LEN_CODE, Word, decode, op,
};

/// A byte with more legal values is a quantity, such as a count of lanes or a register, not a mode.
const MOST_MODES: usize = 16;

/// Fields that are no modes: they have no effect on what the word computes (chapter 06 sections 5.1 and 6.1), they are quantities
/// of which few are legal, or their values are those of a field that is there for all words.
const NO_MODES: &[&str] = &[
    "dma_configs",
    "stable",
    "setter_signature",
    "activation_func",
    "num_active_channels",
    "num_evt_sem",
    "num_mov",
    "num_move",
    "n_read",
    "elem_size",
    "src_num_elem_per_idx",
    "param_ram_offset",
    "addr0",
    "addr1",
    "completion_info",
    "wait_sema_mode",
    "wr_done_sema_update_idx",
    "rd_done_sema_update_idx",
];

/// `field=class` of a variant.
pub type Variant = String;

/// Generations on which a word of the opcode can run.
pub fn generations(info: &OpcodeInfo) -> impl Iterator<Item = Generation> {
    let runs = info.execution == Execution::Run;
    Generation::ALL.into_iter().filter(move |g| runs && info.is_defined_on(*g))
}

/// All variants of an opcode on some generations.
pub fn of_opcode(info: &'static OpcodeInfo, on: impl Fn(Generation) -> bool) -> BTreeSet<Variant> {
    generations(info)
        .filter(|g| on(*g))
        .flat_map(|generation| Search { info, generation }.variants())
        .collect()
}

/// The variants that a word is an example of.
pub fn of_word(w: &Decoded) -> BTreeSet<Variant> {
    let fields = w.operands.layout().def().fields;
    let mut found: BTreeSet<Variant> =
        fields.iter().flat_map(|f| classes(fields, f, &w.word.0[f.offset..f.offset + f.size])).collect();
    if w.info.byte == op::EVENT_SEMAPHORE {
        found.extend(WaitMode::TABLE.name_of(w.events.wait_mode.0).map(|name| format!("wait_mode={name}")));
        found.extend(
            UpdateMode::TABLE.name_of(w.events.update_mode.0).map(|name| format!("update_mode={name}")),
        );
    }
    found
}

/// What a field's bytes are an example of.
fn classes(fields: &[FieldDef], field: &FieldDef, bytes: &[u8]) -> Vec<Variant> {
    let name = field.name;
    if NO_MODES.contains(&name) {
        return Vec::new();
    }
    match field.kind {
        Kind::Dtype => dtype_class(Dtype(bytes[0])).map(|c| format!("{name}={c}")).into_iter().collect(),
        Kind::DtypePair => {
            let halves = [("low", bytes[0] & 0xF), ("high", bytes[0] >> 4)];
            halves
                .into_iter()
                .filter_map(|(half, code)| Some(format!("{name}.{half}={}", dtype_class(Dtype(code))?)))
                .collect()
        }
        Kind::Alu => alu_class(AluOp(bytes[0])).map(|c| format!("{name}={c}")).into_iter().collect(),
        Kind::Enum(table) => {
            table.name_of(bytes[0]).map(|member| format!("{name}={member}")).into_iter().collect()
        }
        Kind::UpdateMode => {
            UpdateMode::TABLE.name_of(bytes[0]).map(|member| format!("{name}={member}")).into_iter().collect()
        }
        Kind::WaitMode => {
            WaitMode::TABLE.name_of(bytes[0]).map(|member| format!("{name}={member}")).into_iter().collect()
        }
        // DMA_MEMCPY2 has a mode of its own for that.
        Kind::Addr8 if fields.iter().any(|f| f.name == "addr_mode") => Vec::new(),
        Kind::Addr8 => vec![format!("{name}={}", address_form(<Addr8 as Field>::read(bytes)))],
        Kind::Uint | Kind::Bits => {
            let mut wide = [0; 8];
            wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
            vec![format!("{name}={}", u64::from_le_bytes(wide))]
        }
        _ => Vec::new(),
    }
}

fn dtype_class(dtype: Dtype) -> Option<&'static str> {
    let info = dtype.info()?;
    Some(match (info.kind, info.bits) {
        (DtypeKind::Float, 32) => "fp32",
        (DtypeKind::Float, 16) => "half",
        (DtypeKind::Float, 8) => "fp8",
        (DtypeKind::Int | DtypeKind::Uint, 64) => "int64",
        (DtypeKind::Int | DtypeKind::Uint, 32) => "int32",
        (DtypeKind::Int | DtypeKind::Uint, 8 | 16) => "short",
        _ => return None,
    })
}

fn alu_class(op: AluOp) -> Option<&'static str> {
    Some(match op.info()?.class {
        AluClass::Both => "bypass",
        AluClass::Arith => "arith",
        AluClass::Bitvec => "bitvec",
        AluClass::Int => "int",
        AluClass::ArgReduce => "arg",
    })
}

fn address_form(address: Addr8) -> &'static str {
    match address.form() {
        Addr8Form::Immediate(_) => "address",
        Addr8Form::Variable { .. } => "variable",
        Addr8Form::Table { .. } => "table",
        Addr8Form::Registers { .. } => "registers",
        Addr8Form::Unsupported(_) => "unsupported",
    }
}

/// The search for legal values of one opcode on one generation.
struct Search {
    info: &'static OpcodeInfo,
    generation: Generation,
}

impl Search {
    fn variants(&self) -> BTreeSet<Variant> {
        let mut found = BTreeSet::new();
        let starts = self.starts();
        for start in &starts {
            let Ok(decoded) = decode(start, self.generation) else { continue };
            for field in decoded.operands.layout().def().fields {
                found.extend(self.of_field(start, decoded.operands.layout().def().fields, field));
            }
        }
        if self.info.byte == op::EVENT_SEMAPHORE {
            let modes = WaitMode::TABLE.members.iter().map(|(_, name)| format!("wait_mode={name}"));
            found.extend(
                modes.chain(UpdateMode::TABLE.members.iter().map(|(_, name)| format!("update_mode={name}"))),
            );
        }
        found
    }

    /// Words to start from: one for each operand struct, datatypes all zero.
    fn starts(&self) -> Vec<Word> {
        // Byte 12 of EXTENDED_INST chooses the operand struct, that of TEST_EVENT_SEM semaphores or events.
        let subs: &[u8] = match self.info.byte {
            op::EXTENDED_INST => &[0, 2, 8, 9],
            op::TEST_EVENT_SEM => &[2, 3],
            _ => &[0],
        };
        let start = |sub: &u8| {
            let mut word = Word::new(self.info.byte);
            word.0[1] = if self.info.byte == op::PSEUDO_EXTENSION { 0 } else { WORD_LEN_CODE };
            word.0[12] = *sub;
            // A mode in which the other fields count.
            match self.info.byte {
                op::PSEUDO_TRIGGER_COLLECTIVE => word.0[32] = 1,
                op::PE_MANAGE_SEED => word.0[33] = 1,
                _ => {}
            }
            word
        };
        subs.iter().map(start).collect()
    }

    fn of_field(&self, start: &Word, fields: &[FieldDef], field: &FieldDef) -> BTreeSet<Variant> {
        let mut found = BTreeSet::new();
        for value in values(field) {
            let classes = classes(fields, field, &value);
            // One legal value of each class is enough.
            let is_new = classes.iter().any(|class| !found.contains(class));
            if is_new && self.is_legal(start, field, &value) {
                found.extend(classes);
            }
            if matches!(field.kind, Kind::Uint | Kind::Bits) && found.len() > MOST_MODES {
                return BTreeSet::new();
            }
        }
        found
    }

    /// Whether some word with this value breaks no rule about it. Rules that tie datatypes and operators together are
    /// met by trying all datatypes in the other fields.
    fn is_legal(&self, start: &Word, field: &FieldDef, value: &[u8]) -> bool {
        let tied = matches!(field.kind, Kind::Dtype | Kind::DtypePair | Kind::Alu);
        let own = if tied { Dtype(value[0] & 0xF) } else { Dtype::FP32 };
        let others: &[Dtype] = &[
            own,
            Dtype::FP32,
            Dtype::BFLOAT16,
            Dtype::UINT32,
            Dtype::INT32,
            Dtype::UINT16,
            Dtype::UINT8,
            Dtype::INT64,
        ];
        let others = if tied { others } else { &others[1..2] };
        let operators: &[AluOp] = if matches!(field.kind, Kind::Dtype | Kind::DtypePair) {
            &[AluOp::BYPASS, AluOp::ADD, AluOp::BITWISE_AND, AluOp::ADD_INT, AluOp::IS_GT]
        } else {
            &[AluOp::BYPASS]
        };
        others.iter().any(|other| {
            operators.iter().any(|operator| {
                let mut word = *start;
                fill(&mut word, self.generation, *other, *operator);
                word.0[field.offset..field.offset + field.size].copy_from_slice(value);
                self.info.engines.iter().any(|engine| self.accepts(&word, *engine, field))
            })
        })
    }

    fn accepts(&self, word: &Word, engine: EngineId, field: &FieldDef) -> bool {
        let Ok(decoded) = decode(word, self.generation) else { return false };
        let tied = matches!(field.kind, Kind::Dtype | Kind::DtypePair | Kind::Alu);
        let findings = check(&decoded, &CheckContext::new(self.generation, engine));
        let about = |offset: usize| {
            let others = decoded.operands.layout().def().fields.iter().filter(|f| {
                f.name == field.name || tied && matches!(f.kind, Kind::Dtype | Kind::DtypePair | Kind::Alu)
            });
            others.into_iter().any(|f| (f.offset..f.offset + f.size).contains(&offset)) || offset < 4
        };
        findings.iter().all(|f| f.severity == Severity::Warning || !about(f.offset))
    }
}

/// Sets all datatypes and operators of a word.
fn fill(word: &mut Word, generation: Generation, dtype: Dtype, operator: AluOp) {
    let Ok(decoded) = decode(word, generation) else { return };
    for field in decoded.operands.layout().def().fields {
        match field.kind {
            Kind::Dtype => word.0[field.offset] = dtype.0,
            Kind::DtypePair => word.0[field.offset] = dtype.0 & 0xF | dtype.0 << 4,
            Kind::Alu => word.0[field.offset] = operator.0,
            _ => {}
        }
    }
}

/// Values of a field worth trying.
fn values(field: &FieldDef) -> Vec<Vec<u8>> {
    let addresses = [Addr8(0x40), Addr8::variable(0, 0), Addr8::table(0, 0), Addr8::registers(0, 1)];
    match field.kind {
        Kind::Addr8 => addresses.map(|a| a.0.to_le_bytes().to_vec()).into(),
        Kind::Dtype => Dtype::TABLE.iter().map(|info| vec![info.code.0]).collect(),
        Kind::DtypePair => {
            let codes = 1..16u8;
            codes
                .clone()
                .map(|d| vec![d | d << 4])
                .chain(codes.flat_map(|d| [vec![d | 0xA0], vec![0xA | d << 4]]))
                .collect()
        }
        Kind::Alu => AluOp::TABLE.iter().map(|info| vec![info.code.0]).collect(),
        Kind::Enum(table) => table.members.iter().map(|(code, _)| vec![*code]).collect(),
        Kind::UpdateMode => UpdateMode::TABLE.members.iter().map(|(code, _)| vec![*code]).collect(),
        Kind::WaitMode => Vec::new(),
        Kind::Uint | Kind::Bits if field.size == 1 => (0..=u8::MAX).map(|v| vec![v]).collect(),
        Kind::Uint if field.size <= 8 => {
            (0..=32u64).map(|v| v.to_le_bytes()[..field.size].to_vec()).collect()
        }
        _ => Vec::new(),
    }
}
