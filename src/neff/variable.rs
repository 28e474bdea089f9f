//! Variables of a graph (chapter 07 section 5.1).

use seqjit_runtime::isa::{Dtype, Generation, PARTITIONS};
use serde_json::{Map, Value, json};

use super::error::{Result, Rule};
use super::json::Node;
use super::names::{device_dtype, device_name};

/// Dimensions of a variable's shape (chapter 07 section 5.1).
const MAX_DIMENSIONS: usize = 8;

/// Bytes of an entry in an address table, and of a pointer variable.
const ADDRESS_BYTES: u64 = 8;

/// What a variable is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VariableKind {
    /// The State Buffer itself.
    StateBuffer,
    /// A constant from the archive.
    File {
        /// Its member, relative to the graph's directory.
        file_name: String,
    },
    /// Device scratch memory.
    TmpBuf,
    /// Bound by the host before a run.
    Input,
    /// Read by the host after a run.
    Output,
    /// Eight bytes that hold the address of a variable.
    Pointer {
        /// Its id.
        referenced: u32,
    },
    /// A range of another variable, or of the graph's scratchpad. Ranges may overlap.
    Virtual {
        /// The variable aliased; `None` for the scratchpad.
        backing: Option<String>,
        /// Byte offset in it.
        offset: u64,
    },
    /// Addresses for table operands of generated DMA: entry i is the address of variable `list[i]`.
    DgeTable {
        /// Variable ids.
        list: Vec<u32>,
    },
    /// A pointer table.
    List {
        /// Variable ids.
        list: Vec<u32>,
    },
    /// Memory of another core or of the host; touching it is not supported (C7-6).
    Remote(RemoteKind),
}

/// Spellings of memory that is not the core's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemoteKind {
    /// `remote`
    Remote,
    /// `shared`
    Shared,
    /// `sharded`
    Sharded,
    /// `main`
    Main,
}

impl RemoteKind {
    const ALL: [RemoteKind; 4] =
        [RemoteKind::Remote, RemoteKind::Shared, RemoteKind::Sharded, RemoteKind::Main];

    /// As `type` spells it.
    pub fn name(self) -> &'static str {
        ["remote", "shared", "sharded", "main"][self as usize]
    }
}

impl VariableKind {
    /// As `type` spells it.
    pub fn name(&self) -> &'static str {
        match self {
            VariableKind::StateBuffer => "state-buffer",
            VariableKind::File { .. } => "file",
            VariableKind::TmpBuf => "tmp-buf",
            VariableKind::Input => "input",
            VariableKind::Output => "output",
            VariableKind::Pointer { .. } => "pointer",
            VariableKind::Virtual { .. } => "virtual",
            VariableKind::DgeTable { .. } => "dge-table",
            VariableKind::List { .. } => "list",
            VariableKind::Remote(kind) => kind.name(),
        }
    }
}

/// One variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Name, unique in the graph.
    pub name: String,
    /// Id, unique and dense in the graph; programs name variables by it.
    pub id: u32,
    /// What it is.
    pub kind: VariableKind,
    /// Bytes, as written; the State Buffer and tables have none.
    pub size: Option<u64>,
    /// Power of two, bytes.
    pub alignment: Option<u64>,
    /// Element type, informative.
    pub dtype: Option<Dtype>,
    /// Bytes of an element, informative.
    pub element_size: Option<u64>,
    /// Informative.
    pub shape: Vec<u64>,
    /// Informative.
    pub internal_shape: Vec<u64>,
    /// Informative.
    pub framework_shape: Vec<u64>,
}

impl Variable {
    /// A variable without the optional keys.
    pub fn new(name: impl Into<String>, id: u32, kind: VariableKind, size: Option<u64>) -> Variable {
        Variable {
            name: name.into(),
            id,
            kind,
            size,
            alignment: None,
            dtype: None,
            element_size: None,
            shape: Vec::new(),
            internal_shape: Vec::new(),
            framework_shape: Vec::new(),
        }
    }

    /// Bytes that an access may reach: the address window of the State Buffer (chapter 03 section 3.1),
    /// 8 for each entry of a table, else the size. `None` for remote memory without size.
    pub fn extent(&self, generation: Generation) -> Option<u64> {
        match &self.kind {
            VariableKind::StateBuffer => {
                Some(u64::from(generation.geometry().sbuf_pitch) * PARTITIONS as u64)
            }
            VariableKind::DgeTable { list } | VariableKind::List { list } => {
                Some(ADDRESS_BYTES * list.len() as u64)
            }
            _ => self.size,
        }
    }

    /// Reads the value of `var.<name>`.
    pub(super) fn read(name: &str, node: Node<'_, '_>) -> Result<Variable> {
        let kind = read_kind(node)?;
        let alignment = node.optional("alignment", |n| match n.uint()? {
            value if value.is_power_of_two() => Ok(value),
            _ => Err(n.broken(Rule::Alignment, "a power of two")),
        })?;
        Ok(Variable {
            name: name.to_owned(),
            id: node.require("var_id", "an unsigned integer")?.uint32()?,
            size: read_size(node, &kind)?,
            kind,
            alignment,
            dtype: node.optional("dtype", read_dtype)?,
            element_size: node.optional("element_size", Node::uint)?,
            shape: read_shape(node, "shape")?,
            internal_shape: read_shape(node, "internal_shape")?,
            framework_shape: read_shape(node, "framework_shape")?,
        })
    }

    /// The value of `var.<name>` in the compiler's form.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("type", json!(self.kind.name()));
        put("var_id", json!(self.id));
        let numbers =
            [("size", self.size), ("alignment", self.alignment), ("element_size", self.element_size)];
        for (key, value) in numbers {
            if let Some(value) = value {
                put(key, json!(value));
            }
        }
        if let Some(dtype) = self.dtype.and_then(device_name) {
            put("dtype", json!(dtype));
        }
        let shapes = [
            ("shape", &self.shape),
            ("internal_shape", &self.internal_shape),
            ("framework_shape", &self.framework_shape),
        ];
        for (key, shape) in shapes {
            if !shape.is_empty() {
                put(key, json!(shape));
            }
        }
        match &self.kind {
            VariableKind::File { file_name } => {
                put("file_name", json!(file_name));
            }
            VariableKind::Pointer { referenced } => {
                put("referenced_var_id", json!(referenced));
            }
            VariableKind::Virtual { backing, offset } => {
                put("backing_variable_off", json!(offset));
                if let Some(backing) = backing {
                    put("backing_buf", json!(backing));
                }
            }
            VariableKind::DgeTable { list } | VariableKind::List { list } => {
                put("list", json!(list));
            }
            _ => {}
        }
        map.sort_keys();
        Value::Object(map)
    }
}

fn read_kind(node: Node<'_, '_>) -> Result<VariableKind> {
    let list = || node.require("list", "an array of variable ids")?.list(Node::uint32);
    let kind = node.require("type", "a variable type")?;
    Ok(match kind.string()? {
        "state-buffer" => VariableKind::StateBuffer,
        "file" => VariableKind::File {
            file_name: node.require("file_name", "the name of a member")?.string()?.to_owned(),
        },
        "tmp-buf" => VariableKind::TmpBuf,
        "input" => VariableKind::Input,
        "output" => VariableKind::Output,
        "pointer" => VariableKind::Pointer {
            referenced: node.require("referenced_var_id", "a variable id")?.uint32()?,
        },
        "virtual" => VariableKind::Virtual {
            backing: node.optional("backing_buf", |n| n.string().map(str::to_owned))?,
            offset: node.optional("backing_variable_off", Node::uint)?.unwrap_or(0),
        },
        "dge-table" => VariableKind::DgeTable { list: list()? },
        "list" => VariableKind::List { list: list()? },
        text => match RemoteKind::ALL.into_iter().find(|k| k.name() == text) {
            Some(remote) => VariableKind::Remote(remote),
            None => return Err(kind.broken(Rule::VariableType, "a variable type of chapter 07 section 5.1")),
        },
    })
}

/// The size, required and positive where the variable is memory; a pointer has 8 bytes.
fn read_size(node: Node<'_, '_>, kind: &VariableKind) -> Result<Option<u64>> {
    use VariableKind::*;
    let optional = matches!(kind, StateBuffer | DgeTable { .. } | List { .. } | Remote(_));
    let Some(size) = node.get("size") else {
        return if optional { Ok(None) } else { node.require("size", "bytes, above 0").map(|_| None) };
    };
    match (kind, size.uint()?) {
        (Pointer { .. }, ADDRESS_BYTES) => Ok(Some(ADDRESS_BYTES)),
        (Pointer { .. }, _) => Err(size.broken(Rule::VariableSize, "8, the bytes of a pointer")),
        (_, 0) if !optional => Err(size.broken(Rule::VariableSize, "above 0")),
        (_, bytes) => Ok(Some(bytes)),
    }
}

/// A dtype by its `def.json` name.
pub(super) fn read_dtype(node: Node<'_, '_>) -> Result<Dtype> {
    device_dtype(node.string()?)
        .ok_or_else(|| node.broken(Rule::DtypeName, "a dtype name of chapter 07 section 5.7"))
}

fn read_shape(node: Node<'_, '_>, key: &str) -> Result<Vec<u64>> {
    let Some(shape) = node.get(key) else { return Ok(Vec::new()) };
    let dimensions = shape.list(Node::uint)?;
    if dimensions.len() > MAX_DIMENSIONS {
        return Err(shape.broken(Rule::Dimensions, format!("at most {MAX_DIMENSIONS} dimensions")));
    }
    Ok(dimensions)
}
