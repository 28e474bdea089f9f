//! One loop over a function of one value, compiled for every CPU level.
//!
//! Every operation of a lane is an IEEE operation that rounds once (`f32::mul_add` included), so the levels
//! give the same bits and differ in speed only. On the baseline of x86-64 `mul_add` is a function call a
//! value: correct, and slow.

use crate::num::Level;

/// A function of one fp32 value. `at` must be `#[inline(always)]`: it is compiled into the loop of
/// each level.
pub(super) trait Lane: Copy {
    fn at(self, x: f32) -> f32;
}

/// Writes `lane.at(x)` of every `x` of `xs` to the same place of `out`.
///
/// # Panics
/// If the lengths differ.
pub(super) fn map_row(lane: impl Lane, xs: &[f32], out: &mut [f32]) {
    assert_eq!(xs.len(), out.len(), "source and destination rows differ in length");
    match Level::current() {
        // SAFETY: the current level never exceeds what the host was found to have.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { map_avx2(lane, xs, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Amx => unsafe { map_avx512(lane, xs, out) },
        _ => map(lane, xs, out),
    }
}

#[inline(always)]
fn map(lane: impl Lane, xs: &[f32], out: &mut [f32]) {
    for (y, x) in out.iter_mut().zip(xs) {
        *y = lane.at(*x);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn map_avx2(lane: impl Lane, xs: &[f32], out: &mut [f32]) {
    map(lane, xs, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn map_avx512(lane: impl Lane, xs: &[f32], out: &mut [f32]) {
    map(lane, xs, out);
}
