//! Counting what a core's streams and queues hold.

use std::collections::BTreeMap;

use seqjit::Program;
use seqjit::neff::{Access, Graph, Queue, Variable};
use seqjit::runtime::isa::field::WaitMode;
use seqjit::runtime::isa::layouts::{CTRL_ES, DMA_DIRECT2D, PSEUDO_DMA_DIRECT2D};
use seqjit::runtime::isa::{Decoded, EngineId, Layout, decode};

use crate::cli::text;

/// Bytes that transfers move.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Traffic {
    fn add(&mut self, read: u64, written: u64) {
        self.read = self.read.saturating_add(read);
        self.written = self.written.saturating_add(written);
    }
}

/// One stream.
pub struct StreamFacts {
    /// Its engine.
    pub engine: EngineId,
    /// Words.
    pub words: usize,
    /// Words that wait for a semaphore or event.
    pub waiting: usize,
    /// Words by opcode, most frequent first.
    pub opcodes: Vec<(String, usize)>,
    /// Words that generate a transfer of their own.
    pub dma_words: usize,
    /// What those transfers move, each word counted once.
    pub traffic: Traffic,
}

/// One queue.
pub struct QueueFacts<'p> {
    /// As the container describes it.
    pub queue: &'p Queue,
    /// Static blocks.
    pub blocks: usize,
    /// Their descriptors.
    pub descriptors: usize,
    /// What the blocks move, each counted once.
    pub traffic: Traffic,
}

/// One core.
pub struct CoreFacts<'p> {
    /// Its graph.
    pub graph: &'p Graph,
    /// Its variables, by id.
    pub variables: Vec<&'p Variable>,
    /// Device address of each variable, by id.
    pub addresses: &'p [Option<u64>],
    /// Its streams, in engine order.
    pub streams: Vec<StreamFacts>,
    /// Its queues, in the order of the container.
    pub queues: Vec<QueueFacts<'p>>,
}

impl<'p> CoreFacts<'p> {
    /// Counts. Panics if the program has no such core.
    pub fn new(program: &'p Program, core: usize) -> CoreFacts<'p> {
        let graph = &program.neff().graphs[core];
        let streams = EngineId::ALL.map(|engine| {
            let decoded: Vec<Result<Decoded, u8>> = graph
                .words(engine)
                .map(|word| decode(&word, program.generation()).map_err(|_| word.opcode()))
                .collect();
            stream(engine, &decoded)
        });
        let mut variables: Vec<&Variable> = graph.def.variables.iter().collect();
        variables.sort_by_key(|v| v.id);
        CoreFacts {
            graph,
            variables,
            addresses: &program.image().cores[core].variables,
            streams: streams.into(),
            queues: graph.def.queues.iter().map(|q| queue(graph, q)).collect(),
        }
    }

    /// Words of all streams.
    pub fn words(&self) -> usize {
        self.streams.iter().map(|s| s.words).sum()
    }
}

fn stream(engine: EngineId, words: &[Result<Decoded, u8>]) -> StreamFacts {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut facts = StreamFacts {
        engine,
        words: words.len(),
        waiting: 0,
        opcodes: Vec::new(),
        dma_words: 0,
        traffic: Traffic::default(),
    };
    for word in words {
        let opcode = word.as_ref().map_or_else(|byte| *byte, |decoded| decoded.info.byte);
        *counts.entry(text::opcode_name(opcode)).or_default() += 1;
        let Ok(decoded) = word else { continue };
        facts.waiting += usize::from(waits(decoded));
        if let Some((read, written)) = generated(decoded) {
            facts.dma_words += 1;
            facts.traffic.add(read, written);
        }
    }
    facts.opcodes = counts.into_iter().collect();
    // Stable: equal counts stay in the order of their names.
    facts.opcodes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    facts
}

fn waits(decoded: &Decoded) -> bool {
    let extended = CTRL_ES::of(&decoded.operands).map(|w| w.events_extended.wait_mode);
    decoded.events.wait_mode != WaitMode::NONE || extended.is_some_and(|mode| mode != WaitMode::NONE)
}

/// Bytes that a word with a transfer of its own reads and writes.
fn generated(decoded: &Decoded) -> Option<(u64, u64)> {
    let bytes = |size: u16, counts: [u16; 2]| u64::from(size) * u64::from(counts[0]) * u64::from(counts[1]);
    if let Some(o) = PSEUDO_DMA_DIRECT2D::of(&decoded.operands) {
        return Some((bytes(o.src_elem_size, o.src_num_elem), bytes(o.dst_elem_size, o.dst_num_elem)));
    }
    let o = DMA_DIRECT2D::of(&decoded.operands)?;
    Some((bytes(o.src_elem_size, o.src_num_elem), bytes(o.dst_elem_size, o.dst_num_elem)))
}

fn queue<'p>(graph: &Graph, queue: &'p Queue) -> QueueFacts<'p> {
    let mut facts = QueueFacts { queue, blocks: 0, descriptors: 0, traffic: Traffic::default() };
    for block in graph.blocks().filter(|b| b.queue == queue.name) {
        facts.blocks += 1;
        for d in &block.descriptors {
            facts.descriptors += 1;
            facts.traffic.add(d.sources.iter().map(bytes).sum(), bytes(&d.destination));
        }
    }
    facts
}

fn bytes(access: &Access) -> u64 {
    access.sizes.iter().fold(1, |bytes, n| bytes.saturating_mul(*n))
}
