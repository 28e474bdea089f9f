//! Runs NEFF programs on an ordinary CPU.

pub mod neff;

pub use neff::npy::{self, Tensor};
