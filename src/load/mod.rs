//! From a container to a program that a machine can run: addresses, constants, queues, streams
//! (chapter 07 sections 5 to 10, chapter 10 sections 2 to 5).

mod act_tables;
mod blocks;
mod memory;
mod validate;

use std::sync::Arc;

use seqjit_runtime::interp::Instruction;
use seqjit_runtime::isa::EngineId;
use seqjit_runtime::machine::{CoreSpec, Image, Stream};
use seqjit_runtime::num::Fp8;

use crate::neff::Neff;
pub(crate) use act_tables::ENTRY_BYTES;
pub use act_tables::{ActTableError, load_table_sets};
use memory::Memory;
pub use validate::WordFinding;
pub(crate) use validate::{check_streams, refuse};

/// Why a container that reads well cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A variable refers to one that does not exist, or in a circle.
    #[error("variable '{name}' of graph {graph} refers to {target}, which has no address")]
    Reference {
        /// Variable.
        name: String,
        /// Graph.
        graph: String,
        /// What it refers to.
        target: String,
    },
    /// A DMA block names a variable that has no memory.
    #[error("block {block} of queue '{queue}' in graph {graph}: variable '{variable}' has no memory")]
    Block {
        /// Graph.
        graph: String,
        /// Queue.
        queue: String,
        /// Block id.
        block: u32,
        /// Variable.
        variable: String,
    },
    /// An activation table set cannot be read.
    #[error("graph {graph}: {source}")]
    Tables {
        /// Graph.
        graph: String,
        /// What is wrong.
        source: ActTableError,
    },
    /// The device address space does not hold the variables.
    #[error("the variables need more device memory than the {available} bytes of the address map")]
    AddressSpace {
        /// Bytes between the HBM base and the state buffer.
        available: u64,
    },
}

/// A tensor that the host sets or reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoTensor {
    /// Name.
    pub name: String,
    /// Datatype; INVALID where the container names one that is not known.
    pub dtype: seqjit_runtime::isa::Dtype,
    /// Shape, outermost first.
    pub shape: Vec<usize>,
    /// Its buffer in device memory.
    pub buffer: usize,
}

/// What loading a container gives.
pub(crate) struct Loaded {
    pub image: Image,
    pub inputs: Vec<IoTensor>,
    pub outputs: Vec<IoTensor>,
}

/// Lays out memory and builds every core.
pub(crate) fn load(neff: &Neff) -> Result<Loaded, LoadError> {
    let generation = neff.generation;
    let memory = Memory::assign(neff)?;
    let (inputs, outputs) = memory.io(neff);
    let mut cores = Vec::new();
    for number in 0..neff.graphs.len() {
        cores.push(Arc::new(core(neff, number, &memory)?));
    }
    Ok(Loaded { image: Image { generation, cores, buffers: memory.into_buffers() }, inputs, outputs })
}

fn core(neff: &Neff, number: usize, memory: &Memory) -> Result<CoreSpec, LoadError> {
    let (graph, generation, archive) = (&neff.graphs[number], neff.generation, &neff.archive);
    let streams = EngineId::ALL.map(|engine| Stream {
        base: 0,
        words: graph.words(engine).map(|word| Instruction::new(word, generation)).collect(),
        ends_gracefully: true,
    });
    let act = &graph.engine(EngineId::Act).desc;
    let prefix = neff.kelf.graphs[number].prefix();
    let path = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
    let member = |name: &str| archive.get(&path(name)).map(|bytes| &bytes[..]);
    let info = act.act_info.as_deref().unwrap_or_default();
    let table_sets = load_table_sets(&member, info, &act.activation_function_sets)
        .map_err(|source| LoadError::Tables { graph: graph.name.clone(), source })?;
    let fp8 =
        graph.def.fp8.map_or(Fp8::default(), |c| Fp8 { ocp: c.range_extension, saturate: c.ocp_saturation });
    Ok(CoreSpec {
        name: graph.name.clone(),
        physical: number,
        streams,
        queues: blocks::queues(graph, number, memory)?,
        variables: memory.addresses(number).to_vec(),
        table_base: memory.table_base(number),
        dve_programs: graph.dve_programs(),
        fp8,
        replica_groups: graph.def.replica_groups.clone().unwrap_or_default(),
        table_sets: table_sets.into_iter().map(Arc::new).collect(),
    })
}
