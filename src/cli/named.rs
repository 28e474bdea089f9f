//! Arguments of the form `NAME=FILE`.

use std::path::PathBuf;
use std::str::FromStr;

use seqjit::IoTensor;

use crate::cli::exit::Code;
use crate::cli::failure::Failure;

/// A tensor's name and a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedFile {
    /// Name of an input or output.
    pub name: String,
    /// File.
    pub file: PathBuf,
}

impl FromStr for NamedFile {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<NamedFile, &'static str> {
        match text.split_once('=') {
            Some((name, file)) if !name.is_empty() && !file.is_empty() => {
                Ok(NamedFile { name: name.to_owned(), file: file.into() })
            }
            _ => Err("expected NAME=FILE.npy"),
        }
    }
}

impl NamedFile {
    /// The tensor of this name.
    pub fn find<'t>(
        &self,
        tensors: &'t [IoTensor],
        option: &str,
        kind: &str,
    ) -> Result<&'t IoTensor, Failure> {
        tensors.iter().find(|t| t.name == self.name).ok_or_else(|| {
            let known: Vec<&str> = tensors.iter().map(|t| t.name.as_str()).collect();
            let message =
                format!("{option}: no {kind} '{}'; the program has: {}", self.name, known.join(", "));
            Failure::new(Code::Usage, message)
                .with("field", option)
                .with("found", self.name.as_str())
                .with("expected", known)
        })
    }
}

/// Every name may be given once.
pub fn refuse_twice(given: &[NamedFile], option: &str) -> Result<(), Failure> {
    for (position, file) in given.iter().enumerate() {
        if given[..position].iter().any(|g| g.name == file.name) {
            let message = format!("{option}: '{}' is given twice", file.name);
            return Err(Failure::new(Code::Usage, message)
                .with("field", option)
                .with("found", file.name.as_str()));
        }
    }
    Ok(())
}
