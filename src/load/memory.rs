//! Device memory: which buffer and address each variable gets (chapter 07 sections 5.1, 7 and 10).

use std::collections::HashMap;
use std::sync::Arc;

use seqjit_runtime::machine::soc::{SBUF_BASE, Target, core_base};
use seqjit_runtime::machine::{BufferRole, BufferSpec, HBM_ALIGN, HBM_BASE, HBM_GAP};

use super::{IoTensor, LoadError};
use crate::neff::{Binding, Graph, HostTensor, Neff, Variable, VariableKind};

/// Buffers and the address of every variable.
pub(super) struct Memory {
    buffers: Vec<BufferSpec>,
    /// Per graph, per variable id.
    addresses: Vec<Vec<Option<u64>>>,
    tables: Vec<u64>,
    /// Host tensor bound to a variable, by graph and variable id: inputs, then outputs.
    bound: HashMap<(usize, u32), usize>,
    /// Buffer of each host tensor.
    io: HashMap<usize, usize>,
    next: u64,
}

impl Memory {
    /// Gives every variable of every graph its place. Inputs and outputs of one name are one buffer; the
    /// virtual variables of a graph share one scratchpad and may overlap in it (C7-6, C7-21).
    pub(super) fn assign(neff: &Neff) -> Result<Memory, LoadError> {
        let bindings = neff.inputs.iter().chain(&neff.outputs).enumerate();
        let bound = bindings.flat_map(|(tensor, b)| {
            b.variables.iter().enumerate().map(move |(graph, id)| ((graph, *id), tensor))
        });
        let mut memory = Memory {
            buffers: Vec::new(),
            addresses: Vec::new(),
            tables: Vec::new(),
            bound: bound.collect(),
            io: HashMap::new(),
            next: HBM_BASE,
        };
        for (number, graph) in neff.graphs.iter().enumerate() {
            memory.graph(number, graph)?;
        }
        Ok(memory)
    }

    fn graph(&mut self, number: usize, graph: &Graph) -> Result<(), LoadError> {
        let mut variables: Vec<&Variable> = graph.def.variables.iter().collect();
        variables.sort_by_key(|v| v.id);
        let mut addresses = vec![None; variables.len()];
        for v in &variables {
            addresses[v.id as usize] = self.own_memory(number, graph, v)?;
        }
        self.scratchpad(graph, &variables, &mut addresses)?;
        self.aliases(graph, &variables, &mut addresses)?;
        let table = self.pointers(graph, &variables, &mut addresses)?;
        self.addresses.push(addresses);
        self.tables.push(table.unwrap_or(0));
        Ok(())
    }

    /// Variables with a buffer of their own, and the state buffer.
    fn own_memory(&mut self, number: usize, graph: &Graph, v: &Variable) -> Result<Option<u64>, LoadError> {
        let private = || format!("{}/{}", graph.name, v.name);
        let size = v.size.unwrap_or(0);
        match &v.kind {
            VariableKind::StateBuffer => Ok(Some(SBUF_BASE + core_base(number))),
            VariableKind::Input => self.shared(number, v, BufferRole::Input).map(Some),
            VariableKind::Output => self.shared(number, v, BufferRole::Output).map(Some),
            VariableKind::File { .. } => {
                let data: Option<Arc<[u8]>> = graph.constant(v.id).map(|c| Arc::from(&c.payload[..]));
                self.buffer(private(), size, v.alignment, BufferRole::Constant, data).map(Some)
            }
            VariableKind::TmpBuf => {
                self.buffer(private(), size, v.alignment, BufferRole::Scratch, None).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// An input or output: one buffer for the variables of all graphs that a host tensor is bound to.
    fn shared(&mut self, number: usize, v: &Variable, role: BufferRole) -> Result<u64, LoadError> {
        let tensor = self.bound.get(&(number, v.id)).copied();
        if let Some(buffer) = tensor.and_then(|t| self.io.get(&t)) {
            return Ok(self.buffers[*buffer].address);
        }
        let address = self.buffer(v.name.clone(), v.size.unwrap_or(0), v.alignment, role, None)?;
        if let Some(tensor) = tensor {
            self.io.insert(tensor, self.buffers.len() - 1);
        }
        Ok(address)
    }

    fn buffer(
        &mut self,
        name: String,
        size: u64,
        alignment: Option<u64>,
        role: BufferRole,
        initial: Option<Arc<[u8]>>,
    ) -> Result<u64, LoadError> {
        let available = SBUF_BASE - HBM_BASE;
        let full = || LoadError::AddressSpace { available };
        let alignment = alignment.unwrap_or(HBM_ALIGN).max(HBM_ALIGN);
        let address = self.next.checked_next_multiple_of(alignment).ok_or_else(full)?;
        self.next = address.checked_add(size).and_then(|a| a.checked_add(HBM_GAP)).ok_or_else(full)?;
        if self.next > SBUF_BASE {
            return Err(full());
        }
        let size = usize::try_from(size).map_err(|_| full())?;
        self.buffers.push(BufferSpec { name, address, size, role, initial });
        Ok(address)
    }

    /// Virtual variables without a backing variable.
    fn scratchpad(
        &mut self,
        graph: &Graph,
        variables: &[&Variable],
        addresses: &mut [Option<u64>],
    ) -> Result<(), LoadError> {
        let own = |v: &&&Variable| matches!(v.kind, VariableKind::Virtual { backing: None, .. });
        let end = |v: &&Variable| match v.kind {
            VariableKind::Virtual { offset, .. } => offset.saturating_add(v.size.unwrap_or(0)),
            _ => 0,
        };
        let Some(size) = variables.iter().filter(own).map(end).max() else { return Ok(()) };
        let base =
            self.buffer(format!("{}/scratchpad", graph.name), size, None, BufferRole::Scratch, None)?;
        for v in variables.iter().filter(own) {
            if let VariableKind::Virtual { offset, .. } = v.kind {
                addresses[v.id as usize] = Some(base + offset);
            }
        }
        Ok(())
    }

    /// Virtual variables inside another variable, which may itself be one.
    fn aliases(
        &self,
        graph: &Graph,
        variables: &[&Variable],
        addresses: &mut [Option<u64>],
    ) -> Result<(), LoadError> {
        for v in variables {
            let mut offset = 0;
            let mut at = *v;
            // As many steps as there are variables: a circle of references does not end sooner.
            for _ in 0..variables.len() {
                let VariableKind::Virtual { backing: Some(name), offset: o } = &at.kind else { break };
                offset += o;
                at = graph.def.variable(name).ok_or_else(|| broken(graph, v, name))?;
            }
            if matches!(v.kind, VariableKind::Virtual { backing: Some(_), .. }) {
                let base = addresses[at.id as usize].ok_or_else(|| broken(graph, v, &at.name))?;
                addresses[v.id as usize] = Some(base + offset);
            }
        }
        Ok(())
    }

    /// Pointer variables and address tables, once everything else has an address. Returns the address of
    /// the DGE table.
    fn pointers(
        &mut self,
        graph: &Graph,
        variables: &[&Variable],
        addresses: &mut [Option<u64>],
    ) -> Result<Option<u64>, LoadError> {
        let mut dge = None;
        for v in variables {
            let list = match &v.kind {
                VariableKind::Pointer { referenced } => std::slice::from_ref(referenced),
                VariableKind::DgeTable { list } | VariableKind::List { list } => list,
                _ => continue,
            };
            let mut data = Vec::with_capacity(8 * list.len());
            for id in list {
                let target = addresses.get(*id as usize).copied().flatten();
                let target = target.ok_or_else(|| broken(graph, v, &format!("variable {id}")))?;
                data.extend_from_slice(&target.to_le_bytes());
            }
            let name = format!("{}/{}", graph.name, v.name);
            let address =
                self.buffer(name, data.len() as u64, v.alignment, BufferRole::Table, Some(data.into()))?;
            addresses[v.id as usize] = Some(address);
            if matches!(v.kind, VariableKind::DgeTable { .. }) {
                dge = dge.or(Some(address));
            }
        }
        Ok(dge)
    }

    /// SoC address of each variable of a graph, by id.
    pub(super) fn addresses(&self, graph: usize) -> &[Option<u64>] {
        &self.addresses[graph]
    }

    /// Address of a graph's DGE table, 0 if it has none.
    pub(super) fn table_base(&self, graph: usize) -> u64 {
        self.tables[graph]
    }

    /// The place of a byte of a variable, for a static descriptor.
    pub(super) fn place(&self, number: usize, v: &Variable, offset: u64) -> Option<Target> {
        if v.kind == VariableKind::StateBuffer {
            return Some(Target::Sbuf { core: number, offset });
        }
        let address = self.addresses[number].get(v.id as usize).copied().flatten()? + offset;
        let buffer = self.buffers.partition_point(|b| b.address <= address).checked_sub(1)?;
        Some(Target::Dram { buffer, offset: (address - self.buffers[buffer].address) as usize })
    }

    /// The host tensors with their buffers: inputs and outputs.
    pub(super) fn io(&self, neff: &Neff) -> (Vec<IoTensor>, Vec<IoTensor>) {
        let tensor = |(at, b): (usize, &Binding)| {
            let HostTensor { name, shape, dtype } = b.tensor.clone();
            self.io.get(&at).map(|buffer| IoTensor { name, dtype, shape, buffer: *buffer })
        };
        let inputs = neff.inputs.iter().enumerate().filter_map(tensor).collect();
        let outputs = neff.outputs.iter().enumerate().map(|(i, b)| (neff.inputs.len() + i, b));
        (inputs, outputs.filter_map(tensor).collect())
    }

    pub(super) fn into_buffers(self) -> Vec<BufferSpec> {
        self.buffers
    }
}

fn broken(graph: &Graph, v: &Variable, target: &str) -> LoadError {
    LoadError::Reference { name: v.name.clone(), graph: graph.name.clone(), target: target.to_owned() }
}
