//! Float64 references of the real programs (test data README, section 3) and comparisons with them.
#![allow(dead_code)]

use half::{bf16, f16};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use seqjit::Tensor;
use seqjit::runtime::isa::Dtype;

/// A tensor of independent normal values times `scale`, rounded to `dtype`.
pub fn normal(seed: u64, dtype: Dtype, shape: &[usize], scale: f64) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n: usize = shape.iter().product();
    let values: Vec<f64> = (0..n)
        .map(|_| {
            // Box-Muller.
            let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
            scale * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        })
        .collect();
    from_f64(dtype, shape, &values)
}

/// Rounds values to a tensor.
pub fn from_f64(dtype: Dtype, shape: &[usize], values: &[f64]) -> Tensor {
    let data = match dtype {
        Dtype::FP32 => values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
        Dtype::FP16 => values.iter().flat_map(|v| f16::from_f64(*v).to_le_bytes()).collect(),
        Dtype::BFLOAT16 => values.iter().flat_map(|v| bf16::from_f64(*v).to_le_bytes()).collect(),
        other => panic!("no reference in {}", other.text()),
    };
    Tensor { dtype, shape: shape.to_vec(), data }
}

/// The exact values of a tensor.
pub fn to_f64(tensor: &Tensor) -> Vec<f64> {
    let size = tensor.dtype.bytes();
    let value = |e: &[u8]| match tensor.dtype {
        Dtype::FP32 => f64::from(f32::from_le_bytes([e[0], e[1], e[2], e[3]])),
        Dtype::FP16 => f16::from_le_bytes([e[0], e[1]]).to_f64(),
        Dtype::BFLOAT16 => bf16::from_le_bytes([e[0], e[1]]).to_f64(),
        other => panic!("no reference in {}", other.text()),
    };
    tensor.data.chunks_exact(size).map(value).collect()
}

/// `a` [m, k] times `b` [k, n].
pub fn matmul(a: &[f64], b: &[f64], m: usize, k: usize, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        let row = &mut out[i * n..][..n];
        for p in 0..k {
            let x = a[i * k + p];
            for (o, y) in row.iter_mut().zip(&b[p * n..][..n]) {
                *o += x * y;
            }
        }
    }
    out
}

/// The transpose of `a` [m, n].
pub fn transpose(a: &[f64], m: usize, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            out[j * m + i] = a[i * n + j];
        }
    }
    out
}

/// softmax(qT k) vT without scaling; q, k, v are [d, s], the result [s, d].
pub fn attention(q: &[f64], k: &[f64], v: &[f64], d: usize, s: usize) -> Vec<f64> {
    let mut p = matmul(&transpose(q, d, s), k, s, d, s);
    for row in p.chunks_exact_mut(s) {
        let max = row.iter().copied().fold(f64::MIN, f64::max);
        row.iter_mut().for_each(|x| *x = (*x - max).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    matmul(&p, &transpose(v, d, s), s, s, d)
}

/// A valid 3x3 convolution without kernel flip: rows `rows` of the output [o, h - 2, w - 2].
pub struct Conv<'a> {
    pub x: &'a [f64],
    pub weights: &'a [f64],
    pub bias: &'a [f64],
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    pub out_channels: usize,
}

impl Conv<'_> {
    /// One output row of every channel: [o, w - 2].
    pub fn row(&self, h: usize) -> Vec<f64> {
        let wide = self.width - 2;
        let mut out = vec![0.0; self.out_channels * wide];
        for o in 0..self.out_channels {
            let row = &mut out[o * wide..][..wide];
            row.fill(self.bias[o]);
            for c in 0..self.channels {
                for dy in 0..3 {
                    let line = &self.x[(c * self.height + h + dy) * self.width..][..self.width];
                    for dx in 0..3 {
                        let w = self.weights[((o * self.channels + c) * 3 + dy) * 3 + dx];
                        for (acc, x) in row.iter_mut().zip(&line[dx..]) {
                            *acc += w * x;
                        }
                    }
                }
            }
        }
        out
    }
}

/// What a comparison of a 16-bit result with the exact values found.
#[derive(Debug)]
pub struct Agreement {
    /// Share of elements equal to the correctly rounded value.
    pub equal: f64,
    /// Elements that are neither within 2 units in the last place nor near enough for the largest value.
    pub far: usize,
}

/// Compares a 16-bit tensor with exact values; `share` of the largest value is near enough.
pub fn agreement(found: &Tensor, exact: &[f64], share: f64) -> Agreement {
    let rounded = from_f64(found.dtype, &found.shape, exact);
    let largest = exact.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let bits = |t: &Tensor, i: usize| i32::from(i16::from_le_bytes([t.data[2 * i], t.data[2 * i + 1]]));
    let on_line = |b: i32| if b < 0 { -(b & 0x7FFF) } else { b };
    let values = to_f64(found);
    let (mut equal, mut far) = (0, 0);
    for i in 0..exact.len() {
        let (a, b) = (bits(found, i), bits(&rounded, i));
        equal += usize::from(a == b);
        let near = (on_line(a) - on_line(b)).abs() <= 2 || (values[i] - exact[i]).abs() <= share * largest;
        far += usize::from(!near);
    }
    Agreement { equal: equal as f64 / exact.len() as f64, far }
}

/// Largest error relative to the largest exact value.
pub fn relative_error(found: &[f64], exact: &[f64]) -> f64 {
    assert_eq!(found.len(), exact.len());
    let largest = exact.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let error = found.iter().zip(exact).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    if error.is_nan() || found.iter().any(|v| v.is_nan()) { f64::INFINITY } else { error / largest }
}
