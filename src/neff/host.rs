//! Tier 1, `neff.json`: the host-visible graph (chapter 07 section 4.1).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use seqjit_runtime::isa::Dtype;
use serde_json::{Value, json};

use super::error::{Result, Rule};
use super::json::{Document, Node};
use super::names::{host_dtype, host_name};
use super::warning::{Warning, Warnings};

/// The member's name, the only one that is not named by another member.
pub const HOST_MEMBER: &str = "neff.json";

/// Dimensions of a tensor (chapter 07 section 4.1).
const MAX_DIMENSIONS: usize = 32;

/// The value of `func_name` of the node that carries the program.
const KERNEL: &str = "__kelf";

/// A tensor that the host binds by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostTensor {
    /// Name, also of the variables bound to it.
    pub name: String,
    /// Elements in each dimension, outermost first.
    pub shape: Vec<usize>,
    /// Datatype; [`Dtype::INVALID`] for a name that is not known, which counts one byte an element.
    pub dtype: Dtype,
}

impl HostTensor {
    /// Bytes of the tensor; `None` on overflow, which a tensor that was read never has.
    pub fn bytes(&self) -> Option<usize> {
        let element = self.dtype.bytes().max(1);
        self.shape.iter().try_fold(element, |bytes, n| bytes.checked_mul(*n))
    }
}

/// What `neff.json` says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostGraph {
    /// The tier-2 member.
    pub kelf: String,
    /// Inputs in order of `arg_nodes`.
    pub inputs: Vec<HostTensor>,
    /// Outputs in order of `heads`; those that name one buffer (one of each graph) are one tensor.
    pub outputs: Vec<HostTensor>,
}

impl HostGraph {
    /// Reads the document.
    pub(super) fn read(document: &Document, warnings: &mut Warnings) -> Result<HostGraph> {
        let root = document.root();
        let nodes = root.require("nodes", "an array of nodes")?;
        let attrs = root.require("attrs", "an object with `shape` and `dltype`")?;
        let tables = Tables {
            shapes: tagged(attrs, "shape")?,
            dtypes: tagged(attrs, "dltype")?,
            first: root.require("node_row_ptr", "an array of entry ids")?.list(Node::index)?,
        };
        let mut graph = HostGraph { kelf: kelf_member(nodes)?, ..HostGraph::default() };
        let mut inputs = HashSet::new();
        for arg in root.require("arg_nodes", "an array of node indices")?.elements()? {
            let node = pick(&nodes, arg)?;
            let name = node.require("name", "a string")?.string()?;
            let tensor = tables.tensor(arg, arg.index()?, 0, name, warnings)?;
            if !inputs.insert(name) {
                return Err(node.broken(Rule::TensorName, "an input name that is unique"));
            }
            graph.inputs.push(tensor);
        }
        let mut outputs = HashMap::new();
        for head in root.require("heads", "an array of [node, output, version]")?.elements()? {
            let tensor = output(head, nodes, &tables, warnings)?;
            match outputs.entry(tensor.name.clone()) {
                Entry::Vacant(entry) => {
                    entry.insert(graph.outputs.len());
                    graph.outputs.push(tensor);
                }
                Entry::Occupied(first) if graph.outputs[*first.get()] == tensor => {}
                Entry::Occupied(_) => {
                    let expected = format!("the shape and dtype that `{}` has before", tensor.name);
                    return Err(head.broken(Rule::TensorName, expected));
                }
            }
        }
        Ok(graph)
    }

    /// The document in the compiler's form, with each output once per graph.
    pub(super) fn to_json(&self, graphs: usize) -> Value {
        let outputs: Vec<&HostTensor> =
            self.outputs.iter().flat_map(|t| std::iter::repeat_n(t, graphs.max(1))).collect();
        let entries: Vec<&HostTensor> = self.inputs.iter().chain(outputs.iter().copied()).collect();
        let kernel = self.inputs.len();
        let mut nodes: Vec<Value> = self
            .inputs
            .iter()
            .map(|t| {
                json!({"op": "null", "name": t.name, "inputs": [], "output_names": [t.name], "is_param": "0"})
            })
            .collect();
        nodes.push(json!({
            "op": "tvm_op",
            "name": "sg_coreV10",
            "attrs": {
                "func_name": KERNEL,
                "flatten_data": "0",
                "num_inputs": kernel.to_string(),
                "kelf": self.kelf,
                "num_outputs": outputs.len().to_string(),
            },
            "inputs": (0..kernel).map(|i| json!([i, 0, 0])).collect::<Vec<_>>(),
            "output_names": outputs.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
        }));
        json!({
            "nodes": nodes,
            "arg_nodes": (0..kernel).collect::<Vec<_>>(),
            "heads": (0..outputs.len()).map(|i| json!([kernel, i, 0])).collect::<Vec<_>>(),
            "attrs": {
                "shape": ["list_shape", entries.iter().map(|t| json!(t.shape)).collect::<Vec<_>>()],
                "storage_id": ["list_int", (0..entries.len()).collect::<Vec<_>>()],
                "dltype": ["list_str", entries.iter().map(|t| host_name(t.dtype)).collect::<Vec<_>>()],
            },
            "node_row_ptr": (0..=kernel).chain([entries.len()]).collect::<Vec<_>>(),
        })
    }
}

/// Shape and dtype per entry id, and each node's first entry id.
struct Tables<'v> {
    shapes: Vec<Vec<usize>>,
    dtypes: Vec<&'v str>,
    first: Vec<usize>,
}

/// A `[tag, [element...]]` attribute that is a table.
trait Element<'v>: Sized {
    fn read(node: Node<'v, '_>) -> Result<Self>;
}

impl<'v> Element<'v> for &'v str {
    fn read(node: Node<'v, '_>) -> Result<Self> {
        node.string()
    }
}

impl<'v> Element<'v> for Vec<usize> {
    fn read(node: Node<'v, '_>) -> Result<Self> {
        node.list(Node::index)
    }
}

fn tagged<'v, T: Element<'v>>(attrs: Node<'v, '_>, key: &str) -> Result<Vec<T>> {
    let pair = attrs.require(key, "[tag, table]")?;
    pair.at(1).ok_or_else(|| pair.wrong_type("[tag, table]"))?.list(T::read)
}

impl Tables<'_> {
    /// The tensor at output `output` of node `node`; `at` is what names it.
    fn tensor(
        &self,
        at: Node<'_, '_>,
        node: usize,
        output: usize,
        name: &str,
        warnings: &mut Warnings,
    ) -> Result<HostTensor> {
        let entry = self.first.get(node).and_then(|first| first.checked_add(output));
        let found = entry.and_then(|entry| Some((self.shapes.get(entry)?, self.dtypes.get(entry)?)));
        let Some((shape, dtype)) = found else {
            let expected = format!(
                "an entry inside the shape ({}) and dtype ({}) tables",
                self.shapes.len(),
                self.dtypes.len()
            );
            return Err(at.broken(Rule::EntryId, expected));
        };
        let known = host_dtype(dtype);
        if known.is_none() {
            warnings.push(Warning::UnknownDtype { tensor: name.to_owned(), dtype: (*dtype).to_owned() });
        }
        let tensor = HostTensor {
            name: name.to_owned(),
            shape: shape.clone(),
            dtype: known.unwrap_or(Dtype::INVALID),
        };
        if shape.len() > MAX_DIMENSIONS || tensor.bytes().is_none() {
            let expected = format!("a tensor of at most {MAX_DIMENSIONS} dimensions whose bytes fit 64 bits");
            return Err(at.broken(Rule::TensorShape, expected));
        }
        Ok(tensor)
    }
}

/// The node that an index names.
fn pick<'v, 's>(nodes: &'s Node<'v, '_>, index: Node<'_, '_>) -> Result<Node<'v, 's>> {
    let count = nodes.elements()?.len();
    nodes.at(index.index()?).ok_or_else(|| index.broken(Rule::EntryId, format!("a node index below {count}")))
}

/// The output that a head names: `[node, output, version]`.
fn output(
    head: Node<'_, '_>,
    nodes: Node<'_, '_>,
    tables: &Tables<'_>,
    warnings: &mut Warnings,
) -> Result<HostTensor> {
    let (Some(node_index), Some(slot)) = (head.at(0), head.at(1)) else {
        return Err(head.wrong_type("[node, output, version]"));
    };
    let node = pick(&nodes, node_index)?;
    let slot = slot.index()?;
    // The names stand at node level; the older tool chain put them into the attributes.
    let attrs = node.get("attrs");
    let names = node.get("output_names").or_else(|| attrs.as_ref()?.get("output_names"));
    let name = match &names {
        Some(names) => {
            let named = names.at(slot);
            named
                .ok_or_else(|| head.broken(Rule::EntryId, "an output that `output_names` names"))?
                .string()?
        }
        None => node.require("name", "a string")?.string()?,
    };
    tables.tensor(head, node_index.index()?, slot, name, warnings)
}

/// The tier-2 member that the one kernel node names.
fn kelf_member(nodes: Node<'_, '_>) -> Result<String> {
    let mut found = None;
    for node in nodes.elements()? {
        let Some(attrs) = node.get("attrs") else { continue };
        if attrs.get("func_name").is_none_or(|f| f.value() != KERNEL) {
            continue;
        }
        let kelf = attrs.require("kelf", "the name of the kelf member")?.string()?;
        if found.replace(kelf.to_owned()).is_some() {
            return Err(node.broken(Rule::KernelNode, "one node with `func_name` `__kelf`"));
        }
    }
    found.ok_or_else(|| nodes.broken(Rule::KernelNode, "a node with `func_name` `__kelf`"))
}
