//! Cubic pieces: interpolation at Chebyshev points, then the search for the coarsest cut of an octave
//! that keeps the error. All arithmetic is IEEE, so the same tables come out on every machine.

use seqjit_runtime::act::table::Bucket;

/// A function on one side, as seen from zero: `f(sign * magnitude)`.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub f: fn(f64) -> f64,
    /// 1 or -1.
    pub sign: f64,
    /// Error accepted at a point: the larger of `relative * |f|` and `absolute`.
    pub relative: f64,
    pub absolute: f64,
}

impl Target {
    /// Whether `bucket`, evaluated as a table is, keeps the error at the fp32 value nearest to `magnitude`.
    fn accepts(&self, bucket: &Bucket, magnitude: f64) -> bool {
        let x = (self.sign * magnitude) as f32;
        let exact = (self.f)(f64::from(x));
        let u = x - bucket.x0;
        let [d0, d1, d2, d3] = bucket.d;
        let y = u.mul_add(u.mul_add(u.mul_add(d3, d2), d1), d0);
        (f64::from(y) - exact).abs() <= (self.relative * exact.abs()).max(self.absolute)
    }

    /// Whether `bucket` keeps the error all over `from..to`.
    pub fn accepts_range(&self, bucket: &Bucket, from: f64, to: f64) -> bool {
        const SAMPLES: i32 = 32;
        (0..=SAMPLES).all(|i| self.accepts(bucket, from + (to - from) * (f64::from(i) / f64::from(SAMPLES))))
    }

    /// The piece for `from..to`, good up to `end`: the cubic, or the highest degree below it whose
    /// coefficients are fp32 values.
    fn piece(&self, from: f64, to: f64, end: f64) -> Option<Bucket> {
        let last = largest_below(to.min(end));
        (0..=3)
            .rev()
            .map(|degree| self.interpolate(from, to, degree))
            .find(|bucket| bucket.d.iter().all(|d| d.is_finite()) && self.accepts_range(bucket, from, last))
    }

    /// Interpolation at the Chebyshev points of `from..to`, in powers of the distance to the centre.
    fn interpolate(&self, from: f64, to: f64, degree: usize) -> Bucket {
        let (centre, half) = (self.sign * 0.5 * (from + to), 0.5 * (to - from));
        let points = &CHEBYSHEV[degree][..=degree];
        let mut divided = [0.0; 4];
        for (value, point) in divided.iter_mut().zip(points) {
            *value = (self.f)(centre + half * point);
        }
        for order in 1..=degree {
            for i in (order..=degree).rev() {
                divided[i] = (divided[i] - divided[i - 1]) / (half * (points[i] - points[i - order]));
            }
        }
        // Newton's form to powers, innermost factor first.
        let mut d = [0.0; 4];
        for k in (0..=degree).rev() {
            for i in (1..=degree).rev() {
                d[i] = d[i - 1] - half * points[k] * d[i];
            }
            d[0] = divided[k] - half * points[k] * d[0];
        }
        Bucket { d: d.map(|c| c as f32), x0: centre as f32 }
    }
}

/// Chebyshev points, by degree.
const CHEBYSHEV: [[f64; 4]; 4] = [
    [0.0; 4],
    [-std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::FRAC_1_SQRT_2, 0.0, 0.0],
    [-0.866_025_403_784_438_6, 0.0, 0.866_025_403_784_438_6, 0.0],
    [-0.923_879_532_511_286_7, -0.382_683_432_365_089_8, 0.382_683_432_365_089_8, 0.923_879_532_511_286_7],
];

/// The fp32 value before x, which is one itself.
fn largest_below(x: f64) -> f64 {
    f64::from((x as f32).next_down())
}

/// 2^n as f64.
pub(super) fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// Cuts octave `exponent` into the fewest equal pieces (a power of two) that keep the error up to `end`;
/// pieces past `end` are left out. `None` if no cut does.
pub(super) fn octave(target: &Target, exponent: i32, end: f64) -> Option<(u8, Vec<Bucket>)> {
    /// More would cost the hardware's whole table.
    const MAX_SIZE: u8 = 10;
    let low = power_of_two(exponent);
    (0..=MAX_SIZE).find_map(|size| {
        let width = low / f64::from(1_u32 << size);
        let starts = (0..1 << size).map(|i| low + f64::from(i) * width).take_while(|from| *from < end);
        let pieces = starts.map(|from| target.piece(from, from + width, end)).collect::<Option<Vec<_>>>()?;
        Some((size, pieces))
    })
}

/// The lowest octave that needs pieces: the Taylor cubic keeps the error below it. Octaves above 0 are not
/// considered, nor below -40: a cubic that is not good there is none.
pub(super) fn first_octave(target: &Target, taylor: &Bucket) -> i32 {
    let good = |e: &i32| target.accepts_range(taylor, power_of_two(*e), power_of_two(*e + 1));
    (-40..=0).take_while(good).last().map_or(-40, |e| e + 1)
}
