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

/// Handlers of the CAYMAN POOL table by family.
const COMPUTE: [u8; 32] = [
    0x41, 0x43, 0x44, 0x45, 0x46, 0x47, 0x49, 0x4D, 0x51, 0x52, 0x53, 0x54, 0x58, 0x67, 0x68, 0x74, 0x79,
    0x7A, 0x7B, 0x7C, 0x7D, 0x7E, 0x92, 0x95, 0x96, 0x9F, 0xBE, 0xBF, 0xE4, 0xE7, 0xF0, 0xF2,
];
const CONTROL: [u8; 15] =
    [0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xAB, 0xB0, 0xB1, 0xB2, 0xB3, 0xB5];
const INLINE: [u8; 2] = [0xA0, 0xA1];
const FLIX: [u8; 6] = [0x77, 0x78, 0xB8, 0xBB, 0xBD, 0xF1];

/// The slot of an opcode: one subtraction on 32 bits and one unsigned bound, so that bytes below 0x41 fail
/// like those above 0xF2.
pub fn slot(opcode: u8) -> Option<usize> {
    let index = u32::from(opcode).wrapping_sub(FIRST_OPCODE);
    (index < SLOTS).then_some(index as usize)
}

/// The handler family of an opcode in the CAYMAN POOL table; `None`: a default slot or no slot, which is
/// Bad Opcode.
pub fn pool_handler(opcode: u8) -> Option<HandlerFamily> {
    slot(opcode)?;
    [
        (COMPUTE.as_slice(), HandlerFamily::Compute),
        (CONTROL.as_slice(), HandlerFamily::Control),
        (INLINE.as_slice(), HandlerFamily::Inline),
        (FLIX.as_slice(), HandlerFamily::Flix),
    ]
    .into_iter()
    .find_map(|(list, family)| list.contains(&opcode).then_some(family))
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
    std::array::from_fn(|byte| {
        let opcode = byte as u8;
        let Some(info) = opcode_info(opcode).filter(|i| i.exists_on(generation) && opcode != op::INVALID)
        else {
            return false;
        };
        if info.is_pseudo() {
            return container;
        }
        if !strict || is_spine(opcode) {
            return true;
        }
        match (engine, generation) {
            (EngineId::Pool, Generation::Cayman) => pool_handler(opcode).is_some(),
            // Served by the sequencer itself: no program needed.
            _ if matches!(opcode, op::RAND_GET_STATE | op::RAND_SET_STATE) => info.legal_on(engine),
            (EngineId::Dve, Generation::Sunda | Generation::Cayman) => {
                let programs = dve_programs.or_else(|| default_dve_programs(generation));
                info.legal_on(engine) && programs.is_none_or(|table| table[byte])
            }
            _ => info.legal_on(engine),
        }
    })
}

/// The control words that every sequencer has.
fn is_spine(opcode: u8) -> bool {
    matches!(opcode, 0x9F..=0xAB | 0xB0..=0xB6 | 0xB8..=0xBB | 0xBD | 0xF1)
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
            let expected = pool_handler(opcode).is_some() || is_spine(opcode);
            let exists = opcode_info(opcode).is_some_and(|i| i.exists_on(Generation::Cayman));
            assert_eq!(strict[usize::from(opcode)], expected && exists, "0x{opcode:02x}");
        }
        assert!(!strict[0x42] && lenient[0x42]);
    }
}
