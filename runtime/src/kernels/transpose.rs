//! Transposing squares of 16 x 16 elements of 32 bits in registers.

use crate::num::Level;

/// Rows and columns of a square.
pub(crate) const SQUARE: usize = 16;

/// Element `k` of `rows[n]` becomes element `n` of row `k`.
pub(crate) fn square(rows: &[&[u32; SQUARE]; SQUARE]) -> [[u32; SQUARE]; SQUARE] {
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

/// Edge of the tiles that words transpose.
pub(super) const TILE: usize = 2 * SQUARE;

/// Tiles of 32 rows and 32 packed elements, as many as the rows hold: element `k` of row `n` of each becomes element
/// `n` of row `k`. Element sizes are 1, 2, 4 and 8.
///
/// # Panics
/// If rows differ in length.
pub(super) fn tiles(size: usize, rows: &[&[u8]; TILE], out: &mut [Vec<u8>; TILE]) {
    out.iter_mut().for_each(|row| row.resize(rows[0].len(), 0));
    match size {
        1 => squares(rows, out, |[a]| a.into(), |v| [v as u8]),
        2 => squares(rows, out, |b| u16::from_le_bytes(b).into(), |v| (v as u16).to_le_bytes()),
        4 => squares(rows, out, u32::from_le_bytes, u32::to_le_bytes),
        _ => cells(size, rows, out),
    }
}

/// Squares of elements that fit into 32 bits.
fn squares<const N: usize>(
    rows: &[&[u8]; TILE],
    out: &mut [Vec<u8>; TILE],
    load: impl Fn([u8; N]) -> u32,
    store: impl Fn(u32) -> [u8; N],
) {
    let rows = rows.map(|row| row.as_chunks::<N>().0.as_chunks::<SQUARE>().0);
    let piece = |row: usize, number: usize| rows[row][number].map(&load);
    let mut square = [[0; SQUARE]; SQUARE];
    for number in 0..rows[0].len() {
        // Pieces of rows come in pairs: the left and the right half of a tile.
        let (tile, right) = (number / 2, number % 2);
        for lower in 0..2 {
            let cut: [[u32; SQUARE]; SQUARE] = std::array::from_fn(|n| piece(lower * SQUARE + n, number));
            square_into(&cut.each_ref(), &mut square);
            for (row, cells) in out[right * SQUARE..][..SQUARE].iter_mut().zip(&square) {
                row.as_chunks_mut::<N>().0.as_chunks_mut::<SQUARE>().0[2 * tile + lower] = cells.map(&store);
            }
        }
    }
}

/// Elements of any size, one by one.
fn cells(size: usize, rows: &[&[u8]; TILE], out: &mut [Vec<u8>; TILE]) {
    for at in (0..rows[0].len()).step_by(TILE * size) {
        for (k, out) in out.iter_mut().enumerate() {
            for (to, row) in out[at..at + TILE * size].chunks_exact_mut(size).zip(rows) {
                to.copy_from_slice(&row[at + k * size..][..size]);
            }
        }
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
    fn tiles_change_lane_and_element() {
        for size in [1, 2, 4, 8] {
            let element = |lane: usize, k: usize| ((lane * 131 + k * 7) as u64).to_le_bytes();
            let made: Vec<Vec<u8>> = (0..TILE)
                .map(|lane| (0..3 * TILE).flat_map(|k| element(lane, k)[..size].to_vec()).collect())
                .collect();
            for level in Level::ALL {
                let mut out = std::array::from_fn(|_| Vec::new());
                let rows = std::array::from_fn(|lane| made[lane].as_slice());
                with_level(level, || tiles(size, &rows, &mut out));
                for (lane, row) in out.iter().enumerate() {
                    let transposed = (0..3 * TILE).map(|k| element(k % TILE, k / TILE * TILE + lane));
                    let expected: Vec<u8> = transposed.flat_map(|e| e[..size].to_vec()).collect();
                    assert_eq!(*row, expected, "lane {lane}, {size} bytes, {level}");
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
