//! The sequencer of an engine: fetch, wait, execute, update, retire (chapter 02 section 3.4), and turns
//! (design section 3 rule 8).

mod step;
mod turn;

pub use step::{Step, note_change, resolve_wait, step, wakes_fragile_wait, would_run};
pub use turn::{TURN_WORDS, Turn, dma_turn, engine_turn, engine_turn_until};
