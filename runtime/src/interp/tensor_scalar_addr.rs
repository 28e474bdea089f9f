//! Address arithmetic of POOL (chapter 05 section 6.8).

use super::lanes::for_each_stretch;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::{Addr4, ImmSrc};
use crate::isa::layouts::S2D2_ADDR;
use crate::isa::{AluOp, Decoded, Dtype, Tensor};
use crate::machine::Core;
use crate::num;

/// The legal forms of TENSOR_SCALAR_ADDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `imm1 + src * imm0`, of 64 bits.
    MultiplyAdd,
    /// `imm0 + src`, of 64 bits.
    Add,
    /// `imm0 * src`, of 32 bits.
    Multiply32,
    /// `imm0 * src + imm1`, of 32 bits.
    MultiplyAdd32,
    /// Whether `src - imm0`, wrapping at the width of `src`, is below `imm1`.
    InRange,
}

impl Form {
    /// The form that operators and datatypes select; `None`: none of the five.
    pub fn of(o: &S2D2_ADDR) -> Option<Form> {
        const I32: Dtype = Dtype::INT32;
        const U64: Dtype = Dtype::UINT64;
        let (from, to) = (o.in_out_dtype.low(), o.in_out_dtype.high());
        let (imm0, imm1) = (o.imm_dtype.low(), o.imm_dtype.high());
        match (o.op0, o.op1, from, to) {
            (AluOp::MULT, AluOp::ADD, I32, U64) if (imm0, imm1) == (I32, U64) => Some(Form::MultiplyAdd),
            (AluOp::ADD, AluOp::BYPASS, I32, U64) if imm0 == U64 => Some(Form::Add),
            (AluOp::MULT, AluOp::BYPASS, I32, I32) if imm0 == I32 => Some(Form::Multiply32),
            (AluOp::MULT, AluOp::ADD, I32, I32) if (imm0, imm1) == (I32, I32) => Some(Form::MultiplyAdd32),
            (AluOp::SUBTRACT, AluOp::IS_LT, U64 | Dtype::UINT32, _)
                if (imm0, imm1) == (from, from) && to.is_integer() && !to.is_64bit() =>
            {
                Some(Form::InRange)
            }
            _ => None,
        }
    }

    /// Whether the second immediate is read.
    pub fn is_binary(self) -> bool {
        !matches!(self, Form::Add | Form::Multiply32)
    }

    /// The result of one element; all values extended to 64 bits by their datatypes.
    #[inline(always)]
    pub(crate) fn eval(self, x: i64, [imm0, imm1]: [i64; 2], from: Dtype) -> i64 {
        match self {
            Form::MultiplyAdd => imm1.wrapping_add(x.wrapping_mul(imm0)),
            Form::Add => imm0.wrapping_add(x),
            Form::Multiply32 => i64::from((x.wrapping_mul(imm0)) as i32),
            Form::MultiplyAdd32 => i64::from(x.wrapping_mul(imm0).wrapping_add(imm1) as i32),
            Form::InRange if from.is_64bit() => i64::from((x.wrapping_sub(imm0) as u64) < imm1 as u64),
            Form::InRange => i64::from((x.wrapping_sub(imm0) as u32) < imm1 as u32),
        }
    }
}

/// An immediate: one value, or one a lane.
#[derive(Clone, Copy, Debug)]
pub enum Immediate {
    /// The bits of the word's field.
    Value(u64),
    /// One cell a lane.
    PerLane(Walk),
}

impl Immediate {
    /// The value of one lane, extended by its datatype.
    pub(crate) fn fetch(&self, core: &Core, lane: usize, dtype: Dtype) -> i64 {
        let mut bytes = [0; 8];
        match self {
            Immediate::Value(bits) => bytes = bits.to_le_bytes(),
            Immediate::PerLane(cell) => {
                cell.gather(&mut cell.start(), core.memory(cell.space), lane, &mut bytes[..cell.size]);
            }
        }
        let mut value = [0];
        num::unpack_int(&bytes[..dtype.bytes()], dtype, &mut value);
        value[0]
    }
}

/// The operands of [`addr`].
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// What is computed.
    pub form: Form,
    /// The tensor.
    pub src: Walk,
    /// The result.
    pub dst: Walk,
    /// Both immediates, if they are read.
    pub immediates: [Option<Immediate>; 2],
}

/// The operands after all checks of their addresses.
pub fn resolve(x: &Exec<'_>, w: &Decoded) -> Result<Operands, FaultKind> {
    let o = *x.operands::<S2D2_ADDR>(w)?;
    let form = Form::of(&o).ok_or_else(|| {
        let found = format!("{}, {}", o.op0.text(), o.op1.text());
        FaultKind::illegal("op0", found, "one of the five forms of chapter 05 section 6.8")
    })?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_out_dtype.low(), lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.in_out_dtype.high(), lanes, Access::Write)?;
    let imm0 = immediate(x, "imm0", o.imm0_src, o.imm0, o.imm_dtype.low(), lanes)?;
    let imm1 = match form.is_binary() {
        true => Some(immediate(x, "imm1", o.imm1_src, o.imm1, o.imm_dtype.high(), lanes)?),
        false => None,
    };
    Ok(Operands { form, src, dst, immediates: [Some(imm0), imm1] })
}

fn immediate(
    x: &Exec<'_>,
    field: &'static str,
    source: ImmSrc,
    bits: u64,
    dtype: Dtype,
    lanes: u8,
) -> Result<Immediate, FaultKind> {
    let address = match source {
        ImmSrc::INSTRUCTION => return Ok(Immediate::Value(bits)),
        ImmSrc::PTR => bits as u32,
        ImmSrc::REG_PTR => x.register(field, bits as u8)?,
        _ => return Err(FaultKind::illegal(field, source.0, "source 0, 1 or 2")),
    };
    let cell = Tensor { start: Addr4(address), step: [1], num: [1] };
    Ok(Immediate::PerLane(x.tensor(field, &cell, dtype, lanes, Access::Read)?))
}

/// TENSOR_SCALAR_ADDR: wrapping integer arithmetic on addresses and indices.
pub fn addr(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S2D2_ADDR>(w)?;
    let Operands { form, src, dst, immediates } = resolve(x, w)?;
    let (from, to) = (o.in_out_dtype.low(), o.in_out_dtype.high());
    let dtypes = [o.imm_dtype.low(), o.imm_dtype.high()];
    let lanes = usize::from(o.num_active_channels);
    let core = x.core();
    let fetch = |lane, i: usize| immediates[i].map_or(0, |imm| imm.fetch(core, lane, dtypes[i]));
    let scalars: Vec<[i64; 2]> = (0..lanes).map(|lane| [fetch(lane, 0), fetch(lane, 1)]).collect();
    let mut values = Vec::new();
    for_each_stretch(x.core(), &[src], &dst, lanes, |lane, sources, out| {
        values.resize(out.len() / dst.size, 0);
        num::unpack_int(&sources[0], from, &mut values);
        values.iter_mut().for_each(|v| *v = form.eval(*v, scalars[lane], from));
        num::pack_int(&values, to, out);
    });
    Ok(Flow::Next)
}
