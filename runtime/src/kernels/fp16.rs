//! Conversions of FP16 rows by the instructions for them (F16C), which round to nearest even with gradual underflow
//! as chapter 03 section 6.3 has it; only NaN is made canonical beside.

#[cfg(target_arch = "x86_64")]
use crate::num::Level;

/// Converts a packed row to FP32; `false`, with nothing done, where the CPU has no instruction for it.
///
/// # Panics
/// If `src` does not hold exactly `dst.len()` elements.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub(crate) fn unpack(src: &[u8], dst: &mut [f32]) -> bool {
    assert_eq!(src.len(), 2 * dst.len(), "bytes of a row of {} elements", dst.len());
    #[cfg(target_arch = "x86_64")]
    {
        let level = Level::current();
        if level >= Level::Avx512 {
            // SAFETY: the current level never exceeds what the host was found to have.
            unsafe { x86::unpack_512(src.as_chunks().0, dst) };
            return true;
        }
        if level >= Level::Avx2 && is_x86_feature_detected!("f16c") {
            // SAFETY: as above, and F16C was found.
            unsafe { x86::unpack_256(src.as_chunks().0, dst) };
            return true;
        }
    }
    false
}

/// Converts FP32 to a packed row; `false`, with nothing done, where the CPU has no instruction for it.
///
/// # Panics
/// If `dst` does not hold exactly `src.len()` elements.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub(crate) fn pack(src: &[f32], dst: &mut [u8]) -> bool {
    assert_eq!(dst.len(), 2 * src.len(), "bytes of a row of {} elements", src.len());
    #[cfg(target_arch = "x86_64")]
    {
        let level = Level::current();
        if level >= Level::Avx512 {
            // SAFETY: the current level never exceeds what the host was found to have.
            unsafe { x86::pack_512(src, dst.as_chunks_mut().0) };
            return true;
        }
        if level >= Level::Avx2 && is_x86_feature_detected!("f16c") {
            // SAFETY: as above, and F16C was found.
            unsafe { x86::pack_256(src, dst.as_chunks_mut().0) };
            return true;
        }
    }
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::num::CANONICAL_NAN;

    type Half = [u8; 2];

    /// Calls `block` for every 16 or 8 elements; a last shorter block is filled up with zeros.
    #[inline(always)]
    fn blocks<const N: usize, A: Copy + Default, B: Copy + Default>(
        src: &[A],
        dst: &mut [B],
        block: impl Fn(&[A; N], &mut [B; N]),
    ) {
        let (whole, rest) = src.as_chunks::<N>();
        let (results, rest_of_results) = dst.as_chunks_mut::<N>();
        for (from, to) in whole.iter().zip(results) {
            block(from, to);
        }
        if !rest.is_empty() {
            let (mut from, mut to) = ([A::default(); N], [B::default(); N]);
            from[..rest.len()].copy_from_slice(rest);
            block(&from, &mut to);
            rest_of_results.copy_from_slice(&to[..rest.len()]);
        }
    }

    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn unpack_512(src: &[Half], dst: &mut [f32]) {
        blocks(src, dst, |from: &[Half; 16], to: &mut [f32; 16]| {
            // SAFETY: both arrays have 16 elements.
            let wide = _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(from.as_ptr().cast()) });
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(wide, wide);
            let wide = _mm512_mask_mov_ps(wide, nan, _mm512_set1_ps(CANONICAL_NAN));
            // SAFETY: as above.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr(), wide) };
        });
    }

    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn pack_512(src: &[f32], dst: &mut [Half]) {
        blocks(src, dst, |from: &[f32; 16], to: &mut [Half; 16]| {
            // SAFETY: both arrays have 16 elements.
            let wide = unsafe { _mm512_loadu_ps(from.as_ptr()) };
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(wide, wide);
            let wide = _mm512_mask_mov_ps(wide, nan, _mm512_set1_ps(CANONICAL_NAN));
            let half = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(wide);
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), half) };
        });
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn unpack_256(src: &[Half], dst: &mut [f32]) {
        blocks(src, dst, |from: &[Half; 8], to: &mut [f32; 8]| {
            // SAFETY: both arrays have 8 elements.
            let wide = _mm256_cvtph_ps(unsafe { _mm_loadu_si128(from.as_ptr().cast()) });
            let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide);
            let wide = _mm256_blendv_ps(wide, _mm256_set1_ps(CANONICAL_NAN), nan);
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), wide) };
        });
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn pack_256(src: &[f32], dst: &mut [Half]) {
        blocks(src, dst, |from: &[f32; 8], to: &mut [Half; 8]| {
            // SAFETY: both arrays have 8 elements.
            let wide = unsafe { _mm256_loadu_ps(from.as_ptr()) };
            let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide);
            let wide = _mm256_blendv_ps(wide, _mm256_set1_ps(CANONICAL_NAN), nan);
            let half = _mm256_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT }>(wide);
            // SAFETY: as above.
            unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), half) };
        });
    }
}
