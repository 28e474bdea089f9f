//! From statements to the parts of a container, in the form of the vendor's compiler (chapter 10 section 2).

use std::path::Path;

use seqjit_runtime::isa::{EngineId, Generation, Word, op};

use super::build::CoreBuild;
use super::error::{Position, Result, at};
use super::link::{Stream, link};
use super::program::{Assembler, count_cores};
use super::source;
use crate::neff::{EngineSource, GraphDef, GraphSource, NeffBuilder, Reservation};
use crate::tables;

/// Cores that a container can have: its header counts two.
const MAX_CORES: usize = 2;

/// Events and semaphores of the runtime (chapter 10 section 2.1).
const RUNTIME_EVENTS: u64 = 12;
const RUNTIME_SEMAPHORES: u64 = 3;

/// As every real description of an ACT has it (chapter 10 section 2.1).
const ACT_SEMAPHORE: u64 = 12;

/// What a text makes.
pub(super) struct Parts {
    pub builder: NeffBuilder,
    pub positions: Vec<[Vec<Position>; 5]>,
}

/// Reads a text. Files are looked for in `directory`.
pub(super) fn parts(text: &str, directory: &Path) -> Result<Parts> {
    let nodes = source::parse(text)?;
    let cores = count_cores(&nodes);
    if cores > MAX_CORES {
        let seen = format!("{cores} cores");
        return Err(at(Position { line: 1, column: 1 }, seen, format!("at most {MAX_CORES} cores")));
    }
    let mut parts: Option<Parts> = None;
    for number in 0..cores {
        let mut assembler = Assembler::new(directory, number);
        assembler.run(&nodes)?;
        let Some(header) = assembler.header else {
            let expected = "`program NAME for GENERATION`";
            return Err(at(Position { line: 1, column: 1 }, "no program statement", expected));
        };
        if assembler.outputs.is_empty() {
            return Err(at(header.position, "a program without `output`", "at least one"));
        }
        let parts = parts.get_or_insert_with(|| {
            let mut builder = NeffBuilder::new(header.name, Some(header.generation));
            builder.inputs = assembler.inputs;
            builder.outputs = assembler.outputs;
            Parts { builder, positions: Vec::new() }
        });
        let mut streams = link(&assembler.core, header.generation)?;
        if assembler.prologue {
            streams.iter_mut().for_each(|stream| start(stream, header.generation));
        }
        parts.positions.push(streams.each_mut().map(|stream| std::mem::take(&mut stream.positions)));
        parts.builder.graphs.push(graph(assembler.core, streams, header.generation, cores));
    }
    parts.ok_or_else(|| at(Position { line: 1, column: 1 }, "nothing", "a program"))
}

/// The first words of every compiled stream (chapter 10 section 7).
fn start(stream: &mut Stream, generation: Generation) {
    let mut words = vec![Word::new(op::SET_ORDERING_MODE)];
    if generation > Generation::Sunda {
        words.push(Word::new(op::PSEUDO_BRANCH_LABEL));
    }
    let positions = vec![Position::default(); words.len()];
    stream.words.splice(..0, words);
    stream.positions.splice(..0, positions);
}

fn graph(core: CoreBuild, streams: [Stream; 5], generation: Generation, cores: usize) -> GraphSource {
    let mut engines: [EngineSource; 5] = Default::default();
    for (engine, stream) in engines.iter_mut().zip(streams) {
        engine.stream = stream.words.iter().flat_map(|word| word.0).collect::<Vec<u8>>().into();
    }
    let queues = core.queues.iter().map(|q| q.queue.clone()).collect();
    for queue in core.queues {
        engines[queue.queue.owner.index()].desc.blocks.extend(queue.blocks);
    }
    let mut files = core.files;
    let act = &mut engines[EngineId::Act.index()].desc;
    act.act_semaphore = Some(ACT_SEMAPHORE);
    if !core.sets.is_empty() {
        act.act_info = Some("act_info.json".to_owned());
        act.activation_function_sets = core.sets.iter().map(|set| set.name().to_owned()).collect();
        files.extend(tables::members(&core.sets).into_iter().map(|(name, bytes)| (name, bytes.into())));
    }
    let features = if cores > 1 { vec!["neff_feature_vnc".to_owned()] } else { Vec::new() };
    let def = GraphDef {
        name: core.name,
        variables: core.variables,
        queues,
        features,
        runtime_events: Some(RUNTIME_EVENTS),
        runtime_semaphores: Some(RUNTIME_SEMAPHORES),
        reservations: (generation == Generation::Cayman).then(|| vec![Reservation::CAYMAN]),
        ..GraphDef::default()
    };
    GraphSource { def, engines, files }
}
