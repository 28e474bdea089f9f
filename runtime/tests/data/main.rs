//! Data kernels against the worked examples and vectors of chapters 05 and 06.

mod dequantize;
mod gather;
mod random;
mod search;
mod sort;
mod support;
