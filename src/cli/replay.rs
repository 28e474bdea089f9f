//! `seqjit replay`: repeat a recorded device run and compare.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use seqjit::replay::{Change, Difference, Outcome, Replay, ReplayRunError, Source as ChangeSource, Tally};
use seqjit::trace::{Trace, TraceError};
use seqjit::{Engine, Options, Program, Schedule, Session};
use serde_json::{Value, json};

use super::errors;
use super::exit::Code;
use super::failure::Failure;
use super::named::{NamedFile, refuse_twice};
use super::output::Output;
use super::setup::set_inputs;
use super::source::Source;

/// Exit code if the replay differs from the recording.
const DIFFERENT: u8 = 1;

const EXAMPLES: &str = "\
Examples:
  seqjit replay run.ntff.gz --neff model.neff
  seqjit replay run.ntff -i x=x.npy --seed 3 --schedules 100 --json";

/// Repeats a recorded device run and compares.
///
/// The trace holds the words of every engine as the device ran them, with the runtime's own code around the
/// program's. They run on the variables and tables of the container, under random schedules, from the gate where
/// the recording starts until every engine waits there again. What they execute, change and compute is compared
/// with the recording and with the outputs of the container's own run. The exit code is 1 if anything differs.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace, version 6, gzipped or not.
    #[arg(value_name = "FILE.ntff[.gz]")]
    file: PathBuf,
    /// The container that was recorded. Without it: the file beside the trace with the ending `.neff`.
    #[arg(long, value_name = "FILE.neff")]
    neff: Option<PathBuf>,
    /// Read an input from a file.
    #[arg(short, long = "input", value_name = "NAME=FILE.npy")]
    input: Vec<NamedFile>,
    /// Fill the inputs that are not given with random numbers, as `seqjit run` does.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many random schedules to try.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    schedules: u64,
    /// Seed of the first schedule; the others follow it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    first_schedule: u64,
    /// Write one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// What the schedules gave together.
struct Summary {
    /// The first outcome with a difference, else the first one.
    shown: Outcome,
    /// Seed of its schedule.
    schedule: u64,
    /// PCs, events, DMA and outputs are equal under every schedule.
    equal: [bool; 4],
}

impl Summary {
    fn is_equal(&self) -> bool {
        self.equal.iter().all(|equal| *equal)
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<ExitCode, Failure> {
    let neff = args.neff.clone().unwrap_or_else(|| beside(&args.file));
    let trace = Trace::open(&args.file).map_err(|error| trace_failure(&error, &args.file))?;
    refuse_twice(&args.input, "--input")?;
    let source = Source { file: neff, lenient: false };
    let program = source.open()?;
    let replay = Replay::new(trace, &program).map_err(|error| {
        Failure::new(Code::Input, error).file(&args.file).hint("--neff names the container that was recorded")
    })?;
    let session = reference(args, &program, &source)?;
    let summary = replay_all(args, &replay, &session)?;
    if out.json {
        out.document(&document(args, &source, &summary))?;
    } else {
        show(args, &summary, out)?;
    }
    Ok(if summary.is_equal() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

/// The container beside a trace.
fn beside(trace: &Path) -> PathBuf {
    let plain =
        if trace.extension().is_some_and(|e| e == "gz") { trace.with_extension("") } else { trace.into() };
    plain.with_extension("neff")
}

/// The container's own run, whose outputs the replays must give.
fn reference(args: &Args, program: &Program, source: &Source) -> Result<Session, Failure> {
    let mut options = Options::default();
    options.max_memory = errors::memory_of_this_machine();
    let session = Session::new(&Engine::new(), program, options);
    let mut session = session.map_err(|error| errors::session(error, program, source))?;
    set_inputs(&args.input, program, &mut session)?;
    session.set_random_inputs(args.seed);
    session.run().map_err(|error| errors::run(error, program, source))?;
    Ok(session)
}

fn replay_all(args: &Args, replay: &Replay, session: &Session) -> Result<Summary, Failure> {
    let mut summary: Option<Summary> = None;
    for number in 0..args.schedules {
        let schedule = args.first_schedule.wrapping_add(number);
        let outcome = replay.run(session, Schedule::Seeded(schedule));
        let outcome = outcome.map_err(|error| run_failure(&error, args, schedule))?;
        let equal =
            [outcome.pcs_equal(), outcome.events_equal(), outcome.dma_equal(), outcome.outputs_equal()];
        match &mut summary {
            None => summary = Some(Summary { shown: outcome, schedule, equal }),
            Some(summary) => {
                if summary.is_equal() && !outcome.is_equal() {
                    (summary.shown, summary.schedule) = (outcome, schedule);
                }
                summary.equal = std::array::from_fn(|i| summary.equal[i] && equal[i]);
            }
        }
    }
    summary.ok_or_else(|| Failure::new(Code::Usage, "--schedules 0: nothing to do"))
}

fn trace_failure(error: &TraceError, path: &Path) -> Failure {
    match error {
        TraceError::Io { path, source } => Failure::io("read", path, source),
        _ => Failure::new(Code::Input, format!("`{}`: {error}", path.display()))
            .file(path)
            .hint("the file is damaged, cut short, or no trace of version 6"),
    }
}

fn run_failure(error: &ReplayRunError, args: &Args, schedule: u64) -> Failure {
    let code = match error {
        ReplayRunError::Fault(_) => Code::Fault,
        ReplayRunError::Output(_) => Code::Incomplete,
        _ => Code::Internal,
    };
    let failure = Failure::new(code, error).file(&args.file).with("schedule", schedule);
    match error {
        ReplayRunError::Fault(fault) => {
            failure.with("core", fault.core).with("engine", fault.engine.name()).with("word", fault.slot)
        }
        _ => failure,
    }
}

fn document(args: &Args, source: &Source, summary: &Summary) -> Value {
    let [pcs, events, dma, outputs] = summary.equal;
    let Outcome { words, changes, lost, dma: bytes, outputs: output_bytes, first_difference, .. } =
        &summary.shown;
    let mut events_tally = tally_json(changes);
    events_tally["lost"] = (*lost).into();
    json!({
        "file": args.file.display().to_string(),
        "neff": source.file.display().to_string(),
        "schedules": args.schedules,
        "first_schedule": args.first_schedule,
        "pcs_equal": pcs,
        "events_equal": events,
        "dma_equal": dma,
        "outputs_equal": outputs,
        "counts": {
            "schedule": summary.schedule,
            "pcs": tally_json(words),
            "events": events_tally,
            "dma_bytes": tally_json(bytes),
            "output_bytes": tally_json(output_bytes),
        },
        "first_difference": first_difference.as_ref().map(|d| difference_json(d, summary.schedule)),
    })
}

fn tally_json(tally: &Tally) -> Value {
    let Tally { recorded, replayed, differences } = tally;
    json!({ "recorded": recorded, "replayed": replayed, "differences": differences })
}

fn difference_json(difference: &Difference, schedule: u64) -> Value {
    let mut object = match difference {
        Difference::Word { graph, engine, slot, recorded, replayed } => json!({
            "check": "pcs", "graph": graph, "engine": engine.name(), "word": slot,
            "recorded": recorded, "replayed": replayed,
        }),
        Difference::Stand { graph, engine, gate, slot } => json!({
            "check": "pcs", "graph": graph, "engine": engine.name(), "word": slot, "gate": gate,
        }),
        Difference::Change { graph, source, position, recorded, replayed } => json!({
            "check": "events", "graph": graph,
            "engine": match source {
                ChangeSource::Engine(engine) => Some(engine.name()),
                ChangeSource::Bus { .. } => None,
            },
            "position": position,
            "recorded": recorded.as_ref().map(change_json),
            "replayed": replayed.as_ref().map(change_json),
        }),
        Difference::Queue { graph, queue, recorded, replayed } => json!({
            "check": "dma", "graph": graph, "queue": queue, "recorded": recorded, "replayed": replayed,
        }),
        Difference::Output { output, offset, expected, found } => json!({
            "check": "outputs", "output": output, "byte_offset": offset, "expected": expected, "found": found,
        }),
        _ => json!({}),
    };
    object["schedule"] = schedule.into();
    object["message"] = difference.to_string().into();
    object
}

fn change_json(change: &Change) -> Value {
    let kind = if change.semaphore { "semaphore" } else { "event" };
    json!({ kind: change.index, "value": change.value, "action": change.action })
}

fn show(args: &Args, summary: &Summary, out: &mut Output) -> Result<(), Failure> {
    let Outcome { words, changes, lost, dma, outputs, first_difference, .. } = &summary.shown;
    let last = args.first_schedule.wrapping_add(args.schedules - 1);
    writeln!(out, "{} schedules, seeds {} to {last}", args.schedules, args.first_schedule)?;
    let lost = format!("; {lost} records lost by the device");
    let rows = [
        ("words", words, ""),
        ("semaphore and event changes", changes, lost.as_str()),
        ("bytes of DMA", dma, ""),
        ("bytes of outputs", outputs, ""),
    ];
    for ((what, tally, more), equal) in rows.into_iter().zip(summary.equal) {
        let Tally { recorded, replayed, differences } = tally;
        let verdict = if equal { "equal".to_owned() } else { format!("different ({differences})") };
        writeln!(out, "{what}: {recorded} expected, {replayed} replayed: {verdict}{more}")?;
    }
    if let Some(difference) = first_difference {
        writeln!(out, "first difference, schedule {}: {difference}", summary.schedule)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_container_lies_beside_the_trace() {
        assert_eq!(beside(Path::new("a/run.ntff.gz")), Path::new("a/run.neff"));
        assert_eq!(beside(Path::new("run.ntff")), Path::new("run.neff"));
        assert_eq!(beside(Path::new("a.b/run")), Path::new("a.b/run.neff"));
    }
}
