//! Pooling (chapter 05 section 6.1).

use super::lanes::Folds;
use super::tensor_reduce::fold_length;
use super::{Access, Exec, FaultKind, Flow};
use crate::isa::field::PoolType;
use crate::isa::layouts::S4D4_PL;
use crate::isa::{AluOp, Decoded};
use crate::num;

/// POOL: the maximum of each window, or the sum of its elements times a scale (decision 05-34).
pub fn pool(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_PL>(w)?;
    let windows = resolve(x, w)?;
    let result: fn(&[f32], f32) -> f32 = match o.pool_func {
        PoolType::MAX_POOL => |window, _| fold(AluOp::MAX, window[0], &window[1..]),
        PoolType::AVG_POOL => |window, scale| fold(AluOp::ADD, 0.0, window) * scale,
        other => return Err(FaultKind::illegal("pool_func", other.0, "MAX_POOL or AVG_POOL")),
    };
    let (fp8, scale) = (x.core().spec.fp8, o.pool_scale.value());
    let (mut values, mut results) = (Vec::new(), Vec::new());
    windows.for_each(x.core(), |packed, out| {
        values.resize(packed.len() / windows.src.size, 0.0);
        num::unpack(packed, o.in_dtype, fp8, &mut values);
        results.clear();
        results.extend(values.chunks_exact(windows.length).map(|window| result(window, scale)));
        num::pack(&results, o.out_dtype, fp8, out);
    });
    Ok(Flow::Next)
}

/// MAX_POOL_SELECT: the position of the first maximum of each window; an index that the destination's type
/// cannot hold saturates (chapter 00 A14).
pub fn max_pool_select(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_PL>(w)?;
    let windows = resolve(x, w)?;
    let fp8 = x.core().spec.fp8;
    let (mut values, mut results) = (Vec::new(), Vec::new());
    windows.for_each(x.core(), |packed, out| {
        values.resize(packed.len() / windows.src.size, 0.0);
        num::unpack(packed, o.in_dtype, fp8, &mut values);
        results.clear();
        results.extend(values.chunks_exact(windows.length).map(first_maximum));
        num::pack_int(&results, o.out_dtype, out);
    });
    Ok(Flow::Next)
}

/// The windows of a pooling word after all checks of addresses and counts.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Folds, FaultKind> {
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
