//! Which opcodes the vector engine's default microprogram tables can run (chapter 10 section 10).

use crate::isa::Generation;

const fn programs(ranges: &[(u8, u8)]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < ranges.len() {
        let mut byte = ranges[i].0;
        while byte <= ranges[i].1 {
            table[byte as usize] = true;
            byte += 1;
        }
        i += 1;
    }
    table
}

/// Compilers 2.18 and 2.23.
const SUNDA: [bool; 256] = programs(&[
    (0x41, 0x49),
    (0x4D, 0x4E),
    (0x51, 0x54),
    (0x58, 0x58),
    (0x5E, 0x5E),
    (0x61, 0x66),
    (0x69, 0x6F),
    (0x72, 0x72),
    (0x7F, 0x7F),
    (0x82, 0x84),
    (0x8C, 0x8E),
    (0x93, 0x94),
    (0x99, 0x99),
    (0x9D, 0x9F),
    (0xE5, 0xE5),
    (0xE8, 0xE8),
    (0xEA, 0xEA),
    (0xF0, 0xF2),
]);

/// Compilers 2.21 and 2.23 together: 4F 5F 70 71 are in the older tables only, and only a container's
/// own table can tell (chapter 00 table B).
const CAYMAN: [bool; 256] = programs(&[
    (0x41, 0x49),
    (0x4D, 0x4F),
    (0x51, 0x54),
    (0x58, 0x58),
    (0x5E, 0x66),
    (0x69, 0x72),
    (0x7F, 0x7F),
    (0x82, 0x84),
    (0x8E, 0x8E),
    (0x93, 0x93),
    (0x98, 0x9B),
    (0x9D, 0x9E),
    (0xBC, 0xBC),
    (0xE5, 0xE6),
    (0xE8, 0xEA),
    (0xF0, 0xF0),
]);

/// The opcodes that a generation's default DVE opcode table holds a program for; `None` where no table
/// is known.
pub fn default_dve_programs(generation: Generation) -> Option<&'static [bool; 256]> {
    match generation {
        Generation::Sunda => Some(&SUNDA),
        Generation::Cayman => Some(&CAYMAN),
        Generation::Mariana | Generation::Maverick => None,
    }
}
