//! MX operands: four contraction lanes of a row side by side, and a scale for every eight rows of them (chapter 05
//! section 2.7).

use super::{Tile, flushes};
use crate::interp::{Access, Address, Exec, FaultKind, Walk};
use crate::isa::{Dtype, Location, MxPattern1, Space, Tensor};
use crate::machine::Partitions;
use crate::num::{self, Fp8, canonical};

/// Contraction lanes of a row.
pub(crate) const LANES: usize = 4;

/// Rows that share a scale.
const SCALE_ROWS: usize = 8;
/// Scales of a quadrant of partitions, in partitions that follow each other.
const QUADRANT_SCALES: usize = 4;
/// Partitions of a quadrant.
const QUADRANT: usize = 32;
/// Highest offset of the scales in their quadrant.
const MAX_OFFSET: u8 = 12;

/// The flavour of FP8 elements, whatever the program says (decision 03-E10).
pub(crate) const FLAVOUR: Fp8 = Fp8 { ocp: true, saturate: false };

/// The scales of an operand: one byte for each column or position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scales {
    /// Partition of the scales of the first rows.
    partition: usize,
    offset: usize,
    count: usize,
}

impl Scales {
    /// The partition of the scales of a row of the tile.
    fn partition(&self, row: usize) -> usize {
        let scale = row / SCALE_ROWS;
        self.partition + QUADRANT * (scale / QUADRANT_SCALES) + scale % QUADRANT_SCALES
    }

    /// The scales of a row of the tile, E8M0.
    pub(crate) fn of_row<'m>(&self, sbuf: &'m Partitions, row: usize) -> &'m [u8] {
        &sbuf.partition(self.partition(row))[self.offset..][..self.count]
    }
}

/// An operand: what holds its elements, one lane a row of the tile and contiguous in it, and its scales.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MxOperand {
    pub(crate) walk: Walk,
    pub(crate) scales: Scales,
    /// Columns or positions: a fourth of the elements.
    pub(crate) columns: usize,
}

impl MxOperand {
    /// Resolves an operand and checks it.
    pub(crate) fn new(
        x: &Exec<'_>,
        src: &MxPattern1,
        dtype: Dtype,
        tile: &Tile,
    ) -> Result<MxOperand, FaultKind> {
        check_pattern(src)?;
        // Four elements of FP4 are a container of 16 bits (decision 05-17).
        let (cell, cells) = match dtype {
            Dtype::FP8_EXP2 | Dtype::FP8_EXP3 | Dtype::FP8_EXP4 | Dtype::FP8_EXP5 => {
                (Dtype::UINT8, src.num_elem)
            }
            Dtype::FP4_EXP2 => (Dtype::UINT16, src.num_elem / LANES as u16),
            Dtype::INT4 => return Err(FaultKind::unsupported("in_dtype", "how INT4 elements are packed")),
            _ => return Err(FaultKind::illegal("in_dtype", dtype.text(), "an MX datatype")),
        };
        let data = Tensor { start: src.data, step: [1], num: [cells] };
        let walk = x.tensor("src", &data, cell, tile.rows as u8, Access::Read)?;
        let columns = usize::from(src.num_elem) / LANES;
        let scales = scales(x, src, columns, tile.rows)?;
        Ok(MxOperand { walk, scales, columns })
    }
}

fn check_pattern(src: &MxPattern1) -> Result<(), FaultKind> {
    if src.num_elem == 0 || !src.num_elem.is_multiple_of(LANES as u16) {
        let found = format!("{} elements", src.num_elem);
        return Err(FaultKind::illegal("src", found, "a multiple of 4, not 0"));
    }
    if src.scale_partition > MAX_OFFSET || !src.scale_partition.is_multiple_of(QUADRANT_SCALES as u8) {
        return Err(FaultKind::illegal("src", format!("scales at {}", src.scale_partition), "0, 4, 8 or 12"));
    }
    match src.step as i8 {
        1 => Ok(()),
        // Neither the order of the lanes nor that of the scales is known then.
        -1 => Err(FaultKind::unsupported("src", "the lanes and scales of an MX operand with step -1")),
        step => Err(FaultKind::illegal("src", format!("step {step}"), "1 or -1")),
    }
}

/// The scales of an operand of so many columns and rows.
fn scales(x: &Exec<'_>, src: &MxPattern1, columns: usize, rows: usize) -> Result<Scales, FaultKind> {
    let address = x.start_address("src", src.scale)?;
    let row = Tensor { start: src.scale, step: [1], num: [columns as u16] };
    let mut scales = Scales { partition: src.scale_partition.into(), offset: 0, count: columns };
    let lanes = scales.partition(rows - 1) + 1;
    let geometry = x.machine.generation.geometry();
    let walk = Walk::new(&geometry, "src", address, &row, Dtype::UINT8, lanes)?;
    if walk.space != Space::Sbuf {
        return Err(FaultKind::illegal("src", format!("scales in {}", walk.space), "sbuf"));
    }
    scales.partition += walk.partition;
    scales.offset = walk.offset;
    let memory = x.machine.cores[x.core].memory(walk.space);
    for row in (0..rows).step_by(SCALE_ROWS) {
        let partition = scales.partition(row);
        memory.note_read(partition, scales.offset, columns);
        if let Some(offset) = memory.first_unwritten(partition, scales.offset, columns) {
            let byte = Location { space: walk.space, partition: partition as u8, offset: offset as u32 };
            return Err(FaultKind::Uninitialised { field: "src", address: Address::Byte(byte) });
        }
    }
    Ok(scales)
}

/// The value of a scale.
pub(crate) fn factor(scale: u8) -> f32 {
    num::to_f32(scale.into(), Dtype::SFP8_E8, FLAVOUR)
}

/// The value of an element as the array multiplies it.
pub(crate) fn scaled(bits: u32, dtype: Dtype, scale: u8) -> f32 {
    let value = num::to_f32(bits, dtype, FLAVOUR) * factor(scale);
    if flushes(dtype) && value.is_subnormal() { 0.0f32.copysign(value) } else { canonical(value) }
}
