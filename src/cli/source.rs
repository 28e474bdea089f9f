//! Opening the program that a subcommand works on.

use std::path::{Path, PathBuf};

use seqjit::neff::ReadOptions;
use seqjit::{LoadError, OpenError, Program};
use serde_json::{Value, json};

use super::exit::Code;
use super::failure::Failure;

/// The program of a subcommand.
#[derive(clap::Args, Clone, Debug)]
pub struct Source {
    /// The NEFF file.
    #[arg(value_name = "FILE.neff")]
    pub file: PathBuf,
    /// Accept with a warning what the vendor's tools refuse but whose meaning is clear: rules about engines,
    /// reserved bytes and memory regions, duplicate archive members, incomplete last words, short constants.
    #[arg(long)]
    pub lenient: bool,
}

impl Source {
    fn options(&self, lenient: bool) -> ReadOptions {
        ReadOptions { strict: !lenient, allow_legacy: lenient, ..ReadOptions::default() }
    }

    /// Opens it.
    pub fn open(&self) -> Result<Program, Failure> {
        let error = match Program::open_with(&self.file, &self.options(self.lenient)) {
            Ok(program) => return Ok(program),
            Err(error) => error,
        };
        let failure = match error {
            OpenError::Container(error) => Failure::from(error),
            OpenError::Load(error) => load_failure(&error).file(&self.file),
            other => Failure::new(Code::Input, other).file(&self.file),
        };
        let helps = !self.lenient
            && failure.code == Code::Input
            && Program::open_with(&self.file, &self.options(true)).is_ok();
        Err(if helps { failure.hint("--lenient accepts this file with a warning") } else { failure })
    }
}

fn load_failure(error: &LoadError) -> Failure {
    let failure = Failure::new(Code::Input, error);
    match error {
        LoadError::Reference { name, graph, target } => {
            failure.with("graph", graph.as_str()).with("field", name.as_str()).with("found", target.as_str())
        }
        LoadError::Block { graph, queue, block, variable } => failure
            .with("graph", graph.as_str())
            .with("field", format!("block {block} of queue {queue}"))
            .with("found", variable.as_str()),
        LoadError::Tables { graph, .. } => failure.with("graph", graph.as_str()),
        LoadError::AddressSpace { available } => {
            failure.with("field", "size").with("expected", format!("at most {available} bytes"))
        }
        _ => failure,
    }
}

/// A file that must be text.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let (bytes, expected) = (error.as_bytes(), "UTF-8 text");
        let line = 1 + bytes[..offset].iter().filter(|byte| **byte == b'\n').count();
        let found = format!("0x{:02X}", bytes[offset]);
        let message =
            format!("`{}` line {line}: byte {offset} is {found}, expected {expected}", path.display());
        Failure::new(Code::Input, message)
            .file(path)
            .with("line", line)
            .with("byte_offset", offset)
            .with("found", found)
            .with("expected", expected)
    })
}

/// Names and shapes of tensors in reports.
pub fn tensor_json(tensor: &seqjit::IoTensor) -> Value {
    json!({ "name": tensor.name, "dtype": tensor.dtype.text(), "shape": tensor.shape })
}
