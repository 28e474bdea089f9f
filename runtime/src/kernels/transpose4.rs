//! Transposing 4 x 4 blocks of 32 bits inside the four quarters of AVX-512 registers.

use std::arch::x86_64::*;

/// Element `k` of quarter `q` of row `i` becomes element `i` of quarter `q` of row `k`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn transpose4([a, b, c, d]: [__m512; 4]) -> [__m512; 4] {
    let double = _mm512_castps_pd;
    let (ab_low, ab_high) = (double(_mm512_unpacklo_ps(a, b)), double(_mm512_unpackhi_ps(a, b)));
    let (cd_low, cd_high) = (double(_mm512_unpacklo_ps(c, d)), double(_mm512_unpackhi_ps(c, d)));
    [
        _mm512_castpd_ps(_mm512_unpacklo_pd(ab_low, cd_low)),
        _mm512_castpd_ps(_mm512_unpackhi_pd(ab_low, cd_low)),
        _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high)),
        _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high)),
    ]
}
