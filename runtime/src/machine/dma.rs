//! DMA queues: patterns, transfers, and the state of a FIFO (chapter 07 sections 5.2, 5.3 and 11).
//! Moving the bytes is [`crate::interp::dma`]'s business.

use std::collections::VecDeque;
use std::sync::Arc;

use super::soc::Target;
use crate::isa::{Dtype, EngineId};
use crate::save::{Damaged, Reader, Saved, saved};

/// Semaphore increments of one finished transfer: one from each of the queue's sixteen rings.
pub const RINGS: u8 = 16;

/// One side of a move: runs of bytes, dimension 0 innermost. Sizes and steps are bytes, except that
/// dimension 0 is a contiguous run when its step is 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Address of index (0, 0, ...).
    pub start: Target,
    /// (count, step in bytes) per dimension.
    pub dims: Vec<(u64, i64)>,
    /// Bytes of the object at `start` beyond which runs are skipped, and whether that stays quiet
    /// (decision 06-12).
    pub limit: Option<(u64, bool)>,
}

impl Pattern {
    /// Bytes that the pattern enumerates, `None` on overflow.
    pub fn bytes(&self) -> Option<u64> {
        self.dims.iter().try_fold(1u64, |n, (count, _)| n.checked_mul(*count))
    }
}

/// What happens to the bytes on their way.
#[derive(Clone, PartialEq, Debug)]
pub enum MoveOp {
    /// Bytes as they are.
    Copy,
    /// Elements through fp32 (chapter 07 section 5.3).
    Cast {
        /// Source dtype.
        from: Dtype,
        /// Destination dtype.
        to: Dtype,
    },
    /// Destination = op(destination, source), both through fp32 (C7-24).
    Combine {
        /// Operator.
        op: crate::isa::field::DgeComputeOp,
        /// Source dtype.
        from: Dtype,
        /// Destination dtype.
        to: Dtype,
    },
}

/// One source pattern copied to one destination pattern: the whole source is read first (C7-7).
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    /// Where from.
    pub source: Pattern,
    /// Where to.
    pub destination: Pattern,
    /// Conversion.
    pub op: MoveOp,
}

/// A static block of a queue (chapter 07 section 5.3).
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// Block id, unique in its queue.
    pub id: u32,
    /// Semaphore that receives +16 when the block is done.
    pub semaphore: Option<u8>,
    /// Its moves, in order.
    pub moves: Arc<[Move]>,
    /// Why nothing here can run it; triggering such a block is an unsupported word.
    pub refused: Option<String>,
}

/// A queue before a machine exists.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueSpec {
    /// Name, as C1 words give it.
    pub name: String,
    /// Engine whose words feed it.
    pub owner: EngineId,
    /// The queue for generated DMA of its owner; it has no blocks.
    pub dynamic: bool,
    /// Blocks in ring order.
    pub blocks: Vec<Block>,
}

/// A transfer waiting in a queue.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Its moves, in order.
    pub moves: Arc<[Move]>,
    /// Semaphore and increment at completion.
    pub completion: Option<(u8, u8)>,
    /// Engine and PC of the word that started it, for messages.
    pub issued_by: (EngineId, u64),
}

/// A FIFO of transfers.
#[derive(Clone, Debug)]
pub struct Queue {
    /// What it was made from.
    pub spec: Arc<QueueSpec>,
    /// Not yet done, oldest first.
    pub pending: VecDeque<Transfer>,
    /// Position in ring order behind the last triggered block, to notice blocks out of order (C7-14).
    pub next_in_ring: usize,
    /// Transfers done.
    pub completed: u64,
    /// Bytes read and written by transfers done.
    pub bytes: (u64, u64),
}

saved!(struct Pattern { start, dims, limit });
saved!(enum MoveOp { 0 Copy, 1 Cast { from, to }, 2 Combine { op, from, to } });
saved!(struct Move { source, destination, op });
saved!(struct Transfer { moves, completion, issued_by });

impl Queue {
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let Queue { spec: _, pending, next_in_ring, completed, bytes } = self;
        pending.put(out);
        next_in_ring.put(out);
        completed.put(out);
        bytes.put(out);
    }

    pub(super) fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let Queue { spec: _, pending, next_in_ring, completed, bytes } = self;
        *pending = Saved::load(from)?;
        *next_in_ring = Saved::load(from)?;
        *completed = Saved::load(from)?;
        *bytes = Saved::load(from)?;
        Ok(())
    }
}
