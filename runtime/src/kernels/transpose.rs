//! Transposing squares of 16 x 16 elements of 32 bits in registers.

use crate::num::Level;

/// Rows and columns of a square.
pub(super) const SQUARE: usize = 16;

/// Element `k` of `rows[n]` becomes element `n` of row `k`.
pub(super) fn square(rows: &[&[u32; SQUARE]; SQUARE]) -> [[u32; SQUARE]; SQUARE] {
    let mut out = [[0; SQUARE]; SQUARE];
    square_into(rows, &mut out);
    out
}

/// [`square`] into a square that exists.
pub(super) fn square_into(rows: &[&[u32; SQUARE]; SQUARE], out: &mut [[u32; SQUARE]; SQUARE]) {
    match Level::current() {
        // SAFETY: the current level never exceeds what the host was found to have.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Amx => unsafe { avx512(rows, out) },
        // SAFETY: every CPU of this architecture has SSE2.
        #[cfg(target_arch = "x86_64")]
        _ => unsafe { sse(rows, out) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => *out = std::array::from_fn(|k| std::array::from_fn(|n| rows[n][k])),
    }
}

/// Element `k` of every row becomes column `k`.
///
/// # Panics
/// If a row has fewer elements than there are columns.
pub(super) fn columns(rows: &[&[f32]; SQUARE], columns: &mut [[f32; SQUARE]]) {
    let whole = rows.map(|row| row[..columns.len()].as_chunks().0);
    let (squares, rest) = columns.as_chunks_mut();
    for (number, square) in squares.iter_mut().enumerate() {
        square_into(&whole.map(|row| bits(&row[number])), bits_mut(square));
    }
    let first = squares.len() * SQUARE;
    for (k, column) in rest.iter_mut().enumerate() {
        *column = rows.map(|row| row[first + k]);
    }
}

/// Column `k` becomes element `k` of every row.
///
/// # Panics
/// If a row does not have as many elements as there are columns.
pub(super) fn rows(columns: &[[f32; SQUARE]], rows: &mut [Vec<f32>; SQUARE]) {
    assert!(rows.iter().all(|row| row.len() == columns.len()), "rows and columns");
    let (squares, rest) = columns.as_chunks::<SQUARE>();
    let mut out = [[0; SQUARE]; SQUARE];
    for (number, square) in squares.iter().enumerate() {
        square_into(&square.each_ref().map(bits), &mut out);
        for (row, bits) in rows.iter_mut().zip(&out) {
            let row = &mut row.as_chunks_mut::<SQUARE>().0[number];
            *row = bits.map(f32::from_bits);
        }
    }
    let first = squares.len() * SQUARE;
    for (k, column) in rest.iter().enumerate() {
        rows.iter_mut().zip(column).for_each(|(row, value)| row[first + k] = *value);
    }
}

/// The bits of some floats.
fn bits(floats: &[f32; SQUARE]) -> &[u32; SQUARE] {
    // SAFETY: of the same size and alignment, and any bits are an integer.
    unsafe { &*std::ptr::from_ref(floats).cast() }
}

/// The bits of a square of floats.
fn bits_mut(floats: &mut [[f32; SQUARE]; SQUARE]) -> &mut [[u32; SQUARE]; SQUARE] {
    // SAFETY: of the same size and alignment, and any bits are either.
    unsafe { &mut *std::ptr::from_mut(floats).cast() }
}

/// Blocks of 4 x 4.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn sse(rows: &[&[u32; SQUARE]; SQUARE], out: &mut [[u32; SQUARE]; SQUARE]) {
    use std::arch::x86_64::*;
    for n in (0..SQUARE).step_by(4) {
        for k in (0..SQUARE).step_by(4) {
            // SAFETY: elements k to k + 3 of a row of 16.
            let [a, b, c, d] =
                [0, 1, 2, 3].map(|i| unsafe { _mm_loadu_si128(rows[n + i].as_ptr().add(k).cast()) });
            let (ab_low, ab_high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
            let (cd_low, cd_high) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
            let block = [
                _mm_unpacklo_epi64(ab_low, cd_low),
                _mm_unpackhi_epi64(ab_low, cd_low),
                _mm_unpacklo_epi64(ab_high, cd_high),
                _mm_unpackhi_epi64(ab_high, cd_high),
            ];
            for (row, vector) in out[k..k + 4].iter_mut().zip(block) {
                // SAFETY: elements n to n + 3 of a row of 16.
                unsafe { _mm_storeu_si128(row.as_mut_ptr().add(n).cast(), vector) };
            }
        }
    }
}

/// Four rounds, each of which puts pairs of vectors together: elements, pairs of elements, and quarters twice.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512(rows: &[&[u32; SQUARE]; SQUARE], out: &mut [[u32; SQUARE]; SQUARE]) {
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
    for k in 0..8 {
        let (low, high) =
            (_mm512_shuffle_i32x4::<0x88>(c[k], c[k + 8]), _mm512_shuffle_i32x4::<0xDD>(c[k], c[k + 8]));
        // SAFETY: as above.
        unsafe {
            _mm512_storeu_si512(out[k].as_mut_ptr().cast(), low);
            _mm512_storeu_si512(out[k + 8].as_mut_ptr().cast(), high);
        }
    }
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

    #[test]
    fn rows_become_columns_and_rows_again() {
        for n in [0, 1, 15, 16, 17, 40] {
            let made: [Vec<f32>; SQUARE] =
                std::array::from_fn(|lane| (0..n).map(|k| (lane * 100 + k) as f32).collect());
            for level in Level::ALL {
                with_level(level, || {
                    let mut there = vec![[0.0; SQUARE]; n];
                    columns(&std::array::from_fn(|lane| made[lane].as_slice()), &mut there);
                    for (k, column) in there.iter().enumerate() {
                        assert_eq!(*column, std::array::from_fn(|lane| (lane * 100 + k) as f32));
                    }
                    let mut back = std::array::from_fn(|_| vec![0.0; n]);
                    rows(&there, &mut back);
                    assert_eq!(back, made);
                });
            }
        }
    }
}
