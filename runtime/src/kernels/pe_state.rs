//! Words that load or store state of the PE array beside weights (chapter 05 sections 2.6 and 2.8, chapter 06
//! section 9.4).

use super::transpose::{SQUARE, square};
use crate::interp::pe::{LoadTags, ManageSeed, resolve_lut};
use crate::interp::{Exec, FaultKind, Walk};
use crate::isa::{Decoded, PARTITIONS};
use crate::machine::hidden::{LUT_ENTRIES, SEEDS};
use crate::machine::{Partitions, PeState};
use crate::num::dispatch::multiversion;

/// Bytes of the tags of a row: four a tag of 16 bits.
const TAG_BYTES: usize = PARTITIONS / 2;

/// LDTAGS with its source.
#[derive(Clone, Copy, Debug)]
pub struct Tags(LoadTags);

impl Tags {
    /// Resolves the operands of a word.
    ///
    /// # Errors
    /// The fault that the interpreter would raise.
    pub fn bind(x: &Exec<'_>, w: &Decoded) -> Result<Tags, FaultKind> {
        LoadTags::new(x, w).map(Tags)
    }

    /// Loads the tags.
    pub fn run(&self, x: &mut Exec<'_>) {
        let LoadTags { first_row, rows, force, src } = &self.0;
        let core = x.core();
        for row in 0..*rows {
            let packed: [u8; TAG_BYTES] = lane(src, core.memory(src.space), row);
            let at = PeState::cell(0, first_row + row, 0);
            spread_tags(&packed, *force, &mut core.pe.tags[at..at + PARTITIONS]);
        }
    }
}

multiversion! {
    /// The tags of a row, the last column first.
    fn spread_tags(packed: &[u8], force: u8, tags: &mut [u8]) {
        for (two, byte) in tags.as_chunks_mut::<2>().0.iter_mut().rev().zip(packed) {
            *two = [byte >> 4 | force, byte & 0xF | force];
        }
    }
}

/// PE_MANAGE_SEED with its operands.
#[derive(Clone, Copy, Debug)]
pub struct Seeds(ManageSeed);

impl Seeds {
    /// Resolves the operands of a word.
    ///
    /// # Errors
    /// The fault that the interpreter would raise.
    pub fn bind(x: &Exec<'_>, w: &Decoded) -> Result<Seeds, FaultKind> {
        ManageSeed::new(x, w).map(Seeds)
    }

    /// Loads or stores the seeds.
    pub fn run(&self, x: &mut Exec<'_>) {
        let core = x.core();
        match &self.0 {
            ManageSeed::Nothing => {}
            ManageSeed::Load(src) => {
                let rows: [[u8; 4 * PARTITIONS]; SEEDS] =
                    std::array::from_fn(|seed| lane(src, core.memory(src.space), seed));
                let rows = rows.map(|row| words(&row));
                for (block, partitions) in core.pe.hidden.seeds.as_chunks_mut().0.iter_mut().enumerate() {
                    *partitions = square(&rows.each_ref().map(|row| &row.as_chunks().0[block]));
                }
                core.pe.hidden.seeded = true;
            }
            ManageSeed::Save(dst) => {
                for partition in 0..PARTITIONS {
                    let seeds = core.pe.hidden.seeds[partition].map(u32::to_le_bytes);
                    let memory = core.memory_mut(dst.space);
                    dst.scatter(&mut dst.start(), memory, partition, seeds.as_flattened());
                }
            }
        }
    }
}

// Seeds of sixteen partitions are a square.
const _: () = assert!(SEEDS == SQUARE && PARTITIONS.is_multiple_of(SQUARE));

/// Little-endian words.
fn words(bytes: &[u8; 4 * PARTITIONS]) -> [u32; PARTITIONS] {
    let mut words = [0; PARTITIONS];
    words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    words
}

/// CONV_LUT_LOAD with its source.
#[derive(Clone, Copy, Debug)]
pub struct Tables(Walk);

impl Tables {
    /// Resolves the operands of a word.
    ///
    /// # Errors
    /// The fault that the interpreter would raise.
    pub fn bind(x: &Exec<'_>, w: &Decoded) -> Result<Tables, FaultKind> {
        resolve_lut(x, w).map(Tables)
    }

    /// Loads a table for every row.
    pub fn run(&self, x: &mut Exec<'_>) {
        let core = x.core();
        for row in 0..PARTITIONS {
            let packed: [u8; 2 * LUT_ENTRIES] = lane(&self.0, core.memory(self.0.space), row);
            let cells = core.pe.hidden.lut[row].iter_mut().zip(packed.as_chunks().0);
            cells.for_each(|(cell, bytes)| *cell = u16::from_le_bytes(*bytes));
        }
    }
}

/// The bytes of one lane of a walk that has so many.
fn lane<const N: usize>(walk: &Walk, memory: &Partitions, lane: usize) -> [u8; N] {
    let mut bytes = [0; N];
    match walk.as_slice(memory, lane) {
        Some(slice) => bytes.copy_from_slice(slice),
        None => walk.gather(&mut walk.start(), memory, lane, &mut bytes),
    }
    bytes
}
