//! ACTIVATE2 (chapter 05 section 3.5).

use super::activation::{evaluator, no_function};
use super::lanes::for_each_stretch;
use super::tensor_tensor::unsupported;
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::act::{ActError, Evaluator, PARAMETRIC_RELU};
use crate::isa::field::{Imm, ImmSrc, ReduceCmd};
use crate::isa::layouts::S2D2_AC;
use crate::isa::{AluOp, Decoded, Dtype};
use crate::machine::{Core, CoreSpec};
use crate::num::{self, Rhs};

/// ACTIVATE2: y = f(op1(op0(x, imm0), imm1)), stored, and reduced into the accumulator before the cast
/// (decision 05-24).
pub fn activate2(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = resolve(x, w)?;
    let spec = x.core().spec.clone();
    let function = o.evaluator(x, &spec).map_err(no_function)?;
    let scalars = o.scalars(x.core());
    let mut accumulators = *x.core().act_accumulator();
    let kept = &mut accumulators[o.dst.partition..][..o.lanes];
    if matches!(o.command, ReduceCmd::RESET | ReduceCmd::RESET_REDUCE) {
        kept.fill(o.identity);
    }
    let reduces = matches!(o.command, ReduceCmd::REDUCE | ReduceCmd::RESET_REDUCE);
    let [(op0, reverse0), (op1, reverse1)] = o.operators;
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &[o.src], &o.dst, o.lanes, |lane, sources, out| {
        let n = out.len() / o.dst.size;
        a.resize(n, 0.0);
        b.resize(n, 0.0);
        num::unpack(&sources[0], o.in_dtype, spec.fp8, &mut a);
        let [imm0, imm1, param] = scalars[lane];
        let done = num::map2(op0, &a, Rhs::Scalar(imm0), reverse0, &mut b);
        let done = done.and(num::map2(op1, &b, Rhs::Scalar(imm1), reverse1, &mut a));
        debug_assert!(done.is_ok(), "the operators were tried when the operands were resolved");
        function.eval_row(&a, &mut b, param);
        if reduces {
            kept[lane] = num::canonical(num::fold_row(o.reduce_op, kept[lane], &b).unwrap_or(kept[lane]));
        }
        num::pack(&b, o.out_dtype, spec.fp8, out);
    });
    *x.core().act_accumulator() = accumulators;
    Ok(Flow::Next)
}

/// A scalar and its datatype.
type Scalar = (LaneScalar, Dtype);

/// The operands of [`activate2`].
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// The tensor.
    pub src: Walk,
    /// Its datatype.
    pub in_dtype: Dtype,
    /// The result.
    pub dst: Walk,
    /// Its datatype.
    pub out_dtype: Dtype,
    /// Lanes.
    pub lanes: usize,
    /// The operators in front of the function, and whether each takes its scalar on the left.
    pub operators: [(AluOp, bool); 2],
    /// Of both operators and of the function, where they are read.
    pub scalars: [Option<Scalar>; 3],
    /// Function id.
    pub function: u8,
    /// What happens to the accumulators.
    pub command: ReduceCmd,
    /// The operator that folds into them.
    pub reduce_op: AluOp,
    /// What they hold when they have been reset.
    pub identity: f32,
}

/// The operands after all checks but whether the function is there, which the resident tables decide. An immediate
/// that nothing reads may be anything, as in ACTIVATE.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S2D2_AC>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let scalar = |read: bool, field, source: ImmSrc, value: Imm| {
        if !read {
            return Ok(None);
        }
        // An immediate in the word is FP32 (chapter 03 section 5).
        let dtype = if source == ImmSrc::INSTRUCTION { Dtype::FP32 } else { o.imm_dtype };
        x.scalar(field, source, value, dtype, lanes).map(|s| Some((s, dtype)))
    };
    let relu = o.activation_func == PARAMETRIC_RELU;
    let scalars = [
        scalar(o.op0 != AluOp::BYPASS, "imm0", o.imm0_src, o.imm0)?,
        scalar(o.op1 != AluOp::BYPASS, "imm1", o.imm1_src, o.imm1)?,
        scalar(relu, "relu_param", o.relu_param_src, o.relu_param)?,
    ];
    for op in [o.op0, o.op1] {
        num::eval_f32(op, 0.0, 0.0).map_err(unsupported)?;
    }
    Ok(Operands {
        src,
        in_dtype: o.in_dtype,
        dst,
        out_dtype: o.out_dtype,
        lanes: lanes.into(),
        operators: [(o.op0, o.reverse_operands & 1 == 1), (o.op1, o.reverse_operands & 2 == 2)],
        scalars,
        function: o.activation_func,
        command: o.reduce_cmd,
        reduce_op: o.reduce_op,
        identity: identity(&o)?,
    })
}

/// What a reset accumulator holds; an idle command has no operator.
fn identity(o: &S2D2_AC) -> Result<f32, FaultKind> {
    let identity = match (o.reduce_cmd, o.reduce_op) {
        (ReduceCmd::IDLE, _) => Some(0.0),
        (_, AluOp::ADD | AluOp::MAX | AluOp::MIN | AluOp::ABS_MAX | AluOp::ABS_MIN) => {
            num::fold_identity(o.reduce_op)
        }
        _ => None,
    };
    identity
        .ok_or_else(|| FaultKind::illegal("reduce_op", o.reduce_op.text(), "an operator with an identity"))
}

impl Operands {
    /// The scalars of every lane, all fetched before the word writes anything; 0 where nothing reads one.
    pub fn scalars(&self, core: &Core) -> Vec<[f32; 3]> {
        let value = |scalar: Option<Scalar>, lane| {
            scalar.map_or(0.0, |(s, dtype)| num::to_f32(s.bits(core, lane), dtype, core.spec.fp8))
        };
        (0..self.lanes).map(|lane| self.scalars.map(|scalar| value(scalar, lane))).collect()
    }

    /// How the function is evaluated with the tables that are resident.
    pub fn evaluator<'t>(&self, x: &mut Exec<'_>, spec: &'t CoreSpec) -> Result<Evaluator<'t>, ActError> {
        evaluator(x, spec, self.function)
    }
}
