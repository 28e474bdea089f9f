//! Runs NEFF programs on an ordinary CPU.

pub mod load;
pub mod tables;
