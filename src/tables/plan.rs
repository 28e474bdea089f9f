//! How each function is cut into pieces: one row a function.

/// How a table serves negative inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Symmetry {
    /// By pieces of their own.
    None,
    /// f(-x) = f(x).
    Even,
    /// f(-x) = -f(x).
    Odd,
}

/// The pieces that serve the inputs of one sign. Coefficients are those of x itself, constant term first;
/// bounds are magnitudes.
#[derive(Clone, Copy)]
pub(super) enum Side {
    /// One cubic.
    Whole([f64; 4]),
    /// The Taylor cubic at zero as far down as it is good, octaves up to `end`, then one cubic.
    FromZero { taylor: [f64; 4], end: f32, beyond: [f64; 4] },
    /// Octaves `low..high` (exponents); beyond them the value at the nearer end. Octaves outside `inner` are held to
    /// [`COARSE`] only: the coefficients of higher order leave the range of fp32 there.
    Octaves { low: i32, high: i32, inner: (i32, i32) },
}

/// Relative error accepted where cubics degenerate to lines.
pub(super) const COARSE: f64 = 1e-3;

/// One function's row.
pub(super) struct Plan {
    /// The manual's name.
    pub name: &'static str,
    pub symmetry: Symmetry,
    pub positive: Side,
    /// Used without symmetry only.
    pub negative: Side,
    /// Error accepted at a point x: the larger of `relative * |f(x)|` and `absolute`.
    pub relative: f64,
    pub absolute: f64,
}

/// The row of a function.
pub(super) fn plan(name: &str) -> Option<&'static Plan> {
    PLANS.iter().find(|plan| plan.name == name)
}

const ZERO: [f64; 4] = [0.0; 4];
const ONE: [f64; 4] = [1.0, 0.0, 0.0, 0.0];
const X: [f64; 4] = [0.0, 1.0, 0.0, 0.0];
const MINUS_X: [f64; 4] = [0.0, -1.0, 0.0, 0.0];
const INFINITE: [f64; 4] = [f64::INFINITY, 0.0, 0.0, 0.0];
const NAN: [f64; 4] = [f64::NAN, 0.0, 0.0, 0.0];
const SQUARE: [f64; 4] = [0.0, 0.0, 1.0, 0.0];

/// Exact pieces: nothing to fit.
const fn whole(name: &'static str, symmetry: Symmetry, positive: [f64; 4], negative: [f64; 4]) -> Plan {
    let (positive, negative) = (Side::Whole(positive), Side::Whole(negative));
    Plan { name, symmetry, positive, negative, relative: FINE, absolute: 0.0 }
}

/// Pieces from zero on both sides; each end is a magnitude and the cubic beyond it.
const fn both(
    name: &'static str,
    taylor: [f64; 4],
    negative: (f32, [f64; 4]),
    positive: (f32, [f64; 4]),
    absolute: f64,
) -> Plan {
    Plan {
        name,
        symmetry: Symmetry::None,
        positive: Side::FromZero { taylor, end: positive.0, beyond: positive.1 },
        negative: Side::FromZero { taylor, end: negative.0, beyond: negative.1 },
        relative: FINE,
        absolute,
    }
}

/// Pieces from zero, one side for both signs.
const fn mirrored(
    name: &'static str,
    symmetry: Symmetry,
    taylor: [f64; 4],
    end: f32,
    beyond: [f64; 4],
    absolute: f64,
) -> Plan {
    let side = Side::FromZero { taylor, end, beyond };
    Plan { name, symmetry, positive: side, negative: side, relative: FINE, absolute }
}

/// A function of positive inputs only: NaN for negative ones.
const fn half(name: &'static str, positive: Side, relative: f64, absolute: f64) -> Plan {
    Plan { name, symmetry: Symmetry::None, positive, negative: Side::Whole(NAN), relative, absolute }
}

/// Relative error of pieces that nothing hinders.
const FINE: f64 = 1.5e-6;
/// Two steps of the smallest fp32 value: what rounding subnormal coefficients costs.
const STEP: f64 = 2.0 * 1.401_298_464_324_817e-45;
/// Absolute error where a formula cancels.
const CANCELS: f64 = 2.980_232_238_769_531e-8;

const LN_2: f64 = std::f64::consts::LN_2;
const TWO_BY_ROOT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
const HALF_PI: [f64; 4] = [std::f64::consts::FRAC_PI_2, 0.0, 0.0, 0.0];
/// 1 / sqrt(2 pi).
const PHI_0: f64 = 0.398_942_280_401_432_7;
/// 0.7978845608028654 of the manual's formula.
const ROOT_2_BY_PI: f64 = 0.797_884_560_802_865_4;
/// The first fp32 value whose exponential overflows.
const EXP_OVERFLOW: f32 = f32::from_bits(0x42B1_7218);
/// The first fp32 value after pi.
const AFTER_PI: f32 = f32::from_bits(0x4049_0FDC);
const POINT_01: f64 = 0.01_f32 as f64;
const K: f64 = 1.702;

/// Every function that tables are made for. Ends are where the cubic beyond is as good as a piece would be.
pub(super) const PLANS: &[Plan] = &[
    whole("identity", Symmetry::None, X, X),
    whole("relu", Symmetry::None, X, ZERO),
    whole("leaky_relu", Symmetry::None, X, [0.0, POINT_01, 0.0, 0.0]),
    both("sigmoid", [0.5, 0.25, 0.0, -1.0 / 48.0], (105.0, ZERO), (17.5, ONE), STEP),
    mirrored("tanh", Symmetry::Odd, [0.0, 1.0, 0.0, -1.0 / 3.0], 9.25, ONE, 0.0),
    both("exp", [1.0, 1.0, 0.5, 1.0 / 6.0], (105.0, ZERO), (EXP_OVERFLOW, INFINITE), STEP),
    half("sqrt", Side::Octaves { low: -116, high: 118, inner: (-84, 98) }, 4e-6, 0.0),
    both("softplus", [LN_2, 0.5, 0.125, 0.0], (105.0, ZERO), (15.0, X), STEP),
    half("ln", Side::Octaves { low: -64, high: 64, inner: (-64, 64) }, FINE, CANCELS),
    whole("derivative_identity", Symmetry::None, ONE, ONE),
    whole("derivative_relu", Symmetry::None, ONE, ZERO),
    whole("derivative_leaky_relu", Symmetry::None, ONE, [POINT_01, 0.0, 0.0, 0.0]),
    mirrored("sin", Symmetry::Odd, [0.0, 1.0, 0.0, -1.0 / 6.0], AFTER_PI, ZERO, CANCELS),
    mirrored("erf", Symmetry::Odd, [0.0, TWO_BY_ROOT_PI, 0.0, -TWO_BY_ROOT_PI / 3.0], 4.0, ONE, 0.0),
    mirrored(
        "derivative_erf",
        Symmetry::Even,
        [TWO_BY_ROOT_PI, 0.0, -TWO_BY_ROOT_PI, 0.0],
        4.5,
        ZERO,
        CANCELS,
    ),
    both("gelu", [0.0, 0.5, PHI_0, 0.0], (6.0, ZERO), (5.5, X), CANCELS),
    both("mish", [0.0, 0.6, 0.32, -0.016], (22.0, ZERO), (9.0, X), CANCELS),
    both("gelu_apprx_tanh", [0.0, 0.5, 0.5 * ROOT_2_BY_PI, 0.0], (6.0, ZERO), (5.5, X), CANCELS),
    both("gelu_apprx_sigmoid", [0.0, 0.5, 0.25 * K, 0.0], (12.5, ZERO), (9.0, X), CANCELS),
    mirrored("arctan", Symmetry::Odd, [0.0, 1.0, 0.0, -1.0 / 3.0], 1_048_576.0, HALF_PI, 0.0),
    half("reciprocal_sqrt", Side::Octaves { low: -87, high: 97, inner: (-50, 58) }, 3e-6, 0.0),
    whole("square", Symmetry::Even, SQUARE, SQUARE),
    whole("sign", Symmetry::Odd, ONE, ONE),
    both("derivative_gelu", [0.5, 2.0 * PHI_0, 0.0, -2.0 / 3.0 * PHI_0], (6.5, ZERO), (6.5, ONE), CANCELS),
    whole("abs", Symmetry::None, X, MINUS_X),
    Plan {
        name: "abs_reciprocal_sqrt",
        symmetry: Symmetry::Even,
        positive: Side::Octaves { low: -87, high: 97, inner: (-50, 58) },
        negative: Side::Whole(ZERO),
        relative: 3e-6,
        absolute: 0.0,
    },
    whole("is_finite", Symmetry::Even, ONE, ONE),
    both("silu", [0.0, 0.5, 0.25, 0.0], (22.0, ZERO), (17.5, X), CANCELS),
    both("derivative_silu", [0.5, 0.5, 0.0, -1.0 / 12.0], (22.0, ZERO), (22.0, ONE), CANCELS),
    both(
        "derivative_gelu_apprx_sigmoid",
        [0.5, 0.5 * K, 0.0, -K * K * K / 12.0],
        (13.0, ZERO),
        (13.0, ONE),
        CANCELS,
    ),
    whole("copy", Symmetry::None, X, X),
    Plan {
        name: "reciprocal",
        symmetry: Symmetry::Odd,
        positive: Side::Octaves { low: -42, high: 42, inner: (-42, 42) },
        negative: Side::Whole(ZERO),
        relative: FINE,
        absolute: 0.0,
    },
    whole("memset_zero", Symmetry::Even, ZERO, ZERO),
];
