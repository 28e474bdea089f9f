//! The command line: one file a subcommand, and what they share.

mod asm;
mod bench;
mod coverage;
mod cpu;
mod debug;
mod diff;
mod disasm;
mod errors;
mod exit;
mod failure;
mod info;
mod isa;
mod named;
mod native;
mod output;
mod progress;
mod replay;
mod run;
mod setup;
mod source;
mod text;
mod value;
mod variable;
mod words;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ErrorKind};
use seqjit::runtime::isa::{EngineId, Generation};
use tracing_subscriber::filter::LevelFilter;

use self::exit::Code;
use self::failure::Failure;
use self::output::{Output, note};

/// Runs NEFF programs (AWS Trainium/Inferentia microcode) on an ordinary CPU.
#[derive(Parser, Debug)]
#[command(name = "seqjit", version, after_help = exit::help(), after_long_help = exit::help())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Run(Box<run::Args>),
    Debug(debug::Args),
    Diff(diff::Args),
    Bench(bench::Args),
    Info(info::Args),
    Disasm(disasm::Args),
    Asm(asm::Args),
    Isa(isa::Args),
    Replay(replay::Args),
}

impl Command {
    fn json(&self) -> bool {
        match self {
            Command::Run(args) => args.json,
            // A conversation, not a document.
            Command::Debug(_) => false,
            Command::Diff(args) => args.json,
            Command::Bench(args) => args.json,
            Command::Info(args) => args.json,
            Command::Disasm(args) => args.json,
            Command::Asm(args) => args.json,
            Command::Isa(args) => args.json,
            Command::Replay(args) => args.json,
        }
    }

    fn run(&self, out: &mut Output) -> Result<ExitCode, Failure> {
        let done = |()| ExitCode::SUCCESS;
        match self {
            Command::Run(args) => run::run(args, out).map(done),
            Command::Debug(args) => debug::run(args, out).map(done),
            Command::Diff(args) => diff::run(args, out),
            Command::Bench(args) => bench::run(args, out).map(done),
            Command::Info(args) => info::run(args, out).map(done),
            Command::Disasm(args) => disasm::run(args, out).map(done),
            Command::Asm(args) => asm::run(args, out).map(done),
            Command::Isa(args) => isa::run(args, out).map(done),
            Command::Replay(args) => replay::run(args, out),
        }
    }
}

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    let args = with_check_values(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, &args),
    };
    start_log();
    let mut out = Output::new(cli.command.json());
    let result = cli.command.run(&mut out).and_then(|code| out.flush().map(|()| code).map_err(Failure::from));
    match result {
        Ok(code) => code,
        Err(failure) => fail(&failure, &mut out),
    }
}

/// Shows what the library logs if `SEQJIT_LOG` holds a level; `trace` includes every step of the sequencers.
fn start_log() {
    let Some(level) = std::env::var("SEQJIT_LOG").ok().filter(|level| !level.is_empty()) else { return };
    match level.parse::<LevelFilter>() {
        Ok(level) => {
            tracing_subscriber::fmt()
                .with_max_level(level)
                .with_writer(std::io::stderr)
                .with_ansi(std::io::stderr().is_terminal())
                .without_time()
                .init();
        }
        Err(_) => {
            note(format_args!("warning: SEQJIT_LOG is `{level}`, expected error, warn, info, debug or trace"))
        }
    }
}

/// Help and version, asked for, or a command line that cannot be understood.
fn usage(error: &clap::Error, args: &[OsString]) -> ExitCode {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let json = args.iter().any(|arg| arg == "--json");
        return fail(&not_utf8(args), &mut Output::new(json));
    }
    if error.use_stderr() && args.iter().any(|arg| arg == "--json") {
        let text = error.render().to_string();
        let mut failure = Failure::new(Code::Usage, text.trim().trim_start_matches("error: "));
        for (kind, key) in [(ContextKind::InvalidArg, "field"), (ContextKind::InvalidValue, "found")] {
            if let Some(value) = error.get(kind) {
                failure = failure.with(key, value.to_string());
            }
        }
        return fail(&failure, &mut Output::new(true));
    }
    // Nobody is left to tell if that fails.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { Code::Usage as u8 } else { Code::Success as u8 })
}

/// `--check` may stand alone, also in front of a file: the parser would take that for its value.
fn with_check_values(mut args: Vec<OsString>) -> Vec<OsString> {
    for i in 1..args.len() {
        let value = args.get(i + 1).and_then(|next| next.to_str());
        let is_value =
            |v: &str| !v.is_empty() && v.split(',').all(|kind| kind.parse::<setup::Check>().is_ok());
        let is_file =
            value.is_some_and(|v| !v.starts_with('-') && !is_value(v) && std::path::Path::new(v).exists());
        if args[i] == "--check" && is_file {
            args[i] = "--check=uninit".into();
        }
    }
    args
}

/// Arguments that are not UTF-8, as the parser does not say which. A path may be such a one with right, so that
/// all are named.
fn not_utf8(args: &[OsString]) -> Failure {
    let named = args.iter().enumerate().skip(1).filter(|(_, arg)| arg.to_str().is_none());
    let named: Vec<String> = named.map(|(number, arg)| format!("{number} ({arg:?})")).collect();
    let found = named.join(", ");
    Failure::new(Code::Usage, format!("not UTF-8: argument {found}"))
        .with("found", found)
        .with("expected", "UTF-8 text")
        .hint("names of files may have other bytes where no NAME= stands in front of them")
}

fn fail(failure: &Failure, out: &mut Output) -> ExitCode {
    let flushed = out.flush();
    let shown =
        if out.json { out.document(&failure.to_json()).and_then(|()| Ok(out.flush()?)) } else { Ok(()) };
    if !out.json || shown.is_err() || flushed.is_err() {
        note(failure.to_text());
    }
    ExitCode::from(failure.code as u8)
}

fn parse_engine(text: &str) -> Result<EngineId, &'static str> {
    EngineId::parse(text).ok_or("expected PE, ACT, POOL, DVE or SP")
}

fn parse_generation(text: &str) -> Result<Generation, &'static str> {
    Generation::parse(text).ok_or("expected v2, v3, v4 or v5, or sunda, cayman, mariana or maverick")
}
