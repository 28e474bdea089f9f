//! Collectives between the cores of a machine (chapter 06 section 10.1, chapter 07 section 9).

use super::fault::Address;
use super::lanes::{expect_row, read_lane, write_lane};
use super::tensor_tensor::unsupported;
use super::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::field::LncSize;
use crate::isa::layouts::{PSEUDO_TRIGGER_COLLECTIVE, S3D3_COLLECTIVE};
use crate::isa::{AluOp, Decoded, Dtype, Layout};
use crate::machine::meeting::{Joined, Parcel};
use crate::machine::soc::Target;
use crate::machine::{Action, BufferId, Update};
use crate::num;
use crate::races::Meeting;
use crate::sequencer::{note_change, wakes_fragile_wait};

/// SB2SB_COLLECTIVE (chapter 06 section 10.1): both cores of a pair send elements into each other's state buffer.
/// What the peer sent appears when this word retires (D06-34).
pub fn sb2sb(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_COLLECTIVE>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    if o.in_dtype != o.out_dtype || src.count != dst.count {
        let found = format!("{} {} for {} {}", src.count, o.in_dtype.text(), dst.count, o.out_dtype.text());
        return Err(FaultKind::illegal("dst", found, "the elements of src"));
    }
    expect_row("src", &src)?;
    let peer = match o.lnc_size_fmt {
        LncSize::LNC1 => Some(x.core),
        LncSize::LNC2 => x.machine.partner(x.core),
        other => return Err(FaultKind::illegal("lnc_size_fmt", other.0, "0 or 1")),
    };
    let peer = peer.ok_or_else(|| {
        FaultKind::illegal("lnc_size_fmt", format!("core {} without a partner", x.core), "a pair of cores")
    })?;
    if x.engine_state().ticket.is_none() {
        let address = x.start_address("dst", o.dst.start)?;
        // The whole source is read before anything is written (00 A14).
        let lanes = (0..lanes.into()).map(|lane| read_lane(x.core(), &src, lane)).collect();
        x.machine.cores[peer].meetings.parcels.push_back(Parcel { word: w.word, address, lanes });
        x.engine_state().ticket = Some(0);
        x.machine.races_leave(Meeting::Parcel(peer));
    }
    let Some(parcel) = x.core().meetings.parcels.pop_front() else { return Ok(Flow::Block) };
    x.machine.races_take_up(Meeting::Parcel(x.core));
    take(x, &parcel)?;
    Ok(Flow::Next)
}

/// Writes what the peer has sent.
fn take(x: &mut Exec<'_>, parcel: &Parcel) -> Result<(), FaultKind> {
    let o = S3D3_COLLECTIVE::read(&parcel.word);
    let geometry = x.machine.generation.geometry();
    let walk = Walk::new(&geometry, "dst", parcel.address, &o.dst, o.out_dtype, parcel.lanes.len())?;
    for (lane, bytes) in parcel.lanes.iter().enumerate() {
        write_lane(x.core(), &walk, lane, bytes);
    }
    Ok(())
}

/// Kinds of collectives (chapter 07 section 9.1).
pub const ALL_GATHER: u8 = 0;
/// Every rank gets the reduction of all inputs.
pub const ALL_REDUCE: u8 = 1;
/// Every rank gets its part of the reduction.
pub const REDUCE_SCATTER: u8 = 4;
/// Every rank gets its part of every input.
pub const ALL_TO_ALL: u8 = 7;

/// PSEUDO_TRIGGER_COLLECTIVE: joins a collective, which runs when the last rank of the group has joined; the word's
/// update counts its completion (section 9.2). With one rank it is a copy.
pub fn trigger(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<PSEUDO_TRIGGER_COLLECTIVE>(w)?;
    let ranks = ranks(x, o.group_id)?;
    let joined = Joined { word: w.word, issued_by: (x.engine, x.pc) };
    places(x, x.core, &o, ranks.len())?;
    x.ends_turn = true;
    x.machine.races_leave(Meeting::Collective(x.core, o.group_id));
    if ranks.len() == 1 {
        run(x, &ranks, &[joined])?;
        return Ok(Flow::Next);
    }
    let mut parts = Vec::with_capacity(ranks.len());
    for rank in &ranks {
        let waiting = x.machine.cores[*rank].meetings.collectives.get(&o.group_id).and_then(|q| q.front());
        parts.push(if *rank == x.core && waiting.is_none() { Some(joined) } else { waiting.copied() });
    }
    let all: Option<Vec<Joined>> = parts.into_iter().collect();
    let queue = x.core().meetings.collectives.entry(o.group_id).or_default();
    let Some(all) = all.filter(|_| queue.is_empty()) else {
        queue.push_back(joined);
        return Ok(Flow::Deferred);
    };
    ranks.iter().for_each(|rank| x.machine.races_take_up(Meeting::Collective(*rank, o.group_id)));
    run(x, &ranks, &all)?;
    for (rank, part) in ranks.iter().zip(&all) {
        if *rank != x.core {
            x.machine.cores[*rank].meetings.collectives.entry(o.group_id).or_default().pop_front();
        }
        complete(x, *rank, part);
    }
    Ok(Flow::Deferred)
}

/// The cores of a group, ascending by rank; a core that is in no group is alone.
fn ranks(x: &Exec<'_>, group: u16) -> Result<Vec<usize>, FaultKind> {
    let groups = &x.machine.cores[x.core].spec.replica_groups;
    let Some(members) = groups.get(usize::from(group)).filter(|g| g.len() > 1) else {
        return Ok(vec![x.core]);
    };
    let mut ranks: Vec<usize> = members.iter().map(|rank| *rank as usize).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if let Some(absent) = ranks.iter().find(|rank| **rank >= x.machine.cores.len()) {
        return Err(FaultKind::unsupported("group_id", format!("rank {absent} is not in this machine")));
    }
    if !ranks.contains(&x.core) {
        let found = format!("group {group} without core {}", x.core);
        return Err(FaultKind::illegal("group_id", found, "a group with this rank"));
    }
    Ok(ranks)
}

/// Elements of the input and of the output of each rank.
fn elements(o: &PSEUDO_TRIGGER_COLLECTIVE, ranks: usize) -> (u64, u64) {
    let all = o.num_elements.saturating_mul(ranks as u64);
    match o.ctype {
        ALL_GATHER => (o.num_elements, all),
        REDUCE_SCATTER => (all, o.num_elements),
        ALL_TO_ALL => (all, all),
        _ => (o.num_elements, o.num_elements),
    }
}

/// Buffer and first byte of a rank's input and of its output.
fn places(
    x: &Exec<'_>,
    core: usize,
    o: &PSEUDO_TRIGGER_COLLECTIVE,
    ranks: usize,
) -> Result<[(BufferId, usize); 2], FaultKind> {
    let place = |field, id, offset: u64, elements: u64| {
        let bytes = |n: u64| n.checked_mul(o.dtype.bytes() as u64);
        match (bytes(offset), bytes(elements)) {
            (Some(start), Some(length)) => locate(x, core, (field, id), start, length),
            _ => Err(FaultKind::illegal(field, "too many elements", "elements that fit an address")),
        }
    };
    let (inputs, outputs) = elements(o, ranks);
    Ok([
        place("input_tensor_id", o.input_tensor_id, o.src_offset_elems, inputs)?,
        place("output_tensor_id", o.output_tensor_id, o.dst_offset_elems, outputs)?,
    ])
}

/// The buffer and first byte of a run of bytes of a core's variable.
fn locate(
    x: &Exec<'_>,
    core: usize,
    (field, id): (&'static str, u32),
    start: u64,
    bytes: u64,
) -> Result<(BufferId, usize), FaultKind> {
    let variable = x.machine.cores[core].spec.variables.get(id as usize).copied().flatten();
    let base = variable.ok_or_else(|| {
        FaultKind::illegal(field, format!("variable {id}"), "a variable of this graph that has an address")
    })?;
    let address = base.wrapping_add(start);
    let fault = |reason: String| FaultKind::Memory { field, address: Address::Soc(address), reason };
    match x.machine.route(address) {
        Some(Target::Dram { buffer, offset }) => {
            let size = x.machine.dram.buffer(buffer).spec.size as u64;
            if (offset as u64).saturating_add(bytes) > size {
                return Err(fault(format!("{bytes} bytes pass the {size} there")));
            }
            Ok((buffer, offset))
        }
        _ => Err(fault("not in device memory".into())),
    }
}

/// Reads all inputs, then writes all outputs (decision 07-16).
fn run(x: &mut Exec<'_>, ranks: &[usize], all: &[Joined]) -> Result<(), FaultKind> {
    let words: Vec<PSEUDO_TRIGGER_COLLECTIVE> =
        all.iter().map(|joined| PSEUDO_TRIGGER_COLLECTIVE::read(&joined.word)).collect();
    let first = words[0];
    let agrees = |o: &PSEUDO_TRIGGER_COLLECTIVE| {
        (o.ctype, o.dtype, o.num_elements) == (first.ctype, first.dtype, first.num_elements)
            && (!reduces(o.ctype) || o.op == first.op)
    };
    if !words.iter().all(agrees) {
        let found = "ranks that ask for different collectives";
        return Err(FaultKind::illegal("ctype", found, "one kind, dtype, operator and size"));
    }
    let part = first.num_elements as usize * first.dtype.bytes();
    let (mut inputs, mut destinations) = (Vec::new(), Vec::new());
    for (rank, word) in ranks.iter().zip(&words) {
        let [(buffer, offset), output] = places(x, *rank, word, all.len())?;
        let bytes = elements(&first, all.len()).0 as usize * first.dtype.bytes();
        let memory = x.machine.dram.buffer(buffer);
        memory.note_read(offset, bytes);
        if let Some(gap) = memory.first_unwritten(offset, bytes).filter(|_| x.machine.options.check) {
            let address = Address::Buffer { name: memory.spec.name.clone(), offset: gap as i64 };
            return Err(FaultKind::Uninitialised { field: "input_tensor_id", address });
        }
        inputs.push(memory.bytes()[offset..offset + bytes].to_vec());
        destinations.push(output);
    }
    let slices =
        |rank: usize| -> Vec<&[u8]> { inputs.iter().map(|i| &i[rank * part..(rank + 1) * part]).collect() };
    let mut outputs = Vec::with_capacity(all.len());
    for rank in 0..all.len() {
        outputs.push(match first.ctype {
            ALL_GATHER => slices(0).concat(),
            ALL_REDUCE => reduce(x, &first, &slices(0))?,
            REDUCE_SCATTER => reduce(x, &first, &slices(rank))?,
            ALL_TO_ALL => slices(rank).concat(),
            other => return Err(FaultKind::unsupported("ctype", format!("kind {other}"))),
        });
    }
    for ((buffer, offset), bytes) in destinations.into_iter().zip(outputs) {
        x.machine.dram.buffer_mut(buffer).write(offset, &bytes);
    }
    Ok(())
}

/// Whether a kind combines inputs with the operator.
pub fn reduces(ctype: u8) -> bool {
    matches!(ctype, ALL_REDUCE | REDUCE_SCATTER)
}

/// Combines the inputs of all ranks, ascending: floats in fp32 with one rounding at the end, integers wrapping.
fn reduce(x: &Exec<'_>, o: &PSEUDO_TRIGGER_COLLECTIVE, inputs: &[&[u8]]) -> Result<Vec<u8>, FaultKind> {
    let (first, rest) =
        inputs.split_first().ok_or_else(|| FaultKind::Internal("a group without ranks".into()))?;
    let n = first.len() / o.dtype.bytes();
    let mut out = first.to_vec();
    if rest.is_empty() {
        return Ok(out);
    }
    if o.dtype == Dtype::INT32 {
        let operator = integer_operator(o.op)?;
        let (mut sums, mut values) = (vec![0; n], vec![0; n]);
        num::unpack_int(first, o.dtype, &mut sums);
        for input in rest {
            num::unpack_int(input, o.dtype, &mut values);
            for (sum, value) in sums.iter_mut().zip(&values) {
                *sum = num::eval_int(operator, *sum, *value, o.dtype).map_err(unsupported)?.0;
            }
        }
        num::pack_int(&sums, o.dtype, &mut out);
        return Ok(out);
    }
    let fp8 = x.machine.cores[x.core].spec.fp8;
    let (mut sums, mut values) = (vec![0.0; n], vec![0.0; n]);
    num::unpack(first, o.dtype, fp8, &mut sums);
    for input in rest {
        num::unpack(input, o.dtype, fp8, &mut values);
        for (sum, value) in sums.iter_mut().zip(&values) {
            *sum = num::eval_f32(o.op, *sum, *value).map_err(unsupported)?;
        }
    }
    num::pack(&sums, o.dtype, fp8, &mut out);
    Ok(out)
}

fn integer_operator(op: AluOp) -> Result<AluOp, FaultKind> {
    match op {
        AluOp::ADD => Ok(AluOp::ADD_INT),
        AluOp::MULT => Ok(AluOp::MULT_INT),
        AluOp::MAX => Ok(AluOp::MAX_INT),
        AluOp::MIN => Ok(AluOp::MIN_INT),
        other => Err(FaultKind::illegal("op", other.text(), "ADD, MULT, MAX or MIN")),
    }
}

/// Byte of the update's semaphore in a word.
const UPDATE_INDEX: usize = 7;

/// Publishes the update of one rank's word.
fn complete(x: &mut Exec<'_>, rank: usize, joined: &Joined) {
    let (engine, pc) = joined.issued_by;
    let semaphore = joined.word.0[UPDATE_INDEX];
    let update = Update { action: Action::Increment, index: semaphore, value: 0 };
    let change = x.machine.cores[rank].sync.apply(&update);
    note_change(x.machine, rank, Some(engine), pc, &change);
    x.ends_turn |= wakes_fragile_wait(&x.machine.cores[rank], engine, &change);
}
