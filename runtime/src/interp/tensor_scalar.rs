//! A tensor and up to two scalars (chapter 04 sections 4.2 to 4.4).

use super::lanes::{TILE, expect_tiles, for_each_stretch, for_each_tile};
use super::tensor_tensor::{compute_dtype, unsupported};
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::field::ImmSrc;
use crate::isa::layouts::S3D3_TS;
use crate::isa::{AluClass, AluOp, Decoded, Dtype};
use crate::num::{self, Fp8, Rhs};

/// TENSOR_SCALAR_ARITH_OP (section 4.2): dst = cast(op1(op0(x, s0), s1)), each operator rounding to fp32,
/// operands exchanged as `reverse_operands` says. MAVERICK has integer operators too.
pub fn arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    elementwise(x, &with_scalars(x, &o, [o.imm0_src, o.imm1_src], Dtype::FP32)?, Chain::arith)
}

/// TENSOR_SCALAR_PTR_ARITH_OP (section 4.3): both immediates are pointers, whatever their sources say.
pub fn ptr_arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    elementwise(x, &resolve_pointers(x, w, Dtype::FP32)?, Chain::arith)
}

/// TENSOR_SCALAR_BITVEC_OP (section 4.2). Elements are zero-extended to a lane of 32 bits, in which both
/// operators work; only the store truncates (chapter 00 A14).
pub fn bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    elementwise(x, &resolve_bitvec(x, w)?, Chain::bitvec)
}

/// TENSOR_SCALAR_PTR_BITVEC_OP (section 4.3).
pub fn ptr_bitvec(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let dtype = x.operands::<S3D3_TS>(w)?.in_dtype;
    elementwise(x, &resolve_pointers(x, w, dtype)?, Chain::bitvec)
}

/// TRANSPOSE_TENSOR_SCALAR_ARITH_OP (section 4.4): the source passes the transposing reader, then the operators,
/// whose scalars are those of the lane that is written (decision 04-S2).
pub fn transpose_arith(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let operands = resolve_transposed(x, w)?;
    let mut chain = Chain::arith(&operands)?;
    let Operands { src, dst, lanes, scalars, .. } = operands;
    let scalars = fetch(x, &scalars, lanes);
    let fp8 = x.core().spec.fp8;
    let mut to = vec![dst.start(); lanes];
    let mut out = vec![0; TILE * dst.size];
    for_each_tile(x.core(), &src, lanes, |core, lane, row| {
        chain.run(row, &mut out, scalars[lane], fp8);
        dst.scatter(&mut to[lane], core.memory_mut(dst.space), lane, &out);
    });
    Ok(Flow::Next)
}

/// The operands of [`transpose_arith`] after all checks.
pub fn resolve_transposed(x: &Exec<'_>, w: &Decoded) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    let operands = with_scalars(x, &o, [o.imm0_src, o.imm1_src], Dtype::FP32)?;
    Chain::arith(&operands)?;
    expect_tiles(&operands.src, operands.lanes)?;
    Ok(operands)
}

fn elementwise(
    x: &mut Exec<'_>,
    o: &Operands,
    chain: fn(&Operands) -> Result<Chain, FaultKind>,
) -> Result<Flow, FaultKind> {
    let mut chain = chain(o)?;
    // All scalars are fetched before the stream starts (section 2.5).
    let scalars = fetch(x, &o.scalars, o.lanes);
    let fp8 = x.core().spec.fp8;
    for_each_stretch(x.core(), &[o.src], &o.dst, o.lanes, |lane, sources, out| {
        chain.run(&sources[0], out, scalars[lane], fp8);
    });
    Ok(Flow::Next)
}

/// The bits of both scalars of every lane.
pub(crate) fn fetch(x: &mut Exec<'_>, scalars: &[Option<LaneScalar>; 2], lanes: usize) -> Vec<[u32; 2]> {
    let core = x.core();
    let bits = |scalar: &Option<LaneScalar>, lane| scalar.as_ref().map_or(0, |s| s.bits(core, lane));
    (0..lanes).map(|lane| [bits(&scalars[0], lane), bits(&scalars[1], lane)]).collect()
}

/// The operands of a tensor-scalar word.
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
    /// The operators, and whether each exchanges its operands.
    pub operators: [(AluOp, bool); 2],
    /// The scalars of the two operators; a second operator BYPASS reads none.
    pub scalars: [Option<LaneScalar>; 2],
}

/// The operands of [`arith`] in class FP, after all checks.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    let operands = with_scalars(x, &o, [o.imm0_src, o.imm1_src], Dtype::FP32)?;
    for op in [o.op0, o.op1] {
        num::eval_f32(op, 0.0, 0.0).map_err(unsupported)?;
    }
    Ok(operands)
}

/// The operands of [`bitvec`]: scalars are of the type of the elements.
pub fn resolve_bitvec(x: &Exec<'_>, w: &Decoded) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    with_scalars(x, &o, [o.imm0_src, o.imm1_src], o.in_dtype)
}

/// The operands of [`ptr_arith`] and [`ptr_bitvec`]: the second pointer must be good even if nothing reads it.
pub fn resolve_pointers(x: &Exec<'_>, w: &Decoded, dtype: Dtype) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S3D3_TS>(w)?;
    let operands = with_scalars(x, &o, [ImmSrc::PTR; 2], dtype)?;
    x.scalar("imm1", ImmSrc::PTR, o.imm1, dtype, o.num_active_channels)?;
    Ok(operands)
}

fn with_scalars(
    x: &Exec<'_>,
    o: &S3D3_TS,
    sources: [ImmSrc; 2],
    dtype: Dtype,
) -> Result<Operands, FaultKind> {
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    let imm0 = x.scalar("imm0", sources[0], o.imm0, dtype, lanes)?;
    let second = o.op1 != AluOp::BYPASS;
    let imm1 = if second { Some(x.scalar("imm1", sources[1], o.imm1, dtype, lanes)?) } else { None };
    let (reverse0, reverse1) = (o.reverse_operands.0 & 1 == 1, o.reverse_operands.0 & 2 == 2);
    Ok(Operands {
        src,
        in_dtype: o.in_dtype,
        dst,
        out_dtype: o.out_dtype,
        lanes: lanes.into(),
        operators: [(o.op0, reverse0), (o.op1, reverse1)],
        scalars: [Some(imm0), imm1],
    })
}

/// The two operators of a word, and scratch rows for them.
pub(crate) struct Chain {
    operators: [(AluOp, bool); 2],
    from: Dtype,
    to: Dtype,
    rows: Rows,
}

/// Two scratch rows of what the operators compute with.
enum Rows {
    Float([Vec<f32>; 2]),
    Integer([Vec<i64>; 2]),
    Bits([Vec<u64>; 2]),
}

/// Width of the lane that bit-vector operators of these words work in.
const BITVEC_LANE: u32 = 32;

impl Chain {
    fn new(o: &Operands, rows: Rows) -> Self {
        Chain { operators: o.operators, from: o.in_dtype, to: o.out_dtype, rows }
    }

    /// Operators in class FP, or in class INT if one of them is of the integer band.
    pub fn arith(o: &Operands) -> Result<Self, FaultKind> {
        let ops = o.operators.map(|(op, _)| op);
        let integer = ops.iter().any(|op| op.info().is_some_and(|i| i.class == AluClass::Int));
        for op in ops {
            let tried = if integer {
                num::eval_int(op, 0, 1, Dtype::INT32).map(|_| ())
            } else {
                num::eval_f32(op, 0.0, 0.0).map(|_| ())
            };
            tried.map_err(unsupported)?;
        }
        let rows = if integer { Rows::Integer(Default::default()) } else { Rows::Float(Default::default()) };
        Ok(Self::new(o, rows))
    }

    fn bitvec(o: &Operands) -> Result<Self, FaultKind> {
        for (op, _) in o.operators {
            num::eval_bitvec(op, 0, 0, BITVEC_LANE).map_err(unsupported)?;
        }
        Ok(Self::new(o, Rows::Bits(Default::default())))
    }

    /// Computes packed results from packed elements; `scalars` are bits.
    pub fn run(&mut self, source: &[u8], result: &mut [u8], scalars: [u32; 2], fp8: Fp8) {
        let n = result.len() / self.to.bytes();
        let Chain { operators: [(op0, reverse0), (op1, reverse1)], from, to, .. } = *self;
        // A lone operator has BYPASS behind it, which keeps every bit of a row.
        let done = match &mut self.rows {
            Rows::Float([a, b]) => {
                a.resize(n, 0.0);
                b.resize(n, 0.0);
                num::unpack(source, from, fp8, a);
                let [s0, s1] = scalars.map(|s| Rhs::Scalar(f32::from_bits(s)));
                let mut done = num::map2(op0, a, s0, reverse0, b).is_ok();
                if op1 == AluOp::BYPASS {
                    num::pack(b, to, fp8, result);
                } else {
                    done &= num::map2(op1, b, s1, reverse1, a).is_ok();
                    num::pack(a, to, fp8, result);
                }
                done
            }
            Rows::Integer([a, b]) => {
                a.resize(n, 0);
                b.resize(n, 0);
                num::unpack_int(source, from, a);
                let (dtype, [s0, s1]) = (compute_dtype(from), scalars.map(|s| Rhs::Scalar(s.into())));
                let done = num::map2_int(op0, a, s0, dtype, reverse0, b).is_ok()
                    && num::map2_int(op1, b, s1, dtype, reverse1, a).is_ok();
                num::pack_int(a, to, result);
                done
            }
            Rows::Bits([a, b]) => {
                a.resize(n, 0);
                b.resize(n, 0);
                num::unpack_bits(source, from.bytes(), a);
                let [s0, s1] = scalars.map(|s| Rhs::Scalar(s.into()));
                let done = num::map2_bits(op0, a, s0, BITVEC_LANE, reverse0, b).is_ok()
                    && num::map2_bits(op1, b, s1, BITVEC_LANE, reverse1, a).is_ok();
                num::pack_bits(a, to.bytes(), result);
                done
            }
        };
        debug_assert!(done, "the operators were tried before");
    }
}
