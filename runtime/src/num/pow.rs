//! POW: one fixed evaluation in f64 (chapter 03 section 7.4, E19).
//!
//! The `pow` of the platform's mathematics library differs between platforms in its last bit, so it must
//! not decide results. This one uses IEEE additions, multiplications and divisions only. Sums that matter
//! are kept as pairs of f64; the result before its rounding to f64 is good to about 2^-57, so that exact
//! powers, among them the ties of the rounding to FP32, come out exact.

/// `base` to the power `exponent`, rounded once from f64 to FP32. Special cases as IEEE 754 `pow`: anything
/// to the power ±0 and 1 to any power are 1, also for NaN.
pub(super) fn pow(base: f32, exponent: f32) -> f32 {
    if exponent == 0.0 || base == 1.0 {
        return 1.0;
    }
    if base.is_nan() || exponent.is_nan() {
        return f32::NAN;
    }
    let integer = Parity::of(exponent);
    let negative = base.is_sign_negative() && integer == Parity::Odd;
    let size = magnitude(base.abs(), exponent);
    match size {
        Some(size) if negative => -size,
        Some(size) => size,
        None if base < 0.0 && integer == Parity::Fraction => f32::NAN,
        None => {
            let size = exp2(log2(base.abs()).times(f64::from(exponent))) as f32;
            if negative { -size } else { size }
        }
    }
}

/// The powers of 0, 1 and infinity, and those with an infinite exponent, without their sign.
fn magnitude(base: f32, exponent: f32) -> Option<f32> {
    if base == 1.0 && exponent.is_infinite() {
        return Some(1.0);
    }
    let grows = if base == 0.0 || base.is_infinite() {
        base.is_infinite() == (exponent > 0.0)
    } else if exponent.is_infinite() {
        (base > 1.0) == (exponent > 0.0)
    } else {
        return None;
    };
    Some(if grows { f32::INFINITY } else { 0.0 })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Parity {
    Even,
    Odd,
    Fraction,
}

impl Parity {
    fn of(value: f32) -> Parity {
        // From 2^24 on every value is an even integer; infinities count as such.
        if value.abs() >= 16_777_216.0 {
            return Parity::Even;
        }
        let integer = value as i32;
        match integer as f32 == value {
            false => Parity::Fraction,
            true if integer % 2 == 0 => Parity::Even,
            true => Parity::Odd,
        }
    }
}

/// An unevaluated sum: `low` is at most half a last place of `high`.
#[derive(Clone, Copy)]
struct Pair {
    high: f64,
    low: f64,
}

const LN_2: Pair =
    Pair { high: f64::from_bits(0x3FE6_2E42_FEFA_39EF), low: f64::from_bits(0x3C7A_BC9E_3B39_803F) };
const LOG2_E: Pair =
    Pair { high: f64::from_bits(0x3FF7_1547_652B_82FE), low: f64::from_bits(0x3C77_77D0_FFDA_0D24) };

const THIRD: Pair =
    Pair { high: f64::from_bits(0x3FD5_5555_5555_5555), low: f64::from_bits(0x3C75_5555_5555_5555) };

/// 1/3! to 1/15!.
const INVERSE_FACTORIALS: [f64; 13] = {
    let mut inverse = [0.0; 13];
    let (mut factorial, mut k) = (6.0, 0);
    while k < inverse.len() {
        inverse[k] = 1.0 / factorial;
        k += 1;
        factorial *= k as f64 + 3.0;
    }
    inverse
};

impl Pair {
    /// `a + b`, exactly, where `a` is the larger in magnitude or zero.
    fn sum_ordered(a: f64, b: f64) -> Pair {
        let high = a + b;
        Pair { high, low: b - (high - a) }
    }

    /// `a · b`, exactly (Dekker).
    fn product(a: f64, b: f64) -> Pair {
        let (a1, a2) = halves(a);
        let (b1, b2) = halves(b);
        let high = a * b;
        Pair { high, low: ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2 }
    }

    fn times(self, factor: f64) -> Pair {
        let high = Pair::product(self.high, factor);
        Pair::sum_ordered(high.high, high.low + self.low * factor)
    }

    fn times_pair(self, factor: Pair) -> Pair {
        let high = Pair::product(self.high, factor.high);
        Pair::sum_ordered(high.high, high.low + (self.high * factor.low + self.low * factor.high))
    }

    fn twice(self) -> Pair {
        Pair { high: self.high * 2.0, low: self.low * 2.0 }
    }

    fn half(self) -> Pair {
        Pair { high: self.high * 0.5, low: self.low * 0.5 }
    }

    /// `self + smaller`, where `smaller` is not larger in magnitude.
    fn plus(self, smaller: Pair) -> Pair {
        let high = Pair::sum_ordered(self.high, smaller.high);
        Pair::sum_ordered(high.high, high.low + (self.low + smaller.low))
    }
}

/// The upper 26 bits of a value and the rest, each of at most 26 significant bits.
fn halves(value: f64) -> (f64, f64) {
    let scaled = value * 134_217_729.0;
    let upper = scaled - (scaled - value);
    (upper, value - upper)
}

/// The binary logarithm of a positive finite value, to about 2^-64 of itself.
fn log2(value: f32) -> Pair {
    // value = mantissa · 2^exponent with the mantissa in [√½, √2)
    let bits = f64::from(value).to_bits();
    const SQRT_HALF: u64 = 0x3FE6_A09E_667F_3BCD;
    let exponent = (bits.wrapping_sub(SQRT_HALF) as i64) >> 52;
    let mantissa = f64::from_bits(bits.wrapping_sub((exponent as u64) << 52));

    // ln(mantissa) = 2 (s + s³/3 + s⁵/5 + ...) with s = (mantissa − 1) / (mantissa + 1); numerator and
    // denominator are exact, and so is the product of the denominator with 25 bits of s.
    let (numerator, denominator) = (mantissa - 1.0, mantissa + 1.0);
    let high = f64::from_bits((numerator / denominator).to_bits() & !0xFFF_FFFF);
    let s = Pair::sum_ordered(high, (numerator - high * denominator) / denominator);
    let s2 = s.times_pair(s);
    let mut tail = 0.0;
    for divisor in [25.0, 23.0, 21.0, 19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0] {
        tail = tail * s2.high + 1.0 / divisor;
    }
    let fifth = s2.high * s2.high * s.high * tail;
    let sum = s.plus(s2.times_pair(s).times_pair(THIRD).plus(Pair { high: fifth, low: 0.0 }));
    Pair { high: exponent as f64, low: 0.0 }.plus(sum.twice().times_pair(LOG2_E))
}

/// 2^`power`, rounded to f64; infinity and 0 where FP32 overflows or has nothing but zero.
fn exp2(power: Pair) -> f64 {
    if power.high >= 129.0 {
        return f64::INFINITY;
    }
    if power.high <= -151.0 {
        return 0.0;
    }
    // Last place 1: the addition rounds to an integer.
    const GRID: f64 = 6_755_399_441_055_744.0;
    let exponent = (power.high + GRID) - GRID;
    let t = Pair::sum_ordered(power.high - exponent, power.low).times_pair(LN_2);

    // e^t = 1 + t + t²/2 + t³ (1/3! + t/4! + ...)
    let t2 = t.times_pair(t);
    let tail = INVERSE_FACTORIALS.iter().rev().fold(0.0, |sum, coefficient| sum * t.high + coefficient);
    let cubic = t2.high * t.high * tail;
    let fraction = t.plus(t2.half().plus(Pair { high: cubic, low: 0.0 }));
    let mantissa = Pair { high: 1.0, low: 0.0 }.plus(fraction).high;
    mantissa * f64::from_bits(((1023 + exponent as i64) as u64) << 52)
}
