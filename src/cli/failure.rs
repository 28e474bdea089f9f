//! Errors of the command: what, where, what to do, and the exit code.

use std::fmt::Write;
use std::io;
use std::path::Path;

use seqjit::neff::{Details, NeffError};
use seqjit::npy::NpyError;
use serde_json::{Map, Value};

use super::exit::Code;

/// Why the command failed.
#[derive(Debug)]
pub struct Failure {
    /// Exit code and kind.
    pub code: Code,
    parts: Box<Parts>,
}

#[derive(Debug)]
struct Parts {
    message: String,
    hint: Option<String>,
    /// Location and values, as they stand in the JSON error.
    fields: Map<String, Value>,
    /// What is known in spite of the failure, as it stands beside the JSON error.
    beside: Map<String, Value>,
    /// Lines shown below the message only.
    lines: Vec<String>,
}

impl Failure {
    /// A failure with nothing but its message.
    pub fn new(code: Code, message: impl ToString) -> Failure {
        let (fields, beside) = (Map::new(), Map::new());
        let parts = Parts { message: message.to_string(), hint: None, fields, beside, lines: Vec::new() };
        Failure { code, parts: Box::new(parts) }
    }

    /// A failure of reading or writing a file.
    pub fn io(action: &str, path: &Path, source: &io::Error) -> Failure {
        Failure::new(Code::Io, format!("cannot {action} `{}`: {source}", path.display())).file(path)
    }

    /// What the user can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.parts.hint = Some(hint.into());
        self
    }

    /// Adds a field to the JSON error.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Failure {
        self.parts.fields.insert(key.to_owned(), value.into());
        self
    }

    /// Adds what the JSON document holds beside the error.
    pub fn beside(mut self, values: Map<String, Value>) -> Failure {
        self.parts.beside = values;
        self
    }

    /// Adds a line below the message of the text form.
    pub fn line(mut self, line: impl Into<String>) -> Failure {
        self.parts.lines.push(line.into());
        self
    }

    /// Names the file.
    pub fn file(self, path: &Path) -> Failure {
        self.with("file", path.display().to_string())
    }

    /// Adds the parts of a container's or array's error.
    pub fn details(mut self, details: Details) -> Failure {
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                self.parts.fields.insert(key.to_owned(), value);
            }
        };
        put("file", details.file.map(|f| f.display().to_string().into()));
        put("member", details.member.map(Value::from));
        put("byte_offset", details.byte_offset.map(Value::from));
        put("field", details.field.map(Value::from));
        put("found", details.found.map(Value::from));
        put("expected", details.expected.map(Value::from));
        self
    }

    /// A refused `.npy` file.
    pub fn npy(path: &Path, error: &NpyError) -> Failure {
        if let NpyError::Io { source, .. } = error {
            return Failure::io("access", path, source);
        }
        let failure = Failure::new(Code::Input, format!("`{}`: {error}", path.display()));
        let hint = match error {
            NpyError::FortranOrder => "save it with numpy.ascontiguousarray(a)",
            NpyError::Descr { .. } => {
                "convert it, for example with a.astype('<f4'); bfloat16 is stored as <V2"
            }
            NpyError::Magic => "write it with numpy.save",
            _ => "the file is damaged or cut short",
        };
        failure.file(path).details(error.details()).hint(hint)
    }

    /// The JSON document.
    pub fn to_json(&self) -> Value {
        let mut error = Map::new();
        error.insert("kind".into(), self.code.kind().into());
        error.insert("exit_code".into(), (self.code as u8).into());
        error.insert("message".into(), self.parts.message.clone().into());
        error.extend(self.parts.fields.clone());
        if let Some(hint) = &self.parts.hint {
            error.insert("hint".into(), hint.clone().into());
        }
        let mut document = Map::new();
        document.insert("error".into(), error.into());
        document.extend(self.parts.beside.clone());
        document.into()
    }

    /// The text for standard error.
    pub fn to_text(&self) -> String {
        let mut text = format!("error: {}", self.parts.message);
        // Writing to a string does not fail.
        for line in &self.parts.lines {
            let _ = write!(text, "\n  {line}");
        }
        if let Some(hint) = &self.parts.hint {
            let _ = write!(text, "\n  hint: {hint}");
        }
        text
    }
}

/// Everything else reports its own path, so this is standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::new(Code::Io, format!("cannot write to standard output: {error}"))
    }
}

impl From<NeffError> for Failure {
    fn from(error: NeffError) -> Failure {
        let code = if matches!(error, NeffError::Io { .. }) { Code::Io } else { Code::Input };
        let mut failure = Failure::new(code, &error).details(error.details());
        if code == Code::Input {
            failure = failure.with("loader_status", error.status());
        }
        match hint(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

fn hint(error: &NeffError) -> Option<&'static str> {
    Some(match error {
        NeffError::InFile { source, .. } => return hint(source),
        NeffError::TooShort { .. }
        | NeffError::HeaderSizeBeyondFile { .. }
        | NeffError::HeaderSize { .. } => "this is no NEFF file, or only the start of one",
        NeffError::DataSize { .. }
        | NeffError::Digest { .. }
        | NeffError::Gzip { .. }
        | NeffError::PayloadTail { .. }
        | NeffError::TarTruncated { .. }
        | NeffError::TarChecksum { .. } => "the file is damaged or cut short: copy it again",
        NeffError::MajorVersion { .. } | NeffError::FeatureBits { .. } | NeffError::PackageVersion { .. } => {
            "the container needs something that seqjit does not have: compile it for an older runtime"
        }
        _ => return None,
    })
}
