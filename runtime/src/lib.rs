//! NeuronCore microcode: instruction set, machine state and interpreter.
//!
//! This crate holds everything that is needed to run programs without generating code. The crate
//! `seqjit` adds the container, the translator and the command.

pub mod act;
pub mod fpenv;
pub mod interp;
pub mod isa;
pub mod kernels;
pub mod machine;
pub mod num;
pub mod parallel;
pub mod races;
pub mod save;
pub mod sequencer;
