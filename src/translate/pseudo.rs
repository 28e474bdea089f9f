//! Pseudo-words of a container (chapter 07 section 9).

use seqjit_runtime::interp::Flow;

use super::Control;

/// Words whose EVENTS are all that happens.
pub const fn events_only() -> Control {
    Control::Nothing(Flow::Next)
}
