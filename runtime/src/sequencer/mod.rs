//! The sequencer of an engine (chapters 01 and 02): run states, surprises, fetch, dispatch, errors; and
//! turns (design section 3 rule 8).
//!
//! The three nested levels of the device are here: the outer loop waits for the doorbell and enters a run
//! (`halt`), the inner loop runs words until something stops it (`step`), and each word waits, executes
//! and updates. There is one inner loop; its two front ends differ in what [`Mode`] says.

pub mod csr;
pub mod dispatch;
pub mod error;
mod halt;
mod host;
pub mod log;
mod state;
mod step;
mod stretch;
pub mod surprise;
mod turn;
mod waits;

pub use dispatch::legal_opcodes;
pub use halt::Interrupt;
pub use state::{EXTERNAL_WORDS, HaltReason, Mode, PAUSED, PENDING, Phase, RUNNING, Sequencer, Snapshot};
pub use step::{Step, step};
pub use stretch::{Passed, publish, take_all_waits, take_wait, updates_of, words_that_pass};
pub use turn::{Cut, Limits, TURN_WORDS, Turn, dma_turn, engine_turn, engine_turn_within};
pub use waits::{note_change, resolve_wait, wakes_fragile_wait};
