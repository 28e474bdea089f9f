//! DMA queues of a graph (chapter 07 section 5.2).

use seqjit_runtime::isa::EngineId;
use serde_json::{Map, Value, json};

use super::error::{Result, Rule};
use super::json::Node;

/// Entries of a semaphore set (chapter 07 section 5.2).
const MAX_SET: usize = 32;

/// Bytes of a queue's or instance's name (chapter 07 section 5.3).
pub(super) const MAX_NAME: usize = 255;

/// What a queue is for. It says nothing about direction: output stores use `in` queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum QueueKind {
    /// `in`
    In,
    /// `out`
    Out,
    /// `data`: spills and reloads of constants.
    Data,
    /// `data` with `indirect_memcpy`.
    IndirectMemcpy,
    /// `dynamic`: generated DMA of its owner, no blocks.
    Dynamic,
    /// `act_load`: activation tables.
    ActLoad,
    /// `embedding_update`
    EmbeddingUpdate,
}

impl QueueKind {
    /// As `type` spells it.
    pub fn name(self) -> &'static str {
        match self {
            QueueKind::In => "in",
            QueueKind::Out => "out",
            QueueKind::Data | QueueKind::IndirectMemcpy => "data",
            QueueKind::Dynamic => "dynamic",
            QueueKind::ActLoad => "act_load",
            QueueKind::EmbeddingUpdate => "embedding_update",
        }
    }

    /// The vendor's ring-type code; `dynamic` queues have none.
    pub fn ring_type(self) -> Option<u8> {
        match self {
            QueueKind::Data => Some(6),
            QueueKind::In => Some(7),
            QueueKind::Out => Some(8),
            QueueKind::IndirectMemcpy => Some(9),
            QueueKind::ActLoad => Some(11),
            QueueKind::EmbeddingUpdate => Some(15),
            QueueKind::Dynamic => None,
        }
    }
}

/// State Buffer bytes that a software descriptor generator uses, in every partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScratchRange {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// One queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue {
    /// Name, unique in the graph.
    pub name: String,
    /// The engine that starts its transfers.
    pub owner: EngineId,
    /// What it is for.
    pub kind: QueueKind,
    /// Completion semaphore of blocks that name none.
    pub semaphore: Option<u8>,
    /// Semaphores of its blocks and generated DMA, in turn.
    pub semaphore_set: Vec<u8>,
    /// Rings.
    pub rings: u32,
    /// Names of its instances, if it is a queue set.
    pub instances: Vec<String>,
    /// As written.
    pub pinned: bool,
    /// Served by a hardware descriptor generator.
    pub dge: bool,
    /// State Buffer bytes that belong to it (`dynamic_dma`): nothing else may use them.
    pub scratch: Option<ScratchRange>,
    /// For embedding updates.
    pub embedding_update_semaphore: Option<u8>,
}

impl Queue {
    /// A queue with one ring and no semaphores.
    pub fn new(name: impl Into<String>, owner: EngineId, kind: QueueKind) -> Queue {
        Queue {
            name: name.into(),
            owner,
            kind,
            semaphore: None,
            semaphore_set: Vec::new(),
            rings: 1,
            instances: Vec::new(),
            pinned: false,
            dge: false,
            scratch: None,
            embedding_update_semaphore: None,
        }
    }

    /// Reads the value of `dma_queue.<name>`.
    pub(super) fn read(name: &str, node: Node<'_, '_>) -> Result<Queue> {
        let flag = |key: &str| Ok(node.optional(key, Node::flag)?.unwrap_or(false));
        if name.len() > MAX_NAME {
            return Err(node.broken(Rule::NameLength, format!("a queue name of at most {MAX_NAME} bytes")));
        }
        let owner = node.require("owner", "an engine")?;
        let kind = read_kind(node, flag("indirect_memcpy")?)?;
        let semaphore_set = node.optional_list("semaphore_set", read_semaphore)?;
        if semaphore_set.len() > MAX_SET {
            let expected = format!("at most {MAX_SET} semaphores");
            return Err(node.require("semaphore_set", "")?.broken(Rule::SemaphoreSet, expected));
        }
        Ok(Queue {
            name: name.to_owned(),
            owner: read_owner(owner)?,
            kind,
            semaphore: node.optional("semaphore", read_semaphore)?,
            semaphore_set,
            rings: read_rings(node, kind)?,
            instances: read_instances(node, kind)?,
            pinned: flag("pinned")?,
            dge: flag("dge")?,
            scratch: node.optional("dynamic_dma", read_scratch)?,
            embedding_update_semaphore: read_embedding(node, kind)?,
        })
    }

    /// The value of `dma_queue.<name>` in the compiler's form.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("owner", json!(self.owner.name().to_ascii_lowercase()));
        put("type", json!(self.kind.name()));
        put("num_queues", json!(self.rings));
        if self.kind == QueueKind::IndirectMemcpy {
            put("indirect_memcpy", json!(true));
        }
        if let Some(semaphore) = self.semaphore {
            put("semaphore", json!(semaphore));
        }
        if !self.semaphore_set.is_empty() {
            put("semaphore_set", json!(self.semaphore_set));
        }
        if !self.instances.is_empty() {
            put("queue_instances", json!(self.instances));
        }
        for (key, flag) in [("pinned", self.pinned), ("dge", self.dge)] {
            if flag {
                put(key, json!(true));
            }
        }
        if let Some(ScratchRange { offset, size }) = self.scratch {
            let range = json!({"SB_scratch_partition_offset": offset, "SB_scratch_partition_size": size});
            put("dynamic_dma", range);
        }
        if let Some(semaphore) = self.embedding_update_semaphore {
            put("embedding_update_sync_semaphore", json!(semaphore));
        }
        map.sort_keys();
        Value::Object(map)
    }
}

/// A semaphore index, below 256.
pub(super) fn read_semaphore(node: Node<'_, '_>) -> Result<u8> {
    u8::try_from(node.uint()?).map_err(|_| node.broken(Rule::Semaphore, "a semaphore below 256"))
}

fn read_owner(node: Node<'_, '_>) -> Result<EngineId> {
    let text = node.string()?;
    let owner = EngineId::ALL.into_iter().find(|e| e.name().to_ascii_lowercase() == text);
    owner.ok_or_else(|| node.broken(Rule::QueueOwner, "pe, act, pool, dve or sp"))
}

fn read_kind(node: Node<'_, '_>, indirect: bool) -> Result<QueueKind> {
    let kind = node.require("type", "a queue type")?;
    Ok(match kind.string()? {
        "in" => QueueKind::In,
        "out" => QueueKind::Out,
        "data" if indirect => QueueKind::IndirectMemcpy,
        "data" => QueueKind::Data,
        "dynamic" => QueueKind::Dynamic,
        "act_load" => QueueKind::ActLoad,
        "embedding_update" => QueueKind::EmbeddingUpdate,
        _ => {
            let expected = "in, out, data, dynamic, act_load or embedding_update";
            return Err(kind.broken(Rule::QueueType, expected));
        }
    })
}

fn read_rings(node: Node<'_, '_>, kind: QueueKind) -> Result<u32> {
    let Some(rings) = node.get("num_queues") else { return Ok(1) };
    match rings.uint32()? {
        0 => Err(rings.broken(Rule::QueueRings, "at least 1")),
        count if kind == QueueKind::ActLoad && count != 1 => {
            Err(rings.broken(Rule::QueueRings, "1 for an act_load queue"))
        }
        count => Ok(count),
    }
}

fn read_instances(node: Node<'_, '_>, kind: QueueKind) -> Result<Vec<String>> {
    let Some(instances) = node.get("queue_instances") else { return Ok(Vec::new()) };
    let single = matches!(kind, QueueKind::In | QueueKind::Out | QueueKind::EmbeddingUpdate);
    if single && instances.elements()?.len() > 0 {
        let expected = format!("no instances for a queue of type {}", kind.name());
        return Err(instances.broken(Rule::QueueInstances, expected));
    }
    instances.list(|n| match n.string()? {
        name if name.len() <= MAX_NAME => Ok(name.to_owned()),
        _ => Err(n.broken(Rule::NameLength, format!("a name of at most {MAX_NAME} bytes"))),
    })
}

fn read_scratch(node: Node<'_, '_>) -> Result<ScratchRange> {
    let bytes = |key: &str| node.require(key, "bytes")?.uint();
    Ok(ScratchRange {
        offset: bytes("SB_scratch_partition_offset")?,
        size: bytes("SB_scratch_partition_size")?,
    })
}

fn read_embedding(node: Node<'_, '_>, kind: QueueKind) -> Result<Option<u8>> {
    const KEY: &str = "embedding_update_sync_semaphore";
    if kind == QueueKind::EmbeddingUpdate {
        node.require(KEY, "a semaphore")?;
    }
    node.optional(KEY, read_semaphore)
}
