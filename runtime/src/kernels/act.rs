//! The words of the ACT in one pass over the elements of a chunk: load, operators or scale and bias, function,
//! accumulate, convert, store (chapter 05 section 3).

use super::act_lanes::{Tensors, run};
use super::rows::Stream;
use crate::interp::{Exec, Walk, activate2, activation};
use crate::isa::field::{AccumCmd, ReduceCmd};
use crate::isa::{AluOp, Dtype, PARTITIONS};
use crate::num::{self, Rhs, dispatch::multiversion};

/// Runs ACTIVATE; `false`, with nothing done, if the tables that are resident do not allow the function.
pub fn activate(o: &activation::Operands, x: &mut Exec<'_>) -> bool {
    let spec = x.core().spec.clone();
    let Ok(evaluator) = o.evaluator(x, &spec) else { return false };
    let core = x.core();
    let scalars = o.scalars(core);
    let accumulator = &mut core.act_accumulator()[o.dst.partition..];
    for (acc, [.., imm]) in accumulator.iter_mut().zip(&scalars) {
        match o.command {
            AccumCmd::ZERO | AccumCmd::ZERO_ACCUMULATE => *acc = 0.0,
            AccumCmd::LOAD_ACCUMULATE => *acc = *imm,
            _ => {}
        }
    }
    let accumulates =
        matches!(o.command, AccumCmd::ACCUMULATE | AccumCmd::ZERO_ACCUMULATE | AccumCmd::LOAD_ACCUMULATE);
    let &activation::Operands { ref src, in_dtype, ref dst, out_dtype, lanes, .. } = o;
    let tensors = Tensors { src, in_dtype, dst, out_dtype, lanes };
    run(tensors, core, accumulates.then_some(AluOp::ADD), |lane, inputs, results| {
        let [scale, bias, param] = scalars[lane];
        scale_and_bias(inputs, scale, bias);
        evaluator.eval_row(inputs, results, param);
    });
    true
}

/// Runs ACTIVATE_QUANTIZE; `false` as for [`activate`].
pub fn quantize(o: &activation::Quantize, x: &mut Exec<'_>) -> bool {
    let spec = x.core().spec.clone();
    let Ok(evaluator) = o.evaluator(x, &spec) else { return false };
    let core = x.core();
    let biases = o.biases(core);
    let &activation::Quantize { ref src, in_dtype, ref dst, out_dtype, lanes, .. } = o;
    let tensors = Tensors { src, in_dtype, dst, out_dtype, lanes };
    run(tensors, core, None, |lane, inputs, results| {
        scale_and_bias(inputs, o.dequant_scale, biases[lane]);
        evaluator.eval_row(inputs, results, 0.0);
        scale_and_bias(results, o.quant_scale, o.quant_zero);
    });
    true
}

/// Runs ACTIVATE2; `false` as for [`activate`].
pub fn activate2(o: &activate2::Operands, x: &mut Exec<'_>) -> bool {
    let spec = x.core().spec.clone();
    let Ok(evaluator) = o.evaluator(x, &spec) else { return false };
    let core = x.core();
    let scalars = o.scalars(core);
    if matches!(o.command, ReduceCmd::RESET | ReduceCmd::RESET_REDUCE) {
        core.act_accumulator()[o.dst.partition..][..o.lanes].fill(o.identity);
    }
    let reduces = matches!(o.command, ReduceCmd::REDUCE | ReduceCmd::RESET_REDUCE);
    let &activate2::Operands { ref src, in_dtype, ref dst, out_dtype, lanes, .. } = o;
    let tensors = Tensors { src, in_dtype, dst, out_dtype, lanes };
    let [(op0, reverse0), (op1, reverse1)] = o.operators;
    run(tensors, core, reduces.then_some(o.reduce_op), |lane, inputs, results| {
        let [imm0, imm1, param] = scalars[lane];
        // BYPASS passes the data; the legal pairs have no second operator without a first one.
        if op0 != AluOp::BYPASS || op1 != AluOp::BYPASS {
            let done = num::map2(op0, inputs, Rhs::Scalar(imm0), reverse0, results);
            let done = done.and(num::map2(op1, results, Rhs::Scalar(imm1), reverse1, inputs));
            debug_assert!(done.is_ok(), "operators were tried when the operands were resolved");
        }
        evaluator.eval_row(inputs, results, param);
    });
    true
}

multiversion! {
    /// Two roundings, never one (decision 05-20).
    fn scale_and_bias(values: &mut [f32], scale: f32, bias: f32) {
        values.iter_mut().for_each(|v| *v = *v * scale + bias);
    }
}

/// ACTIVATION_READ_ACCUMULATOR (section 3.4): the accumulators of the destination's partitions.
pub fn read_accumulator(dst: &Walk, dtype: Dtype, lanes: usize, x: &mut Exec<'_>) {
    let core = x.core();
    let fp8 = core.spec.fp8;
    let accumulator: [f32; PARTITIONS] = *core.act_accumulator();
    let mut stream = Stream::new(dst);
    for lane in 0..lanes {
        stream.restart();
        for _ in 0..dst.count {
            let value = accumulator[dst.partition + lane];
            stream.write(core, lane, 1, |out| num::pack(&[value], dtype, fp8, out));
        }
    }
}
