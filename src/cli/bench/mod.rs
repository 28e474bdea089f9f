//! `seqjit bench`: interpreter and native code against the clock.

mod measure;

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use self::measure::{Group, Measured};
use super::cpu::Host;
use super::failure::Failure;
use super::native::by_reason;
use super::output::Output;
use super::source::Source;

const EXAMPLES: &str = "\
Examples:
  seqjit bench model.neff
  seqjit bench a.neff b.neff --runs 15 --json";

/// Measures programs in the interpreter and in native code, on random inputs.
///
/// All times are medians. `interp` and `cold` are one run in a fresh session of a fresh engine, made within the time, in the
/// interpreter and in the tier `auto`; only the time to the first word has the opening of the file in it. `warm` is a later run in the same session.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The NEFF files.
    #[arg(value_name = "FILE.neff", required = true)]
    files: Vec<PathBuf>,
    /// Measurements of each kind, taken in turns.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Seed of the inputs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    host: Host,
    /// Accept with a warning what strict reading refuses.
    #[arg(long)]
    lenient: bool,
    /// Write one JSON document instead of text: a list with one object a file.
    #[arg(long)]
    pub json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let mut documents = Vec::new();
    for file in &args.files {
        let source = Source { file: file.clone(), lenient: args.lenient };
        let measured = measure::measure(&source, args.host, args.seed, args.runs)?;
        if out.json {
            documents.push(to_json(&source, &measured));
        } else {
            show(&source, &measured, out)?;
            out.flush()?;
        }
    }
    if out.json { out.document(&documents.into()) } else { Ok(()) }
}

fn to_json(source: &Source, m: &Measured) -> Value {
    let t = &m.cold_counters;
    json!({
        "file": source.file.display().to_string(),
        "words": m.words,
        "runs": m.runs,
        "cpu": m.cpu.name(),
        "threads": m.threads,
        "interp_ns": m.interp_ns,
        "cold_ns": m.cold_ns,
        "interp_warm_ns": m.interp_warm_ns,
        "warm_ns": m.warm_ns,
        "open_ns": m.open_ns,
        "first_word_ns": m.first_word_ns,
        "shapes": t.shapes,
        "translate_ns": t.translate_ns,
        "code_bytes": t.code_bytes,
        "native_words": t.words,
        "interpreted": t.interpreted,
        "calls": t.calls,
        "fallbacks": t.fallbacks.values().sum::<u64>(),
        "fallback_reasons": by_reason(&t.fallbacks),
        "interp_words_per_s": per_second(m.words, m.interp_warm_ns),
        "warm_words_per_s": per_second(m.words, m.warm_ns),
        "engines": groups_json("engine", &m.engines),
        "families": groups_json("family", &m.families),
    })
}

fn groups_json(key: &str, groups: &[Group]) -> Value {
    let group = |g: &Group| {
        json!({
            key: g.name, "words": g.words, "interp_ns": g.interp_ns, "native_ns": g.native_ns,
            "interp_words_per_s": per_second(g.words, g.interp_ns),
            "native_words_per_s": per_second(g.words, g.native_ns),
        })
    };
    groups.iter().map(group).collect()
}

fn per_second(words: u64, nanoseconds: u64) -> u64 {
    (words as f64 * 1e9 / nanoseconds.max(1) as f64) as u64
}

fn show(source: &Source, m: &Measured, out: &mut Output) -> Result<(), Failure> {
    let t = &m.cold_counters;
    let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
    let ratio = |slow: u64, fast: u64| slow as f64 / fast.max(1) as f64;
    writeln!(out, "{}: {} words, {} runs, {}", source.file.display(), m.words, m.runs, m.cpu)?;
    writeln!(out, "  {:<12} {:>12} {:>12} {:>8} {:>14}", "", "interp ms", "native ms", "ratio", "words/s")?;
    for (name, interp, native) in [("cold", m.interp_ns, m.cold_ns), ("warm", m.interp_warm_ns, m.warm_ns)] {
        writeln!(
            out,
            "  {name:<12} {:>12.3} {:>12.3} {:>8.2} {:>14}",
            ms(interp),
            ms(native),
            ratio(interp, native),
            per_second(m.words, native)
        )?;
    }
    writeln!(
        out,
        "  first word after {:.3} ms, {:.3} of them opening the file; cold: {} shapes, {} bytes of code, {:.3} ms compiling, {} calls, {} fallbacks",
        ms(m.first_word_ns),
        ms(m.open_ns),
        t.shapes,
        t.code_bytes,
        ms(t.translate_ns),
        t.calls,
        t.fallbacks.values().sum::<u64>()
    )?;
    for (title, groups) in [("engine", &m.engines), ("family", &m.families)] {
        writeln!(
            out,
            "  {title:<12} {:>12} {:>12} {:>8} {:>10}",
            "interp us", "native us", "ratio", "words"
        )?;
        for Group { name, words, interp_ns, native_ns } in groups {
            let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
            let (interp, native) = (us(*interp_ns), us(*native_ns));
            let ratio = ratio(*interp_ns, *native_ns);
            writeln!(out, "  {name:<12} {interp:>12.1} {native:>12.1} {ratio:>8.2} {words:>10}")?;
        }
    }
    Ok(())
}
