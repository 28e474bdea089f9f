//! Fast-forward: runs that stop at a point and are saved, and saved runs that go on.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use seqjit::runtime::isa::EngineId;
use seqjit::{Program, RestoreError, SaveError, Session, StopError, Until};

use crate::cli::errors;
use crate::cli::exit::Code;
use crate::cli::failure::Failure;
use crate::cli::setup::Setup;

/// The value of `--until`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// So many words of all engines have retired.
    Words(u64),
    /// An engine is about to run a word.
    Word(usize, EngineId, u64),
}

impl FromStr for Point {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Point, &'static str> {
        let expected = "expected CORE:ENGINE:WORD or a number of words";
        let parts: Vec<&str> = text.split(':').collect();
        let point = match parts[..] {
            [words] => words.parse().ok().map(Point::Words),
            [core, engine, slot] => EngineId::parse(engine)
                .and_then(|engine| Some(Point::Word(core.parse().ok()?, engine, slot.parse().ok()?))),
            _ => None,
        };
        point.ok_or(expected)
    }
}

impl Point {
    /// Where the session stops.
    pub fn until(self) -> Until<'static> {
        match self {
            Point::Words(words) => Until::Words(words),
            Point::Word(core, engine, slot) => Until::Word { core, engine, slot },
        }
    }

    /// As a sentence begins.
    pub fn text(self) -> String {
        match self {
            Point::Words(words) => format!("after {words} words"),
            Point::Word(core, engine, slot) => format!("before core {core} {engine} word {slot}"),
        }
    }

    /// There is no such word.
    pub fn refused(error: StopError) -> Failure {
        Failure::new(Code::Usage, format!("--until: {error}")).with("field", "--until")
    }

    /// The program ended before.
    pub fn not_reached(self) -> Failure {
        let message = format!("--until: the program has ended, and was not stopped {}", self.text());
        Failure::new(Code::NotReached, message).with("field", "--until")
    }
}

/// Saves a stopped run under a name that only a whole file ever has.
pub fn save(session: &Session, file: &Path) -> Result<(), Failure> {
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = Partial(file.with_file_name(name));
    let written = File::create(&partial.0).map_err(SaveError::from).and_then(|created| {
        let mut to = BufWriter::new(created);
        session.save(&mut to)?;
        to.flush()?;
        Ok(to.get_ref().sync_all()?)
    });
    written.map_err(|error| match error {
        SaveError::Io(error) => Failure::io("write", &partial.0, &error),
        other => Failure::new(Code::Internal, other),
    })?;
    fs::rename(&partial.0, file).map_err(|error| Failure::io("rename to", file, &error))
}

/// A file that has not got its name yet; dropping removes it, unless it has been renamed.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // The error that led here is the one to report.
        let _ = fs::remove_file(&self.0);
    }
}

/// The session of a saved run.
pub fn resume(file: &Path, setup: &Setup, program: &Program) -> Result<Session, Failure> {
    let opened = File::open(file).map_err(|error| Failure::io("read", file, &error))?;
    let restored =
        Session::restore(&setup.host.engine()?, program, setup.options(), &mut BufReader::new(opened));
    restored.map_err(|error| {
        let failure = |code| Failure::new(code, format!("`{}`: {error}", file.display())).file(file);
        match &error {
            RestoreError::Io(error) => Failure::io("read", file, error),
            RestoreError::Program { found, expected } => failure(Code::Usage)
                .with("found", found.as_str())
                .with("expected", expected.as_str())
                .hint("give the container that the run was saved from"),
            RestoreError::Options { name, found, asked } => failure(Code::Usage)
                .with("field", *name)
                .with("found", asked.as_str())
                .with("expected", found.as_str())
                .hint("give the same --check, --schedule and --lenient as when the run was saved"),
            RestoreError::Version { part, found, expected } => {
                failure(Code::Input).with("field", *part).with("found", *found).with("expected", *expected)
            }
            RestoreError::Session(_) => match error {
                RestoreError::Session(error) => errors::session(error, program, &setup.source),
                other => Failure::new(Code::Internal, other),
            },
            _ => failure(Code::Input),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points() {
        assert_eq!("120".parse(), Ok(Point::Words(120)));
        assert_eq!("1:DVE:7".parse(), Ok(Point::Word(1, EngineId::Dve, 7)));
        for wrong in ["", "DVE:7", "0:DVE", "0:XYZ:7", "0:DVE:-1", "0:DVE:7:8"] {
            assert!(wrong.parse::<Point>().is_err(), "{wrong}");
        }
    }
}
