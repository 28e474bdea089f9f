//! Writing outputs: all of them or none, and never half a file under its final name.

use std::fs;
use std::path::{Path, PathBuf};

use seqjit::Tensor;
use seqjit::npy::NpyError;
use seqjit::runtime::isa::Dtype;

use crate::cli::failure::Failure;

/// Makes the directory, before a long run finds that it cannot.
pub fn prepare(directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| Failure::io("create directory", directory, &error))
}

/// Writes every tensor to `DIR/NAME.npy`; returns the paths. Files are renamed to these names when all of
/// them are complete.
pub fn save(directory: &Path, tensors: &[(&str, &Tensor)]) -> Result<Vec<PathBuf>, Failure> {
    let mut pending = Pending(Vec::new());
    for (name, tensor) in tensors {
        let name = file_name(name);
        let temporary = directory.join(format!(".{name}.{}.partial", std::process::id()));
        let npy = npy(tensor).map_err(|error| Failure::npy(&temporary, &error))?;
        let last = directory.join(name);
        pending.0.push((temporary.clone(), last));
        fs::write(&temporary, npy).map_err(|error| Failure::io("write", &temporary, &error))?;
    }
    pending.finish()
}

/// Files that still have their temporary names; dropping removes them.
struct Pending(Vec<(PathBuf, PathBuf)>);

impl Pending {
    fn finish(mut self) -> Result<Vec<PathBuf>, Failure> {
        let mut done = Vec::new();
        while let Some((temporary, last)) = self.0.first() {
            fs::rename(temporary, last).map_err(|error| Failure::io("rename to", last, &error))?;
            done.push(self.0.remove(0).1);
        }
        Ok(done)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        for (temporary, _) in &self.0 {
            // The error that led here is the one to report.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// The file of a tensor; one of an unknown datatype is written as bytes.
fn npy(tensor: &Tensor) -> Result<Vec<u8>, NpyError> {
    match tensor.dtype {
        Dtype::INVALID => Tensor { dtype: Dtype::UINT8, ..tensor.clone() }.to_npy(),
        _ => tensor.to_npy(),
    }
}

/// `NAME.npy`. The name comes from the container and must not lead out of the directory: characters that
/// file systems treat specially, and a leading dot, are written as `%XX`.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    for (position, c) in name.char_indices() {
        let special = c.is_control() || "/\\:*?\"<>|%".contains(c) || (position == 0 && c == '.');
        if special {
            let mut buffer = [0; 4];
            out.extend(c.encode_utf8(&mut buffer).bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            out.push(c);
        }
    }
    out.push_str(".npy");
    out
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_stay_in_the_directory() {
        assert_eq!(file_name("kernel_out"), "kernel_out.npy");
        assert_eq!(file_name("output.1"), "output.1.npy");
        assert_eq!(file_name("../x"), "%2E.%2Fx.npy");
        assert_eq!(file_name("/etc/x"), "%2Fetc%2Fx.npy");
        assert_eq!(file_name("a\0b%"), "a%00b%25.npy");
        assert_eq!(file_name(""), ".npy");
    }
}
