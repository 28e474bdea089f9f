//! Pooling (chapter 05 section 6.1).

use super::lanes::Folds;
use super::tensor_reduce::fold_length;
use super::{Access, Exec, FaultKind, Flow};
use crate::isa::field::PoolType;
use crate::isa::layouts::S4D4_PL;
use crate::isa::{AluOp, Decoded, Dtype};
use crate::num::{self, Fp8};

/// POOL: the maximum of each window, or the sum of its elements times a scale (decision 05-34).
pub fn pool(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_pool(x, w)?.run(x);
    Ok(Flow::Next)
}

/// MAX_POOL_SELECT: the position of the first maximum of each window; an index that the destination's type
/// cannot hold saturates (chapter 00 A14).
pub fn max_pool_select(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_max_pool_select(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The windows of [`pool`] after all checks.
pub fn resolve_pool(x: &Exec<'_>, w: &Decoded) -> Result<Pooling, FaultKind> {
    let o = *x.operands::<S4D4_PL>(w)?;
    let windows = resolve(x, w)?;
    let function = match o.pool_func {
        PoolType::MAX_POOL => Function::Maximum,
        PoolType::AVG_POOL => Function::ScaledSum(o.pool_scale.value()),
        other => return Err(FaultKind::illegal("pool_func", other.0, "MAX_POOL or AVG_POOL")),
    };
    Ok(Pooling { windows, from: o.in_dtype, to: o.out_dtype, function })
}

/// The windows of [`max_pool_select`] after all checks.
pub fn resolve_max_pool_select(x: &Exec<'_>, w: &Decoded) -> Result<Pooling, FaultKind> {
    let o = *x.operands::<S4D4_PL>(w)?;
    let windows = resolve(x, w)?;
    Ok(Pooling { windows, from: o.in_dtype, to: o.out_dtype, function: Function::Position })
}

/// What becomes of a window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Function {
    /// Its maximum.
    Maximum,
    /// The sum of its elements times a scale.
    ScaledSum(f32),
    /// The position of its first maximum.
    Position,
}

/// A pooling word whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct Pooling {
    /// Every fold is a window.
    pub windows: Folds,
    /// Datatype of the source.
    pub from: Dtype,
    /// Datatype of the results.
    pub to: Dtype,
    /// What becomes of a window.
    pub function: Function,
}

impl Pooling {
    fn run(&self, x: &mut Exec<'_>) {
        let fp8 = x.core().spec.fp8;
        let mut values = Vec::new();
        self.windows.for_each(x.core(), |packed, out| self.pool(packed, fp8, &mut values, out));
    }

    /// The results of the windows in `packed`.
    pub fn pool(&self, packed: &[u8], fp8: Fp8, values: &mut Vec<f32>, out: &mut [u8]) {
        values.resize(packed.len() / self.windows.src.size, 0.0);
        num::unpack(packed, self.from, fp8, values);
        let windows = values.chunks_exact(self.windows.length);
        let results: Vec<f32> = match self.function {
            Function::Maximum => windows.map(|window| fold(AluOp::MAX, window[0], &window[1..])).collect(),
            Function::ScaledSum(scale) => windows.map(|w| fold(AluOp::ADD, 0.0, w) * scale).collect(),
            Function::Position => {
                let positions: Vec<i64> = windows.map(first_maximum).collect();
                return num::pack_int(&positions, self.to, out);
            }
        };
        num::pack(&results, self.to, fp8, out);
    }
}

/// The windows of a pooling word after all checks of addresses and counts.
fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Folds, FaultKind> {
    let o = *x.operands::<S4D4_PL>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let length = fold_length(o.pool_dim, &o.src.num)?;
    if dst.count != src.count / length {
        let found = format!("{} elements", dst.count);
        return Err(FaultKind::illegal("dst", found, (src.count / length).to_string()));
    }
    Ok(Folds { src, dst, length, lanes: lanes.into() })
}

/// ADD and MAX are operators of every fold.
fn fold(op: AluOp, start: f32, row: &[f32]) -> f32 {
    num::fold_row(op, start, row).unwrap_or(start)
}

/// A NaN is never larger; a window without anything above −Inf gives 0.
fn first_maximum(window: &[f32]) -> i64 {
    let (mut best, mut index) = (f32::NEG_INFINITY, 0);
    for (k, value) in window.iter().enumerate() {
        if *value > best {
            (best, index) = (*value, k as i64);
        }
    }
    index
}
