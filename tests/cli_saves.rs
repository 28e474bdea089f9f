//! `seqjit run --until --save` and `--resume`.

mod cli_support;

use cli_support::*;
use seqjit::Tensor;

/// The sum that [`Small`] computes, from a file.
fn doubled(example: &Example, directory: &str) {
    let file = std::path::Path::new(&example.path(directory)).join("y.npy");
    let y = Tensor::open(&file).unwrap();
    assert!(y == floats(&[128, COLUMNS], |i| 2.0 * i as f32));
}

#[test]
fn a_saved_run_goes_on_in_another_tier() {
    let example = Example::new();
    let save = example.path("half.save");
    let stopped = example
        .run(&["--until", "0:DVE:0", "--save", &save, "--tier", "jit", "-o", &example.path("no")])
        .expect(0);
    assert_eq!(stopped.stdout, format!("stopped before core 0 DVE word 0 and saved to {save}\n"));
    assert!(!std::path::Path::new(&example.path("no")).join("y.npy").exists());
    for (tier, cpu) in [("interp", "baseline"), ("auto", "baseline")] {
        let out = example.path(tier);
        seqjit(["run", &example.neff, "--resume", &save, "--tier", tier, "--cpu", cpu, "-o", &out]).expect(0);
        doubled(&example, tier);
    }
    // Nothing but the file is left.
    let names = std::fs::read_dir(example.directory.path()).unwrap().map(|e| e.unwrap().file_name());
    let partial: Vec<_> = names.filter(|n| n.to_string_lossy().contains("partial")).collect();
    assert!(partial.is_empty(), "{partial:?}");
}

#[test]
fn forward_in_steps() {
    let example = Example::new();
    let (a, b) = (example.path("a"), example.path("b"));
    let document = example.run(&["--until", "1", "--save", &a, "--json"]).expect(0).json();
    assert_eq!((&document["exit"], &document["saved"]), (&"saved".into(), &a.as_str().into()));
    assert_eq!(document["counters"]["retired"], 1);
    let resumed = |more: &[&str]| seqjit(["run", &example.neff, "--json"].iter().chain(more));
    let document = resumed(&["--resume", &a, "--until", "0:SP:2", "--save", &b]).expect(0).json();
    // SP 0, DVE 0 and SP 1: the word that waits for the store is the last one.
    assert_eq!(document["counters"]["retired"], 3);
    let document = resumed(&["--resume", &b]).expect(0).json();
    assert_eq!((&document["exit"], &document["counters"]["retired"]), (&"finished".into(), &4.into()));
}

/// A dump at the point where the run is saved is shown, once.
#[test]
fn dumps_and_saves_meet() {
    let example = Example::new();
    let save = example.path("a");
    let dump = "sbuf:3:0x4000:8:fp32@DVE:0";
    let document =
        example.run(&["--until", "0:DVE:0", "--save", &save, "--dump", dump, "--json"]).expect(0).json();
    assert_eq!(document["dumps"].as_array().unwrap().len(), 1);
    assert_eq!(document["dumps"][0]["values"][1], 25.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let example = Example::new();
    let save = example.path("a");
    example.run(&["--until", "2", "--save", &save]).expect(0);
    let resume =
        |more: &[&str]| seqjit(["run", &example.neff, "--json", "--resume", &save].iter().chain(more));
    let error = resume(&["--check"]).error(2, "usage");
    let of = |key: &str| error[key].as_str().unwrap().to_owned();
    assert_eq!((of("field"), of("found"), of("expected")), ("check".into(), "true".into(), "false".into()));
    assert_eq!(resume(&["--schedule", "4"]).error(2, "usage")["expected"], "Fixed");
    resume(&["--seed", "4"]).error(2, "usage");
    let mut other = Small::new();
    other.streams[0].push(word(seqjit::runtime::isa::EngineId::Pe, "NOP", ""));
    let other = Example::of(&other);
    let error = seqjit(["run", &other.neff, "--json", "--resume", &save]).error(2, "usage");
    assert!(error["message"].as_str().unwrap().contains("another program"), "{error}");
    let bytes = std::fs::read(&save).unwrap();
    std::fs::write(&save, &bytes[..bytes.len() - 5]).unwrap();
    let error = resume(&[]).error(3, "bad_input");
    assert!(error["message"].as_str().unwrap().contains("cut short"), "{error}");
    std::fs::remove_file(&save).unwrap();
    resume(&[]).error(10, "io");
}

#[test]
fn points_that_are_not_there() {
    let example = Example::new();
    let run = |until: &str| example.run(&["--until", until, "--save", &example.path("a"), "--json"]);
    let error = run("0:DVE:9").error(2, "usage");
    assert_eq!(error["field"], "--until");
    run("7:DVE:0").error(2, "usage");
    run("DVE").error(2, "usage");
    // The program has four words.
    run("5").error(11, "dump_not_reached");
    assert!(!std::path::Path::new(&example.path("a")).exists());
    example.run(&["--until", "1", "--json"]).error(2, "usage");
    // A directory that is not there.
    let error = example.run(&["--until", "1", "--save", &example.path("no/a"), "--json"]).error(10, "io");
    assert!(error["file"].as_str().unwrap().contains("no"), "{error}");
}
