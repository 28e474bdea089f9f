//! Address rules of tensor operands (chapter 03 sections 3.5 and 4.2), for words at load and, with the
//! register's value, for register-addressed operands at run time. Nothing here allocates.

use super::rules::{self, Rule, RuleClass};
use crate::isa::{Dtype, EngineId, Geometry, Location, PARTITIONS, PSUM_BANK, Space};

/// What a word does with one tensor operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandUse {
    /// Bytes of one element (in PSUM: of one cell); 0 if the dtype has no whole bytes, then sizes are
    /// not checked.
    pub element_bytes: u32,
    /// The start address is a multiple of this many bytes.
    pub alignment: u32,
    /// Partitions that the operand covers.
    pub lanes: u32,
    /// The operand is written.
    pub write: bool,
    /// The only memory that the operand may lie in; `None`: either.
    pub space: Option<Space>,
    /// PSUM cells need not be four bytes wide (transposing MATMUL).
    pub narrow_cells: bool,
}

impl OperandUse {
    /// A source of `lanes` partitions, in either memory.
    pub fn read(dtype: Dtype, lanes: u32) -> Self {
        let bytes = dtype.bytes() as u32;
        OperandUse {
            element_bytes: bytes,
            alignment: bytes.max(1),
            lanes,
            write: false,
            space: None,
            narrow_cells: false,
        }
    }

    /// A destination of `lanes` partitions, in either memory.
    pub fn write(dtype: Dtype, lanes: u32) -> Self {
        OperandUse { write: true, ..Self::read(dtype, lanes) }
    }

    /// The same operand, allowed in one memory only.
    pub fn only(self, space: Space) -> Self {
        OperandUse { space: Some(space), ..self }
    }

    /// The same operand of a word on this engine: POOL has no path to PSUM (chapter 00 A2 04-E2).
    pub fn on(self, engine: EngineId) -> Self {
        if engine == EngineId::Pool && self.space.is_none() { self.only(Space::Sbuf) } else { self }
    }

    /// The same operand with elements (or PSUM cells) of so many bytes.
    pub fn cells(self, bytes: u32) -> Self {
        OperandUse { element_bytes: bytes, alignment: bytes.max(1), ..self }
    }
}

/// Why a tensor operand may not be accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressFault {
    /// Bits 31:29 of a register-held address are set (chapter 03 E6).
    #[error("register-held address {0:#x} has bits above bit 28")]
    RegisterBits(u32),
    /// Neither SBUF nor PSUM.
    #[error("address {0:#x} lies in neither SBUF nor PSUM")]
    Unmapped(u32),
    /// The operand may not lie in this memory.
    #[error("operand lies in {found}, expected {expected}")]
    Space {
        /// Where it lies.
        found: Space,
        /// Where it must lie.
        expected: Space,
    },
    /// The start address is not a multiple of the element size.
    #[error("address {address:#x} is not a multiple of {alignment}")]
    Misaligned {
        /// The 29-bit address.
        address: u32,
        /// Bytes.
        alignment: u32,
    },
    /// The quadrant rule for the number of lanes.
    #[error("{lanes} lanes start at partition {partition}")]
    StartPartition {
        /// First partition.
        partition: u8,
        /// Number of lanes.
        lanes: u32,
    },
    /// The last lane would use a partition above 127.
    #[error("{lanes} lanes from partition {partition} go past partition 127")]
    PartitionExtent {
        /// First partition.
        partition: u8,
        /// Number of lanes.
        lanes: u32,
    },
    /// The walk leaves the bytes that exist.
    #[error("bytes {first}..{end} of a partition with {active}")]
    Bounds {
        /// Lowest byte offset in the partition.
        first: i64,
        /// One past the highest byte offset.
        end: i64,
        /// Bytes that exist.
        active: u32,
    },
    /// A PSUM write whose cells are not four bytes wide.
    #[error("PSUM is written in cells of {0} bytes, expected 4")]
    PsumCell(u32),
    /// Two sources in PSUM.
    #[error("both sources lie in psum")]
    BothInPsum,
    /// Two SBUF sources in different quadrants of 32 partitions.
    #[error("sources start in quadrants {0} and {1} of sbuf")]
    Quadrants(u8, u8),
    /// A MATMUL result that crosses a PSUM bank.
    #[error("bytes {first}..{end} cross a psum bank")]
    Bank {
        /// Lowest byte offset in the partition.
        first: i64,
        /// One past the highest byte offset.
        end: i64,
    },
}

impl AddressFault {
    /// The broken rule.
    pub fn rule(&self) -> &'static Rule {
        match self {
            AddressFault::RegisterBits(_) => rules::ADDRESS_FORM,
            AddressFault::Unmapped(_) => rules::ADDRESS_UNMAPPED,
            AddressFault::Space { .. } => rules::MEMORY_SPACE,
            AddressFault::Misaligned { .. } => rules::ALIGNMENT,
            AddressFault::StartPartition { .. } => rules::START_PARTITION,
            AddressFault::PartitionExtent { .. } => rules::PARTITION_EXTENT,
            AddressFault::Bounds { .. } => rules::BOUNDS,
            AddressFault::PsumCell(_) => rules::PSUM_CELL,
            AddressFault::BothInPsum | AddressFault::Quadrants(..) => rules::TWO_SOURCES,
            AddressFault::Bank { .. } => rules::MATMUL_BANK,
        }
    }

    /// Found and expected, for a finding.
    pub(super) fn parts(&self) -> (String, String) {
        let pair = |found: String, expected: &str| (found, expected.to_owned());
        match *self {
            AddressFault::RegisterBits(a) => pair(format!("{a:#x}"), "29 bits"),
            AddressFault::Unmapped(a) => pair(format!("{a:#x}"), "an address in SBUF or PSUM"),
            AddressFault::Space { found, expected } => (found.to_string(), expected.to_string()),
            AddressFault::Misaligned { address, alignment } => {
                (format!("{address:#x}"), format!("a multiple of {alignment}"))
            }
            AddressFault::StartPartition { partition, lanes } => {
                (format!("partition {partition}"), format!("{} for {lanes} lanes", legal_starts(lanes)))
            }
            AddressFault::PartitionExtent { partition, lanes } => {
                pair(format!("{lanes} lanes from partition {partition}"), "partition 127 at most")
            }
            AddressFault::Bounds { first, end, active } => {
                (format!("bytes {first}..{end}"), format!("bytes 0..{active}"))
            }
            AddressFault::PsumCell(bytes) => pair(format!("cells of {bytes} bytes"), "cells of 4 bytes"),
            AddressFault::BothInPsum => pair("both in psum".to_owned(), "at most one source in psum"),
            AddressFault::Quadrants(a, b) => pair(format!("quadrants {a} and {b}"), "one quadrant of sbuf"),
            AddressFault::Bank { first, end } => {
                (format!("bytes {first}..{end}"), format!("one bank of {PSUM_BANK} bytes"))
            }
        }
    }
}

/// The address in a register of a register-addressed operand (chapter 03 E6).
pub fn register_address(value: u32) -> Result<u32, AddressFault> {
    if value >> 29 == 0 { Ok(value) } else { Err(AddressFault::RegisterBits(value)) }
}

/// Lowest and one past the highest byte offset, relative to the start, that a walk touches.
/// Steps are in elements of `element_bytes`; a count of zero is taken as one.
pub fn walk_extent(
    steps: impl Iterator<Item = i64>,
    counts: impl Iterator<Item = i64>,
    element_bytes: i64,
) -> (i64, i64) {
    let (mut low, mut high) = (0, 0);
    for (step, count) in steps.zip(counts) {
        let reach = step * (count.max(1) - 1);
        if reach < 0 { low += reach } else { high += reach }
    }
    (low * element_bytes, (high + 1) * element_bytes)
}

/// All address rules of one operand; returns where it starts. `address` has 29 bits, `step` and
/// `num` are those of the pattern. Rules of the class [`RuleClass::Region`] count only if `strict`.
pub fn tensor_address_rules(
    geometry: &Geometry,
    address: u32,
    step: &[i16],
    num: &[u16],
    operand: &OperandUse,
    strict: bool,
) -> Result<Location, AddressFault> {
    let mut first = None;
    let location = each_fault(geometry, address, step, num, operand, |fault| {
        if first.is_none() && (strict || fault.rule().class != RuleClass::Region) {
            first = Some(fault);
        }
    });
    match (first, location) {
        (Some(fault), _) => Err(fault),
        (None, Some(location)) => Ok(location),
        (None, None) => Err(AddressFault::Unmapped(address)),
    }
}

/// Reports every broken address rule of one operand; returns where it starts, if anywhere.
pub(super) fn each_fault(
    geometry: &Geometry,
    address: u32,
    step: &[i16],
    num: &[u16],
    operand: &OperandUse,
    mut report: impl FnMut(AddressFault),
) -> Option<Location> {
    if !address.is_multiple_of(operand.alignment) {
        report(AddressFault::Misaligned { address, alignment: operand.alignment });
    }
    let Some(location) = geometry.locate(address) else {
        report(AddressFault::Unmapped(address));
        return None;
    };
    if let Some(expected) = operand.space.filter(|s| *s != location.space) {
        report(AddressFault::Space { found: location.space, expected });
    }
    partition_faults(location.partition, operand.lanes, &mut report);
    if operand.element_bytes != 0 {
        let (first, end) = located_extent(location, step, num, operand.element_bytes);
        let active = geometry.active(location.space);
        if first < 0 || end > i64::from(active) {
            report(AddressFault::Bounds { first, end, active });
        }
        let narrow = operand.element_bytes != 4 && !operand.narrow_cells;
        if operand.write && location.space == Space::Psum && narrow {
            report(AddressFault::PsumCell(operand.element_bytes));
        }
    }
    Some(location)
}

/// Byte offsets in the partition that a walk from `location` touches.
fn located_extent(location: Location, step: &[i16], num: &[u16], element_bytes: u32) -> (i64, i64) {
    let steps = step.iter().map(|s| i64::from(*s));
    let counts = num.iter().map(|n| i64::from(*n));
    let (low, high) = walk_extent(steps, counts, i64::from(element_bytes));
    let offset = i64::from(location.offset);
    (offset + low, offset + high)
}

/// The start partitions that a number of lanes may have, as text.
fn legal_starts(lanes: u32) -> &'static str {
    match lanes {
        0..=32 => "0, 32, 64 or 96",
        33..=64 => "0 or 64",
        _ => "0",
    }
}

fn partition_faults(partition: u8, lanes: u32, report: &mut impl FnMut(AddressFault)) {
    if !(1..=PARTITIONS as u32).contains(&lanes) {
        return; // reported as the channel count
    }
    if u32::from(partition) + lanes > PARTITIONS as u32 {
        report(AddressFault::PartitionExtent { partition, lanes });
        return;
    }
    let unit = match lanes {
        ..=32 => 32,
        33..=64 => 64,
        _ => 128,
    };
    if !partition.is_multiple_of(unit) {
        report(AddressFault::StartPartition { partition, lanes });
    }
}

/// The rule for the two sources of one word (chapter 03 section 3.5): at most one in PSUM, and two in
/// SBUF start in the same quadrant of 32 partitions.
pub fn two_source_rule(a: Location, b: Location) -> Result<(), AddressFault> {
    let (qa, qb) = (a.partition / 32, b.partition / 32);
    match (a.space, b.space) {
        (Space::Psum, Space::Psum) => Err(AddressFault::BothInPsum),
        (Space::Sbuf, Space::Sbuf) if qa != qb => Err(AddressFault::Quadrants(qa, qb)),
        _ => Ok(()),
    }
}

/// A MATMUL result on SUNDA and CAYMAN stays in one PSUM bank (chapter 09 section 1). `cell_bytes` is
/// the width of a PSUM cell.
pub fn matmul_bank_rule(
    start: Location,
    step: &[i16],
    num: &[u16],
    cell_bytes: u32,
) -> Result<(), AddressFault> {
    let (first, end) = located_extent(start, step, num, cell_bytes);
    let bank = i64::from(PSUM_BANK);
    if start.space == Space::Psum && first.div_euclid(bank) != (end - 1).div_euclid(bank) {
        return Err(AddressFault::Bank { first, end });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Generation;

    fn rule(
        address: u32,
        step: &[i16],
        num: &[u16],
        operand: OperandUse,
        strict: bool,
    ) -> Option<&'static str> {
        let geometry = Generation::Cayman.geometry();
        tensor_address_rules(&geometry, address, step, num, &operand, strict).err().map(|f| f.rule().name)
    }

    #[test]
    fn the_example_walk_of_chapter_03_touches_what_it_lists() {
        // offsets 64 60 .. 36 and 96 92 .. 68 in a partition, from start 0x40
        let (low, high) = walk_extent([-1, 8, 0].into_iter(), [8, 2, 1].into_iter(), 4);
        assert_eq!((0x40 + low, 0x40 + high), (36, 100));
    }

    #[test]
    fn the_last_existing_byte_is_legal_and_the_next_is_not() {
        let read = OperandUse::read(Dtype::FP32, 32);
        assert_eq!(rule(0x83_7FFC, &[0], &[1], read, true), None);
        assert_eq!(rule(0x83_7FFC, &[1], &[2], read, true), Some("bounds"));
        assert_eq!(rule(0x80_0000, &[-1], &[2], read, false), Some("bounds"));
        assert_eq!(rule(0x83_8000, &[0], &[1], read, true), Some("bounds"));
    }

    #[test]
    fn lenient_mode_waives_region_rules_only() {
        let write = OperandUse::write(Dtype::FP16, 64);
        let partition_32_of_psum = 0x210_0000;
        assert_eq!(rule(partition_32_of_psum, &[1], &[4], write, true), Some("start-partition"));
        assert_eq!(rule(partition_32_of_psum, &[1], &[4], write, false), None);
        assert_eq!(rule(0x200_0000, &[1], &[4], write, true), Some("psum-cell"));
        assert_eq!(rule(0x200_0001, &[1], &[4], write, false), Some("alignment"));
        assert_eq!(rule(0x2F0_0000, &[1], &[4], write, false), Some("address-unmapped"));
        assert_eq!(rule(0x1E0_0000, &[1], &[4], write, false), Some("partition-extent"));
    }

    #[test]
    fn register_held_addresses_have_29_bits() {
        assert_eq!(register_address(0x1FFF_FFFF), Ok(0x1FFF_FFFF));
        assert_eq!(register_address(0x2000_0000), Err(AddressFault::RegisterBits(0x2000_0000)));
    }

    #[test]
    fn start_addresses_of_chapter_03_table_3_2_are_where_it_says() {
        // partition 64, offset 0x800 in both memories: legal for 64 lanes
        let read = OperandUse::read(Dtype::FP32, 64);
        assert_eq!(rule(0x100_0800, &[1], &[4], read, true), None);
        assert_eq!(rule(0x220_0800, &[1], &[4], read, true), None);
        assert_eq!(rule(0x220_0800, &[1], &[4], read.only(Space::Sbuf), true), Some("memory-space"));
    }
}
