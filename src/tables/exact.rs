//! The activation functions in f64, from the formulas of chapter 05 section 3.7: what tables are fitted to
//! and what definitions are measured against.
//!
//! Elementary functions come from the crate `libm`, which computes the same bits on every machine.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// 1 / sqrt(2 pi).
const NORMAL_DENSITY_AT_0: f64 = 0.398_942_280_401_432_7;

/// The formula of a function, by the manual's name; `None` where no single formula in x exists
/// (`parametric_relu`) or the name is unknown. Good to about 1e-15 relative, but for the zeros of derivatives.
pub fn exact(name: &str) -> Option<fn(f64) -> f64> {
    EXACT.iter().find(|(known, _)| *known == name).map(|(_, f)| *f)
}

/// A function and its formula.
type Row = (&'static str, fn(f64) -> f64);

const EXACT: &[Row] = &[
    ("identity", |x| x),
    ("relu", |x| if x > 0.0 { x } else { 0.0 }),
    ("leaky_relu", |x| if x <= 0.0 { f64::from(0.01_f32) * x } else { x }),
    ("sigmoid", sigmoid),
    ("tanh", libm::tanh),
    ("exp", libm::exp),
    ("sqrt", f64::sqrt),
    ("softplus", |x| libm::log1p(libm::exp(-x.abs())) + x.max(0.0)),
    ("ln", libm::log),
    ("derivative_identity", |_| 1.0),
    ("derivative_relu", |x| if x >= 0.0 { 1.0 } else { 0.0 }),
    ("derivative_leaky_relu", |x| if x >= 0.0 { 1.0 } else { f64::from(0.01_f32) }),
    ("sin", libm::sin),
    ("erf", libm::erf),
    ("derivative_erf", |x| FRAC_2_SQRT_PI * libm::exp(-x * x)),
    ("gelu", |x| x * normal(x)),
    ("mish", mish),
    ("gelu_apprx_tanh", |x| x * sigmoid(2.0 * 0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x))),
    ("gelu_apprx_sigmoid", |x| x * sigmoid(1.702 * x)),
    ("arctan", libm::atan),
    ("reciprocal_sqrt", |x| 1.0 / x.sqrt()),
    ("square", |x| x * x),
    ("sign", |x| {
        if x > 0.0 {
            1.0
        } else if x < 0.0 {
            -1.0
        } else {
            0.0
        }
    }),
    ("derivative_gelu", |x| normal(x) + x * NORMAL_DENSITY_AT_0 * libm::exp(-0.5 * x * x)),
    ("abs", f64::abs),
    ("abs_reciprocal_sqrt", |x| 1.0 / x.abs().sqrt()),
    ("is_finite", |x| if x.is_finite() { 1.0 } else { 0.0 }),
    ("silu", |x| x * sigmoid(x)),
    ("derivative_silu", swish_derivative),
    ("derivative_gelu_apprx_sigmoid", |x| swish_derivative(1.702 * x)),
    ("copy", |x| x),
    ("reciprocal", |x| 1.0 / x),
    ("memset_zero", |_| 0.0),
    ("derivative_sigmoid", |x| sigmoid(x) * sigmoid(-x)),
    ("derivative_tanh", |x| 4.0 * sigmoid(2.0 * x) * sigmoid(-2.0 * x)),
];

/// The smaller of e^x and e^-x stands in the formula, so that small results keep their digits.
fn sigmoid(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

/// The normal distribution function.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// x tanh(ln(1 + e^x)).
fn mish(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    let (above, below) = if x < 0.0 { (e * (e + 2.0), 2.0) } else { (1.0 + 2.0 * e, 2.0 * e * e) };
    x * (above / (above + below))
}

/// s + x s (1 - s) for s = sigmoid x.
fn swish_derivative(x: f64) -> f64 {
    let s = sigmoid(x);
    s * (1.0 + x * sigmoid(-x))
}
