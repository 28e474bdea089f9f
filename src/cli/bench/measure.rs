//! Taking the times.

use std::collections::BTreeMap;
use std::time::Instant;

use seqjit::runtime::isa::EngineId;
use seqjit::runtime::num::Level;
use seqjit::{
    Agent, Exit, Options, Pace, Piece, Program, Report, RunError, Session, Tier, Translations, Until,
};

use super::super::cpu::Host;
use super::super::errors;
use super::super::exit::Code;
use super::super::failure::Failure;
use super::super::source::Source;

/// Runs before a warm one, so that everything that pays has been compiled.
const WARMING: usize = 2;

/// The times of a program: medians, in nanoseconds.
pub struct Measured {
    pub cpu: Level,
    /// Threads among which words were split.
    pub threads: u16,
    pub runs: u32,
    /// Words retired in a run.
    pub words: u64,
    /// A run in the interpreter, engine and session creation included.
    pub interp_ns: u64,
    /// A run in `auto`, engine and session creation and translation included.
    pub cold_ns: u64,
    /// A later run in the interpreter.
    pub interp_warm_ns: u64,
    /// A later run in `auto`.
    pub warm_ns: u64,
    /// Opening the file.
    pub open_ns: u64,
    /// From nothing to the first word retired, in `auto`, opening the file included.
    pub first_word_ns: u64,
    /// What became of the words of a cold run.
    pub cold_counters: Translations,
    pub engines: Vec<Group>,
    pub families: Vec<Group>,
}

/// Words of one kind, run one by one, with what surrounds them.
pub struct Group {
    pub name: String,
    pub words: u64,
    pub interp_ns: u64,
    pub native_ns: u64,
}

/// Measures one program.
pub fn measure(source: &Source, host: Host, seed: u64, runs: u32) -> Result<Measured, Failure> {
    let program = source.open()?;
    let bench = Bench { program, source, host, seed };
    let [mut interp, mut cold, mut open, mut first] = [const { Vec::new() }; 4];
    let mut report = None;
    for _ in 0..runs {
        interp.push(bench.fresh(Tier::Interp)?.0.whole);
        let (times, ended) = bench.fresh(Tier::Auto)?;
        open.push(times.open);
        first.push(times.first);
        cold.push(times.whole);
        report = Some(ended);
    }
    let report = report.ok_or_else(|| Failure::new(Code::Usage, "--runs 0: nothing to do"))?;
    let mut sessions = [bench.session(Tier::Interp)?, bench.session(Tier::Auto)?];
    let mut warm = [const { Vec::new() }; 2];
    for session in &mut sessions {
        for _ in 0..WARMING {
            bench.run(session.run())?;
        }
    }
    for _ in 0..runs {
        for (session, times) in sessions.iter_mut().zip(&mut warm) {
            let started = Instant::now();
            bench.run(session.run())?;
            times.push(nanoseconds(started));
        }
    }
    let [interp_warm, warm] = warm;
    let (engines, families) = bench.groups(sessions)?;
    Ok(Measured {
        cpu: bench.host.options().cpu,
        threads: bench.host.threads,
        runs,
        words: report.counters.retired,
        interp_ns: median(interp),
        cold_ns: median(cold),
        interp_warm_ns: median(interp_warm),
        warm_ns: median(warm),
        open_ns: median(open),
        first_word_ns: median(first),
        cold_counters: report.translations,
        engines,
        families,
    })
}

fn nanoseconds(started: Instant) -> u64 {
    started.elapsed().as_nanos() as u64
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Time and number of words by engine and by family.
type Sums = BTreeMap<(bool, String), (u64, u64)>;

/// Times of one run in a fresh session, in nanoseconds.
struct Fresh {
    /// Opening the file.
    open: u64,
    /// From nothing to the first word retired.
    first: u64,
    /// From the session's creation to the end.
    whole: u64,
}

struct Bench<'a> {
    program: Program,
    source: &'a Source,
    host: Host,
    seed: u64,
}

impl Bench<'_> {
    fn run<T>(&self, result: Result<T, RunError>) -> Result<T, Failure> {
        result.map_err(|error| errors::run(error, &self.program, self.source))
    }

    /// A session without inputs, in a fresh engine.
    fn new_session(&self, program: &Program, tier: Tier) -> Result<Session, Failure> {
        let mut options = Options::default();
        options.strict = !self.source.lenient;
        options.tier = tier;
        options.max_memory = errors::memory_of_this_machine();
        Session::new(&self.host.engine()?, program, options)
            .map_err(|error| errors::session(error, program, self.source))
    }

    fn session(&self, tier: Tier) -> Result<Session, Failure> {
        let mut session = self.new_session(&self.program, tier)?;
        session.set_random_inputs(self.seed);
        Ok(session)
    }

    /// One run in a fresh session of a program opened anew. Making up inputs does not count.
    fn fresh(&self, tier: Tier) -> Result<(Fresh, Report), Failure> {
        let started = Instant::now();
        let program = self.source.open()?;
        let open = nanoseconds(started);
        let started = Instant::now();
        let mut session = self.new_session(&program, tier)?;
        let made = nanoseconds(started);
        session.set_random_inputs(self.seed);
        let started = Instant::now();
        self.run(session.run_until(Until::Words(1)))?;
        let first = open + made + nanoseconds(started);
        let report = self.run(session.resume())?;
        Ok((Fresh { open, first, whole: made + nanoseconds(started) }, report))
    }

    /// The words one by one in both tiers, in warm sessions.
    fn groups(&self, sessions: [Session; 2]) -> Result<(Vec<Group>, Vec<Group>), Failure> {
        let [mut interp, mut native] = sessions;
        let (interp, native) = (self.word_by_word(&mut interp)?, self.word_by_word(&mut native)?);
        let groups = |family: bool| {
            let rows = interp.iter().filter(|((of_family, _), _)| *of_family == family);
            let mut groups: Vec<Group> = rows
                .map(|(key, (words, interp_ns))| {
                    let native_ns = native.get(key).map_or(0, |(_, time)| *time);
                    Group { name: key.1.clone(), words: *words, interp_ns: *interp_ns, native_ns }
                })
                .collect();
            groups.sort_by_key(|group| std::cmp::Reverse(group.interp_ns));
            groups
        };
        Ok((groups(false), groups(true)))
    }

    fn word_by_word(&self, session: &mut Session) -> Result<Sums, Failure> {
        let mut sums = Sums::new();
        self.run(session.start())?;
        loop {
            let started = Instant::now();
            let piece = self.run(session.advance(Pace::Word))?;
            let time = nanoseconds(started);
            if piece.exit == Some(Exit::Finished) {
                return Ok(sums);
            }
            for key in self.kinds(&piece) {
                let (words, sum) = sums.entry(key).or_default();
                *words += piece.progress;
                *sum += time;
            }
        }
    }

    /// Engine and family of a word; transfers are both.
    fn kinds(&self, piece: &Piece) -> [(bool, String); 2] {
        let (engine, family) = match piece.agent {
            Agent::Queue(..) => ("queues".to_owned(), "transfers".to_owned()),
            Agent::Engine(core, engine) => (engine.name().to_owned(), self.family(core, engine, piece.slot)),
        };
        [(false, engine), (true, family)]
    }

    fn family(&self, core: usize, engine: EngineId, slot: u64) -> String {
        let stream = &self.program.image().cores[core].streams[engine.index()];
        let word = stream.words.get(slot as usize).and_then(|word| word.body.as_ref().ok());
        word.map_or_else(|| "?".to_owned(), |word| format!("{:?}", word.info.family))
    }
}
