//! `--expect`: comparing outputs with reference files.

use std::path::PathBuf;

use seqjit::runtime::num::Fp8;
use seqjit::{Program, Tensor};
use serde_json::{Value as Json, json};

use crate::cli::exit::Code;
use crate::cli::failure::Failure;
use crate::cli::named::NamedFile;
use crate::cli::value::{self, Value};

/// A reference for an output.
pub struct Expectation {
    /// The output.
    pub name: String,
    file: PathBuf,
    tensor: Tensor,
}

/// What a comparison found.
pub struct Comparison {
    name: String,
    file: PathBuf,
    elements: usize,
    /// Elements that differ by more than the tolerance.
    differing: usize,
    /// Largest difference of any two elements; infinite where only one is NaN or infinite.
    largest: f64,
    first: Option<Mismatch>,
}

struct Mismatch {
    index: Vec<usize>,
    found: Value,
    expected: Value,
}

impl Expectation {
    /// Reads a reference; it must have the output's shape. The datatypes may differ: values are compared.
    pub fn read(given: &NamedFile, program: &Program) -> Result<Expectation, Failure> {
        let output = given.find(program.outputs(), "--expect", "output")?;
        let tensor = Tensor::open(&given.file).map_err(|error| Failure::npy(&given.file, &error))?;
        if tensor.shape != output.shape {
            let (found, expected) = (format!("{:?}", tensor.shape), format!("{:?}", output.shape));
            let message = format!(
                "`{}` has shape {found}, output '{}' has {expected}",
                given.file.display(),
                given.name
            );
            let failure = Failure::new(Code::Input, message).file(&given.file).with("field", "shape");
            return Err(failure.with("found", found).with("expected", expected));
        }
        Ok(Expectation { name: given.name.clone(), file: given.file.clone(), tensor })
    }

    /// Compares the output with it.
    pub fn compare(&self, found: &Tensor, rtol: f64, atol: f64) -> Comparison {
        // Files of the format hold no FP8.
        let (found, expected) =
            [found, &self.tensor].map(|t| value::read_all(t.dtype, Fp8::default(), &t.data)).into();
        let (mut elements, mut differing, mut largest, mut first) = (0, 0, 0.0f64, None);
        for (found, expected) in found.zip(expected) {
            let difference = value::difference(found, expected);
            largest = largest.max(if difference.is_nan() { f64::INFINITY } else { difference });
            if !value::close(found, expected, rtol, atol) {
                differing += 1;
                let index = || index_of(elements, &self.tensor.shape);
                first.get_or_insert_with(|| Mismatch { index: index(), found, expected });
            }
            elements += 1;
        }
        Comparison { name: self.name.clone(), file: self.file.clone(), elements, differing, largest, first }
    }
}

/// The index, outermost dimension first, of the element at a position.
fn index_of(position: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = position;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|n| {
            let i = rest % n;
            rest /= n;
            i
        })
        .collect();
    index.reverse();
    index
}

impl Comparison {
    /// The failure, if an element differs.
    pub fn failure(&self) -> Option<Failure> {
        let Mismatch { index, found, expected } = self.first.as_ref()?;
        let message = format!(
            "output '{}' differs from `{}`: first at {index:?}: found {found}, expected {expected}; {} of {} elements differ, by at most {:?}",
            self.name,
            self.file.display(),
            self.differing,
            self.elements,
            self.largest,
        );
        let failure =
            Failure::new(Code::Mismatch, message).file(&self.file).with("output", self.name.as_str());
        Some(
            failure
                .with("index", index.as_slice())
                .with("found", found.to_json())
                .with("expected", expected.to_json())
                .with("differing", self.differing)
                .with("elements", self.elements),
        )
    }

    /// One line.
    pub fn to_text(&self) -> String {
        match self.first {
            None => format!("as expected (largest difference {:?})", self.largest),
            Some(_) => format!("{} of {} elements differ", self.differing, self.elements),
        }
    }

    /// The comparison as an object.
    pub fn to_json(&self) -> Json {
        let largest = if self.largest.is_finite() { json!(self.largest) } else { json!("inf") };
        let mut object = json!({
            "file": self.file.display().to_string(),
            "equal": self.first.is_none(),
            "elements": self.elements,
            "differing": self.differing,
            "largest_difference": largest,
        });
        if let Some(Mismatch { index, found, expected }) = &self.first {
            object["first"] = json!({
                "index": index, "found": found.to_json(), "expected": expected.to_json(),
            });
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::index_of;

    #[test]
    fn indices_are_row_major() {
        assert_eq!(index_of(0, &[]), Vec::<usize>::new());
        assert_eq!(index_of(5, &[7]), [5]);
        assert_eq!(index_of(23, &[2, 3, 4]), [1, 2, 3]);
        assert_eq!(index_of(13, &[2, 3, 4]), [1, 0, 1]);
    }
}
