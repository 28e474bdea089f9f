//! Activation tables on vectors (chapter 05 section 3.8).
//!
//! A gather costs a load an element and so does reading a bucket whole; but one bucket holds five numbers.
//! So the rows of all buckets are loaded and transposed in registers. The control word, of which
//! there are few, comes out of registers altogether where its octaves fit.

use crate::act::table::{KEYS, MAX_BUCKETS};
#[cfg(target_arch = "x86_64")]
use crate::num::Level;

/// One bucket as a vector loads it.
#[repr(C, align(32))]
#[derive(Clone, Copy, Default)]
pub(crate) struct Row {
    /// Coefficients of the cubic, constant term first.
    pub d: [f32; 4],
    /// Its centre.
    pub x0: f32,
    _unused: [f32; 3],
}

impl Row {
    pub(crate) fn new(d: [f32; 4], x0: f32) -> Row {
        Row { d, x0, _unused: [0.0; 3] }
    }
}

/// What a profile says beside its control entries.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// Magnitude bits from which on `large` holds, by sign.
    pub large_from: [u32; 2],
    /// Bucket of large magnitudes, by sign.
    pub large: [u32; 2],
    /// Input bits kept: they make the magnitude or leave the input alone.
    pub keep: u32,
    /// Input bits set afterwards: they make the negative magnitude.
    pub set: u32,
    /// Sign bit if results of negative inputs change sign.
    pub invert: u32,
    /// Added to results of negative inputs, unless zero.
    pub symmetry_point: f32,
    /// Result at zeros.
    pub at_zero: f32,
    /// Result at NaN.
    pub at_nan: f32,
    /// Results at the infinities, by sign.
    pub at_inf: [f32; 2],
}

/// Control words that two vector registers a sign can hold: those of the octaves that differ.
#[derive(Clone)]
pub(crate) struct Octaves {
    /// Biased exponent of word 0, by sign. Lower exponents have the same word.
    first: [i32; 2],
    /// Exponents beyond the last one have the last word.
    words: [[u32; 32]; 2],
}

impl Octaves {
    /// `None` if there are more.
    pub(crate) fn new(words: &[u32; KEYS]) -> Option<Octaves> {
        let mut octaves = Octaves { first: [0; 2], words: [[0; 32]; 2] };
        for (side, words) in words.as_chunks::<256>().0.iter().enumerate() {
            // Infinities and NaN, of exponent 255, have results of their own.
            let finite = &words[..255];
            let same = |end: u32| move |word: &&u32| **word == end;
            let first = finite.iter().take_while(same(finite[0])).count() - 1;
            let last = 255 - finite.iter().rev().take_while(same(finite[254])).count();
            if last > first + 31 {
                return None;
            }
            octaves.first[side] = first as i32;
            octaves.words[side] = std::array::from_fn(|i| finite[(first + i).min(254)]);
        }
        Some(octaves)
    }
}

/// One function's table.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    /// Control word of every sign and exponent.
    pub words: &'a [u32; KEYS],
    /// The same, shorter.
    pub octaves: Option<&'a Octaves>,
    /// What else the profile says.
    pub rules: &'a Rules,
    /// Buckets of the set.
    pub rows: &'a [Row; MAX_BUCKETS],
}

/// Evaluates whole rows where the CPU has vectors for it; `false`: it has not, and nothing is done.
///
/// # Panics
/// If the lengths differ.
pub(crate) fn eval_row(table: &Table<'_>, xs: &[f32], out: &mut [f32]) -> bool {
    assert_eq!(xs.len(), out.len(), "source and destination rows differ in length");
    #[cfg(target_arch = "x86_64")]
    {
        let level = Level::current();
        if level >= Level::Avx512 {
            // SAFETY: the current level never exceeds what the host was found to have.
            unsafe { x86::avx512(table, xs, out) };
            return true;
        }
        if level >= Level::Avx2 {
            // SAFETY: as above.
            unsafe { x86::avx2(table, xs, out) };
            return true;
        }
    }
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Octaves, Row, Rules, Table};
    use crate::act::table::{KEYS, MAX_BUCKETS};
    use crate::kernels::transpose4::transpose4;
    use crate::num::CANONICAL_NAN;

    const MANTISSA: i32 = 0x7F_FFFF;
    const MAGNITUDE: i32 = 0x7FFF_FFFF;
    const NAN: i32 = CANONICAL_NAN.to_bits() as i32;

    // The parts below are inlined wherever they are called, which functions with target features of their own cannot
    // be asked for.

    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn avx512(table: &Table<'_>, xs: &[f32], out: &mut [f32]) {
        let registers = table.octaves.map(|octaves| Registers::new(octaves));
        let (chunks, rest) = xs.as_chunks::<16>();
        let (results, rest_of_results) = out.as_chunks_mut::<16>();
        for (x, y) in chunks.iter().zip(results) {
            // SAFETY: this function has the features.
            unsafe { block_512(table, registers.as_ref(), x, y) };
        }
        if !rest.is_empty() {
            let (mut x, mut y) = ([0.0; 16], [0.0; 16]);
            x[..rest.len()].copy_from_slice(rest);
            // SAFETY: as above.
            unsafe { block_512(table, registers.as_ref(), &x, &mut y) };
            rest_of_results.copy_from_slice(&y[..rest.len()]);
        }
    }

    /// The control words, in registers.
    struct Registers {
        first: [__m512i; 2],
        words: [[__m512i; 2]; 2],
    }

    impl Registers {
        #[target_feature(enable = "avx512f")]
        fn new(octaves: &Octaves) -> Registers {
            let load = |side: usize, half: usize| {
                let words: &[u32; 32] = &octaves.words[side];
                // SAFETY: 16 words are read from `half` on, of 32.
                unsafe { _mm512_loadu_epi32(words[half..half + 16].as_ptr().cast()) }
            };
            Registers {
                first: [_mm512_set1_epi32(octaves.first[0]), _mm512_set1_epi32(octaves.first[1])],
                words: [[load(0, 0), load(0, 16)], [load(1, 0), load(1, 16)]],
            }
        }

        /// The control word of each input.
        ///
        /// # Safety
        /// The caller has AVX-512 F.
        #[inline(always)]
        unsafe fn words(&self, bits: __m512i, negative: __mmask16) -> __m512i {
            // SAFETY: the caller's promise.
            unsafe {
                let exponent = _mm512_srli_epi32::<23>(_mm512_and_si512(bits, _mm512_set1_epi32(MAGNITUDE)));
                let first = _mm512_mask_mov_epi32(self.first[0], negative, self.first[1]);
                let octave = _mm512_max_epi32(_mm512_sub_epi32(exponent, first), _mm512_setzero_si512());
                let octave = _mm512_min_epi32(octave, _mm512_set1_epi32(31));
                let [positive, other] = &self.words;
                let positive = _mm512_permutex2var_epi32(positive[0], octave, positive[1]);
                let other = _mm512_permutex2var_epi32(other[0], octave, other[1]);
                _mm512_mask_mov_epi32(positive, negative, other)
            }
        }
    }

    /// Evaluates 16 inputs.
    ///
    /// # Safety
    /// The caller has AVX-512 F, BW, DQ and VL.
    #[inline(always)]
    unsafe fn block_512(
        table: &Table<'_>,
        registers: Option<&Registers>,
        xs: &[f32; 16],
        out: &mut [f32; 16],
    ) {
        let rules = table.rules;
        // SAFETY: the caller's promise; arrays of 16 elements are read and written, and a key of 9 bits is the
        // index of one of 512 words.
        unsafe {
            let int = |bits: u32| _mm512_set1_epi32(bits as i32);
            let t = _mm512_loadu_ps(xs.as_ptr());
            let input = _mm512_castps_si512(t);
            let bits = _mm512_or_si512(_mm512_and_si512(input, int(rules.keep)), int(rules.set));
            let negative = _mm512_movepi32_mask(bits);
            let word = match registers {
                Some(registers) => registers.words(bits, negative),
                None => {
                    let words: &[u32; KEYS] = table.words;
                    _mm512_i32gather_epi32::<4>(_mm512_srli_epi32::<23>(bits), words.as_ptr().cast())
                }
            };
            let index = bucket_512(rules, bits, negative, word);
            let [d0, d1, d2, d3, x0] = columns_512(table.rows, index);
            let u = _mm512_sub_ps(_mm512_castsi512_ps(bits), x0);
            let y = _mm512_fmadd_ps(u, d3, d2);
            let y = _mm512_fmadd_ps(u, y, d1);
            let y = _mm512_fmadd_ps(u, y, d0);
            let invert = _mm512_and_si512(input, int(rules.invert));
            let mut y = _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(y), invert));
            if rules.symmetry_point != 0.0 {
                let below = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(t, _mm512_setzero_ps());
                y = _mm512_mask_add_ps(y, below, y, _mm512_set1_ps(rules.symmetry_point));
            }
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(y, y);
            y = _mm512_mask_mov_ps(y, nan, _mm512_castsi512_ps(_mm512_set1_epi32(NAN)));
            // Zeros, infinities and NaN.
            let special = _mm512_fpclass_ps_mask::<0x9F>(t) != 0;
            _mm512_storeu_ps(out.as_mut_ptr(), y);
            if special {
                special_512(rules, xs, out);
            }
        }
    }

    /// The bucket of each input, as `TableFunction::find` says.
    ///
    /// # Safety
    /// The caller has AVX-512 F.
    #[inline(always)]
    unsafe fn bucket_512(rules: &Rules, bits: __m512i, negative: __mmask16, word: __m512i) -> __m512i {
        // SAFETY: the caller's promise.
        unsafe {
            let int = |bits: u32| _mm512_set1_epi32(bits as i32);
            let by_sign =
                |[positive, other]: [u32; 2]| _mm512_mask_mov_epi32(int(positive), negative, int(other));
            let size = _mm512_and_si512(_mm512_srli_epi32::<16>(word), int(0xF));
            let lsb = _mm512_and_si512(_mm512_srli_epi32::<11>(word), int(0x1F));
            let ones = _mm512_set1_epi32(-1);
            let selector = _mm512_srlv_epi32(_mm512_and_si512(bits, _mm512_set1_epi32(MANTISSA)), lsb);
            let selector = _mm512_andnot_si512(_mm512_sllv_epi32(ones, size), selector);
            let index = _mm512_add_epi32(_mm512_and_si512(word, int(0x7FF)), selector);
            let magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(MAGNITUDE));
            let large = _mm512_cmpge_epu32_mask(magnitude, by_sign(rules.large_from));
            _mm512_mask_mov_epi32(index, large, by_sign(rules.large))
        }
    }

    /// Coefficients and centre of 16 buckets, by column.
    ///
    /// # Safety
    /// The caller has AVX-512 F and DQ.
    #[inline(always)]
    unsafe fn columns_512(rows: &[Row; MAX_BUCKETS], index: __m512i) -> [__m512; 5] {
        let mut at = [0u32; 16];
        // SAFETY: the caller's promise; the array has 16 elements, and a row is 8 floats, aligned to their size.
        unsafe {
            _mm512_storeu_epi32(at.as_mut_ptr().cast(), index);
            let row = |i: usize| {
                let row: &Row = &rows[at[i] as usize % MAX_BUCKETS];
                _mm256_load_ps(std::ptr::from_ref(row).cast())
            };
            let (mut low, mut high) = ([_mm512_setzero_ps(); 4], [_mm512_setzero_ps(); 4]);
            for i in 0..4 {
                let a = _mm512_insertf32x8::<1>(_mm512_castps256_ps512(row(i)), row(i + 4));
                let b = _mm512_insertf32x8::<1>(_mm512_castps256_ps512(row(i + 8)), row(i + 12));
                low[i] = _mm512_shuffle_f32x4::<0x88>(a, b);
                high[i] = _mm512_shuffle_f32x4::<0xDD>(a, b);
            }
            let [d0, d1, d2, d3] = transpose4(low);
            let [x0, ..] = transpose4(high);
            [d0, d1, d2, d3, x0]
        }
    }

    /// Results of the inputs among 16 that have results of their own.
    #[cold]
    #[inline(never)]
    fn special_512(rules: &Rules, xs: &[f32; 16], out: &mut [f32; 16]) {
        for (x, y) in xs.iter().zip(out) {
            if *x == 0.0 {
                *y = rules.at_zero;
            } else if x.is_nan() {
                *y = rules.at_nan;
            } else if x.is_infinite() {
                *y = rules.at_inf[usize::from(*x < 0.0)];
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2(table: &Table<'_>, xs: &[f32], out: &mut [f32]) {
        let (chunks, rest) = xs.as_chunks::<8>();
        let (results, rest_of_results) = out.as_chunks_mut::<8>();
        for (x, y) in chunks.iter().zip(results) {
            // SAFETY: this function has the features.
            unsafe { block_256(table, x, y) };
        }
        if !rest.is_empty() {
            let (mut x, mut y) = ([0.0; 8], [0.0; 8]);
            x[..rest.len()].copy_from_slice(rest);
            // SAFETY: as above.
            unsafe { block_256(table, &x, &mut y) };
            rest_of_results.copy_from_slice(&y[..rest.len()]);
        }
    }

    /// Evaluates 8 inputs.
    ///
    /// # Safety
    /// The caller has AVX2 and FMA.
    #[inline(always)]
    unsafe fn block_256(table: &Table<'_>, xs: &[f32; 8], out: &mut [f32; 8]) {
        // SAFETY: the caller's promise; arrays of 8 elements are read and written.
        unsafe {
            let rules = table.rules;
            let int = |bits: u32| _mm256_set1_epi32(bits as i32);
            let float = _mm256_castsi256_ps;
            let t = _mm256_loadu_ps(xs.as_ptr());
            let input = _mm256_castps_si256(t);
            let bits = _mm256_or_si256(_mm256_and_si256(input, int(rules.keep)), int(rules.set));
            let [d0, d1, d2, d3, x0] = columns_256(table.rows, bucket_256(table, bits));
            let u = _mm256_sub_ps(float(bits), x0);
            let y = _mm256_fmadd_ps(u, d3, d2);
            let y = _mm256_fmadd_ps(u, y, d1);
            let y = _mm256_fmadd_ps(u, y, d0);
            let mut y = _mm256_xor_ps(y, float(_mm256_and_si256(input, int(rules.invert))));
            if rules.symmetry_point != 0.0 {
                let below = _mm256_cmp_ps::<_CMP_LT_OQ>(t, _mm256_setzero_ps());
                let moved = _mm256_add_ps(y, _mm256_set1_ps(rules.symmetry_point));
                y = _mm256_blendv_ps(y, moved, below);
            }
            let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(y, y);
            y = _mm256_blendv_ps(y, float(_mm256_set1_epi32(NAN)), nan);
            let replace = |y, condition, value| _mm256_blendv_ps(y, _mm256_set1_ps(value), condition);
            let equals = |value| _mm256_cmp_ps::<_CMP_EQ_OQ>(t, _mm256_set1_ps(value));
            y = replace(y, equals(0.0), rules.at_zero);
            y = replace(y, equals(f32::INFINITY), rules.at_inf[0]);
            y = replace(y, equals(f32::NEG_INFINITY), rules.at_inf[1]);
            y = replace(y, _mm256_cmp_ps::<_CMP_UNORD_Q>(t, t), rules.at_nan);
            _mm256_storeu_ps(out.as_mut_ptr(), y);
        }
    }

    /// The bucket of each input, as `TableFunction::find` says.
    ///
    /// # Safety
    /// The caller has AVX2 and FMA.
    #[inline(always)]
    unsafe fn bucket_256(table: &Table<'_>, bits: __m256i) -> __m256i {
        // SAFETY: the caller's promise; a key has 9 bits, and there are 512 words.
        unsafe {
            let rules = table.rules;
            let int = |bits: u32| _mm256_set1_epi32(bits as i32);
            let negative = _mm256_srai_epi32::<31>(bits);
            let by_sign =
                |[positive, other]: [u32; 2]| _mm256_blendv_epi8(int(positive), int(other), negative);
            let key = _mm256_srli_epi32::<23>(bits);
            let word = _mm256_i32gather_epi32::<4>(table.words.as_ptr().cast(), key);
            let size = _mm256_and_si256(_mm256_srli_epi32::<16>(word), int(0xF));
            let lsb = _mm256_and_si256(_mm256_srli_epi32::<11>(word), int(0x1F));
            let selector = _mm256_srlv_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(MANTISSA)), lsb);
            let selector = _mm256_andnot_si256(_mm256_sllv_epi32(_mm256_set1_epi32(-1), size), selector);
            let index = _mm256_add_epi32(_mm256_and_si256(word, int(0x7FF)), selector);
            let magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(MAGNITUDE));
            let large_from = by_sign(rules.large_from);
            // Unsigned: the limit may be all ones.
            let large = _mm256_cmpeq_epi32(_mm256_max_epu32(magnitude, large_from), magnitude);
            _mm256_blendv_epi8(index, by_sign(rules.large), large)
        }
    }

    /// Coefficients and centre of 8 buckets, by column.
    ///
    /// # Safety
    /// The caller has AVX2 and FMA.
    #[inline(always)]
    unsafe fn columns_256(rows: &[Row; MAX_BUCKETS], index: __m256i) -> [__m256; 5] {
        // SAFETY: the caller's promise; the array has 8 elements, and a row is 8 floats, aligned to their size.
        unsafe {
            let mut at = [0u32; 8];
            _mm256_storeu_si256(at.as_mut_ptr().cast(), index);
            let row = |i: usize| {
                let row: &Row = &rows[at[i] as usize % MAX_BUCKETS];
                _mm256_load_ps(std::ptr::from_ref(row).cast())
            };
            let rows = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
            // Columns 0 to 3 of four rows in the lower half, 4 to 7 in the upper one.
            let quad = |i: usize| {
                let (a, b) =
                    (_mm256_unpacklo_ps(rows[i], rows[i + 1]), _mm256_unpackhi_ps(rows[i], rows[i + 1]));
                let (c, d) = (
                    _mm256_unpacklo_ps(rows[i + 2], rows[i + 3]),
                    _mm256_unpackhi_ps(rows[i + 2], rows[i + 3]),
                );
                let double = _mm256_castps_pd;
                [
                    _mm256_castpd_ps(_mm256_unpacklo_pd(double(a), double(c))),
                    _mm256_castpd_ps(_mm256_unpackhi_pd(double(a), double(c))),
                    _mm256_castpd_ps(_mm256_unpacklo_pd(double(b), double(d))),
                    _mm256_castpd_ps(_mm256_unpackhi_pd(double(b), double(d))),
                ]
            };
            let (low, high) = (quad(0), quad(4));
            let column = |i: usize| _mm256_permute2f128_ps::<0x20>(low[i], high[i]);
            let x0 = _mm256_permute2f128_ps::<0x31>(low[0], high[0]);
            [column(0), column(1), column(2), column(3), x0]
        }
    }
}
