//! Two tensors, one result (chapter 04 section 3).

use super::lanes::for_each_stretch;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::S3S3D3_TT;
use crate::isa::{AluOp, AluSet, Decoded, Dtype, EngineId, Generation};
use crate::num::{self, Rhs};

/// TENSOR_TENSOR_ARITH_OP (section 3.1): `dst[k] = cast(op(src0[k], src1[k]))`.
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve(x, w)?.execute(x)
}

/// TENSOR_TENSOR_BITVEC_OP (section 3.1): raw bits at the width of the result; a shift count has a width of its
/// own.
pub fn bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve(x, w)?.bits(x)
}

/// TENSOR_TENSOR_ADD_BF16 (section 3.4): the operator of the opcode, as [`arith`] computes it.
pub fn add_bf16(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    float_as(x, w, AluOp::ADD)
}

/// TENSOR_TENSOR_MULT_BF16.
pub fn mult_bf16(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    float_as(x, w, AluOp::MULT)
}

/// TENSOR_TENSOR_SUB_BF16.
pub fn sub_bf16(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    float_as(x, w, AluOp::SUBTRACT)
}

fn float_as(x: &mut Exec<'_>, w: &Decoded, op: AluOp) -> Result<Flow, FaultKind> {
    Operation { op, integer_operator: None, ..resolve(x, w)? }.execute(x)
}

/// The operands of a two-tensor word after all checks of their addresses.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Operation, FaultKind> {
    let o = *x.operands::<S3S3D3_TT>(w)?;
    let dtypes = [o.in0_in1_dtype.low(), o.in0_in1_dtype.high(), o.out_dtype];
    let lanes = o.num_active_channels;
    let src0 = x.tensor("src0", &o.src0, dtypes[0], lanes, Access::Read)?;
    let src1 = x.tensor("src1", &o.src1, dtypes[1], lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, dtypes[2], lanes, Access::Write)?;
    let integer_operator = integer_operator(o.op, dtypes, x.engine);
    Ok(Operation { op: o.op, integer_operator, dtypes, sources: [src0, src1], dst, lanes: lanes.into() })
}

/// The integer operator that a word computes with, if it is of class INT (chapter 03 section 7.4,
/// decision 04-C3).
pub fn integer_operator(op: AluOp, dtypes: [Dtype; 3], engine: EngineId) -> Option<AluOp> {
    let all = |f: fn(&Dtype) -> bool| dtypes.iter().all(f);
    let native = engine == EngineId::Pool && all(|d| matches!(*d, Dtype::INT32 | Dtype::UINT32));
    match op {
        AluOp::ADD if native => Some(AluOp::ADD_INT),
        AluOp::SUBTRACT if native => Some(AluOp::SUBTRACT_INT),
        AluOp::MULT if native => Some(AluOp::MULT_INT),
        AluOp::MOD => all(|d| d.is_integer()).then_some(op),
        // Membership, not presence on a generation, decides the class.
        _ => op.in_set(AluSet::IS, Generation::Maverick).then_some(op),
    }
}

/// A two-tensor word whose checks have passed.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The operator as the word gives it.
    pub op: AluOp,
    /// What it computes with if it is of class INT.
    pub integer_operator: Option<AluOp>,
    /// Of the two sources and the destination.
    pub dtypes: [Dtype; 3],
    /// Left and right.
    pub sources: [Walk; 2],
    /// Result.
    pub dst: Walk,
    /// Lanes.
    pub lanes: usize,
}

impl Operation {
    /// Computes every element.
    pub fn execute(&self, x: &mut Exec<'_>) -> Result<Flow, FaultKind> {
        self.check()?;
        match self.integer_operator {
            Some(op) => self.integer(x, op),
            None => self.float(x),
        }
        Ok(Flow::Next)
    }

    /// An operator without meaning here must show before the first effect.
    pub fn check(&self) -> Result<(), FaultKind> {
        match self.integer_operator {
            Some(op) => num::eval_int(op, 0, 1, compute_dtype(self.dtypes[0])).map(drop),
            None => num::eval_f32(self.op, 0.0, 0.0).map(drop),
        }
        .map_err(unsupported)
    }

    fn float(&self, x: &mut Exec<'_>) {
        let fp8 = x.core().spec.fp8;
        let [from0, from1, to] = self.dtypes;
        let (mut a, mut b, mut out) = (Vec::new(), Vec::new(), Vec::new());
        for_each_stretch(x.core(), &self.sources, &self.dst, self.lanes, |_, sources, result| {
            let n = result.len() / to.bytes();
            for row in [&mut a, &mut b, &mut out] {
                row.resize(n, 0.0);
            }
            num::unpack(&sources[0], from0, fp8, &mut a);
            num::unpack(&sources[1], from1, fp8, &mut b);
            let done = num::map2(self.op, &a, Rhs::Row(&b), false, &mut out);
            debug_assert!(done.is_ok(), "the operator was tried above");
            num::pack(&out, to, fp8, result);
        });
    }

    fn bits(&self, x: &mut Exec<'_>) -> Result<Flow, FaultKind> {
        let [size0, size1, to] = [self.sources[0].size, self.sources[1].size, self.dst.size];
        let width = 8 * to as u32;
        num::eval_bitvec(self.op, 0, 0, width).map_err(unsupported)?;
        let (mut a, mut b, mut out) = (Vec::new(), Vec::new(), Vec::new());
        for_each_stretch(x.core(), &self.sources, &self.dst, self.lanes, |_, sources, result| {
            let n = result.len() / to;
            for row in [&mut a, &mut b, &mut out] {
                row.resize(n, 0);
            }
            num::unpack_bits(&sources[0], size0, &mut a);
            num::unpack_bits(&sources[1], size1, &mut b);
            let done = num::map2_bits(self.op, &a, Rhs::Row(&b), width, false, &mut out);
            debug_assert!(done.is_ok(), "the operator was tried above");
            num::pack_bits(&out, to, result);
        });
        Ok(Flow::Next)
    }

    fn integer(&self, x: &mut Exec<'_>, op: AluOp) {
        let [from0, from1, to] = self.dtypes;
        let compute = compute_dtype(from0);
        let (mut a, mut b, mut out) = (Vec::new(), Vec::new(), Vec::new());
        let mut divided_by_zero = false;
        for_each_stretch(x.core(), &self.sources, &self.dst, self.lanes, |_, sources, result| {
            let n = result.len() / to.bytes();
            for row in [&mut a, &mut b, &mut out] {
                row.resize(n, 0);
            }
            num::unpack_int(&sources[0], from0, &mut a);
            num::unpack_int(&sources[1], from1, &mut b);
            divided_by_zero |= num::map2_int(op, &a, Rhs::Row(&b), compute, false, &mut out).unwrap_or(false);
            num::pack_int(&out, to, result);
        });
        if divided_by_zero {
            warn_division(x);
        }
    }
}

/// The datatype at whose width an integer operator computes: 32 or 64 bits, signed as the operands.
pub(crate) fn compute_dtype(operand: Dtype) -> Dtype {
    match (operand.is_64bit(), operand.is_signed()) {
        (true, _) => operand,
        (false, true) => Dtype::INT32,
        (false, false) => Dtype::UINT32,
    }
}

/// Integer division by zero on tensors gives 0 and one sticky warning (decision 03-E18).
pub(crate) fn warn_division(x: &mut Exec<'_>) {
    let (core, engine) = (x.core, x.engine);
    x.machine.warn(format!("core {core} {engine}: integer division by zero on a tensor gave 0"));
}

/// An operator that the number library does not define.
pub(super) fn unsupported(e: num::UnsupportedOp) -> FaultKind {
    FaultKind::unsupported("op", e.to_string())
}
