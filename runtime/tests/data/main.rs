//! Data kernels against the worked examples and vectors of chapters 05 and 06.

mod compress;
mod dequantize;
mod dma;
mod gather;
mod meeting;
mod pe;
mod pe_later;
mod random;
mod search;
mod sort;
mod support;
mod test_event;
