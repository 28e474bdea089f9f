//! Places where engines and cores wait for each other (chapter 07 section 9.2, chapter 06 section 10).

use std::collections::{BTreeMap, VecDeque};

use crate::isa::{EngineId, Word};
use crate::save::saved;

/// What other parties need to know of a core to meet it. Whoever comes to a meeting counts itself, keeps the
/// number as its ticket, and may leave when the others have counted as far.
#[derive(Clone, Debug, Default)]
pub struct Meetings {
    /// Arrivals of each engine at the barrier of all engines.
    pub engines: [u64; 5],
    /// Arrivals of this core at barriers between cores, by barrier id.
    pub cores: BTreeMap<u32, u64>,
    /// What the peer has sent and this core has not taken, oldest first.
    pub parcels: VecDeque<Parcel>,
    /// Starts of remote transfers that each other core has announced to this one.
    pub starts: BTreeMap<usize, u64>,
    /// Remote transfers described and not started.
    pub transfers: VecDeque<RemoteTransfer>,
    /// Collectives that this core has joined and others have not, by group, oldest first.
    pub collectives: BTreeMap<u16, VecDeque<Joined>>,
}

/// A core's part in a collective (chapter 07 section 9.1).
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// The word.
    pub word: Word,
    /// Its engine and address.
    pub issued_by: (EngineId, u64),
}

/// Elements on their way into another core's state buffer (chapter 06 section 10.1).
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The word that sent them, whose destination pattern they take.
    pub word: Word,
    /// Where the pattern starts.
    pub address: u32,
    /// Packed elements of each lane.
    pub lanes: Vec<Vec<u8>>,
}

/// A transfer that RDMA_DESC_GEN has described (chapter 06 section 10.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteTransfer {
    /// Index of the other core.
    pub peer: usize,
    /// Byte in every local partition.
    pub source: usize,
    /// Byte in every partition of the peer.
    pub destination: usize,
    /// Bytes a partition; zero only posts semaphores.
    pub bytes: usize,
    /// Local semaphore: the source may be reused.
    pub local_semaphore: u8,
    /// Semaphore of the peer: the data has arrived.
    pub remote_semaphore: u8,
    /// Engines that take part.
    pub engines: u32,
}

/// A call that has not returned (decision 07-17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Where it returns to.
    pub return_to: u64,
    /// Address-table base of the caller.
    pub table_base: u64,
}

saved!(struct Meetings { engines, cores, parcels, starts, transfers, collectives });
saved!(struct Joined { word, issued_by });
saved!(struct Parcel { word, address, lanes });
saved!(struct RemoteTransfer {
    peer, source, destination, bytes, local_semaphore, remote_semaphore, engines,
});
saved!(struct Call { return_to, table_base });
