//! Folds along the free dimensions (chapter 04 sections 6.1 to 6.3).

use super::lanes::{Folds, expect_tiles};
use super::tensor_tensor::{compute_dtype, unsupported, warn_division};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::Subdim;
use crate::isa::layouts::S4D4_TR;
use crate::isa::{AluClass, AluOp, AluSet, Decoded, Dtype, Generation};
use crate::num::{self, ArgFold, Fp8};

/// TENSOR_REDUCE_ARITH_OP (section 6.1).
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve(x, w)?.run(x);
    Ok(Flow::Next)
}

/// TENSOR_REDUCE_ADD_BF16 (section 6.3): the same fold of BF16 elements.
pub fn add_bf16(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_add_bf16(x, w)?.run(x);
    Ok(Flow::Next)
}

/// TENSOR_REDUCE_MAX_BF16 (section 6.3).
pub fn max_bf16(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_max_bf16(x, w)?.run(x);
    Ok(Flow::Next)
}

/// TENSOR_REDUCE_BITVEC_OP (section 6.1): folds raw bits at the width of the elements.
pub fn bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_bitvec(x, w)?.run(x);
    Ok(Flow::Next)
}

/// TRANSPOSE_TENSOR_REDUCE_ARITH_OP (section 6.2): [`arith`] behind the transposing reader.
pub fn transpose_arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_transposed(x, w)?.run_transposed(x);
    Ok(Flow::Next)
}

/// TRANSPOSE_TENSOR_REDUCE_BITVEC_OP (section 6.2): [`bitvec`] behind the transposing reader.
pub fn transpose_bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_transposed_bitvec(x, w)?.run_transposed(x);
    Ok(Flow::Next)
}

/// The reduction of [`arith`] after all checks.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Reduction, FaultKind> {
    let op = x.operands::<S4D4_TR>(w)?.op;
    let fold = match op.info().map(|i| i.class) {
        Some(AluClass::ArgReduce) => Fold::Position,
        _ if op.in_set(AluSet::IS, Generation::Maverick) && op != AluOp::MOD => Fold::Integer,
        _ => Fold::Float,
    };
    reduction(x, w, op, fold)
}

/// The reduction of [`add_bf16`] after all checks.
pub fn resolve_add_bf16(x: &Exec<'_>, w: &Decoded) -> Result<Reduction, FaultKind> {
    reduction(x, w, AluOp::ADD, Fold::Float)
}

/// The reduction of [`max_bf16`] after all checks.
pub fn resolve_max_bf16(x: &Exec<'_>, w: &Decoded) -> Result<Reduction, FaultKind> {
    reduction(x, w, AluOp::MAX, Fold::Float)
}

/// The reduction of [`bitvec`] after all checks.
pub fn resolve_bitvec(x: &Exec<'_>, w: &Decoded) -> Result<Reduction, FaultKind> {
    reduction(x, w, x.operands::<S4D4_TR>(w)?.op, Fold::Bits)
}

/// The reduction of [`transpose_arith`] after all checks.
pub fn resolve_transposed(x: &Exec<'_>, w: &Decoded) -> Result<Reduction, FaultKind> {
    let reduction = resolve(x, w)?;
    expect_tiles(&reduction.src, reduction.lanes)?;
    Ok(reduction)
}

/// The reduction of [`transpose_bitvec`] after all checks.
pub fn resolve_transposed_bitvec(x: &Exec<'_>, w: &Decoded) -> Result<Reduction, FaultKind> {
    let reduction = resolve_bitvec(x, w)?;
    expect_tiles(&reduction.src, reduction.lanes)?;
    Ok(reduction)
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

/// What a fold computes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// FP32, serially from the first element.
    Float,
    /// Wrapping integers.
    Integer,
    /// The position of an extreme value (decision 04-Q2).
    Position,
    /// Raw bits.
    Bits,
}

fn reduction(x: &Exec<'_>, w: &Decoded, op: AluOp, fold: Fold) -> Result<Reduction, FaultKind> {
    let o = x.operands::<S4D4_TR>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let length = fold_length(o.op_dim, &o.src.num)?;
    if dst.count * length != src.count {
        return Err(FaultKind::illegal(
            "dst",
            format!("{} elements", dst.count),
            (src.count / length).to_string(),
        ));
    }
    match fold {
        Fold::Float => num::fold_f32(op, 0.0, 0.0).map(drop),
        Fold::Integer => num::eval_int(op, 0, 1, compute_dtype(o.in_dtype)).map(drop),
        Fold::Position => ArgFold::new(op).map(drop),
        Fold::Bits => num::eval_bitvec(op, 0, 0, 8).map(drop),
    }
    .map_err(unsupported)?;
    Ok(Reduction {
        src,
        dst,
        from: o.in_dtype,
        to: o.out_dtype,
        op,
        fold,
        length,
        lanes: lanes.into(),
        negated: o.negated == 1,
    })
}

/// A reduction whose checks have passed: every `length` source elements become one result.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// The tensor.
    pub src: Walk,
    /// The results.
    pub dst: Walk,
    /// Datatype of the source.
    pub from: Dtype,
    /// Datatype of the results.
    pub to: Dtype,
    /// The operator, which the fold defines.
    pub op: AluOp,
    /// What the fold computes with.
    pub fold: Fold,
    /// Elements of a fold.
    pub length: usize,
    /// Lanes.
    pub lanes: usize,
    /// Results change sign after the fold.
    pub negated: bool,
}

impl Reduction {
    fn run(&self, x: &mut Exec<'_>) {
        let fp8 = x.core().spec.fp8;
        let mut scratch = Scratch::default();
        self.folds().for_each(x.core(), |packed, out| self.fold(packed, fp8, &mut scratch, out));
        if scratch.divided_by_zero {
            warn_division(x);
        }
    }

    fn run_transposed(&self, x: &mut Exec<'_>) {
        let fp8 = x.core().spec.fp8;
        let mut scratch = Scratch::default();
        self.folds().for_each_transposed(x.core(), |packed, out| self.fold(packed, fp8, &mut scratch, out));
        if scratch.divided_by_zero {
            warn_division(x);
        }
    }

    fn folds(&self) -> Folds {
        Folds { src: self.src, dst: self.dst, length: self.length, lanes: self.lanes }
    }

    /// The folds in `packed`.
    pub(crate) fn fold(&self, packed: &[u8], fp8: Fp8, scratch: &mut Scratch, out: &mut [u8]) {
        match self.fold {
            Fold::Float => self.fold_floats(packed, fp8, &mut scratch.floats, out),
            Fold::Integer => {
                scratch.divided_by_zero |= self.fold_integers(packed, &mut scratch.integers, out);
            }
            Fold::Position => self.find_positions(packed, &mut scratch.integers, out),
            Fold::Bits => self.fold_bits(packed, out),
        }
    }

    /// Folds of raw bits from the first element.
    pub fn fold_bits(&self, packed: &[u8], out: &mut [u8]) {
        let mut values = vec![0; packed.len() / self.src.size];
        num::unpack_bits(packed, self.src.size, &mut values);
        let width = 8 * self.src.size as u32;
        let fold = |row: &[u64]| num::fold_row_bits(self.op, row[0], &row[1..], width).unwrap_or(row[0]);
        let results: Vec<u64> = values.chunks_exact(self.length).map(fold).collect();
        num::pack_bits(&results, self.dst.size, out);
    }

    /// Serial fp32 folds from the first element, of the folds in `packed`; the sign changes after the fold.
    pub fn fold_floats(&self, packed: &[u8], fp8: Fp8, values: &mut Vec<f32>, out: &mut [u8]) {
        values.resize(packed.len() / self.src.size, 0.0);
        num::unpack(packed, self.from, fp8, values);
        let fold = |row: &[f32]| {
            let seed = num::fold_seed(self.op, row[0]);
            let folded = num::fold_row(self.op, seed, &row[1..]).unwrap_or(seed);
            if self.negated { -folded } else { folded }
        };
        let results: Vec<f32> = values.chunks_exact(self.length).map(fold).collect();
        num::pack(&results, self.to, fp8, out);
    }

    /// Folds in wrapping integer arithmetic; whether any of them divided by zero.
    pub fn fold_integers(&self, packed: &[u8], values: &mut Vec<i64>, out: &mut [u8]) -> bool {
        values.resize(packed.len() / self.src.size, 0);
        num::unpack_int(packed, self.from, values);
        let compute = compute_dtype(self.from);
        let mut divided_by_zero = false;
        let fold = |row: &[i64]| {
            let folded = num::fold_row_int(self.op, row[0], &row[1..], compute);
            let (folded, zero) = folded.unwrap_or((row[0], false));
            divided_by_zero |= zero;
            if self.negated { folded.wrapping_neg() } else { folded }
        };
        let results: Vec<i64> = values.chunks_exact(self.length).map(fold).collect();
        num::pack_int(&results, self.to, out);
        divided_by_zero
    }

    /// The position of the first extreme value inside each fold.
    pub fn find_positions(&self, packed: &[u8], values: &mut Vec<i64>, out: &mut [u8]) {
        values.resize(packed.len() / self.src.size, 0);
        num::unpack_int(packed, self.from, values);
        let position = |row: &[i64]| {
            ArgFold::new(self.op).map_or(0, |mut fold| {
                fold.push(row);
                i64::from(fold.index())
            })
        };
        let results: Vec<i64> = values.chunks_exact(self.length).map(position).collect();
        num::pack_int(&results, self.to, out);
    }
}

/// Rows of a word while it runs.
#[derive(Default)]
pub(crate) struct Scratch {
    floats: Vec<f32>,
    integers: Vec<i64>,
    /// Whether any fold divided by zero.
    pub divided_by_zero: bool,
}
