//! What the tests of the command share: running it, the test data, and a small program whose results are
//! known.

#![allow(dead_code)]

// Some tests use `common` too.
#[allow(clippy::duplicate_mod)]
#[path = "../common/data.rs"]
mod data_file;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use seqjit::neff::{
    Access, Descriptor, DescriptorOp, DmaBlock, EngineSource, GraphDef, GraphSource, HostTensor, NeffBuilder,
    Queue, QueueKind, ReadOptions, Reservation, Variable, VariableKind,
};
use seqjit::runtime::isa::text::{Names, assemble};
use seqjit::runtime::isa::{Dtype, EngineId, Generation, Word};
use seqjit::{Tensor, npy};
use serde_json::Value;
use tempfile::TempDir;

pub use self::data_file::data;

/// What a run of the command left.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Standard output as the one JSON document that it must be.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.stdout, self.stderr))
    }

    /// Checks the exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The error of a JSON document, which must agree with the exit code and leave standard error empty.
    #[track_caller]
    pub fn error(self, code: i32, kind: &str) -> Value {
        let ended = self.expect(code);
        assert_eq!(ended.stderr, "", "a JSON error belongs on standard output");
        let error = ended.json()["error"].clone();
        assert_eq!(error["exit_code"], code);
        assert_eq!(error["kind"], kind);
        assert!(!error["message"].as_str().unwrap().is_empty());
        error
    }
}

/// Runs the command.
pub fn seqjit<A: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = A>) -> Ended {
    seqjit_with(args, "")
}

/// Runs the command with text on its standard input.
pub fn seqjit_with<A: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = A>, input: &str) -> Ended {
    let mut child = Command::new(env!("CARGO_BIN_EXE_seqjit"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ended {
        code: output.status.code().expect("not killed by a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A vendor container.
pub fn vendor(name: &str) -> Option<String> {
    data(&format!("neffs/{name}.neff")).map(|path| path.display().to_string())
}

/// A word on CAYMAN.
pub fn word(engine: EngineId, opcode: &str, text: &str) -> Word {
    let assembled = assemble(opcode, text, engine, Generation::Cayman, &Names::new());
    assembled.unwrap_or_else(|e| panic!("{opcode} {text}: {e}"))
}

/// Columns of [`Small`]'s tensors.
pub const COLUMNS: usize = 8;

/// A program: `y = x + x` for fp32 [128, 8]. SP loads `x` to byte 0x4000 of every partition (word 0), DVE adds
/// (word 0), SP stores byte 0x5000 (word 1) and waits for that (word 2). Semaphores 20 (loaded, +16), 21
/// (added, +1), 22 (stored, +16).
pub struct Small {
    pub builder: NeffBuilder,
    pub streams: [Vec<Word>; 5],
}

impl Small {
    pub fn new() -> Small {
        let mut streams: [Vec<Word>; 5] = Default::default();
        streams[EngineId::Sp.index()] = vec![
            word(EngineId::Sp, "PSEUDO_DMA_TRIGGER", "q_in block_id=0"),
            word(EngineId::Sp, "PSEUDO_DMA_TRIGGER", "$S[21]>=1 q_out block_id=0"),
            word(EngineId::Sp, "EVENT_SEMAPHORE", "$S[22]>=16 setter=0"),
        ];
        streams[EngineId::Dve.index()] = vec![word(
            EngineId::Dve,
            "TENSOR_TENSOR",
            "$S[20]>=16 $S[21]++@complete op=ADD src0=fp32@0x4000[1,1,1][8,1,1] src1=fp32@0x4000[1,1,1][8,1,1] \
             dst=fp32@0x5000[1,1,1][8,1,1] channels=128",
        )];
        Small { builder: builder(Dtype::FP32), streams }
    }

    /// The words of an engine, to be changed.
    pub fn stream(&mut self, engine: EngineId) -> &mut Vec<Word> {
        &mut self.streams[engine.index()]
    }

    /// Writes the container into a directory.
    pub fn write(&self, directory: &Path) -> String {
        let mut builder = self.builder.clone();
        for (engine, words) in builder.graphs[0].engines.iter_mut().zip(&self.streams) {
            *engine = EngineSource {
                stream: words.iter().flat_map(|w| w.0).collect::<Vec<u8>>().into(),
                ..engine.clone()
            };
        }
        let neff = builder.build(&ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let path = directory.join("small.neff");
        std::fs::write(&path, neff.write()).unwrap();
        path.display().to_string()
    }
}

/// The container around the streams of [`Small`] for another datatype of the same number of bytes.
pub fn builder(dtype: Dtype) -> NeffBuilder {
    let row = (COLUMNS * dtype.bytes()) as u64;
    let tensor = |name: &str| HostTensor { name: name.to_owned(), shape: vec![128, COLUMNS], dtype };
    let mut builder = NeffBuilder::new("small", Some(Generation::Cayman));
    builder.inputs = vec![tensor("x")];
    builder.outputs = vec![tensor("y")];
    let access = |variable: &str, offset, pitch: i64| Access {
        variable: variable.to_owned(),
        offset,
        sizes: vec![row, 128],
        steps: vec![1, pitch],
        dtype: None,
    };
    let block = |queue: &str, semaphore, source, destination| DmaBlock {
        queue: queue.to_owned(),
        semaphore: Some(semaphore),
        descriptors: vec![Descriptor { op: DescriptorOp::Copy, sources: vec![source], destination }],
        ..DmaBlock::default()
    };
    // 0x40000: the pitch of SBUF partitions (chapter 03 section 3.1).
    let load = block("q_in", 20, access("x", 0, row as i64), access("SB", 0x4000, 0x4_0000));
    let store = block("q_out", 22, access("SB", 0x5000, 0x4_0000), access("y", 0, row as i64));
    let def = GraphDef {
        name: "small".to_owned(),
        variables: vec![
            Variable::new("SB", 0, VariableKind::StateBuffer, None),
            Variable::new("x", 1, VariableKind::Input, Some(128 * row)),
            Variable::new("y", 2, VariableKind::Output, Some(128 * row)),
            Variable::new("spare", 3, VariableKind::TmpBuf, Some(64)),
        ],
        queues: vec![
            Queue::new("q_in", EngineId::Sp, QueueKind::In),
            Queue::new("q_out", EngineId::Sp, QueueKind::Out),
        ],
        blocks: vec![load, store],
        reservations: Some(vec![Reservation::CAYMAN]),
        ..GraphDef::default()
    };
    builder.graphs = vec![GraphSource { def, ..GraphSource::default() }];
    builder
}

/// [`Small`] and an input with the values 0, 1, 2, ... in a directory of their own.
pub struct Example {
    pub directory: TempDir,
    pub neff: String,
    pub x: String,
}

impl Example {
    pub fn new() -> Example {
        Example::of(&Small::new())
    }

    pub fn of(small: &Small) -> Example {
        let directory = tempfile::tempdir().unwrap();
        let neff = small.write(directory.path());
        let x = directory.path().join("x.npy");
        floats(&[128, COLUMNS], |i| i as f32).save(&x).unwrap();
        Example { neff, x: format!("x={}", x.display()), directory }
    }

    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// Runs the program on the input with more arguments.
    pub fn run(&self, more: &[&str]) -> Ended {
        let args = ["run", &self.neff, "-i", &self.x];
        seqjit(args.iter().chain(more))
    }
}

/// An fp32 tensor.
pub fn floats(shape: &[usize], value: impl Fn(usize) -> f32) -> Tensor {
    let elements: usize = shape.iter().product();
    let data = (0..elements).flat_map(|i| value(i).to_le_bytes()).collect();
    npy::Tensor::new(Dtype::FP32, shape.to_vec(), data).unwrap()
}
