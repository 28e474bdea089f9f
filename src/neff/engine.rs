//! Engine descriptions, `sgNN/<engine>.json` (chapter 07 section 5.3).

use serde_json::{Map, Value, json};

use super::block::DmaBlock;
use super::definition::read_blocks;
use super::error::{Findings, Result};
use super::json::{Document, Node};

/// What an engine's JSON member says. Names are relative to the graph's directory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EngineDesc {
    /// Label.
    pub name: String,
    /// Member with the instruction stream; `None` for an engine without work.
    pub instr: Option<String>,
    /// Blocks that C1 words start.
    pub blocks: Vec<DmaBlock>,
    /// ACT: member that lists the activation table sets.
    pub act_info: Option<String>,
    /// ACT: as written; no program waits for it.
    pub act_semaphore: Option<u64>,
    /// ACT: names of the sets in use.
    pub activation_function_sets: Vec<String>,
    /// DVE: microprogram tables.
    pub dve_tables: Vec<DveTableNames>,
}

/// Members of the DVE microprogram tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DveTableNames {
    /// One entry per opcode.
    pub opcode: String,
    /// Datapath.
    pub datapath: String,
    /// Control.
    pub control: DveControl<String>,
}

/// The control table: one on v2, two from v3 on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DveControl<T> {
    /// `control_table`
    Single(T),
    /// `control_fast_table` and `control_slow_table`
    FastSlow {
        /// `control_fast_table`
        fast: T,
        /// `control_slow_table`
        slow: T,
    },
}

impl EngineDesc {
    /// Reads the document; all findings about blocks are reported together.
    pub(super) fn read(document: &Document) -> Result<EngineDesc> {
        let root = document.root();
        root.object()?;
        let text = |key: &str| root.optional(key, |n| n.string().map(str::to_owned));
        let mut findings = Findings::default();
        let blocks = read_blocks(root, &mut findings)?;
        findings.finish()?;
        Ok(EngineDesc {
            name: text("name")?.unwrap_or_default(),
            instr: text("instr")?,
            blocks,
            act_info: text("act_info")?,
            act_semaphore: root.optional("act_semaphore", Node::uint)?,
            activation_function_sets: root
                .optional_list("activation_function_sets", |n| n.string().map(str::to_owned))?,
            dve_tables: root.optional_list("dve_tables", DveTableNames::read)?,
        })
    }

    /// The document in the compiler's form.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("name", json!(self.name));
        put("dma", self.blocks.iter().map(DmaBlock::to_json).collect());
        if let Some(instr) = &self.instr {
            put("instr", json!(instr));
        }
        if let Some(act_info) = &self.act_info {
            put("act_info", json!(act_info));
            put("activation_function_sets", json!(self.activation_function_sets));
        }
        if let Some(semaphore) = self.act_semaphore {
            put("act_semaphore", json!(semaphore));
        }
        if !self.dve_tables.is_empty() {
            put("dve_tables", self.dve_tables.iter().map(DveTableNames::to_json).collect());
        }
        map.sort_keys();
        Value::Object(map)
    }
}

impl DveTableNames {
    fn read(node: Node<'_, '_>) -> Result<DveTableNames> {
        let name = |key: &str| Ok(node.require(key, "the name of a member")?.string()?.to_owned());
        let control = if node.get("control_table").is_some() {
            DveControl::Single(name("control_table")?)
        } else {
            DveControl::FastSlow { fast: name("control_fast_table")?, slow: name("control_slow_table")? }
        };
        Ok(DveTableNames { opcode: name("opcode_table")?, datapath: name("datapath_table")?, control })
    }

    fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, member: &str| map.insert(key.to_owned(), json!(member));
        match &self.control {
            DveControl::Single(table) => {
                put("control_table", table);
            }
            DveControl::FastSlow { fast, slow } => {
                put("control_fast_table", fast);
                put("control_slow_table", slow);
            }
        }
        put("datapath_table", &self.datapath);
        put("opcode_table", &self.opcode);
        Value::Object(map)
    }
}
