//! Folds along the free dimensions (chapter 04 section 6).

use super::tensor_tensor::{compute_dtype, unsupported, warn_division};
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::Subdim;
use crate::isa::layouts::S4D4_TR;
use crate::isa::{AluClass, AluOp, AluSet, Decoded, Dtype, Generation};
use crate::num::{self, ArgFold};

/// Source elements gathered at a time, unless one fold is longer.
const CHUNK: usize = 2048;

/// TENSOR_REDUCE_ARITH_OP (section 6.1).
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    let class = o.op.info().map(|i| i.class);
    let kind = match class {
        Some(AluClass::ArgReduce) => Fold::Position,
        _ if o.op.in_set(AluSet::IS, Generation::Maverick) && o.op != AluOp::MOD => Fold::Integer,
        _ => Fold::Float,
    };
    reduce(x, &o, o.op, kind)
}

/// TENSOR_REDUCE_ADD_BF16 (section 6.3): the same fold of BF16 elements.
pub fn add_bf16(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S4D4_TR>(w)?;
    reduce(x, &o, AluOp::ADD, Fold::Float)
}

/// What a fold computes with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fold {
    Float,
    Integer,
    /// The position of an extreme value (decision 04-Q2).
    Position,
}

fn reduce(x: &mut Exec<'_>, o: &S4D4_TR, op: AluOp, kind: Fold) -> Result<Flow, FaultKind> {
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let dims = match o.op_dim {
        Subdim::X => 1,
        Subdim::XY => 2,
        Subdim::XYZ => 3,
        Subdim::XYZW => 4,
        other => return Err(FaultKind::illegal("op_dim", other.0, "2 to 5")),
    };
    let length: usize = o.src.num[..dims].iter().map(|n| usize::from(*n)).product();
    if dst.count * length != src.count {
        return Err(FaultKind::illegal(
            "dst",
            format!("{} elements", dst.count),
            (src.count / length).to_string(),
        ));
    }
    let negated = o.negated == 1;
    let word = Word { src, dst, length, lanes: lanes.into(), negated };
    let (from, to) = (o.in_dtype, o.out_dtype);
    match kind {
        Fold::Float => word.float(x, op, from, to)?,
        Fold::Integer => word.integer(x, op, from, to)?,
        Fold::Position => word.position(x, op, from, to)?,
    }
    Ok(Flow::Next)
}

/// A reduction whose checks have passed: every `length` source elements become one result.
struct Word {
    src: Walk,
    dst: Walk,
    length: usize,
    lanes: usize,
    negated: bool,
}

impl Word {
    /// Runs `body(source bytes of some folds, results)` over all lanes. A destination that the rest of the
    /// source still reads is written after every fold.
    fn for_each_group(&self, x: &mut Exec<'_>, mut body: impl FnMut(&[u8], &mut [u8])) {
        let disjoint = self.src.may_read_ahead_of(&self.dst) && self.src != self.dst;
        let group = if disjoint { (CHUNK / self.length).clamp(1, self.dst.count) } else { 1 };
        let mut packed = vec![0; group * self.length * self.src.size];
        let mut out = vec![0; group * self.dst.size];
        let core = x.core();
        for lane in 0..self.lanes {
            let (mut from, mut to) = (self.src.start(), self.dst.start());
            let mut left = self.dst.count;
            while left > 0 {
                let folds = group.min(left);
                let packed = &mut packed[..folds * self.length * self.src.size];
                let out = &mut out[..folds * self.dst.size];
                self.src.gather(&mut from, core.memory(self.src.space), lane, packed);
                body(packed, out);
                self.dst.scatter(&mut to, core.memory_mut(self.dst.space), lane, out);
                left -= folds;
            }
        }
    }

    /// Serial fp32 folds from the first element; the sign changes after the fold.
    fn float(&self, x: &mut Exec<'_>, op: AluOp, from: Dtype, to: Dtype) -> Result<(), FaultKind> {
        num::fold_f32(op, 0.0, 0.0).map_err(unsupported)?;
        let fp8 = x.core().spec.fp8;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        self.for_each_group(x, |packed, out| {
            values.resize(packed.len() / from.bytes(), 0.0);
            num::unpack(packed, from, fp8, &mut values);
            results.clear();
            for row in values.chunks_exact(self.length) {
                let seed = num::fold_seed(op, row[0]);
                let folded = num::fold_row(op, seed, &row[1..]).unwrap_or(seed);
                results.push(if self.negated { -folded } else { folded });
            }
            num::pack(&results, to, fp8, out);
        });
        Ok(())
    }

    /// Folds in wrapping integer arithmetic.
    fn integer(&self, x: &mut Exec<'_>, op: AluOp, from: Dtype, to: Dtype) -> Result<(), FaultKind> {
        let compute = compute_dtype(from);
        num::eval_int(op, 0, 1, compute).map_err(unsupported)?;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        let mut divided_by_zero = false;
        self.for_each_group(x, |packed, out| {
            values.resize(packed.len() / from.bytes(), 0);
            num::unpack_int(packed, from, &mut values);
            results.clear();
            for row in values.chunks_exact(self.length) {
                let (folded, zero) =
                    num::fold_row_int(op, row[0], &row[1..], compute).unwrap_or((row[0], false));
                divided_by_zero |= zero;
                results.push(if self.negated { folded.wrapping_neg() } else { folded });
            }
            num::pack_int(&results, to, out);
        });
        if divided_by_zero {
            warn_division(x);
        }
        Ok(())
    }

    /// The position of the first extreme value inside each fold.
    fn position(&self, x: &mut Exec<'_>, op: AluOp, from: Dtype, to: Dtype) -> Result<(), FaultKind> {
        let start = ArgFold::new(op).map_err(unsupported)?;
        let (mut values, mut results) = (Vec::new(), Vec::new());
        self.for_each_group(x, |packed, out| {
            values.resize(packed.len() / from.bytes(), 0);
            num::unpack_int(packed, from, &mut values);
            results.clear();
            for row in values.chunks_exact(self.length) {
                let mut fold = start.clone();
                fold.push(row);
                results.push(i64::from(fold.index()));
            }
            num::pack_int(&results, to, out);
        });
        Ok(())
    }
}
