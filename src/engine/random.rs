//! Reproducible random inputs.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit_runtime::isa::Dtype;
use seqjit_runtime::num::{Fp8, from_f32};

/// Fills a tensor: floats uniform in [-1, 1), everything else uniform bits. The stream of numbers depends
/// on the seed and the name only.
pub(super) fn fill(seed: u64, name: &str, dtype: Dtype, data: &mut [u8]) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // Inputs of one program differ: the name selects the generator's stream.
    rng.set_stream(
        name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)),
    );
    if !dtype.is_float() {
        rng.fill(data);
        return;
    }
    for element in data.chunks_exact_mut(dtype.bytes()) {
        let bits = from_f32(rng.random_range(-1.0f32..1.0), dtype, Fp8::default()).to_le_bytes();
        element.copy_from_slice(&bits[..element.len()]);
    }
}
