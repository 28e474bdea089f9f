//! Runs NEFF programs on an ordinary CPU.
