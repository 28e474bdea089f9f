//! DMA: words that start transfers, and turns of the queues (chapter 06 section 6, chapter 07 sections 9.2
//! and 11). Moving the bytes is in [`super::transfer`].

use super::fault::Address;
use super::transfer::{check, perform};
use super::{Exec, Fault, FaultKind, Flow};
use crate::isa::field::{Addr8, BoundReg, DgeComputeOp, DgeOpcode};
use crate::isa::layouts::{DMA_DIRECT2D, PSEUDO_DMA_DIRECT2D, PSEUDO_DMA_TRIGGER};
use crate::isa::{Addr8Form, Decoded, Dtype, EngineId, Layout, Word, op};
use crate::machine::Machine;
use crate::machine::dma::{Move, MoveOp, Pattern, RINGS, Transfer};
use crate::machine::soc::Target;
use crate::machine::{Action, Update};
use crate::sequencer::note_change;

/// PSEUDO_DMA_TRIGGER: puts a static block into its queue (chapter 07 section 9.1).
pub fn trigger(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<PSEUDO_DMA_TRIGGER>(w)?;
    let name = o.dma_queue_name.as_str().filter(|n| !n.is_empty()).ok_or_else(|| {
        FaultKind::illegal("dma_queue_name", "not a name", "printable ASCII, zero padded, not empty")
    })?;
    let issued_by = (x.engine, x.pc);
    let named = x.core().queues.iter_mut().enumerate().find(|(_, q)| q.spec.name == name);
    let (position, queue) =
        named.ok_or_else(|| FaultKind::illegal("dma_queue_name", name, "a queue of this graph"))?;
    let spec = queue.spec.clone();
    let ids: Vec<usize> = if o.use_raw_count == 0 {
        let at = spec.blocks.iter().position(|b| b.id == o.block_id_or_count);
        vec![at.ok_or_else(|| {
            FaultKind::illegal("block_id", o.block_id_or_count, format!("a block of queue {name}"))
        })?]
    } else {
        let count = o.block_id_or_count as usize;
        let end = queue.next_in_ring + count;
        if end > spec.blocks.len() {
            let left = spec.blocks.len() - queue.next_in_ring;
            return Err(FaultKind::illegal(
                "count",
                count,
                format!("at most the {left} blocks left in the ring"),
            ));
        }
        (queue.next_in_ring..end).collect()
    };
    if let Some(why) = ids.iter().find_map(|at| spec.blocks[*at].refused.clone()) {
        return Err(FaultKind::unsupported("block_id", why));
    }
    let out_of_order = ids.first().is_some_and(|first| *first != queue.next_in_ring);
    for at in &ids {
        let block = &spec.blocks[*at];
        let completion = block.semaphore.map(|s| (s, RINGS));
        queue.pending.push_back(Transfer { moves: block.moves.clone(), completion, issued_by });
        queue.next_in_ring = at + 1;
    }
    ids.iter().for_each(|_| x.machine.races_queued(position));
    if out_of_order {
        let core = x.core;
        x.machine.warn(format!("core {core}: queue {name} starts blocks out of ring order"));
    }
    x.ends_turn = true;
    Ok(Flow::Next)
}

/// DMAMEMCPY (chapter 06 section 6.1).
pub fn direct2d(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<DMA_DIRECT2D>(w)?;
    submit_direct(x, &o)
}

/// PSEUDO_DMA_DIRECT2D: the container's form of DMAMEMCPY (chapter 07 section 11.2).
pub fn pseudo_direct2d(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let pseudo = x.operands::<PSEUDO_DMA_DIRECT2D>(w)?;
    if pseudo.dge_op != DgeOpcode::DIRECT2D {
        return Err(FaultKind::unsupported("dge_op", format!("generated DMA of kind {}", pseudo.dge_op.0)));
    }
    submit_direct(x, &DMA_DIRECT2D::read(&lowered(&w.word)))
}

/// The DMAMEMCPY that a PSEUDO_DMA_DIRECT2D of kind 0 becomes: opcode changed, compute_op none. Addresses
/// keep their form; a loader makes variables absolute.
pub fn lowered(word: &Word) -> Word {
    let mut word = *word;
    word.0[0] = op::DMAMEMCPY;
    word.0[15] = DgeComputeOp::NONE.0;
    word
}

fn submit_direct(x: &mut Exec<'_>, o: &DMA_DIRECT2D) -> Result<Flow, FaultKind> {
    let source = Side {
        field: "src_start_addr",
        start: o.src_start_addr,
        steps: o.src_step_elem,
        counts: o.src_num_elem,
        size: o.src_elem_size,
        bound: o.src_bound_reg,
    };
    let destination = Side {
        field: "dst_start_addr",
        start: o.dst_start_addr,
        steps: o.dst_step_elem,
        counts: o.dst_num_elem,
        size: o.dst_elem_size,
        bound: o.dst_bound_reg,
    };
    let op = move_op(o.compute_op, o.in_dtype, o.out_dtype);
    let one = Move { source: source.pattern(x)?, destination: destination.pattern(x)?, op };
    submit(x, vec![one], (o.semaphore, o.sem_increment))
}

/// What a generated transfer does to elements on their way.
pub(super) fn move_op(compute: DgeComputeOp, from: Dtype, to: Dtype) -> MoveOp {
    match (compute, from == to) {
        (DgeComputeOp::NONE, true) => MoveOp::Copy,
        (DgeComputeOp::NONE, false) => MoveOp::Cast { from, to },
        (op, _) => MoveOp::Combine { op, from, to },
    }
}

/// Checks moves and puts them as one transfer into the issuing engine's queue for generated DMA.
pub(super) fn submit(x: &mut Exec<'_>, moves: Vec<Move>, completion: (u8, u8)) -> Result<Flow, FaultKind> {
    for one in &moves {
        check(x.machine, one)?;
    }
    let engine = x.engine;
    let issued_by = (engine, x.pc);
    let core = x.core;
    let owned = |q: &(usize, &mut crate::machine::dma::Queue)| q.1.spec.dynamic && q.1.spec.owner == engine;
    let (position, queue) = x.core().queues.iter_mut().enumerate().find(owned).ok_or_else(|| {
        FaultKind::illegal(
            "opcode",
            format!("core {core} {engine} has no dynamic queue"),
            "one for generated DMA",
        )
    })?;
    let completion = Some(completion);
    queue.pending.push_back(Transfer { moves: moves.into(), completion, issued_by });
    x.machine.races_queued(position);
    x.ends_turn = true;
    Ok(Flow::Next)
}

/// One side of a generated DMA word.
struct Side {
    field: &'static str,
    start: Addr8,
    steps: [i32; 2],
    counts: [u16; 2],
    size: u16,
    bound: BoundReg,
}

impl Side {
    /// Resolves the address at issue: registers and table entries are read now.
    fn pattern(&self, x: &Exec<'_>) -> Result<Pattern, FaultKind> {
        let start = target(x, self.field, self.start)?;
        let size = run_bytes(self.size);
        let dims = vec![
            (size, 1),
            (self.counts[0].into(), self.steps[0].into()),
            (self.counts[1].into(), self.steps[1].into()),
        ];
        Ok(Pattern { start, dims, limit: limit(x, self.field, self.bound)? })
    }
}

/// Bytes of a run; the code 0 stands for 65536 (chapter 06 section 6).
pub(super) fn run_bytes(code: u16) -> u64 {
    if code == 0 { 0x1_0000 } else { u64::from(code) }
}

/// What a bound register byte allows, and whether an excess stays quiet (chapter 03 section 5).
pub(super) fn limit(
    x: &Exec<'_>,
    field: &'static str,
    bound: BoundReg,
) -> Result<Option<(u64, bool)>, FaultKind> {
    match bound.0 {
        0 => Ok(None),
        b if b & 0x80 != 0 => Ok(Some((u64::from(x.register(field, b & 0x3F)?), b & 0x40 != 0))),
        b => Err(FaultKind::illegal(field, format!("bound register 0x{b:02x}"), "0 or bit 7 set")),
    }
}

/// The memory behind a DMA operand.
pub(super) fn target(x: &Exec<'_>, field: &'static str, start: Addr8) -> Result<Target, FaultKind> {
    mapped(x, field, resolve(x, field, start)?)
}

/// The memory behind a SoC address.
pub(super) fn mapped(x: &Exec<'_>, field: &'static str, address: u64) -> Result<Target, FaultKind> {
    x.machine.route(address).ok_or_else(|| FaultKind::Memory {
        field,
        address: Address::Soc(address),
        reason: "nothing is mapped there".into(),
    })
}

/// The SoC address of a DMA operand (chapter 02 section 5.1).
fn resolve(x: &Exec<'_>, field: &'static str, address: Addr8) -> Result<u64, FaultKind> {
    match address.form() {
        Addr8Form::Immediate(address) => Ok(address),
        Addr8Form::Variable { id, offset } => x.variable(field, id.into(), offset),
        Addr8Form::Table { index, offset } => {
            let base = x.machine.cores[x.core].engines[x.engine.index()].table_base;
            let entry = x.machine.bus_access(field, base.wrapping_add(8 * u64::from(index)), 8)?;
            Ok(x.machine.bus_read(&entry).wrapping_add(offset.into()))
        }
        Addr8Form::Registers { lo, hi } => {
            let low = x.register(field, lo)?;
            Ok(u64::from(x.register(field, hi)?) << 32 | u64::from(low))
        }
        Addr8Form::Unsupported(why) => Err(FaultKind::unsupported(field, why)),
    }
}

/// Does the oldest transfer of a queue and posts its semaphore; `false` if none is pending.
pub fn run_next(machine: &mut Machine, core: usize, queue: usize) -> Result<bool, Fault> {
    let Some(transfer) = machine.cores[core].queues[queue].pending.pop_front() else { return Ok(false) };
    let (engine, pc) = transfer.issued_by;
    machine.races_begin_transfer(core, queue);
    for one in transfer.moves.iter() {
        let moved = perform(machine, core, one).map_err(|kind| fault(machine, core, engine, pc, kind))?;
        let bytes = &mut machine.cores[core].queues[queue].bytes;
        bytes.0 += moved.0;
        bytes.1 += moved.1;
    }
    machine.cores[core].queues[queue].completed += 1;
    if let Some((semaphore, amount)) = transfer.completion {
        post(machine, core, pc, semaphore, amount);
    }
    machine.races_end(true);
    Ok(true)
}

/// As many increments as the word or block asks for, in one step: no wait sees a value in between.
pub(super) fn post(machine: &mut Machine, core: usize, pc: u64, semaphore: u8, amount: u8) {
    for _ in 0..amount {
        let update = Update { action: Action::Increment, index: semaphore, value: 0 };
        let change = machine.cores[core].sync.apply(&update);
        note_change(machine, core, None, pc, &change);
    }
}

fn fault(machine: &mut Machine, core: usize, engine: EngineId, pc: u64, kind: FaultKind) -> Fault {
    let spec = &machine.cores[core].spec;
    let stream = &spec.streams[engine.index()];
    let slot = pc.wrapping_sub(stream.base) / 64;
    let word = stream.words.get(slot as usize).map(|i| *i.word());
    Fault { core, engine, pc, slot, word: word.map(Box::new), kind }
}
