//! The floating-point environment: every run uses the default one, whatever the host has set (design
//! section 3 rule 9).

/// Runs `f` with nearest-even rounding, gradual underflow and all exceptions masked, and restores what the
/// caller had set.
pub fn with_default<R>(f: impl FnOnce() -> R) -> R {
    let _restore = Restore::enter();
    f()
}

#[cfg(target_arch = "x86_64")]
struct Restore(u32);

#[cfg(target_arch = "x86_64")]
impl Restore {
    /// The reset value of MXCSR.
    const DEFAULT: u32 = 0x1F80;

    fn enter() -> Self {
        let mut saved = 0u32;
        // SAFETY: stores the control register to a live u32; SSE is part of x86-64.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut saved, options(nostack, preserves_flags)) };
        load(Self::DEFAULT);
        Restore(saved)
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for Restore {
    fn drop(&mut self) {
        load(self.0);
    }
}

#[cfg(target_arch = "x86_64")]
fn load(value: u32) {
    // SAFETY: the value is either the documented default or was read from the register before, so no
    // reserved bit is set.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, readonly, preserves_flags)) };
}

#[cfg(not(target_arch = "x86_64"))]
struct Restore;

#[cfg(not(target_arch = "x86_64"))]
impl Restore {
    fn enter() -> Self {
        Restore
    }
}
