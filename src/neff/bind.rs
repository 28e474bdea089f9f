//! Which variables a host tensor is bound to (chapter 07 section 7).

use super::error::{NeffError, Place, Result, Rule};
use super::graph::Graph;
use super::host::{HOST_MEMBER, HostTensor};
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

/// Binds the inputs or the outputs by name; where names differ but counts agree, by `var_id` order (C7-10).
pub(super) fn bind(
    tensors: &[HostTensor],
    kind: &VariableKind,
    graphs: &[Graph],
    warnings: &mut Warnings,
) -> Result<Vec<Binding>> {
    let mut bindings: Vec<Binding> =
        tensors.iter().map(|t| Binding { tensor: t.clone(), variables: Vec::new() }).collect();
    for graph in graphs {
        let mut variables: Vec<&Variable> = graph.def.variables.iter().filter(|v| v.kind == *kind).collect();
        variables.sort_by_key(|v| v.id);
        let chosen = choose(tensors, &variables, kind, graph, warnings)?;
        for (binding, variable) in bindings.iter_mut().zip(chosen) {
            check_size(&binding.tensor, variable, graph)?;
            binding.variables.push(variable.id);
        }
    }
    Ok(bindings)
}

/// The variable of each tensor in one graph.
fn choose<'a>(
    tensors: &[HostTensor],
    variables: &[&'a Variable],
    kind: &VariableKind,
    graph: &Graph,
    warnings: &mut Warnings,
) -> Result<Vec<&'a Variable>> {
    let by_name = |tensor: &HostTensor| variables.iter().copied().find(|v| v.name == tensor.name);
    let named: Vec<Option<&Variable>> = tensors.iter().map(by_name).collect();
    if let Some(missing) = named.iter().position(Option::is_none) {
        if tensors.len() == variables.len() {
            warnings.push(Warning::BoundByOrder { graph: graph.name.clone(), kind: kind.name() });
            return Ok(variables.to_vec());
        }
        return Err(refuse(
            &tensors[missing],
            "without variable".to_owned(),
            format!("an {} variable of this name in `{}`", kind.name(), graph.definition),
        ));
    }
    for variable in variables {
        if !tensors.iter().any(|t| t.name == variable.name) {
            let (graph, variable) = (graph.name.clone(), variable.name.clone());
            warnings.push(Warning::UnboundVariable { graph, variable });
        }
    }
    Ok(named.into_iter().flatten().collect())
}

fn check_size(tensor: &HostTensor, variable: &Variable, graph: &Graph) -> Result<()> {
    let bytes = tensor.bytes().map(|b| b as u64);
    if bytes == variable.size {
        return Ok(());
    }
    let shown = |bytes: Option<u64>| bytes.map_or("unknown".to_owned(), |b| format!("{b} bytes"));
    let expected =
        format!("{}, the size of `{}` in `{}`", shown(variable.size), variable.name, graph.definition);
    Err(refuse(tensor, shown(bytes), expected))
}

/// A broken binding; tensors are found by name, so the place is the whole of `neff.json`.
fn refuse(tensor: &HostTensor, value: String, expected: String) -> NeffError {
    let at = Place { member: HOST_MEMBER.to_owned(), path: tensor.name.clone(), offset: 0 };
    NeffError::Rule { rule: Rule::HostBinding, at: Box::new(at), value, expected }
}
