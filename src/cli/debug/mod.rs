//! `seqjit debug`: a line-oriented debugger, built on the public API of sessions alone.
//!
//! It rests on the surprises of the sequencers (chapter 01 sections 7 and 12): instruction breakpoints and
//! step counts. What they cannot see, conditions and writes, it looks at between words.

mod area;
mod breaks;
mod change;
mod commands;
mod condition;
mod error;
pub(super) mod explain;
mod go;
mod parse;
mod show;
mod state;

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use seqjit::Session;
use seqjit::runtime::isa::EngineId;
use seqjit::runtime::isa::text::Names;
use seqjit::runtime::machine::Machine;

use self::breaks::Break;
use self::error::CommandError;
use super::exit::Code;
use super::failure::Failure;
use super::output::{Output, note};
use super::setup::Setup;
use super::source::read_text;
use super::text;

/// What stands before a command.
const PROMPT: &str = "(seqjit) ";

const EXAMPLES: &str = "\
Examples:
  seqjit debug model.neff --seed 1
  seqjit debug model.neff -i x=x.npy --script look.txt

  break dve 12 if sem 5 >= 17
  watch dram y 0 64
  continue";

/// Runs a program under a debugger.
///
/// Commands are read from standard input, or from a script; `help` lists them. Inputs are given as for `run`.
/// The first command that is refused ends a script with an exit code and its line, but not an interactive
/// session.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    setup: Setup,
    /// Read commands from a file, a line each; `#` starts a comment.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

/// A program that is being debugged.
pub struct Debugger<'o> {
    session: Session,
    out: &'o mut Output,
    /// Names of semaphores, by core.
    names: Vec<Names>,
    /// In the order of their numbers.
    breaks: Vec<Break>,
    last_number: usize,
    /// What commands mean that name no core or engine.
    core: usize,
    engine: EngineId,
    /// The run is over, well or not.
    ended: bool,
    /// `quit` was given.
    left: bool,
    saved: BTreeMap<String, Machine>,
    /// The program runs: Ctrl-C pauses it.
    running: Arc<AtomicBool>,
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let program = args.setup.open()?;
    let script = args.script.as_deref().map(read_text).transpose()?;
    args.setup.refuse_races()?;
    let mut session = args.setup.session(&program)?;
    session.start().map_err(|error| super::errors::run(error, &program, &args.setup.source))?;
    let mut debugger = Debugger {
        session,
        out,
        names: program.neff().graphs.iter().map(text::names_of).collect(),
        breaks: Vec::new(),
        last_number: 0,
        core: 0,
        engine: EngineId::Pe,
        ended: false,
        left: false,
        saved: BTreeMap::new(),
        running: Arc::default(),
    };
    match (&args.script, script) {
        (Some(path), Some(text)) => debugger.run_script(path, &text),
        _ => {
            debugger.pause_by_signal();
            debugger.converse()
        }
    }
}

impl Debugger<'_> {
    /// Runs the lines of a script, showing each, until one is refused.
    fn run_script(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        for (line, command) in text.lines().enumerate() {
            if self.left {
                break;
            }
            if !command.trim().is_empty() {
                writeln!(self.out, "{PROMPT}{command}")?;
            }
            commands::run(self, command).map_err(|error| match error {
                CommandError::Output(error) => Failure::from(error),
                refused => {
                    let message = format!("`{}` line {}: {refused}", path.display(), line + 1);
                    Failure::new(Code::Input, message).file(path).with("line", line + 1)
                }
            })?;
        }
        Ok(())
    }

    /// Makes Ctrl-C pause the program instead of ending the debugger; at the prompt it ends it.
    fn pause_by_signal(&self) {
        let (pauser, running) = (self.session.pauser(), self.running.clone());
        let result = ctrlc::set_handler(move || {
            if running.load(Ordering::Relaxed) {
                pauser.pause();
            } else {
                // What a shell reports of a process that SIGINT ended.
                std::process::exit(130);
            }
        });
        if let Err(error) = result {
            note(format_args!("warning: Ctrl-C will not pause the program: {error}"));
        }
    }

    /// Runs commands from standard input until it ends; tells what is refused.
    fn converse(&mut self) -> Result<(), Failure> {
        let asks = std::io::stdin().is_terminal();
        let mut line = String::new();
        while !self.left {
            if asks {
                write!(self.out, "{PROMPT}")?;
            }
            self.out.flush()?;
            line.clear();
            match std::io::stdin().lock().read_line(&mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(Failure::io("read", Path::new("standard input"), &error)),
            }
            match commands::run(self, &line) {
                Ok(()) => {}
                Err(CommandError::Output(error)) => return Err(error.into()),
                Err(refused) => writeln!(self.out, "error: {refused}")?,
            }
        }
        Ok(())
    }
}

/// Lets a program run as something that Ctrl-C pauses.
fn interruptibly<R>(running: &AtomicBool, run: impl FnOnce() -> R) -> R {
    running.store(true, Ordering::Relaxed);
    let result = run();
    running.store(false, Ordering::Relaxed);
    result
}
