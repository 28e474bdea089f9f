//! Moving the bytes of a DMA transfer (chapter 06 section 6, chapter 07 section 5.3).

use super::FaultKind;
use super::fault::Address;
use super::tensor_tensor::unsupported;
use crate::isa::field::DgeComputeOp;
use crate::isa::{AluOp, Dtype, Space};
use crate::machine::Machine;
use crate::machine::dma::{Move, MoveOp, Pattern};
use crate::machine::soc::Target;
use crate::num;

/// Bytes that one side of a move may have.
const MAX_BYTES: u64 = 1 << 36;

/// Everything that can be wrong with a move, before it has any effect.
pub fn check(machine: &Machine, one: &Move) -> Result<(), FaultKind> {
    Plan::new(machine, one).map(|_| ())
}

/// Moves the bytes of one source pattern to one destination pattern, the whole source first; returns bytes
/// read and written.
pub fn perform(machine: &mut Machine, core: usize, one: &Move) -> Result<(u64, u64), FaultKind> {
    let plan = Plan::new(machine, one)?;
    if plan.source.bytes == 0 {
        return Ok((0, 0));
    }
    plan.source.check_initialised(machine)?;
    let read = plan.source.read(machine);
    let data = match &one.op {
        MoveOp::Copy => read,
        MoveOp::Cast { from, to } => cast(machine, core, &read, *from, *to),
        MoveOp::Combine { op, from, to } => {
            plan.destination.check_initialised(machine)?;
            let old = plan.destination.read(machine);
            combine(machine, core, *op, (&read, *from), (&old, *to))?
        }
    };
    let loud =
        [plan.source.pattern.limit, plan.destination.pattern.limit].into_iter().flatten().any(|l| !l.1);
    let skipped = plan.source.skips() || plan.destination.skips();
    let (bytes, written) = (plan.source.bytes, plan.write(machine, &data));
    if skipped && loud {
        machine.warn(format!("core {core}: a DMA word skipped runs beyond its bound register"));
    }
    Ok((bytes, written))
}

/// Elements through fp32, those of 64 bits too (chapter 03 section 6.3, chapter 00 A11).
fn cast(machine: &Machine, core: usize, data: &[u8], from: Dtype, to: Dtype) -> Vec<u8> {
    let fp8 = machine.cores[core].spec.fp8;
    let mut values = vec![0.0; data.len() / from.bytes()];
    num::unpack(data, from, fp8, &mut values);
    let mut out = vec![0; values.len() * to.bytes()];
    num::pack(&values, to, fp8, &mut out);
    out
}

/// destination = op(destination, source): floats in fp32, integer types wrapping in the destination's width
/// (C7-24).
fn combine(
    machine: &Machine,
    core: usize,
    op: DgeComputeOp,
    (source, from): (&[u8], Dtype),
    (old, to): (&[u8], Dtype),
) -> Result<Vec<u8>, FaultKind> {
    let fp8 = machine.cores[core].spec.fp8;
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

/// A move laid out as runs of contiguous bytes, checked.
struct Plan<'m> {
    source: Side<'m>,
    destination: Side<'m>,
}

/// One side of a move.
struct Side<'m> {
    field: &'static str,
    pattern: &'m Pattern,
    runs: Vec<Run>,
    bytes: u64,
}

/// Contiguous bytes relative to the start of a pattern; `skipped` by a bound register.
#[derive(Clone, Copy)]
struct Run {
    at: i64,
    len: usize,
    skipped: bool,
}

impl<'m> Plan<'m> {
    fn new(machine: &Machine, one: &'m Move) -> Result<Self, FaultKind> {
        let (from, to) = match &one.op {
            MoveOp::Copy => (1, 1),
            MoveOp::Cast { from, to } | MoveOp::Combine { from, to, .. } => {
                (element("in_dtype", *from)?, element("out_dtype", *to)?)
            }
        };
        let plan = Plan {
            source: Side::new("source", &one.source)?,
            destination: Side::new("destination", &one.destination)?,
        };
        let (read, written) = (plan.source.bytes, plan.destination.bytes);
        if read % from != 0 || written % to != 0 || read / from != written / to {
            return Err(FaultKind::illegal(
                "source",
                format!("{read} bytes for {written} bytes of destination"),
                "as many elements as the destination",
            ));
        }
        plan.source.check(machine, from)?;
        plan.destination.check(machine, to)?;
        Ok(plan)
    }

    /// Writes the destination stream; bytes whose source run was skipped stay (00 A14, 06 section 6).
    fn write(&self, machine: &mut Machine, data: &[u8]) -> u64 {
        let mut written = 0;
        let mut first = 0;
        for run in &self.destination.runs {
            let kept = if run.skipped { Vec::new() } else { self.kept(first, run.len) };
            for (start, end) in kept {
                let bytes = &data[first + start..first + end];
                let at = run.at + start as i64;
                match self.destination.pattern.start {
                    Target::Dram { buffer, offset } => {
                        machine.dram.buffer_mut(buffer).write((offset as i64 + at) as usize, bytes);
                    }
                    Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                        let space = self.destination.space();
                        machine.write_linear(core, space, (offset as i64 + at) as u64, bytes);
                    }
                    _ => {}
                }
                written += bytes.len() as u64;
            }
            first += run.len;
        }
        written
    }

    /// The parts of destination stream bytes `first..first + len` whose source bytes exist, relative to
    /// `first`.
    fn kept(&self, first: usize, len: usize) -> Vec<(usize, usize)> {
        if !self.source.skips() {
            return vec![(0, len)];
        }
        let scale = |source: usize| (source as u64 * self.destination.bytes / self.source.bytes) as usize;
        let mut at = 0;
        let mut kept = Vec::new();
        for run in &self.source.runs {
            let (start, end) = (scale(at).max(first), scale(at + run.len).min(first + len));
            at += run.len;
            if !run.skipped && start < end {
                kept.push((start - first, end - first));
            }
        }
        kept
    }
}

/// Bytes of an element that a DMA can convert: every datatype that FP32 converts to and from, in whole bytes.
/// Those are more than the gate of chapter 03 section 6.2 lets pass, which is the checker's.
fn element(field: &'static str, dtype: Dtype) -> Result<u64, FaultKind> {
    match dtype.bytes() {
        size @ 1.. if num::converts_from_f32(dtype) => Ok(size as u64),
        _ => Err(FaultKind::unsupported(field, format!("a DMA conversion of {}", dtype.text()))),
    }
}

impl<'m> Side<'m> {
    fn new(field: &'static str, pattern: &'m Pattern) -> Result<Self, FaultKind> {
        let bytes = pattern
            .bytes()
            .filter(|b| *b <= MAX_BYTES)
            .ok_or_else(|| FaultKind::illegal(field, "too many bytes", format!("at most {MAX_BYTES}")))?;
        Ok(Side { field, pattern, runs: runs(pattern), bytes })
    }

    fn space(&self) -> Space {
        if matches!(self.pattern.start, Target::Psum { .. }) { Space::Psum } else { Space::Sbuf }
    }

    fn skips(&self) -> bool {
        self.runs.iter().any(|r| r.skipped)
    }

    /// Every run lies in its buffer or partition, and starts on an element where elements are converted.
    fn check(&self, machine: &Machine, element: u64) -> Result<(), FaultKind> {
        if machine.options.strict && self.space() == Space::Psum {
            let expected = "SBUF or device memory (lenient mode executes it)";
            return Err(FaultKind::illegal(self.field, "PSUM", expected));
        }
        for run in self.runs.iter().filter(|r| !r.skipped) {
            let wrong = |reason: String| FaultKind::Memory {
                field: self.field,
                address: self.address(machine, run.at),
                reason,
            };
            if run.at.rem_euclid(element as i64) != 0 || !(run.len as u64).is_multiple_of(element) {
                let address = self.address(machine, run.at);
                return Err(FaultKind::Misaligned { field: self.field, address, size: element as usize });
            }
            match self.pattern.start {
                Target::Dram { buffer, offset } => {
                    let size = machine.dram.buffer(buffer).spec.size as i64;
                    let at = offset as i64 + run.at;
                    if at < 0 || at + run.len as i64 > size {
                        return Err(wrong(format!(
                            "a run of {} bytes leaves the {size} bytes there",
                            run.len
                        )));
                    }
                }
                Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                    let at = u64::try_from(offset as i64 + run.at)
                        .map_err(|_| wrong("below the memory".into()))?;
                    machine.check_on_chip(core, self.space(), at, run.len).map_err(wrong)?;
                }
                _ => return Err(wrong("a DMA operand must be memory".into())),
            }
        }
        Ok(())
    }

    /// Everything is about to be read; in check mode, it has been written.
    fn check_initialised(&self, machine: &Machine) -> Result<(), FaultKind> {
        if !machine.observes_reads() {
            return Ok(());
        }
        let mut runs = self.runs.iter().filter(|r| !r.skipped);
        runs.clone().for_each(|run| self.note_read(machine, run));
        if !machine.options.check {
            return Ok(());
        }
        let gap = runs.find_map(|r| self.first_unwritten(machine, r));
        match gap {
            Some(at) => {
                Err(FaultKind::Uninitialised { field: self.field, address: self.address(machine, at) })
            }
            None => Ok(()),
        }
    }

    fn note_read(&self, machine: &Machine, run: &Run) {
        match self.pattern.start {
            Target::Dram { buffer, offset } => {
                machine.dram.buffer(buffer).note_read((offset as i64 + run.at) as usize, run.len);
            }
            Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                let space = self.space();
                let (partition, byte) = machine.split_linear(space, (offset as i64 + run.at) as u64);
                machine.cores[core].memory(space).note_read(partition, byte, run.len);
            }
            _ => {}
        }
    }

    fn first_unwritten(&self, machine: &Machine, run: &Run) -> Option<i64> {
        match self.pattern.start {
            Target::Dram { buffer, offset } => {
                let first = (offset as i64 + run.at) as usize;
                let gap = machine.dram.buffer(buffer).first_unwritten(first, run.len)?;
                Some(gap as i64 - offset as i64)
            }
            Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                let space = self.space();
                let (partition, byte) = machine.split_linear(space, (offset as i64 + run.at) as u64);
                let gap = machine.cores[core].memory(space).first_unwritten(partition, byte, run.len)?;
                Some(run.at + (gap - byte) as i64)
            }
            _ => None,
        }
    }

    /// The bytes in stream order; skipped runs read as zero.
    fn read(&self, machine: &Machine) -> Vec<u8> {
        let mut data = Vec::with_capacity(self.bytes as usize);
        for run in &self.runs {
            match self.pattern.start {
                _ if run.skipped => data.resize(data.len() + run.len, 0),
                Target::Dram { buffer, offset } => {
                    let at = (offset as i64 + run.at) as usize;
                    data.extend_from_slice(&machine.dram.buffer(buffer).bytes()[at..at + run.len]);
                }
                Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                    let (partition, byte) =
                        machine.split_linear(self.space(), (offset as i64 + run.at) as u64);
                    let row = machine.cores[core].memory(self.space()).partition(partition);
                    data.extend_from_slice(&row[byte..byte + run.len]);
                }
                _ => {}
            }
        }
        data
    }

    fn address(&self, machine: &Machine, at: i64) -> Address {
        match self.pattern.start {
            Target::Dram { buffer, offset } => Address::Buffer {
                name: machine.dram.buffer(buffer).spec.name.clone(),
                offset: offset as i64 + at,
            },
            Target::Sbuf { core, offset } | Target::Psum { core, offset } => {
                Address::Linear { core, space: self.space(), offset: offset as i64 + at }
            }
            Target::Sync { core, .. } | Target::Csr { core, .. } => Address::Register { core },
            Target::SyncReserved => Address::Register { core: 0 },
        }
    }
}

/// The contiguous runs of a pattern in stream order.
fn runs(pattern: &Pattern) -> Vec<Run> {
    if pattern.bytes() == Some(0) {
        return Vec::new();
    }
    let (len, outer) = match pattern.dims.split_first() {
        Some(((count, 1), outer)) => (*count, outer),
        _ => (1, pattern.dims.as_slice()),
    };
    // On-chip runs stay apart, because none may continue from one partition into the next; so do runs that
    // a bound register counts one by one.
    let merge = matches!(pattern.start, Target::Dram { .. }) && pattern.limit.is_none();
    let total: u64 = outer.iter().map(|(n, _)| n).product();
    let mut index = vec![0u64; outer.len()];
    let mut at = 0i64;
    let mut list: Vec<Run> = Vec::new();
    for _ in 0..total {
        let skipped = pattern.limit.is_some_and(|(limit, _)| at < 0 || at as u64 + len > limit);
        match list.last_mut() {
            Some(last) if merge && last.at + last.len as i64 == at => last.len += len as usize,
            _ => list.push(Run { at, len: len as usize, skipped }),
        }
        for (d, (count, step)) in outer.iter().enumerate() {
            index[d] += 1;
            at += step;
            if index[d] < *count {
                break;
            }
            at -= step * *count as i64;
            index[d] = 0;
        }
    }
    list
}
