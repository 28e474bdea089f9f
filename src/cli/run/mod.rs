//! `seqjit run`: run a program, write, compare and show what it computes.

mod dump;
mod expect;
mod forward;
mod races;
mod save;

use std::io::Write;
use std::path::PathBuf;

use seqjit::runtime::isa::EngineId;
use seqjit::runtime::num::Fp8;
use seqjit::{Counters, Exit, Program, RunError, Session, Tensor, Tier, Translations, Until};
use serde_json::{Map, Value as Json, json};

use self::dump::Dump;
use self::expect::{Comparison, Expectation};
use self::forward::Point;
use super::debug::explain::halt_reason;
use super::errors;
use super::exit::Code;
use super::failure::Failure;
use super::named::{NamedFile, refuse_twice};
use super::native;
use super::output::{Output, note};
use super::progress::Bar;
use super::setup::Setup;
use super::value;

/// Warnings of a run shown without `-v`.
const SHOWN_WARNINGS: usize = 10;

/// Elements of an output shown where it is not written to a file.
const SHOWN_ELEMENTS: usize = 6;

const EXAMPLES: &str = "\
Examples:
  seqjit run model.neff -i x=x.npy -i w=w.npy -o out
  seqjit run model.neff --seed 1 --check --schedule 42
  seqjit run model.neff --seed 1 --check races
  seqjit run model.neff -i x=x.npy --seed 1 --expect y=reference.npy --rtol 1e-5
  seqjit run model.neff --seed 1 --until 0:PE:5000 --save half.save
  seqjit run model.neff --resume half.save --tier interp -o out
  seqjit run model.neff --seed 1 --dump sbuf:0:0x4000:16:fp32@DVE:12 --dump dram:y:0:8:bfloat16@1.SP:3";

/// Runs a program.
///
/// Every input must be given with -i, or --seed fills the missing ones. Files are numpy arrays (.npy) with the
/// datatype and shape of the program, little-endian and in C order; bfloat16 is stored as `<V2`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    setup: Setup,
    /// Write every output to DIR/NAME.npy once the program has ended and written all of all outputs.
    #[arg(short, long = "output", value_name = "DIR")]
    output: Option<PathBuf>,
    /// Compare an output with a file of the same shape. The first element that differs is reported.
    #[arg(long, value_name = "NAME=FILE.npy")]
    expect: Vec<NamedFile>,
    /// Tolerance of --expect: |found - expected| <= ATOL + RTOL * |expected|. NaN equals NaN.
    #[arg(long, value_name = "R", default_value_t = 0.0, value_parser = tolerance)]
    rtol: f64,
    /// See --rtol.
    #[arg(long, value_name = "A", default_value_t = 0.0, value_parser = tolerance)]
    atol: f64,
    /// Show memory when an engine is about to run a word for the first time: it has come to it and its waits
    /// hold. WHAT is sbuf:PARTITION:OFFSET:COUNT:DTYPE, psum:PARTITION:OFFSET:COUNT:DTYPE or
    /// dram:NAME:OFFSET:COUNT:DTYPE; WHEN is ENGINE:WORD or CORE.ENGINE:WORD. OFFSET is bytes, WORD counts
    /// from 0 as in `seqjit disasm`.
    #[arg(long, value_name = "WHAT@WHEN")]
    dump: Vec<Dump>,
    /// Stop when an engine is about to run a word, or when so many words of all engines have retired, and write the
    /// state of the run to the file of --save.
    #[arg(long, value_name = "CORE:ENGINE:WORD|N", requires = "save")]
    until: Option<Point>,
    /// See --until.
    #[arg(long, value_name = "FILE", requires = "until")]
    save: Option<PathBuf>,
    /// Go on with a run that --save has written, in any --tier and with any --cpu. Its inputs are in the file; --check,
    /// --schedule and --lenient must be what they were.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "seed"])]
    resume: Option<PathBuf>,
    /// Show counters, and every warning.
    #[arg(short, long)]
    verbose: bool,
    /// Write one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

fn tolerance(text: &str) -> Result<f64, &'static str> {
    let fits = |v: &f64| v.is_finite() && *v >= 0.0;
    text.parse().ok().filter(fits).ok_or("expected a finite number that is not negative")
}

/// What is known when the command ends, well or not.
#[derive(Default)]
struct Report {
    outputs: Vec<Json>,
    dumps: Vec<Json>,
    /// Of a run that did not fail.
    counters: Option<Counters>,
    translations: Option<Translations>,
    /// With `--check races`.
    races: Option<Json>,
    /// The file that the stopped run was saved to.
    saved: Option<PathBuf>,
    warnings: Vec<String>,
}

impl Report {
    fn exit(&self) -> &'static str {
        if self.saved.is_some() { "saved" } else { "finished" }
    }

    fn into_json(self, file: &std::path::Path) -> Map<String, Json> {
        let mut map = Map::new();
        map.insert("file".into(), file.display().to_string().into());
        if let Some(saved) = self.saved {
            map.insert("saved".into(), saved.display().to_string().into());
        }
        map.insert("outputs".into(), self.outputs.into());
        map.insert("dumps".into(), self.dumps.into());
        if let Some(c) = self.counters {
            let counters = json!({
                "retired": c.retired, "turns": c.turns, "transfers": c.transfers,
                "dma_read": c.dma_read, "dma_written": c.dma_written,
            });
            map.insert("counters".into(), counters);
        }
        if let Some(t) = self.translations {
            map.insert("translations".into(), native::to_json(&t));
        }
        if let Some(races) = self.races {
            map.insert("races".into(), races);
        }
        map.insert("warnings".into(), self.warnings.into());
        map
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let mut report = Report::default();
    let result = Task { args, report: &mut report, out }.run();
    if !out.json {
        return result;
    }
    let exit = report.exit();
    let known = report.into_json(&args.setup.source.file);
    match result {
        Ok(()) => {
            let mut document = Map::from_iter([("exit".to_owned(), json!(exit))]);
            document.extend(known);
            out.document(&document.into())
        }
        Err(failure) => Err(failure.beside(known)),
    }
}

struct Task<'a> {
    args: &'a Args,
    report: &'a mut Report,
    out: &'a mut Output,
}

impl Task<'_> {
    fn run(mut self) -> Result<(), Failure> {
        let args = self.args;
        refuse_twice(&args.expect, "--expect")?;
        let program = args.setup.open()?;
        self.report.warnings = program.warnings().to_vec();
        let expectations = args.expect.iter().map(|given| Expectation::read(given, &program));
        let expectations = expectations.collect::<Result<Vec<_>, _>>()?;
        let mut session = match &args.resume {
            Some(file) => forward::resume(file, &args.setup, &program)?,
            None => args.setup.session(&program)?,
        };
        args.dump.iter().try_for_each(|dump| dump.arm(&mut session))?;
        if let Some(directory) = &args.output {
            save::prepare(directory)?;
        }
        let taken = self.execute(&program, &mut session);
        self.report.races = shown_races(&program, &session).map(|races| races.to_json());
        let taken = taken?;
        if self.report.saved.is_some() {
            return Ok(());
        }
        let failures = self.outputs(&program, &session, &expectations)?;
        if let Some(failure) = shown_races(&program, &session).and_then(|races| races.failure()) {
            return Err(failure);
        }
        let missed = args.dump.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(dump, _)| dump);
        match failures.into_iter().next() {
            Some(mismatch) => Err(mismatch),
            None => {
                let point = args.until.map(Point::not_reached);
                missed.map(not_reached).chain(point).next().map_or(Ok(()), Err)
            }
        }
    }

    /// Runs the program; tells of each dump whether it was taken.
    fn execute(&mut self, program: &Program, session: &mut Session) -> Result<Vec<bool>, Failure> {
        let mut taken = vec![false; self.args.dump.len()];
        let mut bar = Bar::new(program);
        let until = self.args.until.map_or(Until::End, Point::until);
        let mut result = session.run_until_with(until, &mut |progress| bar.show(progress));
        while let Ok(seqjit::Report { exit: Exit::Stopped { core, engine, slot }, .. }) = result {
            self.take_dumps(session, (core, engine, slot), &mut taken, &bar)?;
            result = session.run_until_with(until, &mut |progress| bar.show(progress));
        }
        if let (Ok(seqjit::Report { exit: Exit::Reached, .. }), Some(Point::Word(core, engine, slot))) =
            (&result, self.args.until)
        {
            self.take_dumps(session, (core, engine, slot), &mut taken, &bar)?;
        }
        drop(bar);
        self.report.warnings.extend(session.machine().warnings.iter().cloned());
        let ended = result.map_err(|error| match error {
            RunError::NoSuchWord(error) => Point::refused(error),
            other => errors::run(other, program, &self.args.setup.source),
        });
        self.report.counters = ended.as_ref().ok().map(|ended| ended.counters);
        let native = self.args.setup.tier != Tier::Interp && session.races().is_none();
        self.report.translations = ended.as_ref().ok().map(|e| e.translations.clone()).filter(|_| native);
        self.show_run(program)?;
        let ended = ended?;
        match ended.exit {
            Exit::Finished => Ok(taken),
            Exit::Reached => self.save(session).map(|()| taken),
            Exit::Budget => {
                let words = ended.counters.retired;
                let message = format!("stopped after {words} words (--max-words); the program has not ended");
                Err(Failure::new(Code::Limit, message).with("field", "--max-words").with("found", words))
            }
            Exit::Break { core, engine, slot, reason } => {
                let why = halt_reason(reason);
                let message = format!("core {core} {engine} stopped before word {slot}: {why}");
                Err(Failure::new(Code::Fault, message).with("word", slot))
            }
            other => Err(Failure::new(Code::Internal, format!("unexpected end of a run: {other:?}"))),
        }
    }

    /// Shows the memory that is to be shown before a word.
    fn take_dumps(
        &mut self,
        session: &Session,
        (core, engine, slot): (usize, EngineId, u64),
        taken: &mut [bool],
        bar: &Bar,
    ) -> Result<(), Failure> {
        let dumps = self.args.dump.iter().zip(taken);
        for (dump, taken) in dumps.filter(|(dump, taken)| dump.is_at(core, engine, slot) && !**taken) {
            let shown = dump.take(session).map_err(|error| Failure::new(Code::Internal, error))?;
            *taken = true;
            if self.out.json {
                self.report.dumps.push(shown.to_json());
            } else {
                bar.pause();
                writeln!(self.out, "{}", shown.to_text())?;
                self.out.flush()?;
            }
        }
        Ok(())
    }

    /// Saves the run that has come to the point of `--until`.
    fn save(&mut self, session: &Session) -> Result<(), Failure> {
        let (Some(file), Some(point)) = (&self.args.save, self.args.until) else {
            return Err(Failure::new(Code::Internal, "a run stopped that was not to stop"));
        };
        forward::save(session, file)?;
        self.report.saved = Some(file.clone());
        if !self.out.json {
            writeln!(self.out, "stopped {} and saved to {}", point.text(), file.display())?;
        }
        Ok(())
    }

    /// Counters and warnings of the text form.
    fn show_run(&mut self, program: &Program) -> Result<(), Failure> {
        if self.out.json {
            return Ok(());
        }
        let verbose = self.args.verbose;
        // The container's are shown by `info`; every vendor's container has some.
        let skipped = if verbose { 0 } else { program.warnings().len() };
        let warnings = &self.report.warnings[skipped..];
        let shown = if verbose { warnings.len() } else { warnings.len().min(SHOWN_WARNINGS) };
        warnings[..shown].iter().for_each(|warning| note(format_args!("warning: {warning}")));
        if shown < warnings.len() {
            note(format_args!("warning: {} more; -v shows all", warnings.len() - shown));
        }
        if let Some(c) = self.report.counters.filter(|_| verbose) {
            writeln!(
                self.out,
                "{} words retired, {} turns, {} transfers, {} bytes read and {} written by DMA",
                c.retired, c.turns, c.transfers, c.dma_read, c.dma_written
            )?;
        }
        if let Some(t) = self.report.translations.as_ref().filter(|_| verbose) {
            writeln!(self.out, "{}", native::to_text(t))?;
        }
        Ok(())
    }

    /// Writes, compares and shows the outputs; the mismatches are failures that end the command later.
    fn outputs(
        &mut self,
        program: &Program,
        session: &Session,
        expectations: &[Expectation],
    ) -> Result<Vec<Failure>, Failure> {
        let mut tensors = Vec::new();
        for io in program.outputs() {
            let tensor =
                session.output(&io.name).map_err(|error| errors::output(&error, &self.args.setup.source))?;
            tensors.push((io.name.as_str(), tensor));
        }
        let borrowed: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let files = match &self.args.output {
            Some(directory) => save::save(directory, &borrowed)?.into_iter().map(Some).collect(),
            None => vec![None; tensors.len()],
        };
        let mut failures = Vec::new();
        for ((name, tensor), file) in borrowed.into_iter().zip(files) {
            let expectation = expectations.iter().find(|e| e.name == name);
            let comparison = expectation.map(|e| e.compare(tensor, self.args.rtol, self.args.atol));
            failures.extend(comparison.as_ref().and_then(Comparison::failure));
            self.show_output(name, tensor, file, comparison)?;
        }
        Ok(failures)
    }

    fn show_output(
        &mut self,
        name: &str,
        tensor: &Tensor,
        file: Option<PathBuf>,
        comparison: Option<Comparison>,
    ) -> Result<(), Failure> {
        let file = file.map(|f| f.display().to_string());
        let Tensor { dtype, shape, data } = tensor;
        if self.out.json {
            let mut object = json!({ "name": name, "dtype": dtype.text(), "shape": shape, "file": file });
            if let Some(comparison) = comparison {
                object["expect"] = comparison.to_json();
            }
            self.report.outputs.push(object);
            return Ok(());
        }
        let shown = file.map_or_else(
            || {
                let first: Vec<String> = value::read_all(*dtype, Fp8::default(), data)
                    .take(SHOWN_ELEMENTS)
                    .map(|v| v.to_string())
                    .collect();
                let more = if tensor.elements() > SHOWN_ELEMENTS { " ..." } else { "" };
                format!("= {}{more}", first.join(" "))
            },
            |file| format!("-> {file}"),
        );
        let comparison = comparison.map(|c| format!("; {}", c.to_text())).unwrap_or_default();
        Ok(writeln!(self.out, "{name} {} {shape:?} {shown}{comparison}", dtype.text())?)
    }
}

fn shown_races<'a>(program: &'a Program, session: &'a Session) -> Option<races::Shown<'a>> {
    let (machine, report) = (session.machine(), session.races()?);
    Some(races::Shown { program, machine, report })
}

fn not_reached(dump: &Dump) -> Failure {
    let message = format!("--dump {}: the engine never ran this word", dump.text());
    Failure::new(Code::NotReached, message)
        .with("core", dump.core)
        .with("engine", dump.engine.name())
        .with("word", dump.slot)
}
