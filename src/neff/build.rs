//! Making a container from its parts, in the form of the vendor's compiler (chapter 07 section 2.2).

use md5::{Digest, Md5};
use seqjit_runtime::isa::{EngineId, Generation};
use serde_json::Value;

use super::Neff;
use super::archive::Archive;
use super::bytes::Bytes;
use super::definition::GraphDef;
use super::engine::EngineDesc;
use super::error::Result;
use super::graph::Graph;
use super::header::Header;
use super::host::{HOST_MEMBER, HostGraph, HostTensor};
use super::kelf::{Kelf, KelfGraph};
use super::options::ReadOptions;

/// The tier-2 member of the vendor's compiler.
const KELF_MEMBER: &str = "kelf-0.json";

/// Stems of the engines' members, by [`EngineId::index`] (chapter 07 section 3.2).
const STEMS: [&str; 5] = ["PE", "Activation", "Pool", "DVE", "SP"];

/// The parts of a container.
///
/// [`Self::build`] gives a [`Neff`] that is read from these parts, so it holds to every rule of reading;
/// [`Neff::write`] makes the file.
#[derive(Clone, Debug)]
pub struct NeffBuilder {
    /// Model name.
    pub name: String,
    /// The generation the program is for; `None` for any.
    pub target: Option<Generation>,
    /// Host-visible inputs; every graph has an input variable of each name.
    pub inputs: Vec<HostTensor>,
    /// Host-visible outputs, likewise.
    pub outputs: Vec<HostTensor>,
    /// Graphs: graph k is the program of core k and gets the directory `sg0k`.
    pub graphs: Vec<GraphSource>,
    /// Further members, by path.
    pub files: Vec<(String, Bytes)>,
    /// The uuid; `None` derives one from the contents, so that equal containers are equal files.
    pub uuid: Option<[u8; 16]>,
}

/// The parts of one graph.
#[derive(Clone, Debug, Default)]
pub struct GraphSource {
    /// Its definition. Engine members without a name get the vendor's.
    pub def: GraphDef,
    /// The engines, by [`EngineId::index`].
    pub engines: [EngineSource; 5],
    /// Constants and tables, by name in the graph's directory.
    pub files: Vec<(String, Bytes)>,
}

/// One engine of a graph.
#[derive(Clone, Debug, Default)]
pub struct EngineSource {
    /// Its description. A stream without a name gets the vendor's.
    pub desc: EngineDesc,
    /// Its words.
    pub stream: Bytes,
}

impl NeffBuilder {
    /// A container without graphs.
    pub fn new(name: impl Into<String>, target: Option<Generation>) -> NeffBuilder {
        NeffBuilder {
            name: name.into(),
            target,
            inputs: Vec::new(),
            outputs: Vec::new(),
            graphs: Vec::new(),
            files: Vec::new(),
            uuid: None,
        }
    }

    /// Takes a program apart into the parts that make it again. Members that no part names are kept; the
    /// header and the JSON tiers are made anew, so feature bits and keys that reading ignores are lost.
    /// Graphs must have directories of their own.
    pub fn from_neff(neff: &Neff) -> NeffBuilder {
        let mut builder = NeffBuilder::new(neff.header.name(), neff.kelf.target);
        builder.inputs.clone_from(&neff.host.inputs);
        builder.outputs.clone_from(&neff.host.outputs);
        builder.uuid = Some(neff.header.uuid);
        builder.graphs = neff
            .graphs
            .iter()
            .zip(&neff.kelf.graphs)
            .map(|(g, k)| GraphSource::from_graph(g, k, &neff.archive))
            .collect();
        let in_graph = |path: &str| neff.kelf.graphs.iter().any(|g| relative(path, g.prefix()).is_some());
        let shared = neff.archive.members().iter().filter(|m| !in_graph(&m.path));
        builder.files = shared.map(|m| (m.path.clone(), m.bytes.clone())).collect();
        builder
    }

    /// Makes the members and reads the program from them.
    ///
    /// # Errors
    /// Whatever [`Neff::from_archive`] refuses, or [`super::NeffError::MemberPath`] for a bad path.
    pub fn build(&self, options: &ReadOptions) -> Result<Neff> {
        let mut members: Vec<(String, Bytes)> = Vec::new();
        for (k, graph) in self.graphs.iter().enumerate() {
            graph.members(&directory(k), &mut members);
        }
        let graphs = (0..self.graphs.len())
            .map(|k| KelfGraph { name: directory(k), definition: format!("{}/def.json", directory(k)) })
            .collect();
        let kelf = Kelf { version: "0.5".to_owned(), target: self.target, graphs };
        members.push((KELF_MEMBER.to_owned(), text(&kelf.to_json())));
        let host = HostGraph {
            kelf: KELF_MEMBER.to_owned(),
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
        };
        members.push((HOST_MEMBER.to_owned(), text(&host.to_json(self.graphs.len()))));
        let archive = self.archive(members)?;
        let mut header = Header { vnc_size: self.graphs.len().clamp(1, 2) as u32, ..Header::default() };
        header.set_name(&self.name);
        header.uuid = self.uuid.unwrap_or_else(|| content_uuid(&archive));
        Neff::from_archive(header, archive, options)
    }

    /// All members in the compiler's order: by path, the tier-1 member last. Made members win over further
    /// ones of the same path.
    fn archive(&self, made: Vec<(String, Bytes)>) -> Result<Archive> {
        let mut all: Vec<&(String, Bytes)> = made.iter().chain(&self.files).collect();
        all.sort_by_key(|(path, _)| (path == HOST_MEMBER, path));
        all.dedup_by(|later, first| later.0 == first.0);
        let mut archive = Archive::default();
        for (path, bytes) in all {
            archive.insert(path, bytes.clone())?;
        }
        Ok(archive)
    }
}

impl GraphSource {
    /// The parts of a graph that was read, with every member of its directory.
    fn from_graph(graph: &Graph, entry: &KelfGraph, archive: &Archive) -> GraphSource {
        let engines = graph.engines.each_ref();
        GraphSource {
            def: graph.def.clone(),
            engines: engines.map(|e| EngineSource { desc: e.desc.clone(), stream: e.stream.clone() }),
            files: archive
                .members()
                .iter()
                .filter_map(|m| Some((relative(&m.path, entry.prefix())?.to_owned(), m.bytes.clone())))
                .collect(),
        }
    }

    /// The graph's members under `directory`.
    fn members(&self, directory: &str, members: &mut Vec<(String, Bytes)>) {
        let mut put = |name: &str, bytes: Bytes| members.push((format!("{directory}/{name}"), bytes));
        let mut def = self.def.clone();
        for engine in EngineId::ALL {
            let (source, stem) = (&self.engines[engine.index()], STEMS[engine.index()]);
            let member = def.engines[engine.index()].get_or_insert_with(|| format!("{stem}.json"));
            let mut desc = source.desc.clone();
            let instr = desc.instr.get_or_insert_with(|| format!("{stem}.bin"));
            put(instr, source.stream.clone());
            if desc.name.is_empty() {
                desc.name.clone_from(member);
            }
            put(member, text(&desc.to_json()));
        }
        put("def.json", text(&def.to_json()));
        for (name, bytes) in &self.files {
            put(name, bytes.clone());
        }
    }
}

/// A path relative to a directory; `None` if it is not inside, or if the directory is the root.
fn relative<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    if directory.is_empty() { None } else { path.strip_prefix(directory)?.strip_prefix('/') }
}

/// The directory of graph `k`.
fn directory(k: usize) -> String {
    format!("sg{k:02}")
}

fn text(value: &Value) -> Bytes {
    let mut text = format!("{value:#}");
    text.push('\n');
    text.into_bytes().into()
}

/// A uuid in the form of version 4 that depends on nothing but the members.
fn content_uuid(archive: &Archive) -> [u8; 16] {
    let mut digest = Md5::new();
    for member in archive.members() {
        digest.update((member.path.len() as u64).to_le_bytes());
        digest.update(&member.path);
        digest.update((member.bytes.len() as u64).to_le_bytes());
        digest.update(&member.bytes[..]);
    }
    let mut uuid: [u8; 16] = digest.finalize().into();
    uuid[6] = uuid[6] & 0x0F | 0x40;
    uuid[8] = uuid[8] & 0x3F | 0x80;
    uuid
}
