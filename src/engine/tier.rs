//! Tiers: how words run.

use std::fmt;
use std::str::FromStr;

/// How the words of a session run. Results, order and counters of the machine are the same in all tiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Tier {
    /// In the interpreter.
    Interp,
    /// In native code wherever there is a lowering, from the first time on.
    Jit,
    /// In the interpreter until native code pays.
    #[default]
    Auto,
}

impl Tier {
    /// Every tier.
    pub const ALL: [Tier; 3] = [Tier::Interp, Tier::Jit, Tier::Auto];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Interp => "interp",
            Tier::Jit => "jit",
            Tier::Auto => "auto",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tier {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Tier, &'static str> {
        let named = Tier::ALL.into_iter().find(|tier| tier.name() == text);
        named.ok_or("expected `interp`, `jit` or `auto`")
    }
}

/// What a shape must have cost in the interpreter before it is compiled. Compiling takes about 100 us; what came up that often is
/// expected to come up as often again.
const WORTH_COMPILING: u64 = 100_000;

/// What one word costs more in the interpreter than in native code, in nanoseconds as measured once: so much a lane and so much
/// an element. No clock is read for decisions, so that runs are reproducible.
pub(super) fn cost(lanes: usize, elements: usize) -> u64 {
    (lanes * (12 + elements / 3)) as u64
}

/// What a run of one word more saves, in nanoseconds: a call, and reading again from the second cache what the word before has
/// written. From the same measurements.
pub(super) fn fused_gain(lanes: usize, elements: usize) -> u64 {
    (20 + lanes * elements / 20) as u64
}

/// Whether compiling a run of so many words pays after it would have saved so much. A word takes about 50 us.
pub(super) fn fused_pays(words: usize, gain: u64) -> bool {
    gain >= 50_000 * words as u64
}

/// Whether compiling a shape pays after so much cost.
pub(super) fn pays(cost: u64) -> bool {
    cost >= WORTH_COMPILING
}
