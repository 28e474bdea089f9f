//! Folds along the free dimensions (chapter 04 sections 6.1 to 6.3).

use super::lanes::{Folds, TILE};
use super::tensor_tensor::{compute_dtype, unsupported, warn_division};
use super::{Access, Exec, FaultKind, Flow};
use crate::isa::field::Subdim;
use crate::isa::layouts::S4D4_TR;
use crate::isa::{AluClass, AluOp, AluSet, Decoded, Generation};
use crate::num::{self, ArgFold};

/// TENSOR_REDUCE_ARITH_OP (section 6.1).
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    reduce(x, &o, false, o.op, Class::of(o.op))
}

/// TENSOR_REDUCE_BITVEC_OP (section 6.1): folds raw bits at the width of the elements.
pub fn bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    reduce(x, &o, false, o.op, Class::Bits)
}

/// TRANSPOSE_TENSOR_REDUCE_ARITH_OP (section 6.2): [`arith`] behind the transposing reader.
pub fn transpose_arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    reduce(x, &o, true, o.op, Class::of(o.op))
}

/// TRANSPOSE_TENSOR_REDUCE_BITVEC_OP (section 6.2): [`bitvec`] behind the transposing reader.
pub fn transpose_bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    reduce(x, &o, true, o.op, Class::Bits)
}

/// TENSOR_REDUCE_ADD_BF16 (section 6.3): the same fold of BF16 elements.
pub fn add_bf16(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    reduce(x, &o, false, AluOp::ADD, Class::Float)
}

/// TENSOR_REDUCE_MAX_BF16 (section 6.3).
pub fn max_bf16(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    reduce(x, &o, false, AluOp::MAX, Class::Float)
}

/// What a fold computes with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Float,
    Integer,
    /// The position of an extreme value (decision 04-Q2).
    Position,
    Bits,
}

impl Class {
    /// The class of an arithmetic reduce.
    fn of(op: AluOp) -> Class {
        match op.info().map(|i| i.class) {
            Some(AluClass::ArgReduce) => Class::Position,
            _ if op.in_set(AluSet::IS, Generation::Maverick) && op != AluOp::MOD => Class::Integer,
            _ => Class::Float,
        }
    }
}

/// Source elements that a word folds into one: the product of its innermost counts.
pub(super) fn fold_length(op_dim: Subdim, num: &[u16; 4]) -> Result<usize, FaultKind> {
    let dims = match op_dim {
        Subdim::X => 1,
        Subdim::XY => 2,
        Subdim::XYZ => 3,
        Subdim::XYZW => 4,
        other => return Err(FaultKind::illegal("op_dim", other.0, "2 to 5")),
    };
    Ok(num[..dims].iter().map(|n| usize::from(*n)).product())
}

/// The operands of a reduce after all checks of their addresses and counts.
pub fn resolve(x: &Exec<'_>, o: &S4D4_TR, transposed: bool) -> Result<Folds, FaultKind> {
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let length = fold_length(o.op_dim, &o.src.num)?;
    let expected = src.count / length;
    if dst.count != expected {
        return Err(FaultKind::illegal("dst", format!("{} elements", dst.count), expected.to_string()));
    }
    let lanes = usize::from(lanes);
    if transposed && !(lanes.is_multiple_of(TILE) && src.count.is_multiple_of(TILE)) {
        let found = format!("{lanes} lanes of {} elements", src.count);
        return Err(FaultKind::illegal("src", found, format!("multiples of {TILE}")));
    }
    Ok(Folds { src, dst, length, lanes, transposed })
}

fn reduce(
    x: &mut Exec<'_>,
    o: &S4D4_TR,
    transposed: bool,
    op: AluOp,
    class: Class,
) -> Result<Flow, FaultKind> {
    let word = Word { op, folds: resolve(x, o, transposed)?, operands: o };
    match class {
        Class::Float => word.float(x)?,
        Class::Integer => word.integer(x)?,
        Class::Position => word.position(x)?,
        Class::Bits => word.bits(x)?,
    }
    Ok(Flow::Next)
}

/// A reduction whose addresses and counts have been checked.
struct Word<'a> {
    op: AluOp,
    folds: Folds,
    operands: &'a S4D4_TR,
}

impl Word<'_> {
    /// Serial fp32 folds from the first element; the sign changes after the fold.
    fn float(&self, x: &mut Exec<'_>) -> Result<(), FaultKind> {
        num::fold_f32(self.op, 0.0, 0.0).map_err(unsupported)?;
        let (from, to) = (self.operands.in_dtype, self.operands.out_dtype);
        let fp8 = x.core().spec.fp8;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        self.folds.for_each(x.core(), |packed, out| {
            values.resize(packed.len() / from.bytes(), 0.0);
            num::unpack(packed, from, fp8, &mut values);
            results.clear();
            for row in values.chunks_exact(self.folds.length) {
                let seed = num::fold_seed(self.op, row[0]);
                let folded = num::fold_row(self.op, seed, &row[1..]).unwrap_or(seed);
                results.push(if self.operands.negated == 1 { -folded } else { folded });
            }
            num::pack(&results, to, fp8, out);
        });
        Ok(())
    }

    /// Folds in wrapping integer arithmetic.
    fn integer(&self, x: &mut Exec<'_>) -> Result<(), FaultKind> {
        let (from, to) = (self.operands.in_dtype, self.operands.out_dtype);
        let compute = compute_dtype(from);
        num::eval_int(self.op, 0, 1, compute).map_err(unsupported)?;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        let mut divided_by_zero = false;
        self.folds.for_each(x.core(), |packed, out| {
            values.resize(packed.len() / from.bytes(), 0);
            num::unpack_int(packed, from, &mut values);
            results.clear();
            for row in values.chunks_exact(self.folds.length) {
                let (folded, zero) =
                    num::fold_row_int(self.op, row[0], &row[1..], compute).unwrap_or((row[0], false));
                divided_by_zero |= zero;
                results.push(if self.operands.negated == 1 { folded.wrapping_neg() } else { folded });
            }
            num::pack_int(&results, to, out);
        });
        if divided_by_zero {
            warn_division(x);
        }
        Ok(())
    }

    /// The position of the first extreme value inside each fold.
    fn position(&self, x: &mut Exec<'_>) -> Result<(), FaultKind> {
        let start = ArgFold::new(self.op).map_err(unsupported)?;
        let (from, to) = (self.operands.in_dtype, self.operands.out_dtype);
        let (mut values, mut results) = (Vec::new(), Vec::new());
        self.folds.for_each(x.core(), |packed, out| {
            values.resize(packed.len() / from.bytes(), 0);
            num::unpack_int(packed, from, &mut values);
            results.clear();
            for row in values.chunks_exact(self.folds.length) {
                let mut fold = start.clone();
                fold.push(row);
                results.push(i64::from(fold.index()));
            }
            num::pack_int(&results, to, out);
        });
        Ok(())
    }

    /// Folds of raw bits from the first element.
    fn bits(&self, x: &mut Exec<'_>) -> Result<(), FaultKind> {
        num::eval_bitvec(self.op, 0, 0, 8).map_err(unsupported)?;
        let (from, to) = (self.folds.src.size, self.folds.dst.size);
        let width = 8 * from as u32;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        self.folds.for_each(x.core(), |packed, out| {
            values.resize(packed.len() / from, 0);
            num::unpack_bits(packed, from, &mut values);
            results.clear();
            for row in values.chunks_exact(self.folds.length) {
                results.push(num::fold_row_bits(self.op, row[0], &row[1..], width).unwrap_or(row[0]));
            }
            num::pack_bits(&results, to, out);
        });
        Ok(())
    }
}
