//! `seqjit diff`: interpreter and native code in lockstep.

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use seqjit::runtime::isa::Generation;
use seqjit::{Agent, Comparison, Difference, Engine, Exit, Lockstep, LockstepError, Pace, Program, Tier};
use serde_json::{Map, Value, json};

use super::cpu;
use super::errors;
use super::exit::Code;
use super::failure::Failure;
use super::native;
use super::output::Output;
use super::progress::Bar;
use super::setup::Setup;

/// The seed of inputs that are not given.
const SEED: u64 = 1;

const EXAMPLES: &str = "\
Examples:
  seqjit diff model.neff
  seqjit diff model.neff -i x=x.npy --schedule 42 --by turn --cpu baseline";

/// Runs a program in the interpreter and in native code at once and compares the two.
///
/// Behind every block of words what it has written and the state of all engines is compared, every 1,000 blocks and at the end
/// everything. The first difference is shown with its word, place and both values. Inputs that are not given are random.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("tier", |tier| tier.default_value(Tier::Jit.name())))]
pub struct Args {
    #[command(flatten)]
    setup: Setup,
    /// Compare behind every block, or behind every turn: blocks of a turn then run one after the other, as in any other run.
    #[arg(long, value_enum, default_value_t = By::Block)]
    by: By,
    /// Make the code of an opcode wrong, so that there is something to be found.
    #[arg(long, value_name = "OPCODE", hide = true)]
    defect: Option<u8>,
    /// Write one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// The value of `--by`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum By {
    Block,
    Turn,
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<ExitCode, Failure> {
    let setup = &args.setup;
    setup.refuse_races()?;
    let program = setup.open()?;
    let engine = Engine::build(setup.host.options(), args.defect).map_err(cpu::refused)?;
    let session = setup.session_with(&engine, &program, Some(SEED))?;
    if setup.tier == Tier::Interp {
        let message = "--tier interp: the interpreter is what others are compared with";
        return Err(Failure::new(Code::Usage, message)
            .with("field", "--tier")
            .with("expected", "jit or auto"));
    }
    let tier = setup.tier;
    let pace = if args.by == By::Turn { Pace::Turn } else { Pace::Block };
    let mut bar = Bar::new(&program);
    let lockstep =
        Lockstep::new(&engine, session, tier, pace).map_err(|error| refused(error, &program, setup))?;
    let compared =
        lockstep.run(&mut |words| bar.show_words(words)).map_err(|error| refused(error, &program, setup))?;
    drop(bar);
    let known = document(args, tier, &compared, program.generation());
    match (&compared.difference, compared.ended) {
        (None, Some(Err(error))) => Err(errors::run(error, &program, &setup.source).beside(known)),
        (difference, _) => {
            if out.json {
                out.document(&known.into())?;
            } else {
                writeln!(out, "{}", text(difference.as_ref(), compared.pieces, compared.words, args.by))?;
            }
            let code = if difference.is_some() { Code::Differ } else { Code::Success };
            Ok(ExitCode::from(code as u8))
        }
    }
}

fn refused(error: LockstepError, program: &Program, setup: &Setup) -> Failure {
    match error {
        LockstepError::Run(error) => errors::run(error, program, &setup.source),
        other => Failure::new(Code::Internal, other),
    }
}

fn text(difference: Option<&Difference>, pieces: u64, words: u64, by: By) -> String {
    match difference {
        Some(difference) => format!("different: {difference}"),
        None => {
            let unit = if by == By::Turn { "turns" } else { "blocks and transfers" };
            format!("equal: {words} words in {pieces} {unit}")
        }
    }
}

fn document(args: &Args, tier: Tier, compared: &Comparison, generation: Generation) -> Map<String, Value> {
    let ended = compared.ended.as_ref().map(|ended| match ended {
        Ok(Exit::Finished) => "finished",
        Ok(Exit::Budget) => "budget",
        Ok(_) => "stopped",
        Err(_) => "failed",
    });
    let difference = compared.difference.as_ref().map(|d| difference_json(d, generation));
    Map::from_iter([
        ("file".to_owned(), json!(args.setup.source.file.display().to_string())),
        ("equal".to_owned(), json!(compared.difference.is_none())),
        ("tier".to_owned(), json!(tier.name())),
        ("pieces".to_owned(), json!(compared.pieces)),
        ("words".to_owned(), json!(compared.words)),
        ("complete_comparisons".to_owned(), json!(compared.complete)),
        ("ended".to_owned(), json!(ended)),
        ("difference".to_owned(), json!(difference)),
        ("translations".to_owned(), native::to_json(&compared.translations)),
    ])
}

fn difference_json(d: &Difference, generation: Generation) -> Value {
    let (core, engine, queue) = match d.agent {
        Agent::Engine(core, engine) => (core, Some(engine.name()), None),
        Agent::Queue(core, queue) => (core, None, Some(queue)),
    };
    json!({
        "core": core, "engine": engine, "queue": queue, "word": d.word,
        "piece": d.piece, "first_word": d.slot, "words": d.progress,
        "place": d.place.to_string(), "address": d.place.address(generation),
        "interp": d.interp, "native": d.native,
    })
}
