//! Batch normalisation, backward (chapter 05 sections 5.4 to 5.6). All arithmetic is fp32, every operation rounds.

use super::batch_norm::{load, store};
use super::lanes::for_each_stretch;
use super::tensor_tensor;
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::field::{Imm, ImmSrc};
use crate::isa::layouts::{S2_BN, S2_BNPL2, S3S3D1_BN, S3S3D1_BN2};
use crate::isa::{Decoded, Dtype, Tensor};
use crate::machine::Core;
use crate::machine::hidden::BatchNormParams;
use crate::num;

/// BATCH_NORM_GRAD_ACCUMULATE (section 5.4): three sums over a batch; the immediates are pointers.
pub fn accumulate(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_accumulate(x, w)?.run(x);
    Ok(Flow::Next)
}

/// BATCH_NORM_GRAD_ACCUMULATE2 (section 5.4): the same; the immediates are pointers or registers with pointers.
pub fn accumulate2(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_accumulate2(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The operands of [`accumulate`] after all checks.
pub fn resolve_accumulate(x: &Exec<'_>, w: &Decoded) -> Result<Gradients, FaultKind> {
    let o = *x.operands::<S3S3D1_BN>(w)?;
    let immediate_dtype = if o.immediate_dtype == Dtype::INVALID { Dtype::FP32 } else { o.immediate_dtype };
    let word = Fields {
        tensors: [o.src0, o.src1],
        dtypes: [o.in0_in1_dtype.low(), o.in0_in1_dtype.high(), o.out_dtype],
        immediates: [Imm(o.imm0.0), Imm(o.imm1.0)],
        immediate_sources: [ImmSrc::PTR; 2],
        immediate_dtype,
        dst: o.dst,
        lanes: o.num_active_channels,
    };
    word.resolve(x)
}

/// The operands of [`accumulate2`] after all checks.
pub fn resolve_accumulate2(x: &Exec<'_>, w: &Decoded) -> Result<Gradients, FaultKind> {
    let o = *x.operands::<S3S3D1_BN2>(w)?;
    let immediate_sources = o.imm_src.sources();
    if immediate_sources.contains(&ImmSrc::INSTRUCTION) {
        return Err(FaultKind::illegal("imm_src", format!("{:#x}", o.imm_src.0), "1 or 2 for each"));
    }
    let word = Fields {
        tensors: [o.src0, o.src1],
        dtypes: [o.in0_in1_dtype.low(), o.in0_in1_dtype.high(), o.imm_out_dtype.high()],
        immediates: [o.imm0, o.imm1],
        immediate_sources,
        immediate_dtype: o.imm_out_dtype.low(),
        dst: o.dst,
        lanes: o.num_active_channels,
    };
    word.resolve(x)
}

/// What both words of section 5.4 say.
struct Fields {
    /// The forward input and the gradient.
    tensors: [Tensor<3>; 2],
    /// Of both, and of the result.
    dtypes: [Dtype; 3],
    /// Mean and inverse deviation.
    immediates: [Imm; 2],
    immediate_sources: [ImmSrc; 2],
    immediate_dtype: Dtype,
    dst: Tensor<1>,
    lanes: u8,
}

/// A word of section 5.4 whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct Gradients {
    /// The forward input and its gradient.
    pub sources: [Walk; 2],
    /// Three sums.
    pub dst: Walk,
    /// Of both sources, and of the result.
    pub dtypes: [Dtype; 3],
    /// Lanes.
    pub lanes: usize,
    /// Mean and inverse deviation.
    immediates: [LaneScalar; 2],
    immediate_dtype: Dtype,
}

impl Fields {
    fn resolve(&self, x: &Exec<'_>) -> Result<Gradients, FaultKind> {
        let Fields { dtypes, immediates, immediate_sources: source, immediate_dtype, lanes, .. } = *self;
        let data = x.tensor("src0", &self.tensors[0], dtypes[0], lanes, Access::Read)?;
        let gradient = x.tensor("src1", &self.tensors[1], dtypes[1], lanes, Access::Read)?;
        let dst = x.tensor("dst", &self.dst, dtypes[2], lanes, Access::Write)?;
        if dst.count != 3 {
            return Err(FaultKind::illegal("dst", format!("{} elements", dst.count), "3"));
        }
        if data.count != gradient.count {
            return Err(FaultKind::illegal("src1", gradient.count, data.count.to_string()));
        }
        let mean = x.scalar("imm0", source[0], immediates[0], immediate_dtype, lanes)?;
        let inverse = x.scalar("imm1", source[1], immediates[1], immediate_dtype, lanes)?;
        Ok(Gradients {
            sources: [data, gradient],
            dst,
            dtypes,
            lanes: lanes.into(),
            immediates: [mean, inverse],
            immediate_dtype,
        })
    }
}

impl Gradients {
    /// Mean and inverse deviation of every lane.
    pub fn scalars(&self, core: &Core) -> Vec<[f32; 2]> {
        fetch(core, &self.immediates, self.immediate_dtype, self.lanes)
    }

    fn run(&self, x: &mut Exec<'_>) {
        let core = x.core();
        let fp8 = core.spec.fp8;
        let Gradients { sources: [data, gradient], dst, dtypes, .. } = self;
        let (mut xs, mut dys) = (vec![0.0; data.count], vec![0.0; gradient.count]);
        for (lane, [mean, inverse]) in self.scalars(core).into_iter().enumerate() {
            load(core, data, lane, dtypes[0], fp8, &mut xs);
            load(core, gradient, lane, dtypes[1], fp8, &mut dys);
            store(core, dst, lane, &sums(&xs, &dys, mean, inverse), dtypes[2], fp8);
        }
    }
}

/// Σdy, Σ(x−mean)·dy·v², Σ(x−mean)·dy·v, serially.
fn sums(xs: &[f32], dys: &[f32], mean: f32, v: f32) -> [f32; 3] {
    xs.iter().zip(dys).fold([0.0; 3], |[s0, s1, s2], (x, dy)| {
        let t = (x - mean) * dy * v;
        [s0 + dy, s1 + t * v, s2 + t]
    })
}

/// The values of some pointer operands in every lane.
fn fetch<const N: usize>(
    core: &Core,
    scalars: &[LaneScalar; N],
    dtype: Dtype,
    lanes: usize,
) -> Vec<[f32; N]> {
    let fp8 = core.spec.fp8;
    (0..lanes).map(|lane| scalars.map(|s| num::to_f32(s.bits(core, lane), dtype, fp8))).collect()
}

/// BATCH_NORM_PARAM_LOAD (section 5.5): A, B and C from a tensor, N from the word, the mean through a pointer.
pub fn param_load(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_param_load(x, w)?.run(x);
    Ok(Flow::Next)
}

/// BATCH_NORM_PARAM_LOAD2 (section 5.5): B and C from a tensor, N from the word, mean and A through pointers
/// (decision 05-33).
pub fn param_load2(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    resolve_param_load2(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The operands of [`param_load`] after all checks.
pub fn resolve_param_load(x: &Exec<'_>, w: &Decoded) -> Result<ParamLoad, FaultKind> {
    let o = *x.operands::<S2_BN>(w)?;
    let lanes = o.num_active_channels;
    let src = elements(x, &o.src, o.dtype, lanes, 3)?;
    let mean = x.scalar("imm0_ptr", pointer_source(o.imm0_src), o.imm0_ptr, o.dtype, lanes)?;
    let n = num::canonical(f32::from_bits(o.imm1.0));
    Ok(ParamLoad { src, dtype: o.dtype, n, mean, a: None, scalar_dtype: o.dtype, lanes: lanes.into() })
}

/// The operands of [`param_load2`] after all checks.
pub fn resolve_param_load2(x: &Exec<'_>, w: &Decoded) -> Result<ParamLoad, FaultKind> {
    let o = *x.operands::<S2_BNPL2>(w)?;
    let lanes = o.num_active_channels;
    let src = elements(x, &o.src, o.src_dtype, lanes, 2)?;
    let mean = x.scalar("imm0_ptr", pointer_source(o.imm0_src), o.imm0_ptr, o.imm_dtype, lanes)?;
    let a = Some(x.scalar("imm1_ptr", pointer_source(o.imm1_src), o.imm1_ptr, o.imm_dtype, lanes)?);
    let n = num::canonical(f32::from_bits(o.element_count));
    Ok(ParamLoad { src, dtype: o.src_dtype, n, mean, a, scalar_dtype: o.imm_dtype, lanes: lanes.into() })
}

/// Source 0 of these words is a pointer too.
fn pointer_source(source: ImmSrc) -> ImmSrc {
    if source == ImmSrc::INSTRUCTION { ImmSrc::PTR } else { source }
}

/// A source of so many elements.
fn elements(x: &Exec<'_>, src: &Tensor<2>, dtype: Dtype, lanes: u8, count: usize) -> Result<Walk, FaultKind> {
    let walk = x.tensor("src", src, dtype, lanes, Access::Read)?;
    if walk.count != count {
        return Err(FaultKind::illegal("src", format!("{} elements", walk.count), count.to_string()));
    }
    Ok(walk)
}

/// A word of section 5.5 whose checks have passed.
#[derive(Clone, Copy, Debug)]
pub struct ParamLoad {
    /// A unless a pointer gives it, B and C.
    src: Walk,
    dtype: Dtype,
    n: f32,
    mean: LaneScalar,
    a: Option<LaneScalar>,
    scalar_dtype: Dtype,
    lanes: usize,
}

impl ParamLoad {
    /// Loads the parameters of the source's partitions (chapter 00 A14).
    pub fn run(&self, x: &mut Exec<'_>) {
        let core = x.core();
        let fp8 = core.spec.fp8;
        for lane in 0..self.lanes {
            let scalar = |s: &LaneScalar| num::to_f32(s.bits(core, lane), self.scalar_dtype, fp8);
            let (mean, a) = (scalar(&self.mean), self.a.as_ref().map(scalar));
            let (mut packed, mut row) = ([0; 3 * 8], [0.0; 3]);
            let (packed, row) = (&mut packed[..self.src.count * self.src.size], &mut row[..self.src.count]);
            self.src.gather(&mut self.src.start(), core.memory(self.src.space), lane, packed);
            num::unpack(packed, self.dtype, fp8, row);
            let [b, c] = [row[row.len() - 2], row[row.len() - 1]];
            let params = BatchNormParams { n: self.n, mean, a: a.unwrap_or(row[0]), b, c };
            core.dve.batch_norm.params[self.src.partition + lane] = params;
        }
    }
}

/// BATCH_NORM_BACK_PROP (section 5.6): the gradient of the input from input, gradient and the parameters of the
/// destination's partitions.
pub fn back_prop(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let operation = tensor_tensor::resolve(x, w)?;
    let ([from0, from1, to], dst) = (operation.dtypes, operation.dst);
    let (fp8, params) = (x.core().spec.fp8, x.core().dve.batch_norm.params);
    let (mut xs, mut dys) = (Vec::new(), Vec::new());
    for_each_stretch(x.core(), &operation.sources, &dst, operation.lanes, |lane, sources, out| {
        let elements = out.len() / dst.size;
        xs.resize(elements, 0.0);
        dys.resize(elements, 0.0);
        num::unpack(&sources[0], from0, fp8, &mut xs);
        num::unpack(&sources[1], from1, fp8, &mut dys);
        let BatchNormParams { n, mean, a, b, c } = params[dst.partition + lane];
        for (x, dy) in xs.iter_mut().zip(&dys) {
            *x = (dy * n - ((*x - mean) * c + b)) * a;
        }
        num::pack(&xs, to, fp8, out);
    });
    Ok(Flow::Next)
}
