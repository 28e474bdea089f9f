//! Commands that let the program run.

use std::io::Write;

use seqjit::runtime::sequencer::HaltReason;
use seqjit::{Exit, Report, RunError, Stepped, Until};

use super::breaks::{Hit, Monitor, at_word};
use super::error::CommandError;
use super::parse::Line;
use super::{Debugger, explain, interruptibly};

type Result = std::result::Result<(), CommandError>;

/// `continue`.
pub fn go_on(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    line.end()?;
    debugger.run_to_break()
}

/// `finish`.
pub fn finish(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    line.end()?;
    debugger.refuse_if_ended()?;
    debugger.disarm();
    let result = interruptibly(&debugger.running, || debugger.session.resume());
    debugger.arm()?;
    debugger.tell(result, Vec::new())
}

/// `restart`.
pub fn restart(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    line.end()?;
    debugger.session.start()?;
    debugger.ended = false;
    Ok(writeln!(
        debugger.out,
        "at the start: registers and semaphores are zero, memory is as the last run left it"
    )?)
}

/// `step`.
pub fn step(debugger: &mut Debugger, line: &mut Line<'_>) -> Result {
    let (core, engine) = line.engine_or_current(debugger)?;
    let words = line.optional_number("WORDS", u64::MAX)?.unwrap_or(1);
    line.end()?;
    debugger.refuse_if_ended()?;
    (debugger.core, debugger.engine) = (core, engine);
    debugger.step(words)
}

impl Debugger<'_> {
    fn run_to_break(&mut self) -> Result {
        self.refuse_if_ended()?;
        loop {
            let monitor = Monitor::new(&self.breaks, self.session.machine());
            let session = &mut self.session;
            let result = interruptibly(&self.running, || match monitor.is_idle() {
                true => session.resume(),
                false => session.run_until(Until::Condition(&|machine| monitor.look(machine))),
            });
            let mut hits = monitor.into_hits();
            if let Ok(Report {
                exit: Exit::Break { core, engine, slot, reason: HaltReason::InsBreak }, ..
            }) = result
            {
                match at_word(&self.breaks, (core, engine, slot), self.session.machine()) {
                    // There are breaks, but the conditions of all say no.
                    Some(here) if here.is_empty() && hits.is_empty() => continue,
                    here => hits.extend(here.unwrap_or_default()),
                }
            }
            return self.tell(result, hits);
        }
    }

    /// Tells why a run has stopped.
    fn tell(&mut self, result: std::result::Result<Report, RunError>, hits: Vec<Hit>) -> Result {
        self.tell_hits(hits)?;
        let report = match result {
            Ok(report) => report,
            Err(error) => return self.tell_error(error),
        };
        let words = report.counters.retired;
        match report.exit {
            Exit::Finished => {
                self.ended = true;
                writeln!(self.out, "{}", explain::finished(&report.counters))?;
            }
            Exit::Budget => writeln!(self.out, "stopped: {words} words have run, the limit of --max-words")?,
            Exit::Paused => writeln!(self.out, "paused from outside between two words, after {words} words")?,
            Exit::Reached => writeln!(self.out, "stopped between two words, after {words} words")?,
            Exit::Break { core, engine, reason, .. } => {
                (self.core, self.engine) = (core, engine);
                self.tell_stop(reason)?;
            }
            other => writeln!(self.out, "stopped: {other:?}")?,
        }
        Ok(())
    }

    fn tell_hits(&mut self, hits: Vec<Hit>) -> Result {
        for Hit { number, text } in hits {
            if let Some(hit) = self.breaks.iter_mut().find(|b| b.number == number) {
                hit.hits += 1;
            }
            writeln!(self.out, "break {number}: {text}")?;
        }
        Ok(())
    }

    /// The current engine has made a debug stop.
    fn tell_stop(&mut self, reason: HaltReason) -> Result {
        let core = &self.session.machine().cores[self.core];
        let run_state = core.engines[self.engine.index()].seq.run_state();
        let slot = explain::next_slot(core, self.engine);
        let at = explain::word(core, self.engine, slot);
        let why = explain::halt_reason(reason);
        writeln!(
            self.out,
            "core {} {} stopped before {at}: {why}; run state {run_state}",
            self.core, self.engine
        )?;
        self.show_word(slot)
    }

    fn tell_error(&mut self, error: RunError) -> Result {
        match &error {
            RunError::Fault(fault) => {
                (self.core, self.engine) = (fault.core, fault.engine);
                let engine = &self.session.machine().cores[fault.core].engines[fault.engine.index()];
                let text = explain::fault(fault, engine);
                writeln!(self.out, "{text}")?;
                self.show_word(fault.slot)?;
            }
            RunError::Deadlock(_) | RunError::Output(_) => writeln!(self.out, "{}", explain::ended(&error))?,
            // The program has not moved.
            _ => return Err(error.into()),
        }
        self.ended = true;
        Ok(())
    }

    /// Single steps of the current engine, so that every break can stop them.
    fn step(&mut self, words: u64) -> Result {
        let (mut done, mut again) = (0, false);
        while done < words {
            let monitor = Monitor::new(&self.breaks, self.session.machine());
            let stepped = self.session.step(self.core, self.engine, 1);
            monitor.look(self.session.machine());
            let mut hits = monitor.into_hits();
            let count = match stepped {
                Err(error) => {
                    self.tell_hits(hits)?;
                    return self.tell_error(error);
                }
                Ok(Stepped::Done(count)) => count,
                Ok(other) => {
                    self.tell_hits(hits)?;
                    return self.tell_short_step(done, other);
                }
            };
            done += count;
            let core = &self.session.machine().cores[self.core];
            let at_break = core.engines[self.engine.index()].seq.halt_reason == HaltReason::InsBreak;
            if at_break {
                let slot = explain::next_slot(core, self.engine);
                let here = at_word(&self.breaks, (self.core, self.engine, slot), self.session.machine());
                let foreign = here.is_none();
                hits.extend(here.unwrap_or_default());
                // A breakpoint of somebody else stops too.
                if foreign && count > 0 {
                    break;
                }
            }
            let stops = !hits.is_empty();
            self.tell_hits(hits)?;
            // A word at which a breakpoint has stopped runs with the next attempt.
            if stops || (count == 0 && again) {
                break;
            }
            again = count == 0;
        }
        writeln!(self.out, "core {} {} ran {done} of {words} words", self.core, self.engine)?;
        let reason = self.session.machine().cores[self.core].engines[self.engine.index()].seq.halt_reason;
        self.tell_stop(reason)
    }

    fn tell_short_step(&mut self, done: u64, stepped: Stepped) -> Result {
        let core = &self.session.machine().cores[self.core];
        let text = match &stepped {
            Stepped::Blocked(more, wait) => {
                let slot = explain::next_slot(core, self.engine);
                format!(
                    "{} words ran; {} {}, and nobody else runs during a step (`continue` lets all run)",
                    done + more,
                    explain::word(core, self.engine, slot),
                    explain::wait(core, wait)
                )
            }
            Stepped::Ended(more) => {
                format!(
                    "{} words ran; {}",
                    done + more,
                    explain::activity(core, &core.engines[self.engine.index()])
                )
            }
            Stepped::Done(more) => format!("{} words ran", done + more),
        };
        Ok(writeln!(self.out, "core {} {}: {text}", self.core, self.engine)?)
    }

    fn refuse_if_ended(&self) -> Result {
        if self.ended { Err(CommandError::Ended) } else { Ok(()) }
    }
}
