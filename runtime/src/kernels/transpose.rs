//! Transposing squares of 16 x 16 elements of 32 bits in registers.

use crate::num::Level;

/// Rows and columns of a square.
pub(crate) const SQUARE: usize = 16;

/// Element `k` of `rows[n]` becomes element `n` of row `k`.
pub(crate) fn square(rows: &[&[u32; SQUARE]; SQUARE]) -> [[u32; SQUARE]; SQUARE] {
    match Level::current() {
        // SAFETY: the current level never exceeds what the host was found to have.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Amx => unsafe { avx512(rows) },
        _ => std::array::from_fn(|k| std::array::from_fn(|n| rows[n][k])),
    }
}

/// Four rounds, each of which puts pairs of vectors together: elements, pairs of elements, and quarters twice.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(rows: &[&[u32; SQUARE]; SQUARE]) -> [[u32; SQUARE]; SQUARE] {
    use std::arch::x86_64::*;
    // SAFETY: a row is 64 bytes, as is a vector.
    let r = rows.map(|row| unsafe { _mm512_loadu_si512(row.as_ptr().cast()) });
    let mut a = r;
    for k in (0..SQUARE).step_by(2) {
        a[k] = _mm512_unpacklo_epi32(r[k], r[k + 1]);
        a[k + 1] = _mm512_unpackhi_epi32(r[k], r[k + 1]);
    }
    let mut b = a;
    for k in (0..SQUARE).step_by(4) {
        b[k] = _mm512_unpacklo_epi64(a[k], a[k + 2]);
        b[k + 1] = _mm512_unpackhi_epi64(a[k], a[k + 2]);
        b[k + 2] = _mm512_unpacklo_epi64(a[k + 1], a[k + 3]);
        b[k + 3] = _mm512_unpackhi_epi64(a[k + 1], a[k + 3]);
    }
    let mut c = b;
    for half in [0, 8] {
        for k in half..half + 4 {
            c[k] = _mm512_shuffle_i32x4::<0x88>(b[k], b[k + 4]);
            c[k + 4] = _mm512_shuffle_i32x4::<0xDD>(b[k], b[k + 4]);
        }
    }
    let mut out = [[0; SQUARE]; SQUARE];
    for k in 0..8 {
        let (low, high) =
            (_mm512_shuffle_i32x4::<0x88>(c[k], c[k + 8]), _mm512_shuffle_i32x4::<0xDD>(c[k], c[k + 8]));
        // SAFETY: as above.
        unsafe {
            _mm512_storeu_si512(out[k].as_mut_ptr().cast(), low);
            _mm512_storeu_si512(out[k + 8].as_mut_ptr().cast(), high);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::with_level;

    #[test]
    fn every_element_changes_places() {
        let rows: [[u32; SQUARE]; SQUARE] =
            std::array::from_fn(|n| std::array::from_fn(|k| (n * 100 + k) as u32));
        for level in Level::ALL {
            let out = with_level(level, || square(&rows.each_ref()));
            for (k, row) in out.iter().enumerate() {
                for (n, element) in row.iter().enumerate() {
                    assert_eq!(*element, (n * 100 + k) as u32);
                }
            }
        }
    }
}
