//! Queues and static DMA blocks (chapter 07 sections 5.2 and 5.3).

use std::sync::Arc;

use seqjit_runtime::machine::dma::{Block, Move, MoveOp, Pattern, QueueSpec};

use super::LoadError;
use super::memory::Memory;
use crate::neff::{Access, Descriptor, DescriptorOp, DmaBlock, Graph, Queue, QueueKind};

/// The queues of a graph, ascending by name: the order of their turns.
pub(super) fn queues(
    graph: &Graph,
    number: usize,
    memory: &Memory,
) -> Result<Vec<Arc<QueueSpec>>, LoadError> {
    let mut list: Vec<&Queue> = graph.def.queues.iter().collect();
    list.sort_by(|a, b| a.name.cmp(&b.name));
    list.into_iter()
        .map(|queue| {
            let of_queue = graph.blocks().filter(|b| b.queue == queue.name);
            let blocks =
                of_queue.map(|b| block(graph, number, memory, queue, b)).collect::<Result<_, _>>()?;
            Ok(Arc::new(QueueSpec {
                name: queue.name.clone(),
                owner: queue.owner,
                dynamic: queue.kind == QueueKind::Dynamic,
                blocks,
            }))
        })
        .collect()
}

fn block(
    graph: &Graph,
    number: usize,
    memory: &Memory,
    queue: &Queue,
    block: &DmaBlock,
) -> Result<Block, LoadError> {
    let refused = block.descriptors.iter().find_map(unsupported).or_else(|| {
        (!block.remote_semaphores.is_empty())
            .then(|| "semaphores of other cores are posted at its end".to_owned())
    });
    let mut moves = Vec::new();
    for d in block.descriptors.iter().filter(|_| refused.is_none()) {
        let [source] = d.sources.as_slice() else { continue };
        let pattern = |access: &Access| {
            let variable = graph.def.variable(&access.variable);
            let start = variable.and_then(|v| memory.place(number, v, access.offset));
            let start = start.ok_or_else(|| LoadError::Block {
                graph: graph.name.clone(),
                queue: queue.name.clone(),
                block: block.id,
                variable: access.variable.clone(),
            })?;
            let dims = access.sizes.iter().copied().zip(access.steps.iter().copied()).collect();
            Ok(Pattern { start, dims, limit: None })
        };
        let op = match (&d.op, source.dtype, d.destination.dtype) {
            (DescriptorOp::Cast, Some(from), Some(to)) if from != to => MoveOp::Cast { from, to },
            _ => MoveOp::Copy,
        };
        moves.push(Move { source: pattern(source)?, destination: pattern(&d.destination)?, op });
    }
    let semaphore = block.completion_semaphore(queue);
    Ok(Block { id: block.id, semaphore, moves: moves.into(), refused })
}

/// Why a descriptor cannot run yet.
fn unsupported(d: &Descriptor) -> Option<String> {
    match d.op {
        DescriptorOp::Copy | DescriptorOp::Cast if d.sources.len() == 1 => None,
        _ => Some(format!("a descriptor with op '{}' and {} sources", d.op.name(), d.sources.len())),
    }
}
