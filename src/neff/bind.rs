//! Which variables a host tensor is bound to (chapter 07 section 7).

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::error::{NeffError, Result, Rule};
use super::graph::Graph;
use super::host::HostTensor;
use super::json::{Document, Step};
use super::variable::{Variable, VariableKind};
use super::warning::{Warning, Warnings};

/// A host tensor and its variable in each graph: all of them are one buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// The tensor.
    pub tensor: HostTensor,
    /// Variable id, by graph.
    pub variables: Vec<u32>,
}

/// Binds inputs and outputs by name; where names differ but counts agree, by `var_id` order (C7-10).
pub(super) struct Binder<'a> {
    /// `neff.json`.
    pub(super) document: &'a Document,
    pub(super) graphs: &'a [Graph],
    pub(super) warnings: &'a mut Warnings,
}

impl<'a> Binder<'a> {
    /// Binds all tensors of one kind.
    pub(super) fn bind(&mut self, tensors: &[HostTensor], kind: &VariableKind) -> Result<Vec<Binding>> {
        let mut bindings: Vec<Binding> =
            tensors.iter().map(|t| Binding { tensor: t.clone(), variables: Vec::new() }).collect();
        for graph in self.graphs {
            let mut variables: Vec<_> = graph.def.variables.iter().filter(|v| v.kind == *kind).collect();
            variables.sort_by_key(|v| v.id);
            let chosen = self.choose(tensors, &variables, kind, graph)?;
            for (binding, variable) in bindings.iter_mut().zip(chosen) {
                self.check_size(&binding.tensor, variable, graph)?;
                binding.variables.push(variable.id);
            }
        }
        Ok(bindings)
    }

    /// The variable of each tensor in one graph.
    fn choose(
        &mut self,
        tensors: &[HostTensor],
        variables: &[&'a Variable],
        kind: &VariableKind,
        graph: &Graph,
    ) -> Result<Vec<&'a Variable>> {
        let by_name: HashMap<&str, &Variable> = variables.iter().map(|v| (v.name.as_str(), *v)).collect();
        let named: Vec<_> = tensors.iter().map(|t| by_name.get(t.name.as_str()).copied()).collect();
        if let Some(missing) = named.iter().position(Option::is_none) {
            if tensors.len() == variables.len() {
                self.warnings.push(Warning::BoundByOrder { graph: graph.name.clone(), kind: kind.name() });
                return Ok(variables.to_vec());
            }
            let expected = format!("an {} variable of this name in `{}`", kind.name(), graph.definition);
            return Err(self.refuse(&tensors[missing], "a tensor without variable".to_owned(), expected));
        }
        let names: HashSet<&str> = tensors.iter().map(|t| t.name.as_str()).collect();
        for variable in variables.iter().filter(|v| !names.contains(v.name.as_str())) {
            let (graph, variable) = (graph.name.clone(), variable.name.clone());
            self.warnings.push(Warning::UnboundVariable { graph, variable });
        }
        Ok(named.into_iter().flatten().collect())
    }

    fn check_size(&self, tensor: &HostTensor, variable: &Variable, graph: &Graph) -> Result<()> {
        let bytes = tensor.bytes().map(|b| b as u64);
        if bytes == variable.size {
            return Ok(());
        }
        let shown = |bytes: Option<u64>| bytes.map_or("unknown".to_owned(), |b| format!("{b} bytes"));
        let (name, member) = (&variable.name, &graph.definition);
        let expected = format!("{}, the size of `{name}` in `{member}`", shown(variable.size));
        Err(self.refuse(tensor, format!("`{}` of {}", tensor.name, shown(bytes)), expected))
    }

    /// A broken binding, at the node that names the tensor.
    fn refuse(&self, tensor: &HostTensor, value: String, expected: String) -> NeffError {
        let names = |node: &Value| {
            let outputs = node.get("output_names").or_else(|| node.get("attrs")?.get("output_names"));
            let output =
                outputs.and_then(Value::as_array).is_some_and(|list| list.contains(&json!(tensor.name)));
            output || node.get("name").is_some_and(|name| *name == tensor.name)
        };
        let nodes = self.document.root().get("nodes").and_then(|n| n.value().as_array());
        let index = nodes.and_then(|nodes| nodes.iter().position(names)).unwrap_or(0);
        self.document.broken(Rule::HostBinding, &[Step::Key("nodes"), Step::Index(index)], value, expected)
    }
}
