//! Options of the subcommands that execute a program: how the session behaves, and its inputs.

use std::str::FromStr;

use seqjit::{Engine, InputError, Options, Program, Schedule, Session, Tensor, Tier};

use super::cpu::Host;
use super::errors;
use super::exit::Code;
use super::failure::Failure;
use super::named::{NamedFile, refuse_twice};
use super::source::Source;

/// A program with its inputs.
#[derive(clap::Args, Debug)]
pub struct Setup {
    #[command(flatten)]
    pub source: Source,
    /// Read an input from a file.
    #[arg(short, long = "input", value_name = "NAME=FILE.npy")]
    pub input: Vec<NamedFile>,
    /// Fill the inputs that are not given with random numbers: floats in [-1, 1), integers of any value. The
    /// same seed gives the same numbers.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Look for defects of the program while it runs: `uninit` (meant without a value) faults on the first read of a
    /// byte that nothing has written; `races` (`run` only) reports words and transfers that touch the same bytes
    /// without order, in the interpreter whatever the tier. Both: `uninit,races`.
    #[arg(long, value_name = "uninit|races", num_args = 0..=1, default_missing_value = "uninit", value_delimiter = ',')]
    pub check: Vec<Check>,
    /// Order in which engines and DMA queues take turns: `fixed`, or a number that seeds random turns.
    #[arg(long, value_name = "fixed|SEED", default_value = "fixed")]
    pub schedule: Order,
    /// How words run: `interp` in the interpreter, `jit` in native code wherever there is some, `auto` in native
    /// code where it pays. Results are the same.
    #[arg(long, value_name = "interp|jit|auto", default_value_t = Tier::default())]
    pub tier: Tier,
    #[command(flatten)]
    pub host: Host,
    /// Stop after so many words of all engines.
    #[arg(long, value_name = "N")]
    pub max_words: Option<u64>,
    /// Refuse programs that need more memory; without it the limit is this machine's memory, where that is
    /// known.
    #[arg(long, value_name = "BYTES")]
    pub max_memory: Option<u64>,
}

/// A value of `--check`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// Reads of bytes that nothing has written.
    Uninit,
    /// Races.
    Races,
}

impl FromStr for Check {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Check, &'static str> {
        match text {
            "uninit" => Ok(Check::Uninit),
            "races" => Ok(Check::Races),
            _ => Err("expected `uninit` or `races`"),
        }
    }
}

/// The value of `--schedule`.
#[derive(Clone, Copy, Debug)]
pub struct Order(Schedule);

impl FromStr for Order {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Order, &'static str> {
        if text == "fixed" {
            return Ok(Order(Schedule::Fixed));
        }
        text.parse().map(|seed| Order(Schedule::Seeded(seed))).map_err(|_| "expected `fixed` or a number")
    }
}

impl Setup {
    /// Opens the program.
    pub fn open(&self) -> Result<Program, Failure> {
        refuse_twice(&self.input, "--input")?;
        self.source.open()
    }

    /// Refuses `--check races` where races are not reported.
    pub fn refuse_races(&self) -> Result<(), Failure> {
        if !self.check.contains(&Check::Races) {
            return Ok(());
        }
        let failure = Failure::new(Code::Usage, "--check races works with `seqjit run` only");
        Err(failure.with("field", "--check"))
    }

    /// How the session behaves.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.strict = !self.source.lenient;
        options.check = self.check.contains(&Check::Uninit);
        options.races = self.check.contains(&Check::Races);
        options.schedule = self.schedule.0;
        options.tier = self.tier;
        options.max_words = self.max_words;
        options.max_memory = self.max_memory.or_else(errors::memory_of_this_machine);
        options
    }

    /// A session with all inputs set.
    pub fn session(&self, program: &Program) -> Result<Session, Failure> {
        self.session_with(&self.host.engine()?, program, self.seed)
    }

    /// [`Self::session`] in an engine, where another seed may fill inputs.
    pub fn session_with(
        &self,
        engine: &Engine,
        program: &Program,
        seed: Option<u64>,
    ) -> Result<Session, Failure> {
        let mut session = Session::new(engine, program, self.options())
            .map_err(|error| errors::session(error, program, &self.source))?;
        self.inputs(program, &mut session, self.seed.or(seed))?;
        Ok(session)
    }

    fn inputs(&self, program: &Program, session: &mut Session, seed: Option<u64>) -> Result<(), Failure> {
        set_inputs(&self.input, program, session)?;
        let is_given = |name: &str| self.input.iter().any(|given| given.name == name);
        let missing: Vec<_> = program.inputs().iter().filter(|input| !is_given(&input.name)).collect();
        match seed {
            Some(seed) => session.set_random_inputs(seed),
            None if missing.is_empty() => {}
            None => return Err(errors::missing_inputs(&missing)),
        }
        Ok(())
    }
}

/// Sets the inputs that `--input` gives.
pub fn set_inputs(given: &[NamedFile], program: &Program, session: &mut Session) -> Result<(), Failure> {
    for given in given {
        given.find(program.inputs(), "--input", "input")?;
        let tensor = Tensor::open(&given.file).map_err(|error| Failure::npy(&given.file, &error))?;
        session.set_input(&given.name, &tensor).map_err(|error| {
            let failure = Failure::new(Code::Input, format!("`{}`: {error}", given.file.display()));
            let failure = failure.file(&given.file).with("field", given.name.as_str());
            match error {
                InputError::Mismatch { found, expected, .. } => {
                    failure.with("found", found).with("expected", expected)
                }
                _ => failure,
            }
        })?;
    }
    Ok(())
}
