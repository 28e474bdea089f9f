//! Word -> typed operands and back (chapter 03 section 1.3, steps 2 and 3).

use super::field::Field;
use super::layouts::Operands;
use super::{Events, Generation, OpcodeInfo, WORD_LEN_CODE, Word, op, opcode_info};

/// Why a word cannot be decoded at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// Byte 0 is in no generation's enum, or not in this one's.
    #[error("opcode 0x{opcode:02x} (byte 0) does not exist on {generation}")]
    Opcode {
        /// Byte 0.
        opcode: u8,
        /// The target.
        generation: Generation,
    },
    /// Byte 1 is not 0x10.
    #[error("word length (byte 1) is 0x{found:02x}, expected 0x10")]
    Length {
        /// Byte 1.
        found: u8,
    },
}

/// A decoded word: the bytes, the table row, EVENTS and the typed operands.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// The bytes.
    pub word: Word,
    /// The opcode's row.
    pub info: &'static OpcodeInfo,
    /// Bytes 4 to 11; all zero where the struct has no EVENTS block.
    pub events: Events,
    /// The payload.
    pub operands: Operands,
}

/// Decodes a word for a generation. Field values are not checked: see the checks of this module.
pub fn decode(word: &Word, generation: Generation) -> Result<Decoded, DecodeError> {
    let opcode = word.opcode();
    let info = opcode_info(opcode)
        .filter(|i| i.exists_on(generation))
        .ok_or(DecodeError::Opcode { opcode, generation })?;
    if word.0[1] != WORD_LEN_CODE && has_length(opcode) {
        return Err(DecodeError::Length { found: word.0[1] });
    }
    let layout = info.layout(word, generation);
    let events = if layout.def().events { Events::read(&word.0[4..12]) } else { Events::default() };
    Ok(Decoded { word: *word, info, events, operands: layout.read(word) })
}

/// Whether byte 1 of this opcode's words holds the length (chapter 03 section 1).
pub(super) fn has_length(opcode: u8) -> bool {
    !matches!(opcode, op::COMPACT_CONTROL_INST | op::PSEUDO_EXTENSION)
}

impl Decoded {
    /// The word with header, EVENTS and operands written back over its bytes.
    pub fn encode(&self) -> Word {
        let mut word = self.word;
        if self.operands.layout().def().events {
            self.events.write(&mut word.0[4..12]);
        }
        self.operands.write(&mut word);
        word
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LayoutId, OPCODES};
    use super::*;

    #[test]
    fn fields_do_not_overlap_and_lie_in_the_word() {
        for layout in LayoutId::ALL {
            let def = layout.def();
            let mut next = if def.events { 12 } else { 1 };
            for field in def.fields {
                assert!(field.offset >= next, "{} {} overlaps", def.name, field.name);
                next = field.offset + field.size;
            }
            assert!(next <= 64, "{} is longer than a word", def.name);
        }
    }

    #[test]
    fn encoding_what_was_decoded_is_the_identity() {
        for info in OPCODES {
            for generation in Generation::ALL.into_iter().filter(|g| info.exists_on(*g)) {
                let mut word = Word::new(info.byte);
                for (i, byte) in word.0.iter_mut().enumerate().skip(2) {
                    *byte = (i as u8).wrapping_mul(37) ^ info.byte;
                }
                let decoded = decode(&word, generation).unwrap();
                assert_eq!(decoded.encode(), word, "{} on {generation}", info.name);
            }
        }
    }

    #[test]
    fn opcode_counts_match_the_manual() {
        let count = |g: Generation| OPCODES.iter().filter(|o| o.exists_on(g)).count();
        assert_eq!(OPCODES.len(), 172);
        assert_eq!(Generation::ALL.map(count), [145, 150, 159, 165]);
    }
}
