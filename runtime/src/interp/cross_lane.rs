//! Folds across lanes (chapter 04 section 7).

use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::ReduceOp;
use crate::isa::layouts::S4D4_CR;
use crate::isa::{AluOp, Decoded, Dtype};
use crate::machine::Core;
use crate::num;

/// CROSS_LANE_REDUCE_ARITH: sum, scaled sum or maximum in fp32, whatever the datatype (decision 04-L2), over the
/// lanes, ascending, and for axis 0 over the elements of each lane too (decision 04-L1).
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let CrossLane { src, dst, from, to, all, lanes, fold } = resolve_arith(x, w)?;
    let fp8 = x.core().spec.fp8;
    let mut row = vec![0.0; src.count];
    let mut acc: Option<Vec<f32>> = None;
    each_lane(x.core(), &src, lanes, |packed| {
        num::unpack(packed, from, fp8, &mut row);
        if let Some(scale) = fold.scale {
            row.iter_mut().for_each(|v| *v *= scale);
        }
        let one = |acc, v| num::fold_f32(fold.op, acc, v).unwrap_or(acc);
        fold_lane(&mut acc, &row, all, one);
    });
    let mut packed = vec![0; dst.count * dst.size];
    num::pack(&acc.unwrap_or_default(), to, fp8, &mut packed);
    dst.scatter(&mut dst.start(), x.core().memory_mut(dst.space), 0, &packed);
    Ok(Flow::Next)
}

/// CROSS_LANE_REDUCE_BITVEC: the same with OR, AND or XOR of raw bits.
pub fn bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let CrossLane { src, dst, all, lanes, fold, .. } = resolve_bitvec(x, w)?;
    let op: fn(u64, u64) -> u64 = match fold {
        BitFold::Or => |a, b| a | b,
        BitFold::And => |a, b| a & b,
        BitFold::Xor => |a, b| a ^ b,
    };
    let mut row = vec![0; src.count];
    let mut acc: Option<Vec<u64>> = None;
    each_lane(x.core(), &src, lanes, |packed| {
        num::unpack_bits(packed, src.size, &mut row);
        fold_lane(&mut acc, &row, all, op);
    });
    let mut packed = vec![0; dst.count * dst.size];
    num::pack_bits(&acc.unwrap_or_default(), dst.size, &mut packed);
    dst.scatter(&mut dst.start(), x.core().memory_mut(dst.space), 0, &packed);
    Ok(Flow::Next)
}

/// The operands of [`arith`] after all checks.
pub fn resolve_arith(x: &Exec<'_>, w: &Decoded) -> Result<CrossLane<FloatFold>, FaultKind> {
    let o = x.operands::<S4D4_CR>(w)?;
    resolve(x, w, || match o.reduce_op {
        ReduceOp::ADD => Ok(FloatFold { op: AluOp::ADD, scale: None }),
        ReduceOp::AVERAGE => Ok(FloatFold { op: AluOp::ADD, scale: Some(o.scale.value()) }),
        ReduceOp::MAX => Ok(FloatFold { op: AluOp::MAX, scale: None }),
        other => Err(FaultKind::illegal("reduce_op", other.0, "ADD, AVERAGE or MAX")),
    })
}

/// The operands of [`bitvec`] after all checks.
pub fn resolve_bitvec(x: &Exec<'_>, w: &Decoded) -> Result<CrossLane<BitFold>, FaultKind> {
    let o = x.operands::<S4D4_CR>(w)?;
    resolve(x, w, || match o.reduce_op {
        ReduceOp::OR => Ok(BitFold::Or),
        ReduceOp::AND => Ok(BitFold::And),
        ReduceOp::XOR => Ok(BitFold::Xor),
        other => Err(FaultKind::illegal("reduce_op", other.0, "OR, AND or XOR")),
    })
}

/// A fold of FP32 across lanes.
#[derive(Clone, Copy, Debug)]
pub struct FloatFold {
    /// ADD or MAX.
    pub op: AluOp,
    /// What every element is multiplied by before.
    pub scale: Option<f32>,
}

/// A fold of raw bits across lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum BitFold {
    Or,
    And,
    Xor,
}

/// A word of this family whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct CrossLane<F> {
    /// The tensor.
    pub src: Walk,
    /// The result, in one partition.
    pub dst: Walk,
    /// Datatype of the source.
    pub from: Dtype,
    /// Datatype of the result.
    pub to: Dtype,
    /// The elements of a lane are folded too, into one.
    pub all: bool,
    /// Lanes of the source.
    pub lanes: usize,
    /// The operator.
    pub fold: F,
}

/// The operands after all checks of addresses and counts, then of the operator.
fn resolve<F>(
    x: &Exec<'_>,
    w: &Decoded,
    fold: impl FnOnce() -> Result<F, FaultKind>,
) -> Result<CrossLane<F>, FaultKind> {
    let o = *x.operands::<S4D4_CR>(w)?;
    let src = x.tensor("src", &o.src, o.in_dtype, o.num_active_channels, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, 1, Access::Write)?;
    let expected = match o.reduce_axis {
        0 => 1,
        1 => src.count,
        other => return Err(FaultKind::illegal("reduce_axis", other, "0 or 1")),
    };
    if dst.count != expected {
        return Err(FaultKind::illegal("dst", format!("{} elements", dst.count), expected.to_string()));
    }
    if o.num_active_channels == 0 {
        return Err(FaultKind::illegal("num_active_channels", 0, "1 to 128"));
    }
    Ok(CrossLane {
        src,
        dst,
        from: o.in_dtype,
        to: o.out_dtype,
        all: o.reduce_axis == 0,
        lanes: o.num_active_channels.into(),
        fold: fold()?,
    })
}

/// The packed elements of each lane, ascending. Nothing is written before the last one (decision 04-A1).
fn each_lane(core: &Core, src: &Walk, lanes: usize, mut body: impl FnMut(&[u8])) {
    let mut packed = vec![0; src.count * src.size];
    for lane in 0..lanes {
        src.gather(&mut src.start(), core.memory(src.space), lane, &mut packed);
        body(&packed);
    }
}

/// Folds one lane into the results, which start from the first element: into one for all, or one an element.
fn fold_lane<T: Copy>(acc: &mut Option<Vec<T>>, row: &[T], all: bool, op: impl Fn(T, T) -> T) {
    match acc {
        None if all => {
            *acc = row.split_first().map(|(first, rest)| vec![rest.iter().copied().fold(*first, op)])
        }
        None => *acc = Some(row.to_vec()),
        Some(acc) if all => acc[0] = row.iter().copied().fold(acc[0], op),
        Some(acc) => acc.iter_mut().zip(row).for_each(|(acc, v)| *acc = op(*acc, *v)),
    }
}
