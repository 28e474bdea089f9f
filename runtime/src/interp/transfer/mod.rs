//! Moving the bytes of a DMA transfer (chapter 06 section 6, chapter 07 section 5.3).
//!
//! Where both patterns go in even steps, which all but those with skipped runs do, the bytes go straight from
//! memory to memory: `nest` finds the longest runs that both have. Others are read into a buffer and written
//! from it, as are moves inside one memory, whose source is read before anything is written (C7-7).

mod nest;
mod runs;
mod side;

use super::FaultKind;
use super::tensor_tensor::unsupported;
use crate::isa::field::DgeComputeOp;
use crate::isa::{AluOp, Dtype};
use crate::machine::Machine;
use crate::machine::dma::{Move, MoveOp};
use crate::num::{self, Fp8};
use nest::Nest;
use runs::Dim;
use side::{Placed, Side};

/// Elements that are converted at a time: as FP32 they stay in the first-level cache.
const BLOCK: usize = 1024;

/// Everything that can be wrong with a move, before it has any effect.
pub fn check(machine: &Machine, one: &Move) -> Result<(), FaultKind> {
    Plan::new(machine, one).map(|_| ())
}

/// Moves the bytes of one source pattern to one destination pattern, the whole source first; returns bytes
/// read and written.
pub fn perform(machine: &mut Machine, core: usize, one: &Move) -> Result<(u64, u64), FaultKind> {
    let plan = Plan::new(machine, one)?;
    let Plan { source, destination } = &plan;
    if source.bytes() == 0 {
        return Ok((0, 0));
    }
    source.check_initialised(machine)?;
    let fp8 = machine.cores[core].spec.fp8;
    if plan.direct(machine, &one.op, fp8) {
        destination.note(machine);
        return Ok((source.bytes(), destination.bytes()));
    }
    let read = source.read(machine);
    let data = match &one.op {
        MoveOp::Copy => read,
        MoveOp::Cast { from, to } => {
            let mut out = vec![0; destination.bytes() as usize];
            cast((&read, *from), (&mut out, *to), fp8);
            out
        }
        MoveOp::Combine { op, from, to } => {
            destination.check_initialised(machine)?;
            let old = destination.read(machine);
            combine(fp8, *op, (&read, *from), (&old, *to))?
        }
    };
    let loud = [one.source.limit, one.destination.limit].into_iter().flatten().any(|(_, quiet)| !quiet);
    let skipped = source.skips() || destination.skips();
    let written = destination.write(machine, &data, source);
    if skipped && loud {
        machine.warn(format!("core {core}: a DMA word skipped runs beyond its bound register"));
    }
    Ok((source.bytes(), written))
}

/// Elements through fp32, those of 64 bits too (chapter 03 section 6.3, chapter 00 A11).
fn cast((data, from): (&[u8], Dtype), (out, to): (&mut [u8], Dtype), fp8: Fp8) {
    let mut values = [0.0; BLOCK];
    let blocks = data.chunks(BLOCK * from.bytes()).zip(out.chunks_mut(BLOCK * to.bytes()));
    for (data, out) in blocks {
        let values = &mut values[..data.len() / from.bytes()];
        num::unpack(data, from, fp8, values);
        num::pack(values, to, fp8, out);
    }
}

/// destination = op(destination, source): floats in fp32, integer types wrapping in the destination's width
/// (C7-24).
fn combine(
    fp8: Fp8,
    op: DgeComputeOp,
    (source, from): (&[u8], Dtype),
    (old, to): (&[u8], Dtype),
) -> Result<Vec<u8>, FaultKind> {
    let (float, integer) = match (op, to.is_signed()) {
        (DgeComputeOp::ADD, _) => (AluOp::ADD, AluOp::ADD_INT),
        (DgeComputeOp::MULTIPLY, _) => (AluOp::MULT, AluOp::MULT_INT),
        (DgeComputeOp::MAX, true) => (AluOp::MAX, AluOp::MAX_INT),
        (DgeComputeOp::MAX, false) => (AluOp::MAX, AluOp::MAX_UINT),
        (DgeComputeOp::MIN, true) => (AluOp::MIN, AluOp::MIN_INT),
        (DgeComputeOp::MIN, false) => (AluOp::MIN, AluOp::MIN_UINT),
        _ => return Err(FaultKind::illegal("compute_op", op.0, "0 to 4")),
    };
    let mut out = vec![0; old.len()];
    let n = old.len() / to.bytes();
    if to.is_integer() && from.is_integer() {
        let (mut a, mut b) = (vec![0; n], vec![0; n]);
        num::unpack_int(old, to, &mut a);
        num::unpack_int(source, from, &mut b);
        for ((a, b), slot) in a.iter().zip(b).zip(out.chunks_exact_mut(to.bytes())) {
            let (value, _) = num::eval_int(integer, *a, b, to).map_err(unsupported)?;
            slot.copy_from_slice(&value.to_le_bytes()[..slot.len()]);
        }
    } else {
        let (mut a, mut b) = (vec![0.0; n], vec![0.0; n]);
        num::unpack(old, to, fp8, &mut a);
        num::unpack(source, from, fp8, &mut b);
        for (a, b) in a.iter_mut().zip(b) {
            *a = num::eval_f32(float, *a, b).map_err(unsupported)?;
        }
        num::pack(&a, to, fp8, &mut out);
    }
    Ok(out)
}

/// A move whose sides have been checked.
struct Plan<'m> {
    source: Placed<'m>,
    destination: Placed<'m>,
}

impl<'m> Plan<'m> {
    fn new(machine: &Machine, one: &'m Move) -> Result<Self, FaultKind> {
        let (from, to) = match &one.op {
            MoveOp::Copy => (1, 1),
            MoveOp::Cast { from, to } | MoveOp::Combine { from, to, .. } => {
                (element("in_dtype", *from)?, element("out_dtype", *to)?)
            }
        };
        let source = Side::new("source", &one.source)?;
        let destination = Side::new("destination", &one.destination)?;
        let (read, written) = (source.bytes, destination.bytes);
        if read % from != 0 || written % to != 0 || read / from != written / to {
            return Err(FaultKind::illegal(
                "source",
                format!("{read} bytes for {written} bytes of destination"),
                "as many elements as the destination",
            ));
        }
        Ok(Plan { source: source.place(machine, from)?, destination: destination.place(machine, to)? })
    }

    /// Moves from memory to memory; `false`, and nothing is done, where that is not possible.
    fn direct(&self, machine: &mut Machine, op: &MoveOp, fp8: Fp8) -> bool {
        let Plan { source, destination } = self;
        let (Some((f, from)), Some((t, to))) = (source.even(), destination.even()) else { return false };
        let nest = match op {
            MoveOp::Copy => Nest::new(from, to, (1, 1)),
            MoveOp::Cast { from: a, to: b } => {
                let (a, b) = (a.bytes() as u64, b.bytes() as u64);
                Nest::new(&elements(from, a), &elements(to, b), (a, b)).filter(|nest| nest.run() > 1)
            }
            MoveOp::Combine { .. } => None,
        };
        let memories = machine.regions(source.region, destination.region);
        let (Some(nest), Some((source, destination))) = (nest, memories) else { return false };
        match op {
            MoveOp::Cast { from, to } => {
                let (read, written) = (nest.run() * from.bytes(), nest.run() * to.bytes());
                nest.each((f, t), |f, t| {
                    cast((&source[f..f + read], *from), (&mut destination[t..t + written], *to), fp8);
                });
            }
            _ => nest.copy(source, destination, (f, t)),
        }
        true
    }
}

/// Dimensions of bytes, the first of which is a run, as dimensions of elements.
fn elements(dims: &[Dim], size: u64) -> Vec<Dim> {
    let mut dims = dims.to_vec();
    if let Some(run) = dims.first_mut() {
        *run = (run.0 / size, size as i64);
    }
    dims
}

/// Bytes of an element that a DMA can convert: every datatype that FP32 converts to and from, in whole bytes.
/// Those are more than the gate of chapter 03 section 6.2 lets pass, which is the checker's.
fn element(field: &'static str, dtype: Dtype) -> Result<u64, FaultKind> {
    match dtype.bytes() {
        size @ 1.. if num::converts_from_f32(dtype) => Ok(size as u64),
        _ => Err(FaultKind::unsupported(field, format!("a DMA conversion of {}", dtype.text()))),
    }
}
