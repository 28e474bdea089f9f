//! One graph with everything that belongs to it: definition, streams, constants and tables (chapter 07
//! sections 5, 6 and 8.1).

use seqjit_runtime::isa::{Dtype, EngineId, Generation, WORD_BYTES, Word};

use super::archive::Archive;
use super::block::DmaBlock;
use super::bytes::Bytes;
use super::check;
use super::definition::GraphDef;
use super::engine::EngineDesc;
use super::error::{Findings, NeffError, Result};
use super::json::Document;
use super::kelf::KelfGraph;
use super::npy;
use super::options::ReadOptions;
use super::tables::{ActivationSet, DveTables};
use super::variable::{Variable, VariableKind};
use super::warning::{Warning, Warnings};

/// The program of one core.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    /// For example `sg00`.
    pub name: String,
    /// The tier-3 member.
    pub definition: String,
    /// What it says.
    pub def: GraphDef,
    /// The engines, by [`EngineId::index`].
    pub engines: [Engine; 5],
    /// Contents of the `file` variables, in their order.
    pub constants: Vec<Constant>,
    /// Activation table sets in the order that words index them.
    pub activation_sets: Vec<ActivationSet>,
    /// DVE microprogram tables.
    pub dve_tables: Vec<DveTables>,
}

/// One engine of a graph.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Engine {
    /// What its JSON member says.
    pub desc: EngineDesc,
    /// Its stream: whole words; empty for an engine without work.
    pub stream: Bytes,
}

/// The contents of a `file` variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constant {
    /// The variable.
    pub var_id: u32,
    /// The member, with its directory.
    pub member: String,
    /// Datatype of a numpy member; a raw member has none.
    pub dtype: Option<Dtype>,
    /// Shape of a numpy member.
    pub shape: Vec<usize>,
    /// The bytes; in lenient mode there may be fewer than the variable has, and the rest is zero.
    pub payload: Bytes,
}

impl Graph {
    /// An engine.
    pub fn engine(&self, engine: EngineId) -> &Engine {
        &self.engines[engine.index()]
    }

    /// The words of an engine, in order.
    pub fn words(&self, engine: EngineId) -> impl ExactSizeIterator<Item = Word> + '_ {
        self.engine(engine).stream.as_chunks::<WORD_BYTES>().0.iter().map(|bytes| Word(*bytes))
    }

    /// All blocks, those of `def.json` first, then engine by engine.
    pub fn blocks(&self) -> impl Iterator<Item = &DmaBlock> {
        self.def.blocks.iter().chain(self.engines.iter().flat_map(|e| &e.desc.blocks))
    }

    /// The block that a C1 word names.
    pub fn block(&self, queue: &str, id: u32) -> Option<&DmaBlock> {
        self.blocks().find(|b| b.id == id && b.queue == queue)
    }

    /// The contents of a `file` variable.
    pub fn constant(&self, var_id: u32) -> Option<&Constant> {
        self.constants.iter().find(|c| c.var_id == var_id)
    }

    /// The activation table sets in the order that words index them.
    pub fn activation_sets(&self) -> &[ActivationSet] {
        &self.activation_sets
    }

    /// Which opcodes the DVE has a microprogram for; `None` if the container does not say.
    pub fn dve_programs(&self) -> Option<[bool; 256]> {
        self.dve_tables.first().map(DveTables::programs)
    }
}

/// Where a graph is read from.
pub(super) struct Source<'a> {
    pub(super) archive: &'a Archive,
    pub(super) prefix: &'a str,
    pub(super) generation: Generation,
    pub(super) options: &'a ReadOptions,
    pub(super) warnings: &'a mut Warnings,
}

impl Source<'_> {
    /// The path of a name that is relative to the graph's directory.
    fn path(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    /// A member of the graph's directory with its path.
    pub(super) fn member(&self, name: &str, needed_by: impl FnOnce() -> String) -> Result<(String, Bytes)> {
        let path = self.path(name);
        let bytes = self.archive.require(&path, needed_by)?.clone();
        Ok((path, bytes))
    }

    /// A JSON member of the graph's directory.
    pub(super) fn document(&mut self, name: &str, needed_by: impl FnOnce() -> String) -> Result<Document> {
        let (path, bytes) = self.member(name, needed_by)?;
        Document::parse(&path, &bytes, &self.options.limits, self.warnings)
    }
}

/// Reads the graph that the kelf names and checks it.
pub(super) fn read(graph: &KelfGraph, source: &mut Source<'_>) -> Result<Graph> {
    let needed_by = || format!("graph `{}`", graph.name);
    let definition = source.archive.require(&graph.definition, needed_by)?;
    let limits = &source.options.limits;
    let document = Document::parse(&graph.definition, definition, limits, source.warnings)?;
    let mut def = GraphDef::read(&document)?;
    if let Some(member) = def.libraries.member.clone() {
        let list = source.document(&member, || format!("`ucode_lib` of `{}`", graph.definition))?;
        def.libraries.read_member(&list)?;
    }
    let mut documents = Vec::new();
    let mut engines: [Engine; 5] = Default::default();
    let mut findings = Findings::default();
    for engine in EngineId::ALL {
        let member = def.engines[engine.index()].as_deref();
        if let Some(Some((read, text))) = findings.keep(read_engine(&graph.name, engine, member, source)) {
            engines[engine.index()] = read;
            documents.push((engine, text));
        }
    }
    findings.finish()?;
    let mut out = Graph {
        name: graph.name.clone(),
        definition: graph.definition.clone(),
        def,
        engines,
        constants: Vec::new(),
        activation_sets: Vec::new(),
        dve_tables: Vec::new(),
    };
    check::definition(&out, &document, source)?;
    check::blocks(&out, &document, &documents, source.generation)?;
    read_constants(&mut out, source)?;
    read_tables(&mut out, &documents, source)?;
    Ok(out)
}

/// An engine's description and stream; `None`, with a warning, if it has no description.
fn read_engine(
    graph: &str,
    engine: EngineId,
    member: Option<&str>,
    source: &mut Source<'_>,
) -> Result<Option<(Engine, Document)>> {
    let path = member.map(|name| source.path(name));
    let Some(name) = member.filter(|name| source.archive.get(&source.path(name)).is_some()) else {
        let member = path.unwrap_or_default();
        source.warnings.push(Warning::MissingEngine { graph: graph.to_owned(), engine, member });
        return Ok(None);
    };
    let document = source.document(name, || format!("engine {engine}"))?;
    let desc = EngineDesc::read(&document)?;
    let stream = match &desc.instr {
        None => Bytes::default(),
        Some(instr) => {
            let (path, bytes) = source.member(instr, || format!("`instr` of `{}`", document.member()))?;
            whole_words(path, bytes, source)?
        }
    };
    Ok(Some((Engine { desc, stream }, document)))
}

/// A stream is a whole number of words; lenient mode drops the rest (C7-11).
fn whole_words(member: String, bytes: Bytes, source: &mut Source<'_>) -> Result<Bytes> {
    let tail = bytes.len() % WORD_BYTES;
    if tail == 0 {
        return Ok(bytes);
    }
    if source.options.strict {
        let expected = format!("a multiple of {WORD_BYTES}, the bytes of a word");
        return Err(NeffError::MemberSize { member, size: bytes.len() as u64, expected });
    }
    source.warnings.push(Warning::StreamTail { member, tail });
    Ok(bytes.slice(0..bytes.len() - tail))
}

fn read_constants(graph: &mut Graph, source: &mut Source<'_>) -> Result<()> {
    let mut findings = Findings::default();
    let mut constants = Vec::new();
    for variable in &graph.def.variables {
        if findings.full() {
            break;
        }
        if let VariableKind::File { file_name } = &variable.kind {
            constants.extend(findings.keep(read_constant(variable, file_name, source)));
        }
    }
    findings.finish()?;
    graph.constants = constants;
    Ok(())
}

/// The contents of a `file` variable: numpy if the name says so, else raw (chapter 07 section 6).
fn read_constant(variable: &Variable, file_name: &str, source: &mut Source<'_>) -> Result<Constant> {
    let (member, bytes) = source.member(file_name, || format!("variable `{}`", variable.name))?;
    let (dtype, shape, payload) = if file_name.ends_with(".npy") {
        let parsed = npy::Header::parse(&bytes);
        let header = parsed.map_err(|source| NeffError::Npy { member: member.clone(), source })?;
        (Some(header.dtype), header.shape, bytes.slice(header.payload..bytes.len()))
    } else {
        (None, Vec::new(), bytes)
    };
    let held = payload.len() as u64;
    let size = variable.size.unwrap_or(held);
    if held > size || held < size && source.options.strict {
        let expected = format!("{size} bytes of data, the size of variable `{}`", variable.name);
        return Err(NeffError::MemberSize { member, size: held, expected });
    }
    if held < size {
        source.warnings.push(Warning::ShortConstant { member: member.clone(), bytes: held, size });
    }
    Ok(Constant { var_id: variable.id, member, dtype, shape, payload })
}

fn read_tables(graph: &mut Graph, documents: &[(EngineId, Document)], source: &mut Source<'_>) -> Result<()> {
    if let Some((_, document)) = documents.iter().find(|(engine, _)| *engine == EngineId::Act) {
        let desc = &graph.engine(EngineId::Act).desc;
        graph.activation_sets = ActivationSet::read_all(desc, document, source)?;
    }
    let names = &graph.engine(EngineId::Dve).desc.dve_tables;
    graph.dve_tables = names.iter().map(|n| DveTables::read(n, source)).collect::<Result<_>>()?;
    Ok(())
}
