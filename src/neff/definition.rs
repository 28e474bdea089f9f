//! Tier 3, `def.json`: variables, queues and configuration of one graph (chapter 07 section 5).

use seqjit_runtime::isa::EngineId;
use serde_json::{Map, Value, json};

use super::block::DmaBlock;
use super::error::{Findings, Result, Rule};
use super::json::{Document, Node};
use super::queue::Queue;
use super::ucode::UcodeLibraries;
use super::variable::{Variable, VariableKind};

/// Operators of the default library (chapter 07 section 5).
const MAX_DEFAULT_OPERATORS: usize = 18;

/// What `def.json` says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GraphDef {
    /// Label.
    pub name: String,
    /// Engine description members, relative to the graph's directory, by [`EngineId::index`].
    pub engines: [Option<String>; 5],
    /// Variables in order of the file; ids are dense.
    pub variables: Vec<Variable>,
    /// Queues in order of the file.
    pub queues: Vec<Queue>,
    /// Blocks that stand here instead of in an engine description.
    pub blocks: Vec<DmaBlock>,
    /// `neff_features`, informative.
    pub features: Vec<String>,
    /// Events that belong to the runtime, from 0.
    pub runtime_events: Option<u64>,
    /// Semaphores that belong to the runtime, from 0.
    pub runtime_semaphores: Option<u64>,
    /// Collective streams.
    pub collective_streams: u64,
    /// Rank ids of each group; an empty group is a single rank.
    pub replica_groups: Option<Vec<Vec<u32>>>,
    /// Routing of permutes, as written: the nesting is not known.
    pub src_target_pairs: Option<Value>,
    /// State Buffer bytes that the runtime keeps; `None` if the key is absent.
    pub reservations: Option<Vec<Reservation>>,
    /// FP8 conversion mode; absent means IEEE formats (chapter 00, 03-E10).
    pub fp8: Option<Fp8Config>,
    /// Custom-operator libraries.
    pub libraries: UcodeLibraries,
}

/// A part of every State Buffer partition that the runtime keeps (chapter 07 section 5.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// First partition.
    pub base_partition: u64,
    /// Partitions.
    pub partitions: u64,
    /// First byte in a partition.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

impl Reservation {
    /// The only reservation there is on CAYMAN: the last 8 bytes of the 224 KiB partition.
    pub const CAYMAN: Reservation =
        Reservation { base_partition: 0, partitions: 128, offset: 229_368, size: 8 };

    /// The only `type` that is accepted.
    pub const TYPE: &'static str = "evtaccel";
}

/// How FP8 conversions behave (chapter 07 section 5.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fp8Config {
    /// OCP E4M3 (no infinities, to 448) instead of the IEEE one.
    pub range_extension: bool,
    /// Greatest exponent of E4M3.
    pub emax_e4m3: Option<u64>,
    /// Greatest exponent of E5M2.
    pub emax_e5m2: Option<u64>,
    /// Overflow saturates.
    pub ocp_saturation: bool,
    /// As written.
    pub sis: bool,
    /// As written.
    pub sns: bool,
}

impl GraphDef {
    /// The variable of this name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|v| v.name == name)
    }

    /// The variable of this id.
    pub fn variable_by_id(&self, id: u32) -> Option<&Variable> {
        self.variables.iter().find(|v| v.id == id)
    }

    /// The State Buffer variable.
    pub fn state_buffer(&self) -> Option<&Variable> {
        self.variables.iter().find(|v| v.kind == VariableKind::StateBuffer)
    }

    /// The queue of this name.
    pub fn queue(&self, name: &str) -> Option<&Queue> {
        self.queues.iter().find(|q| q.name == name)
    }

    /// The `dynamic` queue of an engine.
    pub fn dynamic_queue(&self, owner: EngineId) -> Option<&Queue> {
        self.queues.iter().find(|q| q.owner == owner && q.kind == super::QueueKind::Dynamic)
    }

    /// Reads the document; all findings about variables, queues and blocks are reported together.
    pub(super) fn read(document: &Document) -> Result<GraphDef> {
        let root = document.root();
        let text = |key: &str| root.optional(key, |n| n.string().map(str::to_owned));
        let mut engines = [const { None }; 5];
        for engine in EngineId::ALL {
            engines[engine.index()] = text(&engine_key(engine))?;
        }
        let mut findings = Findings::default();
        let mut variables = Vec::new();
        for (name, node) in root.require("var", "an object of variables")?.entries()? {
            variables.extend(findings.keep(Variable::read(name, node)));
            if findings.full() {
                break;
            }
        }
        let mut queues = Vec::new();
        if let Some(map) = root.get("dma_queue") {
            for (name, node) in map.entries()? {
                queues.extend(findings.keep(Queue::read(name, node)));
                if findings.full() {
                    break;
                }
            }
        }
        let blocks = read_blocks(root, &mut findings)?;
        findings.finish()?;
        let streams = match root.get("cc_streams") {
            Some(streams) => streams.optional("num_streams", Node::uint)?,
            None => root.optional("num_streams", Node::uint)?,
        };
        Ok(GraphDef {
            name: text("name")?.unwrap_or_default(),
            engines,
            variables,
            queues,
            blocks,
            features: root.optional_list("neff_features", |n| n.string().map(str::to_owned))?,
            runtime_events: root.optional("runtime_event_count", Node::uint)?,
            runtime_semaphores: root.optional("runtime_semaphore_count", Node::uint)?,
            collective_streams: streams.unwrap_or(1),
            replica_groups: root.optional("replica_groups", |n| n.list(|group| group.list(Node::uint32)))?,
            src_target_pairs: root
                .optional("src_target_pairs", |n| n.elements().map(|_| n.value().clone()))?,
            reservations: root.optional("runtime_statebuffer_reservation", |n| n.list(Reservation::read))?,
            fp8: root.optional("fp8_conversion_config", Fp8Config::read)?,
            libraries: UcodeLibraries::read(root)?,
        })
    }

    /// The document in the compiler's form.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("version", json!("0.6"));
        put("name", json!(self.name));
        put("debug_info", json!({}));
        for engine in EngineId::ALL {
            if let Some(member) = &self.engines[engine.index()] {
                put(&engine_key(engine), json!(member));
            }
        }
        put("var", Value::Object(self.variables.iter().map(|v| (v.name.clone(), v.to_json())).collect()));
        put("dma_queue", Value::Object(self.queues.iter().map(|q| (q.name.clone(), q.to_json())).collect()));
        put("neff_features", json!(self.features));
        put("cc_streams", json!({"num_streams": self.collective_streams}));
        if !self.blocks.is_empty() {
            put("dma", self.blocks.iter().map(DmaBlock::to_json).collect());
        }
        let counts = [
            ("runtime_event_count", self.runtime_events),
            ("runtime_semaphore_count", self.runtime_semaphores),
        ];
        for (key, count) in counts {
            if let Some(count) = count {
                put(key, json!(count));
            }
        }
        if let Some(groups) = &self.replica_groups {
            put("replica_groups", json!(groups));
        }
        if let Some(pairs) = &self.src_target_pairs {
            put("src_target_pairs", pairs.clone());
        }
        if let Some(reservations) = &self.reservations {
            put("runtime_statebuffer_reservation", reservations.iter().map(|r| r.to_json()).collect());
        }
        if let Some(fp8) = &self.fp8 {
            put("fp8_conversion_config", fp8.to_json());
        }
        self.libraries.to_json(&mut map);
        map.sort_keys();
        Value::Object(map)
    }
}

/// The key of an engine in `def.json`.
fn engine_key(engine: EngineId) -> String {
    engine.name().to_ascii_lowercase()
}

/// The blocks of `dma`, which may be absent.
pub(super) fn read_blocks(root: Node<'_, '_>, findings: &mut Findings) -> Result<Vec<DmaBlock>> {
    let mut blocks = Vec::new();
    if let Some(list) = root.get("dma") {
        for node in list.elements()? {
            blocks.extend(findings.keep(DmaBlock::read(node)));
            if findings.full() {
                break;
            }
        }
    }
    Ok(blocks)
}

impl Reservation {
    fn read(node: Node<'_, '_>) -> Result<Reservation> {
        let kind = node.require("type", Self::TYPE)?;
        if kind.string()? != Self::TYPE {
            return Err(kind.broken(Rule::Reservation, Self::TYPE));
        }
        let number = |key: &str| node.require(key, "an unsigned integer")?.uint();
        Ok(Reservation {
            base_partition: number("base_partition")?,
            partitions: number("partitions")?,
            offset: number("offset")?,
            size: number("size")?,
        })
    }

    fn to_json(self) -> Value {
        json!({
            "base_partition": self.base_partition,
            "offset": self.offset,
            "partitions": self.partitions,
            "size": self.size,
            "type": Self::TYPE,
        })
    }
}

impl Fp8Config {
    fn read(node: Node<'_, '_>) -> Result<Fp8Config> {
        node.object()?;
        let flag = |key: &str| Ok(node.optional(key, Node::flag)?.unwrap_or(false));
        Ok(Fp8Config {
            range_extension: flag("fp8_range_extension")?,
            emax_e4m3: node.optional("emax_fp8_e4m3", Node::uint)?,
            emax_e5m2: node.optional("emax_fp8_e5m2", Node::uint)?,
            ocp_saturation: flag("ocp_sat")?,
            sis: flag("fp8_sis")?,
            sns: flag("fp8_sns")?,
        })
    }

    fn to_json(self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        for (key, emax) in [("emax_fp8_e4m3", self.emax_e4m3), ("emax_fp8_e5m2", self.emax_e5m2)] {
            if let Some(emax) = emax {
                put(key, json!(emax));
            }
        }
        put("fp8_range_extension", json!(self.range_extension));
        put("fp8_sis", json!(self.sis));
        put("fp8_sns", json!(self.sns));
        put("ocp_sat", json!(self.ocp_saturation));
        Value::Object(map)
    }
}

/// Reads `functions` of the default library only to hold it to its limit.
pub(super) fn check_default_library(node: Node<'_, '_>) -> Result<()> {
    node.object()?;
    let Some(functions) = node.get("functions") else { return Ok(()) };
    if functions.elements()?.len() > MAX_DEFAULT_OPERATORS {
        let expected = format!("at most {MAX_DEFAULT_OPERATORS} operators");
        return Err(functions.broken(Rule::CustomLibrary, expected));
    }
    Ok(())
}
