//! State of the vector and pool engines that no memory holds: it lasts from word to word (chapter 05
//! section 1.1, chapter 06 section 8.1).

use super::random::{GENERATORS, LaneGenerators, Xorwow, seeded};
use crate::isa::PARTITIONS;
use crate::save::saved;

/// Keys that a search compares with, per partition.
pub const KEYS: usize = 8;

/// Index of a key that nothing has matched.
pub const UNMATCHED: u32 = u32::MAX;

/// Reset state of the generators for stochastic rounding, as that of PSUM's (D05-2).
pub const CONVERTER_SEED: u32 = 1;

/// Elements per partition of the gather buffer (chapter 06 section 2.1).
pub const BUFFER_ELEMENTS: usize = 512;

/// Seeds of a partition for rounding BF16 results of the PE: two for each PSUM bank.
pub const SEEDS: usize = 16;

/// Cells of a table of CONV_LUT_LOAD.
pub const LUT_ENTRIES: usize = 16;

/// State of the PE beside its weights (chapter 05 section 1.1, chapter 06 section 9.4).
#[derive(Clone, Debug)]
pub struct PeHidden {
    /// Seeds of stochastic rounding, per PSUM partition.
    pub seeds: [[u32; SEEDS]; PARTITIONS],
    /// Seeds have been loaded: results in BF16 are rounded stochastically.
    pub seeded: bool,
    /// Tables of CONV_LUT_LOAD, per row.
    pub lut: [[u16; LUT_ENTRIES]; PARTITIONS],
}

impl Default for PeHidden {
    fn default() -> Self {
        PeHidden {
            seeds: [[CONVERTER_SEED; SEEDS]; PARTITIONS],
            seeded: false,
            lut: [[0; LUT_ENTRIES]; PARTITIONS],
        }
    }
}

/// Searching words of DVE (chapter 05 section 7).
#[derive(Clone, Debug)]
pub struct SearchState {
    /// What MATCH_VALUE_LOAD loaded; NaN, which matches nothing, before.
    pub keys: [[f32; KEYS]; PARTITIONS],
    /// Where the last search found each key.
    pub indices: [[u32; KEYS]; PARTITIONS],
}

impl Default for SearchState {
    fn default() -> Self {
        SearchState { keys: [[f32::NAN; KEYS]; PARTITIONS], indices: [[UNMATCHED; KEYS]; PARTITIONS] }
    }
}

/// Preloaded scalars of DVE: FP32 or zero-extended bits (chapter 04 section 4.7).
#[derive(Clone, PartialEq, Debug)]
pub struct PreloadedScalars(pub [[u32; Self::PER_LANE]; PARTITIONS]);

impl PreloadedScalars {
    /// Scalars of a partition.
    pub const PER_LANE: usize = 8;
}

impl Default for PreloadedScalars {
    fn default() -> Self {
        PreloadedScalars([[0; Self::PER_LANE]; PARTITIONS])
    }
}

/// The parameters of BATCH_NORM_BACK_PROP in one partition (chapter 05 section 5.5).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct BatchNormParams {
    /// Elements of the batch.
    pub n: f32,
    /// Mean of the batch.
    pub mean: f32,
    /// Scale of the result.
    pub a: f32,
    /// Sum of the gradients.
    pub b: f32,
    /// Weighted sum of the gradients.
    pub c: f32,
}

/// Batch normalisation (chapter 05 sections 5.1 and 5.5).
#[derive(Clone, PartialEq, Debug)]
pub struct BatchNormState {
    /// What the words BATCH_NORM_PARAM_LOAD loaded.
    pub params: [BatchNormParams; PARTITIONS],
    /// The parameter RAM, FP32 bits; kept as state, no arithmetic reads it (decision 05-30).
    pub ram: [u32; Self::RAM_WORDS],
}

impl BatchNormState {
    /// Words of the parameter RAM.
    pub const RAM_WORDS: usize = 256;
}

impl Default for BatchNormState {
    /// Zeros, and 1/(i + 1) in the parameter RAM (D05-2).
    fn default() -> Self {
        BatchNormState {
            params: [BatchNormParams::default(); PARTITIONS],
            ram: std::array::from_fn(|i| (1.0 / (i + 1) as f32).to_bits()),
        }
    }
}

/// Random numbers of DVE (chapter 06 section 8.1).
#[derive(Clone, Debug)]
pub struct DveRandom {
    /// Draws of RNG and DROPOUT.
    pub lfsr: LaneGenerators,
    /// Draws of RAND2.
    pub xorwow: [[Xorwow; GENERATORS]; PARTITIONS],
    /// Stochastic rounding of the output converter.
    pub convert: [[u32; 4]; PARTITIONS],
}

impl Default for DveRandom {
    /// As seed 0 leaves it (D06-24).
    fn default() -> Self {
        DveRandom {
            lfsr: seeded(0),
            xorwow: [[Xorwow::default(); GENERATORS]; PARTITIONS],
            convert: [[CONVERTER_SEED; 4]; PARTITIONS],
        }
    }
}

/// Lane permutation of a quadrant: source lane of each destination lane; 32 and more leave a destination
/// lane unwritten (D05-35, D06-19).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneMask(pub [u8; 32]);

impl Default for LaneMask {
    /// The identity.
    fn default() -> Self {
        LaneMask(std::array::from_fn(|lane| lane as u8))
    }
}

/// State of POOL.
#[derive(Clone, Debug, Default)]
pub struct PoolState {
    /// Random numbers.
    pub random: PoolRandom,
    /// Table that GATHER reads.
    pub buffer: GatherBuffer,
    /// Values of LOAD_POOL_ARGUMENT.
    pub arguments: [u32; 8],
}

/// Random numbers of POOL.
#[derive(Clone, Debug)]
pub struct PoolRandom {
    /// Draws of RNG.
    pub xorwow: [Xorwow; PARTITIONS],
    /// Stochastic rounding of the output converter.
    pub convert: [u32; PARTITIONS],
}

impl Default for PoolRandom {
    fn default() -> Self {
        PoolRandom { xorwow: [Xorwow::default(); PARTITIONS], convert: [CONVERTER_SEED; PARTITIONS] }
    }
}

/// The gather buffer: up to 512 raw elements a partition (chapter 06 section 2.1).
#[derive(Clone, Debug, Default)]
pub struct GatherBuffer {
    /// Zero-extended elements, [`BUFFER_ELEMENTS`] a partition; empty before the first load.
    pub data: Vec<u32>,
    /// Bytes of an element.
    pub width: usize,
    /// Elements that the last load brought.
    pub count: usize,
    /// First table index of the load.
    pub start_index: u32,
    /// Low bits of an index that select the element.
    pub mask: u32,
    /// Loaded and not freed.
    pub valid: bool,
}

saved!(struct PeHidden { seeds, seeded, lut });
saved!(struct SearchState { keys, indices });
saved!(struct DveRandom { lfsr, xorwow, convert });
saved!(wrapper LaneMask, PreloadedScalars);
saved!(struct BatchNormParams { n, mean, a, b, c });
saved!(struct BatchNormState { params, ram });
saved!(struct PoolState { random, buffer, arguments });
saved!(struct PoolRandom { xorwow, convert });
saved!(struct GatherBuffer { data, width, count, start_index, mask, valid });

impl GatherBuffer {
    /// Whether words can have left it like this.
    pub(super) fn is_sound(&self) -> bool {
        let whole = self.data.len() == BUFFER_ELEMENTS * PARTITIONS;
        (whole || (self.data.is_empty() && !self.valid)) && self.count <= BUFFER_ELEMENTS
    }
}
