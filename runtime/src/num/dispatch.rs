//! One loop body, compiled for several CPU levels and chosen at run time.
//!
//! The bodies are ordinary safe Rust without fused operations, so every level gives the same bits:
//! a wider level only lets the compiler use wider registers.

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

/// A set of vector instructions that row functions may use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// What the build target guarantees.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
    /// AVX-512 and AMX tiles of bfloat16. Row functions know no difference to [`Level::Avx512`].
    Amx,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Level; 4] = [Level::Baseline, Level::Avx2, Level::Avx512, Level::Amx];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
            Level::Amx => "amx",
        }
    }

    /// The highest level of this host.
    pub fn host() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx2 && avx512 {
                return if amx() { Level::Amx } else { Level::Avx512 };
            }
            if avx2 {
                return Level::Avx2;
            }
        }
        Level::Baseline
    }

    /// The level of row functions called now on this thread; never above [`Level::host`].
    #[inline]
    pub(crate) fn current() -> Level {
        CURRENT.get().unwrap_or_else(|| {
            let host = Level::host();
            CURRENT.set(Some(host));
            host
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Level, &'static str> {
        let named = Level::ALL.into_iter().find(|level| level.name() == text);
        named.ok_or("expected `baseline`, `avx2`, `avx512` or `amx`")
    }
}

/// Whether the CPU has AMX tiles of bfloat16 and the operating system saves their state.
#[cfg(target_arch = "x86_64")]
fn amx() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

    /// XCR0: tile configuration and tile data.
    const TILE_STATE: u64 = 3 << 17;
    /// Leaf 7: AMX-BF16 and AMX-TILE.
    const TILES: u32 = 1 << 22 | 1 << 24;
    if !is_x86_feature_detected!("xsave") || __cpuid(0).eax < 7 {
        return false;
    }
    // SAFETY: the CPU has XSAVE and the system uses it, which is what the macro tests.
    let enabled = unsafe { _xgetbv(0) };
    enabled & TILE_STATE == TILE_STATE && __cpuid_count(7, 0).edx & TILES == TILES
}

thread_local! {
    /// `None` until the host has been asked. Only [`Level::current`] and [`with_level`] write it, and
    /// both keep it at or below the host's level: the safety of `multiversion!` rests on that.
    static CURRENT: Cell<Option<Level>> = const { Cell::new(None) };
}

/// Runs `f` with the row functions of this thread held to `level`, or to the host's level if that is
/// lower. Threads started by `f` are not affected.
pub fn with_level<R>(level: Level, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Level>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _restore = Restore(CURRENT.replace(Some(level.min(Level::host()))));
    f()
}

/// Declares a function whose body is compiled once per [`Level`].
macro_rules! multiversion {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                body($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512($($arg: $ty),*) $(-> $ret)? {
                body($($arg),*)
            }

            match $crate::num::dispatch::Level::current() {
                // SAFETY: the current level never exceeds what the host was found to have.
                #[cfg(target_arch = "x86_64")]
                $crate::num::dispatch::Level::Avx512 | $crate::num::dispatch::Level::Amx => unsafe {
                    avx512($($arg),*)
                },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::num::dispatch::Level::Avx2 => unsafe { avx2($($arg),*) },
                _ => body($($arg),*),
            }
        }
    };
}
pub(crate) use multiversion;
