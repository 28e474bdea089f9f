//! Standard output and standard error of the command.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde_json::Value;

use super::failure::Failure;

/// Standard output. A reader that has gone away, as in `seqjit disasm MODEL.neff | head`, is no error: the
/// rest of the text goes nowhere.
pub struct Output {
    stdout: BufWriter<StdoutLock<'static>>,
    closed: bool,
    /// Write one JSON document instead of text.
    pub json: bool,
}

impl Output {
    /// Output as text, or as one JSON document.
    pub fn new(json: bool) -> Output {
        Output { stdout: BufWriter::new(io::stdout().lock()), closed: false, json }
    }

    /// Writes the document.
    pub fn document(&mut self, value: &Value) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut *self, value).map_err(io::Error::from)?;
        writeln!(self)?;
        Ok(())
    }

    fn unless_closed<T>(&mut self, result: io::Result<T>, closed: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(closed)
            }
            other => other,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = self.stdout.write(bytes);
        self.unless_closed(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.stdout.flush();
        self.unless_closed(result, ())
    }
}

/// Writes a line to standard error, if there is somebody to read it.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
