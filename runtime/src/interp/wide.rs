//! The integer words of MAVERICK with results of 64 bits, in two tensors (chapter 04 sections 3.5 and 4.8).

use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::layouts::{S2D2D2_TS_WIDE, S2S2D2D2_TT};
use crate::isa::{AluOp, Decoded, Dtype};
use crate::machine::Core;
use crate::num;

/// TENSOR_TENSOR_INT_WIDE: `dst1:dst0 = src0 op src1`.
pub fn tensor_tensor(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_tensor(x, w)?.run(x)
}

/// The operands of [`tensor_tensor`] after all checks of their addresses.
pub fn resolve_tensor(x: &Exec<'_>, w: &Decoded) -> Result<Wide, FaultKind> {
    let o = *x.operands::<S2S2D2D2_TT>(w)?;
    let lanes = o.num_active_channels;
    Ok(Wide {
        op: o.op,
        dtypes: [o.src_dtype.low(), o.src_dtype.high(), o.dst_dtype.low(), o.dst_dtype.high()],
        src: x.tensor("src0", &o.src0, o.src_dtype.low(), lanes, Access::Read)?,
        right: Right::Tensor(x.tensor("src1", &o.src1, o.src_dtype.high(), lanes, Access::Read)?),
        low: x.tensor("dst0", &o.dst0, o.dst_dtype.low(), lanes, Access::Write)?,
        high: x.tensor("dst1", &o.dst1, o.dst_dtype.high(), lanes, Access::Write)?,
        lanes: lanes.into(),
    })
}

/// TENSOR_SCALAR_INT_WIDE: the same with a scalar on the right.
pub fn tensor_scalar(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_scalar(x, w)?.run(x)
}

/// The operands of [`tensor_scalar`] after all checks of their addresses.
pub fn resolve_scalar(x: &Exec<'_>, w: &Decoded) -> Result<Wide, FaultKind> {
    let o = *x.operands::<S2D2D2_TS_WIDE>(w)?;
    let lanes = o.num_active_channels;
    Ok(Wide {
        op: o.op,
        dtypes: [o.src_dtype.low(), o.src_dtype.high(), o.dst_dtype.low(), o.dst_dtype.high()],
        src: x.tensor("src", &o.src, o.src_dtype.low(), lanes, Access::Read)?,
        right: Right::Scalar(x.scalar("imm", o.imm_src, o.imm, o.src_dtype.high(), lanes)?),
        low: x.tensor("dst0", &o.dst0, o.dst_dtype.low(), lanes, Access::Write)?,
        high: x.tensor("dst1", &o.dst1, o.dst_dtype.high(), lanes, Access::Write)?,
        lanes: lanes.into(),
    })
}

/// The right operand.
#[derive(Clone, Copy, Debug)]
pub enum Right {
    /// Elements.
    Tensor(Walk),
    /// One value, or one a lane.
    Scalar(LaneScalar),
}

/// A word whose addresses have been checked.
#[derive(Clone, Copy, Debug)]
pub struct Wide {
    /// What is computed, on 64 bits.
    pub op: AluOp,
    /// Of the sources, then of the destinations.
    pub dtypes: [Dtype; 4],
    /// The left operand.
    pub src: Walk,
    /// The right operand.
    pub right: Right,
    /// The low halves of the results.
    pub low: Walk,
    /// The high halves.
    pub high: Walk,
    /// Lanes.
    pub lanes: usize,
}

impl Wide {
    /// Two destinations: element by element, which is the definition of overlap (decision 04-A1).
    fn run(&self, x: &mut Exec<'_>) -> Result<Flow, FaultKind> {
        let logical = self.op == AluOp::LOGICAL_SHIFT_RIGHT;
        self.check()?;
        let op = self.operator()?;
        let core = x.core();
        let scalars: Vec<i64> = (0..self.lanes)
            .map(|lane| match &self.right {
                Right::Scalar(scalar) => integer(&scalar.bits(core, lane).to_le_bytes(), self.dtypes[1]),
                Right::Tensor(_) => 0,
            })
            .collect();
        for (lane, scalar) in scalars.iter().enumerate() {
            let (mut from, mut low, mut high) = (self.src.start(), self.low.start(), self.high.start());
            let mut right_at = match &self.right {
                Right::Tensor(walk) => Some((walk, walk.start())),
                Right::Scalar(_) => None,
            };
            for _ in 0..self.src.count {
                let a = next(core, &self.src, &mut from, lane, self.dtypes[0]);
                let b = match &mut right_at {
                    Some((walk, at)) => next(core, walk, at, lane, self.dtypes[1]),
                    None => *scalar,
                };
                let a = if logical { zero_extended(a, self.dtypes[0]) } else { a };
                let full = op(a, b).to_le_bytes();
                self.low.scatter(&mut low, core.memory_mut(self.low.space), lane, &full[..self.low.size]);
                self.high.scatter(
                    &mut high,
                    core.memory_mut(self.high.space),
                    lane,
                    &full[4..4 + self.high.size],
                );
            }
        }
        Ok(Flow::Next)
    }

    /// Operator and datatypes, which must show before the first effect.
    pub fn check(&self) -> Result<(), FaultKind> {
        self.operator()?;
        match self.dtypes.iter().find(|d| !d.is_integer() || d.is_64bit()) {
            Some(other) => Err(FaultKind::illegal("dst_dtype", other.text(), "integers of at most 32 bits")),
            None => Ok(()),
        }
    }

    /// The operator on operands widened to 64 bits (decisions 04-W1 and W2); shift counts are unsigned.
    fn operator(&self) -> Result<fn(i64, i64) -> i64, FaultKind> {
        Ok(match self.op {
            AluOp::ADD_INT => i64::wrapping_add,
            AluOp::SUBTRACT_INT => i64::wrapping_sub,
            AluOp::MULT_INT | AluOp::MULT_UINT => i64::wrapping_mul,
            AluOp::ARITH_SHIFT_LEFT | AluOp::LOGICAL_SHIFT_LEFT => {
                |a, b| if (b as u64) < 64 { a << b } else { 0 }
            }
            AluOp::ARITH_SHIFT_RIGHT => |a, b| a >> (b as u64).min(63),
            AluOp::LOGICAL_SHIFT_RIGHT => |a, b| if (b as u64) < 64 { (a as u64 >> b) as i64 } else { 0 },
            other => return Err(FaultKind::unsupported("op", other.text())),
        })
    }
}

fn next(core: &Core, walk: &Walk, at: &mut super::Cursor, lane: usize, dtype: Dtype) -> i64 {
    let mut bytes = [0; 8];
    walk.gather(at, core.memory(walk.space), lane, &mut bytes[..walk.size]);
    integer(&bytes, dtype)
}

/// The first element of `bytes`, extended by its datatype.
pub(crate) fn integer(bytes: &[u8], dtype: Dtype) -> i64 {
    let mut value = [0];
    num::unpack_int(&bytes[..dtype.bytes()], dtype, &mut value);
    value[0]
}

/// The value without the copies of its sign.
fn zero_extended(value: i64, dtype: Dtype) -> i64 {
    value & (u64::MAX >> (64 - 8 * dtype.bytes())) as i64
}
