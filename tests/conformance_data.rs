//! The small programs of `conformance.jsonl.gz`: expected bytes from an independent functional model.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use base64::Engine as _;
use seqjit::runtime::interp::Instruction;
use seqjit::runtime::isa::check::{CheckContext, check_bytes};
use seqjit::runtime::isa::{EngineId, Execution, Generation, OpcodeInfo, Space, Word, opcode_info};
use seqjit::runtime::machine::soc::SBUF_BASE;
use seqjit::runtime::machine::{CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit::runtime::num::Fp8;
use seqjit::runtime::sequencer::{Limits, dma_turn, engine_turn_within};
use seqjit::{Engine, Tier, Translator};
use serde_json::Value;

/// Cases that run, of those in the file, by the opcode they are about. Counting both keeps coverage from
/// shrinking unseen: an implemented opcode changes this table and [`WAITING`].
const GROUPS: &str = "
    01 1/1   02 20/20
    21 25/25 22 2/2   24 1/1
    41 7/7   42 4/4   43 6/6   44 1/1   46 2/2   47 2/2   8d 1/1   92 1/1   93 4/4
    45 17/17  58 2/2   4d 3/3   4e 5/5   4f 1/1   52 1/1   53 2/2   5e 1/1
    60 1/1   61 3/3   62 6/6   63 4/4   65 3/3   66 1/1   94 2/2
    68 4/4   6a 3/3   6b 4/4   6c 10/10  6e 2/2   6f 12/12  72 1/1
    7b 2/2   7f 6/6   96 3/3   9a 2/2   9b 1/1   9d 4/4   9e 1/1
    9f 1/1   a0 18/18 a1 1/1   a3 1/1   a5 2/2   a7 4/4   a8 33/33 a9 10/10 aa 4/4   ab 6/6   b3 1/1
    cd 1/1
    bc 1/1   be 2/2   e5 1/1   e6 2/2   e7 6/6   ea 1/1   f0 1/1   f2 1/1
";

/// Opcodes in the file that wait for their interpreter function.
const WAITING: &[u8] = &[];

/// One line of the file.
struct Case {
    name: String,
    generation: Generation,
    streams: [Vec<Word>; 5],
    x: Vec<u8>,
    y: Vec<u8>,
    y_offset: usize,
    act_tables: bool,
    ulp: u32,
}

fn inflate(text: &Value) -> Vec<u8> {
    let packed = base64::prelude::BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap();
    let mut bytes = Vec::new();
    flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

impl Case {
    fn parse(line: &str) -> Case {
        let json: Value = serde_json::from_str(line).unwrap();
        let streams = EngineId::ALL.map(|engine| {
            let words = json["progs"].get(engine.name().to_lowercase()).and_then(Value::as_array);
            words.into_iter().flatten().map(|w| Word::from_hex(w.as_str().unwrap()).unwrap()).collect()
        });
        Case {
            name: json["name"].as_str().unwrap().to_owned(),
            generation: Generation::parse(json["gen"].as_str().unwrap()).unwrap(),
            streams,
            x: inflate(&json["x"]),
            y: inflate(&json["y"]),
            y_offset: json["y_offset"].as_u64().unwrap() as usize,
            act_tables: json["act_tables"].as_bool().unwrap(),
            ulp: json["ulp"].as_u64().unwrap() as u32,
        }
    }

    /// The opcode that the case is about: its name starts with it.
    fn group(&self) -> u8 {
        u8::from_str_radix(&self.name[..2], 16).unwrap()
    }

    /// Opcodes of its words that have no interpreter function.
    fn missing(&self) -> BTreeMap<u8, &'static OpcodeInfo> {
        let rows = self.streams.iter().flatten().map(|w| opcode_info(w.opcode()).unwrap());
        rows.filter(|i| i.execution != Execution::Run).map(|i| (i.byte, i)).collect()
    }

    fn is_covered(&self) -> bool {
        self.missing().is_empty()
    }

    fn machine(&self) -> Machine {
        let streams = EngineId::ALL.map(|engine| Stream {
            base: 0,
            words: self.streams[engine.index()]
                .iter()
                .map(|w| Instruction::new(*w, self.generation))
                .collect(),
            ends_gracefully: true,
        });
        let table_sets =
            if self.act_tables { common::vendor_table_sets(self.generation) } else { Vec::new() };
        let core = CoreSpec {
            name: self.name.clone(),
            physical: 0,
            streams,
            queues: Vec::new(),
            // The one variable of these programs is the state buffer.
            variables: vec![Some(SBUF_BASE)],
            table_base: 0,
            dve_programs: None,
            fp8: Fp8::default(),
            replica_groups: Vec::new(),
            table_sets,
        };
        let image = Image { generation: self.generation, cores: vec![Arc::new(core)], buffers: Vec::new() };
        let mut machine = Machine::new(&image, MachineOptions::default());
        let width = self.x.len() / 128;
        for partition in 0..128 {
            let row = machine.cores[0].memory_mut(Space::Sbuf).partition_mut(partition);
            row[0x4000..0x4000 + width].copy_from_slice(&self.x[partition * width..][..width]);
        }
        machine
    }

    /// Runs the case in a tier; `Err` says how it differs.
    fn run(&self, engine: &Engine, tier: Tier) -> Result<(), String> {
        let mut machine = self.machine();
        let translator = Translator::new(engine, tier);
        let limits = Limits { translated: Some(&translator), ..Limits::default() };
        machine.start_all();
        loop {
            let mut progress = 0;
            for engine in EngineId::ALL {
                let turn = engine_turn_within(&mut machine, 0, engine, 256, &limits);
                progress += turn.map_err(|f| f.to_string())?.progress;
            }
            for queue in 0..machine.cores[0].queues.len() {
                progress += dma_turn(&mut machine, 0, queue).map_err(|f| f.to_string())?.progress;
            }
            if progress == 0 {
                break;
            }
        }
        if let Some(engine) = machine.cores[0].engines.iter().find(|e| e.is_active()) {
            return Err(format!("{} does not end: {:?}", engine.id, engine.blocked_on));
        }
        let width = self.y.len() / 128;
        for partition in 0..128 {
            let row = &machine.cores[0].memory(Space::Sbuf).partition(partition)[self.y_offset..][..width];
            let expected = &self.y[partition * width..][..width];
            if let Some(at) = self.first_difference(row, expected) {
                let end = (at + 8).min(width);
                return Err(format!(
                    "partition {partition} byte {at}: {:02x?}, expected {:02x?}",
                    &row[at..end],
                    &expected[at..end]
                ));
            }
        }
        Ok(())
    }

    fn first_difference(&self, found: &[u8], expected: &[u8]) -> Option<usize> {
        if self.ulp == 0 {
            return found.iter().zip(expected).position(|(a, b)| a != b);
        }
        let value = |b: &[u8]| i64::from(ordered(u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        let pairs = found.chunks_exact(4).zip(expected.chunks_exact(4));
        pairs
            .enumerate()
            .find(|(_, (a, b))| (value(a) - value(b)).abs() > self.ulp.into())
            .map(|(i, _)| 4 * i)
    }
}

/// FP32 bits on a line where neighbours differ by one.
fn ordered(bits: u32) -> i32 {
    let magnitude = (bits & 0x7FFF_FFFF) as i32;
    if bits >> 31 == 1 { -magnitude } else { magnitude }
}

/// All cases; `None` if the data is missing.
fn cases() -> Option<Vec<Case>> {
    let text = common::read_gz("conformance.jsonl.gz")?;
    Some(text.lines().map(Case::parse).collect())
}

#[test]
fn small_programs_give_the_expected_bytes() {
    let Some(cases) = cases() else { return };
    let only = std::env::var("SEQJIT_CASE").unwrap_or_default();
    let covered: Vec<&Case> = cases.iter().filter(|c| c.is_covered() && c.name.contains(&only)).collect();
    let engine = Engine::new();
    // In native code the bytes are those of the model too.
    let each = |tier| covered.iter().map(move |case| (*case, tier));
    let runs = each(Tier::Interp).chain(each(Tier::Jit));
    let failed = |(case, tier): (&Case, Tier)| {
        case.run(&engine, tier).err().map(|why| format!("{} in {tier}: {why}", case.name))
    };
    let failures: Vec<String> = runs.filter_map(failed).collect();
    println!("{} of {} cases run", covered.len(), cases.len());
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), covered.len(), failures.join("\n"));
}

#[test]
fn small_programs_pass_the_checks() {
    let Some(cases) = cases() else { return };
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|c| c.is_covered()) {
        for engine in EngineId::ALL {
            let cx = CheckContext::new(case.generation, engine);
            for word in &case.streams[engine.index()] {
                wrong.extend(check_bytes(word, &cx).iter().map(|f| format!("{} {engine}: {f}", case.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every opcode that keeps cases from running, with the reason and how many; the lists above are exact.
#[test]
fn coverage_is_what_the_tables_say() {
    let Some(cases) = cases() else { return };
    let mut groups: BTreeMap<u8, (usize, usize)> = BTreeMap::new();
    let mut missing: BTreeMap<u8, (&OpcodeInfo, usize)> = BTreeMap::new();
    for case in &cases {
        let (run, all) = groups.entry(case.group()).or_default();
        *run += usize::from(case.is_covered());
        *all += 1;
        for (byte, info) in case.missing() {
            missing.entry(byte).or_insert((info, 0)).1 += 1;
        }
    }
    for (byte, (info, count)) in &missing {
        println!("not covered: {byte:02x} {} ({:?}), {count} cases", info.name, info.execution);
    }
    let mut expected = BTreeMap::new();
    for row in GROUPS.split_whitespace().collect::<Vec<_>>().chunks(2) {
        let (run, all) = row[1].split_once('/').unwrap();
        expected
            .insert(u8::from_str_radix(row[0], 16).unwrap(), (run.parse().unwrap(), all.parse().unwrap()));
    }
    let known: BTreeSet<u8> = groups.keys().chain(expected.keys()).copied().collect();
    let changed = known.iter().filter(|g| groups.get(g) != expected.get(g));
    let changed: Vec<String> = changed
        .map(|g| format!("{g:02x}: (run, all) {:?}, expected {:?}", groups.get(g), expected.get(g)))
        .collect();
    assert!(changed.is_empty(), "{}", changed.join("\n"));
    assert_eq!(missing.keys().copied().collect::<Vec<_>>(), WAITING);
    let refused: Vec<_> = missing.values().filter(|(i, _)| i.execution != Execution::Later).collect();
    assert!(refused.is_empty(), "the manual defines what these cases need: {refused:?}");
}
