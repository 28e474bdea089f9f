//! Tier 2, the kelf member: target and graphs (chapter 07 section 4.2).

use std::collections::HashSet;

use seqjit_runtime::isa::Generation;
use serde_json::{Value, json};

use super::error::{NeffError, Result, Rule};
use super::json::{Document, Node, Step};
use super::options::{Limits, ReadOptions};
use super::warning::{Warning, Warnings};

/// The generation for target `*` when none is asked for (C7-5).
const ANY_TARGET: Generation = Generation::Cayman;

/// What the kelf member says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kelf {
    /// `MAJOR.MINOR[-suffix]`, always `0.5` so far.
    pub version: String,
    /// The generation the program is for; `None` for any (`*`).
    pub target: Option<Generation>,
    /// Graphs in order: graph k runs on core k.
    pub graphs: Vec<KelfGraph>,
}

/// One graph of the kelf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KelfGraph {
    /// For example `sg00`.
    pub name: String,
    /// The tier-3 member, for example `sg00/def.json`.
    pub definition: String,
}

impl KelfGraph {
    /// The directory of the definition: every name in it is relative to this.
    pub fn prefix(&self) -> &str {
        self.definition.rsplit_once('/').map_or("", |(directory, _)| directory)
    }
}

impl Kelf {
    /// Reads the document.
    pub(super) fn read(document: &Document, limits: &Limits) -> Result<Kelf> {
        let root = document.root();
        let version = root.require("version", "MAJOR.MINOR")?;
        if !version.string()?.contains('.') {
            return Err(version.broken(Rule::KelfVersion, "MAJOR.MINOR"));
        }
        // An absent target is an empty one, which names the oldest generation.
        let target = match root.get("target") {
            None => Some(Generation::Sunda),
            Some(node) => read_target(node)?,
        };
        let graphs = root.require("graphs", "an array of graphs")?;
        let graphs_read = graphs.list(|graph| {
            Ok(KelfGraph {
                name: graph.require("name", "a string")?.string()?.to_owned(),
                definition: graph.require("definition", "the path of a member")?.string()?.to_owned(),
            })
        })?;
        if graphs_read.is_empty() {
            return Err(graphs.broken(Rule::GraphName, "at least one graph"));
        }
        if graphs_read.len() > limits.graphs {
            return Err(graphs.broken(Rule::GraphName, format!("at most {} graphs", limits.graphs)));
        }
        let (mut names, mut definitions) = (HashSet::new(), HashSet::new());
        for (i, graph) in graphs_read.iter().enumerate() {
            if !names.insert(&graph.name) || !definitions.insert(&graph.definition) {
                let steps = [Step::Key("graphs"), Step::Index(i)];
                let expected = "a graph with its own name and definition";
                return Err(document.broken(Rule::GraphName, &steps, &graph.name, expected));
            }
        }
        Ok(Kelf { version: version.string()?.to_owned(), target, graphs: graphs_read })
    }

    /// The generation that runs the program (C7-5).
    pub(super) fn generation(
        &self,
        document: &Document,
        options: &ReadOptions,
        warnings: &mut Warnings,
    ) -> Result<Generation> {
        match (self.target, options.generation) {
            (None, Some(generation)) => Ok(generation),
            (None, None) => {
                warnings.push(Warning::TargetAssumed { target: "*".to_owned(), generation: ANY_TARGET });
                Ok(ANY_TARGET)
            }
            (Some(target), Some(generation)) if target != generation => {
                if !options.allow_legacy {
                    return Err(NeffError::WrongGeneration {
                        at: document.place(&[Step::Key("target")]),
                        target: target.name().to_owned(),
                        expected: generation,
                    });
                }
                warnings.push(Warning::TargetMismatch { target, generation });
                Ok(generation)
            }
            (Some(target), _) => Ok(target),
        }
    }

    /// The document in the compiler's form.
    pub(super) fn to_json(&self) -> Value {
        let graphs: Vec<Value> =
            self.graphs.iter().map(|g| json!({"definition": g.definition, "name": g.name})).collect();
        json!({
            "graphs": graphs,
            "version": self.version,
            "target": self.target.map_or("*", Generation::name),
        })
    }
}

/// Spellings of the target; `maverick` and `v5` are an extension (C7-1).
fn read_target(node: Node<'_, '_>) -> Result<Option<Generation>> {
    match node.string()? {
        "*" => Ok(None),
        "" => Ok(Some(Generation::Sunda)),
        text => {
            let named = Generation::ALL.into_iter().find(|g| text == g.name() || text == g.short_name());
            let expected = "sunda, cayman, mariana, maverick, v2 to v5, or *";
            named.map(Some).ok_or_else(|| node.broken(Rule::Target, expected))
        }
    }
}
