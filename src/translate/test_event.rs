//! TEST_EVENT_SEM (chapter 02 section 8.19).

use seqjit_runtime::interp::test_event;

use super::Kernel;
use super::control::bound;

/// TEST_EVENT_SEM.
pub const fn test_event_sem() -> Kernel {
    Kernel {
        bind: |x, w| {
            bound(test_event::check(x, w), |test, x| {
                test.run(x);
                true
            })
        },
    }
}
