//! Kernels: whole words, or the rows of words, at the speed of the CPU's vectors, bit for bit what the interpreter
//! defines. They are chosen by [`Level`](crate::num::Level). This is where the runtime is unsafe beside
//! the dispatch of `num`.

pub mod act;
pub(crate) mod act_table;
pub(crate) mod fp16;
mod matmul;
mod matmul_amx;
mod matmul_simd;
pub mod pe;
mod pe_moving;
pub mod preloaded;
pub mod reduce;
pub mod rows;
pub mod rows_accumulate;
pub mod rows_bits;
mod rows_direct;
pub mod rows_integer;
pub mod rows_select;
pub(crate) mod transpose;
#[cfg(target_arch = "x86_64")]
mod transpose4;
