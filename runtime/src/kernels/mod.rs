//! Kernels: whole words, or the rows of words, at the speed of the CPU's vectors, bit for bit what the interpreter
//! defines. They are chosen by [`Level`](crate::num::Level). This is where the runtime is unsafe beside
//! the dispatch of `num`.

pub mod act;
mod act_lanes;
pub(crate) mod act_table;
pub mod batch_norm;
mod columns;
pub mod compress;
pub mod cross_lane;
pub mod dequantize;
pub mod exponential;
pub(crate) mod fp16;
mod matmul;
mod matmul_amx;
mod matmul_simd;
pub mod pe;
mod pe_moving;
pub mod pe_sparse;
pub mod pe_state;
pub mod pool;
pub mod preloaded;
pub mod reduce;
pub mod rows;
pub mod rows_accumulate;
pub mod rows_bits;
mod rows_direct;
pub mod rows_integer;
pub mod rows_select;
pub mod scan;
pub mod shuffle;
pub mod tiles;
pub(crate) mod transpose;
#[cfg(target_arch = "x86_64")]
mod transpose4;
