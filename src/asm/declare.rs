//! Declarations: tensors, variables, tiles, queues, semaphores, activation tables.

use seqjit_runtime::act::define::by_name;
use seqjit_runtime::isa::{Dtype, EngineId};

use super::build::QueueBuild;
use super::data::contents;
use super::error::Result;
use super::expr::{integer, integer_in, view};
use super::program::Assembler;
use super::scan::Cursor;
use super::value::Value;
use super::view::{Memory, View};
use crate::Tensor;
use crate::neff::{HostTensor, Queue, QueueKind, ScratchRange, Variable, VariableKind};
use crate::tables;

/// Bytes of a variable: what the address map has room for (chapter 07 section 10).
const MAX_BYTES: i64 = 1 << 36;

/// Bytes of a constant: its contents are kept in memory.
const MAX_CONSTANT: i64 = 1 << 28;

/// Datatypes that host tensors can have (chapter 07 section 4.1).
const HOST_DTYPES: [Dtype; 11] = [
    Dtype::FP32,
    Dtype::FP16,
    Dtype::BFLOAT16,
    Dtype::INT8,
    Dtype::UINT8,
    Dtype::INT16,
    Dtype::UINT16,
    Dtype::INT32,
    Dtype::UINT32,
    Dtype::INT64,
    Dtype::UINT64,
];

/// The bytes that a software queue uses in every partition (chapter 07 section 5.2).
const SOFTWARE_QUEUE: ScratchRange = ScratchRange { offset: 0, size: 0x4000 };

/// An array's datatype and counts, outermost first.
struct Array {
    dtype: Dtype,
    counts: Vec<i64>,
    bytes: i64,
}

impl Array {
    fn shape(&self) -> Vec<usize> {
        self.counts.iter().map(|n| *n as usize).collect()
    }

    fn view(&self, memory: Memory, offset: i64) -> Option<Value> {
        View::whole(memory, offset, self.dtype, &self.counts).map(Value::View)
    }
}

impl<'s> Assembler<'s> {
    /// `NAME DTYPE[COUNT, ...]`
    fn array(&self, c: &mut Cursor<'s>, limit: i64) -> Result<(&'s str, Cursor<'s>, Array)> {
        c.skip_blanks();
        let start = *c;
        let name = c.name("a name")?;
        c.skip_blanks();
        let place = *c;
        let generation = self.generation(&place)?;
        let dtype = c.word().and_then(Dtype::parse).filter(|d| d.exists_on(generation) && d.bytes() > 0);
        let dtype = dtype.ok_or_else(|| place.error(format!("a datatype of {generation} in whole bytes")))?;
        let mut counts = Vec::new();
        let mut bytes = dtype.bytes() as i64;
        if c.rest().starts_with('[') {
            c.expect("[")?;
            loop {
                c.skip_blanks();
                let place = *c;
                let count = integer_in(c, &self.scope, 1, limit)?;
                let product = bytes.checked_mul(count).filter(|bytes| *bytes <= limit);
                bytes = product.ok_or_else(|| place.error(format!("an array of at most {limit} bytes")))?;
                counts.push(count);
                if !c.eat(",") {
                    break;
                }
            }
            c.expect("]")?;
        }
        Ok((name, start, Array { dtype, counts, bytes }))
    }

    /// Adds a variable and gives its name the view of the whole of it.
    fn variable(&mut self, name: &str, start: &Cursor, kind: VariableKind, array: &Array) -> Result<()> {
        let id = self.core.variables.len() as u32;
        if id > u32::from(u16::MAX) {
            return Err(start.error("at most 65536 variables"));
        }
        if self.core.variable(name).is_some() {
            return Err(start.error("a name that no variable of this core has"));
        }
        let mut variable = Variable::new(name, id, kind, Some(array.bytes as u64));
        variable.dtype = Some(array.dtype);
        variable.shape = array.counts.iter().map(|n| *n as u64).collect();
        self.core.variables.push(variable);
        let view = array.view(Memory::Variable(id), 0).ok_or_else(|| start.error("a smaller array"))?;
        self.define(name, start, view)
    }

    /// `input NAME DTYPE[...]`, `output NAME DTYPE[...]`
    pub(super) fn tensor(&mut self, c: &mut Cursor<'s>, is_input: bool) -> Result<()> {
        let word = *c;
        let (name, start, array) = self.array(c, MAX_BYTES)?;
        if self.inside_core {
            return Err(word.error("inputs and outputs outside of `core`: all cores share them"));
        }
        if !HOST_DTYPES.contains(&array.dtype) {
            return Err(start.error("a datatype that the host's tensors can have"));
        }
        let kind = if is_input { VariableKind::Input } else { VariableKind::Output };
        self.variable(name, &start, kind, &array)?;
        let tensor = HostTensor { name: name.to_owned(), shape: array.shape(), dtype: array.dtype };
        if is_input {
            self.inputs.push(tensor)
        } else {
            self.outputs.push(tensor)
        }
        Ok(())
    }

    /// `const NAME DTYPE[...] = CONTENTS`
    pub(super) fn constant(&mut self, c: &mut Cursor<'s>) -> Result<()> {
        let (name, start, array) = self.array(c, MAX_CONSTANT)?;
        c.expect("=")?;
        let shape = array.shape();
        let bytes = contents(c, &self.scope, array.dtype, &shape, self.directory)?;
        let tensor = Tensor { dtype: array.dtype, shape, data: bytes };
        let (suffix, member) = match tensor.to_npy() {
            Ok(npy) => ("npy", npy),
            // Bytes as they are, where numpy has no such type.
            Err(_) => ("bin", tensor.data),
        };
        let file_name = format!("{name}.{suffix}");
        self.core.files.push((file_name.clone(), member.into()));
        self.variable(name, &start, VariableKind::File { file_name }, &array)
    }

    /// `scratch NAME DTYPE[...]`
    pub(super) fn scratch(&mut self, c: &mut Cursor<'s>) -> Result<()> {
        let (name, start, array) = self.array(c, MAX_BYTES)?;
        self.variable(name, &start, VariableKind::TmpBuf, &array)
    }

    /// `virtual NAME DTYPE[...] at OFFSET [in VARIABLE]`
    pub(super) fn alias(&mut self, c: &mut Cursor<'s>) -> Result<()> {
        let (name, start, array) = self.array(c, MAX_BYTES)?;
        c.expect_word("at")?;
        let offset = integer_in(c, &self.scope, 0, MAX_BYTES)? as u64;
        let mut backing = None;
        if c.eat_word("in") {
            let place = *c;
            let target = c.name("the name of a variable")?;
            let size = self.core.variable(target).and_then(|v| v.size);
            let size = size.ok_or_else(|| place.error("the name of a variable that has memory"))?;
            if offset + array.bytes as u64 > size {
                return Err(place.error(format!("a variable of more than {size} bytes")));
            }
            backing = Some(target.to_owned());
        }
        self.variable(name, &start, VariableKind::Virtual { backing, offset }, &array)
    }

    /// `table NAME = [VARIABLE, ...]`
    pub(super) fn table(&mut self, c: &mut Cursor<'s>) -> Result<()> {
        c.skip_blanks();
        let start = *c;
        let name = c.name("a name")?;
        if self.core.variables.iter().any(|v| matches!(v.kind, VariableKind::DgeTable { .. })) {
            return Err(start.error("one table in a core"));
        }
        if self.core.variable(name).is_some() {
            return Err(start.error("a name that no variable of this core has"));
        }
        c.expect("=")?;
        c.expect("[")?;
        let mut list = Vec::new();
        loop {
            c.skip_blanks();
            let place = *c;
            match view(c, &self.scope, "a variable")?.memory {
                Memory::Variable(id) => list.push(id),
                _ => return Err(place.error("a variable, not a tile")),
            }
            if !c.eat(",") {
                break;
            }
        }
        c.expect("]")?;
        let id = self.core.variables.len() as u32;
        self.core.variables.push(Variable::new(name, id, VariableKind::DgeTable { list }, None));
        Ok(())
    }

    /// `sbuf NAME DTYPE[...] [at BYTE]`, `psum NAME DTYPE[...] [at BYTE]`
    pub(super) fn tile(&mut self, c: &mut Cursor<'s>, memory: Memory) -> Result<()> {
        let generation = self.generation(c)?;
        let geometry = generation.geometry();
        let in_psum = memory == Memory::Psum;
        let (base, pitch, active) = match in_psum {
            true => (geometry.psum_base, seqjit_runtime::isa::PSUM_PITCH, seqjit_runtime::isa::PSUM_ACTIVE),
            false => (0, geometry.sbuf_pitch, geometry.sbuf_active),
        };
        let (name, start, array) = self.array(c, i64::from(active))?;
        let offset = if c.eat_word("at") {
            let place = *c;
            let offset = integer_in(c, &self.scope, 0, i64::from(pitch) * 128 - 1)?;
            let (end, usable) = (offset % i64::from(pitch) + array.bytes, i64::from(active));
            if end > usable {
                return Err(place.error(format!("a tile that ends at byte {usable} or before, not at {end}")));
            }
            offset
        } else {
            let free = self.core.allocate(in_psum, array.bytes, generation);
            free.ok_or_else(|| start.error(format!("{} bytes that are free in a partition", array.bytes)))?
        };
        if offset % array.dtype.bytes() as i64 != 0 {
            return Err(start.error(format!("an address that is a multiple of {}", array.dtype.bytes())));
        }
        let view =
            array.view(memory, i64::from(base) + offset).ok_or_else(|| start.error("a smaller tile"))?;
        self.define(name, &start, view)
    }

    /// `semaphore NAME = NUMBER`
    pub(super) fn semaphore(&mut self, c: &mut Cursor<'s>) -> Result<()> {
        c.skip_blanks();
        let start = *c;
        let name = c.name("a name")?;
        c.expect("=")?;
        let index = integer_in(c, &self.scope, 0, 255)?;
        // Text keeps the names that engines and queues have given; this one serves `S[NAME]` all the same.
        let _ = self.core.names.insert(index as u8, name);
        self.define(name, &start, Value::Int(index))
    }

    /// `activation NAME(FUNCTION, ...)`
    pub(super) fn activation(&mut self, c: &mut Cursor<'s>) -> Result<()> {
        c.skip_blanks();
        let start = *c;
        let name = c.name("the name of a table set")?;
        if self.core.sets.iter().any(|set| set.name() == name) {
            return Err(start.error("a set name that is new"));
        }
        c.expect("(")?;
        let mut ids = Vec::new();
        loop {
            c.skip_blanks();
            let place = *c;
            let id = c.word().and_then(|function| by_name(&function.to_ascii_lowercase())?.id);
            let id = id.filter(|id| !ids.contains(id));
            ids.push(id.ok_or_else(|| place.error("an activation function, each only once"))?);
            if !c.eat(",") {
                break;
            }
        }
        c.expect(")")?;
        let set = tables::generate(name, &ids);
        self.core
            .sets
            .push(set.map_err(|error| start.error(format!("functions that fit a table set: {error}")))?);
        Ok(())
    }

    /// `queue NAME KIND ENGINE [semaphores FIRST..END]`; the position of the queue.
    pub(super) fn queue(&mut self, c: &mut Cursor<'s>) -> Result<usize> {
        const KINDS: [QueueKind; 4] = [QueueKind::In, QueueKind::Out, QueueKind::Data, QueueKind::Dynamic];
        c.skip_blanks();
        let start = *c;
        self.generation(c)?;
        let name = c.name("the name of the queue")?;
        let place = *c;
        let kind = c.word().and_then(|word| KINDS.into_iter().find(|kind| kind.name() == word));
        let kind = kind.ok_or_else(|| place.error("in, out, data or dynamic"))?;
        let place = *c;
        let owner = c.word().and_then(EngineId::parse);
        let owner = owner.ok_or_else(|| place.error("the engine that starts its transfers"))?;
        let mut queue = Queue::new(name, owner, kind);
        let taken = |q: &QueueBuild| {
            q.queue.name == name
                || (kind == QueueKind::Dynamic && q.queue.kind == kind && q.queue.owner == owner)
        };
        if self.core.queues.iter().any(taken) {
            return Err(start.error("a name that is new, and one dynamic queue for an engine"));
        }
        queue.semaphore_set = self.semaphore_set(c)?;
        queue.rings = 16;
        if kind == QueueKind::Dynamic && owner == EngineId::Pool {
            queue.scratch = Some(SOFTWARE_QUEUE);
        }
        for semaphore in &queue.semaphore_set {
            // A semaphore of several queues keeps its first name.
            let _ = self.core.names.insert_queue(*semaphore, name);
        }
        self.core.queues.push(QueueBuild { queue, blocks: Vec::new(), generated: 0 });
        Ok(self.core.queues.len() - 1)
    }

    fn semaphore_set(&mut self, c: &mut Cursor<'s>) -> Result<Vec<u8>> {
        if !c.eat_word("semaphores") {
            let free = self.core.allocate_semaphores();
            return free.ok_or_else(|| c.error("`semaphores FIRST..END`, as no sixteen are left"));
        }
        c.skip_blanks();
        let place = *c;
        let first = integer(c, &self.scope)?;
        c.expect("..")?;
        let end = integer(c, &self.scope)?;
        if first < 0 || end > 256 || !(1..=32).contains(&(end - first)) {
            return Err(place.error("1 to 32 semaphores from 0 to 255"));
        }
        self.core.claim_semaphores((end - 1) as u8);
        Ok((first..end).map(|s| s as u8).collect())
    }
}
