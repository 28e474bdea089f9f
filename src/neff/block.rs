//! DMA blocks and their descriptors (chapter 07 section 5.3). Sizes, steps and offsets are bytes whatever
//! the dtype, dimension 0 innermost.

use seqjit_runtime::isa::Dtype;
use serde_json::{Map, Value, json};

use super::error::{Result, Rule};
use super::json::Node;
use super::names::device_name;
use super::queue::{MAX_NAME, Queue, read_semaphore};
use super::variable::read_dtype;

/// Dimensions of an access pattern (chapter 07 section 5.3).
const MAX_DIMENSIONS: usize = 8;

/// Highest priority class (chapter 07 section 5.3).
const MAX_PRIORITY: u64 = 4;

/// What one C1 word starts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DmaBlock {
    /// Queue it belongs to.
    pub queue: String,
    /// Id, unique in the queue.
    pub id: u32,
    /// Its own completion semaphore.
    pub semaphore: Option<u8>,
    /// Queue instance; `None` for the queue itself.
    pub instance: Option<String>,
    /// Scheduling class 0..=4.
    pub priority_class: Option<u8>,
    /// Further semaphores posted on completion.
    pub remote_semaphores: Vec<u8>,
    /// Belongs to a callable function.
    pub function_start: bool,
    /// Section mark.
    pub section_start: bool,
    /// Diagnostic text.
    pub comment: String,
    /// Transfers in order.
    pub descriptors: Vec<Descriptor>,
}

/// One transfer.
#[derive(Clone, PartialEq, Debug)]
pub struct Descriptor {
    /// What it does to the data.
    pub op: DescriptorOp,
    /// Sources: one, or several for FMA, ADD, MIN and MAX.
    pub sources: Vec<Access>,
    /// Destination.
    pub destination: Access,
}

/// What a descriptor does.
#[derive(Clone, PartialEq, Debug)]
pub enum DescriptorOp {
    /// Copies bytes.
    Copy,
    /// Copies elements with conversion.
    Cast,
    /// Sum of source times scale.
    Fma {
        /// One per source.
        scale: Vec<f32>,
    },
    /// Sum of the sources.
    Add,
    /// Least of the sources and the constant.
    Min {
        /// One more source.
        constant: Option<f32>,
    },
    /// Greatest of the sources and the constant.
    Max {
        /// One more source.
        constant: Option<f32>,
    },
    /// Transposes every tile.
    Transpose(Tile),
}

/// A tile of a transposing descriptor: read as `[rows][columns]`, written as `[columns][rows]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    /// Y of `transpose_shape`.
    pub rows: u64,
    /// X of `transpose_shape`.
    pub columns: u64,
    /// Bytes of an element: 2 or 4.
    pub element_size: u64,
    /// How many of the last dimensions of both patterns enumerate tiles.
    pub tiling_dimensions: usize,
}

/// An access pattern inside a variable, enumerated with dimension 0 fastest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// The variable's name.
    pub variable: String,
    /// Byte offset of the first byte.
    pub offset: u64,
    /// Count in each dimension, innermost first.
    pub sizes: Vec<u64>,
    /// Byte step in each dimension.
    pub steps: Vec<i64>,
    /// Element type.
    pub dtype: Option<Dtype>,
}

impl DescriptorOp {
    /// The name in errors and listings, and `op` where it has one.
    pub fn name(&self) -> &'static str {
        match self {
            DescriptorOp::Copy => "copy",
            DescriptorOp::Cast => "cast",
            DescriptorOp::Fma { .. } => "fma",
            DescriptorOp::Add => "add",
            DescriptorOp::Min { .. } => "min",
            DescriptorOp::Max { .. } => "max",
            DescriptorOp::Transpose(_) => "transpose",
        }
    }

    /// Computes in floating point: the dtypes are required and the sizes count elements.
    pub fn computes(&self) -> bool {
        !matches!(self, DescriptorOp::Copy | DescriptorOp::Transpose(_))
    }
}

impl Access {
    /// Bytes that the pattern visits; `None` on overflow, which a pattern that was read never has.
    pub fn bytes(&self) -> Option<u64> {
        self.sizes.iter().try_fold(1_u64, |total, n| total.checked_mul(*n))
    }

    /// The first byte visited and the one behind the last, in the variable; `None` on overflow.
    pub fn span(&self) -> Option<(i128, i128)> {
        let mut low = i128::from(self.offset);
        let mut high = low;
        for (size, step) in self.sizes.iter().zip(&self.steps) {
            let reach = i128::from(size.checked_sub(1)?).checked_mul(i128::from(*step))?;
            low += reach.min(0);
            high += reach.max(0);
        }
        Some((low, high + 1))
    }

    fn to_json(&self, side: &str, map: &mut Map<String, Value>) {
        let mut put = |key: &str, value: Value| map.insert(format!("{side}{key}"), value);
        put("_off", json!(self.offset));
        put("_sizes", json!(self.sizes));
        put("_steps", json!(self.steps));
        if let Some(dtype) = self.dtype.and_then(device_name) {
            put("_dtype", json!(dtype));
        }
    }
}

impl DmaBlock {
    /// The semaphore that +16 goes to when the block is finished: its own, else the queue's, else the
    /// entry of the queue's set that its id selects (chapter 07 section 5.2).
    pub fn completion_semaphore(&self, queue: &Queue) -> Option<u8> {
        let from_set = || {
            let turn = (self.id as usize).checked_rem(queue.semaphore_set.len())?;
            queue.semaphore_set.get(turn).copied()
        };
        self.semaphore.or(queue.semaphore).or_else(from_set)
    }

    /// Reads an element of `dma`.
    pub(super) fn read(node: Node<'_, '_>) -> Result<DmaBlock> {
        let flag = |key: &str| Ok(node.optional(key, Node::flag)?.unwrap_or(false));
        let text = |key: &str| node.optional(key, |n| n.string().map(str::to_owned));
        Ok(DmaBlock {
            queue: node.require("queue", "the name of a queue")?.string()?.to_owned(),
            id: node.require("id", "an unsigned integer")?.uint32()?,
            semaphore: node.optional("semaphore", read_semaphore)?,
            instance: node.optional("instance_name", |n| match n.string()? {
                name if name.len() <= MAX_NAME => Ok(name.to_owned()),
                _ => Err(n.broken(Rule::NameLength, format!("a name of at most {MAX_NAME} bytes"))),
            })?,
            priority_class: node.optional("priority_class", |n| match n.uint()? {
                class @ 0..=MAX_PRIORITY => Ok(class as u8),
                _ => Err(n.broken(Rule::PriorityClass, format!("0 to {MAX_PRIORITY}"))),
            })?,
            remote_semaphores: node.optional_list("remote_semaphores", read_semaphore)?,
            function_start: flag("function_start")?,
            section_start: flag("section_start_desc")?,
            comment: text("#comment")?.or(text("comment")?).unwrap_or_default(),
            descriptors: node.require("desc", "an array of descriptors")?.list(Descriptor::read)?,
        })
    }

    /// The element of `dma` in the compiler's form.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        put("queue", json!(self.queue));
        put("id", json!(self.id));
        put("desc", self.descriptors.iter().map(Descriptor::to_json).collect());
        if !self.comment.is_empty() {
            put("#comment", json!(self.comment));
        }
        if let Some(semaphore) = self.semaphore {
            put("semaphore", json!(semaphore));
        }
        if let Some(instance) = &self.instance {
            put("instance_name", json!(instance));
        }
        if let Some(class) = self.priority_class {
            put("priority_class", json!(class));
        }
        if !self.remote_semaphores.is_empty() {
            put("remote_semaphores", json!(self.remote_semaphores));
        }
        for (key, flag) in
            [("function_start", self.function_start), ("section_start_desc", self.section_start)]
        {
            if flag {
                put(key, json!(true));
            }
        }
        map.sort_keys();
        Value::Object(map)
    }
}

impl Descriptor {
    fn read(node: Node<'_, '_>) -> Result<Descriptor> {
        let op = read_op(node)?;
        let sources = read_sources(node)?;
        if let (DescriptorOp::Fma { scale }, Some(list)) = (&op, node.get("scale"))
            && scale.len() != sources.len()
        {
            return Err(list.broken(Rule::Scale, format!("{} numbers, one per source", sources.len())));
        }
        let to = node.require("to", "the name of a variable")?;
        let variable = match to.at(0) {
            Some(first) if to.elements()?.len() == 1 => first.string()?,
            _ => to.string()?,
        };
        let offset = node.optional("to_off", Node::uint)?.unwrap_or(0);
        let destination = read_access(node, "to", variable, offset)?;
        Ok(Descriptor { op, sources, destination })
    }

    fn to_json(&self) -> Value {
        let mut map = Map::new();
        if let Some(first) = self.sources.first() {
            first.to_json("from", &mut map);
        }
        self.destination.to_json("to", &mut map);
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        match &self.sources[..] {
            [one] => {
                put("from", json!(one.variable));
            }
            several => {
                put("from", several.iter().map(|s| json!(s.variable)).collect());
                put("from_off", several.iter().map(|s| json!(s.offset)).collect());
            }
        }
        put("to", json!(self.destination.variable));
        put("num_tiling_dimensions", json!(1));
        match &self.op {
            DescriptorOp::Transpose(tile) => {
                put("num_tiling_dimensions", json!(tile.tiling_dimensions));
                put("transpose_op", json!(TRANSPOSE_OP));
                put("transpose_shape", json!([1, 1, tile.rows, tile.columns]));
                put("transpose_element_size", json!(tile.element_size));
            }
            op => {
                put("op", json!(op.name()));
            }
        }
        match &self.op {
            DescriptorOp::Fma { scale } => {
                put("scale", json!(scale));
                put("scale_dtype", json!("float32"));
            }
            DescriptorOp::Min { constant: Some(value) } | DescriptorOp::Max { constant: Some(value) } => {
                put("constant", json!(value));
                put("constant_dtype", json!("float32"));
            }
            _ => {}
        }
        map.sort_keys();
        Value::Object(map)
    }
}

/// The only transpose with a known meaning.
const TRANSPOSE_OP: &str = "WZXY";

fn read_op(node: Node<'_, '_>) -> Result<DescriptorOp> {
    if let Some(transpose) = node.get("transpose_op") {
        return read_transpose(node, transpose).map(DescriptorOp::Transpose);
    }
    let Some(op) = node.get("op") else { return Ok(DescriptorOp::Copy) };
    let constant = || {
        float32_only(node, "constant_dtype")?;
        node.optional("constant", read_f32)
    };
    Ok(match op.string()? {
        "copy" => DescriptorOp::Copy,
        "cast" => DescriptorOp::Cast,
        "add" => DescriptorOp::Add,
        "min" => DescriptorOp::Min { constant: constant()? },
        "max" => DescriptorOp::Max { constant: constant()? },
        "fma" => {
            float32_only(node, "scale_dtype")?;
            let scale = node.require("scale", "a number per source")?;
            let several = scale.value().is_array();
            DescriptorOp::Fma { scale: if several { scale.list(read_f32)? } else { vec![read_f32(scale)?] } }
        }
        "transpose" => return Err(op.unsupported("a transpose without `transpose_op`")),
        _ => return Err(op.unsupported("this descriptor operation")),
    })
}

fn read_f32(node: Node<'_, '_>) -> Result<f32> {
    let value = node.float()? as f32;
    if value.is_finite() { Ok(value) } else { Err(node.broken(Rule::Scale, "a finite float32")) }
}

fn float32_only(node: Node<'_, '_>, key: &str) -> Result<()> {
    match node.get(key) {
        Some(dtype) if dtype.string()? != "float32" => Err(dtype.unsupported("a number other than float32")),
        _ => Ok(()),
    }
}

fn read_transpose(node: Node<'_, '_>, op: Node<'_, '_>) -> Result<Tile> {
    if op.string()? != TRANSPOSE_OP {
        return Err(op.unsupported("a transpose other than WZXY"));
    }
    let shape = node.require("transpose_shape", "[1, 1, Y, X]")?;
    let (rows, columns) = match shape.list(Node::uint)?[..] {
        [1, 1, rows, columns] if rows > 0 && columns > 0 => (rows, columns),
        _ => return Err(shape.broken(Rule::Transpose, "[1, 1, Y, X] with Y and X above 0")),
    };
    let element = node.require("transpose_element_size", "2 or 4")?;
    let element_size = match element.uint()? {
        bytes @ (2 | 4) => bytes,
        _ => return Err(element.broken(Rule::Transpose, "2 or 4 bytes")),
    };
    let tiling = node.require("num_tiling_dimensions", "2")?;
    let tiling_dimensions = match tiling.index()? {
        count @ 1..MAX_DIMENSIONS => count,
        _ => return Err(tiling.broken(Rule::Transpose, "1 to 7 dimensions that enumerate tiles")),
    };
    Ok(Tile { rows, columns, element_size, tiling_dimensions })
}

/// The sources: `from` is a name, or `from` or `from_arr` is an array of names. Their pattern is shared;
/// the offset too, unless `from_off` has one per source.
fn read_sources(node: Node<'_, '_>) -> Result<Vec<Access>> {
    let from = match node.get("from_arr") {
        Some(array) => array,
        None => node.require("from", "the name of a variable")?,
    };
    let names = if from.value().is_array() { from.list(Node::string)? } else { vec![from.string()?] };
    if names.is_empty() {
        return Err(from.broken(Rule::SourceCount, "at least one source"));
    }
    let offsets = match node.get("from_off") {
        None => vec![0; names.len()],
        Some(offset) if offset.value().is_array() => offset.list(Node::uint)?,
        Some(offset) => vec![offset.uint()?; names.len()],
    };
    if offsets.len() != names.len() {
        let expected = format!("{} offsets, one per source", names.len());
        return Err(node.require("from_off", "")?.broken(Rule::SourceCount, expected));
    }
    names.iter().zip(offsets).map(|(name, offset)| read_access(node, "from", name, offset)).collect()
}

fn read_access(node: Node<'_, '_>, side: &str, variable: &str, offset: u64) -> Result<Access> {
    let [sizes_key, steps_key, dtype_key] = ["sizes", "steps", "dtype"].map(|part| format!("{side}_{part}"));
    let sizes_node = node.require(&sizes_key, "an array of counts")?;
    let steps_node = node.require(&steps_key, "an array of byte steps")?;
    let sizes = sizes_node.list(Node::uint)?;
    let steps = steps_node.list(Node::int)?;
    if sizes.is_empty() || sizes.len() > MAX_DIMENSIONS || sizes.contains(&0) {
        return Err(sizes_node.broken(Rule::Pattern, format!("1 to {MAX_DIMENSIONS} counts above 0")));
    }
    if steps.len() != sizes.len() {
        return Err(steps_node.broken(Rule::Pattern, format!("{} steps, one per count", sizes.len())));
    }
    let dtype = node.optional(&dtype_key, read_dtype)?;
    let access = Access { variable: variable.to_owned(), offset, sizes, steps, dtype };
    if access.bytes().is_none() || access.span().is_none() {
        return Err(sizes_node.broken(Rule::Pattern, "a number of bytes that fits 64 bits"));
    }
    Ok(access)
}
