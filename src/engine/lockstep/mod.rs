//! Interpreter and native code in lockstep: two sessions that run the same pieces, compared behind each of them.

mod compare;
mod difference;

use seqjit_runtime::machine::Machine;

use self::compare::{Scope, compare};
pub use self::difference::{Difference, Place};
use super::Engine;
use super::counters::Translations;
use super::pieces::{Agent, Pace, Piece};
use super::report::{Exit, RunError};
use super::save::{RestoreError, SaveError};
use super::session::Session;
use super::tier::Tier;
use super::translated::Translator;

/// Pieces between two comparisons of everything.
const EVERYTHING: u64 = 1000;

/// A program that runs twice at once, in the interpreter and in another tier.
pub struct Lockstep {
    start: Vec<u8>,
    engine: Engine,
    session: Session,
    tier: Tier,
    pace: Pace,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockstepError {
    /// The run cannot start.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The machine cannot be doubled.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// The machine cannot be doubled.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

/// What a comparison found.
#[derive(Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// Pieces compared.
    pub pieces: u64,
    /// Words retired in each tier.
    pub words: u64,
    /// How often everything was compared.
    pub complete: u64,
    /// The first difference.
    pub difference: Option<Difference>,
    /// How both runs ended; `None` after a difference.
    pub ended: Option<Result<Exit, RunError>>,
    /// What became of the words outside the interpreter.
    pub translations: Translations,
}

impl Lockstep {
    /// Compares runs of a session whose inputs are set: in the interpreter, and in `tier` with the code of `engine`. `pace` says after how
    /// much they are compared; with [`Pace::Turn`] native code runs from block to block as it does in any other run.
    ///
    /// # Errors
    /// Inputs are missing.
    pub fn new(
        engine: &Engine,
        mut session: Session,
        tier: Tier,
        pace: Pace,
    ) -> Result<Lockstep, LockstepError> {
        session.start()?;
        let mut start = Vec::new();
        session.save(&mut start)?;
        Ok(Lockstep { start, engine: engine.clone(), session, tier, pace })
    }

    /// Runs to the end or to the first difference, telling `observe` now and then how many words have run.
    ///
    /// # Errors
    /// The machine cannot be doubled.
    pub fn run(&self, observe: &mut dyn FnMut(u64)) -> Result<Comparison, LockstepError> {
        let mut pair = self.pair()?;
        let mut complete = 0;
        // The piece behind which everything was the same.
        let mut good = 0;
        loop {
            let step = pair.advance(self.pace);
            let ends = !matches!(step, Step::Both(Piece { exit: None, .. }));
            let everything = ends || pair.pieces - good >= EVERYTHING;
            complete += u64::from(everything);
            let scope = if everything { Scope::Everything } else { Scope::Written };
            let difference = match pair.difference(&step, scope) {
                None => None,
                Some(_) if everything => self.narrow(good)?.or_else(|| pair.difference(&step, scope)),
                found => found,
            };
            if let Some(found) = difference {
                let difference = self.by_words(&found)?.unwrap_or(found);
                return Ok(pair.comparison(complete, Some(difference), None));
            }
            if everything {
                good = pair.pieces;
                observe(pair.words);
            }
            match step {
                Step::Both(Piece { exit: None, .. }) => {}
                Step::Both(Piece { exit: Some(exit), .. }) => {
                    return Ok(pair.comparison(complete, None, Some(Ok(exit))));
                }
                Step::Failed(error, _) => return Ok(pair.comparison(complete, None, Some(Err(error)))),
                Step::Apart(..) => return Ok(pair.comparison(complete, None, None)),
            }
        }
    }

    /// Two sessions at the start.
    fn pair(&self) -> Result<Pair, LockstepError> {
        let make = |tier| {
            let mut options = self.session.options.clone();
            options.tier = tier;
            Session::restore(&self.engine, &self.session.program, options, &mut &self.start[..])
        };
        let mut interp = make(Tier::Interp)?;
        interp.machine.log_writes(true);
        Ok(Pair { interp, native: make(self.tier)?, pieces: 0, words: 0 })
    }

    /// Two sessions behind so many pieces.
    fn pair_behind(&self, pieces: u64) -> Result<Pair, LockstepError> {
        let mut pair = self.pair()?;
        (0..pieces).for_each(|_| drop(pair.advance(self.pace)));
        pair.interp.machine.take_writes();
        Ok(pair)
    }

    /// The first piece behind `good` after which anything differs; it ran again, so that there might be none.
    fn narrow(&self, good: u64) -> Result<Option<Difference>, LockstepError> {
        let mut pair = self.pair_behind(good)?;
        for _ in 0..EVERYTHING {
            let step = pair.advance(self.pace);
            let found = pair.difference(&step, Scope::Everything);
            if found.is_some() || !matches!(step, Step::Both(Piece { exit: None, .. })) {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The word of a piece that makes the difference: the first behind which the tiers differ if they run word by word; if they do not
    /// then, the last one that wrote the byte. `None` where neither tells.
    fn by_words(&self, found: &Difference) -> Result<Option<Difference>, LockstepError> {
        let Agent::Engine(..) = found.agent else { return Ok(None) };
        let mut pair = self.pair_behind(found.piece - 1)?;
        let mut writer = None;
        for _ in 0..found.progress {
            let step = pair.advance(Pace::Word);
            let written = pair.interp.machine.take_writes();
            let Step::Both(piece) = step else { break };
            if written.iter().any(|write| found.place.touches(write)) {
                writer = Some(piece.slot);
            }
            if let Some(exact) = pair.compare(Scope::Everything, piece) {
                return Ok(Some(Difference { piece: found.piece, word: Some(piece.slot), ..exact }));
            }
        }
        Ok(writer.map(|slot| Difference { word: Some(slot), ..found.clone() }))
    }
}

/// Two sessions that have run the same pieces.
struct Pair {
    interp: Session,
    native: Session,
    pieces: u64,
    words: u64,
}

/// What one piece did in both.
enum Step {
    /// The same.
    Both(Piece),
    /// They failed alike, behind the piece before.
    Failed(RunError, Piece),
    /// One did what the other did not.
    Apart(Piece, String, String),
}

impl Pair {
    fn advance(&mut self, pace: Pace) -> Step {
        let interp = self.interp.advance(pace);
        let native = self.native.advance(pace);
        self.pieces += 1;
        match (interp, native) {
            (Ok(a), Ok(b)) if a == b => {
                self.words += a.retired;
                Step::Both(a)
            }
            (Err(a), Err(b)) if a == b => Step::Failed(a, self.interp.last_piece),
            (a, b) => {
                let text = |result: Result<Piece, RunError>| match result {
                    Ok(Piece { agent, slot, progress, exit, .. }) => {
                        let exit = exit.map_or(String::new(), |exit| format!(", {exit:?}"));
                        format!("{} from word {slot}: {progress} done{exit}", difference::name(agent))
                    }
                    Err(error) => error.to_string(),
                };
                let piece = *a.as_ref().or(b.as_ref()).unwrap_or(&self.interp.last_piece);
                Step::Apart(piece, text(a), text(b))
            }
        }
    }

    fn difference(&mut self, step: &Step, scope: Scope) -> Option<Difference> {
        match step {
            Step::Both(piece) | Step::Failed(_, piece) => self.compare(scope, *piece),
            Step::Apart(piece, interp, native) => {
                Some(self.report(*piece, Place::Course, interp.clone(), native.clone()))
            }
        }
    }

    fn compare(&mut self, scope: Scope, piece: Piece) -> Option<Difference> {
        let written = self.interp.machine.take_writes();
        let (a, b): (&Machine, &Machine) = (&self.interp.machine, &self.native.machine);
        let (place, interp, native) = compare(a, b, scope, piece.agent, &written)?;
        Some(self.report(piece, place, interp, native))
    }

    fn report(&self, piece: Piece, place: Place, interp: String, native: String) -> Difference {
        let Piece { agent, slot, progress, .. } = piece;
        // One word is the word.
        let word = (progress == 1 && matches!(agent, Agent::Engine(..))).then_some(slot);
        Difference { piece: self.pieces, agent, slot, progress, word, place, interp, native }
    }

    fn comparison(
        &self,
        complete: u64,
        difference: Option<Difference>,
        ended: Option<Result<Exit, RunError>>,
    ) -> Comparison {
        let translations = self.native.translator.as_ref().map(Translator::counters).unwrap_or_default();
        let Pair { pieces, words, .. } = *self;
        Comparison { pieces, words, complete, difference, ended, translations }
    }
}
