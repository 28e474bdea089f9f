//! Definition mode: one table of the activation functions (chapter 05 section 3.7).
//!
//! Every NaN result is 7FC00000. The limits at infinity that the formulas would turn into NaN are given in
//! the table's expressions: +0 for silu, -0 for the gelu family and mish, 0 and 1 for derivatives (chapter 05
//! section 3.7, 00-decisions A14).

use super::ActError;
use super::formula::{Exp, Split, arctan, erf, gate, gate_derivative, gelu_cubic, ln, ln_1p_unit};
use super::formula::{Normal, select, sin, tanh};
use super::lane::{Lane, map_row};
use crate::num::canonical;

/// One activation function.
#[derive(Debug)]
pub struct Function {
    /// The byte `activation_func`; `None` where no source gives the number (00-decisions 05-27).
    pub id: Option<u8>,
    /// The manual's name.
    pub name: &'static str,
    /// Least and greatest input of the public valid range; all values where the manual names none. For
    /// `reciprocal` and `abs_reciprocal_sqrt` the range is that of the magnitude.
    pub valid: (f32, f32),
    scalar: fn(f32, f32) -> f32,
    row: fn(&[f32], &mut [f32], f32),
}

impl Function {
    /// f(x); `param` is the slope of `parametric_relu` and ignored elsewhere.
    pub fn eval(&self, x: f32, param: f32) -> f32 {
        (self.scalar)(x, param)
    }

    /// `eval` of every value of `xs` into `out`, the same bits at every level.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn eval_row(&self, xs: &[f32], out: &mut [f32], param: f32) {
        (self.row)(xs, out, param);
    }
}

/// The scalar form of a function; `None` if chapter 05 section 3.7 does not list the id.
pub fn define(id: u8) -> Option<fn(x: f32, param: f32) -> f32> {
    Some(by_id(id)?.scalar)
}

/// The function of an id, from the manual's list alone.
pub fn by_id(id: u8) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.id == Some(id))
}

/// The function of a name.
pub fn by_name(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// Ids of functions: the manual's list and what the user adds to it (00-decisions 05-27).
#[derive(Clone, Debug, Default)]
pub struct FunctionMap {
    added: Vec<(u8, &'static Function)>,
}

impl FunctionMap {
    /// Gives `id` to the function `name`. An addition hides the manual's entry and earlier additions.
    ///
    /// # Errors
    /// [`ActError::UnknownName`].
    pub fn add(&mut self, id: u8, name: &str) -> Result<(), ActError> {
        let function = by_name(name).ok_or_else(|| ActError::UnknownName { name: name.to_owned() })?;
        self.added.push((id, function));
        Ok(())
    }

    /// The function of an id.
    pub fn get(&self, id: u8) -> Option<&'static Function> {
        self.added.iter().rev().find(|(added, _)| *added == id).map(|(_, f)| *f).or_else(|| by_id(id))
    }
}

const ALL: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

/// Powers of two as the bounds of a range of positive values.
const fn octaves(low: i32, high: i32) -> (f32, f32) {
    (f32::from_bits(((low + 127) as u32) << 23), f32::from_bits(((high + 127) as u32) << 23))
}

macro_rules! functions {
    (@id -) => { None };
    (@id $id:literal) => { Some($id) };
    ($($id:tt $name:ident $valid:expr, |$x:ident, $p:tt| $formula:expr;)*) => {
        /// Every function, ascending by id, then those without a known id.
        pub const FUNCTIONS: &[Function] = &[$({
            #[derive(Clone, Copy)]
            struct Definition {
                param: f32,
            }
            impl Lane for Definition {
                #[inline(always)]
                fn at(self, $x: f32) -> f32 {
                    let $p = self.param;
                    canonical($formula)
                }
            }
            Function {
                id: functions!(@id $id),
                name: stringify!($name),
                valid: $valid,
                scalar: |x, param| Definition { param }.at(x),
                row: |xs, out, param| map_row(Definition { param }, xs, out),
            }
        }),*];
    };
}

functions! {
    1   identity                      ALL, |x, _| x;
    2   relu                          ALL, |x, _| select(x <= 0.0, 0.0, x);
    3   leaky_relu                    ALL, |x, _| select(x <= 0.0, 0.01 * x, x);
    4   parametric_relu               ALL, |x, slope| select(x <= 0.0, slope * x, x);
    5   sigmoid                       ALL, |x, _| sigmoid(x);
    6   tanh                          ALL, |x, _| tanh(x);
    7   exp                           ALL, |x, _| Exp::new(x.into()).value();
    8   sqrt                          octaves(-116, 118), |x, _| x.sqrt();
    9   softplus                      ALL, |x, _| softplus(x);
    10  ln                            octaves(-64, 64), |x, _| ln(x);
    11  derivative_identity           ALL, |x, _| select(x.is_nan(), x, 1.0);
    12  derivative_relu               ALL, |x, _| step(x, 0.0);
    13  derivative_leaky_relu         ALL, |x, _| step(x, 0.01);
    19  sin                           (-std::f32::consts::PI, std::f32::consts::PI), |x, _| sin(x);
    21  erf                           ALL, |x, _| erf(x);
    22  derivative_erf                ALL, |x, _| derivative_erf(x);
    23  gelu                          ALL, |x, _| gelu(x);
    24  mish                          ALL, |x, _| mish(x);
    25  gelu_apprx_tanh               ALL, |x, _| limit(x, -0.0, gate(x, gelu_cubic(x)));
    26  gelu_apprx_sigmoid            ALL, |x, _| limit(x, -0.0, gate(x, scaled_1_702(x)));
    28  arctan                        (-std::f32::consts::FRAC_PI_2, std::f32::consts::FRAC_PI_2), |x, _| arctan(x);
    29  reciprocal_sqrt               octaves(-87, 97), |x, _| reciprocal_sqrt(x);
    30  square                        ALL, |x, _| x * x;
    31  sign                          ALL, |x, _| select(x > 0.0, 1.0, select(x < 0.0, -1.0, x + 0.0));
    32  derivative_gelu               ALL, |x, _| derivative_gelu(x);
    33  abs                           ALL, |x, _| x.abs();
    34  abs_reciprocal_sqrt           octaves(-87, 97), |x, _| reciprocal_sqrt(x.abs());
    35  is_finite                     ALL, |x, _| select(x.is_finite(), 1.0, 0.0);
    36  silu                          ALL, |x, _| limit(x, 0.0, gate(x, x.into()));
    37  derivative_silu               ALL, |x, _| gate_derivative(x.into());
    38  derivative_gelu_apprx_sigmoid ALL, |x, _| gate_derivative(scaled_1_702(x));
    128 copy                          ALL, |x, _| x;
    129 reciprocal                    octaves(-42, 42), |x, _| 1.0 / x;
    130 memset_zero                   ALL, |_x, _| 0.0;
    -   derivative_sigmoid            ALL, |x, _| derivative_logistic(x.abs(), 1.0);
    -   derivative_tanh               ALL, |x, _| derivative_logistic(x.abs() + x.abs(), 4.0);
}

/// `y`, but `at_negative` at -Inf.
#[inline(always)]
fn limit(x: f32, at_negative: f32, y: f32) -> f32 {
    select(x == f32::NEG_INFINITY, at_negative, y)
}

/// 1 from zero on, `below` for less.
#[inline(always)]
fn step(x: f32, below: f32) -> f32 {
    select(x >= 0.0, 1.0, select(x < 0.0, below, x))
}

/// e^(-|x|): at most one, so that none of its uses overflows.
#[inline(always)]
fn exp_minus_abs(x: f32) -> Exp {
    Exp::new((-x.abs()).into())
}

/// 1.702 x.
#[inline(always)]
fn scaled_1_702(x: f32) -> Split {
    const FACTOR: [f32; 2] = [1.702, f32::from_bits(0xB2BC_6A7F)];
    let y = Split::product(x, FACTOR[0]);
    Split { hi: y.hi, lo: x.mul_add(FACTOR[1], y.lo) }
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    let e = exp_minus_abs(x).value();
    select(x < 0.0, e, 1.0) / (1.0 + e)
}

#[inline(always)]
fn softplus(x: f32) -> f32 {
    ln_1p_unit(exp_minus_abs(x).value()) + select(x < 0.0, 0.0, x)
}

#[inline(always)]
fn derivative_erf(x: f32) -> f32 {
    let a = x.abs();
    Exp::new(Split::product(a, -a)).times(std::f32::consts::FRAC_2_SQRT_PI)
}

/// x Phi(x).
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let phi = Normal::new(x);
    let negative = -phi.e.times_split(Split::product(x.abs(), phi.m));
    let tail = select(x < 0.0, negative, x * (1.0 - phi.e.times(phi.m)));
    limit(x, -0.0, select(phi.is_near, x * phi.near, tail))
}

/// tanh(ln(1 + u)) = (u^2 + 2 u) / (u^2 + 2 u + 2) for u = e^x, divided by u^2 for x > 0.
#[inline(always)]
fn mish(x: f32) -> f32 {
    /// Keeps u a normal number where the product with x still is one.
    const SCALE: f32 = 4_294_967_296.0;
    let e = exp_minus_abs(x);
    let v = e.value();
    let scaled = e.times(SCALE);
    let negative = v.mul_add(scaled, scaled + scaled);
    let positive = v.mul_add(2.0, 1.0);
    let numerator = x * select(x < 0.0, negative, positive);
    let denominator = select(x < 0.0, (v + 2.0).mul_add(v, 2.0) * SCALE, (v + v).mul_add(v, positive));
    limit(x, -0.0, numerator / denominator)
}

#[inline(always)]
fn reciprocal_sqrt(x: f32) -> f32 {
    // Adding +0 turns -0 into +0: both zeros give +Inf.
    1.0 / (x + 0.0).sqrt()
}

/// Phi(x) + x phi(x); the function of -x is one minus it.
#[inline(always)]
fn derivative_gelu(x: f32) -> f32 {
    const INV_SQRT_2_PI: f32 = f32::from_bits(0x3ECC_422A);
    let phi = Normal::new(x);
    let near = phi.e.value().mul_add(x * INV_SQRT_2_PI, phi.near);
    let tail = phi.e.times(x.abs().mul_add(-INV_SQRT_2_PI, phi.m));
    let y = select(phi.is_near, near, select(x < 0.0, tail, 1.0 - tail));
    select(x == f32::INFINITY, 1.0, select(x == f32::NEG_INFINITY, 0.0, y))
}

/// `scale` times the derivative e / (1 + e)^2 of the sigmoid at a >= 0, e = e^-a.
#[inline(always)]
fn derivative_logistic(a: f32, scale: f32) -> f32 {
    let e = Exp::new((-a).into());
    let v = e.value();
    e.times(scale) / (v + 2.0).mul_add(v, 1.0)
}
