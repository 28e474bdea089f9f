//! Stopped runs as files, to go on with later, in any tier and on any CPU level.
//!
//! A file is the magic bytes, a version, and sections: a tag, the section's own version, its length, its bytes. Behind
//! them stands the SHA-256 of everything before. All numbers are little-endian. What the program and its
//! constants give is not stored; the program must be there when the run goes on.

use std::io::{self, Read, Write};

use seqjit_runtime::isa::EngineId;
use seqjit_runtime::save::{Damaged, Reader, Saved, Unsavable};
use sha2::{Digest, Sha256};

use super::Engine;
use super::report::{Counters, Options, SessionError};
use super::run::Course;
use super::schedule::Scheduler;
use super::session::Session;
use super::stops::Stops;
use crate::Program;

const MAGIC: &[u8; 8] = b"SEQJSAVE";
/// Version of the file's form; sections have their own.
const VERSION: u32 = 2;
/// Bytes of the SHA-256 at the end.
const CHECK_SUM: usize = 32;

/// The sections, in order, with their versions. One that changes its form gets the next version.
const SECTIONS: [(&[u8; 4], u32); 4] = [(PROGRAM, 1), (OPTIONS, 1), (SESSION, 1), (MACHINE, 1)];
/// The container's digest and the program's cores.
const PROGRAM: &[u8; 4] = b"PROG";
/// Options that decide what a run does.
const OPTIONS: &[u8; 4] = b"OPTS";
/// The run beside the machine: schedule, counters, stops, breakpoints.
const SESSION: &[u8; 4] = b"SESS";
/// Memories, engines, queues.
const MACHINE: &[u8; 4] = b"MACH";

/// Why a session cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// There is no stopped run.
    #[error("no run has stopped that could be saved")]
    NotStopped,
    /// An engine has failed.
    #[error(transparent)]
    Failed(#[from] Unsavable),
    /// The bytes cannot be written.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
}

/// Why a saved run cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes cannot be read.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// It is no saved run.
    #[error("not a saved run")]
    NotASave,
    /// It is a saved run, of which the end is missing or damaged.
    #[error("the saved run is damaged or cut short: its check sum is wrong")]
    CheckSum,
    /// The file, or a section of it, has a form that is not known here.
    #[error("{part} of the saved run has version {found}, expected {expected}")]
    Version {
        /// `file`, or the section's tag.
        part: &'static str,
        /// Its version.
        found: u32,
        /// The version that is known.
        expected: u32,
    },
    /// The sum is right, but the contents are not those of such a machine.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// It is a run of another program.
    #[error(
        "the saved run is one of another program: its container has SHA-256 {found}, this one {expected}"
    )]
    Program {
        /// Digest in the file, hexadecimal.
        found: String,
        /// [`Program::digest`], hexadecimal.
        expected: String,
    },
    /// The run had other options.
    #[error("the saved run has {name} = {found}, this session {asked}")]
    Options {
        /// Name of the field of [`Options`].
        name: &'static str,
        /// Its value in the file.
        found: String,
        /// Its value here.
        asked: String,
    },
    /// There can be no session for the program.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The options that decide what a run does. Tier and limits are free.
fn deciding(options: &Options) -> [(&'static str, String); 7] {
    let Options {
        strict,
        validate,
        check,
        races: _,
        fill,
        schedule,
        trace,
        activation,
        max_words: _,
        max_memory: _,
        tier: _,
    } = options;
    [
        ("strict", strict.to_string()),
        ("validate", validate.to_string()),
        ("check", check.to_string()),
        ("fill", fill.to_string()),
        ("schedule", format!("{schedule:?}")),
        ("trace", trace.to_string()),
        ("activation", format!("{activation:?}")),
    ]
}

impl Session {
    /// Writes the stopped run: everything that is needed to go on with it.
    ///
    /// # Errors
    /// No run has stopped, an engine has failed, or writing fails.
    pub fn save(&self, to: &mut impl Write) -> Result<(), SaveError> {
        let course = self.stopped.as_ref().ok_or(SaveError::NotStopped)?;
        let mut out = Vec::new();
        out.extend(MAGIC);
        VERSION.put(&mut out);
        for (tag, version) in SECTIONS {
            out.extend(tag);
            version.put(&mut out);
            let length_at = out.len();
            0u64.put(&mut out);
            match tag {
                PROGRAM => (self.program.digest(), self.program.cores()).put(&mut out),
                OPTIONS => {
                    let options = deciding(&self.options).map(|(name, value)| (name.to_owned(), value));
                    options.to_vec().put(&mut out);
                }
                SESSION => self.put_course(course, &mut out),
                _ => self.machine.save(&mut out)?,
            }
            let length = (out.len() - length_at - 8) as u64;
            out[length_at..][..8].copy_from_slice(&length.to_le_bytes());
        }
        let sum = Sha256::digest(&out);
        to.write_all(&out)?;
        Ok(to.write_all(&sum)?)
    }

    /// A session that goes on where another one was saved, with [`Session::resume`] or
    /// [`Session::run_until`]. Inputs are in the file; they need not be set. Tier and limits of the options may be other
    /// ones, and so may the engine's CPU level.
    ///
    /// # Errors
    /// The file is damaged, has another version, or is not one of this program and these options.
    pub fn restore(
        engine: &Engine,
        program: &Program,
        options: Options,
        from: &mut impl Read,
    ) -> Result<Session, RestoreError> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        let [of_program, of_options, of_session, of_machine] = sections(&bytes)?;
        check_program(of_program, program)?;
        check_options(of_options, &options)?;
        let mut session = Session::new(engine, program, options)?;
        let mut from = Reader::new(of_machine);
        session.machine.restore(&mut from)?;
        session.machine.watch_races(session.options.races);
        from.end()?;
        let mut from = Reader::new(of_session);
        session.take_course(&mut from)?;
        from.end()?;
        Ok(session)
    }

    fn put_course(&self, course: &Course, out: &mut Vec<u8>) {
        let Course { scheduler, counters } = course;
        scheduler.save(out);
        let Counters { retired, turns, transfers, dma_read, dma_written } = counters;
        [retired, turns, transfers, dma_read, dma_written].map(|count| *count).put(out);
        self.inputs_set.put(out);
        self.stops.save(out);
        self.breakpoints.put(out);
    }

    fn take_course(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        let mut scheduler = Scheduler::new(&self.machine, self.options.schedule);
        scheduler.restore(from)?;
        let [retired, turns, transfers, dma_read, dma_written] = Saved::load(from)?;
        let counters = Counters { retired, turns, transfers, dma_read, dma_written };
        let inputs_set = Vec::<bool>::load(from)?;
        if inputs_set.len() != self.inputs_set.len() {
            return Err(Damaged("another number of inputs"));
        }
        self.inputs_set = inputs_set;
        self.stops = Stops::restore(from)?;
        self.breakpoints = Vec::<(usize, EngineId, u64)>::load(from)?;
        if self.breakpoints.iter().any(|(core, ..)| *core >= self.machine.cores.len()) {
            return Err(Damaged("a breakpoint lies in a core that is not there"));
        }
        self.stopped = Some(Course { scheduler, counters });
        Ok(())
    }
}

/// Checks form and sum of a file; the contents of the sections.
fn sections(bytes: &[u8]) -> Result<[&[u8]; 4], RestoreError> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else { return Err(RestoreError::NotASave) };
    // Another version may have another sum.
    let found = u32::load(&mut Reader::new(rest))?;
    if found != VERSION {
        return Err(RestoreError::Version { part: "file", found, expected: VERSION });
    }
    let Some((content, sum)) = bytes.split_last_chunk::<CHECK_SUM>() else {
        return Err(RestoreError::CheckSum);
    };
    if Sha256::digest(content)[..] != sum[..] {
        return Err(RestoreError::CheckSum);
    }
    let mut from = Reader::new(&content[MAGIC.len() + size_of_val(&VERSION)..]);
    let mut found = [&[][..]; SECTIONS.len()];
    for ((tag, expected), section) in SECTIONS.iter().zip(&mut found) {
        if from.bytes(tag.len())? != *tag {
            return Err(Damaged("a section is missing").into());
        }
        let version = u32::load(&mut from)?;
        if version != *expected {
            let part = std::str::from_utf8(*tag).unwrap_or_default();
            return Err(RestoreError::Version { part, found: version, expected: *expected });
        }
        let length = usize::load(&mut from)?;
        *section = from.bytes(length)?;
    }
    from.end()?;
    Ok(found)
}

fn check_program(section: &[u8], program: &Program) -> Result<(), RestoreError> {
    let mut from = Reader::new(section);
    let (digest, cores) = <([u8; 32], usize)>::load(&mut from)?;
    from.end()?;
    if (digest, cores) == (program.digest(), program.cores()) {
        return Ok(());
    }
    let hex = |digest: [u8; 32]| digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Err(RestoreError::Program { found: hex(digest), expected: hex(program.digest()) })
}

fn check_options(section: &[u8], options: &Options) -> Result<(), RestoreError> {
    let mut from = Reader::new(section);
    let saved = Vec::<(String, String)>::load(&mut from)?;
    from.end()?;
    for (name, asked) in deciding(options) {
        let found = saved.iter().find(|(saved, _)| saved == name).map(|(_, value)| value);
        let found = found.ok_or(Damaged("an option is missing"))?;
        if *found != asked {
            return Err(RestoreError::Options { name, found: found.clone(), asked });
        }
    }
    Ok(())
}
