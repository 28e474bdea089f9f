//! Replaying the recorded device run.

mod common;

use seqjit::replay::Replay;
use seqjit::trace::Trace;
use seqjit::{Engine, Options, Program, Schedule, Session};

#[test]
fn try_it() {
    let Some(file) = common::data("neffs/fused_fp32_s512.ntff.gz") else { return };
    let program = Program::open(common::data("neffs/fused_fp32_s512.neff").unwrap()).unwrap();
    let replay = Replay::new(Trace::open(&file).unwrap(), &program).unwrap();
    for b in &replay.image().buffers {
        println!("{:x} {} {} {:?}", b.address, b.size, b.name, b.role);
    }
    let mut session = Session::new(&Engine::new(), &program, Options::default()).unwrap();
    session.set_random_inputs(1);
    session.run().unwrap();
    for seed in 0..3 {
        let outcome = replay.run(&session, Schedule::Seeded(seed)).unwrap();
        println!("{outcome:?}");
        if let Some(d) = outcome.first_difference { println!("{d}"); }
    }
    let outcome = replay.run(&session, Schedule::Fixed).unwrap();
    println!("{outcome:?}");
}
