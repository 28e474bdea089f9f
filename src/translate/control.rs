//! Control words (chapter 02 section 8): what the runner does for them.
//!
//! MOVE, ALU_OP and COMPARE_BRANCH stand in runs that are compiled, see [`registers`](super::registers). Words that reach beyond
//! the registers are checked once and then run by the interpreter's own effects.

use seqjit_runtime::interp::{Exec, FaultKind, Flow, control};
use seqjit_runtime::isa::Decoded;
use seqjit_runtime::isa::layouts::CTRL_OM;

use super::{Bound, Kernel, Refusal};

/// How the runner treats a word that computes nothing on tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Nothing to do but its waits and updates.
    Nothing(Flow),
    /// In a run of words on the register file.
    Registers,
    /// The sequencer does what the word wants.
    Sequencer,
}

/// NOP and EVENT_SEMAPHORE.
pub const fn nop() -> Control {
    Control::Nothing(Flow::Next)
}

/// DRAIN.
pub const fn drain() -> Control {
    Control::Nothing(Flow::Next)
}

/// ENGINE_NOP.
pub const fn engine_nop() -> Control {
    Control::Nothing(Flow::Next)
}

/// BRANCH_PREFETCH_HINT.
pub const fn branch_hint() -> Control {
    Control::Nothing(Flow::Next)
}

/// PSEUDO_BRANCH_LABEL.
pub const fn branch_label() -> Control {
    Control::Nothing(Flow::Skip)
}

/// MOVE.
pub const fn mov() -> Control {
    Control::Registers
}

/// COMPARE_BRANCH.
pub const fn compare_branch() -> Control {
    Control::Registers
}

/// Makes a kernel of a check that gives what to do, and of doing it.
pub(super) fn bound<T: Send + 'static>(
    checked: Result<T, FaultKind>,
    run: impl Fn(&T, &mut Exec<'_>) -> bool + Send + 'static,
) -> Result<Bound, Refusal> {
    let checked = checked?;
    Ok(Box::new(move |x| run(&checked, x)))
}

fn stores(checked: Result<control::Stores, FaultKind>) -> Result<Bound, Refusal> {
    bound(checked, |stores, x| {
        stores.run(x);
        true
    })
}

/// WRITE.
pub const fn write() -> Kernel {
    Kernel { bind: |x, w| stores(control::check_write(x, w)) }
}

/// TENSOR_STORE.
pub const fn tensor_store() -> Kernel {
    Kernel { bind: |x, w| stores(control::check_store(x, w)) }
}

/// PSEUDO_TENSOR_STORE.
pub const fn pseudo_tensor_store() -> Kernel {
    tensor_store()
}

/// TENSOR_LOAD.
pub const fn tensor_load() -> Kernel {
    Kernel {
        bind: |x, w| {
            bound(control::check_load(x, w), |loads, x| {
                loads.run(x);
                true
            })
        },
    }
}

/// PSEUDO_TENSOR_LOAD.
pub const fn pseudo_tensor_load() -> Kernel {
    tensor_load()
}

/// NOTIFY.
pub const fn notify() -> Kernel {
    Kernel {
        bind: |x, w| {
            bound(control::check_notify(x, w), |notify, x| {
                notify.run(x);
                true
            })
        },
    }
}

/// EVENT_SEMAPHORE_RANGE_CLEAR.
pub const fn range_clear() -> Kernel {
    Kernel {
        bind: |x, w| {
            bound(control::check_range_clear(x, w), |range, x| {
                control::clear(x, range.clone());
                true
            })
        },
    }
}

/// SET_ORDERING_MODE.
pub const fn set_ordering_mode() -> Kernel {
    Kernel {
        bind: |x, w| {
            let strong = x.operands::<CTRL_OM>(w).map(|o| o.mode == 1);
            bound(strong, |strong, x| {
                x.engine_state().seq.set_ordering_mode(*strong);
                true
            })
        },
    }
}

/// MOVE_SHAPE.
pub const fn move_shape() -> Kernel {
    Kernel {
        bind: |x, w| {
            bound(control::check_move_shape(x, w), |o, x| {
                control::run_move_shape(x, o);
                true
            })
        },
    }
}

/// POLL_SEM; a result that cannot be written back is for the interpreter.
pub const fn poll_sem() -> Kernel {
    Kernel { bind: |x, w| bound(control::check_poll(x, w), |poll, x| poll.run(x).is_ok()) }
}

/// Whether a word is [`Control`].
pub fn of(w: &Decoded) -> Option<Control> {
    match super::table(w.info.byte) {
        Some(super::Lowering::Control(control)) => Some(control),
        _ => None,
    }
}
