//! Transfers into another core's state buffer: RDMA_DESC_GEN and RDMA_DESC_START (chapter 06 sections 10.2 and
//! 10.3).

use super::dma::post;
use super::fault::Address;
use super::{Exec, FaultKind, Flow};
use crate::isa::field::Addr4;
use crate::isa::layouts::EXTENDED_RDMA_DESC_GEN;
use crate::isa::{PARTITIONS, Space};
use crate::machine::dma::RINGS;
use crate::machine::meeting::RemoteTransfer;
use crate::races::Meeting;

/// RDMA_DESC_GEN: records a transfer; nothing moves.
pub fn describe(x: &mut Exec<'_>, o: &EXTENDED_RDMA_DESC_GEN) -> Result<Flow, FaultKind> {
    let peer = x.machine.cores.iter().position(|c| c.spec.physical == o.remote_core_id.0 as usize);
    let peer = peer.filter(|peer| *peer != x.core).ok_or_else(|| {
        FaultKind::illegal("remote_core_id", o.remote_core_id.0, "another core of this machine")
    })?;
    let engines = o.dma_engine_mask.0.count_ones();
    if o.is_bidirectional != 0 {
        return Err(FaultKind::unsupported("is_bidirectional", "transfers in both directions"));
    }
    let bytes = o.free_dim_bytes as usize;
    let transfer = RemoteTransfer {
        peer,
        source: row(x, "src_addr", o.src_addr, bytes)?,
        destination: row(x, "dst_addr", o.dst_addr, bytes)?,
        bytes,
        local_semaphore: o.local_sem,
        remote_semaphore: o.remote_sem,
        engines,
    };
    x.core().meetings.transfers.push_back(transfer);
    Ok(Flow::Next)
}

/// The first byte, in every partition, of a run of bytes of SBUF.
fn row(x: &Exec<'_>, field: &'static str, start: Addr4, bytes: usize) -> Result<usize, FaultKind> {
    let address = x.start_address(field, start)?;
    let geometry = x.machine.generation.geometry();
    let fault =
        |reason: &str| FaultKind::Memory { field, address: Address::OnChip(address), reason: reason.into() };
    let location = geometry.locate(address).ok_or_else(|| fault("neither SBUF nor PSUM"))?;
    if location.space != Space::Sbuf || location.partition != 0 {
        return Err(fault("not in partition 0 of SBUF"));
    }
    let first = location.offset as usize;
    if first + bytes > geometry.active(Space::Sbuf) as usize {
        return Err(fault("the run passes the end of the partition"));
    }
    Ok(first)
}

/// RDMA_DESC_START: when each peer has started too, moves what has been described and posts both semaphores. A
/// receiver's transfers have no bytes (D06-36).
pub fn start(x: &mut Exec<'_>) -> Result<Flow, FaultKind> {
    let transfers: Vec<RemoteTransfer> = x.core().meetings.transfers.iter().copied().collect();
    if transfers.is_empty() {
        return Err(FaultKind::illegal(
            "extended_opcode",
            "a start without a descriptor",
            "RDMA_DESC_GEN before it",
        ));
    }
    let active = x.machine.generation.geometry().active(Space::Sbuf) as usize;
    let fits = |t: &RemoteTransfer| {
        t.peer < x.machine.cores.len() && t.source.max(t.destination).saturating_add(t.bytes) <= active
    };
    if !transfers.iter().all(fits) {
        return Err(FaultKind::Internal("a remote transfer that was not checked".into()));
    }
    let mut peers: Vec<usize> = transfers.iter().map(|t| t.peer).collect();
    peers.sort_unstable();
    peers.dedup();
    let own = x.core;
    if x.engine_state().ticket.is_none() {
        x.engine_state().ticket = Some(0);
        for peer in &peers {
            *x.machine.cores[*peer].meetings.starts.entry(own).or_default() += 1;
            x.machine.races_leave(Meeting::Start(own, *peer));
        }
    }
    let starts = &mut x.core().meetings.starts;
    if !peers.iter().all(|peer| starts.get(peer).is_some_and(|n| *n > 0)) {
        return Ok(Flow::Block);
    }
    for peer in &peers {
        starts.entry(*peer).and_modify(|n| *n -= 1);
    }
    peers.iter().for_each(|peer| x.machine.races_take_up(Meeting::Start(*peer, own)));
    x.core().meetings.transfers.clear();
    for transfer in &transfers {
        perform(x, transfer);
    }
    x.ends_turn = true;
    Ok(Flow::Next)
}

/// Moves the bytes of all partitions; the local semaphore counts all sixteen engines (D06-35).
fn perform(x: &mut Exec<'_>, t: &RemoteTransfer) {
    for partition in 0..PARTITIONS {
        x.core().sbuf.note_read(partition, t.source, t.bytes);
        let row = x.core().sbuf.partition(partition)[t.source..t.source + t.bytes].to_vec();
        let sbuf = &mut x.machine.cores[t.peer].sbuf;
        sbuf.partition_mut(partition)[t.destination..t.destination + t.bytes].copy_from_slice(&row);
        sbuf.note_written(partition, t.destination, t.bytes);
    }
    post(x.machine, x.core, x.pc, t.local_semaphore, RINGS);
    post(x.machine, t.peer, x.pc, t.remote_semaphore, t.engines as u8);
}
