//! The mathematics under the definitions: fixed sequences of IEEE fp32 operations (00-decisions 05-28).
//!
//! Rules that keep scalar and vector forms equal bit for bit: every operation rounds once; a choice is a
//! select between values, not a branch around an operation; integers are used for exponents only; no
//! library function. The polynomials are minimax fits made for this file, their coefficients rounded to fp32 one
//! after the other from the lowest order while the rest is fitted again; the comment at each gives the
//! relative error of the function that remains with exact arithmetic.

/// 1.5 * 2^23: adding it rounds a value below 2^22 to an integer, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;
/// 1 / ln 2.
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// ln 2 rounded, and the rest.
const LN_2: [f32; 2] = [std::f32::consts::LN_2, f32::from_bits(0xB102_E308)];
/// pi in three parts, each the rest rounded.
const PI: [f32; 3] = [std::f32::consts::PI, f32::from_bits(0xB3BB_BD2E), f32::from_bits(0xA777_2CED)];
/// pi / 2 rounded, and the rest.
const HALF_PI: [f32; 2] = [std::f32::consts::FRAC_PI_2, f32::from_bits(0xB33B_BD2E)];

/// e^r = 1 + r + r^2 P(r) for |r| <= ln 2 / 2, 2^-28.2.
const EXP: [f32; 5] = bits([0x3EFF_FFFE, 0x3E2A_AA46, 0x3D2A_AC2C, 0x3C09_1EF0, 0x3AB5_63A0]);
/// ln(1 + f) = f + f^2 P(f) for |f| <= 1/3, 2^-27.1.
const LN_1P: [f32; 9] = bits([
    0xBF00_0000,
    0x3EAA_AA7D,
    0xBE7F_FFCA,
    0x3E4C_EAC6,
    0xBE2A_BF13,
    0x3E0F_4128,
    0xBDFB_5AE1,
    0x3E0F_FC70,
    0xBDFF_E404,
]);
/// tanh x = x + x z P(z), z = x^2 <= 0.36, 2^-28.4.
const TANH: [f32; 5] = bits([0xBEAA_AA9F, 0x3E08_84DF, 0xBD5C_4D5D, 0x3CAA_61E2, 0xBBC1_43C6]);
/// sin x = x + x z P(z), z = x^2 <= (pi/2)^2, 2^-27.2.
const SIN: [f32; 4] = bits([0xBE2A_AAA6, 0x3C08_876D, 0xB94F_B877, 0x362E_E462]);
/// atan x = x + x z P(z), z = x^2 <= 1, 2^-28.4.
const ATAN: [f32; 9] = bits([
    0xBEAA_AA9F,
    0x3E4C_C8F2,
    0xBE12_1042,
    0x3DE0_460D,
    0xBDAC_040A,
    0x3D6D_1265,
    0xBCFE_B7DE,
    0x3C32_0872,
    0xBAE9_96D6,
]);
/// erf x = x + x P(z), z = x^2 <= 0.88, 2^-30.0.
const ERF: [f32; 7] =
    bits([0x3E03_75D4, 0xBEC0_93A0, 0x3DE7_16B2, 0xBCDC_0090, 0x3BAA_2555, 0xBA53_0951, 0x38A7_C7CF]);
/// e^(t^2) erfc t = w P(w), w = 1 / (1 + 5/8 t), 0.6 <= t <= 10.2, 2^-29.6.
const ERFC_TAIL: [f32; 10] = bits([
    0x3EB4_8A45,
    0x3EB4_90CA,
    0x3E90_CFC3,
    0x3E1F_36CA,
    0xBDA5_D5F9,
    0x3DEE_AA0C,
    0xBF48_9832,
    0x3F91_4CA0,
    0xBF32_1452,
    0x3E28_FD8A,
]);

const fn bits<const N: usize>(words: [u32; N]) -> [f32; N] {
    let mut out = [0.0; N];
    let mut i = 0;
    while i < N {
        out[i] = f32::from_bits(words[i]);
        i += 1;
    }
    out
}

/// Horner with fused multiply-adds, `c[0]` the constant term.
#[inline(always)]
fn poly<const N: usize>(x: f32, c: &[f32; N]) -> f32 {
    let mut y = c[N - 1];
    for k in (0..N - 1).rev() {
        y = y.mul_add(x, c[k]);
    }
    y
}

/// `if condition { a } else { b }` with both sides computed.
#[inline(always)]
pub(super) fn select(condition: bool, a: f32, b: f32) -> f32 {
    if condition { a } else { b }
}

/// A value as the sum of a rounded value and a small rest.
#[derive(Clone, Copy)]
pub(super) struct Split {
    pub hi: f32,
    pub lo: f32,
}

impl Split {
    /// a * b exactly, unless the rest is subnormal.
    #[inline(always)]
    pub fn product(a: f32, b: f32) -> Split {
        let hi = a * b;
        Split { hi, lo: a.mul_add(b, -hi) }
    }

    /// a + b exactly.
    #[inline(always)]
    pub fn sum(a: f32, b: f32) -> Split {
        let hi = a + b;
        let back = hi - a;
        Split { hi, lo: (a - (hi - back)) + (b - back) }
    }

    /// The negative magnitude.
    #[inline(always)]
    pub fn negative(self) -> Split {
        let flip = self.hi.is_sign_positive();
        Split { hi: select(flip, -self.hi, self.hi), lo: select(flip, -self.lo, self.lo) }
    }

    /// Half of it.
    #[inline(always)]
    pub fn half(self) -> Split {
        Split { hi: self.hi * 0.5, lo: self.lo * 0.5 }
    }
}

impl From<f32> for Split {
    #[inline(always)]
    fn from(hi: f32) -> Split {
        Split { hi, lo: 0.0 }
    }
}

/// e^x as `m * 2^n`, so that a factor can be multiplied in before a result below 2^-126 loses bits.
#[derive(Clone, Copy)]
pub(super) struct Exp {
    m: f32,
    n: i32,
}

impl Exp {
    /// e^(x.hi + x.lo). Above 89 the value overflows, below -120 it is zero even after a factor of 2^20.
    #[inline(always)]
    pub fn new(x: Split) -> Exp {
        const MAX: f32 = 89.0;
        const MIN: f32 = -120.0;
        let hi = select(x.hi > MAX, MAX, select(x.hi < MIN, MIN, x.hi));
        let lo = select(hi == x.hi, x.lo, 0.0);
        let shifted = hi.mul_add(LOG2_E, ROUND);
        let n = shifted - ROUND;
        let r_hi = n.mul_add(-LN_2[0], hi); // exact
        let r_lo = n.mul_add(-LN_2[1], lo);
        let r = r_hi + r_lo;
        // 1 + r_hi as a rounded sum and its exact error, so that the last addition is the only one that counts.
        let sum = 1.0 + r_hi;
        let error = (1.0 - sum) + r_hi;
        let m = sum + poly(r, &EXP).mul_add(r * r, r_lo + error);
        let n = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
        Exp { m: select(x.hi < MIN, 0.0, m), n }
    }

    /// The value.
    #[inline(always)]
    pub fn value(self) -> f32 {
        self.times(1.0)
    }

    /// `c * e^x`, rounded twice; NaN for an infinite c where e^x is zero.
    #[inline(always)]
    pub fn times(self, c: f32) -> f32 {
        self.scaled(c * self.m)
    }

    /// `times` without the rounding of c.
    #[inline(always)]
    pub fn times_split(self, c: Split) -> f32 {
        self.scaled(c.hi.mul_add(self.m, c.lo * self.m))
    }

    /// One power of two would leave the range of fp32 at both ends.
    #[inline(always)]
    fn scaled(self, y: f32) -> f32 {
        let half = self.n >> 1;
        y * power_of_two(half) * power_of_two(self.n.wrapping_sub(half))
    }
}

#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// ln x. Zero gives -Inf, a negative value NaN.
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    const TWO_THIRDS: u32 = 0x3F2A_AAAB;
    let subnormal = x < f32::MIN_POSITIVE;
    let normal = select(subnormal, x * 8_388_608.0, x);
    // normal = 2^k (1 + f), 2/3 <= 1 + f < 4/3
    let exponent = normal.to_bits().wrapping_sub(TWO_THIRDS) & 0xFF80_0000;
    let f = f32::from_bits(normal.to_bits().wrapping_sub(exponent)) - 1.0;
    let k = ((exponent as i32) >> 23) as f32 - select(subnormal, 23.0, 0.0);
    let y = k.mul_add(LN_2[0], poly(f, &LN_1P).mul_add(f * f, f));
    let y = select(x < f32::INFINITY, y, x);
    let y = select(x == 0.0, f32::NEG_INFINITY, y);
    select(x < 0.0, f32::NAN, y)
}

/// ln(1 + e) for 0 <= e <= 1.
#[inline(always)]
pub(super) fn ln_1p_unit(e: f32) -> f32 {
    // The halves below keep the reduced value exact: 1 + e itself is never rounded.
    let halve = e > 0.333_333_34;
    let f = select(halve, e.mul_add(0.5, -0.5), e);
    let k = select(halve, 1.0, 0.0);
    k.mul_add(LN_2[0], poly(f, &LN_1P).mul_add(f * f, f))
}

/// tanh x.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let small = (poly(z, &TANH) * z).mul_add(a, a);
    let large = 1.0 - 2.0 / (Exp::new((a + a).into()).value() + 1.0);
    select(a < 0.6, small, large).copysign(x)
}

/// sin x for |x| <= 2^16; NaN beyond, where nobody has measured what reduction with three parts of pi is worth.
#[inline(always)]
pub(super) fn sin(x: f32) -> f32 {
    let a = x.abs();
    let shifted = a.mul_add(std::f32::consts::FRAC_1_PI, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-PI[2], n.mul_add(-PI[1], n.mul_add(-PI[0], a)));
    let z = r * r;
    let y = (poly(z, &SIN) * z).mul_add(r, r);
    let odd = shifted.to_bits() << 31;
    let sign = x.to_bits() & 0x8000_0000;
    select(a <= 65_536.0, f32::from_bits(y.to_bits() ^ odd ^ sign), f32::NAN)
}

/// atan x.
#[inline(always)]
pub(super) fn arctan(x: f32) -> f32 {
    let a = x.abs();
    let invert = a > 1.0;
    let u = select(invert, 1.0, a) / select(invert, a, 1.0);
    let z = u * u;
    let p = (poly(z, &ATAN) * z).mul_add(u, u);
    select(invert, HALF_PI[0] - (p - HALF_PI[1]), p).copysign(x)
}

/// erf x.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let a = x.abs();
    let large = 1.0 - Exp::new(Split::product(a, -a)).times(erfcx(a, TAIL_SLOPE));
    select(a < 0.9375, erf_small(a), large).copysign(x)
}

/// erf x for |x| < 0.938.
#[inline(always)]
fn erf_small(x: f32) -> f32 {
    poly(x * x, &ERF).mul_add(x, x)
}

const TAIL_SLOPE: f32 = 0.625;

/// e^(t^2) erfc t for t = a slope / TAIL_SLOPE >= 0.6.
#[inline(always)]
fn erfcx(a: f32, slope: f32) -> f32 {
    /// What a relative error of w does to the value: between 1.0 and 1.73 over the range.
    const SENSITIVITY: f32 = 1.4;
    // Finite, so that nothing below is NaN; the exponential that goes with it is zero long before.
    let a = select(a > 20.0, 20.0, a);
    let d = a.mul_add(slope, 1.0);
    let w = 1.0 / d;
    let error = (-w).mul_add(d, 1.0) - w * a.mul_add(slope, 1.0 - d);
    poly(w, &ERFC_TAIL) * (w * SENSITIVITY).mul_add(error, w)
}

/// The normal distribution function Phi around zero and at the tail, where 1 + erf would cancel.
#[derive(Clone, Copy)]
pub(super) struct Normal {
    /// |x| is small: use `near`, else the tail.
    pub is_near: bool,
    /// Phi(x) for small |x|.
    pub near: f32,
    /// e^(-x^2/2).
    pub e: Exp,
    /// Phi(-|x|) = m e^(-x^2/2) for |x| that is not small.
    pub m: f32,
}

impl Normal {
    #[inline(always)]
    pub fn new(x: f32) -> Normal {
        use std::f32::consts::FRAC_1_SQRT_2;
        let a = x.abs();
        Normal {
            is_near: a < 0.86,
            near: erf_small(x * FRAC_1_SQRT_2).mul_add(0.5, 0.5),
            e: Exp::new(Split::product(a, -a).half()),
            m: 0.5 * erfcx(a, TAIL_SLOPE * FRAC_1_SQRT_2),
        }
    }
}

/// x sigmoid(z) for z of the sign of x, without the limit at -Inf.
#[inline(always)]
pub(super) fn gate(x: f32, z: Split) -> f32 {
    let e = Exp::new(z.negative());
    select(x < 0.0, e.times(x), x) / (1.0 + e.value())
}

/// The derivative s + z s (1 - s), s = sigmoid z, of z sigmoid z.
#[inline(always)]
pub(super) fn gate_derivative(z: Split) -> f32 {
    let e = Exp::new(z.negative());
    let v = e.value();
    let sum = Split::sum(1.0 + z.hi, v);
    let negative = e.times_split(Split { hi: sum.hi, lo: sum.lo + z.lo });
    let y = select(z.hi < 0.0, negative, z.hi.mul_add(v, 1.0 + v)) / (v + 2.0).mul_add(v, 1.0);
    select(z.hi == f32::INFINITY, 1.0, select(z.hi == f32::NEG_INFINITY, 0.0, y))
}

/// 2 * 0.7978845608028654 * (x + 0.044715 x^3).
#[inline(always)]
pub(super) fn gelu_cubic(x: f32) -> Split {
    const LINEAR: [f32; 2] = bits([0x3FCC_422A, 0xB342_BC9B]);
    const CUBIC: [f32; 2] = bits([0x3D92_2279, 0x3124_D8B5]);
    let square = Split::product(x, x);
    let p = Split::product(square.hi, CUBIC[0]);
    let factor = Split::sum(p.hi, LINEAR[0]);
    let rest = square.hi.mul_add(CUBIC[1], square.lo.mul_add(CUBIC[0], p.lo));
    let lo = factor.lo + (rest + LINEAR[1]);
    let y = Split::product(x, factor.hi);
    Split { hi: y.hi, lo: x.mul_add(lo, y.lo) }
}
