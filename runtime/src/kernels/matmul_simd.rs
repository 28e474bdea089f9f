//! The vectors that the matrix kernel is written for: AVX-512, AVX2 with FMA, and plain arrays.
//!
//! Every operation is one IEEE operation a lane, so that they all give the same bits.

/// Smallest normal number, 2^-126.
const MIN_NORMAL: f32 = f32::MIN_POSITIVE;

/// A vector of fp32.
///
/// # Safety
/// The methods of a vector of a CPU level may only run on a CPU of that level, inlined into a function that enables
/// its features.
pub(super) unsafe trait Vector: Copy {
    /// Elements.
    const LANES: usize;
    /// Lanes that something holds of.
    type Mask: Copy;

    /// No lane.
    const NONE: Self::Mask;

    /// The same value in every lane.
    unsafe fn splat(value: f32) -> Self;
    /// `LANES` values from memory, whatever their alignment.
    unsafe fn load(from: *const f32) -> Self;
    /// `LANES` values to memory.
    unsafe fn store(self, to: *mut f32);
    /// self + other.
    unsafe fn add(self, other: Self) -> Self;
    /// self * b + c, rounded once.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// Zero of its sign where the magnitude is below 2^-126; adds lanes of exactly +-2^-126 to `least`.
    unsafe fn flush(self, least: &mut Self::Mask) -> Self;
    /// Whether there is any lane.
    unsafe fn any(mask: Self::Mask) -> bool;
}

/// For hosts without vectors that we know: the compiler makes of it what it can.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; 16]);

// SAFETY: needs no CPU features.
unsafe impl Vector for Portable {
    const LANES: usize = 16;
    type Mask = bool;
    const NONE: bool = false;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Portable([value; 16])
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's promise.
        Portable(unsafe { from.cast::<[f32; 16]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[f32; 16]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn add(mut self, other: Self) -> Self {
        for k in 0..Self::LANES {
            self.0[k] += other.0[k];
        }
        self
    }

    #[inline(always)]
    unsafe fn fma(mut self, b: Self, c: Self) -> Self {
        for k in 0..Self::LANES {
            self.0[k] = fma(self.0[k], b.0[k], c.0[k]);
        }
        self
    }

    #[inline(always)]
    unsafe fn flush(mut self, least: &mut bool) -> Self {
        for v in &mut self.0 {
            *least |= v.abs() == MIN_NORMAL;
            *v = if v.abs() < MIN_NORMAL { 0.0f32.copysign(*v) } else { *v };
        }
        self
    }

    #[inline(always)]
    unsafe fn any(mask: bool) -> bool {
        mask
    }
}

/// a * b + c, rounded once. Without an instruction for it `f32::mul_add` is a call; this is a few operations
/// of f64 that a compiler can vectorise.
#[inline(always)]
fn fma(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        return a.mul_add(b, c);
    }
    // The product is exact. The sum is rounded to odd (the last bit tells whether anything is lost), after which
    // rounding to fp32 gives what rounding the exact sum would: f64 has more than two bits more than that needs.
    let (p, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = p + c;
    let back = sum - p;
    let lost = (p - (sum - back)) + (c - back);
    let bits = sum.to_bits();
    // Towards what is lost, if the sum is even. Infinities make NaN of it, and lose nothing.
    let inexact = u64::from((lost != 0.0) & !lost.is_nan());
    let step = ((lost.to_bits() ^ bits) as i64 >> 63) as u64 | 1;
    let odd = bits.wrapping_add(step & (inexact & !bits & 1).wrapping_neg());
    f64::from_bits(odd) as f32
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{MIN_NORMAL, Vector};

    /// 16 lanes.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx512(__m512);

    // SAFETY: of the level AVX-512 only F is used.
    unsafe impl Vector for Avx512 {
        const LANES: usize = 16;
        type Mask = __mmask16;
        const NONE: __mmask16 = 0;

        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: the trait's rule.
            Avx512(unsafe { _mm512_set1_ps(value) })
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: the trait's rule, and the caller's promise.
            Avx512(unsafe { _mm512_loadu_ps(from) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: the trait's rule, and the caller's promise.
            unsafe { _mm512_storeu_ps(to, self.0) }
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: the trait's rule.
            Avx512(unsafe { _mm512_add_ps(self.0, other.0) })
        }

        #[inline(always)]
        unsafe fn fma(self, b: Self, c: Self) -> Self {
            // SAFETY: the trait's rule.
            Avx512(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) })
        }

        #[inline(always)]
        unsafe fn flush(self, least: &mut __mmask16) -> Self {
            // SAFETY: the trait's rule.
            unsafe {
                let bits = _mm512_castps_si512(self.0);
                let min = _mm512_set1_ps(MIN_NORMAL);
                let magnitude = _mm512_abs_ps(self.0);
                let tiny = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(magnitude, min);
                *least |= _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(magnitude, min);
                let sign = _mm512_set1_epi32(i32::MIN);
                let flushed = _mm512_mask_and_epi32(bits, tiny, bits, sign);
                Avx512(_mm512_castsi512_ps(flushed))
            }
        }

        #[inline(always)]
        unsafe fn any(mask: __mmask16) -> bool {
            mask != 0
        }
    }

    /// 8 lanes.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2(__m256);

    // SAFETY: of the level AVX2 only AVX and FMA are used.
    unsafe impl Vector for Avx2 {
        const LANES: usize = 8;
        type Mask = __m256;
        // SAFETY: all bits zero are eight zeros.
        const NONE: __m256 = unsafe { std::mem::zeroed() };

        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            // SAFETY: the trait's rule.
            Avx2(unsafe { _mm256_set1_ps(value) })
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: the trait's rule, and the caller's promise.
            Avx2(unsafe { _mm256_loadu_ps(from) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: the trait's rule, and the caller's promise.
            unsafe { _mm256_storeu_ps(to, self.0) }
        }

        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            // SAFETY: the trait's rule.
            Avx2(unsafe { _mm256_add_ps(self.0, other.0) })
        }

        #[inline(always)]
        unsafe fn fma(self, b: Self, c: Self) -> Self {
            // SAFETY: the trait's rule.
            Avx2(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) })
        }

        #[inline(always)]
        unsafe fn flush(self, least: &mut __m256) -> Self {
            // SAFETY: the trait's rule.
            unsafe {
                let min = _mm256_set1_ps(MIN_NORMAL);
                let sign = _mm256_set1_ps(-0.0);
                let magnitude = _mm256_andnot_ps(sign, self.0);
                let tiny = _mm256_cmp_ps::<_CMP_LT_OQ>(magnitude, min);
                *least = _mm256_or_ps(*least, _mm256_cmp_ps::<_CMP_EQ_OQ>(magnitude, min));
                // Of a tiny lane only the sign stays.
                Avx2(_mm256_blendv_ps(self.0, _mm256_and_ps(self.0, sign), tiny))
            }
        }

        #[inline(always)]
        unsafe fn any(mask: __m256) -> bool {
            // SAFETY: the trait's rule.
            unsafe { _mm256_movemask_ps(mask) != 0 }
        }
    }
}
