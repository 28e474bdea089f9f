//! The ACT: activation functions and their tables (chapter 05 section 3).

use super::lanes::for_each_stretch;
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::act::{ActError, Evaluator, Fallback, FunctionMap, PARAMETRIC_RELU, resolve};
use crate::isa::field::{AccumCmd, Imm, ImmSrc, ImmSrcN};
use crate::isa::layouts::{CTRL_NO_23, D1_RD, S3D3_AC, S3D3_AQ};
use crate::isa::{Decoded, Dtype, PARTITIONS};
use crate::machine::{Core, CoreSpec};
use crate::num;

/// ACTIVATION_TABLE_LOAD (section 3.6): makes a set of the container resident.
pub fn table_load(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let resident = resolve_table_load(x, w)?;
    x.core().act.resident = resident;
    Ok(Flow::Next)
}

/// The set that [`table_load`] makes resident, after all checks.
pub fn resolve_table_load(x: &Exec<'_>, w: &Decoded) -> Result<Option<usize>, FaultKind> {
    let index = usize::from(x.operands::<CTRL_NO_23>(w)?.act_tbl_sel);
    let sets = x.machine.cores[x.core].spec.table_sets.len();
    // A program without tables loads set 0 all the same; its functions are evaluated by definition.
    if index >= sets.max(1) {
        return Err(FaultKind::unsupported("act_tbl_sel", format!("set {index} of {sets}")));
    }
    Ok((index < sets).then_some(index))
}

/// The operands of ACTIVATE.
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
    /// Function id.
    pub function: u8,
    /// Factor, FP32.
    pub scale: LaneScalar,
    /// Summand.
    pub bias: LaneScalar,
    /// Its datatype.
    pub bias_dtype: Dtype,
    /// Slope of `parametric_relu` or first value of the accumulators, FP32; 0 where nothing reads it.
    pub imm: LaneScalar,
    /// What happens to the accumulators.
    pub command: AccumCmd,
}

/// The operands of [`activate`] after all checks but whether the function is there, which the resident tables
/// decide.
pub fn resolve_activate(x: &Exec<'_>, w: &Decoded) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S3D3_AC>(w)?;
    let lanes = o.num_active_channels;
    let (in_dtype, bias_dtype) = (o.in_bias_dtype.low(), o.in_bias_dtype.high());
    let src = x.tensor("src", &o.src, in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let scale = x.scalar("scale_value", o.scale_src, o.scale_value, Dtype::FP32, lanes)?;
    // The source of the bias is numbered differently (chapter 03 section 5).
    let (bias_source, bias_dtype) = match o.bias_src_n {
        ImmSrcN::PTR => (ImmSrc::PTR, bias_dtype),
        ImmSrcN::INSTRUCTION => (ImmSrc::INSTRUCTION, Dtype::FP32),
        ImmSrcN::REG_PTR => (ImmSrc::REG_PTR, bias_dtype),
        other => return Err(FaultKind::illegal("bias_src_n", other.0, "0, 1 or 2")),
    };
    let bias = x.scalar("bias", bias_source, o.bias, bias_dtype, lanes)?;
    // `imm` may be a dummy pointer: it is looked at only where it means something.
    let seeds = o.accumulator_cmd == AccumCmd::LOAD_ACCUMULATE;
    let imm = if o.activation_func == PARAMETRIC_RELU || seeds {
        x.scalar("imm", o.imm_src, o.imm, Dtype::FP32, lanes)?
    } else {
        LaneScalar::Value(0)
    };
    if o.accumulator_cmd.0 > AccumCmd::LOAD_ACCUMULATE.0 {
        return Err(FaultKind::illegal("accumulator_cmd", o.accumulator_cmd.0, "0 to 4"));
    }
    Ok(Operands {
        src,
        in_dtype,
        dst,
        out_dtype: o.out_dtype,
        lanes: lanes.into(),
        function: o.activation_func,
        scale,
        bias,
        bias_dtype,
        imm,
        command: o.accumulator_cmd,
    })
}

impl Operands {
    /// Scale, bias and `imm` of every lane, all fetched before the word writes anything.
    pub fn scalars(&self, core: &Core) -> Vec<[f32; 3]> {
        let float = |s: &LaneScalar, lane| f32::from_bits(s.bits(core, lane));
        let bias = |lane| num::to_f32(self.bias.bits(core, lane), self.bias_dtype, core.spec.fp8);
        let lanes = 0..self.lanes.min(PARTITIONS);
        lanes.map(|lane| [float(&self.scale, lane), bias(lane), float(&self.imm, lane)]).collect()
    }

    /// How the function is evaluated with the tables that are resident; warns of a definition that stands in
    /// for a table.
    pub fn evaluator<'t>(&self, x: &mut Exec<'_>, spec: &'t CoreSpec) -> Result<Evaluator<'t>, ActError> {
        evaluator(x, spec, self.function)
    }
}

pub(super) fn evaluator<'t>(x: &mut Exec<'_>, spec: &'t CoreSpec, id: u8) -> Result<Evaluator<'t>, ActError> {
    let resident = x.core().act.resident.map(|set| spec.table_sets[set].as_ref());
    let mode = x.machine.options.activation;
    let function = resolve(id, resident, mode, &FunctionMap::default())?;
    if let Some(fallback) = function.fallback {
        warn_fallback(x, id, fallback);
    }
    Ok(function.evaluator)
}

pub(super) fn no_function(error: ActError) -> FaultKind {
    FaultKind::unsupported("activation_func", error.to_string())
}

/// ACTIVATE (section 3.2): y = f(rn(rn(x * scale) + bias)), accumulated in fp32 before it is stored.
pub fn activate(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = resolve_activate(x, w)?;
    let spec = x.core().spec.clone();
    let evaluator = o.evaluator(x, &spec).map_err(no_function)?;
    let fp8 = spec.fp8;
    let scalars = o.scalars(x.core());
    let mut accumulator = Accumulator::new(x, o.command, o.dst.partition);
    let (mut values, mut results) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &[o.src], &o.dst, o.lanes, |lane, sources, out| {
        let n = out.len() / o.dst.size;
        values.resize(n, 0.0);
        results.resize(n, 0.0);
        num::unpack(&sources[0], o.in_dtype, fp8, &mut values);
        let [scale, bias, param] = scalars[lane];
        // Two roundings, never one (decision 05-20).
        values.iter_mut().for_each(|v| *v = *v * scale + bias);
        evaluator.eval_row(&values, &mut results, param);
        accumulator.add(lane, &results, param);
        num::pack(&results, o.out_dtype, fp8, out);
    });
    accumulator.store(x);
    Ok(Flow::Next)
}

/// The operands of ACTIVATE_QUANTIZE.
#[derive(Clone, Copy, Debug)]
pub struct Quantize {
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
    /// Function id.
    pub function: u8,
    /// Factor before the function.
    pub dequant_scale: f32,
    /// Summand before the function.
    pub bias: LaneScalar,
    /// Its datatype.
    pub bias_dtype: Dtype,
    /// Factor behind the function.
    pub quant_scale: f32,
    /// Summand behind the function.
    pub quant_zero: f32,
}

/// The operands of [`quantize`] after all checks but whether the function is there.
pub fn resolve_quantize(x: &Exec<'_>, w: &Decoded) -> Result<Quantize, FaultKind> {
    let o = *x.operands::<S3D3_AQ>(w)?;
    let lanes = o.num_active_channels;
    let (in_dtype, bias_dtype) = (o.in_bias_dtype.low(), o.in_bias_dtype.high());
    let src = x.tensor("src", &o.src, in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let bias = x.scalar("bias_addr", ImmSrc::PTR, Imm(o.bias_addr.0), bias_dtype, lanes)?;
    if o.activation_func == PARAMETRIC_RELU {
        return Err(FaultKind::illegal("activation_func", o.activation_func, "a function without parameter"));
    }
    Ok(Quantize {
        src,
        in_dtype,
        dst,
        out_dtype: o.out_dtype,
        lanes: lanes.into(),
        function: o.activation_func,
        dequant_scale: o.dequant_scale.value(),
        bias,
        bias_dtype,
        quant_scale: o.quant_scale.value(),
        quant_zero: o.quant_zero.value(),
    })
}

impl Quantize {
    /// The bias of every lane, all fetched before the word writes anything.
    pub fn biases(&self, core: &Core) -> Vec<f32> {
        let value = |lane| num::to_f32(self.bias.bits(core, lane), self.bias_dtype, core.spec.fp8);
        (0..self.lanes).map(value).collect()
    }

    /// See [`Operands::evaluator`].
    pub fn evaluator<'t>(&self, x: &mut Exec<'_>, spec: &'t CoreSpec) -> Result<Evaluator<'t>, ActError> {
        evaluator(x, spec, self.function)
    }
}

/// ACTIVATE_QUANTIZE (section 3.3): y = f(rn(rn(x * dequant_scale) + bias)), stored as rn(rn(y * quant_scale) +
/// quant_zero). The accumulator stays.
pub fn quantize(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = resolve_quantize(x, w)?;
    let spec = x.core().spec.clone();
    let function = o.evaluator(x, &spec).map_err(no_function)?;
    let biases = o.biases(x.core());
    let (mut values, mut results) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &[o.src], &o.dst, o.lanes, |lane, sources, out| {
        let n = out.len() / o.dst.size;
        values.resize(n, 0.0);
        results.resize(n, 0.0);
        num::unpack(&sources[0], o.in_dtype, spec.fp8, &mut values);
        values.iter_mut().for_each(|v| *v = *v * o.dequant_scale + biases[lane]);
        function.eval_row(&values, &mut results, 0.0);
        results.iter_mut().for_each(|v| *v = *v * o.quant_scale + o.quant_zero);
        num::pack(&results, o.out_dtype, spec.fp8, out);
    });
    Ok(Flow::Next)
}

/// The destination of [`read_accumulator`] and its datatype, after all checks.
pub fn resolve_read(x: &Exec<'_>, w: &Decoded) -> Result<(Walk, Dtype, usize), FaultKind> {
    let o = *x.operands::<D1_RD>(w)?;
    if o.negated != 0 {
        return Err(FaultKind::illegal("negated", o.negated, "0"));
    }
    let dst = x.tensor("dst", &o.dst, o.dtype, o.num_active_channels, Access::Write)?;
    Ok((dst, o.dtype, o.num_active_channels.into()))
}

/// ACTIVATION_READ_ACCUMULATOR (section 3.4): stores the accumulators of the destination's partitions and
/// keeps them (decision 05-23).
pub fn read_accumulator(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let (dst, dtype, lanes) = resolve_read(x, w)?;
    let (accumulator, fp8) = (*x.core().act_accumulator(), x.core().spec.fp8);
    for_each_stretch(x.core(), &[], &dst, lanes, |lane, _, out| {
        for element in out.chunks_exact_mut(dst.size) {
            num::pack(&[accumulator[dst.partition + lane]], dtype, fp8, element);
        }
    });
    Ok(Flow::Next)
}

fn warn_fallback(x: &mut Exec<'_>, id: u8, fallback: Fallback) {
    let core = x.core;
    let why = match fallback {
        Fallback::Missing => "is not in the resident table set".to_owned(),
        Fallback::Refused(reason) => format!("has a table that cannot be evaluated ({reason})"),
    };
    x.machine.warn(format!("core {core} ACT: activation function {id} {why}; its definition is used"));
}

/// The per-partition accumulator while a word runs (section 3.2, decisions 05-21 and 05-22).
struct Accumulator {
    command: AccumCmd,
    /// Partition of lane 0: the state belongs to the destination's partitions (00 A14).
    first: usize,
    values: [f32; PARTITIONS],
    started: [bool; PARTITIONS],
}

impl Accumulator {
    fn new(x: &mut Exec<'_>, command: AccumCmd, first: usize) -> Self {
        Accumulator { command, first, values: *x.core().act_accumulator(), started: [false; PARTITIONS] }
    }

    /// Serial fp32 additions in walk order, from the seed that the command asks for.
    fn add(&mut self, lane: usize, results: &[f32], imm: f32) {
        let at = self.first + lane;
        let acc = &mut self.values[at];
        if !std::mem::replace(&mut self.started[at], true) {
            match self.command {
                AccumCmd::ZERO | AccumCmd::ZERO_ACCUMULATE => *acc = 0.0,
                AccumCmd::LOAD_ACCUMULATE => *acc = imm,
                _ => {}
            }
        }
        if matches!(
            self.command,
            AccumCmd::ACCUMULATE | AccumCmd::ZERO_ACCUMULATE | AccumCmd::LOAD_ACCUMULATE
        ) {
            *acc = num::canonical(results.iter().fold(*acc, |sum, y| sum + y));
        }
    }

    fn store(self, x: &mut Exec<'_>) {
        *x.core().act_accumulator() = self.values;
    }
}
