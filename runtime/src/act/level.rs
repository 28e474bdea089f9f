//! Vector levels of the host and the one place where code compiled for them is entered.
//!
//! A loop over a [`Lane`] is compiled once a level. Every operation of a lane is an IEEE operation that
//! rounds once (`f32::mul_add` included), so the levels give the same bits and differ in speed only. On
//! the baseline of x86-64 `mul_add` is a function call a value: correct, and slow.

/// A vector level that the host was found to have.
///
/// A value other than [`CpuLevel::BASELINE`] exists only after detection: that is what makes entering its
/// code sound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CpuLevel(Kind);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Kind {
    Baseline,
    Avx2,
    Avx512,
}

impl CpuLevel {
    /// What every host of the target architecture has.
    pub const BASELINE: CpuLevel = CpuLevel(Kind::Baseline);

    /// The levels of this host, ascending.
    pub fn available() -> Vec<CpuLevel> {
        [Kind::Baseline, Kind::Avx2, Kind::Avx512].into_iter().filter(|k| present(*k)).map(CpuLevel).collect()
    }

    /// The highest level of this host.
    pub fn detect() -> CpuLevel {
        Self::available().into_iter().max().unwrap_or(Self::BASELINE)
    }

    /// The level of this name, if this host has it.
    pub fn named(name: &str) -> Option<CpuLevel> {
        Self::available().into_iter().find(|level| level.name() == name)
    }

    /// `baseline`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Baseline => "baseline",
            Kind::Avx2 => "avx2",
            Kind::Avx512 => "avx512",
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn present(kind: Kind) -> bool {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    match kind {
        Kind::Baseline => true,
        Kind::Avx2 => avx2,
        Kind::Avx512 => {
            avx2 && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn present(kind: Kind) -> bool {
    kind == Kind::Baseline
}

/// A function of one fp32 value. `at` must be `#[inline(always)]`: it is compiled into the loop of
/// each level.
pub(super) trait Lane: Copy {
    fn at(self, x: f32) -> f32;
}

/// Writes `lane.at(x)` of every `x` of `xs` to the same place of `out`.
///
/// # Panics
/// If the lengths differ.
pub(super) fn map_row(level: CpuLevel, lane: impl Lane, xs: &[f32], out: &mut [f32]) {
    assert_eq!(xs.len(), out.len(), "source and destination rows differ in length");
    match level.0 {
        // SAFETY: the level exists only where `present` found every feature its function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => unsafe { map_avx2(lane, xs, out) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx512 => unsafe { map_avx512(lane, xs, out) },
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
