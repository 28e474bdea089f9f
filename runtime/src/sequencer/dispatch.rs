//! Which opcodes an engine's sequencer has a handler for (chapter 01 section 11).

use crate::isa::check::default_dve_programs;
use crate::isa::{EngineId, Generation, op, opcode_info};

/// Slots of the CAYMAN POOL table: opcodes 0x41 to 0xF2.
pub const SLOTS: u32 = 178;
/// Opcode of slot 0.
pub const FIRST_OPCODE: u32 = 0x41;

/// How a handler of the CAYMAN POOL table behaves around its body (section 11.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandlerFamily {
    /// Drains, then runs on the engine's data path.
    Compute,
    /// Drains, runs on the sequencer, notifies completion.
    Control,
    /// Its own code.
    Inline,
    /// Its own code; the body is not public.
    Flix,
}

/// The handlers of the CAYMAN POOL table (section 11.3): opcode, family, and the label that the handler
/// logs, where one is known and always the same.
const POOL_HANDLERS: [(u8, HandlerFamily, &str); 55] = [
    (0x41, HandlerFamily::Compute, "Tensor-Tensor"),
    (0x43, HandlerFamily::Compute, "Tensor-Scalar"),
    (0x44, HandlerFamily::Compute, "Tensor-Scalar-PTR"),
    (0x45, HandlerFamily::Compute, "Pool"),
    (0x46, HandlerFamily::Compute, "Tensor-Reduce"),
    (0x47, HandlerFamily::Compute, "Tensor-Reduce"),
    (0x49, HandlerFamily::Compute, "MEMSET/RNG"),
    (0x4D, HandlerFamily::Compute, "Rng (XORWOW)"),
    (0x51, HandlerFamily::Compute, "Tensor-Tensor"),
    (0x52, HandlerFamily::Compute, "Tensor-Reduce"),
    (0x53, HandlerFamily::Compute, "Tensor-Scalar"),
    (0x54, HandlerFamily::Compute, "Tensor-Scalar-PTR"),
    (0x58, HandlerFamily::Compute, "Tensor-Tensor"),
    (0x67, HandlerFamily::Compute, "Pool Buffer Load"),
    (0x68, HandlerFamily::Compute, "TensorGather"),
    (0x74, HandlerFamily::Compute, "TensorScalarAddr"),
    (0x77, HandlerFamily::Flix, "RandGetState"),
    (0x78, HandlerFamily::Flix, "RandSetState"),
    (0x79, HandlerFamily::Compute, "EmbeddingUpdate"),
    (0x7A, HandlerFamily::Compute, "LoadPoolArgument"),
    (0x7B, HandlerFamily::Compute, "TensorDequantize"),
    (0x7C, HandlerFamily::Compute, "CrossLaneReduce"),
    (0x7D, HandlerFamily::Compute, "CrossLaneReduce"),
    (0x7E, HandlerFamily::Compute, "Iota"),
    (0x92, HandlerFamily::Compute, "TensorScalarAffineSelect"),
    (0x95, HandlerFamily::Compute, "ModifyPoolConfig"),
    (0x96, HandlerFamily::Compute, "Sort"),
    (0x9F, HandlerFamily::Compute, "EngineNop"),
    (0xA0, HandlerFamily::Inline, "Event_Semaphore"),
    (0xA1, HandlerFamily::Inline, "Halt"),
    (0xA2, HandlerFamily::Control, ""),
    (0xA3, HandlerFamily::Control, "INS_FL"),
    (0xA4, HandlerFamily::Control, "NOP"),
    (0xA5, HandlerFamily::Control, "WRITE"),
    (0xA6, HandlerFamily::Control, "NOTIFY"),
    (0xA7, HandlerFamily::Control, "MOVE"),
    (0xA8, HandlerFamily::Control, ""),
    (0xA9, HandlerFamily::Control, "BRANCH"),
    (0xAA, HandlerFamily::Control, "TensorLoad"),
    (0xAB, HandlerFamily::Control, "TensorStore"),
    (0xB0, HandlerFamily::Control, "Event_Semaphore Rng Clr"),
    (0xB1, HandlerFamily::Control, "SET_OM"),
    (0xB2, HandlerFamily::Control, ""),
    (0xB3, HandlerFamily::Control, "POLL_SEM"),
    (0xB5, HandlerFamily::Control, "BranchPrefetchHint"),
    (0xB8, HandlerFamily::Flix, ""),
    (0xBB, HandlerFamily::Flix, ""),
    (0xBD, HandlerFamily::Flix, ""),
    (0xBE, HandlerFamily::Compute, "GetSequenceBounds"),
    (0xBF, HandlerFamily::Compute, "SB2SB_Collective"),
    (0xE4, HandlerFamily::Compute, "ConvLutLoad"),
    (0xE7, HandlerFamily::Compute, "Indirect Copy"),
    (0xF0, HandlerFamily::Compute, "ExtendedInst"),
    (0xF1, HandlerFamily::Flix, ""),
    (0xF2, HandlerFamily::Compute, ""),
];

/// The slot of an opcode: one subtraction on 32 bits and one unsigned bound, so that bytes below 0x41 fail
/// like those above 0xF2.
pub fn slot(opcode: u8) -> Option<usize> {
    let index = u32::from(opcode).wrapping_sub(FIRST_OPCODE);
    (index < SLOTS).then_some(index as usize)
}

/// The row of every slot of the CAYMAN POOL table; `None`: a default slot.
const POOL_TABLE: [Option<(HandlerFamily, &str)>; SLOTS as usize] = {
    let mut table = [None; SLOTS as usize];
    let mut i = 0;
    while i < POOL_HANDLERS.len() {
        let (opcode, family, label) = POOL_HANDLERS[i];
        table[(opcode as u32 - FIRST_OPCODE) as usize] = Some((family, label));
        i += 1;
    }
    table
};

/// The handler family of an opcode in the CAYMAN POOL table; `None`: a default slot or no slot, which is
/// Bad Opcode.
pub fn pool_handler(opcode: u8) -> Option<HandlerFamily> {
    Some(POOL_TABLE[slot(opcode)?]?.0)
}

/// The label that the handler of an opcode logs, on every engine.
pub(super) fn handler_label(opcode: u8) -> Option<&'static str> {
    Some(POOL_TABLE[slot(opcode)?]?.1).filter(|label| !label.is_empty())
}

/// The opcodes that an engine's sequencer dispatches; all others are Bad Opcode (decision 01-D16).
///
/// `dve_programs` is the opcode table of the container, if it has one. `container` streams may hold
/// pseudo-words, which never reach this table on a device.
pub fn legal_opcodes(
    engine: EngineId,
    generation: Generation,
    strict: bool,
    dve_programs: Option<&[bool; 256]>,
    container: bool,
) -> [bool; 256] {
    let programs = dve_programs.or_else(|| default_dve_programs(generation));
    std::array::from_fn(|byte| {
        let opcode = byte as u8;
        let Some(info) = opcode_info(opcode).filter(|i| i.exists_on(generation) && opcode != op::INVALID)
        else {
            return false;
        };
        // The control spine: words that every engine's sequencer runs.
        let spine = info.engines.len() == EngineId::ALL.len();
        if info.is_pseudo() {
            container
        } else if !strict || spine {
            true
        } else if (engine, generation) == (EngineId::Pool, Generation::Cayman) {
            pool_handler(opcode).is_some()
        } else {
            // The sequencer itself serves the states of the random generators: no program needed.
            let programmed = engine != EngineId::Dve
                || matches!(opcode, op::RAND_GET_STATE | op::RAND_SET_STATE)
                || programs.is_none_or(|table| table[byte]);
            info.legal_on(engine) && programmed
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trace T6 and the counts of section 11.1.
    #[test]
    fn the_pool_table_has_55_handlers_and_123_default_slots() {
        let slots: Vec<u8> = (0..=255).filter(|o| slot(*o).is_some()).collect();
        assert_eq!((slots.len(), slots[0], slots[177]), (178, 0x41, 0xF2));
        assert_eq!(slots.iter().filter(|o| pool_handler(**o).is_some()).count(), 55);
        for opcode in [0x00, 0x40, 0xF3, 0xFF] {
            assert_eq!(slot(opcode), None);
        }
    }

    #[test]
    fn strict_pool_follows_the_table_and_lenient_the_catalogue() {
        let strict = legal_opcodes(EngineId::Pool, Generation::Cayman, true, None, false);
        let lenient = legal_opcodes(EngineId::Pool, Generation::Cayman, false, None, false);
        for opcode in 0x41..=0xF2u8 {
            assert_eq!(strict[usize::from(opcode)], pool_handler(opcode).is_some(), "0x{opcode:02x}");
        }
        assert!(!strict[0x42] && lenient[0x42]);
    }
}
