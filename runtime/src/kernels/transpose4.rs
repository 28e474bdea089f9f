//! Transposing 4 x 4 blocks of 32 bits inside the four quarters of AVX-512 registers.

use std::arch::x86_64::*;

/// Element `k` of quarter `q` of row `i` becomes element `i` of quarter `q` of row `k`.
///
/// # Safety
/// The CPU has AVX-512 F, and the caller is compiled for it: this is always inlined, which a function with
/// target features of its own would not be.
#[inline(always)]
pub(super) unsafe fn transpose4([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let double = |v| _mm512_castps_pd(v);
        let (ab_low, ab_high) = (double(_mm512_unpacklo_ps(a, b)), double(_mm512_unpackhi_ps(a, b)));
        let (cd_low, cd_high) = (double(_mm512_unpacklo_ps(c, d)), double(_mm512_unpackhi_ps(c, d)));
        [
            _mm512_castpd_ps(_mm512_unpacklo_pd(ab_low, cd_low)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(ab_low, cd_low)),
            _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high)),
        ]
    }
}
