//! DMA: descriptors of static blocks, and the statement `DMA SOURCE -> DESTINATION` that makes a block and its
//! trigger or a word of generated DMA (chapter 07 sections 5.3, 9.1 and 11.2).

use seqjit_runtime::isa::field::{Addr8, BoundReg, DgeOpcode, Name};
use seqjit_runtime::isa::layouts::{PSEUDO_DMA_DIRECT2D, PSEUDO_DMA_TRIGGER};
use seqjit_runtime::isa::{Dtype, EngineId, Generation, Layout, Word, op};

use super::build::STATE_BUFFER;
use super::error::Result;
use super::expr::{atom, integer_in, operand, view};
use super::program::Assembler;
use super::scan::Cursor;
use super::value::Value;
use super::view::{Dim, Memory, View};
use crate::neff::{Access, Descriptor, DescriptorOp, DmaBlock, QueueKind, VariableKind};

/// Semaphore increments of a finished transfer (chapter 10 section 4).
pub(super) const RINGS: u8 = 16;

/// Partitions of a transfer between two tiles.
const ALL_PARTITIONS: i64 = 128;

/// Dimensions of a descriptor's pattern (chapter 07 section 5.3).
const MAX_DIMENSIONS: usize = 8;

/// One end of a transfer: bytes of a variable, dimensions in bytes, innermost first; a first dimension with
/// step 1 is a run.
#[derive(Clone, Debug)]
struct End {
    variable: u32,
    offset: i64,
    dtype: Dtype,
    dims: Vec<Dim>,
}

/// How an end is written.
enum Written {
    /// As a view.
    View(View),
    /// As a pattern, which stays as it is.
    Pattern(End),
}

impl Written {
    fn elements(&self) -> Option<i64> {
        match self {
            Written::View(view) => Some(view.elements()),
            Written::Pattern(end) => {
                let bytes = end.dims.iter().try_fold(1_i64, |n, d| n.checked_mul(d.count))?;
                Some(bytes / end.dtype.bytes().max(1) as i64)
            }
        }
    }

    /// The bytes, for a transfer of `elements`. The partitions of a tile are its outermost dimension.
    fn end(self, elements: i64, generation: Generation) -> std::result::Result<End, String> {
        let view = match self {
            Written::Pattern(end) => return Ok(end),
            Written::View(view) => view,
        };
        let mut dims = vec![Dim { count: view.element(), step: 1 }];
        dims.extend(view.dims.iter().rev());
        let variable = match view.memory {
            Memory::Variable(id) => id,
            Memory::Psum => return Err("a tile in SBUF: DMA does not reach PSUM".to_owned()),
            Memory::Sbuf => {
                let lanes = elements / view.elements();
                if lanes * view.elements() != elements || lanes > ALL_PARTITIONS {
                    let expected = "elements for 1 to 128 partitions";
                    return Err(format!("{expected}, {} for each, not {elements}", view.elements()));
                }
                dims.push(Dim { count: lanes, step: i64::from(generation.geometry().sbuf_pitch) });
                STATE_BUFFER
            }
        };
        Ok(End { variable, offset: view.offset, dtype: view.dtype, dims })
    }
}

impl End {
    /// Elements of the run.
    fn run(&self) -> i64 {
        self.dims[0].count / self.dtype.bytes() as i64
    }

    /// Joins dimensions that are one walk, from dimension `first` on, and drops those of one element.
    fn join(&mut self, first: usize) {
        let mut at = first;
        while at + 1 < self.dims.len() {
            let (inner, outer) = (self.dims[at], self.dims[at + 1]);
            if outer.count == 1 || outer.step == inner.step * inner.count {
                self.dims[at].count *= outer.count;
                self.dims.remove(at + 1);
            } else if inner.count == 1 && at > 0 {
                self.dims.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Cuts the run into runs of so many elements.
    fn cut(&mut self, run: i64) {
        let bytes = run * self.dtype.bytes() as i64;
        let pieces = self.dims[0].count / bytes;
        self.dims[0].count = bytes;
        self.dims.insert(1, Dim { count: pieces, step: bytes });
        self.join(1);
    }

    fn access(&self, variable: &str) -> Access {
        Access {
            variable: variable.to_owned(),
            offset: self.offset as u64,
            sizes: self.dims.iter().map(|d| d.count as u64).collect(),
            steps: self.dims.iter().map(|d| d.step).collect(),
            dtype: Some(self.dtype),
        }
    }
}

/// Gives both ends runs of one length, as the compiler does: the longest that have at most so many bytes.
fn match_runs(ends: &mut [End; 2], longest: i64) -> std::result::Result<(), String> {
    ends.iter_mut().for_each(|end| end.join(0));
    let common = gcd(ends[0].run(), ends[1].run());
    let element = ends.iter().map(|e| e.dtype.bytes() as i64).max().unwrap_or(1);
    // Pieces become a dimension, whose count has 16 bits.
    let mut pieces = 1..=i64::from(u16::MAX);
    let pieces = pieces.find(|n| common % n == 0 && common / n * element <= longest);
    let run =
        common / pieces.ok_or_else(|| format!("runs that can be cut into pieces of {longest} bytes"))?;
    ends.iter_mut().for_each(|end| end.cut(run));
    Ok(())
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl<'s> Assembler<'s> {
    /// One end: a view, or `DTYPE@VARIABLE+OFFSET[STEP, ...][COUNT, ...]` in bytes, innermost first.
    fn written(&self, c: &mut Cursor<'s>) -> Result<Written> {
        c.skip_blanks();
        let start = *c;
        let mut ahead = *c;
        let dtype = ahead.word().and_then(Dtype::parse).filter(|d| d.bytes() > 0);
        let Some(dtype) = dtype.filter(|_| ahead.rest().starts_with('@')) else {
            return view(c, &self.scope, "a tile or a variable").map(Written::View);
        };
        *c = ahead;
        c.expect("@")?;
        let Value::View(View { memory: Memory::Variable(variable), .. }) = atom(c, &self.scope)? else {
            return Err(start.error("a variable behind `@`; tiles lie in `SB`"));
        };
        let offset = match c.eat("+") {
            true => {
                let place = *c;
                match atom(c, &self.scope)? {
                    Value::Int(offset) if offset >= 0 => offset,
                    Value::View(view) if view.on_chip() => view.offset,
                    _ => return Err(place.error("a number of bytes or a tile")),
                }
            }
            false => 0,
        };
        let steps = self.numbers(c, i64::from(i32::MIN), i64::from(i32::MAX))?;
        let counts = self.numbers(c, 1, i64::from(u32::MAX))?;
        if steps.len() != counts.len() {
            return Err(start.error(format!("{} counts, one for each step", steps.len())));
        }
        if steps[0] != 1 || counts[0] % dtype.bytes() as i64 != 0 {
            return Err(
                start.error(format!("a first dimension of step 1 and whole elements of {}", dtype.text()))
            );
        }
        let dims = steps.into_iter().zip(counts).map(|(step, count)| Dim { count, step }).collect();
        let end = End { variable, offset, dtype, dims };
        let variable = &self.core.variables[end.variable as usize];
        let extent = variable.extent(self.generation(&start)?).unwrap_or(0);
        match end.access(&variable.name).span() {
            Some((low, high)) if low >= 0 && high <= i128::from(extent) => Ok(Written::Pattern(end)),
            _ => Err(start.error(format!("bytes of `{}`, which has {extent}", variable.name))),
        }
    }

    /// `[NUMBER, ...]`
    fn numbers(&self, c: &mut Cursor<'s>, min: i64, max: i64) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        c.expect("[")?;
        loop {
            if numbers.len() == MAX_DIMENSIONS {
                return Err(c.error(format!("at most {MAX_DIMENSIONS} dimensions")));
            }
            numbers.push(integer_in(c, &self.scope, min, max)?);
            if !c.eat(",") {
                break;
            }
        }
        c.expect("]")?;
        Ok(numbers)
    }

    /// `SOURCE -> DESTINATION`
    fn ends(&self, c: &mut Cursor<'s>) -> Result<[End; 2]> {
        c.skip_blanks();
        let start = *c;
        let generation = self.generation(c)?;
        let source = self.written(c)?;
        c.expect("->")?;
        c.skip_blanks();
        let place = *c;
        let destination = self.written(c)?;
        let tile = |end: &Written| matches!(end, Written::View(view) if view.memory == Memory::Sbuf);
        let elements = match (tile(&source), tile(&destination)) {
            (true, true) => source.elements().and_then(|n| n.checked_mul(ALL_PARTITIONS)),
            (true, false) => destination.elements(),
            _ => source.elements(),
        };
        let elements = elements.ok_or_else(|| start.error("a smaller transfer"))?;
        let source = source.end(elements, generation).map_err(|expected| start.error(expected))?;
        let destination = destination.end(elements, generation).map_err(|expected| place.error(expected))?;
        let count = |end: &End| {
            let bytes = end.dims.iter().try_fold(1_i64, |n, d| n.checked_mul(d.count));
            bytes.map(|bytes| bytes / end.dtype.bytes() as i64)
        };
        if count(&source) != count(&destination) {
            let (found, expected) = (count(&destination).unwrap_or(0), count(&source).unwrap_or(0));
            return Err(place.error(format!("{expected} elements, as many as in the source, not {found}")));
        }
        Ok([source, destination])
    }

    fn descriptor_of(&self, ends: &[End; 2], op: DescriptorOp) -> Descriptor {
        let name = |end: &End| self.core.variables[end.variable as usize].name.as_str();
        let [source, destination] = ends;
        Descriptor {
            op,
            sources: vec![source.access(name(source))],
            destination: destination.access(name(destination)),
        }
    }

    /// `block ID [semaphore NUMBER]`: opens a block of a queue.
    pub(super) fn dma_block(&mut self, c: &mut Cursor<'s>, queue: usize) -> Result<()> {
        let start = *c;
        let id = integer_in(c, &self.scope, 0, i64::from(u32::MAX))? as u32;
        let named = match c.eat_word("semaphore") {
            true => Some(integer_in(c, &self.scope, 0, 255)? as u8),
            false => None,
        };
        let build = &mut self.core.queues[queue];
        if build.queue.kind == QueueKind::Dynamic {
            return Err(start.error("a queue that is not dynamic"));
        }
        if build.blocks.iter().any(|b| b.id == id) {
            return Err(start.error("a block number that this queue does not have"));
        }
        let set = &build.queue.semaphore_set;
        let semaphore = named.or_else(|| set.get(id as usize % set.len().max(1)).copied());
        let queue = build.queue.name.clone();
        build.blocks.push(DmaBlock { queue, id, semaphore, ..DmaBlock::default() });
        Ok(())
    }

    /// `copy SOURCE -> DESTINATION`, `cast SOURCE -> DESTINATION`: a descriptor of the block that is open.
    pub(super) fn descriptor(&mut self, mut c: Cursor<'s>, queue: usize) -> Result<()> {
        let start = c;
        let op = match c.word() {
            Some("copy") => DescriptorOp::Copy,
            Some("cast") => DescriptorOp::Cast,
            _ => return Err(start.error("`copy` or `cast`")),
        };
        let mut ends = self.ends(&mut c)?;
        c.end()?;
        if (op == DescriptorOp::Cast) == (ends[0].dtype == ends[1].dtype) {
            return Err(start.error("`copy` between equal datatypes and `cast` between different ones"));
        }
        ends.iter_mut().for_each(|end| end.join(0));
        let descriptor = self.descriptor_of(&ends, op);
        match self.core.queues[queue].blocks.last_mut() {
            Some(block) => block.descriptors.push(descriptor),
            None => return Err(start.error("a descriptor inside of a block")),
        }
        Ok(())
    }

    /// `SOURCE -> DESTINATION [queue=NAME] [semaphore=NUMBER]`, behind `DMA`: the word that starts the transfer,
    /// and whether its semaphore was chosen here.
    pub(super) fn transfer(&mut self, c: &mut Cursor<'s>, engine: EngineId) -> Result<(Word, bool)> {
        let start = *c;
        let mut ends = self.ends(c)?;
        let mut named_queue = None;
        let mut named_semaphore = None;
        while !c.at_end() {
            if c.eat("queue=") {
                named_queue = Some(c.name("the name of a queue")?);
            } else if c.eat("semaphore=") {
                let place = *c;
                let value = operand(c, &self.scope)?;
                let index = if let Value::Int(index) = value { u8::try_from(index).ok() } else { None };
                named_semaphore = Some(index.ok_or_else(|| place.error("a semaphore from 0 to 255"))?);
            } else {
                return Err(c.error("`queue=`, `semaphore=` or `after`"));
            }
        }
        let usable = |q: &super::build::QueueBuild| match named_queue {
            Some(name) => q.queue.name == name,
            None => q.queue.kind == QueueKind::Dynamic && q.queue.owner == engine,
        };
        let found =
            self.core.queues.iter().position(usable).filter(|q| self.core.queues[*q].queue.owner == engine);
        let queue = found.ok_or_else(|| start.error(format!("a queue of {engine} for this transfer")))?;
        let build = &self.core.queues[queue];
        let turn = build.generated + build.blocks.len();
        let set = &build.queue.semaphore_set;
        let semaphore = named_semaphore.unwrap_or(set[turn % set.len()]);
        let word = if build.queue.kind == QueueKind::Dynamic {
            self.core.queues[queue].generated += 1;
            match_runs(&mut ends, i64::from(u16::MAX)).and_then(|()| self.generated(&ends, semaphore))
        } else {
            match_runs(&mut ends, i64::from(u32::MAX)).and_then(|()| self.triggered(&ends, semaphore, queue))
        };
        Ok((word.map_err(|expected| start.error(expected))?, named_semaphore.is_none()))
    }

    /// A block of a queue and the word that triggers it.
    fn triggered(
        &mut self,
        ends: &[End; 2],
        semaphore: u8,
        queue: usize,
    ) -> std::result::Result<Word, String> {
        if ends.iter().any(|end| end.dims.len() > MAX_DIMENSIONS) {
            return Err(format!("at most {MAX_DIMENSIONS} dimensions on each side"));
        }
        let op = if ends[0].dtype == ends[1].dtype { DescriptorOp::Copy } else { DescriptorOp::Cast };
        let descriptor = self.descriptor_of(ends, op);
        let build = &mut self.core.queues[queue];
        let id = build.blocks.iter().map(|b| b.id + 1).max().unwrap_or(0);
        let name = build.queue.name.clone();
        let mut padded = [0; 32];
        // The word keeps room for a final zero.
        let place = padded.get_mut(..name.len()).filter(|_| name.len() < 32);
        place.ok_or("a queue name of at most 31 bytes")?.copy_from_slice(name.as_bytes());
        build.blocks.push(DmaBlock {
            queue: name,
            id,
            semaphore: Some(semaphore),
            descriptors: vec![descriptor],
            ..DmaBlock::default()
        });
        let mut word = Word::new(op::PSEUDO_DMATRIGGER);
        let operands =
            PSEUDO_DMA_TRIGGER { dma_queue_name: Name(padded), use_raw_count: 0, block_id_or_count: id };
        operands.write(&mut word);
        Ok(word)
    }

    /// A word of generated DMA.
    fn generated(&self, ends: &[End; 2], semaphore: u8) -> std::result::Result<Word, String> {
        let [source, destination] = [self.side(&ends[0])?, self.side(&ends[1])?];
        let operands = PSEUDO_DMA_DIRECT2D {
            dma_configs: 0,
            semaphore,
            sem_increment: RINGS,
            dge_op: DgeOpcode::DIRECT2D,
            src_start_addr: source.start,
            src_step_elem: source.steps,
            src_num_elem: source.counts,
            src_elem_size: source.run,
            src_bound_reg: BoundReg(0),
            dst_bound_reg: BoundReg(0),
            dst_start_addr: destination.start,
            dst_step_elem: destination.steps,
            dst_num_elem: destination.counts,
            dst_elem_size: destination.run,
            in_dtype: ends[0].dtype,
            out_dtype: ends[1].dtype,
        };
        let mut word = Word::new(op::PSEUDO_DMA_DIRECT2D);
        operands.write(&mut word);
        Ok(word)
    }

    /// One side of a word of generated DMA: a run and two dimensions.
    fn side(&self, end: &End) -> std::result::Result<Side, String> {
        if end.dims.len() > 3 || end.dims[0].step != 1 {
            let dims: Vec<i64> = end.dims.iter().map(|d| d.count).collect();
            return Err(format!("runs in at most two dimensions on each side, not {dims:?}"));
        }
        let dim = |at: usize| end.dims.get(at).copied().unwrap_or(Dim { count: 1, step: 1 });
        let step = |at: usize| i32::try_from(dim(at).step).map_err(|_| "steps of at most 31 bits".to_owned());
        let count =
            |at: usize| u16::try_from(dim(at).count).map_err(|_| "counts of at most 65535".to_owned());
        Ok(Side {
            start: self.address(end)?,
            steps: [step(1)?, step(2)?],
            counts: [count(1)?, count(2)?],
            run: u16::try_from(end.dims[0].count).map_err(|_| "runs of at most 65535 bytes".to_owned())?,
        })
    }

    /// The table form for variables that the core's table holds, as compilers do, else the variable form
    /// (chapter 03 section 3.4).
    fn address(&self, end: &End) -> std::result::Result<Addr8, String> {
        const VARIABLE: u64 = 0x10 << 56;
        const TABLE: u64 = 0x20 << 56;
        let offset = u32::try_from(end.offset).map_err(|_| "an offset that fits 32 bits".to_owned())?;
        let table = self.core.variables.iter().find_map(|v| match &v.kind {
            VariableKind::DgeTable { list } => list.iter().position(|id| *id == end.variable),
            _ => None,
        });
        let (form, index) = table.map_or((VARIABLE, u64::from(end.variable)), |entry| (TABLE, entry as u64));
        Ok(Addr8(form | index << 32 | u64::from(offset)))
    }
}

/// One side of a word of generated DMA.
struct Side {
    start: Addr8,
    steps: [i32; 2],
    counts: [u16; 2],
    run: u16,
}
