//! Device memory of a replay: the container's variables, some of them where the recorded run had them, and
//! the runtime's own places that the words name.

use std::collections::BTreeMap;
use std::sync::Arc;

use seqjit_runtime::isa::PARTITIONS;
use seqjit_runtime::machine::soc::{SBUF_BASE, Target, core_base, route_on_chip};
use seqjit_runtime::machine::{BufferRole, BufferSpec};

use super::error::ReplayError;
use super::reach::{PAGE, Reach};
use super::words::Placed;
use crate::Program;
use crate::neff::VariableKind;

/// Where things are.
pub(super) struct Memory<'p> {
    program: &'p Program,
    /// Physical core of each graph.
    physical: &'p [usize],
    /// Recorded address of buffers of the container.
    moved: BTreeMap<usize, u64>,
}

impl<'p> Memory<'p> {
    pub(super) fn new(program: &'p Program, physical: &'p [usize]) -> Self {
        Memory { program, physical, moved: BTreeMap::new() }
    }

    /// The on-chip memory or register of a core that lies at an address.
    pub(super) fn on_chip(&self, address: u64) -> Option<Target> {
        let pitch = u64::from(self.program.generation().geometry().sbuf_pitch);
        route_on_chip(address, self.physical.iter().copied(), pitch * PARTITIONS as u64)
    }

    /// Puts a variable of a graph where a word of its image has it.
    pub(super) fn place(&mut self, core: usize, placed: Placed) -> Result<(), ReplayError> {
        let Placed { id, address } = placed;
        let graph = &self.program.neff().graphs[core];
        let failed = |reason| Err(ReplayError::Variable { graph: graph.name.clone(), id, address, reason });
        let Some(variable) = graph.def.variables.iter().find(|v| v.id == u32::from(id)) else {
            return failed("the container has no such variable");
        };
        if variable.kind == VariableKind::StateBuffer {
            let base = SBUF_BASE + core_base(self.physical[core]);
            return if address == base {
                Ok(())
            } else {
                failed("the State Buffer of the core is elsewhere")
            };
        }
        let image = self.program.image();
        let ours = image.cores[core].variables.get(usize::from(id)).copied().flatten();
        let Some((buffer, offset)) = ours.and_then(|ours| locate(&image.buffers, ours)) else {
            return failed("it has no memory");
        };
        let Some(base) = address.checked_sub(offset) else { return failed("it would start below zero") };
        match self.moved.insert(buffer, base) {
            Some(other) if other != base => failed("another word has it elsewhere"),
            _ => Ok(()),
        }
    }

    /// The new address of what the container's layout puts at `address`.
    fn now_at(&self, address: u64) -> u64 {
        let buffers = &self.program.image().buffers;
        let base = locate(buffers, address).and_then(|(b, offset)| Some(self.moved.get(&b)? + offset));
        base.unwrap_or(address)
    }

    /// The container's buffers, ascending by address.
    pub(super) fn variables(&self) -> Vec<BufferSpec> {
        let mut buffers = self.program.image().buffers.clone();
        for (number, buffer) in buffers.iter_mut().enumerate() {
            if let Some(data) = buffer.initial.as_mut().filter(|_| buffer.role == BufferRole::Table) {
                *data = self.repointed(data);
            }
            if let Some(address) = self.moved.get(&number) {
                buffer.address = *address;
            }
        }
        buffers.sort_by_key(|b| b.address);
        buffers
    }

    /// Adds the runtime's own memory to the container's.
    pub(super) fn with_runtime(
        &self,
        mut buffers: Vec<BufferSpec>,
        reach: &Reach,
    ) -> Result<Vec<BufferSpec>, ReplayError> {
        buffers.extend(pages(reach));
        buffers.sort_by_key(|b| b.address);
        self.check(&buffers)?;
        Ok(buffers)
    }

    /// An address table whose entries follow the variables.
    fn repointed(&self, table: &[u8]) -> Arc<[u8]> {
        let (entries, _) = table.as_chunks::<8>();
        entries.iter().flat_map(|entry| self.now_at(u64::from_le_bytes(*entry)).to_le_bytes()).collect()
    }

    fn check(&self, buffers: &[BufferSpec]) -> Result<(), ReplayError> {
        for buffer in buffers {
            let last = buffer.address.saturating_add(buffer.size as u64).saturating_sub(1);
            if let Some(address) = [buffer.address, last].into_iter().find(|a| self.on_chip(*a).is_some()) {
                let (first, second) = (buffer.name.clone(), "a core".to_owned());
                return Err(ReplayError::Overlap { first, second, address });
            }
        }
        for pair in buffers.windows(2) {
            if pair[0].address.saturating_add(pair[0].size as u64) > pair[1].address {
                let (first, second) = (pair[0].name.clone(), pair[1].name.clone());
                return Err(ReplayError::Overlap { first, second, address: pair[1].address });
            }
        }
        Ok(())
    }
}

/// The buffer that holds an address, and the offset in it.
pub(super) fn locate(buffers: &[BufferSpec], address: u64) -> Option<(usize, u64)> {
    let number = buffers.partition_point(|b| b.address <= address).checked_sub(1)?;
    let offset = address - buffers[number].address;
    (offset < buffers[number].size as u64).then_some((number, offset))
}

/// Memory for places whose extent is not known. Neighbours share a buffer.
fn pages(reach: &Reach) -> Vec<BufferSpec> {
    let mut buffers: Vec<BufferSpec> = Vec::new();
    for page in &reach.pages {
        match buffers.last_mut().filter(|b| b.address.checked_add(b.size as u64) == Some(*page)) {
            Some(below) => below.size += PAGE as usize,
            None => buffers.push(BufferSpec {
                name: format!("runtime memory at 0x{page:x}"),
                address: *page,
                size: PAGE as usize,
                role: BufferRole::Scratch,
                initial: None,
            }),
        }
    }
    for buffer in &mut buffers {
        let mut contents = vec![0; buffer.size];
        let end = buffer.address.saturating_add(buffer.size as u64);
        for (address, value) in reach.cells.range(buffer.address..end) {
            let at = (address - buffer.address) as usize;
            // A cell that would pass the end is one that no aligned access reaches.
            if let Some(cell) = contents.get_mut(at..at + 4) {
                cell.copy_from_slice(&value.to_le_bytes());
            }
        }
        buffer.initial = Some(contents.into());
    }
    buffers
}
