//! Numbers: datatype conversions and the ALU operators (chapter 03 sections 6 and 7).
//!
//! Everything exists in two forms. The scalar definitions ([`to_f32`], [`from_f32`], [`eval_f32`],
//! [`eval_int`], [`eval_bitvec`]) are written to be held against the manual. The row forms
//! ([`unpack`], [`pack`], [`map2`], ...) do the same to slices of packed elements, with the datatype
//! and the operator chosen outside the loop, and give the same bits on every CPU level
//! ([`Level`]). The one freedom is a NaN that [`eval_f32`] or a fold produces: its sign and payload
//! are unspecified until [`pack`], [`from_f32`] or [`canonical`] makes it [`CANONICAL_NAN`].
//!
//! The default floating-point environment is assumed: nearest even, subnormals kept.

mod alu;
mod convert;
pub(crate) mod dispatch;
mod format;
mod pow;
mod rows;
#[cfg(test)]
mod tests;

pub use alu::bitvec::{eval_bitvec, fold_row_bits, map2_bits, scan_row_bits};
pub(crate) use alu::fp::{
    Column, LANES, LaneRows, fold_columns, fold_rows, map2_lanes, recurrence_columns, scan_columns,
};
pub use alu::fp::{
    accumulate_row, accumulate_scan, eval_f32, fold_f32, fold_identity, fold_row, fold_seed, map2,
    recurrence_row, scan_row,
};
pub use alu::int::{ArgFold, eval_int, fold_row_int, map2_int, scan_row_int};
pub use alu::{AluForm, Rhs, UnsupportedOp};
pub use convert::{
    CANONICAL_NAN, canonical, converts_from_f32, converts_to_f32, from_f32, from_f32_sr, max_finite, to_f32,
};
pub use dispatch::{Level, with_level};
pub use format::{Format, Fp8};
pub use rows::{pack, pack_bits, pack_int, unpack, unpack_bits, unpack_int};
