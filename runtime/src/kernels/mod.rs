//! Kernels: whole words in vector code, for opcodes whose arithmetic dominates. Translated code runs them in place
//! of interpreter functions, which define what they do; tests hold each kernel to its definition bit for bit at every
//! [`Level`](crate::num::Level).

mod matmul;
mod matmul_amx;
mod matmul_simd;
pub mod pe;
mod pe_moving;
mod transpose;
