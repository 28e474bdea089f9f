//! The small programs of `conformance.jsonl.gz`: expected bytes from an independent functional model.

mod common;

use std::io::Read;
use std::sync::Arc;

use base64::Engine as _;
use seqjit::runtime::interp::Instruction;
use seqjit::runtime::isa::{EngineId, Execution, Generation, Space, Word, opcode_info};
use seqjit::runtime::machine::{CoreSpec, Image, Machine, MachineOptions, Stream};
use seqjit::runtime::num::Fp8;
use seqjit::runtime::sequencer::{dma_turn, engine_turn};
use serde_json::Value;

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

    /// Every word has an interpreter function.
    fn is_covered(&self) -> bool {
        self.streams
            .iter()
            .flatten()
            .all(|w| opcode_info(w.opcode()).is_some_and(|i| i.execution == Execution::Run))
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
            variables: Vec::new(),
            table_base: 0,
            dve_programs: None,
            fp8: Fp8::default(),
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

    /// Runs the case; `Err` says how it differs.
    fn run(&self) -> Result<(), String> {
        let mut machine = self.machine();
        machine.start_all();
        loop {
            let mut progress = 0;
            for engine in EngineId::ALL {
                progress += engine_turn(&mut machine, 0, engine, 256).map_err(|f| f.to_string())?.progress;
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

#[test]
fn small_programs_give_the_expected_bytes() {
    let Some(text) = common::read_gz("conformance.jsonl.gz") else { return };
    let cases: Vec<Case> = text.lines().map(Case::parse).collect();
    assert_eq!(cases.len(), 281);
    let only = std::env::var("SEQJIT_CASE").unwrap_or_default();
    let covered: Vec<&Case> = cases.iter().filter(|c| c.is_covered() && c.name.contains(&only)).collect();
    let failures: Vec<String> =
        covered.iter().filter_map(|c| c.run().err().map(|e| format!("{}: {e}", c.name))).collect();
    println!("{} of {} cases run", covered.len(), cases.len());
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), covered.len(), failures.join("\n"));
    assert!(!only.is_empty() || covered.len() >= 50, "only {} cases are covered", covered.len());
}
