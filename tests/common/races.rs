//! A race detector for straight-line programs (chapter 10 section 6).
//!
//! Engines are pipelines: a word counts as finished only when a semaphore says so, for words of the same engine
//! too. Of any two accesses to the same bytes, one of them a write, the earlier must be known to be finished when
//! the later is issued. The one exception are products that go into the same PSUM cells one after the other.
#![allow(dead_code)]

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use seqjit::Program;
use seqjit::runtime::isa::field::{Addr8, ImmSrc, ImmSrcN, Kind, UpdateMode, WaitMode};
use seqjit::runtime::isa::layouts::{
    CTRL_ES, PSEUDO_DMA_DIRECT2D, PSEUDO_DMA_TRIGGER, PSEUDO_SET_RNG_SEED, S3D3_AC, S3D3_TS,
};
use seqjit::runtime::isa::{Addr8Form, Decoded, Dtype, EngineId, Layout, Space, op};
use seqjit::runtime::machine::dma::{Move, Pattern};
use seqjit::runtime::machine::soc::Target;
use seqjit::runtime::machine::{Image, Machine, MachineOptions};

/// A memory: of a core, or a buffer in device memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Memory {
    Sbuf(usize),
    Psum(usize),
    Dram(usize),
}

/// The same bytes of some rows: partitions, or row 0 of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Area {
    memory: Memory,
    rows: Range<u64>,
    bytes: Range<u64>,
}

impl Area {
    fn overlaps(&self, other: &Area) -> bool {
        let meet = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        self.memory == other.memory && meet(&self.rows, &other.rows) && meet(&self.bytes, &other.bytes)
    }
}

/// Something that runs: a word of an engine, or a transfer of a queue.
struct Agent {
    /// What finishes in order: an engine or a queue with blocks, counted over all cores. Generated transfers have
    /// lanes of their own: nothing relies on their order (chapter 10 section 5).
    lane: usize,
    /// Position in the lane, from 1.
    at: usize,
    name: String,
    reads: Vec<Area>,
    writes: Vec<Area>,
    product: bool,
    /// What is known to be finished when it is issued, and when it is finished itself: a position in every lane.
    issued: Vec<usize>,
    finished: Vec<usize>,
}

impl Agent {
    /// Whether this one is known to be finished when the other is issued.
    fn before(&self, other: &Agent) -> bool {
        other.issued.get(self.lane).is_some_and(|at| *at >= self.at)
    }
}

/// All races of a program, described. A wait for something that never comes is reported too.
pub fn races(program: &Program) -> Vec<String> {
    races_of(program.image())
}

/// Whether no stream branches: of others this detector knows nothing.
pub fn is_straight(program: &Program) -> bool {
    let words =
        program.image().cores.iter().flat_map(|core| core.streams.iter().flat_map(|s| s.words.iter()));
    words.filter_map(|w| w.body.as_ref().ok()).all(|decoded| decoded.info.byte != op::COMPARE_BRANCH)
}

/// As [`races`].
pub fn races_of(image: &Image) -> Vec<String> {
    let mut tracker = Tracker::new(image);
    if let Err(stuck) = tracker.run() {
        return vec![stuck];
    }
    tracker.conflicts()
}

/// Core and slots of two products of its PE: one that adds to PSUM cells, and the last one before it that has written
/// some of them, where the second need not be finished when the first is issued.
pub fn accumulations(program: &Program) -> Vec<(usize, u64, u64)> {
    let mut tracker = Tracker::new(program.image());
    tracker.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    let products: Vec<&Agent> = tracker.agents.iter().filter(|a| a.product).collect();
    let meet = |x: &[Area], y: &[Area]| x.iter().any(|p| y.iter().any(|q| p.overlaps(q)));
    let mut found = Vec::new();
    for (i, later) in products.iter().enumerate() {
        let before =
            products[..i].iter().rev().find(|a| a.lane == later.lane && meet(&a.writes, &later.writes));
        if let Some(earlier) = before.filter(|a| meet(&a.writes, &later.reads) && !a.before(later)) {
            // Positions count from 1, words from 0; five lanes a core.
            found.push((later.lane / 5, earlier.at as u64 - 1, later.at as u64 - 1));
        }
    }
    found
}

struct Tracker<'i> {
    image: &'i Image,
    machine: Machine,
    /// First queue lane of each core; engine lanes are 5 a core in front of all queues.
    queue_lanes: Vec<usize>,
    agents: Vec<Agent>,
    /// Last agent of each lane.
    last: Vec<Option<usize>>,
    /// Per core and semaphore: value reached, and the agent whose completion reaches it.
    posts: HashMap<(usize, u8), Vec<(u32, usize)>>,
    next: BTreeMap<(usize, usize), usize>,
}

impl<'i> Tracker<'i> {
    fn new(image: &'i Image) -> Self {
        let mut lanes = 5 * image.cores.len();
        let queue_lanes = image.cores.iter().map(|core| {
            lanes += core.queues.len();
            lanes - core.queues.len()
        });
        let queue_lanes = queue_lanes.collect();
        Tracker {
            image,
            machine: Machine::new(image, MachineOptions::default()),
            queue_lanes,
            agents: Vec::new(),
            last: vec![None; lanes],
            posts: HashMap::new(),
            next: (0..image.cores.len()).flat_map(|c| (0..5).map(move |e| ((c, e), 0))).collect(),
        }
    }

    /// Walks over all streams in an order that waits allow.
    fn run(&mut self) -> Result<(), String> {
        loop {
            let mut moved = false;
            let mut stuck = Vec::new();
            for core in 0..self.image.cores.len() {
                for engine in EngineId::ALL {
                    let words = &self.image.cores[core].streams[engine.index()].words;
                    while let Some(instruction) = words.get(self.next[&(core, engine.index())]) {
                        let decoded = instruction.body.as_ref().expect("legal words");
                        if !self.word(core, engine, decoded) {
                            let at = self.next[&(core, engine.index())];
                            stuck.push(format!("core {core} {engine} word {at} waits for ever"));
                            break;
                        }
                        *self.next.get_mut(&(core, engine.index())).unwrap() += 1;
                        moved = true;
                    }
                }
            }
            if stuck.is_empty() {
                return Ok(());
            }
            if !moved {
                return Err(stuck.join("; "));
            }
        }
    }

    /// The next word of an engine; `false` if what it waits for has not been seen.
    fn word(&mut self, core: usize, engine: EngineId, decoded: &Decoded) -> bool {
        let lane = 5 * core + engine.index();
        let mut issued = self.last[lane].map_or(Vec::new(), |a| self.agents[a].issued.clone());
        let extended = CTRL_ES::of(&decoded.operands).map(|w| w.events_extended).unwrap_or_default();
        let e = &decoded.events;
        let waits = [
            (e.wait_mode, e.wait_idx, e.value),
            (extended.wait_mode, extended.wait_idx, extended.wait_value),
        ];
        for (mode, semaphore, value) in waits {
            assert!(matches!(mode, WaitMode::NONE | WaitMode::SEM_GE_IMM), "waits other than >=");
            if mode == WaitMode::NONE || value == 0 {
                continue;
            }
            let posts = self.posts.get(&(core, semaphore)).map_or(&[][..], Vec::as_slice);
            let Some((_, cause)) = posts.iter().find(|(reached, _)| *reached >= value) else { return false };
            join(&mut issued, &self.agents[*cause].finished);
        }
        let at = self.next[&(core, engine.index())];
        let name = format!("core {core} {engine} word {at} ({})", decoded.info.display);
        let (reads, writes) = if engine_accesses(decoded) {
            (areas(core, decoded, true, self.image), areas(core, decoded, false, self.image))
        } else {
            Default::default()
        };
        let agent =
            self.add(lane, name.clone(), issued.clone(), reads, writes, decoded.info.byte == op::MATMUL);
        assert!(
            matches!(e.update_mode, UpdateMode::NONE | UpdateMode::SEM_INC_COMPLETE),
            "updates other than ++"
        );
        if e.update_mode == UpdateMode::SEM_INC_COMPLETE {
            self.post(core, e.update_idx, agent, 1);
        }
        if let Some((queue, semaphore, amount, moves)) = self.transfer(core, engine, decoded) {
            let side = |pattern: &Pattern| pattern_areas(pattern, self.image);
            let reads = moves.iter().flat_map(|m| side(&m.source)).collect();
            let writes = moves.iter().flat_map(|m| side(&m.destination)).collect();
            let lane = if self.image.cores[core].queues[queue].dynamic {
                self.last.push(None);
                self.last.len() - 1
            } else {
                self.queue_lanes[core] + queue
            };
            let transfer = self.add(lane, format!("transfer of {name}"), issued, reads, writes, false);
            self.post(core, semaphore, transfer, u32::from(amount));
        }
        true
    }

    fn add(
        &mut self,
        lane: usize,
        name: String,
        issued: Vec<usize>,
        reads: Vec<Area>,
        writes: Vec<Area>,
        product: bool,
    ) -> usize {
        // Words of an engine finish in order, and so do transfers of a queue.
        let before = self.last[lane].map(|a| &self.agents[a]);
        let at = before.map_or(0, |a| a.at) + 1;
        let mut finished = before.map_or(Vec::new(), |a| a.finished.clone());
        join(&mut finished, &issued);
        finished.resize(finished.len().max(lane + 1), 0);
        finished[lane] = at;
        self.last[lane] = Some(self.agents.len());
        self.agents.push(Agent { lane, at, name, reads, writes, product, issued, finished });
        self.agents.len() - 1
    }

    fn post(&mut self, core: usize, semaphore: u8, agent: usize, amount: u32) {
        let posts = self.posts.entry((core, semaphore)).or_default();
        let value = posts.last().map_or(0, |(value, _)| *value) + amount;
        // What posts in turn is one engine, one queue, or generated transfers each issued when the one before is
        // known to be finished.
        if let Some((_, last)) = posts.last() {
            let (last, agent) = (&self.agents[*last], &self.agents[agent]);
            assert!(
                last.lane == agent.lane || last.before(agent),
                "{} and {}: semaphore {semaphore}",
                last.name,
                agent.name
            );
        }
        posts.push((value, agent));
    }

    /// Queue, completion semaphore, its increment, and moves of the transfer that a word starts.
    fn transfer(
        &self,
        core: usize,
        engine: EngineId,
        decoded: &Decoded,
    ) -> Option<(usize, u8, u8, Vec<Move>)> {
        let spec = &self.image.cores[core];
        if let Some(o) = PSEUDO_DMA_TRIGGER::of(&decoded.operands) {
            let name = o.dma_queue_name.as_str()?;
            let queue = spec.queues.iter().position(|q| q.name == name)?;
            let block = spec.queues[queue].blocks.iter().find(|b| b.id == o.block_id_or_count)?;
            return Some((queue, block.semaphore?, 16, block.moves.to_vec()));
        }
        let o = PSEUDO_DMA_DIRECT2D::of(&decoded.operands)?;
        let queue = spec.queues.iter().position(|q| q.dynamic && q.owner == engine)?;
        let side = |start: Addr8, steps: [i32; 2], counts: [u16; 2], size: u16| Pattern {
            start: self.resolve(core, start),
            dims: vec![
                (u64::from(size), 1),
                (counts[0].into(), steps[0].into()),
                (counts[1].into(), steps[1].into()),
            ],
            limit: None,
        };
        let source = side(o.src_start_addr, o.src_step_elem, o.src_num_elem, o.src_elem_size);
        let destination = side(o.dst_start_addr, o.dst_step_elem, o.dst_num_elem, o.dst_elem_size);
        let op = seqjit::runtime::machine::dma::MoveOp::Copy;
        Some((queue, o.semaphore, o.sem_increment, vec![Move { source, destination, op }]))
    }

    fn resolve(&self, core: usize, address: Addr8) -> Target {
        let spec = &self.image.cores[core];
        let address = match address.form() {
            Addr8Form::Variable { id, offset } => {
                spec.variables[usize::from(id)].unwrap() + u64::from(offset)
            }
            Addr8Form::Table { index, offset } => {
                let entry = spec.table_base + 8 * u64::from(index);
                let access = self.machine.bus_access("entry", entry, 8).unwrap();
                self.machine.bus_read(&access) + u64::from(offset)
            }
            other => panic!("address form {other:?}"),
        };
        self.machine.route(address).expect("a mapped address")
    }

    /// Pairs of agents that touch the same bytes without order.
    fn conflicts(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (i, a) in self.agents.iter().enumerate() {
            for b in &self.agents[i + 1..] {
                let both = [(&a.writes, &b.writes), (&a.writes, &b.reads), (&a.reads, &b.writes)];
                let accumulate = a.product && b.product && a.lane == b.lane;
                if accumulate || a.before(b) || b.before(a) {
                    continue;
                }
                let meet =
                    |(x, y): &(&Vec<Area>, &Vec<Area>)| x.iter().any(|p| y.iter().any(|q| p.overlaps(q)));
                if let Some(kind) = both.iter().position(meet) {
                    let kind = ["write, then write", "write, then read", "read, then write"][kind];
                    found.push(format!("{} and {}: {kind} without order", a.name, b.name));
                }
            }
        }
        found
    }
}

fn join(into: &mut Vec<usize>, from: &[usize]) {
    into.resize(into.len().max(from.len()), 0);
    for (a, b) in into.iter_mut().zip(from) {
        *a = (*a).max(*b);
    }
}

/// Whether a word itself, and not a transfer that it starts, reads or writes memory.
fn engine_accesses(decoded: &Decoded) -> bool {
    !matches!(decoded.info.byte, op::PSEUDO_DMATRIGGER | op::PSEUDO_DMA_DIRECT2D)
}

/// The bytes that a word reads, or writes.
fn areas(core: usize, decoded: &Decoded, reading: bool, image: &Image) -> Vec<Area> {
    let def = decoded.operands.layout().def();
    let word = &decoded.word.0;
    let byte = |name: &str| def.field(name).map(|f| word[f.offset]);
    let lanes = byte("num_active_channels").or(byte("num_active_rows")).unwrap_or(0);
    let mut found = Vec::new();
    for field in def.fields {
        let Kind::Tensor(dims) = field.kind else { continue };
        if field.name.starts_with("src") != reading {
            continue;
        }
        let rows = match (decoded.info.byte, field.name) {
            (op::MATMUL, "dst") => byte("num_active_cols").unwrap(),
            _ => lanes,
        };
        let bytes = &word[field.offset..field.offset + field.size];
        let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let start = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        let size = element(decoded, field.name, &byte);
        let walk: Vec<(u64, i64)> = (0..dims)
            .map(|d| (number(4 + 2 * dims + 2 * d).into(), i64::from(number(4 + 2 * d) as i16) * size))
            .collect();
        found.extend(lane_areas(core, start, rows, size as u64, &walk, image));
    }
    if reading {
        for (address, size) in pointers(decoded) {
            found.extend(lane_areas(core, address, lanes, size, &[], image));
        }
        // A product without begin flag adds to what is there.
        if decoded.info.byte == op::MATMUL && byte("psum_accumulate_flags").is_some_and(|f| f & 1 == 0) {
            found.extend(areas(core, decoded, false, image));
        }
    }
    found
}

/// Bytes of an element of an operand.
fn element(decoded: &Decoded, field: &str, byte: &dyn Fn(&str) -> Option<u8>) -> i64 {
    let nibble = |name: &str, high: bool| byte(name).map(|b| if high { b >> 4 } else { b & 0xF });
    let code = match (decoded.info.byte, field) {
        (op::MATMUL, "dst") if byte("transpose_mode") != Some(1) => Some(Dtype::FP32.0),
        (op::MATMUL, "dst") => byte("in_dtype"),
        (_, "src1") => nibble("in0_in1_dtype", true).or(nibble("src_dtype", true)),
        (_, "src0") => nibble("in0_in1_dtype", false).or(nibble("src_dtype", false)),
        (_, "src") => nibble("in_bias_dtype", false)
            .or(nibble("in_out_dtype", false))
            .or(byte("in_dtype"))
            .or(byte("dtype")),
        _ => nibble("in_out_dtype", true).or(byte("out_dtype")).or(byte("dtype")),
    };
    Dtype(code.expect("a datatype")).bytes() as i64
}

/// Scalars that a word fetches from memory: address and bytes.
fn pointers(decoded: &Decoded) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    if let Some(o) = S3D3_AC::of(&decoded.operands)
        && o.bias_src_n == ImmSrcN::PTR
    {
        found.push((o.bias.0, o.in_bias_dtype.high().bytes() as u64));
    }
    if let Some(o) = PSEUDO_SET_RNG_SEED::of(&decoded.operands)
        && o.seed_src == ImmSrc::PTR
    {
        found.push((o.seed.0, 4));
    }
    if let Some(o) = S3D3_TS::of(&decoded.operands) {
        let scalars = [(o.imm0_src, o.imm0), (o.imm1_src, o.imm1)];
        found.extend(
            scalars.into_iter().filter(|(source, _)| *source == ImmSrc::PTR).map(|(_, imm)| (imm.0, 4)),
        );
    }
    found
}

fn lane_areas(core: usize, start: u32, rows: u8, size: u64, walk: &[(u64, i64)], image: &Image) -> Vec<Area> {
    let place = image.generation.geometry().locate(start).expect("an on-chip address");
    let memory = match place.space {
        Space::Sbuf => Memory::Sbuf(core),
        Space::Psum => Memory::Psum(core),
    };
    let first = u64::from(place.partition);
    let rows = first..first + u64::from(rows);
    let runs = runs(size, walk);
    let at = |run: &Range<i64>| i64::from(place.offset) + run.start..i64::from(place.offset) + run.end;
    runs.iter()
        .map(at)
        .map(|r| Area { memory, rows: rows.clone(), bytes: r.start as u64..r.end as u64 })
        .collect()
}

/// Contiguous runs of a walk, relative to its start, each once.
fn runs(size: u64, walk: &[(u64, i64)]) -> Vec<Range<i64>> {
    let mut starts = vec![0_i64];
    let mut run = size as i64;
    for (count, step) in walk {
        if *step == run && starts.len() == 1 {
            run *= *count as i64;
            continue;
        }
        let steps = if *step == 0 { 1 } else { *count as i64 };
        starts = (0..steps).flat_map(|i| starts.iter().map(move |s| s + i * step)).collect();
    }
    starts.sort_unstable();
    starts.into_iter().map(|s| s..s + run).collect()
}

/// The bytes of one side of a transfer.
fn pattern_areas(pattern: &Pattern, image: &Image) -> Vec<Area> {
    let (memory, base, pitch) = match pattern.start {
        Target::Dram { buffer, offset } => (Memory::Dram(buffer), offset as u64, u64::MAX),
        Target::Sbuf { core, offset } => {
            (Memory::Sbuf(core), offset, u64::from(image.generation.geometry().sbuf_pitch))
        }
        other => panic!("a transfer with {other:?}"),
    };
    let mut found: Vec<Area> = Vec::new();
    for run in runs(1, &pattern.dims) {
        let start = (base as i64 + run.start) as u64;
        let (row, byte) = (start / pitch, start % pitch);
        let bytes = byte..byte + (run.end - run.start) as u64;
        match found.last_mut() {
            Some(last) if last.bytes == bytes && last.rows.end == row => last.rows.end += 1,
            _ => found.push(Area { memory, rows: row..row + 1, bytes }),
        }
    }
    found
}
