//! What the vector engine keeps from word to word (chapter 05 section 1.1, chapter 04 sections 2.6 and 4.7).

use crate::isa::PARTITIONS;

/// Preloaded scalars of a partition.
pub const PRELOADED_SCALARS: usize = 8;
/// Words of the parameter RAM.
pub const PARAMETER_RAM_WORDS: usize = 256;

/// The parameters of BATCH_NORM_BACK_PROP, one set a partition.
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

/// DVE state.
#[derive(Clone, Debug)]
pub struct DveState {
    /// One reduce accumulator a partition.
    pub accumulator: [f32; PARTITIONS],
    /// What the words TENSOR_SCALAR_IMM_LD preloaded: FP32 or zero-extended bits.
    pub scalars: [[u32; PRELOADED_SCALARS]; PARTITIONS],
    /// What the words BATCH_NORM_PARAM_LOAD loaded.
    pub batch_norm: [BatchNormParams; PARTITIONS],
    /// FP32 bits; kept as state, no arithmetic reads it (decision 05-30).
    pub parameter_ram: [u32; PARAMETER_RAM_WORDS],
}

impl Default for DveState {
    /// The reset values of decision 05-2: zeros, and 1/(i + 1) in the parameter RAM.
    fn default() -> Self {
        DveState {
            accumulator: [0.0; PARTITIONS],
            scalars: [[0; PRELOADED_SCALARS]; PARTITIONS],
            batch_norm: [BatchNormParams::default(); PARTITIONS],
            parameter_ram: std::array::from_fn(|i| (1.0 / (i + 1) as f32).to_bits()),
        }
    }
}
