//! Our own activation tables, in the container's file format (chapter 10 section 9.1).
//!
//! [`generate`] fits piecewise cubics to the formulas of chapter 05 section 3.7 and makes a table set of them;
//! [`members`] writes sets as the files that a container carries.

mod build;
mod exact;
mod fit;
mod format;
mod plan;

pub use build::{GenerateError, generate};
pub use exact::exact;
pub use format::members;

/// Functions whose tables are a piece or two: part of every standard set.
macro_rules! with_small {
    ($($id:literal),*) => { &[$($id,)* 1, 2, 3, 11, 12, 13, 30, 31, 33, 35, 128, 130] };
}

/// Names and function ids of sets that together hold every function that has a table.
pub const STANDARD_SETS: &[(&str, &[u8])] = &[
    ("exp_and_ln", with_small![7, 10]),
    ("sigmoid_tanh_erf", with_small![5, 6, 21]),
    ("gelu_silu_mish", with_small![23, 25, 26, 36, 24]),
    ("derivatives", with_small![32, 37, 38, 22]),
    ("softplus_and_trigonometry", with_small![9, 19, 28]),
    ("sqrt", with_small![8]),
    ("reciprocal", with_small![129]),
    ("reciprocal_sqrt", with_small![29]),
    ("abs_reciprocal_sqrt", with_small![34]),
];
