//! The sequencer against chapters 01 and 02 of the manual: tables, traces, programs.
//!
//! Words are built from the byte offsets that the manual gives, not with the crate's operand structs.

mod accumulator;
mod branches;
mod control_words;
mod dispatch;
mod errors;
mod flush;
mod front_end;
mod interrupts;
mod operators;
mod registers;
mod resume;
mod run_entry;
mod run_states;
mod support;
mod surprises;
mod traces;
mod variables;
mod words;
